//! Files that verbs write: the seal by which étalon knows its own again, names that are free, and what an error says.

use std::path::{Path, PathBuf};

use host::files::{self, PutError, Replacing};
use sha2::{Digest as _, Sha256};

use crate::error::CliError;

/// The `FILE` that is stdout.
pub const STDOUT: &str = "-";
/// Stands in a file's last line, before the digest of all lines above it.
const SEAL: &str = "étalon wrote this file, sha256 ";
/// Most names that are tried for a report that no one gave a name.
const MOST_NAMES: u32 = 1_000;

/// Says whether files that étalon did not write may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    OwnOnly,
    /// `--force`.
    Any,
}

impl Consent {
    /// Takes `--force` as consent to replace any file; without it only étalon's own.
    pub fn from_force(force: bool) -> Consent {
        if force { Consent::Any } else { Consent::OwnOnly }
    }
}

/// How a format writes a comment, in which the seal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comment {
    /// HTML, SVG and Markdown.
    Markup,
    /// CSV.
    Hash,
}

/// Appends a comment line to a text that says that étalon wrote it, with a digest that shows later changes.
pub fn seal_text(mut text: String, comment: Comment) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    let seal = format!("{SEAL}{}", hex_digest(text.as_bytes()));
    text.push_str(&match comment {
        Comment::Markup => format!("<!-- {seal} -->\n"),
        Comment::Hash => format!("# {seal}\n"),
    });
    text
}

/// Cuts the last line off a text if it is étalon's seal.
pub fn without_seal(text: &str) -> &str {
    let lines = text.strip_suffix('\n').unwrap_or(text);
    let last = lines.rfind('\n').map_or(0, |at| at + 1);
    if lines[last..].contains(SEAL) { &text[..last] } else { text }
}

/// Tests whether étalon wrote a file and nothing has changed it since.
fn is_sealed(bytes: &[u8]) -> bool {
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let end = lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (above, last) = lines.split_at(end);
    let sealed = std::str::from_utf8(last).ok().and_then(|last| last.split_once(SEAL));
    sealed.is_some_and(|(_, sealed)| sealed.split(' ').next() == Some(hex_digest(above).as_str()))
}

/// SHA-256 of bytes, in hexadecimal.
fn hex_digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes the file that the user named: a device or a pipe in place, a file only where nothing else is.
///
/// # Errors
/// What is there stays, or the file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8], consent: Consent) -> Result<(), CliError> {
    if files::is_stream(path) {
        return files::write_to_stream(path, bytes).map_err(|error| CliError::could_not_run(error.to_string()));
    }
    put_file(path, bytes, consent).map_err(|error| put_refused(&error))
}

/// Writes a file that no one named, under the next free name if it is taken, as `x-2.html`; returns its path.
///
/// # Errors
/// The file cannot be written.
pub fn write_unnamed(path: &Path, bytes: &[u8], consent: Consent) -> Result<PathBuf, CliError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (2..MOST_NAMES).map(|number| path.with_file_name(format!("{stem}-{number}.{extension}")));
    let mut first = None;
    for path in std::iter::once(path.to_owned()).chain(numbered) {
        match put_file(&path, bytes, consent) {
            Ok(()) => return Ok(path),
            Err(error @ PutError::Occupied { .. }) => first = first.or(Some(put_refused(&error))),
            Err(error @ PutError::Host(_)) => return Err(put_refused(&error)),
        }
    }
    Err(first.unwrap_or_else(|| CliError::could_not_run(format!("cannot write {}", path.display()))))
}

/// Writes a file, replacing only what the user allows to be replaced.
fn put_file(path: &Path, bytes: &[u8], consent: Consent) -> Result<(), PutError> {
    let replacing = match consent {
        Consent::OwnOnly => Replacing::Own(&is_sealed),
        Consent::Any => Replacing::Any,
    };
    files::put_file(path, bytes, replacing)
}

/// Makes the error for a file that could not be written, or that may not be replaced.
pub fn put_refused(error: &PutError) -> CliError {
    match error {
        PutError::Occupied { occupant, .. } => {
            let hint = if occupant.is_replaceable() {
                "name another file with `-o FILE`, or replace it with `--force`"
            } else {
                "name another file with `-o FILE`"
            };
            CliError::user_error(error.to_string()).with_hint(hint)
        }
        PutError::Host(_) => CliError::could_not_run(error.to_string()).with_hint("name another file with `-o FILE`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_holds_until_the_text_is_changed() {
        for comment in [Comment::Markup, Comment::Hash] {
            for text in ["", "a", "a\nb\n", "a\r\n"] {
                let written = seal_text(text.to_owned(), comment);
                assert!(is_sealed(written.as_bytes()), "{written}");
                assert!(!is_sealed(format!("{written}my note\n").as_bytes()));
                assert!(!is_sealed(format!("my note\n{written}").as_bytes()));
            }
        }
        assert_eq!(without_seal(&seal_text("a\nb\n".to_owned(), Comment::Hash)), "a\nb\n");
        assert_eq!(without_seal("a\nb"), "a\nb");
        assert!(!is_sealed(b"") && !is_sealed("étalon wrote this file, sha256 0\n".as_bytes()));
    }
}
