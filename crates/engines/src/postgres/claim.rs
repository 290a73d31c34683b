//! The control session's limits, and étalon's claim.

use std::ops::ControlFlow;
use std::time::Duration;

use super::connect::Endpoint;
use crate::kept::{Rivals, process_claim_key, wait_for_release};
use crate::postgres::lane::{AskError, Client, PostgresProtocol};
use crate::server::dialogue::first_columns;
use crate::server::refusal::{Explain as _, ask_failure, failing_to};
use crate::server::url::Address as _;
use crate::server::{control, system};
use load::error::{Failure, FailureKind};

/// "etal" in ASCII.
const LOCK_CLASS: i32 = i32::from_be_bytes(*b"etal");
/// Timeout of the end of a transaction that has the claim.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// "etdb" in ASCII.
const DATABASES_CLASS: i32 = i32::from_be_bytes(*b"etdb");

/// The control session's own lock; where a pooler lends sessions for transactions, one of a transaction that stays open.
pub(crate) struct PostgresClaim {
    holder: Option<Client>,
}

impl system::DatabaseClaim for PostgresClaim {
    type Protocol = PostgresProtocol;
    type Endpoint = Endpoint;

    /// Takes the server's time-outs off étalon's own session, limits its waits for locks, and its parallel workers.
    fn set_limits(client: &mut Client) -> Result<(), AskError> {
        // Helpers of a join each make the whole of a grouped table: a question then takes twice as long and three times the
        // processor's time.
        let alone = ("max_parallel_workers_per_gather", "0");
        client.set_for_session(&[("lock_timeout", "30s"), ("statement_timeout", "0"), alone])?;
        if client.shares_session() {
            return Ok(());
        }
        // The server ends no such session for being idle, where it has such limits.
        client.execute(
            "SELECT pg_catalog.set_config(name, '0', false) FROM pg_catalog.pg_settings WHERE name IN ('idle_session_timeout', \
             'idle_in_transaction_session_timeout', 'transaction_timeout')",
        )
    }

    /// Takes étalon's advisory lock on the database, and fails if another étalon keeps its own.
    fn take(client: &mut Client, endpoint: &Endpoint, rivals: Rivals) -> Result<PostgresClaim, Failure> {
        let what = format!("the database at {}", endpoint.address.shown_url());
        let tried = format!("claim {what}");
        let holder = if endpoint.shares_sessions() {
            Some(open_claim_transaction(endpoint, &tried)?)
        } else {
            let lock = format!("SELECT pg_catalog.pg_advisory_lock_shared({LOCK_CLASS}, {})", process_claim_key());
            client.execute(&lock).map_err(|error| ask_failure(tried, &error))?;
            None
        };
        let claim = PostgresClaim { holder };
        refuse_rivals_here(client, endpoint, rivals)?;
        Ok(claim)
    }

    /// Fails if another étalon has claimed the database.
    fn check(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
        refuse_rivals_here(client, endpoint, Rivals::AwaitEnd)
    }

    /// Keeps the transaction alive that holds the claim through a pooler.
    fn ping(&mut self, _client: &mut Client) -> Result<(), Failure> {
        self.holder.as_mut().map_or(Ok(()), control::ping_server)
    }
}

/// Waits for other étalons' claims on this database to end, and fails if they stay.
fn refuse_rivals_here(client: &mut Client, endpoint: &Endpoint, rivals: Rivals) -> Result<(), Failure> {
    let what = format!("the database at {}", endpoint.address.shown_url());
    let here = "AND d.datname = pg_catalog.current_database()";
    let way_out = "wait until it has ended or use another database";
    refuse_rivals((client, endpoint), (LOCK_CLASS, here), &what, way_out, rivals)
}

/// Opens a transaction that holds the claim through a pooler until it ends.
/// The pooler lends its session to no one else until then.
fn open_claim_transaction(endpoint: &Endpoint, tried: &str) -> Result<Client, Failure> {
    let mut holder = endpoint.open_client("")?;
    let own = process_claim_key();
    // The server ends no transaction for being idle or old, where it has such limits.
    let hold = format!(
        "BEGIN; SELECT pg_catalog.set_config(name, '0', true) FROM pg_catalog.pg_settings \
         WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout', 'statement_timeout'); \
         SELECT pg_catalog.pg_advisory_xact_lock_shared({LOCK_CLASS}, {own})"
    );
    holder.execute(&hold).map_err(|error| ask_failure(tried, &error))?;
    Ok(holder)
}

impl Drop for PostgresClaim {
    /// Rolls back the transaction that holds the claim.
    fn drop(&mut self) {
        let Some(mut holder) = self.holder.take() else { return };
        // It may be gone.
        holder.limit_time(RELEASE_TIMEOUT);
        if holder.execute("ROLLBACK").is_ok() {
            holder.close_and_wait();
        }
    }
}

/// Claims the databases of étalon's names on the whole server, and fails if another étalon has them.
/// A server has one each, whichever database the URL names.
pub(super) fn claim_databases(client: &mut Client, endpoint: &Endpoint, rivals: Rivals) -> Result<(), Failure> {
    let what = format!("étalon's databases at {}", endpoint.address.shown_url());
    let lock = format!("SELECT pg_catalog.pg_advisory_lock_shared({DATABASES_CLASS}, {})", process_claim_key());
    client.execute(&lock).map_err(|error| ask_failure(format!("claim {what}"), &error))?;
    let way_out = "wait until it has ended, or write `reset = \"rebuild\"`";
    refuse_rivals((client, endpoint), (DATABASES_CLASS, ""), &what, way_out, rivals)
}

/// Waits for others' locks of this class to end, and fails if they stay. `place` limits it to some databases.
/// An advisory lock is a database's, but all are seen.
fn refuse_rivals(
    (client, endpoint): (&mut Client, &Endpoint),
    (class, place): (i32, &str),
    what: &str,
    way_out: &str,
    policy: Rivals,
) -> Result<(), Failure> {
    let own = process_claim_key();
    let tried = format!("claim {what}");
    let rivals = format!(
        "SELECT l.pid, coalesce(a.client_addr::text, 'this machine'), coalesce(a.application_name, 'it does not say what'), \
         coalesce(pg_catalog.date_trunc('second', pg_catalog.clock_timestamp() - a.backend_start)::text, 'a while') \
         FROM pg_catalog.pg_locks l \
         LEFT JOIN pg_catalog.pg_stat_activity a USING (pid) JOIN pg_catalog.pg_database d ON d.oid = l.database \
         WHERE l.locktype = 'advisory' AND l.classid = {class} AND l.objid <> {own} {place}"
    );
    wait_for_release(policy, endpoint.waiting(), || {
        let found = client.query_text_rows(&rivals).map_err(failing_to(&tried))?;
        let Some(rival) = found.into_iter().next() else { return Ok(ControlFlow::Break(())) };
        let [pid, from, name, age] = first_columns(rival);
        let cause = format!("another étalon (`{name}`) is using it, in session {pid} from {from}, open for {age}");
        let hint = format!("{way_out}; if it is a remnant, `SELECT pg_terminate_backend({pid})`");
        Ok(ControlFlow::Continue(Failure::new(FailureKind::NotOurs, &tried, cause).with_hint(hint)))
    })
}
