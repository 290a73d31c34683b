//! `etalon import`: results of other tools into a store.

mod alias;
mod baseline;
mod file_names;
mod inputs;
mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use formats::tidy;
use formats::tidy::wide::Mapping;
use formats::{Experiment, FormatError, Imported, NotUnderstood, Options, Reader};
use report::Evidence;
use report::number::count_noun;
use store::{EXTENSION, Store};

use self::alias::Aliases;
use self::inputs::Input;
use self::read::Reading;
use super::run::header_of_plan;
use crate::args::ImportArgs;
use crate::args::guessed::{grouped_files, imported_name, typed_line};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::STDOUT;
use crate::printer::Printer;

/// [`store::Header::build`] of an imported store.
const BUILD: &str = report::evidence::IMPORTED;
/// `--format`: each file is recognised.
pub const AUTO: &str = "auto";
/// Most files of which each has a line of its own.
const SHOWN_FILES: usize = 20;
/// Unrecognised lines shown per file.
const SHOWN_LINES: usize = 5;

/// Files that come by mail and are not read: how they begin, what they are, what to do.
const FOREIGN: [(&[u8], &str, &str); 6] = [
    (b"\xFD7zXZ\0", "packed by xz", "unpack it with `unxz`"),
    (b"BZh", "packed by bzip2", "unpack it with `bunzip2`"),
    (b"7z\xBC\xAF\x27\x1C", "an archive of 7-Zip", "unpack it with `7z x`"),
    (b"Rar!", "an archive of RAR", "unpack it with `unrar x`"),
    (b"%PDF", "a PDF", "copy the output out of it into a text file"),
    (b"\xD0\xCF\x11\xE0", "a document of an office program", "save the table as CSV, or the output as a text file"),
];

/// Runs `etalon import`.
pub fn run(args: &ImportArgs, printer: Printer) -> Result<Exit, CliError> {
    if args.output.as_os_str() == STDOUT {
        return Err(CliError::user_error("a store cannot go to stdout").with_hint("name a file with `-o STORE`"));
    }
    let args = take_format_argument(args);
    let aliases = Aliases::parse(&args.alias)?;
    let (inputs, mut imports) = read_inputs(&args, printer)?;
    formats::places::tell_places_apart(&mut imports);
    formats::loads::tell_loads_apart(&mut imports);
    aliases.rename_all(&mut imports)?;
    formats::versions::tell_versions_apart(
        &mut imports,
        inputs.iter().any(|input| input.named_by == inputs::NamedBy::User),
    );
    formats::copies::leave_out_copies_of_others(&mut imports);
    formats::copies::mark_equal_results(&mut imports);
    let name = args.output.file_stem().map_or_else(|| BUILD.to_owned(), |stem| stem.to_string_lossy().into_owned());
    let mut experiment = formats::into_experiment(&name, &imports).map_err(|error| CliError::from(&error))?;
    let chosen = baseline::choose_baseline(args.baseline.as_deref(), &inputs, &mut experiment)?;
    let path = with_extension(&args.output);
    write_store(&path, &experiment)?;
    print_import(&path, &experiment, &imports, printer);
    if !printer.json {
        chosen.iter().for_each(|note| printer.print_note(note));
        note_of_lone_runs(&args, &experiment).iter().for_each(|note| printer.print_remark(note));
    }
    Ok(Exit::Done)
}

/// Reads what the arguments name; nothing is written.
fn read_inputs(args: &ImportArgs, printer: Printer) -> Result<(Vec<Input>, Vec<Imported>), CliError> {
    let only = formats::reader::find_reader(&args.format);
    let options = reader_options(args, only)?;
    let inputs = inputs::read_arguments(args)?;
    let imports = Reading::new(only, &options, printer).read_all(&inputs)?;
    Ok((inputs, imports))
}

/// Fails as `etalon import` would on files that it cannot read, and prints nothing.
pub fn check_readable(args: &ImportArgs) -> Result<(), CliError> {
    read_inputs(&take_format_argument(args), Printer::silent()).map(|_| ())
}

/// Says that each file became a system, where their names count runs; `None` where they do not.
fn note_of_lone_runs(args: &ImportArgs, experiment: &Experiment) -> Option<String> {
    let systems = experiment.plan.systems.len();
    let grouped = grouped_files(&args.files).filter(|_| systems == args.files.len())?;
    let line = [vec!["import".to_owned()], grouped, vec!["-o".to_owned(), imported_name(&args.files)]].concat();
    Some(format!("{systems} systems of one file each; `{}` makes runs of one system of them", typed_line(&line)))
}

