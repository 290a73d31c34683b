//! The keys that say how transactions come.

use std::time::Duration;

use super::keys::TransactionKeys;
use crate::promise;
use load::error::{Failure, FailureKind};
use load::traffic::{Arrivals, NetworkTraffic, PoolSize, Span};
use load::worker::Pace;

/// Makes the failure of keys that do not go together.
fn refuse_keys(cause: &str, hint: &str) -> Failure {
    Failure::new(FailureKind::Plan, "run the benchmark as its keys say", cause).with_hint(hint)
}

/// Reads from the keys when transactions come and over which connections; fails if they do not go together.
pub(super) fn read_keys(keys: &TransactionKeys) -> Result<(Pace, NetworkTraffic), Failure> {
    let default = NetworkTraffic::default();
    let mut limits_ns = match &keys.limits {
        Some(limits) => limits.iter().copied().map(as_nanoseconds).collect(),
        None => default.limits_ns,
    };
    limits_ns.extend(keys.promise_p99.map(as_nanoseconds));
    limits_ns.sort_unstable();
    limits_ns.dedup();
    let acquire_timeout_ns = length_ns(keys.acquire_timeout);
    let traffic = NetworkTraffic {
        arrivals: if keys.arrivals.as_deref() == Some("poisson") { Arrivals::Poisson } else { Arrivals::Constant },
        ramp_ns: length_ns(keys.ramp).unwrap_or_default(),
        think: keys.think_time.and_then(span_ns),
        pause: keys.pause.and_then(span_ns),
        reconnect_every: keys.reconnect.unwrap_or_default(),
        latency_limit_ns: length_ns(keys.latency_limit),
        limits_ns,
        pool: keys.pool_size.map(|connections| PoolSize { connections, acquire_timeout_ns }),
        length: None,
        tasks: keys.tasks,
        tasks_at_once: keys.tasks_at_once,
        processes: keys.processes.unwrap_or(default.processes),
    };
    let pace = if keys.rate > 0.0 { Pace::Rate(keys.rate) } else { Pace::Closed };
    if acquire_timeout_ns.is_some() && traffic.pool.is_none() {
        return Err(refuse_keys("`pool.acquire_timeout` is set, and there is no pool", "set `pool.size` as well"));
    }
    promise::check_keys(keys.promise_p99, keys.promise_errors, keys.max_clients)?;
    let seeks_rate = keys.promise_p99.is_some() && keys.max_clients.is_none();
    let has_rate = pace != Pace::Closed || seeks_rate;
    if !has_rate && traffic.arrivals == Arrivals::Poisson {
        return Err(refuse_keys("Poisson arrivals are those of a rate, and there is none", "set `rate`"));
    }
    if has_rate && traffic.think.is_some() {
        let of = if seeks_rate { "promise" } else { "rate" };
        let hint = format!(
            "leave out `think_time`, or `{of}`; `pause` is for the time between the statements of a transaction"
        );
        let what = format!("under a `{of}` the schedule says when a transaction begins, not a think time");
        return Err(refuse_keys(&what, &hint));
    }
    if keys.max_clients.is_some() && (traffic.processes > 1 || traffic.tasks.is_some()) {
        let cause =
            "`promise.max_clients` asks for a number of clients, and `processes` or `tasks` say how many there are";
        return Err(refuse_keys(cause, "leave out `processes` and `tasks`, or `max_clients`"));
    }
    check_tasks(keys, has_rate, &traffic)?;
    Ok((pace, traffic))
}

/// Length of time in nanoseconds, `None` if it is 0.
fn length_ns(length: Option<Duration>) -> Option<u64> {
    length.map(as_nanoseconds).filter(|ns| *ns > 0)
}

