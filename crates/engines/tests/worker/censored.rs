//! Failures in latencies, and rates compared with what they made due.

use model::metric::FAILED_SHARE;
use model::{MarkKind, Reading, RunRecord};

use super::*;
use engines::sim::lane::{Model, SimLane};
use load::counters::{Counters, Placement};
use load::measure::{self, LoadResult};
use load::series::{Collector, Gauge};
use load::traffic::{Arrivals, PoolSize};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// Records a run on a simulated server.
pub fn record(model: Model, script: &str, load: &Load) -> RunRecord {
    let clock = VirtualClock::default();
    record_of(SimLane::new(model, 1, clock.clone()), &compile(script, &[]).unwrap(), load, &clock)
}

fn record_of<L: Lane<Op = StatementOp>>(lane: L, program: &Program, load: &Load, clock: &VirtualClock) -> RunRecord {
    let (counts, intervals) = load.run(lane, program, clock);
    let mut collector = Collector::new(1, 100 * MS, Gauge::Backlog);
    intervals.iter().for_each(|interval| {
        collector.add_interval(interval);
    });
    let latencies = collector.into_latencies("local", counts.window_ns, counts.skipped + counts.not_begun);
    measure::run_record(LoadResult {
        counts,
        latencies,
        workers: 1,
        cores: 1.0,
        hosts: Vec::new(),
        placement: Placement::Server,
        counters: Counters::default(),
        server_cpu_s: Err("virtual".to_owned()),
        start_skew_ns: None,
        start_time_ns: None,
        pace: load.pace,
        traffic: &load.traffic,
        marks: Vec::new(),
    })
}

fn reading(record: &RunRecord, id: &str) -> Reading {
    record.measurements.iter().find(|one| one.metric.id == id).unwrap().reading.clone()
}

pub fn value(record: &RunRecord, id: &str) -> f64 {
    match reading(record, id) {
        Reading::Value(value) => value,
        Reading::Unavailable(why) => panic!("{id}: {why}"),
    }
}

fn is_behind(record: &RunRecord) -> bool {
    record.marks.iter().any(|mark| mark.kind == MarkKind::RateNotMet)
}

/// Exponential or constant service times.
fn server(service_us: f64, spread: f64, servers: usize) -> Model {
    Model { service_us, spread, servers, noise: 0.0, ..Model::default() }
}

/// A thousand arrivals in a second.
fn thousand(seed: u64, clients: u32, warmup_ns: u64) -> Load {
    let traffic = NetworkTraffic { arrivals: Arrivals::Poisson, ..NetworkTraffic::default() };
    Load { seed, clients, pace: Pace::Rate(1_000.0), traffic, warmup_ns, ..Load::default() }
}

#[test]
fn an_idle_server_meets_a_poisson_rate_whatever_its_seed() {
    let mut counts = Vec::new();
    for seed in 0..60 {
        let fast = record(server(500.0, 0.0, 1_000), "SELECT 1;", &thousand(seed, 50, 0));
        assert!(!is_behind(&fast), "seed {seed}: {:?}", fast.marks);
        counts.push(value(&fast, "throughput"));
    }
    for seed in 0..20 {
        // A random number in flight, a hundred on average.
        let slow = record(server(100_000.0, 0.0, 1_000), "SELECT 1;", &thousand(seed, 1_000, S));
        assert!(!is_behind(&slow), "seed {seed}: {:?}", slow.marks);
    }
    // Compared with the nominal rate, many would be marked.
    assert!(counts.iter().filter(|rate| **rate < 980.0).count() > 6, "{counts:?}");
}

#[test]
fn a_server_that_falls_behind_is_marked_however_many_clients_wait() {
    for seed in 0..6 {
        for clients in [10, 2_000] {
            // 1.25 ms each, one at a time: 800 a second.
            let late = record(server(1_250.0, 0.0, 1), "SELECT 1;", &thousand(seed, clients, S));
            assert!(is_behind(&late), "seed {seed}, {clients} clients");
            let hopeless = record(server(10_000.0, 0.0, 1), "SELECT 1;", &thousand(seed, clients, 0));
            assert!(is_behind(&hopeless), "seed {seed}, {clients} clients");
        }
    }
}

#[test]
fn what_nobody_began_until_the_end_is_in_the_response_times() {
    // The server stalls for the last 300 of 2,000 ms: two clients wait for it, and 298 arrivals for a client.
    let stalled = Model { stall_at_ms: 1_700, stall_ms: 300, ..server(100.0, 0.0, 10) };
    let traffic = NetworkTraffic::default();
    let length = RunLength::Time(2 * S);
    let load = Load { clients: 2, pace: Pace::Rate(1_000.0), traffic, length, ..Load::default() };
    let late = record(stalled, "SELECT 1;", &load);
    assert!(value(&late, "response_p50") < 200.0);
    let Reading::Unavailable(why) = reading(&late, "response_p99") else { panic!("of those that were begun") };
    assert!(why.reason.starts_with("it lies among the 29"), "{why}");
    assert_eq!(value(&late, FAILED_SHARE), 0.0, "nothing failed");
    assert!(value(&late, "service_p95") < 200.0, "the server itself was quick with the others");
}

