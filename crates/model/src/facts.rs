//! The measured record of a machine, an operating system, a server. Never typed in by hand.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::durability::{Durability, DurabilityTier};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nature {
    /// What the thing is: versions, settings, models. A change makes it another system, and stops a resume.
    Identity,
    /// How it was just then: load, free memory, clock speed, ports. Shown, never compared.
    Passing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub reading: Result<String, String>,
    pub nature: Nature,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    pub entries: BTreeMap<String, Fact>,
}

/// The level at which transactions are isolated, in the standard's words; the setting that it follows from is compared.
pub const ISOLATION: &str = "isolation.level";
/// What this engine lets a transaction see of others at that level.
pub const ISOLATION_ALLOWS: &str = "isolation.allows";
/// Subject of the texts that the plan's scripts are and name: each file's hash. The plan has their names alone.
pub const TEXTS: &str = "texts";
/// Present only where a licence restricts publishing.
pub const PUBLICATION: &str = "licence.publication";
/// Prefix of facts about an import: its tool, its files, and as unavailable ones what they do not say.
pub const OF_IMPORT: &str = "imported.";
pub const IMPORT_TOOL: &str = "imported.tool";
pub const IMPORT_SOURCE: &str = "imported.source";
/// What its readers noted of the files, once each.
pub const IMPORT_NOTES: &str = "imported.notes";
/// How far an experiment was when its results were exported before its end: `4 of 6` rounds, in sequential order runs.
const ENDED: &str = "imported.ended";
/// Width of the buckets from which the tool of an imported system prints percentiles of times, as a share of a value.
pub const PERCENTILE_BUCKET: &str = "imported.percentile_bucket";
/// Number of decimals with which the tool of an imported system prints rates, and times in milliseconds.
pub const PRINTED_DECIMALS: &str = "imported.decimals";
/// Present only where étalon itself has not met the real engine.
pub const UNTRIED: &str = "engine.untried";
/// How tables come back before each run, and after a colon what a reader must know of it.
pub const RESET: &str = "reset";
/// Filesystem of a server's data; unavailable, with the reason, where étalon cannot look at it.
pub const DATA_FILESYSTEM: &str = "data_directory.filesystem";
/// Present only where programs run on something that stands in for their operating system, such as Wine.
pub const LAYER: &str = "os.layer";

/// Prefix of facts that distinguish one instance of a server from another: its start, its system identifier, its timeline. Two
/// equal servers differ in them, so sides are not compared by them; one side that changes in them has become another server.
pub const INSTANCE: &str = "instance.";
/// Facts of an instance, without their prefix, that no two servers share.
pub const IDENTIFIERS: [&str; 3] = ["system_identifier", "server_uuid", "server_uid"];

/// Part of the instance: when its settings were last read or set. Settings that are as before may have been others for a while.
pub const SETTINGS_READ: &str = "settings_read";

/// Part of the instance, of a system whose tables are others': what its indexes and triggers are.
pub const INDEXES_AND_TRIGGERS: &str = "indexes_and_triggers";

/// Numbers of the tables and indexes of a system whose tables are others', with a digest of most of what defines them, which is equal
/// for equal tables of two servers. Sides are compared by it; what changes in mid-run is found by [`INDEXES_AND_TRIGGERS`].
pub const TABLE_DEFINITIONS: &str = "schema";

/// Part of the instance, of a system whose tables are étalon's: what others have put on them that acts on rows or on commits.
pub const ADDED_BY_OTHERS: &str = "added_by_others";

/// Facts that étalon's own preparation changes: it makes the extension that a benchmark needs.
const MADE: [&str; 1] = ["server.extensions"];

/// The fact that names the durability tier.
const TIER: &str = "durability.tier";
const TIER_BECAUSE: &str = "durability.because";
const TIER_EXCEPT: &str = "durability.except";

impl Facts {
    /// Records a fact of what a system is, by which systems differ.
    pub fn record_identity(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.insert(name, Ok(value.into()), Nature::Identity);
    }

    /// Records a fact that may change from run to run.
    pub fn record_passing(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.insert(name, Ok(value.into()), Nature::Passing);
    }

    /// Records the reason why a fact could not be read.
    pub fn record_unavailable(&mut self, name: impl Into<String>, reason: impl Into<String>) {
        self.insert(name, Err(reason.into()), Nature::Identity);
    }

    /// Records a fact; replaces one of the same name.
    pub fn insert(&mut self, name: impl Into<String>, reading: Result<String, String>, nature: Nature) {
        self.entries.insert(name.into(), Fact { reading, nature });
    }

    /// Takes in another record, each of its names behind `prefix` and a dot.
    pub fn absorb(&mut self, prefix: &str, other: Facts) {
        for (name, fact) in other.entries {
            self.entries.insert(format!("{prefix}.{name}"), fact);
        }
    }

