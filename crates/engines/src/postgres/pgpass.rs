//! The password file. <https://www.postgresql.org/docs/current/libpq-pgpass.html>

use std::fs;
use std::path::{Path, PathBuf};

use crate::server::url::Environment;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    Found(String),
    /// No file or matching line.
    Nothing,
    /// The file was not used: why.
    Ignored(String),
}

/// Returns the folder of the user's libpq files: `~/.postgresql`, or `%APPDATA%\postgresql` on Windows.
pub(super) fn user_folder(environment: Environment<'_>) -> Option<PathBuf> {
    if std::path::MAIN_SEPARATOR == '\\' {
        return environment("APPDATA").map(|folder| PathBuf::from(folder).join("postgresql"));
    }
    home_folder(environment).map(|home| home.join(".postgresql"))
}

/// Returns the usual path of the user's password file.
pub(super) fn default_file(environment: Environment<'_>) -> Option<PathBuf> {
    if std::path::MAIN_SEPARATOR == '\\' {
        return user_folder(environment).map(|folder| folder.join("pgpass.conf"));
    }
    home_folder(environment).map(|home| home.join(".pgpass"))
}

/// Returns the user's home folder.
pub(super) fn home_folder(environment: Environment<'_>) -> Option<PathBuf> {
    environment("HOME").map(PathBuf::from).or_else(std::env::home_dir)
}

/// Looks up the password for host, port, database and role in a password file.
pub(super) fn look_up(file: &Path, fields: &[&str; 4]) -> Lookup {
    let shown = file.display();
    match fs::metadata(file) {
        Err(_) => return Lookup::Nothing,
        Ok(metadata) if !metadata.is_file() => return Lookup::Ignored(format!("{shown} is not a plain file")),
        Ok(_) => {}
    }
    // Like libpq: a file that others can read is ignored, so that its owner notices.
    match host::identity::open_to_others(file) {
        Ok(true) => {
            return Lookup::Ignored(format!("{shown} was ignored, since others may read it: chmod 0600 {shown}"));
        }
        Ok(false) => {}
        Err(error) => return Lookup::Ignored(error.to_string()),
    }
    match fs::read(file) {
        Ok(bytes) => find_password(&String::from_utf8_lossy(&bytes), fields).map_or(Lookup::Nothing, Lookup::Found),
        Err(error) => Lookup::Ignored(format!("{shown} cannot be read: {error}")),
    }
}

/// Finds the password of the first line that matches host, port, database and role.
fn find_password(text: &str, fields: &[&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut rest = line;
        for (place, wanted) in fields.iter().enumerate() {
            let (field, after) = take_field(rest)?;
            // Any socket folder counts as `localhost`: the default differs between packages.
            let socket = place == 0 && wanted.starts_with('/') && field.text == "localhost";
            if !(field.is_wildcard || field.text == *wanted || socket) {
                return None;
            }
            rest = after;
        }
        // Like libpq, ignores what follows an unescaped colon after the password.
        let password = take_field(rest).map_or_else(|| unescape(rest), |(field, _)| field.text);
        Some(password)
    })
}

struct Field {
    text: String,
    /// `*` alone; `\*` is an asterisk.
    is_wildcard: bool,
}

/// Splits a field off the text at the next unescaped colon; `None` without one.
fn take_field(text: &str) -> Option<(Field, &str)> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => {
                let raw = &text[..at];
                return Some((Field { text: unescape(raw), is_wildcard: raw == "*" }, &text[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// Removes the backslashes from an escaped field.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        plain.push(if c == '\\' { characters.next().unwrap_or(c) } else { c });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELDS: [&str; 4] = ["db.example", "5432", "shop", "me"];

    #[test]
    fn the_first_line_that_fits_gives_the_password() {
        let text = "# db.example:5432:shop:me:comment\nother:5432:shop:me:no\n*:*:shop:you:no\nbroken\n\
                    db.example:*:*:me:first\n*:*:*:*:second\n";
        assert_eq!(find_password(text, &FIELDS).as_deref(), Some("first"));
        assert_eq!(find_password(text, &["x", "1", "y", "z"]).as_deref(), Some("second"));
        assert_eq!(find_password("", &FIELDS), None);
    }

    #[test]
    fn colons_and_backslashes_are_escaped() {
        assert_eq!(
            find_password(r"\:\:1:5432:a\\b:me:p\:w\\", &["::1", "5432", r"a\b", "me"]).as_deref(),
            Some(r"p:w\")
        );
        assert_eq!(find_password(r"\*:*:*:*:x", &FIELDS), None);
        assert_eq!(find_password("*:*:*:*:a:b", &FIELDS).as_deref(), Some("a"));
    }

    #[test]
    fn a_socket_is_localhost() {
        assert_eq!(find_password("localhost:*:*:*:x", &["/run/pg", "5432", "d", "u"]).as_deref(), Some("x"));
        assert_eq!(find_password("localhost:*:*:*:x", &["db", "5432", "d", "u"]), None);
    }

    #[test]
    fn a_file_that_is_not_there_is_no_trouble() {
        assert_eq!(look_up(Path::new("/no/such/file"), &FIELDS), Lookup::Nothing);
    }
}
