//! The user's own option file, `~/.my.cnf`. <https://dev.mysql.com/doc/refman/8.4/en/option-files.html>

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::server::url::Environment;

/// Read by every client.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// For clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OptionFile {
    /// Names with dashes.
    pub(super) values: BTreeMap<String, String>,
    /// Why the file, or its password, was not used.
    pub(super) ignored: Option<String>,
    pub(super) file: PathBuf,
}

/// From the user's home folder.
pub(super) fn read(environment: Environment<'_>) -> OptionFile {
    let Some(home) = environment("HOME") else { return OptionFile::default() };
    let file = Path::new(&home).join(".my.cnf");
    if !file.is_file() {
        return OptionFile::default();
    }
    let mut options = match fs::read(&file) {
        Ok(bytes) => OptionFile { values: parse(&String::from_utf8_lossy(&bytes)), ..OptionFile::default() },
        Err(error) => {
            OptionFile { ignored: Some(format!("{} cannot be read: {error}", file.display())), ..OptionFile::default() }
        }
    };
    // A password that others can read is ignored, so that its owner notices.
    if options.values.contains_key("password") && host::identity::open_to_others(&file).unwrap_or(true) {
        options.values.remove("password");
        let shown = file.display();
        options.ignored =
            Some(format!("the password in {shown} was ignored, since others may read it: chmod 0600 {shown}"));
    }
    options.file = file;
    options
}

/// Of the groups for all clients; the last of repeated options.
fn parse(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut ours = false;
    for line in text.lines().map(str::trim) {
        if let Some(group) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            ours = GROUPS.contains(&group.trim());
            continue;
        }
        if !ours || line.is_empty() || line.starts_with(['#', ';', '!']) {
            continue;
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        values.insert(name.trim().replace('_', "-"), value_of(value.trim()));
    }
    values
}

/// Without quotes, comment and escapes.
fn value_of(text: &str) -> String {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let inner = match quote.and_then(|quote| text[1..].rsplit_once(quote)) {
        Some((inner, _)) => inner,
        None => text.split(" #").next().unwrap_or_default().trim(),
    };
    let mut plain = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        plain.push(match c {
            '\\' => match characters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('b') => '\u{8}',
                Some('s') => ' ',
                Some(other) => other,
                None => '\\',
            },
            c => c,
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_clients_are_read() {
        let text = "# me\n[mysqld]\nport=1\n[client]\nuser = me # not you\npassword=\"a # \\\\b\"\nssl_ca=/x\nskip\n\
                    !include /no\n[mysqldump]\nuser=dump\n[client-server]\nsocket='/run/s s'\n";
        let values = parse(text);
        let get = |name: &str| values.get(name).map(String::as_str);
        assert_eq!(get("user"), Some("me"));
        assert_eq!(get("password"), Some("a # \\b"));
        assert_eq!((get("ssl-ca"), get("socket"), get("port")), (Some("/x"), Some("/run/s s"), None));
        assert_eq!(get("skip"), Some(""));
    }

    #[test]
    fn a_password_that_others_can_read_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".my.cnf");
        fs::write(&file, "[client]\nuser=me\npassword=hunter2\n").unwrap();
        let home = |name: &str| (name == "HOME").then(|| folder.path().display().to_string());
        let mode = |mode: &str| {
            assert!(std::process::Command::new("chmod").arg(mode).arg(&file).status().unwrap().success());
        };
        mode("0600");
        assert_eq!(read(&home).values.get("password").map(String::as_str), Some("hunter2"));
        mode("0644");
        let options = read(&home);
        assert_eq!(options.values.get("password"), None);
        assert_eq!(options.values.get("user").map(String::as_str), Some("me"));
        assert!(options.ignored.unwrap().contains("chmod 0600"));
        assert_eq!(read(&|_| None), OptionFile::default());
    }
}
