//! Families of verdicts, against chance findings among many questions.
//!
//! The error of an experiment, 1 - level, covers all rows, shown or not: looking at one metric only does not reduce
//! the questions. Holm bounds the chance of any false alarm among primary rows; Benjamini and Hochberg bound the share
//! of false findings among the others. Each family has its part of the error, so that the chance of any false finding
//! stays within the whole.

use model::{Case, Metric, Role};
use stats::PairedRatio;

use super::answers::is_all_queries;
use super::failures::SHARE_MARGIN;
use super::remedy::MOST_MORE;
use super::row::{Comparison, Estimate, NoVerdict, Outcome, Scale, stats_direction};
use super::set::Rules;

/// Workloads whose statements are a family of their own. They only read.
const OF_QUERIES: [&str; 3] = ["queries", "analytics", "replay"];

/// Whether a case's workload times queries, each by itself.
pub(super) fn is_of_queries(case: &Case) -> bool {
    OF_QUERIES.contains(&case.workload.as_str())
}

/// Rows judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Primary rows, adjusted by Holm.
    Primary,
    /// Primary rows of single queries, adjusted by Benjamini and Hochberg: a folder may have many.
    Queries,
    /// All others, adjusted by Benjamini and Hochberg.
    Exploratory,
}

impl Family {
    pub const ALL: [Family; 3] = [Family::Primary, Family::Queries, Family::Exploratory];

    /// The family of a metric of these cases, by its role and whether it is of a single query.
    pub fn new(metric: &Metric, cases: &[&Case]) -> Family {
        let is_query = metric.id.split_once('/').is_some_and(|(_, part)| !is_all_queries(part))
            && cases.iter().all(|case| is_of_queries(case));
        match metric.role {
            Role::Primary if is_query => Family::Queries,
            Role::Primary => Family::Primary,
            Role::Secondary | Role::Diagnostic => Family::Exploratory,
        }
    }

    /// The name, as in JSON, of the method that adjusts the family's p-values.
    pub fn method_name(self) -> &'static str {
        match self {
            Family::Primary => "holm",
            Family::Queries | Family::Exploratory => "benjamini-hochberg",
        }
    }
}

/// Sizes of the families, hidden rows included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Families {
    pub primary: usize,
    pub queries: usize,
    pub exploratory: usize,
}

impl Families {
    /// Number of rows in a family.
    pub fn row_count(&self, family: Family) -> usize {
        match family {
            Family::Primary => self.primary,
            Family::Queries => self.queries,
            Family::Exploratory => self.exploratory,
        }
    }

    /// The family's part of the error; the whole if there is no other.
    pub fn error_part(&self, family: Family) -> f64 {
        let all: f64 = Family::ALL.into_iter().map(|family| self.error_weight(family)).sum();
        if all > 0.0 { self.error_weight(family) / all } else { 1.0 }
    }

    /// The weight of a family's error: primary rows have 4 % of 5 % next to others, and leave three quarters of that to queries.
    fn error_weight(&self, family: Family) -> f64 {
        match family {
            _ if self.row_count(family) == 0 => 0.0,
            Family::Primary if self.queries > 0 => 0.2,
            Family::Primary => 0.8,
            Family::Queries => 0.6,
            Family::Exploratory => 0.2,
        }
    }
}

/// Row index and p-value.
type Asked = (usize, f64);

/// Adjusts the p-values of all families, and judges every row without an obstacle; returns the families' sizes.
pub fn judge_rows(rows: &mut [&mut Comparison], rules: &Rules) -> Families {
    let asked = Family::ALL.map(|family| (family, asked_of_family(rows, rules, family)));
    let [(_, primary), (_, queries), (_, exploratory)] = &asked;
    let families = Families { primary: primary.len(), queries: queries.len(), exploratory: exploratory.len() };
    for (family, asked) in &asked {
        let p: Vec<f64> = asked.iter().map(|(_, p)| *p).collect();
        let adjusted =
            if *family == Family::Primary { stats::adjust_by_holm(&p) } else { stats::benjamini_hochberg(&p) };
        // Scaled to the whole error, so that one threshold serves all.
        let part = families.error_part(*family);
        for ((place, _), adjusted) in asked.iter().zip(adjusted) {
            if let Some(estimate) = &mut rows[*place].estimate {
                estimate.adjusted = Some((adjusted / part).min(1.0));
            }
        }
    }
    for row in rows.iter_mut().filter(|row| is_open(row)) {
        judge_row(row, rules);
    }
    families
}

