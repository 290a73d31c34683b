//! Whether a series that grows by a point a night has moved: levels found in hindsight, and a test of the newest nights.

use crate::moments::mean;
use crate::special::{normal_two_sided, student_t_quantile, student_t_two_sided};
use crate::steady::change_points_of_levels;

/// Fewest nights that a level lasts before it is believed.
pub const LEAST_LEVEL: usize = 3;

/// Nights in which all rows together raise one false suspicion on average, each series being on its level.
pub const NIGHTS_PER_FALSE_SUSPICION: f64 = 200.0;

/// Largest p, times the number of rows, at which a change that was found in hindsight is believed.
const BELIEVED_P: f64 = 1e-4;

/// Half the step, in standard deviations of a night, that the test of the newest nights finds soonest.
const REFERENCE: f64 = 1.5;

/// Smallest distance, in logarithms, that counts against a level of identical nights, which have no deviation.
const LEAST_STEP: f64 = 0.000_999;

/// Share of the limit that a single night can add, so that one night never suffices and two do.
const MOST_OF_LIMIT: f64 = 0.6;

/// Mean overshoot of a normal random walk over a limit, as in Siegmund's formula.
const OVERSHOOT: f64 = 1.166;

/// Which way a series left its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

/// Nights at the end of a series that have left its level and are too few to be one of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Suspicion {
    /// Index of the first of them.
    pub since: usize,
    pub way: Way,
}

/// A series as it is seen after its last night.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Levels {
    /// First index of each level but the first, ascending; each level lasts at least [`LEAST_LEVEL`] nights.
    pub changes: Vec<usize>,
    pub suspicion: Option<Suspicion>,
}

/// Splits a series of nightly values, such as log ratios, into levels, and tests the nights since the last change.
///
/// Levels come from two methods. In hindsight [`change_points_of_levels`] finds them, and Student's test has to agree. As the nights
/// came, a self-starting CUSUM (Hawkins, "Self-starting CUSUM charts for location and scale", The Statistician 36, 1987) finds large
/// steps within few nights: each night's distance from the mean of its level so far, in units of all earlier nights' deviation, is
/// Student's t, and is made normal. A level is tested from its fourth night on. Its sums take at most 0.6 of their limit from a night
/// (Lucas & Crosier, "Robust CUSUM", Communications in Statistics 11, 1982), so that a single bad night never suffices. From a level
/// of identical nights any step of 0.1 % counts that much. The limit follows from `rows`, the number of series that are watched
/// together, and [`NIGHTS_PER_FALSE_SUSPICION`], by Siegmund's formula ("Sequential Analysis", 1985). What the sums find is a
/// suspicion until it has lasted [`LEAST_LEVEL`] nights, and then a level.
pub fn find_levels(nights: &[f64], rows: usize) -> Levels {
    let hindsight = keep_significant(nights, change_points_of_levels(nights, LEAST_LEVEL, rows), rows);
    Watch::new(limit_for_rows(rows)).follow(nights, hindsight)
}

/// Removes changes, the least sure first, until Student's test believes all that are left.
/// The deviation is that within all levels. A change is believed at p <= 0.0001 over the number of rows.
fn keep_significant(nights: &[f64], mut changes: Vec<usize>, rows: usize) -> Vec<usize> {
    while !changes.is_empty() {
        let ends: Vec<usize> = changes.iter().copied().chain([nights.len()]).collect();
        let starts: Vec<usize> = std::iter::once(0).chain(changes.iter().copied()).collect();
        let levels: Vec<&[f64]> = starts.iter().zip(&ends).map(|(&from, &to)| &nights[from..to]).collect();
        let squares: f64 = levels.iter().map(|level| sum_of_squares(level)).sum();
        let freedom = (nights.len() - levels.len()) as f64;
        let doubts = levels.windows(2).map(|pair| {
            let widths: f64 = pair.iter().map(|level| 1.0 / level.len() as f64).sum();
            let t = (mean(pair[1]) - mean(pair[0])) / (squares / freedom * widths).sqrt();
            student_t_two_sided(t, freedom)
        });
        let Some((worst, p)) = doubts.enumerate().max_by(|(_, one), (_, other)| one.total_cmp(other)) else { break };
        if p <= BELIEVED_P / rows.max(1) as f64 {
            break;
        }
        changes.remove(worst);
    }
    changes
}

