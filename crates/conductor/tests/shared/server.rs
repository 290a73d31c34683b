//! A private PostgreSQL server.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub const ROLE: &str = "tester";

/// A server on a Unix socket in a temporary folder.
pub struct Server {
    folder: tempfile::TempDir,
    process: Child,
    _alone: MutexGuard<'static, ()>,
}

/// Held while a server runs: simultaneous measurements would disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

pub fn programs() -> PathBuf {
    let newest_first = (13..=20).rev().map(|version| PathBuf::from(format!("/usr/lib/postgresql/{version}/bin")));
    let found = newest_first.chain([PathBuf::from("/usr/bin")]).find(|folder| folder.join("pgbench").exists());
    found
        .expect("this test needs PostgreSQL's server programs and pgbench: run `cargo xtask test`, which installs them")
}

/// PostgreSQL refuses to run as root, so root uses Debian's user.
pub fn as_server_user(program: &Path) -> Command {
    if !host::process::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

impl Server {
    /// Without waiting for the disk.
    pub fn start(settings: &[&str]) -> Server {
        // Another test may have failed while it held the lock.
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
        let usual = ["listen_addresses=", "fsync=off", "autovacuum=off", "unix_socket_permissions=0777"];
        for setting in usual.iter().chain(settings) {
            command.args(["-c", setting]);
        }
        let log = File::create(folder.path().join("log")).unwrap();
        let process = command.current_dir("/").stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let server = Server { folder, process, _alone: alone };
        let patience = Instant::now() + Duration::from_secs(30);
        while !server.is_ready() {
            assert!(Instant::now() < patience, "the server does not start: {}", server.log());
            std::thread::sleep(Duration::from_millis(100));
        }
        server
    }

    fn is_ready(&self) -> bool {
        let mut command = Command::new(programs().join("pg_isready"));
        command.arg("-q").arg("-h").arg(self.folder()).status().unwrap().success()
    }

    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.folder().join("log")).unwrap()).into_owned()
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

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
