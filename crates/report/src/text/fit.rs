//! A comparison of many cases in a screen or two: the cases that differ most, and how the rest came out.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use model::Direction;
use stats::Verdict;

use super::{
    Rows, TextOptions, clean_text, clip_to_width, differences_line, dropped_lines, figures, legend_text, lines_above,
    remedies, render_head, table,
};
use super::{render_views, wrap_to_width};
use crate::comparison::{Comparison, ComparisonSet, Figure, Note, NoteKind, Outcome, Table};
use crate::labels::{has_pairs, table_title, verdict_words};
use crate::number::count_noun;
use crate::views::overview;

/// Cases that are shown where there is room.
const MOST_CASES: usize = 40;
/// Notes of a kind, remedies and reasons of dropped runs that are shown.
const MOST_ALIKE: usize = 2;
/// Tables or pairs of which a line reports how their rows came out.
const MOST_COUNTS: usize = 6;
/// Letters of a note.
const LONGEST_NOTE: usize = 200;

/// Writes the cases that differ most, as many as fit into this number of lines, at least one.
pub(super) fn render_to_fit(set: &ComparisonSet, options: &TextOptions, lines: usize) -> String {
    let options = TextOptions { rows: Rows::Fit(lines), ..*options };
    let ranked = ranked_cases(set);
    let some = |cases: usize| render_part(set, &options, &ranked[..cases.min(ranked.len())], cases);
    // The fewest cases that are too many: more cases never take fewer lines.
    let (mut shown, mut too_many) = (1, MOST_CASES + 1);
    while shown + 1 < too_many {
        let middle = usize::midpoint(shown, too_many);
        if some(middle).lines().count() <= lines {
            shown = middle;
        } else {
            too_many = middle;
        }
    }
    some(shown)
}

/// A case of a benchmark: the table's title, and the values of its keys.
type Case<'s> = (&'s [(String, String)], &'s [(String, String)]);

/// Identifies the case of a row by the table's title and the row's keys.
fn case_of_row<'s>(table: &'s Table, row: &'s Comparison) -> Case<'s> {
    (&table.title, &row.label)
}

/// How much a row shows: differences that are sure before those that are only seen, large ones before small ones.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Rank {
    is_sure: bool,
    is_open: bool,
    /// Logarithm of the change.
    size: f64,
}

/// Ranks a row by how much it shows: sure differences first, then open ones, then by size.
fn rank_of_row(row: &Comparison) -> Rank {
    let is_sure = matches!(row.outcome, Outcome::Verdict(Verdict::Faster | Verdict::Slower));
    let is_open = !matches!(row.outcome, Outcome::Verdict(Verdict::Equivalent));
    let size = row.change.map_or(0.0, |change| change.ratio.ln().abs());
    Rank { is_sure, is_open, size: if size.is_finite() { size } else { 0.0 } }
}

/// A case with what its most telling row says.
#[derive(Clone, Copy)]
struct Ranked<'s> {
    case: Case<'s>,
    rank: Rank,
    /// B is better than A there, or seems to be.
    is_better: bool,
}

/// Orders rows by rank, the highest first.
fn compare_by_rank(one: &Ranked<'_>, other: &Ranked<'_>) -> Ordering {
    other.rank.partial_cmp(&one.rank).unwrap_or(Ordering::Equal)
}

/// Lists all cases, those that show most first, in turns one where B is better and one where it is worse.
fn ranked_cases(set: &ComparisonSet) -> Vec<Case<'_>> {
    let mut best: BTreeMap<Case<'_>, Ranked<'_>> = BTreeMap::new();
    for (table, row) in set.tables.iter().flat_map(|table| table.rows.iter().map(move |row| (table, row))) {
        let case = case_of_row(table, row);
        let is_more = row.change.is_some_and(|change| change.ratio > 1.0);
        let is_better = is_more == (row.metric.direction == Direction::Higher);
        let found = Ranked { case, rank: rank_of_row(row), is_better };
        let known = best.entry(case).or_insert(found);
        if found.rank > known.rank {
            *known = found;
        }
    }
    let mut all: Vec<Ranked<'_>> = best.into_values().collect();
    all.sort_by(compare_by_rank);
    let (better, worse): (Vec<Ranked<'_>>, Vec<Ranked<'_>>) = all.into_iter().partition(|one| one.is_better);
    let mut turns = Vec::new();
    for at in 0..better.len().max(worse.len()) {
        let mut both: Vec<Ranked<'_>> = [better.get(at), worse.get(at)].into_iter().flatten().copied().collect();
        both.sort_by(compare_by_rank);
        turns.extend(both.into_iter().map(|one| one.case));
    }
    turns
}

