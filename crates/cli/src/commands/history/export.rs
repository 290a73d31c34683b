//! `etalon history export`: a history in the form of a tool that keeps series of its own.

use std::path::Path;

use report::history::{ExportError, HistoryFormat, export_history};

use super::read_history;
use crate::args::{Better, HistoryExportArgs, HistoryExportFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, Consent, STDOUT};
use crate::printer::Printer;

/// Writes a history in a form, to a file or to stdout.
pub fn run(file: &Path, args: &HistoryExportArgs, printer: Printer) -> Result<Exit, CliError> {
    let format = match args.format {
        HistoryExportFormat::Otava => HistoryFormat::Otava,
        HistoryExportFormat::GithubActionBenchmark => HistoryFormat::GithubActionBenchmark,
        HistoryExportFormat::Bencher => HistoryFormat::Bencher,
        HistoryExportFormat::Prometheus => HistoryFormat::Prometheus,
    };
    let better = args.better.map(|better| match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
    });
    let text = export_history(&read_history(file)?, format, better).map_err(export_error)?;
    match &args.output {
        Some(path) if path.as_os_str() != STDOUT => {
            output::write_file(path, text.as_bytes(), Consent::from_force(args.force))?;
        }
        _ => printer.print_data(&text),
    }
    Ok(Exit::Done)
}

/// Makes the error for a history that has no such form.
fn export_error(error: ExportError) -> CliError {
    let refused = CliError::user_error(error.to_string());
    match error {
        ExportError::Empty => refused.with_hint("`etalon history add STORE` adds an experiment"),
        ExportError::BothWays => refused
            .with_hint("`--better higher` writes those for its tool `customBiggerIsBetter`")
            .with_hint("`--better lower` writes those for `customSmallerIsBetter`"),
        ExportError::NoneOfThatWay => refused,
    }
}
