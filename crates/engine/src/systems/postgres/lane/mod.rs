mod connection;
mod copy_out;
mod login;
mod native;
mod statement;

use crate::lane::{ErrorClass, OpError};
pub(crate) use crate::systems::server::dialogue::tls::TlsClient;

pub(crate) use copy_out::CopyError;
pub use login::LoginError;
pub(crate) use login::{Opened, Question, log_in};
pub use native::NativeLane;
pub(crate) use native::Statements;

pub(crate) fn class_of_state(state: &str) -> ErrorClass {
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

/// On one line.
pub(crate) fn server_said(message: &str, detail: Option<&str>, state: &str) -> String {
    let detail = detail.map(|detail| format!(" ({detail})")).unwrap_or_default();
    format!("{message}{detail} [SQLSTATE {state}]").replace('\n', " ")
}

/// On one line.
pub(crate) fn fields_said(error: &wire::postgres::ErrorFields) -> String {
    server_said(&error.message, error.detail.as_deref(), error.code.as_str())
}

/// A fatal error counts as a lost connection.
fn op_error(error: &wire::postgres::ErrorFields) -> OpError {
    let class = match class_of_state(error.code.as_str()) {
        class @ (ErrorClass::TooManyConnections | ErrorClass::DiskFull) => class,
        _ if error.ends_connection() => ErrorClass::ConnectionLost,
        class => class,
    };
    OpError { class, message: fields_said(error) }
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
