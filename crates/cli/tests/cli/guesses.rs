//! First guesses of a user who knows other tools: each is answered with a line, and the line works.

use crate::scene::{Ran, Scene, sim_plan};

/// What fio prints, shortened.
const FIO: &str = include_str!("../../../formats/tests/data/fio/ended.json");

/// What hyperfine exports of one command, in seconds.
fn hyperfine(seconds: f64) -> String {
    format!(
        "{{\"results\":[{{\"command\":\"q\",\"mean\":{seconds},\"stddev\":0.0,\"median\":{seconds},\"times\":[{seconds}]}}]}}"
    )
}

const SHORT_RUNS: &str = "rounds = 2\nwarmup = \"10ms\"\nduration = \"100ms\"";

/// The line in backticks behind the last `type`.
#[track_caller]
fn line_of(ran: &Ran) -> Vec<String> {
    let (_, line) = ran.stderr.rsplit_once("type `").unwrap_or_else(|| panic!("{}", ran.stderr));
    let words = shlex::split(line.split('`').next().unwrap()).unwrap();
    assert_eq!(words[0], "etalon", "{words:?}");
    words[1..].to_vec()
}

#[track_caller]
fn answered(scene: &Scene, typed: &[&str], line: &[&str]) {
    let ran = scene.etalon(typed);
    assert_eq!(ran.code, 2, "{typed:?}: {}", ran.stderr);
    assert_eq!(line_of(&ran), line, "{typed:?}: {}", ran.stderr);
}

fn database(scene: &Scene, name: &str) {
    let database = rusqlite::Connection::open(scene.path().join(name)).unwrap();
    database.execute_batch("CREATE TABLE t (a INTEGER)").unwrap();
}

#[test]
fn files_of_sqlite_are_named_by_url_with_the_users_words() {
    let scene = Scene::new();
    database(&scene, "a.db");
    database(&scene, "b.db");
    let line = ["run", "sqlite:a.db", "sqlite:b.db", "--script", "my.sql"];
    answered(&scene, &["a.db", "b.db"], &line);
    answered(&scene, &["run", "a.db", "b.db"], &["run", "--script", "my.sql", "sqlite:a.db", "sqlite:b.db"]);
    scene.write("my.sql", "SELECT count(*) FROM t;\n");
    scene.etalon(&[&line[..], &["--quick"]].concat()).says(0, &[]);
    let backup = ["run", "backup-compression", "--set", "benchmarks.*.tables=none", "--system", "sqlite:a.db"];
    answered(&scene, &["run", "backup", "a.db"], &backup);
    answered(
        &scene,
        &["plan", "backup-compression", "sqlite:c.db", "b=sqlite:d.db"],
        &["plan", "backup-compression", "--system", "sqlite:c.db", "--system", "b=sqlite:d.db"],
    );
    answered(&scene, &["backup", "a.db"], &backup);
    scene.etalon(&[&["plan"], &backup[1..]].concat()).says(0, &[]);
    let codecs = line_of(&scene.etalon(&["backup", "a.db", "--codec", "gzip,zstd"]));
    let codecs: Vec<&str> = ["plan"].into_iter().chain(codecs[1..].iter().map(String::as_str)).collect();
    let planned = scene.etalon(&codecs);
    assert!(planned.says(0, &[]).stdout.contains("codec=zstd"), "{}", planned.stdout);
    let sought = ["capacity", "sqlite:x.db", "--p99", "20ms"];
    answered(&scene, &["capacity", "sqlite:x.db", "--latency", "p99<20"], &sought);
    // One system twice keeps its other words.
    scene.write("s.sql", "SELECT 1;\n");
    let twice = ["run", "sqlite:a.db", "sqlite:a.db", "--script", "s.sql", "--quick"];
    scene.etalon(&twice).says(2, &["`etalon run sqlite:a.db --script s.sql --quick --aa`"]);
    scene.etalon(&["plan", "sqlite:a.db", "--script", "s.sql", "--quick", "--aa"]).says(0, &[]);
}

