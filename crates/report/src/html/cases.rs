//! The data of a case's charts: every system at one point of a benchmark.

use model::{Case, Metric, Point, Quantity, Reading, Role};

use crate::comparison::RunPoint;
use crate::evidence::Evidence;
use crate::number::RowUnit;

/// One point of a benchmark, on every system.
pub struct CaseView<'a> {
    pub benchmark: &'a str,
    /// `select-update, clients=4`.
    pub title: String,
    pub systems: Vec<SystemCase<'a>>,
}

pub struct SystemCase<'a> {
    pub name: &'a str,
    /// Selects colour, dashes and shape.
    pub index: usize,
    pub case: u32,
}

/// In the plan's order.
pub fn views(evidence: &Evidence) -> Vec<CaseView<'_>> {
    let plan = &evidence.header.plan;
    let mut views: Vec<(&str, &Point, CaseView<'_>)> = Vec::new();
    for (case, index) in evidence.cases.iter().zip(0..) {
        let system = SystemCase {
            name: &case.system,
            index: plan.systems.iter().position(|s| s.name == case.system).unwrap_or(0),
            case: index,
        };
        match views.iter_mut().find(|(benchmark, point, _)| *benchmark == case.benchmark && **point == case.point) {
            Some((_, _, view)) => view.systems.push(system),
            None => {
                let view = CaseView { benchmark: &case.benchmark, title: title(evidence, case), systems: vec![system] };
                views.push((&case.benchmark, &case.point, view));
            }
        }
    }
    views.into_iter().map(|(_, _, view)| view).collect()
}

fn title(evidence: &Evidence, case: &Case) -> String {
    let varying = evidence.header.plan.varying_keys(&case.benchmark);
    let values = varying.iter().filter_map(|key| Some(format!("{key}={}", case.point.get(key)?)));
    let several = evidence.header.plan.benchmarks.len() > 1;
    let benchmark = (several || varying.is_empty()).then(|| case.benchmark.clone());
    benchmark.into_iter().chain(values).collect::<Vec<_>>().join(", ")
}

/// A share of failures is one of them where anything failed.
pub fn primary_metrics(evidence: &Evidence, benchmark: &str) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = Vec::new();
    for stored in &evidence.measurements {
        let metric = &stored.measurement.metric;
        let of_benchmark = evidence.case(stored.case).is_some_and(|case| case.benchmark == benchmark);
        let is_empty = metric.quantity() == Quantity::Failures && stored.measurement.reading == Reading::Value(0.0);
        if of_benchmark && !is_empty && metric.role == Role::Primary && !metrics.iter().any(|m| m.id == metric.id) {
            metrics.push(metric.clone());
        }
    }
    metrics
}

/// One unit for a metric in all cases of a benchmark, so that charts beside each other can be compared.
pub fn unit<'m>(evidence: &Evidence, benchmark: &str, metric: &'m Metric) -> RowUnit<'m> {
    let of_benchmark = |case: u32| evidence.case(case).is_some_and(|case| case.benchmark == benchmark);
    let own = evidence.measurements.iter().filter(|stored| stored.measurement.metric.id == metric.id);
    let own = own.filter(|stored| of_benchmark(stored.case));
    RowUnit::new(&metric.unit, own.filter_map(|stored| stored.measurement.reading.value()))
}

/// The unit of response times in nanoseconds, as that of a benchmark's medians.
pub fn response_unit(evidence: &Evidence, benchmark: &str) -> Option<RowUnit<'static>> {
    let is_median = |metric: &&Metric| metric.id == "response_p50";
    let median = evidence.measurements.iter().map(|stored| &stored.measurement.metric).find(is_median)?;
    Some(RowUnit::named("ns", unit(evidence, benchmark, median).name()))
}

/// In run order.
pub fn points(evidence: &Evidence, case: u32, metric: &str) -> Vec<RunPoint> {
    let mut points: Vec<RunPoint> = evidence
        .measurements
        .iter()
        .filter(|stored| stored.case == case && stored.measurement.metric.id == metric)
        .filter_map(|stored| match stored.measurement.reading {
            Reading::Value(value) if value.is_finite() => {
                Some(RunPoint { run: stored.run_id, position: stored.position, round: stored.round, value })
            }
            _ => None,
        })
        .collect();
    points.sort_by_key(|point| point.position);
    points
}
