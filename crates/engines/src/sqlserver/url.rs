//! A server's address: URL and `sqlcmd`'s variables,
//! <https://learn.microsoft.com/en-us/sql/tools/sqlcmd/sqlcmd-use-scripting-variables>; options are those of
//! Microsoft's clients, <https://learn.microsoft.com/en-us/sql/connect/ado-net/connection-string-syntax>.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use crate::server::is_this_host;
use crate::server::tls::Roots;
use crate::server::url::{self, Environment, Given, PasswordSource, UrlSyntax, url_authority};
use host::watch::Listener;
use load::error::Failure;
use workloads::permits::Permits;

/// Timeout if the URL names none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// Port if the URL names none.
const PORT: u16 = 1433;
/// Default, that of Microsoft's clients.
const PACKET_BYTES: u16 = 8000;
const OPTIONS: [&str; 11] = [
    "encrypt",
    "trust_server_certificate",
    "ca_file",
    "server_certificate",
    "host_name_in_certificate",
    "connect_timeout",
    "packet_size",
    "user",
    "password",
    "host",
    "port",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encrypt {
    /// `encrypt=false`, unless the server wants more.
    Login,
    /// `encrypt=true`.
    Everything,
}

/// Verification of certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    Checked,
    /// `trust_server_certificate=true`.
    Blind,
}

#[derive(Clone)]
pub(crate) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    /// `None` is the empty password.
    pub(super) password: Option<String>,
    pub(super) password_source: PasswordSource,
    pub(super) database: Option<String>,
    pub(super) encrypt: Encrypt,
    pub(super) trust: Trust,
    /// Roots of trust, if the URL names any.
    pub(super) roots: Option<Roots>,
    /// Instead of the host.
    pub(super) certificate_name: Option<String>,
    pub(super) connect_timeout: Duration,
    /// Requested.
    pub(super) packet_bytes: u16,
}

/// Makes the failure for a URL that cannot be read.
fn url_failure(cause: impl std::fmt::Display) -> Failure {
    <Address as url::Address>::FORM.url_failure(cause)
}

impl url::Address for Address {
    const FORM: UrlSyntax = UrlSyntax {
        product: "SQL Server",
        schemes: ["mssql", "sqlserver"],
        // Microsoft's clients write `host,port`.
        before_port: &[':', ','],
        options: || OPTIONS.to_vec(),
        // `TrustServerCertificate` and `trust-server-certificate` are `trust_server_certificate`.
        spelled: |name| name.to_ascii_lowercase().replace(['_', '-', ' '], ""),
        aliases: &[],
        files: &["ca_file", "server_certificate"],
    };

    /// Reads an address from the URL's parts, then from the environment of Microsoft's clients.
    fn from_given(given: &Given, environment: Environment<'_>) -> Result<Address, Failure> {
        let (host, port) = find_host(given, environment)?;
        let user = given.get("user").cloned().or_else(|| environment("SQLCMDUSER"));
        let user = user.ok_or_else(|| {
            url_failure("it names no login, and integrated authentication is not spoken")
                .with_hint("write `mssql://LOGIN@host/database` for SQL authentication, or set SQLCMDUSER")
        })?;
        let (password, password_source) = match given.get("password") {
            Some(password) => (Some(password.clone()), PasswordSource::Url),
            None => match environment("SQLCMDPASSWORD") {
                Some(password) => (Some(password), PasswordSource::Environment),
                None => (None, PasswordSource::Nowhere(None)),
            },
        };
        let (trust, roots) = trust_options(given)?;
        let port = match port {
            Some(port) => port,
            None => number_option(given, "port", 1..=65_535)?.map_or(PORT, |port| port as u16),
        };
        Ok(Address {
            host,
            port,
            user,
            password: password.filter(|password| !password.is_empty()),
            password_source,
            database: given.get("dbname").cloned().or_else(|| environment("SQLCMDDBNAME")),
            encrypt: given.get("encrypt").map_or(Ok(Encrypt::Everything), |text| parse_encrypt(text))?,
            trust,
            roots,
            certificate_name: given.get("host_name_in_certificate").cloned(),
            connect_timeout: number_option(given, "connect_timeout", 1..=86_400)?
                .map_or(CONNECT_TIMEOUT, Duration::from_secs),
            packet_bytes: number_option(given, "packet_size", 512..=32_767)?.map_or(PACKET_BYTES, |bytes| bytes as u16),
        })
    }

