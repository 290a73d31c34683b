//! Messages between conductor and agents.
//!
//! Every request is a *job* with a number within its session, and idempotent: a conductor that lost an answer asks
//! again. A long one answers [`Reply::Working`] and is polled by [`Ask::Renew`], which renews the lease like every
//! other request.

use std::collections::BTreeMap;

use conductor::site::{FactsScope, Inspection};
use load::counters::{Counters, Placement};
use load::error::Failure;
use load::generator::HostLoad;
use load::observer::Tick;
use load::surroundings::Surroundings;
use load::worker::TaskLog;
use model::{Case, Facts, Reading, RunRecord, Schedule, SystemPlan};
use serde::{Deserialize, Serialize};
use workloads::dataset::Tables;
use workloads::system::Part;
use workloads::transactions::Moment;
use workloads::work::LoadKind;

use crate::texts::{TextId, TextPiece};

/// `etalon.agent.NAME.VERB`.
pub const VERBS: [&str; 7] = ["info", "ping", "prepare", "start", "renew", "stop", "facts"];

/// Conductor and agents must have the same, and so must the runs of one experiment: `0.1.0+3d595418`, with the commit where it is
/// known.
pub const VERSION: &str = env!("ETALON_VERSION");

/// Prefix of the subjects that an agent listens to.
pub fn subject_prefix(agent: &str) -> String {
    format!("etalon.agent.{agent}")
}

