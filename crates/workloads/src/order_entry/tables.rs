//! The nine tables and their first rows, by the specification's clauses 1.3 and 4.3.3.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use super::draw::{
    Constants, NAMES, decimal_datum, item_data, last_name, random_digits, random_letters, random_state, random_text,
    random_zip, shuffled_index,
};
use super::rules::Rules;
use crate::dataset::{Column, ColumnKind, Dataset, Index, Nulls, RowRule, Table};
use load::datum::Datum;
use load::rng::Rng;

pub const DISTRICTS: u64 = 10;
pub const ITEMS: u64 = 100_000;
/// The number of customers of a district.
pub const CUSTOMERS: u64 = 3_000;
/// Lines of an order.
pub const LINES: std::ops::RangeInclusive<i64> = 5..=15;

/// The tables are the same for everybody, whatever a run's seed.
const SEED: u64 = 0x6f72_6465_7273;
/// When everything was entered.
pub const ENTERED_TEXT: &str = "2026-01-01 00:00:00";
const ENTERED: Datum = Datum::Text(Cow::Borrowed(ENTERED_TEXT));

/// Bytes of a warehouse and of all items, with their indexes; as measured in PostgreSQL 15.
const WAREHOUSE_BYTES: u64 = 105_000_000;
const ITEMS_BYTES: u64 = 14_000_000;

/// Tests have smaller ones than the specification's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub warehouses: u64,
    pub items: u64,
    /// The number of customers of each district, and of its first orders.
    pub customers: u64,
}

impl Size {
    /// The size of the specification's tables for a number of warehouses.
    pub fn for_warehouses(warehouses: u64) -> Size {
        Size { warehouses, items: ITEMS, customers: CUSTOMERS }
    }

    /// Number of districts of all warehouses.
    pub fn district_count(self) -> u64 {
        self.warehouses * DISTRICTS
    }

    /// Number of a district's first orders that have been delivered: 2,100 of 3,000.
    pub fn delivered_orders(self) -> u64 {
        self.customers * 7 / 10
    }

    /// Whether items and customers are as many as the specification has.
    fn is_specification_size(self) -> bool {
        self == Size::for_warehouses(self.warehouses)
    }
}

#[derive(Clone, Copy)]
enum Part {
    Item,
    Warehouse,
    Stock,
    District,
    Customer,
    History,
    Order,
    Line,
}

/// Makes the random numbers of one row.
fn row_rng(part: Part, index: u64) -> Rng {
    Rng::of_transaction(SEED, part as u32, index)
}

/// A district, counted from 0 over all warehouses.
#[derive(Clone, Copy)]
struct Place(u64);

impl Place {
    /// Number of the district's warehouse, from 1.
    fn warehouse_number(self) -> Datum {
        number_datum(self.0 / DISTRICTS + 1)
    }

    /// Number of the district in its warehouse, 1 to 10.
    fn district_number(self) -> Datum {
        number_datum(self.0 % DISTRICTS + 1)
    }
}

/// Makes a whole number's value.
fn number_datum(value: u64) -> Datum {
    Datum::Int(value as i64)
}

/// Makes the data set of the nine tables at this size, with their rules and indexes.
pub fn dataset(size: Size) -> Dataset {
    let lines = district_line_count(size.customers);
    let undelivered = size.customers - size.delivered_orders();
    let table = |name: &'static str, columns, primary_key, rows: u64, row| Table {
        name: Cow::Borrowed(name),
        columns,
        primary_key,
        create: None,
        rows,
        // The items are all warehouses' own.
        unit_rows: if name == "item" { 1 } else { rows / size.warehouses.max(1) },
        row,
    };
    let tables = vec![
        table("item", item_columns(), &["i_id"][..], size.items, Arc::new(item_row) as RowRule),
        table("warehouse", warehouse_columns(), &["w_id"], size.warehouses, warehouse_row(size)),
        table("stock", stock_columns(), &["s_w_id", "s_i_id"], size.warehouses * size.items, stock_row(size)),
        table("district", district_columns(), &["d_w_id", "d_id"], size.district_count(), district_row(size)),
        table(
            "customer",
            customer_columns(),
            &["c_w_id", "c_d_id", "c_id"],
            size.district_count() * size.customers,
            customer_row(size),
        ),
        table("history", history_columns(), &[], size.district_count() * size.customers, history_row(size)),
        table(
            "orders",
            order_columns(),
            &["o_w_id", "o_d_id", "o_id"],
            size.district_count() * size.customers,
            order_row(size),
        ),
        table(
            "new_order",
            new_order_columns(),
            &["no_w_id", "no_d_id", "no_o_id"],
            size.district_count() * undelivered,
            new_order_row(size),
        ),
        table(
            "order_line",
            line_columns(),
            &["ol_w_id", "ol_d_id", "ol_o_id", "ol_number"],
            size.district_count() * lines,
            line_row(size),
        ),
    ];
    let by_name = &["c_w_id", "c_d_id", "c_last", "c_first"];
    let by_customer = &["o_w_id", "o_d_id", "o_c_id", "o_id"];
    let smaller = if size.is_specification_size() {
        String::new()
    } else {
        format!(", of {} items and {} customers of a district", size.items, size.customers)
    };
    Dataset {
        name: format!(
            "order entry, {} warehouse{}{smaller}",
            size.warehouses,
            if size.warehouses == 1 { "" } else { "s" }
        ),
        tables,
        indexes: vec![
            Index { name: "customer_by_name", table: "customer", columns: by_name },
            Index { name: "orders_by_customer", table: "orders", columns: by_customer },
        ],
        size_bytes: size.warehouses * WAREHOUSE_BYTES + ITEMS_BYTES,
        ..Dataset::default()
    }
}

