//! `etalon history add`: a point for each row of experiments that have ended.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use report::Evidence;
use report::history::{Contribution, LeftOut, Refusal, read_contribution};
use report::number::count_noun;
use serde_json::json;
use store::Store;
use store::history::{Added, Addition, History, HistoryContent};

use crate::args::HistoryAddArgs;
use crate::args::guessed::typed_line;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::stores_in_folder;

/// Time by which the clock of another machine may be ahead.
const ONE_DAY: Duration = Duration::from_hours(24);

/// A store that is to be added.
struct Candidate {
    path: PathBuf,
    /// Whether it was named itself, and not only its folder.
    is_named: bool,
}

/// A store that can be added, with what it adds.
type Readable = (PathBuf, Contribution);

/// Adds stores to a history, all that can be added at once; each other one is refused by name.
pub fn run(file: &Path, args: &HistoryAddArgs, printer: Printer) -> Result<Exit, CliError> {
    let stores = list_stores(&args.stores)?;
    // What is at the file's path is looked at before the stores are read, and made only if one of them has points.
    let before = if file.exists() { History::open_read_only(file)?.read_all()? } else { HistoryContent::default() };
    let anchor = args.anchor.as_deref().or(before.anchor.as_deref());
    check_anchor(file, args.anchor.as_deref(), &before)?;
    let number = stores.len();
    let mut readable: Vec<Readable> = Vec::new();
    let mut refused: Vec<(Candidate, CliError)> = Vec::new();
    for store in stores {
        match read_store(&store.path, anchor, args.commit.as_deref()).and_then(|one| check_time(&store.path, one)) {
            Ok(contribution) => readable.push((store.path, contribution)),
            Err(error) => refused.push((store, error)),
        }
    }
    if let ([(_, error)], []) = (refused.as_slice(), readable.as_slice()) {
        return Err(error.clone());
    }
    for (store, error) in &refused {
        if store.is_named { printer.print_warning(&error.message) } else { printer.print_note(&error.message) }
    }
    if readable.is_empty() {
        return Err(CliError::user_error(format!("none of {} could be added", count_noun(number, "store"))));
    }
    if before.anchor.is_none() {
        check_has_anchor(args.anchor.as_deref(), &readable)?;
    }
    let additions: Vec<Addition> = readable.iter().map(|(_, one)| one.addition.clone()).collect();
    let added = History::open_or_create(file)?.add(&additions, args.anchor.as_deref())?;
    readable.iter().zip(&added).filter(|(_, added)| **added != Added::Known).for_each(|((store, one), _)| {
        print_notes(store, one, anchor, printer);
    });
    print_counts(file, &readable, &added, refused.len(), printer);
    Ok(if refused.iter().any(|(store, _)| store.is_named) { Exit::BadAnswer } else { Exit::Done })
}

/// Lists the stores that are named, and those in folders that are.
fn list_stores(named: &[PathBuf]) -> Result<Vec<Candidate>, CliError> {
    let mut stores = Vec::new();
    for path in named {
        if !path.is_dir() {
            stores.push(Candidate { path: path.clone(), is_named: true });
            continue;
        }
        let found = stores_in_folder(path);
        if found.is_empty() {
            return Err(CliError::user_error(format!("there is no store in `{}`", path.display())));
        }
        stores.extend(found.into_iter().map(|found| Candidate { path: PathBuf::from(found), is_named: false }));
    }
    Ok(stores)
}

/// Fails if the history has another anchor, or plain values: the series of both cannot be joined.
fn check_anchor(file: &Path, asked: Option<&str>, before: &HistoryContent) -> Result<(), CliError> {
    let Some(asked) = asked else { return Ok(()) };
    let file = file.display();
    let text = match &before.anchor {
        Some(remembered) if remembered == asked => return Ok(()),
        Some(remembered) => format!("the anchor of `{file}` is `{remembered}`, and not `{asked}`"),
        None if before.series.iter().all(|series| series.points.is_empty()) => return Ok(()),
        None => format!("`{file}` has plain values already, which cannot become ratios to the anchor `{asked}`"),
    };
    Err(CliError::user_error(text)
        .with_hint("another anchor begins another history: name its file with `--history FILE`"))
}

