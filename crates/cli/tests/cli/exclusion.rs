//! Two étalons on one database file, or one disk target: the second leaves everything alone and names the first.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::scene::Scene;

fn wait_for(lock: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !lock.exists() {
        assert!(Instant::now() < deadline, "nobody claims {}", lock.display());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Runs `plan` and, meanwhile, once more; then kills the first, and runs `short` among its remains.
fn excludes(plan: &str, short: &str, lock: &str, file: &str) {
    let scene = Scene::new();
    scene.write("first.toml", plan).write("second.toml", short);
    let mut first = scene.start(&["run", "first.toml"]);
    let (lock, file) = (scene.path().join(lock), scene.path().join(file));
    wait_for(&lock);
    wait_for(&file);
    let named = format!("process {} (`etalon run first.toml", first.id());
    let second = scene.etalon(&["run", "second.toml"]);
    second.says(3, &["another étalon is using it", &named, "which has had it for", "wait until it has ended"]);
    assert!(first.try_wait().unwrap().is_none(), "the first goes on");
    assert!(file.exists() && lock.exists());
    // SIGKILL: no clean-up, but the lock ends with the process.
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(lock.exists());
    scene.etalon(&["run", "second.toml"]).says(0, &[]);
    assert!(!lock.exists() && !file.exists());
}

fn sqlite(length: &str) -> String {
    format!(
        "[systems.wal]\nurl = \"sqlite:shared/x.db\"\nsettings = {{ journal_mode = \"WAL\" }}\n\
         [[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-update\"\n\
         [schedule]\nrounds = 1\nwarmup = \"10ms\"\nduration = \"{length}\"\n"
    )
}

#[test]
fn two_étalons_on_one_database_file_exclude_each_other() {
    excludes(&sqlite("120s"), &sqlite("100ms"), "shared/x.db.etalon-lock", "shared/x.db");
}

#[test]
fn two_étalons_on_one_disk_target_exclude_each_other() {
    let plan = |length: &str| {
        format!(
            "[systems.here]\nurl = \"disk:shared\"\n[[benchmarks]]\nworkload = \"disk\"\nsize_mb = 4\nblock_kb = 4\ndepth = 1\n\
             [schedule]\nrounds = 1\nwarmup = \"10ms\"\nduration = \"{length}\"\n"
        )
    };
    excludes(&plan("120s"), &plan("100ms"), "shared/etalon-4m.dat.etalon-lock", "shared/etalon-4m.dat");
}
