use model::{Absence, Direction, Measurement, NoValue, Reading, Role, Value};
use report::text::TextOptions;
use report::{MetricFilter, Options, compare};
use store::StoredMeasurement;

use crate::evidence::{Builder, Made};
use crate::html::page;

/// One side peaks at 4 clients, the other rises to the end.
fn sweep(clients: &[i64]) -> Made {
    let systems: Vec<(String, crate::evidence::Speed)> = vec![
        ("linux".to_owned(), |clients| if clients == 4 { 5_000.0 } else { 3_000.0 }),
        ("macos".to_owned(), |clients| 100.0 * clients as f64),
    ];
    Builder { systems, clients: clients.to_vec(), rounds: 6, seconds: 1, noise: 0.001, ..Builder::default() }.build()
}

#[test]
fn curves_go_over_the_clients_and_bars_stand_at_the_published_ones() {
    let made = sweep(&[1, 4, 12, 40]);
    let set = compare(&made.evidence, &Options::default()).unwrap();
    let [group] = set.clients.as_slice() else { panic!("{:?}", set.clients) };
    assert_eq!(
        (group.label.as_str(), group.places(), group.bars_at()),
        ("select-update", vec![1, 4, 12, 40], vec![4, 40])
    );
    let peaks: Vec<i64> = group.curves.iter().map(|curve| curve.peak().unwrap().0.at).collect();
    assert_eq!(peaks, [4, 40]);
    let (lo, hi) = group.curves[0].point_at(4).unwrap().interval().unwrap();
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
        set.clients.first().map(report::comparison::CurveGroup::bars_at)
    };
    assert_eq!(bars(&[1, 2, 3, 8]), Some(vec![1, 3, 8]));
    assert_eq!(bars(&[1, 4]), Some(vec![1, 4]));
    assert_eq!(bars(&[4]), None, "one number of clients is no curve");
    assert!(!page(&sweep(&[4])).contains("href=\"#clients\""));
}