#[test]
fn no_password_is_repeated() {
    let scene = Scene::new();
    for typed in [
        &["diff", "me:hunter2@h/a", "b"][..],
        &["bench", "x=postgres://me:hunter2@h/a"],
        &["run", "--mysql-host=h", "--mysql-password=hunter2", "x"],
        &["run", "-h", "h", "-U", "me", "--password=hunter2"],
        &["me:hunter2@h/a", "postgres"],
        &["run", "-h", "h", "-u", "me", "-p", "hunter2"],
        &["bench", "-h", "h", "-phunter2", "mysql"],
    ] {
        let ran = scene.etalon(typed);
        assert!(ran.code == 2 && !ran.stderr.contains("hunter2"), "{typed:?}: {}", ran.stderr);
    }
}

#[test]
fn a_variable_that_is_set_as_the_hint_says_is_set() {
    let scene = Scene::new();
    scene.write("s.sql", "SELECT :nope;\n");
    scene.etalon(&["plan", "sqlite:a.db", "--script", "s.sql"]).says(2, &["--set 'benchmarks.*.define=nope=VALUE'"]);
    for set in ["benchmarks.*.define=nope=3", "define=nope=3"] {
        let planned = scene.etalon(&["plan", "sqlite:a.db", "--script", "s.sql", "--set", set]);
        assert!(planned.says(0, &[]).stdout.contains("define=nope=3"), "{set}: {}", planned.stdout);
    }
}

#[test]
fn disk_before_folders_is_no_third_system() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("x")).unwrap();
    std::fs::create_dir(scene.path().join("y")).unwrap();
    answered(&scene, &["disk", "x", "y"], &["run", "x", "y"]);
    let planned = scene.etalon(&["plan", "disk", "x", "y"]);
    assert!(planned.says(0, &[]).stdout.contains("plan x-vs-y: valid"), "{}", planned.stdout);
    let fio = ["fio", "--rw=randread", "--bs=16k", "--size=16M", "--iodepth=4", "x"];
    let mut line = line_of(&scene.etalon(&fio));
    line[0] = "plan".to_owned();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let planned = scene.etalon(&line);
    for key in ["block_kb=16", "depth=4", "size_mb=16"] {
        assert!(planned.says(0, &[]).stdout.contains(key), "{key}: {}", planned.stdout);
    }
}

#[test]
fn stores_are_named_where_a_folder_or_reports_are_given() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=210", SHORT_RUNS));
    scene.etalon(&["run", "p.toml", "-o", "r2"]).says(0, &[]);
    scene.etalon(&["run", "p.toml", "-o", "r2"]).says(0, &[]);
    let mut files: Vec<String> = std::fs::read_dir(scene.path().join("r2"))
        .unwrap()
        .map(|entry| format!("r2/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    files.sort();
    let mut stores: Vec<&str> = files.iter().map(String::as_str).filter(|file| file.ends_with(".etalon")).collect();
    // Two of one second are told apart by a number, which sorts before the ending.
    stores.sort_by_key(|store| std::fs::metadata(scene.path().join(store)).unwrap().modified().unwrap());
    assert_eq!((stores.len(), files.len()), (2, 4), "{files:?}");
    let newest = scene.etalon(&["compare", "r2"]);
    let before = format!("against the one before it: `etalon compare {} {}`", stores[0], stores[1]);
    newest
        .says(2, &[&format!("the newest: type `etalon compare {}`", stores[1]), "`etalon list r2` lists all", &before]);
    let all: Vec<&str> = std::iter::once("compare").chain(files.iter().map(String::as_str)).collect();
    scene.etalon(&all).says(0, &["left out, as reports and no stores: r2/"]);
    let apart = scene.etalon(&["compare", "--baseline", stores[0], stores[1]]);
    assert!(apart.says(0, &[]).stdout.contains("measured apart"), "{}", apart.stdout);
    answered(&scene, &["gate", stores[0], stores[1]], &["gate", stores[1], "--baseline", stores[0]]);
    answered(&scene, &["gate", stores[0], "--sla", "1s"], &["gate", stores[0], "--limit", "p99 <= 1s"]);
    scene.etalon(&["gate", stores[0]]).says(4, &[&format!("`etalon compare {}`", stores[0])]);
}

#[test]
fn an_exported_comparison_is_told_from_a_store() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=210", SHORT_RUNS));
    scene.etalon(&["run", "p.toml"]).says(0, &[]);
    scene.etalon(&["export", scene.store().to_str().unwrap(), "--format", "json", "-o", "new.json"]).says(0, &[]);
    for verb in ["compare", "gate"] {
        let line = format!("type `etalon {verb} STORE`");
        scene.etalon(&[verb, "new.json"]).says(2, &["a finished comparison that étalon exported as JSON", &line]);
    }
    let store = scene.store();
    let export = ["export", store.to_str().unwrap(), "-o", "runs.csv"];
    scene.etalon(&export).says(0, &[]);
    scene.etalon(&["import", "runs.csv", "-o", "elsewhere"]).says(0, &[]);
    scene.etalon(&["compare", "elsewhere.etalon"]).says(0, &[]);
}

