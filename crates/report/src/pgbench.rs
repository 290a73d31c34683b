//! Runs in pgbench's output format.
//!
//! Lines that begin with `#` are étalon's and name case and block. Unavailable values are omitted, as pgbench does.

use std::fmt::Write as _;

use model::{Case, RunState};
use store::StoredRun;

use crate::evidence::Evidence;
use crate::text::clean_text;

/// Writes every measured run with a transaction rate as pgbench does, by case and round.
pub fn render_runs(evidence: &Evidence) -> String {
    let mut runs: Vec<&StoredRun> =
        evidence.last_attempts().into_iter().filter(|run| run.state == RunState::Measured).collect();
    runs.sort_by_key(|run| (run.planned.case, run.planned.round));
    let mut text = String::new();
    for run in runs {
        if let Some(case) = evidence.case(run.planned.case) {
            // Writing to a string does not fail.
            let _ = write_run(evidence, run, case, &mut text);
        }
    }
    text
}

/// Writes a run as pgbench prints it; nothing without a transaction rate.
fn write_run(evidence: &Evidence, run: &StoredRun, case: &Case, text: &mut String) -> std::fmt::Result {
    let Some(tps) = value_of_metric(evidence, run, "throughput") else { return Ok(()) };
    let varying = evidence.header.plan.varying_keys(&case.benchmark);
    let point = varying.iter().filter_map(|key| Some(format!(", {key}={}", case.point.get(key)?)));
    let point: String = point.collect();
    writeln!(text, "# system {}{}, round {}", clean_text(&case.system), clean_text(&point), run.planned.round + 1)?;
    let script =
        key_text(case, "script").or_else(|| key_text(case, "mix")).unwrap_or_else(|| clean_text(&case.benchmark));
    writeln!(text, "transaction type: {script}")?;
    let keys = [
        ("scaling factor", "scale"),
        ("query mode", "protocol"),
        ("number of clients", "clients"),
        ("number of threads", "threads"),
    ];
    for (line, name) in keys {
        if let Some(value) = key_text(case, name) {
            writeln!(text, "{line}: {value}")?;
        }
    }
    // Imports may lack a length.
    if run.elapsed_s > 0.0 {
        writeln!(text, "duration: {} s", (run.elapsed_s * 1e3).round() / 1e3)?;
        writeln!(text, "number of transactions actually processed: {:.0}", tps * run.elapsed_s)?;
        if let Some(errors) = value_of_metric(evidence, run, "errors") {
            let share = 100.0 * errors / (tps * run.elapsed_s + errors).max(1.0);
            writeln!(text, "number of failed transactions: {errors:.0} ({share:.3}%)")?;
        }
    }
    if let Some(us) = value_of_metric(evidence, run, "response_mean") {
        writeln!(text, "latency average = {:.3} ms", us / 1e3)?;
    }
    if let Some(us) = value_of_metric(evidence, run, "response_stddev") {
        writeln!(text, "latency stddev = {:.3} ms", us / 1e3)?;
    }
    writeln!(text, "tps = {tps:.6} (without initial connection time)\n")
}

/// A key's value in a case, cleaned for a terminal.
fn key_text(case: &Case, name: &str) -> Option<String> {
    case.point.get(name).map(|value| clean_text(&value.to_string()))
}

/// A run's value of a metric.
fn value_of_metric(evidence: &Evidence, run: &StoredRun, id: &str) -> Option<f64> {
    let mut all = evidence.measurements.iter().filter(|stored| stored.run_id == run.id);
    all.find(|stored| stored.measurement.metric.id == id).and_then(|stored| stored.measurement.reading.value())
}
