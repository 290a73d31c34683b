//! The terminal table, in the widest form that fits.
//!
//! Above it the differences between the sides, below it legend and footnotes. No information is in colour alone.

mod figures;
mod fit;
mod grid;
mod remedies;
mod shorten;
mod table;

pub(crate) use grid::{Align, Grid, GridCell, GridLine, clip_to_width};
pub use grid::{Style, clean_text, is_unsafe, wrap_to_width};
pub(crate) use remedies::rows_text as rows_of_remedy;
pub(crate) use shorten::{clipped_apart, pair_apart};

use unicode_width::UnicodeWidthStr;

use crate::comparison::{ComparisonSet, DroppedRun, KNEE_SHARE, NoteKind, Table};
use crate::labels::{
    estimator_words, explain_exploring, explain_primary, interval_words, one_look_clause, reason_of_all, table_title,
};
use crate::number::{Script, percent_text};
use crate::views::text::{render_bars as bars_of, render_tables as render_views};
use crate::views::{View, curves, hosts, overview};

/// Whether single runs are listed under rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    #[default]
    Hidden,
    /// They are, in run order.
    Listed,
}

/// How many rows are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rows {
    #[default]
    All,
    /// All of them if they are few or the text has at most this many lines; else the cases that differ most, and counts of the rest.
    Fit(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Width of the terminal, at least 80.
    pub width: usize,
    pub style: Style,
    pub runs: Runs,
    pub rows: Rows,
    /// Maximum named above a table.
    pub differences: usize,
}

impl Default for TextOptions {
    fn default() -> TextOptions {
        TextOptions { width: 80, style: Style::Plain, runs: Runs::Hidden, rows: Rows::All, differences: 6 }
    }
}

/// The most rows that are read at a glance, with the pictures below them.
const GLANCE_ROWS: usize = 24;

/// Whether a text is to be cut: it is too long and of many rows, or twice as long as asked for.
fn is_long(set: &ComparisonSet, lines: usize, most: usize) -> bool {
    let rows: usize = set.tables.iter().map(|table| table.rows.len()).sum();
    lines > most && (rows > GLANCE_ROWS || lines > 2 * most)
}

/// Narrower than this no line can be laid out.
const LEAST_WIDTH: usize = 80;
/// Longest line of what was compared.
const LONGEST_COMPARED: usize = 78;
/// Longest value in the line of differences.
const LONGEST_VALUE: usize = 40;

/// Writes a set as text: answer, what was compared, notes, tables and legend; cut to what the options ask for.
pub fn render_set(set: &ComparisonSet, options: &TextOptions) -> String {
    let options = TextOptions { width: options.width.max(LEAST_WIDTH), ..*options };
    let text = render_all(set, &TextOptions { rows: Rows::All, ..options });
    match options.rows {
        // What is not much longer is shown with its charts.
        Rows::Fit(lines) if is_long(set, text.lines().count(), lines) => fit::render_to_fit(set, &options, lines),
        Rows::All | Rows::Fit(_) => text,
    }
}

/// Writes the answer, and what was compared.
fn render_head(set: &ComparisonSet, options: &TextOptions) -> String {
    let bold = anstyle::Style::new().bold();
    let answer = wrap_to_width(&clean_text(&set.answer), options.width, 0);
    let mut out: String = answer.lines().map(|line| options.style.paint(bold, line) + "\n").collect();
    out.push('\n');
    let compared = set.compared.iter().map(|line| clean_text(&clip_to_width(line, LONGEST_COMPARED)));
    compared.for_each(|line| out.push_str(&wrap_to_width(&line, options.width, 3)));
    out
}