/// Fails if a new anchor is a system of no experiment.
fn check_has_anchor(asked: Option<&str>, readable: &[Readable]) -> Result<(), CliError> {
    let Some(asked) = asked else { return Ok(()) };
    if readable.iter().any(|(_, one)| !one.lacks_anchor) {
        return Ok(());
    }
    let systems: BTreeSet<&str> = readable.iter().flat_map(|(_, one)| one.systems.iter().map(String::as_str)).collect();
    let systems: Vec<String> = systems.into_iter().map(|system| format!("`{system}`")).collect();
    Err(CliError::user_error(format!("no experiment has a system `{asked}`, so it is no anchor"))
        .with_hint(format!("the systems are {}", systems.join(", "))))
}

/// Fails if an experiment is from the future: it would stay the newest one.
fn check_time(store: &Path, contribution: Contribution) -> Result<Contribution, CliError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let latest = i64::try_from((now + ONE_DAY).as_millis()).unwrap_or(i64::MAX);
    if contribution.addition.experiment.created_unix_ms <= latest {
        return Ok(contribution);
    }
    let text = format!("`{}` is not added: its experiment began in the future", store.display());
    Err(CliError::user_error(text).with_hint("check the clock of the machine that ran it, and of this one"))
}

/// Reads what a store adds; an error names the store and says why it is refused.
pub fn read_store(store: &Path, anchor: Option<&str>, commit: Option<&str>) -> Result<Contribution, CliError> {
    let evidence = Evidence::read_store(&Store::open_read_only(store)?)?;
    read_contribution(&evidence, anchor, commit).map_err(|refusal| {
        let shown = store.display().to_string();
        let error = CliError::user_error(format!("`{shown}` is not added: {refusal}"));
        match refusal {
            Refusal::Unfinished(_) if !evidence.is_import() => {
                error.with_hint(format!("run the rest with `{}`", typed_line(&["resume", &shown])))
            }
            _ => error,
        }
    })
}

/// Notes the rows of a store that got no point, and that it has no anchor.
fn print_notes(store: &Path, contribution: &Contribution, anchor: Option<&str>, printer: Printer) {
    let store = store.display();
    if contribution.lacks_anchor {
        let anchor = anchor.unwrap_or_default();
        printer.print_note(&format!(
            "{store} has no system `{anchor}`: its points are plain values, in series of their own"
        ));
    }
    for LeftOut { row, reason, .. } in &contribution.left_out {
        printer.print_note(&format!("{store}: no point for {row}: {reason}"));
    }
}

/// Says how many experiments and points were added, how many were there, and how many were refused.
fn print_counts(file: &Path, readable: &[Readable], added: &[Added], refused: usize, printer: Printer) {
    let new = readable.iter().zip(added).filter(|(_, added)| **added == Added::New);
    let points: usize = new.map(|((_, one), _)| one.addition.points.len()).sum();
    let [experiments, updated, known] =
        [Added::New, Added::Updated, Added::Known].map(|what| added.iter().filter(|added| **added == what).count());
    if printer.json {
        let object = json!({
            "schema_version": 1, "history": file.display().to_string(), "added": experiments, "points": points,
            "updated": updated, "known": known, "refused": refused,
        });
        printer.print_result(&object.to_string());
        return;
    }
    let mut parts =
        vec![format!("added {} with {}", count_noun(experiments, "experiment"), count_noun(points, "point"))];
    parts.extend((updated > 0).then(|| format!("{updated} updated, with more runs")));
    parts.extend((known > 0).then(|| format!("{known} there already")));
    parts.extend((refused > 0).then(|| format!("{refused} refused")));
    printer.print_result(&format!("{}: {}", file.display(), parts.join(", ")));
}
