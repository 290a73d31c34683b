//! Exports, and that nothing is lost on the way back.

use std::collections::BTreeSet;
use std::io::Read as _;

use model::{PlannedRun, RunRecord, RunState};
use serde_json::Value;
use store::{Store, StoredRun};

use crate::scene::{Scene, ran};

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
rounds = 6
duration = "1s"
warmup = "0s"
seed = 11
"#;

/// What comparisons rest on and say.
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
            // Row ids belong to a store.
            for key in ["a", "b"] {
                if let Some(side) = row.get_mut(key).and_then(Value::as_object_mut) {
                    side.remove("runs");
                }
            }
            row.remove("warnings");
            // A table does not distinguish whole numbers.
            let case = row.get_mut("case").and_then(Value::as_object_mut);
            for value in case.into_iter().flat_map(|case| case.values_mut()) {
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

fn there_and_back(scene: &Scene, store: &str) {
    assert_eq!(scene.etalon(&["export", store, "-o", "t.csv"]).code, 0);
    let imported = scene.etalon(&["import", "tidy", "t.csv", "-o", "again"]);
    assert_eq!(imported.code, 0, "{}", imported.stderr);
}

#[test]
fn a_table_that_was_exported_and_imported_is_compared_alike() {
    let scene = Scene::new();
    let store = run(&scene);
    there_and_back(&scene, &store);
    let compare = |store: &str| {
        let ran = scene.etalon(&["--json", "compare", store, "--metrics", "all"]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        judged(&ran.stdout)
    };
    let (first, second) = (compare(&store), compare("again.etalon"));
    assert!(first.len() >= 4, "{first:?}");
    assert_eq!(first, second);
    // A second round trip changes nothing.
    assert_eq!(scene.etalon(&["export", "again.etalon", "-o", "u.csv"]).code, 0);
    let read = |name: &str| {
        let text = std::fs::read_to_string(scene.path().join(name)).unwrap();
        let is_of_import = |line: &&str| line.contains("imported.") || line.contains(",mark,") || line.starts_with('#');
        text.lines().filter(|line| !is_of_import(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(read("t.csv"), read("u.csv"));
    // The runs' lengths are known, so counts are exported.
    let pgbench = |store: &str| scene.etalon(&["export", store, "--format", "pgbench"]).stdout;
    assert_eq!(pgbench(&store), pgbench("again.etalon"));
}

#[test]
fn when_runs_began_survives_the_way_there_and_back() {
    let scene = Scene::new();
    let store = run(&scene);
    assert_eq!(scene.etalon(&["export", &store, "-o", "s.csv"]).code, 0);
    let table = std::fs::read_to_string(scene.path().join("s.csv")).unwrap();
    let is_one = |line: &&str| line.contains(",run,") && line.contains(",began,") && line.starts_with("fast,");
    let one = table.lines().find(is_one).unwrap();
    let (rest, began) = one.rsplit_once(',').unwrap();
    let later = began.parse::<i64>().unwrap() + 2 * 3_600_000;
    scene.write("s.csv", &table.replace(one, &format!("{rest},{later}")));
    assert_eq!(scene.etalon(&["import", "tidy", "s.csv", "-o", "moved"]).code, 0);
    there_and_back(&scene, "moved.etalon");
    for (store, is_told) in [(store.as_str(), false), ("moved.etalon", true), ("again.etalon", true)] {
        let compared = scene.etalon(&["--json", "compare", store]);
        assert_eq!(compared.stdout.contains("far-apart"), is_told, "{store}: {}", compared.stdout);
    }
    let wrong = table.replace(one, &format!("{rest},soon"));
    scene.write("s.csv", &wrong);
    let refused = scene.etalon(&["import", "tidy", "s.csv", "-o", "wrong"]);
    assert!(refused.stderr.contains("a run began at a whole number of milliseconds since 1970"), "{}", refused.stderr);
}

/// The document without row ids.
fn circumstances(scene: &Scene, store: &str) -> Value {
    let ran = scene.etalon(&["--json", "compare", store]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let mut document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let dropped = document["dropped_runs"].as_array_mut().unwrap();
    for run in dropped.iter_mut() {
        let run = run.as_object_mut().unwrap();
        run.remove("run");
        run.remove("position");
    }
    let of_import = |note: &Value| note["kind"] == "debug-build" || note["kind"] == "source";
    let notes: Vec<Value> =
        document["notes"].as_array().unwrap().iter().filter(|note| !of_import(note)).cloned().collect();
    let experiment = &document["experiment"];
    let kept = ["runs", "rules", "differences"].map(|name| (name, experiment[name].clone()));
    assert!(kept.iter().all(|(_, value)| !value.is_null()), "{experiment}");
    serde_json::json!({ "dropped": document["dropped_runs"], "notes": notes, "of": kept })
}

#[test]
fn what_was_dropped_survives_the_way_there_and_back() {
    let scene = Scene::new();
    let plan = PLAN.replace("service_us=230", "service_us=230&connections=2&version=2");
    scene.write("plan.toml", &plan.replace("seed = 11", "seed = 11\non_error = \"continue\""));
    scene.etalon(&["run", "plan.toml", "--quiet"]);
    let store = scene.store().display().to_string();
    there_and_back(&scene, &store);
    let before = circumstances(&scene, &store);
    assert_eq!(before["dropped"].as_array().unwrap().len(), 6, "{before}");
    assert_eq!(before, circumstances(&scene, "again.etalon"));
}

/// A copy of a store in which the first runs of a system failed and were repeated, each once.
fn repeated(scene: &Scene, store: &str, system: &str, attempts: usize) {
    let from = Store::open_read_only(std::path::Path::new(store)).unwrap();
    let all = from.runs().unwrap();
    let order: Vec<PlannedRun> = all.iter().map(|run| run.planned).collect();
    let mut to = Store::create(&scene.path().join("repeated.etalon"), from.header(), &order).unwrap();
    let measurements = from.measurements().unwrap();
    let of_system = |run: &&StoredRun| from.cases()[run.planned.case as usize].system == system;
    let lost: BTreeSet<i64> = all.iter().filter(of_system).take(attempts).map(|run| run.id).collect();
    for run in &all {
        let mut record = RunRecord::without_result(RunState::Failed, "the connection was lost");
        if lost.contains(&run.id) {
            to.store_runs(&[(run.planned, record.clone())], 1).unwrap();
        }
        (record.state, record.reason) = (run.state, run.reason.clone());
        (record.began_unix_ms, record.elapsed_s) = (run.started_unix_ms, run.elapsed_s);
        let own = measurements.iter().filter(|stored| stored.run_id == run.id);
        record.measurements = own.map(|stored| stored.measurement.clone()).collect();
        to.store_runs(&[(run.planned, record)], 1).unwrap();
    }
    to.close().unwrap();
}

#[test]
fn attempts_that_were_repeated_survive_the_way_there_and_back() {
    let scene = Scene::new();
    let store = run(&scene);
    repeated(&scene, &store, "slow, er", 3);
    there_and_back(&scene, "repeated.etalon");
    let compare = |store: &str| judged(&scene.etalon(&["--json", "compare", store, "--metrics", "all"]).stdout);
    let before = compare("repeated.etalon");
    let is_void = |row: &Value| row["no_verdict"].as_str().is_some_and(|why| why.contains("when repeated"));
    assert!(before.iter().any(is_void) && !compare(&store).iter().any(is_void));
    assert_eq!(before, compare("again.etalon"));
    let dropped = circumstances(&scene, "again.etalon");
    assert_eq!(dropped["dropped"].as_array().unwrap().len(), 3, "{dropped}");
    assert_eq!(dropped, circumstances(&scene, "repeated.etalon"));
}

#[test]
fn one_server_under_two_names_is_one_server_after_the_way_there_and_back() {
    let scene = Scene::new();
    scene.write("plan.toml", PLAN);
    assert_eq!(scene.etalon(&["run", "plan.toml", "--quiet", "--aa", "fast"]).code, 0);
    let store = scene.store().display().to_string();
    there_and_back(&scene, &store);
    let before = circumstances(&scene, &store);
    assert!(before["notes"].to_string().contains("same-server"), "{before}");
    assert_eq!(before, circumstances(&scene, "again.etalon"));
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
    assert_eq!(told["runs"], 24, "{}", imported.stdout);
    let charts = scene.etalon(&["--json", "export", &store, "--format", "svg", "-o", "charts"]);
    let told: Value = serde_json::from_str(&charts.stdout).unwrap();
    let files = told["files"].as_array().unwrap();
    assert!(files.len() >= 3, "{told}");
    for file in files {
        let svg = std::fs::read_to_string(scene.path().join(file.as_str().unwrap())).unwrap();
        // The seal, by which étalon knows the file again, is a comment behind the drawing.
        let (drawing, seal) = svg.trim_end().rsplit_once('\n').unwrap();
        assert!(svg.starts_with("<svg xmlns=") && drawing.ends_with("</svg>") && seal.starts_with("<!-- "), "{file}");
        assert!(!svg.contains("var("), "{file}");
    }
}

/// Without a terminal nobody can be asked. Every exported table carries the licence's words.
#[test]
fn results_that_a_licence_restricts_are_given_away_only_by_name() {
    let scene = Scene::new();
    let table = "system,repetition,metric,unit,kind,value\nold,1,iops,io/s,measured,5210\nnew,1,iops,io/s,measured,6021\n\
                 new,,licence.publication,,circumstance,the licence of X forbids it\n";
    scene.write("t.csv", table);
    for (file, store) in [("t.csv", "t"), ("again.csv", "again")] {
        let imported = scene.etalon(&["import", "tidy", file, "-o", store]);
        assert_eq!(imported.code, 0, "{}", imported.stderr);
        let store = format!("{store}.etalon");
        for format in ["csv", "json", "markdown", "svg"] {
            let refused = scene.etalon(&["export", &store, "--format", format]);
            assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{format}: {}", refused.stderr);
            assert!(refused.stderr.contains("the licence of X forbids it") && refused.stderr.contains("--yes"));
        }
        let compared = scene.etalon(&["compare", &store]).stdout;
        assert!(compared.contains("before this is published: the licence of X forbids it (new)"), "{compared}");
        let allowed = scene.etalon(&["export", &store, "--yes", "-o", "again.csv"]);
        assert_eq!(allowed.code, 0, "{}", allowed.stderr);
        assert!(std::fs::read_to_string(scene.path().join("again.csv")).unwrap().contains(",5210"));
    }
    assert!(!scene.path().join("t.charts").exists());
}

#[test]
fn what_cannot_be_exported_is_said() {
    let scene = Scene::new();
    let absent = scene.etalon(&["export", "absent.etalon"]);
    assert_eq!((absent.code, absent.stdout.as_str()), (3, ""), "{}", absent.stderr);
    assert_eq!(scene.etalon(&["export", "absent.etalon", "--format", "xls"]).code, 2);
}

/// Where no program draws pictures it is said before anything is made.
#[test]
fn without_a_program_that_draws_a_picture_it_is_said_what_to_install() {
    let scene = Scene::new();
    let store = run(&scene);
    let nothing = tempfile::tempdir().unwrap();
    let asked = scene.command(&["export", &store, "--format", "png"]).env("PATH", nothing.path()).output().unwrap();
    ran(asked).says(3, &["no program that makes PNG of SVG", "`rsvg-convert`", "`apt install librsvg2-bin`"]);
    let left: Vec<_> = std::fs::read_dir(scene.path().join("etalon-results")).unwrap().collect();
    assert!(left.iter().all(|file| !file.as_ref().unwrap().path().is_dir()), "{left:?}");
}

/// A program that fails is named, with its words: here one that has that name and knows nothing of pictures.
#[test]
fn what_the_program_that_draws_says_is_told() {
    let scene = Scene::new();
    let store = run(&scene);
    let programs = tempfile::tempdir().unwrap();
    let name = format!("rsvg-convert{}", std::env::consts::EXE_SUFFIX);
    std::fs::copy(&scene.program, programs.path().join(name)).unwrap();
    let asked = scene.command(&["export", &store, "--format", "png"]).env("PATH", programs.path()).output().unwrap();
    ran(asked).says(3, &["cannot draw a chart by rsvg-convert", "exit status: 2", "unexpected argument '--zoom'"]);
}

/// The picture is twice the drawing's size and not blank.
#[test]
fn charts_become_pictures_of_twice_their_size() {
    let scene = Scene::new();
    let store = run(&scene);
    for format in ["svg", "png"] {
        scene.etalon(&["export", &store, "--format", format, "-o", format]).says(0, &[]);
    }
    let files = |folder: &str| {
        let found = std::fs::read_dir(scene.path().join(folder)).unwrap().map(|file| file.unwrap().path());
        let mut found: Vec<_> = found.collect();
        found.sort();
        found
    };
    let (drawings, pictures) = (files("svg"), files("png"));
    assert!(pictures.len() >= 3 && pictures.len() == drawings.len(), "{pictures:?}");
    for (drawing, picture) in drawings.iter().zip(&pictures) {
        assert_eq!(drawing.file_stem(), picture.file_stem());
        let svg = std::fs::read_to_string(drawing).unwrap();
        let length = |name: &str| -> f32 {
            let (_, rest) = svg.split_once(&format!(" {name}=\"")).unwrap();
            rest.split('"').next().unwrap().parse().unwrap()
        };
        let (size, shades) = picture_of(&std::fs::read(picture).unwrap());
        for (pixels, name) in size.into_iter().zip(["width", "height"]) {
            assert!((f64::from(pixels) - f64::from(length(name)) * 2.0).abs() <= 1.0, "{}", picture.display());
        }
        assert!(shades > 16, "{}: {shades} different bytes", picture.display());
    }
}

/// The width and the height of a PNG file, and how many different bytes its pixels are written with.
fn picture_of(bytes: &[u8]) -> ([u32; 2], usize) {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut packed = Vec::new();
    let mut at = 8;
    while at < bytes.len() {
        let length = number(at) as usize;
        if &bytes[at + 4..at + 8] == b"IDAT" {
            packed.extend_from_slice(&bytes[at + 8..at + 8 + length]);
        }
        at += length + 12;
    }
    let mut pixels = Vec::new();
    flate2::read::ZlibDecoder::new(packed.as_slice()).read_to_end(&mut pixels).unwrap();
    ([number(16), number(20)], pixels.iter().collect::<BTreeSet<_>>().len())
}