/// Writes a set in full, whatever its length.
fn render_all(set: &ComparisonSet, options: &TextOptions) -> String {
    let mut out = render_head(set, options);
    for note in &set.notes {
        // Table and notes report missing runs.
        if note.kind != NoteKind::Incomplete {
            out.push_str(&wrap_to_width(&clean_text(&format!("note: {}.", note.text)), options.width, 6));
        }
    }
    let overview = overview::overview_tables(set);
    if !overview.is_empty() {
        out.push('\n');
        out.push_str(&render_views(&overview, options.width));
    }
    for (at, table) in set.tables.iter().enumerate() {
        out.push('\n');
        let is_known = set.tables[..at].iter().any(|before| (&before.a, &before.b) == (&table.a, &table.b));
        let differs = if is_known { None } else { differences_line(table, options) };
        out.push_str(&lines_above(table, set, differs, options));
        out.push_str(&table::render_table(table, set, options));
    }
    out.push_str(&remedies::render_remedies(set, &set.remedies, options.width));
    if !set.figures.is_empty() {
        out.push('\n');
        out.push_str(&figures::render_figures(set, &set.figures, options));
    }
    out.push_str(&render_disk(set, options.width));
    if !set.hosts.is_empty() {
        let head =
            "\nEach client host, geometric means of its runs; of middle: its 99th percentile over the middle host's.";
        out.push_str(&wrap_to_width(head, options.width, 2));
        out.push_str(&render_views(&hosts::tables(set), options.width));
    }
    if !set.tables.is_empty() {
        out.push('\n');
        out.push_str(&legend_text(set, options.width));
    }
    out.push_str(&dropped_lines(set, &set.dropped_by_reason(), options.width));
    out
}

/// Writes the published charts of disks, and what they hide.
fn render_disk(set: &ComparisonSet, width: usize) -> String {
    let views = curves::disk_views(set);
    let mut out: String = views
        .iter()
        .map(|view| if let View::Bars(bars) = view { bars_of(bars, width) } else { String::new() })
        .collect();
    if out.is_empty() {
        return out;
    }
    let level = percent_text(set.rules.level, Script::Plain);
    let head = format!(
        "\nWhat the best of a group hides: the mean of the runs at every depth, ± half its {level} interval{}. The knee is \
         the smallest depth with {} of the highest mean.",
        one_look_clause(&set.rules),
        percent_text(KNEE_SHARE, Script::Plain)
    );
    out.push_str(&wrap_to_width(&head, width, 2));
    out + &render_views(&views, width)
}

/// Writes the lines above a table: its title, its sides and what its rows share.
fn lines_above(table: &Table, set: &ComparisonSet, differs: Option<String>, options: &TextOptions) -> String {
    let bold = anstyle::Style::new().bold();
    let sides = format!("A = {}, B = {}", clean_text(&table.a), clean_text(&table.b));
    let title = clean_text(&table_title(table));
    let mut out = wrap_to_width(&format!("{title}: {sides}"), options.width, 2);
    if options.style == Style::Ansi {
        out = out.replacen(&title, &options.style.paint(bold, &title), 1);
    }
    let lines = [
        fixed_keys(table, set, options),
        differs,
        explain_exploring(set, &table.rows, Script::Plain),
        reason_of_all(&table.rows).map(|reason| format!("no verdicts: {}", clean_text(&reason))),
    ];
    lines.iter().flatten().for_each(|line| out.push_str(&wrap_to_width(line, options.width, 2)));
    out
}

/// The words that begin what all rows of a table share.
fn every_row(options: &TextOptions) -> &'static str {
    if options.rows == Rows::All { "all rows" } else { "these rows" }
}

/// Writes the keys that all rows share: `all rows: clients=16, scale=10`, as many as a line has room for.
/// Keys at the plan's defaults, and those that are not known in any row, are left out.
fn fixed_keys(table: &Table, set: &ComparisonSet, options: &TextOptions) -> Option<String> {
    let first = table.rows.first()?;
    let shared: Vec<String> = first
        .case
        .iter()
        .filter(|(key, value)| {
            (!matches!(value, model::Value::Text(text) if text == model::UNKNOWN))
                && table.rows.iter().all(|row| row.case.get(*key) == Some(value))
                && !table.rows.iter().all(|row| set.is_by_default(&row.benchmark, key))
        })
        .map(|(key, value)| clean_text(&clip_to_width(&format!("{key}={value}"), LONGEST_VALUE)))
        .collect();
    (!shared.is_empty()).then(|| {
        keys_line(
            &shared,
            options,
            (1..=shared.len())
                .rev()
                .find(|keys| keys_line(&shared, options, *keys).width() <= options.width)
                .unwrap_or(1),
        )
    })
}

