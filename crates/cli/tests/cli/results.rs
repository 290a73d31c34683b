//! What the command prints and writes when all goes well. The systems are simulated, so every figure is the same in
//! every run.

use crate::scene::{Scene, sim_plan};

const SCHEDULE: &str = "rounds = 6\nwarmup = \"100ms\"\nduration = \"2s\"";

fn experiment(a: &str, b: &str, schedule: &str) -> Scene {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan(a, b, schedule));
    scene.etalon(&["run", "p.toml"]).says(0, &[]);
    scene
}

fn compare(scene: &Scene, args: &[&str]) -> serde_json::Value {
    let store = scene.store();
    let mut all = vec!["compare", store.to_str().unwrap(), "--json"];
    all.extend(args);
    let ran = scene.etalon(&all);
    ran.says(0, &[]);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn verdicts(scene: &Scene) -> Vec<String> {
    let json = compare(scene, &[]);
    let rows = json["comparisons"].as_array().unwrap();
    rows.iter().map(|row| row["verdict"].as_str().unwrap_or("none").to_owned()).collect()
}

#[test]
fn a_system_that_is_a_fifth_faster_is_called_so() {
    let scene = experiment("service_us=240", "service_us=200", SCHEDULE);
    assert!(verdicts(&scene).iter().all(|verdict| verdict == "faster"), "{:?}", verdicts(&scene));
    let json = compare(&scene, &[]);
    for row in json["comparisons"].as_array().unwrap().iter().filter(|row| row["metric"] == "throughput") {
        let interval = row["interval"].as_array().unwrap();
        let (lo, hi) = (interval[0].as_f64().unwrap(), interval[1].as_f64().unwrap());
        assert!(lo < 1.2 && 1.2 < hi, "the interval [{lo}, {hi}] misses the truth");
    }
}

#[test]
fn the_same_system_twice_is_never_called_different() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("noise=0.005", "", "rounds = 10\nwarmup = \"100ms\"\nduration = \"5s\""));
    scene.etalon(&["run", "p.toml", "--aa"]).says(0, &[]);
    let found = verdicts(&scene);
    assert!(found.iter().all(|verdict| verdict == "equivalent" || verdict == "inconclusive"), "{found:?}");
}

#[test]
fn unequal_durability_gives_figures_and_no_verdict_unless_allowed() {
    let plan = |allow: &str| format!("{allow}{}", sim_plan("", "service_us=100&durability=delayed", SCHEDULE));
    let scene = Scene::new();
    let ran = scene.write("p.toml", &plan("")).etalon(&["run", "p.toml"]);
    ran.says(0, &[]);
    assert!(ran.stdout.contains("unequal durability"), "{}", ran.stdout);
    assert!(verdicts(&scene).iter().all(|verdict| verdict == "none"));
    let allowed = Scene::new();
    allowed.write("p.toml", &plan("allow_unequal_durability = true\n")).etalon(&["run", "p.toml"]).says(0, &[]);
    assert!(verdicts(&allowed).iter().all(|verdict| verdict == "faster"));
}

#[test]
fn too_few_rounds_say_how_many_are_missing() {
    let scene = experiment("", "", "rounds = 4\nwarmup = \"10ms\"\nduration = \"1s\"");
    let json = compare(&scene, &[]);
    let row = &json["comparisons"][0];
    assert_eq!((row["verdict"].as_str(), row["rounds_needed"].as_u64()), (None, Some(2)));
}

#[test]
fn json_from_run_is_one_object_that_keeps_to_the_schema() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "service_us=210", SCHEDULE));
    let ran = scene.etalon(&["run", "p.toml", "--json"]);
    ran.says(0, &[]);
    let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&scene.etalon(&["schema", "comparison"]).stdout).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&object).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    for key in [
        "benchmark",
        "case",
        "metric",
        "unit",
        "better",
        "a",
        "b",
        "ratio",
        "interval",
        "level",
        "p",
        "verdict",
        "rounds_needed",
        "warnings",
    ] {
        assert!(object["comparisons"][0].get(key).is_some(), "{key} is missing");
    }
}

