//! Axes: a range, and where it is labelled.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use crate::number::{Script, significant_digits};

#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    pub lo: f64,
    pub hi: f64,
    pub ticks: Vec<(f64, String)>,
}

impl Axis {
    /// Makes an axis over some values, widened so that none is on the edge, with at most `count` labels.
    pub fn linear(values: impl IntoIterator<Item = f64>, count: usize) -> Axis {
        let (lo, hi) = widened_range(values);
        let room = (hi - lo) * 0.08;
        Axis::between(lo - room, hi + room, count)
    }

    /// Makes a linear axis from zero over some values.
    pub fn from_zero(values: impl IntoIterator<Item = f64>, count: usize) -> Axis {
        let (_, hi) = widened_range(values.into_iter().chain([0.0]));
        Axis::between(0.0, hi * 1.06, count)
    }

    /// Makes the axis from `lo` to `hi`, with at most `count` steps between its labels.
    pub fn between(lo: f64, hi: f64, count: usize) -> Axis {
        let ticks = round_steps(lo, hi, count);
        let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
        let ticks = ticks.into_iter().map(|tick| (tick, tick_label(tick, step))).collect();
        Axis { lo, hi, ticks }
    }

    /// Makes a logarithmic axis of base 10 over the positive values.
    pub fn log10(values: impl IntoIterator<Item = f64>) -> Axis {
        let logs = values.into_iter().filter(|v| *v > 0.0).map(f64::log10);
        let (lo, hi) = widened_range(logs);
        let room = ((hi - lo) * 0.06).max(0.02);
        let (lo, hi) = (lo - room, hi + room);
        let factors: &[f64] = match hi - lo {
            decades if decades > 3.0 => &[1.0],
            decades if decades > 0.8 => &[1.0, 2.0, 5.0],
            _ => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
        };
        let decades = (lo.floor() as i32)..=(hi.ceil() as i32);
        let values = decades.flat_map(|decade| factors.iter().map(move |factor| factor * 10_f64.powi(decade)));
        let mut ticks: Vec<(f64, String)> = values
            .filter(|value| (lo..=hi).contains(&value.log10()))
            .map(|value| (value.log10(), plain_number(value)))
            .collect();
        if ticks.len() < 2 {
            let linear = round_steps(10_f64.powf(lo), 10_f64.powf(hi), 5);
            let step = linear.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
            ticks = linear.into_iter().map(|value| (value.log10(), tick_label(value, step))).collect();
        }
        Axis { lo, hi, ticks }
    }
}

/// Linear for `plotters`, with our labels.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.lo) / (self.hi - self.lo);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|(value, _)| *value).collect()
    }

    fn range(&self) -> Range<f64> {
        self.lo..self.hi
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks
            .iter()
            .find(|tick| (tick.0 - value).abs() <= (self.hi - self.lo).abs() * 1e-9)
            .map(|(_, label)| label.clone())
            .unwrap_or_default()
    }
}

/// The lowest and the highest of the finite values, widened if they are equal; 0 to 1 without any.
fn widened_range(values: impl IntoIterator<Item = f64>) -> (f64, f64) {
    let finite = values.into_iter().filter(|v| v.is_finite());
    let (lo, hi) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)));
    if lo > hi || (lo, hi) == (0.0, 0.0) {
        return (0.0, 1.0);
    }
    // Equal values get a tenth around.
    let least = hi.abs() * 0.1;
    if hi - lo < least * 0.1 { (lo - least / 2.0, hi + least / 2.0) } else { (lo, hi) }
}

/// Lists the values between `lo` and `hi` that are 1, 2 or 5 times a power of ten apart, in about `count` steps.
fn round_steps(lo: f64, hi: f64, count: usize) -> Vec<f64> {
    let rough = (hi - lo) / count.max(1) as f64;
    if !(rough > 0.0 && rough.is_finite()) {
        return Vec::new();
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|f| f * power).find(|s| *s >= rough * 0.999).unwrap_or(power);
    let first = (lo / step).ceil() as i64;
    let last = (hi / step).floor() as i64;
    (first..=last).map(|n| n as f64 * step).collect()
}

/// Writes a value with the decimals of its step.
fn tick_label(value: f64, step: f64) -> String {
    // No decimals, and at the left edge no room for them.
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    let text = format!("{:.decimals$}", value.abs());
    let sign = if value < 0.0 && text.chars().any(|c| c.is_ascii_digit() && c != '0') { "\u{2212}" } else { "" };
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), ""), |(w, f)| (w, f));
    let grouped =
        whole.parse::<u64>().map_or(whole.to_owned(), |n| crate::number::whole_number(n, Script::Typographic));
    if fraction.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{fraction}") }
}

/// Writes a number without needless digits: `0.2`, `1`, `50`, `2 000`.
fn plain_number(value: f64) -> String {
    let digits =
        if value >= 10.0 || (value - value.round()).abs() < 1e-9 { value.log10().floor() as i32 + 1 } else { 2 };
    let text = significant_digits(value, digits.max(1), Script::Typographic);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(labels(&Axis::between(880.0, 1_270.0, 5)), ["900", "1\u{202f}000", "1\u{202f}100", "1\u{202f}200"]);
        assert_eq!(labels(&Axis::between(-0.3, 0.3, 4)), ["\u{2212}0.2", "0", "0.2"]);
        assert_eq!(labels(&Axis::log10([0.3, 40.0])), ["0.5", "1", "2", "5", "10", "20", "50"]);
        assert_eq!(labels(&Axis::log10([100.0, 101.0])), ["80", "100"]);
    }

    #[test]
    fn degenerate_values_have_a_range() {
        for values in [vec![], vec![5.0], vec![0.0, 0.0], vec![f64::NAN], vec![-3.0, -3.0]] {
            let axis = Axis::linear(values.clone(), 5);
            assert!(axis.lo < axis.hi && axis.lo.is_finite(), "{values:?}: {axis:?}");
            assert!(axis.ticks.len() < 12);
        }
    }
}
