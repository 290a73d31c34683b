//! What pgbench prints of single scripts and statements, as results of benchmarks of their own.

use model::{Direction, Measurement, Reading, Role, Value};

use super::PgbenchSummary;
use super::import::script_name;
use super::summary::{PgbenchPart, PgbenchStatement};
use crate::ImportedResult;
use crate::durations::{latency_measurement, us_of_ms};
use crate::limited::rename_limited;

const SCRIPTS: &str = "pgbench scripts";
const STATEMENTS: &str = "pgbench statements";

/// Makes a result for each of several scripts, and for each statement; their cases are those of the whole run.
pub fn part_results(run: &PgbenchSummary, whole: &ImportedResult) -> Vec<ImportedResult> {
    let mut results = Vec::new();
    let names: Vec<&str> = run.parts.iter().map(|part| part_name(part, run)).collect();
    for (part, place) in run.parts.iter().zip(1..) {
        let name = part_name(part, run);
        // Scripts of one name in different folders, or one that was named twice.
        let is_alone = names.iter().filter(|other| **other == name).count() == 1;
        let script = if is_alone { name.to_owned() } else { format!("{place}: {name}") };
        if part.script.is_some() {
            let mut result = part_result(whole, &script, SCRIPTS);
            result.measurements = script_measurements(part, run);
            if run.lag_ms.is_some() {
                rename_limited(&mut result.measurements, &["throughput"]);
            }
            results.push(result);
        }
        // A statement may stand twice in a script.
        let of_server = part.statements.iter().zip(1..).filter(|(statement, _)| !statement.text.starts_with('\\'));
        for (statement, number) in of_server {
            let mut result = part_result(whole, &script, STATEMENTS);
            result.keys.insert("statement".to_owned(), Value::Text(format!("{number}: {}", statement.text)));
            result.measurements = statement_measurements(statement);
            results.push(result);
        }
    }
    results
}

/// Names a part's script.
fn part_name<'r>(part: &'r PgbenchPart, run: &'r PgbenchSummary) -> &'r str {
    script_name(part.script.as_deref().or(run.script.as_deref()).unwrap_or_default())
}

/// Makes a result of one script in the case of the whole run, without measurements.
fn part_result(whole: &ImportedResult, script: &str, benchmark: &str) -> ImportedResult {
    let mut result = ImportedResult::new(&whole.system, benchmark);
    result.keys.clone_from(&whole.keys);
    result.version.clone_from(&whole.version);
    result.keys.insert("script".to_owned(), Value::Text(script.to_owned()));
    result
}

/// Makes the measurements of one of several scripts.
fn script_measurements(part: &PgbenchPart, run: &PgbenchSummary) -> Vec<Measurement> {
    let skipped = part.skipped.unwrap_or(0);
    let among = if run.counts_skipped() { skipped } else { 0 };
    let succeeded = part.transactions.map(|transactions| transactions.saturating_sub(among));
    let share = match (part.failed.or(part.skipped), succeeded) {
        (Some(_), Some(succeeded)) => {
            Reading::percent_failed(part.failed.unwrap_or(0).saturating_add(skipped), succeeded)
        }
        _ => Reading::unavailable("pgbench prints failed transactions from version 15 on"),
    };
    let mut found = vec![Measurement::failed_share(share)];
    // Skipped ones are taken off, as they are in the figures of the whole run.
    let tps = match (part.tps, succeeded, part.transactions) {
        (Some(tps), Some(succeeded), Some(all)) if among > 0 => Some(tps * succeeded as f64 / all as f64),
        (tps, ..) => tps,
    };
    found.extend(tps.map(|tps| Measurement::value("throughput", "tx/s", Direction::Higher, Role::Secondary, tps)));
    found.extend(part.latency_ms.map(|ms| latency_from_ms("response_mean", ms)));
    found.extend(part.stddev_ms.map(|ms| latency_from_ms("response_stddev", ms)));
    found.extend(part.skipped.map(|skipped| count_measurement("skipped", skipped)));
    found
}

/// Makes the measurement of a latency in µs from milliseconds.
fn latency_from_ms(id: &str, ms: f64) -> Measurement {
    latency_measurement(id, Role::Secondary, Reading::Value(us_of_ms(ms)))
}

/// Makes the measurements of one statement of a script.
fn statement_measurements(statement: &PgbenchStatement) -> Vec<Measurement> {
    let mut found =
        vec![latency_measurement("response_mean", Role::Secondary, Reading::Value(us_of_ms(statement.mean_ms)))];
    found.extend(statement.failures.map(|failures| count_measurement("errors", failures)));
    found.extend(statement.retries.map(|retries| count_measurement("retries", retries)));
    found
}

/// Makes the measurement of a count of things that are worse when more.
fn count_measurement(id: &str, count: u64) -> Measurement {
    Measurement::value(id, "", Direction::Lower, Role::Diagnostic, count as f64)
}
