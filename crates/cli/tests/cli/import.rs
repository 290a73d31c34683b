//! Results of other tools: read in, compared, refused.

use crate::scene::Scene;

/// SQLIO output with these rates.
fn sqlio(ios_per_s: &[f64]) -> String {
    let run = |ios: &f64| {
        format!(
            "sqlio v1.5.SG\r\n1 thread reading for 300 secs from file d:\\t.dat\r\n\tusing 8KB random IOs\r\n\
             \tenabling multiple I/Os per thread with 8 outstanding\r\nusing current size: 5000 MB for file: d:\\t.dat\r\n\
             initialization done\r\nCUMULATIVE DATA:\r\nthroughput metrics:\r\nIOs/sec:{ios:9.2}\r\nMBs/sec:{:9.2}\r\n",
            (ios * 800.0 / 1024.0).floor() / 100.0
        )
    };
    ios_per_s.iter().map(run).collect()
}

#[test]
fn two_outputs_of_sqlio_are_compared_like_any_systems() {
    let scene = Scene::new();
    scene.write("4KB.txt", &sqlio(&[100.0, 101.0, 99.0, 100.5, 99.5, 100.2]));
    scene.write("b.txt", &(sqlio(&[120.0, 121.0, 119.0, 120.5, 119.5, 120.2]) + "odd\n"));
    let imported = scene.etalon(&["import", "sqlio", "4KB.txt", "64 KB=b.txt", "-o", "clusters"]);
    assert_eq!((imported.code, imported.stdout.as_str()), (0, ""), "{}", imported.stderr);
    assert!(imported.stderr.contains("b.txt:61: not understood: odd"), "{}", imported.stderr);
    assert!(imported.stderr.contains("12 runs of 2 systems: 4KB, 64 KB"), "{}", imported.stderr);
    let compared = scene.etalon(&["compare", "clusters.etalon"]);
    assert_eq!(compared.code, 0, "{}", compared.stderr);
    for part in [
        "A = 4KB, B = 64 KB",
        "faster",
        "Welch's",
        "6 repetitions of 2 cases in an unknown order",
        "imported from b.txt (sqlio 1.5.SG)",
        "not known",
    ] {
        assert!(compared.stdout.contains(part), "{part}: {}", compared.stdout);
    }
    assert!(!compared.stdout.contains("build of étalon"), "{}", compared.stdout);
    assert_eq!(scene.etalon(&["report", "clusters.etalon"]).code, 0);
    let again = scene.etalon(&["import", "sqlio", "4KB.txt", "-o", "clusters"]);
    assert_eq!(again.code, 3, "a store is never written over: {}", again.stderr);
}

/// Étalon's own table of an experiment of one system.
fn exported(scene: &Scene, system: &str) -> String {
    let plan = format!(
        "[systems.{system}]\nurl = \"sim:?service_us=200\"\n[[benchmarks]]\nname = \"points\"\nworkload = \"transactions\"\n\
         script = \"select-only\"\n[schedule]\nrounds = 8\nwarmup = \"0s\"\nduration = \"1s\"\n"
    );
    scene.write("p.toml", &plan);
    scene.etalon(&["run", "p.toml", "-o", system, "--quiet"]).says(0, &[]);
    let is_store = |path: &std::path::PathBuf| path.extension().is_some_and(|extension| extension == "etalon");
    let entries = std::fs::read_dir(scene.path().join(system)).unwrap();
    let store = entries.map(|entry| entry.unwrap().path()).find(is_store).unwrap();
    scene.etalon(&["export", store.to_str().unwrap(), "-o", &format!("{system}.csv")]).says(0, &[]);
    std::fs::read_to_string(scene.path().join(format!("{system}.csv"))).unwrap()
}

