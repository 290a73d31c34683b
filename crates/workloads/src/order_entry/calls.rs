//! Each transaction as one call of a stored procedure, and its answer checked against what was entered.

use std::sync::Arc;

use super::audit::{Count, InputCounts};
use super::claims::order_place;
use super::deck::Kind;
use super::dialect::LINE;
use super::new_order::NewOrder;
use super::payment::count_payer;
use super::statements::{FEWEST_LINES, Field, MOST_LINES};
use super::terminal::{Fields, Steps, amount_of, found_row, missing_rows, text_of, whole_number_at};
use crate::dataset::{Dialect, EngineStatements};
use crate::transactions::{Flow, NextStep, Rows};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, OpError};
use load::stream::RequestedWork;

/// How a transaction is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    Statements,
    Procedure,
}

/// The calls by [`Kind`].
const TEXTS: [&str; 5] = [
    "CALL enter_order(:w, :d, :c, :lines, :all_local, :entered)",
    "CALL enter_payment(:w, :d, :c_w, :c_d, :c, :c_last, :payment)",
    "CALL order_status(:c_w, :c_d, :c, :c_last)",
    "CALL deliver_orders(:w, :carrier)",
    "CALL stock_level(:w, :d, :threshold)",
];

/// Texts of the statements that call the procedures.
pub fn call_texts() -> Vec<String> {
    TEXTS.map(str::to_owned).to_vec()
}

/// Prepares the statements that make order entry's stored procedures; tests change them by `alter`.
pub fn make_procedures(alter: fn(&mut Vec<String>)) -> EngineStatements {
    EngineStatements {
        made: "the procedures of order entry".to_owned(),
        are_of_user: false,
        without: (
            "stored procedures that étalon knows how to write".to_owned(),
            "write `calls = \"statements\"`, which every engine answers, or leave the system out",
        ),
        texts: Arc::new(move |dialect: &dyn Dialect| {
            let mut texts = dialect.order_entry()?.create_procedures();
            alter(&mut texts);
            Some(texts)
        }),
    }
}

/// Clears the customer's number and last name of the last transaction: a call names the one or the other.
pub fn forget_customer(fields: &mut Fields) {
    fields.set_number(Field::Customer, 0);
    fields.put_datum(Field::LastName, Datum::Text("".into()));
}

/// Writes an order's lines (item, warehouse, quantity) as the text that a procedure takes.
pub fn lines_datum(lines: impl Iterator<Item = (i64, i64, i64)>) -> Datum {
    let mut text = String::with_capacity(MOST_LINES * LINE);
    for (item, supply, quantity) in lines {
        text.push_str(&format!("{item:06}{supply:05}{quantity:02}"));
    }
    Datum::Text(text.into())
}

#[derive(Debug)]
pub struct Call {
    kind: Kind,
    /// The order of a New-Order.
    order: Option<NewOrder>,
    is_asked: bool,
    server_work: RequestedWork,
}

impl Call {
    /// Makes the call of a transaction; `order` is that of a New-Order.
    pub fn new(kind: Kind, order: Option<NewOrder>) -> Call {
        Call { kind, order, is_asked: false, server_work: RequestedWork::default() }
    }

    /// Takes what the last answer said that the procedure did in the server.
    pub fn take_server_work(&mut self) -> RequestedWork {
        std::mem::take(&mut self.server_work)
    }

    /// Checks a procedure's answer to a New-Order; true if the order was rolled back, as entered.
    fn verify_order(&self, row: &KeptRow) -> Result<bool, OpError> {
        let Some(order) = &self.order else { return Ok(false) };
        let is_entered = whole_number_at(row, 0)? == 1;
        if is_entered == order.is_rolled_back() {
            return Err(missing_rows(if is_entered { "the end of the items" } else { "an item" }));
        }
        if whole_number_at(row, 1)? < 1 {
            return Err(wrong_answer("an order has no number"));
        }
        if is_entered { verify_total(order, row).map(|()| false) } else { Ok(true) }
    }
}

/// Makes the error that a procedure's answer is not right.
fn wrong_answer(what: &str) -> OpError {
    OpError { class: ErrorClass::Script, message: format!("a procedure's answer is not right: {what}") }
}

/// Sums up the weights of the delivered orders that an answer shows, as `district|order;`.
fn delivered_places(warehouse: i64, shown: &str) -> Result<u64, OpError> {
    let places: Option<u64> = shown
        .split_terminator(';')
        .map(|order| {
            let (district, number) = order.split_once('|')?;
            Some(order_place(warehouse, district.trim().parse().ok()?, number.trim().parse().ok()?))
        })
        .sum();
    places.ok_or_else(|| wrong_answer("a delivered order has no district or number"))
}

