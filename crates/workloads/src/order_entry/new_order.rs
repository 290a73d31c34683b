//! New-Order: a whole order in one transaction (clause 2.4).

use super::audit::{Count, Even, InputCounts};
use super::calls::written;
use super::claims::order_place;
use super::statements::{Ask, FEWEST_LINES, Field, item_of, items_of, own_stock_of, stock_of, supply_of};
use super::terminal::{Fields, Input, Steps, amount, ask, characters, found, missing, pipe, read, read_all, whole};
use crate::transactions::NextStep;
use load::datum::Datum;
use load::lane::{KeptRow, OpError};

/// A line of an order, as it was entered and as the tables price it.
#[derive(Clone, Debug, Default)]
struct OrderLine {
    item: i64,
    supply: i64,
    quantity: i64,
    price: f64,
    district_info: Datum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    TakeNumber,
    District,
    Warehouse,
    Customer,
    Items,
    Order,
    NewOrder,
    /// The stock of the line with this number.
    Stock(usize),
    Quantities,
    Line(usize),
    End,
    Ended,
}

#[derive(Debug)]
pub struct NewOrder {
    home: i64,
    /// The lines in the order of their stock, so that no two orders wait for each other.
    lines: Vec<OrderLine>,
    /// An item that does not exist, in the place of the last line: the order is rolled back.
    unused: Option<i64>,
    step: Step,
    /// What is being answered.
    asked: Step,
}

/// The district, the customer, the items.
impl NewOrder {
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> NewOrder {
        let district = input.district_of(Even::OrderDistrict);
        let customer = input.customer();
        fields.set(Field::District, district);
        fields.set(Field::Customer, customer);
        let count = input.even(Even::Lines, input.rules.fewest_lines, input.rules.most_lines);
        let is_rolled_back = input.rng.int_between(1, 100) <= input.rules.rolled_back;
        let mut lines = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let item = input.item();
            let is_remote = input.rng.int_between(1, 100) <= input.rules.remote_lines;
            let remote = if is_remote { input.other_warehouse() } else { None };
            let supply = remote.unwrap_or(input.home);
            let quantity = input.even(Even::Quantity, 1, input.rules.most_pieces);
            lines.push(OrderLine { item, supply, quantity, ..OrderLine::default() });
        }
        let remote = lines.iter().filter(|line| line.supply != input.home).count();
        input.tally.count(Count::NewOrders, 1);
        input.tally.count(Count::RolledBack, u64::from(is_rolled_back));
        input.tally.count(Count::Lines, count as u64);
        input.tally.count(Count::RemoteLines, remote as u64);
        let unused = is_rolled_back.then_some(input.size.items as i64 + 1);
        if unused.is_some() {
            lines.pop();
        } else {
            let sum = |of: fn(&OrderLine) -> i64| lines.iter().map(of).sum::<i64>() as u64;
            input.tally.count(Count::WrittenLines, count as u64);
            input.tally.count(Count::WrittenRemoteLines, remote as u64);
            input.tally.count(Count::WrittenPieces, sum(|line| line.quantity));
            input.tally.count(Count::WrittenItems, sum(|line| line.item));
            input.tally.count(Count::OrderPlaces, order_place(input.home, district, customer));
        }
        lines.sort_by_key(|line| (line.supply, line.item));
        fields.set(Field::Lines, count);
        fields.set(Field::AllLocal, i64::from(remote == 0));
        for (place, line) in lines.iter().enumerate() {
            fields.put_at(item_of(place), line.item);
            fields.put_at(supply_of(place), line.supply);
        }
        if let Some(item) = unused {
            fields.put_at(item_of(lines.len()), item);
        }
        NewOrder { home: input.home, lines, unused, step: Step::Begin, asked: Step::Begin }
    }

    pub fn is_rolled_back(&self) -> bool {
        self.unused.is_some()
    }

    /// The quantity of each line.
    pub fn quantities_entered(&self) -> impl Iterator<Item = i64> {
        self.lines.iter().map(|line| line.quantity)
    }

    /// The lines as a procedure takes them, an unused item last.
    pub fn written(&self) -> Datum {
        let unused = self.unused.map(|item| (item, self.home, 1));
        written(self.lines.iter().map(|line| (line.item, line.supply, line.quantity)).chain(unused))
    }

    fn entered(&self) -> usize {
        self.lines.len() + usize::from(self.unused.is_some())
    }

    fn quantities(&self) -> usize {
        let is_local = self.lines.iter().all(|line| line.supply == self.home);
        if is_local { own_stock_of(self.lines.len()) } else { stock_of(self.lines.len()) }
    }

    fn take_stock(&self, line: usize, fields: &mut Fields) -> NextStep {
        let OrderLine { item, supply, quantity, .. } = &self.lines[line];
        fields.set(Field::Item, *item);
        fields.set(Field::Supply, *supply);
        fields.set(Field::Quantity, *quantity);
        fields.set(Field::Remote, i64::from(*supply != self.home));
        pipe(Ask::TakeStock)
    }

    fn insert(&mut self, line: usize, fields: &mut Fields) -> NextStep {
        let OrderLine { item, supply, quantity, price, district_info } = &mut self.lines[line];
        fields.set(Field::Line, line as i64 + 1);
        fields.set(Field::Item, *item);
        fields.set(Field::Supply, *supply);
        fields.set(Field::Quantity, *quantity);
        // In whole cents: a product of decimals in binary is not.
        fields.put(Field::Amount, Datum::Double((*price * *quantity as f64 * 100.0).round() / 100.0));
        fields.put(Field::DistrictInfo, std::mem::take(district_info));
        pipe(Ask::InsertLine)
    }

    /// Price, name and data of every item that exists; lines may name one twice.
    fn price(&mut self, row: &KeptRow) -> Result<(), OpError> {
        const COLUMNS: usize = 4;
        self.lines.iter_mut().for_each(|line| line.price = f64::NAN);
        let mut is_unused_there = false;
        for row in row.values.chunks_exact(COLUMNS) {
            let Some(item) = row[0].as_int() else { continue };
            is_unused_there |= self.unused == Some(item);
            if let Some(price) = amount(row.get(1)) {
                self.lines.iter_mut().filter(|line| line.item == item).for_each(|line| line.price = price);
            }
        }
        if self.lines.iter().any(|line| line.price.is_nan()) {
            return Err(missing("an item"));
        }
        if is_unused_there { Err(missing("the end of the items")) } else { Ok(()) }
    }

    fn describe(&mut self, row: &KeptRow) -> Result<(), OpError> {
        const COLUMNS: usize = 5;
        self.lines.iter_mut().for_each(|line| line.district_info = Datum::Null);
        for row in row.values.chunks_exact(COLUMNS) {
            let (Some(supply), Some(item)) = (row[0].as_int(), row[1].as_int()) else { continue };
            let info = characters(row.get(4));
            if info.is_empty() {
                continue;
            }
            for line in self.lines.iter_mut().filter(|line| (line.supply, line.item) == (supply, item)) {
                line.district_info = Datum::Text(info.to_owned().into());
            }
        }
        let is_missing = self.lines.iter().any(|line| line.district_info == Datum::Null);
        if is_missing { Err(missing("an item's stock")) } else { Ok(()) }
    }
}

