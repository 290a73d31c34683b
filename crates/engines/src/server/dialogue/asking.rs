use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use host::reactor::Socket;
use wire::WireError;

use super::Link;
use super::waiting::{Aside, INTERRUPTED, Vigil, Waiting, is_interruption};
use load::error::FailureKind;
use load::lane::{ErrorClass, OpError, connection_lost};

const READ_BYTES: usize = 16 << 10;
/// Largest answer to a control question.
const ANSWER_BYTES: u64 = 64 << 20;
/// Longest silence of a server.
const SILENCE: Duration = Duration::from_secs(900);

/// A server's error.
pub(crate) trait ServerError: Sized {
    /// Makes the server's error of a failed login, or returns any other error as it is.
    fn from_login_error(error: WireError) -> Result<Box<Self>, WireError>;

    /// Describes the error as the server reports it, with its code.
    fn describe(&self) -> String;

    /// Returns what the error means for the load.
    fn error_class(&self) -> ErrorClass;

    /// Returns the kind of the failure, where the class does not give it.
    fn failure_kind(&self) -> FailureKind;

    /// Returns what to do about the error, where the class does not give it.
    fn hint(&self) -> Option<&'static str>;

    /// Makes the error that a lane reports.
    fn op_error(&self) -> OpError {
        OpError { class: self.error_class(), message: self.describe() }
    }
}

#[derive(Debug)]
pub(crate) enum AskError<E> {
    Io(io::Error),
    Tls(io::Error),
    Wire(WireError),
    Server(Box<E>),
    /// The user ended it.
    Interrupted,
}

impl<E> From<io::Error> for AskError<E> {
    fn from(cause: io::Error) -> AskError<E> {
        if is_interruption(&cause) { AskError::Interrupted } else { AskError::Io(cause) }
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
            AskError::Server(error) => f.write_str(&error.describe()),
            AskError::Interrupted => f.write_str(INTERRUPTED),
        }
    }
}

impl<E: ServerError> AskError<E> {
    /// Returns a server's refusal as a value, after which the session goes on; fails if the session is lost.
    pub(crate) fn split_refusal(done: Result<(), AskError<E>>) -> Result<Option<AskError<E>>, AskError<E>> {
        match done {
            Ok(()) => Ok(None),
            Err(error @ AskError::Server(_)) => Ok(Some(error)),
            Err(error) => Err(error),
        }
    }

    /// Makes the error that a lane reports: a lost connection, unless the server refused.
    pub(crate) fn to_op_error(&self) -> OpError {
        match self {
            AskError::Server(error) => error.op_error(),
            other => connection_lost(other),
        }
    }
}

impl<E> AskError<E> {
    /// Makes the error of a failed TLS handshake, or of an interrupt during it.
    pub(crate) fn from_tls(cause: io::Error) -> AskError<E> {
        if is_interruption(&cause) { AskError::Interrupted } else { AskError::Tls(cause) }
    }

    /// Makes the error that the connection was closed in the middle of an answer.
    pub(crate) fn connection_closed() -> AskError<E> {
        io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection").into()
    }
}

pub(crate) struct Asker {
    pub(crate) link: Link,
    buffer: Vec<u8>,
    /// `None`: for ever.
    silence: Option<Duration>,
    /// The end of everything that the session is asked together.
    limit: Option<Instant>,
    most_answer_bytes: u64,
}

/// `None` is `NULL`.
pub(crate) type TextRows = Vec<Vec<Option<String>>>;

/// Fills in the next piece of a table's rows; `false` at the end.
pub(crate) type Pieces<'a> = &'a mut dyn FnMut(&mut String) -> bool;

impl Asker {
    /// Makes the asker of a new socket; `timeout` limits the login.
    pub(crate) fn new(socket: Socket, timeout: Duration, waiting: &Waiting) -> Asker {
        let vigil = Vigil::new(waiting.clone(), "login");
        let link = Link::new(socket, Some(Instant::now() + timeout), vigil);
        let buffer = vec![0; READ_BYTES];
        Asker { link, buffer, silence: Some(SILENCE), limit: None, most_answer_bytes: ANSWER_BYTES }
    }

