//! SQLite: exact I/O counts between it and its files.

use host::sqlite_vfs::{FileIo, FileKind};
use model::Reading;

use load::error::Failure;
use workloads::pages::account::{Figure, FileClass, IoAccount, IoPlace};
use workloads::pages::dialect::{PagesDialect, filler_length};
use workloads::session::{Session, datum_text, query_number, split_refusal};
use workloads::system::System;

pub struct Pages;

/// Class of a kind of SQLite's files: data, log or temporary.
fn class_of_kind(kind: FileKind) -> FileClass {
    match kind {
        FileKind::Database => FileClass::Data,
        FileKind::Wal | FileKind::Journal => FileClass::Log,
        FileKind::Temporary => FileClass::Temporary,
    }
}

fn ns_to_ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

/// Makes the figures of one kind of file from its counters.
fn io_place(kind: FileKind, io: FileIo) -> IoPlace {
    IoPlace::unknown(class_of_kind(kind), kind.as_str(), "")
        .with_value(Figure::Reads, io.reads as f64)
        .with_value(Figure::ReadBytes, io.read_bytes as f64)
        .with_value(Figure::ReadStall, ns_to_ms(io.read_ns))
        .with_value(Figure::Writes, io.writes as f64)
        .with_value(Figure::WriteBytes, io.write_bytes as f64)
        .with_value(Figure::WriteStall, ns_to_ms(io.write_ns))
        .with_value(Figure::Syncs, io.syncs as f64)
        .with_value(Figure::SyncStall, ns_to_ms(io.sync_ns))
}

impl PagesDialect for Pages {
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure> {
        Ok(query_number(session, "PRAGMA page_size")? as u64)
    }

    /// Writes the statement that creates the table of page-filling rows.
    fn create_page_table_sql(&self, _page_bytes: u64) -> Vec<String> {
        vec!["CREATE TABLE tio (tio_id INTEGER PRIMARY KEY, tio_data BLOB NOT NULL)".to_owned()]
    }

    /// Writes the statement that inserts `rows` rows which fill a page each.
    fn insert_sql(&self, page_bytes: u64, rows: u64) -> String {
        let row = format!("(zeroblob({}))", filler_length(page_bytes));
        format!("INSERT INTO tio (tio_data) VALUES {}", vec![row; rows as usize].join(", "))
    }

    /// Query for the number of rows: ids have no gaps, and no row is removed.
    fn row_count_sql(&self) -> &'static str {
        "SELECT coalesce(max(tio_id), 0) FROM tio"
    }

    /// Query for number and lengths of the rows with these numbers.
    fn sampled_rows_sql(&self, numbers: &[u64]) -> Option<String> {
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let counted = "SELECT count(*), min(length(tio_data)), max(length(tio_data)) FROM tio";
        Some(format!("{counted} WHERE tio_id IN ({})", numbers.join(", ")))
    }

    /// Commits are counted as syncs: each syncs the journal, or the write-ahead log.
    fn commit_figure(&self, _session: &mut dyn Session) -> Result<Option<Figure>, Failure> {
        Ok(Some(Figure::Syncs))
    }

    /// Reads the database's size from its page count.
    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        query_number(session, "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
    }

    /// Checkpoints the write-ahead log; the inner `Err` says why that was refused.
    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        let answer = match split_refusal(session.query("PRAGMA wal_checkpoint(TRUNCATE)"))? {
            Ok(rows) => rows,
            Err(reason) => return Ok(Err(reason)),
        };
        // https://www.sqlite.org/pragma.html#pragma_wal_checkpoint: the first column is 1 if the checkpoint was
        // blocked.
        let busy = datum_text(answer.first().and_then(|row| row.first()));
        Ok(if busy == "0" { Ok(()) } else { Err("another connection kept the log from being checkpointed".to_owned()) })
    }

    /// Reads the counted I/O of each kind of SQLite's files.
    fn io_account(&self, system: &dyn System, _session: &mut dyn Session) -> Result<IoAccount, Failure> {
        let places = match system.own_file_traffic() {
            Ok(traffic) => FileKind::ALL.map(|kind| io_place(kind, traffic.for_kind(kind))).to_vec(),
            Err(reason) => {
                FileKind::ALL.map(|kind| IoPlace::unknown(class_of_kind(kind), kind.as_str(), &reason)).to_vec()
            }
        };
        Ok(IoAccount { places, ..IoAccount::default() })
    }

    /// Reads the size of the files of a class; only the database's is known.
    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        Ok(match class {
            FileClass::Data => Reading::Value(self.size_bytes(session)?),
            _ => Reading::unavailable("SQLite truncates or removes it"),
        })
    }
}
