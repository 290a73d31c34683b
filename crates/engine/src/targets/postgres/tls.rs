//! TLS as libpq's `sslmode` asks for it, by rustls.
//!
//! <https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS>

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use postgres::config::SslMode;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

use crate::error::{Failure, FailureKind};

/// `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TlsMode {
    /// Never encrypted.
    Disable,
    /// Encrypted only where the server refuses anything else.
    Allow,
    /// Encrypted where the server can.
    Prefer,
    /// Encrypted; with whom is not checked.
    Require,
    /// Encrypted, with a certificate that a trusted authority signed.
    VerifyCa,
    /// And that names the host.
    VerifyFull,
}

const MODES: [(&str, TlsMode); 6] = [
    ("disable", TlsMode::Disable),
    ("allow", TlsMode::Allow),
    ("prefer", TlsMode::Prefer),
    ("require", TlsMode::Require),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-full", TlsMode::VerifyFull),
];

impl FromStr for TlsMode {
    type Err = String;

    fn from_str(text: &str) -> Result<TlsMode, String> {
        let known = MODES.iter().find(|(name, _)| *name == text);
        known.map(|(_, mode)| *mode).ok_or_else(|| {
            let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
            format!("`{text}` is not an sslmode; known are {}", names.join(", "))
        })
    }
}

impl TlsMode {
    /// What is tried, one after the other, while the server objects to the encryption or the lack of it.
    pub(super) fn attempts(self) -> &'static [SslMode] {
        match self {
            TlsMode::Disable => &[SslMode::Disable],
            TlsMode::Allow => &[SslMode::Disable, SslMode::Require],
            TlsMode::Prefer => &[SslMode::Prefer, SslMode::Disable],
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => &[SslMode::Require],
        }
    }
}

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// The operating system's authorities.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// What is needed to encrypt; `None` if nothing ever is.
///
/// # Errors
/// There is no certificate to trust.
pub(super) fn client(mode: TlsMode, roots: &Roots) -> Result<Option<ClientConfig>, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match mode {
        TlsMode::Disable => return Ok(None),
        TlsMode::Allow | TlsMode::Prefer | TlsMode::Require => {
            Arc::new(LenientVerifier { provider: Arc::clone(&provider), chain: None })
        }
        TlsMode::VerifyCa => {
            let chain = Some(chain_verifier(roots, &provider)?);
            Arc::new(LenientVerifier { provider: Arc::clone(&provider), chain })
        }
        TlsMode::VerifyFull => chain_verifier(roots, &provider)?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| failure("set up TLS", &error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Some(config))
}

fn failure(tried: &str, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, cause)
}

fn chain_verifier(roots: &Roots, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, Failure> {
    let mut store = RootCertStore::empty();
    let tried = match roots {
        Roots::File(file) => {
            let tried = format!("read the certificates in {}", file.display());
            let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let certificates = certificates.map_err(|error| {
                Failure::new(FailureKind::Missing, tried.clone(), error)
                    .hint("`sslrootcert` names a file in PEM format")
            })?;
            store.add_parsable_certificates(certificates);
            tried
        }
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            "find the certificates that this machine trusts".to_owned()
        }
    };
    if store.is_empty() {
        return Err(Failure::new(FailureKind::Missing, tried, "there is none")
            .hint("name the authority's certificate in the URL: sslrootcert=/path/to/root.crt"));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| failure(&tried, &error))
}

/// Accepts a certificate for any host, and, where there is no chain to check, from anybody. That is what `require` and
/// `verify-ca` mean in PostgreSQL; whoever needs more says `verify-full`.
#[derive(Debug)]
struct LenientVerifier {
    provider: Arc<CryptoProvider>,
    chain: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            // rustls looks at the name only after the chain has been found good.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