    /// Lifts the limit on the server's silence for good, once the login is done.
    pub(crate) fn lift_silence_limit(&mut self) {
        self.silence = None;
        self.link.set_deadline(None);
    }

    /// Sets when everything that is asked has to have been answered; `None` lifts it.
    pub(crate) fn set_limit(&mut self, limit: Option<Instant>) {
        self.limit = limit;
        self.link.set_deadline(limit);
    }

    /// Names the next question in notices that it is not answered.
    pub(crate) fn name_question(&mut self, sql: &str) {
        self.link.vigil_mut().name_question(sql);
    }

    /// Has another session look at this one when it is silent.
    /// To be called after the login, which gives this one the number that others know it by.
    pub(crate) fn watch_from(&mut self, aside: impl Aside + 'static) {
        self.link.vigil_mut().set_aside(Some(Box::new(aside)));
    }

    /// Sets how many bytes are read at once.
    pub(crate) fn set_read_bytes(&mut self, bytes: usize) {
        self.buffer.resize(bytes, 0);
    }

    /// Lets the answer to a user's query be of any size, or limits it again.
    pub(crate) fn set_any_answer_size(&mut self, any: bool) {
        self.most_answer_bytes = if any { u64::MAX } else { ANSWER_BYTES };
    }

    /// Starts the time again for which the server may be silent.
    fn restart_silence_limit(&mut self) {
        if let Some(silence) = self.silence {
            let silent_until = Instant::now() + silence;
            self.link.set_deadline(Some(self.limit.map_or(silent_until, |limit| limit.min(silent_until))));
        }
    }

    /// Sends all bytes of `out`, and clears it.
    pub(crate) fn write_all(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.link.write_all(out)?;
        self.link.flush()?;
        out.clear();
        Ok(())
    }

    /// Sends a question in `out`, clears it, and begins to wait for its answer.
    pub(crate) fn send_question(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        // The connection may have been idle for hours.
        self.restart_silence_limit();
        self.link.vigil_mut().restart();
        self.write_all(out)
    }

    /// Reads the bytes that have come; none at the end of the connection.
    pub(crate) fn read_part(&mut self) -> io::Result<&[u8]> {
        let count = self.link.read(&mut self.buffer)?;
        Ok(&self.buffer[..count])
    }

    /// Reads the next part of an answer, and adds its size to `answer_bytes`; empty at the connection's end.
    /// Fails if the answer is too large.
    pub(crate) fn read_answer_part<E>(&mut self, answer_bytes: &mut u64) -> Result<&[u8], AskError<E>> {
        self.restart_silence_limit();
        let most_answer_bytes = self.most_answer_bytes;
        let heard = self.read_part()?;
        *answer_bytes += heard.len() as u64;
        if *answer_bytes > most_answer_bytes {
            return Err(WireError::Protocol("an answer to one of étalon's own questions has no end").into());
        }
        Ok(heard)
    }
}

/// Returns the first `N` columns of a row; `NULL` and columns that are not there are empty.
pub(crate) fn first_columns<const N: usize>(row: Vec<Option<String>>) -> [String; N] {
    let mut columns = row.into_iter();
    std::array::from_fn(|_| columns.next().flatten().unwrap_or_default())
}

/// Returns the first row, or an empty one where there is none.
pub(crate) fn first_row(rows: TextRows) -> Vec<Option<String>> {
    rows.into_iter().next().unwrap_or_default()
}

/// Returns the first value of the first row; empty for `NULL` or no row.
pub(crate) fn first_value(rows: TextRows) -> String {
    rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::VIGILANCE;

    #[test]
    fn a_limit_of_time_holds_for_all_that_is_asked() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        let minute = Duration::from_secs(60);
        let socket = Socket::connect_tcp("127.0.0.1", port, minute, VIGILANCE, &|| true).unwrap();
        let mut asker = Asker::new(socket, minute, &Waiting::default());
        let began = Instant::now();
        asker.set_limit(Some(began + Duration::from_millis(300)));
        asker.send_question(&mut b"?".to_vec()).unwrap();
        let mut answer_bytes = 0;
        asker.read_answer_part::<()>(&mut answer_bytes).map(<[u8]>::len).unwrap_err();
        assert!(began.elapsed() < minute / 2, "{:?}", began.elapsed());
    }
}
