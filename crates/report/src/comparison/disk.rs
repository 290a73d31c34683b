//! Disk cases in the published form, and what it hides.
//!
//! A group is every depth of one I/O shape: operation, pattern, round. Published charts show only the best of each
//! group. Here the curve over depths stands beside it, with its knee, beyond which more outstanding I/Os only add
//! waiting: in a closed loop the mean latency is threads · depth / rate (J. D. C. Little, 1961), so on the flat part
//! it grows with depth.

use model::{Case, Metric, Point};

use super::clients::first_highest;
use super::judging::{self, Index, voiding_mark};
use super::row::{NoVerdict, Side};
use super::set::Rules;
use crate::evidence::Evidence;

/// The knee is the smallest depth with this share of the highest mean.
pub const KNEE_SHARE: f64 = 0.95;

/// The keys that every disk case has.
const SHAPE: [&str; 3] = ["op", "pattern", "block_kb"];
/// Per thread.
const DEPTH: &str = "depth";
/// Names of the 99th percentile of the latency.
const P99: [&str; 3] = ["response_p99", "latency_p99", "service_p99"];
/// Little's law comes last.
const MEAN_LATENCY: [&str; 3] = ["response_mean", "latency_little", "latency_mean"];

/// One I/O shape on every system.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskGroup {
    pub benchmark: String,
    /// `random read, 8 KB`, with what else tells it from the others.
    pub label: String,
    /// I/Os a second, or MiB a second if sequential.
    pub metric: Metric,
    /// The curves, in the order of the plan's systems.
    pub curves: Vec<DepthCurve>,
}

/// A system's rates by depth.
#[derive(Clone, Debug, PartialEq)]
pub struct DepthCurve {
    pub system: String,
    pub index: usize,
    pub points: Vec<DepthPoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DepthPoint {
    pub depth: i64,
    pub rate: Side,
    /// One value per run.
    pub p99: Option<(Metric, Side)>,
    pub mean_latency: Option<(Metric, Side)>,
    /// Why it supports nothing.
    pub void: Option<NoVerdict>,
}

/// Where a curve bends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee<'a> {
    At(&'a DepthPoint),
    /// Still rising at the largest depth.
    NotReached(&'a DepthPoint),
    /// Fewer than two depths, or one without figures.
    Unknown,
}

impl DepthPoint {
    pub fn mean(&self) -> Option<f64> {
        self.rate.summary.map(|summary| summary.mean)
    }

    /// `None` without enough runs.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let (mean, share) = (self.mean()?, self.rate.half_width?);
        Some(((mean * (1.0 - share)).max(0.0), mean * (1.0 + share)))
    }
}

impl DepthCurve {
    /// The published figure: highest of all runs and depths, of equal ones at the smaller depth. None where a depth lacks
    /// figures, which may be the highest.
    pub fn best(&self) -> Option<(&DepthPoint, f64)> {
        let highest = |point: &DepthPoint| point.rate.summary.map(|summary| summary.max);
        let known: Option<Vec<_>> = self.points.iter().map(|point| Some((point, highest(point)?))).collect();
        first_highest(known?)
    }

    /// The first depth without figures.
    pub fn gap(&self) -> Option<&DepthPoint> {
        self.points.iter().find(|point| point.mean().is_none())
    }

    /// Whether the means at knee and top are known more precisely than [`KNEE_SHARE`]; single runs never are.
    pub fn knee_is_sure(&self) -> bool {
        let Knee::At(knee) = self.knee() else { return false };
        let top = self.points.iter().max_by(|x, y| x.mean().unwrap_or(0.0).total_cmp(&y.mean().unwrap_or(0.0)));
        let known = |point: &DepthPoint| point.rate.half_width.is_some_and(|share| share <= 1.0 - KNEE_SHARE);
        known(knee) && top.is_some_and(known)
    }

    pub fn knee(&self) -> Knee<'_> {
        let known: Vec<(&DepthPoint, f64)> =
            self.points.iter().filter_map(|point| Some((point, point.mean()?))).collect();
        let highest = known.iter().map(|(_, mean)| *mean).fold(0.0, f64::max);
        let bend = known.iter().position(|(_, mean)| *mean >= KNEE_SHARE * highest);
        match bend.and_then(|at| known.get(at).map(|(point, _)| (at, *point))) {
            _ if known.len() < 2 || self.gap().is_some() => Knee::Unknown,
            Some((at, point)) if at + 1 == known.len() => Knee::NotReached(point),
            Some((_, point)) => Knee::At(point),
            None => Knee::Unknown,
        }
    }
}

