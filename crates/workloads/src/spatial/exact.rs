//! Geometry of whole coordinates without rounding: predicates in 64-bit and sums in 128-bit whole numbers.
//!
//! Coordinates are below 2^23 in size, so that a cross product of two differences is below 2^48 and fits everywhere.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Pt {
    pub(super) x: i64,
    pub(super) y: i64,
}

pub(super) type Segment = (Pt, Pt);

/// Makes a point.
pub(super) const fn pt(x: i64, y: i64) -> Pt {
    Pt { x, y }
}

/// Twice the signed area of the triangle `a b c`: positive if `c` is left of `a b`.
pub(super) fn cross_product(a: Pt, b: Pt, c: Pt) -> i64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

/// Squared distance of two points.
pub(super) fn distance_squared(a: Pt, b: Pt) -> i64 {
    (a.x - b.x).pow(2) + (a.y - b.y).pow(2)
}

/// Whether `p`, which is on the line through a segment, is on the segment.
fn is_between((a, b): Segment, p: Pt) -> bool {
    (a.x.min(b.x)..=a.x.max(b.x)).contains(&p.x) && (a.y.min(b.y)..=a.y.max(b.y)).contains(&p.y)
}

/// Whether a point is on a segment, the ends included.
pub(super) fn is_on_segment(segment: Segment, p: Pt) -> bool {
    is_between(segment, p) && cross_product(segment.0, segment.1, p) == 0
}

/// Whether two segments have more than a point in common.
pub(super) fn share_a_stretch((a, b): Segment, (c, d): Segment) -> bool {
    let along = |p: Pt| if a.x == b.x { p.y } else { p.x };
    let (from, to) = (along(a).min(along(b)), along(a).max(along(b)));
    let (first, last) = (along(c).min(along(d)), along(c).max(along(d)));
    cross_product(a, b, c) == 0 && cross_product(a, b, d) == 0 && from.max(first) < to.min(last)
}

/// Whether two segments have a point in common, their ends included.
pub(super) fn segments_meet(s: Segment, t: Segment) -> bool {
    if ranges_apart(s.0.x, s.1.x, t.0.x, t.1.x) || ranges_apart(s.0.y, s.1.y, t.0.y, t.1.y) {
        return false;
    }
    let (a, b) = (cross_product(s.0, s.1, t.0).signum(), cross_product(s.0, s.1, t.1).signum());
    let (c, d) = (cross_product(t.0, t.1, s.0).signum(), cross_product(t.0, t.1, s.1).signum());
    if a * b < 0 && c * d < 0 {
        return true;
    }
    is_on_segment(s, t.0) || is_on_segment(s, t.1) || is_on_segment(t, s.0) || is_on_segment(t, s.1)
}

/// Whether two ranges of numbers have nothing in common.
fn ranges_apart(a: i64, b: i64, c: i64, d: i64) -> bool {
    a.max(b) < c.min(d) || c.max(d) < a.min(b)
}

/// Lists the segments of a path; those of a ring if its last point is its first.
pub(super) fn segments_of(path: &[Pt]) -> impl Iterator<Item = Segment> + '_ {
    path.windows(2).map(|pair| (pair[0], pair[1]))
}

/// Whether a line neither crosses nor touches itself; its two ends may be one point (OGC 06-103r4, 6.1.6).
pub(super) fn is_simple(path: &[Pt]) -> bool {
    let all: Vec<Segment> = segments_of(path).collect();
    let closed = path.first() == path.last();
    for (i, s) in all.iter().enumerate() {
        for (j, t) in all.iter().enumerate().skip(i + 1) {
            let follows = j == i + 1 && s.1 == t.0;
            let closes = closed && i == 0 && j == all.len() - 1;
            let shared = match (follows, closes) {
                (true, _) => Some((s.1, s.0, t.1)),
                (_, true) => Some((s.0, s.1, t.0)),
                _ => None,
            };
            let bad = match shared {
                // Neighbours share one point, and more only if one lies back on the other.
                Some((_, a, b)) => is_on_segment(*t, a) || is_on_segment(*s, b),
                None => segments_meet(*s, *t),
            };
            if bad {
                return false;
            }
        }
    }
    true
}

/// Where a point is in relation to a polygon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaneSide {
    Inside,
    Boundary,
    Outside,
}

