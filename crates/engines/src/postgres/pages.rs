//! PostgreSQL: counters by process kind before version 16, then by object and context; never by file.
//!
//! Found in the server's catalog, not by version: columns have moved between views in each of 15 to 18.
//! <https://www.postgresql.org/docs/current/monitoring-stats.html>

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use model::Reading;

use load::error::Failure;
use workloads::pages::account::{Figure, FileClass, IoAccount, IoPlace};
use workloads::pages::dialect::{PagesDialect, filler_length};
use workloads::session::{Session, datum_number, datum_text, query_number, query_reading, split_refusal};
use workloads::system::System;

pub struct Pages;

/// Other processes' counters are at most a second late.
const REPORT_INTERVAL: Duration = Duration::from_millis(1_100);
const NO_TIMING: &str = "track_io_timing is off; a superuser switches it on: `ALTER SYSTEM SET track_io_timing = on; SELECT \
                         pg_reload_conf()`, or `settings = { track_io_timing = \"on\" }` for a private server";
const NO_WAL_TIMING: &str = "track_wal_io_timing is off; a superuser switches it on: `ALTER SYSTEM SET track_wal_io_timing = \
                             on; SELECT pg_reload_conf()`, or `settings = { track_wal_io_timing = \"on\" }` for a private \
                             server";
const NO_WAL_READS: &str = "this server does not count what it reads of its log";
const NO_READS: &str = "before version 16 the server counts a block that it adds to a table among those that it reads";
const NO_VIEW: &str = "this server has no such view, or the role may not read it";

const USUAL_BLOCK_BYTES: f64 = 8192.0;

/// Reads a setting of the session; empty if there is none.
fn ask_setting(session: &mut dyn Session, name: &str) -> Result<String, Failure> {
    let rows = session.query(&format!("SELECT pg_catalog.current_setting('{name}', true)"))?;
    Ok(datum_text(rows.first().and_then(|row| row.first())))
}

struct Abilities {
    columns: BTreeSet<String>,
    timing: bool,
    wal_timing: bool,
    block_bytes: f64,
    wal_block_bytes: f64,
}

impl Abilities {
    /// Reads which I/O counters this server has, whether it times I/O, and its block sizes.
    fn read_abilities(session: &mut dyn Session) -> Result<Abilities, Failure> {
        let sql = "SELECT c.relname || '.' || a.attname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = \
                   a.attrelid WHERE c.relnamespace = 'pg_catalog'::pg_catalog.regnamespace AND a.attnum > 0 AND c.relname IN \
                   ('pg_stat_io', 'pg_stat_wal', 'pg_stat_checkpointer', 'pg_stat_bgwriter', 'pg_stat_database')";
        let columns = session.query(sql)?.iter().map(|row| datum_text(row.first())).collect();
        Ok(Abilities {
            columns,
            timing: ask_setting(session, "track_io_timing")? == "on",
            wal_timing: ask_setting(session, "track_wal_io_timing")? == "on",
            block_bytes: ask_setting(session, "block_size")?.parse().unwrap_or(USUAL_BLOCK_BYTES),
            wal_block_bytes: ask_setting(session, "wal_block_size")?.parse().unwrap_or(USUAL_BLOCK_BYTES),
        })
    }

    /// Tests whether the server has a column of its statistics, named as `view.column`.
    fn has_column(&self, column: &str) -> bool {
        self.columns.contains(column)
    }

    /// Makes a reading of milliseconds; unavailable if the server does not time I/O of this object.
    fn time_reading(&self, object: &str, value: Option<f64>) -> Reading {
        let (timed, reason) = if object == "wal" { (self.wal_timing, NO_WAL_TIMING) } else { (self.timing, NO_TIMING) };
        match value {
            Some(ms) if timed => Reading::Value(ms),
            Some(_) => Reading::unavailable(reason),
            None => Reading::unavailable(NO_VIEW),
        }
    }
}

/// Reads I/O by object and context from `pg_stat_io`; NULL for a pair without such operations is 0.
fn read_io_by_object(able: &Abilities, session: &mut dyn Session) -> Result<Vec<IoPlace>, Failure> {
    // Until version 17 all operations have one size.
    let [read_bytes, write_bytes, extend_bytes] = ["read", "write", "extend"].map(|operation| {
        if able.has_column(&format!("pg_stat_io.{operation}_bytes")) {
            format!("coalesce({operation}_bytes, 0)")
        } else {
            format!("coalesce({operation}s, 0) * coalesce(op_bytes, 0)")
        }
    });
    let sql = format!(
        "SELECT object, context, sum(coalesce(reads, 0)), sum({read_bytes}), sum(coalesce(read_time, 0)), sum(coalesce(writes, 0) + \
         coalesce(extends, 0)), sum({write_bytes} + {extend_bytes}), sum(coalesce(write_time, 0) + coalesce(extend_time, 0) + \
         coalesce(writeback_time, 0)), sum(coalesce(fsyncs, 0)), sum(coalesce(fsync_time, 0)) FROM pg_catalog.pg_stat_io GROUP \
         BY 1, 2 ORDER BY 1, 2"
    );
    Ok(session
        .query(&sql)?
        .iter()
        .map(|row| {
            let object = datum_text(row.first());
            let class = match object.as_str() {
                "wal" => FileClass::Log,
                "relation" => FileClass::Data,
                _ => FileClass::Temporary,
            };
            let name = format!("{object}.{}", datum_text(row.get(1))).replace(' ', "-");
            let unknown = IoPlace::unknown(class, name, NO_VIEW);
            Figure::ALL.iter().enumerate().fold(unknown, |place, (index, figure)| {
                let value = datum_number(row.get(index + 2));
                match (figure.unit(), value) {
                    ("ms", value) => place.with_reading(*figure, able.time_reading(&object, value)),
                    (_, Some(value)) => place.with_value(*figure, value),
                    (_, None) => place,
                }
            })
        })
        .collect())
}

