//! Indexes that others put on étalon's tables, as event triggers and advisers do: they change what every run costs.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use model::Facts;
use model::facts::{ADDED_BY_OTHERS, INSTANCE};

use super::{ClientOf, Server, ServerSystem};
use crate::server::refusal::ask_failure;
use load::error::Failure;
use workloads::dataset::{Dataset, Tables};

/// What is known of the indexes on étalon's tables, but for keys.
#[derive(Default)]
pub(super) enum OwnIndexes {
    #[default]
    NotMade,
    Named(BTreeSet<String>),
    /// Statements of the user or of a workload make more of them.
    Unknown,
}

impl OwnIndexes {
    /// Adds the names of a data set's indexes to those known.
    fn add_indexes(&mut self, data: &Dataset) {
        let names = data.indexes.iter().map(|index| index.name.to_lowercase());
        match self {
            _ if !data.later.is_empty() || data.has_statements_of_user() => *self = OwnIndexes::Unknown,
            OwnIndexes::Unknown => (),
            OwnIndexes::NotMade => *self = OwnIndexes::Named(names.collect()),
            OwnIndexes::Named(known) => known.extend(names),
        }
    }
}

impl<S: Server> ServerSystem<S> {
    /// Notes the indexes of a data set as étalon's own.
    pub(super) fn note_own_indexes(&self, data: &Dataset) {
        self.lock_own_indexes().add_indexes(data);
    }

    /// Locks what is known of étalon's own indexes, poisoned too.
    fn lock_own_indexes(&self) -> MutexGuard<'_, OwnIndexes> {
        // A set grows by single insertions.
        self.own_indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds to the facts the indexes that others have put on étalon's tables.
    pub(super) fn add_strange_indexes(&self, client: &mut ClientOf<S>, facts: &mut Facts) -> Result<(), Failure> {
        let own = self.lock_own_indexes();
        let (Tables::Own, OwnIndexes::Named(own), Some(question)) = (self.tables, &*own, S::INDEXES) else {
            return Ok(());
        };
        let rows = client.query_text_rows(question).map_err(|error| ask_failure("read the tables' indexes", &error))?;
        let found = rows.into_iter().filter_map(|row| {
            let mut cells = row.into_iter().flatten();
            let (index, table) = (cells.next()?, cells.next()?);
            (!own.contains(&index.to_lowercase())).then(|| format!("index {index} on {table}"))
        });
        let known = facts.get(&format!("{INSTANCE}{ADDED_BY_OTHERS}")).filter(|added| *added != "nothing");
        let added: Vec<String> = known.map(str::to_owned).into_iter().chain(found).collect();
        if !added.is_empty() {
            facts.record_instance(ADDED_BY_OTHERS, added.join(", "));
        }
        Ok(())
    }
}
