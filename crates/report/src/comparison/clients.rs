//! Throughput by number of clients: published as a curve per system and bars at three numbers of clients. A peak is the
//! highest *mean*.

use model::Case;

use super::curves::{CurveGroup, at_promise, first_known_metric, group_curves, rate_of, system_curves};
use super::judging::Index;
use super::set::Rules;
use crate::evidence::Evidence;

/// The key that is swept.
const CLIENTS: &str = "clients";
/// The published test has bars here.
const PUBLISHED: [i64; 3] = [4, 40, 80];

impl CurveGroup {
    /// The numbers of clients to draw bars at: the published 4, 40 and 80 if two were measured, else fewest, middle and most.
    pub fn bars_at(&self) -> Vec<i64> {
        let all = self.places();
        let published: Vec<i64> = PUBLISHED.into_iter().filter(|clients| all.contains(clients)).collect();
        if published.len() > 1 {
            return published;
        }
        let mut three: Vec<i64> =
            [0, all.len() / 2, all.len().saturating_sub(1)].iter().filter_map(|at| all.get(*at)).copied().collect();
        three.dedup();
        three
    }
}

/// Makes the curves of throughput over clients, in the plan's order; each has at least two numbers of clients.
pub fn client_curves(evidence: &Evidence, index: &Index<'_>, systems: &[String], rules: &Rules) -> Vec<CurveGroup> {
    let all = group_curves(evidence, systems, CLIENTS, |_| true);
    all.into_iter()
        .filter_map(|cases| {
            let metric = first_known_metric(index, &cases[0].1.benchmark, rate_of(cases[0].1, &["throughput"]))?;
            let curves = system_curves(evidence, index, rules, &cases, CLIENTS, &metric, [&[], &[]]);
            let label = case_label(index, cases[0].1, CLIENTS) + at_promise(cases[0].1);
            Some(CurveGroup { key: CLIENTS, label, metric, curves })
        })
        .filter(|group| group.places().len() > 1)
        .collect()
}

/// Names a case by its benchmark and varying keys, without the key `but`: `update-select, protocol=prepared`.
pub(super) fn case_label(index: &Index<'_>, case: &Case, but: &str) -> String {
    let further = index.lookup.varying_keys(&case.benchmark).iter().filter(|key| *key != but);
    let further = further.filter_map(|key| Some(format!("{key}={}", case.point.get(key)?)));
    std::iter::once(case.benchmark.clone()).chain(further).collect::<Vec<_>>().join(", ")
}
