//! `cargo xtask docs`: executes the transcripts in `README.md` and `docs/`, so they stay true.
//!
//! | block | what happens |
//! |---|---|
//! | ```` ```console ```` | every `$ command` is run, and what it prints is compared |
//! | ```` ```toml file=plan.toml ```` (any language) | is written into the document's folder first |
//! | ```` ```toml ```` that holds systems or benchmarks | must pass `etalon plan` |
//! | ```` ```toml,fragment ```` | is not checked |
//! | ```` ```console,no-run ```` | is not run; `<!-- not run: reason -->` stands just before it |
//!
//! The blocks of one document share one folder, in order; it is empty but for copies of the tables (`.csv`) that lie
//! next to the document, and of the files in a folder of the document's name (`cookbook/` of `cookbook.md`). Commands are
//! `etalon ...`, `psql ...`, `timeout ... etalon ...`, `cat FILE...` and `ls [FOLDER]`; there is no shell, but a `*` in the
//! last part of a path names files, and a `\` at the end of a line continues it. `etalon ... &` and
//! `nats-server ... &` go on until the document ends; the next command waits until they are ready, and
//! `127.0.0.1:4222` is a free port in their place. The first `psql` starts a PostgreSQL for the document, for which
//! `127.0.0.1:5432` stands.
//! `? 2` right after the command is its exit code (0 otherwise). A line `...` stands for any lines,
//! `[..]` for any text within a line, `[CWD]` for the folder. What goes to stdout and stderr is
//! compared together, in the order in which it was written.

mod blocks;
mod commands;
mod reader;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use snapbox::Data;
use snapbox::filter::{NormalizeToExpected, normalize_lines};
use tempfile::TempDir;

use crate::bench;
use blocks::{Block, Content, Step};
use commands::{Outcome, Sandbox};

/// What to execute.
#[derive(Args, Default)]
pub struct Options {
    /// Write output that differs into the documents.
    #[arg(long)]
    pub bless: bool,
    /// Only these documents.
    pub documents: Vec<PathBuf>,
}

/// Names the `etalon` to run.
pub const ETALON: &str = "ETALON_BIN";

/// Runs the transcripts in the documents that are named, or in all. True if all hold.
///
/// # Errors
///
/// When `etalon` cannot be built or a document cannot be read or written.
pub fn run(root: &Path, options: &Options) -> Result<bool> {
    run_with(root, options, &etalon_path(root)?)
}

/// Runs the transcripts of documents with this `etalon`, as [`run`] does with its own.
pub fn run_with(root: &Path, options: &Options, etalon: &Path) -> Result<bool> {
    let documents = match options.documents.as_slice() {
        [] => all_documents(root)?,
        // A name alone has no folder.
        named => named.iter().map(std::path::absolute).collect::<Result<_, _>>()?,
    };
    let (mut commands, mut failures) = (0, 0);
    for path in &documents {
        let name = path.strip_prefix(root).unwrap_or(path);
        let name = name.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(path).with_context(|| name.clone())?;
        let mut document = Document::new(name, &text, etalon)?;
        copy_files(path.parent().unwrap_or(root), Some("csv"), &document.sandbox.folder)?;
        let own = path.with_extension("");
        if own.is_dir() {
            copy_files(&own, None, &document.sandbox.folder)?;
        }
        document.run()?;
        commands += document.commands;
        if options.bless && !document.edits.is_empty() {
            fs::write(path, document.blessed_text()).with_context(|| document.name.clone())?;
            eprintln!("{}: rewritten", document.name);
            document.failures.retain(|failure| !failure.blessed);
        }
        failures += document.failures.len();
        for failure in &document.failures {
            eprintln!("{}", failure.text);
        }
    }
    eprintln!("docs: {} documents, {commands} commands, {failures} failures", documents.len());
    if failures > 0 && !options.bless {
        eprintln!("hint: if the new output is right: cargo xtask docs --bless");
    }
    Ok(failures == 0)
}

/// Lists `README.md` and the Markdown files under `docs/`.
fn all_documents(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let readme = root.join("README.md");
    found.extend(readme.is_file().then_some(readme));
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&folder).context("docs")? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies the files of one folder, or those with this ending, into another.
fn copy_files(from: &Path, ending: Option<&str>, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let is_wanted = ending.is_none() || path.extension().and_then(|e| e.to_str()) == ending;
        if let (true, true, Some(name)) = (is_wanted, path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name)).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// Gives the path of the `etalon` to run: [`ETALON`], or the debug build, made now.
