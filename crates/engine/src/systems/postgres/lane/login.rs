use std::io::{self, Read as _, Write as _};
use std::time::{Duration, Instant};

use host::reactor::Socket;
use wire::WireError;
use wire::postgres::{Config, ErrorFields, Event, Handshake, Progress, Scanner, TransactionStatus, frontend};

use crate::systems::server::dialogue::tls::{HandshakeError, Tls, TlsClient};

/// Bytes per read.
const READ_BYTES: usize = 8 << 10;

#[derive(Debug)]
pub enum LoginError {
    Io(io::Error),
    Wire(WireError),
    Tls(rustls::Error),
    /// A statement.
    Server(Box<ErrorFields>),
}

impl From<io::Error> for LoginError {
    fn from(cause: io::Error) -> LoginError {
        LoginError::Io(cause)
    }
}

impl From<HandshakeError> for LoginError {
    fn from(cause: HandshakeError) -> LoginError {
        match cause {
            HandshakeError::Io(cause) => LoginError::Io(cause),
            HandshakeError::Tls(cause) => LoginError::Tls(cause),
        }
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
            LoginError::Tls(cause) => cause.fmt(f),
            LoginError::Server(error) => f.write_str(&super::fields_said(error)),
        }
    }
}

pub(crate) struct Opened {
    /// Blocking.
    pub(super) channel: Channel,
    pub(super) scanner: Scanner,
    /// Per prepared statement.
    pub(super) parameters: Vec<Vec<u32>>,
    /// From the login.
    pub(super) process_id: u32,
}

/// Sent before the load.
pub(crate) enum Question<'a> {
    /// Only failures matter.
    Execute(&'a str),
    /// Named by number.
    Prepare(&'a [String]),
}

pub(super) struct Channel {
    pub(super) socket: Socket,
    pub(super) tls: Option<Tls>,
}

impl Channel {
    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.tls {
            None => (&self.socket).write_all(bytes),
            Some(tls) => {
                let mut sealed = Vec::new();
                tls.seal(bytes, &mut sealed)?;
                (&self.socket).write_all(&sealed)
            }
        }
    }

    /// `false` at the end of the connection.
    pub(super) fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        let mut buffer = [0; READ_BYTES];
        let before = into.len();
        while into.len() == before {
            let bytes = read(&self.socket, &mut buffer)?;
            let mut input = &buffer[..bytes];
            if input.is_empty() {
                return Ok(false);
            }
            let Some(tls) = &mut self.tls else {
                into.extend_from_slice(input);
                break;
            };
            while !input.is_empty() {
                tls.open(&mut input, into)?;
            }
            let mut sealed = Vec::new();
            tls.take_sealed(&mut sealed)?;
            (&self.socket).write_all(&sealed)?;
        }
        Ok(true)
    }
}

/// With `tls` if configured, within `patience`.
///
/// # Errors
/// The server refuses the login or breaks the protocol, its certificate is not trusted, it takes too long, or the
/// connection fails.
pub(crate) fn log_in(
    socket: Socket,
    config: Config,
    tls: Option<&TlsClient>,
    patience: Duration,
) -> Result<Opened, LoginError> {
    let started = Instant::now();
    socket.set_timeout(Some(patience))?;
    let mut channel = Channel { socket, tls: None };
    let mut handshake = Handshake::new(config);
    let (mut out, mut input) = (Vec::new(), Vec::new());
    let mut progress = handshake.start(&mut out)?;
    loop {
        // The socket's limit is per read, which one byte satisfies.
        if started.elapsed() > patience {
            return Err(io::Error::from(io::ErrorKind::TimedOut).into());
        }
        match progress {
            Progress::Receive => {
                channel.send(&out)?;
                out.clear();
                input.clear();
                if !channel.receive(&mut input)? {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, handshake.closed()).into());
                }
                progress = handshake.receive(&input, &mut out)?;
            }
            Progress::StartTls => {
                let client = tls.ok_or(WireError::Misuse("TLS was not asked for"))?;
                let tls = Tls::handshake(client, &channel.socket)?;
                let end_point = tls.end_point();
                channel.tls = Some(tls);
                progress = handshake.tls_started(end_point, &mut out)?;
            }
            Progress::Ready(session) => {
                let mut scanner = session.scanner();
                let mut early = session.leftover();
                while scanner.next(&mut early)?.is_some() {}
                return Ok(Opened { channel, scanner, parameters: Vec::new(), process_id: session.process_id() });
            }
        }
    }
}

/// After a signal the kernel does not restart a read with a time limit.
pub(super) fn read(mut socket: &Socket, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match socket.read(into) {
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

pub(super) fn name(statement: usize) -> String {
    format!("s{statement}")
}

impl Opened {
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
        self.channel.send(&out)?;
        self.hear()
    }

    /// Of the next answers; `None` lifts it.
    pub(crate) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.channel.socket.set_timeout(timeout)
    }

    /// To the end of the answer.
    fn hear(&mut self) -> Result<(), LoginError> {
        let mut received = Vec::new();
        let mut refusal = None;
        let mut ready = None;
        while ready.is_none() {
            received.clear();
            if !self.channel.receive(&mut received)? {
                let closed = io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection");
                return Err(refusal.map_or(closed.into(), LoginError::Server));
            }
            let mut input = &received[..];
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