#[test]
fn connection_strings_are_systems() {
    let scene = Scene::new();
    let [a, b] = ["host=/tmp port=5433 dbname=x user=me", "new=host=10.0.0.7 user=me dbname=y password='hunter2 x'"];
    let planned = scene.etalon(&["plan", a, b, "--json"]);
    assert!(planned.says(0, &[]).stdout.contains("new"), "{}", planned.stdout);
    assert!(!planned.stdout.contains("hunter2") && !planned.stderr.contains("hunter2"), "{}", planned.stdout);
    scene.etalon(&["plan", "host=h user=me sslmod=require"]).says(2, &["it has no option `sslmod`"]);
    let ran = scene.etalon(&["run", "host=127.0.0.1 port=1 dbname=x user=me password=hunter2", "--quick"]);
    assert!(ran.says(3, &["127.0.0.1"]).code == 3 && !ran.stderr.contains("hunter2"), "{}", ran.stderr);
}

#[test]
fn files_of_other_tools_are_imported_first() {
    let scene = Scene::new();
    let (old, new) = ("benchmark,tps\na,100\n", "benchmark,tps\na,120\n");
    scene.write("old.csv", old).write("new.csv", new);
    let says = ["`etalon import old.csv new.csv -o old-vs-new.etalon`, then `etalon compare old-vs-new.etalon`"];
    scene.etalon(&["compare", "old.csv", "new.csv"]).says(2, &says);
    scene.etalon(&["diff", "old.csv", "new.csv"]).says(2, &says);
    let line = "`etalon import old.csv new.csv -o old-vs-new.etalon`";
    let map = "--map 'tps=tps:tx/s:higher'";
    scene.etalon(&["import", "old.csv", "new.csv"]).says(2, &[map, line]);
    scene.etalon(&["compare", "old.csv", "new.csv"]).says(2, &[map, line]);
    scene.write("old.json", FIO).write("new.json", FIO);
    answered(
        &scene,
        &["import", "old.json", "new.json"],
        &["import", "old.json", "new.json", "-o", "old-vs-new.etalon"],
    );
    scene.etalon(&["import", "old.json", "new.json", "-o", "old-vs-new.etalon"]).says(0, &[]);
}

/// The path of the one store among the results.
fn newest_store(scene: &Scene) -> String {
    let entries = std::fs::read_dir(scene.path().join("etalon-results")).unwrap();
    let mut stores = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().unwrap() == "etalon");
    format!("etalon-results/{}", stores.next().unwrap().file_name().unwrap().display())
}

#[test]
fn the_latest_store_is_named_where_a_word_is_none() {
    let scene = Scene::new();
    let latest = "`etalon list etalon-results` lists";
    scene.etalon(&["compare", "last"]).says(2, &["there is no store `last`", latest]);
    scene.etalon(&["run", "quickstart", "--quick", "--quiet"]).says(0, &[]);
    for verb in ["show", "compare", "gate", "report"] {
        let line = format!("type `etalon {verb} etalon-results/quickstart-");
        scene.etalon(&[verb, "mine"]).says(2, &[&line]);
        let (of_last, of_store) = (scene.etalon(&[verb, "last"]), scene.etalon(&[verb, &newest_store(&scene)]));
        assert_eq!((of_last.code, of_last.stdout), (of_store.code, of_store.stdout), "{verb}: {}", of_last.stderr);
    }
    scene.etalon(&["compare", "last~1", "last"]).says(2, &["there is no store `last~1`"]);
    scene.etalon(&["run", "quickstart", "--quick", "--quiet"]).says(0, &[]);
    assert!(scene.etalon(&["show", "last~1"]).says(0, &[]).stdout.contains("quickstart"));
    let compared = scene.etalon(&["compare", "last~1", "last"]).says(0, &[]).stdout.clone();
    assert!(compared.starts_with("Measured apart"), "{compared}");
    scene.etalon(&["list", "last"]).says(2, &["type `etalon show etalon-results/quickstart-"]);
    // What a verb writes is no store in place of `last`.
    scene.etalon(&["report", "last", "-o", "last"]).says(0, &["report: last"]);
    std::fs::remove_file(scene.path().join("last")).unwrap();
    for typed in [&["report"][..], &["report", "1", "--html"], &["gate"], &["compare"]] {
        let line = line_of(&scene.etalon(typed));
        assert!(scene.path().join(&line[1]).is_file(), "{typed:?}: {line:?}");
    }
    let report = line_of(&scene.etalon(&["report", "1", "--html"]));
    let report: Vec<&str> = report.iter().map(String::as_str).collect();
    scene.etalon(&report).says(0, &["report: etalon-results/quickstart-"]);
    let stores = scene.etalon(&["list", "etalon-results"]).says(0, &[]).stdout.clone();
    let listed = scene.etalon(&["list"]).says(0, &[]).stdout.clone();
    assert!(listed.starts_with(stores.trim_end()), "{listed}");
}

