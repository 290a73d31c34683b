//! A `plotters` backend for SVG with colours as style classes.
//!
//! The crate's own backend writes fixed colours and whole pixels. A report follows the reader's light or dark theme,
//! so each colour stands for a class; and curves need finer steps, so the device is [`FINE`] times larger than the
//! picture.

use std::convert::Infallible;
use std::fmt::Write as _;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontTransform};

use super::ink::Ink;

/// Device units per picture unit.
pub const FINE: i32 = 10;

/// Average of letters and digits in sans-serif, as a share of the size, rather too wide.
const LETTER_WIDTH: f64 = 0.58;

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

pub struct Canvas<'a> {
    out: &'a mut String,
    size: (u32, u32),
}

impl<'a> Canvas<'a> {
    /// Makes a canvas of a size in picture units that writes SVG to `out`.
    pub fn new(out: &'a mut String, width: i32, height: i32) -> Canvas<'a> {
        Canvas { out, size: ((width * FINE).unsigned_abs(), (height * FINE).unsigned_abs()) }
    }

    /// Writes a path through points, with a class and an end such as `Z`.
    fn write_path(&mut self, points: impl IntoIterator<Item = BackendCoord>, class: &str, close: &str) {
        let _ = write!(self.out, "<path class=\"{class}\" d=\"");
        for (index, point) in points.into_iter().enumerate() {
            let (x, y) = (coordinate_text(point.0), coordinate_text(point.1));
            let _ = write!(self.out, "{}{x} {y}", if index == 0 { 'M' } else { 'L' });
        }
        let _ = write!(self.out, "{close}\"/>");
    }
}

/// Writes a coordinate in picture units, without a needless fraction.
pub fn coordinate_text(fine: i32) -> String {
    let sign = if fine < 0 { "-" } else { "" };
    match (fine.abs() / FINE, fine.abs() % FINE) {
        (whole, 0) => format!("{sign}{whole}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

/// Escapes a text for SVG, without marks that change text direction, which SVG cannot contain, as HTML can.
pub fn escape_svg(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let _ = maud::Escaper::new(&mut out).write_str(&crate::text::clean_text(text));
    out
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        self.size
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    /// No part of a chart is drawn in pixels.
    fn draw_pixel(&mut self, _: BackendCoord, _: plotters_backend::BackendColor) -> Drawn {
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        if let Some(class) = Ink::css_class(style.color()) {
            self.write_path([from, to], &class, "");
        }
        Ok(())
    }

    fn draw_rect<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S, _: bool) -> Drawn {
        if let Some(class) = Ink::css_class(style.color()) {
            let (x, y) = (from.0.min(to.0), from.1.min(to.1));
            let (width, height) = ((to.0 - from.0).abs(), (to.1 - from.1).abs());
            let _ = write!(
                self.out,
                "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                coordinate_text(x),
                coordinate_text(y),
                coordinate_text(width),
                coordinate_text(height)
            );
        }
        Ok(())
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        if let Some(class) = Ink::css_class(style.color()) {
            self.write_path(path, &class, "");
        }
        Ok(())
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(&mut self, path: I, style: &S) -> Drawn {
        if let Some(class) = Ink::css_class(style.color()) {
            self.write_path(path, &class, "Z");
        }
        Ok(())
    }

    fn draw_text<T: BackendTextStyle>(&mut self, text: &str, style: &T, pos: BackendCoord) -> Drawn {
        let Some(class) = Ink::css_class(style.color()) else { return Ok(()) };
        let (x, y) = (coordinate_text(pos.0), coordinate_text(pos.1));
        let anchor = match style.anchor().h_pos {
            HPos::Left => "start",
            HPos::Center => "middle",
            HPos::Right => "end",
        };
        // A digit's height is about 0.72 of the size.
        let shift = match style.anchor().v_pos {
            VPos::Top => ".8em",
            VPos::Center => ".36em",
            VPos::Bottom => "-.2em",
        };
        let turn = match style.transform() {
            FontTransform::None => String::new(),
            FontTransform::Rotate90 => format!(" transform=\"rotate(90 {x} {y})\""),
            FontTransform::Rotate180 => format!(" transform=\"rotate(180 {x} {y})\""),
            FontTransform::Rotate270 => format!(" transform=\"rotate(270 {x} {y})\""),
        };
        let _ = write!(
            self.out,
            "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" dy=\"{shift}\" text-anchor=\"{anchor}\"{turn}>{}</text>",
            escape_svg(text)
        );
        Ok(())
    }

    fn estimate_text_size<T: BackendTextStyle>(
        &self,
        text: &str,
        style: &T,
    ) -> Result<(u32, u32), DrawingErrorKind<Infallible>> {
        let width = text.chars().count() as f64 * style.size() * LETTER_WIDTH;
        Ok((width as u32, style.size() as u32))
    }
}
