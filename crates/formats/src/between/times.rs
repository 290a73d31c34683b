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
