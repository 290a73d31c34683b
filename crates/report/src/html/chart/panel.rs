//! A picture with two axes.
//!
//! `plotters` draws axes, grid, lines and areas. Marks are added here, each with its value as a title, which shows on
//! hover without script.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped};
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::element::{PathElement, Polygon, Rectangle};

use super::axis::Axis;
use super::canvas::{Canvas, FINE, coordinate_text, escape_svg};
use super::ink::Ink;

/// Size of the text at axes.
pub const TEXT: i32 = 12;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotBox {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

/// Systems differ in shape as well as colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Circle,
    Square,
    Diamond,
    Up,
    Down,
    Ring,
    Cross,
}

impl Shape {
    /// The shape of a series' marks.
    pub fn of_series(index: usize) -> Shape {
        [Shape::Circle, Shape::Diamond, Shape::Up, Shape::Square, Shape::Down, Shape::Ring][index % 6]
    }

    /// Writes the shape around a point as SVG path data.
    pub fn path_data(self, x: f64, y: f64, r: f64) -> String {
        let p = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx * r, y + dy * r);
        match self {
            Shape::Circle | Shape::Ring => {
                format!("M{}A{r} {r} 0 1 0 {}A{r} {r} 0 1 0 {}Z", p(-1.0, 0.0), p(1.0, 0.0), p(-1.0, 0.0))
            }
            Shape::Square => format!("M{}L{}L{}L{}Z", p(-0.9, -0.9), p(0.9, -0.9), p(0.9, 0.9), p(-0.9, 0.9)),
            Shape::Diamond => format!("M{}L{}L{}L{}Z", p(0.0, -1.25), p(1.25, 0.0), p(0.0, 1.25), p(-1.25, 0.0)),
            Shape::Up => format!("M{}L{}L{}Z", p(0.0, -1.2), p(1.15, 0.85), p(-1.15, 0.85)),
            Shape::Down => format!("M{}L{}L{}Z", p(0.0, 1.2), p(1.15, -0.85), p(-1.15, -0.85)),
            Shape::Cross => format!("M{}L{}M{}L{}", p(-0.8, -0.8), p(0.8, 0.8), p(0.8, -0.8), p(-0.8, 0.8)),
        }
    }
}

#[derive(Clone, Debug)]
pub struct Mark {
    pub x: f64,
    pub y: f64,
    pub shape: Shape,
    /// Size: the radius in units of the picture.
    pub radius: f64,
    pub class: String,
    pub title: String,
}

#[derive(Clone, Debug)]
pub enum Layer {
    /// A line through points.
    Line(Vec<(f64, f64)>, Ink),
    /// x, low, high.
    Area(Vec<(f64, f64, f64)>, Ink),
    /// Behind the grid.
    Box((f64, f64), (f64, f64), Ink),
    /// A bar in front of the grid.
    Bar((f64, f64), (f64, f64), Ink),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GridLines {
    Both,
    /// Those at labels of the vertical axis.
    Horizontal,
    /// Those at labels of the horizontal axis.
    Vertical,
}

#[derive(Clone, Debug)]
pub struct Panel {
    pub width: i32,
    pub height: i32,
    /// Room left of the plotting area.
    pub left: i32,
    pub top: i32,
    /// Room below it.
    pub bottom: i32,
    pub x: Axis,
    pub y: Axis,
    pub x_caption: String,
    pub y_caption: String,
    pub grid: GridLines,
    pub layers: Vec<Layer>,
    /// Marks on top of everything else.
    pub marks: Vec<Mark>,
    pub extra: String,
    pub title: String,
    pub description: String,
}

const TOP: i32 = 22;
const RIGHT: i32 = 12;
/// Room for labels and caption.
pub const BOTTOM: i32 = 40;

impl Panel {
    /// Makes a picture with two axes and nothing in it.
    pub fn new(width: i32, height: i32, x: Axis, y: Axis) -> Panel {
        Panel {
            width,
            height,
            left: 54,
            top: TOP,
            bottom: BOTTOM,
            x,
            y,
            x_caption: String::new(),
            y_caption: String::new(),
            grid: GridLines::Both,
            layers: Vec::new(),
            marks: Vec::new(),
            extra: String::new(),
            title: String::new(),
            description: String::new(),
        }
    }

    /// The box within the axes, in picture units.
    pub fn plot_box(&self) -> PlotBox {
        PlotBox {
            left: f64::from(self.left),
            top: f64::from(self.top),
            right: f64::from(self.width - RIGHT),
            bottom: f64::from(self.height - self.bottom),
        }
    }

