//! Reads what the arguments name: each text by the readers that recognise it, logs together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::io::{BufRead, BufReader, Cursor, Read as _};
use std::path::{Path, PathBuf};

use formats::packed::{self, MAX_TEXT_BYTES, Packing};
use formats::reader::{self, LogFile, Names, ReadDatabase, Reads, database_reader, find_log_reader};
use formats::recognise::{Captions, Read, Text, first_words, read as read_text};
use formats::{FormatError, Imported, ImportedResult, NotUnderstood, Options, Reader, copies, logs};
use report::number::count_noun;

use super::file_names::{self, Place};
use super::inputs::{Input, Kind, NamedBy, file_stem, files_below, systems_below};
use super::{in_file, show_strange, unreadable};
use crate::error::CliError;
use crate::output;
use crate::printer::Printer;

/// Bytes of a file that show whether it is a log.
const HEAD_BYTES: u64 = 64 << 10;
/// Files of no known format that are named.
const SHOWN_FILES: usize = 3;

/// A file to read, wherever it comes from.
struct Leaf {
    system: String,
    named_by: NamedBy,
    /// True if an argument names it, and not a folder around it.
    is_explicit: bool,
    /// Its name in messages.
    path: PathBuf,
    /// The path below the folder or archive that an argument names.
    below: PathBuf,
    /// The folders between what names the system and the file; `None` where its name and folders tell nothing else.
    folders: Option<Vec<String>>,
    /// `None` for a file that is opened when it is read.
    bytes: Option<Vec<u8>>,
}

impl Leaf {
    /// Opens the file to read, unpacked if it is packed.
    fn open(&self) -> std::io::Result<Box<dyn BufRead>> {
        let packed: Box<dyn std::io::Read> = match &self.bytes {
            Some(bytes) => Box::new(Cursor::new(bytes.clone())),
            None => Box::new(File::open(&self.path)?),
        };
        let mut packed = BufReader::with_capacity(1 << 16, packed);
        let packing = Packing::from_head(packed.fill_buf()?);
        Ok(Box::new(BufReader::with_capacity(1 << 16, packed::unpacking_reader(packing, Box::new(packed))?)))
    }
}

/// Reads all inputs.
pub struct Reading<'a> {
    /// The format, if the user named it.
    only: Option<&'static Reader>,
    options: &'a Options,
    printer: Printer,
    imports: Vec<Imported>,
    logs: Vec<(&'static Reader, Vec<Leaf>)>,
    /// Index in `imports` of the import to which the logs belong.
    logs_at: Option<usize>,
    /// Files of folders that are of no known format.
    unknown: Vec<String>,
    /// Lines that no reader knows, by file.
    strange: Vec<(String, Vec<NotUnderstood>)>,
    /// The system and the hash of each text.
    seen: BTreeSet<(String, u64)>,
    /// Where the results of files of folders and of one name come from, by file.
    places: BTreeMap<String, Place>,
    /// The systems and sources of the files that themselves name the system of a case.
    named_by_inputs: BTreeMap<(String, String, String), BTreeSet<(String, String)>>,
    /// True if systems are named after files and folders, whatever these name.
    ignores_own_names: bool,
}

