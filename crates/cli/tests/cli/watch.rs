//! An experiment is followed while it runs, and neither it nor its store notices.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scene::{Scene, ran, sim_plan, sqlite_plan};

const SHORT: &str = "rounds = 6\nwarmup = \"10ms\"\nduration = \"300ms\"";

/// Between two looks: the run needs the processors more.
const PAUSE: Duration = Duration::from_millis(500);

fn files(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

/// Each file of a folder with its bytes and when it was written; not SQLite's `-shm`, in which each reader leaves how far it read.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>, std::time::SystemTime)> {
    let read = |name: String| {
        let path = folder.join(&name);
        (name, std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap())
    };
    files(folder).into_iter().filter(|name| !name.ends_with("-shm")).map(read).collect()
}

fn watched(scene: &Scene) -> Value {
    let ran = scene.etalon(&["watch", "--json"]);
    ran.says(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn intervals(found: &Value) -> Vec<String> {
    let intervals = found["rows"].as_array().unwrap().iter().filter_map(|row| {
        let so_far = row["so_far"].as_str().unwrap();
        Some(so_far[so_far.find('[')?..=so_far.find(']')?].to_owned())
    });
    intervals.collect()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        thread::sleep(PAUSE);
    }
}

/// Runs that were measured, once there is a store.
fn measured(scene: &Scene) -> u64 {
    let found = serde_json::from_str::<Value>(&scene.etalon(&["watch", "--json"]).stdout);
    found.ok().and_then(|found| found["runs"]["measured"].as_u64()).unwrap_or_default()
}

#[test]
fn a_finished_store_shows_what_its_comparison_shows() {
    let scene = Scene::new();
    let schedule = "rounds = 6\nwarmup = \"0s\"\nduration = \"100ms\"";
    scene.write("p.toml", &sim_plan("errors=0.01", "service_us=300", schedule)).etalon(&["run", "p.toml"]).says(0, &[]);
    let (store, folder) = (scene.store(), scene.path().join("etalon-results"));
    let before = contents(&folder);
    let shown = scene.etalon(&["watch"]);
    shown.says(0, &[]);
    let compared = scene.etalon(&["compare", store.to_str().unwrap()]).stdout;
    assert!(shown.stdout.contains(&compared), "{}\n--- compare\n{compared}", shown.stdout);
    for part in ["\nended: 24 runs of 6 rounds, took ", "\nlast run, round 6: ", "\n  throughput ", "\n  errors: "] {
        assert!(shown.stdout.contains(part), "{part}: {}", shown.stdout);
    }
    assert!(shown.stdout.lines().all(|line| line.chars().count() <= 80), "{}", shown.stdout);
    let of_folder = scene.etalon(&["watch", folder.to_str().unwrap()]).stdout;
    assert_eq!(scene.etalon(&["watch", store.to_str().unwrap()]).stdout, of_folder);
    assert!(before == contents(&folder), "a watcher wrote something");
}

#[test]
fn ten_watchers_follow_a_run_and_leave_nothing() {
    let scene = Scene::new();
    let folder = scene.path().join("etalon-results");
    let run = scene.write("p.toml", &sqlite_plan(SHORT)).start(&["run", "p.toml"]);
    wait_until("there is a store", || folder.is_dir() && scene.etalon(&["watch"]).code == 0);
    let look = || -> BTreeSet<String> {
        let mut states = BTreeSet::new();
        loop {
            let found = watched(&scene);
            let state = found["state"].as_str().unwrap().to_owned();
            if state == "running" {
                for row in found["rows"].as_array().unwrap() {
                    let so_far = row["so_far"].as_str().unwrap();
                    assert!(!so_far.contains('['), "a fixed number of rounds has no interval before its end: {row}");
                }
            }
            states.insert(state.clone());
            if state == "ended" {
                return states;
            }
            thread::sleep(PAUSE);
        }
    };
    let seen: Vec<BTreeSet<String>> = thread::scope(|scope| {
        let watchers: Vec<_> = (0..10).map(|_| scope.spawn(look)).collect();
        watchers.into_iter().map(|watcher| watcher.join().unwrap()).collect()
    });
    assert!(seen.iter().any(|states| states.contains("running")), "{seen:?}");
    assert!(seen.iter().all(|states| !states.contains("stopped")), "{seen:?}");
    ran(run.wait_with_output().unwrap()).says(0, &[]);
    let left = files(&folder);
    let is_own = |name: &String| name.ends_with(".etalon") || name.ends_with(".html");
    assert!(left.len() == 2 && left.iter().all(is_own), "{left:?}");
}

#[test]
fn a_killed_run_is_said_to_have_stopped_and_its_files_stay() {
    let scene = Scene::new();
    let schedule = "rounds = \"6..60\"\nwarmup = \"10ms\"\nduration = \"200ms\"";
    // Sides that are alike, and equal within a hundredth of a percent: sixty rounds do not decide that.
    let alike = sqlite_plan(schedule).replace("settings = { journal_mode = \"WAL\" }\n", "");
    let mut run = scene.write("p.toml", &format!("margin = 0.0001\n{alike}")).start(&["run", "p.toml"]);
    wait_until("a row has an interval", || measured(&scene) > 28 && !intervals(&watched(&scene)).is_empty());
    run.kill().unwrap();
    run.wait().unwrap();
    let (store, folder) = (scene.store(), scene.path().join("etalon-results"));
    let before = contents(&folder);
    let names = files(&folder);
    let shown = scene.etalon(&["watch"]);
    assert!(before == contents(&folder) && files(&folder) == names, "a watcher wrote something: {names:?}");
    assert!(shown.stdout.contains("\nstopped after ") && shown.stdout.contains("etalon resume "), "{}", shown.stdout);
    // Its intervals are those of the comparison, which every look may show.
    let compared = scene.etalon(&["compare", store.to_str().unwrap()]).stdout;
    assert!(compared.contains("confidence sequence"), "{compared}");
    let found = watched(&scene);
    let intervals = intervals(&found);
    assert!(!intervals.is_empty(), "{found}");
    assert!(intervals.iter().all(|interval| compared.contains(interval)), "{intervals:?}\n{compared}");
}

#[test]
fn a_store_that_is_gone_and_a_folder_without_any_are_said() {
    let scene = Scene::new();
    scene.etalon(&["watch"]).says(3, &["etalon-results"]);
    scene.etalon(&["watch", "gone.etalon"]).says(3, &["gone.etalon"]);
    std::fs::create_dir(scene.path().join("etalon-results")).unwrap();
    scene.etalon(&["watch"]).says(2, &["there is no store in `etalon-results`"]);
    scene.write("no.etalon", "no store").etalon(&["watch", "no.etalon"]).says(3, &["not a SQLite database"]);
}

/// Runs a watcher on a terminal of 80 × 24 that `script` makes, until `end` ends it: what the terminal was sent, and the exit code.
fn on_a_terminal(scene: &Scene, end: impl FnOnce(&mut std::process::ChildStdin)) -> (String, String) {
    use std::process::{Command, Stdio};

    let etalon = scene.program.display();
    let shell = format!("stty cols 80 rows 24; stty -g > before; '{etalon}' watch; echo $? > code; stty -g > after");
    let mut script = Command::new("script")
        .args(["-qec", &shell, "/dev/null"])
        .current_dir(scene.path())
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut output, sent) = (script.stdout.take().unwrap(), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut part = [0; 4_096];
            while let Ok(length @ 1..) = output.read(&mut part) {
                sent.lock().unwrap().extend_from_slice(&part[..length]);
            }
        });
        let is_shown = || String::from_utf8_lossy(&sent.lock().unwrap()).contains("leaves");
        wait_until("the screen is drawn", is_shown);
        let mut keys = script.stdin.take().unwrap();
        end(&mut keys);
        script.wait().unwrap();
    });
    let shown = String::from_utf8_lossy(&sent.into_inner().unwrap()).into_owned();
    let read = |name: &str| std::fs::read_to_string(scene.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "the terminal's settings");
    assert!(shown.contains("\u{1b}[?1049h") && shown.contains("\u{1b}[?1049l"), "{shown:?}");
    (words(&shown), read("code").trim().to_owned())
}

