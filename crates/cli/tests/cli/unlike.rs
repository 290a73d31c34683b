//! Imports of unlike runs, which are no repetitions of each other.

use crate::scene::Scene;

/// What pgbench prints at its end, at a rate in transactions a second.
fn pgbench(tps: f64) -> String {
    format!(
        "transaction type: <builtin: select only>\nscaling factor: 10\nquery mode: simple\nnumber of clients: 4\n\
         number of threads: 1\nduration: 10 s\nnumber of transactions actually processed: {:.0}\n\
         number of failed transactions: 0 (0.000%)\nlatency average = {:.3} ms\n\
         tps = {:.6} (without initial connection time)\n",
        10.0 * tps,
        4000.0 / tps,
        tps + 0.123_457
    )
}

/// The file's systems, keys and repetitions of one metric: the rows of `etalon export` without what is behind the metric.
fn rows(scene: &Scene, store: &str) -> Vec<String> {
    let table = scene.etalon(&["export", store]).stdout;
    let rows = table.lines().filter_map(|line| line.split_once(",throughput,"));
    rows.map(|(row, _)| row.to_owned()).collect()
}

#[test]
fn captions_that_files_have_in_common_are_keys() {
    let scene = Scene::new();
    let page = |tps: f64| format!("=== jit 0 ===\n{}=== jit 1 ===\n{}", pgbench(tps), pgbench(tps * 1.2));
    scene.write("old.txt", &page(100.0)).write("new.txt", &page(150.0));
    for (store, files) in [("s", ["old.txt", "new.txt"]), ("t", ["old=old.txt", "new=new.txt"])] {
        let imported = scene.etalon(&["import", files[0], files[1], "-o", store]);
        imported.says(0, &["4 runs of 2 systems: old, new"]);
        let found = rows(&scene, &format!("{store}.etalon"));
        assert!(found.iter().all(|row| row.ends_with(",1")), "no second repetition: {found:?}");
        assert_eq!(found.iter().filter(|row| row.contains("jit 0")).count(), 2, "{found:?}");
    }
    scene.etalon(&["import", "one=old.txt", "-o", "one"]).says(0, &["2 runs of 1 system: one"]);
    let found = rows(&scene, "one.etalon");
    assert!(found.iter().all(|row| row.ends_with(",1")), "a name pools no captions: {found:?}");
}

#[test]
fn names_of_files_tell_runs_of_a_folder_apart() {
    let scene = Scene::new();
    for (folder, factor) in [("ext4", 1.0), ("xfs", 1.1)] {
        std::fs::create_dir_all(scene.path().join(format!("fs/{folder}"))).unwrap();
        for version in 11..17 {
            scene.write(&format!("fs/{folder}/pg{version}.log"), &pgbench(f64::from(100 + version) * factor));
        }
    }
    for run in 1..4 {
        std::fs::create_dir_all(scene.path().join(format!("runs/run{run}"))).unwrap();
        for version in 15..17 {
            scene.write(&format!("runs/run{run}/pg{version}.log"), &pgbench(f64::from(100 * version + run)));
        }
    }
    let of_folders = "files of different names (pg11, pg12, pg13, …) are different cases, by the key `file`";
    scene.etalon(&["import", "fs", "-o", "s"]).says(0, &["12 runs of 2 systems: ext4, xfs", of_folders]);
    let found = rows(&scene, "s.etalon");
    assert!(found.iter().all(|row| row.ends_with(",1")), "no second repetition: {found:?}");
    scene.etalon(&["import", "fs/*/*.log", "-o", "t"]).says(0, &["12 runs of 2 systems: ext4, xfs", of_folders]);
    for (store, from) in [("u", "runs"), ("v", "runs/*/*.log")] {
        scene.etalon(&["import", from, "-o", store]).says(0, &["6 runs of 2 systems: pg15, pg16"]);
        assert_eq!(rows(&scene, &format!("{store}.etalon")).iter().filter(|row| row.ends_with(",3")).count(), 2);
    }
    scene
        .etalon(&["import", "all=fs/ext4", "-o", "w"])
        .says(0, &["6 runs of 1 system: all", "which count as its repetitions"]);
}

