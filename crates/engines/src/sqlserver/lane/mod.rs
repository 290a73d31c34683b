//! SQL Server's native lane over a reactor.

mod client;
mod connection;
mod statement;

use super::order_entry;
use wire::WireError;
use wire::tds::ServerMessage;

use crate::server::dialogue::{self, ServerError};
use load::error::FailureKind;
use load::lane::ErrorClass;

pub(crate) use client::{LoggedIn, QueryAnswer, TdsProtocol, log_in};
pub use connection::Connection;
pub(crate) use connection::datum_of_cell;
pub(crate) use statement::{Mode, Typed, parameter_name};

pub(crate) type Client = dialogue::Client<TdsProtocol>;
pub(crate) type AskError = dialogue::AskError<ServerMessage>;
pub(crate) type Opened = dialogue::OpenedConnection<Connection>;
pub type NativeLane = dialogue::NativeLane<Connection>;

/// Error numbers of missing permissions.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/database-engine-events-and-errors>
const PERMISSION: [i32; 20] = [
    229, 230, 262, 297, 300, 368, 371, 373, 916, 1088, 2557, 2571, 3110, 3505, 3701, 5011, 8189, 10_901, 15_151, 15_247,
];
/// Read-only errors. 976, a replica without queries, passes after a failover.
const READ_ONLY: [i32; 2] = [3906, 978];

/// Babelfish's number (PostgreSQL with TDS) for errors without a SQL Server number, unsupported statements included.
pub(crate) const UNNUMBERED: i32 = 33_557_097;

/// No such function, and no such method of a type.
const NOT_THERE: [i32; 2] = [195, 6506];

impl ServerError for ServerMessage {
    /// Takes the server's error out of a refused login; any other error stays.
    fn from_login_error(error: WireError) -> Result<Box<Self>, WireError> {
        match error {
            WireError::RefusedBySqlServer(error) => Ok(error),
            other => Err(other),
        }
    }

    /// Text of the error on one line.
    fn describe(&self) -> String {
        self.to_string().replace(['\r', '\n'], " ")
    }

    /// Classifies by error number.
    ///
    /// <https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/database-engine-events-and-errors>;
    /// memory-optimised tables:
    /// <https://learn.microsoft.com/en-us/sql/relational-databases/in-memory-oltp/transactions-with-memory-optimized-tables>;
    /// Azure: <https://learn.microsoft.com/en-us/azure/azure-sql/database/troubleshoot-common-errors-issues>.
    fn error_class(&self) -> ErrorClass {
        match self.number {
            1205 => ErrorClass::Deadlock,
            // Update conflicts under snapshot isolation, also with DDL; then memory-optimised tables: write,
            // repeatable read, serializable, and a failed commit dependency.
            3960 | 3961 | 41_301 | 41_302 | 41_305 | 41_325 | 41_839 => ErrorClass::Serialization,
            // Of étalon's own procedures.
            order_entry::DELIVERED_TWICE => ErrorClass::Serialization,
            1222 => ErrorClass::LockTimeout,
            // Primary key or unique constraint, unique index, foreign key or check, NULL.
            2627 | 2601 | 547 | 515 => ErrorClass::Constraint,
            // User connections, worker threads, the limits of Azure.
            17_809 | 10_928 | 10_929 | 10_936 => ErrorClass::TooManyConnections,
            // File group full, log full, a file cannot grow, a snapshot's neither, tempdb full, also of row versions; the limits
            // of Azure.
            1101 | 1105 | 9002 | 5128 | 5149 | 3257 | 1104 | 3958 | 3966 | 1132 | 1133 | 1136 | 40_544 => {
                ErrorClass::DiskFull
            }
            // Killed session; server shutting down or not ready; database moved or being recovered; session ended by
            // Azure's limits.
            596 | 6005 | 17_142 | 17_187 | 17_188 | 18_401 | 18_451 => ErrorClass::ConnectionLost,
            921 | 922 | 952 | 976 | 978 | 983 | 988 | 40_197 | 40_501 | 40_613 => ErrorClass::ConnectionLost,
            40_143 | 40_166 | 40_174 | 40_540 | 40_549..=40_553 => ErrorClass::ConnectionLost,
            _ if self.is_fatal() => ErrorClass::ConnectionLost,
            _ => ErrorClass::Statement,
        }
    }

