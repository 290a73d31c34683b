//! Checks what the statements were to do against what the engine reports of it afterwards: rows that another session reads
//! back, commits, syncs of the log, bytes written to the data.

use load::counters::Counters;
use load::error::{Failure, FailureKind};
use model::Reading;

use super::account::{Figure, FileClass, IoAccount};
use super::dialect::{PagesDialect, filler_length};
use crate::session::{Session, datum_number, query_number};

/// Most rows that are read back one by one.
const SAMPLED: u64 = 50;
/// Share of the sampled rows that must be there: others' rows may have taken a number or a place.
const SAMPLE_FOUND: f64 = 0.9;
/// Bytes by which the longest header of an engine, MySQL 8's, makes a row shorter than [`filler`].
const LONGEST_HEADER: u64 = 512;
/// Number of commits that a session may make without a statement of the load.
const FEW_COMMITS: u64 = 10;
/// Share of the commits that must have written or synced the log themselves: the engine may have come first.
const OWN_WAITS: f64 = 0.8;
/// Bytes of log by which a checkpoint may be said to be earlier than it is: a record of its own, and rounding to a block.
const LEFT_BYTES: f64 = 16_384.0;

/// What a run has asked of the engine.
pub(super) struct PagesClaim<'a> {
    pub(super) dialect: &'a dyn PagesDialect,
    pub(super) statements: u64,
    /// Rows of a statement.
    pub(super) rows: u64,
    pub(super) page_bytes: u64,
}

/// What the engine counted between the two snapshots.
pub(super) struct Counted<'a> {
    pub(super) counters: &'a Counters,
    /// Commits of the session that inserted.
    pub(super) commits: Option<u64>,
    pub(super) engine: &'a IoAccount,
    /// The log's end when the statements had ended.
    pub(super) log_end: Option<f64>,
    /// Whether the checkpoint was made.
    pub(super) is_flushed: bool,
}

/// Makes the failure of a run whose counts cannot be trusted, as a result.
fn untrusted<T>(cause: String) -> Result<T, Failure> {
    Err(Failure::new(FailureKind::Verification, "trust the run's counts", cause))
}

impl PagesClaim<'_> {
    /// Number of rows that all statements insert together.
    fn all_rows(&self) -> u64 {
        self.statements * self.rows
    }

    /// Fails unless a session that inserted none of the rows counts all of them and finds a sample.
    pub(super) fn check_rows(&self, other: &mut dyn Session) -> Result<(), Failure> {
        let seen = match query_number(other, self.dialect.row_count_sql()) {
            Err(failure) if failure.kind == FailureKind::Unsupported => query_number(other, "SELECT COUNT(*) FROM TIO"),
            counted => counted,
        }?;
        let rows = self.all_rows();
        if (seen - rows as f64).abs() > 0.5 {
            return untrusted(format!("the client sent {rows} rows, the server has {seen}"));
        }
        let count = rows.min(SAMPLED);
        // Spread over all of them, the first and the last included.
        let numbers: Vec<u64> = (0..count).map(|place| 1 + place * (rows - 1) / (count - 1).max(1)).collect();
        let Some(sql) = self.dialect.sampled_rows_sql(&numbers) else { return Ok(()) };
        let answer = other.query(&sql)?;
        self.check_sample(
            numbers.len() as f64,
            datum_number(answer.first().and_then(|row| row.first())).unwrap_or_default(),
            datum_number(answer.first().and_then(|row| row.get(1))).unwrap_or_default()
                ..=datum_number(answer.first().and_then(|row| row.get(2))).unwrap_or_default(),
        )
    }

    /// Fails unless enough of the sampled rows are there and long enough to fill a page.
    fn check_sample(&self, asked: f64, found: f64, bytes: std::ops::RangeInclusive<f64>) -> Result<(), Failure> {
        if found < SAMPLE_FOUND * asked || found > asked {
            return untrusted(format!("of {asked} rows by their number or place, the server has {found}"));
        }
        let most = filler_length(self.page_bytes);
        let least = most.saturating_sub(LONGEST_HEADER);
        if *bytes.start() < least as f64 || *bytes.end() > most as f64 {
            let cause = format!(
                "a row has {} to {} bytes of filler, and {least} to {most} fill a page",
                bytes.start(),
                bytes.end()
            );
            return untrusted(cause);
        }
        Ok(())
    }

    /// Fails unless the engine's own counts of commits fit the statements that were sent.
    pub(super) fn check_counts(&self, counted: &Counted<'_>) -> Result<(), Failure> {
        let sent = self.statements;
        if let Some(seen) = counted.commits.filter(|seen| *seen > sent + FEW_COMMITS) {
            return untrusted(format!("the client sent {sent} commits, and its session has committed {seen} times"));
        }
        let of_session = counted.commits.map(|commits| commits as f64);
        let seen = of_session.or_else(|| counted.counters.value_of("commits"));
        let seen = seen.or_else(|| counted.counters.value_of("statements"));
        if let Some(seen) = seen.filter(|seen| *seen < sent as f64) {
            return untrusted(format!("the client sent {sent} commits, the server has {seen}"));
        }
        Ok(())
    }

    /// Fails if commits did not wait for the device, where each must write or sync the log.
    pub(super) fn check_waits(&self, session: &mut dyn Session, counted: &Counted<'_>) -> Result<(), Failure> {
        let Some(figure) = self.dialect.commit_figure(session)? else { return Ok(()) };
        match counted.engine.class_sum(FileClass::Log, figure) {
            Reading::Value(seen) if seen < OWN_WAITS * self.statements as f64 => {
                let (commits, figure) = (self.statements, figure.as_str());
                untrusted(format!(
                    "the system's commits are durable, and {commits} commits made {seen} {figure} of its log"
                ))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the checkpoint did not write what was inserted, by its position in the log or by bytes written to data.
    pub(super) fn check_flush(&self, session: &mut dyn Session, counted: &Counted<'_>) -> Result<(), Failure> {
        if !counted.is_flushed {
            return Ok(());
        }
        let least = (self.all_rows() * filler_length(self.page_bytes).saturating_sub(LONGEST_HEADER)) as f64;
        let written = match counted.engine.class_sum(FileClass::Data, Figure::WriteBytes) {
            Reading::Value(written) if !self.dialect.counts_extensions() => Some(written),
            _ => None,
        };
        let left =
            counted.log_end.zip(self.dialect.checkpointed_position(session)?).map(|(end, covered)| end - covered);
        let is_covered = left.is_some_and(|left| left <= LEFT_BYTES);
        // A table's pages may be written without a checkpoint, and compressed pages have fewer bytes than their rows.
        match (left, written) {
            _ if is_covered => Ok(()),
            (_, Some(written)) if written >= least => Ok(()),
            (Some(left), _) => {
                untrusted(format!("the checkpoint has ended, and {left} bytes of the run's log are behind it"))
            }
            (None, Some(written)) => untrusted(format!(
                "the rows have {least} bytes, and the engine counted {written} that it wrote to its data"
            )),
            (None, None) => Ok(()),
        }
    }
}
