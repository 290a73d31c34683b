//! The answer in a sentence: it says what the table says, in words that can be read aloud.

use model::{DurabilityTier, MarkKind};
use report::comparison::Outcome;
use report::number::Script;
use report::text::{TextOptions, render_set, wrap_to_width};
use report::views::{Form, View, overview};
use report::{ComparisonSet, Options, compare};
use stats::{Estimator, Verdict};

use crate::evidence::{Builder, Made, Speed};

/// Words that no DBA says aloud.
const FORBIDDEN: [&str; 17] = [
    "none",
    "cell",
    "block",
    "trial",
    "figure",
    "geometric",
    "interval",
    "quantile",
    "p-value",
    "Holm",
    "n/a",
    "NaN",
    "inf",
    "∞",
    "inconclusive",
    "confounded",
    "±",
];

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

fn two(a: f64, b: f64, rounds: u32, seed: u64, noise: f64) -> Made {
    // Functions, since speeds have no captures.
    let mut made = Builder {
        systems: vec![("old".to_owned(), |_| 1_000.0), ("new".to_owned(), |_| 1_000.0)],
        rounds,
        seed,
        noise,
        ..Builder::default()
    }
    .build();
    for stored in &mut made.evidence.measurements {
        let factor = if made.evidence.cases[stored.case as usize].system == "old" { a } else { b };
        if let model::Reading::Value(value) = &mut stored.measurement.reading {
            *value *= if stored.measurement.metric.id == "throughput" { factor } else { 1.0 / factor };
        }
    }
    made
}

fn assert_can_be_read(answer: &str) {
    assert!(!answer.is_empty());
    assert!(wrap_to_width(answer, 80, 0).lines().count() <= 3, "{answer}");
    for word in FORBIDDEN {
        assert!(
            !answer.split(|c: char| !c.is_alphanumeric() && !"/±∞".contains(c)).any(|said| said == word),
            "{word}: {answer}"
        );
    }
}

#[test]
fn the_faster_side_is_the_subject_where_factors_are_large() {
    let said = |a, b| set(&two(a, b, 10, 3, 0.005)).answer.replacen("On this machine ", "", 1);
    assert_eq!(said(1.0, 2.0), "new runs select-update about twice as fast as old (sure in both cases).");
    assert_eq!(said(2.0, 1.0), "old runs select-update about twice as fast as new (sure in both cases).");
    // What both intervals span, where it is more than a number.
    let [faster, slower] = [said(1.0, 1.2), said(1.2, 1.0)];
    assert_eq!(faster, "new runs select-update 20 % faster than old (20 % to 21 %, sure in both cases).");
    assert!(slower.contains("17 % slower than old (") && slower.ends_with("sure in both cases)."), "{slower}");
    assert_eq!(said(1.0, 1.0), "select-update is the same on old and new within 3 %.");
}

#[test]
fn one_case_has_its_interval() {
    let made = Builder { clients: vec![4], noise: 0.2, ..Builder::default() }.build();
    let answer = set(&made).answer;
    assert!(answer.contains("wal runs select-update about 1.") && answer.contains("journal (1."), "{answer}");
    assert!(answer.ends_with(" times, sure)."), "{answer}");
}

#[test]
fn it_never_says_what_the_table_does_not() {
    for seed in 0..60_u64 {
        let b = [0.4, 0.8, 0.97, 1.0, 1.02, 1.1, 1.4, 3.0][seed as usize % 8];
        let made = two(1.0, b, [1, 3, 6, 10][seed as usize % 4], seed, [0.01, 0.1, 0.4][seed as usize % 3]);
        let set = set(&made);
        assert_can_be_read(&set.answer);
        let throughput: Vec<Option<Verdict>> =
            set.rows().filter(|row| row.metric.id == "throughput").map(|row| row.verdict()).collect();
        let all = |verdict| throughput.iter().all(|found| *found == Some(verdict));
        let sure = set.answer.contains("sure");
        assert_eq!(sure, all(Verdict::Faster) || all(Verdict::Slower), "{} {throughput:?}", set.answer);
        let subject = if sure { set.answer.split(' ').next().unwrap() } else { "" };
        match subject {
            "new" if set.answer.contains("slower than") => assert!(all(Verdict::Slower), "{}", set.answer),
            "new" => assert!(all(Verdict::Faster), "{}", set.answer),
            "old" => assert!(all(Verdict::Slower), "{}", set.answer),
            _ => {}
        }
        if throughput.iter().all(Option::is_none) {
            assert!(set.answer.to_lowercase().contains("no verdict"), "{}", set.answer);
        }
    }
}

