//! `run` and `resume` killed at random moments, in a third of the cases with the server stopped: no finished run is
//! ever lost, and no store removed.
//!
//! Every run of the tests does a dozen; `ETALON_SLOW=1` a thousand, or as many as `ETALON_KILLS` says. `ETALON_SEED` draws
//! other moments.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use store::Store;

use crate::scene::{Scene, sqlite_plan};
use crate::server::{ROLE, Server, programs};
use crate::slow::is_slow;

/// Kills per experiment.
const KILLS_OF_ONE: usize = 12;

/// Four rounds of short runs on SQLite.
fn sqlite() -> String {
    sqlite_plan("rounds = 4\nwarmup = \"5ms\"\ntransactions = 10")
}

fn postgres(server: &Outages) -> String {
    let url = format!("postgres://{ROLE}@/postgres?host={}", server.folder().display());
    format!(
        "[systems.plain]\nurl = \"{url}\"\n[systems.late]\nurl = \"{url}\"\n\
         settings = {{ synchronous_commit = false }}\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-update\"\nclients = 2\n[schedule]\nrounds = 4\nwarmup = \"5ms\"\nduration = \"50ms\"\n"
    )
}

struct Moments(u64);

impl Moments {
    fn next(&mut self, most_ms: u64) -> Duration {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis((self.0 >> 33) % most_ms)
    }
}

pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|value| value.parse().unwrap_or_else(|error| panic!("{variable}: {error}")))
}

/// A server that is stopped and started again.
struct Outages {
    server: Server,
    again: Option<Child>,
    is_up: bool,
}

impl Outages {
    fn new() -> Outages {
        Outages { server: Server::start(&[]), again: None, is_up: true }
    }

    fn folder(&self) -> &Path {
        self.server.folder()
    }

    /// Crashes it: nothing is written back.
    fn stop(&mut self) {
        if !std::mem::take(&mut self.is_up) {
            return;
        }
        let pid = self.again.as_ref().map_or(self.server.pid(), Child::id);
        assert!(Command::new("kill").args(["-QUIT", &pid.to_string()]).status().unwrap().success());
        match self.again.take() {
            Some(mut child) => drop(child.wait().unwrap()),
            // The first is reaped on drop; its pid file goes last.
            None => wait_until(|| !self.folder().join("data/postmaster.pid").exists()),
        }
    }

    fn start(&mut self) {
        if std::mem::replace(&mut self.is_up, true) {
            return;
        }
        let mut command = Command::new(programs().join("postgres"));
        if host::process::is_root() {
            command = Command::new("setpriv");
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(programs().join("postgres"));
        }
        command.arg("-D").arg(self.folder().join("data")).arg("-k").arg(self.folder()).current_dir("/");
        for setting in ["listen_addresses=", "fsync=off", "autovacuum=off", "unix_socket_permissions=0777"] {
            command.args(["-c", setting]);
        }
        self.again = Some(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let is_ready = || {
            let mut command = Command::new(programs().join("pg_isready"));
            command.arg("-q").arg("-h").arg(self.server.folder()).status().unwrap().success()
        };
        wait_until(is_ready);
    }
}

impl Drop for Outages {
    fn drop(&mut self) {
        if let Some(mut child) = self.again.take() {
            let _ = Command::new("kill").args(["-QUIT", &child.id().to_string()]).status();
            let _ = child.wait();
        }
    }
}

fn wait_until(condition: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < until, "it takes too long");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Starts the command, runs `until`, kills it, and returns how many runs it reported.
fn killed(scene: &Scene, args: &[&str], until: impl FnOnce()) -> usize {
    let mut child = scene.start(args);
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let reader = thread::spawn(move || {
        stderr.lines().map_while(Result::ok).filter(|line| line.starts_with("round ") && line.contains("tx/s")).count()
    });
    until();
    // SIGKILL: no handler runs. It may have ended by itself where no server answers.
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap()
}

/// A finished run's position, begin, length, and number and sum of its figures.
type Left = (u32, i64, String, u32, String);

/// An experiment that is killed again and again.
struct Victim {
    scene: Scene,
    store: Option<PathBuf>,
    said: usize,
    /// By its id in the store.
    finished: BTreeMap<i64, Left>,
    /// Positions with a result.
    with_result: BTreeSet<u32>,
    kills: usize,
}

impl Victim {
    fn new(plan: &str) -> Victim {
        // A killed process leaves the same files synced or not, and syncing takes most of the time.
        let memory = Path::new("/dev/shm");
        let scene = if memory.is_dir() { Scene::at(memory) } else { Scene::new() };
        scene.write("p.toml", plan);
        let (finished, with_result) = (BTreeMap::new(), BTreeSet::new());
        Victim { scene, store: None, said: 0, finished, with_result, kills: 0 }
    }

