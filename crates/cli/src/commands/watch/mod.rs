//! `etalon watch`: an experiment while it runs, read from its store and from nowhere else.

mod reading;
mod screen;
mod text;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::WatchArgs;
use crate::args::guessed::add_run_line;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::latest_store;
use crate::stamp::Stamp;
use reading::Watched;

/// Runs `etalon watch`: shows the state of an experiment's store, on a terminal until the user leaves.
pub fn run(args: &WatchArgs, printer: Printer) -> Result<Exit, CliError> {
    let store = if args.store.is_dir() { find_latest_store(&args.store)? } else { args.store.clone() };
    let stamp = Stamp::of_store(&store);
    let watched = Watched::read(&store)?;
    if printer.json {
        printer.print_result(&watched_json(&store, &watched).to_string());
    } else if std::io::stdout().is_terminal() {
        screen::show_screen(&store, stamp, watched)?;
    } else {
        printer.print_result(&text::watched_text(&store, &watched, reading::now_unix_ms(), printer.width()));
    }
    Ok(Exit::Done)
}

/// Finds the store of a folder that was written last; fails if there is none.
fn find_latest_store(folder: &Path) -> Result<PathBuf, CliError> {
    latest_store(folder)
        .ok_or_else(|| add_run_line(CliError::user_error(format!("there is no store in `{}`", folder.display()))))
}

/// Writes the state of a watched experiment as JSON.
fn watched_json(store: &Path, watched: &Watched) -> serde_json::Value {
    let counts = watched.evidence.run_counts();
    let rows: Vec<_> = watched
        .rows_so_far()
        .into_iter()
        .map(|row| json!({ "name": row.name, "standing": text::decision_words(row.standing), "so_far": row.figures }))
        .collect();
    json!({
        "schema_version": 1,
        "store": store.display().to_string(),
        "state": watched.course().as_str(),
        "runs": { "planned": counts.planned, "measured": counts.measured, "failed": counts.failed, "aborted": counts.aborted },
        "rounds": watched.evidence.round_count(),
        "answer": watched.set.as_ref().map_or("", |set| &set.answer),
        "rows": rows,
    })
}
