//! The ways in which a store fails, as a caller distinguishes them.

use std::io;
use std::path::{Path, PathBuf};

use model::{PlannedRun, RunState};
use rusqlite::ErrorCode;
use rusqlite::ffi::SQLITE_IOERR_SHMSIZE;
use thiserror::Error;

use crate::Result;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file exists, or one that an earlier store left next to its place.
    #[error("cannot create a store: {path:?} exists already")]
    Exists { path: PathBuf },
    #[error("cannot open store {path:?}: there is no such file")]
    Missing { path: PathBuf },
    /// `create` in a folder that does not exist.
    #[error("cannot create store {path:?}: there is no such folder")]
    NoFolder { path: PathBuf },
    /// Such as a folder.
    #[error("cannot open store {path:?}: it is not a file but {what}")]
    NotAFile {
        path: PathBuf,
        /// Such as `a folder`.
        what: &'static str,
    },
    /// A file, but not a store of étalon.
    #[error("{path:?} is not an étalon store: {what}")]
    NotAStore { path: PathBuf, what: String },
    /// A store whose content cannot be trusted.
    #[error("store {path:?} is damaged; tried to {tried}: {detail}")]
    Damaged { path: PathBuf, tried: String, detail: String },
    #[error("store {path:?} has version {found}, this étalon knows versions up to {known}")]
    NewerVersion { path: PathBuf, found: i64, known: i64 },
    /// The system does not let us.
    #[error("permission denied on {path:?}; tried to {tried}: {detail}")]
    Denied { path: PathBuf, tried: String, detail: String },
    /// The store was not closed: its last runs lie in a file next to it that cannot be read in a read-only folder.
    #[error("store {path:?} was not closed, and its last changes cannot be read in a read-only folder: {detail}")]
    Unrecovered { path: PathBuf, detail: String },
    /// Another conductor has it open.
    #[error("store {path:?} is being written by {}", holder_text(.pid))]
    Locked { path: PathBuf, pid: Option<u32> },
    /// Another conductor has taken the store, because the file system did not keep the lock.
    #[error("store {path:?} was taken over by {}; tried to {tried}", holder_text(.pid))]
    TakenOver { path: PathBuf, tried: String, pid: Option<u32> },
    /// Someone moved or deleted the file while it was written.
    #[error("store {path:?} was moved or deleted while étalon wrote to it; tried to {tried}")]
    Gone {
        path: PathBuf,
        tried: String,
        /// Whether all that was stored lies at the path again.
        is_restored: bool,
    },
    /// Another program holds SQLite's own lock for too long.
    #[error("store {path:?} is in use by another program; tried to {tried}")]
    Busy { path: PathBuf, tried: String },
    /// The disk is full. Nothing of what was tried is in the store; it stays readable and can be resumed.
    #[error("the disk is full at store {path:?}; tried to {tried}")]
    Full { path: PathBuf, tried: String },
    /// A write to a store that was opened with `open_read_only`.
    #[error("store {path:?} was opened for reading only; tried to {tried}")]
    ReadOnly { path: PathBuf, tried: String },
    /// Contradictory input: a defect of étalon, not of the user.
    #[error("refused to {tried} in store {path:?}: {why}")]
    Refused { path: PathBuf, tried: String, why: String },
    /// The run is not in the stored order.
    #[error("store {path:?} plans no run at position {} with round {} and case {}", .planned.position, .planned.round, .planned.case)]
    NotPlanned { path: PathBuf, planned: PlannedRun },
    /// The run cannot go on from this state.
    #[error("store {path:?}: tried to {tried}, but it is {found}")]
    WrongState { path: PathBuf, tried: String, found: RunState },
    #[error("{path:?}: tried to {tried}: {source}")]
    Io { path: PathBuf, tried: String, source: io::Error },
    #[error("store {path:?}: tried to {tried}: {source}")]
    Sqlite { path: PathBuf, tried: String, source: Box<rusqlite::Error> },
}

/// Names the holder of a store, such as `another étalon (process 7)`.
fn holder_text(pid: &Option<u32>) -> String {
    match pid {
        Some(pid) => format!("another étalon (process {pid})"),
        None => "another étalon".to_owned(),
    }
}

