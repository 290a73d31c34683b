//! The queries, and the judgement of their answers.

use load::datum::Datum;

use super::exact::Fixed;

/// Relative tolerance for areas and lengths: engines compute in floating point.
const TOLERANCE: f64 = 1e-9;
/// Largest whole number that a floating-point number holds exactly.
const EXACT_LIMIT: f64 = 9_007_199_254_740_992.0;

/// A query of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    Validity,
    LargestCell,
    RoadLengths,
    PointsInCells,
    TouchingCells,
    RoadsCrossCells,
    ClippedRoads,
    Departments,
    Buffers,
    Nearest,
    NearRoads,
    Hulls,
    /// S13, optional.
    Differences,
    /// S14, optional.
    Relations,
    /// S15, optional.
    Text,
}

use Query::{
    Buffers, ClippedRoads, Departments, Differences, Hulls, LargestCell, NearRoads, Nearest, PointsInCells, Relations,
    RoadLengths, RoadsCrossCells, Text, TouchingCells, Validity,
};

const QUERIES: [(Query, &str, &str, &str); 15] = [
    (Validity, "S1", "valid", "which polygons are invalid, which lines touch themselves"),
    (LargestCell, "S2", "area", "the largest polygon"),
    (RoadLengths, "S3", "length", "the length of the lines by class"),
    (PointsInCells, "S4", "inside", "points inside polygons"),
    (TouchingCells, "S5", "touch", "pairs of polygons that touch"),
    (RoadsCrossCells, "S6", "cross", "pairs of lines and polygons that intersect"),
    (ClippedRoads, "S7", "clip", "lines cut at the borders of polygons"),
    (Departments, "S8", "union", "polygons dissolved into departments"),
    (Buffers, "S9", "buffer", "buffers around lines"),
    (Nearest, "S10", "knn", "the nearest other point"),
    (NearRoads, "S11", "within", "points within a distance of lines"),
    (Hulls, "S12", "hull", "convex hulls and centroids"),
    (Differences, "S13", "differ", "symmetric differences of polygons"),
    (Relations, "S14", "relate", "pairs of polygons by their DE-9IM matrix"),
    (Text, "S15", "text", "polygons written as text and read again"),
];

impl Query {
    /// The suite without the optional three.
    pub const CORE: usize = 12;

    /// Lists the suite's queries in their order.
    pub fn all() -> impl Iterator<Item = Query> {
        QUERIES.iter().map(|(query, ..)| *query)
    }

    /// The query's row in the table of queries.
    fn table_row(self) -> &'static (Query, &'static str, &'static str, &'static str) {
        // The table is in the order of the enum, which a test checks.
        &QUERIES[self as usize]
    }

    /// Number of the query, such as `S7`.
    pub fn number(self) -> &'static str {
        self.table_row().1
    }

    /// Number and short name of the query, such as `S7-clip`.
    pub fn name(self) -> String {
        format!("{}-{}", self.table_row().1, self.table_row().2)
    }

    /// Whether the answer is known on shapes of a file: of all but buffers.
    ///
    /// Their area depends on the engine where lines turn by any angle.
    pub(super) fn is_known_of_shapes(self) -> bool {
        self != Buffers
    }

    /// Words for what the query asks.
    pub fn summary(self) -> &'static str {
        self.table_row().3
    }

    /// Parses a list of queries: `core`, `all`, or numbers as in `S1, S4`; fails with a word that names none.
    pub fn parse_list(text: &str) -> Result<Vec<Query>, String> {
        match text.trim() {
            "core" => return Ok(Query::all().take(Query::CORE).collect()),
            "all" => return Ok(Query::all().collect()),
            _ => {}
        }
        let mut found = Vec::new();
        for word in text.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            let named = Query::all().find(|query| query.number().eq_ignore_ascii_case(word) || query.name() == word);
            found.push(named.ok_or_else(|| word.to_owned())?);
        }
        found.sort_unstable();
        found.dedup();
        if found.is_empty() { Err(text.to_owned()) } else { Ok(found) }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// What it is, for messages.
    pub name: &'static str,
    pub value: ExpectedValue,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExpectedValue {
    Exact(i128),
    /// This, up to the rounding of floating point.
    Near(f64),
    /// The area of a buffer: with 8 segments to a quarter of a circle this, up to rounding.
    Rounded {
        with_8: f64,
        /// An upper limit for any number of segments.
        most: f64,
    },
}

