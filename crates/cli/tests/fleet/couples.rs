//! Couples of clients and a server, on a network where cables are cut and processes are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use model::RunState;
use store::{Store, StoredRun};

use crate::namespaces::Lan;
use crate::nats::{Nats, Place, Security};
use crate::scene::Scene;

/// How long something may take that must come.
const PATIENCE: Duration = Duration::from_secs(120);
/// An agent's lease, and a little more.
const LEASE: Duration = Duration::from_secs(7);
const LOOK: Duration = Duration::from_millis(50);
/// More segments than this during a check mean load: an agent's messages to nats-server are a few.
const SEGMENTS_OF_A_LOAD: u64 = 200;
/// Of a slow client's link.
const SLOW_MBIT_PER_S: u32 = 1;
/// Rounds × (two couples, and both clients together).
const RUNS: usize = 6 * 3;

/// The one built with this test, unless `ETALON_BIN` names another.
fn program() -> PathBuf {
    std::env::var_os("ETALON_BIN").map_or_else(|| env!("CARGO_BIN_EXE_etalon").into(), PathBuf::from)
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Play {
    // Dropped in this order: agents, the server, the network.
    agents: BTreeMap<&'static str, Running>,
    nats: Nats,
    lan: Lan,
    scene: Scene,
}

impl Play {
    /// Two clients, a server, nats-server and the conductor on hosts of their own; or `None` with a message.
    fn begin() -> Option<Play> {
        let lan = Lan::or_skip(&["nats", "conductor", "client-1", "client-2", "server"])?;
        let nats = Nats::start(Security::Keys, Place::In(lan.host("nats")));
        let mut play = Play { agents: BTreeMap::new(), nats, lan, scene: Scene::new() };
        for agent in ["client-1", "client-2", "server"] {
            play.start_agent(agent);
        }
        Some(play)
    }

    /// The command on a host, not yet started.
    fn etalon(&self, host: &str) -> Command {
        let mut command = self.lan.host(host).command(program());
        command.current_dir(self.scene.path()).env("NO_COLOR", "1").env("HOME", self.scene.path());
        command
    }

    fn log(&self, name: &str) -> PathBuf {
        self.scene.path().join(format!("{name}.log"))
    }

    fn said(&self, name: &str) -> String {
        fs::read_to_string(self.log(name)).unwrap_or_default()
    }

    fn start(&self, host: &str, args: &[&str]) -> Running {
        let log = File::options().create(true).append(true).open(self.log(host)).unwrap();
        let mut command = self.etalon(host);
        command.args(args).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Running(command.spawn().unwrap())
    }

    fn start_agent(&mut self, name: &'static str) {
        let server = self.lan.host("server").address.to_string();
        let (url, creds, ca) = (self.nats.url(), self.nats.creds(name), self.nats.authority());
        let (creds, ca) = (creds.to_str().unwrap(), ca.to_str().unwrap());
        let mut args = vec!["agent", "--nats", &url, "--name", name, "--creds", creds, "--ca", ca];
        // The server's own agent starts it and tells where it is; the clients' may reach that and nothing else.
        match name {
            "server" => args.extend(["--allow-server", "postgres", "--listen", &server]),
            _ => args.extend(["--allow", &server]),
        }
        let before = self.said(name).matches(" serves").count();
        let mut agent = self.start(name, &args);
        let deadline = Instant::now() + PATIENCE;
        while self.said(name).matches(" serves").count() == before {
            let ended = agent.0.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{name}: {}", self.said(name));
            sleep(LOOK);
        }
        self.agents.insert(name, agent);
    }

    fn kill_agent(&mut self, name: &str) {
        drop(self.agents.remove(name).unwrap());
    }

    fn plan(&self) -> String {
        let (creds, ca) = (self.nats.creds("conductor"), self.nats.authority());
        format!(
            "name = \"couples\"\n\n[fleet]\nnats = \"{}\"\nagents = [\"client-1\", \"client-2\"]\ncreds = \"{}\"\n\
             ca = \"{}\"\npatience = \"20s\"\n\n[systems.postgres]\nserver = {{ engine = \"postgres\", connect = \"tcp\" \
             }}\nhost = \"server\"\nsettings = {{ fsync = \"off\" }}\n\n[[benchmarks]]\nname = \"couples\"\n\
             workload = \"super-smack\"\nscript = \"select-key\"\nclients = 2\nclients_on = \"all\"\n\
             couples = \"all\"\n\n[[benchmarks]]\nname = \"together\"\nworkload = \"super-smack\"\n\
             script = \"select-key\"\nclients = 4\nclients_on = \"all\"\n\n[schedule]\nrounds = 6\nwarmup = \"0s\"\n\
             duration = \"2s\"\nseed = 3\n",
            self.nats.url(),
            creds.display(),
            ca.display()
        )
    }

    fn store(&self) -> Option<PathBuf> {
        let mut entries = fs::read_dir(self.scene.path().join("etalon-results")).ok()?.flatten();
        entries.find_map(|entry| {
            let path = entry.path();
            path.extension().is_some_and(|extension| extension == "etalon").then_some(path)
        })
    }

    fn measured(&self) -> usize {
        self.store().map_or(0, |store| runs(&store).iter().filter(|state| **state == RunState::Measured).count())
    }

    /// Waits for `more` measured runs.
    fn await_more(&self, more: usize, conductor: &mut Running) {
        let wanted = self.measured() + more;
        let deadline = Instant::now() + PATIENCE;
        while self.measured() < wanted {
            let ended = conductor.0.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{}", self.everything_said());
            sleep(LOOK);
        }
    }

    /// TCP segments sent by a host, as its kernel counts.
    fn segments_sent(&self, name: &str) -> u64 {
        let of =
            |line: &str| line.strip_prefix("Tcp:").map(|rest| rest.split_whitespace().map(str::to_owned).collect());
        let text = fs::read_to_string(format!("/proc/{}/net/snmp", self.agents[name].0.id())).unwrap();
        let lines: Vec<Vec<String>> = text.lines().filter_map(of).collect();
        let place = lines[0].iter().position(|column| column == "OutSegs").unwrap();
        lines[1][place].parse().unwrap()
    }

    /// Waits until one of these clients makes load, and returns which.
    fn await_load(&self, names: &[&'static str], conductor: &mut Running) -> &'static str {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let before: Vec<u64> = names.iter().map(|name| self.segments_sent(name)).collect();
            sleep(LOOK);
            let mut sent = names.iter().zip(before).map(|(name, before)| (*name, self.segments_sent(name) - before));
            if let Some((name, _)) = sent.find(|(_, sent)| *sent > SEGMENTS_OF_A_LOAD) {
                return name;
            }
            let ended = conductor.0.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < deadline, "{}", self.everything_said());
        }
    }

    fn everything_said(&self) -> String {
        let names = ["conductor", "client-1", "client-2", "server"];
        names.map(|name| format!("--- {name}\n{}\n", self.said(name))).concat()
    }
}

#[track_caller]
fn wait_until(is_so: impl Fn() -> bool, explain: impl Fn() -> String) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "it does not come about\n{}", explain());
        sleep(LOOK);
    }
}

