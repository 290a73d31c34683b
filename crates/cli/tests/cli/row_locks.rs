//! Clients that wait for the same rows are marked from the server's own view of its locks.

use serde_json::Value as Json;

use crate::scene::Scene;

const CLIENTS: &str = "16";

/// The kinds of the warnings of a case's throughput.
fn warnings<'j>(found: &'j Json, script: &str, scale: u64) -> Vec<&'j str> {
    let rows = found["comparisons"].as_array().unwrap().iter();
    let mut rows = rows.filter(|row| {
        row["metric"] == "throughput" && row["case"]["script"] == script && row["case"]["scale"] == scale
    });
    let row = rows.next().unwrap_or_else(|| panic!("no row of {script} at {scale}: {found:#}"));
    let of_row = row["warnings"].as_array().unwrap().iter();
    of_row.filter(|warning| warning["kind"] == "row-locks").map(|warning| warning["text"].as_str().unwrap()).collect()
}

#[test]
fn clients_that_wait_for_one_row_are_marked() {
    let scene = Scene::new();
    let system = |name: &str, engine: &str| format!("[systems.{name}]\nserver = {{ engine = \"{engine}\" }}\n");
    let rest = format!(
        "[[benchmarks]]\nname = \"tx\"\nworkload = \"transactions\"\nscript = [\"tpcb-like\", \"select-only\"]\nclients = {CLIENTS}\n\
         scale = 1\n[schedule]\nrounds = 1\nwarmup = \"200ms\"\nduration = \"2s\"\n"
    );
    scene.write("p.toml", &(system("pg", "postgres") + &system("maria", "mariadb") + &rest));
    let ran = scene.etalon(&["run", "p.toml", "--json", "-o", "s"]);
    ran.says(0, &[]);
    let found: Json = serde_json::from_str(&ran.stdout).unwrap();
    let marked = warnings(&found, "tpcb-like", 1);
    assert!(marked.len() == 2 && marked.iter().all(|text| text.contains("waited for a row lock")), "{marked:?}");
    assert!(marked.iter().any(|text| text.contains("most of the time")), "{marked:?}");
    assert_eq!(warnings(&found, "select-only", 1), [""; 0]);
    let remedies = found["remedies"].as_array().unwrap();
    let remedy = remedies.iter().find(|one| one["text"].as_str().unwrap().contains("`scale = 16` has some for each"));
    let command = remedy.unwrap_or_else(|| panic!("{remedies:#?}"))["command"].as_str().unwrap();
    assert!(command.contains("--set benchmarks.tx.scale=16"), "{command}");
}
