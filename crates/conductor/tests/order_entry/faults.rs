//! Faults that other tools have, or could have, each seeded into a copy of the workload.

use std::sync::Arc;

use load::datum::Datum;
use load::observer::Observer;
use model::{Case, PlannedRun, RunRecord};
use workloads::dataset::{Dataset, Table};
use workloads::order_entry::{Ask, OrderEntryWorkload, Rules};

use crate::{SMALL, ran, ran_in_rounds, ran_watched, sqlite};

struct Fault {
    what: &'static str,
    workload: OrderEntryWorkload,
    /// In what is said of it.
    said: &'static str,
}

const FAIR: Rules = Rules::SPECIFICATION;

const fn drawn(what: &'static str, rules: Rules, said: &'static str) -> Fault {
    Fault { what, workload: OrderEntryWorkload { rules, ..SMALL }, said }
}

const fn written(what: &'static str, alter: fn(&mut Vec<String>), said: &'static str) -> Fault {
    Fault { what, workload: OrderEntryWorkload { alter, ..SMALL }, said }
}

/// Changes one statement, which must be there.
fn change(texts: &mut [String], from: &str, to: &str) {
    let mut found = texts.iter_mut().filter(|text| text.contains(from)).peekable();
    assert!(found.peek().is_some(), "no statement has `{from}`");
    found.for_each(|text| *text = text.replace(from, to));
}

/// A step of a transaction that is never sent.
const fn left_out(what: &'static str, ask: Ask, said: &'static str) -> Fault {
    drawn(what, Rules { left_out: Some(ask), ..FAIR }, said)
}

