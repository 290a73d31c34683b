mod client;
mod connection;
mod row;
mod statement;

use wire::WireError;
use wire::mysql::ErrorPacket;

use crate::server::dialogue::{self, ServerError};
use load::error::FailureKind;
use load::lane::ErrorClass;

pub(crate) use client::{MySqlProtocol, log_in};
pub use connection::Connection;

pub(crate) type Client = dialogue::Client<MySqlProtocol>;
pub(crate) type AskError = dialogue::AskError<ErrorPacket>;
pub(crate) type Opened = dialogue::OpenedConnection<Connection>;
pub type NativeLane = dialogue::NativeLane<Connection>;

impl ServerError for ErrorPacket {
    /// Takes the server's error out of a refused login; any other error stays.
    fn from_login_error(error: WireError) -> Result<Box<Self>, WireError> {
        match error {
            WireError::RefusedByMysql(error) => Ok(error),
            other => Err(other),
        }
    }

    /// Text of the error with code and SQLSTATE, on one line.
    fn describe(&self) -> String {
        format!("{} [{}, SQLSTATE {}]", self.message, self.code, self.sqlstate).replace('\n', " ")
    }

    /// Classifies by error number, since most errors share SQLSTATE `HY000`.
    ///
    /// <https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html>,
    /// <https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference>
    fn error_class(&self) -> ErrorClass {
        const FULL: [&str; 3] = ["errno: 28", "Errcode: 28", "No space left"];
        match self.code {
            // ER_LOCK_DEADLOCK, ER_XA_RBDEADLOCK
            1213 | 1614 => ErrorClass::Deadlock,
            // ER_CHECKREAD with `innodb_snapshot_isolation`, ER_TRANSACTION_ROLLBACK_DURING_COMMIT of group replication
            1020 | 3101 => ErrorClass::Serialization,
            // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_NOWAIT
            1205 | 3572 => ErrorClass::LockTimeout,
            // Checks: MySQL's, MariaDB's
            3819 | 4025 => ErrorClass::Constraint,
            // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED
            1040 | 1203 | 1226 => ErrorClass::TooManyConnections,
            // ER_SERVER_SHUTDOWN, network errors, ER_NEW_ABORTING_CONNECTION, ER_CONNECTION_KILLED, the client's own two,
            // and ER_CLIENT_INTERACTION_TIMEOUT
            1053 | 1152 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 4031 => ErrorClass::ConnectionLost,
            // ER_DISK_FULL, ER_RECORD_FILE_FULL
            1021 | 1114 => ErrorClass::DiskFull,
            _ if FULL.iter().any(|words| self.message.contains(words)) => ErrorClass::DiskFull,
            _ => match self.sqlstate.as_str() {
                "40001" => ErrorClass::Serialization,
                state if state.starts_with("23") => ErrorClass::Constraint,
                state if state.starts_with("08") => ErrorClass::ConnectionLost,
                _ => ErrorClass::Statement,
            },
        }
    }

    /// Kind of failure by error number: unsupported, permission, or other.
    fn failure_kind(&self) -> FailureKind {
        match self.code {
            // No such function, stored or built in.
            1128 | 1305 => FailureKind::Unsupported,
            // An option of the server keeps it from running, which no privilege changes.
            1290 if !self.message.contains("read-only") => FailureKind::Other,
            1044 | 1142 | 1143 | 1227 | 1290 | 1370 | 1792 | 1836 => FailureKind::Permission,
            _ => FailureKind::Other,
        }
    }

    /// What the user can do about the error, if étalon knows it.
    fn hint(&self) -> Option<&'static str> {
        match self.code {
            // Other options than this one keep statements from running, too.
            1290 if !self.message.contains("read-only") => None,
            1290 | 1792 | 1836 => Some("the server is read-only; étalon needs one that it can write to"),
            1153 | 1162 => Some(crate::mysql::RAISE),
            1820 => Some("the account's password has expired: set a new one with `ALTER USER`"),
            1295 => Some("the server prepares no such statement; let the script's statements travel as text"),
            1461 => Some(
                "raise `max_prepared_stmt_count` on the server, which counts those of all connections, or let clients share \
                 connections: `pool.size`",
            ),
            3750 => Some("the server wants every table to have a key: `sql_require_primary_key = 0`"),
            _ => None,
        }
    }
}

/// Translates portable words that MySQL spells differently, such as `END`.
/// <https://www.postgresql.org/docs/current/sql-end.html>
pub(crate) fn own_words(sql: &str) -> &str {
    const WORDS: [(&str, &str); 9] = [
        ("end", "COMMIT"),
        ("end transaction", "COMMIT"),
        ("end work", "COMMIT"),
        ("commit transaction", "COMMIT"),
        ("abort", "ROLLBACK"),
        ("rollback transaction", "ROLLBACK"),
        // Where `sql_mode` is ORACLE it begins a block of statements.
        ("begin", "START TRANSACTION"),
        ("begin transaction", "START TRANSACTION"),
        ("begin work", "START TRANSACTION"),
    ];
    dialogue::translate_word(sql, &WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::SqlState;

    #[test]
    fn errors_have_the_class_that_the_manual_gives_them() {
        fn class(code: u16, state: &[u8; 5], message: &str) -> ErrorClass {
            ErrorPacket { code, sqlstate: SqlState::new(state), message: message.to_owned() }.error_class()
        }
        for (code, state, expected) in [
            (1213, b"40001", ErrorClass::Deadlock),
            (1205, b"HY000", ErrorClass::LockTimeout),
            (1020, b"HY000", ErrorClass::Serialization),
            (1062, b"23000", ErrorClass::Constraint),
            (1451, b"23000", ErrorClass::Constraint),
            (1452, b"23000", ErrorClass::Constraint),
            (1048, b"23000", ErrorClass::Constraint),
            (3819, b"HY000", ErrorClass::Constraint),
            (1040, b"08004", ErrorClass::TooManyConnections),
            (1203, b"42000", ErrorClass::TooManyConnections),
            (1226, b"42000", ErrorClass::TooManyConnections),
            (1927, b"70100", ErrorClass::ConnectionLost),
            (1053, b"08S01", ErrorClass::ConnectionLost),
            (1043, b"08S01", ErrorClass::ConnectionLost),
            (1114, b"HY000", ErrorClass::DiskFull),
            (1064, b"42000", ErrorClass::Statement),
            (1317, b"70100", ErrorClass::Statement),
        ] {
            assert_eq!(class(code, state, "x"), expected, "{code}");
        }
        assert_eq!(class(1026, b"HY000", "Error writing file (errno: 28)"), ErrorClass::DiskFull);
        assert_eq!(class(9999, b"40001", "x"), ErrorClass::Serialization);
    }

    #[test]
    fn portable_words_become_mysql_s() {
        assert_eq!(own_words("END"), "COMMIT");
        assert_eq!(own_words(" end\n"), "COMMIT");
        assert_eq!(own_words("begin transaction"), "START TRANSACTION");
        assert_eq!(own_words("BEGIN"), "START TRANSACTION");
        assert_eq!(own_words("SELECT 'end'"), "SELECT 'end'");
    }
}
