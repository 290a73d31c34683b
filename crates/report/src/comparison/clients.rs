//! Throughput by number of clients: published as a curve per system and bars at three numbers of clients. Here every
//! point has its interval, and a peak is the highest *mean*.

use model::{Case, Metric, Point};

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

    /// `None` without enough runs.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (mean, share) = (self.mean()?, self.rate.half_width?);
        Some(((mean * (1.0 - share)).max(0.0), mean * (1.0 + share)))
    }
}

impl ClientsCurve {
    pub fn at(&self, clients: i64) -> Option<&ClientsPoint> {
        self.points.iter().find(|point| point.clients == clients)
    }

    /// Of equal means the one with the fewest clients. None where a point lacks its mean, which may be the highest.
    pub fn peak(&self) -> Option<(&ClientsPoint, f64)> {
        let known: Option<Vec<_>> = self.points.iter().map(|point| Some((point, point.mean()?))).collect();
        first_highest(known?)
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
    let mut found: Vec<(&Case, Vec<(u32, &Case)>)> = Vec::new();
    for (number, case) in (0..).zip(&evidence.cases) {
        let looked_at = systems.is_empty() || systems.contains(&case.system);
        if !looked_at || clients(case).is_none() {
            continue;
        }
        match found
            .iter_mut()
            .find(|(first, _)| first.benchmark == case.benchmark && rest(first, CLIENTS) == rest(case, CLIENTS))
        {
            Some((_, cases)) => cases.push((number, case)),
            None => found.push((case, vec![(number, case)])),
        }
    }
    let group = |(first, cases): &(&Case, Vec<(u32, &Case)>)| {
        let metric = index.metrics.get(&first.benchmark)?.iter().find(|metric| metric.id == THROUGHPUT)?.clone();
        let curves = curves(evidence, index, cases, &metric, rules);
        Some(ClientsGroup { label: label(evidence, first, CLIENTS), metric, curves })
    };
    found.iter().filter_map(group).filter(|group| group.clients().len() > 1).collect()
}

fn clients(case: &Case) -> Option<i64> {
    case.point.get(CLIENTS)?.as_int()
}

/// Of equal ones the first.
pub(super) fn first_highest<P>(known: impl IntoIterator<Item = (P, f64)>) -> Option<(P, f64)> {
    known.into_iter().reduce(|best, one| if best.1 >= one.1 { best } else { one })
}

/// All keys but one.
pub(super) fn rest(case: &Case, but: &str) -> Point {
    case.point.clone().into_iter().filter(|(key, _)| key != but).collect()
}

/// `update-select, protocol=prepared`, without the key `but`.
pub(super) fn label(evidence: &Evidence, case: &Case, but: &str) -> String {
    let varying = evidence.header.plan.varying_keys(&case.benchmark);
    let further = varying.iter().filter(|key| *key != but);
    let further = further.filter_map(|key| Some(format!("{key}={}", case.point.get(key)?)));
    std::iter::once(case.benchmark.clone()).chain(further).collect::<Vec<_>>().join(", ")
}

fn curves(
    evidence: &Evidence,
    index: &Index,
    cases: &[(u32, &Case)],
    metric: &Metric,
    rules: &Rules,
) -> Vec<ClientsCurve> {
    let point = |(number, case): &(u32, &Case)| {
        let rate = judging::point(evidence, index, &case.system, &[*number], metric, rules);
        Some(ClientsPoint { clients: clients(case)?, rate, void: voiding_mark(evidence, &[*number]) })
    };
    let systems = evidence.header.plan.systems.iter().enumerate();
    let curve = |(place, system): (usize, &model::SystemPlan)| {
        let own = cases.iter().filter(|(_, case)| case.system == system.name);
        let mut points: Vec<ClientsPoint> = own.filter_map(point).collect();
        points.sort_by_key(|point| point.clients);
        ClientsCurve { system: system.name.clone(), index: place, points }
    };
    systems.map(curve).filter(|curve| !curve.points.is_empty()).collect()
}
