//! The interval order: what had ended before a statement began in the capture ends before it begins in the replay. What overlapped
//! stays free.

use std::collections::BTreeSet;

/// Executions that have begun, by when they ended in the capture.
#[derive(Debug, Default)]
pub struct IntervalOrder {
    /// The end, and the execution's number.
    under_way: BTreeSet<(i64, u64)>,
}

impl IntervalOrder {
    /// Takes the number of an execution that must end before one that began at `start_us` begins; `None` if there are no more.
    ///
    /// Each is given once. It was added before, so that no two wait for each other.
    pub fn next_before(&mut self, start_us: i64) -> Option<u64> {
        let (end_us, _) = *self.under_way.first()?;
        if end_us <= start_us { self.under_way.pop_first().map(|(_, number)| number) } else { None }
    }

    /// Adds an execution that begins now, by when it ended in the capture.
    ///
    /// One whose end the log does not have is waited for in its session alone.
    pub fn add(&mut self, number: u64, start_us: i64, duration_us: Option<u64>) {
        if let Some(duration_us) = duration_us {
            self.under_way.insert((start_us.saturating_add_unsigned(duration_us), number));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_waits_for_what_had_ended_and_was_sent_before(
            mut all in prop::collection::vec((0_i64..200, prop::option::of(0_u64..50)), 0..60),
        ) {
            all.sort_by_key(|(start_us, _)| *start_us);
            let mut order = IntervalOrder::default();
            let mut ended = BTreeSet::new();
            for (number, (start_us, duration_us)) in all.iter().enumerate() {
                while let Some(before) = order.next_before(*start_us) {
                    prop_assert!(before < number as u64 && ended.insert(before));
                }
                let had_ended = all[..number].iter().enumerate().filter(|(_, (start, duration))| {
                    duration.is_some_and(|duration| start + duration.cast_signed() <= *start_us)
                });
                prop_assert!(ended.iter().copied().eq(had_ended.map(|(before, _)| before as u64)));
                order.add(number as u64, *start_us, *duration_us);
            }
        }
    }
}
