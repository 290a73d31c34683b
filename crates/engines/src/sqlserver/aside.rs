//! What a session waits for, as another one of the same login sees it.

use super::connect::Endpoint;
use crate::server::dialogue::{Aside, ServerWait, Waiting, first_columns};
use crate::server::refusal::Explain as _;

/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-requests-transact-sql>
const LOOK: &str =
    "SELECT status, ISNULL(wait_type, ''), blocking_session_id FROM sys.dm_exec_requests WHERE session_id = ";

/// A second session, which looks at the one with this number.
pub(super) struct OtherSession {
    pub(super) endpoint: Endpoint,
    pub(super) session: u16,
}

impl Aside for OtherSession {
    /// Asks by a second session what the watched session waits for on the server.
    fn ask_server_wait(&self, waiting: Waiting) -> Result<ServerWait, String> {
        let mut endpoint = self.endpoint.clone();
        endpoint.waiting = waiting;
        let mut client = endpoint.try_connect().map_err(|refusal| {
            let why = endpoint.explain_cause(&refusal);
            format!("a second session gets no answer either ({why}): is the server stopped?")
        })?;
        let rows = client.query_text_rows(&format!("{LOOK}{}", self.session)).map_err(|error| error.to_string())?;
        client.close_and_wait();
        let Some(row) = rows.into_iter().next() else {
            // Without VIEW SERVER STATE a login sees its own session alone.
            return Err("the login sees no other sessions, or the session has not taken the question up".to_owned());
        };
        let [status, wait, blocker] = first_columns(row);
        Ok(describe_wait(&status, &wait, &blocker))
    }

    /// Does nothing: the server ends what a session does that has lost its client.
    fn end_session(&self, _waiting: Waiting) {}
}

/// Says what a session waits for, and whether it is at work.
fn describe_wait(status: &str, wait: &str, blocker: &str) -> ServerWait {
    let is_blocked = !matches!(blocker, "" | "0");
    let what = match (is_blocked, wait) {
        (true, _) => format!("it waits for session {blocker} ({wait})"),
        (false, "") => format!("its session is {status}"),
        (false, _) => format!("its session is {status} ({wait})"),
    };
    let waits = ["LCK_", "HADR_SYNC_COMMIT", "RESOURCE_SEMAPHORE", "THREADPOOL", "WAITFOR"];
    ServerWait { what, is_work: !is_blocked && !waits.iter().any(|kind| wait.starts_with(kind)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_from_work() {
        assert!(describe_wait("running", "", "0").is_work && describe_wait("suspended", "PAGEIOLATCH_SH", "0").is_work);
        let blocked = describe_wait("suspended", "LCK_M_X", "57");
        assert_eq!((blocked.what.as_str(), blocked.is_work), ("it waits for session 57 (LCK_M_X)", false));
        assert!(!describe_wait("suspended", "HADR_SYNC_COMMIT", "0").is_work);
    }
}
