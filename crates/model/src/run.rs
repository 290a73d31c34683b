//! The run: one execution of a case, the unit of replication.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::durability::DurabilityTier;
use crate::facts::Difference;
use crate::metric::Measurement;
use crate::promise::LoadPoint;

/// Begins the reason of a run that the user stopped.
pub const INTERRUPTED: &str = "interrupted by the user";
/// Reason of a run that ended with the process.
pub const PROCESS_ENDED: &str = "the process ended in mid-run";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Planned,
    /// A store opened with a run in this state was killed in the middle of it.
    Running,
    Measured,
    /// It could not run, or its result cannot be trusted: the reason says why.
    Failed,
    /// Étalon itself ended in the middle of it, by its user or with its process: that says nothing of the system.
    Aborted,
    /// Measured again later: kept, but in no figure.
    Superseded,
}

impl RunState {
    /// The state's word in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Planned => "planned",
            RunState::Running => "running",
            RunState::Measured => "measured",
            RunState::Failed => "failed",
            RunState::Aborted => "aborted",
            RunState::Superseded => "superseded",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for RunState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        use RunState::{Aborted, Failed, Measured, Planned, Running, Superseded};
        [Planned, Running, Measured, Failed, Aborted, Superseded]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(())
    }
}

/// Fixed and stored before the first run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedRun {
    /// From 0, in the whole order.
    pub position: u32,
    /// From 0.
    pub round: u32,
    /// The index in [`crate::Plan::cases`].
    pub case: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkKind {
    /// The load generator itself was the bottleneck.
    ClientSaturated,
    /// Idle threads of the load generator were given a processor too late.
    WokenLate,
    Errors,
    /// Rate or latency changed in the measured part.
    NotSteady,
    /// The level changed at the start of the measured part.
    WarmUpTooShort,
    RateNotMet,
    /// Under a rate: what the warm-up had left over was worked off in the measured part.
    Backlog,
    /// Étalon itself stood still in the measured part.
    Paused,
    /// The hosts that made the load together began too far apart for their figures to be added.
    StartedApart,
    /// A cache answered for the device.
    ServedByCache,
    /// A cache of results answered queries in the engine's place: their rows have no verdict, others of the run may.
    CachedAnswers,
    /// The short runs of a capacity had too few, even lengthened.
    TooFewOperations,
    /// A promise broke by waiting for a free client, of a system that all of them did not slow down.
    TooFewClients,
    /// No load kept a promise: the capacity is below the figure, the lowest load that was tried.
    NoLoadKept,
    /// Every load kept a promise: the capacity is at least the figure, the highest load that was tried.
    EveryLoadKept,
    /// The server's own counters could not, or only in part, confirm the load.
    NotCounted,
    /// The system is no longer what it was before the first run: other settings, another start, another server.
    SystemChanged,
    /// Its commits survived a power cut, though the system's settings do not promise that.
    DurableCommits,
    /// Its commits did not wait for the log, though the system's settings promise that.
    DelayedCommits,
    /// A power cut could corrupt what it committed, though the system's settings promise more.
    UnsafeCommits,
    /// Others' sessions asked the server.
    OtherClients,
    /// The load's sessions waited much of the time for rows that others of them had locked.
    RowLocks,
    /// The load's sessions waited for locks of sessions that are not its own.
    OtherLocks,
    /// Other programs used the machine's processors.
    MachineBusy,
    /// The hypervisor kept processor time for others.
    MachineSteal,
    /// A quota or heat slowed the processors down.
    MachineThrottled,
    /// On battery, or the power source or the governor of clock speeds changed.
    MachinePower,
    /// Little memory was available, or the machine swapped.
    MachineMemory,
    /// A scanner, a backup or an update was at work.
    MachineJobs,
    /// The file of another tool that the run was read from.
    Source,
    /// Anything else that a reader should know.
    Note,
    /// An import cannot tell whether the run is a repetition: it may be a copy, or of another thing than those of its case.
    NoRepetition,
}

