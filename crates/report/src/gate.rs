//! The gate for continuous integration: did B become worse than A by more than is allowed?
//!
//! A row fails only if its interval excludes "no change", *and* the change is beyond the limit, *and* there were enough
//! blocks. A limit on the difference of two means alone fires on noise. A candidate that fails where the baseline does not
//! fails the gate; and what was not compared is no pass: all rows are, unless fewer are asked for.

mod format;

pub use format::{Format, render};

use model::Direction;

use crate::comparison::{
    Comparison, ComparisonSet, NoVerdict, SHARE_MARGIN, Scale, SideLetter, Unmeasured, Warning, is_share,
};
use crate::number::{Script, count};
use crate::words::{change, metric_name};

/// What to make of rows that neither pass nor fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inconclusive {
    /// They pass; they are named.
    #[default]
    Pass,
    /// They make the gate end as [`GateStatus::Inconclusive`].
    Fail,
}

/// What the gate asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateRules {
    /// Largest regression that passes, as a share: 0.05 for 5 %. Symmetric for ratios: a throughput of 1/1.05 is as much
    /// of a regression as a latency of 1.05.
    pub max_regression: f64,
    /// What to make of rows that neither pass nor fail.
    pub inconclusive: Inconclusive,
    /// With fewer compared rows than this the gate does not pass; all of them when not given.
    pub min_rows: Option<usize>,
}

impl Default for GateRules {
    fn default() -> GateRules {
        GateRules { max_regression: stats::DEFAULT_MARGIN, inconclusive: Inconclusive::Pass, min_rows: None }
    }
}

/// How the gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateStatus {
    /// No row regressed.
    Passed,
    /// A row regressed beyond the limit, or the candidate failed.
    Failed,
    /// No row failed, some are open, and the rules ask for certainty.
    Inconclusive,
    /// Fewer rows were compared than the rules ask for.
    TooFewRows,
}

/// What the gate makes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// Worse beyond the limit, beyond noise.
    Regressed,
    /// Better beyond noise.
    Improved,
    /// No regression beyond the limit is compatible with the data.
    Held,
    /// A regression beyond the limit can neither be shown nor excluded.
    Open,
    /// More of the candidate's trials failed than of the baseline's, or more of them have no value.
    Failed,
    /// There is nothing to compare: no value, no verdict allowed.
    NotCompared,
}

impl RowStatus {
    /// The status in a word.
    pub fn as_str(self) -> &'static str {
        match self {
            RowStatus::Regressed => "regressed",
            RowStatus::Improved => "improved",
            RowStatus::Held => "held",
            RowStatus::Open => "open",
            RowStatus::Failed => "failed",
            RowStatus::NotCompared => "not compared",
        }
    }
}

/// One row of the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateLine {
    /// What the gate makes of it.
    pub status: RowStatus,
    /// The row: benchmark, cell, metric.
    pub name: String,
    /// The sides: `B against A`.
    pub sides: String,
    /// The figures, or why there are none.
    pub detail: String,
}

/// The gate's answer.
#[derive(Clone, Debug, PartialEq)]
pub struct GateOutcome {
    /// How it ended.
    pub status: GateStatus,
    /// What was asked for.
    pub rules: GateRules,
    /// Every row, as it stands in the set.
    pub lines: Vec<GateLine>,
}

impl GateOutcome {
    /// How many rows have that status.
    pub fn count(&self, status: RowStatus) -> usize {
        self.lines.iter().filter(|line| line.status == status).count()
    }

    /// How many rows were compared: for a pass it takes [`GateOutcome::rows_asked`].
    pub fn rows_compared(&self) -> usize {
        self.lines.len() - self.count(RowStatus::NotCompared) - self.count(RowStatus::Failed)
    }

    /// How many rows have to be compared; never none.
    pub fn rows_asked(&self) -> usize {
        self.rules.min_rows.unwrap_or(self.lines.len()).max(1)
    }

    /// The answer in one sentence, with improvements beside regressions: findings on one side only are the fingerprint of
    /// a broken process.
    pub fn summary(&self) -> String {
        let status = match self.status {
            GateStatus::Passed => "passed",
            GateStatus::Failed => "failed",
            GateStatus::Inconclusive => "inconclusive",
            GateStatus::TooFewRows => "not passed: too few rows compared",
        };
        format!(
            "gate {status}: {} regressed beyond {}, {} failed, {} improved, {} held, {} open, {} not compared",
            self.count(RowStatus::Regressed),
            crate::number::percent(self.rules.max_regression, Script::Plain),
            self.count(RowStatus::Failed),
            self.count(RowStatus::Improved),
            self.count(RowStatus::Held),
            self.count(RowStatus::Open),
            self.count(RowStatus::NotCompared)
        )
    }
}

