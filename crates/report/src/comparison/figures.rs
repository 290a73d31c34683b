//! What a single system gave: there is nothing to compare it with, but its figures are asked for all the same.

use model::{Metric, Point};

use super::failures;
use super::judging::{self, Index};
use super::options::MetricFilter;
use super::row::Side;
use super::set::Rules;
use super::warning::Warning;
use crate::evidence::Evidence;

/// One metric of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The benchmark.
    pub benchmark: String,
    /// The workload's keys with their values.
    pub cell: Point,
    /// What tells this cell from the benchmark's others: `clients=4`.
    pub label: String,
    /// The metric.
    pub metric: Metric,
    /// The trials and their figures.
    pub side: Side,
    /// The marks of its trials, beside the first metric of a cell that is shown; none beside the others.
    pub warnings: Vec<Warning>,
}

/// The figures of every cell.
pub fn figures(evidence: &Evidence, index: &Index, filter: &MetricFilter, rules: &Rules) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (number, cell) in evidence.cells.iter().enumerate() {
        let varying = evidence.header.plan.varying_keys(&cell.benchmark);
        let keys = varying.iter().filter_map(|key| Some(format!("{key}={}", cell.point.get(key)?)));
        let label = keys.collect::<Vec<_>>().join(", ");
        let metrics = index.metrics.get(&cell.benchmark).into_iter().flatten();
        let mut marks = judging::marks(evidence, &[number as u32], None);
        for metric in metrics.filter(|metric| filter.shows(metric)) {
            let (side, _) = judging::side(evidence, index, &cell.system, &[number as u32], metric, rules);
            // Nothing failed, and nobody asked.
            let is_empty = side.trials.iter().all(|point| point.value == 0.0);
            if failures::is_share(metric) && is_empty && !matches!(filter, MetricFilter::Named(_)) {
                continue;
            }
            let warnings = std::mem::take(&mut marks);
            figures.push(Figure {
                benchmark: cell.benchmark.clone(),
                cell: cell.point.clone(),
                label: label.clone(),
                metric: metric.clone(),
                side,
                warnings,
            });
        }
    }
    figures
}
