//! The control connection: prepares, counts, cleans up.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::connect::{Endpoint, Purpose};
use super::session::Session;
use crate::error::{Failure, FailureKind};
use crate::systems::kept::{Kept, outwait};
use crate::systems::mysql::lane::{AskError, Client};
use crate::systems::server::refusal::failure;
use crate::systems::server::url::Address as _;
use crate::target::Part;

/// Settings of the control session: no time-outs, and a bounded wait for other sessions' locks. Unknown ones are
/// skipped.
const SETTINGS: [&str; 6] = [
    "SET SESSION lock_wait_timeout = 30",
    "SET SESSION innodb_lock_wait_timeout = 30",
    "SET SESSION wait_timeout = 2147483",
    "SET SESSION max_statement_time = 0",
    "SET SESSION max_execution_time = 0",
    "SET SESSION net_write_timeout = 600",
];
/// Lock name of étalon's claim on its database.
const LOCK: &str = "etalon";

pub(super) struct Control {
    endpoint: Endpoint,
    session: Session,
    part: Part,
    kept: Kept<Held>,
}

struct Held {
    client: Client,
    /// Released on drop.
    _claim: Option<Claim>,
}

impl Control {
    pub(super) fn new(endpoint: Endpoint, session: Session, part: Part) -> Control {
        Control { endpoint, session, part, kept: Kept::none() }
    }

    pub(super) fn ask<T>(&self, mut question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.kept.ask(|| self.connect(), |held| question(&mut held.client))
    }

    /// Releases the claim, too. The next question reconnects.
    pub(super) fn close(&self) {
        self.kept.end(|mut held| {
            // The server releases a session's locks only a moment after closing.
            let _ = held.client.execute(&format!("DO RELEASE_LOCK('{LOCK}')"));
            held.client.close();
        });
    }

    fn connect(&self) -> Result<Held, Failure> {
        let mut client = self.session.open(&self.endpoint, Purpose::Control)?;
        for setting in SETTINGS {
            match client.execute(setting) {
                Ok(()) | Err(AskError::Server(_)) => {}
                Err(error) => return Err(failure("set up étalon's own session", &error)),
            }
        }
        let claim = match self.part {
            Part::Whole => Some(claim(&mut client, &self.endpoint)?),
            Part::Load => None,
        };
        Ok(Held { client, _claim: claim })
    }
}

/// This process's sessions with a claim. Several systems of a plan may be one server with other settings or paths: the
/// first holds the lock for all.
static OWN: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<(String, u32)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds the lock, or shares another session's.
struct Claim {
    server: String,
    session: u32,
}

impl Drop for Claim {
    fn drop(&mut self) {
        own().retain(|(server, session)| (server, *session) != (&self.server, self.session));
    }
}

const IDENTITY: &str = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@socket, @@datadir)";

/// Two processes that load and drop the same tables would spoil each other's runs.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<Claim, Failure> {
    let tried = format!("claim étalon's database at {}", endpoint.address.shown());
    let ask = |client: &mut Client, sql: &str| client.one(sql).map_err(|error| failure(tried.clone(), &error));
    let claim = Claim { server: ask(client, IDENTITY)?, session: client.session.thread_id() };
    outwait(|| {
        if ask(client, &format!("SELECT GET_LOCK('{LOCK}', 0)"))? == "1" {
            own().push((claim.server.clone(), claim.session));
            return Ok(ControlFlow::Break(()));
        }
        let holder = ask(client, &format!("SELECT IS_USED_LOCK('{LOCK}')"))?;
        if own().iter().any(|(known, session)| *known == claim.server && session.to_string() == holder) {
            return Ok(ControlFlow::Break(()));
        }
        // Without the privilege PROCESS a user sees his own sessions.
        let who = "SELECT CONCAT(' of ', user, '@', host) FROM information_schema.processlist WHERE id = ";
        let who = ask(client, &format!("{who}{}", holder.parse().unwrap_or(0_u64)))?;
        let cause = format!("another étalon is using it, in session {holder}{who}");
        let hint =
            format!("wait until it has ended or use another server; if it is a remnant, `KILL CONNECTION {holder}`");
        Ok(ControlFlow::Continue(Failure::new(FailureKind::NotOurs, &tried, cause).hint(hint)))
    })?;
    Ok(claim)
}
