//! Experiments that end when they are sure.

use serde_json::Value;
use store::Store;

use crate::scene::{Scene, sim_plan};

/// The noise of a simulated server makes rounds differ.
const CLEAR: (&str, &str) = ("service_us=400&noise=0.05", "service_us=300&noise=0.05");
const SHORT: &str = "warmup = \"0s\"\nduration = \"800ms\"\n";

pub fn rows(json: &str) -> Vec<Value> {
    let object: Value = serde_json::from_str(json).unwrap();
    object["comparisons"].as_array().unwrap().clone()
}

/// Round and case of each run that was measured.
pub fn measured(store: &std::path::Path) -> Vec<(u32, u32)> {
    let store = Store::open_read_only(store).unwrap();
    let runs = store.runs().unwrap();
    let ended = runs.iter().filter(|run| run.state == model::RunState::Measured);
    ended.map(|run| (run.planned.round, run.planned.case)).collect()
}

#[test]
fn what_is_clear_ends_with_its_reason_and_an_interval_for_every_look() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT));
    let ran = scene.etalon(&["run", "p.toml", "--rounds", "6..30", "--json"]);
    ran.says(
        0,
        &["6 to 30 rounds, as many as it takes to be sure, 120 runs at most, about 2 min at most", "nothing is open"],
    );
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(object["experiment"]["rules"]["interval"], "lai-sequence", "{}", object["experiment"]);
    assert_eq!(object["experiment"]["rules"]["first_look"], 6);
    assert!(object["experiment"]["rounds"].as_u64().unwrap() < 30, "{}", object["experiment"]);
    for row in rows(&ran.stdout) {
        assert_eq!((row["bootstrap_interval"].is_null(), row["p"].is_null()), (true, true), "{row}");
        assert!(matches!(row["verdict"].as_str(), Some("faster" | "slower" | "equivalent")), "{row}");
    }
    let store = scene.store();
    let shown = scene.etalon(&["compare", store.to_str().unwrap()]);
    let words = shown.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Lai's confidence sequence over the rounds"), "{words}");
    let resumed = scene.etalon(&["resume", store.to_str().unwrap()]);
    resumed.says(0, &["nothing is pending"]);
    let compared = |store: &str| {
        let shown: Value = serde_json::from_str(&scene.etalon(&["compare", store, "--json"]).stdout).unwrap();
        let rows = shown["comparisons"].as_array().unwrap().clone();
        let judged =
            rows.iter().map(|row| ["metric", "ratio", "interval", "p_t", "verdict"].map(|key| row[key].clone()));
        (shown["experiment"]["rules"].clone(), judged.collect::<Vec<_>>())
    };
    // A table of it was looked at as often.
    scene.etalon(&["export", store.to_str().unwrap(), "-o", "t.csv"]).says(0, &[]);
    scene.etalon(&["import", "tidy", "t.csv", "-o", "again"]).says(0, &[]);
    assert_eq!(compared("again.etalon"), compared(store.to_str().unwrap()));
    // One of an older étalon tells nothing of looks, and is read.
    let table = std::fs::read_to_string(scene.path().join("t.csv")).unwrap();
    scene.write("old.csv", &table.replace(" first_look=6", ""));
    scene.etalon(&["import", "tidy", "old.csv", "-o", "old"]).says(0, &[]);
    assert_eq!(compared("old.etalon").0["interval"], "paired-t");
}

/// One client decides early, four never: they stay in each round, and what is decided leaves.
#[test]
fn the_later_rounds_are_of_what_is_open() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("service_us=300&noise=0.3", "service_us=297&noise=0.3", SHORT));
    let set = ["--set", "margin=0.001"];
    let ran = scene.etalon(&[&["run", "p.toml", "--rounds=6..9", "--json"], &set[..]].concat());
    ran.says(0, &["open: "]);
    let runs = measured(&scene.store());
    let in_round = |round: u32| runs.iter().filter(|(own, _)| *own == round).count();
    assert_eq!(in_round(5), 4, "{runs:?}");
    // Whoever is in a round is there with both sides.
    assert!((6..9).all(|round| in_round(round) % 2 == 0 && in_round(round) <= in_round(round - 1)), "{runs:?}");
}

