//! Views in the form in which such tests are published.

use model::{Direction, Measurement, Role, Value};
use report::{Options, compare};
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};
use crate::html::page;

/// Throughput that peaks at 4 clients on one side and rises to the end on the other.
fn sweep(clients: &[i64]) -> Made {
    let systems: Vec<(String, crate::evidence::Speed)> = vec![
        ("linux".to_owned(), |clients| if clients == 4 { 5_000.0 } else { 3_000.0 }),
        ("macos".to_owned(), |clients| 100.0 * clients as f64),
    ];
    Builder { systems, clients: clients.to_vec(), blocks: 6, seconds: 1, noise: 0.001, ..Builder::default() }.build()
}

#[test]
fn curves_go_over_the_clients_and_bars_stand_at_the_published_ones() {
    let made = sweep(&[1, 4, 12, 40]);
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let [group] = set.clients.as_slice() else { panic!("{:?}", set.clients) };
    assert_eq!(
        (group.label.as_str(), group.clients(), group.bars_at()),
        ("select-update", vec![1, 4, 12, 40], vec![4, 40])
    );
    let peaks: Vec<i64> = group.curves.iter().map(|curve| curve.peak().unwrap().0.clients).collect();
    assert_eq!(peaks, [4, 40]);
    let (lo, hi) = group.curves[0].at(4).unwrap().interval().unwrap();
    assert!(lo < 5_010.0 && hi > 4_990.0 && hi - lo < 100.0, "{lo} {hi}");
    let html = page(&made);
    for part in ["clients-0", "clients-bars-0"] {
        assert_eq!(html.matches(&format!(" id=\"{part}\"")).count(), 1, "{part}");
    }
    assert!(html.contains("throughput at 4, 40 clients") && html.contains("href=\"#clients\""));
}

#[test]
fn without_the_published_numbers_bars_stand_at_both_ends_and_the_middle() {
    let bars = |clients: &[i64]| {
        let set = compare(&sweep(clients).evidence, &Options::default()).unwrap();
        set.clients.first().map(report::comparison::ClientsGroup::bars_at)
    };
    assert_eq!(bars(&[1, 2, 3, 8]), Some(vec![1, 3, 8]));
    assert_eq!(bars(&[1, 4]), Some(vec![1, 4]));
    assert_eq!(bars(&[4]), None, "one number of clients is no curve");
    assert!(!page(&sweep(&[4])).contains("href=\"#clients\""));
}

/// Counts that an imported log of tasks has: executions, errors, those below a second.
fn tasks() -> Made {
    let mut made = Builder { clients: vec![1], blocks: 1, seconds: 1, ..Builder::default() }.build();
    for trial in made.evidence.trials.clone() {
        let counts = if trial.planned.cell == 0 { [15_000.0, 8.0, 9_000.0] } else { [15_000.0, 0.0, 9_195.0] };
        for (id, value) in ["executions", "errors", "below_1000ms"].into_iter().zip(counts) {
            made.evidence.measurements.push(StoredMeasurement {
                trial_id: trial.id,
                block: trial.planned.block,
                cell: trial.planned.cell,
                position: trial.planned.position,
                measurement: Measurement::value(id, "", Direction::Neither, Role::Diagnostic, value),
            });
        }
    }
    made
}

#[test]
fn response_times_are_held_against_limits_and_each_line_has_a_winner() {
    let html = page(&tasks());
    let section = html.split("<section id=\"limits\"").nth(1).unwrap().split("</section>").next().unwrap();
    let row = |name: &str| {
        let row = section.split(&format!("<th scope=\"row\">{name}</th>")).nth(1).unwrap();
        row.split("</tr>").next().unwrap().to_owned()
    };
    assert!(row("executions").contains("<bdi>both</bdi>"), "{}", row("executions"));
    assert!(row("errors").contains("<bdi>wal</bdi>"), "{}", row("errors"));
    // Of all executions, those that failed included.
    assert!(
        row("within 1 s").contains("(60.00 %)") && row("within 1 s").contains("<bdi>wal</bdi>"),
        "{}",
        row("within 1 s")
    );
    assert!(!page(&sweep(&[1, 4])).contains("id=\"limits\""), "a closed loop of clients waits for nobody");
}

#[test]
fn spatial_queries_are_counted_and_one_without_an_answer_gains_nothing() {
    let mut made = Builder { clients: vec![1], blocks: 1, seconds: 1, ..Builder::default() }.build();
    made.evidence.cells.iter_mut().for_each(|cell| cell.workload = "spatial".to_owned());
    for trial in made.evidence.trials.clone() {
        let ms = if trial.planned.cell == 0 { [10.0, 10.0] } else { [4.0, 20.0] };
        for (query, value) in ["S1-valid", "S2-area"].into_iter().zip(ms) {
            made.evidence.measurements.push(StoredMeasurement {
                trial_id: trial.id,
                block: trial.planned.block,
                cell: trial.planned.cell,
                position: trial.planned.position,
                measurement: Measurement::value(
                    &format!("published/{query}"),
                    "ms",
                    Direction::Lower,
                    Role::Secondary,
                    value,
                ),
            });
        }
    }
    let html = page(&made);
    let section = html.split("<section id=\"spatial\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("in 1 of 2 queries, in 1 of them by more than 50 %"), "{section}");
    for gain in ["2.50× (<bdi>wal</bdi>)", "2.00× (<bdi>rollback-journal</bdi>)"] {
        assert!(section.contains(gain), "{gain}");
    }
    // CPU time was not measured.
    assert!(section.contains("n/a: rollback-journal, S1-valid: no trial was measured"));
}

#[test]
fn what_a_plan_stands_for_is_said_and_cannot_run() {
    let mut made = sweep(&[1, 4]);
    assert!(!page(&made).contains("id=\"published\""));
    made.evidence.header.plan.benchmarks[0].stands_for = Some("the chart <script>x</script>".to_owned());
    made.evidence.cells.iter_mut().for_each(|cell| drop(cell.point.insert("rows".to_owned(), Value::Int(1))));
    let html = page(&made);
    assert!(html.contains("the chart &lt;script&gt;x&lt;/script&gt;"), "escaped");
}
