//! Stock-Level: how many of the items that were sold last are running out (clause 2.8).

use super::audit::{Count, Even, InputCounts};
use super::statements::{Ask, Field};
use super::terminal::{Fields, Input, Steps, ask, found, read, whole};
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
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> StockLevel {
        fields.set(Field::District, input.district);
        fields.set(Field::Threshold, input.even(Even::Threshold, 10, 20));
        input.tally.count(Count::StockLevels, 1);
        StockLevel::default()
    }
}

impl Steps for StockLevel {
    fn next(&mut self, _fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin => (ask(Ask::BeginReading), Step::NextOrder),
            Step::NextOrder => (read(Ask::NextOrder), Step::LowStock),
            Step::LowStock => (read(Ask::LowStock), Step::Commit),
            Step::Commit => (ask(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    fn receive(&mut self, results: &[KeptRow], fields: &mut Fields, _tally: &mut InputCounts) -> Result<(), OpError> {
        match self.asked {
            Step::NextOrder => {
                let next = whole(found(results, "a district")?, 0)?;
                fields.set(Field::Order, next);
                fields.set(Field::Since, next - LAST_ORDERS);
                Ok(())
            }
            Step::LowStock => whole(found(results, "a count of items")?, 0).map(drop),
            _ => Ok(()),
        }
    }
}
