//! A/A comparisons: every printed finding is false.
//!
//! Whole experiments go through store, `compare` with all metrics, and gate. A true 5 % of 200 has a standard error of
//! 1.54 points, so 8.1 % are two of them above it. Seeds are fixed.

use model::{Direction, Measurement, NoValue, PlannedRun, Reading, Role, RunState};
use report::comparison::{CrossFinding, NoVerdict, Warning};
use report::cross_experiment::{Source, join_stores};
use report::gate::{GateRules, GateStatus, judge_gate};
use report::{ComparisonSet, Evidence, MetricFilter, Options, compare};
use stats::{Rng, Verdict};
use store::{StoredMeasurement, StoredRun};

use crate::evidence::{Builder, empty, normal};

const EXPERIMENTS: u32 = 200;
/// 5 % and two standard errors, of 200.
const MOST: u32 = 16;
/// Three primary, the others secondary.
const METRICS: usize = 20;
/// Nothing is called equivalent before it is tested.
const MARGIN: f64 = 1e-6;

/// Dependence between a run's metrics.
#[derive(Clone, Copy, Debug)]
enum Metrics {
    /// As many chances of a false alarm as rows.
    Independent,
    /// They share most noise, like latencies and throughput.
    Together,
}

fn experiment(systems: &[&str], rounds: u32, metrics: Metrics, rng: &mut Rng) -> Evidence {
    let same = |_: i64| 1_000.0;
    let builder = Builder {
        systems: systems.iter().map(|system| ((*system).to_owned(), same as fn(i64) -> f64)).collect(),
        clients: vec![1, 4],
        rounds,
        ..Builder::default()
    };
    let plan = builder.plan();
    let (order, cases) = (plan.run_order(), plan.cases());
    let mut evidence = empty(plan, cases);
    for planned in order {
        run(&mut evidence, planned, metrics, rng);
    }
    evidence
}

fn run(evidence: &mut Evidence, planned: PlannedRun, metrics: Metrics, rng: &mut Rng) {
    let run_id = i64::from(planned.position) + 1;
    evidence.runs.push(StoredRun {
        id: run_id,
        planned,
        attempt: 1,
        state: RunState::Measured,
        reason: None,
        started_unix_ms: Some(1_772_366_400_000 + i64::from(planned.position) * 25_000),
        elapsed_s: 5.0,
    });
    let shared = normal(rng);
    for index in 0..METRICS {
        let (role, own) = (if index < 3 { Role::Primary } else { Role::Secondary }, normal(rng));
        let noise = match metrics {
            Metrics::Independent => own,
            Metrics::Together => 0.9 * shared + 0.44 * own,
        };
        let value = 1_000.0 * (0.02 * noise).exp();
        let measurement = Measurement::value(&format!("m{index:02}"), "tx/s", Direction::Higher, role, value);
        let PlannedRun { position, round, case } = planned;
        evidence.measurements.push(StoredMeasurement { run_id, round, case, position, measurement });
    }
}

#[derive(Debug, Default)]
struct Alarms {
    verdict: u32,
    gate: u32,
    warning: u32,
    raw: u32,
}

fn is_alarm(verdict: Option<Verdict>) -> bool {
    matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
}

fn is_finding(found: Option<CrossFinding>) -> bool {
    matches!(found, Some(CrossFinding::Higher | CrossFinding::Lower))
}

fn unsteady(set: &ComparisonSet) -> bool {
    let is_one = |warning: &Warning| matches!(warning, Warning::Drift { .. } | Warning::Bimodal { .. });
    set.rows().any(|row| row.warnings.iter().any(is_one))
}

fn alarms(rounds: u32, metrics: Metrics) -> Alarms {
    let both = |rng: &mut Rng| experiment(&["a", "b"], rounds, metrics, rng);
    alarms_of(both, &format!("{rounds} rounds, {metrics:?}"), u64::from(rounds))
}

fn alarms_of(mut experiment: impl FnMut(&mut Rng) -> Evidence, name: &str, seed: u64) -> Alarms {
    let mut rng = Rng::new(seed);
    let mut alarms = Alarms::default();
    let options = Options { metrics: MetricFilter::All, margin: Some(MARGIN), ..Options::default() };
    let rules = GateRules { max_regression: MARGIN, ..GateRules::default() };
    for _ in 0..EXPERIMENTS {
        let set = compare(&experiment(&mut rng), &options).unwrap();
        assert_eq!(set.rows().count(), 2 * METRICS);
        alarms.verdict += u32::from(set.rows().any(|row| is_alarm(row.verdict()) || is_finding(row.cross_finding())));
        alarms.gate += u32::from(judge_gate(&set, &rules).status == GateStatus::Failed);
        alarms.warning += u32::from(unsteady(&set));
        alarms.raw += u32::from(set.rows().any(|row| row.estimate.is_some_and(|e| e.p_t <= 0.05)));
    }
    println!("{name}: {alarms:?} of {EXPERIMENTS}");
    alarms
}

/// Of 200 A/A experiments with all metrics at most 5 % show a verdict.
#[test]
fn all_metrics_of_one_system_rarely_show_any_verdict() {
    for (rounds, metrics) in [(6, Metrics::Independent), (10, Metrics::Together)] {
        let alarms = alarms(rounds, metrics);
        assert!(alarms.verdict <= MOST && alarms.gate <= MOST && alarms.warning <= MOST, "{alarms:?}");
        if matches!(metrics, Metrics::Independent) {
            assert!(alarms.raw > EXPERIMENTS * 3 / 4, "unadjusted, most experiments have a finding: {alarms:?}");
        }
    }
}

