use std::collections::BTreeMap;

use model::Reading;

use load::datum::Datum;
use load::error::Failure;
use workloads::pages::account::{Figure, FileClass, IoAccount, IoPlace};
use workloads::pages::dialect::{PagesDialect, WrittenBy, filler_length};
use workloads::session::{Session, datum_number, datum_text, query_number, query_reading, split_refusal};
use workloads::system::System;

/// InnoDB puts at least two rows into a page. A longer value goes to a page of its own, with a 20-byte pointer in the
/// row: so a long value fills the page here.
pub struct Pages;

/// Bytes by which such a page holds less since MySQL 8: it begins with an index of the value, of 96 bytes and ten
/// entries of 60. The version comment hides this from MariaDB. `storage/innobase/include/lob0first.h`
const LESS_SINCE_8: &str = "/*!80000 - 512 */";

/// Operations, bytes and times of each file; times are in picoseconds.
/// <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-file-summary-tables.html>
const FILES: &str = "SELECT EVENT_NAME, SUBSTRING_INDEX(REPLACE(FILE_NAME, '\\\\', '/'), '/', -1), SUM(COUNT_READ), \
                     SUM(SUM_NUMBER_OF_BYTES_READ), SUM(SUM_TIMER_READ), SUM(COUNT_WRITE), SUM(SUM_NUMBER_OF_BYTES_WRITE), \
                     SUM(SUM_TIMER_WRITE) FROM performance_schema.file_summary_by_instance WHERE EVENT_NAME LIKE \
                     'wait/io/file/innodb/%' OR EVENT_NAME = 'wait/io/file/sql/binlog' GROUP BY 1, 2 ORDER BY 1, 2";
const PS_PER_MS: f64 = 1e9;
const OFF: &str = "performance_schema is off, and nothing is timed or counted by file; it is switched on when the server \
                   starts: `performance_schema = ON` in its option file, or `settings = { performance_schema = \"ON\" }` for \
                   a private server";
const NOT_ALLOWED: &str =
    "the account may not read performance_schema; `GRANT SELECT ON performance_schema.* TO …` lets it";
const NO_LOG_INSTRUMENT: &str = "MariaDB does not time its log: the instrument innodb_log_file was removed (MDEV-27848); the \
                                 response times of the commits are the nearest there is";
/// What a log counts that is written through the page cache.
const CACHED_LOG: &str = "the server writes its log through the page cache, of which the operating system counts whole folios, and data \
                          asynchronously, which it does not count as calls";
const NO_LOG_READS: &str = "the server does not count what it reads of its log";
const NO_SYNC_TIME: &str = "the server counts syncs together with the opening and closing of files (COUNT_MISC)";
const NO_SYNC_COUNT: &str = "the server counts the syncs of all files together";

/// Reads InnoDB's status variables by name in lower case.
fn innodb_status(session: &mut dyn Session) -> Result<BTreeMap<String, f64>, Failure> {
    let rows = session.query("SHOW GLOBAL STATUS LIKE 'Innodb%'")?;
    Ok(rows
        .iter()
        .filter_map(|row| Some((datum_text(row.first()).to_ascii_lowercase(), datum_number(row.get(1))?)))
        .collect())
}

/// Class of the files that an event of performance_schema is about: log, temporary or data.
fn file_class(event: &str) -> FileClass {
    match event.rsplit('/').next().unwrap_or_default() {
        "innodb_log_file" | "binlog" => FileClass::Log,
        "innodb_temp_file" => FileClass::Temporary,
        _ => FileClass::Data,
    }
}

/// Reads one file's figures from a row of performance_schema's summary.
fn place_from_row(row: &[Datum]) -> IoPlace {
    let class = file_class(&datum_text(row.first()));
    let unknown = IoPlace::unknown(class, datum_text(row.get(1)), NO_SYNC_COUNT)
        .with_reading(Figure::SyncStall, Reading::unavailable(NO_SYNC_TIME));
    Figure::ALL[..6].iter().enumerate().fold(unknown, |place, (index, figure)| match datum_number(row.get(index + 2)) {
        Some(value) if figure.unit() == "ms" => place.with_value(*figure, value / PS_PER_MS),
        Some(value) => place.with_value(*figure, value),
        None => place,
    })
}

/// MariaDB dropped it together with its log's instrument, when it no longer wrote the log through the page cache.
const LOG_SYNCS: &str = "innodb_os_log_fsyncs";

