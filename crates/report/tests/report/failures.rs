//! What did not succeed is judged, is said in the verdicts, and stands in the way of those that it makes wrong.

use model::metric::FAILED_SHARE;
use model::{Direction, Measurement, Reading, Role};
use report::comparison::{MetricFilter, NoVerdict, SideLetter, Warning};
use report::gate::{GateRules, GateStatus, RowStatus, judge_gate};
use report::text::{TextOptions, render_set};
use report::{Comparison, ComparisonSet, Options, compare};

use crate::evidence::{Builder, Made};

/// Two equal systems with these failed percentages by side and block.
fn made(failed: impl Fn(&str, u32) -> f64) -> Made {
    read(|system, round| Reading::Value(failed(system, round)))
}

/// [`made`] with shares that may be unknown.
fn read(failed: impl Fn(&str, u32) -> Reading) -> Made {
    let systems = ["a", "b"].map(|name| (name.to_owned(), (|_| 1_000.0) as fn(i64) -> f64));
    let mut made = Builder { systems: systems.to_vec(), clients: vec![4], ..Builder::default() }.build();
    add(&mut made, |system, round| Measurement::failed_share(failed(system, round)));
    made
}

fn add(made: &mut Made, measurement: impl Fn(&str, u32) -> Measurement) {
    let one_each: Vec<_> =
        made.evidence.measurements.iter().filter(|one| one.measurement.metric.id == "throughput").cloned().collect();
    for beside in one_each {
        let system = made.evidence.cases[beside.case as usize].system.clone();
        let measurement = measurement(&system, beside.round);
        made.evidence.measurements.push(store::StoredMeasurement { measurement, ..beside });
    }
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

fn row<'a>(set: &'a ComparisonSet, metric: &str) -> &'a Comparison {
    set.rows().find(|row| row.metric.id == metric).unwrap()
}

#[test]
fn a_share_that_differs_is_judged_and_voids_what_lies_in_it() {
    let made = made(|system, round| if system == "b" { 15.0 + f64::from(round % 3) } else { 0.0 });
    let set = set(&made);
    let share = row(&set, FAILED_SHARE);
    assert_eq!(share.verdict(), Some(stats::Verdict::Slower), "{:?}", share.outcome);
    let p99 = row(&set, "response_p99");
    assert!(
        matches!(p99.why_no_verdict(), Some(NoVerdict::Failures { tail, .. }) if *tail < 0.011),
        "{:?}",
        p99.outcome
    );
    assert!(row(&set, "throughput").verdict().is_some());
    let text = render_set(&set, &TextOptions::default());
    assert!(text.contains("A 0, B 16 % failed"), "{text}");
    assert!(text.contains("17 % of B failed"), "{text}");
    assert!(text.contains("points") && text.contains("more"), "{text}");
    assert_eq!(judge_gate(&set, &GateRules::default()).status, GateStatus::Failed);
}

#[test]
fn shares_within_one_in_a_thousand_are_equivalent_and_are_not_mentioned() {
    let set = set(&made(|system, round| if system == "b" { 0.01 * f64::from(round % 3) } else { 0.01 }));
    assert_eq!(row(&set, FAILED_SHARE).verdict(), Some(stats::Verdict::Equivalent));
    assert!(set.rows().all(|row| row.failures.is_none()));
    assert!(row(&set, "response_p99").verdict().is_some());
}

#[test]
fn a_share_that_is_not_known_is_said_in_each_row() {
    let why = || Reading::unavailable("the tool does not print it");
    let set = set(&read(|system, _| if system == "b" { why() } else { Reading::Value(0.0) }));
    let judged: Vec<&Comparison> = set.rows().filter(|row| row.metric.role != Role::Diagnostic).collect();
    assert!(judged.iter().any(|row| row.metric.id == "response_p99"));
    for row in judged {
        let kinds: Vec<&str> = row.warnings.iter().map(Warning::as_str).collect();
        assert!(kinds.contains(&"failures-unknown"), "{}: {kinds:?}", row.metric.id);
        assert_ne!(row.metric.id, FAILED_SHARE, "nothing is known to have failed");
    }
    let text = render_set(&set, &TextOptions::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("B: how much failed is not known in") && text.contains("(the tool does not print it)"),
        "{text}"
    );
}

