//! How polygons with whole coordinates lie to each other and to lines; only lengths are rounded.
//!
//! Two valid polygons whose edges do not cross properly meet only where a corner of one lies on an edge of the other.
//! So each edge, cut at the other's corners on it, falls into pieces that are wholly inside, outside or on the border,
//! which the middle of the piece tells. Coordinates are below 2^22, so the middle is whole when doubled.

use super::super::exact::{
    Fixed, PlaneSide, Pt, Segment, convex_hull, cross_product, distance_squared, is_on_segment, is_simple, path_length,
    pt, segments_meet, segments_of, twice_area,
};

/// Edges in a strip, about.
const EDGES_A_STRIP: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoundingBox {
    pub(super) low: Pt,
    pub(super) high: Pt,
}

impl BoundingBox {
    /// The smallest box that holds these points.
    pub(super) fn around(points: &[Pt]) -> BoundingBox {
        let by = |pick: fn(i64, i64) -> i64| {
            points.iter().copied().reduce(|a, b| pt(pick(a.x, b.x), pick(a.y, b.y))).unwrap_or(pt(0, 0))
        };
        BoundingBox { low: by(i64::min), high: by(i64::max) }
    }

    /// Whether two boxes have a point in common.
    pub(super) fn meets(&self, other: &BoundingBox) -> bool {
        self.low.x <= other.high.x
            && other.low.x <= self.high.x
            && self.low.y <= other.high.y
            && other.low.y <= self.high.y
    }
}

/// Why a ring or a polygon is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShapeFlaw {
    /// All its corners are on a line, or came there when they were rounded.
    Flat,
    /// It crosses or touches itself, or a hole of it is outside or in another hole.
    Invalid,
    /// Rings of it touch each other: whether it is valid depends on how.
    Touching,
}

#[derive(Clone, Debug)]
pub(super) struct Polygon {
    /// Border counter-clockwise, then holes clockwise: the inside is left of every edge.
    pub(super) rings: Vec<Vec<Pt>>,
    pub(super) bounds: BoundingBox,
    /// The numbers of the edges in each strip of its height.
    strips: Vec<Vec<u32>>,
    edges: Vec<Segment>,
}

