//! What conductor and agents say to each other.
//!
//! Every request is a *job* with a number of its session. A job that was asked for again is not done again: whoever lost an
//! answer asks once more. What takes long answers [`Reply::Working`] and is asked about by [`Ask::Renew`], which renews
//! the lease as every other request of the session does.

use std::collections::BTreeMap;

use engine::crew::Share;
use engine::target::{Counters, LoadKind, Placement};
use engine::worker::TaskLog;
use engine::{Failure, Tick};
use model::{Cell, Facts, Reading, Schedule, SystemPlan, TrialRecord};
use serde::{Deserialize, Serialize};

use crate::texts::{TextId, TextPiece};

/// The last words of the subjects that an agent answers on: `etalon.agent.NAME.VERB`.
pub const VERBS: [&str; 7] = ["info", "ping", "prepare", "start", "renew", "stop", "facts"];

/// This build's version: conductor and agents must have the same.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What the subjects of an agent begin with.
pub fn prefix(agent: &str) -> String {
    format!("etalon.agent.{agent}")
}

/// Whether a name can be a part of a subject.
pub fn name_is_fit(name: &str) -> bool {
    let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 64 && name.chars().all(is_fit)
}

/// A request of a conductor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    pub version: String,
    pub session: String,
    /// The experiment, under whose subject results are published.
    pub experiment: String,
    /// How long the agent goes on without hearing from the session, in milliseconds.
    pub lease_ms: u64,
    pub job: u64,
    pub ask: Ask,
}

/// A cell, with the texts of the files that its scripts name: an agent reads no files for a conductor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SentCell {
    pub cell: Cell,
    /// Texts by the names that the scripts have for them; they have been sent before.
    pub texts: BTreeMap<String, TextId>,
}

/// What a process wants of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// To have it: prepare, count, remove.
    Whole,
    Load,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Open a system; nothing is done if it is open.
    Open {
        /// The system, without a password.
        system: SystemPlan,
        wanted: Wanted,
        /// Whether its tables are étalon's own.
        own_tables: bool,
    },
    /// Which of these texts the agent does not have.
    Lacking {
        of: Vec<TextId>,
    },
    /// Keep a piece of a text for as long as the session lasts.
    Text(TextPiece),
    /// The facts of a system, with those that cells ask for.
    SystemFacts {
        system: String,
        cells: Vec<SentCell>,
    },
    /// The facts of the agent's machine.
    HostFacts,
    /// What a system has counted.
    Ledger {
        system: String,
    },
    /// The number that the query gives by which a cell's work is checked. No other query is asked.
    Scalar {
        system: String,
        cell: SentCell,
        sql: String,
    },
    /// How other hosts reach a system.
    Reach {
        system: String,
    },
    /// Make the tables of a cell.
    Tables {
        system: String,
        cell: SentCell,
    },
    /// Bring a system to rest.
    Settle {
        system: String,
    },
    BeginBlock {
        system: String,
    },
    /// Answer once a system can be asked again.
    Revive {
        system: String,
    },
    /// Remove what was made in a system, and forget it.
    Close {
        system: String,
    },
    /// Run a whole trial; its record is published.
    Whole {
        system: String,
        cell: SentCell,
        schedule: Schedule,
        /// Seed of the trial.
        seed: u64,
    },
    /// Make connections for a segment of a trial's clients, wait for [`Ask::Start`], and make the load; the share is
    /// published.
    Share {
        system: String,
        cell: SentCell,
        schedule: Schedule,
        /// Seed of the trial.
        seed: u64,
        /// The first client of the segment, and the first behind it.
        segment: (u32, u32),
    },
    Start {
        of: u64,
        /// When, by the agent's own clock, in nanoseconds.
        at_ns: u64,
    },
    /// End a job early.
    Stop {
        of: u64,
    },
    /// The conductor has come to its end: what is under way is ended, and what was made is removed.
    Leave,
    /// How far a job is, or nothing but to be heard of.
    Renew {
        of: Option<u64>,
    },
}