/// Reads writes by kind of process, where there is no `pg_stat_io` yet.
fn read_io_by_process(able: &Abilities, session: &mut dyn Session) -> Result<Vec<IoPlace>, Failure> {
    let sql = "SELECT buffers_checkpoint, checkpoint_write_time, checkpoint_sync_time, buffers_clean, buffers_backend, \
               buffers_backend_fsync, blk_write_time FROM pg_catalog.pg_stat_bgwriter, \
               pg_catalog.pg_stat_database WHERE datname = pg_catalog.current_database()";
    let rows = session.query(sql)?;
    let value = |place: usize| datum_number(rows.first().and_then(|row| row.get(place)));
    let [checkpointer, cleaner, sessions] =
        [("checkpointer", 0), ("background-writer", 3), ("sessions", 4)].map(|(name, writes)| {
            let place = IoPlace::unknown(FileClass::Data, name, NO_READS);
            match value(writes) {
                Some(blocks) => {
                    place.with_value(Figure::Writes, blocks).with_value(Figure::WriteBytes, blocks * able.block_bytes)
                }
                None => place,
            }
        });
    let checkpointer = checkpointer
        .with_reading(Figure::WriteStall, value(1).map_or_else(|| Reading::unavailable(NO_VIEW), Reading::Value))
        .with_reading(
            Figure::Syncs,
            Reading::unavailable("before version 16 the server does not count the syncs of a checkpoint"),
        )
        .with_reading(Figure::SyncStall, value(2).map_or_else(|| Reading::unavailable(NO_VIEW), Reading::Value));
    let cleaner = cleaner
        .with_reading(
            Figure::WriteStall,
            Reading::unavailable("before version 16 the server does not time its background writer"),
        )
        .with_value(Figure::Syncs, 0.0)
        .with_value(Figure::SyncStall, 0.0);
    let sessions = sessions
        .with_reading(Figure::WriteStall, able.time_reading("relation", value(6)))
        .with_reading(Figure::Syncs, value(5).map_or_else(|| Reading::unavailable(NO_VIEW), Reading::Value))
        .with_reading(
            Figure::SyncStall,
            Reading::unavailable("before version 16 the server does not time the syncs of sessions"),
        );
    Ok(vec![checkpointer, cleaner, sessions])
}

/// Reads the log's I/O from `pg_stat_wal` up to version 17, and an estimate of the bytes written again.
fn read_log_io(able: &Abilities, session: &mut dyn Session) -> Result<(IoPlace, Reading), Failure> {
    let sql = "SELECT wal_write, wal_bytes, wal_write_time, wal_sync, wal_sync_time FROM pg_catalog.pg_stat_wal";
    let rows = session.query(sql)?;
    let value = |place: usize| datum_number(rows.first().and_then(|row| row.get(place)));
    let mut place = IoPlace::unknown(FileClass::Log, "wal", NO_WAL_READS)
        .with_reading(Figure::WriteStall, able.time_reading("wal", value(2)))
        .with_reading(Figure::SyncStall, able.time_reading("wal", value(4)));
    for (figure, column) in [(Figure::Writes, 0), (Figure::WriteBytes, 1), (Figure::Syncs, 3)] {
        place = match value(column) {
            Some(value) => place.with_value(figure, value),
            None => place.with_reading(figure, Reading::unavailable(NO_VIEW)),
        };
    }
    // A partly filled block is written again by the next commit: one more block per write than log bytes.
    let again = match value(0) {
        Some(writes) => Reading::Value(writes * able.wal_block_bytes),
        None => Reading::unavailable(NO_VIEW),
    };
    Ok((place, again))
}

impl PagesDialect for Pages {
    /// Reads the server's block size.
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure> {
        Ok(query_number(session, "SELECT pg_catalog.current_setting('block_size')")? as u64)
    }

    /// Writes the statements for a table whose rows fill a page each.
    fn create_page_table_sql(&self, page_bytes: u64) -> Vec<String> {
        vec![
            format!(
                "CREATE TABLE tio (tio_id int GENERATED ALWAYS AS IDENTITY, tio_data char({}))",
                filler_length(page_bytes)
            ),
            // Blanks would compress to almost nothing.
            "ALTER TABLE tio ALTER COLUMN tio_data SET STORAGE PLAIN".to_owned(),
        ]
    }

