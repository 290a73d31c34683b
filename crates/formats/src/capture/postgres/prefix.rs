//! `log_line_prefix`: what stands before each record of a log in text form.

use super::super::times::{Moment, parse_moment, zone_s};

/// Prefixes that are usual, those of services among them, the most particular ones first, but those that allow for records without a session last. `%m` and `%t` find the same.
const USUAL: [&str; 12] = [
    "%t:%r:%u@%d:[%p]:",
    "%t:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:",
    "%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ",
    "%t [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: user=%u,db=%d,app=%a,client=%h ",
    "%m [%p]: [%l-1] db=%d,user=%u ",
    "%t-%c-",
    "%m [%c] ",
    "%m [%p] ",
    "%t [%p]: ",
    "%m [%p] %q%u@%d ",
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Field(char),
    /// Processes without a session end here.
    SessionsOnly,
}

/// A `log_line_prefix`, ready to be found in lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix {
    parts: Vec<Part>,
    text: String,
}

/// What a prefix says of its record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said<'a> {
    pub moment: Option<Moment>,
    pub process: &'a str,
    pub session: &'a str,
    pub user: &'a str,
    pub database: &'a str,
    pub application: &'a str,
    pub state: &'a str,
    pub step: &'a str,
    /// Length of the prefix.
    pub length: usize,
}

impl Prefix {
    /// Parses a `log_line_prefix`; fails if it is no prefix or says too little for a capture.
    ///
    /// # Errors
    /// It says too little for a capture, or is no prefix: a sentence.
    pub fn parse(text: &str) -> Result<Prefix, String> {
        let mut parts: Vec<Part> = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let literal = if c != '%' {
                c
            } else {
                let field = chars.by_ref().find(|c| !(c.is_ascii_digit() || *c == '-'));
                match field {
                    Some('%') => '%',
                    Some('q') => {
                        parts.push(Part::SessionsOnly);
                        continue;
                    }
                    Some(field) if "audrhLbpPtmnsciQelvx".contains(field) => {
                        parts.push(Part::Field(field));
                        continue;
                    }
                    _ => return Err("it has a `%` that no server knows".to_owned()),
                }
            };
            match parts.last_mut() {
                Some(Part::Literal(text)) => text.push(literal),
                _ => parts.push(Part::Literal(literal.to_string())),
            }
        }
        let has = |any: &str| parts.iter().any(|part| matches!(part, Part::Field(field) if any.contains(*field)));
        if !has("tmn") {
            return Err("it has no time: `%m`".to_owned());
        }
        if !has("pc") {
            return Err("it does not tell sessions apart: `%p` or `%c`".to_owned());
        }
        Ok(Prefix { parts, text: text.to_owned() })
    }

    /// The prefix as the setting has it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Finds the usual prefix that most of these lines have.
    pub fn guess_usual(lines: &[&str]) -> Option<Prefix> {
        let heads: Vec<&&str> = lines.iter().filter(|line| !line.is_empty() && !line.starts_with('\t')).collect();
        let usual = USUAL.iter().filter_map(|text| Prefix::parse(text).ok());
        let found =
            usual.map(|prefix| (heads.iter().filter(|line| prefix.find_in_line(line).is_some()).count(), prefix));
        // Of several that find the same number, the first.
        let (count, prefix) = found.reduce(|best, other| if other.0 > best.0 { other } else { best })?;
        (2 * count > heads.len()).then_some(prefix)
    }

    /// Finds the prefix at a line's beginning, and behind it a severity with its colon.
    pub fn find_in_line<'a>(&self, line: &'a str) -> Option<Said<'a>> {
        let mut said = Said::default();
        match_parts(&self.parts, line, line.len(), &mut said).then_some(said)
    }
}

/// Matches the parts from the beginning of `rest`; `length` is that of the whole line.
fn match_parts<'a>(parts: &[Part], rest: &'a str, length: usize, said: &mut Said<'a>) -> bool {
    let Some((part, others)) = parts.split_first() else {
        said.length = length - rest.len();
        return split_severity(rest).is_some();
    };
    match part {
        Part::Literal(text) => match rest.strip_prefix(text.as_str()) {
            Some(rest) => match_parts(others, rest, length, said),
            // A field that is padded.
            None => rest.strip_prefix(' ').is_some_and(|rest| match_parts(parts, rest, length, said)),
        },
        Part::SessionsOnly => {
            let mut with_session = *said;
            if match_parts(others, rest, length, &mut with_session) {
                *said = with_session;
                return true;
            }
            match_parts(&[], rest, length, said)
        }
        Part::Field(field) => {
            // The shortest text with which the rest matches too.
            let fixed = fixed_length(*field, rest);
            let ends: Vec<usize> = match fixed {
                Some(Some(end)) => vec![end],
                Some(None) => return false,
                None => rest.char_indices().map(|(at, _)| at).chain([rest.len()]).take(256).collect(),
            };
            ends.into_iter().any(|end| {
                let mut with_field = *said;
                set_field(*field, &rest[..end], &mut with_field);
                let is_found = match_parts(others, &rest[end..], length, &mut with_field);
                if is_found {
                    *said = with_field;
                }
                is_found
            })
        }
    }
}