/// Where a point is in relation to a ring: inside, outside or on it.
pub(super) fn side_of(ring: &[Pt], p: Pt) -> PlaneSide {
    let mut inside = false;
    for (a, b) in segments_of(ring) {
        if is_on_segment((a, b), p) {
            return PlaneSide::Boundary;
        }
        if (a.y > p.y) != (b.y > p.y) {
            // The crossing is right of the point if the point is left of the segment as it rises.
            let left = cross_product(a, b, p) > 0;
            if left == (b.y > a.y) {
                inside = !inside;
            }
        }
    }
    if inside { PlaneSide::Inside } else { PlaneSide::Outside }
}

/// Twice the signed area of a ring, by the shoelace formula relative to its first point.
pub(super) fn twice_area(ring: &[Pt]) -> i128 {
    let Some(&origin) = ring.first() else { return 0 };
    segments_of(ring).map(|(a, b)| i128::from(cross_product(origin, a, b))).sum()
}

/// The convex hull as a closed ring, counter-clockwise (Andrew's monotone chain, 1979).
pub(super) fn convex_hull(points: &[Pt]) -> Vec<Pt> {
    let mut sorted = points.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut ring = half_hull(&mut sorted.iter().copied());
    let upper = half_hull(&mut sorted.iter().rev().copied());
    ring.extend(upper.into_iter().skip(1));
    ring
}

/// One border of the convex hull of points that come in order.
fn half_hull(points: &mut dyn Iterator<Item = Pt>) -> Vec<Pt> {
    let mut chain: Vec<Pt> = Vec::new();
    for p in points {
        while chain.len() >= 2 && cross_product(chain[chain.len() - 2], chain[chain.len() - 1], p) <= 0 {
            chain.pop();
        }
        chain.push(p);
    }
    chain
}

/// A sum of square roots and fractions in units of 2^-40.
///
/// Each term is rounded down once, so a sum of `n` terms is at most `n` · 2^-40 (n · 9·10⁻¹³) too small: thirteen
/// digits are right for terms of hundreds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fixed(i128);

const FRACTION_BITS: u32 = 40;

impl Fixed {
    /// Square root of a whole number below 2^47, rounded down.
    pub(super) fn square_root(square: i64) -> Fixed {
        Fixed(((square.max(0) as u128) << (2 * FRACTION_BITS)).isqrt() as i128)
    }

    /// Quotient of two whole numbers, of which the numerator is below 2^87, rounded down.
    pub(super) fn fraction(numerator: i128, denominator: i128) -> Fixed {
        Fixed((numerator << FRACTION_BITS).div_euclid(denominator))
    }

    /// Makes a whole number.
    pub(super) fn whole_number(value: i128) -> Fixed {
        Fixed(value << FRACTION_BITS)
    }

    /// Square root of two, multiplied by a whole number.
    pub(super) fn times_root_two(times: i128) -> Fixed {
        let square = (times * times * 2) as u128;
        // As many bits of fraction as there is room for.
        let spare = (square.leading_zeros() / 2).min(FRACTION_BITS);
        Fixed(((square << (2 * spare)).isqrt() as i128) << (FRACTION_BITS - spare))
    }

    /// Nearest floating-point number.
    pub(super) fn to_f64(self) -> f64 {
        self.0 as f64 / (1_u64 << FRACTION_BITS) as f64
    }
}

impl Add for Fixed {
    type Output = Fixed;

    fn add(self, other: Fixed) -> Fixed {
        Fixed(self.0 + other.0)
    }
}

impl Sub for Fixed {
    type Output = Fixed;

    fn sub(self, other: Fixed) -> Fixed {
        Fixed(self.0 - other.0)
    }
}

impl AddAssign for Fixed {
    fn add_assign(&mut self, other: Fixed) {
        self.0 += other.0;
    }
}

impl Sum for Fixed {
    fn sum<I: Iterator<Item = Fixed>>(terms: I) -> Fixed {
        terms.fold(Fixed::default(), Add::add)
    }
}

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_f64().fmt(f)
    }
}