/// Nobody ran the rounds of two experiments together, however their tables come in: as two files, put into one, or
/// without the times at which their runs began.
#[test]
fn two_experiments_are_never_paired() {
    let scene = Scene::new();
    let (a, b) = (exported(&scene, "a"), exported(&scene, "b"));
    let rows = |text: &str| -> String {
        let is_row = |line: &&str| !line.starts_with('#') && !line.starts_with("system,");
        text.lines().filter(is_row).map(|line| format!("{line}\n")).collect()
    };
    let without_times = |text: &str| -> String {
        text.lines().filter(|line| !line.contains(",run,")).map(|line| format!("{line}\n")).collect()
    };
    scene.write("one.csv", &(a.clone() + &rows(&b))).write("untimed.csv", &without_times(&(a.clone() + &rows(&b))));
    scene.write("a-untimed.csv", &without_times(&a)).write("b-untimed.csv", &without_times(&b));
    for (name, files, is_timed) in [
        ("files", &["a.csv", "b.csv"][..], true),
        ("table", &["one.csv"], true),
        ("untimed-files", &["a-untimed.csv", "b-untimed.csv"], false),
        ("untimed-table", &["untimed.csv"], false),
    ] {
        scene.etalon(&[&["import", "tidy", "-o", name], files].concat()).says(0, &[]);
        let store = format!("{name}.etalon");
        let text = scene.etalon(&["compare", &store]).stdout;
        assert!(!text.contains("randomised") && text.contains("Welch's"), "{name}: {text}");
        assert_eq!(text.contains("no verdicts: order and time are confounded"), is_timed, "{name}: {text}");
        assert_eq!(text.contains("8 repetitions of 2 cases in an unknown order"), !is_timed, "{name}: {text}");
        let json: serde_json::Value =
            serde_json::from_str(&scene.etalon(&["compare", &store, "--json"]).stdout).unwrap();
        let experiment = &json["experiment"];
        let order = if is_timed { "sequential" } else { "unknown" };
        assert_eq!(
            (&experiment["rules"]["pairing"], &experiment["order"]),
            (&"unpaired".into(), &order.into()),
            "{name}"
        );
        scene.etalon(&["report", &store, "-o", "r.html"]).says(0, &[]);
        let page = std::fs::read_to_string(scene.path().join("r.html")).unwrap();
        assert!(!page.contains("in a random order") && !page.contains("s of warm-up"), "{name}");
        // What was imported so and is exported is no experiment of rounds either.
        scene.etalon(&["export", &store, "-o", "again.csv"]).says(0, &[]);
        scene.etalon(&["import", "tidy", "again.csv", "-o", &format!("{name}-again")]).says(0, &[]);
        let again = scene.etalon(&["compare", &format!("{name}-again.etalon")]).stdout;
        assert!(!again.contains("randomised") && again.contains("Welch's"), "{name}: {again}");
    }
}

/// Tables of étalon's from before rows named their experiment, and any that were cut, are no rounds of one experiment unless
/// each row says so.
#[test]
fn rounds_come_back_from_the_table_of_one_experiment_alone() {
    let scene = Scene::new();
    scene.write(
        "plan.toml",
        &crate::scene::sim_plan("service_us=200", "service_us=230", "rounds = 6\nduration = \"1s\"\nwarmup = \"0s\""),
    );
    scene.etalon(&["run", "plan.toml", "--quiet"]).says(0, &[]);
    scene.etalon(&["export", scene.store().to_str().unwrap(), "-o", "t.csv"]).says(0, &[]);
    let table = std::fs::read_to_string(scene.path().join("t.csv")).unwrap();
    let id = table.split("experiment=").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let side = |other: &str| -> String {
        table.lines().filter(|line| !line.starts_with(&format!("{other},"))).map(|line| format!("{line}\n")).collect()
    };
    scene.write("a.csv", &side("b")).write("b.csv", &side("a"));
    scene.write("older.csv", &table.replace(&format!(" experiment={id}"), "").replace(&format!(",{id},"), ",,"));
    for (name, files, pairing) in [
        ("whole", &["t.csv"][..], "paired"),
        ("cut", &["a.csv", "b.csv"], "paired"),
        ("older", &["older.csv"], "unpaired"),
    ] {
        scene.etalon(&[&["import", "tidy", "-o", name], files].concat()).says(0, &[]);
        let told = scene.etalon(&["compare", &format!("{name}.etalon"), "--json"]).stdout;
        let json: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!(json["experiment"]["rules"]["pairing"], pairing, "{name}");
    }
}

