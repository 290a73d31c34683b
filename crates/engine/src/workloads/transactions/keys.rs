//! The keys of `transactions` that say how a script is run, read from a point of the sweep.

use std::time::Duration;

use model::{KeyKind, KeySpec, Point, Value};

use super::options::Options;
use super::program::Protocol;
use super::tokens::is_name;
use crate::dataset::Tables;
use crate::error::{Failure, FailureKind};
use crate::stream::Retry;
use crate::target::Threads;
use crate::workloads::Grants;

pub(super) const PROTOCOL: KeySpec = KeySpec::optional(
    "protocol",
    KeyKind::Choice(Protocol::WORDS),
    "How statements travel, as by pgbench's `-M`: prepared once, `extended` (with parameters, parsed each time), or \
     `simple` (as one text)",
);

pub(super) const PIPELINE: KeySpec = KeySpec::optional(
    "pipeline",
    KeyKind::Int { min: 1, max: 10_000 },
    "Transactions that a client sends before it waits for the first of them; latency is then that of all of them \
     together",
);

pub(super) const DEFINE: KeySpec = KeySpec::optional(
    "define",
    KeyKind::Text,
    "Variables of the script, as in `\"naccounts=1000, x=2\"`: pgbench's `-D`",
);

pub(super) const MAX_TRIES: KeySpec = KeySpec::optional(
    "max_tries",
    KeyKind::Int { min: 0, max: 1_000_000 },
    "How often a transaction is tried that fails by a serialization failure or a deadlock, the first time included; \
     0 means until it succeeds",
);

pub(super) const RETRY_WITHIN: KeySpec = KeySpec::optional(
    "retry_within",
    KeyKind::Duration,
    "How long after its intended start a transaction may be tried again; `\"0s\"` means without limit",
);

pub(super) const THREADS: KeySpec = KeySpec::optional(
    "threads",
    KeyKind::Int { min: 0, max: 1_024 },
    "Threads that make the load, never more than clients; 0 means one for each core, and inside SQLite one for each \
     client",
);

pub(super) const TABLES: KeySpec = KeySpec::optional(
    "tables",
    KeyKind::Choice(&["own", "none"]),
    "`own`: pgbench's tables, made by étalon before each run; `none`: the script works on tables that are there, \
     and étalon makes and drops nothing",
);

fn refuse(key: &str, value: &str, cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Plan, format!("use `{key} = {value}`"), cause)
}

fn int(point: &Point, key: &str) -> Option<i64> {
    point.get(key).and_then(Value::as_int)
}

fn text<'p>(point: &'p Point, key: &str) -> Option<&'p str> {
    point.get(key).and_then(Value::as_text)
}

/// A missing key has its default.
pub(super) fn options(point: &Point, grants: &Grants) -> Result<Options, Failure> {
    let word = text(point, "protocol").unwrap_or("prepared");
    let protocol = Protocol::of_word(word).ok_or_else(|| refuse("protocol", word, "there is no such protocol"))?;
    let depth = int(point, "pipeline").unwrap_or(1).max(1) as u32;
    let retry = retry(point)?;
    if depth > 1 {
        refuse_with_pipeline(point, depth, protocol, retry)?;
    }
    Ok(Options {
        scale: int(point, "scale").unwrap_or(1),
        clients: int(point, "clients").unwrap_or(1) as u32,
        definitions: definitions(text(point, "define").unwrap_or_default())?,
        protocol,
        unset: protocol.unset(),
        retry,
        depth,
        tables: tables(point),
        shell: grants.shell,
        debug: grants.debug,
    })
}

