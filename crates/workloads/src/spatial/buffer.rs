//! Area of a buffered line, from first principles.
//!
//! GEOS and its users approximate the joins and ends of a buffer by straight segments, a fixed number to a quarter circle.
//! Roads run and turn in multiples of 45°, so with 8 segments a quarter (11.25° each) the buffer of a segment is its
//! Minkowski sum with a regular 32-gon, and the buffer of a road is their union: one well-defined area. It is computed
//! by cutting each union into vertical slabs at every corner and crossing. Between two cuts the covered height is
//! linear, so the middle of a slab gives its area exactly, up to rounding.

use super::exact::{Pt, segments_of};

/// A point in floating point, relative to the road's first.
type Real = (f64, f64);

/// A convex polygon as its lower and its upper border, from left to right.
struct Convex {
    lower: Vec<Real>,
    upper: Vec<Real>,
}

/// Area of all points that are not further than `radius` from a line.
///
/// A circle is the regular polygon with `corners` corners (a multiple of 8, one of them in the east).
pub(super) fn buffer_area(path: &[Pt], radius: f64, corners: u32) -> f64 {
    let Some(&origin) = path.first() else { return 0.0 };
    let circle: Vec<Real> = (0..corners)
        .map(|k| {
            let angle = std::f64::consts::TAU * f64::from(k) / f64::from(corners);
            (radius * angle.cos(), radius * angle.sin())
        })
        .collect();
    let real = |p: Pt| ((p.x - origin.x) as f64, (p.y - origin.y) as f64);
    let parts: Vec<Convex> = segments_of(path)
        .map(|(a, b)| {
            let around = |p: Pt| circle.iter().map(move |c| (real(p).0 + c.0, real(p).1 + c.1));
            Convex::hull_of(around(a).chain(around(b)).collect())
        })
        .collect();
    union_area(&parts)
}

/// Twice the signed area of the triangle `a b c`: positive where the path turns left.
fn turn(a: Real, b: Real, c: Real) -> f64 {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0)
}

impl Convex {
    /// Makes the convex hull of points.
    fn hull_of(mut points: Vec<Real>) -> Convex {
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let chain = |sign: f64| {
            let mut chain: Vec<Real> = Vec::new();
            for &p in &points {
                while chain.len() >= 2 && sign * turn(chain[chain.len() - 2], chain[chain.len() - 1], p) <= 0.0 {
                    chain.pop();
                }
                chain.push(p);
            }
            chain
        };
        Convex { lower: chain(1.0), upper: chain(-1.0) }
    }

    /// Smallest x of the polygon.
    fn left_x(&self) -> f64 {
        self.lower[0].0
    }

    /// Largest x of the polygon.
    fn right_x(&self) -> f64 {
        self.lower[self.lower.len() - 1].0
    }

    /// Edges of the lower and the upper border.
    fn edges(&self) -> impl Iterator<Item = (Real, Real)> + '_ {
        [&self.lower, &self.upper].into_iter().flat_map(|border| border.windows(2).map(|pair| (pair[0], pair[1])))
    }
}

/// Height of a border at `x`, which is between its ends.
fn border_height(border: &[Real], x: f64) -> f64 {
    let after = border.partition_point(|p| p.0 <= x).clamp(1, border.len() - 1);
    let (a, b) = (border[after - 1], border[after]);
    if b.0 == a.0 { a.1 } else { a.1 + (b.1 - a.1) * ((x - a.0) / (b.0 - a.0)) }
}

/// Lists each x, in order, at which the covered height of a union may bend: corners and crossings.
fn bend_positions(parts: &[Convex]) -> Vec<f64> {
    let mut cuts: Vec<f64> =
        parts.iter().flat_map(|part| part.edges().map(|(a, _)| a.0).chain([part.right_x()])).collect();
    for (n, one) in parts.iter().enumerate() {
        for other in &parts[n + 1..] {
            if one.right_x() < other.left_x() || other.right_x() < one.left_x() {
                continue;
            }
            for s in one.edges() {
                for border in [&other.lower, &other.upper] {
                    // A border runs from left to right, so that those of its edges that lie under or over `s` are few.
                    let from = border.partition_point(|p| p.0 < s.0.0).saturating_sub(1);
                    let near = border[from..].windows(2).take_while(|t| t[0].0 <= s.1.0);
                    cuts.extend(near.filter_map(|t| crossing_x(s, (t[0], t[1]))));
                }
            }
        }
    }
    cuts.sort_by(f64::total_cmp);
    cuts.dedup();
    cuts
}