/// Fails unless the lines that an answer shows are those entered, and come to its total with discount and taxes.
///
/// Clause 2.4.2.2.
fn verify_total(order: &NewOrder, row: &KeptRow) -> Result<(), OpError> {
    const COLUMNS: usize = 5;
    let [discount, of_warehouse, of_district, total] = share_and_total(row)?;
    let shown = text_of(row.values.get(9));
    let mut sum = 0.0;
    let mut lines = 0;
    for (line, quantity) in shown.split_terminator(';').zip(order.quantities_entered()) {
        let mut cells = line.split('|').skip(COLUMNS - 2).map(|cell| cell.parse::<f64>().ok());
        let (Some(Some(price)), Some(Some(amount))) = (cells.next(), cells.next()) else {
            return Err(wrong_answer("a line has no price"));
        };
        if (price * quantity as f64 - amount).abs() > CENT {
            return Err(wrong_answer("a line costs something else than its item"));
        }
        (sum, lines) = (sum + amount, lines + 1);
    }
    if lines != order.quantities_entered().count() || shown.split_terminator(';').count() != lines {
        return Err(wrong_answer("it has not the lines that were entered"));
    }
    let due = sum * (1.0 - discount) * (1.0 + of_warehouse + of_district);
    if (due - total).abs() > CENT {
        return Err(wrong_answer(&format!("an order comes to {due:.2}, and the answer says {total}")));
    }
    Ok(())
}

/// The tolerance of money that is rounded.
const CENT: f64 = 0.0101;

/// Reads discount, both taxes and total from a procedure's answer.
fn share_and_total(row: &KeptRow) -> Result<[f64; 4], OpError> {
    let mut shares = [0.0; 4];
    for (share, column) in shares.iter_mut().zip(5..) {
        *share =
            amount_of(row.values.get(column)).ok_or_else(|| wrong_answer("an order has no total, discount or tax"))?;
    }
    Ok(shares)
}

/// Fails unless an answer is of the customer who was entered by number, or of one of the name.
fn verify_customer(row: &KeptRow, last_name: usize, fields: &Fields) -> Result<(), OpError> {
    let customer = whole_number_at(row, 0)?;
    let is_same = match fields.datum_at(Field::Customer).as_int() {
        Some(0) | None => Some(text_of(row.values.get(last_name))) == fields.text_at(Field::LastName),
        Some(entered) => entered == customer,
    };
    if is_same { Ok(()) } else { Err(wrong_answer("it is of another customer")) }
}

impl Steps for Call {
    /// Gives the call once, and then the end of the transaction.
    fn next(&mut self, _fields: &mut Fields) -> NextStep {
        if std::mem::replace(&mut self.is_asked, true) {
            return NextStep::End;
        }
        NextStep::Statement(self.kind as usize, Rows::Keep, Flow::Wait)
    }

    /// Checks the procedure's answer against what was entered, and counts what it did.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        tally: &mut InputCounts,
    ) -> Result<(), OpError> {
        // Some engines end a procedure with an empty result.
        let answer = results.iter().position(|result| result.rows > 0).map_or(0, |place| place + 1);
        let row = found_row(&results[..answer], "a procedure's answer")?;
        let mut is_rolled_back = false;
        match self.kind {
            Kind::NewOrder => is_rolled_back = self.verify_order(row)?,
            Kind::Payment => {
                const LAST_NAME: usize = 3;
                const CREDIT: usize = 5;
                verify_customer(row, LAST_NAME, fields)?;
                let has_bad_credit = text_of(row.values.get(CREDIT)) == "BC";
                count_payer(
                    tally,
                    fields,
                    whole_number_at(row, 0)?,
                    text_of(row.values.get(LAST_NAME)),
                    has_bad_credit,
                );
            }
            Kind::OrderStatus => {
                verify_customer(row, 4, fields)?;
                let lines = text_of(row.values.get(8)).split_terminator(';').count();
                if whole_number_at(row, 5)? < 1 || !(FEWEST_LINES..=MOST_LINES).contains(&lines) {
                    return Err(missing_rows("a customer's order"));
                }
            }
            Kind::Delivery => {
                let (delivered, skipped) = (whole_number_at(row, 0)?, whole_number_at(row, 1)?);
                let delivered = u64::try_from(delivered).unwrap_or_default();
                let carrier = fields.datum_at(Field::Carrier).as_int().unwrap_or_default() as u64;
                tally.add_count(Count::DeliveredOrders, delivered);
                tally.add_count(Count::Carriers, delivered * carrier);
                let warehouse = fields.datum_at(Field::Warehouse).as_int().unwrap_or_default();
                tally.add_count(Count::DeliveredPlaces, delivered_places(warehouse, text_of(row.values.get(2)))?);
                (0..skipped).for_each(|_| tally.skip_district());
            }
            Kind::StockLevel => _ = whole_number_at(row, 0)?,
        }
        // A rollback in a procedure is followed by a transaction in which it answers.
        let rollbacks = u64::from(is_rolled_back);
        self.server_work = RequestedWork { transactions: rollbacks, statements: 0, commits: 1 - rollbacks, rollbacks };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_of_the_procedures() {
        for (text, name) in TEXTS.iter().zip(crate::order_entry::PROCEDURES) {
            assert!(text.starts_with(&format!("CALL {name}(")), "{text}");
        }
    }

    #[test]
    fn lines_have_their_places() {
        let Datum::Text(text) = lines_datum([(1, 1, 1), (100_001, 10_000, 10)].into_iter()) else { panic!() };
        assert_eq!((&*text, text.len()), ("00000100001011000011000010", 2 * LINE));
    }
}
