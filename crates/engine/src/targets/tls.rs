//! TLS by rustls, as far as engines agree on it: whose certificates are trusted, and what is checked of them.

use std::path::PathBuf;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedProtocolVersion,
};

use crate::error::{Failure, FailureKind};

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The operating system's authorities.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// What is checked of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Nothing: encrypted with whomsoever.
    Nothing,
    /// That a trusted authority signed it.
    Chain,
    /// And that it names the host.
    ChainAndName,
}

/// What rustls needs to encrypt. `option` is the engine's name of the option that names a file of authorities.
///
/// # Errors
/// There is no certificate to trust.
pub(crate) fn client_config(check: Check, roots: &Roots, option: &str) -> Result<ClientConfig, Failure> {
    client_config_of(rustls::DEFAULT_VERSIONS, check, roots, option)
}

/// The same for these versions of TLS alone.
///
/// # Errors
/// As of [`client_config`].
pub(crate) fn client_config_of(
    versions: &[&'static SupportedProtocolVersion],
    check: Check,
    roots: &Roots,
    option: &str,
) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match check {
        Check::Nothing => Arc::new(LenientVerifier { provider: Arc::clone(&provider), chain: None }),
        Check::Chain => {
            let chain = Some(chain_verifier(roots, option, &provider)?);
            Arc::new(LenientVerifier { provider: Arc::clone(&provider), chain })
        }
        Check::ChainAndName => chain_verifier(roots, option, &provider)?,
    };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(|error| failure("set up TLS", &error))?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn failure(tried: &str, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, cause)
}

fn chain_verifier(
    roots: &Roots,
    option: &str,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>, Failure> {
    let mut store = RootCertStore::empty();
    let tried = match roots {
        Roots::File(file) => {
            let tried = format!("read the certificates in {}", file.display());
            let certificates = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let certificates = certificates.map_err(|error| {
                Failure::new(FailureKind::Missing, tried.clone(), error)
                    .hint(format!("`{option}` names a file in PEM format"))
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
            .hint(format!("name the authority's certificate in the URL: {option}=/path/to/root.crt")));
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
        .build()
        .map_err(|error| failure(&tried, &error))
}

/// Accepts a certificate for any host, and, where there is no chain to check, from anybody.
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
