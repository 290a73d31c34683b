//! Absolute limits: `p99 <= 20ms` holds or not, whatever the other side does.

use std::fmt;
use std::str::FromStr;

use model::Metric;
use model::metric::{CAPACITY, CAPACITY_BIAS};

use super::{GateLine, RowStatus};
use crate::comparison::{Bound as Capacity, ComparisonSet, Figure, KEY_SYSTEM, Rules, all_figures};
use crate::evidence::Evidence;
use crate::labels::metric_name;
use crate::number::{RowUnit, Script, count_noun, percent_text};

/// Fewest runs that show whether a limit holds.
const MIN_RUNS: usize = 3;

/// The side of the limit on which a metric has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    AtMost,
    AtLeast,
}

impl Bound {
    /// The sign of the bound, `<=` or `>=`.
    fn as_str(self) -> &'static str {
        match self {
            Bound::AtMost => "<=",
            Bound::AtLeast => ">=",
        }
    }
}

/// An absolute limit on a metric, of all benchmarks or of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    benchmark: Option<String>,
    /// The name as it was written.
    metric: String,
    bound: Bound,
    value: f64,
    /// Empty where only a number was written.
    unit: String,
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LimitError {
    #[error("`{0}` is no limit")]
    NoLimit(String),
    #[error("no run measured `{metric}`: there are {}", known.join(", "))]
    UnknownMetric { metric: String, known: Vec<String> },
    #[error("there is no benchmark `{benchmark}`: there are {}", known.join(", "))]
    UnknownBenchmark { benchmark: String, known: Vec<String> },
    #[error("`{metric}` is in {}, and the limit `{written}` is not", unit_name(unit))]
    Unit { metric: String, unit: String, written: String },
}

/// Writes a unit as people do, microseconds with their sign.
fn unit_name(unit: &str) -> &str {
    if unit == "us" { "µs" } else { unit }
}

impl LimitError {
    /// Says what to write instead.
    pub fn hint(&self) -> String {
        match self {
            LimitError::NoLimit(_) => {
                "write METRIC <= VALUE or METRIC >= VALUE: `p99 <= 20ms`, `throughput >= 500`, `write-log/iops >= 5000`"
                    .to_owned()
            }
            LimitError::UnknownMetric { metric, known } => {
                model::near::did_you_mean(metric, known.iter().map(String::as_str)).unwrap_or_else(|| {
                    "a benchmark stands before its metric, as in `write-log/iops >= 5000`".to_owned()
                })
            }
            LimitError::UnknownBenchmark { benchmark, known } => {
                model::near::did_you_mean(benchmark, known.iter().map(String::as_str))
                    .unwrap_or_else(|| "leave it out, and the limit is for all of them".to_owned())
            }
            LimitError::Unit { metric, unit, .. } => match unit.as_str() {
                "us" | "ns" | "ms" | "s" => format!("write the unit of time: `{metric} <= 20ms`"),
                unit => format!("write the number alone, or with `{unit}`"),
            },
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let benchmark = self.benchmark.as_ref().map_or_else(String::new, |name| format!("{name}/"));
        let gap = if self.unit.is_empty() { "" } else { " " };
        write!(f, "{benchmark}{} {} {}{gap}{}", self.metric, self.bound.as_str(), self.value, self.unit)
    }
}

impl FromStr for Limit {
    type Err = LimitError;

    /// Parses `[BENCHMARK/]METRIC <= VALUE [UNIT]`, or the same with `>=`.
    fn from_str(text: &str) -> Result<Limit, LimitError> {
        parse_limit(text).ok_or_else(|| LimitError::NoLimit(text.to_owned()))
    }
}

/// Parses a limit; `None` if it has no sign, metric or number.
fn parse_limit(text: &str) -> Option<Limit> {
    let at = text.find(['<', '>'])?;
    let bound = if text[at..].starts_with('<') { Bound::AtMost } else { Bound::AtLeast };
    let (name, rest) = (text[..at].trim(), text[at + 1..].trim_start_matches('=').trim());
    let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'_')).count();
    let value = parse_bound(&rest[..digits])?;
    let (benchmark, metric) = match name.rsplit_once('/') {
        Some((benchmark, metric)) => (Some(benchmark.trim().to_owned()), metric.trim()),
        None => (None, name),
    };
    (!metric.is_empty()).then(|| Limit {
        benchmark,
        metric: metric.to_owned(),
        bound,
        value,
        unit: rest[digits..].trim().to_owned(),
    })
}

/// Parses a number whose thousands may be apart, as in `5,000`; `None` for `1,5`, which has a comma for its point.
fn parse_bound(text: &str) -> Option<f64> {
    let whole = text.split('.').next()?;
    let mut groups = whole.split([',', '_']).skip(1);
    if groups.any(|group| group.len() != 3) {
        return None;
    }
    text.replace([',', '_'], "").parse().ok()
}

