//! The one connection over which étalon prepares, counts and tidies up.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::connect::{Endpoint, Purpose, failure};
use super::session::Session;
use crate::error::{Failure, FailureKind};
use crate::lanes::mysql::{AskError, Client};

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
    client: Mutex<Option<Client>>,
}

impl Control {
    /// A connection that is made when it is first needed.
    pub(super) fn new(endpoint: Endpoint, session: Session) -> Control {
        Control { endpoint, session, client: Mutex::new(None) }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Client>> {
        // A connection that was in use when a thread panicked is in an unknown state.
        self.client.lock().unwrap_or_else(|poisoned: PoisonError<_>| {
            let mut guard = poisoned.into_inner();
            *guard = None;
            guard
        })
    }

    /// Asks something over the connection. If it turns out to have been lost since it was last used, it is made anew
    /// and asked once more; so `question` must do the same a second time.
    pub(super) fn ask<T>(&self, mut question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut slot = self.lock();
        if let Some(client) = slot.as_mut() {
            match question(client) {
                Err(failure) if failure.kind == FailureKind::ConnectionLost => {
                    if let Some(lost) = slot.take() {
                        disown(&lost, &self.endpoint);
                    }
                }
                other => return other,
            }
        }
        let mut client = self.connect()?;
        let answer = question(&mut client);
        if !matches!(&answer, Err(failure) if failure.kind == FailureKind::ConnectionLost) {
            *slot = Some(client);
        }
        answer
    }

    /// Ends the connection, and with it the claim on the database. The next question makes it anew.
    pub(super) fn close(&self) {
        if let Some(client) = self.lock().take() {
            disown(&client, &self.endpoint);
            client.close();
        }
    }

    fn connect(&self) -> Result<Client, Failure> {
        let mut client = self.session.open(&self.endpoint, Purpose::Control)?;
        for setting in SETTINGS {
            match client.execute(setting) {
                Ok(()) | Err(AskError::Server(_)) => {}
                Err(error) => return Err(failure("set up étalon's own session", &error)),
            }
        }
        claim(&mut client, &self.endpoint)?;
        Ok(client)
    }
}

/// Sessions of this process that have claimed a server, by its address and their number there. Several systems of one
/// plan may be the same server under other settings: the first of them holds the lock for all.
static OWN: Mutex<Vec<(String, u32)>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<(String, u32)>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn disown(client: &Client, endpoint: &Endpoint) {
    let gone = (endpoint.address.shown_place(), client.session.thread_id());
    own().retain(|known| *known != gone);
}

/// Claims étalon's database for this process: two that load and drop the same tables would spoil each other's trials.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let place = endpoint.address.shown_place();
    let tried = format!("claim étalon's database at {}", endpoint.address.shown());
    let started = Instant::now();
    loop {
        let ask = |client: &mut Client, sql: String| client.one(&sql).map_err(|error| failure(tried.clone(), &error));
        if ask(client, format!("SELECT GET_LOCK('{LOCK}', 0)"))? == "1" {
            own().push((place, client.session.thread_id()));
            return Ok(());
        }
        let holder = ask(client, format!("SELECT IS_USED_LOCK('{LOCK}')"))?;
        if own().iter().any(|(known, session)| *known == place && session.to_string() == holder) {
            return Ok(());
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
