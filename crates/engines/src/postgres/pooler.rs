//! A pooler between étalon and the server: found by whose session answers, classified by whom it lends sessions to, named by
//! what its console says. Where a session goes to others, nothing of étalon's may stay in it.
//!
//! <https://www.pgbouncer.org/features.html>

use std::fmt;
use std::io;
use std::thread;
use std::time::Duration;

use super::connect::{Endpoint, Refusal};
use crate::postgres::lane::{AskError, Client};
use crate::server::refusal::ask_failure;
use crate::server::url::Address as _;
use load::error::{Failure, FailureKind};

/// Timeout of a session from the pool, while étalon finds out about it.
const POOL_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a third session, which the pool need not have.
const THIRD_TIMEOUT: Duration = Duration::from_secs(2);
/// Which of two clients asks, in no regular order: a pool that hands its sessions out in turn could give each the same
/// one.
const ORDER: [usize; 10] = [0, 1, 1, 0, 0, 0, 1, 0, 1, 1];
/// New clients that look for the session that another has left.
const LOOKS: usize = 5;
/// How often a new client is tried until it is given one certain session, which an application may hold meanwhile.
const LOOKS_FOR_A_SESSION: usize = 200;
const LOOK_PAUSE: Duration = Duration::from_millis(10);
/// The databases that are the console of PgBouncer and PgCat, and of Odyssey.
const CONSOLES: [&str; 2] = ["pgbouncer", "console"];
/// "Protocol violation": how PgBouncer refuses.
const PROTOCOL_VIOLATION: &str = "08P01";
const PROBE: &str = "etalon_probe";

/// How long a client has a session of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lends {
    /// A client has its session until it leaves; the next client gets it as new.
    Session,
    /// A client has its session until it leaves; the next client gets it as it was left.
    UsedSession,
    /// A client has a session for a transaction. `prepares`: the pooler brings prepared statements along.
    Transaction { prepares: bool },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pooler {
    /// The name has its version, as far as it reports one.
    pub(crate) name: String,
    pub(crate) lends: Lends,
}

impl Pooler {
    /// Tests whether other clients get the sessions with what étalon leaves in them.
    pub(crate) fn shares_sessions(&self) -> bool {
        self.lends != Lends::Session
    }

    /// Tests whether a client's prepared statements last beyond a transaction.
    pub(crate) fn keeps_prepared(&self) -> bool {
        matches!(self.lends, Lends::Session | Lends::Transaction { prepares: true })
    }

    /// Makes the failure of something that needs a session of its own, which the pooler does not give.
    pub(crate) fn refusal_failure(&self, tried: impl Into<String>, hint: &str) -> Failure {
        Failure::new(FailureKind::Unsupported, tried, format!("it goes through {self}")).with_hint(hint)
    }
}

impl fmt::Display for Pooler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match self.lends {
            Lends::Session => write!(f, "{name}, which lends a session to each client"),
            Lends::UsedSession => {
                write!(f, "{name}, which lends a session to each client and does not reset it for the next")
            }
            Lends::Transaction { .. } => write!(f, "{name}, which lends a session for each transaction"),
        }
    }
}

/// Finds out whether a pooler stands before the server, how it lends sessions, and its name.
/// `None`: the session that answers is the one that the login reported.
///
/// # Errors
/// The pool gives two clients no sessions, or ends their transactions.
pub(super) fn find_pooler(client: &mut Client, endpoint: &Endpoint) -> Result<Option<Pooler>, Failure> {
    if client.answers_as_logged_in().map_err(|error| explain_failure(endpoint, &error))? {
        return Ok(None);
    }
    client.limit_time(POOL_TIMEOUT);
    let mut second = endpoint.open_client("")?;
    second.limit_time(POOL_TIMEOUT);
    let goes_to_others = shares_among_clients(client, &mut second)
        .map_err(|error| explain_failure(endpoint, &error))?
        || third_client_shares(client, &mut second, endpoint).map_err(|error| explain_failure(endpoint, &error))?;
    let lends = if goes_to_others {
        let prepares = supports_prepared(client).map_err(|error| explain_failure(endpoint, &error))?;
        second.close_and_wait();
        Lends::Transaction { prepares }
    } else if resets_sessions(second, endpoint)? {
        Lends::Session
    } else {
        Lends::UsedSession
    };
    let name = pooler_name(client, endpoint);
    client.lift_limit();
    Ok(Some(Pooler { name, lends }))
}

/// Makes the failure of a question about the pooler, with what to set in it.
fn explain_failure(endpoint: &Endpoint, error: &AskError) -> Failure {
    let tried = format!("find out about the pooler at {}", endpoint.address.shown_url());
    match error {
        AskError::Io(cause) if matches!(cause.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock) => {
            let cause = format!("its pool gave two clients no sessions within {} s", POOL_TIMEOUT.as_secs());
            Failure::new(FailureKind::Unreachable, tried, cause)
                .with_hint("give the pool two sessions more than the plan has clients (PgBouncer: `default_pool_size`)")
        }
        AskError::Server(refused) if refused.code.as_str() == PROTOCOL_VIOLATION => {
            let cause = format!("it lends sessions for single statements: {error}");
            Failure::new(FailureKind::Unsupported, tried, cause)
                .with_hint("étalon needs transactions: `pool_mode = transaction` or `session` for this database")
        }
        _ => ask_failure(tried, error),
    }
}

