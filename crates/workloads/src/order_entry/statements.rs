//! The statements of the five transactions, prepared once on each connection.

use std::fmt::Write as _;

use super::tables::LINES;

/// Most lines of an order.
pub const MOST_LINES: usize = *LINES.end() as usize;
/// Fewest lines that are entered: of an order with an unused item all but one.
pub const FEWEST_LINES: usize = *LINES.start() as usize - 1;

/// What a client fills in. Statements refer to it by [`Field::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The terminal's.
    Warehouse,
    District,
    /// Where the customer lives.
    CustomerWarehouse,
    CustomerDistrict,
    Customer,
    LastName,
    Order,
    /// Number of order lines, 5 to 15.
    Lines,
    AllLocal,
    /// The number of a line.
    Line,
    Item,
    Supply,
    Quantity,
    Remote,
    Amount,
    DistrictInfo,
    /// The amount of a payment.
    Payment,
    CustomerData,
    PaymentData,
    Carrier,
    /// What a delivered order comes to.
    Total,
    /// The first of the orders whose items are looked at.
    Since,
    Threshold,
    /// All lines of an order.
    Entered,
}

const NAMES: [&str; 24] = [
    "w",
    "d",
    "c_w",
    "c_d",
    "c",
    "c_last",
    "o",
    "lines",
    "all_local",
    "line",
    "i",
    "supply",
    "quantity",
    "remote",
    "amount",
    "dist_info",
    "payment",
    "c_data",
    "h_data",
    "carrier",
    "total",
    "since",
    "threshold",
    "entered",
];

/// Where the items of an order's lines are, each followed by its warehouse.
const FIRST_ITEM: usize = NAMES.len();
pub const FIELDS: usize = FIRST_ITEM + 2 * MOST_LINES;

/// Index of the field that holds the item of a line, counted from 0.
pub fn item_field(line: usize) -> usize {
    FIRST_ITEM + 2 * line
}

/// Index of the field that holds the warehouse which supplies a line, counted from 0.
pub fn supply_field(line: usize) -> usize {
    FIRST_ITEM + 2 * line + 1
}

/// Names of all fields by number, those of the lines last.
pub fn field_names() -> Vec<String> {
    let of_lines = (0..MOST_LINES).flat_map(|line| [format!("i{line}"), format!("supply{line}")]);
    NAMES.iter().map(|name| (*name).to_owned()).chain(of_lines).collect()
}

/// A statement, in the order of [`statement_texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    Begin,
    BeginReading,
    Commit,
    Rollback,
    TakeOrderNumber,
    District,
    WarehouseTax,
    CustomerTerms,
    InsertOrder,
    InsertNewOrder,
    TakeStock,
    InsertLine,
    PayWarehouse,
    WarehouseAddress,
    PayDistrict,
    DistrictAddress,
    CustomersByName,
    PayCustomer,
    Customer,
    CustomerData,
    NoteCustomer,
    InsertHistory,
    CustomerBalance,
    LastOrder,
    OrderLines,
    OldestOrder,
    OrderToDeliver,
    DeleteNewOrder,
    DeliverOrder,
    DeliverLines,
    LinesTotal,
    CreditCustomer,
    NextOrder,
    LowStock,
}

/// Statements of [`Ask`].
pub const PLAIN_STATEMENTS: usize = 34;

const PLAIN: [&str; PLAIN_STATEMENTS] = [
    "BEGIN",
    "START TRANSACTION READ ONLY",
    "COMMIT",
    "ROLLBACK",
    "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = :w AND d_id = :d",
    "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = :w AND d_id = :d",
    "SELECT w_tax FROM warehouse WHERE w_id = :w",
    "SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c",
    "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt, o_all_local) \
     VALUES (:o, :d, :w, :c, CURRENT_TIMESTAMP, NULL, :lines, :all_local)",
    "INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:o, :d, :w)",
    "UPDATE stock SET s_quantity = CASE WHEN s_quantity >= :quantity + 10 THEN s_quantity - :quantity \
     ELSE s_quantity - :quantity + 91 END, s_ytd = s_ytd + :quantity, s_order_cnt = s_order_cnt + 1, \
     s_remote_cnt = s_remote_cnt + :remote WHERE s_w_id = :supply AND s_i_id = :i",
    "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d, ol_quantity, \
     ol_amount, ol_dist_info) VALUES (:o, :d, :w, :line, :i, :supply, NULL, :quantity, :amount, :dist_info)",
    "UPDATE warehouse SET w_ytd = w_ytd + :payment WHERE w_id = :w",
    "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = :w",
    "UPDATE district SET d_ytd = d_ytd + :payment WHERE d_w_id = :w AND d_id = :d",
    "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district WHERE d_w_id = :w AND d_id = :d",
    "SELECT c_id FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_last = :c_last ORDER BY c_first",
    "UPDATE customer SET c_balance = c_balance - :payment, c_ytd_payment = c_ytd_payment + :payment, \
     c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c",
    "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit, \
     c_credit_lim, c_discount, c_balance FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c",
    "SELECT c_data FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c",
    "UPDATE customer SET c_data = :c_data WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c",
    "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
     VALUES (:c, :c_d, :c_w, :d, :w, CURRENT_TIMESTAMP, :payment, :h_data)",
    "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c",
    "SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = :c_w AND o_d_id = :c_d AND o_id = \
     (SELECT max(o_id) FROM orders WHERE o_w_id = :c_w AND o_d_id = :c_d AND o_c_id = :c)",
    "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
     WHERE ol_w_id = :c_w AND ol_d_id = :c_d AND ol_o_id = :o",
    "SELECT no_o_id FROM new_order WHERE no_w_id = :w AND no_d_id = :d ORDER BY no_o_id LIMIT 1 FOR UPDATE",
    "SELECT o_c_id, o_carrier_id FROM orders WHERE o_w_id = :w AND o_d_id = :d AND o_id = :o FOR UPDATE",
    "DELETE FROM new_order WHERE no_w_id = :w AND no_d_id = :d AND no_o_id = :o",
    "UPDATE orders SET o_carrier_id = :carrier WHERE o_w_id = :w AND o_d_id = :d AND o_id = :o",
    "UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :o",
    "SELECT sum(ol_amount) FROM order_line WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id = :o",
    "UPDATE customer SET c_balance = c_balance + :total, c_delivery_cnt = c_delivery_cnt + 1 \
     WHERE c_w_id = :w AND c_d_id = :d AND c_id = :c",
    "SELECT d_next_o_id FROM district WHERE d_w_id = :w AND d_id = :d",
    "SELECT count(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = :w AND ol_d_id = :d AND ol_o_id >= :since \
     AND ol_o_id < :o AND s_w_id = :w AND s_i_id = ol_i_id AND s_quantity < :threshold",
];

