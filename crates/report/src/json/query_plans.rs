//! The plans of queries.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{CaseValue, case_value};
use crate::comparison::{Index, plan_fingerprint};
use crate::evidence::Evidence;

/// The plan by which a system answers a query.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct QueryPlan {
    /// The benchmark.
    pub benchmark: String,
    /// The workload's keys with their values.
    pub case: BTreeMap<String, CaseValue>,
    /// The system.
    pub system: String,
    /// The query's name.
    pub query: String,
    /// The plan of the last run, with the first row of parameters, without costs, numbers of rows and times; null if it was not read.
    pub plan: Option<String>,
    /// The same of equal plans; null if it was not read.
    pub fingerprint: Option<String>,
    /// Why it was not read; else null.
    pub unavailable: Option<String>,
    /// The first round, from 0, with another plan than before; null if all runs have the same.
    pub changed_in_round: Option<u32>,
}

/// Lists the query plans of all cases, or why a plan is missing.
pub fn query_plan_objects(evidence: &Evidence) -> Vec<QueryPlan> {
    if evidence.query_plans.is_empty() {
        return Vec::new();
    }
    let index = Index::new(evidence);
    let cases = evidence.cases.iter().zip(0..);
    let plans = cases.flat_map(|(case, number)| index.plans.queries_of_case(number).map(move |found| (case, found)));
    plans
        .map(|(case, (query, plan))| QueryPlan {
            benchmark: case.benchmark.clone(),
            case: case.point.iter().map(|(key, value)| (key.clone(), case_value(value))).collect(),
            system: case.system.clone(),
            query: query.to_owned(),
            plan: plan.text.ok().map(str::to_owned),
            fingerprint: plan.text.ok().map(plan_fingerprint),
            unavailable: plan.text.err().map(str::to_owned),
            changed_in_round: plan.changed_in,
        })
        .collect()
}
