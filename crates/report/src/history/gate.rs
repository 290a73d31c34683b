//! Pass or fail by a history: an alarm for the worse in a row of one experiment.

use serde_json::{Value, json};
use store::history::{Addition, HistoryContent, StoredSeries};

use super::points::Contribution;
use super::series::{FollowedHistory, FollowedRow, Standing, follow_history};
use super::text::move_sentence;
use crate::number::count_noun;
use crate::text::clean_text;

/// What a history says of the rows of one experiment, as it was seen when that was the newest.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryGate {
    /// A line for each row that is not steady: its state, and what moved.
    pub lines: Vec<(&'static str, String)>,
    pub rows: usize,
    /// Rows with an alarm for the worse: the gate fails with one.
    pub alarms: usize,
    /// Rows with too few points for any change to be found.
    pub too_few: usize,
    /// Rows that the history follows and of which the experiment has no point.
    pub lost: usize,
    /// The anchor of the history, if the experiment has no such system.
    pub missing_anchor: Option<String>,
}

/// What a gate by a history decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryVerdict {
    Passed,
    /// A row has an alarm for the worse.
    Failed,
    /// No row has enough points, a row that is followed has none, or the values are no ratios to the anchor.
    Undecided,
}

impl HistoryGate {
    /// Decides by the alarms, and if there are none by what could be judged.
    pub fn verdict(&self) -> HistoryVerdict {
        if self.alarms > 0 {
            HistoryVerdict::Failed
        } else if self.missing_anchor.is_some() || self.lost > 0 || self.too_few == self.rows {
            HistoryVerdict::Undecided
        } else {
            HistoryVerdict::Passed
        }
    }

    /// Says whether the gate passes, and by how many rows.
    pub fn summary(&self) -> String {
        let rows = count_noun(self.rows, "row");
        let few = match self.too_few {
            0 => String::new(),
            few => format!("; {few} with too few points to say"),
        };
        match (self.verdict(), &self.missing_anchor) {
            (HistoryVerdict::Passed, _) => format!("passed: no alarm for the worse in {rows}{few}"),
            (HistoryVerdict::Failed, _) => format!("failed: alarm for the worse in {} of {rows}{few}", self.alarms),
            (HistoryVerdict::Undecided, Some(anchor)) => {
                format!("undecided: the experiment has no system `{}`, the anchor of the history", clean_text(anchor))
            }
            (HistoryVerdict::Undecided, None) if self.lost > 0 => {
                format!("undecided: no point for {} that the history follows", count_noun(self.lost, "row"))
            }
            (HistoryVerdict::Undecided, None) => format!("undecided: too few points in all of {rows}"),
        }
    }

    /// Writes the gate as lines.
    pub fn text(&self) -> String {
        let lines = self.lines.iter().map(|(state, text)| format!("{state:<16}  {text}\n"));
        lines.collect::<String>() + &self.summary() + "\n"
    }

    /// Writes the gate as an object.
    pub fn json(&self) -> Value {
        let lines: Vec<Value> =
            self.lines.iter().map(|(state, text)| json!({ "status": state, "detail": text })).collect();
        let status = match self.verdict() {
            HistoryVerdict::Passed => "passed",
            HistoryVerdict::Failed => "failed",
            HistoryVerdict::Undecided => "undecided",
        };
        json!({
            "schema_version": 1, "status": status, "rows_compared": self.rows, "alarms": self.alarms,
            "too_few_points": self.too_few, "lost": self.lost, "missing_anchor": self.missing_anchor, "rows": lines,
        })
    }
}

/// Judges an experiment by the history before it; it need not have been added. Its rows without a point are named.
pub fn judge_by_history(mut content: HistoryContent, contribution: &Contribution) -> HistoryGate {
    let missing_anchor = if contribution.lacks_anchor { content.anchor.clone() } else { None };
    let at = insert_experiment(&mut content, &contribution.addition);
    content.experiments.truncate(at + 1);
    content.series.iter_mut().for_each(|series| series.points.retain(|(other, _)| *other <= at));
    let history = follow_history(content);
    let rows: Vec<&FollowedRow> =
        history.rows.iter().filter(|row| row.last_point().is_some_and(|(last, _)| *last == at)).collect();
    let mut lines: Vec<(&'static str, String)> = rows.iter().filter_map(|row| row_line(&history, row)).collect();
    let left_out = &contribution.left_out;
    lines.extend(left_out.iter().map(|one| ("left out", clean_text(&format!("{}: {}", one.row, one.reason)))));
    HistoryGate {
        lost: left_out
            .iter()
            .filter(|one| !one.is_of_short_runs && history.rows.iter().any(|row| row.key == one.key))
            .count(),
        rows: rows.len(),
        alarms: lines.iter().filter(|(state, _)| *state == "alarm").count(),
        too_few: rows.iter().filter(|row| row.standing == Standing::TooFew).count(),
        lines,
        missing_anchor,
    }
}

/// Writes the line of a row that is not steady.
fn row_line(history: &FollowedHistory, row: &FollowedRow) -> Option<(&'static str, String)> {
    let (state, found) = match &row.standing {
        Standing::TooFew | Standing::Steady | Standing::Ended => return None,
        Standing::Suspicious(found) => ("not yet an alarm", found),
        Standing::Alarm(found) if found.is_worse == Some(true) => ("alarm", found),
        Standing::Alarm(found) => ("moved", found),
    };
    Some((state, clean_text(&move_sentence(history, row, found))))
}

/// Puts an experiment with its points into a history; they replace those that it has there. Returns its index.
fn insert_experiment(content: &mut HistoryContent, addition: &Addition) -> usize {
    let at = index_of_experiment(content, addition);
    content.facts.extend(addition.facts.clone());
    content.series.iter_mut().for_each(|series| series.points.retain(|(other, _)| *other != at));
    for (key, point) in &addition.points {
        let entry = (at, point.clone());
        match content.series.iter_mut().find(|series| series.key == *key) {
            Some(series) => {
                let index = series.points.partition_point(|(other, _)| *other < at);
                series.points.insert(index, entry);
            }
            None => content.series.push(StoredSeries { key: key.clone(), points: vec![entry] }),
        }
    }
    at
}

/// Finds the index of an experiment, and makes room for one that is not there.
fn index_of_experiment(content: &mut HistoryContent, addition: &Addition) -> usize {
    let experiment = &addition.experiment;
    if let Some(at) = content.experiments.iter().position(|one| one.id == experiment.id) {
        return at;
    }
    let at = content
        .experiments
        .partition_point(|one| (one.created_unix_ms, &one.id) < (experiment.created_unix_ms, &experiment.id));
    content.experiments.insert(at, experiment.clone());
    let points = content.series.iter_mut().flat_map(|series| &mut series.points);
    points.filter(|(other, _)| *other >= at).for_each(|(other, _)| *other += 1);
    at
}