    /// Kind of failure by error number: permission, unsupported, or other.
    fn failure_kind(&self) -> FailureKind {
        match self.number {
            number if PERMISSION.contains(&number) || READ_ONLY.contains(&number) => FailureKind::Permission,
            number if number == UNNUMBERED || NOT_THERE.contains(&number) => FailureKind::Unsupported,
            _ => FailureKind::Other,
        }
    }

    /// What the user can do about the error, if étalon knows it.
    fn hint(&self) -> Option<&'static str> {
        match self.number {
            300 | 297 => Some("`GRANT VIEW SERVER STATE TO …`; from SQL Server 2022 on VIEW SERVER PERFORMANCE STATE"),
            262 => Some("`ALTER SERVER ROLE dbcreator ADD MEMBER …` lets the login make étalon's database"),
            927 => Some(
                "a restore or a revert of it was broken off: repeat it, or drop its snapshots and then the database",
            ),
            40_508 => Some("Azure SQL Database: make a database `etalon`, and name it in the URL"),
            number if READ_ONLY.contains(&number) => {
                Some("the database is read-only: étalon needs a server that it can write to")
            }
            _ => None,
        }
    }
}

/// Translates a portable word for a transaction to T-SQL, whose `BEGIN` and `END` enclose a block.
pub(crate) fn own_words(sql: &str) -> &str {
    const WORDS: [(&str, &str); 13] = [
        ("begin", "BEGIN TRANSACTION"),
        ("begin work", "BEGIN TRANSACTION"),
        ("start transaction", "BEGIN TRANSACTION"),
        ("start transaction read only", "BEGIN TRANSACTION"),
        ("commit", "COMMIT TRANSACTION"),
        ("commit work", "COMMIT TRANSACTION"),
        ("end", "COMMIT TRANSACTION"),
        ("end transaction", "COMMIT TRANSACTION"),
        ("end work", "COMMIT TRANSACTION"),
        ("rollback", "ROLLBACK TRANSACTION"),
        ("rollback work", "ROLLBACK TRANSACTION"),
        ("abort", "ROLLBACK TRANSACTION"),
        ("abort transaction", "ROLLBACK TRANSACTION"),
    ];
    dialogue::translate_word(sql, &WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_the_class_that_the_manual_gives_them() {
        let class =
            |number: i32, class: u8| ServerMessage { number, state: 1, class, text: String::new() }.error_class();
        for (number, level, expected) in [
            (1205, 13, ErrorClass::Deadlock),
            (1222, 16, ErrorClass::LockTimeout),
            (3960, 16, ErrorClass::Serialization),
            (41_302, 16, ErrorClass::Serialization),
            (2627, 14, ErrorClass::Constraint),
            (2601, 14, ErrorClass::Constraint),
            (547, 16, ErrorClass::Constraint),
            (515, 16, ErrorClass::Constraint),
            (9002, 17, ErrorClass::DiskFull),
            (1105, 17, ErrorClass::DiskFull),
            (3958, 16, ErrorClass::DiskFull),
            (922, 14, ErrorClass::ConnectionLost),
            (17_188, 16, ErrorClass::ConnectionLost),
            (6005, 14, ErrorClass::ConnectionLost),
            (40_613, 17, ErrorClass::ConnectionLost),
            (40_540, 16, ErrorClass::ConnectionLost),
            (40_551, 16, ErrorClass::ConnectionLost),
            // The connection ends with it, and the reason counts.
            (40_544, 20, ErrorClass::DiskFull),
            (5149, 16, ErrorClass::DiskFull),
            (17_809, 20, ErrorClass::TooManyConnections),
            (208, 16, ErrorClass::Statement),
            (102, 15, ErrorClass::Statement),
            (824, 24, ErrorClass::ConnectionLost),
        ] {
            assert_eq!(class(number, level), expected, "{number}");
        }
    }

    #[test]
    fn portable_words_become_those_of_t_sql() {
        assert_eq!(own_words("BEGIN"), "BEGIN TRANSACTION");
        assert_eq!(own_words(" end\n"), "COMMIT TRANSACTION");
        assert_eq!(own_words("Abort"), "ROLLBACK TRANSACTION");
        assert_eq!(own_words("BEGIN TRANSACTION"), "BEGIN TRANSACTION");
        assert_eq!(own_words("SELECT 'end'"), "SELECT 'end'");
    }
}
