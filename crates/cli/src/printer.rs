//! The only writer to the terminal: data to stdout, everything else to stderr.

use std::io::{IsTerminal as _, Write as _};

use crate::args::Color;
use crate::error::CliError;

/// A script's `debug(x)` to stderr.
fn debug_line(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[derive(Clone, Copy, Debug)]
pub struct Printer {
    /// Of stderr.
    pub color: bool,
    /// Of stdout.
    pub color_out: bool,
    /// Only results, warnings and errors.
    quiet: bool,
    /// Stdout holds one JSON object and nothing else.
    pub json: bool,
}

impl Printer {
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
        }
    }

    pub fn width(self) -> usize {
        self.known_width().unwrap_or(80)
    }

    pub fn known_width(self) -> Option<usize> {
        let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        told.or_else(|| terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)))
    }

    /// To stdout. A closed pipe is no error.
    pub fn out(self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let _ = stdout
            .write_all(text.as_bytes())
            .and_then(|()| if text.ends_with('\n') { Ok(()) } else { stdout.write_all(b"\n") });
        let _ = stdout.flush();
    }

    /// To stdout, folded for a reader at a terminal.
    pub fn out_folded(self, text: &str) {
        self.out(&self.folded(text, std::io::stdout().is_terminal()));
    }

    /// To stderr.
    pub fn note(self, text: &str) {
        if !self.quiet {
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
    }

    /// Whether only results, warnings and errors are said.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// To stderr, without a line end.
    pub fn ask(self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        let _ = write!(stderr, "{text}");
        let _ = stderr.flush();
    }

    /// Callable from any thread.
    pub fn debug_sink(self) -> Option<fn(&str)> {
        if self.quiet { None } else { Some(debug_line) }
    }

    /// `None` without a terminal. Only `y` and `yes` agree.
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

    /// To stderr.
    pub fn warning(self, text: &str) {
        self.labelled("warning", "33", text);
    }

    /// To stderr, with context and hint.
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

    /// To stderr, unless only results, warnings and errors are said.
    pub fn remark(self, text: &str) {
        if !self.quiet {
            self.labelled("note", "36", text);
        }
    }

    fn labelled(self, label: &str, code: &str, text: &str) {
        let line = self.folded(&format!("{label}: {text}"), std::io::stderr().is_terminal());
        let mut stderr = std::io::stderr().lock();
        let _ = match line.strip_prefix(label) {
            Some(rest) if self.color => writeln!(stderr, "\x1b[1;{code}m{label}\x1b[0m{rest}"),
            _ => writeln!(stderr, "{line}"),
        };
    }

    /// For a reader at a terminal; a file keeps whole lines.
    fn folded(self, text: &str, is_terminal: bool) -> String {
        match self.known_width().filter(|_| is_terminal) {
            Some(width) => folded(text, width),
            None => text.to_owned(),
        }
    }
}

/// What a line is indented by, its parts are.
fn folded(text: &str, width: usize) -> String {
    let fold = |line: &str| {
        if line.chars().count() <= width {
            return line.to_owned();
        }
        let own = line.len() - line.trim_start_matches(' ').len();
        let parts = report::text::wrapped(line, width.saturating_sub(own), own + 4);
        format!("{:own$}{}", "", parts.trim_end())
    };
    text.lines().map(fold).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn long_lines_are_folded_and_indented_and_short_ones_stay() {
        let long = format!("note: it is{}", " so".repeat(100));
        let text = folded(&format!("  as  it is\n{long}"), 80);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "  as  it is");
        assert!(lines.len() > 4 && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
        assert!(lines[1].starts_with("note: ") && lines[2..].iter().all(|line| line.starts_with("    so")), "{text}");
        assert_eq!(lines[1..].iter().flat_map(|line| line.split_whitespace()).collect::<Vec<_>>().join(" "), long);
        let indented = folded(&format!("  1 case {}", "key=value ".repeat(20)), 80);
        assert!(indented.starts_with("  1 case key=value ") && indented.contains("\n      key=value "), "{indented}");
        assert!(indented.lines().all(|line| line.chars().count() <= 80), "{indented}");
    }
}
