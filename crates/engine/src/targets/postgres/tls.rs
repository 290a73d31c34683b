//! TLS as libpq's `sslmode` asks for it, by rustls.
//!
//! <https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS>

use std::str::FromStr;

use postgres::config::SslMode;
use rustls::ClientConfig;

use crate::error::Failure;
use crate::targets::tls::{Check, client_config};

pub(super) use crate::targets::tls::Roots;

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

/// What is needed to encrypt; `None` if nothing ever is. `require` and `verify-ca` accept a certificate for any host; whoever
/// needs more says `verify-full`.
///
/// # Errors
/// There is no certificate to trust.
pub(super) fn client(mode: TlsMode, roots: &Roots) -> Result<Option<ClientConfig>, Failure> {
    let check = match mode {
        TlsMode::Disable => return Ok(None),
        TlsMode::Allow | TlsMode::Prefer | TlsMode::Require => Check::Nothing,
        TlsMode::VerifyCa => Check::Chain,
        TlsMode::VerifyFull => Check::ChainAndName,
    };
    Ok(Some(client_config(check, roots, "sslrootcert")?))
}
