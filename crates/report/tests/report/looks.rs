//! What is said of an experiment that is judged after each round.

use std::time::Duration;

use model::{Begun, RunState, Stop};
use report::comparison::{ComparisonSet, NoVerdict, NoteKind, Outcome, list_remedies};
use report::gate::{Format, GateRules, judge_gate, render_outcome};
use report::text::TextOptions;
use report::{MetricFilter, Options, compare};

use crate::evidence::{Builder, Made, from_the_sixth};

/// Of ten rounds at most.
fn looked_at(rounds: u32, most: u32) -> Made {
    let mut made = Builder { clients: vec![1], rounds, ..Builder::default() }.build();
    made.evidence.header.plan.schedule.rounds = most;
    made.evidence.header.plan.schedule.until_sure = Some(from_the_sixth());
    made
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

fn page(made: &Made) -> String {
    report::html::render_page(&made.evidence, &set(made), &made.series).unwrap()
}

#[test]
fn how_it_ended_is_told_by_its_runs_and_rows() {
    let begun = "judged after each round from the 6th on";
    let sure = page(&looked_at(8, 60));
    assert!(sure.contains(&format!("{begun}, and ended after 8 rounds with no row open, in 3 looks")), "{sure}");
    let all = page(&looked_at(10, 10));
    assert!(all.contains(&format!("{begun}, and ran all its 10 rounds, in 5 looks")), "{all}");
    // As where `max_time` was over.
    let mut open = looked_at(8, 60);
    let noise = |round: u32, value: f64| value * if round.is_multiple_of(2) { 0.2 } else { 5.0 };
    ["throughput", "response_p50", "response_p99"].iter().for_each(|metric| open.change("wal", metric, noise));
    let early = page(&open);
    assert!(early.contains(&format!("{begun}, and ended after 8 rounds with 3 rows open, in 3 looks")), "{early}");
    open.evidence.header.plan.schedule.until_sure.as_mut().unwrap().max_time = Some(Duration::from_secs(600));
    let late = set(&open);
    let told: Vec<_> =
        late.notes.iter().filter(|note| note.kind == NoteKind::MaxTime).map(|note| &*note.text).collect();
    assert_eq!(
        told,
        ["ended after 8 of 60 rounds at most, since `schedule.max_time` (10m) was over, with 3 primary rows open"]
    );
    assert!(
        page(&open).contains("ended after 8 rounds with 3 rows open, since `schedule.max_time` was over, in 3 looks")
    );
    let by_other_rules = compare(&open.evidence, &Options { margin: Some(0.9), ..Options::default() }).unwrap();
    assert!(by_other_rules.notes.iter().all(|note| note.kind != NoteKind::MaxTime), "{by_other_rules:?}");
    let one_metric = Options { metrics: MetricFilter::Named(vec!["response_p95".to_owned()]), ..Options::default() };
    let shown = compare(&open.evidence, &one_metric).unwrap();
    assert!(shown.notes.iter().any(|note| note.text == told[0]), "what is not shown was open all the same");
    let mut stopped = looked_at(10, 10);
    (16..20).for_each(|position| stopped.end(position, RunState::Planned));
    let stopped = page(&stopped);
    assert!(stopped.contains(&format!("{begun}, and is not at its end: 8 of 10 rounds have run, in 3 looks")));
    let mut extended = looked_at(8, 60);
    let until = extended.evidence.header.plan.schedule.until_sure.as_mut().unwrap();
    until.begun = Some(Begun { rounds: 7, stop: Some(Stop::Never), max_time: None });
    let extended = page(&extended);
    assert!(extended.contains(&format!("{begun}, was extended, and ended after 8 rounds")), "{extended}");
    let mut imported = looked_at(8, 8);
    imported.evidence.header.build = report::evidence::IMPORTED.to_owned();
    assert!(!page(&imported).contains("all its"), "what it was planned with is not known");
}

/// Two cases were decided after eight rounds.
#[test]
fn rounds_that_not_all_cases_have_are_a_range() {
    let mut made = Builder { clients: vec![1, 4], rounds: 10, ..Builder::default() }.build();
    made.evidence.header.plan.schedule.rounds = 60;
    made.evidence.header.plan.schedule.until_sure = Some(from_the_sixth());
    let said = |made: &Made| set(made).compared.last().unwrap().clone();
    assert!(said(&made).starts_with("10 rounds of 4 cases in random order"), "{}", said(&made));
    made.evidence.runs.retain(|run| run.planned.case < 2 || run.planned.round < 8);
    assert!(said(&made).starts_with("8 to 10 rounds of 4 cases in random order"), "{}", said(&made));
    assert!(page(&made).contains("8 to 10 rounds of 4 cases. "));
    made.evidence.runs.last_mut().unwrap().state = RunState::Planned;
    assert!(said(&made).starts_with("9 of 10 rounds of up to 4 cases in random order"), "{}", said(&made));
}

/// Nothing of it is ever sure, so that nothing ends it after a look; what is extended has been looked at.
#[test]
fn a_single_system_has_the_intervals_of_a_fixed_number_of_rounds() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as crate::evidence::Speed)];
    let mut made = Builder { systems, clients: vec![1, 4], rounds: 8, ..Builder::default() }.build();
    made.evidence.header.plan.schedule.rounds = 8;
    made.evidence.header.plan.schedule.until_sure = Some(from_the_sixth());
    let has_band =
        |made: &Made| set(made).clients.iter().flat_map(|group| group.points()).all(|point| point.has_interval);
    assert!(!set(&made).clients.is_empty() && has_band(&made));
    made.evidence.header.plan.schedule.until_sure.as_mut().unwrap().begun =
        Some(Begun { rounds: 6, stop: None, max_time: None });
    assert!(!has_band(&made));
}

