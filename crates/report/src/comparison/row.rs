//! One metric of one case, A compared with B.

use model::{Absence, Direction, DurabilityTier, MarkKind, Metric, NoValue, Point};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Verdict;

use super::families::Family;
use super::warning::{Warning, mark_name};
use crate::evidence::Unfinished;
use crate::number::{Script, count_noun, failed_share_text, whole_number};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SideLetter {
    A,
    B,
}

impl SideLetter {
    pub fn as_str(self) -> &'static str {
        match self {
            SideLetter::A => "A",
            SideLetter::B => "B",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPoint {
    pub run: i64,
    pub position: u32,
    pub round: u32,
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    pub label: String,
    /// All systems if runs are pooled.
    pub system: String,
    pub runs: Vec<RunPoint>,
    pub summary: Option<stats::Summary>,
    pub estimate: Option<f64>,
    /// Runs found a bound of a capacity, and no capacity: so is the estimate.
    pub bound: Option<Bound>,
    /// Half the interval's width, as a share of the mean.
    pub half_width: Option<f64>,
    /// Reasons, with their number of runs.
    pub unavailable: Vec<(NoValue, usize)>,
}

/// What is known of a capacity that no short run met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// No load that was tried kept the promise.
    Below,
    /// Every load that was tried kept the promise.
    AtLeast,
}

impl Bound {
    /// Says how the loads that were tried came to be a bound.
    fn cause(self) -> &'static str {
        mark_name(match self {
            Bound::Below => MarkKind::NoLoadKept,
            Bound::AtLeast => MarkKind::EveryLoadKept,
        })
    }

    /// The sign before a figure that is a bound.
    pub fn sign(self) -> &'static str {
        match self {
            Bound::Below => "< ",
            Bound::AtLeast => "≥ ",
        }
    }
}

impl Side {
    /// Says why the side has no value, by the first of its reasons.
    pub fn missing_reason(&self) -> NoValue {
        let first = self.unavailable.first().map(|(missing, _)| missing.clone());
        first.unwrap_or_else(|| Absence::Unavailable.with_reason("no run was measured"))
    }

    /// Removes the side's figures and the values of its runs, with a reason, for a row that shows none of them.
    pub fn withhold_figures(mut self, why: NoValue) -> Side {
        let missing: usize = self.unavailable.iter().map(|(_, runs)| runs).sum();
        let runs = std::mem::take(&mut self.runs).len() + missing;
        self.without_figures(why, runs)
    }

    /// Replaces the side's figures by the reason why there are none, and the number of runs that it is about.
    pub fn without_figures(self, why: NoValue, runs: usize) -> Side {
        Side { summary: None, estimate: None, bound: None, half_width: None, unavailable: vec![(why, runs)], ..self }
    }
}

/// Form of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// B / A.
    Ratio,
    /// B - A of two shares: [`Estimate::ratio`] and its interval are exponentials of it.
    Points,
}

/// The shares of operations that did not succeed on both sides, each from 0 to 1: means of their runs. Nothing of a side
/// that does not report its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Failures {
    pub a: Option<f64>,
    pub b: Option<f64>,
}

impl Failures {
    /// The larger failed share of both sides.
    pub fn worst_share(&self) -> f64 {
        self.a.unwrap_or_default().max(self.b.unwrap_or_default())
    }

    /// Writes the failed share of each side, or that it is not known.
    pub fn in_words(&self) -> [String; 2] {
        [self.a, self.b].map(|share| share.map_or_else(|| "an unknown share".to_owned(), failed_share_text))
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub scale: Scale,
    pub ratio: f64,
    pub lo: f64,
    pub hi: f64,
    pub level: f64,
    /// Rounds with both sides; unpaired, the runs of the smaller side.
    pub rounds: u32,
    /// Standard deviation between rounds; `None` if unpaired.
    pub log_sd: Option<f64>,
    /// Over rounds; `None` if unpaired, or not shown.
    pub bootstrap: Option<(f64, f64)>,
    /// Sign-flip permutation, or Mann-Whitney if unpaired; `None` in rows that are judged and not shown.
    pub p: Option<f64>,
    /// Paired, or Welch's.
    pub p_t: f64,
    /// `p_t` adjusted within the row's [family](super::Family) for its part of the error: the verdict's basis. `None`
    /// if not judged.
    pub adjusted: Option<f64>,
    /// Smallest difference found with 80 % power; `None` if unpaired, or judged after each round.
    pub detectable: Option<f64>,
    /// What interval and p hold at, where it is more than one look.
    pub sequence: Option<stats::Sequence>,
    /// Skew of the differences, where rows are judged after each round.
    pub skewed: Option<stats::Skewed>,
}

impl Estimate {
    /// Whether a difference is significant by the rule of verdicts; it may still be too small to matter.
    pub fn is_difference(&self) -> bool {
        self.adjusted.is_some_and(|p| stats::is_difference((self.lo, self.hi), p, self.level))
    }
}

/// What the figures under A and B give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    pub scale: Scale,
    /// The ratio as [`Estimate::ratio`]: the same, unless another estimator was asked for.
    pub ratio: f64,
    /// The rounds as [`Estimate::rounds`].
    pub rounds: u32,
}

