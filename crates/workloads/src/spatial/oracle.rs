//! Expected answers, computed from the data in whole numbers without a database.
//!
//! Counts and checksums are exact. Areas are exact halves. Lengths and distances are sums of square roots, centroids
//! sums of fractions, with errors below 10⁻¹²; only the buffer is floating point (see `buffer`).

use std::collections::{BTreeMap, HashMap};

use super::buffer;
use super::data::{CELL, CLASSES, Country};
use super::exact::{
    Fixed, PlaneSide, Pt, Segment, convex_hull, cross_product, distance_squared, is_simple, path_length, segments_meet,
    segments_of, side_of, twice_area,
};
use super::query::{Expected, Query};

/// Checksums of pairs are taken modulo this.
const MODULUS: i64 = 1_000_003;
/// The distance that counts as near, in quarters of a unit: 150.25. No point with whole coordinates is exactly that far
/// from a segment with whole ends (4·|cross| = 601·length would take an even length of a primitive one), so rounding
/// decides nothing.
pub(super) const NEAR_QUARTERS: i64 = 601;
/// The radius of the buffers.
pub(super) const RADIUS: i64 = 200;
/// The corners of a circle with 8 segments to the quarter.
const CORNERS: u32 = 32;
/// A polygon around the circle with this many corners is 0.08 % larger than the circle.
const FINE_CORNERS: u32 = 64;
/// Roads that are buffered, or whose neighbourhood is searched.
pub(super) const FEW_ROADS: i64 = 100;
/// Points whose nearest neighbour is looked for.
pub(super) const PROBES: i64 = 500;

pub(super) struct Oracle {
    country: Country,
    /// Row by row.
    cells: Vec<Vec<Pt>>,
    roads: Vec<Vec<Pt>>,
    points: Vec<Pt>,
    /// The numbers of the points in each square of the grid, row by row.
    buckets: Vec<Vec<i64>>,
}

/// Checksum of a pair of numbers, as the queries compute it.
fn pair_sum(a: i64, b: i64) -> i128 {
    i128::from((a * 31 + b * 17) % MODULUS)
}

/// Makes the expected count and checksum of pairs.
pub(super) fn count_and_checksum(found: impl Iterator<Item = (i64, i64)>) -> Vec<Expected> {
    let (count, sum) = found.fold((0, 0), |(count, sum), (a, b)| (count + 1, sum + pair_sum(a, b)));
    vec![Expected::exact("pairs", count), Expected::exact("checksum of the pairs", sum)]
}

impl Oracle {
    /// Makes all geometries of a country, and sorts its points into the squares of the grid.
    pub(super) fn new(country: Country) -> Oracle {
        let cells = grid_squares(&country).map(|(i, j)| country.cell_ring(i, j)).collect();
        let points: Vec<Pt> = (1..=country.point_count()).map(|id| country.point_at(id)).collect();
        let mut buckets = vec![Vec::new(); country.cell_count() as usize];
        for (p, id) in points.iter().zip(1..) {
            buckets[((p.y / CELL) * country.side + p.x / CELL) as usize].push(id);
        }
        Oracle {
            country,
            cells,
            roads: (1..=country.road_count()).map(|id| country.road_points(id)).collect(),
            points,
            buckets,
        }
    }

    /// Computes the right answer to a query.
    pub(super) fn answer_to(&self, query: Query) -> Vec<Expected> {
        match query {
            Query::Validity => self.validity(),
            Query::LargestCell => self.largest_cell(),
            Query::RoadLengths => self.road_lengths(),
            Query::PointsInCells => self.points_in_cells(),
            Query::TouchingCells => count_and_checksum(self.neighbour_pairs().into_iter().map(|(a, b, _)| (a, b))),
            Query::RoadsCrossCells => count_and_checksum(self.crossed_cells().into_iter()),
            Query::ClippedRoads => vec![Expected::near("length", self.clipped_length())],
            Query::Departments => self.dissolved_departments(),
            Query::Buffers => self.buffer_areas(),
            Query::Nearest => self.nearest_distances(),
            Query::NearRoads => self.points_near_roads(),
            Query::Hulls => self.hull_areas(),
            Query::Differences => self.hull_excess(),
            Query::Relations => self.edge_sharing_pairs(),
            Query::Text => self.text_round_trip(),
        }
    }

