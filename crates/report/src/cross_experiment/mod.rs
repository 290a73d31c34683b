//! Experiments that were not run together: their stores joined into one [`Evidence`], so that every table, page and
//! gate is made of it as of any other.
//!
//! Nothing of it is paired, and nothing gets a verdict: what changed between the experiments is in every change, and
//! cannot be distinguished from the systems. What is known to differ is kept, to be said before any figure.

mod command;
mod differences;
mod join;
mod label;

use std::collections::BTreeMap;
use std::path::Path;

use model::Series;
use store::{Header, StoreError};

use crate::comparison::{OneSided, SideLetter};
use crate::evidence::{Evidence, SeriesSource};
use crate::number::count_noun;

pub use join::{JoinError, join_stores};

/// A store that is to be joined with others.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, as the reader named it.
    pub file: String,
    /// The system to take, if one was named.
    pub system: Option<String>,
    pub evidence: Evidence,
}

/// Experiments that were measured apart: the first is what the others are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossExperiment {
    pub experiments: Vec<JoinedExperiment>,
    /// The two systems of each table.
    pub pairs: Vec<(String, String)>,
    /// What differs, but for the facts of the systems, which tables list themselves.
    pub differences: Vec<ExperimentDifference>,
    /// What has no counterpart.
    pub alone: Vec<Alone>,
    /// The keys of each benchmark that have one value in each experiment, but not the same in all.
    pub confounded: BTreeMap<String, Vec<String>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct JoinedExperiment {
    /// A short name that distinguishes it from the others.
    pub label: String,
    pub file: String,
    pub header: Header,
    /// The first and the last beginning of a run, in milliseconds since 1970; `None` if it is unknown.
    pub ran_unix_ms: Option<(i64, i64)>,
    /// Those that take part, as they are called here.
    pub systems: Vec<String>,
    /// Added to the numbers of its runs.
    pub run_offset: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentDifference {
    /// `étalon`, `plan`, `load generator`, …
    pub about: String,
    pub name: String,
    /// One for each experiment; `None` if it is not known.
    pub values: Vec<Option<String>>,
}

/// A case, or a whole system, that no other experiment has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alone {
    /// Index into [`CrossExperiment::experiments`].
    pub experiment: usize,
    pub what: String,
}

/// Values longer than this are cut in a sentence.
const LONGEST_VALUE: usize = 40;
/// Number of differences that are named in a sentence; JSON has all.
const NAMED: usize = 12;
/// A seed has 19 digits, which mean nothing to a reader.
const SEED: &str = "seed of data and order";

impl CrossExperiment {
    /// The labels of all experiments, in their order.
    pub fn labels(&self) -> Vec<&str> {
        self.experiments.iter().map(|one| one.label.as_str()).collect()
    }

