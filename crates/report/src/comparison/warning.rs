//! Warnings about a row, with evidence.

use model::{MarkData, MarkKind};
use stats::Steadiness;

use super::disturbance::Means;
use super::row::{DifferentRows, SideLetter};
use super::set::AllowedBy;
use crate::number::{RowUnit, Script, count_noun, p_value_text, percent_text};

#[derive(Clone, Debug, PartialEq)]
pub enum Warning {
    /// The values rise or fall in the order in which the runs ran.
    Drift {
        side: SideLetter,
        p: f64,
        /// First to last, as a share of the median.
        change: f64,
    },
    /// The runs fall into two groups.
    Bimodal {
        side: SideLetter,
        low: f64,
        high: f64,
        /// Share of runs in the lower group.
        low_share: f64,
        unit: String,
    },
    /// All values are multiples of a clock's step.
    QuantisedClock { step: f64, unit: String },
    /// All runs of each side have the same value.
    NoSpread {
        /// What the values may be rounded to.
        step: f64,
        unit: String,
    },
    /// Runs carry a mark.
    Marked {
        side: Option<SideLetter>,
        kind: MarkKind,
        runs: usize,
        of: usize,
        /// Evidence of all, or `in the first, ` and its own.
        detail: String,
        /// Data of the first mark that has any.
        data: Option<MarkData>,
    },
    /// One side had more of what disturbed its machine.
    UnequallyDisturbed { kind: MarkKind, means: Means },
    /// Rounds of one side only take no part in the ratio.
    Unpaired { a: usize, b: usize },
    /// Incomplete cases and rounds take no part in a pooled ratio.
    LeftOut {
        /// Cases without any complete round.
        cases: usize,
        /// Incomplete in another case.
        rounds: usize,
    },
    /// A round's runs began an hour or more apart.
    FarApart {
        rounds: usize,
        of: usize,
        /// The longest gap.
        hours: f64,
    },
    /// Runs have no value of this metric.
    Missing { side: SideLetter, runs: usize, reason: String },
    /// Runs of unknown failed share.
    FailuresUnknown { side: SideLetter, runs: usize, reason: String },
    /// Failed or aborted runs, and failed attempts that were repeated.
    Dropped {
        side: SideLetter,
        /// Neither repeated nor successful at the last attempt.
        runs: usize,
        /// How many of them failed.
        failed: usize,
        /// Failed attempts that were repeated.
        repeated: usize,
        /// Reason of the first failure, preferably one that was not repeated.
        reason: String,
    },
    /// One of two tests finds a difference, the other does not.
    TestsDisagree { p_t: f64, p: f64 },
    /// The interval rests on symmetric differences.
    Skewed(stats::Skewed),
    /// Different values were pooled.
    PooledKeys { keys: Vec<String> },
    /// The sides differ in these keys, too.
    ConfoundedKeys { keys: Vec<String> },
    /// The transactions of the sides did different work, and there may be a verdict all the same.
    DifferentRows { found: DifferentRows, allowed: AllowedBy },
    /// A side answered a query by another plan from a round on.
    PlanChanged {
        side: SideLetter,
        query: String,
        /// The first such round, from 0.
        round: u32,
    },
    /// An A/A comparison.
    SameServer {
        /// Smallest difference found with 80 % power, as a share.
        detectable: Option<f64>,
    },
}

