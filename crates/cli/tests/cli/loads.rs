//! How a load is made: protocols, tables of others, what scripts may do.

use rusqlite::Connection;

use crate::scene::{Scene, ran};

/// A short plan on SQLite with these keys of its benchmark.
fn plan(keys: &str) -> String {
    format!(
        "[systems.a]\nurl = \"sqlite:a.db\"\n\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"./mine.sql\"\n{keys}\n\n\
         [schedule]\nrounds = 1\nwarmup = \"10ms\"\ntransactions = 3\n"
    )
}

#[test]
fn every_protocol_runs_and_unfit_keys_are_refused() {
    let scene = Scene::new();
    scene.write("mine.sql", "\\set a 1\nSELECT abalance FROM pgbench_accounts WHERE aid = :a + :b;\n");
    scene
        .write("p.toml", &plan("protocol = [\"prepared\", \"extended\", \"simple\"]\ndefine = \"b=2\"\nmax_tries = 3"));
    scene.etalon(&["run", "p.toml"]).says(0, &["protocol=prepared", "protocol=extended", "protocol=simple"]);
    scene.write("p.toml", &plan("protocol = \"simple\"\npipeline = 4\ndefine = \"b=2\""));
    scene.etalon(&["run", "p.toml"]).says(2, &["`pipeline = 4`", "simple protocol has no pipeline"]);
    scene.write("p.toml", &plan("reconnect = 2\ndefine = \"b=2\""));
    scene.etalon(&["run", "p.toml"]).says(3, &["`reconnect = 2`", "SQLite has no server", "leave `reconnect` out"]);
    scene.write("p.toml", &plan("define = \"b\""));
    scene.etalon(&["run", "p.toml"]).says(2, &["`define = b`", "has no `=`", "hint:"]);
    scene.write("p.toml", &plan("protocol = \"text\""));
    scene.etalon(&["plan", "p.toml"]).says(2, &["protocol", "p.toml:7"]);
}

#[test]
fn a_shell_is_granted_by_the_command_line_alone() {
    let scene = Scene::new();
    scene.write("mine.sql", "SELECT 1;\n\\setshell n echo 7\n\\shell touch :n\n");
    scene.write("p.toml", &plan(""));
    scene.etalon(&["plan", "p.toml"]).says(0, &[]);
    scene.etalon(&["run", "p.toml"]).says(2, &["line 2, column 1", "`--allow-shell`"]);
    assert!(!scene.path().join("7").exists());
    scene.write("p.toml", &plan("allow_shell = true"));
    scene.etalon(&["run", "p.toml"]).says(2, &["unknown key `allow_shell`"]);
    scene.write("p.toml", &plan(""));
    scene.etalon(&["run", "p.toml", "--allow-shell"]).says(0, &[]);
    assert!(scene.path().join("7").exists());
}

#[test]
fn what_a_script_shows_is_shown() {
    let scene = Scene::new();
    scene.write("mine.sql", "\\set a debug(1 + 1)\nSELECT :a;\n").write("p.toml", &plan(""));
    scene.etalon(&["run", "p.toml"]).says(0, &["debug(script=0,command=1): int 2"]);
    let quiet = scene.etalon(&["run", "p.toml", "--quiet"]);
    assert!(!quiet.stderr.contains("debug("), "{}", quiet.stderr);
}

#[test]
fn a_script_that_ends_in_a_transaction_fails() {
    let scene = Scene::new();
    scene.write("mine.sql", "BEGIN;\nSELECT 1;\n").write("p.toml", &plan(""));
    scene.etalon(&["run", "p.toml"]).says(3, &["the script ends in an open transaction", "`COMMIT`"]);
}

