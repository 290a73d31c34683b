//! The forest plot: ratio and interval of every row, one picture per metric.
//!
//! Metrics of one family, `elapsed/S4-inside` and `elapsed/S5-touch`, stand in one picture: the parts of a suite are read
//! next to each other.

use indexmap::IndexMap;
use maud::{Markup, html};
use model::{Direction, NoValue};
use stats::Verdict;

use super::chart::{Axis, BOTTOM, GridLines, Ink, Layer, Mark, Panel, Shape, text_element};
use super::figure::Figure;
use crate::comparison::{Comparison, ComparisonSet, NoVerdict, Outcome, Table};
use crate::labels::{interval_name, metric_name, promise_of, table_title, verdict_words};
use crate::number::{Script, count_noun};
use crate::text::{clipped_apart, pair_apart, wrap_to_width};

/// How a picture is laid out.
struct Layout {
    width: i32,
    /// Where the plot begins.
    left: i32,
    /// A row's height.
    row: i32,
    /// A label's base line, from the row's top.
    label: i32,
    /// An interval, from the row's top.
    interval: i32,
    /// Where the figures at the right of a label end.
    figures: i32,
}

/// Half of a page: a row's label stands above its interval.
const HALF: Layout = Layout { width: 480, left: 12, row: 44, label: 17, interval: 31, figures: 466 };
/// A whole page, for families of many rows: label, figures and interval next to each other.
const WHOLE: Layout = Layout { width: 980, left: 440, row: 27, label: 18, interval: 14, figures: 424 };
/// A family with so many rows or more has the whole width of the page.
const MANY_ROWS: usize = 6;
/// Height of a heading over the rows of one pair of sides.
const HEAD: i32 = 28;
/// Height of a line of a promise, or of what the interval is.
const LINE: i32 = 18;
/// Room above the rows.
const TOP: i32 = 4;
/// Letters of a label that find room next to the figures, and of a heading.
const LABEL: usize = 30;
const LONGEST_HEAD: usize = 50;
/// The zero line's part above an interval, over that below.
const ZERO_ABOVE: f64 = 0.7;
/// Letters of a reason that find room at the right.
const GIST: usize = 24;

/// A page has pictures of so many metrics at most.
const MOST_PICTURES: usize = 300;

/// A row with the table that it is of.
type Placed<'a> = (&'a Table, &'a Comparison);

/// Draws a forest plot for each metric, or family of metrics, up to a number of pictures.
pub fn forest_figures(set: &ComparisonSet) -> Vec<Markup> {
    let mut metrics: IndexMap<&str, Vec<Placed<'_>>> = IndexMap::new();
    for table in &set.tables {
        for row in &table.rows {
            let (family, _) = family_and_part(&row.metric.id);
            metrics.entry(family).or_default().push((table, row));
        }
    }
    let mut drawn =
        metrics.iter().zip(0..).filter(|((_, rows), _)| rows.iter().any(|(_, row)| row.ratio_estimate().is_some()));
    let mut figures: Vec<Markup> = drawn
        .by_ref()
        .take(MOST_PICTURES)
        .map(|((metric, rows), number)| metric_figure(set, metric, rows, number))
        .collect();
    let more = drawn.count();
    if more > 0 {
        figures.push(html! { p.notice {
            (count_noun(more, "more metric")) " without a picture, since no browser would open a page of so many: all stand in the table \
             above, and " code { "etalon report STORE --metrics NAME" } " draws those that it names."
        } });
    }
    figures
}

/// Splits a metric's name at a `/` into its family and its part there.
fn family_and_part(metric: &str) -> (&str, Option<&str>) {
    metric.split_once('/').map_or((metric, None), |(family, part)| (family, Some(part)))
}

/// A line of the picture, with its distance from the top.
enum Item<'a> {
    /// The name of what follows.
    Head(String, i32),
    Row(Placed<'a>, i32),
    /// A line of the promise that the rows below it keep.
    Promise(String, i32),
}

/// Lays out the lines of a picture under headings; returns them with the picture's height.
/// Rows of several pairs of sides stand under the names of theirs.
fn lay_out_rows<'a>(
    set: &ComparisonSet,
    rows: &[Placed<'a>],
    headings: &Headings,
    layout: &Layout,
) -> (Vec<Item<'a>>, i32) {
    let mut items = Vec::new();
    let mut offset = 0;
    let mut last: Option<String> = None;
    let mut promised: Option<String> = None;
    for placed in rows {
        let head = headings.heading_text(placed.0);
        // A row without a name of its own is called what would stand above it.
        if !head.is_empty() && !is_nameless(placed.1) && last.as_ref() != Some(&head) {
            items.push(Item::Head(head.clone(), offset));
            offset += HEAD;
        }
        last = Some(head);
        let promise = promise_of(placed.1, set).map(|promise| format!("at which {promise}"));
        for line in promise.iter().filter(|_| promise != promised).flat_map(|text| heading_lines(text)) {
            items.push(Item::Promise(line, offset));
            offset += LINE;
        }
        promised = promise;
        items.push(Item::Row(*placed, offset));
        offset += layout.row;
    }
    (items, offset)
}