/// What sysbench printed in runs with so many transactions a second; 0 of one that an error ended.
fn sysbench(rates: &[f64]) -> String {
    let run = |rate: &f64| match *rate {
        0.0 => "FATAL: mysql_drv_query() returned error 1205 (Lock wait timeout exceeded)\n".to_owned(),
        rate => format!("SQL statistics:\n    transactions: 9 ({rate:.2} per sec.)\n"),
    };
    let head = "sysbench 1.0.20 (using system LuaJIT)\nNumber of threads: 2\n\n";
    rates.iter().map(|rate| format!("{head}{}", run(rate))).collect()
}

#[test]
fn runs_that_failed_are_imported_and_hold_the_gate() {
    let scene = Scene::new();
    let noise = |at: f64| (0..12).map(move |n| at * (1.0 + f64::from(n % 5) / 500.0));
    let survivors: Vec<f64> = noise(130.0).flat_map(|rate| [rate, 0.0]).collect();
    scene.write("a", &sysbench(&noise(100.0).collect::<Vec<_>>())).write("b", &sysbench(&survivors));
    scene.write("whole", &sysbench(&noise(130.0).collect::<Vec<_>>()));
    let imported = scene.etalon(&["import", "sysbench", "a", "b", "-o", "t"]);
    imported.says(0, &["36 runs of 2 systems", "12 of 24 results are of runs that failed"]);
    let gate = |store: &str| scene.etalon(&["gate", store]);
    let held = gate("t.etalon");
    assert_eq!(held.code, 1, "{}{}", held.stdout, held.stderr);
    assert!(held.stdout.contains("Lock wait timeout") || held.stderr.contains("Lock wait timeout"), "{}", held.stdout);
    assert_eq!(scene.etalon(&["import", "sysbench", "a", "whole", "-o", "w"]).code, 0);
    let passed = gate("w.etalon");
    assert_eq!(passed.code, 0, "{}{}", passed.stdout, passed.stderr);
}

#[test]
fn task_logs_of_a_folder_are_one_run() {
    let scene = Scene::new();
    let line = |ticks: i64| format!("00000000-1111-2222-3333-444444444444\t3\t{ticks}\t03:47:09\n");
    for side in ["linux", "windows"] {
        std::fs::create_dir(scene.path().join(side)).unwrap();
        scene.write(&format!("{side}/a.txt"), &format!("\u{feff}{}{}", line(10_000_000), line(-1)));
        scene.write(&format!("{side}/b.txt"), &line(30_000_000));
    }
    let files = ["linux/a.txt", "linux/b.txt", "windows/a.txt", "windows/b.txt"];
    let imported = scene.etalon(&[&["--json", "import", "task-log", "-o", "t"], &files[..]].concat());
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let told: serde_json::Value = serde_json::from_str(&imported.stdout).unwrap();
    assert_eq!(told["systems"], serde_json::json!(["linux", "windows"]));
    assert_eq!(told["runs"], 2);
    let compared = scene.etalon(&["compare", "t.etalon", "--metrics", "executions,errors,response_mean"]);
    assert!(compared.stdout.contains("1 of 3 executions failed"), "{}", compared.stdout);
}