/// Makes columns of names and kinds; all but two refuse NULL.
fn make_columns(of: &[(&'static str, ColumnKind)]) -> Vec<Column> {
    of.iter()
        .map(|(name, kind)| Column {
            name,
            kind: *kind,
            nulls: match *name {
                "o_carrier_id" | "ol_delivery_d" => Nulls::Allowed,
                _ => Nulls::Refused,
            },
        })
        .collect()
}

use ColumnKind::{Char, Decimal, Int, Timestamp, VarChar};

/// Columns of the table `item`.
fn item_columns() -> Vec<Column> {
    make_columns(&[
        ("i_id", Int),
        ("i_im_id", Int),
        ("i_name", VarChar(24)),
        ("i_price", Decimal(5, 2)),
        ("i_data", VarChar(50)),
    ])
}

/// Appends the columns of an item.
fn item_row(index: u64, row: &mut Vec<Datum>) {
    let rng = &mut row_rng(Part::Item, index);
    row.push(number_datum(index + 1));
    row.push(Datum::Int(rng.int_between(1, 10_000)));
    row.push(random_text(rng, 14, 24));
    row.push(decimal_datum(rng.int_between(100, 10_000), 100));
    row.push(item_data(rng));
}

/// Columns of the table `warehouse`.
fn warehouse_columns() -> Vec<Column> {
    make_columns(&[
        ("w_id", Int),
        ("w_name", VarChar(10)),
        ("w_street_1", VarChar(20)),
        ("w_street_2", VarChar(20)),
        ("w_city", VarChar(20)),
        ("w_state", Char(2)),
        ("w_zip", Char(9)),
        ("w_tax", Decimal(4, 4)),
        ("w_ytd", Decimal(12, 2)),
    ])
}

/// Draws an address: two streets, city, state and zip code; appends its values to a row.
fn address_values(rng: &mut Rng, row: &mut Vec<Datum>) {
    for _ in 0..3 {
        row.push(random_text(rng, 10, 20));
    }
    row.push(random_state(rng));
    row.push(random_zip(rng));
}

/// The rule that makes the rows of warehouses.
fn warehouse_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let rng = &mut row_rng(Part::Warehouse, index);
        row.push(number_datum(index + 1));
        row.push(random_text(rng, 6, 10));
        address_values(rng, row);
        row.push(decimal_datum(rng.int_between(0, 2_000), 10_000));
        // What the customers of all districts have paid: 300,000.00 by the specification's size.
        row.push(number_datum(DISTRICTS * size.customers * 10));
    })
}

/// Columns of the table `stock`.
fn stock_columns() -> Vec<Column> {
    make_columns(&[
        ("s_i_id", Int),
        ("s_w_id", Int),
        ("s_quantity", Int),
        ("s_dist_01", Char(24)),
        ("s_dist_02", Char(24)),
        ("s_dist_03", Char(24)),
        ("s_dist_04", Char(24)),
        ("s_dist_05", Char(24)),
        ("s_dist_06", Char(24)),
        ("s_dist_07", Char(24)),
        ("s_dist_08", Char(24)),
        ("s_dist_09", Char(24)),
        ("s_dist_10", Char(24)),
        ("s_ytd", Int),
        ("s_order_cnt", Int),
        ("s_remote_cnt", Int),
        ("s_data", VarChar(50)),
    ])
}