/// How two polygons without a common inner point touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Contact {
    /// Length of the borders that they share.
    pub(super) shared: Fixed,
    /// Whether each of them has border that is not shared.
    pub(super) free: (bool, bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpatialRelation {
    Apart,
    /// They have points of their borders in common, and no inner ones.
    Touch(Contact),
    /// They have inner points in common.
    Overlap,
}

#[derive(Default)]
struct Edges {
    overlap: bool,
    contact: bool,
    outside: bool,
    shared: Fixed,
}

/// Drops points of a ring that repeat the one before them, and closes the ring.
pub(super) fn tidy_ring(ring: &[Pt]) -> Vec<Pt> {
    let mut ring = ring.to_vec();
    ring.dedup();
    if ring.len() > 1 && ring.first() != ring.last() {
        ring.push(ring[0]);
    }
    ring
}

impl Polygon {
    /// Makes a polygon of tidy rings, and turns them as they must run; fails if it is flat or not valid.
    pub(super) fn new(mut rings: Vec<Vec<Pt>>) -> Result<Polygon, ShapeFlaw> {
        // A bow-tie may have no area, all signs counted, and is not flat.
        match rings.first() {
            None => return Err(ShapeFlaw::Flat),
            Some(border) if is_flat(border) => return Err(ShapeFlaw::Flat),
            // A hole that has lost its area is none.
            Some(_) => rings.retain(|ring| !is_flat(ring)),
        }
        if !rings.iter().all(|ring| is_simple(ring)) {
            return Err(ShapeFlaw::Invalid);
        }
        for (place, ring) in rings.iter_mut().enumerate() {
            if (twice_area(ring) > 0) != (place == 0) {
                ring.reverse();
            }
        }
        let alone: Vec<Polygon> = rings.iter().map(|ring| Polygon::new_unchecked(vec![ring.clone()])).collect();
        for (place, one) in alone.iter().enumerate() {
            for other in &alone[place + 1..] {
                if other.edges.iter().any(|edge| one.meets_border(*edge)) {
                    return Err(ShapeFlaw::Touching);
                }
                let inside = one.side_of(doubled(other.edges[0].0)) == PlaneSide::Inside;
                let around = other.side_of(doubled(one.edges[0].0)) == PlaneSide::Inside;
                if inside != (place == 0) || around {
                    return Err(ShapeFlaw::Invalid);
                }
            }
        }
        Ok(Polygon::new_unchecked(rings))
    }

    /// Makes a polygon without checking that it is valid.
    fn new_unchecked(rings: Vec<Vec<Pt>>) -> Polygon {
        let bounds = BoundingBox::around(rings.first().map_or(&[], Vec::as_slice));
        let edges: Vec<Segment> = rings.iter().flat_map(|ring| segments_of(ring)).collect();
        let mut polygon = Polygon { bounds, strips: vec![Vec::new(); edges.len() / EDGES_A_STRIP + 1], edges, rings };
        for (number, (a, b)) in (0..).zip(&polygon.edges) {
            for strip in polygon.strip_of(a.y.min(b.y))..=polygon.strip_of(a.y.max(b.y)) {
                polygon.strips[strip].push(number);
            }
        }
        polygon
    }

    /// Index of the strip in which a height lies.
    fn strip_of(&self, y: i64) -> usize {
        let tall = self.bounds.high.y - self.bounds.low.y + 1;
        let from_low = (y - self.bounds.low.y).clamp(0, tall - 1);
        (from_low * self.strips.len() as i64 / tall) as usize
    }

    /// Lists the edges that may meet a segment, some more than once.
    fn edges_near(&self, (a, b): Segment) -> impl Iterator<Item = Segment> + '_ {
        let strips = if BoundingBox::around(&[a, b]).meets(&self.bounds) {
            self.strip_of(a.y.min(b.y))..self.strip_of(a.y.max(b.y)) + 1
        } else {
            0..0
        };
        self.strips[strips].iter().flatten().map(|number| self.edges[*number as usize])
    }

    /// Whether a segment has a point in common with the border.
    pub(super) fn meets_border(&self, segment: Segment) -> bool {
        self.edges_near(segment).any(|edge| segments_meet(edge, segment))
    }

    /// Where a point, given in doubled coordinates, is in relation to the polygon.
    pub(super) fn side_of(&self, p: Pt) -> PlaneSide {
        let mut inside = false;
        // The height is in this strip, whether or not it is whole.
        for number in &self.strips[self.strip_of(p.y.div_euclid(2))] {
            let (a, b) = self.edges[*number as usize];
            let (a, b) = (doubled(a), doubled(b));
            if is_on_segment((a, b), p) {
                return PlaneSide::Boundary;
            }
            if (a.y > p.y) != (b.y > p.y) && (cross_product(a, b, p) > 0) == (b.y > a.y) {
                inside = !inside;
            }
        }
        if inside { PlaneSide::Inside } else { PlaneSide::Outside }
    }

    /// Twice the area of the polygon, without its holes.
    pub(super) fn twice_area(&self) -> i128 {
        self.rings.iter().map(|ring| twice_area(ring)).sum()
    }

    /// Length of the polygon's border and those of its holes.
    pub(super) fn perimeter(&self) -> Fixed {
        self.rings.iter().map(|ring| path_length(ring)).sum()
    }

    /// How two polygons lie to each other: apart, touching or overlapping.
    pub(super) fn relation_to(&self, other: &Polygon) -> SpatialRelation {
        if !self.bounds.meets(&other.bounds) {
            return SpatialRelation::Apart;
        }
        let one = self.compare_edges(other);
        if one.overlap {
            return SpatialRelation::Overlap;
        }
        let two = other.compare_edges(self);
        match (two.overlap, one.contact || two.contact) {
            (true, _) => SpatialRelation::Overlap,
            (false, true) => SpatialRelation::Touch(Contact { shared: one.shared, free: (one.outside, two.outside) }),
            (false, false) => SpatialRelation::Apart,
        }
    }

    /// Compares the polygon's edges with another polygon: whether they touch, lie inside or outside, or are shared.
    fn compare_edges(&self, other: &Polygon) -> Edges {
        let mut found = Edges::default();
        for edge in &self.edges {
            let mut cuts = vec![edge.0, edge.1];
            for theirs in other.edges_near(*edge).filter(|theirs| segments_meet(*edge, *theirs)) {
                found.contact = true;
                if segments_cross(*edge, theirs) {
                    found.overlap = true;
                    return found;
                }
                cuts.extend([theirs.0, theirs.1].into_iter().filter(|corner| is_on_segment(*edge, *corner)));
            }
            cuts.sort_unstable_by_key(|cut| distance_squared(edge.0, *cut));
            cuts.dedup();
            for piece in segments_of(&cuts) {
                let middle = pt(piece.0.x + piece.1.x, piece.0.y + piece.1.y);
                match other.side_of(middle) {
                    PlaneSide::Outside => found.outside = true,
                    PlaneSide::Inside => found.overlap = true,
                    PlaneSide::Boundary if other.runs_along(piece) => found.overlap = true,
                    PlaneSide::Boundary => found.shared += Fixed::square_root(distance_squared(piece.0, piece.1)),
                }
            }
            if found.overlap {
                return found;
            }
        }
        found
    }

    /// Whether an edge that contains this piece has its direction, so that both polygons lie on the same side of it.
    fn runs_along(&self, (a, b): Segment) -> bool {
        self.edges_near((a, b))
            .filter(|edge| is_on_segment(*edge, a) && is_on_segment(*edge, b))
            .any(|(c, d)| (b.x - a.x) * (d.x - c.x) + (b.y - a.y) * (d.y - c.y) > 0)
    }

    /// Length of the part of a segment that is within the polygon, border included.
    pub(super) fn clipped_length(&self, (a, b): Segment) -> f64 {
        let long = (distance_squared(a, b) as f64).sqrt();
        let along = |p: Pt| ((p.x - a.x) * (b.x - a.x) + (p.y - a.y) * (b.y - a.y)) as f64 / (long * long);
        let mut cuts = vec![0.0, 1.0];
        let mut covered: Vec<(f64, f64)> = Vec::new();
        for (c, d) in self.edges_near((a, b)) {
            let (left, right) = (cross_product(c, d, a), cross_product(c, d, b));
            if cross_product(a, b, c) == 0 && cross_product(a, b, d) == 0 {
                let (from, to) = (along(c).min(along(d)), along(c).max(along(d)));
                covered.push((from, to));
                cuts.extend([from, to]);
            } else if left != right && segments_meet((a, b), (c, d)) {
                cuts.push(left as f64 / (left as f64 - right as f64));
            }
        }
        cuts.retain(|cut| (0.0..=1.0).contains(cut));
        cuts.sort_unstable_by(f64::total_cmp);
        let pieces = cuts.windows(2).filter(|cut| {
            let t = (cut[0] + cut[1]) / 2.0;
            covered.iter().any(|(from, to)| (*from..=*to).contains(&t))
                || self.contains(a.x as f64 + t * (b.x - a.x) as f64, a.y as f64 + t * (b.y - a.y) as f64)
        });
        long * pieces.map(|cut| cut[1] - cut[0]).sum::<f64>()
    }

    /// Whether a point lies in the polygon.
    fn contains(&self, x: f64, y: f64) -> bool {
        let strip = &self.strips[self.strip_of(y.floor() as i64)];
        let to_the_right = strip.iter().filter(|number| {
            let (a, b) = self.edges[**number as usize];
            let (ay, by) = (a.y as f64, b.y as f64);
            (ay > y) != (by > y) && x < a.x as f64 + (y - ay) / (by - ay) * (b.x - a.x) as f64
        });
        to_the_right.count() % 2 == 1
    }
}

