//! The data of a case's charts: every system at one point of a benchmark.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use model::{Case, Metric, Quantity, Reading, Role};
use store::StoredMeasurement;

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

/// Groups the cases by benchmark and point, in the plan's order, with each system's case.
pub fn case_views(evidence: &Evidence) -> Vec<CaseView<'_>> {
    let plan = &evidence.header.plan;
    let mut varying = BTreeMap::new();
    for benchmark in &plan.benchmarks {
        varying.entry(benchmark.name.as_str()).or_insert_with(|| benchmark.varying_keys());
    }
    let mut views: IndexMap<(&str, String), CaseView<'_>> = IndexMap::new();
    for (case, index) in evidence.cases.iter().zip(0..) {
        let system = SystemCase {
            name: &case.system,
            index: plan.systems.iter().position(|s| s.name == case.system).unwrap_or(0),
            case: index,
        };
        // Such a text is the same for equal points only.
        let view = views.entry((&case.benchmark, format!("{:?}", case.point))).or_insert_with(|| {
            let keys = varying.get(case.benchmark.as_str()).map_or(&[][..], Vec::as_slice);
            CaseView { benchmark: &case.benchmark, title: case_title(evidence, case, keys), systems: Vec::new() }
        });
        view.systems.push(system);
    }
    views.into_values().collect()
}

/// Titles a case by its benchmark and what varies.
fn case_title(evidence: &Evidence, case: &Case, varying: &[String]) -> String {
    let values = varying.iter().filter_map(|key| Some(format!("{key}={}", case.point.get(key)?)));
    let several = evidence.header.plan.benchmarks.len() > 1;
    let benchmark = (several || varying.is_empty()).then(|| case.benchmark.clone());
    benchmark.into_iter().chain(values).collect::<Vec<_>>().join(", ")
}

/// What the charts of a benchmark have in common, so that charts next to each other can be compared.
#[derive(Default)]
pub struct Common<'a> {
    /// The primary metrics, each with one unit for all cases. A share of failures is one of them where anything failed.
    pub metrics: Vec<(&'a Metric, RowUnit<'a>)>,
    /// The unit of response times in nanoseconds, as that of the medians.
    pub responses: Option<RowUnit<'static>>,
}

/// Chooses the units of each benchmark that the charts of its cases share.
pub fn common_units(evidence: &Evidence) -> BTreeMap<&str, Common<'_>> {
    const MEDIAN: &str = "response_p50";
    let mut primary: Vec<(&str, &Metric)> = Vec::new();
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for stored in &evidence.measurements {
        let (Some(benchmark), metric) = (benchmark_of(evidence, stored), &stored.measurement.metric) else { continue };
        if metric.role == Role::Primary && !values.contains_key(&(benchmark, metric.id.as_str())) {
            let is_empty = stored.measurement.reading == Reading::Value(0.0);
            if !is_empty || metric.quantity() != Quantity::Failures {
                values.insert((benchmark, &metric.id), Vec::new());
                primary.push((benchmark, metric));
            }
        }
    }
    let medians: Vec<&StoredMeasurement> =
        evidence.measurements.iter().filter(|stored| stored.measurement.metric.id == MEDIAN).collect();
    for benchmark in medians.iter().copied().filter_map(|one| benchmark_of(evidence, one)) {
        values.entry((benchmark, MEDIAN)).or_default();
    }
    for stored in &evidence.measurements {
        let Some(benchmark) = benchmark_of(evidence, stored) else { continue };
        if let Some(all) = values.get_mut(&(benchmark, stored.measurement.metric.id.as_str())) {
            all.extend(stored.measurement.reading.value());
        }
    }
    let mut found: BTreeMap<&str, Common<'_>> = BTreeMap::new();
    let of = |benchmark, id| values.get(&(benchmark, id)).into_iter().flatten().copied();
    for (benchmark, metric) in primary {
        let unit = RowUnit::new(&metric.unit, of(benchmark, &metric.id));
        found.entry(benchmark).or_default().metrics.push((metric, unit));
    }
    if let Some(median) = medians.first() {
        for benchmark in evidence.header.plan.benchmarks.iter().map(|benchmark| benchmark.name.as_str()) {
            let unit = RowUnit::new(&median.measurement.metric.unit, of(benchmark, MEDIAN));
            found.entry(benchmark).or_default().responses = Some(RowUnit::with_name("ns", unit.unit_name()));
        }
    }
    found
}

/// The name of a measurement's benchmark.
fn benchmark_of<'a>(evidence: &'a Evidence, stored: &StoredMeasurement) -> Option<&'a str> {
    evidence.case(stored.case).map(|case| case.benchmark.as_str())
}
