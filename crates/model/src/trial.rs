//! The trial: one execution of a cell, the unit of replication.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::metric::Measurement;

/// How far a trial has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrialState {
    /// In the order, not begun.
    Planned,
    /// Begun. A store that is opened again with a trial in this state was killed in the middle of it.
    Running,
    /// Done; its measurements count.
    Measured,
    /// It ran and its result cannot be trusted, or it could not run: the reason says why.
    Failed,
    /// Interrupted by the user or by the end of the process.
    Aborted,
    /// It was measured, and another attempt at its place has been since: kept, and in no figure.
    Superseded,
}

impl TrialState {
    /// The state's name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            TrialState::Planned => "planned",
            TrialState::Running => "running",
            TrialState::Measured => "measured",
            TrialState::Failed => "failed",
            TrialState::Aborted => "aborted",
            TrialState::Superseded => "superseded",
        }
    }
}

impl fmt::Display for TrialState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for TrialState {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        use TrialState::{Aborted, Failed, Measured, Planned, Running, Superseded};
        [Planned, Running, Measured, Failed, Aborted, Superseded]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or(())
    }
}

/// A trial's place in the order, fixed and stored before the first trial runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTrial {
    /// Its place in the whole order, from 0.
    pub position: u32,
    /// Its block, from 0.
    pub block: u32,
    /// Index of its cell in [`crate::Plan::cells`].
    pub cell: u32,
}

/// Why a trial is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkKind {
    /// The load generator itself was the bottleneck.
    ClientSaturated,
    /// Some operations ended in errors.
    Errors,
    /// The rate or the latency changed in the measured part.
    NotSteady,
    /// A change of level was found at the start of the measured part: the warm-up was too short.
    WarmUpTooShort,
    /// The plan's rate was not met.
    RateNotMet,
    /// A cache answered for the device: the figures are not the disk's.
    ServedByCache,
    /// Fewer operations than the statistics of the trial need.
    TooFewOperations,
    /// What the load claims could not, or only in part, be held against what the server itself counted.
    NotCounted,
    /// Anything else that a reader should know.
    Note,
}

impl MarkKind {
    /// Whether a trial so marked carries no verdict.
    pub fn voids_verdict(self) -> bool {
        matches!(self, MarkKind::ClientSaturated | MarkKind::RateNotMet | MarkKind::ServedByCache)
    }

    /// The mark's name in the store and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            MarkKind::ClientSaturated => "client-saturated",
            MarkKind::Errors => "errors",
            MarkKind::NotSteady => "not-steady",
            MarkKind::WarmUpTooShort => "warm-up-too-short",
            MarkKind::RateNotMet => "rate-not-met",
            MarkKind::ServedByCache => "served-by-cache",
            MarkKind::TooFewOperations => "too-few-operations",
            MarkKind::NotCounted => "not-counted",
            MarkKind::Note => "note",
        }
    }
}

impl FromStr for MarkKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        use MarkKind::{
            ClientSaturated, Errors, NotCounted, NotSteady, Note, RateNotMet, ServedByCache, TooFewOperations,
            WarmUpTooShort,
        };
        let all = [
            ClientSaturated,
            Errors,
            NotSteady,
            WarmUpTooShort,
            RateNotMet,
            ServedByCache,
            TooFewOperations,
            NotCounted,
            Note,
        ];
        all.into_iter().find(|kind| kind.as_str() == text).ok_or(())
    }
}

/// Something about a trial that its figures alone do not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// Why.
    pub kind: MarkKind,
    /// The evidence, with its figures.
    pub detail: String,
}

/// What a histogram holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeriesKind {
    /// From the intended start to the end.
    Response,
    /// From the moment it was sent to the end.
    Service,
    /// No latency: the most transactions that were due and not begun at one time, one value for each interval. Only
    /// trials under a rate have it.
    Backlog,
}

impl SeriesKind {
    /// The kind's name in the store.
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

/// A histogram of one interval of a trial, or of the whole of it, on one client host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// The client host.
    pub host: String,
    /// What it holds.
    pub kind: SeriesKind,
    /// The interval's number from 0; `None` for the whole measured part.
    pub interval: Option<u32>,
    /// How long the interval was, in milliseconds: the last one is shorter.
    pub length_ms: u32,
    /// Operations that failed in it.
    pub errors: u64,
    /// An HDR histogram in the "V2" serialisation of HdrHistogram: of nanoseconds, or of transactions.
    pub histogram: Vec<u8>,
}

/// Everything that a trial leaves behind; committed to the store in one transaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// `Measured`, `Failed` or `Aborted`.
    pub state: TrialState,
    /// Why it failed or was aborted.
    pub reason: Option<String>,
    /// When it began, in milliseconds since 1970, if that was not when its place in the order was: when it was measured
    /// before, or elsewhere.
    pub began_unix_ms: Option<i64>,
    /// Length of the measured part, in seconds.
    pub elapsed_s: f64,
    /// One value per metric.
    pub measurements: Vec<Measurement>,
    /// Latency histograms.
    pub series: Vec<Series>,
    /// What a reader should know.
    pub marks: Vec<Mark>,
}

impl TrialRecord {
    /// The record of a trial that gave no result.
    pub fn without_result(state: TrialState, reason: impl Into<String>) -> TrialRecord {
        TrialRecord {
            state,
            reason: Some(reason.into()),
            began_unix_ms: None,
            elapsed_s: 0.0,
            measurements: Vec::new(),
            series: Vec::new(),
            marks: Vec::new(),
        }
    }
}