#[test]
fn printed_versions_are_never_pooled() {
    let scene = Scene::new();
    let of = |version: &str, tps: f64| format!("pgbench ({version})\n{}", pgbench(tps));
    scene.write("two.txt", &(of("18.0, server 13.22", 100.0) + &of("18.0, server 17.2", 130.0)));
    scene
        .etalon(&["import", "two.txt", "-o", "s"])
        .says(0, &["2 runs of 2 systems: pgbench 18.0, server 13.22, pgbench 18.0, server 17.2"]);
    scene.write("old.txt", &of("15.4", 100.0)).write("new.txt", &of("16.1", 130.0));
    scene.etalon(&["import", "db=old.txt", "db=new.txt", "-o", "t"]).says(0, &["2 runs of 1 system: db"]);
    let found = rows(&scene, "t.etalon");
    assert!(found.iter().all(|row| row.ends_with(",1")), "no second repetition: {found:?}");
    scene.etalon(&["import", "old.txt", "new.txt", "-o", "u"]).says(0, &["2 runs of 2 systems: old, new"]);
    assert_eq!(scene.etalon(&["export", "u.etalon"]).stdout.matches(",version,").count(), 0, "each system has one");
}

#[test]
fn copies_are_no_repetitions_and_no_other_side() {
    let scene = Scene::new();
    let runs = |tps: f64| -> String { (0..6).map(|run| pgbench(tps + f64::from(run) / 7.0)).collect() };
    scene.write("six.txt", &runs(101.3)).write("twelve.txt", &(runs(101.3) + &runs(131.7)));
    scene
        .etalon(&["import", "old=six.txt", "new=six.txt", "-o", "s"])
        .says(0, &["6 of the results of new equal those of old in every figure"]);
    let compared = scene.etalon(&["compare", "s.etalon"]).stdout;
    assert!(compared.contains("not known to be repetitions") && !compared.contains("is the same"), "{compared}");
    scene
        .etalon(&["import", "six.txt", "twelve.txt", "-o", "t"])
        .says(0, &["6 of the results of twelve equal those of six in every figure", "left out of both"]);
    // Few digits, which may come again by chance.
    let short = "Vuser 1:TEST RESULT : System achieved 251442 NOPM from 584467 MariaDB TPM\n";
    scene.write("h.txt", short).write("same.txt", short);
    scene.etalon(&["import", "a=h.txt", "a=same.txt", "-o", "u"]).says(0, &["1 run of 1 system: a", "left out: 1"]);
}

/// Six runs of pgbench, each a little faster than the one before.
fn six(tps: f64) -> String {
    (0..6).map(|run| pgbench(tps + f64::from(run) / 7.0)).collect()
}

#[test]
fn folders_below_those_of_systems_are_keys() {
    let scene = Scene::new();
    for (version, factor) in [("pg14", 1.0), ("pg15", 1.1)] {
        for (sync, tps, hour) in [("sync_off", 900.0, 7), ("sync_on", 300.0, 8)] {
            for (shape, is_log) in [("s", false), ("log", true)] {
                std::fs::create_dir_all(scene.path().join(format!("{shape}/{version}/{sync}"))).unwrap();
                for run in 0..3 {
                    let us = (f64::from(hour * 1_000 + run) * factor * 10.0) as u32;
                    let log = format!("0 0 {us} 0 17956{hour}{run}000 1\n0 1 2500 0 17956{hour}{run}009 {run}\n");
                    let (name, text) = if is_log {
                        (format!("pgbench_log.40{run}"), log)
                    } else {
                        (format!("run{run}.log"), pgbench(tps * factor + f64::from(run)))
                    };
                    scene.write(&format!("{shape}/{version}/{sync}/{name}"), &text);
                }
            }
        }
    }
    let ways: [&[&str]; 5] = [
        &["s"],
        &["log"],
        &["s/pg14", "s/pg15"],
        &["pg14=s/pg14", "pg15=s/pg15"],
        &["pg14=s/pg14/*/run*.log", "pg15=s/pg15/*/run*.log"],
    ];
    for (way, number) in ways.into_iter().zip(0..) {
        let store = format!("s{number}");
        let imported = scene.etalon(&[&["import"], way, &["-o", &store]].concat());
        imported.says(
            0,
            &["12 runs of 2 systems: pg14, pg15", "(sync-off, sync-on) are different cases, by the key `folder`"],
        );
        let found = rows(&scene, &format!("{store}.etalon"));
        assert_eq!(found.iter().filter(|row| row.contains("sync-on") && row.ends_with(",3")).count(), 2, "{found:?}");
        assert!(!found.iter().any(|row| row.ends_with(",4")), "{found:?}");
    }
}

