//! Finds the rows that would have to be left out for a printed figure to follow.

use model::Direction;

use crate::figure::{Match, Printed};
use crate::level::{Level, LevelValue};
use crate::statistic::Estimate;

/// Rows up to which all small subsets are tried.
const MAX_ENUMERATED: usize = 40;
/// Most rows that are left out together there.
const MAX_LEFT_OUT: usize = 3;
/// Left out at one place of a long sorted list.
const MAX_TRIMMED: usize = 20;
/// Expected matches by chance must be fewer.
const MAX_BY_CHANCE: f64 = 0.1;

/// Rows that were left out.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    pub which: String,
    /// The figure that the other rows give.
    pub value: f64,
    pub fit: Match,
}

/// Finds rows without which the figure follows.
pub fn find_subset(
    level: &Level,
    estimate: Estimate,
    direction: Option<Direction>,
    printed: &Printed,
    likely: Option<u64>,
) -> Option<LeftOut> {
    // Any count follows by leaving rows out.
    let counts = matches!(estimate, Estimate::Count | Estimate::CountBelow(_) | Estimate::Value);
    if counts || printed.value.is_none() || level.kind == crate::level::LevelKind::Sums {
        return None;
    }
    let compute = |values: &[LevelValue]| estimate.compute(values, direction);
    if level.values.len() <= MAX_ENUMERATED && level.value_count() == level.values.len() as u64 {
        (1..=MAX_LEFT_OUT.min(level.values.len().saturating_sub(2)))
            .find_map(|left| leave_out_few(level, left, printed, &compute))
    } else {
        leave_out_many(level, printed, likely, &compute)
    }
}

/// Finds the first choice of `left` rows without which the figure follows; `None` if none or by chance.
fn leave_out_few(
    level: &Level,
    left: usize,
    printed: &Printed,
    compute: &dyn Fn(&[LevelValue]) -> Option<f64>,
) -> Option<LeftOut> {
    let mut found: Option<(Vec<usize>, f64)> = None;
    let (mut tried, mut low, mut high) = (0_u32, f64::INFINITY, f64::NEG_INFINITY);
    let mut without: Vec<usize> = (0..left).collect();
    let n = level.values.len();
    loop {
        let rest: Vec<LevelValue> =
            level.values.iter().enumerate().filter(|(i, _)| !without.contains(i)).map(|(_, v)| *v).collect();
        if let Some(value) = compute(&rest) {
            tried += 1;
            (low, high) = (low.min(value), high.max(value));
            if found.is_none() && printed.matches(value) == Match::Rounded {
                found = Some((without.clone(), value));
            }
        }
        if !next_subset(&mut without, n) {
            break;
        }
    }
    let (without, value) = found?;
    is_beyond_chance(tried, low, high, printed).then(|| {
        let names: Vec<String> = without
            .iter()
            .map(|i| match level.values[*i].repetition {
                0 => (i + 1).to_string(),
                repetition => repetition.to_string(),
            })
            .collect();
        let plural = if names.len() == 1 { "row" } else { "rows" };
        LeftOut { which: format!("{plural} {}", names.join(", ")), value, fit: Match::Rounded }
    })
}

/// Advances to the next choice of indices below `n` in lexical order; false after the last.
fn next_subset(without: &mut [usize], n: usize) -> bool {
    let k = without.len();
    let Some(at) = (0..k).rev().find(|&i| without[i] < n - k + i) else { return false };
    without[at] += 1;
    for i in at + 1..k {
        without[i] = without[i - 1] + 1;
    }
    true
}

/// Whether a match by chance is unlikely.
fn is_beyond_chance(tried: u32, low: f64, high: f64, printed: &Printed) -> bool {
    let range = (high - low).max(printed.last_digit_unit());
    f64::from(tried) * printed.last_digit_unit() / range < MAX_BY_CHANCE
}

/// Finds values of a long list without which the figure follows, about the median or at an end; `None` if by chance.
/// The count that the other side lost is tried first.
fn leave_out_many(
    level: &Level,
    printed: &Printed,
    likely: Option<u64>,
    compute: &dyn Fn(&[LevelValue]) -> Option<f64>,
) -> Option<LeftOut> {
    let mut ordered = level.values.clone();
    ordered.sort_by(|x, y| x.value.total_cmp(&y.value));
    let likely = likely.and_then(|n| usize::try_from(n).ok()).filter(|n| (1..=MAX_TRIMMED).contains(n));
    let sizes: Vec<usize> = likely.into_iter().chain((1..=MAX_TRIMMED).filter(|n| Some(*n) != likely)).collect();
    let n = level.value_count();
    for (middle, words) in
        [(n / 2, "about the median"), (n, "with the largest values"), (0, "with the smallest values")]
    {
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let mut found: Option<LeftOut> = None;
        let mut tried = 0_u32;
        for &left in &sizes {
            let Some(value) = without_range(&ordered, middle, left).and_then(|rest| compute(&rest)) else { continue };
            tried += 1;
            range = (range.0.min(value), range.1.max(value));
            let fit = printed.matches(value);
            let better = found
                .as_ref()
                .is_none_or(|known| known.fit == Match::Cut && fit == Match::Rounded && Some(left) == likely);
            if fit != Match::No && better {
                let which = if left == 1 { format!("the row {words}") } else { format!("the {left} rows {words}") };
                found = Some(LeftOut { which, value, fit });
            }
        }
        // Cutting doubles the chances.
        if let Some(found) = found
            && is_beyond_chance(2 * tried, range.0, range.1, printed)
        {
            return Some(found);
        }
    }
    None
}

/// Copies the values without `left` of them around a rank.
/// `None` where that would cut a group of executions.
fn without_range(ordered: &[LevelValue], place: u64, left: usize) -> Option<Vec<LevelValue>> {
    let mut before = 0;
    let index = ordered.iter().position(|v| {
        let here = before >= place;
        before += v.count;
        here
    });
    let index = index.unwrap_or(ordered.len());
    let from = index.saturating_sub(left.div_ceil(2)).min(ordered.len().checked_sub(left)?);
    let gone = &ordered[from..from + left];
    if gone.iter().any(|v| v.count != 1) {
        return None;
    }
    Some([&ordered[..from], &ordered[from + left..]].concat())
}
