//! What the output says would help is typed as it stands, and helps.

use serde_json::Value as Json;

use crate::scene::{Scene, sim_plan};

fn comparison(scene: &Scene, args: &[&str]) -> Json {
    let ran = scene.etalon(&[args, &["--json"]].concat());
    ran.says(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn run(scene: &Scene, plan: &str) -> Json {
    scene.write("p.toml", plan);
    comparison(scene, &["run", "p.toml"])
}

/// Types the command of the remedy whose text has these words.
fn typed(scene: &Scene, found: &Json, words: &str) -> Json {
    let remedies = found["remedies"].as_array().unwrap();
    let remedy = remedies.iter().find(|one| one["text"].as_str().unwrap().contains(words));
    let remedy = remedy.unwrap_or_else(|| panic!("no remedy says `{words}`: {remedies:#?}"));
    let command = shlex::split(remedy["command"].as_str().unwrap()).unwrap();
    let args: Vec<&str> = command.iter().skip(1).map(String::as_str).filter(|word| *word != "--json").collect();
    assert_eq!(command[0], "etalon");
    comparison(scene, &args)
}

fn rows<'j>(found: &'j Json, metric: &'j str) -> impl Iterator<Item = &'j Json> {
    found["comparisons"].as_array().unwrap().iter().filter(move |row| row["metric"] == metric)
}

fn verdicts<'j>(found: &'j Json, metric: &'j str) -> Vec<Option<&'j str>> {
    rows(found, metric).map(|row| row["verdict"].as_str()).collect()
}

#[test]
fn more_rounds_give_the_verdict() {
    let scene = Scene::new();
    let found = run(&scene, &sim_plan("", "service_us=300", "rounds = 3\nwarmup = \"10ms\"\nduration = \"1s\""));
    assert_eq!(verdicts(&found, "throughput"), [None, None]);
    let again = typed(&scene, &found, "a verdict takes 6 rounds");
    assert_eq!(verdicts(&again, "throughput"), [Some("slower"), Some("slower")]);
    // Of noise, so many that they settle it.
    let scene = Scene::new();
    let close = sim_plan("noise=0.05", "service_us=202&noise=0.05", "rounds = 6\nwarmup = \"10ms\"\nduration = \"2s\"");
    let found = run(&scene, &close.replace("clients = [1, 4]", "clients = 4"));
    let open = verdicts(&found, "throughput").contains(&Some("inconclusive"));
    assert!(open, "the test needs a row that is open: {:?}", verdicts(&found, "throughput"));
    let settled = (0..4).scan(found, |found, _| {
        *found = typed(&scene, found, "rounds in all settle it about every other time");
        Some(verdicts(found, "throughput") != [Some("inconclusive")])
    });
    assert!(settled.into_iter().any(|is_settled| is_settled), "an even chance missed four times");
}

#[test]
fn longer_runs_give_a_quantile_where_more_rounds_do_not() {
    let scene = Scene::new();
    let found = run(&scene, &sim_plan("", "service_us=300", "rounds = 6\nwarmup = \"10ms\"\nduration = \"100ms\""));
    assert!(verdicts(&found, "response_p99").contains(&None));
    let again = typed(&scene, &found, "more rounds do not help: a run needs 1 000 operations");
    assert_eq!(verdicts(&again, "response_p99"), [Some("slower"), Some("slower")]);
}

#[test]
fn longer_runs_of_real_transactions_give_their_quantile() {
    let scene = Scene::new();
    let plan = "[systems.delete]\nurl = \"sqlite:a.db\"\nsettings = { synchronous = \"off\" }\n[systems.wal]\n\
                url = \"sqlite:b.db\"\nsettings = { journal_mode = \"WAL\", synchronous = \"off\" }\n[[benchmarks]]\n\
                workload = \"transactions\"\nscript = \"select-only\"\nclients = 1\n\
                [schedule]\nrounds = 2\nwarmup = \"0s\"\nduration = \"5ms\"\n";
    let found = run(&scene, plan);
    assert_eq!(rows(&found, "response_p99").filter(|row| row["a"]["n"] == 0).count(), 1, "{found}");
    let again = typed(&scene, &found, "more rounds do not help");
    let has_value = |side: &str| rows(&again, "response_p99").all(|row| row[side]["n"] == 6);
    assert!(has_value("a") && has_value("b"), "{:#}", again["comparisons"]);
}

#[test]
fn unequal_durability_is_allowed_after_the_run_or_for_it() {
    let scene = Scene::new();
    let plan = sim_plan("", "service_us=100&durability=delayed", "rounds = 6\nwarmup = \"10ms\"\nduration = \"1s\"");
    let found = run(&scene, &plan);
    assert_eq!(verdicts(&found, "throughput"), [None, None]);
    let again = typed(&scene, &found, "promise different things at commit");
    assert_eq!(verdicts(&again, "throughput"), [Some("faster"), Some("faster")]);
    assert!(again["notes"].to_string().contains("because the command line allows it"), "{}", again["notes"]);
    // The gate and the report, too.
    let store = scene.store();
    let store = store.to_str().unwrap();
    scene.etalon(&["gate", store]).says(4, &[]);
    scene.etalon(&["gate", store, "--allow-unequal-durability"]).says(0, &[]);
    scene.etalon(&["report", store, "--allow-unequal-durability", "-o", "r.html"]).says(0, &[]);
    let html = std::fs::read_to_string(scene.path().join("r.html")).unwrap();
    assert!(html.contains("because the command line allows it"));
    let scene = Scene::new();
    scene.write("p.toml", &plan);
    let allowed = comparison(&scene, &["run", "p.toml", "--allow-unequal-durability"]);
    assert_eq!(verdicts(&allowed, "throughput"), [Some("faster"), Some("faster")]);
}

#[test]
fn a_sequential_order_is_interleaved_or_allowed() {
    let scene = Scene::new();
    let schedule = "rounds = 6\nwarmup = \"10ms\"\nduration = \"1s\"\norder = \"sequential\"";
    let found = run(&scene, &sim_plan("", "service_us=100", schedule));
    assert_eq!(verdicts(&found, "throughput"), [None, None]);
    let store = scene.store();
    let allowed = comparison(&scene, &["compare", store.to_str().unwrap(), "--allow-sequential-order"]);
    assert_eq!(verdicts(&allowed, "throughput"), [Some("faster"), Some("faster")]);
    assert!(allowed["notes"].to_string().contains("because the command line allows it"), "{}", allowed["notes"]);
    let again = typed(&scene, &found, "let each round run every case");
    assert_eq!(verdicts(&again, "throughput"), [Some("faster"), Some("faster")]);
}

#[test]
fn a_longer_warm_up_ends_after_the_change_of_level() {
    let scene = Scene::new();
    let schedule = "rounds = 3\nwarmup = \"10ms\"\nduration = \"20s\"";
    let plan = sim_plan("service_us=2000", "service_us=2000&stall_at_ms=0&stall_ms=4000", schedule);
    let found = run(&scene, &plan.replace("clients = [1, 4]", "clients = 1"));
    assert!(found["comparisons"].to_string().contains("warm-up-too-short"), "{found}");
    let again = typed(&scene, &found, "a warm-up of");
    assert!(!again["comparisons"].to_string().contains("warm-up-too-short"), "{again}");
}

#[test]
fn the_text_has_the_command_on_a_line_of_its_own() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=300", "rounds = 3\nwarmup = \"10ms\"\nduration = \"1s\""));
    let ran = scene.etalon(&["run", "p.toml"]);
    ran.says(0, &[]);
    let expected =
        "\nwhat would help:\n  all rows: a verdict takes 6 rounds.\n      etalon run p.toml --set schedule.rounds=6\n";
    assert!(ran.stdout.contains(expected), "{}", ran.stdout);
}
