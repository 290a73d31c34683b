//! The keys of `transactions` that say how a script is run, read from a point of the sweep.

use std::time::Duration;

use model::{FromKey, Value};

use super::SCRIPTS;
use super::options::ScriptOptions;
use super::program::Protocol;
use super::tokens::is_name;
use crate::dataset::Tables;
use crate::workload::Grants;
use load::error::{Failure, FailureKind};
use load::generator::ThreadLimit;
use load::stream::Retry;

model::keys! {
    pub(super) struct TransactionKeys {
        /// What each transaction does: a built-in script, the path of a file in pgbench's language, or several with
        /// weights, as in `select-only@9, ./write.sql`
        script: String = mix(SCRIPTS).or("tpcb-like"),
        /// Clients that run transactions at the same time, in each process; each has a connection of its own unless
        /// there is a pool
        clients: u32 = int(1..=100_000).or(1),
        /// Size of the tables: 100,000 accounts, 10 tellers and 1 branch for each step, as in pgbench
        scale: u64 = int(1..=20_000).or(1),
        /// Transactions a second, all clients together, latency counted from the intended start; 0 means as fast as the
        /// system answers
        rate: f64 = float(0.0..=1e9).or(0.0),
        /// In the place of a `rate`: each run finds the highest at which 99 of 100 responses come within this time of their
        /// intended start, by short runs of the schedule's length
        promise_p99 as "promise.response_p99": Option<Duration> = DURATION,
        /// The share of transactions that may fail at that rate; 0.001 without it
        promise_errors as "promise.errors": Option<f64> = SHARE,
        /// The most clients, in place of `clients`: they ask as soon as they are answered, and each run finds the highest number
        /// of them, up to this one, that keeps the promise; a rate is sought without it
        max_clients as "promise.max_clients": Option<u32> = int(1..=100_000),
        /// How the intended starts of a `rate` are spread: `constant`, at even distances, unless it is `poisson`
        arrivals: Option<String> = choice(&["constant", "poisson"]),
        /// The time, within the warm-up, over which clients begin one after the other or a `rate` grows; all begin at
        /// once without it
        ramp: Option<Duration> = DURATION,
        /// What a client waits between two transactions, without a connection of the pool: a time, or a range such as
        /// `50ms..249ms`; nothing without it
        think_time: Option<(Duration, Duration)> = DURATION_RANGE,
        /// What a client waits between two statements of a transaction, its connection kept: a time or a range; nothing
        /// without it
        pause: Option<(Duration, Duration)> = DURATION_RANGE,
        /// After how many transactions a connection is made anew; never without it
        reconnect: Option<u32> = int(0..=1_000_000_000),
        /// Responses beyond it are counted as late, and so is what failed; under a `rate`, transactions that are later
        /// than that before they begin are skipped and counted
        latency_limit: Option<Duration> = DURATION,
        /// Responses beyond each of these are counted, with what failed or was skipped; 100ms, 1s, 5s and 10s without
        /// it
        limits: Option<Vec<Duration>> = DURATIONS,
        /// Connections that the clients or tasks of a process share, first come, first served; without it each client
        /// has its own
        pool_size as "pool.size": Option<u32> = int(1..=100_000),
        /// How long a client waits for a connection of the pool before its transaction has failed; for ever without it
        acquire_timeout as "pool.acquire_timeout": Option<Duration> = DURATION,
        /// So many tasks in each process instead of clients: all due at the start (or over the `ramp`), each one
        /// transaction; the run ends when all have ended, whatever the schedule's warm-up and length
        tasks: Option<u32> = int(1..=1_000_000),
        /// At most so many tasks of a process are under way at a time, and each further one is due when one has ended;
        /// all at once without it
        tasks_at_once: Option<u32> = int(1..=1_000_000),
        /// Independent copies of the load, each with its clients or tasks, its pool and a thread; one without it
        processes: Option<u32> = int(1..=256),
        /// How statements travel, as by pgbench's `-M`: prepared once, `extended` (with parameters, parsed each time),
        /// or `simple` (as one text)
        protocol: Option<Protocol> = choice(Protocol::WORDS),
        /// Transactions that a client sends before it waits for the first of them; latency is then that of all of them
        /// together
        pipeline: Option<u32> = int(1..=10_000),
        /// Variables of the script, as in `"naccounts=1000, x=2"`: pgbench's `-D`
        define: Option<String> = TEXT,
        /// How often a transaction is tried that fails by a serialization failure or a deadlock, the first time
        /// included; 0 means until it succeeds
        max_tries: Option<u32> = int(0..=1_000_000),
        /// How long after its intended start a transaction may be tried again; `"0s"` means without limit
        retry_within: Option<Duration> = DURATION,
        /// Threads that make the load, never more than clients; 0 means one for each core, and one for each
        /// client where the engine works inside étalon
        threads: Option<u32> = int(0..=1_024),
        /// `own`: pgbench's tables, made by étalon before each run; `none`: the script works on tables that are there,
        /// and étalon makes and drops nothing
        tables: Option<String> = choice(&["own", "none"]),
    }
}

/// Makes the failure of a key's value.
fn refuse_key(key: &str, value: &str, cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Plan, format!("use `{key} = {value}`"), cause)
}

impl FromKey for Protocol {
    /// Reads the key `protocol`; `None` for another word.
    fn from_key(value: Option<&Value>) -> Option<Protocol> {
        Protocol::from_word(value?.as_text()?)
    }
}

