//! The conductor's fleet: the agents that a plan names.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use conductor::Registry;
use conductor::site::{Places, Site, SiteJob};
use load::error::{Failure, FailureKind};
use load::generator::LoadGenerator;
use load::observer::Observer;
use load::worker::TaskLog;
use model::{Case, Facts, Mark, MarkKind, Plan, Promise, RunRecord};
use workloads::system::{Notices, OpenRequest, Part};
use workloads::texts::Texts;
use workloads::workload::{Action, Grants};

use crate::bus::{Bus, BusError, INBOX, Server};
use crate::clock::Clock;
use crate::generator::{FleetGenerator, for_each_member};
use crate::inbox::Inbox;
use crate::link::Link;
use crate::protocol::{
    AgentInfo, Answer, Ask, Outcome, Recorded, SentCase, is_fit_name, pids_on_this_machine, subject_prefix,
};
use crate::remote::{Remote, unexpected_answer};
use crate::texts::{TextCache, TextId};

/// An agent stops after this silence of its conductor.
const LEASE: Duration = Duration::from_secs(5);
/// Renewals per lease.
const RENEWALS: u32 = 5;
/// Time for agents to announce themselves.
const DISCOVERY: Duration = Duration::from_secs(1);
/// Time for agents of one name to announce themselves.
const NAMESAKES: Duration = Duration::from_millis(300);
/// How often two of one name must be seen.
const NAMESAKE_LOOKS: u32 = 4;
/// How long an agent may take to answer what it is.
const INFO_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub struct FleetOptions {
    pub server: Server,
    /// Stable over resumes, and unique.
    pub experiment: String,
    /// How long an agent may be silent: `patience` in the plan.
    pub patience: Duration,
    /// Default: 5 s.
    pub lease: Option<Duration>,
    /// Set by the user's Ctrl-C.
    pub interrupt: Arc<AtomicBool>,
    /// Hears what a silent system of an agent's waits for.
    pub notices: Notices,
}

pub struct Fleet {
    shared: Arc<Shared>,
    clients: Vec<String>,
    /// Agents on whose hosts systems are, by system.
    hosts: BTreeMap<String, String>,
    /// Agents that make load, by system.
    loads: BTreeMap<String, BTreeSet<String>>,
    renewing: Option<thread::JoinHandle<()>>,
    /// Agents on the conductor's own machine.
    co_located: Vec<u32>,
}

pub(crate) struct Shared {
    pub(crate) link: Link,
    pub(crate) inbox: Inbox,
    registry: Registry,
    agents: BTreeSet<String>,
    ended: AtomicBool,
    /// Cases with their texts, since each is sent many times.
    sent: Mutex<Vec<SentCase>>,
    texts: TextCache,
}

/// Whether two cases differ in the rate or the clients of their load at most, as the short runs of a search do.
fn differs_in_load_alone(one: &Case, other: &Case) -> bool {
    const LOAD: [&str; 3] = ["rate", "arrivals", Promise::MAX_CLIENTS];
    let [one, other] = [one, other].map(|case| {
        let mut point = case.point.clone();
        point.retain(|key, _| !LOAD.contains(&key.as_str()));
        Case { point, ..case.clone() }
    });
    one == other
}