/// Lists the rows of a family that were asked, by index, with the p-value to adjust.
fn asked_of_family(rows: &[&mut Comparison], rules: &Rules, family: Family) -> Vec<Asked> {
    let own = rows.iter().enumerate().filter(|(_, row)| row.family == family);
    own.filter_map(|(place, row)| Some((place, p_to_adjust(row, rules)?))).collect()
}

/// The p-value of a row that was asked and has enough rounds; `None` for another.
fn p_to_adjust(row: &Comparison, rules: &Rules) -> Option<f64> {
    let estimate = row.estimate.as_ref().filter(|estimate| estimate.rounds >= rules.min_rounds)?;
    is_asked(row).then_some(estimate.p_t)
}

/// Whether enough rounds ask this row, both before it is judged and after.
/// "Differs" counts as a finding without a better side, too. A row that its own values keep from a verdict has been asked like
/// the others: a family that such rows leave would be as small as chance makes it.
pub(crate) fn is_asked(row: &Comparison) -> bool {
    let is_judged =
        matches!(row.why_no_verdict(), None | Some(NoVerdict::TooFewRounds { .. } | NoVerdict::NoBetterSide));
    row.estimate.is_some() && (is_judged || is_kept_by_its_values(row))
}

/// Whether a row's own values keep it from a verdict, by repeated runs or the clock's step.
fn is_kept_by_its_values(row: &Comparison) -> bool {
    let obstacle = row.why_no_verdict();
    matches!(
        obstacle,
        Some(
            NoVerdict::UnderClockStep
                | NoVerdict::Repeated { .. }
                | NoVerdict::CutOff { .. }
                | NoVerdict::MeasuredAgain { .. }
        )
    )
}

/// Whether a row has an estimate and no obstacle, so that it is to be judged.
fn is_open(row: &Comparison) -> bool {
    matches!(row.outcome, Outcome::Verdict(_)) && row.estimate.is_some()
}

/// Gives a row its verdict by its interval and the margin, and the rounds that it still needs.
fn judge_row(row: &mut Comparison, rules: &Rules) {
    let Some(estimate) = &row.estimate else { return };
    let ratio = as_paired_ratio(estimate);
    // Too few rounds for a verdict.
    let p = estimate.adjusted.unwrap_or(1.0);
    let margin = match estimate.scale {
        Scale::Ratio => rules.margin,
        Scale::Points => SHARE_MARGIN,
    };
    let judged = stats::judge(&ratio, p, stats_direction(row.metric.direction), margin, rules.min_rounds);
    let needed = match judged.verdict {
        // What one server seems to differ from itself by is noise, and no number of rounds shows it.
        Some(stats::Verdict::Inconclusive) if row.is_one_server() => stats::rounds_to_settle(&ratio, 1.0, p, margin),
        _ => judged.rounds_needed,
    };
    row.rounds_needed = needed.filter(|missing| *missing <= MOST_MORE);
    row.outcome = match (judged.verdict, judged.rounds_needed) {
        (Some(verdict), _) => Outcome::Verdict(verdict),
        (None, Some(missing)) => Outcome::None(NoVerdict::TooFewRounds { missing }),
        (None, None) => Outcome::None(NoVerdict::NoBetterSide),
    };
}

/// Converts an estimate for [`stats::judge`].
/// Unpaired data have no spread between rounds: the equivalent one for as
/// many rounds as the smaller side has runs stands in, so that "rounds needed" means runs per side.
fn as_paired_ratio(estimate: &Estimate) -> PairedRatio {
    let n = f64::from(estimate.rounds.max(2));
    PairedRatio {
        ratio: estimate.ratio,
        lo: estimate.lo,
        hi: estimate.hi,
        level: estimate.level,
        pairs: estimate.rounds,
        log_sd: estimate.log_sd.unwrap_or_else(|| {
            let half_width = (estimate.hi.ln() - estimate.lo.ln()) / 2.0;
            half_width * n.sqrt() / stats::special::student_t_quantile(f64::midpoint(1.0, estimate.level), n - 1.0)
        }),
        p_t: estimate.p_t,
        sequence: estimate.sequence,
    }
}
