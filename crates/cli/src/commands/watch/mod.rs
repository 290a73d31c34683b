//! `etalon watch`: an experiment while it runs, read from its store and from nowhere else.

mod reading;
mod screen;
mod text;

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::args::WatchArgs;
use crate::args::guessed::run_instead;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::latest;
use crate::stamp::Stamp;
use reading::Watched;

pub fn run(args: &WatchArgs, printer: Printer) -> Result<Exit, CliError> {
    let store = if args.store.is_dir() { latest_of(&args.store)? } else { args.store.clone() };
    let stamp = Stamp::of(&store);
    let watched = Watched::read(&store)?;
    if printer.json {
        printer.out(&object(&store, &watched).to_string());
    } else if std::io::stdout().is_terminal() {
        screen::show(&store, stamp, watched)?;
    } else {
        printer.out(&text::render(&store, &watched, reading::now_unix_ms(), printer.width()));
    }
    Ok(Exit::Done)
}

fn latest_of(folder: &Path) -> Result<PathBuf, CliError> {
    latest(folder).ok_or_else(|| {
        let error = CliError::user(format!("there is no store in `{}`", folder.display()));
        run_instead().into_iter().fold(error, |error, line| error.hint(format!("type `{line}`")))
    })
}

fn object(store: &Path, watched: &Watched) -> serde_json::Value {
    let counts = watched.evidence.counts();
    let rows: Vec<_> = watched
        .rows()
        .into_iter()
        .map(|row| json!({ "name": row.name, "standing": text::standing(row.standing), "so_far": row.figures }))
        .collect();
    json!({
        "schema_version": 1,
        "store": store.display().to_string(),
        "state": watched.course().as_str(),
        "runs": { "planned": counts.planned, "measured": counts.measured, "failed": counts.failed, "aborted": counts.aborted },
        "rounds": watched.evidence.rounds(),
        "answer": watched.set.as_ref().map_or("", |set| &set.answer),
        "rows": rows,
    })
}
