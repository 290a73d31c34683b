//! The specification's consistency conditions (clause 3.3.2), asked of the server, and some of étalon's own.

use load::error::{Failure, FailureKind};
use load::run::ServerCounters;

use super::draw::{Constants, NAMES, last_name};
use super::loaded;
use super::rules::Rules;
use super::tables::{self, Size};

/// Money is compared in cents: engines without decimals sum it in binary.
const SAME_CENT: &str = "0.004";

/// What a failure says was tried.
const CHECKED: &str = "hold the tables against the conditions";

/// What must hold of the tables, whatever ran.
pub struct Condition {
    /// The clause's, or the name of one of étalon's own.
    pub name: &'static str,
    pub says: &'static str,
    /// From `FROM` on: the rows of which it does not hold.
    pub broken: String,
    /// The columns that name the row's warehouse and district, 0 where it is of a whole warehouse, or of all.
    pub place: (&'static str, &'static str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Those that go through each table once at most.
    Quick,
    /// Those that read every order, too.
    All,
    /// All but the quick ones.
    Rest,
    /// The conditions that are true of freshly loaded tables only.
    Loaded,
}

/// Conditions that one reading of the tables checks together: where it finds no row, all of them are met.
struct Pass {
    /// From `FROM` on: the rows of which any of them does not hold.
    broken: String,
    conditions: Vec<Condition>,
}

impl From<Condition> for Pass {
    /// Makes a pass of one condition.
    fn from(condition: Condition) -> Pass {
        Pass { broken: condition.broken.clone(), conditions: vec![condition] }
    }
}

/// SQL subquery of a table's rows grouped by district, with these columns.
fn by_district(table: &str, prefix: &str, columns: &str) -> String {
    format!(
        "(SELECT {prefix}_w_id, {prefix}_d_id, {columns} FROM {table} GROUP BY {prefix}_w_id, {prefix}_d_id) {prefix}"
    )
}

/// SQL that joins a table's rows by district to their district `d`.
fn join_district(prefix: &str) -> String {
    format!("{prefix}.{prefix}_w_id = d.d_w_id AND {prefix}.{prefix}_d_id = d.d_id")
}

/// Conditions 1, 8 and 9: payments of warehouses, districts and history agree.
fn payment_conditions() -> Vec<Condition> {
    vec![
        Condition {
            name: "1",
            says: "a warehouse's payments are those of its districts",
            broken: format!(
                "FROM warehouse w LEFT JOIN (SELECT d_w_id, sum(d_ytd) AS paid FROM district GROUP BY d_w_id) d \
                 ON d.d_w_id = w.w_id WHERE abs(w.w_ytd - coalesce(d.paid, 0)) > {SAME_CENT}"
            ),
            place: ("w.w_id", "0"),
        },
        Condition {
            name: "8",
            says: "a warehouse's payments are those of the history",
            broken: format!(
                "FROM warehouse w LEFT JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) h \
                 ON h.h_w_id = w.w_id WHERE abs(w.w_ytd - coalesce(h.paid, 0)) > {SAME_CENT}"
            ),
            place: ("w.w_id", "0"),
        },
        Condition {
            name: "9",
            says: "a district's payments are those of the history",
            broken: format!(
                "FROM district d LEFT JOIN {} ON {} WHERE abs(d.d_ytd - coalesce(h.paid, 0)) > {SAME_CENT}",
                by_district("history", "h", "sum(h_amount) AS paid"),
                join_district("h"),
            ),
            place: ("d.d_w_id", "d.d_id"),
        },
    ]
}

/// Conditions 2 to 4: numbers of orders, new orders and lines of a district agree.
fn order_number_conditions() -> Vec<Condition> {
    let (orders, news, lines) = (join_district("o"), join_district("no"), join_district("ol"));
    vec![
        Condition {
            name: "2",
            says: "a district's next order follows its last one, which is its last new order",
            broken: format!(
                "FROM district d LEFT JOIN {} ON {orders} LEFT JOIN {} ON {news} \
                 WHERE d.d_next_o_id - 1 <> coalesce(o.last_order, 0) OR no.last_new <> o.last_order",
                by_district("orders", "o", "max(o_id) AS last_order"),
                by_district("new_order", "no", "max(no_o_id) AS last_new"),
            ),
            place: ("d.d_w_id", "d.d_id"),
        },
        Condition {
            name: "3",
            says: "a district's new orders are numbered without a gap",
            broken: format!(
                "FROM {} WHERE no.last_new - no.first_new + 1 <> no.rows_new",
                by_district(
                    "new_order",
                    "no",
                    "min(no_o_id) AS first_new, max(no_o_id) AS last_new, count(*) AS rows_new"
                )
            ),
            place: ("no.no_w_id", "no.no_d_id"),
        },
        Condition {
            name: "4",
            says: "a district's orders have as many lines as they say",
            broken: format!(
                "FROM district d LEFT JOIN {} ON {orders} LEFT JOIN {} ON {lines} \
                 WHERE coalesce(o.said, 0) <> coalesce(ol.counted, 0)",
                by_district("orders", "o", "sum(o_ol_cnt) AS said"),
                by_district("order_line", "ol", "count(*) AS counted"),
            ),
            place: ("d.d_w_id", "d.d_id"),
        },
    ]
}

/// Conditions 5 to 7 and one of étalon's own on each order: its carrier, its lines and their origin.
///
/// What was delivered when the tables were loaded is read then only: no transaction changes it.
fn order_conditions() -> Vec<Condition> {
    let order = ("o.o_w_id", "o.o_d_id");
    vec![
        Condition {
            name: "5",
            says: "an order without a carrier is a new order, and no other is",
            broken: format!(
                "FROM orders o LEFT JOIN new_order no ON {} WHERE o.o_id > {{since}} \
                 AND ((o.o_carrier_id IS NULL AND no.no_o_id IS NULL) \
                 OR (o.o_carrier_id IS NOT NULL AND no.no_o_id IS NOT NULL))",
                join_order("no")
            ),
            place: order,
        },
        Condition {
            name: "6",
            says: "an order has as many lines as it says",
            broken: format!(
                "FROM orders o LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS counted FROM order_line \
                 WHERE ol_o_id > {{since}} GROUP BY ol_w_id, ol_d_id, ol_o_id) ol ON {} \
                 WHERE o.o_id > {{since}} AND o.o_ol_cnt <> coalesce(ol.counted, 0)",
                join_order("ol")
            ),
            place: order,
        },
        Condition {
            name: "7",
            says: "a line is delivered if its order has a carrier, and only then",
            broken: format!(
                "FROM order_line ol JOIN orders o ON {} WHERE o.o_id > {{since}} \
                 AND ((ol.ol_delivery_d IS NULL AND o.o_carrier_id IS NOT NULL) \
                 OR (ol.ol_delivery_d IS NOT NULL AND o.o_carrier_id IS NULL))",
                join_order("ol")
            ),
            place: order,
        },
        Condition {
            name: "of origins",
            says: "an order since the load is all local if no line of it is from another warehouse, and only then",
            broken: "FROM orders o JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, max(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) \
                     AS is_remote FROM order_line WHERE ol_o_id > {loaded} GROUP BY ol_w_id, ol_d_id, ol_o_id) ol \
                     ON ol.ol_w_id = o.o_w_id AND ol.ol_d_id = o.o_d_id AND ol.ol_o_id = o.o_id \
                     WHERE o.o_all_local + ol.is_remote <> 1"
                .to_owned(),
            place: order,
        },
    ]
}

/// SQL that joins a table to its order `o`.
fn join_order(other: &str) -> String {
    format!("{other}.{other}_w_id = o.o_w_id AND {other}.{other}_d_id = o.o_d_id AND {other}.{other}_o_id = o.o_id")
}

/// SQL that joins `columns` over a customer's orders, with their lines `ol` and new order `no`, to the customer `c`.
fn join_bought(columns: &str) -> String {
    format!(
        "(SELECT o.o_w_id, o.o_d_id, o.o_c_id, {columns} FROM orders o LEFT JOIN \
         (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS counted, count(ol_delivery_d) AS delivered, \
         max(CASE WHEN ol_supply_w_id <> ol_w_id THEN 1 ELSE 0 END) AS is_remote, \
         sum(CASE WHEN ol_delivery_d IS NOT NULL THEN ol_amount ELSE 0 END) AS amount FROM order_line \
         WHERE ol_o_id > {{since}} GROUP BY ol_w_id, ol_d_id, ol_o_id) ol ON {} \
         LEFT JOIN new_order no ON {} WHERE o.o_id > {{since}} GROUP BY o.o_w_id, o.o_d_id, o.o_c_id) b \
         ON b.o_w_id = c.c_w_id AND b.o_d_id = c.c_d_id AND b.o_c_id = c.c_id",
        join_order("ol"),
        join_order("no"),
    )
}

/// What a customer's delivered orders come to.
const AMOUNT: &str = "sum(coalesce(ol.amount, 0)) AS bought";
const DELIVERIES: &str =
    "sum(CASE WHEN o.o_id > {delivered} AND o.o_carrier_id IS NOT NULL THEN 1 ELSE 0 END) AS deliveries";
/// The orders that break one of the conditions of orders.
const BROKEN: &str = "sum(CASE WHEN o.o_ol_cnt <> coalesce(ol.counted, 0) \
                      OR (o.o_carrier_id IS NULL AND (no.no_o_id IS NULL OR ol.delivered > 0)) \
                      OR (o.o_carrier_id IS NOT NULL AND (no.no_o_id IS NOT NULL OR ol.delivered < ol.counted)) \
                      OR (o.o_id > {loaded} AND o.o_all_local + ol.is_remote <> 1) THEN 1 ELSE 0 END) AS broken";

/// What each customer has paid.
const PAID: &str = "(SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid, count(*) AS payments FROM history \
                    GROUP BY h_c_w_id, h_c_d_id, h_c_id) h ON h.h_c_w_id = c.c_w_id AND h.h_c_d_id = c.c_d_id \
                    AND h.h_c_id = c.c_id";

/// The pass that checks orders and customers together, reading each line once instead of five times.
fn orders_and_customers_pass() -> Pass {
    let customer = ("c.c_w_id", "c.c_d_id");
    let owes = format!("abs(c.c_balance - coalesce(b.bought, 0) + coalesce(h.paid, 0)) > {SAME_CENT}");
    let has_paid = format!("abs(c.c_balance + c.c_ytd_payment - coalesce(b.bought, 0)) > {SAME_CENT}");
    let has_counted =
        "c.c_payment_cnt <> coalesce(h.payments, 0) OR c.c_delivery_cnt <> coalesce(b.deliveries, 0)".to_owned();
    let mut conditions = order_conditions();
    conditions.extend([
        Condition {
            name: "10",
            says: "a customer owes what was delivered less what was paid",
            broken: format!("FROM customer c LEFT JOIN {} LEFT JOIN {PAID} WHERE {owes}", join_bought(AMOUNT)),
            place: customer,
        },
        Condition {
            name: "12",
            says: "what a customer owes and has paid is what was delivered",
            broken: format!("FROM customer c LEFT JOIN {} WHERE {has_paid}", join_bought(AMOUNT)),
            place: customer,
        },
        Condition {
            name: "of counts",
            says: "a customer has counted each payment, and each delivery since the load",
            broken: format!(
                "FROM customer c LEFT JOIN {} LEFT JOIN {PAID} WHERE {has_counted}",
                join_bought(DELIVERIES)
            ),
            place: customer,
        },
    ]);
    let broken = format!(
        "FROM customer c LEFT JOIN {} LEFT JOIN {PAID} WHERE b.broken > 0 OR {owes} OR {has_paid} OR {has_counted}",
        join_bought(&[AMOUNT, DELIVERIES, BROKEN].join(", "))
    );
    Pass { broken, conditions }
}

/// Étalon's own condition that each order is of a customer of its district.
fn buyers_condition() -> Condition {
    Condition {
        name: "of buyers",
        says: "an order is of a customer of its district",
        broken:
            "FROM orders o LEFT JOIN customer c ON c.c_w_id = o.o_w_id AND c.c_d_id = o.o_d_id AND c.c_id = o.o_c_id \
                 WHERE c.c_id IS NULL"
                .to_owned(),
        place: ("o.o_w_id", "o.o_d_id"),
    }
}

/// The lines since the load by the warehouse that supplies them.
const SUPPLIED: &str = "(SELECT ol_supply_w_id, count(*) AS ordered, sum(ol_quantity) AS quantity, \
                        sum(CASE WHEN ol_w_id <> ol_supply_w_id THEN 1 ELSE 0 END) AS by_others, \
                        sum(1.0 * ol_i_id) AS items FROM district JOIN order_line \
                        ON ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id > {loaded} GROUP BY ol_supply_w_id) ol \
                        ON ol.ol_supply_w_id = s.s_w_id";
/// The sum of the numbers checks which items are counted; they are multiplied as decimals, since engines sum whole numbers in
/// 32 bits.
const TAKEN: &str = "sum(s_order_cnt) AS taken, sum(s_ytd) AS pieces, sum(s_remote_cnt) AS remote, \
                     sum(CASE WHEN s_order_cnt = 0 THEN 0 ELSE 1.0 * s_order_cnt * s_i_id END) AS items";
const NOT_SUPPLIED: &str = "s.taken <> coalesce(ol.ordered, 0) OR s.pieces <> coalesce(ol.quantity, 0) \
                            OR s.remote <> coalesce(ol.by_others, 0) OR s.items <> coalesce(ol.items, 0)";

/// The pass that reads the stock once, with its conditions.
fn stock_pass() -> Pass {
    let conditions = vec![
        Condition {
            name: "of stock",
            says: "a warehouse's stock of each item was taken from once, in full, and as by a remote order if it was one, for each \
                   line since the load",
            broken: format!(
                "FROM (SELECT s_w_id, {TAKEN} FROM stock GROUP BY s_w_id) s LEFT JOIN {SUPPLIED} WHERE {NOT_SUPPLIED}"
            ),
            place: ("s.s_w_id", "0"),
        },
        Condition {
            name: "of quantities",
            says: "of each item 10 to 100 are on stock, which are those of the load less those taken, by 91 refilled at a time",
            broken: "FROM (SELECT min(s_quantity) AS least, max(s_quantity) AS most, sum(1.0 * s_quantity + s_ytd) AS pieces, \
                     sum((1.0 * s_quantity + s_ytd) * (s_i_id % 90 + 1)) AS weighed FROM stock) s \
                     WHERE s.least < 10 OR s.most > 100 OR (s.pieces - {pieces}) % 91 <> 0 OR (s.weighed - {weighed}) % 91 <> 0"
                .to_owned(),
            place: ("0", "0"),
        },
    ];
    let broken = format!(
        "FROM (SELECT min(s.least) AS least, max(s.most) AS most, sum(1.0 * s.pieces + s.quantity) AS pieces, \
         sum(1.0 * s.weighed) AS weighed, sum(CASE WHEN {NOT_SUPPLIED} THEN 1 ELSE 0 END) AS wrong \
         FROM (SELECT s_w_id, min(s_quantity) AS least, max(s_quantity) AS most, sum(s_quantity) AS quantity, \
         sum((s_quantity + s_ytd) * (s_i_id % 90 + 1) % 91) AS weighed, {TAKEN} FROM stock GROUP BY s_w_id) s \
         LEFT JOIN {SUPPLIED}) a WHERE a.wrong > 0 OR a.least < 10 OR a.most > 100 \
         OR (a.pieces - {{pieces}}) % 91 <> 0 OR a.weighed % 91 <> {{weighed}} % 91"
    );
    Pass { broken, conditions }
}

/// Étalon's own condition that a line costs its item's price for each piece.
fn amounts_condition() -> Condition {
    Condition {
        name: "of amounts",
        says: "a line since the load costs its item's price for each piece",
        broken: format!(
            "FROM district JOIN order_line ol ON ol.ol_w_id = d_w_id AND ol.ol_d_id = d_id \
             AND ol.ol_o_id > {{loaded}} JOIN item i ON i.i_id = ol.ol_i_id \
             WHERE abs(ol.ol_amount - ol.ol_quantity * i.i_price) > {SAME_CENT}"
        ),
        place: ("ol.ol_w_id", "ol.ol_d_id"),
    }
}

/// Condition 11, which holds of freshly loaded tables: how many orders of a district are delivered.
fn condition_11(size: Size) -> Condition {
    Condition {
        name: "11",
        says: "all but the newest three tenths of a district's orders are delivered",
        broken: format!(
            "FROM (SELECT o_w_id, o_d_id, count(*) AS entered FROM orders GROUP BY o_w_id, o_d_id) o LEFT JOIN \
             (SELECT no_w_id, no_d_id, count(*) AS waiting FROM new_order GROUP BY no_w_id, no_d_id) no \
             ON no.no_w_id = o.o_w_id AND no.no_d_id = o.o_d_id WHERE o.entered - coalesce(no.waiting, 0) <> {}",
            size.delivered_orders()
        ),
        place: ("o.o_w_id", "o.o_d_id"),
    }
}

/// Étalon's own condition on freshly loaded tables: each district has its customers, names, payments and orders.
fn loaded_rows_condition(size: Size) -> Condition {
    let (customers, named) = (size.customers, size.customers.min(NAMES as u64));
    Condition {
        name: "of rows",
        says: "a district has its customers, the first thousand by names of their own, with a payment and an order each",
        broken: format!(
            "FROM district d LEFT JOIN {} ON {} LEFT JOIN {} ON {} LEFT JOIN {} ON {} \
             WHERE coalesce(c.customers, 0) <> {customers} OR c.names <> {named} \
             OR coalesce(o.buyers, 0) <> {customers} OR coalesce(h.payers, 0) <> {customers}",
            by_district(
                "customer",
                "c",
                &format!("count(*) AS customers, count(DISTINCT CASE WHEN c_id <= {named} THEN c_last END) AS names")
            ),
            join_district("c"),
            by_district("orders", "o", "count(DISTINCT o_c_id) AS buyers"),
            join_district("o"),
            by_district("history", "h", "count(DISTINCT h_c_id) AS payers"),
            join_district("h"),
        ),
        place: ("d.d_w_id", "d.d_id"),
    }
}

/// The number of standard deviations that chance explains.
const BY_CHANCE: f64 = 5.0;

/// SQL that gives a row if the share of a table's rows that are `such` differs from `share` beyond chance.
fn share_fault_sql(table: &str, such: &str, among: &str, rows: u64, share: f64) -> String {
    let (rows, mean) = (rows as f64, rows as f64 * share);
    let allowed = BY_CHANCE * (rows * share * (1.0 - share)).sqrt();
    format!(
        "SELECT 1 AS one FROM (SELECT sum(CASE WHEN {such} THEN 1 ELSE 0 END) AS such FROM {table} WHERE {among}) t \
         WHERE abs(coalesce(t.such, 0) - {mean:.3}) > {allowed:.3}"
    )
}

/// Étalon's own conditions on freshly loaded tables: shares of original items, bad credit and popular names.
fn loaded_share_conditions(size: Size) -> Vec<Condition> {
    let everything = "1 = 1";
    let customers = size.district_count() * size.customers;
    let tenths = [
        share_fault_sql("item", "i_data LIKE '%ORIGINAL%'", everything, size.items, 0.1),
        share_fault_sql("stock", "s_data LIKE '%ORIGINAL%'", everything, size.warehouses * size.items, 0.1),
        share_fault_sql("customer", "c_credit = 'BC'", everything, customers, 0.1),
    ];
    let mut all = vec![Condition {
        name: "of tenths",
        says: "a tenth of the items and of the stock is original, and a tenth of the customers has bad credit",
        broken: format!("FROM ({}) b", tenths.join(" UNION ALL ")),
        place: ("0", "0"),
    }];
    let drawn = size.district_count() * size.customers.saturating_sub(NAMES as u64);
    if drawn > 0 {
        let shares = Rules::SPECIFICATION.name_distribution(Constants::OF_LOAD, size).value_shares();
        let mut popular: Vec<usize> = (0..shares.len()).collect();
        popular.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
        popular.truncate(POPULAR);
        let names: Vec<String> = popular.iter().map(|name| format!("'{}'", last_name(*name as i64))).collect();
        let such = format!("c_last IN ({})", names.join(", "));
        let share = popular.iter().map(|name| shares[*name]).sum();
        all.push(Condition {
            name: "of names",
            says: "the customers after the first thousand have the popular names as often as the uneven function draws them",
            broken: format!("FROM ({}) b", share_fault_sql("customer", &such, &format!("c_id > {NAMES}"), drawn, share)),
            place: ("0", "0"),
        });
    }
    all
}

/// Names that distinguish one constant from another.
const POPULAR: usize = 32;

/// Lists the passes that check the conditions of an extent, in the order in which they are asked.
///
/// What breaks several conditions is named by the first.
fn passes_over_tables(size: Size, extent: Extent) -> Vec<Pass> {
    let quick = payment_conditions().into_iter().chain(order_number_conditions()).map(Pass::from);
    let mut all: Vec<Pass> = if extent == Extent::Rest { Vec::new() } else { quick.collect() };
    if extent != Extent::Quick {
        all.extend([orders_and_customers_pass(), stock_pass()]);
        all.extend([buyers_condition(), amounts_condition()].map(Pass::from));
    }
    if extent == Extent::Loaded {
        let of_load = [condition_11(size), loaded_rows_condition(size)]
            .into_iter()
            .chain(loaded_share_conditions(size))
            .chain(loaded::row_conditions(size));
        all.extend(of_load.map(Pass::from));
    }
    all
}

/// Number of conditions that an extent checks.
pub fn count_conditions(size: Size, extent: Extent) -> usize {
    passes_over_tables(size, extent).iter().map(|pass| pass.conditions.len()).sum()
}

/// Lists every query that checks the conditions of an extent.
pub fn all_questions(size: Size, extent: Extent) -> Vec<String> {
    let passes = passes_over_tables(size, extent);
    let each = passes.iter().flat_map(|pass| &pass.conditions).flat_map(|condition| condition.questions(size, extent));
    let together = passes.iter().filter(|pass| pass.conditions.len() > 1).map(|pass| pass.count_question(size, extent));
    each.chain(together).collect()
}

/// Fills the numbers of the tables into a condition's text.
fn with_numbers(broken: &str, size: Size, extent: Extent) -> String {
    let since = if extent == Extent::Loaded { 0 } else { size.delivered_orders() };
    let broken = broken.replace("{since}", &since.to_string()).replace("{loaded}", &size.customers.to_string());
    let broken = broken.replace("{delivered}", &size.delivered_orders().to_string());
    if !broken.contains("{pieces}") {
        return broken;
    }
    let (pieces, weighed) = tables::first_pieces(size);
    broken.replace("{pieces}", &pieces.to_string()).replace("{weighed}", &weighed.to_string())
}

impl Pass {
    /// SQL for the number of rows of which any condition of the pass does not hold.
    fn count_question(&self, size: Size, extent: Extent) -> String {
        format!("SELECT count(*) {}", with_numbers(&self.broken, size, extent))
    }

