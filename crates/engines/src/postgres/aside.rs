//! What a session waits for, as another one of the same role sees it.

use super::connect::Endpoint;
use crate::postgres::lane::{AskError, Client};
use crate::server::dialogue::{Aside, ServerWait, Waiting, first_columns};
use crate::server::refusal::Explain as _;

/// State, type of the wait, its name, and the sessions that hold it up. <https://www.postgresql.org/docs/current/monitoring-stats.html>
const LOOK: &str = "SELECT state, wait_event_type, wait_event, pg_catalog.array_to_string(pg_catalog.pg_blocking_pids(pid), ', '), \
                    pg_catalog.current_setting('synchronous_standby_names') FROM pg_catalog.pg_stat_activity WHERE pid = ";

/// A second session, which looks at the one whose process has this number.
pub(super) struct OtherSession {
    pub(super) endpoint: Endpoint,
    pub(super) session: u32,
}

impl OtherSession {
    /// Opens a second session of the same login, which heeds `waiting`.
    fn connect(&self, waiting: Waiting) -> Result<Client, String> {
        let mut endpoint = self.endpoint.clone();
        endpoint.waiting = waiting;
        endpoint.try_modes("").map_err(|refusal| endpoint.explain_cause(&refusal))
    }

    /// Says that a second session gets no answer either, and asks what may be its cause.
    fn describe_no_answer(&self, why: &str) -> String {
        let question = match &self.endpoint.pooler {
            Some(pooler) => format!("are all sessions of {} in use?", pooler.name),
            None => "is the server stopped, or a pool before it used up?".to_owned(),
        };
        format!("a second session gets no answer either ({why}): {question}")
    }
}

impl Aside for OtherSession {
    /// Asks by a second session what the silent one waits for; through a pooler, whether it is answered at all.
    fn ask_server_wait(&self, waiting: Waiting) -> Result<ServerWait, String> {
        let mut client = self.connect(waiting).map_err(|why| self.describe_no_answer(&why))?;
        if let Some(pooler) = &self.endpoint.pooler {
            client.execute("SELECT 1").map_err(|error| self.describe_no_answer(&error.to_string()))?;
            client.close_and_wait();
            let what = format!("a second session is answered, through {pooler}");
            return Ok(ServerWait { what, is_work: false });
        }
        let rows = client.query_text_rows(&format!("{LOOK}{}", self.session));
        let rows = rows.map_err(|error| self.describe_no_answer(&error.to_string()))?;
        client.close_and_wait();
        let Some(row) = rows.into_iter().next() else {
            let what = "the server has no such session: it has ended, or a pooler stands before the server".to_owned();
            return Ok(ServerWait { what, is_work: false });
        };
        let [state, kind, event, blockers, standbys] = first_columns(row);
        Ok(describe_wait(&state, &kind, &event, &blockers, &standbys))
    }

    /// Ends the silent session by a second one, as far as possible; does nothing through a pooler.
    fn end_session(&self, waiting: Waiting) {
        if self.endpoint.pooler.is_some() {
            return;
        }
        if let Ok(mut client) = self.connect(waiting) {
            // The server does by itself what étalon does not get done.
            let _ = end_sessions(&mut client, &[self.session]);
            client.close_and_wait();
        }
    }
}

/// Says what a session waits for, from its row in `pg_stat_activity`.
/// <https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-TABLE>
fn describe_wait(state: &str, kind: &str, event: &str, blockers: &str, standbys: &str) -> ServerWait {
    let named = format!("{kind}: {event}");
    let what = match (kind, event) {
        ("IPC", "SyncRep") => format!(
            "it waits for a synchronous standby to confirm a commit ({named}), as `synchronous_standby_names` = '{standbys}' wants"
        ),
        ("Lock", _) => format!("it waits for a lock ({named}) that session {blockers} holds"),
        ("Client", "ClientRead") => {
            format!("its session has not taken it up ({state}, {named}): is the session's process stopped?")
        }
        ("Client", _) => format!("its session waits for étalon ({named})"),
        ("BufferPin" | "Extension", _) => format!("it waits ({named})"),
        ("", _) => return ServerWait { what: format!("its session is {state}"), is_work: state != "idle" },
        _ => return ServerWait { what: format!("its session is {state} ({named})"), is_work: true },
    };
    ServerWait { what, is_work: false }
}

/// Ends sessions of the same role, with what they do.
pub(super) fn end_sessions(client: &mut Client, sessions: &[u32]) -> Result<(), AskError> {
    let numbers = sessions.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    client.execute(&format!(
        "SELECT pg_catalog.pg_terminate_backend(pid) FROM pg_catalog.pg_stat_activity \
         WHERE usename = current_user AND pid IN ({numbers})"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_from_work() {
        let wait = describe_wait("active", "IPC", "SyncRep", "", "none_there");
        assert!(!wait.is_work && wait.what.contains("`synchronous_standby_names` = 'none_there'"));
        assert!(!describe_wait("active", "Lock", "relation", "77", "").is_work);
        assert!(describe_wait("active", "Lock", "relation", "77", "").what.contains("session 77"));
        assert!(!describe_wait("idle", "Client", "ClientRead", "", "").is_work);
        for (kind, event) in [("", ""), ("IO", "DataFileExtend"), ("LWLock", "WALWrite"), ("IPC", "ParallelFinish")] {
            assert!(describe_wait("active", kind, event, "", "").is_work, "{kind}");
        }
    }
}
