//! Queries: the user's own statements. Each is timed by itself, on the tables that are there, and its answer is compared before it
//! is timed and whenever it is.

mod answer;
mod cache;
mod parameters;
mod procedure;
mod remembered;
mod setup;
mod source;

use std::sync::Arc;

use model::{Point, WorkloadSpec};

use crate::dataset::{Dataset, Tables};
use crate::workload::{Action, Grants, Task, Workload};
use load::error::Failure;

pub(crate) use answer::Answer;
pub use answer::FirstAnswers;
pub(crate) use cache::without_rewording;
pub(crate) use procedure::Asking;
pub(crate) use remembered::non_query_kind;
pub use remembered::{LeftOut, Picked, Picking, Remembered, StatementStatistics, Use, pick_slowest, statement_name};
pub(crate) use source::{KnownAnswer, Query, is_ordered};
pub use source::{has_queries, is_query_file};

model::keys! {
    struct Keys {
        /// A folder whose files `*.sql` are asked, or the files, separated by commas
        files: String = TEXT.required(),
        /// A folder of statements `*.sql`, or files, that make the queries' tables on servers that étalon starts itself. Without it
        /// the queries work on tables that are there
        setup: Option<String> = TEXT,
        /// Clients that ask the same query at the same time; an execution lasts until the last of them has its answer
        clients: u32 = int(1..=1_000).or(1),
        /// Whether a query's answers have to be alike on all systems and in all runs; without that tables that differ can be
        /// compared
        compare_answers: bool = FLAG.or(true),
    }
}

pub struct Queries;

impl Workload for Queries {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "queries",
            family: "queries",
            about: "Queries of a folder, each timed by itself, with answers that are compared before",
            rate_unit: "queries/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// True unless the user's statements make tables: queries work on those that are there.
    fn is_on_tables_of_others(&self, point: &Point) -> bool {
        Keys::read(point).is_ok_and(|keys| keys.setup.is_none())
    }

    /// Makes the step that asks the plan's queries.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = Keys::read(point)?;
        let queries = source::read_queries(&keys.files, &grants.texts)?;
        let (tables, dataset) = match &keys.setup {
            Some(setup) => (Tables::Own, setup::setup_dataset(setup, &grants.texts)?),
            None => (Tables::None, Dataset { name: "the tables that are there".to_owned(), ..Dataset::default() }),
        };
        let asking = Asking {
            files: keys.files,
            queries,
            clients: keys.clients as usize,
            first_answers: keys.compare_answers.then(|| Arc::clone(&grants.first_answers)),
            tables,
        };
        Ok(Task { dataset, action: Action::Step(Box::new(asking)) })
    }
}