/// Adds the squared distances from the mean.
fn sum_of_squares(values: &[f64]) -> f64 {
    let centre = mean(values);
    values.iter().map(|value| (value - centre).powi(2)).sum()
}

/// The CUSUM as it stands after a night.
#[derive(Debug, Clone, Copy)]
struct Watch {
    limit: f64,
    /// The most that a night's distance counts, in standard deviations, and its two-sided p.
    most: f64,
    most_p: f64,
    level: Mean,
    /// Squared distances of nights from their level's mean, over all levels.
    deviation: Mean,
    sums: [Sum; 2],
}

impl Watch {
    fn new(limit: f64) -> Watch {
        let most = REFERENCE + MOST_OF_LIMIT * limit;
        let (level, deviation, sums) = (Mean::default(), Mean::default(), [Sum::default(); 2]);
        Watch { limit, most, most_p: normal_two_sided(most), level, deviation, sums }
    }

    /// Goes through the nights, begins again at each change, and adds the changes that the sums find.
    fn follow(mut self, nights: &[f64], mut changes: Vec<usize>) -> Levels {
        // What was known before each night, to go back to.
        let mut before: Vec<Watch> = Vec::with_capacity(nights.len());
        let mut index = 0;
        while index < nights.len() {
            if changes.contains(&index) {
                self.level = Mean::default();
                self.sums = [Sum::default(); 2];
            }
            before.push(self);
            self.add_night(nights[index], index);
            index += 1;
            let Some(found) = self.suspicion() else { continue };
            let next = changes.iter().copied().find(|change| *change > found.since).unwrap_or(nights.len());
            if index - found.since >= LEAST_LEVEL && next - found.since >= LEAST_LEVEL {
                changes.push(found.since);
                changes.sort_unstable();
                self = before[found.since];
                before.truncate(found.since);
                index = found.since;
            }
        }
        Levels { changes, suspicion: self.suspicion() }
    }

    /// Takes a night into level, deviation and sums.
    fn add_night(&mut self, value: f64, index: usize) {
        if self.level.n == 0.0 {
            return self.level.add(value);
        }
        let widening = (1.0 + 1.0 / self.level.n).sqrt();
        let mut residual = (value - self.level.mean) / widening;
        let spread = self.deviation.mean.sqrt();
        if spread > 0.0 && self.level.n >= LEAST_LEVEL as f64 {
            let p = student_t_two_sided(residual / spread, self.deviation.n);
            let distance = if p < self.most_p { self.most } else { normal_distance(p) };
            if p < self.most_p {
                let farthest = student_t_quantile(1.0 - self.most_p / 2.0, self.deviation.n);
                residual = residual.signum() * spread * farthest;
            }
            self.add_distance(residual.signum() * distance, index);
        } else if self.level.n >= LEAST_LEVEL as f64 {
            if residual.abs() * widening >= LEAST_STEP {
                self.add_distance(residual.signum() * self.most, index);
                residual = 0.0;
            } else {
                self.sums = [Sum::default(); 2];
            }
        }
        self.deviation.add(residual * residual);
        self.level.add(self.level.mean + residual * widening);
    }

    /// Takes a night's distance from its level, in standard deviations, into both sums.
    fn add_distance(&mut self, distance: f64, index: usize) {
        self.sums[0].add(distance, index);
        self.sums[1].add(-distance, index);
    }

    /// The suspicion after the last night, if one of the sums is beyond its limit.
    fn suspicion(&self) -> Option<Suspicion> {
        let [up, down] = self.sums;
        let mut sums = [(up, Way::Up), (down, Way::Down)].into_iter();
        sums.find(|(sum, _)| sum.height > self.limit).map(|(sum, way)| Suspicion { since: sum.since, way })
    }
}

/// A mean that grows by a value at a time.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    n: f64,
    mean: f64,
}