    /// Lists the labels in words: `a, b and c`.
    pub fn labels_in_words(&self) -> String {
        let labels = self.labels();
        match labels.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
            _ => labels.concat(),
        }
    }

    /// Finds the experiment that a system is of.
    pub fn experiment_of(&self, system: &str) -> Option<&JoinedExperiment> {
        self.experiments.iter().find(|one| one.systems.iter().any(|own| own == system))
    }

    /// Says how long the longest gap between the experiments is: `7 days between`; `None` if that is not known.
    pub fn time_between(&self) -> Option<String> {
        label::time_between(&self.experiments)
    }

    /// States that the experiments were measured apart and when, without a full stop.
    pub fn times_sentence(&self) -> String {
        format!("{}, and there is no verdict. {}", self.begin_of_note(), self.one_experiment_hint("For a verdict"))
    }

    /// Says the same for a gate, which judges whether the candidate got worse, whatever the cause.
    pub fn gate_sentence(&self) -> String {
        format!(
            "{}, and the gate judges whether the candidate got worse, not why. {}",
            self.begin_of_note(),
            self.one_experiment_hint("To leave out what else changed")
        )
    }

    /// Writes when the experiments ran, and what their intervals do not hold.
    fn begin_of_note(&self) -> String {
        let ran: Vec<String> =
            self.experiments.iter().map(|one| format!("{} {}", one.named_with_file(), one.when_ran())).collect();
        let between = self.time_between().map_or_else(String::new, |text| format!(" ({text})"));
        format!(
            "measured apart: {}{between}. Whatever else changed between them is part of every change below: the intervals are \
             of the runs within each{}",
            ran.join(", "),
            self.until_sure_clause().unwrap_or_default(),
        )
    }

    /// Says whose number of runs followed from their values, as a clause after "the runs within each"; `None` if it was fixed.
    fn until_sure_clause(&self) -> Option<String> {
        let open: Vec<&str> = self
            .experiments
            .iter()
            .filter(|one| one.header.plan.schedule.until_sure.is_some())
            .map(|one| one.label.as_str())
            .collect();
        (!open.is_empty()).then(|| {
            format!(
                " as if their number had been fixed, though that of {} followed from their values",
                open.join(" and ")
            )
        })
    }

    /// Says what differs besides the systems' own facts, without a full stop.
    pub fn differences_sentence(&self) -> String {
        let labels = self.labels_in_words();
        if self.differences.is_empty() {
            return format!(
                "besides what is said of the systems, nothing that étalon reads differs between {labels}; it does not read \
                 everything"
            );
        }
        let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
        for one in self.differences.iter().take(NAMED) {
            match groups.last_mut().filter(|(about, _)| *about == one.about) {
                Some((_, all)) => all.push(one.in_words()),
                None => groups.push((&one.about, vec![one.in_words()])),
            }
        }
        let parts = groups.into_iter().map(|(about, all)| format!("{about}: {}", all.join(", ")));
        let more = match self.differences.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more, which `--json` lists"),
        };
        format!("differs between {labels}: {}{more}", parts.collect::<Vec<_>>().join("; "))
    }

    /// Lists the cases that only the first experiment has, as missing from the others.
    pub(crate) fn only_in_first(&self) -> Vec<OneSided> {
        let labels = self.labels();
        let (a, b) = (labels[0].to_owned(), labels[1..].join(", "));
        let own = self.alone.iter().filter(|alone| alone.experiment == 0);
        own.map(|alone| OneSided { a: a.clone(), b: b.clone(), name: alone.what.clone(), missing_from: SideLetter::B })
            .collect()
    }

    /// Says what only one experiment has, a text for each, without a full stop.
    pub fn only_in_sentences(&self) -> Vec<String> {
        self.experiments
            .iter()
            .enumerate()
            .filter_map(|(place, one)| {
                let own: Vec<&str> = self
                    .alone
                    .iter()
                    .filter(|alone| alone.experiment == place)
                    .map(|alone| alone.what.as_str())
                    .collect();
                let more = match own.len().saturating_sub(NAMED) {
                    0 => String::new(),
                    more => format!("; and {}", count_noun(more, "more case")),
                };
                let named = own.iter().take(NAMED).copied().collect::<Vec<_>>().join("; ");
                (!own.is_empty()).then(|| format!("only in {}: {named}{more}", one.label))
            })
            .collect()
    }
}

impl JoinedExperiment {
    /// Writes the label, with the store's file behind it where the label is no part of that: `store 1 (shop-2.etalon)`.
    fn named_with_file(&self) -> String {
        let path = Path::new(&self.file);
        match (path.file_name(), path.file_stem()) {
            (Some(file), Some(stem)) if !stem.to_string_lossy().contains(&self.label) => {
                format!("{} ({})", self.label, file.display())
            }
            _ => self.label.clone(),
        }
    }

    /// Says when the experiment ran: `ran on 2026-03-01 12:00 UTC`, or that this is not known of an import.
    pub fn when_ran(&self) -> String {
        match self.ran_unix_ms {
            Some((first, _)) => format!("ran on {}", label::minute_text(first)),
            None => "was imported, and when it ran is unknown".to_owned(),
        }
    }
}

impl ExperimentDifference {
    /// Writes the difference with its values: `kernel.version (6.1 | 6.18)`.
    fn in_words(&self) -> String {
        if self.name == SEED {
            return self.name.clone();
        }
        format!(
            "{} ({})",
            self.name,
            self.values
                .iter()
                .map(|value| {
                    value
                        .as_deref()
                        .map_or_else(|| "not known".to_owned(), |v| crate::text::clip_to_width(v, LONGEST_VALUE))
                })
                .collect::<Vec<_>>()
                .join(" | ")
        )
    }
}

/// The histograms of several stores under the numbers that their runs have in the joined evidence.
pub struct JoinedSeries<S> {
    /// The sources, ascending by the number that was added to the ids of their runs.
    parts: Vec<(i64, S)>,
}

impl<S: SeriesSource> JoinedSeries<S> {
    /// Makes the histograms of a single store, whose runs keep their numbers.
    pub fn of_one(source: S) -> JoinedSeries<S> {
        JoinedSeries { parts: vec![(0, source)] }
    }

    /// Makes the histograms of all experiments, each from its source.
    pub fn new(apart: &CrossExperiment, sources: impl IntoIterator<Item = S>) -> JoinedSeries<S> {
        JoinedSeries { parts: apart.experiments.iter().map(|one| one.run_offset).zip(sources).collect() }
    }
}

impl<S: SeriesSource> SeriesSource for JoinedSeries<S> {
    /// Reads the histograms of a joined run from the store that it came from.
    fn series(&self, run: i64) -> Result<Vec<Series>, StoreError> {
        match self.parts.iter().rev().find(|(offset, _)| run > *offset) {
            Some((offset, source)) => source.series(run - offset),
            None => Ok(Vec::new()),
        }
    }
}
