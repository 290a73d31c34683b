//! What is told of experiments that were measured apart.

use schemars::JsonSchema;
use serde::Serialize;

use crate::cross_experiment;

/// Experiments that were measured apart. What changed between them cannot be told from the systems, so no row has a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Apart {
    /// The first is what the others are compared with.
    pub experiments: Vec<ApartExperiment>,
    /// What differs besides the systems' own facts, which are `experiment.differences`.
    pub differences: Vec<ApartDifference>,
    /// The cases and systems that only one of them has.
    pub only_in: Vec<OnlyIn>,
}

/// One of several experiments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApartExperiment {
    /// What it is called here: a system `pg` of it is `pg (LABEL)`.
    pub label: String,
    /// Its store, as it was named.
    pub store: String,
    /// Its name in the plan.
    pub name: String,
    /// Hash of the plan.
    pub plan_hash: String,
    /// Version of the étalon that ran it.
    pub etalon_version: String,
    /// `release`, `debug`, or `imported`.
    pub build: String,
    /// When its first run began, RFC 3339 in UTC; null if it is not known.
    pub began: Option<String>,
    /// Its systems that take part, as they are called here.
    pub systems: Vec<String>,
}

/// What differs between experiments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ApartDifference {
    /// `étalon`, `plan`, `load generator`, ...
    pub about: String,
    /// What it is.
    pub name: String,
    /// Of each experiment; null if it is not known.
    pub values: Vec<Option<String>>,
}

/// What only one of several experiments has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct OnlyIn {
    /// The experiment's label.
    pub experiment: String,
    /// A case, or a system.
    pub what: String,
}

impl Apart {
    /// Makes the JSON object of experiments that were measured apart.
    pub(super) fn new(all: &cross_experiment::CrossExperiment) -> Apart {
        Apart {
            experiments: all
                .experiments
                .iter()
                .map(|one| ApartExperiment {
                    label: one.label.clone(),
                    store: one.file.clone(),
                    name: one.header.plan.name.clone(),
                    plan_hash: one.header.plan_hash.clone(),
                    etalon_version: one.header.etalon_version.clone(),
                    build: one.header.build.clone(),
                    began: one
                        .ran_unix_ms
                        .and_then(|(first, _)| jiff::Timestamp::from_millisecond(first).ok().map(|at| at.to_string())),
                    systems: one.systems.clone(),
                })
                .collect(),
            differences: all
                .differences
                .iter()
                .map(|one| ApartDifference {
                    about: one.about.clone(),
                    name: one.name.clone(),
                    values: one.values.clone(),
                })
                .collect(),
            only_in: all
                .alone
                .iter()
                .map(|one| OnlyIn { experiment: all.experiments[one.experiment].label.clone(), what: one.what.clone() })
                .collect(),
        }
    }
}
