//! When the gate opens.

use model::{Absence, MarkKind, NoValue};
use report::comparison::NoVerdict;
use report::gate::{
    Format, GateOutcome, GateRules, GateStatus, Inconclusive, Limit, LimitError, RowStatus, gate_with_limits,
    judge_gate, render_outcome,
};
use report::{Options, compare};

use crate::evidence::{Builder, Made, Speed};

fn built(candidate: Speed, noise: f64, rounds: u32) -> Made {
    let systems = vec![("old".to_owned(), (|_| 1_000.0) as Speed), ("new <&\"|".to_owned(), candidate)];
    Builder { systems, noise, rounds, clients: vec![1], seconds: 5, ..Builder::default() }.build()
}

fn judged(made: &Made, rules: &GateRules) -> GateOutcome {
    judge_gate(&compare(&made.evidence, &Options::default()).unwrap(), rules)
}

#[test]
fn it_fails_on_a_sure_and_large_regression_only() {
    let five = GateRules { max_regression: 0.05, ..GateRules::default() };
    let slower = judged(&built(|_| 800.0, 0.004, 8), &five);
    assert_eq!((slower.status, slower.count_of(RowStatus::Regressed)), (GateStatus::Failed, 3), "{slower:?}");
    assert_ne!(judged(&built(|_| 980.0, 0.002, 8), &five).status, GateStatus::Failed);
    let better = judged(&built(|_| 1_200.0, 0.004, 8), &five);
    assert_eq!((better.status, better.count_of(RowStatus::Improved)), (GateStatus::Passed, 3));
    let loose = GateRules { max_regression: 0.5, ..five };
    assert_eq!(judged(&built(|_| 800.0, 0.004, 8), &loose).status, GateStatus::Passed);
}

/// A fall by 18 % makes the baseline 22 % faster.
#[test]
fn a_rate_may_fall_by_the_share_that_was_asked() {
    let twenty = GateRules { max_regression: 0.2, ..GateRules::default() };
    for (rate, expected) in [(820.0, RowStatus::Held), (780.0, RowStatus::Regressed)] {
        let mut made = built(|_| 1_000.0, 0.004, 8);
        made.change("new <&\"|", "throughput", |round, _| rate + f64::from(round % 3));
        let outcome = judged(&made, &twenty);
        assert_eq!(outcome.lines[0].status, expected, "{:?}", outcome.lines[0]);
    }
}

/// The p of a sequence is the least of all looks.
#[test]
fn what_a_late_turn_took_back_is_neither_regressed_nor_improved() {
    for (early, late) in [(0.1_f64, -0.9_f64), (-0.1, 0.9)] {
        let mut made = built(|_| 1_000.0, 0.0, 7);
        made.evidence.header.plan.schedule.until_sure = Some(crate::evidence::from_the_sixth());
        let log = |round: u32| if round < 6 { early * (1.0 + 0.02 * f64::from(round % 3)) } else { late };
        let level = |round: u32| 1_000.0 + 70.0 * f64::from(round % 4);
        made.change("old", "throughput", |round, _| level(round));
        made.change("new <&\"|", "throughput", |round, _| level(round) * log(round).exp());
        let set = compare(&made.evidence, &Options::default()).unwrap();
        let row = set.rows().find(|row| row.metric.id == "throughput").unwrap();
        assert_eq!(row.verdict(), Some(stats::Verdict::Inconclusive), "{row:?}");
        assert!(row.estimate.unwrap().adjusted.unwrap() < 0.05, "{row:?}");
        let outcome = judge_gate(&set, &GateRules::default());
        assert_eq!(outcome.lines[0].status, RowStatus::Open, "{:?}", outcome.lines[0]);
    }
}

#[test]
fn noise_is_open_not_green_when_asked() {
    let noisy = built(|_| 990.0, 0.3, 6);
    let strict = GateRules { max_regression: 0.05, inconclusive: Inconclusive::Fail, ..GateRules::default() };
    let outcome = judged(&noisy, &strict);
    assert_eq!(outcome.status, GateStatus::Inconclusive, "{outcome:?}");
    let lenient = judged(&noisy, &GateRules { inconclusive: Inconclusive::Pass, ..strict });
    assert_eq!(lenient.status, GateStatus::NotFailed);
    says_how_many_are_undecided(&lenient);
}

