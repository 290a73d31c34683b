//! What is kept of an experiment that cannot go on: its store, always; its password, never.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use model::RunState;
use store::Store;

use crate::bad_input::SmallDisk;
use crate::scene::{Scene, ran, sim_plan};
use crate::server::{ROLE, Server, programs};

const SHORT: &str = "rounds = 1\nwarmup = \"10ms\"\nduration = \"50ms\"";

fn of_state(store: &Path, state: RunState) -> usize {
    let store = Store::open_read_only(store).unwrap_or_else(|error| panic!("{error}"));
    store.runs().unwrap().iter().filter(|run| run.state == state).count()
}

/// Nobody answers at its system.
fn unreachable_plan() -> String {
    "[systems.a]\nurl = \"postgres://nobody@127.0.0.1:1/x?connect_timeout=1\"\n\n[[benchmarks]]\n\
     workload = \"transactions\"\nscript = \"select-only\"\n\n[schedule]\nrounds = 6\nduration = \"1s\"\n"
        .to_owned()
}

fn stores(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "etalon")).collect()
}

#[test]
fn resume_removes_no_store_though_nothing_is_measured_in_it() {
    let scene = Scene::new();
    scene.write("p.toml", &unreachable_plan());
    // An untouched store of the run itself is removed.
    let ran = scene.etalon(&["run", "p.toml"]);
    ran.says(3, &["no run had begun, so no store is kept", "hint:"]);
    assert!(!ran.stderr.contains("etalon resume"), "{}", ran.stderr);
    assert!(!scene.path().join("etalon-results").exists(), "nothing is kept in it");

    // The store of an étalon killed before its first run.
    let path = empty_store(&scene);
    for _ in 0..2 {
        let ran = scene.etalon(&["resume", path.to_str().unwrap()]);
        ran.says(3, &["6 runs pending", "what has been measured is kept; go on with `etalon resume"]);
        assert!(!ran.stderr.contains("no store is kept"), "{}", ran.stderr);
        assert_eq!(of_state(&path, RunState::Planned), 6);
    }
}

