//! The statements that were sent, compared with what the terminals say they entered. The program around the terminals counts
//! them, so that a transaction that leaves a step out, or takes one for another, is found.

use super::audit::{Audit, Count};
use super::calls::Calls;
use super::deck::Kind;
use super::statements::{Ask, FEWEST_LINES, PLAIN_STATEMENTS, mixed_stock_statement, own_stock_statement};
use super::tables::{DISTRICTS, LINES, Size};

/// Numbers of statements: those for a number of lines count as one.
pub const SENT: usize = PLAIN_STATEMENTS + 3;
const ITEMS: usize = PLAIN_STATEMENTS;
const OWN_STOCK: usize = PLAIN_STATEMENTS + 1;
const STOCK: usize = PLAIN_STATEMENTS + 2;
/// Reads whose rows are counted.
const READS: usize = 4;

/// Index at which a statement is counted; those for different numbers of lines share one.
pub fn group_of_statement(statement: usize) -> usize {
    match statement {
        plain if plain < PLAIN_STATEMENTS => plain,
        items if items < own_stock_statement(FEWEST_LINES) => ITEMS,
        own if own < mixed_stock_statement(FEWEST_LINES) => OWN_STOCK,
        _ => STOCK,
    }
}

/// A step of a kind of transaction, as the specification has it.
struct Step {
    what: &'static str,
    groups: &'static [usize],
    /// How often it belongs to what was entered.
    times: u64,
}

/// Makes a step whose statements must have been sent `times` times in all.
const fn expected_step(what: &'static str, groups: &'static [usize], times: u64) -> Step {
    Step { what, groups, times }
}

macro_rules! ask {
    ($($name:ident),+) => { &[$(Ask::$name as usize),+] };
}

/// Describes the first step that was not sent as often, or read other rows, than what was entered needs.
pub fn find_fault(audit: &Audit<'_>, calls: Calls) -> Option<String> {
    let steps = match calls {
        Calls::Statements => statement_steps(audit),
        Calls::Procedure => procedure_steps(audit),
    };
    let wrong = steps.into_iter().find_map(|Step { what, groups, times }| {
        let sent: u64 = groups.iter().map(|group| audit.sent_and_returned(*group).0).sum();
        (sent != times).then(|| {
            format!("steps of transactions: {what} was sent {sent} times, where {times} belong to what was entered")
        })
    });
    match calls {
        Calls::Statements => wrong.or_else(|| rows_fault(audit)),
        Calls::Procedure => wrong,
    }
}

/// Number of comparisons that [`find_fault`] makes.
pub fn count_comparisons(calls: Calls) -> usize {
    let nothing = Audit { sums: &[], size: Size::for_warehouses(1) };
    match calls {
        Calls::Statements => statement_steps(&nothing).len() + READS,
        Calls::Procedure => procedure_steps(&nothing).len(),
    }
}

/// Describes a read that brought back fewer or more rows than it must.
fn rows_fault(audit: &Audit<'_>) -> Option<String> {
    let statuses = audit.succeeded_count(Count::OrderStatuses);
    let by_name = audit.succeeded_count(Count::PaymentsByName) + audit.succeeded_count(Count::OrderStatusesByName);
    let (fewest, most) = (*LINES.start() as u64, *LINES.end() as u64);
    let lines = audit.succeeded_count(Count::Lines) - audit.succeeded_count(Count::RolledBack);
    let reads: [_; READS] = [
        ("the lines of an order", Ask::OrderLines as usize, fewest * statuses, most * statuses),
        ("a customer's last order", Ask::LastOrder as usize, statuses, statuses),
        ("the customers of a name", Ask::CustomersByName as usize, by_name, u64::MAX),
        ("the items of an order", ITEMS, audit.succeeded_count(Count::NewOrders), lines),
    ];
    reads.into_iter().find_map(|(what, group, least, most)| {
        let (sent, rows) = audit.sent_and_returned(group);
        (!(least..=most).contains(&rows)).then(|| {
            let bounds = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
            format!(
                "rows that were read: {what} was read {sent} times, which brought {rows} rows, where {bounds} must come"
            )
        })
    })
}

