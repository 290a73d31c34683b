//! Makes and undoes changes: two systems of a plan may be one server, with a change and without it.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use model::facts::{Difference, INSTANCE, SETTINGS_READ};
use model::{Change, Facts, RunRecord};
use store::{ChangeState, StoreError, StoredChange};
use workloads::dataset::{Dialect, Tables};
use workloads::session::{Session, SessionKind, datum_text};
use workloads::transactions::split_message;

use super::identity::{PASSING, continue_instance};
use super::{Conductor, ExperimentError, system_error};
use load::error::{Failure, FailureKind};
use load::observer::Observer;

use crate::site::{FactsScope, Site, SiteJob, run_once};

/// Interval between looks at a session that a killed étalon left at work.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Interval between two looks at a server that must give the same.
const STAYS_FOR: Duration = Duration::from_millis(100);
/// Readings of a server's facts after which a change that it goes on with is given up: ten seconds of pauses.
const MOST_READINGS: u32 = 100;
/// Prefix of the facts that are settings.
const SETTING: &str = "setting.";
const SETTLE: &str = "wait until the server stays as it is";

/// A change that is made in a server, or may be.
#[derive(Clone, Debug)]
pub(super) struct MadeChange {
    /// The system that the server is with it.
    system: String,
    state: ChangeState,
}

