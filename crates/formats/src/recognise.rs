//! Finds the readers of a text of any origin, and their results.

use std::collections::{BTreeMap, BTreeSet};

use crate::captions::{Path, names};
use crate::clean::{clean, unquoted};
use crate::imported::UNKNOWN_BENCHMARK;
use crate::reader::{Found, Input, Reader, Reads, of_text};
use crate::sections::{Section, parts, sections};
use crate::text::{shortened, with_plain_blanks, without_cut_number};
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
    let mut plain = clean(&with_plain_blanks(&unquoted(text.text)));
    if text.text.ends_with('\n') {
        plain.push('\n');
    }
    if let Some(sections) = sections(&plain, holds_results) {
        let filled = sections.into_iter().filter(|part| !text_readers(&part.bare, None).is_empty()).collect();
        let read = read_sections(text, filled)?;
        if !read.imports.is_empty() {
            return Ok(read);
        }
    }
    let is_known = text.reader.is_some() || !of_text(&plain).is_empty();
    let whole = Text { text: if is_known { &plain } else { text.text }, ..*text };
    let read = read_plain(&whole)?;
    match split(&whole, &Path::default(), &read)? {
        Some(parts) => read_named(&whole, parts),
        None => Ok(read),
    }
}

/// Tables whose columns have to be named may be anything.
fn holds_results(text: &str) -> bool {
    of_text(text).iter().any(|reader| **reader != crate::tidy::wide::READER)
}

/// A section, and what was read of it before its system had a name.
struct Part {
    section: Section,
    text: String,
    read: Read,
}

/// The texts of sections. Where the whole text ends in the middle of a line, so does the last one.
fn texts_of(sections: &[Section], whole: &str) -> Vec<String> {
    let mut texts: Vec<String> = sections.iter().map(Section::text).collect();
    if let Some(last) = texts.last_mut().filter(|last| !whole.ends_with('\n') && last.ends_with('\n')) {
        last.pop();
    }
    texts
}

fn read_sections(text: &Text<'_>, sections: Vec<Section>) -> Result<Read, FormatError> {
    if !text.is_named && sections.len() > MOST_PARTS {
        return Err(too_many());
    }
    let mut parts = Vec::new();
    let texts = texts_of(&sections, text.text);
    for (section, whole) in sections.into_iter().zip(texts) {
        let asked = Text { text: &whole, ..*text };
        let read = read_plain(&asked)?;
        match split(&asked, &section.path, &read)? {
            Some(inner) => parts.extend(inner),
            None => parts.push(Part { section, text: whole, read }),
        }
    }
    read_named(text, parts)
}