/// What the runs of two experiments gave that were not run together, by their values alone: which way is better does not
/// matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossFinding {
    /// B is, beyond what the runs within each vary by.
    Higher,
    Lower,
    /// The whole interval lies within the margin.
    Alike,
    /// Neither.
    Open,
}

impl CrossFinding {
    pub fn as_str(self) -> &'static str {
        match self {
            CrossFinding::Higher => "higher",
            CrossFinding::Lower => "lower",
            CrossFinding::Alike => "alike",
            CrossFinding::Open => "inconclusive",
        }
    }
}

pub use super::work::{DifferentRows, Work};

#[derive(Clone, Debug, PartialEq)]
pub enum NoVerdict {
    /// The plan is not at its end.
    Unfinished(Unfinished),
    /// This many rounds are missing.
    TooFewRounds {
        /// How many to add.
        missing: u32,
    },
    /// Different promises at commit.
    UnequalDurability {
        a: Option<DurabilityTier>,
        b: Option<DurabilityTier>,
    },
    /// The transactions of the sides return or change different numbers of rows: they did not do the same work.
    DifferentRows(DifferentRows),
    /// A query gave several answers: which of them is right is not known here.
    DifferentAnswers {
        query: String,
        /// A row that differs, if a run says so.
        how: Option<String>,
    },
    /// A query's answer changes from run to run on A itself, so that B's can be no other one.
    UnstableAnswers {
        query: String,
    },
    /// A cache of results answered a query in the engine's place.
    CachedAnswers {
        query: String,
        runs: usize,
    },
    /// The sides ran one after the other, and the plan does not allow comparing them.
    SequentialOrder,
    /// The sides are of experiments of their own: what their runs gave, and no verdict on the systems.
    Apart(CrossFinding),
    /// From some round on, a side was no longer the system that it was before its first run.
    SystemChanged {
        side: SideLetter,
        /// What was and is.
        what: String,
        /// The last round before the change, from 0; `None` if it came before the side's first run.
        last_before: Option<u32>,
        /// The first round after it, from 0.
        first_after: u32,
    },
    /// A mark of runs voids the verdict.
    Voided {
        /// `client saturated`.
        what: String,
        runs: usize,
    },
    /// More operations failed than lie beyond the quantile.
    Failures {
        side: SideLetter,
        share: f64,
        /// Beyond the quantile.
        tail: f64,
    },
    /// Some runs of a side have the figure; others failed, or do not have it. Those that have it are no fair choice.
    IncompleteRuns {
        side: SideLetter,
        runs: usize,
        of: usize,
    },
    /// A figure that takes a number of operations, of which some run of either side has fewer: it is n/a in the whole row.
    TooFewOperations {
        needed: u64,
        runs: usize,
        of: usize,
    },
    /// Runs of a side were measured only at a later attempt: too many, or had they been as bad as the worst the row would
    /// say something else.
    Repeated {
        side: SideLetter,
        runs: usize,
    },
    /// Étalon itself ended under one side more often than chance has it, or had those runs been as bad as the worst the row
    /// would say something else: an engine inside it may be why.
    CutOff {
        side: SideLetter,
        runs: usize,
    },
    /// The row says something else by what runs that a resume measured again had said first.
    MeasuredAgain {
        runs: usize,
    },
    /// What failed is not known of some operations that the figure is about.
    FailuresUnknown {
        side: SideLetter,
    },
    NotAvailable {
        side: SideLetter,
        missing: NoValue,
    },
    /// A capacity of a side is only a bound.
    OnlyBounds {
        a: Option<Bound>,
        b: Option<Bound>,
    },
    /// The two samples have no ratio.
    NotComparable(String),
    /// The sides are at most one clock step apart.
    UnderClockStep,
    /// They differ in a metric without a better side.
    NoBetterSide,
    /// Diagnostic metrics are not judged.
    Diagnostic,
}