fn runs(store: &Path) -> Vec<RunState> {
    let runs = Store::open_read_only(store).and_then(|store| store.runs());
    runs.map(|runs| runs.iter().map(|run| run.state).collect()).unwrap_or_default()
}

#[test]
fn couples_survive_a_cut_cable_a_killed_agent_and_a_killed_conductor() {
    let Some(mut play) = Play::begin() else { return };
    play.scene.write("couples.toml", &play.plan());
    let mut conductor = play.start("conductor", &["run", "couples.toml"]);
    play.await_more(2, &mut conductor);

    play.await_load(&["client-1"], &mut conductor);
    play.lan.cut("client-1");
    sleep(LEASE);
    play.lan.mend("client-1");
    play.await_more(2, &mut conductor);

    // A slow link costs time, but no run.
    match play.lan.throttle("client-2", SLOW_MBIT_PER_S) {
        Ok(()) => {
            play.await_more(2, &mut conductor);
            play.lan.free("client-2");
        }
        Err(reason) => println!("skipped: a slow link: {reason}"),
    }

    play.await_load(&["client-2"], &mut conductor);
    play.kill_agent("client-2");
    sleep(Duration::from_secs(1));
    play.start_agent("client-2");
    play.await_more(2, &mut conductor);

    play.await_load(&["client-1", "client-2"], &mut conductor);
    drop(conductor);
    let kept = play.measured();
    assert!((6..RUNS).contains(&kept), "{kept} of {RUNS}\n{}", play.everything_said());
    wait_until(|| play.said("server").contains("conductor was not heard of"), || play.everything_said());

    let store = play.store().unwrap();
    let store = store.to_str().unwrap();
    let resumed = play.etalon("conductor").args(["resume", store]).output().unwrap();
    let said = String::from_utf8_lossy(&resumed.stderr);
    assert_eq!(resumed.status.code(), Some(0), "{said}\n{}", play.everything_said());
    assert!(play.measured() >= kept);
    the_store_is_complete(Path::new(store));
    the_report_shows_each_host(&play, store);
}

