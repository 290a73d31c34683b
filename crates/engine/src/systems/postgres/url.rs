//! A server's address: URL and libpq's environment variables.
//!
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use postgres::Config;
use postgres::config::ChannelBinding;

use super::pgpass::{self, Lookup};
use super::tls::{self, TlsMode, TlsOptions};
use crate::error::Failure;
use crate::permits::Permits;
use crate::systems::server::LOOPBACK;
use crate::systems::server::url::{Environment, Form, Pieces, os_user};

/// Default.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A vanished server is noticed after this time without acknowledgement.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(30);
/// Silence before probing.
const KEEPALIVES_IDLE: Duration = Duration::from_secs(10);
/// Between probes.
const KEEPALIVES_INTERVAL: Duration = Duration::from_secs(5);
/// Probes before giving up.
const KEEPALIVES_RETRIES: u32 = 4;
const BINDING: &str = "channel_binding";
/// By package.
const SOCKET_FOLDERS: [&str; 3] = ["/var/run/postgresql", "/run/postgresql", "/tmp"];

/// Of this and other clients of PostgreSQL.
const FILE_OPTIONS: [&str; 9] =
    ["passfile", "service", "servicefile", "sslcert", "sslcrl", "sslcrldir", "sslkey", "sslkeylogfile", "sslrootcert"];

#[derive(Clone)]
pub(super) struct Address {
    pub(super) config: Config,
    /// Name, IP address, or socket folder.
    pub(super) host: String,
    /// Part of a socket's name.
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) tls: TlsOptions,
    /// And rejected sources: for hints.
    pub(super) password: PasswordSource,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PasswordSource {
    Url,
    /// `PGPASSWORD`.
    Environment,
    /// The password file.
    File(PathBuf),
    /// And why the password file was not used.
    Nowhere(Option<String>),
}

#[derive(Default)]
struct Options {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    hostaddr: Option<String>,
    port: Option<String>,
    database: Option<String>,
    /// By [`tls::option_name`].
    ssl: BTreeMap<&'static str, String>,
    passfile: Option<String>,
    /// The driver's own, as `key='value'`.
    others: Vec<(String, String)>,
}

impl Address {
    /// Or `env:NAME`.
    ///
    /// # Errors
    /// It is not a URL of PostgreSQL, or an option in it is not known. Never repeats the password.
    pub(super) fn parse(url: &str, environment: Environment<'_>) -> Result<Address, Failure> {
        Options::of(URL.read(url, environment)?)?.into_address(environment)
    }

    /// [`Address::parse`], if the plan may connect there and read the files named.
    pub(super) fn permitted(url: &str, environment: Environment<'_>, permits: &Permits) -> Result<Address, Failure> {
        let pieces = URL.read(url, environment)?;
        permits.files_of_options(pieces.options(), &FILE_OPTIONS)?;
        let address = Options::of(pieces)?.into_address(environment)?;
        if address.is_socket() {
            permits.connect_socket(&Path::new(&address.host).join(format!(".s.PGSQL.{}", address.port)))?;
            return Ok(address);
        }
        // The driver connects to `hostaddr`, but chooses the password by the name.
        let mut hosts: Vec<String> = address.config.get_hostaddrs().iter().map(ToString::to_string).collect();
        hosts.push(address.host.clone());
        hosts.iter().try_for_each(|host| permits.connect(host, address.port))?;
        Ok(address)
    }

    /// Without TLS, such as a private server's.
    pub(super) fn plain(host: &str, port: u16, user: &str, database: &str, password: Option<&str>) -> Address {
        let mut config = Config::new();
        config.host(host).port(port).user(user).dbname(database);
        let source = match password {
            Some(password) => {
                config.password(password);
                PasswordSource::Url
            }
            None => PasswordSource::Nowhere(None),
        };
        set_defaults(&mut config);
        Address {
            config,
            host: host.to_owned(),
            port,
            user: user.to_owned(),
            database: database.to_owned(),
            tls: TlsOptions::none(),
            password: source,
        }
    }

