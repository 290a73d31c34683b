//! What would help a row: for each reason its fix, as something that can be typed.

use model::{Absence, DurabilityTier, Mark, MarkKind, NoValue, Quantity, Role};
use report::comparison::{
    Bound, DifferentRows, NoVerdict, Outcome, RemedyLine, SideLetter, Warning, Work, list_remedies,
};
use report::evidence::Unfinished;
use report::text::{TextOptions, render_set};
use report::{Comparison, ComparisonSet, Options, compare};

use crate::evidence::{Builder, Made, Speed};

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

/// The remedies if the first row of a metric were so.
fn remedies_of(made: &Made, metric: &str, change: impl FnOnce(&mut Comparison)) -> Vec<RemedyLine> {
    let mut set = set(made);
    let row = set.tables[0].rows.iter_mut().find(|row| row.metric.id == metric).unwrap();
    change(row);
    list_remedies(&made.evidence, &set.tables, &set.rules)
}

fn built() -> Made {
    let mut made = Builder::default().build();
    made.evidence.store = Some("etalon results/q.etalon".into());
    made
}

#[test]
fn every_row_that_has_its_verdict_needs_nothing() {
    let set = set(&built());
    assert!(set.rows().all(|row| row.verdict().is_some()));
    assert!(set.remedies.is_empty() && !render_set(&set, &TextOptions::default()).contains("what would help"));
}

/// By text and command; `-` where nothing can be typed.
fn expected(reason: &NoVerdict) -> Option<(&'static str, &'static str)> {
    Some(match reason {
        NoVerdict::Unfinished(_) => ("run the rest", "etalon resume 'etalon results/q.etalon'"),
        NoVerdict::TooFewRounds { .. } => {
            ("13 rounds in all settle it about every other time", "etalon run quickstart --set schedule.rounds=13")
        }
        NoVerdict::UnequalDurability { .. } => (
            "the sides promise different things at commit",
            "etalon compare 'etalon results/q.etalon' --allow-unequal-durability",
        ),
        NoVerdict::DifferentRows(_) => (
            "give both sides the same rows, or on disks the same `span_mb`",
            "etalon compare 'etalon results/q.etalon' --allow-different-rows",
        ),
        NoVerdict::SequentialOrder => {
            ("what changed on the machine", "etalon run quickstart --set schedule.order=interleaved")
        }
        NoVerdict::Voided { .. } => ("the load generator was at its limit", "-"),
        NoVerdict::Failures { .. } => ("fix what failed", "etalon run quickstart"),
        NoVerdict::IncompleteRuns { .. } | NoVerdict::NotAvailable { .. } | NoVerdict::TooFewOperations { .. } => (
            "more rounds do not help: a run needs 10 000 operations",
            "etalon run quickstart --set schedule.duration=15s",
        ),
        NoVerdict::Repeated { .. } | NoVerdict::CutOff { .. } | NoVerdict::MeasuredAgain { .. } => {
            ("measure anew", "etalon run quickstart")
        }
        NoVerdict::SystemChanged { .. } => {
            ("measure again, and change nothing while it is measured", "etalon run quickstart")
        }
        NoVerdict::FailuresUnknown { .. } => ("count what failed where it was measured", "-"),
        NoVerdict::OnlyBounds { .. } => ("another promise (`--p99`), more clients", "-"),
        NoVerdict::NotComparable(_) => {
            ("judge by another metric", "etalon compare 'etalon results/q.etalon' --metrics all")
        }
        NoVerdict::UnderClockStep => {
            ("the difference is under the resolution", "etalon run quickstart --set schedule.duration=50s")
        }
        // No fix would give them one, or their notes name it.
        NoVerdict::NoBetterSide
        | NoVerdict::Diagnostic
        | NoVerdict::Apart(_)
        | NoVerdict::DifferentAnswers { .. }
        | NoVerdict::UnstableAnswers { .. }
        | NoVerdict::CachedAnswers { .. } => return None,
    })
}

