//! Test data: a country of whole-number coordinates, reproducible from a seed at any size.
//!
//! Everything is drawn by a hash of (seed, what, i, j), so that any part can be made alone.
//! - **Cells** cover a square without gap or overlap: a grid whose inner corners are moved and whose inner edges are
//!   broken into eight by midpoint displacement; both neighbours use the same edge.
//! - **Departments** are blocks of eight by eight cells.
//! - **Roads** are walks in the eight compass directions.
//! - **Points** are uniform over the square, or clustered.
//! - **Shapes** are cells, about one in eight drawn as a bow-tie, which is not a valid polygon.

use super::exact::{Pt, pt};

/// Side of the grid's squares.
pub(super) const CELL: i64 = 4096;
/// Cells along the side of a department.
const DEPARTMENT: i64 = 8;
/// An inner corner is moved by less than this each way: a sixth of a cell.
const JITTER: i64 = CELL / 6;
/// Largest displacement of an edge's midpoints, per level.
const DISPLACEMENT: [i64; 3] = [160, 40, 10];
pub(super) const CLASSES: i64 = 5;
/// One shape in this many is a bow-tie.
const BOW_TIES: u64 = 8;
/// The eight directions, counter-clockwise from the east.
const DIRECTIONS: [(i64, i64); 8] = [(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointSpread {
    Uniform,
    /// Nine in ten in clusters.
    Clustered,
}

/// Determines the data completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Country {
    /// Cells along one side of the square.
    pub side: i64,
    pub seed: u64,
    pub spread: PointSpread,
}

#[derive(Clone, Copy)]
enum Draw {
    CornerX,
    CornerY,
    MiddleX,
    MiddleY,
    Road,
    Walk,
    Point,
    Centre,
    Shape,
}

/// Mixes the bits of a number by the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn mix_bits(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Turns a draw into a whole number of `lo..=hi`.
///
/// The range is far below 2^32, so that the bias of the remainder is below 2^-32.
fn number_between(draw: u64, lo: i64, hi: i64) -> i64 {
    lo + (draw % (hi - lo + 1) as u64) as i64
}

impl Country {
    /// Draws 64 random bits for a purpose and two numbers, the same each time.
    fn draw_bits(&self, what: Draw, i: i64, j: i64) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut state = mix_bits(self.seed.wrapping_add(STEP));
        for part in [what as u64, i as u64, j as u64] {
            state = mix_bits(state.wrapping_add(STEP) ^ part);
        }
        state
    }

    /// Side of the country's square.
    pub(super) fn extent(&self) -> i64 {
        self.side * CELL
    }

    /// Number of cells in the whole country.
    pub(super) fn cell_count(&self) -> i64 {
        self.side * self.side
    }

    /// Number of roads: one for four cells.
    pub(super) fn road_count(&self) -> i64 {
        (self.cell_count() / 4).max(1)
    }

    /// Number of points: 25 for two cells.
    pub(super) fn point_count(&self) -> i64 {
        self.cell_count() * 25 / 2
    }

    /// Number of shapes: one for four cells.
    pub(super) fn shape_count(&self) -> i64 {
        (self.cell_count() / 4).max(1)
    }

    /// Number of departments along one side.
    fn departments_a_side(&self) -> i64 {
        (self.side + DEPARTMENT - 1) / DEPARTMENT
    }

    /// Number of departments in the whole country.
    pub(super) fn department_count(&self) -> i64 {
        self.departments_a_side().pow(2)
    }

    /// Number of a cell, from 1, by its column and row.
    pub(super) fn cell_id(&self, i: i64, j: i64) -> i64 {
        j * self.side + i + 1
    }

    /// Number of a cell's department, from 1, by the cell's column and row.
    pub(super) fn department_of(&self, i: i64, j: i64) -> i64 {
        (j / DEPARTMENT) * self.departments_a_side() + i / DEPARTMENT + 1
    }

    /// Position of a grid corner, moved at random; one on the border stays there.
    fn corner_at(&self, i: i64, j: i64) -> Pt {
        let jitter = |what, at: i64| match at {
            0 => 0,
            last if last == self.side => 0,
            _ => number_between(self.draw_bits(what, i, j), 1 - JITTER, JITTER - 1),
        };
        pt(i * CELL + jitter(Draw::CornerX, i), j * CELL + jitter(Draw::CornerY, j))
    }

    /// Points of the edge from a grid corner to the east; straight on the border.
    pub(super) fn edge_east(&self, i: i64, j: i64) -> Vec<Pt> {
        self.edge_points((self.corner_at(i, j), self.corner_at(i + 1, j)), j, (i * 2, j))
    }

    /// Points of the edge from a grid corner to the north; straight on the border.
    pub(super) fn edge_north(&self, i: i64, j: i64) -> Vec<Pt> {
        self.edge_points((self.corner_at(i, j), self.corner_at(i, j + 1)), i, (i * 2 + 1, j))
    }

    /// Breaks an edge on grid line `line` into eight by midpoint displacement; `key` names its draws.
    fn edge_points(&self, (from, to): (Pt, Pt), line: i64, key: (i64, i64)) -> Vec<Pt> {
        let mut points = vec![from, to];
        if line == 0 || line == self.side {
            return points;
        }
        let mut number = 0;
        for far in DISPLACEMENT {
            let mut finer = vec![points[0]];
            for pair in points.windows(2) {
                let place = key.1 * 8 + number;
                number += 1;
                let moved = |what| number_between(self.draw_bits(what, key.0, place), -far, far);
                finer.push(pt(
                    middle_of(pair[0].x, pair[1].x) + moved(Draw::MiddleX),
                    middle_of(pair[0].y, pair[1].y) + moved(Draw::MiddleY),
                ));
                finer.push(pair[1]);
            }
            points = finer;
        }
        points
    }

    /// Points of a cell's ring, closed, counter-clockwise.
    pub(super) fn cell_ring(&self, i: i64, j: i64) -> Vec<Pt> {
        let mut ring = self.edge_east(i, j);
        ring.extend(&self.edge_north(i + 1, j)[1..]);
        ring.extend(self.edge_east(i, j + 1).iter().rev().skip(1));
        ring.extend(self.edge_north(i, j).iter().rev().skip(1));
        ring
    }

    /// Points of a road by its number, from 1; it never turns straight back.
    pub(super) fn road_points(&self, id: i64) -> Vec<Pt> {
        let draw = self.draw_bits(Draw::Road, id, 0);
        let extent = self.extent();
        let mut here = pt(
            number_between(self.draw_bits(Draw::Road, id, 1), 0, extent),
            number_between(self.draw_bits(Draw::Road, id, 2), 0, extent),
        );
        let mut heading = number_between(draw, 0, 7);
        let mut path = vec![here];
        for step in 0..number_between(draw >> 32, 12, 28) {
            let draw = self.draw_bits(Draw::Walk, id, step);
            let turn = [0, 0, 1, -1][(draw % 4) as usize];
            let far = number_between(draw >> 8, 300, 1000);
            // At the border it turns left until it can go on; straight back is not among the turns.
            let next = [0, 1, 2, 3, 5, 6, 7].iter().find_map(|more| {
                let towards = (heading + turn + more).rem_euclid(8);
                let (dx, dy) = DIRECTIONS[towards as usize];
                let next = pt(here.x + dx * far, here.y + dy * far);
                let fits = (0..=extent).contains(&next.x) && (0..=extent).contains(&next.y);
                (fits && towards != (heading + 4).rem_euclid(8)).then_some((next, towards))
            });
            // A square of two cells and more leaves a way from everywhere.
            let Some((next, towards)) = next else { break };
            path.push(next);
            (here, heading) = (next, towards);
        }
        path
    }

    /// Class of a road, from 1, by its number.
    pub(super) fn road_class(&self, id: i64) -> i64 {
        id % CLASSES + 1
    }

    /// Position of a point by its number, from 1.
    pub(super) fn point_at(&self, id: i64) -> Pt {
        let extent = self.extent();
        if self.spread == PointSpread::Uniform || self.draw_bits(Draw::Point, id, 2).is_multiple_of(10) {
            return pt(
                number_between(self.draw_bits(Draw::Point, id, 0), 1, extent - 1),
                number_between(self.draw_bits(Draw::Point, id, 1), 1, extent - 1),
            );
        }
        let clusters = (self.cell_count() / 16).max(1);
        let cluster = number_between(self.draw_bits(Draw::Point, id, 3), 0, clusters - 1);
        let near = |n: i64| {
            let centre = number_between(self.draw_bits(Draw::Centre, cluster, n), 1, extent - 1);
            // The sum of four draws: dense in the middle.
            let off: i64 = (0..4)
                .map(|k| number_between(self.draw_bits(Draw::Point, id, 4 + 4 * n + k), -CELL / 6, CELL / 6))
                .sum();
            (centre + off).clamp(1, extent - 1)
        };
        pt(near(0), near(1))
    }

    /// Points of a shape's ring by its number, from 1: a cell, or a bow-tie over its corners.
    pub(super) fn shape_ring(&self, id: i64) -> Vec<Pt> {
        let (i, j) = ((id * 4 - 4) % self.side, (id * 4 - 4) / self.side);
        if !self.draw_bits(Draw::Shape, id, 0).is_multiple_of(BOW_TIES) {
            return self.cell_ring(i, j);
        }
        vec![
            self.corner_at(i, j),
            self.corner_at(i + 1, j + 1),
            self.corner_at(i + 1, j),
            self.corner_at(i, j + 1),
            self.corner_at(i, j),
        ]
    }

    /// About how many bytes the tables take with their indexes.
    pub(super) fn size_bytes(&self) -> u64 {
        let vertices = self.cell_count() * 33 + self.road_count() * 21 + self.shape_count() * 29 + self.point_count();
        (vertices * 16 + self.point_count() * 150 + (self.cell_count() + self.road_count() + self.shape_count()) * 200)
            as u64
    }
}

