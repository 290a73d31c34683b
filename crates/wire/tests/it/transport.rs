//! The parts that the library leaves to its caller: sockets and TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{CertificateDer, ServerName};

const TIMEOUT: Duration = Duration::from_secs(30);

pub enum Transport {
    Tcp(TcpStream),
    Tls(Box<rustls::StreamOwned<rustls::ClientConnection, TcpStream>>),
}

impl Transport {
    pub fn connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_nodelay(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Does the TLS handshake and returns the server's certificate.
    pub fn start_tls(self, root: &CertificateDer<'static>, versions: TlsVersion) -> (Self, CertificateDer<'static>) {
        let Self::Tcp(stream) = self else { panic!("TLS runs already") };
        let mut roots = rustls::RootCertStore::empty();
        roots.add(root.clone()).unwrap();
        let versions: &[&rustls::SupportedProtocolVersion] = match versions {
            TlsVersion::V12 => &[&rustls::version::TLS12],
            TlsVersion::Any => rustls::ALL_VERSIONS,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let mut stream = rustls::StreamOwned::new(connection, stream);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        let certificate = stream.conn.peer_certificates().unwrap()[0].clone().into_owned();
        (Self::Tls(Box::new(stream)), certificate)
    }
}

#[derive(Clone, Copy)]
pub enum TlsVersion {
    V12,
    Any,
}

impl Read for Transport {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

/// A certificate for `localhost` that signs itself, and its key, both in PEM.
pub struct SelfSigned {
    pub certificate: CertificateDer<'static>,
    pub certificate_pem: String,
    pub key_pem: String,
}

impl SelfSigned {
    pub fn new() -> Self {
        let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Self {
            certificate: signed.cert.der().clone(),
            certificate_pem: signed.cert.pem(),
            key_pem: signed.signing_key.serialize_pem(),
        }
    }
}
