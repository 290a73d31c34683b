//! The lines of a page: of HTML the preformatted ones as fenced blocks, and captions above the blocks that they stand below.

use std::borrow::Cow;

use crate::sections::fence_at;
use crate::text::plain_text;

/// Lists a page's lines with their numbers from 1, `<pre>` in fences and captions above their blocks.
/// The numbers may repeat or be out of order only where a line was split or moved.
pub fn plain_lines(text: &str) -> Vec<(usize, Cow<'_, str>)> {
    let has_fences = text.lines().any(|line| fence_at(line).is_some());
    let has_pre = !has_fences && text.lines().any(|line| tag_at(line, "<pre").is_some());
    let lines = text.lines().zip(1_usize..).map(|(line, number)| (number, line));
    let lines = if has_pre {
        fence_preformatted(lines)
    } else {
        lines.map(|(number, line)| (number, Cow::Borrowed(line))).collect()
    };
    with_captions_above(lines)
}

/// Splits a line at a tag into what stands in front of it and behind it.
fn tag_at<'a>(line: &'a str, tag: &str) -> Option<(&'a str, &'a str)> {
    let lower = line.to_ascii_lowercase();
    let at = lower.match_indices(tag).map(|(at, _)| at).find(|at| lower[at + tag.len()..].starts_with(['>', ' ']))?;
    let end = line[at..].find('>')? + at;
    Some((&line[..at], &line[end + 1..]))
}

/// Puts the content of `<pre>` in fences, without its tags and entities.
fn fence_preformatted<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<(usize, Cow<'a, str>)> {
    const FENCE: &str = "```";
    let mut found: Vec<(usize, Cow<'a, str>)> = Vec::new();
    let mut is_open = false;
    for (number, line) in lines {
        let mut rest = line;
        while let Some((before, behind)) = tag_at(rest, if is_open { "</pre" } else { "<pre" }) {
            found.push((number, if is_open { preformatted_line(before) } else { Cow::Borrowed(before) }));
            found.push((number, Cow::Borrowed(FENCE)));
            is_open = !is_open;
            rest = behind;
        }
        found.push((number, if is_open { preformatted_line(rest) } else { Cow::Borrowed(rest) }));
    }
    found
}

/// Makes a preformatted line plain text; it keeps the blanks at its beginning.
fn preformatted_line(line: &str) -> Cow<'_, str> {
    let indent = line.len() - line.trim_start().len();
    Cow::Owned(format!("{}{}", &line[..indent], plain_text(line)))
}

/// Moves captions that stand below their blocks above them, where each block has one: `*Listing 1: the old server*`.
fn with_captions_above(lines: Vec<(usize, Cow<'_, str>)>) -> Vec<(usize, Cow<'_, str>)> {
    let fences: Vec<usize> = (0..lines.len()).filter(|at| fence_at(&lines[*at].1).is_some()).collect();
    let above = fences.first().and_then(|first| (0..*first).rev().find(|at| !lines[*at].1.trim().is_empty()));
    if above.is_some_and(|at| is_caption_below(&lines[at].1)) {
        return lines;
    }
    let moves: Option<Vec<(usize, usize)>> = fences
        .chunks(2)
        .map(|pair| {
            let [begin, end] = pair else { return None };
            let next = (end + 1..lines.len()).find(|at| !lines[*at].1.trim().is_empty())?;
            is_caption_below(&lines[next].1).then_some((*begin, next))
        })
        .collect();
    let Some(moves) = moves.filter(|moves| moves.len() > 1) else { return lines };
    let mut moved = Vec::with_capacity(lines.len());
    for (at, (number, line)) in lines.iter().enumerate() {
        if let Some((_, from)) = moves.iter().find(|(to, _)| *to == at) {
            moved.push((*number, Cow::Owned(format!("**{}**", bare_caption(&lines[*from].1)))));
        }
        if moves.iter().all(|(_, from)| *from != at) {
            moved.push((*number, line.clone()));
        }
    }
    moved
}

/// Tests whether a line is a caption of the block above: `*in italics*`, `Figure 2: words`, `^ words`.
fn is_caption_below(line: &str) -> bool {
    const WORDS: [&str; 5] = ["figure ", "listing ", "output ", "table ", "example "];
    let line = line.trim();
    let is_marked = ['*', '_'].iter().any(|mark| line.len() > 2 && line.starts_with(*mark) && line.ends_with(*mark));
    let is_italic = is_marked && !line.starts_with("**") && !line.starts_with("__");
    let lower = line.to_lowercase();
    is_italic || line.starts_with('^') || WORDS.iter().any(|word| lower.starts_with(word))
}

/// Gives the words of a caption without its marks.
fn bare_caption(line: &str) -> String {
    line.replace(['*', '^'], "").trim().trim_matches('_').trim_end_matches(':').to_owned()
}

/// Finds the title in a fence: ```` ```text title="Old" ````.
pub fn title_of_fence(line: &str) -> Option<&str> {
    let rest = ["title=", "caption=", "name=", "filename="]
        .iter()
        .find_map(|key| line.split_once(key))
        .map(|(_, rest)| rest)?;
    let mark = rest.chars().next().filter(|mark| ['"', '\''].contains(mark));
    let rest = mark.map_or(rest, |_| &rest[1..]);
    let end = rest.find(|c: char| mark.map_or(c.is_whitespace() || c == '}', |mark| c == mark));
    let title = &rest[..end.unwrap_or(rest.len())];
    (!title.is_empty()).then_some(title)
}

/// Converts the only Markdown table of a text to CSV, each row on its line; `None` unless there is one.
pub fn only_table_as_csv(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut rules =
        (1..lines.len()).filter(|at| lines[*at].contains('|') && is_rule(lines[*at]) && lines[*at - 1].contains('|'));
    let (Some(rule), None) = (rules.next(), rules.next()) else { return None };
    let end = (rule + 1..lines.len()).find(|at| !lines[*at].contains('|')).unwrap_or(lines.len());
    let rows = lines.iter().enumerate().map(|(at, line)| {
        let is_row = (rule - 1..end).contains(&at) && at != rule;
        if is_row { row_as_csv(line) } else { String::new() }
    });
    Some(rows.collect::<Vec<_>>().join("\n"))
}

/// Tests whether a line is the rule below a table's header, `|---|:--|`.
fn is_rule(line: &str) -> bool {
    line.contains('-') && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

/// Converts a row of Markdown to a line of CSV.
fn row_as_csv(row: &str) -> String {
    let cells = row
        .trim_matches('|')
        .split('|')
        .map(|cell| plain_text(cell).replace(['*', '`'], "").trim().replace('"', "\"\""));
    cells
        .map(|cell| if cell.contains([',', '"', ';']) { format!("\"{cell}\"") } else { cell })
        .collect::<Vec<_>>()
        .join(",")
}
