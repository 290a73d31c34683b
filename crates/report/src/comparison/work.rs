//! Whether both sides did the same work, by the rows and statements of their transactions and the bytes within reach of their
//! operations.

use std::collections::{BTreeMap, BTreeSet};

use model::metric::{FAILED_SHARE, ROWS_CHANGED, ROWS_RETURNED, SPAN, STATEMENTS_SENT};
use stats::{RunValue, Sample};

use super::judging::Index;
use super::options::Pairing;
use super::row::RunPoint;
use super::set::Rules;
use crate::evidence::Evidence;
use crate::number::{Script, significant_digits};

/// Sides whose rows per transaction differ by less, as a share, did the same work: random scripts vary.
const TOLERANCE: f64 = 0.05;
const MIB: f64 = 1_048_576.0;
/// Rows per transaction below this are none.
const NONE: f64 = 0.001;
/// Workloads whose rows follow from the plan alone: of a backup those are of its load. Others check their own work, and count rows
/// as each engine's procedures do.
const CHECKED: [&str; 4] = ["backup", "disk", "super-smack", "transactions"];

/// Rows or statements per transaction, or bytes within reach, that differ between the sides: means of their runs.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferentRows {
    pub what: Work,
    /// The script of a mix whose rows differ, where those of all transactions together do not.
    pub script: Option<String>,
    pub a: f64,
    pub b: f64,
}

/// What is counted of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    RowsReturned,
    RowsChanged,
    /// Statements of a transaction: a script may send others where the system answers otherwise.
    StatementsSent,
    /// Bytes of files or devices that operations can reach.
    BytesReached,
}

/// A metric that counts work. Those of all transactions come before those of scripts.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Count {
    script: Option<String>,
    what: Work,
    metric: String,
}

impl DifferentRows {
    /// Writes the difference without a full stop.
    pub fn text(&self) -> String {
        let what = match self.what {
            Work::RowsReturned => "returned",
            Work::RowsChanged => "changed",
            Work::StatementsSent => {
                let [a, b] = [self.a, self.b].map(|sent| significant_digits(sent, 3, Script::Plain));
                let statements = if is_one(self.a) { "statement" } else { "statements" };
                return format!("different work: a transaction of A sends {a} {statements}, one of B {b}");
            }
            Work::BytesReached => {
                let reached = [self.a, self.b].map(|bytes| significant_digits(bytes / MIB, 3, Script::Plain));
                return format!(
                    "different work: the operations of A reach {} MiB, those of B {}",
                    reached[0], reached[1]
                );
            }
        };
        let of_script = self.script.as_ref().map_or_else(String::new, |script| format!("`{script}` "));
        let a = if is_one(self.a) { "1 row".to_owned() } else { format!("{} rows", rows_text(self.a, "no")) };
        format!("different work: a transaction {of_script}of A {what} {a}, one of B {}", rows_text(self.b, "none"))
    }
}

/// Whether a number of rows is 1 but for rounding.
fn is_one(rows: f64) -> bool {
    (rows - 1.0).abs() < NONE
}

/// Writes a number of rows; `none` stands for 0.
fn rows_text(rows: f64, none: &str) -> String {
    if rows < NONE { none.to_owned() } else { significant_digits(rows, 3, Script::Plain) }
}

