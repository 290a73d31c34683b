//! A history as text: the answer, then a line for each series.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr as _;

use super::series::{ALARM_NIGHTS, FollowedHistory, FollowedRow, Move, Standing};
use crate::number::{Change, RowUnit, Script, count_noun};
use crate::text::{Align, Grid, GridCell, GridLine, Style, clean_text, clip_to_width, wrap_to_width};

/// Rows that the answer names; more are counted.
const NAMED: usize = 3;
/// Letters of the table's widest column but the first.
const LONGEST_CHANGE: usize = 28;
/// Letters of a value of a fact.
const LONGEST_FACT: usize = 40;
/// Facts that are named of a cut.
const NAMED_FACTS: usize = 3;

/// Writes the answer and the table of a history.
pub fn render_history(history: &FollowedHistory, width: usize) -> String {
    let width = width.max(80);
    let mut out = wrap_to_width(&clean_text(&history_answer(history)), width, 0);
    out.push('\n');
    if let Some(text) = anchor_sentence(history) {
        out.push_str(&wrap_to_width(&clean_text(&text), width, 0));
    }
    out.push_str(&render_rows(history, width));
    for text in cut_notes(history) {
        out.push_str(&wrap_to_width(&clean_text(&text), width, 2));
    }
    out
}

/// Says which values are ratios to an anchor; `None` if none is.
fn anchor_sentence(history: &FollowedHistory) -> Option<String> {
    let anchor = history.rows.iter().find_map(|row| row.key.anchor.as_ref())?;
    let have_all = history.rows.iter().all(|row| row.key.anchor.is_some());
    let subject = if have_all { "Values" } else { "Values without a unit" };
    Some(format!("{subject} are ratios to the anchor {anchor}, measured in the same experiment."))
}

/// Answers, by the rows of the newest experiment, what moved, since when and by how much, or that nothing did; then what is not yet an alarm.
pub fn history_answer(history: &FollowedHistory) -> String {
    let alarms: Vec<&FollowedRow> = history.rows.iter().filter(|row| row.alarm().is_some()).collect();
    let suspicions: Vec<(&FollowedRow, &Move)> = history
        .rows
        .iter()
        .filter_map(|row| if let Standing::Suspicious(found) = &row.standing { Some((row, found)) } else { None })
        .collect();
    let mut sentences: Vec<String> = Vec::new();
    let moved = alarms.iter().filter_map(|row| row.alarm().map(|found| move_sentence(history, row, found)));
    sentences.extend(moved.take(NAMED));
    if alarms.len() > NAMED {
        sentences.push(format!("{} moved, too.", count_noun(alarms.len() - NAMED, "more row")));
    }
    if alarms.is_empty() {
        sentences.push(quiet_sentence(history));
    }
    let doubts = suspicions
        .iter()
        .take(NAMED)
        .map(|(row, found)| format!("Not yet an alarm: {} A new level takes 3.", move_sentence(history, row, found)));
    sentences.extend(doubts);
    if suspicions.len() > NAMED {
        sentences.push(format!("{} may have moved, too.", count_noun(suspicions.len() - NAMED, "more row")));
    }
    sentences.join(" ")
}

/// Says that nothing moved, in how many nights; or that it is too early to say.
fn quiet_sentence(history: &FollowedHistory) -> String {
    if history.rows.is_empty() {
        return "The history is empty: `etalon history add STORE` adds an experiment.".to_owned();
    }
    let longest = current_rows(history).map(|row| row.points.len() - row.start()).max().unwrap_or_default();
    if current_rows(history).all(|row| row.standing == Standing::TooFew) {
        return format!("It is too early to say: {}, and a change of level takes 6.", count_noun(longest, "point"));
    }
    let quiet = current_rows(history).map(|row| {
        let last_move = row.moves.last().map_or(0, |found| found.at);
        row.points.len() - last_move.max(row.start())
    });
    let quiet = quiet.min().unwrap_or_default();
    format!("Nothing moved in the last {}.", count_noun(quiet, night_noun(history)))
}

/// The rows with a point in the newest experiment.
fn current_rows(history: &FollowedHistory) -> impl Iterator<Item = &FollowedRow> {
    history.rows.iter().filter(|row| row.standing != Standing::Ended)
}

/// The word for what a history counts: nights, if no two experiments began on one day.
fn night_noun(history: &FollowedHistory) -> &'static str {
    let days: BTreeSet<String> =
        history.experiments.iter().map(|experiment| day_text(experiment.created_unix_ms)).collect();
    if days.len() == history.experiments.len() { "night" } else { "experiment" }
}

/// Says by how much a row moved, since when, and for how many points.
pub fn move_sentence(history: &FollowedHistory, row: &FollowedRow, found: &Move) -> String {
    let (day, commit) = first_of_level(history, row, found);
    let commit = commit.map_or_else(String::new, |commit| format!(", commit {commit}"));
    let worse = match found.is_worse {
        Some(true) => " (worse)",
        Some(false) => " (better)",
        None => "",
    };
    format!(
        "{}, {}, {}: {} {}{worse} since {day}{commit}, for {}.",
        row.key.system,
        row.key.benchmark,
        row.short_name(),
        change_of(found).print_change(Script::Plain),
        change_of(found).print_interval(Script::Plain),
        count_noun(found.points, "point")
    )
}