impl Steps for NewOrder {
    fn next(&mut self, fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let lines = self.lines.len();
        let (asking, then) = match self.step {
            Step::Begin => (ask(Ask::Begin), Step::TakeNumber),
            Step::TakeNumber => (ask(Ask::TakeOrderNumber), Step::District),
            Step::District => (read(Ask::District), Step::Warehouse),
            Step::Warehouse => (read(Ask::WarehouseTax), Step::Customer),
            Step::Customer => (read(Ask::CustomerTerms), Step::Items),
            Step::Items => (read_all(items_of(self.entered())), Step::Order),
            Step::Order => (pipe(Ask::InsertOrder), Step::NewOrder),
            Step::NewOrder => (pipe(Ask::InsertNewOrder), Step::Stock(0)),
            Step::Stock(line) if line < lines => (self.take_stock(line, fields), Step::Stock(line + 1)),
            Step::Stock(_) => (NextStep::Together, Step::Quantities),
            Step::Quantities => (read_all(self.quantities()), Step::Line(0)),
            Step::Line(line) if line < lines => (self.insert(line, fields), Step::Line(line + 1)),
            Step::Line(_) => (NextStep::Together, Step::End),
            Step::End if self.unused.is_some() => (ask(Ask::Rollback), Step::Ended),
            Step::End => (ask(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    fn receive(&mut self, results: &[KeptRow], fields: &mut Fields, _tally: &mut InputCounts) -> Result<(), OpError> {
        match self.asked {
            Step::District => {
                // It was taken before it was read.
                let next = whole(found(results, "a district")?, 0)?;
                fields.set(Field::Order, next - 1);
                Ok(())
            }
            Step::Warehouse => found(results, "a warehouse").map(drop),
            Step::Customer => found(results, "a customer").map(drop),
            Step::Items => self.price(found(results, "an item")?),
            Step::Quantities => self.describe(found(results, "an item's stock")?),
            _ => Ok(()),
        }
    }
}

const _: () = assert!(FEWEST_LINES >= 1, "an order that is rolled back has lines, too");