/// One system in two experiments of other days, joined; on the second day everything is that much faster.
fn apart(rounds: u32, metrics: Metrics, shift: f64, rng: &mut Rng) -> Evidence {
    let mut day = |number: i64| {
        let mut evidence = experiment(&["pg"], rounds, metrics, rng);
        let later = number * 86_400_000;
        evidence.header.created_unix_ms += later;
        for run in &mut evidence.runs {
            run.started_unix_ms = run.started_unix_ms.map(|at| at + later);
        }
        Source { file: format!("day{number}.etalon"), system: None, evidence }
    };
    let (first, mut second) = (day(0), day(1));
    for stored in &mut second.evidence.measurements {
        if let Reading::Value(value) = &mut stored.measurement.reading {
            *value *= 1.0 + shift;
        }
    }
    join_stores(&[first, second]).unwrap()
}

/// Where nothing differs, not even the day, at most 5 % of the comparisons of two experiments find anything. What a day does to
/// all of its runs is found as a difference, by nearly all of them: no test between two days can tell it from the systems.
#[test]
fn two_experiments_of_one_system_rarely_differ_but_by_their_days() {
    for (rounds, metrics) in [(6, Metrics::Independent), (10, Metrics::Together)] {
        let name = format!("apart, {rounds} rounds, {metrics:?}");
        let same = alarms_of(|rng| apart(rounds, metrics, 0.0, rng), &name, 100 + u64::from(rounds));
        assert!(same.verdict <= MOST && same.gate <= MOST && same.warning <= MOST, "{same:?}");
        let days = alarms_of(|rng| apart(rounds, metrics, 0.05, rng), &format!("{name}, shifted"), u64::from(rounds));
        assert!(days.verdict > EXPERIMENTS * 9 / 10, "{days:?}");
    }
}

/// One system on both sides whose runs have about as many operations as a p99 takes: exponential times of 1 ms, by one client.
fn near_a_thousand(systems: [&str; 2], rounds: u32, rng: &mut Rng) -> Evidence {
    let same = |_: i64| 1_000.0;
    let systems = systems.map(|system| (system.to_owned(), same as fn(i64) -> f64)).to_vec();
    let plan = Builder { systems, clients: vec![1], rounds, ..Builder::default() }.plan();
    let (order, cases) = (plan.run_order(), plan.cases());
    let mut evidence = empty(plan, cases);
    for planned in order {
        let PlannedRun { position, round, case } = planned;
        let run_id = i64::from(position) + 1;
        let started_unix_ms = Some(1_772_366_400_000 + i64::from(position) * 2_000);
        let state = RunState::Measured;
        evidence.runs.push(StoredRun {
            id: run_id,
            planned,
            attempt: 1,
            state,
            reason: None,
            started_unix_ms,
            elapsed_s: 1.0,
        });
        let service_us = 1_000.0 * (0.01 * normal(rng)).exp();
        let mut times = Vec::new();
        let mut left_us = 1e6;
        while left_us > 0.0 {
            let time_us = -service_us * (1.0 - rng.next_f64()).ln();
            left_us -= time_us;
            times.push(time_us);
        }
        times.sort_by(f64::total_cmp);
        let quantile = |share: f64| match stats::censored::rank_of_quantile(share, times.len() as u64, 0) {
            Ok(rank) => Reading::Value(times[rank as usize - 1]),
            Err(stats::NoQuantile::TooFew { needed }) => Reading::Unavailable(NoValue::too_few(needed, "transactions")),
            Err(stats::NoQuantile::AmongFailed { .. }) => unreachable!(),
        };
        let latency = |id: &str, share| Measurement::new(id, "us", Direction::Lower, Role::Primary, quantile(share));
        let rate = Measurement::value("throughput", "tx/s", Direction::Higher, Role::Primary, times.len() as f64);
        for measurement in [rate, latency("response_p50", 0.5), latency("response_p99", 0.99)] {
            evidence.measurements.push(StoredMeasurement { run_id, round, case, position, measurement });
        }
    }
    evidence
}

/// Chance decides there whether p99 has a value, in each run again.
#[test]
fn the_gate_of_equals_passes_near_a_thousand_operations() {
    let mut rng = Rng::new(35);
    let (mut failed, mut without) = (0, 0);
    for _ in 0..EXPERIMENTS {
        let set = compare(&near_a_thousand(["a", "b"], 10, &mut rng), &Options::default()).unwrap();
        let p99 = set.rows().find(|row| row.metric.id == "response_p99").unwrap();
        without += u32::from(matches!(p99.why_no_verdict(), Some(NoVerdict::TooFewOperations { needed: 1_000, .. })));
        failed += u32::from(!matches!(
            judge_gate(&set, &GateRules::default()).status,
            GateStatus::Passed | GateStatus::NotFailed
        ));
    }
    println!("near 1,000 operations: the gate failed {failed} of {EXPERIMENTS}, p99 was n/a in {without}");
    assert!(without > EXPERIMENTS / 2, "the runs are near the limit: {without}");
    assert!(20 * failed <= EXPERIMENTS, "{failed}");
}
