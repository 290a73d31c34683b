//! The report's charts as standalone SVG: with background, colours, fonts, title and legend, and plain values instead
//! of CSS variables, which few programs know.

use std::fmt::Write as _;

const SHEET: &str = include_str!("svg.css");
/// Height for title and legend.
const HEAD: f64 = 46.0;
/// Approximate.
const LETTER: f64 = 6.6;
const FIGURE: &str = "<figure class=\"chart";
const SVG: &str = "<svg viewBox=\"0 0 ";
const KEY: &str = "<span class=\"key\">";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chart {
    /// Such as `forest-0`: letters, digits and dashes.
    pub id: String,
    pub svg: String,
}

/// Cuts the charts out of a page of HTML, each as a standalone SVG.
pub fn charts_in_page(html: &str) -> Vec<Chart> {
    html.split(FIGURE).skip(1).filter_map(chart_from_figure).collect()
}

/// Makes a standalone SVG of a figure; `text` follows the figure's beginning. `None` without a picture.
fn chart_from_figure(text: &str) -> Option<Chart> {
    let text = &text[..text.find("</figure>")?];
    let id = between(text, " id=\"", "\"")?;
    let caption = between(text, "<figcaption>", "</figcaption>")?;
    let title = between(caption, ">", "</span>")?;
    let picture = &text[text.find("<div class=\"plot")?..];
    let picture = &picture[picture.find(SVG)? + SVG.len()..];
    let (size, rest) = picture.split_once("\"")?;
    let (width, height) = size.split_once(' ')?;
    let (width, height): (f64, f64) = (width.parse().ok()?, height.parse().ok()?);
    let body = &rest[rest.find('>')? + 1..rest.find("</svg>")?];
    let total = height + HEAD;
    let mut svg = String::new();
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{total}\" viewBox=\"0 0 {width} {total}\">\
         <style>{SHEET}</style><rect class=\"paper\" width=\"{width}\" height=\"{total}\"/>\
         <text class=\"title\" x=\"12\" y=\"18\">{title}</text>{}<g transform=\"translate(0 {HEAD})\">{body}</g></svg>",
        draw_legend(caption)
    );
    Some(Chart { id: id.to_owned(), svg })
}

/// Cuts out what is between two texts; `None` if one is not there.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let rest = &text[text.find(from)? + from.len()..];
    Some(&rest[..rest.find(to)?])
}

/// Draws the legend of a caption, marks with names in a row.
fn draw_legend(caption: &str) -> String {
    let mut legend = String::new();
    let mut x = 12.0;
    for key in caption.split(KEY).skip(1) {
        let (Some(swatch), Some(name)) =
            (between(key, "aria-hidden=\"true\">", "</svg>"), between(key, "<bdi>", "</bdi>"))
        else {
            continue;
        };
        let _ = write!(
            legend,
            "<g transform=\"translate({x} 26)\">{swatch}</g><text class=\"key\" x=\"{}\" y=\"36\">{name}</text>",
            x + 31.0
        );
        x += 31.0 + LETTER * name.chars().count() as f64 + 18.0;
    }
    legend
}
