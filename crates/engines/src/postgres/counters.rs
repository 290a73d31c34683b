//! Counters and privileges, found in the server's catalog, not by version.

use std::thread;
use std::time::Duration;

use crate::postgres::lane::{AskError, Client};
use crate::server::counted::{Counting, CountsQuery};
use crate::server::refusal::ask_failure;
use load::counters::Counters;
use load::error::Failure;

/// Wait for the report of a session that has nothing to do: from version 15 on it reports after 10 s
/// (`PGSTAT_IDLE_INTERVAL`); before, with its next transaction.
const IDLE_REPORT: Duration = Duration::from_secs(12);
/// Interval of sessions' reports before version 15: they report counts at most this often, and cannot be forced.
const REPORT_INTERVAL: Duration = Duration::from_millis(600);

#[derive(Clone, Debug)]
pub(super) struct Abilities {
    /// All counters in one row, in the order of [`COUNTERS`].
    query: String,
    /// Index into [`COUNTERS`], and reason.
    missing: Vec<(usize, &'static str)>,
    flush: Flush,
    /// Whether the login may checkpoint.
    pub(super) checkpoint: Result<(), String>,
}

/// How a session's counts become visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    /// `pg_stat_force_next_flush()`, from version 15 on.
    Forced,
    InTime,
}

struct Source {
    name: &'static str,
    unit: &'static str,
    /// Ways to read it, best first: table, required columns, expression.
    ways: &'static [(&'static str, &'static [&'static str], &'static str)],
    missing: &'static str,
}

const DATABASE: &str = "pg_stat_database";

/// `pg_stat_database` counts the database, the other tables count the whole server.
const COUNTERS: &[Source] = &[
    counter_source("commits", "", &[(DATABASE, &["xact_commit"], "d.xact_commit")]),
    // In the load's own database the workers of parallel plans count as well, and nothing separates others' transactions from theirs.
    counter_source(
        "transactions_elsewhere",
        "",
        &[(
            DATABASE,
            &["xact_commit", "xact_rollback"],
            "(SELECT sum(xact_commit + xact_rollback) FROM pg_catalog.pg_stat_database WHERE datname <> d.datname)",
        )],
    ),
    counter_source("rollbacks", "", &[(DATABASE, &["xact_rollback"], "d.xact_rollback")]),
    counter_source("deadlocks", "", &[(DATABASE, &["deadlocks"], "d.deadlocks")]),
    counter_source("blocks_read", "blocks", &[(DATABASE, &["blks_read"], "d.blks_read")]),
    counter_source("blocks_hit", "blocks", &[(DATABASE, &["blks_hit"], "d.blks_hit")]),
    counter_source("temp_bytes", "bytes", &[(DATABASE, &["temp_bytes"], "d.temp_bytes")]),
    Source {
        name: "wal_bytes",
        unit: "bytes",
        ways: &[
            ("pg_stat_wal", &["wal_bytes"], "(SELECT wal_bytes FROM pg_catalog.pg_stat_wal)"),
            (DATABASE, &[], "pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')"),
        ],
        missing: "",
    },
    Source {
        name: "log_syncs",
        unit: "",
        ways: &[
            ("pg_stat_wal", &["wal_sync"], "(SELECT wal_sync FROM pg_catalog.pg_stat_wal)"),
            // From version 18 on.
            ("pg_stat_io", &["fsyncs"], "(SELECT sum(fsyncs) FROM pg_catalog.pg_stat_io WHERE object = 'wal')"),
        ],
        missing: "before version 14 the server does not count the syncs of its log",
    },
    Source {
        name: "log_records",
        unit: "records",
        ways: &[("pg_stat_wal", &["wal_records"], "(SELECT wal_records FROM pg_catalog.pg_stat_wal)")],
        missing: "before version 14 the server does not count the records of its log",
    },
    Source {
        name: "checkpoints",
        unit: "",
        ways: &[
            // From version 17 on.
            (
                "pg_stat_checkpointer",
                &["num_timed", "num_requested"],
                "(SELECT num_timed + num_requested FROM pg_catalog.pg_stat_checkpointer)",
            ),
            (
                "pg_stat_bgwriter",
                &["checkpoints_timed", "checkpoints_req"],
                "(SELECT checkpoints_timed + checkpoints_req FROM pg_catalog.pg_stat_bgwriter)",
            ),
        ],
        missing: "this server has neither pg_stat_checkpointer nor checkpoints in pg_stat_bgwriter",
    },
];

/// The session's local transaction number: each transaction, read-only ones too, takes the process's next, visible in
/// the lock on itself.
///
/// <https://www.postgresql.org/docs/current/transaction-id.html>
pub(super) const OF_SESSION: CountsQuery = CountsQuery {
    sql: "SELECT pg_catalog.pg_backend_pid()::bigint, pg_catalog.split_part(virtualtransaction, '/', 2)::bigint, \
          (pg_catalog.current_setting('synchronous_commit') <> 'off')::int::bigint FROM pg_catalog.pg_locks WHERE locktype = 'virtualxid' AND pid = pg_catalog.pg_backend_pid()",
    columns: &[Counting::Transactions, Counting::Waits],
};