#[test]
fn a_run_without_a_figure_has_none_that_failures_could_touch() {
    let mut made = made(|_, _| 0.0);
    let of_b = |one: &store::StoredMeasurement| made.evidence.cases[one.case as usize].system == "b";
    let none: Vec<bool> = made.evidence.measurements.iter().map(|one| of_b(one) && one.round == 3).collect();
    let mut lacks = none.iter();
    made.evidence.measurements.retain_mut(|one| {
        let lacks = *lacks.next().unwrap();
        if lacks {
            one.measurement.reading = Reading::unavailable("no rate keeps the promise");
        }
        !lacks || one.measurement.metric.id != FAILED_SHARE
    });
    let set = set(&made);
    let text = render_set(&set, &TextOptions::default());
    assert!(text.contains("no rate keeps the promise"), "{text}");
    assert!(!text.contains("how much failed is not known"), "{text}");
}

#[test]
fn where_nothing_failed_there_is_no_question() {
    let set = set(&made(|_, _| 0.0));
    assert!(set.rows().all(|row| row.metric.id != FAILED_SHARE && row.failures.is_none()));
}

#[test]
fn one_run_with_a_share_beyond_the_tail_voids_the_row() {
    // Only the other runs have a p99: an unfair selection.
    let set = set(&made(|system, round| if system == "a" && round == 3 { 1.5 } else { 0.0 }));
    let p99 = row(&set, "response_p99");
    assert!(matches!(p99.why_no_verdict(), Some(NoVerdict::Failures { .. })), "{:?}", p99.outcome);
    assert!(row(&set, "response_p50").verdict().is_some());
}

#[test]
fn runs_that_failed_are_not_left_out_of_a_verdict() {
    let systems = || vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_300.0)];
    let failing = |of_a: u32, of_b: u32| {
        let mut made = Builder { systems: systems(), clients: vec![4], rounds: 20, ..Builder::default() }.build();
        for (case, count) in [(0, of_a), (1, of_b)] {
            let of_case = made.evidence.runs.iter().filter(|run| run.planned.case == case);
            let lost: Vec<u32> = of_case.take(count as usize).map(|run| run.planned.position).collect();
            lost.into_iter().for_each(|position| made.fail(position, "server closed the connection"));
        }
        set(&made)
    };
    assert!(failing(0, 0).rows().all(|row| row.verdict().is_some()));
    for (of_a, of_b, side, runs) in [(0, 1, SideLetter::B, 1), (0, 12, SideLetter::B, 12), (3, 2, SideLetter::A, 3)] {
        for row in failing(of_a, of_b).rows() {
            assert_eq!(
                row.why_no_verdict(),
                Some(&NoVerdict::IncompleteRuns { side, runs, of: 20 }),
                "{}",
                row.metric.id
            );
        }
    }
}

#[test]
fn whoever_interrupts_a_repetition_has_not_undone_the_failure() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_300.0)];
    let mut made = Builder { systems, clients: vec![4], rounds: 12, ..Builder::default() }.build();
    let position = made.position_of("b");
    made.fail(position, "server closed the connection");
    let failed = made.evidence.runs[position as usize].clone();
    made.evidence.runs.push(store::StoredRun {
        id: 1_000,
        attempt: 2,
        state: model::RunState::Aborted,
        reason: Some("interrupted by the user".to_owned()),
        ..failed
    });
    made.evidence.runs.sort_by_key(|run| (run.planned.position, run.attempt));
    let lacking = NoVerdict::IncompleteRuns { side: SideLetter::B, runs: 1, of: 12 };
    assert!(set(&made).rows().all(|row| row.why_no_verdict() == Some(&lacking)));
}

