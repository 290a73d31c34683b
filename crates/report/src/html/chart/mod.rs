//! Charts: SVG that is readable without a script, follows the theme and can be printed.
//!
//! Axes, scales and curves come from `plotters`; `docs/report.md` says why.

mod axis;
mod canvas;
mod ink;
mod panel;

pub use axis::Axis;
pub use ink::{Ink, series_class};
pub use panel::{BOTTOM, GridLines, Layer, Mark, Panel, Shape, text};