/// Takes a format's name as the first argument, as formats were named before they were recognised.
fn take_format_argument(args: &ImportArgs) -> ImportArgs {
    let mut args = args.clone();
    if args.format == AUTO
        && args.files.len() > 1
        && args
            .files
            .first()
            .is_some_and(|first| formats::reader::find_reader(first).is_some() && !Path::new(first).exists())
    {
        args.format = args.files.remove(0);
    }
    args
}

/// Makes the options of the readers; refuses `--seventh` for what is no log of pgbench.
fn reader_options(args: &ImportArgs, only: Option<&'static Reader>) -> Result<Options, CliError> {
    let is_of_logs = only.is_none_or(|reader| reader.name == formats::pgbench::LOG_READER.name);
    if args.seventh.is_some() && !is_of_logs {
        return Err(CliError::user_error("--seventh is about the logs of `pgbench -l`").with_hint("leave it out"));
    }
    let mappings = args.map.iter().map(|text| Mapping::parse(text)).collect::<Result<_, _>>();
    let mappings = mappings.map_err(|error| CliError::from(&error))?;
    Ok(Options { seventh: args.seventh.map(Into::into).unwrap_or_default(), mappings })
}

/// Decodes the text of a table; fails for a Parquet file, a store or another binary file, and says what it is.
pub fn table_text(path: &Path, bytes: &[u8]) -> Result<String, CliError> {
    if bytes.starts_with(b"PAR1") {
        let error = CliError::user_error(format!("{} is a Parquet file, and no text", path.display()));
        return Err(error.with_hint("write the table as CSV, as DuckDB does: `COPY (FROM 't.parquet') TO 't.csv'`"));
    }
    if let Some((_, what, hint)) = FOREIGN.iter().find(|(beginning, ..)| bytes.starts_with(beginning)) {
        return Err(CliError::user_error(format!("{} is {what}, and no text", path.display())).with_hint(*hint));
    }
    if bytes.starts_with(formats::reader::SQLITE) {
        let what = format!("{} is a store, or another database of SQLite, and no table", path.display());
        let export = typed_line(&["export".to_owned(), path.display().to_string()]);
        return Err(CliError::user_error(what).with_hint(format!("`{export}` writes a store as a table")));
    }
    let text = formats::text::decode(bytes);
    if text.contains('\0') {
        return Err(CliError::user_error(format!("{} is no text: it holds bytes of 0", path.display())));
    }
    Ok(text)
}

/// Warns of the first lines that were not understood, and of how many more.
fn show_strange(source: &str, strange: &[NotUnderstood], printer: Printer) {
    for line in strange.iter().take(SHOWN_LINES) {
        printer.print_warning(&format!("{source}:{}: not understood: {}", line.line, line.text));
    }
    if strange.len() > SHOWN_LINES {
        printer.print_warning(&format!("{source}: {} more lines were not understood", strange.len() - SHOWN_LINES));
    }
}

/// The error of a file that cannot be read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> CliError {
    CliError::user_error(format!("cannot read {}: {error}", path.display()))
}

/// Makes a user error of a format's error, with the file's name in front.
pub fn in_file(path: &Path, error: &FormatError) -> CliError {
    let error = CliError::from(error);
    CliError { message: format!("{}: {}", path.display(), error.message), ..error }
}

/// Appends the extension of stores to a path, if it has another.
fn with_extension(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|extension| extension == EXTENSION) {
        path.to_owned()
    } else {
        path.with_added_extension(EXTENSION)
    }
}

/// Makes the evidence that a store of the experiment would hold.
pub fn evidence_of(experiment: Experiment) -> Evidence {
    let runs = experiment.repeated.into_iter().chain(experiment.runs).collect();
    Evidence::from_runs(header_of_plan(BUILD, &experiment.plan), runs, experiment.facts)
}

/// Writes an experiment into a new store; a failure leaves no file.
fn write_store(path: &Path, experiment: &Experiment) -> Result<(), CliError> {
    let header = header_of_plan(BUILD, &experiment.plan);
    let order: Vec<_> = experiment.runs.iter().map(|(planned, _)| *planned).collect();
    let mut store = Store::create(path, &header, &order).map_err(|error| match error {
        store::StoreError::Exists { .. } => {
            CliError { hints: vec!["give another name with `-o`, or remove it".to_owned()], ..CliError::from(error) }
        }
        error => CliError::from(error),
    })?;
    if let Err(error) = fill_store(&mut store, experiment, header.created_unix_ms) {
        // The transaction failed, so the store is empty.
        let _ = store.close_unless_untouched();
        return Err(CliError::from(error));
    }
    Ok(store.close()?)
}

