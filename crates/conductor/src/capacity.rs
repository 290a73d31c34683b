//! The highest rate at which a promise holds: a bracketing search of short runs.
//!
//! A closed loop shows what the system does at most. Below that, rates are tried that get ever lower until one keeps the
//! promise; then the bracket between it and the lowest that did not is halved. A stall may break any promise once: the rate
//! that ended the search is tried again, and the search goes on above it if that was it. The rates lie on a grid that is drawn
//! for each round and is the same for all systems of it, so that systems that are alike are tried at the same rates.

use model::{LoadPoint, Promise};

/// From one rate of the grid to the next.
const STEP: f64 = 1.03;
/// The first rate that is thought too high, over what a closed loop reached: short runs differ by so much.
const ABOVE: f64 = 1.05;
/// Steps below that of the rates that are tried until one keeps the promise; the last is a twentieth.
const LADDER: [i32; 5] = [16, 32, 48, 72, 104];
/// Tops are multiples of this many steps.
const ALIKE: i32 = 4;
/// Points count for the knee whose 99th percentile is within this factor of the promised time.
const NEAR: f64 = 3.0;

/// A closed loop that met a stall shows too little: where its top keeps the promise, this many more steps are tried.
const HIGHER: i32 = 16;
/// How often the top of the search is raised at most.
const RAISES: u32 = 3;

/// Short runs of a search, unless its top is raised: the closed loop, and those at rates.
pub const RUNS: u32 = 8;
/// More of them each time that the top is raised.
const RUNS_HIGHER: u32 = 5;
/// The number of short runs of a search whose top is raised each time.
pub const MOST_RUNS: u32 = RUNS + RUNS_HIGHER * RAISES;

