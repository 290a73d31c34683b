//! The gate for continuous integration: is B worse than A by more than allowed?
//!
//! A row fails only if its interval excludes "no change", *and* the change exceeds the limit, *and* there are enough
//! rounds; a limit on means alone fires on noise. A candidate that fails where the baseline does not fails the gate.
//! All rows must be compared, unless fewer are asked for; but for those that take more operations than the runs had, which are
//! listed and say nothing of the candidate.

mod format;
mod limits;

pub use format::{Format, render_outcome};
pub use limits::{Limit, LimitError};

use std::collections::BTreeMap;

use model::{Direction, Quantity};

use crate::comparison::{
    Comparison, ComparisonSet, NoVerdict, NoteKind, OneSided, SHARE_MARGIN, Scale, SideLetter, Table, Unmeasured,
    Warning, run_command_with,
};
use crate::evidence::{Evidence, Unfinished};
use crate::labels::{change_of, interval_words, metric_name, promise_of};
use crate::number::{Script, count_noun};

/// Number of undecided rows that are named.
const NAMED_OPEN: usize = 3;

/// Handling of undecided rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Inconclusive {
    /// Rows are listed; a limit that is not kept for sure counts as [`GateStatus::Inconclusive`].
    #[default]
    FailLimits,
    /// They are listed.
    Pass,
    /// The row counts as [`GateStatus::Inconclusive`].
    Fail,
}

impl Inconclusive {
    /// Whether a gate fails with an undecided line like this one.
    fn fails_gate(self, line: &GateLine) -> bool {
        match self {
            Inconclusive::FailLimits => line.is_limit,
            Inconclusive::Pass => false,
            Inconclusive::Fail => true,
        }
    }
}

/// What the gate asks for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateRules {
    /// The largest accepted regression as a share: 0.05 for 5 %. It is symmetric for ratios: a throughput of 1/1.05 is
    /// as bad as a latency of 1.05.
    pub max_regression: f64,
    pub inconclusive: Inconclusive,
    /// The others may be without a comparison once this many rows are compared; default: all.
    pub min_rows: Option<usize>,
}