/// Fails if the keys of tasks lack a pool, or are set with several clients, a rate or a think time.
fn check_tasks(keys: &TransactionKeys, has_rate: bool, traffic: &NetworkTraffic) -> Result<(), Failure> {
    if traffic.tasks.is_none() {
        return match traffic.tasks_at_once {
            Some(_) => Err(refuse_keys("`tasks_at_once` is set, and there are no tasks", "set `tasks` as well")),
            None => Ok(()),
        };
    }
    if traffic.pool.is_none() {
        return Err(refuse_keys(
            "`tasks` share the connections of a pool, and there is none",
            "set `pool = { size = … }`",
        ));
    }
    if has_rate || traffic.think.is_some() || keys.clients != 1 {
        let cause = "each of the `tasks` is one transaction, due at the start: `clients`, `rate` and `think_time` say \
                     nothing of them";
        return Err(refuse_keys(cause, "leave them out; `ramp` spreads the starts of tasks over a time"));
    }
    Ok(())
}

/// Duration in nanoseconds, at most what 64 bits hold.
fn as_nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Range of times in nanoseconds, `None` if it is all zero.
fn span_ns((least, most): (Duration, Duration)) -> Option<Span> {
    let span = Span { least_ns: as_nanoseconds(least), most_ns: as_nanoseconds(most) };
    (span.most_ns > 0).then_some(span)
}

#[cfg(test)]
mod tests {
    use model::Value;

    use super::*;

    fn keys(pairs: &[(&str, Value)]) -> TransactionKeys {
        TransactionKeys::read(&pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect()).unwrap()
    }

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    #[test]
    fn what_is_not_written_changes_nothing() {
        let (pace, traffic) = read_keys(&keys(&[("clients", Value::Int(4)), ("rate", Value::Float(0.0))])).unwrap();
        assert_eq!((pace, traffic), (Pace::Closed, NetworkTraffic::default()));
    }

    #[test]
    fn keys_are_read_with_their_units() {
        let (pace, traffic) = read_keys(&keys(&[
            ("rate", Value::Float(50.0)),
            ("arrivals", text("poisson")),
            ("ramp", text("2s")),
            ("pause", text("50ms..249ms")),
            ("reconnect", Value::Int(3)),
            ("latency_limit", text("5ms")),
            ("limits", text("1s, 10ms, 1000ms")),
            ("pool.size", Value::Int(10)),
            ("pool.acquire_timeout", text("60s")),
            ("processes", Value::Int(3)),
        ]))
        .unwrap();
        assert_eq!(pace, Pace::Rate(50.0));
        assert_eq!((traffic.arrivals, traffic.ramp_ns, traffic.reconnect_every), (Arrivals::Poisson, 2_000_000_000, 3));
        assert_eq!(traffic.pause, Some(Span { least_ns: 50_000_000, most_ns: 249_000_000 }));
        assert_eq!((traffic.latency_limit_ns, traffic.think), (Some(5_000_000), None));
        assert_eq!(traffic.limits_ns, [10_000_000, 1_000_000_000]);
        let pool = PoolSize { connections: 10, acquire_timeout_ns: Some(60_000_000_000) };
        assert_eq!((traffic.pool, traffic.tasks, traffic.processes), (Some(pool), None, 3));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused(&[("pool.acquire_timeout", text("1s"))]).contains("there is no pool"));
        assert!(refused(&[("arrivals", text("poisson"))]).contains("Poisson"));
        assert!(refused(&[("rate", Value::Float(1.0)), ("think_time", text("1s"))]).contains("schedule"));
        let promised = [("promise.response_p99", text("20ms")), ("think_time", text("1s"))];
        assert!(refused(&promised).contains("under a `promise`"), "{}", refused(&promised));
        assert!(refused(&[("tasks", Value::Int(5))]).contains("pool"));
        assert!(refused(&[("tasks_at_once", Value::Int(5))]).contains("there are no tasks"));
        let tasks = [("tasks", Value::Int(5)), ("pool.size", Value::Int(1))];
        assert!(read_keys(&keys(&tasks)).is_ok());
        for more in [("clients", Value::Int(2)), ("rate", Value::Float(1.0)), ("think_time", text("1s"))] {
            assert!(refused(&[&tasks[..], &[more]].concat()).contains("due at the start"));
        }
    }

    fn refused(pairs: &[(&str, Value)]) -> String {
        read_keys(&keys(pairs)).unwrap_err().to_string()
    }
}
