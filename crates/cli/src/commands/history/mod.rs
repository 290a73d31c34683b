//! `etalon history`: experiments of many nights in one file, and what moved between them.

mod add;
mod export;

use std::path::Path;

use report::history::{
    FollowedHistory, HistoryVerdict, follow_history, history_json, judge_by_history, render_history,
};
use store::history::{History, HistoryError};

use crate::args::{GateArgs, GateFormat, HistoryAction, HistoryArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::Side;

/// Runs `etalon history`: adds experiments, or shows what is there.
pub fn run(args: &HistoryArgs, printer: Printer) -> Result<Exit, CliError> {
    match &args.action {
        Some(HistoryAction::Add(add)) => add::run(&args.history, add, printer),
        Some(HistoryAction::Export(export)) => export::run(&args.history, export, printer),
        None | Some(HistoryAction::Show) => {
            let history = read_history(&args.history)?;
            if printer.json {
                printer.print_result(&history_json(&history).to_string());
            } else {
                printer.print_result(&render_history(&history, printer.width()));
            }
            Ok(Exit::Done)
        }
    }
}

/// Judges a store by a history, for `etalon gate --history`.
pub fn judge_store(file: &Path, args: &GateArgs, printer: Printer) -> Result<Exit, CliError> {
    if args.format != GateFormat::Text {
        return Err(CliError::user_error("`--history` gives its answer as text, or as an object with `--json`"));
    }
    let store = Side::parse(&args.store);
    if let Some(system) = store.system {
        let text = format!("`--history` judges all systems of a store, and not only `{system}`");
        return Err(CliError::user_error(text).with_hint(format!("name the store alone: `{}`", store.store.display())));
    }
    let content = History::open_read_only(file)?.read_all()?;
    let contribution = add::read_store(&store.store, content.anchor.as_deref(), None)?;
    let gate = judge_by_history(content, &contribution);
    if printer.json {
        printer.print_result(&gate.json().to_string());
    } else {
        printer.print_folded(&gate.text());
    }
    Ok(match gate.verdict() {
        HistoryVerdict::Passed => Exit::Done,
        HistoryVerdict::Failed => Exit::BadAnswer,
        HistoryVerdict::Undecided => Exit::Inconclusive,
    })
}

/// Reads a history from its file, and finds what moved.
fn read_history(file: &Path) -> Result<FollowedHistory, CliError> {
    Ok(follow_history(History::open_read_only(file)?.read_all()?))
}

impl From<HistoryError> for CliError {
    fn from(error: HistoryError) -> CliError {
        let text = error.to_string();
        match error {
            HistoryError::Missing { .. } => CliError::user_error(text)
                .with_hint("`etalon history add STORE` makes one; `--history FILE` names another file"),
            HistoryError::Foreign { .. } => {
                CliError::user_error(text).with_hint("name another file with `--history FILE`")
            }
            HistoryError::Newer { .. } => {
                CliError::could_not_run(text).with_hint("use the étalon that wrote it, or a later one")
            }
            HistoryError::Failed { .. } => CliError::could_not_run(text),
        }
    }
}
