//! Delivery: the oldest order of each district is delivered, all in one transaction (clause 2.7).
//!
//! By the specification it is queued and carried out later; here, as in most tools, the terminal waits for it.

use super::audit::{Count, Even, InputCounts};
use super::claims::order_place;
use super::statements::{Ask, Field};
use super::terminal::{
    Fields, Input, Steps, amount_of, ask_for_effect, ask_in_pipeline, ask_last_row, found_row, missing_rows,
    whole_number_at,
};
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
    /// Draws the input of a delivery, and begins it.
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> Delivery {
        fields.set_number(Field::Carrier, input.draw_even(Even::Carrier, 1, 10));
        input.tally.add_count(Count::Deliveries, 1);
        Delivery { district: 0, last: input.rules.delivered_districts, step: Step::Begin, asked: Step::Begin }
    }

    /// Goes on to the next district, or to the commit after the last one.
    fn next_district(&mut self) -> Step {
        self.district += 1;
        if self.district > self.last { Step::Commit } else { Step::Oldest }
    }
}

impl Steps for Delivery {
    /// Gives the next statement of the delivery.
    fn next(&mut self, fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin => (ask_for_effect(Ask::Begin), self.next_district()),
            Step::Oldest => {
                fields.set_number(Field::District, self.district);
                (ask_last_row(Ask::OldestOrder), Step::Order)
            }
            Step::Order => (ask_last_row(Ask::OrderToDeliver), Step::Delete),
            Step::Delete => (ask_in_pipeline(Ask::DeleteNewOrder), Step::Deliver),
            Step::Deliver => (ask_in_pipeline(Ask::DeliverOrder), Step::Lines),
            Step::Lines => (ask_in_pipeline(Ask::DeliverLines), Step::Together),
            Step::Together => (NextStep::Together, Step::Total),
            Step::Total => (ask_last_row(Ask::LinesTotal), Step::Credit),
            Step::Credit => (ask_for_effect(Ask::CreditCustomer), self.next_district()),
            Step::Commit => (ask_for_effect(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    /// Takes a statement's rows: notes the order to deliver, its customer and total, and counts deliveries.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        tally: &mut InputCounts,
    ) -> Result<(), OpError> {
        match self.asked {
            Step::Oldest => match results.last().and_then(|row| row.values.first()).and_then(Datum::as_int) {
                Some(order) => fields.set_number(Field::Order, order),
                None => {
                    tally.skip_district();
                    self.step = self.next_district();
                }
            },
            Step::Order => {
                let row = found_row(results, "an order to deliver")?;
                if row.values.get(1) != Some(&Datum::Null) {
                    // Its lock should have shown it. Delivered twice it would be paid for twice.
                    let message = "another Delivery has delivered the order meanwhile".to_owned();
                    return Err(OpError { class: ErrorClass::Serialization, message });
                }
                tally.add_count(Count::DeliveredOrders, 1);
                tally.add_count(Count::Carriers, fields.datum_at(Field::Carrier).as_int().unwrap_or_default() as u64);
                tally.add_count(
                    Count::DeliveredPlaces,
                    order_place(
                        fields.datum_at(Field::Warehouse).as_int().unwrap_or_default(),
                        fields.datum_at(Field::District).as_int().unwrap_or_default(),
                        fields.datum_at(Field::Order).as_int().unwrap_or_default(),
                    ),
                );
                fields.set_number(Field::Customer, whole_number_at(row, 0)?);
            }
            Step::Total => {
                let total = amount_of(found_row(results, "an order's line")?.values.first());
                let total = total.ok_or_else(|| missing_rows("an order's line"))?;
                fields.put_datum(Field::Total, Datum::Double((total * 100.0).round() / 100.0));
            }
            _ => {}
        }
        Ok(())
    }
}
