//! The oracle against plainer ways to the same answers: every pair looked at, no grid trusted.

use super::super::data::PointSpread;
use super::super::exact::pt;
use super::super::query::ExpectedValue;
use super::*;

fn oracles() -> impl Iterator<Item = Oracle> {
    (0..12).map(move |seed| {
        Oracle::new(Country {
            side: 3 + seed as i64 % 3,
            seed,
            spread: if seed % 2 == 0 { PointSpread::Uniform } else { PointSpread::Clustered },
        })
    })
}

fn numbered<T>(things: &[T]) -> impl Iterator<Item = (i64, &T)> {
    (1..).zip(things)
}

fn every_pair<'a, A, B>(a: &'a [A], b: &'a [B], is: impl Fn(&A, &B) -> bool + 'a) -> Vec<(i64, i64)> {
    numbered(a)
        .flat_map(|(i, x)| numbered(b).filter(|(_, y)| is(x, y)).map(|(j, _)| (i, j)).collect::<Vec<_>>())
        .collect()
}

#[test]
fn joins_find_what_a_look_at_every_pair_finds() {
    for oracle in oracles() {
        let inside = every_pair(&oracle.cells, &oracle.points, |cell, p| side_of(cell, *p) == PlaneSide::Inside);
        assert_eq!(oracle.points_in_cells()[..2], count_and_checksum(inside.into_iter())[..]);
        let crossed = every_pair(&oracle.roads, &oracle.cells, |road, cell| {
            have_a_point_in_common(road, cell) || side_of(cell, road[0]) == PlaneSide::Inside
        });
        assert_eq!(count_and_checksum(oracle.crossed_cells().into_iter()), count_and_checksum(crossed.into_iter()));
        let few = &oracle.roads[..oracle.roads.len().min(100)];
        let near = every_pair(few, &oracle.points, |road, p| segments_of(road).any(|s| is_near(s, *p)));
        assert_eq!(oracle.points_near_roads(), count_and_checksum(near.into_iter()));
        let mut touching = every_pair(&oracle.cells, &oracle.cells, |a, b| a != b && have_a_point_in_common(a, b));
        touching.retain(|(a, b)| a < b);
        assert_eq!(oracle.answer_to(Query::TouchingCells), count_and_checksum(touching.into_iter()));
    }
}

fn have_a_point_in_common(a: &[Pt], b: &[Pt]) -> bool {
    segments_of(a).any(|s| segments_of(b).any(|t| segments_meet(s, t)))
}

#[test]
fn the_nearest_is_the_nearest_of_all() {
    for oracle in oracles() {
        let reach = oracle.window_side().pow(2);
        for (id, p) in numbered(&oracle.points) {
            let others = numbered(&oracle.points).filter(|(other, _)| *other != id);
            let nearest = others.map(|(_, q)| distance_squared(*p, *q)).min();
            assert_eq!(oracle.nearest_to(id), nearest);
            assert!(id > PROBES || nearest.is_some_and(|square| square <= reach));
        }
    }
}

#[test]
fn borders_of_departments_are_the_edges_that_no_two_of_their_cells_share() {
    let oracle = Oracle::new(Country { side: 17, seed: 4, spread: PointSpread::Uniform });
    let mut edges: HashMap<(i64, Pt, Pt), i32> = HashMap::new();
    for ((i, j), cell) in grid_squares(&oracle.country).zip(&oracle.cells) {
        for (a, b) in segments_of(cell) {
            *edges.entry((oracle.country.department_of(i, j), a.min(b), a.max(b))).or_default() += 1;
        }
    }
    let outer: Fixed = edges
        .iter()
        .filter(|(_, count)| **count == 1)
        .map(|((_, a, b), _)| Fixed::square_root(distance_squared(*a, *b)))
        .sum();
    let answer = oracle.dissolved_departments();
    assert_eq!(answer[0], Expected::exact("departments", 9));
    let ExpectedValue::Near(borders) = answer[2].value else { panic!("{answer:?}") };
    assert!((borders - outer.to_f64()).abs() < 1e-9 * borders);
}

#[test]
fn a_road_that_runs_twice_counts_once() {
    let there_and_round = [pt(0, 0), pt(10, 0), pt(10, 5), pt(20, 5), pt(20, 0), pt(5, 0), pt(5, 3)];
    let found = covered_stretches(&there_and_round);
    assert_eq!(found[&(0, 0)], [(0, 20)]);
    assert_eq!(found[&(1, 10)], [(0, 5)]);
    assert_eq!(line_of((pt(3, 1), pt(1, 3))), Some(((3, 4), 1, 3)));
    assert_eq!(line_of((pt(0, 0), pt(2, 1))), None);
}

#[test]
fn a_road_along_a_border_is_clipped_by_both_cells() {
    // Edges that run in one of the eight directions are rare: some seed has one.
    let (oracle, segment) = (0..)
        .find_map(|seed| {
            let oracle = Oracle::new(Country { side: 4, seed, spread: PointSpread::Uniform });
            let along = oracle.inner_edges().into_iter().find(|segment| line_of(*segment).is_some());
            along.map(|segment| (oracle, segment))
        })
        .unwrap();
    let with = Oracle { roads: vec![vec![segment.0, segment.1]], ..oracle };
    let along = path_length(&[segment.0, segment.1]).to_f64();
    assert!((with.clipped_length().to_f64() - 2.0 * along).abs() < 1e-9 * along);
}

#[test]
fn centroids_and_nearness_are_those_of_simple_figures() {
    let square = [pt(100, 100), pt(110, 100), pt(110, 120), pt(100, 120), pt(100, 100)];
    assert_eq!(centroid(&[square.to_vec()]), (Fixed::whole_number(105), Fixed::whole_number(110)));
    let segment = (pt(0, 0), pt(1000, 0));
    for (p, near) in [
        (pt(500, 150), true),
        (pt(500, -150), true),
        (pt(500, 151), false),
        (pt(-150, 0), true),
        (pt(-151, 0), false),
        (pt(1106, 106), true),
        (pt(1107, 107), false),
    ] {
        assert_eq!(is_near(segment, p), near, "{p:?}");
    }
}

/// Pinned: the answers on the default data. PostGIS 3.3.2 and SpatiaLite 5.0.1 give the same.
#[test]
fn the_answers_on_the_default_data_never_change() {
    let oracle = Oracle::new(Country { side: 40, seed: 1, spread: PointSpread::Uniform });
    let shown: Vec<String> = Query::all()
        .map(|query| {
            let values: Vec<String> = oracle
                .answer_to(query)
                .iter()
                .map(|expected| match expected.value {
                    ExpectedValue::Exact(value) => value.to_string(),
                    ExpectedValue::Near(value) | ExpectedValue::Rounded { with_8: value, .. } => format!("{value:.3}"),
                })
                .collect();
            format!("{} {}", query.number(), values.join(" "))
        })
        .collect();
    assert_eq!(shown, PINNED);
}

const PINNED: [&str; 15] = [
    "S1 54 10774 16 2590",
    "S2 263 25279684.000",
    "S3 1 80 1228044.441 2 80 1214678.236 3 80 1277951.476 4 80 1181319.845 5 80 1278689.332",
    "S4 20000 3894533107 1600",
    "S5 6162 235469208",
    "S6 2087 41020058",
    "S7 6180683.329",
    "S8 25 26843545600.000 3301425.262 348887220684.500",
    "S9 100 635342620.402",
    "S10 500 293707.654",
    "S11 364 61932495",
    "S12 27464549500.500 131045172.270 131060558.266",
    "S13 621003900.500",
    "S14 3120 119435160",
    "S15 1600 26843545600.000",
];
