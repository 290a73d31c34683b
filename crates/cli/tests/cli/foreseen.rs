//! What keeps a plan from its verdicts is said before it runs.

use crate::scene::{Scene, sim_plan};

const SCHEDULE: &str = "rounds = 2\nwarmup = \"10ms\"\nduration = \"200ms\"";

/// Kind and text.
fn warnings(scene: &Scene, args: &[&str]) -> Vec<(String, String)> {
    let ran = scene.etalon(&[&["plan", "p.toml", "--json"], args].concat());
    ran.says(0, &[]);
    let plan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    plan["warnings"].as_array().unwrap().iter().map(|one| (text(&one["kind"]), text(&one["text"]))).collect()
}

fn of_kind<'w>(warnings: &'w [(String, String)], kind: &str) -> Vec<&'w str> {
    warnings.iter().filter(|(known, _)| known == kind).map(|(_, text)| text.as_str()).collect()
}

#[test]
fn unequal_durability_is_known_from_the_settings_and_true() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "durability=delayed", SCHEDULE));
    let found = warnings(&scene, &[]);
    assert_eq!(of_kind(&found, "unequal-durability").len(), 1, "{found:?}");
    assert!(found[0].1.contains("a commit of `a` is durable, of `b` delayed"), "{found:?}");
    assert!(of_kind(&warnings(&scene, &["--allow-unequal-durability"]), "unequal-durability").is_empty());
    let ran = scene.etalon(&["run", "p.toml"]);
    ran.says(0, &["warning: by the plan's settings a commit of `a` is durable, of `b` delayed"]);
    assert!(ran.stdout.contains("unequal durability"), "{}", ran.stdout);
    // What keeps it from its verdicts is said by who is to be quiet, too; notes are not.
    let quiet = scene.etalon(&["run", "p.toml", "--quiet"]);
    quiet.says(0, &["warning: by the plan's settings"]);
    assert!(ran.stderr.contains("note: p99 needs") && !quiet.stderr.contains("note: "), "{}", quiet.stderr);
    // Two of PostgreSQL that étalon starts, two of SQLite, and one of which only the server knows.
    let plan = |a: &str, b: &str| {
        format!(
            "[systems.a]\n{a}\n[systems.b]\n{b}\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"tpcb-like\"\n\
             [schedule]\n{SCHEDULE}\n"
        )
    };
    let (private, sqlite) = ("server = { engine = \"postgres\" }", "url = \"sqlite:x.db\"");
    let cases = [
        (private, format!("{private}\nsettings = {{ synchronous_commit = \"off\" }}"), 1),
        (private, format!("{private}\nsettings = {{ work_mem = \"8MB\" }}"), 0),
        (private, sqlite.to_owned(), 0),
        (sqlite, "url = \"sqlite:y.db\"\nsettings = { synchronous = \"OFF\" }".to_owned(), 1),
        (sqlite, "url = \"sqlite:y.db\"\nsettings = { journal_mode = \"wal\", synchronous = 1 }".to_owned(), 1),
        (sqlite, "url = \"sqlite:y.db\"\nsettings = { journal_mode = \"WAL\" }".to_owned(), 0),
        (sqlite, "url = \"postgres://me@127.0.0.1:9/x\"".to_owned(), 0),
    ];
    for (a, b, count) in cases {
        scene.write("p.toml", &plan(a, &b));
        let found = warnings(&scene, &[]);
        assert_eq!(of_kind(&found, "unequal-durability").len(), count, "{a} {b}: {found:?}");
    }
}

#[test]
fn too_few_operations_for_a_quantile_are_known_where_the_rate_is() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "", "rounds = 6\nwarmup = \"10ms\"\nduration = \"5s\""));
    let found = warnings(&scene, &[]);
    assert_eq!(of_kind(&found, "operations-needed").len(), 1, "{found:?}");
    assert!(found[0].1.starts_with("p99 needs 1 000 operations a run: 200 a second in runs of 5 s"), "{found:?}");
    let slow = warnings(&scene, &["--set", "benchmarks.*.rate=100"]);
    assert_eq!(
        of_kind(&slow, "operations"),
        ["points: 100 a second in runs of 5 s have no p99, which needs 1 000: `--set schedule.duration=11s`"]
    );
    // What it says is typed, and true.
    let longer = ["--set", "benchmarks.*.rate=100", "--set", "schedule.duration=11s"];
    assert!(of_kind(&warnings(&scene, &longer), "operations").is_empty());
    let has_p99 = |args: &[&str]| {
        let ran = scene.etalon(&[&["run", "p.toml", "--json"], args].concat());
        let object: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let rows = object["comparisons"].as_array().unwrap().clone();
        rows.iter().filter(|row| row["metric"] == "response_p99").all(|row| row["a"]["n"] == 6)
    };
    assert!(!has_p99(&longer[..2]) && has_p99(&longer));
}