#[test]
fn a_gate_passes_fails_and_refuses_to_compare_nothing() {
    let slower = experiment("service_us=200", "service_us=300", SCHEDULE);
    let store = slower.store();
    slower.etalon(&["gate", store.to_str().unwrap()]).says(1, &[]);
    let faster = experiment("service_us=300", "service_us=200", SCHEDULE);
    faster.etalon(&["gate", faster.store().to_str().unwrap()]).says(0, &[]);
    let few = experiment("", "", "rounds = 2\nwarmup = \"10ms\"\nduration = \"1s\"");
    let ran = few.etalon(&["gate", few.store().to_str().unwrap(), "--inconclusive", "fail"]);
    assert_eq!(ran.code, 4, "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_gate_does_not_pass_a_candidate_that_fails_or_rows_that_were_not_compared() {
    let failing = Scene::new();
    failing.write("p.toml", &sim_plan("", "connections=2", &format!("{SCHEDULE}\non_error = \"continue\"")));
    failing.etalon(&["run", "p.toml"]);
    let store = failing.store();
    let ran = failing.etalon(&["gate", store.to_str().unwrap(), "--min-rows", "1"]);
    ran.says(1, &[]);
    assert!(ran.stdout.contains("failed        points, clients=4, throughput"), "{}", ran.stdout);
    // A single round tells nothing of any row.
    let single = experiment("", "", "rounds = 1\nwarmup = \"10ms\"\nduration = \"1s\"");
    single.etalon(&["gate", single.store().to_str().unwrap()]).says(4, &["of the 6 rows that it asks for"]);
}

#[test]
fn a_gate_asks_for_no_quantile_that_takes_more_operations() {
    // Half a thousand transactions have no p99.
    let short = experiment("", "", "rounds = 6\nwarmup = \"10ms\"\nduration = \"100ms\"");
    let ran = short.etalon(&["gate", short.store().to_str().unwrap(), "--max-regression", "50%"]);
    ran.says(0, &[]);
    assert!(ran.stdout.contains("not compared  points, clients=1, response p99"), "{}", ran.stdout);
    assert!(ran.stdout.contains("gate passed"), "{}", ran.stdout);
    assert!(ran.stdout.contains(" with too few operations in a run of this length"), "{}", ran.stdout);
}

#[test]
fn a_gate_says_what_it_left_undecided_and_how_to_fail_on_it() {
    let scene = experiment(
        "service_us=400&noise=0.3",
        "service_us=480&noise=0.3",
        "rounds = 6\nwarmup = \"50ms\"\nduration = \"300ms\"",
    );
    let store = scene.store();
    let store = store.to_str().unwrap();
    let gate = |more: &[&str]| {
        scene.etalon(&[&["gate", store, "--metrics", "throughput", "--max-regression", "30%"], more].concat())
    };
    let passed = gate(&[]);
    passed.says(0, &["`etalon extend "]);
    let undecided =
        "exclude a regression beyond 30 %; the gate passes with them, and `--inconclusive fail` ends with exit code 4";
    assert!(passed.stdout.contains("left undecided: ") && passed.stdout.contains(undecided), "{}", passed.stdout);
    let failed = gate(&["--inconclusive", "fail"]);
    failed.says(4, &[]);
    assert!(failed.stdout.contains("`--inconclusive pass` lets them pass"), "{}", failed.stdout);
}

/// What lies in folders of a folder is listed as well.
#[test]
fn stores_of_folders_in_a_folder_are_listed() {
    let scene = experiment("service_us=400", "service_us=300", "rounds = 6\nwarmup = \"50ms\"\nduration = \"100ms\"");
    for folder in ["2026/11", "a/b/c/d/e", ".hidden"] {
        std::fs::create_dir_all(scene.path().join("old").join(folder)).unwrap();
        std::fs::copy(scene.path().join(scene.store()), scene.path().join("old").join(folder).join("x.etalon"))
            .unwrap();
    }
    let listed = scene.etalon(&["list", "old"]);
    listed.says(0, &["1 folder not read"]);
    assert!(
        listed.stdout.contains("old/2026/11/x.etalon  a, b") && listed.stdout.contains(" faster than "),
        "{}",
        listed.stdout
    );
    assert!(!listed.stdout.contains("a/b/c/d/e") && !listed.stdout.contains("hidden"), "{}", listed.stdout);
    scene.etalon(&["list", "old/a/b/c/d"]).says(0, &[]);
}

#[test]
fn a_gate_holds_a_system_to_absolute_limits() {
    let scene = experiment("service_us=200", "service_us=300", SCHEDULE);
    let store = scene.store();
    let gate =
        |limit: &str| scene.etalon(&["gate", store.to_str().unwrap(), "--max-regression", "100%", "--limit", limit]);
    gate("p99 <= 10s").says(0, &[]);
    assert!(gate("p50 <= 1us").stdout.contains("limit p50 <= 1 us): "), "{}", gate("p50 <= 1us").stdout);
    gate("p50 <= 1us").says(1, &[]);
    gate("p50 <= 20").says(2, &["`p50` is in µs", "write the unit of time"]);
    gate("p98 <= 20ms").says(2, &["no run measured `p98`"]);
    gate("fast").says(2, &["`fast` is no limit", "`p99 <= 20ms`"]);
}

#[test]
fn a_share_has_its_sign_or_lies_below_one_wherever_it_is_typed() {
    let scene = experiment("service_us=200", "service_us=300", SCHEDULE);
    let store = scene.store();
    let store = store.to_str().unwrap();
    let hint = |meant: &str| format!("hint: write {meant}");
    for wrong in ["5", "5.0", "-5%"] {
        let hint = hint("0.05 or \"5%\"");
        scene.etalon(&["gate", store, "--max-regression", wrong]).says(2, &["`--max-regression`", &hint]);
        scene.etalon(&["compare", store, "--margin", wrong]).says(2, &["`--margin`", &hint]);
        scene.etalon(&["plan", "p.toml", "--set", &format!("margin={wrong}")]).says(2, &["`margin`", &hint]);
    }
    for wrong in ["90", "90.0"] {
        scene.etalon(&["report", store, "--level", wrong]).says(2, &["`--level`", &hint("0.9 or \"90%\"")]);
        scene.etalon(&["plan", "p.toml", "--set", &format!("level={wrong}")]).says(2, &[&hint("0.9 or \"90%\"")]);
    }
    for wrong in ["0", "nan", "1.5e9", ""] {
        scene.etalon(&["compare", store, "--margin", wrong]).says(2, &["`--margin`", &hint("0.03 or \"3%\"")]);
    }
    for right in ["90%", "0.9", "90 %"] {
        let json: serde_json::Value =
            serde_json::from_str(&scene.etalon(&["compare", store, "--json", "--level", right]).stdout).unwrap();
        assert_eq!(json["comparisons"][0]["level"], 0.9, "{right}");
        scene.etalon(&["plan", "p.toml", "--set", &format!("level={right}")]).says(0, &[]);
    }
    // B takes half as long again: beyond 5 %, and within 100 %.
    scene.etalon(&["gate", store, "--max-regression", "5%"]).says(1, &[]);
    scene.etalon(&["gate", store, "--max-regression", "100%"]).says(0, &[]);
}

#[test]
fn a_sequential_order_gets_no_verdict_unless_the_plan_allows_it() {
    let plan = |allow: &str| {
        format!("{allow}{}", sim_plan("", "service_us=100", &format!("{SCHEDULE}\norder = \"sequential\"")))
    };
    let scene = Scene::new();
    scene.write("p.toml", &plan(""));
    let planned = scene.etalon(&["plan", "p.toml"]);
    let words = planned.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("order and time are confounded"), "{words}");
    let ran = scene.etalon(&["run", "p.toml"]);
    ran.says(0, &[]);
    assert!(ran.stdout.contains("`allow_sequential_order = true`"), "{}", ran.stdout);
    assert!(verdicts(&scene).iter().all(|verdict| verdict == "none"));
    scene.etalon(&["gate", scene.store().to_str().unwrap()]).says(4, &[]);
    // A round trip keeps it sequential.
    scene.etalon(&["export", scene.store().to_str().unwrap(), "-o", "t.csv"]).says(0, &[]);
    scene.etalon(&["import", "tidy", "t.csv", "-o", "again.etalon"]).says(0, &[]);
    let again = scene.etalon(&["compare", "again.etalon"]);
    assert!(again.stdout.contains("order and time are confounded"), "{}", again.stdout);
    // Cut into a table for each side, it is as sequential as before; and so it is if only the runs' times tell it.
    let whole = std::fs::read_to_string(scene.path().join("t.csv")).unwrap();
    let is_kept =
        |line: &&str, side: &str| line.starts_with('#') || line.starts_with("system,") || line.starts_with(side);
    let of = |side: &str| {
        whole.lines().filter(|line| is_kept(line, side)).map(|line| format!("{line}\n")).collect::<String>()
    };
    let untold = |table: String| table.replace("order=sequential", "order=interleaved");
    for (name, tables) in [("told", [of("a,"), of("b,")]), ("times", [untold(of("a,")), untold(of("b,"))])] {
        scene.write("qa.csv", &tables[0]).write("qb.csv", &tables[1]);
        scene.etalon(&["import", "tidy", "qa.csv", "qb.csv", "-o", name]).says(0, &["of 2 systems: a, b"]);
        let compared = scene.etalon(&["compare", &format!("{name}.etalon")]);
        assert!(compared.stdout.contains("order and time are confounded"), "{name}: {}", compared.stdout);
        assert!(!compared.stdout.contains("  faster"), "{name}: {}", compared.stdout);
        // Its own export tells it, too.
        scene.etalon(&["export", &format!("{name}.etalon"), "-o", "r.csv"]).says(0, &[]);
        scene.etalon(&["import", "tidy", "r.csv", "-o", &format!("{name}-again")]).says(0, &[]);
        let again = scene.etalon(&["compare", &format!("{name}-again.etalon")]);
        assert!(again.stdout.contains("order and time are confounded"), "{name}: {}", again.stdout);
        std::fs::remove_file(scene.path().join("r.csv")).unwrap();
    }
    let allowed = Scene::new();
    allowed.write("p.toml", &plan("allow_sequential_order = true\n")).etalon(&["run", "p.toml"]).says(0, &[]);
    assert!(verdicts(&allowed).iter().all(|verdict| verdict == "faster"), "{:?}", verdicts(&allowed));
    assert_eq!(compare(&allowed, &[])["experiment"]["rules"]["pairing"], "unpaired");
}

