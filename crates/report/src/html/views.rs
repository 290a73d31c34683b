//! The families' views on the page.

use maud::{Markup, html};

use super::chart::{Axis, Ink, Layer, Panel};
use super::figure::{Figure, swatch};
use crate::number::{Script, half_width_text, significant_digits};
use crate::text::Align;
use crate::views::{Column, Entry, Series, Table, TablePlacement, View};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;

/// Shows tables one below the other with their cases' headings, and charts side by side.
pub fn render_views(views: &[View]) -> Markup {
    let mut cases = views.iter().scan("", |last, view| {
        let case = view.table().map_or(*last, |table| table.case.as_str());
        Some((std::mem::replace(last, case) != case).then_some(case))
    });
    html! {
        @for part in views.chunk_by(|a, b| is_table(a) == is_table(b)) {
            @if is_table(&part[0]) {
                @for one in part {
                    @if let Some(Some(case)) = cases.next() { h3 dir="auto" { (case) } }
                    (render_view(one))
                }
            } @else { div.grid { @for one in part { @let _ = cases.next(); (render_view(one)) } } }
        }
    }
}

/// Whether a view is a table, and not a chart.
fn is_table(view: &View) -> bool {
    view.table().is_some()
}

/// Shows a view as a table, folded or not, or as a chart; empty for one that only terminals show.
fn render_view(view: &View) -> Markup {
    match view {
        View::Table(shown) if shown.placement == TablePlacement::Terminal => html! {},
        View::Table(folded) if folded.placement == TablePlacement::Folded => html! {
            details.case { summary dir="auto" { (folded.title) } (render_table(folded, false)) }
        },
        View::Table(shown) => render_table(shown, true),
        View::Curve(curve) => super::curve::render_curve(curve),
        View::Bars(bars) => super::bars::render_bars(bars),
        View::Series(series) => lines_chart(series),
    }
}

/// Makes a table with its conclusions, lead and notes, and its title as a caption if asked.
fn render_table(table: &Table, is_titled: bool) -> Markup {
    let all: Vec<usize> = (0..table.columns.len()).filter(|at| !table.columns[*at].is_hidden).collect();
    let columns: Vec<&Column> = all.iter().map(|at| &table.columns[*at]).collect();
    let is_deep = columns.iter().any(|column| !column.group.is_empty());
    // Headings of two lines, and rows that belong together, cannot be sorted.
    let class = if is_deep || table.placement == TablePlacement::GroupedPage { "disk" } else { "results" };
    html! {
        @if !table.conclusions.is_empty() { ul { @for said in &table.conclusions { li dir="auto" { (said) } } } }
        @for lead in &table.lead { p.note { (lead) } }
        div.scroll { table class=(class) {
            @if is_titled && !table.title.is_empty() { caption dir="auto" { (table.title) } }
            thead {
                @if is_deep { tr { @for group in columns.chunk_by(|a, b| a.group == b.group) {
                    @if group[0].group.is_empty() { @for column in group { (column_head(column, 2)) } }
                    @else { th.num scope="colgroup" colspan=(group.len()) { bdi { (group[0].group) } } }
                } } }
                tr { @for column in columns.iter().filter(|column| !is_deep || !column.group.is_empty()) { (column_head(column, 1)) } }
            }
            tbody { @for (number, row) in table.rows.iter().enumerate() { tr {
                @for (place, (at, column)) in all.iter().zip(&columns).enumerate() {
                    @if place > 0 { (entry_cell(&row[*at], column)) }
                    @else if table.placement != TablePlacement::GroupedPage { th scope="row" data-l=(column.head) { (render_entry(&row[*at])) } }
                    @else if number == 0 || table.rows[number - 1][*at] != row[*at] {
                        @let alike = table.rows[number..].iter().take_while(|other| other[*at] == row[*at]).count();
                        th scope="rowgroup" rowspan=(alike) { (render_entry(&row[*at])) }
                    }
                }
            } } }
        } }
        @for note in &table.notes { p.note dir="auto" { (note) } }
    }
}

/// Makes a heading cell over a number of header rows.
fn column_head(column: &Column, rows: usize) -> Markup {
    let class = (column.align == Align::Right).then_some("num");
    html! { th class=[class] scope="col" rowspan=[(rows > 1).then_some(rows)] { bdi { (column.head) } } }
}

/// Makes a cell of an entry; its heading shows on phones, where rows are cards.
fn entry_cell(of: &Entry, column: &Column) -> Markup {
    let label = [column.group.as_str(), column.head.as_str()];
    let label = label.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
    let class = if of.index.is_some() {
        "who"
    } else if column.align == Align::Right {
        "num"
    } else {
        ""
    };
    html! { td class=(class) data-l=(label) data-v=[of.value.map(|value| value.to_string())] { span { (render_entry(of)) } } }
}

/// Shows an entry with its unit, interval and remark.
fn render_entry(of: &Entry) -> Markup {
    let number = of.number_text(Script::Typographic);
    html! {
        @if let Some(index) = of.index { (swatch(index)) " " }
        @if let Some(reason) = &of.missing {
            span.na title=(reason) { (number) @if !of.text.is_empty() { ": " (of.text) } }
        }
        @else {
            (number)
            @if let Some(share) = of.half_width { span.half { " " (half_width_text(share, Script::Typographic)) } }
            @if let Some(winner) = &of.winner { " (" bdi { (winner) } ")" }
            @if !of.text.is_empty() { @if of.value.is_some() { " " } bdi { (of.text) } }
        }
    }
}

/// Makes a legend of systems or codecs by their marks.
pub fn names_legend<'n>(names: impl Iterator<Item = (usize, &'n str)>) -> Markup {
    html! { span.legend { @for (index, name) in names { span.key { (swatch(index)) bdi { (name) } } } } }
}

/// Draws a line for each of the series.
fn lines_chart(series: &Series) -> Markup {
    let points: Vec<(f64, f64)> = series.lines.iter().flat_map(|line| line.points.iter().copied()).collect();
    let end = points.iter().map(|(x, _)| *x).fold(0.0, f64::max);
    if end <= 0.0 {
        return super::figure::empty_figure(&series.title, "its values were not stored");
    }
    let y = Axis::from_zero(points.iter().map(|(_, y)| *y), 5);
    let mut panel = Panel::new(WIDTH, HEIGHT, Axis::between(0.0, end * 1.02, 8), y);
    panel.left = 60;
    panel.title.clone_from(&series.title);
    panel.description = format!("One line for each of {}.", series.lines.len());
    panel.x_caption.clone_from(&series.x);
    panel.y_caption.clone_from(&series.unit);
    panel.layers = series.lines.iter().map(|line| Layer::Line(line.points.clone(), Ink::Line(line.index))).collect();
    let table = html! {
        dl.values { @for line in &series.lines { dt { bdi { (line.name) } ", " (series.unit) } dd { (values_text(&line.points)) } } }
    };
    let legend = names_legend(series.lines.iter().map(|line| (line.index, line.name.as_str())));
    Figure { title: &series.title, panel: &panel, id: &series.id, legend, live: None }.render_with_table(table)
}

/// Writes the points' values with three digits, separated by dots.
fn values_text(points: &[(f64, f64)]) -> String {
    points.iter().map(|(_, y)| significant_digits(*y, 3, Script::Typographic)).collect::<Vec<_>>().join(" · ")
}