/// In any form.
fn says_how_many_are_undecided(outcome: &GateOutcome) {
    for format in Format::ALL {
        let text = render_outcome(outcome, format);
        let said = if format == Format::Junit {
            ["<skipped message="; 2]
        } else {
            ["passed: no regression shown, ", " undecided; of "]
        };
        assert!(said.iter().all(|words| text.contains(words)), "{}: {text}", format.as_str());
        assert!(format != Format::Github || text.contains("::warning title=etalon gate::"), "{text}");
    }
}

#[test]
fn what_one_side_alone_was_asked_is_not_compared() {
    let mut made = built(|_| 1_200.0, 0.004, 8);
    assert_eq!(judged(&made, &GateRules::default()).status, GateStatus::Passed);
    // As of an import of two files of which one has a case more.
    let case = model::Case { benchmark: "only old".to_owned(), ..made.evidence.cases[0].clone() };
    made.evidence.cases.push(case);
    let outcome = judged(&made, &GateRules::default());
    assert_eq!((outcome.status, outcome.count_of(RowStatus::NotCompared)), (GateStatus::TooFewRows, 1), "{outcome:?}");
    let line = outcome.lines.last().unwrap();
    assert_eq!((line.name.as_str(), line.detail.as_str()), ("only old", "old has runs of it, new <&\"| has none"));
    let set = compare(&made.evidence, &Options::default()).unwrap();
    assert!(set.notes.iter().any(|note| note.text.starts_with("only old is not compared: old has")), "{:?}", set.notes);
}

#[test]
fn comparing_nothing_is_no_pass() {
    let few = judged(&built(|_| 1_000.0, 0.01, 3), &GateRules::default());
    assert_eq!((few.status, few.count_of(RowStatus::NotCompared)), (GateStatus::TooFewRows, 3));
    let many = GateRules { min_rows: Some(4), ..GateRules::default() };
    assert_eq!(judged(&built(|_| 1_000.0, 0.002, 8), &many).status, GateStatus::TooFewRows);
}

/// In some rounds of one side.
fn failing(system: &str, rounds: std::ops::Range<u32>) -> Made {
    let mut made = built(|_| 1_200.0, 0.004, 8);
    let of_system = |run: &&store::StoredRun| made.evidence.cases[run.planned.case as usize].system == system;
    let lost = made.evidence.runs.iter().filter(of_system).filter(|run| rounds.contains(&run.planned.round));
    let lost: Vec<u32> = lost.map(|run| run.planned.position).collect();
    lost.into_iter().for_each(|position| made.fail(position, "server closed the connection"));
    made
}

#[test]
fn a_candidate_that_fails_fails_the_gate() {
    let candidate = "new <&\"|";
    let any = GateRules { min_rows: Some(0), ..GateRules::default() };
    // Too few left to compare, none, and enough.
    for rounds in [0..5, 0..8, 0..1] {
        for rules in [any, GateRules::default()] {
            let outcome = judged(&failing(candidate, rounds.clone()), &rules);
            assert_eq!((outcome.status, outcome.count_of(RowStatus::Failed)), (GateStatus::Failed, 3), "{outcome:?}");
            assert!(outcome.lines[0].detail.contains("server closed the connection"), "{outcome:?}");
        }
    }
    let baseline = judged(&failing("old", 0..5), &GateRules::default());
    assert_eq!((baseline.status, baseline.count_of(RowStatus::Failed)), (GateStatus::TooFewRows, 0), "{baseline:?}");
    assert_eq!(
        judged(&failing("old", 0..1), &GateRules::default()).status,
        GateStatus::TooFewRows,
        "nor can one be left out"
    );
    // Without measurements on either side there are no metrics, but the benchmark is in the plan.
    let mut both = failing(candidate, 0..8);
    (0..16).for_each(|position| both.fail(position, "no route to host"));
    let outcome = judged(&both, &GateRules::default());
    assert_eq!((outcome.status, outcome.lines.len()), (GateStatus::Failed, 1), "{outcome:?}");
    assert_eq!(outcome.lines[0].detail, "no run was measured, 8 runs of the candidate failed: no route to host");
}