/// The day on which a level was first seen, and the commit that was measured then.
fn first_of_level(history: &FollowedHistory, row: &FollowedRow, found: &Move) -> (String, Option<String>) {
    let experiment = row.points.get(found.at).and_then(|(at, _)| history.experiments.get(*at));
    experiment.map_or_else(Default::default, |one| (day_text(one.created_unix_ms), one.commit.clone()))
}

/// A move as a change that can be printed.
fn change_of(found: &Move) -> Change {
    Change::new(found.ratio, found.interval[0], found.interval[1])
}

/// Writes the day of a time in UTC.
pub(super) fn day_text(unix_ms: i64) -> String {
    let day = jiff::Timestamp::from_millisecond(unix_ms).map(|at| at.strftime("%Y-%m-%d").to_string());
    day.unwrap_or_default()
}

/// Writes the table: for each system and benchmark its rows.
fn render_rows(history: &FollowedHistory, width: usize) -> String {
    let mut grid = Grid::new(vec![Align::Left, Align::Right, Align::Right, Align::Left, Align::Left]);
    let head = ["", "points", "last", "change since", "state"].map(GridCell::new);
    grid.push_line(GridLine::Cells(head.to_vec()));
    let cells: Vec<[String; 5]> = history.rows.iter().map(|row| row_cells(history, row)).collect();
    let others: usize = (1..5)
        .map(|column| 2 + cells.iter().map(|cells| cells[column].width()).fold(12, usize::max).min(LONGEST_CHANGE))
        .sum();
    let mut group = None;
    for (row, cells) in history.rows.iter().zip(cells) {
        let own = (&row.key.system, &row.key.benchmark, &row.key.anchor);
        if group != Some(own) {
            let title = format!("{}, {}", clean_text(&row.key.system), clean_text(&row.key.benchmark));
            grid.push_line(GridLine::Across(clip_to_width(&title, width)));
            group = Some(own);
        }
        let [name, rest @ ..] = cells;
        let name = clip_to_width(&name, width.saturating_sub(others).max(12));
        grid.push_line(GridLine::Cells(std::iter::once(name).chain(rest).map(GridCell::new).collect()));
    }
    if history.rows.is_empty() { String::new() } else { grid.render_grid(Style::Plain) }
}

/// Writes a row's cells: name, number of points, last value, last change and its day, state.
fn row_cells(history: &FollowedHistory, row: &FollowedRow) -> [String; 5] {
    let last = row.last_point().map_or_else(String::new, |(_, point)| last_value_text(row, point.value));
    let change = match row.moves.last().filter(|found| found.at > row.start() || row.cuts.is_empty()) {
        Some(found) => {
            let (day, _) = first_of_level(history, row, found);
            format!("{} {day}", change_of(found).print_change(Script::Plain))
        }
        None => "-".to_owned(),
    };
    let state = match row.standing {
        Standing::TooFew => "too few points",
        Standing::Steady => "steady",
        Standing::Suspicious(_) => "not yet an alarm",
        Standing::Alarm(_) => "alarm",
        Standing::Ended => "ended",
    };
    let name = format!("  {}", clean_text(&row.short_name()));
    [name, row.points.len().to_string(), last, change, state.to_owned()]
}

/// Writes a value in its unit; a ratio has none.
fn last_value_text(row: &FollowedRow, value: f64) -> String {
    if row.key.anchor.is_some() {
        return format!("{value:.3}");
    }
    let unit = RowUnit::new(&row.key.unit, [value]);
    format!("{} {}", unit.print(value, Script::Plain), clean_text(unit.unit_name())).trim_end().to_owned()
}

/// Says which series were cut on which day, and by which facts; rows that share a cut are one note.
fn cut_notes(history: &FollowedHistory) -> Vec<String> {
    let mut notes: Vec<(String, usize)> = Vec::new();
    for row in &history.rows {
        for cut in &row.cuts {
            let day = row.points.get(cut.at).and_then(|(at, _)| history.experiments.get(*at));
            let day = day.map_or_else(String::new, |experiment| day_text(experiment.created_unix_ms));
            let named = cut.differences.iter().take(NAMED_FACTS).map(|found| {
                let [was, is] = [&found.a, &found.b]
                    .map(|value| clip_to_width(&clean_text(value.as_deref().unwrap_or("n/a")), LONGEST_FACT));
                format!("{} was `{was}` and is `{is}`", found.name)
            });
            let mut named: Vec<String> = named.collect();
            if cut.differences.len() > NAMED_FACTS {
                named.push(count_noun(cut.differences.len() - NAMED_FACTS, "more difference"));
            }
            let text = format!("on {day}, since {}", named.join("; "));
            match notes.iter_mut().find(|(known, _)| *known == text) {
                Some((_, rows)) => *rows += 1,
                None => notes.push((text, 1)),
            }
        }
    }
    notes.iter().map(|(text, rows)| format!("note: {} cut {text}.", was_cut(*rows))).collect()
}

/// Writes how many rows were cut.
fn was_cut(rows: usize) -> String {
    let verb = if rows == 1 { "was" } else { "were" };
    format!("{} {verb}", count_noun(rows, "row"))
}

/// Says for how long an alarm stands.
pub(super) fn alarm_rule() -> String {
    format!("a change is an alarm when it is found, with 3 points or more, and for {ALARM_NIGHTS} points in all")
}
