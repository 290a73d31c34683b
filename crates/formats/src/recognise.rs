//! Finds the readers of a text of any origin, and their results.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use model::{Mark, MarkKind, Value};

use crate::between::{self, Block};
use crate::captions::{Path, is_number_of_run, is_warm_up, system_names};
use crate::clean::{Stream, clean_text, decode_quoted_printable};
use crate::heads;
use crate::imported::UNKNOWN_BENCHMARK;
use crate::loads;
use crate::page;
use crate::reader::{Found, Input, Reader, Reads, find_text_readers};
use crate::secrets::without_secrets;
use crate::sections::{Lines, Section, blocks_and_rest, fenced_sections, parts_by_captions};
use crate::text::{numbered_lines, plain_text, shorten, with_plain_blanks, without_cut_number};
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

/// What captions within a text, and names in front of its lines, are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Captions {
    /// They name systems, as does the text itself.
    Systems,
    /// They are the key [`CAPTION`] of the cases of a system that has its name.
    Keys,
}

/// The key of [`Captions::Keys`].
pub const CAPTION: &str = "caption";

/// A text, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    pub text: &'a str,
    pub source: &'a str,
    /// Its path below the folder or archive that the user named.
    pub below: &'a str,
    pub system: &'a str,
    pub captions: Captions,
    /// The format, where its user says it.
    pub reader: Option<&'static Reader>,
    pub options: &'a Options,
}

/// Reads a text with the readers that recognise it; captions in it name systems or cases.
/// It is read as it is, without the prefixes of collectors of logs, or by the blocks of Markdown in it.
///
/// # Errors
/// A reader cannot go on.
pub fn read(text: &Text<'_>) -> Result<Read, FormatError> {
    let masked = without_secrets(text.text);
    let text = &Text { text: &masked, ..*text };
    let mut streams =
        clean_text(&with_plain_blanks(&decode_quoted_printable(text.text)), |text| !find_text_readers(text).is_empty());
    if text.text.ends_with('\n') {
        streams.iter_mut().for_each(|stream| stream.text.push('\n'));
    }
    for stream in &mut streams {
        stream.text = loads::with_whole_commands(&stream.text).into_owned();
    }
    read_named(text, parts_of_streams(text, &streams)?)
}

/// Reads the parts of each stream of a text that readers know.
fn parts_of_streams(text: &Text<'_>, streams: &[Stream]) -> Result<Vec<Part>, FormatError> {
    let mut parts = Vec::new();
    for stream in streams {
        let names = stream.names.iter().filter(|name| !is_number_of_run(name)).cloned();
        let above = Path { words: names.collect(), weak_from: stream.names.len().min(1), ..Path::default() };
        let is_asked_for = text.reader.is_some() && streams.len() == 1;
        let is_known = is_asked_for || !find_text_readers(&stream.text).is_empty();
        let table = if is_known { None } else { page::only_table_as_csv(&stream.text) };
        let whole = match &table {
            Some(table) => table,
            None if is_known => &stream.text,
            None => text.text,
        };
        let whole = Text { text: whole, ..*text };
        if is_known || streams.len() == 1 {
            parts.extend(parts_of(&whole, &stream.text, &above)?);
        }
    }
    Ok(parts)
}

/// Reads the parts of a text that captions tell apart; `cleaned` is without the prefixes of collectors of logs.
fn parts_of(text: &Text<'_>, cleaned: &str, above: &Path) -> Result<Vec<Part>, FormatError> {
    let mut parts = Vec::new();
    if let Some(sections) = fenced_sections(cleaned, holds_results) {
        let mut filled: Vec<Section> =
            sections.into_iter().filter(|part| !text_readers(&part.bare, None).is_empty()).collect();
        filled.iter_mut().for_each(|section| section.path.put_below(above));
        parts = read_sections(text, filled)?;
    }
    if parts.iter().all(|part| part.read.imports.is_empty()) {
        let read = read_plain(text)?;
        parts = split_by_captions(text, above, &read)?.unwrap_or_else(|| {
            let section = Section::from_lines(&Vec::new(), above.clone());
            vec![Part { section, text: text.text.to_owned(), read }]
        });
    }
    let mut apart = Vec::new();
    for part in parts {
        apart.extend(split_by_lines_between(text, part)?);
    }
    Ok(apart)
}

/// Tests whether a reader recognises results in a text.
/// Tables whose columns have to be named may be anything.
fn holds_results(text: &str) -> bool {
    find_text_readers(text).iter().any(|reader| **reader != crate::tidy::wide::READER)
}

/// A section, and what was read of it before its system had a name.
struct Part {
    section: Section,
    text: String,
    read: Read,
}

