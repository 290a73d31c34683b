use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use host::reactor::Socket;
use wire::Secret;
use wire::postgres::{Config, Encryption, ErrorFields, ScramCache};

use super::aside::OtherSession;
use super::pooler::Pooler;
use super::tls::{self, Attempt, Negotiation};
use super::url::{Address, SessionAttributes};
use crate::postgres::lane::{Client, log_in};
use crate::server::TOO_MANY;
use crate::server::dialogue::{ServerError as _, Tls, Waiting};
use crate::server::refusal::{self, Advice, CONNECT, Explain};
use crate::server::url::Address as _;
use families::system::OpenRequest;
use load::error::{Failure, FailureKind};

/// For a server that is starting.
const STARTING_PATIENCE: Duration = Duration::from_secs(20);
const STARTING_POLL: Duration = Duration::from_millis(100);
/// "The database system is starting up", or shutting down.
const STARTING: &str = "57P03";
/// Beyond the connection's own time-out, for handshake and login.
const LOGIN_GRACE: Duration = Duration::from_secs(2);

pub(super) type Refusal = refusal::Refusal<ErrorFields>;
pub(super) type OpenError = refusal::OpenError<ErrorFields>;

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(super) address: Address,
    tls: Option<Tls>,
    /// Derived keys.
    scram: ScramCache,
    /// Extra startup parameter.
    pub(super) startup: Option<(&'static str, &'static str)>,
    /// In front of the server, if there is one.
    pub(super) pooler: Option<Pooler>,
    /// What its questions heed.
    pub(super) waiting: Waiting,
}

impl Endpoint {
    pub(super) fn new(address: Address) -> Result<Endpoint, Failure> {
        let tls = address.tls.client()?;
        let tls = tls.map(|config| Tls::new(config, address.host.clone(), &address.shown())).transpose()?;
        let (scram, waiting) = (ScramCache::default(), Waiting::default());
        Ok(Endpoint { address, tls, scram, startup: None, pooler: None, waiting })
    }

    /// Its questions heed the request's interrupt and notices.
    #[must_use]
    pub(super) fn heeding(mut self, request: &OpenRequest<'_>) -> Endpoint {
        self.heed(request);
        self
    }

    /// Whether other clients get a session after étalon's transaction, with what is left in it.
    pub(super) fn shares_sessions(&self) -> bool {
        self.pooler.as_ref().is_some_and(Pooler::shares_sessions)
    }

    /// Another database of the same server.
    pub(super) fn on(&self, database: &str) -> Endpoint {
        Endpoint { address: Address { database: database.to_owned(), ..self.address.clone() }, ..self.clone() }
    }

    /// `options`: settings that only a new session can have, as `-c name=value`.
    pub(super) fn connect(&self, options: &str) -> Result<Client, Failure> {
        self.try_connect(options).map_err(|refusal| self.explain(&refusal))
    }

    /// [`Endpoint::connect`] with an unformatted error. Waits for a server that is starting.
    pub(super) fn try_connect(&self, options: &str) -> Result<Client, Refusal> {
        let started = Instant::now();
        loop {
            match self.try_modes(options) {
                Err(Refusal::Server(error))
                    if error.code.as_str() == STARTING && started.elapsed() < STARTING_PATIENCE =>
                {
                    if self.waiting.is_interrupted() {
                        return Err(Refusal::Interrupted);
                    }
                    thread::sleep(STARTING_POLL);
                }
                other => return other,
            }
        }
    }

    pub(super) fn try_modes(&self, options: &str) -> Result<Client, Refusal> {
        let mut first = None;
        for attempt in tls::attempts(self.address.tls.mode) {
            match self.try_once(*attempt, options) {
                Err(refusal) if is_about_encryption(&refusal) => first = first.or(Some(refusal)),
                Err(refusal) => return Err(first.unwrap_or(refusal)),
                Ok(client) => return Ok(client),
            }
        }
        // There is at least one mode.
        Err(first.unwrap_or(Refusal::Silent(Duration::ZERO)))
    }