/// Finds work that differs by more than the tolerance beyond chance: of all transactions, then of each script of a mix.
/// All tests
/// of a pair of sides together are wrong about equal sides as often as the level allows one verdict to be.
pub fn find_different_work(
    evidence: &Evidence,
    index: &Index<'_>,
    (a, b): (&[u32], &[u32]),
    rules: &Rules,
) -> Option<DifferentRows> {
    let benchmarks: BTreeSet<&str> =
        a.iter().chain(b).filter_map(|case| Some(evidence.case(*case)?.benchmark.as_str())).collect();
    if !benchmarks.iter().all(|name| workload_of(evidence, name).is_some_and(|name| CHECKED.contains(&name))) {
        return None;
    }
    let counts = counts_of(index, &benchmarks);
    let alpha = (1.0 - rules.level) / counts.len().max(1) as f64;
    counts.into_iter().find_map(|Count { script, what, metric }| {
        let (of_a, of_b) = (index.points_of_cases(a, &metric), index.points_of_cases(b, &metric));
        let at_most = |points: &[RunPoint], cases| match what {
            Work::StatementsSent | Work::BytesReached => sample_of(points),
            Work::RowsReturned | Work::RowsChanged => sample_of(&most_rows_of_successes(
                points,
                &index.points_of_cases(cases, &failed_share_metric(script.as_deref())),
            )),
        };
        let (a_least, a_most) = (sample_of(&of_a), at_most(&of_a, a));
        let (b_least, b_most) = (sample_of(&of_b), at_most(&of_b, b));
        let p = 2.0 * excess_p(&a_least, &b_most, rules).min(excess_p(&b_least, &a_most, rules));
        let found = DifferentRows { what, script, a: mean_of(&of_a)?, b: mean_of(&of_b)? };
        let is_any = found.a.max(found.b) >= NONE;
        (is_any && p <= alpha).then_some(found)
    })
}

/// Finds the metrics of the benchmarks that count work, those of all transactions first.
fn counts_of(index: &Index<'_>, benchmarks: &BTreeSet<&str>) -> BTreeSet<Count> {
    let ids = benchmarks.iter().filter_map(|name| index.metrics.get(*name)).flatten().map(|metric| metric.id.as_str());
    ids.filter_map(|id| {
        let all = [
            (Work::RowsReturned, ROWS_RETURNED),
            (Work::RowsChanged, ROWS_CHANGED),
            (Work::StatementsSent, STATEMENTS_SENT),
            (Work::BytesReached, SPAN),
        ];
        let (what, rest) = all.into_iter().find_map(|(what, name)| Some((what, id.strip_prefix(name)?)))?;
        let script = if rest.is_empty() { None } else { Some(rest.strip_prefix('_')?.to_owned()) };
        Some(Count { script, what, metric: id.to_owned() })
    })
    .collect()
}

/// Names the metric for the failed share of all transactions, or of a script's.
fn failed_share_metric(script: Option<&str>) -> String {
    script.map_or_else(|| FAILED_SHARE.to_owned(), |script| format!("{FAILED_SHARE}_{script}"))
}

/// Computes the most rows that a successful transaction may have had: those per try, had failed tries had none.
/// What failed has a metric of its own, and is no other work.
fn most_rows_of_successes(points: &[RunPoint], failed_percent: &[RunPoint]) -> Vec<RunPoint> {
    let failed: BTreeMap<i64, f64> = failed_percent.iter().map(|point| (point.run, point.value / 100.0)).collect();
    points
        .iter()
        .map(|point| RunPoint {
            value: point.value / failed.get(&point.run).map_or(1.0, |failed| (1.0 - failed).max(f64::EPSILON)),
            ..*point
        })
        .collect()
}

/// Computes the p of "the first did not do more than the second beyond the tolerance".
fn excess_p(more: &Sample, less: &Sample, rules: &Rules) -> f64 {
    match rules.pairing {
        Pairing::Paired => stats::excess_p(&stats::pair_by_round(more, less), 1.0 + TOLERANCE, rules.sequence.as_ref()),
        Pairing::Unpaired => stats::unpaired_excess_p(more, less, 1.0 + TOLERANCE),
    }
}

/// The workload of a benchmark in the plan.
fn workload_of<'a>(evidence: &'a Evidence, benchmark: &str) -> Option<&'a str> {
    let known = evidence.header.plan.benchmarks.iter().find(|known| known.name == benchmark);
    known.map(|known| known.workload.as_str())
}

/// The mean of values; `None` without any.
fn mean_of(points: &[RunPoint]) -> Option<f64> {
    let sum: f64 = points.iter().map(|point| point.value).sum();
    (!points.is_empty()).then(|| sum / points.len() as f64)
}

/// Makes a sample of values by round.
fn sample_of(points: &[RunPoint]) -> Sample {
    Sample::from_runs(points.iter().map(|point| RunValue { round: point.round, value: point.value }))
}