    /// Draws the picture as an SVG element; `id` is unique in the page.
    pub fn to_svg(&self, id: &str) -> Markup {
        let mut body = String::new();
        let places = self.draw_into(&mut body).unwrap_or_default();
        for (mark, (x, y)) in self.marks.iter().zip(places) {
            let _ = write!(
                body,
                "<path class=\"{}\" d=\"{}\"><title>{}</title></path>",
                mark.class,
                mark.shape.path_data(x, y, mark.radius),
                escape_svg(&mark.title)
            );
        }
        body.push_str(&self.extra);
        let (title, description) = (escape_svg(&self.title), escape_svg(&self.description));
        PreEscaped(format!(
            "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title>\
             <desc id=\"{id}-d\">{description}</desc>{body}</svg>",
            self.width, self.height
        ))
    }

    /// Draws axes and layers into `body`; returns the positions of the marks.
    /// The device cannot fail; if it did, the figure would be empty next to its table.
    fn draw_into(&self, body: &mut String) -> Option<Vec<(f64, f64)>> {
        let root = Canvas::new(body, self.width, self.height).into_drawing_area();
        let mut chart = ChartBuilder::on(&root)
            .margin_top(self.top * FINE)
            .margin_right(RIGHT * FINE)
            .x_label_area_size(self.bottom * FINE)
            .y_label_area_size(self.left * FINE)
            .build_cartesian_2d(self.x.clone(), self.y.clone())
            .ok()?;
        for layer in self.layers.iter().filter(|layer| matches!(layer, Layer::Box(..))) {
            self.draw_layer(&mut chart, layer)?;
        }
        self.draw_mesh(&mut chart)?;
        for layer in self.layers.iter().filter(|layer| !matches!(layer, Layer::Box(..))) {
            self.draw_layer(&mut chart, layer)?;
        }
        let places = self
            .marks
            .iter()
            .map(|mark| {
                let (x, y) = chart.backend_coord(&(mark.x, mark.y));
                (f64::from(x) / f64::from(FINE), f64::from(y) / f64::from(FINE))
            })
            .collect();
        drop(chart);
        root.present().ok()?;
        drop(root);
        self.write_captions(body);
        Some(places)
    }

    /// Draws the axes with their labels, and the grid.
    fn draw_mesh(&self, chart: &mut Chart<'_, '_>) -> Option<()> {
        let mut mesh = chart.configure_mesh();
        mesh.max_light_lines(0)
            .bold_line_style(Ink::Grid.stroke_style())
            .axis_style(Ink::Axis.stroke_style())
            .set_all_tick_mark_size(3 * FINE)
            .x_label_style(Ink::TickX.text_style(TEXT))
            .y_label_style(Ink::TickY.text_style(TEXT));
        match self.grid {
            GridLines::Both => {}
            GridLines::Horizontal => {
                mesh.disable_x_mesh();
            }
            GridLines::Vertical => {
                mesh.disable_y_mesh().disable_y_axis();
            }
        }
        mesh.draw().ok()
    }

    /// Draws a line, an area or a box.
    fn draw_layer(&self, chart: &mut Chart<'_, '_>, layer: &Layer) -> Option<()> {
        match layer {
            Layer::Line(points, ink) => {
                chart.draw_series([PathElement::new(points.clone(), ink.stroke_style())]).ok()?;
            }
            Layer::Area(points, ink) => {
                let there = points.iter().map(|(x, lo, _)| (*x, *lo));
                let back = points.iter().rev().map(|(x, _, hi)| (*x, *hi));
                chart.draw_series([Polygon::new(there.chain(back).collect::<Vec<_>>(), ink.fill_style())]).ok()?;
            }
            Layer::Box(from, to, ink) | Layer::Bar(from, to, ink) => {
                chart.draw_series([Rectangle::new([*from, *to], ink.fill_style())]).ok()?;
            }
        }
        Some(())
    }

    /// Writes the captions of the axes.
    fn write_captions(&self, body: &mut String) {
        let plot = self.plot_box();
        write_caption(body, (f64::midpoint(plot.left, plot.right), plot.bottom + 35.0), "middle", &self.x_caption);
        write_caption(body, (2.0, 12.0), "start", &self.y_caption);
    }
}

/// Writes a caption at a point, unless it is empty.
fn write_caption(body: &mut String, (x, y): (f64, f64), anchor: &str, text: &str) {
    if !text.is_empty() {
        let _ = write!(
            body,
            "<text class=\"cap\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{}</text>",
            escape_svg(text)
        );
    }
}

type Chart<'a, 'b> = plotters::chart::ChartContext<'a, Canvas<'b>, plotters::coord::cartesian::Cartesian2d<Axis, Axis>>;

/// Makes an SVG element of a text at a point.
pub fn text_element(class: &str, (x, y): (f64, f64), anchor: &str, content: &str) -> String {
    format!(
        "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
        fine_coordinate(x),
        fine_coordinate(y),
        escape_svg(content)
    )
}

/// Writes a coordinate given in picture units, rounded to what a picture resolves.
fn fine_coordinate(value: f64) -> String {
    coordinate_text((value * f64::from(FINE)).round() as i32)
}
