//! What each client host did of a load that several made: the merged figures hide one that is slow.

use model::{CLIENTS_ON, Cell, Metric, Role};

use super::clients::{label, rest};
use super::judging::{self, Index};
use super::row::Side;
use super::set::Rules;
use crate::evidence::Evidence;

/// A host whose 99th percentile is so many times that of the middle one is slow, as the engine marks its trials.
const SLOW: f64 = 2.0;

/// The metrics of a host, each with the host's name behind it, and what they are called.
const COLUMNS: [(&str, &str); 6] = [
    ("throughput_on_", "throughput"),
    ("response_p50_on_", "p50"),
    (P99, "p99"),
    ("client_cpu_per_tx_on_", "CPU/tx"),
    ("client_busy_share_on_", "busy"),
    ("errors_on_", "errors"),
];
const P99: &str = "response_p99_on_";

/// The client hosts of a cell; of couples those of all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct HostsGroup {
    /// The benchmark, with what tells the group from others of it.
    pub label: String,
    /// The system.
    pub system: String,
    /// A row for each host, in the order of its trials' records.
    pub rows: Vec<HostRow>,
}

/// A client host.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRow {
    /// Its name.
    pub host: String,
    /// What its trials gave, in the order of [`HostsGroup::columns`].
    pub figures: Vec<(Metric, Side)>,
    /// Its 99th percentile over that of the middle host, both medians of their trials.
    pub of_middle: Option<f64>,
}

impl HostRow {
    /// Whether it is far slower than the middle host.
    pub fn is_slow(&self) -> bool {
        self.of_middle.is_some_and(|ratio| ratio > SLOW)
    }

    fn p99(&self) -> Option<f64> {
        let place = COLUMNS.iter().position(|(prefix, _)| *prefix == P99)?;
        self.figures.get(place).and_then(|(_, side)| Some(side.summary?.median))
    }
}

impl HostsGroup {
    /// What the figures of a row are called.
    pub fn columns() -> impl Iterator<Item = &'static str> {
        COLUMNS.iter().map(|(_, name)| *name)
    }
}

/// The groups of an experiment in which named hosts made the load, in the order of its plan.
pub fn groups(evidence: &Evidence, index: &Index, systems: &[String], rules: &Rules) -> Vec<HostsGroup> {
    let mut found: Vec<(&Cell, Vec<u32>)> = Vec::new();
    for (number, cell) in (0..).zip(&evidence.cells) {
        if !systems.is_empty() && !systems.contains(&cell.system) {
            continue;
        }
        let is_same = |first: &Cell| {
            first.benchmark == cell.benchmark
                && first.system == cell.system
                && rest(first, CLIENTS_ON) == rest(cell, CLIENTS_ON)
        };
        match found.iter_mut().find(|(first, _)| is_same(first)) {
            Some((_, cells)) => cells.push(number),
            None => found.push((cell, vec![number])),
        }
    }
    let group = |(first, cells): &(&Cell, Vec<u32>)| {
        let rows = rows(evidence, index, first, cells, rules);
        HostsGroup { label: label(evidence, first, CLIENTS_ON), system: first.system.clone(), rows }
    };
    found.iter().map(group).filter(|group| !group.rows.is_empty()).collect()
}

fn rows(evidence: &Evidence, index: &Index, cell: &Cell, cells: &[u32], rules: &Rules) -> Vec<HostRow> {
    let metrics = index.metrics.get(&cell.benchmark).map(Vec::as_slice).unwrap_or_default();
    // A kind of transactions may be called `on_something`; its throughput is no diagnostic.
    let of_hosts = || metrics.iter().filter(|metric| metric.role == Role::Diagnostic);
    let first = COLUMNS[0].0;
    let row = |host: &str| {
        let figures: Vec<(Metric, Side)> = COLUMNS
            .iter()
            .filter_map(|(prefix, _)| {
                let metric = of_hosts().find(|metric| metric.id.strip_prefix(prefix) == Some(host))?;
                Some((metric.clone(), judging::side(evidence, index, &cell.system, cells, metric, rules).0))
            })
            .collect();
        let is_here = figures.iter().any(|(_, side)| !side.trials.is_empty());
        // A store of an earlier version lacks a metric: its hosts have no row rather than a shifted one.
        (is_here && figures.len() == COLUMNS.len()).then(|| HostRow { host: host.to_owned(), figures, of_middle: None })
    };
    let mut rows: Vec<HostRow> = of_hosts().filter_map(|metric| row(metric.id.strip_prefix(first)?)).collect();
    let mut all: Vec<f64> = rows.iter().filter_map(HostRow::p99).collect();
    all.sort_unstable_by(f64::total_cmp);
    // Of two the faster one is the measure, as where the engine marks trials.
    let middle = all.get(all.len().saturating_sub(1) / 2).copied().filter(|us| *us > 0.0 && all.len() > 1);
    for row in &mut rows {
        row.of_middle = row.p99().zip(middle).map(|(own, middle)| own / middle);
    }
    rows
}