/// Reads the options of a script from the keys.
pub(super) fn script_options(keys: &TransactionKeys, grants: &Grants) -> Result<ScriptOptions, Failure> {
    let protocol = keys.protocol.unwrap_or_default();
    let depth = keys.pipeline.unwrap_or(1);
    let retry = retry_rule(keys);
    if depth > 1 {
        refuse_with_pipeline(keys, depth, protocol, retry)?;
    }
    Ok(ScriptOptions {
        scale: keys.scale as i64,
        clients: keys.clients,
        definitions: parse_definitions(keys.define.as_deref().unwrap_or_default())?,
        protocol,
        unset: protocol.unset_rule(),
        retry,
        depth,
        tables: if keys.tables.as_deref() == Some("none") { Tables::None } else { Tables::Own },
        shell: grants.shell,
        debug: grants.debug,
    })
}

/// Fails if keys are set that cannot be had together with a pipeline.
fn refuse_with_pipeline(keys: &TransactionKeys, depth: u32, protocol: Protocol, retry: Retry) -> Result<(), Failure> {
    if protocol == Protocol::Simple {
        return Err(refuse_key(
            "pipeline",
            &depth.to_string(),
            "the simple protocol has no pipeline; `protocol = \"prepared\"` and `\"extended\"` have one",
        ));
    }
    if retry.max_tries != 1 {
        return Err(refuse_key(
            "pipeline",
            &depth.to_string(),
            "of a pipeline a part may have been committed, so that it cannot be tried again: `max_tries` is 1",
        ));
    }
    if keys.rate > 0.0 || keys.promise_p99.is_some() {
        return Err(refuse_key(
            "pipeline",
            &depth.to_string(),
            "a pipeline is sent at once, so that its transactions cannot keep a `rate`",
        ));
    }
    let by_one = [("tasks", keys.tasks.is_some()), ("pause", keys.pause.is_some())];
    if let Some((key, _)) = by_one.into_iter().find(|(_, is_set)| *is_set) {
        return Err(refuse_key(
            "pipeline",
            &depth.to_string(),
            format!("a pipeline is sent at once, and `{key}` is about transactions one by one"),
        ));
    }
    Ok(())
}

/// Reads from the keys how often and how long failed transactions are tried again.
fn retry_rule(keys: &TransactionKeys) -> Retry {
    let within = keys.retry_within.filter(|within| *within > Duration::ZERO);
    Retry { max_tries: keys.max_tries.unwrap_or(1), within_ns: within.map(|within| within.as_nanos() as u64) }
}

/// Reads from the keys how many threads the load has at most.
pub(super) fn thread_limit(keys: &TransactionKeys) -> ThreadLimit {
    match keys.threads {
        Some(count @ 1..) => ThreadLimit::AtMost(count),
        _ => ThreadLimit::Best,
    }
}

/// Parses `name=value, name=value` to variables' values; a value ends at the next comma, the last of a name wins.
fn parse_definitions(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut definitions: Vec<(String, String)> = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let wrong = |cause: String| {
            refuse_key("define", text, cause).with_hint("write it as `define = \"naccounts=1000, x=2\"`")
        };
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong(format!("`{pair}` has no `=`")))?;
        let (name, value) = (name.trim(), value.trim());
        if !is_name(name) {
            return Err(wrong(format!("`{name}` cannot be the name of a variable")));
        }
        definitions.retain(|(known, _)| known != name);
        definitions.push((name.to_owned(), value.to_owned()));
    }
    Ok(definitions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transactions::Unset;

    fn keys(pairs: &[(&str, Value)]) -> TransactionKeys {
        TransactionKeys::read(&pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()).unwrap()
    }

    fn word(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn definitions_are_pairs() {
        assert_eq!(parse_definitions("").unwrap(), []);
        assert_eq!(parse_definitions(" a=1, b = x y ,c=").unwrap(), [pair("a", "1"), pair("b", "x y"), pair("c", "")]);
        assert_eq!(parse_definitions("a=1, a=2").unwrap(), [pair("a", "2")]);
        assert_eq!(parse_definitions("a=b=c").unwrap(), [pair("a", "b=c")]);
        for wrong in ["a", "1a=1", "=1"] {
            assert!(parse_definitions(wrong).unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    fn pair(a: &str, b: &str) -> (String, String) {
        (a.to_owned(), b.to_owned())
    }

    #[test]
    fn keys_become_options() {
        let grants = Grants::default();
        let all = keys(&[
            ("protocol", word("extended")),
            ("max_tries", Value::Int(3)),
            ("retry_within", word("50ms")),
            ("define", word("x=1")),
            ("tables", word("none")),
        ]);
        let options = script_options(&all, &grants).unwrap();
        assert_eq!((options.protocol, options.unset), (Protocol::Extended, Unset::Accepted));
        assert_eq!(options.retry, Retry { max_tries: 3, within_ns: Some(50_000_000) });
        assert_eq!((options.definitions.len(), options.tables, options.depth), (1, Tables::None, 1));
        assert_eq!(script_options(&keys(&[]), &grants).unwrap().protocol, Protocol::Prepared);
        assert_eq!(thread_limit(&keys(&[("threads", Value::Int(0))])), ThreadLimit::Best);
        assert_eq!(thread_limit(&keys(&[("threads", Value::Int(2))])), ThreadLimit::AtMost(2));
    }

    #[test]
    fn what_does_not_go_with_a_pipeline_is_refused() {
        assert!(refused("protocol", word("simple")).contains("`pipeline = 5`"));
        assert!(refused("max_tries", Value::Int(2)).contains("tried again"));
        assert!(refused("rate", Value::Float(10.0)).contains("rate"));
        assert!(refused("pause", word("5ms")).contains("`pause`"));
        assert!(refused("tasks", Value::Int(9)).contains("`tasks`"));
    }

    fn refused(key: &str, value: Value) -> String {
        let keys = keys(&[("pipeline", Value::Int(5)), (key, value)]);
        script_options(&keys, &Grants::default()).unwrap_err().to_string()
    }
}
