use model::facts::{INDEXES_AND_TRIGGERS, TABLE_DEFINITIONS};
use model::{DurabilityTier, Facts, Value};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::cipher::{self, Cipher};
use super::{durability, sql_failure};
use crate::durability::{durability_of_plan, first_matching_rule, list_settings};
use crate::embedded::EmbeddedFile;
use crate::isolation;
use load::error::Failure;
use workloads::dataset::Tables;

/// Pragmas that change results.
pub(super) const PRAGMAS: &[&str] = &[
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

/// Reads the facts of a database file by a connection: version, pragmas, durability and the file's own.
pub(super) fn read_facts(connection: &Connection, file: &EmbeddedFile, cipher: &Cipher) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    facts.record_identity("server.product", "SQLite");
    facts.record_identity("server.version", rusqlite::version());
    // With SQLCipher also files without a key are its work.
    if let Some(version) = cipher::read_pragma(connection, "cipher_version") {
        facts.record_identity("server.sqlcipher", version);
        facts.record_identity("encryption", if cipher.is_plain() { "none" } else { "each page, by SQLCipher" });
    }
    if let Some(cryptography) = cipher::read_pragma(connection, "cipher_provider_version") {
        facts.record_identity("server.cryptography", cryptography);
    }
    facts.record_identity("server.compile_options", compile_options(connection));
    for name in PRAGMAS {
        match read_pragma(connection, name) {
            Some(value) => facts.record_identity(format!("setting.{name}"), pragma_word(name, &value)),
            None => facts.record_unavailable(format!("setting.{name}"), "this build of SQLite has no such pragma"),
        }
    }
    // One transaction writes at a time, and readers see one moment; `read_uncommitted` is for shared caches only, which étalon
    // does not use: <https://www.sqlite.org/isolation.html>.
    isolation::add_isolation_facts(&mut facts, "serializable", &[("serializable", isolation::NONE)]);
    let setting = |name: &str| match name {
        "system" => Some(std::env::consts::OS.to_owned()),
        name => facts.get(&format!("setting.{name}")).map(str::to_ascii_lowercase),
    };
    let promised =
        first_matching_rule(durability::TABLE, setting).to_durability(&list_settings(durability::LISTED, setting));
    file.add_facts(&mut facts, promised);
    // Étalon itself copies a file of its own back before each run.
    if file.tables() == Tables::None
        && let Ok(created) = std::fs::metadata(file.path()).and_then(|data| data.created())
        && let Ok(age) = created.duration_since(std::time::UNIX_EPOCH)
    {
        facts.record_instance("file_created", format!("{} ns after 1970", age.as_nanos()));
    }
    if file.tables() == Tables::None {
        let read = |condition| schema_digest(connection, condition).map_err(|e| sql_failure("read the schema", &e));
        facts.record_instance(INDEXES_AND_TRIGGERS, read("true")?);
        facts.record_passing(TABLE_DEFINITIONS, read("name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")?);
    }
    Ok(facts)
}

/// Counts the tables and indexes for which a condition holds, with a digest of what they, the triggers and the views are.
fn schema_digest(connection: &Connection, condition: &str) -> rusqlite::Result<String> {
    let sql = format!("SELECT type, coalesce(sql, name) FROM sqlite_schema WHERE {condition} ORDER BY type, name");
    let (mut counts, mut digest) = ([0; 2], FNV_BASIS);
    let mut asked = connection.prepare(&sql)?;
    let mut rows = asked.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, text): (String, String) = (row.get(0)?, row.get(1)?);
        let known = ["table", "index"].iter().position(|known| *known == kind);
        known.iter().for_each(|known| counts[*known] += 1);
        let bytes = text.bytes().chain([0]);
        digest = bytes.fold(digest, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
    }
    let [tables, indexes] = counts;
    Ok(format!("tables {tables}, indexes {indexes}, digest {:08x}", digest >> 32))
}

/// FNV-1a: stores of other builds have the same digest. <http://www.isthe.com/chongo/tech/comp/fnv/>
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// Lists the options SQLite was compiled with.
fn compile_options(connection: &Connection) -> String {
    let options = connection
        .prepare("PRAGMA compile_options")
        .and_then(|mut options| options.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>());
    options.map(|options| options.join(" ")).unwrap_or_default()
}

/// Tells from its pragmas what a commit of this connection survives; `None`: they do not show it.
pub(super) fn durability_tier(connection: &Connection) -> Option<DurabilityTier> {
    let setting = |name: &str| match name {
        "system" => Some(std::env::consts::OS.to_owned()),
        name => read_pragma(connection, name).map(|value| pragma_word(name, &value).to_ascii_lowercase()),
    };
    let is_told = durability::LISTED.iter().all(|name| setting(name).is_some());
    is_told.then(|| first_matching_rule(durability::TABLE, setting).tier)
}

/// Reads a pragma as SQLite prints it; `None` if this build does not have it.
pub(super) fn read_pragma(connection: &Connection, name: &str) -> Option<String> {
    let value = connection.pragma_query_value(None, name, |row| {
        Ok(match row.get_ref(0)? {
            ValueRef::Integer(n) => n.to_string(),
            ValueRef::Real(x) => x.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            ValueRef::Null | ValueRef::Blob(_) => String::new(),
        })
    });
    value.ok()
}

/// Words for a pragma's numbers from 0 on; none for a pragma that has no words.
fn pragma_words(pragma: &str) -> &'static [&'static str] {
    match pragma {
        "synchronous" => &["off", "normal", "full", "extra"],
        "temp_store" => &["default", "file", "memory"],
        "auto_vacuum" => &["none", "full", "incremental"],
        _ => &[],
    }
}

/// The word for a pragma's number; any other value stays.
fn pragma_word(pragma: &str, value: &str) -> String {
    value
        .parse::<usize>()
        .ok()
        .and_then(|number| pragma_words(pragma).get(number))
        .map_or(value.to_owned(), |w| (*w).to_owned())
}

/// Tells what commits survive by the plan's pragmas; the others are as this build of SQLite has them.
pub(super) fn durability_of_pragmas(system: &model::SystemPlan) -> DurabilityTier {
    const DEFAULTS: &[(&str, &str)] = &[
        ("journal_mode", "delete"),
        ("synchronous", "full"),
        ("locking_mode", "normal"),
        ("fullfsync", "0"),
        ("checkpoint_fullfsync", "0"),
        ("system", std::env::consts::OS),
    ];
    // Also by number, as pragmas take them.
    let named = system.settings.iter().map(|(name, value)| {
        let name = name.to_ascii_lowercase();
        let value = pragma_word(&name, &value.to_string());
        (name, Value::Text(value))
    });
    let named = model::SystemPlan { settings: named.collect(), ..system.clone() };
    durability_of_plan(durability::TABLE, DEFAULTS, &named)
}

/// Whether what SQLite reads back is what the plan asked for, by number or by word.
pub(super) fn is_same_setting(pragma: &str, read: Option<&str>, asked: &Value) -> bool {
    let Some(read) = read else { return true };
    let asked = match asked {
        Value::Bool(b) => i64::from(*b).to_string(),
        Value::Text(text) if text.eq_ignore_ascii_case("on") || text.eq_ignore_ascii_case("true") => "1".to_owned(),
        other => other.to_string(),
    };
    read.eq_ignore_ascii_case(&asked)
        || pragma_word(pragma, read).eq_ignore_ascii_case(&asked)
        || (read == "0" && ["off", "false"].iter().any(|off| asked.eq_ignore_ascii_case(off)))
}