#[test]
fn a_file_that_is_not_of_its_format_leaves_no_store() {
    let scene = Scene::new();
    scene.write("a.csv", "system,metric,value\na,iops,fast\n").write("empty", "").write("log", "1 2 3\n");
    scene.write("head.csv", "system,metric,value\n").write("json", "{\n \"a\": \"b\"\n}\n");
    scene.write("store", "SQLite format 3\0...").write("zeros", "system,metric,value\na\0\n");
    for (args, message) in [
        (&["empty"][..], "empty is empty"),
        (&["tidy", "a.csv"], "a.csv: line 2, column 8: fast: this is no number"),
        (&["tidy", "head.csv"], "head.csv holds no measurement: no row follows the heading"),
        (&["tidy", "json"], "json: line 1: there is no column `system`"),
        (&["tidy", "store"], "store is a store, or another database of SQLite"),
        (&["tidy", "zeros"], "zeros is no text"),
        (&["task-log", "empty"], "empty holds no task"),
        (&["pgbench-log", "empty"], "empty holds no transaction"),
        (&["pgbench-aggregate", "empty"], "empty holds no interval"),
        (&["hammerdb", "empty"], "empty holds no result of hammerdb"),
        (&["tidy", "x=a.csv"], "a tidy table names its systems itself"),
        (&["sqlio", "empty"], "empty holds no result of sqlio"),
        (&["pgbench", "empty"], "empty holds no result of pgbench"),
        (&["fio", "empty"], "empty: there is no JSON document of fio in it"),
        (&["pgbench-log", "log"], "log: line 1: 3 words"),
        (&["sysbench", "absent"], "cannot read absent"),
        (&["sysbench", "=empty"], "names no system"),
        (&["sqlio", "empty", "--seventh", "lag"], "--seventh is about the logs"),
    ] {
        let refused = scene.etalon(&[&["import"], args, &["-o", "s"]].concat());
        assert_eq!(refused.code, 2, "{args:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(message), "{args:?}: {}", refused.stderr);
        assert!(!scene.path().join("s.etalon").exists(), "{args:?}");
    }
}

/// A tidy table of two systems whose runs took these figures; `None` is a row of its own kind.
fn table(scene: &Scene, name: &str, a: &[f64], b: &[f64], rest: &str) {
    let rows = |system: &str, values: &[f64]| -> String {
        (1..).zip(values).map(|(n, value)| format!("{system},tp,{n},throughput,tx/s,,{value}\n")).collect()
    };
    let head = "system,benchmark,repetition,metric,unit,kind,value";
    scene.write(name, &format!("{head}\n{}{}{rest}", rows("a", a), rows("b", b)));
}

fn steady(at: f64, runs: usize) -> Vec<f64> {
    (0..runs).map(|n| at * (1.0 + (n % 5) as f64 / 500.0)).collect()
}

/// What the comparison prints of an imported table.
fn compared(scene: &Scene, name: &str) -> (i32, String) {
    let store = format!("{name}.etalon");
    scene.etalon(&["import", "tidy", &format!("{name}.csv"), "-o", name]).says(0, &[]);
    let gate = scene.etalon(&["gate", &store]);
    (gate.code, scene.etalon(&["compare", &store]).stdout)
}

#[test]
fn what_failed_in_a_table_takes_its_verdict() {
    let scene = Scene::new();
    let (a, b) = (steady(100.0, 30), steady(110.0, 12));
    table(&scene, "whole.csv", &a, &b, "");
    let (code, text) = compared(&scene, "whole");
    assert!(code == 0 && text.contains("faster"), "{code} {text}");
    for (name, benchmark, state) in [("failed", "tp", "failed"), ("aborted", "tp", "aborted"), ("untold", "", "failed")]
    {
        let lost: String = (13..=30).map(|n| format!("b,{benchmark},{n},{state},,run,lock wait timeout\n")).collect();
        table(&scene, &format!("{name}.csv"), &a, &b, &lost);
        let (code, text) = compared(&scene, name);
        assert!(code == 1 && !text.contains("faster"), "{name}: {code} {text}");
    }
    let repeated: String = (1..=3).map(|n| format!("b,tp,{n},repeated,,run,the connection was lost\n")).collect();
    table(&scene, "repeated.csv", &steady(100.0, 8), &steady(120.0, 8), &repeated);
    let (code, text) = compared(&scene, "repeated");
    assert!(code == 1 && !text.contains("faster"), "{code} {text}");
}

#[test]
fn equal_times_in_two_units_are_equal() {
    let scene = Scene::new();
    let rows = |system: &str, unit: &str, at: f64| -> String {
        let all = steady(at, 8);
        (1..).zip(all).map(|(n, value)| format!("{system},{n},response_p99,{unit},{value}\n")).collect()
    };
    let text = |b: &str| format!("system,repetition,metric,unit,value\n{}{b}", rows("a", "ms", 100.0));
    scene.write("units.csv", &text(&rows("b", "s", 0.1)));
    let (_, told) = compared(&scene, "units");
    assert!(told.contains("equivalent") && told.contains("response_p99: s were made ms"), "{told}");
    scene.write("other.csv", &text(&rows("b", "MB", 0.1)));
    let refused = scene.etalon(&["import", "tidy", "other.csv", "-o", "other"]);
    refused.says(2, &["other.csv: line 10: response_p99 is in `MB` here, and in `ms` in line 2", "hint:"]);
}

#[test]
fn more_errors_a_second_are_no_gain() {
    let scene = Scene::new();
    for (metric, unit) in [("errors", "1/s"), ("retries", "tx/s"), ("failure_rate", "%")] {
        let rows = |system: &str, at: f64| -> String {
            let all = steady(at, 8);
            (1..).zip(all).map(|(n, value)| format!("{system},{n},{metric},{unit},{value}\n")).collect()
        };
        let text = format!("system,repetition,metric,unit,value\n{}{}", rows("a", 10.0), rows("b", 20.0));
        scene.write(&format!("{metric}.csv"), &text);
        let (code, told) = compared(&scene, metric);
        assert_eq!(code, 1, "{metric}: {told}");
    }
}

/// What pgbench prints at its end, of so many transactions a second.
fn pgbench(tps: f64) -> String {
    format!(
        "transaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\nnumber of clients: 4\n\
         number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: 1000\n\
         number of failed transactions: 0 (0.000%)\nlatency average = 1.000 ms\nlatency stddev = 0.100 ms\n\
         tps = {tps:.6} (without initial connection time)\n"
    )
}

fn gzip(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(text.as_bytes()).unwrap();
    packed.finish().unwrap()
}

#[test]
fn folders_are_systems_and_their_files_are_recognised() {
    let scene = Scene::new();
    for (folder, tps) in [("old", 100.0), ("new", 200.0)] {
        std::fs::create_dir(scene.path().join(folder)).unwrap();
        for run in 0..6 {
            let text = pgbench(tps + f64::from(run));
            std::fs::write(scene.path().join(format!("{folder}/{run}.txt.gz")), gzip(&text)).unwrap();
        }
        scene.write(&format!("{folder}/cpu.log"), &sysbench(&[tps]));
        scene.write(&format!("{folder}/README"), "what was run here\n");
    }
    let imported = scene.etalon(&["import", "old", "new", "-o", "both"]);
    imported.says(0, &[]);
    assert!(imported.stderr.contains("14 runs of 2 systems: old, new"), "{}", imported.stderr);
    assert!(imported.stderr.contains("2 files of no known format left aside: "), "{}", imported.stderr);
    let compared = scene.etalon(&["compare", "both.etalon"]).stdout;
    for side in ["old was imported from 7 files: ", "new was imported from 7 files: "] {
        assert_eq!(compared.matches(side).count(), 1, "{side}: {compared}");
    }
    assert!(compared.lines().count() <= 60, "{compared}");
    assert!(!compared.contains("doctor"), "{compared}");
    // A folder around them, alone: the folders in it are the systems.
    let scene_of_one = scene.etalon(&["import", ".", "-o", "one"]);
    assert!(scene_of_one.stderr.contains("14 runs of 2 systems: new, old"), "{}", scene_of_one.stderr);
    scene_of_one.says(0, &["the baseline is old; `--baseline SYSTEM` names another"]);
    assert!(scene.etalon(&["compare", "one.etalon"]).stdout.contains("A = old, B = new"));
    scene.etalon(&["import", ".", "-o", "turned", "--baseline", "new"]).says(0, &[]);
    assert!(scene.etalon(&["compare", "turned.etalon"]).stdout.contains("A = new, B = old"));
    scene
        .etalon(&["import", ".", "-o", "none", "--baseline", "newer"])
        .says(2, &["`newer`", "its systems are: new, old"]);
}

/// What hyperfine exports of two commands.
fn hyperfine(seconds: f64) -> String {
    let of =
        |name: &str, s: f64| format!(r#"{{"command":"{name}","mean":{s},"stddev":0.1,"median":{s},"times":[{s}]}}"#);
    format!(r#"{{"results":[{},{}]}}"#, of("psql a", seconds), of("psql b", 2.0 * seconds))
}

#[test]
fn one_name_in_results_of_two_machines_is_two_systems() {
    let scene = Scene::new();
    let estimates = |ns: f64| {
        let of = |name: &str| format!(r#""{name}":{{"point_estimate":{ns},"standard_error":1.0}}"#);
        format!("{{{},{}}}", of("mean"), of("median"))
    };
    for (machine, figure) in [("m1", 1.0), ("m2", 3.0)] {
        for benchmark in ["insert", "delete"] {
            let folder = format!("{machine}/{benchmark}/10/new");
            std::fs::create_dir_all(scene.path().join(&folder)).unwrap();
            scene.write(&format!("{folder}/estimates.json"), &estimates(figure));
        }
        scene.write(&format!("{machine}.json"), &hyperfine(figure));
    }
    let of_one = scene.etalon(&["import", "m1.json", "-o", "one"]);
    of_one.says(0, &["2 runs of 2 systems: psql a, psql b"]);
    let said = "several inputs have results of the same names, so each input is a system";
    scene.etalon(&["import", "m1.json", "m2.json", "-o", "h"]).says(0, &[said, "4 runs of 2 systems: m1, m2"]);
    let rows = scene.etalon(&["export", "h.etalon"]).stdout;
    assert!(rows.contains("m1,hyperfine,psql a,1,elapsed,s,lower,primary,measured,1\n"), "{rows}");
    scene.etalon(&["import", "m1", "m2", "-o", "c"]).says(0, &[said, "4 runs of 2 systems: m1, m2"]);
    let rows = scene.etalon(&["export", "c.etalon"]).stdout;
    assert!(rows.contains("m2,criterion,new,insert/10,1,time,ns,lower,primary,measured,3\n"), "{rows}");
    scene.etalon(&["import", "m1", "-o", "alone"]).says(0, &["2 runs of 1 system: new"]);
}

#[test]
fn a_wide_table_in_a_folder_is_left_aside_and_named() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("r")).unwrap();
    scene.write("r/a.txt", &pgbench(100.0)).write("r/raw.csv", "Worker,Latency (us)\n1,100\n2,120\n");
    let imported = scene.etalon(&["import", "r", "-o", "s"]);
    imported.says(0, &["1 run of 1 system: r"]);
    assert!(imported.stderr.contains("1 file of no known format left aside: r/raw.csv"), "{}", imported.stderr);
    scene.etalon(&["import", "r/raw.csv", "-o", "t"]).says(2, &["this is a wide table"]);
}

#[test]
fn sides_without_a_common_case_are_told_apart_first() {
    let scene = Scene::new();
    scene.write("a.txt", &pgbench(100.0)).write("b.txt", &pgbench(100.0).replace("clients: 4", "clients: 8"));
    scene.etalon(&["import", "a.txt", "b.txt", "-o", "s"]).says(0, &[]);
    let compared = scene.etalon(&["compare", "s.etalon"]).stdout;
    assert!(compared.starts_with("Nothing is in common: a ran "), "{compared}");
    scene.write(
        "t.csv",
        "system,benchmark,metric,value\na,one,throughput,1\nb,two,throughput,2\nc,three,throughput,3\n",
    );
    scene.etalon(&["import", "tidy", "t.csv", "-o", "three"]).says(0, &[]);
    let compared = scene.etalon(&["compare", "three.etalon"]).stdout;
    let first = compared.replace('\n', " ");
    assert!(first.starts_with("Nothing is in common: a ran one, b ran two, c ran three."), "{compared}");
    assert!(compared.contains("all side by side") && !compared.contains('*'), "alone, none is the best: {compared}");
    scene.etalon(&["import", "a.txt", "b.txt", "--alias", "8=4", "-o", "t"]).says(0, &[]);
    let compared = scene.etalon(&["compare", "t.etalon"]).stdout;
    assert!(!compared.contains("Nothing is in common"), "{compared}");
    scene
        .etalon(&["import", "a.txt", "--alias", "x=y", "-o", "u"])
        .says(2, &["no benchmark, key or value of a key is `x`"]);
}

#[test]
fn what_no_reader_knows_is_named_and_leaves_no_store() {
    let scene = Scene::new();
    scene.write("prose", "It was faster.\n").write("wide.csv", "threads,tps\n8,100\n");
    scene
        .etalon(&["import", "prose", "-o", "s"])
        .says(2, &["prose is of no known format: it begins with `It was faster.`"]);
    scene.etalon(&["import", "wide.csv", "-o", "s"]).says(2, &["--map 'threads=key' --map 'tps=tps:tx/s:higher'"]);
    std::fs::write(scene.path().join("cut.gz"), &gzip("a text that is longer than what is left of it")[..20]).unwrap();
    scene.etalon(&["import", "cut.gz", "-o", "s"]).says(2, &["cannot read cut.gz"]);
    assert!(!scene.path().join("s.etalon").exists());
    let mapped = ["import", "wide.csv", "--map", "threads=key", "--map", "tps=tps:tx/s:higher", "-o", "w"];
    scene.etalon(&mapped).says(0, &[]);
}

/// A job store of HammerDB's with two profiles of six jobs each.
fn hammer_db(path: &std::path::Path) {
    let database = rusqlite::Connection::open(path).unwrap();
    database
        .execute_batch(
            "CREATE TABLE JOBMAIN(jobid TEXT primary key, db TEXT, bm TEXT, jobdict TEXT, timestamp DATETIME NOT NULL DEFAULT \
             (datetime(CURRENT_TIMESTAMP, 'localtime')), profile_id INTEGER NOT NULL DEFAULT 0);
             CREATE TABLE JOBOUTPUT(jobid TEXT, vu INTEGER, output TEXT, FOREIGN KEY(jobid) REFERENCES JOBMAIN(jobid));",
        )
        .unwrap();
    for number in 0..12 {
        let (id, profile) = (format!("67FD3345479A03E26313{number:04}"), 1000 + number % 2);
        let dictionary = "tpcc {pg_count_ware 10 pg_superuserpass topsecret pg_rampup 2 pg_duration 5}";
        let sql = "INSERT INTO JOBMAIN(jobid, db, bm, jobdict, profile_id) VALUES (?1, 'PostgreSQL', 'TPC-C', ?2, ?3)";
        database.execute(sql, (&id, dictionary, profile)).unwrap();
        let nopm = 10_000 + 1_000 * (profile - 1000) + number;
        let result = format!("TEST RESULT : System achieved {nopm} NOPM from {} PostgreSQL TPM", 2 * nopm);
        for said in ["8 Active Virtual Users configured", &result] {
            database.execute("INSERT INTO JOBOUTPUT VALUES (?1, 1, ?2)", (&id, said)).unwrap();
        }
    }
}

#[test]
fn profiles_of_a_job_store_are_compared() {
    let scene = Scene::new();
    hammer_db(&scene.path().join("hammer.DB"));
    let imported = scene.etalon(&["import", "hammer.DB", "-o", "h"]);
    imported.says(0, &["12 runs of 2 systems: hammer profile 1000, hammer profile 1001"]);
    let compared = scene.etalon(&["compare", "h.etalon", "--metrics", "nopm"]);
    assert!(compared.stdout.contains("faster"), "{}", compared.stdout);
    let stored = std::fs::read(scene.path().join("h.etalon")).unwrap();
    assert!(!stored.windows(9).any(|bytes| bytes == b"topsecret"));
    let named = scene.etalon(&["import", "a=hammer.DB", "-o", "n"]);
    named.says(0, &["12 runs of 1 system: a"]);
    let whole = std::fs::read(scene.path().join("hammer.DB")).unwrap();
    std::fs::write(scene.path().join("cut.DB"), &whole[..whole.len() / 2]).unwrap();
    std::fs::copy(scene.path().join("h.etalon"), scene.path().join("other.DB")).unwrap();
    scene.etalon(&["import", "cut.DB", "-o", "c"]).says(2, &["cut.DB: the database of SQLite cannot be read"]);
    scene.etalon(&["import", "other.DB", "-o", "c"]).says(2, &["no job store of HammerDB (no JOBMAIN)"]);
    scene.etalon(&["import", "pgbench", "hammer.DB", "-o", "c"]).says(2, &["another database of SQLite"]);
    assert!(!scene.path().join("c.etalon").exists());
}

#[test]
fn attachments_that_are_not_read_are_named_with_what_to_do() {
    let scene = Scene::new();
    // A ZIP of one empty file: its header, the directory, the end.
    let name = b"[Content_Types].xml";
    let length = name.len() as u8;
    let local = [&b"PK\x03\x04\x14\0"[..], &[0; 20], &[length, 0, 0, 0], name].concat();
    let directory = [&b"PK\x01\x02\x14\0\x14\0"[..], &[0; 20], &[length, 0], &[0; 16], name].concat();
    let (at, size) = (local.len() as u8, directory.len() as u8);
    let end = [&b"PK\x05\x06\0\0\0\0\x01\0\x01\0"[..], &[size, 0, 0, 0, at, 0, 0, 0, 0, 0]].concat();
    let office = [local, directory, end].concat();
    let files: [(&str, &[u8], &str); 4] = [
        ("a.xz", b"\xFD7zXZ\0\0\x04", "`unxz`"),
        ("a.bz2", b"BZh91AY&SY\0", "`bunzip2`"),
        ("a.pdf", b"%PDF-1.7\n", "into a text file"),
        ("a.xlsx", &office, "save the table as CSV"),
    ];
    for (name, bytes, hint) in files {
        std::fs::write(scene.path().join(name), bytes).unwrap();
        scene.etalon(&["import", name, "-o", "s"]).says(2, &[name, hint]);
    }
}

/// Makes fio's JSON of a call that ended at `ended_s`, in seconds since 2023-11-14.
fn fio(ended_s: u64, iops: f64) -> String {
    format!(
        r#"{{"fio version": "fio-3.33", "timestamp_ms": {}, "jobs": [{{"jobname": "a", "groupid": 0, "elapsed": 11,
        "job options": {{"rw": "read", "bs": "4k"}}, "read": {{"total_ios": {}, "iops": {iops}, "bw_bytes": {}, "runtime": 10000}}}}]}}"#,
        (1_700_000_000 + ended_s) * 1_000,
        (iops * 10.0) as u64,
        (iops * 4096.0) as u64,
    )
}

