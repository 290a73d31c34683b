//! Verbs, factors and shares in words.

use crate::number::{Script, percent_text};

/// The present tells what is, the past what was in runs that prove nothing.
#[derive(Clone, Copy)]
pub enum Tense {
    Present,
    Past,
}

impl Tense {
    /// The verbs for a rate and for a time, such as `runs` and `takes`.
    pub fn verbs(self) -> [&'static str; 2] {
        match self {
            Tense::Present => ["runs", "takes"],
            Tense::Past => ["ran", "took"],
        }
    }
}

impl Tense {
    /// Whether it tells of runs that prove nothing.
    pub fn is_past(self) -> bool {
        matches!(self, Tense::Past)
    }

    /// The verb `is` or `was`.
    pub fn is_verb(self) -> &'static str {
        match self {
            Tense::Present => "is",
            Tense::Past => "was",
        }
    }

    /// The verb for a capacity, `carries` or `carried`.
    pub fn carries_verb(self) -> &'static str {
        match self {
            Tense::Present => "carries",
            Tense::Past => "carried",
        }
    }
}

/// Finds the lowest and the highest of the finite values above 0.
pub fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|value| value.is_finite() && *value > 0.0).fold(None, |found: Option<(f64, f64)>, value| {
        Some(found.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    })
}

/// Two ends in words.
pub struct Spread {
    pub text: String,
    /// The ends do not round to one number.
    pub is_range: bool,
}

/// Writes a factor as a number: `1.5`, `12`.
fn factor_text(factor: f64) -> String {
    match factor {
        factor if factor >= 1_000.0 => "over 1000".to_owned(),
        factor if factor >= 10.0 => format!("{factor:.0}"),
        factor => format!("{factor:.1}").trim_end_matches(".0").to_owned(),
    }
}

/// Writes a range of factors as numbers: `2.5`, `1.2 to 2.5`.
pub fn factors_words(ends: [f64; 2]) -> Spread {
    let [low, high] = ends.map(factor_text);
    if low == high {
        return Spread { text: low, is_range: false };
    }
    Spread { text: format!("{low} to {high}"), is_range: true }
}

/// Writes a range of factors in words: `about twice`, `4.4 to 5.5 times`.
pub fn times_words(ends: [f64; 2]) -> Spread {
    let [low, high] = ends.map(factor_text);
    if low == "1" {
        Spread { text: format!("up to {high} times"), is_range: true }
    } else if low != high {
        Spread { text: format!("{low} to {high} times"), is_range: true }
    } else if low == "2" {
        Spread { text: "about twice".to_owned(), is_range: false }
    } else {
        Spread { text: format!("about {low} times"), is_range: false }
    }
}

/// Writes a range of shares in percent: `12 %`, `12 % to 22 %`, `up to 22 %`.
pub fn percents_words(ends: [f64; 2]) -> Spread {
    let [low, high] = ends.map(|share| percent_text(share, Script::Plain));
    if low == high {
        return Spread { text: low, is_range: false };
    }
    if ends[0] == 0.0 {
        return Spread { text: format!("up to {high}"), is_range: true };
    }
    Spread { text: format!("{low} to {high}"), is_range: true }
}
