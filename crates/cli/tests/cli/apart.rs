//! Stores of experiments that were not run together: compared, reported, held against each other by the gate.

use std::path::PathBuf;

use serde_json::Value;

use crate::scene::{Ran, Scene, sim_plan};

const SCHEDULE: &str = "rounds = 6\nduration = \"1s\"\nwarmup = \"0s\"";

/// Runs a plan into a folder, and puts its store into the scene under a name.
fn run(scene: &Scene, name: &str, plan: &str) {
    scene.write("p.toml", plan);
    let folder = format!("{name}-results");
    scene.etalon(&["run", "p.toml", "--quiet", "-o", &folder]).says(0, &[]);
    let entries = std::fs::read_dir(scene.path().join(&folder)).unwrap().map(|entry| entry.unwrap().path());
    let is_store = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "etalon");
    let store = entries.into_iter().find(is_store).unwrap();
    std::fs::copy(store, scene.path().join(format!("{name}.etalon"))).unwrap();
}

/// `old` and `new` have the same two systems; in `new` the first takes half as long again.
fn old_and_new() -> Scene {
    let scene = Scene::new();
    run(&scene, "old", &sim_plan("service_us=200", "service_us=400", SCHEDULE));
    run(&scene, "new", &sim_plan("service_us=300", "service_us=400", SCHEDULE).replace("seed = 7", "seed = 8"));
    scene
}

fn json(ran: &Ran) -> Value {
    ran.says(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn two_stores_are_compared_and_nothing_is_called_a_verdict() {
    let scene = old_and_new();
    let text = scene.etalon(&["compare", "old.etalon", "new.etalon"]);
    text.says(0, &[]);
    for part in ["measured apart: old ran on", "A = a (old), B = a (new)", "A = b (old), B = b (new)", "lower", "Welch"]
    {
        assert!(text.stdout.contains(part), "{part}: {}", text.stdout);
    }
    for word in ["faster", "slower", "equivalent", "randomised", "paired t test"] {
        assert!(!text.stdout.contains(word), "{word}: {}", text.stdout);
    }
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 80), "{}", text.stdout);
    let told = json(&scene.etalon(&["compare", "old.etalon:a", "new.etalon:b", "--json"]));
    assert_eq!(told["apart"]["experiments"][0]["systems"], serde_json::json!(["a (old)"]));
    assert_eq!(told["apart"]["experiments"][1]["systems"], serde_json::json!(["b (new)"]));
    let rows = told["comparisons"].as_array().unwrap();
    let throughput = rows.iter().find(|row| row["metric"] == "throughput").unwrap();
    assert_eq!((&throughput["verdict"], &throughput["apart"]), (&Value::Null, &"lower".into()), "{throughput}");
    let url = told["apart"]["differences"].as_array().unwrap().iter().find(|one| one["name"] == "url").unwrap();
    assert_eq!(url["values"], serde_json::json!(["sim:?service_us=200", "sim:?service_us=400"]));
    let markdown = scene.etalon(&["compare", "old.etalon", "new.etalon", "--markdown"]).stdout;
    assert!(
        markdown.starts_with("**Measured apart") && markdown.contains("> measured apart: old ran on"),
        "{markdown}"
    );
    scene.etalon(&["report", "old.etalon", "new.etalon"]).says(0, &["report: new-against-old.html"]);
    let page = std::fs::read_to_string(scene.path().join("new-against-old.html")).unwrap();
    let top = page.split("<body").nth(1).unwrap().split("<nav").next().unwrap();
    assert!(top.contains("Measured apart (") && top.contains("so no verdict"), "{top}");
    assert!(top.contains("old ran on") && top.contains("seed of data and order"), "{top}");
    assert!(page.contains("Response times"), "the histograms of both are there");
}

#[test]
fn a_store_and_two_of_its_systems_are_compared_as_ever() {
    let scene = old_and_new();
    let told = json(&scene.etalon(&["compare", "old.etalon", "b", "a", "--json"]));
    assert_eq!(told["apart"], Value::Null);
    assert_eq!(
        (&told["comparisons"][0]["a"]["label"], &told["comparisons"][0]["b"]["label"]),
        (&"b".into(), &"a".into())
    );
    assert_eq!(told["comparisons"][0]["verdict"], "faster");
    // A file that is called as a system is hides nothing.
    scene.write("b", "");
    assert_eq!(json(&scene.etalon(&["compare", "old.etalon", "b", "a", "--json"]))["apart"], Value::Null);
}

