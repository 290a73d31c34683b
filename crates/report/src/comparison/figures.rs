//! Figures of a single system, without comparison.

use model::{Metric, Point, Quantity, Role};

use super::judging::{self, Index};
use super::options::{MetricFilter, is_quantile_of};
use super::row::{NoVerdict, Side};
use super::set::Rules;
use super::warning::Warning;
use crate::evidence::Evidence;

#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub benchmark: String,
    pub case: Point,
    /// `clients=4`.
    pub label: String,
    pub metric: Metric,
    pub side: Side,
    /// The runs' marks, at a case's first shown metric only.
    pub warnings: Vec<Warning>,
    /// The mark of its runs that keeps anything from being judged by them.
    pub no_verdict: Option<NoVerdict>,
}

/// Whether a metric is a mean whose quantiles have no value in this case, for too few operations, so that it is shown instead.
fn is_mean_instead_of_quantile(index: &Index<'_>, case: u32, mean: &str, metrics: &[Metric]) -> bool {
    let quantiles: Vec<&Metric> =
        metrics.iter().filter(|metric| metric.role == Role::Primary && is_quantile_of(&metric.id, mean)).collect();
    !quantiles.is_empty() && quantiles.iter().all(|metric| index.points_of_cases(&[case], &metric.id).is_empty())
}

/// Makes the figures of every case and metric, whatever is shown.
pub fn all_figures(evidence: &Evidence, rules: &Rules) -> Vec<Figure> {
    case_figures(evidence, &Index::new(evidence), &MetricFilter::All, rules)
}

/// Makes the figures of every case for the metrics that are shown.
pub fn case_figures(evidence: &Evidence, index: &Index<'_>, filter: &MetricFilter, rules: &Rules) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (number, case) in evidence.cases.iter().enumerate() {
        let keys = index
            .lookup
            .varying_keys(&case.benchmark)
            .iter()
            .filter_map(|key| Some((key.as_str(), case.point.get(key)?.to_string())));
        let label = model::keys_text(keys);
        let metrics = index.metrics.get(&case.benchmark).map_or(&[][..], Vec::as_slice);
        let no_verdict = judging::voiding_mark(&index.lookup, &[number as u32]);
        let mut marks = judging::mark_warnings(&index.lookup, &[number as u32], None);
        let is_shown = |metric: &&Metric| {
            filter.shows(metric)
                || (*filter == MetricFilter::Primary
                    && is_mean_instead_of_quantile(index, number as u32, &metric.id, metrics))
        };
        for metric in metrics.iter().filter(is_shown) {
            let side = judging::point_side(evidence, index, &case.system, &[number as u32], metric, rules);
            // No failures, and not asked for.
            let is_empty = side.runs.iter().all(|point| point.value == 0.0);
            if metric.quantity() == Quantity::Failures && is_empty && !matches!(filter, MetricFilter::Named(_)) {
                continue;
            }
            let warnings = std::mem::take(&mut marks);
            figures.push(Figure {
                benchmark: case.benchmark.clone(),
                case: case.point.clone(),
                label: label.clone(),
                metric: metric.clone(),
                side,
                warnings,
                no_verdict: no_verdict.clone(),
            });
        }
    }
    figures
}