/// Whether a name is fit for a part of a subject: up to 64 letters, digits, `-` and `_`.
pub fn is_fit_name(name: &str) -> bool {
    let mut letters = name.chars();
    !name.is_empty() && name.len() <= 64 && letters.all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Lists the process ids of those that are on this process's machine, without its own.
pub fn pids_on_this_machine(all: &[(String, u32)]) -> Vec<u32> {
    let (machine, own) = host::identity::machine_and_process();
    all.iter().filter(|(of, pid)| *of == machine && *pid != own).map(|(_, pid)| *pid).collect()
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub version: String,
    pub session: String,
    /// Results are published under its subject.
    pub experiment: String,
    /// Silence after which the agent ends the session.
    pub lease_ms: u64,
    pub job: u64,
    pub ask: Ask,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentCase {
    pub case: Case,
    /// Ids of the texts by the scripts' names; the texts are sent already.
    pub texts: BTreeMap<String, TextId>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Idempotent.
    Open {
        /// The system without a password.
        system: SystemPlan,
        part: Part,
        tables: Tables,
    },
    /// Asks which of these texts the agent does not have.
    #[serde(rename = "Lacking")]
    MissingTexts {
        of: Vec<TextId>,
    },
    /// Kept for the session.
    Text(TextPiece),
    /// The facts of a system, with those that cases ask for.
    SystemFacts {
        system: String,
        cases: Vec<SentCase>,
        scope: FactsScope,
    },
    /// The facts of the agent's machine.
    HostFacts,
    /// Asks for the machine and the process of the agent.
    Process,
    /// The processes that take part, on whatever machine.
    #[serde(rename = "Mates")]
    CoLocated {
        all: Vec<(String, u32)>,
    },
    /// Look at the agent's machine, where a system is, until asked what was seen.
    Watch {
        system: String,
    },
    /// Asks for what was seen since then.
    Watched {
        system: String,
    },
    /// Asks for what a system has counted.
    ServerCounters {
        system: String,
    },
    /// The number by which a case's work is verified. No other query is run.
    Scalar {
        system: String,
        case: SentCase,
        sql: String,
    },
    /// How other hosts reach a system.
    Reach {
        system: String,
    },
    /// Make the tables of a case.
    Tables {
        system: String,
        case: SentCase,
    },
    /// Read the tables of a case through, and let background work finish.
    Settle {
        system: String,
        case: SentCase,
    },
    /// Check everything that a case's load knows of its tables against them.
    Inspect {
        system: String,
        case: SentCase,
        moment: Moment,
    },
    BeginRound {
        system: String,
    },
    /// Answers once a system is available again.
    Revive {
        system: String,
    },
    /// Removes what was made in a system, and forgets it.
    Close {
        system: String,
    },
    /// Runs a whole run and publishes its record.
    Whole {
        system: String,
        case: SentCase,
        schedule: Schedule,
        seed: u64,
        inspection: Inspection,
    },
    /// Connects a segment of a run's clients, waits for [`Ask::Start`], makes the load and publishes its share.
    HostLoad {
        system: String,
        case: SentCase,
        schedule: Schedule,
        seed: u64,
        /// First client, and the one after the last.
        segment: (u32, u32),
    },
    Start {
        of: u64,
        /// The start on the agent's own clock.
        at_ns: u64,
    },
    /// End a job early.
    Stop {
        of: u64,
    },
    /// The conductor ends: stop jobs and remove what was made.
    Leave,
    /// Polls a job, or only renews the lease.
    Renew {
        of: Option<u64>,
    },
}

impl Ask {
    /// The verb that the question is sent by.
    pub fn verb(&self) -> &'static str {
        match self {
            Ask::SystemFacts { .. }
            | Ask::HostFacts
            | Ask::Process
            | Ask::Watched { .. }
            | Ask::ServerCounters { .. }
            | Ask::Scalar { .. }
            | Ask::Reach { .. } => "facts",
            Ask::Open { .. }
            | Ask::MissingTexts { .. }
            | Ask::Text(_)
            | Ask::Tables { .. }
            | Ask::Settle { .. }
            | Ask::Inspect { .. }
            | Ask::BeginRound { .. }
            | Ask::CoLocated { .. }
            | Ask::Watch { .. }
            | Ask::Revive { .. }
            | Ask::Whole { .. }
            | Ask::HostLoad { .. } => "prepare",
            Ask::Start { .. } => "start",
            Ask::Stop { .. } | Ask::Close { .. } | Ask::Leave => "stop",
            Ask::Renew { .. } => "renew",
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    Done(Answer),
    /// It is under way.
    Working(Progress),
    Failed(Failure),
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Connected, and waiting for the start.
    pub ready: bool,
    /// The last interval of its load.
    pub tick: Option<Tick>,
    /// The reason why its system is silent, as last reported.
    #[serde(default)]
    pub waits: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    Nothing,
    /// The kind of load that a system carries.
    Opened(LoadKind),
    Facts(Facts),
    Process(String, u32),
    /// `None` if no one looked.
    Surroundings(Option<Surroundings>),
    Account(Box<Account>),
    Number(i64),
    /// A system as other hosts reach it.
    System(Box<SystemPlan>),
    /// The texts that the agent does not have.
    #[serde(rename = "Lacking")]
    MissingTexts(Vec<TextId>),
    /// Number of parts.
    Published(u32),
    /// Parts of what was done so far; 0 if nothing.
    Stopped(u32),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub counters: Counters,
    /// CPU seconds of the server's processes.
    pub server_cpu_s: Reading,
    /// The threads in which the engine works.
    pub placement: Placement,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Outcome {
    Record(Box<Recorded>),
    HostLoad(Box<HostLoad>),
    /// Finished tasks of a stopped load.
    Cut(Vec<TaskLog>),
}

impl Outcome {
    /// Turns the times of day in a result into durations, or back; `shift_ms` is added to each.
    /// Only durations cross hosts, whose clocks may show anything.
    /// `shift_ms` is the clock's reading on arrival, negated on departure.
    pub fn shift_times(&mut self, shift_ms: i64) {
        let tasks = match self {
            Outcome::Record(recorded) => &mut recorded.tasks,
            Outcome::HostLoad(share) => &mut share.counts.tasks,
            Outcome::Cut(tasks) => tasks,
        };
        // An agent may have sent any number.
        tasks.iter_mut().for_each(|log| log.began_unix_ms = log.began_unix_ms.saturating_add(shift_ms));
        if let Outcome::Record(recorded) = self {
            recorded.began_unix_ms = recorded.began_unix_ms.saturating_add(shift_ms);
        }
    }
}

/// Identified by experiment, case and seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    pub case: Case,
    pub seed: u64,
    /// [Shifted](Outcome::shift_times) with its tasks.
    pub began_unix_ms: i64,
    /// Time of publication by the agent's own clock: compared later with what that shows then.
    pub published_unix_ms: i64,
    pub record: RunRecord,
    /// Tasks that have ended; only for loads that consist of tasks.
    pub tasks: Vec<TaskLog>,
}

/// The description of an agent for any conductor, whatever their versions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentInfo {
    pub name: String,
    pub version: String,
    pub os: String,
    /// Usable logical processors.
    pub cores: usize,
    /// Processor and memory.
    pub machine: String,
    /// The parts of its host that plans may reach.
    pub allow: Vec<String>,
    /// It serves now.
    pub experiment: Option<String>,
}

/// The answer to `ping`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pong {
    pub now_ns: u64,
    /// The agent's time of day, in milliseconds since 1970.
    pub unix_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_beyond_all_times_is_shifted_no_further() {
        let log = TaskLog { began_unix_ms: i64::MAX - 1, ..TaskLog::default() };
        let mut outcome = Outcome::Cut(vec![log]);
        outcome.shift_times(2);
        let Outcome::Cut(tasks) = outcome else { panic!() };
        assert_eq!(tasks[0].began_unix_ms, i64::MAX);
    }
}