/// Wraps a heading into lines.
fn heading_lines(text: &str) -> Vec<String> {
    wrap_to_width(text, LONGEST_HEAD, 0).lines().map(str::to_owned).collect()
}

/// What distinguishes the tables of some rows.
struct Headings {
    titles: bool,
    sides: bool,
}

impl Headings {
    /// Finds which headings these rows need: tables' titles, sides, or both, where they differ.
    fn for_rows(rows: &[Placed<'_>]) -> Headings {
        Headings {
            titles: rows.windows(2).any(|pair| table_title(pair[0].0) != table_title(pair[1].0)),
            sides: rows.windows(2).any(|pair| pair[0].0.b != pair[1].0.b),
        }
    }

    /// Writes a table's heading: its title if titles differ, and its B if sides do.
    fn heading_text(&self, table: &Table) -> String {
        let title = self.titles.then(|| table_title(table));
        let side = self.sides.then(|| table.b.clone());
        [title, side].into_iter().flatten().collect::<Vec<_>>().join(": ")
    }
}

/// Draws the figure of a metric's rows, with a wide form if it is a family of many.
fn metric_figure(set: &ComparisonSet, metric: &str, rows: &[Placed<'_>], number: usize) -> Markup {
    let (x, beyond) = change_axis(set, rows);
    let half = draw_panel(set, metric, rows, &x, &HALF);
    let title = format!("{}{}", metric_name(metric), if beyond { " (intervals beyond the edge are cut)" } else { "" });
    let id = format!("forest-{number}");
    let figure = Figure { title: &title, panel: &half, id: &id, legend: html! {}, live: None };
    let is_family = rows.iter().any(|(_, row)| family_and_part(&row.metric.id).1.is_some());
    if is_family && rows.len() >= MANY_ROWS {
        return figure.render_across(&draw_panel(set, metric, rows, &x, &WHOLE), values_table(set, rows));
    }
    figure.render_with_table(values_table(set, rows))
}

/// Draws the rows in a layout.
fn draw_panel(set: &ComparisonSet, metric: &str, rows: &[Placed<'_>], x: &Axis, layout: &Layout) -> Panel {
    let headings = Headings::for_rows(rows);
    let (items, tall) = lay_out_rows(set, rows, &headings, layout);
    let y = Axis { lo: 0.0, hi: f64::from(tall), ticks: Vec::new() };
    let mut panel = Panel::new(layout.width, TOP + tall + BOTTOM + LINE, x.clone(), y.clone());
    (panel.left, panel.top, panel.bottom, panel.grid) = (layout.left, TOP, BOTTOM + LINE, GridLines::Vertical);
    panel.title = format!("Change in {}", metric_name(metric));
    panel.description = "One row per case: a mark at the change of B against A, a line over its interval.".to_owned();
    panel.x_caption = caption_text(rows);
    if rows.iter().any(|(_, row)| row.estimate.is_some()) {
        let plot = panel.plot_box();
        let below = (f64::midpoint(plot.left, plot.right), f64::from(panel.height) - 5.0);
        panel.extra.push_str(&text_element("cap", below, "middle", &interval_name(&set.rules)));
    }
    let (low, high) = stats::margin_bounds(set.rules.margin);
    panel.layers.push(Layer::Box((low.ln().max(x.lo), y.lo), (high.ln().min(x.hi), y.hi), Ink::Margin));
    let names = shown_names(&items, &headings);
    for (item, shown) in items.iter().zip(&names) {
        match item {
            Item::Head(_, offset) => {
                let place = (14.0, f64::from(TOP + offset + 20));
                panel.extra.push_str(&text_element("row head", place, "start", shown));
            }
            Item::Promise(line, offset) => {
                panel.extra.push_str(&text_element("row", (14.0, f64::from(TOP + offset + 14)), "start", line));
            }
            Item::Row((_, row), offset) => {
                panel.extra.push_str(&row_label(set, shown, row, f64::from(TOP + offset + layout.label), layout));
                let place = y.hi - f64::from(offset + layout.interval);
                // Next to the interval alone: names that stand above it are not crossed out.
                let half = f64::from((layout.row - layout.interval).min(layout.interval));
                panel.layers.push(Layer::Line(vec![(0.0, place - half), (0.0, place + half * ZERO_ABOVE)], Ink::Zero));
                if let Some(estimate) = row.ratio_estimate() {
                    let (lo, hi) = (estimate.lo.ln().max(x.lo), estimate.hi.ln().min(x.hi));
                    panel.layers.push(Layer::Line(vec![(lo, place), (hi, place)], Ink::Interval));
                    panel.marks.push(row_mark(set, row, estimate.ratio.ln().clamp(x.lo, x.hi), place));
                }
            }
        }
    }
    panel
}

/// Makes the axis of the logarithm of the ratio, labelled in percent; says whether an interval goes beyond it.
fn change_axis(set: &ComparisonSet, rows: &[Placed<'_>]) -> (Axis, bool) {
    let margin = set.rules.margin.ln_1p();
    let (mut lo, mut hi) = (-1.6 * margin, 1.6 * margin);
    for estimate in rows.iter().filter_map(|(_, row)| row.ratio_estimate()) {
        let centre = estimate.ratio.ln();
        // One wild interval must not flatten all others: it is cut at three times the effect, at least a half.
        let reach = (3.0 * centre.abs()).max(0.5);
        lo = lo.min(estimate.lo.ln().max(centre - reach));
        hi = hi.max(estimate.hi.ln().min(centre + reach));
    }
    let beyond = rows.iter().filter_map(|(_, row)| row.ratio_estimate()).any(|e| e.lo.ln() < lo || e.hi.ln() > hi);
    let room = (hi - lo) * 0.06;
    let (lo, hi) = (lo - room, hi + room);
    (Axis { lo, hi, ticks: change_ticks(lo, hi) }, beyond)
}

/// Picks round changes in percent that are far enough apart to be read; 0 % is always one.
fn change_ticks(lo: f64, hi: f64) -> Vec<(f64, String)> {
    const ROUND: [f64; 33] = [
        0.0, 100.0, -50.0, 50.0, -30.0, 300.0, -80.0, 900.0, -90.0, 20.0, -20.0, 10.0, -10.0, 5.0, -5.0, 200.0, -65.0,
        30.0, 75.0, 2.0, -2.0, 500.0, -95.0, 1900.0, -99.0, 9900.0, 15.0, -15.0, 3.0, -3.0, 1.0, -1.0, -40.0,
    ];
    let apart = (hi - lo) / 8.5;
    // A label is as wide as half the distance to the next one; at an edge it would be cut.
    let (first, last) = (lo + apart * 0.3, hi - apart * 0.3);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for percent in ROUND {
        let place = (1.0 + percent / 100.0_f64).ln();
        let inside = percent == 0.0 || (first..=last).contains(&place);
        if inside && ticks.iter().all(|(other, _)| (other - place).abs() >= apart) {
            ticks.push((place, tick_label(percent)));
        }
    }
    ticks.sort_by(|x, y| x.0.total_cmp(&y.0));
    ticks
}

/// Writes a change in percent, as a factor from 10 on.
fn tick_label(percent: f64) -> String {
    let magnitude = percent.abs();
    match percent {
        p if p >= 900.0 => format!("×{:.0}", 1.0 + p / 100.0),
        p if p > 0.0 => format!("+{magnitude}\u{202f}%"),
        p if p < 0.0 => format!("\u{2212}{magnitude}\u{202f}%"),
        _ => "0".to_owned(),
    }
}

/// Writes the caption of the axis: which side is compared with which, and which way is better.
fn caption_text(rows: &[Placed<'_>]) -> String {
    let Some((table, row)) = rows.first() else { return String::new() };
    let better = match row.metric.direction {
        Direction::Higher => " · better →",
        Direction::Lower => " · ← better",
        Direction::Neither => "",
    };
    let one = rows.iter().all(|(other, _)| other.b == table.b);
    let [a, b] = pair_apart(&table.a, &table.b, 22);
    let side = if one { format!("{b} ") } else { String::new() };
    format!("{side}against {a}{better}")
}

/// Writes the names at the left of the items, clipped to their room so that they still differ.
fn shown_names(items: &[Item<'_>], headings: &Headings) -> Vec<String> {
    let names: Vec<String> = items
        .iter()
        .map(|item| match item {
            Item::Head(name, _) => name.clone(),
            Item::Promise(..) => String::new(),
            Item::Row((table, row), _) => distinguishing_name(headings, table, row),
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let rows = clipped_apart(&names, LABEL);
    let heads = clipped_apart(&names, LONGEST_HEAD);
    let each = items.iter().zip(rows.into_iter().zip(heads));
    each.map(|(item, (row, head))| if matches!(item, Item::Head(..)) { head } else { row }).collect()
}

/// Whether nothing distinguishes a row from others of its table.
fn is_nameless(row: &Comparison) -> bool {
    row.label.is_empty() && family_and_part(&row.metric.id).1.is_none()
}

/// Writes what distinguishes a row from the others under its heading, or its heading where nothing does.
fn distinguishing_name(headings: &Headings, table: &Table, row: &Comparison) -> String {
    let label = row.case_label();
    match family_and_part(&row.metric.id) {
        _ if is_nameless(row) && (headings.titles || headings.sides) => headings.heading_text(table),
        (_, Some(part)) if label.is_empty() => part.to_owned(),
        (_, Some(part)) => format!("{part}, {label}"),
        (_, None) if label.is_empty() => table_title(table),
        (_, None) => label,
    }
}

/// Shortens a text to a number of characters, with an ellipsis.
fn shorten(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Writes the row's name at the left, its verdict and figures at the right, as SVG.
fn row_label(set: &ComparisonSet, name: &str, row: &Comparison, y: f64, layout: &Layout) -> String {
    let (word, _) = verdict_words(row, set);
    let said = match (row.why_no_verdict(), crate::labels::change_of(row)) {
        (Some(NoVerdict::NotAvailable { side, missing }), _) => {
            format!("n/a ({}): {}", side.as_str(), first_words(missing))
        }
        (Some(_), Some(change)) => format!("{} no verdict", change.print_change(Script::Typographic)),
        (Some(_), None) => "n/a no verdict".to_owned(),
        (None, Some(change)) if row.failures.is_some() => {
            format!("{} {word}, failures differ", change.print_change(Script::Typographic))
        }
        (None, Some(change)) => format!("{} {word}", change.print_change(Script::Typographic)),
        (None, None) => format!("n/a {word}"),
    };
    let right = f64::from(layout.figures);
    text_element("row", (14.0, y), "start", name)
        + &text_element(&format!("row v-{}", verdict_class(row)), (right, y), "end", &said)
}

/// Writes the first words of a reason: `wrong answer` of `wrong answer: pairs: expected 360, got 342`.
fn first_words(NoValue { kind, reason }: &NoValue) -> String {
    shorten(kind.label().unwrap_or_else(|| reason.split_once(": ").map_or(reason.as_str(), |(first, _)| first)), GIST)
}

/// The CSS class of a row's verdict.
pub fn verdict_class(row: &Comparison) -> &'static str {
    match row.outcome {
        Outcome::Verdict(Verdict::Faster) => "faster",
        Outcome::Verdict(Verdict::Slower) => "slower",
        Outcome::Verdict(Verdict::Equivalent) => "equivalent",
        Outcome::Verdict(Verdict::Inconclusive) => "inconclusive",
        Outcome::None(_) => "none",
    }
}

/// The shape of a row's verdict, which distinguishes it without colours.
pub fn verdict_shape(row: &Comparison) -> Shape {
    match row.outcome {
        Outcome::Verdict(Verdict::Faster) => Shape::Up,
        Outcome::Verdict(Verdict::Slower) => Shape::Down,
        Outcome::Verdict(Verdict::Equivalent) => Shape::Square,
        Outcome::Verdict(Verdict::Inconclusive) => Shape::Ring,
        Outcome::None(_) => Shape::Cross,
    }
}

/// Makes a row's mark, whose title has its figures and verdict.
fn row_mark(set: &ComparisonSet, row: &Comparison, x: f64, y: f64) -> Mark {
    let change = crate::labels::change_of(row);
    let figures = change.map_or_else(String::new, |c| {
        format!("{} {}", c.print_change(Script::Typographic), c.print_interval(Script::Typographic))
    });
    let (word, rest) = verdict_words(row, set);
    Mark {
        x,
        y,
        shape: verdict_shape(row),
        // Less weight than a verdict.
        radius: if row.why_no_verdict().is_some() { 3.5 } else { 5.5 },
        class: format!("pt v-{}", verdict_class(row)),
        title: format!("{} against {}: {figures}, {word} {rest}", row.b.label, row.a.label).trim().to_owned(),
    }
}

/// Makes the table of a picture's rows with change, interval and verdict.
fn values_table(set: &ComparisonSet, rows: &[Placed<'_>]) -> Markup {
    html! {
        @let headings = Headings::for_rows(rows);
        table.small {
            thead { tr { th { "row" } th { "B against A" } th { "interval" } th { "verdict" } } }
            tbody { @for (table, row) in rows { tr {
                th scope="row" {
                    @if !is_nameless(row) { bdi { (headings.heading_text(table)) } " " }
                    bdi { (distinguishing_name(&headings, table, row)) }
                }
                @match crate::labels::change_of(row) {
                    Some(change) => {
                        td { (change.print_change(Script::Typographic)) }
                        td { (change.print_interval(Script::Typographic)) }
                    }
                    None => { td { "n/a" } td { "n/a" } }
                }
                td {
                    @if let Some(reason @ NoVerdict::NotAvailable { .. }) = row.why_no_verdict() { bdi { (reason.reason_text()) } }
                    @else { @let (word, rest) = verdict_words(row, set); (word) " " (rest) }
                }
            } } }
        }
    }
}
