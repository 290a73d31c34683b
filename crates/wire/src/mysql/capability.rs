//! The capabilities of the two sides ("Capabilities Flags"). The upper 32 bits are MariaDB's own.

/// Clear: MariaDB, with extended capabilities.
pub const LONG_PASSWORD: u64 = 1;
pub const LONG_FLAG: u64 = 1 << 2;
/// The client names a database.
pub const CONNECT_WITH_DB: u64 = 1 << 3;
/// `LOAD DATA LOCAL`.
pub const LOCAL_FILES: u64 = 1 << 7;
/// The protocol of 4.1 and later, the only one spoken here.
pub const PROTOCOL_41: u64 = 1 << 9;
pub const SSL: u64 = 1 << 11;
/// Status flags show whether a transaction is open.
pub const TRANSACTIONS: u64 = 1 << 13;
/// Passwords are hashed.
pub const SECURE_CONNECTION: u64 = 1 << 15;
/// Several statements in one query.
pub const MULTI_STATEMENTS: u64 = 1 << 16;
/// Several results of one query.
pub const MULTI_RESULTS: u64 = 1 << 17;
/// Several results of one prepared statement.
pub const PS_MULTI_RESULTS: u64 = 1 << 18;
pub const PLUGIN_AUTH: u64 = 1 << 19;
/// The client describes itself.
pub const CONNECT_ATTRS: u64 = 1 << 20;
/// Authentication data may be longer than 255 bytes.
pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
/// No EOF packet after the columns, and an OK packet after the rows.
pub const DEPRECATE_EOF: u64 = 1 << 24;
/// MariaDB: the columns of a prepared statement's result are sent once, not with every result.
pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;
