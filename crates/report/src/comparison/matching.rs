//! Which trials of the two sides are held against each other: cell by cell, block by block.

use std::collections::{BTreeMap, BTreeSet};

use model::TrialState;
use stats::Sample;

use super::judging::Index;
use super::options::Pairing;
use super::projection::{hidden, values_of};
use super::warning::Warning;
use crate::evidence::Evidence;

/// From how many milliseconds on two trials of a block are far apart: an hour.
const FAR_MS: u64 = 3_600_000;

/// The cells of A with their counterparts of B: those that agree in every key that varies within a side. `unused` are the keys
/// that make neither sides nor rows. Sides that differ as a whole in such a key have their cells matched all the same.
pub fn matched_cells(evidence: &Evidence, a: &[u32], b: &[u32], unused: &[String]) -> Vec<(u32, u32)> {
    let cells = |indices: &[u32]| indices.iter().filter_map(|index| evidence.cell(*index)).collect::<Vec<_>>();
    let mut keys = hidden(&cells(a), unused);
    keys.extend(hidden(&cells(b), unused));
    let identity = |index: u32| evidence.cell(index).map(|cell| values_of(cell, &keys));
    let of_b: BTreeMap<_, u32> = b.iter().filter_map(|index| Some((identity(*index)?, *index))).collect();
    a.iter().filter_map(|index| Some((*index, *of_b.get(&identity(*index)?)?))).collect()
}

/// What is compared of a metric.
pub struct Matched {
    /// The values of A.
    pub a: Sample,
    /// The values of B.
    pub b: Sample,
    /// What takes no part.
    pub left_out: Option<Warning>,
}

/// The values of matched cells. Of several cells only those blocks take part in which none is missing: else a block in which
/// the slow cell failed would look fast. Without pairing a block has one value, since its cells are no repetitions.
pub fn matched(index: &Index, cells: &[(u32, u32)], metric: &str, pairing: Pairing) -> Matched {
    if let [(a, b)] = cells {
        return Matched {
            a: index.sample(*a, metric, |_| true),
            b: index.sample(*b, metric, |_| true),
            left_out: None,
        };
    }
    let blocks = |cell: u32| index.blocks(cell, metric);
    // Without pairing the blocks of one side mean nothing to the other.
    let shared = |(a, b): &(u32, u32)| match pairing {
        Pairing::Paired => {
            let both: BTreeSet<u32> = blocks(*a).intersection(&blocks(*b)).copied().collect();
            [both.clone(), both]
        }
        Pairing::Unpaired => [blocks(*a), blocks(*b)],
    };
    let known = cells.iter().map(|pair| (pair, shared(pair)));
    let taking_part: Vec<(&(u32, u32), [BTreeSet<u32>; 2])> =
        known.filter(|(_, [a, b])| !a.is_empty() && !b.is_empty()).collect();
    let whole = [0, 1].map(|side| {
        let all = taking_part.iter().map(|(_, blocks)| blocks[side].clone());
        all.reduce(|one, other| one.intersection(&other).copied().collect()).unwrap_or_default()
    });
    let side = |side: usize| {
        let of = |(a, b): (u32, u32)| index.sample([a, b][side], metric, |block| whole[side].contains(&block));
        let samples: Vec<Sample> = taking_part.iter().map(|(pair, _)| of(**pair)).collect();
        let trials = samples.iter().flat_map(|sample| sample.trials().iter().copied());
        Sample::from_trials(trials).by_blocks()
    };
    let any: BTreeSet<u32> =
        taking_part.iter().flat_map(|((a, b), _)| blocks(*a).into_iter().chain(blocks(*b))).collect();
    let measured = |(a, b): &&(u32, u32)| !blocks(*a).is_empty() || !blocks(*b).is_empty();
    let lost_cells = cells.iter().filter(measured).count() - taking_part.len();
    let lost_blocks = any.iter().filter(|block| !whole.iter().all(|whole| whole.contains(block))).count();
    let left_out =
        (lost_cells + lost_blocks > 0).then_some(Warning::LeftOut { cells: lost_cells, blocks: lost_blocks });
    Matched { a: side(0), b: side(1), left_out }
}

/// Says in how many blocks the two sides' trials began an hour apart or more, as repeated and resumed ones may.
pub fn far_apart(evidence: &Evidence, cells: &[(u32, u32)]) -> Option<Warning> {
    let mut began: BTreeMap<(u32, u32), i64> = BTreeMap::new();
    for trial in evidence.trials.iter().filter(|trial| trial.state == TrialState::Measured) {
        if let Some(instant) = trial.started_unix_ms {
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