/// A store as left by an étalon killed before the first run.
fn empty_store(scene: &Scene) -> PathBuf {
    let registry = conductor::Registry::built_in();
    let path = scene.path().join("p.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let plan = model::Plan::parse(&text, "p.toml", &Default::default(), &registry.catalog(), 7).unwrap().0;
    let header = store::Header {
        etalon_version: fleet::protocol::VERSION.to_owned(),
        build: "debug".to_owned(),
        created_unix_ms: 0,
        plan: plan.redacted(),
        plan_text: text,
        plan_path: Some(path.display().to_string()),
        plan_hash: plan.hash(),
        command: "etalon run p.toml".to_owned(),
    };
    let store = scene.path().join("empty.etalon");
    Store::create(&store, &header, &plan.run_order()).unwrap().close().unwrap();
    store
}

#[test]
fn twelve_that_start_at_once_have_a_store_each() {
    let scene = Scene::new();
    scene.write("p.toml", &sim_plan("", "", SHORT));
    let children: Vec<_> = (0..12).map(|_| scene.start(&["run", "p.toml", "-o", "results"])).collect();
    for child in children {
        ran(child.wait_with_output().unwrap()).says(0, &[]);
    }
    let stores = stores(&scene.path().join("results"));
    assert_eq!(stores.len(), 12, "{stores:?}");
    assert!(stores.iter().all(|store| of_state(store, RunState::Measured) == 4));
}

#[test]
fn a_disk_that_is_full_before_the_first_run() {
    let mut removed = 0;
    for size in ["size=300k", "size=700k", "size=1200k", "size=2m", "size=3m"] {
        let scene = Scene::new();
        let Some(disk) = SmallDisk::mount(scene.path(), size) else {
            return eprintln!("skipped: mounting takes root");
        };
        let results = disk.0.join("results");
        let plan = sim_plan("", "", "rounds = 60\nwarmup = \"10ms\"\nduration = \"2s\"");
        let ran = scene.write("p.toml", &plan).etalon(&["run", "p.toml", "-o", results.to_str().unwrap()]);
        ran.says(3, &["full", "free some space"]);
        let (kept, is_kept) = (stores(&results), ran.stderr.contains("etalon resume"));
        assert_eq!(kept.len(), usize::from(is_kept), "{size}: {kept:?}\n{}", ran.stderr);
        removed += usize::from(ran.stderr.contains("so no store is kept"));
    }
    assert!(removed > 0, "no size was too small for the first run alone");
}

/// A server that requires a password.
fn locked(password: &str) -> Server {
    let server = Server::start(&[]);
    let sql = format!("ALTER ROLE {ROLE} PASSWORD '{password}'");
    let psql = |command: &mut Command| {
        command.args(["-U", ROLE, "-d", "postgres", "-c", &sql, "-h"]).arg(server.folder()).status().unwrap().success()
    };
    assert!(psql(&mut Command::new(programs().join("psql"))));
    std::fs::write(server.folder().join("data/pg_hba.conf"), "local all all scram-sha-256\n").unwrap();
    assert!(Command::new("kill").args(["-HUP", &server.pid().to_string()]).status().unwrap().success());
    // It reads the file with a delay.
    let until = Instant::now() + Duration::from_secs(10);
    while psql(Command::new(programs().join("psql")).arg("-w")) {
        assert!(Instant::now() < until, "the server still asks for no password");
        std::thread::sleep(Duration::from_millis(50));
    }
    server
}

/// Kills étalon once a run is measured.
fn kill_after_a_run(mut child: std::process::Child, store: impl Fn() -> Option<PathBuf>, so_many: usize) {
    let until = Instant::now() + Duration::from_secs(60);
    while store().is_none_or(|store| of_state(&store, RunState::Measured) < so_many) {
        if child.try_wait().unwrap().is_some() || Instant::now() > until {
            let ran = ran(child.wait_with_output().unwrap());
            panic!("no run was measured: {}{}", ran.stdout, ran.stderr);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_experiment_whose_command_held_a_password_goes_on_with_that_of_the_environment() {
    const PASSWORD: &str = "written-nowhere";
    let server = locked(PASSWORD);
    let scene = Scene::new();
    let plan = "[[benchmarks]]\nworkload = \"transactions\"\nscript = \"select-update\"\n\n[schedule]\nrounds = 6\n\
                warmup = \"10ms\"\nduration = \"300ms\"\n\n[systems.a]\nurl = \"sim:\"\n";
    scene.write("p.toml", plan);
    let system = format!("a=postgres://{ROLE}:{PASSWORD}@/postgres?host={}", server.folder().display());
    let results = scene.path().join("etalon-results");
    let found = || stores(&results).pop();
    kill_after_a_run(scene.start(&["run", "p.toml", "--system", &system]), found, 1);
    let path = scene.store();
    let store = path.to_str().unwrap();
    let command = Store::open_read_only(&path).unwrap().header().command.clone();
    assert!(command.contains(&format!("{ROLE}:***@")), "{command}");

    // Nobody has a password: that is said, and nothing is lost.
    let measured = of_state(&path, RunState::Measured);
    let alone = scene.etalon(&["resume", store]);
    alone.says(3, &["no store keeps a password", "PGPASSWORD", "~/.pgpass", "go on with `etalon resume"]);
    assert!(!alone.stderr.contains("password in the URL was refused"), "{}", alone.stderr);
    assert_eq!(of_state(&path, RunState::Measured), measured);

    let child = scene.command(&["resume", store]).env("PGPASSWORD", PASSWORD).stdout(piped()).stderr(piped()).spawn();
    kill_after_a_run(child.unwrap(), || Some(path.clone()), measured + 1);

    let passfile = scene.path().join(".pgpass");
    std::fs::write(&passfile, format!("*:*:*:{ROLE}:{PASSWORD}\n")).unwrap();
    assert!(Command::new("chmod").arg("0600").arg(&passfile).status().unwrap().success());
    let ended = scene.etalon(&["resume", store]);
    ended.says(0, &["no store keeps a password"]);
    assert_eq!(of_state(&path, RunState::Measured), 6);
    let bytes = std::fs::read(&path).unwrap();
    assert!(!bytes.windows(PASSWORD.len()).any(|window| window == PASSWORD.as_bytes()));
    for said in [&alone, &ended] {
        assert!(!said.stderr.contains(PASSWORD) && !said.stdout.contains(PASSWORD));
    }
}

fn piped() -> std::process::Stdio {
    std::process::Stdio::piped()
}

#[test]
fn a_secret_that_has_no_other_source_is_asked_for_by_name() {
    let scene = Scene::new();
    let settings = "settings = { app_secret = \"s3cr3t\" }\n\n[[benchmarks]]";
    scene.write("p.toml", &unreachable_plan().replace("[[benchmarks]]", settings));
    let store = empty_store(&scene);
    std::fs::remove_file(scene.path().join("p.toml")).unwrap();
    let resumed = scene.etalon(&["resume", store.to_str().unwrap()]);
    resumed.says(2, &["setting `app_secret` of system `a` held a secret", "put the plan's file back"]);
    assert!(store.exists());
}
