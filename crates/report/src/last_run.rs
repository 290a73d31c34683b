//! The run that ended last, as its store has it.

use model::{Mark, MarkKind, Measurement, Quantity, Reading, Role, RunState};

use crate::comparison::mark_name;
use crate::evidence::Evidence;
use crate::labels::metric_name;
use crate::number::{RowUnit, Script, percent_text};

/// Share of the load generator's processor time that was used, of all its threads and of its busiest one.
const CLIENT_SHARES: [(&str, &str); 2] =
    [("client_busy_share", "load generator"), ("busiest_thread", "its busiest thread")];
/// What a run gave. All texts are for people, and not cleaned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastRun {
    /// `round 3: points, b, clients=4`.
    pub name: String,
    /// Why it has no result, if it failed.
    pub failure: Option<String>,
    /// `throughput 3 210 tx/s`.
    pub figures: Vec<String>,
    /// `18 × serialization: could not serialize access`, of all that failed.
    pub errors: Vec<String>,
    /// `load generator 12 % busy`.
    pub client: Vec<String>,
    /// `pause: étalon itself stood still for 80 ms`.
    pub marks: Vec<String>,
}

/// Describes the run that began last of those measured or failed; `None` before the first, and for imports.
pub fn last_run(evidence: &Evidence) -> Option<LastRun> {
    let ended = evidence.runs.iter().filter(|run| matches!(run.state, RunState::Measured | RunState::Failed));
    let run = ended.max_by_key(|run| (evidence.began_unix_ms(run), run.planned.position))?;
    evidence.began_unix_ms(run)?;
    let case = evidence.case(run.planned.case)?;
    let label = case.label(&evidence.header.plan.varying_keys(&case.benchmark));
    let measured: Vec<&Measurement> = evidence
        .measurements
        .iter()
        .filter(|stored| stored.run_id == run.id)
        .map(|stored| &stored.measurement)
        .collect();
    let (errors, marks): (Vec<&Mark>, Vec<&Mark>) =
        evidence.marks_of_run(run.id).partition(|mark| mark.kind == MarkKind::Errors);
    Some(LastRun {
        name: format!("round {}: {label}", u64::from(run.planned.round) + 1),
        failure: if run.state == RunState::Failed { run.reason.clone() } else { None },
        figures: measured.iter().filter_map(|found| judged_figure(found)).collect(),
        errors: errors.into_iter().map(ToString::to_string).collect(),
        client: CLIENT_SHARES
            .iter()
            .filter_map(|(id, name)| {
                Some(format!("{name} {} busy", percent_text(value_of_metric(id, &measured)?, Script::Plain)))
            })
            .collect(),
        marks: marks.into_iter().map(|mark| format!("{}: {mark}", mark_name(mark.kind))).collect(),
    })
}

/// A metric's value among measurements.
fn value_of_metric(id: &str, measured: &[&Measurement]) -> Option<f64> {
    measured.iter().find(|found| found.metric.id == id).and_then(|found| value_of(found))
}

/// A measurement's value, if it has one.
fn value_of(measured: &Measurement) -> Option<f64> {
    match measured.reading {
        Reading::Value(value) => Some(value),
        Reading::Unavailable(_) => None,
    }
}

/// Writes a primary metric's name and value; `None` for others, and for failures of 0.
fn judged_figure(measured: &Measurement) -> Option<String> {
    if measured.metric.role != Role::Primary {
        return None;
    }
    let name = metric_name(&measured.metric.id);
    let Some(value) = value_of(measured) else { return Some(format!("{name} n/a")) };
    if value == 0.0 && measured.metric.quantity() == Quantity::Failures {
        return None;
    }
    let unit = RowUnit::new(&measured.metric.unit, [value]);
    Some(format!("{name} {} {}", unit.print(value, Script::Plain), unit.unit_name()).trim_end().to_owned())
}
