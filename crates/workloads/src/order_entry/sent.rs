//! The statements that were sent, compared with what the terminals say they entered. The program around the terminals counts
//! them, so that a transaction that leaves a step out, or takes one for another, is found.

use super::audit::{Audit, Count};
use super::calls::Calls;
use super::deck::Kind;
use super::statements::{Ask, FEWEST_LINES, PLAIN_STATEMENTS, own_stock_of, stock_of};
use super::tables::{DISTRICTS, LINES, Size};

/// Numbers of statements: those for a number of lines count as one.
pub const SENT: usize = PLAIN_STATEMENTS + 3;
const ITEMS: usize = PLAIN_STATEMENTS;
const OWN_STOCK: usize = PLAIN_STATEMENTS + 1;
const STOCK: usize = PLAIN_STATEMENTS + 2;
/// Reads whose rows are counted.
const READS: usize = 4;

/// The place at which a statement is counted.
pub fn group(statement: usize) -> usize {
    match statement {
        plain if plain < PLAIN_STATEMENTS => plain,
        items if items < own_stock_of(FEWEST_LINES) => ITEMS,
        own if own < stock_of(FEWEST_LINES) => OWN_STOCK,
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

const fn step(what: &'static str, groups: &'static [usize], times: u64) -> Step {
    Step { what, groups, times }
}

macro_rules! ask {
    ($($name:ident),+) => { &[$(Ask::$name as usize),+] };
}

/// The first step that was not sent as often as it belongs to what was entered.
pub fn fault(audit: &Audit<'_>, calls: Calls) -> Option<String> {
    let steps = match calls {
        Calls::Statements => of_statements(audit),
        Calls::Procedure => of_procedures(audit),
    };
    let wrong = steps.into_iter().find_map(|Step { what, groups, times }| {
        let sent: u64 = groups.iter().map(|group| audit.sent(*group).0).sum();
        (sent != times).then(|| {
            format!("steps of transactions: {what} was sent {sent} times, where {times} belong to what was entered")
        })
    });
    match calls {
        Calls::Statements => wrong.or_else(|| rows_fault(audit)),
        Calls::Procedure => wrong,
    }
}

/// Number of comparisons that [`fault`] makes.
pub fn count(calls: Calls) -> usize {
    let nothing = Audit { sums: &[], size: Size::for_warehouses(1) };
    match calls {
        Calls::Statements => of_statements(&nothing).len() + READS,
        Calls::Procedure => of_procedures(&nothing).len(),
    }
}

/// A read that brought back other rows than it must.
fn rows_fault(audit: &Audit<'_>) -> Option<String> {
    let statuses = audit.succeeded(Count::OrderStatuses);
    let by_name = audit.succeeded(Count::PaymentsByName) + audit.succeeded(Count::OrderStatusesByName);
    let (fewest, most) = (*LINES.start() as u64, *LINES.end() as u64);
    let lines = audit.succeeded(Count::Lines) - audit.succeeded(Count::RolledBack);
    let reads: [_; READS] = [
        ("the lines of an order", Ask::OrderLines as usize, fewest * statuses, most * statuses),
        ("a customer's last order", Ask::LastOrder as usize, statuses, statuses),
        ("the customers of a name", Ask::CustomersByName as usize, by_name, u64::MAX),
        ("the items of an order", ITEMS, audit.succeeded(Count::NewOrders), lines),
    ];
    reads.into_iter().find_map(|(what, group, least, most)| {
        let (sent, rows) = audit.sent(group);
        (!(least..=most).contains(&rows)).then(|| {
            let bounds = if most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") };
            format!(
                "rows that were read: {what} was read {sent} times, which brought {rows} rows, where {bounds} must come"
            )
        })
    })
}

fn of_statements(audit: &Audit<'_>) -> Vec<Step> {
    let (orders, rolled_back) = (audit.succeeded(Count::NewOrders), audit.succeeded(Count::RolledBack));
    let (payments, statuses) = (audit.succeeded(Count::Payments), audit.succeeded(Count::OrderStatuses));
    let (deliveries, delivered, levels) = (
        audit.succeeded(Count::Deliveries),
        audit.succeeded(Count::DeliveredOrders),
        audit.succeeded(Count::StockLevels),
    );
    // An order that is rolled back names an item that does not exist in the place of its last line.
    let lines = audit.succeeded(Count::Lines) - rolled_back;
    vec![
        step("the begin of a transaction that writes", ask![Begin], orders + payments + deliveries),
        step("the begin of a transaction that reads", ask![BeginReading], statuses + levels),
        step("a commit", ask![Commit], orders - rolled_back + payments + deliveries + statuses + levels),
        step("a rollback", ask![Rollback], rolled_back),
        step("New-Order's update of the district", ask![TakeOrderNumber], orders),
        step("New-Order's read of the district", ask![District], orders),
        step("New-Order's read of the warehouse", ask![WarehouseTax], orders),
        step("New-Order's read of the customer", ask![CustomerTerms], orders),
        step("New-Order's read of the items", &[ITEMS], orders),
        step("New-Order's order", ask![InsertOrder], orders),
        step("New-Order's row of new orders", ask![InsertNewOrder], orders),
        step("New-Order's update of a line's stock", ask![TakeStock], lines),
        step("New-Order's read of the stock", &[OWN_STOCK, STOCK], orders),
        step("New-Order's line", ask![InsertLine], lines),
        step("Payment's update of the warehouse", ask![PayWarehouse], payments),
        step("Payment's read of the warehouse", ask![WarehouseAddress], payments),
        step("Payment's update of the district", ask![PayDistrict], payments),
        step("Payment's read of the district", ask![DistrictAddress], payments),
        step(
            "the look-up of a customer by name",
            ask![CustomersByName],
            audit.succeeded(Count::PaymentsByName) + audit.succeeded(Count::OrderStatusesByName),
        ),
        step("Payment's update of the customer", ask![PayCustomer], payments),
        step("Payment's read of the customer", ask![Customer], payments),
        step("the read of a customer's data", ask![CustomerData], audit.succeeded(Count::BadCredit)),
        step("the note of a customer's payment", ask![NoteCustomer], audit.succeeded(Count::BadCredit)),
        step("Payment's row of history", ask![InsertHistory], payments),
        step("Order-Status's read of the customer", ask![CustomerBalance], statuses),
        step("Order-Status's read of the order", ask![LastOrder], statuses),
        step("Order-Status's read of the lines", ask![OrderLines], statuses),
        step("Delivery's read of the oldest order", ask![OldestOrder], deliveries * DISTRICTS),
        step("Delivery's read of the order", ask![OrderToDeliver], delivered),
        step("Delivery's removal of the new order", ask![DeleteNewOrder], delivered),
        step("Delivery's update of the order", ask![DeliverOrder], delivered),
        step("Delivery's update of the lines", ask![DeliverLines], delivered),
        step("Delivery's sum of the lines", ask![LinesTotal], delivered),
        step("Delivery's update of the customer", ask![CreditCustomer], delivered),
        step("Stock-Level's read of the district", ask![NextOrder], levels),
        step("Stock-Level's count", ask![LowStock], levels),
    ]
}

fn of_procedures(audit: &Audit<'_>) -> Vec<Step> {
    vec![
        step("the call for New-Order", &[Kind::NewOrder as usize], audit.succeeded(Count::NewOrders)),
        step("the call for Payment", &[Kind::Payment as usize], audit.succeeded(Count::Payments)),
        step("the call for Order-Status", &[Kind::OrderStatus as usize], audit.succeeded(Count::OrderStatuses)),
        step("the call for Delivery", &[Kind::Delivery as usize], audit.succeeded(Count::Deliveries)),
        step("the call for Stock-Level", &[Kind::StockLevel as usize], audit.succeeded(Count::StockLevels)),
    ]
}