#[test]
fn an_interrupted_experiment_ends_as_one_that_was_not() {
    let whole = Scene::new();
    let plan = sim_plan("service_us=300&noise=0.3", "service_us=285&noise=0.3", SHORT);
    whole.write("p.toml", &plan);
    whole.etalon(&["run", "p.toml", "--rounds=6..12"]).says(0, &[]);
    let parted = Scene::new();
    parted.write("p.toml", &plan);
    let mut child = parted.start(&["run", "p.toml", "--rounds=6..12"]);
    std::thread::sleep(std::time::Duration::from_millis(700));
    child.kill().unwrap();
    child.wait().unwrap();
    let store = parted.store();
    parted.etalon(&["resume", store.to_str().unwrap()]).says(0, &[]);
    assert_eq!(measured(&store).len(), measured(&whole.store()).len());
}

#[test]
fn time_that_is_over_ends_it_with_what_there_is() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("service_us=300&noise=0.3", "service_us=299&noise=0.3", SHORT));
    let set = ["--set", "schedule.max_time=1ms", "--set", "margin=0.0001"];
    let ran = scene.etalon(&[&["run", "p.toml", "--rounds=6..2000"], &set[..]].concat());
    ran.says(0, &["`schedule.max_time` is over"]);
    let store = scene.store();
    assert_eq!(measured(&store).iter().map(|(round, _)| *round).max(), Some(5));
    // Whoever has the store alone reads why.
    let shown = scene.etalon(&["compare", store.to_str().unwrap(), "--json"]);
    let object: Value = serde_json::from_str(&shown.stdout).unwrap();
    let told: Vec<&Value> =
        object["notes"].as_array().unwrap().iter().filter(|note| note["kind"] == "max-time").collect();
    let [note] = *told else { panic!("{}", object["notes"]) };
    let text = note["text"].as_str().unwrap();
    assert!(
        text.starts_with("ended after 6 of 2000 rounds at most, since `schedule.max_time` (1ms) was over, with "),
        "{text}"
    );
}

#[test]
fn a_plan_says_when_its_time_is_over() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT));
    let planned = |max_time: &str| {
        let set = format!("schedule.max_time={max_time}");
        let text = scene.etalon(&["plan", "p.toml", "--rounds=6..60", "--set", &set]).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    // Four runs of a second make a round.
    let early = planned("1m");
    assert!(early.contains("240 runs at most, about 1 min 4 s at most;"), "{early}");
    let rest = "no further round begins, except the first 6";
    assert!(
        early.contains(&format!("after 1m (`schedule.max_time`) {rest}; all rounds would take about 4 min")),
        "{early}"
    );
    let least = planned("1s");
    assert!(least.contains("about 24 s at most;"), "the fewest rounds are run: {least}");
    let late = planned("1h");
    assert!(
        late.contains("about 4 min at most;") && late.contains(&format!("after 1h (`schedule.max_time`) {rest} ")),
        "{late}"
    );
}

/// A run draws a seed of its own.
#[test]
fn a_plan_shows_no_order_that_a_run_would_not_have() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT).replace("seed = 7\n", ""));
    let planned = |more: &[&str]| {
        let text = scene.etalon(&[&["plan", "p.toml"], more].concat()).stdout;
        let json = scene.etalon(&[&["plan", "p.toml", "--json"], more].concat()).stdout;
        (text, serde_json::from_str::<Value>(&json).unwrap())
    };
    let (text, json) = planned(&[]);
    assert!(text.contains("\norder: 10 rounds; in each every case once, in a random order that is drawn"), "{text}");
    assert!(!text.contains("round  1:") && json["order"].is_null(), "{text} {json}");
    assert!(json["plan"]["schedule"]["seed"].is_null(), "{json}");
    let (text, json) = planned(&["--set", "schedule.seed=0"]);
    assert!(text.contains("order (interleaved, seed 0)\n  round  1: "), "{text}");
    assert_eq!((json["order"].as_array().unwrap().len(), &json["plan"]["schedule"]["seed"]), (40, &Value::from(0)));
    let (text, json) = planned(&["--set", "schedule.order=sequential"]);
    assert!(text.contains("order (sequential)\n  round  1: 1 2 3 4\n"), "{text}");
    assert_eq!(json["order"].as_array().unwrap().len(), 40);
}

