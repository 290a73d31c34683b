//! Tells whether a system is still what it was before its first run.

use std::collections::{BTreeMap, BTreeSet};

use model::facts::{Difference, INSTANCE, SETTINGS_READ};
use model::{Facts, Mark, PlannedRun, RunRecord};

use crate::site::FactsScope;

use super::{Conductor, ExperimentError, system_error};
use load::error::{Failure, FailureKind};
use load::observer::Observer;
use workloads::empty_tables::{EMPTY, HOLDS_ROWS, TABLE};

/// Facts of an instance that change without another one taking its place.
pub(super) const PASSING: [&str; 2] = ["started", SETTINGS_READ];

/// Gives a system's identity the facts of the instance that it was in an earlier sitting.
pub(super) fn continue_instance(mut identity: Facts, earlier: Option<&Facts>) -> Facts {
    let passing = PASSING.map(|name| format!("{INSTANCE}{name}"));
    let earlier = earlier.map(|facts| &facts.entries).into_iter().flatten();
    for (fact, value) in earlier.filter(|(fact, _)| !passing.contains(fact)) {
        if fact.starts_with(INSTANCE) && identity.entries.contains_key(fact) {
            identity.entries.insert(fact.clone(), value.clone());
        }
    }
    identity
}

/// Lists the facts of tables whose value is `are`: that they are empty, or hold rows.
fn tables_with_state<'f>(facts: &'f Facts, are: &'static str) -> impl Iterator<Item = &'f String> {
    facts.entries.keys().filter(move |name| name.starts_with(TABLE) && facts.get(name) == Some(are))
}

/// Lists the tables that held rows and are empty now.
fn find_emptied_tables(filled: &BTreeSet<String>, now: &Facts) -> Vec<Difference> {
    let emptied = tables_with_state(now, EMPTY).filter(|table| filled.contains(*table));
    emptied
        .map(|name| Difference { name: name.clone(), a: Some(HOLDS_ROWS.to_owned()), b: Some(EMPTY.to_owned()) })
        .collect()
}

/// Finds a table that is empty on one system and holds rows on another: the table and both systems.
fn find_table_empty_on_one_side(systems: &[(String, Facts)]) -> Option<(&str, &str, &str)> {
    let held = |wanted: &'static str| {
        systems.iter().flat_map(move |(system, facts)| {
            let tables = facts.entries.keys().filter_map(|fact| fact.strip_prefix(TABLE).zip(facts.get(fact)));
            tables.filter(move |(_, said)| *said == wanted).map(move |(table, _)| (table, system.as_str()))
        })
    };
    held(EMPTY).find_map(|(table, empty)| {
        let (_, other) = held(HOLDS_ROWS).find(|(other, _)| *other == table)?;
        Some((table, empty, other))
    })
}

impl Conductor<'_> {
    /// Fails if a table of others is empty on one system and not on another.
    ///
    /// # Errors
    /// A table of others that a load names is empty on one side alone, and the plan does not allow different rows.
    pub(super) fn refuse_an_empty_side(&self, systems: &[(String, Facts)]) -> Result<(), ExperimentError> {
        if self.plan.comparison.allow_different_rows {
            return Ok(());
        }
        let Some((table, empty, other)) = find_table_empty_on_one_side(systems) else { return Ok(()) };
        let cause = format!("it holds no row, and on `{other}` it holds some");
        let failure = Failure::new(FailureKind::Verification, format!("compare on the table `{table}`"), cause);
        let hint = "fill it; or set `allow_different_rows = true` in the plan, if it is to be so";
        Err(system_error(empty, failure.with_hint(hint)))
    }

    /// Notes which tables of others hold rows on a server, from its facts.
    pub(super) fn note_filled(&mut self, server: &str, facts: &Facts) {
        let filled = self.filled.entry(server.to_owned()).or_default();
        filled.extend(tables_with_state(facts, HOLDS_ROWS).cloned());
    }

    /// Reads and keeps what each system is before its first run.
    /// An earlier sitting's instance counts on: the rounds of another server are not pooled with its own.
    /// That the same server was started again between two sittings is no change of it.
    pub(super) fn note_identities(&mut self, known: &BTreeMap<String, Facts>) -> Result<(), ExperimentError> {
        for (name, site) in &self.sites {
            let identity = site.facts(&[], FactsScope::AfterRun).map_err(|failure| system_error(name, failure))?;
            self.identities.borrow_mut().insert(name.clone(), continue_instance(identity, known.get(name)));
        }
        Ok(())
    }

    /// Marks a run after which its system is no longer what it was before the first one.
    ///
    /// # Errors
    /// The system does not say what it is, so that the run may be of another one.
    pub(super) fn mark_changes(
        &mut self,
        run: PlannedRun,
        record: &mut RunRecord,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure> {
        let (case, task) = (&self.cases[run.case as usize], &self.tasks[run.case as usize]);
        let system = &*case.system;
        let server = self.name_behind_alias(system).to_owned();
        let Some(site) = self.sites.get(&server) else { return Ok(()) };
        let mut identities = self.identities.borrow_mut();
        // A changed system has an identity of its own.
        let name = if identities.contains_key(system) { system } else { &server }.to_owned();
        let Some(before) = identities.get_mut(&name) else { return Ok(()) };
        let now = site.facts(&[(case, task)], FactsScope::AfterRun)?;
        let mut changes = now.changes_since(before);
        if !self.plan.comparison.allow_different_rows {
            changes
                .extend(self.filled.get(&server).map(|filled| find_emptied_tables(filled, &now)).unwrap_or_default());
        }
        if changes.is_empty() {
            return Ok(());
        }
        let mark = Mark::system_changed(&changes);
        let settings_read = format!("{INSTANCE}{SETTINGS_READ}");
        if changes.iter().all(|change| change.name == settings_read) {
            // The settings are as before, and so are the runs to come.
            observer.warning(&format!(
                "system `{name}` has read its settings again since its last run; whether all were as before meanwhile is not \
                 known, so this run's row has no verdict"
            ));
            if let Some(fact) = now.entries.get(&settings_read) {
                before.entries.insert(settings_read, fact.clone());
            }
        } else if self.changed.insert(name.clone()) {
            let detail = &mark.detail;
            observer.warning(&format!("system `{name}` changed during the experiment, so it has no verdict: {detail}"));
        }
        record.marks.push(mark);
        Ok(())
    }
}
