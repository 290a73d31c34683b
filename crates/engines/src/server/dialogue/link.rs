//! A stream to a server, encrypted or not.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use host::reactor::Socket;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::waiting::{SLICE, Vigil};
use crate::server::dialogue::tls;
use load::error::{Failure, FailureKind};

/// Timeout of the server's closing of its side.
const CLOSING_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
    /// Name that the certificate must have.
    name: ServerName<'static>,
}

impl Tls {
    /// Makes the TLS settings for a server whose certificate must name `host`; `shown` is its address in the failure.
    pub(crate) fn new(config: ClientConfig, host: String, shown: &str) -> Result<Tls, Failure> {
        let name = ServerName::try_from(host);
        let name = name.map_err(|_| {
            Failure::new(FailureKind::Plan, format!("connect to {shown}"), "the host's name is no DNS name")
        })?;
        Ok(Tls { config: Arc::new(config), name })
    }
}

/// A socket with a total deadline: a server that sends single bytes cannot block for ever. It is waited for in slices.
pub(crate) struct Timed {
    socket: Socket,
    deadline: Option<Instant>,
    /// The time-out that the socket has.
    timeout: Option<Duration>,
    vigil: Vigil,
}

impl Timed {
    /// Sets the socket's time-out to the time that is left, at most a slice; fails at the deadline.
    fn apply_deadline(&mut self) -> io::Result<()> {
        let deadline = [self.deadline, self.vigil.waiting().deadline()].into_iter().flatten().min();
        let left = deadline.map_or(SLICE, |deadline| deadline.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let timeout = Some(left.min(SLICE));
        if self.timeout != timeout {
            self.socket.set_timeout(timeout)?;
            self.timeout = timeout;
        }
        Ok(())
    }

    /// Retries a read or a write in short waits, until it succeeds, the deadline is over or an interrupt comes.
    fn retry_in_slices(&mut self, mut attempt: impl FnMut(&Socket) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            self.apply_deadline()?;
            match attempt(&self.socket) {
                // After a signal the kernel does not restart a call with a time limit.
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                // A slice is over.
                Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    self.apply_deadline()?;
                    self.vigil.check_silence()?;
                }
                Ok(count) => {
                    self.vigil.note_answer();
                    return Ok(count);
                }
                other => return other,
            }
        }
    }
}

impl Read for Timed {
    /// Reads what has come, waiting in slices up to the deadline.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.retry_in_slices(|mut socket| socket.read(into))
    }
}

impl Write for Timed {
    /// Writes some of the bytes, waiting in slices up to the deadline.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.retry_in_slices(|mut socket| socket.write(bytes))
    }

    /// Does nothing: the socket keeps no bytes back.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) enum Link {
    Plain(Timed),
    Tls(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Link {
    /// Makes an unencrypted link over a socket.
    pub(crate) fn new(socket: Socket, deadline: Option<Instant>, vigil: Vigil) -> Link {
        Link::Plain(Timed { socket, deadline, timeout: None, vigil })
    }

    /// Returns the socket under the link, encrypted or not.
    fn timed_socket(&mut self) -> &mut Timed {
        match self {
            Link::Plain(timed) => timed,
            Link::Tls(stream) => &mut stream.sock,
        }
    }

    /// Limits all reads and writes together by an instant; `None` lifts it.
    pub(crate) fn set_deadline(&mut self, deadline: Option<Instant>) {
        self.timed_socket().deadline = deadline;
    }

    /// Returns what watches over the server's silence.
    pub(crate) fn vigil_mut(&mut self) -> &mut Vigil {
        &mut self.timed_socket().vigil
    }

    /// Begins TLS on a plain link; fails without a common version, on a wrong certificate or a lost connection.
    pub(crate) fn start_tls(self, tls: &Tls) -> io::Result<Link> {
        self.start_tls_through(tls, |connection, timed| connection.complete_io(timed).map(|_| ()))
    }

    /// Begins TLS on a plain link, with `exchange` moving the handshake's bytes until it is done.
    pub(crate) fn start_tls_through(
        self,
        tls: &Tls,
        mut exchange: impl FnMut(&mut ClientConnection, &mut Timed) -> io::Result<()>,
    ) -> io::Result<Link> {
        let Link::Plain(mut timed) = self else { return Ok(self) };
        let mut connection =
            ClientConnection::new(Arc::clone(&tls.config), tls.name.clone()).map_err(io::Error::other)?;
        while connection.is_handshaking() || connection.wants_write() {
            exchange(&mut connection, &mut timed)?;
        }
        Ok(Link::Tls(Box::new(StreamOwned::new(connection, timed))))
    }

    /// Goes back to plain bytes, where only the login is encrypted.
    pub(crate) fn end_tls(self) -> Link {
        match self {
            Link::Tls(stream) => Link::Plain(stream.sock),
            plain => plain,
        }
    }

    /// Sends the protocol's goodbye, if any, and waits until the server has closed the connection.
    /// It would count among the server's connections.
    pub(crate) fn close_politely(mut self, farewell: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = Vec::new();
        farewell(&mut bytes);
        if bytes.is_empty() {
            return;
        }
        self.set_deadline(Some(Instant::now() + CLOSING_TIMEOUT));
        self.vigil_mut().set_aside(None);
        // It may have ended.
        let said = self.write_all(&bytes).and_then(|()| self.flush());
        let mut rest = [0; 1024];
        while said.is_ok() && self.read(&mut rest).is_ok_and(|count| count > 0) {}
    }

    /// Returns the server's certificate, if the link is encrypted.
    pub(crate) fn server_certificate(&self) -> Option<&[u8]> {
        let Link::Tls(stream) = self else { return None };
        Some(stream.conn.peer_certificates()?.first()?)
    }

    /// Names TLS version and cipher; `None` if the connection is plain.
    pub(crate) fn describe_encryption(&self) -> Option<String> {
        let Link::Tls(stream) = self else { return None };
        let version = stream.conn.protocol_version().map(|version| format!("{version:?}")).unwrap_or_default();
        let suite = stream.conn.negotiated_cipher_suite().map(|suite| format!("{:?}", suite.suite()));
        Some(format!("{} {}", version.replace('_', "."), suite.unwrap_or_default()))
    }

    /// Splits the link into its socket and its TLS state, for a reactor.
    pub(super) fn into_parts(self) -> (Socket, Option<tls::Tls>) {
        match self {
            Link::Plain(timed) => (timed.socket, None),
            Link::Tls(stream) => {
                let StreamOwned { conn, sock } = *stream;
                (sock.socket, Some(tls::Tls::new(Box::new(conn))))
            }
        }
    }
}

impl Read for Link {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Link::Plain(timed) => timed.read(into),
            Link::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Link {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Link::Plain(timed) => timed.write(bytes),
            Link::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Link::Plain(timed) => timed.flush(),
            Link::Tls(stream) => stream.flush(),
        }
    }
}
