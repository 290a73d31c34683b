//! `etalon capture`: what a server was asked, out of its logs, in one file.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use formats::capture::logs::{self, Form, Logs, Recognised};
use formats::capture::postgres::prefix::Prefix;
use formats::capture::summary::Summary;
use formats::capture::{Capture, CaptureError};
use formats::packed::{Packing, unpacking_reader};
use host::files::NewFile;

use super::import::unreadable;
use super::{capture_how, show_capture};
use crate::args::CaptureArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::put_refused;
use crate::printer::Printer;

/// Runs `etalon capture`.
pub fn run(args: &CaptureArgs, printer: Printer) -> Result<Exit, CliError> {
    if let Some(url) = &args.how {
        return capture_how::run(url, printer);
    }
    let prefix = args.log_line_prefix.as_deref().map(Prefix::parse).transpose().map_err(|why| {
        CliError::user_error(format!("`--log-line-prefix` does not do: {why}"))
            .with_hint("`SHOW log_line_prefix` has the server's")
    })?;
    let mut found = Vec::new();
    for path in &args.logs {
        found.push((path, recognise_log(path, prefix.as_ref())?));
    }
    found.sort_by_key(|(_, log)| log.first_us);
    let form = one_form(&found)?;
    let new =
        NewFile::begin(&args.output).map_err(|error| put_refused(&error).with_hint("a capture is never replaced"))?;
    let mut capture = Capture::create(new.draft_path(), form.syntax()).map_err(|error| CliError::from(&error))?;
    if args.redact {
        capture.redact_values();
    }
    let mut logs = Logs::default();
    for (path, log) in &found {
        let mut reader = open_log(path)?;
        let read = logs.read_log(&log.form, &mut *reader, &mut capture);
        read.map_err(|error| CliError::from(&error).with_context(path.display().to_string()))?;
    }
    logs.finish(&mut capture).map_err(|error| CliError::from(&error))?;
    if capture.execution_count() == 0 {
        let mut error = CliError::could_not_run("the logs hold no statement that can be taken");
        for counted in capture.counts().nonzero() {
            error = error.with_context(format!("{}: {}", counted.count, counted.reason.sentence()));
        }
        return Err(error.with_hint(format!("the server logs each statement with {}", form.how_to_log())));
    }
    let saved = capture.finish(&form.name()).map_err(|error| CliError::from(&error))?;
    let summary = Summary::from_capture(&saved).map_err(|error| CliError::from(&error))?;
    drop(saved);
    new.put_in_place().map_err(|error| put_refused(&error))?;
    show_capture::print_taken(&summary, &args.output, printer);
    Ok(Exit::Done)
}

/// Recognises the form of a log by its beginning; fails if it is none that étalon reads.
fn recognise_log(path: &Path, prefix: Option<&Prefix>) -> Result<Recognised, CliError> {
    let head = logs::read_head(&mut *open_log(path)?).map_err(|error| unreadable(path, &error))?;
    logs::recognise_log(&head, prefix).ok_or_else(|| {
        let error = CliError::user_error(format!("`{}` is no log that étalon reads", path.display()));
        match prefix {
            Some(_) => {
                error.with_hint("no record begins as `--log-line-prefix` says: `SHOW log_line_prefix` has the server's")
            }
            None => error
                .with_hint("of a log in text form name the server's `log_line_prefix`: `--log-line-prefix '%m [%p] '`"),
        }
    })
}

/// Finds the one form that all logs have; fails if they differ.
/// A server that writes two forms writes each statement twice.
fn one_form<'a>(found: &'a [(&PathBuf, Recognised)]) -> Result<&'a Form, CliError> {
    let (first, others) = found.split_first().ok_or_else(|| CliError::user_error("no log is named"))?;
    match others.iter().find(|(_, other)| other.form != first.1.form) {
        None => Ok(&first.1.form),
        Some((path, other)) => {
            let message = format!(
                "`{}` is a {}, and `{}` a {}",
                first.0.display(),
                first.1.form.name(),
                path.display(),
                other.form.name()
            );
            Err(CliError::user_error(message)
                .with_hint("name logs of one form: a server that writes two has each statement in both"))
        }
    }
}

/// Opens a log to read, unpacked if it is packed.
fn open_log(path: &Path) -> Result<Box<dyn BufRead>, CliError> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| unreadable(path, &error))?);
    let packing = Packing::from_head(reader.fill_buf().map_err(|error| unreadable(path, &error))?);
    if packing == Packing::Plain {
        return Ok(Box::new(reader));
    }
    let reader = unpacking_reader(packing, Box::new(reader)).map_err(|error| unreadable(path, &error))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, reader)))
}

impl From<&CaptureError> for CliError {
    fn from(error: &CaptureError) -> CliError {
        match error {
            CaptureError::Foreign | CaptureError::Version(_) => CliError::user_error(error.to_string()),
            _ => CliError::could_not_run(error.to_string()),
        }
    }
}
