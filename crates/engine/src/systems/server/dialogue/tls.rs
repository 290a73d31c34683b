//! TLS as a state machine between a connection's bytes and the reactor's.

use std::io::{self, Read as _, Write as _};
use std::sync::Arc;

use host::reactor::Socket;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

/// How a connection is to be encrypted.
#[derive(Clone, Debug)]
pub(crate) struct TlsClient {
    /// Which certificates are good.
    pub(crate) config: Arc<ClientConfig>,
    /// Whom the server's certificate must name, and who is asked for in clear text.
    pub(crate) name: ServerName<'static>,
}

/// The encrypted side of a connection.
pub(crate) struct Tls(Box<ClientConnection>);

/// The operating system's error, or what is wrong with the other side's TLS.
fn broken(error: &rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {error}"))
}

impl Tls {
    /// Goes on with a connection whose handshake is done.
    pub(crate) fn of(mut connection: Box<ClientConnection>) -> Tls {
        // A whole pipeline is sealed at once.
        connection.set_buffer_limit(None);
        Tls(connection)
    }

    /// Does the TLS handshake over a socket that blocks.
    ///
    /// # Errors
    /// The server's certificate is not trusted, it does not speak TLS, or the connection fails.
    pub(crate) fn handshake(client: &TlsClient, socket: &Socket) -> Result<Tls, HandshakeError> {
        let connection = ClientConnection::new(Arc::clone(&client.config), client.name.clone());
        let mut connection = Box::new(connection.map_err(HandshakeError::Tls)?);
        while connection.is_handshaking() {
            if let Err(cause) = connection.complete_io(&mut &*socket) {
                return Err(match cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
                    Some(error) => HandshakeError::Tls(error.clone()),
                    None => HandshakeError::Io(cause),
                });
            }
        }
        Ok(Tls::of(connection))
    }

    /// What SCRAM is tied to the channel by.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        let certificate = self.0.peer_certificates()?.first()?;
        wire::postgres::tls_server_end_point(certificate)
    }

    /// Encrypts bytes and appends what is to be sent.
    pub(crate) fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        self.0.writer().write_all(plain)?;
        self.take_sealed(sealed)
    }

    /// Appends what TLS itself has to send, such as an answer to a change of keys.
    pub(crate) fn take_sealed(&mut self, sealed: &mut Vec<u8>) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(sealed)?;
        }
        Ok(())
    }

    /// Takes received bytes from the front of `sealed` and appends what they say, a record or a few at a time: large
    /// answers are not held in memory as a whole.
    pub(crate) fn open(&mut self, sealed: &mut &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        self.0.read_tls(sealed)?;
        let state = self.0.process_new_packets().map_err(|error| broken(&error))?;
        let (before, bytes) = (plain.len(), state.plaintext_bytes_to_read());
        plain.resize(before + bytes, 0);
        self.0.reader().read_exact(&mut plain[before..])
    }
}

/// Why no encrypted channel came about.
#[derive(Debug)]
pub(crate) enum HandshakeError {
    Io(io::Error),
    Tls(rustls::Error),
}
