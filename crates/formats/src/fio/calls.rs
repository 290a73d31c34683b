//! Which documents are of one call of fio, and which are repetitions of each other.
//!
//! Fio prints again and again what it has so far if it is asked to by `--status-interval`. Its documents show it by what grows from one to the
//! next; text by the processes, too.

use std::collections::{BTreeMap, BTreeSet};

use model::{Reading, Value};

use super::{Direct, FioDocument, FioJob};
use crate::ImportedResult;
use crate::experiment::point_identity;

/// Shortest interval of `--status-interval` by which terse lines, which have no time, show that they are of one call.
const LEAST_INTERVAL_MS: f64 = 500.0;
/// Terse lines of one name whose rates differ by more than this factor may be of jobs with different options.
const MOST_SPREAD: f64 = 1.5;

/// Tells of each document whether a later one of the same call has all that it has.
pub fn find_intermediate(documents: &[FioDocument]) -> Vec<bool> {
    let mut found: Vec<bool> = Vec::with_capacity(documents.len());
    for (at, document) in documents.iter().enumerate() {
        let goes_on = found.last().copied().unwrap_or(false);
        found.push(documents.get(at + 1).is_some_and(|later| document.continues_in(later, goes_on)));
    }
    found
}

impl FioDocument {
    /// Tells whether the next document is of the same call.
    /// Of terse lines the last interval may be short, if the call goes on from the document in front of this one.
    fn continues_in(&self, later: &FioDocument, goes_on: bool) -> bool {
        if self.jobs.is_empty() || self.job_names() != later.job_names() {
            return false;
        }
        let more_ms = later.longest_ms() - self.longest_ms();
        if self.is_terse && later.is_terse {
            return self.grows_into(later) && (more_ms >= LEAST_INTERVAL_MS || (goes_on && more_ms > 0.0));
        }
        let (Some(ended), Some(later_ended)) = (self.timestamp_ms, later.timestamp_ms) else {
            return !later.is_announced
                && self.job_pids().is_some()
                && self.job_pids() == later.job_pids()
                && more_ms >= 0.0;
        };
        // What is measured in ramp_time is thrown away.
        let may_shrink =
            self.global.contains_key("ramp_time") || self.jobs.iter().any(|job| job.options.contains_key("ramp_time"));
        if ended > later_ended || !(may_shrink || self.grows_into(later)) {
            return false;
        }
        // A separate run begins after the end of the one before.
        let began_before = (ended as f64) > later_ended as f64 - later.longest_ms();
        // Whole seconds tell only for longer runs.
        let same_start = self.elapsed_s() > 3 && self.start_s(ended).abs_diff(later.start_s(later_ended)) <= 1;
        began_before || same_start
    }

    /// Computes when fio was called, in seconds since 1970, from the instant at which all jobs had ended.
    fn start_s(&self, ended_ms: u64) -> u64 {
        (ended_ms / 1_000).saturating_sub(self.elapsed_s())
    }

    /// When fio was called, in milliseconds since 1970.
    pub(super) fn began_unix_ms(&self) -> Option<i64> {
        i64::try_from(self.start_s(self.timestamp_ms?)).ok()?.checked_mul(1_000)
    }

    /// Lists the names and groups of the jobs.
    fn job_names(&self) -> Vec<(&str, u64)> {
        self.jobs.iter().map(|job| (job.name.as_str(), job.group)).collect()
    }

    /// Lists the processes of the jobs, if all are known.
    fn job_pids(&self) -> Option<Vec<u64>> {
        self.jobs.iter().map(|job| job.pid).collect()
    }

    /// Tests whether a later document goes on with the same jobs.
    fn grows_into(&self, later: &FioDocument) -> bool {
        self.jobs.iter().zip(&later.jobs).all(|(job, later)| job.grows_into(later))
    }

    /// Gives the longest run time in any direction.
    fn longest_ms(&self) -> f64 {
        self.jobs.iter().flat_map(FioJob::directions).filter_map(|direct| direct.runtime_ms).fold(0.0, f64::max)
    }

    /// Gives the time that the longest job took.
    fn elapsed_s(&self) -> u64 {
        self.jobs.iter().map(|job| job.elapsed_s).max().unwrap_or(0)
    }