    fn kill(&mut self, until: impl FnOnce()) {
        let store = self.store.as_ref().map(|store| store.display().to_string());
        let args: Vec<&str> = match &store {
            Some(store) => vec!["resume", store],
            None => vec!["run", "p.toml"],
        };
        self.said += killed(&self.scene, &args, until);
        self.kills += 1;
        if self.store.is_none() {
            let entries = std::fs::read_dir(self.scene.path().join("etalon-results")).into_iter().flatten();
            let mut paths = entries.map(|entry| entry.unwrap().path());
            self.store = paths.find(|path| path.extension().is_some_and(|extension| extension == "etalon"));
        }
        self.look();
    }

    fn look(&mut self) {
        let Some(path) = &self.store else {
            return assert_eq!(self.said, 0, "a run was announced before its store existed");
        };
        let store = Store::open_read_only(path).unwrap_or_else(|error| panic!("the store is lost: {error}"));
        store.check_integrity().unwrap();
        drop(store);
        let (finished, with_result) = read(path);
        for (id, left) in &self.finished {
            assert_eq!(finished.get(id), Some(left), "a finished run is lost or changed");
        }
        assert!(with_result.is_superset(&self.with_result), "a result counts no more, and no other in its place");
        assert!(finished.len() >= self.said, "{} runs were finished, {} are kept", self.said, finished.len());
        (self.finished, self.with_result) = (finished, with_result);
    }

    /// Returns the number of finished runs.
    fn complete(mut self, runs: usize) -> usize {
        let Some(path) = self.store.clone() else { return 0 };
        self.scene.etalon(&["resume", path.to_str().unwrap()]).says(0, &[]);
        self.look();
        assert_eq!(self.with_result.len(), runs);
        self.finished.len()
    }
}

fn read(store: &Path) -> (BTreeMap<i64, Left>, BTreeSet<u32>) {
    let conn = Connection::open_with_flags(store, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let sql = "SELECT t.id, t.position, t.started_unix_ms, t.elapsed_s, count(m.id), total(m.value), t.state
               FROM runs AS t LEFT JOIN measurements AS m ON m.run_id = t.id
               WHERE t.state IN ('measured', 'superseded') GROUP BY t.id";
    let mut query = conn.prepare(sql).unwrap();
    let (mut finished, mut with_result) = (BTreeMap::new(), BTreeSet::new());
    let mut rows = query.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let text = |index| row.get::<_, f64>(index).unwrap().to_string();
        let position: u32 = row.get(1).unwrap();
        let left = (position, row.get(2).unwrap(), text(3), row.get(4).unwrap(), text(5));
        assert!(left.3 > 0, "a finished run has no figures");
        finished.insert(row.get(0).unwrap(), left);
        if row.get::<_, String>(6).unwrap() == "measured" {
            with_result.insert(position);
        }
    }
    (finished, with_result)
}

#[test]
fn kills_lose_no_finished_run_and_remove_no_store() {
    let kills = number("ETALON_KILLS").unwrap_or(if is_slow() { 1000 } else { 12 }) as usize;
    let mut moments = Moments(number("ETALON_SEED").unwrap_or(20_261_121));
    let started = Instant::now();
    let mut server = Outages::new();
    let (mut on_sqlite, mut on_postgres) = (Victim::new(&sqlite()), Victim::new(&postgres(&server)));
    let (mut stopped, mut finished, mut experiments) = (0, 0, 0);
    for number in 0..kills {
        if number % 3 < 2 {
            let moment = moments.next(700);
            on_sqlite.kill(|| thread::sleep(moment));
        } else {
            // While it runs, and again before it starts.
            let (before, after) = (moments.next(900), moments.next(250));
            if number % 6 == 2 {
                server.start();
                on_postgres.kill(|| {
                    thread::sleep(before);
                    server.stop();
                    thread::sleep(after);
                });
            } else {
                on_postgres.kill(|| thread::sleep(after));
            }
            stopped += 1;
        }
        for (victim, runs) in [(&mut on_sqlite, 16), (&mut on_postgres, 8)] {
            if victim.kills >= KILLS_OF_ONE || number + 1 == kills {
                server.start();
                let plan = if runs == 16 { sqlite() } else { postgres(&server) };
                finished += std::mem::replace(victim, Victim::new(&plan)).complete(runs);
                experiments += 1;
            }
        }
    }
    println!(
        "{kills} kills, {stopped} of them with the server stopped, of {experiments} experiments, in {} s: \
         {finished} finished runs, 0 lost; 0 stores removed",
        started.elapsed().as_secs()
    );
}