    /// Answers S1: shapes that are no valid polygons, roads that touch themselves.
    fn validity(&self) -> Vec<Expected> {
        let shapes = (1..=self.country.shape_count()).filter(|id| !is_simple(&self.country.shape_ring(*id)));
        let roads = self.roads.iter().zip(1..).filter(|(road, _)| !is_simple(road)).map(|(_, id)| id);
        let (shapes, roads) = (count_and_sum(&mut { shapes }), count_and_sum(&mut { roads }));
        vec![
            Expected::exact("invalid shapes", shapes.0),
            Expected::exact("sum of their numbers", shapes.1),
            Expected::exact("roads that touch themselves", roads.0),
            Expected::exact("sum of their numbers", roads.1),
        ]
    }

    /// Answers S2: the largest cell, by area and then by number.
    fn largest_cell(&self) -> Vec<Expected> {
        let sized = self.cells.iter().zip(1_i64..).map(|(cell, id)| (twice_area(cell), -id));
        let (twice, id) = sized.max().unwrap_or_default();
        vec![Expected::exact("cell", i128::from(-id)), expected_half("area", twice)]
    }

    /// Answers S3: number and length of the roads of each class.
    fn road_lengths(&self) -> Vec<Expected> {
        let of_class = |class| self.roads.iter().zip(1..).filter(move |(_, id)| self.country.road_class(*id) == class);
        let used = (1..=CLASSES).filter(|class| of_class(*class).next().is_some());
        used.flat_map(|class| {
            let sum: Fixed = of_class(class).map(|(road, _)| path_length(road)).sum();
            [
                Expected::exact("class", class.into()),
                Expected::exact("roads", of_class(class).count() as i128),
                Expected::near("length", sum),
            ]
        })
        .collect()
    }

    /// Answers S4: points inside cells; those on a border are in none.
    fn points_in_cells(&self) -> Vec<Expected> {
        let side = self.country.side;
        let mut found = Vec::new();
        let mut used = vec![false; self.cells.len()];
        for (p, id) in self.points.iter().zip(1_i64..) {
            for place in squares_around(p.x / CELL, p.y / CELL, side) {
                if side_of(&self.cells[place], *p) == PlaneSide::Inside {
                    found.push((place as i64 + 1, id));
                    used[place] = true;
                }
            }
        }
        let mut expected = count_and_checksum(found.into_iter());
        expected.push(Expected::exact("cells with points", used.iter().filter(|used| **used).count() as i128));
        expected
    }

    /// Lists pairs of touching cells, by number, and whether they share an edge or only a corner, for S5 and S14.
    ///
    /// Taken from the grid: tests of the data prove that cells are valid and cover the square.
    fn neighbour_pairs(&self) -> Vec<(i64, i64, Border)> {
        let Country { side, .. } = self.country;
        let mut found = Vec::new();
        for (i, j) in grid_squares(&self.country) {
            for (di, dj, border) in
                [(1, 0, Border::Edge), (0, 1, Border::Edge), (1, 1, Border::Corner), (-1, 1, Border::Corner)]
            {
                if (0..side).contains(&(i + di)) && j + dj < side {
                    found.push((self.country.cell_id(i, j), self.country.cell_id(i + di, j + dj), border));
                }
            }
        }
        found
    }

    /// Lists pairs of roads and cells that have a point in common, by number, for S6.
    fn crossed_cells(&self) -> Vec<(i64, i64)> {
        let side = self.country.side;
        let mut found = Vec::new();
        for (road, id) in self.roads.iter().zip(1_i64..) {
            let mut near: Vec<usize> = Vec::new();
            for (a, b) in segments_of(road) {
                for (x, y) in [(a.x, a.y), (b.x, b.y), (a.x, b.y), (b.x, a.y)] {
                    near.extend(squares_around(x / CELL, y / CELL, side));
                }
            }
            near.sort_unstable();
            near.dedup();
            found.extend(
                near.into_iter()
                    .filter(|place| {
                        let cell = &self.cells[*place];
                        side_of(cell, road[0]) != PlaneSide::Outside
                            || segments_of(road).any(|s| segments_of(cell).any(|t| segments_meet(s, t)))
                    })
                    .map(|place| (id, place as i64 + 1)),
            );
        }
        found
    }

