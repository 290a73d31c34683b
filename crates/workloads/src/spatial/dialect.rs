//! How each engine is asked: tables, indexes and queries in its own words.
//!
//! A query gives the same columns on every engine, uses the spatial index as the engine's manual asks, and returns a
//! small row of counts and sums, so that transferring a result set is not what is measured.

use std::fmt::Write as _;

use super::exact::Pt;
use super::oracle::{FEW_ROADS, NEAR_QUARTERS, PROBES, RADIUS};
use super::query::{Query, Rounding};

pub trait SpatialDialect: Sync {
    /// SQL statements that create the tables.
    fn create_spatial_tables_sql(&self) -> Vec<String>;

    /// SQL before and after a WKT literal that makes it a geometry.
    fn geometry_literal(&self) -> (&'static str, &'static str);

    /// SQL statements before and after the load.
    fn load_transaction(&self) -> (&'static str, &'static str);

    /// SQL statements that build the indexes and refresh the planner's statistics.
    ///
    /// `extent` is the side of the square that holds everything.
    fn create_indexes_sql(&self, extent: i64) -> Vec<String>;

    /// SQL for how many of the tables `cell`, `road` and `pt` have a spatial index; `None` if the engine cannot say.
    fn indexed_table_count_sql(&self) -> Option<&'static str> {
        None
    }

    /// SQL that asks how the engine runs a query, and the word of its answer that names the spatial index.
    ///
    /// Only where the query's text has to name the index. `None`: the planner chooses, and its choice is part of what is
    /// measured.
    fn index_use_query(&self, _query: Query, _sql: &str) -> Option<(String, &'static str)> {
        None
    }

    /// SQL of a query; fails with the reason why the engine cannot be asked it.
    ///
    /// `window` is the side of a square around a point that surely holds its nearest neighbour, for engines without such a
    /// search.
    fn query_text(&self, query: Query, window: i64) -> Result<String, String>;

    /// SQL statements before and after a query, outside the measured time.
    fn around_query(&self) -> (&'static str, &'static str) {
        ("", "")
    }

    /// How the engine rounds the corners of a buffer.
    fn buffer_rounding(&self) -> Rounding {
        Rounding::EightSegments
    }
}

/// Fills the suite's constants into a query's text, and joins its lines.
pub fn fill_constants(text: &str, window: i64) -> String {
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

/// Writes a polygon in Well-Known Text (OGC 06-103r4, 7): its border, then its holes.
pub(super) fn write_polygon(rings: &[Vec<Pt>], into: &mut String) {
    into.push_str("POLYGON");
    for (place, ring) in rings.iter().enumerate() {
        into.push(if place == 0 { '(' } else { ',' });
        write_points(ring, into);
    }
    into.push(')');
}

/// Writes a line in Well-Known Text.
pub(super) fn write_line(path: &[Pt], into: &mut String) {
    into.push_str("LINESTRING");
    write_points(path, into);
}

/// Writes a point in Well-Known Text.
pub(super) fn write_point(p: Pt, into: &mut String) {
    into.push_str("POINT");
    write_points(&[p], into);
}

/// Writes points in brackets, separated by commas.
fn write_points(points: &[Pt], into: &mut String) {
    for (place, p) in points.iter().enumerate() {
        // Writing to a `String` cannot fail.
        let _ = write!(into, "{}{} {}", if place == 0 { '(' } else { ',' }, p.x, p.y);
    }
    into.push(')');
}
