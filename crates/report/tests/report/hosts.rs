//! Client hosts: each has its row, and one that is slow is seen.

use model::{Direction, Measurement, Role};
use report::compare;
use report::comparison::NoteKind;
use report::json::{document_schema, make_document};
use report::text::{TextOptions, render_set};
use report::{ComparisonSet, Options};
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};
use crate::html::page;

/// Two systems, two hosts: `b` is three times as slow as `a`.
pub fn two_hosts() -> Made {
    let mut made = Builder { clients: vec![4], rounds: 6, ..Builder::default() }.build();
    let runs: Vec<StoredMeasurement> =
        made.evidence.measurements.iter().filter(|one| one.measurement.metric.id == "throughput").cloned().collect();
    for run in runs {
        for (host, times) in [("a", 1.0), ("b", 3.0)] {
            let figures = [
                ("throughput", "tx/s", Direction::Higher, 900.0 / times),
                ("response_p50", "us", Direction::Lower, 400.0 * times),
                ("response_p99", "us", Direction::Lower, 1_500.0 * times),
                ("client_cpu_per_tx", "us", Direction::Lower, 12.0),
                ("client_busy_share", "", Direction::Neither, 0.25),
                ("errors", "", Direction::Lower, 0.0),
            ];
            made.evidence.measurements.extend(figures.map(|(id, unit, direction, value)| {
                let id = format!("{id}_on_{host}");
                let measurement = Measurement::value(&id, unit, direction, Role::Diagnostic, value);
                StoredMeasurement { measurement, ..run.clone() }
            }));
        }
    }
    made
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

#[test]
fn every_host_has_a_row_and_the_slow_one_is_known() {
    let set = set(&two_hosts());
    assert_eq!(set.hosts.len(), 2, "one group for each system");
    for group in &set.hosts {
        let hosts: Vec<(&str, bool)> = group.rows.iter().map(|row| (row.host.as_str(), row.is_slow())).collect();
        assert_eq!(hosts, [("a", false), ("b", true)]);
        assert_eq!(group.rows[1].of_middle, Some(3.0));
        assert_eq!(group.rows[1].figures[0].1.summary.unwrap().median, 300.0);
    }
}

#[test]
fn the_object_has_each_host() {
    let made = two_hosts();
    let object = serde_json::to_value(make_document(&made.evidence, &set(&made))).unwrap();
    let validator = jsonschema::validator_for(&document_schema()).unwrap();
    assert!(validator.is_valid(&object), "{object}");
    let hosts = object["client_hosts"].as_array().unwrap();
    let names: Vec<&str> = hosts.iter().map(|host| host["host"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b", "a", "b"]);
    assert_eq!((hosts[1]["is_slow"].as_bool(), hosts[1]["p99_of_middle"].as_f64()), (Some(true), Some(3.0)));
    let throughput = &hosts[1]["figures"][0];
    assert_eq!((&throughput["metric"], &throughput["side"]["median"]), (&"throughput_on_b".into(), &300.0.into()));
}

#[test]
fn a_local_load_has_no_hosts() {
    let made = Builder { clients: vec![4], rounds: 6, ..Builder::default() }.build();
    assert!(set(&made).hosts.is_empty());
    assert!(!render_set(&set(&made), &TextOptions::default()).contains("client host"));
    assert!(!page(&made).contains("id=\"hosts\""));
}

/// Agents of other builds, on the hosts of the systems and on those that make the load.
#[test]
fn other_builds_of_etalon_are_said() {
    let mut made = two_hosts();
    let note = |made: &Made| {
        let notes = set(made).notes;
        notes.into_iter().find(|note| note.kind == NoteKind::DifferentBuilds).map(|note| note.text)
    };
    for subject in ["rollback-journal", "wal"] {
        let facts = made.evidence.facts.entry(subject.to_owned()).or_default();
        facts.record_identity("host.etalon.profile", "release");
    }
    for subject in ["client", "client a", "client b"] {
        let profile = if subject == "client" { "debug" } else { "release" };
        made.evidence.facts.entry(subject.to_owned()).or_default().record_identity("etalon.profile", profile);
    }
    assert_eq!(note(&made), None, "the conductor makes no load");
    made.evidence.facts.get_mut("wal").unwrap().record_identity("host.etalon.profile", "dist");
    made.evidence.facts.get_mut("client b").unwrap().record_identity("etalon.profile", "debug");
    let told = note(&made).unwrap();
    assert!(told.contains("profile dist (wal), release (rollback-journal); profile debug (b), release (a)"), "{told}");
    assert!(page(&made).contains("client b"));
}
