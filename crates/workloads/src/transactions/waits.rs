//! Whether a load's commits promised what the system's settings say: a script, a trigger or a function may change that within a
//! session, or for a transaction alone, where no question sees it.

use model::{DurabilityTier, Mark, MarkKind};

use super::counted::{claimed_commits, seen_by_server};
use super::{Countable, Program};
use load::counters::Counters;
use load::worker::LoadCounts;

/// Share of the syncs that must be there. Where commits do not wait, they are few and far between.
const LEAST_SYNCS: f64 = 0.8;
/// Commits of each client below which nothing is concluded.
const ENOUGH: f64 = 20.0;
/// Records that a commit of rows leaves in the log: the rows', and its own.
const RECORDS: f64 = 2.0;
/// Records below which none of the rows was logged: such a commit leaves one at most, and others' work leaves some.
const RECORDS_OF_NONE: f64 = 1.5;

/// Commits of rows, and what the log did meanwhile.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Synced {
    commits: u64,
    clients: u64,
    syncs: f64,
    /// Records of the log for each commit.
    records: f64,
}

impl Synced {
    /// Number of commits of each client, on average.
    fn commits_per_client(self) -> f64 {
        self.commits as f64 / self.clients as f64
    }

    /// Whether there were too few syncs for each commit to have waited for one.
    ///
    /// A sync covers at most one commit of each client. Others' commits and the system's own work only add syncs.
    fn is_short(self) -> bool {
        self.commits_per_client() >= ENOUGH
            && self.records >= RECORDS
            && self.syncs < LEAST_SYNCS * self.commits_per_client()
    }

    /// Whether no row was logged, as of tables without a log or of an engine without one.
    fn is_unlogged(self) -> bool {
        self.commits_per_client() >= ENOUGH && self.records < RECORDS_OF_NONE
    }
}

/// Makes a mark if a run's commits promised something else than the settings of the system, or too few were checked.
pub(super) fn durability_mark(program: &Program, counts: &LoadCounts, counters: &Counters) -> Option<Mark> {
    changed_promise_mark(counts).or_else(|| {
        let synced = synced_commits(program, counts, counters)?;
        let Synced { commits, clients, syncs, .. } = synced;
        if synced.commits_per_client() < ENOUGH {
            let detail = format!(
                "fewer than {ENOUGH} commits of each client, so that it was not checked whether they waited for the log"
            );
            return Some(Mark::new(MarkKind::Note, detail));
        }
        if synced.is_unlogged() && program.has_writes() {
            let detail = format!(
                "{commits} commits changed rows, and the log has {:.1} records for each, too few for the rows: their tables, or the \
                 tables' engine, have no log",
                synced.records
            );
            return Some(Mark::new(MarkKind::UnsafeCommits, detail));
        }
        if !synced.is_short() {
            return None;
        }
        let of = if clients == 1 { "one client".to_owned() } else { format!("{clients} clients") };
        let detail = format!(
            "{commits} commits of {of} changed rows, and the log was synced {syncs} times: a script or a trigger has \
             turned the wait for the log off"
        );
        Some(Mark::new(MarkKind::DelayedCommits, detail))
    })
}

/// Makes a mark if the sessions' settings promise something else after the load than before it.
fn changed_promise_mark(counts: &LoadCounts) -> Option<Mark> {
    let sessions = counts.sessions.as_ref()?.as_ref().ok()?;
    let (before, after): (DurabilityTier, DurabilityTier) = sessions.promise_before.zip(sessions.promise)?;
    let detail = format!(
        "the sessions' commits were {before} before the load and {after} after it: a script or a trigger has changed the setting"
    );
    (before != after).then(|| Mark::new(MarkKind::mark_of_commits(after), detail))
}

/// Whether the log was synced too rarely for the commits, of a system whose settings say that each waits.
pub(super) fn are_uncovered(program: &Program, counts: &LoadCounts, counters: &Counters) -> bool {
    synced_commits(program, counts, counters).is_some_and(Synced::is_short)
}

