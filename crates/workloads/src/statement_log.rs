//! The log in which a server writes each statement: how it is switched on, and off again.

use load::error::Failure;

use crate::session::Session;

/// Statements that a person runs; étalon changes no setting of a server that it did not start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogSwitch {
    /// Empty: nothing is missing that SQL can set.
    pub on: Vec<String>,
    /// Some settings have to be given when the server starts.
    pub needs_restart: bool,
    /// They restore the values that the settings had when they were read.
    pub off: Vec<String>,
    /// Where the log is on the server's machine, if the login may know.
    pub file: Option<String>,
    /// How a record of a log in text form begins once it is on; `None`: it is recognised.
    pub log_line_prefix: Option<String>,
    pub remarks: Vec<String>,
}

/// An engine's log of statements.
pub trait StatementLog: Sync {
    /// Reads the log's settings, and says what to change so that it can be captured; changes none.
    ///
    /// # Errors
    /// The server does not answer, or the login may not read them.
    fn read_switch(&self, session: &mut dyn Session) -> Result<LogSwitch, Failure>;
}