/// Faults of which the terminals, and the tables among themselves, say nothing: what was entered does not come to the rows.
static FAULTS_OF_CLAIMS: [Fault; 23] = [
    written(
        "a note of a payment that meets no customer",
        |texts| change(texts, "SET c_data = :c_data WHERE", "SET c_data = :c_data WHERE :c_w < 0 AND"),
        "rows that were changed",
    ),
    written(
        "a payment to a customer of another warehouse that is made at home",
        |texts| change(texts, ":c_w", ":w"),
        "payments by a customer of another warehouse",
    ),
    written(
        "remote lines that are taken at home",
        |texts| {
            change(texts, "s_w_id = :supply AND", "s_w_id = :w AND");
            change(texts, ":i, :supply, NULL", ":i, :w, NULL");
        },
        "remote lines",
    ),
    Fault {
        what: "a customer of a name is always the seventh",
        workload: OrderEntryWorkload {
            alter: |texts| {
                change(texts, "c_last = :c_last ORDER BY c_first", "c_id = 7 AND :c_last <> ''");
                change(texts, "c_first, c_middle, c_last, c_street_1", "c_first, c_middle, :c_last, c_street_1");
                change(
                    texts,
                    "SELECT c_balance, c_first, c_middle, c_last",
                    "SELECT c_balance, c_first, c_middle, :c_last",
                );
            },
            ..LARGER
        },
        said: "names of customers who paid",
    },
    Fault {
        what: "the first of the customers of a name pays",
        workload: OrderEntryWorkload {
            alter: |texts| change(texts, "ORDER BY c_first", "ORDER BY c_first LIMIT 1"),
            customers: 3_000,
            ..LARGER
        },
        said: "in the middle",
    },
    written(
        "items that are folded",
        |texts| {
            change(texts, "s_w_id = :supply AND s_i_id = :i", "s_w_id = :supply AND s_i_id = :i % 100 + 1");
            change(
                texts,
                ":line, :i, :supply, NULL, :quantity, :amount",
                ":line, :i % 100 + 1, :supply, NULL, :quantity, \
                 :quantity * (SELECT i_price FROM item WHERE i_id = :i % 100 + 1) + 0.0 * :amount",
            );
        },
        "items of lines",
    ),
    drawn(
        "a deck of more new orders",
        Rules { cards: [15, 5, 1, 1, 1], ..FAIR },
        "are new-order, where the specification has at most 45",
    ),
    drawn(
        "a deck without stock levels",
        Rules { cards: [10, 11, 1, 1, 0], ..FAIR },
        "are stock-level, where the specification has at least 4",
    ),
    written(
        "a delivery that serves the first district twice and the tenth never",
        |texts| {
            let first = "(CASE WHEN :d = 10 THEN 1 ELSE :d END)";
            for (from, to) in [
                ("no_d_id = :d ORDER", format!("no_d_id = {first} ORDER")),
                ("o_d_id = :d AND o_id = :o FOR", format!("o_d_id = {first} AND o_id = :o FOR")),
                ("no_d_id = :d AND no_o_id", format!("no_d_id = {first} AND no_o_id")),
                (
                    "WHERE o_w_id = :w AND o_d_id = :d AND o_id = :o",
                    format!("WHERE o_w_id = :w AND o_d_id = {first} AND o_id = :o"),
                ),
                ("ol_d_id = :d AND ol_o_id = :o", format!("ol_d_id = {first} AND ol_o_id = :o")),
                (
                    "c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = :w AND c_d_id = :d",
                    format!("c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = :w AND c_d_id = {first}"),
                ),
            ] {
                change(texts, from, &to);
            }
        },
        "places and numbers of delivered orders",
    ),
    written(
        "carriers that are always the first",
        |texts| change(texts, "o_carrier_id = :carrier", "o_carrier_id = 1 + 0 * :carrier"),
        "carriers of deliveries",
    ),
    left_out("an order status without lines", Ask::OrderLines, "Order-Status's read of the lines"),
    left_out("an order status without its order", Ask::LastOrder, "an order's line is not there"),
    left_out("a payment that reads no warehouse", Ask::WarehouseAddress, "Payment's read of the warehouse"),
    left_out("a payment that reads no customer", Ask::Customer, "Payment's read of the customer"),
    left_out("a payment that is not noted", Ask::NoteCustomer, "the note of a customer's payment"),
    left_out("an order that reads no customer", Ask::CustomerTerms, "New-Order's read of the customer"),
    left_out("an order that reads no tax", Ask::WarehouseTax, "New-Order's read of the warehouse"),
    left_out("a stock level that counts nothing", Ask::LowStock, "Stock-Level's count"),
    written(
        "an order status that reads one line",
        |texts| change(texts, "ol_d_id = :c_d AND ol_o_id = :o", "ol_d_id = :c_d AND ol_o_id = :o AND ol_number = 1"),
        "the lines of an order",
    ),
    drawn("always one piece", Rules { most_pieces: 1, ..FAIR }, "quantities of lines"),
    written(
        "lines of one piece",
        |texts| {
            change(texts, "s_ytd = s_ytd + :quantity", "s_ytd = s_ytd + 1");
            change(
                texts,
                "s_quantity >= :quantity + 10 THEN s_quantity - :quantity",
                "s_quantity >= 11 THEN s_quantity - 1",
            );
            change(texts, "s_quantity - :quantity + 91", "s_quantity - 1 + 91");
            change(texts, "NULL, :quantity, :amount", "NULL, 1, :amount / (:quantity + 0.0)");
        },
        "pieces of lines",
    ),
    written("payments of the half", |texts| change(texts, ":payment", ":payment / 2.0"), "large payments"),
    written(
        "orders of one customer",
        |texts| change(texts, "(:o, :d, :w, :c,", "(:o, :d, :w, 1 + 0 * :c,"),
        "places and customers of orders",
    ),
];

