//! The plan: what a user wrote, validated, defaults filled in, hashed.
//!
//! From the text to the [`Plan`]: `tree` (TOML, every value with its place), `set` (`--set` arguments), `file` (the
//! right keys and types), `check` and `sweep` (the meaning). Whatever is wrong on the way goes to `error`.

mod altered;
mod changes;
mod check;
mod error;
mod file;
mod fleet;
mod order;
mod placed;
mod redact;
mod reference;
mod renamed;
mod schema;
mod section;
mod set;
mod setting;
mod sweep;
mod tree;
mod volume;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::case::Case;
use crate::price::Price;
use crate::reset::Reset;
use crate::schedule::Schedule;
use crate::value::{Point, Value};

pub use changes::{Changes, Form, NamedSystem};
pub use error::{PlanError, PlanErrors};
pub use fleet::{CLIENTS_ON, FleetPlan};
pub use redact::{
    MASK, Unmasked, is_secret_key, percent_decode, redact_text, redact_url, redact_words, without_password,
};
pub use reference::plan_reference;
pub use schema::json_schema;
pub use setting::{LONGEST_SETTING_BYTES, setting_fault};

pub const MAX_CASES: u64 = 10_000;
pub const MAX_RUNS: u64 = 1_000_000;
pub const MAX_ROUNDS: u64 = 10_000;
/// The fewest rounds that carry a verdict: with fewer no experiment ends because it is sure.
pub const FEWEST_TO_JUDGE: u32 = 6;
/// `url = "env:NAME"` is read from the environment.
pub const ENV_PREFIX: &str = "env:";

const DEFAULT_ROUNDS: u32 = 10;
const DEFAULT_WARMUP: Duration = Duration::from_secs(2);
const DEFAULT_DURATION: Duration = Duration::from_secs(10);
const DEFAULT_MARGIN: f64 = 0.03;
const DEFAULT_LEVEL: f64 = 0.95;

/// Only validation makes one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: String,
    /// The systems in the order of the plan.
    pub systems: Vec<SystemPlan>,
    pub benchmarks: Vec<Benchmark>,
    pub schedule: Schedule,
    /// How the systems are compared.
    pub comparison: ComparisonRules,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<FleetPlan>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SystemPlan {
    pub name: String,
    /// The engine's name in the registry. It is empty when `url` is `env:NAME`, until that is read.
    pub engine: String,
    /// Where it is, or `env:NAME`. May hold a password: print it only through [`redact_url`]. Empty for a private
    /// server.
    pub url: String,
    /// Pragmas, session or server settings.
    pub settings: BTreeMap<String, Value>,
    pub server: Option<PrivateServer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume: Option<VolumePlan>,
    /// Another name for this system: both sides of an A/A experiment are one server.
    pub alias_of: Option<String>,
    /// For what its capacity costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// `None`: as its engine does with tables of their size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
    /// What makes it of the system that it is an alias of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<Change>,
}

/// The statements that turn a server into another system, and those that turn it back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub make: Vec<String>,
    pub undo: Vec<String>,
}