#[test]
fn captions_and_names_of_files_both_tell_apart() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("d")).unwrap();
    for (name, factor) in [("vm1", 1.0), ("vm2", 1.2)] {
        let page = format!("=== cache off ===\n{}=== cache on ===\n{}", six(100.0 * factor), six(300.0 * factor));
        scene.write(&format!("d/{name}.log"), &page);
    }
    scene.etalon(&["import", "d", "-o", "s"]).says(0, &["24 runs of 2 systems: vm1, vm2"]);
    let found = rows(&scene, "s.etalon");
    assert_eq!(found.iter().filter(|row| row.contains("cache on") && row.ends_with(",6")).count(), 2, "{found:?}");
}

#[test]
fn a_file_of_several_results_is_no_run() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("d")).unwrap();
    scene.write("d/host-1.txt", &six(100.0)).write("d/host-2.txt", &six(120.0));
    scene.etalon(&["import", "d", "-o", "s"]).says(0, &["12 runs of 2 systems: host-1, host-2"]);
    scene.write("d/host-1.txt", &pgbench(100.0)).write("d/host-2.txt", &pgbench(120.0));
    scene.etalon(&["import", "d", "-o", "t"]).says(0, &["2 runs of 1 system: d"]);
}

#[test]
fn runs_that_stand_in_two_files_count_once() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("d")).unwrap();
    for run in 0..6 {
        scene.write(&format!("d/r{run}.log"), &pgbench(101.3 + f64::from(run) / 7.0));
    }
    scene.write("d/all.log", &six(101.3));
    scene.etalon(&["import", "d", "-o", "s"]).says(0, &["6 runs of 1 system: d", "left out: 1"]);
}

#[test]
fn runs_in_common_are_left_out_of_both_sides() {
    let scene = Scene::new();
    let (seven, old, new) = (six(101.3) + &pgbench(99.1), pgbench(107.7), pgbench(203.9));
    scene.write("old.txt", &(seven.clone() + &old)).write("new.txt", &(seven + &new));
    scene.etalon(&["import", "old.txt", "new.txt", "-o", "s"]).says(0, &["2 runs of 2 systems", "left out of both"]);
}

#[test]
fn results_that_all_are_equal_have_no_verdict() {
    let scene = Scene::new();
    let same = |tps: &str, ms: &str| {
        let run = pgbench(2000.0).replace("2000.123457", tps).replace("2.000 ms", ms);
        run.repeat(8)
    };
    scene.write("old.txt", &same("2000.000000", "2.000 ms")).write("new.txt", &same("2300.000000", "1.740 ms"));
    scene.etalon(&["import", "old.txt", "new.txt", "-o", "s"]).says(0, &["16 runs of 2 systems"]);
    let compared = scene.etalon(&["compare", "s.etalon"]).stdout;
    assert!(compared.contains("they equal each other in") && compared.contains("no verdict"), "{compared}");
}

