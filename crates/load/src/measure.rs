//! Makes measurements and marks from counts and histograms.

pub mod client;
mod hosts;
pub mod shape;
mod steady;

use model::metric::{CONCURRENCY, DRIFT_P, LEVELS_P, ROWS_CHANGED, ROWS_RETURNED, STATEMENTS_SENT};
use model::{Direction, Mark, MarkData, MarkKind, Measurement, Reading, Role, RunRecord, RunState};

use crate::counters::{Counters, Placement};
use crate::durations::Durations;
use crate::lane::{ErrorClass, RowCounts};
use crate::series::Latencies;
use crate::traffic::NetworkTraffic;
use crate::worker::{LoadCounts, Pace};

use steady::FEWEST_INTERVALS;
pub use steady::Steady;

pub use hosts::HostFigures;

/// Share of a rate's due transactions that must end in the measured part.
const RATE_MET: f64 = 0.98;
/// Standard deviations of the in-flight count that are no sign of falling behind.
const CHANCE: f64 = 2.0;

pub struct LoadResult<'a> {
    pub counts: LoadCounts,
    pub latencies: Latencies,
    pub workers: usize,
    /// Usable by workers and helpers: one each, within the hosts'.
    pub cores: f64,
    /// Empty for a single unnamed host.
    pub hosts: Vec<HostFigures>,
    /// The threads in which the engine worked.
    pub placement: Placement,
    /// The engine's own counters over the run.
    pub counters: Counters,
    /// CPU time of the server's processes, from before the warm-up to the end.
    pub server_cpu_s: Result<f64, String>,
    /// Largest difference between hosts.
    pub start_skew_ns: Option<u64>,
    /// Time until the hosts' common start.
    pub start_time_ns: Option<u64>,
    pub pace: Pace,
    /// How their transactions came otherwise.
    pub traffic: &'a NetworkTraffic,
    pub marks: Vec<Mark>,
}

/// Makes the record of a run of transactions.
pub fn run_record(evidence: LoadResult<'_>) -> RunRecord {
    let window_s = evidence.counts.window_ns as f64 / 1e9;
    let rate = evidence.counts.completed.total() / window_s;
    let mut measurements = vec![Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, rate)];
    let what = "transactions in the run";
    let stopped = evidence.counts.stopped_count();
    add_latencies(what, "response", (&evidence.latencies.response, stopped), Role::Primary, &mut measurements);
    add_latencies(what, "service", (evidence.latencies.service(), stopped), Role::Secondary, &mut measurements);
    measurements.push(failed_share(&evidence));
    add_errors(&evidence.counts, &mut measurements);
    add_rows(&evidence.counts, &mut measurements);
    measurements.extend(statements_sent(&evidence.counts));
    shape::add_measurements(&evidence, &mut measurements);
    measurements.push(concurrency(&evidence, rate));
    client::add_cost(&evidence, &mut measurements);
    add_server_cost(&evidence, &mut measurements);
    hosts::add_measurements(&evidence.hosts, &mut measurements);
    measurements.extend(motion_measurements(&evidence.latencies.rates_per_s));
    if let Some(skew_ns) = evidence.start_skew_ns {
        let skew_us = skew_ns as f64 / 1e3;
        measurements.push(Measurement::value("start_skew", "us", Direction::Lower, Role::Diagnostic, skew_us));
    }
    if let Some(time_ns) = evidence.start_time_ns {
        let time_s = time_ns as f64 / 1e9;
        measurements.push(Measurement::value("start_time", "s", Direction::Lower, Role::Diagnostic, time_s));
    }
    let mut marks = evidence.marks.clone();
    marks.extend(hosts::slow_host_marks(&evidence.hosts));
    marks.extend(error_marks(&evidence.counts));
    marks.extend(shape::shape_marks(&evidence));
    marks.extend(client::generator_marks(&evidence));
    marks.extend(rate_not_met(&evidence, "transactions"));
    marks.extend(Steady::judge(&evidence.latencies.rates_per_s, "the rate").into_mark());
    RunRecord {
        state: RunState::Measured,
        reason: None,
        began_unix_ms: None,
        elapsed_s: window_s,
        measurements,
        series: evidence.latencies.series,
        marks,
        points: Vec::new(),
        query_plans: Vec::new(),
    }
}