    /// Writes the statement that inserts this number of rows.
    fn insert_sql(&self, _page_bytes: u64, rows: u64) -> String {
        // The server pads shorter values.
        format!("INSERT INTO tio (tio_data) VALUES {}", vec!["('')"; rows as usize].join(", "))
    }

    /// Query for the number of rows inserted into the table.
    fn row_count_sql(&self) -> &'static str {
        "SELECT pg_catalog.pg_stat_get_tuples_inserted('tio'::pg_catalog.regclass)"
    }

    /// Writes the query that counts the rows of these numbers, with their fewest and most bytes.
    /// Rows are found by place: each has a block of its own.
    fn sampled_rows_sql(&self, numbers: &[u64]) -> Option<String> {
        let places: Vec<String> = numbers.iter().map(|number| format!("'({},1)'", number - 1)).collect();
        let bytes = "pg_catalog.octet_length(tio_data)";
        let counted = format!("SELECT count(*), min({bytes}), max({bytes}) FROM tio");
        Some(format!("{counted} WHERE ctid = ANY (ARRAY[{}]::pg_catalog.tid[])", places.join(", ")))
    }

    /// Returns which figure counts commits: writes of the log if it is written through, else syncs.
    fn commit_figure(&self, session: &mut dyn Session) -> Result<Option<Figure>, Failure> {
        let method = session.query("SELECT pg_catalog.current_setting('wal_sync_method')")?;
        let is_written_through = datum_text(method.first().and_then(|row| row.first())).starts_with("open");
        Ok(Some(if is_written_through { Figure::Writes } else { Figure::Syncs }))
    }

    /// Reads the log's insert position in bytes; `None` if the role may not.
    fn read_log_end(&self, session: &mut dyn Session) -> Result<Option<f64>, Failure> {
        let end = "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')";
        Ok(split_refusal(query_number(session, end))?.ok())
    }

    /// Reads the log position in bytes from which the last checkpoint began; `None` if the role may not.
    fn checkpointed_position(&self, session: &mut dyn Session) -> Result<Option<f64>, Failure> {
        let begin = "SELECT pg_catalog.pg_wal_lsn_diff(redo_lsn, '0/0') FROM pg_catalog.pg_control_checkpoint()";
        Ok(split_refusal(query_number(session, begin))?.ok())
    }

    /// Returns that blocks added to a table count as written.
    fn counts_extensions(&self) -> bool {
        true
    }

    /// Reads the table's size in bytes.
    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        query_number(session, "SELECT pg_catalog.pg_relation_size('tio')")
    }

    /// Has the server checkpoint; the inner error says why the role may not.
    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        let hint = "`GRANT pg_checkpoint TO …` lets the role";
        Ok(split_refusal(session.execute("CHECKPOINT"))?.map_err(|reason| format!("{reason}; {hint}")))
    }

    /// Has this session report its counts, and waits until the others have reported theirs.
    fn publish_counts(&self, session: &mut dyn Session) -> Result<(), Failure> {
        let force = "SELECT pg_catalog.pg_stat_force_next_flush()";
        // Before version 15 there is only waiting.
        let _ = split_refusal(session.execute(force))?;
        thread::sleep(REPORT_INTERVAL);
        Ok(())
    }

    /// Reads the server's I/O by place, with its log's bytes and what it does not count.
    fn io_account(&self, _system: &dyn System, session: &mut dyn Session) -> Result<IoAccount, Failure> {
        let able = Abilities::read_abilities(session)?;
        let places = if able.has_column("pg_stat_io.reads") {
            read_io_by_object(&able, session)?
        } else {
            read_io_by_process(&able, session)?
        };
        let mut account = IoAccount { places, ..IoAccount::default() };
        if able.has_column("pg_stat_wal.wal_write") {
            let (log, again) = read_log_io(&able, session)?;
            account.places.push(log);
            account.explained.insert("log-blocks-again", again);
            // A new segment is filled with zeros, which counts from version 18 on.
            let segments = "SELECT sum(size) FROM pg_catalog.pg_ls_waldir()";
            account.explained.insert("log-segments", query_reading(session, segments)?);
        } else if !account.places.iter().any(|place| place.class == FileClass::Log) {
            account.places.push(IoPlace::unknown(FileClass::Log, "wal", NO_VIEW));
        }
        let made = "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')";
        account.log_bytes = Some(query_reading(session, made)?);
        let notes = [(able.timing, NO_TIMING), (able.wal_timing, NO_WAL_TIMING)];
        account.notes.extend(notes.iter().filter(|(on, _)| !on).map(|(_, reason)| (*reason).to_owned()));
        Ok(account)
    }

    /// Reads the size of the database or the log in bytes.
    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        match class {
            FileClass::Data => {
                query_reading(session, "SELECT pg_catalog.pg_database_size(pg_catalog.current_database())")
            }
            FileClass::Log => query_reading(session, "SELECT sum(size) FROM pg_catalog.pg_ls_waldir()"),
            FileClass::Temporary => Ok(Reading::unavailable("temporary files are gone with their session")),
        }
    }
}
