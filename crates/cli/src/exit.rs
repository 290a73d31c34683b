//! Exit codes: few, and documented in one place.

use std::process::ExitCode;

/// How the command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done; a gate passed.
    Done,
    /// It ran, and the answer is bad: a gate failed, trials failed, a host is unfit.
    BadAnswer,
    /// The user's error: arguments, plan, file.
    UserError,
    /// It could not run: no connection, no permission, a full disk.
    CouldNotRun,
    /// Inconclusive, and asked to fail on that.
    Inconclusive,
    /// Interrupted; it can be resumed.
    Interrupted,
}

impl Exit {
    /// The number that the caller sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::BadAnswer => 1,
            Exit::UserError => 2,
            Exit::CouldNotRun => 3,
            Exit::Inconclusive => 4,
            Exit::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}
