//! Conditions on tables that were just loaded: what clause 4.3.3.1 of the specification says of each column. They use only what
//! every engine's SQL has. Tables that grow with the warehouses are read for some warehouses where there are many.

use super::conditions::Condition;
use super::tables::{DISTRICTS, ENTERED_TEXT, LINES, Size};

/// Number of warehouses whose rows are read, at most.
const SAMPLED_WAREHOUSES: u64 = 8;
/// Number of standard deviations that count as chance. The rows are the same in every load, so this cannot fail now and then.
const CHANCE: f64 = 6.0;

/// SQL condition that restricts a table to the sampled warehouses: the first, the last and some between them.
fn sample_sql(warehouse: &str, size: Size) -> String {
    if size.warehouses <= SAMPLED_WAREHOUSES {
        return "1 = 1".to_owned();
    }
    let sampled: Vec<String> = (0..SAMPLED_WAREHOUSES)
        .map(|number| (1 + number * (size.warehouses - 1) / (SAMPLED_WAREHOUSES - 1)).to_string())
        .collect();
    format!("{warehouse} IN ({})", sampled.join(", "))
}

/// Number of warehouses whose rows are read.
fn sampled_warehouse_count(size: Size) -> u64 {
    size.warehouses.min(SAMPLED_WAREHOUSES)
}

/// SQL condition that a text has `least` to `most` characters and no blank.
///
/// Engines have different functions for a length, and all have `LIKE`.
fn text_condition(column: &str, least: usize, most: usize) -> String {
    let (fewest, too_many) = ("_".repeat(least), "_".repeat(most + 1));
    format!("{column} LIKE '{fewest}%' AND {column} NOT LIKE '{too_many}%' AND {column} NOT LIKE '% %'")
}

/// SQL condition that a text has nothing but digits.
fn digits_condition(column: &str) -> String {
    let without = (0..10).fold(column.to_owned(), |text, digit| format!("replace({text}, '{digit}', '')"));
    format!("{without} = ''")
}

/// SQL condition that a state is two letters.
fn state_condition(column: &str) -> String {
    let no_digit = (0..10).map(|digit| format!("{column} NOT LIKE '%{digit}%'")).collect::<Vec<_>>();
    format!("{} AND {}", text_condition(column, 2, 2), no_digit.join(" AND "))
}

/// SQL condition that two streets, city, state and zip code are as specified (clauses 4.3.2.7 and 4.3.3.1).
fn address_condition(prefix: &str) -> String {
    let zip = column_name(prefix, "zip");
    let streets =
        ["street_1", "street_2", "city"].map(|name| text_condition(&column_name(prefix, name), 10, 20)).join(" AND ");
    format!(
        "{streets} AND {} AND {zip} LIKE '____11111' AND {}",
        state_condition(&column_name(prefix, "state")),
        digits_condition(&zip)
    )
}

/// Name of a table's column: prefix, underscore and name.
fn column_name(prefix: &str, name: &str) -> String {
    format!("{prefix}_{name}")
}

/// SQL from `FROM` on: the rows of `table` that break a rule which every row must keep.
fn broken_rows_sql(table: &str, sample: &str, rules: &[String]) -> String {
    format!("FROM {table} WHERE {sample} AND CASE WHEN {} THEN 0 ELSE 1 END = 1", rules.join(" AND "))
}

/// Makes a condition from its name, what it says, its query and its place.
fn make_condition(
    name: &'static str,
    says: &'static str,
    broken: String,
    place: (&'static str, &'static str),
) -> Condition {
    Condition { name, says, broken, place }
}

/// Lists every condition on the rows as they were loaded.
pub fn row_conditions(size: Size) -> Vec<Condition> {
    let mut all = Vec::from(fixed_table_conditions(size));
    all.extend(customer_and_stock_conditions(size));
    all.extend(order_and_line_conditions(size));
    all.extend([permutation_condition(size), drawn_conditions(size), texts_condition(size)]);
    all
}

/// Conditions that items, warehouses and districts have the columns that were loaded.
fn fixed_table_conditions(size: Size) -> [Condition; 3] {
    let paid = size.customers * 10;
    let warehouse = [
        text_condition("w_name", 6, 10),
        address_condition("w"),
        "w_tax BETWEEN 0 AND 0.2".to_owned(),
        format!("w_ytd = {}", DISTRICTS * paid),
    ];
    let district = [
        text_condition("d_name", 6, 10),
        address_condition("d"),
        "d_tax BETWEEN 0 AND 0.2".to_owned(),
        format!("d_ytd = {paid} AND d_next_o_id = {}", size.customers + 1),
    ];
    let item = [
        text_condition("i_name", 14, 24),
        text_condition("i_data", 26, 50),
        "i_im_id BETWEEN 1 AND 10000 AND i_price BETWEEN 1 AND 100".to_owned(),
        format!("i_id BETWEEN 1 AND {}", size.items),
    ];
    let every = "1 = 1";
    [
        make_condition(
            "of items",
            "an item has an image, a name, a price of 1 to 100 and data as loaded",
            broken_rows_sql("item", every, &item),
            ("0", "0"),
        ),
        make_condition(
            "of warehouses",
            "a warehouse has a name, an address, a tax and a sum of payments as loaded",
            broken_rows_sql("warehouse", every, &warehouse),
            ("w_id", "0"),
        ),
        make_condition(
            "of districts",
            "a district has a name, an address, a tax, a sum of payments and a next order as loaded",
            broken_rows_sql("district", every, &district),
            ("d_w_id", "d_id"),
        ),
    ]
}

