//! Experiments of many nights in one file: what is added, refused, shown, judged and exported.

use std::path::PathBuf;

use serde_json::Value;

use crate::scene::{Ran, Scene};

const FILE: &str = "etalon-history.db";

/// A night with an anchor: the build's service time makes the step. The virtual clock of `sim:` makes it short.
fn run_night(scene: &Scene, night: u32, service_us: u32) -> PathBuf {
    let build = format!("build=sim:?noise=0.01&service_us={service_us}");
    let (name, seed) = (format!("night-{night:02}"), format!("schedule.seed={night}"));
    let words = ["run", "anchor=sim:?noise=0.01&service_us=310", &build, "--script", "select-only", "--clients", "8"];
    let rest = ["--rounds", "6", "--set", "schedule.duration=300ms", "--set", &seed, "--name", &name, "--quiet"];
    scene.etalon(&[&words[..], &rest].concat()).says(0, &[]);
    let stores = std::fs::read_dir(scene.path().join("etalon-results")).unwrap();
    let found = stores.map(|entry| entry.unwrap().path()).find(|path| {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        file.starts_with(&name) && file.ends_with(".etalon")
    });
    found.unwrap()
}

fn shown(ran: &Ran) -> Value {
    ran.says(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// The states of the rows of one metric, by its name.
fn state_of(history: &Value, metric: &str) -> String {
    let rows = history["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == metric).unwrap();
    row["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_step_becomes_an_alarm_and_the_gate_fails() {
    let scene = Scene::new();
    let steady: Vec<PathBuf> = (1..=9).map(|night| run_night(&scene, night, 300)).collect();
    let folder = scene.path().join("etalon-results").display().to_string();
    let added = scene.etalon(&["history", "add", &folder, "--anchor", "anchor"]);
    added.says(0, &[]);
    assert_eq!(added.stdout, format!("{FILE}: added 9 experiments with 27 points\n"));
    let before = std::fs::read(scene.path().join(FILE)).unwrap();
    let again = scene.etalon(&["history", "add", &folder, "--json"]);
    assert_eq!(shown(&again)["known"], 9);
    assert!(before == std::fs::read(scene.path().join(FILE)).unwrap(), "adding twice changed the file");
    assert_eq!(state_of(&shown(&scene.etalon(&["history", "--json"])), "throughput"), "steady");
    let gate = |store: &PathBuf| scene.etalon(&["gate", &store.display().to_string(), "--history", FILE]);
    gate(&steady[8]).says(0, &[]);
    let nine = steady[8].display().to_string();
    scene.etalon(&["history", "add", &nine, "--history", "one.db"]).says(0, &[]);
    let undecided = scene.etalon(&["gate", &nine, "--history", "one.db"]);
    undecided.says(4, &[]);
    assert!(undecided.stdout.contains("undecided: too few points"), "{}", undecided.stdout);
    for option in [["--margin", "3%"], ["--metrics", "all"], ["--inconclusive", "pass"]] {
        scene.etalon(&[&["gate", &nine, "--history", FILE], &option[..]].concat()).says(2, &[option[0]]);
    }
    scene.etalon(&["gate", &format!("{nine}:build"), "--history", FILE]).says(2, &["judges all systems"]);
    // Two nights of a build that is a sixth slower are no alarm yet, three are.
    for (night, state, code) in [(10, "steady", 0), (11, "not-yet-an-alarm", 0), (12, "alarm", 1)] {
        let store = run_night(&scene, night, 360);
        let judged = gate(&store);
        judged.says(code, &[]);
        scene.etalon(&["history", "add", &store.display().to_string(), "--commit", &format!("c{night}")]).says(0, &[]);
        assert_eq!(state_of(&shown(&scene.etalon(&["history", "--json"])), "throughput"), state, "{}", judged.stdout);
    }
    let text = scene.etalon(&["history"]).stdout;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("build, select-only, throughput: -")
            && flat.contains("(worse) since ")
            && flat.contains("commit c10"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let csv = scene.etalon(&["history", "export", "--format", "otava"]).stdout;
    assert_eq!(csv.lines().count(), 13, "{csv}");
    scene.etalon(&["history", "export", "--format", "github-action-benchmark"]).says(2, &["--better higher"]);
    let json = scene.etalon(&["history", "export", "--format", "bencher"]).stdout;
    let json: Value = serde_json::from_str(&json).unwrap();
    let (name, measures) = json.as_object().unwrap().iter().next().unwrap();
    assert!(name.starts_with("build/select-only/clients=8, "), "{name}");
    assert!(measures["throughput-ratio"]["value"].is_number(), "{json}");
}

#[test]
fn what_cannot_be_added_is_refused_by_name_and_leaves_no_file() {
    let scene = Scene::new();
    scene.etalon(&["history"]).says(2, &["there is no history", "etalon history add STORE"]);
    scene.etalon(&["history", "add", "gone.etalon"]).says(3, &["gone.etalon"]);
    scene.write("no.etalon", "no store").etalon(&["history", "add", "no.etalon"]).says(3, &["no.etalon"]);
    assert!(!scene.path().join(FILE).exists(), "a refused store made a history");
    let store = run_night(&scene, 1, 300).display().to_string();
    // A run that waits again is one that has not ended.
    let conn = rusqlite::Connection::open(&store).unwrap();
    conn.execute_batch("PRAGMA ignore_check_constraints = ON; UPDATE runs SET state = 'planned' WHERE position = 0")
        .unwrap();
    drop(conn);
    scene.etalon(&["history", "add", &store]).says(2, &["is not added: it has not ended", "etalon resume "]);
    // What is another's stays.
    let other = run_night(&scene, 2, 300).display().to_string();
    scene.write("mine.db", "my notes");
    scene.etalon(&["history", "add", &other, "--history", "mine.db"]).says(2, &["is not an étalon history"]);
    assert_eq!(std::fs::read_to_string(scene.path().join("mine.db")).unwrap(), "my notes");
    scene.etalon(&["history", "--history", &other]).says(2, &["it is the store of an experiment"]);
    // Of several the good one is added, and the other one named.
    let both = scene.etalon(&["history", "add", &store, &other, "--anchor", "anchor"]);
    both.says(1, &["is not added: it has not ended"]);
    assert!(both.stdout.contains("added 1 experiment with 3 points, 1 refused"), "{}", both.stdout);
    scene.etalon(&["history", "add", &other, "--anchor", "build"]).says(2, &["the anchor of"]);
    // In a folder it is noted.
    let folder = scene.etalon(&["history", "add", "etalon-results"]);
    folder.says(0, &["is not added: it has not ended"]);
    // From the future.
    let conn = rusqlite::Connection::open(&other).unwrap();
    conn.execute_batch("UPDATE experiment SET created_unix_ms = created_unix_ms + 3 * 86400000").unwrap();
    drop(conn);
    scene.etalon(&["history", "add", &other]).says(2, &["is not added: its experiment began in the future"]);
}

#[test]
fn an_anchor_is_one_from_the_beginning() {
    let scene = Scene::new();
    let store = run_night(&scene, 1, 300).display().to_string();
    let typo = scene.etalon(&["history", "add", &store, "--anchor", "ancor"]);
    typo.says(2, &["no experiment has a system `ancor`", "the systems are `anchor`, `build`"]);
    assert!(!scene.path().join(FILE).exists(), "a refused anchor made a history");
    scene.etalon(&["history", "add", &store]).says(0, &[]);
    scene.etalon(&["history", "add", &store, "--anchor", "anchor"]).says(2, &["has plain values already"]);
    assert!(!scene.etalon(&["history"]).stdout.contains("ratios"));
}

#[test]
fn an_extended_experiment_is_updated() {
    let scene = Scene::new();
    let store = run_night(&scene, 1, 300).display().to_string();
    scene.etalon(&["history", "add", &store, "--anchor", "anchor", "--commit", "c1"]).says(0, &[]);
    let before = shown(&scene.etalon(&["history", "--json"]));
    scene.etalon(&["extend", &store, "--rounds", "2", "--quiet"]).says(0, &[]);
    let added = scene.etalon(&["history", "add", &store]);
    added.says(0, &[]);
    assert_eq!(added.stdout, format!("{FILE}: added 0 experiments with 0 points, 1 updated, with more runs\n"));
    let after = shown(&scene.etalon(&["history", "--json"]));
    assert_eq!(after["experiments"][0]["commit"], "c1");
    assert_eq!(after["experiments"][0]["runs"], 16);
    assert_ne!(after["rows"][0]["points"], before["rows"][0]["points"]);
    assert_eq!(after["rows"][0]["points"].as_array().unwrap().len(), 1);
    let again = scene.etalon(&["history", "add", &store]);
    assert!(again.stdout.contains("1 there already"), "{}", again.stdout);
}

#[test]
fn a_killed_add_leaves_the_file_as_it_was() {
    let scene = Scene::new();
    let first = run_night(&scene, 1, 300).display().to_string();
    scene.etalon(&["history", "add", &first, "--anchor", "anchor"]).says(0, &[]);
    (2..=5).for_each(|night| drop(run_night(&scene, night, 300)));
    let file = scene.path().join(FILE);
    let before = std::fs::read(&file).unwrap();
    for pause_ms in (0..120).step_by(10) {
        let mut add = scene.start(&["history", "add", "etalon-results"]);
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        add.kill().unwrap();
        add.wait().unwrap();
        let found = shown(&scene.etalon(&["history", "--json"]))["experiments"].as_array().unwrap().len();
        assert!(found == 1 || found == 5, "{found} experiments after {pause_ms} ms");
        let _ = std::fs::remove_file(scene.path().join(format!("{FILE}-journal")));
        std::fs::write(&file, &before).unwrap();
    }
}

#[test]
fn a_history_that_was_tampered_with_commands_no_terminal() {
    let scene = Scene::new();
    let store = run_night(&scene, 1, 300).display().to_string();
    scene.etalon(&["history", "add", &store, "--anchor", "anchor"]).says(0, &[]);
    let conn = rusqlite::Connection::open(scene.path().join(FILE)).unwrap();
    let hostile = "a\u{1b}]0;t\u{7}\u{202e}\"\\\n";
    conn.execute("UPDATE series SET system = ?1, benchmark = ?1", [hostile]).unwrap();
    conn.execute_batch("UPDATE points SET value = -1; UPDATE facts SET facts_json = 'x'").unwrap();
    drop(conn);
    for words in [vec!["history"], vec!["history", "--json"]] {
        let ran = scene.etalon(&words);
        ran.says(0, &[]);
        assert!(!ran.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{words:?}: {}", ran.stdout);
    }
    for format in ["otava", "bencher", "prometheus"] {
        scene.etalon(&["history", "export", "--format", format]).says(0, &[]);
    }
}
