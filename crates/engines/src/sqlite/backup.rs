//! Backups by SQLite's backup interface or `VACUUM INTO`, both compressed by étalon.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use super::cipher::Cipher;
use super::session::SqliteSession;
use super::{SHAPE, SqliteSystem, confine, sql_failure};
use crate::embedded::{companion_path, remove_files};
use load::error::{Failure, FailureKind};
use model::backup::BackupMethod;
use workloads::backup::backups::{BackupLayout, BackupRequest, Backups, Compressor, Restored, TakenBackup};
use workloads::backup::codec::{Codec, Decoder};
use workloads::backup::meter::Meter;
use workloads::backup::sink::{BackupSink, MORE_ROOM, Rate, io_failure};
use workloads::session::{Session, SessionKind};

/// Per step of the backup interface; between steps rate and Ctrl-C are checked.
const STEP_PAGES: i32 = 256;
/// Wait for a writer.
const BUSY: Duration = Duration::from_millis(5);

/// Restarts before giving up.
const MOST_RESTARTS: u32 = 50;

/// Page by page, by `sqlite3_backup_step`.
const INTERFACE: BackupMethod = BackupMethod("backup-interface");
const VACUUM_INTO: BackupMethod = BackupMethod("vacuum-into");
pub(super) const METHODS: &[BackupMethod] = &[INTERFACE, VACUUM_INTO];

pub(super) struct SqliteBackups<'a> {
    pub(super) system: &'a SqliteSystem,
}

/// Resolves `native`.
impl SqliteBackups<'_> {
    /// Writes a copy of the database by this method, and syncs it.
    fn copy_database(&self, request: &BackupRequest<'_>, method: BackupMethod, copy: &Path) -> Result<(), Failure> {
        let tried = format!("write the backup {}", copy.display());
        let failed = |error: rusqlite::Error| match sql_failure(&tried, &error) {
            full if full.kind == FailureKind::DiskFull => full.with_hint(MORE_ROOM),
            other => other,
        };
        let mut from = self.system.connect_with_pragmas()?;
        if method == VACUUM_INTO {
            confine::lift_confinement(&mut from).map_err(failed)?;
            self.system.cipher.vacuum_into(&from, copy).map_err(failed)?;
        } else {
            // SQLCipher answers in text.
            let page_bytes = "SELECT CAST(page_size AS INTEGER) FROM pragma_page_size()";
            let page_bytes: i64 = from.query_row(page_bytes, [], |row| row.get(0)).map_err(failed)?;
            let mut into = Connection::open(copy).map_err(failed)?;
            self.system.cipher.unlock_database(&into).map_err(failed)?;
            // A failed copy is thrown away: it needs no journal, and is synced below.
            into.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF").map_err(failed)?;
            hold_snapshot(&from).map_err(failed)?;
            let backup = Backup::new(&from, &mut into).map_err(failed)?;
            let mut rate = request.max_rate_bytes_s.map(Rate::new);
            let mut restarts = Restarts::default();
            loop {
                request.check_interrupt()?;
                match backup.step(STEP_PAGES).map_err(failed)? {
                    StepResult::Done => {
                        let last = restarts.remaining.unwrap_or(backup.progress().pagecount);
                        rate.iter_mut().for_each(|rate| rate.wait_for(last.max(0) as u64 * page_bytes as u64));
                        break;
                    }
                    StepResult::More => restarts.count_restart(backup.progress().remaining)?,
                    _ => std::thread::sleep(BUSY),
                }
                if let Some(rate) = &mut rate {
                    rate.wait_for(STEP_PAGES as u64 * page_bytes as u64);
                }
            }
        }
        let synced = fs::OpenOptions::new().write(true).open(copy).and_then(|file| file.sync_all());
        synced.map_err(|error| io_failure(&tried, &error))
    }
}

/// Begins a reading transaction where that blocks no writer: with a write-ahead log.
/// Otherwise other writers restart the copy with each commit (<https://sqlite.org/c3ref/backup_finish.html>).
fn hold_snapshot(from: &Connection) -> rusqlite::Result<()> {
    let mode: String = from.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode.eq_ignore_ascii_case("wal") {
        from.execute_batch("BEGIN")?;
        // A transaction begins with its first read.
        from.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    }
    Ok(())
}

#[derive(Debug, Default)]
struct Restarts {
    remaining: Option<i32>,
    count: u32,
}

impl Restarts {
    /// Counts a restart if no fewer pages remain than before, and fails after too many.
    fn count_restart(&mut self, remaining: i32) -> Result<(), Failure> {
        // After a restart as many pages remain as after the first step.
        let again = self.remaining.is_some_and(|before| remaining >= before);
        self.remaining = Some(remaining);
        self.count += u32::from(again);
        if self.count <= MOST_RESTARTS {
            return Ok(());
        }
        let cause = format!(
            "others change the database, and SQLite has begun the copy anew {} times: without a write-ahead log it may \
             never end",
            self.count
        );
        Err(Failure::new(FailureKind::Other, "copy a database that is being written to", cause)
            .with_hint("`settings = { journal_mode = \"WAL\" }`, or `method = \"vacuum-into\"`"))
    }
}

