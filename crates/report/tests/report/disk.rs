//! Disk cases: the published charts, and what they hide.

use model::{MarkKind, Value};
use report::comparison::Knee;
use report::text::{TextOptions, render_set};
use report::{ComparisonSet, Options, compare};

use crate::evidence::{Builder, Made};
use crate::html::page;

/// Two volumes, random reads of 8 KB. The first bends at depth 4, the second rises to the end.
pub fn volumes(pattern: &str, metric: &str, unit: &str) -> Made {
    let mut builder = Builder { clients: vec![1, 2, 4, 8], rounds: 6, noise: 0.002, ..Builder::default() };
    builder.systems = vec![
        ("4 KB".to_owned(), |depth| (1_000.0 * depth as f64).min(4_000.0)),
        ("64 KB".to_owned(), |depth| 1_000.0 * depth as f64),
    ];
    let mut made = builder.build();
    let shape = |point: &mut model::Point| {
        let depth = point.remove("clients").unwrap();
        *point = [("depth", depth), ("block_kb", Value::Int(8)), ("threads", Value::Int(24))]
            .into_iter()
            .chain([("op", Value::Text("read".to_owned())), ("pattern", Value::Text(pattern.to_owned()))])
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
    };
    made.evidence.cases.iter_mut().for_each(|case| shape(&mut case.point));
    made.evidence.header.plan.benchmarks.iter_mut().flat_map(|one| &mut one.points).for_each(shape);
    for stored in &mut made.evidence.measurements {
        let of = &mut stored.measurement.metric;
        if of.id == "throughput" {
            (of.id, of.unit) = (metric.to_owned(), unit.to_owned());
        }
    }
    made
}

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

#[test]
fn the_best_is_the_highest_run_and_the_knee_the_first_near_it() {
    let set = set(&volumes("random", "iops", "io/s"));
    let [group] = set.disk.as_slice() else { panic!("{:?}", set.disk) };
    assert_eq!((group.label.as_str(), group.metric.id.as_str()), ("random read, 8 KB", "iops"));
    let [bent, rising] = group.curves.as_slice() else { panic!("{group:?}") };
    let depths: Vec<i64> = bent.points.iter().map(|point| point.at).collect();
    assert_eq!(depths, [1, 2, 4, 8]);
    let all = || bent.points.iter().flat_map(|point| &point.rate.runs).map(|run| run.value);
    let (at, best) = bent.best().unwrap();
    assert_eq!(best, all().fold(0.0, f64::max));
    assert!(best > at.mean().unwrap(), "the best of several runs is above their mean");
    assert!(matches!(bent.knee(), Knee::At(point) if point.at == 4), "{:?}", bent.knee());
    assert!(matches!(rising.knee(), Knee::NotReached(point) if point.at == 8), "{:?}", rising.knee());
    let (lo, hi) = bent.points[2].interval().unwrap();
    assert!(lo < 4_000.0 * 1.01 && hi > 4_000.0 * 0.99 && hi - lo < 100.0, "{lo} {hi}");
    assert!(bent.points[2].latencies[0].is_some());
}

#[test]
fn the_text_has_the_charts_and_what_they_hide() {
    let mut made = volumes("random", "iops", "io/s");
    let position = made.position_of("4 KB");
    made.mark(position, MarkKind::ClientSaturated, "busy");
    let text = render_set(&set(&made), &TextOptions { width: 100, ..TextOptions::default() });
    for part in [
        "Best of each group, I/Os a second",
        "█",
        "at depth 8",
        "What the best of a group hides",
        "random read, 8 KB, I/Os a second",
        "  knee",
        "no knee: still rising at depth 8: 64 KB",
        "! 4 KB, depth",
        "p99",
    ] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let page = page(&made);
    let there = page.split("data-l=\"knee, latency there\"").nth(1).unwrap().split("</td>").next().unwrap();
    let words: Vec<&str> = there.split(['>', '<']).find(|text| text.contains("p99")).unwrap().split(' ').collect();
    assert!(words[0].parse::<f64>().is_ok() && words[2] == "p99", "{there}");
    let narrow = render_set(&set(&made), &TextOptions::default());
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(!text.contains("MiB a second"));
}

#[test]
fn sequential_groups_are_judged_by_bandwidth_and_other_cases_have_no_view() {
    let sequential = set(&volumes("sequential", "bandwidth", "MiB/s"));
    assert_eq!(sequential.disk[0].metric.id, "bandwidth");
    assert!(render_set(&sequential, &TextOptions::default()).contains("Best of each group, MiB a second"));
    let other = Builder { rounds: 6, ..Builder::default() }.build();
    assert!(set(&other).disk.is_empty());
    assert!(!page(&other).contains("id=\"disk\"") && !page(&other).contains("href=\"#disk\""));
}

#[test]
fn a_single_volume_has_its_charts_too() {
    let mut made = volumes("random", "iops", "io/s");
    made.evidence.header.plan.systems.truncate(1);
    let kept: Vec<u32> =
        (0..).zip(&made.evidence.cases).filter(|(_, case)| case.system == "4 KB").map(|(index, _)| index).collect();
    let place = |case: u32| kept.iter().position(|known| *known == case).map(|at| at as u32);
    made.evidence.cases.retain(|case| case.system == "4 KB");
    made.evidence.runs.retain_mut(|run| {
        let found = place(run.planned.case);
        run.planned.case = found.unwrap_or(0);
        found.is_some()
    });
    made.evidence.measurements.retain_mut(|stored| {
        let found = place(stored.case);
        stored.case = found.unwrap_or(0);
        found.is_some()
    });
    let first = made.evidence.runs[0].planned.position;
    made.mark(first, MarkKind::ServedByCache, "the devices read 3 % of the bytes");
    made.mark(first, MarkKind::NotSteady, "bimodal");
    let set = set(&made);
    assert!(set.tables.is_empty() && set.disk.len() == 1);
    let text = render_set(&set, &TextOptions::default());
    assert!(text.contains("Best of each group"), "{text}");
    // Marks show beside their figure, even without voiding a verdict.
    let ending = |end: &str| text.lines().filter(|line| line.ends_with(end)).count();
    assert_eq!(ending("  (1)"), 1, "{text}");
    let said = "\n(1) served by a cache in 1 of 6 runs: the devices read 3 % of the bytes";
    assert!(text.contains(&format!("{said}\n    not steady in 1 of 6 runs: bimodal\n")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.matches("served by a cache in 1 of 6 runs").count(), 1, "{text}");
    let page = page(&made);
    assert!(page.contains("id=\"disk\"") && page.contains("not steady in 1 of 6 runs: bimodal"));
}

#[test]
fn disks_of_virtual_machines_are_called_so() {
    let mut made = volumes("random", "iops", "io/s");
    let said = |made: &Made| set(made).notes.iter().any(|note| note.text.contains("one of a virtual machine (kvm)"));
    let mut as_on = |machine: &str| {
        let client = made.evidence.facts.get_mut("client").unwrap();
        client.record_identity("virtualisation", machine);
        said(&made)
    };
    assert!(as_on("kvm") && !as_on("none seen"));
    let mut other = Builder { rounds: 6, ..Builder::default() }.build();
    other.evidence.facts.get_mut("client").unwrap().record_identity("virtualisation", "kvm");
    assert!(!said(&other), "its cases are none of disks");
}