#[test]
fn what_a_verdict_owes_to_repetitions_is_none() {
    let of_b = |rate: fn(i64) -> f64, count| {
        let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), rate)];
        let mut made = Builder { systems, clients: vec![4], rounds: 30, noise: 0.02, ..Builder::default() }.build();
        made.repeat("b", count, "server closed the connection");
        let set = set(&made);
        let row = row(&set, "throughput");
        (row.outcome.clone(), row.estimate.unwrap().p_t)
    };
    let p = |count| of_b(|_| 1_300.0, count).1;
    assert!(p(2) > 10.0 * p(0), "it rests on the worse of both: {} and {}", p(2), p(0));
    let of_b = |rate, count| of_b(rate, count).0;
    let none = |runs| report::comparison::Outcome::None(NoVerdict::Repeated { side: SideLetter::B, runs });
    assert_eq!(of_b(|_| 1_300.0, 2), report::comparison::Outcome::Verdict(stats::Verdict::Faster), "it stands anyway");
    assert_eq!(of_b(|_| 1_300.0, 8), none(8), "it died too often");
    assert_eq!(of_b(|_| 1_010.0, 2), none(2), "a percent is less than what two bad runs may hide");
}

#[test]
fn a_point_of_which_a_run_failed_has_no_place_on_a_curve() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_300.0)];
    let mut made = Builder { systems, clients: vec![4, 8], rounds: 6, ..Builder::default() }.build();
    made.fail(made.position_of("b"), "server closed the connection");
    let set = set(&made);
    let of = |system: &str| set.clients[0].curves.iter().find(|curve| curve.system == system).unwrap();
    let points = |system: &str| of(system).points.iter().filter(|point| point.mean().is_some()).count();
    assert_eq!((points("a"), points("b")), (2, 1));
    let lost = of("b").points.iter().find(|point| point.void.is_some()).unwrap();
    assert_eq!(lost.rate.unavailable, [(model::Absence::Unavailable.with_reason("1 run failed"), 1)]);
}

#[test]
fn what_ended_with_etalon_counts_as_repeated_where_it_hits_one_side() {
    let cut_off_at = |clients: Vec<i64>, of_a, of_b, reason: &str| {
        let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_200.0)];
        let mut made = Builder { systems, clients, rounds: 10, noise: 0.003, ..Builder::default() }.build();
        made.repeat("a", of_a, reason);
        made.repeat("b", of_b, reason);
        for run in made.evidence.runs.iter_mut().filter(|run| run.state == model::RunState::Failed) {
            run.state = model::RunState::Aborted;
        }
        set(&made)
    };
    let cut_off = |of_a, of_b, reason: &str| cut_off_at(vec![4], of_a, of_b, reason);
    for reason in [model::run::PROCESS_ENDED, model::run::INTERRUPTED] {
        // Two or three on one side are chance, and so is what hits both sides alike.
        for (of_a, of_b) in [(0, 1), (0, 2), (3, 3), (1, 4)] {
            assert!(cut_off(of_a, of_b, reason).rows().all(|row| row.verdict().is_some()), "{of_a} {of_b} {reason}");
        }
        let all = cut_off(0, 10, reason);
        let why = NoVerdict::CutOff { side: SideLetter::B, runs: 10 };
        assert!(all.rows().all(|row| row.why_no_verdict() == Some(&why)), "{reason}");
        // The candidate may have nothing to do with it.
        let gate = judge_gate(&all, &GateRules::default());
        assert_eq!(gate.status, GateStatus::TooFewRows, "{reason}");
        // One in each of many cases is many.
        let few = cut_off_at((1..=11).collect(), 0, 11, reason);
        assert!(few.rows().all(|row| matches!(row.why_no_verdict(), Some(NoVerdict::CutOff { .. }))), "{reason}");
    }
}

#[test]
fn what_was_aborted_for_good_is_lacking_in_an_import() {
    let mut made = Builder { clients: vec![4], ..Builder::default() }.build();
    made.evidence.header.build = report::evidence::IMPORTED.to_owned();
    let of_wal: Vec<u32> =
        made.evidence.runs.iter().filter(|r| r.planned.case == 1).map(|r| r.planned.position).collect();
    of_wal[..4].iter().for_each(|position| made.end(*position, model::RunState::Aborted));
    let why = NoVerdict::IncompleteRuns { side: SideLetter::B, runs: 4, of: 10 };
    assert_eq!(row(&set(&made), "throughput").why_no_verdict(), Some(&why));
}

