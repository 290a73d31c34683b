//! Limits on backups and restores by control groups, which hold the whole command: it runs in a process of its own here.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use host::scratch::Scratch;
use model::Reading;
use store::Store;

use crate::scene::{Scene, ran};

/// How long something that must come may take.
const PATIENCE: Duration = Duration::from_secs(60);

fn plan(system: &str, keys: &str) -> String {
    format!(
        "[systems.it]\n{system}\n\n[[benchmarks]]\nworkload = \"backup\"\n{keys}\n\n[schedule]\nrounds = 1\n\
         warmup = \"0s\"\nduration = \"1s\"\n"
    )
}

/// The folders that name an étalon's control groups.
fn notes(pid: u32) -> Vec<PathBuf> {
    let entries = Scratch::base_folders().into_iter().filter_map(|base| fs::read_dir(base).ok()).flatten();
    let named = entries.filter_map(Result::ok).map(|entry| entry.path());
    let prefix = format!("etalon-limit-{pid}-");
    named.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix))).collect()
}

/// Per case, in the plan's order; `None`, with the reason printed, where limits are not permitted.
fn measured(scene: &Scene, system: &str, keys: &str) -> Option<Vec<BTreeMap<String, f64>>> {
    scene.write("p.toml", &plan(system, keys));
    let child = scene.start(&["run", "p.toml"]);
    let pid = child.id();
    let ran = ran(child.wait_with_output().unwrap());
    assert_eq!(notes(pid), Vec::<PathBuf>::new(), "a control group stays behind");
    if ran.code != 0 && ran.stderr.contains("hold the ") {
        eprintln!("skipped: {}", ran.stderr);
        return None;
    }
    ran.says(0, &[]);
    let store = Store::open_read_only(&scene.store()).unwrap();
    let mut cases: BTreeMap<u32, BTreeMap<String, f64>> = BTreeMap::new();
    for one in store.measurements().unwrap() {
        if let Reading::Value(value) = one.measurement.reading {
            cases.entry(one.case).or_default().insert(one.measurement.metric.id, value);
        }
    }
    Some(cases.into_values().collect())
}

fn sqlite() -> &'static str {
    "url = \"sqlite:data.db\""
}

#[test]
fn a_restore_is_held_to_its_share_of_the_processors() {
    /// The kernel renews the share each period, so a restore may use two without waiting.
    const PERIOD: f64 = 0.1;
    /// Without a limit a core or more is used: at least five times this.
    const SHARE: f64 = 0.2;
    let most = |time: f64| SHARE * (time + 2.0 * PERIOD);
    for (system, keys) in [
        (sqlite(), "size_mib = 96\ncodec = \"zstd\""),
        ("server = { engine = \"postgres\" }", "size_mib = 4\ncodec = \"zstd\""),
        ("server = { engine = \"mariadb\" }", "size_mib = 4\ncodec = \"zstd\"\nmethod = \"mariadb-dump\""),
    ] {
        let Some(cases) = measured(&Scene::new(), system, &format!("{keys}\nrestore_cpu_percent = 20")) else { return };
        let (time, cpu) = (cases[0]["restore_time"], cases[0]["restore_cpu"]);
        assert!(cpu > most(cpu), "{system}: {cpu} s of CPU time is too little to show that it is held");
        // Limited CPU stays within its share whatever else runs, and takes as long.
        assert!(cpu < 1.1 * most(time), "{system}: {cpu} s of CPU time in {time} s");
    }
}

#[test]
fn backups_and_restores_are_held_to_their_bytes_a_second() {
    // Each byte is written once each way.
    let keys = "size_mib = 8\ncodec = \"none\"\nbackup_io_mib_s = 4\nrestore_io_mib_s = 4";
    let Some(cases) = measured(&Scene::new(), sqlite(), keys) else { return };
    for metric in ["backup_rate", "restore_rate"] {
        let rate = cases[0][metric];
        assert!((2.0..=5.0).contains(&rate), "{metric}: {rate} MiB/s");
    }
    let server = "server = { engine = \"postgres\" }";
    // Three seconds' worth: what the kernel lets pass at first is a quarter of one.
    let Some(cases) = measured(&Scene::new(), server, "size_mib = 24\ncodec = \"none\"\nbackup_io_mib_s = 8") else {
        return;
    };
    assert!((4.0..=10.0).contains(&cases[0]["backup_rate"]), "{:?}", cases[0]["backup_rate"]);
    assert!(cases[0]["restore_rate"] > 10.0, "the restore is not held: {:?}", cases[0]["restore_rate"]);
}

#[test]
fn mariadb_s_program_is_held_to_its_share() {
    let keys = "size_mib = 16\nmethod = \"mariadb-dump\"\ncodec = \"none\"\nbackup_cpu_percent = 5";
    let Some(cases) = measured(&Scene::new(), "server = { engine = \"mariadb\" }", keys) else { return };
    let share = cases[0]["backup_cpu/client"] / cases[0]["backup_time"];
    assert!(share < 0.15, "{share} of a core");
}

#[test]
fn what_cannot_be_held_is_refused() {
    let scene = Scene::new();
    let refused = |system: &str, keys: &str, words: &[&str]| {
        scene.write("p.toml", &plan(system, &format!("size_mib = 1\n{keys}")));
        scene.etalon(&["run", "p.toml"]).says(3, words);
    };
    let load = "backup_io_mib_s = 4\nload = { script = \"tpcb-like\" }";
    refused(sqlite(), load, &["`backup_io_mib_s`", "its transactions would be held, too", "`max_rate_mib_s`"]);
    refused(sqlite(), "backup_cpu_percent = 50", &["SQLite works inside étalon"]);
    if Path::new("/dev/shm").is_dir() {
        let in_memory = "folder = \"/dev/shm\"\nbackup_io_mib_s = 4";
        refused(sqlite(), in_memory, &["hold the backup to 4.0 MiB a second on the disk"]);
    }
}

fn groups(note: &Path) -> Vec<PathBuf> {
    let noted = fs::read_to_string(note.join("groups")).unwrap_or_default();
    noted.lines().filter_map(|line| line.split_once('\t')).map(|(group, _)| PathBuf::from(group)).collect()
}

#[test]
fn the_groups_of_an_etalon_that_was_killed_are_removed() {
    let scene = Scene::new();
    scene.write("p.toml", &plan(sqlite(), "size_mib = 48\ncodec = \"zstd\"\nrestore_cpu_percent = 1"));
    let mut child = scene.start(&["run", "p.toml"]);
    let pid = child.id();
    let holds = |group: &PathBuf| {
        fs::read_to_string(group.join("cgroup.procs"))
            .is_ok_and(|members| members.lines().any(|member| member == pid.to_string()))
    };
    let started = Instant::now();
    let held = loop {
        let held: Vec<PathBuf> = notes(pid).iter().flat_map(|note| groups(note)).filter(holds).collect();
        if !held.is_empty() {
            break held;
        }
        if child.try_wait().unwrap().is_some() {
            let ran = ran(child.wait_with_output().unwrap());
            assert!(ran.stderr.contains("hold the restore to"), "{}", ran.stderr);
            eprintln!("skipped: {}", ran.stderr);
            return;
        }
        assert!(started.elapsed() < PATIENCE, "nothing is held");
        thread::sleep(Duration::from_millis(5));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    // Other tests clean up, too.
    scene.etalon(&["doctor", "--clean"]);
    assert!(held.iter().all(|group| !group.exists()), "{held:?}");
    assert_eq!(notes(pid), Vec::<PathBuf>::new());
}