/// Quantiles, mean and maximum in microseconds; `stopped` of the failures only met the end of the run.
pub fn add_latencies(
    what: &str,
    kind: &str,
    (durations, stopped): (&Durations, u64),
    role: Role,
    into: &mut Vec<Measurement>,
) {
    let quantiles = [
        ("p50", 0.5, role),
        ("p90", 0.9, Role::Secondary),
        ("p95", 0.95, Role::Secondary),
        ("p99", 0.99, role),
        ("p999", 0.999, Role::Secondary),
    ];
    let readings = [("mean", Role::Secondary, durations.mean_reading(stopped))]
        .into_iter()
        .chain(quantiles.map(|(name, quantile, role)| (name, role, durations.quantile_reading(quantile, what))))
        .chain([("max", Role::Secondary, durations.longest_reading())]);
    into.extend(readings.map(|(name, role, reading)| {
        Measurement::new(&format!("{kind}_{name}"), "us", Direction::Lower, role, reading)
    }));
}

/// Percent of the measured part's operations that failed or were skipped as too late.
pub fn failed_share(evidence: &LoadResult<'_>) -> Measurement {
    Measurement::failed_share(Reading::percent_failed(
        failed_or_skipped(evidence),
        evidence.latencies.response.success_count(),
    ))
}

/// Failed or skipped in the measured part. What was due at its very end and not started has not failed, nor what would
/// have been retried.
fn failed_or_skipped(evidence: &LoadResult<'_>) -> u64 {
    evidence.latencies.response.failure_count().saturating_sub(evidence.counts.stopped_count())
}

/// Little's law: the throughput accounts for this many clients that wait for a response or think. In a closed loop that
/// is how
/// many there are.
pub fn concurrency(evidence: &LoadResult<'_>, rate: f64) -> Measurement {
    let counts = &evidence.counts;
    let think_s = counts.think_ns as f64 / 1e9 / counts.succeeded_in_window.max(1) as f64;
    let reading = match evidence.latencies.response.mean_reading(counts.stopped_count()) {
        _ if evidence.latencies.response.failure_count() > 0 => {
            Reading::unavailable("how long those that did not succeed took is unknown")
        }
        Reading::Value(us) => Reading::Value(rate * (us / 1e6 + think_s)),
        unknown @ Reading::Unavailable(_) => unknown,
    };
    Measurement::new(CONCURRENCY, "", Direction::Neither, Role::Diagnostic, reading)
}

/// Adds the number of errors by class, and of retries.
pub fn add_errors(counts: &LoadCounts, into: &mut Vec<Measurement>) {
    let mut counted = vec![("errors".to_owned(), counts.failures())];
    if counts.retries > 0 {
        counted.extend([("retried".to_owned(), counts.retried), ("retries".to_owned(), counts.retries)]);
    }
    for (class, count) in ErrorClass::ALL.iter().zip(counts.failed).filter(|(_, count)| *count > 0) {
        counted.push((format!("errors_{}", class.as_str()), count));
    }
    into.extend(
        counted
            .into_iter()
            .map(|(id, count)| Measurement::value(&id, "", Direction::Lower, Role::Diagnostic, count as f64)),
    );
}

/// Rows per try of a transaction, warm-up included.
fn add_rows(counts: &LoadCounts, into: &mut Vec<Measurement>) {
    into.extend(counts.rows.into_iter().flat_map(|rows| rows_per_try(rows, counts.tries(), "")));
}

