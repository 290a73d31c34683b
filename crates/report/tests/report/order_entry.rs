//! What is said of order entry beside its figures.

use model::facts::{ISOLATION, ISOLATION_ALLOWS};
use model::{Direction, Measurement, Reading, Role};
use report::json::make_document;
use report::text::{TextOptions, render_set};
use report::{Evidence, Options, compare, markdown};
use store::StoredMeasurement;

use crate::evidence::Builder;

/// Two systems of which one made a checkpoint in two of ten runs.
fn evidence(other_level: &str) -> Evidence {
    let mut evidence = Builder { clients: vec![1], ..Builder::default() }.build().evidence;
    evidence.cases.iter_mut().for_each(|case| case.workload = "order-entry".to_owned());
    for (system, level) in [("rollback-journal", "read committed"), ("wal", other_level)] {
        let facts = evidence.facts.entry(system.to_owned()).or_default();
        facts.record_passing(ISOLATION, level);
        facts.record_passing(ISOLATION_ALLOWS, format!("what {level} allows"));
    }
    for run in evidence.runs.clone() {
        let (run_id, case, round, position) = (run.id, run.planned.case, run.planned.round, run.planned.position);
        let reading = match evidence.cases[case as usize].system.as_str() {
            "wal" => Reading::unavailable("nobody counts"),
            _ => Reading::Value(if round < 2 { f64::from(round) + 1.0 } else { 0.0 }),
        };
        let measurement = Measurement::new("checkpoints", "", Direction::Neither, Role::Diagnostic, reading);
        evidence.measurements.push(StoredMeasurement { run_id, round, case, position, measurement });
    }
    evidence
}

fn notes(evidence: &Evidence) -> Vec<String> {
    compare(evidence, &Options::default()).unwrap().notes.into_iter().map(|note| note.text).collect()
}

#[test]
fn isolation_is_said_with_what_it_allows() {
    let same = notes(&evidence("read committed"));
    assert!(
        same.iter().any(|note| note.starts_with(
            "isolation: read committed on rollback-journal, wal, which allows what read committed allows; order entry changes"
        )),
        "{same:?}"
    );
    assert!(!same.iter().any(|note| note.contains("at different levels")), "{same:?}");
    let different = notes(&evidence("serializable"));
    let said = "different levels (rollback-journal read committed; wal serializable)";
    assert!(different.iter().any(|note| note.contains(said)), "{different:?}");
}

/// What a level allows that étalon does not know, nobody can promise.
#[test]
fn nothing_is_promised_of_an_unknown_level() {
    let isolation =
        |evidence: &Evidence| notes(evidence).into_iter().find(|note| note.starts_with("isolation")).unwrap();
    let told = |unknown: &[&str]| {
        let mut evidence = evidence("chaos");
        for (system, facts) in &mut evidence.facts {
            if unknown.contains(&system.as_str()) {
                let level = facts.get(ISOLATION).unwrap().to_owned();
                *facts = model::Facts::default();
                facts.record_passing(ISOLATION, level);
            }
        }
        isolation(&evidence)
    };
    let one = told(&["wal"]);
    assert!(
        one.contains("chaos on wal, which allows what étalon does not know; at read committed order entry"),
        "{one}"
    );
    let none = told(&["wal", "rollback-journal"]);
    assert!(!none.contains("no update is lost"), "{none}");
}

#[test]
fn checkpoints_are_counted_by_runs_and_never_nothing_for_unknown() {
    let evidence = evidence("read committed");
    let expected = "checkpoints while loaded, warm-up included: rollback-journal in 2 of 10 runs, 2 at most; wal not known: \
                    nobody counts";
    assert!(notes(&evidence).iter().any(|note| note == expected), "{:?}", notes(&evidence));
    let set = compare(&evidence, &Options::default()).unwrap();
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = one_line(render_set(&set, &TextOptions::default()));
    assert!(text.contains(expected) && text.contains("isolation: read committed"), "{text}");
    let markdown = one_line(markdown::render_comparisons(&evidence, &set));
    assert!(markdown.contains(expected) && markdown.contains("isolation: read committed"), "{markdown}");
    let json = serde_json::to_string(&make_document(&evidence, &set)).unwrap();
    assert!(json.contains(expected) && json.contains("\"isolation\""), "{json}");
}