static FAULTS: [Fault; 41] = [
    drawn("half of the warehouses", Rules { warehouses_used: 50, ..FAIR }, "warehouses of transactions"),
    drawn("items of another range", Rules { items_sold: 90, ..FAIR }, "items are not drawn"),
    drawn("items drawn evenly", Rules { items_a: 0, ..FAIR }, "items are not drawn"),
    drawn("customers of another A", Rules { customers_a: 255, ..FAIR }, "customers are not drawn"),
    drawn("names of another A", Rules { names_a: 511, ..FAIR }, "names are not drawn"),
    drawn("one C for load and run", Rules { names_of_load: true, ..FAIR }, "names are not drawn"),
    drawn("nothing is rolled back", Rules { rolled_back: 0, ..FAIR }, "rolled back"),
    drawn("a tenth is rolled back", Rules { rolled_back: 10, ..FAIR }, "rolled back"),
    drawn("ten lines at most", Rules { most_lines: 10, ..FAIR }, "numbers of lines of orders"),
    drawn("always ten lines", Rules { fewest_lines: 10, most_lines: 10, ..FAIR }, "numbers of lines of orders"),
    drawn("no remote lines", Rules { remote_lines: 0, ..FAIR }, "another warehouse"),
    drawn("a tenth of remote lines", Rules { remote_lines: 10, ..FAIR }, "another warehouse"),
    drawn("everybody pays at home", Rules { at_home: 100, ..FAIR }, "by a customer of another warehouse"),
    drawn("nobody is found by name", Rules { by_name: 0, ..FAIR }, "customer by name"),
    drawn("everybody is found by name", Rules { by_name: 100, ..FAIR }, "customer by name"),
    drawn("nine districts are delivered", Rules { delivered_districts: 9, ..FAIR }, "districts"),
    written(
        "a payment that its warehouse does not see",
        |texts| change(texts, "w_ytd + :payment", "w_ytd"),
        "condition 1",
    ),
    written(
        "a payment that its district does not see",
        |texts| change(texts, "d_ytd + :payment", "d_ytd"),
        "condition 1",
    ),
    written("a payment without a history", |texts| change(texts, ":payment, :h_data", "0, :h_data"), "large payments"),
    written(
        "a payment noted in another district",
        |texts| change(texts, ":c_w, :d, :w,", ":c_w, :d % 10 + 1, :w,"),
        "places of payments",
    ),
    written(
        "a payment that its customer does not see",
        |texts| change(texts, "c_balance - :payment", "c_balance"),
        "condition 10",
    ),
    written(
        "a payment that is not added up",
        |texts| change(texts, "c_ytd_payment + :payment", "c_ytd_payment"),
        "condition 12",
    ),
    written(
        "a skipped order number",
        |texts| change(texts, "d_next_o_id + 1 WHERE", "d_next_o_id + 2 WHERE"),
        "condition",
    ),
    written(
        "an order that is not new",
        |texts| change(texts, "VALUES (:o, :d, :w)", "SELECT :o, :d, :w WHERE :o % 2 = 0"),
        "condition",
    ),
    written(
        "a dropped line",
        |texts| {
            let values = ":o, :d, :w, :line, :i, :supply, NULL, :quantity, :amount, :dist_info";
            change(texts, &format!("VALUES ({values})"), &format!("SELECT {values} WHERE :line <> 3"));
        },
        "lines of orders",
    ),
    written(
        "a commit in the loop",
        |texts| change(texts, "no_o_id = :o", "no_o_id = :o \\; COMMIT \\; BEGIN"),
        "each ends once",
    ),
    written("a line too many", |texts| change(texts, ":lines, :all_local", ":lines + 1, :all_local"), "condition 4"),
    written(
        "stock that is taken twice",
        |texts| change(texts, "s_order_cnt + 1", "s_order_cnt + 2"),
        "condition of stock",
    ),
    written(
        "a remote line that its stock does not count",
        |texts| change(texts, "s_remote_cnt + :remote", "s_remote_cnt"),
        "condition of stock",
    ),
    written(
        "stock that is taken from another item",
        |texts| change(texts, "s_w_id = :supply AND s_i_id = :i", "s_w_id = :supply AND s_i_id = :i % 1000 + 1"),
        "condition of stock",
    ),
    written(
        "stock that never changes",
        |texts| {
            change(
                texts,
                "THEN s_quantity - :quantity ELSE s_quantity - :quantity + 91 END",
                "THEN s_quantity ELSE s_quantity END",
            )
        },
        "condition of quantities",
    ),
    written(
        "stock that is refilled by ninety",
        |texts| change(texts, "s_quantity - :quantity + 91", "s_quantity - :quantity + 90"),
        "condition of quantities",
    ),
    written(
        "a payment that its customer does not count",
        |texts| change(texts, "c_payment_cnt + 1", "c_payment_cnt"),
        "condition of counts",
    ),
    written(
        "a delivery that its customer does not count",
        |texts| change(texts, "c_delivery_cnt + 1", "c_delivery_cnt"),
        "condition of counts",
    ),
    written(
        "an order that is always all local",
        |texts| change(texts, ":lines, :all_local", ":lines, 1"),
        "condition of origins",
    ),
    written(
        "lines at another price",
        |texts| change(texts, ":quantity, :amount", ":quantity, :amount + 1"),
        "condition of amounts",
    ),
    written(
        "a delivery that its lines do not see",
        |texts| change(texts, "SET ol_delivery_d = CURRENT_TIMESTAMP", "SET ol_delivery_d = NULL"),
        "condition 7",
    ),
    written(
        "a delivery that its customer does not see",
        |texts| change(texts, "c_balance + :total", "c_balance"),
        "condition 10",
    ),
    written(
        "the state of another customer",
        |texts| {
            change(
                texts,
                "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c",
                "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = :c_w AND c_d_id = :c_d AND c_id = :c % 120 + 1",
            )
        },
        "another customer",
    ),
    written(
        "another customer of those of a district pays",
        |texts| change(texts, "c_last = :c_last ORDER BY c_first", "c_last <> :c_last ORDER BY c_first LIMIT 1"),
        "another customer",
    ),
    written(
        "a delivery without a carrier",
        |texts| change(texts, "o_carrier_id = :carrier", "o_carrier_id = NULL"),
        "deliveries",
    ),
];

