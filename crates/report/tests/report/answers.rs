//! A query whose runs gave several answers has no verdict, whatever its times, and is named in the answer.

use model::{Direction, MarkKind, Measurement, QueryPlan, Reading, Role};
use report::comparison::{Family, NoVerdict, NoteKind, Warning};
use report::gate::{GateRules, RowStatus, judge_gate};
use report::{Options, compare};
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};

/// Two queries in every run, with the hash of an answer each; that of `q2` is given.
pub fn queries(hash_of_q2: impl Fn(&str, u32) -> f64) -> Made {
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

/// The plan of each query in each run.
pub fn add_plans(made: &mut Made, plan: impl Fn(&str, &str, u32) -> Result<&'static str, &'static str>) {
    let evidence = &mut made.evidence;
    for run in &evidence.runs {
        let system = &evidence.cases[run.planned.case as usize].system;
        for query in ["q1", "q2"] {
            let text = plan(system, query, run.planned.round).map(str::to_owned).map_err(str::to_owned);
            evidence.query_plans.push((run.id, QueryPlan { query: query.to_owned(), text }));
        }
    }
    for system in ["rollback-journal", "wal"] {
        evidence.facts.entry(system.to_owned()).or_default().record_identity("server.product", "SQLite");
    }
}

/// Thirds that are rounded one by one would be 99.
#[test]
fn shares_of_the_whole_add_up_to_100() {
    let mut made = queries(|_, _| 8.0);
    for stored in &mut made.evidence.measurements {
        let (metric, reading) = (&mut stored.measurement.metric, &mut stored.measurement.reading);
        if metric.id.starts_with("elapsed/q") {
            *reading = Reading::Value(10.0);
        } else if metric.id == "answer/q1" {
            metric.id = "elapsed/q3".to_owned();
            (metric.role, metric.unit, *reading) = (Role::Primary, "ms".to_owned(), Reading::Value(10.0));
            metric.direction = Direction::Lower;
        }
    }
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let shares: Vec<Option<f64>> =
        set.rows().filter(|row| row.metric.id.starts_with("elapsed/q")).map(|row| row.share_of_whole).collect();
    assert_eq!(shares.len(), 3);
    assert_eq!(shares.iter().flatten().sum::<f64>(), 100.0, "{shares:?}");
    assert!(shares.contains(&Some(34.0)) && shares.contains(&Some(33.0)), "{shares:?}");
    for stored in &mut made.evidence.measurements {
        if stored.measurement.metric.id == "elapsed/q3" {
            stored.measurement.reading = Reading::Value(0.01);
        }
    }
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let text = report::text::render_set(&set, &report::text::TextOptions::default());
    assert!(text.contains(" < 1 %  ") && !text.contains(" 0 %  "), "{text}");
}

#[test]
fn a_plan_that_differs_or_changes_is_said() {
    let mut made = queries(|_, _| 8.0);
    add_plans(&mut made, |system, query, round| match (system, query) {
        ("wal", "q2") if round < 3 => Ok("SCAN orders"),
        ("wal", "q2") => Ok("SEARCH orders USING INDEX by_customer"),
        (_, "q1") if round == 0 => Err("it took too long"),
        _ => Ok("SCAN orders"),
    });
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let differs: Vec<(&str, Option<bool>)> = set.rows().map(|row| (row.metric.id.as_str(), row.plan_differs)).collect();
    assert_eq!(differs, [("elapsed/all", None), ("elapsed/q2", Some(true)), ("elapsed/q1", Some(false))]);
    let notes: Vec<&str> =
        set.notes.iter().filter(|note| note.kind == NoteKind::QueryPlans).map(|note| note.text.as_str()).collect();
    assert_eq!(notes, ["the plan of q2 differs: `etalon report STORE` shows both"]);
    for row in set.rows() {
        let changed = row.warnings.iter().any(|warning| matches!(warning, Warning::PlanChanged { round: 3, .. }));
        assert_eq!(changed, row.metric.id == "elapsed/q2", "{:?}", row.warnings);
    }
    let document = report::json::make_document(&made.evidence, &set);
    let of_wal = document.query_plans.iter().find(|plan| (plan.system.as_str(), plan.query.as_str()) == ("wal", "q2"));
    let of_wal = of_wal.unwrap();
    assert_eq!(of_wal.plan.as_deref(), Some("SEARCH orders USING INDEX by_customer"));
    assert_eq!(of_wal.changed_in_round, Some(3));
    // Another product writes its plans in another way.
    made.evidence.facts.get_mut("wal").unwrap().record_identity("server.product", "PostgreSQL");
    let set = compare(&made.evidence, &Options::default()).unwrap();
    assert!(set.rows().all(|row| row.plan_differs.is_none()));
}

#[test]
fn queries_are_a_family_and_their_sum_is_another() {
    let made = queries(|_, _| 8.0);
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let families = set.families;
    assert_eq!((families.primary, families.queries, families.exploratory), (1, 2, 0));
    let parts = Family::ALL.map(|family| families.error_part(family));
    assert!((parts[0] - 0.25).abs() < 1e-9 && (parts[1] - 0.75).abs() < 1e-9, "{parts:?}");
    for row in set.rows() {
        let of_all = row.metric.id == "elapsed/all";
        assert_eq!(row.family, if of_all { Family::Primary } else { Family::Queries });
    }
    let text = report::text::render_set(&set, &report::text::TextOptions::default());
    assert!(text.contains("queries: 2 rows judged together after Benjamini and Hochberg, at 4 %"), "{text}");
}

#[test]
fn a_query_that_a_cache_answered_has_no_verdict() {
    let mut made = queries(|_, _| 8.0);
    let run = made.evidence.runs[0].clone();
    let (round, case, position) = (run.planned.round, run.planned.case, run.planned.position);
    let measurement = Measurement::value("cached/q2", "", Direction::Neither, Role::Diagnostic, 1.0);
    made.evidence.measurements.push(StoredMeasurement { run_id: run.id, round, case, position, measurement });
    made.mark(position, MarkKind::CachedAnswers, "a cache of results answered q2");
    let set = compare(&made.evidence, &Options::default()).unwrap();
    for row in set.rows() {
        let is_cached = matches!(row.why_no_verdict(), Some(NoVerdict::CachedAnswers { runs: 1, .. }));
        assert_eq!(is_cached, row.metric.id != "elapsed/q1", "{:?}", row.outcome);
    }
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
        let lines = judge_gate(&set, &GateRules::default()).lines;
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
        row.measurement.reading = Reading::unavailable("it took longer than its timeout, 1 s");
    }
    with_a_failed_one.evidence.measurements.extend(failed);
    let (answer, _) = verdicts(&with_a_failed_one);
    assert!(answer.contains("All 2 queries that ended gave the same answers everywhere."), "{answer}");
}

