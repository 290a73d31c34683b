//! The highest load at which a promise holds: a bracketing search of short runs.
//!
//! The load is a rate or a number of clients. For a rate, a closed loop shows what the system does at most. Below that, rates are tried that get ever lower until one keeps the
//! promise; then the bracket between it and the lowest that did not is halved. Clients are tried from one on, each time four
//! times as many, until the promise is broken; then the bracket is narrowed where the 99th percentiles say that the promised time
//! lies. A stall may break any promise once: the load that ended the search is tried again, and the search goes on above it if that
//! was it. The loads lie on a grid that is drawn for each round and is the same for all systems of it, so that systems that are
//! alike are tried at the same loads.

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
/// The same of clients: what waits behind them grows as they do, but for the part that chance makes wait.
const NEAR_CLIENTS: f64 = 1.5;
/// From this number of clients on, the grid's next is [`STEP`] times as many, at least one more; below it, one more.
const WHOLE: i32 = 34;
/// From one number of clients to the next until one breaks the promise.
const LEAP: f64 = 4.0;
/// Short runs of a search for clients, as most take.
pub const CLIENT_RUNS: u32 = 9;
/// Short runs of a search for clients at most.
pub const MOST_CLIENT_RUNS: u32 = 20;

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
    /// The first place on the grid that is thought too high; of clients, that of the most there may be.
    top: i32,
    raised: u32,
    /// What was tried at places on the grid, in order.
    tried: Vec<(i32, LoadPoint)>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Operations a second, or a number of clients.
    Load(f64),
    /// The lowest that was tried.
    NoneKeeps(LoadPoint),
    /// The highest that was tried.
    AllKeep(LoadPoint),
}

impl Search {
    /// Begins a search for the rate that the promise allows, from what a closed loop `reached` in operations a second.
    /// `phase` is in 0..1, the same for all that are compared.
    pub fn new(promise: Promise, reached: f64, phase: f64) -> Search {
        let place = ((reached * ABOVE).ln() / STEP.ln() - phase).ceil() as i32;
        let top = place + (ALIKE - place.rem_euclid(ALIKE)) % ALIKE;
        Search { promise, phase, top, raised: 0, tried: Vec::new() }
    }

    /// Begins a search for the number of clients that the promise allows, up to its `max_clients`.
    pub fn for_clients(promise: Promise, max_clients: u32, phase: f64) -> Search {
        let top = (1..).find(|place| clients_at(*place, phase) >= f64::from(max_clients)).unwrap_or(1);
        Search { promise, phase, top, raised: 0, tried: Vec::new() }
    }

    /// Load of a place on the grid: a number of clients if those are sought, else operations a second.
    fn load_at(&self, place: i32) -> f64 {
        match self.promise.max_clients {
            Some(most) => clients_at(place, self.phase).min(f64::from(most)),
            None => STEP.powf(f64::from(place) + self.phase),
        }
    }

    /// The next load to try: operations a second, or clients; `None` once the search is over.
    pub fn next_load(&self) -> Option<f64> {
        let is_over = match self.promise.max_clients {
            Some(_) => self.tried.len() as u32 >= MOST_CLIENT_RUNS,
            None => self.tried.len() as u32 + 1 >= RUNS + RUNS_HIGHER * self.raised,
        };
        if is_over { None } else { self.next_place().map(|place| self.load_at(place)) }
    }

    /// Chooses the place on the grid of the next load to try; `None` once nothing is left to try.
    fn next_place(&self) -> Option<i32> {
        if self.promise.max_clients.is_some() { self.choose_clients_place() } else { self.choose_rate_place() }
    }

    /// Chooses the next number of clients to try, as its place: leaps up until one breaks the promise, then closes in.
    fn choose_clients_place(&self) -> Option<i32> {
        match (self.highest_kept(), self.lowest_broken()) {
            (None, None) => Some(1),
            // A second time, unless it was.
            (low, Some(high)) if self.is_narrow(low.unwrap_or_default(), high) => {
                (self.points_at(high).count() == 1).then_some(high)
            }
            (low, Some(high)) => Some(self.place_between(low.unwrap_or_default(), high)),
            (Some(low), None) if low >= self.top => None,
            (Some(low), None) => {
                // Where the 99th percentiles grow already, it is foreseen what breaks the promise.
                let before = self.tried.iter().map(|(place, _)| *place).filter(|place| *place < low).max();
                let foreseen = before.and_then(|before| self.promised_between(before, low));
                let wanted = LEAP * self.load_at(low);
                let wanted = foreseen.map_or(wanted, |clients| wanted.min(clients * STEP));
                (low + 1..self.top).find(|place| self.load_at(*place) >= wanted).or(Some(self.top))
            }
        }
    }