fn table<'d>(data: &'d mut Dataset, name: &str) -> &'d mut Table {
    data.tables.iter_mut().find(|table| table.name == name).unwrap()
}

/// Changes the rows of a table, whose numbers it is given.
fn respell(data: &mut Dataset, name: &str, change: fn(u64, &mut Vec<Datum>)) {
    let table = table(data, name);
    let rule = Arc::clone(&table.row);
    table.row = Arc::new(move |index, row| {
        rule(index, row);
        change(index, row);
    });
}

const fn loaded(what: &'static str, spoil: fn(&mut Dataset), said: &'static str) -> Fault {
    Fault { what, workload: OrderEntryWorkload { spoil, ..SMALL }, said }
}

/// With customers who are named by the uneven function.
const LARGER: OrderEntryWorkload =
    OrderEntryWorkload { name: "order-entry-larger", items: 1_000, customers: 1_500, ..OrderEntryWorkload::BUILT_IN };

static FAULTS_OF_LOADS: [Fault; 18] = [
    loaded(
        "states with digits",
        |data| respell(data, "customer", |_, row| row[9] = Datum::Text("A1".into())),
        "condition of customers",
    ),
    loaded(
        "zip codes without their end",
        |data| respell(data, "warehouse", |_, row| row[6] = Datum::Text("123456789".into())),
        "condition of warehouses",
    ),
    loaded(
        "customers who are told little of",
        |data| respell(data, "customer", |index, row| row[20] = Datum::Text(format!("few{index}").into())),
        "condition of customers",
    ),
    loaded(
        "phone numbers of letters",
        |data| respell(data, "customer", |_, row| row[11] = Datum::Text("ABCDEFGHIJKLMNOP".into())),
        "condition of customers",
    ),
    loaded("items of one price", |data| respell(data, "item", |_, row| row[3] = Datum::Int(50)), "condition of draws"),
    loaded(
        "one carrier",
        |data| {
            respell(data, "orders", |_, row| {
                if row[5] != Datum::Null {
                    row[5] = Datum::Int(5);
                }
            });
        },
        "condition of draws",
    ),
    loaded(
        "customers in the order of their numbers",
        |data| respell(data, "orders", |index, row| row[3] = Datum::Int((index % 120) as i64 + 1)),
        "condition of permutations",
    ),
    loaded(
        "lines of six pieces",
        |data| respell(data, "order_line", |_, row| row[7] = Datum::Int(6)),
        "condition of lines",
    ),
    loaded(
        "payments of another day",
        |data| respell(data, "history", |_, row| row[5] = Datum::Text("2025-01-01 00:00:00".into())),
        "condition of history",
    ),
    loaded(
        "one text for every stock",
        |data| {
            respell(data, "stock", |index, row| {
                let original = if index % 10 == 0 { "ORIGINAL" } else { "ordinary" };
                row[16] = Datum::Text(format!("abcdefghijklmnopqrst{original}").into());
            })
        },
        "condition of texts",
    ),
    loaded("a customer short", |data| table(data, "customer").rows -= 1, "condition of buyers"),
    loaded("a payment short", |data| table(data, "history").rows -= 1, "condition 8"),
    loaded(
        "a customer with two first orders",
        |data| respell(data, "orders", |index, row| row[3] = Datum::Int((index % 120 / 2 * 2 + 1) as i64)),
        "condition of rows",
    ),
    loaded(
        "nothing is original",
        |data| respell(data, "item", |_, row| row[4] = Datum::Text("as any other".into())),
        "condition of tenths",
    ),
    loaded(
        "everybody has good credit",
        |data| respell(data, "customer", |_, row| row[13] = Datum::Text("GC".into())),
        "condition of tenths",
    ),
    loaded(
        "little on stock",
        |data| respell(data, "stock", |_, row| row[2] = Datum::Int(10)),
        "condition of quantities",
    ),
    loaded(
        "names without syllables",
        |data| respell(data, "customer", |index, row| row[5] = Datum::Text(format!("NAME{}", index % 120).into())),
        "name",
    ),
    Fault {
        what: "names that are drawn evenly",
        workload: OrderEntryWorkload {
            spoil: |data| {
                let customers = table(data, "customer");
                let rule = Arc::clone(&customers.row);
                customers.row = Arc::new(move |index, row| {
                    rule(index, row);
                    let number = index % LARGER.customers;
                    if number >= 1_000 {
                        let mut named = Vec::new();
                        rule(index - number + index * 7_919 % 1_000, &mut named);
                        row[5] = named[5].clone();
                    }
                });
            },
            ..LARGER
        },
        said: "condition of names",
    },
];

