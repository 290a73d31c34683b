use std::time::Duration;

use host::reactor::Socket;
use wire::Secret;
use wire::tds::{Config, Encryption, Medium, ServerMessage};

use super::aside::OtherSession;
use super::url::{Address, Encrypt, Trust};
use crate::server::VIGILANCE;
use crate::server::dialogue::{Tls, Waiting};
use crate::server::refusal::{self, Advice, ENCRYPT, Explain};
use crate::server::tls::{CertificateCheck, Roots, TlsWanted};
use crate::server::url::{Address as _, PasswordSource};
use crate::sqlserver::lane::{AskError, Client, LoggedIn, UNNUMBERED, log_in};
use load::error::{Failure, FailureKind};
use workloads::permits::Permits;
use workloads::system::OpenRequest;

/// Beyond the connection's own time-out, for handshake and login.
const LOGIN_GRACE: Duration = Duration::from_secs(5);
/// Limit on redirected logins.
const REDIRECTS: u32 = 3;

pub(super) type Refusal = refusal::Refusal<ServerMessage>;
pub(super) type OpenError = refusal::OpenError<ServerMessage>;

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(super) address: Address,
    tls: Tls,
    application: &'static str,
    /// Redirects must be within these.
    permits: Permits,
    /// What its questions heed.
    pub(super) waiting: Waiting,
}

impl Endpoint {
    /// Makes the endpoint of an address, with its TLS configuration; connects to nothing.
    pub(super) fn new(address: Address) -> Result<Endpoint, Failure> {
        let check = match (address.trust, address.encrypt) {
            (Trust::Blind, _) => CertificateCheck::Nothing,
            // Like Microsoft's clients: login-only encryption needs no trust unless the URL configures it.
            (Trust::Checked, Encrypt::Login) if !address.names_certificate() => CertificateCheck::Nothing,
            (Trust::Checked, _) => CertificateCheck::ChainAndName,
        };
        // TLS 1.3 only with TDS 8, where the whole connection is within TLS.
        let roots = address.roots.as_ref().unwrap_or(&Roots::System);
        let versions = [&rustls::version::TLS12];
        let wanted = TlsWanted { versions: &versions, ..TlsWanted::new(check, roots, "ca_file") };
        let config = wanted.client_config()?;
        let name = address.certificate_name.clone().unwrap_or_else(|| address.host.clone());
        let tls = Tls::new(config, name, &address.shown_url())?;
        Ok(Endpoint { address, tls, application: "etalon", permits: Permits::All, waiting: Waiting::default() })
    }

    /// Has the endpoint's questions heed a request's interrupt and notices.
    #[must_use]
    pub(super) fn with_request(mut self, request: &OpenRequest<'_>) -> Endpoint {
        self.heed_request(request);
        self
    }

    /// Has the endpoint follow no redirect to where a plan may not connect.
    #[must_use]
    pub(super) fn with_permits(self, permits: &Permits) -> Endpoint {
        Endpoint { permits: permits.clone(), ..self }
    }

    /// Copies the endpoint under another program name.
    #[must_use]
    pub(super) fn with_application(&self, application: &'static str) -> Endpoint {
        Endpoint { application, ..self.clone() }
    }

    /// Connects and logs in, following redirects of the server.
    pub(super) fn try_connect(&self) -> Result<Client, Refusal> {
        let timeout = self.address.connect_timeout + LOGIN_GRACE;
        let (mut host, mut port) = (self.address.host.clone(), self.address.port);
        for _ in 0..=REDIRECTS {
            let socket = Socket::connect_tcp(&host, port, self.address.connect_timeout, VIGILANCE, &|| {
                self.waiting.may_still_wait()
            });
            let socket = socket.map_err(|cause| Refusal::from_io(&cause, timeout))?;
            let logged_in = log_in(socket, self.login_config(), &self.tls, timeout, &self.waiting);
            match logged_in.map_err(|error| Refusal::from_error(error, timeout))? {
                LoggedIn::Here(mut client) => {
                    if self.waiting.has_asides() {
                        let session = client.protocol.session.number;
                        client.asker.watch_from(OtherSession { endpoint: self.clone(), session });
                    }
                    return Ok(*client);
                }
                LoggedIn::Elsewhere(to, at) => {
                    self.permits.check_connect(&to, at).map_err(|failure| Refusal::Other(failure.to_string()))?;
                    (host, port) = (to, at);
                }
            }
        }
        Err(Refusal::Other(format!("servers sent the login to each other {REDIRECTS} times")))
    }

    /// Makes what the login sends: account, encryption, program name and packet size.
    fn login_config(&self) -> Config {
        let address = &self.address;
        Config {
            password: address.password.as_deref().map(Secret::from),
            database: address.database.clone(),
            server: address.host.clone(),
            host: "etalon".to_owned(),
            application: self.application.to_owned(),
            encryption: match address.encrypt {
                Encrypt::Login => Encryption::LoginOnly,
                Encrypt::Everything => Encryption::Everything,
            },
            medium: if address.is_local() { Medium::Local } else { Medium::Network },
            packet_bytes: address.packet_bytes,
            ..Config::new(address.user.clone())
        }
    }
}

impl Explain for Endpoint {
    type Error = ServerMessage;
    type Address = Address;

