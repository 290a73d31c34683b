//! Shapes whose answers can be seen.

use super::super::data::PointSpread;
use super::super::query::ExpectedValue;
use super::*;

const LANDS: &str = include_str!("../../../tests/shapes/lands.json");
const ROADS: &str = include_str!("../../../tests/shapes/roads.json");
const DRAWN: Country = Country { side: 4, seed: 1, spread: PointSpread::Uniform };
/// The longer side is 64 degrees, so that one is this many units.
const UNIT: f64 = 1e4;

fn shapes(text: &str) -> Shapes {
    Shapes::read("lands", text, None, &DRAWN).unwrap()
}

/// The answer in the file's units: lengths are divided by units, areas by units twice.
fn answer(shapes: &Shapes, query: Query, powers: &[i32]) -> Vec<f64> {
    let expected = shapes.answer_to(query);
    assert_eq!(expected.len(), powers.len(), "{query:?}");
    let values = expected.iter().map(|expected| match expected.value {
        ExpectedValue::Exact(value) => value as f64,
        ExpectedValue::Near(value) => value,
        ExpectedValue::Rounded { .. } => panic!("{query:?} is rounded"),
    });
    values.zip(powers).map(|(value, power)| value / UNIT.powi(*power)).collect()
}

#[test]
fn the_answers_are_those_that_can_be_seen() {
    let lands = shapes(LANDS);
    for (query, powers, expected) in [
        (Query::Validity, &[0, 0, 0, 0][..], &[1.0, 7.0, 0.0, 0.0][..]),
        (Query::LargestCell, &[0, 2], &[3.0, 100.0]),
        (
            Query::RoadLengths,
            &[0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1],
            &[1.0, 1.0, 20.0, 2.0, 2.0, 56.0, 3.0, 1.0, 8.0, 4.0, 1.0, 40.0, 5.0, 1.0, 40.0],
        ),
        // A and its enclave, A and B, B and C.
        (Query::TouchingCells, &[0, 0], &[3.0, 308.0]),
        (Query::ClippedRoads, &[1], &[192.0]),
        (Query::Departments, &[0, 2, 1, 2], &[3.0, 341.0, 136.0, 1_056.0]),
        (Query::Hulls, &[2, 1, 1], &[345.0, 164.5, 144.5]),
        (Query::Differences, &[2], &[4.0]),
        // The enclave has no border but A's, and C a corner only.
        (Query::Relations, &[0, 0], &[1.0, 82.0]),
        (Query::Text, &[0, 2], &[6.0, 341.0]),
    ] {
        let found = answer(&lands, query, powers);
        let near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-9);
        assert!(near, "{query:?}: {found:?}, not {expected:?}");
    }
    assert_eq!(answer(&lands, Query::RoadsCrossCells, &[0, 0])[0], 11.0);
}

#[test]
fn what_is_left_out_is_counted() {
    let facts = shapes(LANDS).data_facts();
    for (name, expected) in [
        ("cells", "6"),
        ("invalid", "1"),
        ("left_out.flat", "1"),
        ("left_out.touching_rings", "1"),
        ("left_out.overlapping", "1"),
        ("left_out.lines", "0"),
        ("points", "200"),
        ("units", "10000"),
    ] {
        assert_eq!(facts.get(&format!("shapes.lands.{name}")).unwrap(), expected, "{name}");
    }
    let roads = shapes(ROADS);
    assert_eq!(roads.data_facts().get("shapes.lands.left_out.lines"), Some("1"), "one lies on itself");
    assert_eq!((roads.row_count(LandTable::Road), roads.row_count(LandTable::Point)), (4, 8));
    let [crc, other] =
        [&shapes(LANDS), &roads].map(|shapes| shapes.data_facts().get("shapes.lands.crc32").unwrap().to_owned());
    assert_ne!(crc, other, "another file is another system");
}

#[test]
fn points_are_drawn_over_all_of_it_where_a_file_has_none() {
    let lands = shapes(LANDS);
    let all = BoundingBox::around(&lands.points);
    assert!(all.low.x >= 0 && all.high.x <= lands.features.width && all.high.y <= lands.features.height);
    assert!(all.high.x > lands.features.width * 9 / 10 && all.high.y > lands.features.height * 9 / 10);
    // A ninth of a tenth of the square is land; those in the enclave count once.
    let inside = answer(&lands, Query::PointsInCells, &[0, 0, 0]);
    assert!((5.0..40.0).contains(&inside[0]), "{inside:?}");
    let every = lands.points.iter().zip(1_i64..).flat_map(|(p, point)| {
        let cells = lands.map().cells.iter().zip(1_i64..);
        let inside = cells.filter(|(cell, _)| cell.side_of(doubled(*p)) == PlaneSide::Inside);
        inside.map(move |(_, cell)| (cell, point)).collect::<Vec<_>>()
    });
    assert_eq!(count_and_checksum(every)[..], lands.points_in_cells()[..2]);
}

/// The suite's tables are written from the same geometry that the answers are computed from.
#[test]
fn rows_are_written_with_their_holes() {
    let lands = shapes(LANDS);
    let mut text = String::new();
    lands.write_geometry(LandTable::Cell, 1, &mut text);
    assert!(text.starts_with("POLYGON((0 0,100000 0,") && text.contains("),(40000 40000,40000 60000,"), "{text}");
    assert_eq!((lands.group_number(LandTable::Cell, 4), lands.group_number(LandTable::Point, 1)), (Some(2), None));
    assert_eq!(lands.row_count(LandTable::Shape), 8);
}
