//! A server's address: URL, option file, and the variables of MySQL's own clients.
//!
//! <https://dev.mysql.com/doc/refman/8.4/en/environment-variables.html>,
//! <https://dev.mysql.com/doc/refman/8.4/en/connecting.html>

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::option_file;
use super::tls::{self, TlsOptions, parse_truth};
use crate::server::url::{self, Environment, Given, PasswordSource, UrlSyntax, os_user, url_authority};
use crate::server::{LOOPBACK, is_this_host};
use host::watch::Listener;
use load::error::Failure;
use workloads::permits::Permits;

/// Default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Default.
const PORT: u16 = 3306;
/// Sockets' paths in the packages of Linux distributions.
const SOCKETS: [&str; 4] =
    ["/run/mysqld/mysqld.sock", "/var/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock"];
/// A URL's options but for TLS.
const OPTIONS: [&str; 8] =
    ["socket", "protocol", "get-server-public-key", "connect-timeout", "user", "password", "host", "port"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Socket(PathBuf),
    Tcp { host: String, port: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ServerKey {
    /// Default of MySQL's clients: anybody in between could send his own.
    Refuse,
    /// `get-server-public-key`.
    Ask,
}

#[derive(Clone)]
pub(crate) struct Address {
    pub(super) place: Place,
    pub(super) user: String,
    /// `None` is the empty password.
    pub(super) password: Option<String>,
    pub(super) password_source: PasswordSource,
    /// The login's default, in which étalon does nothing.
    pub(super) database: Option<String>,
    pub(super) tls: TlsOptions,
    pub(super) server_key: ServerKey,
    /// Timeout of connecting.
    pub(super) connect_timeout: Duration,
}

/// Makes the failure for a URL that cannot be read; `cause` must not repeat the password.
pub(super) fn url_failure(cause: impl std::fmt::Display) -> Failure {
    <Address as url::Address>::FORM.url_failure(cause)
}

impl url::Address for Address {
    const FORM: UrlSyntax = UrlSyntax {
        product: "MySQL",
        schemes: ["mysql", "mariadb"],
        before_port: &[':'],
        options: || [&OPTIONS[..], &tls::OPTIONS].concat(),
        spelled: |name| name.replace('_', "-"),
        aliases: &[],
        files: &[
            "defaults_file",
            "server_public_key_path",
            "ssl_ca",
            "ssl_capath",
            "ssl_cert",
            "ssl_crl",
            "ssl_crlpath",
            "ssl_key",
            "tls_session_cache",
        ],
    };

    /// Reads an address from the URL's parts, then option files, then environment: MySQL's order.
    fn from_given(given: &Given, environment: Environment<'_>) -> Result<Address, Failure> {
        let file = option_file::read_option_files(environment)?;
        let option = |name: &str| given.get(name).or_else(|| file.values.get(name)).cloned();
        let user = option("user").or_else(|| os_user(environment));
        let user =
            user.ok_or_else(|| url_failure("it names no user").with_hint("write `mysql://USER@host/database`"))?;
        let place = find_place(given, &file.values, environment)?;
        let tls = TlsOptions::read_options(given, &file.values, matches!(place, Place::Socket(_)))?;
        let (password, password_source) = match (given.get("password"), file.values.get("password")) {
            (Some(password), _) => (Some(password.clone()), PasswordSource::Url),
            (None, Some(password)) => (Some(password.clone()), PasswordSource::File(file.file.clone())),
            (None, None) => match environment("MYSQL_PWD") {
                Some(password) => (Some(password), PasswordSource::Environment),
                None => (None, PasswordSource::Nowhere(file.ignored.clone())),
            },
        };
        let asks = option("get-server-public-key").map_or(Ok(false), |text| parse_truth(&text))?;
        let connect_timeout = match option("connect-timeout") {
            Some(text) => {
                let seconds: u64 =
                    text.parse().map_err(|_| url_failure(format!("`{text}` is no number of seconds")))?;
                Duration::from_secs(seconds.max(1))
            }
            None => CONNECT_TIMEOUT,
        };
        Ok(Address {
            place,
            user,
            password: password.filter(|password| !password.is_empty()),
            password_source,
            database: given.get("dbname").cloned(),
            tls,
            server_key: if asks { ServerKey::Ask } else { ServerKey::Refuse },
            connect_timeout,
        })
    }

    /// Fails if the permits do not allow connecting there.
    fn check_permitted(&self, permits: &Permits) -> Result<(), Failure> {
        match &self.place {
            Place::Socket(socket) => permits.check_socket(socket),
            Place::Tcp { host, port } => permits.check_connect(host, *port),
        }
    }

    /// The socket or port on which the server listens.
    fn listener(&self) -> Listener {
        match &self.place {
            Place::Socket(socket) => Listener::Socket(socket.clone()),
            Place::Tcp { host, port } => Listener::Tcp { host: host.clone(), port: *port },
        }
    }

    /// URL without the password, for messages.
    fn shown_url(&self) -> String {
        let user = &self.user;
        let database = self.database.as_deref().unwrap_or_default();
        match &self.place {
            Place::Socket(path) => format!("mysql://{user}@localhost/{database}?socket={}", path.display()),
            Place::Tcp { host, port } => format!("mysql://{}/{database}", url_authority(user, host, *port)),
        }
    }

    /// URL with password by which other hosts reach a private server; `None` if it listens on this machine alone.
    fn url_of_private(&self) -> Option<String> {
        let Place::Tcp { host, port } = &self.place else { return None };
        if host == LOOPBACK {
            return None;
        }
        let password = self.password.as_ref()?;
        let login = url_authority(&format!("{}:{password}", self.user), host, *port);
        Some(format!("mysql://{login}/?ssl-mode=DISABLED"))
    }
}

/// Finds from URL, option file and environment the socket or port to connect to.
/// Like MySQL's clients: `localhost` means the socket only. Some ignore a port next to it; a benchmark must not guess.
fn find_place(given: &Given, file: &BTreeMap<String, String>, environment: Environment<'_>) -> Result<Place, Failure> {
    let host = given.get("host").or_else(|| file.get("host")).cloned().or_else(|| environment("MYSQL_HOST"));
    let host = host.filter(|host| !host.is_empty()).unwrap_or_else(|| "localhost".to_owned());
    let has_sockets = std::path::MAIN_SEPARATOR == '/';
    let protocol = given.get("protocol").or_else(|| file.get("protocol")).map(|text| text.to_ascii_lowercase());
    let is_by_tcp = match protocol.as_deref() {
        None => false,
        Some("tcp") => true,
        Some("socket") if host == "localhost" => false,
        Some(other) => {
            let cause = format!("`protocol={other}` is not how étalon reaches `{host}`");
            return Err(url_failure(cause).with_hint("`protocol` is `tcp`, or `socket` with the host `localhost`"));
        }
    };
    if host == "localhost" && has_sockets && !is_by_tcp {
        if let (Some(port), None) = (given.get("port"), given.get("socket")) {
            let cause = format!("`localhost` means the Unix socket to MySQL, which has no port {port}");
            let hint = format!("write `127.0.0.1:{port}` for TCP, or leave the port away for the socket");
            return Err(url_failure(cause).with_hint(hint));
        }
        let socket = given.get("socket").or_else(|| file.get("socket")).cloned();
        let socket = socket.or_else(|| environment("MYSQL_UNIX_PORT")).unwrap_or_else(default_socket);
        return Ok(Place::Socket(PathBuf::from(socket)));
    }
    if given.contains_key("socket") {
        let cause = format!("it names a socket and the host `{host}`, which is reached by TCP");
        return Err(url_failure(cause).with_hint("leave one of them away; with `localhost` the socket is used"));
    }
    let port = given.get("port").or_else(|| file.get("port")).cloned().or_else(|| environment("MYSQL_TCP_PORT"));
    let port = match port {
        Some(text) => text.parse().map_err(|_| url_failure(format!("`{text}` is not a port")))?,
        None => PORT,
    };
    Ok(Place::Tcp { host, port })
}

/// Path of the server's socket: the first usual one that exists.
fn default_socket() -> String {
    let there = SOCKETS.iter().find(|socket| Path::new(socket).exists());
    there.unwrap_or(&SOCKETS[0]).to_string()
}

impl Address {
    /// An address without TLS, such as a private server's.
    pub(super) fn without_tls(place: Place, user: &str, password: Option<&str>) -> Address {
        Address {
            place,
            user: user.to_owned(),
            password: password.map(str::to_owned),
            password_source: PasswordSource::Nowhere(None),
            database: None,
            tls: TlsOptions::disabled(),
            server_key: ServerKey::Ask,
            connect_timeout: CONNECT_TIMEOUT,
        }
    }

    pub(super) fn is_socket(&self) -> bool {
        matches!(self.place, Place::Socket(_))
    }

    /// Whether by the address the server must be on this machine.
    pub(super) fn is_local(&self) -> bool {
        match &self.place {
            Place::Socket(_) => true,
            Place::Tcp { host, .. } => is_this_host(host),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::tls::TlsMode;
    use crate::server::url::Address as _;
    use crate::server::url::tests::{are_bound, are_refused, parse, parse_within};

    fn tcp(host: &str, port: u16) -> Place {
        Place::Tcp { host: host.to_owned(), port }
    }

    #[test]
    fn urls_are_read() {
        let address = parse::<Address>("mysql://me:p%40ss@db.example:3307/shop").unwrap();
        assert_eq!(address.place, tcp("db.example", 3307));
        assert_eq!((address.user.as_str(), address.password.as_deref()), ("me", Some("p@ss")));
        assert_eq!((address.database.as_deref(), address.tls.mode), (Some("shop"), TlsMode::Prefer));
        assert_eq!(address.shown_url(), "mysql://me@db.example:3307/shop");
        assert_eq!(parse::<Address>("mariadb://me@[::1]/").unwrap().place, tcp("::1", 3306));
        assert_eq!(parse::<Address>("mysql://me@[::1]:3307").unwrap().shown_url(), "mysql://me@[::1]:3307/");
        let address = parse::<Address>("mysql://me@localhost/shop?socket=%2Frun%2Fs").unwrap();
        assert_eq!((&address.place, address.tls.mode), (&Place::Socket("/run/s".into()), TlsMode::Disable));
        assert_eq!(address.shown_url(), "mysql://me@localhost/shop?socket=/run/s");
        assert!(parse::<Address>("mysql://me@/shop").unwrap().is_socket());
        let by_tcp = parse::<Address>("mysql://me@localhost:3307/shop?protocol=TCP").unwrap();
        assert_eq!(by_tcp.place, tcp("localhost", 3307));
        assert_eq!(parse::<Address>("mysql://me@h/d?ssl-ca=/x").unwrap().tls.mode, TlsMode::VerifyCa);
        let address =
            parse::<Address>("mysql://me@h/d?ssl_mode=VERIFY_IDENTITY&get-server-public-key=1&connect-timeout=3")
                .unwrap();
        assert_eq!((address.tls.mode, address.server_key), (TlsMode::VerifyFull, ServerKey::Ask));
        assert_eq!(address.connect_timeout, Duration::from_secs(3));
    }

    #[test]
    fn a_plan_is_bound_to_the_address_that_is_connected_to() {
        are_bound::<Address>(
            &["127.0.0.1:3306", "/run/nowhere/mysql.sock"],
            &|_| None,
            &["mysql://u@127.0.0.1/", "mysql://u@localhost/?socket=/run/nowhere/mysql.sock"],
            &[
                "mysql://u@127.0.0.1:3307/",
                "mysql://u@127.0.0.1/?%70ort=3307",
                "mysql://u@127.0.0.1/?ho%73t=127.2",
                "mysql://u@localhost/",
                "mysql://u@localhost/?socket=/run/elsewhere/mysql.sock",
                "mysql://u@127.0.0.1/?ssl-ca=/etc/passwd",
                "mysql://u@127.0.0.1/?ssl_c%61=/etc/passwd",
            ],
        );
    }

    #[test]
    fn the_environment_and_the_option_file_fill_in_what_the_url_leaves_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".my.cnf"), "[client]\nuser=filed\nport=3310\n").unwrap();
        let variables = [
            ("HOME", folder.path().to_str().unwrap()),
            ("MYSQL_HOST", "db.example"),
            ("MYSQL_TCP_PORT", "3311"),
            ("MYSQL_PWD", "secret"),
            ("SHOP_URL", "mysql://u@h/d?ssl-mode=required"),
        ];
        let address: Address = parse_within("mysql://", &variables).unwrap();
        assert_eq!((address.place, address.user.as_str()), (tcp("db.example", 3310), "filed"));
        assert_eq!(address.password_source, PasswordSource::Environment);
        let address: Address = parse_within("env:SHOP_URL", &variables).unwrap();
        assert_eq!((address.place, address.tls.mode), (tcp("h", 3310), TlsMode::Require));
        let failure = parse::<Address>("env:NOT_SET").err().unwrap();
        assert!(failure.hint.unwrap().contains("NOT_SET"));
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not() {
        are_refused::<Address>(&[
            ("postgres://me:hunter2@h/d", "mysql://"),
            ("mysql://me:hunter2@h:70000/d", "70000"),
            ("mysql://me:hunter2@h/d?sslmode=required", "`sslmode`"),
            ("mysql://me:hunter2@h/d?ssl-mode=maybe", "`maybe`"),
            ("mysql://me:hunter2%@h/d", "%25"),
            ("mysql://me:hunter2@a,b/d", "several hosts"),
            ("mysql://me:hunter2@h/d?socket", "name=value"),
            ("mysql://me:hunter2@h/d?socket=/s", "by TCP"),
            ("mysql://me:hunter2@localhost:3307/d", "no port 3307"),
            ("mysql://me:hunter2@h/d?connect-timeout=soon", "`soon`"),
            ("mysql://me:hunter2@h/d?protocol=pipe", "`protocol=pipe`"),
            ("mysql://me:hunter2@h/d?protocol=socket", "`protocol=socket`"),
        ]);
    }
}
