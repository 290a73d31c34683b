//! A terminal: which transaction comes next, with which input, and what is done with the answers.

use std::sync::Arc;

use super::audit::{Drawn, Even, InputCounts};
use super::calls::{Call, Calls, forget_customer};
use super::deck::{Deck, Kind};
use super::delivery::Delivery;
use super::draw::Constants;
use super::new_order::NewOrder;
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::rules::Rules;
use super::statements::{Ask, FIELDS, Field};
use super::stock_level::StockLevel;
use super::tables::{DISTRICTS, Size};
use super::{Home, OrderEntry, Pipelines};
use crate::transactions::{Flow, NativeClient, NextStep, Rows, Sent};
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, OpError};
use load::rng::Rng;
use load::stream::{RequestedWork, TransactionEnd};

/// Values of the statements.
pub struct Fields([Datum; FIELDS]);

impl Fields {
    /// Sets a field to a whole number.
    pub fn set_number(&mut self, field: Field, value: i64) {
        self.0[field as usize] = Datum::Int(value);
    }

    /// Sets a field to a value.
    pub fn put_datum(&mut self, field: Field, value: Datum) {
        self.0[field as usize] = value;
    }

    /// Value of a field.
    pub fn datum_at(&self, field: Field) -> &Datum {
        &self.0[field as usize]
    }

    /// Text of a field; `None` if it has another kind of value.
    pub fn text_at(&self, field: Field) -> Option<&str> {
        match self.datum_at(field) {
            Datum::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Sets the field at an index to a whole number.
    pub fn set_number_at(&mut self, place: usize, value: i64) {
        self.0[place] = Datum::Int(value);
    }
}

/// What a terminal draws its input from.
pub struct Input<'a> {
    pub rng: Rng,
    pub rules: &'a Rules,
    pub constants: Constants,
    pub size: Size,
    pub home: i64,
    /// The district of the terminal, for Stock-Level.
    pub district: i64,
    pub tally: &'a mut InputCounts,
}

impl Input<'_> {
    /// Draws a district's number evenly, and counts it.
    pub fn draw_district(&mut self, what: Even) -> i64 {
        self.draw_even(what, 1, self.rules.districts)
    }

    /// Draws evenly from `least` to `most`, and counts it.
    pub fn draw_even(&mut self, what: Even, least: i64, most: i64) -> i64 {
        let value = self.rng.int_between(least, most);
        self.tally.add_even(what, value);
        value
    }

    /// Draws another warehouse than the terminal's, and counts it; `None` if there is one only.
    pub fn draw_other_warehouse(&mut self) -> Option<i64> {
        let all = self.size.warehouses as i64;
        if all < 2 {
            return None;
        }
        let drawn = self.draw_even(Even::OtherWarehouse, 1, all - 1);
        Some(if drawn >= self.home { drawn + 1 } else { drawn })
    }

    /// Draws a customer's number, and counts it.
    pub fn draw_customer(&mut self) -> i64 {
        let customer = self.rules.customer_distribution(self.constants, self.size).draw_value(&mut self.rng);
        self.tally.add_drawn(Drawn::Customer, customer - 1);
        customer
    }

    /// Draws a last name's number, and counts it.
    pub fn draw_last_name(&mut self) -> i64 {
        let name = self.rules.name_distribution(self.constants, self.size).draw_value(&mut self.rng);
        self.tally.add_drawn(Drawn::Name, name);
        name
    }

    /// Draws an item's number, and counts it.
    pub fn draw_item(&mut self) -> i64 {
        let item = self.rules.item_distribution(self.constants, self.size).draw_value(&mut self.rng);
        self.tally.add_drawn(Drawn::Item, item - 1);
        item
    }
}

/// A step of a transaction.
pub trait Steps {
    /// Fills `fields` for the next statement, and says which it is.
    fn next(&mut self, fields: &mut Fields) -> NextStep;

    /// Takes the rows of the statement before, and counts what was done.
    ///
    /// # Errors
    /// The answer is not what the tables must hold, or another transaction was first.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        tally: &mut InputCounts,
    ) -> Result<(), OpError>;
}

enum Work {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
    /// Any of them.
    Call(Call),
}

