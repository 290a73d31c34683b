//! Throughput by number of clients: published as a curve per system and bars at three numbers of clients. Here every
//! point has its interval, and a peak is the highest *mean*.

use model::{Cell, Metric, Point};

use super::judging::{self, Index, voiding_mark};
use super::row::{NoVerdict, Side};
use super::set::Rules;
use crate::evidence::Evidence;

/// The key that is swept.
const CLIENTS: &str = "clients";
/// The metric that is drawn.
const THROUGHPUT: &str = "throughput";
/// The published test has bars here.
const PUBLISHED: [i64; 3] = [4, 40, 80];

/// One benchmark on every system; other varying keys make further groups.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientsGroup {
    /// Benchmark, and what distinguishes the group.
    pub label: String,
    pub metric: Metric,
    pub curves: Vec<ClientsCurve>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClientsCurve {
    pub system: String,
    pub index: usize,
    /// From the fewest clients to the most.
    pub points: Vec<ClientsPoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClientsPoint {
    pub clients: i64,
    pub rate: Side,
    /// Why it supports nothing.
    pub void: Option<NoVerdict>,
}

impl ClientsPoint {
    pub fn mean(&self) -> Option<f64> {
        self.rate.summary.map(|summary| summary.mean)
    }

    /// `None` without enough trials.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (mean, share) = (self.mean()?, self.rate.half_width?);
        Some(((mean * (1.0 - share)).max(0.0), mean * (1.0 + share)))
    }
}

impl ClientsCurve {
    pub fn at(&self, clients: i64) -> Option<&ClientsPoint> {
        self.points.iter().find(|point| point.clients == clients)
    }

    /// Of equal means the one with the fewest clients.
    pub fn peak(&self) -> Option<(&ClientsPoint, f64)> {
        let known = self.points.iter().filter_map(|point| Some((point, point.mean()?)));
        known.fold(None, |best, one| match best {
            Some((_, value)) if value >= one.1 => best,
            _ => Some(one),
        })
    }
}

impl ClientsGroup {
    pub fn clients(&self) -> Vec<i64> {
        let mut all: Vec<i64> = self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.clients).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The published 4, 40 and 80 clients if two of them were measured, else fewest, middle and most.
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

/// In the plan's order; at least two numbers of clients.
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

/// `update-select, protocol=prepared`, without the key `but`.
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
        let rate = judging::point(evidence, index, &cell.system, *number, metric, rules);
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