/// Gives the texts of sections.
/// Where the whole text ends in the middle of a line, so does the one that ends there.
fn texts_of(sections: &[Section], whole: &str) -> Vec<String> {
    let end = cut_line(whole);
    sections.iter().map(|section| cut_like(section.to_text(), section, end)).collect()
}

/// Gives the number of the last line, where it has no end.
fn cut_line(whole: &str) -> Option<usize> {
    if whole.ends_with('\n') { None } else { Some(whole.lines().count()) }
}

/// Cuts the last line end of a section that ends with the whole text, where that has none.
fn cut_like(mut text: String, section: &Section, end: Option<usize>) -> String {
    if end.is_some() && section.last_line() == end {
        text.pop();
    }
    text
}

/// Reads each section as a part of its own, or as several where captions split it.
fn read_sections(text: &Text<'_>, sections: Vec<Section>) -> Result<Vec<Part>, FormatError> {
    if sections.len() > MOST_PARTS {
        return Err(too_many_parts());
    }
    let mut parts = Vec::new();
    let texts = texts_of(&sections, text.text);
    for (section, whole) in sections.into_iter().zip(texts) {
        let asked = Text { text: &whole, ..*text };
        let read = read_plain(&asked)?;
        match split_by_captions(&asked, &section.path, &read)? {
            Some(inner) => parts.extend(inner),
            None => parts.push(Part { section, text: whole, read }),
        }
    }
    Ok(parts)
}

