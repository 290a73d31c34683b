//! Finds the fenced blocks of a Markdown document that are to be executed.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// A fenced block that means something to `xtask docs`.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of the opening fence, counted from 1.
    pub line: usize,
    /// How far the fence is indented, in columns.
    pub indent: usize,
    /// It holds systems or benchmarks and is not marked as a fragment.
    pub is_plan: bool,
    /// What it holds.
    pub content: Content,
}

/// What a block holds.
#[derive(Debug, PartialEq, Eq)]
pub enum Content {
    /// Commands and their output.
    Transcript(Vec<Step>),
    /// A file to write first.
    File {
        /// Relative to the document's folder.
        name: String,
        text: String,
    },
    /// A plan that nothing else uses.
    Plan(String),
}

/// One command of a transcript.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the `$`, counted from 1.
    pub line: usize,
    /// Without the `$`, continued lines joined.
    pub command: String,
    /// The exit code it must have.
    pub exit: i32,
    /// What it must print; ends with a line end unless empty.
    pub expected: String,
    /// Where the exit code and the output stand, in lines counted from 0.
    pub output_lines: Range<usize>,
}

/// A block that is not as it must be.
#[derive(Debug, PartialEq, Eq)]
pub struct BadBlock {
    /// Counted from 1.
    pub line: usize,
    /// What to do.
    pub advice: String,
}

/// Parses every block of `text` that is to be executed or checked, in order.
pub fn parse_blocks(text: &str) -> Vec<Result<Block, BadBlock>> {
    let mut blocks = Vec::new();
    let mut before = String::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let raw = Raw::new(text, range);
                blocks.extend(raw.to_block(&info, before.trim()).transpose());
            }
            Event::Html(html) => before.push_str(&html),
            Event::Start(Tag::HtmlBlock) => before.clear(),
            Event::Start(_) | Event::Text(_) => before.clear(),
            _ => {}
        }
    }
    blocks
}

/// A fenced block as lines of the document.
struct Raw<'a> {
    /// The line of the opening fence, counted from 0.
    start: usize,
    indent: usize,
    /// Between the fences, each with its indent removed.
    lines: Vec<&'a str>,
}

impl<'a> Raw<'a> {
    /// Cuts a fenced block into lines without its fences and indent.
    fn new(text: &'a str, range: Range<usize>) -> Self {
        let line_start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
        let indent = range.start - line_start;
        let mut lines: Vec<&str> = text[range.clone()]
            .lines()
            .skip(1)
            .map(|line| {
                let spaces = line.len() - line.trim_start_matches(' ').len();
                &line[spaces.min(indent)..]
            })
            .collect();
        lines.pop();
        Self { start: text[..range.start].matches('\n').count(), indent, lines }
    }

    /// Makes a block of a fence by its words; `None` if it is not to be executed.
    fn to_block(&self, info: &str, before: &str) -> Result<Option<Block>, BadBlock> {
        let mut words = info.split([',', ' ']).filter(|word| !word.is_empty());
        let language = words.next().unwrap_or_default();
        let flags: Vec<&str> = words.collect();
        if language == "console" {
            return match flags[..] {
                [] => Ok(Some(self.make_block(false, Content::Transcript(self.read_steps()?)))),
                ["no-run"] if is_reason(before) => Ok(None),
                ["no-run"] => Err(self.bad_block(0, "put <!-- not run: reason --> just before it")),
                _ => Err(self.bad_block(0, "console takes no flag but no-run")),
            };
        }
        let text: String = self.lines.iter().flat_map(|line| [line, "\n"]).collect();
        let is_plan = language == "toml"
            && !flags.contains(&"fragment")
            && (text.contains("[systems.") || text.contains("[[benchmarks]]"));
        let file = flags.iter().find_map(|flag| flag.strip_prefix("file="));
        Ok(match file {
            Some(name) => {
                let name = name.to_owned();
                Some(self.make_block(is_plan, Content::File { name, text }))
            }
            None if is_plan => Some(self.make_block(true, Content::Plan(text))),
            None => None,
        })
    }

    /// Makes a block at this fence's line with this content.
    fn make_block(&self, is_plan: bool, content: Content) -> Block {
        Block { line: self.start + 1, indent: self.indent, is_plan, content }
    }

    /// Makes the error at a line of the block, counted from its opening fence.
    fn bad_block(&self, index: usize, advice: &str) -> BadBlock {
        BadBlock { line: self.start + 1 + index, advice: advice.to_owned() }
    }

    /// Reads the commands of a block with what they print.
    fn read_steps(&self) -> Result<Vec<Step>, BadBlock> {
        let mut steps = Vec::new();
        let mut index = 0;
        while index < self.lines.len() {
            let Some(command) = self.lines[index].strip_prefix("$ ") else {
                return Err(self.bad_block(index + 1, "a transcript starts with `$ command`"));
            };
            let line = self.start + index + 2;
            let mut command = command.trim_end().to_owned();
            index += 1;
            while command.ends_with('\\') && index < self.lines.len() {
                command.pop();
                command.push_str(self.lines[index].trim());
                index += 1;
            }
            let output = index;
            let mut exit = 0;
            let code = self.lines.get(index).and_then(|l| l.strip_prefix("? "));
            if let Some(code) = code {
                exit = code.trim().parse().map_err(|_| self.bad_block(index + 1, "`?` is followed by an exit code"))?;
                index += 1;
            }
            let first = index;
            while index < self.lines.len() && !self.lines[index].starts_with("$ ") {
                index += 1;
            }
            let expected = super::trim_end(&self.lines[first..index].join("\n"));
            // Empty lines before the next command belong to the layout, not to the output.
            let used = first + expected.lines().count();
            steps.push(Step {
                line,
                command,
                exit,
                expected,
                output_lines: self.start + 1 + output..self.start + 1 + used,
            });
        }
        Ok(steps)
    }
}

/// Whether the HTML before a block says why it is not run: `<!-- not run: reason -->`.
fn is_reason(before: &str) -> bool {
    before
        .strip_prefix("<!-- not run:")
        .and_then(|rest| rest.strip_suffix("-->"))
        .is_some_and(|reason| !reason.trim().is_empty())
}