/// Statements per successful transaction, warm-up included, where the load sends any.
fn statements_sent(counts: &LoadCounts) -> Option<Measurement> {
    let per_transaction = counts.asked.statements as f64 / counts.succeeded.max(1) as f64;
    let measured = || Measurement::value(STATEMENTS_SENT, "/tx", Direction::Neither, Role::Diagnostic, per_transaction);
    (counts.asked.statements > 0).then(measured)
}

/// Rows returned and changed, of all transactions or of a kind, whose `suffix` the names end in.
fn rows_per_try(rows: RowCounts, tries: u64, suffix: &str) -> [Measurement; 2] {
    [(ROWS_RETURNED, rows.returned), (ROWS_CHANGED, rows.changed)].map(|(name, count)| {
        let per_try = count as f64 / tries.max(1) as f64;
        Measurement::value(&format!("{name}{suffix}"), "/tx", Direction::Neither, Role::Diagnostic, per_try)
    })
}

/// Checkpoints of the server while it was loaded, warm-up included: the counter's name, and the metric's.
const CHECKPOINTS: &str = "checkpoints";

/// Server cost, and its counters.
fn add_server_cost(evidence: &LoadResult<'_>, into: &mut Vec<Measurement>) {
    let transactions = evidence.counts.succeeded.max(1) as f64;
    let per_transaction = evidence.server_cpu_s.as_ref().map(|cpu_s| cpu_s * 1e6 / transactions).into();
    into.push(Measurement::new("server_cpu_per_tx", "us", Direction::Lower, Role::Diagnostic, per_transaction));
    let checkpoints = evidence.counters.counts.get(CHECKPOINTS);
    let checkpoints = checkpoints.map_or_else(
        || Reading::unavailable("the engine does not tell how many checkpoints it has made"),
        |counter| counter.reading.clone(),
    );
    into.push(Measurement::new(CHECKPOINTS, "", Direction::Neither, Role::Diagnostic, checkpoints));
    for (name, counter) in evidence.counters.counts.iter().filter(|(name, _)| *name != CHECKPOINTS) {
        let id = format!("server_{name}");
        into.push(Measurement::new(&id, &counter.unit, Direction::Neither, Role::Diagnostic, counter.reading.clone()));
    }
}

/// A mark for each class of errors, with its first message.
pub fn error_marks(counts: &LoadCounts) -> Vec<Mark> {
    let counted = ErrorClass::ALL.iter().zip(counts.failed).filter(|(_, count)| *count > 0);
    let marks = counted.map(|(class, count)| {
        let message = counts.messages.iter().find(|error| error.class == *class).map_or("", |error| &error.message);
        let mark = Mark::new(MarkKind::Errors, format!("{count} × {}: {message}", class.as_str()));
        let is_lost = matches!(class, ErrorClass::Serialization | ErrorClass::Deadlock);
        if is_lost { mark.with_data(MarkData::LostToOthers) } else { mark }
    });
    marks.collect()
}

/// Finds whether the load fell behind, or worked off what the warm-up had left over: compared with what the rate made due in the
/// measured part, since that number is random. In-flight numbers at both ends differ randomly, too: independent arrivals by
/// the root of twice their number (Little's law: rate times response time).
pub fn rate_not_met(evidence: &LoadResult<'_>, what: &str) -> Option<Mark> {
    let Pace::Rate(_) = evidence.pace else { return None };
    let counts = &evidence.counts;
    let (due, ended) = (counts.due_in_window as f64, (counts.succeeded_in_window + counts.failed_in_window) as f64);
    let mean_ns = evidence.latencies.response.mean_ns().unwrap_or_default();
    let under_way = (due * mean_ns / counts.window_ns.max(1) as f64).min(due);
    let most_apart = (1.0 - RATE_MET) * due + CHANCE * (2.0 * under_way).sqrt();
    let (kind, detail) = if due - ended > most_apart {
        (MarkKind::RateNotMet, format!("of {due:.0} {what} that were due in the run, {ended:.0} ended in it"))
    } else if ended - due > most_apart {
        let more = "what the warm-up had left over was still worked off";
        (MarkKind::Backlog, format!("{due:.0} {what} were due in the run, and {ended:.0} ended in it: {more}"))
    } else {
        return None;
    };
    Some(Mark::new(kind, detail))
}

