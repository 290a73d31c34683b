//! Pairs trials of both sides by cell and block.

use std::collections::{BTreeMap, BTreeSet};

use model::{Metric, TrialState};
use stats::Sample;

use super::failures;
use super::judging::Index;
use super::options::Pairing;
use super::projection::{hidden, values_of};
use super::warning::Warning;
use crate::evidence::Evidence;

/// Trials of a block further apart are reported.
const FAR_MS: u64 = 3_600_000;

/// Cells of A with their counterparts of B: equal in every key that varies within a side, also if the sides differ as
/// a whole in it. `unused` keys make neither sides nor rows.
pub fn matched_cells(evidence: &Evidence, a: &[u32], b: &[u32], unused: &[String]) -> MatchedCells {
    let cells = |indices: &[u32]| indices.iter().filter_map(|index| evidence.cell(*index)).collect::<Vec<_>>();
    let mut keys = hidden(&cells(a), unused);
    keys.extend(hidden(&cells(b), unused));
    let identity = |index: u32| evidence.cell(index).map(|cell| values_of(cell, &keys));
    let of_b: BTreeMap<_, u32> = b.iter().filter_map(|index| Some((identity(*index)?, *index))).collect();
    let pairs: Vec<(u32, u32)> = a.iter().filter_map(|index| Some((*index, *of_b.get(&identity(*index)?)?))).collect();
    let without_counterpart = (a.len() + b.len()).saturating_sub(2 * pairs.len());
    MatchedCells { pairs, without_counterpart }
}

/// Cells of A with their counterparts of B.
#[derive(Clone, Debug, Default)]
pub struct MatchedCells {
    pub pairs: Vec<(u32, u32)>,
    /// On both sides; they take no part.
    pub without_counterpart: usize,
}

pub struct Matched {
    pub a: Sample,
    pub b: Sample,
    /// What takes no part.
    pub left_out: Option<Warning>,
}

/// The values of matched cells. Of several cells only complete blocks count: one without its slow cell would look
/// fast. Unpaired, a block has one value, since cells are no repetitions. Failed shares are pooled as exponentials,
/// whose logarithms' mean is the shares' mean.
pub fn matched(index: &Index, cells: &MatchedCells, metric: &Metric, pairing: Pairing) -> Matched {
    let sample = |cell: u32, is_asked: &dyn Fn(u32) -> bool| {
        let own = index.sample(cell, &metric.id, is_asked);
        if failures::is_share(metric) { failures::as_exponentials(&own) } else { own }
    };
    let MatchedCells { pairs: cells, without_counterpart } = cells;
    let metric = metric.id.as_str();
    if let ([(a, b)], 0) = (&cells[..], *without_counterpart) {
        return Matched { a: sample(*a, &|_| true), b: sample(*b, &|_| true), left_out: None };
    }
    let known: Vec<CellPair> = cells.iter().map(|(a, b)| CellPair::new(index, [*a, *b], metric, pairing)).collect();
    let parts: Vec<&CellPair> = known.iter().filter(|pair| pair.takes_part()).collect();
    let whole = [0, 1].map(|side| {
        let all = parts.iter().map(|pair| pair.compared[side].clone());
        all.reduce(|one, other| one.intersection(&other).copied().collect()).unwrap_or_default()
    });
    let side = |side: usize| {
        let of = |pair: &&CellPair| sample(pair.cells[side], &|block| whole[side].contains(&block));
        let samples: Vec<Sample> = parts.iter().map(of).collect();
        Sample::from_trials(samples.iter().flat_map(|sample| sample.trials().iter().copied())).by_blocks()
    };
    let blocks: BTreeSet<u32> = parts.iter().flat_map(|pair| &pair.measured).copied().collect();
    let lost_blocks = blocks.iter().filter(|block| !whole.iter().all(|whole| whole.contains(block))).count();
    let lost_cells =
        without_counterpart + known.iter().filter(|pair| !pair.takes_part() && !pair.measured.is_empty()).count();
    let left_out =
        (lost_cells + lost_blocks > 0).then_some(Warning::LeftOut { cells: lost_cells, blocks: lost_blocks });
    Matched { a: side(0), b: side(1), left_out }
}

/// With the blocks that have a value.
struct CellPair {
    cells: [u32; 2],
    /// On either side.
    measured: BTreeSet<u32>,
    /// Blocks compared on each side: equal if paired. Unpaired blocks mean nothing to the other side.
    compared: [BTreeSet<u32>; 2],
}

impl CellPair {
    fn new(index: &Index, cells: [u32; 2], metric: &str, pairing: Pairing) -> CellPair {
        let of_sides = cells.map(|cell| index.blocks(cell, metric));
        let [a, b] = &of_sides;
        let measured = a.union(b).copied().collect();
        let both = || a.intersection(b).copied().collect::<BTreeSet<u32>>();
        let compared = match pairing {
            Pairing::Paired => [both(), both()],
            Pairing::Unpaired => of_sides,
        };
        CellPair { cells, measured, compared }
    }

    fn takes_part(&self) -> bool {
        self.compared.iter().all(|blocks| !blocks.is_empty())
    }
}

/// Counts blocks whose trials began an hour or more apart, as after a resume.
pub fn far_apart(evidence: &Evidence, cells: &[(u32, u32)]) -> Option<Warning> {
    let mut began: BTreeMap<(u32, u32), i64> = BTreeMap::new();
    for trial in evidence.trials.iter().filter(|trial| trial.state == TrialState::Measured) {
        if let Some(instant) = evidence.began_unix_ms(trial) {
            began.insert((trial.planned.cell, trial.planned.block), instant);
        }
    }
    let mut apart_ms: BTreeMap<u32, u64> = BTreeMap::new();
    for ((cell, block), instant) in &began {
        let partners = cells.iter().filter(|(a, _)| a == cell);
        for other in partners.filter_map(|(_, b)| began.get(&(*b, *block))) {
            let longest = apart_ms.entry(*block).or_default();
            *longest = (*longest).max(instant.abs_diff(*other));
        }
    }
    let far: Vec<u64> = apart_ms.values().copied().filter(|ms| *ms >= FAR_MS).collect();
    let longest = far.iter().max()?;
    Some(Warning::FarApart { blocks: far.len(), of: apart_ms.len(), hours: *longest as f64 / FAR_MS as f64 })
}