    fn try_once(&self, attempt: Attempt, options: &str) -> Result<Client, Refusal> {
        let timeout = self.address.connect_timeout;
        let patience = timeout + LOGIN_GRACE;
        let socket = self.dial(timeout).map_err(|cause| Refusal::of_io(&cause, patience))?;
        let login = self.login(attempt, options);
        let client = log_in(socket, login, self.tls.as_ref(), patience, &self.waiting);
        let mut client = client.map_err(|error| Refusal::of(error, patience))?;
        if self.waiting.has_asides() {
            let session = client.process_id();
            client.asker.watch_from(OtherSession { endpoint: self.clone(), session });
        }
        let Some(wanted) = self.address.session_attributes else { return Ok(client) };
        let asked = match wanted {
            SessionAttributes::ReadWrite | SessionAttributes::ReadOnly => "SHOW transaction_read_only",
            SessionAttributes::Primary | SessionAttributes::Standby => "SELECT pg_catalog.pg_is_in_recovery()",
        };
        let answer = client.one(asked).map_err(|error| Refusal::of(error, patience))?;
        let other = match (wanted, answer.as_str()) {
            (SessionAttributes::ReadWrite, "on") => "the session is read-only",
            (SessionAttributes::ReadOnly, "off") => "the session is not read-only",
            (SessionAttributes::Primary, "t") => "the server is a standby",
            (SessionAttributes::Standby, "f") => "the server is no standby",
            _ => return Ok(client),
        };
        Err(Refusal::Other(format!("{other}, and `target_session_attrs` (or PGTARGETSESSIONATTRS) asks for another")))
    }

    fn dial(&self, timeout: Duration) -> io::Result<Socket> {
        let Address { host, hostaddr, port, vigilance, .. } = &self.address;
        let go_on = || self.waiting.go_on();
        if self.address.is_socket() {
            return Socket::connect_unix(&Path::new(host).join(format!(".s.PGSQL.{port}")), timeout, &go_on);
        }
        let to = hostaddr.map_or_else(|| host.clone(), |numeric| numeric.to_string());
        Socket::connect_tcp(&to, *port, timeout, *vigilance, &go_on)
    }

    fn login(&self, attempt: Attempt, options: &str) -> Config {
        let address = &self.address;
        let mut login = Config::new(&*address.user);
        login.database = Some(address.database.clone());
        login.password = address.password.as_deref().map(Secret::from);
        login.scram = self.scram.clone();
        login.encryption = match attempt {
            _ if self.tls.is_none() => Encryption::Off,
            Attempt::Plain => Encryption::Off,
            Attempt::Prefer => Encryption::Prefer,
            Attempt::Tls if address.tls.negotiation == Negotiation::Direct => Encryption::Direct,
            Attempt::Tls => Encryption::Require,
        };
        login.channel_binding = address.binding;
        login.parameters.push(("application_name".to_owned(), address.application_name.clone()));
        login.parameters.extend(address.variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        login.parameters.extend(self.startup.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let all: Vec<&str> = [address.options.as_str(), options].into_iter().filter(|one| !one.is_empty()).collect();
        if !all.is_empty() {
            login.parameters.push(("options".to_owned(), all.join(" ")));
        }
        login
    }
}

/// Another `sslmode` might help.
fn is_about_encryption(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::Tls(_) | Refusal::NoTls => true,
        Refusal::Server(error) => error.code.as_str() == "28000",
        _ => false,
    }
}

impl Explain for Endpoint {
    type Error = ErrorFields;
    type Address = Address;

    const ADVICE: Advice = Advice {
        product: "PostgreSQL",
        products: "PostgreSQL",
        start: "start the server (`systemctl start postgresql`, `pg_ctl -D FOLDER start`)",
        ended: "it ended the connection before the login was done",
        no_tls: (
            "the server offers no TLS",
            "set `ssl = on` and a certificate on the server, or write `sslmode=prefer`",
        ),
        tls: "name the authority that signed the server's certificate, or that certificate itself if nobody else has signed \
              it: `sslrootcert=/path/to/root.crt`; `sslmode=verify-ca` does not compare the host's name",
    };

    fn address(&self) -> &Address {
        &self.address
    }

    fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    fn heed(&mut self, request: &OpenRequest<'_>) {
        self.waiting = Waiting::new(request, self.address.shown());
    }

    fn check(&self) -> String {
        let Address { host, port, .. } = &self.address;
        format!("`pg_isready -h {host} -p {port}` asks the same")
    }

    fn said(&self, error: &ErrorFields) -> String {
        match error.code.as_str() {
            STARTING => format!("after {} s still: {}", STARTING_PATIENCE.as_secs(), error.said()),
            _ => error.said(),
        }
    }

    fn explain_password(&self, _refusal: &Refusal) -> (&'static str, &'static str, String) {
        (CONNECT, "the server asks for a password, and none was given", self.password_hint())
    }

    fn explain_server(&self, error: &ErrorFields) -> (FailureKind, String) {
        let Address { host, port, user, database, .. } = &self.address;
        let said = error.said();
        match error.code.as_str() {
            "28P01" => (FailureKind::Login, self.password_hint()),
            "28000" if said.contains("pg_hba.conf") => (FailureKind::Login, self.hba_hint(&said)),
            "28000" if said.contains("does not exist") => {
                (FailureKind::Login, format!("`createuser -h {host} -p {port} {user}` makes the role"))
            }
            "28000" if said.contains("authentication failed") => {
                let hint = format!("run étalon as the operating system's user `{user}`, or go by TCP with a password");
                (FailureKind::Login, hint)
            }
            "28000" => (FailureKind::Login, format!("look at the role in psql: `\\du {user}`")),
            "3D000" => (FailureKind::Missing, format!("`createdb -h {host} -p {port} {database}` makes it")),
            // 15 names the role, later releases the WAL sender.
            "42501" if said.contains("replication") || said.contains("WAL sender") => {
                (FailureKind::Permission, format!("`ALTER ROLE {user} REPLICATION`: it takes that to copy a server"))
            }
            "42501" => (FailureKind::Permission, format!("`GRANT CONNECT ON DATABASE {database} TO {user}`")),
            "53300" => (FailureKind::Other, TOO_MANY.to_owned()),
            "08P01" if said.contains("unsupported startup parameter") => {
                let hint = "a pooler takes no `options`: leave them out of the URL, PGOPTIONS, PGGEQO and the settings, or have PgBouncer ignore \
                            them (`ignore_startup_parameters`)";
                (FailureKind::Plan, hint.to_owned())
            }
            "22023" | "42704" | "55P02" => (FailureKind::Plan, "correct the settings or `options`".to_owned()),
            STARTING => (FailureKind::Unreachable, "look into the server's log".to_owned()),
            _ => (FailureKind::Other, "look into the server's log".to_owned()),
        }
    }
}

impl Endpoint {
    fn password_hint(&self) -> String {
        let Address { host, port, user, database, .. } = &self.address;
        let host = if self.address.is_socket() { "localhost" } else { host };
        let refused = self.address.password_source.refused("PGPASSWORD");
        format!(
            "{refused}set PGPASSWORD, or put the line `{host}:{port}:{database}:{user}:PASSWORD` into ~/.pgpass, which \
             nobody else may read (chmod 0600)"
        )
    }

    /// For this login.
    fn hba_hint(&self, said: &str) -> String {
        let Address { user, database, .. } = &self.address;
        // Étalon's own may be another than the one that the URL names.
        let meant = said.split_once("database \"").and_then(|(_, rest)| rest.split_once('"'));
        let database = meant.map_or(&**database, |(name, _)| name);
        let line = match said.split_once("host \"").and_then(|(_, rest)| rest.split_once('"')) {
            _ if self.address.is_socket() => format!("local  {database}  {user}  scram-sha-256"),
            Some((client, _)) => {
                let bits = if client.contains(':') { 128 } else { 32 };
                format!("host  {database}  {user}  {client}/{bits}  scram-sha-256")
            }
            None => format!("host  {database}  {user}  ADDRESS/32  scram-sha-256"),
        };
        format!("put this line into the server's pg_hba.conf and reload it (`SELECT pg_reload_conf()`): {line}")
    }
}