/// p-values behind [`Steady`]: a reader of several runs adjusts all of them together.
pub fn motion_measurements(rates_per_s: &[f64]) -> Vec<Measurement> {
    if rates_per_s.len() < FEWEST_INTERVALS || stats::warm_up_end(rates_per_s).is_some() {
        return Vec::new();
    }
    let found = stats::Motion::from_series(rates_per_s).map(|motion| motion.p_values()).into_iter().flatten();
    let values = [DRIFT_P, LEVELS_P].into_iter().zip(found);
    values.map(|(id, p)| Measurement::value(id, "", Direction::Neither, Role::Diagnostic, p)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completed::Completed;
    use std::sync::LazyLock;

    /// One second of one thread: transactions of 1 ms, and CPU time.
    fn evidence(transactions: u64, cpu_ns: u64, pace: Pace) -> LoadResult<'static> {
        static TRAFFIC: LazyLock<NetworkTraffic> = LazyLock::new(NetworkTraffic::default);
        let mut collector = crate::series::Collector::new(1, 1_000_000_000, crate::series::Gauge::Nothing);
        collector.response.record_successes(1_000_000, transactions);
        let counts = LoadCounts {
            succeeded: transactions,
            succeeded_in_window: transactions,
            completed: Completed { whole: transactions, parts: 0.0 },
            cpu_ns: Some(cpu_ns),
            threads: vec![cpu_ns],
            over_limits: vec![0; 4],
            window_ns: 1_000_000_000,
            due_in_window: if let Pace::Rate(rate) = pace { rate as u64 } else { 0 },
            ..LoadCounts::default()
        };
        LoadResult {
            counts,
            latencies: collector.into_latencies("local", 1_000_000_000, 0),
            workers: 1,
            cores: 1.0,
            hosts: Vec::new(),
            placement: Placement::Server,
            counters: Counters::default(),
            server_cpu_s: Err("not seen".to_owned()),
            start_skew_ns: None,
            start_time_ns: None,
            pace,
            traffic: &TRAFFIC,
            marks: Vec::new(),
        }
    }

    fn reading(record: &RunRecord, id: &str) -> Reading {
        let found = record.measurements.iter().find(|m| m.metric.id == id);
        let Some(found) = found else {
            let known = record.measurements.iter().map(|m| m.metric.id.as_str()).collect::<Vec<_>>().join(" ");
            panic!("no {id} in {known}")
        };
        found.reading.clone()
    }

    #[test]
    fn a_client_that_is_the_bottleneck_is_marked_and_voids_the_verdict() {
        assert_eq!(run_record(evidence(5_000, 790_000_000, Pace::Closed)).marks, []);
        let marks = run_record(evidence(5_000, 900_000_000, Pace::Closed)).marks;
        assert_eq!(marks.len(), 1);
        assert!(marks[0].kind == MarkKind::ClientSaturated && marks[0].kind.voids_verdict(), "{marks:?}");
        assert!(marks[0].detail.contains("90 %"), "{}", marks[0].detail);
    }

    #[test]
    fn a_full_thread_is_the_bottleneck_among_idle_ones() {
        let mut two = evidence(5_000, 900_000_000, Pace::Closed);
        two.counts.threads = vec![850_000_000, 50_000_000];
        (two.workers, two.cores) = (2, host::cpu::available_cores().min(2) as f64);
        let record = run_record(two);
        let marks = &record.marks;
        // On one core two threads share it and are full together.
        let expected = if host::cpu::available_cores() > 1 { "one of the client's threads" } else { "2 threads" };
        assert!(marks.len() == 1 && marks[0].detail.contains(expected), "{marks:?}");
        assert_eq!(reading(&record, "busiest_thread"), Reading::Value(0.85));
        assert_eq!(reading(&record, "thread_2_busy"), Reading::Value(0.05));
    }

    #[test]
    fn a_client_at_its_quota_is_the_bottleneck() {
        // 98 % of 15 % of a core.
        let mut limited = evidence(5_000, 147_000_000, Pace::Closed);
        limited.cores = 0.15;
        let limited = run_record(limited);
        assert_eq!(limited.marks[0].kind, MarkKind::ClientSaturated);
        assert!(limited.marks[0].detail.contains("98 % of the 0.15 cores that they may use"), "{:?}", limited.marks);
        assert!(matches!(reading(&limited, "busiest_thread"), Reading::Value(share) if (share - 0.98).abs() < 1e-9));
        // Four threads on one of two processors.
        let mut bound = evidence(5_000, 960_000_000, Pace::Closed);
        (bound.workers, bound.cores, bound.counts.threads) = (4, 2.0, vec![240_000_000; 4]);
        let one = crate::worker::Confined { cpus: vec![1], quota_cores: None, threads: 4, cpu_ns: 960_000_000 };
        bound.counts.confined = vec![one];
        let marks = run_record(bound).marks;
        assert!(
            marks.len() == 1 && marks[0].detail.starts_with("4 of the client's threads were busy 96 %"),
            "{marks:?}"
        );
    }

    #[test]
    fn a_pause_of_etalon_itself_voids_its_run() {
        fn paused(ns: u64) -> Vec<Mark> {
            let mut one = evidence(5_000, 100_000_000, Pace::Closed);
            one.counts.paused_ns = ns;
            run_record(one).marks
        }
        assert_eq!(paused(9_000_000), []);
        let marks = paused(400_000_000);
        assert!(marks.len() == 1 && marks[0].kind == MarkKind::Paused && marks[0].kind.voids_verdict(), "{marks:?}");
        assert!(marks[0].detail.starts_with("étalon stood still for 0.40 of 1.00 s"), "{}", marks[0].detail);
    }

    #[test]
    fn hosts_that_began_apart_void_their_run() {
        fn apart(skew_ns: u64, window_ns: u64) -> Vec<Mark> {
            let mut one = evidence(5_000, 100_000_000, Pace::Closed);
            (one.start_skew_ns, one.counts.window_ns) = (Some(skew_ns), window_ns);
            run_record(one).marks
        }
        assert_eq!(apart(90_000_000, 400_000_000), [], "a busy machine begins so late");
        assert_eq!(apart(900_000_000, 10_000_000_000), [], "a small share of the measured part");
        let marks = apart(850_000_000, 1_000_000_000);
        assert!(marks.len() == 1 && marks[0].kind == MarkKind::StartedApart, "{marks:?}");
        assert!(marks[0].kind.voids_verdict() && marks[0].detail.contains("0.85 s apart"), "{}", marks[0].detail);
    }

    #[test]
    fn logins_under_load_are_held_against_the_cores_that_they_run_on() {
        // One worker at 30 %, and eight reconnecting threads at 25 % each.
        let mut logins = evidence(5_000, 2_300_000_000, Pace::Closed);
        logins.counts.threads = vec![300_000_000];
        (logins.counts.helper_threads, logins.cores) = (8, 9.0);
        let with_cores = run_record(logins);
        assert_eq!(with_cores.marks, []);
        assert!(
            matches!(reading(&with_cores, "client_busy_share"), Reading::Value(share) if (share - 2.3 / 9.0).abs() < 1e-9)
        );
        // Too much for two cores together.
        let mut crowded = evidence(5_000, 1_900_000_000, Pace::Closed);
        crowded.counts.threads = vec![300_000_000];
        (crowded.counts.helper_threads, crowded.cores) = (8, 2.0);
        let marks = run_record(crowded).marks;
        assert!(marks[0].detail.starts_with("the client's 9 threads were busy 95 %"), "{marks:?}");
    }

    #[test]
    fn a_client_that_turns_late_to_what_is_due_is_marked_only_if_that_is_its_own_doing() {
        fn with_lag(lag_ns: u64, cpu_ns: u64, pace: Pace) -> Vec<Mark> {
            let mut evidence = evidence(5_000, cpu_ns, pace);
            (0..1_000).for_each(|_| evidence.counts.lag.record(lag_ns));
            run_record(evidence).marks
        }
        // The median response is 1 ms.
        let rate = Pace::Rate(5_000.0);
        assert_eq!(with_lag(90_000, 100_000_000, rate), [], "less than a tenth");
        let woken = with_lag(200_000, 100_000_000, rate).remove(0);
        assert_eq!((woken.kind, woken.kind.voids_verdict()), (MarkKind::WokenLate, true), "an idle client");
        assert!(
            woken.detail.contains("0.20 ms late") && woken.detail.contains("busy 10 % of the time"),
            "{}",
            woken.detail
        );
        assert_eq!(with_lag(200_000, 600_000_000, rate)[0].kind, MarkKind::ClientSaturated, "a busy one");
        assert_eq!(with_lag(200_000, 100_000_000, Pace::Closed), [], "a batch of answers, not a busy client");
        assert_eq!(with_lag(200_000, 600_000_000, Pace::Closed)[0].kind, MarkKind::ClientSaturated);
    }

    #[test]
    fn a_mean_is_unknown_where_the_end_has_stopped_the_slowest() {
        fn stopped(not_begun: u64) -> RunRecord {
            let mut evidence = evidence(1_000, 0, Pace::Rate(1_000.0));
            let mut collector = crate::series::Collector::new(1, 1_000_000_000, crate::series::Gauge::Nothing);
            collector.response.record_successes(1_000_000, 1_000);
            evidence.latencies = collector.into_latencies("local", 1_000_000_000, not_begun);
            evidence.counts.not_begun = not_begun;
            let mut kind = crate::recorder::KindCounts::new("select".to_owned());
            kind.response.record_successes(1_000_000, 1_000);
            kind.response.record_failed(not_begun);
            evidence.counts.kinds = vec![kind];
            run_record(evidence)
        }
        let (whole, cut) = (stopped(0), stopped(17));
        assert!(matches!(reading(&whole, "response_mean"), Reading::Value(us) if (us - 1_000.0).abs() < 1.0));
        for id in ["response_mean", "service_mean", "response_mean_select"] {
            let Reading::Unavailable(why) = reading(&cut, id) else { panic!("{id} is judged") };
            assert_eq!(why.reason, "17 of 1017, slower than all others, were still waited for at the end");
        }
        // It has not failed, in any kind.
        for id in ["failed_share", "failed_share_select"] {
            assert_eq!(reading(&cut, id), Reading::Value(0.0), "{id}");
        }
    }

    #[test]
    fn what_the_load_met_is_measured_where_the_plan_has_it() {
        let plain = run_record(evidence(1_000, 0, Pace::Closed));
        assert_eq!(reading(&plain, "over_5s"), Reading::Value(0.0));
        for id in ["late", "backlog_max", "pool_wait_p50"] {
            assert!(!plain.measurements.iter().any(|m| m.metric.id == id), "{id}");
        }
        let traffic =
            NetworkTraffic { latency_limit_ns: Some(1), limits_ns: vec![1_500_000_000], ..NetworkTraffic::default() };
        let mut limited = LoadResult { traffic: &traffic, ..evidence(1_000, 0, Pace::Rate(1_000.0)) };
        limited.counts.over_limits = vec![7];
        (limited.counts.late, limited.counts.skipped, limited.counts.backlog_max) = (3, 2, 9);
        limited.counts.kernel_entries = Some(500);
        limited.counts.pool_wait = Some(Durations::default());
        limited.counts.connections.add_connection(2_000_000);
        let missing = "it takes 1 connections and no more".to_owned();
        limited.counts.connections.count_refused(crate::error::FailureKind::Other, 2, missing);
        limited.counts.connections.missing = 2;
        let record = run_record(limited);
        for (id, value) in [
            ("over_1s500ms", 7.0),
            ("late", 3.0),
            ("skipped", 2.0),
            ("backlog_max", 9.0),
            ("pool_timeouts", 0.0),
            ("pool_connections", 1.0),
            ("connect_max", 2_000.0),
            ("kernel_entries", 0.5),
        ] {
            assert_eq!(reading(&record, id), Reading::Value(value), "{id}");
        }
        let detail = &record.marks[0].detail;
        let expected = "2 of 3 connections of the pool were refused; 2 × refused: it takes 1 connections and no more";
        assert_eq!(detail, expected);
    }

    #[test]
    fn kinds_have_throughput_and_response_of_their_own() {
        let mut mixed = evidence(1_000, 0, Pace::Closed);
        let mut reads = crate::recorder::KindCounts::new("reads".to_owned());
        for ns in 1..=1_000 {
            reads.record_successes(1, ns * 1_000, crate::recorder::Inside::Window);
        }
        reads.record_successes(1, 5_000_123, crate::recorder::Inside::Later);
        reads.completed = Completed { whole: 999, parts: 1.0 };
        mixed.counts.kinds = vec![reads, crate::recorder::KindCounts::new("writes".to_owned())];
        let record = run_record(mixed);
        assert_eq!(reading(&record, "throughput_reads"), Reading::Value(1_000.0));
        assert_eq!(reading(&record, "response_min_reads"), Reading::Value(1.0));
        assert_eq!(reading(&record, "response_max_reads"), Reading::Value(5_000.123), "extremes are exact");
        assert_eq!(reading(&record, "throughput_writes"), Reading::Value(0.0));
        assert!(matches!(reading(&record, "response_mean_writes"), Reading::Unavailable(_)));
    }

    #[test]
    fn a_quantile_takes_ten_samples_beyond_it() {
        let few = run_record(evidence(999, 0, Pace::Closed));
        let Reading::Unavailable(missing) = reading(&few, "response_p99") else { panic!("a value") };
        assert_eq!(missing, model::NoValue::too_few(1_000, "transactions in the run"));
        assert!(matches!(reading(&few, "response_p95"), Reading::Value(us) if (us - 1_000.0).abs() < 1.0));
        assert!(matches!(reading(&run_record(evidence(1_000, 0, Pace::Closed)), "response_p99"), Reading::Value(_)));
    }

    #[test]
    fn a_rate_that_was_not_met_is_marked() {
        assert_eq!(run_record(evidence(990, 0, Pace::Rate(1_000.0))).marks, []);
        let marks = run_record(evidence(900, 0, Pace::Rate(1_000.0))).marks;
        assert_eq!(marks[0].detail, "of 1000 transactions that were due in the run, 900 ended in it");
        assert_eq!(run_record(evidence(1_020, 0, Pace::Rate(1_000.0))).marks, []);
        let marks = run_record(evidence(1_490, 0, Pace::Rate(1_000.0))).marks;
        assert!(marks[0].kind == MarkKind::Backlog && marks[0].kind.voids_verdict(), "{marks:?}");
        assert!(
            marks[0].detail.starts_with("1000 transactions were due in the run, and 1490 ended in it"),
            "{marks:?}"
        );
    }

    #[test]
    fn what_is_not_known_is_a_reason_and_not_a_zero() {
        let record = run_record(evidence(1_000, 0, Pace::Closed));
        assert_eq!(reading(&record, "server_cpu_per_tx"), Reading::unavailable("not seen"));
    }
}
