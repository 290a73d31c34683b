//! libpq's TLS options, by rustls. `docs/tls.md` lists and explains the differences.
//!
//! <https://www.postgresql.org/docs/current/libpq-ssl.html>,
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS>

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustls::{ClientConfig, SupportedProtocolVersion};
use wire::Secret;

use super::pgpass::user_folder;
use super::url::url_failure;
use crate::server::tls::{ClientIdentity, ModeNames, Roots, TlsMode, TlsWanted, find_revocation_lists};
use crate::server::url::{Environment, Given};
use load::error::{Failure, FailureKind};

/// TLS options of URLs, with their environment variables.
const OPTIONS: [(&str, Option<&str>); 12] = [
    ("sslmode", Some("PGSSLMODE")),
    ("sslnegotiation", Some("PGSSLNEGOTIATION")),
    ("sslrootcert", Some("PGSSLROOTCERT")),
    ("sslcrl", Some("PGSSLCRL")),
    ("sslcrldir", Some("PGSSLCRLDIR")),
    ("sslcert", Some("PGSSLCERT")),
    ("sslkey", Some("PGSSLKEY")),
    ("sslpassword", None),
    ("sslcertmode", Some("PGSSLCERTMODE")),
    ("sslsni", Some("PGSSLSNI")),
    ("ssl_min_protocol_version", Some("PGSSLMINPROTOCOLVERSION")),
    ("ssl_max_protocol_version", Some("PGSSLMAXPROTOCOLVERSION")),
];

/// ALPN of PostgreSQL 17 and newer for direct TLS.
const ALPN: &[u8] = b"postgresql";

const MODES: ModeNames = &[
    ("disable", TlsMode::Disable),
    ("allow", TlsMode::Allow),
    ("prefer", TlsMode::Prefer),
    ("require", TlsMode::Require),
    ("verify-ca", TlsMode::VerifyCa),
    ("verify-full", TlsMode::VerifyFull),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attempt {
    Plain,
    Prefer,
    Tls,
}

/// Lists a mode's attempts in order; the next is made while the server objects to encryption or its absence.
pub(super) fn attempts_for(mode: TlsMode) -> &'static [Attempt] {
    match mode {
        TlsMode::Disable => &[Attempt::Plain],
        TlsMode::Allow => &[Attempt::Plain, Attempt::Tls],
        TlsMode::Prefer => &[Attempt::Prefer, Attempt::Plain],
        TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => &[Attempt::Tls],
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Negotiation {
    /// The client asks by `SSLRequest`.
    Asked,
    /// `sslnegotiation=direct`.
    Direct,
}

/// Sends the host name in clear text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sni {
    Told,
    Kept,
}

#[derive(Clone, Debug)]
pub(super) struct TlsOptions {
    pub(super) mode: TlsMode,
    pub(super) negotiation: Negotiation,
    /// `None`: anybody's certificate.
    roots: Option<Roots>,
    revoked: Vec<PathBuf>,
    identity: Option<ClientIdentity>,
    sni: Sni,
    versions: Vec<&'static SupportedProtocolVersion>,
    /// Options of the URL, for PostgreSQL's own programs.
    said: BTreeMap<&'static str, String>,
}

/// The URL, then the environment.
struct Sources<'a> {
    said: &'a BTreeMap<&'static str, String>,
    environment: Environment<'a>,
    folder: Option<PathBuf>,
}