/// The line that a guess is answered with, as `etalon plan` takes it, is planned.
#[track_caller]
fn planned(scene: &Scene, typed: &[&str]) -> (Vec<String>, Ran) {
    let line = line_of(&scene.etalon(typed));
    assert_eq!(line[0], "run", "{typed:?}: {line:?}");
    let end = line.iter().position(|word| word == "-o" || word == "&&").unwrap_or(line.len());
    let plan: Vec<&str> = ["plan"].into_iter().chain(line[1..end].iter().map(String::as_str)).collect();
    let ran = scene.etalon(&plan);
    ran.says(0, &[]);
    (line, ran)
}

#[test]
fn a_time_that_is_too_short_is_repaired() {
    let scene = Scene::new();
    let typed = ["run", "--a", "sim:?a=1", "--b", "sim:?a=2", "--duration", "60", "--clients", "1,2,4,8,16,32,64,128"];
    let (line, _) = planned(&scene, &typed);
    let at = line.iter().position(|word| word == "--for").unwrap();
    assert_ne!(line[at + 1], "60s", "{line:?}");
    scene.etalon(&typed).says(2, &["`--for 60s` is too short for a verdict"]);
}

#[test]
fn urls_of_other_tools_are_rewritten() {
    let scene = Scene::new();
    let [a, b] = ["host=127.0.0.1 port=1 user=me dbname=a", "host=127.0.0.1 port=1 user=me dbname=b"];
    let (line, _) = planned(&scene, &["compare", "-A", a, "-B", b]);
    assert_eq!(line, ["run", "postgres://me@127.0.0.1:1/a", "postgres://me@127.0.0.1:1/b"]);
    let (line, _) = planned(&scene, &["compare", "pg://me@127.0.0.1:1/a", "maria://me@127.0.0.1:1/b", "-c", "8"]);
    assert_eq!(line, ["run", "postgres://me@127.0.0.1:1/a", "mysql://me@127.0.0.1:1/b", "-c", "8"]);
    answered(&scene, &["run", "pg://me@127.0.0.1:1/a", "-c", "8"], &["run", "postgres://me@127.0.0.1:1/a", "-c", "8"]);
    let refused = scene.etalon(&["bench", "postgers://h/d", "sim:?a=1"]);
    refused.says(2, &["did you mean `postgres://`?"]);
    assert!(!refused.stderr.contains("type `"), "{}", refused.stderr);
}

#[test]
fn threads_of_sysbench_are_clients() {
    let scene = Scene::new();
    scene.write("my.sql", "SELECT 1;\n");
    let typed = ["run", "--sql", "my.sql", "sim:?a=1", "sim:?a=2", "--threads=4", "--time=10"];
    let (line, _) = planned(&scene, &typed);
    let expected = "run sim:?a=1 sim:?a=2 --script my.sql --clients 4 --for 10s";
    assert_eq!(line.join(" "), expected);
    scene.etalon(&typed).says(2, &["`--threads` are those of étalon itself"]);
}