/// Writes an experiment's facts and runs into a store.
fn fill_store(store: &mut Store, experiment: &Experiment, now_unix_ms: i64) -> Result<(), store::StoreError> {
    for (system, facts) in &experiment.facts {
        store.put_facts(system, facts, now_unix_ms)?;
    }
    store.store_runs(&experiment.repeated, now_unix_ms)?;
    store.store_runs(&experiment.runs, now_unix_ms)
}

/// Prints what was imported: for each file or for groups of files, and where the store is.
fn print_import(path: &Path, experiment: &Experiment, imports: &[Imported], printer: Printer) {
    let systems: Vec<&str> = experiment.plan.systems.iter().map(|system| system.name.as_str()).collect();
    if printer.json {
        let sources = imports.iter().map(|import| {
            serde_json::json!({
                "source": import.source, "tool": import.tool, "version": import.version,
                "results": import.results.len(), "failed": import.count_failed_results(), "unknown": import.unknown, "notes": import.notes,
            })
        });
        let document = serde_json::json!({
            "schema_version": 1, "store": path.display().to_string(), "systems": systems,
            "runs": experiment.runs.len(), "notes": experiment.notes, "sources": sources.collect::<Vec<_>>(),
        });
        printer.print_result(&document.to_string());
        return;
    }
    if imports.len() > SHOWN_FILES {
        print_files_together(imports, printer);
    } else {
        imports.iter().for_each(|import| print_file(import, printer));
    }
    experiment.notes.iter().take(SHOWN_LINES).for_each(|note| printer.print_remark(note));
    if let Some(more) = experiment.notes.len().checked_sub(SHOWN_LINES).filter(|more| *more > 0) {
        printer.print_remark(&format!("{more} more cases lack repetitions"));
    }
    let runs = count_noun(experiment.runs.len(), "run");
    printer.print_note(&format!("{runs} of {}: {}", count_noun(systems.len(), "system"), systems.join(", ")));
    printer.print_note(&format!("store: {}\nsee `etalon compare {}`", path.display(), path.display()));
}

/// Prints what was read from one file, with its notes.
fn print_file(import: &Imported, printer: Printer) {
    let results = count_noun(import.results.len(), "result");
    printer.print_note(&format!("{}: {results} of {}", import.source, origin_text(import)));
    import.notes.iter().for_each(|note| printer.print_note(&format!("  {note}")));
}

/// Says what a file's results are of: a tool and its version, or a table.
fn origin_text(import: &Imported) -> String {
    let is_table = [tidy::READER.name, tidy::wide::READER.name].contains(&import.tool);
    match &import.version {
        None if is_table => "a table".to_owned(),
        None => format!("{} of unknown version", import.tool),
        Some(version) => format!("{} {version}", import.tool),
    }
}

/// Prints for many files how many there are of each tool and system, and each note once.
fn print_files_together(imports: &[Imported], printer: Printer) {
    let mut groups: BTreeMap<(&str, String), (usize, usize)> = BTreeMap::new();
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    for import in imports {
        // One of copies alone has no results.
        if let Some(result) = import.results.first() {
            let group = groups.entry((&result.system, origin_text(import))).or_default();
            *group = (group.0 + 1, group.1 + import.results.len());
        }
        import.notes.iter().for_each(|note| *notes.entry(note).or_default() += 1);
    }
    for ((system, origin), (files, results)) in groups.iter().take(SHOWN_FILES) {
        let (files, results) = (count_noun(*files, "file"), count_noun(*results, "result"));
        printer.print_note(&format!("{system}: {results} of {origin} from {files}"));
    }
    if let Some(more) = groups.len().checked_sub(SHOWN_FILES).filter(|more| *more > 0) {
        printer.print_note(&format!("and {more} more groups of files"));
    }
    for (note, files) in notes.iter().take(SHOWN_LINES) {
        printer.print_note(&format!("  {note} (in {})", count_noun(*files, "file")));
    }
    if let Some(more) = notes.len().checked_sub(SHOWN_LINES).filter(|more| *more > 0) {
        printer.print_note(&format!("  and {more} more notes, which the store keeps"));
    }
}
