//! Each wrong thing gives one clear message and the documented exit code.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scene::{Scene, sim_plan};

const SHORT: &str = "rounds = 2\nwarmup = \"10ms\"\nduration = \"100ms\"";

fn sqlite_plan(change: (&str, &str)) -> String {
    "[systems.a]\nurl = \"sqlite:a.db\"\n\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-update\"\n\
     clients = 1\n\n[schedule]\nrounds = 1\nwarmup = \"10ms\"\nduration = \"100ms\"\n"
        .replace(change.0, change.1)
}

#[test]
fn a_plan_that_does_not_exist() {
    Scene::new()
        .etalon(&["run", "nothing.toml"])
        .says(2, &["cannot read the plan `nothing.toml`", "hint:", "etalon list"]);
}

/// Whatever engine reads it.
#[test]
fn a_url_that_cannot_be_read_is_not_valid() {
    for url in [
        "postgres://me@db1:x/bench",
        "postgres://me@db1/bench?sslmode=perhaps",
        "mysql://me@db1:99999/",
        "sqlserver://me@db1:x/bench",
    ] {
        let scene = Scene::new();
        let told = format!(
            "[systems.a]\nurl = \"{url}\"\n[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-only\"\n"
        );
        let planned = scene.write("p.toml", &told).etalon(&["plan", "p.toml"]);
        planned.says(2, &["cannot read the URL of", "system: a"]);
        assert!(!planned.stdout.contains("valid"), "{url}: {}", planned.stdout);
    }
}

#[test]
fn a_file_that_is_not_toml() {
    let scene = Scene::new();
    scene.write("p.toml", "this is not TOML").etalon(&["run", "p.toml"]).says(2, &["p.toml:1"]);
}

#[test]
fn an_unknown_script_names_the_near_one() {
    let scene = Scene::new();
    scene
        .write("p.toml", &sqlite_plan(("select-update", "select-updat")))
        .etalon(&["run", "p.toml"])
        .says(2, &["select-updat", "p.toml:6", "did you mean `select-update`?"]);
}

#[test]
fn a_script_file_that_does_not_exist_or_does_not_compile() {
    let scene = Scene::new();
    scene.write("p.toml", &sqlite_plan(("\"select-update\"", "\"./mine.sql\"")));
    scene.etalon(&["run", "p.toml"]).says(2, &["cannot read the script `./mine.sql`", "tpcb-like"]);
    scene.write("mine.sql", "\\set a 1\n\nSELECT :b;\n");
    scene.etalon(&["run", "p.toml"]).says(2, &["line 3, column 8: the variable `:b` has not been set"]);
    assert!(!scene.path().join("etalon-results").exists(), "nothing was measured: no store, and no folder");
}

#[test]
fn zero_clients() {
    let scene = Scene::new();
    scene
        .write("p.toml", &sqlite_plan(("clients = 1", "clients = 0")))
        .etalon(&["plan", "p.toml"])
        .says(2, &["clients", "p.toml:7"]);
}

#[test]
fn an_unknown_key_anywhere() {
    let scene = Scene::new();
    scene
        .write("p.toml", &sqlite_plan(("rounds", "round")))
        .etalon(&["plan", "p.toml"])
        .says(2, &["round", "did you mean `rounds`?"]);
}