/// Reads the parts that captions within a text tell apart: `On the new machine:` in a mail.
/// `None` if there are none, or not all is read that the whole text has.
fn split_by_captions(text: &Text<'_>, above: &Path, whole: &Read) -> Result<Option<Vec<Part>>, FormatError> {
    let strange = unknown_lines(whole);
    if strange.is_empty() {
        return Ok(None);
    }
    for has_prose in [true, false] {
        let sections = parts_by_captions(text.text, &strange, has_prose);
        if sections.len() > MOST_PARTS && !has_prose && result_count(whole) > MOST_PARTS {
            return Err(too_many_parts());
        }
        if sections.len() < 2 || sections.len() > MOST_PARTS {
            continue;
        }
        let mut found = Vec::new();
        let texts = texts_of(&sections, text.text);
        for (mut section, own) in sections.into_iter().zip(texts) {
            let Ok(read) = read_plain(&Text { text: &own, ..*text }) else { break };
            section.path.put_below(above);
            found.push(Part { section, text: own, read });
        }
        let filled = found.iter().filter(|part| result_count(&part.read) > 0).count();
        if filled > 1 && found.iter().map(|part| result_count(&part.read)).sum::<usize>() == result_count(whole) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Lists the numbers of the lines that no reader understood.
fn unknown_lines(read: &Read) -> BTreeSet<u64> {
    read.not_understood.iter().map(|line| line.line).collect()
}

/// Splits a part where the lines between its results that no reader knows say different things.
/// Results of one case are repetitions then where these say the same. Where they cannot be cut there, they have no
/// verdict.
fn split_by_lines_between(text: &Text<'_>, mut part: Part) -> Result<Vec<Part>, FormatError> {
    let strange = unknown_lines(&part.read);
    if strange.is_empty() || !has_repetitions(&part.read) {
        return Ok(vec![part]);
    }
    let (blocks, below) = blocks_and_rest(&part.text, &strange);
    if count_distinct(&between::list_captions(&blocks, &below)) < 2 {
        return Ok(vec![part]);
    }
    let Some(blocks) = blocks_with_results(&Text { text: &part.text, ..*text }, &part.read, blocks) else {
        forbid_verdicts(&mut part.read);
        return Ok(vec![part]);
    };
    let captions = between::list_captions(&blocks, &below);
    match count_distinct(&captions) {
        0 | 1 => return Ok(vec![part]),
        more if more > MOST_PARTS => return Err(too_many_parts()),
        _ => {}
    }
    let mut lines: IndexMap<&Vec<String>, (String, Lines<'_>)> = IndexMap::new();
    for ((block, caption), name) in blocks.into_iter().zip(&captions).zip(between::caption_names(&captions)) {
        let (_, lines) = lines.entry(caption).or_insert_with(|| (name, Lines::new()));
        lines.extend(block.above);
        lines.extend(block.lines);
    }
    let (mut sections, mut taken) = (Vec::new(), BTreeMap::new());
    for (name, mut lines) in lines.into_values() {
        lines.sort_unstable();
        let mut path = part.section.path.clone();
        if !name.is_empty() {
            let count = taken.entry(name.clone()).or_insert(0);
            *count += 1;
            path.words.push(name);
            path = Path { number: *count, ..path }.with_number();
        }
        sections.push(Section::from_lines(&lines, path));
    }
    let texts = texts_of(&sections, &part.text);
    let parts = sections.into_iter().zip(texts).map(|(section, own)| {
        let read = read_plain(&Text { text: &own, ..*text })?;
        Ok(Part { section, text: own, read })
    });
    parts.collect()
}

/// Counts the different captions.
fn count_distinct(captions: &[Vec<String>]) -> usize {
    captions.iter().collect::<BTreeSet<_>>().len()
}

/// Tells whether two results are of one case.
fn has_repetitions(read: &Read) -> bool {
    let mut cases = BTreeSet::new();
    let mut results = read.imports.iter().flat_map(|import| &import.results);
    results.any(|result| !cases.insert(result.case_text()))
}

/// Joins blocks so that each holds whole results; `None` if that cannot be found.
/// Each ends where it alone gives the next results of the whole text.
fn blocks_with_results<'a>(text: &Text<'_>, whole: &Read, blocks: Vec<Block<'a>>) -> Option<Vec<Block<'a>>> {
    let end = cut_line(text.text);
    let mut budget = MOST_READINGS * blocks_bytes(&blocks);
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<Block<'_>> = Vec::new();
    let (mut open, mut has_begun) = (Block::default(), false);
    for block in blocks {
        let lines = if has_begun { &mut open.lines } else { &mut open.above };
        lines.extend(block.above);
        open.lines.extend(block.lines);
        let mut lines = open.above.clone();
        lines.extend(&open.lines);
        lines.sort_unstable();
        let section = Section::from_lines(&lines, Path::default());
        budget = budget.checked_sub(section.bare.len())?;
        let own = cut_like(section.text_from_first(), &section, end);
        let read = read_plain(&Text { text: &own, ..*text }).ok()?;
        has_begun = result_count(&read) > 0;
        if has_begun && take_results_of(&read, whole, &mut taken) {
            found.push(std::mem::take(&mut open));
            has_begun = false;
        }
    }
    let is_all =
        whole.imports.iter().all(|import| taken.get(import.tool).copied().unwrap_or(0) == import.results.len());
    if !is_all {
        return None;
    }
    let last = found.last_mut()?;
    last.lines.extend(open.above);
    last.lines.extend(open.lines);
    last.lines.sort_unstable();
    Some(found)
}

/// Counts the bytes of all lines of blocks.
fn blocks_bytes(blocks: &[Block<'_>]) -> usize {
    blocks.iter().flat_map(|block| block.above.iter().chain(&block.lines)).map(|(_, line)| line.len() + 1).sum()
}

/// Takes the results of a block off those of the whole text; `false` where they are not the next ones.
fn take_results_of<'a>(block: &Read, whole: &'a Read, taken: &mut BTreeMap<&'a str, usize>) -> bool {
    let mut next = taken.clone();
    let are_next = block.imports.iter().all(|import| {
        let Some(all) = whole.imports.iter().find(|other| other.tool == import.tool) else { return false };
        let at = next.entry(all.tool).or_default();
        let behind = *at + import.results.len();
        let is_next = all.results.get(*at..behind) == Some(&import.results[..]);
        *at = behind;
        is_next
    });
    if are_next {
        *taken = next;
    }
    are_next
}

/// Marks all results as ones without a verdict, since unlike lines stand between them, and notes it.
fn forbid_verdicts(read: &mut Read) {
    for import in &mut read.imports {
        import.notes.push(format!("{UNLIKE_LINES}: no verdict; leave these lines out if they are repetitions"));
        import.results.iter_mut().for_each(|result| result.marks.push(Mark::new(MarkKind::NoRepetition, UNLIKE_LINES)));
    }
}

const UNLIKE_LINES: &str = "unlike lines stand between its results";

/// Makes the error of a text with too many captions.
fn too_many_parts() -> FormatError {
    let what = format!("results stand below more than {MOST_PARTS} different headings or captions");
    FormatError::of_whole(what).with_hint("split the file, or leave out what stands between repetitions")
}

/// Reads parts as results of the systems, or the cases, that their captions name.
fn read_named(text: &Text<'_>, mut parts: Vec<Part>) -> Result<Read, FormatError> {
    let mut read = Read::default();
    let warm_ups = take_warm_ups(&mut parts);
    drop_captions_of_cases(&mut parts);
    let names = names_of(&parts, text.system);
    for (mut part, name) in parts.into_iter().zip(names) {
        match name {
            None => read.extend(part.read),
            Some(name) if text.captions == Captions::Systems => {
                // What the text calls a system stands above names within a result.
                let captions = Captions::Keys;
                read.extend(read_plain(&Text { text: &part.text, system: &name, captions, ..*text })?);
            }
            Some(name) => {
                let results = part.read.imports.iter_mut().flat_map(|import| &mut import.results);
                results.for_each(|result| drop(result.keys.insert(CAPTION.to_owned(), Value::Text(name.clone()))));
                read.extend(part.read);
            }
        }
    }
    if warm_ups > 0
        && let Some(import) = read.imports.first_mut()
    {
        import.notes.push(format!("results of warm-ups left out: {warm_ups}"));
    }
    Ok(read)
}

/// Removes the parts below the caption of a warm-up, where others have results, and counts their results.
fn take_warm_ups(parts: &mut Vec<Part>) -> usize {
    if parts.iter().all(|part| is_of_warm_up(part) || result_count(&part.read) == 0) {
        return 0;
    }
    let of_warm_ups = parts.extract_if(.., |part| is_of_warm_up(part));
    of_warm_ups.map(|part| result_count(&part.read)).sum()
}

/// Tests whether a part stands below the caption of a warm-up.
fn is_of_warm_up(part: &Part) -> bool {
    part.section.path.words.last().is_some_and(|words| is_warm_up(words))
}

/// Names each part that has results and another name than its text.
fn names_of(parts: &[Part], of_text: &str) -> Vec<Option<String>> {
    let has_results = |part: &Part| result_count(&part.read) > 0;
    let filled = parts.iter().filter(|part| has_results(part));
    let paths: Vec<Vec<String>> = filled.map(|part| part.section.path.words.clone()).collect();
    let is_one = count_distinct(&paths) < 2;
    let mut names =
        system_names(&paths, of_text).into_iter().map(|name| Some(name).filter(|name| !is_one && name != of_text));
    parts.iter().map(|part| if has_results(part) { names.next().flatten() } else { None }).collect()
}

/// Drops captions below others if all results below each of these are of different cases: they name no systems.
/// Below the only one those count that are no headings.
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
            let case = result.case_text();
            result.benchmark != UNKNOWN_BENCHMARK && *cases.entry(case).or_insert(path) == path
        })
    })
}

