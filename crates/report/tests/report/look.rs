//! What a look at an experiment leaves in its later rounds.

use model::Standing;
use report::comparison::NoVerdict;
use report::look::judge_look;

use crate::comparison::set;
use crate::evidence::Builder;

/// Equal within a step of a coarse clock: later rounds may show that, or that the sides are further apart.
#[test]
fn what_a_clock_hides_so_far_stays_and_what_a_run_lacks_leaves() {
    let mut made = Builder { rounds: 8, clients: vec![4], ..Builder::default() }.build();
    let ticks = |first: u32| move |round: u32, _: f64| 15_000.0 * f64::from(first + round % 5);
    let ids: Vec<String> = made.evidence.measurements.iter().map(|one| one.measurement.metric.id.clone()).collect();
    for id in ids.iter().filter(|id| id.starts_with("response_")) {
        made.change("rollback-journal", id, ticks(4));
        made.change("wal", id, ticks(5));
    }
    let shown = set(&made);
    let hidden = |row: &&report::Comparison| row.why_no_verdict() == Some(&NoVerdict::UnderClockStep);
    assert!(shown.tables.iter().flat_map(|table| &table.rows).any(|row| hidden(&row)));
    let found = judge_look(&made.evidence).unwrap();
    assert_eq!(found.with_standing(Standing::Closed).count(), 0, "{:?}", found.rows);
    assert!(found.with_standing(Standing::Open).next().is_some() && found.settled.is_empty(), "{:?}", found.rows);

    // One run of a side is missing for good.
    made.fail(made.position_of("wal"), "the server closed the connection");
    let found = judge_look(&made.evidence).unwrap();
    assert_eq!(found.with_standing(Standing::Closed).count(), found.rows.len(), "{:?}", found.rows);
    assert_eq!(found.settled.len(), 2);
}
