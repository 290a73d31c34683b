//! Shares as people write them, `5%` or `0.05`: the one reader for plans and the command line.

use std::fmt;

/// What a share may be, and an example for those who wrote something else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareRange {
    /// Both exclusive.
    limits: (f64, f64),
    example: f64,
}

/// Half width of a zone of equivalence.
pub const MARGIN: ShareRange = ShareRange { limits: (0.0, 1.0), example: 0.03 };
/// Level of an interval: one that misses the truth every other time is useless.
pub const LEVEL: ShareRange = ShareRange { limits: (0.5, 1.0), example: 0.95 };
/// A difference that a user cares about.
pub const EFFECT: ShareRange = ShareRange { limits: (0.0, 10.0), example: 0.03 };
/// How much worse a candidate may be: also several times as much, if that is said with the sign.
pub const REGRESSION: ShareRange = ShareRange { limits: (0.0, 10.0), example: 0.05 };

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("`{written}` is no share between {} and {}", percent_text(range.limits.0), percent_text(range.limits.1))]
pub struct ShareError {
    written: String,
    range: ShareRange,
}

impl ShareRange {
    /// Gives the lowest and highest share, both excluded.
    pub fn limits(self) -> (f64, f64) {
        self.limits
    }

    /// Parses a share, `5%` or `0.05`; fails outside the range.
    /// A number without the sign lies below 1, since 5 may mean 5 % or 500 %.
    pub fn parse(self, text: &str) -> Result<f64, ShareError> {
        let text = text.trim();
        let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |number| (number.trim_end(), 100.0));
        let value =
            number.parse().ok().filter(|value: &f64| divisor > 1.0 || *value < 1.0).map(|value: f64| value / divisor);
        value.map_or_else(
            || Err(self.make_share_error(text)),
            |value| self.check(value).map_err(|_| self.make_share_error(text)),
        )
    }

    /// Fails if a share that is a number already is outside the range.
    pub fn check(self, value: f64) -> Result<f64, ShareError> {
        let (lowest, highest) = self.limits;
        if value > lowest && value < highest { Ok(value) } else { Err(self.make_share_error(&value.to_string())) }
    }

    /// Makes the error of a share out of range.
    fn make_share_error(self, text: &str) -> ShareError {
        ShareError { written: text.to_owned(), range: self }
    }
}

/// Parses a share that may be 0 or 1, which need no sign.
pub fn parse_with_ends(text: &str) -> Option<f64> {
    match text.trim().replace(' ', "").as_str() {
        "0" | "0.0" | "0%" => Some(0.0),
        "1" | "1.0" | "100%" => Some(1.0),
        _ => MEANT.parse(text).ok(),
    }
}

impl ShareError {
    /// Makes the hint with both spellings of what was probably meant, each of which can be typed.
    /// Also in a plan, where the sign takes quotes.
    pub fn hint(&self) -> String {
        let (number, has_sign) = self.written.strip_suffix('%').map_or((&*self.written, false), |n| (n, true));
        let number = number.trim().parse::<f64>().unwrap_or(f64::NAN).abs();
        let meant = if has_sign || number >= 1.0 { number / 100.0 } else { number };
        let meant = MEANT.check(meant).and_then(|meant| self.range.check(meant)).unwrap_or(self.range.example);
        format!("write {} or \"{}%\"", without_noise(meant), without_noise(meant * 100.0))
    }
}

/// A suggestion is a share that both spellings have.
const MEANT: ShareRange = ShareRange { limits: (0.0, 1.0), example: 0.05 };

/// Rounds a number to ten decimals, without the digits that binary fractions add.
fn without_noise(value: f64) -> f64 {
    (value * 1e10).round() / 1e10
}

/// Writes a share in percent.
fn percent_text(share: f64) -> impl fmt::Display {
    format!("{} %", without_noise(share * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_its_sign_or_lies_below_one() {
        for (text, value) in [("5%", 0.05), ("5 %", 0.05), ("0.05", 0.05), ("0.5%", 0.005), (" .05 ", 0.05)] {
            assert_eq!(MARGIN.parse(text), Ok(value), "{text}");
        }
        assert_eq!((LEVEL.parse("90%"), LEVEL.parse("0.99")), (Ok(0.9), Ok(0.99)));
        assert_eq!(REGRESSION.parse("150%"), Ok(1.5));
        for text in [
            "5", "3", "1.5", "-5%", "0", "0%", "nan", "NaN%", "inf", "-0.05", "1", "100%", "5%%", "%", "", "five",
            "5e9%",
        ] {
            assert!(MARGIN.parse(text).is_err(), "{text}");
        }
        for text in ["5", "1.5", "-5%", "0", "nan", "inf%", "1000%"] {
            assert!(REGRESSION.parse(text).is_err(), "{text}");
        }
        for text in ["95", "0.5", "50%", "5%", "100%", "1"] {
            assert!(LEVEL.parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_that_may_be_nothing_or_all_takes_both_spellings() {
        for (text, value) in
            [("0.1 %", 0.001), ("0.1%", 0.001), ("0.001", 0.001), ("0", 0.0), ("0 %", 0.0), ("100%", 1.0), ("1", 1.0)]
        {
            assert_eq!(parse_with_ends(text), Some(value), "{text}");
        }
        for text in ["5", "-1%", "101%", "", "%", "few", "5%%"] {
            assert_eq!(parse_with_ends(text), None, "{text}");
        }
    }

    #[test]
    fn refusals_name_both_spellings_that_are_taken() {
        let cases = [
            (MARGIN, "5", "write 0.05 or \"5%\""),
            (MARGIN, "1.5", "write 0.015 or \"1.5%\""),
            (MARGIN, "-5%", "write 0.05 or \"5%\""),
            (MARGIN, "7", "write 0.07 or \"7%\""),
            (MARGIN, "0", "write 0.03 or \"3%\""),
            (MARGIN, "nan", "write 0.03 or \"3%\""),
            (MARGIN, "300%", "write 0.03 or \"3%\""),
            (REGRESSION, "5", "write 0.05 or \"5%\""),
            (REGRESSION, "five", "write 0.05 or \"5%\""),
            (LEVEL, "90", "write 0.9 or \"90%\""),
            (LEVEL, "5%", "write 0.95 or \"95%\""),
        ];
        for (range, text, hint) in cases {
            let error = range.parse(text).unwrap_err();
            assert_eq!(error.hint(), hint, "{text}");
            let spellings: Vec<&str> = hint.trim_start_matches("write ").split(" or ").collect();
            for spelling in spellings {
                assert!(range.parse(spelling.trim_matches('"')).is_ok(), "{spelling}");
            }
        }
        assert_eq!(MARGIN.parse("5").unwrap_err().to_string(), "`5` is no share between 0 % and 100 %");
    }
}
