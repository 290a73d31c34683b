//! Spatial queries in the words of the OGC's "Simple Features for SQL", which engines share whose index needs no naming.
//!
//! <https://www.ogc.org/standard/sfs/>

use workloads::spatial::query::Query;

/// Returns a spatial query's SQL where the OGC's words suffice, or an error where each engine has its own.
pub(super) fn query_text(query: Query) -> Result<&'static str, &'static str> {
    Ok(match query {
        Query::LargestCell => "SELECT id, ST_Area(g) FROM cell ORDER BY ST_Area(g) DESC, id LIMIT 1",
        Query::RoadLengths => "SELECT cls, count(*), sum(ST_Length(g)) FROM road GROUP BY cls ORDER BY cls",
        Query::PointsInCells => {
            "SELECT count(*), sum((c.id * 31 + p.id * 17) % 1000003), count(DISTINCT c.id)
             FROM cell c JOIN pt p ON ST_Contains(c.g, p.g)"
        }
        Query::TouchingCells => {
            "SELECT count(*), sum((a.id * 31 + b.id * 17) % 1000003)
             FROM cell a JOIN cell b ON a.id < b.id AND ST_Touches(a.g, b.g)"
        }
        Query::RoadsCrossCells => {
            "SELECT count(*), sum((r.id * 31 + c.id * 17) % 1000003)
             FROM road r JOIN cell c ON ST_Intersects(r.g, c.g)"
        }
        Query::ClippedRoads => {
            "SELECT sum(ST_Length(ST_Intersection(r.g, c.g))) FROM road r JOIN cell c ON ST_Intersects(r.g, c.g)"
        }
        Query::Hulls => {
            "SELECT sum(ST_Area(ST_ConvexHull(g))), sum(ST_X(ST_Centroid(g))), sum(ST_Y(ST_Centroid(g))) FROM cell"
        }
        Query::Differences => "SELECT sum(ST_Area(ST_SymDifference(g, ST_ConvexHull(g)))) FROM cell",
        _ => return Err("its words are each engine's own"),
    })
}