#[test]
fn each_reason_has_its_fix() {
    let side = SideLetter::B;
    let missing = NoValue::too_few(10_000, "transactions in the run");
    let reasons = [
        NoVerdict::Unfinished(Unfinished { ended: 6, of: 10, unit: "round" }),
        NoVerdict::TooFewRounds { missing: 3 },
        NoVerdict::UnequalDurability { a: Some(DurabilityTier::Durable), b: None },
        NoVerdict::DifferentRows(DifferentRows { what: Work::RowsReturned, script: None, a: 0.0, b: 1.0 }),
        NoVerdict::DifferentAnswers { query: "q2".to_owned(), how: None },
        NoVerdict::UnstableAnswers { query: "q2".to_owned() },
        NoVerdict::CachedAnswers { query: "q2".to_owned(), runs: 3 },
        NoVerdict::SequentialOrder,
        NoVerdict::Voided { what: "client saturated".to_owned(), runs: 3 },
        NoVerdict::Failures { side, share: 0.2, tail: 0.01 },
        NoVerdict::IncompleteRuns { side, runs: 3, of: 10 },
        NoVerdict::NotAvailable { side, missing: missing.clone() },
        NoVerdict::TooFewOperations { needed: 10_000, runs: 3, of: 20 },
        NoVerdict::Repeated { side, runs: 3 },
        NoVerdict::CutOff { side, runs: 3 },
        NoVerdict::MeasuredAgain { runs: 3 },
        NoVerdict::FailuresUnknown { side },
        NoVerdict::OnlyBounds { a: Some(Bound::Below), b: None },
        NoVerdict::NotComparable("the values are not all positive".to_owned()),
        NoVerdict::UnderClockStep,
        NoVerdict::NoBetterSide,
        NoVerdict::Diagnostic,
    ];
    for reason in reasons {
        let found = remedies_of(&built(), "throughput", |row| {
            row.b.unavailable = vec![(missing.clone(), 3)];
            let kind = MarkKind::ClientSaturated;
            let detail = "3 of 2 cores".to_owned();
            row.warnings.push(Warning::Marked { side: Some(side), kind, runs: 3, of: 10, detail, data: None });
            row.outcome = Outcome::None(reason.clone());
        });
        let Some((text, command)) = expected(&reason) else {
            assert!(found.is_empty(), "{reason:?}: {found:?}");
            continue;
        };
        let [line] = found.as_slice() else { panic!("{reason:?}: {found:?}") };
        assert!(line.text.contains(text), "{reason:?}: {line:?}");
        assert_eq!(line.command.as_deref().unwrap_or("-"), command, "{reason:?}");
        assert_eq!(line.rows, ["select-update, clients=1, throughput"], "{reason:?}");
    }
}

/// Unless runs failed, which longer ones would as well.
#[test]
fn searches_that_found_nothing_are_to_ask_for_another_load() {
    let of = |has_failed: bool| {
        remedies_of(&built(), "throughput", |row| {
            row.metric.id = "capacity".to_owned();
            row.b.unavailable = vec![(Absence::Unavailable.with_reason("no rate keeps the promise"), 2)];
            row.outcome = Outcome::None(NoVerdict::IncompleteRuns { side: SideLetter::B, runs: 2, of: 10 });
            if has_failed {
                let reason = "it went away".to_owned();
                row.warnings.push(Warning::Dropped { side: SideLetter::B, runs: 2, failed: 2, repeated: 0, reason });
            }
        })
    };
    let [found] = &of(false)[..] else { panic!() };
    assert!(found.text.contains("every search has to find a capacity") && found.command.is_none(), "{found:?}");
    assert!(found.text.ends_with(": no rate keeps the promise"), "{found:?}");
    let [failed] = &of(true)[..] else { panic!() };
    assert!(failed.text.contains("fix what failed"), "{failed:?}");
    let made = built();
    let shown = ComparisonSet { remedies: vec![found.clone()], ..set(&made) };
    let page = report::html::render_page(&made.evidence, &shown, &made.series).unwrap();
    assert!(page.contains("promise (<code>--p99</code>), more clients"), "what is typed is code");
}

