//! Failed connections to a server, and their explanation.

use std::io;
use std::time::Duration;

use wire::{Unbound, WireError};

use crate::server::dialogue::{AskError, INTERRUPTED, ServerError, Waiting};
use crate::server::url::Address;
use load::error::{Failure, FailureKind};
use load::lane::{ErrorClass, OpError, connection_lost};
use workloads::system::OpenRequest;

#[derive(Debug)]
pub(crate) enum Refusal<E> {
    Io(io::ErrorKind, String),
    Tls(String),
    NoTls,
    /// Required, but not given.
    NoPassword,
    /// The password would cross a network in the clear.
    Insecure,
    /// The password would go to a server whose certificate is not verified.
    Unproven,
    Server(Box<E>),
    /// The login could not be tied to an encrypted channel, as the URL demands.
    Unbound(Unbound),
    /// The session is not of the kind that the URL demands: cause and hint.
    Unfit(&'static str, &'static str),
    /// A listener without answer.
    Silent(Duration),
    /// The user ended it.
    Interrupted,
    Other(String),
}

#[derive(Debug)]
pub(crate) enum OpenError<E> {
    Refused(Refusal<E>),
    /// The connection was made, and a question failed.
    Asked(&'static str, AskError<E>),
}

/// An engine's advice, whichever its server.
pub(crate) struct Advice {
    pub(crate) product: &'static str,
    pub(crate) products: &'static str,
    pub(crate) start: &'static str,
    /// Why it may end a connection before the login is done.
    pub(crate) ended: &'static str,
    /// Cause and hint.
    pub(crate) no_tls: (&'static str, &'static str),
    pub(crate) tls: &'static str,
}

/// An engine's explanations.
pub(crate) trait Explain {
    /// The server's errors.
    type Error: ServerError;
    type Address: Address;

    const ADVICE: Advice;

    /// Address of the server that is asked.
    fn address(&self) -> &Self::Address;

    /// Returns what the endpoint's questions heed while they wait.
    fn waiting(&self) -> &Waiting;

    /// Has the endpoint's questions heed the request's interrupt and notices.
    fn heed_request(&mut self, request: &OpenRequest<'_>);

    /// Writes a command by which a user can ask the server the same.
    fn check_command(&self) -> String;

    /// Returns of which kind the server's error is, and a hint.
    fn explain_server(&self, error: &Self::Error) -> (FailureKind, String);

    /// Says what the server's error is, with its code.
    fn describe_error(&self, error: &Self::Error) -> String {
        error.describe()
    }

    /// Says what to do where a login cannot be tied to an encrypted channel.
    fn advise_unbound(&self, _why: Unbound) -> &'static str {
        "leave out of the URL what demands it"
    }

    /// Says what was tried, why no password was sent, and a hint.
    fn explain_password(&self, refusal: &Refusal<Self::Error>) -> (&'static str, &'static str, String);

    /// Says why there is no connection, without advice.
    fn explain_cause(&self, refusal: &Refusal<Self::Error>) -> String {
        self.explain_refusal(refusal).cause
    }

    /// Makes a failure with a hint from a refused connection or login.
    fn explain_refusal(&self, refusal: &Refusal<Self::Error>) -> Failure {
        let Advice { product, products, start, ended, no_tls, tls } = Self::ADVICE;
        let check = self.check_command();
        let (tried, cause, kind, hint) = match refusal {
            Refusal::Server(error) => {
                let (kind, hint) = self.explain_server(error);
                (CONNECT, self.describe_error(error), kind, hint)
            }
            Refusal::Silent(timeout) => {
                let cause = format!("nothing answered within {} s", timeout.as_secs());
                let hint = format!("something listens there that may not be {product}, or hangs; {check}");
                (CONNECT, cause, FailureKind::Unreachable, hint)
            }
            Refusal::Io(io::ErrorKind::PermissionDenied, cause) => {
                let hint = "this user may not use the server's socket".to_owned();
                (CONNECT, cause.clone(), FailureKind::Permission, hint)
            }
            Refusal::Io(kind, cause) => {
                let hint = match kind {
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
                        format!("{ended}; {check}")
                    }
                    _ => format!("{start}, or correct the address: {check}"),
                };
                (CONNECT, cause.clone(), FailureKind::Unreachable, hint)
            }
            Refusal::NoTls => (ENCRYPT, no_tls.0.to_owned(), FailureKind::Unsupported, no_tls.1.to_owned()),
            Refusal::Tls(cause) if cause.ends_with("HandshakeFailure") => {
                (ENCRYPT, cause.clone(), FailureKind::Unsupported, NOTHING_IN_COMMON.to_owned())
            }
            Refusal::Tls(cause) => (ENCRYPT, cause.clone(), FailureKind::Other, tls.to_owned()),
            Refusal::NoPassword | Refusal::Insecure | Refusal::Unproven => {
                let (tried, cause, hint) = self.explain_password(refusal);
                (tried, cause.to_owned(), FailureKind::Login, hint)
            }
            Refusal::Interrupted => {
                let tried = format!("{CONNECT} {}", self.address().shown_url());
                return Failure::new(FailureKind::Interrupted, tried, INTERRUPTED);
            }
            Refusal::Unbound(why) => {
                let cause = WireError::ChannelBinding(*why);
                (CONNECT, cause.to_string(), FailureKind::Unsupported, self.advise_unbound(*why).to_owned())
            }
            // A server that is promoted, or that comes back as a standby, may be what is asked for in a moment.
            Refusal::Unfit(cause, hint) => (CONNECT, (*cause).to_owned(), FailureKind::Unreachable, (*hint).to_owned()),
            Refusal::Other(cause) => {
                let hint = format!("is it {products} that listens there? {check}");
                (CONNECT, cause.clone(), FailureKind::Other, hint)
            }
        };
        Failure::new(kind, format!("{tried} {}", self.address().shown_url()), cause).with_hint(hint)
    }
}