/// Judges a set by the gate's rules. Rows whose metric has no better side are left out.
pub fn gate(set: &ComparisonSet, rules: &GateRules) -> GateOutcome {
    let lines: Vec<GateLine> = set
        .rows()
        .filter(|row| row.metric.direction != Direction::Neither && row.metric.role != model::Role::Diagnostic)
        .map(|row| line(row, set, rules))
        .chain(set.unmeasured.iter().map(unmeasured))
        .collect();
    let mut outcome = GateOutcome { status: GateStatus::Passed, rules: *rules, lines };
    let open = outcome.count(RowStatus::Open) + outcome.count(RowStatus::NotCompared);
    outcome.status = if outcome.count(RowStatus::Regressed) + outcome.count(RowStatus::Failed) > 0 {
        GateStatus::Failed
    } else if outcome.rows_compared() < outcome.rows_asked() {
        GateStatus::TooFewRows
    } else if open > 0 && rules.inconclusive == Inconclusive::Fail {
        GateStatus::Inconclusive
    } else {
        GateStatus::Passed
    };
    outcome
}

fn line(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> GateLine {
    let status = status(row, set, rules);
    let parts = [row.benchmark.clone(), row.cell_label(), metric_name(&row.metric.id)];
    let figures = change(row).map(|c| format!("{} {}", c.point(Script::Plain), c.interval(Script::Plain)));
    let reason = row.no_verdict().map(NoVerdict::text);
    let is_not_compared = matches!(status, RowStatus::Failed | RowStatus::NotCompared);
    // What was measured at a later attempt is in the figures; that it took one is not.
    let is_said = |warning: &&Warning| match warning {
        Warning::Dropped { repeated, .. } => is_not_compared || *repeated > 0,
        Warning::LeftOut { .. } => true,
        _ => false,
    };
    let dropped = row.warnings.iter().filter(is_said).map(Warning::text);
    let failed = row.failures.map(|of| {
        let [a, b] = of.words();
        format!("A {a}, B {b} failed")
    });
    let detail = [figures, failed, reason].into_iter().flatten().chain(dropped).collect::<Vec<_>>().join(", ");
    GateLine {
        status,
        name: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        sides: format!("{} against {}", row.b.label, row.a.label),
        detail,
    }
}

/// A benchmark without any row.
fn unmeasured(benchmark: &Unmeasured) -> GateLine {
    let failed = match benchmark.failed {
        0 => String::new(),
        failed => format!(", {} of the candidate failed", count(failed, "trial")),
    };
    GateLine {
        status: if benchmark.failed > 0 { RowStatus::Failed } else { RowStatus::NotCompared },
        name: benchmark.benchmark.clone(),
        sides: "all".to_owned(),
        detail: format!("no trial was measured{failed}: {}", benchmark.reason),
    }
}

/// Whether the candidate failed where the baseline did not, or could not be compared for its failing.
fn has_failed(row: &Comparison, compared: RowStatus) -> bool {
    let failed = |letter: SideLetter| {
        let of_side = row.warnings.iter().filter_map(|warning| match warning {
            Warning::Dropped { side, failed, .. } if *side == letter => Some(*failed),
            _ => None,
        });
        of_side.sum::<usize>()
    };
    let lacks_value = match row.no_verdict() {
        // Who does not tell what failed has not failed: other tools' results often do not.
        _ if is_share(&row.metric) => false,
        Some(NoVerdict::NotAvailable { side, .. }) => *side == SideLetter::B && row.a.summary.is_some(),
        Some(NoVerdict::Lacking { side, .. } | NoVerdict::Repeated { side, .. }) => *side == SideLetter::B,
        _ => false,
    };
    let (a, b) = (failed(SideLetter::A), failed(SideLetter::B));
    match compared {
        RowStatus::NotCompared => b > 0 || lacks_value,
        _ => b > a,
    }
}

/// What the gate makes of a row.
fn status(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> RowStatus {
    match compared(row, set, rules) {
        RowStatus::Regressed => RowStatus::Regressed,
        other if has_failed(row, other) => RowStatus::Failed,
        other => other,
    }
}

/// The same of the values alone. The interval is turned so that above 1 is worse.
fn compared(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> RowStatus {
    let enough = |blocks: u32| blocks >= set.rules.min_blocks;
    let Some(estimate) = row.estimate.as_ref().filter(|e| enough(e.blocks)) else { return RowStatus::NotCompared };
    if row.no_verdict().is_some() {
        return RowStatus::NotCompared;
    }
    let (ratio, worst) = match row.metric.direction {
        Direction::Lower => (estimate.ratio, estimate.hi),
        _ => (1.0 / estimate.ratio, 1.0 / estimate.lo),
    };
    let limit = match estimate.scale {
        Scale::Ratio => 1.0 + rules.max_regression,
        // No share of failures may grow by as much as a latency may.
        Scale::Points => 1.0 + SHARE_MARGIN,
    };
    let certain = estimate.adjusted.is_some_and(|p| p <= 1.0 - estimate.level);
    if certain && ratio > limit {
        RowStatus::Regressed
    } else if certain && ratio < 1.0 {
        RowStatus::Improved
    } else if worst <= limit {
        RowStatus::Held
    } else {
        RowStatus::Open
    }
}