#[test]
fn one_transaction_more_or_less_is_no_difference_of_a_rate() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_000.0)];
    let mut made = Builder { systems, clients: vec![4], rounds: 6, ..Builder::default() }.build();
    let model::Length::Duration(length) = made.evidence.header.plan.schedule.length else { panic!("it has a length") };
    let step = 1.0 / length.as_secs_f64();
    made.change("a", "throughput", |_, _| 25.0 * step);
    made.change("b", "throughput", |_, _| 24.0 * step);
    assert_eq!(row(&set(&made), "throughput").why_no_verdict(), Some(&NoVerdict::UnderClockStep));
    made.change("b", "throughput", |_, _| 25.0 * step);
    assert_eq!(row(&set(&made), "throughput").why_no_verdict(), Some(&NoVerdict::UnderClockStep), "a step is 4 %");
    made.change("b", "throughput", |_, _| 20.0 * step);
    assert!(row(&set(&made), "throughput").verdict().is_some());
}

#[test]
fn values_in_other_units_are_not_compared() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_000.0)];
    let mut made = Builder { systems, clients: vec![4], rounds: 12, ..Builder::default() }.build();
    for stored in &mut made.evidence.measurements {
        if stored.case == 1 && stored.measurement.metric.id == "response_p99" {
            stored.measurement.metric.unit = "s".into();
        }
    }
    let set = set(&made);
    let p99 = row(&set, "response_p99");
    assert!(
        matches!(p99.why_no_verdict(), Some(NoVerdict::NotComparable(why)) if why.contains("`s`")),
        "{:?}",
        p99.outcome
    );
}

#[test]
fn runs_without_a_row_lack_it() {
    for metric in ["throughput", "response_p99"] {
        let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_300.0)];
        let mut made = Builder { systems, clients: vec![4], rounds: 12, ..Builder::default() }.build();
        made.evidence
            .measurements
            .retain(|stored| stored.measurement.metric.id != metric || stored.case == 0 || stored.round % 2 == 0);
        let set = set(&made);
        let lacking = NoVerdict::IncompleteRuns { side: SideLetter::B, runs: 6, of: 12 };
        assert_eq!(row(&set, metric).why_no_verdict(), Some(&lacking));
        assert!(row(&set, "response_p50").verdict().is_some(), "it is in all runs");
    }
}

#[test]
fn a_share_that_is_not_known_is_no_share_of_zero() {
    let made = |unknown: std::ops::Range<u32>| {
        let mut made = made(|system, _| if system == "b" { 0.5 } else { 0.0 });
        made.lack("a", FAILED_SHARE, unknown);
        set(&made)
    };
    assert!(row(&made(0..0), "response_p99").verdict().is_some(), "half a percent lies beyond it");
    for unknown in [0..3, 0..20] {
        let set = made(unknown.clone());
        let p99 = row(&set, "response_p99");
        assert_eq!(p99.why_no_verdict(), Some(&NoVerdict::FailuresUnknown { side: SideLetter::A }), "{unknown:?}");
        let throughput = row(&set, "throughput");
        assert!(throughput.failures.is_some_and(|of| of.b.is_some()), "{throughput:?}");
    }
    let text = render_set(&made(0..20), &TextOptions { width: 160, ..TextOptions::default() });
    assert!(text.contains("A an unknown share, B 0.5 % failed"), "{text}");
}

#[test]
fn a_latency_that_some_runs_lack_has_no_verdict() {
    let lacking = |of_a: u32, of_b: u32| {
        let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_300.0)];
        let mut made = Builder { systems, clients: vec![4], rounds: 20, ..Builder::default() }.build();
        made.lack("a", "response_p99", 0..of_a);
        made.lack("b", "response_p99", 0..of_b);
        set(&made)
    };
    assert_eq!(row(&lacking(0, 0), "response_p99").verdict(), Some(stats::Verdict::Faster));
    for (of_a, of_b, side, runs) in [(0, 1, SideLetter::B, 1), (0, 18, SideLetter::B, 18), (3, 2, SideLetter::A, 3)] {
        let set = lacking(of_a, of_b);
        let p99 = row(&set, "response_p99");
        assert_eq!(p99.why_no_verdict(), Some(&NoVerdict::IncompleteRuns { side, runs, of: 20 }));
        assert_eq!(row(&set, "response_p50").verdict(), Some(stats::Verdict::Faster), "it is in all runs");
        let text = render_set(&set, &TextOptions { width: 80, ..TextOptions::default() });
        let said = format!("{} lacks {runs} of 20", side.as_str());
        assert!(text.contains(&said) && text.contains("10 operations beyond it are needed"), "{text}");
    }
    let none = lacking(2, 20);
    assert!(matches!(row(&none, "response_p99").why_no_verdict(), Some(NoVerdict::NotAvailable { .. })), "{none:?}");
}

