//! Comparison tables: sortable with script.

use maud::{Markup, html};
use stats::Verdict;

use super::forest::verdict_class;
use super::head::verdict_icon;
use crate::comparison::{Comparison, ComparisonSet, Pairing, Rules, Side, Table};
use crate::labels::{
    RowNotes, better_words, change_of, design_sentence, direction_arrow, estimator_words, explain_exploring,
    explain_primary, figure_of, interval_words, metric_name, missing_side_text, one_look_clause, reason_of_all,
    row_unit, table_title,
};
use crate::number::{RowUnit, Script, half_width_text, p_value_text, percent_text};

/// Rows of a table that are shown at once; the others are folded, as many at a time.
const PAGE: usize = 1_000;

/// Makes the tables of all comparisons with a filter and a legend.
pub fn comparison_tables(set: &ComparisonSet) -> Markup {
    html! {
        @if set.tables.is_empty() { p.notice { "There is nothing to compare." } }
        @else { p.filter hidden { label { input type="checkbox" id="relevant"; " only differences beyond noise and margin" } } }
        (tables_after(0, set))
    }
}

/// Makes the tables and their legend, after `others` tables, from which the numbers of footnotes continue.
pub fn tables_after(others: usize, set: &ComparisonSet) -> Markup {
    html! {
        @for (index, table) in set.tables.iter().enumerate() { (comparison_table(table, set, others + index)) }
        @if !set.tables.is_empty() { (tables_legend(set)) }
    }
}

/// Makes one table of comparisons with its notes.
fn comparison_table(table: &Table, set: &ComparisonSet, index: usize) -> Markup {
    let mut notes = RowNotes::of_rows(&table.rows);
    let with_p = has_p(table, set);
    let rows: Vec<Markup> = table.rows.iter().map(|row| table_line(row, set, (&mut notes, index), with_p)).collect();
    let level = percent_text(set.rules.level, Script::Typographic);
    let by_case = table.rows.iter().any(|row| !row.label.is_empty());
    let head = html! {
        thead { tr {
            @if by_case { th scope="col" { "case" } }
            th scope="col" { "metric" }
            th.num scope="col" { "A " bdi title=(table.a) { (table.a) } }
            th.num scope="col" { "B " bdi title=(table.b) { (table.b) } }
            th.num scope="col" { "B against A" }
            th.num scope="col" { (level) " interval" }
            @if with_p { th.num scope="col" { (p_heading(set)) } }
            th scope="col" { "verdict" }
        } }
    };
    html! {
        div.scroll { table.results {
            caption {
                strong { bdi { (table_title(table)) } } " · A = " bdi { (table.a) } ", B = " bdi { (table.b) }
                span.design {
                    (design_sentence(set))
                    @if let Some(reason) = reason_of_all(&table.rows) { "; no verdicts: " span dir="auto" { (reason) } }
                    @if let Some(text) = explain_exploring(set, &table.rows, Script::Typographic) { "; " (text) }
                }
            }
            (head)
            tbody { @for row in &rows[..rows.len().min(PAGE)] { (row) } }
        } }
        @for (number, page) in rows.chunks(PAGE).enumerate().skip(1) {
            details.case {
                summary { "Rows " (number * PAGE + 1) " to " (number * PAGE + page.len()) " of " (rows.len()) }
                div.scroll { table.results { (head) tbody { @for row in page { (row) } } } }
            }
        }
        @for note in notes.of_all_rows() { p.note dir="auto" { "All rows: " (super::with_code(note)) "." } }
        @if notes.numbered().next().is_some() {
            ol.footnotes { @for (number, texts) in notes.numbered() {
                li id={ "note-" (index) "-" (number) } dir="auto" { @for (at, text) in texts.iter().enumerate() { @if at > 0 { br; } (super::with_code(text)) } }
            } }
        }
    }
}

/// The p of a row that the column shows; `None` if it has none.
/// Where rows are judged after each round the p of one look says nothing: the p on which the verdict rests stands in.
fn shown_p(row: &Comparison, set: &ComparisonSet) -> Option<f64> {
    let estimate = row.estimate.as_ref()?;
    if set.rules.sequence.is_some() { estimate.adjusted } else { estimate.p }
}

/// The heading of the column of p-values.
fn p_heading(set: &ComparisonSet) -> &'static str {
    if set.rules.sequence.is_some() { "adjusted p" } else { "p" }
}

/// Whether a row of a table has a p to show, which is so only after the experiment's end.
fn has_p(table: &Table, set: &ComparisonSet) -> bool {
    table.rows.iter().any(|row| shown_p(row, set).is_some())
}