impl MarkKind {
    pub const ALL: [MarkKind; 32] = [
        MarkKind::ClientSaturated,
        MarkKind::WokenLate,
        MarkKind::Errors,
        MarkKind::NotSteady,
        MarkKind::WarmUpTooShort,
        MarkKind::RateNotMet,
        MarkKind::Backlog,
        MarkKind::Paused,
        MarkKind::StartedApart,
        MarkKind::ServedByCache,
        MarkKind::CachedAnswers,
        MarkKind::TooFewOperations,
        MarkKind::TooFewClients,
        MarkKind::NoLoadKept,
        MarkKind::EveryLoadKept,
        MarkKind::NotCounted,
        MarkKind::SystemChanged,
        MarkKind::DurableCommits,
        MarkKind::DelayedCommits,
        MarkKind::UnsafeCommits,
        MarkKind::OtherClients,
        MarkKind::RowLocks,
        MarkKind::OtherLocks,
        MarkKind::MachineBusy,
        MarkKind::MachineSteal,
        MarkKind::MachineThrottled,
        MarkKind::MachinePower,
        MarkKind::MachineMemory,
        MarkKind::MachineJobs,
        MarkKind::Source,
        MarkKind::Note,
        MarkKind::NoRepetition,
    ];

    /// Whether rows of runs with this mark have no verdict.
    /// What each mark does to one is a table of `docs/statistics.md`.
    pub fn voids_verdict(self) -> bool {
        matches!(
            self,
            MarkKind::ClientSaturated
                | MarkKind::WokenLate
                | MarkKind::SystemChanged
                | MarkKind::RateNotMet
                | MarkKind::Backlog
                | MarkKind::Paused
                | MarkKind::StartedApart
                | MarkKind::ServedByCache
                | MarkKind::TooFewOperations
                | MarkKind::OtherLocks
                | MarkKind::NoRepetition
        )
    }

    /// Marks of what else went on at the server or at one of the run's machines: they are shown, and withhold no verdict.
    pub const DISTURBANCES: [MarkKind; 7] = [
        MarkKind::OtherClients,
        MarkKind::MachineBusy,
        MarkKind::MachineSteal,
        MarkKind::MachineThrottled,
        MarkKind::MachinePower,
        MarkKind::MachineMemory,
        MarkKind::MachineJobs,
    ];

    /// Whether the mark is of a disturbance by something else on the machine or the server.
    pub fn is_disturbance(self) -> bool {
        MarkKind::DISTURBANCES.contains(&self)
    }

    /// Gives the mark of a run whose commits promised this, and not what the system's settings say.
    pub fn mark_of_commits(tier: DurabilityTier) -> MarkKind {
        match tier {
            DurabilityTier::Durable => MarkKind::DurableCommits,
            DurabilityTier::Delayed => MarkKind::DelayedCommits,
            DurabilityTier::Unsafe | DurabilityTier::Memory => MarkKind::UnsafeCommits,
        }
    }

    /// Gives what the run's commits promised, where it was not what the system's settings say.
    pub fn promised_durability(self) -> Option<DurabilityTier> {
        match self {
            MarkKind::DurableCommits => Some(DurabilityTier::Durable),
            MarkKind::DelayedCommits => Some(DurabilityTier::Delayed),
            MarkKind::UnsafeCommits => Some(DurabilityTier::Unsafe),
            _ => None,
        }
    }

    /// The mark's word in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            MarkKind::ClientSaturated => "client-saturated",
            MarkKind::WokenLate => "woken-late",
            MarkKind::Errors => "errors",
            MarkKind::NotSteady => "not-steady",
            MarkKind::WarmUpTooShort => "warm-up-too-short",
            MarkKind::RateNotMet => "rate-not-met",
            MarkKind::Backlog => "backlog",
            MarkKind::Paused => "paused",
            MarkKind::StartedApart => "started-apart",
            MarkKind::ServedByCache => "served-by-cache",
            MarkKind::CachedAnswers => "cached-answers",
            MarkKind::TooFewOperations => "too-few-operations",
            MarkKind::NoRepetition => "no-repetition",
            MarkKind::TooFewClients => "too-few-clients",
            MarkKind::NoLoadKept => "no-load-kept",
            MarkKind::EveryLoadKept => "every-load-kept",
            MarkKind::NotCounted => "not-counted",
            MarkKind::SystemChanged => "system-changed",
            MarkKind::DurableCommits => "durable-commits",
            MarkKind::DelayedCommits => "delayed-commits",
            MarkKind::UnsafeCommits => "unsafe-commits",
            MarkKind::OtherClients => "other-clients",
            MarkKind::RowLocks => "row-locks",
            MarkKind::OtherLocks => "other-locks",
            MarkKind::MachineBusy => "machine-busy",
            MarkKind::MachineSteal => "machine-steal",
            MarkKind::MachineThrottled => "machine-throttled",
            MarkKind::MachinePower => "machine-power",
            MarkKind::MachineMemory => "machine-memory",
            MarkKind::MachineJobs => "machine-jobs",
            MarkKind::Source => "source",
            MarkKind::Note => "note",
        }
    }
}

