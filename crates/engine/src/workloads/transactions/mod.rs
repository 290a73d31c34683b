//! Transactions: scripts of SQL statements in pgbench's language, run by many clients.

mod client;
mod dataset;
mod dictionary;
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
mod traffic;
mod turns;
mod value;

use model::{KeyKind, KeySpec, Literal, Point, WorkloadSpec};

use crate::dataset::{Dataset, Tables};
use crate::error::{Failure, FailureKind};
use crate::workloads::{Action, Grants, StreamTask, Task, Texts, Workload};

pub use client::{Flow, OPEN_TRANSACTION, Rows, ScriptClient, StatementOp};
pub use dataset::pgbench as pgbench_tables;
pub use dictionary::{Dictionary, Digits, Fill, Numbering, WordList, Words};
pub use mix::{MixError, Source, compile_mix, weighted};
pub use options::{Debug, Options, Shell, Unset};
pub use program::{CountCheck, Countable, Effect, MessagePart, Program, Protocol, Statement, split};
pub use script::{ScriptError, compile, compile_with};
pub use turns::{Part, Parts, Piece, Share, Turn, WordyStatement};

pub(crate) const SCRIPTS: &[&str] = &["postgresql-tasks", "select-only", "select-update", "simple-update", "tpcb-like"];

const KEYS: &[KeySpec] = &[
    KeySpec::new(
        "script",
        KeyKind::Mix(SCRIPTS),
        Literal::Text("tpcb-like"),
        "What each transaction does: a built-in script, the path of a file in pgbench's language, or several \
         with weights, as in `select-only@9, ./write.sql`",
    ),
    KeySpec::new(
        "clients",
        KeyKind::Int { min: 1, max: 100_000 },
        Literal::Int(1),
        "Clients that run transactions at the same time, in each process; each has a connection of its own \
         unless there is a pool",
    ),
    KeySpec::new(
        "scale",
        KeyKind::Int { min: 1, max: 20_000 },
        Literal::Int(1),
        "Size of the tables: 100,000 accounts, 10 tellers and 1 branch for each step, as in pgbench",
    ),
    KeySpec::new(
        "rate",
        KeyKind::Float { min: 0.0, max: 1e9 },
        Literal::Float(0.0),
        "Transactions a second, all clients together, latency counted from the intended start; 0 means as fast \
         as the system answers",
    ),
    KeySpec::optional(
        "arrivals",
        KeyKind::Choice(&["constant", "poisson"]),
        "How the intended starts of a `rate` are spread: `constant`, at even distances, unless it is `poisson`",
    ),
    KeySpec::optional(
        "ramp",
        KeyKind::Duration,
        "The time, within the warm-up, over which clients begin one after the other or a `rate` grows; all begin \
         at once without it",
    ),
    KeySpec::optional(
        "think_time",
        KeyKind::DurationRange,
        "What a client waits between two transactions, without a connection of the pool: a time, or a range such \
         as `50ms..249ms`; nothing without it",
    ),
    KeySpec::optional(
        "pause",
        KeyKind::DurationRange,
        "What a client waits between two statements of a transaction, its connection kept: a time or a range; \
         nothing without it",
    ),
    KeySpec::optional(
        "reconnect",
        KeyKind::Int { min: 0, max: 1_000_000_000 },
        "After how many transactions a connection is made anew; never without it",
    ),
    KeySpec::optional(
        "latency_limit",
        KeyKind::Duration,
        "Responses beyond it are counted as late, and so is what failed; under a `rate`, transactions that are later than that before \
         they begin are skipped and counted",
    ),
    KeySpec::optional(
        "limits",
        KeyKind::Durations,
        "Responses beyond each of these are counted, with what failed or was skipped; 100ms, 1s, 5s and 10s without it",
    ),
    KeySpec::optional(
        "pool.size",
        KeyKind::Int { min: 1, max: 100_000 },
        "Connections that the clients or tasks of a process share, first come, first served; without it each \
         client has its own",
    ),
    KeySpec::optional(
        "pool.acquire_timeout",
        KeyKind::Duration,
        "How long a client waits for a connection of the pool before its transaction has failed; for ever \
         without it",
    ),
    KeySpec::optional(
        "tasks",
        KeyKind::Int { min: 1, max: 1_000_000 },
        "So many tasks in each process instead of clients: all due at the start (or over the `ramp`), each one \
         transaction; the run ends when all have ended, whatever the schedule's warm-up and length",
    ),
    KeySpec::optional(
        "tasks_at_once",
        KeyKind::Int { min: 1, max: 1_000_000 },
        "At most so many tasks of a process are under way at a time, and each further one is due when one has \
         ended; all at once without it",
    ),
    KeySpec::optional(
        "processes",
        KeyKind::Int { min: 1, max: 256 },
        "Independent copies of the load, each with its clients or tasks, its pool and a thread; one without it",
    ),
    keys::PROTOCOL,
    keys::PIPELINE,
    keys::DEFINE,
    keys::MAX_TRIES,
    keys::RETRY_WITHIN,
    keys::THREADS,
    keys::TABLES,
];

