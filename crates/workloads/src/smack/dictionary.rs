use std::sync::Arc;

use super::error::SmackError;
use super::source::Sources;
use super::syntax::{SmackSection, SpottedText};
use crate::transactions::{Dictionary, Digits, Fill, Numbering, WordList, WordSource};

/// No real file has wider numbers.
const WIDEST: usize = 500;

/// Makes a dictionary of its section: the source of its words and how they are drawn.
pub(super) fn read_dictionary(
    section: &SmackSection,
    sources: &Sources<'_>,
    notes: &mut Vec<String>,
) -> Result<Dictionary, SmackError> {
    let name = section.name.text.clone();
    let kind = section.need_key("type")?;
    if kind.text == "unique" {
        return Ok(Dictionary { name, words: WordSource::Unique(unique_numbering(section, notes)?) });
    }
    let list = match section.need_key("source_type")? {
        SpottedText { text, .. } if text == "file" => words_from_file(section, sources, notes)?,
        SpottedText { text, .. } if text == "list" => Arc::new(words_from_list(section, notes)?),
        SpottedText { text, spot } if text == "template" => {
            return Err(SmackError::new(*spot, "only a dictionary of the type `unique` has a template"));
        }
        SpottedText { text, spot } => {
            let message = format!("there is no source type `{text}`");
            return Err(SmackError::new(*spot, message).with_suggestion(text, ["file", "list", "template"]));
        }
    };
    if list.is_empty() {
        let message = format!("the dictionary \"{name}\" has no words");
        return Err(SmackError::new(section.need_key("source")?.spot, message));
    }
    let words = match kind.text.as_str() {
        "rand" => WordSource::AtRandom(list),
        "seq" => WordSource::InOrder(list),
        other => {
            let message = format!("there is no type of dictionary `{other}`");
            return Err(SmackError::new(kind.spot, message).with_suggestion(other, ["rand", "seq", "unique"]));
        }
    };
    Ok(Dictionary { name, words })
}

/// Reads the words of a dictionary from its file.
fn words_from_file(
    section: &SmackSection,
    sources: &Sources<'_>,
    notes: &mut Vec<String>,
) -> Result<Arc<WordList>, SmackError> {
    let lines = sources.lines_of_file(section.need_key("source")?)?;
    let step = match section.value_of_key("file_size_equiv") {
        None => 1,
        Some(written) => match written.text.trim().parse::<u64>() {
            Ok(0) => 1,
            Ok(equivalent) => (lines.size_bytes() / equivalent).max(1) as usize,
            Err(_) => return Err(SmackError::new(written.spot, "`file_size_equiv` is a whole number of bytes")),
        },
    };
    let delimiter = section.value_of_key("delim").and_then(|delimiter| delimiter.text.chars().next()).unwrap_or('\n');
    let name = &section.name.text;
    if step > 1 {
        let (kept, all) = (lines.line_count() / step, lines.line_count());
        notes.push(format!(
            "the dictionary \"{name}\" holds {kept} of {all} words, every {step}th: `file_size_equiv` asks for that, and \
             the load touches no others"
        ));
    }
    if lines.ends_in_midline() && lines.line_count().is_multiple_of(step) {
        notes.push(format!(
            "the dictionary \"{name}\": the last line of the file has no line feed; super-smack drops it, étalon does not"
        ));
    }
    Ok(sources.first_words(&lines, delimiter, step))
}

/// Splits a dictionary's list into words at its commas; a comma at the end ends the last one.
fn words_from_list(section: &SmackSection, notes: &mut Vec<String>) -> Result<WordList, SmackError> {
    let source = &section.need_key("source")?.text;
    let (mut words, mut word) = (Vec::new(), String::new());
    let mut chars = source.chars();
    while let Some(c) = chars.next() {
        match c {
            ',' => words.push(std::mem::take(&mut word)),
            '\\' => word.extend(chars.next()),
            c => word.push(c),
        }
    }
    let name = &section.name.text;
    if !word.is_empty() {
        notes.push(format!(
            "the dictionary \"{name}\": super-smack loses the last entry of a list, `{word}`, unless a comma follows it; \
             étalon does not"
        ));
        words.push(word);
    }
    if source.contains('\\') {
        notes.push(format!(
            "the dictionary \"{name}\": a backslash takes the meaning from the comma behind it; in super-smack it does not"
        ));
    }
    Ok(words.iter().map(String::as_str).collect())
}