/// Sizes of an order's list, from [`FEWEST_LINES`].
const SIZES: usize = MOST_LINES - FEWEST_LINES + 1;

/// Number of the statement that reads the items of `lines` lines.
pub fn items_statement(lines: usize) -> usize {
    PLAIN.len() + lines - FEWEST_LINES
}

/// Number of the statement that reads the stock of `lines` lines that the terminal's own warehouse supplies.
pub fn own_stock_statement(lines: usize) -> usize {
    items_statement(lines) + SIZES
}

/// Number of the statement that reads the stock of `lines` lines of which other warehouses supply some.
pub fn mixed_stock_statement(lines: usize) -> usize {
    own_stock_statement(lines) + SIZES
}

/// Texts of all statements, by number.
pub fn statement_texts() -> Vec<String> {
    let items = (FEWEST_LINES..=MOST_LINES)
        .map(|lines| format!("SELECT i_id, i_price, i_name, i_data FROM item WHERE i_id IN ({})", item_list(lines)));
    // A sum, so that servers know that it is a number.
    let mut info = String::from("CASE :d + 0");
    for district in 1..=10 {
        // Writing to a string does not fail.
        let _ = write!(info, " WHEN {district} THEN s_dist_{district:02}");
    }
    let columns = format!("SELECT s_w_id, s_i_id, s_quantity, s_data, {info} END AS dist_info FROM stock WHERE");
    let own_stock =
        (FEWEST_LINES..=MOST_LINES).map(|lines| format!("{columns} s_w_id = :w AND s_i_id IN ({})", item_list(lines)));
    let stock = (FEWEST_LINES..=MOST_LINES).map(|lines| {
        let each = (0..lines).map(|line| format!("(s_w_id = :supply{line} AND s_i_id = :i{line})"));
        format!("{columns} {}", each.collect::<Vec<_>>().join(" OR "))
    });
    PLAIN.iter().map(|text| (*text).to_owned()).chain(items).chain(own_stock).chain(stock).collect()
}

/// SQL list of `lines` item fields, such as `:i0, :i1`.
fn item_list(lines: usize) -> String {
    (0..lines).map(|line| format!(":i{line}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_and_fields_have_the_numbers_of_their_names() {
        let texts = statement_texts();
        let at = |ask: Ask| texts[ask as usize].as_str();
        assert_eq!((at(Ask::Begin), at(Ask::Rollback)), ("BEGIN", "ROLLBACK"));
        assert!(at(Ask::TakeStock).starts_with("UPDATE stock") && at(Ask::InsertHistory).contains("history"));
        assert!(at(Ask::OrderToDeliver).ends_with("FOR UPDATE") && at(Ask::LowStock).contains("threshold"));
        assert_eq!(texts[items_statement(4)].matches(":i").count(), 4);
        assert_eq!(texts[own_stock_statement(15)].matches(":i").count(), 15);
        assert_eq!(texts[mixed_stock_statement(15)].matches(":supply").count(), 15);
        assert_eq!(texts.len(), mixed_stock_statement(15) + 1);
        let names = field_names();
        assert_eq!((names.len(), names[Field::Threshold as usize].as_str()), (FIELDS, "threshold"));
        assert_eq!((names[item_field(14)].as_str(), names[supply_field(0)].as_str()), ("i14", "supply0"));
    }
}
