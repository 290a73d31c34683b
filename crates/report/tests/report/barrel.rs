use model::{Direction, Mark, MarkKind, Measurement, Role};
use report::barrel::{Runs, barrel_reports, render_report};
use store::StoredMeasurement;

use crate::evidence::Builder;

/// Two systems, one case each, two runs of two seconds.
pub fn evidence(metrics: &[(&str, [f64; 2])]) -> report::Evidence {
    let builder = Builder { clients: vec![10], rounds: 2, seconds: 2, noise: 0.0, ..Builder::default() };
    let mut evidence = builder.build().evidence;
    evidence.measurements.clear();
    for run in evidence.runs.clone() {
        for (id, values) in metrics {
            let value = values[run.planned.round as usize];
            let measurement = Measurement::value(id, "", Direction::Neither, Role::Primary, value);
            let (case, round, position) = (run.planned.case, run.planned.round, run.planned.position);
            evidence.measurements.push(StoredMeasurement { run_id: run.id, round, case, position, measurement });
        }
    }
    evidence
}

#[test]
fn counts_are_summed_and_extremes_are_the_extremes_of_all_runs() {
    let mut evidence = evidence(&[
        ("throughput", [150.0, 250.0]),
        ("throughput_update_index", [50.0, 100.0]),
        ("throughput_select_index", [100.0, 150.0]),
        ("response_max_select_index", [9_000.0, 12_345.0]),
        ("response_min_select_index", [21.0, 17.5]),
        ("response_p50_select_index", [40.0, 60.0]),
        ("connect_max", [3_000.0, 2_000.0]),
        ("connect_min", [800.0, 900.0]),
        ("connect_mean", [1_000.0, 1_200.0]),
    ]);
    let of_first_case = evidence.runs.iter().find(|run| run.planned.case == 0).unwrap().id;
    let detail = "the client's 2 threads were busy".to_owned();
    evidence.marks.push((of_first_case, Mark::new(MarkKind::ClientSaturated, detail)));
    let all = barrel_reports(&evidence, Runs::Together);
    assert_eq!(all.len(), 2);
    let expected = "# system rollback-journal: 2 runs\n\
        Query Barrel Report for client select-update\n\
        connect: max=3.000ms  min=0.800ms avg= 1.100ms from 10 clients \n\
        Query_type\tnum_queries\tmax_time\tmin_time\tq_per_s\n\
        select_index\t500\t12.345\t0.018\t125.00\n\
        update_index\t300\tn/a\tn/a\t75.00\n\
        # select_index: p50 0.050 ms, p99 n/a, median of the runs\n\
        # update_index: p50 n/a, p99 n/a, median of the runs\n\
        # marked client-saturated: the client's 2 threads were busy\n";
    assert_eq!(render_report(&all[0]), expected);
    // As numbers for programs.
    let json = serde_json::to_value(report::barrel::table_views(&evidence)).unwrap();
    assert_eq!(
        (&json[0]["case"], &json[0]["columns"][2]["unit"]),
        (&"select-update, rollback-journal".into(), &"ms".into())
    );
    let (told, unknown) = (&json[0]["rows"][0], &json[0]["rows"][1][2]);
    assert_eq!(
        (&told[0]["text"], &told[1]["value"], &told[4]["value"]),
        (&"select_index".into(), &500.0.into(), &125.0.into())
    );
    assert!(unknown["value"].is_null() && unknown["missing"].is_string(), "{unknown}");
    let each = barrel_reports(&evidence, Runs::Each);
    assert_eq!(each.len(), 4);
    assert_eq!((each[0].runs, each[0].kinds[0].queries, each[1].kinds[0].queries), (1, Some(200), Some(300)));
}

#[test]
fn a_run_without_types_is_reported_by_its_script_and_what_is_unknown_is_not_zero() {
    let evidence = evidence(&[("throughput", [100.0, 100.0])]);
    let text = render_report(&barrel_reports(&evidence, Runs::Together)[0]);
    assert!(text.contains("connect: max=n/a  min=n/a avg= n/a from 10 clients"), "{text}");
    assert!(text.contains("\nselect-update\t400\tn/a\tn/a\t100.00\n"), "{text}");
}

#[test]
fn a_case_without_a_measured_run_has_no_report() {
    let mut evidence = evidence(&[("throughput", [100.0, 100.0])]);
    for run in evidence.runs.iter_mut().filter(|run| run.planned.case == 1) {
        run.state = model::RunState::Failed;
    }
    assert_eq!(barrel_reports(&evidence, Runs::Together).len(), 1);
}

#[test]
fn what_nobody_told_the_length_of_has_no_count() {
    let mut evidence = evidence(&[("throughput", [100.0, 100.0]), ("errors", [0.0, 0.0])]);
    evidence.runs.iter_mut().for_each(|run| run.elapsed_s = 0.0);
    let text = render_report(&barrel_reports(&evidence, Runs::Together)[0]);
    assert!(text.contains("\nselect-update\tn/a\tn/a\tn/a\tn/a\n"), "{text}");
    let text = report::pgbench::render_runs(&evidence);
    assert!(text.contains("tps = 100.000000"), "{text}");
    assert!(!text.contains("duration") && !text.contains("number of transactions"), "{text}");
    assert!(!text.contains("number of failed"), "{text}");
}
