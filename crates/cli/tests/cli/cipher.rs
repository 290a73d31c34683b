//! SQLCipher beside SQLite, in an `etalon` that has it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::scene::Scene;

const BOTH: [&str; 4] = ["--system", "plain=sqlite:plain.db", "--system", "locked=sqlcipher:locked.db"];

fn run(scene: &Scene, plan: &str, changes: &[&str]) -> Value {
    let mut args = vec!["run", plan, "--quick", "--json", "--quiet"];
    args.extend(BOTH);
    changes.iter().for_each(|change| args.extend(["--set", change]));
    let ran = scene.etalon(&args);
    ran.says(0, &[]);
    for word in ["ERROR CORE", "sqlcipher_"] {
        assert!(!ran.stderr.contains(word), "SQLCipher's own log: {}", ran.stderr);
    }
    serde_json::from_str(&ran.stdout).unwrap()
}

/// B's median over A's, of a metric.
fn ratio(object: &Value, metric: &str) -> f64 {
    let rows = object["comparisons"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == metric).unwrap_or_else(|| panic!("no {metric}: {object}"));
    let median = |side: &str| row[side]["median"].as_f64().unwrap_or_else(|| panic!("{metric}: {row}"));
    median("b") / median("a")
}

#[test]
fn what_is_encrypted_is_as_large_and_cannot_be_compressed() {
    for method in ["backup-interface", "vacuum-into"] {
        let method_key = format!("benchmarks.*.method={method}");
        let changes = [method_key.as_str(), "benchmarks.*.codec=zstd"];
        let Some(scene) = Scene::with_sqlcipher() else { return };
        let larger = ratio(&run(&scene, "backup-compression", &changes), "backup_size");
        assert!(
            (3.0..8.0).contains(&larger),
            "{method}: a quarter of the data is noise, all of it once encrypted; {larger}"
        );
        let Some(scene) = Scene::with_sqlcipher() else { return };
        let changes = [changes[0], "benchmarks.*.codec=none", "systems.*.settings.page_size=8192"];
        let as_large = ratio(&run(&scene, "backup-compression", &changes), "backup_size");
        assert!((0.97..1.06).contains(&as_large), "{method}: {as_large}");
    }
}

#[test]
fn transactions_page_inserts_and_a_load_beside_a_backup_run_on_both() {
    let [Some(scene), Some(of_pages), Some(of_backups)] = [(); 3].map(|()| Scene::with_sqlcipher()) else { return };
    run(&scene, "quickstart", &["systems.*.settings.journal_mode=WAL"]);
    let pages = run(&of_pages, "sqlserver-pages", &["benchmarks.*.statements=50"]);
    assert!(ratio(&pages, "elapsed") > 0.0);
    let changes = ["systems.*.settings.journal_mode=WAL", "benchmarks.*.size_mib=4", "benchmarks.*.load.scale=1"];
    assert!(ratio(&run(&of_backups, "backup-load", &changes), "throughput") > 0.0);
    let left: Vec<_> = std::fs::read_dir(scene.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["etalon-results"]);
}

/// Whether a file holds plain words of SQLite's.
fn is_readable(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    bytes.windows(12).any(|words| words == b"CREATE TABLE")
}

/// The key is in memory only: nobody can read what a killed étalon leaves, and the next one removes it.
#[test]
fn what_a_killed_run_leaves_is_locked_and_resumes() {
    let Some(scene) = Scene::with_sqlcipher() else { return };
    let mut args = vec!["run", "quickstart", "--set", "schedule.rounds=6", "--set", "schedule.duration=500ms"];
    args.extend(BOTH);
    let mut child = scene.start(&args);
    let until = Instant::now() + Duration::from_secs(60);
    let [plain, locked] = ["plain.db", "locked.db"].map(|name| scene.path().join(name));
    let filled = |path: &Path| path.metadata().is_ok_and(|data| data.len() > 8 << 20);
    while !(filled(&plain) && filled(&locked)) {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "no run of both began");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((is_readable(&plain), is_readable(&locked)), (true, false));
    let pristine = scene.path().join("locked.db.pristine");
    assert!(pristine.exists() && !is_readable(&pristine));
    scene.etalon(&["resume", scene.store().to_str().unwrap()]).says(0, &[]);
    assert!(!locked.exists() && !pristine.exists());
}

#[test]
fn what_sqlcipher_cannot_do_is_refused() {
    let Some(scene) = Scene::with_sqlcipher() else { return };
    let args = ["run", "quickstart", "--quick", "--system", "locked=sqlcipher:locked.db", "--set"];
    let with = |change: &'static str| [&args[..], &[change]].concat();
    scene.etalon(&with("systems.locked.settings.page_size=512")).says(2, &["SQLCipher keeps 80 bytes", "1024"]);
    scene.write("locked.db", "somebody's");
    scene.etalon(&with("benchmarks.*.tables=none")).says(3, &["étalon draws its keys"]);
    scene.etalon(&with("schedule.seed=1")).says(3, &["étalon did not make it"]);
    assert_eq!(std::fs::read(scene.path().join("locked.db")).unwrap(), b"somebody's");
}
