//! A connection's beginning, which may block: the login, a session's settings, its prepared statements.

use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use host::reactor::Socket;
use wire::WireError;
use wire::postgres::{Config, ErrorFields, Event, Handshake, Progress, Scanner, TransactionStatus, frontend};

/// Bytes taken by one read.
const READ_BYTES: usize = 8 << 10;

/// Why a connection did not begin.
#[derive(Debug)]
pub enum LoginError {
    /// The operating system says so.
    Io(io::Error),
    /// The server broke the protocol, or refused.
    Wire(WireError),
    /// The server refused a statement.
    Server(Box<ErrorFields>),
}

impl From<io::Error> for LoginError {
    fn from(cause: io::Error) -> LoginError {
        LoginError::Io(cause)
    }
}

impl From<WireError> for LoginError {
    fn from(cause: WireError) -> LoginError {
        LoginError::Wire(cause)
    }
}

impl std::fmt::Display for LoginError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LoginError::Io(cause) => cause.fmt(f),
            LoginError::Wire(cause) => cause.fmt(f),
            LoginError::Server(error) => f.write_str(&super::fields_said(error)),
        }
    }
}

/// A connection that is ready for its first request.
pub(crate) struct Opened {
    /// The socket, which blocks.
    pub(super) socket: Socket,
    /// What reads the server's answers from here on.
    pub(super) scanner: Scanner,
    /// The types of the parameters of each statement that was prepared.
    pub(super) parameters: Vec<Vec<u32>>,
}

/// What is asked of a connection before the load.
pub(crate) enum Question<'a> {
    /// Statements whose answers do not matter, unless they fail.
    Execute(&'a str),
    /// Statements to be prepared under the names of their numbers.
    Prepare(&'a [String]),
}

/// Logs in over a fresh connection without TLS.
///
/// # Errors
/// The server refuses the login or breaks the protocol, or the connection fails.
pub(crate) fn log_in(socket: Socket, config: Config) -> Result<Opened, LoginError> {
    let mut handshake = Handshake::new(config);
    let mut out = Vec::new();
    handshake.start(&mut out)?;
    let mut buffer = [0; READ_BYTES];
    loop {
        (&socket).write_all(&out)?;
        out.clear();
        let bytes = read(&socket, &mut buffer)?;
        if bytes == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, handshake.closed()).into());
        }
        match handshake.receive(&buffer[..bytes], &mut out)? {
            Progress::Receive => {}
            Progress::StartTls => return Err(WireError::Misuse("TLS was not asked for").into()),
            Progress::Ready(session) => {
                let mut scanner = session.scanner();
                let mut early = session.leftover();
                while scanner.next(&mut early)?.is_some() {}
                return Ok(Opened { socket, scanner, parameters: Vec::new() });
            }
        }
    }
}

/// Reads once. Unlike others, a read with a time limit is not gone on with by the kernel after a signal.
fn read(mut socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.read(into) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The name that a statement is prepared under.
pub(super) fn name(statement: usize) -> String {
    format!("s{statement}")
}

impl Opened {
    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// The server refuses, or the connection fails.
    pub(crate) fn ask(&mut self, question: &Question<'_>) -> Result<(), LoginError> {
        let mut out = Vec::new();
        match question {
            Question::Execute(sql) => frontend::query(sql, &mut out)?,
            Question::Prepare(statements) => {
                for (number, sql) in statements.iter().enumerate() {
                    frontend::parse(&name(number), sql, &[], &mut out)?;
                    frontend::describe_statement(&name(number), &mut out)?;
                }
                frontend::sync(&mut out);
            }
        }
        (&self.socket).write_all(&out)?;
        self.hear()
    }

    /// Limits how long the server may take with its next answers; `None` lifts the limit.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket.set_timeout(timeout)
    }

    /// Reads up to the end of the answer.
    fn hear(&mut self) -> Result<(), LoginError> {
        let mut buffer = [0; READ_BYTES];
        let mut refusal = None;
        let mut ready = None;
        while ready.is_none() {
            let bytes = read(&self.socket, &mut buffer)?;
            if bytes == 0 {
                let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection");
                return Err(refusal.map_or(closed.into(), LoginError::Server));
            }
            let mut input = &buffer[..bytes];
            while let Some(event) = self.scanner.next(&mut input)? {
                match event {
                    Event::Ready(status) => ready = Some(status),
                    Event::Error(error) => refusal = refusal.or(Some(error)),
                    Event::ParameterTypes(types) => self.parameters.push(types.iter().collect()),
                    _ => {}
                }
            }
        }
        match (refusal, ready) {
            (Some(error), _) => Err(LoginError::Server(error)),
            (None, Some(TransactionStatus::Idle)) => Ok(()),
            (None, _) => Err(WireError::Protocol("the session began within a transaction").into()),
        }
    }
}
