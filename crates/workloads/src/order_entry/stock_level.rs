//! Stock-Level: how many of the items that were sold last are running out (clause 2.8).

use super::audit::{Count, Even, InputCounts};
use super::statements::{Ask, Field};
use super::terminal::{Fields, Input, Steps, ask_for_effect, ask_last_row, found_row, whole_number_at};
use crate::transactions::NextStep;
use load::lane::{KeptRow, OpError};

/// The orders that are looked at.
const LAST_ORDERS: i64 = 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Begin,
    NextOrder,
    LowStock,
    Commit,
    Ended,
}

#[derive(Debug, Default)]
pub struct StockLevel {
    step: Step,
    asked: Step,
}

impl StockLevel {
    /// Draws the input of a stock level, counts it, and begins it.
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> StockLevel {
        fields.set_number(Field::District, input.district);
        fields.set_number(Field::Threshold, input.draw_even(Even::Threshold, 10, 20));
        input.tally.add_count(Count::StockLevels, 1);
        StockLevel::default()
    }
}

impl Steps for StockLevel {
    /// Gives the next statement of the stock level.
    fn next(&mut self, _fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin => (ask_for_effect(Ask::BeginReading), Step::NextOrder),
            Step::NextOrder => (ask_last_row(Ask::NextOrder), Step::LowStock),
            Step::LowStock => (ask_last_row(Ask::LowStock), Step::Commit),
            Step::Commit => (ask_for_effect(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    /// Takes a statement's rows: the district's next order, and the count of items; fails if a row is missing.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        _tally: &mut InputCounts,
    ) -> Result<(), OpError> {
        match self.asked {
            Step::NextOrder => {
                let next = whole_number_at(found_row(results, "a district")?, 0)?;
                fields.set_number(Field::Order, next);
                fields.set_number(Field::Since, next - LAST_ORDERS);
                Ok(())
            }
            Step::LowStock => whole_number_at(found_row(results, "a count of items")?, 0).map(drop),
            _ => Ok(()),
        }
    }
}
