//! What a session waits for, as another one of the same user sees it.

use super::connect::Endpoint;
use crate::mysql::lane::{AskError, Client};
use crate::server::dialogue::{Aside, ServerWait, Waiting, first_columns};
use crate::server::refusal::Explain as _;
use crate::server::system::Purpose;

/// <https://dev.mysql.com/doc/refman/8.4/en/information-schema-processlist-table.html>
const LOOK: &str = "SELECT command, state, time FROM information_schema.processlist WHERE id = ";
/// A lock of a row is none of the session's states, and takes the privilege PROCESS to see.
const ROW_LOCK: &str =
    "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT' AND trx_mysql_thread_id = ";

/// A second session, which looks at the one with this number.
pub(super) struct OtherSession {
    pub(super) endpoint: Endpoint,
    pub(super) session: u32,
}

impl OtherSession {
    /// Opens a second session, which heeds `waiting`.
    fn connect(&self, waiting: Waiting) -> Result<Client, String> {
        let mut endpoint = self.endpoint.clone();
        endpoint.waiting = waiting;
        endpoint.try_connect(Purpose::Control).map_err(|refusal| endpoint.explain_cause(&refusal))
    }
}

impl Aside for OtherSession {
    /// Asks by a second session what the watched session waits for on the server.
    fn ask_server_wait(&self, waiting: Waiting) -> Result<ServerWait, String> {
        let mut client = self.connect(waiting).map_err(explain_no_answer)?;
        let rows = client
            .query_text_rows(&format!("{LOOK}{}", self.session))
            .map_err(|error| explain_no_answer(error.to_string()))?;
        let row_lock = client.query_first_value(&format!("{ROW_LOCK}{}", self.session)).unwrap_or_default();
        client.close_and_wait();
        let Some(row) = rows.into_iter().next() else {
            let what = "the server has no such session: it has ended, or a proxy stands before the server".to_owned();
            return Ok(ServerWait { what, is_work: false });
        };
        let [command, state] = first_columns(row);
        Ok(describe_wait(&command, &state, row_lock == "1"))
    }

    /// Kills the watched session by a second one, as far as that can be done.
    fn end_session(&self, waiting: Waiting) {
        if let Ok(mut client) = self.connect(waiting) {
            // The server does by itself what étalon does not get done.
            let _ = end_sessions(&mut client, &[self.session]);
            client.close_and_wait();
        }
    }
}

/// Explains that a second session gets no answer either, and why.
fn explain_no_answer(why: String) -> String {
    format!("a second session gets no answer either ({why}): is the server stopped, or a pool before it used up?")
}

/// Says what a session waits for, from its columns in the process list, and whether it is at work.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/general-thread-states.html>
fn describe_wait(command: &str, state: &str, waits_for_row: bool) -> ServerWait {
    let what = match (command, state) {
        _ if waits_for_row => format!("it waits for a row's lock ({command}: {state})"),
        ("Sleep", _) => "its session has not taken it up (Sleep)".to_owned(),
        (_, "") => return ServerWait { what: format!("its session is at work ({command})"), is_work: true },
        (_, state) if state.starts_with("Waiting") || state == "User lock" => format!("its session says `{state}`"),
        _ => return ServerWait { what: format!("its session says `{state}`"), is_work: true },
    };
    ServerWait { what, is_work: false }
}

/// Kills sessions of the same user, with what they do; those that have ended are skipped.
pub(super) fn end_sessions(client: &mut Client, sessions: &[u32]) -> Result<(), AskError> {
    for session in sessions {
        match client.execute(&format!("KILL {session}")) {
            // It has ended.
            Ok(()) | Err(AskError::Server(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_told_from_work() {
        assert!(!describe_wait("Query", "Waiting for table metadata lock", false).is_work);
        assert!(!describe_wait("Query", "Updating", true).is_work && !describe_wait("Sleep", "", false).is_work);
        assert!(describe_wait("Query", "altering table", false).is_work && describe_wait("Query", "", false).is_work);
    }
}