impl CrossFinding {
    /// Says what sides measured apart gave, as a clause.
    fn sentence(self) -> &'static str {
        match self {
            CrossFinding::Higher => "B was higher, beyond what the runs within each experiment vary by",
            CrossFinding::Lower => "B was lower, beyond what the runs within each experiment vary by",
            CrossFinding::Alike => "A and B were alike within the margin",
            CrossFinding::Open => "these runs show no difference and no equality",
        }
    }
}

/// Says between which rounds, counted from 0, something changed.
fn between_rounds(last_before: Option<u32>, first_after: u32) -> String {
    match last_before {
        Some(last) if last == first_after => format!("in round {}", last + 1),
        Some(last) => format!("between the rounds {} and {}", last + 1, first_after + 1),
        None => "before its first run ended".to_owned(),
    }
}

impl NoVerdict {
    /// Number of rounds that are missing to the fewest with which there is a verdict; `None` for other reasons.
    pub fn rounds_missing(&self) -> Option<u32> {
        if let NoVerdict::TooFewRounds { missing } = self { Some(*missing) } else { None }
    }

    /// Writes the reason in full, without a full stop.
    pub fn reason_text(&self) -> String {
        match self {
            NoVerdict::Unfinished(found) => found.sentence(),
            NoVerdict::TooFewRounds { missing } => format!("needs {}", count_noun(*missing as usize, "more round")),
            NoVerdict::UnequalDurability { a, b } => {
                format!("unequal durability: A is {}, B is {}", tier_name(*a), tier_name(*b))
            }
            NoVerdict::DifferentRows(found) => found.text(),
            NoVerdict::DifferentAnswers { query, how } => several_answers_text(query, how.as_deref()),
            NoVerdict::UnstableAnswers { query } => unstable_text(query),
            NoVerdict::CachedAnswers { query, runs } => {
                format!("a cache of results answered {query} in {}, and not the engine", count_noun(*runs, "run"))
            }
            NoVerdict::SequentialOrder => {
                "order and time are confounded: the runs of one side ran before those of the other".to_owned()
            }
            NoVerdict::Apart(found) => {
                format!(
                    "measured apart, so changes between the experiments are part of the difference: {}",
                    found.sentence()
                )
            }
            NoVerdict::SystemChanged { side, what, last_before, first_after } => {
                format!("{} changed {}: {what}", side.as_str(), between_rounds(*last_before, *first_after))
            }
            NoVerdict::Voided { what, runs } => format!("{what} in {}", count_noun(*runs, "run")),
            NoVerdict::Failures { side, share, tail } if *tail > 0.0 => format!(
                "{} of the operations of {} in a run did not succeed, and only {} lie beyond this figure",
                failed_share_text(*share),
                side.as_str(),
                failed_share_text(*tail)
            ),
            NoVerdict::Failures { side, share, .. } => format!(
                "{} of the operations of {} in a run did not succeed, and this figure is of the others alone",
                failed_share_text(*share),
                side.as_str()
            ),
            NoVerdict::IncompleteRuns { side, runs, of } => format!(
                "failed or n/a in {runs} of {} of {}, and the others alone are no fair choice",
                count_noun(*of, "run"),
                side.as_str()
            ),
            NoVerdict::TooFewOperations { needed, runs, of } => format!(
                "n/a: it takes {} operations in every run of both sides, and {runs} of {} had fewer",
                whole_number(*needed, Script::Plain),
                count_noun(*of, "run")
            ),
            NoVerdict::Repeated { side, runs } => {
                format!("{} of {} failed at first: {NO_FAIR_CHOICE}", count_noun(*runs, "run"), side.as_str())
            }
            NoVerdict::CutOff { side, runs } => {
                format!("étalon itself ended in {} of {}: {NO_FAIR_CHOICE}", count_noun(*runs, "run"), side.as_str())
            }
            NoVerdict::MeasuredAgain { runs } => format!(
                "{} measured again when the experiment was resumed: by what they said first the row says something else",
                if *runs == 1 { "1 run was".to_owned() } else { format!("{runs} runs were") }
            ),
            NoVerdict::FailuresUnknown { side } => format!(
                "operations failed, and how many did of {} is not known: this figure may be of the others alone",
                side.as_str()
            ),
            NoVerdict::NotAvailable { side, missing } => format!("n/a: {} has no value ({missing})", side.as_str()),
            NoVerdict::OnlyBounds { a, b } => only_bounds_text(*a, *b),
            NoVerdict::NotComparable(why) => why.clone(),
            NoVerdict::UnderClockStep => {
                "the sides differ by no more than a step of the clock or of the printed digits can make".to_owned()
            }
            NoVerdict::NoBetterSide => "differs; neither way is better".to_owned(),
            NoVerdict::Diagnostic => "not judged: explains the others".to_owned(),
        }
    }