pub struct Transactions;

impl Workload for Transactions {
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "transactions",
            family: "transactions",
            about: "Scripts of SQL statements on pgbench's tables, by many clients",
            rate_unit: "tx/s",
            keys: KEYS,
            idle: model::no_idle_keys,
        }
    }

    fn task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let int = |key: &str| point.get(key).and_then(model::Value::as_int);
        let wrong = |what: &str| Failure::new(FailureKind::Plan, format!("read the key `{what}`"), "it has no value");
        let script = point.get("script").and_then(model::Value::as_text).ok_or_else(|| wrong("script"))?;
        let scale = int("scale").ok_or_else(|| wrong("scale"))?;
        let clients = int("clients").ok_or_else(|| wrong("clients"))?;
        let (pace, traffic) = traffic::read(point)?;
        let clients = traffic.tasks.map_or(clients as u32, |tasks| tasks) * traffic.processes;
        let options = Options { clients, ..keys::options(point, grants)? };
        let mut program = program(script, &options, &grants.texts)?;
        // As with `pgbench -L`: beyond the limit it is too late to try again.
        program.retry.within_ns = program.retry.within_ns.into_iter().chain(traffic.latency_limit_ns).min();
        let dataset = match options.tables {
            Tables::Own => dataset_of(script, scale as u64),
            Tables::None => {
                // What the tables held before is not known.
                program.check = None;
                Dataset { name: "the tables that are there".to_owned(), ..Dataset::default() }
            }
        };
        let threads = keys::threads(point);
        Ok(Task {
            dataset,
            action: Action::Stream(StreamTask { work: program.into(), clients: 0..clients, pace, threads, traffic }),
        })
    }
}

/// pgbench's tables for any script that is not built in.
fn dataset_of(scripts: &str, scale: u64) -> Dataset {
    if scripts == "postgresql-tasks" { dataset::table_a(scale) } else { dataset::pgbench(scale) }
}

/// `scripts` is one script or several with weights, `a.sql@3, b.sql`.
fn program(scripts: &str, options: &Options, files: &Texts) -> Result<Program, Failure> {
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
        let (text, check) = source(name, files)?;
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

/// A script's text, and the query that counts its work on the server.
fn source(script: &str, files: &Texts) -> Result<(String, Option<CountCheck>), Failure> {
    let history = || Some(CountCheck { sql: "SELECT count(*) FROM pgbench_history" });
    let built_in = match script {
        // Its update leaves the row as it is, so nothing in the table tells of it.
        "postgresql-tasks" => Some((include_str!("scripts/postgresql-tasks.sql"), None)),
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
    let text = files.read(script).map_err(|error| {
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
            let (text, check) = source(script, &Texts::Files).unwrap();
            let program = compile(&text, &[("scale", 1)]).unwrap();
            let leaves_no_trace = *script == "postgresql-tasks";
            let is_counted = program.writes() && !leaves_no_trace;
            assert_eq!(check.is_some(), is_counted, "{script}: what writes must be counted at the server");
        }
    }

    #[test]
    fn a_list_of_scripts_is_a_mix() {
        let options = Options::default();
        let mix = program("simple-update@2, tpcb-like", &options, &Texts::Files).unwrap();
        assert_eq!(mix.check, source("tpcb-like", &Texts::Files).unwrap().1);
        assert_eq!(mix.commits_per_transaction(), 1);
        assert_eq!(program("select-only@2, tpcb-like", &options, &Texts::Files).unwrap().check, None);
        let refused = program("select-only@x", &options, &Texts::Files).unwrap_err();
        assert!(refused.to_string().contains("`x` is not a weight"), "{refused}");
        assert!(program("select-only, nothing.sql", &options, &Texts::Files).is_err());
    }

    #[test]
    fn an_unknown_script_names_those_that_exist() {
        let failure = source("tpcc.sql", &Texts::Files).unwrap_err();
        assert!(failure.hint.unwrap().contains("tpcb-like"));
    }
}
