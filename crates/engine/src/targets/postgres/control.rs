//! The one connection over which étalon prepares, counts and tidies up.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use postgres::Client;

use super::connect::{Endpoint, failure};
use super::counters::rows;
use super::session::{self, Session};
use crate::error::{Failure, FailureKind};
use crate::target::Part;

/// How long another session may hold a lock that étalon needs.
const LOCK_TIMEOUT: &str = "30s";
/// The class of étalon's advisory locks: "etal" in ASCII.
const LOCK_CLASS: i32 = i32::from_be_bytes(*b"etal");
/// The sessions of an étalon that was killed end a moment after it. The tests wait for one that does not.
const RIVAL_PATIENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(10) };
const RIVAL_POLL: Duration = Duration::from_millis(200);

/// A connection that is kept, and made again when it was lost.
pub(super) struct Control {
    endpoint: Endpoint,
    session: Session,
    part: Part,
    client: Mutex<Option<Client>>,
}

impl Control {
    /// A connection that is made when it is first needed.
    pub(super) fn new(endpoint: Endpoint, session: Session, part: Part) -> Control {
        Control { endpoint, session, part, client: Mutex::new(None) }
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
                Err(failure) if failure.kind == FailureKind::ConnectionLost => *slot = None,
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
            session::close(client);
        }
    }

    fn connect(&self) -> Result<Client, Failure> {
        let mut client = self.session.open(&self.endpoint)?;
        let limits = format!("SET lock_timeout = '{LOCK_TIMEOUT}'; SET statement_timeout = 0");
        client.batch_execute(&limits).map_err(|error| failure("set up étalon's own session", &error))?;
        if self.part == Part::Whole {
            claim(&mut client, &self.endpoint)?;
        }
        Ok(client)
    }
}

/// Names this process among all that use a database. Several systems of one plan may be the same database under other
/// settings, so the claim is the process's and not the connection's.
fn own_key() -> i32 {
    static KEY: OnceLock<i32> = OnceLock::new();
    *KEY.get_or_init(|| (RandomState::new().build_hasher().finish() >> 33) as i32)
}

/// Claims the database for this process: two that load and drop the same tables would spoil each other's trials.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let own = own_key();
    let tried = format!("claim the database at {}", endpoint.address.shown());
    let lock = format!("SELECT pg_catalog.pg_advisory_lock_shared({LOCK_CLASS}, {own})");
    client.batch_execute(&lock).map_err(|error| failure(tried.clone(), &error))?;
    let rivals = format!(
        "SELECT l.pid, coalesce(a.client_addr::text, 'this machine') FROM pg_catalog.pg_locks l \
         LEFT JOIN pg_catalog.pg_stat_activity a USING (pid) JOIN pg_catalog.pg_database d ON d.oid = l.database \
         WHERE l.locktype = 'advisory' AND l.classid = {LOCK_CLASS} AND l.objid <> {own} \
         AND d.datname = pg_catalog.current_database()"
    );
    let started = Instant::now();
    loop {
        let found = rows(client, &rivals).map_err(|error| failure(tried.clone(), &error))?;
        let Some(rival) = found.first() else { return Ok(()) };
        if started.elapsed() > RIVAL_PATIENCE {
            let (pid, from) = (rival.get(0).unwrap_or_default(), rival.get(1).unwrap_or_default());
            let cause = format!("another étalon is using it, in session {pid} from {from}");
            let hint = format!(
                "wait until it has ended or use another database; if it is a remnant, `SELECT pg_terminate_backend({pid})`"
            );
            return Err(Failure::new(FailureKind::NotOurs, tried, cause).hint(hint));
        }
        thread::sleep(RIVAL_POLL);
    }
}