#[test]
fn sides_of_different_loads_have_nothing_in_common() {
    let scene = Scene::new();
    let side = |range: u32, tps: f64| format!("$ pgbench -h db{range} -D range={range} -T 60 -f q.sql\n{}", six(tps));
    scene.write("old.txt", &side(1000, 101.3)).write("new.txt", &side(2000, 131.7));
    scene.etalon(&["import", "old.txt", "new.txt", "-o", "s"]).says(0, &["they are the key `load`"]);
    let compared = scene.etalon(&["compare", "s.etalon"]).stdout;
    assert!(compared.contains("range=1000") && !compared.contains("as fast"), "{compared}");
    scene.write("new.txt", &side(1000, 131.7).replace("db1000", "db2").replace("60", "30"));
    let imported = scene.etalon(&["import", "old.txt", "new.txt", "-o", "t"]);
    assert!(!imported.stderr.contains("`load`"), "places and lengths: {}", imported.stderr);
}

#[test]
fn a_time_series_is_one_run() {
    let scene = Scene::new();
    let rows = |system: &str, tps: u32| -> String {
        (1..9).map(|second| format!("{system},{second},{}\n", tps + second % 3)).collect()
    };
    scene.write("t.csv", &format!("system,second,tps\n{}{}", rows("old", 1000), rows("new", 1200)));
    let map = ["--map", "second=ignore", "--map", "tps=tps:tx/s:higher"];
    scene
        .etalon(&[&["import", "t.csv", "-o", "s"], &map[..]].concat())
        .says(0, &["the rows are a time series: `second` rises by equal steps"]);
    let compared = scene.etalon(&["compare", "s.etalon"]).stdout;
    assert!(compared.contains("no verdict") && !compared.contains(" faster"), "{compared}");
}

/// Whether a table with a column of times is taken for a time series.
#[track_caller]
fn is_series(scene: &Scene, name: &str, column: &str, rows: &str) -> bool {
    scene.write(&format!("{name}.csv"), &format!("system,{column},tps\n{rows}"));
    let map = [&format!("{column}=ignore"), "--map", "tps=tps:tx/s:higher"];
    let imported = scene.etalon(&[&["import", &format!("{name}.csv"), "-o", name, "--map"], &map[..]].concat());
    imported.says(0, &[]).stderr.contains(&format!("the rows are a time series: `{column}` rises by equal steps"))
}

#[test]
fn moments_of_samples_are_told_from_those_of_runs() {
    let scene = Scene::new();
    let row = |system: &str, day: u32, seconds: u32| {
        format!("{system},2026-11-{day:02} 10:{:02}:{:02},{}\n", seconds / 60, seconds % 60, 1000 + seconds % 3)
    };
    let of_system = |system: &str, day: u32, step: u32| -> String {
        (1..12).filter(|n| *n != 7).map(|n| row(system, day, n * step)).collect()
    };
    let both = |step: u32| format!("{}{}", of_system("old", 1, step), of_system("new", 2, step));
    assert!(is_series(&scene, "samples", "time", &both(5)), "with a gap between the systems, and one that is missing");
    assert!(!is_series(&scene, "runs", "started", &both(30)));
    let in_turn: String = (0..40).map(|n| row(if n % 2 == 0 { "old" } else { "new" }, 1, n * 8)).collect();
    assert!(!is_series(&scene, "in_turn", "started", &in_turn));
    let nightly: String = (1..10).map(|day| row("old", day, 0)).collect();
    assert!(!is_series(&scene, "nightly", "time", &nightly));
    let epochs =
        |step: u32| -> String { (1..20).map(|n| format!("old,{},1000\n", 1_700_000_000 + n * step)).collect() };
    assert!(!is_series(&scene, "epochs_of_nights", "epoch", &epochs(86_400)));
    assert!(is_series(&scene, "epochs_of_samples", "epoch", &epochs(5)));
}

