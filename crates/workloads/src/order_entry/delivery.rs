//! Delivery: the oldest order of each district is delivered, all in one transaction (clause 2.7).
//!
//! By the specification it is queued and carried out later; here, as in most tools, the terminal waits for it.

use super::audit::{Count, Even, InputCounts};
use super::claims::order_place;
use super::statements::{Ask, Field};
use super::terminal::{Fields, Input, Steps, amount, ask, found, missing, pipe, read, whole};
use crate::transactions::NextStep;
use load::datum::Datum;
use load::lane::{ErrorClass, KeptRow, OpError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    Oldest,
    Order,
    Delete,
    Deliver,
    Lines,
    Together,
    Total,
    Credit,
    Commit,
    Ended,
}

#[derive(Debug)]
pub struct Delivery {
    district: i64,
    /// The number of the last order.
    last: i64,
    step: Step,
    asked: Step,
}

impl Delivery {
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> Delivery {
        fields.set(Field::Carrier, input.even(Even::Carrier, 1, 10));
        input.tally.count(Count::Deliveries, 1);
        Delivery { district: 0, last: input.rules.delivered_districts, step: Step::Begin, asked: Step::Begin }
    }

    /// The next district, or the end.
    fn next_district(&mut self) -> Step {
        self.district += 1;
        if self.district > self.last { Step::Commit } else { Step::Oldest }
    }
}

impl Steps for Delivery {
    fn next(&mut self, fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin => (ask(Ask::Begin), self.next_district()),
            Step::Oldest => {
                fields.set(Field::District, self.district);
                (read(Ask::OldestOrder), Step::Order)
            }
            Step::Order => (read(Ask::OrderToDeliver), Step::Delete),
            Step::Delete => (pipe(Ask::DeleteNewOrder), Step::Deliver),
            Step::Deliver => (pipe(Ask::DeliverOrder), Step::Lines),
            Step::Lines => (pipe(Ask::DeliverLines), Step::Together),
            Step::Together => (NextStep::Together, Step::Total),
            Step::Total => (read(Ask::LinesTotal), Step::Credit),
            Step::Credit => (ask(Ask::CreditCustomer), self.next_district()),
            Step::Commit => (ask(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    fn receive(&mut self, results: &[KeptRow], fields: &mut Fields, tally: &mut InputCounts) -> Result<(), OpError> {
        match self.asked {
            Step::Oldest => match results.last().and_then(|row| row.values.first()).and_then(Datum::as_int) {
                Some(order) => fields.set(Field::Order, order),
                None => {
                    tally.skip_district();
                    self.step = self.next_district();
                }
            },
            Step::Order => {
                let row = found(results, "an order to deliver")?;
                if row.values.get(1) != Some(&Datum::Null) {
                    // Its lock should have shown it. Delivered twice it would be paid for twice.
                    let message = "another Delivery has delivered the order meanwhile".to_owned();
                    return Err(OpError { class: ErrorClass::Serialization, message });
                }
                tally.count(Count::DeliveredOrders, 1);
                tally.count(Count::Carriers, fields.get(Field::Carrier).as_int().unwrap_or_default() as u64);
                tally.count(
                    Count::DeliveredPlaces,
                    order_place(
                        fields.get(Field::Warehouse).as_int().unwrap_or_default(),
                        fields.get(Field::District).as_int().unwrap_or_default(),
                        fields.get(Field::Order).as_int().unwrap_or_default(),
                    ),
                );
                fields.set(Field::Customer, whole(row, 0)?);
            }
            Step::Total => {
                let total = amount(found(results, "an order's line")?.values.first());
                let total = total.ok_or_else(|| missing("an order's line"))?;
                fields.put(Field::Total, Datum::Double((total * 100.0).round() / 100.0));
            }
            _ => {}
        }
        Ok(())
    }
}
