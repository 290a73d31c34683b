//! TLS as the options of MySQL's and MariaDB's clients ask for it. `docs/tls.md` has the table of what is meant otherwise, and
//! why.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#encrypted-connection-options>,
//! <https://mariadb.com/kb/en/securing-connections-for-client-and-server/>

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustls::{ClientConfig, SupportedProtocolVersion};

use super::url::url_failure;
use crate::server::tls::{
    CertificateCheck, ClientIdentity, ModeNames, Roots, TlsMode, TlsWanted, find_revocation_lists,
};
use crate::server::url::Given;
use load::error::{Failure, FailureKind};
use workloads::backup::tool;

/// Options that URLs and option files know.
pub(super) const OPTIONS: [&str; 9] = [
    "ssl-mode",
    "ssl",
    "ssl-verify-server-cert",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-crl",
    "ssl-crlpath",
    "tls-version",
];
/// Those of [`OPTIONS`] that select verification: MySQL's, and MariaDB's two.
const WAYS: [&str; 3] = ["ssl-mode", "ssl", "ssl-verify-server-cert"];

/// `ssl-mode`. <https://dev.mysql.com/doc/refman/8.4/en/connection-options.html#option_general_ssl-mode>
const MODES: ModeNames = &[
    ("disabled", TlsMode::Disable),
    ("preferred", TlsMode::Prefer),
    ("required", TlsMode::Require),
    ("verify_ca", TlsMode::VerifyCa),
    ("verify_identity", TlsMode::VerifyFull),
];

#[derive(Clone, Debug)]
pub(super) struct TlsOptions {
    pub(super) mode: TlsMode,
    roots: Option<PathBuf>,
    revoked: Vec<PathBuf>,
    identity: Option<ClientIdentity>,
    versions: Vec<&'static SupportedProtocolVersion>,
    /// Options for MySQL's own programs, without the mode.
    said: Vec<(&'static str, String)>,
}

/// Reads an option that is on or off.
pub(super) fn parse_truth(text: &str) -> Result<bool, Failure> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "" => Ok(true),
        "0" | "false" | "off" | "no" => Ok(false),
        _ => Err(url_failure("an option that is `1` or `0` is neither")),
    }
}

/// Reads the mode from one source, URL or option file; `None` if that does not say it.
fn mode_from_options<'a>(way: impl Fn(&str) -> Option<&'a String>) -> Result<Option<TlsMode>, Failure> {
    let on_at_all = way("ssl").map(|text| parse_truth(text)).transpose()?;
    let verified = way("ssl-verify-server-cert").map(|text| parse_truth(text)).transpose()?;
    let named = way("ssl-mode")
        .map(|text| TlsMode::from_name(MODES, &text.to_ascii_lowercase().replace('-', "_"), "ssl-mode"))
        .transpose()
        .map_err(url_failure)?;
    let named = match (named, on_at_all) {
        (None, Some(false)) => Some(TlsMode::Disable),
        (None | Some(TlsMode::Prefer), Some(true)) => Some(TlsMode::Require),
        (named, _) => named,
    };
    match (named, verified) {
        (Some(TlsMode::Disable), Some(true)) => {
            Err(url_failure("it wants the server's certificate verified, and no TLS")
                .with_hint("leave one of them away"))
        }
        (_, Some(true)) => Ok(Some(TlsMode::VerifyFull)),
        (named, _) => Ok(named),
    }
}

impl TlsOptions {
    /// Makes the options of a connection that is never encrypted.
    pub(super) fn disabled() -> TlsOptions {
        TlsOptions {
            mode: TlsMode::Disable,
            roots: None,
            revoked: Vec::new(),
            identity: None,
            versions: Vec::new(),
            said: Vec::new(),
        }
    }

