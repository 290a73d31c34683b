//! Whether the transactions of both sides did the same work, by the rows that they returned and changed.

use model::metric::{ROWS_CHANGED, ROWS_RETURNED};
use stats::{RunValue, Sample};

use super::judging::{Index, estimate};
use super::row::RunPoint;
use super::set::Rules;
use crate::evidence::Evidence;
use crate::number::{Script, significant};

/// Sides whose rows per transaction differ by less, as a share, did the same work: random scripts vary.
const TOLERANCE: f64 = 0.05;
/// Rows per transaction below this are none.
const NONE: f64 = 0.001;
/// Workloads whose rows follow from the plan alone. Others check their own work, and count rows as each engine's procedures do.
const CHECKED: [&str; 2] = ["transactions", "super-smack"];

/// Rows per transaction that differ between the sides, means of their runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DifferentRows {
    pub what: RowsAre,
    pub a: f64,
    pub b: f64,
}

/// What an engine did with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowsAre {
    Returned,
    Changed,
}

impl DifferentRows {
    /// Without a full stop.
    pub fn text(&self) -> String {
        let what = if self.what == RowsAre::Returned { "returned" } else { "changed" };
        format!("different work: a transaction of A {what} {} rows, one of B {}", rows_text(self.a), rows_text(self.b))
    }
}

fn rows_text(rows: f64) -> String {
    if rows < NONE { "no".to_owned() } else { significant(rows, 3, Script::Plain) }
}

/// Finds rows per transaction that differ by more than the tolerance beyond chance, or that one side alone has.
pub fn different_rows(
    evidence: &Evidence,
    index: &Index<'_>,
    (a, b): (&[u32], &[u32]),
    rules: &Rules,
) -> Option<DifferentRows> {
    let mut workloads =
        a.iter().chain(b).filter_map(|case| evidence.case(*case)).map(|case| workload(evidence, &case.benchmark));
    if evidence.header.plan.comparison.allow_different_rows
        || !workloads.all(|name| name.is_some_and(|name| CHECKED.contains(&name)))
    {
        return None;
    }
    [(RowsAre::Returned, ROWS_RETURNED), (RowsAre::Changed, ROWS_CHANGED)].into_iter().find_map(|(what, metric)| {
        let (of_a, of_b) = (index.points(a, metric), index.points(b, metric));
        let found = DifferentRows { what, a: mean(&of_a)?, b: mean(&of_b)? };
        let (least, most) = (found.a.min(found.b), found.a.max(found.b));
        if least < NONE {
            return (most >= NONE.max(10.0 * least)).then_some(found);
        }
        let (ratio, _) = estimate(&sample(&of_a), &sample(&of_b), rules, None);
        let (low, high) = stats::margin_bounds(TOLERANCE);
        ratio.is_some_and(|ratio| ratio.hi < low || ratio.lo > high).then_some(found)
    })
}

fn workload<'a>(evidence: &'a Evidence, benchmark: &str) -> Option<&'a str> {
    let known = evidence.header.plan.benchmarks.iter().find(|known| known.name == benchmark);
    known.map(|known| known.workload.as_str())
}

fn mean(points: &[RunPoint]) -> Option<f64> {
    let sum: f64 = points.iter().map(|point| point.value).sum();
    (!points.is_empty()).then(|| sum / points.len() as f64)
}

fn sample(points: &[RunPoint]) -> Sample {
    Sample::from_runs(points.iter().map(|point| RunValue { round: point.round, value: point.value }))
}
