//! The mix of what was entered and of what committed, compared with the specification's shares (clause 5.2.3) or with a mix of
//! the plan's own. A deck with other cards is found, and failures, too: a card whose transaction fails costs less than one that does its work, so that a terminal that fails at
//! Delivery would enter more orders.

use load::error::{Failure, FailureKind};
use load::recorder::KindCounts;
use load::worker::LoadCounts;

use super::Mix;
use super::audit::{Audit, BEYOND_CHANCE, Count, chance_bound};
use super::deck::{Cards, Kind, MOST_NEW_ORDERS, most_new_orders_a_minute};

/// Fails unless what was entered and what committed has the mix that the specification or the plan asks for.
///
/// # Errors
/// [`FailureKind::Verification`], with what failed first.
pub fn check_mix(audit: &Audit<'_>, counts: &LoadCounts, mix: Mix) -> Result<(), Failure> {
    let fault = match mix {
        Mix::Specification => entered_fault(audit)
            .or_else(|| audit.find_undelivered())
            .or_else(|| find_unbalanced(&counts.kinds))
            .or_else(|| failed_orders(&counts.kinds)),
        Mix::Own(cards) => own_mix_fault(audit, cards),
    };
    let Some(fault) = fault else { return Ok(()) };
    let first = counts.messages.first().map(|error| format!(", first with \"{}\"", error.message));
    let cause = format!("{fault}{}", first.unwrap_or_default());
    let refused = Failure::new(FailureKind::Verification, "trust the mix of what committed", cause);
    if counts.messages.iter().any(|error| error.class.is_contention()) {
        Err(refused.with_hint(
            "transactions that lose against others are tried again: write a larger `max_tries` in the benchmark, or 0, which \
             is until they succeed",
        ))
    } else {
        Err(refused)
    }
}

/// Standard deviations, of counts that come one by one, that chance does not explain.
const HASTE_DEVIATIONS: f64 = 5.0;

/// Describes more new orders than terminals that key and think can enter; `None` if there are not.
///
/// What waited for its answer when the measured part began, one transaction of each terminal, may end in it besides.
pub fn find_haste(kinds: &[KindCounts], window_min: f64, cards: Cards, terminals: u32) -> Option<String> {
    let entered = kinds.get(Kind::NewOrder as usize)?.in_window as f64;
    let most = most_new_orders_a_minute(cards) * f64::from(terminals) * window_min;
    (entered > most + HASTE_DEVIATIONS * most.sqrt() + f64::from(terminals)).then(|| {
        format!(
            "{entered:.0} new orders were entered in {:.0} s, where {terminals} terminals that key and think enter {most:.0}",
            60.0 * window_min
        )
    })
}

/// The kinds of transactions, and what is counted of each.
pub const ENTERED: [(Kind, Count); 5] = [
    (Kind::NewOrder, Count::NewOrders),
    (Kind::Payment, Count::Payments),
    (Kind::OrderStatus, Count::OrderStatuses),
    (Kind::Delivery, Count::Deliveries),
    (Kind::StockLevel, Count::StockLevels),
];

/// Describes the first kind whose share of what was entered is not that of the plan's own mix.
fn own_mix_fault(audit: &Audit<'_>, cards: Cards) -> Option<String> {
    let all: u64 = ENTERED.iter().map(|(_, count)| audit.entered_count(*count)).sum();
    let of_deck = cards.iter().sum::<usize>().max(1) as f64;
    ENTERED.into_iter().zip(cards).find_map(|((kind, count), cards)| {
        let (share, planned) = (audit.entered_count(count) as f64 / all.max(1) as f64, cards as f64 / of_deck);
        (chance_bound(all as f64, share, planned) < BEYOND_CHANCE).then(|| {
            format!(
                "{:.2} % of the {all} transactions that were entered are {}, where the plan's own mix has {:.2} %",
                100.0 * share,
                kind.name(),
                100.0 * planned
            )
        })
    })
}

/// Describes the first kind whose share of what was entered the specification does not allow.
///
/// Terminals draw from decks, whose shares vary less than those of independent draws: what chance explains here is
/// more than what it does.
fn entered_fault(audit: &Audit<'_>) -> Option<String> {
    let all: u64 = ENTERED.iter().map(|(_, count)| audit.entered_count(*count)).sum();
    ENTERED.into_iter().find_map(|(kind, count)| {
        let share = audit.entered_count(count) as f64 / all.max(1) as f64;
        let (limit, bound, is_beyond) = match kind {
            Kind::NewOrder => (MOST_NEW_ORDERS, "at most", share > MOST_NEW_ORDERS),
            _ => (kind.least_share(), "at least", share < kind.least_share()),
        };
        (is_beyond && chance_bound(all as f64, share, limit) < BEYOND_CHANCE).then(|| {
            format!(
                "{:.2} % of the {all} transactions that were entered are {}, where the specification has {bound} {:.0} %",
                100.0 * share,
                kind.name(),
                100.0 * limit
            )
        })
    })
}

