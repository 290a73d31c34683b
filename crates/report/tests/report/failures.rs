//! What did not succeed is judged, is said in the verdicts, and stands in the way of those that it makes wrong.

use model::metric::FAILED_SHARE;
use model::{Measurement, Reading, Role};
use report::comparison::{NoVerdict, Warning};
use report::gate::{GateRules, GateStatus, gate};
use report::text::{TextOptions, render};
use report::{Comparison, ComparisonSet, Options, compare};

use crate::evidence::{Builder, Made};

/// Two equal systems, of whose operations such shares fail, in percent by side and block.
fn made(failed: impl Fn(&str, u32) -> f64) -> Made {
    read(|system, block| Reading::Value(failed(system, block)))
}

/// The same with shares that may not be known.
fn read(failed: impl Fn(&str, u32) -> Reading) -> Made {
    let systems = ["a", "b"].map(|name| (name.to_owned(), (|_| 1_000.0) as fn(i64) -> f64));
    let mut made = Builder { systems: systems.to_vec(), clients: vec![4], ..Builder::default() }.build();
    let one_each: Vec<_> =
        made.evidence.measurements.iter().filter(|one| one.measurement.metric.id == "throughput").cloned().collect();
    for beside in one_each {
        let system = made.evidence.cells[beside.cell as usize].system.clone();
        let measurement = Measurement::failed_share(failed(&system, beside.block));
        made.evidence.measurements.push(store::StoredMeasurement { measurement, ..beside });
    }
    made
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

fn row<'a>(set: &'a ComparisonSet, metric: &str) -> &'a Comparison {
    set.rows().find(|row| row.metric.id == metric).unwrap()
}

#[test]
fn a_share_that_differs_is_judged_and_voids_what_lies_in_it() {
    let made = made(|system, block| if system == "b" { 15.0 + f64::from(block % 3) } else { 0.0 });
    let set = set(&made);
    let share = row(&set, FAILED_SHARE);
    assert_eq!(share.verdict(), Some(stats::Verdict::Slower), "{:?}", share.outcome);
    let p99 = row(&set, "response_p99");
    assert!(matches!(p99.no_verdict(), Some(NoVerdict::Failures { tail, .. }) if *tail < 0.011), "{:?}", p99.outcome);
    assert!(row(&set, "throughput").verdict().is_some());
    let text = render(&set, &TextOptions::default());
    assert!(text.contains("A 0, B 16 % failed"), "{text}");
    assert!(text.contains("17 % of B failed"), "{text}");
    assert!(text.contains("points") && text.contains("more"), "{text}");
    assert_eq!(gate(&set, &GateRules::default()).status, GateStatus::Failed);
}

#[test]
fn shares_within_one_in_a_thousand_are_equivalent_and_are_not_mentioned() {
    let set = set(&made(|system, block| if system == "b" { 0.01 * f64::from(block % 3) } else { 0.01 }));
    assert_eq!(row(&set, FAILED_SHARE).verdict(), Some(stats::Verdict::Equivalent));
    assert!(set.rows().all(|row| row.failures.is_none()));
    assert!(row(&set, "response_p99").verdict().is_some());
}

#[test]
fn a_share_that_is_not_known_is_said_in_each_row() {
    let why = || Reading::Unavailable("the tool does not print it".to_owned());
    let set = set(&read(|system, _| if system == "b" { why() } else { Reading::Value(0.0) }));
    let judged: Vec<&Comparison> = set.rows().filter(|row| row.metric.role != Role::Diagnostic).collect();
    assert!(judged.iter().any(|row| row.metric.id == "response_p99"));
    for row in judged {
        let kinds: Vec<&str> = row.warnings.iter().map(Warning::kind).collect();
        assert!(kinds.contains(&"failures-unknown"), "{}: {kinds:?}", row.metric.id);
        assert_ne!(row.metric.id, FAILED_SHARE, "nothing is known to have failed");
    }
    let text = render(&set, &TextOptions::default());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("B: how much failed is not known in") && text.contains("(the tool does not print it)"),
        "{text}"
    );
}

#[test]
fn where_nothing_failed_there_is_no_question() {
    let set = set(&made(|_, _| 0.0));
    assert!(set.rows().all(|row| row.metric.id != FAILED_SHARE && row.failures.is_none()));
}

#[test]
fn one_trial_with_a_share_beyond_the_tail_voids_the_row() {
    // The other trials have a 99th percentile, and those that have one are no fair choice.
    let set = set(&made(|system, block| if system == "a" && block == 3 { 1.5 } else { 0.0 }));
    let p99 = row(&set, "response_p99");
    assert!(matches!(p99.no_verdict(), Some(NoVerdict::Failures { .. })), "{:?}", p99.outcome);
    assert!(row(&set, "response_p50").verdict().is_some());
}