impl Limit {
    /// Finds the metrics that are meant: those of this name, or else those of which it is a part, as `p99` is of `response_p99`.
    fn matching_metrics(&self, figures: &[&Figure]) -> Vec<String> {
        let asked = self.metric.to_lowercase().replace(['-', ' '], "_");
        let asked = if asked == "tps" { "throughput" } else { &asked };
        let ids = || figures.iter().map(|figure| figure.metric.id.as_str());
        if ids().any(|id| id == asked) {
            return vec![asked.to_owned()];
        }
        // A response time is what a user waits for, so `p99` is not that of a service time.
        let response = format!("response_{asked}");
        if ids().any(|id| id == response) {
            return vec![response];
        }
        let mut found: Vec<String> =
            ids().filter(|id| id.split(['_', '/']).any(|part| part == asked)).map(str::to_owned).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Converts the limit's value to the unit of the metric; `None` if the units are of different kinds.
    fn bound_in_unit(&self, metric: &Metric) -> Option<f64> {
        let unit = self.unit.replace("us", "µs");
        let is_time = crate::number::is_time(&metric.unit);
        let scaled = RowUnit::with_name(&metric.unit, &unit);
        match unit.as_str() {
            "" => (!is_time).then_some(self.value),
            unit if scaled.unit_name() == unit => Some(self.value / scaled.convert(1.0)),
            unit => {
                let is_per_second = ["/s", "tps", "iops", "tx/s", "io/s"].contains(&unit);
                (is_per_second && metric.unit.ends_with("/s")).then_some(self.value)
            }
        }
    }
}

/// Judges the limits: a line for each case of the candidate that has the metric.
///
/// # Errors
/// A limit names what there is not, or a unit of another kind.
pub(super) fn limit_lines(
    evidence: &Evidence,
    set: &ComparisonSet,
    limits: &[Limit],
) -> Result<Vec<GateLine>, LimitError> {
    if limits.is_empty() {
        return Ok(Vec::new());
    }
    let all = all_figures(evidence, &set.rules);
    // The baseline is not on trial, unless the sides are no systems.
    let is_baseline = |figure: &Figure| {
        set.tables.iter().any(|table| table.compared == KEY_SYSTEM && table.a == figure.side.label)
            && !set.tables.iter().any(|table| table.b == figure.side.label)
    };
    let mut lines = Vec::new();
    for limit in limits {
        let of_benchmark: Vec<&Figure> =
            all.iter().filter(|figure| limit.benchmark.as_ref().is_none_or(|name| *name == figure.benchmark)).collect();
        if let (true, Some(benchmark)) = (of_benchmark.is_empty(), &limit.benchmark) {
            let known = distinct_names(all.iter().map(|figure| figure.benchmark.as_str()));
            return Err(LimitError::UnknownBenchmark { benchmark: benchmark.clone(), known });
        }
        let metrics = limit.matching_metrics(&of_benchmark);
        if metrics.is_empty() {
            let known = distinct_names(of_benchmark.iter().map(|figure| figure.metric.id.as_str()));
            return Err(LimitError::UnknownMetric { metric: limit.metric.clone(), known });
        }
        for figure in
            of_benchmark.into_iter().filter(|figure| metrics.contains(&figure.metric.id) && !is_baseline(figure))
        {
            lines.push(limit_line(limit, figure, &set.rules)?);
        }
    }
    Ok(lines)
}

/// Lists names, each once.
fn distinct_names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// Judges a limit in one case and makes its line; fails if their units are of different kinds.
fn limit_line(limit: &Limit, figure: &Figure, rules: &Rules) -> Result<GateLine, LimitError> {
    let value = limit.bound_in_unit(&figure.metric).ok_or_else(|| LimitError::Unit {
        metric: limit.metric.clone(),
        unit: figure.metric.unit.clone(),
        written: limit.to_string(),
    })?;
    let parts = [figure.benchmark.clone(), figure.label.clone(), metric_name(&figure.metric.id)];
    let (status, detail) = judge_by_bounds(limit, value, figure, rules);
    Ok(GateLine {
        status,
        name: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        sides: format!("{}, limit {limit}", figure.side.label),
        detail,
        is_asked: true,
        is_unstable: false,
        is_limit: true,
        void: super::void_text(figure.no_verdict.as_ref()),
        runs: figure.side.runs.iter().map(|point| point.run).collect(),
    })
}

/// Judges a case by one-sided bounds of its mean, that of the logarithms where all values have one; says why.
fn judge_by_bounds(limit: &Limit, value: f64, figure: &Figure, rules: &Rules) -> (RowStatus, String) {
    let side = &figure.side;
    let values: Vec<f64> = side.runs.iter().map(|point| point.value).collect();
    let (Some(summary), false) = (side.summary, values.is_empty()) else {
        return (RowStatus::NotCompared, format!("no value: {}", side.missing_reason()));
    };
    if let Some(why) = &figure.no_verdict {
        return (RowStatus::NotCompared, why.reason_text());
    }
    let unit = RowUnit::new(&figure.metric.unit, [summary.centre()]);
    let sign = side.bound.map_or("", Capacity::sign);
    let shown = format!("{sign}{} {}", unit.print(summary.centre(), Script::Plain), unit.unit_name());
    if values.len() < MIN_RUNS {
        let (have, needed) = (count_noun(values.len(), "run"), MIN_RUNS);
        return (RowStatus::NotCompared, format!("{shown} in {have}, and it takes {needed} to say how sure that is"));
    }
    let Some(mut of_runs) = one_sided_bounds(&values, rules.level) else {
        return (RowStatus::NotCompared, format!("{shown}: its runs give no interval"));
    };
    if figure.metric.id == CAPACITY {
        of_runs.0 /= 1.0 + CAPACITY_BIAS;
    }
    // A capacity that no short run met is known at one end.
    let (lowest, highest) = match side.bound {
        Some(Capacity::Below) => (f64::NEG_INFINITY, of_runs.1),
        Some(Capacity::AtLeast) => (of_runs.0, f64::INFINITY),
        None => of_runs,
    };
    let (is_kept, is_broken) = match limit.bound {
        Bound::AtMost => (highest <= value, lowest > value),
        Bound::AtLeast => (lowest >= value, highest < value),
    };
    let status = match (is_kept, is_broken) {
        (true, _) => RowStatus::Held,
        (_, true) => RowStatus::Broken,
        _ => RowStatus::Open,
    };
    // Where a limit is kept the bound next to it says so, and where it is broken the one that lies beyond it.
    let (word, bound) = match (limit.bound, status) {
        _ if highest.is_infinite() => ("at least", lowest),
        _ if lowest.is_infinite() => ("at most", highest),
        (Bound::AtMost, RowStatus::Broken) | (Bound::AtLeast, RowStatus::Held | RowStatus::Open) => {
            ("at least", lowest)
        }
        _ => ("at most", highest),
    };
    // A whole number that is rounded toward the limit would say more than is known.
    let bound = match word {
        _ if !unit.counts_whole() => bound,
        "at least" => bound.floor(),
        _ => bound.ceil(),
    };
    let level = percent_text(rules.level, Script::Plain);
    (
        status,
        format!("{shown}, {word} {} {} with {level} confidence", unit.print(bound, Script::Plain), unit.unit_name()),
    )
}

/// Computes the lower and the upper bound of the mean, each one-sided at this level.
fn one_sided_bounds(values: &[f64], level: f64) -> Option<(f64, f64)> {
    let first = *values.first()?;
    if values.iter().all(|value| *value == first) {
        return Some((first, first));
    }
    let runs = values.iter().zip(0..).map(|(value, round)| stats::RunValue { round, value: *value });
    let sample = stats::Sample::from_runs(runs);
    let summary = stats::summarise(&sample)?;
    // A two-sided interval leaves out as much on either side.
    let share = stats::relative_half_width(&sample, 2.0 * level - 1.0)?;
    let centre = summary.centre();
    Some(match summary.geometric {
        Some(_) => (centre / (1.0 + share), centre * (1.0 + share)),
        None => (centre - share * centre.abs(), centre + share * centre.abs()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_read_as_people_write_it() {
        for (text, metric, bound, value, unit) in [
            ("p99 <= 20ms", "p99", Bound::AtMost, 20.0, "ms"),
            ("p99<20 ms", "p99", Bound::AtMost, 20.0, "ms"),
            ("throughput >= 5,000", "throughput", Bound::AtLeast, 5_000.0, ""),
            ("tps>=0.5 tx/s", "tps", Bound::AtLeast, 0.5, "tx/s"),
        ] {
            let limit: Limit = text.parse().unwrap();
            assert_eq!(
                (limit.metric.as_str(), limit.bound, limit.value, limit.unit.as_str()),
                (metric, bound, value, unit)
            );
        }
        let of_one: Limit = "write-log/iops >= 5000".parse().unwrap();
        assert_eq!((of_one.benchmark.as_deref(), of_one.metric.as_str()), (Some("write-log"), "iops"));
        assert_eq!(of_one.to_string(), "write-log/iops >= 5000");
        for wrong in ["", "p99", "p99 = 20ms", "<= 20ms", "p99 <= ms"] {
            assert!(matches!(wrong.parse::<Limit>(), Err(LimitError::NoLimit(_))), "{wrong}");
        }
    }

    /// scipy: `mean ± t.ppf(.95, 4) * std(ddof=1) / sqrt(5)` of the logarithms.
    #[test]
    fn bounds_are_one_sided() {
        let (lowest, highest) = one_sided_bounds(&[10.0, 11.0, 12.0, 11.0, 10.0], 0.95).unwrap();
        assert!((lowest - 10.013_703).abs() < 1e-5 && (highest - 11.592_896).abs() < 1e-5, "{lowest} {highest}");
        assert_eq!(
            one_sided_bounds(&[5.0; 4], 0.95).map(|(lo, hi)| (lo - 5.0).abs() + (hi - 5.0).abs() < 1e-9),
            Some(true)
        );
    }
}