const BACKEND: &str = "SELECT pg_catalog.pg_backend_pid()";

/// Tests whether one client's questions are answered in several sessions, or two clients' in one.
fn shares_among_clients(first: &mut Client, second: &mut Client) -> Result<bool, AskError> {
    let mut seen: [Option<String>; 2] = [None, None];
    for index in ORDER {
        let session = if index == 0 { first.query_first_value(BACKEND)? } else { second.query_first_value(BACKEND)? };
        let has_changed = seen[index].as_ref().is_some_and(|before| *before != session);
        if has_changed || seen[1 - index].as_ref() == Some(&session) {
            return Ok(true);
        }
        seen[index] = Some(session);
    }
    Ok(false)
}

/// Tests whether a third client is answered in a session of one of two that stay.
/// A pooler may give each client, while it can, the session that it had before (Odyssey).
fn third_client_shares(first: &mut Client, second: &mut Client, endpoint: &Endpoint) -> Result<bool, AskError> {
    let taken = [first.query_first_value(BACKEND)?, second.query_first_value(BACKEND)?];
    for _ in 0..LOOKS {
        let Ok(mut third) = endpoint.try_connect("") else { return Ok(false) };
        third.limit_time(THIRD_TIMEOUT);
        // A pool of two sessions has none for it.
        let Ok(session) = third.query_first_value(BACKEND) else { return Ok(false) };
        third.close_and_wait();
        if taken.contains(&session) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Tests whether the pooler gives prepared statements names of its own, by which it finds them again.
/// The transaction keeps to one session, so that nothing is left in any.
fn supports_prepared(client: &mut Client) -> Result<bool, AskError> {
    client.execute("BEGIN")?;
    client.prepare_named(PROBE, "SELECT 1")?;
    let there = format!("SELECT count(*) FROM pg_catalog.pg_prepared_statements WHERE name = '{PROBE}'");
    let is_verbatim = client.query_first_value(&there)? != "0";
    if is_verbatim {
        client.execute(&format!("DEALLOCATE {PROBE}"))?;
    }
    client.execute("ROLLBACK")?;
    Ok(!is_verbatim)
}

/// Tests whether what a client has set is gone for the next client that gets its session.
fn resets_sessions(mut leaving: Client, endpoint: &Endpoint) -> Result<bool, Failure> {
    let session = leaving.query_first_value(BACKEND).map_err(|error| explain_failure(endpoint, &error))?;
    leaving.execute("SET etalon.probe = 'left'").map_err(|error| explain_failure(endpoint, &error))?;
    leaving.close_and_wait();
    let there = format!(
        "SELECT (pg_catalog.pg_backend_pid() = {session})::int, coalesce(pg_catalog.current_setting('etalon.probe', true), ''), \
         (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE pid = {session})"
    );
    // A pool gives the session that came back last: the one of the look before is kept from it meanwhile.
    let mut kept: Option<Client> = None;
    for look in 0..LOOKS_FOR_A_SESSION {
        if look > 0 {
            thread::sleep(LOOK_PAUSE);
        }
        let mut next = endpoint.open_client("")?;
        next.limit_time(if kept.is_some() { THIRD_TIMEOUT } else { POOL_TIMEOUT });
        let rows = match (next.query_text_rows(&there), kept.take()) {
            (Ok(rows), before) => {
                before.into_iter().for_each(Client::close_and_wait);
                rows
            }
            // The pool has no more sessions.
            (Err(_), Some(before)) => {
                before.close_and_wait();
                continue;
            }
            (Err(error), None) => return Err(explain_failure(endpoint, &error)),
        };
        let row = rows.into_iter().next().unwrap_or_default();
        let [Some(is_same), Some(left), Some(lives)] = &row[..] else { continue };
        if left == "left" {
            next.execute("RESET etalon.probe").map_err(|error| explain_failure(endpoint, &error))?;
        }
        if is_same == "1" || lives == "0" {
            next.close_and_wait();
            return Ok(left != "left");
        }
        kept = Some(next);
    }
    Ok(false)
}

/// Asks the pooler for its name and version, as far as it says.
fn pooler_name(client: &mut Client, endpoint: &Endpoint) -> String {
    if let Ok(version) = client.query_first_value("SHOW pool_version") {
        return format!("Pgpool-II {version}");
    }
    let name = CONSOLES.into_iter().find_map(|console| match endpoint.on_database(console).try_connect("") {
        Ok(mut client) => {
            client.limit_time(POOL_TIMEOUT);
            let version = client.query_first_value("SHOW VERSION").ok();
            client.close_and_wait();
            // Odyssey reports its compiler, too.
            version.and_then(|text| Some(text.split(" (").next()?.to_owned())).filter(|text| !text.is_empty())
        }
        Err(Refusal::Server(error)) if error.code.as_str() == PROTOCOL_VIOLATION => Some("PgBouncer".to_owned()),
        Err(_) => None,
    });
    name.unwrap_or_else(|| "a pooler".to_owned())
}