    /// Whether two numbers of clients are neighbours, or differ by no more than chance makes a single short run differ.
    fn is_narrow(&self, low: i32, high: i32) -> bool {
        high - low == 1 || self.load_at(high) <= STEP.powi(2) * self.load_at(low)
    }

    /// Finds the place between two where the 99th percentiles say that the promised time lies. Where the same end moved before, the
    /// place is twice as far from it each time.
    fn place_between(&self, low: i32, high: i32) -> i32 {
        let is_last_kept = self.tried.last().is_some_and(|(_, point)| point.is_kept == Some(true));
        let alike = self.tried.iter().rev().take_while(|(_, point)| (point.is_kept == Some(true)) == is_last_kept);
        let away = match alike.count() {
            0 | 1 => 1,
            moved => 1 << (moved - 1).min(8),
        };
        let guess = self.promised_between(low, high).map_or(low + (high - low) / 2, |clients| {
            (low + 1..high).rev().find(|place| self.load_at(*place) <= clients).unwrap_or(low + 1)
        });
        let guess = if is_last_kept { guess.max(low + away) } else { guess.min(high - away) };
        guess.clamp(low + 1, high - 1)
    }

    /// The number of clients at which the line through two points, both axes logarithmic, reaches the promised time.
    fn promised_between(&self, low: i32, high: i32) -> Option<f64> {
        let time = |place: i32| self.points_at(place).last()?.response_p99_us;
        let (x, y) = (self.load_at(low.max(1)).ln(), time(low)?.ln());
        let slope = (time(high)?.ln() - y) / (self.load_at(high).ln() - x);
        (slope > 0.0).then(|| (x + (promised_us(&self.promise).ln() - y) / slope).exp())
    }