/// Draws the quantity that a stock begins with.
fn first_quantity(rng: &mut Rng) -> i64 {
    rng.int_between(10, 100)
}

/// Sums up the pieces of the first stock, plain and weighted by each item's number modulo 90 plus one.
pub fn first_pieces(size: Size) -> (i64, i64) {
    let all = (0..size.warehouses * size.items)
        .map(|index| (first_quantity(&mut row_rng(Part::Stock, index)), (index % size.items + 1) as i64));
    all.fold((0, 0), |(pieces, weighed), (of_item, item)| (pieces + of_item, weighed + of_item * (item % 90 + 1)))
}

/// The rule that makes the rows of stock.
fn stock_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let rng = &mut row_rng(Part::Stock, index);
        row.push(number_datum(index % size.items + 1));
        row.push(number_datum(index / size.items + 1));
        row.push(Datum::Int(first_quantity(rng)));
        for _ in 0..DISTRICTS {
            row.push(random_text(rng, 24, 24));
        }
        row.extend([Datum::Int(0), Datum::Int(0), Datum::Int(0)]);
        row.push(item_data(rng));
    })
}

/// Columns of the table `district`.
fn district_columns() -> Vec<Column> {
    make_columns(&[
        ("d_id", Int),
        ("d_w_id", Int),
        ("d_name", VarChar(10)),
        ("d_street_1", VarChar(20)),
        ("d_street_2", VarChar(20)),
        ("d_city", VarChar(20)),
        ("d_state", Char(2)),
        ("d_zip", Char(9)),
        ("d_tax", Decimal(4, 4)),
        ("d_ytd", Decimal(12, 2)),
        ("d_next_o_id", Int),
    ])
}

/// The rule that makes the rows of districts.
fn district_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let rng = &mut row_rng(Part::District, index);
        row.extend([Place(index).district_number(), Place(index).warehouse_number()]);
        row.push(random_text(rng, 6, 10));
        address_values(rng, row);
        row.push(decimal_datum(rng.int_between(0, 2_000), 10_000));
        row.push(number_datum(size.customers * 10));
        row.push(number_datum(size.customers + 1));
    })
}

/// Columns of the table `customer`.
fn customer_columns() -> Vec<Column> {
    make_columns(&[
        ("c_id", Int),
        ("c_d_id", Int),
        ("c_w_id", Int),
        ("c_first", VarChar(16)),
        ("c_middle", Char(2)),
        ("c_last", VarChar(16)),
        ("c_street_1", VarChar(20)),
        ("c_street_2", VarChar(20)),
        ("c_city", VarChar(20)),
        ("c_state", Char(2)),
        ("c_zip", Char(9)),
        ("c_phone", Char(16)),
        ("c_since", Timestamp),
        ("c_credit", Char(2)),
        ("c_credit_lim", Decimal(12, 2)),
        ("c_discount", Decimal(4, 4)),
        ("c_balance", Decimal(12, 2)),
        ("c_ytd_payment", Decimal(12, 2)),
        ("c_payment_cnt", Int),
        ("c_delivery_cnt", Int),
        ("c_data", VarChar(500)),
    ])
}

/// The rule that makes the rows of customers.
fn customer_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let rng = &mut row_rng(Part::Customer, index);
        let (place, customer) = (Place(index / size.customers), index % size.customers);
        row.extend([number_datum(customer + 1), place.district_number(), place.warehouse_number()]);
        let name = if (customer as i64) < NAMES {
            customer as i64
        } else {
            Rules::SPECIFICATION.name_distribution(Constants::OF_LOAD, size).draw_value(rng)
        };
        row.push(random_text(rng, 8, 16));
        row.extend([Datum::Text("OE".into()), Datum::Text(last_name(name).into())]);
        address_values(rng, row);
        row.push(Datum::Text(random_digits(rng, 16).into()));
        row.push(ENTERED);
        row.push(Datum::Text(if rng.int_between(1, 10) == 1 { "BC" } else { "GC" }.into()));
        row.push(Datum::Int(50_000));
        row.push(decimal_datum(rng.int_between(0, 5_000), 10_000));
        row.extend([Datum::Int(-10), Datum::Int(10), Datum::Int(1), Datum::Int(0)]);
        row.push(random_text(rng, 300, 500));
    })
}

/// Columns of the table `history`.
fn history_columns() -> Vec<Column> {
    make_columns(&[
        ("h_c_id", Int),
        ("h_c_d_id", Int),
        ("h_c_w_id", Int),
        ("h_d_id", Int),
        ("h_w_id", Int),
        ("h_date", Timestamp),
        ("h_amount", Decimal(6, 2)),
        ("h_data", VarChar(24)),
    ])
}