impl Work {
    /// The steps of the transaction under way, of whichever kind.
    fn steps_mut(&mut self) -> &mut dyn Steps {
        match self {
            Work::NewOrder(work) => work,
            Work::Payment(work) => work,
            Work::OrderStatus(work) => work,
            Work::Delivery(work) => work,
            Work::StockLevel(work) => work,
            Work::Call(work) => work,
        }
    }
}

pub struct Terminal {
    load: Arc<OrderEntry>,
    seed: u64,
    client: u32,
    constants: Constants,
    home: i64,
    district: i64,
    deck: Deck,
    work: Work,
    kind: Kind,
    fields: Fields,
    /// The counts of the transaction under way.
    tally: InputCounts,
}

impl Terminal {
    /// Makes a terminal at a warehouse and a district of its own, with a shuffled deck.
    pub fn new(load: Arc<OrderEntry>, seed: u64, client: u32) -> Terminal {
        let warehouses = load.size.warehouses;
        let number = u64::from(client);
        Terminal {
            constants: Constants::OF_RUN,
            home: (number % warehouses) as i64 + 1,
            district: (number / warehouses % DISTRICTS) as i64 + 1,
            deck: Deck::new(seed, client, load.pace, load.rules.cards),
            work: Work::StockLevel(StockLevel::default()),
            kind: Kind::StockLevel,
            fields: Fields(std::array::from_fn(|_| Datum::Null)),
            tally: InputCounts::default(),
            load,
            seed,
            client,
        }
    }
}

impl NativeClient for Terminal {
    /// Nanoseconds to wait before a transaction: thinking and keying, if terminals do.
    fn wait_ns(&mut self, index: u64) -> u64 {
        self.load.pace.wait_ns(&mut self.deck, index)
    }

    /// Draws a transaction's kind and input, and begins it.
    fn begin_transaction(&mut self, index: u64) {
        self.kind = self.deck.card_at(index);
        self.tally.clear();
        let mut rng = Rng::of_transaction(self.seed, self.client, index);
        let (home, district) = match self.load.home {
            Home::Fixed => (self.home, self.district),
            Home::Any => {
                let used = self.load.size.warehouses as i64 * self.load.rules.warehouses_used / 100;
                let warehouse = rng.int_between(1, used);
                let district = rng.int_between(1, DISTRICTS as i64);
                self.tally.add_even(Even::Warehouse, warehouse);
                self.tally.add_even(Even::District, district);
                (warehouse, district)
            }
        };
        let mut input = Input {
            rng,
            rules: &self.load.rules,
            constants: self.constants,
            size: self.load.size,
            home,
            district,
            tally: &mut self.tally,
        };
        self.fields.set_number(Field::Warehouse, home);
        forget_customer(&mut self.fields);
        let entered = match self.kind {
            Kind::NewOrder => Work::NewOrder(NewOrder::enter(&mut input, &mut self.fields)),
            Kind::Payment => Work::Payment(Payment::enter(&mut input, &mut self.fields)),
            Kind::OrderStatus => Work::OrderStatus(OrderStatus::enter(&mut input, &mut self.fields)),
            Kind::Delivery => Work::Delivery(Delivery::enter(&mut input, &mut self.fields)),
            Kind::StockLevel => Work::StockLevel(StockLevel::enter(&mut input, &mut self.fields)),
        };
        self.work = match (self.load.calls, entered) {
            (Calls::Statements, entered) => entered,
            (Calls::Procedure, Work::NewOrder(order)) => {
                self.fields.put_datum(Field::Entered, order.lines_datum());
                Work::Call(Call::new(self.kind, Some(order)))
            }
            (Calls::Procedure, _) => Work::Call(Call::new(self.kind, None)),
        };
    }

    /// Gives the next statement of the transaction, without pipelines if there are to be none.
    fn next_step(&mut self) -> NextStep {
        loop {
            match (self.work.steps_mut().next(&mut self.fields), self.load.pipelines) {
                (NextStep::Statement(number, ..), _)
                    if self.load.rules.left_out.is_some_and(|ask| ask as usize == number) => {}
                (NextStep::Statement(number, rows, _), Pipelines::Never) => {
                    return NextStep::Statement(number, rows, Flow::Wait);
                }
                (NextStep::Together, Pipelines::Never) => {}
                (asking, _) => return asking,
            }
        }
    }

