//! Nothing finished is ever lost, and every resume completes.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use model::TrialState;
use store::Store;

use crate::scene::{Scene, ran, sim_plan};

const PLAN: &str = r#"
    [systems.rollback]
    url = "sqlite:rollback.db"
    [systems.wal]
    url = "sqlite:wal.db"
    settings = { journal_mode = "WAL" }
    [[benchmarks]]
    workload = "transactions"
    script = "select-update"
    clients = [1, 2]
    [schedule]
    blocks = 6
    warmup = "10ms"
    transactions = 40
"#;

fn measured(store: &Path) -> usize {
    let store = Store::open_read_only(store).unwrap_or_else(|error| panic!("{error}"));
    store.check_integrity().unwrap();
    store.trials().unwrap().iter().filter(|trial| trial.state == TrialState::Measured).count()
}

/// A small generator, so that the moments of the kills are the same in every run of the test.
struct Moments(u64);

impl Moments {
    fn next(&mut self, most_ms: u64) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis((self.0 >> 33) % most_ms)
    }
}

/// Runs the command, kills it after `moment`, and gives how many trials it said were finished.
fn run_and_kill(scene: &Scene, args: &[&str], moment: Duration) -> usize {
    let mut child = scene.start(args);
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let reader = thread::spawn(move || {
        stderr.lines().map_while(Result::ok).filter(|line| line.starts_with("block ") && line.contains("tx/s")).count()
    });
    thread::sleep(moment);
    // SIGKILL: no handler runs.
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

#[test]
fn fifty_kills_lose_no_finished_trial_and_every_resume_completes() {
    let mut moments = Moments(20_261_121);
    let mut kills = 0;
    while kills < 50 {
        let scene = Scene::new();
        scene.write("p.toml", PLAN);
        let mut said = run_and_kill(&scene, &["run", "p.toml"], Duration::from_millis(300) + moments.next(1500));
        kills += 1;
        let results = scene.path().join("etalon-results");
        if !results.exists() || std::fs::read_dir(&results).unwrap().next().is_none() {
            assert_eq!(said, 0, "a trial was announced before its store existed");
            continue;
        }
        let store = scene.store();
        for _ in 0..4 {
            let kept = measured(&store);
            assert!(kept >= said, "{said} trials were finished, {kept} are in the store");
            said = kept + run_and_kill(&scene, &["resume", store.to_str().unwrap()], moments.next(1500));
            kills += 1;
        }
        assert!(measured(&store) >= said);
        scene.etalon(&["resume", store.to_str().unwrap()]).says(0, &[]);
        assert_eq!(measured(&store), 24);
        assert!(!scene.path().join("wal.db").exists(), "the databases are removed at the end");
    }
}

#[test]
fn ctrl_c_ends_cleanly_and_says_how_to_go_on() {
    let scene = Scene::new();
    scene.write("p.toml", PLAN);
    let child = scene.start(&["run", "p.toml"]);
    thread::sleep(Duration::from_millis(1500));
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(signalled.success());
    let ended = ran(child.wait_with_output().unwrap());
    ended.says(130, &["interrupted", "etalon resume"]);
    assert!(!scene.path().join("wal.db").exists() && !scene.path().join("rollback.db").exists());
    let store = scene.store();
    let before = measured(&store);
    scene.etalon(&["resume", store.to_str().unwrap()]).says(0, &[]);
    assert!(before < 24 && measured(&store) == 24);
}

#[test]
fn a_closed_terminal_ends_what_was_not_started_by_nohup() {
    for (ignored, code) in [("", 130), ("trap '' HUP; ", 0)] {
        let scene = Scene::new();
        scene.write("p.toml", PLAN);
        let etalon = scene.command(&[]);
        let script = format!("{ignored}exec \"$0\" run p.toml");
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).arg(etalon.get_program()).current_dir(scene.path());
        let child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        thread::sleep(Duration::from_millis(1000));
        assert!(Command::new("kill").args(["-HUP", &child.id().to_string()]).status().unwrap().success());
        ran(child.wait_with_output().unwrap()).says(code, &[]);
        assert_eq!(measured(&scene.store()) == 24, code == 0, "{ignored}");
    }
}

#[test]
fn a_changed_plan_is_not_resumed() {
    let scene = Scene::new();
    let schedule = "blocks = 2\nwarmup = \"10ms\"\nduration = \"100ms\"";
    scene.write("p.toml", &sim_plan("", "", schedule)).etalon(&["run", "p.toml"]).says(0, &[]);
    let store = scene.store();
    scene.write("p.toml", &sim_plan("", "service_us=300", schedule));
    scene.etalon(&["resume", store.to_str().unwrap()]).says(2, &["has changed since the experiment began", "hint:"]);
}

#[test]
fn two_conductors_do_not_write_one_store() {
    let scene = Scene::new();
    scene.write("p.toml", PLAN);
    let mut child = scene.start(&["run", "p.toml"]);
    thread::sleep(Duration::from_millis(1500));
    let store = scene.store();
    scene.etalon(&["resume", store.to_str().unwrap()]).says(3, &[store.file_name().unwrap().to_str().unwrap()]);
    child.kill().unwrap();
    child.wait().unwrap();
}
