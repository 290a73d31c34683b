//! Spatial queries: a portable suite whose every answer is known before it is timed.
//!
//! The data are whole numbers (`data`), so answers follow from exact arithmetic (`oracle`) and not from trusting
//! an engine. A wrong or missing answer is shown with its evidence and takes no part in ratios.

mod buffer;
mod data;
pub mod dialect;
mod exact;
mod land;
mod oracle;
pub mod query;
mod shapes;
mod suite;
mod tables;

use std::path::Path;

use model::{Point, WorkloadSpec};

use crate::dataset::Dataset;
use crate::workload::{Action, Grants, Task, Workload};
use land::SpatialData;
use load::error::{Failure, FailureKind};
use shapes::Shapes;
use suite::Suite;

/// Names of the suite's tables.
pub const TABLES: [&str; 4] = ["cell", "road", "pt", "shape"];

pub use data::{Country, PointSpread};
pub use query::{Expected, ExpectedValue, Query, Rounding, check_answer};
pub use suite::Cold;

/// Computes the exact answers to queries on a country, for tests of engines.
pub fn expected_answers(country: Country, queries: &[Query]) -> Vec<(Query, Vec<Expected>)> {
    let oracle = oracle::Oracle::new(country);
    queries.iter().map(|query| (*query, oracle.answer_to(*query))).collect()
}

/// Computes the exact answers on the shapes of a file's text, for tests of the reader.
///
/// Only for the queries where they can be known.
pub fn expected_shape_answers(text: &str) -> Result<Vec<(Query, Vec<Expected>)>, String> {
    let drawn = Country { side: 2, seed: 1, spread: PointSpread::Uniform };
    let shapes = Shapes::read("shapes", text, None, &drawn)?;
    let queries: Vec<Query> = Query::all().filter(|query| query.is_known_of_shapes()).collect();
    let answers = shapes.answers(&queries);
    Ok(queries.into_iter().zip(answers.expected).collect())
}

model::keys! {
    struct Keys {
        /// Size of the data: cells along one side of a square; there are side² polygons, a quarter as many lines and
        /// 12.5 times as many points. With `shapes` only the points are étalon's
        side: i64 = int(2..=1_000).or(40),
        /// How the points lie
        points: String = choice(&["uniform", "clustered"]).or("uniform"),
        /// Seed of the data: the same data on every machine
        data_seed: u64 = int(0..=i64::MAX).or(1),
        /// A file of real shapes in place of drawn ones, in GeoJSON or TopoJSON, such as Natural Earth's countries; of
        /// a topology with several objects one is named, as in `countries-110m.json#countries`
        shapes: Option<String> = TEXT,
        /// `core` is S1 to S12, `all` adds S13 to S15; or numbers, as in "S4, S7"
        queries: String = TEXT.or("core"),
        /// Clients that ask the same query at the same time; a run lasts until the last of them has its answer
        clients: u32 = int(1..=1_000).or(1),
        /// How often each query is executed in a run, with warm caches; its figure is their mean
        executions: u32 = int(1..=1_000).or(10),
        /// Whether each query is also executed once after the caches were emptied, where that can be done
        cold: bool = FLAG.or(true),
    }
}

pub struct Spatial;

impl Workload for Spatial {
    /// What plans and lists say of the workload.
    fn spec(&self) -> WorkloadSpec {
        WorkloadSpec {
            name: "spatial",
            family: "spatial",
            about: "Twelve to fifteen spatial queries whose answers are checked before they are timed",
            rate_unit: "queries/s",
            keys: Keys::SPECS,
            idle: model::no_idle_keys,
        }
    }

    /// Makes the suite of queries that the plan's point asks for, with its data.
    fn make_task(&self, point: &Point, grants: &Grants) -> Result<Task, Failure> {
        let keys = Keys::read(point)?;
        let spread = if keys.points == "clustered" { PointSpread::Clustered } else { PointSpread::Uniform };
        let country = Country { side: keys.side, seed: keys.data_seed, spread };
        let queries = parse_queries(&keys.queries, keys.shapes.is_some())?;
        let cold = if keys.cold { Cold::Measured } else { Cold::Skipped };
        let (name, size_bytes, land): (String, u64, Box<dyn SpatialData>) = match &keys.shapes {
            Some(named) => {
                let shapes = read_shapes(named, grants, &country)?;
                (format!("shapes of {named}"), shapes.size_bytes(), Box::new(shapes))
            }
            None => {
                let Country { side, seed, .. } = country;
                let name = format!("spatial data of {side} × {side} cells, seed {seed}, {} points", keys.points);
                (name, country.size_bytes(), Box::new(country))
            }
        };
        let suite = Suite::new(land, queries, keys.clients as usize, keys.executions as usize, cold);
        Ok(Task {
            // The suite makes and loads its tables itself, since that is part of what it measures.
            dataset: Dataset { name, size_bytes, later: TABLES.map(str::to_owned).to_vec(), ..Dataset::default() },
            action: Action::Step(Box::new(suite)),
        })
    }
}