/// Length of a path.
pub(super) fn path_length(path: &[Pt]) -> Fixed {
    segments_of(path).map(|(a, b)| Fixed::square_root(distance_squared(a, b))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SQUARE: [Pt; 5] = [pt(0, 0), pt(10, 0), pt(10, 10), pt(0, 10), pt(0, 0)];

    #[test]
    fn a_square_is_a_square() {
        assert_eq!(twice_area(&SQUARE), 200);
        assert_eq!(path_length(&SQUARE), Fixed::whole_number(40));
        assert_eq!(side_of(&SQUARE, pt(5, 5)), PlaneSide::Inside);
        assert_eq!(side_of(&SQUARE, pt(10, 3)), PlaneSide::Boundary);
        assert_eq!(side_of(&SQUARE, pt(0, 0)), PlaneSide::Boundary);
        assert_eq!(side_of(&SQUARE, pt(11, 10)), PlaneSide::Outside);
        assert!(is_simple(&SQUARE));
        let bow_tie = [pt(0, 0), pt(10, 10), pt(10, 0), pt(0, 10), pt(0, 0)];
        assert!(!is_simple(&bow_tie));
        assert_eq!(convex_hull(&[pt(5, 5), pt(0, 0), pt(10, 0), pt(5, 0), pt(10, 10), pt(0, 10)]), SQUARE);
    }

    #[test]
    fn lines_that_turn_back_touch_or_cross_are_not_simple() {
        assert!(is_simple(&[pt(0, 0), pt(5, 0), pt(9, 0), pt(9, 9)]));
        assert!(!is_simple(&[pt(0, 0), pt(5, 0), pt(3, 0)]), "back on itself");
        assert!(!is_simple(&[pt(0, 0), pt(9, 0), pt(9, 9), pt(4, 9), pt(4, 0)]), "its end on its middle");
        assert!(is_simple(&[pt(0, 0), pt(9, 0), pt(9, 9), pt(0, 0)]), "its end on its start");
        assert!(!is_simple(&[pt(0, 0), pt(9, 0), pt(9, 9), pt(4, 0), pt(0, 0)]), "the last segment on the first");
    }

    #[test]
    fn segments_meet_where_they_touch() {
        let s = (pt(0, 0), pt(10, 0));
        for (t, expected) in [
            ((pt(5, -1), pt(5, 1)), true),
            ((pt(5, 0), pt(5, 9)), true),
            ((pt(10, 0), pt(20, 5)), true),
            ((pt(3, 0), pt(30, 0)), true),
            ((pt(11, 0), pt(30, 0)), false),
            ((pt(5, 1), pt(5, 9)), false),
            ((pt(0, 1), pt(9, 1)), false),
        ] {
            assert_eq!(segments_meet(s, t), expected, "{t:?}");
            assert_eq!(segments_meet(t, s), expected, "{t:?}");
        }
    }

    proptest! {
        #[test]
        fn roots_and_fractions_are_right_to_twelve_digits(n in 0_i64..1 << 46, d in 1_i64..1 << 30) {
            let near = |fixed: Fixed, real: f64| (fixed.to_f64() - real).abs() <= 1e-12 + real.abs() * 1e-15;
            prop_assert!(near(Fixed::square_root(n), (n as f64).sqrt()));
            prop_assert!(near(Fixed::fraction(n.into(), d.into()), n as f64 / d as f64));
            prop_assert!((Fixed::times_root_two(n.into()).to_f64() - n as f64 * 2_f64.sqrt()).abs() <= 1e-15 * n as f64 + 1e-9);
        }

        /// The area, the hull and what is inside do not depend on where a ring begins.
        #[test]
        fn a_ring_is_the_same_from_any_of_its_points(
            raw in proptest::collection::vec((-1000_i64..1000, -1000_i64..1000), 4..20),
            turn in 0_usize..20,
            probe in (-1000_i64..1000, -1000_i64..1000),
        ) {
            let points: Vec<Pt> = raw.iter().map(|&(x, y)| pt(x, y)).collect();
            let closed = |points: &[Pt]| [points, &points[..1]].concat();
            let mut turned = points.clone();
            turned.rotate_left(turn % points.len());
            let (a, b) = (closed(&points), closed(&turned));
            prop_assert_eq!(twice_area(&a), twice_area(&b));
            prop_assert_eq!(convex_hull(&a), convex_hull(&b));
            prop_assert!(twice_area(&convex_hull(&a)) >= twice_area(&a).abs() || !is_simple(&a));
            prop_assert_eq!(side_of(&a, pt(probe.0, probe.1)), side_of(&b, pt(probe.0, probe.1)));
        }
    }
}