#[test]
fn rows_that_were_not_compared_are_no_pass() {
    let without_p99 = |systems: &[&str]| {
        let mut made = built(|_| 1_200.0, 0.004, 8);
        systems.iter().for_each(|system| made.lack(system, "response_p99", 0..8));
        made
    };
    let neither = without_p99(&["old", "new <&\"|"]);
    let outcome = judged(&neither, &GateRules::default());
    assert_eq!((outcome.status, outcome.rows_compared(), outcome.rows_asked()), (GateStatus::TooFewRows, 2, 3));
    let two = GateRules { min_rows: Some(2), ..GateRules::default() };
    let outcome = judged(&neither, &two);
    assert_eq!((outcome.status, outcome.count_of(RowStatus::NotCompared)), (GateStatus::NotFailed, 1));
    says_how_many_are_undecided(&outcome);
    let candidate = without_p99(&["new <&\"|"]);
    assert_eq!(judged(&candidate, &two).status, GateStatus::Failed, "the baseline has a p99");
    assert_eq!(judged(&without_p99(&["old"]), &GateRules::default()).status, GateStatus::TooFewRows);
}

#[test]
fn a_figure_that_some_runs_lack_is_not_compared_and_fails_the_candidate_that_lacks_it_more_often() {
    let candidate = "new <&\"|";
    let without_some = |of_old: u32, of_new: u32| {
        let mut made = built(|_| 1_200.0, 0.004, 20);
        made.lack("old", "response_p99", 0..of_old);
        made.lack(candidate, "response_p99", 0..of_new);
        judged(&made, &GateRules { min_rows: Some(2), ..GateRules::default() })
    };
    // The remaining rounds suffice for "improved".
    let more = without_some(1, 2);
    assert_eq!((more.status, more.count_of(RowStatus::Failed)), (GateStatus::Failed, 1), "{more:?}");
    let row = more.lines.iter().find(|line| line.status == RowStatus::Failed).unwrap();
    assert!(
        row.detail.ends_with("failed or n/a in 2 of 20 runs of B, and the others alone are no fair choice"),
        "{row:?}"
    );
    for (of_old, of_new) in [(1, 0), (2, 2), (20, 1)] {
        let outcome = without_some(of_old, of_new);
        let counts = (outcome.count_of(RowStatus::Failed), outcome.count_of(RowStatus::NotCompared));
        assert_eq!((outcome.status, counts), (GateStatus::NotFailed, (0, 1)), "{outcome:?}");
    }
}

#[test]
fn attempts_that_failed_before_a_run_was_measured_are_named() {
    let mut made = built(|_| 1_200.0, 0.004, 20);
    made.repeat("new <&\"|", 2, "server closed the connection");
    let outcome = judged(&made, &GateRules::default());
    assert_eq!((outcome.status, outcome.count_of(RowStatus::Improved)), (GateStatus::Passed, 3), "{outcome:?}");
    let said = ", B: 2 attempts failed and repeated (server closed the connection)";
    assert!(outcome.lines.iter().all(|line| line.detail.ends_with(said)), "{outcome:?}");
    // Repeated so often, those that lived are a choice.
    let mut made = built(|_| 1_200.0, 0.004, 20);
    made.repeat("new <&\"|", 8, "server closed the connection");
    let outcome = judged(&made, &GateRules::default());
    assert_eq!((outcome.status, outcome.count_of(RowStatus::Failed)), (GateStatus::Failed, 3), "{outcome:?}");
    assert!(outcome.lines[0].detail.contains("8 runs of B failed at first"), "{outcome:?}");
    // One that was dropped for good as well.
    let last = made.evidence.runs.iter().position(|run| run.attempt == 2).unwrap();
    made.fail(last as u32, "no route to host");
    let outcome = judged(&made, &GateRules::default());
    assert_eq!((outcome.status, outcome.count_of(RowStatus::Failed)), (GateStatus::Failed, 3), "{outcome:?}");
    let said = "B: 1 run dropped, 8 attempts failed and repeated (no route to host)";
    assert!(outcome.lines.iter().all(|line| line.detail.contains(said)), "{outcome:?}");
}

