//! The agent: serves one conductor at a time, runs requests as jobs, and stops when the conductor falls silent.

mod job;
mod session;
mod work;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use conductor::Registry;
use host::reactor::Choice;
use load::error::{Failure, FailureKind};
use serde::Deserialize;
use workloads::permits::NamedPermits;
use workloads::permits::Permits;

use crate::bus::{Bus, BusError, Handler, INBOX, Server};
use crate::protocol::{AgentInfo, Answer, Ask, Pong, Reply, Request, VERBS, VERSION, is_fit_name, subject_prefix};
use session::Session;

/// How often the lease is looked at.
const LEASE_POLL: Duration = Duration::from_millis(100);
/// Longest wait for a job's result: then the answer is that it is under way, before the conductor gives the agent up.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(500);

#[derive(Clone)]
pub struct AgentOptions {
    pub server: Server,
    pub name: String,
    /// The parts of this host that plans may reach: nothing, unless named.
    pub allow: NamedPermits,
    pub listen: Option<String>,
    /// Overrides where private servers live.
    pub scratch_base: Option<std::path::PathBuf>,
    /// The reactor for the clients' I/O.
    pub reactor: Choice,
    /// Reported to conductors; differs in tests.
    pub version: String,
    /// Receives one line per event.
    pub log: fn(&str),
}

impl AgentOptions {
    /// Makes options that allow plans nothing on this host.
    pub fn new(server: Server, name: &str, log: fn(&str)) -> AgentOptions {
        AgentOptions {
            server,
            name: name.to_owned(),
            allow: NamedPermits::default(),
            listen: None,
            scratch_base: None,
            reactor: Choice::Auto,
            version: VERSION.to_owned(),
            log,
        }
    }
}

pub struct Agent {
    shared: Arc<Shared>,
    watch: Option<thread::JoinHandle<()>>,
}

struct Shared {
    options: AgentOptions,
    permits: Permits,
    registry: Registry,
    bus: Arc<Bus>,
    machine: String,
    session: Mutex<Option<Session>>,
    ended: AtomicBool,
}

impl Agent {
    /// Connects an agent to the bus, serves its verbs, and begins to watch its session's lease.
    pub fn start(options: AgentOptions, registry: Registry) -> Result<Agent, BusError> {
        if !is_fit_name(&options.name) {
            return Err(BusError::Other {
                tried: format!("name an agent `{}`", options.name),
                cause: "a name has letters, digits, `-` and `_`".to_owned(),
            });
        }
        // A prefix per agent, so that none can read another's answers.
        let inbox = format!("{INBOX}.agent.{}", options.name);
        let bus = Arc::new(Bus::connect(&options.server, &format!("etalon agent {}", options.name), &inbox)?);
        let shared = Arc::new(Shared {
            permits: Permits::Named(Arc::new(options.allow.clone())),
            machine: machine_text(),
            registry,
            bus: Arc::clone(&bus),
            session: Mutex::new(None),
            ended: AtomicBool::new(false),
            options,
        });
        let metadata = HashMap::from([("agent".to_owned(), shared.options.name.clone())]);
        let handler = Arc::new(Serving(Arc::downgrade(&shared)));
        bus.serve(&shared.options.version, metadata, &subject_prefix(&shared.options.name), &VERBS, handler)?;
        let watching = Arc::clone(&shared);
        let watch = thread::spawn(move || {
            while !watching.ended.load(Ordering::Relaxed) {
                thread::sleep(LEASE_POLL);
                watching.end_lapsed_session();
            }
        });
        Ok(Agent { shared, watch: Some(watch) })
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        if let Some(watch) = self.watch.take() {
            // It ends within its poll.
            let _ = watch.join();
        }
        let session = self.shared.lock_session().take();
        if let Some(session) = session {
            session.close_agent_session(self.shared.options.log);
        }
    }
}

/// A weak reference, because `Shared` owns the bus, which owns this.
struct Serving(Weak<Shared>);

impl Handler for Serving {
    /// Answers `ping` with the agent's clocks; any other verb takes longer.
    fn answer_at_once(&self, verb: &str) -> Option<Vec<u8>> {
        (verb == "ping").then(|| encode(&Pong { now_ns: host::clock::now_ns(), unix_ms: host::clock::unix_ms() }))
    }