/// In the plan's order; only the given systems.
pub fn groups(evidence: &Evidence, index: &Index, systems: &[String], rules: &Rules) -> Vec<DiskGroup> {
    let disk: Vec<(u32, &Case)> = (0..)
        .zip(&evidence.cases)
        .filter(|(_, case)| is_disk(&case.point) && (systems.is_empty() || systems.contains(&case.system)))
        .collect();
    let mut found: Vec<(&Case, Vec<(u32, &Case)>)> = Vec::new();
    for (number, case) in disk {
        match found.iter_mut().find(|(first, _)| first.benchmark == case.benchmark && same_group(first, case)) {
            Some((_, cases)) => cases.push((number, case)),
            None => found.push((case, vec![(number, case)])),
        }
    }
    let firsts: Vec<&Case> = found.iter().map(|(first, _)| *first).collect();
    let group = |(first, cases): &(&Case, Vec<(u32, &Case)>)| {
        let metric = metric_of(index, first)?;
        let curves = curves(evidence, index, cases, &metric, rules);
        Some(DiskGroup { benchmark: first.benchmark.clone(), label: label(first, &firsts), metric, curves })
    };
    found.iter().filter_map(group).collect()
}

/// By the disk workload's keys.
pub fn is_disk(point: &Point) -> bool {
    SHAPE.iter().all(|key| point.contains_key(*key)) && point.get(DEPTH).and_then(model::Value::as_int).is_some()
}

fn same_group(a: &Case, b: &Case) -> bool {
    let keys = |case: &Case| case.point.clone().into_iter().filter(|(key, _)| key != DEPTH).collect::<Point>();
    keys(a) == keys(b)
}

/// I/Os a second for random I/O, MiB a second for sequential.
fn metric_of(index: &Index, case: &Case) -> Option<Metric> {
    let sequential = text(case, "pattern").starts_with("sequential");
    let wanted = if sequential { "bandwidth" } else { "iops" };
    named(index, &case.benchmark, &[wanted])
}

fn named(index: &Index, benchmark: &str, names: &[&str]) -> Option<Metric> {
    let known = index.metrics.get(benchmark)?;
    names.iter().find_map(|name| known.iter().find(|metric| metric.id == *name)).cloned()
}

fn text(case: &Case, key: &str) -> String {
    case.point.get(key).map_or_else(String::new, ToString::to_string)
}

/// `random read, 8 KB, threads=24`: with the keys that distinguish groups of one shape.
fn label(case: &Case, all: &[&Case]) -> String {
    let alike = |other: &&&Case| SHAPE.iter().all(|key| other.point.get(*key) == case.point.get(*key));
    let like: Vec<&&Case> = all.iter().filter(alike).collect();
    let mut parts = vec![format!("{} {}, {} KB", text(case, "pattern"), text(case, "op"), text(case, "block_kb"))];
    if like.iter().any(|other| other.benchmark != case.benchmark) {
        parts.push(case.benchmark.clone());
    }
    let further = case.point.iter().filter(|(key, _)| !SHAPE.contains(&key.as_str()) && *key != DEPTH);
    let differing = further.filter(|(key, value)| like.iter().any(|other| other.point.get(*key) != Some(*value)));
    parts.extend(differing.map(|(key, value)| format!("{key}={value}")));
    parts.join(", ")
}

fn curves(
    evidence: &Evidence,
    index: &Index,
    cases: &[(u32, &Case)],
    metric: &Metric,
    rules: &Rules,
) -> Vec<DepthCurve> {
    let systems = evidence.header.plan.systems.iter().enumerate();
    let curve = |(place, system): (usize, &model::SystemPlan)| {
        let own = cases.iter().filter(|(_, case)| case.system == system.name);
        let mut points: Vec<DepthPoint> =
            own.filter_map(|(number, case)| point(evidence, index, (*number, case), metric, rules)).collect();
        points.sort_by_key(|point| point.depth);
        DepthCurve { system: system.name.clone(), index: place, points }
    };
    systems.map(curve).filter(|curve| !curve.points.is_empty()).collect()
}

fn point(
    evidence: &Evidence,
    index: &Index,
    (number, case): (u32, &Case),
    metric: &Metric,
    rules: &Rules,
) -> Option<DepthPoint> {
    let of = |metric: &Metric| judging::point(evidence, index, &case.system, &[number], metric, rules);
    let further = |names: &[&str]| {
        let metric = named(index, &case.benchmark, names)?;
        let side = of(&metric);
        Some((metric, side))
    };
    Some(DepthPoint {
        depth: case.point.get(DEPTH)?.as_int()?,
        rate: of(metric),
        p99: further(&P99),
        mean_latency: further(&MEAN_LATENCY),
        void: voiding_mark(evidence, &[number]),
    })
}
