//! From bytes to lines: encodings, copies out of web pages, numbers.

use std::borrow::Cow;

/// A line that a reader did not understand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUnderstood {
    pub line: u64,
    /// Shortened when long.
    pub text: String,
}

impl NotUnderstood {
    pub fn new(line: u64, text: &str) -> NotUnderstood {
        NotUnderstood { line, text: shorten(text) }
    }
}

/// Longest excerpt of a foreign text in a message, in characters.
const EXCERPT_CHARS: usize = 60;

/// Longest excerpt of what a tool said of its own failure, in characters.
const SAID_CHARS: usize = 200;

/// Cuts a text after 60 characters, with control characters made visible.
pub fn shorten(text: &str) -> String {
    cut_after(text, EXCERPT_CHARS)
}

/// Shortens a tool's message of failure, which gets more room than other text.
pub(crate) fn shorten_message(text: &str) -> String {
    cut_after(text.trim(), SAID_CHARS)
}

/// Cuts a text after `chars` characters, with control characters made visible.
fn cut_after(text: &str, chars: usize) -> String {
    let mut short: String = text.chars().take(chars).flat_map(make_visible).collect();
    if text.chars().nth(chars).is_some() {
        short.push('…');
    }
    short
}

/// Gives a character, or its escape if it is a control character.
fn make_visible(c: char) -> impl Iterator<Item = char> {
    let plain = if c.is_control() { None } else { Some(c) };
    let escaped = if c.is_control() { Some(c.escape_default()) } else { None };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

/// Decodes UTF-8, UTF-16 or Latin-1, and ends lines with LF where CR alone ends them.
/// UTF-16 of either order is known by its mark or zero bytes (PowerShell redirections); what is neither is Latin-1,
/// which covers all figures and key words.
pub fn decode(bytes: &[u8]) -> String {
    let text = decode_encoding(bytes);
    if text.contains('\r') && !text.contains('\n') { text.replace('\r', "\n") } else { text }
}

/// Decodes UTF-8, UTF-16 or Latin-1, as the first bytes show.
fn decode_encoding(bytes: &[u8]) -> String {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => decode_utf8(rest),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes),
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes),
        [first, 0, second, 0, ..] if *first != 0 && *second != 0 => decode_utf16(bytes, u16::from_le_bytes),
        [0, first, 0, second, ..] if *first != 0 && *second != 0 => decode_utf16(bytes, u16::from_be_bytes),
        _ => decode_utf8(bytes),
    }
}

/// Decodes UTF-8, or Latin-1 where it is none.
fn decode_utf8(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

/// Decodes UTF-16 in the order of bytes that `unit` has.
fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Numbers lines from 1; LF, and CR in front of it, end a line.
pub fn numbered_lines(text: &str) -> impl Iterator<Item = (u64, &str)> {
    (1_u64..).zip(text.lines().map(|line| line.strip_suffix('\r').unwrap_or(line)))
}

/// Undoes web pages and Markdown: drops tags and quotation marks, resolves entities, collapses blanks and trims.
pub fn plain_text(line: &str) -> String {
    let unquoted = line.trim_start().trim_start_matches(['>', '\u{feff}']);
    let text = replace_entities(&drop_tags(unquoted));
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}' => {
                if !plain.ends_with(' ') && !plain.is_empty() {
                    plain.push(' ');
                }
            }
            c => plain.push(c),
        }
    }
    plain.truncate(plain.trim_end().len());
    plain
}

/// Splits a line at `<br>`, and at the ends of paragraphs, cells and list items.
pub fn break_html(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = line;
    let mut from = 0;
    while let Some(at) = rest[from..].find('<').map(|at| at + from) {
        let Some(length) = tag_length(&rest[at..]) else {
            from = at + 1;
            continue;
        };
        let name = rest[at + 1..at + length - 1].trim_start_matches('/').trim_end_matches('/').trim();
        let name: String = name.chars().take_while(char::is_ascii_alphanumeric).collect();
        if ["br", "p", "div", "li", "tr", "pre"].contains(&name.to_ascii_lowercase().as_str()) {
            parts.push(&rest[..at]);
            rest = &rest[at + length..];
            from = 0;
        } else {
            from = at + length;
        }
    }
    parts.push(rest);
    parts
}