/// Makes the query for the size of the pages' table in a view of tablespaces.
fn file_size_sql(view: &str) -> String {
    format!("SELECT SUM(FILE_SIZE) FROM information_schema.{view} WHERE NAME = CONCAT(DATABASE(), '/tio')")
}

/// Whether a reading is unavailable because the account was denied it.
fn is_permission_missing(reading: &Reading) -> bool {
    matches!(reading, Reading::Unavailable(reason) if reason.reason.contains("Access denied"))
}

/// Makes a place's figures from status variables; `reason` is why the others are unknown.
fn figures_from_status(
    class: FileClass,
    name: &str,
    reason: &str,
    known: &BTreeMap<String, f64>,
    from: &[(Figure, &str)],
) -> IoPlace {
    let unknown = IoPlace::unknown(class, name, reason);
    from.iter().fold(unknown, |place, (figure, variable)| match known.get(*variable) {
        Some(value) => place.with_value(*figure, *value),
        None => {
            let reason = format!("this server has no status variable {variable}");
            place.with_reading(*figure, Reading::unavailable(reason))
        }
    })
}

/// Makes the log's figures from status variables, which have no times.
fn log_figures(known: &BTreeMap<String, f64>, reason: &str) -> IoPlace {
    let from = [
        (Figure::Writes, "innodb_log_writes"),
        (Figure::WriteBytes, "innodb_os_log_written"),
        (Figure::Syncs, LOG_SYNCS),
    ];
    let place = figures_from_status(FileClass::Log, "redo-log", reason, known, &from);
    [Figure::Reads, Figure::ReadBytes, Figure::ReadStall]
        .into_iter()
        .fold(place, |place, figure| place.with_reading(figure, Reading::unavailable(NO_LOG_READS)))
}

/// Makes the figures of all data files together, where performance_schema does not separate them.
fn data_figures(known: &BTreeMap<String, f64>, reason: &str) -> IoPlace {
    let from = [
        (Figure::Reads, "innodb_data_reads"),
        (Figure::ReadBytes, "innodb_data_read"),
        (Figure::Writes, "innodb_data_writes"),
        (Figure::WriteBytes, "innodb_data_written"),
        (Figure::Syncs, "innodb_data_fsyncs"),
    ];
    figures_from_status(FileClass::Data, "innodb", reason, known, &from)
}

/// Reads the figures of each file, and whether the redo log is among them; or why they cannot be read.
fn read_file_figures(session: &mut dyn Session) -> Result<Result<(Vec<IoPlace>, bool), &'static str>, Failure> {
    // 0 on MariaDB by default.
    if split_refusal(query_number(session, "SELECT @@performance_schema"))? != Ok(1.0) {
        return Ok(Err(OFF));
    }
    Ok(match split_refusal(session.query(FILES))? {
        Ok(rows) => {
            let has_log = rows.iter().any(|row| datum_text(row.first()).ends_with("/innodb_log_file"));
            Ok((rows.iter().map(|row| place_from_row(row)).collect(), has_log))
        }
        Err(_) => Err(NOT_ALLOWED),
    })
}

impl PagesDialect for Pages {
    /// Reads the server's page size.
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure> {
        Ok(query_number(session, "SELECT @@innodb_page_size")? as u64)
    }

    /// Writes the statement that creates the table of page-filling rows.
    fn create_page_table_sql(&self, _page_bytes: u64) -> Vec<String> {
        let table = "CREATE TABLE tio (tio_id INT AUTO_INCREMENT PRIMARY KEY, tio_data LONGTEXT CHARACTER SET ascii) \
                     ENGINE = InnoDB ROW_FORMAT = DYNAMIC";
        vec![table.to_owned()]
    }

    /// Writes the statement that inserts `rows` rows which fill a page each.
    fn insert_sql(&self, page_bytes: u64, rows: u64) -> String {
        let row = format!("(SPACE({} {LESS_SINCE_8}))", filler_length(page_bytes));
        format!("INSERT INTO tio (tio_data) VALUES {}", vec![row; rows as usize].join(", "))
    }

