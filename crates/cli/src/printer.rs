//! The only writer to the terminal: data to stdout, everything else to stderr.
//!
//! Names, errors and texts come from servers, agents, files and other processes. Whatever goes to a terminal passes
//! [`clean_text`] here, so that none of it can command it; and what stdout does not take is remembered, for the exit code.

use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};

use report::text::{clean_text as clean_line, is_unsafe};

use crate::args::Color;
use crate::error::CliError;

/// The first error of stdout that was not a closed pipe.
static LOST: Mutex<Option<std::io::Error>> = Mutex::new(None);

/// Prints a line to stderr, from any thread: a script's `debug(x)`, an agent's log.
pub fn log_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", clean_text(text));
}

/// Removes from a text what would command a terminal: control characters but line feeds and tabs, and direction marks.
pub fn clean_text(text: &str) -> String {
    let lines = text.split('\n').map(|text| clean_tabs(text.strip_suffix('\r').unwrap_or(text)));
    lines.collect::<Vec<_>>().join("\n")
}

/// Cleans the parts of a line between its tabs, which stay.
fn clean_tabs(line: &str) -> String {
    line.split('\t').map(clean_line).collect::<Vec<_>>().join("\t")
}

/// Cleans a text but for colour codes, `ESC [ digits m`, which étalon's renderer writes.
fn clean_coloured(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut out = clean_text(parts.next().unwrap_or_default());
    for part in parts {
        let code = part.strip_prefix('[').and_then(|rest| rest.split_once('m'));
        match code.filter(|(code, _)| code.bytes().all(|byte| byte.is_ascii_digit() || byte == b';')) {
            Some((code, rest)) => out.push_str(&format!("\u{1b}[{code}m{}", clean_text(rest))),
            None => out.push_str(&clean_text(&format!("\u{1b}{part}"))),
        }
    }
    out
}

/// Escapes in JSON what would command a terminal; the JSON means the same.
fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_unsafe(c) && !matches!(c, '\n' | '\t') {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// Whether stderr is coloured.
    pub color: bool,
    /// Whether stdout is coloured.
    pub color_out: bool,
    /// Print only results, warnings and errors.
    quiet: bool,
    /// Stdout holds one JSON object and nothing else.
    pub json: bool,
    /// Print nothing of what is read, for a look into files.
    silent: bool,
}