/// Sessions like this one that wait for a row: for the transaction that has locked it, for the turn to wait for that, or for a
/// row that is being inserted. Then those that wait for any lock of another client's session or of a prepared transaction, which
/// has no session; at most 32 are looked at, and those first that wait for no mere turn. Then other clients' sessions that are at work.
///
/// <https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-LOCK-TABLE>,
/// <https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-SESSION>
pub(super) const LOCK_WAITERS: &str = "WITH sessions AS MATERIALIZED (SELECT pid, wait_event_type, wait_event, usename, \
    state = 'active' AND backend_type = 'client backend' AS is_at_work, \
    (datname, usename, application_name) IS NOT DISTINCT FROM \
    (current_database(), session_user, current_setting('application_name')) AS is_like_this FROM pg_catalog.pg_stat_activity), \
    waiting AS MATERIALIZED (SELECT pid, wait_event FROM sessions WHERE is_like_this AND wait_event_type = 'Lock'), \
    looked_at AS (SELECT pid FROM waiting ORDER BY wait_event = 'tuple' LIMIT 32) \
    SELECT (SELECT count(*) FROM waiting WHERE wait_event IN ('transactionid', 'tuple', 'spectoken')), \
    (SELECT count(*) FROM looked_at WHERE EXISTS (SELECT FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids(pid)) AS blocking (pid) \
    WHERE blocking.pid = 0 OR EXISTS (SELECT FROM sessions WHERE sessions.pid = blocking.pid AND usename IS NOT NULL AND NOT is_like_this))), \
    (SELECT count(*) FROM sessions WHERE is_at_work AND NOT is_like_this)";

type Ways = &'static [(&'static str, &'static [&'static str], &'static str)];

/// Makes the source of a counter that is missing only where `pg_stat_database` has no such column.
const fn counter_source(name: &'static str, unit: &'static str, ways: Ways) -> Source {
    Source { name, unit, ways, missing: "this server's pg_stat_database has no such column" }
}

/// Reads which counters this server has, how they are flushed, and whether the role may checkpoint.
pub(super) fn read_abilities(client: &mut Client) -> Result<Abilities, Failure> {
    let tried = "look into the server's catalog";
    let sql = "SELECT c.relname || '.' || a.attname FROM pg_catalog.pg_attribute a \
               JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
               WHERE c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace AND a.attnum > 0 AND c.relname IN \
               ('pg_stat_database', 'pg_stat_wal', 'pg_stat_io', 'pg_stat_checkpointer', 'pg_stat_bgwriter')";
    let columns: Vec<String> = client
        .query_text_rows(sql)
        .map_err(|error| ask_failure(tried, &error))?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect();
    let mut missing = Vec::new();
    let mut expressions = Vec::new();
    for (place, source) in COUNTERS.iter().enumerate() {
        let way = source
            .ways
            .iter()
            .find(|(table, needed, _)| needed.iter().all(|column| columns.contains(&format!("{table}.{column}"))));
        match way {
            Some((_, _, expression)) => expressions.push(*expression),
            None => {
                missing.push((place, source.missing));
                expressions.push("NULL");
            }
        }
    }
    let query = format!(
        "SELECT {} FROM pg_catalog.pg_stat_database d WHERE d.datname = pg_catalog.current_database()",
        expressions.join(", ")
    );
    let flush =
        client.query_first_value("SELECT pg_catalog.to_regproc('pg_catalog.pg_stat_force_next_flush') IS NOT NULL");
    let flush = if flush.map_err(|error| ask_failure(tried, &error))? == "t" { Flush::Forced } else { Flush::InTime };
    let checkpoint = may_checkpoint(client).map_err(|error| ask_failure(tried, &error))?;
    Ok(Abilities { query, missing, flush, checkpoint })
}

/// Tests whether the role may checkpoint; the inner error says why not.
/// Superusers may, and from version 15 on members of `pg_checkpoint`.
fn may_checkpoint(client: &mut Client) -> Result<Result<(), String>, AskError> {
    let sql = "SELECT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) OR coalesce((SELECT \
               pg_catalog.pg_has_role(current_user, oid, 'USAGE') FROM pg_catalog.pg_roles \
               WHERE rolname = 'pg_checkpoint'), false)";
    let refused = "the role is neither a superuser nor a member of pg_checkpoint; `GRANT pg_checkpoint TO …` lets it";
    Ok(if client.query_first_value(sql)? == "t" { Ok(()) } else { Err(refused.to_owned()) })
}

impl Abilities {
    /// Reads the server's counters; one that the server does not have is marked with the reason.
    /// Each query is its own transaction, so none sees an old snapshot.
    pub(super) fn read_counters(&self, client: &mut Client) -> Result<Counters, Failure> {
        let rows =
            client.query_text_rows(&self.query).map_err(|error| ask_failure("read the server's counters", &error))?;
        let mut counters = Counters::default();
        for (place, source) in COUNTERS.iter().enumerate() {
            let value = rows.first().and_then(|row| row.get(place)?.as_ref()?.parse().ok());
            match value {
                Some(value) => counters.set(source.name, source.unit, value),
                None => {
                    let reason = self.missing.iter().find(|(missing, _)| *missing == place);
                    let reason = reason.map_or("the server gave no value", |(_, reason)| reason);
                    counters.set_unavailable(source.name, source.unit, reason);
                }
            }
        }
        Ok(counters)
    }

    /// Returns how late a pooler's sessions report what they counted.
    pub(super) fn report_delay(&self) -> Duration {
        match self.flush {
            Flush::Forced => IDLE_REPORT,
            Flush::InTime => REPORT_INTERVAL,
        }
    }

    /// Has the session report its counts, so that they do not arrive in a run and trigger autovacuum.
    pub(super) fn publish_counts(&self, client: &mut Client) -> Result<(), Failure> {
        let sql = match self.flush {
            Flush::Forced => "SELECT pg_catalog.pg_stat_force_next_flush()",
            Flush::InTime => {
                thread::sleep(REPORT_INTERVAL);
                "SELECT 1"
            }
        };
        client.execute(sql).map_err(|error| ask_failure("bring the server's statistics up to date", &error))
    }
}