/// Ten rounds that are clear, and three that turn the estimate: the values are coarse, and that is not why there is no side.
#[test]
fn a_late_turn_of_coarse_values_is_not_the_clocks() {
    let mut made = looked_at(13, 60);
    let coarse = |round: u32| 20_000.0 * f64::from(2 + round % 3);
    made.change("rollback-journal", "response_p50", |round, _| coarse(round));
    made.change("wal", "response_p50", |round, _| match round {
        0..10 => 2.0 * coarse(round) + 20_000.0 * f64::from(round % 2),
        _ => coarse(round) / 20.0,
    });
    let set = set(&made);
    let row = set.rows().find(|row| row.metric.id == "response_p50").unwrap();
    assert!(row.warnings.iter().any(|warning| warning.as_str() == "quantised-clock"), "{row:?}");
    let found = row.estimate.unwrap();
    assert!(found.p_t < 0.05 && found.lo < 1.0 && found.hi > 1.0, "{found:?}");
    assert_eq!(row.verdict(), Some(stats::Verdict::Inconclusive), "{row:?}");
}

/// Runs that are planned are resumed; what is open is extended; and what the plan's own rules call sure would end at once.
#[test]
fn what_would_help_is_what_it_can_still_do() {
    let alike = |most: u32| {
        let same: crate::evidence::Speed = |_| 1_000.0;
        let systems = vec![("a".to_owned(), same), ("b".to_owned(), same)];
        let mut made = Builder { systems, clients: vec![1], rounds: 10, noise: 0.005, ..Builder::default() }.build();
        made.evidence.header.plan.schedule.rounds = most;
        made.evidence.header.plan.schedule.until_sure = Some(from_the_sixth());
        made
    };
    let commands = |made: &Made, margin: Option<f64>| {
        let set = compare(&made.evidence, &Options { margin, ..Options::default() }).unwrap();
        let of_throughput =
            |line: &report::comparison::RemedyLine| line.rows.iter().any(|row| row.contains("throughput"));
        set.remedies.into_iter().filter(of_throughput).filter_map(|line| line.command).collect::<Vec<_>>()
    };
    let (mut open, mut stopped) = (alike(10), alike(10));
    open.evidence.header.plan.comparison.margin = 0.006;
    stopped.evidence.header.plan.comparison.margin = 0.006;
    (16..20).for_each(|position| stopped.end(position, RunState::Planned));
    assert_eq!(commands(&open, None), ["etalon extend STORE"]);
    assert_eq!(commands(&stopped, None), ["etalon resume STORE"]);
    let sure = alike(60);
    assert!(commands(&sure, None).is_empty(), "equivalent by the plan's margin");
    let open_text = compare(&open.evidence, &Options::default()).unwrap().remedies[0].text.clone();
    assert!(open_text.ends_with("rounds in all settle it about six times in ten"), "{open_text}");
    let [narrower] = &commands(&sure, Some(0.006))[..] else { panic!("one for all") };
    let (_, rounds) = narrower.split_once("etalon extend STORE --rounds ").unwrap();
    assert!(rounds.parse::<u32>().is_ok_and(|rounds| rounds > 0), "{narrower}");
    let mut set = compare(&sure.evidence, &Options::default()).unwrap();
    set.tables[0].rows[0].outcome = Outcome::None(NoVerdict::MeasuredAgain { runs: 1 });
    let again = list_remedies(&sure.evidence, &set.tables, &set.rules);
    assert_eq!(again[0].text, "what was repeated is no fair choice until more rounds outweigh it");
    assert_eq!(again[0].command.as_deref(), Some("etalon extend STORE"));
}

