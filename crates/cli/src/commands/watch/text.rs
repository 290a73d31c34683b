//! The lines of a watched experiment: its position above, then what the report says.

use std::fmt::Write as _;
use std::path::Path;

use model::{RowSoFar, Standing};
use report::last_run::{LastRun, last_run};
use report::look::expected_rounds_to_go;
use report::number::count_noun;
use report::text::{TextOptions, wrap_to_width};

use super::reading::{Course, Watched};
use crate::args::guessed::typed_line;
use crate::progress::{estimate_text, has_searches, may_end_early};

/// Writes a watched experiment as text: its progress, the answer or the rows so far, and the last run; not cleaned.
pub fn watched_text(store: &Path, watched: &Watched, now_unix_ms: i64, width: usize) -> String {
    let mut text = wrap_to_width(&format!("{}: {}", watched.evidence.header.plan.name, store.display()), width, 2);
    for line in progress_lines(store, watched, now_unix_ms) {
        text.push_str(&wrap_to_width(&line, width, 2));
    }
    text.push('\n');
    match &watched.set {
        Err(_) if watched.evidence.measurements.is_empty() => text.push_str("no run has been measured yet\n"),
        Err(error) => text.push_str(&wrap_to_width(&error.message, width, 2)),
        Ok(set) if watched.course() == Course::Ended || set.tables.is_empty() => {
            text.push_str(&report::text::render_set(set, &TextOptions { width, ..TextOptions::default() }));
        }
        Ok(set) => {
            text.push_str(&wrap_to_width(&set.answer, width, 0));
            text.push('\n');
            watched.rows_so_far().iter().for_each(|row| text.push_str(&row_text(row, width)));
        }
    }
    if let Some(last) = last_run(&watched.evidence) {
        text.push('\n');
        text.push_str(&last_run_text(&last, width));
    }
    text
}

/// Says whether the experiment runs, has ended or was stopped, how long it took and how long it will take.
fn progress_lines(store: &Path, watched: &Watched, now_unix_ms: i64) -> Vec<String> {
    let (evidence, course) = (&watched.evidence, watched.course());
    let counts = evidence.run_counts();
    let ended = counts.measured + counts.failed;
    let failed = if counts.failed > 0 { format!(", {} failed", counts.failed) } else { String::new() };
    let taken = watched.time_taken(now_unix_ms).map(|taken| format!(" {}", estimate_text(taken))).unwrap_or_default();
    if course == Course::Ended {
        let rounds = count_noun(evidence.round_count() as usize, "round");
        let took = if taken.is_empty() { taken } else { format!(", took{taken}") };
        return vec![format!("ended: {} of {rounds}{failed}{took}", count_noun(counts.planned, "run"))];
    }
    let most = if may_end_early(&evidence.header.plan) { "at most " } else { "" };
    if course == Course::Stopped {
        let resume = typed_line(&["resume".to_owned(), store.display().to_string()]);
        let who = watched.writer.map_or_else(String::new, |pid| format!(" (process {pid} is not on this host)"));
        return vec![format!(
            "stopped after {ended} of {most}{}{failed}, and no étalon goes on{who}: `{resume}` does",
            count_noun(counts.planned, "run")
        )];
    }
    let mut lines = vec![format!("running: {ended} of {most}{} ended{failed}", count_noun(counts.planned, "run"))];
    if let Some(run) = watched.current_run() {
        let label = evidence
            .case(run.planned.case)
            .map(|case| case.label(&evidence.header.plan.varying_keys(&case.benchmark)))
            .unwrap_or_default();
        let rounds = count_noun(evidence.round_count() as usize, "round");
        lines.push(format!("now: round {} of {most}{rounds}: {label}", u64::from(run.planned.round) + 1));
    }
    let mut time = format!("time:{taken} so far");
    if let Some(left) = watched.time_left(now_unix_ms) {
        let about = if most.is_empty() || has_searches(&evidence.header.plan) { "about " } else { most };
        let _ = write!(time, ", {about}{} left", estimate_text(left));
    }
    if let Some(rounds) = watched.set.as_ref().ok().and_then(expected_rounds_to_go) {
        let _ = write!(time, "; about {} until every row is decided", count_noun(rounds as usize, "more round"));
    }
    lines.push(time);
    lines
}

/// The words for how far a row is decided.
pub fn decision_words(standing: Standing) -> &'static str {
    match standing {
        Standing::Decided => "decided",
        Standing::Open => "open",
        Standing::Closed => "no verdict",
    }
}

/// Writes a row: how far it is decided, its name and its figures, wrapped to the width.
fn row_text(row: &RowSoFar, width: usize) -> String {
    wrap_to_width(&format!("{}: {}: {}", decision_words(row.standing), row.name, row.figures), width, 4)
}

/// Writes the last run's figures or failure, its errors and its marks.
fn last_run_text(last: &LastRun, width: usize) -> String {
    let errors = if last.errors.is_empty() { "none".to_owned() } else { last.errors.join(", ") };
    let mut lines = match &last.failure {
        Some(reason) => vec![format!("failed: {reason}")],
        None => vec![last.figures.join(", ")],
    };
    lines.push(format!("errors: {errors}"));
    lines.extend((!last.client.is_empty()).then(|| last.client.join(", ")));
    lines.extend(last.marks.iter().cloned());
    let head = wrap_to_width(&format!("last run, {}", last.name), width, 2);
    let lines = lines.iter().map(|line| format!("  {}", wrap_to_width(line, width.saturating_sub(2), 4)));
    head + &lines.collect::<String>()
}