    /// For other hosts: the password is étalon's own and dies with the server. `None` if it listens on this host
    /// alone.
    pub(super) fn url_of_private(&self) -> Option<String> {
        let is_own_host = self.is_socket() || self.host == LOOPBACK;
        let password = String::from_utf8(self.config.get_password()?.to_vec()).ok().filter(|_| !is_own_host)?;
        let Address { host, port, user, database, .. } = self;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        Some(format!("postgres://{user}:{password}@{host}:{port}/{database}?sslmode=disable"))
    }

    /// Environment of PostgreSQL's own programs, beside host, port, role and password, to connect like étalon.
    pub(super) fn variables(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        let mut variables = self.tls.variables()?;
        variables.extend(self.config.get_hostaddrs().first().map(|address| ("PGHOSTADDR", address.to_string())));
        let binding = match self.config.get_channel_binding() {
            ChannelBinding::Disable => "disable",
            ChannelBinding::Require => "require",
            _ => "prefer",
        };
        variables.push(("PGCHANNELBINDING", binding.to_owned()));
        Ok(variables)
    }

    pub(super) fn is_socket(&self) -> bool {
        self.host.starts_with('/')
    }

    /// Without the password.
    pub(super) fn shown(&self) -> String {
        let Address { host, port, user, database, .. } = self;
        match (self.is_socket(), host.contains(':')) {
            (true, _) => format!("postgres://{user}@/{database}?host={host}&port={port}"),
            (false, true) => format!("postgres://{user}@[{host}]:{port}/{database}"),
            (false, false) => format!("postgres://{user}@{host}:{port}/{database}"),
        }
    }
}

fn set_defaults(config: &mut Config) {
    config.application_name("etalon");
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(TCP_USER_TIMEOUT);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_idle(KEEPALIVES_IDLE).keepalives_interval(KEEPALIVES_INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(KEEPALIVES_RETRIES);
    }
}

const URL: Form = Form { product: "PostgreSQL", schemes: ["postgres", "postgresql"], before_port: &[':'] };

