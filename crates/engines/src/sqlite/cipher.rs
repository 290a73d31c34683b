//! SQLCipher: encrypted pages. It is a fork that replaces SQLite in a build; there, files without a key are plain
//! SQLite's.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::sql_failure;
use crate::server::random_password;
use load::error::{Failure, FailureKind};
use workloads::dataset::Tables;
use workloads::system::OpenRequest;

/// Readable head of a file: the smallest multiple of a cipher block with the application id, by which étalon knows its
/// files (<https://www.zetetic.net/sqlcipher/sqlcipher-api/#cipher_plaintext_header_size>).
const PLAIN_HEAD_BYTES: u32 = 80;

/// Default of SQLCipher and SQLite.
const PAGE_BYTES: i64 = 4096;

/// Smallest page size that leaves SQLite enough next to SQLCipher's 16 bytes of IV and 64 of HMAC.
const LEAST_PAGE_BYTES: i64 = 1024;

/// Held while the process's defaults are changed.
static DEFAULTS: Mutex<()> = Mutex::new(());

#[derive(Clone)]
pub(super) enum Cipher {
    Plain,
    /// A random key in memory only.
    Drawn {
        /// 256 bits of key and 128 of salt in hexadecimal: with a readable head the file holds no salt.
        key: String,
        /// Must be known before the first page is read.
        page_bytes: i64,
    },
}

impl Cipher {
    /// Draws a key for a database that étalon makes; fails if the build has no SQLCipher.
    pub(super) fn draw_key(request: &OpenRequest<'_>) -> Result<Cipher, Failure> {
        let tried = format!("open the database `{}`", request.system.url);
        check_cipher_build(&tried)?;
        if request.tables == Tables::None {
            return Err(Failure::new(FailureKind::Unsupported, tried, "étalon draws its keys, and knows no other's")
                .with_hint("take `tables = \"own\"` with `sqlcipher:`"));
        }
        // The pragma refuses a value that is no number.
        let asked = request.system.settings.get("page_size").and_then(|value| value.to_string().parse().ok());
        let page_bytes = asked.unwrap_or(PAGE_BYTES);
        if page_bytes < LEAST_PAGE_BYTES {
            let cause = "SQLCipher keeps 80 bytes of each page for itself, and SQLite needs 480";
            return Err(Failure::new(FailureKind::Plan, tried, cause)
                .with_hint(format!("set `page_size` to {LEAST_PAGE_BYTES} or more")));
        }
        let key = format!("{}{}{}", random_password(), random_password(), random_password());
        Ok(Cipher::Drawn { key, page_bytes })
    }

    /// Gives a new connection its key. SQLCipher's log is off: errors are reported once by the caller.
    pub(super) fn unlock_database(&self, connection: &Connection) -> rusqlite::Result<()> {
        let Cipher::Drawn { key, page_bytes } = self else { return Ok(()) };
        connection.execute_batch(&format!(
            "PRAGMA cipher_log_level = NONE; PRAGMA key = \"x'{key}'\"; \
             PRAGMA cipher_plaintext_header_size = {PLAIN_HEAD_BYTES}; PRAGMA cipher_page_size = {page_bytes}"
        ))
    }

    /// Writes a compact copy of the database, with the same key and page settings.
    /// `VACUUM INTO` passes on the key but no settings, so they become the process's defaults meanwhile.
    /// Other connections set their own.
    pub(super) fn vacuum_into(&self, connection: &Connection, copy: &Path) -> rusqlite::Result<()> {
        let Cipher::Drawn { page_bytes, .. } = self else { return vacuum_into(connection, copy) };
        let _held = DEFAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        set_defaults(connection, PLAIN_HEAD_BYTES, *page_bytes)?;
        let vacuumed = vacuum_into(connection, copy);
        set_defaults(connection, 0, PAGE_BYTES)?;
        vacuumed
    }

    /// Whether the database is not encrypted.
    pub(super) fn is_plain(&self) -> bool {
        matches!(self, Cipher::Plain)
    }
}

/// Writes a compact copy of the database.
fn vacuum_into(connection: &Connection, copy: &Path) -> rusqlite::Result<()> {
    connection.execute("VACUUM INTO ?1", [copy.to_string_lossy()]).map(|_| ())
}

/// Sets the process's defaults for encrypted files: bytes of readable head, and page size.
fn set_defaults(connection: &Connection, head_bytes: u32, page_bytes: i64) -> rusqlite::Result<()> {
    connection.execute_batch(&format!(
        "PRAGMA cipher_default_plaintext_header_size = {head_bytes}; PRAGMA cipher_default_page_size = {page_bytes}"
    ))
}

/// Reads a pragma of SQLCipher as text; `None` without SQLCipher or key.
pub(super) fn read_pragma(connection: &Connection, pragma: &str) -> Option<String> {
    connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).ok()
}

/// Fails if this étalon was built without SQLCipher.
fn check_cipher_build(tried: &str) -> Result<(), Failure> {
    let memory = Connection::open_in_memory().map_err(|error| sql_failure(tried, &error))?;
    if read_pragma(&memory, "cipher_version").is_some() {
        return Ok(());
    }
    let cause = "this étalon was built with SQLite, and a program can have SQLite or SQLCipher, not both";
    Err(Failure::new(FailureKind::Unsupported, tried, cause).with_hint(
        "build it by `cargo build --release --features sqlcipher`, which takes OpenSSL's headers; that one measures \
         `sqlite:`, too",
    ))
}