#[test]
fn rows_of_one_fix_have_one_line_and_runs_of_all_fixes_one_command() {
    let mut made = Builder { rounds: 4, ..Builder::default() }.build();
    for system in ["rollback-journal", "wal"] {
        made.lack_because(system, "response_p99", 0..4, &NoValue::too_few(20_000, "transactions in the run"));
    }
    let set = set(&made);
    assert_eq!(set.remedies.len(), 2, "{:?}", set.remedies);
    let [rounds, runs] = [&set.remedies[0], &set.remedies[1]];
    assert_eq!((rounds.rows.len(), rounds.text.as_str()), (6, "a verdict takes 6 rounds"));
    assert!(runs.rows.len() == 2 && runs.text.contains("a run needs 20 000 operations"), "{runs:?}");
    // Some 900 a second at the slowest, and a quarter to spare.
    let command = "etalon run quickstart --set schedule.duration=29s --set schedule.rounds=6";
    for line in [rounds, runs] {
        let seconds = |command: &str| -> f64 {
            let (_, tail) = command.split_once("duration=").unwrap();
            tail.split_once('s').unwrap().0.parse().unwrap()
        };
        let found = line.command.as_deref().unwrap();
        assert!((seconds(found) - seconds(command)).abs() < 3.0, "{found}");
        assert!(found.ends_with(" --set schedule.rounds=6"), "{found}");
    }
    let text = render_set(&set, &TextOptions::default());
    let (_, said) = text.split_once("\nwhat would help:\n").unwrap();
    assert_eq!(said.matches("etalon run quickstart").count(), 1, "{said}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let markdown = report::markdown::render_comparisons(&made.evidence, &set);
    assert!(markdown.contains("a verdict takes 6 rounds: `etalon run quickstart --set "), "{markdown}");
    let html = report::html::render_page(&made.evidence, &set, &made.series).unwrap();
    assert!(html.contains("<code>etalon run quickstart --set schedule.duration="), "no command in the page");
    let json = serde_json::to_value(report::json::make_document(&made.evidence, &set)).unwrap();
    assert_eq!(json["remedies"][0]["text"], "a verdict takes 6 rounds");
    assert_eq!(json["remedies"][0]["rows"].as_array().unwrap().len(), 6);
}

/// Rounds in which one side failed are whole once that is mended: no further ones are asked for.
#[test]
fn what_is_mended_needs_no_rounds_beyond_the_plans() {
    let mut made = Builder { rounds: 6, clients: vec![1], ..Builder::default() }.build();
    made.fail(0, "killed");
    let lines = set(&made).remedies;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.text.starts_with("fix what failed") && line.text.contains("(killed)"), "{line:?}");
    assert_eq!(line.command.as_deref(), Some("etalon run quickstart"));
}

/// What one server seems to differ from itself by would be sure sooner than that it is equal.
#[test]
fn one_server_needs_the_rounds_that_show_it_equal() {
    let mut made = Builder { rounds: 6, clients: vec![1], ..Builder::default() };
    made.systems = ["a", "b"].map(|name| (name.to_owned(), (|_| 1_000.0) as Speed)).to_vec();
    let mut made = made.build();
    // Some 7 % apart on average, by chance.
    made.change("b", "throughput", |round, value| value * [1.2, 0.99, 1.12, 1.14, 0.97, 1.05][round as usize]);
    let needed =
        |made: &Made| set(made).rows().find(|row| row.metric.id == "throughput").unwrap().rounds_needed.unwrap();
    let two = needed(&made);
    made.evidence.header.plan.systems[1].alias_of = Some("a".to_owned());
    let one = needed(&made);
    assert!(one > two, "{one} {two}");
}

#[test]
fn the_quick_form_is_answered_by_the_plan() {
    let mut made = Builder { rounds: 1, ..Builder::default() }.build();
    made.evidence.header.command = "etalon run quickstart --quick".to_owned();
    made.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    let set = set(&made);
    assert!(
        set.rows().all(|row| matches!(row.why_no_verdict(), Some(NoVerdict::UnequalDurability { .. }))),
        "more rounds do not help"
    );
    let commands: Vec<&str> = set.remedies.iter().filter_map(|line| line.command.as_deref()).collect();
    assert_eq!(
        commands,
        ["etalon compare STORE --allow-unequal-durability", "etalon run quickstart --allow-unequal-durability"]
    );
}

#[test]
fn what_the_command_line_allows_is_said_and_kept() {
    let mut made = Builder { rounds: 4, ..Builder::default() }.build();
    made.durability("wal", DurabilityTier::Delayed, "synchronous=normal");
    let options = Options { allow_unequal_durability: true, ..Options::default() };
    let set = compare(&made.evidence, &options).unwrap();
    assert!(set.rows().all(|row| matches!(row.why_no_verdict(), Some(NoVerdict::TooFewRounds { .. }))));
    assert!(set.notes.iter().any(|note| note.text.ends_with("because the command line allows it")), "{:?}", set.notes);
    let command = set.remedies[0].command.as_deref();
    assert_eq!(command, Some("etalon run quickstart --set schedule.rounds=6 --allow-unequal-durability"));
    // As far as the views behind the tables go.
    assert!(set.rules.options_with_rules(Options::default()).allow_unequal_durability);
}

