//! SQL Server: the type `geometry`, in T-SQL.
//!
//! Written by Microsoft's documentation. Not yet run on a SQL Server, only on one that speaks the protocol without
//! SQL; answers are verified as for any engine.
//!
//! Methods refuse invalid instances (error 24144), such as a line that overlaps itself
//! (<https://learn.microsoft.com/en-us/sql/relational-databases/spatial/linestring>), and `MakeValid` would shorten
//! it. The suite's roads never turn straight back, which a test checks; all invalid data is in the table of S1, whose
//! `STIsValid` takes everything.

use workloads::spatial::dialect::{SpatialDialect, fill_constants};
use workloads::spatial::query::{Query, Rounding};

/// Spatial queries of SQL Server 2012 and later (`UnionAggregate`). Predicates compared with 1 use the spatial index.
pub struct Spatial;

impl SpatialDialect for Spatial {
    /// Writes the statements that create the four tables of geometries.
    fn create_spatial_tables_sql(&self) -> Vec<String> {
        let tables = [("cell", ", dept int NOT NULL"), ("road", ", cls int NOT NULL"), ("pt", ""), ("shape", "")];
        tables
            .map(|(name, more)| {
                // A spatial index needs a clustered primary key.
                format!("CREATE TABLE {name} (id int PRIMARY KEY CLUSTERED{more}, g geometry NOT NULL)")
            })
            .to_vec()
    }

    /// SQL before and after a geometry's text.
    fn geometry_literal(&self) -> (&'static str, &'static str) {
        ("geometry::STGeomFromText('", "', 0)")
    }

    /// Statements that begin and end the transaction of a load.
    fn load_transaction(&self) -> (&'static str, &'static str) {
        ("BEGIN TRANSACTION", "COMMIT TRANSACTION")
    }

    /// Writes the statements that index the tables, whose geometries lie within `extent`, and gather statistics.
    fn create_indexes_sql(&self, extent: i64) -> Vec<String> {
        let mut statements: Vec<String> = ["cell", "road", "pt"]
            .map(|table| {
                format!(
                    "CREATE SPATIAL INDEX {table}_g ON {table} (g) USING GEOMETRY_AUTO_GRID WITH \
                     (BOUNDING_BOX = (0, 0, {extent}, {extent}))"
                )
            })
            .to_vec();
        statements.extend(["cell", "road", "pt", "shape"].map(|table| format!("UPDATE STATISTICS {table}")));
        statements
    }

    /// Query for the number of tables with a spatial index.
    fn indexed_table_count_sql(&self) -> Option<&'static str> {
        let tables = "SELECT COUNT(DISTINCT object_id) FROM sys.spatial_indexes WHERE object_id IN (OBJECT_ID('cell'), \
                      OBJECT_ID('road'), OBJECT_ID('pt'))";
        Some(tables)
    }

    /// Writes a query with its constants.
    fn query_text(&self, query: Query, window: i64) -> Result<String, String> {
        Ok(fill_constants(query_text(query), window))
    }

    /// Buffers are rounded finer than by the other engines: `STBuffer` rounds by tolerance, not by segments.
    fn buffer_rounding(&self) -> Rounding {
        Rounding::Finer
    }
}

/// Text of a query with places for its constants.
fn query_text(query: Query) -> &'static str {
    match query {
        Query::Validity => {
            "SELECT (SELECT COUNT(*) FROM shape WHERE g.STIsValid() = 0),
             (SELECT COALESCE(SUM(CAST(id AS bigint)), 0) FROM shape WHERE g.STIsValid() = 0),
             (SELECT COUNT(*) FROM road WHERE g.STIsSimple() = 0),
             (SELECT COALESCE(SUM(CAST(id AS bigint)), 0) FROM road WHERE g.STIsSimple() = 0)"
        }
        Query::LargestCell => "SELECT TOP (1) id, g.STArea() FROM cell ORDER BY g.STArea() DESC, id",
        Query::RoadLengths => "SELECT cls, COUNT(*), SUM(g.STLength()) FROM road GROUP BY cls ORDER BY cls",
        Query::PointsInCells => {
            "SELECT COUNT_BIG(*), SUM(CAST((c.id * 31 + p.id * 17) % 1000003 AS bigint)), COUNT(DISTINCT c.id)
             FROM cell c JOIN pt p ON c.g.STContains(p.g) = 1"
        }
        Query::TouchingCells => {
            "SELECT COUNT_BIG(*), SUM(CAST((a.id * 31 + b.id * 17) % 1000003 AS bigint))
             FROM cell a JOIN cell b ON a.g.STTouches(b.g) = 1 AND a.id < b.id"
        }
        Query::RoadsCrossCells => {
            "SELECT COUNT_BIG(*), SUM(CAST((r.id * 31 + c.id * 17) % 1000003 AS bigint))
             FROM road r JOIN cell c ON r.g.STIntersects(c.g) = 1"
        }
        Query::ClippedRoads => {
            "SELECT SUM(r.g.STIntersection(c.g).STLength()) FROM road r JOIN cell c ON r.g.STIntersects(c.g) = 1"
        }
        Query::Departments => {
            "SELECT COUNT(*), SUM(u.STArea()), SUM(u.STLength()), SUM(dept * u.STArea())
             FROM (SELECT dept, geometry::UnionAggregate(g) AS u FROM cell GROUP BY dept) d"
        }
        Query::Buffers => "SELECT COUNT(*), SUM(g.STBuffer({radius}).STArea()) FROM road WHERE id <= {roads}",
        Query::Nearest => {
            "SELECT COUNT(n.d), SUM(n.d) FROM pt p CROSS APPLY
             (SELECT TOP (1) q.g.STDistance(p.g) AS d FROM pt q
             WHERE q.g.STDistance(p.g) IS NOT NULL AND q.id <> p.id ORDER BY q.g.STDistance(p.g)) n
             WHERE p.id <= {probes}"
        }
        Query::NearRoads => {
            "SELECT COUNT_BIG(*), COALESCE(SUM(CAST((r.id * 31 + p.id * 17) % 1000003 AS bigint)), 0)
             FROM road r JOIN pt p ON p.g.STDistance(r.g) <= {near} WHERE r.id <= {roads}"
        }
        Query::Hulls => {
            "SELECT SUM(g.STConvexHull().STArea()), SUM(g.STCentroid().STX), SUM(g.STCentroid().STY) FROM cell"
        }
        Query::Differences => "SELECT SUM(g.STSymDifference(g.STConvexHull()).STArea()) FROM cell",
        Query::Relations => {
            "SELECT COUNT_BIG(*), SUM(CAST((a.id * 31 + b.id * 17) % 1000003 AS bigint))
             FROM cell a JOIN cell b ON a.g.STIntersects(b.g) = 1 AND a.id < b.id
             AND a.g.STRelate(b.g, 'FF2F11212') = 1"
        }
        Query::Text => "SELECT COUNT(*), SUM(geometry::STGeomFromText(g.STAsText(), 0).STArea()) FROM cell",
    }
}
