//! Removes what étalon made in the systems, at the end.

use std::sync::Arc;
use std::time::Duration;

use model::Facts;
use model::facts::{Difference, IDENTIFIERS, INSTANCE};

use super::Conductor;
use crate::site::{FactsScope, Site};
use crate::timeout::ask_within;
use load::error::{Failure, FailureKind};
use load::observer::Observer;
use workloads::dataset::Tables;

/// For a silent server at the end.
const LAST_TIMEOUT: Duration = Duration::from_secs(5);

const REMOVE: &str = "remove what étalon made in it";

impl Conductor<'_> {
    /// Removes what étalon made in each system, and warns of what stays.
    pub(super) fn remove_all(&self, observer: &mut dyn Observer) {
        for (name, site) in &self.sites {
            if let Err(failure) = self.remove_from(name, site) {
                observer.warning(&format!("system `{name}`: {failure}"));
            }
        }
    }

    /// Removes what étalon made in one system.
    ///
    /// # Errors
    /// It does not answer, or another server answers in its place: what was made in the first one stays.
    fn remove_from(&self, name: &str, site: &Arc<dyn Site>) -> Result<(), Failure> {
        if self.silent.contains(name) {
            let site = Arc::clone(site);
            return ask_within(LAST_TIMEOUT, move || site.drop_all())
                .unwrap_or_else(|| Err(Failure::new(FailureKind::ConnectionLost, REMOVE, "it does not answer")));
        }
        let dropped = site.drop_all();
        let Some(other) = self.find_other_server(name, site.as_ref()) else { return dropped };
        let cause = format!(
            "another server answers in its place ({other}); what étalon made in the first one stays there until its next run there ends"
        );
        Err(Failure::new(FailureKind::NotOurs, REMOVE, cause))
    }

    /// Finds by which fact another server answers in place of the one before the first run; `None` if it does not, or none tells.
    fn find_other_server(&self, name: &str, site: &dyn Site) -> Option<String> {
        if self.tables_used() == Tables::None {
            return None;
        }
        let identities = self.identities.borrow();
        let before = identities.get(name)?;
        let is_known = IDENTIFIERS.iter().any(|fact| before.get(&format!("{INSTANCE}{fact}")).is_some());
        let now = if is_known { site.facts(&[], FactsScope::AfterRun).ok()? } else { return None };
        other_server(&now, before).map(|change| change.sentence())
    }
}

/// Finds the first fact by which another server answers than before.
fn other_server(now: &Facts, before: &Facts) -> Option<Difference> {
    let identifiers = IDENTIFIERS.map(|name| format!("{INSTANCE}{name}"));
    now.changes_since(before).into_iter().find(|change| identifiers.contains(&change.name))
}