/// Whether a ring has no area.
fn is_flat(ring: &[Pt]) -> bool {
    ring.len() < 4 || twice_area(&convex_hull(ring)) == 0
}

/// Doubles a point's coordinates.
pub(super) fn doubled(p: Pt) -> Pt {
    pt(2 * p.x, 2 * p.y)
}

/// Whether two segments cross in a point that is an end of neither.
fn segments_cross(s: Segment, t: Segment) -> bool {
    side_product(s, t) < 0 && side_product(t, s) < 0
}

/// -1 if the ends of `t` lie on different sides of `s`, 1 if on one, 0 if one lies on it.
fn side_product(s: Segment, t: Segment) -> i64 {
    cross_product(s.0, s.1, t.0).signum() * cross_product(s.0, s.1, t.1).signum()
}

#[cfg(test)]
mod tests {
    use super::super::super::exact::share_a_stretch;
    use super::*;
    use proptest::prelude::*;

    fn ring(corners: &[(i64, i64)]) -> Vec<Pt> {
        tidy_ring(&corners.iter().map(|(x, y)| pt(*x, *y)).collect::<Vec<_>>())
    }

    fn square(x: i64, y: i64, side: i64) -> Vec<Pt> {
        ring(&[(x, y), (x + side, y), (x + side, y + side), (x, y + side)])
    }