    /// Value of the field with a number.
    fn field_value(&self, field: usize) -> &Datum {
        &self.fields.0[field]
    }

    /// Gives a statement's rows to the transaction under way.
    fn receive_rows(&mut self, results: &[KeptRow]) -> Result<(), OpError> {
        self.work.steps_mut().receive_rows(results, &mut self.fields, &mut self.tally)
    }

    /// Takes what the procedure's answer said it did in the server; nothing without procedures.
    fn server_work(&mut self) -> RequestedWork {
        match &mut self.work {
            Work::Call(call) => call.take_server_work(),
            _ => RequestedWork::default(),
        }
    }

    /// Index of the current transaction's kind.
    fn current_kind(&self) -> usize {
        self.kind as usize
    }

    /// Adds the counts of the transaction that has ended to sums.
    fn add_tally(&self, end: TransactionEnd, sent: &[Sent], into: &mut Vec<u64>) {
        self.tally.add_to(self.load.size, end, sent, into);
    }
}

/// Asks for a statement whose rows are not needed.
pub fn ask_for_effect(ask: Ask) -> NextStep {
    NextStep::Statement(ask as usize, Rows::Discard, Flow::Wait)
}

/// Asks for a statement of which the last row is kept.
pub fn ask_last_row(ask: Ask) -> NextStep {
    NextStep::Statement(ask as usize, Rows::Keep, Flow::Wait)
}

/// Asks for a statement, by its number, of which all rows are kept.
pub fn ask_all_rows(statement: usize) -> NextStep {
    NextStep::Statement(statement, Rows::KeepAll, Flow::Wait)
}

/// Asks for a statement that is sent with those that follow it, up to [`NextStep::Together`].
pub fn ask_in_pipeline(ask: Ask) -> NextStep {
    NextStep::Statement(ask as usize, Rows::Discard, Flow::Pipelined)
}

/// The last result of a statement, which must have found a row.
///
/// # Errors
/// The row is missing: these are other tables, or they were changed.
pub fn found_row<'a>(results: &'a [KeptRow], what: &str) -> Result<&'a KeptRow, OpError> {
    results.last().filter(|row| row.rows > 0).ok_or_else(|| missing_rows(what))
}

/// Fails unless the row is of the customer who was entered by last name.
///
/// # Errors
/// It is of another one.
pub fn verify_name(row: &KeptRow, column: usize, fields: &Fields) -> Result<(), OpError> {
    let (returned, entered) = (text_of(row.values.get(column)), fields.text_at(Field::LastName).unwrap_or_default());
    if returned == entered {
        return Ok(());
    }
    let message = format!("an answer is of another customer: {returned}, where {entered} was entered");
    Err(OpError { class: ErrorClass::Script, message })
}

/// Makes the error that something is not in the tables.
pub fn missing_rows(what: &str) -> OpError {
    let message = format!("{what} is not there: the tables were changed, or were loaded at another size");
    OpError { class: ErrorClass::Script, message }
}

/// Reads a column of the row as a whole number; fails if it is none.
pub fn whole_number_at(row: &KeptRow, column: usize) -> Result<i64, OpError> {
    row.values.get(column).and_then(Datum::as_int).ok_or_else(|| {
        let message = format!("column {} of an answer is no whole number: {:?}", column + 1, row.values.get(column));
        OpError { class: ErrorClass::Script, message }
    })
}

/// Reads an amount, in whatever form the engine writes it; `None` if it is no number.
pub fn amount_of(datum: Option<&Datum>) -> Option<f64> {
    match datum? {
        Datum::Int(number) => Some(*number as f64),
        Datum::Double(number) => Some(*number),
        Datum::Text(text) => text.parse().ok(),
        Datum::Null => None,
    }
}

/// Text of a value; empty if it is no text.
pub fn text_of(datum: Option<&Datum>) -> &str {
    match datum {
        Some(Datum::Text(text)) => text,
        _ => "",
    }
}