/// Neither a band nor a line through a mean: they would be for one look.
#[test]
fn what_a_side_varies_by_is_said_to_be_for_one_look_and_not_drawn() {
    let clients = vec![1, 4, 16];
    let mut made = Builder { clients, rounds: 8, ..Builder::default() }.build();
    let curves = |made: &Made| {
        let document = serde_json::to_value(report::json::make_document(&made.evidence, &set(made))).unwrap();
        let views = document["views"].as_array().unwrap().clone();
        views.into_iter().find(|view| view["kind"] == "curve").unwrap()
    };
    let (with_band, with_interval) = ("class=\"rg ", "mean of the runs, and its interval");
    let (before, page_before) = (curves(&made), page(&made));
    assert!(before["lines"][0]["points"][0]["interval"].is_array(), "{before}");
    assert!(page_before.contains(with_interval) && !page_before.contains("for one look"));
    made.evidence.header.plan.schedule.until_sure = Some(from_the_sixth());
    let (after, page) = (curves(&made), page(&made));
    let of_lines = after["lines"].as_array().unwrap().iter().flat_map(|line| line["points"].as_array().unwrap());
    assert!(of_lines.clone().all(|point| point["interval"].is_null() && point["value"].is_number()), "{after}");
    assert!(page.contains("interval for one look, on which nothing rests") && !page.contains(with_interval));
    let charts = |page: &str| {
        report::svg::charts_in_page(page)
            .into_iter()
            .filter(|chart| chart.id.starts_with("clients"))
            .collect::<Vec<_>>()
    };
    assert!(charts(&page_before).iter().any(|chart| chart.svg.contains(with_band)), "{:?}", charts(&page_before));
    let bars = charts(&page).into_iter().find(|chart| chart.id.starts_with("clients-bars")).unwrap();
    assert!(!bars.svg.contains('±'), "{}", bars.svg);
    assert!(!charts(&page).is_empty() && charts(&page).iter().all(|chart| !chart.svg.contains(with_band)));
}

/// As of systems with a price each, whose benchmark promises.
#[test]
fn no_capacity_and_no_price_stands_without_its_promise() {
    let mut made = Builder { clients: vec![1], ..Builder::default() }.build();
    let point = [("promise.response_p99".to_owned(), model::Value::Text("20ms".to_owned()))];
    made.evidence.cases.iter_mut().for_each(|case| case.point.extend(point.clone()));
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "throughput" {
            stored.measurement.metric.id = "capacity_per_EUR".to_owned();
            stored.measurement.metric.unit = "tx/EUR".to_owned();
        }
    }
    let set = set(&made);
    let said = "at which 99 of 100 responses come within 20 ms, and at most 0.1 % fail";
    let outcome = judge_gate(&set, &GateRules::default());
    let lines: Vec<_> =
        outcome.lines.iter().map(|line| (line.name.contains("capacity"), line.detail.contains(said))).collect();
    assert_eq!(lines, [(true, true), (false, false), (false, false)], "{outcome:?}");
    let page = page(&made);
    let charts = report::svg::charts_in_page(&page);
    let drawn = |of: &str| charts.iter().find(|chart| chart.svg.contains(of)).unwrap();
    let (money, other) = (drawn("Change in capacity per EUR"), drawn("Change in response p99"));
    // Each line has room.
    for line in ["at which 99 of 100 responses come within 20 ms,", "and at most 0.1 % fail"] {
        assert!(money.svg.contains(&format!(">{line}</text>")), "{}", money.svg);
    }
    assert!(!other.svg.contains("at which"), "{}", other.svg);
}

