use crate::ogc;
use workloads::spatial::dialect::{SpatialDialect, fill_constants};
use workloads::spatial::query::{Query, Rounding};

/// Bounding boxes are compared by `MBR…`, which use the R-tree. A spatial join by an InnoDB R-tree outside a
/// transaction ends in error 1207 (MDEV-26123), so each query runs in one.
pub struct Spatial;

impl SpatialDialect for Spatial {
    /// Writes the statements that create the four tables of geometries.
    fn create_spatial_tables_sql(&self) -> Vec<String> {
        let tables = [
            ("cell", ", dept INT NOT NULL", "POLYGON"),
            ("road", ", cls INT NOT NULL", "LINESTRING"),
            ("pt", "", "POINT"),
            ("shape", "", "POLYGON"),
        ];
        tables
            .map(|(name, more, kind)| {
                format!("CREATE TABLE {name} (id INT PRIMARY KEY{more}, g {kind} NOT NULL) ENGINE = InnoDB")
            })
            .to_vec()
    }

    /// SQL before and after a geometry's text.
    fn geometry_literal(&self) -> (&'static str, &'static str) {
        ("ST_GeomFromText('", "', 0)")
    }

    /// Statements that begin and end the transaction of a load.
    fn load_transaction(&self) -> (&'static str, &'static str) {
        ("START TRANSACTION", "COMMIT")
    }

    /// Writes the statements that index the tables and gather statistics.
    fn create_indexes_sql(&self, _extent: i64) -> Vec<String> {
        // MySQL 8 ignores an index on a column without SRID. The version comment hides this from MariaDB.
        let tables = [("cell", "POLYGON"), ("road", "LINESTRING"), ("pt", "POINT")];
        let mut statements: Vec<String> = tables
            .into_iter()
            .flat_map(|(table, kind)| {
                [
                    format!("/*!80003 ALTER TABLE {table} MODIFY g {kind} NOT NULL SRID 0 */"),
                    format!("CREATE SPATIAL INDEX {table}_g ON {table} (g)"),
                ]
            })
            .collect();
        statements.push("ANALYZE TABLE cell, road, pt, shape".to_owned());
        statements
    }

    /// Query for the number of tables with a spatial index.
    fn indexed_table_count_sql(&self) -> Option<&'static str> {
        let tables = "SELECT COUNT(DISTINCT TABLE_NAME) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() \
                      AND INDEX_TYPE = 'SPATIAL' AND TABLE_NAME IN ('cell', 'road', 'pt')";
        Some(tables)
    }

    /// Writes a query with its constants; fails with the reason where the engine cannot answer it.
    fn query_text(&self, query: Query, window: i64) -> Result<String, String> {
        query_text(query).map(|text| fill_constants(text, window)).map_err(str::to_owned)
    }

    /// Statements that begin and end the transaction around each query.
    fn around_query(&self) -> (&'static str, &'static str) {
        ("START TRANSACTION", "COMMIT")
    }

    /// Buffers are rounded finer than by the other engines.
    fn buffer_rounding(&self) -> Rounding {
        Rounding::Finer
    }
}

/// Text of a query with places for its constants; fails with the reason where the engine cannot answer it.
fn query_text(query: Query) -> Result<&'static str, &'static str> {
    Ok(match query {
        Query::Validity => {
            "SELECT (SELECT count(*) FROM shape WHERE ST_IsValid(g) = 0),
             (SELECT coalesce(sum(id), 0) FROM shape WHERE ST_IsValid(g) = 0),
             (SELECT count(*) FROM road WHERE ST_IsSimple(g) = 0),
             (SELECT coalesce(sum(id), 0) FROM road WHERE ST_IsSimple(g) = 0)"
        }
        Query::Departments => return Err("the engine has no union as an aggregate"),
        Query::Buffers => "SELECT count(*), sum(ST_Area(ST_Buffer(g, {radius}))) FROM road WHERE id <= {roads}",
        // The limit makes it a derived table, so each row's window is a constant for the R-tree.
        Query::Nearest => {
            "SELECT count(*), sum(d) FROM (SELECT p.id, min(ST_Distance(p.g, q.g)) AS d FROM
             (SELECT id, g, ST_GeomFromText(concat(
             'LINESTRING(', ST_X(g) - {window}, ' ', ST_Y(g) - {window}, ',',
             ST_X(g) + {window}, ' ', ST_Y(g) + {window}, ')')) AS box
             FROM pt WHERE id <= {probes} ORDER BY id LIMIT {probes}) p
             JOIN pt q ON MBRContains(p.box, q.g) AND q.id <> p.id GROUP BY p.id) n"
        }
        Query::NearRoads => {
            "SELECT count(*), coalesce(sum((r.id * 31 + p.id * 17) % 1000003), 0)
             FROM (SELECT id, g, ST_ExteriorRing(ST_Envelope(g)) AS box FROM road WHERE id <= {roads}) r
             JOIN pt p ON MBRIntersects(ST_GeomFromText(concat(
             'LINESTRING(', ST_X(ST_PointN(r.box, 1)) - {near}, ' ', ST_Y(ST_PointN(r.box, 1)) - {near}, ',',
             ST_X(ST_PointN(r.box, 3)) + {near}, ' ', ST_Y(ST_PointN(r.box, 3)) + {near}, ')')), p.g)
             AND ST_Distance(r.g, p.g) <= {near}"
        }
        Query::Relations => {
            "SELECT count(*), sum((a.id * 31 + b.id * 17) % 1000003)
             FROM cell a JOIN cell b ON a.id < b.id AND MBRIntersects(a.g, b.g) AND ST_Relate(a.g, b.g, 'FF2F11212')"
        }
        Query::Text => "SELECT count(*), sum(ST_Area(ST_GeomFromText(ST_AsText(g), 0))) FROM cell",
        plain => return ogc::query_text(plain),
    })
}
