//! Whose the database is that étalon would work in: it never drops what it did not make.

use crate::error::{Failure, FailureKind};
use crate::target::Consent;

/// What the marker begins with that says that étalon made what is around it.
pub(crate) const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";

/// What the marker adds where somebody else made the database, empty.
pub(crate) const GIVEN: &str = "; the database itself was given";

pub(crate) const MARKER_TABLE: &str = "etalon_marker";

/// Whose the database of étalon's name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// There is none.
    Nobody,
    Given,
    Etalon,
    /// Étalon filled it, and somebody else made it.
    Guest,
    /// It does not hold the marker.
    SomebodyElse,
}

impl Owner {
    /// The owner by what a marker says.
    pub(crate) fn of_marker(said: &str) -> Owner {
        match said.starts_with(MARKER) {
            true if said.ends_with(GIVEN) => Owner::Guest,
            true => Owner::Etalon,
            false => Owner::SomebodyElse,
        }
    }

    /// Refuses what étalon did not make, unless the user has agreed. `what` is its name, and `hint` how it can be left in
    /// peace.
    pub(crate) fn unless_foreign(self, consent: Consent, what: &str, hint: &str) -> Result<Owner, Failure> {
        if self == Owner::SomebodyElse && consent == Consent::OwnOnly {
            let cause = "it exists already, and étalon did not make it";
            return Err(Failure::new(FailureKind::NotOurs, format!("use {what}"), cause).hint(hint));
        }
        Ok(self)
    }
}