    /// Writes the reason in a few words, for a column.
    pub fn short_reason(&self) -> String {
        match self {
            NoVerdict::Unfinished(found) => found.how_far(),
            NoVerdict::TooFewRounds { .. } | NoVerdict::NoBetterSide => self.reason_text(),
            NoVerdict::UnequalDurability { .. } => "unequal durability".to_owned(),
            NoVerdict::DifferentRows(_) => "different work".to_owned(),
            NoVerdict::DifferentAnswers { .. } => "answers differ".to_owned(),
            NoVerdict::UnstableAnswers { .. } => "unstable".to_owned(),
            NoVerdict::CachedAnswers { .. } => "answered by a cache".to_owned(),
            NoVerdict::SequentialOrder => "sequential order".to_owned(),
            NoVerdict::Apart(_) => "measured apart".to_owned(),
            NoVerdict::SystemChanged { side, .. } => format!("{} changed", side.as_str()),
            NoVerdict::Voided { what, .. } => what.clone(),
            NoVerdict::Failures { side, share, .. } => {
                format!("{} of {} failed", failed_share_text(*share), side.as_str())
            }
            NoVerdict::IncompleteRuns { side, runs, of } => format!("{} lacks {runs} of {of}", side.as_str()),
            NoVerdict::TooFewOperations { .. } => "too few operations".to_owned(),
            NoVerdict::Repeated { side, runs } => format!("{runs} of {} repeated", side.as_str()),
            NoVerdict::CutOff { side, runs } => format!("{runs} of {} cut off", side.as_str()),
            NoVerdict::MeasuredAgain { runs } => format!("{runs} measured again"),
            NoVerdict::FailuresUnknown { side } => format!("failures of {} unknown", side.as_str()),
            NoVerdict::NotAvailable { side, missing } => match missing.kind {
                kind if kind.label().is_none() => format!("{} has no value", side.as_str()),
                kind => kind.as_str().to_owned(),
            },
            NoVerdict::OnlyBounds { a, b } => match a.or(*b) {
                Some(bound) if a.is_none() || b.is_none() || a == b => bound.cause().to_owned(),
                _ => "only bounds".to_owned(),
            },
            NoVerdict::NotComparable(_) => "no ratio".to_owned(),
            NoVerdict::UnderClockStep => "under a clock step".to_owned(),
            NoVerdict::Diagnostic => "not judged".to_owned(),
        }
    }
}

/// Says which side's loads made a capacity a bound.
fn only_bounds_text(a: Option<Bound>, b: Option<Bound>) -> String {
    let sides = [(a, "A"), (b, "B")].into_iter();
    let said = sides.filter_map(|(bound, side)| Some(format!("{} on {side}", bound?.cause())));
    format!(
        "{}: of a capacity that is only known to be below or above its figure it is not known how far",
        said.collect::<Vec<_>>().join(", ")
    )
}

const NO_FAIR_CHOICE: &str = "those that were measured when repeated are no fair choice";

/// Says that a query had several answers, and how they differ.
fn several_answers_text(query: &str, how: Option<&str>) -> String {
    let how = how.map_or_else(String::new, |how| format!(": {how}"));
    format!("the runs gave several answers to {query}{how}")
}

/// Says that a query's answer changes by itself.
fn unstable_text(query: &str) -> String {
    format!("unstable: the answer to {query} changes from run to run on A itself")
}

