//! A NATS server of the test's own, agents in this process, and a conductor with a store.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use conductor::experiment::ExperimentOptions;
use conductor::{Conductor, ExperimentEnd, ExperimentError, Registry};
use fleet::{Agent, AgentOptions, Fleet, FleetOptions, Server};
use load::observer::Observer;
use model::{Measurement, Plan};
use store::Store;
use workloads::permits::NamedPermits;
use workloads::system::Consent;

pub struct Nats {
    child: Option<Child>,
    port: u16,
    folder: tempfile::TempDir,
    /// The registry of conductor and agents.
    pub registry: fn() -> Registry,
    /// Tests that measure run one after the other.
    _turn: Turn,
}

static TAKEN: AtomicBool = AtomicBool::new(false);

/// Owned by one test at a time, on whatever thread it ends.
struct Turn;

impl Turn {
    fn wait() -> Turn {
        while TAKEN.swap(true, std::sync::atomic::Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        TAKEN.store(false, std::sync::atomic::Ordering::SeqCst);
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Nats {
    /// `None`, with a message, where there is no `nats-server`.
    pub fn start() -> Option<Nats> {
        let turn = Turn::wait();
        let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let mut nats =
            Nats { child: None, port, folder: tempfile::tempdir().unwrap(), registry: Registry::built_in, _turn: turn };
        if nats.run().is_none() {
            eprintln!("skipped: there is no nats-server (Debian has it in the package `nats-server`)");
            return None;
        }
        Some(nats)
    }

    fn run(&mut self) -> Option<()> {
        let config = self.folder.path().join("nats.conf");
        let text = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{}\" }}\n",
            self.port,
            self.folder.path().join("jetstream").display()
        );
        std::fs::write(&config, text).unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let child = Command::new("nats-server")
            .arg("-c")
            .arg(&config)
            .env("PATH", format!("{path}:/usr/sbin:/usr/local/sbin"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.ok()?);
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(20), "nats-server does not start");
            thread::sleep(Duration::from_millis(20));
        }
        Some(())
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    pub fn restart(&mut self) {
        self.kill();
        self.run().unwrap();
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn server(&self) -> Server {
        Server { url: self.url(), ..Server::default() }
    }

    pub fn agent(&self, name: &str) -> Agent {
        self.agent_with(name, |options| options)
    }

    pub fn agent_with(&self, name: &str, change: impl FnOnce(AgentOptions) -> AgentOptions) -> Agent {
        let options = change(AgentOptions::new(self.server(), name, log));
        Agent::start(options, (self.registry)()).unwrap()
    }

    /// Plans may reach what `change` allows.
    pub fn agent_that_allows(&self, name: &str, change: impl FnOnce(&mut NamedPermits)) -> Agent {
        let mut allow = NamedPermits::default();
        change(&mut allow);
        self.agent_with(name, |options| AgentOptions { allow, ..options })
    }

    /// A plan whose fleet is here.
    pub fn plan(&self, text: &str) -> Plan {
        let fleet = format!("[fleet]\nnats = \"{}\"\npatience = \"3s\"\n", self.url());
        parse_with(&(self.registry)(), &format!("{fleet}{text}"))
    }

    pub fn fleet(&self, plan: &Plan, experiment: &str) -> Result<Fleet, load::error::Failure> {
        self.fleet_until(plan, experiment, &Arc::new(AtomicBool::new(false)))
    }

    /// [`Nats::fleet`] with an interrupt.
    pub fn fleet_until(
        &self,
        plan: &Plan,
        experiment: &str,
        interrupt: &Arc<AtomicBool>,
    ) -> Result<Fleet, load::error::Failure> {
        let options = FleetOptions {
            notices: workloads::system::Notices::default(),
            server: self.server(),
            experiment: experiment.to_owned(),
            patience: plan.fleet.as_ref().unwrap().patience,
            lease: Some(Duration::from_millis(1_500)),
            interrupt: Arc::clone(interrupt),
        };
        Fleet::connect(plan, options, (self.registry)())
    }

    pub fn conduct(
        &self,
        plan: &Plan,
        store: &mut Store,
        observer: &mut dyn Observer,
    ) -> Result<ExperimentEnd, ExperimentError> {
        let fleet = self.fleet(plan, "test").map_err(ExperimentError::Fleet)?;
        let patience = plan.fleet.as_ref().unwrap().patience;
        let options = ExperimentOptions { places: Some(Arc::new(fleet)), patience, ..options() };
        Conductor::new(&(self.registry)(), plan, store, options).run_all(observer)
    }
}

fn log(text: &str) {
    eprintln!("agent: {text}");
}

pub fn options() -> ExperimentOptions {
    ExperimentOptions::new(Consent::OwnOnly, Arc::new(AtomicBool::new(false)))
}

pub fn parse(text: &str) -> Plan {
    parse_with(&Registry::built_in(), text)
}

fn parse_with(registry: &Registry, text: &str) -> Plan {
    Plan::parse(text, "test.toml", &model::plan::Changes::default(), &registry.catalog(), 1)
        .unwrap_or_else(|errors| panic!("{errors}"))
        .0
}

pub fn measured(store: &Store) -> Vec<(u32, Measurement)> {
    store.measurements().unwrap().into_iter().map(|row| (row.case, row.measurement)).collect()
}

pub fn values(store: &Store, metric: &str) -> Vec<f64> {
    measured(store)
        .into_iter()
        .filter(|(_, one)| one.metric.id == metric)
        .filter_map(|(_, one)| one.reading.value())
        .collect()
}
