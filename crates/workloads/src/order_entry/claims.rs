//! The claims of the terminals: what they say they entered is compared with the rows that are there since the load.

use load::error::{Failure, FailureKind};
use load::run::ServerCounters;
use load::worker::LoadCounts;

use super::audit::{Audit, Count};
use super::deck::Kind;
use super::draw::name_mark_sql;
use super::tables::{DISTRICTS, Size};

/// Weighs where an order lies, and its customer or its number: the tables give the same sum over all orders.
pub fn order_place(warehouse: i64, district: i64, number: i64) -> u64 {
    (warehouse * 10_007 + district * 131 + number) as u64
}

/// Weighs where a payment was made, and where its customer lives: the tables give the same sum.
pub fn payment_place(warehouse: i64, district: i64, of_customer: (i64, i64)) -> u64 {
    (warehouse * 13 + district * 131 + of_customer.0 * 1_009 + of_customer.1 * 10_007) as u64
}

/// Orders since the load, found by their numbers within each district.
const NEW_ORDERS: &str =
    "FROM district d JOIN orders o ON o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id AND o.o_id > {loaded}";
const NEW_LINES: &str =
    "FROM district d JOIN order_line ol ON ol.ol_w_id = d.d_w_id AND ol.ol_d_id = d.d_id AND ol.ol_o_id > {loaded}";

/// A payment of this amount may be one of the load's.
pub const LOADED_CENTS: i64 = 1_000;
/// Payments above it, in cents, are above half of the largest one.
pub const LARGE_CENTS: i64 = 250_000;

/// What is claimed of rows.
#[derive(Clone, Copy)]
enum Bound {
    /// The rows are as many as was said.
    Equal,
    /// The rows are as many or more.
    Least,
}