#[test]
fn a_setting_that_is_set_becomes_one_of_the_second_side() {
    let scene = Scene::new();
    let url = "postgres://me@127.0.0.1:1/a";
    let (line, plan) = planned(&scene, &["compare", url, "--set", "synchronous_commit=off"]);
    assert_eq!(line, ["run", url, "--set-b", "synchronous_commit=off"]);
    assert!(plan.stdout.contains("synchronous_commit"), "{}", plan.stdout);
    for state in ["before", "after"] {
        scene
            .etalon(&[state, url])
            .says(2, &["`--set-b NAME=VALUE`", "`--change SQL --undo SQL`", "compare before after`"]);
    }
}

#[test]
fn a_change_with_its_queries_is_compared_before_and_after() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("sql")).unwrap();
    scene.write("sql/a.sql", "SELECT 1;\n").write("sql/b.sql", "SELECT 2;\n");
    let url = "postgres://me@127.0.0.1:1/a";
    let change = "create index on t(a)";
    let (line, _) = planned(&scene, &["sql", "sql/a.sql", "sql/b.sql", "--db", url, "--before", "", "--after", change]);
    let change = "create index etalon_index on t(a)";
    assert_eq!(line, ["run", url, "--queries", "sql/", "--change", change, "--undo", "drop index etalon_index"]);
}

#[test]
fn folders_of_stores_are_their_newest_finished_ones() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=210", SHORT_RUNS));
    for folder in ["before", "after", "after"] {
        scene.etalon(&["run", "p.toml", "-o", folder]).says(0, &[]);
    }
    let compared = scene.etalon(&["compare", "before", "after"]);
    compared.says(0, &["the newest store of each folder: before/p-"]);
    // A file that is no finished experiment is newer.
    scene.write("after/z.etalon", "");
    assert_eq!(scene.etalon(&["compare", "before", "after"]).stderr, compared.stderr);
    let gate = line_of(&scene.etalon(&["gate", "after"]));
    assert!(compared.stderr.contains(&gate[1]), "{gate:?}: {}", compared.stderr);
}

#[test]
fn runs_of_one_system_are_imported_together() {
    let scene = Scene::new();
    for (system, tps) in [("a", 100), ("b", 130)] {
        for run in 1..=6 {
            scene.write(&format!("{system}{run}.json"), &hyperfine(100.0 / f64::from(tps + run)));
        }
    }
    let files: Vec<String> = ["a", "b"].iter().flat_map(|s| (1..=6).map(move |run| format!("{s}{run}.json"))).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let import = "`etalon import 'a=a*.json' 'b=b*.json' -o a-vs-b.etalon`, then `etalon compare a-vs-b.etalon`";
    scene.etalon(&[&["compare"], files.as_slice()].concat()).says(2, &[import]);
    let all = scene.etalon(&[&["import"], files.as_slice(), &["-o", "all"]].concat());
    all.says(0, &["12 systems of one file each; `etalon import 'a=a*.json' 'b=b*.json' -o a-vs-b.etalon`"]);
    scene.etalon(&["import", "a=a*.json", "b=b*.json", "-o", "a-vs-b.etalon"]).says(0, &["12 runs of 2 systems: a, b"]);
    scene.etalon(&["compare", "a-vs-b.etalon"]).says(0, &[]);
    let named = ["import", "a1.json", "a2.json", "a3.json", "a4.json", "a5.json", "a6.json", "--name", "old"];
    answered(&scene, &named, &["import", "old=a*.json", "-o", "old.etalon"]);
    scene.etalon(&["import", "old=a*.json", "-o", "old.etalon"]).says(0, &["6 runs of 1 system: old"]);
    let says =
        "`etalon import a1.json b1.json -o a1-vs-b1.etalon`, then `etalon gate a1-vs-b1.etalon --max-regression 5%`";
    scene.etalon(&["gate", "a1.json", "b1.json", "--max-regression", "5%"]).says(2, &[says]);
    scene.etalon(&["gate", "b1.json", "--baseline", "a1.json", "--max-regression", "5%"]).says(2, &[says]);
    scene.etalon(&["import", "a1.json", "b1.json", "-o", "a1-vs-b1.etalon"]).says(0, &[]);
    // One run of each is too few for a verdict.
    scene.etalon(&["gate", "a1-vs-b1.etalon", "--max-regression", "5%"]).says(4, &[]);
}