    /// Fails if the permits do not allow connecting there.
    fn check_permitted(&self, permits: &Permits) -> Result<(), Failure> {
        permits.check_connect(&self.host, self.port)
    }

    /// The port on which the server listens.
    fn listener(&self) -> Listener {
        Listener::Tcp { host: self.host.clone(), port: self.port }
    }

    /// URL without the password, for messages.
    fn shown_url(&self) -> String {
        let database = self.database.as_deref().unwrap_or_default();
        format!("mssql://{}/{database}", url_authority(&self.user, &self.host, self.port))
    }
}

/// Finds the URL's host, else host and port of `SQLCMDSERVER`: `[tcp:]host[,port]`.
fn find_host(given: &Given, environment: Environment<'_>) -> Result<(String, Option<u16>), Failure> {
    let named = given.get("host").cloned().map(|host| (host, None));
    let (host, port) = match (named, environment("SQLCMDSERVER")) {
        (Some(named), _) => named,
        (None, None) => ("localhost".to_owned(), None),
        (None, Some(server)) => {
            let server = server.strip_prefix("tcp:").unwrap_or(&server);
            let (host, port) = server.split_once(',').unwrap_or((server, ""));
            if host.contains(':') {
                return Err(
                    url_failure("SQLCMDSERVER names a protocol other than TCP").with_hint("write `host,port` there")
                );
            }
            let port = if given.contains_key("port") || port.is_empty() {
                None
            } else {
                Some(port.parse().map_err(|_| url_failure(format!("`{port}` in SQLCMDSERVER is not a port")))?)
            };
            (host.to_owned(), port)
        }
    };
    if host.contains('\\') {
        return Err(url_failure("it names an instance, and étalon does not ask the SQL Server Browser for its port")
            .with_hint("write the instance's port: `mssql://user@host:port/`"));
    }
    Ok((host, port))
}

/// Reads an option that is a whole number in this range; `None` if the URL does not have it.
fn number_option(given: &Given, name: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Failure> {
    let Some(text) = given.get(name) else { return Ok(None) };
    match text.parse().ok().filter(|number| range.contains(number)) {
        None => {
            let (least, most) = (range.start(), range.end());
            Err(url_failure(format!("`{name}={text}`: a number from {least} to {most} is expected")))
        }
        number => Ok(number),
    }
}

impl Address {
    /// Whether the URL names the certificate's signer or subject.
    pub(super) fn names_certificate(&self) -> bool {
        self.roots.is_some() || self.certificate_name.is_some()
    }

    /// Whether by the address the server must be on this machine.
    pub(super) fn is_local(&self) -> bool {
        is_this_host(&self.host)
    }
}

/// Reads how the server's certificate is checked, and by which roots.
/// Verification options that contradict each other are refused, not ignored.
fn trust_options(given: &Given) -> Result<(Trust, Option<Roots>), Failure> {
    let blind = given.get("trust_server_certificate").map_or(Ok(false), |text| parse_truth(text))?;
    let [authorities, certificate] = ["ca_file", "server_certificate"].map(|name| given.get(name).map(PathBuf::from));
    let roots = match (authorities, certificate) {
        (Some(_), Some(_)) => {
            return Err(url_failure("`server_certificate` is compared as it is, and no authority is asked")
                .with_hint("leave `ca_file` away, or name the certificate there"));
        }
        (None, Some(file)) => Some(Roots::Exactly(file)),
        (file, None) => file.map(Roots::File),
    };
    let is_named = roots.is_some() || given.contains_key("host_name_in_certificate");
    match (blind, is_named) {
        (true, true) => Err(url_failure("it says how the certificate is checked, and that it is not")
            .with_hint("leave `trust_server_certificate` away")),
        (true, false) => Ok((Trust::Blind, None)),
        (false, _) => Ok((Trust::Checked, roots)),
    }
}

/// Reads an option that is on or off.
fn parse_truth(text: &str) -> Result<bool, Failure> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(url_failure(format!("`{text}` is neither `true` nor `false`"))),
    }
}

