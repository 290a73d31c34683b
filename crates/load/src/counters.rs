//! A system's own counters, and the threads in which it works.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use host::disk::LayerCounters;
use model::Reading;
use serde::{Deserialize, Serialize};

/// The threads in which the engine works, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Placement {
    /// The engine works in the worker's thread: client and engine costs are inseparable.
    InProcess,
    /// The engine works in étalon's process, in threads of its own: a worker hands its operation over and waits. What the
    /// process uses besides the load generator's threads is the engine's. What the engine does within a call counts as the
    /// client's, so one that executes statements in the caller's thread is [`Placement::InProcess`], whatever other threads it
    /// has.
    OwnThreads,
    Server,
}

/// A snapshot by name. A run shows differences.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// `commits` are those seen by the server; engines without them may have `statements` sent by clients. A run's
    /// counts are verified by these.
    pub counts: BTreeMap<Cow<'static, str>, Counter>,
    /// Counters of a disk's files, on its own host.
    #[serde(skip)]
    pub devices: Option<Devices>,
    /// How late the sessions of a pooler, which outlive the load, may report what they have counted; `None`: those of the
    /// load have reported when they end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_by: Option<Duration>,
    /// No commit of rows ends before a sync of the log that `log_syncs` counts, by the system's settings.
    #[serde(default)]
    pub syncs_each_commit: bool,
}

/// Counters of a disk's files at one instant.
#[derive(Clone, Debug)]
pub struct Devices {
    /// Traffic of each layer, from the filesystem's device down to the disks.
    pub layers: Result<LayerCounters, String>,
    /// The warmest sensor.
    pub celsius: Result<f64, String>,
    /// Extents of the files.
    pub extents: Result<u64, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    pub reading: Reading,
    pub unit: Cow<'static, str>,
}

impl Counters {
    /// Sets a counter's value and unit.
    pub fn set(&mut self, name: &'static str, unit: &'static str, value: f64) {
        self.counts.insert(name.into(), Counter { reading: Reading::Value(value), unit: unit.into() });
    }

    /// Notes why a counter is not known.
    pub fn set_unavailable(&mut self, name: &'static str, unit: &'static str, reason: impl ToString) {
        self.counts.insert(name.into(), Counter { reading: Reading::unavailable(reason), unit: unit.into() });
    }

    /// A counter's value, if it is known.
    pub fn value_of(&self, name: &str) -> Option<f64> {
        self.counts.get(name)?.reading.value()
    }

    /// What was counted since earlier counters.
    #[must_use]
    pub fn since(&self, before: &Counters) -> Counters {
        let counts = self.counts.iter().map(|(name, now)| {
            let reading = match (&now.reading, before.value_of(name)) {
                (Reading::Value(now), Some(then)) => Reading::Value(now - then),
                (Reading::Value(_), None) => Reading::unavailable("there was no reading before the run"),
                (unavailable, _) => unavailable.clone(),
            };
            (name.clone(), Counter { reading, unit: now.unit.clone() })
        });
        Counters {
            counts: counts.collect(),
            devices: self.devices.clone(),
            late_by: self.late_by,
            syncs_each_commit: self.syncs_each_commit,
        }
    }
}