#[test]
fn tables_of_others_are_worked_on_and_left_alone() {
    let scene = Scene::new();
    scene.write("mine.sql", "UPDATE mine SET n = n + 1;\n").write("p.toml", &plan("tables = \"none\""));
    scene.etalon(&["run", "p.toml"]).says(3, &["a.db", "hint: with `tables = \"none\"`"]);
    let database = Connection::open(scene.path().join("a.db")).unwrap();
    database.execute_batch("PRAGMA application_id = 5; CREATE TABLE mine (n); INSERT INTO mine VALUES (0)").unwrap();
    let planned = scene.etalon(&["plan", "p.toml"]);
    assert!(planned.stdout.contains("would drop: nothing: the benchmarks work on the tables that are there"));
    scene
        .etalon(&["run", "p.toml"])
        .says(0, &["works on the tables that are there; étalon makes, fills and drops none"]);
    let number = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert!(number("SELECT n FROM mine") >= 3);
    assert_eq!((number("PRAGMA application_id"), number("SELECT count(*) FROM sqlite_schema")), (5, 1));
}

/// The built-in plans on PostgreSQL, each once and in short.
#[test]
fn built_in_plans_run() {
    let short = ["--set", "schedule.warmup=50ms", "--set", "schedule.duration=200ms", "--quiet"];
    for (plan, rounds, rows) in [
        ("postgres-settings", "2", "bigger"),
        ("postgres-paths", "1", "protocol=simple"),
        ("postgres-pooler", "1", "pooled"),
    ] {
        let scene = Scene::new();
        let rounds = format!("schedule.rounds={rounds}");
        let mut args = vec!["run", plan, "--set", &rounds];
        args.extend(short);
        args.extend(["--set", "benchmarks.*.clients=3"]);
        let ran = scene.etalon(&args);
        ran.says(0, &[]);
        assert!(ran.stdout.contains(rows), "{}", ran.stdout);
    }
}

#[test]
fn more_clients_than_open_files_are_refused_before_the_first_connects() {
    let scene = Scene::new();
    scene.write("mine.sql", "SELECT 1;\n").write("p.toml", &plan("clients = 500"));
    // Both limits, so that étalon cannot raise its own.
    let limited = || {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -n 300; exec \"$0\" run p.toml", env!("CARGO_BIN_EXE_etalon")]);
        shell.current_dir(scene.path()).env("NO_COLOR", "1").output()
    };
    let Ok(output) = limited() else {
        return println!("skipped: there is no `sh` to lower the limit");
    };
    ran(output)
        .says(3, &["500 connections", "lets this process open 300", "RLIMIT_NOFILE", "hint: raise the hard limit"]);
    // Connections count, not waiting clients.
    scene.write("p.toml", &plan("clients = 500\npool = { size = 5 }"));
    ran(limited().unwrap()).says(0, &[]);
}

/// Both sides carry a rate that is asked of them, so it says nothing of them.
#[test]
fn at_a_rate_the_first_sentence_is_about_the_response_time() {
    let scene = Scene::new();
    let line = "run old=sim:?service_us=200&servers=4 new=sim:?service_us=400&servers=4 --script select-only --clients 4 \
                --set benchmarks.*.rate=500 --set schedule.rounds=6 --set schedule.warmup=100ms --set schedule.duration=400ms";
    let ran = scene.etalon(&line.split(' ').collect::<Vec<_>>());
    ran.says(0, &[]);
    let first = ran.stdout.split("\n\n").next().unwrap().replace('\n', " ");
    assert!(first.contains("as long for select-only") || first.contains("longer for select-only"), "{}", ran.stdout);
    assert!(!first.contains("is the same"), "{}", ran.stdout);
}

#[test]
fn a_journal_that_a_setting_keeps_is_removed_at_the_end() {
    let scene = Scene::new();
    let file = Connection::open(scene.path().join("own.db")).unwrap();
    file.execute_batch("CREATE TABLE t (n INT); INSERT INTO t VALUES (1)").unwrap();
    drop(file);
    scene.write("add.sql", "UPDATE t SET n = n + 1;\n");
    for mode in ["persist", "truncate"] {
        let set = format!("systems.own.settings.journal_mode={mode}");
        let line = ["run", "own=sqlite:own.db", "--script", "add.sql", "--quick", "--quiet", "--set", &set];
        scene.etalon(&line).says(0, &[]);
        let left = ["-journal", "-wal", "-shm"].map(|end| scene.path().join(format!("own.db{end}")).exists());
        assert_eq!(left, [false; 3], "{mode}");
    }
}