#[test]
fn a_query_that_changes_on_a_itself_is_unstable() {
    // A changes from round to round; B's answer is one of those.
    let made = queries(|system, round| if system == "wal" { 8.0 } else { f64::from(round) });
    let (answer, rows) = verdicts(&made);
    let row = |id: &str, has: bool| (id.to_owned(), has);
    assert_eq!(rows, [row("elapsed/all", true), row("elapsed/q1", true), row("elapsed/q2", false)]);
    assert!(answer.contains("q2 is unstable") && !answer.contains("another answer"), "{answer}");
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let unstable = set.rows().find_map(|row| row.why_no_verdict()).unwrap();
    assert_eq!(unstable.short_reason(), "unstable");
    assert!(unstable.reason_text().contains("q2 changes from run to run on A itself"), "{}", unstable.reason_text());
    let gate = judge_gate(&set, &GateRules { max_regression: 9.0, ..GateRules::default() });
    assert!(gate.lines.iter().all(|line| line.status != RowStatus::Failed), "{:?}", gate.lines);
    assert!(gate.summary_line().ends_with("1 not compared (1 unstable)"), "{}", gate.summary_line());
    // A run of A that says that its answer is another one than the first: as bad.
    let mut made = queries(|_, _| 8.0);
    let of_a = made.evidence.cases.iter().position(|case| case.system != "wal").unwrap();
    let is_last = |stored: &&mut StoredMeasurement| {
        stored.case as usize == of_a && stored.round == 2 && stored.measurement.metric.id == "answer/q2"
    };
    let last = made.evidence.measurements.iter_mut().find(is_last).unwrap();
    last.measurement.reading = Reading::Unavailable(model::Absence::Wrong.with_reason("(1) and not (2)"));
    assert!(verdicts(&made).0.contains("q2 is unstable"));
}

#[test]
fn how_an_answer_differs_is_said_by_a_metric_of_its_own() {
    let mut made = queries(|system, _| if system == "wal" { 8.0 } else { 9.0 });
    let run = made.evidence.runs[0].clone();
    let (round, case, position) = (run.planned.round, run.planned.case, run.planned.position);
    let reading = Reading::Unavailable(model::Absence::Wrong.with_reason("(1) and not (2)"));
    let measurement = Measurement::new("difference/q2", "", Direction::Neither, Role::Diagnostic, reading);
    made.evidence.measurements.push(StoredMeasurement { run_id: run.id, round, case, position, measurement });
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let found = set.rows().find(|row| row.metric.id == "elapsed/q2").unwrap().why_no_verdict().unwrap().reason_text();
    assert_eq!(found, "the runs gave several answers to q2: (1) and not (2)");
}