/// Counts of an imported task log: executions, errors, those below a second; and étalon's own beyond five seconds,
/// failures included.
pub fn tasks() -> Made {
    let mut made = Builder { clients: vec![1], rounds: 1, seconds: 1, ..Builder::default() }.build();
    for run in made.evidence.runs.clone() {
        let counts =
            if run.planned.case == 0 { [15_000.0, 8.0, 9_000.0, 3_008.0] } else { [15_000.0, 0.0, 9_195.0, 3_000.0] };
        for (id, value) in ["executions", "errors", "below_1000ms", "over_5s"].into_iter().zip(counts) {
            made.evidence.measurements.push(StoredMeasurement {
                run_id: run.id,
                round: run.planned.round,
                case: run.planned.case,
                position: run.planned.position,
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
    // Of all executions, failures included.
    assert!(
        row("within 1 s").contains("(60.00 %)") && row("within 1 s").contains("<bdi>wal</bdi>"),
        "{}",
        row("within 1 s")
    );
    assert!(
        row("within 5 s").contains("(79.95 %)") && row("within 5 s").contains("(80.00 %)"),
        "{}",
        row("within 5 s")
    );
    assert!(!html.contains("No winners: "));
    let mut open = tasks();
    let again =
        store::StoredRun { id: 9, attempt: 2, state: model::RunState::Planned, ..open.evidence.runs[0].clone() };
    open.evidence.runs.push(again);
    let html = page(&open);
    assert!(html.contains("No winners: <bdi>0 of 1 round have run</bdi>."), "{html}");
    assert!(!page(&sweep(&[1, 4])).contains("id=\"limits\""), "a closed loop of clients waits for nobody");
}

/// Spatial queries by both estimators: both systems' values, or why the second has none.
pub fn queries(rounds: u32, asked: &[(&str, f64, Result<f64, NoValue>)], families: &[&str]) -> Made {
    let mut made = Builder { clients: vec![1], rounds, seconds: 1, ..Builder::default() }.build();
    made.evidence.cases.iter_mut().for_each(|case| case.workload = "spatial".to_owned());
    for run in made.evidence.runs.clone() {
        for ((query, a, b), family) in asked.iter().flat_map(|one| families.iter().map(move |family| (one, family))) {
            let reading = match (run.planned.case, b) {
                (0, _) => Reading::Value(*a),
                (_, Ok(b)) => Reading::Value(*b),
                (_, Err(missing)) => Reading::Unavailable(missing.clone()),
            };
            let id = format!("{family}/{query}");
            let role = if *family == "elapsed" { Role::Primary } else { Role::Secondary };
            made.evidence.measurements.push(StoredMeasurement {
                run_id: run.id,
                round: run.planned.round,
                case: run.planned.case,
                position: run.planned.position,
                measurement: Measurement::new(&id, "ms", Direction::Lower, role, reading),
            });
        }
    }
    made
}

#[test]
fn spatial_queries_are_counted_and_one_without_an_answer_gains_nothing() {
    let made = queries(1, &[("S1-valid", 10.0, Ok(4.0)), ("S2-area", 10.0, Ok(20.0))], &["published"]);
    let html = page(&made);
    let section = html.split("<section id=\"spatial\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(section.contains("in 1 of 2 queries, in 1 of them by more than 50 %"), "{section}");
    for gain in ["2.50× (<bdi>wal</bdi>)", "2.00× (<bdi>rollback-journal</bdi>)"] {
        assert!(section.contains(gain), "{gain}");
    }
    // One reason, said once.
    assert_eq!(section.matches("no run was measured<").count(), 1, "{section}");
    assert!(section.contains("n/a: rollback-journal; wal: no run was measured"), "{section}");
}

#[test]
fn a_side_of_which_a_run_failed_is_faster_in_no_query() {
    let mut made = queries(6, &[("S2-area", 10.0, Ok(4.0))], &["elapsed", "published", "cpu"]);
    let faster = |made: &Made| {
        let text = report::spatial::FAMILY.render_for_terminal(&made.evidence, None, 80).unwrap();
        text.replace("\n  ", " ").contains("wal is faster than rollback-journal in 1 of 1 queries")
    };
    assert!(faster(&made));
    made.fail(made.position_of("wal"), "the server closed the connection");
    assert!(!faster(&made));
    let mut made = queries(6, &[("S2-area", 10.0, Ok(4.0))], &["elapsed", "published", "cpu"]);
    made.repeat("wal", 1, "the server closed the connection");
    assert!(faster(&made), "one is no choice");
    let mut made = queries(6, &[("S2-area", 10.0, Ok(4.0))], &["elapsed", "published", "cpu"]);
    made.repeat("wal", 6, "the server closed the connection");
    assert!(!faster(&made));
    let text = report::spatial::FAMILY.render_for_terminal(&made.evidence, None, 80).unwrap().replace("\n  ", " ");
    assert!(text.contains("n/a: gains of wal: 6 runs of wal failed at first"), "{text}");
    let text = page(&made);
    assert!(text.contains("n/a: gains of wal: 6 runs of wal"), "{text}");
}

#[test]
fn the_published_estimator_and_the_sound_one_stand_side_by_side() {
    let wrong = Absence::Wrong.with_reason("pairs: expected 56, got 53");
    let no_total = "no total without S1, unsupported: FUNCTION ST_IsValid does not exist";
    let asked = [
        ("S1-valid", 10.0, Err(Absence::Unsupported.with_reason("FUNCTION ST_IsValid does not exist"))),
        ("S2-area", 10.0, Ok(4.0)),
        ("S11-within", 10.0, Err(wrong.clone())),
        ("suite", 30.0, Err(Absence::Unavailable.with_reason(no_total))),
    ];
    let made = queries(6, &asked, &["elapsed", "published", "cpu"]);
    let named = MetricFilter::Named(vec!["elapsed".to_owned()]);
    let set = compare(&made.evidence, &Options { metrics: named, ..Options::default() }).unwrap();
    let text = report::spatial::FAMILY.render_for_terminal(&made.evidence, Some(&set), 80).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let published = ["S2-area", "10.0", "4.00", "2.50×", "B", "10.0", "4.00", "2.50×", "B"];
    assert!(lines.iter().any(|line| *line == published), "{text}");
    assert!(lines.iter().any(|line| line.starts_with(&["S2-area", "2.50×", "B", "-60.0"])), "{text}");
    assert!(lines.iter().any(|line| line.starts_with(&["S11-within", "10.0", "wrong"])), "{text}");
    assert!(lines.iter().any(|line| line.starts_with(&["S1-valid", "10.0", "unsupported"])), "{text}");
    assert!(text.replace("\n  ", " ").contains("wal is faster than rollback-journal in 1 of 1 queries"), "{text}");
    assert!(text.contains(&format!("n/a: wal, S11-within: {wrong}")), "{text}");
    let table = report::text::render_set(&set, &TextOptions { width: 100, ..TextOptions::default() });
    assert!(table.lines().any(|line| line.contains("S11-within") && line.contains(" wrong ")), "{table}");
    // Too few runs for the published estimator allow no conclusion.
    let few = "it takes 3 runs to drop the shortest and the longest";
    let mut made = queries(6, &asked, &["elapsed", "cpu"]);
    let other = queries(6, &[("S2-area", f64::NAN, Err(Absence::Unavailable.with_reason(few)))], &["published"]);
    made.evidence.measurements.extend(other.evidence.measurements.into_iter().filter(|one| one.case == 1));
    let html = page(&made);
    assert!(!html.contains("of 0 queries"), "{html}");
}

#[test]
fn what_a_plan_stands_for_is_said_and_cannot_run() {
    let mut made = sweep(&[1, 4]);
    assert!(!page(&made).contains("id=\"published\""));
    made.evidence.header.plan.benchmarks[0].stands_for = Some("the chart <script>x</script>".to_owned());
    made.evidence.cases.iter_mut().for_each(|case| drop(case.point.insert("rows".to_owned(), Value::Int(1))));
    let html = page(&made);
    assert!(html.contains("the chart &lt;script&gt;x&lt;/script&gt;"), "escaped");
}
