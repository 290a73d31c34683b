//! What the sides are, and what stands for what has no value.

use model::{Absence, Direction, Measurement, Reading, Role, Value};
use report::comparison::NoteKind;
use report::text::{TextOptions, render_set};
use report::{ComparisonSet, Evidence, Options, compare};
use store::StoredMeasurement;

use crate::disk::volumes;
use crate::evidence::{Builder, Made};
use crate::html::page;

fn add(evidence: &mut Evidence, id: &str, unit: &str, role: Role, value: f64) {
    let runs: Vec<StoredMeasurement> = evidence
        .runs
        .iter()
        .map(|run| StoredMeasurement {
            run_id: run.id,
            round: run.planned.round,
            case: run.planned.case,
            position: run.planned.position,
            measurement: Measurement::value(id, unit, Direction::Lower, role, value + f64::from(run.planned.position)),
        })
        .collect();
    evidence.measurements.extend(runs);
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default().comparing_only_factor(&made.evidence)).unwrap()
}

fn text(made: &Made) -> String {
    let text = render_set(&set(made), &TextOptions::default());
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Statements of seconds: a run has too few of them for any quantile.
fn slow(systems: usize) -> Made {
    let mut builder = Builder { clients: vec![1], rounds: 6, ..Builder::default() };
    builder.systems.truncate(systems);
    let mut made = builder.build();
    let few = Absence::Unavailable.with_reason("a run had fewer than 20 operations");
    for (system, _) in &builder.systems {
        made.lack_because(system, "response_p50", 0..6, &few);
        made.lack_because(system, "response_p99", 0..6, &few);
    }
    add(&mut made.evidence, "response_mean", "us", Role::Secondary, 3_000_000.0);
    made
}

#[test]
fn a_mean_stands_where_there_is_no_quantile() {
    let compared = text(&slow(2));
    assert!(compared.contains("response mean, s ↓"), "{compared}");
    assert!(compared.contains("response p50, ms ↓"), "n/a has the unit of others: {compared}");
    let alone = text(&slow(1));
    assert!(alone.contains("response mean s ↓ 3.0") && alone.contains("response p50 ms ↓ n/a"), "{alone}");
    let mut whole = Builder { rounds: 6, ..Builder::default() }.build();
    add(&mut whole.evidence, "response_mean", "us", Role::Secondary, 3_000.0);
    assert!(!text(&whole).contains("response mean"), "quantiles are known");
}

#[test]
fn a_page_has_no_card_of_what_has_no_value() {
    let page = page(&slow(1));
    let cards = page.split("<article").skip(1).filter(|card| card.split("</article>").next().unwrap().contains("n/a"));
    assert_eq!((cards.count(), page.contains("<h3>throughput</h3>")), (0, true));
}

#[test]
fn two_folders_on_one_device_are_said_to_be_one() {
    let mut made = volumes("random", "iops", "io/s");
    let mut place = |system: &str, source: &str| {
        let facts = made.evidence.facts.get_mut(system).unwrap();
        facts.record_identity("server.product", "disk");
        facts.record_identity("data_directory.mount_point", "/data");
        facts.record_identity("data_directory.source", source.to_owned());
    };
    place("4 KB", "/dev/sda1");
    place("64 KB", "/dev/sda1");
    assert!(text(&made).contains("4 KB and 64 KB lie on one device, /dev/sda1 at /data"), "{}", text(&made));
    let facts = made.evidence.facts.get_mut("64 KB").unwrap();
    facts.record_identity("data_directory.source", "/dev/sdb1".to_owned());
    assert!(!set(&made).notes.iter().any(|note| note.kind == NoteKind::SameDevice));
}

#[test]
fn bars_show_what_is_judged_and_the_published_figure_in_its_place() {
    let mut made = volumes("random", "iops", "io/s");
    // One run was lucky.
    made.change("4 KB", "iops", |round, value| if round == 3 { 5.0 * value } else { value });
    made.change("64 KB", "iops", |_, value| value);
    let text = text(&made);
    assert!(text.contains("means at the best depth; such tests are published by their highest run"), "{text}");
    assert!(!text.contains("20 000 at depth") && text.contains("at depth 4; highest run "), "{text}");
    assert!(page(&made).contains("4 KB: highest run, as published"));
}

#[test]
fn runs_without_a_checkpoint_say_so() {
    let mut made = Builder { rounds: 6, ..Builder::default() }.build();
    add(&mut made.evidence, "rows_changed", "/tx", Role::Diagnostic, 1.0);
    let none = |evidence: &mut Evidence| {
        let added = evidence.measurements.len();
        add(evidence, "checkpoints", "", Role::Diagnostic, 0.0);
        for stored in &mut evidence.measurements[added..] {
            stored.measurement.reading = Reading::Value(0.0);
        }
    };
    none(&mut made.evidence);
    let said = "no checkpoint of rollback-journal, wal was in any of 24 runs that changed rows, of 5.0 s each";
    assert!(text(&made).contains(said), "{}", text(&made));
    let last = made.evidence.measurements.last_mut().unwrap();
    last.measurement.reading = Reading::Value(1.0);
    assert!(!text(&made).contains("of rollback-journal, wal"), "{}", text(&made));
}

#[test]
fn the_values_of_the_only_factor_are_the_sides() {
    let one = |values: &[&str]| {
        let mut builder = Builder { clients: vec![1, 4], rounds: 6, ..Builder::default() };
        builder.systems.truncate(1);
        let mut made = builder.build();
        let codec = |point: &mut model::Point| {
            let index = usize::from(point.remove("clients") != Some(Value::Int(1)));
            point.insert("codec".to_owned(), Value::Text(values[index].to_owned()));
        };
        made.evidence.cases.iter_mut().for_each(|case| codec(&mut case.point));
        made.evidence.header.plan.benchmarks.iter_mut().flat_map(|one| &mut one.points).for_each(codec);
        made
    };
    let compared = text(&one(&["zstd", "none"]));
    assert!(compared.contains("A = none, B = zstd"), "{compared}");
    assert!(text(&one(&["gzip", "zstd"])).contains("A = gzip, B = zstd"));
    // Clients are places on a curve.
    let mut clients = Builder { rounds: 6, ..Builder::default() };
    clients.systems.truncate(1);
    assert!(set(&clients.build()).tables.is_empty());
}

#[test]
fn a_row_without_a_name_is_named_once_in_a_picture() {
    let mut made = Builder { clients: vec![1], rounds: 6, ..Builder::default() }.build();
    let plan = &mut made.evidence.header.plan;
    let second = model::Benchmark { name: "lookup".to_owned(), ..plan.benchmarks[0].clone() };
    plan.benchmarks.push(second);
    let cases = made.evidence.cases.len() as u32;
    let copies: Vec<model::Case> =
        made.evidence.cases.iter().map(|case| model::Case { benchmark: "lookup".to_owned(), ..case.clone() }).collect();
    made.evidence.cases.extend(copies);
    let (runs, measurements) = (made.evidence.runs.clone(), made.evidence.measurements.clone());
    let most = runs.len() as i64;
    made.evidence.runs.extend(runs.into_iter().map(|mut run| {
        (run.id, run.planned.position, run.planned.case) =
            (run.id + most, run.planned.position + most as u32, run.planned.case + cases);
        run
    }));
    made.evidence.measurements.extend(measurements.into_iter().map(|mut stored| {
        (stored.run_id, stored.position, stored.case) =
            (stored.run_id + most, stored.position + most as u32, stored.case + cases);
        stored
    }));
    let page = page(&made);
    let picture = page.split("id=\"forest-0\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert_eq!(picture.matches(">lookup<").count(), 1, "{picture}");
    assert!(!page.contains("<bdi>lookup</bdi> <bdi>lookup</bdi>"));
}