#[test]
fn what_was_skipped_is_slower_than_all_that_was_not() {
    let model = Model { stall_at_ms: 400, stall_ms: 200, ..server(100.0, 0.0, 100_000) };
    let traffic = NetworkTraffic { latency_limit_ns: Some(50 * MS), ..NetworkTraffic::default() };
    let load = Load { clients: 10, pace: Pace::Rate(1_000.0), traffic, ..Load::default() };
    let skipping = record(model, "SELECT 1;", &load);
    let share = value(&skipping, FAILED_SHARE);
    assert!((13.8..14.2).contains(&share), "{share} %");
    assert!(matches!(reading(&skipping, "response_p90"), Reading::Unavailable(_)));
    assert!(value(&skipping, "response_p50") < 200.0);
}

#[test]
fn waits_for_the_pool_that_were_in_vain_are_in_its_quantiles() {
    // One connection, 10 ms each, a timeout of 25 ms: nearly all of a hundred clients give up.
    let pool = Some(PoolSize { connections: 1, acquire_timeout_ns: Some(25 * MS) });
    let traffic = NetworkTraffic { pool, ..NetworkTraffic::default() };
    let load = Load { clients: 100, traffic, length: RunLength::Time(10 * S), ..Load::default() };
    let starved = record(server(10_000.0, 0.0, 10), "SELECT 1;", &load);
    assert!(value(&starved, FAILED_SHARE) > 90.0);
    for id in ["response_p50", "response_p99", "pool_wait_p50", "response_max"] {
        let Reading::Unavailable(why) = reading(&starved, id) else { panic!("{id} has a value") };
        assert!(why.reason.contains("that did not succeed"), "{id}: {why}");
    }
}

#[test]
fn whoever_waits_for_the_pool_longer_than_anybody_was_served_is_not_forgotten() {
    // A thousand clients, one connection, 10 ms each: after a second 100 were served, and 900 wait.
    let pool = Some(PoolSize { connections: 1, acquire_timeout_ns: None });
    let load =
        Load { clients: 1_000, traffic: NetworkTraffic { pool, ..NetworkTraffic::default() }, ..Load::default() };
    let queued = record(server(10_000.0, 0.0, 10), "SELECT 1;", &load);
    assert!(
        matches!(reading(&queued, "response_p50"), Reading::Unavailable(why) if why.reason.contains("among the 9"))
    );
    // Five clients in turn: a wait at the end is no longer than usual.
    let few = Load { clients: 5, length: RunLength::Time(10 * S), ..load };
    let steady = record(server(10_000.0, 0.0, 10), "SELECT 1;", &few);
    assert!((value(&steady, "response_p99") - 50_000.0).abs() < 50.0);
}

#[test]
fn a_transaction_that_succeeded_in_the_end_took_all_of_its_tries() {
    let clock = VirtualClock::default();
    let seen = Rc::new(RefCell::new(Vec::new()));
    let class = ErrorClass::Serialization;
    let lane = Flaky { class, failures: 4, failed: 0, clock: clock.clone(), seen, turns_away: false };
    let load = Load { length: RunLength::Count(30), ..Load::default() };
    let (counts, intervals) = load.run(lane, &drawing(5), &clock);
    assert_eq!((counts.succeeded, counts.failures(), counts.retries), (30, 0, 120));
    let shortest = intervals.iter().filter_map(|interval| interval.response.min_ns()).min().unwrap();
    assert!(shortest >= 5_000, "five tries of a microsecond: {shortest}");
}

/// Retries until success.
fn stubborn() -> Program {
    let mut program = compile("SELECT 1;", &[]).unwrap();
    program.retry = Retry { max_tries: 0, within_ns: None };
    program
}

#[test]
fn what_the_end_keeps_from_being_tried_again_has_not_failed() {
    for pace in [Pace::Closed, Pace::Rate(1_000.0)] {
        let clock = VirtualClock::default();
        let model = Model { errors: 0.5, ..server(10_000.0, 0.0, 1_000) };
        let load = Load { clients: 200, pace, length: RunLength::Time(3 * S), ..Load::default() };
        let all = record_of(SimLane::new(model, 1, clock.clone()), &stubborn(), &load, &clock);
        assert_eq!((value(&all, FAILED_SHARE), value(&all, "errors")), (0.0, 0.0), "{pace:?}");
        assert_eq!(value(&all, "over_5s"), 0.0);
        assert!(value(&all, "retries") > 400.0, "{pace:?}");
        // Those in flight are only known to have taken less than others.
        assert!(value(&all, "response_p99") > 50_000.0 && value(&all, "response_max") < 200_000.0);
        assert!(!all.marks.iter().any(|mark| mark.kind == MarkKind::Errors), "{:?}", all.marks);
    }
}