    /// Reads the TLS options of the URL, then of the option file. `is_socket`: no one can listen.
    pub(super) fn read_options(
        url: &Given,
        file: &BTreeMap<String, String>,
        is_socket: bool,
    ) -> Result<TlsOptions, Failure> {
        let option = |name: &str| url.get(name).or_else(|| file.get(name)).filter(|text| !text.is_empty()).cloned();
        let path = |name: &str| option(name).map(PathBuf::from);
        // Modes of URL and file are not mixed.
        let by_url = WAYS.iter().any(|way| url.contains_key(*way));
        let said = mode_from_options(|name| if by_url { url.get(name) } else { file.get(name) })?;
        let roots = path("ssl-ca");
        let mode = match said {
            Some(TlsMode::Prefer) if is_socket => TlsMode::Disable,
            Some(mode) => mode,
            // Like MySQL's clients: naming an authority implies verification.
            None if roots.is_some() => TlsMode::VerifyCa,
            None if is_socket => TlsMode::Disable,
            None => TlsMode::Prefer,
        };
        let versions = parse_versions(option("tls-version").as_deref())?;
        if mode == TlsMode::Disable {
            return Ok(TlsOptions::disabled());
        }
        // Like MySQL's clients. Public authorities certify anybody's host.
        if mode == TlsMode::VerifyCa && roots.is_none() {
            return Err(url_failure("`ssl-mode=verify_ca` needs an authority to trust, and none is named").with_hint(
                "write `ssl-ca=/path/to/ca.pem`, or `ssl-mode=verify_identity` for the operating system's authorities",
            ));
        }
        let mut revoked: Vec<PathBuf> = path("ssl-crl").into_iter().collect();
        if let Some(folder) = path("ssl-crlpath") {
            revoked.extend(find_revocation_lists(&folder)?);
        }
        if !revoked.is_empty() && roots.is_none() {
            let cause = "a list of revoked certificates is held against nothing without a file of authorities";
            return Err(url_failure(cause).with_hint("write `ssl-ca=/path/to/ca.pem` beside it"));
        }
        let identity = match (path("ssl-cert"), path("ssl-key")) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(url_failure("it names a key, and no certificate of it").with_hint("write `ssl-cert=…`"));
            }
            // Like MariaDB's clients: both may be in one file.
            (Some(certificate), key) => {
                let key = key.unwrap_or_else(|| certificate.clone());
                Some(ClientIdentity { certificate, key, password: None })
            }
        };
        let files = OPTIONS.iter().filter(|name| !WAYS.contains(name));
        let said = files.filter_map(|name| Some((*name, option(name)?))).collect();
        Ok(TlsOptions { mode, roots, revoked, identity, versions, said })
    }

    /// Whether a connection without TLS is acceptable as a fallback; not if its certificate was to be verified.
    pub(super) fn may_fall_back_to_plain(&self) -> bool {
        self.mode == TlsMode::Prefer && self.mode.certificate_check(self.roots.is_some()) == CertificateCheck::Nothing
    }

    /// Makes the configuration of TLS, reading its certificates; `None` if never encrypted.
    pub(super) fn client_config(&self) -> Result<Option<ClientConfig>, Failure> {
        if self.mode == TlsMode::Disable {
            return Ok(None);
        }
        let roots = self.roots.clone().map_or(Roots::System, Roots::File);
        let wanted = TlsWanted {
            revoked: &self.revoked,
            identity: self.identity.as_ref(),
            versions: &self.versions,
            ..TlsWanted::new(self.mode.certificate_check(self.roots.is_some()), &roots, "ssl-ca")
        };
        wanted.client_config().map(Some)
    }

    /// Makes the TLS arguments for MySQL's or MariaDB's own programs; MariaDB's may have MySQL's names.
    ///
    /// # Errors
    /// MariaDB's programs would fall back to no TLS if a machine in between says that the server has none.
    pub(super) fn program_arguments(&self, program: &Path) -> Result<Vec<String>, Failure> {
        let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let word = self.mode.name(MODES);
        let is_mariadb = name.starts_with("maria") || tool::version_line(program).contains("MariaDB");
        let mut arguments = match (is_mariadb, self.mode) {
            (false, _) => vec![format!("--ssl-mode={}", word.to_ascii_uppercase())],
            (true, TlsMode::Disable) => vec!["--skip-ssl".to_owned()],
            (true, TlsMode::Prefer) => vec!["--ssl".to_owned(), "--skip-ssl-verify-server-cert".to_owned()],
            (true, TlsMode::VerifyFull) => vec!["--ssl".to_owned(), "--ssl-verify-server-cert".to_owned()],
            (true, TlsMode::Allow | TlsMode::Require | TlsMode::VerifyCa) => {
                let cause = format!("it cannot be held to `ssl-mode={word}`: where no TLS is offered, it does without");
                return Err(Failure::new(FailureKind::Unsupported, format!("connect by {name} over TLS alone"), cause)
                    .with_hint("write `ssl-mode=verify_identity`, which it keeps; or name the server's socket"));
            }
        };
        arguments.extend(self.said.iter().map(|(name, value)| format!("--{name}={value}")));
        Ok(arguments)
    }
}

/// Parses `tls-version`, whose names are separated by commas; without it all versions are allowed.
fn parse_versions(text: Option<&str>) -> Result<Vec<&'static SupportedProtocolVersion>, Failure> {
    let Some(text) = text else { return Ok(rustls::DEFAULT_VERSIONS.to_vec()) };
    let names: Vec<&str> = text.split(',').map(str::trim).collect();
    let all = [("TLSv1.2", &rustls::version::TLS12), ("TLSv1.3", &rustls::version::TLS13)];
    let wanted = all.into_iter().filter(|(name, _)| names.iter().any(|one| one.eq_ignore_ascii_case(name)));
    let versions: Vec<_> = wanted.map(|(_, version)| version).collect();
    if versions.is_empty() {
        let cause = "`tls-version` names none of the versions that étalon speaks";
        return Err(url_failure(cause).with_hint("write `tls-version=TLSv1.2,TLSv1.3`"));
    }
    Ok(versions)
}