/// Lists how often each statement must have been sent for what was entered.
fn statement_steps(audit: &Audit<'_>) -> Vec<Step> {
    let (orders, rolled_back) = (audit.succeeded_count(Count::NewOrders), audit.succeeded_count(Count::RolledBack));
    let (payments, statuses) = (audit.succeeded_count(Count::Payments), audit.succeeded_count(Count::OrderStatuses));
    let (deliveries, delivered, levels) = (
        audit.succeeded_count(Count::Deliveries),
        audit.succeeded_count(Count::DeliveredOrders),
        audit.succeeded_count(Count::StockLevels),
    );
    // An order that is rolled back names an item that does not exist in the place of its last line.
    let lines = audit.succeeded_count(Count::Lines) - rolled_back;
    vec![
        expected_step("the begin of a transaction that writes", ask![Begin], orders + payments + deliveries),
        expected_step("the begin of a transaction that reads", ask![BeginReading], statuses + levels),
        expected_step("a commit", ask![Commit], orders - rolled_back + payments + deliveries + statuses + levels),
        expected_step("a rollback", ask![Rollback], rolled_back),
        expected_step("New-Order's update of the district", ask![TakeOrderNumber], orders),
        expected_step("New-Order's read of the district", ask![District], orders),
        expected_step("New-Order's read of the warehouse", ask![WarehouseTax], orders),
        expected_step("New-Order's read of the customer", ask![CustomerTerms], orders),
        expected_step("New-Order's read of the items", &[ITEMS], orders),
        expected_step("New-Order's order", ask![InsertOrder], orders),
        expected_step("New-Order's row of new orders", ask![InsertNewOrder], orders),
        expected_step("New-Order's update of a line's stock", ask![TakeStock], lines),
        expected_step("New-Order's read of the stock", &[OWN_STOCK, STOCK], orders),
        expected_step("New-Order's line", ask![InsertLine], lines),
        expected_step("Payment's update of the warehouse", ask![PayWarehouse], payments),
        expected_step("Payment's read of the warehouse", ask![WarehouseAddress], payments),
        expected_step("Payment's update of the district", ask![PayDistrict], payments),
        expected_step("Payment's read of the district", ask![DistrictAddress], payments),
        expected_step(
            "the look-up of a customer by name",
            ask![CustomersByName],
            audit.succeeded_count(Count::PaymentsByName) + audit.succeeded_count(Count::OrderStatusesByName),
        ),
        expected_step("Payment's update of the customer", ask![PayCustomer], payments),
        expected_step("Payment's read of the customer", ask![Customer], payments),
        expected_step("the read of a customer's data", ask![CustomerData], audit.succeeded_count(Count::BadCredit)),
        expected_step("the note of a customer's payment", ask![NoteCustomer], audit.succeeded_count(Count::BadCredit)),
        expected_step("Payment's row of history", ask![InsertHistory], payments),
        expected_step("Order-Status's read of the customer", ask![CustomerBalance], statuses),
        expected_step("Order-Status's read of the order", ask![LastOrder], statuses),
        expected_step("Order-Status's read of the lines", ask![OrderLines], statuses),
        expected_step("Delivery's read of the oldest order", ask![OldestOrder], deliveries * DISTRICTS),
        expected_step("Delivery's read of the order", ask![OrderToDeliver], delivered),
        expected_step("Delivery's removal of the new order", ask![DeleteNewOrder], delivered),
        expected_step("Delivery's update of the order", ask![DeliverOrder], delivered),
        expected_step("Delivery's update of the lines", ask![DeliverLines], delivered),
        expected_step("Delivery's sum of the lines", ask![LinesTotal], delivered),
        expected_step("Delivery's update of the customer", ask![CreditCustomer], delivered),
        expected_step("Stock-Level's read of the district", ask![NextOrder], levels),
        expected_step("Stock-Level's count", ask![LowStock], levels),
    ]
}

/// Lists how often each procedure must have been called for what was entered.
fn procedure_steps(audit: &Audit<'_>) -> Vec<Step> {
    vec![
        expected_step("the call for New-Order", &[Kind::NewOrder as usize], audit.succeeded_count(Count::NewOrders)),
        expected_step("the call for Payment", &[Kind::Payment as usize], audit.succeeded_count(Count::Payments)),
        expected_step(
            "the call for Order-Status",
            &[Kind::OrderStatus as usize],
            audit.succeeded_count(Count::OrderStatuses),
        ),
        expected_step("the call for Delivery", &[Kind::Delivery as usize], audit.succeeded_count(Count::Deliveries)),
        expected_step(
            "the call for Stock-Level",
            &[Kind::StockLevel as usize],
            audit.succeeded_count(Count::StockLevels),
        ),
    ]
}