/// Fails the first client's operations; everything takes a millisecond.
struct Unfair(VirtualClock);

impl Lane for Unfair {
    type Op = StatementOp;

    fn submit(&mut self, client: usize, _op: &StatementOp) -> Submitted {
        self.0.wait_until(self.0.now_ns() + MS);
        Submitted::Done(match client {
            0 => OpOutcome::Failed(OpError { class: ErrorClass::Deadlock, message: "no".to_owned() }),
            _ => OpOutcome::Ok,
        })
    }

    fn reap(&mut self, _deadline_ns: u64, _into: &mut Vec<Completion>) {}

    fn recover(&mut self, _client: usize) -> Option<OpOutcome> {
        Some(OpOutcome::Ok)
    }

    fn close(self) {}
}

#[test]
fn what_was_tried_again_for_longer_than_any_response_took_is_slower_than_all() {
    let clock = VirtualClock::default();
    let traffic = NetworkTraffic { limits_ns: vec![500 * MS, 2 * S], ..NetworkTraffic::default() };
    let load = Load { clients: 2, traffic, ..Load::default() };
    let unfair = record_of(Unfair(clock.clone()), &stubborn(), &load, &clock);
    assert_eq!((value(&unfair, FAILED_SHARE), value(&unfair, "errors")), (0.0, 0.0));
    let Reading::Unavailable(why) = reading(&unfair, "response_max") else { panic!("of those that succeeded") };
    assert!(why.reason.starts_with("it lies among the 1 of 501"), "{why}");
    assert_eq!((value(&unfair, "over_500ms"), value(&unfair, "over_2s")), (1.0, 0.0), "what it has taken is known");
}

/// More than 1 % beyond a limit exactly if p99 is beyond it or among failures.
#[test]
fn limits_count_what_did_not_succeed_as_quantiles_do() {
    let failing = |errors| record(Model { errors, ..server(1_000.0, 0.0, 1_000) }, "SELECT 1;", &Load::default());
    for (errors, is_beyond) in [(0.0, false), (0.005, false), (0.03, true)] {
        let clock = VirtualClock::default();
        let load = Load { clients: 10, length: RunLength::Time(5 * S), ..Load::default() };
        let model = Model { errors, ..server(1_000.0, 0.0, 1_000) };
        let one = record_of(SimLane::new(model, 1, clock.clone()), &compile("SELECT 1;", &[]).unwrap(), &load, &clock);
        let share = value(&one, "over_5s") / (value(&one, "throughput") * 5.0 + value(&one, "errors"));
        assert_eq!(
            (share > 0.01, matches!(reading(&one, "response_p99"), Reading::Unavailable(_))),
            (is_beyond, is_beyond)
        );
        assert_eq!(value(&one, "over_5s"), value(&one, "errors"), "{errors}");
    }
    assert!(value(&failing(0.03), "over_100ms") > 0.0);
    // Skipped and failed ones are late; those not started are as late as they had waited.
    let model = Model { stall_at_ms: 400, stall_ms: 200, ..server(100.0, 0.0, 100_000) };
    let traffic = NetworkTraffic { latency_limit_ns: Some(50 * MS), limits_ns: vec![S], ..NetworkTraffic::default() };
    let load = Load { clients: 10, pace: Pace::Rate(1_000.0), traffic, ..Load::default() };
    let skipping = record(model, "SELECT 1;", &load);
    let skipped = value(&skipping, "skipped");
    assert!(skipped > 130.0 && value(&skipping, "over_1s") == skipped, "{skipped}");
    assert!((9.0..=12.0).contains(&(value(&skipping, "late") - skipped)));
    let stalled = Model { stall_at_ms: 1_700, stall_ms: 300, ..server(100.0, 0.0, 10) };
    let traffic = NetworkTraffic { limits_ns: vec![100 * MS, S], ..NetworkTraffic::default() };
    let load =
        Load { clients: 2, pace: Pace::Rate(1_000.0), traffic, length: RunLength::Time(2 * S), ..Load::default() };
    let late = record(stalled, "SELECT 1;", &load);
    // Due from 1.7 s on, for 100 ms and more at 2 s: the first 200 of 300.
    assert!((198.0..=201.0).contains(&value(&late, "over_100ms")), "{}", value(&late, "over_100ms"));
    assert_eq!(value(&late, "over_1s"), 0.0);
}
