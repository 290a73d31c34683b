//! A server's address: URL, connection service and libpq's environment variables, in this order.
//!
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::reactor::Vigilance;
use wire::postgres::ChannelBinding;

use super::pgpass::{self, Lookup};
use super::service;
use super::tls::{self, TlsOptions};
use crate::server::tls::TlsMode;
use crate::server::url::{self, Environment, Given, PasswordSource, UrlSyntax, os_user, url_authority};
use crate::server::{LOOPBACK, VIGILANCE};
use host::watch::Listener;
use load::error::Failure;
use workloads::permits::Permits;

/// Timeout if the URL names none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Socket folders of the common packages.
const SOCKET_FOLDERS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

#[derive(Clone)]
pub(crate) struct Address {
    /// Name, IP address, or socket folder.
    pub(super) host: String,
    /// The real destination, whatever the host's name.
    pub(super) hostaddr: Option<IpAddr>,
    /// Part of a socket's name.
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: Option<String>,
    pub(super) password_source: PasswordSource,
    pub(super) tls: TlsOptions,
    pub(super) binding: ChannelBinding,
    pub(super) connect_timeout: Duration,
    pub(super) vigilance: Vigilance,
    pub(super) application_name: String,
    /// Command-line options of the server's process.
    pub(super) options: String,
    /// Settings that libpq's variables give to each session: names and values.
    pub(super) variables: Vec<(&'static str, String)>,
    pub(super) session_attributes: Option<SessionAttributes>,
}

/// `target_session_attrs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionAttributes {
    ReadWrite,
    ReadOnly,
    /// The server is no standby.
    Primary,
    Standby,
}

const BINDING: &str = "channel_binding";
const BINDINGS: [(&str, ChannelBinding); 3] =
    [("disable", ChannelBinding::Disable), ("prefer", ChannelBinding::Prefer), ("require", ChannelBinding::Require)];
const SESSION_ATTRIBUTES: [(&str, Option<SessionAttributes>); 6] = [
    ("any", None),
    ("read-write", Some(SessionAttributes::ReadWrite)),
    ("read-only", Some(SessionAttributes::ReadOnly)),
    ("primary", Some(SessionAttributes::Primary)),
    ("standby", Some(SessionAttributes::Standby)),
    // The preference is among several servers, and a system is one.
    ("prefer-standby", None),
];
/// Accepted options of libpq that change nothing here, with their values; several servers are never named.
const WITHOUT_EFFECT: [(&str, &[&str]); 5] = [
    ("load_balance_hosts", &["disable", "random"]),
    ("gssencmode", &["disable", "prefer"]),
    ("min_protocol_version", &["3.0"]),
    ("max_protocol_version", &["3.0", "3.2", "latest"]),
    ("client_encoding", &["auto", "UTF8", "utf8", "UTF-8", "utf-8", "unicode", "UNICODE"]),
];