impl Sources<'_> {
    /// Returns an option of the URL, or else of the environment; empty is absent, as in libpq.
    fn option_value(&self, name: &str) -> Option<String> {
        let variable = OPTIONS.iter().find(|(option, _)| *option == name).and_then(|(_, variable)| *variable);
        let found = self.said.get(name).cloned().or_else(|| (self.environment)(variable?));
        found.filter(|text| !text.is_empty())
    }

    /// Returns the file that an option names, or else an existing one in the user's folder.
    fn file_option(&self, option: &str, usual: &str) -> Option<PathBuf> {
        self.option_value(option)
            .map(PathBuf::from)
            .or_else(|| self.folder.as_deref().map(|folder| folder.join(usual)).filter(|file| file_exists(file)))
    }

    /// Reads the TLS mode, which a root file named `system` may imply; fails if it is too weak for that.
    fn tls_mode(&self, named_root: Option<&str>) -> Result<TlsMode, Failure> {
        let is_system = named_root == Some("system");
        let mode = match self.option_value("sslmode") {
            Some(text) => TlsMode::from_name(MODES, &text, "sslmode").map_err(url_failure)?,
            None if is_system => TlsMode::VerifyFull,
            None if (self.environment)("PGREQUIRESSL").is_some_and(|text| text.starts_with('1')) => TlsMode::Require,
            None => TlsMode::Prefer,
        };
        // Public authorities certify anybody's host.
        if is_system && mode != TlsMode::VerifyFull {
            let cause = format!("`sslmode={}` is too weak for `sslrootcert=system`", mode.name(MODES));
            return Err(url_failure(cause).with_hint("write `sslmode=verify-full`, or leave `sslmode` away"));
        }
        Ok(mode)
    }

    /// Reads whether TLS is asked for or begun directly; fails if the mode is too weak for that.
    fn read_negotiation(&self, mode: TlsMode) -> Result<Negotiation, Failure> {
        match self.option_value("sslnegotiation").as_deref() {
            None | Some("postgres") => Ok(Negotiation::Asked),
            Some("direct") if mode.requires_tls() => Ok(Negotiation::Direct),
            Some("direct") => {
                let cause = format!("`sslmode={}` is too weak for `sslnegotiation=direct`", mode.name(MODES));
                Err(url_failure(cause).with_hint("write `sslmode=require` or stricter"))
            }
            Some(_) => Err(url_failure("`sslnegotiation` is `postgres` or `direct`")),
        }
    }

    /// Reads which authorities are trusted; fails if the mode needs some and there are none.
    fn trusted_roots(&self, mode: TlsMode) -> Result<Option<Roots>, Failure> {
        let roots = match self.file_option("sslrootcert", "root.crt") {
            Some(file) if file == Path::new("system") => Some(Roots::System),
            file => file.map(Roots::File),
        };
        if roots.is_some() || !mode.verifies_server() {
            return Ok(roots);
        }
        let usual = self.folder.as_deref().map(|folder| folder.join("root.crt").display().to_string());
        let cause = format!(
            "`sslmode={}` needs authorities to trust, and {}",
            mode.name(MODES),
            usual.map_or("none are named".to_owned(), |file| format!("there is no {file}"))
        );
        let hint = match mode {
            TlsMode::VerifyFull => {
                "write `sslrootcert=/path/to/root.crt`, or `sslrootcert=system` for the operating system's"
            }
            _ => "write `sslrootcert=/path/to/root.crt`",
        };
        Err(Failure::new(FailureKind::Missing, "find the certificates that vouch for the server", cause)
            .with_hint(hint))
    }

    /// Lists the files of revoked certificates that options name.
    fn revocation_files(&self, roots: Option<&Roots>) -> Result<Vec<PathBuf>, Failure> {
        let named = (self.option_value("sslcrl"), self.option_value("sslcrldir"));
        if !matches!(roots, Some(Roots::File(_))) {
            if named == (None, None) {
                return Ok(Vec::new());
            }
            let cause = "a list of revoked certificates is held against nothing without a file of authorities";
            return Err(url_failure(cause).with_hint("write `sslrootcert=/path/to/root.crt` beside it"));
        }
        let mut files = match &named {
            (None, Some(_)) => Vec::new(),
            _ => self.file_option("sslcrl", "root.crl").into_iter().collect(),
        };
        if let Some(folder) = named.1 {
            files.extend(find_revocation_lists(Path::new(&folder))?);
        }
        Ok(files)
    }

    /// Finds the files of the client's certificate and key, if it has one.
    fn client_identity(&self) -> Result<Option<ClientIdentity>, Failure> {
        match self.option_value("sslcertmode").as_deref() {
            None | Some("allow") => {}
            Some("disable") => return Ok(None),
            Some("require") => {
                return Err(url_failure(
                    "`sslcertmode=require` is not known to étalon: it cannot tell whether it was asked",
                )
                .with_hint("let the server insist on a certificate: `clientcert=verify-ca` in pg_hba.conf"));
            }
            Some(_) => return Err(url_failure("`sslcertmode` is `disable` or `allow`")),
        }
        let Some(certificate) = self.file_option("sslcert", "postgresql.crt") else { return Ok(None) };
        let usual = self.folder.as_deref().map(|folder| folder.join("postgresql.key"));
        let Some(key) = self.option_value("sslkey").map(PathBuf::from).or(usual) else {
            return Err(url_failure("`sslcert` names a certificate, and its key is nowhere")
                .with_hint("write `sslkey=/path/to.key`"));
        };
        let password = self.option_value("sslpassword").map(|password| Secret::from(password.as_str()));
        Ok(Some(ClientIdentity { certificate, key, password }))
    }

    /// Reads the index of an option's version among those that libpq knows.
    fn version_index(&self, option: &str) -> Result<Option<usize>, Failure> {
        const KNOWN: [&str; 4] = ["TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"];
        let Some(text) = self.option_value(option) else { return Ok(None) };
        match KNOWN.iter().position(|name| name.eq_ignore_ascii_case(&text)) {
            None => Err(url_failure(format!("`{option}` is none of the versions {}", KNOWN.join(", ")))),
            index => Ok(index),
        }
    }

    /// Lists the TLS versions between the lowest and the highest allowed; fails if there are none.
    fn allowed_versions(&self) -> Result<Vec<&'static SupportedProtocolVersion>, Failure> {
        let lowest = self.version_index("ssl_min_protocol_version")?.unwrap_or(2);
        let highest = self.version_index("ssl_max_protocol_version")?.unwrap_or(3);
        let all = [(2, &rustls::version::TLS12), (3, &rustls::version::TLS13)];
        let versions: Vec<_> = all
            .into_iter()
            .filter(|(index, _)| (lowest..=highest).contains(index))
            .map(|(_, version)| version)
            .collect();
        if versions.is_empty() {
            return Err(url_failure("no version of TLS is left between the lowest and the highest that it allows")
                .with_hint("étalon speaks `TLSv1.2` and `TLSv1.3`"));
        }
        Ok(versions)
    }
}