/// Without TLS: étalon's own, then the driver's.
const OPTIONS: [&str; 18] = [
    "user",
    "password",
    "host",
    "port",
    "dbname",
    "passfile",
    "application_name",
    "channel_binding",
    "connect_timeout",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// Must not repeat the password.
pub(super) fn wrong(cause: impl std::fmt::Display) -> Failure {
    URL.wrong(cause)
}

impl Options {
    fn of(pieces: Pieces) -> Result<Options, Failure> {
        let Pieces { user, password, host, port, database, options: others } = pieces;
        let mut options = Options { user, password, host, port, database, ..Options::default() };
        for (key, value) in others {
            options.option(&key, value);
        }
        URL.refuse_several(options.host.as_ref())?;
        Ok(options)
    }

    fn option(&mut self, key: &str, value: String) {
        if let Some(name) = tls::option_name(key) {
            self.ssl.insert(name, value);
            return;
        }
        // JDBC's word, which libpq accepts in URLs.
        if (key, value.as_str()) == ("ssl", "true") {
            self.ssl.insert("sslmode", "require".to_owned());
            return;
        }
        let known = match key {
            "user" => &mut self.user,
            "password" => &mut self.password,
            "host" => &mut self.host,
            "hostaddr" => &mut self.hostaddr,
            "port" => &mut self.port,
            "dbname" => &mut self.database,
            "passfile" => &mut self.passfile,
            _ => return self.others.push((key.to_owned(), value)),
        };
        *known = Some(value);
    }

    /// Time-outs, `options`, channel binding.
    fn driver_options(&self) -> Result<Config, Failure> {
        let mut config = Config::new();
        for (key, value) in &self.others {
            // The driver parses one text, in which a blank would begin another option.
            if !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                return Err(wrong(format!("the option `{key}` is not known")));
            }
            let quoted = value.replace('\\', "\\\\").replace('\'', "\\'");
            // One by one, since the driver's message does not name the option.
            let known = Config::from_str(&format!("{key}='{quoted}'"));
            known.map_err(|_| match OPTIONS.contains(&key.as_str()) {
                true => wrong(format!("the option `{key}` is not supported, or its value is not valid")),
                false => URL.unknown(key, &OPTIONS.into_iter().chain(tls::option_names()).collect::<Vec<_>>()),
            })?;
        }
        let all: Vec<String> = self
            .others
            .iter()
            .map(|(key, value)| format!("{key}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'")))
            .collect();
        if !all.is_empty() {
            config = Config::from_str(&all.join(" ")).map_err(|_| wrong("its options contradict each other"))?;
        }
        Ok(config)
    }

    fn into_address(mut self, environment: Environment<'_>) -> Result<Address, Failure> {
        let binding = environment("PGCHANNELBINDING").filter(|_| !self.others.iter().any(|(key, _)| key == BINDING));
        self.others.extend(binding.map(|text| (BINDING.to_owned(), text)));
        let mut config = self.driver_options()?;
        let port = self.port.clone().or_else(|| environment("PGPORT")).unwrap_or_else(|| "5432".to_owned());
        let port: u16 = port.parse().map_err(|_| wrong(format!("`{port}` is not a port")))?;
        let user = self.user.clone().or_else(|| environment("PGUSER")).or_else(|| os_user(environment));
        let user = user.ok_or_else(|| wrong("it names no role").hint("write `postgres://ROLE@host/database`"))?;
        let database = self.database.clone().or_else(|| environment("PGDATABASE")).unwrap_or_else(|| user.clone());
        let address = self.hostaddr(environment)?;
        let named = self.host.clone().or_else(|| environment("PGHOST"));
        let is_named = named.is_some() || address.is_none();
        let host = named.or(address.map(|address| address.to_string())).unwrap_or_else(|| default_host(port));
        let tls = TlsOptions::read(self.ssl.clone(), environment, host.starts_with('/'))?;
        if tls.mode == TlsMode::VerifyFull && !is_named {
            return Err(wrong("`sslmode=verify-full` compares the host's name, and there is only an address")
                .hint("write `host=NAME` beside `hostaddr`"));
        }
        if let Some(address) = address {
            if host.starts_with('/') {
                return Err(wrong("it names a socket's folder and an address").hint("leave one of them away"));
            }
            config.hostaddr(address);
        }
        config.host(&host).port(port).user(&user).dbname(&database);
        // The driver would send the password to each of several.
        if config.get_hosts().len() != 1 || config.get_ports() != [port] || config.get_hostaddrs().len() > 1 {
            return Err(wrong("its options name another address, and a system is one server"));
        }
        set_defaults(&mut config);
        let (password, source) = self.password(environment, &[&host, &port.to_string(), &database, &user]);
        if let Some(password) = password {
            config.password(password);
        }
        Ok(Address { config, host, port, user, database, tls, password: source })
    }

    /// The real destination, whatever the host's name.
    fn hostaddr(&self, environment: Environment<'_>) -> Result<Option<IpAddr>, Failure> {
        let text = self.hostaddr.clone().or_else(|| environment("PGHOSTADDR")).filter(|text| !text.is_empty());
        text.map(|text| text.parse().map_err(|_| wrong("`hostaddr` is one IP address"))).transpose()
    }

    fn password(&self, environment: Environment<'_>, fields: &[&str; 4]) -> (Option<String>, PasswordSource) {
        if let Some(password) = &self.password {
            return (Some(password.clone()), PasswordSource::Url);
        }
        if let Some(password) = environment("PGPASSWORD") {
            return (Some(password), PasswordSource::Environment);
        }
        let file = self.passfile.clone().or_else(|| environment("PGPASSFILE")).map(PathBuf::from);
        let Some(file) = file.or_else(|| pgpass::default_file(environment)) else {
            return (None, PasswordSource::Nowhere(None));
        };
        match pgpass::look_up(&file, fields) {
            Lookup::Found(password) => (Some(password), PasswordSource::File(file)),
            Lookup::Nothing => (None, PasswordSource::Nowhere(None)),
            Lookup::Ignored(reason) => (None, PasswordSource::Nowhere(Some(reason))),
        }
    }
}

/// Like libpq: the socket's usual folder, else TCP.
fn default_host(port: u16) -> String {
    let socket = format!(".s.PGSQL.{port}");
    let folder = SOCKET_FOLDERS.iter().find(|folder| Path::new(folder).join(&socket).exists());
    folder.map_or("localhost", |folder| folder).to_owned()
}

