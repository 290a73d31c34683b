//! SVG charts without script, which follow the theme and print.
//!
//! Axes, scales and curves come from `plotters` 0.3.7, which alone has public traits for that: by `DrawingBackend` the
//! device in `canvas.rs` writes SVG in which a colour is a class of the style sheet, by `Ranged` an axis is linear in
//! what the picture shows. `kuva` 0.6 and `charts-rs` 2.3 fix their colours in the SVG; `charming` 0.6 and `plotly` 0.14
//! show nothing without a script.

mod axis;
mod canvas;
mod ink;
mod panel;

pub use axis::Axis;
pub use ink::{Ink, series_class};
pub use panel::{BOTTOM, GridLines, Layer, Mark, Panel, Shape, text_element};