#[test]
fn missing_programs_and_space_are_known() {
    let scene = Scene::new();
    let plan = "[systems.a]\nserver = { engine = \"postgres\", bin_dir = \"/nowhere/bin\" }\n[[benchmarks]]\n\
                workload = \"transactions\"\nscript = \"tpcb-like\"\n";
    scene.write("p.toml", plan);
    let found = warnings(&scene, &[]);
    assert!(of_kind(&found, "missing-program").iter().any(|text| text.contains("/nowhere/bin")), "{found:?}");
    scene.write("p.toml", &sim_plan("", "", SCHEDULE).replace("sim:?", "sqlite:x.db"));
    assert!(of_kind(&warnings(&scene, &[]), "space").is_empty());
    let args = ["--set", "benchmarks.*.scale=20000"];
    let large = warnings(&scene, &args);
    let planned = scene.etalon(&[&["plan", "p.toml", "--json"][..], &args].concat()).stdout;
    let planned: serde_json::Value = serde_json::from_str(&planned).unwrap();
    let needs_mb = planned["disk_bytes"].as_u64().unwrap() / 1_000_000;
    let free_mb = host_free_mb(&scene);
    assert_eq!(of_kind(&large, "space").len(), usize::from(free_mb < needs_mb), "{free_mb} {needs_mb} {large:?}");
    let ran = scene.etalon(&["plan", "p.toml"]);
    assert!(ran.stdout.contains("\nnote: p99 needs 1 000 operations"), "{}", ran.stdout);
}

/// By `df`, which knows nothing of étalon.
fn host_free_mb(scene: &Scene) -> u64 {
    let ran = std::process::Command::new("df").args(["-Pm", "."]).current_dir(scene.path()).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    text.lines().nth(1).and_then(|line| line.split_whitespace().nth(3)?.parse().ok()).unwrap()
}

#[test]
fn a_missing_program_of_a_backup_is_known() {
    let scene = Scene::new();
    let plan = "[systems.a]\nserver = { engine = \"mariadb\" }\n[[benchmarks]]\nworkload = \"backup\"\n\
                method = \"mariadb-backup\"\n";
    scene.write("p.toml", plan);
    let nowhere = scene.command(&["plan", "p.toml", "--json"]).env("PATH", "/nowhere").output().unwrap();
    let object: serde_json::Value = serde_json::from_slice(&nowhere.stdout).unwrap();
    let said = object["warnings"].to_string();
    let is_here = ["/usr/bin", "/usr/sbin", "/usr/local/bin"]
        .iter()
        .any(|folder| std::path::Path::new(folder).join("mariadb-backup").exists());
    assert!(is_here || said.contains("mariadb-backup"), "{said}");
}

#[test]
fn an_optional_server_that_is_not_installed_is_left_out() {
    let scene = Scene::new();
    let plan = |of_a: &str, of_b: &str| {
        let system = |rest: &str| format!("server = {{ engine = \"postgres\", {rest} }}");
        format!(
            "baseline = \"a\"\n[systems.a]\n{}\n[systems.b]\n{}\n[systems.c]\nurl = \"sqlite:c.db\"\n[[benchmarks]]\n\
             workload = \"transactions\"\nscript = \"tpcb-like\"\n[schedule]\n{SCHEDULE}\n",
            system(of_a),
            system(of_b)
        )
    };
    let missing = "version = \"999\", optional = true";
    scene.write("p.toml", &plan(missing, "optional = true"));
    let ran = scene.etalon(&["plan", "p.toml", "--json"]);
    ran.says(
        0,
        &["system `a` is optional and left out: cannot find the server programs of PostgreSQL 999", "postgresql-999"],
    );
    let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let names: Vec<&str> =
        told["systems"].as_array().unwrap().iter().map(|system| system["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["b", "c"]);
    let ran = scene.etalon(&["run", "p.toml", "--quick"]);
    ran.says(0, &["system `a` is optional and left out"]);
    assert!(ran.stdout.contains("A = b, B = c"), "the first that is left is the baseline: {}", ran.stdout);
    // Where none is left, there is nothing to run; and what is not optional is missed.
    scene.write("p.toml", &plan(missing, missing).replace("[systems.c]\nurl = \"sqlite:c.db\"\n", ""));
    scene.etalon(&["plan", "p.toml"]).says(3, &["cannot find the server programs of PostgreSQL 999", "postgresql-999"]);
    scene.write("p.toml", &plan("version = \"999\"", "optional = true"));
    scene.etalon(&["run", "p.toml"]).says(3, &["cannot find the server programs of PostgreSQL 999"]);
}
