//! What a throughput is worth where clients answer together, and what a rate's backlog does to it.

use super::*;
use engines::sim::lane::{Model, SimLane};
use load::traffic::{PoolSize, Span};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn server(service_us: f64, spread: f64, servers: usize) -> Model {
    Model { service_us, spread, servers, noise: 0.0, ..Model::default() }
}

fn simulate(model: Model, seed: u64, load: &Load) -> LoadCounts {
    let clock = VirtualClock::default();
    load.run(SimLane::new(model, seed, clock.clone()), &compile("SELECT 1;", &[]).unwrap(), &clock).0
}

fn assert_near(value: f64, expected: f64, share: f64, what: &str) {
    assert!((value / expected - 1.0).abs() <= share, "{what}: {value} is not {expected}");
}

#[test]
fn clients_in_step_have_a_throughput_without_steps() {
    // No warm-up leaves room to spread them: a response takes longer than a half of it.
    for warmup_ms in [0, 10, 100, 190, 250, 300] {
        for (clients, service_ms) in [(1, 180.0), (8, 180.0), (8, 180.45), (64, 700.0), (64, 5.003)] {
            let load = Load { clients, warmup_ns: warmup_ms * MS, ..Load::default() };
            let counts = simulate(server(service_ms * 1e3, 0.0, 1_000), 1, &load);
            let expected = f64::from(clients) * 1_000.0 / service_ms;
            assert_near(counts.completed.total(), expected, 1e-6, &format!("{clients} × {service_ms} ms"));
        }
    }
}

#[test]
fn thinking_in_step_has_no_steps_either() {
    let think = Some(Span { least_ns: 130 * MS, most_ns: 130 * MS });
    for warmup_ms in [0, 20, 70, 110, 145] {
        let traffic = NetworkTraffic { think, ..NetworkTraffic::default() };
        let load = Load { clients: 8, traffic, warmup_ns: warmup_ms * MS, ..Load::default() };
        let counts = simulate(server(20_000.0, 0.0, 1_000), 1, &load);
        assert_near(counts.completed.total(), 8.0 * 1_000.0 / 150.0, 1e-6, &format!("warm-up of {warmup_ms} ms"));
    }
}

#[test]
fn connections_of_a_pool_in_step_have_no_steps() {
    let pool = Some(PoolSize { connections: 8, acquire_timeout_ns: None });
    for warmup_ms in [0, 10, 100, 190, 250] {
        let traffic = NetworkTraffic { pool, ..NetworkTraffic::default() };
        let load = Load { clients: 20, traffic, warmup_ns: warmup_ms * MS, ..Load::default() };
        let counts = simulate(server(180_000.0, 0.0, 1_000), 1, &load);
        assert_near(counts.completed.total(), 8.0 * 1_000.0 / 180.0, 1e-6, &format!("warm-up of {warmup_ms} ms"));
    }
}

/// The mean over many runs is the rate, however few transactions a run has.
#[test]
fn shares_at_the_edges_do_not_bias_a_throughput() {
    for (clients, spread, think_ms) in [(1, 1.0, 0), (8, 1.0, 0), (8, 0.5, 0), (8, 1.0, 300), (64, 1.0, 0)] {
        let think = (think_ms > 0).then_some(Span { least_ns: 0, most_ns: 2 * think_ms * MS });
        let traffic = NetworkTraffic { think, ..NetworkTraffic::default() };
        let load = |seed| Load {
            seed,
            clients,
            traffic: traffic.clone(),
            warmup_ns: 5 * S,
            length: RunLength::Time(600 * MS),
            ..Load::default()
        };
        // Two or three transactions of each client.
        let count = 4_000 / u64::from(clients);
        let all =
            (0..count).map(|seed| simulate(server(250_000.0, spread, 1_000), seed, &load(seed)).completed.total());
        let mean = all.sum::<f64>() / count as f64;
        let expected = f64::from(clients) * 600.0 / (250.0 + think_ms as f64);
        // At most a deviation of 1 in 4,000 × 1.1 transactions: 1.6 %.
        assert_near(mean, expected, 0.05, &format!("{clients} clients, spread {spread}, {think_ms} ms"));
    }
}

#[test]
fn littles_law_gives_the_clients_back() {
    let think = Some(Span { least_ns: 130 * MS, most_ns: 130 * MS });
    for (clients, think) in [(1, None), (8, None), (8, think), (64, None)] {
        let traffic = NetworkTraffic { think, ..NetworkTraffic::default() };
        let load = Load { clients, traffic, warmup_ns: S, ..Load::default() };
        let record = censored::record(server(45_000.0, 0.0, 1_000), "SELECT 1;", &load);
        assert_near(censored::value(&record, "concurrency"), f64::from(clients), 0.02, "clients");
    }
}

#[test]
fn a_transaction_tried_again_after_the_end_is_followed_to_its_own() {
    // Half of the tries fail: 20 ms of 10 ms each on average.
    let mut program = compile("SELECT 1;", &[]).unwrap();
    program.retry = Retry { max_tries: 0, within_ns: None };
    let mut sum = 0.0;
    for seed in 0..200 {
        let clock = VirtualClock::default();
        let model = Model { errors: 0.5, ..server(10_000.0, 0.0, 1_000) };
        let load = Load { seed, clients: 8, warmup_ns: 500 * MS, length: RunLength::Time(60 * MS), ..Load::default() };
        sum += load.run(SimLane::new(model, seed, clock.clone()), &program, &clock).0.completed.total();
    }
    assert_near(sum / 200.0, 8.0 * 3.0, 0.03, "mean of 200 runs");
}

#[test]
fn clients_that_begin_together_are_spread_over_a_response() {
    let load = Load { clients: 8, warmup_ns: S, length: RunLength::Time(2 * S), ..Load::default() };
    let clock = VirtualClock::default();
    let program = compile("SELECT 1;", &[]).unwrap();
    let (_, intervals) = load.run(SimLane::new(server(180_000.0, 0.0, 1_000), 1, clock.clone()), &program, &clock);
    // Of the 180 ms of a response each 100 ms have four or five of eight ends.
    let ends: Vec<u64> =
        intervals.iter().filter(|one| one.number < 20).map(|one| one.response.success_count()).collect();
    assert!(ends.len() == 20 && ends.iter().all(|count| (4..=5).contains(count)), "{ends:?}");
}

/// Two at a time, 4 ms each: 500 a second, and 250 are asked for. The server stalls for two of the three seconds before.
#[test]
fn a_backlog_of_the_warm_up_is_no_throughput_of_the_run() {
    let stalled = Model { stall_at_ms: 1_000, stall_ms: 2_000, ..server(4_000.0, 0.0, 2) };
    for (model, clients, is_stalled) in
        [(server(4_000.0, 0.0, 2), 8, false), (stalled.clone(), 8, true), (stalled, 2_000, true)]
    {
        let load = Load {
            clients,
            pace: Pace::Rate(250.0),
            warmup_ns: 3 * S,
            length: RunLength::Time(5 * S),
            ..Load::default()
        };
        let record = censored::record(model, "SELECT 1;", &load);
        assert_near(censored::value(&record, "throughput"), 250.0, 1e-6, "what was due in the run");
        let marks: Vec<_> = record.marks.iter().filter(|mark| mark.kind == model::MarkKind::Backlog).collect();
        assert_eq!(marks.len(), usize::from(is_stalled), "{:?}", record.marks);
        assert!(marks.iter().all(|mark| mark.detail.starts_with("1250 transactions were due in the run, and 17")));
    }
}
