//! Checks a line before it is suggested: étalon takes what it tells a user to type.

use std::path::Path;

use clap::Parser as _;
use conductor::Registry;
use model::Catalog;
use model::share::REGRESSION;
use report::gate::Limit;
use store::Store;

use crate::args::{Cli, Command, GateArgs, ImportArgs, PlanSource, Question};
use crate::ask::words::{Word, built_in_script, classify_word};
use crate::commands::import::check_readable;
use crate::commands::plan::expected_time;
use crate::commands::report::parse_share;
use crate::error::CliError;
use crate::results::{Side, is_store};
use crate::source;

/// Files of more bytes in all are not read before the import itself.
const MOST_READ_BYTES: u64 = 16 << 20;

/// What becomes of a line that is typed.
#[derive(Clone, Debug)]
pub enum Checked {
    /// Étalon takes it.
    Accepted,
    /// Étalon takes it once these files are there.
    Missing(Vec<String>),
    /// Étalon refuses it, and says why.
    Refused(Box<CliError>),
}

impl From<CliError> for Checked {
    fn from(error: CliError) -> Checked {
        Checked::Refused(Box::new(error))
    }
}

/// Checks the words of a line, without the program's name: options, URLs, files, stores and the keys of a plan.
/// No server is asked, and nothing is made.
pub fn check_line(arguments: &[String]) -> Checked {
    match parse_command(arguments) {
        Err(error) => error.into(),
        Ok(Command::Run(args) | Command::Capacity(args)) => check_source(&args.source),
        Ok(Command::Plan(args)) => check_source(&args.source),
        Ok(Command::Compare(args)) => {
            let stores = args.others.iter().filter(|other| Side::parse(other).is_store());
            check_stores(std::iter::once(&args.store).chain(stores).chain(&args.baseline))
        }
        Ok(Command::Gate(args)) => match check_gate(&args) {
            Ok(()) => check_stores(args.baseline.iter().chain([&args.store])),
            Err(error) => error.into(),
        },
        Ok(Command::Report(args)) => check_stores(&args.stores),
        Ok(Command::Import(args)) => check_import(&args),
        Ok(Command::List(args)) => {
            let folder = args.folder.map(|folder| folder.display().to_string());
            accepted_unless_missing(folder.iter().filter(|folder| !Path::new(folder).is_dir()))
        }
        Ok(_) => Checked::Accepted,
    }
}

/// Checks the options of a gate that follows a run.
///
/// # Errors
/// One of them is refused.
pub fn check_gate_options(options: &[String]) -> Result<(), CliError> {
    let store = format!("x.{}", store::EXTENSION);
    let line = ["gate".to_owned(), store].into_iter().chain(options.iter().cloned());
    match parse_command(&line.collect::<Vec<_>>())? {
        Command::Gate(args) => check_gate(&args),
        _ => Ok(()),
    }
}

/// The time that a measuring line needs for a verdict; `None` where its `--for` is enough, not given, or not what is wrong.
pub fn time_needed(arguments: &[String]) -> Option<std::time::Duration> {
    let registry = Registry::built_in();
    let (Command::Run(args) | Command::Capacity(args)) = parse_command(arguments).ok()? else { return None };
    let (source, _) = without_missing_files(&args.source, &registry.catalog());
    source::time_needed(&source, &registry).ok().flatten()
}

/// Parses a line's words by étalon's own parser.
fn parse_command(arguments: &[String]) -> Result<Command, CliError> {
    match Cli::try_parse_from(std::iter::once("etalon").chain(arguments.iter().map(String::as_str))) {
        Ok(cli) => Ok(cli.command),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().next().unwrap_or_default();
            Err(CliError::user_error(first.trim_start_matches("error: ").to_owned()))
        }
    }
}

/// Makes a question's plan without asking its systems, but for files that are not there.
fn check_source(source: &PlanSource) -> Checked {
    let registry = Registry::built_in();
    let (source, missing) = without_missing_files(source, &registry.catalog());
    let names_nothing = source.question.what.is_empty() && source.question.system.is_empty();
    if names_nothing && !missing.is_empty() {
        return Checked::Missing(missing);
    }
    let expected = source::load_plan(&source, &registry, 0).and_then(|loaded| expected_time(&loaded.plan, &registry));
    match expected {
        Err(error) => error.into(),
        Ok(_) if missing.is_empty() => Checked::Accepted,
        Ok(_) => Checked::Missing(missing),
    }
}

