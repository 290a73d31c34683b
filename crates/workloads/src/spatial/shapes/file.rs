//! Reads shapes: GeoJSON (RFC 7946) and TopoJSON (<https://github.com/topojson/topojson-specification>).

use std::cell::Cell;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::exact::{Pt, pt};

/// Coordinates are moved and scaled by a power of ten until the longer side is at most this: small enough for exact
/// arithmetic on doubled coordinates. For degrees of the whole world that keeps four decimals, 11 m.
const LONGEST_SIDE: f64 = 4_000_000.0;
/// Limits what the arcs of a short topology can expand to.
const MOST_CORNERS: usize = 10_000_000;
/// Digits after the point that are kept at most.
const MOST_DIGITS: i32 = 9;

/// Longitude and latitude, or the plane's axes; a height is ignored.
type Position = Vec<f64>;
/// A line or a ring, of positions or of numbers of arcs.
type Path<P> = Vec<P>;
/// A line or a ring in the file's units.
type Line = Vec<(f64, f64)>;
/// Makes a line of a path.
type ToLine<'a, P> = &'a dyn Fn(&[P]) -> Result<Line, String>;

/// A geometry, a feature or a list of them, over positions (GeoJSON) or numbers of arcs (TopoJSON).
#[derive(Deserialize)]
#[serde(tag = "type", bound = "P: DeserializeOwned")]
enum Item<P> {
    FeatureCollection {
        features: Vec<Item<P>>,
    },
    Feature {
        geometry: Option<Box<Item<P>>>,
    },
    GeometryCollection {
        geometries: Vec<Item<P>>,
    },
    Point {
        coordinates: Position,
    },
    MultiPoint {
        coordinates: Vec<Position>,
    },
    LineString {
        #[serde(alias = "arcs")]
        coordinates: Path<P>,
    },
    MultiLineString {
        #[serde(alias = "arcs")]
        coordinates: Vec<Path<P>>,
    },
    Polygon {
        #[serde(alias = "arcs")]
        coordinates: Vec<Path<P>>,
    },
    MultiPolygon {
        #[serde(alias = "arcs")]
        coordinates: Vec<Vec<Path<P>>>,
    },
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// A topology: geometries made of arcs that they share.
#[derive(Deserialize)]
struct Topology {
    objects: BTreeMap<String, Value>,
    arcs: Vec<Vec<Position>>,
    transform: Option<Transform>,
}

#[derive(Deserialize)]
struct Transform {
    scale: (f64, f64),
    translate: (f64, f64),
}

#[derive(Default)]
struct Raw {
    polygons: Vec<Vec<Line>>,
    lines: Vec<Line>,
    points: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Features {
    /// Each its border and its holes, as they stand in the file but for the rounding.
    pub(super) polygons: Vec<Vec<Vec<Pt>>>,
    pub(super) lines: Vec<Vec<Pt>>,
    pub(super) points: Vec<Pt>,
    /// The sides of the rectangle that holds everything.
    pub(super) width: i64,
    pub(super) height: i64,
    /// New units per unit of the file.
    pub(super) units: f64,
}

/// Reads shapes from GeoJSON or TopoJSON, in whole numbers; `object` selects among the objects of a topology.
pub(super) fn read_features(text: &str, object: Option<&str>) -> Result<Features, String> {
    let Kind { kind } = parse_json(text)?;
    let raw = match (kind.as_str(), object) {
        ("Topology", _) => read_topology(text, object)?,
        (_, Some(object)) => return Err(format!("only a topology has objects such as `{object}`; this is a {kind}")),
        _ => {
            let mut raw = Raw::default();
            raw.take_geometry(parse_json::<Item<Position>>(text)?, &|path: &[Position]| {
                path.iter().map(position_xy).collect()
            })?;
            raw
        }
    };
    raw.round_all()
}

/// Reads JSON as this type, or says that it is neither GeoJSON nor TopoJSON.
fn parse_json<'t, T: Deserialize<'t>>(text: &'t str) -> Result<T, String> {
    serde_json::from_str(text).map_err(not_understood)
}

/// Words for an error of text that is neither GeoJSON nor TopoJSON.
fn not_understood(error: serde_json::Error) -> String {
    format!("it is neither GeoJSON nor TopoJSON: {error}")
}

/// The first two numbers of a position; fails if it has fewer.
fn position_xy(position: &Position) -> Result<(f64, f64), String> {
    match position[..] {
        [x, y, ..] => Ok((x, y)),
        _ => Err("a position has fewer than two numbers".to_owned()),
    }
}

/// Reads TopoJSON, whose geometries are made of shared arcs.
fn read_topology(text: &str, object: Option<&str>) -> Result<Raw, String> {
    let Topology { objects, arcs, transform } = parse_json(text)?;
    let chosen = match (object, objects.len()) {
        (Some(name), _) => objects.get(name).ok_or_else(|| {
            format!(
                "it has no object `{name}`, but {}",
                objects.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
            )
        })?,
        (None, 1) => objects.values().next().ok_or("it has no object")?,
        (None, _) => {
            return Err(format!(
                "it has several objects: add one to its name, as in `FILE#OBJECT`: {}",
                objects.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
            ));
        }
    };
    let arcs = arcs.iter().map(|arc| unpack_arc(arc, transform.as_ref())).collect::<Result<Vec<_>, String>>()?;
    let mut raw = Raw::default();
    let geometry = Item::<i64>::deserialize(chosen).map_err(not_understood)?;
    let left = Cell::new(MOST_CORNERS);
    raw.take_geometry(geometry, &|path: &[i64]| join_arcs(path, &arcs, &left))?;
    if let Some(transform) = &transform {
        // Points stand outside of the arcs.
        raw.points.iter_mut().for_each(|point| *point = transform.apply(*point));
    }
    Ok(raw)
}

impl Transform {
    /// Turns a position of a quantised topology into the file's units.
    fn apply(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (x * self.scale.0 + self.translate.0, y * self.scale.1 + self.translate.1)
    }
}

/// Unpacks an arc to positions: a quantised topology stores differences of whole numbers.
fn unpack_arc(arc: &[Position], transform: Option<&Transform>) -> Result<Line, String> {
    let Some(transform) = transform else { return arc.iter().map(position_xy).collect() };
    let mut sum = (0.0, 0.0);
    arc.iter()
        .map(|position| {
            let step = position_xy(position)?;
            sum = (sum.0 + step.0, sum.1 + step.1);
            Ok(transform.apply(sum))
        })
        .collect()
}

/// Joins arcs to a line; `!n` is arc `n` reversed, and each begins where the last one ended.
///
/// `left` is how many more corners are allowed.
fn join_arcs(path: &[i64], arcs: &[Line], left: &Cell<usize>) -> Result<Line, String> {
    let mut line: Line = Vec::new();
    for number in path {
        let place = if *number < 0 { !number } else { *number };
        let arc = usize::try_from(place).ok().and_then(|place| arcs.get(place));
        let arc = arc.ok_or_else(|| format!("it has no arc {number}"))?;
        left.set(
            left.get()
                .checked_sub(arc.len())
                .ok_or_else(|| format!("its arcs make more than {MOST_CORNERS} corners"))?,
        );
        line.pop();
        if *number < 0 { line.extend(arc.iter().rev()) } else { line.extend(arc) }
    }
    Ok(line)
}

impl Raw {
    /// Adds a geometry's polygons, lines or points; `path` makes a line of its parts.
    fn take_geometry<P>(&mut self, geometry: Item<P>, path: ToLine<'_, P>) -> Result<(), String> {
        let paths = |all: &[Path<P>]| all.iter().map(|one| path(one)).collect::<Result<Vec<_>, String>>();
        match geometry {
            Item::FeatureCollection { features: all } | Item::GeometryCollection { geometries: all } => {
                all.into_iter().try_for_each(|one| self.take_geometry(one, path))?;
            }
            Item::Feature { geometry } => {
                geometry.into_iter().try_for_each(|one| self.take_geometry(*one, path))?;
            }
            Item::Point { coordinates } => self.points.push(position_xy(&coordinates)?),
            Item::MultiPoint { coordinates } => {
                coordinates.iter().try_for_each(|one| position_xy(one).map(|point| self.points.push(point)))?;
            }
            Item::LineString { coordinates } => self.lines.push(path(&coordinates)?),
            Item::MultiLineString { coordinates } => self.lines.extend(paths(&coordinates)?),
            Item::Polygon { coordinates } => self.polygons.push(paths(&coordinates)?),
            Item::MultiPolygon { coordinates } => {
                coordinates.iter().try_for_each(|one| paths(one).map(|rings| self.polygons.push(rings)))?;
            }
        }
        Ok(())
    }

