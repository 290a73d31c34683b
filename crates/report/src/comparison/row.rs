//! A row of a comparison: one metric of one cell, A against B.

use model::{Direction, DurabilityTier, Metric, Point};
use stats::Verdict;

use super::warning::Warning;
use crate::number::{count, failed_share};

/// Side A, the baseline, or side B.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideLetter {
    /// The baseline.
    A,
    /// The candidate.
    B,
}

impl SideLetter {
    /// `A` or `B`.
    pub fn as_str(self) -> &'static str {
        match self {
            SideLetter::A => "A",
            SideLetter::B => "B",
        }
    }
}

/// One trial's value of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialPoint {
    /// The trial's identity in the store.
    pub trial: i64,
    /// Its place in the order.
    pub position: u32,
    /// Its block.
    pub block: u32,
    /// The value, in the metric's unit.
    pub value: f64,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Its value of the compared key: what the column is called.
    pub label: String,
    /// The system that it was measured on; all of them if trials of several are pooled.
    pub system: String,
    /// The trials with a value, in run order.
    pub trials: Vec<TrialPoint>,
    /// Figures of the trials; `None` if none has a value.
    pub summary: Option<stats::Summary>,
    /// The figure by the estimator that was asked for.
    pub estimate: Option<f64>,
    /// Half the interval of the mean, as a share of the mean.
    pub half_width: Option<f64>,
    /// Why trials have no value: the reason, and how many trials gave it.
    pub unavailable: Vec<(String, usize)>,
}

/// What B against A is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As the ratio B / A.
    Ratio,
    /// As the difference B - A of two shares: [`Estimate::ratio`] and its interval are exponentials of it.
    Points,
}

/// The shares of operations that did not succeed on both sides, each from 0 to 1: means of their trials. Nothing of a side
/// that does not tell its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    pub a: Option<f64>,
    pub b: Option<f64>,
}

impl Failures {
    /// The larger of both.
    pub fn worst(&self) -> f64 {
        self.a.unwrap_or_default().max(self.b.unwrap_or_default())
    }

    /// In words, one for each side.
    pub fn words(&self) -> [String; 2] {
        [self.a, self.b].map(|share| share.map_or_else(|| "an unknown share".to_owned(), failed_share))
    }
}

/// B against A.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What the figures are told in.
    pub scale: Scale,
    /// B / A.
    pub ratio: f64,
    /// Lower end of the interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Level of the interval.
    pub level: f64,
    /// Blocks with both sides; for unpaired data the trials of the smaller side.
    pub blocks: u32,
    /// Standard deviation of the log ratio between blocks; `None` for unpaired data.
    pub log_sd: Option<f64>,
    /// The interval by the bootstrap over blocks; `None` for unpaired data.
    pub bootstrap: Option<(f64, f64)>,
    /// p without a normal assumption: sign-flip permutation if paired, Mann-Whitney if not.
    pub p: f64,
    /// p of the t test (paired, or Welch's).
    pub p_t: f64,
    /// `p_t` adjusted over the row's [family](super::Family) and for its part of the error: what the verdict rests on. `None`
    /// for rows that are not judged.
    pub adjusted: Option<f64>,
    /// Smallest difference that so many blocks find with 80 % power; `None` for unpaired data.
    pub detectable: Option<f64>,
}

/// Why a row has no verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum NoVerdict {
    /// So many blocks are missing.
    TooFewBlocks {
        /// How many to add.
        missing: u32,
    },
    /// The two sides promise different things at commit.
    UnequalDurability {
        /// The promise of A.
        a: Option<DurabilityTier>,
        /// The promise of B.
        b: Option<DurabilityTier>,
    },
    /// All trials of one side ran before those of the other, and the plan does not allow that.
    SequentialOrder,
    /// Trials carry a mark that voids the verdict.
    Voided {
        /// The mark in words: `client saturated`.
        what: String,
        /// Trials with it.
        trials: usize,
    },
    /// More operations of a side did not succeed than lie beyond the figure: it is not theirs.
    Failures {
        /// Which side.
        side: SideLetter,
        /// The largest share of one of its trials, from 0 to 1.
        share: f64,
        /// The share that lies beyond the figure.
        tail: f64,
    },
    /// Some trials of a side have the figure; others failed, or do not have it. Those that have it are no fair choice.
    Lacking {
        /// The side of which more trials lack it.
        side: SideLetter,
        /// How many lack it.
        trials: usize,
        /// Of how many.
        of: usize,
    },
    /// Trials of a side were measured only at a later attempt: too many, or had they been as bad as the worst the row would
    /// say something else.
    Repeated { side: SideLetter, trials: usize },
    /// What failed is not known of some operations that the figure is about.
    FailuresUnknown { side: SideLetter },
    /// A side has no value.
    NotAvailable {
        /// Which side.
        side: SideLetter,
        /// Why.
        reason: String,
    },
    /// The two samples have no ratio.
    NotComparable(
        /// Why.
        String,
    ),
    /// They differ by one step of the clock or less.
    UnderClockStep,
    /// They differ, but neither side of this metric is better.
    NoBetterSide,
    /// The metric explains others and is not judged.
    Diagnostic,
}