pub fn etalon_path(root: &Path) -> Result<PathBuf> {
    match std::env::var_os(ETALON) {
        Some(path) => fs::canonicalize(&path).context(ETALON),
        None => Ok(bench::build_etalon(root, "dev", &[])?.etalon),
    }
}

/// Something that does not hold.
struct Failure {
    text: String,
    /// `--bless` repairs it.
    blessed: bool,
}

/// One document while it is executed.
struct Document<'a> {
    name: String,
    text: &'a str,
    sandbox: Sandbox,
    _folder: TempDir,
    commands: usize,
    failures: Vec<Failure>,
    /// Line ranges of `text` (counted from 0, end excluded) and what to write there.
    edits: Vec<(std::ops::Range<usize>, String)>,
}

impl<'a> Document<'a> {
    fn new(name: String, text: &'a str, etalon: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("etalon-docs-").tempdir()?;
        let sandbox = Sandbox::new(folder.path(), etalon)?;
        Ok(Self { name, text, sandbox, _folder: folder, commands: 0, failures: Vec::new(), edits: Vec::new() })
    }

    /// Notes a failure at a line of the document.
    fn note_failure_at(&mut self, line: usize, text: impl std::fmt::Display) {
        self.failures.push(Failure { text: format!("{}:{line}: {text}", self.name), blessed: false });
    }