#[test]
fn times_within_files_show_that_one_side_ran_first() {
    let scene = Scene::new();
    let after = compare_fio(&scene, "after", [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]);
    assert!(after.contains("no verdict (one side ran after the other)"), "{after}");
    let in_turn = compare_fio(&scene, "in_turn", [[0, 2, 4, 6, 8, 10], [1, 3, 5, 7, 9, 11]]);
    // One call of two directions for each side.
    for (system, ended_s) in [("c", 15), ("d", 30)] {
        let both = fio(ended_s, 1_000.0).replace(r#""rw": "read""#, r#""rw": "randrw""#);
        let read = both.split(r#""read": "#).nth(1).unwrap().split('}').next().unwrap().to_owned() + "}";
        let both = both.replace(r#""read": "#, &format!(r#""write": {read}, "read": "#));
        std::fs::write(scene.path().join(format!("{system}.json")), both).unwrap();
    }
    scene.etalon(&["import", "c=c.json", "d=d.json", "-o", "single"]).says(0, &[]);
    let single = scene.etalon(&["compare", "single.etalon"]).stdout;
    assert!(single.contains("op=write") && !single.contains("ran after the other"), "{single}");
    assert!(in_turn.contains("slower") && !in_turn.contains("no verdict"), "{in_turn}");
}

/// Imports six calls of fio for each of two systems, which began at these turns of 15 s, and returns the comparison.
fn compare_fio(scene: &Scene, name: &str, turns: [[u64; 6]; 2]) -> String {
    for (system, iops, turns) in [("a", 2_000.0, turns[0]), ("b", 1_000.0, turns[1])] {
        for (run, turn) in turns.into_iter().enumerate() {
            let noise = 1.0 + 0.01 * (run * 7 % 5) as f64;
            std::fs::write(scene.path().join(format!("{system}.{run}.json")), fio(15 * turn, iops * noise)).unwrap();
        }
    }
    scene.etalon(&["import", "a=a.*.json", "b=b.*.json", "-o", name]).says(0, &[]);
    scene.etalon(&["compare", &format!("{name}.etalon")]).stdout
}