#[test]
fn ranges_that_cannot_be_are_refused_before_anything_runs() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT));
    for (rounds, says) in [
        ("30..6", "the fewest are more than the most"),
        ("3..9", "a verdict takes 6 rounds"),
        ("6..20000", "at most 10000"),
        ("6..", "or a range such as"),
        ("many", "or a range such as"),
    ] {
        scene.etalon(&["run", "p.toml", "--rounds", rounds]).says(2, &[says]);
    }
    scene.etalon(&["run", "p.toml", "--set", "schedule.max_time=1m"]).says(2, &["ends when it is sure"]);
    let sequential = ["--rounds=6..9", "--set", "schedule.order=sequential"];
    scene.etalon(&[&["run", "p.toml"], &sequential[..]].concat()).says(2, &["no round to judge"]);
    assert!(!scene.path().join("etalon-results").exists());
}

#[test]
fn a_pilot_says_how_many_rounds_a_plan_takes() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT));
    scene.etalon(&["run", "p.toml", "--rounds=3"]).says(0, &[]);
    let store = scene.store();
    let pilot = ["--pilot", store.to_str().unwrap()];
    let asked = |more: &[&str]| scene.etalon(&[&["plan", "p.toml"], &pilot[..], more].concat());
    let told = asked(&["--detect", "10%", "--json"]);
    let object: Value = serde_json::from_str(&told.stdout).unwrap();
    let rows = object["expected_rounds"]["rows"].as_array().unwrap().clone();
    assert!(!rows.is_empty() && object["expected_rounds"]["detect"] == 0.1, "{object}");
    // Who wants to see less takes more.
    let finer = asked(&["--detect", "2%", "--json"]);
    let finer: Value = serde_json::from_str(&finer.stdout).unwrap();
    for (coarse, fine) in rows.iter().zip(finer["expected_rounds"]["rows"].as_array().unwrap()) {
        let rounds = |row: &Value| row["until_sure"].as_u64().unwrap_or(u64::MAX);
        assert!(coarse["log_sd"].as_f64().unwrap() > 0.0 && rounds(coarse) <= rounds(fine), "{coarse} {fine}");
    }
    let text = asked(&["--rounds", "6..60"]).stdout;
    assert!(text.contains("sure in 6 of 10 experiments or more, by 3 rounds of\nthe pilot"), "{text}");
    assert!(text.contains("… up to round 60, each after a look"), "{text}");
    // What lies within the margin is found equal, so that more rounds are no help in telling it.
    let within = asked(&["--detect", "1%"]).stdout;
    assert!(within.contains("A difference of 1 % lies within the margin of 3 % and is called equivalent"), "{within}");
    assert!(!within.contains("finds it in four of five") && within.contains("    –\n"), "{within}");
    scene.etalon(&["plan", "p.toml", "--detect", "3%"]).says(2, &["--pilot"]);
    scene.etalon(&[&["plan"], &pilot[..]].concat()).says(2, &["no plan is named", "`etalon plan PLAN --pilot "]);
    scene.write("q.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT).replace("points", "others"));
    scene.etalon(&[&["plan", "q.toml"], &pilot[..]].concat()).says(2, &["has no row with the systems and benchmarks"]);
}

