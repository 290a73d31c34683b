//! The five transactions as stored procedures, which every engine writes in its own language.
//!
//! Each is called once for a transaction, in a transaction of its own that it ends itself, does what the statements of
//! [`statements`](super::statements) do in their order, and answers with one row:
//!
//! | procedure | takes | answers |
//! |---|---|---|
//! | `enter_order` | warehouse, district, customer, lines, whether all are local (0 or 1), the lines | whether it was entered (0 or 1), its number, when, the customer's last name, credit and discount, the taxes of warehouse and district, the total, the lines: `name\|stock\|brand\|price\|amount;` |
//! | `enter_payment` | warehouse, district, the customer's warehouse, district, number (0: by last name) and last name, amount | the customer's number, the addresses of warehouse and district, the customer's last name, what else is known of him, credit, balance, the first 200 characters of his data where the credit is bad |
//! | `order_status` | the customer's warehouse, district, number (0: by last name) and last name | the customer's number, balance, first, middle and last name, the order's number, when, carrier, the lines: `item\|warehouse\|pieces\|amount\|delivered;` |
//! | `deliver_orders` | warehouse, carrier | orders delivered, districts without one, `district\|order;` |
//! | `stock_level` | warehouse, district, threshold | how many items are below it |
//!
//! A line of an order is [`LINE`] characters: six digits of the item, five of its warehouse, two of the pieces, so that a
//! procedure in any language finds them by their place. An order with an item that there is not is rolled back by the
//! procedure, which is no error: its answer says so.

/// Characters of a line: item, warehouse, pieces.
pub const LINE: usize = 13;

/// The procedures' names: what étalon removes from a database that it may not drop.
pub const PROCEDURES: [&str; 5] = ["enter_order", "enter_payment", "order_status", "deliver_orders", "stock_level"];

pub trait OrderEntryDialect: Sync {
    /// The statements that make the procedures, run once in étalon's schema when the tables are loaded.
    fn create_procedures(&self) -> Vec<String>;
}
