use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use host::reactor::Socket;
use wire::postgres::{Config, Encryption, ErrorFields, ScramCache};
use wire::{Secret, Unbound};

use super::aside::OtherSession;
use super::pooler::Pooler;
use super::tls::{self, Attempt, Negotiation};
use super::url::{Address, SessionAttributes};
use crate::postgres::lane::{Client, log_in};
use crate::server::dialogue::{ServerError as _, Tls, Waiting};
use crate::server::refusal::{self, Advice, CONNECT, Explain};
use crate::server::url::Address as _;
use crate::server::{FEWER, TOO_MANY};
use load::error::{Failure, FailureKind};
use workloads::system::OpenRequest;

/// How long a server that is starting or is being promoted is waited for.
pub(super) const STARTING_TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const STARTING_POLL: Duration = Duration::from_millis(100);
/// "The database system is starting up", or shutting down.
const STARTING: &str = "57P03";
const UTF8: &str = "UTF8";
/// The name of an encoding that is none. <https://www.postgresql.org/docs/current/multibyte.html>
const SQL_ASCII: &str = "SQL_ASCII";
const NAME_PRIMARY: &str = "name the primary server in the URL";
/// Beyond the connection's own time-out, for handshake and login.
const LOGIN_GRACE: Duration = Duration::from_secs(2);

const NAME_STANDBY: &str = "name a standby in the URL, or leave `target_session_attrs` (or PGTARGETSESSIONATTRS) out";

pub(super) type Refusal = refusal::Refusal<ErrorFields>;
pub(super) type OpenError = refusal::OpenError<ErrorFields>;

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(super) address: Address,
    tls: Option<Tls>,
    /// Derived keys.
    scram: ScramCache,
    /// What texts are sent and read in.
    encoding: &'static str,
    /// Extra startup parameter.
    pub(super) startup: Option<(&'static str, &'static str)>,
    /// The pooler in front of the server, if there is one.
    pub(super) pooler: Option<Pooler>,
    /// What its questions heed.
    pub(super) waiting: Waiting,
}

impl Endpoint {
    /// Makes the endpoint of an address, and reads the files for TLS.
    pub(super) fn new(address: Address) -> Result<Endpoint, Failure> {
        let tls = address.tls.client_config()?;
        let tls = tls.map(|config| Tls::new(config, address.host.clone(), &address.shown_url())).transpose()?;
        let (scram, waiting) = (ScramCache::default(), Waiting::default());
        Ok(Endpoint { address, tls, scram, encoding: UTF8, startup: None, pooler: None, waiting })
    }

    /// Has the endpoint's questions heed the request's interrupt and notices.
    #[must_use]
    pub(super) fn with_request(mut self, request: &OpenRequest<'_>) -> Endpoint {
        self.heed_request(request);
        self
    }

    /// Has texts sent and read without conversion, if the database's are in no encoding.
    /// If the client asks for UTF-8, the server checks them, and a statement fails for what it reads.
    pub(super) fn match_raw_encoding(&mut self, client: &mut Client) -> Result<(), Failure> {
        let encoding = client.query_first_value("SHOW server_encoding");
        if encoding.map_err(|error| refusal::ask_failure("ask for the database's encoding", &error))? == SQL_ASCII {
            self.encoding = SQL_ASCII;
        }
        Ok(())
    }

    /// Tests whether other clients get a session after étalon's transaction, with what is left in it.
    pub(super) fn shares_sessions(&self) -> bool {
        self.pooler.as_ref().is_some_and(Pooler::shares_sessions)
    }

    /// Makes the endpoint of another database of the same server.
    pub(super) fn on_database(&self, database: &str) -> Endpoint {
        Endpoint { address: Address { database: database.to_owned(), ..self.address.clone() }, ..self.clone() }
    }

    /// Opens a session; a failure has a hint. `options`: settings of a new session, as `-c name=value`.
    pub(super) fn open_client(&self, options: &str) -> Result<Client, Failure> {
        self.try_connect(options).map_err(|refusal| self.explain_refusal(&refusal))
    }

