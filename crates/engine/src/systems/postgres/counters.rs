//! The server's own counters, and what of them a server has: asked of its catalog, never guessed from its version.

use std::thread;
use std::time::Duration;

use postgres::{Client, SimpleQueryMessage, SimpleQueryRow};

use super::connect::failure;
use crate::error::Failure;
use crate::systems::server::counted::{Counting, Question};
use crate::target::Counters;

/// Before version 15 a session reports what it has counted at most this often, and cannot be asked to.
const REPORT_INTERVAL: Duration = Duration::from_millis(600);

/// What this server has, and what this login may do.
#[derive(Clone, Debug)]
pub(super) struct Abilities {
    /// The query that reads every counter in one row, in the order of [`COUNTERS`].
    query: String,
    /// Counters that are not there, with the reason; by their place in [`COUNTERS`].
    missing: Vec<(usize, &'static str)>,
    /// Whether a session can be told to report what it has counted.
    flush: Flush,
    /// Whether the login may checkpoint, or why not.
    pub(super) checkpoint: Result<(), String>,
}

/// How a session's counts reach the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    /// `pg_stat_force_next_flush()`, from version 15 on.
    Forced,
    InTime,
}

/// A counter: its name and unit with us, and the expressions that may give it, each with the columns it needs.
struct Source {
    name: &'static str,
    unit: &'static str,
    /// Tried in order: table, columns that must exist, expression.
    ways: &'static [(&'static str, &'static [&'static str], &'static str)],
    missing: &'static str,
}

const DATABASE: &str = "pg_stat_database";

/// Every counter. Those of `pg_stat_database` count the database, the others the whole server.
const COUNTERS: &[Source] = &[
    source("commits", "", &[(DATABASE, &["xact_commit"], "d.xact_commit")]),
    source("rollbacks", "", &[(DATABASE, &["xact_rollback"], "d.xact_rollback")]),
    source("deadlocks", "", &[(DATABASE, &["deadlocks"], "d.deadlocks")]),
    source("blocks_read", "blocks", &[(DATABASE, &["blks_read"], "d.blks_read")]),
    source("blocks_hit", "blocks", &[(DATABASE, &["blks_hit"], "d.blks_hit")]),
    source("temp_bytes", "bytes", &[(DATABASE, &["temp_bytes"], "d.temp_bytes")]),
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

/// How a session is asked which transaction it is at. Each that a session begins, and no other, has the next number of its
/// process in the lock that it holds on itself; one that only reads has one, too.
///
/// <https://www.postgresql.org/docs/current/transaction-id.html>
pub(super) const OF_SESSION: Question = Question {
    sql: "SELECT pg_catalog.pg_backend_pid()::bigint, pg_catalog.split_part(virtualtransaction, '/', 2)::bigint FROM \
          pg_catalog.pg_locks WHERE locktype = 'virtualxid' AND pid = pg_catalog.pg_backend_pid()",
    columns: &[Counting::Transactions],
};

type Ways = &'static [(&'static str, &'static [&'static str], &'static str)];

const fn source(name: &'static str, unit: &'static str, ways: Ways) -> Source {
    Source { name, unit, ways, missing: "this server's pg_stat_database has no such column" }
}

/// What a server and a login can.
pub(super) fn abilities(client: &mut Client) -> Result<Abilities, Failure> {
    let tried = "look into the server's catalog";
    let sql = "SELECT c.relname || '.' || a.attname FROM pg_catalog.pg_attribute a \
               JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
               WHERE c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace AND a.attnum > 0 AND c.relname IN \
               ('pg_stat_database', 'pg_stat_wal', 'pg_stat_checkpointer', 'pg_stat_bgwriter')";
    let columns: Vec<String> = rows(client, sql)
        .map_err(|error| failure(tried, &error))?
        .iter()
        .filter_map(|row| row.get(0).map(str::to_owned))
        .collect();
    let has = |table: &str, column: &str| columns.iter().any(|known| *known == format!("{table}.{column}"));
    let mut missing = Vec::new();
    let mut expressions = Vec::new();
    for (place, source) in COUNTERS.iter().enumerate() {
        let way = source.ways.iter().find(|(table, needed, _)| needed.iter().all(|column| has(table, column)));
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
    let flush = one(client, "SELECT pg_catalog.to_regproc('pg_catalog.pg_stat_force_next_flush') IS NOT NULL");
    let flush = if flush.map_err(|error| failure(tried, &error))? == "t" { Flush::Forced } else { Flush::InTime };
    let checkpoint = may_checkpoint(client).map_err(|error| failure(tried, &error))?;
    Ok(Abilities { query, missing, flush, checkpoint })
}

/// Superusers may, and from version 15 on members of `pg_checkpoint`.
fn may_checkpoint(client: &mut Client) -> Result<Result<(), String>, postgres::Error> {
    let sql = "SELECT (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user) OR coalesce((SELECT \
               pg_catalog.pg_has_role(current_user, oid, 'USAGE') FROM pg_catalog.pg_roles \
               WHERE rolname = 'pg_checkpoint'), false)";
    let refused = "the role is neither a superuser nor a member of pg_checkpoint; `GRANT pg_checkpoint TO …` lets it";
    Ok(if one(client, sql)? == "t" { Ok(()) } else { Err(refused.to_owned()) })
}

pub(super) fn rows(client: &mut Client, sql: &str) -> Result<Vec<SimpleQueryRow>, postgres::Error> {
    let messages = client.simple_query(sql)?;
    Ok(messages
        .into_iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        })
        .collect())
}

/// The single value of a query; empty for NULL or no row.
pub(super) fn one(client: &mut Client, sql: &str) -> Result<String, postgres::Error> {
    let rows = rows(client, sql)?;
    Ok(rows.first().and_then(|row| row.get(0)).unwrap_or_default().to_owned())
}

impl Abilities {
    /// Reads the counters. Each query is a transaction of its own, so none of them sees an old snapshot of them.
    pub(super) fn read(&self, client: &mut Client) -> Result<Counters, Failure> {
        let rows = rows(client, &self.query).map_err(|error| failure("read the server's counters", &error))?;
        let mut counters = Counters::default();
        for (place, source) in COUNTERS.iter().enumerate() {
            let value = rows.first().and_then(|row| row.get(place)).and_then(|text| text.parse().ok());
            match value {
                Some(value) => counters.set(source.name, source.unit, value),
                None => {
                    let reason = self.missing.iter().find(|(missing, _)| *missing == place);
                    let reason = reason.map_or("the server gave no value", |(_, reason)| reason);
                    counters.unavailable(source.name, source.unit, reason);
                }
            }
        }
        Ok(counters)
    }

    /// Lets this session's counts be seen: those of the load must not arrive in the middle of a trial and set off an
    /// automatic vacuum.
    pub(super) fn flush(&self, client: &mut Client) -> Result<(), Failure> {
        let sql = match self.flush {
            Flush::Forced => "SELECT pg_catalog.pg_stat_force_next_flush()",
            Flush::InTime => {
                thread::sleep(REPORT_INTERVAL);
                "SELECT 1"
            }
        };
        client.batch_execute(sql).map_err(|error| failure("bring the server's statistics up to date", &error))
    }
}
