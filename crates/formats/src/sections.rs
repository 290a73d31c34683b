//! Cuts a text where captions begin something else: the fenced blocks of Markdown, and results with words between them.
//!
//! A line keeps its number, as all other lines of a section are empty.

use std::collections::{BTreeMap, BTreeSet};

use crate::between::Block;
use crate::captions::{
    Kind, Path, Trail, bare_words, find_title, is_number_of_run, is_prose, is_sentence, label_title, parse_heading,
    shape_in_loop, underline_level,
};
use crate::page;
use crate::text::{numbered_lines, plain_text};

/// Lines of a text with the same captions above them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    pub path: Path,
    /// Its lines alone.
    pub bare: String,
    /// The number of each line, from 1.
    numbers: Vec<usize>,
}

impl Section {
    /// Adds a line; its number is above those before.
    fn push_line(&mut self, number: usize, line: &str) {
        self.bare.push_str(line);
        self.bare.push('\n');
        self.numbers.push(number);
    }

    /// Makes a section of lines with their numbers, which rise.
    pub fn from_lines(lines: &Lines<'_>, path: Path) -> Section {
        let mut section = Section { path, ..Section::default() };
        lines.iter().for_each(|(number, line)| section.push_line(*number, line));
        section
    }

    /// The number of the section's last line.
    pub fn last_line(&self) -> Option<usize> {
        self.numbers.last().copied()
    }

    /// Gives the section's text from its first line on, with lines of others empty.
    pub fn text_from_first(&self) -> String {
        let first = self.numbers.first().copied().unwrap_or(1);
        let numbers = self.numbers.iter().map(|number| number + 1 - first).collect();
        Section { numbers, ..self.clone() }.to_text()
    }

    /// Gives the section's text, with lines of others empty.
    pub fn to_text(&self) -> String {
        let mut text = String::with_capacity(self.bare.len() + self.numbers.last().copied().unwrap_or_default());
        let mut lines = 0;
        for (line, number) in self.bare.lines().zip(&self.numbers) {
            text.extend(std::iter::repeat_n('\n', number.saturating_sub(lines + 1)));
            text.push_str(line);
            text.push('\n');
            lines = *number;
        }
        text
    }
}

/// Lines with their numbers.
pub type Lines<'a> = Vec<(usize, &'a str)>;

#[derive(Default)]
struct Sections {
    found: Vec<Section>,
    by_path: BTreeMap<(Vec<String>, usize), usize>,
    /// Where the last results are.
    last: Option<usize>,
}

impl Sections {
    /// Gives the section of these captions, or else the last one.
    fn section_for(&mut self, path: Option<Path>) -> &mut Section {
        let path = path.or_else(|| self.last.is_none().then(Path::default));
        if let Some(path) = path {
            let next = self.found.len();
            let at = *self.by_path.entry((path.words.clone(), path.number)).or_insert(next);
            if at == next {
                self.found.push(Section { path, ..Section::default() });
            }
            self.last = Some(at);
        }
        &mut self.found[self.last.unwrap_or_default()]
    }

    /// Gives the sections by their captions, with numbers where the same words come again.
    /// Where all captions came in turns, as `A`, `B`, `A`, `B`, they are of the same things each time; else the same
    /// words may be of something else the next time, and a number tells these apart.
    fn finish(self) -> Vec<Section> {
        let words: Vec<&Vec<String>> = self.found.iter().map(|section| &section.path.words).collect();
        let turn = words.iter().collect::<BTreeSet<_>>().len();
        let takes_turns = turn > 1
            && self.found.iter().all(|section| section.path.is_prose)
            && words.iter().enumerate().all(|(at, one)| *one == words[at % turn]);
        if !takes_turns {
            let numbered = self.found.into_iter();
            return numbered.map(|section| Section { path: section.path.clone().with_number(), ..section }).collect();
        }
        let mut rest = self.found.into_iter();
        let mut sections: Vec<Section> = rest.by_ref().take(turn).collect();
        for (at, next) in rest.enumerate() {
            let section = &mut sections[at % turn];
            section.bare.push_str(&next.bare);
            section.numbers.extend(next.numbers);
        }
        sections
    }
}

/// Words above results, line by line.
#[derive(Default)]
struct Words {
    trail: Trail,
    /// The lines of a paragraph so far.
    paragraph: Vec<String>,
    /// The line before.
    above: Option<String>,
}

