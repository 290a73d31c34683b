//! What the suite's tables hold, and what its queries must answer: a country that is drawn, or the shapes of a file.

use model::Facts;

use super::data::Country;
use super::dialect;
use super::oracle::Oracle;
use super::query::{Expected, Query};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LandTable {
    Cell,
    Road,
    Point,
    Shape,
}

impl LandTable {
    /// The tables in the order of loading.
    pub(super) const ALL: [LandTable; 4] = [LandTable::Cell, LandTable::Road, LandTable::Point, LandTable::Shape];

    /// Name of the table.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            LandTable::Cell => "cell",
            LandTable::Road => "road",
            LandTable::Point => "pt",
            LandTable::Shape => "shape",
        }
    }
}

pub(super) struct Answers {
    /// The expected values by query, column and row, in that order.
    pub(super) expected: Vec<Vec<Expected>>,
    /// Side of a square around a point that surely holds the nearest neighbour of every probe, for engines without
    /// such a search.
    pub(super) window: i64,
}

/// The data of a suite. Coordinates are whole numbers from 0.
pub(super) trait SpatialData: Send + Sync {
    /// Side of the square that holds everything.
    fn extent(&self) -> i64;

    /// Number of rows of a table, whose numbers begin with 1.
    fn row_count(&self, table: LandTable) -> i64;

    /// The column between number and geometry: a cell's department or a road's class; `None` in the other tables.
    fn group_number(&self, table: LandTable, id: i64) -> Option<i64>;

    /// Writes the geometry of a row in Well-Known Text.
    fn write_geometry(&self, table: LandTable, id: i64, text: &mut String);

    /// Computes the right answers to queries.
    fn answers(&self, queries: &[Query]) -> Answers;

    /// Facts of the data besides the plan's keys.
    fn data_facts(&self) -> Facts {
        Facts::default()
    }
}

impl SpatialData for Country {
    /// Side of the country's square.
    fn extent(&self) -> i64 {
        Country::extent(self)
    }

    /// Number of a table's rows: cells, roads, points or shapes.
    fn row_count(&self, table: LandTable) -> i64 {
        match table {
            LandTable::Cell => self.cell_count(),
            LandTable::Road => self.road_count(),
            LandTable::Point => self.point_count(),
            LandTable::Shape => self.shape_count(),
        }
    }

    /// Department of a cell or class of a road; `None` in the other tables.
    fn group_number(&self, table: LandTable, id: i64) -> Option<i64> {
        match table {
            LandTable::Cell => Some(self.department_of((id - 1) % self.side, (id - 1) / self.side)),
            LandTable::Road => Some(self.road_class(id)),
            LandTable::Point | LandTable::Shape => None,
        }
    }

    /// Writes the geometry of a cell, a road, a point or a shape in Well-Known Text.
    fn write_geometry(&self, table: LandTable, id: i64, text: &mut String) {
        match table {
            LandTable::Cell => {
                dialect::write_polygon(&[self.cell_ring((id - 1) % self.side, (id - 1) / self.side)], text)
            }
            LandTable::Road => dialect::write_line(&self.road_points(id), text),
            LandTable::Point => dialect::write_point(self.point_at(id), text),
            LandTable::Shape => dialect::write_polygon(&[self.shape_ring(id)], text),
        }
    }

    /// Computes the right answers to queries on a drawn country.
    fn answers(&self, queries: &[Query]) -> Answers {
        let oracle = Oracle::new(*self);
        let expected = queries.iter().map(|query| oracle.answer_to(*query)).collect();
        Answers { expected, window: oracle.window_side() }
    }
}
