//! What is compared: one store, or several of experiments that were not run together.

use std::path::{Path, PathBuf};

use model::Series;
use report::cross_experiment::{JoinedSeries, Source, join_stores};
use report::{Evidence, SeriesSource};
use store::{EXTENSION, Store, StoreError};

use crate::args::guessed::{
    add_run_line, answer_files, has_sqlite_magic, imported_name, is_url, names_what_is_measured, typed_line,
};
use crate::ask::words::{file_ending as ending_of, read_text};
use crate::error::CliError;
use crate::printer::Printer;
use crate::stamp::Stamp;

/// Folder of the results where none is named.
pub const RESULTS: &str = "etalon-results";

/// A store's content with its histograms.
pub struct Results {
    pub evidence: Evidence,
    histograms: JoinedSeries<Store>,
}

impl SeriesSource for Results {
    /// Reads the histograms of a run from the store that has it.
    fn series(&self, run: i64) -> Result<Vec<Series>, StoreError> {
        self.histograms.series(run)
    }
}

/// `STORE` or `STORE:SYSTEM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub store: PathBuf,
    pub system: Option<String>,
}

impl Side {
    /// Parses `STORE` or `STORE:SYSTEM`; the name of an existing file is that file, whatever colons it has.
    pub fn parse(text: &str) -> Side {
        let whole = Side { store: PathBuf::from(text), system: None };
        if Path::new(text).exists() {
            return whole;
        }
        text.match_indices(':')
            .map(|(at, _)| text.split_at(at))
            .find(|(store, _)| Path::new(store).exists() || is_store(store))
            .map_or(whole, |(store, system)| Side { store: PathBuf::from(store), system: Some(system[1..].to_owned()) })
    }

    /// Tests whether the side is a path that exists or has the ending of stores.
    pub fn is_store(&self) -> bool {
        self.store.exists() || is_store(&self.store)
    }
}

/// Whether a path ends as stores do; the file need not exist.
pub fn is_store(path: impl AsRef<Path>) -> bool {
    path.as_ref().extension().is_some_and(|extension| extension == EXTENSION)
}

/// Splits arguments into one store with the names of systems, or the stores of all; fails if they are mixed.
pub fn split_sides<'a>(first: &str, others: &'a [String]) -> Result<(Vec<Side>, &'a [String]), CliError> {
    let of_store = |other: &&String| Side::parse(other).is_store() && !is_system(first, other);
    let stores = others.iter().filter(of_store).count();
    if stores == 0 {
        return match others {
            [] | [_] | [_, _] => Ok((vec![Side::parse(first)], others)),
            [_, _, more, ..] => Err(CliError::user_error(format!(
                "`{more}` is one too many: a store is compared by two of its systems"
            ))
            .with_hint(format!("type `{}`", typed_line(&["compare", first, &others[0], &others[1]])))),
        };
    }
    if let Some(name) = others.iter().find(|other| !of_store(other)) {
        let stores = std::iter::once(first).chain(others.iter().filter(of_store).map(String::as_str));
        let named: Vec<String> = stores.map(|store| format!("{store}:{name}")).collect();
        return Err(CliError::user_error(format!("there is no store `{name}`")).with_hint(format!(
            "a system of several stores is named with each of them: `etalon compare {}`",
            named.join(" ")
        )));
    }
    Ok((std::iter::once(first).chain(others.iter().map(String::as_str)).map(Side::parse).collect(), &[]))
}

/// Whether a name is a system's of that store, which a file of that name then does not hide.
pub fn is_system(store: &str, name: &str) -> bool {
    !is_store(name)
        && Store::open_read_only(Path::new(store)).ok().is_some_and(|store| store.header().plan.system(name).is_some())
}