/// Tests whether a file exists and may be looked at.
fn file_exists(file: &Path) -> bool {
    std::fs::metadata(file).is_ok()
}

/// Lists the names of the URL's TLS options.
pub(super) fn option_names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().map(|(name, _)| *name)
}

impl TlsOptions {
    /// Makes the options of a connection without TLS.
    pub(super) fn disabled() -> TlsOptions {
        TlsOptions {
            mode: TlsMode::Disable,
            negotiation: Negotiation::Asked,
            roots: None,
            revoked: Vec::new(),
            identity: None,
            sni: Sni::Told,
            versions: Vec::new(),
            said: BTreeMap::new(),
        }
    }

    /// Reads the options from the URL, else the environment and the user's files.
    /// `is_socket`: PostgreSQL does not encrypt there, and libpq ignores the options.
    pub(super) fn read_options(
        url: &Given,
        environment: Environment<'_>,
        is_socket: bool,
    ) -> Result<TlsOptions, Failure> {
        let own = url.iter().filter(|(name, _)| OPTIONS.iter().any(|(option, _)| option == *name));
        let mut said: BTreeMap<&'static str, String> = own.map(|(name, value)| (*name, value.clone())).collect();
        let given = Sources { said: &said, environment, folder: user_folder(environment) };
        let mode = given.tls_mode(given.option_value("sslrootcert").as_deref())?;
        let negotiation = given.read_negotiation(mode)?;
        let versions = given.allowed_versions()?;
        let sni = match given.option_value("sslsni").as_deref() {
            None | Some("1") => Sni::Told,
            Some("0") => Sni::Kept,
            Some(_) => return Err(url_failure("`sslsni` is `0` or `1`")),
        };
        if is_socket || mode == TlsMode::Disable {
            return Ok(TlsOptions::disabled());
        }
        let roots = given.trusted_roots(mode)?;
        let revoked = given.revocation_files(roots.as_ref())?;
        let identity = given.client_identity()?;
        // The password is in `identity`, which hides it.
        said.entry("sslpassword").and_modify(String::clear);
        Ok(TlsOptions { mode, negotiation, roots, revoked, identity, sni, versions, said })
    }

    /// Makes the TLS configuration, and reads the files that it names; `None` if never encrypted.
    pub(super) fn client_config(&self) -> Result<Option<ClientConfig>, Failure> {
        if self.mode == TlsMode::Disable {
            return Ok(None);
        }
        let check = self.mode.certificate_check(self.roots.is_some());
        let roots = self.roots.as_ref().unwrap_or(&Roots::System);
        let wanted = TlsWanted {
            revoked: &self.revoked,
            identity: self.identity.as_ref(),
            versions: &self.versions,
            ..TlsWanted::new(check, roots, "sslrootcert")
        };
        let mut config = wanted.client_config()?;
        config.enable_sni = self.sni == Sni::Told;
        if self.negotiation == Negotiation::Direct {
            config.alpn_protocols = vec![ALPN.to_vec()];
        }
        Ok(Some(config))
    }

    /// Lists the variables by which PostgreSQL's own programs use the same TLS options.
    pub(super) fn environment_variables(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let mut variables = vec![("PGSSLMODE", self.mode.name(MODES).to_owned())];
        for (name, variable) in OPTIONS.iter().filter(|(name, _)| *name != "sslmode") {
            let Some(value) = self.said.get(name) else { continue };
            let Some(variable) = variable else {
                let tried = "give a program of PostgreSQL's the key of the client's certificate";
                return Err(Failure::new(FailureKind::Unsupported, tried, format!("no variable stands for `{name}`"))
                    .with_hint(
                        "keep the key unencrypted in a file that nobody else may read, or let étalon take the backup",
                    ));
            };
            variables.push((variable, value.clone()));
        }
        Ok(variables)
    }
}