/// Middle of two numbers, rounded down.
fn middle_of(a: i64, b: i64) -> i64 {
    (a + b).div_euclid(2)
}

#[cfg(test)]
mod tests {
    use super::super::exact::{
        PlaneSide, convex_hull, is_simple, segments_meet, segments_of, share_a_stretch, side_of, twice_area,
    };
    use super::*;

    fn country(side: i64, seed: u64) -> Country {
        Country { side, seed, spread: PointSpread::Uniform }
    }

    #[test]
    fn the_data_of_a_seed_never_change() {
        let country = country(40, 1);
        assert_eq!(country.cell_ring(3, 7)[..4], PINNED_CELL);
        assert_eq!(country.road_points(5)[..3], PINNED_ROAD);
        assert_eq!([country.point_at(1), country.point_at(20_000)], PINNED_POINTS);
    }

    const PINNED_CELL: [Pt; 4] = [pt(12218, 28811), pt(12772, 28758), pt(13340, 28695), pt(13877, 28675)];
    const PINNED_ROAD: [Pt; 3] = [pt(122997, 142053), pt(123417, 141633), pt(123908, 141633)];
    const PINNED_POINTS: [Pt; 2] = [pt(59070, 125725), pt(160604, 158539)];

    /// Cells are valid, do not overlap, and leave no gap: rings are simple, their areas add up to the square's, and
    /// no two edges cross.
    #[test]
    fn cells_cover_the_square_without_gap_or_overlap() {
        for seed in 0..10 {
            let country = country(6, seed);
            let mut sum = 0;
            for (i, j) in (0..6).flat_map(|j| (0..6).map(move |i| (i, j))) {
                let ring = country.cell_ring(i, j);
                assert!(is_simple(&ring), "seed {seed}, cell {i} {j}");
                assert!(twice_area(&ring) > 0);
                assert_eq!(side_of(&ring, pt(i * CELL + CELL / 2, j * CELL + CELL / 2)), PlaneSide::Inside);
                sum += twice_area(&ring);
            }
            assert_eq!(sum, 2 * i128::from(country.extent()).pow(2));
            let edges: Vec<Vec<Pt>> = (0..=6)
                .flat_map(|j| (0..6).map(move |i| (i, j)))
                .flat_map(|(i, j)| [country.edge_east(i, j), country.edge_north(j, i)])
                .collect();
            for (n, a) in edges.iter().enumerate() {
                for b in &edges[n + 1..] {
                    let ends = [a[0], a[a.len() - 1]];
                    let shared = ends.contains(&b[0]) || ends.contains(&b[b.len() - 1]);
                    for (s, t) in segments_of(a).flat_map(|s| segments_of(b).map(move |t| (s, t))) {
                        let at_shared_end =
                            shared && [s.0, s.1].iter().any(|p| ends.contains(p) && [t.0, t.1].contains(p));
                        assert!(at_shared_end || !segments_meet(s, t), "seed {seed}: {s:?} {t:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn roads_stay_in_the_square_and_never_turn_straight_back() {
        for spread in [PointSpread::Uniform, PointSpread::Clustered] {
            let country = Country { side: 4, seed: 9, spread };
            let inside = |p: &Pt| (0..=country.extent()).contains(&p.x) && (0..=country.extent()).contains(&p.y);
            for id in 1..=2_000 {
                let road = country.road_points(id);
                assert!(road.len() >= 13 && road.iter().all(inside), "{road:?}");
                for turn in road.windows(3) {
                    let (a, b) = (
                        (turn[1].x - turn[0].x, turn[1].y - turn[0].y),
                        (turn[2].x - turn[1].x, turn[2].y - turn[1].y),
                    );
                    assert!(a.0 == 0 || a.1 == 0 || a.0.abs() == a.1.abs());
                    let back = a.0 * b.1 == a.1 * b.0 && a.0 * b.0 + a.1 * b.1 < 0;
                    assert!(!back, "{turn:?}");
                }
            }
            assert!((1..=country.point_count()).all(|id| inside(&country.point_at(id))));
        }
    }

    /// SQL Server takes such a line for invalid, and answers nothing about it.
    #[test]
    fn no_road_lies_on_itself() {
        assert!(share_a_stretch((pt(0, 0), pt(5, 5)), (pt(9, 9), pt(4, 4))));
        assert!(!share_a_stretch((pt(0, 0), pt(5, 0)), (pt(5, 0), pt(9, 0))));
        for (side, seed) in [(4, 1), (8, 1), (9, 1), (40, 1), (40, 2), (40, 3)] {
            let country = country(side, seed);
            for id in 1..=country.road_count() {
                let road = country.road_points(id);
                let all: Vec<(Pt, Pt)> = segments_of(&road).collect();
                for (place, one) in all.iter().enumerate() {
                    let twice = all[place + 1..].iter().any(|other| share_a_stretch(*one, *other));
                    assert!(!twice, "side {side}, seed {seed}, road {id}");
                }
            }
        }
    }

    #[test]
    fn clusters_are_denser_than_an_even_spread() {
        assert!(busiest(PointSpread::Uniform) < 40);
        assert!(busiest(PointSpread::Clustered) > 80);
    }

    fn busiest(spread: PointSpread) -> i32 {
        let country = Country { side: 16, seed: 3, spread };
        let mut counts = vec![0; 256];
        for id in 1..=country.point_count() {
            let p = country.point_at(id);
            counts[((p.y / CELL) * 16 + p.x / CELL) as usize] += 1;
        }
        counts.into_iter().max().unwrap_or(0)
    }

    #[test]
    fn some_shapes_are_bow_ties_and_no_other_is_invalid() {
        let country = country(40, 1);
        let invalid = (1..=country.shape_count()).filter(|id| !is_simple(&country.shape_ring(*id))).count();
        assert!((30..70).contains(&invalid), "{invalid} of {}", country.shape_count());
        assert!(convex_hull(&country.shape_ring(1)).len() >= 4);
    }
}
