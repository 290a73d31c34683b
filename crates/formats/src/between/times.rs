//! Dates and times of day in a line.

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const ZONES: [&str; 10] = ["UTC", "GMT", "CET", "CEST", "EST", "EDT", "PST", "PDT", "AM", "PM"];

/// Leaves out the dates, times of day and seconds since 1970 in a text.
pub fn without_times(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    if !words.iter().any(|word| is_time_word(word)) {
        return text.to_owned();
    }
    let has_month = words.iter().any(|word| is_calendar_name(word, &MONTHS));
    words.into_iter().filter(|word| !is_of_time(word, has_month)).collect::<Vec<_>>().join(" ")
}

/// Tests whether a word is a part of a time, or of a date where the name of a month is near.
fn is_of_time(word: &str, has_month: bool) -> bool {
    let number = word.trim_matches([',', '.', '[', ']']).parse::<u32>().ok();
    is_time_word(word)
        || ZONES.contains(&word.trim_matches(['[', ']']))
        || (has_month && (is_calendar_name(word, &DAYS) || is_calendar_name(word, &MONTHS)))
        || number.is_some_and(|number| (1970..2100).contains(&number) || (has_month && number < 32))
}

/// Tests whether a word is a time, a date or seconds since 1970.
fn is_time_word(word: &str) -> bool {
    is_clock(word) || is_date(word) || is_epoch_seconds(word)
}

/// Tests whether a word is a name of a calendar, also abbreviated: `Thu`, `Thursday`, `Nov.`.
fn is_calendar_name(word: &str, names: &[&str]) -> bool {
    let word = word.trim_matches([',', '.']).to_lowercase();
    let mut begun = names.iter().filter(|name| word.starts_with(**name));
    begun.any(|name| word.len() <= name.len() + 6 && word.chars().all(char::is_alphabetic))
}

/// Tests whether a word has a time of day: `05:09:19.123`, `5:09`, also behind a date and before a zone.
fn is_clock(word: &str) -> bool {
    let word = word.split_once('T').filter(|(date, _)| is_date(date)).map_or(word, |(_, clock)| clock);
    let word = word
        .trim_matches(|c: char| !c.is_ascii_digit() && c != ':')
        .split(['.', '+', 'Z', ','])
        .next()
        .unwrap_or_default();
    let parts: Vec<&str> = word.split(':').collect();
    (2..=3).contains(&parts.len())
        && parts.iter().all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()))
}

/// Tests whether a word is a date: `2026-11-26`, `26.11.2026`, `11/26/2026`.
fn is_date(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_digit());
    ['-', '.', '/'].into_iter().any(|mark| {
        let parts: Vec<&str> = word.split(mark).collect();
        parts.len() == 3
            && parts.iter().all(|part| part.bytes().all(|b| b.is_ascii_digit()))
            && parts.iter().any(|part| part.len() == 4 && part.starts_with(['1', '2']))
    })
}

/// Tests whether a word is a time in seconds since 1970.
fn is_epoch_seconds(word: &str) -> bool {
    let seconds = word.split('.').next().unwrap_or_default();
    seconds.len() == 10 && seconds.starts_with('1') && seconds.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads a moment in seconds since a fixed instant of its own time zone: `2026-11-26 05:09:19.5`, `2026-11-26T05:09:19Z`,
/// `26.11.2026 05:09`, `05:09:19`. A date without a time of day is none.
pub fn parse_moment_s(text: &str) -> Option<f64> {
    let (date, clock) = match text.trim().split_once([' ', 'T']) {
        Some((date, clock)) => (Some(date), clock),
        None => (None, text.trim()),
    };
    let clock = clock.split(['+', '-', 'Z', ' ']).next()?.replace(',', ".");
    let mut seconds = 0.0;
    let parts: Vec<&str> = clock.split(':').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for (part, unit) in parts.into_iter().zip([3_600.0, 60.0, 1.0]) {
        seconds += part.parse::<f64>().ok().filter(|value| (0.0..60.0).contains(value))? * unit;
    }
    Some(seconds + 86_400.0 * date.map_or(Some(0.0), day_number)?)
}

/// Numbers the days of the calendar: `2026-11-26`, `26.11.2026`, `11/26/2026`.
/// <https://howardhinnant.github.io/date_algorithms.html#days_from_civil>
fn day_number(date: &str) -> Option<f64> {
    let mark = ['-', '.', '/'].into_iter().find(|mark| date.contains(*mark))?;
    let parts: Vec<i64> = date.split(mark).map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (year, month, day) = match (parts.as_slice(), mark) {
        ([year, month, day], _) if *year > 31 => (*year, *month, *day),
        ([month, day, year], '/') if *month <= 12 => (*year, *month, *day),
        ([day, month, year], _) => (*year, *month, *day),
        _ => return None,
    };
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some((era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_in_their_forms() {
        let step = |from: &str, to: &str| parse_moment_s(to).unwrap() - parse_moment_s(from).unwrap();
        assert_eq!(step("2026-02-28 23:59:55", "2026-03-01 00:00:00"), 5.0);
        assert_eq!(step("2024-02-28T23:59:55Z", "2024-03-01T00:00:00Z"), 86_405.0);
        assert_eq!(step("31.12.2026 23:59", "01.01.2027 00:00"), 60.0);
        assert_eq!(step("12/31/2026 23:59:59,5", "1/1/2027 0:00:00"), 0.5);
        assert_eq!(step("10:00:05", "10:00:10"), 5.0);
        assert_eq!(step("26/11/2026 23:59:59", "27/11/2026 00:00:00"), 1.0);
        assert_eq!(step("2026-11-01T10:00:00-05:00", "2026-11-01T10:00:01-05:00"), 1.0);
        for none in [
            "2026-11-26",
            "26",
            "4:5:6:7",
            "run 1",
            "10:99:00",
            "",
            "9223372036854775807-01-01 00:00:00",
            "2026-9223372036854775807-01 00:00:00",
        ] {
            assert_eq!(parse_moment_s(none), None, "{none}");
        }
    }
}
