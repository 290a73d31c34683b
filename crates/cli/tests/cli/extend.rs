//! Experiments that get further rounds.

use serde_json::Value;

use crate::scene::{Scene, ran, sim_plan};
use crate::until_sure::{measured, rows};

const SHORT: &str = "warmup = \"0s\"\nduration = \"800ms\"\n";

/// Six rounds of so much noise decide nothing; that many more do.
fn open_store(scene: &Scene) -> String {
    scene.write("p.toml", &sim_plan("service_us=300&noise=0.2", "service_us=240&noise=0.2", SHORT));
    let ran = scene.etalon(&["run", "p.toml", "--rounds=6", "--json", "--set", "schedule.seed=4"]);
    ran.says(0, &[]);
    assert!(rows(&ran.stdout).iter().any(|row| row["verdict"] == "inconclusive"), "{}", ran.stdout);
    scene.store().to_str().unwrap().to_owned()
}

#[test]
fn an_open_store_is_extended_until_it_is_decided() {
    let scene = Scene::new();
    let store = open_store(&scene);
    let before = std::fs::read(&store).unwrap();
    let ran = scene.etalon(&["extend", &store, "--json"]);
    ran.says(
        0,
        &["6 rounds so far, up to 100 rounds more", "planned with a fixed number of rounds", "nothing is open"],
    );
    assert_ne!(std::fs::read(&store).unwrap(), before);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["experiment"]["rules"]["interval"], "lai-sequence");
    assert!(object["experiment"]["rounds"].as_u64().unwrap() > 6, "{}", object["experiment"]);
    for row in rows(&ran.stdout) {
        assert!(matches!(row["verdict"].as_str(), Some("faster" | "slower" | "equivalent")), "{row}");
    }
    let shown = scene.etalon(&["compare", &store]);
    let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(begun with 6 rounds, and extended)"), "{words}");
    // What was sure stays so: nothing is run.
    let runs = measured(store.as_ref()).len();
    scene.etalon(&["extend", &store]).says(0, &["nothing is open"]);
    assert_eq!(measured(store.as_ref()).len(), runs);
    scene.etalon(&["resume", &store]).says(0, &["nothing is pending"]);
}

#[test]
fn so_many_rounds_are_of_every_case() {
    let scene = Scene::new();
    let store = open_store(&scene);
    let cases = measured(store.as_ref()).len() / 6;
    scene.etalon(&["extend", &store, "--rounds", "2"]).says(0, &["6 rounds so far, 2 rounds more"]);
    let runs = measured(store.as_ref());
    assert_eq!(runs.len(), 8 * cases, "{runs:?}");
    scene.etalon(&["extend", &store, "--rounds", "1"]).says(0, &["8 rounds so far, 1 round more"]);
    assert_eq!(measured(store.as_ref()).len(), 9 * cases);
}

/// So many rounds are not held to the plan's time, and what goes on until it is sure is.
#[test]
fn so_many_rounds_are_run_whatever_max_time_says() {
    let scene = Scene::new();
    let schedule = format!("{SHORT}rounds = \"6..60\"\nmax_time = \"1ms\"");
    scene.write("p.toml", &sim_plan("service_us=300&noise=0.2", "service_us=299&noise=0.2", &schedule));
    scene.etalon(&["run", "p.toml"]).says(0, &["after 6 rounds", "`schedule.max_time` is over"]);
    let store = scene.store().to_str().unwrap().to_owned();
    let rounds = || measured(store.as_ref()).len() / 4;
    scene.etalon(&["extend", &store, "--rounds", "3"]).says(0, &["6 rounds so far, 3 rounds more"]);
    assert_eq!(rounds(), 9);
    scene.etalon(&["resume", &store]).says(0, &["nothing is pending"]);
    let until_sure = scene.etalon(&["extend", &store]);
    until_sure
        .says(0, &["within `schedule.max_time` (1ms): `--rounds N` is not held to it", "`schedule.max_time` is over"]);
    assert!(rounds() < 60, "{} rounds", rounds());
}

#[test]
fn what_changes_no_run_may_change_once_it_has_begun() {
    let scene = Scene::new();
    let schedule = format!("{SHORT}rounds = \"6..2000\"\nmax_time = \"1h\"");
    scene.write("p.toml", &sim_plan("service_us=300&noise=0.3", "service_us=299&noise=0.3", &schedule));
    let mut child = scene.start(&["run", "p.toml", "--set", "margin=0.0001"]);
    let results = scene.path().join("etalon-results");
    while !results.is_dir() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    std::thread::sleep(std::time::Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    let store = scene.store().to_str().unwrap().to_owned();
    let set = |verb: &str, pair: &str, exit: i32, says: &[&str]| {
        scene.etalon(&[verb, &store, "--set", pair]).says(exit, says);
    };
    let may = "`schedule.rounds`, `schedule.max_time` and `schedule.on_error` may change here";
    set("resume", "schedule.duration=9s", 2, &["`schedule.duration` cannot change", may, "--set schedule.duration=9s"]);
    set("resume", "max_time=9s", 2, &["did you mean `schedule.max_time`?"]);
    set("resume", "schedule.max_time=9", 2, &["`--set schedule.max_time=20m`"]);
    set("resume", "schedule.on_error=go", 2, &["neither `stop` nor `continue`"]);
    set("resume", "schedule.rounds=3000", 2, &["etalon extend", "--set schedule.rounds=3000"]);
    scene
        .etalon(&["resume", &store, "--set", "schedule.max_time=1ms", "--set", "schedule.on_error=continue"])
        .says(0, &["`schedule.max_time` is over"]);
    let shown = scene.etalon(&["compare", &store]);
    let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("since `schedule.max_time` (1ms) was over") && !words.contains("extended"), "{words}");
    // It is the plan that was begun with, whatever has changed.
    let has = measured(store.as_ref()).len() / 4;
    set("extend", &format!("schedule.rounds={has}"), 2, &["rounds already"]);
    set("extend", &format!("schedule.rounds={}", has + 1), 0, &["1 round more"]);
    scene.etalon(&["resume", &store]).says(0, &["nothing is pending"]);
}