    /// Chooses the next rate to try, as its place on the grid: down a ladder until one keeps the promise, then by halves.
    fn choose_rate_place(&self) -> Option<i32> {
        let (low, high) = (self.highest_kept(), self.lowest_broken());
        match (low, high) {
            (None, _) => {
                let mut ladder = LADDER.iter().map(|steps| self.top - steps);
                // Most systems keep it on the first.
                ladder.find(|place| {
                    (self.tried.len() == 1 && self.points_at(*place).count() == 1)
                        || self.points_at(*place).count() == 0
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
                (self.points_at(above).count() == 1).then_some(above)
            }
        }
    }

    /// Takes in what the load that was next gave; raises the top if that load was the top and kept the promise.
    pub fn take_point(&mut self, point: LoadPoint) {
        let Some(place) = self.next_place() else { return };
        let may_rise = self.promise.max_clients.is_none() && self.raised < RAISES;
        if place == self.top && point.is_kept == Some(true) && may_rise {
            (self.top, self.raised) = (self.top + HIGHER, self.raised + 1);
        }
        self.tried.push((place, point));
    }

    /// Lists the points that were tried at a place, in order.
    fn points_at(&self, place: i32) -> impl Iterator<Item = &LoadPoint> {
        self.tried.iter().filter(move |(own, _)| *own == place).map(|(_, point)| point)
    }

    /// Whether the last point at a place kept the promise.
    /// The last word counts: of one that did not keep it and then does, the first was a stall.
    fn is_kept(&self, place: i32) -> bool {
        self.points_at(place).last().is_some_and(|point| point.is_kept == Some(true))
    }

    /// The highest place that kept the promise, below all that did not above it.
    fn highest_kept(&self) -> Option<i32> {
        self.tried.iter().map(|(place, _)| *place).filter(|place| self.is_kept(*place)).max()
    }

    /// The lowest place that broke the promise, above the highest that kept it.
    fn lowest_broken(&self) -> Option<i32> {
        let low = self.highest_kept();
        let above = self.tried.iter().map(|(place, _)| *place).filter(|place| low.is_none_or(|low| *place > low));
        above.filter(|place| !self.is_kept(*place)).min()
    }

    /// The last point at the highest load that kept the promise.
    pub fn best_point(&self) -> Option<&LoadPoint> {
        self.points_at(self.highest_kept()?).last()
    }

    /// The last point at the lowest load that broke the promise.
    pub fn worst_point(&self) -> Option<&LoadPoint> {
        self.points_at(self.lowest_broken()?).last()
    }

    /// The load up to which the promise is kept, as the search has found it; `None` before anything was tried.
    /// `between` in 0..1 is drawn for the run alone: where it is unknown how far up the knee lies between two rates, chance does,
    /// so that the values of runs vary by as much as is not known.
    pub fn capacity_found(&self, between: f64) -> Option<Found> {
        // A single short run is as far off as a step or two.
        let room = STEP.powi(2);
        match (self.best_point(), self.worst_point()) {
            (Some(low), Some(high)) if self.promise.max_clients.is_some() => {
                let (low, high) = (low.load()?, high.load()?);
                // Between two numbers that differ by more than that there is no doubt.
                let (least, most) = ((low / room).ceil(), (high * room - 1.0).floor());
                let crossing = self.estimate_crossing_load(least, most + 1.0).map(|clients| clients.floor().min(most));
                Some(Found::Load(crossing.unwrap_or_else(|| low + ((high - low) * between).floor())))
            }
            (Some(low), Some(high)) => {
                let (low, high) = (low.rate?, high.rate?);
                let crossing = self.estimate_crossing_load(low / room, high * room);
                Some(Found::Load(crossing.unwrap_or_else(|| low * (high / low).powf(between))))
            }
            (None, Some(high)) => Some(Found::NoneKeeps(high.clone())),
            (Some(low), None) if self.highest_kept() < Some(self.top) && self.promise.max_clients.is_none() => {
                let (low, top) = (low.rate?, self.load_at(self.top));
                Some(Found::Load(
                    self.estimate_crossing_load(low, top).unwrap_or_else(|| low * (top / low).powf(between)),
                ))
            }
            (Some(low), None) => Some(Found::AllKeep(low.clone())),
            (None, None) => None,
        }
    }

    /// Estimates the load at which the 99th percentile reaches the promised time, by a line through the points near it.
    ///
    /// Near saturation the share of a queue's responses beyond a time falls exponentially with it, at a pace that is
    /// proportional to the room that is left (Kingman, "The single server queue in heavy traffic", 1961): promised time over
    /// 99th percentile is a line over the rate, which crosses 1 at the knee. In a closed loop each client waits for the others:
    /// the 99th percentile itself is a line over their number. Weighted by equal relative errors.
    fn estimate_crossing_load(&self, least: f64, most: f64) -> Option<f64> {
        let promised_us = promised_us(&self.promise);
        let is_of_clients = self.promise.max_clients.is_some();
        let near = if is_of_clients { NEAR_CLIENTS } else { NEAR };
        let points = self.tried.iter().map(|(_, point)| point).filter_map(|point| {
            let room = promised_us / point.response_p99_us?;
            Some((point.load()?, if is_of_clients { 1.0 / room } else { room }))
        });
        let near: Vec<(f64, f64)> = points.filter(|(_, room)| (1.0 / near..near).contains(room)).collect();
        let sum = |of: &dyn Fn(f64, f64) -> f64| near.iter().map(|(x, y)| 1.0 / (*y * *y) * of(*x, *y)).sum::<f64>();
        let all = sum(&|_, _| 1.0);
        let (x, y) = (sum(&|x, _| x) / all, sum(&|_, y| y) / all);
        let slope = sum(&|own, room| (own - x) * (room - y)) / sum(&|own, _| (own - x) * (own - x));
        let is_steeper = if is_of_clients { slope > 0.0 } else { slope < 0.0 };
        (near.len() >= 3 && is_steeper && slope.is_finite()).then(|| (x + (1.0 - y) / slope).clamp(least, most))
    }

    /// Estimates the operations a second at a number of clients.
    /// It lies on the line between the points with the nearest numbers below and above, both axes logarithmic.
    pub fn throughput_at(&self, clients: f64) -> Option<f64> {
        let points = self.tried.iter().filter_map(|(_, point)| Some((point.load()?, point.throughput)));
        let points: Vec<(f64, f64)> = points.filter(|(_, throughput)| *throughput > 0.0).collect();
        let mean_at = |load: f64| {
            let of_load: Vec<f64> = points.iter().filter(|(own, _)| *own == load).map(|(_, rate)| rate.ln()).collect();
            of_load.iter().sum::<f64>() / of_load.len() as f64
        };
        let below = points.iter().map(|(own, _)| *own).filter(|own| *own <= clients).max_by(f64::total_cmp);
        let above = points.iter().map(|(own, _)| *own).filter(|own| *own >= clients).min_by(f64::total_cmp);
        let (low, high) = (below.or(above)?, above.or(below)?);
        let share = if low < high { (clients / low).ln() / (high / low).ln() } else { 0.0 };
        Some((mean_at(low) + share * (mean_at(high) - mean_at(low))).exp())
    }
}

/// Number of clients at a place on their grid, which begins at 1.
fn clients_at(place: i32, phase: f64) -> f64 {
    if place <= WHOLE {
        return f64::from(place);
    }
    (f64::from(WHOLE) * STEP.powf(f64::from(place - WHOLE) + phase)).round()
}

/// The promised response time, µs.
fn promised_us(promise: &Promise) -> f64 {
    promise.response_p99.as_secs_f64() * 1e6
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const PROMISE: Promise = Promise { response_p99: Duration::from_millis(20), errors: 0.001, max_clients: None };

    /// A queue with one server and exponential times: 99 of 100 are answered within ln(100) / (most - rate).
    fn queue(most: f64, rate: f64) -> LoadPoint {
        let p99_us = if rate < most { 100.0_f64.ln() / (most - rate) * 1e6 } else { 1e9 };
        LoadPoint {
            rate: Some(rate),
            clients: None,
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
        while let Some(rate) = search.next_load() {
            tried.push(rate);
            search.take_point(answer(rate));
        }
        assert!((tried.len() as u32) < RUNS + RUNS_HIGHER * search.raised && RUNS == 8, "{tried:?}");
        (search.capacity_found(0.5).unwrap(), tried)
    }

    #[test]
    fn a_known_knee_is_found() {
        let knee = 5_000.0 - 100.0_f64.ln() / 0.02;
        for step in 0..40 {
            let phase = f64::from(step) / 40.0;
            let (found, _) = search(4_900.0 + 5.0 * f64::from(step), phase, |rate| queue(5_000.0, rate));
            let Found::Load(rate) = found else { panic!("{found:?}") };
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
            let Found::Load(rate) = found else { panic!("{found:?}") };
            assert!((rate / 4_769.7 - 1.0).abs() < 0.03, "{reached}: {rate}");
        }
    }

    /// The first look at a rate fails, whichever it is: the knee is found all the same, unless the stall was in the last runs.
    #[test]
    fn a_stall_leads_astray_for_one_run_alone() {
        for stalled in 0..3 {
            let mut search = Search::new(PROMISE, 4_950.0, 0.4);
            for number in 0.. {
                let Some(rate) = search.next_load() else { break };
                let late = LoadPoint { is_kept: Some(false), response_p99_us: Some(90_000.0), ..queue(5_000.0, rate) };
                search.take_point(if number == stalled { late } else { queue(5_000.0, rate) });
            }
            let Some(Found::Load(rate)) = search.capacity_found(0.5) else { panic!("{stalled}: {search:?}") };
            assert!((rate / 4_769.7 - 1.0).abs() < 0.05, "{stalled}: {rate}");
        }
    }

    /// A step is what is known where times are unknown.
    #[test]
    fn without_percentiles_chance_says_where_between_two_rates_it_lies() {
        let mut search = Search::new(PROMISE, 5_000.0, 0.0);
        while let Some(rate) = search.next_load() {
            search.take_point(LoadPoint { response_p99_us: None, ..queue(5_000.0, rate) });
        }
        let at = |between: f64| match search.capacity_found(between) {
            Some(Found::Load(rate)) => rate,
            other => panic!("{other:?}"),
        };
        assert!((at(0.5) / 4_769.7 - 1.0).abs() < STEP - 1.0, "{}", at(0.5));
        assert!((at(1.0) / at(0.0) / STEP - 1.0).abs() < 1e-9 && at(0.0) < at(0.3) && at(0.3) < at(0.5));
    }

    /// A closed loop that answers 99 of 100 within a time that is proportional to its clients.
    fn loop_of(clients: f64, knee: f64) -> LoadPoint {
        let p99_us = clients / knee * 20_000.0;
        LoadPoint {
            rate: None,
            clients: Some(clients as u32),
            throughput: 1_000.0,
            response_p99_us: Some(p99_us),
            is_kept: Some(p99_us <= 20_000.0),
            ..queue(5_000.0, 1_000.0)
        }
    }

    fn search_for_clients(most: u32, phase: f64, answer: impl Fn(f64) -> LoadPoint) -> (Found, Vec<f64>) {
        let promise = Promise { max_clients: Some(most), ..PROMISE };
        let (mut search, mut tried) = (Search::for_clients(promise, most, phase), Vec::new());
        while let Some(clients) = search.next_load() {
            tried.push(clients);
            search.take_point(answer(clients));
        }
        (search.capacity_found(0.5).unwrap(), tried)
    }

    #[test]
    fn a_known_number_of_clients_is_found_in_eight_short_runs() {
        for knee in [1.5, 2.5, 3.5, 7.5, 12.5, 44.5, 63.5, 250.5, 4_000.5] {
            for phase in [0.0, 0.3, 0.99] {
                let (found, tried) = search_for_clients(5_000, phase, |clients| loop_of(clients, knee));
                let Found::Load(clients) = found else { panic!("{found:?}") };
                assert!((clients - knee.floor()).abs() <= 0.01 * knee, "{knee}: {clients} {tried:?}");
                assert!(tried.len() <= if knee > 100.0 { 10 } else { 8 }, "{knee}: {tried:?}");
            }
        }
    }

    #[test]
    fn numbers_of_clients_end_at_the_most_there_may_be() {
        let (all, tried) = search_for_clients(50, 0.4, |clients| loop_of(clients, 1e6));
        assert_eq!(tried, [1.0, 4.0, 16.0, 50.0]);
        assert!(matches!(all, Found::AllKeep(point) if point.clients == Some(50)));
        let (none, tried) = search_for_clients(50, 0.4, |clients| loop_of(clients, 0.5));
        assert_eq!(tried, [1.0, 1.0], "a stall may break it once");
        assert!(matches!(none, Found::NoneKeeps(point) if point.clients == Some(1)));
        let (one, _) = search_for_clients(1, 0.4, |clients| loop_of(clients, 7.0));
        assert!(matches!(one, Found::AllKeep(_)));
    }

    #[test]
    fn a_stall_leads_a_search_for_clients_astray_for_one_run_alone() {
        for stalled in 0..6 {
            let promise = Promise { max_clients: Some(100), ..PROMISE };
            let mut search = Search::for_clients(promise, 100, 0.4);
            for number in 0.. {
                let Some(clients) = search.next_load() else { break };
                let point = loop_of(clients, 44.5);
                let late = LoadPoint { is_kept: Some(false), response_p99_us: Some(90_000.0), ..point.clone() };
                search.take_point(if number == stalled { late } else { point });
            }
            let Some(Found::Load(clients)) = search.capacity_found(0.5) else { panic!("{stalled}: {search:?}") };
            assert!((42.0..=47.0).contains(&clients), "{stalled}: {clients}");
        }
    }

    #[test]
    fn the_rate_of_a_number_of_clients_is_that_of_those_around_it() {
        let promise = Promise { max_clients: Some(100), ..PROMISE };
        let mut search = Search::for_clients(promise, 100, 0.0);
        for throughput in [100.0, 400.0, 400.0] {
            let clients = search.next_load().unwrap();
            search.take_point(LoadPoint { throughput, ..loop_of(clients, 90.0) });
        }
        let found = [1.0, 2.0, 4.0, 7.0, 16.0, 20.0].map(|clients| search.throughput_at(clients).unwrap().round());
        assert_eq!(found, [100.0, 200.0, 400.0, 400.0, 400.0, 400.0]);
    }
}