/// A claim of the terminals, and the question that the tables answer.
struct Claim {
    what: &'static str,
    question: &'static str,
    bound: Bound,
    claimed: fn(&Audit<'_>) -> u64,
    /// The answer of tables that nothing has run on.
    loaded: fn(Size) -> u64,
    /// What a transaction that failed may have added unnoticed, and of which kind that is.
    in_doubt: (Kind, fn(Size) -> u64),
}

/// Gives 0, for claims of which the loaded tables have none.
fn zero(_: Size) -> u64 {
    0
}

/// Gives 1, for claims of which each failed transaction leaves one in doubt.
fn one(_: Size) -> u64 {
    1
}

/// Number of orders that are loaded.
fn first_orders(size: Size) -> u64 {
    size.district_count() * size.customers
}

/// Largest number of an order (clause 1.3.1).
const MOST_ORDERS: i64 = 10_000_000;
const MOST_LINES: u64 = 15;
const MOST_PIECES: u64 = 10 * MOST_LINES;

/// Number of claims.
pub const COUNT: usize = 17;

const CLAIMS: [Claim; COUNT] = [
    Claim {
        what: "orders",
        question: "SELECT count(*) FROM orders",
        bound: Bound::Equal,
        claimed: |audit| {
            audit.succeeded_count(Count::NewOrders).saturating_sub(audit.succeeded_count(Count::RolledBack))
        },
        loaded: first_orders,
        in_doubt: (Kind::NewOrder, one),
    },
    Claim {
        what: "payments",
        question: "SELECT count(*) FROM history",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::Payments),
        loaded: first_orders,
        in_doubt: (Kind::Payment, one),
    },
    Claim {
        what: "deliveries",
        question: "SELECT count(*) FROM orders WHERE o_carrier_id IS NOT NULL",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::DeliveredOrders),
        loaded: |size| size.district_count() * size.delivered_orders(),
        in_doubt: (Kind::Delivery, |_| DISTRICTS),
    },
    Claim {
        what: "places and customers of orders",
        question: "SELECT sum(1.0 * (10007 * o.o_w_id + 131 * o.o_d_id + o.o_c_id)) {new_orders}",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::OrderPlaces),
        loaded: zero,
        in_doubt: (Kind::NewOrder, |size| order_place(size.warehouses as i64, 10, size.customers as i64)),
    },
    Claim {
        what: "lines of orders",
        question: "SELECT count(*) {new_lines}",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::WrittenLines),
        loaded: zero,
        in_doubt: (Kind::NewOrder, |_| MOST_LINES),
    },
    Claim {
        what: "remote lines",
        question: "SELECT count(*) {new_lines} WHERE ol.ol_supply_w_id <> ol.ol_w_id",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::WrittenRemoteLines),
        loaded: zero,
        in_doubt: (Kind::NewOrder, |_| MOST_LINES),
    },
    Claim {
        what: "pieces of lines",
        question: "SELECT sum(1.0 * ol.ol_quantity) {new_lines}",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::WrittenPieces),
        loaded: zero,
        in_doubt: (Kind::NewOrder, |_| MOST_PIECES),
    },
    Claim {
        what: "items of lines, by the sum of their numbers",
        question: "SELECT sum(1.0 * ol.ol_i_id) {new_lines}",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::WrittenItems),
        loaded: zero,
        in_doubt: (Kind::NewOrder, |size| MOST_LINES * size.items),
    },
    Claim {
        what: "payments by a customer of another warehouse",
        question: "SELECT count(*) FROM history WHERE h_c_w_id <> h_w_id",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::RemotePayments),
        loaded: zero,
        in_doubt: (Kind::Payment, one),
    },
    Claim {
        what: "large payments",
        question: "SELECT count(*) FROM history WHERE h_amount > 2500.004",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::LargePayments),
        loaded: zero,
        in_doubt: (Kind::Payment, one),
    },
    Claim {
        what: "places of payments",
        question: "SELECT sum(1.0 * (13 * h_w_id + 131 * h_d_id + 1009 * h_c_w_id + 10007 * h_c_d_id)) FROM history",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::PaymentPlaces),
        loaded: |size| {
            let places = (0..size.district_count()).map(|place| (place / DISTRICTS + 1, place % DISTRICTS + 1));
            let all: u64 = places
                .map(|(warehouse, district)| {
                    let (warehouse, district) = (warehouse as i64, district as i64);
                    payment_place(warehouse, district, (warehouse, district))
                })
                .sum();
            all * size.customers
        },
        in_doubt: (Kind::Payment, |size| {
            let warehouse = size.warehouses as i64;
            payment_place(warehouse, 10, (warehouse, 10))
        }),
    },
    Claim {
        what: "customers who paid, by the sum of their numbers",
        question: "SELECT sum(1.0 * h_c_id) FROM history",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::PayerNumbers),
        loaded: |size| size.district_count() * size.customers * (size.customers + 1) / 2,
        in_doubt: (Kind::Payment, |size| size.customers),
    },
    Claim {
        what: "names of customers who paid",
        question: "SELECT sum(1.0 * {name}) FROM history h JOIN customer c ON c.c_w_id = h.h_c_w_id AND c.c_d_id = h.h_c_d_id \
                   AND c.c_id = h.h_c_id WHERE h.h_amount <> 10",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::PayerNames),
        loaded: zero,
        in_doubt: (Kind::Payment, |_| 99),
    },
    Claim {
        what: "payments by the customer in the middle of those of a name",
        question: "SELECT count(*) FROM history h JOIN customer c ON c.c_w_id = h.h_c_w_id AND c.c_d_id = h.h_c_d_id \
                   AND c.c_id = h.h_c_id WHERE h.h_amount <> 10 AND (SELECT \
                   CASE WHEN 2 * sum(CASE WHEN b.c_first < c.c_first THEN 1 ELSE 0 END) < count(*) \
                   AND 2 * sum(CASE WHEN b.c_first <= c.c_first THEN 1 ELSE 0 END) >= count(*) THEN 1 ELSE 0 END \
                   FROM customer b WHERE b.c_w_id = c.c_w_id AND b.c_d_id = c.c_d_id AND b.c_last = c.c_last) = 1",
        bound: Bound::Least,
        claimed: |audit| audit.succeeded_count(Count::MiddlePayments),
        loaded: zero,
        in_doubt: (Kind::Payment, one),
    },
    Claim {
        what: "payments of customers of bad credit",
        question: "SELECT count(*) FROM history h JOIN customer c ON c.c_w_id = h.h_c_w_id AND c.c_d_id = h.h_c_d_id \
                   AND c.c_id = h.h_c_id WHERE h.h_amount <> 10 AND c.c_credit = 'BC'",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::NotedPayments),
        loaded: zero,
        in_doubt: (Kind::Payment, one),
    },
    Claim {
        what: "carriers of deliveries, by the sum of their numbers",
        question: "SELECT sum(1.0 * o.o_carrier_id) FROM district d JOIN orders o ON o.o_w_id = d.d_w_id AND o.o_d_id = d.d_id \
                   AND o.o_id > {delivered}",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::Carriers),
        loaded: zero,
        in_doubt: (Kind::Delivery, |_| 10 * DISTRICTS),
    },
    Claim {
        what: "places and numbers of delivered orders",
        question: "SELECT sum(1.0 * (10007 * o.o_w_id + 131 * o.o_d_id + o.o_id)) FROM district d JOIN orders o ON o.o_w_id = d.d_w_id \
                   AND o.o_d_id = d.d_id AND o.o_id > {delivered} WHERE o.o_carrier_id IS NOT NULL",
        bound: Bound::Equal,
        claimed: |audit| audit.succeeded_count(Count::DeliveredPlaces),
        loaded: zero,
        in_doubt: (Kind::Delivery, |size| DISTRICTS * order_place(size.warehouses as i64, 10, MOST_ORDERS)),
    },
];