#[test]
fn faults_of_the_load_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let missed = FAULTS_OF_LOADS.iter().filter_map(|Fault { what, workload, said }| {
        let (_, reason) = ran(workload, &sqlite(&folder), "warehouses = 1\nclients = 1", "1s");
        println!("{what}: {reason:?}");
        let is_found = reason.as_ref().is_some_and(|reason| reason.contains(said));
        (!is_found).then(|| format!("{what}: {reason:?}"))
    });
    let missed: Vec<String> = missed.collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    static FAIR_AND_LARGER: OrderEntryWorkload = LARGER;
    assert_eq!(ran(&FAIR_AND_LARGER, &sqlite(&folder), "warehouses = 2\nclients = 1", "1s").1, None);
}

/// Only where others write at the same time: what one has read another has changed.
#[test]
fn a_lost_update_is_found() {
    static LOST: OrderEntryWorkload = OrderEntryWorkload {
        alter: |texts| {
            let read = "(SELECT w_ytd FROM warehouse WHERE w_id = :w) + :payment";
            change(texts, "w_ytd + :payment", read);
        },
        ..SMALL
    };
    let (_, reason) = ran(&LOST, "server = { engine = \"postgres\" }", "warehouses = 1\nclients = 8", "2s");
    assert!(reason.as_ref().is_some_and(|reason| reason.contains("condition 1")), "{reason:?}");
}