impl Shared {
    /// Makes a case to send, with the texts of the files that compiling it reads; they are read once.
    pub(crate) fn make_sent_case(&self, case: &Case) -> Result<SentCase, Failure> {
        let mut known = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sent) = known.iter().find(|sent| differs_in_load_alone(&sent.case, case)) {
            return Ok(SentCase { case: case.clone(), texts: sent.texts.clone() });
        }
        let texts = Texts::noting();
        let grants = Grants { texts: texts.clone(), ..Grants::default() };
        self.registry.workload(&case.workload)?.make_task(&case.point, &grants)?;
        let sent = SentCase { case: case.clone(), texts: self.texts.keep_texts(texts.noted_texts()) };
        known.push(sent.clone());
        Ok(sent)
    }

    /// Fetches the ended tasks of an interrupted load; none if they are not to be had soon.
    pub(crate) fn fetch_interrupted_tasks(&self, agent: &str, job: u64, count: u32) -> Vec<TaskLog> {
        if count == 0 {
            return Vec::new();
        }
        match self.inbox.wait_for_result(agent, job, count, self.link.lease) {
            Ok(Outcome::Cut(tasks)) => tasks,
            Ok(Outcome::HostLoad(share)) => share.counts.tasks,
            Ok(Outcome::Record(_)) | Err(_) => Vec::new(),
        }
    }

    /// Sends an agent the case's texts that it does not have.
    pub(crate) fn send_missing(&self, agent: &str, case: &SentCase) -> Result<(), Failure> {
        let of: Vec<TextId> = case.texts.values().cloned().collect();
        if of.is_empty() {
            return Ok(());
        }
        let missing = match self.link.call(agent, &Ask::MissingTexts { of })? {
            Answer::MissingTexts(missing) => missing,
            other => return Err(unexpected_answer(agent, &other)),
        };
        for text in missing {
            for piece in self.texts.pack_text(&text, self.link.bus.largest_message())? {
                self.link.call(agent, &Ask::Text(piece))?;
            }
        }
        Ok(())
    }
}

/// Makes the failure of something that was tried on the bus.
fn bus_failure(tried: &str, error: BusError) -> Failure {
    let kind = match error {
        BusError::Connect { .. } => FailureKind::Unreachable,
        _ => FailureKind::Other,
    };
    Failure::new(kind, tried, error)
        .with_hint("`nats` in the plan's `[fleet]` is the server's URL; docs/fleet.md tells how it is set up")
}