/// Most lines of a paragraph that count as its caption.
const MOST_LINES: usize = 4;

impl Words {
    /// Takes a line outside of results; `is_strict` where a tool may have printed it.
    fn take_line(&mut self, line: &str, is_strict: bool) {
        let above = self.above.take();
        if let Some((level, words)) = underline_level(line).zip(above) {
            self.take_heading(level, &words, is_strict);
        } else if line.trim().is_empty() {
            self.paragraph.clear();
        } else if let Some((level, words)) = parse_heading(line).filter(|(_, words)| !is_strict || !is_command(words)) {
            self.take_heading(level, &words, is_strict);
        } else if let Some((kind, words)) = find_title(line) {
            self.paragraph.clear();
            if !is_number_of_run(words) {
                self.trail.add_caption(kind, words);
            }
        } else if let Some(words) = label_title(line) {
            self.above = Some(words.clone());
            self.paragraph.push(words);
            self.trail.add_caption(Kind::Label, &self.paragraph.join(" "));
            self.paragraph.clear();
        } else if is_prose(line) && (!is_strict || is_sentence(line)) {
            if self.paragraph.len() == MOST_LINES {
                self.paragraph.remove(0);
            }
            let words = plain_text(line);
            self.above = Some(words.clone());
            self.paragraph.push(words);
            self.trail.add_prose(bare_words(&self.paragraph.join(" ")));
        }
    }

    /// Takes a heading as a caption; a run's number is a name only where nothing else names its system.
    fn take_heading(&mut self, level: usize, words: &str, is_strict: bool) {
        (self.paragraph, self.above) = (Vec::new(), None);
        let is_of_run = is_number_of_run(words) && (is_strict || self.trail.has_heading_above(level));
        self.trail.add_caption(Kind::Heading(level), if is_of_run { "" } else { words });
    }
}

/// Tests whether words behind the prompt of root are a command: one has an option.
fn is_command(words: &str) -> bool {
    words.split_whitespace().any(|word| word.starts_with('-') && word.len() > 1)
}

/// Groups the fenced blocks of Markdown by the captions above them; `None` where there are no fences.
///
/// Prose parts two blocks that both hold results. A block without results is of the next one that has some, unless a heading
/// stands between them.
pub fn fenced_sections(text: &str, holds_results: fn(&str) -> bool) -> Option<Vec<Section>> {
    let lines = page::plain_lines(text);
    lines.iter().any(|(_, line)| fence_at(line).is_some()).then_some(())?;
    let mut page = Page { holds_results, words: Words::default(), sections: Sections::default(), loose: Vec::new() };
    let (mut open, mut block): (Option<&str>, Lines<'_>) = (None, Vec::new());
    for (number, line) in &lines {
        match (open, fence_at(line)) {
            (None, Some(mark)) => {
                open = Some(mark);
                (page.words.paragraph, page.words.above) = (Vec::new(), None);
                if let Some(title) = page::title_of_fence(line) {
                    page.finish();
                    page.words.trail.add_caption(Kind::Bold, title);
                }
            }
            (Some(mark), Some(other)) if mark == other => {
                open = None;
                page.take_block(std::mem::take(&mut block));
            }
            (Some(_), _) => block.push((*number, line.as_ref())),
            (None, None) => page.take_line(line),
        }
    }
    page.take_block(block);
    page.finish();
    Some(page.sections.finish())
}

struct Page<'a> {
    holds_results: fn(&str) -> bool,
    words: Words,
    sections: Sections,
    /// Blocks without results.
    loose: Lines<'a>,
}

impl<'a> Page<'a> {
    /// Takes a fenced block: results begin a section, other lines wait for results to belong to.
    fn take_block(&mut self, block: Lines<'a>) {
        let has_results = self.has_results(&block);
        self.loose.extend(block);
        if has_results {
            self.put_block();
        }
    }

    /// Takes a line outside of fences.
    fn take_line(&mut self, line: &str) {
        let was_pending = self.words.trail.has_pending();
        let is_heading = underline_level(line).is_some() || parse_heading(line).is_some() || find_title(line).is_some();
        if is_heading || (!was_pending && label_title(line).is_some()) {
            self.finish();
        }
        self.words.take_line(line, false);
    }

