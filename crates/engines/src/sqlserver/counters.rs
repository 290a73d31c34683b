//! Counters, and settling background work.

use std::collections::BTreeMap;

use super::SCHEMA;
use crate::server::refusal::failure;
use crate::sqlserver::lane::{AskError, Client};
use load::counters::Counters;
use load::error::{Failure, FailureKind};
use load::lock_watch::ROW_LOCK_WAIT_MS;

/// Our name and unit; the server's object, counter and instance.
struct Source {
    name: &'static str,
    unit: &'static str,
    object: &'static str,
    counter: &'static str,
    instance: &'static str,
}

const fn source(
    name: &'static str,
    unit: &'static str,
    object: &'static str,
    counter: &'static str,
    instance: &'static str,
) -> Source {
    Source { name, unit, object, counter, instance }
}

/// `sys.dm_os_performance_counters`. "/sec" counts since the server's start.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/performance-monitor/use-sql-server-objects>
const COUNTERS: &[Source] = &[
    source("batch_requests", "", "SQL Statistics", "Batch Requests/sec", ""),
    source("compilations", "", "SQL Statistics", "SQL Compilations/sec", ""),
    source("database_transactions", "", "Databases", "Transactions/sec", SCHEMA),
    source("database_write_transactions", "", "Databases", "Write Transactions/sec", SCHEMA),
    source("log_flushes", "", "Databases", "Log Flushes/sec", SCHEMA),
    source("log_bytes", "bytes", "Databases", "Log Bytes Flushed/sec", SCHEMA),
    source("log_growths", "", "Databases", "Log Growths", SCHEMA),
    source("deadlocks", "", "Locks", "Number of Deadlocks/sec", "_Total"),
    source("lock_waits", "", "Locks", "Lock Waits/sec", "_Total"),
    source(ROW_LOCK_WAIT_MS, "ms", "Locks", "Lock Wait Time (ms)", "_Total"),
    source("pages_requested", "pages", "Buffer Manager", "Page lookups/sec", ""),
    source("pages_read", "pages", "Buffer Manager", "Page reads/sec", ""),
    source("pages_written", "pages", "Buffer Manager", "Page writes/sec", ""),
    source("checkpoint_pages", "pages", "Buffer Manager", "Checkpoint pages/sec", ""),
];

pub(super) const READ: &str = "SELECT RTRIM(object_name), RTRIM(counter_name), RTRIM(instance_name), cntr_value FROM \
                               sys.dm_os_performance_counters";

const NO_COMMITS: &str = "the server counts transactions that begin (`database_transactions`), its own and those that only \
                          read among them, and no commits; a run is held against the rows of its tables";

const NO_CHECKPOINTS: &str = "the server counts the pages that its checkpoints wrote (`server_checkpoint_pages`), and not the \
                              checkpoints";

pub(super) fn read(client: &mut Client) -> Result<Counters, Failure> {
    let mut counters = Counters::default();
    counters.unavailable("commits", "", NO_COMMITS);
    counters.unavailable("checkpoints", "", NO_CHECKPOINTS);
    let rows = match client.rows(READ) {
        Ok(rows) => rows,
        Err(error) => {
            let reason = reason(&error).ok_or_else(|| failure("read the server's counters", &error))?;
            for source in COUNTERS {
                counters.unavailable(source.name, source.unit, reason.clone());
            }
            return Ok(counters);
        }
    };
    let mut known = BTreeMap::new();
    for row in rows {
        if let [Some(object), Some(counter), Some(instance), Some(value)] = row.as_slice() {
            // The object's name begins with the instance's: `SQLServer:`, `MSSQL$NAME:`.
            let object = object.rsplit(':').next().unwrap_or_default();
            let key = [object, counter, instance].map(str::to_ascii_lowercase);
            known.insert(key, value.parse::<f64>().ok());
        }
    }
    for source in COUNTERS {
        let key = [source.object, source.counter, source.instance].map(str::to_ascii_lowercase);
        match known.get(&key).copied().flatten() {
            Some(value) => counters.set(source.name, source.unit, value),
            None => {
                let Source { object, counter, .. } = source;
                let reason = format!("this server has no counter `{counter}` of `{object}`");
                counters.unavailable(source.name, source.unit, reason);
            }
        }
    }
    Ok(counters)
}

/// Why a view or a column cannot be read; `None` if the connection failed.
pub(super) fn reason(error: &AskError) -> Option<String> {
    let failure = failure("", error);
    match (failure.kind, error.number()) {
        (FailureKind::Permission, _) => Some(match failure.hint {
            Some(hint) => format!("{error}; {hint}"),
            None => error.to_string(),
        }),
        // "Invalid object name", "invalid column name", "not supported in this version": a statement, an object, a
        // reference to another database, a DBCC command.
        (_, Some(208 | 207 | 40_510 | 40_514 | 40_515 | 40_518)) => Some(format!("this server has none: {error}")),
        (FailureKind::ConnectionLost | FailureKind::DiskFull, _) | (_, None) => None,
        _ => Some(error.to_string()),
    }
}

/// Writes dirty pages. `Err`: the login may not.
pub(super) fn checkpoint(client: &mut Client) -> Result<Result<String, String>, Failure> {
    match client.execute("CHECKPOINT") {
        Ok(()) => Ok(Ok("yes: CHECKPOINT".to_owned())),
        Err(error) => {
            reason(&error).map(Err).ok_or_else(|| failure("write what the server still holds in memory", &error))
        }
    }
}

/// CPU seconds of the server's process.
pub(super) const CPU: &str = "SELECT (process_kernel_time_ms + process_user_time_ms) / 1000.0 FROM sys.dm_os_sys_info";
