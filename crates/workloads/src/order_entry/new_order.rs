//! New-Order: a whole order in one transaction (clause 2.4).

use super::audit::{Count, Even, InputCounts};
use super::calls::lines_datum;
use super::claims::order_place;
use super::statements::{
    Ask, FEWEST_LINES, Field, item_field, items_statement, mixed_stock_statement, own_stock_statement, supply_field,
};
use super::terminal::{
    Fields, Input, Steps, amount_of, ask_all_rows, ask_for_effect, ask_in_pipeline, ask_last_row, found_row,
    missing_rows, text_of, whole_number_at,
};
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
    /// Draws the input of a new order, counts it, and begins it.
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> NewOrder {
        let district = input.draw_district(Even::OrderDistrict);
        let customer = input.draw_customer();
        fields.set_number(Field::District, district);
        fields.set_number(Field::Customer, customer);
        let count = input.draw_even(Even::Lines, input.rules.fewest_lines, input.rules.most_lines);
        let is_rolled_back = input.rng.int_between(1, 100) <= input.rules.rolled_back;
        let mut lines = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let item = input.draw_item();
            let is_remote = input.rng.int_between(1, 100) <= input.rules.remote_lines;
            let remote = if is_remote { input.draw_other_warehouse() } else { None };
            let supply = remote.unwrap_or(input.home);
            let quantity = input.draw_even(Even::Quantity, 1, input.rules.most_pieces);
            lines.push(OrderLine { item, supply, quantity, ..OrderLine::default() });
        }
        let remote = lines.iter().filter(|line| line.supply != input.home).count();
        input.tally.add_count(Count::NewOrders, 1);
        input.tally.add_count(Count::RolledBack, u64::from(is_rolled_back));
        input.tally.add_count(Count::Lines, count as u64);
        input.tally.add_count(Count::RemoteLines, remote as u64);
        let unused = is_rolled_back.then_some(input.size.items as i64 + 1);
        if unused.is_some() {
            lines.pop();
        } else {
            let sum = |of: fn(&OrderLine) -> i64| lines.iter().map(of).sum::<i64>() as u64;
            input.tally.add_count(Count::WrittenLines, count as u64);
            input.tally.add_count(Count::WrittenRemoteLines, remote as u64);
            input.tally.add_count(Count::WrittenPieces, sum(|line| line.quantity));
            input.tally.add_count(Count::WrittenItems, sum(|line| line.item));
            input.tally.add_count(Count::OrderPlaces, order_place(input.home, district, customer));
        }
        lines.sort_by_key(|line| (line.supply, line.item));
        fields.set_number(Field::Lines, count);
        fields.set_number(Field::AllLocal, i64::from(remote == 0));
        for (place, line) in lines.iter().enumerate() {
            fields.set_number_at(item_field(place), line.item);
            fields.set_number_at(supply_field(place), line.supply);
        }
        if let Some(item) = unused {
            fields.set_number_at(item_field(lines.len()), item);
        }
        NewOrder { home: input.home, lines, unused, step: Step::Begin, asked: Step::Begin }
    }

    /// Whether the order has an unused item, so that it must be rolled back.
    pub fn is_rolled_back(&self) -> bool {
        self.unused.is_some()
    }

    /// Quantities of the lines that were entered, without the unused item's.
    pub fn quantities_entered(&self) -> impl Iterator<Item = i64> {
        self.lines.iter().map(|line| line.quantity)
    }

    /// Writes the order's lines as a procedure takes them, an unused item last.
    pub fn lines_datum(&self) -> Datum {
        let unused = self.unused.map(|item| (item, self.home, 1));
        lines_datum(self.lines.iter().map(|line| (line.item, line.supply, line.quantity)).chain(unused))
    }

    /// Number of lines entered, an unused item included.
    fn line_count(&self) -> usize {
        self.lines.len() + usize::from(self.unused.is_some())
    }

    /// Number of the statement that reads the stock of all lines.
    fn stock_statement(&self) -> usize {
        let is_local = self.lines.iter().all(|line| line.supply == self.home);
        if is_local { own_stock_statement(self.lines.len()) } else { mixed_stock_statement(self.lines.len()) }
    }

    /// Gives the statement that takes a line's pieces from the stock, and sets its fields.
    fn take_stock(&self, line: usize, fields: &mut Fields) -> NextStep {
        let OrderLine { item, supply, quantity, .. } = &self.lines[line];
        fields.set_number(Field::Item, *item);
        fields.set_number(Field::Supply, *supply);
        fields.set_number(Field::Quantity, *quantity);
        fields.set_number(Field::Remote, i64::from(*supply != self.home));
        ask_in_pipeline(Ask::TakeStock)
    }

    /// Gives the statement that inserts a line, and sets its fields.
    fn insert_line(&mut self, line: usize, fields: &mut Fields) -> NextStep {
        let OrderLine { item, supply, quantity, price, district_info } = &mut self.lines[line];
        fields.set_number(Field::Line, line as i64 + 1);
        fields.set_number(Field::Item, *item);
        fields.set_number(Field::Supply, *supply);
        fields.set_number(Field::Quantity, *quantity);
        // In whole cents: a product of decimals in binary is not.
        fields.put_datum(Field::Amount, Datum::Double((*price * *quantity as f64 * 100.0).round() / 100.0));
        fields.put_datum(Field::DistrictInfo, std::mem::take(district_info));
        ask_in_pipeline(Ask::InsertLine)
    }

    /// Takes the price of each line from the items that were read; fails if one is missing, or the unused one is there.
    fn receive_prices(&mut self, row: &KeptRow) -> Result<(), OpError> {
        const COLUMNS: usize = 4;
        self.lines.iter_mut().for_each(|line| line.price = f64::NAN);
        let mut is_unused_there = false;
        for row in row.values.chunks_exact(COLUMNS) {
            let Some(item) = row[0].as_int() else { continue };
            is_unused_there |= self.unused == Some(item);
            if let Some(price) = amount_of(row.get(1)) {
                self.lines.iter_mut().filter(|line| line.item == item).for_each(|line| line.price = price);
            }
        }
        if self.lines.iter().any(|line| line.price.is_nan()) {
            return Err(missing_rows("an item"));
        }
        if is_unused_there { Err(missing_rows("the end of the items")) } else { Ok(()) }
    }

    /// Takes the district's text of each line from the stock that was read; fails if an item's stock is missing.
    fn receive_stock(&mut self, row: &KeptRow) -> Result<(), OpError> {
        const COLUMNS: usize = 5;
        self.lines.iter_mut().for_each(|line| line.district_info = Datum::Null);
        for row in row.values.chunks_exact(COLUMNS) {
            let (Some(supply), Some(item)) = (row[0].as_int(), row[1].as_int()) else { continue };
            let info = text_of(row.get(4));
            if info.is_empty() {
                continue;
            }
            for line in self.lines.iter_mut().filter(|line| (line.supply, line.item) == (supply, item)) {
                line.district_info = Datum::Text(info.to_owned().into());
            }
        }
        let is_missing = self.lines.iter().any(|line| line.district_info == Datum::Null);
        if is_missing { Err(missing_rows("an item's stock")) } else { Ok(()) }
    }
}

