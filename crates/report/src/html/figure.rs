//! A figure: the picture, its legend, its values for scripts, and its table for those who do not see the picture.

use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::cases::SystemCase;
use super::chart::{Panel, Shape, series_class};
use super::data::script_safe_json;

/// The values behind curves, for the cross-hair and the zoom.
#[derive(Clone, Debug, Serialize)]
pub struct Live {
    /// Unit of the values.
    pub unit: String,
    /// What the places mean: `seconds`, `percentile`, `clients` or `depth` (its logarithm of base 2).
    pub kind: &'static str,
    /// Whether the reader may zoom in.
    pub zoom: bool,
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
    pub series: Vec<LiveSeries>,
}

#[derive(Clone, Debug, Serialize)]
pub struct LiveSeries {
    pub name: String,
    pub index: usize,
    #[serde(serialize_with = "serialize_short")]
    pub x: Vec<f64>,
    #[serde(serialize_with = "serialize_short")]
    pub y: Vec<f64>,
    /// Lowest and highest, if it has a range.
    pub range: Option<Vec<(f64, f64)>>,
}

/// Serializes values with five significant digits: more is never shown, and the page is a third smaller.
fn serialize_short<S: serde::Serializer>(values: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(|value| {
        if *value == 0.0 || !value.is_finite() {
            return 0.0;
        }
        let step = 10_f64.powi(4 - value.abs().log10().floor() as i32);
        (value * step).round() / step
    }))
}

/// The plotting area and what it spans.
#[derive(Serialize)]
struct Frame<'a> {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    x: [f64; 2],
    y: [f64; 2],
    #[serde(flatten)]
    live: &'a Live,
}

/// A figure of the page.
pub struct Figure<'a> {
    pub title: &'a str,
    pub panel: &'a Panel,
    /// Unique in the page.
    pub id: &'a str,
    /// Names the systems by their colours.
    pub legend: Markup,
    /// The values of its curves.
    pub live: Option<Live>,
}

impl Figure<'_> {
    /// Makes the figure's HTML: title, legend, picture, values for scripts, and `table` folded.
    pub fn render_with_table(&self, table: Markup) -> Markup {
        let zoom = self.live.as_ref().is_some_and(|live| live.zoom);
        html! {
            figure.chart id=(self.id) data-zoom[zoom] {
                figcaption { span.what dir="auto" { (self.title) } (self.legend) }
                div.plot { (self.panel.to_svg(&format!("{}-svg", self.id))) }
                @if let Some(live) = &self.live { (self.live_values(live)) }
                details.values { summary { "values" } div.scroll { (table) } }
            }
        }
    }

    /// Makes the figure's HTML with `across` over the page's width; where there is little room, the usual picture shows.
    pub fn render_across(&self, across: &Panel, table: Markup) -> Markup {
        html! {
            figure.chart.across id=(self.id) {
                figcaption { span.what dir="auto" { (self.title) } (self.legend) }
                div.plot.roomy { (across.to_svg(&format!("{}-across", self.id))) }
                div.plot.narrow { (self.panel.to_svg(&format!("{}-svg", self.id))) }
                details.values { summary { "values" } div.scroll { (table) } }
            }
        }
    }

    /// Embeds the curves' values as JSON for the page's pointer.
    fn live_values(&self, live: &Live) -> Markup {
        let plot = self.panel.plot_box();
        let frame = Frame {
            left: plot.left,
            top: plot.top,
            right: plot.right,
            bottom: plot.bottom,
            x: [self.panel.x.lo, self.panel.x.hi],
            y: [self.panel.y.lo, self.panel.y.hi],
            live,
        };
        html! { script type="application/json" { (PreEscaped(script_safe_json(&frame))) } }
    }
}

/// Makes a figure that says why it has no picture.
pub fn empty_figure(title: &str, why: &str) -> Markup {
    html! { figure.chart.empty { figcaption { span.what dir="auto" { (title) } } p.note { (why) } } }
}

/// Makes a legend that names the systems by colour, dashes and mark.
pub fn systems_legend(systems: &[&SystemCase<'_>]) -> Markup {
    html! {
        span.legend {
            @for system in systems {
                span.key { (swatch(system.index)) bdi { (system.name) } }
            }
        }
    }
}

/// Draws a piece of a system's line with its mark, for legends.
pub fn swatch(index: usize) -> Markup {
    let class = series_class(index);
    html! {
        svg.swatch viewBox="0 0 26 12" aria-hidden="true" {
            path class={ "ln " (class) } d="M0 6L26 6" {}
            path class={ "pt " (class) } d=(Shape::of_series(index).path_data(13.0, 6.0, 4.0)) {}
        }
    }
}