/// Describes New-Orders of which more failed than committed; `None` if they did not.
///
/// The specification has no least share of them, and a run that enters few says little of its system.
fn failed_orders(kinds: &[KindCounts]) -> Option<String> {
    let orders = kinds.get(Kind::NewOrder as usize)?;
    (orders.failed > orders.in_window && orders.failed >= MOST_FAILED_ORDERS)
        .then(|| format!("{} new-order failed, and {} committed in the measured part", orders.failed, orders.in_window))
}

/// Fewer that fail are left to `failed_share`.
const MOST_FAILED_ORDERS: u64 = 20;

/// Describes the first kind that committed too rarely because its transactions failed.
///
/// A share that is small for another reason, as in a short run that cuts slow transactions off, is no fault.
fn find_unbalanced(kinds: &[KindCounts]) -> Option<String> {
    let committed: u64 = kinds.iter().map(|counted| counted.in_window).sum();
    Kind::ALL.into_iter().find_map(|kind| {
        let counted = kinds.get(kind as usize)?;
        let (share, least) = (counted.in_window as f64 / committed.max(1) as f64, kind.least_share());
        let missing = least * (committed + counted.failed) as f64 - counted.in_window as f64;
        let is_too_small = share < least && chance_bound(committed as f64, share, least) < BEYOND_CHANCE;
        let is_by_failures = counted.failed as f64 > missing / 2.0;
        (is_too_small && is_by_failures).then(|| {
            format!(
                "of the {committed} transactions that committed in the measured part {:.2} % were {}, where the specification \
                 has at least {:.0} %: {} of this kind failed",
                100.0 * share,
                kind.name(),
                100.0 * least,
                counted.failed
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::rules::Rules;
    use super::*;

    /// Counts of 23,000 cards, in which that many deliveries and payments failed.
    fn counts(deliveries_failed: u64, payments_failed: u64) -> Vec<KindCounts> {
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
        assert_eq!(find_unbalanced(&counts(0, 0)), None);
        assert_eq!(find_unbalanced(&counts(20, 100)), None, "a few failures are in `failed_share`");
        let said = find_unbalanced(&counts(1_000, 0)).unwrap();
        assert!(said.starts_with("of the 22000 transactions that committed"), "{said}");
        assert!(
            said.contains(" 0.00 % were delivery, where the specification has at least 4 %")
                && said.contains(": 1000 of"),
            "{said}"
        );
        assert!(find_unbalanced(&counts(500, 0)).is_some());
        let mut orders = counts(0, 0);
        assert_eq!(failed_orders(&orders), None);
        (orders[0].in_window, orders[0].failed) = (10, 9_990);
        assert_eq!(find_unbalanced(&orders), None, "there is no least share of them");
        assert!(failed_orders(&orders).unwrap().starts_with("9990 new-order failed, and 10 committed"));
        assert!(find_unbalanced(&counts(0, 3_000)).unwrap().contains("were payment"));
    }

    #[test]
    fn terminals_that_do_not_wait_are_found_by_their_orders() {
        let cards = Rules::SPECIFICATION.cards;
        // 20 terminals enter some 25 orders a minute.
        assert_eq!(find_haste(&counts(0, 0), 10_000.0 / 25.0, cards, 20), None);
        assert_eq!(find_haste(&counts(0, 0), 9_700.0 / 25.0, cards, 20), None, "by chance");
        assert!(
            find_haste(&counts(0, 0), 9_000.0 / 25.0, cards, 20)
                .unwrap()
                .starts_with("10000 new orders were entered in 21600 s")
        );
    }

    #[test]
    fn a_mix_of_ones_own_is_compared_with_its_own_shares() {
        use super::super::audit::InputCounts;
        use super::super::tables::Size;
        let mut tally = InputCounts::default();
        tally.add_count(Count::NewOrders, 5_000);
        tally.add_count(Count::Payments, 5_000);
        let mut sums = Vec::new();
        tally.add_to(Size::for_warehouses(1), load::stream::TransactionEnd::Succeeded, &[], &mut sums);
        let audit = Audit { sums: &sums, size: Size::for_warehouses(1) };
        assert_eq!(own_mix_fault(&audit, [1, 1, 0, 0, 0]), None);
        let fault = own_mix_fault(&audit, [60, 40, 0, 0, 0]).unwrap();
        assert!(fault.contains("are new-order, where the plan's own mix has 60.00 %"), "{fault}");
        assert!(own_mix_fault(&audit, [1, 1, 1, 0, 0]).is_some());
    }

    #[test]
    fn what_chance_or_the_run_s_end_took_is_no_fault() {
        let mut few = counts(0, 0);
        few.iter_mut().for_each(|kind| kind.in_window /= 500);
        (few[3].in_window, few[3].failed) = (0, 2);
        assert_eq!(find_unbalanced(&few), None, "two of 46 by chance");
        let mut cut_off = counts(0, 0);
        (cut_off[3].in_window, cut_off[3].failed) = (500, 3);
        assert_eq!(find_unbalanced(&cut_off), None);
        assert_eq!(find_unbalanced(&[]), None);
    }
}
