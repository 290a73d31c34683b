//! Exports, and that nothing is lost on the way back.

use serde_json::Value;

use crate::scene::Scene;

const PLAN: &str = r#"
name = "round trip"
margin = "5%"

[systems.fast]
url = "sim:?service_us=200"

[systems."slow, er"]
url = "sim:?service_us=230"

[[benchmarks]]
name = "points"
workload = "transactions"
script = "select-only"
clients = [1, 4]

[schedule]
blocks = 6
duration = "1s"
warmup = "0s"
seed = 11
"#;

/// What a comparison rests on and what it says, of every row.
fn judged(json: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(json).unwrap();
    let mut rows = Vec::new();
    collect(&document, &mut rows);
    rows
}

fn collect(value: &Value, rows: &mut Vec<Value>) {
    match value {
        Value::Object(map) if map.contains_key("verdict") && map.contains_key("metric") => {
            let mut row = map.clone();
            // Identities of rows in a store are its own.
            for key in ["a", "b"] {
                if let Some(side) = row.get_mut(key).and_then(Value::as_object_mut) {
                    side.remove("trials");
                }
            }
            row.remove("warnings");
            // A table has numbers, not whole and other ones.
            let cell = row.get_mut("cell").and_then(Value::as_object_mut);
            for value in cell.into_iter().flat_map(|cell| cell.values_mut()) {
                *value = value.as_f64().map_or_else(|| value.clone(), Value::from);
            }
            rows.push(Value::Object(row));
        }
        Value::Object(map) => map.values().for_each(|value| collect(value, rows)),
        Value::Array(all) => all.iter().for_each(|value| collect(value, rows)),
        _ => {}
    }
}

fn run(scene: &Scene) -> String {
    scene.write("plan.toml", PLAN);
    let ran = scene.etalon(&["run", "plan.toml", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    scene.store().display().to_string()
}

#[test]
fn a_table_that_was_exported_and_imported_is_compared_alike() {
    let scene = Scene::new();
    let store = run(&scene);
    assert_eq!(scene.etalon(&["export", &store, "-o", "t.csv"]).code, 0);
    let imported = scene.etalon(&["import", "tidy", "t.csv", "-o", "again"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    let compare = |store: &str| {
        let ran = scene.etalon(&["--json", "compare", store, "--metrics", "all"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        judged(&ran.stdout)
    };
    let (first, second) = (compare(&store), compare("again.etalon"));
    assert!(first.len() >= 4, "{first:?}");
    assert_eq!(first, second);
    // A second round trip changes nothing at all.
    assert_eq!(scene.etalon(&["export", "again.etalon", "-o", "u.csv"]).code, 0);
    let read = |name: &str| {
        let text = std::fs::read_to_string(scene.path().join(name)).unwrap();
        let is_of_import = |line: &&str| line.contains("imported.") || line.contains(",mark,") || line.starts_with('#');
        text.lines().filter(|line| !is_of_import(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(read("t.csv"), read("u.csv"));
}

#[test]
fn every_form_is_written() {
    let scene = Scene::new();
    let store = run(&scene);
    let markdown = scene.etalon(&["export", &store, "--format", "markdown"]);
    assert!(markdown.stdout.contains("| "), "{}", markdown.stdout);
    let json = scene.etalon(&["export", &store, "--format", "json"]);
    assert!(!judged(&json.stdout).is_empty(), "{}", json.stdout);
    let smack = scene.etalon(&["export", &store, "--format", "super-smack"]);
    assert!(smack.stdout.contains("Query Barrel Report"), "{}", smack.stdout);
    let pgbench = scene.etalon(&["export", &store, "--format", "pgbench", "-o", "p.txt"]);
    assert_eq!(pgbench.code, 0, "{}", pgbench.stderr);
    let imported = scene.etalon(&["--json", "import", "pgbench", "p.txt", "-o", "p"]);
    let told: Value = serde_json::from_str(&imported.stdout).unwrap();
    assert_eq!(told["trials"], 24, "{}", imported.stdout);
    let charts = scene.etalon(&["--json", "export", &store, "--format", "svg", "-o", "charts"]);
    let told: Value = serde_json::from_str(&charts.stdout).unwrap();
    let files = told["files"].as_array().unwrap();
    assert!(files.len() >= 3, "{told}");
    for file in files {
        let svg = std::fs::read_to_string(scene.path().join(file.as_str().unwrap())).unwrap();
        assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"), "{file}");
        assert!(!svg.contains("var("), "{file}");
    }
}

/// Without a terminal nobody can be asked.
#[test]
fn results_that_a_licence_restricts_are_given_away_only_by_name() {
    let scene = Scene::new();
    let table = "system,repetition,metric,unit,kind,value\nold,1,iops,io/s,measured,5210\nnew,1,iops,io/s,measured,6021\n\
                 new,,licence.publication,,factor,the licence of X forbids it\n";
    scene.write("t.csv", table);
    let imported = scene.etalon(&["import", "tidy", "t.csv", "-o", "t"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
    for format in ["csv", "json", "markdown", "svg"] {
        let refused = scene.etalon(&["export", "t.etalon", "--format", format]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{format}: {}", refused.stderr);
        assert!(refused.stderr.contains("the licence of X forbids it") && refused.stderr.contains("--yes"));
    }
    assert!(!scene.path().join("t.charts").exists());
    let allowed = scene.etalon(&["export", "t.etalon", "--yes"]);
    assert_eq!(allowed.code, 0, "{}", allowed.stderr);
    assert!(allowed.stdout.contains("5210"));
}

#[test]
fn what_cannot_be_exported_is_said() {
    let scene = Scene::new();
    let absent = scene.etalon(&["export", "absent.etalon"]);
    assert_eq!((absent.code, absent.stdout.as_str()), (3, ""), "{}", absent.stderr);
    assert_eq!(scene.etalon(&["export", "absent.etalon", "--format", "xls"]).code, 2);
}