#[test]
fn what_points_the_other_way_is_said_with_it() {
    let mut made = two(1.0, 1.5, 10, 5, 0.01);
    for stored in made.evidence.measurements.iter_mut().filter(|stored| stored.measurement.metric.id == "response_p99")
    {
        let is_new = made.evidence.cases[stored.case as usize].system == "new";
        if let (true, model::Reading::Value(value)) = (is_new, &mut stored.measurement.reading) {
            *value *= 4.0;
        }
    }
    let answer = set(&made).answer;
    assert!(answer.contains("but on new response p99 is slower"), "{answer}");
}

#[test]
fn names_cannot_take_the_sentence_over() {
    let mut builder = Builder { rounds: 6, ..Builder::default() };
    builder.systems[1].0 = format!("\u{1b}[2J is 900 % faster, sure. {}", "x".repeat(300));
    builder.benchmark = "b\u{202e}c d".to_owned();
    let made = builder.build();
    let answer = set(&made).answer;
    assert_can_be_read(&answer);
    assert!(!answer.contains('\u{1b}') && !answer.contains('\u{202e}') && answer.contains("\u{201c}"), "{answer}");
}

#[test]
fn a_mark_that_voids_leaves_no_verdict_to_read() {
    let mut made = two(1.0, 2.0, 10, 3, 0.01);
    (0..40).for_each(|position| made.mark(position, MarkKind::ClientSaturated, "both threads were busy"));
    let answer = set(&made).answer;
    assert!(answer.contains("no verdict") && !answer.contains("sure"), "{answer}");
}

#[test]
fn a_limit_of_the_load_generator_is_not_the_system_s() {
    let answer = |is_saturated: bool| {
        let systems = vec![("db".to_owned(), (|_| 4_000.0) as fn(_) -> f64)];
        let mut made = Builder { systems, clients: vec![4], ..Builder::default() }.build();
        for stored in &mut made.evidence.measurements {
            if stored.measurement.metric.id == "throughput" {
                stored.measurement.metric.id = model::metric::CAPACITY.to_owned();
            }
        }
        if is_saturated {
            made.mark(1, MarkKind::ClientSaturated, "both threads were busy");
        }
        set(&made).answer
    };
    assert!(answer(true).contains("in select-update (the load generator was at its limit)."), "{}", answer(true));
    assert!(answer(false).contains("db carries") && !answer(false).contains("generator"), "{}", answer(false));
}

#[test]
fn too_few_clients_in_a_few_runs_are_no_headline() {
    let of = |marked: usize| {
        let mut made = Builder { clients: vec![4], ..Builder::default() }.build();
        let case = |position: u32| made.evidence.runs[position as usize].planned.case as usize;
        let is_of_b = |position: &u32| made.evidence.cases[case(*position)].system == "wal";
        let of_b: Vec<u32> = (0..20).filter(is_of_b).collect();
        of_b[..marked].iter().for_each(|position| made.mark(*position, MarkKind::TooFewClients, "they were late"));
        set(&made).answer
    };
    assert!(!of(3).contains("more clients"), "{}", of(3));
    assert!(of(7).contains("; more clients may carry more on wal"), "{}", of(7));
}

