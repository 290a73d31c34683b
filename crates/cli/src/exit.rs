//! Exit codes: few, and documented in one place.

use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Done,
    BadAnswer,
    UserError,
    /// No connection, no permission, a full disk.
    CouldNotRun,
    /// The gate cannot say: it has too few results, or a row is open and it was asked to fail on that.
    Inconclusive,
    Interrupted,
}

impl Exit {
    /// The code that the process exits with.
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