/// Gives the length in bytes of the tag at the start of `text`, if there is one.
fn tag_length(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('<')?;
    let name = inner.strip_prefix('/').unwrap_or(inner);
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return None;
    }
    Some(inner.find('>')? + 2)
}

/// Removes the tags of HTML.
fn drop_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        match tag_length(&rest[at..]) {
            Some(length) => rest = &rest[at + length..],
            None => {
                kept.push('<');
                rest = &rest[at + 1..];
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Replaces the entities of HTML by their characters.
fn replace_entities(text: &str) -> String {
    let mut read = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        read.push_str(&rest[..at]);
        rest = &rest[at..];
        // The longest known entity is `&#x10FFFF;`.
        let end = rest.bytes().take(10).position(|byte| byte == b';');
        match end.and_then(|end| Some((entity_char(&rest[1..end])?, end))) {
            Some((c, end)) => {
                read.push(c);
                rest = &rest[end + 1..];
            }
            None => {
                read.push('&');
                rest = &rest[1..];
            }
        }
    }
    read.push_str(rest);
    read
}

/// Gives the character of an entity's name.
fn entity_char(name: &str) -> Option<char> {
    let named = [("nbsp", ' '), ("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\''), ("times", '×')];
    if let Some((_, c)) = named.iter().find(|(known, _)| *known == name) {
        return Some(*c);
    }
    let number = name.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => number.parse().ok()?,
    };
    char::from_u32(code)
}

/// Parses a finite number with a decimal point, without a thousands mark.
pub fn parse_number(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+' | 'e' | 'E'));
    if !plain {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Last lines of a tool that end with a number, so that one without a line end is whole as far as can be said.
const ENDS_WITH_NUMBER: [&str; 3] = ["Average number of queries per client:", "%:", "max |"];

/// Takes off a number with which a text ends in the middle of a line, and gives that line.
/// It may be cut off, and then it is another number.
pub fn without_cut_number(text: &str) -> (&str, Option<NotUnderstood>) {
    let whole = text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let line = text.lines().next_back().unwrap_or_default();
    let is_word = whole.ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
    let is_known = ENDS_WITH_NUMBER.iter().any(|known| line.trim_start().starts_with(known))
        || (line.trim_start().starts_with("tps = ") && line.rsplit('.').next().is_some_and(|digits| digits.len() == 6));
    if whole.len() == text.len() || is_word || is_known {
        return (text, None);
    }
    (whole, Some(NotUnderstood::new(text.lines().count() as u64, &format!("{} (cut off)", line.trim()))))
}

/// Replaces blanks that do not break a line by plain ones, but between digits: there nothing says what they are.
pub fn with_plain_blanks(text: &str) -> Cow<'_, str> {
    const UNBROKEN: [char; 3] = ['\u{a0}', '\u{202f}', '\u{2007}'];
    if !text.contains(UNBROKEN) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let is_within = plain.ends_with(|c: char| c.is_ascii_digit()) && chars.peek().is_some_and(char::is_ascii_digit);
        plain.push(if UNBROKEN.contains(&c) && !is_within { ' ' } else { c });
    }
    Cow::Owned(plain)
}

/// Splits a text into the number that it begins with and what follows.
/// One with a comma or another mark of thousands in it is none: nothing says what the mark is.
pub fn leading_number(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (written, rest) = text.split_at(end + length_of_exponent(&text[end..]));
    let is_cut = rest
        .strip_prefix([',', '\'', '’', '\u{a0}', '\u{202f}'])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if is_cut { None } else { Some((parse_number(written)?, rest)) }
}

/// Counts the bytes of the exponent that a text begins with: four of `e+03 ms`.
fn length_of_exponent(text: &str) -> usize {
    let Some(behind) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = behind.strip_prefix(['+', '-']).unwrap_or(behind);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    if end == 0 { 0 } else { text.len() - digits.len() + end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_encoding_gives_the_same_text() {
        let text = "IOs/sec: 1 µ";
        let utf16 = |order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<u8>>();
        for bytes in [
            text.as_bytes().to_vec(),
            with_mark(&[0xEF, 0xBB, 0xBF], text.as_bytes().to_vec()),
            with_mark(&[0xFF, 0xFE], utf16(u16::to_le_bytes)),
            with_mark(&[0xFE, 0xFF], utf16(u16::to_be_bytes)),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
            text.chars().map(|c| c as u8).collect(),
        ] {
            assert_eq!(decode(&bytes), text, "{bytes:?}");
        }
    }

    #[test]
    fn cr_alone_ends_a_line() {
        assert_eq!(decode(b"a\rb\r"), "a\nb\n");
        assert_eq!(decode(b"a\r\nb\r\n"), "a\r\nb\r\n");
        assert_eq!(decode(b"10 %\r20 %\ndone\n"), "10 %\r20 %\ndone\n", "a progress that is written over itself");
    }

    fn with_mark(mark: &[u8], rest: Vec<u8>) -> Vec<u8> {
        [mark.to_vec(), rest].concat()
    }

    #[test]
    fn a_copy_out_of_a_web_page_is_made_plain() {
        assert_eq!(plain_text("> Min_Latency(ms):&nbsp;0<span class=\"x\">\u{a0} </span>"), "Min_Latency(ms): 0");
        assert_eq!(plain_text("a &lt; b &amp;&amp; c < d &#x41;&#66; &unknown; &"), "a < b && c < d AB &unknown; &");
        assert_eq!(break_html("a<br/>b<BR>c <i>d</i> <5</p>e"), ["a", "b", "c <i>d</i> <5", "e"]);
    }

    #[test]
    fn a_number_at_the_end_of_an_open_line_is_cut() {
        for (text, left) in [
            ("clients: 8\ntps = 12", "clients: 8\ntps = "),
            ("tpmC: 40.", "tpmC: "),
            ("tps = 12.345678", "tps = 12.345678"),
            ("tps = 12\n", "tps = 12\n"),
            ("tps = 12 (without", "tps = 12 (without"),
            ("-P workload1", "-P workload1"),
        ] {
            let (whole, cut) = without_cut_number(text);
            assert_eq!((whole, cut.is_some()), (left, left != text), "{text}");
        }
    }

    #[test]
    fn blanks_that_do_not_break_are_blanks_but_within_numbers() {
        assert_eq!(with_plain_blanks("tps\u{a0}=\u{a0}1\u{202f}002\u{a0}tx"), "tps = 1\u{202f}002 tx");
    }

    #[test]
    fn numbers_are_exact_or_none() {
        assert_eq!(parse_number("1.5"), Some(1.5));
        for wrong in ["", "1,5", "1 000", "inf", "NaN", "1e999", "0x1"] {
            assert_eq!(parse_number(wrong), None, "{wrong}");
        }
        assert_eq!(leading_number("12.5ms"), Some((12.5, "ms")));
        assert_eq!(leading_number("12, then"), Some((12.0, ", then")));
        assert_eq!(leading_number("2.5e+03 (per s)"), Some((2500.0, " (per s)")));
        assert_eq!(leading_number("2elements"), Some((2.0, "elements")));
        for wrong in ["ms", "1,205.47 per sec.", "3,1 ms", "1'002", "1\u{202f}002", "1e400"] {
            assert_eq!(leading_number(wrong), None, "{wrong}");
        }
    }
}