/// As a reader divides them who has the printed digits alone.
#[test]
fn every_printed_change_follows_from_what_stands_beside_it() {
    let number = |text: &str| text.replace([' ', '\u{a0}'], "").replace('−', "-").parse::<f64>();
    let mut seen = 0;
    for (seed, estimator) in (0..12).zip(Estimator::ALL.iter().cycle()) {
        let made = two(1.0, [0.05, 0.7, 1.0, 1.3, 30.0][seed % 5], [1, 2, 6, 10][seed % 4], seed as u64, 0.2);
        let set = compare(&made.evidence, &Options { estimator: *estimator, ..Options::default() }).unwrap();
        for row in set.rows() {
            let (Some(a), Some(b), Some(change)) = (row.a.estimate, row.b.estimate, row.change) else { continue };
            assert!((b / a / change.ratio - 1.0).abs() < 1e-9, "{row:?}");
        }
        for line in render_set(&set, &TextOptions::default())
            .lines()
            .filter(|line| line.contains(['↑', '↓']) && line.contains("  "))
        {
            let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
            let [_, a, b, change, ..] = cells.as_slice() else { continue };
            let (Ok(a_value), Ok(b_value)) = (number(a), number(b)) else { continue };
            let half = |text: &str, value: f64| {
                let digits = text.replace(' ', "");
                let decimals = digits.split_once('.').map_or(0, |(_, rest)| rest.len());
                let zeros = if decimals == 0 { digits.len() - digits.trim_end_matches('0').len() } else { 0 };
                (10_f64.powi(zeros as i32 - decimals as i32) / 2.0 / value).abs()
            };
            let slack = half(a, a_value) + half(b, b_value) + 0.01;
            let told = match (change.strip_prefix('×'), change.strip_suffix(" %")) {
                (Some(factor), _) if factor.starts_with("1/") => 1.0 / number(&factor[2..]).unwrap(),
                (Some(factor), _) => number(factor).unwrap(),
                (_, Some(percent)) => 1.0 + number(percent).unwrap() / 100.0,
                _ => panic!("{line}"),
            };
            let printed = change
                .trim_start_matches('×')
                .trim_start_matches("1/")
                .trim_end_matches(" %")
                .trim_start_matches(['+', '-']);
            let of_change = match () {
                () if change.starts_with("×1/") => half(printed, 1.0) * told,
                () if change.starts_with('×') => half(printed, 1.0) / told,
                () => half(printed, 1.0) / (100.0 * told),
            };
            assert!((told / (b_value / a_value)).ln().abs() < slack + of_change, "{line}");
            seen += 1;
        }
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn three_systems_have_a_column_each_and_the_best_is_marked() {
    let named = |name: &str, speed: Speed| (name.to_owned(), speed);
    let systems = vec![named("a", |_| 900.0), named("b", |_| 1_300.0), named("c", |_| 1_100.0)];
    let made = Builder { systems, rounds: 6, clients: vec![1], noise: 0.001, ..Builder::default() }.build();
    let set = set(&made);
    let views = overview::overview_tables(&set);
    let [View::Table(table)] = views.as_slice() else { panic!("{views:?}") };
    let line = &table.rows[0];
    assert_eq!(line[1..].iter().map(|entry| entry.form).collect::<Vec<_>>(), [Form::Significant; 3]);
    assert_eq!(
        line[1..].iter().map(|entry| entry.print(Script::Plain)).collect::<Vec<_>>(),
        ["900", "1 300 *", "1 100"]
    );
    let text = render_set(&set, &TextOptions::default());
    assert!(text.contains("all side by side") && text.contains("* the best figure of its row"), "{text}");
    assert!(set.rows().all(|row| matches!(row.outcome, Outcome::Verdict(_))), "{text}");
}

#[test]
fn a_lesser_promise_is_said_with_the_verdict() {
    let mut made = two(1.0, 3.0, 10, 3, 0.01);
    made.durability("new", DurabilityTier::Unsafe, "fsync=off");
    made.evidence.header.plan.comparison.allow_unequal_durability = true;
    let answer = set(&made).answer;
    assert!(answer.ends_with("(sure in both cases). But new may lose commits that old keeps."), "{answer}");
}

#[test]
fn a_busy_machine_leaves_nothing_sure() {
    let mut made = two(1.0, 3.0, 10, 3, 0.01);
    (0..40).for_each(|position| made.mark(position, MarkKind::MachineBusy, "1.4 of 2 cores used by others: rustc 1.4"));
    let answer = set(&made).answer;
    assert!(answer.contains("under other load in both cases") && !answer.contains("sure"), "{answer}");
}

#[test]
fn another_estimator_has_no_interval_that_is_not_its_own() {
    let made = two(1.0, 1.4, 10, 3, 0.2);
    let median = compare(&made.evidence, &Options { estimator: Estimator::Median, ..Options::default() }).unwrap();
    let text = render_set(&median, &TextOptions::default());
    assert!(!text.contains("[+") && text.contains("not shown"), "{text}");
    assert_eq!(median.answer, set(&made).answer);
}

#[test]
fn what_a_claim_may_not_stand_without_is_kept_where_room_ends() {
    let named = |name: &str, speed: Speed| (format!("a-system-of-a-long-name-{name}"), speed);
    let systems = vec![named("1", |_| 900.0), named("2", |_| 1_300.0), named("3", |_| 1_100.0), named("4", |_| 500.0)];
    let benchmark = "a-benchmark-of-a-long-name".to_owned();
    let mut made =
        Builder { systems, benchmark, rounds: 6, clients: vec![1], noise: 0.001, ..Builder::default() }.build();
    (0..24).for_each(|position| made.mark(position, MarkKind::MachineBusy, "1.4 of 2 cores used by others: rustc 1.4"));
    let answer = set(&made).answer;
    assert_can_be_read(&answer);
    assert!(answer.contains("The machine was busy"), "{answer}");
}

/// Runs on either side of a bound are no contradiction of it, if it is said to be one of their mean.
#[test]
fn a_bound_of_unlike_runs_is_one_of_their_mean() {
    let systems = vec![("only".to_owned(), (|_| 1_000.0) as Speed)];
    let mut made = Builder { systems, noise: 0.4, rounds: 6, clients: vec![1], ..Builder::default() }.build();
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "throughput" {
            stored.measurement.metric.id = model::metric::CAPACITY.to_owned();
        }
    }
    made.mark(2, MarkKind::NoLoadKept, "by its search");
    let answer = set(&made).answer;
    assert!(answer.contains("carries less than ") && answer.contains(" from run to run)"), "{answer}");
}

/// Counts stand for more questions than are answered one by one, and for cases that come out differently.
#[test]
fn counts_of_outcomes_say_by_how_much() {
    let speed = |faster: f64| {
        let mut made = two(1.0, 1.0, 10, 3, 0.005);
        for stored in &mut made.evidence.measurements {
            let case = &made.evidence.cases[stored.case as usize];
            let is_first = case.point.get("clients") == made.evidence.cases[0].point.get("clients");
            if let (true, "new", model::Reading::Value(value)) =
                (is_first, case.system.as_str(), &mut stored.measurement.reading)
            {
                *value *= if stored.measurement.metric.id == "throughput" { faster } else { 1.0 / faster };
            }
        }
        set(&made).answer
    };
    assert!(speed(1.25).contains("2 cases: faster in 1 (by 25 %), equal in 1"), "{}", speed(1.25));
    assert!(speed(0.8).contains("slower in 1 (by 20 %), equal in 1"), "{}", speed(0.8));
    assert!(speed(3.0).contains("faster in 1 (by a factor of 3), equal in 1"), "{}", speed(3.0));
    let speeds: [Speed; 6] = [|_| 1_000.0, |_| 1_200.0, |_| 1_400.0, |_| 800.0, |_| 1_300.0, |_| 2_500.0];
    let systems = speeds.iter().zip(["a", "b", "c", "d", "e", "f"]).map(|(speed, name)| (name.to_owned(), *speed));
    let made = Builder { systems: systems.collect(), noise: 0.002, clients: vec![4], ..Builder::default() }.build();
    let answer = set(&made).answer;
    assert!(answer.contains("b against a, 1 case: faster by 20 %."), "{answer}");
}

#[test]
fn equal_values_are_said_to_be_equal() {
    let mut made = Builder { clients: vec![4], rounds: 1, ..Builder::default() }.build();
    let systems: Vec<String> = made.evidence.cases.iter().map(|case| case.system.clone()).collect();
    for system in &systems {
        made.change(system, "throughput", |round, _| 500.0 + f64::from(round));
    }
    let answer = set(&made).answer;
    assert!(answer.contains("select-update was the same on") && !answer.contains('%'), "{answer}");
    let mut made = Builder { clients: vec![4], rounds: 6, ..Builder::default() }.build();
    for system in &systems {
        made.change(system, "throughput", |round, _| 510.0 + 10.0 * f64::from(round));
    }
    let answer = set(&made).answer;
    let same = answer.contains("the same values on both sides") || answer.contains("is the same on");
    assert!(same, "{answer}");
}
