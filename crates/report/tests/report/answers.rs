//! A query whose runs gave several answers has no verdict, whatever its times, and is named in the answer.

use model::{Direction, Measurement, Reading, Role};
use report::gate::{GateRules, RowStatus, gate};
use report::{Options, compare};
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};

/// Two queries in every run, with the hash of an answer each; that of `q2` is given.
fn queries(hash_of_q2: impl Fn(&str, u32) -> f64) -> Made {
    let mut made = Builder { clients: vec![1], ..Builder::default() }.build();
    let evidence = &mut made.evidence;
    evidence.measurements.clear();
    evidence.cases.iter_mut().for_each(|case| case.workload = "queries".to_owned());
    for run in evidence.runs.clone() {
        let (round, case, position) = (run.planned.round, run.planned.case, run.planned.position);
        let system = evidence.cases[case as usize].system.clone();
        let is_first = system == evidence.header.plan.systems[0].name;
        let noise = 1.0 + f64::from(round % 3) / 500.0;
        let mut add = |id: &str, role: Role, value: f64| {
            let direction = if role == Role::Diagnostic { Direction::Neither } else { Direction::Lower };
            let unit = if role == Role::Diagnostic { "" } else { "ms" };
            let measurement = Measurement::value(id, unit, direction, role, value);
            evidence.measurements.push(StoredMeasurement { run_id: run.id, round, case, position, measurement });
        };
        for (query, ms) in [("all", 11.0), ("q1", 1.0), ("q2", 10.0)] {
            add(&format!("elapsed/{query}"), Role::Primary, if is_first { ms } else { 2.0 * ms } * noise);
        }
        add("answer/q1", Role::Diagnostic, 7.0);
        add("answer/q2", Role::Diagnostic, hash_of_q2(&system, round));
    }
    made
}

fn verdicts(made: &Made) -> (String, Vec<(String, bool)>) {
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let rows = set.rows().map(|row| (row.metric.id.clone(), row.verdict().is_some())).collect();
    (set.answer, rows)
}

#[test]
fn a_query_with_other_answers_has_no_verdict_and_is_named() {
    let row = |id: &str, has: bool| (id.to_owned(), has);
    let (_, alike) = verdicts(&queries(|_, _| 8.0));
    // The largest change comes first.
    assert_eq!(alike, [row("elapsed/all", true), row("elapsed/q2", true), row("elapsed/q1", true)]);
    for other in [
        queries(|system, _| if system == "wal" { 8.0 } else { 9.0 }),
        queries(|system, round| if system == "wal" && round == 3 { 8.0 } else { 9.0 }),
    ] {
        let (answer, rows) = verdicts(&other);
        assert!(rows.contains(&row("elapsed/q1", true)) && rows.contains(&row("elapsed/q2", false)), "{rows:?}");
        assert!(rows.contains(&row("elapsed/all", false)), "{rows:?}");
        assert!(answer.contains("q2 gives another answer"), "{answer}");
        let set = compare(&other.evidence, &Options::default()).unwrap();
        // Whichever side gave the first answer.
        let lines = gate(&set, &GateRules::default()).lines;
        assert_eq!(lines.iter().filter(|line| line.status == RowStatus::Failed).count(), 2, "{lines:?}");
    }
    let set = compare(&queries(|_, _| 8.0).evidence, &Options::default()).unwrap();
    assert!(set.answer.ends_with("All 2 queries gave the same answers everywhere."), "{}", set.answer);
    let mut with_a_failed_one = queries(|_, _| 8.0);
    let mut failed: Vec<_> = with_a_failed_one
        .evidence
        .measurements
        .iter()
        .filter(|row| row.measurement.metric.id == "elapsed/q1")
        .cloned()
        .collect();
    for row in &mut failed {
        row.measurement.metric.id = "elapsed/q3".to_owned();
        row.measurement.reading = Reading::unavailable("it took longer than its timeout, 1s");
    }
    with_a_failed_one.evidence.measurements.extend(failed);
    let (answer, _) = verdicts(&with_a_failed_one);
    assert!(answer.contains("All 2 queries that ended gave the same answers everywhere."), "{answer}");
}
