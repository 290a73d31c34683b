use crate::ogc;
use workloads::spatial::dialect::{SpatialDialect, fill_constants};
use workloads::spatial::query::Query;

/// R-trees are queried by name, `rowid IN (SELECT rowid FROM SpatialIndex …)`, as the manual says; `CROSS JOIN` keeps
/// SQLite from reordering a join, and `+` from using a number range instead. Either would query the R-tree for each
/// pair.
pub struct Spatial;

/// SRID "Undefined - Cartesian".
const PLANE: i32 = -1;

impl SpatialDialect for Spatial {
    /// Writes the statements that create the four tables of geometries.
    fn create_spatial_tables_sql(&self) -> Vec<String> {
        let tables = [
            ("cell", ", dept INTEGER NOT NULL", "POLYGON"),
            ("road", ", cls INTEGER NOT NULL", "LINESTRING"),
            ("pt", "", "POINT"),
            ("shape", "", "POLYGON"),
        ];
        tables
            .iter()
            .flat_map(|(name, more, kind)| {
                [
                    format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY{more})"),
                    format!("SELECT AddGeometryColumn('{name}', 'g', {PLANE}, '{kind}', 'XY', 1)"),
                ]
            })
            .collect()
    }

    /// SQL before and after a geometry's text.
    fn geometry_literal(&self) -> (&'static str, &'static str) {
        ("ST_GeomFromText('", "', -1)")
    }

    /// Statements that begin and end the transaction of a load.
    fn load_transaction(&self) -> (&'static str, &'static str) {
        ("BEGIN IMMEDIATE", "COMMIT")
    }

    /// Writes the statements that index the tables and gather statistics.
    fn create_indexes_sql(&self, _extent: i64) -> Vec<String> {
        let mut statements: Vec<String> =
            ["cell", "road", "pt"].map(|table| format!("SELECT CreateSpatialIndex('{table}', 'g')")).to_vec();
        statements.push("ANALYZE".to_owned());
        statements
    }

    /// Query for the number of tables with a spatial index.
    fn indexed_table_count_sql(&self) -> Option<&'static str> {
        let tables = "SELECT count(*) FROM geometry_columns WHERE spatial_index_enabled = 1 AND f_table_name IN ('cell', 'road', 'pt')";
        Some(tables)
    }

    /// Makes for a join the statement that explains its plan, and the words there that show the index in use.
    fn index_use_query(&self, query: Query, sql: &str) -> Option<(String, &'static str)> {
        let joins = [
            Query::PointsInCells,
            Query::TouchingCells,
            Query::RoadsCrossCells,
            Query::ClippedRoads,
            Query::Nearest,
            Query::NearRoads,
            Query::Relations,
        ];
        joins.contains(&query).then(|| (format!("EXPLAIN QUERY PLAN {sql}"), "SpatialIndex VIRTUAL TABLE INDEX"))
    }

    /// Writes a query with its constants; fails with the reason where the engine cannot answer it.
    fn query_text(&self, query: Query, window: i64) -> Result<String, String> {
        query_text(query).map(|text| fill_constants(text, window)).map_err(str::to_owned)
    }
}

/// Text of a query with places for its constants; fails with the reason where the engine cannot answer it.
fn query_text(query: Query) -> Result<&'static str, &'static str> {
    Ok(match query {
        Query::Validity => {
            "SELECT (SELECT count(*) FROM shape WHERE ST_IsValidReason(g) <> 'Valid Geometry'),
             (SELECT coalesce(sum(id), 0) FROM shape WHERE ST_IsValidReason(g) <> 'Valid Geometry'),
             (SELECT count(*) FROM road WHERE ST_IsSimple(g) = 0),
             (SELECT coalesce(sum(id), 0) FROM road WHERE ST_IsSimple(g) = 0)"
        }
        Query::PointsInCells => {
            "SELECT count(*), sum((c.id * 31 + p.id * 17) % 1000003), count(DISTINCT c.id)
             FROM cell c CROSS JOIN pt p ON p.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'pt' AND search_frame = c.g)
             AND ST_Contains(c.g, p.g) = 1"
        }
        Query::TouchingCells => {
            "SELECT count(*), sum((a.id * 31 + b.id * 17) % 1000003)
             FROM cell a CROSS JOIN cell b ON b.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'cell' AND search_frame = a.g)
             AND a.id < +b.id AND ST_Touches(a.g, b.g) = 1"
        }
        Query::RoadsCrossCells => {
            "SELECT count(*), sum((r.id * 31 + c.id * 17) % 1000003)
             FROM road r CROSS JOIN cell c ON c.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'cell' AND search_frame = r.g)
             AND ST_Intersects(r.g, c.g) = 1"
        }
        Query::ClippedRoads => {
            "SELECT sum(ST_Length(ST_Intersection(r.g, c.g))) FROM road r CROSS JOIN cell c ON c.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'cell' AND search_frame = r.g)
             AND ST_Intersects(r.g, c.g) = 1"
        }
        Query::Departments => {
            "SELECT count(*), sum(ST_Area(u)), sum(ST_Perimeter(u)), sum(dept * ST_Area(u))
             FROM (SELECT dept, ST_Union(g) AS u FROM cell GROUP BY dept) d"
        }
        Query::Buffers => "SELECT count(*), sum(ST_Area(ST_Buffer(g, {radius}, 8))) FROM road WHERE id <= {roads}",
        Query::Nearest => {
            "SELECT count(d), sum(d) FROM (SELECT
             (SELECT min(ST_Distance(p.g, q.g)) FROM pt q WHERE q.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'pt'
             AND search_frame = BuildCircleMbr(ST_X(p.g), ST_Y(p.g), {window}))
             AND q.id <> p.id) AS d FROM pt p WHERE p.id <= {probes}) n"
        }
        Query::NearRoads => {
            "SELECT count(*), coalesce(sum((r.id * 31 + p.id * 17) % 1000003), 0)
             FROM road r CROSS JOIN pt p ON p.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'pt' AND search_frame = ST_Expand(r.g, {near}))
             AND ST_Distance(r.g, p.g) <= {near} WHERE r.id <= {roads}"
        }
        Query::Relations => {
            "SELECT count(*), sum((a.id * 31 + b.id * 17) % 1000003)
             FROM cell a CROSS JOIN cell b ON b.rowid IN
             (SELECT rowid FROM SpatialIndex WHERE f_table_name = 'cell' AND search_frame = a.g)
             AND a.id < +b.id AND ST_Relate(a.g, b.g, 'FF2F11212') = 1"
        }
        Query::Text => "SELECT count(*), sum(ST_Area(ST_GeomFromText(AsText(g), -1))) FROM cell",
        plain => return ogc::query_text(plain),
    })
}