#[test]
fn what_cannot_be_imported_is_named_with_what_to_do() {
    let scene = Scene::new();
    scene
        .write("tps.log", &"tps = 2015.064757 (without initial connection time)\n".repeat(3))
        .write("a.log", &six(100.0));
    scene.etalon(&["import", "tps.log", "-o", "s"]).says(2, &["without what was run", "import the whole outputs"]);
    scene.etalon(&["import", "a.log", "-o", "t"]).says(0, &["6 runs"]);
    let again = scene.etalon(&["import", "a.log", "-o", "t"]);
    again.says(3, &["give another name with `-o`"]);
    assert!(!again.stderr.contains("etalon resume"), "{}", again.stderr);
    let pipe = std::process::Command::new("mkfifo").arg(scene.path().join("pipe")).status();
    if pipe.is_ok_and(|status| status.success()) {
        scene.etalon(&["import", "pipe", "-o", "u"]).says(2, &["pipe is no regular file", "etalon import -"]);
    }
}

#[test]
fn passwords_of_an_imported_text_are_nowhere() {
    let scene = Scene::new();
    let command = |word: &str| {
        format!(
            "$ export PGPASSWORD={word}\nmy_password={word}\n$ pgbench postgres://me:{word}@db/bench -c 4\n\
             sysbench --mysql-password={word} run\nthe password: {word}\n{}",
            pgbench(100.0)
        )
    };
    scene.write("a.txt", &command("hunter2")).write("b.txt", &command("swordfish"));
    scene.write("one.txt", &format!("{}{}", command("hunter2"), command("swordfish")));
    for (store, files) in [("two", &["a.txt", "b.txt"][..]), ("one", &["one.txt"])] {
        let arguments: Vec<&str> = ["import"].iter().chain(files).chain(&["-o", store]).copied().collect();
        let imported = scene.etalon(&arguments);
        let store = format!("{store}.etalon");
        let printed = scene.etalon(&["export", &store, "--format", "json"]).stdout;
        let stored = std::fs::read(scene.path().join(&store)).unwrap();
        for secret in ["hunter2", "swordfish"] {
            assert!(!stored.windows(secret.len()).any(|part| part == secret.as_bytes()), "{secret} in {store}");
            let all = [&imported.stdout, &imported.stderr, &printed];
            assert!(all.iter().all(|text| !text.contains(secret)), "{secret}: {all:?}");
        }
    }
}

#[test]
fn names_of_files_hold_system_case_and_run() {
    let scene = Scene::new();
    let mut names = Vec::new();
    for (system, factor) in [("pg15", 1.0), ("pg16", 1.1)] {
        for clients in [8, 16] {
            for run in 1..4 {
                let name = format!("n/{system}_{clients}_{run}.txt");
                let text = pgbench((f64::from(100 * clients + run)) * factor);
                std::fs::create_dir_all(scene.path().join("n")).unwrap();
                scene.write(&name, &text.replace("clients: 4", &format!("clients: {clients}")));
                names.push(name);
            }
        }
    }
    let of_files: Vec<&str> =
        ["import"].into_iter().chain(names.iter().map(String::as_str)).chain(["-o", "files"]).collect();
    scene.etalon(&of_files).says(0, &["12 runs of 2 systems: pg15, pg16", "are runs of one system (pg15, pg16)"]);
    scene.etalon(&["import", "n", "-o", "folder"]).says(0, &["12 runs of 2 systems: pg15, pg16"]);
    assert_eq!(rows(&scene, "files.etalon"), rows(&scene, "folder.etalon"));
    // One run of each: the numbers may be of machines.
    scene
        .etalon(&["import", "n/pg15_8_1.txt", "n/pg15_8_2.txt", "n/pg16_8_1.txt", "-o", "few"])
        .says(0, &["3 systems"]);
}

#[test]
fn folders_of_runs_hold_those_of_systems() {
    let scene = Scene::new();
    for run in 1..4 {
        for (system, factor) in [("old", 1.0), ("new", 1.1)] {
            std::fs::create_dir_all(scene.path().join(format!("all/{run}/{system}"))).unwrap();
            scene.write(&format!("all/{run}/{system}/pgbench.log"), &pgbench(f64::from(1000 + run) * factor));
        }
    }
    scene.etalon(&["import", "all", "-o", "s"]).says(0, &["6 runs of 2 systems: new, old", "the baseline is old"]);
}
