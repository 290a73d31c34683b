//! Pairs runs of both sides by case and block.

use std::collections::{BTreeMap, BTreeSet};

use model::{Metric, Quantity, RunState};
use stats::Sample;

use super::failures;
use super::judging::Index;
use super::options::Pairing;
use super::projection::{values_of_keys, varying_keys};
use super::warning::Warning;
use crate::evidence::Evidence;
use crate::lookup::Lookup;

/// Runs of a round further apart are reported.
const FAR_MS: u64 = 3_600_000;

/// Pairs cases of A with those of B that are equal in every key that varies within a side.
/// The sides may differ as a whole in a key. `unused` keys make neither sides nor rows.
pub fn matched_cases(evidence: &Evidence, a: &[u32], b: &[u32], unused: &[String]) -> MatchedCases {
    let mut keys = varying_keys(&cases_of(evidence, a), unused);
    keys.extend(varying_keys(&cases_of(evidence, b), unused));
    let of_b: BTreeMap<_, u32> =
        b.iter().filter_map(|index| Some((identity_of(evidence, &keys, *index)?, *index))).collect();
    let pairs: Vec<(u32, u32)> =
        a.iter().filter_map(|index| Some((*index, *of_b.get(&identity_of(evidence, &keys, *index)?)?))).collect();
    let without_counterpart = (a.len() + b.len()).saturating_sub(2 * pairs.len());
    MatchedCases { pairs, without_counterpart }
}

/// The values of the keys that a case has in common with its counterpart.
fn identity_of(evidence: &Evidence, keys: &[String], index: u32) -> Option<Vec<String>> {
    evidence.case(index).map(|case| values_of_keys(case, keys))
}

/// Looks up the cases of these indices.
fn cases_of<'a>(evidence: &'a Evidence, indices: &[u32]) -> Vec<&'a model::Case> {
    indices.iter().filter_map(|index| evidence.case(*index)).collect::<Vec<_>>()
}

/// Cases of A with their counterparts of B.
#[derive(Clone, Debug, Default)]
pub struct MatchedCases {
    pub pairs: Vec<(u32, u32)>,
    /// Number of cases on both sides that have no counterpart and take no part.
    pub without_counterpart: usize,
}

pub struct Matched {
    pub a: Sample,
    pub b: Sample,
    /// What takes no part.
    pub left_out: Option<Warning>,
}

/// Collects the values of matched cases on both sides, and counts what is left out.
/// Of several cases only complete rounds count: one without its slow case would look
/// fast. Unpaired, a round has one value, since cases are no repetitions. Failed shares are pooled as exponentials,
/// whose logarithms' mean is the shares' mean.
pub fn match_values(index: &Index<'_>, cases: &MatchedCases, metric: &Metric, pairing: Pairing) -> Matched {
    let MatchedCases { pairs: cases, without_counterpart } = cases;
    if let ([(a, b)], 0) = (&cases[..], *without_counterpart) {
        return Matched {
            a: sample_of(index, *a, metric, &|_| true),
            b: sample_of(index, *b, metric, &|_| true),
            left_out: None,
        };
    }
    let known: Vec<CasePair> = cases.iter().map(|(a, b)| CasePair::new(index, [*a, *b], &metric.id, pairing)).collect();
    let parts: Vec<&CasePair> = known.iter().filter(|pair| pair.has_compared_rounds()).collect();
    let whole = [0, 1].map(|side| {
        let all = parts.iter().map(|pair| pair.compared[side].clone());
        all.reduce(|one, other| one.intersection(&other).copied().collect()).unwrap_or_default()
    });
    let side = |side: usize| {
        let samples: Vec<Sample> = parts
            .iter()
            .map(|pair| sample_of(index, pair.cases[side], metric, &|round| whole[side].contains(&round)))
            .collect();
        Sample::from_runs(samples.iter().flat_map(|sample| sample.runs().iter().copied())).pool_rounds()
    };
    let rounds: BTreeSet<u32> = parts.iter().flat_map(|pair| &pair.measured).copied().collect();
    let lost_rounds = rounds.iter().filter(|round| !whole.iter().all(|whole| whole.contains(round))).count();
    let lost_cells = without_counterpart
        + known.iter().filter(|pair| !pair.has_compared_rounds() && !pair.measured.is_empty()).count();
    let left_out =
        (lost_cells + lost_rounds > 0).then_some(Warning::LeftOut { cases: lost_cells, rounds: lost_rounds });
    Matched { a: side(0), b: side(1), left_out }
}

/// Collects a case's values in the requested rounds, failed shares as exponentials.
fn sample_of(index: &Index<'_>, case: u32, metric: &Metric, is_asked: &dyn Fn(u32) -> bool) -> Sample {
    let own = index.sample_of_rounds(case, &metric.id, is_asked);
    if metric.quantity() == Quantity::Failures { failures::as_exponentials(&own) } else { own }
}

/// A case of A and its counterpart, with the rounds that have a value.
struct CasePair {
    cases: [u32; 2],
    /// Rounds that have a value on either side.
    measured: BTreeSet<u32>,
    /// Rounds compared on each side: equal if paired. Unpaired rounds mean nothing to the other side.
    compared: [BTreeSet<u32>; 2],
}

impl CasePair {
    /// Makes the pair, with the rounds in which both sides, or each of them, have a value.
    fn new(index: &Index<'_>, cases: [u32; 2], metric: &str, pairing: Pairing) -> CasePair {
        let of_sides = cases.map(|case| index.measured_rounds(case, metric));
        let [a, b] = &of_sides;
        let measured = a.union(b).copied().collect();
        let both: BTreeSet<u32> = a.intersection(b).copied().collect();
        let compared = match pairing {
            Pairing::Paired => [both.clone(), both],
            Pairing::Unpaired => of_sides,
        };
        CasePair { cases, measured, compared }
    }

    /// Whether both sides have rounds that are compared.
    fn has_compared_rounds(&self) -> bool {
        self.compared.iter().all(|rounds| !rounds.is_empty())
    }
}

/// Warns of rounds whose runs began an hour or more apart, as after a resume.
pub fn warn_far_apart(lookup: &Lookup<'_>, cases: &[(u32, u32)]) -> Option<Warning> {
    let mut apart_ms: BTreeMap<u32, u64> = BTreeMap::new();
    for (a, b) in cases {
        let of_b = began_by_round(lookup, *b);
        for (round, instant) in began_by_round(lookup, *a) {
            let Some(other) = of_b.get(&round) else { continue };
            let longest = apart_ms.entry(round).or_default();
            *longest = (*longest).max(instant.abs_diff(*other));
        }
    }
    let far: Vec<u64> = apart_ms.values().copied().filter(|ms| *ms >= FAR_MS).collect();
    let longest = far.iter().max()?;
    Some(Warning::FarApart { rounds: far.len(), of: apart_ms.len(), hours: *longest as f64 / FAR_MS as f64 })
}

/// The instants at which the measured runs of a case began, by round.
fn began_by_round(lookup: &Lookup<'_>, case: u32) -> BTreeMap<u32, i64> {
    let measured = lookup.attempts_of_cases(&[case]).filter(|run| run.state == RunState::Measured);
    measured.filter_map(|run| Some((run.planned.round, lookup.evidence().began_unix_ms(run)?))).collect()
}
