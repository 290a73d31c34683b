//! Experiments that are under way or were stopped: figures and changes, no intervals and no verdicts.

use model::{Order, RunState};
use report::comparison::{ComparisonSet, NoVerdict, NoteKind};
use report::evidence::IMPORTED;
use report::gate::{Format, GateRules, GateStatus, judge_gate, render_outcome};
use report::text::TextOptions;
use report::{MetricFilter, Options, compare};

use crate::evidence::{Builder, Made};

/// Ten rounds of one case, B a third faster.
fn finished() -> Made {
    let mut made = Builder { clients: vec![1], ..Builder::default() }.build();
    made.change("rollback-journal", "throughput", |round, _| 900.0 + f64::from(round));
    made
}

fn all(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options { metrics: MetricFilter::All, ..Options::default() }).unwrap()
}

fn has_verdict(made: &Made) -> bool {
    all(made).rows().any(|row| row.verdict().is_some())
}

#[test]
fn before_the_end_of_the_plan_there_is_no_interval_and_no_verdict() {
    assert!(has_verdict(&finished()));
    for state in [RunState::Planned, RunState::Running, RunState::Aborted] {
        // Four rounds, and a single run.
        for from in [12, 19] {
            let mut made = finished();
            (from..20).for_each(|position| made.end(position, state));
            let set = all(&made);
            let said = if from == 12 { "6 of 10 rounds have run" } else { "9 of 10 rounds have run" };
            for row in set.rows().filter(|row| row.b.summary.is_some()) {
                let is_unfinished =
                    matches!(row.why_no_verdict(), Some(NoVerdict::Unfinished(found)) if found.sentence() == said);
                assert!(is_unfinished && row.estimate.is_none() && row.rounds_needed.is_none(), "{row:?}");
                assert!(row.a.half_width.is_none() && row.a.estimate.is_some(), "{row:?}");
            }
            let throughput = set.rows().find(|row| row.metric.id == "throughput").unwrap();
            assert!(throughput.change.unwrap().ratio > 1.3, "{throughput:?}");
            assert!(set.notes.iter().any(|note| note.kind == NoteKind::Unfinished), "{:?}", set.notes);
        }
    }
}

#[test]
fn every_output_says_how_far_it_is_and_what_runs_the_rest() {
    let mut made = finished();
    (12..20).for_each(|position| made.end(position, RunState::Planned));
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let text = report::text::render_set(&set, &TextOptions { width: 200, ..TextOptions::default() });
    for said in
        ["under way or was stopped", "etalon resume STORE", "6 of 10 rounds of 2 cases", "no verdicts: 6 of 10 rounds"]
    {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert!(!text.contains("[+") && text.starts_with("Not finished: 6 of 10 rounds have run."), "{text}");
    let html = report::html::render_page(&made.evidence, &set, &made.series).unwrap();
    assert!(html.contains("etalon resume STORE") && html.contains("6 of 10 rounds have run") && !html.contains("[+"));
    let document = serde_json::to_value(report::json::make_document(&made.evidence, &set)).unwrap();
    let row = &document["comparisons"][0];
    assert!(row["interval"].is_null() && row["p"].is_null() && row["verdict"].is_null(), "{row}");
    assert!(
        row["ratio"].as_f64().unwrap() > 1.3 && row["rounds"] == 6 && row["no_verdict"] == "6 of 10 rounds have run"
    );
    assert!(document["notes"].as_array().unwrap().iter().any(|note| note["kind"] == "unfinished"), "{document}");
    assert!(report::markdown::render_comparisons(&made.evidence, &set).contains("etalon resume STORE"));
    assert!(report::barrel::footnote(&made.evidence).ends_with("`etalon resume STORE` runs the rest\n"));
    made.evidence.cases.iter_mut().for_each(|case| case.workload = "backup".to_owned());
    let text = report::backup::FAMILY.render_for_terminal(&made.evidence, None, 200).unwrap();
    assert!(text.contains("6 of 10 rounds have run"), "{text}");
}

#[test]
fn what_is_judged_after_each_round_is_not_said_to_be_without_verdicts() {
    let mut made = finished();
    made.evidence.header.plan.schedule.until_sure = Some(crate::evidence::from_the_sixth());
    (16..20).for_each(|position| made.end(position, RunState::Planned));
    let set = compare(&made.evidence, &Options::default()).unwrap();
    assert!(set.rows().all(|row| row.verdict().is_some() && row.estimate.is_some()), "{:?}", set.tables);
    let note = set.notes.iter().find(|note| note.kind == NoteKind::Unfinished).unwrap();
    let footnote = report::barrel::footnote(&made.evidence);
    for said in [&note.text, &footnote] {
        assert!(said.contains("8 of 10 rounds have run, which are judged as after every round"), "{said}");
        assert!(said.contains("etalon resume STORE") && !said.contains("no verdicts"), "{said}");
    }
}

#[test]
fn the_gate_does_not_pass_before_the_end() {
    let mut made = finished();
    made.end(19, RunState::Planned);
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let outcome = judge_gate(&set, &GateRules { min_rows: Some(0), ..GateRules::default() });
    assert_eq!(outcome.status, GateStatus::Unfinished, "{outcome:?}");
    let text = render_outcome(&outcome, Format::Text);
    assert!(
        text.contains("not passed: experiment under way or stopped, 9 of 10 rounds have run; of 3 rows: 0 regressed"),
        "{text}"
    );
    assert!(render_outcome(&outcome, Format::Junit).contains("errors=\"1\""));
}

#[test]
fn a_round_that_is_being_repeated_is_not_at_its_end_before_its_last_run_is() {
    let mut made = finished();
    let again = store::StoredRun { id: 100, attempt: 2, state: RunState::Planned, ..made.evidence.runs[4].clone() };
    made.evidence.runs.push(again);
    assert!(!has_verdict(&made));
    made.evidence.runs[4].state = RunState::Superseded;
    made.evidence.runs[20].state = RunState::Measured;
    made.evidence.measurements.iter_mut().filter(|stored| stored.position == 4).for_each(|stored| stored.run_id = 100);
    assert!(has_verdict(&made));
}

#[test]
fn what_failed_for_good_has_ended_and_an_import_always_has() {
    let mut made = finished();
    made.fail(19, "server closed the connection");
    assert!(made.evidence.progress_if_unfinished().is_none());
    // Whoever interrupts its repetition has not undone it.
    let again = store::StoredRun { id: 100, attempt: 2, state: RunState::Aborted, ..made.evidence.runs[19].clone() };
    made.evidence.runs.push(again);
    assert!(made.evidence.progress_if_unfinished().is_none());
    let mut made = finished();
    made.end(19, RunState::Aborted);
    made.evidence.header.build = IMPORTED.to_owned();
    assert!(made.evidence.progress_if_unfinished().is_none());
}

#[test]
fn in_sequential_order_runs_are_counted() {
    let mut made = finished();
    made.evidence.header.plan.schedule.order = Order::Sequential;
    made.evidence.header.plan.comparison.allow_sequential_order = true;
    assert!(has_verdict(&made));
    (12..20).for_each(|position| made.end(position, RunState::Planned));
    assert!(!has_verdict(&made));
    assert_eq!(made.evidence.progress_if_unfinished().unwrap().sentence(), "12 of 20 runs have run");
}
