use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use model::{DurabilityTier, Metric, Role, RunState};

use super::answers::{fill_query_shares, sort_by_change, why_answers_cached, why_answers_differ};
use super::disturbance::{self, Readings};
use super::families::is_of_queries;
use super::judging::{Index, RowCases, make_row, mark_warnings, voiding_mark, why_system_changed};
use super::matching::{matched_cases, warn_far_apart};
use super::missing_runs;
use super::options::{MetricFilter, Pairing};
use super::projection::{KEY_SYSTEM, Projection, side_label, values_of_keys, varying_keys};

use super::row::{Comparison, DifferentRows, NoVerdict, Outcome, SideLetter};
use super::set::{AllowedBy, OneSided, Rules, Table, TimeOrder, is_shown};
use super::warning::Warning;
use super::work;
use crate::evidence::Evidence;
use crate::lookup::Lookup;
use crate::number::count_noun;

pub struct Builder<'a> {
    evidence: &'a Evidence,
    index: &'a Index<'a>,
    projection: &'a Projection,
    rules: Rules,
    unused: Vec<String>,
    /// See [`missing_runs::count_cut_off`].
    cut_off: BTreeMap<&'a str, usize>,
    /// What was read of other programs, if it disturbed any run.
    disturbing: Option<Readings>,
}

/// What becomes of a table's rows once they are judged.
#[derive(Clone, Copy)]
pub enum RowUse<'a> {
    /// Those of these metrics are shown.
    Shown(&'a MetricFilter),
    /// They only make the family as large as it is.
    FamilyOnly,
}

/// Cases that share the values of some keys.
struct Group {
    values: Vec<String>,
    cases: Vec<u32>,
}