impl Mean {
    fn add(&mut self, value: f64) {
        self.n += 1.0;
        self.mean += (value - self.mean) / self.n;
    }
}

/// One side of a CUSUM, and the night on which it last left 0.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    height: f64,
    since: usize,
}

impl Sum {
    fn add(&mut self, distance: f64, index: usize) {
        if self.height <= 0.0 {
            self.since = index;
        }
        self.height = (self.height + distance - REFERENCE).max(0.0);
    }
}

/// Finds the limit at which one of the two sums of `rows` series is crossed by chance once in [`NIGHTS_PER_FALSE_SUSPICION`].
fn limit_for_rows(rows: usize) -> f64 {
    let nights = 2.0 * NIGHTS_PER_FALSE_SUSPICION * rows.max(1) as f64;
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if mean_nights_to_cross(middle) < nights { low = middle } else { high = middle }
    }
    high
}

/// Gives the mean number of steady nights until a one-sided CUSUM crosses a limit (Siegmund 1985, formula 2.57).
fn mean_nights_to_cross(limit: f64) -> f64 {
    let height = 2.0 * REFERENCE * (limit + OVERSHOOT);
    (height.exp() - height - 1.0) / (2.0 * REFERENCE * REFERENCE)
}

/// Finds the z of a standard normal variable whose two-sided tail is `p`, by Newton's method on the logarithm of the tail.
fn normal_distance(p: f64) -> f64 {
    let mut z = (-2.0 * p.ln()).max(0.0).sqrt();
    for _ in 0..20 {
        let tail = normal_two_sided(z);
        let density = 2.0 * (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let step = (tail / p).ln() * tail / density;
        z = (z + step).max(0.0);
        if step.abs() < 1e-12 {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn draw_normal(rng: &mut Rng) -> f64 {
        let (u, v) = (1.0 - rng.next_f64(), rng.next_f64());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// What a series says after each of its nights: whether it is suspicious, and whether it has a change.
    fn seen_nightly(nights: &[f64], rows: usize) -> Vec<(bool, bool)> {
        let found = (1..=nights.len()).map(|n| find_levels(&nights[..n], rows));
        found.map(|found| (found.suspicion.is_some(), !found.changes.is_empty())).collect()
    }

    /// False beginnings in 100 steady nights of all rows, on average: of suspicions, and of changes.
    fn false_beginnings(rows: usize, histories: usize, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut suspicions, mut changes) = (0, 0);
        for _ in 0..histories * rows {
            let nights: Vec<f64> = (0..100).map(|_| draw()).collect();
            let seen = seen_nightly(&nights, rows);
            suspicions += seen.windows(2).filter(|pair| pair[1].0 && !pair[0].0).count();
            changes += usize::from(seen.iter().any(|(_, changed)| *changed));
        }
        (suspicions as f64 / histories as f64, changes as f64 / histories as f64)
    }

    /// The bar is 1 false alarm in 100 nights of all rows together.
    #[test]
    fn steady_nights_are_rarely_suspicious() {
        let mut rng = Rng::new(5);
        for (rows, histories) in [(1, 200), (20, 10)] {
            let (suspicions, changes) = false_beginnings(rows, histories, || draw_normal(&mut rng));
            assert!(suspicions <= 0.35 && changes <= 0.25, "{rows} rows: {suspicions} and {changes} in 100 nights");
        }
        // Student's t with 4 degrees of freedom: nights with outliers.
        let mut draw =
            || draw_normal(&mut rng) / ((0..4).map(|_| draw_normal(&mut rng).powi(2)).sum::<f64>() / 4.0).sqrt();
        let (suspicions, changes) = false_beginnings(1, 200, &mut draw);
        assert!(suspicions <= 0.5 && changes <= 0.5, "outliers: {suspicions} and {changes} in 100 nights");
    }

    #[test]
    fn a_step_is_found_within_two_nights() {
        let mut rng = Rng::new(6);
        for (rows, step, at, least) in [(1, 5.0, 20, 190), (1, 4.5, 50, 184), (20, 5.0, 50, 185)] {
            let (mut found, mut kept) = (0, 0);
            for sign in (0..200).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }) {
                let nights: Vec<f64> =
                    (0..at + 40).map(|i| draw_normal(&mut rng) + if i >= at { sign * step } else { 0.0 }).collect();
                let seen = find_levels(&nights[..at + 2], rows);
                // A night before the step may have begun the level of three.
                let is_level = seen.changes.last().is_some_and(|change| *change + 1 == at);
                let way = if sign > 0.0 { Way::Up } else { Way::Down };
                found += usize::from(is_level || seen.suspicion.is_some_and(|suspicion| suspicion.way == way));
                let is_change = |n: usize| find_levels(&nights[..n], rows).changes.iter().any(|c| c.abs_diff(at) <= 1);
                kept += usize::from((at + 5..=at + 40).all(is_change));
            }
            assert!(
                found >= least && kept >= least,
                "{step} at {at} of {rows} rows: {found} found, {kept} kept of 200"
            );
        }
    }

    #[test]
    fn a_single_bad_night_never_suffices() {
        let mut rng = Rng::new(7);
        for size in [6.0, 40.0, 1e6] {
            for _ in 0..100 {
                let mut nights: Vec<f64> = (0..31).map(|_| draw_normal(&mut rng).clamp(-1.4, 1.4)).collect();
                nights[30] = size;
                let seen = find_levels(&nights, 1);
                assert_eq!((seen.suspicion, seen.changes), (None, Vec::new()), "{size}");
                nights.push(0.1);
                assert_eq!(find_levels(&nights, 1), Levels::default(), "{size} and back");
            }
        }
    }

    #[test]
    fn small_steps_are_found_in_hindsight() {
        let mut rng = Rng::new(8);
        let mut found = 0;
        for _ in 0..100 {
            let nights: Vec<f64> = (0..80).map(|i| draw_normal(&mut rng) + if i >= 40 { 1.8 } else { 0.0 }).collect();
            found += usize::from(find_levels(&nights, 1).changes.iter().any(|change| change.abs_diff(40) <= 4));
        }
        assert!(found >= 85, "{found} of 100");
    }

    #[test]
    fn identical_nights_are_left_by_three_that_differ() {
        let join = |parts: &[&[f64]]| parts.concat();
        for (nights, changes) in [
            (join(&[&[1.0; 10], &[0.9; 3]]), vec![10]),
            (join(&[&[1.0; 3], &[0.9; 3]]), vec![3]),
            (join(&[&[1.0; 10], &[1.0011, 1.0013, 1.0012]]), vec![10]),
            (join(&[&[1.0; 10], &[0.9; 5], &[1.0; 4]]), vec![10, 15]),
            (join(&[&[1.0; 10], &[1.000_5; 3]]), vec![]),
            (join(&[&[1.0; 10], &[0.9], &[1.0; 2], &[0.9; 2], &[1.0; 3]]), vec![]),
        ] {
            assert_eq!(find_levels(&nights, 3).changes, changes, "{nights:?}");
        }
        let two = find_levels(&join(&[&[1.0; 10], &[0.9; 2]]), 3);
        assert_eq!(two, Levels { changes: vec![], suspicion: Some(Suspicion { since: 10, way: Way::Down }) });
    }

    #[test]
    fn equal_nights_and_few_nights_say_nothing() {
        assert_eq!(find_levels(&[0.5; 50], 3), Levels::default());
        assert_eq!(find_levels(&[0.1, 0.9], 1), Levels::default());
        assert_eq!(find_levels(&[], 1), Levels::default());
    }

    #[test]
    fn the_limit_grows_with_the_rows() {
        let limits = [1, 10, 100, 1_000].map(limit_for_rows);
        assert!(
            limits.windows(2).all(|pair| (pair[1] - pair[0] - 10f64.ln() / (2.0 * REFERENCE)).abs() < 0.05),
            "{limits:?}"
        );
        for z in [0.01, 0.5, 1.0, 2.0, 3.5] {
            assert!((normal_distance(normal_two_sided(z)) - z).abs() < 1e-9, "{z}");
        }
    }
}
