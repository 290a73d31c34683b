//! `etalon capture`: what a server was asked, out of its logs, in one file.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use formats::capture::logs::{self, Form, Logs, Recognised};
use formats::capture::postgres::prefix::Prefix;
use formats::capture::summary::Summary;
use formats::capture::{Capture, CaptureError};
use formats::packed::{Packing, unpacked};
use host::files::NewFile;

use super::import::unreadable;
use super::{capture_how, show_capture};
use crate::args::CaptureArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::refused;
use crate::printer::Printer;

pub fn run(args: &CaptureArgs, printer: Printer) -> Result<Exit, CliError> {
    if let Some(url) = &args.how {
        return capture_how::run(url, printer);
    }
    let prefix = args.log_line_prefix.as_deref().map(Prefix::read).transpose().map_err(|why| {
        CliError::user(format!("`--log-line-prefix` does not do: {why}"))
            .hint("`SHOW log_line_prefix` has the server's")
    })?;
    let mut found = Vec::new();
    for path in &args.logs {
        found.push((path, recognised(path, prefix.as_ref())?));
    }
    found.sort_by_key(|(_, log)| log.first_us);
    let form = one_form(&found)?;
    let new = NewFile::begin(&args.output).map_err(|error| refused(&error).hint("a capture is never replaced"))?;
    let mut capture = Capture::create(new.draft(), form.syntax()).map_err(|error| CliError::from(&error))?;
    if args.redact {
        capture.redact();
    }
    let mut logs = Logs::default();
    for (path, log) in &found {
        let mut reader = open(path)?;
        let read = logs.read(&log.form, &mut *reader, &mut capture);
        read.map_err(|error| CliError::from(&error).at(path.display().to_string()))?;
    }
    logs.finish(&mut capture).map_err(|error| CliError::from(&error))?;
    if capture.executions() == 0 {
        let mut error = CliError::could_not("the logs hold no statement that can be taken");
        for counted in capture.counts().all() {
            error = error.at(format!("{}: {}", counted.count, counted.reason.text()));
        }
        return Err(error.hint(format!("the server logs each statement with {}", form.switch())));
    }
    let saved = capture.finish(&form.name()).map_err(|error| CliError::from(&error))?;
    let summary = Summary::read(&saved).map_err(|error| CliError::from(&error))?;
    drop(saved);
    new.put().map_err(|error| refused(&error))?;
    show_capture::print_taken(&summary, &args.output, printer);
    Ok(Exit::Done)
}

fn recognised(path: &Path, prefix: Option<&Prefix>) -> Result<Recognised, CliError> {
    let head = logs::head(&mut *open(path)?).map_err(|error| unreadable(path, &error))?;
    logs::recognise(&head, prefix).ok_or_else(|| {
        let error = CliError::user(format!("`{}` is no log that étalon reads", path.display()));
        match prefix {
            Some(_) => {
                error.hint("no record begins as `--log-line-prefix` says: `SHOW log_line_prefix` has the server's")
            }
            None => {
                error.hint("of a log in text form name the server's `log_line_prefix`: `--log-line-prefix '%m [%p] '`")
            }
        }
    })
}

/// The form of all logs: a server that writes two forms writes each statement twice.
fn one_form<'a>(found: &'a [(&PathBuf, Recognised)]) -> Result<&'a Form, CliError> {
    let (first, others) = found.split_first().ok_or_else(|| CliError::user("no log is named"))?;
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
            Err(CliError::user(message)
                .hint("name logs of one form: a server that writes two has each statement in both"))
        }
    }
}

/// Opens a log, unpacked.
fn open(path: &Path) -> Result<Box<dyn BufRead>, CliError> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| unreadable(path, &error))?);
    let packing = Packing::from_head(reader.fill_buf().map_err(|error| unreadable(path, &error))?);
    if packing == Packing::Plain {
        return Ok(Box::new(reader));
    }
    let reader = unpacked(packing, Box::new(reader)).map_err(|error| unreadable(path, &error))?;
    Ok(Box::new(BufReader::with_capacity(1 << 20, reader)))
}

impl From<&CaptureError> for CliError {
    fn from(error: &CaptureError) -> CliError {
        match error {
            CaptureError::Foreign | CaptureError::Version(_) => CliError::user(error.to_string()),
            _ => CliError::could_not(error.to_string()),
        }
    }
}
