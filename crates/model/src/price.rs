//! What a system costs, as `1.23 EUR/h`.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Hours of a month: a twelfth of a year of 365 days, as hosters bill it.
const HOURS_OF_A_MONTH: f64 = 730.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Price {
    pub per_hour: f64,
    /// The currency as written: `EUR`, `$`.
    pub currency: String,
}

impl Price {
    /// Computes the operations that a unit of money buys at a rate of operations a second.
    pub fn operations_bought(&self, per_s: f64) -> f64 {
        per_s * 3_600.0 / self.per_hour
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no price: a number above 0, a space, any currency, and `/h` or `/month`, as in `1.23 EUR/h` or `900 $/month`")]
pub struct PriceError;

impl FromStr for Price {
    type Err = PriceError;

    fn from_str(text: &str) -> Result<Price, PriceError> {
        let (money, per) = text.split_once('/').ok_or(PriceError)?;
        let (amount, currency) = money.trim().split_once(char::is_whitespace).ok_or(PriceError)?;
        let hours = match per.trim() {
            "h" => 1.0,
            "month" => HOURS_OF_A_MONTH,
            _ => return Err(PriceError),
        };
        let currency = currency.trim();
        let is_fit = (1..=8).contains(&currency.chars().count())
            && currency.chars().all(|c| !c.is_whitespace() && !c.is_control() && !c.is_numeric());
        let amount: f64 = amount.parse().map_err(|_| PriceError)?;
        (amount > 0.0 && amount.is_finite() && is_fit)
            .then(|| Price { per_hour: amount / hours, currency: currency.to_owned() })
            .ok_or(PriceError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_of_an_hour_or_a_month() {
        let price: Price = "1.23 EUR/h".parse().unwrap();
        assert_eq!((price.per_hour, price.currency.as_str()), (1.23, "EUR"));
        assert_eq!("730 USD/month".parse::<Price>().unwrap().per_hour, 1.0);
        assert_eq!(" 2 $ / h ".parse::<Price>().unwrap().currency, "$");
        assert_eq!("1.5 €/h".parse::<Price>().unwrap().currency, "€");
        // A thousand a second for 2 an hour are 1.8 million for 1.
        assert_eq!("2 EUR/h".parse::<Price>().unwrap().operations_bought(1_000.0), 1_800_000.0);
        for wrong in ["", "1.23", "EUR/h", "1 EUR", "0 EUR/h", "-1 EUR/h", "inf EUR/h", "1 EUR/d", "1 E R/h", "1 12/h"]
        {
            assert_eq!(wrong.parse::<Price>(), Err(PriceError), "{wrong}");
        }
    }
}