impl StoreError {
    /// Says what to do about the error; `None` when there is no advice.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            StoreError::Exists { path } => exists_hint(path),
            StoreError::Missing { .. } => "check the path; stores end in .etalon".to_owned(),
            StoreError::NoFolder { path } => match path.parent() {
                Some(folder) => format!("make the folder {folder:?} first, or give another path"),
                None => "give another path".to_owned(),
            },
            StoreError::NotAFile { .. } => "give the path of the store file inside it".to_owned(),
            StoreError::NotAStore { .. } => "give a file that `etalon run` or `etalon import` made".to_owned(),
            StoreError::Damaged { path, .. } => format!(
                "restore {path:?} from a copy, or save what is left with: sqlite3 {path:?} .recover > saved.sql"
            ),
            StoreError::NewerVersion { .. } => "use the étalon that wrote it, or a later one".to_owned(),
            StoreError::Denied { .. } => {
                "give yourself write access to the store and its folder (reading needs access to the file alone)"
                    .to_owned()
            }
            StoreError::Unrecovered { path, .. } => format!(
                "copy {path:?} together with the files of the same name that end in -wal and -journal to a folder that can be written"
            ),
            StoreError::Locked { .. } => {
                "wait for it to end, or stop it; reports and comparisons can be made meanwhile".to_owned()
            }
            StoreError::TakenOver { .. } => {
                "let a single étalon write to a store; `etalon resume` goes on with it".to_owned()
            }
            StoreError::Gone { path, is_restored: true, .. } => {
                format!("étalon wrote it there again, with all finished runs: etalon resume {path:?} goes on with it")
            }
            StoreError::Gone { path, .. } => {
                format!("put it back with the file {path:?}-wal, if there is one; then: etalon resume {path:?}")
            }
            StoreError::Busy { .. } => "close the program that has the store open, such as a sqlite3 shell".to_owned(),
            StoreError::Full { .. } => "free some space".to_owned(),
            StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space".to_owned()
            }
            StoreError::ReadOnly { .. }
            | StoreError::Refused { .. }
            | StoreError::NotPlanned { .. }
            | StoreError::WrongState { .. }
            | StoreError::Io { .. }
            | StoreError::Sqlite { .. } => return None,
        })
    }

    /// Makes the error of an SQLite error on a store, its kind by the error's code.
    pub(crate) fn from_sqlite(path: &Path, tried: &str, source: rusqlite::Error) -> StoreError {
        let (path, tried) = (path.to_owned(), tried.to_owned());
        let detail = source.to_string();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreError::Full { path, tried },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Damaged { path, tried, detail },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path, tried },
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                StoreError::Denied { path, tried, detail }
            }
            // The `-shm` file could not grow, which is how a full disk first shows in WAL mode.
            Some(ErrorCode::SystemIoFailure) if extended_code(&source) == Some(SQLITE_IOERR_SHMSIZE) => {
                StoreError::Full { path, tried }
            }
            None if is_conversion(&source) => StoreError::Damaged { path, tried, detail },
            _ => StoreError::Sqlite { path, tried, source: Box::new(source) },
        }
    }

    /// Makes the error of an I/O error on a path, its kind by the error's kind.
    pub(crate) fn from_io(path: &Path, tried: &str, source: io::Error) -> StoreError {
        let (path, tried) = (path.to_owned(), tried.to_owned());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { path, tried },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Denied { path, tried, detail: source.to_string() }
            }
            _ => StoreError::Io { path, tried, source },
        }
    }
}

/// Says what to do about a path where something is already.
fn exists_hint(path: &Path) -> String {
    let name = path.to_string_lossy();
    if name.ends_with("-wal") || name.ends_with("-journal") {
        "an earlier store of that name left it behind: put that store back, or remove the file, or give another name"
            .to_owned()
    } else {
        format!("give another name, or go on with it: etalon resume {path:?}")
    }
}

/// SQLite's extended code of an error, if it has one.
fn extended_code(error: &rusqlite::Error) -> Option<i32> {
    error.sqlite_error().map(|e| e.extended_code)
}

/// Whether an error says that a row was missing, or held what the schema and our words do not allow.
fn is_conversion(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | QueryReturnedNoRows
    )
}

pub(crate) trait Tried<T> {
    /// Turns an error into that of a store; `tried` completes "tried to …".
    fn or_store_error(self, path: &Path, tried: &str) -> Result<T>;
}

impl<T> Tried<T> for rusqlite::Result<T> {
    fn or_store_error(self, path: &Path, tried: &str) -> Result<T> {
        self.map_err(|source| StoreError::from_sqlite(path, tried, source))
    }
}

impl<T> Tried<T> for io::Result<T> {
    fn or_store_error(self, path: &Path, tried: &str) -> Result<T> {
        self.map_err(|source| StoreError::from_io(path, tried, source))
    }
}
