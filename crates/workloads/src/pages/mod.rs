//! Page inserts: rows that fill a page each, eight to a statement, each statement committed, a checkpoint at the end; and
//! what the engine says of its own I/O in between.
//!
//! The published test printed the totals of SQL Server's counters. Here every figure is the difference of two snapshots,
//! by file where the engine has files, and stands next to the operating system's account. What an engine does not count is
//! `n/a` with the reason.

pub mod account;
mod claims;
pub mod dialect;
mod insert;
mod outcome;
mod procedure;

use model::{Point, WorkloadSpec};

use crate::dataset::Dataset;
use crate::workload::{Action, Grants, Task, Workload};
use load::error::Failure;
use procedure::PageInsert;

pub use account::{Figure, FileClass, IoAccount, IoPlace};

/// Bytes of a page as SQL Server, PostgreSQL and the built-in plans have it, for estimates.
const USUAL_PAGE_BYTES: u64 = 8192;

model::keys! {
    struct Keys {
        /// How many statements are sent, one after another, each committed; the published test's number is the default
        statements: u64 = int(1..=1_000_000_000).or(128_000),
        /// Rows of a statement; each fills a page
        rows: u64 = int(1..=1_000).or(8),
    }
}

pub struct Pages;

/// Name of the table that is filled.
pub const TABLE: &str = "tio";

impl Workload for Pages {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "pages",
            family: "pages",
            about: "Inserts of rows that fill a page each, with the engine's own account of its I/O",
            rate_unit: "commits/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Makes the step that inserts pages as the plan's point says.
    fn make_task(&self, point: &Point, _grants: &Grants) -> Result<Task, Failure> {
        let Keys { statements, rows } = Keys::read(point)?;
        Ok(Task {
            // The table is made by the procedure, since its rows depend on the size of the engine's pages. With the log, it
            // takes about twice the space of its rows.
            dataset: Dataset {
                name: format!("a table that takes {statements} × {rows} pages"),
                size_bytes: statements.saturating_mul(rows).saturating_mul(2 * USUAL_PAGE_BYTES),
                later: vec![TABLE.to_owned()],
                ..Dataset::default()
            },
            action: Action::Step(Box::new(PageInsert { statements, rows })),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_the_published_test() {
        let task = Pages.make_task(&Point::default(), &Grants::default()).unwrap();
        assert_eq!(task.dataset.name, "a table that takes 128000 × 8 pages");
        assert_eq!(task.dataset.size_bytes, 2 * 1_024_000 * 8192);
        let none = [("rows".to_owned(), model::Value::Int(0))].into();
        assert!(Pages.make_task(&none, &Grants::default()).is_err());
    }
}
