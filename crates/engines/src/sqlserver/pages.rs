//! SQL Server: the published statements in T-SQL, and its counters by file.
//!
//! Written by the published test and Microsoft's documentation. Not yet run on a SQL Server, only on one that speaks
//! the protocol without SQL.

use model::Reading;

use load::error::{Failure, FailureKind};
use workloads::pages::account::{Figure, FileClass, IoAccount, IoPlace};
use workloads::pages::dialect::{PagesDialect, Totals, filler_length};
use workloads::session::{Session, datum_number, datum_text, query_number, query_reading, split_refusal};
use workloads::system::System;

/// The page inserts of SQL Server 2005 and later.
pub struct Pages;

/// The size of a page, which no server can change.
const PAGE_BYTES: u64 = 8192;

/// Operations of each file since it was opened: `type` 1 is the log, times are milliseconds.
/// <https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-io-virtual-file-stats-transact-sql>
const FILES: &str = "SELECT mf.type, mf.name, fs.num_of_reads, fs.num_of_bytes_read, fs.io_stall_read_ms, fs.num_of_writes, \
                     fs.num_of_bytes_written, fs.io_stall_write_ms FROM sys.database_files AS mf CROSS APPLY \
                     sys.dm_io_virtual_file_stats(DB_ID(), mf.file_id) AS fs ORDER BY mf.file_id";
/// Full recovery keeps the log only after a first backup, as in production.
const BACKUP: &str = "IF DATABASEPROPERTYEX(DB_NAME(), 'Recovery') <> 'SIMPLE' BEGIN DECLARE @own sysname = DB_NAME(); \
                      BACKUP DATABASE @own TO DISK = 'NUL' END";
const NO_RIGHT: &str = "the login may not read sys.dm_io_virtual_file_stats; `GRANT VIEW SERVER STATE TO …` (from 2022 on \
                        `VIEW SERVER PERFORMANCE STATE`) lets it";
const NO_VALUE: &str = "SQL Server has no such counter";

/// Makes an I/O account of which nothing is known, for this reason.
fn unknown_account(reason: &str, notes: Vec<String>) -> IoAccount {
    let classes = [FileClass::Data, FileClass::Log];
    let places = classes.map(|class| IoPlace::unknown(class, class.as_str(), reason)).to_vec();
    IoAccount { places, notes, ..IoAccount::default() }
}

impl PagesDialect for Pages {
    fn page_bytes(&self, _session: &mut dyn Session) -> Result<u64, Failure> {
        Ok(PAGE_BYTES)
    }

    /// Writes the statements that create the table of page-filling rows.
    fn create_page_table_sql(&self, page_bytes: u64) -> Vec<String> {
        let create = format!("CREATE TABLE TIO (TIO_ID INT IDENTITY, TIO_DATA CHAR({}))", filler_length(page_bytes));
        vec!["SET NOCOUNT ON".to_owned(), create]
    }

    /// Backs up the database to nowhere, so that the log is kept as in production; returns a note if that fails.
    fn begin_run(&self, session: &mut dyn Session) -> Result<Vec<String>, Failure> {
        Ok(match split_refusal(session.execute(BACKUP))? {
            Ok(()) => Vec::new(),
            Err(reason) => vec![format!(
                "the log is not kept as in production, since the database could not be backed up first: {reason}"
            )],
        })
    }

    /// Counters begin when the database is opened, since it is made again for each run.
    fn counter_origin(&self) -> Totals {
        Totals::SinceOpened
    }

    /// Writes the statement that inserts `rows` rows which fill a page each.
    fn insert_sql(&self, _page_bytes: u64, rows: u64) -> String {
        // The server pads shorter values.
        format!("INSERT INTO TIO VALUES {}", vec!["('')"; rows as usize].join(", "))
    }

    /// Query for the number of rows, from the server's own counts.
    fn row_count_sql(&self) -> &'static str {
        "SELECT SUM(row_count) FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('TIO') AND index_id IN (0, 1)"
    }

    /// Reads the bytes of the table's used pages.
    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        let pages =
            "SELECT SUM(used_page_count) * 8192 FROM sys.dm_db_partition_stats WHERE object_id = OBJECT_ID('TIO')";
        query_number(session, pages)
    }

    /// Checkpoints; the inner `Err` says why the login may not.
    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        split_refusal(session.execute("CHECKPOINT"))
    }

    /// Reads the server's own figures of the I/O of each file.
    fn io_account(&self, _system: &dyn System, session: &mut dyn Session) -> Result<IoAccount, Failure> {
        let rows = match session.query(FILES) {
            // No permission would help.
            Err(failure) if failure.kind == FailureKind::Unsupported => {
                return Ok(unknown_account(&failure.cause, Vec::new()));
            }
            asked => match split_refusal(asked)? {
                Ok(rows) => rows,
                Err(reason) => return Ok(unknown_account(&format!("{NO_RIGHT}: {reason}"), vec![NO_RIGHT.to_owned()])),
            },
        };
        let places = rows.iter().map(|row| {
            let class = if datum_text(row.first()) == "1" { FileClass::Log } else { FileClass::Data };
            let figures = &Figure::ALL[..6];
            // Write-through: the writes' time includes syncs.
            let unknown = IoPlace::unknown(class, datum_text(row.get(1)), NO_VALUE).with_value(Figure::Syncs, 0.0);
            figures.iter().enumerate().fold(unknown, |place, (index, figure)| match datum_number(row.get(index + 2)) {
                Some(value) => place.with_value(*figure, value),
                None => place,
            })
        });
        Ok(IoAccount { places: places.collect(), ..IoAccount::default() })
    }

    /// Reads the size of the database's files of a class.
    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        let kind = match class {
            FileClass::Data => 0,
            FileClass::Log => 1,
            FileClass::Temporary => return Ok(Reading::unavailable("it is in another database, tempdb")),
        };
        let sql = format!("SELECT SUM(CAST(size AS bigint)) * 8192 FROM sys.database_files WHERE type = {kind}");
        query_reading(session, &sql)
    }
}
