//! Payment: a customer pays through a district (clause 2.5).

use super::audit::{Count, Even, InputCounts};
use super::claims::{LARGE_CENTS, LOADED_CENTS, payment_place};
use super::draw::{decimal_datum, last_name, name_mark};
use super::statements::{Ask, Field};
use super::terminal::{
    Fields, Input, Steps, ask_all_rows, ask_for_effect, ask_last_row, found_row, text_of, verify_name, whole_number_at,
};
use crate::transactions::NextStep;
use load::datum::Datum;
use load::lane::{KeptRow, OpError};

/// Most characters of what is known of a customer.
const MOST_DATA: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Begin,
    PayWarehouse,
    Warehouse,
    PayDistrict,
    District,
    ByName,
    PayCustomer,
    Customer,
    Data,
    NoteData,
    History,
    Commit,
    Ended,
}

#[derive(Debug)]
pub struct Payment {
    is_by_name: bool,
    /// What is noted of a customer of bad credit, without the customer's number.
    place: [i64; 4],
    amount: f64,
    customer: i64,
    has_bad_credit: bool,
    warehouse_name: String,
    step: Step,
    asked: Step,
}

/// Draws a customer by last name or by number, and sets its field; returns the number, `None` if drawn by name.
pub fn select_customer(input: &mut Input<'_>, fields: &mut Fields) -> Option<i64> {
    if input.rng.int_between(1, 100) <= input.rules.by_name {
        let name = last_name(input.draw_last_name());
        fields.put_datum(Field::LastName, Datum::Text(name.into()));
        return None;
    }
    let customer = input.draw_customer();
    fields.set_number(Field::Customer, customer);
    Some(customer)
}

/// Takes the customer in the middle of those of a name, by first name: number n/2, rounded up.
pub fn middle_customer(results: &[KeptRow], fields: &mut Fields) -> Result<i64, OpError> {
    let row = found_row(results, "a customer of that name")?;
    let place = row.values.len().div_ceil(2) - 1;
    let customer = whole_number_at(row, place)?;
    fields.set_number(Field::Customer, customer);
    Ok(customer)
}

/// Counts who has paid: the customer's number and name, and whether of bad credit.
pub fn count_payer(tally: &mut InputCounts, fields: &Fields, customer: i64, name: &str, has_bad_credit: bool) {
    let entered = fields.text_at(Field::LastName).filter(|name| !name.is_empty());
    let is_the_load_s = to_cents(fields.datum_at(Field::Payment)) == LOADED_CENTS;
    tally.add_count(Count::PayerNumbers, customer as u64);
    if !is_the_load_s {
        tally.add_count(Count::PayerNames, name_mark(entered.unwrap_or(name)));
    }
    if has_bad_credit {
        tally.add_count(Count::BadCredit, 1);
        tally.add_count(Count::NotedPayments, u64::from(!is_the_load_s));
    }
}

/// Reads an amount of money in whole cents; 0 if it is no number.
fn to_cents(amount: &Datum) -> i64 {
    match amount {
        Datum::Double(amount) => (amount * 100.0).round() as i64,
        _ => 0,
    }
}

impl Payment {
    /// Draws the input of a payment, counts it, and begins it.
    pub fn enter(input: &mut Input<'_>, fields: &mut Fields) -> Payment {
        let district = input.draw_district(Even::PaymentDistrict);
        let is_remote = input.rng.int_between(1, 100) > input.rules.at_home;
        let (warehouse_of_customer, district_of_customer) = match input.draw_other_warehouse() {
            Some(other) if is_remote => (other, input.draw_district(Even::OtherDistrict)),
            _ => (input.home, district),
        };
        let customer = select_customer(input, fields);
        let cents = input.draw_even(Even::Amount, 100, 500_000);
        fields.set_number(Field::District, district);
        fields.set_number(Field::CustomerWarehouse, warehouse_of_customer);
        fields.set_number(Field::CustomerDistrict, district_of_customer);
        fields.put_datum(Field::Payment, decimal_datum(cents, 100));
        input.tally.add_count(Count::Payments, 1);
        input.tally.add_count(Count::RemotePayments, u64::from(warehouse_of_customer != input.home));
        input.tally.add_count(Count::PaymentsByName, u64::from(customer.is_none()));
        input.tally.add_count(Count::MiddlePayments, u64::from(customer.is_none() && cents != LOADED_CENTS));
        input.tally.add_count(Count::LargePayments, u64::from(cents > LARGE_CENTS));
        let of_customer = (warehouse_of_customer, district_of_customer);
        input.tally.add_count(Count::PaymentPlaces, payment_place(input.home, district, of_customer));
        Payment {
            is_by_name: customer.is_none(),
            place: [district_of_customer, warehouse_of_customer, district, input.home],
            amount: cents as f64 / 100.0,
            customer: customer.unwrap_or_default(),
            has_bad_credit: false,
            warehouse_name: String::new(),
            step: Step::Begin,
            asked: Step::Begin,
        }
    }