    /// Total length of roads clipped by cells, for S7.
    ///
    /// A stretch that a road runs twice counts once, as in a set of points; one along the border of two cells counts for
    /// both.
    fn clipped_length(&self) -> Fixed {
        let roads: Vec<BTreeMap<Line, Vec<(i64, i64)>>> =
            self.roads.iter().map(|road| covered_stretches(road)).collect();
        let mut straight = 0;
        let mut slanted = 0;
        let mut add = |line: &Line, units: i64| {
            let sum = if line.0 < 2 { &mut straight } else { &mut slanted };
            *sum += i128::from(units);
        };
        let mut by_line: HashMap<Line, Vec<(i64, i64)>> = HashMap::new();
        for (line, stretches) in roads.iter().flatten() {
            stretches.iter().for_each(|(from, to)| add(line, to - from));
            by_line.entry(*line).or_default().extend(stretches);
        }
        for (line, from, to) in self.inner_edges().into_iter().filter_map(line_of) {
            for (start, end) in by_line.get(&line).into_iter().flatten() {
                add(&line, (to.min(*end) - from.max(*start)).max(0));
            }
        }
        Fixed::whole_number(straight) + Fixed::times_root_two(slanted)
    }

    /// Lists the segments of the edges that two cells share.
    fn inner_edges(&self) -> Vec<Segment> {
        let Country { side, .. } = self.country;
        let mut found = Vec::new();
        for line in 1..side {
            for along in 0..side {
                found.extend(segments_of(&self.country.edge_east(along, line)));
                found.extend(segments_of(&self.country.edge_north(line, along)));
            }
        }
        found
    }

    /// Answers S8: the departments, dissolved: how many, their area, the length of their borders, and area by number.
    fn dissolved_departments(&self) -> Vec<Expected> {
        let country = &self.country;
        let mut weighted = 0;
        for ((i, j), cell) in grid_squares(country).zip(&self.cells) {
            weighted += i128::from(country.department_of(i, j)) * twice_area(cell);
        }
        let mut borders = Fixed::whole_number(i128::from(4 * country.extent()));
        for line in 1..country.side {
            for along in 0..country.side {
                let parts = [
                    (country.edge_east(along, line), [(along, line - 1), (along, line)]),
                    (country.edge_north(line, along), [(line - 1, along), (line, along)]),
                ];
                for (edge, sides) in parts {
                    let [one, other] = sides.map(|(i, j)| country.department_of(i, j));
                    if one != other {
                        // It is part of the border of both.
                        let edge = path_length(&edge);
                        borders += edge + edge;
                    }
                }
            }
        }
        vec![
            Expected::exact("departments", country.department_count().into()),
            expected_half("area", 2 * i128::from(country.extent()).pow(2)),
            Expected::near("length of the borders", borders),
            expected_half("area times number", weighted),
        ]
    }

    /// Answers S9: the area of the buffers of some roads.
    fn buffer_areas(&self) -> Vec<Expected> {
        let some = &self.roads[..self.roads.len().min(FEW_ROADS as usize)];
        let sum =
            |radius: f64, corners| some.iter().map(|road| buffer::buffer_area(road, radius, corners)).sum::<f64>();
        let radius = RADIUS as f64;
        // A polygon around the circle: what any finer approximation, and the circle itself, must stay within.
        let around = radius / (std::f64::consts::PI / f64::from(FINE_CORNERS)).cos();
        vec![
            Expected::exact("roads", some.len() as i128),
            Expected::rounded("area", sum(radius, CORNERS), sum(around, FINE_CORNERS)),
        ]
    }

    /// Squared distance from a point, by its number, to the nearest other one; `None` if there is none.
    fn nearest_to(&self, id: i64) -> Option<i64> {
        let side = self.country.side;
        let here = self.points[id as usize - 1];
        let (column, row) = (here.x / CELL, here.y / CELL);
        let mut best: Option<i64> = None;
        for ring in 0..side {
            // What is in this ring of squares is further than the ring before it is wide.
            if best.is_some_and(|best| best <= ((ring - 1).max(0) * CELL).pow(2)) {
                break;
            }
            for (i, j) in square_ring(column, row, ring).filter(|(i, j)| (0..side).contains(i) && (0..side).contains(j))
            {
                let others = self.buckets[(j * side + i) as usize].iter().filter(|other| **other != id);
                let nearest = others.map(|other| distance_squared(here, self.points[*other as usize - 1])).min();
                best = best.into_iter().chain(nearest).min();
            }
        }
        best
    }