#[test]
fn a_gate_of_systems_runs_them_first() {
    let scene = Scene::new();
    let typed = ["gate", "--baseline", "sim:?a=1", "--candidate", "sim:?a=2", "--threshold", "5%"];
    let url = |name: &str| format!("postgres://me@127.0.0.1:1/{name}");
    let typed = typed.map(|word| word.strip_prefix("sim:?a=").map_or_else(|| word.to_owned(), &url));
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let (line, _) = planned(&scene, &typed);
    assert_eq!(line[1..3], [url("1"), url("2")]);
    assert_eq!(line[line.len() - 2..], ["--max-regression", "5%"]);
    let line = "`etalon run postgres://me@127.0.0.1:1/a && etalon gate last`";
    scene.etalon(&["gate", &url("a")]).says(2, &[line]);
}

#[test]
fn a_file_of_fio_is_the_folder_that_it_is_in() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("d1")).unwrap();
    let typed = ["disk", "--filename=d1/testfile", "--bs=16k", "--rw=randwrite", "--iodepth=16", "--runtime=10"];
    let (line, plan) = planned(&scene, &typed);
    assert_eq!(line[1], "d1");
    assert!(plan.stdout.contains("block_kb=16"), "{}", plan.stdout);
}

#[test]
fn codecs_are_compared_by_the_plan_of_backups() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("d1")).unwrap();
    let codecs = "benchmarks.*.codec=[\"gzip\", \"zstd\"]";
    let (line, _) = planned(&scene, &["compress", "--codecs", "gzip,zstd", "d1"]);
    assert_eq!(line, ["run", "backup-compression", "--set", codecs]);
    let url = "postgres://me@127.0.0.1:1/a";
    let (line, plan) = planned(&scene, &["backup", "compare", url, "gzip:6", "zstd:3"]);
    assert!(line.contains(&codecs.to_owned()) && line.ends_with(&["--system".to_owned(), url.to_owned()]), "{line:?}");
    assert!(plan.stdout.contains("codec=zstd"), "{}", plan.stdout);
    // Words that are nothing do not ask each other what they mean.
    scene.etalon(&["run", "backup", "ab", "restore", "dump", "zz"]).says(2, &[]);
}

#[test]
fn sweeps_and_ranges_are_answered_with_numbers_of_clients() {
    let scene = Scene::new();
    let url = "postgres://me@127.0.0.1:1/a";
    answered(&scene, &["sweep", "--threads", "1,8", url], &["run", url, "--clients", "1,8"]);
    let line = ["run", "postgres://me@db1/bench", "--clients", "1,8"];
    answered(&scene, &["sweep", "--threads", "1,8"], &line);
    scene.etalon(&["sweep", "--threads", "1,8"]).says(2, &["put the URL of yours"]);
    for range in ["1-32", "1..32", "1:32"] {
        let line = ["run", "sim:", "--clients", "1,2,4,8,16,32"];
        answered(&scene, &["run", "sim:", "--clients", range], &line);
        scene.etalon(&["plan", "sim:", &format!("-c{range}")]).says(2, &["`etalon plan sim: -c1,2,4,8,16,32`"]);
    }
    let (line, _) = planned(&scene, &["run", "sim:", "--slo", "20ms", "--clients", "8"]);
    assert_eq!(line, ["run", "sim:", "--p99", "20ms", "--clients", "8"]);
}

#[test]
fn levels_of_codecs_are_kept() {
    let scene = Scene::new();
    let level = |typed: &[&str]| planned(&scene, typed).1.stdout;
    for typed in [&["backup", "postgres", "zstd:9"][..], &["run", "backup", "postgres", "--compression", "zstd:9"]] {
        let plan = level(typed);
        assert!(plan.contains("level=9") && !plan.contains("gzip"), "{typed:?}: {plan}");
    }
    let both = level(&["backup", "postgres", "--codec", "zstd:3,zstd:9"]);
    assert!(both.contains("level=3") && both.contains("level=9"), "{both}");
    let all = level(&["backup", "postgres", "gzip:6", "zstd:6"]);
    assert!(all.contains("codec=gzip") && !all.contains("level=0"), "{all}");
}