impl Claim {
    /// SQL of the claim's question, with the numbers of this size.
    fn question_for(&self, size: Size) -> String {
        let question = self.question.replace("{new_orders}", NEW_ORDERS).replace("{new_lines}", NEW_LINES);
        let question = question.replace("{name}", &name_mark_sql("c.c_last"));
        question
            .replace("{loaded}", &size.customers.to_string())
            .replace("{delivered}", &size.delivered_orders().to_string())
    }
}

/// SQL of all claims' questions, whose answers grow as transactions run.
pub fn growing_questions(size: Size) -> Vec<String> {
    CLAIMS.iter().map(|claim| claim.question_for(size)).collect()
}

/// Fails unless the tables bear out all that the terminals claim to have entered.
///
/// # Errors
/// [`FailureKind::Verification`], with the first claim that the tables do not bear out.
pub fn check_claims(server: &dyn ServerCounters, audit: &Audit<'_>, counts: &LoadCounts) -> Result<(), Failure> {
    let answers = server.scalars(&growing_questions(audit.size))?;
    for (claim, rows) in CLAIMS.iter().zip(answers) {
        let (kind, of_each) = claim.in_doubt;
        // Before the measured part failures of one kind are not distinguished from others'.
        let of_kind = counts.kinds.get(kind as usize).map_or(0, |kind| kind.failed);
        let failed = of_kind.max(counts.failures() * u64::from(counts.failures() > counts.failed_in_window));
        let (claimed, in_doubt) = ((claim.claimed)(audit), of_each(audit.size) * failed);
        let new = rows - (claim.loaded)(audit.size) as i64;
        let (least, most) = match claim.bound {
            Bound::Equal => (claimed as i64, (claimed + in_doubt) as i64),
            Bound::Least => (claimed as i64, i64::MAX),
        };
        if !(least..=most).contains(&new) {
            let but = match claim.bound {
                Bound::Equal => "",
                Bound::Least => " at least",
            };
            let cause = format!(
                "{}: the terminals entered {claimed}{but}, and the tables have {new} since the load",
                claim.what
            );
            return Err(Failure::new(FailureKind::Verification, "trust the run's counts", cause));
        }
    }
    Ok(())
}