/// What a terminal was sent without its commands, which stand for the spaces that they skip.
fn words(sent: &str) -> String {
    let parts = sent.split('\u{1b}').map(|part| part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()));
    let shown = parts.map(|part| part.get(1..).unwrap_or_default()).collect::<Vec<_>>().join(" ");
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_terminal_shows_it_and_is_as_before_afterwards() {
    use std::io::Write as _;

    let version = std::process::Command::new("script").arg("--version").output();
    if !version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).contains("util-linux")) {
        return eprintln!("skipped: no `script` of util-linux, which makes a terminal");
    }
    let scene = Scene::new();
    let schedule = "rounds = 2\nwarmup = \"0s\"\nduration = \"100ms\"";
    scene.write("p.toml", &sim_plan("", "", schedule)).etalon(&["run", "p.toml"]).says(0, &[]);
    let folder = scene.path().join("etalon-results");
    for keys in ["q", "\u{1b}", "\u{3}", "jj \u{1b}[6~kq"] {
        let (shown, code) = on_a_terminal(&scene, |stdin| stdin.write_all(keys.as_bytes()).unwrap());
        assert_eq!(code, "0", "{keys:?}");
        assert!(shown.contains("8 runs of 2 rounds") && shown.contains("q leaves"), "{shown:?}");
    }
    // What is deleted meanwhile stays in sight, and is said to be gone.
    let store = scene.store();
    let (shown, code) = on_a_terminal(&scene, |stdin| {
        std::fs::remove_file(&store).unwrap();
        // A key has it look at once.
        stdin.write_all(b"jq").unwrap();
    });
    assert_eq!(code, "0");
    assert!(shown.contains("what was read before"), "{shown:?}");
    assert_eq!(files(&folder).len(), 1, "the report");
}