/// Runs add rows to tables that stay, while what one has broken the next ones find broken.
#[test]
fn a_condition_is_not_excused_by_an_earlier_run_that_broke_it() {
    static TWICE: OrderEntryWorkload =
        OrderEntryWorkload { alter: |texts| change(texts, "s_order_cnt + 1", "s_order_cnt + 2"), ..SMALL };
    let reasons = |workload| {
        let folder = tempfile::tempdir().unwrap();
        let system = format!("{}\nreset = \"none\"", sqlite(&folder));
        let benchmark = "warehouses = 1\nclients = 1\nconditions = \"all\"";
        let (store, _) = ran_in_rounds(3, workload, &system, benchmark, "500ms");
        store.runs().unwrap().into_iter().map(|run| run.reason.unwrap_or_default()).collect::<Vec<_>>()
    };
    let (fair, twice) = (reasons(&SMALL), reasons(&TWICE));
    assert_eq!(fair, [""; 3]);
    assert!(twice.len() >= 3 && twice.iter().all(|reason| reason.contains("condition of stock")), "{twice:?}");
}

/// Breaks condition 12 beside étalon once the first run has ended, and keeps out of the quick ones' sight.
struct BesideTheFirst {
    database: std::path::PathBuf,
    is_done: bool,
}

impl Observer for BesideTheFirst {
    fn run_ended(&mut self, _: &PlannedRun, _: &Case, _: &RunRecord) {
        if !std::mem::replace(&mut self.is_done, true) {
            let database = rusqlite::Connection::open(&self.database).unwrap();
            database.execute("UPDATE customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 1", ()).unwrap();
        }
    }
}

#[test]
fn all_conditions_are_held_at_a_case_s_end_too() {
    let folder = tempfile::tempdir().unwrap();
    let system = format!("{}\nreset = \"none\"", sqlite(&folder));
    let mut beside = BesideTheFirst { database: folder.path().join("a.db"), is_done: false };
    let (store, _) = ran_watched(4, &SMALL, &system, "warehouses = 1\nclients = 1", "500ms", &mut beside);
    let runs = store.runs().unwrap();
    let reasons: Vec<&str> = runs.iter().map(|run| run.reason.as_deref().unwrap_or_default()).collect();
    assert!(reasons[..3].iter().all(|reason| reason.is_empty()), "{reasons:?}");
    assert!(reasons[3].contains("condition 12"), "{reasons:?}");
}

/// With enough orders to be rolled back in a short run on a busy machine.
const fn written_of_many(what: &'static str, alter: fn(&mut Vec<String>), said: &'static str) -> Fault {
    Fault { what, workload: OrderEntryWorkload { alter, rules: Rules { rolled_back: 20, ..FAIR }, ..SMALL }, said }
}

/// Those of procedures are found by their answers, or by what they leave.
fn missed_in_procedures(system: &str, faults: &'static [Fault]) {
    let missed = faults.iter().filter_map(|Fault { what, workload, said }| {
        let benchmark = "warehouses = 2\nclients = 2\nconditions = \"all\"\ncalls = \"procedure\"";
        let (_, reason) = ran(workload, system, benchmark, "2s");
        let is_found = reason.as_ref().is_some_and(|reason| reason.contains(said));
        (!is_found).then(|| format!("{what}: {reason:?}"))
    });
    let missed: Vec<String> = missed.collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn faults_of_postgresql_s_procedures_are_found() {
    static IN_PROCEDURES: [Fault; 5] = [
        written_of_many(
            "an order that is not rolled back",
            |texts| change(texts, "            ROLLBACK;\n", ""),
            "transactions of the server",
        ),
        written(
            "a total without taxes",
            |texts| change(texts, " * (1 + tax_of_warehouse + tax_of_district)", ""),
            "comes to",
        ),
        written(
            "another customer",
            |texts| change(texts, "customer_number := in_c;", "customer_number := in_c + 1;"),
            "another customer",
        ),
        written("nine districts are delivered", |texts| change(texts, "1 .. 10 LOOP", "1 .. 9 LOOP"), "districts"),
        written(
            "a commit in the loop",
            |texts| {
                change(
                    texts,
                    "skipped := skipped + 1;\n            CONTINUE;\n        END IF;",
                    "skipped := skipped + 1;\n            CONTINUE;\n        END IF;\n        COMMIT;",
                )
            },
            "transactions of the server",
        ),
    ];
    missed_in_procedures("server = { engine = \"postgres\" }", &IN_PROCEDURES);
}

#[test]
fn faults_of_mariadb_s_procedures_are_found() {
    static IN_PROCEDURES: [Fault; 2] = [
        written_of_many(
            "an order that is not rolled back",
            |texts| change(texts, "    ELSE\n        ROLLBACK;", "    ELSE\n        COMMIT;"),
            "COMMITs, the server",
        ),
        written(
            "a line of another price",
            |texts| {
                change(
                    texts,
                    "line_amount = line_quantity * item_price",
                    "line_amount = line_quantity * item_price + 1",
                )
            },
            "costs something else",
        ),
    ];
    missed_in_procedures("server = { engine = \"mariadb\" }", &IN_PROCEDURES);
}

#[test]
fn every_seeded_fault_is_found() {
    // One client each, so two at a time.
    let missed: Vec<String> = std::thread::scope(|scope| {
        let searches: Vec<_> =
            FAULTS.chunks(FAULTS.len().div_ceil(2)).map(|half| scope.spawn(|| missed_of(half))).collect();
        searches.into_iter().flat_map(|search| search.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), FAULTS.len(), missed.join("\n"));
}

#[test]
fn claims_that_rows_do_not_bear_out_are_found() {
    let missed = missed_of(&FAULTS_OF_CLAIMS);
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), FAULTS_OF_CLAIMS.len(), missed.join("\n"));
}

