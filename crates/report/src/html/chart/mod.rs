//! SVG charts without script, which follow the theme and print.
//!
//! Axes, scales and curves come from `plotters`; `docs/report.md` says why.

mod axis;
mod canvas;
mod ink;
mod panel;

pub use axis::Axis;
pub use ink::{Ink, series_class};
pub use panel::{BOTTOM, GridLines, Layer, Mark, Panel, Shape, text_element};
