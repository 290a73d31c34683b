use load::error::{Failure, FailureKind};
use workloads::system::Consent;

/// Begins the marker of étalon's own databases.
pub(crate) const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";

/// Words in the marker of a database that was given, not made.
pub(crate) const GIVEN: &str = "; the database itself was given";

pub(crate) const MARKER_TABLE: &str = "etalon_marker";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableOwner {
    /// It does not exist.
    Absent,
    Given,
    Etalon,
    /// Filled by étalon, made by others.
    Guest,
    /// No marker.
    Others,
}

impl TableOwner {
    /// Reads from a marker's text who made the tables.
    pub(crate) fn from_marker(said: &str) -> TableOwner {
        if !said.starts_with(MARKER) {
            return TableOwner::Others;
        }
        if said.ends_with(GIVEN) { TableOwner::Guest } else { TableOwner::Etalon }
    }

    /// Returns the owner, or fails if others own the tables and the user has not agreed to lose them.
    /// `what` is its name, `hint` says how to spare it.
    pub(crate) fn refuse_foreign_owner(self, consent: Consent, what: &str, hint: &str) -> Result<TableOwner, Failure> {
        if self == TableOwner::Others && consent == Consent::OwnOnly {
            let cause = "it exists already, and étalon did not make it";
            return Err(Failure::new(FailureKind::NotOurs, format!("use {what}"), cause).with_hint(hint));
        }
        Ok(self)
    }
}

/// Makes the failure that others have something in étalon's way; `said` names it.
/// Étalon would have to drop it, or it has the name of one of its things.
pub(crate) fn foreign_things_failure(tried: String, said: String) -> Failure {
    Failure::new(FailureKind::NotOurs, tried, said).with_hint(
        "move it elsewhere or drop it, or name another server or database for étalon; étalon leaves it as it is",
    )
}

/// Fails if things of others need étalon's tables in `place`; `needs` names each with what it needs.
pub(crate) fn refuse_dependents(place: &str, needs: &[String]) -> Result<(), Failure> {
    if needs.is_empty() {
        return Ok(());
    }
    Err(foreign_things_failure(format!("make étalon's tables in {place} again"), needs.join("; ")))
}

/// Fails if others have taken names of étalon's tables in `place`.
pub(crate) fn refuse_taken(place: &str, taken: &[String]) -> Result<(), Failure> {
    if taken.is_empty() {
        return Ok(());
    }
    let cause = format!("étalon did not make what is there by the same name: {}", taken.join(", "));
    Err(foreign_things_failure(format!("make étalon's tables in {place}"), cause))
}

/// Drops things in an order that the server takes, and returns those that stay with the last refusal.
/// One that it keeps is tried again as long as others go. `attempt` gives the server's refusal.
///
/// # Errors
/// `attempt` fails otherwise.
pub(crate) fn drop_in_turn<T, E>(
    mut left: Vec<&T>,
    mut attempt: impl FnMut(&T) -> Result<Option<E>, E>,
) -> Result<(Vec<&T>, Option<E>), E> {
    loop {
        let (before, mut refused) = (left.len(), None);
        let mut stuck = Vec::new();
        for thing in left {
            if let Some(refusal) = attempt(thing)? {
                refused = Some(refusal);
                stuck.push(thing);
            }
        }
        left = stuck;
        if refused.is_none() || left.len() == before {
            return Ok((left, refused));
        }
    }
}