fn the_store_is_complete(path: &Path) {
    let store = Store::open_read_only(path).unwrap();
    store.check_integrity().unwrap();
    let runs = store.runs().unwrap();
    assert_eq!(runs.iter().filter(|run| run.state == RunState::Measured).count(), RUNS);
    let open = runs.iter().filter(|run| matches!(run.state, RunState::Planned | RunState::Running));
    assert_eq!(open.count(), 0);
    let rows = rusqlite::Connection::open(path).unwrap();
    let list = |sql: &str| -> Vec<(String, String)> {
        let mut statement = rows.prepare(sql).unwrap();
        let found = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        found.map(Result::unwrap).collect()
    };
    each_fault_is_told_and_its_run_repeated(&runs);
    // In every run the plan's clients made the load.
    let hosts = list(
        "SELECT DISTINCT t.id || ' ' || c.point_json, s.host FROM runs t JOIN cases c ON c.id = t.case_id \
         JOIN series s ON s.run_id = t.id WHERE t.state = 'measured'",
    );
    let mut of_run: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (run, host) in &hosts {
        of_run.entry(run).or_default().insert(host);
    }
    assert_eq!(of_run.len(), RUNS);
    for (run, hosts) in of_run {
        let named = ["client-1", "client-2"].into_iter().filter(|name| run.contains(name));
        let named: BTreeSet<&str> = named.collect();
        assert!(hosts.is_superset(&named) && !named.is_empty(), "{run}: {hosts:?}");
        assert!(named.len() == 2 || !hosts.iter().any(|host| host.starts_with("client-") && !named.contains(host)));
    }
}

/// Every fault hit a running load: its run is kept with the reason, and repeated.
fn each_fault_is_told_and_its_run_repeated(runs: &[StoredRun]) {
    let lost: Vec<&StoredRun> =
        runs.iter().filter(|run| matches!(run.state, RunState::Failed | RunState::Aborted)).collect();
    let told: Vec<(RunState, &str)> =
        lost.iter().map(|run| (run.state, run.reason.as_deref().unwrap_or_default())).collect();
    println!("lost: {told:?}");
    for name in ["client-1", "client-2"] {
        let of_it = told.iter().find(|(state, reason)| *state == RunState::Failed && reason.contains(name));
        assert!(of_it.is_some(), "no run failed by {name}: {told:?}");
    }
    assert!(told.iter().any(|(state, _)| *state == RunState::Aborted), "the conductor was killed in a run: {told:?}");
    for (state, reason) in &told {
        let is_named = reason.contains("client-1") || reason.contains("client-2");
        assert!(!reason.is_empty() && (is_named || *state == RunState::Aborted), "{reason}");
    }
    for run in lost {
        let again = |other: &StoredRun| other.planned == run.planned && other.attempt > run.attempt;
        let measured = runs.iter().find(|other| other.state == RunState::Measured && again(other));
        assert!(measured.is_some(), "{run:?} was not repeated");
    }
}

fn the_report_shows_each_host(play: &Play, store: &str) {
    let mut said = String::new();
    for args in [vec!["compare", store], vec!["report", store, "-o", "report.html"]] {
        let output = play.etalon("conductor").args(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        said.push_str(&String::from_utf8_lossy(&output.stdout));
    }
    let html = fs::read_to_string(play.scene.path().join("report.html")).unwrap();
    for host in ["client-1", "client-2", "server"] {
        assert!(html.contains(host), "the report does not show {host}");
    }
    // Both clients have their own figures in both benchmarks.
    let hosts = &html[html.find("id=\"hosts\"").unwrap_or_else(|| panic!("no client hosts"))..];
    let hosts = &hosts[..hosts.find("</section>").unwrap()];
    for host in ["client-1", "client-2"] {
        assert_eq!(hosts.matches(&format!("<bdi>{host}</bdi>")).count(), 2, "{hosts}");
        assert_eq!(said.lines().filter(|line| line.starts_with(host) && line.contains(" %")).count(), 2, "{said}");
    }
}
