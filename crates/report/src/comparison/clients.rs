//! Throughput by number of clients, as such tests are published: a curve for each system from one client to many, and
//! bars at three numbers of clients. Here every point has its interval, and a peak is the highest *mean*.

use model::{Cell, Metric, Point};

use super::judging::{self, Index, voiding_mark};
use super::row::{NoVerdict, Side};
use super::set::Rules;
use crate::evidence::Evidence;

/// The key that is swept.
const CLIENTS: &str = "clients";
/// The metric that is drawn.
const THROUGHPUT: &str = "throughput";
/// At these numbers of clients the published test has bars.
const PUBLISHED: [i64; 3] = [4, 40, 80];

/// One benchmark on every system, over its numbers of clients; what else varies makes groups of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientsGroup {
    /// The benchmark, with what tells the group from others of it.
    pub label: String,
    /// The throughput.
    pub metric: Metric,
    /// The curves, in the order of the plan's systems.
    pub curves: Vec<ClientsCurve>,
}

/// A system's throughput by number of clients.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientsCurve {
    /// The system.
    pub system: String,
    /// Its place in the plan: its colour and form.
    pub index: usize,
    /// From the fewest clients to the most.
    pub points: Vec<ClientsPoint>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientsPoint {
    /// How many clients.
    pub clients: i64,
    /// The throughput.
    pub rate: Side,
    /// Why nothing rests on it.
    pub void: Option<NoVerdict>,
}

impl ClientsPoint {
    /// The mean of the trials, which is what was published.
    pub fn mean(&self) -> Option<f64> {
        self.rate.summary.map(|summary| summary.mean)
    }

    /// The interval of the mean, if there are trials enough for one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (mean, share) = (self.mean()?, self.rate.half_width?);
        Some(((mean * (1.0 - share)).max(0.0), mean * (1.0 + share)))
    }
}

impl ClientsCurve {
    /// The point with that many clients.
    pub fn at(&self, clients: i64) -> Option<&ClientsPoint> {
        self.points.iter().find(|point| point.clients == clients)
    }

    /// The highest mean; of equal ones that with the fewest clients.
    pub fn peak(&self) -> Option<(&ClientsPoint, f64)> {
        let known = self.points.iter().filter_map(|point| Some((point, point.mean()?)));
        known.fold(None, |best, one| match best {
            Some((_, value)) if value >= one.1 => best,
            _ => Some(one),
        })
    }
}

impl ClientsGroup {
    /// All numbers of clients, from the fewest.
    pub fn clients(&self) -> Vec<i64> {
        let mut all: Vec<i64> = self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.clients).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Where bars are drawn: at the published 4, 40 and 80 clients, if at least two of them were measured; else at the
    /// fewest, the middle and the most.
    pub fn bars_at(&self) -> Vec<i64> {
        let all = self.clients();
        let published: Vec<i64> = PUBLISHED.into_iter().filter(|clients| all.contains(clients)).collect();
        if published.len() > 1 {
            return published;
        }
        let mut three: Vec<i64> =
            [0, all.len() / 2, all.len().saturating_sub(1)].iter().filter_map(|at| all.get(*at)).copied().collect();
        three.dedup();
        three
    }
}

/// The groups of an experiment with at least two numbers of clients, in the order of its plan.
pub fn groups(evidence: &Evidence, index: &Index, systems: &[String], rules: &Rules) -> Vec<ClientsGroup> {
    let mut found: Vec<(&Cell, Vec<(u32, &Cell)>)> = Vec::new();
    for (number, cell) in (0..).zip(&evidence.cells) {
        let looked_at = systems.is_empty() || systems.contains(&cell.system);
        if !looked_at || clients(cell).is_none() {
            continue;
        }
        match found
            .iter_mut()
            .find(|(first, _)| first.benchmark == cell.benchmark && rest(first, CLIENTS) == rest(cell, CLIENTS))
        {
            Some((_, cells)) => cells.push((number, cell)),
            None => found.push((cell, vec![(number, cell)])),
        }
    }
    let group = |(first, cells): &(&Cell, Vec<(u32, &Cell)>)| {
        let metric = index.metrics.get(&first.benchmark)?.iter().find(|metric| metric.id == THROUGHPUT)?.clone();
        let curves = curves(evidence, index, cells, &metric, rules);
        Some(ClientsGroup { label: label(evidence, first, CLIENTS), metric, curves })
    };
    found.iter().filter_map(group).filter(|group| group.clients().len() > 1).collect()
}

fn clients(cell: &Cell) -> Option<i64> {
    cell.point.get(CLIENTS)?.as_int()
}

/// All keys but one.
pub(super) fn rest(cell: &Cell, but: &str) -> Point {
    cell.point.clone().into_iter().filter(|(key, _)| key != but).collect()
}

/// `update-select, protocol=prepared`: the benchmark with what tells its cells apart, but for one key.
pub(super) fn label(evidence: &Evidence, cell: &Cell, but: &str) -> String {
    let varying = evidence.header.plan.varying_keys(&cell.benchmark);
    let further = varying.iter().filter(|key| *key != but);
    let further = further.filter_map(|key| Some(format!("{key}={}", cell.point.get(key)?)));
    std::iter::once(cell.benchmark.clone()).chain(further).collect::<Vec<_>>().join(", ")
}

fn curves(
    evidence: &Evidence,
    index: &Index,
    cells: &[(u32, &Cell)],
    metric: &Metric,
    rules: &Rules,
) -> Vec<ClientsCurve> {
    let point = |(number, cell): &(u32, &Cell)| {
        let rate = judging::side(evidence, index, &cell.system, &[*number], metric, rules).0;
        Some(ClientsPoint { clients: clients(cell)?, rate, void: voiding_mark(evidence, &[*number]) })
    };
    let systems = evidence.header.plan.systems.iter().enumerate();
    let curve = |(place, system): (usize, &model::SystemPlan)| {
        let own = cells.iter().filter(|(_, cell)| cell.system == system.name);
        let mut points: Vec<ClientsPoint> = own.filter_map(point).collect();
        points.sort_by_key(|point| point.clients);
        ClientsCurve { system: system.name.clone(), index: place, points }
    };
    systems.map(curve).filter(|curve| !curve.points.is_empty()).collect()
}
