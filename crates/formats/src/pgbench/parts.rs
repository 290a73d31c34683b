//! What pgbench prints of single scripts and statements, as results of benchmarks of their own.

use model::{Direction, Measurement, Reading, Role, Value};

use super::PgbenchSummary;
use super::import::script_name;
use super::summary::{PgbenchPart, PgbenchStatement};
use crate::ImportedResult;
use crate::durations::{latency, us_of_ms};

const SCRIPTS: &str = "pgbench scripts";
const STATEMENTS: &str = "pgbench statements";

/// A result for each of several scripts, and for each statement; their cases are those of the whole run.
pub fn results(run: &PgbenchSummary, whole: &ImportedResult) -> Vec<ImportedResult> {
    let mut results = Vec::new();
    for part in &run.parts {
        let script = part.script.as_deref().or(run.script.as_deref()).unwrap_or_default();
        if part.script.is_some() {
            results.push(ImportedResult { measurements: of_script(part), ..result_of(whole, script, SCRIPTS) });
        }
        // A statement may stand twice in a script.
        let of_server = part.statements.iter().zip(1..).filter(|(statement, _)| !statement.text.starts_with('\\'));
        for (statement, number) in of_server {
            let mut result = result_of(whole, script, STATEMENTS);
            result.keys.insert("statement".to_owned(), Value::Text(format!("{number}: {}", statement.text)));
            result.measurements = of_statement(statement);
            results.push(result);
        }
    }
    results
}

fn result_of(whole: &ImportedResult, script: &str, benchmark: &str) -> ImportedResult {
    let mut result = ImportedResult::new(&whole.system, benchmark);
    result.keys.clone_from(&whole.keys);
    result.keys.insert("script".to_owned(), Value::Text(script_name(script).to_owned()));
    result
}

fn of_script(part: &PgbenchPart) -> Vec<Measurement> {
    let counts = part.failed.zip(part.transactions);
    let share = counts.map_or_else(
        || Reading::unavailable("pgbench prints failed transactions from version 15 on"),
        |(failed, transactions)| Reading::percent_failed(failed, transactions),
    );
    let mut found = vec![Measurement::failed_share(share)];
    found.extend(part.tps.map(|tps| Measurement::value("throughput", "tx/s", Direction::Higher, Role::Secondary, tps)));
    found.extend(part.latency_ms.map(|ms| micros("response_mean", ms)));
    found.extend(part.stddev_ms.map(|ms| micros("response_stddev", ms)));
    found
}

fn micros(id: &str, ms: f64) -> Measurement {
    latency(id, Role::Secondary, Reading::Value(us_of_ms(ms)))
}

fn of_statement(statement: &PgbenchStatement) -> Vec<Measurement> {
    let mut found = vec![latency("response_mean", Role::Secondary, Reading::Value(us_of_ms(statement.mean_ms)))];
    found.extend(statement.failures.map(|failures| count("errors", failures)));
    found.extend(statement.retries.map(|retries| count("retries", retries)));
    found
}

fn count(id: &str, count: u64) -> Measurement {
    Measurement::value(id, "", Direction::Lower, Role::Diagnostic, count as f64)
}
