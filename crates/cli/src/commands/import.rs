//! `etalon import`: results of other tools into a store.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use formats::pgbench::{AggregateRun, AggregateSummary, LogSummary, SeventhColumn};
use formats::{
    Experiment, FormatError, Imported, NotUnderstood, fio, hammerdb, pgbench, sqlio, sysbench, task_log, tidy,
};
use report::Evidence;
use report::number::count;
use store::{EXTENSION, Store};

use super::run::header;
use crate::args::{ImportArgs, ImportFormat, Seventh};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::STDOUT;
use crate::printer::Printer;

/// [`store::Header::build`] of an imported store.
const BUILD: &str = report::evidence::IMPORTED;
/// Unrecognised lines shown per file.
const SHOWN_LINES: usize = 5;

struct Input {
    system: String,
    path: PathBuf,
    named_by: NamedBy,
}

/// Who named an input's system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedBy {
    User,
    File,
}

pub fn run(args: &ImportArgs, printer: Printer) -> Result<Exit, CliError> {
    if args.seventh.is_some() && args.format != ImportFormat::PgbenchLog {
        return Err(CliError::user("--seventh is about the logs of `pgbench -l`").hint("leave it out"));
    }
    if args.output.as_os_str() == STDOUT {
        return Err(CliError::user("a store cannot go to stdout").hint("name a file with `-o STORE`"));
    }
    let inputs = inputs(args)?;
    let imports = read(args, &inputs, printer)?;
    let name = args.output.file_stem().map_or_else(|| BUILD.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let experiment = formats::into_experiment(&name, &imports).map_err(|error| CliError::from(&error))?;
    let path = with_extension(&args.output);
    keep(&path, &experiment)?;
    tell(&path, &experiment, &imports, printer);
    Ok(Exit::Done)
}

fn inputs(args: &ImportArgs) -> Result<Vec<Input>, CliError> {
    let input = |text: &String| match text.split_once('=').filter(|_| !Path::new(text).exists()) {
        Some(("", _)) => Err(CliError::user(format!("`{text}` names no system")).hint("write SYSTEM=FILE")),
        Some(_) if args.format == ImportFormat::Tidy => {
            Err(CliError::user(format!("`{text}`: a tidy table names its systems itself")).hint("name the file alone"))
        }
        Some((system, file)) => {
            Ok(Input { system: system.to_owned(), path: PathBuf::from(file), named_by: NamedBy::User })
        }
        None => {
            let path = PathBuf::from(text);
            Ok(Input { system: default_system(&path, args.format), path, named_by: NamedBy::File })
        }
    };
    let mut inputs: Vec<Input> = args.files.iter().map(input).collect::<Result<_, CliError>>()?;
    // The logs of a run are named by their processes, and those of tasks by their folders.
    if !matches!(
        args.format,
        ImportFormat::TaskLog | ImportFormat::PgbenchLog | ImportFormat::PgbenchAggregate | ImportFormat::Tidy
    ) {
        name_by_folders(&mut inputs);
    }
    Ok(inputs)
}

/// Names files of one name in different folders after the parts of the paths in which they differ: `a/pgbench.log` and
/// `b/pgbench.log` are of `a` and `b`.
fn name_by_folders(inputs: &mut [Input]) {
    let folders = |path: &Path| -> Vec<String> {
        let parts = path.parent().into_iter().flat_map(Path::components);
        parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
    };
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, input) in inputs.iter().enumerate().filter(|(_, input)| input.named_by == NamedBy::File) {
        alike.entry(input.system.clone()).or_default().push(at);
    }
    for (name, places) in alike {
        let paths: Vec<Vec<String>> = places.iter().map(|at| folders(&inputs[*at].path)).collect();
        let deepest = paths.iter().map(Vec::len).max().unwrap_or(0);
        let differs = |at: &usize| paths.iter().any(|path| path.get(*at) != paths[0].get(*at));
        let differing: Vec<usize> = (0..deepest).filter(differs).collect();
        if differing.is_empty() {
            continue;
        }
        for (at, path) in places.into_iter().zip(&paths) {
            let parts: Vec<&str> = differing.iter().filter_map(|at| path.get(*at)).map(String::as_str).collect();
            inputs[at].system = if parts.is_empty() { name.clone() } else { parts.join("/") };
        }
    }
}

