//! Lengths of time as plans write them: `"500ms"`, `"10s"`, `"1h30m"`.

use std::time::Duration;

/// Why a text is no length of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("it is empty")]
    Empty,
    #[error("`{0}` has no unit")]
    NoUnit(String),
    /// A unit that is none of ns, us, ms, s, m, h, d.
    #[error("`{0}` is not a unit of time")]
    UnknownUnit(String),
    /// A unit without a number, a sign, a blank.
    #[error("`{0}` does not start with a number")]
    NoNumber(String),
    /// Parts that do not go from the largest unit to the smallest, as in `30m1h` or `1s1s`.
    #[error("its units do not go from the largest to the smallest")]
    Disorder,
    /// A range whose first end is the longer one.
    #[error("the range is reversed")]
    Reversed,
    /// A fraction of a nanosecond, as in `0.1ns`.
    #[error("it is finer than a nanosecond")]
    TooFine,
    /// More than fits: about 584 billion years.
    #[error("it is too long")]
    TooLong,
}

/// The units, largest first, with their length in nanoseconds.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// Parses a length of time such as `1h30m` or `1.5s`: numbers with units from the largest to the smallest.
/// The units are d, h, m, s, ms, us (or µs) and ns, without blanks; the numbers may have a fraction.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    if text.is_empty() {
        return Err(DurationError::Empty);
    }
    let mut rest = text;
    let mut total_ns: u128 = 0;
    let mut previous_unit_ns = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = split_while(rest, |c| c.is_ascii_digit() || c == '.');
        let (unit, after) = split_while(after, |c| !c.is_ascii_digit() && c != '.');
        if !number.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(DurationError::NoNumber(shorten(rest)));
        }
        if unit.is_empty() {
            return Err(DurationError::NoUnit(shorten(number)));
        }
        let unit_ns = unit_ns(unit)?;
        if unit_ns >= previous_unit_ns {
            return Err(DurationError::Disorder);
        }
        previous_unit_ns = unit_ns;
        total_ns = total_ns.checked_add(part_ns(number, unit_ns)?).ok_or(DurationError::TooLong)?;
        rest = after;
    }
    let seconds = u64::try_from(total_ns / NANOS_PER_SECOND).map_err(|_| DurationError::TooLong)?;
    // The remainder is below a billion, so the conversion cannot fail.
    let nanos = u32::try_from(total_ns % NANOS_PER_SECOND).map_err(|_| DurationError::TooLong)?;
    Ok(Duration::new(seconds, nanos))
}