/// What cannot be had together with a pipeline.
fn refuse_with_pipeline(point: &Point, depth: u32, protocol: Protocol, retry: Retry) -> Result<(), Failure> {
    let refuse = |cause: &str| Err(refuse("pipeline", &depth.to_string(), cause));
    if protocol == Protocol::Simple {
        return refuse("the simple protocol has no pipeline; `protocol = \"prepared\"` and `\"extended\"` have one");
    }
    if retry.max_tries != 1 {
        return refuse(
            "of a pipeline a part may have been committed, so that it cannot be tried again: `max_tries` is 1",
        );
    }
    if point.get("rate").and_then(Value::as_float).unwrap_or_default() > 0.0 {
        return refuse("a pipeline is sent at once, so that its transactions cannot keep a `rate`");
    }
    if let Some(key) = ["tasks", "pause"].into_iter().find(|key| point.contains_key(*key)) {
        return refuse(&format!("a pipeline is sent at once, and `{key}` is about transactions one by one"));
    }
    Ok(())
}

fn retry(point: &Point) -> Result<Retry, Failure> {
    let max_tries = int(point, "max_tries").unwrap_or(1);
    let written = text(point, "retry_within").unwrap_or("0s");
    let within = model::duration::parse(written).map_err(|error| refuse("retry_within", written, error))?;
    let within_ns = (within > Duration::ZERO).then_some(within.as_nanos() as u64);
    Ok(Retry { max_tries: max_tries as u32, within_ns })
}

pub(super) fn tables(point: &Point) -> Tables {
    if text(point, "tables") == Some("none") { Tables::None } else { Tables::Own }
}

pub(super) fn threads(point: &Point) -> Threads {
    match int(point, "threads") {
        Some(count @ 1..) => Threads::AtMost(count as u32),
        _ => Threads::Best,
    }
}

/// Reads `name=value, name=value`. A value ends at the next comma; the last of a repeated name wins.
fn definitions(text: &str) -> Result<Vec<(String, String)>, Failure> {
    let mut definitions: Vec<(String, String)> = Vec::new();
    for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
        let wrong =
            |cause: String| refuse("define", text, cause).hint("write it as `define = \"naccounts=1000, x=2\"`");
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
    use crate::workloads::transactions::Unset;

    fn point(pairs: &[(&str, Value)]) -> Point {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()
    }

    fn word(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn definitions_are_pairs() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(definitions("").unwrap(), []);
        assert_eq!(definitions(" a=1, b = x y ,c=").unwrap(), [pair("a", "1"), pair("b", "x y"), pair("c", "")]);
        assert_eq!(definitions("a=1, a=2").unwrap(), [pair("a", "2")]);
        assert_eq!(definitions("a=b=c").unwrap(), [pair("a", "b=c")]);
        for wrong in ["a", "1a=1", "=1"] {
            assert!(definitions(wrong).unwrap_err().hint.is_some(), "{wrong}");
        }
    }

    #[test]
    fn keys_become_options() {
        let grants = Grants::default();
        let all = point(&[
            ("protocol", word("extended")),
            ("max_tries", Value::Int(3)),
            ("retry_within", word("50ms")),
            ("define", word("x=1")),
            ("tables", word("none")),
        ]);
        let options = options(&all, &grants).unwrap();
        assert_eq!((options.protocol, options.unset), (Protocol::Extended, Unset::Accepted));
        assert_eq!(options.retry, Retry { max_tries: 3, within_ns: Some(50_000_000) });
        assert_eq!((options.definitions.len(), options.tables, options.depth), (1, Tables::None, 1));
        assert_eq!(super::options(&point(&[]), &grants).unwrap().protocol, Protocol::Prepared);
        assert_eq!(threads(&point(&[("threads", Value::Int(0))])), Threads::Best);
        assert_eq!(threads(&point(&[("threads", Value::Int(2))])), Threads::AtMost(2));
    }

    #[test]
    fn what_does_not_go_with_a_pipeline_is_refused() {
        let refused = |key: &str, value: Value| {
            let point = point(&[("pipeline", Value::Int(5)), (key, value)]);
            options(&point, &Grants::default()).unwrap_err().to_string()
        };
        assert!(refused("protocol", word("simple")).contains("`pipeline = 5`"));
        assert!(refused("max_tries", Value::Int(2)).contains("tried again"));
        assert!(refused("rate", Value::Float(10.0)).contains("rate"));
        assert!(refused("pause", word("5ms")).contains("`pause`"));
        assert!(refused("tasks", Value::Int(9)).contains("`tasks`"));
    }
}
