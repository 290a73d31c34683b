//! The mix of what committed (clause 5.2.3). Each deck has the right cards, but a card whose transaction fails costs less than
//! one that does its work: who fails at Delivery would enter more orders.

use load::error::{Failure, FailureKind};
use load::recorder::KindCounts;
use load::worker::LoadCounts;

use super::audit::{BEYOND_CHANCE, most_chance};
use super::deck::Kind;

/// # Errors
/// [`FailureKind::Verification`], with what failed first.
pub fn refuse_other_mix(counts: &LoadCounts) -> Result<(), Failure> {
    let Some(fault) = fault(&counts.kinds) else { return Ok(()) };
    let first = counts.messages.first().map(|error| format!(", first with \"{}\"", error.message));
    let cause = format!("{fault}{}", first.unwrap_or_default());
    let refused = Failure::new(FailureKind::Verification, "trust the mix of what committed", cause);
    match counts.messages.iter().any(|error| error.class.is_contention()) {
        true => Err(refused.hint(
            "transactions that lose against others are tried again: write a larger `max_tries` in the benchmark, or 0, which \
             is until they succeed",
        )),
        false => Err(refused),
    }
}

/// What chance does not explain, where failures do: the share of a kind is less than the specification asks for. A share that is
/// small for another reason, as in a short run that cuts slow ones off, is no fault.
fn fault(kinds: &[KindCounts]) -> Option<String> {
    let committed: u64 = kinds.iter().map(|counted| counted.in_window).sum();
    Kind::ALL.into_iter().find_map(|kind| {
        let counted = kinds.get(kind as usize)?;
        let (share, drawn) = (counted.in_window as f64 / committed.max(1) as f64, kind.drawn_share());
        let missing = drawn * (committed + counted.failed) as f64 - counted.in_window as f64;
        let is_too_small = share < kind.least_share() && most_chance(committed as f64, share, drawn) < BEYOND_CHANCE;
        let is_by_failures = counted.failed as f64 > missing / 2.0;
        (is_too_small && is_by_failures).then(|| {
            format!(
                "of the {committed} transactions that committed in the measured part {:.2} % were {}, where {:.2} % are \
                 drawn and the specification asks for {:.0} % at least: {} of this kind failed",
                100.0 * share,
                kind.name(),
                100.0 * drawn,
                100.0 * kind.least_share(),
                counted.failed
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of 23,000 cards, with so many deliveries and payments that failed.
    fn of(deliveries_failed: u64, payments_failed: u64) -> Vec<KindCounts> {
        let kinds = Kind::ALL.into_iter().zip([10_000, 10_000, 1_000, 1_000, 1_000]);
        let counted = kinds.map(|(kind, cards)| {
            let failed = match kind {
                Kind::Delivery => deliveries_failed,
                Kind::Payment => payments_failed,
                _ => 0,
            };
            KindCounts { in_window: cards - failed, failed, ..KindCounts::new(kind.name().to_owned()) }
        });
        counted.collect()
    }

    #[test]
    fn kinds_that_fail_are_missed_in_what_committed() {
        assert_eq!(fault(&of(0, 0)), None);
        assert_eq!(fault(&of(20, 100)), None, "a few failures are in `failed_share`");
        let said = fault(&of(1_000, 0)).unwrap();
        assert!(said.starts_with("of the 22000 transactions that committed"), "{said}");
        assert!(said.contains(" 0.00 % were delivery, where 4.35 % are drawn") && said.contains(": 1000 of"), "{said}");
        assert!(fault(&of(500, 0)).is_some());
        assert!(fault(&of(0, 3_000)).unwrap().contains("were payment"));
    }

    #[test]
    fn what_chance_or_the_run_s_end_took_is_no_fault() {
        let mut few = of(0, 0);
        few.iter_mut().for_each(|kind| kind.in_window /= 500);
        (few[3].in_window, few[3].failed) = (0, 2);
        assert_eq!(fault(&few), None, "two of 46 by chance");
        let mut cut_off = of(0, 0);
        (cut_off[3].in_window, cut_off[3].failed) = (500, 3);
        assert_eq!(fault(&cut_off), None);
        assert_eq!(fault(&[]), None);
    }
}