    /// Whether both documents' jobs ran at the same time, as on two hosts.
    fn overlaps(&self, other: &FioDocument) -> bool {
        let (Some(ended), Some(other_ended)) = (self.timestamp_ms, other.timestamp_ms) else { return false };
        let (ended, other_ended) = (ended as f64, other_ended as f64);
        ended > other_ended - other.longest_ms() && other_ended > ended - self.longest_ms()
    }
}

impl FioJob {
    /// Tells whether a later result may be of the same job that went on.
    pub fn grows_into(&self, later: &FioJob) -> bool {
        let sides = [(&self.read, &later.read), (&self.write, &later.write), (&self.trim, &later.trim)];
        sides.into_iter().all(|(side, later)| match (side, later) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(side), Some(later)) => side == later || side.grows_into(later),
        })
    }
}

impl Direct {
    /// Tells whether a later result may be of the same direction that went on.
    /// Nothing that is counted shrinks, the extremes move apart, and a short time adds few I/Os.
    fn grows_into(&self, later: &Direct) -> bool {
        let (Some(ms), Some(later_ms)) = (self.runtime_ms, later.runtime_ms) else { return false };
        let (more_ms, Some(more_ios)) = (later_ms - ms, later.ios.checked_sub(self.ios)) else { return false };
        if more_ms <= 0.0 {
            return false;
        }
        let is_plausible =
            more_ms >= LEAST_INTERVAL_MS || more_ios as f64 <= 10.0 * self.ios as f64 * more_ms / ms.max(1.0) + 64.0;
        let latencies = [(&self.completion, &later.completion), (&self.total, &later.total)];
        is_plausible
            && latencies.into_iter().all(|pair| match pair {
                (Some(one), Some(later)) => later.min_ns <= one.min_ns && later.max_ns >= one.max_ns,
                _ => true,
            })
    }
}

/// Adds a document's number to results that may be no repetitions although nothing printed differs; says why.
pub fn number_unlike_results(documents: &[&FioDocument], results: &mut [Vec<ImportedResult>]) -> BTreeSet<String> {
    let mut cases: BTreeMap<String, Vec<(usize, usize)>> = BTreeMap::new();
    for (document, of_document) in results.iter().enumerate() {
        for (at, result) in of_document.iter().enumerate() {
            cases.entry(point_identity(&result.keys)).or_default().push((document, at));
        }
    }
    let mut notes = BTreeSet::new();
    for of_case in cases.into_values().filter(|of_case| of_case.len() > 1) {
        let those: Vec<&FioDocument> = of_case.iter().map(|(document, _)| documents[*document]).collect();
        let rates = of_case.iter().filter_map(|(document, at)| iops_of(&results[*document][*at]));
        let Some(why) = why_unlike(&those, rates) else { continue };
        notes.insert(why.to_owned());
        for (document, at) in of_case {
            results[document][at].keys.insert("document".to_owned(), Value::Int(document as i64 + 1));
        }
    }
    notes
}

/// Explains why documents of one case are no repetitions; `None` if they may be.
fn why_unlike(those: &[&FioDocument], rates: impl Iterator<Item = f64>) -> Option<&'static str> {
    let (least, most) = rates.fold((f64::INFINITY, 0.0_f64), |(least, most), rate| (least.min(rate), most.max(rate)));
    let is_terse = those.iter().any(|document| document.is_terse);
    if those.iter().enumerate().any(|(at, one)| those[..at].iter().any(|other| one.overlaps(other))) {
        Some("documents of jobs that ran at the same time are no repetitions: each is a case of its own")
    } else if those.iter().any(|document| document.is_doubtful) {
        Some("terse lines do not show whether they are of clones or of several runs: each is a case of its own")
    } else if is_terse && most > MOST_SPREAD * least {
        Some(
            "terse lines do not print what was asked for, and those of one job differ by more than half: each is a case \
             of its own",
        )
    } else {
        None
    }
}

/// Gives a result's I/Os per second, if it has them.
fn iops_of(result: &ImportedResult) -> Option<f64> {
    let found = result.measurements.iter().find(|measurement| measurement.metric.id == "iops")?;
    match found.reading {
        Reading::Value(value) => Some(value),
        Reading::Unavailable(_) => None,
    }
}