impl Warning {
    /// The word for the kind of warning in JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Warning::Drift { .. } => "drift",
            Warning::Bimodal { .. } => "bimodal",
            Warning::QuantisedClock { .. } => "quantised-clock",
            Warning::NoSpread { .. } => "no-spread",
            Warning::Marked { kind, .. } => kind.as_str(),
            Warning::UnequallyDisturbed { .. } => "unequally-disturbed",
            Warning::Unpaired { .. } => "unpaired",
            Warning::LeftOut { .. } => "left-out",
            Warning::FarApart { .. } => "far-apart",
            Warning::Missing { .. } => "missing-values",
            Warning::FailuresUnknown { .. } => "failures-unknown",
            Warning::Dropped { .. } => "dropped-runs",
            Warning::TestsDisagree { .. } => "tests-disagree",
            Warning::Skewed(_) => "skewed",
            Warning::PooledKeys { .. } => "pooled-keys",
            Warning::ConfoundedKeys { .. } => "confounded-keys",
            Warning::DifferentRows { .. } => "different-rows",
            Warning::PlanChanged { .. } => "plan-changed",
            Warning::SameServer { .. } => "same-server",
        }
    }

    /// The side that the warning is about; `None` if it is about both.
    pub fn side(&self) -> Option<SideLetter> {
        match self {
            Warning::Drift { side, .. }
            | Warning::Bimodal { side, .. }
            | Warning::Missing { side, .. }
            | Warning::FailuresUnknown { side, .. }
            | Warning::PlanChanged { side, .. }
            | Warning::Dropped { side, .. } => Some(*side),
            Warning::Marked { side, .. } => *side,
            _ => None,
        }
    }

    /// Makes a warning of runs that drift or have two modes; `None` if they are steady.
    pub(crate) fn from_steadiness(found: &Steadiness, side: SideLetter, unit: &str) -> Option<Warning> {
        match *found {
            Steadiness::Steady => None,
            Steadiness::Drifting { p, relative_change } => Some(Warning::Drift { side, p, change: relative_change }),
            Steadiness::Bimodal { low, high, low_share } => {
                Some(Warning::Bimodal { side, low, high, low_share, unit: unit.to_owned() })
            }
        }
    }

    /// Writes the warning without a full stop.
    pub fn text(&self) -> String {
        match self {
            Warning::Drift { side, p, change } => format!(
                "{} {} in run order, by {} of its median from first to last (p {})",
                side.as_str(),
                if *change < 0.0 { "falls" } else { "rises" },
                percent_text(change.abs(), Script::Plain),
                p_value_text(*p)
            ),
            Warning::Bimodal { side, low, high, low_share, unit } => {
                let unit = RowUnit::new(unit, [*low, *high]);
                format!(
                    "{} has two modes: {} of its runs near {}, the others near {} {}",
                    side.as_str(),
                    percent_text(*low_share, Script::Plain),
                    unit.print(*low, Script::Plain),
                    unit.print(*high, Script::Plain),
                    unit.unit_name()
                )
            }
            Warning::QuantisedClock { step, unit } => {
                let unit = RowUnit::new(unit, [*step]);
                let step = unit.print(*step, Script::Plain);
                format!("quantised clock: every value is a multiple of {step} {}", unit.unit_name())
            }
            Warning::NoSpread { step, unit } => no_spread_text(*step, unit),
            Warning::Marked { side, kind, runs, of, detail, .. } => marked_text(*kind, *side, (*runs, *of), detail),
            Warning::UnequallyDisturbed { kind, means } => {
                format!("{}, unequal, which biases the comparison: {}", mark_name(*kind), means.words(*kind, "A", "B"))
            }
            Warning::Unpaired { a, b } => unpaired_text(*a, *b),
            Warning::LeftOut { cases, rounds } => left_out_of_ratio_text(*cases, *rounds),
            Warning::FarApart { rounds, of, hours } => format!(
                "in {rounds} of {} the runs of A and B began an hour or more apart, up to {hours:.1} h: what changed on the machine \
                 in the meantime does not cancel out",
                count_noun(*of, "round")
            ),
            Warning::Missing { side, runs, reason } => {
                format!("{}: n/a in {} ({reason})", side.as_str(), count_noun(*runs, "run"))
            }
            Warning::FailuresUnknown { side, runs, reason } => {
                format!("{}: how much failed is not known in {} ({reason})", side.as_str(), count_noun(*runs, "run"))
            }
            Warning::Dropped { side, runs, repeated, reason, .. } => {
                let dropped = (*runs > 0).then(|| format!("{} dropped", count_noun(*runs, "run")));
                let repeated =
                    (*repeated > 0).then(|| format!("{} failed and repeated", count_noun(*repeated, "attempt")));
                let parts = dropped.into_iter().chain(repeated).collect::<Vec<_>>().join(", ");
                format!("{}: {parts} ({reason})", side.as_str())
            }
            Warning::TestsDisagree { p_t, p } => format!(
                "the t test (p {}) and the test without a normal assumption (p {}) disagree: look at the single runs",
                p_value_text(*p_t),
                p_value_text(*p)
            ),
            Warning::Skewed(found) => skewed_text(found),
            Warning::PooledKeys { keys } => {
                format!("the runs of a side vary in {} and were pooled", keys.join(", "))
            }
            Warning::ConfoundedKeys { keys } => format!("A and B differ in {} too", keys.join(", ")),
            Warning::DifferentRows { found, allowed } => {
                format!("{}: compared all the same, because {}", found.text(), allowed.because_clause())
            }
            Warning::PlanChanged { side, query, round } => plan_changed_text(*side, query, *round),
            Warning::SameServer { detectable } => same_server_text(*detectable),
        }
    }
}

/// Says in how many of the runs of a side, or of both, a mark was set.
fn marked_text(kind: MarkKind, side: Option<SideLetter>, (runs, of): (usize, usize), detail: &str) -> String {
    let what = mark_name(kind);
    let evidence = if detail.is_empty() { String::new() } else { format!(": {detail}") };
    let of_side = side.map_or_else(String::new, |side| format!(" of {}", side.as_str()));
    match of {
        1 => format!("{what} in the only run{of_side}{evidence}"),
        _ => format!("{what} in {runs} of {}{of_side}{evidence}", count_noun(of, "run")),
    }
}

