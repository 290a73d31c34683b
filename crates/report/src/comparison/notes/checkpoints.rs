//! Says where no checkpoint of a server was in any run that changed rows.

use std::collections::BTreeSet;

use model::metric::ROWS_CHANGED;
use store::StoredMeasurement;

use super::lengths::seconds_text;
use crate::evidence::Evidence;
use crate::number::count_noun;
use crate::order_entry::{CHECKPOINTS, WORKLOAD};

/// Names the systems whose servers count checkpoints and made none under load; `None` if all made some.
/// What one costs is in no figure of theirs.
pub fn checkpoints_note(evidence: &Evidence) -> Option<String> {
    let changed: BTreeSet<i64> = evidence
        .measurements
        .iter()
        .filter(|row| is_of_metric(row, ROWS_CHANGED) && value_or_zero(row) > 0.0)
        .map(|row| row.run_id)
        .collect();
    let counted: Vec<(&str, &StoredMeasurement)> = evidence
        .measurements
        .iter()
        .filter(|row| {
            is_of_metric(row, CHECKPOINTS) && changed.contains(&row.run_id) && row.measurement.reading.value().is_some()
        })
        .filter_map(|row| Some((evidence.case(row.case)?, row)))
        // Order entry has a note of its own.
        .filter(|(case, _)| case.workload != WORKLOAD)
        .map(|(case, row)| (case.system.as_str(), row))
        .collect();
    let with: BTreeSet<&str> =
        counted.iter().filter(|(_, row)| value_or_zero(row) > 0.0).map(|(system, _)| *system).collect();
    let without: Vec<_> = counted.iter().filter(|(system, _)| !with.contains(system)).collect();
    let systems: BTreeSet<&str> = without.iter().map(|(system, _)| *system).collect();
    let longest = without
        .iter()
        .filter_map(|(_, row)| evidence.runs.iter().find(|run| run.id == row.run_id))
        .map(|run| run.elapsed_s)
        .reduce(f64::max)?;
    Some(format!(
        "no checkpoint of {} was in any of {} that changed rows, of {} s each: what one costs is in no figure",
        systems.into_iter().collect::<Vec<_>>().join(", "),
        count_noun(without.len(), "run"),
        seconds_text(longest)
    ))
}

/// Whether a measurement is of this metric.
fn is_of_metric(row: &StoredMeasurement, metric: &str) -> bool {
    row.measurement.metric.id == metric
}

/// A measurement's value, else 0.
fn value_or_zero(row: &StoredMeasurement) -> f64 {
    row.measurement.reading.value().unwrap_or_default()
}
