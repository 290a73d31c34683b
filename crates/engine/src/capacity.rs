//! The highest rate at which a promise holds: a bracketing search of short runs.
//!
//! A closed loop shows what the system does at most. Below that, rates are tried that halve the bracket between the highest
//! that kept the promise and the lowest that did not. The rates lie on a grid that is drawn anew for each round and is the same
//! for all systems of it, so that systems that are alike are tried at the same rates.

use model::{LoadPoint, Promise};

/// From one rate of the grid to the next.
const STEP: f64 = 1.025;
/// Rates in a bracket, a power of two: from what a closed loop reached down to a twentieth of it.
const CELLS: i32 = 128;
/// Brackets end at every so-manieth rate.
const ALIKE: i32 = 4;
/// The first rate that is thought too high, over what a closed loop reached: short runs differ by so much.
const ABOVE: f64 = 1.05;

/// Points count for the knee whose 99th percentile is within this factor of the promised time.
const NEAR: f64 = 3.0;

/// Short runs by which a knee is found: the closed loop, and one for each halving.
pub const RUNS: u32 = 1 + CELLS.ilog2();

/// A search under way.
#[derive(Debug)]
pub struct Search {
    promise: Promise,
    /// What the grid is shifted by, a share of a step.
    phase: f64,
    /// The highest that is thought to keep the promise, and the lowest that is thought not to.
    bracket: (i32, i32),
    low: Option<LoadPoint>,
    high: Option<LoadPoint>,
    /// Tried at a rate.
    points: Vec<LoadPoint>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Operations a second.
    Rate(f64),
    /// The lowest that was tried.
    NoneKeeps(LoadPoint),
    /// The highest that was tried.
    AllKeep(LoadPoint),
}

impl Search {
    /// `reached` by a closed loop, in operations a second; `phase` in 0..1, the same for all that are compared.
    pub fn new(promise: Promise, reached: f64, phase: f64) -> Search {
        let index = ((reached * ABOVE).ln() / STEP.ln() - phase).ceil() as i32;
        let high = index + (ALIKE - index.rem_euclid(ALIKE)) % ALIKE;
        Search { promise, phase, bracket: (high - CELLS, high), low: None, high: None, points: Vec::new() }
    }

    fn rate_of(&self, index: i32) -> f64 {
        STEP.powf(f64::from(index) + self.phase)
    }

    /// The next rate to try, in operations a second; `None` once the search is over.
    pub fn next(&self) -> Option<f64> {
        let (low, high) = self.bracket;
        match (high - low, &self.low, &self.high) {
            (1, Some(_), None) => Some(self.rate_of(high)),
            (0 | 1, ..) => None,
            (cells, ..) => Some(self.rate_of(low + cells / 2)),
        }
    }

    /// What the rate that was next gave.
    pub fn take(&mut self, point: LoadPoint) {
        self.points.push(point.clone());
        let (low, high) = self.bracket;
        let is_kept = point.is_kept == Some(true);
        match (high - low, is_kept) {
            // The top itself was tried.
            (1, true) => (self.bracket, self.low) = ((high, high), Some(point)),
            (1, false) => self.high = Some(point),
            (cells, true) => (self.bracket, self.low) = ((low + cells / 2, high), Some(point)),
            (cells, false) => (self.bracket, self.high) = ((low, low + cells / 2), Some(point)),
        }
    }

    /// The highest that kept the promise.
    pub fn best(&self) -> Option<&LoadPoint> {
        self.low.as_ref()
    }

    /// The lowest that did not.
    pub fn worst(&self) -> Option<&LoadPoint> {
        self.high.as_ref()
    }

    /// `between` in 0..1 is drawn for the run alone: where nothing tells how far up the knee lies between two rates, chance
    /// does, so that the values of runs vary by as much as is not known.
    pub fn found(&self, between: f64) -> Option<Found> {
        match (&self.low, &self.high) {
            (Some(low), Some(high)) => {
                let (low, high) = (low.rate?, high.rate?);
                // A single short run is as far off as a step or two.
                let room = STEP.powi(2);
                let crossing = self.crossing().map(|rate| rate.clamp(low / room, high * room));
                Some(Found::Rate(crossing.unwrap_or_else(|| low * (high / low).powf(between))))
            }
            (None, Some(high)) => Some(Found::NoneKeeps(high.clone())),
            (Some(low), None) => Some(Found::AllKeep(low.clone())),
            (None, None) => None,
        }
    }