#[test]
fn a_report_is_one_file_beside_the_store() {
    let scene = experiment("", "service_us=150", SCHEDULE);
    let report = scene.store().with_extension("html");
    let html = std::fs::read_to_string(&report).unwrap();
    assert!(html.contains("<svg") && !html.contains("src=\"http"));
    scene.etalon(&["report", scene.store().to_str().unwrap(), "-o", "again.html"]).says(0, &["again.html"]);
    assert_eq!(
        std::fs::read_to_string(scene.path().join("again.html")).unwrap(),
        html,
        "a report is a function of the store"
    );
}

#[test]
fn results_of_a_finished_experiment_do_not_change_when_it_is_resumed() {
    let scene = experiment("", "service_us=150", SCHEDULE);
    let before = compare(&scene, &[]);
    scene.etalon(&["resume", scene.store().to_str().unwrap()]).says(0, &["nothing is pending"]);
    assert_eq!(compare(&scene, &[]), before);
}

#[test]
fn completions_and_the_manual_name_every_verb() {
    let scene = Scene::new();
    let manual = scene.etalon(&["man"]).stdout;
    let completions = scene.etalon(&["completions", "bash"]).stdout;
    for verb in ["run", "resume", "plan", "compare", "gate", "report", "list", "show", "doctor", "schema"] {
        assert!(manual.contains(verb) && completions.contains(verb), "{verb}");
    }
}

#[test]
fn the_kept_plan_says_what_the_command_line_changed() {
    let scene = Scene::new();
    scene.etalon(&["run", "quickstart", "--quick", "--quiet", "--set", "schedule.duration=60ms"]).says(0, &[]);
    let store = scene.store().display().to_string();
    let shown = scene.etalon(&["show", &store]);
    shown.says(0, &[]);
    let said = "# It was run with what the command line changed:\n#   --quick\n#   --set schedule.duration=60ms\n";
    assert!(shown.stdout.contains(said), "{}", shown.stdout);
}
