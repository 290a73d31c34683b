//! TLS by rustls, as far as engines agree: trust, verification, client certificates. `docs/tls.md` compares it with
//! the engines' own clients.

mod files;
#[cfg(test)]
pub(crate) mod testing;
mod verifier;

use std::path::PathBuf;
use std::sync::Arc;

use rustls::{ClientConfig, SupportedProtocolVersion};
use wire::Secret;

use load::error::{Failure, FailureKind};
use verifier::{TrustedRoots, Verifier};

pub(crate) use files::find_revocation_lists;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The operating system's roots.
    System,
    /// A PEM file: authorities, and self-signed server certificates.
    File(PathBuf),
    /// This certificate alone, whichever authority signed it and whichever host it names.
    Exactly(PathBuf),
}

/// Verification of a server's certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateCheck {
    Nothing,
    /// Signed by a trusted authority.
    Chain,
    /// Signed by a trusted authority for the host that was connected to.
    ChainAndName,
}

/// How much a connection insists on TLS, in PostgreSQL's words; MySQL has other names for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    /// Encrypts only if the server refuses plain connections.
    Allow,
    /// Encrypts if the server can.
    Prefer,
    /// Verified only with a file of authorities.
    Require,
    /// Signed by a trusted authority.
    VerifyCa,
    /// Signed by a trusted authority for the host that was connected to.
    VerifyFull,
}

/// An engine's names of modes.
pub(crate) type ModeNames = &'static [(&'static str, TlsMode)];

impl TlsMode {
    /// Reads a TLS mode by the engine's names; `option` is the option's name, for messages.
    pub(crate) fn from_name(names: ModeNames, text: &str, option: &str) -> Result<TlsMode, String> {
        let known = names.iter().find(|(name, _)| *name == text);
        known.map(|(_, mode)| *mode).ok_or_else(|| {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            format!("`{text}` is not an {option}; known are {}", names.join(", "))
        })
    }

    /// Returns the engine's name of the mode.
    pub(crate) fn name(self, names: ModeNames) -> &'static str {
        names.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| name)
    }

    /// Tests whether the server's certificate is checked.
    pub(crate) fn verifies_server(self) -> bool {
        matches!(self, TlsMode::VerifyCa | TlsMode::VerifyFull)
    }

    /// Tests whether a connection without TLS is refused.
    pub(crate) fn requires_tls(self) -> bool {
        self.verifies_server() || self == TlsMode::Require
    }

    /// Returns what is checked of the server's certificate in this mode.
    /// Like the engines' own clients, a file of authorities is used in weaker modes, too.
    pub(crate) fn certificate_check(self, has_roots: bool) -> CertificateCheck {
        match self {
            TlsMode::VerifyFull => CertificateCheck::ChainAndName,
            TlsMode::VerifyCa => CertificateCheck::Chain,
            _ if has_roots => CertificateCheck::Chain,
            TlsMode::Disable | TlsMode::Allow | TlsMode::Prefer | TlsMode::Require => CertificateCheck::Nothing,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ClientIdentity {
    /// File of the certificate and its chain, PEM.
    pub(crate) certificate: PathBuf,
    /// PEM.
    pub(crate) key: PathBuf,
    /// Password that the key file is encrypted with.
    pub(crate) password: Option<Secret>,
}

#[derive(Clone, Debug)]
pub(crate) struct TlsWanted<'a> {
    pub(crate) check: CertificateCheck,
    pub(crate) roots: &'a Roots,
    /// Revocation lists. If there are any, every authority in the chain needs one.
    pub(crate) revoked: &'a [PathBuf],
    /// Identity of the client, if the server asks for it.
    pub(crate) identity: Option<&'a ClientIdentity>,
    pub(crate) versions: &'a [&'static SupportedProtocolVersion],
    /// The engine's option for a file of authorities.
    pub(crate) root_option: &'static str,
}

impl<'a> TlsWanted<'a> {
    /// Makes what is wanted of TLS: authorities only, without revocation lists and client certificate.
    pub(crate) fn new(check: CertificateCheck, roots: &'a Roots, root_option: &'static str) -> TlsWanted<'a> {
        TlsWanted { check, roots, revoked: &[], identity: None, versions: rustls::DEFAULT_VERSIONS, root_option }
    }

    /// Makes the TLS configuration, and reads the files that it names.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = match self.check {
            CertificateCheck::Nothing => None,
            CertificateCheck::Chain | CertificateCheck::ChainAndName => Some(TrustedRoots::new(self, &provider)?),
        };
        let verifier = Verifier::new(&provider, trust);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .map_err(|error| tls_failure("set up TLS", &error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some(identity) = self.identity else { return Ok(builder.with_no_client_auth()) };
        let (chain, key) = files::read_identity(identity)?;
        builder.with_client_auth_cert(chain, key).map_err(|error| {
            let shown = (identity.certificate.display(), identity.key.display());
            tls_failure(&format!("use the client's certificate {} with the key {}", shown.0, shown.1), &error)
                .with_hint("the key has to be the certificate's own: RSA, or ECDSA on P-256 or P-384, or Ed25519")
        })
    }
}

/// Makes the failure of something that was tried with TLS.
fn tls_failure(tried: &str, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, cause)
}