/// File stem; pgbench logs without their numbers, since a run has several; for task logs the folder's name.
fn default_system(path: &Path, format: ImportFormat) -> String {
    let whole = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let stem = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    match format {
        ImportFormat::TaskLog => {
            path.parent().and_then(Path::file_name).map_or(stem, |folder| folder.to_string_lossy()).into_owned()
        }
        ImportFormat::PgbenchLog | ImportFormat::PgbenchAggregate => {
            let prefix = pgbench::prefix_of_log(&whole);
            if prefix == whole { stem.into_owned() } else { prefix.to_owned() }
        }
        _ => stem.into_owned(),
    }
}

fn read(args: &ImportArgs, inputs: &[Input], printer: Printer) -> Result<Vec<Imported>, CliError> {
    match args.format {
        ImportFormat::TaskLog => {
            let sides = together(inputs, |_| PathBuf::new(), task_log::Summary::read)?;
            not_empty(&sides, "task", |sum| sum.succeeded() + sum.failed())?;
            let import = |side: Run<task_log::Summary>| {
                let source = side.source();
                let Run { system, mut sum, .. } = side;
                task_log::import(&mut sum, &system, &source)
            };
            Ok(sides.into_iter().map(import).collect())
        }
        ImportFormat::PgbenchLog => {
            let seventh = match args.seventh {
                None => SeventhColumn::Unknown,
                Some(Seventh::Lag) => SeventhColumn::Lag,
                Some(Seventh::Retries) => SeventhColumn::Retries,
            };
            let read = |log: &mut LogSummary, reader: BufReader<File>| log.read(reader, seventh);
            let runs = together(inputs, |input| run_of(input, inputs), read)?;
            not_empty(&runs, "transaction", LogSummary::lines)?;
            if let Some(run) = runs.iter().find(|run| run.sum.is_of_several_runs()) {
                let what = format!(
                    "{}: clients have more lines than transactions: these are logs of several runs",
                    run.source()
                );
                return Err(CliError::user(what).hint(AS_PGBENCH_NAMES_THEM));
            }
            one_after_the_other(&runs, LogSummary::overlaps)?;
            Ok(runs.iter().map(|run| pgbench::import_log(&run.sum, &run.system, &run.source())).collect())
        }
        ImportFormat::PgbenchAggregate => {
            let runs = together(inputs, |input| run_of(input, inputs), AggregateSummary::read)?;
            not_empty(&runs, "interval", |sum| sum.intervals().len() as u64)?;
            one_after_the_other(&runs, AggregateSummary::overlaps)?;
            let runs = runs.iter().map(|run| AggregateRun { log: &run.sum, system: &run.system, source: run.source() });
            Ok(pgbench::import_aggregates(&runs.collect::<Vec<_>>()))
        }
        _ => inputs.iter().map(|input| one(args.format, input, printer)).collect(),
    }
}

/// Files of one run, added up.
struct Run<S> {
    system: String,
    name: PathBuf,
    sum: S,
    sources: Vec<String>,
}

impl<S> Run<S> {
    fn source(&self) -> String {
        self.sources.join(", ")
    }
}

/// Adds up each system's files of one run.
fn together<S: Default>(
    inputs: &[Input],
    name: impl Fn(&Input) -> PathBuf,
    read: impl Fn(&mut S, BufReader<File>) -> Result<(), FormatError>,
) -> Result<Vec<Run<S>>, CliError> {
    let mut runs: Vec<Run<S>> = Vec::new();
    for input in inputs {
        let name = name(input);
        let at = match runs.iter().position(|run| run.system == input.system && run.name == name) {
            Some(known) => known,
            None => {
                runs.push(Run { system: input.system.clone(), name, sum: S::default(), sources: Vec::new() });
                runs.len() - 1
            }
        };
        let file = File::open(&input.path).map_err(|error| unreadable(&input.path, &error))?;
        let run = &mut runs[at];
        let reader = BufReader::with_capacity(1 << 16, file);
        read(&mut run.sum, reader).map_err(|error| in_file(&input.path, &error))?;
        run.sources.push(input.path.display().to_string());
    }
    Ok(runs)
}

/// Refuses a run without a line, which measured nothing; single threads may be empty.
fn not_empty<S>(runs: &[Run<S>], what: &str, count: impl Fn(&S) -> u64) -> Result<(), CliError> {
    match runs.iter().find(|run| count(&run.sum) == 0) {
        None => Ok(()),
        Some(run) => {
            let error = CliError::user(format!("{} holds no {what}", run.source()));
            Err(error.hint("name the files of a run that ended, or leave this one out"))
        }
    }
}

