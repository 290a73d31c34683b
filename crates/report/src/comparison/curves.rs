//! A rate over a key that is swept: the throughput by clients, and a disk's rate by depth. A point has its interval where there was one look.

use indexmap::IndexMap;
use model::metric::CAPACITY;
use model::{Absence, Case, Metric, NoValue, Promise};

use super::judging::{self, Index, voiding_mark};
use super::row::{NoVerdict, Side};
use super::set::Rules;
use crate::evidence::Evidence;

/// The knee is the smallest place with this share of the highest mean.
pub const KNEE_SHARE: f64 = 0.95;

/// One benchmark on every system; other varying keys make further groups.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveGroup {
    /// The swept key: `clients` or `depth`.
    pub key: &'static str,
    /// What distinguishes it from the others.
    pub label: String,
    pub metric: Metric,
    /// The curves in the order of the plan's systems.
    pub curves: Vec<SystemCurve>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SystemCurve {
    pub system: String,
    pub index: usize,
    /// The points from the smallest place to the largest.
    pub points: Vec<CurvePoint>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The key's value.
    pub at: i64,
    pub rate: Side,
    /// p99 and mean latency of disks: one value per run.
    pub latencies: [Option<(Metric, Side)>; 2],
    /// Whether the interval of its mean holds: of what is judged after each round it is for one look alone.
    pub has_interval: bool,
    /// Why it supports nothing.
    pub void: Option<NoVerdict>,
}

/// The place where a curve bends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knee<'a> {
    At(&'a CurvePoint),
    /// Still rising at the largest place.
    NotReached(&'a CurvePoint),
    /// Fewer than two places, or one without figures.
    Unknown,
}

impl CurvePoint {
    /// The mean rate at the point.
    pub fn mean(&self) -> Option<f64> {
        self.rate.estimate
    }

    /// The interval of the mean rate; `None` without enough runs, or if rounds were judged one after the other.
    pub fn interval(&self) -> Option<(f64, f64)> {
        if !self.has_interval {
            return None;
        }
        let (mean, share) = (self.mean()?, self.rate.half_width?);
        Some((mean / (1.0 + share), mean * (1.0 + share)))
    }
}

impl SystemCurve {
    /// Says why the curve has no best and no peak: the reason of its first point without a figure.
    pub fn missing_reason(&self) -> NoValue {
        self.first_gap()
            .map_or_else(|| Absence::Unavailable.with_reason("no run was measured"), |gap| gap.rate.missing_reason())
    }

    /// The point of the curve at a number of clients or a depth.
    pub fn point_at(&self, place: i64) -> Option<&CurvePoint> {
        self.points.iter().find(|point| point.at == place)
    }

    /// Finds the highest point by a figure, the first of equal ones; `None` if one has no figure, as it may be the highest.
    fn highest_by(&self, of: impl Fn(&CurvePoint) -> Option<f64>) -> Option<(&CurvePoint, f64)> {
        let known: Option<Vec<_>> = self.points.iter().map(|point| Some((point, of(point)?))).collect();
        known?.into_iter().reduce(|best, one| if best.1 >= one.1 { best } else { one })
    }

    /// The point with the highest mean, and that mean.
    pub fn peak(&self) -> Option<(&CurvePoint, f64)> {
        self.highest_by(CurvePoint::mean)
    }

    /// The point with the highest value of all runs, as published figures of disks are, and that value.
    pub fn best(&self) -> Option<(&CurvePoint, f64)> {
        self.highest_by(|point| point.rate.summary.map(|summary| summary.max))
    }

    /// The first point without a mean.
    pub fn first_gap(&self) -> Option<&CurvePoint> {
        self.points.iter().find(|point| point.mean().is_none())
    }

    /// Whether the means at the knee and the top are known more precisely than [`KNEE_SHARE`]; single runs never are.
    pub fn knee_is_sure(&self) -> bool {
        let Knee::At(knee) = self.knee() else { return false };
        let top = self.points.iter().max_by(|x, y| x.mean().unwrap_or(0.0).total_cmp(&y.mean().unwrap_or(0.0)));
        has_narrow_interval(knee) && top.is_some_and(has_narrow_interval)
    }

    /// Finds the knee, the first point near the highest mean, beyond which more brings little.
    pub fn knee(&self) -> Knee<'_> {
        let known: Vec<(&CurvePoint, f64)> =
            self.points.iter().filter_map(|point| Some((point, point.mean()?))).collect();
        let highest = known.iter().map(|(_, mean)| *mean).fold(0.0, f64::max);
        let bend = known.iter().position(|(_, mean)| *mean >= KNEE_SHARE * highest);
        match bend.and_then(|at| known.get(at).map(|(point, _)| (at, *point))) {
            _ if known.len() < 2 || self.first_gap().is_some() => Knee::Unknown,
            Some((at, point)) if at + 1 == known.len() => Knee::NotReached(point),
            Some((_, point)) => Knee::At(point),
            None => Knee::Unknown,
        }
    }
}