/// Parses `encrypt`: all of the connection or the login alone.
fn parse_encrypt(text: &str) -> Result<Encrypt, Failure> {
    match text.to_ascii_lowercase().as_str() {
        "mandatory" => Ok(Encrypt::Everything),
        "optional" => Ok(Encrypt::Login),
        "strict" => {
            Err(url_failure("`encrypt=strict` is TDS 8, which étalon does not speak").with_hint("write `encrypt=true`"))
        }
        other => parse_truth(other).map(|all| if all { Encrypt::Everything } else { Encrypt::Login }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::url::Address as _;
    use crate::server::url::tests::{are_bound, are_refused, parse, parse_within};

    #[test]
    fn a_url_says_everything() {
        let address = parse::<Address>(
            "mssql://s%61:p%40ss@db.example:1444/stock?encrypt=false&TrustServerCertificate=yes&packet-size=4096&connect_timeout=3",
        )
        .unwrap();
        assert_eq!((address.host.as_str(), address.port, address.user.as_str()), ("db.example", 1444, "sa"));
        assert_eq!((address.password.as_deref(), address.database.as_deref()), (Some("p@ss"), Some("stock")));
        assert_eq!((address.encrypt, address.trust, address.packet_bytes), (Encrypt::Login, Trust::Blind, 4096));
        assert_eq!(address.connect_timeout, Duration::from_secs(3));
        assert_eq!(address.shown_url(), "mssql://sa@db.example:1444/stock");
    }

    #[test]
    fn a_plan_is_bound_to_the_address_that_is_connected_to() {
        are_bound::<Address>(
            &["127.0.0.1:1433"],
            &|_| None,
            &["mssql://sa@127.0.0.1/"],
            &[
                "mssql://sa@127.0.0.1,1434/",
                "mssql://sa@127.0.0.1/?%68ost=127.2",
                "mssql://sa@127.0.0.1/?CA-File=/etc/passwd",
                "mssql://sa@/",
            ],
        );
    }

    #[test]
    fn what_is_left_out_is_what_microsoft_s_clients_do() {
        let variables = [("SQLCMDPASSWORD", "from-env")];
        let address: Address = parse_within("sqlserver://sa@[::1],1433", &variables).unwrap();
        assert_eq!((address.host.as_str(), address.port), ("::1", 1433));
        assert_eq!((address.encrypt, address.trust), (Encrypt::Everything, Trust::Checked));
        assert_eq!(
            (address.password.as_deref(), &address.password_source),
            (Some("from-env"), &PasswordSource::Environment)
        );
        let variables = [("SQLCMDSERVER", "tcp:db.example,1444"), ("SQLCMDDBNAME", "stock")];
        let address: Address = parse_within("mssql://sa@/", &variables).unwrap();
        assert_eq!((address.host.as_str(), address.port), ("db.example", 1444));
        assert_eq!(address.database.as_deref(), Some("stock"));
        let address: Address = parse_within("mssql://sa@h/d", &variables).unwrap();
        assert_eq!((address.host.as_str(), address.port, address.database.as_deref()), ("h", 1433, Some("d")));
        for server in [r"db\sql", "np:db", "db,x"] {
            assert!(parse_within::<Address>("mssql://sa@/", &[("SQLCMDSERVER", server)]).is_err(), "{server}");
        }
        let address: Address = parse_within("sqlserver://sa@[::1],1433", &[]).unwrap();
        assert!(address.is_local() && !parse::<Address>("mssql://sa@db/").unwrap().is_local());
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not() {
        are_refused::<Address>(&[
            ("mssql://sa:hunter2@h/?encript=true", "encript"),
            ("mssql://sa:hunter2@h/?encrypt=strict", "TDS 8"),
            ("mssql://sa:hunter2@h/?trust_server_certificate=true&ca_file=/x", "not"),
            ("mssql://sa:hunter2@h/?trust_server_certificate=true&HostNameInCertificate=x", "not"),
            ("mssql://sa:hunter2@h/?ServerCertificate=/x&ca_file=/x", "no authority"),
            ("mssql://sa:hunter2@h/?encrypt=perhaps", "perhaps"),
            ("mssql://sa:hunter2@h/?packet_size=7", "512"),
            ("mssql://sa:hunter2@h%5Cexpress/", "instance"),
            ("mssql://h/", "login"),
            ("mysql://sa:hunter2@h/", "mssql://"),
            ("mssql://sa:hunter2@h:0/", "65535"),
        ]);
    }
}
