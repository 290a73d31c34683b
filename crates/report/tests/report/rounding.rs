//! Differences that a clock, printed digits or buckets can make, and those that they cannot.

use report::comparison::{NoVerdict, Outcome, Warning};
use stats::Verdict;

use crate::comparison::{row, set};
use crate::evidence::Builder;

#[test]
fn a_difference_of_one_step_of_the_clock_is_no_difference() {
    // 15 ms ticks: A takes 4 to 8 of them, B one or two more.
    let ticks = |first: u32| move |round: u32, _: f64| 15_000.0 * f64::from(first + round % 5);
    for (more, is_refused) in [(1, true), (2, false)] {
        let mut made = Builder { rounds: 12, clients: vec![4], ..Builder::default() }.build();
        made.change("rollback-journal", "response_p50", ticks(4));
        made.change("wal", "response_p50", ticks(4 + more));
        let set = set(&made);
        let row = row(&set, "", "response_p50");
        let refused = row.why_no_verdict() == Some(&NoVerdict::UnderClockStep);
        assert_eq!(refused, is_refused, "{:?} {:?}", row.outcome, row.warnings);
    }
}

#[test]
fn a_coarse_side_shows_no_difference_that_its_rounding_can_make() {
    let fine = |from: f64| [3, 7, 4, 6, 5, 8, 2, 9].map(|hundredths| from + 0.01 * f64::from(hundredths)).to_vec();
    let verdict = |build: &str, old: &[f64], new: &[f64]| {
        let mut made = Builder { rounds: 8, clients: vec![4], ..Builder::default() }.build();
        build.clone_into(&mut made.evidence.header.build);
        made.change("rollback-journal", "response_p50", |round, _| old[round as usize]);
        made.change("wal", "response_p50", |round, _| new[round as usize]);
        let set = set(&made);
        row(&set, "", "response_p50").outcome.clone()
    };
    let imported = |old: &[f64], new: &[f64]| verdict(report::evidence::IMPORTED, old, new);
    let refused = Outcome::None(NoVerdict::UnderClockStep);
    let most = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0];
    assert_eq!(imported(&[1.0; 8], &fine(1.4)), refused);
    assert_eq!(imported(&fine(1.4), &[1.0; 8]), refused);
    assert_eq!(imported(&most, &fine(1.4)), refused);
    assert_eq!(imported(&[12.0; 8], &fine(12.4)), refused);
    assert_eq!(
        imported(&[1.0; 8], &fine(2.0)),
        refused,
        "the interval holds what rounding can do, and so no difference"
    );
    assert_eq!(imported(&[12.0; 8], &fine(13.4)), Outcome::Verdict(Verdict::Slower));
    // Étalon's own times have the steps of its histograms, however coarse these values look.
    assert_eq!(verdict("release", &[12.0; 8], &fine(12.4)), Outcome::Verdict(Verdict::Slower));
    assert_eq!(verdict("release", &[12_000.0; 8], &[12_010.0; 8]), Outcome::Verdict(Verdict::Equivalent));
}

/// The edge of one of the 1,024 buckets in which sysbench counts times, as it prints it.
fn sysbench_ms(ms: f64) -> f64 {
    let factor = (1e8_f64.ln() / 1023.0).exp();
    let edge = 0.001 * factor.powf((ms / 0.001).ln().div_euclid(factor.ln()) + 1.0);
    (edge * 100.0).round() / 100.0
}

#[test]
fn forty_imported_pairs_without_spread_have_their_verdict() {
    for pair in 0..40_u32 {
        let is_bucketed = pair % 2 == 0;
        let rounds = 6 + pair % 3;
        let ratio = 1.2 + 0.1 * f64::from(pair % 9);
        let old_ms = 0.6 * 1.37_f64.powi(pair as i32 % 20);
        let mut made = Builder { rounds, clients: vec![4], ..Builder::default() }.build();
        report::evidence::IMPORTED.clone_into(&mut made.evidence.header.build);
        if is_bucketed {
            for facts in made.evidence.facts.values_mut() {
                facts.record_passing(model::facts::PERCENTILE_BUCKET, "0.0182");
            }
        }
        // Runs differ by less than a bucket, now and then into the next.
        let spread = |round: u32| 1.0 + 0.004 * f64::from(round % 3);
        let printed = |ms: f64, round: u32| match is_bucketed {
            true => sysbench_ms(ms * spread(round)) * 1e3,
            false => (ms * 100.0).round() * 10.0,
        };
        let rate = |ms: f64| (8e5 / ms).round() / 100.0;
        made.change("rollback-journal", "response_p99", |round, _| printed(old_ms, round));
        made.change("wal", "response_p99", |round, _| printed(old_ms * ratio, round));
        made.change("rollback-journal", "throughput", |_, _| rate(old_ms));
        made.change("wal", "throughput", |_, _| rate(old_ms * ratio));
        let set = set(&made);
        for metric in ["response_p99", "throughput"] {
            let found = row(&set, "", metric);
            assert_eq!(found.verdict(), Some(Verdict::Slower), "{pair}, {old_ms} ms times {ratio}: {found:?}");
        }
    }
}

