//! Style classes as `plotters` colours.

use plotters::style::{Color as _, RGBColor, ShapeStyle, TextStyle};
use plotters_backend::BackendColor;

use super::canvas::FINE;

/// Further systems reuse colours with other dashes.
pub const COLOURS: usize = 6;

/// The style sheet gives each role its look in a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Axis,
    Grid,
    /// The line of no difference.
    Zero,
    /// The zone of equivalence.
    Margin,
    /// The interval of a ratio.
    Interval,
    Block,
    /// Labels at ticks of the horizontal axis.
    TickX,
    /// Labels at ticks of the vertical axis.
    TickY,
    Caption,
    Line(usize),
    Range(usize),
    /// A thin line.
    Middle(usize),
    Bar(usize),
}

const FIXED: [(Ink, &str); 9] = [
    (Ink::Axis, "ax"),
    (Ink::Grid, "gr"),
    (Ink::Zero, "zero"),
    (Ink::Margin, "margin"),
    (Ink::Interval, "iv"),
    (Ink::Block, "block"),
    (Ink::TickX, "tx"),
    (Ink::TickY, "ty"),
    (Ink::Caption, "cap"),
];

const FIXED_SPACE: u8 = 0;
const LINE_SPACE: u8 = 1;
const RANGE_SPACE: u8 = 2;
const MIDDLE_SPACE: u8 = 3;
const BAR_SPACE: u8 = 4;

/// The CSS class of a series: its colour and dashes.
pub fn series_class(index: usize) -> String {
    format!("s{} d{}", index % COLOURS, (index / COLOURS + index) % 4)
}

impl Ink {
    /// The colour that stands for the ink, and is replaced by a class.
    pub fn colour(self) -> RGBColor {
        match self {
            Ink::Line(index) => RGBColor(LINE_SPACE, to_byte(index), 0),
            Ink::Range(index) => RGBColor(RANGE_SPACE, to_byte(index), 0),
            Ink::Middle(index) => RGBColor(MIDDLE_SPACE, to_byte(index), 0),
            Ink::Bar(index) => RGBColor(BAR_SPACE, to_byte(index), 0),
            _ => {
                let index = FIXED.iter().position(|(ink, _)| *ink == self).unwrap_or(0);
                RGBColor(FIXED_SPACE, to_byte(index), 0)
            }
        }
    }

    /// The style of lines of this ink.
    pub fn stroke_style(self) -> ShapeStyle {
        self.colour().stroke_width(1)
    }

    /// The style of areas of this ink.
    pub fn fill_style(self) -> ShapeStyle {
        self.colour().filled()
    }

    /// The style of text of this ink, in a size.
    pub fn text_style(self, size: i32) -> TextStyle<'static> {
        TextStyle { color: self.colour().to_backend_color(), ..TextStyle::from(("sans-serif", size * FINE)) }
    }

    /// The CSS class that a colour stands for; `None` if it is invisible.
    pub fn css_class(colour: BackendColor) -> Option<String> {
        if colour.alpha == 0.0 {
            return None;
        }
        let (space, number, _) = colour.rgb;
        let index = usize::from(number);
        match space {
            LINE_SPACE => Some(format!("ln {}", series_class(index))),
            RANGE_SPACE => Some(format!("rg {}", series_class(index))),
            MIDDLE_SPACE => Some(format!("mid {}", series_class(index))),
            BAR_SPACE => Some(format!("bar {}", series_class(index))),
            _ => FIXED.get(index).map(|(_, class)| (*class).to_owned()),
        }
    }
}

/// Puts an index into a colour's byte, modulo 256.
fn to_byte(index: usize) -> u8 {
    u8::try_from(index % 256).unwrap_or(0)
}