/// The rule that makes the rows of the history.
fn history_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let place = Place(index / size.customers);
        row.extend([number_datum(index % size.customers + 1), place.district_number(), place.warehouse_number()]);
        row.extend([place.district_number(), place.warehouse_number(), ENTERED, Datum::Int(10)]);
        row.push(random_text(&mut row_rng(Part::History, index), 12, 24));
    })
}

/// Columns of the table `orders`.
fn order_columns() -> Vec<Column> {
    make_columns(&[
        ("o_id", Int),
        ("o_d_id", Int),
        ("o_w_id", Int),
        ("o_c_id", Int),
        ("o_entry_d", Timestamp),
        ("o_carrier_id", Int),
        ("o_ol_cnt", Int),
        ("o_all_local", Int),
    ])
}

/// Salt of the orders' lengths.
const LENGTHS: u64 = 0x6c65_6e67_7468;

/// Number of lines of the order with this number, 5 to 15 in turn.
fn order_length(number: u64) -> u64 {
    let (fewest, most) = (*LINES.start() as u64, *LINES.end() as u64);
    fewest + number % (most - fewest + 1)
}

/// Number of lines of a district's first order.
///
/// Every district has as many orders of each length, in an order of its own, so that all have as many lines.
fn first_order_lines(district: Place, order: u64, orders: u64) -> u64 {
    order_length(shuffled_index(SEED ^ LENGTHS ^ district.0, orders, order))
}

/// Number of lines of all of a district's first orders.
fn district_line_count(orders: u64) -> u64 {
    (0..orders).map(order_length).sum()
}

/// The rule that makes the rows of orders.
fn order_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let (place, order) = (Place(index / size.customers), index % size.customers);
        row.extend([number_datum(order + 1), place.district_number(), place.warehouse_number()]);
        row.push(number_datum(shuffled_index(SEED ^ place.0, size.customers, order) + 1));
        row.push(ENTERED);
        row.push(if order < size.delivered_orders() {
            Datum::Int(Rng::of_transaction(SEED, Part::Order as u32, !index).int_between(1, 10))
        } else {
            Datum::Null
        });
        row.extend([number_datum(first_order_lines(place, order, size.customers)), Datum::Int(1)]);
    })
}

/// Columns of the table `new_order`.
fn new_order_columns() -> Vec<Column> {
    make_columns(&[("no_o_id", Int), ("no_d_id", Int), ("no_w_id", Int)])
}

/// The rule that makes the rows of orders not yet delivered.
fn new_order_row(size: Size) -> RowRule {
    Arc::new(move |index, row| {
        let undelivered = size.customers - size.delivered_orders();
        let place = Place(index / undelivered);
        row.extend([
            number_datum(size.delivered_orders() + index % undelivered + 1),
            place.district_number(),
            place.warehouse_number(),
        ]);
    })
}

/// Columns of the table `order_line`.
fn line_columns() -> Vec<Column> {
    make_columns(&[
        ("ol_o_id", Int),
        ("ol_d_id", Int),
        ("ol_w_id", Int),
        ("ol_number", Int),
        ("ol_i_id", Int),
        ("ol_supply_w_id", Int),
        ("ol_delivery_d", Timestamp),
        ("ol_quantity", Int),
        ("ol_amount", Decimal(6, 2)),
        ("ol_dist_info", Char(24)),
    ])
}

/// Lists the number of the line, within its district, at which each first order begins.
fn first_lines(district: Place, orders: u64) -> Vec<u64> {
    (0..orders)
        .scan(0, |at: &mut u64, order| {
            let start = *at;
            *at += first_order_lines(district, order, orders);
            Some(start)
        })
        .collect()
}

/// The lines of a district, kept for its next row: rows are asked for one after the other.
#[derive(Default)]
struct LinesOf {
    /// Its number, and how many orders it has.
    district: Option<(u64, u64)>,
    starts: Vec<u64>,
}

/// The rule that makes the rows of order lines.
fn line_row(size: Size) -> RowRule {
    thread_local! {
        static LAST: RefCell<LinesOf> = RefCell::default();
    }
    let of_district = district_line_count(size.customers);
    Arc::new(move |index, row| {
        let (district, within) = (index / of_district, index % of_district);
        LAST.with_borrow_mut(|last| {
            if last.district != Some((district, size.customers)) {
                *last = LinesOf {
                    district: Some((district, size.customers)),
                    starts: first_lines(Place(district), size.customers),
                };
            }
            let order = last.starts.partition_point(|start| *start <= within) as u64 - 1;
            let line = within - last.starts[order as usize];
            line_values(Place(district), order, line, size, &mut row_rng(Part::Line, index), row);
        });
    })
}

