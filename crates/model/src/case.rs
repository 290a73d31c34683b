use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::value::Point;

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

    pub fn label(&self, varying: &[String]) -> String {
        let mut text = self.benchmark.clone();
        for key in varying {
            if let Some(value) = self.point.get(key) {
                let _ = write!(text, ", {key}={value}");
            }
        }
        let _ = write!(text, " @ {}", self.system);
        text
    }
}
