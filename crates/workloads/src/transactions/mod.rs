//! Transactions: scripts of SQL statements in pgbench's language, run by many clients.

mod client;
pub(crate) mod counted;
mod dataset;
mod dictionary;
mod drawn;
mod expression;
mod function;
mod keys;
mod known;
mod meta;
mod mix;
mod native;
mod options;
mod program;
mod random;
mod scan;
mod script;
mod shell;
mod slots;
mod stream;
mod tokens;
mod traffic;
mod turns;
mod value;
mod waits;

use model::{Point, Value, WorkloadSpec};

use crate::dataset::{Dataset, Tables};
use crate::texts::Texts;
use crate::work::StreamTask;
use crate::workload::{Action, Grants, Task, Workload};
use keys::TransactionKeys;
use known::KnownScript;
use load::error::{Failure, FailureKind};
use load::generator::LoadShape;

pub use client::{Flow, OPEN_TRANSACTION, Rows, ScriptClient, StatementOp};
pub use dataset::pgbench_tables;
pub use dictionary::{Dictionary, Digits, Fill, Numbering, WordList, WordSource};
pub use mix::{MixError, Source, compile_mix, split_weight};
pub use native::{Checking, Moment, Native, NativeClient, NativeRun, NextStep, Sent};
pub use options::{Debug, ScriptOptions, Shell, Unset};
pub(crate) use program::find_variables;
pub use program::{CountCheck, Countable, Effect, MessagePart, Program, Protocol, ScriptStatement, split_message};
pub use script::{ScriptError, compile, compile_with};
pub use stream::ProgramClient;
pub use turns::{ClientGroup, LiteralPart, Parts, StatementPiece, Turn, WordyStatement};

/// Built-in scripts; [`built_in_script`] has their text.
pub const SCRIPTS: &[&str] = &["postgresql-tasks", "select-only", "select-update", "simple-update", "tpcb-like"];

pub struct Transactions;

impl Workload for Transactions {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "transactions",
            family: "transactions",
            about: "Scripts of SQL statements on pgbench's tables, by many clients",
            rate_unit: "tx/s",
            keys: TransactionKeys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Whether the script works on tables that are there, and étalon makes none.
    fn is_on_tables_of_others(&self, point: &Point) -> bool {
        point.get("tables").and_then(Value::as_text) == Some("none")
    }

    /// Makes the load of scripts that the plan's point asks for, with pgbench's tables.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = TransactionKeys::read(point)?;
        let (pace, traffic) = traffic::read_keys(&keys)?;
        let clients = traffic.tasks.or(keys.max_clients).unwrap_or(keys.clients) * traffic.processes;
        let options = ScriptOptions { clients, ..keys::script_options(&keys, grants)? };
        let mut program = compile_scripts(&keys.script, &options, &grants.texts)?;
        let may_be_simple = keys.protocol.is_none() && options.depth == 1;
        if may_be_simple && program.joins_statements() {
            let simple =
                ScriptOptions { protocol: Protocol::Simple, unset: Protocol::Simple.unset_rule(), ..options.clone() };
            program = compile_scripts(&keys.script, &simple, &grants.texts)?;
            program.notes.push(JOINED.to_owned());
        }
        // As with `pgbench -L`: beyond the limit it is too late to try again.
        program.retry.within_ns = program.retry.within_ns.into_iter().chain(traffic.latency_limit_ns).min();
        let dataset = match options.tables {
            Tables::Own => {
                let later = program.statements().iter().flat_map(ScriptStatement::created_names).collect();
                Dataset { later, ..dataset_of_scripts(&keys.script, keys.scale) }
            }
            Tables::None => {
                // What the tables contained before is not known.
                program.check = None;
                program.known.clear();
                Dataset { name: "the tables that are there".to_owned(), ..Dataset::default() }
            }
        };
        let threads = keys::thread_limit(&keys);
        Ok(Task {
            dataset,
            action: Action::Stream(StreamTask {
                work: program.into(),
                shape: LoadShape { clients: 0..clients, pace, threads, traffic },
            }),
        })
    }
}

/// What cannot be prepared is sent as pgbench sends it unless an option says otherwise.
const JOINED: &str = "the script joins statements by `\\;`, which cannot be prepared: it runs with `protocol = \"simple\"`, \
                      pgbench's default";

