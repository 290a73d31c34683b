//! The plans by which queries were answered: whether the sides have the same, and whether one changed on the way.

use std::collections::BTreeMap;

use model::{Metric, Role, RunState};
use sha2::{Digest as _, Sha256};
use store::StoredRun;

use super::row::SideLetter;
use super::warning::Warning;
use crate::evidence::Evidence;

/// Lines of a plan that are compared with another's; a longer plan is shown without marks.
const MOST_LINES: usize = 2_000;

/// A plan, or why it was not read.
type PlanText<'a> = Result<&'a str, &'a str>;
/// Plans with their rounds.
type PlansOfRounds<'a> = Vec<(u32, PlanText<'a>)>;

/// What the runs of a case say of a query's plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanOfQuery<'a> {
    /// The last that was read, or why none was.
    pub text: PlanText<'a>,
    /// The first round, from 0, with another plan than before.
    pub changed_in: Option<u32>,
}

impl<'a> PlanOfQuery<'a> {
    /// Finds the last known plan of a query in these runs, and the first round in which it changed.
    fn from_runs(runs: &[(u32, PlanText<'a>)]) -> Option<PlanOfQuery<'a>> {
        let read: Vec<(u32, &str)> = runs.iter().filter_map(|(round, text)| Some((*round, text.ok()?))).collect();
        let changed_in = read.windows(2).find(|pair| pair[0].1 != pair[1].1).map(|pair| pair[1].0);
        let text = read.last().map_or(runs.last()?.1, |(_, text)| Ok(*text));
        Some(PlanOfQuery { text, changed_in })
    }
}

/// The plans of measured runs by case and query, in the order of the runs.
pub struct Plans<'a>(BTreeMap<(u32, &'a str), PlansOfRounds<'a>>);

impl<'a> Plans<'a> {
    /// Collects the query plans of measured runs, by case and query.
    pub fn new(evidence: &'a Evidence) -> Plans<'a> {
        let mut plans: BTreeMap<(u32, &str), PlansOfRounds<'_>> = BTreeMap::new();
        if evidence.query_plans.is_empty() {
            return Plans(plans);
        }
        let measured = evidence.runs.iter().filter(|run| run.state == RunState::Measured);
        let runs: BTreeMap<i64, &StoredRun> = measured.map(|run| (run.id, run)).collect();
        for (id, plan) in &evidence.query_plans {
            if let Some(run) = runs.get(id) {
                let text = plan.text.as_deref().map_err(String::as_str);
                plans.entry((run.planned.case, &plan.query)).or_default().push((run.planned.round, text));
            }
        }
        plans.values_mut().for_each(|of_query| of_query.sort_by_key(|(round, _)| *round));
        Plans(plans)
    }

    /// Lists the queries of a case by name, each with its plan or a reason why it has none.
    pub fn queries_of_case(&self, case: u32) -> impl Iterator<Item = (&'a str, PlanOfQuery<'a>)> {
        let own = self.0.range((case, "")..).take_while(move |((other, _), _)| *other == case);
        own.filter_map(|((_, query), runs)| Some((*query, PlanOfQuery::from_runs(runs)?)))
    }

    /// Finds a query's plan over all runs of these cases.
    fn of_query(&self, cases: &[u32], query: &str) -> Option<PlanOfQuery<'a>> {
        let runs: Vec<_> = cases.iter().filter_map(|case| self.0.get(&(*case, query))).flatten().copied().collect();
        PlanOfQuery::from_runs(&runs)
    }

    /// Whether the sides answered the query of a primary metric by different plans; warns where one changed.
    /// `None` where that is not known.
    pub fn compare_plans_and_warn(
        &self,
        evidence: &Evidence,
        (a, b): (&[u32], &[u32]),
        metric: &Metric,
        warnings: &mut Vec<Warning>,
    ) -> Option<bool> {
        if metric.role != Role::Primary || self.0.is_empty() {
            return None;
        }
        let (_, query) = metric.id.split_once('/')?;
        let sides = [(SideLetter::A, self.of_query(a, query)), (SideLetter::B, self.of_query(b, query))];
        for (side, plan) in &sides {
            let round = plan.as_ref().and_then(|plan| plan.changed_in);
            warnings.extend(round.map(|round| Warning::PlanChanged { side: *side, query: query.to_owned(), round }));
        }
        self.plans_differ(evidence, (a, b), query)
    }

    /// Whether the sides answered a query by different plans; `None` where a side has none, or they are different products.
    pub fn plans_differ(&self, evidence: &Evidence, (a, b): (&[u32], &[u32]), query: &str) -> Option<bool> {
        let (plan_a, plan_b) = (self.of_query(a, query)?.text.ok()?, self.of_query(b, query)?.text.ok()?);
        let (product_a, product_b) = (product_of(evidence, a)?, product_of(evidence, b)?);
        (product_a == product_b).then(|| plan_a != plan_b)
    }
}

/// The product that cases were measured on, by the first of them.
fn product_of<'e>(evidence: &'e Evidence, cases: &[u32]) -> Option<&'e str> {
    evidence.facts_of(&evidence.case(*cases.first()?)?.system)?.get("server.product")
}

