//! Errors for people: what was tried, where in the plan, what came back, what to do.

use conductor::ExperimentError;
use load::error::{Failure, FailureKind};

use crate::exit::Exit;

#[derive(Clone, Debug)]
pub struct CliError {
    /// The exit code that it leads to.
    pub exit: Exit,
    pub message: String,
    /// Lines shown under the message.
    pub context: Vec<String>,
    pub hints: Vec<String>,
    /// The argument that names nothing, where that is what is wrong.
    pub unknown_word: Option<String>,
}

impl CliError {
    /// Makes an error for what the user wrote wrongly, with its exit code.
    pub fn user_error(message: impl Into<String>) -> CliError {
        CliError {
            exit: Exit::UserError,
            message: message.into(),
            context: Vec::new(),
            hints: Vec::new(),
            unknown_word: None,
        }
    }

    /// Makes an error for what could not be done, with its exit code.
    pub fn could_not_run(message: impl Into<String>) -> CliError {
        CliError { exit: Exit::CouldNotRun, ..CliError::user_error(message) }
    }

    /// Says which argument names nothing.
    #[must_use]
    pub fn with_unknown_word(self, word: &str) -> CliError {
        CliError { unknown_word: Some(word.to_owned()), ..self }
    }

    /// Adds a line of context.
    #[must_use]
    pub fn with_context(mut self, place: impl Into<String>) -> CliError {
        self.context.push(place.into());
        self
    }

    /// Adds a hint on what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> CliError {
        self.hints.push(hint.into());
        self
    }
}

/// The exit code for a kind of failure.
pub fn exit_of_failure(kind: FailureKind) -> Exit {
    match kind {
        FailureKind::Plan => Exit::UserError,
        FailureKind::Verification => Exit::BadAnswer,
        _ => Exit::CouldNotRun,
    }
}

impl From<&Failure> for CliError {
    fn from(failure: &Failure) -> CliError {
        CliError {
            exit: exit_of_failure(failure.kind),
            hints: failure.hint.clone().into_iter().collect(),
            ..CliError::user_error(failure.to_string())
        }
    }
}

impl From<&formats::FormatError> for CliError {
    fn from(error: &formats::FormatError) -> CliError {
        let hint = error.hint().map(str::to_owned);
        CliError { hints: hint.into_iter().collect(), ..CliError::user_error(error.to_string()) }
    }
}

impl From<store::StoreError> for CliError {
    fn from(error: store::StoreError) -> CliError {
        let hint = error.hint();
        CliError { hints: hint.into_iter().collect(), ..CliError::could_not_run(error.to_string()) }
    }
}

impl From<report::CompareError> for CliError {
    fn from(error: report::CompareError) -> CliError {
        CliError { hints: error.hint().into_iter().collect(), ..CliError::user_error(error.to_string()) }
    }
}

impl From<fleet::BusError> for CliError {
    fn from(error: fleet::BusError) -> CliError {
        let error_text = error.to_string();
        match error {
            fleet::BusError::Connect { .. } => CliError::could_not_run(error_text)
                .with_hint("start `nats-server`, or correct the URL; `--creds FILE` names the credentials, `--ca FILE` the authority"),
            _ => CliError::could_not_run(error_text),
        }
    }
}

impl From<ExperimentError> for CliError {
    fn from(error: ExperimentError) -> CliError {
        let message = error.to_string();
        match error {
            ExperimentError::System { failure, .. } | ExperimentError::Benchmark { failure, .. } => {
                CliError { message, ..CliError::from(&failure) }
            }
            ExperimentError::Fleet(failure) => CliError::from(&failure),
            ExperimentError::FactsChanged { .. } => CliError::user_error(message).with_hint(
                "put it back as it was and resume, or run the plan again from the start: runs of different systems do not mix",
            ),
            ExperimentError::Store(error) => CliError::from(error),
        }
    }
}