/// Makes the tables of a script: the published task's own, or pgbench's.
fn dataset_of_scripts(scripts: &str, scale: u64) -> Dataset {
    if scripts == "postgresql-tasks" { dataset::table_a(scale) } else { pgbench_tables(scale) }
}

/// Compiles one script or several with weights, such as `a.sql@3, b.sql`, to a program.
fn compile_scripts(scripts: &str, options: &ScriptOptions, files: &Texts) -> Result<Program, Failure> {
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
        let (name, weight) = split_weight(script).map_err(refuse)?;
        let (text, check) = script_source(name, files)?;
        texts.push((name, weight, text, check));
    }
    let sources: Vec<Source<'_>> =
        texts.iter().map(|(name, weight, text, _)| Source { name, text, weight: *weight }).collect();
    let mut program = compile_mix(&sources, options).map_err(refuse)?;
    // A count says something of a mix only if each of its scripts adds one to it.
    program.known = texts.iter().map(|(name, ..)| KnownScript::for_built_in(name)).collect();
    let first = texts.first().and_then(|(.., check)| *check);
    program.check = if texts.iter().all(|(.., check)| *check == first) { first } else { None };
    Ok(program)
}

/// Reads a script's text, and the query that counts its work on the server, if it is built in.
fn script_source(script: &str, files: &Texts) -> Result<(String, Option<CountCheck>), Failure> {
    if let Some((text, check)) = built_in_source(script) {
        return Ok((text.to_owned(), check));
    }
    let text = files.read_script(script).map_err(|error| {
        let near = model::near::did_you_mean(script, SCRIPTS.iter().copied());
        Failure::new(FailureKind::Plan, format!("read the script `{script}`"), error)
            .with_hint(near.unwrap_or_else(|| format!("built-in scripts: {}", SCRIPTS.join(", "))))
    })?;
    Ok((text, None))
}

/// Text of a built-in script; `None` if there is no such one.
pub fn built_in_script(name: &str) -> Option<&'static str> {
    built_in_source(name).map(|(text, _)| text)
}

/// Text of a built-in script, and the query that counts its work.
fn built_in_source(script: &str) -> Option<(&'static str, Option<CountCheck>)> {
    match script {
        // Its update leaves the row as it is, so nothing in the table shows it.
        "postgresql-tasks" => Some((include_str!("scripts/postgresql-tasks.sql"), None)),
        "select-only" => Some((include_str!("scripts/select-only.sql"), None)),
        "select-update" => Some((
            include_str!("scripts/select-update.sql"),
            Some(CountCheck { sql: "SELECT sum(abalance) FROM pgbench_accounts" }),
        )),
        "simple-update" => Some((include_str!("scripts/simple-update.sql"), history_check())),
        "tpcb-like" => Some((include_str!("scripts/tpcb-like.sql"), history_check())),
        _ => None,
    }
}

/// Makes the check that counts the rows of the history.
fn history_check() -> Option<CountCheck> {
    Some(CountCheck { sql: "SELECT count(*) FROM pgbench_history" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_script_compiles() {
        for script in SCRIPTS {
            let (text, check) = script_source(script, &Texts::Files).unwrap();
            let program = compile(&text, &[("scale", 1)]).unwrap();
            let leaves_no_trace = *script == "postgresql-tasks";
            let is_counted = program.has_writes() && !leaves_no_trace;
            assert_eq!(check.is_some(), is_counted, "{script}: what writes must be counted at the server");
        }
    }

    #[test]
    fn a_list_of_scripts_is_a_mix() {
        let options = ScriptOptions::default();
        let mix = compile_scripts("simple-update@2, tpcb-like", &options, &Texts::Files).unwrap();
        assert_eq!(mix.check, script_source("tpcb-like", &Texts::Files).unwrap().1);
        assert_eq!(mix.commits_per_transaction(), 1);
        assert_eq!(compile_scripts("select-only@2, tpcb-like", &options, &Texts::Files).unwrap().check, None);
        let refused = compile_scripts("select-only@x", &options, &Texts::Files).unwrap_err();
        assert!(refused.to_string().contains("`x` is not a weight"), "{refused}");
        assert!(compile_scripts("select-only, nothing.sql", &options, &Texts::Files).is_err());
    }

    #[test]
    fn an_unknown_script_names_those_that_exist() {
        let failure = script_source("tpcc.sql", &Texts::Files).unwrap_err();
        assert!(failure.hint.unwrap().contains("tpcb-like"));
    }
}