#[test]
fn the_changes_of_many_rows_are_a_chart_to_export_too() {
    let mut made = Builder { clients: vec![1, 2, 4, 8, 16, 32], ..Builder::default() }.build();
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "throughput" {
            stored.measurement.metric.id = "elapsed/q01".to_owned();
            stored.measurement.metric.unit = "s".to_owned();
        }
    }
    let page = page(&made);
    let across =
        page.split("<figure class=\"chart across\" id=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let charts = report::svg::charts_in_page(&page);
    assert!(charts.iter().any(|chart| chart.id == across), "{across}");
}

#[test]
fn every_form_names_the_interval_and_how_many_looks_it_had() {
    let made = looked_at(8, 60);
    let set = set(&made);
    let said = "interval by Lai's confidence sequence over the rounds, judged after each from the 6th on, in 3 looks";
    let text = report::text::render_set(&set, &TextOptions { width: 300, ..TextOptions::default() });
    let markdown = report::markdown::render_comparisons(&made.evidence, &set);
    let html = page(&made);
    let gates =
        Format::ALL.map(|format| (format.as_str(), render_outcome(&judge_gate(&set, &GateRules::default()), format)));
    assert!(gates.iter().all(|(_, output)| output.contains(said)), "{gates:?}");
    for (form, output) in [("text", &text), ("markdown", &markdown), ("HTML", &html)] {
        assert!(output.contains(said), "{form}: {output}");
    }
    let mut changes =
        report::svg::charts_in_page(&html).into_iter().filter(|chart| chart.id.starts_with("forest")).peekable();
    assert!(changes.peek().is_some());
    assert!(changes.all(|chart| chart.svg.contains("95 % interval by Lai's confidence sequence, in 3 looks")));
    let document = serde_json::to_value(report::json::make_document(&made.evidence, &set)).unwrap();
    assert_eq!(document["experiment"]["rules"]["looks"], 3);
    let once = Builder { clients: vec![1], ..Builder::default() }.build();
    let set = compare(&once.evidence, &Options::default()).unwrap();
    let document = serde_json::to_value(report::json::make_document(&once.evidence, &set)).unwrap();
    assert!(document["experiment"]["rules"]["looks"].is_null());
    assert!(
        report::markdown::render_comparisons(&once.evidence, &set)
            .contains("interval by the paired t test over the rounds")
    );
}

/// A p of one look is not shown, and a column in which no row has one is not there.
#[test]
fn the_table_shows_the_p_on_which_verdicts_rest_or_none() {
    let head = |page: &str| {
        page[page.find("<table class=\"results\">").unwrap()..].split("</thead>").next().unwrap().to_owned()
    };
    let of_one_look = page(&Builder { clients: vec![1], ..Builder::default() }.build());
    assert!(
        head(&of_one_look).contains(">p</th>") && of_one_look.contains("p: sign-flip permutation"),
        "{of_one_look}"
    );
    let made = looked_at(8, 60);
    let adjusted: Vec<f64> = set(&made).rows().map(|row| row.estimate.unwrap().adjusted.unwrap()).collect();
    let looked_at_page = page(&made);
    assert!(
        head(&looked_at_page).contains(">adjusted p</th>") && !looked_at_page.contains("sign-flip"),
        "{looked_at_page}"
    );
    assert!(looked_at_page.contains("Adjusted p: the least of all looks, adjusted over the rows of its family"));
    for p in adjusted {
        assert!(looked_at_page.contains(&format!("data-l=\"adjusted p\" data-v=\"{p}\">")), "{p}: {looked_at_page}");
    }
    assert!(!looked_at_page.contains("n/a: could not be had"), "nothing is missing");
    let mut stopped = Builder { clients: vec![1], ..Builder::default() }.build();
    (12..20).for_each(|position| stopped.end(position, RunState::Planned));
    let stopped = page(&stopped);
    assert!(!head(&stopped).contains(">p</th>") && !stopped.contains("p: sign-flip"), "{stopped}");
    assert!(stopped.contains("n/a: could not be had"), "no interval before the end");
}