/// Makes the row of a comparison in the table.
fn table_line(row: &Comparison, set: &ComparisonSet, (notes, table): (&mut RowNotes, usize), with_p: bool) -> Markup {
    let unit = row_unit(row);
    let mark = notes.number_of_row(row);
    let change = change_of(row);
    let (word, rest) = notes.verdict_words(row, set);
    let p = shown_p(row, set);
    let ratio = row.change.map_or(String::new(), |point| point.ratio.to_string());
    let relevant = matches!(row.verdict(), Some(Verdict::Faster | Verdict::Slower));
    let level = percent_text(set.rules.level, Script::Typographic);
    html! {
        tr class={ "v-" (verdict_class(row)) } data-relevant[relevant] {
            @if !row.label.is_empty() { th scope="row" data-l="case" { bdi { (row.case_label()) } } }
            th scope="row" data-l="metric" {
                (metric_name(&row.metric.id)) " "
                span.unit title=(better_words(&row.metric)) { (unit.unit_name()) " " (direction_arrow(row.metric.direction)) }
            }
            (figure_cell(&row.a, &unit, "A"))
            (figure_cell(&row.b, &unit, "B"))
            td.num data-l="B against A" data-v=(ratio) { (change.map_or("n/a".to_owned(), |c| c.print_change(Script::Typographic))) }
            td.num data-l={ (level) " interval" } data-v=(ratio) { (change.map_or("n/a".to_owned(), |c| c.print_interval(Script::Typographic))) }
            @if with_p {
                td.num data-l=(p_heading(set)) data-v=[p.map(|p| p.to_string())] { (p.map_or("n/a".to_owned(), p_value_text)) }
            }
            td.say data-l="verdict" data-v=(verdict_class(row)) {
                span.word { (verdict_icon(row)) (word) }
                @if !rest.is_empty() { " " span.rest { (rest) } }
                @if let Some(mark) = mark { sup { a href={ "#note-" (table) "-" (mark) } { "(" (mark) ")" } } }
            }
        }
    }
}

/// Makes the cell of a side's figure, or of the reason why it is missing.
fn figure_cell(side: &Side, unit: &RowUnit<'_>, letter: &str) -> Markup {
    html! {
        td.num data-l={ (letter) " " (side.label) } data-v=[side.estimate.map(|value| value.to_string())] {
            @match figure_of(side, unit, Script::Typographic) {
                Some(figure) => span {
                    (figure)
                    @if let Some(share) = side.half_width { span.half { " " (half_width_text(share, Script::Typographic)) } }
                }
                None => { (missing_side_text(side)) }
            }
        }
    }
}

/// Whether a row has no figure or no interval, or no p while other rows have one.
fn has_gap(table: &Table, set: &ComparisonSet) -> bool {
    let with_p = has_p(table, set);
    table.rows.iter().any(|row| {
        let is_whole = row.a.estimate.is_some() && row.b.estimate.is_some() && row.estimate.is_some();
        !is_whole || (with_p && shown_p(row, set).is_none())
    })
}

/// Explains the columns of the tables.
fn tables_legend(set: &ComparisonSet) -> Markup {
    let level = percent_text(set.rules.level, Script::Typographic);
    let margin = percent_text(set.rules.margin, Script::Typographic);
    html! {
        p.note {
            "A and B: " (estimator_words(set)) ", ± half its " (level) " interval" (one_look_clause(&set.rules)) "; B against A is what they give. ↑ higher is better, ↓ lower is better. "
            "Equivalent: the whole interval lies within ±" (margin) ". "
            @if set.rules.sequence.is_some() { "The " (interval_words(&set.rules)) ". " }
            @if set.tables.iter().any(|table| has_p(table, set)) { (explain_p(&set.rules)) ". " }
            @if let Some(text) = explain_primary(set, Script::Typographic) { (text) ". " }
            @if set.tables.iter().any(|table| has_gap(table, set)) {
                "n/a: could not be had, for the reason that stands with the verdict, or around the table."
            }
        }
    }
}

/// Explains where the p of a row comes from.
fn explain_p(rules: &Rules) -> String {
    match (rules.pairing, rules.sequence) {
        (Pairing::Paired, None) => explain_row_p("sign-flip permutation over the rounds"),
        (Pairing::Unpaired, _) => explain_row_p("Mann-Whitney"),
        (Pairing::Paired, Some(_)) => {
            "Adjusted p: the least of all looks, adjusted over the rows of its family; the verdict rests on it"
                .to_owned()
        }
    }
}

/// Writes the explanation of a row's own p, by the name of its test.
fn explain_row_p(test: &str) -> String {
    format!("p: {test}, of that row alone; the verdict rests on the t test's p, adjusted over the rows of its family")
}