impl NoVerdict {
    /// The reason in words, without a full stop.
    pub fn text(&self) -> String {
        let tier = |tier: &Option<DurabilityTier>| tier.map_or("unknown", DurabilityTier::as_str);
        match self {
            NoVerdict::TooFewBlocks { missing: 1 } => "needs 1 more block".to_owned(),
            NoVerdict::TooFewBlocks { missing } => format!("needs {missing} more blocks"),
            NoVerdict::UnequalDurability { a, b } => {
                format!("unequal durability: A is {}, B is {}", tier(a), tier(b))
            }
            NoVerdict::SequentialOrder => {
                "order and time are confounded: the trials of one side ran before those of the other".to_owned()
            }
            NoVerdict::Voided { what, trials } => {
                format!("{what} in {trials} {}", if *trials == 1 { "trial" } else { "trials" })
            }
            NoVerdict::Failures { side, share, tail } if *tail > 0.0 => format!(
                "{} of the operations of {} in a trial did not succeed, and only {} lie beyond this figure",
                failed_share(*share),
                side.as_str(),
                failed_share(*tail)
            ),
            NoVerdict::Failures { side, share, .. } => format!(
                "{} of the operations of {} in a trial did not succeed, and this figure is of the others alone",
                failed_share(*share),
                side.as_str()
            ),
            NoVerdict::Lacking { side, trials, of } => format!(
                "failed or n/a in {trials} of {} of {}, and the others alone are no fair choice",
                count(*of, "trial"),
                side.as_str()
            ),
            NoVerdict::Repeated { side, trials } => format!(
                "{} of {} failed at first: those that were measured when repeated are no fair choice",
                count(*trials, "trial"),
                side.as_str()
            ),
            NoVerdict::FailuresUnknown { side } => format!(
                "operations failed, and how many did of {} is not known: this figure may be of the others alone",
                side.as_str()
            ),
            NoVerdict::NotAvailable { side, reason } => format!("n/a: {} has no value ({reason})", side.as_str()),
            NoVerdict::NotComparable(why) => why.clone(),
            NoVerdict::UnderClockStep => {
                "the sides differ by no more than one step of the clock or of the printed digits".to_owned()
            }
            NoVerdict::NoBetterSide => "differs; neither way is better".to_owned(),
            NoVerdict::Diagnostic => "not judged: explains the others".to_owned(),
        }
    }

    /// The reason in a word or two, for a column.
    pub fn short(&self) -> String {
        match self {
            NoVerdict::TooFewBlocks { .. } | NoVerdict::NoBetterSide => self.text(),
            NoVerdict::UnequalDurability { .. } => "unequal durability".to_owned(),
            NoVerdict::SequentialOrder => "sequential order".to_owned(),
            NoVerdict::Voided { what, .. } => what.clone(),
            NoVerdict::Failures { side, share, .. } => format!("{} of {} failed", failed_share(*share), side.as_str()),
            NoVerdict::Lacking { side, trials, of } => format!("{} lacks {trials} of {of}", side.as_str()),
            NoVerdict::Repeated { side, trials } => format!("{trials} of {} repeated", side.as_str()),
            NoVerdict::FailuresUnknown { side } => format!("failures of {} unknown", side.as_str()),
            NoVerdict::NotAvailable { side, reason } => match crate::words::absent(reason) {
                "n/a" => format!("{} has no value", side.as_str()),
                word => word.to_owned(),
            },
            NoVerdict::NotComparable(_) => "no ratio".to_owned(),
            NoVerdict::UnderClockStep => "under a clock step".to_owned(),
            NoVerdict::Diagnostic => "not judged".to_owned(),
        }
    }
}

/// A verdict, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// What may be said.
    Verdict(Verdict),
    /// Why nothing may be said.
    None(NoVerdict),
}

/// One metric of one cell, A against B.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The benchmark; all of them if trials of several are pooled.
    pub benchmark: String,
    /// The keys that every trial of both sides shares, with their values.
    pub cell: Point,
    /// What tells this row's cell from the others of its table: `clients=4`.
    pub label: Vec<(String, String)>,
    /// The metric.
    pub metric: Metric,
    /// The baseline.
    pub a: Side,
    /// The other side.
    pub b: Side,
    /// B against A; `None` if they have no ratio.
    pub estimate: Option<Estimate>,
    /// What may be said.
    pub outcome: Outcome,
    /// What did not succeed of the operations that the row is about, where the sides differ in it.
    pub failures: Option<Failures>,
    /// Blocks to add: to the minimum, or until it is expected to be settled.
    pub blocks_needed: Option<u32>,
    /// What a reader should know before relying on it.
    pub warnings: Vec<Warning>,
}

impl Comparison {
    /// The verdict, if there is one.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.outcome {
            Outcome::Verdict(verdict) => Some(verdict),
            Outcome::None(_) => None,
        }
    }

    /// Why there is no verdict, if there is none.
    pub fn no_verdict(&self) -> Option<&NoVerdict> {
        match &self.outcome {
            Outcome::Verdict(_) => None,
            Outcome::None(reason) => Some(reason),
        }
    }

    /// B / A, if that is what the row tells: shares have a difference instead.
    pub fn ratio(&self) -> Option<&Estimate> {
        self.estimate.as_ref().filter(|estimate| estimate.scale == Scale::Ratio)
    }

    /// The row's cell in words: `clients=4, scale=10`; empty if its table has a single cell.
    pub fn cell_label(&self) -> String {
        self.label.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
    }

    /// The side of that letter.
    pub fn side(&self, letter: SideLetter) -> &Side {
        match letter {
            SideLetter::A => &self.a,
            SideLetter::B => &self.b,
        }
    }
}

/// The direction as `stats` has it.
pub(crate) fn direction_of(direction: Direction) -> stats::Direction {
    match direction {
        Direction::Higher => stats::Direction::Higher,
        Direction::Lower => stats::Direction::Lower,
        Direction::Neither => stats::Direction::Neither,
    }
}
