//! How each engine is asked: tables, indexes, and the queries in its own words.
//!
//! A query gives the same columns on every engine. It uses the engine's spatial index in the way that its manual asks
//! for, and returns a small row of counts and sums, so that no result set is measured in place of an answer.

mod mariadb;
mod postgis;
mod spatialite;
mod sqlserver;

use std::fmt::Write as _;

use super::exact::Pt;
use super::oracle::{FEW_ROADS, NEAR_QUARTERS, PROBES, RADIUS};
use super::query::{Query, Rounding};

/// What a spatial engine is asked.
pub trait SpatialDialect: Sync {
    /// The name that the engine's [`crate::dataset::Dialect::flavour`] gives.
    fn flavour(&self) -> &'static str;

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
    ///
    /// # Errors
    /// Why the engine cannot answer it.
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

/// Every dialect.
pub const DIALECTS: &[&dyn SpatialDialect] =
    &[&mariadb::MariaDb, &postgis::PostGis, &spatialite::SpatiaLite, &sqlserver::SqlServer];

/// The dialect of an engine.
pub fn dialect_of(flavour: &str) -> Option<&'static dyn SpatialDialect> {
    DIALECTS.iter().copied().find(|dialect| dialect.flavour() == flavour)
}

/// The query's text with its constants filled in.
fn filled(text: &str, window: i64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// SQL Server's words are executed nowhere yet: whoever changes them sees what changed.
    #[test]
    fn the_words_for_sql_server_are_as_they_were_reviewed() {
        let dialect = dialect_of("sqlserver").unwrap();
        let mut text = dialect.tables();
        let (before, after) = dialect.geometry();
        text.push(format!("INSERT INTO pt VALUES (1,{before}POINT(1 2){after})"));
        text.extend(dialect.indexes(163_840));
        for query in Query::all() {
            text.push(format!("-- {}: {}\n{}", query.name(), query.about(), dialect.query(query, 4_096).unwrap()));
        }
        insta::assert_snapshot!("sqlserver", text.join(";\n"));
    }

    #[test]
    fn every_constant_is_filled_in() {
        for dialect in DIALECTS {
            for query in Query::all() {
                let Ok(sql) = dialect.query(query, 4_096) else { continue };
                assert!(!sql.contains(['{', '}', '\n']), "{}: {sql}", dialect.flavour());
            }
        }
        assert!(dialect_of("oracle").is_none());
    }
}