/// Counts the results in all imports.
fn result_count(read: &Read) -> usize {
    read.imports.iter().map(|import| import.results.len()).sum::<usize>()
}

/// Most parts of a text that captions tell apart. Each is read by itself.
const MOST_PARTS: usize = 256;
/// How often a text is read at most to find where its results end.
const MOST_READINGS: usize = 4;

const TABLES: [&str; 3] =
    [crate::tidy::READER.name, crate::tidy::wide::READER.name, crate::readers::benchbase::READER.name];

/// Lists the readers that recognise a text, or the one that was asked for.
fn text_readers(text: &str, only: Option<&'static Reader>) -> Vec<&'static Reader> {
    only.map_or_else(|| find_text_readers(text), |reader| vec![reader])
}

/// Reads a text as it is, with all readers that recognise it.
fn read_plain(text: &Text<'_>) -> Result<Read, FormatError> {
    let Text { system, captions, source, below, options, .. } = *text;
    let is_named = captions != Captions::Systems;
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
    let is_strange = |number| strange.as_ref().is_some_and(|lines| lines.contains_key(&number));
    let lines = numbered_lines(whole).filter(|(number, _)| is_strange(*number)).map(|(_, line)| plain_text(line));
    let loads = loads::loads_in_lines(lines.collect::<Vec<_>>().iter().map(String::as_str));
    let lines = numbered_lines(whole).filter(|(_, line)| !line.trim().is_empty());
    let above = lines.take_while(|(number, _)| is_strange(*number)).map(|(_, line)| line.trim());
    let above: Vec<String> = above.take(heads::MOST_LINES).map(str::to_owned).collect();
    for import in &mut all.imports {
        import.loads.clone_from(&loads);
        import.above.clone_from(&above);
    }
    all.not_understood = strange
        .into_iter()
        .flat_map(BTreeMap::into_values)
        .filter(|line| !line.text.trim_start().starts_with("```"))
        .collect();
    Ok(all)
}

impl Read {
    /// Adds the imports and unknown lines that another text gave.
    fn extend(&mut self, other: Read) {
        self.imports.extend(other.imports);
        self.not_understood.extend(other.not_understood);
        self.empty.extend(other.empty);
    }
}

/// Says what an unknown text is, as far as can be said: its first words.
pub fn first_words(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty());
    line.map_or_else(|| "it is empty".to_owned(), |line| format!("it begins with `{}`", shorten(line.trim())))
}