    /// Rounds all coordinates to whole numbers from 0, in units of a power of ten.
    fn round_all(self) -> Result<Features, String> {
        let corners = self.polygons.iter().flatten().flatten();
        let all = || corners.clone().chain(self.lines.iter().flatten()).chain(&self.points);
        if all().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
            return Err("a coordinate is no number".to_owned());
        }
        let range = |of: fn(&(f64, f64)) -> f64| {
            all().map(of).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
        };
        let (x, y) = (range(|p| p.0), range(|p| p.1));
        let side = (x.1 - x.0).max(y.1 - y.0);
        if !(side.is_finite() && side > 0.0) {
            return Err("it holds no shape of any size".to_owned());
        }
        let digits = (LONGEST_SIDE / side).log10().floor().clamp(-300.0, f64::from(MOST_DIGITS)) as i32;
        let units = 10_f64.powi(digits);
        // Rounded first and moved next: what is rounded does not depend on what else is in the file.
        let whole = |v: f64| (v * units).round() as i64;
        let to = |p: &(f64, f64)| pt(whole(p.0) - whole(x.0), whole(p.1) - whole(y.0));
        let path = |path: &Line| path.iter().map(to).collect::<Vec<Pt>>();
        Ok(Features {
            polygons: self.polygons.iter().map(|rings| rings.iter().map(path).collect()).collect(),
            lines: self.lines.iter().map(path).collect(),
            points: self.points.iter().map(to).collect(),
            width: whole(x.1) - whole(x.0),
            height: whole(y.1) - whole(y.0),
            units,
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO_SQUARES: &str = r#"{"type": "FeatureCollection", "features": [
        {"type": "Feature", "properties": {"name": "west"}, "geometry": {"type": "Polygon", "coordinates":
            [[[-1, 0], [0, 0], [0, 1, 99], [-1, 1], [-1, 0]]]}},
        {"type": "Feature", "properties": null, "geometry": {"type": "MultiPolygon", "coordinates":
            [[[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]]}},
        {"type": "Feature", "properties": null, "geometry": null},
        {"type": "Feature", "properties": {}, "geometry": {"type": "LineString", "coordinates": [[-1, 0.5], [1, 0.25]]}},
        {"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [0.123456, 0.1]}}]}"#;

    /// Two squares with the edge between them as one arc. Steps of a quantised topology are differences.
    const SAME_SQUARES: &str = r#"{"type": "Topology", "transform": {"scale": [1, 1], "translate": [-1, 0]},
        "objects": {
            "land": {"type": "GeometryCollection", "geometries": [
                {"type": "Polygon", "arcs": [[0, 1]], "id": "840", "properties": {}},
                {"type": "MultiPolygon", "arcs": [[[-1, 2]]]}]},
            "capitals": {"type": "MultiPoint", "coordinates": [[1, 1]]}},
        "arcs": [[[1, 0], [0, 1]], [[1, 1], [-1, 0], [0, -1], [1, 0]], [[1, 0], [1, 0], [0, 1], [-1, 0]]]}"#;

    #[test]
    fn the_same_shapes_come_of_both_formats() {
        let plain = read_features(TWO_SQUARES, None).unwrap();
        assert_eq!((plain.units, plain.width, plain.height), (1e6, 2_000_000, 1_000_000));
        assert_eq!(
            plain.polygons[0],
            [[pt(0, 0), pt(1_000_000, 0), pt(1_000_000, 1_000_000), pt(0, 1_000_000), pt(0, 0)]]
        );
        assert_eq!((&plain.lines[0][1], plain.points[0]), (&pt(2_000_000, 250_000), pt(1_123_456, 100_000)));
        let shared = read_features(SAME_SQUARES, Some("land")).unwrap();
        for (one, other) in plain.polygons.iter().zip(&shared.polygons) {
            assert_eq!(sorted(one), sorted(other));
        }
        assert_eq!(shared.polygons.len(), 2);
    }

    fn sorted(polygon: &[Vec<Pt>]) -> Vec<Pt> {
        let mut corners = polygon[0][1..].to_vec();
        corners.sort_unstable();
        corners
    }

    #[test]
    fn the_objects_of_a_topology_are_named() {
        let several = read_features(SAME_SQUARES, None).unwrap_err();
        assert_eq!(several, "it has several objects: add one to its name, as in `FILE#OBJECT`: capitals, land");
        assert_eq!(read_features(SAME_SQUARES, Some("sea")).unwrap_err(), "it has no object `sea`, but capitals, land");
        assert!(read_features(TWO_SQUARES, Some("land")).unwrap_err().contains("this is a FeatureCollection"));
    }

    #[test]
    fn an_arc_that_is_used_a_million_times_does_not_take_a_million_times_its_memory() {
        let arc: Vec<String> = (0..1_000).map(|n| format!("[{n}, {}]", n % 7)).collect();
        let used = vec!["0"; 1_000_000].join(", ");
        let arcs = arc.join(", ");
        let text = format!(
            r#"{{"type": "Topology", "objects": {{"a": {{"type": "LineString", "arcs": [{used}]}}}}, "arcs": [[{arcs}]]}}"#
        );
        assert!(read_features(&text, None).unwrap_err().contains("more than 10000000 corners"));
    }

    proptest! {
        /// Read, checked and asked, whatever number or letter stands in it.
        #[test]
        fn damaged_shapes_are_refused_or_have_answers(
            topology: bool,
            at in 0..800_usize,
            with in "([0-9]{1,3}|-|1e308|-1e-300|\\]|\\[|,|\"Point\"|null|0.5)",
        ) {
            let points = ",\n            \"capitals\": {\"type\": \"MultiPoint\", \"coordinates\": [[1, 1]]}";
            let mut text = if topology { SAME_SQUARES.replace(points, "") } else { TWO_SQUARES.to_owned() };
            let at = at.min(text.len());
            text.insert_str(at, &with);
            let _ = super::super::super::expected_shape_answers(&text);
        }
    }

    #[test]
    fn what_is_no_shape_is_refused_in_words() {
        for (text, words) in [
            ("no", "neither GeoJSON nor TopoJSON"),
            (r#"{"type": "Sphere"}"#, "unknown variant `Sphere`"),
            (r#"{"type": "Polygon", "coordinates": [[[0], [1, 1]]]}"#, "fewer than two numbers"),
            (r#"{"type": "FeatureCollection", "features": []}"#, "no shape of any size"),
            (r#"{"type": "Point", "coordinates": [1, 2]}"#, "no shape of any size"),
            (r#"{"type": "Topology", "arcs": [], "objects": {"a": {"type": "Polygon", "arcs": [[3]]}}}"#, "no arc 3"),
            (r#"{"type": "LineString", "coordinates": [[0, 0], [1e999, 0]]}"#, "number out of range"),
        ] {
            let error = read_features(text, None).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