#[test]
fn names_of_other_benchmarks_and_tools_are_plans() {
    let scene = Scene::new();
    let url = "postgres://me@127.0.0.1:1/a";
    for typed in [&["tpcc", url][..], &["run", "tpcc", url], &["tpc-c", url]] {
        answered(&scene, typed, &["run", "order-entry", "--system", url]);
    }
    answered(&scene, &["tpch", url], &["run", "analytics", "--system", url]);
    answered(&scene, &["tpcc"], &["run", "order-entry", "--system", "postgres://me@db1/bench"]);
    for typed in [&["pg_dump", url][..], &["run", "pg_dump", url], &["mysqldump", url]] {
        let (line, _) = planned(&scene, typed);
        assert_eq!(line[..2], ["run", "backup-compression"], "{typed:?}");
        assert_eq!(line[line.len() - 2..], ["--system", url], "{typed:?}");
    }
}

#[test]
fn a_baseline_that_is_no_store_is_answered_with_one() {
    let scene = Scene::new();
    let typed = ["gate", "--baseline", "baseline.json"];
    scene.etalon(&typed).says(2, &["takes the store that it judges", "NEW.etalon --baseline OLD.etalon"]);
    scene.write("p.toml", &sim_plan("", "service_us=210", SHORT_RUNS));
    for _ in 0..2 {
        scene.etalon(&["run", "p.toml"]).says(0, &[]);
    }
    let line = line_of(&scene.etalon(&typed));
    assert_eq!((line[0].as_str(), line[2].as_str(), line.len()), ("gate", "--baseline", 4), "{line:?}");
    assert_ne!(line[1], line[3]);
    // The candidate is there, and its baseline is not.
    let missing = scene.etalon(&["gate", &line[1], "--baseline", "baseline.json"]);
    missing.says(2, &["there is no store `baseline.json`"]);
    assert_eq!(line_of(&missing), line);
    let words: Vec<&str> = line.iter().map(String::as_str).collect();
    assert_ne!(scene.etalon(&words).code, 2);
    answered(&scene, &["gate", "--baseline", &line[3]], &words);
}

#[test]
fn a_verb_behind_compare_says_what_is_measured() {
    let scene = Scene::new();
    for folder in ["x", "y"] {
        std::fs::create_dir(scene.path().join(folder)).unwrap();
        scene.write(&format!("{folder}.json"), &hyperfine(1.0));
    }
    let size = ["run", "x", "y", "--set", "benchmarks.*.size_mb=16"];
    answered(&scene, &["compare", "disks", "x", "y", "--size", "16M"], &size);
    let (line, _) = planned(&scene, &["compare", "backup", "postgres", "gzip", "zstd"]);
    assert_eq!(line[1], "backup-compression");
    let import = "`etalon import x.json y.json -o x-vs-y.etalon`, then `etalon compare x-vs-y.etalon`";
    scene.etalon(&["compare", "--format", "hyperfine", "x.json", "y.json"]).says(2, &[import]);
}

#[test]
fn fio_has_one_benchmark_of_what_it_does() {
    let scene = Scene::new();
    std::fs::create_dir(scene.path().join("x")).unwrap();
    std::fs::create_dir(scene.path().join("y")).unwrap();
    let (_, plan) = planned(&scene, &["fio", "--rw=randread", "--bs=8k", "x", "y"]);
    assert!(plan.stdout.contains(" read @ x") && !plan.stdout.contains("write"), "{}", plan.stdout);
    let (_, plan) = planned(&scene, &["fio", "--rw=randrw", "x"]);
    assert!(plan.stdout.contains(" mixed @ disk") && plan.stdout.contains("op=mixed"), "{}", plan.stdout);
}

#[test]
fn a_plan_says_whether_commits_wait_for_the_disk() {
    let scene = Scene::new();
    let url = "postgres://me@127.0.0.1:1/a";
    let asked = "commits: as the server is set: `etalon doctor postgres://me@127.0.0.1:1/a` shows";
    let server = scene.etalon(&["plan", "postgres", url]);
    assert!(server.says(0, &[]).stdout.contains("commits: wait until they are on disk"), "{}", server.stdout);
    assert!(server.stdout.contains(asked), "{}", server.stdout);
    scene.write("p.toml", &sim_plan("", "service_us=210&durability=delayed", SHORT_RUNS));
    let plan = scene.etalon(&["plan", "p.toml"]);
    assert!(plan.says(0, &[]).stdout.contains("commits: do not wait for the disk"), "{}", plan.stdout);
    scene.etalon(&["run", "p.toml", "--allow-unequal-durability"]).says(0, &["commits do not wait for the disk"]);
}