/// Counts the commits and syncs of a system whose settings say that each commit waits; `None` if it cannot be known.
fn synced_commits(program: &Program, counts: &LoadCounts, counters: &Counters) -> Option<Synced> {
    let clients = counts.connections.made.saturating_sub(counts.connections.made_again);
    let is_countable =
        counters.syncs_each_commit && clients > 0 && !matches!(program.countable_transactions(), Countable::No(_));
    if !is_countable {
        return None;
    }
    // A pooler's sessions have yet to report.
    let claimed = claimed_commits(program, counts) as f64;
    if seen_by_server(counters).is_some_and(|(_, seen)| seen < claimed) {
        return None;
    }
    let commits = counts.wrote.saturating_sub(counts.asked.rollbacks);
    let syncs = counters.value_of("log_syncs").or_else(|| counters.value_of("data_syncs"))?;
    let records = counters.value_of("log_records")? / commits.max(1) as f64;
    (commits > 0).then_some(Synced { commits, clients, syncs, records })
}

#[cfg(test)]
mod tests {
    use super::super::compile;
    use super::*;
    use load::lane::SessionCounts;
    use load::stream::RequestedWork;
    use load::worker::Connections;

    fn found(wrote: u64, clients: u64, (syncs, records): (f64, f64), script: &str) -> Option<MarkKind> {
        let program = compile(script, &[]).unwrap();
        let connections = Connections { made: clients, ..Connections::default() };
        let asked = RequestedWork { rollbacks: 100, ..RequestedWork::default() };
        let counts = LoadCounts { wrote, asked, connections, ..LoadCounts::default() };
        let mut counters = Counters { syncs_each_commit: true, ..Counters::default() };
        counters.set("log_syncs", "", syncs);
        counters.set("log_records", "", records);
        durability_mark(&program, &counts, &counters).map(|mark| mark.kind)
    }

    #[test]
    fn commits_that_no_sync_covers_are_found() {
        let block = "BEGIN; INSERT INTO t VALUES (1); COMMIT;";
        let delayed = Some(MarkKind::DelayedCommits);
        assert_eq!(found(10_100, 1, (30.0, 30_000.0), block), delayed);
        assert_eq!(found(10_100, 8, (30.0, 30_000.0), block), delayed);
        // Group commit: a sync covers one commit of each client.
        assert_eq!(found(10_100, 8, (1_250.0, 30_000.0), block), None);
        assert_eq!(found(10_100, 1, (10_000.0, 30_000.0), block), None);
        // Rows of temporary and unlogged tables leave no record of their own.
        let unsafe_commits = Some(MarkKind::UnsafeCommits);
        assert_eq!(found(10_100, 1, (30.0, 10_100.0), block), unsafe_commits);
        assert_eq!(found(10_100, 8, (0.0, 0.0), block), unsafe_commits);
        assert_eq!(found(10_100, 1, (30.0, 18_000.0), block), None);
        // Rolled back, or too few.
        assert_eq!(found(100, 1, (0.0, 30_000.0), block), None);
        assert_eq!(found(119, 1, (0.0, 30_000.0), block), Some(MarkKind::Note));
        assert_eq!(found(10_100, 1, (30.0, 30_000.0), "BEGIN; SAVEPOINT a; ROLLBACK TO a; COMMIT;"), None);
    }

    #[test]
    fn sessions_that_end_with_other_settings_are_found() {
        use DurabilityTier::{Delayed, Durable, Unsafe};
        assert_eq!(mark_of(Some(Durable), Some(Durable)), None);
        assert_eq!(mark_of(Some(Durable), Some(Delayed)), Some(MarkKind::DelayedCommits));
        assert_eq!(mark_of(Some(Durable), Some(Unsafe)), Some(MarkKind::UnsafeCommits));
        assert_eq!(mark_of(Some(Delayed), Some(Durable)), Some(MarkKind::DurableCommits));
        assert_eq!(mark_of(None, Some(Delayed)), None);
    }

    fn mark_of(promise_before: Option<DurabilityTier>, promise: Option<DurabilityTier>) -> Option<MarkKind> {
        let sessions = SessionCounts { promise_before, promise, ..SessionCounts::default() };
        changed_promise_mark(&LoadCounts { sessions: Some(Ok(sessions)), ..LoadCounts::default() })
            .map(|mark| mark.kind)
    }
}
