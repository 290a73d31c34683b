//! Charts as pictures, by whichever program of this machine draws SVG: a renderer and its fonts were a tenth of what a
//! first build compiled.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::error::CliError;

/// Programs that read a drawing from stdin and write a picture of twice its size to stdout: sharp on dense screens and on
/// paper.
const PROGRAMS: [(&str, &[&str]); 3] = [
    ("rsvg-convert", &["--zoom", "2"]),
    ("resvg", &["--zoom", "2", "-", "-c"]),
    // Its unit is a 96th of an inch.
    ("inkscape", &["--pipe", "--export-type=png", "--export-dpi=192", "--export-filename=-"]),
];
/// What every picture begins with.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

pub struct Painter {
    program: &'static str,
    arguments: &'static [&'static str],
}

impl Painter {
    /// Finds the first program on this machine that draws SVG as PNG; fails if there is none.
    pub fn new() -> Result<Painter, CliError> {
        let found = PROGRAMS.iter().find(|(program, _)| can_start(program));
        let (program, arguments) = found.ok_or_else(|| {
            let names = PROGRAMS.map(|(name, _)| format!("`{name}`")).join(", ");
            CliError::could_not_run("cannot draw pictures: no program that makes PNG of SVG is on the path")
                .with_context(format!("looked for {names}"))
                .with_hint(
                    "`apt install librsvg2-bin` or `brew install librsvg`, or `--format svg`, which any browser opens",
                )
        })?;
        Ok(Painter { program, arguments })
    }

    /// Draws an SVG text with the painter's program; returns the bytes of a PNG file.
    pub fn to_png(&self, svg: &str) -> Result<Vec<u8>, CliError> {
        let mut child = Command::new(self.program)
            .args(self.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.cannot_draw(&error.to_string()))?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            // A full pipe blocks its writer until the other end is read. The program reports itself what it left unread.
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(svg.as_bytes())));
            child.wait_with_output()
        })
        .map_err(|error| self.cannot_draw(&error.to_string()))?;
        if !output.status.success() || !output.stdout.starts_with(SIGNATURE) {
            return Err(self.cannot_draw(&format!(
                "{}; {}",
                output.status,
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        Ok(output.stdout)
    }

    /// Makes the error for a chart that the painter's program did not draw.
    fn cannot_draw(&self, what: &str) -> CliError {
        CliError::could_not_run(format!("cannot draw a chart by {}: {what}", self.program))
    }
}

/// Tests whether a program runs with `--version`.
fn can_start(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdin(Stdio::null()).output();
    quiet.is_ok_and(|output| output.status.success())
}
