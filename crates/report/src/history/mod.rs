//! A history of experiments: what one adds to it, the series that it follows, what moved, and other tools' forms of it.

mod export;
mod gate;
mod json;
mod points;
mod series;
mod text;

pub use export::{ExportError, HistoryFormat, export_history};
pub use gate::{HistoryGate, HistoryVerdict, judge_by_history};
pub use json::history_json;
pub use points::{Contribution, LeftOut, Refusal, read_contribution};
pub use series::{ALARM_NIGHTS, Cut, FollowedHistory, FollowedRow, Move, Standing, follow_history};
pub use text::{history_answer, move_sentence, render_history};