/// Copies a question to be checked, without the files that are not there; lists them.
fn without_missing_files(source: &PlanSource, catalog: &Catalog) -> (PlanSource, Vec<String>) {
    let mut question = Question { is_only_checked: true, ..source.question.clone() };
    let mut missing: Vec<String> = question.what.extract_if(.., |word| is_missing_file(word, catalog)).collect();
    missing.extend(question.script.extract_if(.., |script| is_missing_script(script, catalog)));
    missing.extend(question.queries.extract_if(.., |path| !Path::new(path.as_str()).exists()));
    (PlanSource { question, ..source.clone() }, missing)
}

/// Tests whether a script, or one of a mix, is neither built in nor a file.
fn is_missing_script(script: &str, catalog: &Catalog) -> bool {
    let mut parts = script.split(',').map(|part| part.split('@').next().unwrap_or_default());
    parts.any(|part| built_in_script(part, catalog).is_none() && !Path::new(part).exists())
}

/// Tests whether a word names a file or folder that is not there.
fn is_missing_file(word: &str, catalog: &Catalog) -> bool {
    let is_built_in = source::BUILT_IN.iter().any(|plan| plan.name == word) || built_in_script(word, catalog).is_some();
    match classify_word(word, catalog) {
        Ok(Word::System(_)) => false,
        Ok(_) => !is_built_in && !Path::new(word).exists(),
        Err(error) => error.unknown_word.is_some() && !word.contains("://") && !Path::new(word).exists(),
    }
}

/// Checks that all stores are there and can be read.
fn check_stores<'w>(words: impl IntoIterator<Item = &'w String>) -> Checked {
    let mut missing = Vec::new();
    for word in words {
        let path = Side::parse(word).store;
        if !path.exists() && is_store(&path) {
            missing.push(word.clone());
            continue;
        }
        if let Err(error) = Store::open_read_only(&path) {
            return CliError::from(error).into();
        }
    }
    accepted_unless_missing(&missing)
}

/// Checks that the files to import are there, and reads them unless they are large.
fn check_import(args: &ImportArgs) -> Checked {
    let missing: Vec<&String> = args.files.iter().filter(|file| !is_readable(path_of_file(file))).collect();
    if !missing.is_empty() {
        return accepted_unless_missing(missing);
    }
    let sizes = args.files.iter().filter_map(|file| std::fs::metadata(path_of_file(file)).ok());
    let is_small = sizes.map(|file| file.len()).sum::<u64>() <= MOST_READ_BYTES;
    match if is_small { check_readable(args) } else { Ok(()) } {
        Ok(()) => Checked::Accepted,
        Err(error) => error.into(),
    }
}

/// The path of `FILE` or `SYSTEM=FILE`.
fn path_of_file(word: &str) -> &str {
    if Path::new(word).exists() { word } else { word.split_once('=').map_or(word, |(_, path)| path) }
}

/// Checks a gate's limits and its largest regression.
fn check_gate(args: &GateArgs) -> Result<(), CliError> {
    parse_share("--max-regression", args.max_regression.as_deref(), REGRESSION)?;
    for text in &args.limit {
        text.parse::<Limit>()
            .map_err(|error| CliError::user_error(format!("`--limit`: {error}")).with_hint(error.hint()))?;
    }
    Ok(())
}

/// Tests whether a path is there, or is a pattern of files that are.
fn is_readable(path: &str) -> bool {
    path == crate::output::STDOUT
        || Path::new(path).exists()
        || glob::glob(path).is_ok_and(|mut found| found.next().is_some())
}

/// Accepts a line for which no file is missing.
fn accepted_unless_missing<'f>(missing: impl IntoIterator<Item = &'f String>) -> Checked {
    let missing: Vec<String> = missing.into_iter().cloned().collect();
    if missing.is_empty() { Checked::Accepted } else { Checked::Missing(missing) }
}
