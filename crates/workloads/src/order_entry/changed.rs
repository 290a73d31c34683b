//! The rows that the server says it changed, compared with what the terminals say they entered. A rule, a trigger or something in
//! between that keeps a write from its row is found, and a transaction that counts as one of another kind.

use load::recorder::KindCounts;

use super::audit::{Audit, Count};
use super::committed::ENTERED;
use super::deck::Kind;
use super::tables::{DISTRICTS, LINES};

/// The most lines of an order.
const MOST_LINES: u64 = *LINES.end() as u64;
/// The fewest and the most rows of an order that is delivered: its row of new orders, itself, its customer, its lines.
const DELIVERED: [u64; 2] = [3 + *LINES.start() as u64, 3 + MOST_LINES];

/// The fewest and the most rows that the transactions of a kind which succeeded change.
fn expected_changed_rows(audit: &Audit<'_>, kind: Kind) -> (u64, u64) {
    match kind {
        // The district, the order, its row of new orders; of each line that is not the unused item, the stock and the line.
        Kind::NewOrder => {
            let rows = 3 * audit.succeeded_count(Count::NewOrders)
                + 2 * audit.succeeded_count(Count::Lines).saturating_sub(audit.succeeded_count(Count::RolledBack));
            (rows, rows)
        }
        // The warehouse, the district, the customer, the history; with bad credit the customer's data.
        Kind::Payment => {
            let rows = 4 * audit.succeeded_count(Count::Payments) + audit.succeeded_count(Count::BadCredit);
            (rows, rows)
        }
        Kind::Delivery => DELIVERED.map(|rows| rows * audit.succeeded_count(Count::DeliveredOrders)).into(),
        Kind::OrderStatus | Kind::StockLevel => (0, 0),
    }
}

/// The most rows that one transaction of a kind changes.
fn most_of_one(kind: Kind) -> u64 {
    match kind {
        Kind::NewOrder => 3 + 2 * MOST_LINES,
        Kind::Payment => 5,
        Kind::Delivery => DISTRICTS * DELIVERED[1],
        Kind::OrderStatus | Kind::StockLevel => 0,
    }
}

/// Describes the first kind of transaction whose tries or changed rows do not fit what was entered.
///
/// Tries that failed change rows, too, and so does one of each terminal that the end of the run cut off.
pub fn find_fault(audit: &Audit<'_>, kinds: &[KindCounts], terminals: u32) -> Option<String> {
    ENTERED.into_iter().find_map(|(kind, count)| {
        let counted = kinds.get(kind as usize)?;
        let (name, done) = (kind.name(), audit.succeeded_count(count));
        if counted.tries < done {
            return Some(format!("{done} {name} were entered, and {} are counted as such", counted.tries));
        }
        let (fewest, most) = expected_changed_rows(audit, kind);
        let most = most + (counted.tries - done + u64::from(terminals)) * most_of_one(kind);
        let changed = counted.rows?.changed;
        (!(fewest..=most).contains(&changed)).then(|| {
            format!(
                "rows that were changed: {done} {name} change {fewest} rows, the server says that it changed {changed}"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use load::lane::RowCounts;
    use load::stream::TransactionEnd;

    use super::super::audit::InputCounts;
    use super::super::tables::Size;
    use super::*;

    /// Ten new orders of 100 lines, one of them rolled back, and ten payments, one of a customer of bad credit.
    fn sums() -> Vec<u64> {
        let mut tally = InputCounts::default();
        for (count, times) in [
            (Count::NewOrders, 10),
            (Count::Lines, 100),
            (Count::RolledBack, 1),
            (Count::Payments, 10),
            (Count::BadCredit, 1),
        ] {
            tally.add_count(count, times);
        }
        let mut sums = Vec::new();
        tally.add_to(Size::for_warehouses(1), TransactionEnd::Succeeded, &[], &mut sums);
        sums
    }

    fn kinds(tries: [u64; 2], changed: [u64; 2]) -> Vec<KindCounts> {
        let counted = [Kind::NewOrder, Kind::Payment].into_iter().zip(tries.into_iter().zip(changed));
        let kinds = counted.map(|(kind, (tries, changed))| {
            let mut kind = KindCounts::new(kind.name().to_owned());
            kind.tries = tries;
            kind.rows = Some(RowCounts { returned: 0, changed });
            kind
        });
        kinds.collect()
    }

    #[test]
    fn writes_that_meet_no_row_and_kinds_of_others_are_found() {
        let sums = sums();
        let audit = Audit { sums: &sums, size: Size::for_warehouses(1) };
        assert_eq!(find_fault(&audit, &kinds([10, 10], [228, 41]), 0), None);
        assert_eq!(find_fault(&audit, &kinds([11, 10], [250, 41]), 0), None, "a try that failed changed some");
        assert_eq!(
            find_fault(&audit, &kinds([10, 10], [129, 41]), 0).unwrap(),
            "rows that were changed: 10 new-order change 228 rows, the server says that it changed 129"
        );
        assert!(find_fault(&audit, &kinds([10, 10], [228, 40]), 0).unwrap().contains("10 payment change 41 rows"));
        assert!(find_fault(&audit, &kinds([10, 10], [240, 41]), 0).is_some());
        assert_eq!(
            find_fault(&audit, &kinds([20, 0], [269, 0]), 0).unwrap(),
            "10 payment were entered, and 0 are counted as such"
        );
    }
}
