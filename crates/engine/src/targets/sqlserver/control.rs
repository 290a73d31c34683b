//! The connection over which étalon prepares, counts and tidies up.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::connect::{Endpoint, failure};
use super::session::Session;
use crate::error::{Failure, FailureKind};
use crate::lanes::sqlserver::Client;
use crate::target::Part;

/// Settings of the control session, whatever the plan's are: nothing that it does may be cut short, and a lock that
/// another session holds is waited for so long.
const SETTINGS: &str = "SET LOCK_TIMEOUT 30000; SET XACT_ABORT OFF; SET NOCOUNT OFF; SET QUERY_GOVERNOR_COST_LIMIT 0; SET \
                        TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Takes the lock by which étalon claims its database. Its answer is 0 or 1 where the lock is had.
const CLAIM: &str = "DECLARE @got int; EXEC @got = master.sys.sp_getapplock @Resource = N'etalon', @LockMode = \
                     'Exclusive', @LockOwner = 'Session', @LockTimeout = 0; SELECT @got";
/// What tells two servers apart, however they are reached.
const IDENTITY: &str = "SELECT CAST(@@SERVERNAME AS nvarchar(256))";
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
        *self.lock() = None;
    }

    fn connect(&self) -> Result<Held, Failure> {
        // The plan's options are those of the load.
        let own = Session { settings: Vec::new(), ..self.session.clone() };
        let mut client = own.open(&self.endpoint)?;
        client.execute(SETTINGS).map_err(|error| failure("set up étalon's own session", &error))?;
        let claim = match self.part {
            Part::Whole => Some(claim(&mut client, &self.endpoint)?),
            Part::Load => None,
        };
        Ok(Held { client, _claim: claim })
    }
}

/// Claims of this process. Several systems of one plan may be the same server under other settings or by another path: the
/// first of them holds the lock for all.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<String>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A session's claim, whether it holds the lock or another session of this process does.
struct Claim {
    server: String,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut own = own();
        if let Some(place) = own.iter().position(|server| *server == self.server) {
            own.remove(place);
        }
    }
}

/// Claims étalon's database for this process: two that load and drop the same tables would spoil each other's trials.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<Claim, Failure> {
    let tried = format!("claim étalon's database at {}", endpoint.address.shown());
    let ask = |client: &mut Client, sql: &str| client.one(sql).map_err(|error| failure(tried.clone(), &error));
    let server = ask(client, IDENTITY)?;
    let started = Instant::now();
    loop {
        let had = matches!(ask(client, CLAIM)?.as_str(), "0" | "1");
        if had || own().contains(&server) {
            own().push(server.clone());
            return Ok(Claim { server });
        }
        if started.elapsed() > RIVAL_PATIENCE {
            let hint = "wait until it has ended, or use another server; `sys.dm_tran_locks` has the session of a remnant \
                        under resource_type APPLICATION";
            return Err(Failure::new(FailureKind::NotOurs, tried, "another étalon is using it").hint(hint));
        }
        thread::sleep(RIVAL_POLL);
    }
}