/// Parts that captions within a text tell apart: `On the new machine:` in a mail. `None` if there are none, or not all is read
/// that the whole text has.
fn split(text: &Text<'_>, above: &Path, whole: &Read) -> Result<Option<Vec<Part>>, FormatError> {
    let strange: BTreeSet<u64> = whole.not_understood.iter().map(|line| line.line).collect();
    if text.is_named || strange.is_empty() {
        return Ok(None);
    }
    for has_prose in [true, false] {
        let sections = parts(text.text, &strange, has_prose);
        if sections.len() > MOST_PARTS && !has_prose && result_count(whole) > MOST_PARTS {
            return Err(too_many());
        }
        if sections.len() < 2 || sections.len() > MOST_PARTS {
            continue;
        }
        let mut found = Vec::new();
        let texts = texts_of(&sections, text.text);
        for (mut section, own) in sections.into_iter().zip(texts) {
            let Ok(read) = read_plain(&Text { text: &own, ..*text }) else { break };
            if !above.words.is_empty() {
                section.path.words.splice(0..0, above.words.iter().cloned());
                section.path.weak_from = above.words.len();
            }
            found.push(Part { section, text: own, read });
        }
        let filled = found.iter().filter(|part| result_count(&part.read) > 0).count();
        if filled > 1 && found.iter().map(|part| result_count(&part.read)).sum::<usize>() == result_count(whole) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

fn too_many() -> FormatError {
    let what = format!("results stand below more than {MOST_PARTS} different headings or captions");
    FormatError::whole(what).with_hint("split the file, or name one system for all: `etalon import SYSTEM=FILE`")
}

/// Reads parts as results of the systems that their captions name.
fn read_named(text: &Text<'_>, mut parts: Vec<Part>) -> Result<Read, FormatError> {
    let mut read = Read::default();
    if !text.is_named {
        drop_captions_of_cases(&mut parts);
    }
    let filled = parts.iter().filter(|part| result_count(&part.read) > 0);
    let paths: Vec<Vec<String>> = filled.map(|part| part.section.path.words.clone()).collect();
    let is_one = text.is_named || paths.iter().collect::<BTreeSet<_>>().len() < 2;
    let mut names = names(&paths, text.system).into_iter();
    for part in parts {
        let name = if result_count(&part.read) > 0 { names.next() } else { None };
        match name.filter(|name| !is_one && name != text.system) {
            Some(name) => read.extend(read_plain(&Text { text: &part.text, system: &name, ..*text })?),
            None => read.extend(part.read),
        }
    }
    Ok(read)
}

/// Captions below others are of cases, and no systems, if all results below each of these are of different cases. Below the
/// only one those count that are no headings.
fn drop_captions_of_cases(parts: &mut [Part]) {
    let deepest = parts.iter().map(|part| part.section.path.words.len()).max().unwrap_or_default();
    for depth in (0..deepest).rev() {
        let mut by_parent: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        for (at, path) in parts.iter().map(|part| &part.section.path).enumerate() {
            if let Some(parent) = path.words.get(..depth) {
                by_parent.entry(parent.to_vec()).or_default().push(at);
            }
        }
        let is_only = by_parent.len() == 1;
        for (parent, children) in by_parent {
            let mut paths = children.iter().map(|at| &parts[*at].section.path).filter(|path| path.words.len() > depth);
            if (!is_only || paths.all(|path| path.weak_from <= depth)) && have_different_cases(parts, &children) {
                children.into_iter().for_each(|at| parts[at].section.path.words.clone_from(&parent));
            }
        }
    }
}

/// Tells whether no two sections with different captions have results of one case.
fn have_different_cases(parts: &[Part], of: &[usize]) -> bool {
    let mut cases: BTreeMap<String, &[String]> = BTreeMap::new();
    of.iter().flat_map(|at| parts[*at].read.imports.iter().map(|import| (*at, import))).all(|(at, import)| {
        let path = parts[at].section.path.words.as_slice();
        import.results.iter().all(|result| {
            let case = format!("{:?}", (&result.benchmark, &result.keys));
            result.benchmark != UNKNOWN_BENCHMARK && *cases.entry(case).or_insert(path) == path
        })
    })
}

fn result_count(read: &Read) -> usize {
    read.imports.iter().map(|import| import.results.len()).sum::<usize>()
}

/// Most parts of a text that captions tell apart. Each is read by itself.
const MOST_PARTS: usize = 256;

const TABLES: [&str; 3] =
    [crate::tidy::READER.name, crate::tidy::wide::READER.name, crate::readers::benchbase::READER.name];

fn text_readers(text: &str, only: Option<&'static Reader>) -> Vec<&'static Reader> {
    only.map_or_else(|| of_text(text), |reader| vec![reader])
}

fn read_plain(text: &Text<'_>) -> Result<Read, FormatError> {
    let Text { system, is_named, source, below, options, .. } = *text;
    let (whole, cut) = without_cut_number(text.text);
    let mut all = Read::default();
    // By line; a line that any reader knows is known.
    let mut strange: Option<BTreeMap<u64, NotUnderstood>> = None;
    for reader in text_readers(text.text, text.reader) {
        let Reads::Text(read) = reader.reads else { continue };
        // The rows of tables end with numbers.
        let is_table = TABLES.contains(&reader.name);
        let input = Input { system, is_named, source, below, text: if is_table { text.text } else { whole }, options };
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
    if let (Some(lines), Some(cut)) = (&mut strange, cut)
        && all.imports.iter().any(|import| !TABLES.contains(&import.tool))
    {
        lines.insert(cut.line, cut);
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
