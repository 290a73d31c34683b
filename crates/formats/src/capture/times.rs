//! Moments as servers write them in logs.

const DAY_S: i64 = 86_400;

/// Computes the days since 1970 of a date.
/// <https://howardhinnant.github.io/date_algorithms.html#days_from_civil>.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A moment at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Since 1970, in the log's own zone unless that is a number.
    pub us: i64,
    /// Length of its text, without the zone.
    pub length: usize,
    pub has_fraction: bool,
}

/// Parses a number of digits alone.
fn digits_number(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0_i64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// Parses `2026-11-28 19:41:05.123`, with a space or a `T` between day and time, and any number of decimals.
pub fn parse_moment(text: &str) -> Option<Moment> {
    let bytes = text.as_bytes();
    let part = |from: usize, to: usize| digits_number(bytes.get(from..to)?);
    let is_at = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    if !(is_at(4, b"-") && is_at(7, b"-") && is_at(10, b" T") && is_at(13, b":") && is_at(16, b":")) {
        return None;
    }
    let (month, day) = (part(5, 7)?, part(8, 10)?);
    let (hour, minute, second) = (part(11, 13)?, part(14, 16)?, part(17, 19)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days_since_1970(part(0, 4)?, month, day) * DAY_S + hour * 3_600 + minute * 60 + second;
    let mut moment = Moment { us: seconds * 1_000_000, length: 19, has_fraction: false };
    if is_at(19, b".") {
        let digits = bytes[20..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let shown = digits.min(6);
        let scale = (shown..6).fold(1, |scale, _| scale * 10);
        moment.us += digits_number(&bytes[20..20 + shown])? * scale;
        moment.length = 20 + digits;
        moment.has_fraction = digits > 0;
    }
    Some(moment)
}

/// Gives the seconds east of Greenwich of `Z`, `+02` and `-03:30`; 0 for names of zones, which are not unique.
pub fn zone_s(zone: &str) -> i64 {
    let (sign, rest) = match zone.as_bytes().first() {
        Some(b'+') => (1, &zone[1..]),
        Some(b'-') => (-1, &zone[1..]),
        _ => return 0,
    };
    let digits: Vec<u8> = rest.bytes().filter(u8::is_ascii_digit).collect();
    let hours = digits.get(..2).and_then(digits_number).unwrap_or(0);
    let minutes = digits.get(2..4).and_then(digits_number).unwrap_or(0);
    sign * (hours * 3_600 + minutes * 60)
}

/// Parses a moment and the zone behind it, which ends at a space or at the text's end.
pub fn parse_zoned(text: &str) -> Option<Moment> {
    let moment = parse_moment(text)?;
    let rest = text[moment.length..].strip_prefix(' ').unwrap_or(&text[moment.length..]);
    let zone = rest.split([' ', ',', '"']).next().unwrap_or_default();
    Some(Moment { us: moment.us - zone_s(zone) * 1_000_000, ..moment })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_fractions_and_zones() {
        assert_eq!(parse_zoned("1970-01-02 00:00:01.5 UTC").unwrap().us, (DAY_S + 1) * 1_000_000 + 500_000);
        assert_eq!(parse_zoned("2000-03-01 00:00:00.000 +02").unwrap().us, (951_868_800 - 7_200) * 1_000_000);
        assert_eq!(parse_zoned("2026-11-28T19:41:05.123456Z").unwrap().us, 1_795_894_865_123_456);
        assert!(!parse_moment("2026-11-28 19:41:05 CET").unwrap().has_fraction);
        for wrong in ["2026-13-28 19:41:05", "2026-11-28", "2026-11-28 1é:41:05", ""] {
            assert_eq!(parse_moment(wrong), None, "{wrong}");
        }
    }
}