    fn polygon(rings: &[Vec<Pt>]) -> Polygon {
        Polygon::new(rings.to_vec()).unwrap()
    }

    fn touch(shared: i128, free: (bool, bool)) -> SpatialRelation {
        SpatialRelation::Touch(Contact { shared: Fixed::whole_number(shared), free })
    }

    #[test]
    fn polygons_lie_apart_touch_or_overlap() {
        let one = polygon(&[square(0, 0, 10)]);
        for (other, expected) in [
            (square(20, 0, 5), SpatialRelation::Apart),
            (square(10, 2, 5), touch(5, (true, true))),
            (square(10, -10, 30), touch(10, (true, true))),
            (square(10, 10, 5), touch(0, (true, true))),
            (square(9, 9, 5), SpatialRelation::Overlap),
            (square(2, 2, 5), SpatialRelation::Overlap),
            (square(0, 0, 5), SpatialRelation::Overlap),
            (square(0, 0, 10), SpatialRelation::Overlap),
            (square(-5, -5, 30), SpatialRelation::Overlap),
            // A corner on the other's edge; the edges cross nowhere.
            (ring(&[(5, 10), (8, 15), (2, 15)]), touch(0, (true, true))),
            (ring(&[(5, 10), (8, 5), (2, 5)]), SpatialRelation::Overlap),
        ] {
            let other = polygon(&[other]);
            assert_eq!(one.relation_to(&other), expected, "{:?}", other.rings);
            let back = match expected {
                SpatialRelation::Touch(contact) => touch_back(contact),
                same => same,
            };
            assert_eq!(other.relation_to(&one), back, "{:?}", other.rings);
        }
    }

    fn touch_back(contact: Contact) -> SpatialRelation {
        SpatialRelation::Touch(Contact { free: (contact.free.1, contact.free.0), ..contact })
    }

    /// A country in another: its whole border is the other's hole.
    #[test]
    fn an_enclave_touches_and_has_no_border_of_its_own() {
        let around = polygon(&[square(0, 0, 30), square(10, 10, 10)]);
        let enclave = polygon(&[square(10, 10, 10)]);
        assert_eq!(around.relation_to(&enclave), touch(40, (true, false)));
        assert_eq!(around.relation_to(&polygon(&[square(12, 12, 2)])), SpatialRelation::Apart);
        assert_eq!(around.relation_to(&polygon(&[square(5, 5, 20)])), SpatialRelation::Overlap);
        assert_eq!((around.twice_area(), around.perimeter()), (2 * 800, Fixed::whole_number(160)));
        assert_eq!(around.side_of(doubled(pt(15, 15))), PlaneSide::Outside);
        assert_eq!(around.side_of(pt(19, 30)), PlaneSide::Inside, "at 9.5, 15");
    }

