//! Numbers as people read them: three significant digits, thousands apart, one unit per row.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// Text for terminals and Markdown.
    Plain,
    /// Narrow no-break spaces and a true minus.
    Typographic,
}

impl Script {
    /// The gap between groups of digits.
    pub(crate) fn digit_gap(self) -> char {
        match self {
            Script::Plain => ' ',
            Script::Typographic => '\u{202f}',
        }
    }

    /// The minus sign of the script.
    fn minus_sign(self) -> char {
        match self {
            Script::Plain => '-',
            Script::Typographic => '\u{2212}',
        }
    }
}

/// A printed unit and its divisor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    pub unit: &'static str,
    divisor: f64,
}

/// Ascending, relative to the first.
const TIMES: [(&str, f64); 4] = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
const SIZES: [(&str, f64); 5] =
    [("B", 1.0), ("KiB", 1024.0), ("MiB", 1048576.0), ("GiB", 1073741824.0), ("TiB", 1099511627776.0)];

/// The factor of a unit to the base of its family, and that family; `None` for a unit that has no scale.
fn unit_family(unit: &str) -> Option<(f64, &'static [(&'static str, f64)])> {
    match unit {
        "ns" => Some((1.0, &TIMES)),
        "us" | "µs" => Some((1e3, &TIMES)),
        "ms" => Some((1e6, &TIMES)),
        "s" => Some((1e9, &TIMES)),
        "bytes" | "B" => Some((1.0, &SIZES)),
        _ => None,
    }
}

/// Whether a unit is one of time, so that its values come from a clock.
pub fn is_time(unit: &str) -> bool {
    matches!(unit, "ns" | "us" | "µs" | "ms" | "s")
}

/// A larger value is printed in a larger unit, whatever the smallest of its row is.
const LONG: f64 = 10_000.0;

/// Chooses the largest unit in which the smallest value is at least 1, or the largest one where it would be 10 000 or more;
/// `None` keeps the stored unit.
pub fn scale_for(unit: &str, values: impl IntoIterator<Item = f64>) -> Option<Scale> {
    let (size, family) = unit_family(unit)?;
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
    for value in values.into_iter().map(f64::abs).filter(|value| *value > 0.0 && value.is_finite()) {
        (smallest, largest) = (smallest.min(value), largest.max(value));
    }
    let best = if smallest.is_finite() {
        let of_smallest = family.iter().rev().find(|(_, s)| smallest * size >= *s).or_else(|| family.first());
        let of_largest = family.iter().rev().find(|(_, s)| largest * size >= *s).or_else(|| family.first());
        of_smallest.filter(|(_, s)| largest * size / s < LONG).or(of_largest)
    } else {
        family.iter().find(|(_, s)| *s == size)
    }?;
    Some(Scale { unit: best.0, divisor: best.1 / size })
}

/// The unit of a number of clients.
const CLIENTS: &str = "clients";

/// A row's unit in words, and its values in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowUnit<'a> {
    stored: &'a str,
    scale: Option<Scale>,
}