#[test]
fn a_bucket_is_a_step_only_for_tools_that_print_buckets() {
    let outcome = |bucket: Option<&str>| {
        let mut made = Builder { rounds: 8, clients: vec![4], ..Builder::default() }.build();
        report::evidence::IMPORTED.clone_into(&mut made.evidence.header.build);
        for facts in made.evidence.facts.values_mut() {
            bucket.into_iter().for_each(|share| facts.record_passing(model::facts::PERCENTILE_BUCKET, share));
        }
        made.change("rollback-journal", "response_p99", |_, _| 32_530.0);
        made.change("wal", "response_p99", |_, _| 33_120.0);
        let set = set(&made);
        row(&set, "", "response_p99").outcome.clone()
    };
    assert_eq!(outcome(Some("0.0182")), Outcome::None(NoVerdict::UnderClockStep), "two buckets that touch");
    assert_ne!(outcome(None), Outcome::None(NoVerdict::UnderClockStep), "hundredths of a millisecond");
}

#[test]
fn zeros_at_the_end_are_digits_of_a_tool_that_prints_them() {
    let found = |decimals: Option<&str>, old: f64, new: f64| {
        let mut made = Builder { rounds: 6, clients: vec![4], ..Builder::default() }.build();
        report::evidence::IMPORTED.clone_into(&mut made.evidence.header.build);
        for facts in made.evidence.facts.values_mut() {
            decimals.into_iter().for_each(|count| facts.record_passing(model::facts::PRINTED_DECIMALS, count));
        }
        made.change("rollback-journal", "response_p99", |_, _| old);
        made.change("wal", "response_p99", |_, _| new);
        row(&set(&made), "", "response_p99").clone()
    };
    // 1.00 ms and 1.20 ms.
    assert_eq!(found(None, 1_000.0, 1_200.0).why_no_verdict(), Some(&NoVerdict::UnderClockStep));
    let told = found(Some("2"), 1_000.0, 1_200.0);
    assert_eq!(told.verdict(), Some(Verdict::Slower), "{told:?}");
    let why = told.warnings.iter().find(|warning| warning.as_str() == "no-spread").map(Warning::text);
    let expected = "all runs of a side have the same value: the interval is as wide as rounding to 10.0 µs makes it";
    assert_eq!(why.as_deref(), Some(expected));
    assert_eq!(found(Some("1"), 1_000.0, 1_100.0).why_no_verdict(), Some(&NoVerdict::UnderClockStep), "one digit");
}

#[test]
fn processor_time_in_ticks_shows_no_difference_of_one() {
    for unit in ["ms", "s/GiB"] {
        let mut made = Builder { rounds: 8, clients: vec![4], ..Builder::default() }.build();
        for stored in made.evidence.measurements.iter_mut().filter(|one| one.measurement.metric.id == "response_p50") {
            stored.measurement.metric.id = "cpu/q1".to_owned();
            unit.clone_into(&mut stored.measurement.metric.unit);
        }
        let mut judged = |old: f64, new: f64| {
            made.change("rollback-journal", "cpu/q1", |_, _| old);
            made.change("wal", "cpu/q1", |round, _| new + old * f64::from(round % 2));
            row(&set(&made), "", "cpu/q1").outcome.clone()
        };
        assert_eq!(judged(10.0, 10.0), Outcome::None(NoVerdict::UnderClockStep), "{unit}");
        assert_eq!(judged(10.0, 40.0), Outcome::Verdict(Verdict::Slower), "{unit}");
        made.change("wal", "cpu/q1", |_, _| 20.0);
        made.change("rollback-journal", "cpu/q1", |_, _| 10.0);
        assert_eq!(row(&set(&made), "", "cpu/q1").outcome, Outcome::None(NoVerdict::UnderClockStep), "{unit}");
        made.change("wal", "cpu/q1", |_, _| 10.0);
        assert_eq!(row(&set(&made), "", "cpu/q1").outcome, Outcome::None(NoVerdict::UnderClockStep), "{unit}");
    }
}