/// Without looking anything else up.
#[cfg(test)]
pub(in crate::systems) fn parse_url(url: &str, environment: Environment<'_>) -> Result<(), Failure> {
    Address::parse(url, environment).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::error::FailureKind;
    use crate::permits::Named;
    use postgres::config::Host;

    fn parse(url: &str) -> Result<Address, Failure> {
        Address::parse(url, &|_| None)
    }

    fn parts(url: &str) -> (String, u16, String, String) {
        let address = parse(url).unwrap();
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
        let address = parse("postgres://me:p%40ss@h/d?connect_timeout=3&options=-c%20geqo%3Doff").unwrap();
        assert_eq!(address.config.get_password(), Some(b"p@ss".as_slice()));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(address.config.get_options(), Some("-c geqo=off"));
        assert_eq!(address.config.get_application_name(), Some("etalon"));
        assert_eq!(address.config.get_hosts(), [Host::Tcp("h".to_owned())]);
        assert_eq!(address.shown(), "postgres://me@h:5432/d");
    }

    /// Permissions are asked for the driver's reading of the URL.
    #[test]
    fn a_plan_is_bound_to_the_address_that_the_driver_goes_to() {
        let mut named = Named::default();
        for address in ["127.0.0.1:5432", "db:5433", "/run/nowhere/.s.PGSQL.5432"] {
            named.allow(address).unwrap();
        }
        let permits = Permits::Named(Arc::new(named));
        let environment = |name: &str| (name == "PGHOST").then(|| "10.0.0.9".to_owned());
        let permitted = |url: &str| Address::permitted(url, &environment, &permits);
        for url in [
            "postgres://u@127.0.0.1/db",
            "postgres://u@DB:5433/db",
            "postgres://u@/db?host=127.0.0.1",
            "postgres://u@10.0.0.7/db?%68ost=127.0.0.1",
            "postgres://u@/db?host=/run/nowhere",
            "postgres://u@%2Frun%2Fnowhere/db",
            "postgres://u@127.0.0.1/db?hostaddr=127.0.0.1",
        ] {
            permitted(url).unwrap_or_else(|failure| panic!("{url}: {failure}"));
        }
        for url in [
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
        ] {
            assert!(permitted(url).is_err(), "{url}");
        }
    }

    #[test]
    fn the_environment_fills_in_what_the_url_leaves_out() {
        let environment = |name: &str| {
            let value = match name {
                "PGHOST" => "/sockets",
                "PGPORT" => "6000",
                "PGUSER" => "role",
                "PGDATABASE" => "base",
                "PGPASSWORD" => "secret",
                "SHOP_URL" => "postgres://u@h/d?sslmode=verify-full&sslrootcert=system",
                _ => return None,
            };
            Some(value.to_owned())
        };
        let address = Address::parse("postgres://", &environment).unwrap();
        assert_eq!((address.host.as_str(), address.port), ("/sockets", 6000));
        assert_eq!((address.user.as_str(), address.database.as_str()), ("role", "base"));
        assert_eq!(address.password, PasswordSource::Environment);
        let address = Address::parse("env:SHOP_URL", &environment).unwrap();
        assert_eq!((address.host.as_str(), address.tls.mode), ("h", TlsMode::VerifyFull));
        let failure = Address::parse("env:NOT_SET", &environment).err().unwrap();
        assert!(failure.hint.unwrap().contains("NOT_SET"));
    }

    #[test]
    fn what_is_wrong_is_named_and_the_password_is_not() {
        for (url, named) in [
            ("mysql://me:hunter2@h/d", "postgres://"),
            ("postgres://me:hunter2@h:70000/d", "70000"),
            ("postgres://me:hunter2@h/d?sslmod=require", "`sslmod`"),
            ("postgres://me:hunter2@h/d?sslmode=maybe", "`maybe`"),
            ("postgres://me:hunter2%@h/d", "%25"),
            ("postgres://me:hunter2@a,b/d", "several hosts"),
            ("postgres://me:hunter2@h/d?keepalives", "name=value"),
        ] {
            let failure = parse(url).err().unwrap();
            assert_eq!(failure.kind, FailureKind::Plan);
            assert!(failure.cause.contains(named), "{failure}");
            assert!(!format!("{failure:?}").contains("hunter2"), "{failure:?}");
        }
    }
}
