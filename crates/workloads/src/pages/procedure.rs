//! The procedure: the table, a snapshot, the statements, the checkpoint, a snapshot, and whether the rows are there.

use host::clock::now_ns;
use model::{DurabilityTier, Mark, MarkKind, Reading};

use super::account::{FileClass, IoAccount};
use super::claims::{Counted, PagesClaim};
use super::dialect::{PagesDialect, Totals, WrittenBy};
use super::insert::{Inserted, insert_pages};
use super::outcome;
use crate::session::{Session, SessionKind};
use crate::step::{Spent, StepContext, Stepped, Stopwatch};
use crate::system::OsIo;
use crate::workload::Procedure;
use load::counters::Counters;
use load::error::{Failure, FailureKind};

/// Fewest pages that a row may take: fewer, and two rows share one.
const FEWEST_PAGES: f64 = 0.98;
/// Above this a mark says: the rest is the engine's own.
const MOST_PAGES: f64 = 1.1;

pub(super) struct PageInsert {
    pub(super) statements: u64,
    pub(super) rows: u64,
}

struct Snapshot {
    engine: IoAccount,
    /// Commits of the session so far.
    commits: Option<u64>,
    counters: Counters,
    os: Result<OsIo, String>,
    size_bytes: Result<f64, String>,
}

pub(super) struct PagesFound {
    pub(super) statements: u64,
    pub(super) rows: u64,
    pub(super) page_bytes: u64,
    /// Bytes that a row has taken.
    pub(super) row_bytes: Reading,
    pub(super) inserted: Inserted,
    /// Seconds of the checkpoint, or why there was none.
    pub(super) flush_s: Reading,
    /// CPU seconds of all processes, from the first statement to the end of the checkpoint.
    pub(super) cpu_s: Reading,
    pub(super) engine: IoAccount,
    /// All I/O since the files were opened, where that means something.
    pub(super) totals: Option<IoAccount>,
    pub(super) os: Result<(OsIo, OsIo), String>,
    /// Which of the operating system's counters the engine's writes are compared with.
    pub(super) written_by: WrittenBy,
    /// How large the files are, by class.
    pub(super) files: Vec<(FileClass, Reading)>,
    pub(super) marks: Vec<Mark>,
}

/// Reads all counters of engine, server and operating system at one moment.
fn take_snapshot(
    context: &StepContext<'_>,
    dialect: &dyn PagesDialect,
    session: &mut dyn Session,
) -> Result<Snapshot, Failure> {
    let commits = session.committed_count();
    dialect.publish_counts(session)?;
    let engine = dialect.io_account(context.system, session)?;
    // As close to the engine's own account as can be: its background processes do not rest.
    let os = context.system.os_io();
    let counters = context.system.counters()?;
    let size_bytes = match dialect.size_bytes(session) {
        Err(failure) if failure.kind == FailureKind::Unsupported => Err(failure.cause),
        size => Ok(size?),
    };
    Ok(Snapshot { engine, commits, counters, os, size_bytes })
}

impl Procedure for PageInsert {
    /// Makes the table, times the inserts and the checkpoint, checks that the rows are there, and reports the I/O.
    fn run(&self, context: &mut StepContext<'_>) -> Result<Stepped, Failure> {
        let dialect = context.system.pages_dialect().ok_or_else(|| {
            let cause = "the test is not written in this engine's SQL";
            Failure::new(FailureKind::Unsupported, "insert pages", cause)
        })?;
        let statements = self.statements as usize;
        context.report_progress("making the table", 0, statements);
        let mut session = context.system.connect_session(SessionKind::Plain)?;
        let page_bytes = dialect.page_bytes(&mut *session)?;
        for statement in dialect.create_page_table_sql(page_bytes) {
            session.execute(&statement)?;
        }
        let started = dialect.begin_run(&mut *session)?;
        context.system.settle()?;
        let before = take_snapshot(context, dialect, &mut *session)?;
        let watch = Stopwatch::start(context.system);
        let statement = dialect.insert_sql(page_bytes, self.rows);
        let Some(inserted) = insert_pages(context, &mut *session, &statement, self.statements)? else {
            return Ok(Stepped::Interrupted);
        };
        context.report_progress("writing what is left", statements, statements);
        let log_end = dialect.read_log_end(&mut *session)?;
        let flush_ns = now_ns();
        let flushed = dialect.flush_writes(&mut *session)?;
        let flush_s = (now_ns() - flush_ns) as f64 / 1e9;
        let Spent { cpu_s, .. } = watch.spent_since_start(context.system);
        let after = take_snapshot(context, dialect, &mut *session)?;
        let mut files = Vec::new();
        for class in [FileClass::Data, FileClass::Log] {
            files.push((class, dialect.file_bytes(class, &mut *session)?));
        }
        let engine = after.engine.since(&before.engine);
        let counted = Counted {
            counters: &after.counters.since(&before.counters),
            commits: after.commits.zip(before.commits).map(|(after, before)| after - before),
            engine: &engine,
            log_end,
            is_flushed: flushed.is_ok(),
        };
        self.check_run(context, dialect, page_bytes, (&mut *session, &counted))?;
        let (row_bytes, mut marks) = self.row_bytes(before.size_bytes, after.size_bytes, page_bytes)?;
        let flush_s = match flushed {
            Ok(()) => Reading::Value(flush_s),
            Err(reason) => {
                marks.push(make_note(format!("no checkpoint, so that the elapsed time has no end: {reason}")));
                Reading::unavailable(format!("no checkpoint: {reason}"))
            }
        };
        marks.extend(started.into_iter().chain(engine.notes.iter().cloned()).map(make_note));
        let totals = (dialect.counter_origin() == Totals::SinceOpened).then_some(after.engine);
        let os = before.os.and_then(|before| Ok((before, after.os?)));
        let (statements, rows) = (self.statements, self.rows);
        Ok(Stepped::Done(outcome::step_outcome(PagesFound {
            statements,
            rows,
            page_bytes,
            row_bytes,
            inserted,
            flush_s,
            cpu_s,
            engine,
            totals,
            os,
            written_by: dialect.written_by(),
            files,
            marks,
        })))
    }
}