/// Says that all runs of a side have the same value.
fn no_spread_text(step: f64, unit: &str) -> String {
    let unit = RowUnit::new(unit, [step]);
    format!(
        "all runs of a side have the same value: the interval is as wide as rounding to {} {} makes it",
        unit.print(step, Script::Plain),
        unit.unit_name()
    )
}

/// Says that a query was answered by another plan from a round on.
fn plan_changed_text(side: SideLetter, query: &str, round: u32) -> String {
    format!("{} answers {query} by another plan from round {} on", side.as_str(), round + 1)
}

/// Says that both sides ran on one server, and what difference would be found.
fn same_server_text(detectable: Option<f64>) -> String {
    let found = detectable.map(|share| {
        format!("; {} is the smallest difference that so many rounds find", percent_text(share, Script::Plain))
    });
    format!("A and B are one server (A/A){}", found.unwrap_or_default())
}

/// Says that differences are skewed, and what is true of skewed ones, too, where that says something.
fn skewed_text(found: &stats::Skewed) -> String {
    let stats::Skewed { skewness, rounds, signs } = found;
    let lean = format!(
        "the differences of {} are skewed (skewness {skewness:.1}), and the interval rests on symmetric ones",
        count_noun(*rounds as usize, "round")
    );
    if signs.rounds < stats::MIN_ROUNDS {
        return format!("{lean}: look at the single runs");
    }
    let favour = if signs.rounds == *rounds { "all".to_owned() } else { format!("the first {}", signs.rounds) };
    format!("{lean}; that {favour} favour one side has p {} at most, whatever they are like", p_value_text(signs.p))
}

/// Says how many values have no partner in their round.
fn unpaired_text(a: usize, b: usize) -> String {
    let why = match (a, b) {
        (_, 0) => "only A has a value there".to_owned(),
        (0, _) => "only B has a value there".to_owned(),
        (a, b) => format!("only A has a value in {a} of them, only B in {b}"),
    };
    not_in_the_ratio(a + b, "round", &why)
}

/// Says how many cases and rounds are not in the ratio.
fn left_out_of_ratio_text(cases: usize, rounds: usize) -> String {
    let of = |n, what, why| (n > 0).then(|| not_in_the_ratio(n, what, why));
    let cases = of(cases, "case", "in no round have both sides a value there");
    let rounds = of(rounds, "round", "a case has no value there on one side, or had left since it was decided");
    [cases, rounds].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// Says how many of something are not in the ratio, and why.
fn not_in_the_ratio(n: usize, what: &str, why: &str) -> String {
    format!("{} {} not in the ratio: {why}", count_noun(n, what), if n == 1 { "is" } else { "are" })
}

/// Names a mark in words.
pub fn mark_name(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::ClientSaturated => "client saturated",
        MarkKind::WokenLate => "client woken late",
        MarkKind::Errors => "errors",
        MarkKind::NotSteady => "not steady",
        MarkKind::WarmUpTooShort => "warm-up too short",
        MarkKind::RateNotMet => "rate not met",
        MarkKind::Backlog => "backlog of the warm-up",
        MarkKind::Paused => "paused",
        MarkKind::StartedApart => "hosts started apart",
        MarkKind::ServedByCache => "served by a cache",
        MarkKind::CachedAnswers => "answered by a cache of results",
        MarkKind::TooFewOperations => "too few operations",
        MarkKind::NoRepetition => "not known to be repetitions",
        MarkKind::TooFewClients => "too few clients",
        MarkKind::NoLoadKept => "no load kept the promise",
        MarkKind::EveryLoadKept => "every load kept the promise",
        MarkKind::NotCounted => "not counted at the server",
        MarkKind::SystemChanged => "system changed",
        MarkKind::DurableCommits => "durable commits",
        MarkKind::DelayedCommits => "delayed commits",
        MarkKind::UnsafeCommits => "unsafe commits",
        MarkKind::OtherClients => "other clients at the server",
        MarkKind::RowLocks => "waits for row locks",
        MarkKind::OtherLocks => "waits for other sessions' locks",
        MarkKind::MachineBusy => "busy machine",
        MarkKind::MachineSteal => "time kept by the hypervisor",
        MarkKind::MachineThrottled => "throttled processors",
        MarkKind::MachinePower => "power",
        MarkKind::MachineMemory => "scarce memory",
        MarkKind::MachineJobs => "scanner, backup or update at work",
        MarkKind::Source => "source",
        MarkKind::Note => "note",
    }
}