/// Writes a length of time in the largest units that hold it without a fraction; [`parse`] reads it back exactly.
pub fn format(duration: Duration) -> String {
    let mut rest = duration.as_nanos();
    let mut text = String::new();
    for (name, unit_ns) in UNITS {
        let count = rest / u128::from(unit_ns);
        rest %= u128::from(unit_ns);
        if count > 0 {
            text.push_str(&format!("{count}{name}"));
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Writes a length of time that was chosen, for people: to a thousandth of its unit, `20 ms`, `1.4 s`, and from a minute on in whole
/// seconds, `1 min 30 s`.
pub fn spaced_text(length: Duration) -> String {
    let length_s = length.as_secs_f64();
    if length_s >= 60.0 {
        let whole = length.as_secs();
        let parts = [(whole / 3_600, "h"), (whole / 60 % 60, "min"), (whole % 60, "s")];
        let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
        return parts.collect::<Vec<_>>().join(" ");
    }
    let (value, unit) = match length_s {
        0.0 => (0.0, "s"),
        1.0.. => (length_s, "s"),
        0.001.. => (length_s * 1e3, "ms"),
        _ => (length_s * 1e6, "µs"),
    };
    let text = format!("{value:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Writes a length of time that was measured, for people: `850 µs`, `5.3 ms`, `30 s`.
pub fn rounded_text(length: Duration) -> String {
    let length_s = length.as_secs_f64();
    let (value, unit) = match length_s {
        1.0.. => (length_s, "s"),
        0.001.. => (length_s * 1e3, "ms"),
        _ => (length_s * 1e6, "µs"),
    };
    let text = if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
    format!("{} {unit}", text.strip_suffix(".0").unwrap_or(&text))
}

/// Parses a range of lengths, `"50ms..249ms"`, both ends included; one length alone is both ends.
pub fn parse_range(text: &str) -> Result<(Duration, Duration), DurationError> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let (first, last) = (parse(first.trim())?, parse(last.trim())?);
    if first > last { Err(DurationError::Reversed) } else { Ok((first, last)) }
}

/// Parses several lengths with commas between them: `"100ms, 1s"`.
pub fn parse_list(text: &str) -> Result<Vec<Duration>, DurationError> {
    text.split(',').map(|part| parse(part.trim())).collect()
}

/// Gives the nanoseconds of a unit; fails if it is unknown.
fn unit_ns(unit: &str) -> Result<u64, DurationError> {
    let plain = if matches!(unit, "µs" | "μs") { "us" } else { unit };
    let known = UNITS.iter().find(|(name, _)| *name == plain);
    known.map(|(_, unit_ns)| *unit_ns).ok_or_else(|| DurationError::UnknownUnit(shorten(unit)))
}

/// Converts a number as written, such as `1.5`, of a unit to nanoseconds; fails if it is not whole there.
fn part_ns(number: &str, unit_ns: u64) -> Result<u128, DurationError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.is_empty() || fraction.contains('.') {
        return Err(DurationError::NoNumber(shorten(number)));
    }
    let whole: u128 = whole.parse().map_err(|_| DurationError::TooLong)?;
    let whole_ns = whole.checked_mul(u128::from(unit_ns)).ok_or(DurationError::TooLong)?;
    let fraction = fraction.trim_end_matches('0');
    // A day has 8.64e13 ns: no fraction of more digits than that comes out even.
    if fraction.len() > 15 {
        return Err(DurationError::TooFine);
    }
    let scale = fraction.bytes().fold(1, |scale: u128, _| scale * 10);
    let digits = fraction.bytes().fold(0, |sum: u128, digit| sum * 10 + u128::from(digit - b'0'));
    let scaled_ns = digits * u128::from(unit_ns);
    if scaled_ns % scale != 0 {
        return Err(DurationError::TooFine);
    }
    whole_ns.checked_add(scaled_ns / scale).ok_or(DurationError::TooLong)
}

/// Splits a text before the first character that `keep` does not hold for.
fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// Shortens a text to its first 20 characters, for a message.
fn shorten(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_plans_write() {
        let ms = Duration::from_millis;
        for (text, expected) in [
            ("500ms", ms(500)),
            ("10s", ms(10_000)),
            ("2m", ms(120_000)),
            ("1h", ms(3_600_000)),
            ("1h30m", ms(5_400_000)),
            ("1.5s", ms(1_500)),
            ("0.25h", ms(900_000)),
            ("1.000s", ms(1_000)),
            ("0s", ms(0)),
            ("1d", ms(86_400_000)),
            ("3us", Duration::from_micros(3)),
            ("3µs", Duration::from_micros(3)),
            ("0.5us", Duration::from_nanos(500)),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_with_a_reason() {
        use DurationError::*;
        for (text, expected) in [
            ("", Empty),
            ("10", NoUnit("10".into())),
            ("1h30", NoUnit("30".into())),
            ("s", NoNumber("s".into())),
            ("-1s", NoNumber("-1s".into())),
            (" 1s", NoNumber(" 1s".into())),
            ("1 s", UnknownUnit(" s".into())),
            ("1.s", NoNumber("1.".into())),
            ("1.2.3s", NoNumber("1.2.3".into())),
            ("1S", UnknownUnit("S".into())),
            ("1y", UnknownUnit("y".into())),
            ("1s1s", Disorder),
            ("30m1h", Disorder),
            ("0.1ns", TooFine),
            ("0.0001us", TooFine),
            ("99999999999999999999d", TooLong),
            ("999999999999999999999999999999999999999999999s", TooLong),
        ] {
            assert_eq!(parse(text), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn ranges_and_lists_are_lengths() {
        let ms = Duration::from_millis;
        assert_eq!(parse_range("50ms..249ms"), Ok((ms(50), ms(249))));
        assert_eq!(parse_range("1s"), Ok((ms(1_000), ms(1_000))));
        assert_eq!(parse_range("2s..1s"), Err(DurationError::Reversed));
        assert_eq!(parse_range("1s.."), Err(DurationError::Empty));
        assert_eq!(parse_list("100ms, 1s,5s"), Ok(vec![ms(100), ms(1_000), ms(5_000)]));
        assert_eq!(parse_list("100ms,"), Err(DurationError::Empty));
    }

    proptest! {
        #[test]
        fn reading_undoes_writing(seconds: u64, nanos in 0u32..1_000_000_000) {
            let duration = Duration::new(seconds, nanos);
            prop_assert_eq!(parse(&format(duration)), Ok(duration));
        }

        #[test]
        fn never_panics(text in "[0-9.]{0,30}[a-zµ]{0,3}[0-9.]{0,5}\\PC{0,4}") {
            let _ = parse(&text);
        }
    }

    #[test]
    fn chosen_lengths_are_written_with_spaces() {
        let shown =
            [0, 250, 20_000, 1_400_000, 90_000_000, 7_200_000_000].map(|us| spaced_text(Duration::from_micros(us)));
        assert_eq!(shown, ["0 s", "250 µs", "20 ms", "1.4 s", "1 min 30 s", "2 h"]);
    }

    #[test]
    fn measured_lengths_are_rounded_and_never_to_nothing() {
        let shown =
            [850, 5_012, 5_340, 249_600, 1_000_000, 30_000_000].map(|us| rounded_text(Duration::from_micros(us)));
        assert_eq!(shown, ["850 µs", "5 ms", "5.3 ms", "250 ms", "1 s", "30 s"]);
    }
}