/// Drops étalon's own reports from the arguments of a verb; fails if one is no store, and says what to type.
///
/// # Errors
/// One is a folder, or a file of another tool: says what to type.
pub fn check_stores(verb: &str, arguments: &[String], printer: Printer) -> Result<Vec<String>, CliError> {
    let is_report =
        |word: &String| ["html", "htm"].iter().any(|ending| ending_of(word) == *ending) && Path::new(word).is_file();
    let has_stores = arguments.iter().any(|word| is_store(Side::parse(word).store));
    let (reports, kept): (Vec<String>, Vec<String>) =
        arguments.iter().cloned().partition(|word| has_stores && is_report(word));
    if !reports.is_empty() {
        printer.print_note(&format!("left out, as reports and no stores: {}", reports.join(", ")));
    }
    let Some(first) = kept.first().filter(|first| !is_store(first)) else { return Ok(kept) };
    let path = Path::new(first);
    let are_folders = kept.len() > 1 && kept.iter().all(|word| Path::new(word).is_dir());
    let is_of_runs = are_folders && kept.iter().any(|word| !stores_in_folder(Path::new(word)).is_empty());
    if (are_folders && !is_of_runs) || kept.iter().any(|word| is_url(word)) || names_what_is_measured(first) {
        let shown = model::plan::redact_url(first);
        return Err(add_run_line(CliError::user_error(format!(
            "`{shown}` is no store, and `etalon {verb}` takes what `etalon run` has measured"
        ))));
    }
    if is_of_runs {
        let newest = newest_of_folders(verb, &kept)?;
        printer.print_note(&format!("the newest store of each folder: {}", newest.join(", ")));
        return Ok(newest);
    }
    if path.is_dir() {
        return Err(newest_of_folder(verb, path));
    }
    if !Side::parse(first).is_store() {
        return Err(CliError::user_error(format!("there is no store `{first}`")).with_hint(instead_of_store(verb)));
    }
    let files: Vec<String> = kept.iter().filter(|word| Path::new(word).is_file()).cloned().collect();
    if path.is_file() && files.len() == kept.len() && !files.iter().any(|file| has_sqlite_magic(Path::new(file))) {
        if let Some(exported) = files.iter().find(|file| is_exported(Path::new(file))) {
            return Err(not_an_export(verb, exported));
        }
        let what = format!("`{first}` is no store: results of other tools are imported first");
        return Err(answer_files(CliError::user_error(what), verb, &files));
    }
    Ok(kept)
}

/// Refuses a baseline that is no store, and says what to type.
///
/// # Errors
/// It is a folder, a file of another tool, or not there.
pub fn check_baseline(baseline: &str, candidate: &Side, printer: Printer) -> Result<(), CliError> {
    if is_store(&Side::parse(baseline).store) {
        return Ok(());
    }
    if Path::new(baseline).exists() || is_url(baseline) {
        return check_stores("gate", &[baseline.to_owned()], printer).map(drop);
    }
    let what = format!("there is no store `{baseline}`: a baseline is the store of an earlier run");
    Err(CliError::user_error(what).with_hint(line_with_baseline(&candidate.store, baseline)))
}

/// Says which line judges a store by a baseline; where that is no store, by the one before it in the store's folder.
pub fn line_with_baseline(store: &Path, baseline: &str) -> String {
    let candidate = store.display().to_string();
    if Side::parse(baseline).is_store() {
        return format!("type `{}`", typed_line(&["gate", &candidate, "--baseline", baseline]));
    }
    let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let finished = finished_stores(folder);
    let at = finished.iter().position(|other| other.file_name() == store.file_name());
    match finished.get(at.map_or(0, |at| at + 1)) {
        Some(older) => {
            let older = older.display().to_string();
            format!("type `{}` for the one before it", typed_line(&["gate", &candidate, "--baseline", &older]))
        }
        None => format!(
            "`{}` holds no earlier store: type `{}` with one from elsewhere",
            folder.display(),
            typed_line(&["gate", &candidate, "--baseline", &format!("OLD.{EXTENSION}")])
        ),
    }
}

/// Finds the newest finished store of each of several folders.
///
/// # Errors
/// One has none.
fn newest_of_folders(verb: &str, folders: &[String]) -> Result<Vec<String>, CliError> {
    let mut newest = Vec::new();
    for folder in folders {
        let Some(store) = finished_stores(Path::new(folder)).into_iter().next() else {
            let names = folders.iter().map(|folder| format!("`{folder}`")).collect::<Vec<_>>().join(" and ");
            let what = format!("{names} are folders, and `etalon {verb}` takes the stores in them");
            return Err(CliError::user_error(what).with_hint(format!(
                "`{folder}` holds no experiment that has ended: `{}` lists what is in it",
                typed_line(&["list", folder])
            )));
        };
        newest.push(store.display().to_string());
    }
    Ok(newest)
}