impl Backups for SqliteBackups<'_> {
    /// The product's name and its backup methods.
    fn methods(&self) -> (&'static str, &'static [BackupMethod]) {
        ("SQLite", METHODS)
    }

    /// Fails for a method, compressor or limit that a library cannot offer.
    fn check_possible(&self, request: &BackupRequest<'_>) -> Result<(), Failure> {
        let method = self.method(request.method)?;
        if request.compressor != Compressor::Own && request.compression.codec != Codec::None {
            return Err(
                request.unsupported_compressor("SQLite works inside étalon: there is neither server nor program")
            );
        }
        if request.bounds.cores.is_some() {
            return Err(request.unsupported_limit("SQLite works inside étalon"));
        }
        if method == VACUUM_INTO && request.max_rate_bytes_s.is_some() {
            let cause = "`VACUUM INTO` is one statement, which cannot be slowed";
            return Err(Failure::new(FailureKind::Unsupported, "hold a backup to `max_rate`", cause)
                .with_hint("`method = \"backup-interface\"` goes step by step"));
        }
        Ok(())
    }

    /// Whether backups are encrypted, as the database is.
    fn are_encrypted(&self) -> bool {
        matches!(self.system.cipher, Cipher::Drawn { .. })
    }

    /// Writes a copy of the database and compresses it if asked to, timing both.
    fn back_up(&self, request: &BackupRequest<'_>, meter: &mut Meter) -> Result<TakenBackup, Failure> {
        let method = self.method(request.method)?;
        let copy = request.folder.join("backup.db");
        meter.meter_part("copy", || self.copy_database(request, method, &copy))?;
        let length = fs::metadata(&copy).map_err(|error| io_failure("look at the backup", &error))?.len();
        meter.source_bytes = Some(length);
        let compression = request.own_compression();
        let mut taken = TakenBackup {
            method,
            file: copy.clone(),
            compression,
            layout: BackupLayout::Database,
            compressor_cpu_s: 0.0,
            unread: &[],
            notes: Vec::new(),
            served: None,
        };
        if compression.codec != Codec::None {
            let written = meter.meter_part("compress", || {
                let mut sink = BackupSink::new(request, "backup.db", compression)?;
                let mut from = File::open(&copy).map_err(|error| io_failure("read the copy", &error))?;
                sink.copy_from(&mut from, "the copy")?;
                let written = sink.finish()?;
                fs::remove_file(&copy).map_err(|error| io_failure("remove the copy", &error))?;
                Ok(written)
            })?;
            taken.file = written.path;
            taken.compressor_cpu_s = written.compressor_cpu_s;
        }
        Ok(taken)
    }

    /// Copies a backup back, decompressed, to a file next to the original.
    fn restore(
        &self,
        taken: &TakenBackup,
        request: &BackupRequest<'_>,
        meter: &mut Meter,
    ) -> Result<Box<dyn Restored>, Failure> {
        let path = request.folder.join("restored.db");
        let tried = format!("restore into {}", path.display());
        let failed = |error: std::io::Error| io_failure(&tried, &error);
        meter
            .meter_part("copy back", || {
                let file = File::open(&taken.file).map_err(failed)?;
                let mut from = Decoder::new(taken.compression, file).map_err(failed)?.at_most(request.max_rate_bytes_s);
                let mut into = BackupSink::new(request, "restored.db", workloads::backup::codec::Compression::NONE)?;
                into.copy_from(&mut from, "the backup")?;
                into.finish()?;
                Ok(from.cpu)
            })
            .map(|cpu| meter.codec_cpu_s += cpu.as_secs_f64())?;
        Ok(Box::new(RestoredFile { path, cipher: self.system.cipher.clone() }))
    }
}

struct RestoredFile {
    path: PathBuf,
    cipher: Cipher,
}

impl RestoredFile {
    /// Opens the restored database for reading and writing, with its key.
    fn open_restored(&self) -> Result<Connection, Failure> {
        let tried = format!("open the restored database {}", self.path.display());
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&self.path, flags)
            .and_then(|connection| self.cipher.unlock_database(&connection).map(|()| connection));
        opened.map_err(|error| sql_failure(&tried, &error))
    }
}

impl Restored for RestoredFile {
    /// Opens a session on the restored database.
    fn open_session(&mut self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(SqliteSession::new(self.open_restored()?, kind)?))
    }

    /// Always fails: there is no server.
    fn server_cpu_s(&self) -> Result<f64, String> {
        Err("SQLite works inside étalon".to_owned())
    }

    /// Fails if SQLite's own check finds a fault in the restored database.
    fn check_integrity(&self) -> Result<(), Failure> {
        let tried = "check the restored database";
        let found: String = self
            .open_restored()?
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(|error| sql_failure(tried, &error))?;
        match found.as_str() {
            "ok" => Ok(()),
            wrong => Err(Failure::new(FailureKind::Verification, tried, format!("integrity_check says: {wrong}"))),
        }
    }

    /// Removes the restored file and its companions.
    fn remove(self: Box<Self>) -> Result<(), Failure> {
        remove_files(
            SHAPE.companions.iter().map(|suffix| companion_path(&self.path, suffix)).chain([self.path.clone()]),
        )
    }
}
