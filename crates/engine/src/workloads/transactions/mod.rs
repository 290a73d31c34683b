//! Transactions: scripts of SQL statements, run by many clients.

mod dataset;
mod expression;
mod program;
mod script;

use model::{KeyKind, KeySpec, Literal, Point, WorkloadSpec};

use crate::error::{Failure, FailureKind};
use crate::worker::Pace;
use crate::workloads::{Action, StreamTask, Task, Workload};

pub use dataset::pgbench as pgbench_tables;
pub use program::{CountCheck, Program, StatementOp};
pub use script::{ScriptError, compile};

/// The scripts that are built in.
const SCRIPTS: &[&str] = &["select-only", "select-update", "simple-update", "tpcb-like"];

const KEYS: &[KeySpec] = &[
    KeySpec {
        name: "script",
        kind: KeyKind::ChoiceOrFile(SCRIPTS),
        default: Some(Literal::Text("tpcb-like")),
        about: "What each transaction does: a built-in script, or the path of a file in pgbench's language",
    },
    KeySpec {
        name: "clients",
        kind: KeyKind::Int { min: 1, max: 100_000 },
        default: Some(Literal::Int(1)),
        about: "Clients that run transactions at the same time, each on a connection of its own",
    },
    KeySpec {
        name: "scale",
        kind: KeyKind::Int { min: 1, max: 20_000 },
        default: Some(Literal::Int(1)),
        about: "Size of the tables: 100,000 accounts, 10 tellers and 1 branch for each step, as in pgbench",
    },
    KeySpec {
        name: "rate",
        kind: KeyKind::Float { min: 0.0, max: 1e9 },
        default: Some(Literal::Float(0.0)),
        about: "Transactions a second, all clients together, latency counted from the intended start; 0 means as fast \
                as the system answers",
    },
];

/// The `transactions` workload.
pub struct Transactions;

impl Workload for Transactions {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "transactions",
            family: "transactions",
            about: "Scripts of SQL statements on pgbench's tables, by many clients",
            keys: KEYS,
        }
    }

    fn task(&self, point: &Point) -> Result<Task, Failure> {
        let int = |key: &str| point.get(key).and_then(model::Value::as_int);
        let wrong = |what: &str| Failure::new(FailureKind::Plan, format!("read the key `{what}`"), "it has no value");
        let script = point.get("script").and_then(model::Value::as_text).ok_or_else(|| wrong("script"))?;
        let scale = int("scale").ok_or_else(|| wrong("scale"))?;
        let clients = int("clients").ok_or_else(|| wrong("clients"))?;
        let rate = point.get("rate").and_then(model::Value::as_float).unwrap_or_default();
        let (text, check) = source(script)?;
        let mut program = compile(&text, &[("scale", scale)])
            .map_err(|error| Failure::new(FailureKind::Plan, format!("compile the script `{script}`"), error))?;
        program.check = check;
        let pace = if rate > 0.0 { Pace::Rate(rate) } else { Pace::Closed };
        Ok(Task {
            dataset: dataset::pgbench(scale as u64),
            action: Action::Stream(StreamTask { program, clients: 0..clients as u32, pace }),
        })
    }
}

/// The text of a script, with the query that counts its work on the server.
fn source(script: &str) -> Result<(String, Option<CountCheck>), Failure> {
    let history = || Some(CountCheck { sql: "SELECT count(*) FROM pgbench_history" });
    let built_in = match script {
        "select-only" => Some((include_str!("scripts/select-only.sql"), None)),
        "select-update" => Some((
            include_str!("scripts/select-update.sql"),
            Some(CountCheck { sql: "SELECT sum(abalance) FROM pgbench_accounts" }),
        )),
        "simple-update" => Some((include_str!("scripts/simple-update.sql"), history())),
        "tpcb-like" => Some((include_str!("scripts/tpcb-like.sql"), history())),
        _ => None,
    };
    if let Some((text, check)) = built_in {
        return Ok((text.to_owned(), check));
    }
    let text = std::fs::read_to_string(script).map_err(|error| {
        Failure::new(FailureKind::Plan, format!("read the script `{script}`"), error)
            .hint(format!("built-in scripts: {}", SCRIPTS.join(", ")))
    })?;
    Ok((text, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_script_compiles() {
        for script in SCRIPTS {
            let (text, check) = source(script).unwrap();
            let program = compile(&text, &[("scale", 1)]).unwrap();
            assert_eq!(check.is_some(), program.writes(), "{script}: what writes must be counted at the server");
        }
    }

    #[test]
    fn an_unknown_script_names_those_that_exist() {
        let failure = source("tpcc.sql").unwrap_err();
        assert!(failure.hint.unwrap().contains("tpcb-like"));
    }
}