    /// Side of a square around a point that surely holds the nearest neighbour of every probe.
    pub(super) fn window_side(&self) -> i64 {
        let probes = PROBES.min(self.country.point_count());
        let furthest = (1..=probes).filter_map(|id| self.nearest_to(id)).max().unwrap_or(0);
        CELL.max(furthest.isqrt() + 1)
    }

    /// Answers S10: the distance from some points to the nearest other one.
    fn nearest_distances(&self) -> Vec<Expected> {
        let found: Vec<i64> =
            (1..=PROBES.min(self.country.point_count())).filter_map(|id| self.nearest_to(id)).collect();
        let sum: Fixed = found.iter().map(|square| Fixed::square_root(*square)).sum();
        vec![Expected::exact("points", found.len() as i128), Expected::near("sum of distances", sum)]
    }

    /// Answers S11: points near some roads.
    fn points_near_roads(&self) -> Vec<Expected> {
        let side = self.country.side;
        let mut found = Vec::new();
        for (road, id) in self.roads.iter().zip(1_i64..).take(FEW_ROADS as usize) {
            let mut squares: Vec<usize> = segments_of(road)
                .flat_map(|(a, b)| [(a.x, a.y), (b.x, b.y), (a.x, b.y), (b.x, a.y)])
                .flat_map(|(x, y)| squares_around(x / CELL, y / CELL, side))
                .collect();
            squares.sort_unstable();
            squares.dedup();
            for other in squares.iter().flat_map(|place| &self.buckets[*place]) {
                let p = self.points[*other as usize - 1];
                if segments_of(road).any(|segment| is_near(segment, p)) {
                    found.push((id, *other));
                }
            }
        }
        count_and_checksum(found.into_iter())
    }

    /// Answers S12: the area of the cells' convex hulls; the sum of their centroids.
    fn hull_areas(&self) -> Vec<Expected> {
        let (mut twice, mut x, mut y) = (0, Fixed::default(), Fixed::default());
        for cell in &self.cells {
            twice += twice_area(&convex_hull(cell));
            let centroid = centroid(std::slice::from_ref(cell));
            x += centroid.0;
            y += centroid.1;
        }
        vec![
            expected_half("area of the hulls", twice),
            Expected::near("sum of the centroids' x", x),
            Expected::near("sum of the centroids' y", y),
        ]
    }

    /// Answers S13: the area that the hulls have more than the cells.
    fn hull_excess(&self) -> Vec<Expected> {
        let hulls: i128 = self.cells.iter().map(|cell| twice_area(&convex_hull(cell))).sum();
        let cells: i128 = self.cells.iter().map(|cell| twice_area(cell)).sum();
        vec![expected_half("area", hulls - cells)]
    }

    /// Answers S14: pairs of cells that share an edge and no inner point.
    fn edge_sharing_pairs(&self) -> Vec<Expected> {
        count_and_checksum(
            self.neighbour_pairs().into_iter().filter(|pair| pair.2 == Border::Edge).map(|(a, b, _)| (a, b)),
        )
    }

    /// Answers S15: cells written as text and read again are what they were.
    fn text_round_trip(&self) -> Vec<Expected> {
        let twice: i128 = self.cells.iter().map(|cell| twice_area(cell)).sum();
        vec![Expected::exact("cells", self.country.cell_count().into()), expected_half("area", twice)]
    }
}

/// Counts numbers, and sums them up.
fn count_and_sum(ids: &mut dyn Iterator<Item = i64>) -> (i128, i128) {
    ids.fold((0, 0), |(n, sum), id| (n + 1, sum + i128::from(id)))
}

/// What two neighbours have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Border {
    Edge,
    Corner,
}

/// Makes an expected area from its double.
pub(super) fn expected_half(name: &'static str, twice: i128) -> Expected {
    Expected::near(name, Fixed::fraction(twice, 2))
}

