//! The cell: workload × system × one point of the sweep.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::value::Point;

/// Workload × system × one point of the sweep. Its index in [`crate::Plan::cells`] is its identity in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The benchmark's name in the plan.
    pub benchmark: String,
    /// The workload's name.
    pub workload: String,
    /// The system's name in the plan.
    pub system: String,
    /// The workload's keys with their values here.
    pub point: Point,
}

impl Cell {
    /// Whether two cells differ in nothing but the system, and so can be compared.
    pub fn same_but_system(&self, other: &Cell) -> bool {
        self.benchmark == other.benchmark && self.workload == other.workload && self.point == other.point
    }

    /// `benchmark, clients=4 @ system`, naming only the keys given in `varying`.
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
