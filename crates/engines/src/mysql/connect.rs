use std::io;
use std::time::Duration;

use host::reactor::Socket;
use wire::Secret;
use wire::mysql::{Config, Encryption, ErrorPacket, Feature, Identity, Medium, PublicKey};

use super::aside::OtherSession;
use super::url::{Address, Place, ServerKey};
use crate::mysql::lane::{Client, log_in};
use crate::server::dialogue::{Tls, Waiting};
use crate::server::refusal::{self, Advice, CONNECT, Explain};
use crate::server::system::Purpose;
use crate::server::tls::TlsMode;
use crate::server::url::{Address as _, PasswordSource};
use crate::server::{FEWER, TOO_MANY, VIGILANCE};
use load::error::{Failure, FailureKind};
use workloads::system::OpenRequest;

/// An account is at its own limit; 1203 is the server's.
const USER_LIMIT_REACHED: u16 = 1226;
/// Beyond the connection's own time-out, for handshake and login.
const LOGIN_GRACE: Duration = Duration::from_secs(2);

pub(super) type Refusal = refusal::Refusal<ErrorPacket>;
/// A connection of a lane was not opened.
pub(super) type OpenError = refusal::OpenError<ErrorPacket>;

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(super) address: Address,
    tls: Option<Tls>,
    /// What its questions heed.
    pub(super) waiting: Waiting,
}

impl Endpoint {
    /// Makes the endpoint of an address, with its TLS configuration; connects to nothing.
    pub(super) fn new(address: Address) -> Result<Endpoint, Failure> {
        let host = match &address.place {
            Place::Socket(_) => "localhost",
            Place::Tcp { host, .. } => host,
        };
        let tls = address.tls.client_config()?;
        let tls = tls.map(|config| Tls::new(config, host.to_owned(), &address.shown_url())).transpose()?;
        Ok(Endpoint { address, tls, waiting: Waiting::default() })
    }

    /// Has the endpoint's questions heed a request's interrupt and notices.
    #[must_use]
    pub(super) fn with_request(mut self, request: &OpenRequest<'_>) -> Endpoint {
        self.heed_request(request);
        self
    }

    /// Connects and logs in for a purpose, or fails with an explanation.
    pub(super) fn open_client(&self, purpose: Purpose) -> Result<Client, Failure> {
        self.try_connect(purpose).map_err(|refusal| self.explain_refusal(&refusal))
    }

    /// Connects and logs in as [`Endpoint::open_client`] does, with a bare refusal; preferred TLS is given up if it fails.
    pub(super) fn try_connect(&self, purpose: Purpose) -> Result<Client, Refusal> {
        let encryption = match self.address.tls.mode {
            TlsMode::Disable | TlsMode::Allow => Encryption::Off,
            TlsMode::Prefer => Encryption::Prefer,
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => Encryption::Require,
        };
        match self.try_once(purpose, encryption) {
            // Like MySQL's clients: preferred TLS is optional.
            Err(Refusal::Tls(_)) if self.address.tls.may_fall_back_to_plain() => {
                self.try_once(purpose, Encryption::Off)
            }
            other => other,
        }
    }

    /// Connects and logs in once, with this encryption, and lets a second session watch the first.
    fn try_once(&self, purpose: Purpose, encryption: Encryption) -> Result<Client, Refusal> {
        let connect_timeout = self.address.connect_timeout;
        let timeout = connect_timeout + LOGIN_GRACE;
        let socket = self.dial(connect_timeout).map_err(|cause| Refusal::from_io(&cause, timeout))?;
        let config = self.login_config(purpose, encryption);
        let client = log_in(socket, config, self.tls.as_ref(), timeout, &self.waiting);
        let mut client = client.map_err(|error| Refusal::from_error(error, timeout))?;
        if self.waiting.has_asides() {
            let session = client.protocol.session.thread_id;
            client.asker.watch_from(OtherSession { endpoint: self.clone(), session });
        }
        Ok(client)
    }

    /// Connects a socket to the server, without a login.
    fn dial(&self, timeout: Duration) -> io::Result<Socket> {
        match &self.address.place {
            Place::Socket(path) => Socket::connect_unix(path, timeout, &|| self.waiting.may_still_wait()),
            Place::Tcp { host, port } => {
                Socket::connect_tcp(host, *port, timeout, VIGILANCE, &|| self.waiting.may_still_wait())
            }
        }
    }

    /// Makes what the login sends: account, encryption, and features by purpose.
    fn login_config(&self, purpose: Purpose, encryption: Encryption) -> Config {
        let address = &self.address;
        Config {
            database: address.database.clone(),
            password: address.password.as_deref().map(Secret::from),
            encryption,
            medium: if address.is_socket() { Medium::Local } else { Medium::Network },
            identity: if address.tls.mode.verifies_server() { Identity::Proven } else { Identity::Unproven },
            public_key: match address.server_key {
                ServerKey::Refuse => PublicKey::Refuse,
                ServerKey::Ask => PublicKey::Request,
            },
            attributes: vec![("program_name".to_owned(), "etalon".to_owned())],
            local_files: if purpose == Purpose::Control { Feature::Use } else { Feature::Avoid },
            multi_statements: if purpose == Purpose::Load { Feature::Use } else { Feature::Avoid },
            ..Config::new(address.user.clone())
        }
    }
}