/// Lists columns and rows of the grid's squares, row by row.
fn grid_squares(country: &Country) -> impl Iterator<Item = (i64, i64)> + use<> {
    let side = country.side;
    (0..side).flat_map(move |j| (0..side).map(move |i| (i, j)))
}

/// Indexes of a grid square and its neighbours: a cell strays less than half a square from its own.
fn squares_around(column: i64, row: i64, side: i64) -> impl Iterator<Item = usize> {
    let inside = move |n: &i64| (0..side).contains(n);
    (row - 1..=row + 1)
        .filter(inside)
        .flat_map(move |j| (column - 1..=column + 1).filter(inside).map(move |i| (j * side + i) as usize))
}

/// Columns and rows of the squares at a distance of `ring` squares, some outside of the grid.
fn square_ring(column: i64, row: i64, ring: i64) -> impl Iterator<Item = (i64, i64)> {
    (-ring..=ring)
        .flat_map(move |dj| (-ring..=ring).map(move |di| (di, dj)))
        .filter(move |(di, dj)| di.abs().max(dj.abs()) == ring)
        .map(move |(di, dj)| (column + di, row + dj))
}

/// Whether a point is not further than [`NEAR_QUARTERS`] from a segment.
pub(super) fn is_near((a, b): Segment, p: Pt) -> bool {
    let reach = i128::from(NEAR_QUARTERS).pow(2);
    let along = (b.x - a.x) * (p.x - a.x) + (b.y - a.y) * (p.y - a.y);
    let long = distance_squared(a, b);
    if along <= 0 || along >= long {
        let end = if along <= 0 { a } else { b };
        return 16 * i128::from(distance_squared(end, p)) <= reach;
    }
    // The distance to the line is |cross| / √long.
    16 * i128::from(cross_product(a, b, p)).pow(2) <= reach * i128::from(long)
}

/// Computes the centroid of a polygon (Bourke 1988), relative to its first corner so that the numbers stay small.
///
/// Holes run the other way round than the border.
pub(super) fn centroid(rings: &[Vec<Pt>]) -> (Fixed, Fixed) {
    let Some(&origin) = rings.first().and_then(|border| border.first()) else { return Default::default() };
    let (mut x, mut y, mut twice) = (0, 0, 0);
    for (a, b) in rings.iter().flat_map(|ring| segments_of(ring)) {
        let area = i128::from(cross_product(origin, a, b));
        x += i128::from(a.x + b.x - 2 * origin.x) * area;
        y += i128::from(a.y + b.y - 2 * origin.y) * area;
        twice += area;
    }
    let place = |sum: i128, origin: i64| Fixed::fraction(sum, 3 * twice) + Fixed::whole_number(origin.into());
    (place(x, origin.x), place(y, origin.y))
}

/// A line in one of the four compass directions, by its constant offset.
type Line = (u8, i64);

/// Finds the line under a segment and the segment's ends on it; `None` unless it runs in one of eight directions.
fn line_of((a, b): Segment) -> Option<(Line, i64, i64)> {
    let (dx, dy) = (b.x - a.x, b.y - a.y);
    let (line, from, to) = match (dx, dy) {
        (0, 0) => return None,
        (_, 0) => ((0, a.y), a.x, b.x),
        (0, _) => ((1, a.x), a.y, b.y),
        _ if dx == dy => ((2, a.y - a.x), a.x, b.x),
        _ if dx == -dy => ((3, a.y + a.x), a.x, b.x),
        _ => return None,
    };
    Some((line, from.min(to), from.max(to)))
}

/// Lists the stretches that a road covers of each line, without repeats.
fn covered_stretches(road: &[Pt]) -> BTreeMap<Line, Vec<(i64, i64)>> {
    let mut by_line: BTreeMap<Line, Vec<(i64, i64)>> = BTreeMap::new();
    for (line, from, to) in segments_of(road).filter_map(line_of) {
        by_line.entry(line).or_default().push((from, to));
    }
    for stretches in by_line.values_mut() {
        stretches.sort_unstable();
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for &(from, to) in stretches.iter() {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        *stretches = merged;
    }
    by_line
}

#[cfg(test)]
#[path = "oracle_tests.rs"]
mod tests;
