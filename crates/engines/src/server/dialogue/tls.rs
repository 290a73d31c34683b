//! TLS between a connection's bytes and the reactor's.

use std::io::{self, Read as _, Write as _};

use rustls::ClientConnection;

pub(crate) struct Tls(Box<ClientConnection>);

/// Makes an I/O error from a TLS error.
fn tls_error(error: &rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("TLS: {error}"))
}

impl Tls {
    /// Makes the TLS state of a connection whose handshake is done.
    pub(crate) fn new(mut connection: Box<ClientConnection>) -> Tls {
        // A whole pipeline is encrypted at once.
        connection.set_buffer_limit(None);
        Tls(connection)
    }

    /// Encrypts `plain`, and appends the records to `sealed`.
    pub(crate) fn encrypt_into(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        self.0.writer().write_all(plain)?;
        self.take_sealed(sealed)
    }

    /// Appends to `sealed` what TLS has to send, such as a key update.
    pub(crate) fn take_sealed(&mut self, sealed: &mut Vec<u8>) -> io::Result<()> {
        while self.0.wants_write() {
            self.0.write_tls(sealed)?;
        }
        Ok(())
    }

    /// Decrypts a few records from the front of `sealed`, and appends their text to `plain`.
    /// Large answers are not kept as a whole.
    pub(crate) fn decrypt_into(&mut self, sealed: &mut &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        self.0.read_tls(sealed)?;
        let state = self.0.process_new_packets().map_err(|error| tls_error(&error))?;
        let (before, bytes) = (plain.len(), state.plaintext_bytes_to_read());
        plain.resize(before + bytes, 0);
        self.0.reader().read_exact(&mut plain[before..])
    }
}