#[test]
fn every_form_escapes_its_names() {
    let outcome = judged(&built(|_| 800.0, 0.004, 8), &GateRules::default());
    let text = render_outcome(&outcome, Format::Text);
    assert!(text.starts_with("regressed     select-update, throughput (new <&\"| against old): -20"), "{text}");
    assert!(
        text.ends_with(
            "gate failed; of 3 rows: 3 regressed beyond 3 %, 0 failed, 0 improved, 0 held, 0 open, 0 not compared\n"
        ),
        "{text}"
    );
    let github = render_outcome(&outcome, Format::Github);
    assert!(
        github.starts_with("::error title=etalon: regressed::") && github.contains("20.") && github.contains("%25")
    );
    let junit = render_outcome(&outcome, Format::Junit);
    assert!(junit.contains("new &lt;&amp;&quot;|") && junit.contains("failures=\"3\""), "{junit}");
    let markdown = render_outcome(&outcome, Format::Markdown);
    assert!(markdown.contains("new &lt;&amp;\"\\|"), "{markdown}");
    let made = built(|_| 800.0, 0.004, 8);
    let markdown =
        report::markdown::render_comparisons(&made.evidence, &compare(&made.evidence, &Options::default()).unwrap());
    assert!(markdown.contains("### select-update: new &lt;&amp;\"\\| against old"), "{markdown}");
}

/// Which runs have enough operations for a p99 is chance near the limit.
#[test]
fn a_quantile_without_enough_operations_fails_nobody() {
    let candidate = "new <&\"|";
    let too_few = NoValue::too_few(1_000, "transactions in the run");
    let without_some = |of_old: u32, of_new: u32, missing: &NoValue| {
        let mut made = built(|_| 1_000.0, 0.002, 20);
        made.lack_because("old", "response_p99", 0..of_old, &too_few);
        made.lack_because(candidate, "response_p99", 0..of_new, missing);
        made
    };
    for (of_old, of_new) in [(1, 0), (0, 1), (2, 5), (0, 20), (20, 0), (20, 20)] {
        let made = without_some(of_old, of_new, &too_few);
        let set = compare(&made.evidence, &Options::default()).unwrap();
        let p99 = set.rows().find(|row| row.metric.id == "response_p99").unwrap();
        let runs = (of_old + of_new) as usize;
        assert_eq!(p99.why_no_verdict(), Some(&NoVerdict::TooFewOperations { needed: 1_000, runs, of: 40 }));
        assert!(p99.estimate.is_none() && p99.change.is_none(), "{p99:?}");
        assert!([&p99.a, &p99.b].iter().all(|side| side.estimate.is_none() && side.runs.is_empty()), "{p99:?}");
        let outcome = judge_gate(&set, &GateRules::default());
        let counts =
            (outcome.count_of(RowStatus::Failed), outcome.count_of(RowStatus::NotCompared), outcome.rows_asked());
        assert_eq!((outcome.status, counts), (GateStatus::Passed, (0, 1, 2)), "{outcome:?}");
        let line = outcome.lines.iter().find(|line| line.status == RowStatus::NotCompared).unwrap();
        let said =
            format!("n/a: it takes 1 000 operations in every run of both sides, and {runs} of 40 runs had fewer");
        assert_eq!(line.detail, said);
    }
    // What lies among operations that failed is the candidate's own doing.
    let among = judged(
        &without_some(
            2,
            1,
            &Absence::Unavailable.with_reason("it lies among the 12 of 1000 (1.20 %) that did not succeed"),
        ),
        &GateRules::default(),
    );
    assert_eq!((among.status, among.count_of(RowStatus::Failed)), (GateStatus::Failed, 1), "{among:?}");
    // Nor is a run that failed made good by it.
    let mut made = without_some(5, 0, &Absence::Unavailable.with_reason(""));
    let of_new = |run: &store::StoredRun| made.evidence.cases[run.planned.case as usize].system == candidate;
    let position = made.evidence.runs.iter().find(|run| of_new(run)).unwrap().planned.position;
    made.fail(position, "server closed the connection");
    assert_eq!(judged(&made, &GateRules::default()).status, GateStatus::Failed);
}

fn limited(made: &Made, limits: &[&str]) -> Result<GateOutcome, LimitError> {
    let limits: Vec<Limit> = limits.iter().map(|text| text.parse().unwrap()).collect();
    let set = compare(&made.evidence, &Options::default()).unwrap();
    gate_with_limits(&made.evidence, &set, &GateRules::default(), &limits)
}

