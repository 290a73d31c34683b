use model::{DurabilityTier, Metric, RunState};

use super::disturbance;
use super::judging::{Index, RowCases, marks, row, voiding_mark};
use super::matching::{far_apart, matched_cases};
use super::options::Pairing;
use super::projection::{KEY_SYSTEM, Projection, hidden, side_label, values_of};
use super::row::{Comparison, NoVerdict, SideLetter};
use super::set::{AllowedBy, OneSided, Rules, Table, TimeOrder};
use super::survivors;
use super::warning::Warning;
use crate::evidence::Evidence;

pub struct Builder<'a> {
    evidence: &'a Evidence,
    index: &'a Index,
    projection: &'a Projection,
    rules: Rules,
    unused: Vec<String>,
}

/// Cases that share the values of some keys.
struct Group {
    values: Vec<String>,
    cases: Vec<u32>,
}

impl<'a> Builder<'a> {
    pub fn new(evidence: &'a Evidence, index: &'a Index, projection: &'a Projection, rules: Rules) -> Builder<'a> {
        let unused = projection.unused(&evidence.cases);
        Builder { evidence, index, projection, rules, unused }
    }

    /// In the order of the plan's cases.
    pub fn tables(&self, a: &str, b: &str) -> Vec<Table> {
        let all: Vec<u32> = (0..).zip(&self.evidence.cases).map(|(index, _)| index).collect();
        let mut tables = Vec::new();
        for group in self.grouped(&all, &self.projection.by) {
            let table = self.table(&group, a, b);
            if self.projection.table_per_metric {
                tables.extend(split_by_metric(table));
            } else {
                tables.push(table);
            }
        }
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    fn grouped(&self, cases: &[u32], keys: &[String]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for &index in cases {
            let Some(case) = self.evidence.case(index) else { continue };
            let values = values_of(case, keys);
            match groups.iter_mut().find(|group| group.values == values) {
                Some(group) => group.cases.push(index),
                None => groups.push(Group { values, cases: vec![index] }),
            }
        }
        groups
    }

    fn table(&self, group: &Group, a: &str, b: &str) -> Table {
        let title = self.projection.by.iter().cloned().zip(group.values.iter().cloned()).collect();
        let row_groups = self.grouped(&group.cases, &self.projection.rows);
        let tells_apart: Vec<bool> = (0..self.projection.rows.len())
            .map(|key| row_groups.iter().any(|row| row.values.get(key) != row_groups[0].values.get(key)))
            .collect();
        let mut rows = Vec::new();
        for row_group in &row_groups {
            let label = self.projection.rows.iter().cloned().zip(row_group.values.iter().cloned());
            let label = label.zip(&tells_apart).filter(|(_, apart)| **apart).map(|(pair, _)| pair).collect();
            rows.extend(self.rows(row_group, label, a, b));
        }
        let differences = if self.projection.cols == [KEY_SYSTEM] { self.differences(a, b) } else { Vec::new() };
        Table { title, compared: self.projection.cols.join(", "), a: a.to_owned(), b: b.to_owned(), rows, differences }
    }

    fn differences(&self, a: &str, b: &str) -> Vec<model::facts::Difference> {
        match (self.evidence.facts_of(a), self.evidence.facts_of(b)) {
            (Some(a), Some(b)) => a.differences(b),
            _ => Vec::new(),
        }
    }

    fn rows(&self, group: &Group, label: Vec<(String, String)>, a: &str, b: &str) -> Vec<Comparison> {
        let of_side = |side: &str| -> Vec<u32> {
            let is = |index: &u32| {
                self.evidence.case(*index).is_some_and(|case| side_label(case, &self.projection.cols) == side)
            };
            group.cases.iter().copied().filter(is).collect()
        };
        let (cases_a, cases_b) = (of_side(a), of_side(b));
        if cases_a.is_empty() || cases_b.is_empty() {
            return Vec::new();
        }
        let matched = matched_cases(self.evidence, &cases_a, &cases_b, &self.unused);
        let mut warnings = self.case_warnings(&cases_a, &cases_b);
        if self.rules.pairing == Pairing::Paired {
            warnings.extend(far_apart(self.evidence, &matched.pairs));
        }
        let cases = RowCases {
            labels: (a, b),
            a: &cases_a,
            b: &cases_b,
            matched,
            warnings,
            cut_off_of_systems: survivors::cut_off_of_systems(self.evidence, &self.index.ends, [&cases_a, &cases_b]),
            label,
            no_verdict: self.no_verdict(&cases_a, &cases_b),
        };
        let metrics = self.metrics(&group.cases);
        metrics.iter().map(|metric| row(self.evidence, self.index, &cases, metric, &self.rules)).collect()
    }

    /// The cases that only one of the two sides has.
    pub fn one_sided(&self, a: &str, b: &str) -> Vec<OneSided> {
        let all: Vec<u32> = (0..).zip(&self.evidence.cases).map(|(index, _)| index).collect();
        let keys: Vec<String> = self.projection.by.iter().chain(&self.projection.rows).cloned().collect();
        let lacking = |group: Group| {
            let has = |side: &str| {
                let mut cases = group.cases.iter().filter_map(|index| self.evidence.case(*index));
                cases.any(|case| side_label(case, &self.projection.cols) == side)
            };
            let lacks = match (has(a), has(b)) {
                (true, false) => SideLetter::B,
                (false, true) => SideLetter::A,
                _ => return None,
            };
            let first = self.evidence.case(*group.cases.first()?)?;
            let label = first.label(&self.evidence.header.plan.varying_keys(&first.benchmark));
            let name = label.strip_suffix(&format!(" @ {}", first.system)).unwrap_or(&label).to_owned();
            Some(OneSided { a: a.to_owned(), b: b.to_owned(), name, lacks })
        };
        self.grouped(&all, &keys).into_iter().filter_map(lacking).collect()
    }

    fn metrics(&self, cases: &[u32]) -> Vec<Metric> {
        let mut metrics: Vec<Metric> = Vec::new();
        for case in cases.iter().filter_map(|index| self.evidence.case(*index)) {
            for metric in self.index.metrics.get(&case.benchmark).into_iter().flatten() {
                if !metrics.iter().any(|known| known.id == metric.id) {
                    metrics.push(metric.clone());
                }
            }
        }
        metrics.sort_by_key(|metric| metric.role);
        metrics
    }

    /// Prevents verdicts on all metrics of these cases.
    fn no_verdict(&self, a: &[u32], b: &[u32]) -> Option<NoVerdict> {
        let both = [a, b].concat();
        if self.rules.order == TimeOrder::Sequential {
            return Some(NoVerdict::SequentialOrder);
        }
        voiding_mark(self.evidence, &both).or_else(|| self.unequal_durability(a, b))
    }

    fn unequal_durability(&self, a: &[u32], b: &[u32]) -> Option<NoVerdict> {
        if self.rules.unequal_durability != AllowedBy::Nobody {
            return None;
        }
        let (a, b) = (weakest_tier(self.evidence, a), weakest_tier(self.evidence, b));
        (a != b).then_some(NoVerdict::UnequalDurability { a, b })
    }

    fn case_warnings(&self, a: &[u32], b: &[u32]) -> Vec<Warning> {
        let mut warnings = self.key_warnings(a, b);
        let servers = |cases: &[u32]| -> Vec<&str> {
            let systems = cases.iter().filter_map(|i| self.evidence.case(*i)).map(|case| case.system.as_str());
            let mut servers: Vec<&str> = systems.map(|system| self.evidence.server_of(system)).collect();
            servers.dedup();
            servers
        };
        if self.projection.cols == [KEY_SYSTEM] && servers(a) == servers(b) {
            warnings.push(Warning::SameServer { detectable: None });
        }
        for (cases, letter) in [(a, SideLetter::A), (b, SideLetter::B)] {
            warnings.extend(self.dropped(cases, letter));
            warnings.extend(marks(self.evidence, cases, Some(letter)));
        }
        warnings.extend(disturbance::warnings(self.evidence, a, b));
        warnings
    }

    /// Unused keys that vary.
    fn key_warnings(&self, a: &[u32], b: &[u32]) -> Vec<Warning> {
        let cases = |indices: &[u32]| -> Vec<&model::Case> {
            indices.iter().filter_map(|index| self.evidence.case(*index)).collect()
        };
        let (cases_a, cases_b) = (cases(a), cases(b));
        let apart = self.evidence.apart.as_ref();
        let mut pooled = hidden(&cases_a, &self.unused);
        pooled.extend(hidden(&cases_b, &self.unused));
        pooled.sort();
        pooled.dedup();
        let both: Vec<&model::Case> = cases_a.into_iter().chain(cases_b).collect();
        let of_plans = both.first().and_then(|case| apart?.confounded.get(&case.benchmark)).into_iter().flatten();
        let confounded: Vec<String> = hidden(&both, &self.unused)
            .into_iter()
            .filter(|key| !pooled.contains(key))
            .chain(of_plans.cloned())
            .collect();
        let pooled = (!pooled.is_empty()).then_some(Warning::PooledKeys { keys: pooled });
        let confounded = (!confounded.is_empty()).then_some(Warning::ConfoundedKeys { keys: confounded });
        pooled.into_iter().chain(confounded).collect()
    }

    /// Failed places of these cases, and attempts that were repeated.
    fn dropped(&self, cases: &[u32], side: SideLetter) -> Option<Warning> {
        let last = self.evidence.last_attempts();
        let has_failed = |run: &&store::StoredRun| run.state == RunState::Failed;
        let of_cases = |run: &&store::StoredRun| cases.contains(&run.planned.case);
        let is_lost = |run: &&store::StoredRun| has_failed(run) || run.state == RunState::Aborted;
        let lost: Vec<&store::StoredRun> = last.iter().copied().filter(of_cases).filter(is_lost).collect();
        let is_repeated = |run: &&store::StoredRun| {
            last.iter().any(|last| last.planned.position == run.planned.position && last.attempt > run.attempt)
        };
        let attempts = self.evidence.runs.iter().filter(of_cases).filter(has_failed);
        let repeated: Vec<&store::StoredRun> = attempts.filter(is_repeated).collect();
        let reason = lost.first().or(repeated.first())?.reason.clone().unwrap_or_default();
        let failed = lost.iter().copied().filter(has_failed).count();
        Some(Warning::Dropped { side, runs: lost.len(), failed, repeated: repeated.len(), reason })
    }
}

/// Of the cases' systems; `None` if one is unknown.
pub fn weakest_tier(evidence: &Evidence, cases: &[u32]) -> Option<DurabilityTier> {
    let systems = cases.iter().filter_map(|index| evidence.case(*index)).map(|case| case.system.as_str());
    let tiers: Option<Vec<DurabilityTier>> =
        systems.map(|system| Some(evidence.facts_of(system)?.durability()?.tier)).collect();
    tiers?.into_iter().min()
}

/// One table per metric, with the metric in the title.
fn split_by_metric(table: Table) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    for row in &table.rows {
        let title = ("metric".to_owned(), row.metric.id.clone());
        match tables.iter_mut().find(|t| t.title.last() == Some(&title)) {
            Some(own) => own.rows.push(row.clone()),
            None => {
                let mut own = Table { rows: vec![row.clone()], ..table.clone() };
                own.title.push(title);
                tables.push(own);
            }
        }
    }
    tables
}
