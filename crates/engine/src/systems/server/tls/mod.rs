//! TLS by rustls, as far as engines agree on it: whose certificates are trusted, what is checked of them, and what a client
//! shows of itself. How the engines' own clients mean their options is in `docs/tls.md`, beside how étalon does.

mod files;
#[cfg(test)]
pub(crate) mod testing;
mod verifier;

use std::path::PathBuf;
use std::sync::Arc;

use rustls::{ClientConfig, SupportedProtocolVersion};
use wire::Secret;

use crate::error::{Failure, FailureKind};
use verifier::{Trust, Verifier};

pub(crate) use files::lists_in;

/// Whose certificates are trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Roots {
    /// The operating system's authorities.
    System,
    /// Those in a PEM file: authorities, and servers' own certificates that nobody else has signed.
    File(PathBuf),
    /// This certificate alone, whoever signed it, and whomever it names.
    Exactly(PathBuf),
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

/// What a client shows of itself.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Its certificate, and those that lead to an authority, in PEM format.
    pub(crate) certificate: PathBuf,
    /// Its private key, in PEM format.
    pub(crate) key: PathBuf,
    /// What the key is encrypted with, if it is.
    pub(crate) password: Option<Secret>,
}

/// What is wanted of TLS.
#[derive(Clone, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) check: Check,
    pub(crate) roots: &'a Roots,
    /// Files with lists of certificates that were revoked; every authority on the way has to have one, unless there is none
    /// at all.
    pub(crate) revoked: &'a [PathBuf],
    /// What is shown to a server that asks.
    pub(crate) identity: Option<&'a Identity>,
    /// The versions of TLS that are spoken.
    pub(crate) versions: &'a [&'static SupportedProtocolVersion],
    /// The engine's name of the option that names a file of authorities.
    pub(crate) root_option: &'static str,
}

impl<'a> Wanted<'a> {
    /// A check against authorities, and nothing else.
    pub(crate) fn new(check: Check, roots: &'a Roots, root_option: &'static str) -> Wanted<'a> {
        Wanted { check, roots, revoked: &[], identity: None, versions: rustls::DEFAULT_VERSIONS, root_option }
    }

    /// What rustls needs for it.
    pub(crate) fn client_config(&self) -> Result<ClientConfig, Failure> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = match self.check {
            Check::Nothing => None,
            Check::Chain | Check::ChainAndName => Some(Trust::new(self, &provider)?),
        };
        let verifier = Verifier::new(&provider, trust);
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(self.versions)
            .map_err(|error| failure("set up TLS", &error))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        let Some(identity) = self.identity else { return Ok(builder.with_no_client_auth()) };
        let (chain, key) = files::identity(identity)?;
        builder.with_client_auth_cert(chain, key).map_err(|error| {
            let shown = (identity.certificate.display(), identity.key.display());
            failure(&format!("use the client's certificate {} with the key {}", shown.0, shown.1), &error)
                .hint("the key has to be the certificate's own: RSA, or ECDSA on P-256 or P-384, or Ed25519")
        })
    }
}

fn failure(tried: &str, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Other, tried, cause)
}