#[test]
fn a_dead_server() {
    let scene = Scene::new();
    scene
        .write("p.toml", &sqlite_plan(("sqlite:a.db", "postgres://bench:hunter2@127.0.0.1:1/bench")))
        .etalon(&["run", "p.toml"])
        .says(3, &["system `a`", "127.0.0.1:1", "p.toml:1", "hint:"]);
    for file in walk(scene.path()) {
        let bytes = std::fs::read(&file).unwrap();
        let secret = bytes.windows(7).any(|window| window == b"hunter2");
        assert_eq!(secret, file.ends_with("p.toml"), "the password is in {}", file.display());
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_database_file_of_someone_else() {
    let scene = Scene::new();
    scene.write("a.db", "precious");
    scene
        .write("p.toml", &sqlite_plan(("", "")))
        .etalon(&["run", "p.toml"])
        .says(3, &["étalon did not make it", "hint:"]);
    assert_eq!(std::fs::read_to_string(scene.path().join("a.db")).unwrap(), "precious");
}

#[test]
fn something_that_is_not_a_store() {
    let scene = Scene::new();
    scene.write("x.etalon", "not a store");
    for verb in ["resume", "compare", "report", "gate", "show"] {
        let ran = scene.etalon(&[verb, "x.etalon"]);
        assert!(ran.code == 2 || ran.code == 3, "{verb}: {} {}", ran.code, ran.stderr);
        assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("x.etalon"), "{verb}: {}", ran.stderr);
    }
}

#[test]
fn a_results_folder_that_cannot_be_made() {
    let scene = Scene::new();
    scene.write("file", "").write("p.toml", &sim_plan("", "", SHORT));
    scene.etalon(&["run", "p.toml", "-o", "file/results"]).says(3, &["cannot make the folder", "hint:"]);
}

/// A small file system in memory; unmounted when dropped.
pub struct SmallDisk(pub PathBuf);

impl SmallDisk {
    pub fn mount(folder: &Path, options: &str) -> Option<SmallDisk> {
        let path = folder.join("small");
        std::fs::create_dir(&path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&path).status();
        mounted.is_ok_and(|status| status.success()).then_some(SmallDisk(path))
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_under_the_database() {
    let scene = Scene::new();
    let Some(disk) = SmallDisk::mount(scene.path(), "size=4m") else {
        return eprintln!("skipped: mounting takes root");
    };
    let url = format!("sqlite:{}/a.db", disk.0.display());
    scene.write("p.toml", &sqlite_plan(("sqlite:a.db", &url))).etalon(&["run", "p.toml"]).says(3, &["full"]);
    assert_eq!(std::fs::read_dir(&disk.0).unwrap().count(), 0, "étalon left something on the full disk");
}

#[test]
fn what_no_run_can_do_is_said_once_and_not_tried_again() {
    let scene = Scene::new();
    let Some(disk) = SmallDisk::mount(scene.path(), "size=128m") else {
        return eprintln!("skipped: mounting takes root");
    };
    // tmpfs has no direct I/O.
    let plan = format!(
        "[systems.d]\nurl = \"disk:{}\"\n\n[[benchmarks]]\nworkload = \"disk\"\ndepth = [1, 2, 4]\nsize_mb = 4\n\n\
         [schedule]\nrounds = 6\nwarmup = \"0s\"\nduration = \"200ms\"\non_error = \"continue\"\n",
        disk.0.display()
    );
    let ran = scene.write("p.toml", &plan).etalon(&["run", "p.toml"]);
    ran.says(3, &["direct I/O", "failed alike", "hint:"]);
    assert_eq!(ran.stderr.matches("failed: cannot open").count(), 1, "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("failed: as before").count(), 2, "{}", ran.stderr);
    assert!(!ran.stderr.contains("round 2"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(&disk.0).unwrap().count(), 0, "étalon left something behind");
}

#[test]
fn a_full_disk_under_the_store_loses_no_finished_run() {
    let scene = Scene::new();
    let Some(disk) = SmallDisk::mount(scene.path(), "size=6m") else {
        return eprintln!("skipped: mounting takes root");
    };
    let results = disk.0.join("results");
    scene.write("p.toml", &sim_plan("", "", "rounds = 60\nwarmup = \"10ms\"\nduration = \"2s\""));
    let ran = scene.etalon(&["run", "p.toml", "-o", results.to_str().unwrap()]);
    ran.says(3, &["full", "etalon resume"]);
    let finished = ran.stderr.lines().filter(|line| line.starts_with("round ")).count();
    let store = std::fs::read_dir(&results)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "etalon"));
    let store = store.unwrap();
    let measured = || {
        store::Store::open_read_only(&store)
            .unwrap()
            .runs()
            .unwrap()
            .iter()
            .filter(|t| t.state == model::RunState::Measured)
            .count()
    };
    assert!(finished > 0 && measured() >= finished, "{finished} finished, {} kept", measured());
    disk.remount("size=64m");
    scene.etalon(&["resume", store.to_str().unwrap()]).says(0, &[]);
    assert_eq!(measured(), 240);
}

#[test]
fn a_read_only_results_folder() {
    let scene = Scene::new();
    let Some(disk) = SmallDisk::mount(scene.path(), "ro,size=1m") else {
        return eprintln!("skipped: mounting takes root");
    };
    scene.write("p.toml", &sim_plan("", "", SHORT));
    scene.etalon(&["run", "p.toml", "-o", disk.0.join("results").to_str().unwrap()]).says(3, &["cannot", "hint:"]);
    scene.etalon(&["run", "p.toml", "-o", disk.0.to_str().unwrap()]).says(3, &["error:"]);
}

#[cfg(not(feature = "sqlcipher"))]
#[test]
fn a_build_with_sqlite_says_how_to_have_sqlcipher() {
    let scene = Scene::new();
    let ran = scene.etalon(&["run", "quickstart", "--quick", "--system", "locked=sqlcipher:locked.db"]);
    ran.says(3, &["cannot open the database `sqlcipher:locked.db`", "cargo build --release --features sqlcipher"]);
    assert!(!scene.path().join("locked.db").exists());
}

/// Editors on Windows put a mark of the encoding before the first line of a text.
#[test]
fn a_byte_order_mark_is_no_part_of_any_text() {
    let scene = Scene::new();
    let smack = "client \"c\" { user \"u\"; query_barrel \"1 q\"; }\nquery \"q\" { query \"select 1\"; }\n\
                 main { c.init(); c.set_num_rounds($2); c.create_threads($1); c.connect(); c.unload_query_barrel();\n\
                 c.collect_threads(); c.disconnect(); }\n";
    let pgbench = "transaction type: <builtin: select only>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 4\n\
                   number of threads: 1\nnumber of transactions actually processed: 10/10\ntps = 100.0 (excluding connections \
                   establishing)\n";
    for (name, text) in [
        ("p.toml", sqlite_plan(("", ""))),
        ("plan", sqlite_plan(("", ""))),
        ("s.sql", "SELECT 1;\n".to_owned()),
        ("m.smack", smack.to_owned()),
        ("b.bat", "sqlio -kR -frandom -Fparam.txt\r\n".to_owned()),
        ("param.txt", "a.dat 2 0x0 16\r\n".to_owned()),
        ("a.txt", pgbench.to_owned()),
        ("b.csv", "system,metric,unit,value\na,throughput,tx/s,7\n".to_owned()),
        ("c.json", "{\"system\": \"c\", \"machine\": \"m\", \"load_time\": 1, \"result\": [[1, 2, 3]]}\n".to_owned()),
    ] {
        scene.write(name, &format!("\u{feff}{text}"));
    }
    for args in [
        &["plan", "p.toml"][..],
        &["plan", "plan"],
        &["plan", "s.sql", "--system", "sqlite:a.db"],
        &["plan", "m.smack", "1", "10", "--system", "sqlite:a.db"],
        &["plan", "b.bat"],
        &["import", "a.txt", "b.csv", "c.json", "-o", "i"],
    ] {
        let ran = scene.etalon(args);
        assert_eq!(ran.code, 0, "{args:?}: {}{}", ran.stdout, ran.stderr);
        assert!(!ran.stderr.contains("not understood"), "{args:?}: {}", ran.stderr);
    }
}
