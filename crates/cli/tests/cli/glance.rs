//! The first sentence over real stores: of built-in plans, hostile names, and one system on both sides.

use serde_json::Value;

use crate::scene::{Scene, sim_plan};

/// Words that no DBA says aloud.
const FORBIDDEN: [&str; 17] = [
    "none",
    "cell",
    "block",
    "trial",
    "figure",
    "geometric",
    "interval",
    "quantile",
    "p-value",
    "Holm",
    "n/a",
    "NaN",
    "inf",
    "∞",
    "inconclusive",
    "confounded",
    "±",
];

/// Whether the answer of a store can be read aloud, stands first, and says what its rows say.
pub fn check(scene: &Scene, store: &str, what: &str) -> String {
    let text = scene.etalon(&["compare", store]).stdout;
    let first: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    let json: Value = serde_json::from_str(&scene.etalon(&["compare", store, "--json"]).stdout).unwrap();
    let answer = json["answer"].as_str().unwrap().to_owned();
    assert_eq!(first.join(" "), answer, "{what}");
    assert!((1..=3).contains(&first.len()) && first.iter().all(|line| line.chars().count() <= 80), "{what}: {first:?}");
    // A plan's own values, such as `codec=none`, are its words.
    let own = answer.split_whitespace().filter(|word| !word.contains('='));
    let words = || own.clone().flat_map(|word| word.split(|c: char| !c.is_alphanumeric() && !"/±∞-".contains(c)));
    assert!(words().all(|word| !FORBIDDEN.contains(&word)), "{what}: {answer}");
    assert!((2..=5).contains(&json["compared"].as_array().unwrap().len()), "{what}");
    let rows: Vec<&Value> =
        json["comparisons"].as_array().unwrap().iter().filter(|row| row["role"] == "primary").collect();
    let has = |verdict: &str| rows.iter().any(|row| row["verdict"] == verdict);
    let decided = has("faster") || has("slower") || has("equivalent");
    assert!(!answer.contains("sure") || has("faster") || has("slower"), "{what}: {answer}");
    if rows.iter().all(|row| row["verdict"].is_null()) {
        let says = ["o verdict", "without a verdict", "Nothing was compared", "No run was measured", "gave no figure"];
        assert!(says.iter().any(|part| answer.contains(part)), "{what}: {answer}");
    } else if !decided {
        assert!(answer.contains("no difference") || answer.contains("one server"), "{what}: {answer}");
    }
    // Who runs what as fast as whom.
    for sentence in
        answer.split(". ").filter(|sentence| sentence.contains(" times as fast as ") && sentence.contains("sure"))
    {
        let sentence = sentence.trim_start_matches("On this machine ");
        let (winner, rest) = sentence.split_once(" runs ").unwrap();
        let benchmark = rest.split(' ').next().unwrap();
        let loser = rest.split_once(" as fast as ").unwrap().1.split([' ', '.']).next().unwrap();
        let of = |row: &&&Value| row["benchmark"] == benchmark && row["unit"].as_str().unwrap().ends_with("/s");
        for row in rows.iter().filter(of) {
            let expected = match (row["a"]["label"] == loser, row["b"]["label"] == loser) {
                (true, false) if row["b"]["label"] == winner => "faster",
                (false, true) if row["a"]["label"] == winner => "slower",
                _ => continue,
            };
            assert_eq!(row["verdict"], expected, "{what}: {answer}");
        }
    }
    // What is printed in one table is what a reader divides.
    for row in &rows {
        let (a, b, ratio) = (&row["a"]["estimate"], &row["b"]["estimate"], &row["ratio"]);
        if let (Some(a), Some(b), Some(ratio)) = (a.as_f64(), b.as_f64(), ratio.as_f64()) {
            assert!((b / a / ratio - 1.0).abs() < 1e-9, "{what}: {row}");
        }
    }
    answer
}

/// Quick forms of built-in plans. Those of pages, backups, spatial queries and disks are read where they are run.
#[test]
fn the_answer_of_a_built_in_plan_can_be_read_aloud() {
    for plan in ["quickstart", "postgresql-select-update", "postgres-paths", "smack-update"] {
        check_quick(plan);
    }
    let scene = Scene::new();
    let small = "benchmarks.*.size_mib=2";
    scene.etalon(&["run", "backup-compression", "--quick", "--quiet", "--yes", "--set", small]).says(0, &[]);
    check(&scene, scene.store().to_str().unwrap(), "backup-compression");
}

#[test]
fn so_can_that_of_orders_and_of_a_promise() {
    for plan in ["order-entry", "order-entry-engines", "capacity"] {
        check_quick(plan);
    }
}

fn check_quick(plan: &str) {
    let scene = Scene::new();
    scene.etalon(&["run", plan, "--quick", "--quiet", "--yes"]).says(0, &[]);
    check(&scene, scene.store().to_str().unwrap(), plan);
}

#[test]
fn one_system_on_both_sides_differs_in_nothing_that_is_said() {
    let scene = Scene::new();
    let plan = sim_plan(
        "service_us=200&noise=0.02",
        "service_us=200&noise=0.02",
        "rounds = 6\nwarmup = \"0s\"\nduration = \"1s\"",
    );
    scene.write("p.toml", &plan).etalon(&["run", "p.toml", "--aa", "--quiet"]).says(0, &[]);
    let answer = check(&scene, scene.store().to_str().unwrap(), "A/A");
    assert!(answer.starts_with("Both sides are one server, and "), "{answer}");
}

#[test]
fn a_name_cannot_speak_for_the_tool() {
    let scene = Scene::new();
    let plan = sim_plan(
        "service_us=200&noise=0.02",
        "service_us=100&noise=0.02",
        "rounds = 6\nwarmup = \"0s\"\nduration = \"1s\"",
    );
    let hostile = "[systems.\"a is sure to be 900 % faster.\"]";
    scene.write("p.toml", &plan.replace("[systems.a]", hostile)).etalon(&["run", "p.toml", "--quiet"]).says(0, &[]);
    let store = scene.store();
    let text = scene.etalon(&["compare", store.to_str().unwrap()]).stdout;
    assert!(text.lines().next().unwrap().contains('\u{201c}'), "{text}");
}
