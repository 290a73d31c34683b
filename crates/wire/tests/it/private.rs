//! Server processes that never outlive the test process, however that ends.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Holds a server and its folder. The server runs below a shell that waits for the end of its standard input: when
/// this process ends, even by a signal, the shell stops the server by pid and removes the folder.
pub struct Private {
    pub folder: PathBuf,
    _shell: Child,
}

const WATCHER: &str = r#"
folder=$1 signal=$2; shift 2
trap '' INT TERM HUP
"$@" >"$folder/log" 2>&1 &
server=$!
while read -r _; do :; done
kill -$signal $server 2>/dev/null || true
( trap - TERM; sleep 5; kill -TERM $server; sleep 5; kill -KILL $server ) 2>/dev/null &
killer=$!
wait $server
kill $killer 2>/dev/null
rm -rf "$folder"
"#;

impl Private {
    pub fn start(folder: PathBuf, signal: &str, command: &[String]) -> Self {
        let shell = Command::new("sh")
            .args(["-c", WATCHER, "watcher"])
            .arg(&folder)
            .arg(signal)
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { folder, _shell: shell }
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    pub fn wait_until(&self, mut probe: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(60);
        while !probe() {
            assert!(Instant::now() < end, "the server did not start:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// The system user that runs a server, because servers refuse to run as root.
pub struct User {
    name: &'static str,
    must_switch: bool,
}

impl User {
    pub fn new(name: &'static str) -> Self {
        let id = Command::new("id").arg("-u").output().unwrap();
        Self { name, must_switch: id.stdout == b"0\n" }
    }

    /// `command` as this user, without a process in between.
    pub fn command(&self, command: &[&str]) -> Vec<String> {
        let switch: &[&str] = if self.must_switch {
            &["setpriv", "--reuid", self.name, "--regid", self.name, "--clear-groups"]
        } else {
            &[]
        };
        switch.iter().chain(command).map(ToString::to_string).collect()
    }

    /// Runs `command` as this user to its end.
    pub fn run(&self, command: &[&str]) {
        run(&self.command(command));
    }

    /// Gives a file or folder to this user.
    pub fn take_over(&self, path: &Path, mode: &str) {
        let path = path.display().to_string();
        run(&["chmod", mode, &path]);
        if self.must_switch {
            run(&["chown", &format!("{0}:{0}", self.name), &path]);
        }
    }

    /// A new folder that this user owns. The watcher removes it.
    pub fn folder(&self, prefix: &str) -> PathBuf {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in("/tmp").unwrap().keep();
        self.take_over(&folder, "755");
        folder
    }
}

fn run<S: AsRef<OsStr>>(words: &[S]) {
    let (program, arguments) = words.split_first().unwrap();
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8_lossy;
    assert!(
        output.status.success(),
        "{}: {}{}",
        program.as_ref().display(),
        text(&output.stdout),
        text(&output.stderr)
    );
}

pub fn programs(folders: &[&str], programs: &[&str], what: &str) -> PathBuf {
    let path = std::env::var("PATH").unwrap_or_default();
    let found = folders.iter().copied().chain(path.split(':')).map(Path::new);
    let mut found = found.filter(|folder| programs.iter().all(|program| folder.join(program).exists()));
    found.next().unwrap_or_else(|| panic!("{what} is not installed; run `cargo xtask test`")).to_path_buf()
}

/// A TCP port that was free a moment ago.
pub fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
