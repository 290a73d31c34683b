//! What SQLite is, how it is set, and what its commits promise.

use std::path::Path;

use model::{Durability, DurabilityTier, Facts, Value};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::cipher::{self, Cipher};
use crate::error::Failure;

/// The pragmas that change what is measured.
const PRAGMAS: &[&str] = &[
    "auto_vacuum",
    "automatic_index",
    "busy_timeout",
    "cache_size",
    "cache_spill",
    "cell_size_check",
    "checkpoint_fullfsync",
    "encoding",
    "fullfsync",
    "journal_mode",
    "journal_size_limit",
    "locking_mode",
    "mmap_size",
    "page_size",
    "secure_delete",
    "synchronous",
    "temp_store",
    "threads",
    "wal_autocheckpoint",
];

/// Reads the facts of a database.
pub(super) fn read(connection: &Connection, path: &Path, cipher: &Cipher) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    facts.identity("server.product", "SQLite");
    facts.identity("server.version", rusqlite::version());
    // In a build with SQLCipher its files without a key are its work, too.
    if let Some(version) = cipher::said(connection, "cipher_version") {
        facts.identity("server.sqlcipher", version);
        facts.identity("encryption", if cipher.is_plain() { "none" } else { "each page, by SQLCipher" });
    }
    if let Some(cryptography) = cipher::said(connection, "cipher_provider_version") {
        facts.identity("server.cryptography", cryptography);
    }
    facts.identity("server.compile_options", compile_options(connection));
    for name in PRAGMAS {
        match pragma(connection, name) {
            Some(value) => facts.identity(format!("setting.{name}"), words(name, &value)),
            None => facts.unavailable(format!("setting.{name}"), "this build of SQLite has no such pragma"),
        }
    }
    facts.passing("data_directory.path", path.display().to_string());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let memory = host::disk::is_memory_backed(folder).unwrap_or(false);
    facts.absorb("data_directory", host::facts::path_facts(folder));
    facts.set_durability(&durability(&facts, memory));
    Ok(facts)
}

fn compile_options(connection: &Connection) -> String {
    let read = || -> rusqlite::Result<Vec<String>> {
        connection.prepare("PRAGMA compile_options")?.query_map([], |row| row.get(0))?.collect()
    };
    read().map(|options| options.join(" ")).unwrap_or_default()
}

/// A pragma's value as text, as SQLite prints it.
pub(super) fn pragma(connection: &Connection, name: &str) -> Option<String> {
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(x) => x.to_string(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        ValueRef::Null | ValueRef::Blob(_) => String::new(),
    };
    connection.pragma_query_value(None, name, |row| Ok(text(row.get_ref(0)?))).ok()
}

/// The words that stand for the numbers which a pragma prints, in the order of the numbers.
fn names(pragma: &str) -> &'static [&'static str] {
    match pragma {
        "synchronous" => &["off", "normal", "full", "extra"],
        "temp_store" => &["default", "file", "memory"],
        "auto_vacuum" => &["none", "full", "incremental"],
        _ => &[],
    }
}

fn words(pragma: &str, value: &str) -> String {
    value
        .parse::<usize>()
        .ok()
        .and_then(|number| names(pragma).get(number))
        .map_or(value.to_owned(), |w| (*w).to_owned())
}

/// Whether what SQLite reads back is what the plan asked for.
pub(super) fn same_setting(pragma: &str, read: Option<&str>, asked: &Value) -> bool {
    let Some(read) = read else { return true };
    let asked = match asked {
        Value::Bool(b) => i64::from(*b).to_string(),
        Value::Text(text) if text.eq_ignore_ascii_case("on") || text.eq_ignore_ascii_case("true") => "1".to_owned(),
        other => other.to_string(),
    };
    read.eq_ignore_ascii_case(&asked)
        || words(pragma, read).eq_ignore_ascii_case(&asked)
        || (read == "0" && ["off", "false"].iter().any(|off| asked.eq_ignore_ascii_case(off)))
}

/// What a commit promises (sqlite.org/pragma.html#pragma_synchronous and #pragma_journal_mode).
fn durability(facts: &Facts, memory: bool) -> Durability {
    let setting = |name: &str| facts.get(&format!("setting.{name}")).unwrap_or_default().to_ascii_lowercase();
    let (journal, synchronous) = (setting("journal_mode"), setting("synchronous"));
    let because = format!("journal_mode={journal}, synchronous={synchronous}");
    let tier = match (journal.as_str(), synchronous.as_str()) {
        _ if memory => DurabilityTier::Memory,
        ("off" | "memory", _) | (_, "off") => DurabilityTier::Unsafe,
        // A commit is not synced; with a rollback journal there is besides a small chance of damage on old file systems.
        (_, "normal") => DurabilityTier::Delayed,
        _ => DurabilityTier::Durable,
    };
    let because = if memory { format!("{because}, on a file system in memory") } else { because };
    Durability { tier, because }
}