impl Steps for NewOrder {
    /// Gives the next statement of the order.
    fn next(&mut self, fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let lines = self.lines.len();
        let (asking, then) = match self.step {
            Step::Begin => (ask_for_effect(Ask::Begin), Step::TakeNumber),
            Step::TakeNumber => (ask_for_effect(Ask::TakeOrderNumber), Step::District),
            Step::District => (ask_last_row(Ask::District), Step::Warehouse),
            Step::Warehouse => (ask_last_row(Ask::WarehouseTax), Step::Customer),
            Step::Customer => (ask_last_row(Ask::CustomerTerms), Step::Items),
            Step::Items => (ask_all_rows(items_statement(self.line_count())), Step::Order),
            Step::Order => (ask_in_pipeline(Ask::InsertOrder), Step::NewOrder),
            Step::NewOrder => (ask_in_pipeline(Ask::InsertNewOrder), Step::Stock(0)),
            Step::Stock(line) if line < lines => (self.take_stock(line, fields), Step::Stock(line + 1)),
            Step::Stock(_) => (NextStep::Together, Step::Quantities),
            Step::Quantities => (ask_all_rows(self.stock_statement()), Step::Line(0)),
            Step::Line(line) if line < lines => (self.insert_line(line, fields), Step::Line(line + 1)),
            Step::Line(_) => (NextStep::Together, Step::End),
            Step::End if self.unused.is_some() => (ask_for_effect(Ask::Rollback), Step::Ended),
            Step::End => (ask_for_effect(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    /// Takes a statement's rows: the order's number, prices and stock; fails if a row is missing.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        _tally: &mut InputCounts,
    ) -> Result<(), OpError> {
        match self.asked {
            Step::District => {
                // It was taken before it was read.
                let next = whole_number_at(found_row(results, "a district")?, 0)?;
                fields.set_number(Field::Order, next - 1);
                Ok(())
            }
            Step::Warehouse => found_row(results, "a warehouse").map(drop),
            Step::Customer => found_row(results, "a customer").map(drop),
            Step::Items => self.receive_prices(found_row(results, "an item")?),
            Step::Quantities => self.receive_stock(found_row(results, "an item's stock")?),
            _ => Ok(()),
        }
    }
}

const _: () = assert!(FEWEST_LINES >= 1, "an order that is rolled back has lines, too");
