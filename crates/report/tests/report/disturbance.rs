//! What went on beside the runs is said, withholds nothing, and is a warning where one side had more of it.

use model::{Direction, Mark, MarkKind, Measurement, Reading, Role};
use report::comparison::{Outcome, worst_sentence};
use report::json::make_document;
use report::text::{TextOptions, render_set};
use report::{ComparisonSet, Options, compare};
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};

/// What other programs used beside each run of a system, on a machine of two cores.
pub fn load(made: &mut Made, system: &str, suffix: &str, used: impl Fn(u32) -> Reading) {
    let runs: Vec<_> = made.evidence.runs.iter().map(|run| (run.id, run.planned)).collect();
    for (run_id, planned) in runs {
        if made.evidence.cases[planned.case as usize].system != system {
            continue;
        }
        let mut add = |id: &str, reading| {
            let id = format!("{id}{suffix}");
            let measurement = Measurement::new(&id, "cores", Direction::Lower, Role::Diagnostic, reading);
            let (round, case, position) = (planned.round, planned.case, planned.position);
            made.evidence.measurements.push(StoredMeasurement { run_id, round, case, position, measurement });
        };
        let reading = used(planned.round);
        add("machine_cores", Reading::Value(2.0));
        add("other_load", reading.clone());
        if let Some(cores) = reading.value().filter(|cores| *cores >= 0.1) {
            let mark = Mark::new(MarkKind::MachineBusy, format!("{cores:.1} of 2 cores used by others: cc1"));
            let host = suffix.strip_prefix("_on_").map(str::to_owned);
            made.put_mark(planned.position, Mark { host, ..mark });
        }
    }
}

fn compared(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

fn systems(made: &Made) -> [String; 2] {
    let systems = &made.evidence.header.plan.systems;
    [systems[0].name.clone(), systems[1].name.clone()]
}

#[test]
fn a_quiet_machine_is_not_spoken_of() {
    let made = Builder::default().build();
    let set = compared(&made);
    assert_eq!((set.disturbances.len(), worst_sentence(&set.disturbances)), (0, None));
    assert!(!set.notes.iter().any(|note| note.kind.as_str() == "disturbed" || note.kind.as_str() == "load-unknown"));
}

#[test]
fn an_equally_busy_machine_is_said_once_and_changes_no_verdict() {
    let quiet = Builder::default().build();
    let mut made = Builder::default().build();
    for system in systems(&made) {
        load(&mut made, &system, "", |round| Reading::Value(if round == 3 { 1.4 } else { 0.6 }));
    }
    let set = compared(&made);
    let [busy] = &set.disturbances[..] else { panic!("{:?}", set.disturbances) };
    assert_eq!((busy.kind, busy.runs, busy.of), (MarkKind::MachineBusy, busy.of, made.evidence.runs.len()));
    assert_eq!((busy.worst.as_str(), busy.unequal.len()), ("1.4 of 2 cores used by others: cc1", 0));
    assert_eq!(
        worst_sentence(&set.disturbances).unwrap(),
        "The machine was busy: others used up to 1.4 of its 2 cores."
    );
    let outcomes = |set: &ComparisonSet| -> Vec<Outcome> { set.rows().map(|row| row.outcome.clone()).collect() };
    assert_eq!(outcomes(&set), outcomes(&compared(&quiet)));
    assert!(set.rows().all(|row| row.warnings.iter().all(|warning| warning.as_str() != "machine-busy")));
    let text = render_set(&set, &TextOptions::default());
    assert_eq!(text.matches("busy machine").count(), 1, "{text}");
    let said = "during the runs: busy machine in ";
    assert!(
        report::markdown::render_comparisons(&made.evidence, &set).contains(said)
            && crate::html::page(&made).contains(said)
    );
}

#[test]
fn a_side_that_had_more_of_it_is_named_in_the_sentence_the_row_and_the_json() {
    let mut made = Builder::default().build();
    let [a, b] = systems(&made);
    load(&mut made, &a, "", |_| Reading::Value(0.2));
    load(&mut made, &b, "", |_| Reading::Value(1.0));
    let set = compared(&made);
    assert!(
        worst_sentence(&set.disturbances).unwrap().ends_with(&format!("1.0 of its 2 cores, more in the runs of {b}."))
    );
    let expected =
        "busy machine, unequal, which biases the comparison: 10 % of the processors' time with A, 50 % with B";
    let said = |row: &report::Comparison| row.warnings.iter().any(|warning| warning.text() == expected);
    assert!(set.rows().all(said), "{:?}", set.rows().next().unwrap().warnings);
    let value = serde_json::to_value(make_document(&made.evidence, &set)).unwrap();
    let unequal = &value["disturbances"][0]["unequal"][0];
    assert_eq!((unequal["a"].as_str(), unequal["b"].as_str()), (Some(a.as_str()), Some(b.as_str())));
    assert!((unequal["b_mean"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    assert!(jsonschema::validator_for(&report::json::document_schema()).unwrap().is_valid(&value));
}

#[test]
fn an_agents_machine_is_named_and_one_that_tells_nothing_is_said_to() {
    let mut made = Builder::default().build();
    for system in systems(&made) {
        load(&mut made, &system, "_on_load-1", |_| Reading::Value(0.04));
        load(&mut made, &system, "_on_db", |_| Reading::Value(0.9));
    }
    let set = compared(&made);
    assert_eq!(set.disturbances[0].hosts, ["db"]);
    let said = worst_sentence(&set.disturbances).unwrap();
    assert_eq!(said, "The machine db was busy: others used up to 0.9 of its 2 cores.");

    let mut blind = Builder::default().build();
    for system in systems(&blind) {
        load(&mut blind, &system, "", |_| Reading::unavailable("only some of the machine's processes are visible"));
    }
    let set = compared(&blind);
    let note = set.notes.iter().find(|note| note.kind.as_str() == "load-unknown").unwrap();
    assert!(note.text.ends_with("is not known: only some of the machine's processes are visible"), "{}", note.text);
    assert!(set.disturbances.is_empty());
}

#[test]
fn what_is_not_measured_is_compared_by_the_runs_that_carry_it() {
    let mut made = Builder::default().build();
    let [_, b] = systems(&made);
    let of_b = made.evidence.runs.iter().filter(|run| made.evidence.cases[run.planned.case as usize].system == b);
    let of_b: Vec<u32> = of_b.map(|run| run.planned.position).collect();
    for position in &of_b[..of_b.len() / 2] {
        made.mark(*position, MarkKind::MachinePower, "battery");
        made.mark(*position, MarkKind::MachineJobs, "backup at work: rsync 0.40 cores");
    }
    let set = compared(&made);
    let kinds: Vec<MarkKind> = set.disturbances.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [MarkKind::MachinePower, MarkKind::MachineJobs]);
    let means = set.disturbances[0].unequal[0].means;
    assert_eq!((means.a, means.b), (0.0, 0.5));
    let said = worst_sentence(&set.disturbances).unwrap();
    assert!(said.ends_with(&format!("more in the runs of {b}.")), "{said}");
}