/// Tests whether a character can be part of a time zone's name.
fn is_zone_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '/' | '_')
}

/// Gives the length of a field whose form is known; the inner `None`: it is not there.
/// The outer `None`: any text.
fn fixed_length(field: char, rest: &str) -> Option<Option<usize>> {
    let bytes = rest.bytes();
    match field {
        't' | 'm' | 's' => Some(parse_moment(rest).map(|found| {
            // A space and the zone.
            let zone = rest[found.length..].strip_prefix(' ').unwrap_or_default();
            let mut letters = zone.chars().take_while(|c| is_zone_char(*c)).count();
            // `UTC-` is the zone and the prefix's own `-`.
            if zone[..letters].ends_with('-') || zone.starts_with(|c: char| c.is_ascii_alphabetic()) {
                letters = zone.chars().take_while(char::is_ascii_alphabetic).count();
            }
            found.length + if letters > 0 { 1 + letters } else { 0 }
        })),
        'n' => Some(Some(bytes.take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count())),
        'p' | 'P' | 'l' | 'x' => Some(Some(bytes.take_while(u8::is_ascii_digit).count())),
        'Q' => Some(Some(bytes.take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count())),
        'c' => {
            let length = bytes.take_while(|byte| byte.is_ascii_hexdigit() || *byte == b'.').count();
            // `64b0.7f`: a number alone is a process.
            Some(Some(length).filter(|length| rest[..*length].contains('.')))
        }
        'e' => {
            let is_code = rest.bytes().take(5).filter(u8::is_ascii_alphanumeric).count() == 5;
            Some(is_code.then_some(5))
        }
        'v' => Some(Some(bytes.take_while(|byte| byte.is_ascii_digit() || *byte == b'/').count())),
        _ => None,
    }
}

/// Notes what a part of the prefix says.
fn set_field<'a>(field: char, text: &'a str, said: &mut Said<'a>) {
    match field {
        't' | 'm' => {
            said.moment = parse_moment(text).map(|found| {
                let zone = text[found.length..].trim_start();
                Moment { us: found.us - zone_s(zone) * 1_000_000, ..found }
            });
        }
        'n' => {
            let (whole, thousandths) = text.split_once('.').unwrap_or((text, "0"));
            let us = whole.parse::<i64>().ok().zip(thousandths.get(..3).unwrap_or("0").parse::<i64>().ok());
            said.moment = us.map(|(s, ms)| Moment {
                us: s.saturating_mul(1_000_000).saturating_add(ms * 1_000),
                length: text.len(),
                has_fraction: true,
            });
        }
        'p' => said.process = text,
        'c' => said.session = text,
        'u' => said.user = text,
        'd' => said.database = text,
        'a' => said.application = text,
        'e' => said.state = text,
        'i' => said.step = text,
        _ => {}
    }
}

/// Splits `LOG:  message` into its severity and message.
pub fn split_severity(text: &str) -> Option<(&str, &str)> {
    const LONGEST: usize = 24;
    let end = text.find(':').filter(|end| (1..=LONGEST).contains(end))?;
    let (word, message) = (&text[..end], &text[end + 1..]);
    let message = message.strip_prefix("  ")?;
    word.chars()
        .all(|c| (c.is_alphabetic() && !c.is_lowercase()) || c.is_ascii_digit() || c == ' ')
        .then_some((word, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_prefixes_are_recognised() {
        for (line, prefix, said) in [
            ("2026-11-28 19:41:05.123 UTC [77] LOG:  x", "%m [%p] ", ["77", "", ""]),
            ("2026-11-28 19:41:05 UTC:10.0.0.1(5000):me@shop:[77]:LOG:  x", USUAL[0], ["77", "me", "shop"]),
            ("2026-11-28 19:41:05 UTC::@:[77]:LOG:  x", USUAL[0], ["77", "", ""]),
            ("2026-11-28 19:41:05.123 CET [77] me@shop LOG:  x", "%m [%p] %q%u@%d ", ["77", "me", "shop"]),
            (
                "2026-11-28 19:41:05 +02 [77]: user=me,db=shop,app=a b,client=::1 ERROR:  x",
                USUAL[4],
                ["77", "me", "shop"],
            ),
            ("2026-11-28 19:41:05 UTC-64b0.7f-LOG:  x", "%t-%c-", ["", "", ""]),
        ] {
            let found = Prefix::guess_usual(&[line, "\tcontinued"]).unwrap();
            assert_eq!(found.as_str(), prefix, "{line}");
            let found = found.find_in_line(line).unwrap();
            assert_eq!([found.process, found.user, found.database], said, "{line}");
            assert!(found.moment.is_some());
        }
        assert_eq!(Prefix::guess_usual(&["hello", "2026-11-28"]), None);
    }

    #[test]
    fn a_prefix_that_says_too_little_is_refused() {
        for (text, why) in [("%p ", "no time"), ("%m ", "apart"), ("%m %p %z", "no server")] {
            assert!(Prefix::parse(text).unwrap_err().contains(why), "{text}");
        }
        let padded = Prefix::parse("%m %-8p|%10u| ").unwrap();
        let said = padded.find_in_line("2026-11-28 19:41:05.123 UTC 77      |        me| LOG:  x").unwrap();
        assert_eq!(said.process, "77");
    }
}