#[test]
fn a_killed_extension_is_resumed_to_the_same_rounds() {
    let whole = Scene::new();
    let store = open_store(&whole);
    whole.etalon(&["extend", &store, "--rounds=6"]).says(0, &[]);
    let parted = Scene::new();
    let cut = open_store(&parted);
    let mut child = parted.start(&["extend", &cut, "--rounds=6"]);
    std::thread::sleep(std::time::Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    if measured(cut.as_ref()).len() < measured(store.as_ref()).len() {
        parted.etalon(&["extend", &cut]).says(2, &["have not been measured", "etalon resume"]);
    }
    parted.etalon(&["resume", &cut]).says(0, &[]);
    let sorted = |store: &str| {
        let mut runs = measured(store.as_ref());
        runs.sort_unstable();
        runs
    };
    assert_eq!(sorted(&cut), sorted(&store));
}

#[test]
fn what_cannot_be_extended_is_as_it_was() {
    let scene = Scene::new();
    let plan = sim_plan("service_us=300&version=1", "service_us=240", SHORT);
    let named = |version: &str| format!("sim:?service_us=300&version={version}");
    let first_url = plan.lines().find(|line| line.contains("version=1")).unwrap();
    scene.write("p.toml", &plan.replace(first_url, "url = \"env:A_URL\""));
    let begun = ran(scene.command(&["run", "p.toml", "--rounds=2"]).env("A_URL", named("1")).output().unwrap());
    begun.says(0, &[]);
    let store = scene.store();
    let runs = measured(&store).len();
    let changed = ran(scene.command(&["extend", store.to_str().unwrap()]).env("A_URL", named("2")).output().unwrap());
    changed.says(2, &["has changed since the experiment began"]);
    // It is a store of two rounds, judged once.
    let shown = scene.etalon(&["compare", store.to_str().unwrap(), "--json"]);
    let object: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(object["experiment"]["rules"]["interval"], "paired-t");
    assert_eq!(measured(&store).len(), runs);
    scene.etalon(&["resume", store.to_str().unwrap()]).says(0, &["nothing is pending"]);
    for (more, says) in [
        (&["--rounds", "0"][..], "1..=10000"),
        (&["--rounds", "9999"], "are more than the 10000 of an experiment"),
        (&["--rounds", "3", "--until-sure"], "cannot be used with"),
    ] {
        scene.etalon(&[&["extend", store.to_str().unwrap()], more].concat()).says(2, &[says]);
    }
    let sequential = Scene::new();
    sequential.write("p.toml", &sim_plan("service_us=300", "service_us=240", SHORT));
    sequential.etalon(&["run", "p.toml", "--rounds=2", "--set", "schedule.order=sequential"]).says(0, &[]);
    let ordered = sequential.store();
    sequential.etalon(&["extend", ordered.to_str().unwrap()]).says(2, &["sequential order"]);
    sequential.etalon(&["extend", "none.etalon"]).says(3, &["none.etalon"]);
}

#[test]
fn a_plan_that_ends_otherwise_now_is_another() {
    for (begun, changed) in [
        ("rounds = 2", "rounds = \"6..10\""),
        ("rounds = \"6..7\"", "rounds = \"6..7\"\nstop = \"all\""),
        ("rounds = \"6..7\"", "rounds = \"6..7\"\nmax_time = \"1h\""),
        ("rounds = \"6..7\"", "rounds = \"7..7\""),
    ] {
        let scene = Scene::new();
        let plan = |rounds: &str| {
            sim_plan("service_us=300&noise=0.2", "service_us=299&noise=0.2", &format!("{SHORT}{rounds}\n"))
        };
        scene.write("p.toml", &plan(begun));
        scene.etalon(&["run", "p.toml"]).says(0, &[]);
        let store = scene.store();
        let store = store.to_str().unwrap();
        scene.etalon(&["extend", store, "--rounds", "1"]).says(0, &["1 round more"]);
        scene.write("p.toml", &plan(changed));
        scene.etalon(&["extend", store, "--rounds", "1"]).says(2, &["experiment began, in `[schedule]`"]);
        scene.write("p.toml", &plan(begun));
        scene.etalon(&["extend", store, "--rounds", "1"]).says(0, &["1 round more"]);
    }
}

#[test]
fn a_store_of_another_version_is_refused_untouched() {
    let scene = Scene::new();
    let store = open_store(&scene);
    let conn = rusqlite::Connection::open(&store).unwrap();
    conn.execute_batch(
        "UPDATE experiment SET etalon_version = '0.0.1'; DROP TABLE points; DROP TABLE changes; DROP TABLE query_plans; PRAGMA user_version = 4;
         DROP VIEW results; CREATE VIEW results AS SELECT 1;
         ALTER TABLE measurements DROP COLUMN absence; ALTER TABLE measurements DROP COLUMN operations_needed;
         ALTER TABLE marks DROP COLUMN host; ALTER TABLE marks DROP COLUMN data;
         UPDATE runs SET state = 'failed', reason = 'it failed' WHERE id = (SELECT max(id) FROM runs);",
    )
    .unwrap();
    drop(conn);
    let before = std::fs::read(&store).unwrap();
    scene.etalon(&["extend", &store]).says(2, &["runs of two do not mix"]);
    scene.etalon(&["resume", &store]).says(2, &["runs of two do not mix"]);
    assert!(std::fs::read(&store).unwrap() == before, "its bytes have changed");
}