impl Explain for Endpoint {
    type Error = ErrorPacket;
    type Address = Address;

    const ADVICE: Advice = Advice {
        product: "MySQL",
        products: "MySQL or MariaDB",
        start: "start the server (`systemctl start mariadb`, `systemctl start mysql`)",
        ended: "it ended the connection before the login was done",
        no_tls: (
            "the server offers no TLS",
            "give the server a certificate (`ssl_cert`, `ssl_key`), or write `ssl-mode=preferred`",
        ),
        tls: "name the authority that signed the server's certificate, or that certificate itself if nobody else has signed \
              it: `ssl-ca=/path/to/ca.pem`; `ssl-mode=verify_ca` does not compare the host's name",
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
        let user = &self.address.user;
        match &self.address.place {
            Place::Socket(path) => format!("`mysqladmin -u {user} -S {} ping` asks the same", path.display()),
            Place::Tcp { host, port } => format!("`mysqladmin -u {user} -h {host} -P {port} ping` asks the same"),
        }
    }

    /// Explains that the server asks for the password in clear, and what to write in the URL.
    fn explain_password(&self, refusal: &Refusal) -> (&'static str, &'static str, String) {
        let (cause, hint) = match refusal {
            Refusal::Unproven => (
                "the server asks for the password itself (mysql_clear_password), and nobody has checked who it is",
                "write `ssl-mode=verify_identity`, with `ssl-ca=/path/to/ca.pem` where the authority is one of your own",
            ),
            _ => (
                "the server asks for the password itself, and the connection is not encrypted",
                "write `ssl-mode=required`; or, where nobody can sit in between, `get-server-public-key=1`",
            ),
        };
        (CONNECT, cause, hint.to_owned())
    }

    /// Kind of failure and hint for the server's error at login.
    fn explain_server(&self, error: &ErrorPacket) -> (FailureKind, String) {
        let Address { user, database, .. } = &self.address;
        let database = database.as_deref().unwrap_or_default();
        match error.code {
            1045 | 1698 | 1862 => (FailureKind::Login, self.password_hint()),
            1130 => {
                let host = error.message.split('\'').nth(1).unwrap_or("HOST");
                (FailureKind::Login, format!("on the server: `CREATE USER '{user}'@'{host}' IDENTIFIED BY '…'`"))
            }
            1044 => {
                (FailureKind::Permission, format!("`GRANT ALL ON {database}.* TO …`, or leave it away from the URL"))
            }
            1049 => (
                FailureKind::Missing,
                format!("`CREATE DATABASE {database}` makes it; étalon needs none, and works in one of its own"),
            ),
            1040 => (FailureKind::Other, TOO_MANY.to_owned()),
            1203 | 1226 => (FailureKind::Other, limit_hint(error)),
            1129 => (FailureKind::Login, "`mysqladmin flush-hosts` on the server lets this host in again".to_owned()),
            3159 => (FailureKind::Login, "write `ssl-mode=required`".to_owned()),
            _ => (FailureKind::Other, "look into the server's error log".to_owned()),
        }
    }
}

impl Endpoint {
    /// Says what to do about a refused password.
    fn password_hint(&self) -> String {
        let user = &self.address.user;
        let refused = match &self.address.password_source {
            PasswordSource::Nowhere(None) => "no password was given; ".to_owned(),
            source => source.refused_password_hint("MYSQL_PWD"),
        };
        let socket = if self.address.is_socket() {
            format!(
                "; an account that goes by `unix_socket` wants étalon to run as the operating system's user `{user}`"
            )
        } else {
            String::new()
        };
        format!(
            "{refused}set MYSQL_PWD, or put `password=…` under `[client]` into ~/.my.cnf, which nobody else may read (chmod \
             0600){socket}"
        )
    }
}

/// Advises an account that has used up what it may.
/// The error names the resource, whatever the language of the rest.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/user-resources.html>
fn limit_hint(error: &ErrorPacket) -> String {
    const BY_ACCOUNT: [(&str, &str); 4] = [
        ("'max_user_connections'", "MAX_USER_CONNECTIONS"),
        ("'max_connections_per_hour'", "MAX_CONNECTIONS_PER_HOUR"),
        ("'max_questions'", "MAX_QUERIES_PER_HOUR"),
        ("'max_updates'", "MAX_UPDATES_PER_HOUR"),
    ];
    let of_account = BY_ACCOUNT.iter().find(|(resource, _)| error.message.contains(resource));
    match of_account {
        Some((_, option)) if error.code == USER_LIMIT_REACHED => {
            format!("`ALTER USER … WITH {option} 0` lifts the account's own limit; or {FEWER}")
        }
        _ => format!("raise `max_user_connections` on the server, or for this account; or {FEWER}"),
    }
}