/// An image file that étalon makes, mounts and removes itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VolumePlan {
    pub image: String,
    pub size_bytes: u64,
    /// `ext4` or `xfs`.
    pub fs: String,
    pub block_bytes: u32,
    pub cluster_bytes: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivateServer {
    /// A name of [`EngineSpec::private_servers`](crate::EngineSpec::private_servers).
    pub engine: String,
    /// The release to start, as in `18` or `10.11`, where several are installed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Folder of the server's programs; searched for when absent.
    pub bin_dir: Option<String>,
    /// Where its data are made, in a folder of étalon's; `/var/tmp` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    pub connect: Connect,
    /// What étalon starts in front of the server, for all clients to go through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooler: Option<PrivatePooler>,
    /// The system is left out where the server's programs are not installed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// A pooler that étalon starts and ends together with its server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrivatePooler {
    /// A name of [`EngineSpec::poolers`](crate::EngineSpec::poolers).
    pub name: String,
    /// How it lends sessions: one of [`PoolerSpec::modes`](crate::catalog::PoolerSpec::modes).
    pub mode: String,
    /// How many sessions of the server it has at most; when absent, as is usual in this mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Connect {
    #[default]
    Socket,
    /// TCP on the loopback interface.
    Tcp,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    pub name: String,
    pub workload: String,
    /// The published result that its cases reproduce, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<String>,
    /// Each with a value for every key of the workload.
    pub points: Vec<Point>,
    /// Keys that the plan leaves out: each has its usual value.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub by_default: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparisonRules {
    /// The system that the others are compared with; by default the plan's first.
    pub baseline: String,
    /// Half width of the zone of equivalence, as a share: 0.03 for ±3 %.
    pub margin: f64,
    /// Level of the intervals: 0.95.
    pub level: f64,
    pub allow_unequal_durability: bool,
    /// Whether systems that ran one after the other may get a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_sequential_order: bool,
    /// Whether systems whose transactions return or change different numbers of rows may get a verdict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_different_rows: bool,
}

impl Benchmark {
    /// Lists the keys with more than one value: what distinguishes the benchmark's cases.
    pub fn varying_keys(&self) -> Vec<String> {
        let Some(first) = self.points.first() else { return Vec::new() };
        first.keys().filter(|key| self.points.iter().any(|p| p.get(*key) != first.get(*key))).cloned().collect()
    }
}

impl SystemPlan {
    /// Gives the variable that the URL is read from: the `NAME` of `env:NAME`.
    pub fn url_variable(&self) -> Option<&str> {
        self.url.strip_prefix(ENV_PREFIX)
    }
}

impl Plan {
    /// Lists the plan's cases by benchmark, then point, then system. The index is the case's identity.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for benchmark in &self.benchmarks {
            for point in &benchmark.points {
                cases.extend(self.systems.iter().map(|system| Case {
                    benchmark: benchmark.name.clone(),
                    workload: benchmark.workload.clone(),
                    system: system.name.clone(),
                    point: point.clone(),
                }));
            }
        }
        cases
    }

    /// Lists the keys with more than one value within a benchmark: what distinguishes its cases.
    pub fn varying_keys(&self, benchmark: &str) -> Vec<String> {
        let benchmark = self.benchmarks.iter().find(|b| b.name == benchmark);
        benchmark.map_or_else(Vec::new, Benchmark::varying_keys)
    }

    /// Makes the A/A experiment of a system: this plan with that system alone, as `NAME (A)` and `NAME (B)`.
    /// The first is the baseline.
    pub fn to_aa(&self, system: &str) -> Option<Plan> {
        let original = self.system(system)?;
        let a = SystemPlan { name: format!("{system} (A)"), alias_of: None, change: None, ..original.clone() };
        let b = SystemPlan { name: format!("{system} (B)"), alias_of: Some(a.name.clone()), ..a.clone() };
        let comparison = ComparisonRules { baseline: a.name.clone(), ..self.comparison.clone() };
        let mut fleet = self.fleet.clone();
        if let Some(fleet) = &mut fleet
            && let Some(host) = fleet.hosts.get(system).cloned()
        {
            fleet.hosts = [(a.name.clone(), host.clone()), (b.name.clone(), host)].into();
        }
        Some(Plan { systems: vec![a, b], comparison, fleet, ..self.clone() })
    }

    /// Removes a system that the plan can do without; if it is the baseline, the first of the others becomes it.
    pub fn remove_system(&mut self, system: &str) {
        self.systems.retain(|other| other.name != system);
        if self.comparison.baseline == system
            && let Some(first) = self.systems.first()
        {
            self.comparison.baseline.clone_from(&first.name);
        }
    }

    /// Finds a system of the plan by its name.
    pub fn system(&self, name: &str) -> Option<&SystemPlan> {
        self.systems.iter().find(|system| system.name == name)
    }
}