    /// Puts the blocks that wait where they belong: with the captions above them if they hold results together.
    /// Others are of the results before them, if no caption stands between. caption stands between.
    fn finish(&mut self) {
        let loose = std::mem::take(&mut self.loose);
        if self.has_results(&loose) {
            self.loose = loose;
            self.put_block();
        } else if !self.words.trail.has_pending() && self.sections.last.is_some() {
            let section = self.sections.section_for(None);
            loose.into_iter().for_each(|(number, line)| section.push_line(number, line));
        }
    }

    /// Puts the lines read so far into the section of the captions above them.
    fn put_block(&mut self) {
        let section = self.sections.section_for(self.words.trail.take_results_path());
        self.loose.drain(..).for_each(|(number, line)| section.push_line(number, line));
    }

    /// Tests whether lines hold results.
    fn has_results(&self, lines: &[(usize, &str)]) -> bool {
        let text: String = lines.iter().flat_map(|(_, line)| [line, "\n"]).collect();
        (self.holds_results)(&text)
    }
}

/// Finds the fence that a line begins with.
pub fn fence_at(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark))
}

/// Gives a line without its numbers, by which copies of a loop's command are known.
fn line_shape(line: &str) -> String {
    shape_in_loop(line).unwrap_or_else(|| line.trim().to_owned())
}

/// Splits a text into parts by the captions among the lines that no reader knows.
/// With `has_prose` sentences are captions, too, unless they come again.
pub fn parts_by_captions(text: &str, strange: &BTreeSet<u64>, has_prose: bool) -> Vec<Section> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (_, line) in numbered_lines(text).filter(|(number, _)| strange.contains(number)) {
        *counts.entry(line_shape(line)).or_default() += 1;
    }
    let (mut words, mut sections) = (Words::default(), Sections::default());
    // Lines that no reader knows and that are no captions.
    let mut loose: Lines<'_> = Vec::new();
    for ((number, line), at) in numbered_lines(text).zip(1_usize..) {
        if !strange.contains(&number) {
            words.take_line("", true);
            if !line.trim().is_empty() {
                let path = words.trail.take_results_path();
                let prose = path.as_ref().and_then(|path| path.words.last().cloned()).unwrap_or_default();
                let section = sections.section_for(path);
                loose.retain(|(_, line)| !is_sentence(line) || !prose.contains(&bare_words(&plain_text(line))));
                loose.drain(..).for_each(|(number, line)| section.push_line(number, line));
                section.push_line(at, line);
            }
            continue;
        }
        let is_title = find_title(line).is_some() || label_title(line).is_some() || parse_heading(line).is_some();
        if is_title || underline_level(line).is_some() || (has_prose && counts[&line_shape(line)] == 1) {
            words.take_line(line, true);
        } else {
            words.above = Some(line.trim().to_owned());
        }
        if !is_title {
            loose.push((at, line));
        }
    }
    if sections.last.is_some() {
        let section = sections.section_for(None);
        loose.into_iter().for_each(|(number, line)| section.push_line(number, line));
    }
    sections.finish()
}