/// Whether a point's interval is narrower than the share of the knee.
fn has_narrow_interval(point: &CurvePoint) -> bool {
    point.rate.half_width.is_some_and(|share| share <= 1.0 - KNEE_SHARE)
}

impl CurveGroup {
    /// Lists the points of all curves.
    pub fn points(&self) -> impl Iterator<Item = &CurvePoint> {
        self.curves.iter().flat_map(|curve| &curve.points)
    }

    /// Lists every number of clients, or depth, that a system has, sorted and each once.
    pub fn places(&self) -> Vec<i64> {
        let mut all: Vec<i64> = self.points().map(|point| point.at).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Groups cases that differ in the key and the system alone, in the plan's order.
pub(super) fn group_curves<'e>(
    evidence: &'e Evidence,
    systems: &[String],
    key: &str,
    is_of: impl Fn(&Case) -> bool,
) -> Vec<Vec<(u32, &'e Case)>> {
    let mut found: IndexMap<_, Vec<(u32, &Case)>> = IndexMap::new();
    for (number, case) in (0..).zip(&evidence.cases) {
        let is_looked_at = systems.is_empty() || systems.contains(&case.system);
        if !is_looked_at || !is_of(case) || case.point.get(key).and_then(model::Value::as_int).is_none() {
            continue;
        }
        found.entry(curve_identity(case, key)).or_default().push((number, case));
    }
    found.into_values().collect()
}

/// The benchmark of a case and all its keys but one, which cases of one curve have in common.
/// A key's value is a text that is the same for equal values only.
pub(super) fn curve_identity<'c>(case: &'c Case, but: &str) -> (&'c str, Vec<(&'c str, String)>) {
    let others = case.point.iter().filter(|(key, _)| *key != but);
    (&case.benchmark, others.map(|(key, value)| (key.as_str(), format!("{value:?}"))).collect())
}

/// The clause ` at its promise` for a group whose rates are the highest that kept one; empty for others.
pub(super) fn at_promise(case: &Case) -> &'static str {
    Promise::from_point(&case.point).map_or("", |_| " at its promise")
}

/// The names of a case's rate: the capacity where it keeps a promise, else `otherwise`.
pub(super) fn rate_of<'n>(case: &Case, otherwise: &'n [&'n str]) -> &'n [&'n str] {
    if Promise::from_point(&case.point).is_some() { &[CAPACITY] } else { otherwise }
}

/// Makes a curve for each system over a key.
/// `latencies` are the names of p99 and mean, of which the first that is known is taken.
pub(super) fn system_curves(
    evidence: &Evidence,
    index: &Index<'_>,
    rules: &Rules,
    cases: &[(u32, &Case)],
    key: &str,
    metric: &Metric,
    latencies: [&[&str]; 2],
) -> Vec<SystemCurve> {
    let systems = evidence.header.plan.systems.iter().enumerate();
    systems
        .map(|(place, system)| {
            let own = cases.iter().filter(|(_, case)| case.system == system.name);
            let mut points: Vec<CurvePoint> = own
                .filter_map(|(number, case)| {
                    let of =
                        |metric: &Metric| judging::point_side(evidence, index, &case.system, &[*number], metric, rules);
                    Some(CurvePoint {
                        at: case.point.get(key)?.as_int()?,
                        rate: of(metric),
                        latencies: latencies.map(|names| {
                            let metric = first_known_metric(index, &case.benchmark, names)?;
                            let side = of(&metric);
                            Some((metric, side))
                        }),
                        has_interval: rules.sequence.is_none(),
                        void: voiding_mark(&index.lookup, &[*number]),
                    })
                })
                .collect();
            points.sort_by_key(|point| point.at);
            SystemCurve { system: system.name.clone(), index: place, points }
        })
        .filter(|curve| !curve.points.is_empty())
        .collect()
}

/// Finds the first of these metrics that a benchmark has.
pub(super) fn first_known_metric(index: &Index<'_>, benchmark: &str, names: &[&str]) -> Option<Metric> {
    let known = index.metrics.get(benchmark)?;
    names.iter().find_map(|name| known.iter().find(|metric| metric.id == *name)).cloned()
}
