//! `etalon history add`: a point for each row of experiments that have ended.

use std::path::{Path, PathBuf};

use report::Evidence;
use report::history::{Contribution, Refusal, read_contribution};
use report::number::count_noun;
use serde_json::json;
use store::Store;
use store::history::{Addition, History};

use crate::args::HistoryAddArgs;
use crate::args::guessed::typed_line;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::stores_in_folder;

/// Adds stores to a history, all that can be added at once; each other one is refused by name.
pub fn run(file: &Path, args: &HistoryAddArgs, printer: Printer) -> Result<Exit, CliError> {
    let stores = list_stores(&args.stores)?;
    // What is at the file's path is looked at before the stores are read, and made only if one of them has points.
    let remembered = if file.exists() { History::open_read_only(file)?.anchor()? } else { None };
    let anchor = args.anchor.as_deref().or(remembered.as_deref());
    check_anchor(file, args.anchor.as_deref(), remembered.as_deref())?;
    let mut contributions: Vec<(&PathBuf, Contribution)> = Vec::new();
    let mut refused: Vec<(&PathBuf, CliError)> = Vec::new();
    for store in &stores {
        match read_store(store, anchor, args.commit.as_deref()) {
            Ok(contribution) => contributions.push((store, contribution)),
            Err(error) => refused.push((store, error)),
        }
    }
    if let ([(_, error)], []) = (refused.as_slice(), contributions.as_slice()) {
        return Err(error.clone());
    }
    refused.iter().for_each(|(_, error)| printer.print_warning(&error.message));
    if contributions.is_empty() {
        return Err(CliError::user_error(format!("none of {} could be added", count_noun(stores.len(), "store"))));
    }
    let additions: Vec<Addition> = contributions.iter().map(|(_, one)| one.addition.clone()).collect();
    let added = History::open_or_create(file)?.add(&additions, args.anchor.as_deref())?;
    contributions.iter().zip(&added).filter(|(_, is_new)| **is_new).for_each(|((store, one), _)| {
        print_notes(store, one, anchor, printer);
    });
    print_counts(file, &contributions, &added, refused.len(), printer);
    Ok(if refused.is_empty() { Exit::Done } else { Exit::BadAnswer })
}

/// Lists the stores that are named, and those in folders that are.
fn list_stores(named: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
    let mut stores = Vec::new();
    for path in named {
        if !path.is_dir() {
            stores.push(path.clone());
            continue;
        }
        let found = stores_in_folder(path);
        if found.is_empty() {
            return Err(CliError::user_error(format!("there is no store in `{}`", path.display())));
        }
        stores.extend(found.into_iter().map(PathBuf::from));
    }
    Ok(stores)
}

/// Fails if the history already has another anchor, since the series of both cannot be joined.
fn check_anchor(file: &Path, asked: Option<&str>, remembered: Option<&str>) -> Result<(), CliError> {
    match (asked, remembered) {
        (Some(asked), Some(remembered)) if asked != remembered => {
            let text = format!("the anchor of `{}` is `{remembered}`, and not `{asked}`", file.display());
            Err(CliError::user_error(text)
                .with_hint("another anchor begins another history: name its file with `--history FILE`"))
        }
        _ => Ok(()),
    }
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
    for (row, reason) in &contribution.left_out {
        printer.print_note(&format!("{store}: no point for {row}: {reason}"));
    }
}

/// Says how many experiments and points were added, how many were there, and how many were refused.
fn print_counts(
    file: &Path,
    contributions: &[(&PathBuf, Contribution)],
    added: &[bool],
    refused: usize,
    printer: Printer,
) {
    let new = contributions.iter().zip(added).filter(|(_, is_new)| **is_new);
    let points: usize = new.map(|((_, one), _)| one.addition.points.len()).sum();
    let experiments = added.iter().filter(|is_new| **is_new).count();
    let known = added.len() - experiments;
    if printer.json {
        let object = json!({
            "schema_version": 1, "history": file.display().to_string(), "added": experiments, "points": points,
            "known": known, "refused": refused,
        });
        printer.print_result(&object.to_string());
        return;
    }
    let mut parts =
        vec![format!("added {} with {}", count_noun(experiments, "experiment"), count_noun(points, "point"))];
    parts.extend((known > 0).then(|| format!("{known} there already")));
    parts.extend((refused > 0).then(|| format!("{refused} refused")));
    printer.print_result(&format!("{}: {}", file.display(), parts.join(", ")));
}
