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
    pub fn set(&mut self, field: Field, value: i64) {
        self.0[field as usize] = Datum::Int(value);
    }

    pub fn put(&mut self, field: Field, value: Datum) {
        self.0[field as usize] = value;
    }

    pub fn get(&self, field: Field) -> &Datum {
        &self.0[field as usize]
    }

    pub fn text(&self, field: Field) -> Option<&str> {
        match self.get(field) {
            Datum::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn put_at(&mut self, place: usize, value: i64) {
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
    pub fn district_of(&mut self, what: Even) -> i64 {
        self.even(what, 1, self.rules.districts)
    }

    pub fn even(&mut self, what: Even, least: i64, most: i64) -> i64 {
        let value = self.rng.int_between(least, most);
        self.tally.draw_evenly(what, value);
        value
    }

    /// `None` where there is one warehouse only.
    pub fn other_warehouse(&mut self) -> Option<i64> {
        let all = self.size.warehouses as i64;
        if all < 2 {
            return None;
        }
        let drawn = self.even(Even::OtherWarehouse, 1, all - 1);
        Some(if drawn >= self.home { drawn + 1 } else { drawn })
    }

    pub fn customer(&mut self) -> i64 {
        let customer = self.rules.customers(self.constants, self.size).draw(&mut self.rng);
        self.tally.draw(Drawn::Customer, customer - 1);
        customer
    }

    pub fn last_name(&mut self) -> i64 {
        let name = self.rules.names(self.constants, self.size).draw(&mut self.rng);
        self.tally.draw(Drawn::Name, name);
        name
    }

    pub fn item(&mut self) -> i64 {
        let item = self.rules.items(self.constants, self.size).draw(&mut self.rng);
        self.tally.draw(Drawn::Item, item - 1);
        item
    }
}

/// A step of a transaction.
pub trait Steps {
    fn next(&mut self, fields: &mut Fields) -> NextStep;

    /// # Errors
    /// The answer is not what the tables must hold, or another transaction was first.
    fn receive(&mut self, results: &[KeptRow], fields: &mut Fields, tally: &mut InputCounts) -> Result<(), OpError>;
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
    fn steps(&mut self) -> &mut dyn Steps {
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
    fn wait_ns(&mut self, index: u64) -> u64 {
        self.load.pace.wait_ns(&mut self.deck, index)
    }

    fn begin(&mut self, index: u64) {
        self.kind = self.deck.card(index);
        self.tally.clear();
        let mut rng = Rng::of_transaction(self.seed, self.client, index);
        let (home, district) = match self.load.home {
            Home::Fixed => (self.home, self.district),
            Home::Any => {
                let used = self.load.size.warehouses as i64 * self.load.rules.warehouses_used / 100;
                let warehouse = rng.int_between(1, used);
                let district = rng.int_between(1, DISTRICTS as i64);
                self.tally.draw_evenly(Even::Warehouse, warehouse);
                self.tally.draw_evenly(Even::District, district);
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
        self.fields.set(Field::Warehouse, home);
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
                self.fields.put(Field::Entered, order.written());
                Work::Call(Call::new(self.kind, Some(order)))
            }
            (Calls::Procedure, _) => Work::Call(Call::new(self.kind, None)),
        };
    }

    fn next(&mut self) -> NextStep {
        loop {
            match (self.work.steps().next(&mut self.fields), self.load.pipelines) {
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

    fn value(&self, field: usize) -> &Datum {
        &self.fields.0[field]
    }

    fn receive(&mut self, results: &[KeptRow]) -> Result<(), OpError> {
        self.work.steps().receive(results, &mut self.fields, &mut self.tally)
    }

    fn server_work(&mut self) -> RequestedWork {
        match &mut self.work {
            Work::Call(call) => call.server_work(),
            _ => RequestedWork::default(),
        }
    }

    fn kind(&self) -> usize {
        self.kind as usize
    }

    fn tally(&self, end: TransactionEnd, sent: &[Sent], into: &mut Vec<u64>) {
        self.tally.add_to(self.load.size, end, sent, into);
    }
}

/// For its effect.
pub fn ask(ask: Ask) -> NextStep {
    NextStep::Statement(ask as usize, Rows::Discard, Flow::Wait)
}

/// For its last row.
pub fn read(ask: Ask) -> NextStep {
    NextStep::Statement(ask as usize, Rows::Keep, Flow::Wait)
}

/// For all its rows; by number.
pub fn read_all(statement: usize) -> NextStep {
    NextStep::Statement(statement, Rows::KeepAll, Flow::Wait)
}

/// Together with what follows, up to [`Asking::Together`].
pub fn pipe(ask: Ask) -> NextStep {
    NextStep::Statement(ask as usize, Rows::Discard, Flow::Pipelined)
}

/// The result of a statement that must have found something.
///
/// # Errors
/// The row is missing: these are other tables, or they were changed.
pub fn found<'a>(results: &'a [KeptRow], what: &str) -> Result<&'a KeptRow, OpError> {
    results.last().filter(|row| row.rows > 0).ok_or_else(|| missing(what))
}

/// The customer whom a statement returns is the one who was entered by last name, which stands in a column.
///
/// # Errors
/// It is of another one.
pub fn verify_name(row: &KeptRow, column: usize, fields: &Fields) -> Result<(), OpError> {
    let (returned, entered) = (characters(row.values.get(column)), fields.text(Field::LastName).unwrap_or_default());
    if returned == entered {
        return Ok(());
    }
    let message = format!("an answer is of another customer: {returned}, where {entered} was entered");
    Err(OpError { class: ErrorClass::Script, message })
}

pub fn missing(what: &str) -> OpError {
    let message = format!("{what} is not there: the tables were changed, or were loaded at another size");
    OpError { class: ErrorClass::Script, message }
}

/// A column of the last row that must be a whole number.
pub fn whole(row: &KeptRow, column: usize) -> Result<i64, OpError> {
    row.values.get(column).and_then(Datum::as_int).ok_or_else(|| {
        let message = format!("column {} of an answer is no whole number: {:?}", column + 1, row.values.get(column));
        OpError { class: ErrorClass::Script, message }
    })
}

/// An amount, in whatever form the engine writes it.
pub fn amount(datum: Option<&Datum>) -> Option<f64> {
    match datum? {
        Datum::Int(number) => Some(*number as f64),
        Datum::Double(number) => Some(*number),
        Datum::Text(text) => text.parse().ok(),
        Datum::Null => None,
    }
}

pub fn characters(datum: Option<&Datum>) -> &str {
    match datum {
        Some(Datum::Text(text)) => text,
        _ => "",
    }
}
