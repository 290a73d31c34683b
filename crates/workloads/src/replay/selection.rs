//! Which executions of a capture are replayed; each of the others is counted with the reason.

use std::collections::{HashMap, HashSet};

use formats::capture::Recorded;

use super::statements::{Statement, Statements};
use load::error::Failure;

/// Why an execution is not replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    Database,
    Time,
    Session,
    Class,
    Several,
    Transaction,
    SessionState,
    Names,
    Writes,
}

impl Skipped {
    pub const ALL: [Skipped; 9] = [
        Skipped::Database,
        Skipped::Time,
        Skipped::Session,
        Skipped::Class,
        Skipped::Several,
        Skipped::Transaction,
        Skipped::SessionState,
        Skipped::Names,
        Skipped::Writes,
    ];

    /// Name of the reason in the store.
    pub fn code(self) -> &'static str {
        match self {
            Skipped::Database => "other_database",
            Skipped::Time => "other_time",
            Skipped::Session => "other_session",
            Skipped::Class => "other_class",
            Skipped::Several => "several_statements",
            Skipped::Transaction => "transaction",
            Skipped::SessionState => "session_state",
            Skipped::Names => "other_names",
            Skipped::Writes => "writes",
        }
    }

    /// Words for the reason, that follow a number of executions.
    pub fn describe_reason(self) -> &'static str {
        match self {
            Skipped::Database => "of another database, or of none",
            Skipped::Time => "outside `from` and `to`",
            Skipped::Session => "of sessions beyond `sessions`",
            Skipped::Class => "of classes that `only` does not name",
            Skipped::Several => "several statements in one text",
            Skipped::Transaction => "begin or end a transaction",
            Skipped::SessionState => "are about the session: settings, cursors, prepared statements",
            Skipped::Names => {
                "come after their session chose other tables or rights (`SET search_path`, `SET ROLE`): give the URLs the same, \
                 `?options=-csearch_path%3D…`, and replay them by `names = \"url\"`"
            }
            Skipped::Writes => "write, lock, or are no query",
        }
    }
}

/// How many executions were skipped, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SkippedCounts([u64; Skipped::ALL.len()]);

impl SkippedCounts {
    /// Counts an execution that is skipped for a reason.
    pub fn add(&mut self, reason: Skipped) {
        self.0[reason as usize] += 1;
    }

    /// Number of executions skipped for a reason.
    pub fn of_reason(&self, reason: Skipped) -> u64 {
        self.0[reason as usize]
    }

    /// Number of all executions that were skipped.
    pub fn sum(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Lists the reasons with their numbers, for a person; `None` if nothing was skipped.
    pub fn describe_counts(&self) -> Option<String> {
        let some = Skipped::ALL.into_iter().filter(|reason| self.of_reason(*reason) > 0);
        let all: Vec<String> =
            some.map(|reason| format!("{} {}", self.of_reason(reason), reason.describe_reason())).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// What the keys of the plan leave of a capture; `None` leaves all.
#[derive(Debug, Default)]
pub struct Selection {
    /// Numbers of sessions.
    pub of_database: Option<HashSet<u64>>,
    pub sessions: Option<HashSet<u64>>,
    /// Numbers of classes.
    pub classes: Option<HashSet<u64>>,
    /// When each session first chose other tables or rights than those it began with, unless that is to be ignored.
    pub renamed: HashMap<u64, i64>,
    pub from_us: Option<i64>,
    pub to_us: Option<i64>,
}

impl Selection {
    /// Chooses whether an execution is replayed: its statement, or the first reason why it is not.
    ///
    /// # Errors
    /// The capture is damaged.
    pub fn choose<'s>(
        &self,
        one: &Recorded,
        statements: &'s mut Statements<'_>,
    ) -> Result<Result<&'s Statement, Skipped>, Failure> {
        /// Whether a number is not among those that a key selects.
        fn is_out(of: Option<&HashSet<u64>>, number: u64) -> bool {
            of.is_some_and(|some| !some.contains(&number))
        }
        let start_us = one.packed.start_us;
        if is_out(self.of_database.as_ref(), one.packed.session) {
            return Ok(Err(Skipped::Database));
        }
        if self.from_us.is_some_and(|from| start_us < from) || self.to_us.is_some_and(|to| start_us >= to) {
            return Ok(Err(Skipped::Time));
        }
        if is_out(self.sessions.as_ref(), one.packed.session) {
            return Ok(Err(Skipped::Session));
        }
        if is_out(self.classes.as_ref(), one.class) {
            return Ok(Err(Skipped::Class));
        }
        let statement = statements.get(one.packed.statement)?;
        // Logs tell times in milliseconds at best, so what has the same may be the next one.
        let is_renamed = self.renamed.get(&one.packed.session).is_some_and(|at| *at <= start_us);
        if is_renamed && !statement.chooses_names(&one.packed) {
            return Ok(Err(Skipped::Names));
        }
        Ok(statement.skipped.map_or(Ok(statement), Err))
    }
}
