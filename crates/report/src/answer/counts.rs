//! How many rows of a question came out how.

use stats::Verdict;

use crate::comparison::Comparison;

/// How many rows came out how.
#[derive(Clone, Copy, Default)]
pub(super) struct VerdictCounts {
    pub(super) faster: usize,
    pub(super) slower: usize,
    pub(super) equal: usize,
    pub(super) open: usize,
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
                Some(Verdict::Inconclusive) => &mut tally.open,
                None => &mut tally.none,
            } += 1;
        }
        tally
    }

    /// Writes the counts in words: `faster in 3, slower in 1, no difference shown in 4`.
    pub(super) fn in_words(self, [better, worse]: [&str; 2]) -> String {
        let parts = [
            (self.faster, better),
            (self.slower, worse),
            (self.equal, "equal"),
            (self.open, "no difference shown"),
            (self.none, "no verdict"),
        ];
        let mut shown: Vec<_> = parts.iter().filter(|(rows, _)| *rows > 0).collect();
        if let [(rows, word)] = shown.as_slice() {
            return if *rows > 1 { format!("{word} in all of them") } else { (*word).to_owned() };
        }
        shown.drain(..).map(|(rows, word)| format!("{word} in {rows}")).collect::<Vec<_>>().join(", ")
    }
}