/// The x of the point in which two edges cross; `None` if they do not.
fn crossing_x((a, b): (Real, Real), (c, d): (Real, Real)) -> Option<f64> {
    if b.0 < c.0 || d.0 < a.0 || a.1.max(b.1) < c.1.min(d.1) || c.1.max(d.1) < a.1.min(b.1) {
        return None;
    }
    let (from, to) = (turn(c, d, a), turn(c, d, b));
    let (other_from, other_to) = (turn(a, b, c), turn(a, b, d));
    let cross = from * to < 0.0 && other_from * other_to < 0.0;
    cross.then(|| a.0 + (b.0 - a.0) * (from / (from - to)))
}

/// Area of the union of convex polygons, by vertical slabs.
fn union_area(parts: &[Convex]) -> f64 {
    let cuts = bend_positions(parts);
    let mut area = 0.0;
    let mut covered: Vec<Real> = Vec::new();
    for slab in cuts.windows(2) {
        let middle = f64::midpoint(slab[0], slab[1]);
        covered.clear();
        let here = parts.iter().filter(|part| part.left_x() < middle && middle < part.right_x());
        covered.extend(here.map(|part| (border_height(&part.lower, middle), border_height(&part.upper, middle))));
        covered.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut top = f64::NEG_INFINITY;
        let mut sum = 0.0;
        for &(low, high) in &covered {
            sum += (high - low.max(top)).max(0.0);
            top = top.max(high);
        }
        area += sum * (slab[1] - slab[0]);
    }
    area
}

#[cfg(test)]
mod tests {
    use super::super::exact::pt;
    use super::*;

    /// The area of a regular polygon with 32 corners and radius 1.
    fn disc() -> f64 {
        16.0 * (std::f64::consts::TAU / 32.0).sin()
    }

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12 * b.abs()
    }

    #[test]
    fn a_straight_line_is_a_rectangle_with_round_ends() {
        let expected = 1000.0 * 400.0 + disc() * 200.0 * 200.0;
        assert!(near(buffer_area(&[pt(7, 7), pt(1007, 7)], 200.0, 32), expected));
        assert!(near(buffer_area(&[pt(7, 7), pt(507, 7), pt(1007, 7)], 200.0, 32), expected), "in two parts");
        assert!(near(buffer_area(&[pt(0, 0), pt(0, 1000)], 200.0, 32), expected), "upright");
        let slanted = 1000.0 * 2_f64.sqrt() * 400.0 + disc() * 40_000.0;
        assert!(near(buffer_area(&[pt(0, 0), pt(1000, -1000)], 200.0, 32), slanted));
    }

    #[test]
    fn a_right_angle_and_a_crossing_count_the_overlap_once() {
        // Two arms that overlap in a quarter of the square outside which a quarter of the disc fills the corner.
        let arms = 2.0 * 1000.0 * 400.0 - 200.0 * 200.0 + 0.25 * disc() * 40_000.0 + disc() * 40_000.0;
        assert!(near(buffer_area(&[pt(0, 0), pt(1000, 0), pt(1000, 1000)], 200.0, 32), arms));
        // A figure of eight around a crossing: both strokes less the square that they share, plus the far loop.
        let loops = [pt(0, 0), pt(4000, 0), pt(4000, 4000), pt(2000, 4000), pt(2000, -2000)];
        let far_apart =
            buffer_area(&[pt(0, 0), pt(4000, 0), pt(4000, 4000), pt(2000, 4000), pt(2000, 1000)], 200.0, 32);
        let rest = buffer_area(&[pt(2000, 1000), pt(2000, -2000)], 200.0, 32) - disc() * 40_000.0 - 400.0 * 400.0;
        assert!(near(buffer_area(&loops, 200.0, 32), far_apart + rest), "{}", buffer_area(&loops, 200.0, 32));
    }

    #[test]
    fn more_corners_come_nearer_to_the_circle() {
        let path = [pt(0, 0), pt(700, 0), pt(1200, 500)];
        let [coarse, fine, finest] = [32, 128, 512].map(|corners| buffer_area(&path, 200.0, corners));
        assert!(coarse < fine && fine < finest);
        assert!((finest - coarse) / finest < 0.01);
    }
}