/// Writes these cases, and at most this number of figures.
fn render_part(set: &ComparisonSet, options: &TextOptions, cases: &[Case<'_>], most_figures: usize) -> String {
    let mut out = render_head(set, options);
    out.push_str(&shorten_notes(&set.notes, options.width));
    let has_overview = set.apart.is_none() && has_pairs(&set.tables);
    out.push_str(&if has_overview { side_by_side(set, options, cases) } else { render_tables(set, options, cases) });
    out.push_str(&remedies::render_remedies(set, &set.remedies[..set.remedies.len().min(MOST_ALIKE)], options.width));
    if !set.figures.is_empty() {
        out.push_str(&some_figures(set, options, most_figures));
    }
    if !set.tables.is_empty() {
        out.push('\n');
        out.push_str(&legend_text(set, options.width));
    }
    let reasons = set.dropped_by_reason();
    out.push_str(&dropped_lines(set, &reasons[..reasons.len().min(MOST_ALIKE)], options.width));
    if let Some(more) = reasons.len().checked_sub(MOST_ALIKE).filter(|more| *more > 0) {
        out.push_str(&format!("  and {}\n", count_noun(more, "other reason")));
    }
    out
}

/// Writes the first notes of each kind, shortened, and how many more there are.
fn shorten_notes(notes: &[Note], width: usize) -> String {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut out = String::new();
    for note in notes.iter().filter(|note| note.kind != NoteKind::Incomplete) {
        let of_kind = seen.entry(note.kind.as_str()).or_default();
        *of_kind += 1;
        if *of_kind <= MOST_ALIKE {
            let text = clip_to_width(&clean_text(&note.text), LONGEST_NOTE);
            let end = if text.ends_with('…') { "" } else { "." };
            out.push_str(&wrap_to_width(&format!("note: {text}{end}"), width, 6));
        }
    }
    let more: usize = seen.values().map(|of_kind| of_kind.saturating_sub(MOST_ALIKE)).sum();
    if more > 0 {
        out.push_str(&format!("and {} like these\n", count_noun(more, "more note")));
    }
    out
}

/// Cuts a table down to the rows of some cases.
fn rows_of_cases(table: &Table, cases: &BTreeSet<Case<'_>>) -> Table {
    let rows = table.rows.iter().filter(|row| cases.contains(&case_of_row(table, row))).cloned().collect();
    let Table { title, compared, a, b, differences, .. } = table;
    let (title, compared, a, b) = (title.clone(), compared.clone(), a.clone(), b.clone());
    Table { title, compared, a, b, rows, differences: differences.clone() }
}

/// Writes the tables with the rows of some cases, and counts the verdicts of the others.
fn render_tables(set: &ComparisonSet, options: &TextOptions, cases: &[Case<'_>]) -> String {
    let shown: BTreeSet<Case<'_>> = cases.iter().copied().collect();
    let (mut out, mut rest) = (String::new(), Vec::new());
    let mut are_differences_told = false;
    for table in &set.tables {
        let part = rows_of_cases(table, &shown);
        let left: Vec<&Comparison> =
            table.rows.iter().filter(|row| !shown.contains(&case_of_row(table, row))).collect();
        if part.rows.is_empty() {
            rest.push((clean_text(&table_title(table)), verdict_counts(&left, set)));
            continue;
        }
        out.push('\n');
        let differs = if are_differences_told { None } else { differences_line(table, options) };
        are_differences_told = true;
        out.push_str(&lines_above(&part, set, differs, options));
        out.push_str(&table::render_table(&part, set, options));
        if !left.is_empty() {
            let line = format!("and {}: {}", count_noun(left.len(), "more row"), verdict_counts(&left, set));
            out.push_str(&wrap_to_width(&line, options.width, 2));
        }
    }
    out + &count_lines(rest, options.width) + &how_to_see_all(set.rows().count(), options.width)
}

/// Writes some cases of several systems side by side, and counts each pair's verdicts.
fn side_by_side(set: &ComparisonSet, options: &TextOptions, cases: &[Case<'_>]) -> String {
    let shown: BTreeSet<Case<'_>> = cases.iter().copied().collect();
    let parts: Vec<Table> = set.tables.iter().map(|table| rows_of_cases(table, &shown)).collect();
    let parts: Vec<Table> = parts.into_iter().filter(|table| !table.rows.is_empty()).collect();
    let mut pairs: Vec<((&str, &str), Vec<&Comparison>)> = Vec::new();
    for table in &set.tables {
        let pair = (table.a.as_str(), table.b.as_str());
        match pairs.iter_mut().find(|(known, _)| *known == pair) {
            Some((_, rows)) => rows.extend(&table.rows),
            None => pairs.push((pair, table.rows.iter().collect())),
        }
    }
    format!("\n{}", render_views(&overview::tables_of_pairs(&parts), options.width))
        + &count_lines(
            pairs
                .iter()
                .map(|((a, b), rows)| (format!("{} vs {}", clean_text(b), clean_text(a)), verdict_counts(rows, set)))
                .collect(),
            options.width,
        )
        + &how_to_see_all(set.rows().count(), options.width)
}

/// Writes a line for each of the first names with its counts, and how many more there are.
fn count_lines(named: Vec<(String, String)>, width: usize) -> String {
    if named.is_empty() {
        return String::new();
    }
    let more = named.len().saturating_sub(MOST_COUNTS);
    let lines = named.into_iter().take(MOST_COUNTS);
    let mut out = String::from("\n");
    lines.for_each(|(name, counts)| out.push_str(&format!("{}\n", clip_to_width(&format!("{name}: {counts}"), width))));
    if more > 0 {
        out.push_str(&format!("and {more} more\n"));
    }
    out
}

/// Says that not all rows are shown, and which command shows them.
fn how_to_see_all(rows: usize, width: usize) -> String {
    let text = format!(
        "\nOf {} those of the cases are shown that differ most. `etalon compare STORE --all` shows every row, \
         `etalon report STORE` makes a page of them.",
        count_noun(rows, "row")
    );
    wrap_to_width(&text, width, 0)
}

/// Counts the rows by verdict: `30 faster, 12 equivalent, 4 no verdict`.
fn verdict_counts(rows: &[&Comparison], set: &ComparisonSet) -> String {
    let mut words: Vec<(String, usize)> = Vec::new();
    for row in rows {
        let (word, _) = verdict_words(row, set);
        match words.iter_mut().find(|(known, _)| *known == word) {
            Some((_, rows)) => *rows += 1,
            None => words.push((word, 1)),
        }
    }
    words.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    words.iter().map(|(word, rows)| format!("{rows} {word}")).collect::<Vec<_>>().join(", ")
}

/// Writes the leading figure of some cases, taken from the benchmarks in turns.
fn some_figures(set: &ComparisonSet, options: &TextOptions, most: usize) -> String {
    let mut benchmarks: Vec<(&str, Vec<&Figure>)> = Vec::new();
    let mut known = BTreeSet::new();
    for figure in &set.figures {
        if !known.insert((&figure.benchmark, &figure.label)) {
            continue;
        }
        match benchmarks.iter_mut().find(|(name, _)| *name == figure.benchmark) {
            Some((_, figures)) => figures.push(figure),
            None => benchmarks.push((&figure.benchmark, vec![figure])),
        }
    }
    let deepest = benchmarks.iter().map(|(_, figures)| figures.len()).max().unwrap_or(0);
    let turns = (0..deepest).flat_map(|at| benchmarks.iter().filter_map(move |(_, figures)| figures.get(at)));
    let chosen: BTreeSet<(&String, &String)> = turns.take(most).map(|one| (&one.benchmark, &one.label)).collect();
    let firsts = benchmarks.iter().flat_map(|(_, figures)| figures).copied();
    let shown: Vec<&Figure> = firsts.filter(|one| chosen.contains(&(&one.benchmark, &one.label))).collect();
    let line = format!(
        "\nThe leading figure of {} of {} is shown. `etalon compare STORE --all` shows all {}.",
        shown.len(),
        count_noun(known.len(), "case"),
        count_noun(set.figures.len(), "figure")
    );
    format!("\n{}{}", figures::render_figures(set, shown, options), wrap_to_width(&line, options.width, 0))
}