/// Lists the agents that make a case's load; none where it is made at the system itself.
fn load_agents(case: &Case) -> Vec<String> {
    let named = case.point.get(model::CLIENTS_ON).and_then(model::Value::as_text).unwrap_or_default();
    named.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Lists the agents that make load, by the system that is opened.
fn load_agents_by_system(plan: &Plan) -> BTreeMap<String, BTreeSet<String>> {
    let mut loads: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in plan.cases() {
        let original = plan.system(&case.system).and_then(|system| system.alias_of.clone());
        loads.entry(original.unwrap_or(case.system.clone())).or_default().extend(load_agents(&case));
    }
    loads
}

impl Fleet {
    /// Connects to the NATS server, and checks that every agent of the plan is there with this version.
    pub fn connect(plan: &Plan, options: FleetOptions, registry: Registry) -> Result<Fleet, Failure> {
        let bus = Bus::connect(&options.server, "etalon conductor", INBOX)
            .map_err(|error| bus_failure("reach the fleet", error))?;
        let bus = Arc::new(bus);
        let session = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let inbox = Inbox::open(&bus, &options.experiment, &session)
            .map_err(|error| bus_failure("receive the fleet's results", error))?;
        let clients: BTreeSet<String> = plan.cases().iter().flat_map(load_agents).collect();
        let hosts = plan.fleet.as_ref().map(|fleet| fleet.hosts.clone()).unwrap_or_default();
        let agents: BTreeSet<String> = clients.iter().chain(hosts.values()).cloned().collect();
        let link = Link {
            bus,
            session,
            experiment: options.experiment,
            lease: options.lease.unwrap_or(LEASE),
            patience: options.patience,
            interrupt: options.interrupt,
            notices: options.notices,
            jobs: AtomicU64::new(1),
        };
        let (ended, sent, texts) = (AtomicBool::new(false), Mutex::default(), TextCache::default());
        let shared = Arc::new(Shared { link, inbox, registry, agents, ended, sent, texts });
        // Read all texts now, so that every run has the same. The conductor reports errors.
        for case in plan.cases() {
            let _ = shared.make_sent_case(&case);
        }
        let renewed = Arc::clone(&shared);
        let renewing = thread::spawn(move || renew_leases(&renewed));
        let clients = clients.into_iter().collect();
        let (renewing, co_located) = (Some(renewing), Vec::new());
        let mut fleet = Fleet { shared, clients, hosts, loads: load_agents_by_system(plan), renewing, co_located };
        fleet.greet_agents()?;
        fleet.refuse_namesakes()?;
        fleet.co_located = fleet.introduce_co_located()?;
        // No agent works for an earlier run any more: its measurements are in the stream or lost.
        fleet.shared.inbox.collect_left().map_err(|error| bus_failure("look for results of an earlier run", error))?;
        Ok(fleet)
    }

    /// Ends the renewals of leases silently, like a killed conductor. For tests.
    pub fn fall_silent(&self) {
        self.shared.ended.store(true, Ordering::Relaxed);
    }

    /// Fails unless every agent of the plan is there and speaks this version.
    fn greet_agents(&self) -> Result<(), Failure> {
        let link = &self.shared.link;
        let agents: Vec<&String> = self.shared.agents.iter().collect();
        for_each_member(&agents, |_, agent| link.call(agent, &Ask::Renew { of: None })).map(|_| ())
    }

    /// Fails if two agents have one name: NATS would give each request to either, and measure two machines as one.
    fn refuse_namesakes(&self) -> Result<(), Failure> {
        let agents = &self.shared.agents;
        let mut twice = BTreeSet::new();
        // One that was started again may for a moment be there twice.
        for _ in 0..NAMESAKE_LOOKS {
            let found = self
                .shared
                .link
                .bus
                .discover_instances(NAMESAKES)
                .map_err(|error| bus_failure("look for the agents", error))?;
            let names: Vec<&String> = found.iter().filter_map(|metadata| metadata.get("agent")).collect();
            let is_twice = |name: &&String| names.iter().filter(|other| *other == name).count() > 1;
            twice = agents.iter().filter(is_twice).cloned().collect();
            if twice.is_empty() {
                return Ok(());
            }
        }
        let names: Vec<String> = twice.iter().map(|name| format!("`{name}`")).collect();
        let cause = format!("more than one agent there is called {}", names.join(" and "));
        Err(Failure::new(FailureKind::NotOurs, "work with the agents", cause)
            .with_hint("end one of them, or start it by another `--name`"))
    }

    /// Names to all agents the processes that take part, and returns those on this machine.
    /// So no one takes the load of an étalon on the same machine for a stranger's.
    fn introduce_co_located(&self) -> Result<Vec<u32>, Failure> {
        let link = &self.shared.link;
        let agents: Vec<&String> = self.shared.agents.iter().collect();
        let mut all = for_each_member(&agents, |_, agent| match link.call(agent, &Ask::Process)? {
            Answer::Process(machine, pid) => Ok((machine, pid)),
            other => Err(unexpected_answer(agent, &other)),
        })?;
        all.push(host::identity::machine_and_process());
        for_each_member(&agents, |_, agent| link.call(agent, &Ask::CoLocated { all: all.clone() }))?;
        Ok(pids_on_this_machine(&all))
    }
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(renewing) = self.renewing.take() {
            renewing.thread().unpark();
            // It ends once woken.
            let _ = renewing.join();
        }
        self.shared.inbox.acknowledge_all();
        // An agent that misses it ends the session by its lease.
        self.shared.agents.iter().for_each(|agent| self.shared.link.leave(agent));
        self.shared.link.bus.flush();
    }
}

/// Renews the agents' leases until the fleet ends.
fn renew_leases(shared: &Shared) {
    while !shared.ended.load(Ordering::Relaxed) {
        shared.agents.iter().for_each(|agent| shared.link.renew_lease(agent));
        thread::park_timeout(shared.link.lease / RENEWALS);
    }
}

impl Places for Fleet {
    /// Has the agent on a system's host open it; `None` if the plan names no host for it.
    fn site_of(&self, request: &OpenRequest<'_>) -> Result<Option<Arc<dyn Site>>, Failure> {
        let Some(agent) = self.hosts.get(&request.system.name) else { return Ok(None) };
        let remote = Remote::open(&self.shared, agent, request.system, request.tables)?;
        Ok(Some(Arc::new(remote)))
    }

    /// Has the agents that make load open the system, if it can be reached.
    fn introduce(&self, request: &OpenRequest<'_>, site: &dyn Site) -> Result<(), Failure> {
        let agents = self.loads.get(&request.system.name).filter(|agents| !agents.is_empty());
        // An unreachable system is reported by the run that needs it.
        let Some((agents, system)) = agents.zip(agents.and_then(|_| site.plan_for_other_hosts().ok())) else {
            return Ok(());
        };
        let ask = Ask::Open { system, part: Part::Load, tables: request.tables };
        agents.iter().try_for_each(|agent| self.shared.link.call(agent, &ask).map(|_| ()))
    }

