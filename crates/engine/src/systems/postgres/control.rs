//! The control connection: prepares, counts, cleans up.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::ops::ControlFlow;
use std::sync::OnceLock;

use super::connect::Endpoint;
use super::session::Session;
use crate::error::{Failure, FailureKind};
use crate::systems::kept::{Kept, outwait};
use crate::systems::postgres::lane::Client;
use crate::systems::server::refusal::failure;
use crate::systems::server::url::Address as _;
use crate::target::Part;

/// For other sessions' locks.
const LOCK_TIMEOUT: &str = "30s";
/// "etal" in ASCII.
const LOCK_CLASS: i32 = i32::from_be_bytes(*b"etal");

pub(super) struct Control {
    endpoint: Endpoint,
    session: Session,
    part: Part,
    kept: Kept<Client>,
}

impl Control {
    pub(super) fn new(endpoint: Endpoint, session: Session, part: Part) -> Control {
        Control { endpoint, session, part, kept: Kept::none() }
    }

    pub(super) fn ask<T>(&self, question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.kept.ask(|| self.connect(), question)
    }

    /// Releases the claim, too. The next question reconnects.
    pub(super) fn close(&self) {
        self.kept.end(Client::close);
    }

    fn connect(&self) -> Result<Client, Failure> {
        let mut client = self.session.open(&self.endpoint)?;
        let limits = format!("SET lock_timeout = '{LOCK_TIMEOUT}'; SET statement_timeout = 0");
        client.execute(&limits).map_err(|error| failure("set up étalon's own session", &error))?;
        if self.part == Part::Whole {
            claim(&mut client, &self.endpoint)?;
        }
        Ok(client)
    }
}

/// Names this process among a database's users. Several systems of a plan may be one database with other settings, so
/// the claim is the process's.
fn own_key() -> i32 {
    static KEY: OnceLock<i32> = OnceLock::new();
    *KEY.get_or_init(|| (RandomState::new().build_hasher().finish() >> 33) as i32)
}

/// Two processes that load and drop the same tables would spoil each other's runs.
fn claim(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let own = own_key();
    let tried = format!("claim the database at {}", endpoint.address.shown());
    let lock = format!("SELECT pg_catalog.pg_advisory_lock_shared({LOCK_CLASS}, {own})");
    client.execute(&lock).map_err(|error| failure(tried.clone(), &error))?;
    let rivals = format!(
        "SELECT l.pid, coalesce(a.client_addr::text, 'this machine'), coalesce(a.application_name, 'it does not say what'), \
         coalesce(pg_catalog.date_trunc('second', pg_catalog.clock_timestamp() - a.backend_start)::text, 'a while') \
         FROM pg_catalog.pg_locks l \
         LEFT JOIN pg_catalog.pg_stat_activity a USING (pid) JOIN pg_catalog.pg_database d ON d.oid = l.database \
         WHERE l.locktype = 'advisory' AND l.classid = {LOCK_CLASS} AND l.objid <> {own} \
         AND d.datname = pg_catalog.current_database()"
    );
    outwait(|| {
        let found = client.rows(&rivals).map_err(|error| failure(tried.clone(), &error))?;
        let Some(rival) = found.first() else { return Ok(ControlFlow::Break(())) };
        let text = |place: usize| rival.get(place).cloned().flatten().unwrap_or_default();
        let (pid, from, name, age) = (text(0), text(1), text(2), text(3));
        let cause = format!("another étalon (`{name}`) is using it, in session {pid} from {from}, open for {age}");
        let hint = format!(
            "wait until it has ended or use another database; if it is a remnant, `SELECT pg_terminate_backend({pid})`"
        );
        Ok(ControlFlow::Continue(Failure::new(FailureKind::NotOurs, &tried, cause).hint(hint)))
    })
}