    #[test]
    fn what_is_no_polygon_is_refused() {
        assert_eq!(check(&[ring(&[(0, 0), (9, 9), (9, 0), (0, 9)])]), Err(ShapeFlaw::Invalid), "a bow-tie");
        assert_eq!(check(&with_hole(40, 0, 5)), Err(ShapeFlaw::Invalid), "a hole outside");
        assert_eq!(
            check(&[square(0, 0, 30), square(5, 5, 20), square(10, 10, 5)]),
            Err(ShapeFlaw::Invalid),
            "a hole in a hole"
        );
        assert_eq!(check(&with_hole(0, 10, 5)), Err(ShapeFlaw::Touching));
        assert_eq!(check(&[ring(&[(0, 0), (9, 9)])]), Err(ShapeFlaw::Flat));
        assert_eq!(check(&[square(0, 0, 30), ring(&[(5, 5), (9, 9)])]), Ok(()), "the hole is none");
        assert_eq!(check(&with_hole(10, 10, 5)), Ok(()));
    }

    fn with_hole(x: i64, y: i64, side: i64) -> [Vec<Pt>; 2] {
        [square(0, 0, 30), square(x, y, side)]
    }

    fn check(rings: &[Vec<Pt>]) -> Result<(), ShapeFlaw> {
        Polygon::new(rings.to_vec()).map(|_| ())
    }

    #[test]
    fn lines_are_clipped_with_the_border() {
        let around = polygon(&[square(0, 0, 30), square(10, 10, 10)]);
        for (a, b, expected) in [
            ((-5, 5), (35, 5), 30.0),
            ((-5, 15), (35, 15), 20.0),
            ((0, 0), (30, 30), 20.0 * 2.0_f64.sqrt()),
            ((-5, 30), (35, 30), 30.0),
            ((5, 10), (25, 10), 20.0),
            ((12, 12), (18, 18), 0.0),
            ((40, 0), (50, 0), 0.0),
        ] {
            let clipped = around.clipped_length((pt(a.0, a.1), pt(b.0, b.1)));
            assert!((clipped - expected).abs() < 1e-12, "{a:?} {b:?}: {clipped}");
        }
    }

    proptest! {
        /// Strips find what checking every edge finds; a line through two polygons that share an edge is as long as
        /// both parts.
        #[test]
        fn strips_and_clips_agree_with_plainer_ways(
            raw in proptest::collection::vec((0_i64..200, 0_i64..200), 3..12),
            probe in (0_i64..400, 0_i64..400),
            line in ((0_i64..200, 0_i64..200), (0_i64..200, 0_i64..200)),
        ) {
            let border = ring(&raw);
            let Ok(polygon) = Polygon::new(vec![border.clone()]) else { return Ok(()) };
            let twice: Vec<Pt> = border.iter().copied().map(doubled).collect();
            let p = pt(probe.0, probe.1);
            prop_assert_eq!(polygon.side_of(p), super::super::super::exact::side_of(&twice, p));
            let (a, b) = (pt(line.0.0, line.0.1), pt(line.1.0, line.1.1));
            prop_assume!(a != b);
            // In pieces so small that each is inside or outside but for a few.
            let long = (distance_squared(a, b) as f64).sqrt();
            let parts = 4_000;
            let inside = (0..parts).filter(|part| {
                let t = (f64::from(*part) + 0.5) / f64::from(parts);
                polygon.contains(a.x as f64 + t * (b.x - a.x) as f64, a.y as f64 + t * (b.y - a.y) as f64)
            });
            let expected = long * inside.count() as f64 / f64::from(parts);
            let on_border = segments_of(&border).any(|edge| share_a_stretch(edge, (a, b)));
            prop_assert!(on_border || (polygon.clipped_length((a, b)) - expected).abs() <= long * 24.0 / f64::from(parts));
        }
    }
}
