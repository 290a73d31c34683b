//! How many rows of a question came out how.

use stats::Verdict;

use super::words::{extremes, factors_words, percents_words};
use super::{TIMES, judged_ratio};
use crate::comparison::{Comparison, NoVerdict};

/// How many rows came out how.
#[derive(Clone, Copy, Default)]
pub(super) struct VerdictCounts {
    pub(super) faster: usize,
    pub(super) slower: usize,
    pub(super) equal: usize,
    pub(super) open: usize,
    /// Rows without a verdict whose sides have the very same values.
    pub(super) same: usize,
    pub(super) none: usize,
}

impl VerdictCounts {
    /// Counts the rows by their verdict.
    pub(super) fn of_rows(rows: &[&Comparison]) -> VerdictCounts {
        let mut tally = VerdictCounts::default();
        for row in rows {
            *match row.verdict() {
                Some(Verdict::Faster) => &mut tally.faster,
                Some(Verdict::Slower) => &mut tally.slower,
                Some(Verdict::Equivalent) => &mut tally.equal,
                _ if has_same_values(row) && may_be_same(row) => &mut tally.same,
                Some(Verdict::Inconclusive) => &mut tally.open,
                None => &mut tally.none,
            } += 1;
        }
        tally
    }
}

/// Whether nothing but too few or too rough values keeps a row from a verdict.
fn may_be_same(row: &Comparison) -> bool {
    matches!(row.why_no_verdict(), None | Some(NoVerdict::UnderClockStep | NoVerdict::TooFewRounds { .. }))
}

/// Whether both sides of a row have the very same values, in any order.
fn has_same_values(row: &Comparison) -> bool {
    let [a, b] = [&row.a, &row.b].map(|side| {
        let mut values: Vec<f64> = side.runs.iter().map(|run| run.value).collect();
        values.sort_by(f64::total_cmp);
        values
    });
    !a.is_empty() && a == b
}

/// Writes how many rows came out how, and by how much: `faster in 3 (by 12 % to 31 %), no difference shown in 4`.
pub(super) fn outcomes_in_words(rows: &[&Comparison], [better, worse]: [&str; 2]) -> String {
    let tally = VerdictCounts::of_rows(rows);
    let parts = [
        (tally.faster, better, amount_of(rows, Verdict::Faster)),
        (tally.slower, worse, amount_of(rows, Verdict::Slower)),
        (tally.equal, "equal", None),
        (tally.same, "the same values", None),
        (tally.open, "no difference shown", None),
        (tally.none, "no verdict", None),
    ];
    let shown: Vec<_> = parts.iter().filter(|(rows, ..)| *rows > 0).collect();
    if let [(rows, word, amount)] = shown.as_slice() {
        let amount = amount.as_ref();
        return match *rows {
            1 => amount.map_or_else(|| (*word).to_owned(), |amount| format!("{word} {amount}")),
            _ => format!("{word} in all of them{}", amount.map_or_else(String::new, |amount| format!(", {amount}"))),
        };
    }
    let parts = shown.into_iter().map(|(rows, word, amount)| match amount {
        Some(amount) => format!("{word} in {rows} ({amount})"),
        None => format!("{word} in {rows}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Writes by how much the rows of a verdict changed: `by 12 % to 31 %`, or `by a factor of 2.5`; `None` without a ratio.
fn amount_of(rows: &[&Comparison], verdict: Verdict) -> Option<String> {
    let rows = rows.iter().copied().filter(|row| row.verdict() == Some(verdict));
    let ratios: Vec<f64> = rows.filter_map(judged_ratio).collect();
    let (least, most) = extremes(ratios.iter().map(|ratio| ratio.max(1.0 / ratio)))?;
    if most < TIMES {
        let (low, high) = extremes(ratios.iter().map(|ratio| (ratio - 1.0).abs()))?;
        return Some(format!("by {}", percents_words([low, high]).text));
    }
    let spread = factors_words([least, most]);
    Some(format!("by {} of {}", if spread.is_range { "factors" } else { "a factor" }, spread.text))
}