#[test]
fn a_run_that_does_not_know_the_share_of_a_kind_has_that_of_all() {
    // In one run some were skipped before their kind was known.
    let made = |of_reads: f64| {
        let is_bad = |system: &str, round: u32| system == "b" && round == 3;
        let mut made = made(|system, round| if is_bad(system, round) { 20.0 } else { 0.0 });
        add(&mut made, |system, round| {
            let share = match is_bad(system, round) {
                true => Reading::unavailable("of which kind 9 would have been is unknown"),
                false => Reading::Value(if system == "b" { of_reads } else { 0.0 }),
            };
            Measurement::new("failed_share_reads", "%", Direction::Lower, Role::Secondary, share)
        });
        add(&mut made, |_, round| {
            let p99 = 900.0 + f64::from(round % 3);
            Measurement::value("response_p99_reads", "us", Direction::Lower, Role::Secondary, p99)
        });
        compare(&made.evidence, &Options { metrics: MetricFilter::All, ..Options::default() }).unwrap()
    };
    let none = made(0.0);
    let p99 = row(&none, "response_p99_reads");
    let Some(NoVerdict::Failures { side, share, .. }) = p99.why_no_verdict() else { panic!("{:?}", p99.outcome) };
    assert_eq!((*side, *share), (SideLetter::B, 0.2));
    let some = made(0.9);
    let share = row(&some, "failed_share_reads");
    assert_eq!(share.why_no_verdict(), Some(&NoVerdict::IncompleteRuns { side: SideLetter::B, runs: 1, of: 10 }));
}

#[test]
fn a_candidate_of_which_nobody_knows_what_failed_has_not_failed() {
    let unknown = || Reading::unavailable("the tool does not print it");
    let set = set(&read(|system, _| if system == "b" { unknown() } else { Reading::Value(5.0) }));
    let outcome = judge_gate(&set, &GateRules { min_rows: Some(1), ..GateRules::default() });
    let share = outcome.lines.iter().find(|line| line.name.contains("failed share")).unwrap();
    assert_eq!(share.status, RowStatus::NotCompared, "{outcome:?}");
    assert!(share.detail.contains("the tool does not print it"), "{share:?}");
    assert_eq!(outcome.status, GateStatus::NotFailed, "{outcome:?}");
}

#[test]
fn what_was_measured_again_is_held_against_what_it_said_first() {
    let judged = |first: f64| {
        let systems = vec![("a".to_owned(), (|_| 1_000.0) as fn(i64) -> f64), ("b".to_owned(), |_| 1_200.0)];
        let mut made = Builder { systems, clients: vec![4], rounds: 10, ..Builder::default() }.build();
        let again = made.evidence.measurements.iter().filter(|stored| stored.case == 1 && stored.round < 6);
        let again = again.filter(|stored| stored.measurement.metric.id == "throughput").cloned();
        made.evidence.superseded = again.collect();
        for (off, stored) in (0..).zip(&mut made.evidence.superseded) {
            stored.run_id = off;
            stored.measurement.reading = Reading::Value(first + 5.0 * f64::from(stored.round));
        }
        let set = set(&made);
        set.rows().find(|row| row.metric.id == "throughput").unwrap().outcome.clone()
    };
    assert_eq!(judged(1_190.0), report::comparison::Outcome::Verdict(stats::Verdict::Faster));
    let again = NoVerdict::MeasuredAgain { runs: 6 };
    assert_eq!(judged(850.0), report::comparison::Outcome::None(again));
}
