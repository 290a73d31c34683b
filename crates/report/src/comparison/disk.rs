//! Disk cases in the published form, and what it hides.
//!
//! A group is every depth of one I/O shape: operation, pattern, block. Published charts show only the best of each
//! group. Here the curve over depths stands next to it, with its knee, beyond which more outstanding I/Os only add
//! waiting: in a closed loop the mean latency is threads · depth / rate (J. D. C. Little, 1961), so on the flat part
//! it grows with depth.

use model::{Case, Metric, Point};

use super::curves::{CurveGroup, at_promise, first_known_metric, group_curves, rate_of, system_curves};
use super::judging::Index;
use super::set::Rules;
use crate::evidence::Evidence;

/// The keys that every disk case has.
const SHAPE: [&str; 3] = ["op", "pattern", "block_kb"];
/// Per thread.
const DEPTH: &str = "depth";
/// Names of the 99th percentile of the latency.
const P99: [&str; 3] = ["response_p99", "latency_p99", "service_p99"];
/// Little's law comes last.
const MEAN_LATENCY: [&str; 3] = ["response_mean", "latency_little", "latency_mean"];

/// Makes the disk curves over depth in the plan's order, only of the given systems.
pub fn disk_curves(evidence: &Evidence, index: &Index<'_>, systems: &[String], rules: &Rules) -> Vec<CurveGroup> {
    let found = group_curves(evidence, systems, DEPTH, |case| is_disk(&case.point));
    let firsts: Vec<&Case> = found.iter().map(|cases| cases[0].1).collect();
    found
        .iter()
        .filter_map(|cases| {
            let metric = rate_metric(index, cases[0].1)?;
            let curves = system_curves(evidence, index, rules, cases, DEPTH, &metric, [&P99, &MEAN_LATENCY]);
            let label = group_label(cases[0].1, &firsts) + at_promise(cases[0].1);
            Some(CurveGroup { key: DEPTH, label, metric, curves })
        })
        .collect()
}

/// Whether a case is one of the disk workload, by that workload's keys.
pub fn is_disk(point: &Point) -> bool {
    SHAPE.iter().all(|key| point.contains_key(*key)) && point.get(DEPTH).and_then(model::Value::as_int).is_some()
}

/// The rate of a disk case: I/Os a second if random, MiB a second if sequential, and the capacity if it keeps a promise.
fn rate_metric(index: &Index<'_>, case: &Case) -> Option<Metric> {
    let sequential = text_at(case, "pattern").starts_with("sequential");
    let wanted = if sequential { "bandwidth" } else { "iops" };
    first_known_metric(index, &case.benchmark, rate_of(case, &[wanted]))
}

/// A key's value in a case as text; empty if there is none.
fn text_at(case: &Case, key: &str) -> String {
    case.point.get(key).map_or_else(String::new, ToString::to_string)
}

/// Names a group: `random read, 8 KB, threads=24`, with the keys that distinguish groups of one shape.
fn group_label(case: &Case, all: &[&Case]) -> String {
    let like: Vec<&&Case> =
        all.iter().filter(|other| SHAPE.iter().all(|key| other.point.get(*key) == case.point.get(*key))).collect();
    let mut parts =
        vec![format!("{} {}, {} KB", text_at(case, "pattern"), text_at(case, "op"), text_at(case, "block_kb"))];
    if like.iter().any(|other| other.benchmark != case.benchmark) {
        parts.push(case.benchmark.clone());
    }
    let further = case.point.iter().filter(|(key, _)| !SHAPE.contains(&key.as_str()) && *key != DEPTH);
    let differing = further.filter(|(key, value)| like.iter().any(|other| other.point.get(*key) != Some(*value)));
    parts.extend(differing.map(|(key, value)| format!("{key}={value}")));
    parts.join(", ")
}