#[test]
fn the_gate_holds_a_run_against_an_earlier_one() {
    let scene = old_and_new();
    let gate = |candidate: &str, baseline: &str| {
        scene.etalon(&["gate", candidate, "--baseline", baseline, "--max-regression", "10%", "--metrics", "throughput"])
    };
    let failed = gate("new.etalon", "old.etalon");
    assert_eq!(failed.code, 1, "{}{}", failed.stdout, failed.stderr);
    assert!(failed.stdout.starts_with("note: measured apart: old ran on"), "{}", failed.stdout);
    assert!(
        failed.stdout.contains("regressed     points, clients=1, throughput (a (new) against a (old))"),
        "{}",
        failed.stdout
    );
    assert!(
        failed.stdout.contains("gate failed, measured apart; of ") && failed.stdout.contains(" rows: 2 regressed"),
        "{}",
        failed.stdout
    );
    let passed = gate("new.etalon:b", "old.etalon:b");
    assert_eq!(passed.code, 0, "{}{}", passed.stdout, passed.stderr);
    assert!(passed.stdout.contains("measured apart"), "{}", passed.stdout);
    let better = gate("old.etalon:a", "new.etalon:a");
    assert!(better.code == 0 && better.stdout.contains("improved"), "{}", better.stdout);
    for format in ["github", "junit", "markdown"] {
        let told = scene.etalon(&["gate", "new.etalon", "--baseline", "old.etalon", "--format", format]).stdout;
        assert!(told.contains("measured apart: old ran on"), "{format}: {told}");
    }
    let told = scene.etalon(&["gate", "new.etalon", "--baseline", "old.etalon", "--json"]);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    assert_eq!(told["measured_apart"], true);
    assert!(told["notes"][0].as_str().unwrap().starts_with("measured apart"));
}

/// The plan has the name of a script alone.
#[test]
fn a_script_that_changed_under_its_name_is_said() {
    let scene = Scene::new();
    let plan = "[systems.lite]\nurl = \"sqlite:t.db\"\n[[benchmarks]]\nname = \"mine\"\nworkload = \"transactions\"\n\
                script = \"my.sql\"\n[schedule]\nrounds = 6\nwarmup = \"50ms\"\nduration = \"150ms\"\n";
    scene.write("my.sql", "SELECT 1;\n");
    run(&scene, "old", plan);
    run(&scene, "same", plan);
    scene.write("my.sql", "SELECT 1;\nSELECT 2;\n");
    run(&scene, "new", plan);
    let told = |store: &str| {
        let text = scene.etalon(&["compare", "old.etalon", store, "--metrics", "throughput"]).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(!told("same.etalon").contains("text of"), "{}", told("same.etalon"));
    let new = told("new.etalon");
    let figures = new.find("A = lite (old)").unwrap();
    assert!(new.find("text of my.sql (sha256").is_some_and(|at| at < figures), "{new}");
    assert!(new.contains("A and B differ in text of my.sql too"), "{new}");
    let gate = scene.etalon(&["gate", "new.etalon", "--baseline", "old.etalon", "--metrics", "throughput"]);
    gate.says(4, &["the gate compared 0 of the 1 rows"]);
    assert!(gate.stdout.contains("A and B differ in text of my.sql too"), "{}", gate.stdout);
}

#[test]
fn what_cannot_be_compared_is_said_with_what_can_be_typed() {
    let scene = old_and_new();
    let copy = scene.path().join("copy.etalon");
    std::fs::copy(scene.path().join("old.etalon"), copy).unwrap();
    let disk = "[systems.disk]\nurl = \"disk:.\"\n[[benchmarks]]\nworkload = \"disk\"\nsize_mb = 4\n[schedule]\n\
                rounds = 1\nwarmup = \"0s\"\nduration = \"100ms\"\n";
    run(&scene, "disk", disk);
    std::fs::write(scene.path().join("empty.etalon"), "").unwrap();
    for (args, code, told) in [
        (
            &["compare", "old.etalon", "copy.etalon"][..],
            2,
            &["old.etalon and copy.etalon hold one experiment", "hint: `etalon compare old.etalon`"][..],
        ),
        (&["compare", "old.etalon", "old.etalon"], 2, &["hold one experiment"]),
        (
            &["compare", "old.etalon", "disk.etalon"],
            2,
            &[
                "no system has the same name in old.etalon (a, b) and in disk.etalon (disk)",
                "`etalon compare old.etalon:a disk.etalon:disk`",
            ],
        ),
        (
            &["compare", "old.etalon:a", "disk.etalon:disk"],
            2,
            &["old.etalon and disk.etalon have no case in common: old.etalon has points, clients=1 @ a"],
        ),
        (
            &["compare", "old.etalon", "new.etalon", "a"],
            2,
            &["there is no store `a`", "`etalon compare old.etalon:a new.etalon:a`"],
        ),
        (&["compare", "old.etalon:c", "new.etalon"], 2, &["old.etalon has no system `c`: it has a, b"]),
        (&["compare", "old.etalon:a"], 2, &["is one side, and a comparison takes two"]),
        (&["compare", "old.etalon", "absent.etalon"], 3, &["absent.etalon"]),
        (&["compare", "old.etalon", "empty.etalon"], 3, &["empty.etalon"]),
        (&["compare", "old.etalon", "a", "b", "c"], 2, &["`c` is one too many"]),
        (
            &["compare", "old.etalon", "new.etalon", "--cols", "clients"],
            2,
            &["compared by their systems", "leave out `--cols`"],
        ),
        (&["report", "old.etalon", "copy.etalon"], 2, &["hold one experiment"]),
        (&["gate", "old.etalon", "--baseline", "copy.etalon"], 2, &["hold one experiment"]),
    ] {
        scene.etalon(args).says(code, told);
    }
}
