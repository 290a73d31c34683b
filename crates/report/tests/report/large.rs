//! Large stores: four times as much takes about four times as long, not sixteen times.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use model::{
    Case, Direction, Facts, Mark, MarkKind, Measurement, PlannedRun, Role, RunRecord, RunState, Series, Value,
};
use report::text::{TextOptions, render_set};
use report::{Evidence, MetricFilter, Options, Pairing, compare};

use crate::evidence::Builder;

/// What grows with the size.
#[derive(Clone, Copy)]
enum Grows {
    Cases,
    Metrics,
    Rounds,
    Benchmarks,
}

/// Two systems with a mark in every second run; each metric in its own direction, so that rows differ in their notes.
fn evidence(grows: Grows, size: usize) -> Evidence {
    let of = |own: Grows| if std::mem::discriminant(&own) == std::mem::discriminant(&grows) { size } else { 1 };
    let builder = Builder { clients: vec![1], rounds: 1, ..Builder::default() };
    let mut plan = builder.plan();
    plan.schedule.rounds = of(Grows::Rounds) as u32;
    let mut first = plan.benchmarks[0].clone();
    let point = |rows: usize| {
        let mut point = first.points[0].clone();
        point.insert("rows".to_owned(), Value::Int(rows as i64));
        point
    };
    first.points = (1..=of(Grows::Cases)).map(point).collect();
    let named = |number| model::Benchmark { name: format!("benchmark-{number}"), ..first.clone() };
    plan.benchmarks = (0..of(Grows::Benchmarks)).map(named).collect();
    let cases = plan.cases();
    let header = store::Header { plan, ..crate::evidence::empty(builder.plan(), Vec::new()).header };
    let mut runs = Vec::new();
    for round in 0..of(Grows::Rounds) as u32 {
        for (case, of_case) in (0..).zip(&cases) {
            let position = runs.len() as u32;
            runs.push((PlannedRun { position, round, case }, record(position, of_case, of(Grows::Metrics))));
        }
    }
    Evidence::from_runs(header, runs, BTreeMap::<String, Facts>::new())
}

fn record(position: u32, case: &Case, metrics: usize) -> RunRecord {
    let rows = case.point.get("rows").and_then(Value::as_int).unwrap_or(1) as f64;
    let noise = f64::from(position.wrapping_mul(2_654_435_761) >> 22) / 1e5;
    let value = |metric: usize| 1_000.0 * rows * (1.0 + noise + metric as f64 * 1e-6);
    let measured = |metric| {
        let id = format!("throughput_{metric}");
        Measurement::value(&id, "tx/s", Direction::Higher, Role::Primary, value(metric))
    };
    let note = Mark::new(MarkKind::Note, format!("case of {rows} rows"));
    RunRecord {
        state: RunState::Measured,
        reason: None,
        began_unix_ms: Some(1_772_366_400_000 + i64::from(position)),
        elapsed_s: 1.0,
        measurements: (0..metrics).map(measured).collect(),
        series: Vec::new(),
        marks: if position.is_multiple_of(2) { vec![note] } else { Vec::new() },
        points: Vec::new(),
        query_plans: Vec::new(),
    }
}

/// On a processor; where a system does not tell that, by the clock on the wall.
fn spent(work: impl FnOnce()) -> Duration {
    let on_processor = || {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        Some(Duration::from_nanos(told.split(' ').next()?.parse().ok()?))
    };
    let (before, began) = (on_processor(), Instant::now());
    work();
    let after = on_processor();
    after.zip(before).map_or(began.elapsed(), |(after, before)| after - before)
}

/// All that is made of a store.
fn all_of(evidence: &Evidence) {
    let options = Options { metrics: MetricFilter::All, pairing: Pairing::Unpaired, ..Options::default() };
    for options in [Options::default(), options] {
        let set = compare(evidence, &options).unwrap();
        assert!(!render_set(&set, &TextOptions::default()).is_empty());
        let nothing = BTreeMap::<i64, Vec<Series>>::new();
        assert!(report::html::render_page(evidence, &set, &nothing).unwrap().len() > 10_000);
        assert!(!report::markdown::render_comparisons(evidence, &set).is_empty());
    }
    assert!(!report::barrel::barrel_reports(evidence, report::barrel::Runs::Each).is_empty());
}

/// The least of three is that of the quietest moment.
fn least(evidence: &Evidence) -> Duration {
    (0..3).map(|_| spent(|| all_of(evidence))).min().unwrap()
}

fn holds(what: &str, grows: Grows, size: usize) {
    /// Four times as much in a straight line is 4, and 16 where each is looked up among all.
    const MOST: f64 = 7.0;
    let (small, large) = (least(&evidence(grows, size)), least(&evidence(grows, 4 * size)));
    let ratio = large.as_secs_f64() / small.as_secs_f64();
    println!("{what}: {size} in {small:?}, {} in {large:?}: {ratio:.1} times", 4 * size);
    assert!(ratio < MOST, "{what}: four times as many take {ratio:.1} times as long ({small:?}, then {large:?})");
}

#[test]
fn many_cases() {
    holds("cases", Grows::Cases, 200);
}

#[test]
fn many_metrics() {
    holds("metrics", Grows::Metrics, 300);
}

#[test]
fn many_rounds() {
    holds("rounds", Grows::Rounds, 200);
}

#[test]
fn many_benchmarks() {
    holds("benchmarks", Grows::Benchmarks, 100);
}
