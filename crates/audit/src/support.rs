//! What the rows of a table allow to conclude.

use std::collections::{BTreeMap, BTreeSet};

use model::Direction;
use stats::{Ratio, RunValue, Sample, Verdict};

use crate::expression::Expression;
use crate::level::{Level, LevelKind, levels};
use crate::statistic::{Estimate, Statistic};
use crate::table::{Claim, Facts, Keys};

/// Level of the intervals.
pub const LEVEL: f64 = 0.95;

#[derive(Clone, Debug, PartialEq)]
pub enum Ground {
    Verdict(Verdict),
    None(String),
}

/// One metric of one cell, of two sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Support {
    pub what: String,
    pub a: String,
    pub b: String,
    pub n: (u64, u64),
    /// With enough rows.
    pub estimate: Option<Estimated>,
    pub ground: Ground,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// Geometric mean of B over that of A.
    pub ratio: f64,
    pub lo: f64,
    pub hi: f64,
    /// p of Welch's test on logarithms.
    pub p: f64,
    /// Holm-adjusted over the table's metrics.
    pub p_holm: f64,
}

/// For each metric with a printed figure.
pub fn supports(facts: &Facts) -> Vec<Support> {
    let mut systems = facts.systems();
    let Some(first) = systems.next() else { return Vec::new() };
    let others: Vec<&str> = systems.collect();
    let mut formulas: BTreeMap<(&Keys, &str), &Expression> = BTreeMap::new();
    for claim in &facts.claims {
        if let Some(formula) = &claim.formula {
            formulas.entry((&claim.keys, &claim.metric)).or_insert(formula);
        }
    }
    let mut supports = Vec::new();
    let mut directions = Vec::new();
    let mut seen = BTreeSet::new();
    for claim in facts.claims.iter().filter(|claim| claim.statistic.is_some_and(judges)) {
        if !seen.insert((claim.keys.clone(), claim.metric.clone())) {
            continue;
        }
        let formula = formulas.get(&(&claim.keys, claim.metric.as_str())).copied();
        for other in &others {
            if let Some(support) = one(facts, claim, formula, first, other) {
                supports.push(support);
                directions.push(crate::estimate::direction(facts, claim));
            }
        }
    }
    judge(&mut supports, &directions);
    supports
}

/// Whether a verdict would rest on it.
fn judges(statistic: Statistic) -> bool {
    use Estimate::{Best, Max, Mean, Median, Min, Trimmed};
    matches!(statistic.estimate, Mean | Trimmed | Median | Best | Min | Max)
}

/// The rows, else the printed table's cells.
fn level(facts: &Facts, system: &str, claim: &Claim, formula: Option<&Expression>) -> Option<Level> {
    levels(facts, system, &claim.keys, &claim.metric, formula).into_iter().find(|level| level.kind != LevelKind::Sums)
}

fn one(facts: &Facts, claim: &Claim, formula: Option<&Expression>, a: &str, b: &str) -> Option<Support> {
    let Claim { keys, metric, .. } = claim;
    let printed = |system| facts.printed(system, keys, metric).any(|claim| claim.printed.value.is_some());
    let (side_a, side_b) = (level(facts, a, claim, formula), level(facts, b, claim, formula));
    let exists = |side: &Option<Level>, system| side.is_some() || printed(system);
    if !exists(&side_a, a) || !exists(&side_b, b) {
        return None;
    }
    let count = |side: &Option<Level>| side.as_ref().map_or(0, Level::n);
    let words: Vec<&str> = keys.values().map(String::as_str).chain([metric.as_str()]).collect();
    let mut support = Support {
        what: words.join(" "),
        a: a.to_owned(),
        b: b.to_owned(),
        n: (count(&side_a), count(&side_b)),
        estimate: None,
        ground: Ground::None("the rows are not published, only their summary".to_owned()),
    };
    let (Some(side_a), Some(side_b)) = (side_a, side_b) else { return Some(support) };
    if side_a.are_executions || side_b.are_executions {
        support.ground =
            Ground::None("these are executions of one run a side; the run is the unit, and there is one".to_owned());
        return Some(support);
    }
    if support.n == (1, 1) {
        support.ground = Ground::None("one run a side: nothing tells its spread".to_owned());
        return Some(support);
    }
    match stats::welch_ratio(&sample(&side_a), &sample(&side_b), LEVEL) {
        Err(error) => support.ground = Ground::None(error.to_string()),
        Ok(found) => {
            support.estimate =
                Some(Estimated { ratio: found.ratio, lo: found.lo, hi: found.hi, p: found.p, p_holm: found.p });
        }
    }
    Some(support)
}

/// Each repetition is a run.
fn sample(level: &Level) -> Sample {
    Sample::from_runs((0..).zip(&level.values).map(|(round, v)| RunValue { round, value: v.value }))
}

fn judge(supports: &mut [Support], directions: &[Option<Direction>]) {
    let family: Vec<usize> = (0..supports.len()).filter(|i| supports[*i].estimate.is_some()).collect();
    let p: Vec<f64> = family.iter().filter_map(|i| supports[*i].estimate.map(|e| e.p)).collect();
    for (i, p_holm) in family.into_iter().zip(stats::holm(&p)) {
        let support = &mut supports[i];
        let Some(estimate) = &mut support.estimate else { continue };
        estimate.p_holm = p_holm;
        support.ground = ground(estimate, support.n, directions[i]);
    }
}

fn ground(estimate: &Estimated, n: (u64, u64), direction: Option<Direction>) -> Ground {
    let smaller = u32::try_from(n.0.min(n.1)).unwrap_or(u32::MAX);
    let half_width = (estimate.hi.ln() - estimate.lo.ln()) / 2.0;
    let t = stats::special::student_t_quantile(f64::midpoint(1.0, LEVEL), f64::from(smaller.max(2)) - 1.0);
    let ratio = Ratio {
        ratio: estimate.ratio,
        lo: estimate.lo,
        hi: estimate.hi,
        level: LEVEL,
        pairs: smaller,
        log_sd: half_width * f64::from(smaller).sqrt() / t,
        p_t: estimate.p,
    };
    let direction = match direction {
        Some(Direction::Higher) => stats::Direction::Higher,
        Some(Direction::Lower) => stats::Direction::Lower,
        _ => stats::Direction::Neither,
    };
    let judged = stats::judge(&ratio, estimate.p_holm, direction, stats::DEFAULT_MARGIN, stats::MIN_ROUNDS);
    match (judged.verdict, judged.rounds_needed) {
        (Some(verdict), _) => Ground::Verdict(verdict),
        (None, Some(missing)) => {
            let minimum = stats::MIN_ROUNDS;
            Ground::None(format!("{smaller} repetitions on a side, and a verdict needs {minimum}: {missing} more"))
        }
        (None, None) => Ground::None("they differ, and nothing tells which way is better".to_owned()),
    }
}