impl Printer {
    /// Makes a printer that uses colours on terminals, unless `--color` or `NO_COLOR` says otherwise.
    pub fn new(color: Color, quiet: bool, json: bool) -> Printer {
        // https://no-color.org: an empty value does not count.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let wanted = |terminal: bool| match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => terminal && !refused,
        };
        Printer {
            color: wanted(std::io::stderr().is_terminal()),
            color_out: wanted(std::io::stdout().is_terminal()),
            quiet,
            json,
            silent: false,
        }
    }

    /// Makes a printer that keeps notes, remarks and warnings to itself.
    pub fn silent() -> Printer {
        Printer { silent: true, ..Printer::new(Color::Never, true, false) }
    }

    /// Columns of the output; 80 if they are not known.
    pub fn width(self) -> usize {
        self.known_width().unwrap_or(80)
    }

    /// Columns by `COLUMNS`, else the terminal's; `None` if neither is known.
    pub fn known_width(self) -> Option<usize> {
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        columns.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
    }

    /// Prints text, or the object of `--json`, to stdout.
    pub fn print_result(self, text: &str) {
        self.write_stdout(&if self.json { escape_json(text) } else { clean_text(text) });
    }

    /// Prints text to stdout with the colours of étalon's renderer, or without any.
    pub fn print_coloured(self, text: &str) {
        self.write_stdout(&if self.color_out { clean_coloured(text) } else { clean_text(text) });
    }

    /// Prints data to stdout, unchanged unless stdout is a terminal.
    pub fn print_data(self, text: &str) {
        if std::io::stdout().is_terminal() { self.print_result(text) } else { self.write_stdout(text) }
    }

    /// Writes to stdout; an error is remembered for [`Printer::take_lost`], and a closed pipe is none.
    fn write_stdout(self, text: &str) {
        let mut lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
        if lost.is_some() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        let written = stdout
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { stdout.write_all(b"\n") })
            .and_then(|()| stdout.flush());
        *lost = written.err().filter(|error| error.kind() != ErrorKind::BrokenPipe);
    }

    /// Takes what kept stdout from being written, as an error; `None` if all was.
    pub fn take_lost(self) -> Option<CliError> {
        let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner).take();
        lost.map(|error| {
            CliError::could_not_run(format!("cannot write to stdout: {error}"))
                .with_hint("what was printed is not complete")
        })
    }

    /// Prints text to stdout, folded for a reader at a terminal.
    pub fn print_folded(self, text: &str) {
        self.print_result(&self.fold_for_reader(text, std::io::stdout().is_terminal()));
    }

    /// Prints a note to stderr.
    pub fn print_note(self, text: &str) {
        if !self.quiet {
            log_line(&self.fold_for_reader(text, std::io::stderr().is_terminal()));
        }
    }

    /// Prints to stderr, whether quiet or not, what the user has to know to go on.
    pub fn print_always(self, text: &str) {
        log_line(text);
    }

    /// Whether only results, warnings and errors are printed.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Prints a question to stderr, without a line end.
    pub fn print_question(self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{}", clean_text(text));
        let _ = stderr.flush();
    }

    /// The sink of scripts' `debug(x)`, callable from any thread; `None` if quiet.
    pub fn debug_sink(self) -> Option<fn(&str)> {
        if self.quiet { None } else { Some(log_line) }
    }

    /// Asks on the terminal, where only `y` and `yes` agree; `None` without a terminal.
    pub fn confirm(self, question: &str) -> Option<bool> {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return None;
        }
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{} [y/N] ", clean_text(question)).and_then(|()| stderr.flush());
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        Some(read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// Prints a warning to stderr.
    pub fn print_warning(self, text: &str) {
        if !self.silent {
            self.print_labelled("warning", "33", text);
        }
    }

    /// Prints an error with context and hint to stderr.
    pub fn print_error(self, error: &CliError) {
        self.print_labelled("error", "31", &error.message);
        let mut stderr = std::io::stderr().lock();
        for line in &error.context {
            let _ = writeln!(stderr, "  {}", clean_text(line));
        }
        for hint in &error.hints {
            let label = if self.color { "\x1b[36mhint\x1b[0m" } else { "hint" };
            let _ = writeln!(stderr, "\n{label}: {}", clean_text(hint));
        }
    }

    /// Prints a remark, labelled `note`, to stderr, unless quiet.
    pub fn print_remark(self, text: &str) {
        if !self.quiet {
            self.print_labelled("note", "36", text);
        }
    }

    /// Prints a text after a coloured label to stderr.
    fn print_labelled(self, label: &str, code: &str, text: &str) {
        let line = self.fold_for_reader(&format!("{label}: {}", clean_text(text)), std::io::stderr().is_terminal());
        let mut stderr = std::io::stderr().lock();
        let _ = match line.strip_prefix(label) {
            Some(rest) if self.color => writeln!(stderr, "\x1b[1;{code}m{label}\x1b[0m{rest}"),
            _ => writeln!(stderr, "{line}"),
        };
    }

    /// Folds text at a terminal's width; any other output keeps whole lines.
    fn fold_for_reader(self, text: &str, is_terminal: bool) -> String {
        match self.known_width() {
            Some(width) if is_terminal => fold_text(text, width),
            _ => text.to_owned(),
        }
    }
}

/// Folds lines at a width; further parts are indented by four more than their line.
fn fold_text(text: &str, width: usize) -> String {
    text.lines()
        .map(|line| {
            if line.chars().count() <= width {
                return line.to_owned();
            }
            let own = line.len() - line.trim_start_matches(' ').len();
            let parts = report::text::wrap_to_width(line, width.saturating_sub(own), own + 4);
            format!("{:own$}{}", "", parts.trim_end())
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::{clean_coloured, clean_text, escape_json, fold_text};

    #[test]
    fn strangers_text_commands_no_terminal() {
        let hostile = "a\u{1b}[2J\u{1b}]0;t\u{7}\rb\u{9b}31m\u{202e}c\u{7f}\td\r\ne";
        let cleaned = clean_text(hostile);
        assert_eq!(cleaned, "a\u{fffd}[2J\u{fffd}]0;t\u{fffd}\u{fffd}b\u{fffd}31m\u{fffd}c\u{fffd}\td\ne");
        assert_eq!(
            clean_coloured("\u{1b}[1;31mx\u{1b}[0m \u{1b}[2Jy\u{1b}"),
            "\u{1b}[1;31mx\u{1b}[0m \u{fffd}[2Jy\u{fffd}"
        );
        let json = serde_json::json!({ "a": hostile }).to_string();
        let escaped = escape_json(&json);
        assert!(!escaped.chars().any(report::text::is_unsafe), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap()["a"], hostile);
    }

    #[test]
    fn long_lines_are_folded_and_indented_and_short_ones_stay() {
        let long = format!("note: it is{}", " so".repeat(100));
        let text = fold_text(&format!("  as  it is\n{long}"), 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  as  it is");
        assert!(lines.len() > 4 && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(lines[1].starts_with("note: ") && lines[2..].iter().all(|line| line.starts_with("    so")), "{text}");
        assert_eq!(lines[1..].iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" "), long);
        let indented = fold_text(&format!("  1 case {}", "key=value ".repeat(20)), 80);
        assert!(indented.starts_with("  1 case key=value ") && indented.contains("\n      key=value "), "{indented}");
        assert!(indented.lines().all(|line| line.chars().count() <= 80), "{indented}");
    }
}