/// Makes the error for a folder in place of its stores: the newest finished one is taken, or the two newest.
fn newest_of_folder(verb: &str, folder: &Path) -> CliError {
    let shown = folder.display().to_string();
    let error = CliError::user_error(format!("`{shown}` is a folder, and `etalon {verb}` takes the stores in it"));
    let finished = finished_stores(folder);
    let [newest, others @ ..] = finished.as_slice() else {
        return if stores_in_folder(folder).is_empty() {
            error.with_hint(format!(
                "it holds none; results of other tools are read by `{}`",
                typed_line(&["import", &shown, "-o", &imported_name(std::slice::from_ref(&shown))])
            ))
        } else {
            error.with_hint(format!(
                "it holds no experiment that has ended: `{}` lists what is in it",
                typed_line(&["list", &shown])
            ))
        };
    };
    let newest = newest.display().to_string();
    let all = format!("`{}` lists all", typed_line(&["list", &shown]));
    match others.first().map(|older| older.display().to_string()) {
        None => error.with_hint(format!("type `{}`", typed_line(&[verb, &newest]))),
        Some(_) if verb == "gate" => error.with_hint(all).with_hint(format!("type `{}`", typed_line(&[verb, &newest]))),
        Some(older) if system_count(&newest) < 2 => {
            error.with_hint(all).with_hint(format!("the two newest: type `{}`", typed_line(&[verb, &older, &newest])))
        }
        Some(older) => error
            .with_hint(all)
            .with_hint(format!("the newest: type `{}`", typed_line(&[verb, &newest])))
            .with_hint(format!("against the one before it: `{}`", typed_line(&[verb, &older, &newest]))),
    }
}

/// The number of systems that a store's experiment compares; 0 if it cannot be read.
fn system_count(store: &str) -> usize {
    Store::open_read_only(Path::new(store)).map_or(0, |store| store.header().plan.systems.len())
}

/// Whether a file is a comparison that `etalon export --format json` or `--json` wrote.
fn is_exported(path: &Path) -> bool {
    let text = read_text(&path.to_string_lossy()).unwrap_or_default();
    let json: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
    ["schema_version", "compared", "experiment", "comparisons"].iter().all(|key| json.get(key).is_some())
}

/// Makes the error for a comparison in JSON, which has no runs to compare.
fn not_an_export(verb: &str, path: &str) -> CliError {
    let what = format!(
        "`{path}` is a finished comparison that étalon exported as JSON, and `etalon {verb}` takes the store that it was made from"
    );
    CliError::user_error(what)
        .with_hint(format!("type `{}` with that store, a file that ends in `.{EXTENSION}`", typed_line(&[verb, "STORE"])))
        .with_hint("where the store is, `etalon export STORE -o runs.csv` writes its runs, which `etalon import runs.csv` reads elsewhere")
}

/// Lists the stores in a folder, sorted by name.
pub fn stores_in_folder(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut stores: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| is_store(path))
        .map(|path| path.display().to_string())
        .collect();
    stores.sort();
    stores
}

/// Finds the store in a folder that was written last.
pub fn latest_store(folder: &Path) -> Option<PathBuf> {
    stores_in_folder(folder).into_iter().map(PathBuf::from).max_by_key(|store| Stamp::of_store(store).last_written())
}

/// Lists the stores in a folder whose experiments have ended with results, the one that was written last first.
pub fn finished_stores(folder: &Path) -> Vec<PathBuf> {
    let mut stores: Vec<PathBuf> = stores_in_folder(folder).into_iter().map(PathBuf::from).collect();
    stores.retain(|path| has_ended(path).unwrap_or(false));
    stores.sort_by_key(|store| std::cmp::Reverse(Stamp::of_store(store).last_written()));
    stores
}

/// Whether an experiment has results, and nothing left to run.
fn has_ended(path: &Path) -> Result<bool, StoreError> {
    let store = Store::open_read_only(path)?;
    Ok(store.pending()?.is_empty() && store.runs()?.iter().any(|run| run.state == model::RunState::Measured))
}

/// Finds the newest store in the folder of results: one that has ended, else any.
pub fn newest_store() -> Option<PathBuf> {
    let folder = Path::new(RESULTS);
    finished_stores(folder).into_iter().next().or_else(|| latest_store(folder))
}

/// Finds the newest store in the folder of results whose experiment has something left to run.
fn newest_unfinished_store() -> Option<PathBuf> {
    let mut stores: Vec<PathBuf> = stores_in_folder(Path::new(RESULTS)).into_iter().map(PathBuf::from).collect();
    stores.retain(|path| has_ended(path).is_ok_and(|ended| !ended));
    stores.into_iter().max_by_key(|store| Stamp::of_store(store).last_written())
}

/// Says what to type in place of a store that is not there.
pub fn instead_of_store(verb: &str) -> String {
    let newest = if verb == "resume" { newest_unfinished_store() } else { newest_store() };
    match newest {
        Some(store) => {
            format!(
                "type `{}` for the latest one; `etalon list {RESULTS}` lists all",
                typed_line(&[verb, &store.display().to_string()])
            )
        }
        None => format!("`etalon list {RESULTS}` lists those that `etalon run` keeps"),
    }
}

