//! Families of verdicts, against chance findings among many questions.
//!
//! The error of an experiment, 1 - level, covers all rows, shown or not: looking at one metric only does not reduce
//! the questions. Holm bounds the chance of any false alarm among primary rows; Benjamini and Hochberg bound the share
//! of false findings among the others. Each family has its part of the error, so that the chance of any false finding
//! stays within the whole.

use model::Role;
use stats::PairedRatio;

use super::failures::SHARE_MARGIN;
use super::remedy::MOST_MORE;
use super::row::{Comparison, Estimate, NoVerdict, Outcome, Scale, direction_of};
use super::set::Rules;

/// The primary rows' part of the error next to others: 4 % of 5 %.
const PRIMARY_PART: f64 = 0.8;

/// Rows judged together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Primary rows, adjusted by Holm.
    Primary,
    /// All others, adjusted by Benjamini and Hochberg.
    Exploratory,
}

impl Family {
    /// The family of a metric of that role.
    pub fn for_role(role: Role) -> Family {
        match role {
            Role::Primary => Family::Primary,
            Role::Secondary | Role::Diagnostic => Family::Exploratory,
        }
    }

    /// The method's name as in JSON.
    pub fn method(self) -> &'static str {
        match self {
            Family::Primary => "holm",
            Family::Exploratory => "benjamini-hochberg",
        }
    }
}

/// Sizes of the families, hidden rows included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Families {
    pub primary: usize,
    pub exploratory: usize,
}

impl Families {
    pub fn rows(&self, family: Family) -> usize {
        match family {
            Family::Primary => self.primary,
            Family::Exploratory => self.exploratory,
        }
    }

    /// The whole error for a single family.
    pub fn part(&self, family: Family) -> f64 {
        match (family, self.primary, self.exploratory) {
            (_, 0, _) | (_, _, 0) => 1.0,
            (Family::Primary, ..) => PRIMARY_PART,
            (Family::Exploratory, ..) => 1.0 - PRIMARY_PART,
        }
    }
}

/// Row index and p-value.
type Asked = (usize, f64);

/// Adjusts the p-values of both families, and judges every row without an obstacle.
pub fn judge(rows: &mut [&mut Comparison], rules: &Rules) -> Families {
    let (primary, exploratory) =
        (asked_of_family(rows, rules, Family::Primary), asked_of_family(rows, rules, Family::Exploratory));
    let families = Families { primary: primary.len(), exploratory: exploratory.len() };
    for (family, asked, adjusted) in [
        (Family::Primary, &primary, stats::holm(&p_values(&primary))),
        (Family::Exploratory, &exploratory, stats::benjamini_hochberg(&p_values(&exploratory))),
    ] {
        // Scaled to the whole error, so that one threshold serves both.
        let part = families.part(family);
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

fn asked_of_family(rows: &[&mut Comparison], rules: &Rules, family: Family) -> Vec<Asked> {
    let own = rows.iter().enumerate().filter(|(_, row)| Family::for_role(row.metric.role) == family);
    own.filter_map(|(place, row)| Some((place, p_to_adjust(row, rules)?))).collect()
}

fn p_values(asked: &[Asked]) -> Vec<f64> {
    asked.iter().map(|(_, p)| *p).collect::<Vec<f64>>()
}

fn p_to_adjust(row: &Comparison, rules: &Rules) -> Option<f64> {
    let estimate = row.estimate.as_ref().filter(|estimate| estimate.rounds >= rules.min_rounds)?;
    is_asked(row).then_some(estimate.p_t)
}

/// Whether enough rounds ask this row, both before it is judged and after. "Differs" counts as a finding without a better side,
/// too. A row that its own values keep from a verdict has been asked like the others: a family that such rows leave would be
/// as small as chance makes it.
pub(crate) fn is_asked(row: &Comparison) -> bool {
    let is_judged = matches!(row.no_verdict(), None | Some(NoVerdict::TooFewRounds { .. } | NoVerdict::NoBetterSide));
    row.estimate.is_some() && (is_judged || is_kept_by_its_values(row))
}

fn is_kept_by_its_values(row: &Comparison) -> bool {
    let obstacle = row.no_verdict();
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

fn is_open(row: &Comparison) -> bool {
    matches!(row.outcome, Outcome::Verdict(_)) && row.estimate.is_some()
}

fn judge_row(row: &mut Comparison, rules: &Rules) {
    let Some(estimate) = &row.estimate else { return };
    let ratio = as_ratio(estimate);
    // Too few rounds for a verdict.
    let p = estimate.adjusted.unwrap_or(1.0);
    let margin = match estimate.scale {
        Scale::Ratio => rules.margin,
        Scale::Points => SHARE_MARGIN,
    };
    let judged = stats::judge(&ratio, p, direction_of(row.metric.direction), margin, rules.min_rounds);
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

/// Converts an estimate for [`stats::judge`]. Unpaired data have no spread between rounds: the equivalent one for as
/// many rounds as the smaller side has runs stands in, so that "rounds needed" means runs per side.
fn as_ratio(estimate: &Estimate) -> PairedRatio {
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
