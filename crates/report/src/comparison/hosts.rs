//! Client hosts of a shared load: merged figures hide a slow one.

use indexmap::IndexMap;
use model::{CLIENTS_ON, Case, Metric, Role};

use super::clients::case_label;
use super::curves::curve_identity;
use super::judging::{self, Index};
use super::row::Side;
use super::set::Rules;
use crate::evidence::Evidence;

/// A host is slow at this multiple of the middle host's p99, as the engine marks runs.
const SLOW: f64 = 2.0;

/// Per-host metrics, and their headings.
const COLUMNS: [(&str, &str); 6] = [
    ("throughput_on_", "throughput"),
    ("response_p50_on_", "p50"),
    (P99, "p99"),
    ("client_cpu_per_tx_on_", "CPU/tx"),
    ("client_busy_share_on_", "busy"),
    ("errors_on_", "errors"),
];
const P99: &str = "response_p99_on_";

/// The client hosts of a case; of couples, all of theirs.
#[derive(Clone, Debug, PartialEq)]
pub struct HostsGroup {
    pub label: String,
    pub system: String,
    /// The hosts in the order of the runs' records.
    pub rows: Vec<HostRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct HostRow {
    pub host: String,
    /// The figures in the order of [`HostsGroup::column_names`].
    pub figures: Vec<(Metric, Side)>,
    /// p99 over that of the middle host, figures of the runs.
    pub of_middle: Option<f64>,
}

impl HostRow {
    /// Whether the host's p99 is far above that of the middle host.
    pub fn is_slow(&self) -> bool {
        self.of_middle.is_some_and(|ratio| ratio > SLOW)
    }

    /// The host's 99th percentile; `None` if it has none.
    fn p99(&self) -> Option<f64> {
        let place = COLUMNS.iter().position(|(prefix, _)| *prefix == P99)?;
        self.figures.get(place).and_then(|(_, side)| side.estimate)
    }
}

impl HostsGroup {
    /// Names of the columns of figures.
    pub fn column_names() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|(_, name)| *name)
    }
}

/// Makes the groups of client hosts in the plan's order; only loads that name their hosts have one.
pub fn host_groups(evidence: &Evidence, index: &Index<'_>, systems: &[String], rules: &Rules) -> Vec<HostsGroup> {
    let mut found: IndexMap<_, (&Case, Vec<u32>)> = IndexMap::new();
    for (number, case) in (0..).zip(&evidence.cases) {
        if !systems.is_empty() && !systems.contains(&case.system) {
            continue;
        }
        let key = (&case.system, curve_identity(case, CLIENTS_ON));
        found.entry(key).or_insert_with(|| (case, Vec::new())).1.push(number);
    }
    found
        .values()
        .map(|(first, cases)| {
            let rows = host_rows(evidence, index, first, cases, rules);
            HostsGroup { label: case_label(index, first, CLIENTS_ON), system: first.system.clone(), rows }
        })
        .filter(|group| !group.rows.is_empty())
        .collect()
}

/// Makes a row for each host that made load in these cases, with its p99 over that of the middle host.
fn host_rows(evidence: &Evidence, index: &Index<'_>, case: &Case, cases: &[u32], rules: &Rules) -> Vec<HostRow> {
    let metrics = index.metrics.get(&case.benchmark).map(Vec::as_slice).unwrap_or_default();
    // A transaction type named `on_something` has throughput that is no diagnostic.
    let of_hosts: Vec<&Metric> = metrics.iter().filter(|metric| metric.role == Role::Diagnostic).collect();
    let first = COLUMNS[0].0;
    let row = |host: &str| {
        let figures: Vec<(Metric, Side)> = COLUMNS
            .iter()
            .filter_map(|(prefix, _)| {
                let metric = of_hosts.iter().copied().find(|metric| metric.id.strip_prefix(prefix) == Some(host))?;
                Some((metric.clone(), judging::point_side(evidence, index, &case.system, cases, metric, rules)))
            })
            .collect();
        let is_here = figures.iter().any(|(_, side)| !side.runs.is_empty());
        // Older stores lack a metric: no row rather than a shifted one.
        (is_here && figures.len() == COLUMNS.len()).then(|| HostRow { host: host.to_owned(), figures, of_middle: None })
    };
    let mut rows: Vec<HostRow> =
        of_hosts.iter().copied().filter_map(|metric| row(metric.id.strip_prefix(first)?)).collect();
    let mut all: Vec<f64> = rows.iter().filter_map(HostRow::p99).collect();
    all.sort_unstable_by(f64::total_cmp);
    // Of two the faster is the reference, as where the engine marks runs.
    let middle = all.get(all.len().saturating_sub(1) / 2).copied().filter(|us| *us > 0.0 && all.len() > 1);
    for row in &mut rows {
        row.of_middle = row.p99().zip(middle).map(|(own, middle)| own / middle);
    }
    rows
}