    /// Answers a request in JSON, with a failure as its reply.
    fn answer(&self, verb: &str, request: &[u8]) -> Vec<u8> {
        let Some(shared) = self.0.upgrade() else { return Vec::new() };
        if verb == "info" {
            return encode(&shared.describe_agent());
        }
        encode(&match shared.answer(verb, request) {
            Ok(reply) => reply,
            Err(failure) => Reply::Failed(failure),
        })
    }
}

/// Writes a value as JSON; empty if it cannot be written.
fn encode<T: serde::Serialize>(value: &T) -> Vec<u8> {
    // These types cannot fail; an empty answer would be reported as unreadable.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Names the processor and the memory of this machine.
fn machine_text() -> String {
    let facts = host::facts::client_facts(&[]);
    ["cpu.model", "memory.total"].into_iter().filter_map(|name| facts.get(name)).collect::<Vec<_>>().join(", ")
}

impl Shared {
    /// Locks the current session, even after a panic.
    fn lock_session(&self) -> MutexGuard<'_, Option<Session>> {
        // A session changes by single steps, so it is consistent after a panic.
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Describes the agent: name, version, host, permissions and current experiment.
    fn describe_agent(&self) -> AgentInfo {
        AgentInfo {
            name: self.options.name.clone(),
            version: self.options.version.clone(),
            os: std::env::consts::OS.to_owned(),
            cores: host::cpu::available_cores(),
            machine: self.machine.clone(),
            allow: self.options.allow.describe(),
            experiment: self.lock_session().as_ref().map(|session| session.experiment.clone()),
        }
    }

    /// Ends a session whose lease ran out without word from the conductor.
    fn end_lapsed_session(&self) {
        let lapsed = {
            let mut slot = self.lock_session();
            if slot.as_ref().is_some_and(Session::has_lapsed) { slot.take() } else { None }
        };
        if let Some(session) = lapsed {
            let text = format!("experiment {}: the conductor was not heard of; its work is ended", session.experiment);
            (self.options.log)(&text);
            session.close_agent_session(self.options.log);
        }
    }

    /// Does what a request asks of its session or its job, and waits for the reply up to `ANSWER_TIMEOUT`.
    fn answer(self: &Arc<Self>, verb: &str, request: &[u8]) -> Result<Reply, Failure> {
        self.refuse_other_version(request)?;
        let request: Request = serde_json::from_slice(request)
            .map_err(|error| Failure::new(FailureKind::Other, format!("read a request of the verb `{verb}`"), error))?;
        if request.ask.verb() != verb {
            let cause = format!("it belongs to the verb `{}`", request.ask.verb());
            return Err(Failure::new(FailureKind::Permission, format!("answer a request of `{verb}`"), cause));
        }
        let job = {
            let mut slot = self.lock_session();
            let session = session::find_or_begin_session(&mut slot, &request, self)?;
            match &request.ask {
                Ask::Renew { of: None } => return Ok(Reply::Done(Answer::Nothing)),
                Ask::Renew { of: Some(job) } => session.find_job(*job)?,
                Ask::Start { of, at_ns } => {
                    session.find_job(*of)?.start_at(*at_ns);
                    return Ok(Reply::Done(Answer::Nothing));
                }
                Ask::Leave => {
                    let session = slot.take();
                    let log = self.options.log;
                    // Removing what it made may take a moment.
                    thread::spawn(move || session.into_iter().for_each(|session| session.close_agent_session(log)));
                    return Ok(Reply::Done(Answer::Nothing));
                }
                Ask::Stop { of } => {
                    // An unknown job was never started.
                    if let Ok(job) = session.find_job(*of) {
                        job.stop();
                    }
                    return Ok(Reply::Done(Answer::Nothing));
                }
                _ => session.begin_job(&request, self),
            }
        };
        // Outside the lock, so that other requests are served.
        Ok(job.reply_within(ANSWER_TIMEOUT))
    }

    /// Fails unless a request is of this agent's version.
    /// It is looked at first of all: the rest of a request may mean something else in another version.
    fn refuse_other_version(&self, request: &[u8]) -> Result<(), Failure> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Versioned {
            version: String,
        }
        let Versioned { version } = serde_json::from_slice(request).unwrap_or_default();
        if version == self.options.version {
            return Ok(());
        }
        let (name, own) = (&self.options.name, &self.options.version);
        let cause = format!("the agent is étalon {own}, the conductor étalon {version}");
        Err(Failure::new(FailureKind::Unsupported, format!("work with the agent `{name}`"), cause)
            .with_hint("install the same version on both hosts"))
    }
}