    const ADVICE: Advice = Advice {
        product: "SQL Server",
        products: "SQL Server",
        start: "start the server and let it listen on TCP",
        ended: "a server that forces strict encryption (TDS 8) ends connections so",
        no_tls: ("the server offers no encryption", "give the server a certificate, or write `encrypt=false`"),
        tls: "name the authority that signed the server's certificate, `ca_file=/path/to/ca.pem`; where its name is not the \
              host's, `host_name_in_certificate=NAME`; `trust_server_certificate=true` encrypts without asking with whom",
    };

    fn address(&self) -> &Address {
        &self.address
    }

    /// How the endpoint's questions wait: interrupt, notices and asides.
    fn waiting(&self) -> &Waiting {
        &self.waiting
    }

    /// Has the endpoint's questions heed a request's interrupt and notices.
    fn heed_request(&mut self, request: &OpenRequest<'_>) {
        self.waiting = Waiting::new(request, self.address.shown_url());
    }

    /// Names the command by which the user can check the server himself.
    fn check_command(&self) -> String {
        let Address { host, port, user, .. } = &self.address;
        format!("`sqlcmd -S {host},{port} -U {user}` asks the same")
    }

    /// Explains that the password would cross the network unencrypted, and what to do.
    fn explain_password(&self, _refusal: &Refusal) -> (&'static str, &'static str, String) {
        let cause = "the server offers no encryption, and the password would cross the network in the clear";
        let hint = "give the server a certificate, or reach it over the loopback interface";
        (ENCRYPT, cause, hint.to_owned())
    }

    /// Kind of failure and hint for the server's error at login.
    ///
    /// <https://learn.microsoft.com/en-us/sql/relational-databases/errors-events/mssqlserver-18456-database-engine-error>
    fn explain_server(&self, error: &ServerMessage) -> (FailureKind, String) {
        let database = self.address.database.as_deref().unwrap_or_default();
        match error.number {
            18_456 => (FailureKind::Login, format!("{}; {}", login_state_words(error.state), self.password_hint())),
            18_452 => (FailureKind::Login, "étalon speaks SQL authentication only: name an SQL login".to_owned()),
            18_470 => (FailureKind::Login, "the login is disabled: `ALTER LOGIN … ENABLE`".to_owned()),
            18_486 => {
                (FailureKind::Login, "the login is locked out: `ALTER LOGIN … WITH PASSWORD = '…' UNLOCK`".to_owned())
            }
            18_487 | 18_488 => {
                (FailureKind::Login, "set a new password: `ALTER LOGIN … WITH PASSWORD = '…'`".to_owned())
            }
            18_461 => (FailureKind::Login, "the server is in single-user mode, and somebody else is in".to_owned()),
            4060 | 911 => (
                FailureKind::Missing,
                format!(
                    "`CREATE DATABASE [{database}]` makes it, or the login has no user in it; étalon needs none, and works \
                     in one of its own"
                ),
            ),
            4064 => (
                FailureKind::Missing,
                "the login's default database cannot be opened: name another in the URL".to_owned(),
            ),
            916 => {
                (FailureKind::Permission, format!("`USE [{database}]; CREATE USER … FOR LOGIN …` lets the login in"))
            }
            17_892 => (FailureKind::Login, "a logon trigger of the server has refused the login".to_owned()),
            17_819 | 17_821 => (
                FailureKind::Unsupported,
                "the server takes strict encryption alone (TDS 8), which étalon does not speak: name an endpoint that takes \
                 others"
                    .to_owned(),
            ),
            17_835 => (FailureKind::Login, "write `encrypt=true` in the URL".to_owned()),
            40_615 | 40_914 => {
                (FailureKind::Permission, "add this machine's address to the server's firewall rules".to_owned())
            }
            17_809 | 10_928 | 10_929 => {
                (FailureKind::Other, "raise `user connections` on the server, or ask for fewer clients".to_owned())
            }
            17_142 | 17_187 | 17_188 | 18_401 | 18_451 | 6005 => {
                (FailureKind::Unreachable, "the server is starting or ending: try again later".to_owned())
            }
            _ => (FailureKind::Other, "look into the server's error log".to_owned()),
        }
    }
}

impl Endpoint {
    /// Says what to do about a refused password.
    fn password_hint(&self) -> &'static str {
        match &self.address.password_source {
            PasswordSource::Url => "the password in the URL was refused; SQLCMDPASSWORD holds one that no plan shows",
            PasswordSource::Environment => "the password in SQLCMDPASSWORD was refused",
            PasswordSource::File(_) | PasswordSource::Nowhere(_) => "no password was given: set SQLCMDPASSWORD",
        }
    }
}

/// Says what a state of error 18456 means.
fn login_state_words(state: u8) -> &'static str {
    match state {
        2 | 5 => "there is no such login",
        6 => "it is a Windows login, and SQL authentication was tried",
        7 => "the login is disabled, and the password wrong",
        8 | 9 => "the password is wrong",
        11 | 12 => "the login is known, and may not connect to this server: `GRANT CONNECT SQL TO …`",
        18 => "the password must be changed",
        38 | 40 | 46 => "the database cannot be opened by this login",
        58 => "the server takes Windows authentication only",
        _ => {
            "the server tells clients no reason; its error log has the state: 5 no such login, 7 disabled, 8 wrong password, \
              58 Windows authentication only"
        }
    }
}

/// Takes a statement that the server does not have for done; a load can do without those that only a SQL Server has.
pub(super) fn ignore_unknown_statement(asked: Result<(), AskError>) -> Result<(), AskError> {
    match asked {
        Err(error) if error.error_number() == Some(UNNUMBERED) => Ok(()),
        asked => asked,
    }
}
