//! `etalon list`: the experiments in the folder of results, and what can be named; with `--all`, what each of it is.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use conductor::Registry;
use report::{Evidence, Options};
use serde_json::{Map, json};
use store::Store;

use super::named::{self, Kind, Named};
use super::report::set_of;
use crate::args::ListArgs;
use crate::args::guessed::typed_line;
use crate::error::CliError;
use crate::exit::Exit;
use crate::printer::Printer;
use crate::results::{RESULTS, finished_stores};

/// Runs `etalon list`.
pub fn run(args: &ListArgs, printer: Printer) -> Result<Exit, CliError> {
    if let Some(folder) = &args.folder {
        if folder.is_file() {
            let file = folder.display().to_string();
            let error = CliError::user_error(format!("`{file}` is a file, and `etalon list` takes a folder"));
            return Err(error.with_hint(format!("type `{}`", typed_line(&["show", &file]))));
        }
        return print_stores(folder, printer);
    }
    let catalog = Registry::built_in().catalog();
    let named = named::all_named(&catalog);
    let width = printer.width();
    if printer.json {
        let mut object = Map::from_iter([("schema_version".to_owned(), json!(1))]);
        for kind in Kind::ALL {
            let entries = of_kind(&named, kind).map(Named::as_json).collect();
            object.insert(kind.array_name().to_owned(), entries);
        }
        printer.print_result(&serde_json::Value::Object(object).to_string());
    } else if args.all {
        printer.print_result(&Kind::ALL.map(|kind| kind_section(&named, kind, width)).join("\n"));
    } else {
        let names = Kind::ALL.map(|kind| {
            let names = of_kind(&named, kind).map(Named::name);
            format!("{}\n{}", kind.heading(), named::fill_words(names, width))
        });
        let servers: Vec<&str> =
            catalog.engines.iter().flat_map(|engine| engine.private_servers.iter().copied()).collect();
        let servers =
            format!("private servers (server = {{ engine = \"NAME\" }})\n{}", named::fill_words(servers, width));
        let more = "`etalon show NAME` shows one of these whole, `etalon list --all` each in a sentence, `etalon list FOLDER` the \
                    experiments in a folder and in those below it";
        if !finished_stores(Path::new(RESULTS)).is_empty() {
            print_stores(Path::new(RESULTS), printer)?;
        }
        let more = report::text::wrap_to_width(more, width, 0);
        printer.print_result(&format!("{}{servers}\n{more}", names.concat()));
    }
    Ok(Exit::Done)
}

/// An experiment as a list of stores has it.
struct Listed {
    file: String,
    created_unix_ms: i64,
    systems: Vec<String>,
    answer: String,
}

impl Listed {
    /// Reads what a list says of a store.
    fn read(path: &Path) -> Result<Listed, CliError> {
        let store = Store::open_read_only(path)?;
        let evidence = Evidence::read_store(&store)?;
        let answer = set_of(&evidence, &Options::default().comparing_only_factor(&evidence))
            .map_or_else(|error| error.message, |set| set.answer);
        Ok(Listed {
            file: path.strip_prefix(".").unwrap_or(path).display().to_string(),
            created_unix_ms: store.header().created_unix_ms,
            systems: store.header().plan.systems.iter().map(|system| system.name.clone()).collect(),
            answer,
        })
    }

    /// The day and time, in UTC, at which the experiment began.
    fn created_day(&self) -> String {
        let created = jiff::Timestamp::from_millisecond(self.created_unix_ms);
        created.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
    }
}

/// Folders below the one that is named, counted from it, whose stores are listed.
const DEEPEST: usize = 4;
/// Number of folders that are read.
const MOST_FOLDERS: usize = 2_000;

/// Finds the stores in a folder and those below it, and counts the folders not read; links and hidden ones are not followed.
///
/// # Errors
/// The folder itself cannot be read.
fn stores_below(folder: &Path) -> std::io::Result<(Vec<PathBuf>, usize)> {
    let mut found = Vec::new();
    let (mut waiting, mut read, mut left) = (VecDeque::from([(folder.to_owned(), 0)]), 0, 0);
    while let Some((folder, depth)) = waiting.pop_front() {
        if depth > DEEPEST || read >= MOST_FOLDERS {
            left += 1;
            continue;
        }
        read += 1;
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if depth == 0 => return Err(error),
            Err(_) => {
                left += 1;
                continue;
            }
            Ok(entries) => entries,
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                waiting.extend((!is_hidden).then_some((path, depth + 1)));
            } else if path.extension().is_some_and(|extension| extension == store::EXTENSION) {
                found.push(path);
            }
        }
    }
    Ok((found, left))
}

/// Prints the stores in a folder and those below it, the oldest first.
fn print_stores(folder: &Path, printer: Printer) -> Result<Exit, CliError> {
    let cannot =
        |error: std::io::Error| CliError::could_not_run(format!("cannot read `{}`: {error}", folder.display()));
    let (paths, left) = stores_below(folder).map_err(cannot)?;
    if left > 0 {
        printer.print_note(&format!(
            "{} not read: too deep, too many or without permission; `etalon list FOLDER` lists one of them",
            report::number::count_noun(left, "folder")
        ));
    }
    let mut listed = Vec::new();
    for path in paths {
        match Listed::read(&path) {
            Ok(one) => listed.push(one),
            Err(error) => printer.print_note(&format!("{}: {}", path.display(), error.message)),
        }
    }
    if listed.is_empty() {
        let text = format!("`{}` and the folders in it hold no store that can be read", folder.display());
        return Err(CliError::user_error(text)
            .with_hint("`etalon run` writes stores into `etalon-results`, or into the folder of `--output`"));
    }
    listed.sort_by(|a, b| (a.created_unix_ms, &a.file).cmp(&(b.created_unix_ms, &b.file)));
    if printer.json {
        let stores: Vec<_> = listed
            .iter()
            .map(|one| json!({ "store": one.file, "created_unix_ms": one.created_unix_ms, "systems": one.systems, "answer": one.answer }))
            .collect();
        printer.print_result(&json!({ "schema_version": 1, "stores": stores }).to_string());
        return Ok(Exit::Done);
    }
    let text = listed.iter().map(|one| {
        let head = format!("{}  {}  {}", one.created_day(), one.file, one.systems.join(", "));
        format!(
            "{head}\n{}",
            indent_entry(&report::text::wrap_to_width(&one.answer, printer.width().saturating_sub(2), 0))
        )
    });
    printer.print_result(&text.collect::<String>());
    Ok(Exit::Done)
}

/// Filters the entries of a kind.
fn of_kind<'n, 'c>(named: &'n [Named<'c>], kind: Kind) -> impl Iterator<Item = &'n Named<'c>> {
    named.iter().filter(move |one| one.kind() == kind)
}

/// Writes the heading of a kind, and its entries below.
fn kind_section(named: &[Named<'_>], kind: Kind, width: usize) -> String {
    let entries = of_kind(named, kind).map(|one| indent_entry(&one.list_entry(width.saturating_sub(2))));
    format!("{}\n{}", kind.heading(), entries.collect::<String>())
}

/// Indents an entry by two columns.
fn indent_entry(entry: &str) -> String {
    entry.lines().map(|line| format!("  {line}\n")).collect::<String>()
}