#[test]
fn noise_that_no_rounds_settle_is_said_in_words() {
    let systems = ["a", "b"].map(|name| (name.to_owned(), (|_| 1_000.0) as Speed)).to_vec();
    let mut made = Builder { systems, noise: 0.001, rounds: 6, ..Builder::default() }.build();
    // Now half as much again, now as much less: a mean of no change.
    for metric in ["throughput", "response_p50", "response_p99"] {
        made.change("b", metric, |round, value| if round % 2 == 0 { value * 1.5 } else { value / 1.5 });
    }
    let set = set(&made);
    let open: Vec<&Comparison> = set.rows().filter(|row| row.verdict() == Some(stats::Verdict::Inconclusive)).collect();
    assert!(open.len() > 2 && open.iter().all(|row| row.rounds_needed.is_none()), "{open:?}");
    let hopeless = set.remedies.iter().find(|line| line.text.starts_with("not even 100 rounds more")).unwrap();
    assert_eq!(hopeless.command.as_deref(), Some("etalon doctor"));
}

#[test]
fn a_warm_up_ends_after_the_last_change_of_level() {
    let mut made = built();
    let position = made.position_of("wal");
    for (at, end) in [(position, 2), (position + 4, 3)] {
        let mark = Mark::warm_up_too_short("the rate", end, 5);
        assert_eq!(mark.change_point(), Some(end as f64 / 5.0));
        made.put_mark(at, mark);
    }
    let systems: Vec<&str> = [position, position + 4]
        .map(|at| &*made.evidence.cases[made.evidence.runs[at as usize].planned.case as usize].system)
        .into();
    assert!(systems.contains(&"wal"));
    let line = &set(&made).remedies[0];
    // A warm-up of 2 s, and then 2 or 3 of the run's 5 s and a fifth more.
    let command = line.command.as_deref().unwrap();
    assert!(
        ["5s", "6s"].iter().any(|s| command == format!("etalon run quickstart --set schedule.warmup={s}")),
        "{line:?}"
    );
}

#[test]
fn what_another_tool_measured_is_not_run_again() {
    let mut made = Builder { rounds: 4, ..Builder::default() }.build();
    made.evidence.header.build = report::evidence::IMPORTED.to_owned();
    made.evidence.header.command = "etalon import tidy t.csv".to_owned();
    let set = set(&made);
    assert!(!set.remedies.is_empty() && set.remedies.iter().all(|line| line.command.is_none()), "{:?}", set.remedies);
}

#[test]
fn a_command_cannot_leave_its_place() {
    let mut made = Builder { rounds: 4, ..Builder::default() }.build();
    made.evidence.header.command = "etalon run 'a`<script>\u{1b}[2J.toml'".to_owned();
    let set = set(&made);
    let texts = [
        render_set(&set, &TextOptions::default()),
        report::markdown::render_comparisons(&made.evidence, &set),
        report::html::render_page(&made.evidence, &set, &made.series).unwrap(),
    ];
    let [_, markdown, html] = &texts;
    assert!(texts.iter().all(|text| !text.contains('\u{1b}')), "{markdown}");
    assert!(!markdown.contains("<script>") && !html.contains("a`<script>"));
}

#[test]
fn a_masked_password_is_said() {
    let mut made = Builder { rounds: 4, ..Builder::default() }.build();
    made.evidence.header.command = "etalon run postgres://me:***@db/x".to_owned();
    let set = set(&made);
    assert!(set.remedies[0].text.ends_with(", with the password in place of `***`"), "{:?}", set.remedies);
}

#[test]
fn a_rate_that_was_not_met_is_asked_for_lower() {
    let mut made = built();
    for case in &mut made.evidence.cases {
        case.point.insert("rate".to_owned(), model::Value::Float(5_000.0));
    }
    for point in &mut made.evidence.header.plan.benchmarks[0].points {
        point.insert("rate".to_owned(), model::Value::Float(5_000.0));
    }
    (0..40).for_each(|position| made.mark(position, MarkKind::RateNotMet, "of 25000 that were due, 4500 ended"));
    let set = set(&made);
    let line = &set.remedies[0];
    let (_, rate) = line.command.as_deref().unwrap().split_once("--set benchmarks.select-update.rate=").unwrap();
    let rate: f64 = rate.parse().unwrap();
    let carried = set.rows().filter(|row| row.metric.quantity() == Quantity::Rate && row.metric.role == Role::Primary);
    let least =
        carried.flat_map(|row| row.a.runs.iter().chain(&row.b.runs)).map(|run| run.value).fold(f64::MAX, f64::min);
    assert!(rate < least && rate > least * 0.8, "{rate} of {least}");
}
