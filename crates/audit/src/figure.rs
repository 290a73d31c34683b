//! A figure as it was published: its digits show how exact it claims to be.

use formats::dimension::Ratio;

/// Tolerance for binary fractions, as a share of the last digit.
const SLACK: f64 = 1e-6;
/// Relative error of a sum of many doubles.
const RELATIVE_SLACK: f64 = 1e-12;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relation {
    Equal,
    /// `~30`: trailing zeros are no digits.
    About,
    /// `>1000`.
    Above,
    /// `<5`.
    Below,
    /// `15..25`; the upper end.
    UpTo(f64),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    pub text: String,
    /// The lower end of a range; `None` for a name.
    pub value: Option<f64>,
    /// The last digit is worth 10^-decimals; negative for tens.
    pub decimals: i32,
    pub relation: Relation,
}

/// How well a computed value fits a printed one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The computed value rounds to the printed one.
    Rounded,
    /// Less than one unit of the last digit apart: cut off, or rounded the wrong way.
    Cut,
    No,
}

impl Printed {
    /// Reads a figure: `27.24`, `~30`, `>1000`, `<5`, `15..25`; anything else is a name.
    pub fn parse(text: &str) -> Printed {
        let text = text.trim();
        let (relation, number) = match text.chars().next() {
            Some('~') => (Relation::About, text[1..].trim()),
            Some('>') => (Relation::Above, text[1..].trim()),
            Some('<') => (Relation::Below, text[1..].trim()),
            _ => match text.split_once("..") {
                Some((low, high)) => (formats::text::parse_number(high).map_or(Relation::Equal, Relation::UpTo), low),
                None => (Relation::Equal, text),
            },
        };
        let value = formats::text::parse_number(number);
        let mut decimals = decimals_of(number);
        if relation == Relation::About && decimals == 0 {
            let digits = number.trim_start_matches('-');
            let zeros = digits.len() - digits.trim_end_matches('0').len();
            // At least one digit stays.
            decimals = -(zeros.min(digits.len().saturating_sub(1)) as i32);
        }
        Printed { text: text.to_owned(), value, decimals, relation }
    }

    /// Converts the figure to another unit; `from` is the unit it has, for its text.
    pub fn convert_unit(&self, ratio: Ratio, from: &str) -> Printed {
        let times = ratio.apply(1.0);
        let relation = match self.relation {
            Relation::UpTo(high) => Relation::UpTo(ratio.apply(high)),
            other => other,
        };
        // The last digit is worth no less than it was; a logarithm may be off by its last bits.
        let decimals = (f64::from(self.decimals) - times.log10() + 1e-9).floor() as i32;
        Printed {
            text: format!("{} {from}", self.text),
            value: self.value.map(|value| ratio.apply(value)),
            decimals,
            relation,
        }
    }

    /// Gives the worth of one in the last digit: 0.01 for `27.24`.
    pub fn last_digit_unit(&self) -> f64 {
        10_f64.powi(-self.decimals)
    }

    /// Counts the digits from the first that is not zero.
    pub fn significant_digits(&self) -> i32 {
        let value = self.value.unwrap_or(0.0).abs();
        if value == 0.0 { 0 } else { value.log10().floor() as i32 + 1 + self.decimals }
    }

    /// Tests whether a computed value gives this figure, rounded to the nearest or cut.
    /// A half may be rounded either way.
    pub fn matches(&self, computed: f64) -> Match {
        let Some(value) = self.value else { return Match::No };
        if !computed.is_finite() {
            return Match::No;
        }
        let slack = SLACK * self.last_digit_unit() + RELATIVE_SLACK * computed.abs();
        match self.relation {
            Relation::Above => return rounded_if(computed > value - slack),
            Relation::Below => return rounded_if(computed < value + slack),
            Relation::UpTo(high) => {
                let half = self.last_digit_unit() / 2.0 + slack;
                return rounded_if((value - half..=high + half).contains(&computed));
            }
            Relation::Equal | Relation::About => {}
        }
        let distance = (computed - value).abs();
        if distance <= self.last_digit_unit() / 2.0 + slack {
            Match::Rounded
        } else if self.relation == Relation::Equal && distance < self.last_digit_unit() - slack {
            Match::Cut
        } else {
            Match::No
        }
    }

    /// Whether the computed value rounds to this figure.
    pub fn is_rounded_from(&self, computed: f64) -> bool {
        self.matches(computed) == Match::Rounded
    }

    /// Whether a value from `low` to `high` rounds to this figure.
    pub fn fits_within(&self, low: f64, high: f64) -> bool {
        let nearest = self.value.map(|value| value.clamp(low.min(high), high));
        [Some(low), nearest, Some(high)].into_iter().flatten().any(|value| self.matches(value) == Match::Rounded)
    }

    /// Gives the lowest and highest value that round to this figure.
    pub fn rounding_interval(&self) -> Option<(f64, f64)> {
        let half = self.last_digit_unit() / 2.0;
        self.value.map(|value| (value - half, value + half))
    }
}

/// Counts the decimals of a number as written, without its exponent.
pub fn decimals_of(number: &str) -> i32 {
    let mantissa = number.split(['e', 'E']).next().unwrap_or_default();
    mantissa.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32)
}

/// Gives `Rounded` if a condition holds, else `No`.
fn rounded_if(holds: bool) -> Match {
    if holds { Match::Rounded } else { Match::No }
}

/// Formats a value with this number of decimals, at most 12, and no minus before zero.
pub fn number_text(value: f64, decimals: i32) -> String {
    let decimals = decimals.clamp(0, 12) as usize;
    let text = format!("{value:.decimals$}");
    // -0.00 is 0.00.
    if text.trim_start_matches(['-', '0', '.']).is_empty() { text.trim_start_matches('-').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_tell_how_exact_a_figure_is() {
        assert_eq!((Printed::parse("4.30").decimals, Printed::parse("15").decimals), (2, 0));
        assert_eq!((Printed::parse("~30").decimals, Printed::parse("~1000").decimals), (-1, -3));
        assert_eq!(Printed::parse("linux").value, None);
        assert_eq!((Printed::parse("0.001").significant_digits(), Printed::parse("2.50").significant_digits()), (1, 3));
    }

    #[test]
    fn a_half_goes_either_way_and_a_cut_differs_from_a_rounding() {
        fn fits(text: &str, value: f64) -> Match {
            Printed::parse(text).matches(value)
        }
        assert_eq!((fits("2.4", 2.35), fits("2.3", 2.35)), (Match::Rounded, Match::Rounded));
        assert_eq!((fits("118", 118.62), fits("118", 119.1)), (Match::Cut, Match::No));
        assert_eq!(
            (fits("~30", 29.67), fits("~80", 80.64), fits("~1000", 12.8)),
            (Match::Rounded, Match::Rounded, Match::No)
        );
        assert_eq!(
            (fits(">1000", 1177.34), fits("15..25", 24.8), fits("15..20", 24.8)),
            (Match::Rounded, Match::Rounded, Match::No)
        );
        assert_eq!(fits("1", f64::NAN), Match::No);
    }
}
