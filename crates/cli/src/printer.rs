//! The only place that writes to the terminal: stdout is data, stderr everything else.

use std::io::{IsTerminal as _, Write as _};

use crate::args::Color;
use crate::error::CliError;

/// A line of a script's `debug(x)`, to stderr.
fn debug_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Writes what a command has to say.
#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// Whether stderr may be coloured.
    pub color: bool,
    /// Whether stdout may be coloured.
    pub color_out: bool,
    /// Whether anything but results and errors is said.
    quiet: bool,
    /// Whether stdout must hold one JSON object and nothing else.
    pub json: bool,
}

impl Printer {
    /// A printer as the command line asks for it.
    pub fn new(color: Color, quiet: bool, json: bool) -> Printer {
        // https://no-color.org: only a value that is not empty counts.
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
        }
    }

    /// Columns of the terminal; 80 where there is none.
    pub fn width(self) -> usize {
        self.known_width().unwrap_or(80)
    }

    /// Columns of the terminal, if there is one.
    pub fn known_width(self) -> Option<usize> {
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        told.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
    }

    /// Data, to stdout. A closed pipe is the reader's right, not an error.
    pub fn out(self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { stdout.write_all(b"\n") });
        let _ = stdout.flush();
    }

    /// Anything else, to stderr.
    pub fn note(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    }

    /// Whether only results and errors are said.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// A question, to stderr, the answer to stand behind it.
    pub fn ask(self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{text}");
        let _ = stderr.flush();
    }

    /// Where the lines of scripts' `debug(x)` go: to stderr, from whatever thread they come.
    pub fn debug_sink(self) -> Option<fn(&str)> {
        if self.quiet { None } else { Some(debug_line) }
    }

    /// Asks a question of somebody at a terminal; `None` where nobody is there. Only `y` and `yes` agree.
    pub fn confirm(self, question: &str) -> Option<bool> {
        if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return None;
        }
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{question} [y/N] ").and_then(|()| stderr.flush());
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer);
        Some(read.is_ok() && matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }

    /// A warning, to stderr.
    pub fn warning(self, text: &str) {
        self.labelled("warning", "33", text);
    }

    /// An error with its place and its hint, to stderr.
    pub fn error(self, error: &CliError) {
        self.labelled("error", "31", &error.message);
        let mut stderr = std::io::stderr().lock();
        for line in &error.context {
            let _ = writeln!(stderr, "  {line}");
        }
        for hint in &error.hints {
            let label = if self.color { "\x1b[36mhint\x1b[0m" } else { "hint" };
            let _ = writeln!(stderr, "\n{label}: {hint}");
        }
    }

    fn labelled(self, label: &str, code: &str, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = if self.color {
            writeln!(stderr, "\x1b[1;{code}m{label}\x1b[0m: {text}")
        } else {
            writeln!(stderr, "{label}: {text}")
        };
    }
}