/// Of the pilot's short runs no p99 is known, and of its clients half of the plan's.
#[test]
fn what_a_pilot_does_not_tell_is_said() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, SHORT));
    let few =
        ["run", "p.toml", "--rounds=3", "--set", "schedule.duration=100ms", "--set", "benchmarks.points.clients=1"];
    scene.etalon(&few).says(0, &[]);
    let store = scene.store();
    let ask = |more: &[&str]| scene.etalon(&[&["plan", "p.toml", "--pilot", store.to_str().unwrap()], more].concat());
    let object: Value = serde_json::from_str(&ask(&["--json"]).stdout).unwrap();
    let expected = &object["expected_rounds"];
    assert_eq!(expected["not_in_pilot"], serde_json::json!(["points, clients=4 @ a", "points, clients=4 @ b"]));
    let rows = expected["rows"].as_array().unwrap();
    let unknown: Vec<&Value> = rows.iter().filter(|row| !row["unavailable"].is_null()).collect();
    let [p99] = *unknown else { panic!("{rows:?}") };
    assert!(
        p99["row"].as_str().unwrap().ends_with("p99") && p99["until_sure"].is_null() && rows.len() == 3,
        "{rows:?}"
    );
    let text = ask(&[]).stdout;
    assert!(text.contains("response p99  n/a: fewer than 1000 operations in a run"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Not in the pilot, so nothing is known of them: points, clients=4 @ a;"), "{words}");
    assert!(words.contains("The pilot's runs are not as long as the plan's"), "{words}");
}

/// Of rows that are decided early, and of some that are never.
#[test]
fn who_stops_for_all_or_for_nothing_keeps_every_case_in_each_round() {
    let mixed = ("service_us=300&noise=0.3", "service_us=297&noise=0.3", "all");
    for (a, b, stop) in [mixed, (CLEAR.0, CLEAR.1, "never")] {
        let scene = Scene::new();
        let of_plan = format!("{SHORT}rounds = \"6..9\"\nstop = \"{stop}\"");
        scene.write("p.toml", &sim_plan(a, b, &of_plan));
        scene.etalon(&["run", "p.toml", "--set", "margin=0.001"]).says(0, &["decided"]);
        let runs = measured(&scene.store());
        let in_round = |round: u32| runs.iter().filter(|(own, _)| *own == round).count();
        assert!((0..9).all(|round| in_round(round) == 4), "{stop}: {runs:?}");
    }
}

#[test]
fn an_extension_until_sure_stops_though_its_plan_never_did() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(CLEAR.0, CLEAR.1, &format!("{SHORT}rounds = \"6..30\"\nstop = \"never\"")));
    let begun = ["30 rounds, all of them, whatever is decided", "nothing is open"];
    scene.etalon(&["run", "p.toml"]).says(0, &begun);
    let store = scene.store();
    let runs = measured(&store).len();
    assert_eq!(runs, 4 * 30);
    scene.etalon(&["extend", store.to_str().unwrap()]).says(0, &["nothing is open"]);
    assert_eq!(measured(&store).len(), runs);
}

#[test]
fn a_single_system_has_nothing_to_be_sure_of() {
    let scene = Scene::new();
    let plan = sim_plan("noise=0", "noise=0", SHORT);
    scene.write("p.toml", &plan.replace("[systems.b]\nurl = \"sim:?noise=0\"\n", ""));
    let says = "with a single system there is nothing to be sure of";
    scene.etalon(&["run", "p.toml", "--rounds=6..7"]).says(0, &[says]);
    assert!(scene.etalon(&["plan", "p.toml", "--rounds=6..7"]).stdout.contains(says));
    let store = scene.store();
    let runs = measured(&store).len();
    let store = store.to_str().unwrap();
    let late = ["run", "p.toml", "--rounds=6..200", "--set", "schedule.max_time=1ms", "-o", "late"];
    let ran = scene.etalon(&late);
    ran.says(0, &["after 6 rounds, and `schedule.max_time` is over"]);
    let words = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let ended = "ended after 6 of 200 rounds at most, since `schedule.max_time` (1ms) was over";
    assert!(words.contains(ended), "{words}");
    scene.etalon(&["extend", store]).says(2, &["nothing to be sure of", "--rounds N"]);
    assert_eq!(measured(store.as_ref()).len(), runs);
    scene.etalon(&["extend", store, "--rounds", "1"]).says(0, &["1 round more"]);
    assert_eq!(measured(store.as_ref()).len(), runs / 7 * 8);
}