    /// A fact's value, if it could be read.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.entries.get(name).and_then(|fact| fact.reading.as_deref().ok())
    }

    /// Records a durability tier, its reason and its exceptions as facts.
    pub fn set_durability(&mut self, durability: &Durability) {
        self.record_identity(TIER, durability.tier.as_str());
        self.record_identity(TIER_BECAUSE, durability.because.clone());
        if let Some(except) = &durability.except {
            self.record_identity(TIER_EXCEPT, except.clone());
        }
    }

    /// Reads the recorded durability back from its facts.
    pub fn durability(&self) -> Option<Durability> {
        let tier: DurabilityTier = self.get(TIER)?.parse().ok()?;
        let because = self.get(TIER_BECAUSE).unwrap_or_default().to_owned();
        Some(Durability { tier, because, except: self.get(TIER_EXCEPT).map(str::to_owned) })
    }

    /// Records that an experiment was exported when `ended` of its rounds, or runs, had ended.
    pub fn set_ended(&mut self, ended: usize, of: usize) {
        self.record_passing(ENDED, format!("{ended} of {of}"));
    }

    /// Gives the number of runs that had ended when the experiment was exported, and of how many.
    pub fn finished_runs(&self) -> Option<(usize, usize)> {
        let (ended, of) = self.get(ENDED)?.split_once(" of ")?;
        Some((ended.parse().ok()?, of.parse().ok()?))
    }

    /// Records what distinguishes this instance from an equal one, as a passing fact; see [`INSTANCE`].
    pub fn record_instance(&mut self, name: &str, value: impl Into<String>) {
        self.record_passing(format!("{INSTANCE}{name}"), value);
    }

    /// Removes the facts that distinguish instances.
    pub fn remove_instance(&mut self) {
        self.entries.retain(|name, _| !name.starts_with(INSTANCE));
    }

    /// Lists the facts that changed since an `earlier` record of the same system.
    /// They are identity facts and those of the instance, as far as both records have them.
    pub fn changes_since(&self, earlier: &Facts) -> Vec<Difference> {
        let both = earlier.entries.iter().filter(|(name, fact)| {
            is_compared(name, fact) && self.entries.get(*name).is_some_and(|now| is_compared(name, now))
        });
        both.filter(|(name, _)| self.get(name) != earlier.get(name))
            .map(|(name, _)| Difference {
                name: name.clone(),
                a: earlier.get(name).map(str::to_owned),
                b: self.get(name).map(str::to_owned),
            })
            .collect()
    }

    /// Lists the facts in which two sides differ: what [`Facts::differences`] lists, and the definitions of others' tables.
    pub fn differences_of_sides(&self, other: &Facts) -> Vec<Difference> {
        let mut differences = self.differences(other);
        // Servers of other versions write the same definitions otherwise.
        if let (Some(a), Some(b)) = (self.get(TABLE_DEFINITIONS), other.get(TABLE_DEFINITIONS))
            && a != b
            && self.get("server.version") == other.get("server.version")
        {
            differences.push(Difference {
                name: TABLE_DEFINITIONS.to_owned(),
                a: Some(a.to_owned()),
                b: Some(b.to_owned()),
            });
        }
        differences
    }

    /// Lists the identity facts in which two records differ.
    /// A fact that neither side could read is no difference; one that a single side could read is.
    pub fn differences(&self, other: &Facts) -> Vec<Difference> {
        let names: std::collections::BTreeSet<&String> = self.entries.keys().chain(other.entries.keys()).collect();
        let is_identity =
            |facts: &Facts, name: &str| facts.entries.get(name).is_none_or(|fact| fact.nature == Nature::Identity);
        names
            .into_iter()
            .filter(|name| is_identity(self, name) && is_identity(other, name))
            .filter(|name| self.get(name) != other.get(name))
            .map(|name| Difference {
                name: name.clone(),
                a: self.get(name).map(str::to_owned),
                b: other.get(name).map(str::to_owned),
            })
            .collect()
    }
}

/// Whether a system is another one if this fact of it changes.
pub fn is_compared(name: &str, fact: &Fact) -> bool {
    (fact.nature == Nature::Identity && !MADE.contains(&name)) || name.starts_with(INSTANCE)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    pub name: String,
    pub a: Option<String>,
    pub b: Option<String>,
}

impl Difference {
    /// Writes what a fact was and is: "`a` was `1` and is `2`".
    pub fn sentence(&self) -> String {
        format!("{} was `{}` and is `{}`", self.name, or_missing(&self.a), or_missing(&self.b))
    }
}

/// Gives a value, or `n/a` if there is none.
fn or_missing(value: &Option<String>) -> String {
    value.clone().unwrap_or_else(|| "n/a".to_owned())
}