/// The first digits of a plan's hash, by which people and programs distinguish plans.
pub fn plan_fingerprint(plan: &str) -> String {
    Sha256::digest(plan.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// Marks the lines of a plan that are not, in this order, in the other; none in plans that are too long.
pub fn differing_lines<'p>(plan: &'p str, other: &str) -> Vec<(&'p str, bool)> {
    let (own, other): (Vec<&str>, Vec<&str>) = (plan.lines().collect(), other.lines().collect());
    if own.len().max(other.len()) > MOST_LINES {
        return own.into_iter().map(|line| (line, false)).collect();
    }
    // Length of the longest common subsequence of what follows each pair of lines.
    let mut common = vec![vec![0_u32; other.len() + 1]; own.len() + 1];
    for at in (0..own.len()).rev() {
        for there in (0..other.len()).rev() {
            common[at][there] = if own[at] == other[there] {
                common[at + 1][there + 1] + 1
            } else {
                common[at + 1][there].max(common[at][there + 1])
            };
        }
    }
    let mut there = 0;
    let lines = own.iter().enumerate().map(|(at, line)| {
        while there < other.len() && other[there] != *line && common[at][there] == common[at][there + 1] {
            there += 1;
        }
        let is_common = other.get(there) == Some(line);
        there += usize::from(is_common);
        (*line, !is_common)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(plan: &str, other: &str) -> String {
        differing_lines(plan, other).into_iter().map(|(_, differs)| if differs { 'x' } else { '.' }).collect()
    }

    #[test]
    fn lines_that_differ_are_marked_on_both_sides() {
        let (with, without) = ("Aggregate\n  Index Scan\n    Cond", "Aggregate\n  Seq Scan\n    Cond\n    Filter");
        assert_eq!((marked(with, without), marked(without, with)), (".x.".to_owned(), ".x.x".to_owned()));
        assert_eq!(marked(with, with), "...");
        assert_eq!(marked("a\nb\na\nc", "a\nc"), ".xx.");
        assert_eq!(marked("a", ""), "x");
        assert_eq!(marked("b\na\nb", "a\nb\nb"), ".x.");
    }

    #[test]
    fn a_plan_that_changes_between_rounds_is_dated() {
        let runs = [(0, Ok("a")), (1, Err("gone")), (2, Ok("a")), (3, Ok("b")), (4, Ok("b"))];
        assert_eq!(PlanOfQuery::from_runs(&runs), Some(PlanOfQuery { text: Ok("b"), changed_in: Some(3) }));
        assert_eq!(PlanOfQuery::from_runs(&runs[1..2]), Some(PlanOfQuery { text: Err("gone"), changed_in: None }));
        assert_eq!(PlanOfQuery::from_runs(&[]), None);
    }
}