    /// Text that is kept of a customer of bad credit: this payment, then what was known, cut to 500 characters.
    fn customer_note(&self, known: &str) -> String {
        let [district_of_customer, warehouse_of_customer, district, warehouse] = self.place;
        let customer = self.customer;
        let amount = self.amount;
        let mut noted = format!(
            "{customer} {district_of_customer} {warehouse_of_customer} {district} {warehouse} {amount:.2}|{known}"
        );
        let end = noted.char_indices().nth(MOST_DATA).map_or(noted.len(), |(place, _)| place);
        noted.truncate(end);
        noted
    }
}

impl Steps for Payment {
    /// Gives the next statement of the payment.
    fn next(&mut self, _fields: &mut Fields) -> NextStep {
        self.asked = self.step;
        let (asking, then) = match self.step {
            Step::Begin => (ask_for_effect(Ask::Begin), Step::PayWarehouse),
            Step::PayWarehouse => (ask_for_effect(Ask::PayWarehouse), Step::Warehouse),
            Step::Warehouse => (ask_last_row(Ask::WarehouseAddress), Step::PayDistrict),
            Step::PayDistrict => (ask_for_effect(Ask::PayDistrict), Step::District),
            Step::District if self.is_by_name => (ask_last_row(Ask::DistrictAddress), Step::ByName),
            Step::District => (ask_last_row(Ask::DistrictAddress), Step::PayCustomer),
            Step::ByName => (ask_all_rows(Ask::CustomersByName as usize), Step::PayCustomer),
            Step::PayCustomer => (ask_for_effect(Ask::PayCustomer), Step::Customer),
            Step::Customer => (ask_last_row(Ask::Customer), Step::Data),
            Step::Data if self.has_bad_credit => (ask_last_row(Ask::CustomerData), Step::NoteData),
            Step::NoteData => (ask_for_effect(Ask::NoteCustomer), Step::History),
            Step::Data | Step::History => (ask_for_effect(Ask::InsertHistory), Step::Commit),
            Step::Commit => (ask_for_effect(Ask::Commit), Step::Ended),
            Step::Ended => (NextStep::End, Step::Ended),
        };
        self.step = then;
        asking
    }

    /// Takes a statement's rows: names, the customer and his credit; fails if a row is missing or of another customer.
    fn receive_rows(
        &mut self,
        results: &[KeptRow],
        fields: &mut Fields,
        tally: &mut InputCounts,
    ) -> Result<(), OpError> {
        match self.asked {
            Step::Warehouse => {
                let row = found_row(results, "a warehouse")?;
                self.warehouse_name = text_of(row.values.first()).to_owned();
            }
            Step::District => {
                let row = found_row(results, "a district")?;
                let name = format!("{}    {}", self.warehouse_name, text_of(row.values.first()));
                fields.put_datum(Field::PaymentData, Datum::Text(name.into()));
            }
            Step::ByName => self.customer = middle_customer(results, fields)?,
            Step::Customer => {
                const LAST_NAME: usize = 2;
                const CREDIT: usize = 10;
                let row = found_row(results, "a customer")?;
                if self.is_by_name {
                    verify_name(row, LAST_NAME, fields)?;
                }
                self.has_bad_credit = text_of(row.values.get(CREDIT)) == "BC";
                let name = text_of(row.values.get(LAST_NAME));
                count_payer(tally, fields, self.customer, name, self.has_bad_credit);
            }
            Step::Data => {
                let row = found_row(results, "a customer")?;
                let noted = self.customer_note(text_of(row.values.first()));
                fields.put_datum(Field::CustomerData, Datum::Text(noted.into()));
            }
            _ => {}
        }
        Ok(())
    }
}
