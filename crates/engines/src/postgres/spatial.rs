use crate::ogc;
use workloads::spatial::dialect::{SpatialDialect, fill_constants};
use workloads::spatial::query::Query;

/// Predicates use the GiST index by themselves.
pub struct Spatial;

impl SpatialDialect for Spatial {
    /// Returns the statements for the spatial tables.
    fn create_spatial_tables_sql(&self) -> Vec<String> {
        let tables = [
            ("cell", ", dept integer NOT NULL", "Polygon"),
            ("road", ", cls integer NOT NULL", "LineString"),
            ("pt", "", "Point"),
            ("shape", "", "Polygon"),
        ];
        tables
            .map(|(name, more, kind)| {
                format!("CREATE TABLE {name} (id integer PRIMARY KEY{more}, g geometry({kind}, 0) NOT NULL)")
            })
            .to_vec()
    }

    /// Returns what stands before and after a geometry's text in SQL.
    fn geometry_literal(&self) -> (&'static str, &'static str) {
        ("ST_GeomFromText('", "', 0)")
    }

    /// Returns the statements that begin and end the load's transaction.
    fn load_transaction(&self) -> (&'static str, &'static str) {
        ("BEGIN", "COMMIT")
    }

    /// Returns the statements for GiST indexes and statistics.
    fn create_indexes_sql(&self, _extent: i64) -> Vec<String> {
        let mut statements: Vec<String> =
            ["cell", "road", "pt"].map(|table| format!("CREATE INDEX {table}_g ON {table} USING gist (g)")).to_vec();
        statements.push("ANALYZE cell, road, pt, shape".to_owned());
        statements
    }

    /// Returns the query for the number of tables with a valid spatial index.
    fn indexed_table_count_sql(&self) -> Option<&'static str> {
        let tables = "SELECT count(DISTINCT i.indrelid) FROM pg_catalog.pg_index i \
                      JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid JOIN pg_catalog.pg_am a ON a.oid = c.relam \
                      WHERE a.amname = 'gist' AND i.indisvalid AND i.indrelid IN ('cell'::pg_catalog.regclass, \
                      'road'::pg_catalog.regclass, 'pt'::pg_catalog.regclass)";
        Some(tables)
    }

    /// Writes a spatial query with its constants filled in.
    fn query_text(&self, query: Query, window: i64) -> Result<String, String> {
        query_text(query).map(|text| fill_constants(text, window)).map_err(str::to_owned)
    }
}

/// Returns a spatial query's SQL with places for its constants.
fn query_text(query: Query) -> Result<&'static str, &'static str> {
    Ok(match query {
        Query::Validity => {
            "SELECT (SELECT count(*) FROM shape WHERE NOT ST_IsValid(g)),
             (SELECT coalesce(sum(id), 0) FROM shape WHERE NOT ST_IsValid(g)),
             (SELECT count(*) FROM road WHERE NOT ST_IsSimple(g)),
             (SELECT coalesce(sum(id), 0) FROM road WHERE NOT ST_IsSimple(g))"
        }
        Query::Departments => {
            "SELECT count(*), sum(ST_Area(u)), sum(ST_Perimeter(u)), sum(dept * ST_Area(u))
             FROM (SELECT dept, ST_Union(g) AS u FROM cell GROUP BY dept) d"
        }
        Query::Buffers => {
            "SELECT count(*), sum(ST_Area(ST_Buffer(g, {radius}, 'quad_segs=8'))) FROM road WHERE id <= {roads}"
        }
        Query::Nearest => {
            "SELECT count(n.d), sum(n.d) FROM pt p CROSS JOIN LATERAL
             (SELECT p.g <-> q.g AS d FROM pt q WHERE q.id <> p.id ORDER BY p.g <-> q.g LIMIT 1) n
             WHERE p.id <= {probes}"
        }
        Query::NearRoads => {
            "SELECT count(*), coalesce(sum((r.id * 31 + p.id * 17) % 1000003), 0)
             FROM road r JOIN pt p ON ST_DWithin(r.g, p.g, {near}) WHERE r.id <= {roads}"
        }
        Query::Relations => {
            "SELECT count(*), sum((a.id * 31 + b.id * 17) % 1000003)
             FROM cell a JOIN cell b ON a.id < b.id AND a.g && b.g AND ST_Relate(a.g, b.g, 'FF2F11212')"
        }
        Query::Text => "SELECT count(*), sum(ST_Area(ST_GeomFromText(ST_AsText(g), 0))) FROM cell",
        plain => return ogc::query_text(plain),
    })
}