/// What no short run met is known on one side alone.
#[test]
fn a_bound_of_a_capacity_keeps_no_limit_beyond_it() {
    let status = |mark: MarkKind, limit: &str| {
        let mut made = built(|_| 1_000.0, 0.002, 8);
        for stored in &mut made.evidence.measurements {
            if stored.measurement.metric.id == "throughput" {
                stored.measurement.metric.id = model::metric::CAPACITY.to_owned();
            }
        }
        (0..made.evidence.runs.len() as u32).for_each(|position| made.mark(position, mark, "by its search"));
        let lines = limited(&made, &[limit]).unwrap().lines;
        let line = lines.iter().find(|line| line.sides.contains("limit")).unwrap().clone();
        (line.status, line.detail)
    };
    for (mark, limit, expected) in [
        (MarkKind::NoLoadKept, "capacity >= 900", RowStatus::Open),
        (MarkKind::NoLoadKept, "capacity >= 1100", RowStatus::Broken),
        (MarkKind::EveryLoadKept, "capacity >= 900", RowStatus::Held),
        (MarkKind::EveryLoadKept, "capacity >= 1100", RowStatus::Open),
    ] {
        let (found, detail) = status(mark, limit);
        assert_eq!(found, expected, "{mark:?}, {limit}: {detail}");
        assert!(detail.starts_with(['<', '≥']) && !detail.contains("inf"), "{detail}");
    }
}

#[test]
fn an_absolute_limit_holds_is_broken_or_is_open() {
    let mut made = built(|_| 1_000.0, 0.002, 8);
    for system in ["old", "new <&\"|"] {
        made.change(system, "response_p99", |round, _| 20_000.0 + 100.0 * f64::from(round % 3));
    }
    for (limit, expected) in [
        ("p99 <= 25ms", RowStatus::Held),
        ("p99 <= 25,000us", RowStatus::Held),
        ("p99 <= 15ms", RowStatus::Broken),
        ("p99 <= 20.1ms", RowStatus::Open),
        ("response p99 <= 0.025 s", RowStatus::Held),
        ("tps >= 500", RowStatus::Held),
        ("throughput >= 5,000 tx/s", RowStatus::Broken),
    ] {
        let outcome = limited(&made, &[limit]).unwrap();
        let of_limit: Vec<_> = outcome.lines.iter().filter(|line| line.sides.contains(", limit ")).collect();
        // The baseline is not on trial.
        assert_eq!(of_limit.len(), 1, "{limit}: {outcome:?}");
        assert_eq!(of_limit[0].status, expected, "{limit}: {of_limit:?}");
        assert_eq!(outcome.status == GateStatus::Failed, expected == RowStatus::Broken, "{limit}: {outcome:?}");
        // What the user states has to be shown.
        assert_eq!(outcome.status == GateStatus::Inconclusive, expected == RowStatus::Open, "{limit}: {outcome:?}");
    }
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let rules = GateRules { inconclusive: Inconclusive::Pass, ..GateRules::default() };
    let passed = gate_with_limits(&made.evidence, &set, &rules, &["p99 <= 20.1ms".parse().unwrap()]).unwrap();
    assert_eq!(passed.status, GateStatus::NotFailed);
    assert!(
        passed.undecided_sentence().unwrap().contains("neither show nor exclude that the limit is kept"),
        "{passed:?}"
    );
    assert!(matches!(limited(&made, &["p98 <= 1ms"]), Err(LimitError::UnknownMetric { .. })));
    assert!(matches!(limited(&made, &["p99 <= 20"]), Err(LimitError::Unit { .. })));
    assert!(matches!(limited(&made, &["other/p99 <= 20ms"]), Err(LimitError::UnknownBenchmark { .. })));
}

/// A load generator that was full, or a run that failed, says nothing of what the system keeps.
#[test]
fn a_limit_is_not_kept_by_runs_that_bear_no_verdict() {
    let systems = vec![("only".to_owned(), (|_| 1_000.0) as Speed)];
    let made = || Builder { systems: systems.clone(), noise: 0.004, rounds: 8, clients: vec![1], ..Builder::default() };
    for kind in MarkKind::ALL {
        let mut marked = made().build();
        marked.mark(3, kind, "as planted");
        let status = limited(&marked, &["throughput >= 500"]).unwrap().lines[0].status;
        assert_eq!(status == RowStatus::NotCompared, kind.voids_verdict(), "{kind:?}: {status:?}");
    }
    let mut failed = made().build();
    failed.fail(3, "server closed the connection");
    let outcome = limited(&failed, &["throughput >= 500"]).unwrap();
    assert_eq!(outcome.lines[0].status, RowStatus::NotCompared);
    assert!(!matches!(outcome.status, GateStatus::Passed | GateStatus::NotFailed), "{outcome:?}");
}

