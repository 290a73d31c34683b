//! A private PostgreSQL server, and whole experiments on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use engine::conductor::Options;
use engine::{Conductor, Consent, Ended, Registry, Silent};
use model::plan::Changes;
use model::{Plan, Reading};
use postgres::{Client, NoTls};
use store::{Header, Store};

/// The role of the tests, a superuser.
pub const ROLE: &str = "tester";

/// Whether the tests that take minutes are asked for.
pub fn is_slow() -> bool {
    std::env::var("ETALON_SLOW").is_ok_and(|value| value == "1")
}

/// A server on a Unix socket in a folder that goes with it.
pub struct Server {
    folder: tempfile::TempDir,
    process: Child,
    _alone: MutexGuard<'static, ()>,
}

/// Held while a server runs: two measurements at a time would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

/// The folder of PostgreSQL's own programs.
pub fn programs() -> PathBuf {
    let newest_first = (13..=20).rev().map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let found = newest_first.chain([PathBuf::from("/usr/bin")]).find(|folder| folder.join("pgbench").exists());
    found
        .expect("this test needs PostgreSQL's server programs and pgbench: run `cargo xtask test`, which installs them")
}

/// PostgreSQL refuses to run as root; Debian's user is then the one to be.
fn as_server_user(program: &Path) -> Command {
    if !host::process::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

impl Server {
    /// Makes and starts one. Nothing waits for the disk.
    pub fn start() -> Server {
        // Whether another test failed while it held the lock is not this one's concern.
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::Builder::new().prefix("etalon-private-").tempdir().unwrap();
        if host::process::is_root() {
            host::process::chown(folder.path(), &host::process::user_by_name("postgres").unwrap()).unwrap();
        }
        let data = folder.path().join("data");
        let made = as_server_user(&programs().join("initdb"))
            .args(["--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C", "--username", ROLE, "-D"])
            .arg(&data)
            .current_dir("/")
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut command = as_server_user(&programs().join("postgres"));
        command.arg("-D").arg(&data).arg("-k").arg(folder.path());
        for setting in ["listen_addresses=", "fsync=off", "autovacuum=off", "unix_socket_permissions=0777"] {
            command.args(["-c", setting]);
        }
        let process = command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let server = Server { folder, process, _alone: alone };
        let patience = Instant::now() + Duration::from_secs(30);
        while server.try_client().is_err() {
            assert!(Instant::now() < patience, "the server does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    fn try_client(&self) -> Result<Client, postgres::Error> {
        Client::connect(&format!("host={} user={ROLE} dbname=postgres", self.folder().display()), NoTls)
    }

    /// The folder of its socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder().join(".s.PGSQL.5432")
    }

    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = self.pid().to_string();
        let _ = Command::new("kill").args(["-INT", &pid]).status();
        let _ = self.process.wait();
    }
}

/// What an experiment with a single cell showed.
pub struct Outcome {
    store: Store,
    _folder: tempfile::TempDir,
}

/// Runs a plan whose trials must all be measured.
pub fn conduct(text: &str) -> Outcome {
    let (ended, outcome) = attempt(text);
    assert_eq!(ended, Ended::Complete { failed: 0 });
    outcome
}

/// Runs a plan, and says how it ended.
pub fn attempt(text: &str) -> (Ended, Outcome) {
    attempt_changed(text, &Changes::default())
}

/// The same of a plan that the command line changes.
pub fn attempt_changed(text: &str, changes: &Changes) -> (Ended, Outcome) {
    let registry = Registry::built_in();
    let plan = Plan::parse(text, "test.toml", changes, &registry.catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let header = Header {
        etalon_version: "test".to_owned(),
        build: "debug".to_owned(),
        created_unix_ms: 0,
        plan: plan.redacted(),
        plan_text: String::new(),
        plan_path: None,
        plan_hash: plan.hash(),
        command: "test".to_owned(),
    };
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::create(&folder.path().join("x.etalon"), &header, &plan.order()).unwrap();
    let options = Options::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)));
    let ended = Conductor::new(&registry, &plan, &mut store, options).run(&mut Silent);
    let ended = ended.unwrap_or_else(|error| panic!("{error}"));
    (ended, Outcome { store, _folder: folder })
}

impl Outcome {
    /// The first trial's value of a metric.
    pub fn value(&self, metric: &str) -> f64 {
        let all = self.store.measurements().unwrap();
        let found = all.iter().find(|row| row.measurement.metric.id == metric);
        match found.map(|row| &row.measurement.reading) {
            Some(Reading::Value(value)) => *value,
            other => panic!("{metric}: {other:?}"),
        }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Text into a file of the experiment's folder.
    pub fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}