/// Conditions that customers and stock have the columns that were loaded.
fn customer_and_stock_conditions(size: Size) -> [Condition; 2] {
    let customer = [
        text_condition("c_first", 8, 16),
        address_condition("c"),
        text_condition("c_phone", 16, 16),
        digits_condition("c_phone"),
        text_condition("c_data", 300, 500),
        format!("c_middle = 'OE' AND c_since = '{ENTERED_TEXT}' AND c_credit IN ('GC', 'BC') AND c_credit_lim = 50000"),
        "c_discount BETWEEN 0 AND 0.5 AND c_balance = -10 AND c_ytd_payment = 10".to_owned(),
        "c_payment_cnt = 1 AND c_delivery_cnt = 0".to_owned(),
    ];
    let mut stock = vec![
        text_condition("s_data", 26, 50),
        "s_quantity BETWEEN 10 AND 100 AND s_ytd = 0 AND s_order_cnt = 0 AND s_remote_cnt = 0".to_owned(),
    ];
    stock.extend((1..=DISTRICTS).map(|district| text_condition(&format!("s_dist_{district:02}"), 24, 24)));
    [
        make_condition(
            "of customers",
            "a customer has a name, an address, a phone number, terms, counts and data as loaded",
            broken_rows_sql("customer", &sample_sql("c_w_id", size), &customer),
            ("c_w_id", "c_d_id"),
        ),
        make_condition(
            "of stock rows",
            "an item's stock has 10 to 100 pieces, no counts, and texts as loaded",
            broken_rows_sql("stock", &sample_sql("s_w_id", size), &stock),
            ("s_w_id", "0"),
        ),
    ]
}

/// Conditions that payments, orders and lines have the columns that were loaded.
fn order_and_line_conditions(size: Size) -> [Condition; 3] {
    let (delivered, items) = (size.delivered_orders(), size.items);
    let (fewest, most) = (LINES.start(), LINES.end());
    let history = [
        text_condition("h_data", 12, 24),
        format!("h_d_id = h_c_d_id AND h_w_id = h_c_w_id AND h_amount = 10 AND h_date = '{ENTERED_TEXT}'"),
    ];
    let order = [
        format!("o_ol_cnt BETWEEN {fewest} AND {most} AND o_all_local = 1 AND o_entry_d = '{ENTERED_TEXT}'"),
        format!(
            "((o_id <= {delivered} AND o_carrier_id BETWEEN 1 AND 10) OR (o_id > {delivered} AND o_carrier_id IS NULL))"
        ),
    ];
    let line = [
        text_condition("ol_dist_info", 24, 24),
        format!("ol_i_id BETWEEN 1 AND {items} AND ol_supply_w_id = ol_w_id AND ol_quantity = 5"),
        format!(
            "((ol_o_id <= {delivered} AND ol_amount = 0 AND ol_delivery_d = '{ENTERED_TEXT}') OR \
             (ol_o_id > {delivered} AND ol_amount BETWEEN 0.01 AND 9999.99 AND ol_delivery_d IS NULL))"
        ),
    ];
    [
        make_condition(
            "of history",
            "a payment of the load is of 10, at the customer's own district",
            broken_rows_sql("history", &sample_sql("h_w_id", size), &history),
            ("h_w_id", "h_d_id"),
        ),
        make_condition(
            "of orders",
            "an order of the load has 5 to 15 local lines, and a carrier if it is delivered",
            broken_rows_sql("orders", &sample_sql("o_w_id", size), &order),
            ("o_w_id", "o_d_id"),
        ),
        make_condition(
            "of lines",
            "a line of the load is of five pieces from its own warehouse, and costs nothing if it is delivered",
            broken_rows_sql("order_line", &sample_sql("ol_w_id", size), &line),
            ("ol_w_id", "ol_d_id"),
        ),
    ]
}

/// Condition that the customers of a district's first orders are in random order.
///
/// Numbers in random order have a correlation of 0 with their places, with a standard deviation of 1 / √(n - 1).
fn permutation_condition(size: Size) -> Condition {
    let count = size.customers as f64;
    let mean = count * ((count + 1.0) / 2.0).powi(2);
    let spread = count * (count * count - 1.0) / 12.0 / (count - 1.0).max(1.0).sqrt();
    make_condition(
        "of permutations",
        "the customers of a district's first orders are in random order",
        format!(
            "FROM (SELECT o_w_id, o_d_id, sum(1.0 * o_id * o_c_id) AS mixed FROM orders WHERE {} GROUP BY o_w_id, o_d_id) o \
             WHERE abs(o.mixed - {mean:.1}) > {:.1}",
            sample_sql("o_w_id", size),
            CHANCE * spread
        ),
        ("o.o_w_id", "o.o_d_id"),
    )
}