/// Cuts the lines that readers know where others stand between, and gives those of the others that stand at the end.
pub fn blocks_and_rest<'a>(text: &'a str, strange: &BTreeSet<u64>) -> (Vec<Block<'a>>, Lines<'a>) {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let (mut above, mut is_cut) = (Lines::new(), false);
    for ((number, line), at) in numbered_lines(text).zip(1_usize..).filter(|((_, line), _)| !line.trim().is_empty()) {
        if strange.contains(&number) {
            // `^^^ this was the old server`.
            let is_of_before = line.trim_start().starts_with('^');
            match blocks.last_mut() {
                Some(before) if is_of_before => before.above.push((at, line)),
                _ => above.push((at, line)),
            }
            is_cut = true;
            continue;
        }
        if std::mem::take(&mut is_cut) || blocks.is_empty() {
            blocks.push(Block { above: std::mem::take(&mut above), lines: Vec::new() });
        }
        blocks.last_mut().into_iter().for_each(|block| block.lines.push((at, line)));
    }
    (blocks, above)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        text.contains("x")
    }

    fn paths(text: &str) -> Vec<String> {
        fenced_sections(text, holds).unwrap().into_iter().map(|section| section.path.words.join(", ")).collect()
    }

    #[test]
    fn fenced_blocks_keep_their_lines_and_captions() {
        assert_eq!(fenced_sections("# a\nx\n", holds), None);
        let text = "# Old\nsome words\n```\nx 1\n```\n## New\n```text\nx 2\n```\nend\n~~~\nthree\n~~~\n";
        let found = fenced_sections(text, holds).unwrap();
        assert_eq!(paths(text), ["Old", "Old, New"]);
        assert_eq!(found[0].to_text(), "\n\n\nx 1\n");
        assert_eq!(found[1].to_text().lines().position(|line| line == "three"), Some(11), "a block without results");
    }

    #[test]
    fn captions_of_every_kind_tell_blocks_apart() {
        let block = "```\nx\n```\n";
        for (above, expected) in [
            (["<details><summary>17</summary>\n\n", "</details>\n<details>\n<summary>18</summary>\n"], ["17", "18"]),
            (["# Results\n**old**\n", "**new**\n\n"], ["Results, old", "Results, new"]),
            (["With the patch:\n", "Without:\n\n"], ["With the patch", "Without"]),
            (["## Benchmark\nBefore:\n", "After:\n"], ["Benchmark, Before", "Benchmark, After"]),
            (["Old box\n=======\n", "New box\n-------\n"], ["Old box", "Old box, New box"]),
            (["Old\n---\n", "New\n---\n"], ["Old", "New"]),
            (["<h2>Old &amp; slow</h2>\n", "<H2 id=\"n\">New</H2>\n"], ["Old & slow", "New"]),
            (["## Master\n", "and with the patch\n"], ["Master", "Master, and with the patch"]),
            (["I get\n", "With the patch\nit is\n"], ["I get", "With the patch it is"]),
        ] {
            let text: String = above.iter().map(|above| format!("{above}{block}")).collect();
            assert_eq!(paths(&text), expected, "{text}");
        }
        let runs =
            format!("# 17\nRun 1:\n{block}$ pgbench -c 8\n{block}---\n{block}Second run\n{block}### Run 3\n{block}");
        assert_eq!(paths(&runs), ["17"], "runs are of the same thing");
    }

    /// `R` is a block.
    fn paths_of(text: &str) -> Vec<String> {
        paths(&text.replace('R', "\n```\nx\n```\n"))
    }

    #[test]
    fn captions_below_others_are_never_those_of_others() {
        assert_eq!(paths_of("# P\n## A\n### on\nR### off\nR## B\n### on\nR"), ["P, A, on", "P, A, off", "P, B, on"]);
        assert_eq!(paths_of("## A\non:\nRoff:\nR## B\non:\nR"), ["A, on", "A, off", "B, on"]);
        assert_eq!(paths_of("A:\n\non:\nRoff:\nRB:\n\non:\nRoff:\nR"), ["A, on", "A, off", "B, on", "B, off"]);
        assert_eq!(paths_of("On A:\n**on**\nR**off**\nROn B:\n**on**\nR"), ["On A, on", "On A, off", "On B, on"]);
        assert_eq!(paths_of("a:\nRb:\nRa:\nR"), ["a", "b"], "sides that take turns");
        assert_eq!(paths_of("A:\n\non:\nRB:\nRon:\nR"), ["A, on", "A, B", "A, on (2)"], "it may be of B");
        assert_eq!(paths_of("# A\nRthen\nRthen\nR"), ["A", "A, then", "A, then (2)"]);
    }

    #[test]
    fn lines_that_a_loop_prints_are_no_captions() {
        let text = "x\nWith the patch\nx\ndone in 1.5 s (vacuum)\nx\ndone in 1.6 s (vacuum)\nx\nreal 0m5.1s\nx\n\
                    Checkpoint is done\nx\nCheckpoint is done\nx\nThu Nov 26 05:09:19 UTC 2026\nx\nrun 3 of 8\nx\n";
        let strange = numbered_lines(text).filter(|(_, line)| *line != "x").map(|(number, _)| number).collect();
        for (has_prose, expected) in [(true, &["", "With the patch"][..]), (false, &[""])] {
            let found = parts_by_captions(text, &strange, has_prose).into_iter().map(|part| part.path.words.join(", "));
            assert_eq!(found.collect::<Vec<_>>(), expected);
        }
    }
}
