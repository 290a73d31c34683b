//! How each engine is asked: the table, the insert, the end of all writing, and its counters.

use model::Reading;

use super::account::{Figure, FileClass, IoAccount, IoPlace};
use crate::session::Session;
use crate::system::System;
use load::error::Failure;

/// What of a page a row leaves to the engine's own headers: `CHAR(8000)` in the published test's pages of 8 192 bytes.
const SPARE_BYTES: u64 = 192;

/// Length of a row's filler in characters, so that the row fills a page of this size.
pub fn filler_length(page_bytes: u64) -> u64 {
    page_bytes.saturating_sub(SPARE_BYTES)
}

/// How an engine writes, which decides where the operating system counts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenBy {
    /// The engine calls `write` and its kin, into the page cache. The kernel then counts whole folios of the cache on the
    /// way to the device, which can be many times larger than what was written.
    Calls,
    /// Past the page cache or asynchronously; no count of calls sees it.
    Device,
}

/// Since when an engine counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Totals {
    /// Since the server started or was reset: totals include others' work.
    SinceStart,
    /// Since étalon made the files for this run: totals include making the files, as in published tests.
    SinceOpened,
}

pub trait PagesDialect: Sync {
    /// Reads the size of the engine's pages in bytes.
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure>;

    /// SQL statements that create the table for pages of this size.
    fn create_page_table_sql(&self, page_bytes: u64) -> Vec<String>;

    /// Prepares the session for the first snapshot; returns notes for the reader.
    fn begin_run(&self, _session: &mut dyn Session) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// Since when the counters of [`PagesDialect::io_account`] count.
    fn counter_origin(&self) -> Totals {
        Totals::SinceStart
    }

    /// SQL that inserts `rows` rows, each of which fills a page.
    fn insert_sql(&self, page_bytes: u64, rows: u64) -> String;

    /// SQL for the number of rows that does not scan the table.
    fn row_count_sql(&self) -> &'static str;

    /// SQL for how many rows of these numbers are there, and the least and the most bytes of their filler.
    ///
    /// Without a scan of the table. Numbers count from 1 in the order of insertion. `None`: rows have neither numbers nor
    /// places.
    fn sampled_rows_sql(&self, _numbers: &[u64]) -> Option<String> {
        None
    }

    /// Finds the counter of the log to which each durable commit adds at least one; `None` if nothing counts them.
    fn commit_figure(&self, _session: &mut dyn Session) -> Result<Option<Figure>, Failure> {
        Ok(None)
    }

    /// Reads the position of the log's end, in bytes; `None` if the engine does not give it.
    fn read_log_end(&self, _session: &mut dyn Session) -> Result<Option<f64>, Failure> {
        Ok(None)
    }

    /// Reads the position in the log up to which the last checkpoint has written everything; `None` if not given.
    fn checkpointed_position(&self, _session: &mut dyn Session) -> Result<Option<f64>, Failure> {
        Ok(None)
    }

    /// Whether blocks that are added to a table count as written before they hold its rows.
    fn counts_extensions(&self) -> bool {
        false
    }

    /// Reads the bytes that the table, or the database with it, takes so far; only growth matters.
    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure>;

    /// Writes out what the engine still holds in memory, and waits for it; the inner error says why the login may not.
    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure>;

    /// Lets the session publish its counts before they are read.
    fn publish_counts(&self, _session: &mut dyn Session) -> Result<(), Failure> {
        Ok(())
    }

    /// Reads the engine's I/O so far, by file; what it does not count, or the login may not see, carries the reason.
    fn io_account(&self, _system: &dyn System, _session: &mut dyn Session) -> Result<IoAccount, Failure> {
        let places = [FileClass::Data, FileClass::Log]
            .map(|class| IoPlace::unknown(class, class.as_str(), "the engine does not count its I/O"))
            .to_vec();
        Ok(IoAccount { places, ..IoAccount::default() })
    }

    /// Which of the operating system's counters include the engine's writes.
    fn written_by(&self) -> WrittenBy {
        WrittenBy::Calls
    }

    /// Reads how large the files of a class are now, in bytes, or why that is not known.
    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure>;
}