impl FromStr for MarkKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        MarkKind::ALL.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// What a run's figures alone do not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub kind: MarkKind,
    /// Agent's machine that it is about. `None` for the only machine, and for the whole run.
    pub host: Option<String>,
    /// A sentence without its first capital and its full stop, for people alone.
    pub detail: String,
    pub data: Option<MarkData>,
}

/// What programs read of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarkData {
    /// The level of the run changed after this many of its intervals.
    ChangePoint { after: u32, of: u32 },
    /// The errors are those of a transaction that lost against others and may be tried again.
    LostToOthers,
    /// Share of the sessions' time that they waited for locked rows, in percent.
    RowLocks { percent: u32 },
}

impl Mark {
    pub fn new(kind: MarkKind, detail: impl Into<String>) -> Mark {
        Mark { kind, host: None, detail: detail.into(), data: None }
    }

    /// Adds data to the mark.
    pub fn with_data(self, data: MarkData) -> Mark {
        Mark { data: Some(data), ..self }
    }

    /// Makes the mark of a run whose rate changed its level after `end` of its intervals; `what` has that rate.
    pub fn warm_up_too_short(what: &str, end: usize, intervals: usize) -> Mark {
        let detail = format!("{what} changed its level after {end} of {intervals} intervals");
        let data = MarkData::ChangePoint { after: end as u32, of: intervals as u32 };
        Mark::new(MarkKind::WarmUpTooShort, detail).with_data(data)
    }

    /// Makes the mark of a system that is no longer as it was before the first run, with the changes.
    pub fn system_changed(changes: &[Difference]) -> Mark {
        let detail = changes.iter().map(Difference::sentence).collect::<Vec<_>>().join("; ");
        Mark::new(MarkKind::SystemChanged, detail)
    }

    /// Gives the share of the run before its level changed, from 0 to 1.
    pub fn change_point(&self) -> Option<f64> {
        match self.data? {
            MarkData::ChangePoint { after, of } if after > 0 && after <= of => Some(f64::from(after) / f64::from(of)),
            _ => None,
        }
    }
}

/// The detail, after the host's name if it has one.
impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(host) = &self.host {
            write!(f, "{host}: ")?;
        }
        f.write_str(&self.detail)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesKind {
    /// From intended start to end.
    Response,
    /// From send to end. None in a closed loop, which sends when it is due: the response is the service there.
    Service,
    /// No latency: per interval, the most transactions that were due and not started. Only with a rate.
    Backlog,
}

impl SeriesKind {
    /// The series' word in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            SeriesKind::Response => "response",
            SeriesKind::Service => "service",
            SeriesKind::Backlog => "backlog",
        }
    }
}

impl FromStr for SeriesKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        [SeriesKind::Response, SeriesKind::Service, SeriesKind::Backlog]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or(())
    }
}

/// One interval of a run, or all of it, on one client host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    pub host: String,
    pub kind: SeriesKind,
    /// From 0; `None` for the whole measured part.
    pub interval: Option<u32>,
    /// The last interval is shorter.
    pub length_ms: u32,
    pub errors: u64,
    /// HdrHistogram's V2 serialisation: nanoseconds, or transactions for a backlog.
    pub histogram: Vec<u8>,
}

/// Committed to the store in one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub state: RunState,
    pub reason: Option<String>,
    /// If that was not when its place in the order was reached: measured before, or elsewhere. Milliseconds since
    /// 1970.
    pub began_unix_ms: Option<i64>,
    /// The length of the measured part.
    pub elapsed_s: f64,
    pub measurements: Vec<Measurement>,
    pub series: Vec<Series>,
    pub marks: Vec<Mark>,
    /// The short runs of a search for the highest load that keeps a promise, in its order.
    #[serde(default)]
    pub points: Vec<LoadPoint>,
    #[serde(default)]
    pub query_plans: Vec<QueryPlan>,
}

/// The plan by which an engine answers a query, as it says itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryPlan {
    /// The query's name.
    pub query: String,
    /// The plan without costs, numbers of rows and times; or why it could not be read.
    pub text: Result<String, String>,
}

impl RunRecord {
    /// Makes the record of a run that gave no result.
    pub fn without_result(state: RunState, reason: impl Into<String>) -> RunRecord {
        RunRecord {
            state,
            reason: Some(reason.into()),
            began_unix_ms: None,
            elapsed_s: 0.0,
            measurements: Vec::new(),
            series: Vec::new(),
            marks: Vec::new(),
            points: Vec::new(),
            query_plans: Vec::new(),
        }
    }
}
