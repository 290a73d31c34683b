//! Questions whose answers are waited for, and why one has none.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use host::reactor::Socket;
use wire::WireError;

use super::Link;
use crate::lane::{ErrorClass, OpError, lost};

/// Bytes taken by one read.
const READ_BYTES: usize = 16 << 10;
/// A control question has no larger answer, bytes.
const ANSWER_BYTES: u64 = 64 << 20;
/// A server that says nothing for so long to a question of the control plane is given up.
const SILENCE: Duration = Duration::from_secs(900);

/// An error as a server sends it.
pub(crate) trait ServerError: Sized {
    /// The error by which the server refused a login, or what else broke the login off.
    fn of_login(error: WireError) -> Result<Box<Self>, WireError>;

    /// It on one line.
    fn said(&self) -> String;

    /// What it means for the load.
    fn error_class(&self) -> ErrorClass;

    /// It as the load sees it.
    fn op_error(&self) -> OpError {
        OpError { class: self.error_class(), message: self.said() }
    }
}

/// Why there is no answer; `E` is what the server's errors are.
#[derive(Debug)]
pub(crate) enum AskError<E> {
    /// The operating system says so.
    Io(io::Error),
    /// No encrypted channel came about.
    Tls(io::Error),
    /// The server broke the protocol, or refused the login.
    Wire(WireError),
    /// The server refused what was asked.
    Server(Box<E>),
}

impl<E> From<io::Error> for AskError<E> {
    fn from(cause: io::Error) -> AskError<E> {
        AskError::Io(cause)
    }
}

impl<E> From<WireError> for AskError<E> {
    fn from(cause: WireError) -> AskError<E> {
        AskError::Wire(cause)
    }
}

impl<E: ServerError> fmt::Display for AskError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Io(cause) | AskError::Tls(cause) => cause.fmt(f),
            AskError::Wire(cause) => cause.fmt(f),
            AskError::Server(error) => f.write_str(&error.said()),
        }
    }
}

impl<E: ServerError> AskError<E> {
    /// It as the load sees it.
    pub(crate) fn op_error(&self) -> OpError {
        match self {
            AskError::Server(error) => error.op_error(),
            other => lost(other),
        }
    }
}

impl<E> AskError<E> {
    /// The server has closed the connection in the middle of an answer.
    pub(crate) fn closed() -> AskError<E> {
        io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection").into()
    }
}

/// A connection that blocks.
pub(crate) struct Asker {
    pub(crate) link: Link,
    buffer: Vec<u8>,
}

impl Asker {
    /// One over a fresh connection, whose login may take so long.
    pub(crate) fn new(socket: Socket, patience: Duration) -> Asker {
        let link = Link::new(socket, Some(Instant::now() + patience));
        Asker { link, buffer: vec![0; READ_BYTES] }
    }

    /// Sends all of `out`, before the deadline.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.link.write_all(out)?;
        self.link.flush()?;
        out.clear();
        Ok(())
    }

    /// Sends all of `out`, a question.
    pub(crate) fn ask(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        // Counted from now: the connection may have lain idle for hours.
        self.link.set_deadline(Some(Instant::now() + SILENCE))?;
        self.write(out)
    }

    /// What comes next, before the deadline; nothing at the end of the connection.
    pub(crate) fn read(&mut self) -> io::Result<&[u8]> {
        let count = self.link.read(&mut self.buffer)?;
        Ok(&self.buffer[..count])
    }

    /// What comes next of an answer of which so many bytes have come; nothing at the end of the connection.
    pub(crate) fn hear<E>(&mut self, answer_bytes: &mut u64) -> Result<&[u8], AskError<E>> {
        self.link.set_deadline(Some(Instant::now() + SILENCE))?;
        let heard = self.read()?;
        *answer_bytes += heard.len() as u64;
        if *answer_bytes > ANSWER_BYTES {
            return Err(WireError::Protocol("an answer to one of étalon's own questions has no end").into());
        }
        Ok(heard)
    }
}

/// The single value of a query; empty for `NULL` or no row.
pub(crate) fn single(rows: Vec<Vec<Option<String>>>) -> String {
    rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten().unwrap_or_default()
}