const AS_PGBENCH_NAMES_THEM: &str =
    "name the logs as pgbench does: NAME.PROCESS for a run's first thread, NAME.PROCESS.1 for its second";

fn run_of(input: &Input, all: &[Input]) -> PathBuf {
    let name = input.path.file_name().unwrap_or(input.path.as_os_str()).to_string_lossy();
    let is_known = |name: &str| {
        let path = input.path.with_file_name(name);
        all.iter().any(|other| other.system == input.system && other.path == path)
    };
    input.path.with_file_name(pgbench::run_of_log(&name, is_known))
}

/// Repetitions follow each other; overlapping ones are threads of one run under other names.
fn one_after_the_other<S>(runs: &[Run<S>], overlaps: impl Fn(&S, &S) -> bool) -> Result<(), CliError> {
    for (at, run) in runs.iter().enumerate() {
        let other = runs[..at].iter().find(|other| other.system == run.system && overlaps(&other.sum, &run.sum));
        if let Some(other) = other {
            let what = format!(
                "{} and {} are of the same time, and a system has its runs one after the other",
                other.source(),
                run.source()
            );
            return Err(CliError::user(what).hint(AS_PGBENCH_NAMES_THEM));
        }
    }
    Ok(())
}

fn one(format: ImportFormat, input: &Input, printer: Printer) -> Result<Imported, CliError> {
    let bytes = std::fs::read(&input.path).map_err(|error| unreadable(&input.path, &error))?;
    let source = input.path.display().to_string();
    let (imported, strange) = match format {
        ImportFormat::Sqlio => {
            let output = sqlio::read(&bytes);
            (sqlio::import(&output, &input.system, &source), output.not_understood)
        }
        ImportFormat::Sysbench => {
            let output = sysbench::read(&bytes);
            (sysbench::import(&output, &input.system, &source), output.not_understood)
        }
        ImportFormat::Fio => {
            let documents = fio::read(&bytes).map_err(|error| in_file(&input.path, &error))?;
            (fio::import(&documents, &input.system, &source), Vec::new())
        }
        ImportFormat::Hammerdb => {
            let output = hammerdb::read(&bytes);
            (hammerdb::import(&output, &input.system, &source), output.not_understood)
        }
        ImportFormat::Tidy => {
            let table = tidy::parse(&table_text(&input.path, &bytes)?).map_err(|error| in_file(&input.path, &error))?;
            (tidy::import(&table, &source).map_err(|error| in_file(&input.path, &error))?, Vec::new())
        }
        _ => {
            let found = pgbench::read_summaries(&bytes);
            (pgbench::import_summaries(&found, &input.system, &source), found.not_understood)
        }
    };
    if imported.results.is_empty() {
        if format == ImportFormat::Tidy {
            let what = format!("{source} holds no measurement: no row follows the heading, or all are of other kinds");
            return Err(CliError::user(what).hint("`etalon audit` reads the rows of kind `printed`"));
        }
        let error = CliError::user(format!("{source} holds no result of {}", imported.tool.as_str()));
        return Err(error.hint("name the format that the file has; `etalon import --help` lists them"));
    }
    show_strange(&source, &strange, printer);
    Ok(imported)
}

pub fn table_text(path: &Path, bytes: &[u8]) -> Result<String, CliError> {
    if bytes.starts_with(b"PAR1") {
        let error = CliError::user(format!("{} is a Parquet file, and no text", path.display()));
        return Err(error.hint("write the table as CSV, as DuckDB does: `COPY (FROM 't.parquet') TO 't.csv'`"));
    }
    if bytes.starts_with(b"SQLite format 3\0") {
        let what = format!("{} is a store, or another database of SQLite, and no table", path.display());
        return Err(CliError::user(what).hint("`etalon export STORE` writes a store as a table"));
    }
    let text = formats::text::decode(bytes);
    if text.contains('\0') {
        return Err(CliError::user(format!("{} is no text: it holds bytes of 0", path.display())));
    }
    Ok(text)
}

fn show_strange(source: &str, strange: &[NotUnderstood], printer: Printer) {
    for line in strange.iter().take(SHOWN_LINES) {
        printer.warning(&format!("{source}:{}: not understood: {}", line.line, line.text));
    }
    if strange.len() > SHOWN_LINES {
        printer.warning(&format!("{source}: {} more lines were not understood", strange.len() - SHOWN_LINES));
    }
}