    /// Near saturation the share of a queue's responses beyond a time falls exponentially with it, at a pace that is
    /// proportional to the room that is left (Kingman, "The single server queue in heavy traffic", 1961): promised time over
    /// 99th percentile is a line over the rate, which crosses 1 at the knee. Weighted by equal relative errors.
    fn crossing(&self) -> Option<f64> {
        let promised_us = self.promise.response_p99.as_secs_f64() * 1e6;
        let near = self.points.iter().filter_map(|point| Some((point.rate?, promised_us / point.response_p99_us?)));
        let near: Vec<(f64, f64)> = near.filter(|(_, room)| (1.0 / NEAR..NEAR).contains(room)).collect();
        let weight = |room: f64| 1.0 / (room * room);
        let sum = |of: &dyn Fn(f64, f64) -> f64| near.iter().map(|(x, y)| weight(*y) * of(*x, *y)).sum::<f64>();
        let all = sum(&|_, _| 1.0);
        let (x, y) = (sum(&|x, _| x) / all, sum(&|_, y| y) / all);
        let slope = sum(&|own, room| (own - x) * (room - y)) / sum(&|own, _| (own - x) * (own - x));
        (near.len() >= 3 && slope < 0.0 && slope.is_finite()).then(|| x + (1.0 - y) / slope)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PROMISE: Promise = Promise { response_p99: Duration::from_millis(20), errors: 0.001 };

    /// A queue with one server and exponential times: 99 of 100 are answered within ln(100) / (most - rate).
    fn queue(most: f64, rate: f64) -> LoadPoint {
        let p99_us = if rate < most { 100.0_f64.ln() / (most - rate) * 1e6 } else { 1e9 };
        LoadPoint {
            rate: Some(rate),
            throughput: rate.min(most),
            response_p50_us: None,
            response_p99_us: Some(p99_us),
            late_share: 0.0,
            failed_share: 0.0,
            is_kept: Some(p99_us <= 20_000.0),
            is_client_saturated: false,
        }
    }

    fn search(reached: f64, phase: f64, answer: impl Fn(f64) -> LoadPoint) -> (Found, Vec<f64>) {
        let (mut search, mut tried) = (Search::new(PROMISE, reached, phase), Vec::new());
        while let Some(rate) = search.next() {
            tried.push(rate);
            search.take(answer(rate));
        }
        assert!(tried.len() as u32 <= RUNS && RUNS == 8, "{tried:?}");
        (search.found(0.5).unwrap(), tried)
    }

    #[test]
    fn a_known_knee_is_found() {
        let knee = 5_000.0 - 100.0_f64.ln() / 0.02;
        for step in 0..40 {
            let phase = f64::from(step) / 40.0;
            let (found, _) = search(4_900.0 + 5.0 * f64::from(step), phase, |rate| queue(5_000.0, rate));
            let Found::Rate(rate) = found else { panic!("{found:?}") };
            assert!((rate / knee - 1.0).abs() < 0.01, "{phase}: {rate} and {knee}");
        }
    }

    #[test]
    fn systems_that_are_alike_are_tried_at_the_same_rates() {
        let (_, one) = search(4_930.0, 0.3, |rate| queue(5_000.0, rate));
        let (_, other) = search(4_960.0, 0.3, |rate| queue(5_010.0, rate));
        assert_eq!(one, other);
        let (_, faster) = search(9_900.0, 0.3, |rate| queue(10_000.0, rate));
        let on_grid = |rate: &f64| ((rate / one[0]).ln() / STEP.ln()).fract().abs();
        assert!(faster.iter().all(|rate| on_grid(rate) < 1e-6 || on_grid(rate) > 1.0 - 1e-6), "{faster:?}");
    }

    #[test]
    fn a_promise_that_no_rate_keeps_and_one_that_every_rate_keeps_are_told() {
        let (none, tried) = search(5_000.0, 0.0, |rate| LoadPoint { is_kept: Some(false), ..queue(1.0, rate) });
        let least = tried.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(matches!(none, Found::NoneKeeps(point) if point.rate == Some(least) && least < 250.0));
        let (all, tried) = search(5_000.0, 0.0, |rate| queue(1e9, rate));
        let most = tried.iter().copied().fold(0.0, f64::max);
        assert!(matches!(all, Found::AllKeep(point) if point.rate == Some(most) && most >= 5_250.0));
    }

    /// A step is what is known where times cannot be told.
    #[test]
    fn without_percentiles_chance_says_where_between_two_rates_it_lies() {
        let mut search = Search::new(PROMISE, 5_000.0, 0.0);
        while let Some(rate) = search.next() {
            search.take(LoadPoint { response_p99_us: None, ..queue(5_000.0, rate) });
        }
        let at = |between: f64| match search.found(between) {
            Some(Found::Rate(rate)) => rate,
            other => panic!("{other:?}"),
        };
        assert!((at(0.5) / 4_769.7 - 1.0).abs() < STEP - 1.0, "{}", at(0.5));
        assert!((at(1.0) / at(0.0) / STEP - 1.0).abs() < 1e-9 && at(0.0) < at(0.3) && at(0.3) < at(0.5));
    }
}
