//! Order-Status: what has become of a customer's last order (clause 2.6).

use super::audit::{Count, Even, InputCounts};
use super::payment::{middle, select_customer};
use super::statements::{Ask, Field};
use super::terminal::{Fields, Input, Steps, ask, found, read, read_all, verify_name, whole};
use crate::transactions::NextStep;
use load::lane::{KeptRow, OpError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    ByName,
    Customer,
    Order,
    Lines,
    Commit,
    Ended,
}

#[derive(Debug)]
pub struct OrderStatus {
    is_by_name: bool,
    step: Step,
    asked: Step,
}

impl OrderStatus {
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> OrderStatus {
        let district = input.district_of(Even::StatusDistrict);
        let customer = select_customer(input, fields);
        fields.set(Field::CustomerWarehouse, input.home);
        fields.set(Field::CustomerDistrict, district);
        input.tally.count(Count::OrderStatuses, 1);
        input.tally.count(Count::OrderStatusesByName, u64::from(customer.is_none()));
        OrderStatus { is_by_name: customer.is_none(), step: Step::Begin, asked: Step::Begin }
    }
}

impl Steps for OrderStatus {
    fn next(&mut self, _fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin if self.is_by_name => (ask(Ask::BeginReading), Step::ByName),
            Step::Begin => (ask(Ask::BeginReading), Step::Customer),
            Step::ByName => (read_all(Ask::CustomersByName as usize), Step::Customer),
            Step::Customer => (read(Ask::CustomerBalance), Step::Order),
            Step::Order => (read(Ask::LastOrder), Step::Lines),
            Step::Lines => (read_all(Ask::OrderLines as usize), Step::Commit),
            Step::Commit => (ask(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    fn receive(&mut self, results: &[KeptRow], fields: &mut Fields, _tally: &mut InputCounts) -> Result<(), OpError> {
        match self.asked {
            Step::ByName => middle(results, fields).map(drop),
            Step::Customer => {
                const LAST_NAME: usize = 3;
                let row = found(results, "a customer")?;
                if self.is_by_name { verify_name(row, LAST_NAME, fields) } else { Ok(()) }
            }
            // Every customer has one from the beginning.
            Step::Order => {
                fields.set(Field::Order, whole(found(results, "a customer's order")?, 0)?);
                Ok(())
            }
            Step::Lines => found(results, "an order's line").map(drop),
            _ => Ok(()),
        }
    }
}
