//! A history as one documented object.

use serde_json::{Value, json};

use super::series::{Cut, FollowedHistory, FollowedRow, Move, Standing};
use super::text::{alarm_rule, day_text, history_answer};

/// Writes a history with all of its points.
pub fn history_json(history: &FollowedHistory) -> Value {
    let experiments: Vec<Value> = history
        .experiments
        .iter()
        .map(|one| {
            json!({
                "id": one.id, "name": one.name, "created_unix_ms": one.created_unix_ms,
                "day": day_text(one.created_unix_ms), "commit": one.commit, "runs": one.runs,
            })
        })
        .collect();
    json!({
        "schema_version": 1,
        "answer": history_answer(history),
        "alarm": alarm_rule(),
        "anchor": history.anchor,
        "experiments": experiments,
        "rows": history.rows.iter().map(row_json).collect::<Vec<_>>(),
    })
}

/// Writes a row with its points, cuts and moves.
fn row_json(row: &FollowedRow) -> Value {
    let points: Vec<Value> = row
        .points
        .iter()
        .map(|(at, point)| {
            json!({ "experiment": at, "value": point.value, "interval": point.interval, "version": point.version })
        })
        .collect();
    let (state, newest) = match &row.standing {
        Standing::TooFew => ("too-few-points", None),
        Standing::Steady => ("steady", None),
        Standing::Suspicious(found) => ("not-yet-an-alarm", Some(found)),
        Standing::Alarm(found) => ("alarm", Some(found)),
        Standing::Ended => ("ended", None),
    };
    json!({
        "system": row.key.system,
        "benchmark": row.key.benchmark,
        "case": serde_json::from_str::<Value>(&row.key.case_json).unwrap_or_default(),
        "metric": row.key.metric,
        "unit": if row.key.anchor.is_some() { "" } else { row.key.unit.as_str() },
        "better": row.key.direction,
        "anchor": row.key.anchor,
        "state": state,
        "newest": newest.map(move_json),
        "points": points,
        "cuts": row.cuts.iter().map(cut_json).collect::<Vec<_>>(),
        "moves": row.moves.iter().map(move_json).collect::<Vec<_>>(),
    })
}

/// Writes a cut, by the index of the first point after it.
fn cut_json(cut: &Cut) -> Value {
    let differences: Vec<Value> =
        cut.differences.iter().map(|found| json!({ "fact": found.name, "was": found.a, "is": found.b })).collect();
    json!({ "point": cut.at, "differences": differences })
}

/// Writes a move, by the index of the first point of its level.
fn move_json(found: &Move) -> Value {
    json!({
        "point": found.at, "points": found.points, "ratio": found.ratio, "interval": found.interval,
        "is_worse": found.is_worse,
    })
}
