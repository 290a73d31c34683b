//! The control session's limits, and étalon's claim.

use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::connect::Endpoint;
use crate::kept::{Idle, Rivals, wait_for_release};
use crate::server::refusal::{Explain as _, failure};
use crate::server::system;
use crate::server::url::Address as _;
use crate::sqlserver::lane::{AskError, Client, Spoken};
use load::error::{Failure, FailureKind};

const LIMITS: &str = "SET LOCK_TIMEOUT 30000; SET XACT_ABORT OFF; SET NOCOUNT OFF; SET QUERY_GOVERNOR_COST_LIMIT 0; SET \
                        TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// Takes the lock of étalon's claim; 0 or 1 is success.
const CLAIM: &str = "DECLARE @got int; EXEC @got = master.sys.sp_getapplock @Resource = N'etalon', @LockMode = \
                     'Exclusive', @LockOwner = 'Session', @LockTimeout = 0; SELECT @got";
/// What tells two servers apart, however they are reached.
const IDENTITY: &str = "SELECT CAST(@@SERVERNAME AS nvarchar(256))";

/// This process's claims. Several systems of a plan may be one server with other settings or paths: the first holds
/// the lock for all.
static OWN: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn own() -> MutexGuard<'static, Vec<String>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) struct Claim {
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

impl system::Claim for Claim {
    type Protocol = Spoken;
    type Endpoint = Endpoint;

    const IDLE: Idle = Idle::Left;

    fn set_limits(client: &mut Client) -> Result<(), AskError> {
        client.execute(LIMITS)
    }

    fn take(client: &mut Client, endpoint: &Endpoint, rivals: Rivals) -> Result<Claim, Failure> {
        let tried = format!("claim étalon's database at {}", endpoint.address.shown());
        let ask = |client: &mut Client, sql: &str| client.one(sql).map_err(|error| failure(tried.clone(), &error));
        let server = ask(client, IDENTITY)?;
        wait_for_release(rivals, endpoint.waiting(), || {
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
}
