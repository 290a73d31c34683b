//! Finds the readers of a text of any origin, and their results.

use std::collections::{BTreeMap, BTreeSet};

use crate::clean::{clean, sections, title_before, unquoted};
use crate::reader::{Found, Input, Reader, Reads, of_text};
use crate::text::{numbered, shortened};
use crate::{FormatError, Imported, NotUnderstood, Options};

/// What was found in a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    pub imports: Vec<Imported>,
    /// Lines that no reader knows.
    pub not_understood: Vec<NotUnderstood>,
    /// Readers that recognised the text and found nothing in it.
    pub empty: Vec<&'static str>,
}

/// A text, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    pub text: &'a str,
    pub source: &'a str,
    /// Its path below the folder or archive that the user named.
    pub below: &'a str,
    pub system: &'a str,
    /// True if the user gave the system its name; if not, headings of Markdown and the text itself may.
    pub is_named: bool,
    /// The format, where its user says it.
    pub reader: Option<&'static Reader>,
    pub options: &'a Options,
}

/// Reads a text with the readers that recognise it: as it is, without the prefixes of collectors of logs, or the blocks of
/// Markdown in it.
///
/// # Errors
/// A reader cannot go on.
pub fn read(text: &Text<'_>) -> Result<Read, FormatError> {
    let plain = clean(&unquoted(text.text));
    if let Some(parts) = sections(&plain) {
        let filled: Vec<_> = parts.iter().filter(|part| !text_readers(&part.text, None).is_empty()).collect();
        let names_systems = !text.is_named && filled.len() > 1;
        let mut read = Read::default();
        for part in &filled {
            let heading = if names_systems { part.heading.as_deref() } else { None };
            let part = Text { text: &part.text, system: heading.unwrap_or(text.system), ..*text };
            read.extend(read_plain(&part)?);
        }
        if !read.imports.is_empty() {
            return Ok(read);
        }
    }
    let is_known = text.reader.is_some() || !of_text(&plain).is_empty();
    let whole = Text { text: if is_known { &plain } else { text.text }, ..*text };
    let read = read_plain(&whole)?;
    Ok(read_below_words(&whole, &read).unwrap_or(read))
}

/// Reads a text in parts, each of them a system, if words with a colon stand above each: `On the new machine:` in a mail.
/// `None` if a part has none, or not all is read that the whole text has.
fn read_below_words(text: &Text<'_>, whole: &Read) -> Option<Read> {
    let titles: Vec<(u64, String)> = whole
        .not_understood
        .iter()
        .filter_map(|line| Some((line.line, title_before(&line.text)?.to_owned())))
        .collect();
    if text.is_named || titles.is_empty() || titles.len() > MOST_PARTS {
        return None;
    }
    let mut read = Read::default();
    let mut systems = BTreeSet::new();
    for (at, (from, system)) in titles.iter().enumerate() {
        let to = titles.get(at + 1).map_or(u64::MAX, |(line, _)| *line);
        // Line numbers hold.
        let lines = numbered(text.text).map(|(number, line)| if *from < number && number < to { line } else { "" });
        let part = lines.collect::<Vec<_>>().join("\n");
        let part = read_plain(&Text { text: &part, system, ..*text }).ok()?;
        if result_count(&part) > 0 {
            systems.insert(system);
        }
        read.extend(part);
    }
    (systems.len() > 1 && result_count(&read) == result_count(whole)).then_some(read)
}

fn result_count(read: &Read) -> usize {
    read.imports.iter().map(|import| import.results.len()).sum::<usize>()
}

/// Most parts that words tell apart.
const MOST_PARTS: usize = 16;

fn text_readers(text: &str, only: Option<&'static Reader>) -> Vec<&'static Reader> {
    only.map_or_else(|| of_text(text), |reader| vec![reader])
}

fn read_plain(text: &Text<'_>) -> Result<Read, FormatError> {
    let Text { system, is_named, source, below, text: whole, options, .. } = *text;
    let input = Input { system, is_named, source, below, text: whole, options };
    let mut all = Read::default();
    // By line; a line that any reader knows is known.
    let mut strange: Option<BTreeMap<u64, NotUnderstood>> = None;
    for reader in text_readers(text.text, text.reader) {
        let Reads::Text(read) = reader.reads else { continue };
        let Found { imported, not_understood } = read(&input)?;
        if imported.results.is_empty() {
            all.empty.push(reader.name);
            continue;
        }
        let its: BTreeMap<u64, NotUnderstood> = not_understood.into_iter().map(|line| (line.line, line)).collect();
        strange = Some(match strange {
            None => its,
            Some(lines) => lines.into_iter().filter(|(line, _)| its.contains_key(line)).collect(),
        });
        all.imports.push(imported);
    }
    all.not_understood = strange
        .into_iter()
        .flat_map(BTreeMap::into_values)
        .filter(|line| !line.text.trim_start().starts_with("```"))
        .collect();
    Ok(all)
}

impl Read {
    fn extend(&mut self, other: Read) {
        self.imports.extend(other.imports);
        self.not_understood.extend(other.not_understood);
        self.empty.extend(other.empty);
    }
}

/// What an unknown text is, as far as can be said: its first words.
pub fn first_words(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(|| "it is empty".to_owned(), |line| format!("it begins with `{}`", shortened(line.trim())))
}