impl Ask {
    pub fn verb(&self) -> &'static str {
        match self {
            Ask::SystemFacts { .. } | Ask::HostFacts | Ask::Ledger { .. } | Ask::Scalar { .. } | Ask::Reach { .. } => {
                "facts"
            }
            Ask::Open { .. }
            | Ask::Lacking { .. }
            | Ask::Text(_)
            | Ask::Tables { .. }
            | Ask::Settle { .. }
            | Ask::BeginBlock { .. }
            | Ask::Revive { .. }
            | Ask::Whole { .. }
            | Ask::Share { .. } => "prepare",
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
    /// It could not be done.
    Failed(Failure),
}

/// How far a job is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Progress {
    /// Whether its connections are made and it waits for its start.
    pub ready: bool,
    /// The last interval of its load.
    pub tick: Option<SentTick>,
}

/// An interval of the running trial.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct SentTick {
    /// Transactions that ended well, per second.
    pub rate_per_s: f64,
    /// Median response time, in nanoseconds, if the interval has one.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the response time, in nanoseconds, if the interval has one.
    pub p99_ns: Option<u64>,
    pub errors: u64,
    /// The most transactions that were due and not begun at one time.
    pub backlog: u64,
}

impl From<Tick> for SentTick {
    fn from(tick: Tick) -> SentTick {
        let Tick { rate_per_s, p50_ns, p99_ns, errors, backlog } = tick;
        SentTick { rate_per_s, p50_ns, p99_ns, errors, backlog }
    }
}

/// What was asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// Nothing but that it is done.
    Nothing,
    /// What kind of load a system carries.
    Opened(LoadKind),
    Facts(Facts),
    /// What a system has counted.
    Account(Box<Account>),
    Number(i64),
    /// A system as other hosts reach it.
    System(Box<SystemPlan>),
    /// Texts that the agent does not have.
    Lacking(Vec<TextId>),
    /// A result has been published in so many parts.
    Published(u32),
    /// The job was stopped. What it had done by then has been published in so many parts; 0 if there is nothing to tell.
    Stopped(u32),
}

/// What a system has counted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Account {
    pub counters: Counters,
    /// CPU seconds of the server's processes, or why they are not known.
    pub server_cpu_s: Reading,
    /// Where the engine works.
    pub placement: Placement,
}

/// A result, as it is published.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Outcome {
    Record(Box<Recorded>),
    /// A host's share of one.
    Share(Box<Share>),
    /// The tasks that had ended when a load was stopped.
    Cut(Vec<TaskLog>),
}

impl Outcome {
    /// Puts a time of day in the place of durations, or durations in the place of a time of day: only these cross hosts,
    /// whose clocks may show anything. `shift_ms` is what the clock shows at the result's coming, and less than nothing
    /// of that at its going.
    pub fn shift(&mut self, shift_ms: i64) {
        let tasks = match self {
            Outcome::Record(recorded) => &mut recorded.tasks,
            Outcome::Share(share) => &mut share.tally.tasks,
            Outcome::Cut(tasks) => tasks,
        };
        // An agent may have sent any number.
        tasks.iter_mut().for_each(|log| log.began_unix_ms = log.began_unix_ms.saturating_add(shift_ms));
        if let Outcome::Record(recorded) = self {
            recorded.began_unix_ms = recorded.began_unix_ms.saturating_add(shift_ms);
        }
    }
}

/// A whole trial, with what tells it from all others of its experiment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recorded {
    pub cell: Cell,
    /// Its seed, which is that of its block.
    pub seed: u64,
    /// When it began: [shifted](Outcome::shift) with its tasks.
    pub began_unix_ms: i64,
    /// What the agent's own clock showed when it was published: who takes it up later asks what that shows now.
    pub published_unix_ms: i64,
    /// What it left behind.
    pub record: TrialRecord,
    /// The ends of its tasks, if its load consists of any.
    pub tasks: Vec<TaskLog>,
}

/// What an agent says of itself to whoever asks, whatever their version.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentInfo {
    pub name: String,
    pub version: String,
    pub os: String,
    /// Logical processors that it can use.
    pub cores: usize,
    /// Its processor and memory.
    pub machine: String,
    /// What it lets plans reach, and nothing else.
    pub allow: Vec<String>,
    /// The experiment that it takes part in now.
    pub experiment: Option<String>,
}

/// The answer to `ping`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Pong {
    /// The agent's clock, in nanoseconds.
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
        outcome.shift(2);
        let Outcome::Cut(tasks) = outcome else { panic!() };
        assert_eq!(tasks[0].began_unix_ms, i64::MAX);
    }
}
