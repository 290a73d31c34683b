//! The cases that results name, and those that a run that failed may have been of.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use model::Point;

use crate::experiment::point_identity;
use crate::imported::UNKNOWN_BENCHMARK;
use crate::{FormatError, Imported, ImportedResult};

/// No more results are made where one that failed counts in several cases.
const MOST_RESULTS: u64 = 1_000_000;

/// A result with the import that it is of.
pub type ResolvedResult<'a> = (&'a Imported, Cow<'a, ImportedResult>);
/// A benchmark with a point of it.
type CaseKey<'a> = (&'a str, &'a Point);
/// Source or system, benchmark and known keys.
type CaseQuery<'a> = (Option<&'a str>, Option<&'a str>, &'a str, String);
/// Each by a text that is the same for equal points only.
type Cases<'a> = IndexMap<(&'a str, String), &'a Point>;

/// Lists the results of all imports; one that failed stands in each case that it may have been of.
/// That is one of no case that others name: it stands at its repetition, or behind all others where that has a result.
///
/// # Errors
/// Nothing tells what was run, or there are too many results.
pub fn resolve_results(imports: &[Imported]) -> Result<Vec<ResolvedResult<'_>>, FormatError> {
    let all = || imports.iter().flat_map(|import| import.results.iter().map(move |result| (import, result)));
    let mut known_cases = KnownCases::default();
    all()
        .filter(|(_, result)| result.dropped.is_none())
        .for_each(|(import, result)| known_cases.learn_case(import, result));
    // What failed makes a case where nothing else may be meant.
    for (import, result) in
        all().filter(|(_, result)| result.dropped.is_some() && result.benchmark != UNKNOWN_BENCHMARK)
    {
        if !known_cases.has_case(result) && known_cases.cases_of(import, result).is_empty() {
            known_cases.learn_case(import, result);
        }
    }
    let known = all().filter(|(_, result)| result.dropped.is_none() || known_cases.has_case(result));
    let mut taken: BTreeSet<_> =
        known.filter_map(|(_, result)| place_of(result, &result.benchmark, &result.keys)).collect();
    let (mut results, mut behind) = (Vec::new(), Vec::new());
    for (import, result) in all() {
        if result.dropped.is_none() || known_cases.has_case(result) {
            results.push((import, Cow::Borrowed(result)));
            continue;
        }
        let mut cases = known_cases.cases_of(import, result);
        if known_cases.by_source.is_empty() {
            let reason = result.dropped.as_ref().map_or("", |(_, reason)| reason.as_str());
            return Err(FormatError::of_whole(format!("nothing tells what was run, since all of it failed: {reason}")));
        }
        if cases.is_empty() {
            cases.push((import.tool, &result.keys));
        }
        if (results.len() + behind.len() + cases.len()) as u64 > MOST_RESULTS {
            let what = format!(
                "there are more than {MOST_RESULTS} results, since nothing tells of which cases those are that failed"
            );
            return Err(FormatError::of_whole(what).with_hint("leave out what failed before it said what it runs"));
        }
        let note = format!("nothing tells which of {} cases failed: it counts in each", cases.len());
        let notes: Vec<String> = (cases.len() > 1).then_some(note).into_iter().collect();
        for (benchmark, keys) in cases {
            let is_free = place_of(result, benchmark, keys).is_none_or(|place| taken.insert(place));
            let (benchmark, keys, notes) = (benchmark.to_owned(), keys.clone(), notes.clone());
            let one = ImportedResult { benchmark, keys, notes, ..result.clone() };
            if is_free {
                results.push((import, Cow::Owned(one)))
            } else {
                behind.push((import, Cow::Owned(ImportedResult { repetition: None, ..one })))
            }
        }
    }
    results.extend(behind);
    Ok(results)
}

/// Makes the place of a result in a case: system, benchmark, keys and repetition, if that is numbered.
fn place_of<'a>(
    result: &'a ImportedResult,
    benchmark: &'a str,
    keys: &Point,
) -> Option<(&'a str, &'a str, String, u32)> {
    Some((result.system.as_str(), benchmark, point_identity(keys), result.repetition?))
}

#[derive(Default)]
struct KnownCases<'a> {
    by_source: BTreeMap<&'a str, Cases<'a>>,
    by_system: BTreeMap<&'a str, Cases<'a>>,
    all: Cases<'a>,
    /// What was found already.
    found: BTreeMap<CaseQuery<'a>, Vec<CaseKey<'a>>>,
}

impl<'a> KnownCases<'a> {
    /// Notes the case of a result by its file and system.
    fn learn_case(&mut self, import: &'a Imported, result: &'a ImportedResult) {
        let of_source = self.by_source.entry(&import.source).or_default();
        let of_system = self.by_system.entry(&result.system).or_default();
        for cases in [of_source, of_system, &mut self.all] {
            cases.entry((&result.benchmark, point_identity(&result.keys))).or_insert(&result.keys);
        }
    }

    /// Tells whether the very case is known, of any system.
    fn has_case(&self, result: &'a ImportedResult) -> bool {
        self.all.contains_key(&(result.benchmark.as_str(), point_identity(&result.keys)))
    }

    /// Finds the cases that a result may be of by its keys and benchmark: of its source, or else its system, or any.
    fn cases_of(&mut self, import: &'a Imported, result: &'a ImportedResult) -> Vec<CaseKey<'a>> {
        let (source, system) = (import.source.as_str(), result.system.as_str());
        let of_source = (self.by_source.get(source), Some(source), None);
        let of_system = (self.by_system.get(system), None, Some(system));
        for (cases, source, system) in [of_source, of_system, (Some(&self.all), None, None)] {
            let known = (source, system, result.benchmark.as_str(), point_identity(&result.keys));
            let found = self.found.entry(known).or_insert_with(|| {
                let all = cases.into_iter().flatten().map(|((benchmark, _), keys)| (*benchmark, *keys));
                all.filter(|(benchmark, keys)| {
                    let is_of_benchmark = result.benchmark == UNKNOWN_BENCHMARK || *benchmark == result.benchmark;
                    is_of_benchmark && result.keys.iter().all(|(key, value)| keys.get(key) == Some(value))
                })
                .collect()
            });
            if !found.is_empty() {
                return found.clone();
            }
        }
        Vec::new()
    }
}
