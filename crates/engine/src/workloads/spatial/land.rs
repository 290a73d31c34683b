//! What the suite's tables hold, and what its queries must answer: a country that is drawn, or the shapes of a file.

use model::Facts;

use super::data::Country;
use super::dialect;
use super::oracle::Oracle;
use super::query::{Expected, Query};

/// A table of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Cell,
    Road,
    Point,
    Shape,
}

impl Table {
    /// Every table, in the order in which they are loaded.
    pub(super) const ALL: [Table; 4] = [Table::Cell, Table::Road, Table::Point, Table::Shape];

    pub(super) fn name(self) -> &'static str {
        match self {
            Table::Cell => "cell",
            Table::Road => "road",
            Table::Point => "pt",
            Table::Shape => "shape",
        }
    }
}

/// What the queries must answer.
pub(super) struct Answers {
    /// Column by column and row by row, in the order of the queries.
    pub(super) expected: Vec<Vec<Expected>>,
    /// The side of a window around a point that is sure to hold the nearest other point of every probe: for engines that
    /// have no search for the nearest one.
    pub(super) window: i64,
}

/// The data of a suite. Coordinates are whole numbers from 0.
pub(super) trait Land: Send + Sync {
    /// Side of the square that holds everything.
    fn extent(&self) -> i64;

    /// How many rows a table has; their numbers begin with 1.
    fn rows(&self, table: Table) -> i64;

    /// What stands between the number of a row and its geometry, in tables that have such a column: the department of a
    /// cell, the class of a road.
    fn group(&self, table: Table, id: i64) -> Option<i64>;

    /// Writes the geometry of a row in Well-Known Text.
    fn write(&self, table: Table, id: i64, text: &mut String);

    /// What the queries must answer.
    fn answers(&self, queries: &[Query]) -> Answers;

    /// What is to be known of the data beside the plan's keys.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}

impl Land for Country {
    fn extent(&self) -> i64 {
        Country::extent(self)
    }

    fn rows(&self, table: Table) -> i64 {
        match table {
            Table::Cell => self.cells(),
            Table::Road => self.roads(),
            Table::Point => self.points(),
            Table::Shape => self.shapes(),
        }
    }

    fn group(&self, table: Table, id: i64) -> Option<i64> {
        match table {
            Table::Cell => Some(self.department((id - 1) % self.side, (id - 1) / self.side)),
            Table::Road => Some(self.class(id)),
            Table::Point | Table::Shape => None,
        }
    }

    fn write(&self, table: Table, id: i64, text: &mut String) {
        match table {
            Table::Cell => dialect::polygon(&[self.cell((id - 1) % self.side, (id - 1) / self.side)], text),
            Table::Road => dialect::line(&self.road(id), text),
            Table::Point => dialect::point(self.point(id), text),
            Table::Shape => dialect::polygon(&[self.shape(id)], text),
        }
    }

    fn answers(&self, queries: &[Query]) -> Answers {
        let oracle = Oracle::new(*self);
        let expected = queries.iter().map(|query| oracle.answer(*query)).collect();
        Answers { expected, window: oracle.window() }
    }
}
