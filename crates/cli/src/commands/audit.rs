//! `etalon audit`: which printed figures of a published table follow from its own rows.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use audit::{Conclusion, Estimated, FindingKey, Judgements, Keys, Measured, MetricJudgement, TableFacts};
use formats::task_log;
use formats::tidy::{self, Table};
use model::Direction;
use report::comparison::{Estimate, Family, Outcome};
use report::{Comparison, ComparisonSet, MetricFilter, Options, Pairing};

use super::import::{evidence_of, in_file, table_text, unreadable};
use super::report::set_of;
use crate::args::{AuditArgs, AuditFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

/// Runs `etalon audit`.
pub fn run(args: &AuditArgs, printer: Printer) -> Result<Exit, CliError> {
    let bytes = std::fs::read(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    let wrong = |error| in_file(&args.file, &error);
    let table = tidy::parse_table(&table_text(&args.file, &bytes)?).map_err(wrong)?;
    let mut facts = TableFacts::from_table(&table).map_err(wrong)?;
    for log in &args.task_log {
        add_log(&mut facts, log)?;
    }
    let source = args.file.display().to_string();
    let judgements = audit::compared_rows(&facts, &table).map(|table| judge_rows(&table, &source)).unwrap_or_default();
    let audit = audit::audit_table(&facts, &source, &judgements);
    if printer.json {
        printer.print_result(&audit::json::audit_document(&audit).to_string());
    } else {
        printer.print_result(&match args.format {
            AuditFormat::Text => audit::text::render(&audit, printer.width()),
            AuditFormat::Markdown => audit::markdown::render(&audit),
        });
    }
    Ok(if audit.is_bad() { Exit::BadAnswer } else { Exit::Done })
}

/// Judges the rows as `compare` does once they are imported; if it refuses them, says why.
fn judge_rows(table: &Table, source: &str) -> Judgements {
    compare_rows(table, source).unwrap_or_else(|error| {
        let refused = Some(format!("`etalon compare` cannot take the rows: {}", error.message));
        Judgements { refused, ..Judgements::default() }
    })
}

/// Imports the rows of a table and compares them; returns the conclusion for each metric, and the method.
fn compare_rows(table: &Table, source: &str) -> Result<Judgements, CliError> {
    let experiment = tidy::import_table(table, source).and_then(|import| formats::into_experiment(source, &[import]));
    let evidence = evidence_of(experiment.map_err(|error| CliError::user_error(error.to_string()))?);
    let set = set_of(&evidence, &Options { metrics: MetricFilter::All, ..Options::default() })?;
    let found = set.rows().map(|row| {
        let key = FindingKey::from_row(&row.benchmark, &row.case, &row.metric.id, &row.b.label);
        (key, judge_metric(row, &set))
    });
    let method = match set.rules.pairing {
        Pairing::Paired => "paired by round",
        Pairing::Unpaired => "Welch",
    };
    let family = if set.families.exploratory > 0 { "Holm, or Benjamini and Hochberg" } else { "Holm" };
    let method = format!("{method} on logarithms, {} %, p by {family}", 100.0 * set.rules.level);
    let a = Some(evidence.header.plan.comparison.baseline.clone());
    Ok(Judgements { a, method, found: found.collect(), refused: None })
}

/// Makes the judgement of a compared row: conclusion, estimate and numbers of runs.
fn judge_metric(row: &Comparison, set: &ComparisonSet) -> MetricJudgement {
    let conclusion = match &row.outcome {
        Outcome::None(reason) => Conclusion::None(reason.reason_text()),
        Outcome::Verdict(verdict) => {
            let (word, rest) = report::verdict_words(row, set);
            let rest = if rest.is_empty() { rest } else { format!(", {rest}") };
            Conclusion::Verdict(*verdict, format!("{word}{rest}"))
        }
    };
    let estimate = row.ratio_estimate().map(|e| {
        let Estimate { ratio, lo, hi, p_t: p, adjusted: p_adjusted, .. } = *e;
        let p_holm = if row.family == Family::Primary { p_adjusted } else { None };
        Estimated { ratio, lo, hi, p, p_holm, p_adjusted }
    });
    MetricJudgement { n: (row.a.runs.len() as u64, row.b.runs.len() as u64), estimate, conclusion }
}

/// Reads a task log, `SYSTEM=FILE`, and replaces the system's condensed rows by its executions.
/// Successes have a `duration` in seconds, the others are `failed`.
fn add_log(facts: &mut TableFacts, argument: &str) -> Result<(), CliError> {
    let Some((system, path)) = argument.split_once('=').filter(|(system, _)| !system.is_empty()) else {
        return Err(CliError::user_error(format!("`{argument}` names no system")).with_hint("write SYSTEM=FILE"));
    };
    let path = Path::new(path);
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut executions = Vec::new();
    for task in task_log::read_tasks(BufReader::new(file)) {
        let task = task.map_err(|error| in_file(path, &error))?;
        let (metric, unit, value) = match task.ticks {
            Some(ticks) => ("duration", "s", ticks as f64 * (task_log::TICK_NS as f64 / 1e9)),
            None => ("failed", "", 1.0),
        };
        executions.push(Measured {
            line: 0,
            system: system.to_owned(),
            keys: Keys::new(),
            repetition: None,
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            direction: Some(Direction::Lower),
            value,
            digit: 1e-7,
            grain: None,
            count: Some(1),
        });
    }
    facts.replace_executions(system, executions);
    Ok(())
}