/// A search under way.
#[derive(Debug)]
pub struct Search {
    promise: Promise,
    /// What the grid is shifted by, a share of a step.
    phase: f64,
    /// The first place on the grid that is thought too high.
    top: i32,
    raised: u32,
    /// What was tried at places on the grid, in order.
    tried: Vec<(i32, LoadPoint)>,
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
        let place = ((reached * ABOVE).ln() / STEP.ln() - phase).ceil() as i32;
        let top = place + (ALIKE - place.rem_euclid(ALIKE)) % ALIKE;
        Search { promise, phase, top, raised: 0, tried: Vec::new() }
    }

    fn rate_of(&self, place: i32) -> f64 {
        STEP.powf(f64::from(place) + self.phase)
    }

    /// The next rate to try, in operations a second; `None` once the search is over.
    pub fn next(&self) -> Option<f64> {
        let most = RUNS + RUNS_HIGHER * self.raised;
        if self.tried.len() as u32 + 1 >= most {
            return None;
        }
        self.place().map(|place| self.rate_of(place))
    }

    fn place(&self) -> Option<i32> {
        let (low, high) = (self.low(), self.high());
        match (low, high) {
            (None, _) => {
                let mut ladder = LADDER.iter().map(|steps| self.top - steps);
                // Most systems keep it on the first.
                ladder.find(|place| {
                    (self.tried.len() == 1 && self.at(*place).count() == 1) || self.at(*place).count() == 0
                })
            }
            (Some(low), None) if low >= self.top => None,
            (Some(low), None) if self.top - low == 1 => Some(self.top),
            (Some(low), _) => {
                let above = high.unwrap_or(self.top);
                let is_narrow = above - low == 1;
                if !is_narrow {
                    return Some(low + (above - low) / 2);
                }
                // A second time, unless it was.
                (self.at(above).count() == 1).then_some(above)
            }
        }
    }

    /// What the rate that was next gave.
    pub fn take(&mut self, point: LoadPoint) {
        let Some(place) = self.place() else { return };
        if place == self.top && point.is_kept == Some(true) && self.raised < RAISES {
            (self.top, self.raised) = (self.top + HIGHER, self.raised + 1);
        }
        self.tried.push((place, point));
    }

    fn at(&self, place: i32) -> impl Iterator<Item = &LoadPoint> {
        self.tried.iter().filter(move |(own, _)| *own == place).map(|(_, point)| point)
    }

    /// The last word on a place counts: of one that did not keep the promise and then does, the first was a stall.
    fn is_kept(&self, place: i32) -> bool {
        self.at(place).last().is_some_and(|point| point.is_kept == Some(true))
    }

    /// The highest place that kept the promise, below all that did not above it.
    fn low(&self) -> Option<i32> {
        self.tried.iter().map(|(place, _)| *place).filter(|place| self.is_kept(*place)).max()
    }

    /// The lowest place that did not, above the highest that did.
    fn high(&self) -> Option<i32> {
        let low = self.low();
        let above = self.tried.iter().map(|(place, _)| *place).filter(|place| low.is_none_or(|low| *place > low));
        above.filter(|place| !self.is_kept(*place)).min()
    }

    /// At the highest rate that kept the promise.
    pub fn best(&self) -> Option<&LoadPoint> {
        self.at(self.low()?).last()
    }

    /// At the lowest that did not.
    pub fn worst(&self) -> Option<&LoadPoint> {
        self.at(self.high()?).last()
    }

    /// `between` in 0..1 is drawn for the run alone: where it is unknown how far up the knee lies between two rates, chance
    /// does, so that the values of runs vary by as much as is not known.
    pub fn found(&self, between: f64) -> Option<Found> {
        match (self.best(), self.worst()) {
            (Some(low), Some(high)) => {
                let (low, high) = (low.rate?, high.rate?);
                // A single short run is as far off as a step or two.
                let room = STEP.powi(2);
                let crossing = self.crossing(low / room, high * room);
                Some(Found::Rate(crossing.unwrap_or_else(|| low * (high / low).powf(between))))
            }
            (None, Some(high)) => Some(Found::NoneKeeps(high.clone())),
            (Some(low), None) if self.low() < Some(self.top) => {
                let (low, top) = (low.rate?, self.rate_of(self.top));
                Some(Found::Rate(self.crossing(low, top).unwrap_or_else(|| low * (top / low).powf(between))))
            }
            (Some(low), None) => Some(Found::AllKeep(low.clone())),
            (None, None) => None,
        }
    }

    /// Near saturation the share of a queue's responses beyond a time falls exponentially with it, at a pace that is
    /// proportional to the room that is left (Kingman, "The single server queue in heavy traffic", 1961): promised time over
    /// 99th percentile is a line over the rate, which crosses 1 at the knee. Weighted by equal relative errors.
    fn crossing(&self, least: f64, most: f64) -> Option<f64> {
        let promised_us = self.promise.response_p99.as_secs_f64() * 1e6;
        let points = self.tried.iter().map(|(_, point)| point);
        let near = points.filter_map(|point| Some((point.rate?, promised_us / point.response_p99_us?)));
        let near: Vec<(f64, f64)> = near.filter(|(_, room)| (1.0 / NEAR..NEAR).contains(room)).collect();
        let sum = |of: &dyn Fn(f64, f64) -> f64| near.iter().map(|(x, y)| 1.0 / (*y * *y) * of(*x, *y)).sum::<f64>();
        let all = sum(&|_, _| 1.0);
        let (x, y) = (sum(&|x, _| x) / all, sum(&|_, y| y) / all);
        let slope = sum(&|own, room| (own - x) * (room - y)) / sum(&|own, _| (own - x) * (own - x));
        (near.len() >= 3 && slope < 0.0 && slope.is_finite()).then(|| (x + (1.0 - y) / slope).clamp(least, most))
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
        assert!((tried.len() as u32) < RUNS + RUNS_HIGHER * search.raised && RUNS == 8, "{tried:?}");
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

    /// The documents promise this number. Every top keeps the promise here.
    #[test]
    fn a_search_has_23_short_runs_at_most() {
        assert_eq!(MOST_RUNS, 23);
        let (_, tried) = search(1_000.0, 0.2, |rate| queue(1e9, rate));
        // And the closed loop.
        assert!((21..=23).contains(&(tried.len() + 1)), "{tried:?}");
    }

    #[test]
    fn systems_that_are_alike_are_tried_at_the_same_rates() {
        let (_, one) = search(4_930.0, 0.3, |rate| queue(5_000.0, rate));
        let (_, other) = search(4_960.0, 0.3, |rate| queue(5_010.0, rate));
        assert_eq!(one, other);
        let (_, faster) = search(9_900.0, 0.3, |rate| queue(10_000.0, rate));
        assert!(
            faster
                .iter()
                .all(|rate| steps_beyond_the_grid(rate, one[0]) < 1e-6
                    || steps_beyond_the_grid(rate, one[0]) > 1.0 - 1e-6),
            "{faster:?}"
        );
    }

    fn steps_beyond_the_grid(rate: &f64, first: f64) -> f64 {
        ((rate / first).ln() / STEP.ln()).fract().abs()
    }

    #[test]
    fn promises_that_no_rate_or_every_rate_keeps_are_reported() {
        let (none, tried) = search(5_000.0, 0.0, |rate| LoadPoint { is_kept: Some(false), ..queue(1.0, rate) });
        let least = tried.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(matches!(none, Found::NoneKeeps(point) if point.rate == Some(least) && least < 300.0));
        let (all, tried) = search(5_000.0, 0.0, |rate| queue(1e9, rate));
        let most = tried.iter().copied().fold(0.0, f64::max);
        assert!(matches!(all, Found::AllKeep(point) if point.rate == Some(most) && most >= 5_250.0));
    }

    #[test]
    fn a_closed_loop_that_was_held_back_is_no_limit() {
        for reached in [2_600.0, 1_400.0] {
            let (found, _) = search(reached, 0.2, |rate| queue(5_000.0, rate));
            let Found::Rate(rate) = found else { panic!("{found:?}") };
            assert!((rate / 4_769.7 - 1.0).abs() < 0.03, "{reached}: {rate}");
        }
    }

    /// The first look at a rate fails, whichever it is: the knee is found all the same, unless the stall was in the last runs.
    #[test]
    fn a_stall_leads_astray_for_one_run_alone() {
        for stalled in 0..3 {
            let mut search = Search::new(PROMISE, 4_950.0, 0.4);
            for number in 0.. {
                let Some(rate) = search.next() else { break };
                let late = LoadPoint { is_kept: Some(false), response_p99_us: Some(90_000.0), ..queue(5_000.0, rate) };
                search.take(if number == stalled { late } else { queue(5_000.0, rate) });
            }
            let Some(Found::Rate(rate)) = search.found(0.5) else { panic!("{stalled}: {search:?}") };
            assert!((rate / 4_769.7 - 1.0).abs() < 0.05, "{stalled}: {rate}");
        }
    }

    /// A step is what is known where times are unknown.
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
