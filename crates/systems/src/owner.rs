use families::system::Consent;
use load::error::{Failure, FailureKind};

/// Begins the marker of étalon's own databases.
pub(crate) const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";

/// In the marker of a database that was given empty.
pub(crate) const GIVEN: &str = "; the database itself was given";

pub(crate) const MARKER_TABLE: &str = "etalon_marker";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableOwner {
    /// It does not exist.
    Nobody,
    Given,
    Etalon,
    /// Filled by étalon, made by somebody else.
    Guest,
    /// No marker.
    SomebodyElse,
}

impl TableOwner {
    pub(crate) fn of_marker(said: &str) -> TableOwner {
        match said.starts_with(MARKER) {
            true if said.ends_with(GIVEN) => TableOwner::Guest,
            true => TableOwner::Etalon,
            false => TableOwner::SomebodyElse,
        }
    }

    /// Refuses a foreign one unless the user agreed. `what` is its name, `hint` says how to spare it.
    pub(crate) fn unless_foreign(self, consent: Consent, what: &str, hint: &str) -> Result<TableOwner, Failure> {
        if self == TableOwner::SomebodyElse && consent == Consent::OwnOnly {
            let cause = "it exists already, and étalon did not make it";
            return Err(Failure::new(FailureKind::NotOurs, format!("use {what}"), cause).hint(hint));
        }
        Ok(self)
    }
}

/// Others have something that étalon would have to drop, or that has the name of one of its things. `said` names it.
pub(crate) fn things_of_others(tried: String, said: String) -> Failure {
    Failure::new(FailureKind::NotOurs, tried, said)
        .hint("move it elsewhere or drop it, or name another server or database for étalon; étalon leaves it as it is")
}