    /// Makes the generator of the agents that make the case's load; `None` if there are none.
    fn load_generator<'a>(
        &'a self,
        job: &SiteJob<'a>,
        site: &'a dyn Site,
    ) -> Result<Option<Box<dyn LoadGenerator + 'a>>, Failure> {
        let agents = load_agents(job.case);
        if agents.is_empty() || !matches!(job.task.action, Action::Stream(_)) {
            return Ok(None);
        }
        let system = site.plan_for_other_hosts()?;
        let tables = job.task.tables();
        Ok(Some(Box::new(FleetGenerator { shared: &self.shared, agents, case: job.case, system, tables })))
    }

    /// Asks the agents that make load for the facts of their hosts.
    fn facts(&self) -> Result<Vec<(String, Facts)>, Failure> {
        let facts = self.clients.iter().map(|agent| match self.shared.link.call(agent, &Ask::HostFacts)? {
            Answer::Facts(facts) => Ok((format!("{}{agent}", conductor::experiment::CLIENT_HOST), facts)),
            other => Err(unexpected_answer(agent, &other)),
        });
        facts.collect()
    }

    /// Takes this run's record if an earlier étalon had it measured, its times moved to this host's clock.
    fn left_over(&self, job: &SiteJob<'_>, observer: &mut dyn Observer) -> Option<RunRecord> {
        let agent = self.hosts.get(&job.case.system)?;
        let recorded = self.shared.inbox.take_left_over(agent, job.case, job.seed)?;
        let link = &self.shared.link;
        // Its clock may show anything; only differences count.
        let ahead_ms = Clock::read_agent(&link.bus, agent, link.patience).map_or(0, |clock| clock.day_offset_ms);
        let published_unix_ms = recorded.published_unix_ms.saturating_sub(ahead_ms);
        let mut outcome = Outcome::Record(Box::new(recorded));
        outcome.shift_times(published_unix_ms);
        let Outcome::Record(recorded) = outcome else { return None };
        let Recorded { mut record, tasks, began_unix_ms, .. } = *recorded;
        record.began_unix_ms = Some(began_unix_ms);
        if !tasks.is_empty() {
            observer.tasks_ended(&tasks);
        }
        let detail = "an earlier run of the experiment had it measured, and ended before it was stored".to_owned();
        record.marks.push(Mark::new(MarkKind::Note, detail));
        Some(record)
    }

    /// Process ids of the agents on this machine.
    fn co_located_agents(&self) -> Vec<u32> {
        self.co_located.clone()
    }

    /// Acknowledges the results that are stored.
    fn note_committed(&self) {
        self.shared.inbox.acknowledge_all();
    }
}

#[derive(Clone, Debug)]
pub struct Listed {
    /// The agent's description of itself.
    pub info: AgentInfo,
    /// `None` if it did not answer.
    pub clock: Option<Clock>,
}

/// Lists every agent that answers, by name, with its description and clock.
pub fn list_agents(server: &Server) -> Result<Vec<Listed>, BusError> {
    let bus = Bus::connect(server, "etalon agents", INBOX)?;
    let mut listed = Vec::new();
    let names: BTreeSet<String> =
        bus.discover_instances(DISCOVERY)?.into_iter().filter_map(|metadata| metadata.get("agent").cloned()).collect();
    // A name is part of a subject, and each service on the bus chooses its own.
    for name in names.into_iter().filter(|name| is_fit_name(name)) {
        let Ok(answer) = bus.request(&format!("{}.info", subject_prefix(&name)), Vec::new(), INFO_TIMEOUT) else {
            continue;
        };
        let info: AgentInfo = serde_json::from_slice(&answer).unwrap_or_default();
        listed.push(Listed { info, clock: Clock::read_agent(&bus, &name, INFO_TIMEOUT).ok() });
    }
    Ok(listed)
}
