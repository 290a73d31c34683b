//! Analytics: eight tables of a trader's orders and 22 queries on them. Tables and queries are derived from the TPC-H specification, and
//! what they measure cannot be compared with published TPC results.
//!
//! The rows are those of the crate `tpchgen`. The queries have fixed parameters and are written in SQL that all engines read; figures
//! that engines compute to different digits are rounded. `answers.csv` has what DuckDB answers on the same rows.

mod rows;
mod tables;

use std::sync::Arc;

use model::{Point, WorkloadSpec};

use crate::dataset::Tables;
use crate::queries::{Asking, KnownAnswer, Query};
use crate::workload::{Action, Grants, Task, Workload};
use load::error::{Failure, FailureKind};

/// The queries in their order.
const QUERIES: [(&str, &str); 22] = [
    ("q01", include_str!("queries/q01.sql")),
    ("q02", include_str!("queries/q02.sql")),
    ("q03", include_str!("queries/q03.sql")),
    ("q04", include_str!("queries/q04.sql")),
    ("q05", include_str!("queries/q05.sql")),
    ("q06", include_str!("queries/q06.sql")),
    ("q07", include_str!("queries/q07.sql")),
    ("q08", include_str!("queries/q08.sql")),
    ("q09", include_str!("queries/q09.sql")),
    ("q10", include_str!("queries/q10.sql")),
    ("q11", include_str!("queries/q11.sql")),
    ("q12", include_str!("queries/q12.sql")),
    ("q13", include_str!("queries/q13.sql")),
    ("q14", include_str!("queries/q14.sql")),
    ("q15", include_str!("queries/q15.sql")),
    ("q16", include_str!("queries/q16.sql")),
    ("q17", include_str!("queries/q17.sql")),
    ("q18", include_str!("queries/q18.sql")),
    ("q19", include_str!("queries/q19.sql")),
    ("q20", include_str!("queries/q20.sql")),
    ("q21", include_str!("queries/q21.sql")),
    ("q22", include_str!("queries/q22.sql")),
];

/// Answers by scale and query; `answers.py` writes it.
const ANSWERS: &str = include_str!("answers.csv");

/// Stands in a query for the part of all stock that counts as much, which is smaller at a larger scale.
const SHARE: &str = "$SHARE";
const SHARE_AT_1: f64 = 0.0001;

/// Stands for every query in the key `queries`.
const ALL: &str = "all";

model::keys! {
    struct Keys {
        /// Size of the tables: at 1 about 1.6 GB, with 6,001,215 order lines. The answers are known at 0.01, 0.1 and 1
        scale: f64 = float(0.01..=10.0).or(0.1),
        /// `all`, or some of q01 to q22, as in "q01, q06"
        queries: String = TEXT.or("all"),
        /// Clients that ask the same query at the same time; an execution lasts until the last of them has its answer
        clients: u32 = int(1..=1_000).or(1),
    }
}

pub struct Analytics;

impl Workload for Analytics {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "analytics",
            family: "queries",
            about: "Twenty-two analytic queries on eight tables, each timed by itself, with answers that are known before",
            rate_unit: "queries/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = Keys::read(point)?;
        let dataset = tables::dataset(keys.scale);
        let asking = Asking {
            files: dataset.name.clone(),
            queries: choose_queries(&keys.queries, keys.scale)?,
            clients: keys.clients as usize,
            first_answers: Some(Arc::clone(&grants.first_answers)),
            tables: Tables::Own,
        };
        Ok(Task { dataset, action: Action::Step(Box::new(asking)) })
    }
}

/// Makes the queries that a plan names.
fn choose_queries(named: &str, scale: f64) -> Result<Vec<Query>, Failure> {
    let names: Vec<&str> = named.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    for name in &names {
        if *name != ALL && QUERIES.iter().all(|(known, _)| known != name) {
            return Err(refuse_queries(format!("there is no query `{name}`")));
        }
    }
    if names.is_empty() {
        return Err(refuse_queries("it names no query".to_owned()));
    }
    let chosen = QUERIES.iter().filter(|(name, _)| names.contains(name) || names.contains(&ALL));
    chosen
        .map(|(name, text)| {
            let text = text.replace(SHARE, &format!("{:.9}", SHARE_AT_1 / scale));
            Query::from_own_text(name, text, known_answer(name, scale))
        })
        .collect()
}

fn refuse_queries(cause: String) -> Failure {
    Failure::new(FailureKind::Plan, "read the key `queries`", cause).with_hint("`all`, or some of q01 to q22")
}

/// Looks up the answer to a query at a scale, where it is known.
fn known_answer(query: &str, scale: f64) -> Option<KnownAnswer> {
    let answers = ANSWERS.lines().skip(1).filter_map(|line| {
        let [at, name, rows, digest] = line.split(',').collect::<Vec<_>>().try_into().ok()?;
        let is_it = name == query && at.parse::<f64>() == Ok(scale);
        is_it.then_some(KnownAnswer { rows: rows.parse().ok()?, digest: digest.parse().ok()? })
    });
    answers.last()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_answer_is_known_at_three_scales() {
        for scale in [0.01, 0.1, 1.0] {
            assert!(QUERIES.iter().all(|(name, _)| known_answer(name, scale).is_some()), "{scale}");
        }
        assert_eq!(known_answer("q01", 0.5), None);
        assert_eq!(ANSWERS.lines().count(), 1 + 3 * QUERIES.len());
    }

    fn names(named: &str) -> Result<Vec<String>, Failure> {
        Ok(choose_queries(named, 0.1)?.into_iter().map(|query| query.name).collect())
    }

    #[test]
    fn queries_are_chosen_by_name() {
        assert_eq!(names("q22, q01").unwrap(), ["q01", "q22"]);
        assert_eq!(names("all").unwrap().len(), 22);
        for (named, cause) in [("q23", "there is no query `q23`"), (" ,", "it names no query")] {
            let refused = names(named).unwrap_err();
            assert!(refused.to_string().contains(cause) && refused.hint.is_some(), "{refused}");
        }
    }
}