impl<'a> Builder<'a> {
    /// Makes the builder of tables, with what it reads from the evidence once for all of them.
    pub fn new(evidence: &'a Evidence, index: &'a Index<'a>, projection: &'a Projection, rules: Rules) -> Builder<'a> {
        let unused = projection.unused_keys(&evidence.cases);
        let cut_off = missing_runs::count_cut_off(evidence, &index.ends);
        let disturbing = disturbance::read_disturbances(evidence);
        Builder { evidence, index, projection, rules, unused, cut_off, disturbing }
    }

    /// Makes the tables that compare two sides, in the order of the plan's cases; tables without rows are left out.
    pub fn tables_of_sides(&self, a: &str, b: &str, row_use: RowUse<'_>) -> Vec<Table> {
        let all: Vec<u32> = (0..).zip(&self.evidence.cases).map(|(index, _)| index).collect();
        let mut tables = Vec::new();
        for group in self.group_cases(&all, &self.projection.by) {
            let table = self.group_table(&group, a, b, row_use);
            if self.projection.table_per_metric {
                tables.extend(split_by_metric(table));
            } else {
                tables.push(table);
            }
        }
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// Groups cases by their values of keys.
    fn group_cases(&self, cases: &[u32], keys: &[String]) -> Vec<Group> {
        let mut groups: IndexMap<Vec<String>, Vec<u32>> = IndexMap::new();
        for &index in cases {
            let Some(case) = self.evidence.case(index) else { continue };
            groups.entry(values_of_keys(case, keys)).or_default().push(index);
        }
        groups.into_iter().map(|(values, cases)| Group { values, cases }).collect()
    }

    /// Makes the table of a group of cases, with a row for each case and metric that two sides have.
    fn group_table(&self, group: &Group, a: &str, b: &str, row_use: RowUse<'_>) -> Table {
        let title = self.projection.by.iter().cloned().zip(group.values.iter().cloned()).collect();
        let row_groups = self.group_cases(&group.cases, &self.projection.rows);
        let tells_apart: Vec<bool> = (0..self.projection.rows.len())
            .map(|key| row_groups.iter().any(|row| row.values.get(key) != row_groups[0].values.get(key)))
            .collect();
        let mut rows = Vec::new();
        for row_group in &row_groups {
            let label = self.projection.rows.iter().cloned().zip(row_group.values.iter().cloned());
            let label = label.zip(&tells_apart).filter(|(_, apart)| **apart).map(|(pair, _)| pair).collect();
            rows.extend(self.group_rows(row_group, label, (a, b), row_use));
        }
        let differences = if self.projection.cols == [KEY_SYSTEM] { self.fact_differences(a, b) } else { Vec::new() };
        Table { title, compared: self.projection.cols.join(", "), a: a.to_owned(), b: b.to_owned(), rows, differences }
    }

    /// Lists the facts in which two systems differ.
    fn fact_differences(&self, a: &str, b: &str) -> Vec<model::facts::Difference> {
        match (self.evidence.facts_of(a), self.evidence.facts_of(b)) {
            (Some(a), Some(b)) => a.differences_of_sides(b),
            _ => Vec::new(),
        }
    }

    /// Makes the rows of a group under a label; none if a side has no case in it.
    fn group_rows(
        &self,
        group: &Group,
        label: Vec<(String, String)>,
        (a, b): (&str, &str),
        row_use: RowUse<'_>,
    ) -> Vec<Comparison> {
        let (cases_a, cases_b) = (self.cases_of_side(group, a), self.cases_of_side(group, b));
        if cases_a.is_empty() || cases_b.is_empty() {
            return Vec::new();
        }
        let matched = matched_cases(self.evidence, &cases_a, &cases_b, &self.unused);
        let mut warnings = self.case_warnings(&cases_a, &cases_b);
        let mut no_verdict = self.why_cases_have_no_verdict(&cases_a, &cases_b);
        let different_rows = self.different_rows(&cases_a, &cases_b);
        match self.rules.different_rows {
            AllowedBy::Nothing => no_verdict = no_verdict.or(different_rows.map(NoVerdict::DifferentRows)),
            allowed => warnings.extend(different_rows.map(|found| Warning::DifferentRows { found, allowed })),
        }
        if self.rules.pairing == Pairing::Paired {
            warnings.extend(warn_far_apart(&self.index.lookup, &matched.pairs));
        }
        let cases = RowCases {
            labels: (a, b),
            a: &cases_a,
            b: &cases_b,
            matched,
            warnings,
            cut_off_of_systems: missing_runs::cut_off_of_systems(self.evidence, &self.cut_off, [&cases_a, &cases_b]),
            label,
            no_verdict,
            is_shown: &|metric| matches!(row_use, RowUse::Shown(filter) if is_shown(filter, metric)),
        };
        let metrics = self.metrics_of_cases(&group.cases);
        let rows = metrics.iter().map(|metric| {
            let row = make_row(self.evidence, self.index, &cases, metric, &self.rules);
            let sides = (cases_a.as_slice(), cases_b.as_slice());
            let several = why_answers_differ(self.index, sides, metric, &metrics);
            match several.or_else(|| why_answers_cached(self.index, sides, metric, &metrics)) {
                Some(why) if metric.role != Role::Diagnostic && !self.says_why_missing(&row, sides) => {
                    Comparison { outcome: Outcome::None(why), ..row }
                }
                _ => row,
            }
        });
        let mut rows: Vec<Comparison> = rows.collect();
        if self.are_read_only(&cases_a) {
            sort_by_change(&mut rows);
            fill_query_shares(&mut rows);
        }
        rows
    }

    /// Whether a row has no value on a side that says why. A replay has no time of what failed in each execution, as it may
    /// have in the capture.
    fn says_why_missing(&self, row: &Comparison, (a, b): (&[u32], &[u32])) -> bool {
        let id = row.metric.id.as_str();
        let is_unsaid = |cases: &[u32]| {
            self.index.points_of_cases(cases, id).is_empty() && self.index.missing_reasons(cases, id).is_empty()
        };
        matches!(row.why_no_verdict(), Some(NoVerdict::NotAvailable { .. })) && !is_unsaid(a) && !is_unsaid(b)
    }

    /// Whether the cases' workloads write nothing, so that what a commit promises does not matter.
    fn are_read_only(&self, cases: &[u32]) -> bool {
        self.cases(cases).iter().all(|case| is_of_queries(case))
    }

    /// Finds the cases of a group that belong to a side.
    fn cases_of_side(&self, group: &Group, side: &str) -> Vec<u32> {
        group
            .cases
            .iter()
            .copied()
            .filter(|index| {
                self.evidence.case(*index).is_some_and(|case| side_label(case, &self.projection.cols) == side)
            })
            .collect()
    }

    /// Lists the cases that only one of the two sides has.
    pub fn one_sided(&self, a: &str, b: &str) -> Vec<OneSided> {
        let all: Vec<u32> = (0..).zip(&self.evidence.cases).map(|(index, _)| index).collect();
        let keys: Vec<String> = self.projection.by.iter().chain(&self.projection.rows).cloned().collect();
        self.group_cases(&all, &keys)
            .into_iter()
            .filter_map(|group| {
                let missing_from = match (self.has_side(&group, a), self.has_side(&group, b)) {
                    (true, false) => SideLetter::B,
                    (false, true) => SideLetter::A,
                    _ => return None,
                };
                let first = self.evidence.case(*group.cases.first()?)?;
                let label = first.label(self.index.lookup.varying_keys(&first.benchmark));
                let name = label.strip_suffix(&format!(" @ {}", first.system)).unwrap_or(&label).to_owned();
                Some(OneSided { a: a.to_owned(), b: b.to_owned(), name, missing_from })
            })
            .collect()
    }

    /// Tests whether a group has cases of a side.
    fn has_side(&self, group: &Group, side: &str) -> bool {
        let mut cases = group.cases.iter().filter_map(|index| self.evidence.case(*index));
        cases.any(|case| side_label(case, &self.projection.cols) == side)
    }

    /// Lists the metrics of cases, each once, ordered by role.
    fn metrics_of_cases(&self, cases: &[u32]) -> Vec<Metric> {
        let (mut metrics, mut known) = (Vec::new(), BTreeSet::new());
        for case in cases.iter().filter_map(|index| self.evidence.case(*index)) {
            for metric in self.index.metrics.get(&case.benchmark).into_iter().flatten() {
                if known.insert(&metric.id) {
                    metrics.push(metric.clone());
                }
            }
        }
        metrics.sort_by_key(|metric| metric.role);
        metrics
    }

    /// Says why no metric of these cases has a verdict: order, change, mark or durability; `None` if nothing prevents one.
    fn why_cases_have_no_verdict(&self, a: &[u32], b: &[u32]) -> Option<NoVerdict> {
        let both = [a, b].concat();
        if self.rules.order == TimeOrder::Sequential {
            return Some(NoVerdict::SequentialOrder);
        }
        why_system_changed(&self.index.lookup, a, SideLetter::A)
            .or_else(|| why_system_changed(&self.index.lookup, b, SideLetter::B))
            .or_else(|| voiding_mark(&self.index.lookup, &both))
            .or_else(|| self.why_durability_differs(a, b))
    }

    /// Finds a difference in rows between sides of one plan; `None` where the plans differ, as the row says that instead.
    fn different_rows(&self, a: &[u32], b: &[u32]) -> Option<DifferentRows> {
        let benchmark = &self.evidence.case(*a.first()?)?.benchmark;
        let is_confounded = self.evidence.apart.as_ref().is_some_and(|apart| apart.confounded.contains_key(benchmark));
        if is_confounded {
            return None;
        }
        work::find_different_work(self.evidence, self.index, (a, b), &self.rules)
    }

    /// Says why there is no verdict if the sides' commits promise different things.
    fn why_durability_differs(&self, a: &[u32], b: &[u32]) -> Option<NoVerdict> {
        if self.rules.unequal_durability != AllowedBy::Nothing || (self.are_read_only(a) && self.are_read_only(b)) {
            return None;
        }
        let lookup = &self.index.lookup;
        let (a, b) = (weakest_tier(lookup, a), weakest_tier(lookup, b));
        (a != b).then_some(NoVerdict::UnequalDurability { a, b })
    }

    /// Lists the warnings about cases, the same for all of their metrics.
    fn case_warnings(&self, a: &[u32], b: &[u32]) -> Vec<Warning> {
        let mut warnings = self.varying_key_warnings(a, b);
        if self.projection.cols == [KEY_SYSTEM] && self.servers_of_cases(a) == self.servers_of_cases(b) {
            warnings.push(Warning::SameServer { detectable: None });
        }
        for (cases, letter) in [(a, SideLetter::A), (b, SideLetter::B)] {
            warnings.extend(self.dropped_warning(cases, letter));
            warnings.extend(mark_warnings(&self.index.lookup, cases, Some(letter)));
        }
        let disturbing = self.disturbing.iter();
        warnings.extend(
            disturbing.flat_map(|readings| disturbance::disturbance_warnings(&self.index.lookup, readings, a, b)),
        );
        warnings
    }

    /// Names the servers of cases, without repeats next to each other.
    fn servers_of_cases(&self, cases: &[u32]) -> Vec<&'a str> {
        let systems = cases.iter().filter_map(|i| self.evidence.case(*i)).map(|case| case.system.as_str());
        let mut servers: Vec<&str> = systems.map(|system| self.evidence.server_of(system)).collect();
        servers.dedup();
        servers
    }

    /// Warns of unused keys that vary: within a side, or between the sides.
    fn varying_key_warnings(&self, a: &[u32], b: &[u32]) -> Vec<Warning> {
        let (cases_a, cases_b) = (self.cases(a), self.cases(b));
        let apart = self.evidence.apart.as_ref();
        let mut pooled = varying_keys(&cases_a, &self.unused);
        pooled.extend(varying_keys(&cases_b, &self.unused));
        pooled.sort();
        pooled.dedup();
        let both: Vec<&model::Case> = cases_a.into_iter().chain(cases_b).collect();
        let of_plans = both.first().and_then(|case| apart?.confounded.get(&case.benchmark)).into_iter().flatten();
        let confounded: Vec<String> = varying_keys(&both, &self.unused)
            .into_iter()
            .filter(|key| !pooled.contains(key))
            .chain(of_plans.cloned())
            .collect();
        let pooled = (!pooled.is_empty()).then_some(Warning::PooledKeys { keys: pooled });
        let confounded = (!confounded.is_empty()).then_some(Warning::ConfoundedKeys { keys: confounded });
        pooled.into_iter().chain(confounded).collect()
    }

    /// Looks up the cases of these indices.
    fn cases(&self, indices: &[u32]) -> Vec<&'a model::Case> {
        indices.iter().filter_map(|index| self.evidence.case(*index)).collect()
    }

    /// Warns of failed positions of these cases, and of attempts that were repeated; `None` without any.
    fn dropped_warning(&self, cases: &[u32], side: SideLetter) -> Option<Warning> {
        let lookup = &self.index.lookup;
        let lost: Vec<&store::StoredRun> =
            lookup.last_attempts(cases).filter(|run| has_failed(run) || run.state == RunState::Aborted).collect();
        let last: BTreeMap<u32, u32> =
            lookup.last_attempts(cases).map(|last| (last.planned.position, last.attempt)).collect();
        let attempts = lookup.attempts_of_cases(cases).filter(|run| has_failed(run));
        let repeated: Vec<&store::StoredRun> =
            attempts.filter(|run| last.get(&run.planned.position).is_some_and(|last| *last > run.attempt)).collect();
        let reported = if lost.is_empty() { &repeated } else { &lost };
        let first = reported.first()?.reason.clone().unwrap_or_default();
        let others: BTreeSet<&Option<String>> = reported[1..].iter().map(|run| &run.reason).collect();
        let others = others.into_iter().filter(|reason| reason.as_deref().unwrap_or_default() != first).count();
        let reason = if others > 0 { format!("{first}, and {}", count_noun(others, "other reason")) } else { first };
        let failed = lost.iter().copied().filter(|run| has_failed(run)).count();
        Some(Warning::Dropped { side, runs: lost.len(), failed, repeated: repeated.len(), reason })
    }
}

/// Whether a run ended as failed; an aborted one did not.
fn has_failed(run: &store::StoredRun) -> bool {
    run.state == RunState::Failed
}

/// The weakest durability of the cases' runs; `None` if that of one is not known.
fn weakest_tier(lookup: &Lookup<'_>, cases: &[u32]) -> Option<DurabilityTier> {
    let tiers: Option<Vec<DurabilityTier>> = cases.iter().map(|case| lookup.durability_of_case(*case)).collect();
    tiers?.into_iter().min()
}

/// Splits a table into one per metric, with the metric in the title.
fn split_by_metric(table: Table) -> Vec<Table> {
    let mut tables: IndexMap<String, Table> = IndexMap::new();
    let Table { title, compared, a, b, rows, differences } = table;
    for row in rows {
        let table = tables.entry(row.metric.id.clone()).or_insert_with_key(|metric| {
            let mut title = title.clone();
            title.push(("metric".to_owned(), metric.clone()));
            let (compared, a, b, differences) = (compared.clone(), a.clone(), b.clone(), differences.clone());
            Table { title, compared, a, b, rows: Vec::new(), differences }
        });
        table.rows.push(row);
    }
    tables.into_values().collect()
}