#[test]
fn other_workloads_say_nothing_of_it() {
    let mut evidence = evidence("serializable");
    evidence.cases.iter_mut().for_each(|case| case.workload = "transactions".to_owned());
    assert!(!notes(&evidence).iter().any(|note| note.contains("isolat") || note.contains("checkpoints")));
}

/// Shares of the mix in percent.
const MIX: [(&str, f64); 5] =
    [("new-order", 45.2), ("payment", 42.5), ("order-status", 4.2), ("delivery", 4.1), ("stock-level", 4.0)];

/// Two systems with all that a run of order entry measures; one breaks a limit and two ranges, and tells no share of remote lines.
pub fn with_figures(rounds: u32) -> Evidence {
    let mut evidence = Builder { clients: vec![1], rounds, ..Builder::default() }.build().evidence;
    evidence.cases.iter_mut().for_each(|case| case.workload = "order-entry".to_owned());
    evidence.measurements.clear();
    for run in evidence.runs.clone() {
        let (run_id, case, round, position) = (run.id, run.planned.case, run.planned.round, run.planned.position);
        let is_wal = evidence.cases[case as usize].system == "wal";
        let mut add = |id: String, unit: &str, reading: Reading| {
            let measurement = Measurement::new(&id, unit, Direction::Neither, Role::Diagnostic, reading);
            evidence.measurements.push(StoredMeasurement { run_id, round, case, position, measurement });
        };
        let times = if is_wal { 2.0 } else { 1.0 } + f64::from(round) / 10.0;
        for (id, unit, value) in [
            ("nopm", "orders/min", 12_000.0 * times),
            ("throughput", "tx/s", 460.0 * times),
            ("tried_again", "%", 0.0),
            ("conditions_held", "", 6.0),
            ("claims_held", "", 17.0),
            ("rolled_back", "%", if is_wal { 1.0 } else { 1.2 }),
            ("lines_per_order", "", 10.03),
            ("remote_payments", "%", 15.2),
            ("payments_by_name", "%", 60.4),
            ("order_status_by_name", "%", 57.0),
            ("skipped_deliveries", "%", if is_wal { 0.0 } else { 1.5 }),
        ] {
            add(id.to_owned(), unit, Reading::Value(value));
        }
        let remote = if is_wal { Reading::Value(0.98) } else { Reading::unavailable("there is one warehouse only") };
        add("remote_lines".to_owned(), "%", remote);
        for (number, (name, share)) in MIX.iter().enumerate() {
            let us = 1_500.0 * (number as f64 + 1.0) / times;
            add(format!("throughput_{name}"), "tx/s", Reading::Value(4.6 * times * share));
            add(format!("response_p50_{name}"), "us", Reading::Value(us));
            add(format!("response_p90_{name}"), "us", Reading::Value(us * 2.0));
            add(format!("response_p99_{name}"), "us", Reading::Value(us * 4.0));
            let is_kept = is_wal || *name != "delivery" || round == 0;
            add(format!("limit_kept_{name}"), "", Reading::Value(f64::from(is_kept)));
        }
    }
    evidence
}