/// Appends the columns of an order line.
fn line_values(place: Place, order: u64, line: u64, size: Size, rng: &mut Rng, row: &mut Vec<Datum>) {
    let is_delivered = order < size.delivered_orders();
    row.extend([number_datum(order + 1), place.district_number(), place.warehouse_number(), number_datum(line + 1)]);
    row.push(Datum::Int(rng.int_between(1, size.items as i64)));
    row.push(place.warehouse_number());
    row.push(if is_delivered { ENTERED } else { Datum::Null });
    row.push(Datum::Int(5));
    row.push(if is_delivered { Datum::Int(0) } else { decimal_datum(rng.int_between(1, 999_999), 100) });
    row.push(Datum::Text(random_letters(rng, 24).into()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_belongs_to_its_order() {
        let size = Size { warehouses: 2, items: 100, customers: 30 };
        let data = dataset(size);
        let table = |name: &str| data.tables.iter().find(|table| table.name == name).unwrap();
        let rows = |name: &str| -> Vec<Vec<Datum>> {
            let table = table(name);
            (0..table.rows)
                .map(|index| {
                    let mut row = Vec::new();
                    (table.row)(index, &mut row);
                    assert_eq!(row.len(), table.columns.len(), "{name}");
                    row
                })
                .collect()
        };
        let mut counted = std::collections::BTreeMap::<(i64, i64, i64), i64>::new();
        for line in rows("order_line") {
            let key = (whole(&line[2]), whole(&line[1]), whole(&line[0]));
            let number = counted.entry(key).or_default();
            *number += 1;
            assert_eq!(whole(&line[3]), *number, "numbered from 1");
        }
        let orders = rows("orders");
        assert_eq!(orders.len(), 600);
        for order in &orders {
            let key = (whole(&order[2]), whole(&order[1]), whole(&order[0]));
            assert_eq!(counted[&key], whole(&order[6]));
            assert_eq!(order[5] == Datum::Null, whole(&order[0]) > 21);
        }
        let customers: std::collections::BTreeSet<i64> = orders[..30].iter().map(|order| whole(&order[3])).collect();
        assert!(customers.into_iter().eq(1..=30), "one order each");
        assert_eq!((whole(&rows("new_order")[0][0]), rows("new_order").len()), (22, 180));
        for name in ["item", "warehouse", "stock", "district", "customer", "history"] {
            rows(name);
        }
    }

    fn whole(datum: &Datum) -> i64 {
        datum.as_int().unwrap()
    }

    #[test]
    fn parts_are_whole_warehouses_and_leave_nothing_out() {
        let data = dataset(Size::for_warehouses(40));
        let parts = data.split_into_parts();
        for (place, table) in data.tables.iter().enumerate() {
            let mut next = 0;
            for part in parts.iter().filter(|part| part.table == place) {
                assert_eq!((part.rows.start, part.rows.start % table.unit_rows), (next, 0), "{}", table.name);
                next = part.rows.end;
            }
            assert_eq!(next, table.rows, "{}", table.name);
        }
        let of = |name: &str| parts.iter().filter(|part| data.tables[part.table].name == name).count();
        assert_eq!((of("stock"), of("order_line"), of("warehouse")), (40, 40, 1));
        assert_eq!(of("customer"), 20, "two warehouses each");
    }

    #[test]
    fn lines_are_evenly_five_to_fifteen_in_every_district() {
        for district in [0, 1, 77] {
            let lines: Vec<u64> = (0..3_000).map(|order| first_order_lines(Place(district), order, 3_000)).collect();
            assert!(
                (5..=15).all(|length| (272..=273).contains(&lines.iter().filter(|lines| **lines == length).count())),
                "{district}"
            );
            let longer = lines.windows(2).filter(|pair| pair[1] > pair[0]).count();
            assert!((1_250..1_500).contains(&longer), "{longer}: in no order");
            assert_eq!(lines.iter().sum::<u64>(), district_line_count(3_000));
        }
    }

    /// `etalon plan` asks for the rows of every size.
    #[test]
    fn ten_thousand_warehouses_are_described_at_once() {
        let began = std::time::Instant::now();
        let data = dataset(Size::for_warehouses(10_000));
        assert_eq!(data.tables[8].rows, 100_000 * district_line_count(3_000));
        assert!(began.elapsed().as_secs() < 2, "{:?}", began.elapsed());
    }
}