/// Makes a note.
fn make_note(detail: String) -> Mark {
    Mark::new(MarkKind::Note, detail)
}

impl PageInsert {
    /// Fails unless the engine has, and has counted, what was sent.
    fn check_run(
        &self,
        context: &StepContext<'_>,
        dialect: &dyn PagesDialect,
        page_bytes: u64,
        (session, counted): (&mut dyn Session, &Counted<'_>),
    ) -> Result<(), Failure> {
        let claim = PagesClaim { dialect, statements: self.statements, rows: self.rows, page_bytes };
        claim.check_rows(&mut *context.system.connect_session(SessionKind::Plain)?)?;
        claim.check_counts(counted)?;
        let tier = context.system.facts()?.durability().map(|durability| durability.tier);
        if tier == Some(DurabilityTier::Durable) {
            claim.check_waits(session, counted)?;
        }
        claim.check_flush(session, counted)
    }

    /// Computes the bytes that a row has taken, by the table's size before and after, with notes.
    fn row_bytes(
        &self,
        before: Result<f64, String>,
        after: Result<f64, String>,
        page_bytes: u64,
    ) -> Result<(Reading, Vec<Mark>), Failure> {
        match before.and_then(|before| Ok(after? - before)) {
            Ok(bytes) => {
                let row_bytes = bytes / (self.statements * self.rows) as f64;
                Ok((Reading::Value(row_bytes), self.check_size(row_bytes, page_bytes)?))
            }
            Err(reason) => {
                let mark = make_note(format!("whether a row fills a page is not known: {reason}"));
                Ok((Reading::unavailable(reason), vec![mark]))
            }
        }
    }

    /// Fails if a row takes less than a page; makes a note if it takes much more.
    fn check_size(&self, row_bytes: f64, page_bytes: u64) -> Result<Vec<Mark>, Failure> {
        let pages = row_bytes / page_bytes as f64;
        if pages < FEWEST_PAGES {
            let cause = format!("a row takes {row_bytes:.0} bytes, and a page has {page_bytes}");
            return Err(Failure::new(FailureKind::Verification, "fill a page with each row", cause));
        }
        let detail = format!("a row takes {pages:.2} pages; one was meant, and other sessions may have written too");
        // A few rows do not outweigh what an engine writes once.
        let large = pages > MOST_PAGES && (pages - 1.0) * (self.statements * self.rows) as f64 > 64.0;
        Ok(if large { vec![make_note(detail)] } else { Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_must_fill_a_page() {
        let test = PageInsert { statements: 1_000, rows: 8 };
        assert_eq!(test.check_size(8_200.0, 8_192).unwrap(), []);
        let shared = test.check_size(4_100.0, 8_192).unwrap_err();
        assert_eq!(shared.kind, FailureKind::Verification);
        assert_eq!(test.check_size(16_384.0, 8_192).unwrap().len(), 1);
        assert_eq!(PageInsert { statements: 4, rows: 8 }.check_size(16_384.0, 8_192).unwrap(), []);
    }
}