impl Default for GateRules {
    fn default() -> GateRules {
        GateRules { max_regression: stats::DEFAULT_MARGIN, inconclusive: Inconclusive::default(), min_rows: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateStatus {
    /// Every row was compared, and none can have regressed beyond the limit.
    Passed,
    /// No row regressed, but some are open or were not compared, and the rules let that be enough.
    NotFailed,
    /// The row has regressed, or the candidate failed.
    Failed,
    /// Undecided, and the rules ask for certainty.
    Inconclusive,
    /// Fewer rows were compared than the rules ask for.
    TooFewRows,
    /// The experiment is under way or was stopped.
    Unfinished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowStatus {
    /// Beyond limit and noise.
    Regressed,
    /// Beyond an absolute limit, whatever the baseline is.
    Broken,
    /// Beyond noise.
    Improved,
    /// The data exclude a regression beyond the limit.
    Held,
    /// The data neither show nor exclude one.
    Open,
    /// More runs of the candidate failed or lack a value.
    Failed,
    NotCompared,
}

impl RowStatus {
    /// Whether the gate fails by a row with this status.
    pub fn fails_gate(self) -> bool {
        matches!(self, RowStatus::Regressed | RowStatus::Broken | RowStatus::Failed)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            RowStatus::Regressed => "regressed",
            RowStatus::Broken => "broken",
            RowStatus::Improved => "improved",
            RowStatus::Held => "held",
            RowStatus::Open => "open",
            RowStatus::Failed => "failed",
            RowStatus::NotCompared => "not compared",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateLine {
    pub status: RowStatus,
    pub name: String,
    pub sides: String,
    /// The figures, or why there are none.
    pub detail: String,
    /// A figure that takes more operations than the runs had is not asked for: that is a matter of their length. Nor is one of
    /// answers that change by themselves.
    pub is_asked: bool,
    /// It is of a query whose answers change by themselves.
    pub is_unstable: bool,
    /// It is of an absolute limit.
    pub is_limit: bool,
    /// The mark on its runs that keeps it from being judged, such as `paused in 1 run`; further rounds do not change that.
    pub void: Option<String>,
    /// The runs that it is of, by their identity in the store.
    pub runs: Vec<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct GateOutcome {
    pub status: GateStatus,
    pub rules: GateRules,
    /// The lines in the set's order.
    pub lines: Vec<GateLine>,
    /// How far the experiment is: nothing passes before its end.
    pub unfinished: Option<Unfinished>,
    /// Lines that precede the rows: that the sides were measured apart, and what is known to differ between them.
    pub apart: Vec<String>,
    /// How the intervals are made; empty where there are none.
    pub interval: String,
    /// What is known to differ between the sides, a line for each pair of them that has a line that failed.
    pub changed: Vec<String>,
    /// The command that measures again; `None` where none is known. Set by [`GateOutcome::with_evidence`].
    pub rerun: Option<String>,
    /// Set by [`GateOutcome::with_evidence`].
    pub record: Record,
}

/// What a file for other programs says of the experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// Names with their values.
    pub properties: Vec<(&'static str, String)>,
    /// The first run's start, in milliseconds since 1970, UTC.
    pub started_unix_ms: Option<i64>,
    /// Length of the measured part of each run, in seconds.
    seconds: BTreeMap<i64, f64>,
}

impl Record {
    /// Adds up the measured time of these runs, in seconds.
    pub fn seconds_of(&self, runs: &[i64]) -> f64 {
        runs.iter().filter_map(|run| self.seconds.get(run)).fold(0.0, |sum, seconds| sum + seconds)
    }

    /// Adds up the measured time of all runs, in seconds.
    pub fn total_seconds(&self) -> f64 {
        self.seconds.values().fold(0.0, |sum, seconds| sum + seconds)
    }
}

impl GateOutcome {
    /// Counts the lines with a status.
    pub fn count_of(&self, status: RowStatus) -> usize {
        self.lines.iter().filter(|line| line.status == status).count()
    }

    /// Fills in the record that files for other programs carry, from the evidence.
    #[must_use]
    pub fn with_evidence(mut self, evidence: &Evidence, set: &ComparisonSet) -> GateOutcome {
        let header = &evidence.header;
        self.rerun = run_command_with(&header.command, &[]);
        self.record = Record {
            properties: vec![
                ("experiment", header.plan.name.clone()),
                ("etalon", header.build.clone()),
                ("rounds", evidence.round_count().to_string()),
                ("margin", set.rules.margin.to_string()),
                ("level", set.rules.level.to_string()),
                ("max_regression", self.rules.max_regression.to_string()),
                ("compared", set.compared.join("; ")),
            ],
            started_unix_ms: evidence.runs.iter().filter_map(|run| run.started_unix_ms).min(),
            seconds: evidence.runs.iter().map(|run| (run.id, run.elapsed_s)).collect(),
        };
        self
    }

    /// Counts the lines without an answer, but for those that are not asked for.
    fn open_rows(&self) -> usize {
        self.lines.iter().filter(|line| is_open(line)).count()
    }

    /// Counts the rows that were compared; a pass needs [`GateOutcome::rows_asked`] of them.
    pub fn rows_compared(&self) -> usize {
        self.lines.len() - self.count_of(RowStatus::NotCompared) - self.count_of(RowStatus::Failed)
    }

    /// Number of rows that must be compared, at least one.
    pub fn rows_asked(&self) -> usize {
        self.rules.min_rows.unwrap_or(self.lines.iter().filter(|line| line.is_asked).count()).max(1)
    }

    /// Says what is left undecided, and how to fail on that, without a full stop; `None` where nothing is.
    pub fn undecided_sentence(&self) -> Option<String> {
        let ends = match self.status {
            GateStatus::Inconclusive => "`--inconclusive pass` lets them pass",
            GateStatus::NotFailed => "the gate passes with them, and `--inconclusive fail` ends with exit code 4",
            // What keeps more rows from being compared is said with the error.
            GateStatus::TooFewRows => return self.voided_sentence(),
            GateStatus::Passed | GateStatus::Failed | GateStatus::Unfinished => return None,
        };
        let parts: Vec<String> = self.open_sentence().into_iter().chain(self.voided_sentence()).collect();
        if !parts.is_empty() {
            return Some(format!("{}; {ends}", parts.join("; ")));
        }
        let not_compared: Vec<&GateLine> = self.lines.iter().filter(|line| is_open(line)).collect();
        (!not_compared.is_empty()).then(|| format!("left undecided: {}; {ends}", named_lines(&not_compared)))
    }

    /// Names the lines that the runs leave open; `None` without any.
    fn open_sentence(&self) -> Option<String> {
        let open: Vec<&GateLine> = self.lines.iter().filter(|line| line.status == RowStatus::Open).collect();
        let beyond = crate::number::percent_text(self.rules.max_regression, Script::Plain);
        let what = match (open.iter().any(|line| line.is_limit), open.iter().any(|line| !line.is_limit)) {
            (true, true) => format!("that the limit is kept, or a regression beyond {beyond}"),
            (true, false) => "that the limit is kept".to_owned(),
            (false, _) => format!("a regression beyond {beyond}"),
        };
        (!open.is_empty())
            .then(|| format!("left undecided: {}: the runs neither show nor exclude {what}", named_lines(&open)))
    }

    /// Names the lines that marks on their runs keep from being judged, and says what to do; `None` without any.
    fn voided_sentence(&self) -> Option<String> {
        let voided: Vec<&GateLine> = self.lines.iter().filter(|line| line.void.is_some() && is_open(line)).collect();
        let why = voided.first()?.void.as_deref()?;
        let again = self.rerun.as_ref().map_or_else(String::new, |line| format!(": `{line}`"));
        Some(format!(
            "not judged: {}: {why}; such runs stay in the store, so more rounds do not help: remove the cause and measure again{again}",
            named_lines(&voided)
        ))
    }

    /// Writes the gate's status with the number of rows of each kind, which add up to all of them.
    /// Improvements are next to regressions: findings on one side only suggest a broken process.
    pub fn summary_line(&self) -> String {
        let status = match self.status {
            GateStatus::Passed => "passed".to_owned(),
            GateStatus::NotFailed => {
                format!("passed: no regression shown, {} undecided", count_noun(self.open_rows(), "row"))
            }
            GateStatus::Failed => "failed".to_owned(),
            GateStatus::Inconclusive => "inconclusive".to_owned(),
            GateStatus::TooFewRows => "not passed: too few rows compared".to_owned(),
            GateStatus::Unfinished => "not passed: experiment under way or stopped".to_owned(),
        };
        let unfinished = self.unfinished.map_or_else(String::new, |found| format!(", {}", found.sentence()));
        let apart = if self.apart.is_empty() { "" } else { ", measured apart" };
        let not_asked = self.lines.iter().filter(|line| !line.is_asked).count();
        let unstable = self.lines.iter().filter(|line| !line.is_asked && line.is_unstable).count();
        format!(
            "gate {status}{unfinished}{apart}; of {}: {} regressed beyond {}, {} failed, {} improved, {} held, {} open, {} not compared",
            count_noun(self.lines.len(), "row"),
            self.count_of(RowStatus::Regressed),
            crate::number::percent_text(self.rules.max_regression, Script::Plain),
            self.count_of(RowStatus::Failed),
            self.count_of(RowStatus::Improved),
            self.count_of(RowStatus::Held),
            self.count_of(RowStatus::Open),
            self.count_of(RowStatus::NotCompared)
        ) + &not_asked_words(not_asked - unstable, unstable)
            + &broken_limits_text(self.count_of(RowStatus::Broken))
    }
}

/// Names the first lines, and says how many more there are.
fn named_lines(lines: &[&GateLine]) -> String {
    let named = lines.iter().take(NAMED_OPEN).map(|line| line.name.as_str()).collect::<Vec<_>>().join("; ");
    match lines.len().saturating_sub(NAMED_OPEN) {
        0 => named,
        more => format!("{named}; and {more} more"),
    }
}

/// Whether the line is asked for and has no answer.
fn is_open(line: &GateLine) -> bool {
    line.is_asked && matches!(line.status, RowStatus::Open | RowStatus::NotCompared)
}

/// Writes the number of broken limits after a comma; empty without any.
fn broken_limits_text(limits: usize) -> String {
    if limits == 0 { String::new() } else { format!(", {} broken", count_noun(limits, "limit")) }
}

/// Says how many of the rows that were not compared are not asked for, and why; empty without any.
fn not_asked_words(short: usize, unstable: usize) -> String {
    let kinds = [(short, "with too few operations in a run of this length"), (unstable, "unstable")];
    let some = kinds.into_iter().filter(|(rows, _)| *rows > 0);
    let words: Vec<String> = some.map(|(rows, words)| format!("{rows} {words}")).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Judges all rows and absolute limits, which the candidate has to keep whatever the baseline does.
/// A single system has limits alone.
///
/// # Errors
/// A limit names what there is not, or a unit of another kind.
pub fn gate_with_limits(
    evidence: &Evidence,
    set: &ComparisonSet,
    rules: &GateRules,
    limits: &[Limit],
) -> Result<GateOutcome, LimitError> {
    let of_limits = limits::limit_lines(evidence, set, limits)?;
    Ok(judge_with_limits(set, rules, of_limits).with_evidence(evidence, set))
}

/// Judges all rows of a set that have a better side, without limits.
pub fn judge_gate(set: &ComparisonSet, rules: &GateRules) -> GateOutcome {
    judge_with_limits(set, rules, Vec::new())
}

/// Judges all rows, adds the lines of limits, and sets the gate's status.
fn judge_with_limits(set: &ComparisonSet, rules: &GateRules, of_limits: Vec<GateLine>) -> GateOutcome {
    let lines: Vec<GateLine> = set
        .rows()
        .filter(|row| row.metric.direction != Direction::Neither && row.metric.role != model::Role::Diagnostic)
        .map(|row| gate_line(row, set, rules))
        .chain(set.unmeasured.iter().map(unmeasured_line))
        .chain(set.one_sided.iter().map(one_sided_line))
        .chain(of_limits)
        .collect();
    let mut outcome = GateOutcome {
        status: GateStatus::Passed,
        rules: *rules,
        lines,
        unfinished: set.rules.unfinished,
        apart: cross_experiment_notes(set),
        interval: if set.tables.is_empty() { String::new() } else { interval_words(&set.rules) },
        changed: Vec::new(),
        rerun: None,
        record: Record::default(),
    };
    let open = outcome.open_rows();
    outcome.status = if outcome.lines.iter().any(|line| line.status.fails_gate()) {
        GateStatus::Failed
    } else if outcome.unfinished.is_some() {
        GateStatus::Unfinished
    } else if outcome.rows_compared() < outcome.rows_asked() {
        GateStatus::TooFewRows
    } else if outcome.lines.iter().any(|line| is_open(line) && rules.inconclusive.fails_gate(line)) {
        GateStatus::Inconclusive
    } else if open > 0 {
        GateStatus::NotFailed
    } else {
        GateStatus::Passed
    };
    if outcome.status == GateStatus::Failed {
        outcome.changed = set.tables.iter().filter_map(differences_text).collect();
        outcome.changed.dedup();
    }
    outcome
}

/// Writes the facts that differ between the sides of a table; `None` if none do.
fn differences_text(table: &Table) -> Option<String> {
    let differs = crate::text::differences_line(table, &crate::text::TextOptions::default())?;
    Some(format!("{} against {} {differs}", table.b, table.a))
}

/// Collects the notes on what was measured apart. The gate judges what the table gives no verdict on, and its note says so.
fn cross_experiment_notes(set: &ComparisonSet) -> Vec<String> {
    let apart = set.apart.iter().map(|apart| apart.gate_sentence());
    let others = set.notes.iter().filter(|note| matches!(note.kind, NoteKind::Differs | NoteKind::OnlyIn));
    apart.chain(others.map(|note| note.text.clone())).collect()
}

/// Makes the line of a row: its status, names, figures and reasons.
fn gate_line(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> GateLine {
    let status = row_status(row, set, rules);
    let parts = [row.benchmark.clone(), row.case_label(), metric_name(&row.metric.id)];
    let figures =
        change_of(row).map(|c| format!("{} {}", c.print_change(Script::Plain), c.print_interval(Script::Plain)));
    // That the sides were measured apart stands above all rows.
    let promised = promise_of(row, set).map(|promise| format!("at which {promise}"));
    let reason = if row.cross_finding().is_none() { row.why_no_verdict().map(NoVerdict::reason_text) } else { None };
    let is_not_compared = matches!(status, RowStatus::Failed | RowStatus::NotCompared);
    // The figures include later attempts, but not that they were needed.
    let dropped = row
        .warnings
        .iter()
        .filter(|warning| match warning {
            Warning::Dropped { repeated, .. } => is_not_compared || *repeated > 0,
            Warning::LeftOut { .. } => true,
            Warning::ConfoundedKeys { .. } => row.cross_finding().is_some(),
            _ => false,
        })
        .map(Warning::text);
    let failed = row.failures.map(|of| {
        let [a, b] = of.in_words();
        format!("A {a}, B {b} failed")
    });
    let open = if status == RowStatus::Open { Some(why_open(row, rules)) } else { None };
    let detail =
        [figures, promised, failed, reason, open].into_iter().flatten().chain(dropped).collect::<Vec<_>>().join(", ");
    GateLine {
        status,
        name: parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", "),
        sides: format!("{} against {}", row.b.label, row.a.label),
        detail,
        is_asked: is_asked_for(row) || status == RowStatus::Failed,
        is_unstable: matches!(row.why_no_verdict(), Some(NoVerdict::UnstableAnswers { .. })),
        is_limit: false,
        void: void_text(row.why_no_verdict()),
        runs: [&row.a, &row.b].iter().flat_map(|side| &side.runs).map(|point| point.run).collect(),
    }
}

/// Says why a row is open, next to an interval that may show a difference.
fn why_open(row: &Comparison, rules: &GateRules) -> String {
    let limit = match row.estimate.map(|estimate| estimate.scale) {
        Some(Scale::Points) => format!("{} points", SHARE_MARGIN * 100.0),
        _ => crate::number::percent_text(rules.max_regression, Script::Plain),
    };
    let excludes_none = row.estimate.is_some_and(|found| found.lo > 1.0 || found.hi < 1.0);
    match row.estimate {
        Some(found) if found.is_difference() || (excludes_none && found.adjusted.is_none()) => {
            format!("worse, but perhaps by no more than {limit}")
        }
        Some(_) if excludes_none => {
            format!("worse by this row alone, but not for sure among all rows, and perhaps by no more than {limit}")
        }
        _ => format!("perhaps worse by more than {limit}"),
    }
}

/// Says which mark on runs is why there is no verdict; `None` for any other reason.
fn void_text(reason: Option<&NoVerdict>) -> Option<String> {
    reason.filter(|reason| matches!(reason, NoVerdict::Voided { .. })).map(NoVerdict::reason_text)
}

/// Whether the gate asks for a verdict on a row.
fn is_asked_for(row: &Comparison) -> bool {
    !matches!(row.why_no_verdict(), Some(NoVerdict::TooFewOperations { .. } | NoVerdict::UnstableAnswers { .. }))
}

/// Makes the line of a benchmark without results.
fn unmeasured_line(benchmark: &Unmeasured) -> GateLine {
    let failed = match benchmark.failed {
        0 => String::new(),
        failed => format!(", {} of the candidate failed", count_noun(failed, "run")),
    };
    GateLine {
        status: if benchmark.failed > 0 { RowStatus::Failed } else { RowStatus::NotCompared },
        name: benchmark.benchmark.clone(),
        sides: "all".to_owned(),
        detail: format!("no run was measured{failed}: {}", benchmark.reason),
        is_asked: true,
        is_unstable: false,
        is_limit: false,
        void: None,
        runs: Vec::new(),
    }
}

/// Makes the line of a case that only one side has.
fn one_sided_line(case: &OneSided) -> GateLine {
    GateLine {
        status: RowStatus::NotCompared,
        name: case.name.clone(),
        sides: format!("{} against {}", case.b, case.a),
        detail: case.sentence(),
        is_asked: true,
        is_unstable: false,
        is_limit: false,
        void: None,
        runs: Vec::new(),
    }
}

/// Whether B failed more often than A in a row, or has no comparable value since it failed.
fn has_failed_row(row: &Comparison, set: &ComparisonSet, compared: RowStatus) -> bool {
    let lacks_value = match row.why_no_verdict() {
        // Other tools often do not report failures.
        _ if row.metric.quantity() == Quantity::Failures => false,
        Some(NoVerdict::NotAvailable { side, .. }) => {
            // What has not run yet has no value either.
            *side == SideLetter::B && row.a.summary.is_some() && set.rules.unfinished.is_none()
        }
        Some(NoVerdict::DifferentAnswers { .. }) => true,
        Some(NoVerdict::IncompleteRuns { side, .. } | NoVerdict::Repeated { side, .. }) => *side == SideLetter::B,
        _ => false,
    };
    let (a, b) = (failed_runs(row, SideLetter::A), failed_runs(row, SideLetter::B));
    match compared {
        RowStatus::NotCompared => b > 0 || lacks_value,
        _ => b > a,
    }
}

/// Counts a side's runs in a row that failed.
fn failed_runs(row: &Comparison, letter: SideLetter) -> usize {
    let of_side = row.warnings.iter().filter_map(|warning| match warning {
        Warning::Dropped { side, failed, .. } if *side == letter => Some(*failed),
        _ => None,
    });
    of_side.sum::<usize>()
}

/// Judges a row by its values, its failures and the rules.
fn row_status(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> RowStatus {
    match status_by_values(row, set, rules) {
        RowStatus::Regressed => RowStatus::Regressed,
        other if has_failed_row(row, set, other) => RowStatus::Failed,
        other => other,
    }
}

/// Judges a row by its values alone; a ratio above 1 is worse whichever way the metric goes.
fn status_by_values(row: &Comparison, set: &ComparisonSet, rules: &GateRules) -> RowStatus {
    let Some(estimate) = row.estimate.as_ref().filter(|e| e.rounds >= set.rules.min_rounds) else {
        return RowStatus::NotCompared;
    };
    // Of what was measured apart the gate asks whether it is worse than it was, and not why; unless another thing was asked.
    let is_another = row.warnings.iter().any(|warning| matches!(warning, Warning::ConfoundedKeys { .. }));
    if row.why_no_verdict().is_some() && (row.cross_finding().is_none() || is_another) {
        return RowStatus::NotCompared;
    }
    let (ratio, worst) = match row.metric.direction {
        Direction::Lower => (estimate.ratio, estimate.hi),
        _ => (1.0 / estimate.ratio, 1.0 / estimate.lo),
    };
    let limit = match (estimate.scale, row.metric.direction) {
        // Failed shares have a much smaller limit.
        (Scale::Points, _) => 1.0 + SHARE_MARGIN,
        (Scale::Ratio, Direction::Lower) => 1.0 + rules.max_regression,
        // A rate may fall by as much, as the table shows it.
        (Scale::Ratio, _) => 1.0 / (1.0 - rules.max_regression).max(0.0),
    };
    let certain = estimate.is_difference();
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
