//! Transactions: scripts of SQL statements in pgbench's language, run by many clients.

mod client;
mod dataset;
mod expression;
mod function;
mod keys;
mod meta;
mod mix;
mod options;
mod program;
mod random;
mod scan;
mod script;
mod shell;
mod slots;
mod tokens;
mod value;

use model::{KeyKind, KeySpec, Literal, Point, WorkloadSpec};

use crate::dataset::{Dataset, Tables};
use crate::error::{Failure, FailureKind};
use crate::worker::Pace;
use crate::workloads::{Action, Grants, StreamTask, Task, Workload};

pub use client::{Flow, OPEN_TRANSACTION, Rows, ScriptClient, StatementOp};
pub use dataset::pgbench as pgbench_tables;
pub use mix::{MixError, Source, compile_mix, weighted};
pub use options::{Debug, Options, Shell, Unset};
pub use program::{CountCheck, Program, Protocol, Statement};
pub use script::{ScriptError, compile, compile_with};

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
    keys::PROTOCOL,
    keys::PIPELINE,
    keys::DEFINE,
    keys::MAX_TRIES,
    keys::RETRY_WITHIN,
    keys::THREADS,
    keys::TABLES,
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

    fn task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let int = |key: &str| point.get(key).and_then(model::Value::as_int);
        let wrong = |what: &str| Failure::new(FailureKind::Plan, format!("read the key `{what}`"), "it has no value");
        let script = point.get("script").and_then(model::Value::as_text).ok_or_else(|| wrong("script"))?;
        let scale = int("scale").ok_or_else(|| wrong("scale"))?;
        let clients = int("clients").ok_or_else(|| wrong("clients"))?;
        let rate = point.get("rate").and_then(model::Value::as_float).unwrap_or_default();
        let options = keys::options(point, grants)?;
        let mut program = program(script, &options)?;
        let dataset = match options.tables {
            Tables::Own => dataset::pgbench(scale as u64),
            Tables::None => {
                // What the tables held before is not known.
                program.check = None;
                Dataset { name: "the tables that are there".to_owned(), tables: Vec::new(), size_bytes: 0 }
            }
        };
        let pace = if rate > 0.0 { Pace::Rate(rate) } else { Pace::Closed };
        Ok(Task {
            dataset,
            action: Action::Stream(StreamTask {
                program,
                clients: 0..clients as u32,
                pace,
                threads: keys::threads(point),
            }),
        })
    }
}

/// Compiles what the key `script` names: one script, or several with weights, `a.sql@3, b.sql`.
fn program(scripts: &str, options: &Options) -> Result<Program, Failure> {
    let refuse = |error: MixError| {
        // The name of a single script has been said already.
        let cause = match error {
            MixError::Script { error, .. } if !scripts.contains(',') => error.to_string(),
            other => other.to_string(),
        };
        Failure::new(FailureKind::Plan, format!("compile the script `{scripts}`"), cause)
    };
    let mut texts = Vec::new();
    for script in scripts.split(',').map(str::trim) {
        let (name, weight) = weighted(script).map_err(refuse)?;
        let (text, check) = source(name)?;
        texts.push((name, weight, text, check));
    }
    let sources: Vec<Source<'_>> =
        texts.iter().map(|(name, weight, text, _)| Source { name, text, weight: *weight }).collect();
    let mut program = compile_mix(&sources, options).map_err(refuse)?;
    // A count says something of a mix only if each of its scripts adds one to it.
    let first = texts.first().and_then(|(.., check)| *check);
    program.check = first.filter(|_| texts.iter().all(|(.., check)| *check == first));
    Ok(program)
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
    fn a_list_of_scripts_is_a_mix() {
        let options = Options::default();
        let mix = program("simple-update@2, tpcb-like", &options).unwrap();
        assert_eq!(mix.check, source("tpcb-like").unwrap().1);
        assert_eq!(mix.commits_per_transaction(), 1);
        assert_eq!(program("select-only@2, tpcb-like", &options).unwrap().check, None);
        let refused = program("select-only@x", &options).unwrap_err();
        assert!(refused.to_string().contains("`x` is not a weight"), "{refused}");
        assert!(program("select-only, nothing.sql", &options).is_err());
    }

    #[test]
    fn an_unknown_script_names_those_that_exist() {
        let failure = source("tpcc.sql").unwrap_err();
        assert!(failure.hint.unwrap().contains("tpcb-like"));
    }
}