/// A column whose values are drawn evenly, with the number of rows that are read.
struct EvenColumn {
    table: &'static str,
    column: &'static str,
    among: String,
    rows: u64,
    /// The least value, the most, and what lies between two neighbours.
    range: [f64; 3],
}

impl EvenColumn {
    /// SQL that gives one row each if the sum of the column, or of its squares, is not one that even draws have.
    fn broken_sql(&self) -> [String; 2] {
        let EvenColumn { table, column, among, rows, range } = self;
        [1, 2].map(|power| {
            let (mean, spread) = mean_and_spread(*range, power);
            let (sum, allowed) = (*rows as f64 * mean, CHANCE * spread * (*rows as f64).sqrt());
            let value = vec![*column; power as usize].join(" * ");
            format!(
                "SELECT 1 AS one FROM (SELECT sum(1.0 * {value}) AS drawn FROM {table} WHERE {among}) t \
                 WHERE abs(coalesce(t.drawn, 0) - {sum:.4}) > {allowed:.4}"
            )
        })
    }
}

/// Mean and standard deviation of a power of a value that is drawn evenly.
fn mean_and_spread([least, most, step]: [f64; 3], power: i32) -> (f64, f64) {
    let count = ((most - least) / step).round() as u64 + 1;
    let values = (0..count).map(|number| (least + number as f64 * step).powi(power));
    let (sum, squares) = values.fold((0.0, 0.0), |(sum, squares), value| (sum + value, squares + value * value));
    let mean = sum / count as f64;
    (mean, (squares / count as f64 - mean * mean).max(0.0).sqrt())
}

/// Condition that columns are drawn evenly.
fn drawn_conditions(size: Size) -> Condition {
    let districts = sampled_warehouse_count(size) * DISTRICTS;
    let even =
        |table, column, among: &str, rows, range| EvenColumn { table, column, among: among.to_owned(), rows, range };
    let (every, delivered) = ("1 = 1", size.delivered_orders());
    let orders = sample_sql("o_w_id", size);
    let (customers, of_delivered) = (sample_sql("c_w_id", size), format!("{orders} AND o_id <= {delivered}"));
    let stock = sampled_warehouse_count(size) * size.items;
    let columns = [
        even("item", "i_im_id", every, size.items, [1.0, 10_000.0, 1.0]),
        even("item", "i_price", every, size.items, [1.0, 100.0, 0.01]),
        even("district", "d_tax", every, size.district_count(), [0.0, 0.2, 0.0001]),
        even("customer", "c_discount", &customers, districts * size.customers, [0.0, 0.5, 0.0001]),
        even("stock", "s_quantity", &sample_sql("s_w_id", size), stock, [10.0, 100.0, 1.0]),
        even("orders", "o_ol_cnt", &orders, districts * size.customers, [5.0, 15.0, 1.0]),
        even("orders", "o_carrier_id", &of_delivered, districts * delivered, [1.0, 10.0, 1.0]),
    ];
    let all: Vec<String> = columns.iter().flat_map(EvenColumn::broken_sql).collect();
    make_condition(
        "of draws",
        "images, prices, taxes, discounts, stock, lengths and carriers are drawn evenly",
        format!("FROM ({}) b", all.join(" UNION ALL ")),
        ("0", "0"),
    )
}

/// Condition that no two texts are alike: repeated ones would be compressed and cached too well.
fn texts_condition(size: Size) -> Condition {
    let all = [
        same_text_sql("item", "i_data", "i_id <= 1000"),
        same_text_sql("stock", "s_data", &last_warehouse_sql(size, "s_w_id", "s_i_id <= 1000")),
        same_text_sql("customer", "c_data", &last_warehouse_sql(size, "c_w_id", "c_d_id = 1")),
        same_text_sql(
            "order_line",
            "ol_dist_info",
            &last_warehouse_sql(size, "ol_w_id", "ol_d_id = 1 AND ol_o_id <= 100"),
        ),
    ];
    make_condition("of texts", "no two texts are alike", format!("FROM ({}) b", all.join(" UNION ALL ")), ("0", "0"))
}

/// SQL condition that a row is of the last warehouse, and meets another condition.
fn last_warehouse_sql(size: Size, warehouse: &str, more: &str) -> String {
    format!("{warehouse} = {} AND {more}", size.warehouses)
}

/// SQL that gives a row if any text of a column occurs twice.
fn same_text_sql(table: &str, column: &str, among: &str) -> String {
    format!(
        "SELECT 1 AS one FROM (SELECT count(*) AS texts, count(DISTINCT {column}) AS differ FROM {table} WHERE {among}) t \
             WHERE t.texts <> t.differ"
    )
}
