//! How each engine is asked: tables, indexes, and the queries in its own words.
//!
//! A query gives the same columns on every engine. It uses the engine's spatial index in the way that its manual asks
//! for, and returns a small row of counts and sums, so that no result set is measured in place of an answer.

use std::fmt::Write as _;

use super::exact::Pt;
use super::oracle::{FEW_ROADS, NEAR_QUARTERS, PROBES, RADIUS};
use super::query::{Query, Rounding};

/// What a spatial engine is asked.
pub trait SpatialDialect: Sync {
    /// The statements that make the tables.
    fn tables(&self) -> Vec<String>;

    /// The beginning of an expression that makes a geometry of a text, and its end.
    fn geometry(&self) -> (&'static str, &'static str);

    /// What stands around the statements of the load.
    fn transaction(&self) -> (&'static str, &'static str);

    /// The statements that build the indexes and bring the planner's statistics up to date. `extent` is the side of the
    /// square that holds everything.
    fn indexes(&self, extent: i64) -> Vec<String>;

    /// A query, or why it cannot be asked. `window` is the side of a window around a point that is sure to hold the
    /// nearest other one, for engines that do not find it by themselves.
    fn query(&self, query: Query, window: i64) -> Result<String, String>;

    /// What stands around a query, outside the time that is measured.
    fn around_query(&self) -> (&'static str, &'static str) {
        ("", "")
    }

    /// How it rounds the corners of a buffer.
    fn rounding(&self) -> Rounding {
        Rounding::EightSegments
    }
}

/// The query's text with its constants filled in.
pub(crate) fn filled(text: &str, window: i64) -> String {
    let near = format!("{}", NEAR_QUARTERS as f64 / 4.0);
    // A row's text is written over several lines for its readers only.
    let one_line: Vec<&str> = text.split_whitespace().collect();
    one_line
        .join(" ")
        .replace("{roads}", &FEW_ROADS.to_string())
        .replace("{probes}", &PROBES.to_string())
        .replace("{radius}", &RADIUS.to_string())
        .replace("{near}", &near)
        .replace("{window}", &window.to_string())
}

/// A polygon in Well-Known Text (OGC 06-103r4, 7): its border, then its holes.
pub(super) fn polygon(rings: &[Vec<Pt>], into: &mut String) {
    into.push_str("POLYGON");
    for (place, ring) in rings.iter().enumerate() {
        into.push(if place == 0 { '(' } else { ',' });
        points(ring, into);
    }
    into.push(')');
}

/// A line in Well-Known Text.
pub(super) fn line(path: &[Pt], into: &mut String) {
    into.push_str("LINESTRING");
    points(path, into);
}

/// A point in Well-Known Text.
pub(super) fn point(p: Pt, into: &mut String) {
    into.push_str("POINT");
    points(&[p], into);
}

fn points(points: &[Pt], into: &mut String) {
    for (place, p) in points.iter().enumerate() {
        // Writing to a `String` cannot fail.
        let _ = write!(into, "{}{} {}", if place == 0 { '(' } else { ',' }, p.x, p.y);
    }
    into.push(')');
}