/// What the alert of this name says. <https://www.rfc-editor.org/rfc/rfc5246#section-7.2.2>
const NOTHING_IN_COMMON: &str = "the server takes none of étalon's ciphers, which exchange keys by elliptic curves (TLS 1.3, and ECDHE \
                                 in TLS 1.2): is it old, or set to others?";
pub(crate) const CONNECT: &str = "connect to";
pub(crate) const ENCRYPT: &str = "encrypt the connection to";

/// Makes a function that turns errors of a question into failures, for `map_err`.
/// As in `failing_to("read the server's settings")`.
pub(crate) fn failing_to<E: ServerError>(tried: &str) -> impl Fn(AskError<E>) -> Failure {
    move |error| ask_failure(tried, &error)
}

/// Makes a failure from an error of a question to the server.
pub(crate) fn ask_failure<E: ServerError>(tried: impl Into<String>, error: &AskError<E>) -> Failure {
    let said = match error {
        AskError::Server(said) => said,
        AskError::Interrupted => return Failure::new(FailureKind::Interrupted, tried, error),
        AskError::Io(_) | AskError::Tls(_) | AskError::Wire(_) => {
            return Failure::new(FailureKind::ConnectionLost, tried, error);
        }
    };
    let class = said.error_class();
    let kind = match (class, said.failure_kind()) {
        (_, FailureKind::Permission) => FailureKind::Permission,
        (ErrorClass::ConnectionLost, _) => FailureKind::ConnectionLost,
        (ErrorClass::DiskFull, _) => FailureKind::DiskFull,
        (_, kind) => kind,
    };
    let hint = match class {
        ErrorClass::LockTimeout => Some("another session holds a lock on étalon's tables; end it"),
        ErrorClass::DiskFull => {
            Some("free space on the server's device, or choose a smaller `scale` or fewer `warehouses`")
        }
        _ => said.hint(),
    };
    Failure { hint: hint.map(str::to_owned), ..Failure::new(kind, tried, error) }
}

impl<E: ServerError> Refusal<E> {
    /// Makes a refusal of a connection's I/O error; `timeout` was the limit.
    pub(crate) fn from_io(cause: &io::Error, timeout: Duration) -> Refusal<E> {
        match cause.kind() {
            io::ErrorKind::Interrupted => Refusal::Interrupted,
            // A blocking read's time-out.
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Refusal::Silent(timeout),
            kind => Refusal::Io(kind, cause.to_string()),
        }
    }

    /// Makes a refusal of a login's error; `timeout` was the limit.
    pub(crate) fn from_error(error: AskError<E>, timeout: Duration) -> Refusal<E> {
        match error {
            AskError::Io(cause) => Refusal::from_io(&cause, timeout),
            AskError::Tls(cause) if cause.kind() == io::ErrorKind::TimedOut => Refusal::Silent(timeout),
            AskError::Tls(cause) => Refusal::Tls(cause.to_string()),
            AskError::Server(error) => Refusal::Server(error),
            AskError::Interrupted => Refusal::Interrupted,
            AskError::Wire(WireError::TlsRefused) => Refusal::NoTls,
            AskError::Wire(WireError::PasswordMissing) => Refusal::NoPassword,
            AskError::Wire(WireError::InsecureTransport) => Refusal::Insecure,
            AskError::Wire(WireError::UnprovenServer) => Refusal::Unproven,
            AskError::Wire(WireError::ChannelBinding(why)) => Refusal::Unbound(why),
            AskError::Wire(error) => {
                E::from_login_error(error).map_or_else(|error| Refusal::Other(error.to_string()), Refusal::Server)
            }
        }
    }

    /// Makes the error that a lane reports of a refused connection.
    pub(crate) fn to_op_error(&self, endpoint: &impl Explain<Error = E>) -> OpError {
        match self {
            Refusal::Server(error) => error.op_error(),
            other => connection_lost(&endpoint.explain_refusal(other).cause),
        }
    }
}

impl<E: ServerError> OpenError<E> {
    /// Makes the failure of a session that could not be opened, with a hint.
    pub(crate) fn to_failure(&self, endpoint: &impl Explain<Error = E>) -> Failure {
        match self {
            OpenError::Refused(refusal) => endpoint.explain_refusal(refusal),
            OpenError::Asked(tried, error) => ask_failure(*tried, error),
        }
    }

    /// Makes the error that a lane reports of a session that could not be opened.
    pub(crate) fn to_op_error(&self, endpoint: &impl Explain<Error = E>) -> OpError {
        match self {
            OpenError::Refused(refusal) => refusal.to_op_error(endpoint),
            OpenError::Asked(_, error) => error.to_op_error(),
        }
    }
}
