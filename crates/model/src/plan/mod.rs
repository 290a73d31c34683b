//! The plan: what a user wrote, validated, defaults filled in, hashed.
//!
//! From the text to the [`Plan`]: `tree` (TOML, every value with its place), `set` (`--set` arguments), `file` (the
//! right keys and types), `check` and `sweep` (the meaning). Whatever is wrong on the way goes to `error`.

mod changes;
mod check;
mod error;
mod file;
mod fleet;
mod order;
mod redact;
mod reference;
mod schema;
mod section;
mod set;
mod sweep;
mod tree;
mod volume;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::cell::Cell;
use crate::schedule::Schedule;
use crate::value::{Point, Value};

pub use changes::{Changes, Form, NamedSystem};
pub use error::{PlanError, PlanErrors};
pub use fleet::{CLIENTS_ON, FleetPlan};
pub use redact::{MASK, Unmasked, percent_decoded, redact_text, redact_url, without_password};
pub use reference::reference;
pub use schema::json_schema;

/// Largest number of cells in a plan.
pub const MAX_CELLS: u64 = 10_000;
/// Largest number of trials in a plan: cells times blocks.
pub const MAX_TRIALS: u64 = 1_000_000;
/// Largest number of blocks.
pub const MAX_BLOCKS: u64 = 10_000;
/// What a `url` starts with that is to be read from the environment: `env:NAME`.
pub const ENV_PREFIX: &str = "env:";

const DEFAULT_BLOCKS: u32 = 10;
const DEFAULT_WARMUP: Duration = Duration::from_secs(2);
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_MARGIN: f64 = 0.03;
const DEFAULT_LEVEL: f64 = 0.95;
/// Both exclusive.
const MARGIN_LIMITS: (f64, f64) = (0.0, 1.0);
/// Both exclusive: an interval that misses the truth every other time is none.
const LEVEL_LIMITS: (f64, f64) = (0.5, 1.0);

/// A valid plan. Made by validation alone, so whoever holds one may trust it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The experiment's name.
    pub name: String,
    /// The systems, in the order in which they were written.
    pub systems: Vec<SystemPlan>,
    /// The benchmarks, in the order in which they were written.
    pub benchmarks: Vec<Benchmark>,
    /// When and how often.
    pub schedule: Schedule,
    /// How the systems are compared.
    pub comparison: ComparisonRules,
    /// The other hosts that take part, if any do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
}

/// A system as the plan describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemPlan {
    /// The name in the plan.
    pub name: String,
    /// The engine's name in the registry. Empty when `url` is `env:NAME`: whoever reads the URL there asks the catalog.
    pub engine: String,
    /// Where it is, or `env:NAME`; may hold a password, so it is written nowhere but through [`redact_url`].
    /// Empty for a private server.
    pub url: String,
    /// Settings to give it: pragmas, session or server settings.
    pub settings: BTreeMap<String, Value>,
    /// The private server that étalon starts for it, if it does.
    pub server: Option<PrivateServer>,
    /// The volume that étalon makes for it, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumePlan>,
    /// The system that this one is another name for: both sides of an A/A experiment are one server.
    pub alias_of: Option<String>,
}

/// A volume that étalon makes in an image file, mounts and removes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumePlan {
    /// The image file, on the disk that is to be measured.
    pub image: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// The filesystem: `ext4` or `xfs`.
    pub fs: String,
    /// The filesystem's block in bytes.
    pub block_bytes: u32,
    /// The unit in which it gives out space, in bytes.
    pub cluster_bytes: u32,
}

/// A server that étalon initialises, starts and removes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateServer {
    /// What is started, as in [`EngineSpec::private_servers`](crate::EngineSpec::private_servers): the engine's name, or
    /// that of one of the products that it stands for.
    pub engine: String,
    /// Folder of the server's programs; found by itself when absent.
    pub bin_dir: Option<String>,
    /// `socket` or `tcp`: the path from client to server.
    pub connect: Connect,
}

/// The path from client to server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Connect {
    /// A Unix socket.
    #[default]
    Socket,
    /// TCP on the loopback interface.
    Tcp,
}

/// A benchmark: a workload with the points of its sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// The name in the plan.
    pub name: String,
    /// The workload's name in the registry.
    pub workload: String,
    /// Which figures of a published test its cells stand for, if it repeats one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
    /// Every point of the sweep, each with a value for every key of the workload.
    pub points: Vec<Point>,
}

/// How systems are compared and judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRules {
    /// The system that the others are compared with; the first of the plan when not given.
    pub baseline: String,
    /// Half width of the zone of equivalence, as a share: 0.03 for ±3 %.
    pub margin: f64,
    /// Level of the intervals: 0.95.
    pub level: f64,
    /// Whether systems of unequal durability may get a verdict.
    pub allow_unequal_durability: bool,
    /// Whether systems that ran one after the other, in a sequential order, may get a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_sequential_order: bool,
}

impl SystemPlan {
    /// The variable of the environment that holds the URL, if the plan says so with `env:NAME`.
    pub fn url_variable(&self) -> Option<&str> {
        self.url.strip_prefix(ENV_PREFIX)
    }
}

impl Plan {
    /// Every cell, in the plan's order: benchmark, then point, then system. The index is the cell's identity.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for benchmark in &self.benchmarks {
            for point in &benchmark.points {
                cells.extend(self.systems.iter().map(|system| Cell {
                    benchmark: benchmark.name.clone(),
                    workload: benchmark.workload.clone(),
                    system: system.name.clone(),
                    point: point.clone(),
                }));
            }
        }
        cells
    }

    /// The keys that take more than one value within a benchmark: those that a reader needs to tell cells apart.
    pub fn varying_keys(&self, benchmark: &str) -> Vec<String> {
        let Some(benchmark) = self.benchmarks.iter().find(|b| b.name == benchmark) else { return Vec::new() };
        let Some(first) = benchmark.points.first() else { return Vec::new() };
        first.keys().filter(|key| benchmark.points.iter().any(|p| p.get(*key) != first.get(*key))).cloned().collect()
    }

    /// The A/A experiment of a system: this plan with that system alone, once as `NAME (A)`, the baseline, and once as
    /// `NAME (B)`, another name for the same. `None` when the plan has no system of that name.
    pub fn to_aa(&self, system: &str) -> Option<Plan> {
        let original = self.system(system)?;
        let a = SystemPlan { name: format!("{system} (A)"), alias_of: None, ..original.clone() };
        let b = SystemPlan { name: format!("{system} (B)"), alias_of: Some(a.name.clone()), ..original.clone() };
        let comparison = ComparisonRules { baseline: a.name.clone(), ..self.comparison.clone() };
        let mut fleet = self.fleet.clone();
        if let Some(fleet) = &mut fleet
            && let Some(host) = fleet.hosts.get(system).cloned()
        {
            fleet.hosts = [(a.name.clone(), host.clone()), (b.name.clone(), host)].into();
        }
        Some(Plan { systems: vec![a, b], comparison, fleet, ..self.clone() })
    }

    /// The system of that name.
    pub fn system(&self, name: &str) -> Option<&SystemPlan> {
        self.systems.iter().find(|system| system.name == name)
    }
}