pub fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::user(format!("cannot read {}: {error}", path.display()))
}

pub fn in_file(path: &Path, error: &FormatError) -> CliError {
    let error = CliError::from(error);
    CliError { message: format!("{}: {}", path.display(), error.message), ..error }
}

fn with_extension(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == EXTENSION) {
        path.to_owned()
    } else {
        path.with_added_extension(EXTENSION)
    }
}

/// What a store of it would hold.
pub fn evidence(experiment: Experiment) -> Evidence {
    let runs = experiment.repeated.into_iter().chain(experiment.runs).collect();
    Evidence::of(header(BUILD, &experiment.plan), runs, experiment.facts)
}

/// On failure no file is left.
fn keep(path: &Path, experiment: &Experiment) -> Result<(), CliError> {
    let header = header(BUILD, &experiment.plan);
    let order: Vec<_> = experiment.runs.iter().map(|(planned, _)| *planned).collect();
    let mut store = Store::create(path, &header, &order)?;
    if let Err(error) = fill(&mut store, experiment, header.created_unix_ms) {
        // The transaction failed, so the store is empty.
        let _ = store.close_unless_untouched();
        return Err(CliError::from(error));
    }
    Ok(store.close()?)
}

fn fill(store: &mut Store, experiment: &Experiment, now_unix_ms: i64) -> Result<(), store::StoreError> {
    for (system, facts) in &experiment.facts {
        store.put_facts(system, facts, now_unix_ms)?;
    }
    store.store_runs(&experiment.repeated, now_unix_ms)?;
    store.store_runs(&experiment.runs, now_unix_ms)
}

fn tell(path: &Path, experiment: &Experiment, imports: &[Imported], printer: Printer) {
    let systems: Vec<&str> = experiment.plan.systems.iter().map(|system| system.name.as_str()).collect();
    if printer.json {
        let sources = imports.iter().map(|import| {
            serde_json::json!({
                "source": import.source, "tool": import.tool.as_str(), "version": import.version,
                "results": import.results.len(), "failed": import.failed(), "unknown": import.unknown, "notes": import.notes,
            })
        });
        let document = serde_json::json!({
            "schema_version": 1, "store": path.display().to_string(), "systems": systems,
            "runs": experiment.runs.len(), "notes": experiment.notes, "sources": sources.collect::<Vec<_>>(),
        });
        printer.out(&document.to_string());
        return;
    }
    for import in imports {
        let version = import.version.as_deref().unwrap_or("of unknown version");
        let results = count(import.results.len(), "result");
        printer.note(&format!("{}: {results} of {} {version}", import.source, import.tool.as_str()));
        import.notes.iter().for_each(|note| printer.note(&format!("  {note}")));
    }
    experiment.notes.iter().take(SHOWN_LINES).for_each(|note| printer.remark(note));
    if let Some(more) = experiment.notes.len().checked_sub(SHOWN_LINES).filter(|more| *more > 0) {
        printer.remark(&format!("{more} more cases lack repetitions"));
    }
    let runs = count(experiment.runs.len(), "run");
    printer.note(&format!("{runs} of {}: {}", count(systems.len(), "system"), systems.join(", ")));
    printer.note(&format!("store: {}\nsee `etalon compare {}`", path.display(), path.display()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(paths: &[&str]) -> Vec<String> {
        let input = |path: &&str| Input {
            system: default_system(Path::new(path), ImportFormat::Pgbench),
            path: PathBuf::from(path),
            named_by: NamedBy::File,
        };
        let mut inputs: Vec<Input> = paths.iter().map(input).collect();
        name_by_folders(&mut inputs);
        inputs.into_iter().map(|input| input.system).collect()
    }

    #[test]
    fn files_of_one_name_are_named_after_their_folders() {
        assert_eq!(names(&["a/pgbench.log", "b/pgbench.log"]), ["a", "b"]);
        assert_eq!(names(&["r/a/1/p.log", "r/b/1/p.log", "r/b/2/p.log"]), ["a/1", "b/1", "b/2"]);
        assert_eq!(names(&["p.log", "b/p.log"]), ["p", "b"]);
        assert_eq!(names(&["a/x.log", "b/y.log"]), ["x", "y"]);
        assert_eq!(names(&["a/x.log", "a/x.log"]), ["x", "x"]);
    }
}
