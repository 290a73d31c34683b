//! Nothing finished is ever lost, and every resume completes.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use model::RunState;
use rusqlite::Connection;
use store::Store;

use crate::scene::{Scene, ran, sim_plan, sqlite_plan};

/// Six rounds on SQLite; the first ends within about a second.
fn plan() -> String {
    sqlite_plan("rounds = 6\nwarmup = \"10ms\"\ntransactions = 40")
}

fn measured(store: &Path) -> usize {
    let store = Store::open_read_only(store).unwrap_or_else(|error| panic!("{error}"));
    store.check_integrity().unwrap();
    store.runs().unwrap().iter().filter(|run| run.state == RunState::Measured).count()
}

#[test]
fn ctrl_c_ends_cleanly_and_says_how_to_go_on() {
    let scene = Scene::new();
    scene.write("p.toml", &plan());
    let child = scene.start(&["run", "p.toml"]);
    thread::sleep(Duration::from_millis(1500));
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let ended = ran(child.wait_with_output().unwrap());
    ended.says(130, &["interrupted", "etalon resume"]);
    assert!(!scene.path().join("wal.db").exists() && !scene.path().join("rollback.db").exists());
    let store = scene.store();
    let before = measured(&store);
    let so_far = scene.etalon(&["compare", store.to_str().unwrap(), "--markdown"]);
    assert!(so_far.stdout.contains("of 6 rounds have run"), "{}", so_far.stdout);
    scene.etalon(&["export", store.to_str().unwrap(), "-o", "t.csv"]).says(0, &[]);
    scene.etalon(&["import", "tidy", "t.csv", "-o", "told"]).says(0, &[]);
    assert!(scene.etalon(&["compare", "told.etalon", "--markdown"]).stdout.contains("of 6 rounds have run"));
    scene.etalon(&["gate", "told.etalon", "--min-rows", "1"]).says(4, &["hint: run the rest where "]);
    let gate = scene.etalon(&["gate", store.to_str().unwrap(), "--min-rows", "1"]);
    gate.says(4, &["is under way or was stopped (", "hint: run the rest with `etalon resume "]);
    scene.etalon(&["resume", store.to_str().unwrap()]).says(0, &[]);
    assert!(before < 24 && measured(&store) == 24);
}

#[test]
fn a_closed_terminal_ends_what_was_not_started_by_nohup() {
    for (ignored, code) in [("", 130), ("trap '' HUP; ", 0)] {
        let scene = Scene::new();
        scene.write("p.toml", &plan());
        let etalon = scene.command(&[]);
        let script = format!("{ignored}exec \"$0\" run p.toml");
        // Under `nohup` the signal is ignored, and a shell cannot reset what it was started with.
        let reset = ["--default-signal=HUP", "sh"];
        let can_reset = Command::new("env").args(reset).args(["-c", ":"]).status().is_ok_and(|status| status.success());
        let mut shell = Command::new(if can_reset { "env" } else { "sh" });
        shell
            .args(if can_reset { &reset[..] } else { &[] })
            .args(["-c", &script])
            .arg(etalon.get_program())
            .current_dir(scene.path());
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(1000));
        assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
        ran(child.wait_with_output().unwrap()).says(code, &[]);
        assert_eq!(measured(&scene.store()) == 24, code == 0, "{ignored}");
    }
}