#[test]
fn one_system_alone_is_held_to_its_limits() {
    let systems = vec![("only".to_owned(), (|_| 1_000.0) as Speed)];
    let made = Builder { systems, noise: 0.004, rounds: 3, clients: vec![1], ..Builder::default() }.build();
    let kept = limited(&made, &["throughput >= 500"]).unwrap();
    assert_eq!((kept.status, kept.lines.len()), (GateStatus::Passed, 1), "{kept:?}");
    assert!(kept.lines[0].detail.contains("at least"), "{kept:?}");
    let broken = limited(&made, &["throughput >= 5000"]).unwrap();
    assert_eq!((broken.status, broken.count_of(RowStatus::Regressed)), (GateStatus::Failed, 0));
    assert!(broken.summary_line().ends_with(", 1 limit broken"), "{}", broken.summary_line());
}

#[test]
fn a_quantile_that_these_runs_cannot_have_does_not_keep_the_gate_from_passing() {
    let mut made = built(|_| 1_200.0, 0.004, 8);
    made.lack_because("old", "response_p99", 0..2, &NoValue::too_few(1_000, "transactions in the run"));
    let strict = GateRules { inconclusive: Inconclusive::Fail, ..GateRules::default() };
    let outcome = judged(&made, &strict);
    assert_eq!(outcome.status, GateStatus::Passed, "{outcome:?}");
    assert!(outcome.summary_line().ends_with("1 not compared (1 with too few operations in a run of this length)"));
    assert!(
        !render_outcome(&outcome, Format::Github).contains("::warning"),
        "{}",
        render_outcome(&outcome, Format::Github)
    );
}

#[test]
fn junit_has_times_and_properties_and_a_failure_what_differs() {
    let mut made = built(|_| 800.0, 0.004, 8);
    for (system, facts) in &mut made.evidence.facts {
        facts.record_identity("server.version", if system == "old" { "15.14" } else { "16.3" });
    }
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let outcome = gate_with_limits(&made.evidence, &set, &GateRules::default(), &[]).unwrap();
    let junit = render_outcome(&outcome, Format::Junit);
    for part in [
        " timestamp=\"",
        "<property name=\"rounds\" value=\"8\"/>",
        " time=\"80.000\"",
        "server.version (15.14 | 16.3)",
    ] {
        assert!(junit.contains(part), "{part}: {junit}");
    }
    assert!(render_outcome(&outcome, Format::Text).contains("server.version (15.14 | 16.3)"));
}

/// The interval of an open row may leave out 0.
#[test]
fn an_open_row_says_why_it_is_open() {
    let mut made = built(|_| 1_000.0, 0.0, 8);
    let level = |round: u32| 1_000.0 + 40.0 * f64::from(round % 4);
    made.change("old", "throughput", |round, _| level(round));
    made.change("new <&\"|", "throughput", |round, _| level(round) * (0.975 + 0.006 * f64::from(round % 3)));
    let outcome = judged(&made, &GateRules { max_regression: 0.02, ..GateRules::default() });
    let line = &outcome.lines[0];
    assert_eq!(line.status, RowStatus::Open, "{line:?}");
    assert!(line.detail.ends_with(", worse, but perhaps by no more than 2 %"), "{line:?}");
    let noisy = judged(&built(|_| 990.0, 0.3, 6), &GateRules::default());
    let open = noisy.lines.iter().find(|line| line.status == RowStatus::Open).unwrap();
    assert!(open.detail.ends_with(", perhaps worse by more than 3 %"), "{open:?}");
}

#[test]
fn a_limit_of_a_paused_run_is_not_judged_and_measured_again() {
    let systems = vec![("only".to_owned(), (|_| 1_000.0) as Speed)];
    let mut made = Builder { systems, noise: 0.004, rounds: 8, clients: vec![1], ..Builder::default() }.build();
    made.evidence.header.command = "etalon run p.toml".to_owned();
    made.mark(3, MarkKind::Paused, "as planted");
    let outcome = limited(&made, &["throughput >= 500"]).unwrap();
    assert_eq!(outcome.status, GateStatus::TooFewRows, "{outcome:?}");
    let said = outcome.undecided_sentence().unwrap();
    for words in [
        "not judged: ",
        "throughput: paused in 1 run; ",
        "more rounds do not help: remove the cause and measure again: `etalon run p.toml`",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(render_outcome(&outcome, Format::Text).contains(&said));
    assert!(!said.contains("neither show nor exclude"), "{said}");
}
