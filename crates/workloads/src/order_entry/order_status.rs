//! Order-Status: what has become of a customer's last order (clause 2.6).

use super::audit::{Count, Even, InputCounts};
use super::payment::{middle_customer, select_customer};
use super::statements::{Ask, Field};
use super::terminal::{
    Fields, Input, Steps, ask_all_rows, ask_for_effect, ask_last_row, found_row, verify_name, whole_number_at,
};
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
    /// Draws the input of an order's status, counts it, and begins it.
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> OrderStatus {
        let district = input.draw_district(Even::StatusDistrict);
        let customer = select_customer(input, fields);
        fields.set_number(Field::CustomerWarehouse, input.home);
        fields.set_number(Field::CustomerDistrict, district);
        input.tally.add_count(Count::OrderStatuses, 1);
        input.tally.add_count(Count::OrderStatusesByName, u64::from(customer.is_none()));
        OrderStatus { is_by_name: customer.is_none(), step: Step::Begin, asked: Step::Begin }
    }
}

impl Steps for OrderStatus {
    /// Gives the next statement of the order's status.
    fn next(&mut self, _fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin if self.is_by_name => (ask_for_effect(Ask::BeginReading), Step::ByName),
            Step::Begin => (ask_for_effect(Ask::BeginReading), Step::Customer),
            Step::ByName => (ask_all_rows(Ask::CustomersByName as usize), Step::Customer),
            Step::Customer => (ask_last_row(Ask::CustomerBalance), Step::Order),
            Step::Order => (ask_last_row(Ask::LastOrder), Step::Lines),
            Step::Lines => (ask_all_rows(Ask::OrderLines as usize), Step::Commit),
            Step::Commit => (ask_for_effect(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    /// Takes a statement's rows: the customer and his last order; fails if a row is missing or of another customer.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        _tally: &mut InputCounts,
    ) -> Result<(), OpError> {
        match self.asked {
            Step::ByName => middle_customer(results, fields).map(drop),
            Step::Customer => {
                const LAST_NAME: usize = 3;
                let row = found_row(results, "a customer")?;
                if self.is_by_name { verify_name(row, LAST_NAME, fields) } else { Ok(()) }
            }
            // Every customer has one from the beginning.
            Step::Order => {
                fields.set_number(Field::Order, whole_number_at(found_row(results, "a customer's order")?, 0)?);
                Ok(())
            }
            Step::Lines => found_row(results, "an order's line").map(drop),
            _ => Ok(()),
        }
    }
}
