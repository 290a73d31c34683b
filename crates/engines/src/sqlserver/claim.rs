//! The control session's limits, and étalon's claim.

use std::ops::ControlFlow;
use std::time::Duration;

use super::connect::Endpoint;
use super::facts;
use crate::kept::{Rivals, process_claim_key, wait_for_release};
use crate::server::refusal::{Explain as _, ask_failure};
use crate::server::system;
use crate::server::url::Address as _;
use crate::sqlserver::lane::{AskError, Client, TdsProtocol};
use load::error::{Failure, FailureKind};

const LIMITS: &str = "SET LOCK_TIMEOUT 30000; SET XACT_ABORT OFF; SET NOCOUNT OFF; SET QUERY_GOVERNOR_COST_LIMIT 0; SET \
                        TRANSACTION ISOLATION LEVEL READ COMMITTED";
/// How long the answer about a claim is waited for while a run goes on.
const PING_TIMEOUT: Duration = Duration::from_secs(30);

const HELD: &str = "held";
const SHARED: &str = "shared";

/// Builds the question for the claim, whose answer is [`HELD`], [`SHARED`] or another word where another étalon has it.
///
/// Two locks belong to the session that holds the claim, and end with it: étalon's, and one whose name is of this process alone.
/// A session that does not get the first and finds the second taken shares what another session of its process holds,
/// even if only the server still knows of that one. The second lock is waited for, since a session's locks may not all end at once.
///
/// An application lock is of the database in which it is taken, and a procedure of the system runs in the database that its
/// name has in front. So all étalons meet in `master`, whatever databases their sessions are in. Azure SQL Database
/// refuses such names (error 40515), and has no `USE`: there étalon's database is the one that the login enters.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-stored-procedures/sp-getapplock-transact-sql>
fn claim_query(edition: &str, process: i32) -> String {
    let database = if edition == facts::AZURE { "" } else { "master." };
    let take = |variable: &str, resource: &str, timeout_ms: u32| {
        format!(
            "EXEC {variable} = {database}sys.sp_getapplock @Resource = N'{resource}', @LockMode = 'Exclusive', @LockOwner = \
             'Session', @LockTimeout = {timeout_ms}"
        )
    };
    let of_process = format!("etalon {process}");
    format!(
        "DECLARE @got int, @ours int; {}; IF @got >= 0 {} ELSE BEGIN {}; IF @ours >= 0 EXEC {database}sys.sp_releaseapplock \
         @Resource = N'{of_process}', @LockOwner = 'Session' END; SELECT CASE WHEN @got >= 0 AND @ours >= 0 THEN '{HELD}' WHEN \
         @got < 0 AND @ours = -1 THEN '{SHARED}' ELSE 'taken' END",
        take("@got", "etalon", 0),
        take("@ours", &of_process, 5000),
        take("@ours", &of_process, 0),
    )
}

/// The session holds the claim, or shares that of another session of this process.
pub(crate) struct SqlServerClaim {
    question: String,
    tried: String,
    is_held: bool,
}

impl SqlServerClaim {
    /// Asks for the claim. `Break`: this process holds it. `Continue`: the failure, since another étalon has it.
    fn ask_for_claim(&mut self, client: &mut Client) -> Result<ControlFlow<(), Failure>, Failure> {
        let answer =
            client.query_first_value(&self.question).map_err(|error| ask_failure(self.tried.clone(), &error))?;
        self.is_held = answer == HELD;
        if self.is_held || answer == SHARED {
            return Ok(ControlFlow::Break(()));
        }
        let hint = "wait until it has ended, or use another server; `sys.dm_tran_locks` has the session of a remnant under \
                    resource_type APPLICATION";
        let rival = Failure::new(FailureKind::NotOurs, self.tried.clone(), "another étalon is using it");
        Ok(ControlFlow::Continue(rival.with_hint(hint)))
    }
}

impl system::DatabaseClaim for SqlServerClaim {
    type Protocol = TdsProtocol;
    type Endpoint = Endpoint;

    /// Sets the control session's lock timeout, isolation and other limits.
    fn set_limits(client: &mut Client) -> Result<(), AskError> {
        client.execute(LIMITS)
    }

    /// Takes the claim on étalon's database, or waits for a rival as `rivals` says.
    fn take(client: &mut Client, endpoint: &Endpoint, rivals: Rivals) -> Result<SqlServerClaim, Failure> {
        let tried = format!("claim étalon's database at {}", endpoint.address.shown_url());
        let edition = facts::edition_number(client).map_err(|error| ask_failure(tried.clone(), &error))?;
        let mut claim = SqlServerClaim { question: claim_query(&edition, process_claim_key()), tried, is_held: false };
        wait_for_release(rivals, endpoint.waiting(), || claim.ask_for_claim(client))?;
        Ok(claim)
    }

    /// Asks again for a claim that another session holds; fails if another étalon has it by now.
    fn ping(&mut self, client: &mut Client) -> Result<(), Failure> {
        if self.is_held {
            return Ok(());
        }
        client.limit_time(PING_TIMEOUT);
        let asked = self.ask_for_claim(client)?;
        client.lift_limit();
        match asked {
            ControlFlow::Break(()) => Ok(()),
            ControlFlow::Continue(rival) => Err(rival),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_taken_in_master_but_for_azure() {
        let in_master = claim_query("3", 7);
        assert_eq!(in_master.matches("master.sys.sp_").count(), in_master.matches("sys.sp_").count());
        assert!(in_master.contains("N'etalon'") && in_master.contains("N'etalon 7'"), "{in_master}");
        let on_azure = claim_query(facts::AZURE, 7);
        assert!(on_azure.contains("sys.sp_") && !on_azure.contains("master"), "{on_azure}");
    }
}