/// Makes the numbering by which no two clients draw the same.
fn unique_numbering(section: &SmackSection, notes: &mut Vec<String>) -> Result<Numbering, SmackError> {
    let name = &section.name.text;
    notes.push(format!(
        "the dictionary \"{name}\": no two clients draw the same word; in super-smack every client counts from 0"
    ));
    match section.value_of_key("source_type") {
        Some(written) if written.text == "template" => parse_template(section.need_key("source")?),
        _ => {
            notes.push(format!("the dictionary \"{name}\" is unique and has no template: its words are 0, 1, 2, …"));
            Ok(plain_numbering(String::new(), String::new()))
        }
    }
}

/// Makes a numbering in plain decimal digits between two texts.
fn plain_numbering(before: String, after: String) -> Numbering {
    Numbering { before, after, digits: Digits::Decimal, width: 0, fill: Fill::BlanksBefore }
}

/// Parses a template, a format of C's `printf` with one number in it, to a numbering.
fn parse_template(source: &SpottedText) -> Result<Numbering, SmackError> {
    let mut made: Option<Numbering> = None;
    let mut text = String::new();
    let mut chars = source.text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' || chars.next_if_eq(&'%').is_some() {
            text.push(c);
            continue;
        }
        if made.is_some() {
            return Err(wrong_template(source, "the template has more than one number".to_owned()));
        }
        let mut numbering = plain_numbering(std::mem::take(&mut text), String::new());
        while let Some(flag) = chars.next_if(|c| "-0+ #".contains(*c)) {
            match flag {
                '-' => numbering.fill = Fill::BlanksAfter,
                '0' if numbering.fill == Fill::BlanksBefore => numbering.fill = Fill::Zeros,
                _ => {}
            }
        }
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            numbering.width = numbering.width * 10 + (digit as usize - '0' as usize);
            if numbering.width > WIDEST {
                return Err(wrong_template(source, format!("the template's number is wider than {WIDEST}")));
            }
        }
        while chars.next_if(|c| "hlqjzt".contains(*c)).is_some() {}
        numbering.digits = match chars.next() {
            Some('d' | 'i' | 'u') => Digits::Decimal,
            Some('o') => Digits::Octal,
            Some('x') => Digits::Hexadecimal,
            Some('X') => Digits::HexadecimalCapitals,
            _ => {
                return Err(wrong_template(
                    source,
                    "the template's `%` is not followed by a number's format".to_owned(),
                ));
            }
        };
        made = Some(numbering);
    }
    let numbering = made
        .ok_or_else(|| wrong_template(source, "the template has no number: every word would be the same".to_owned()))?;
    Ok(Numbering { after: text, ..numbering })
}

/// Makes the error of a template's text.
fn wrong_template(source: &SpottedText, message: String) -> SmackError {
    SmackError::new(source.spot, message).with_hint("write it as `user%d` or `user%08d`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Numbering, SmackError> {
        parse_template(&SpottedText { text: text.to_owned(), ..SpottedText::default() })
    }

    #[test]
    fn templates_are_those_of_printf() {
        let plain = plain_numbering("user".to_owned(), "%x".to_owned());
        assert_eq!(read("user%d%%x"), Ok(plain.clone()));
        let padded = Numbering { digits: Digits::HexadecimalCapitals, width: 8, fill: Fill::Zeros, ..plain.clone() };
        assert_eq!(read("user%08lX%%x"), Ok(padded));
        assert_eq!(read("user%-4i%%x"), Ok(Numbering { width: 4, fill: Fill::BlanksAfter, ..plain }));
        for wrong in ["user", "%s", "%", "%d%d", "%999999999999999999999d"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
