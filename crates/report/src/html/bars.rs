//! Horizontal bars with their figures, and the interval of the mean if there is one.

use maud::{Markup, html};

use super::chart::{Axis, BOTTOM, GridLines, Ink, Layer, Panel, text};
use super::figure::{Figure, swatch};

const WIDTH: i32 = 480;
/// Heights of a group's name, a bar, and the gap.
const NAME: i32 = 22;
const BAR: i32 = 18;
const GAP: i32 = 8;
/// Room above the bars.
const TOP: i32 = 4;
/// In letters.
const LONGEST_NAME: usize = 58;
/// Axis length over longest bar, to make room for figures.
const FIGURES: f64 = 1.4;

pub struct Bar {
    pub index: usize,
    pub name: String,
    pub value: Option<f64>,
    pub interval: Option<(f64, f64)>,
    pub said: String,
}

pub struct Bars<'a> {
    pub title: &'a str,
    /// Unique in the page.
    pub id: &'a str,
    pub caption: &'a str,
    pub groups: Vec<(String, Vec<Bar>)>,
}

impl Bars<'_> {
    pub fn render(&self) -> Markup {
        let all = || self.groups.iter().flat_map(|(_, bars)| bars);
        let highest = all().filter_map(|bar| bar.value).fold(0.0, f64::max);
        if highest <= 0.0 {
            return super::figure::nothing(self.title, "no run has a figure");
        }
        let tall: i32 = self.groups.iter().map(|(name, bars)| name_height(name) + BAR * bars.len() as i32 + GAP).sum();
        let y = Axis { lo: 0.0, hi: f64::from(tall), ticks: Vec::new() };
        let mut panel = Panel::new(WIDTH, TOP + tall + BOTTOM, Axis::between(0.0, highest * FIGURES, 5), y);
        (panel.left, panel.top, panel.grid) = (12, TOP, GridLines::Vertical);
        panel.title = self.title.to_owned();
        panel.description =
            "Bars with their names above them or in the legend, and their figures behind them.".to_owned();
        panel.x_caption = self.caption.to_owned();
        let mut offset = 0;
        for (name, bars) in &self.groups {
            if !name.is_empty() {
                let name = short(name);
                panel.extra.push_str(&text("row", (14.0, f64::from(TOP + offset + 16)), "start", &name));
                offset += NAME;
            }
            for bar in bars {
                draw(&mut panel, bar, offset);
                offset += BAR;
            }
            offset += GAP;
        }
        let legend = self.legend();
        Figure { title: self.title, panel: &panel, id: self.id, legend, live: None }.render(self.table())
    }

    fn legend(&self) -> Markup {
        // Bars under a name need no second one.
        if self.groups.iter().all(|(name, bars)| !name.is_empty() && bars.len() == 1) {
            return html! {};
        }
        let mut named: Vec<&Bar> = Vec::new();
        for bar in self.groups.iter().flat_map(|(_, bars)| bars) {
            if !named.iter().any(|known| known.index == bar.index) {
                named.push(bar);
            }
        }
        named.sort_by_key(|bar| bar.index);
        html! { span.legend { @for bar in named { span.key { (swatch(bar.index)) bdi { (bar.name) } } } } }
    }

    fn table(&self) -> Markup {
        html! {
            table.small {
                tbody { @for (name, bars) in &self.groups { @for bar in bars { tr {
                    @if !name.is_empty() { th scope="row" { bdi { (name) } } }
                    @if *name != bar.name { td { bdi { (bar.name) } } }
                    td.num { (bar.said) }
                } } } }
            }
        }
    }
}

fn name_height(name: &str) -> i32 {
    if name.is_empty() { 0 } else { NAME }
}

fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST_NAME {
        return text.to_owned();
    }
    text.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

/// A bar `offset` below the upper edge.
fn draw(panel: &mut Panel, bar: &Bar, offset: i32) {
    let middle = panel.y.hi - f64::from(offset) - f64::from(BAR) / 2.0;
    let baseline = f64::from(TOP + offset + BAR - 5);
    let plot = panel.plot_box();
    let place = |value: f64| plot.left + value / panel.x.hi * (plot.right - plot.left);
    let Some(value) = bar.value else {
        panel.extra.push_str(&text("tick", (plot.left + 4.0, baseline), "start", &bar.said));
        return;
    };
    let half = f64::from(BAR) / 2.0 - 2.0;
    // A wide interval must not push the figure out.
    let edge = panel.x.hi / FIGURES;
    let behind = bar.interval.map_or(value, |(_, hi)| hi.clamp(value, edge.max(value)));
    panel.extra.push_str(&text("tick", (place(behind) + 6.0, baseline), "start", &bar.said));
    panel.layers.push(Layer::Bar((0.0, middle - half), (value.max(0.0), middle + half), Ink::Bar(bar.index)));
    if let Some((lo, hi)) = bar.interval {
        panel.layers.push(Layer::Line(vec![(lo, middle), (hi.min(edge), middle)], Ink::Interval));
    }
}