    /// Makes the query for the number of rows.
    /// Values are outside the tree, so this reads few pages.
    fn row_count_sql(&self) -> &'static str {
        "SELECT COUNT(*) FROM tio"
    }

    /// Makes the query for number and lengths of the rows with these numbers.
    fn sampled_rows_sql(&self, numbers: &[u64]) -> Option<String> {
        // Members of a cluster number in steps.
        let ids: Vec<String> = numbers
            .iter()
            .map(|number| format!("@@auto_increment_offset + {} * @@auto_increment_increment", number - 1))
            .collect();
        let counted = "SELECT COUNT(*), MIN(LENGTH(tio_data)), MAX(LENGTH(tio_data)) FROM tio";
        Some(format!("{counted} WHERE tio_id IN ({})", ids.join(", ")))
    }

    /// Commits are counted as writes of the log, since syncs are counted of all files together.
    fn commit_figure(&self, _session: &mut dyn Session) -> Result<Option<Figure>, Failure> {
        Ok(Some(Figure::Writes))
    }

    /// Reads the log's end, as a sequence number.
    fn read_log_end(&self, session: &mut dyn Session) -> Result<Option<f64>, Failure> {
        Ok(innodb_status(session)?.get("innodb_lsn_current").copied())
    }

    /// Reads the log's sequence number of the last checkpoint.
    fn checkpointed_position(&self, session: &mut dyn Session) -> Result<Option<f64>, Failure> {
        Ok(innodb_status(session)?.get("innodb_lsn_last_checkpoint").copied())
    }

    /// Reads the bytes of all pages that the server has created.
    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        let page = query_number(session, "SELECT @@innodb_page_size")?;
        // Of the whole server: a table's size has steps of a megabyte.
        Ok(innodb_status(session)?.get("innodb_pages_created").copied().unwrap_or_default() * page)
    }

    /// Checkpoints, or flushes the table; the inner `Err` says why neither is allowed.
    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        // Waits for the checkpoint; only some versions of MariaDB and debug builds of MySQL have it.
        if split_refusal(session.execute("SET GLOBAL innodb_log_checkpoint_now = ON"))?.is_ok() {
            return Ok(Ok(()));
        }
        let hint = "`GRANT RELOAD ON *.* TO …` lets the account";
        match split_refusal(session.execute("FLUSH TABLES tio FOR EXPORT"))? {
            Ok(()) => session.execute("UNLOCK TABLES").map(Ok),
            Err(reason) => Ok(Err(format!("{reason}; {hint}"))),
        }
    }

    /// Reads the server's own figures of its I/O, by file where performance_schema has them.
    fn io_account(&self, _system: &dyn System, session: &mut dyn Session) -> Result<IoAccount, Failure> {
        let known = innodb_status(session)?;
        let mut account = IoAccount::default();
        match read_file_figures(session)? {
            Ok((files, timed_log)) => {
                account.places = files;
                if !timed_log {
                    account.places.push(log_figures(&known, NO_LOG_INSTRUMENT));
                    account.notes.push(NO_LOG_INSTRUMENT.to_owned());
                }
            }
            Err(reason) => {
                // Instruments help only a log that has one; without it syncs are not counted.
                let of_log = if known.contains_key(LOG_SYNCS) { reason } else { NO_LOG_INSTRUMENT };
                account.places = vec![data_figures(&known, reason), log_figures(&known, of_log)];
                account.notes.push(reason.to_owned());
            }
        }
        account.incomparable = known.contains_key(LOG_SYNCS).then_some(CACHED_LOG);
        let made = known.get("innodb_lsn_current").or_else(|| known.get("innodb_os_log_written"));
        account.log_bytes = Some(made.copied().map_or_else(
            || Reading::unavailable("this server has no status variable innodb_lsn_current"),
            Reading::Value,
        ));
        Ok(account)
    }

    /// Writes are to be compared with the device's.
    /// Files are written asynchronously and, with `innodb_flush_method = O_DIRECT`, past the page cache.
    fn written_by(&self) -> WrittenBy {
        WrittenBy::Device
    }

    /// Reads the size of the files of a class.
    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        match class {
            FileClass::Data => {
                // MariaDB's view, then MySQL 8's.
                let older = query_reading(session, &file_size_sql("INNODB_SYS_TABLESPACES"))?;
                if matches!(older, Reading::Value(_)) {
                    return Ok(older);
                }
                // Without either, the older one's error says which privilege is missing.
                let newer = query_reading(session, &file_size_sql("INNODB_TABLESPACES"))?;
                Ok(if matches!(newer, Reading::Value(_)) || !is_permission_missing(&older) { newer } else { older })
            }
            FileClass::Log => query_reading(session, "SELECT @@innodb_log_file_size"),
            FileClass::Temporary => Ok(Reading::unavailable("temporary files are gone with their session")),
        }
    }
}