impl Conductor<'_> {
    /// Undoes the changes that an étalon that was killed has left in servers, once their sessions have ended.
    pub(super) fn undo_leftovers(&self, observer: &mut dyn Observer) -> Result<(), ExperimentError> {
        for StoredChange { server, system, session, state } in self.store.read_changes()? {
            if let Some(session) = session {
                let ended = self.await_end(&session, &server, observer);
                ended.map_err(|failure| system_error(&system, failure))?;
            }
            if let Some(facts) = self.store.facts()?.remove(&server) {
                self.identities.borrow_mut().insert(server.clone(), facts);
            }
            if state == ChangeState::Made && self.is_undone_by_others(&server, &system)? {
                self.store.remove_change(&server)?;
                observer.warning(&format!("the change of system `{system}` is no longer made in system `{server}`"));
                continue;
            }
            let made = MadeChange { system: system.clone(), state: ChangeState::Unsure };
            self.made.borrow_mut().insert(server.clone(), made);
            self.undo_change(&server).map_err(|failure| system_error(&system, failure))?;
            observer
                .warning(&format!("the change of system `{system}`, which an étalon that ended had left, is undone"));
        }
        Ok(())
    }

    /// Whether a change that was made is gone. What is not known of it is taken for still made.
    ///
    /// # Errors
    /// What the change altered is neither as it was before nor as étalon made it: the undo could remove what others made.
    fn is_undone_by_others(&self, server: &str, system: &str) -> Result<bool, ExperimentError> {
        let Some(changed) = self.store.facts()?.remove(system) else { return Ok(false) };
        let now = self.facts_now(server).map_err(|failure| system_error(system, failure))?;
        let mut altered = match self.identities.borrow().get(server) {
            Some(before) => changed.changes_since(before),
            None => return Ok(false),
        };
        // Each time that étalon has the settings read again is another one.
        let passing = PASSING.map(|name| format!("{INSTANCE}{name}"));
        altered.retain(|change| !passing.contains(&change.name));
        let value_now = |change: &Difference| now.get(&change.name).map(str::to_owned);
        let by_others: Vec<&str> = altered
            .iter()
            .filter(|change| ![&change.a, &change.b].contains(&&value_now(change)))
            .map(|change| change.name.as_str())
            .collect();
        if !by_others.is_empty() {
            let tried = format!("undo the change of `{system}`");
            let cause = format!(
                "{} is neither as it was before the change nor as étalon made it, so others have changed it since; étalon undoes nothing",
                by_others.join(", ")
            );
            let hint =
                "bring the server back to what it was before the change, by its `undo` or otherwise, then resume";
            return Err(system_error(system, Failure::new(FailureKind::NotOurs, tried, cause).with_hint(hint)));
        }
        Ok(!altered.is_empty() && altered.iter().all(|change| value_now(change) == change.a))
    }

    /// Waits until the server no longer works for a killed client's session, so that what is undone stays undone.
    fn await_end(&self, name: &str, server: &str, observer: &mut dyn Observer) -> Result<(), Failure> {
        let (mut session, dialect) = self.session_at(server)?;
        let Some((_, at_work)) = dialect.session_names() else { return Ok(()) };
        let mut is_reported = false;
        while session.query(at_work)?.iter().any(|row| datum_text(row.first()) == name) {
            if self.is_interrupted() {
                return Err(Failure::new(FailureKind::Interrupted, "undo a change", "it was interrupted"));
            }
            if !std::mem::replace(&mut is_reported, true) {
                observer.warning(&format!(
                    "system `{server}` still works on a change for an étalon that was killed (session {name}): waiting for its end"
                ));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Prepares the tables and makes one run of the system, its change made in between.
    /// A change is made outside of both: tables come back without it.
    pub(super) fn load_once(
        &self,
        site: &dyn Site,
        job: &SiteJob<'_>,
        observer: &mut dyn Observer,
    ) -> Result<RunRecord, Failure> {
        let system = &job.case.system;
        if job.task.tables() == Tables::Own {
            self.change_to(self.name_behind_alias(system))?;
        }
        run_once(self.places(), site, job, &|| self.change_to(system), observer)
    }

    /// Makes a system's change in its server, if it has one, after undoing that of another system.
    pub(super) fn change_to(&self, system: &str) -> Result<(), Failure> {
        let server = self.name_behind_alias(system);
        let made = self.made.borrow().get(server).cloned();
        let is_so = made.as_ref().is_some_and(|made| made.system == system && made.state == ChangeState::Made);
        if is_so {
            return Ok(());
        }
        if made.is_some() {
            self.undo_change(server)?;
        }
        match self.plan.system(system).and_then(|system| system.change.as_ref()) {
            Some(change) => self.make_change(server, system, change),
            None => Ok(()),
        }
    }

    /// Notes that a change may be gone, since the server was away.
    pub(super) fn note_unsure(&self, server: &str) {
        if let Some(made) = self.made.borrow_mut().get_mut(server) {
            made.state = ChangeState::Unsure;
        }
    }

    /// Makes a change in a server by its statements, and notes it before and after; one that fails is undone.
    fn make_change(&self, server: &str, system: &str, change: &Change) -> Result<(), Failure> {
        let (mut session, dialect) = self.session_at(server)?;
        self.note_change_begun(server, system, &mut *session, dialect)?;
        let statements_to_make = split_statements(&change.make, dialect);
        for (number, sql) in statements_to_make.iter().enumerate() {
            let Err(failure) = session.execute(sql) else { continue };
            drop(session);
            // What is there is not of this statement; another failure may have left something.
            let unmade_from = if says_it_is_there(&failure) { number } else { number + 1 };
            let (made, unmade) = statements_to_make.split_at(unmade_from);
            let left = if made.is_empty()
                || number == 0 && self.differences_from_identity(server).is_ok_and(|differences| differences.is_empty())
            {
                // Undoing would remove what was there of that name.
                self.forget_change(server)?;
                "nothing of it was made, so nothing is undone".to_owned()
            } else {
                match self.undo_due_statements(server, |undo| !belongs_to_unmade(undo, made, unmade)) {
                    Ok(()) => "what was made of it is undone".to_owned(),
                    Err(undoing) => format!("and étalon {undoing}"),
                }
            };
            let tried = format!("make the change of `{system}`: {}", failure.tried);
            return Err(Failure { tried, cause: format!("{}; {left}", failure.cause), ..failure });
        }
        self.note_change(StoredChange { session: None, ..stored_change(server, system, ChangeState::Made) })?;
        self.note_settled_identity(server, system)?;
        self.refuse_no_effect(server, system, &statements_to_make)
    }

    /// Fails if a change that alters settings has left those of new sessions as before; undoes it then.
    ///
    /// # Errors
    /// The change alters settings, and those of the runs' sessions are as before; it is undone.
    fn refuse_no_effect(&self, server: &str, system: &str, made: &[String]) -> Result<(), Failure> {
        let Some(altering) = made.iter().find(|sql| alters_settings(sql)) else { return Ok(()) };
        let is_altered = {
            let identities = self.identities.borrow();
            let (Some(before), Some(now)) = (identities.get(server), identities.get(system)) else { return Ok(()) };
            let mut settings = now.entries.keys().filter(|name| name.starts_with(SETTING));
            settings.any(|name| now.get(name) != before.get(name))
        };
        if is_altered {
            return Ok(());
        }
        self.undo_change(server)?;
        let tried = format!("find the change of `{system}` in a new session");
        let cause = format!("after `{}` every setting is as before; the change is undone", altering.trim());
        let hint = "where the server must read its files again, add `SELECT pg_reload_conf()` to `change` and to `undo`; compare what \
                    takes effect with a restart as two servers with `settings` of their own";
        Err(Failure::new(FailureKind::Verification, tried, cause).with_hint(hint))
    }

    /// Undoes the change that is made in a server by all its statements, if there is one.
    fn undo_change(&self, server: &str) -> Result<(), Failure> {
        self.undo_due_statements(server, |_| true)
    }

    /// Undoes a server's change by those of its statements that are due, and forgets it.
    /// Where what is made is not sure, statements may fail, and the server must then be what it was.
    fn undo_due_statements(&self, server: &str, is_due: impl Fn(&str) -> bool) -> Result<(), Failure> {
        let Some(MadeChange { system, state }) = self.made.borrow().get(server).cloned() else { return Ok(()) };
        let undo = self.plan.system(&system).and_then(|system| system.change.as_ref()).map(|change| &change.undo);
        let (mut session, dialect) = self.session_at(server)?;
        self.note_change_begun(server, &system, &mut *session, dialect)?;
        let tried = format!("undo the change of `{system}`");
        let mut refused = Vec::new();
        let due = undo.into_iter().flat_map(|undo| split_statements(undo, dialect)).filter(|sql| is_due(sql));
        for sql in due {
            match session.execute(&sql) {
                Ok(()) => {}
                Err(failure) if state == ChangeState::Unsure && !failure.may_pass() => {
                    refused.push(failure.to_string())
                }
                Err(failure) => return Err(Failure { tried: format!("{tried}: {}", failure.tried), ..failure }),
            }
        }
        drop(session);
        if state == ChangeState::Unsure {
            let differences: Vec<String> =
                self.differences_from_identity(server)?.iter().map(Difference::sentence).collect();
            if !differences.is_empty() {
                let cause = differences.into_iter().chain(refused).collect::<Vec<_>>().join("; ");
                return Err(Failure::new(FailureKind::Verification, tried, cause));
            }
        }
        self.forget_change(server)?;
        self.note_settled_identity(server, server)
    }

    /// Undoes at the end the changes that are still made in servers, and warns of what could not be undone.
    pub(super) fn undo_all(&self, observer: &mut dyn Observer) {
        let made = self.made.borrow().clone();
        for (server, MadeChange { system, .. }) in made {
            let Some(site) = self.sites.get(&server) else { continue };
            site.begin_clean_up();
            let undone = if self.silent.contains(&server) {
                let tried = format!("undo the change of `{system}`");
                Err(Failure::new(FailureKind::ConnectionLost, tried, "the server does not answer"))
            } else {
                self.undo_change(&server)
            };
            let left = undone.and_then(|()| self.differences_from_identity(&server));
            match left {
                Err(failure) => observer.warning(&format!("system `{system}`: {failure}")),
                Ok(left) if !left.is_empty() && !self.changed.contains(&server) => {
                    let left: Vec<String> = left.iter().map(Difference::sentence).collect();
                    let left = left.join("; ");
                    observer.warning(&format!("system `{server}` is not what it was before the change: {left}"));
                }
                Ok(_) => {}
            }
        }
    }

    /// Stores a changed system's facts after its change was first made; fails if they differ from the stored ones.
    pub(super) fn take_changed_facts(
        &mut self,
        system: &str,
        observer: &mut dyn Observer,
    ) -> Result<(), ExperimentError> {
        let has_change = self.plan.system(system).is_some_and(|system| system.change.is_some());
        if !has_change || !self.described.insert(system.to_owned()) {
            return Ok(());
        }
        let facts = self.facts_of_system(system)?;
        observer.system_known(system, &facts);
        match self.store.facts()?.get(system) {
            Some(before) => self.check_facts_unchanged(system, before, &facts, observer),
            None => Ok(self.store.put_facts(system, &facts, host::clock::unix_ms())?),
        }
    }

    /// Lists the facts in which a server now differs from what it was without a change.
    fn differences_from_identity(&self, server: &str) -> Result<Vec<Difference>, Failure> {
        let now = self.facts_now(server)?;
        let identities = self.identities.borrow();
        let changes = identities.get(server).map(|before| now.changes_since(before)).unwrap_or_default();
        let passing = PASSING.map(|name| format!("{INSTANCE}{name}"));
        Ok(changes.into_iter().filter(|change| !passing.contains(&change.name)).collect())
    }

    /// Reads a server's facts as they are now.
    fn facts_now(&self, server: &str) -> Result<Facts, Failure> {
        self.site_named(server)
            .map_err(|error| Failure::new(FailureKind::Plan, "read what it is", error))?
            .facts(&[], FactsScope::AfterRun)
    }

    /// Reads a server's settled facts after a change, and keeps them as the system's identity if it has none yet.
    /// That settings were read again is taken into the identity of all systems of the server.
    fn note_settled_identity(&self, server: &str, system: &str) -> Result<(), Failure> {
        let now = self.settled_facts(server)?;
        if !self.identities.borrow().contains_key(system) {
            let known = self.store.facts().map_err(|error| store_failure(&error))?;
            self.identities.borrow_mut().insert(system.to_owned(), continue_instance(now.clone(), known.get(system)));
        }
        let read = format!("{INSTANCE}{SETTINGS_READ}");
        let Some(fact) = now.entries.get(&read) else { return Ok(()) };
        for (name, identity) in self.identities.borrow_mut().iter_mut() {
            if self.name_behind_alias(name) == server {
                identity.entries.insert(read.clone(), fact.clone());
            }
        }
        Ok(())
    }

    /// Reads a server's facts until two readings agree, because some servers confirm a new setting before they use it.
    ///
    /// # Errors
    /// It does not settle within [`MOST_READINGS`]. Ctrl-C does not end it: the change is undone behind it, too.
    fn settled_facts(&self, server: &str) -> Result<Facts, Failure> {
        let mut facts = self.facts_now(server)?;
        let mut differing = String::new();
        for _ in 0..MOST_READINGS {
            thread::sleep(STAYS_FOR);
            let now = self.facts_now(server)?;
            let changes = now.changes_since(&facts);
            let Some(change) = changes.first() else { return Ok(now) };
            differing.clone_from(&change.name);
            facts = now;
        }
        Err(Failure::new(FailureKind::Other, SETTLE, format!("`{differing}` changes from one reading to the next")))
    }

    /// Opens a session on a server for the statements that a plan's change consists of.
    fn session_at(&self, server: &str) -> Result<(Box<dyn Session>, &'static dyn Dialect), Failure> {
        let kind = match self.tables_used() {
            Tables::Own => SessionKind::Plain,
            Tables::None => SessionKind::OnTablesOfOthers,
        };
        let site = self.site_named(server).map_err(|error| Failure::new(FailureKind::Plan, "open a session", error))?;
        site.session(kind)
    }

    /// Notes that a change is about to be made or undone, with the session that does it.
    fn note_change_begun(
        &self,
        server: &str,
        system: &str,
        session: &mut dyn Session,
        dialect: &dyn Dialect,
    ) -> Result<(), Failure> {
        let name = match dialect.session_names() {
            Some((own, _)) => session.query(own)?.first().map(|row| datum_text(row.first())),
            None => None,
        };
        self.note_change(StoredChange { session: name, ..stored_change(server, system, ChangeState::Unsure) })
    }

    /// Notes in the store and in memory how far a change is.
    fn note_change(&self, change: StoredChange) -> Result<(), Failure> {
        self.store.put_change(&change).map_err(|error| store_failure(&error))?;
        let StoredChange { server, system, state, .. } = change;
        self.made.borrow_mut().insert(server, MadeChange { system, state });
        Ok(())
    }

    /// Removes the note of a server's change from the store and from memory.
    fn forget_change(&self, server: &str) -> Result<(), Failure> {
        self.store.remove_change(server).map_err(|error| store_failure(&error))?;
        self.made.borrow_mut().remove(server);
        Ok(())
    }
}

/// Whether a statement failed because what it makes is already there.
fn says_it_is_there(failure: &Failure) -> bool {
    let said = failure.cause.to_lowercase();
    // PostgreSQL's codes for objects, tables and columns, whatever its language.
    ["already exists", "duplicate key name", "duplicate column name", "42710", "42p07", "42701"]
        .iter()
        .any(|words| said.contains(words))
}

/// Whether a statement undoes what was not made, and might remove something of that name that was there before.
/// It has a word of the statements that were not made, and none of those that were made has it.
fn belongs_to_unmade(undo: &str, made: &[String], unmade: &[String]) -> bool {
    let [of_made, of_unmade] = [made, unmade]
        .map(|statements| statements.iter().flat_map(|sql| split_into_words(sql)).collect::<BTreeSet<_>>());
    split_into_words(undo).iter().any(|word| of_unmade.contains(word) && !of_made.contains(word))
}

/// Splits a statement into its words in lower case, without quotes and punctuation.
fn split_into_words(sql: &str) -> Vec<String> {
    let words = sql.split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$');
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// Whether a statement alters settings that the sessions of runs have, once the server has taken them over.
fn alters_settings(sql: &str) -> bool {
    let sql = sql.to_uppercase();
    let words: Vec<&str> = sql.split_whitespace().collect();
    match &words[..] {
        ["ALTER", "SYSTEM", ..] | ["SET", "PERSIST_ONLY", ..] => true,
        ["ALTER", "ROLE" | "USER" | "DATABASE", rest @ ..] => {
            rest.windows(3).any(|words| words[1] == "SET" && words[0] != "CHARACTER" && words[2] != "TABLESPACE")
        }
        _ => false,
    }
}

/// Makes the note of a change for the store, without a session.
fn stored_change(server: &str, system: &str, state: ChangeState) -> StoredChange {
    StoredChange { server: server.to_owned(), system: system.to_owned(), state, session: None }
}

/// Makes the failure of a change that could not be noted in the store.
fn store_failure(error: &StoreError) -> Failure {
    Failure::new(FailureKind::Other, "note a change in the store", error)
}

/// Splits texts into single statements, because some engines refuse a few of them among others.
fn split_statements(texts: &[String], dialect: &dyn Dialect) -> Vec<String> {
    texts.iter().flat_map(|text| split_message(text, dialect)).map(|part| part.sql).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_made_is_not_undone() {
        let made = ["CREATE INDEX mine ON orders (amount)".to_owned()];
        let unmade = ["CREATE INDEX \"by_customer\" ON orders (customer)", "ANALYZE orders"].map(str::to_owned);
        assert!(belongs_to_unmade("DROP INDEX By_Customer ON orders", &made, &unmade));
        for undo in ["DROP INDEX mine", "drop index mine on orders", "SELECT 1"] {
            assert!(!belongs_to_unmade(undo, &made, &unmade), "{undo}");
        }
    }
}
