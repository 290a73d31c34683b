//! How many transactions a window holds, when some of them reach over its edges.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Transactions of a window; those at its edges count by the share of their span that lies inside.
///
/// Counting ends moves in steps: eight clients that answer together add eight at a time, so that the window's phase
/// decides over a tenth of a short run. Spreading each transaction evenly over its span has no step and keeps the mean:
/// at any moment of a stationary load the span of length x that covers it is drawn with a chance in proportion to x,
/// so that 1/x has the rate as its mean (the renewal argument of D. R. Cox, "Renewal Theory", 1962, section 5.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// Their spans lie inside.
    pub whole: u64,
    /// Sum of the shares of those at the edges.
    pub parts: f64,
}

impl Completed {
    /// Transactions completed: the whole ones and the parts of others.
    pub fn total(&self) -> f64 {
        self.whole as f64 + self.parts
    }

    /// Counts `batch` transactions that share a span.
    #[inline]
    pub fn add_batch(&mut self, batch: u64, span: &Range<u64>, window: &Range<u64>) {
        if span.start >= window.start && span.end <= window.end {
            self.whole += batch;
        } else if span.end > window.start {
            self.add_part(batch, span, window);
        }
    }

    /// Adds the part of a batch that lies in the window.
    #[cold]
    fn add_part(&mut self, batch: u64, span: &Range<u64>, window: &Range<u64>) {
        let inside_ns = span.end.min(window.end).saturating_sub(span.start.max(window.start));
        if inside_ns > 0 {
            self.parts += batch as f64 * inside_ns as f64 / (span.end - span.start) as f64;
        }
    }

    /// Adds another worker's count, which may come from another host: no sum wraps.
    pub fn merge(&mut self, other: Completed) {
        self.whole = self.whole.saturating_add(other.whole);
        self.parts += other.parts;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_transaction_counts_by_its_share_of_the_window() {
        let mut third = Completed::default();
        third.add_batch(1, &(120..300), &(0..180));
        assert!((third.total() - 1.0 / 3.0).abs() < 1e-12, "{third:?}");
        let mut longer = Completed::default();
        longer.add_batch(4, &(0..400), &(100..200));
        assert_eq!((longer.whole, longer.parts), (0, 1.0));
        let mut outside = Completed::default();
        outside.add_batch(1, &(0..100), &(100..200));
        outside.add_batch(1, &(200..250), &(100..200));
        assert_eq!(outside, Completed::default());
        outside.add_batch(1, &(150..150), &(100..200));
        assert_eq!(outside.whole, 1, "an operation that takes no time is inside or not");
    }

    proptest! {
        /// Spans that follow each other fill any window: clients × length / span, whatever its phase.
        #[test]
        fn equal_spans_in_a_row_count_the_same_at_any_phase(span in 1_000u64..1_000_000, phase in 0u64..1_000_000, length in 1_000u64..10_000_000) {
            let window = 2_000_000 + phase..2_000_000 + phase + length;
            let mut counted = Completed::default();
            let mut at = 0;
            while at < window.end {
                counted.add_batch(8, &(at..at + span), &window);
                at += span;
            }
            let expected = 8.0 * length as f64 / span as f64;
            prop_assert!((counted.total() / expected - 1.0).abs() < 1e-9, "{} of {expected}", counted.total());
        }
    }
}