    /// Opens a session, and waits for a server that is starting; an error is unformatted.
    pub(super) fn try_connect(&self, options: &str) -> Result<Client, Refusal> {
        let started = Instant::now();
        loop {
            match self.try_modes(options) {
                Err(Refusal::Server(error))
                    if error.code.as_str() == STARTING && started.elapsed() < STARTING_TIMEOUT =>
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

    /// Opens a session by the first of the URL's encryption modes that the server takes.
    pub(super) fn try_modes(&self, options: &str) -> Result<Client, Refusal> {
        let mut first = None;
        for attempt in tls::attempts_for(self.address.tls.mode) {
            match self.try_once(*attempt, options) {
                Err(refusal) if is_about_encryption(&refusal) => first = first.or(Some(refusal)),
                Err(refusal) => return Err(first.unwrap_or(refusal)),
                Ok(client) => return Ok(client),
            }
        }
        // There is at least one mode.
        Err(first.unwrap_or(Refusal::Silent(Duration::ZERO)))
    }

    /// Connects and logs in once; refuses a session without the attributes that the URL asks for.
    fn try_once(&self, attempt: Attempt, options: &str) -> Result<Client, Refusal> {
        let connect_timeout = self.address.connect_timeout;
        let timeout = connect_timeout + LOGIN_GRACE;
        let socket = self.dial(connect_timeout).map_err(|cause| Refusal::from_io(&cause, timeout))?;
        let login = self.login_config(attempt, options);
        let client = log_in(socket, login, self.tls.as_ref(), timeout, &self.waiting);
        let mut client = client.map_err(|error| Refusal::from_error(error, timeout))?;
        if self.waiting.has_asides() {
            let session = client.process_id();
            client.asker.watch_from(OtherSession { endpoint: self.clone(), session });
        }
        let Some(wanted) = self.address.session_attributes else { return Ok(client) };
        let asked = match wanted {
            SessionAttributes::ReadWrite | SessionAttributes::ReadOnly => "SHOW transaction_read_only",
            SessionAttributes::Primary | SessionAttributes::Standby => "SELECT pg_catalog.pg_is_in_recovery()",
        };
        let answer = client.query_first_value(asked).map_err(|error| Refusal::from_error(error, timeout))?;
        let (cause, hint) = match (wanted, answer.as_str()) {
            (SessionAttributes::ReadWrite, "on") => {
                ("the session is read-only, and the URL asks for `target_session_attrs=read-write`", NAME_PRIMARY)
            }
            (SessionAttributes::ReadOnly, "off") => {
                ("the session is not read-only, and the URL asks for `target_session_attrs=read-only`", NAME_STANDBY)
            }
            (SessionAttributes::Primary, "t") => {
                ("the server is a standby, and the URL asks for `target_session_attrs=primary`", NAME_PRIMARY)
            }
            (SessionAttributes::Standby, "f") => {
                ("the server is no standby, and the URL asks for `target_session_attrs=standby`", NAME_STANDBY)
            }
            _ => return Ok(client),
        };
        Err(Refusal::Unfit(cause, hint))
    }

    /// Connects a socket to the server, without a login.
    fn dial(&self, timeout: Duration) -> io::Result<Socket> {
        let Address { host, hostaddr, port, vigilance, .. } = &self.address;
        if self.address.is_socket() {
            let socket = Path::new(host).join(format!(".s.PGSQL.{port}"));
            return Socket::connect_unix(&socket, timeout, &|| self.waiting.may_still_wait());
        }
        let to = hostaddr.map_or_else(|| host.clone(), |numeric| numeric.to_string());
        Socket::connect_tcp(&to, *port, timeout, *vigilance, &|| self.waiting.may_still_wait())
    }

    /// Makes what the login sends: role, database, password, encryption and parameters.
    fn login_config(&self, attempt: Attempt, options: &str) -> Config {
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
        login.encoding = self.encoding;
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

/// Tests whether a connection was refused for its encryption, so that another `sslmode` might help.
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

    /// Returns what the endpoint's questions heed while they wait.
    fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    fn heed_request(&mut self, request: &OpenRequest<'_>) {
        self.waiting = Waiting::new(request, self.address.shown_url());
    }

    /// Writes the `pg_isready` command that asks the server the same.
    fn check_command(&self) -> String {
        let Address { host, port, .. } = &self.address;
        format!("`pg_isready -h {host} -p {port}` asks the same")
    }

    /// Says what the server's error is; of one that is starting, how long it was waited for.
    fn describe_error(&self, error: &ErrorFields) -> String {
        match error.code.as_str() {
            STARTING => format!("after {} s still: {}", STARTING_TIMEOUT.as_secs(), error.describe()),
            _ => error.describe(),
        }
    }

    /// Says what to do where SCRAM cannot bind to a TLS channel.
    fn advise_unbound(&self, why: Unbound) -> &'static str {
        match why {
            Unbound::Unencrypted => {
                "TLS is what it binds to: write `sslmode=require` (the server needs `ssl = on` and a certificate), or leave \
                 `channel_binding=require` out"
            }
            Unbound::LetIn => {
                "only a SCRAM password can be bound: have pg_hba.conf ask for `scram-sha-256` in this login, or leave \
                 `channel_binding=require` out"
            }
            Unbound::Unable => {
                "PostgreSQL offers it from release 11 on, where it has been built with OpenSSL: write \
                 `channel_binding=prefer`"
            }
        }
    }

    /// Says that the server asks for a password and none was given, with a hint.
    fn explain_password(&self, _refusal: &Refusal) -> (&'static str, &'static str, String) {
        (CONNECT, "the server asks for a password, and none was given", self.password_hint())
    }

    /// Returns the kind of the server's error by its SQLSTATE, and a hint.
    fn explain_server(&self, error: &ErrorFields) -> (FailureKind, String) {
        let Address { host, port, user, database, .. } = &self.address;
        let said = error.describe();
        match error.code.as_str() {
            "28P01" => (FailureKind::Login, self.password_hint()),
            "28000" if said.contains("pg_hba.conf") => (FailureKind::Login, self.hba_hint(&said)),
            "28000" if said.contains("does not exist") => (
                FailureKind::Login,
                format!(
                    "`createuser -h {host} -p {port} -U postgres {user}` makes the role, by a superuser such as `postgres`"
                ),
            ),
            "28000" if said.contains("authentication failed") => {
                let hint = format!("run étalon as the operating system's user `{user}`, or go by TCP with a password");
                (FailureKind::Login, hint)
            }
            "28000" => (FailureKind::Login, format!("look at the role in psql: `\\du {user}`")),
            "3D000" => (FailureKind::Missing, format!("`createdb -h {host} -p {port} -U {user} {database}` makes it")),
            // 15 names the role, later releases the WAL sender.
            "42501" if said.contains("replication") || said.contains("WAL sender") => {
                (FailureKind::Permission, format!("`ALTER ROLE {user} REPLICATION`: it takes that to copy a server"))
            }
            "42501" => (FailureKind::Permission, format!("`GRANT CONNECT ON DATABASE {database} TO {user}`")),
            "08P01" | "53300" if error.routine.is_none() && said.contains("max_client_conn") => {
                (FailureKind::Other, format!("raise `max_client_conn` of PgBouncer, or {FEWER}"))
            }
            "53300" => (FailureKind::Other, self.connections_hint(error)),
            "08P01" if said.contains("unsupported startup parameter: replication") => {
                let hint = "a pooler copies no server: name the server's own address in the URL";
                (FailureKind::Unsupported, hint.to_owned())
            }
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
    /// Advises on the limit of connections that was reached, by the function that reports it.
    fn connections_hint(&self, error: &ErrorFields) -> String {
        let Address { user, database, .. } = &self.address;
        match error.routine.as_deref() {
            Some("InitializeSessionUserId") => {
                format!("{} lifts the role's own limit; or {FEWER}", lift_limit_sql("ROLE", user))
            }
            Some("CheckMyDatabase") => {
                format!("{} lifts the database's own limit; or {FEWER}", lift_limit_sql("DATABASE", database))
            }
            _ => TOO_MANY.to_owned(),
        }
    }

    /// Says what to do about a refused password.
    fn password_hint(&self) -> String {
        let Address { host, port, user, database, .. } = &self.address;
        let host = if self.address.is_socket() { "localhost" } else { host };
        let refused = self.address.password_source.refused_password_hint("PGPASSWORD");
        format!(
            "{refused}set PGPASSWORD, or put the line `{host}:{port}:{database}:{user}:PASSWORD` into ~/.pgpass, which \
             nobody else may read (chmod 0600)"
        )
    }

    /// Advises on the entry of `pg_hba.conf` that this login needs.
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
        // Its lines are searched from the top. The words may be translated, and then nothing distinguishes the two.
        let why = if said.contains("rejects") {
            "a line of the server's pg_hba.conf says `reject` for this login: "
        } else {
            ""
        };
        format!("{why}put this line above the others of pg_hba.conf and reload it (`SELECT pg_reload_conf()`): {line}")
    }
}

/// Writes the statement that lifts the connection limit of a role or a database; `what` says of which.
fn lift_limit_sql(what: &str, name: &str) -> String {
    format!("`ALTER {what} \"{}\" CONNECTION LIMIT -1`", name.replace('"', "\"\""))
}
