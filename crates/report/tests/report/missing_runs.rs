//! What some runs of a case lack is no figure of it, wherever figures stand without a verdict.

use model::{MarkKind, RunState, Value};
use report::comparison::Knee;
use report::text::{TextOptions, render_set};
use report::{ComparisonSet, Options, backup_load, compare};

use crate::disk::volumes;
use crate::evidence::{Builder, Made, Speed};
use crate::html::page;

fn set(made: &Made) -> ComparisonSet {
    compare(&made.evidence, &Options::default()).unwrap()
}

fn text(made: &Made) -> String {
    render_set(&set(made), &TextOptions { width: 160, ..TextOptions::default() })
}

/// Lets some runs of a case fail.
fn fail(made: &mut Made, case: u32, runs: usize) {
    let of_case = made.evidence.runs.iter().filter(|run| run.planned.case == case).map(|run| run.planned.position);
    let places: Vec<u32> = of_case.take(runs).collect();
    places.into_iter().for_each(|position| made.fail(position, "server closed the connection"));
}

#[test]
fn a_curve_over_depths_has_no_best_and_no_knee_where_a_depth_lacks_its_figure() {
    let mut made = volumes("random", "iops", "io/s");
    made.lack("4 KB", "response_p99", 0..4);
    let of_64 = made.evidence.cases.iter().position(|c| c.system == "64 KB" && c.point["depth"] == Value::Int(8));
    fail(&mut made, of_64.unwrap() as u32, 1);
    let set = set(&made);
    let [bent, rising] = set.disk[0].curves.as_slice() else { panic!("{:?}", set.disk) };
    let (_, p99) = bent.points[0].latencies[0].as_ref().unwrap();
    assert_eq!((p99.summary, p99.unavailable[0].1), (None, 4), "two of six runs are no figure of the depth");
    assert!(p99.unavailable[0].0.reason.ends_with("(in 4 of 6 runs)"), "{p99:?}");
    assert!(bent.best().is_some() && matches!(bent.knee(), Knee::At(_)));
    assert!(rising.best().is_none() && matches!(rising.knee(), Knee::Unknown));
    let text = text(&made);
    assert!(text.contains("no best and no knee: 64 KB has no figure at depth 8 (1 run failed)"), "{text}");
    assert!(!text.contains("still rising"), "{text}");
    assert!(page(&made).contains("n/a: no figure at depth 8"));
}

#[test]
fn a_curve_over_clients_has_no_peak_where_a_point_lacks_its_figure_and_a_void_peak_says_so() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as Speed), ("b".to_owned(), |clients| 100.0 * clients as f64)];
    let mut made = Builder { systems, clients: vec![4, 8], rounds: 6, ..Builder::default() }.build();
    let peak = |made: &Made| {
        let set = set(made);
        let curve = set.clients[0].curves.iter().find(|curve| curve.system == "b").unwrap().clone();
        curve.peak().map(|(point, _)| (point.at, point.void.is_some()))
    };
    assert_eq!(peak(&made), Some((8, false)));
    let of_b = made.evidence.cases.iter().position(|c| c.system == "b" && c.point["clients"] == Value::Int(8)).unwrap();
    let at_8 = made.evidence.runs.iter().find(|run| run.planned.case == of_b as u32).unwrap().planned.position;
    made.mark(at_8, MarkKind::ClientSaturated, "busy");
    assert_eq!(peak(&made), Some((8, true)));
    let html = page(&made);
    let cell = html.split("data-l=\"peak\"").nth(2).unwrap().split("</td>").next().unwrap().to_owned();
    assert!(cell.contains("client saturated in 1 run"), "{cell}");
    fail(&mut made, of_b as u32, 1);
    assert_eq!(peak(&made), None, "what is left is no peak");
}

#[test]
fn a_single_systems_figure_is_of_all_runs_or_says_why_not() {
    let systems = vec![("alone".to_owned(), (|_| 1_000.0) as Speed)];
    let mut made = Builder { systems, clients: vec![4], rounds: 6, ..Builder::default() }.build();
    made.lack("alone", "response_p99", 0..4);
    let set = set(&made);
    let of = |metric: &str| set.figures.iter().find(|figure| figure.metric.id == metric).unwrap();
    assert!(of("throughput").side.estimate.is_some() && of("response_p99").side.estimate.is_none());
    let text = text(&made);
    assert!(text.contains("n/a: 10 operations beyond it are needed (in 4 of 6 runs)"), "{text}");
}

#[test]
fn a_load_beside_a_backup_of_which_runs_failed_has_no_medians() {
    let systems = vec![("a".to_owned(), (|_| 1_000.0) as Speed)];
    let mut made = Builder { systems, clients: vec![1, 2], rounds: 6, ..Builder::default() }.build();
    for (case, method) in made.evidence.cases.iter_mut().zip(["none", "native"]) {
        case.workload = "backup".to_owned();
        case.point = [("method", method), ("codec", "none"), ("load.script", "tpcb-like")]
            .map(|(key, value)| (key.to_owned(), Value::Text(value.to_owned())))
            .into();
    }
    let rows = backup_load::load_rows(&made.evidence);
    assert!(rows.iter().all(|row| row.throughput.is_some()) && rows[1].throughput_ratio.is_some());
    fail(&mut made, 1, 5);
    let rows = backup_load::load_rows(&made.evidence);
    assert!(rows[0].throughput.is_some(), "{rows:?}");
    assert_eq!((rows[1].throughput, rows[1].response_us, rows[1].throughput_ratio), (None, [None; 2], None));
    let text = report::backup::FAMILY.render_for_terminal(&made.evidence, None, 80).unwrap();
    assert!(text.contains("beside plain: n/a: 5 runs failed"), "{text}");
}

#[test]
fn the_barrels_medians_are_of_all_runs_or_of_none() {
    let mut made = Builder { clients: vec![1], rounds: 6, ..Builder::default() }.build();
    let p99 = |made: &Made| {
        let all = report::barrel::barrel_reports(&made.evidence, report::barrel::Runs::Together);
        (all[1].kinds[0].p99_ms.is_some(), report::barrel::render_report(&all[1]))
    };
    assert!(p99(&made).0);
    made.lack("wal", "response_p99", 0..4);
    assert!(p99(&made).1.contains("p99 n/a, median of the runs"), "{}", p99(&made).1);
    fail(&mut made, 1, 1);
    let (_, text) = p99(&made);
    assert!(text.contains("# system wal: 5 runs, and 1 failed\n") && text.contains("p50 n/a"), "{text}");
}

#[test]
fn an_imports_aborted_run_is_one_that_failed() {
    let mut made = volumes("random", "iops", "io/s");
    made.end(0, RunState::Aborted);
    let case = made.evidence.runs[0].planned.case;
    assert_eq!(made.evidence.failed_runs(case), 0, "it may still be run");
    made.evidence.header.build = report::evidence::IMPORTED.to_owned();
    assert_eq!(made.evidence.failed_runs(case), 1);
}