impl<'a> Reading<'a> {
    /// Makes a reading of nothing yet, by the given reader alone or by all of them.
    pub fn new(only: Option<&'static Reader>, options: &'a Options, printer: Printer) -> Reading<'a> {
        Reading {
            only,
            options,
            printer,
            imports: Vec::new(),
            logs: Vec::new(),
            logs_at: None,
            unknown: Vec::new(),
            strange: Vec::new(),
            seen: BTreeSet::new(),
            places: BTreeMap::new(),
            named_by_inputs: BTreeMap::new(),
            ignores_own_names: false,
        }
    }

    /// Reads all inputs into imports; where two inputs have results of the same names, each input is a system of its own.
    /// Such results are no repetitions, as those of the same commands on two machines.
    pub fn read_all(mut self, inputs: &[Input]) -> Result<Vec<Imported>, CliError> {
        self.read_once(inputs)?;
        let is_repeatable = inputs.iter().all(|input| input.kind != Kind::Stdin);
        if is_repeatable && self.names_are_of_several_inputs() {
            self.printer.print_remark("several inputs have results of the same names, so each input is a system");
            self = Reading { ignores_own_names: true, ..Reading::new(self.only, self.options, self.printer) };
            self.read_once(inputs)?;
        }
        copies::leave_out_copies(&mut self.imports);
        let sources: Vec<String> = inputs.iter().map(|input| input.path.display().to_string()).collect();
        if inputs.iter().all(|input| input.kind == Kind::File && input.named_by == NamedBy::File)
            && let Some(remark) = file_names::name_by_runs(&mut self.imports, &sources)
        {
            self.printer.print_remark(&remark);
        }
        let is_alone = inputs.len() == 1;
        for remark in file_names::tell_files_apart(&mut self.imports, &self.places, is_alone) {
            self.printer.print_remark(&remark);
        }
        self.strange.iter().for_each(|(source, lines)| show_strange(source, lines, self.printer));
        self.print_unknown(inputs)?;
        Ok(self.imports)
    }

    /// Whether results of one case, whose system the files themselves name, are of several inputs or of differently named files.
    fn names_are_of_several_inputs(&self) -> bool {
        let labels = file_names::labels_by_source(&self.imports, &self.places);
        self.named_by_inputs.values().any(|of| {
            let inputs: BTreeSet<_> = of.iter().map(|(system, source)| (system, labels.get(source))).collect();
            inputs.len() > 1
        })
    }

    /// Reads all inputs once, without asking whether they name the same systems.
    fn read_once(&mut self, inputs: &[Input]) -> Result<(), CliError> {
        for input in inputs {
            match input.kind {
                Kind::File => self.read_file(input.make_leaf(input.path.clone(), None))?,
                Kind::Stdin => {
                    let stdin = std::io::stdin().lock();
                    let bytes = packed::read_bounded(stdin, MAX_TEXT_BYTES);
                    let bytes = bytes.map_err(|error| in_file(Path::new("stdin"), &error))?;
                    if packed::is_archive(bytes.as_slice()) {
                        self.read_archive(input, Cursor::new(bytes), inputs.len() == 1)?;
                    } else {
                        self.read_file(input.make_leaf(PathBuf::from("stdin"), Some(bytes)))?;
                    }
                }
                Kind::Folder => self.read_folder(input, inputs.len() == 1)?,
                Kind::Archive => {
                    let file = File::open(&input.path).map_err(|error| unreadable(&input.path, &error))?;
                    self.read_archive(input, BufReader::new(file), inputs.len() == 1)?;
                }
            }
        }
        self.read_logs()
    }

    /// Reads the files below a folder; archives in it are noted as unknown.
    fn read_folder(&mut self, input: &Input, is_alone: bool) -> Result<(), CliError> {
        let paths = files_below(&input.path)?;
        let below: Vec<PathBuf> =
            paths.iter().map(|path| path.strip_prefix(&input.path).unwrap_or(path).to_owned()).collect();
        let systems = systems_below(&input.system, &below, is_alone && input.named_by != NamedBy::User);
        for ((path, below), (system, folders)) in paths.into_iter().zip(below).zip(systems) {
            let named_by = input.named_below();
            let leaf = Leaf { system, named_by, is_explicit: false, path, below, folders: Some(folders), bytes: None };
            if super::inputs::is_archive(&leaf.path) {
                self.unknown.push(format!("{} (an archive within a folder)", leaf.path.display()));
            } else {
                self.read_file(leaf)?;
            }
        }
        Ok(())
    }

    /// Reads an archive's files as those of a folder; refuses documents of office programs.
    fn read_archive(
        &mut self,
        input: &Input,
        archive: impl std::io::Read + std::io::Seek,
        is_alone: bool,
    ) -> Result<(), CliError> {
        let mut files = Vec::new();
        packed::each_file(archive, |name, bytes| -> Result<(), FormatError> {
            files.push((PathBuf::from(name), bytes));
            Ok(())
        })
        .map_err(|error| in_file(&input.path, &error))?;
        if files.iter().any(|(name, _)| name == Path::new("[Content_Types].xml")) {
            let what = format!("{} is a document of an office program", input.path.display());
            return Err(CliError::user_error(what).with_hint("save the table as CSV, or the output as a text file"));
        }
        let below: Vec<PathBuf> = files.iter().map(|(name, _)| name.clone()).collect();
        let systems = systems_below(&input.system, &below, is_alone && input.named_by != NamedBy::User);
        for ((name, bytes), (system, folders)) in files.into_iter().zip(systems) {
            let (path, named_by) = (input.path.join(&name), input.named_below());
            let (folders, bytes) = (Some(folders), Some(bytes));
            self.read_file(Leaf { system, named_by, is_explicit: false, path, below: name, folders, bytes })?;
        }
        Ok(())
    }

    /// Reads one file, or keeps it for later if it is a log.
    fn read_file(&mut self, leaf: Leaf) -> Result<(), CliError> {
        if leaf.bytes.is_none() && std::fs::metadata(&leaf.path).is_ok_and(|metadata| !metadata.is_file()) {
            // To open a pipe may wait for ever.
            let error = CliError::user_error(format!("{} is no regular file", leaf.path.display()));
            return Err(error.with_hint("pipe it in: `… | etalon import -`"));
        }
        let mut head = Vec::new();
        let mut reader = leaf.open().map_err(|error| unreadable(&leaf.path, &error))?;
        let read = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
        read.map_err(|error| unreadable(&leaf.path, &error))?;
        let is_empty = (head.len() as u64) < HEAD_BYTES && head.iter().all(u8::is_ascii_whitespace);
        if is_empty && leaf.is_explicit && self.only.is_none() {
            return Err(CliError::user_error(format!("{} is empty", leaf.path.display())));
        }
        let log = match self.only {
            Some(only) => Some(only).filter(|reader| matches!(reader.reads, Reads::Logs(_))),
            None => find_log_reader(&formats::text::decode(whole_lines(&head))),
        };
        if let Some(log) = log {
            return self.note_log(log, leaf);
        }
        let bytes = packed::read_bounded(Cursor::new(head).chain(reader), MAX_TEXT_BYTES);
        let bytes = bytes.and_then(packed::unpack_text).map_err(|error| in_file(&leaf.path, &error))?;
        self.read_text(&leaf, &bytes)
    }

    /// Keeps a log with its system, to be read with the others of its run.
    fn note_log(&mut self, reader: &'static Reader, leaf: Leaf) -> Result<(), CliError> {
        self.logs_at.get_or_insert(self.imports.len());
        let system = match (reader.names, leaf.named_by) {
            (Names::Folder, NamedBy::File) => {
                let folder = leaf.path.parent().and_then(Path::file_name);
                folder.map_or_else(|| leaf.system.clone(), |folder| folder.to_string_lossy().into_owned())
            }
            (Names::Log, NamedBy::File) => logs::system_of_log(&leaf.path),
            _ => leaf.system.clone(),
        };
        let leaf = Leaf { system, ..leaf };
        self.put_place(&leaf, logs::system_of_log(&leaf.path));
        match self.logs.iter_mut().find(|(known, _)| *known == reader) {
            Some((_, leaves)) => leaves.push(leaf),
            None => self.logs.push((reader, vec![leaf])),
        }
        Ok(())
    }

    /// Reads the kept logs, each reader's together, and inserts the results where the first log was.
    fn read_logs(&mut self) -> Result<(), CliError> {
        let mut found = Vec::new();
        for (reader, leaves) in &self.logs {
            let Reads::Logs(read) = reader.reads else { continue };
            let files: Vec<LogFile<'_>> =
                leaves.iter().map(|leaf| LogFile { system: &leaf.system, path: &leaf.path }).collect();
            let imports = read(&files, self.options, &mut |at| leaves[at].open());
            found.extend(imports.map_err(|error| match error.file {
                Some(at) => in_file(&leaves[at].path, &error.error),
                None => CliError::from(&error.error),
            })?);
        }
        let at = self.logs_at.unwrap_or(0);
        self.imports.splice(at..at, found);
        Ok(())
    }

    /// Reads a file as a database or as a text by the readers that recognise it; notes one that none does.
    fn read_text(&mut self, leaf: &Leaf, bytes: &[u8]) -> Result<(), CliError> {
        let source = leaf.path.display().to_string();
        let is_explicit = leaf.is_explicit;
        let database = database_reader(bytes).filter(|(reader, _)| self.only.is_none_or(|only| only == *reader));
        if let Some((reader, read)) = database {
            return self.import_database(leaf, bytes, (reader, read));
        }
        let text = match super::table_text(&leaf.path, bytes) {
            Ok(text) => text,
            Err(_) if !is_explicit => {
                self.unknown.push(source);
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        if !is_explicit && self.only.is_none() && self.options.mappings.is_empty() && is_only_wide(&text) {
            // Raw data next to results: its columns are not named.
            self.unknown.push(source);
            return Ok(());
        }
        let asked = Text {
            text: output::without_seal(&text),
            source: &source,
            below: &leaf.below.display().to_string(),
            system: &leaf.system,
            captions: match leaf.named_by {
                NamedBy::File | NamedBy::Folder if !self.ignores_own_names => Captions::Systems,
                _ => Captions::Keys,
            },
            reader: self.only,
            options: self.options,
        };
        let Read { imports, not_understood, empty } = read_text(&asked).map_err(|error| in_file(&leaf.path, &error))?;
        if imports.is_empty() && is_explicit {
            return Err(nothing_found(&source, &empty, &text));
        }
        if imports.is_empty() {
            self.unknown.push(source);
            return Ok(());
        }
        self.strange.push((source, not_understood));
        // A file's path may tell what its results are of.
        let results = imports.iter().flat_map(|import| &import.results);
        let cases: Vec<String> = results.map(ImportedResult::case_of_system).collect();
        let is_copy = !self.seen.insert((leaf.system.clone(), hash_of(&(bytes, cases))));
        let imports =
            imports.into_iter().map(|import| if is_copy { copies::remove_copied_results(import) } else { import });
        imports.into_iter().for_each(|import| self.add_import(leaf, import));
        Ok(())
    }

    /// Adds an import from a file, and records where its results come from.
    fn add_import(&mut self, leaf: &Leaf, import: Imported) {
        self.put_place(leaf, file_stem(&leaf.path));
        // Of tables several files may be parts of one.
        let is_table = [formats::tidy::READER.name, formats::tidy::wide::READER.name].contains(&import.tool);
        for result in import.results.iter().filter(|result| !is_table && result.system != leaf.system) {
            let case = (result.system.clone(), result.benchmark.clone(), format!("{:?}", result.keys));
            let of = (leaf.system.clone(), import.source.clone());
            self.named_by_inputs.entry(case).or_default().insert(of);
        }
        self.imports.push(import);
    }

    /// Records where a file's results come from, if its name or folders may distinguish them from others.
    fn put_place(&mut self, leaf: &Leaf, name: String) {
        let is_named_by_folder = leaf.named_by == NamedBy::File && leaf.system != name;
        let Some(folders) = leaf.folders.clone().or_else(|| is_named_by_folder.then(Vec::new)) else { return };
        let place = Place { system: leaf.system.clone(), folders, name, is_named: leaf.named_by == NamedBy::User };
        self.places.insert(leaf.path.display().to_string(), place);
    }

    /// Reads a database file by its reader; one without results is an error if the user named it, else noted as unknown.
    fn import_database(
        &mut self,
        leaf: &Leaf,
        bytes: &[u8],
        (reader, read): (&'static Reader, ReadDatabase),
    ) -> Result<(), CliError> {
        let source = leaf.path.display().to_string();
        let is_named = leaf.named_by == NamedBy::User || self.ignores_own_names;
        let (system, below) = (&leaf.system, leaf.below.display().to_string());
        let input = reader::Input { system, is_named, source: &source, below: &below, text: "", options: self.options };
        match read(bytes, &input) {
            Ok(found) if !found.imported.results.is_empty() => {
                self.strange.push((source, found.not_understood));
                self.add_import(leaf, found.imported);
            }
            Ok(_) if leaf.is_explicit => return Err(nothing_found(&source, &[reader.name], "")),
            Err(error) if leaf.is_explicit => return Err(in_file(&leaf.path, &error)),
            Ok(_) | Err(_) => self.unknown.push(source),
        }
        Ok(())
    }

    /// Prints which files were left aside; fails if nothing was imported at all.
    fn print_unknown(&self, inputs: &[Input]) -> Result<(), CliError> {
        let shown: Vec<&str> = self.unknown.iter().take(SHOWN_FILES).map(String::as_str).collect();
        let more = if self.unknown.len() > SHOWN_FILES { ", …" } else { "" };
        let named = format!("{}{more}", shown.join(", "));
        if self.imports.is_empty() {
            let names: Vec<String> = inputs.iter().map(|input| input.path.display().to_string()).collect();
            let names = names.join(", ");
            let what = if self.unknown.is_empty() {
                format!("{names} holds no files")
            } else {
                format!("{names} holds no result of a known format: {named}")
            };
            return Err(CliError::user_error(what).with_hint(HOW_TO_NAME));
        }
        if !self.unknown.is_empty() {
            let files = count_noun(self.unknown.len(), "file");
            self.printer.print_remark(&format!("{files} of no known format left aside: {named}"));
        }
        Ok(())
    }
}

/// Hashes a value to 64 bits.
fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Whether the only readers that recognise a text are those of tables whose columns have to be named.
fn is_only_wide(text: &str) -> bool {
    let readers = reader::find_text_readers(text);
    !readers.is_empty() && readers.iter().all(|reader| **reader == formats::tidy::wide::READER)
}

const HOW_TO_NAME: &str = "`etalon import --help` lists the formats; `--format NAME` says which it is";

/// Cuts the last line off a head of a file that may be cut.
fn whole_lines(head: &[u8]) -> &[u8] {
    let last = head.iter().rposition(|byte| *byte == b'\n');
    match last {
        Some(at) if head.len() as u64 == HEAD_BYTES => &head[..=at],
        _ => head,
    }
}

/// Makes the error for a file in which no result was found.
fn nothing_found(source: &str, empty: &[&str], text: &str) -> CliError {
    match empty {
        [] if text.contains("tps = ") || text.contains("transactions: ") => {
            let what = format!("{source} has lines of figures without what was run: {}", first_words(text));
            CliError::user_error(what).with_hint(
                "import the whole outputs, as `etalon import old/*.log new/*.log`, or a table: `system,metric,unit,value`",
            )
        }
        [] => CliError::user_error(format!("{source} is of no known format: {}", first_words(text)))
            .with_hint(HOW_TO_NAME),
        ["tidy"] => {
            let what = format!("{source} holds no measurement: no row follows the heading, or all are of other kinds");
            CliError::user_error(what).with_hint("`etalon audit` reads the rows of kind `printed`")
        }
        names => {
            CliError::user_error(format!("{source} holds no result of {}", names.join(" or "))).with_hint(HOW_TO_NAME)
        }
    }
}

impl Input {
    /// Makes a file that the user named, with the system of its input.
    fn make_leaf(&self, path: PathBuf, bytes: Option<Vec<u8>>) -> Leaf {
        let below = path.clone();
        let (system, folders) = (self.system.clone(), self.folders.clone());
        Leaf { system, named_by: self.named_by, is_explicit: true, path, below, folders, bytes }
    }

    /// Finds what names the systems of the files in the input: the user, else its folders.
    fn named_below(&self) -> NamedBy {
        if self.named_by == NamedBy::User { NamedBy::User } else { NamedBy::Folder }
    }
}
