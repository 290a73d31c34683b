//! Horizontal bars with their figures, and the interval of the mean if there is one.

use maud::{Markup, html};

use super::chart::{Axis, BOTTOM, GridLines, Ink, Layer, Mark, Panel, Shape, text_element};
use super::figure::Figure;
use super::views::names_legend;
use crate::number::Script;
use crate::text::{clip_to_width, clipped_apart};
use crate::views::{Bar, BarGroup, Bars};

const WIDTH: i32 = 480;
/// Heights of a group's name, a bar, and the gap.
const NAME: i32 = 22;
const BAR: i32 = 18;
const GAP: i32 = 8;
/// Room above the bars.
const TOP: i32 = 4;
/// Longest name, in letters.
const LONGEST_NAME: usize = 58;
/// Axis length over the longest bar with its interval, to make room for figures.
const FIGURES: f64 = 1.4;

/// Width of a letter behind a bar, on a phone, where they are largest.
const LETTER: f64 = 9.5;

/// A longer interval than this times its bar is cut.
const WIDEST: f64 = 1.5;

/// Draws groups of bars, with the table of their values.
pub fn render_bars(of: &Bars) -> Markup {
    let all: Vec<&Bar> = of.groups.iter().flat_map(|group| &group.bars).collect();
    let ends = all.iter().copied().flat_map(|bar| [bar_end(bar), bar.highest_run]);
    let highest = ends.flatten().fold(0.0, f64::max);
    if highest <= 0.0 {
        return super::figure::empty_figure(&of.title, "no run has a figure");
    }
    let tall: i32 = of.groups.iter().map(|group| name_height(group) + BAR * group.bars.len() as i32 + GAP).sum();
    let y = Axis { lo: 0.0, hi: f64::from(tall), ticks: Vec::new() };
    let mut panel = Panel::new(WIDTH, TOP + tall + BOTTOM, Axis::between(0.0, highest * FIGURES, 5), y);
    (panel.left, panel.top, panel.grid) = (12, TOP, GridLines::Vertical);
    panel.title.clone_from(&of.title);
    panel.description = "Bars with their names above them or in the legend, and their figures behind them.".to_owned();
    panel.x_caption.clone_from(&of.unit);
    let mut offset = 0;
    let names: Vec<&str> = of.groups.iter().map(|group| group.name.as_str()).collect();
    for (group, name) in of.groups.iter().zip(clipped_apart(&names, LONGEST_NAME)) {
        if !name.is_empty() {
            panel.extra.push_str(&text_element("row", (14.0, f64::from(TOP + offset + 16)), "start", &name));
            offset += NAME;
        }
        for bar in &group.bars {
            draw_bar(&mut panel, bar, offset);
            offset += BAR;
        }
        offset += GAP;
    }
    let mut named: Vec<(usize, &str)> = all.iter().copied().map(|bar| (bar.index, bar.name.as_str())).collect();
    named.sort_unstable();
    named.dedup_by_key(|(index, _)| *index);
    // Bars under a name need no second one.
    if of.groups.iter().all(|group| !group.name.is_empty() && group.bars.len() == 1) {
        named.clear();
    }
    let legend = html! { @if !named.is_empty() { (names_legend(named.into_iter())) } };
    Figure { title: &of.title, panel: &panel, id: &of.id, legend, live: None }.render_with_table(values_table(of))
}

/// Makes the table of the bars' values.
fn values_table(of: &Bars) -> Markup {
    html! {
        table.small {
            tbody { @for group in &of.groups { @for bar in &group.bars { tr {
                @if !group.name.is_empty() { th scope="row" { bdi { (group.name) } } }
                @if group.name != bar.name { td { bdi { (bar.name) } } }
                td.num { (bar.entry.print(Script::Typographic)) }
            } } } }
        }
    }
}

/// The end of a bar, and of its interval unless that is so wide that the bars would be slivers.
fn bar_end(bar: &Bar) -> Option<f64> {
    let value = bar.entry.value?;
    Some(bar.entry.interval.map_or(value, |[_, hi]| hi.min(WIDEST * value).max(value)))
}

/// The height of a group's name; 0 without a name.
fn name_height(group: &BarGroup) -> i32 {
    if group.name.is_empty() { 0 } else { NAME }
}

/// Draws a bar with its figure and interval, `offset` below the upper edge.
fn draw_bar(panel: &mut Panel, bar: &Bar, offset: i32) {
    let middle = panel.y.hi - f64::from(offset) - f64::from(BAR) / 2.0;
    let baseline = f64::from(TOP + offset + BAR - 5);
    let plot = panel.plot_box();
    let said = bar.entry.print(Script::Typographic);
    let Some(value) = bar.entry.value else {
        panel.extra.push_str(&text_element("tick", (plot.left + 4.0, baseline), "start", &said));
        return;
    };
    let half = f64::from(BAR) / 2.0 - 2.0;
    // A wide interval must not push the figure out.
    let edge = panel.x.hi / FIGURES;
    let behind = bar.entry.interval.map_or(value, |[_, hi]| hi.clamp(value, edge.max(value)));
    let begin = (plot.left + behind / panel.x.hi * (plot.right - plot.left)) + 6.0;
    let room = ((f64::from(WIDTH) - begin) / LETTER).max(1.0) as usize;
    panel.extra.push_str(&text_element("tick", (begin, baseline), "start", &clip_to_width(&said, room)));
    panel.layers.push(Layer::Bar((0.0, middle - half), (value.max(0.0), middle + half), Ink::Bar(bar.index)));
    if let Some([lo, hi]) = bar.entry.interval {
        panel.layers.push(Layer::Line(vec![(lo, middle), (hi.min(edge), middle)], Ink::Interval));
    }
    if let Some(highest) = bar.highest_run {
        panel.marks.push(Mark {
            x: highest,
            y: middle,
            shape: Shape::Diamond,
            radius: 3.0,
            class: "pt mean".to_owned(),
            title: format!("{}: highest run, as published", bar.name),
        });
    }
}
