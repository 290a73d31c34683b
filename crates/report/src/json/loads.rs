//! The loads that were tried in search of the highest that keeps a promise.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseValue, case_value};
use crate::evidence::Evidence;

/// A short run at a load.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LoadTried {
    /// The benchmark's name in the plan.
    pub benchmark: String,
    /// The workload's keys with their values, the promise among them.
    pub case: BTreeMap<String, CaseValue>,
    /// The name of the system that was asked.
    pub system: String,
    /// The round of the search, from 0.
    pub round: u32,
    /// How the run ended that was the search: `measured`, `superseded`, `failed` or `aborted`.
    pub state: String,
    /// Operations a second that were due; null where each client asked as soon as it was answered.
    pub rate: Option<f64>,
    /// The clients that asked, where their number is sought; else null.
    pub clients: Option<u32>,
    /// Operations a second that succeeded.
    pub throughput: f64,
    /// Median of the response times from their intended start, in microseconds; null of too few.
    pub response_p50_us: Option<f64>,
    /// 99th percentile of the same.
    pub response_p99_us: Option<f64>,
    /// What came later than promised, from 0 to 1.
    pub late_share: f64,
    /// What failed, from 0 to 1.
    pub failed_share: f64,
    /// Whether it kept the promise; null where the load is none of those that are sought.
    pub is_kept: Option<bool>,
    /// Whether the load generator was at its own limit.
    pub is_client_saturated: bool,
}

/// Lists all loads that were tried in searches, in the order in which they were tried.
pub(super) fn loads_tried(evidence: &Evidence) -> Vec<LoadTried> {
    let runs: BTreeMap<i64, &store::StoredRun> = evidence.runs.iter().map(|run| (run.id, run)).collect();
    evidence
        .points
        .iter()
        .filter_map(|(run, point)| {
            let run = runs.get(run)?;
            let case = evidence.case(run.planned.case)?;
            Some(LoadTried {
                benchmark: case.benchmark.clone(),
                case: case.point.iter().map(|(key, value)| (key.clone(), case_value(value))).collect(),
                system: case.system.clone(),
                round: run.planned.round,
                state: run.state.as_str().to_owned(),
                rate: point.rate,
                clients: point.clients,
                throughput: point.throughput,
                response_p50_us: point.response_p50_us,
                response_p99_us: point.response_p99_us,
                late_share: point.late_share,
                failed_share: point.failed_share,
                is_kept: point.is_kept,
                is_client_saturated: point.is_client_saturated,
            })
        })
        .collect()
}
