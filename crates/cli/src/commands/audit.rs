//! `etalon audit`: which printed figures of a published table follow from its own rows.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use audit::{Facts, Keys, Measured};
use formats::{task_log, tidy};
use model::Direction;

use super::import::{in_file, table_text, unreadable};
use crate::args::{AuditArgs, AuditFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;

pub fn run(args: &AuditArgs, printer: Printer) -> Result<Exit, CliError> {
    let bytes = std::fs::read(&args.file).map_err(|error| unreadable(&args.file, &error))?;
    let read = tidy::parse(&table_text(&args.file, &bytes)?).and_then(|table| Facts::read(&table));
    let mut facts = read.map_err(|error| in_file(&args.file, &error))?;
    for log in &args.task_log {
        add_log(&mut facts, log)?;
    }
    let audit = audit::audit(&facts, &args.file.display().to_string());
    if printer.json {
        printer.out(&audit::json::document(&audit).to_string());
    } else {
        printer.out(&match args.format {
            AuditFormat::Text => audit::text::render(&audit, printer.width()),
            AuditFormat::Markdown => audit::markdown::render(&audit),
        });
    }
    Ok(if audit.is_bad() { Exit::BadAnswer } else { Exit::Done })
}

/// Replaces a system's condensed rows by the executions of a log: `duration` in seconds for successes, `failed` for
/// the others.
fn add_log(facts: &mut Facts, argument: &str) -> Result<(), CliError> {
    let Some((system, path)) = argument.split_once('=').filter(|(system, _)| !system.is_empty()) else {
        return Err(CliError::user(format!("`{argument}` names no system")).hint("write SYSTEM=FILE"));
    };
    let path = Path::new(path);
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let mut executions = Vec::new();
    for task in task_log::tasks(BufReader::new(file)) {
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
            decimals: 7,
            grain: None,
            count: Some(1),
        });
    }
    facts.replace_executions(system, executions);
    Ok(())
}
