//! Measurements of the load's shape: limits, backlog, pool, connections, kinds.

use std::time::Duration;

use model::metric::FAILED_SHARE;
use model::{Direction, Mark, MarkKind, Measurement, Reading, Role, duration};

use super::{LoadResult, add_latencies, failed_or_skipped};
use crate::lane::ErrorClass;
use crate::recorder::KindCounts;
use crate::worker::{LoadCounts, Pace, shortfall};

/// Adds the measurements that follow from the load's shape.
pub fn add_measurements(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    add_limits(evidence, into);
    add_rate(evidence, into);
    add_pool(evidence, into);
    add_connections(evidence, into);
    for kind in &evidence.counts.kinds {
        of_kind(kind, &evidence.counts, into);
    }
}

/// A count of things that are worse when more.
fn count_measurement(id: &str, count: u64) -> Measurement {
    Measurement::value(id, "", Direction::Lower, Role::Diagnostic, count as f64)
}

/// The name of the count of what is beyond a limit.
pub fn over_limit_id(limit_ns: u64) -> String {
    format!("over_{}", duration::format(Duration::from_nanos(limit_ns)))
}

/// Operations beyond each limit, failures and skipped ones included.
pub fn add_limits(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let failed = failed_or_skipped(evidence);
    for (limit_ns, over) in evidence.traffic.limits_ns.iter().zip(&evidence.counts.over_limits) {
        into.push(count_measurement(&over_limit_id(*limit_ns), over + failed));
    }
    if evidence.traffic.latency_limit_ns.is_some() {
        into.push(count_measurement("late", evidence.counts.late + failed));
    }
}

/// Adds backlog and skipped operations of a load with a rate.
fn add_rate(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    if matches!(evidence.pace, Pace::Rate(_)) {
        into.push(count_measurement("backlog_max", evidence.counts.backlog_max));
        if evidence.traffic.latency_limit_ns.is_some() {
            into.push(count_measurement("skipped", evidence.counts.skipped));
        }
    }
}

/// Adds the clients' waits for a connection, the pool's timeouts and its connections.
fn add_pool(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let Some(waits) = &evidence.counts.pool_wait else { return };
    add_latencies("transactions in the run", "pool_wait", (waits, waits.failure_count()), Role::Secondary, into);
    into.push(count_measurement("pool_timeouts", evidence.counts.failures_of(ErrorClass::PoolTimeout)));
    let got = evidence.counts.connections.made - evidence.counts.connections.made_again;
    into.push(Measurement::value("pool_connections", "", Direction::Neither, Role::Diagnostic, got as f64));
}

/// All connections, initial and by `reconnect`.
fn add_connections(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let connections = &evidence.counts.connections;
    if connections.made == 0 {
        return;
    }
    let mean_ns = connections.sum_ns as f64 / connections.made as f64;
    for (id, ns) in [
        ("connect_mean", mean_ns),
        ("connect_min", connections.min_ns as f64),
        ("connect_max", connections.max_ns as f64),
    ] {
        into.push(Measurement::value(id, "us", Direction::Lower, Role::Diagnostic, ns / 1e3));
    }
    if connections.made_again > 0 {
        let again = connections.made_again as f64;
        into.push(Measurement::value("reconnects", "", Direction::Neither, Role::Diagnostic, again));
    }
}

/// Throughput and response of one kind of transactions.
fn of_kind(kind: &KindCounts, counts: &LoadCounts, into: &mut Vec<Measurement>) {
    let name = &kind.name;
    let rate = kind.completed.total() * 1e9 / counts.window_ns.max(1) as f64;
    let id = format!("throughput_{name}");
    into.push(Measurement::value(&id, "tx/s", Direction::Higher, Role::Secondary, rate));
    into.push(failed_share(kind, counts));
    into.extend(kind.rows.into_iter().flat_map(|rows| super::rows_per_try(rows, kind.tries, &format!("_{name}"))));
    let min = kind.response.min_ns().map_or_else(
        || Reading::unavailable("no transaction of this kind succeeded"),
        |ns| Reading::Value(ns as f64 / 1e3),
    );
    let what = "transactions of this kind";
    for (id, reading) in [
        ("mean", kind.response.mean_reading(counts.not_begun + kind.broken_off)),
        ("p50", kind.response.quantile_reading(0.5, what)),
        ("p99", kind.response.quantile_reading(0.99, what)),
        ("min", min),
        ("max", kind.response.longest_reading()),
    ] {
        let id = format!("response_{id}_{name}");
        into.push(Measurement::new(&id, "us", Direction::Lower, Role::Secondary, reading));
    }
}

/// The share of failed transactions, where the kind of every failure is known.
pub fn failed_share(kind: &KindCounts, counts: &LoadCounts) -> Measurement {
    let reading = match kind.response.failure_count().saturating_sub(kind.failed + kind.broken_off + counts.not_begun) {
        0 => Reading::percent_failed(kind.failed, kind.response.success_count()),
        unknown => {
            Reading::unavailable(format!("of which kind {unknown} would have been that were never begun is unknown"))
        }
    };
    let id = format!("{FAILED_SHARE}_{}", kind.name);
    Measurement::new(&id, "%", Direction::Lower, Role::Secondary, reading)
}

/// Marks of how the load came.
pub fn shape_marks(evidence: &LoadResult<'_>) -> Vec<Mark> {
    let shortfall = shortfall(&evidence.counts).map(|detail| Mark::new(MarkKind::Errors, detail));
    shortfall.into_iter().collect()
}