impl<'a> RowUnit<'a> {
    /// Chooses the unit in which the smallest of the values is at least 1.
    pub fn new(stored: &'a str, values: impl IntoIterator<Item = f64>) -> RowUnit<'a> {
        RowUnit { stored, scale: scale_for(stored, values) }
    }

    /// Makes the unit of this name, or keeps the stored unit if its family has none of this name.
    pub fn with_name(stored: &'a str, name: &str) -> RowUnit<'a> {
        let scale = unit_family(stored).and_then(|(size, family)| {
            let (unit, of) = family.iter().find(|(unit, _)| *unit == name)?;
            Some(Scale { unit, divisor: of / size })
        });
        RowUnit { stored, scale }
    }

    /// The unit's name as printed.
    pub fn unit_name(&self) -> &'a str {
        self.scale.map_or(self.stored, |scale| scale.unit)
    }

    /// Converts a stored value to this unit.
    pub fn convert(&self, value: f64) -> f64 {
        self.scale.map_or(value, |scale| value / scale.divisor)
    }

    /// Writes a value in the unit with the digits that its half width supports, three or four.
    /// Fewer would not be enough to work out the change.
    pub fn print_to(&self, value: f64, half_width: Option<f64>, script: Script) -> String {
        if self.counts_whole() {
            return self.print(value, script);
        }
        let digits = half_width.filter(|share| *share > 0.0).map_or(3, |share| {
            let value = self.convert(value).abs();
            // The last digit is the first of the half width's.
            value.log10().floor() as i32 - (share * value).log10().floor() as i32 + 1
        });
        significant_digits(self.convert(value), digits.clamp(3, 4), script)
    }

    /// Whether the unit counts whole things, such as clients, of which there are no parts.
    pub fn counts_whole(&self) -> bool {
        self.stored == CLIENTS
    }

    /// Writes a value in the unit with three significant digits, or as a whole number.
    pub fn print(&self, value: f64, script: Script) -> String {
        if self.counts_whole() {
            return whole_number(value.max(0.0).round() as u64, script);
        }
        significant_digits(self.convert(value), 3, script)
    }
}

/// The geometric mean of values, or their mean where one of them has no logarithm; `None` without any.
pub(crate) fn geometric_centre(values: impl Iterator<Item = f64>) -> Option<f64> {
    let runs = values.zip(0..).map(|(value, round)| stats::RunValue { round, value });
    stats::summarise(&stats::Sample::from_runs(runs)).map(|summary| summary.centre())
}

/// The median of values, or the mean of the middle two; `None` without any.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let upper = values.get(values.len() / 2)?;
    let lower = values.get(values.len().saturating_sub(1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

/// Writes a value with significant digits, grouped left of the point: `18 400`, `3.95`.
pub fn significant_digits(value: f64, digits: i32, script: Script) -> String {
    if !value.is_finite() {
        return if value.is_nan() { "n/a".to_owned() } else { with_sign("∞", value, script) };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // Rounding may carry (999.6), so the exponent is that of the rounded value.
    let exponent = value.abs().log10().floor() as i32;
    let step = 10_f64.powi(exponent - digits + 1);
    let rounded = (value.abs() / step).round() * step;
    let exponent = rounded.log10().floor() as i32;
    if !(-6..15).contains(&exponent) {
        return with_sign(&format!("{rounded:.*e}", (digits - 1).max(0) as usize), value, script);
    }
    let decimals = (digits - 1 - exponent).max(0) as usize;
    with_sign(&group_digits(&format!("{rounded:.decimals$}"), script), value, script)
}

/// Writes a value with fixed decimals, and zero without a minus.
pub(crate) fn fixed_decimals(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(magnitude) if is_nothing(magnitude) => magnitude.to_owned(),
        _ => text,
    }
}

/// Whether a number is written with zeros only.
fn is_nothing(magnitude: &str) -> bool {
    magnitude.bytes().all(|byte| matches!(byte, b'0' | b'.'))
}

/// Writes a whole number with gaps between thousands.
pub fn whole_number(value: u64, script: Script) -> String {
    group_digits(&value.to_string(), script)
}

/// Puts a minus before the magnitude of a negative value.
fn with_sign(magnitude: &str, value: f64, script: Script) -> String {
    if value < 0.0 { format!("{}{magnitude}", script.minus_sign()) } else { magnitude.to_owned() }
}

/// Groups the digits of numbers with four digits or more.
fn group_digits(plain: &str, script: Script) -> String {
    let (left, right) = plain.split_once('.').map_or((plain, None), |(l, r)| (l, Some(r)));
    let mut text = String::with_capacity(plain.len() + 4);
    for (index, digit) in left.chars().enumerate() {
        if index > 0 && (left.len() - index).is_multiple_of(3) && left.len() > 3 {
            text.push(script.digit_gap());
        }
        text.push(digit);
    }
    if let Some(right) = right {
        text.push('.');
        text.push_str(right);
    }
    text
}

/// Printed as "more than".
const FAR: f64 = 1_000.0;
/// An interval whose ends are further apart than this factor says nothing.
const WIDEST: f64 = 100.0;

/// Printed to the digits that its interval supports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    ratio: f64,
    lo: f64,
    hi: f64,
    decimals: usize,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// `+4.8 %`
    Percent,
    /// `×12.3`, from tenfold on, and `×1/12.3` up to a tenth.
    Times,
    /// `+16 points`, between two shares.
    Points,
}

impl Change {
    /// Makes a change of a ratio with its interval, as a percentage or, if it is large, as a factor.
    pub fn new(ratio: f64, lo: f64, hi: f64) -> Change {
        let times = ratio >= 10.0 || ratio <= 0.1;
        let unit = if times { 1.0 } else { 100.0 };
        let half = (hi - lo).abs() / 2.0 * unit;
        let decimals = if half.is_finite() && half > 0.0 {
            // Two significant digits of the half width, at most hundredths.
            (1.0 - half.log10().floor()).clamp(0.0, 2.0) as usize
        } else {
            0
        };
        // Tenths of a percent suffice for large changes.
        let decimals = if (ratio - 1.0).abs() >= 0.1 { decimals.min(1) } else { decimals };
        let decimals = decimals.min(if times { 1 } else { 2 });
        Change { ratio, lo, hi, decimals, form: if times { Form::Times } else { Form::Percent } }
    }

    /// Makes a change of a share, in percentage points.
    pub fn from_points(difference: f64, lo: f64, hi: f64) -> Change {
        let half = (hi - lo).abs() / 2.0 * 100.0;
        let decimals = if half.is_finite() && half > 0.0 { (1.0 - half.log10().floor()).clamp(0.0, 3.0) } else { 1.0 };
        // Printed like percents: 1 plus the difference.
        Change { ratio: 1.0 + difference, lo: 1.0 + lo, hi: 1.0 + hi, decimals: decimals as usize, form: Form::Points }
    }

    /// Writes a ratio as a signed percentage or as a factor, without its unit.
    fn print_ratio(&self, ratio: f64, script: Script) -> String {
        if !ratio.is_finite() {
            return "∞".to_owned();
        }
        // Its digits would be noise.
        if ratio >= FAR {
            return match self.form {
                Form::Times => format!(">{}", group_digits(&format!("{FAR:.0}"), script)),
                Form::Percent | Form::Points => format!(">+{}", group_digits(&format!("{:.0}", FAR * 100.0), script)),
            };
        }
        let decimals = self.decimals;
        match self.form {
            // Of a small factor the digits are in its reciprocal.
            Form::Times if self.ratio <= 0.1 && ratio > 0.0 => reciprocal_text(ratio, script),
            Form::Times => group_digits(&format!("{ratio:.decimals$}"), script),
            Form::Percent | Form::Points => {
                let percent = (ratio - 1.0) * 100.0;
                let text = group_digits(&format!("{:.decimals$}", percent.abs()), script);
                let zero = text.chars().all(|c| matches!(c, '0' | '.'));
                let sign = if zero { None } else { Some(if percent < 0.0 { script.minus_sign() } else { '+' }) };
                sign.into_iter().chain(text.chars()).collect()
            }
        }
    }

    /// Writes the change: `+4.8 %`, `×12.3` or `+0.2 points`.
    pub fn print_change(&self, script: Script) -> String {
        match self.form {
            Form::Percent => format!("{}{}%", self.print_ratio(self.ratio, script), script.digit_gap()),
            Form::Times => format!("×{}", self.print_ratio(self.ratio, script)),
            Form::Points => format!("{} points", self.print_ratio(self.ratio, script)),
        }
    }

    /// Writes the interval: `[+3.1, +6.6]`, or `unbounded` where its ends would mean nothing.
    pub fn print_interval(&self, script: Script) -> String {
        if self.lo.is_nan() {
            return "n/a".to_owned();
        }
        if self.form != Form::Points && self.hi > WIDEST * self.lo {
            return "unbounded".to_owned();
        }
        let sign = if self.form == Form::Times { "×" } else { "" };
        format!("[{sign}{}, {sign}{}]", self.print_ratio(self.lo, script), self.print_ratio(self.hi, script))
    }
}

/// Writes a factor below 1 as a fraction: `1/584`, `<1/1 000`.
fn reciprocal_text(ratio: f64, script: Script) -> String {
    let times = 1.0 / ratio;
    if times > FAR {
        return format!("<1/{}", group_digits(&format!("{FAR:.0}"), script));
    }
    format!("1/{}", significant_digits(times, 3, script))
}

/// Writes a share in whole percent, below 1 % in tenths: `12 %`, `0.4 %`.
pub fn percent_text(share: f64, script: Script) -> String {
    let value = share * 100.0;
    let magnitude = format!("{:.*}", usize::from(value.abs() < 1.0), value.abs());
    let value = if is_nothing(&magnitude) { 0.0 } else { value };
    format!("{}{}%", with_sign(&group_digits(&magnitude, script), value, script), script.digit_gap())
}

/// Writes a share with enough digits to differ from none: `16 %`, `0.2 %`, `<0.1 %`, `0`.
pub fn failed_share_text(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_owned(),
        percent if percent < 0.1 => "<0.1 %".to_owned(),
        percent if percent < 10.0 => format!("{:.1} %", percent).replace(".0 %", " %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Writes an ordinal number: `6th`, `22nd`.
pub fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Writes a half width as `±1 %`, or in words where it is more than the figure itself.
pub fn half_width_text(share: f64, script: Script) -> String {
    if share > 1.0 { "varies widely".to_owned() } else { format!("±{}", percent_text(share, script)) }
}

/// Writes a p-value with two significant digits, or as `<0.0001`.
pub fn p_value_text(p: f64) -> String {
    if p < 1e-4 {
        return "<0.0001".to_owned();
    }
    if p >= 0.995 {
        return "1".to_owned();
    }
    let decimals = (1.0 - p.log10().floor()).clamp(2.0, 5.0) as usize;
    format!("{p:.decimals$}")
}

/// Writes a number with its noun, which gets an `s` unless the number is 1.
pub fn count_noun(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_groups() {
        assert_eq!(digits(18_423.0), "18 400");
        assert_eq!(digits(1_234_567.0), "1 230 000");
        assert_eq!(digits(3_947.0), "3 950");
        assert_eq!(digits(999.6), "1 000");
        assert_eq!(digits(12.345), "12.3");
        assert_eq!(digits(0.012_345), "0.0123");
        assert_eq!(digits(-0.5), "-0.500");
        assert_eq!([fixed_decimals(-0.04, 1), fixed_decimals(-0.06, 1), fixed_decimals(0.04, 0)], ["0.0", "-0.1", "0"]);
        assert_eq!(digits(0.0), "0");
        assert_eq!(digits(f64::NAN), "n/a");
        assert_eq!(significant_digits(-18_423.0, 3, Script::Typographic), "\u{2212}18\u{202f}400");
        assert_eq!(digits(1e20), "1.00e20");
        assert_eq!(digits(1e-9), "1.00e-9");
    }

    fn digits(v: f64) -> String {
        significant_digits(v, 3, Script::Plain)
    }

    #[test]
    fn one_unit_for_a_row() {
        let unit = RowUnit::new("us", [812.0, 3_950.0]);
        assert_eq!((unit.unit_name(), unit.print(3_950.0, Script::Plain)), ("µs", "3 950".to_owned()));
        let unit = RowUnit::new("us", [12_500.0, 3_950_000.0]);
        assert_eq!((unit.unit_name(), unit.print(12_500.0, Script::Plain)), ("ms", "12.5".to_owned()));
        let unit = RowUnit::new("bytes", [1_048_576.0]);
        assert_eq!((unit.unit_name(), unit.print(1_572_864.0, Script::Plain)), ("MiB", "1.50".to_owned()));
        let unit = RowUnit::new("tx/s", [1e7]);
        assert_eq!((unit.unit_name(), unit.print(1e7, Script::Plain)), ("tx/s", "10 000 000".to_owned()));
        assert_eq!(RowUnit::new("us", []).unit_name(), "µs");
    }

    #[test]
    fn digits_follow_the_interval() {
        assert_eq!(change_text(1.048, 1.031, 1.066), "+4.8 % [+3.1, +6.6]");
        assert_eq!(change_text(0.973, 0.944, 1.003), "-2.7 % [-5.6, +0.3]");
        assert_eq!(change_text(1.5, 1.2, 1.9), "+50 % [+20, +90]");
        assert_eq!(change_text(1.000_04, 0.9996, 1.0005), "0.00 % [-0.04, +0.05]");
        assert_eq!(change_text(12.34, 11.0, 13.9), "×12.3 [×11.0, ×13.9]");
        assert_eq!(change_text(0.083, 0.08, 0.086), "×1/12.0 [×1/12.5, ×1/11.6]");
        assert_eq!(change_text(0.001_712, 0.001_6, 0.001_8), "×1/584 [×1/625, ×1/556]");
        assert_eq!(change_text(0.000_5, 0.000_4, 0.000_6), "×<1/1 000 [×<1/1 000, ×<1/1 000]");
        assert_eq!(change_text(1.1, 1.1, 1.1), "+10 % [+10, +10]");
        assert_eq!(change_text(2.0, 0.0, f64::INFINITY), "+100 % unbounded");
    }

    fn change_text(ratio: f64, lo: f64, hi: f64) -> String {
        let change = Change::new(ratio, lo, hi);
        format!("{} {}", change.print_change(Script::Plain), change.print_interval(Script::Plain))
    }

    #[test]
    fn an_interval_without_meaning_has_no_digits() {
        assert_eq!(Change::new(2.0, 0.5, 17_707_784.0).print_interval(Script::Plain), "unbounded");
        assert_eq!(Change::new(900.0, 800.0, 5_000.0).print_interval(Script::Plain), "[×800, ×>1 000]");
        let unit = RowUnit::new("tx/s", [5_413.0]);
        assert_eq!(
            [Some(0.08), Some(0.004), Some(0.0001), None].map(|half| unit.print_to(5_413.0, half, Script::Plain)),
            ["5 410", "5 410", "5 413", "5 410"]
        );
        let ordinals = [1, 2, 3, 6, 11, 12, 13, 21, 22, 103, 111].map(ordinal);
        assert_eq!(ordinals.join(" "), "1st 2nd 3rd 6th 11th 12th 13th 21st 22nd 103rd 111th");
        assert_eq!(
            [half_width_text(0.012, Script::Plain), half_width_text(1.2, Script::Plain)],
            ["±1 %", "varies widely"]
        );
    }

    #[test]
    fn small_things() {
        assert_eq!(percent_text(0.0123, Script::Plain), "1 %");
        assert_eq!(percent_text(0.004, Script::Plain), "0.4 %");
        assert_eq!([0.0, 0.0004, 0.01, 0.0123, 0.16].map(failed_share_text), ["0", "<0.1 %", "1 %", "1.2 %", "16 %"]);
        let points = Change::from_points(0.161, 0.152, 0.17);
        let said = (points.print_change(Script::Plain), points.print_interval(Script::Plain));
        assert_eq!(said, ("+16.10 points".to_owned(), "[+15.20, +17.00]".to_owned()));
        assert_eq!(p_value_text(0.03125), "0.031");
        assert_eq!(p_value_text(1e-9), "<0.0001");
        assert_eq!(p_value_text(1.0), "1");
        assert_eq!(count_noun(1, "run"), "1 run");
    }
}
