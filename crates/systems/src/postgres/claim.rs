//! The control session's limits, and étalon's claim.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use super::connect::Endpoint;
use crate::kept::wait_for_release;
use crate::postgres::lane::{AskError, Client, Spoken};
use crate::server::refusal::failure;
use crate::server::system;
use crate::server::url::Address as _;
use load::error::{Failure, FailureKind};

/// "etal" in ASCII.
const LOCK_CLASS: i32 = i32::from_be_bytes(*b"etal");
/// "etdb" in ASCII.
const DATABASES_CLASS: i32 = i32::from_be_bytes(*b"etdb");

/// Names this process among a database's users. Several systems of a plan may be one database with other settings, so
/// the claim is the process's.
pub(super) fn own_key() -> i32 {
    static KEY: OnceLock<i32> = OnceLock::new();
    *KEY.get_or_init(|| (RandomState::new().build_hasher().finish() >> 33) as i32)
}

/// The session's own.
pub(crate) struct Claim;

impl system::Claim for Claim {
    type Protocol = Spoken;
    type Endpoint = Endpoint;

    fn set_limits(client: &mut Client) -> Result<(), AskError> {
        client.execute("SET lock_timeout = '30s'; SET statement_timeout = 0")
    }

    fn take(client: &mut Client, endpoint: &Endpoint) -> Result<Claim, Failure> {
        let what = format!("the database at {}", endpoint.address.shown());
        let here = "AND d.datname = pg_catalog.current_database()";
        claim(client, LOCK_CLASS, here, &what, "wait until it has ended or use another database")?;
        Ok(Claim)
    }
}

/// Databases of étalon's names, of which a server has one each, whichever database the URL names.
pub(super) fn take_databases(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let what = format!("étalon's databases at {}", endpoint.address.shown());
    claim(client, DATABASES_CLASS, "", &what, "wait until it has ended, or write `reset = \"rebuild\"`")
}

/// `place`: of which databases' locks. An advisory lock is a database's, but all are seen.
fn claim(client: &mut Client, class: i32, place: &str, what: &str, way_out: &str) -> Result<(), Failure> {
    let own = own_key();
    let tried = format!("claim {what}");
    let lock = format!("SELECT pg_catalog.pg_advisory_lock_shared({class}, {own})");
    client.execute(&lock).map_err(|error| failure(tried.clone(), &error))?;
    let rivals = format!(
        "SELECT l.pid, coalesce(a.client_addr::text, 'this machine'), coalesce(a.application_name, 'it does not say what'), \
         coalesce(pg_catalog.date_trunc('second', pg_catalog.clock_timestamp() - a.backend_start)::text, 'a while') \
         FROM pg_catalog.pg_locks l \
         LEFT JOIN pg_catalog.pg_stat_activity a USING (pid) JOIN pg_catalog.pg_database d ON d.oid = l.database \
         WHERE l.locktype = 'advisory' AND l.classid = {class} AND l.objid <> {own} {place}"
    );
    wait_for_release(|| {
        let found = client.rows(&rivals).map_err(|error| failure(tried.clone(), &error))?;
        let Some(rival) = found.first() else { return Ok(ControlFlow::Break(())) };
        let text = |place: usize| rival.get(place).cloned().flatten().unwrap_or_default();
        let (pid, from, name, age) = (text(0), text(1), text(2), text(3));
        let cause = format!("another étalon (`{name}`) is using it, in session {pid} from {from}, open for {age}");
        let hint = format!("{way_out}; if it is a remnant, `SELECT pg_terminate_backend({pid})`");
        Ok(ControlFlow::Continue(Failure::new(FailureKind::NotOurs, &tried, cause).hint(hint)))
    })
}
