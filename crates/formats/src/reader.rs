//! The seam between a file and the readers of formats: a reader is a constant of its module and a line in [`READERS`].
//!
//! Everything else that knows formats by name is derived from this list: recognition, `--format`, its help, and the tests
//! that walk the formats.

use std::io::BufRead;
use std::path::Path;

use crate::pgbench::SeventhColumn;
use crate::tidy::wide::Mapping;
use crate::{FormatError, Imported, NotUnderstood, readers};

/// A format that is read.
pub struct Reader {
    /// The word on the command line, and the tool in what is stored.
    pub name: &'static str,
    /// What it reads, as a line of the help.
    pub about: &'static str,
    /// Tells whether a text is, or holds, this format. It looks for what only this tool writes.
    pub recognises: fn(&str) -> bool,
    pub names: Names,
    pub reads: Reads,
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Reader {
    fn eq(&self, other: &Reader) -> bool {
        self.name == other.name
    }
}

/// Where a system's name comes from, if its user gives none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// The file's name; of files of one name their folders.
    File,
    /// The file's folder.
    Folder,
    /// The name that the logs of all processes share.
    Log,
}

#[derive(Clone, Copy)]
pub enum Reads {
    /// Each text by itself.
    Text(fn(&Input<'_>) -> Result<Found, FormatError>),
    /// A database of SQLite, by its bytes.
    Database(ReadDatabase),
    /// Logs that may be larger than the memory: those of a run together, line by line.
    Logs(ReadLogs),
}

/// The input has no text.
pub type ReadDatabase = fn(&[u8], &Input<'_>) -> Result<Found, FormatError>;
pub type ReadLogs = fn(&[LogFile<'_>], &Options, Open<'_>) -> Result<Vec<Imported>, LogError>;

/// What a user says of files that do not say it themselves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// What the seventh column of pgbench's logs is.
    pub seventh: SeventhColumn,
    /// What the columns of wide tables are.
    pub mappings: Vec<Mapping>,
}

#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    pub system: &'a str,
    /// True if the user gave the system its name: a text that has one of its own does not tell it then.
    pub is_named: bool,
    /// Name of the file, for messages and notes.
    pub source: &'a str,
    /// Its path below the folder or archive that the user named.
    pub below: &'a str,
    pub text: &'a str,
    pub options: &'a Options,
}

/// What a reader found in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub imported: Imported,
    /// Lines that the reader does not know.
    pub not_understood: Vec<NotUnderstood>,
}

impl From<Imported> for Found {
    fn from(imported: Imported) -> Found {
        Found { imported, not_understood: Vec::new() }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct LogFile<'a> {
    pub system: &'a str,
    pub path: &'a Path,
}

/// Opens a log by its number in the list.
pub type Open<'a> = &'a mut dyn FnMut(usize) -> std::io::Result<Box<dyn BufRead>>;

/// Why logs cannot be read.
#[derive(Debug)]
pub struct LogError {
    /// The log that is wrong, unless it is about several.
    pub file: Option<usize>,
    pub error: FormatError,
}

/// All readers, in the order in which they are asked about a text. Those of logs stand first: they are asked about its
/// beginning only.
pub const READERS: &[&Reader] = &[
    &crate::pgbench::LOG_READER,
    &crate::pgbench::AGGREGATE_READER,
    &crate::task_log::READER,
    &crate::sqlio::READER,
    &crate::pgbench::READER,
    &crate::sysbench::READER,
    &crate::fio::READER,
    &crate::hammerdb::READER,
    &crate::hammerdb::job_store::READER,
    &readers::benchbase::READER,
    &readers::benchmarksql::READER,
    &readers::clickbench::READER,
    &readers::criterion::READER,
    &readers::diskspd::READER,
    &readers::go_tpc::READER,
    &readers::go_ycsb::READER,
    &readers::hyperfine::READER,
    &readers::mysqlslap::READER,
    &readers::tpcc_mysql::READER,
    &readers::ycsb::READER,
    &crate::tidy::READER,
    &crate::tidy::wide::READER,
];

/// Finds the reader of a name.
pub fn find_reader(name: &str) -> Option<&'static Reader> {
    READERS.iter().copied().find(|reader| reader.name == name)
}

/// Finds the reader of logs that a file's beginning calls for.
pub fn find_log_reader(head: &str) -> Option<&'static Reader> {
    READERS.iter().copied().find(|reader| matches!(reader.reads, Reads::Logs(_)) && (reader.recognises)(head))
}

/// The first bytes of a database of SQLite.
pub const SQLITE: &[u8] = b"SQLite format 3\0";

/// Finds the reader of databases of SQLite, if the bytes are one.
pub fn database_reader(bytes: &[u8]) -> Option<(&'static Reader, ReadDatabase)> {
    bytes
        .starts_with(SQLITE)
        .then(|| {
            READERS.iter().find_map(|reader: &&'static Reader| match reader.reads {
                Reads::Database(read) => Some((*reader, read)),
                Reads::Text(_) | Reads::Logs(_) => None,
            })
        })
        .flatten()
}

/// Lists the readers of texts that recognise this one. Several do where a job printed what several tools said.
pub fn find_text_readers(text: &str) -> Vec<&'static Reader> {
    READERS
        .iter()
        .copied()
        .filter(|reader| matches!(reader.reads, Reads::Text(_)) && (reader.recognises)(text))
        .collect()
}

/// Tells whether any line begins with one of the signs, blanks aside.
pub fn has_line(text: &str, signs: &[&str]) -> bool {
    text.lines().map(str::trim_start).any(|line| signs.iter().any(|sign| line.starts_with(sign)))
}

/// Tells whether a text holds JSON, at the beginning of a line, and names all of these keys as `"key"`.
pub fn is_json_with(text: &str, keys: &[&str]) -> bool {
    (text.trim_start().starts_with(['{', '[']) || text.contains("\n{"))
        && keys.iter().all(|key| text.contains(&format!("\"{key}\"")))
}