#[test]
fn held_claims_and_the_mix_are_told_in_one_sentence() {
    let mut evidence = with_figures(2);
    let expected = "order entry on rollback-journal, wal: 6 conditions and 17 claims held in 2 of 2 runs; mix: 45.2 % new-order (at most \
                    45, missed no further than chance explains), 42.5 % payment (at least 43, missed no further than chance \
                    explains), 4.2 % order-status (at least 4), 4.1 % delivery (at least 4), 4.0 % stock-level (at least 4)";
    assert!(notes(&evidence).iter().any(|note| note == expected), "{:?}", notes(&evidence));
    let set = compare(&evidence, &Options::default()).unwrap();
    let one_line = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(one_line(render_set(&set, &TextOptions::default())).contains(expected));
    let html = report::html::render_page(&evidence, &set, &std::collections::BTreeMap::new()).unwrap();
    assert!(html.contains("6 conditions and 17 claims held in 2 of 2 runs"), "the page shows it");
    let mut own = evidence.clone();
    own.cases.iter_mut().for_each(|case| {
        case.point.insert("mix.payment".to_owned(), model::Value::Int(10));
    });
    assert!(notes(&own).iter().any(|note| {
        note.ends_with("mix: 45.2 % new-order, 42.5 % payment, 4.2 % order-status, 4.1 % delivery, 4.0 % stock-level")
    }));
    // A run that broke a claim has no measurement, and is not left out.
    let broken =
        evidence.runs.iter().position(|run| evidence.cases[run.planned.case as usize].system == "wal").unwrap();
    let id = evidence.runs[broken].id;
    evidence.runs[broken].state = model::RunState::Failed;
    evidence.measurements.retain(|row| row.run_id != id);
    let all = notes(&evidence);
    assert!(
        all.iter().any(|note| note.starts_with("order entry on wal: 6 conditions and 17 claims held in 1 of 2 runs")),
        "{all:?}"
    );
}

#[test]
fn terminals_that_are_paced_have_their_efficiency_beside_the_orders() {
    let mut evidence = with_figures(2);
    let paced: Vec<StoredMeasurement> =
        evidence.measurements.iter().filter(|row| row.measurement.metric.id == "nopm").cloned().collect();
    evidence.measurements.extend(paced.into_iter().map(|mut row| {
        row.measurement.metric.id = "efficiency".to_owned();
        row.measurement.reading = Reading::Value(98.7);
        row
    }));
    let family = report::views::FAMILIES.into_iter().find(|family| family.name == "order-entry").unwrap();
    let text = family.render_for_terminal(&evidence, None, 80).unwrap();
    let mut lines = text.lines().skip_while(|line| !line.starts_with("system"));
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(words(lines.next().unwrap())[..4], ["system", "NOPM", "efficiency", "tx/s"]);
    assert!(words(lines.next().unwrap()).contains(&"98.7".to_owned()), "{text}");
}

/// A first run's preparation is a load, and nothing comes back where tables stay.
#[test]
fn how_tables_came_back_is_told_without_the_load() {
    let mut evidence = Builder { clients: vec![1], rounds: 2, ..Builder::default() }.build().evidence;
    evidence.header.plan.systems[0].reset = Some(model::Reset::Restore);
    let ways = [("rollback-journal", "restore"), ("wal", "none")];
    for (name, way) in ways {
        evidence.facts.entry(name.to_owned()).or_default().record_identity(model::facts::RESET, way);
    }
    for run in evidence.runs.clone() {
        let (round, case, position) = (run.planned.round, run.planned.case, run.planned.position);
        for (id, unit, value) in [("prepare_time", "s", if round == 0 { 4.0 } else { 0.5 }), ("kept_copies", "B", 1e6)]
        {
            let reading = Reading::Value(value);
            let measurement = Measurement::new(id, unit, Direction::Neither, Role::Diagnostic, reading);
            evidence.measurements.push(StoredMeasurement { run_id: run.id, round, case, position, measurement });
        }
    }
    let note = notes(&evidence).into_iter().find(|note| note.starts_with("tables before each run")).unwrap();
    assert!(note.contains("rollback-journal: restore in 500 ms, with copies of"), "{note}");
    assert!(note.contains("wal: none, with copies of"), "{note}");
}

#[test]
fn checkpoints_that_are_the_same_are_said_once() {
    let mut evidence = evidence("read committed");
    let readings = evidence.measurements.iter_mut().filter(|row| row.measurement.metric.id == "checkpoints");
    readings.for_each(|row| row.measurement.reading = Reading::unavailable("nobody counts"));
    let expected = "checkpoints while loaded, warm-up included: rollback-journal, wal not known: nobody counts";
    assert!(notes(&evidence).iter().any(|note| note == expected), "{:?}", notes(&evidence));
}