/// Writes the line of shared keys with the first of them, and how many more there are.
fn keys_line(shared: &[String], options: &TextOptions, keys: usize) -> String {
    let rest = shared.len() - keys;
    let more = if rest > 0 { format!(", and {rest} more") } else { String::new() };
    format!("{}: {}{more}", every_row(options), shared[..keys].join(", "))
}

/// They follow from settings or a note.
const SAID_ELSEWHERE: [&str; 2] = ["durability.because", "durability.except"];

/// Writes the facts in which the sides differ: `differs: setting.synchronous_commit (on | off), and 3 more`.
pub(crate) fn differences_line(table: &Table, options: &TextOptions) -> Option<String> {
    let shown: Vec<_> = table.differences.iter().filter(|d| !SAID_ELSEWHERE.contains(&d.name.as_str())).collect();
    let named: Vec<String> = shown
        .iter()
        .take(options.differences)
        .map(|d| format!("{} ({} | {})", clean_text(&d.name), value_text(&d.a), value_text(&d.b)))
        .collect();
    if named.is_empty() {
        return None;
    }
    let more = shown.len() - named.len();
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    Some(format!("differs: {}{rest}", named.join(", ")))
}

/// Writes a value, clipped, or that it is not known.
fn value_text(value: &Option<String>) -> String {
    value.as_deref().map_or_else(|| "not known".to_owned(), |v| clean_text(&clip_to_width(v, LONGEST_VALUE)))
}

/// Explains the columns and verdicts of the tables.
fn legend_text(set: &ComparisonSet, width: usize) -> String {
    let rules = &set.rules;
    let ratio = interval_words(rules);
    let of = match rules.estimator {
        stats::Estimator::Geometric => String::new(),
        _ => {
            ", which rests on the geometric means and is not shown beside other figures; so do the verdicts".to_owned()
        }
    };
    let margin = percent_text(rules.margin, Script::Plain);
    let adjusted = explain_primary(set, Script::Plain).map_or_else(String::new, |text| format!(" {text}."));
    let verdicts = match &set.apart {
        None => format!(
            "Equivalent: the whole interval lies within ±{margin}. Inconclusive: neither that nor a difference is sure."
        ),
        Some(apart) => format!(
            "Higher, lower: beyond what the runs within each experiment vary by. Alike: the whole interval lies within ±{margin}. \
             None of them is a verdict on the systems: what changed between {} is in it.",
            clean_text(&apart.labels_in_words())
        ),
    };
    let has_shares = set.rows().any(|row| row.share_of_whole.is_some());
    let shares = if has_shares { " Of A: part of A's time for all queries." } else { "" };
    let text = format!(
        "A, B: {}; B vs A: what they give, {ratio}{of}.{shares} ↑ higher is better, ↓ lower. {verdicts}{adjusted}",
        estimator_words(set)
    );
    wrap_to_width(&text, width, 0)
}

/// Writes each reason for attempts without a result, with the first of them.
fn dropped_lines(set: &ComparisonSet, reasons: &[(&DroppedRun, usize)], width: usize) -> String {
    if set.dropped.is_empty() {
        return String::new();
    }
    let mut out = format!("\n{}:\n", set.dropped_heading());
    for (run, more) in reasons {
        let repeated = match (run.repeated, run.was_measured) {
            (_, true) => " when repeated, measured before",
            (true, false) => ", measured when repeated",
            (false, false) => "",
        };
        let more = if *more > 0 { format!(", and {more} more") } else { String::new() };
        let line = format!(
            "  round {}, {}{more}: {}{repeated}: {}",
            run.round + 1,
            clean_text(&run.case),
            run.state,
            clean_text(&run.reason)
        );
        out.push_str(&format!("  {}", wrap_to_width(&line, width.saturating_sub(2), 4)));
    }
    out
}
