//! The control session's limits, and étalon's claim.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::connect::Endpoint;
use crate::kept::{Rivals, wait_for_release};
use crate::mysql::lane::{AskError, Client, MySqlProtocol};
use crate::server::refusal::{Explain as _, failing_to};
use crate::server::system;
use crate::server::url::Address as _;
use load::error::{Failure, FailureKind};

/// Settings of the control session: no time-outs, a bounded wait for other sessions' locks, and the grammar in which étalon's
/// own statements are written, whatever that of the server is. Unknown ones are skipped.
const SETTINGS: [&str; 9] = [
    // A table that others' tables refer to is not dropped.
    "SET SESSION foreign_key_checks = 1",
    "SET SESSION lock_wait_timeout = 30",
    "SET SESSION innodb_lock_wait_timeout = 30",
    "SET SESSION wait_timeout = 2147483",
    "SET SESSION max_statement_time = 0",
    "SET SESSION max_execution_time = 0",
    "SET SESSION net_write_timeout = 600",
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION'",
    // MariaDB otherwise makes a grouped table again for each row that it is joined to.
    "SET SESSION optimizer_switch = 'split_materialized=off'",
];
/// Lock name of étalon's claim on its database.
const LOCK: &str = "etalon";

/// This process's sessions with a claim. Several systems of a plan may be one server with other settings or paths: the
/// first holds the lock for all.
static OWN: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());

/// Sessions of this process that had a claim: one whose connection was lost may still be there on the server.
static LOST: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());
/// Several times as long as a session with a claim is silent.
const SILENT_S: u32 = 4;

/// Locks the list of this process's sessions with a claim.
fn lock_own_claims() -> MutexGuard<'static, Vec<(String, u32)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds the lock, or shares another session's.
pub(crate) struct MySqlClaim {
    server: String,
    session: u32,
}

impl MySqlClaim {
    /// Whether the lock's holder is a session of this process whose connection was lost on the way.
    fn is_own_remnant(&self, holder: &str) -> bool {
        let lost = LOST.lock().unwrap_or_else(PoisonError::into_inner);
        lost.iter().any(|(server, session)| *server == self.server && session.to_string() == holder)
    }
}

impl Drop for MySqlClaim {
    fn drop(&mut self) {
        lock_own_claims().retain(|(server, session)| (server, *session) != (&self.server, self.session));
        LOST.lock().unwrap_or_else(PoisonError::into_inner).push((self.server.clone(), self.session));
    }
}

/// Makes the SQL that counts a session if it has said nothing for some seconds, as one whose claim is alive does.
/// After a server's start its number may be another étalon's.
fn silent_session_sql(session: &str) -> String {
    format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {session} AND time >= {SILENT_S}")
}

const IDENTITY: &str = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@socket, @@datadir)";

impl system::DatabaseClaim for MySqlClaim {
    type Protocol = MySqlProtocol;
    type Endpoint = Endpoint;

    /// Sets the control session's time-outs, lock waits and grammar; settings that the server does not know are skipped.
    fn set_limits(client: &mut Client) -> Result<(), AskError> {
        for setting in SETTINGS {
            match client.execute(setting) {
                Ok(()) | Err(AskError::Server(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes the lock that claims étalon's database, and waits for a rival if the plan says so.
    /// A lock that another session of this process holds is shared.
    fn take(client: &mut Client, endpoint: &Endpoint, rivals: Rivals) -> Result<MySqlClaim, Failure> {
        let tried = format!("claim étalon's database at {}", endpoint.address.shown_url());
        let server = client.query_first_value(IDENTITY).map_err(failing_to(&tried))?;
        let claim = MySqlClaim { server, session: client.protocol.session.thread_id };
        wait_for_release(rivals, endpoint.waiting(), || {
            if client.query_first_value(&format!("SELECT GET_LOCK('{LOCK}', 0)")).map_err(failing_to(&tried))? == "1" {
                lock_own_claims().push((claim.server.clone(), claim.session));
                return Ok(ControlFlow::Break(()));
            }
            let holder =
                client.query_first_value(&format!("SELECT IS_USED_LOCK('{LOCK}')")).map_err(failing_to(&tried))?;
            if lock_own_claims().iter().any(|(known, session)| *known == claim.server && session.to_string() == holder)
            {
                return Ok(ControlFlow::Break(()));
            }
            if claim.is_own_remnant(&holder)
                && client.query_first_value(&silent_session_sql(&holder)).map_err(failing_to(&tried))? != "0"
            {
                client.execute(&format!("KILL CONNECTION {holder}")).map_err(failing_to(&tried))?;
            }
            // Without the privilege PROCESS a user sees his own sessions.
            let who = "SELECT CONCAT(' of ', user, '@', host) FROM information_schema.processlist WHERE id = ";
            let who = format!("{who}{}", holder.parse().unwrap_or(0_u64));
            let who = client.query_first_value(&who).map_err(failing_to(&tried))?;
            let cause = format!("another étalon is using it, in session {holder}{who}");
            let hint = format!(
                "wait until it has ended or use another server; if it is a remnant, `KILL CONNECTION {holder}`"
            );
            Ok(ControlFlow::Continue(Failure::new(FailureKind::NotOurs, &tried, cause).with_hint(hint)))
        })?;
        Ok(claim)
    }

    /// Releases the claim's lock at once.
    /// The server releases a session's locks only a moment after closing.
    fn release(client: &mut Client) {
        let _ = client.execute(&format!("DO RELEASE_LOCK('{LOCK}')"));
    }
}
