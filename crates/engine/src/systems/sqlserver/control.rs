use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::connect::Endpoint;
use super::session::Session;
use crate::error::{Failure, FailureKind};
use crate::systems::kept::{Kept, outwait};
use crate::systems::server::refusal::failure;
use crate::systems::server::url::Address as _;
use crate::systems::sqlserver::lane::Client;
use crate::target::Part;

/// Settings of the control session: no time-outs, and a bounded wait for other sessions' locks.
const SETTINGS: &str = "SET LOCK_TIMEOUT 30000; SET XACT_ABORT OFF; SET NOCOUNT OFF; SET QUERY_GOVERNOR_COST_LIMIT 0; SET \
                        TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Takes the lock of étalon's claim; 0 or 1 is success.
const CLAIM: &str = "DECLARE @got int; EXEC @got = master.sys.sp_getapplock @Resource = N'etalon', @LockMode = \
                     'Exclusive', @LockOwner = 'Session', @LockTimeout = 0; SELECT @got";
/// What tells two servers apart, however they are reached.
const IDENTITY: &str = "SELECT CAST(@@SERVERNAME AS nvarchar(256))";

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
        self.kept.end(drop);
    }

    fn connect(&self) -> Result<Held, Failure> {
        // The plan's options are the load's.
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

/// This process's claims. Several systems of a plan may be one server with other settings or paths: the first holds
/// the lock for all.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<String>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

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

/// Two processes that load and drop the same tables would spoil each other's runs.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<Claim, Failure> {
    let tried = format!("claim étalon's database at {}", endpoint.address.shown());
    let ask = |client: &mut Client, sql: &str| client.one(sql).map_err(|error| failure(tried.clone(), &error));
    let server = ask(client, IDENTITY)?;
    outwait(|| {
        let had = matches!(ask(client, CLAIM)?.as_str(), "0" | "1");
        if had || own().contains(&server) {
            own().push(server.clone());
            return Ok(ControlFlow::Break(Claim { server: server.clone() }));
        }
        let hint = "wait until it has ended, or use another server; `sys.dm_tran_locks` has the session of a remnant under \
                    resource_type APPLICATION";
        let rival = Failure::new(FailureKind::NotOurs, &tried, "another étalon is using it").hint(hint);
        Ok(ControlFlow::Continue(rival))
    })
}
