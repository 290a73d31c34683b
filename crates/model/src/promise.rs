//! A promise of response times, and the loads that were tried against it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::duration;
use crate::value::Point;

/// What a load must keep: 99 of 100 responses come within a time, and no more than a share fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// From the intended start.
    pub response_p99: Duration,
    /// Share of operations that may fail.
    pub errors: f64,
    /// What is sought is a number of clients, up to this one; `None`: a rate.
    pub max_clients: Option<u32>,
}

impl Promise {
    /// Keys of a workload that may promise.
    pub const RESPONSE_P99: &'static str = "promise.response_p99";
    pub const ERRORS: &'static str = "promise.errors";
    pub const MAX_CLIENTS: &'static str = "promise.max_clients";
    /// The default of `errors`.
    pub const FEW_ERRORS: f64 = 0.001;
    /// The share of responses that may come later.
    pub const LATE: f64 = 0.01;
    /// Operations that a short run of a search needs. In a queue whose knee is known a search reads some 5 % too much with 700 in
    /// each short run, and is right within 1 % from 5,000 on: late ones come in clumps, so that a few short runs keep a promise by
    /// luck, and how much that is depends on the system.
    pub const ENOUGH: f64 = 5_000.0;

    /// Reads what a point of a valid plan promises; `None` without a promise.
    pub fn from_point(point: &Point) -> Option<Promise> {
        let response_p99 = duration::parse(point.get(Promise::RESPONSE_P99)?.as_text()?).ok()?;
        let errors = point.get(Promise::ERRORS).and_then(crate::Value::as_float).unwrap_or(Promise::FEW_ERRORS);
        let max_clients = point.get(Promise::MAX_CLIENTS).and_then(crate::Value::as_int);
        let max_clients = max_clients.and_then(|clients| u32::try_from(clients).ok());
        Some(Promise { response_p99, errors, max_clients })
    }

    /// Names what is sought: `the most clients` or `the highest rate`.
    pub fn sought_load(&self) -> &'static str {
        if self.max_clients.is_some() { "the most clients" } else { "the highest rate" }
    }

    /// Writes the promise as a clause: `99 of 100 responses come within 20 ms, and at most 0.1 % fail`.
    pub fn promise_clause(&self) -> String {
        let within = duration::spaced_text(self.response_p99);
        format!("99 of 100 responses come within {within}, and at most {} % fail", (self.errors * 1e5).round() / 1e3)
    }
}

/// A short run at a load, as one of those by which the highest load is found that keeps a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadPoint {
    /// Operations a second that were due. `None`: each client asked as soon as it was answered.
    pub rate: Option<f64>,
    /// The clients of a search for their number.
    pub clients: Option<u32>,
    /// Operations a second that succeeded.
    pub throughput: f64,
    /// From the intended start, in microseconds; `None` of too few responses.
    pub response_p50_us: Option<f64>,
    pub response_p99_us: Option<f64>,
    /// The share of responses that came, or waited, longer than promised, failures apart.
    pub late_share: f64,
    pub failed_share: f64,
    /// Whether the promise is kept, if the load is one of those that are sought.
    pub is_kept: Option<bool>,
    /// The load generator was at its own limit.
    pub is_client_saturated: bool,
}

impl LoadPoint {
    /// Gives the load that was tried: a number of clients, or operations a second.
    pub fn load(&self) -> Option<f64> {
        self.clients.map(f64::from).or(self.rate)
    }
}