#[test]
fn a_quiet_run_that_is_interrupted_says_how_to_resume() {
    let scene = Scene::new();
    scene.write("p.toml", &plan());
    let child = scene.start(&["run", "p.toml", "--quiet"]);
    thread::sleep(Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    ran(child.wait_with_output().unwrap()).says(130, &["interrupted: ", "etalon resume etalon-results/"]);
}

#[test]
fn a_changed_plan_is_not_resumed() {
    let scene = Scene::new();
    let schedule = "rounds = 2\nwarmup = \"10ms\"\nduration = \"100ms\"";
    scene.write("p.toml", &sim_plan("", "", schedule)).etalon(&["run", "p.toml"]).says(0, &[]);
    let store = scene.store();
    scene.write("p.toml", &sim_plan("", "service_us=300", schedule));
    scene
        .etalon(&["resume", store.to_str().unwrap()])
        .says(2, &["has changed since the experiment began, in system `b`", "hint:"]);
    scene.write("p.toml", &format!("name = \"other\"\n{}", sim_plan("", "", schedule)));
    scene.etalon(&["resume", store.to_str().unwrap()]).says(2, &["began, in its `name`"]);
}

#[test]
fn an_experiment_of_another_build_is_not_resumed() {
    for (column, other, told) in [("build", "other", "a other build"), ("etalon_version", "0.0.9", "étalon 0.0.9, a")]
    {
        let scene = Scene::new();
        let plan = sim_plan("", "dies_at_ms=50", HALF).replace("clients = [1, 4]", "clients = 1");
        scene.write("p.toml", &plan).etalon(&["run", "p.toml"]).says(1, &["2 runs failed"]);
        let store = scene.store();
        let rows = Connection::open(&store).unwrap();
        let begun: String = rows.query_row(&format!("SELECT {column} FROM experiment"), [], |row| row.get(0)).unwrap();
        let set = |to: &str| rows.execute(&format!("UPDATE experiment SET {column} = ?1"), [to]).unwrap();
        set(other);
        let attempts = || Store::open_read_only(&store).unwrap().runs().unwrap();
        let before = attempts();
        let refused = scene.etalon(&["resume", store.to_str().unwrap()]);
        refused.says(2, &[told, "runs of two do not mix", "hint: ", "`etalon run p.toml`"]);
        assert_eq!(attempts(), before, "nothing was planned anew");
        // What it holds can still be looked at.
        assert!(scene.etalon(&["compare", store.to_str().unwrap()]).stdout.contains("no verdict"));
        set(&begun);
        scene.etalon(&["resume", store.to_str().unwrap()]).says(1, &["2 runs pending"]);
    }
}

#[test]
fn two_conductors_do_not_write_one_store() {
    let scene = Scene::new();
    scene.write("p.toml", &plan());
    let mut child = scene.start(&["run", "p.toml"]);
    thread::sleep(Duration::from_millis(1500));
    let store = scene.store();
    scene.etalon(&["resume", store.to_str().unwrap()]).says(3, &[store.file_name().unwrap().to_str().unwrap()]);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The second system fails in each run.
const HALF: &str = "on_error = \"continue\"\nrounds = 2\nwarmup = \"0s\"\nduration = \"100ms\"";

#[test]
fn a_round_that_stopped_half_way_is_run_again_whole_unless_told_otherwise() {
    let scene = Scene::new();
    let plan = sim_plan("", "dies_at_ms=50", HALF).replace("clients = [1, 4]", "clients = 1");
    scene.write("p.toml", &plan).etalon(&["run", "p.toml"]).says(1, &["2 runs failed; `etalon resume "]);
    let path = scene.store();
    let store = path.to_str().unwrap();
    let states = || {
        let runs = Store::open_read_only(&path).unwrap().runs().unwrap();
        let of = |state| runs.iter().filter(|run| run.state == state).count();
        (of(RunState::Measured), of(RunState::Superseded))
    };
    assert_eq!(states(), (2, 0));
    let ran = scene.etalon(&["resume", store, "--only-pending"]);
    ran.says(1, &["2 runs pending"]);
    assert!(!ran.stderr.contains("repeated, of rounds"), "{}", ran.stderr);
    assert_eq!(states(), (2, 0));
    // Every run has ended: what could be looked at stays.
    let ran = scene.etalon(&["resume", store]);
    ran.says(1, &["2 runs pending"]);
    assert_eq!(states(), (2, 0), "{}", ran.stderr);
    let interrupt = "UPDATE runs SET state = 'aborted' WHERE id = (SELECT max(id) FROM runs WHERE state = 'failed')";
    assert_eq!(Connection::open(&path).unwrap().execute(interrupt, []).unwrap(), 1);
    let ran = scene.etalon(&["resume", store]);
    ran.says(1, &["2 runs pending", "2 measured runs repeated, of rounds that stopped half-way", "--only-pending"]);
    assert_eq!(states(), (2, 2));
    let dropped = scene.etalon(&["compare", store]).stdout;
    assert!(dropped.contains("superseded") && dropped.contains("measured when repeated"), "{dropped}");
    let shown = scene.etalon(&["show", store]).stdout;
    assert!(shown.contains("superseded  2 runs") && shown.contains("measured    2 runs"), "{shown}");
}
