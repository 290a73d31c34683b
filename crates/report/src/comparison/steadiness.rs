//! Whether a side's runs are stationary, over all rows: of sixty some drift by chance.

use std::collections::BTreeMap;

use model::metric::CAPACITY_CLIENTS;
use stats::Motion;

use super::families::{Families, Family};
use super::row::{Comparison, Side, SideLetter};
use super::set::Rules;
use super::warning::Warning;

/// A side of a row, with what its runs do.
struct Watched {
    row: usize,
    letter: SideLetter,
    motion: Motion,
}

/// Warns of sides that drift or have two groups of values.
/// The tests of a family's rows and sides are adjusted together by Benjamini and
/// Hochberg, within the family's part of the error.
pub fn add_warnings(rows: &mut [&mut Comparison], rules: &Rules) {
    let watched = Family::ALL.map(|family| (family, watched_of_family(rows, family)));
    let [(_, primary), (_, queries), (_, exploratory)] = &watched;
    let families = Families { primary: primary.len(), queries: queries.len(), exploratory: exploratory.len() };
    for (family, all) in &watched {
        let error = (1.0 - rules.level) * families.error_part(*family);
        let p: Vec<f64> = all.iter().flat_map(|watched| watched.motion.p_values()).collect();
        let adjusted = stats::benjamini_hochberg(&p);
        for (watched, p) in all.iter().zip(adjusted.chunks_exact(2)) {
            let found = watched.motion.steadiness([p[0] <= error, p[1] <= error]);
            let row = &mut rows[watched.row];
            let unit = row.metric.unit.clone();
            row.warnings.extend(Warning::from_steadiness(&found, watched.letter, &unit));
        }
    }
}

/// Collects the sides of a family's rows whose values can be tested.
fn watched_of_family(rows: &[&mut Comparison], family: Family) -> Vec<Watched> {
    let own = rows.iter().enumerate().filter(|(_, row)| row.family == family);
    own.flat_map(|(place, row)| [SideLetter::A, SideLetter::B].map(|letter| test_side_values(place, row, letter)))
        .flatten()
        .collect()
}

/// Tests the values of one side in run order; `None` if they are too few.
/// Of several cases a round has one value, and only where it has all of them: a fast and a slow
/// case are no two modes, and where the slow one is missing nothing has changed.
fn test_side_values(row: usize, comparison: &Comparison, letter: SideLetter) -> Option<Watched> {
    let side: &Side = comparison.side(letter);
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    side.runs.iter().for_each(|point| rounds.entry(point.round).or_default().push(point.value));
    let fullest = rounds.values().map(Vec::len).max().unwrap_or_default();
    let whole = rounds.values().filter(|values| values.len() == fullest);
    let values: Vec<f64> = whole.map(|values| central_value(values)).collect();
    let (least, most) = (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
    // Numbers of clients next to each other are no two modes.
    if comparison.metric.id == CAPACITY_CLIENTS && most - least <= 1.0 {
        return None;
    }
    Some(Watched { row, letter, motion: Motion::from_series(&values)? })
}

/// The geometric mean of values, so that cases of any size count alike; their mean if one is not above 0.
fn central_value(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    match values {
        [only] => *only,
        all if all.iter().all(|value| *value > 0.0) => (all.iter().map(|value| value.ln()).sum::<f64>() / count).exp(),
        all => all.iter().sum::<f64>() / count,
    }
}
