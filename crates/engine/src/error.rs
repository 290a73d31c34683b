//! What goes wrong between étalon and a system, said so that a person can act on it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of failure it is; decides the exit code and whether waiting may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// Nobody answers at the address.
    Unreachable,
    /// The server refused the login.
    Login,
    /// A database, file or program that was named does not exist.
    Missing,
    /// The login or the user may not do this.
    Permission,
    /// The device is full.
    DiskFull,
    /// The connection ended in mid-work.
    ConnectionLost,
    /// The engine or this build does not have what was asked.
    Unsupported,
    /// Something is in the way that étalon did not make and will not touch.
    NotOurs,
    /// The plan asks for something wrong.
    Plan,
    /// Counts or answers are not what they must be.
    Verification,
    /// The measured part was over before anything had ended in it.
    NothingEnded,
    Other,
}

/// A failure: what was tried, what came back, what to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub kind: FailureKind,
    /// What was tried, as a sentence fragment: `connect to …`.
    pub tried: String,
    pub cause: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Failure {
    /// A failure without a hint.
    pub fn new(kind: FailureKind, tried: impl Into<String>, cause: impl fmt::Display) -> Failure {
        Failure { kind, tried: tried.into(), cause: cause.to_string(), hint: None }
    }

    /// The same failure with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hint = Some(hint.into());
        self
    }

    /// Whether the server may be back if one waits.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, FailureKind::Unreachable | FailureKind::ConnectionLost)
    }

    /// Whether it stays as it is until somebody changes the plan, the system, its room or its rights.
    pub fn is_lasting(&self) -> bool {
        use FailureKind::{DiskFull, Missing, NotOurs, Permission, Plan, Unsupported};
        matches!(self.kind, DiskFull | Missing | NotOurs | Permission | Plan | Unsupported)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}: {}", self.tried, self.cause)
    }
}

impl std::error::Error for Failure {}