/// Opens one store, or joins several, of which the others are compared with the first.
pub fn open_results(sides: &[Side]) -> Result<Results, CliError> {
    if let [Side { store, system }] = sides {
        if let Some(system) = system {
            let path = store.display();
            return Err(CliError::user_error(format!("`{path}:{system}` is one side, and a comparison takes two"))
                .with_hint(format!("`etalon compare {path}` compares its systems; a second store may follow")));
        }
        let store = Store::open_read_only(store)?;
        return Ok(Results { evidence: Evidence::read_store(&store)?, histograms: JoinedSeries::of_one(store) });
    }
    let stores: Vec<Store> = sides.iter().map(|side| Store::open_read_only(&side.store)).collect::<Result<_, _>>()?;
    let sources: Vec<Source> = sides
        .iter()
        .zip(&stores)
        .map(|(side, store)| {
            let file = side.store.display().to_string();
            Ok(Source { file, system: side.system.clone(), evidence: Evidence::read_store(store)? })
        })
        .collect::<Result<_, CliError>>()?;
    let evidence =
        join_stores(&sources).map_err(|error| CliError::user_error(error.to_string()).with_hint(error.hint()))?;
    let histograms = match &evidence.apart {
        Some(apart) => JoinedSeries::new(apart, stores),
        None => return Err(CliError::could_not_run("the stores could not be joined")),
    };
    Ok(Results { evidence, histograms })
}

/// Moves the baseline to the front of the sides: the named one, or else the oldest; returns a note if the oldest moved.
/// Of imports it is not known when they ran, and they stay as they are.
///
/// # Errors
/// No side is named so, or a store cannot be read.
pub fn move_baseline_first(sides: &mut [Side], baseline: Option<&str>) -> Result<Option<String>, CliError> {
    if let Some(name) = baseline {
        let named = Side::parse(name);
        let found = sides.iter().position(|side| {
            *side == named || (named.system.is_none() && (side.store == named.store || has_name(&side.store, name)))
        });
        let position = found.ok_or_else(|| {
            let known: Vec<String> = sides.iter().map(|side| format!("`{}`", side.store.display())).collect();
            CliError::user_error(format!("`--baseline {name}` is none of the stores that are compared"))
                .with_hint(format!("they are {}", known.join(" and ")))
        })?;
        sides[..=position].rotate_right(1);
        return Ok(None);
    }
    let mut begun = Vec::new();
    for side in sides.iter() {
        let store = Store::open_read_only(&side.store)?;
        if store.header().build == report::evidence::IMPORTED {
            return Ok(None);
        }
        begun.push(store.header().created_unix_ms);
    }
    let oldest = (0..begun.len()).min_by_key(|position| begun[*position]).unwrap_or_default();
    if oldest == 0 {
        return Ok(None);
    }
    sides[..=oldest].rotate_right(1);
    let [first, second, ..] = sides else { return Ok(None) };
    Ok(Some(format!(
        "A is {}, which is older; `--baseline {}` takes the other",
        first.store.display(),
        second.store.display()
    )))
}

/// Whether a store's file has this name, with its extension or without it.
fn has_name(store: &Path, name: &str) -> bool {
    [store.file_name(), store.file_stem()].into_iter().flatten().any(|own| own == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_a_store_with_or_without_a_system() {
        assert_eq!(side("a/old.etalon"), ("a/old.etalon".to_owned(), None));
        assert_eq!(side("a/old.etalon:pg"), parts("a/old.etalon", "pg"));
        assert_eq!(side(r"C:\old.etalon:pg: 18"), parts(r"C:\old.etalon", "pg: 18"));
        assert_eq!(side("wal"), ("wal".to_owned(), None));
    }

    #[test]
    fn a_named_baseline_comes_first_and_the_others_keep_their_order() {
        let all = ["x/a.etalon", "x/b.etalon", "x/c.etalon"];
        for (name, expected) in [("c", "c a b"), ("b.etalon", "b a c"), ("x/a.etalon", "a b c")] {
            let mut sides: Vec<Side> = all.iter().map(|store| Side::parse(store)).collect();
            assert_eq!(move_baseline_first(&mut sides, Some(name)).unwrap(), None);
            let order: Vec<&str> = sides.iter().filter_map(|side| side.store.file_stem()?.to_str()).collect();
            assert_eq!(order.join(" "), expected);
        }
        let mut sides = vec![Side::parse("a.etalon"), Side::parse("b.etalon")];
        assert!(move_baseline_first(&mut sides, Some("d")).unwrap_err().hints[0].contains("`b.etalon`"));
    }

    fn parts(store: &str, system: &str) -> (String, Option<String>) {
        (store.to_owned(), Some(system.to_owned()))
    }

    fn side(text: &str) -> (String, Option<String>) {
        let Side { store, system } = Side::parse(text);
        (store.display().to_string(), system)
    }
}
