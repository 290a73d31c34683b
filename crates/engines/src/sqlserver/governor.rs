//! Limits backups' CPU by the server's resource governor: étalon's own pool, group and classifier, removed afterwards.
//! A governor in other use is left alone.
//!
//! <https://learn.microsoft.com/en-us/sql/relational-databases/resource-governor/resource-governor>

use std::thread;
use std::time::{Duration, Instant};

use super::connect::Endpoint;
use super::keys::wrap_for_master;
use super::session::SessionSettings;
use crate::server::dialogue::{first_columns, first_row};
use crate::server::refusal::ask_failure;
use crate::server::system::{Purpose, Settings as _};
use crate::sqlserver::lane::{AskError, Client};
use load::error::{Failure, FailureKind};
use workloads::system::CpuHold;

/// Program name of backup sessions.
pub(super) const APPLICATION: &str = "etalon-backup";
/// Name of pool, group and classifier.
const GROUP: &str = "etalon_backup";
const CLASSIFIER: &str = "etalon_classifier";
/// "There are active sessions in workload groups being dropped": the server notices ended ones a moment later.
const STILL_ACTIVE: i32 = 10_904;
const TIMEOUT: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(100);

/// The governor's configuration.
const STATE: &str = "SELECT CAST(is_enabled AS int), ISNULL(OBJECT_NAME(classifier_function_id, 1), '') FROM \
                     sys.resource_governor_configuration";
/// Milliseconds of backups' sessions with all their threads.
const CPU: &str =
    "SELECT total_cpu_usage_ms FROM sys.dm_resource_governor_workload_groups WHERE name = N'etalon_backup'";

/// The limit holds until this is released.
pub(super) struct Governed {
    client: Client,
    was_enabled: bool,
    holds: bool,
}

/// Share of all processors, 1 to 100 percent, that this number of cores is.
fn share_percent(cores: f64, processors: f64) -> u32 {
    (100.0 * cores / processors.max(1.0)).round().clamp(1.0, 100.0) as u32
}

/// Limits the CPU of backups' sessions by the resource governor, until the returned limit is released.
pub(super) fn limit_backups(endpoint: &Endpoint, cores: f64) -> Result<Governed, Failure> {
    let tried = format!("hold backups to {cores} cores by the resource governor");
    let mut client = SessionSettings::default().on_tables_of_others().open_session(endpoint, Purpose::Load)?;
    if client
        .query_first_value("SELECT HAS_PERMS_BY_NAME(NULL, NULL, 'CONTROL SERVER')")
        .map_err(|error| explain_failure(&tried, &error))?
        != "1"
    {
        let cause = "the login may not change the resource governor";
        return Err(Failure::new(FailureKind::Permission, tried, cause).with_hint("`GRANT CONTROL SERVER TO …`"));
    }
    let state = client.query_text_rows(STATE).map_err(|error| explain_failure(&tried, &error))?;
    let [is_enabled, classifier] = first_columns(first_row(state));
    let was_enabled = is_enabled == "1";
    if !classifier.is_empty() && classifier != CLASSIFIER {
        let cause = "the server sorts its sessions by a classifier function of its own, which étalon does not replace";
        return Err(Failure::new(FailureKind::NotOurs, tried, cause));
    }
    // The first two are the server's own.
    let others = format!(
        "SELECT COUNT(*) FROM sys.resource_governor_workload_groups WHERE name NOT IN (N'internal', N'default', N'{GROUP}')"
    );
    if !was_enabled && client.query_first_value(&others).map_err(|error| explain_failure(&tried, &error))? != "0" {
        let cause = "it is switched off and has groups of somebody else's, which étalon does not switch on";
        return Err(Failure::new(FailureKind::NotOurs, tried, cause));
    }
    let processors = client
        .query_first_value("SELECT scheduler_count FROM sys.dm_os_sys_info")
        .map_err(|error| explain_failure(&tried, &error))?;
    let share = share_percent(cores, processors.parse().unwrap_or(1.0));
    let mut governed = Governed { client, was_enabled, holds: true };
    // Leftovers of a killed étalon.
    governed.remove_limit();
    let made = limit_statements(share).into_iter().try_for_each(|sql| governed.client.execute(&wrap_for_master(&sql)));
    made.map_err(|error| explain_failure(&tried, &error))?;
    Ok(governed)
}

/// Makes the failure of a governor's statement, with the permission that it takes.
fn explain_failure(tried: &str, error: &AskError) -> Failure {
    let failure = ask_failure(tried, error);
    let hint = failure.hint.clone().unwrap_or_default();
    failure
        .with_hint(format!("it takes `GRANT CONTROL SERVER TO …`, and an edition that has it {hint}").trim().to_owned())
}

