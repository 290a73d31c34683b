mod client;
mod connection;
mod opening;
mod statement;

use wire::WireError;
use wire::postgres::ErrorFields;

use crate::server::dialogue::{self, ServerError};
use load::error::FailureKind;
use load::lane::ErrorClass;

pub(crate) use client::{CopyError, PostgresProtocol, log_in, quote_text};
pub use connection::Connection;
pub(crate) use statement::Prepared;

pub(crate) type Client = dialogue::Client<PostgresProtocol>;
pub(crate) type AskError = dialogue::AskError<ErrorFields>;
pub(crate) type Opened = dialogue::OpenedConnection<Connection>;
pub type NativeLane = dialogue::NativeLane<Connection>;

/// How a script's statements travel.
#[derive(Clone, Debug)]
pub(crate) enum Statements {
    /// Prepared on each connection, by number.
    Prepared(Prepared),
    /// Text and number of parameters, parsed each time.
    Extended(Vec<(String, usize)>),
    /// Text with each operation.
    Simple,
}

impl AskError {
    /// Returns the SQLSTATE of a server's refusal; empty for other errors.
    pub(crate) fn sql_state(&self) -> &str {
        match self {
            AskError::Server(error) => error.code.as_str(),
            AskError::Io(_) | AskError::Tls(_) | AskError::Wire(_) | AskError::Interrupted => "",
        }
    }
}

impl ServerError for ErrorFields {
    /// Makes the server's error of a failed login, or returns any other error as it is.
    fn from_login_error(error: WireError) -> Result<Box<Self>, WireError> {
        match error {
            WireError::RefusedByPostgres(error) => Ok(error),
            other => Err(other),
        }
    }

    /// Writes the error on one line, with its SQLSTATE.
    fn describe(&self) -> String {
        let detail = self.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        format!("{}{detail} [SQLSTATE {}]", self.message, self.code).replace('\n', " ")
    }

    /// Returns what the error means for the load; a fatal one counts as a lost connection.
    fn error_class(&self) -> ErrorClass {
        match class_of_state(self.code.as_str()) {
            class @ (ErrorClass::TooManyConnections | ErrorClass::DiskFull) => class,
            _ if self.ends_connection() => ErrorClass::ConnectionLost,
            class => class,
        }
    }

    /// Returns the kind of failure for a missing permission or an unsupported feature, else `Other`.
    fn failure_kind(&self) -> FailureKind {
        match self.code.as_str() {
            "42501" => FailureKind::Permission,
            // undefined_function, feature_not_supported
            "42883" | "0A000" => FailureKind::Unsupported,
            _ => FailureKind::Other,
        }
    }

    /// Says what to do where the server or the role is read-only.
    fn hint(&self) -> Option<&'static str> {
        let is_read_only = self.code.as_str() == "25006";
        is_read_only.then_some("the server or the role is read-only; étalon needs one that it can write to")
    }
}

/// Returns what a SQLSTATE means for the load.
fn class_of_state(state: &str) -> ErrorClass {
    match state {
        "40001" => ErrorClass::Serialization,
        "40P01" => ErrorClass::Deadlock,
        "55P03" => ErrorClass::LockTimeout,
        "53300" => ErrorClass::TooManyConnections,
        "53100" => ErrorClass::DiskFull,
        "57P01" | "57P02" | "57P03" => ErrorClass::ConnectionLost,
        code if code.starts_with("23") => ErrorClass::Constraint,
        code if code.starts_with("08") => ErrorClass::ConnectionLost,
        _ => ErrorClass::Statement,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_have_the_class_that_the_manual_gives_them() {
        assert_eq!(class_of_state("40001"), ErrorClass::Serialization);
        assert_eq!(class_of_state("40P01"), ErrorClass::Deadlock);
        assert_eq!(class_of_state("55P03"), ErrorClass::LockTimeout);
        assert_eq!(class_of_state("23505"), ErrorClass::Constraint);
        assert_eq!(class_of_state("53300"), ErrorClass::TooManyConnections);
        assert_eq!(class_of_state("53100"), ErrorClass::DiskFull);
        assert_eq!(class_of_state("57P01"), ErrorClass::ConnectionLost);
        assert_eq!(class_of_state("08006"), ErrorClass::ConnectionLost);
        assert_eq!(class_of_state("57014"), ErrorClass::Statement);
        assert_eq!(class_of_state("42601"), ErrorClass::Statement);
    }
}
