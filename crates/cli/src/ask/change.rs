//! A server before and after a change: `--change` and `--undo`.

use std::fmt::Write as _;
use std::path::Path;

use model::Change;

use super::quote_toml;
use super::words::{self, SystemWord};
use crate::args::States;
use crate::args::guessed::{process_arguments, typed_line};
use crate::error::CliError;

/// The names of the two states, behind the name that the server has got.
const STATES: [&str; 2] = ["before", "after"];

/// Reads the change that `--change` and `--undo` name, with its files.
///
/// # Errors
/// It names no way to undo it, or a file cannot be read.
pub fn read_change(states: &States) -> Result<Option<Change>, CliError> {
    if !states.has_change() {
        return Ok(None);
    }
    if states.change.is_empty() {
        return Err(CliError::user_error("`--undo` undoes a change, and none is named")
            .with_hint("name it, too: `--change 'CREATE INDEX …' --undo 'DROP INDEX …'`"));
    }
    if states.undo.is_empty() {
        let line = [process_arguments(), vec!["--undo".to_owned(), "SQL that undoes it".to_owned()]].concat();
        return Err(CliError::user_error(
            "étalon changes a server only if it can undo the change, and there is no `--undo`",
        )
        .with_hint(format!("say how: `{}`", typed_line(&line))));
    }
    Ok(Some(Change { make: read_texts(&states.change)?, undo: read_texts(&states.undo)? }))
}

/// Reads statements, or the files that hold them.
fn read_texts(written: &[String]) -> Result<Vec<String>, CliError> {
    written.iter().map(|word| read_text(word)).collect()
}

/// The statement itself, or the text of the file that the word names; fails if it is empty.
fn read_text(word: &str) -> Result<String, CliError> {
    let named = word.strip_prefix('@');
    let path = named.unwrap_or(word);
    let is_file =
        named.is_some() || (words::file_ending(path) == "sql" && !path.contains(' ')) || Path::new(path).is_file();
    let text = if is_file {
        let read = words::read_text(path);
        let bytes = read.map_err(|error| CliError::user_error(format!("cannot read `{path}`: {error}")))?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        word.to_owned()
    };
    if text.trim().is_empty() {
        Err(CliError::user_error(format!("`{word}` is no statement: it is empty")))
    } else {
        Ok(text)
    }
}

/// Makes two systems of the one that is named, one for each state of the change.
///
/// # Errors
/// There is another one.
pub fn both_states(systems: Vec<SystemWord>) -> Result<Vec<SystemWord>, CliError> {
    let [system] = systems.as_slice() else {
        let message = format!("`--change` compares one server before and after it, and {} are named", systems.len());
        return Err(
            CliError::user_error(message).with_hint("name one; servers that differ are compared without `--change`")
        );
    };
    let states = STATES.map(|state| {
        let label = system.label.as_ref().map_or_else(|| state.to_owned(), |label| format!("{label}-{state}"));
        SystemWord { label: Some(label), ..system.clone() }
    });
    Ok(states.to_vec())
}

/// Writes a change as the keys `change` and `undo` of a plan.
pub fn change_keys(change: &Change) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write!(
        text,
        "# Made before runs of this system, in the server of the other one; undone before runs of that one, and at the end.\n\
         change = [{}]\nundo = [{}]\n",
        toml_items(&change.make),
        toml_items(&change.undo)
    );
    text
}

/// Statements as the items of a list in TOML.
fn toml_items(texts: &[String]) -> String {
    texts.iter().map(|text| quote_toml(text.trim())).collect::<Vec<_>>().join(", ")
}

/// Writes statements in one line, separated by `; `.
pub fn in_a_line(texts: &[String]) -> String {
    texts.iter().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join("; ")
}