impl Expected {
    /// Makes a value that an answer must have exactly.
    pub(super) fn exact(name: &'static str, value: i128) -> Expected {
        Expected { name, value: ExpectedValue::Exact(value) }
    }

    /// Makes a value that an answer may differ from by a rounding error.
    pub(super) fn near(name: &'static str, value: Fixed) -> Expected {
        Expected::near_real(name, value.to_f64())
    }

    /// Makes a value, in floating point, that an answer may differ from by a rounding error.
    pub(super) fn near_real(name: &'static str, value: f64) -> Expected {
        Expected { name, value: ExpectedValue::Near(value) }
    }

    /// Makes a value that depends on how circles are rounded: with eight segments, and at most.
    pub(super) fn rounded(name: &'static str, with_8: f64, most: f64) -> Expected {
        Expected { name, value: ExpectedValue::Rounded { with_8, most } }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// The engine takes 8 segments to a quarter of a circle, as asked.
    EightSegments,
    /// Finer, in a way that cannot be configured.
    Finer,
}

/// Compares an answer's values with the expected ones; fails with the first that differs.
pub fn check_answer(expected: &[Expected], rows: &[Vec<Datum>], rounding: Rounding) -> Result<(), String> {
    let got: Vec<&Datum> = rows.iter().flatten().collect();
    if got.len() != expected.len() {
        return Err(format!("{} values were expected, {} came", expected.len(), got.len()));
    }
    for (expected, got) in expected.iter().zip(got) {
        if !agrees(expected.value, got, rounding) {
            return Err(format!(
                "{}: expected {}, got {}",
                expected.name,
                expected.value.describe(rounding),
                describe_datum(got)
            ));
        }
    }
    Ok(())
}

/// Whether a value is as expected.
fn agrees(expected: ExpectedValue, got: &Datum, rounding: Rounding) -> bool {
    match expected {
        ExpectedValue::Exact(value) => whole_number(got) == Some(value),
        ExpectedValue::Near(value) => is_near(got, value),
        ExpectedValue::Rounded { with_8, most } => match rounding {
            Rounding::EightSegments => is_near(got, with_8),
            Rounding::Finer => real_number(got).is_some_and(|got| (with_8 * (1.0 - TOLERANCE)..=most).contains(&got)),
        },
    }
}

/// Whether a number differs from `value` by a rounding error at most.
fn is_near(got: &Datum, value: f64) -> bool {
    real_number(got).is_some_and(|got| (got - value).abs() <= TOLERANCE * value.abs())
}

impl ExpectedValue {
    /// Words for the expected value, for a message.
    fn describe(self, rounding: Rounding) -> String {
        match (self, rounding) {
            (ExpectedValue::Exact(value), _) => value.to_string(),
            (ExpectedValue::Near(value), _)
            | (ExpectedValue::Rounded { with_8: value, .. }, Rounding::EightSegments) => value.to_string(),
            (ExpectedValue::Rounded { with_8, most }, Rounding::Finer) => format!("{with_8} to {most}"),
        }
    }
}

/// Words for a value that came, for a message.
fn describe_datum(datum: &Datum) -> String {
    match datum {
        Datum::Null => "NULL".to_owned(),
        Datum::Int(value) => value.to_string(),
        Datum::Double(value) => value.to_string(),
        Datum::Text(text) => text.chars().take(60).collect(),
    }
}

/// Reads a value as a finite number, also from text; `None` if it is none.
fn real_number(datum: &Datum) -> Option<f64> {
    match datum {
        Datum::Null => None,
        Datum::Int(value) => Some(*value as f64),
        Datum::Double(value) => Some(*value),
        Datum::Text(text) => text.trim().parse().ok(),
    }
    .filter(|value: &f64| value.is_finite())
}

/// Reads a value as a whole number, also from text or a floating-point number; `None` if it is none.
fn whole_number(datum: &Datum) -> Option<i128> {
    match datum {
        Datum::Null => None,
        Datum::Int(value) => Some((*value).into()),
        Datum::Double(value) => (value.fract() == 0.0 && value.abs() <= EXACT_LIMIT).then_some(*value as i128),
        Datum::Text(text) => {
            let text = text.trim();
            // Decimal types print a fraction of zeros.
            let whole = text.split_once('.').filter(|(_, zeros)| zeros.bytes().all(|b| b == b'0'));
            whole.map_or(text, |(whole, _)| whole).parse().ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn queries_stand_in_order_and_are_found_by_name() {
        for (place, (query, number, ..)) in QUERIES.iter().enumerate() {
            assert_eq!((*query as usize, *number), (place, format!("S{}", place + 1).as_str()));
        }
        assert_eq!(Query::parse_list("core").unwrap().len(), 12);
        assert_eq!(Query::parse_list("all").unwrap().len(), 15);
        assert_eq!(Query::parse_list("s7, S4-inside,S7").unwrap(), [PointsInCells, ClippedRoads]);
        assert_eq!(Query::parse_list("S4, S16").unwrap_err(), "S16");
        assert!(Query::parse_list("").is_err());
    }

    fn one(value: ExpectedValue, got: Datum, rounding: Rounding) -> Result<(), String> {
        check_answer(&[Expected { name: "area", value }], &[vec![got]], rounding)
    }

    #[test]
    fn numbers_agree_however_an_engine_writes_them() {
        for got in [Datum::Int(42), Datum::Double(42.0), text("42"), text("42.0000")] {
            assert_eq!(one(ExpectedValue::Exact(42), got, Rounding::EightSegments), Ok(()));
        }
        for got in [Datum::Int(43), Datum::Double(42.5), text("42.5"), text("x"), Datum::Null] {
            assert!(one(ExpectedValue::Exact(42), got, Rounding::EightSegments).is_err());
        }
        for (got, good) in [(1e6, true), (1e6 + 9e-4, true), (1e6 + 2e-3, false), (f64::NAN, false)] {
            assert_eq!(
                one(ExpectedValue::Near(1e6), Datum::Double(got), Rounding::EightSegments).is_ok(),
                good,
                "{got}"
            );
        }
        let evidence = one(ExpectedValue::Near(2.5), text("3"), Rounding::EightSegments).unwrap_err();
        assert_eq!(evidence, "area: expected 2.5, got 3");
    }

    fn text(text: &'static str) -> Datum {
        Datum::Text(Cow::Borrowed(text))
    }

    #[test]
    fn a_finer_buffer_is_larger_but_not_larger_than_the_circle() {
        let value = ExpectedValue::Rounded { with_8: 100.0, most: 101.0 };
        assert!(one(value, Datum::Double(100.5), Rounding::EightSegments).is_err());
        for (got, good) in [(99.0, false), (100.0, true), (100.5, true), (101.5, false)] {
            assert_eq!(one(value, Datum::Double(got), Rounding::Finer).is_ok(), good, "{got}");
        }
    }

    #[test]
    fn a_missing_or_extra_row_is_wrong() {
        let expected = [Expected { name: "n", value: ExpectedValue::Exact(1) }];
        assert!(check_answer(&expected, &[], Rounding::Finer).is_err());
        assert!(check_answer(&expected, &[vec![Datum::Int(1)], vec![Datum::Int(1)]], Rounding::Finer).is_err());
    }
}
