//! Order entry, whole: its load, its five transactions in both forms, and what is asked afterwards.

use std::collections::BTreeSet;

use conductor::{ExperimentEnd, Registry};
use model::plan::Changes;
use workloads::order_entry::OrderEntryWorkload;

use crate::experiment::{Outcome, attempt_with};
use crate::tds_server::{Asked, Parameter, Reply, Server, error, result, touched};

const SMALL: OrderEntryWorkload =
    OrderEntryWorkload { name: "order-entry-small", items: 1_000, customers: 120, ..OrderEntryWorkload::BUILT_IN };
/// Of the ten districts of a warehouse.
const FIRST_ORDERS: i64 = 1_200;
const FIRST_DELIVERED: i64 = 840;
const DESCRIBE: &str = "EXEC sys.sp_describe_undeclared_parameters @tsql = N'";

/// What the claims of the terminals are compared with.
#[derive(Clone, Copy, Default)]
struct Rows {
    orders: i64,
    order_places: i64,
    lines: i64,
    pieces: i64,
    items: i64,
    payments: i64,
    large_payments: i64,
    payment_places: i64,
    payers: i64,
    payer_names: i64,
    noted: i64,
    delivered: i64,
    carriers: i64,
    delivered_places: i64,
}

/// The load's payments: one of each customer at the customer's own district.
const FIRST_PAYMENT_PLACES: i64 = 120 * (10 * (13 + 1_009) + 55 * (131 + 10_007));
const FIRST_PAYERS: i64 = 10 * 120 * 121 / 2;

/// Answers what order entry asks, by the statements' first words.
#[derive(Default)]
struct Desk {
    committed: Rows,
    /// Of the open transaction: there is one terminal.
    pending: Rows,
    last_name: String,
    has_bad_credit: bool,
}

/// Where an order lies, and for which customer it is or which number it has, as the claims weigh it.
fn place(warehouse: i64, district: i64, number: i64) -> i64 {
    warehouse * 10_007 + district * 131 + number
}

fn whole(parameter: &Parameter) -> i64 {
    if let Parameter::Int(number) = parameter { *number } else { panic!("{parameter:?} is no whole number") }
}

fn characters(parameter: &Parameter) -> &str {
    if let Parameter::Text(text) = parameter { text } else { panic!("{parameter:?} is no text") }
}

/// Cells that begin with `#` are whole numbers.
fn rows(all: &[&[&str]]) -> Vec<u8> {
    let names: Vec<&str> = all[0].iter().map(|cell| if cell.starts_with('#') { "#n" } else { "t" }).collect();
    let values: Vec<Vec<Option<&str>>> = all
        .iter()
        .map(|row| row.iter().map(|cell| Some(cell.trim_start_matches('#')).filter(|cell| *cell != "NULL")).collect())
        .collect();
    let values: Vec<&[Option<&str>]> = values.iter().map(Vec::as_slice).collect();
    result(&names, &values)
}

