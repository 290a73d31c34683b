//! SQLCipher: the same files with their pages encrypted. It is a fork of SQLite that takes its place in a program, so that a
//! build has either; in one that has SQLCipher, files without a key are SQLite's own.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::sql_failure;
use crate::dataset::Tables;
use crate::error::{Failure, FailureKind};
use crate::systems::server::random_password;
use crate::target::OpenRequest;

/// How much of a file's head stays readable, in bytes: the least multiple of a cipher's block that holds the application id, by
/// which étalon knows its own files (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_plaintext_header_size>).
const PLAIN_HEAD_BYTES: u32 = 80;

/// SQLCipher's own size of a page, in bytes, which is SQLite's, too.
const PAGE_BYTES: i64 = 4096;

/// The least size of a page that SQLite can work with once SQLCipher has its part of it: 16 bytes for what the page's cipher
/// begins with, 64 for its seal.
const LEAST_PAGE_BYTES: i64 = 1024;

/// Held while the process's defaults are not SQLCipher's own.
static DEFAULTS: Mutex<()> = Mutex::new(());

/// How a target's files are locked.
#[derive(Clone)]
pub(super) enum Cipher {
    /// As SQLite writes them.
    Plain,
    /// By a key that is drawn for the target, kept in memory alone, and forgotten with it.
    Drawn {
        /// 256 bits of the key and 128 of the salt, in hexadecimal digits: with a readable head the file holds no salt.
        key: String,
        /// The pages' size, which must be known before the first of them is read.
        page_bytes: i64,
    },
}

impl Cipher {
    /// A new key for a database that étalon makes, in a build that can use one.
    pub(super) fn drawn(request: &OpenRequest<'_>) -> Result<Cipher, Failure> {
        let tried = format!("open the database `{}`", request.system.url);
        refuse_plain_build(&tried)?;
        if request.tables == Tables::None {
            return Err(Failure::new(FailureKind::Unsupported, tried, "étalon draws its keys, and knows no other's")
                .hint("take `tables = \"own\"` with `sqlcipher:`"));
        }
        // A value that is no number is refused where the pragma is set.
        let asked = request.system.settings.get("page_size").and_then(|value| value.to_string().parse().ok());
        let page_bytes = asked.unwrap_or(PAGE_BYTES);
        if page_bytes < LEAST_PAGE_BYTES {
            let cause = "SQLCipher keeps 80 bytes of each page for itself, and SQLite needs 480";
            return Err(Failure::new(FailureKind::Plan, tried, cause)
                .hint(format!("set `page_size` to {LEAST_PAGE_BYTES} or more")));
        }
        let key = format!("{}{}{}", random_password(), random_password(), random_password());
        Ok(Cipher::Drawn { key, page_bytes })
    }

    /// The first words on a connection. SQLCipher writes no log: what goes wrong is told once, by who asked.
    pub(super) fn unlock(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Cipher::Drawn { key, page_bytes } = self else { return Ok(()) };
        connection.execute_batch(&format!(
            "PRAGMA cipher_log_level = NONE; PRAGMA key = \"x'{key}'\"; \
             PRAGMA cipher_plaintext_header_size = {PLAIN_HEAD_BYTES}; PRAGMA cipher_page_size = {page_bytes}"
        ))
    }

    /// Copies a database by `VACUUM INTO`, which gives a connection's key to the new file but none of its settings: they must be
    /// the process's defaults meanwhile. Connections that are opened beside it say theirs themselves.
    pub(super) fn vacuum_into(&self, connection: &Connection, copy: &Path) -> rusqlite::Result<()> {
        let vacuum = || connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).map(|_| ());
        let Cipher::Drawn { page_bytes, .. } = self else { return vacuum() };
        let defaults = |head: u32, page: i64| {
            connection.execute_batch(&format!(
                "PRAGMA cipher_default_plaintext_header_size = {head}; PRAGMA cipher_default_page_size = {page}"
            ))
        };
        let _held = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        defaults(PLAIN_HEAD_BYTES, *page_bytes)?;
        let vacuumed = vacuum();
        defaults(0, PAGE_BYTES)?;
        vacuumed
    }

    /// Whether the files are encrypted.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Cipher::Plain)
    }
}

/// What SQLCipher says of itself; `None` in a build with SQLite, or without a key.
pub(super) fn said(connection: &Connection, pragma: &str) -> Option<String> {
    connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).ok()
}

/// Refuses a build that cannot encrypt.
fn refuse_plain_build(tried: &str) -> Result<(), Failure> {
    let memory = Connection::open_in_memory().map_err(|error| sql_failure(tried, &error))?;
    if said(&memory, "cipher_version").is_some() {
        return Ok(());
    }
    let cause = "this étalon was built with SQLite, and a program can have SQLite or SQLCipher, not both";
    Err(Failure::new(FailureKind::Unsupported, tried, cause).hint(
        "build it by `cargo build --release --features sqlcipher`, which takes OpenSSL's headers; that one measures \
         `sqlite:`, too",
    ))
}