/// Parses the key `queries`; fails if one is not known, or has no known answer on shapes of a file.
///
/// `core` and `all` leave out queries whose answer is not known.
fn parse_queries(words: &str, of_shapes: bool) -> Result<Vec<Query>, Failure> {
    let mut queries = Query::parse_list(words).map_err(|word| {
        let known: Vec<&str> = Query::all().map(Query::number).collect();
        refuse_queries(format!("there is no query `{word}`"))
            .with_hint(format!("`core`, `all`, or some of {}", known.join(", ")))
    })?;
    if of_shapes && ["core", "all"].contains(&words.trim()) {
        queries.retain(|query| query.is_known_of_shapes());
    }
    match queries.iter().find(|query| of_shapes && !query.is_known_of_shapes()) {
        Some(query) => {
            let cause = format!("no answer to {} is known beforehand on shapes of a file", query.number());
            Err(refuse_queries(cause).with_hint("leave it out, or leave out `shapes`"))
        }
        None => Ok(queries),
    }
}

/// Makes the failure of the key `queries`.
fn refuse_queries(cause: String) -> Failure {
    Failure::new(FailureKind::Plan, "read the key `queries`", cause)
}

/// Reads the shapes of the file that a plan names, and of one of its objects behind `#`.
fn read_shapes(named: &str, grants: &Grants, drawn: &Country) -> Result<Shapes, Failure> {
    let (file, object) = named.rsplit_once('#').map_or((named, None), |(file, object)| (file, Some(object)));
    let refuse =
        |cause: &dyn std::fmt::Display| Failure::new(FailureKind::Plan, format!("read the shapes `{file}`"), cause);
    let text = grants.texts.read_script(file).map_err(|error| {
        refuse(&error).with_hint("`npm install world-atlas` brings Natural Earth's countries: node_modules/world-atlas/countries-110m.json#countries")
    })?;
    let stem = Path::new(file).file_stem().map_or_else(|| file.into(), |stem| stem.to_string_lossy());
    Shapes::read(&stem, &text, object, drawn).map_err(|cause| {
        refuse(&cause).with_hint("GeoJSON or TopoJSON; of a shapefile `ogr2ogr shapes.json FILE.shp` makes GeoJSON")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(queries: &str) -> Point {
        [("queries".to_owned(), model::Value::Text(queries.to_owned()))].into()
    }

    #[test]
    fn the_defaults_are_a_task() {
        let task = Spatial.make_task(&point("core"), &Grants::default()).unwrap();
        assert_eq!(task.dataset.name, "spatial data of 40 × 40 cells, seed 1, uniform points");
        assert!((1_000_000..20_000_000).contains(&task.dataset.size_bytes), "{}", task.dataset.size_bytes);
        assert!(matches!(task.action, Action::Step(_)));
    }

    #[test]
    fn shapes_are_read_when_the_plan_is_and_queries_without_a_known_answer_are_refused() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shapes/lands.json");
        assert_eq!(task_of("core", file).unwrap().dataset.name, format!("shapes of {file}"));
        assert_eq!(parse_queries("all", true).unwrap().len(), 14);
        let refused = task_of("S1, S9", file).unwrap_err();
        assert!(refused.to_string().contains("no answer to S9 is known"), "{refused}");
        let refused = task_of("core", &format!("{file}#land")).unwrap_err();
        assert!(refused.to_string().contains("only a topology has objects such as `land`"), "{refused}");
        let refused = task_of("core", "none.json").unwrap_err();
        assert!(refused.hint.unwrap().contains("npm install world-atlas"));
    }

    fn task_of(queries: &str, shapes: &str) -> Result<Task, Failure> {
        let mut point = point(queries);
        point.insert("shapes".to_owned(), model::Value::Text(shapes.to_owned()));
        Spatial.make_task(&point, &Grants::default())
    }

    #[test]
    fn a_query_that_does_not_exist_is_named() {
        let failure = Spatial.make_task(&point("S1, S99"), &Grants::default()).unwrap_err();
        assert!(failure.to_string().contains("no query `S99`"), "{failure}");
        assert!(failure.hint.unwrap().contains("S15"));
    }
}