#[test]
fn claims_that_rows_do_not_bear_out_are_found_in_postgresql() {
    let missed: Vec<String> = std::thread::scope(|scope| {
        let halves = FAULTS_OF_CLAIMS.chunks(FAULTS_OF_CLAIMS.len().div_ceil(2));
        let searches: Vec<_> =
            halves.map(|half| scope.spawn(|| missed_on("server = { engine = \"postgres\" }", half))).collect();
        searches.into_iter().flat_map(|search| search.join().unwrap()).collect()
    });
    assert!(missed.is_empty(), "{} of {}:\n{}", missed.len(), FAULTS_OF_CLAIMS.len(), missed.join("\n"));
}

/// Number of true runs on each engine; more are tried with `ETALON_TRUE_RUNS=100`.
fn true_runs() -> u32 {
    std::env::var("ETALON_TRUE_RUNS").ok().and_then(|count| count.parse().ok()).unwrap_or(6)
}

#[test]
fn no_true_run_is_accused() {
    let folder = tempfile::tempdir().unwrap();
    for (system, clients) in [(sqlite(&folder).as_str(), 1), ("server = { engine = \"postgres\" }", 4)] {
        let benchmark = format!("warehouses = 2\nclients = {clients}\nconditions = \"all\"");
        let (store, reason) = ran_in_rounds(true_runs(), &SMALL, system, &benchmark, "400ms");
        assert_eq!(reason, None);
        assert_eq!(store.runs().unwrap().len(), true_runs() as usize);
    }
}

fn missed_of(faults: &'static [Fault]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    missed_on(&sqlite(&folder), faults)
}

/// Those of the faults that are missed; `ETALON_FAULT=folded` plants those only whose name has this word.
fn missed_on(system: &str, faults: &'static [Fault]) -> Vec<String> {
    let chosen = std::env::var("ETALON_FAULT").unwrap_or_default();
    let missed =
        faults.iter().filter(|fault| fault.what.contains(&chosen)).filter_map(|Fault { what, workload, said }| {
            let reason_within =
                |duration| ran(workload, system, "warehouses = 2\nclients = 1\nconditions = \"all\"", duration).1;
            let is_found = |reason: &Option<String>| reason.as_ref().is_some_and(|reason| reason.contains(said));
            // Shares of rare draws take a few thousand orders to be told apart, which a busy machine does not make in the short run.
            let durations = ["2s", "12s", "40s"];
            let mut reason = None;
            for duration in durations {
                reason = reason_within(duration);
                if is_found(&reason) {
                    break;
                }
            }
            (!is_found(&reason)).then(|| format!("{what}: {reason:?}"))
        });
    missed.collect()
}
