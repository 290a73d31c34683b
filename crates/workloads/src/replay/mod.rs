//! Replay: what a server was asked, out of a capture, on other systems. A run is a whole replay; each class of statements is timed
//! by itself, and its answers are compared.

mod lane;
mod order;
mod outcome;
mod pace;
mod procedure;
mod progress;
mod selection;
mod source;
mod statements;

use std::sync::Arc;

use model::{Point, WorkloadSpec};

use crate::dataset::Dataset;
use crate::workload::{Action, Grants, Task, Workload};
use load::error::Failure;
use procedure::Replaying;
use source::Source;
pub use source::class_names;

model::keys! {
    struct Keys {
        /// The file of a capture, as `etalon capture` writes it
        capture: String = TEXT.required(),
        /// When a statement is sent: `original`, at its captured time; `2x`, so many times as fast; `think`, after the captured
        /// pause in its session; `none`, as soon as all have ended that had ended before it began in the capture
        pace: String = TEXT.or("original"),
        /// The database whose sessions are replayed, by its name in the capture; needed where the capture has several
        database: Option<String> = TEXT,
        /// Only so many sessions, spread over the capture; the others are counted as skipped
        sessions: Option<u32> = int(1..=1_000_000),
        /// Only these classes, separated by commas, by their names in `etalon show CAPTURE`
        only: Option<String> = TEXT,
        /// Only what began at this time or later: `10:00` or `10:00:30`, as `etalon show CAPTURE` has the time
        from: Option<String> = TEXT,
        /// Only what began before this time, such as `10:05`
        to: Option<String> = TEXT,
        /// Whether statements after a `SET search_path` or `SET ROLE` of their session are left out (`capture`), or replayed with the
        /// names and rights that the URL gives (`url`)
        names: String = choice(&["capture", "url"]).or("capture"),
        /// Whether a statement's answers have to be alike on all systems and in all runs; without that tables that differ can be
        /// compared
        compare_answers: bool = FLAG.or(true),
    }
}

pub struct Replay;

impl Workload for Replay {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "replay",
            family: "queries",
            about: "What a server was asked, out of a capture, each class of statements timed by itself, with answers that are compared",
            rate_unit: "statements/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// True: a replay only works on tables that are there.
    fn is_on_tables_of_others(&self, _point: &Point) -> bool {
        true
    }

    /// Makes the step that replays the plan's capture.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = Keys::read(point)?;
        let pace = keys.pace.parse()?;
        let first_answers = keys.compare_answers.then(|| Arc::clone(&grants.first_answers));
        let source = Source::read(&keys, &grants.texts)?;
        Ok(Task {
            dataset: Dataset { name: "the tables that are there".to_owned(), ..Dataset::default() },
            action: Action::Step(Box::new(Replaying { source, pace, first_answers })),
        })
    }
}