/// The tier's word, or `unknown`.
fn tier_name(tier: Option<DurabilityTier>) -> &'static str {
    tier.map_or("unknown", DurabilityTier::as_str)
}

#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Verdict(Verdict),
    None(NoVerdict),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    pub benchmark: String,
    /// Keys common to all runs of both sides.
    pub case: Point,
    /// Distinguishes the row within its table: `clients=4`.
    pub label: Vec<(String, String)>,
    pub metric: Metric,
    /// The rows that it is judged with.
    pub family: Family,
    pub a: Side,
    pub b: Side,
    /// `None` in an experiment that has not ended, and of a single round.
    pub estimate: Option<Estimate>,
    /// The change between the figures; a single round has one, too.
    pub change: Option<ChangePoint>,
    pub outcome: Outcome,
    /// The shares that failed, if the sides differ in them.
    pub failures: Option<Failures>,
    /// Whether both sides answered the row's query by different plans; `None` if there is no query, or no plan of a side, or the
    /// sides are different products, which write plans each in its own way.
    pub plan_differs: Option<bool>,
    /// What the row's query takes of A's time for all queries of its folder, in whole percent; `None` if there is no query, or no time.
    pub share_of_whole: Option<f64>,
    /// Rounds that are missing to the minimum, or until an expected decision.
    pub rounds_needed: Option<u32>,
    /// What a reader should know before relying on it.
    pub warnings: Vec<Warning>,
}

impl Comparison {
    /// The row's verdict, if it has one.
    pub fn verdict(&self) -> Option<Verdict> {
        match self.outcome {
            Outcome::Verdict(verdict) => Some(verdict),
            Outcome::None(_) => None,
        }
    }

    /// The reason why the row has no verdict; `None` if it has one.
    pub fn why_no_verdict(&self) -> Option<&NoVerdict> {
        match &self.outcome {
            Outcome::Verdict(_) => None,
            Outcome::None(reason) => Some(reason),
        }
    }

    /// Turns the row's verdict into a finding of sides that were measured apart, which is no verdict on the systems.
    pub(super) fn replace_verdict_by_finding(&mut self) {
        let is_higher = self.estimate.is_some_and(|estimate| estimate.ratio > 1.0);
        let found = match &self.outcome {
            Outcome::Verdict(Verdict::Faster | Verdict::Slower) | Outcome::None(NoVerdict::NoBetterSide) => {
                if is_higher { CrossFinding::Higher } else { CrossFinding::Lower }
            }
            Outcome::Verdict(Verdict::Equivalent) => CrossFinding::Alike,
            Outcome::Verdict(Verdict::Inconclusive) => CrossFinding::Open,
            Outcome::None(_) => return,
        };
        self.outcome = Outcome::None(NoVerdict::Apart(found));
    }

    /// The finding of a row whose sides were measured apart; `None` for others.
    pub fn cross_finding(&self) -> Option<CrossFinding> {
        match self.outcome {
            Outcome::None(NoVerdict::Apart(found)) => Some(found),
            _ => None,
        }
    }

    /// Whether both sides ran on one server (A/A).
    pub fn is_one_server(&self) -> bool {
        self.warnings.iter().any(|warning| matches!(warning, Warning::SameServer { .. }))
    }

    /// The estimate of a ratio; `None` for shares, which have a difference.
    pub fn ratio_estimate(&self) -> Option<&Estimate> {
        self.estimate.as_ref().filter(|estimate| estimate.scale == Scale::Ratio)
    }

    /// Names the case by its keys: `clients=4, scale=10`; empty for a table's only case.
    pub fn case_label(&self) -> String {
        model::keys_text(self.label.iter().map(|(key, value)| (key.as_str(), value.clone())))
    }

    /// The side of a letter, with its values.
    pub fn side(&self, letter: SideLetter) -> &Side {
        match letter {
            SideLetter::A => &self.a,
            SideLetter::B => &self.b,
        }
    }
}

/// Converts a metric's direction to that of the statistics.
pub(crate) fn stats_direction(direction: Direction) -> stats::Direction {
    match direction {
        Direction::Higher => stats::Direction::Higher,
        Direction::Lower => stats::Direction::Lower,
        Direction::Neither => stats::Direction::Neither,
    }
}
