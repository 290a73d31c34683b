//! Counters, and settling background work.

use std::collections::BTreeMap;

use super::SCHEMA;
use crate::server::refusal::ask_failure;
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

/// Names a counter of ours, its unit, and where the server has it.
const fn counter_source(
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
    counter_source("batch_requests", "", "SQL Statistics", "Batch Requests/sec", ""),
    counter_source("compilations", "", "SQL Statistics", "SQL Compilations/sec", ""),
    counter_source("database_transactions", "", "Databases", "Transactions/sec", SCHEMA),
    counter_source("database_write_transactions", "", "Databases", "Write Transactions/sec", SCHEMA),
    counter_source("log_flushes", "", "Databases", "Log Flushes/sec", SCHEMA),
    counter_source("log_bytes", "bytes", "Databases", "Log Bytes Flushed/sec", SCHEMA),
    counter_source("log_growths", "", "Databases", "Log Growths", SCHEMA),
    counter_source("deadlocks", "", "Locks", "Number of Deadlocks/sec", "_Total"),
    counter_source("lock_waits", "", "Locks", "Lock Waits/sec", "_Total"),
    counter_source(ROW_LOCK_WAIT_MS, "ms", "Locks", "Lock Wait Time (ms)", "_Total"),
    counter_source("pages_requested", "pages", "Buffer Manager", "Page lookups/sec", ""),
    counter_source("pages_read", "pages", "Buffer Manager", "Page reads/sec", ""),
    counter_source("pages_written", "pages", "Buffer Manager", "Page writes/sec", ""),
    counter_source("checkpoint_pages", "pages", "Buffer Manager", "Checkpoint pages/sec", ""),
];

pub(super) const READ: &str = "SELECT RTRIM(object_name), RTRIM(counter_name), RTRIM(instance_name), cntr_value FROM \
                               sys.dm_os_performance_counters";

const NO_COMMITS: &str = "the server counts transactions that begin (`database_transactions`), its own and those that only \
                          read among them, and no commits; a run is held against the rows of its tables";

const NO_CHECKPOINTS: &str = "the server counts the pages that its checkpoints wrote (`server_checkpoint_pages`), and not the \
                              checkpoints";

/// Reads the server's counters; one that it does not show is noted as unavailable.
pub(super) fn read_counters(client: &mut Client) -> Result<Counters, Failure> {
    let mut counters = Counters::default();
    counters.set_unavailable("commits", "", NO_COMMITS);
    counters.set_unavailable("checkpoints", "", NO_CHECKPOINTS);
    let rows = match client.query_text_rows(READ) {
        Ok(rows) => rows,
        Err(error) => {
            let reason = why_unreadable(&error).ok_or_else(|| ask_failure("read the server's counters", &error))?;
            for source in COUNTERS {
                counters.set_unavailable(source.name, source.unit, reason.clone());
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
                counters.set_unavailable(source.name, source.unit, reason);
            }
        }
    }
    Ok(counters)
}

/// Explains why a view or a column cannot be read; `None` if the connection failed.
pub(super) fn why_unreadable(error: &AskError) -> Option<String> {
    let failure = ask_failure("", error);
    match (failure.kind, error.error_number()) {
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

/// Writes the server's dirty pages to disk; the inner `Err` says why the login may not.
pub(super) fn checkpoint_if_allowed(client: &mut Client) -> Result<Result<String, String>, Failure> {
    match client.execute("CHECKPOINT") {
        Ok(()) => Ok(Ok("yes: CHECKPOINT".to_owned())),
        Err(error) => why_unreadable(&error)
            .map(Err)
            .ok_or_else(|| ask_failure("write what the server still holds in memory", &error)),
    }
}

/// CPU seconds of the server's process.
pub(super) const CPU: &str = "SELECT (process_kernel_time_ms + process_user_time_ms) / 1000.0 FROM sys.dm_os_sys_info";
