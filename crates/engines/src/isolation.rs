//! What a transaction may see of others, as the server reports it to its own session.

use model::Facts;
use model::facts::{ISOLATION, ISOLATION_ALLOWS};

/// A level in lower case, and the anomalies that this engine has at it.
pub(crate) type Levels = &'static [(&'static str, &'static str)];

pub(crate) const NONE: &str = "no anomaly";

/// Adds a session's isolation level to the facts, with the anomalies that the engine has at it.
/// A level that étalon does not know is reported without them.
pub(crate) fn add_isolation_facts(facts: &mut Facts, level: &str, levels: Levels) {
    let level = level.to_ascii_lowercase().replace(['-', '_'], " ");
    let known = levels.iter().find(|(name, _)| *name == level);
    if let Some((_, allows)) = known {
        facts.record_passing(ISOLATION_ALLOWS, *allows);
    }
    facts.record_passing(ISOLATION, level);
}