/// Lists the statements that make pool, group and classifier, and turn them on.
fn limit_statements(share_percent: u32) -> Vec<String> {
    vec![
        format!("CREATE RESOURCE POOL [{GROUP}] WITH (CAP_CPU_PERCENT = {share_percent})"),
        format!("CREATE WORKLOAD GROUP [{GROUP}] USING [{GROUP}]"),
        format!(
            "CREATE FUNCTION dbo.{CLASSIFIER}() RETURNS sysname WITH SCHEMABINDING AS BEGIN RETURN CASE WHEN APP_NAME() = \
             N'{APPLICATION}' THEN N'{GROUP}' ELSE N'default' END END"
        ),
        format!("ALTER RESOURCE GOVERNOR WITH (CLASSIFIER_FUNCTION = dbo.{CLASSIFIER})"),
        "ALTER RESOURCE GOVERNOR RECONFIGURE".to_owned(),
    ]
}

/// Lists the statements that remove classifier, group and pool, each only if it exists.
fn unlimit_statements() -> Vec<String> {
    vec![
        format!(
            "IF EXISTS (SELECT 1 FROM sys.resource_governor_configuration WHERE OBJECT_NAME(classifier_function_id, 1) = \
             N'{CLASSIFIER}') BEGIN ALTER RESOURCE GOVERNOR WITH (CLASSIFIER_FUNCTION = NULL); ALTER RESOURCE GOVERNOR \
             RECONFIGURE END"
        ),
        format!(
            "IF EXISTS (SELECT 1 FROM sys.resource_governor_workload_groups WHERE name = N'{GROUP}') DROP WORKLOAD GROUP \
             [{GROUP}]"
        ),
        format!(
            "IF EXISTS (SELECT 1 FROM sys.resource_governor_resource_pools WHERE name = N'{GROUP}') DROP RESOURCE POOL [{GROUP}]"
        ),
        // In force until dropped.
        format!(
            "IF EXISTS (SELECT 1 FROM sys.dm_resource_governor_workload_groups WHERE name = N'{GROUP}') ALTER RESOURCE \
             GOVERNOR RECONFIGURE"
        ),
        format!("IF OBJECT_ID(N'dbo.{CLASSIFIER}') IS NOT NULL DROP FUNCTION dbo.{CLASSIFIER}"),
    ]
}

impl Governed {
    /// Takes the limit away by every statement. Returns the first refusal.
    fn remove_limit(&mut self) -> Option<AskError> {
        let disable = (!self.was_enabled).then(|| "ALTER RESOURCE GOVERNOR DISABLE".to_owned());
        let statements = unlimit_statements().into_iter().chain(disable);
        statements.filter_map(|sql| self.execute_in_master(&sql).err()).reduce(|first, _| first)
    }

    /// Runs a statement in `master`, again while the governor has active sessions.
    fn execute_in_master(&mut self, sql: &str) -> Result<(), AskError> {
        let started = Instant::now();
        loop {
            match self.client.execute(&wrap_for_master(sql)) {
                Err(error) if error.error_number() == Some(STILL_ACTIVE) && started.elapsed() < TIMEOUT => {
                    thread::sleep(POLL)
                }
                done => return done,
            }
        }
    }
}

impl CpuHold for Governed {
    /// Takes the limit away, or fails with what is left to do by hand.
    fn release(mut self: Box<Self>) -> Result<(), Failure> {
        self.holds = false;
        match self.remove_limit() {
            None => Ok(()),
            Some(error) => Err(ask_failure("take étalon's limit from the resource governor", &error).with_hint(format!(
                "`ALTER RESOURCE GOVERNOR WITH (CLASSIFIER_FUNCTION = NULL)`, then RECONFIGURE, then drop the group and the \
                 pool `{GROUP}` and the function master.dbo.{CLASSIFIER}"
            ))),
        }
    }
}

impl Drop for Governed {
    fn drop(&mut self) {
        if self.holds {
            let _ = self.remove_limit();
        }
    }
}

/// Reads the CPU milliseconds of the governed group, if there is one.
pub(super) fn governed_cpu_ms(client: &mut Client) -> Option<f64> {
    client.query_first_value(CPU).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_the_processors_is_a_whole_percentage() {
        assert_eq!(share_percent(0.5, 4.0), 13);
        assert_eq!(share_percent(0.001, 64.0), 1);
        assert_eq!(share_percent(8.0, 4.0), 100);
    }

    #[test]
    fn the_words_are_as_they_were_reviewed() {
        insta::assert_snapshot!("governor", [limit_statements(13), unlimit_statements()].concat().join(";\n"));
    }
}