    /// Executes all blocks of the document.
    fn run(&mut self) -> Result<()> {
        for block in blocks::parse_blocks(self.text) {
            let block = match block {
                Ok(block) => block,
                Err(error) => {
                    self.note_failure_at(error.line, error.advice);
                    continue;
                }
            };
            match &block.content {
                Content::File { name, text } => {
                    self.write_file(&block, name, text)?;
                    if block.is_plan {
                        self.check_plan(&block, name)?;
                    }
                }
                Content::Plan(text) => {
                    let name = format!(".plan-at-line-{}.toml", block.line);
                    self.write_file(&block, &name, text)?;
                    self.check_plan(&block, &name)?;
                    fs::remove_file(self.sandbox.folder.join(name))?;
                }
                Content::Transcript(steps) => {
                    for step in steps {
                        self.run_step(&block, step)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes the file that a block holds.
    fn write_file(&mut self, block: &Block, name: &str, text: &str) -> Result<()> {
        let is_inside = Path::new(name).components().all(|part| matches!(part, std::path::Component::Normal(_)));
        if !is_inside {
            self.note_failure_at(block.line, format!("file={name} leaves the folder"));
            return Ok(());
        }
        let path = self.sandbox.folder.join(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, self.sandbox.localize(text)).with_context(|| name.to_owned())
    }

    /// Checks the plan in a file by `etalon plan`; notes a failure if it is not accepted.
    fn check_plan(&mut self, block: &Block, name: &str) -> Result<()> {
        self.commands += 1;
        let words = ["etalon", "plan", name].map(str::to_owned);
        let outcome = self.sandbox.run_words(&words)?;
        if outcome.exit != Some(0) {
            let text = format!("etalon plan does not accept this plan ({})\n{}", outcome.exit_text(), outcome.output);
            self.note_failure_at(block.line, text);
        }
        Ok(())
    }

    /// Runs a command; notes a failure, and the edit that would bless it, if it prints something else.
    fn run_step(&mut self, block: &Block, step: &Step) -> Result<()> {
        self.commands += 1;
        let Some(words) = shlex::split(&step.command) else {
            self.note_failure_at(step.line, "a quote is not closed");
            return Ok(());
        };
        let outcome = match self.sandbox.run_words(&words) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.note_failure_at(step.line, format!("{error:#}"));
                return Ok(());
            }
        };
        let actual = self.normalize(&outcome, &step.expected);
        let is_same_exit = outcome.exit == Some(step.exit);
        if is_same_exit && actual == step.expected {
            return Ok(());
        }
        let mut text = format!("{}:{}: $ {}\n", self.name, step.line, step.command);
        if !is_same_exit {
            let got = outcome.exit_text();
            text += &format!("expected exit code {}, got {got}\n", step.exit);
        }
        text += &diff_text(&step.expected, &actual);
        let blessed = outcome.exit.is_some();
        self.failures.push(Failure { text, blessed });
        if let Some(exit) = outcome.exit {
            let mut new = String::new();
            if exit != 0 {
                new += &format!("? {exit}\n");
            }
            new += &actual;
            let indent = " ".repeat(block.indent);
            let new: String = new.lines().map(|line| format!("{indent}{line}\n")).collect();
            self.edits.push((step.output_lines.clone(), new));
        }
        Ok(())
    }

    /// Gives what was printed, with the wildcards of `expected` in place of what they match.
    fn normalize(&self, outcome: &Outcome, expected: &str) -> String {
        let actual = Data::text(trim_end(&drop_machine_notes(&normalize_lines(&outcome.output))));
        NormalizeToExpected::new()
            .redact_with(&self.sandbox.redactions)
            .normalize(actual, &Data::text(expected.to_owned()))
            .to_string()
    }

    /// Gives the document with every edit made.
    fn blessed_text(&self) -> String {
        let mut lines: Vec<String> = self.text.split_inclusive('\n').map(str::to_owned).collect();
        for (range, new) in self.edits.iter().rev() {
            lines.splice(range.clone(), [new.clone()]);
        }
        lines.concat()
    }
}

/// Leaves out what only the machine of this moment has to say: a document is true on a busy one as well.
fn drop_machine_notes(output: &str) -> String {
    const SAID: [&str; 2] = ["note: during the runs: ", "warning: before the first run, "];
    let mut kept: Vec<&str> = Vec::new();
    let mut is_left_out = false;
    for line in output.lines() {
        let is_noise = SAID.iter().any(|said| line.starts_with(said));
        let is_its_rest = is_left_out && line.starts_with("      ");
        // The empty line that parts notes from tables goes with the only note.
        let parts_nothing = is_left_out && line.is_empty() && !ends_in_note(&kept);
        is_left_out = is_noise || is_its_rest;
        if !(is_left_out || parts_nothing) {
            kept.push(line);
        }
    }
    let paragraphs: Vec<Vec<&str>> = kept.split(|line| line.is_empty()).map(drop_machine_sentence).collect();
    paragraphs.join(&"").iter().map(|line| format!("{line}\n")).collect()
}

/// Leaves out the answer's last sentence, if it is of the machine; the lines before it break where they did.
fn drop_machine_sentence<'a>(paragraph: &[&'a str]) -> Vec<&'a str> {
    let begins =
        |line: &&&str| line.starts_with("The machine") || line.contains(". The machine") || line.ends_with(". The");
    let Some(at) = paragraph.iter().position(|line| begins(&line)).filter(|at: &usize| {
        let rest = paragraph[*at..].join(" ");
        rest.ends_with('.') && ["was busy", "hypervisor kept"].iter().any(|said| rest.contains(said))
    }) else {
        return paragraph.to_vec();
    };
    let before = paragraph[at].rsplit_once(". The").map(|(before, _)| &paragraph[at][..=before.len()]);
    paragraph[..at].iter().copied().chain(before).collect()
}

/// Whether the last line is one of a note.
fn ends_in_note(lines: &[&str]) -> bool {
    let first = lines.iter().rev().find(|line| !line.starts_with("      "));
    first.is_some_and(|line| line.starts_with("note: "))
}

/// Trims trailing empty lines, and ends a text that is left with a line end.
fn trim_end(text: &str) -> String {
    match text.trim_end() {
        "" => String::new(),
        text => format!("{text}\n"),
    }
}

/// Writes a unified view of the difference between two outputs.
fn diff_text(expected: &str, actual: &str) -> String {
    let mut text = String::new();
    let written = snapbox::report::write_diff(
        &mut text,
        &Data::text(expected.to_owned()),
        &Data::text(actual.to_owned()),
        Some(&"the document"),
        Some(&"this run"),
        snapbox::report::Palette::plain(),
    );
    if written.is_err() {
        return format!("expected:\n{expected}got:\n{actual}");
    }
    text
}

#[cfg(test)]
mod tests;
