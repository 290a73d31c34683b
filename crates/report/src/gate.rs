//! The gate for continuous integration: did B become worse than A by more than is allowed?
//!
//! A row fails only if its interval excludes "no change", *and* the change is beyond the limit, *and* there were enough
//! blocks. A limit on the difference of two means alone fires on noise. Comparing nothing is not a pass.

mod format;

pub use format::{Format, render};

use model::Direction;

use crate::comparison::{Comparison, ComparisonSet, SHARE_MARGIN, Scale};
use crate::number::Script;
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
    /// Fewer compared rows than this are an error.
    pub min_rows: usize,
}

impl Default for GateRules {
    fn default() -> GateRules {
        GateRules { max_regression: stats::DEFAULT_MARGIN, inconclusive: Inconclusive::Pass, min_rows: 1 }
    }
}

/// How the gate ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateStatus {
    /// No row regressed.
    Passed,
    /// A row regressed beyond the limit.
    Failed,
    /// No row failed, some are open, and the rules ask for certainty.
    Inconclusive,
    /// Too few rows were compared for a pass to mean anything.
    NothingCompared,
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

    /// The answer in one sentence, with improvements beside regressions: findings on one side only are the fingerprint of
    /// a broken process.
    pub fn summary(&self) -> String {
        let status = match self.status {
            GateStatus::Passed => "passed",
            GateStatus::Failed => "failed",
            GateStatus::Inconclusive => "inconclusive",
            GateStatus::NothingCompared => "nothing compared",
        };
        format!(
            "gate {status}: {} regressed beyond {}, {} improved, {} held, {} open, {} not compared",
            self.count(RowStatus::Regressed),
            crate::number::percent(self.rules.max_regression, Script::Plain),
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
        .collect();
    let mut outcome = GateOutcome { status: GateStatus::Passed, rules: *rules, lines };
    let compared = outcome.lines.len() - outcome.count(RowStatus::NotCompared);
    let open = outcome.count(RowStatus::Open) + outcome.count(RowStatus::NotCompared);
    outcome.status = if outcome.count(RowStatus::Regressed) > 0 {
        GateStatus::Failed
    } else if compared < rules.min_rows.max(1) {
        GateStatus::NothingCompared
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
    let reason = row.no_verdict().map(crate::comparison::NoVerdict::text);
    let detail = [figures, reason].into_iter().flatten().collect::<Vec<_>>().join(", ");
    GateLine {
        status,
        name: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        sides: format!("{} against {}", row.b.label, row.a.label),
        detail,
    }
}

/// What the gate makes of a row. The interval is turned so that above 1 is worse.
fn status(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> RowStatus {
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
