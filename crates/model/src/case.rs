use serde::{Deserialize, Serialize};

use crate::value::Point;

/// Value of a key that an imported result does not have and others of its benchmark have.
pub const UNKNOWN: &str = "unknown";

/// Writes keys as `clients=4, scale=10`; a key whose value is [`UNKNOWN`] is left out, unless all are.
pub fn keys_text<'a>(keys: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let all: Vec<(&str, String)> = keys.into_iter().collect();
    let is_any_known = all.iter().any(|(_, value)| value != UNKNOWN);
    let shown = all.iter().filter(|(_, value)| !is_any_known || value != UNKNOWN);
    shown.map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

/// The index in [`crate::Plan::cases`] is the case's identity in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    pub benchmark: String,
    pub workload: String,
    pub system: String,
    pub point: Point,
}

impl Case {
    /// Whether two cases differ in nothing but the system, and so can be compared.
    pub fn same_but_system(&self, other: &Case) -> bool {
        self.benchmark == other.benchmark && self.workload == other.workload && self.point == other.point
    }

    /// Writes what distinguishes the case: its benchmark, the keys of `varying`, and its system.
    pub fn label(&self, varying: &[String]) -> String {
        let keys = varying.iter().filter_map(|key| Some((key.as_str(), self.point.get(key)?.to_string())));
        let keys = keys_text(keys);
        let separator = if keys.is_empty() { "" } else { ", " };
        format!("{}{separator}{keys} @ {}", self.benchmark, self.system)
    }
}
