//! The one connection over which étalon prepares, counts and tidies up.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::connect::{Endpoint, Purpose, failure};
use super::session::Session;
use crate::error::{Failure, FailureKind};
use crate::lanes::mysql::{AskError, Client};
use crate::target::Part;

/// Settings of the control session, whatever the plan's are: nothing that it does may be cut short, and a lock that
/// another session holds is waited for so long. What a server does not have is passed over.
const SETTINGS: [&str; 6] = [
    "SET SESSION lock_wait_timeout = 30",
    "SET SESSION innodb_lock_wait_timeout = 30",
    "SET SESSION wait_timeout = 2147483",
    "SET SESSION max_statement_time = 0",
    "SET SESSION max_execution_time = 0",
    "SET SESSION net_write_timeout = 600",
];
/// The name of the lock by which étalon claims its database.
const LOCK: &str = "etalon";
/// The sessions of an étalon that was killed end a moment after it. The tests wait for one that does not.
const RIVAL_PATIENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };
const RIVAL_POLL: Duration = Duration::from_millis(200);

/// A connection that is kept, and made again when it was lost.
pub(super) struct Control {
    endpoint: Endpoint,
    session: Session,
    part: Part,
    held: Mutex<Option<Held>>,
}

/// The connection with its claim.
struct Held {
    client: Client,
    /// Given back when it is dropped.
    _claim: Option<Claim>,
}

impl Control {
    /// A connection that is made when it is first needed.
    pub(super) fn new(endpoint: Endpoint, session: Session, part: Part) -> Control {
        Control { endpoint, session, part, held: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        // A connection that was in use when a thread panicked is in an unknown state.
        self.held.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut guard = poisoned.into_inner();
            *guard = None;
            guard
        })
    }

    /// Asks something over the connection. If it turns out to have been lost since it was last used, it is made anew
    /// and asked once more; so `question` must do the same a second time.
    pub(super) fn ask<T>(&self, mut question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut slot = self.lock();
        if let Some(held) = slot.as_mut() {
            match question(&mut held.client) {
                Err(failure) if failure.kind == FailureKind::ConnectionLost => *slot = None,
                other => return other,
            }
        }
        let mut held = self.connect()?;
        let answer = question(&mut held.client);
        if !matches!(&answer, Err(failure) if failure.kind == FailureKind::ConnectionLost) {
            *slot = Some(held);
        }
        answer
    }

    /// Ends the connection, and with it the claim on the database. The next question makes it anew.
    pub(super) fn close(&self) {
        if let Some(mut held) = self.lock().take() {
            // The server gives the locks of a session back only a moment after it has closed the connection.
            let _ = held.client.execute(&format!("DO RELEASE_LOCK('{LOCK}')"));
            held.client.close();
        }
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

/// Sessions of this process that have claimed a server. Several systems of one plan may be the same server under other
/// settings or by another path: the first of them holds the lock for all.
static OWN: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<(String, u32)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session's claim, whether it holds the lock or another session of this process does.
struct Claim {
    server: String,
    session: u32,
}

impl Drop for Claim {
    fn drop(&mut self) {
        own().retain(|(server, session)| (server, *session) != (&self.server, self.session));
    }
}

/// What tells two servers apart, however they are reached.
const IDENTITY: &str = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@socket, @@datadir)";

/// Claims étalon's database for this process: two that load and drop the same tables would spoil each other's trials.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<Claim, Failure> {
    let tried = format!("claim étalon's database at {}", endpoint.address.shown());
    let ask = |client: &mut Client, sql: &str| client.one(sql).map_err(|error| failure(tried.clone(), &error));
    let claim = Claim { server: ask(client, IDENTITY)?, session: client.session.thread_id() };
    let started = Instant::now();
    loop {
        if ask(client, &format!("SELECT GET_LOCK('{LOCK}', 0)"))? == "1" {
            own().push((claim.server.clone(), claim.session));
            return Ok(claim);
        }
        let holder = ask(client, &format!("SELECT IS_USED_LOCK('{LOCK}')"))?;
        if own().iter().any(|(known, session)| *known == claim.server && session.to_string() == holder) {
            return Ok(claim);
        }
        if started.elapsed() > RIVAL_PATIENCE {
            let cause = format!("another étalon is using it, in session {holder}");
            let hint = format!(
                "wait until it has ended or use another server; if it is a remnant, `KILL CONNECTION {holder}`"
            );
            return Err(Failure::new(FailureKind::NotOurs, tried, cause).hint(hint));
        }
        thread::sleep(RIVAL_POLL);
    }
}