/// A row for each of these items.
fn of_items(items: &[Parameter], row: impl Fn(i64) -> Vec<String>) -> Vec<u8> {
    let told: Vec<Vec<String>> = items.iter().map(whole).filter(|item| *item <= 1_000).map(row).collect();
    let told: Vec<Vec<&str>> = told.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    rows(&told.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

impl Desk {
    fn answer(&mut self, sql: &str, parameters: &[Parameter]) -> Option<Vec<u8>> {
        let number = |number: i64| Some(rows(&[&[&format!("#{number}")]]));
        match sql {
            sql if sql.starts_with(DESCRIBE) => {
                // It knows no types: étalon takes them from the values.
                let unknown = error(11_503, 1, 16, "The parameter type cannot be deduced.");
                if let Reply::Tokens(tokens) = unknown { Some(tokens) } else { None }
            }
            sql if sql.starts_with("CREATE DATABASE") => {
                *self = Desk::default();
                None
            }
            sql if sql.starts_with("COMMIT") => {
                self.commit();
                None
            }
            sql if sql.contains("ROLLBACK") && !sql.starts_with("CREATE PROCEDURE") => {
                self.pending = Rows::default();
                None
            }
            "SELECT count(*) FROM orders" => number(FIRST_ORDERS + self.committed.orders),
            "SELECT count(*) FROM history" => number(FIRST_ORDERS + self.committed.payments),
            "SELECT count(*) FROM orders WHERE o_carrier_id IS NOT NULL" => {
                number(FIRST_DELIVERED + self.committed.delivered)
            }
            sql if self.claimed(sql).is_some() => number(self.claimed(sql).unwrap_or_default()),
            // The rows that do not keep a condition.
            sql if sql.starts_with("SELECT count(*) FROM") => number(0),
            sql if sql.starts_with("EXEC ") => self.call(sql, parameters),
            sql if parameters.is_empty() || sql.contains("pgbench") => None,
            sql if sql.starts_with("SELECT") => Some(self.read(sql, parameters)),
            sql => {
                self.write(sql, parameters);
                // An order has five lines at least.
                Some(touched(if sql.starts_with("UPDATE order_line") { 5 } else { 1 }))
            }
        }
    }

    /// The answer of a question that the claims ask, if it is one.
    fn claimed(&self, sql: &str) -> Option<i64> {
        let rows = &self.committed;
        let lines = "FROM district d JOIN order_line ol";
        let starts = |words: &str| sql.starts_with(words);
        match () {
            () if starts("SELECT sum(1.0 * (10007 * o.o_w_id + 131 * o.o_d_id + o.o_id))") => {
                Some(rows.delivered_places)
            }
            () if starts("SELECT sum(1.0 * (10007 * o.o_w_id") => Some(rows.order_places),
            () if starts("SELECT count(*) FROM district d JOIN order_line ol") && sql.contains("<>") => Some(0),
            () if starts(&format!("SELECT count(*) {lines}")) => Some(rows.lines),
            () if starts(&format!("SELECT sum(1.0 * ol.ol_quantity) {lines}")) => Some(rows.pieces),
            () if starts(&format!("SELECT sum(1.0 * ol.ol_i_id) {lines}")) => Some(rows.items),
            () if starts("SELECT count(*) FROM history WHERE h_c_w_id <> h_w_id") => Some(0),
            () if starts("SELECT count(*) FROM history WHERE h_amount > 2500") => Some(rows.large_payments),
            () if starts("SELECT sum(1.0 * (13 * h_w_id") => Some(FIRST_PAYMENT_PLACES + rows.payment_places),
            () if starts("SELECT sum(1.0 * h_c_id) FROM history") => Some(FIRST_PAYERS + rows.payers),
            () if starts("SELECT sum(1.0 * (CASE") => Some(rows.payer_names),
            () if starts("SELECT count(*) FROM history h JOIN customer c") && sql.contains("c_credit") => {
                Some(rows.noted)
            }
            () if starts("SELECT count(*) FROM history h JOIN customer c") => Some(rows.payments),
            () if starts("SELECT sum(1.0 * o.o_carrier_id)") => Some(rows.carriers),
            () if starts("SELECT max(w.most - w.least)") => Some(0),
            () => None,
        }
    }

    fn write(&mut self, sql: &str, parameters: &[Parameter]) {
        let whole = |place: usize| whole(&parameters[place]);
        if sql.starts_with("INSERT INTO orders") {
            self.pending.orders += 1;
            self.pending.order_places += place(whole(2), whole(1), whole(3));
        } else if sql.starts_with("INSERT INTO order_line") {
            self.pending.lines += 1;
            self.pending.items += whole(4);
            self.pending.pieces += whole(6);
        } else if sql.starts_with("INSERT INTO history") {
            let Parameter::Double(amount) = parameters[5] else { panic!("{:?} is no amount", parameters[5]) };
            let places = [0, 1, 2, 3, 4].map(whole);
            let (name, has_bad_credit) = (self.last_name.clone(), self.has_bad_credit);
            self.pay(places, amount, &name, has_bad_credit);
        } else if sql.starts_with("UPDATE orders") {
            self.pending.delivered += 1;
            self.pending.carriers += whole(0);
            self.pending.delivered_places += place(whole(1), whole(2), whole(3));
        }
    }

    /// A payment of a customer, by number, district and warehouse, made at a district and a warehouse.
    fn pay(
        &mut self,
        [customer, of_district, of_warehouse, district, warehouse]: [i64; 5],
        amount: f64,
        name: &str,
        bad: bool,
    ) {
        let rows = &mut self.pending;
        rows.payments += 1;
        rows.payers += customer;
        rows.payment_places += warehouse * 13 + district * 131 + of_warehouse * 1_009 + of_district * 10_007;
        rows.large_payments += i64::from(amount > 2_500.004);
        if (amount - 10.0).abs() > 0.004 {
            rows.payer_names += name_mark(name);
            rows.noted += i64::from(bad);
        }
    }

    fn commit(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let rows = &mut self.committed;
        for (sum, more) in [
            (&mut rows.orders, pending.orders),
            (&mut rows.order_places, pending.order_places),
            (&mut rows.lines, pending.lines),
            (&mut rows.pieces, pending.pieces),
            (&mut rows.items, pending.items),
            (&mut rows.payments, pending.payments),
            (&mut rows.large_payments, pending.large_payments),
            (&mut rows.payment_places, pending.payment_places),
            (&mut rows.payers, pending.payers),
            (&mut rows.payer_names, pending.payer_names),
            (&mut rows.noted, pending.noted),
            (&mut rows.delivered, pending.delivered),
            (&mut rows.carriers, pending.carriers),
            (&mut rows.delivered_places, pending.delivered_places),
        ] {
            *sum += more;
        }
    }

    fn read(&mut self, sql: &str, parameters: &[Parameter]) -> Vec<u8> {
        let name = self.last_name.clone();
        let from = |words: &str| sql.starts_with(&format!("SELECT {words}"));
        if from("d_next_o_id") {
            rows(&[&["#3001", "0.0500"]])
        } else if from("w_tax") {
            rows(&[&["0.0500"]])
        } else if from("c_discount") {
            rows(&[&["0.1000", "BARBARBAR", "GC"]])
        } else if from("i_id") {
            of_items(parameters, |item| vec![format!("#{item}"), "2.50".into(), "pen".into(), "data".into()])
        } else if from("s_w_id, s_i_id, s_quantity, s_data, CASE") {
            of_items(&parameters[2..], |item| {
                ["#1", &format!("#{item}"), "#50", "data", "info of a district"].map(str::to_owned).to_vec()
            })
        } else if from("w_name") || from("d_name") {
            rows(&[&["name", "street", "street", "city", "ST", "123411111"]])
        } else if from("c_id") {
            self.last_name = characters(&parameters[2]).to_owned();
            rows(&[&["#7"], &["#8"], &["#9"]])
        } else if from("c_first") {
            self.has_bad_credit = !self.has_bad_credit;
            let credit = if self.has_bad_credit { "BC" } else { "GC" };
            rows(&[&["A", "OE", &name, "s", "s", "c", "ST", "1", "2", "3", credit, "50000.00", "0.1000", "-10.00"]])
        } else if from("c_data") {
            rows(&[&["data"]])
        } else if from("c_balance") {
            rows(&[&["-10.00", "A", "OE", &name]])
        } else if from("o_id") {
            rows(&[&["#11", "2026-01-01 00:00:00", "NULL"]])
        } else if from("ol_i_id") {
            rows(&[&["#1", "#1", "#5", "12.50", "NULL"][..]; 5])
        } else if from("TOP (1) no_o_id") {
            rows(&[&["#12"]])
        } else if from("o_c_id") {
            rows(&[&["#5", "NULL"]])
        } else if from("sum(ol_amount)") {
            rows(&[&["62.50"]])
        } else if from("count(DISTINCT s_i_id)") {
            rows(&[&["#3"]])
        } else {
            panic!("nothing answers {sql}")
        }
    }

    /// A procedure is a transaction of its own.
    fn call(&mut self, sql: &str, parameters: &[Parameter]) -> Option<Vec<u8>> {
        let procedure = sql.strip_prefix("EXEC ")?.split(' ').next()?;
        let told = match procedure {
            "enter_order" => self.enter_order(parameters),
            "enter_payment" => {
                let (customer, name) = customer(&parameters[4..6]);
                let Parameter::Double(amount) = parameters[6] else { panic!("{:?} is no amount", parameters[6]) };
                let number = customer.trim_start_matches('#').parse().unwrap();
                let [warehouse, district, of_warehouse, of_district] =
                    [0, 1, 2, 3].map(|place| whole(&parameters[place]));
                self.pay([number, of_district, of_warehouse, district, warehouse], amount, &name, false);
                rows(&[&[&customer, "warehouse", "district", &name, "about", "GC", "-10.00", "NULL"]])
            }
            "order_status" => {
                let (customer, name) = customer(&parameters[2..4]);
                let lines = "1|1|5|12.50|;".repeat(5);
                rows(&[&[&customer, "-10.00", "A", "OE", &name, "#11", "2026-01-01 00:00:00", "NULL", &lines]])
            }
            "deliver_orders" => {
                self.pending.delivered = 10;
                self.pending.carriers = 10 * whole(&parameters[1]);
                let warehouse = whole(&parameters[0]);
                self.pending.delivered_places = (1..=10).map(|district| place(warehouse, district, 12)).sum();
                let orders: String = (1..=10).map(|district| format!("{district}|12;")).collect();
                rows(&[&["#10", "#0", &orders]])
            }
            "stock_level" => rows(&[&["#3"]]),
            _ => return None,
        };
        self.commit();
        Some(told)
    }

    /// Lines of 13 characters, at 2.50 each piece.
    fn enter_order(&mut self, parameters: &[Parameter]) -> Vec<u8> {
        let lines = characters(&parameters[5]);
        let lines: Vec<&str> = (0..lines.len() / 13).map(|line| &lines[13 * line..13 * line + 13]).collect();
        let part = |line: &str, from: usize, to: usize| line[from..to].parse::<i64>().unwrap();
        if lines.iter().any(|line| part(line, 0, 6) > 1_000) {
            return rows(&[&["#0", "#3001", "2026-01-01", "BAR", "GC", "0.1000", "0.0500", "0.0500", "NULL", ""]]);
        }
        let [warehouse, district, customer] = [0, 1, 2].map(|place| whole(&parameters[place]));
        self.pending.orders = 1;
        self.pending.order_places = place(warehouse, district, customer);
        self.pending.lines = lines.len() as i64;
        self.pending.items = lines.iter().map(|line| part(line, 0, 6)).sum();
        self.pending.pieces = lines.iter().map(|line| part(line, 11, 13)).sum();
        let amounts: Vec<f64> = lines.iter().map(|line| 2.5 * part(line, 11, 13) as f64).collect();
        let shown: String = amounts.iter().map(|amount| format!("pen|50|G|2.50|{amount:.2};")).collect();
        let total = format!("{:.2}", amounts.iter().sum::<f64>() * 0.9 * 1.1);
        rows(&[&["#1", "#3001", "2026-01-01", "BAR", "GC", "0.1000", "0.0500", "0.0500", &total, &shown]])
    }
}

/// The first and the last of a name's syllables.
fn name_mark(name: &str) -> i64 {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    let place =
        |is_it: &dyn Fn(&str) -> bool| SYLLABLES.iter().position(|syllable| is_it(syllable)).unwrap_or_default();
    let (first, last) = (place(&|syllable| name.starts_with(syllable)), place(&|syllable| name.ends_with(syllable)));
    (10 * first + last) as i64
}

/// By number, or by name.
fn customer(asked: &[Parameter]) -> (String, String) {
    match (whole(&asked[0]), characters(&asked[1])) {
        (0, name) => ("#7".to_owned(), name.to_owned()),
        (number, _) => (format!("#{number}"), "BARBARBAR".to_owned()),
    }
}

/// A run of one terminal, by `calls`.
fn entered(calls: &str) -> (Server, Outcome) {
    let server = Server::plain();
    let mut desk = Desk::default();
    server.database().statements = Some(Box::new(move |sql, parameters| desk.answer(sql, parameters)));
    let plan = format!(
        "[systems.there]\nurl = \"{}\"\n[[benchmarks]]\nworkload = \"order-entry-small\"\ncalls = \"{calls}\"\nclients = 1\n\
         conditions = \"all\"\n[schedule]\nrounds = 1\nwarmup = \"0s\"\nduration = \"2s\"\n",
        server.url()
    );
    let registry = Registry::built_in().with_workload(&SMALL);
    let (ended, outcome) = attempt_with(&registry, &plan, &Changes::default());
    let reasons: Vec<_> = outcome.store().runs().unwrap().into_iter().filter_map(|run| run.reason).collect();
    assert_eq!(ended, ExperimentEnd::Complete { failed: 0 }, "{reasons:?}");
    assert!(outcome.value("nopm") > 0.0);
    assert_eq!((outcome.value("errors"), outcome.value("conditions_held")), (0.0, 17.0));
    for kind in ["new-order", "payment", "order-status", "delivery", "stock-level"] {
        assert!(outcome.value(&format!("throughput_{kind}")) > 0.0, "{kind}");
    }
    let facts = outcome.store().facts().unwrap();
    assert!(facts["there"].get(model::facts::ISOLATION).unwrap().starts_with("read committed"));
    assert!(!server.database().exists, "nothing of étalon's is left");
    (server, outcome)
}

/// Those whose parameters' types were asked for.
fn described(server: &Server) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for sql in server.batches() {
        let statement = sql.strip_prefix(DESCRIBE).and_then(|sql| sql.strip_suffix('\''));
        told.extend(statement.map(str::to_owned).filter(|statement| !told.contains(statement)));
    }
    told
}

fn called(server: &Server) -> BTreeSet<String> {
    let log = &server.database().log;
    log.iter().filter_map(|asked| if let Asked::Call(call) = asked { Some(call.sql.clone()) } else { None }).collect()
}

/// In order, each once; a list of values stands for the shorter ones.
fn batches(server: &Server, words: &[&str]) -> String {
    let mut told: Vec<String> = Vec::new();
    for sql in server.batches() {
        if words.iter().any(|word| sql.starts_with(word)) && !told.contains(&sql) {
            told.push(sql);
        }
    }
    told.join("\n")
}

#[test]
fn orders_are_entered_by_statements() {
    let (server, _) = entered("statements");
    let (described, called) = (described(&server), called(&server));
    let is_list = |sql: &&String| sql.contains(" IN (") || sql.contains("(s_w_id = ");
    for sql in described.iter().filter(|sql| !is_list(sql)) {
        assert!(called.contains(sql), "{sql} was never asked");
    }
    let longest = |words: &str| described.iter().rfind(|sql| sql.contains(words)).unwrap().clone();
    let mut told: Vec<String> = described.iter().filter(|sql| !is_list(sql)).cloned().collect();
    told.extend(["FROM item WHERE", "AND s_i_id IN (", "(s_w_id = "].map(longest));
    insta::assert_snapshot!("statements", told.join("\n"));
    let load = ["CREATE TABLE [", "INSERT BULK", "SELECT COUNT(*), SUM(0", "CREATE INDEX", "UPDATE STATISTICS"];
    insta::assert_snapshot!("load", batches(&server, &load));
    // Several sessions ask them, in any order.
    let asked = batches(&server, &["SELECT count(*) FROM"]);
    let mut conditions: Vec<&str> = asked.lines().collect();
    conditions.sort_unstable();
    insta::assert_snapshot!("conditions", conditions.join("\n"));
    let rows: Vec<u64> = server
        .database()
        .log
        .iter()
        .filter_map(|a| if let Asked::Rows((rows, _)) = a { Some(*rows) } else { None })
        .collect();
    assert_eq!(rows.len(), 9, "a bulk copy for each table");
    assert_eq!(rows[..8], [1_000, 1, 1_000, 10, 1_200, 1_200, 1_200, 360]);
}

#[test]
fn orders_are_entered_by_procedures() {
    let (server, _) = entered("procedure");
    assert_eq!(described(&server).into_iter().collect::<BTreeSet<_>>(), called(&server));
    assert_eq!(
        described(&server),
        [
            "EXEC enter_order @P1, @P2, @P3, @P4, @P5, @P6",
            "EXEC enter_payment @P1, @P2, @P3, @P4, @P5, @P6, @P7",
            "EXEC order_status @P1, @P2, @P3, @P4",
            "EXEC deliver_orders @P1, @P2",
            "EXEC stock_level @P1, @P2, @P3",
        ]
    );
    let made = server.batches().iter().filter(|sql| sql.contains("CREATE PROCEDURE")).count();
    assert_eq!(made, 5);
    assert!(!server.batches().iter().any(|sql| sql.starts_with("BEGIN TRAN")), "each ends its own transaction");
}