    /// Fails if `count` rows break the pass, with the first of its conditions that does not hold.
    ///
    /// # Errors
    /// [`FailureKind::Verification`], with the first warehouse and district of which one of its conditions does not hold.
    fn blame_condition(
        &self,
        count: i64,
        server: &dyn ServerCounters,
        size: Size,
        extent: Extent,
    ) -> Result<(), Failure> {
        if count == 0 {
            return Ok(());
        }
        for condition in &self.conditions {
            condition.check_alone(server, size, extent)?;
        }
        let names: Vec<&str> = self.conditions.iter().map(|condition| condition.name).collect();
        let cause = format!("{count} rows break one of the conditions {}, and none by itself", names.join(", "));
        Err(Failure::new(FailureKind::Verification, CHECKED, cause))
    }
}

impl Condition {
    /// SQL for the number of rows that break the condition, and for the place of the first.
    fn questions(&self, size: Size, extent: Extent) -> [String; 2] {
        let broken = with_numbers(&self.broken, size, extent);
        let (warehouse, district) = self.place;
        [format!("SELECT count(*) {broken}"), format!("SELECT min({warehouse} * 100 + {district}) {broken}")]
    }

    /// Fails if any row breaks the condition, with the place of the first.
    fn check_alone(&self, server: &dyn ServerCounters, size: Size, extent: Extent) -> Result<(), Failure> {
        let [count, first] = self.questions(size, extent);
        let count = server.scalar(&count)?;
        if count == 0 {
            return Ok(());
        }
        let first = server.scalar(&first)?;
        let (warehouse, district) = (first / 100, first % 100);
        let place = match (warehouse, district) {
            (0, _) => String::new(),
            (_, 0) => format!(" of {count} of its rows, first of warehouse {warehouse}"),
            _ => format!(" of {count} of its rows, first of warehouse {warehouse}, district {district}"),
        };
        let Condition { name, says, .. } = self;
        let cause = format!("condition {name}, that {says}, does not hold{place}");
        Err(Failure::new(FailureKind::Verification, CHECKED, cause))
    }
}

/// Fails unless the conditions of an extent hold of the server's tables.
///
/// # Errors
/// [`FailureKind::Verification`], with the first warehouse and district of which one does not hold.
pub fn check_conditions(server: &dyn ServerCounters, size: Size, extent: Extent) -> Result<(), Failure> {
    let passes = passes_over_tables(size, extent);
    let questions: Vec<String> = passes.iter().map(|pass| pass.count_question(size, extent)).collect();
    let counts = server.scalars(&questions)?;
    passes.iter().zip(counts).try_for_each(|(pass, count)| pass.blame_condition(count, server, size, extent))
}