/// Accepted options without TLS.
const OPTIONS: [&str; 25] = [
    "user",
    "password",
    "host",
    "port",
    "dbname",
    "passfile",
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "fallback_application_name",
    "gssencmode",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "load_balance_hosts",
    "max_protocol_version",
    "min_protocol_version",
    "options",
    "service",
    "servicefile",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// Variables that stand in for options, without those of TLS and the password.
///
/// <https://www.postgresql.org/docs/current/libpq-envars.html>
const VARIABLES: [(&str, &str); 15] = [
    ("host", "PGHOST"),
    ("hostaddr", "PGHOSTADDR"),
    ("port", "PGPORT"),
    ("dbname", "PGDATABASE"),
    ("user", "PGUSER"),
    ("passfile", "PGPASSFILE"),
    ("options", "PGOPTIONS"),
    ("application_name", "PGAPPNAME"),
    ("channel_binding", "PGCHANNELBINDING"),
    ("client_encoding", "PGCLIENTENCODING"),
    ("connect_timeout", "PGCONNECT_TIMEOUT"),
    ("gssencmode", "PGGSSENCMODE"),
    ("load_balance_hosts", "PGLOADBALANCEHOSTS"),
    ("min_protocol_version", "PGMINPROTOCOLVERSION"),
    ("target_session_attrs", "PGTARGETSESSIONATTRS"),
];
/// Variables that are settings of each session.
const SESSION_VARIABLES: [(&str, &str); 3] = [("datestyle", "PGDATESTYLE"), ("timezone", "PGTZ"), ("geqo", "PGGEQO")];
/// Variables that say whom to trust, which étalon cannot check: to ignore them would be less safe than libpq.
const REFUSED_VARIABLES: [&str; 2] = ["PGREQUIREAUTH", "PGREQUIREPEER"];

/// Makes the failure that a URL cannot be read; `cause` must not repeat the password.
pub(super) fn url_failure(cause: impl std::fmt::Display) -> Failure {
    <Address as url::Address>::FORM.url_failure(cause)
}

/// Makes the failure that an option's value is not valid.
fn invalid_option_failure(name: &str) -> Failure {
    let variable = VARIABLES.iter().find(|(option, _)| *option == name);
    let or_variable = variable.map(|(_, variable)| format!(" (or {variable})")).unwrap_or_default();
    url_failure(format!(
        "the option `{name}`{or_variable} has a value that is not valid, or that étalon does not support"
    ))
}

/// Reads an option that has one of these values; `None` if it is not given.
fn option_among<T: Copy>(given: &Given, name: &str, values: &[(&str, T)]) -> Result<Option<T>, Failure> {
    let Some(text) = given.get(name) else { return Ok(None) };
    let value = values.iter().find(|(known, _)| known == text).ok_or_else(|| invalid_option_failure(name))?;
    Ok(Some(value.1))
}

/// Reads an option that is a whole number; `None` if it is not given.
fn number_option(given: &Given, name: &str) -> Result<Option<i64>, Failure> {
    given.get(name).map(|text| text.parse().map_err(|_| invalid_option_failure(name))).transpose()
}

/// Reads an option that is a number of these units; `None` if it is not positive.
fn duration_option(given: &Given, name: &str, from_units: fn(u64) -> Duration) -> Result<Option<Duration>, Failure> {
    let units = number_option(given, name)?.and_then(|units| u64::try_from(units).ok());
    Ok(units.filter(|units| *units > 0).map(from_units))
}

impl url::Address for Address {
    const FORM: UrlSyntax = UrlSyntax {
        product: "PostgreSQL",
        schemes: ["postgres", "postgresql"],
        before_port: &[':'],
        options: || OPTIONS.into_iter().chain(tls::option_names()).collect(),
        spelled: str::to_owned,
        // JDBC's word, which libpq accepts in URLs.
        aliases: &[[("ssl", "true"), ("sslmode", "require")]],
        files: &[
            "passfile",
            "service",
            "servicefile",
            "sslcert",
            "sslcrl",
            "sslcrldir",
            "sslkey",
            "sslkeylogfile",
            "sslrootcert",
        ],
    };

    /// Makes the address of a URL's parts, with what services, environment and password file add.
    fn from_given(given: &Given, environment: Environment<'_>) -> Result<Address, Failure> {
        if let Some(variable) = REFUSED_VARIABLES.iter().find(|variable| environment(variable).is_some()) {
            return Err(url_failure(format!("étalon cannot do what {variable} asks for"))
                .with_hint(format!("`unset {variable}`")));
        }
        let service = service::find_service(given, environment)?;
        let service_file = service.as_ref().map(|service| service.file.clone());
        let service = service.map(|service| service.options).unwrap_or_default();
        let is_of_url = given.contains_key("password");
        // What the URL says counts more than the service, and that more than the environment.
        let named: Given = service.into_iter().chain(given.clone()).collect();
        let variables = VARIABLES.iter().filter_map(|(option, variable)| Some((*option, environment(variable)?)));
        let given: &Given = &variables.chain(named.clone()).collect();

        let port = given.get("port").map_or("5432", String::as_str);
        let port: u16 = port.parse().map_err(|_| url_failure(format!("`{port}` is not a port")))?;
        let user = given.get("user").cloned().or_else(|| os_user(environment));
        let user =
            user.ok_or_else(|| url_failure("it names no role").with_hint("write `postgres://ROLE@host/database`"))?;
        let database = given.get("dbname").unwrap_or(&user).clone();
        let (host, hostaddr) = host_and_address(given.get("host").cloned(), given.get("hostaddr").cloned(), port)?;
        let tls = TlsOptions::read_options(&named, environment, host.starts_with('/'))?;
        let is_named = given.contains_key("host") || hostaddr.is_none();
        if tls.mode == TlsMode::VerifyFull && !is_named {
            return Err(url_failure("`sslmode=verify-full` compares the host's name, and there is only an address")
                .with_hint("write `host=NAME` beside `hostaddr`"));
        }
        for (name, values) in WITHOUT_EFFECT {
            option_among(given, name, &values.iter().map(|value| (*value, ())).collect::<Vec<_>>())?;
        }
        let port_text = port.to_string();
        let fields = [host.as_str(), &port_text, &database, &user];
        let (password, password_source) = match (is_of_url, service_file) {
            (false, Some(file)) if named.contains_key("password") => {
                (named.get("password").cloned(), PasswordSource::File(file))
            }
            _ => find_password(given, environment, &fields),
        };
        let own_name = given.get("application_name").or_else(|| given.get("fallback_application_name"));
        Ok(Address {
            password,
            password_source,
            tls,
            binding: option_among(given, BINDING, &BINDINGS)?.unwrap_or_default(),
            connect_timeout: duration_option(given, "connect_timeout", Duration::from_secs)?.unwrap_or(CONNECT_TIMEOUT),
            vigilance: keepalive_options(given)?,
            application_name: own_name.map_or("etalon", String::as_str).to_owned(),
            options: given.get("options").cloned().unwrap_or_default(),
            variables: session_variables(environment),
            session_attributes: option_among(given, "target_session_attrs", &SESSION_ATTRIBUTES)?.flatten(),
            hostaddr,
            ..Address::without_tls(&host, port, &user, &database, None)
        })
    }

    /// Fails if the plan may not connect to the address or the host's name, or to the socket.
    /// It connects to `hostaddr`, but chooses the password by the name.
    fn check_permitted(&self, permits: &Permits) -> Result<(), Failure> {
        if let Listener::Socket(socket) = self.listener() {
            return permits.check_socket(&socket);
        }
        let numeric = self.hostaddr.map(|address| address.to_string());
        numeric.iter().chain([&self.host]).try_for_each(|host| permits.check_connect(host, self.port))
    }

    /// Returns the host and port, or socket, at which the server listens.
    fn listener(&self) -> Listener {
        if self.is_socket() {
            return Listener::Socket(Path::new(&self.host).join(format!(".s.PGSQL.{}", self.port)));
        }
        let host = self.hostaddr.map_or_else(|| self.host.clone(), |address| address.to_string());
        Listener::Tcp { host, port: self.port }
    }

    /// Writes the URL without password and options.
    fn shown_url(&self) -> String {
        let Address { host, port, user, database, .. } = self;
        if self.is_socket() {
            format!("postgres://{user}@/{database}?host={host}&port={port}")
        } else {
            format!("postgres://{}/{database}", url_authority(user, host, *port))
        }
    }

    /// Writes the URL, with password, by which other hosts reach a private server; `None` if it is local only.
    fn url_of_private(&self) -> Option<String> {
        let Address { host, port, user, database, password, .. } = self;
        if self.is_socket() || host == LOOPBACK {
            return None;
        }
        let password = password.as_ref()?;
        let login = url_authority(&format!("{user}:{password}"), host, *port);
        Some(format!("postgres://{login}/{database}?sslmode=disable"))
    }
}

/// Reads the options by which a lost connection is noticed.
fn keepalive_options(given: &Given) -> Result<Vigilance, Failure> {
    let keeps_alive = number_option(given, "keepalives")?.is_none_or(|number| number != 0);
    let idle = duration_option(given, "keepalives_idle", Duration::from_secs)?.or(VIGILANCE.keepalive_idle);
    let retries = number_option(given, "keepalives_count")?.and_then(|number| u32::try_from(number).ok());
    Ok(Vigilance {
        user_timeout: duration_option(given, "tcp_user_timeout", Duration::from_millis)?.or(VIGILANCE.user_timeout),
        keepalive_idle: if keeps_alive { idle } else { None },
        keepalive_interval: duration_option(given, "keepalives_interval", Duration::from_secs)?
            .or(VIGILANCE.keepalive_interval),
        keepalive_retries: retries.or(VIGILANCE.keepalive_retries),
    })
}

/// Lists settings that libpq's variables give to each session, but for those set to `default`.
fn session_variables(environment: Environment<'_>) -> Vec<(&'static str, String)> {
    let set = SESSION_VARIABLES.iter().filter_map(|(setting, variable)| Some((*setting, environment(variable)?)));
    set.filter(|(_, value)| !value.eq_ignore_ascii_case("default")).collect()
}

/// Returns the host's name, and its address if `hostaddr` is given; fails if they contradict each other.
fn host_and_address(
    named: Option<String>,
    address: Option<String>,
    port: u16,
) -> Result<(String, Option<IpAddr>), Failure> {
    let address: Option<IpAddr> = address
        .filter(|text| !text.is_empty())
        .map(|text| text.parse().map_err(|_| url_failure("`hostaddr` is one IP address")))
        .transpose()?;
    let host = named.or(address.map(|address| address.to_string())).unwrap_or_else(|| default_host(port));
    if address.is_some() && host.starts_with('/') {
        return Err(url_failure("it names a socket's folder and an address").with_hint("leave one of them away"));
    }
    Ok((host, address))
}

/// Finds the password and where it came from: the URL, the environment, or the password file.
fn find_password(given: &Given, environment: Environment<'_>, fields: &[&str; 4]) -> (Option<String>, PasswordSource) {
    if let Some(password) = given.get("password") {
        return (Some(password.clone()), PasswordSource::Url);
    }
    if let Some(password) = environment("PGPASSWORD") {
        return (Some(password), PasswordSource::Environment);
    }
    let Some(file) = given.get("passfile").map(PathBuf::from).or_else(|| pgpass::default_file(environment)) else {
        return (None, PasswordSource::Nowhere(None));
    };
    match pgpass::look_up(&file, fields) {
        Lookup::Found(password) => (Some(password), PasswordSource::File(file)),
        Lookup::Nothing => (None, PasswordSource::Nowhere(None)),
        Lookup::Ignored(reason) => (None, PasswordSource::Nowhere(Some(reason))),
    }
}

/// Returns the host if none is named, like libpq: the socket's usual folder, else TCP to `localhost`.
fn default_host(port: u16) -> String {
    let socket = format!(".s.PGSQL.{port}");
    let folder = SOCKET_FOLDERS.iter().find(|folder| Path::new(folder).join(&socket).exists());
    folder.map_or("localhost", |folder| folder).to_owned()
}

impl Address {
    /// Makes an address without TLS, such as a private server's.
    pub(super) fn without_tls(host: &str, port: u16, user: &str, database: &str, password: Option<&str>) -> Address {
        Address {
            host: host.to_owned(),
            hostaddr: None,
            port,
            user: user.to_owned(),
            database: database.to_owned(),
            password: password.map(str::to_owned),
            password_source: password.map_or(PasswordSource::Nowhere(None), |_| PasswordSource::Url),
            tls: TlsOptions::disabled(),
            binding: ChannelBinding::default(),
            connect_timeout: CONNECT_TIMEOUT,
            vigilance: VIGILANCE,
            application_name: "etalon".to_owned(),
            options: String::new(),
            variables: Vec::new(),
            session_attributes: None,
        }
    }

    /// Lists the variables by which PostgreSQL's own programs connect like étalon.
    /// They are besides host, port, role and password.
    pub(super) fn environment_variables(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let mut variables = self.tls.environment_variables()?;
        variables.extend(self.hostaddr.map(|address| ("PGHOSTADDR", address.to_string())));
        let binding = BINDINGS.iter().find(|(_, binding)| *binding == self.binding);
        variables.extend(binding.map(|(name, _)| ("PGCHANNELBINDING", (*name).to_owned())));
        Ok(variables)
    }

    /// Tests whether the server is reached by a socket.
    pub(super) fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::url::Address as _;
    use crate::server::url::tests::{are_bound, are_refused, parse, parse_within};

    fn parts(url: &str) -> (String, u16, String, String) {
        let address: Address = parse(url).unwrap();
        (address.host, address.port, address.user, address.database)
    }

    fn owned(host: &str, port: u16, user: &str, database: &str) -> (String, u16, String, String) {
        (host.to_owned(), port, user.to_owned(), database.to_owned())
    }

    #[test]
    fn urls_are_read_as_libpq_reads_them() {
        assert_eq!(parts("postgres://me@db.example:5433/shop"), owned("db.example", 5433, "me", "shop"));
        assert_eq!(parts("postgresql://me:p%40ss@[::1]:5433/shop"), owned("::1", 5433, "me", "shop"));
        assert_eq!(parts("postgres://me@%2Fvar%2Frun%2Fpg/shop"), owned("/var/run/pg", 5432, "me", "shop"));
        assert_eq!(parts("postgres:///shop?host=/run/pg&port=5444&user=me"), owned("/run/pg", 5444, "me", "shop"));
        assert_eq!(parts("postgres://me@localhost").3, "me");
        let address: Address = parse("postgres://me:p%40ss@h/d?connect_timeout=3&options=-c%20geqo%3Doff").unwrap();
        assert_eq!(address.password.as_deref(), Some("p@ss"));
        assert_eq!(address.connect_timeout, Duration::from_secs(3));
        assert_eq!((address.options.as_str(), address.application_name.as_str()), ("-c geqo=off", "etalon"));
        assert_eq!((address.host.as_str(), address.vigilance), ("h", VIGILANCE));
        assert_eq!(address.shown_url(), "postgres://me@h:5432/d");
    }

    #[test]
    fn a_plan_is_bound_to_the_address_that_is_connected_to() {
        are_bound::<Address>(
            &["127.0.0.1:5432", "db:5433", "/run/nowhere/.s.PGSQL.5432"],
            &|name| (name == "PGHOST").then(|| "10.0.0.9".to_owned()),
            &[
                "postgres://u@127.0.0.1/db",
                "postgres://u@DB:5433/db",
                "postgres://u@/db?host=127.0.0.1",
                "postgres://u@10.0.0.7/db?%68ost=127.0.0.1",
                "postgres://u@/db?host=/run/nowhere",
                "postgres://u@%2Frun%2Fnowhere/db",
                "postgres://u@127.0.0.1/db?hostaddr=127.0.0.1",
            ],
            &[
                "postgres://u@db:5432/db?hostaddr=127.0.0.1",
                "postgres://u@localhost/db?%68ost=127.2",
                "postgres://u@127.0.0.1/db?%68ost=127.2",
                "postgres://u@127.0.0.1/db?hostaddr=10.0.0.7",
                "postgres://u@127.0.0.1/db?hostaddr=127.0.0.1,10.0.0.7",
                "postgres://u@127.0.0.1,10.0.0.7/db",
                "postgres://u@127.0.0.1/db?connect_timeout=1%27%20host=%2710.0.0.7",
                "postgres://u@127.0.0.1/db?connect_timeout%3D1%20host=10.0.0.7",
                "postgres://u@127.0.0.1:5433/db",
                "postgres://u@127.0.0.1/db?port=5433",
                "postgres://u@[::ffff:127.0.0.2]/db",
                "postgres://u@localhost/db",
                "postgres://u@127.0.0.1@10.0.0.7/db",
                "postgres:///db",
                "postgres://u@/db?host=/run/elsewhere",
                "postgres://u@/db?host=/run/nowhere&port=5433",
                "postgres://u@/db?host=/run/nowhere/../elsewhere",
                "postgres://u@127.0.0.1/db?passfile=/etc/passwd",
                "postgres://u@127.0.0.1/db?sslrootcert=/etc/passwd",
                "postgres://u@127.0.0.1/db?%73slrootcert=x.crt",
                "postgres://u@127.0.0.1/db?service=other",
            ],
        );
    }

    #[test]
    fn the_environment_fills_in_what_the_url_leaves_out() {
        let variables = [
            ("PGHOST", "/sockets"),
            ("PGPORT", "6000"),
            ("PGUSER", "role"),
            ("PGDATABASE", "base"),
            ("PGPASSWORD", "secret"),
            ("PGCHANNELBINDING", "require"),
            ("PGOPTIONS", "-c geqo=off"),
            ("PGAPPNAME", "shop"),
            ("PGTARGETSESSIONATTRS", "primary"),
            ("PGCONNECT_TIMEOUT", "4"),
            ("PGTZ", "Asia/Tokyo"),
            ("PGDATESTYLE", "default"),
            ("SHOP_URL", "postgres://u@h/d?sslmode=verify-full&sslrootcert=system"),
        ];
        let address: Address = parse_within("postgres://", &variables).unwrap();
        assert_eq!((address.host.as_str(), address.port), ("/sockets", 6000));
        assert_eq!((address.user.as_str(), address.database.as_str()), ("role", "base"));
        assert_eq!((address.password_source, address.binding), (PasswordSource::Environment, ChannelBinding::Require));
        assert_eq!((address.options.as_str(), address.application_name.as_str()), ("-c geqo=off", "shop"));
        assert_eq!(address.session_attributes, Some(SessionAttributes::Primary));
        assert_eq!(address.connect_timeout, Duration::from_secs(4));
        assert_eq!(address.variables, [("timezone", "Asia/Tokyo".to_owned())]);
        let address: Address = parse_within("postgres:///d?options=-c%20jit%3Doff", &variables).unwrap();
        assert_eq!(address.options, "-c jit=off");
        let address: Address = parse_within("env:SHOP_URL", &variables).unwrap();
        assert_eq!((address.host.as_str(), address.tls.mode), ("h", TlsMode::VerifyFull));
        // In milliseconds, as no other option is.
        let address: Address =
            parse("postgres://h/d?tcp_user_timeout=1500&keepalives_idle=7&keepalives_count=4").unwrap();
        let vigilance = (address.vigilance.user_timeout, address.vigilance.keepalive_idle);
        assert_eq!(vigilance, (Some(Duration::from_millis(1500)), Some(Duration::from_secs(7))));
        assert_eq!(address.vigilance.keepalive_retries, Some(4));
        let failure = parse::<Address>("env:NOT_SET").err().unwrap();
        assert!(failure.hint.unwrap().contains("NOT_SET"));
    }

    #[test]
    fn variables_that_cannot_be_honoured_are_refused_by_name() {
        for (variable, value) in [
            ("PGREQUIREAUTH", "scram-sha-256"),
            ("PGREQUIREPEER", "postgres"),
            ("PGTARGETSESSIONATTRS", "bogus"),
            ("PGCLIENTENCODING", "LATIN1"),
            ("PGGSSENCMODE", "require"),
            ("PGMINPROTOCOLVERSION", "3.2"),
        ] {
            let failure = parse_within::<Address>("postgres://u@h/d", &[(variable, value)]).err().unwrap();
            assert!(failure.cause.contains(variable), "{failure}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not() {
        are_refused::<Address>(&[
            ("postgres://me@h/d?require_auth=none", "`require_auth`"),
            ("postgres://me:hunter2@h/d?sslmode=require&require_auth=none", "option 2"),
            ("postgres://me:hunter2@h/d?gssencmode=require", "`gssencmode`"),
            ("mysql://me:hunter2@h/d", "postgres://"),
            ("postgres://me:hunter2@h:70000/d", "70000"),
            ("postgres://me:hunter2@h/d?sslmod=require", "`sslmod`"),
            ("postgres://me:hunter2@h/d?sslmode=maybe", "`maybe`"),
            ("postgres://me:hunter2%@h/d", "%25"),
            ("postgres://me:hunter2@a,b/d", "several hosts"),
            ("postgres://me:hunter2@h/d?keepalives", "name=value"),
            ("postgres://me:hunter2@h/d?connect_timeout=soon", "`connect_timeout`"),
            ("postgres://me:hunter2@h/d?target_session_attrs=any-old", "`target_session_attrs`"),
        ]);
    }
}
