//! First guesses of a user who knows other tools: each is answered with a line, and the line works.

use crate::scene::{Ran, Scene, sim_plan};

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
    let fio = ["fio", "--rw=randread", "--bs=8k", "--size=16M", "--iodepth=4", "x"];
    let mut line = line_of(&scene.etalon(&fio));
    line[0] = "plan".to_owned();
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    let planned = scene.etalon(&line);
    for key in ["block_kb=8", "depth=4", "pattern=random"] {
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
    let stores: Vec<&str> = files.iter().map(String::as_str).filter(|file| file.ends_with(".etalon")).collect();
    assert_eq!((stores.len(), files.len()), (2, 4), "{files:?}");
    answered(&scene, &["compare", "r2"], &[&["compare"], stores.as_slice()].concat());
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
    answered(&scene, &["import", "old.csv", "new.csv"], &["import", "old.csv", "new.csv", "-o", "old-vs-new.etalon"]);
}

#[test]
fn the_latest_store_is_named_where_a_word_is_none() {
    let scene = Scene::new();
    let latest = "`etalon list etalon-results` lists";
    scene.etalon(&["compare", "last"]).says(2, &["there is no store `last`", latest]);
    scene.etalon(&["run", "quickstart", "--quick", "--quiet"]).says(0, &[]);
    for verb in ["show", "compare", "gate"] {
        let line = format!("type `etalon {verb} etalon-results/quickstart-");
        scene.etalon(&[verb, "last"]).says(2, &[&line]);
    }
}
