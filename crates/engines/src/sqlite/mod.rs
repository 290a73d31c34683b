//! Embedded SQLite: a database file that étalon makes, fills, measures and removes.

mod backup;
mod cipher;
mod confine;
mod dialect;
mod durability;
mod facts;
pub mod lane;
pub mod pages;
mod session;
pub mod spatial;
mod strangers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use host::sqlite_vfs::{FileKind, Traffic};
use model::catalog::Visibility;
use model::{DurabilityTier, EngineSpec, Facts, Reset, SystemPlan, Value};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, ffi, params_from_iter};

use self::cipher::Cipher;
use crate::embedded::{self, EmbeddedFile, FileShape, OwnershipMark};
use crate::sqlite::lane::{SqliteLane, value_of_datum};
use load::clock::RealClock;
use load::counters::{Counters, Placement};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::worker::{self, LoadCounts, WorkerContext};
use workloads::contents::{Contents, Rows, TableChecksum};
use workloads::dataset::{Dataset, Dialect, Table, Tables};
use workloads::pages::dialect::PagesDialect;
use workloads::permits::Permits;
use workloads::session::{Session, SessionKind};
use workloads::spatial::dialect::SpatialDialect;
use workloads::system::{Engine, OpenRequest, OsIo, System};
use workloads::work::Load;

/// Number in the header of étalon's databases: "étal" in Latin-1.
const APPLICATION_ID: i32 = i32::from_be_bytes([0xe9, b't', b'a', b'l']);

/// Default of `busy_timeout`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Steps of SQLite's virtual machine between two looks at an interrupt: some 100 µs.
const INTERRUPT_STEPS: std::ffi::c_int = 10_000;

/// Behind a file's name, that of its rollback journal.
const JOURNAL: &str = "-journal";

const SHAPE: FileShape = FileShape {
    companions: &["-wal", "-shm", JOURNAL],
    marker: OwnershipMark::Within(is_marked),
    strangers: strangers::foreign_things,
};

/// Whether a file's header has étalon's application id, at offset 68.
/// <https://www.sqlite.org/fileformat.html#the_database_header>
fn is_marked(header: &[u8]) -> bool {
    header.get(68..72).is_some_and(|id| id == APPLICATION_ID.to_be_bytes())
}

pub enum Sqlite {
    Plain,
    /// SQLCipher.
    Encrypted,
}

impl Engine for Sqlite {
    /// Describes the engine: name, URL schemes, backups and cautions.
    fn spec(&self) -> EngineSpec {
        let (name, schemes, own_url, about): (_, &[&str], _, _) = match self {
            Sqlite::Plain => (
                "sqlite",
                &["sqlite"],
                "sqlite:etalon-sqlite.db",
                "SQLite inside étalon itself: `sqlite:PATH` is a file that étalon makes and removes; settings are pragmas",
            ),
            Sqlite::Encrypted => (
                "sqlcipher",
                &["sqlcipher"],
                "sqlcipher:etalon-sqlcipher.db",
                "SQLCipher inside an étalon that was built with the feature `sqlcipher`: as `sqlite:`, but encrypted by a \
                 key that étalon draws",
            ),
        };
        EngineSpec {
            name,
            schemes,
            about,
            private_servers: &[],
            own_url: Some(own_url),
            other_address: None,
            workload: "transactions",
            backups: backup::METHODS,
            poolers: &[],
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    /// Opens the plan's file as a system: draws its key and tries its pragmas.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        request.permits.check_settings(&request.system.settings, &confine::PRAGMAS)?;
        let cipher = match self {
            Sqlite::Plain => Cipher::Plain,
            Sqlite::Encrypted => Cipher::draw_key(request)?,
        };
        let file = EmbeddedFile::open(request, SHAPE)?;
        let system = SqliteSystem {
            had_journal: embedded::companion_path(file.path(), JOURNAL).exists(),
            cipher,
            file,
            permits: request.permits.clone(),
            is_durable: AtomicBool::new(false),
            pragmas: request.system.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        };
        // What is refused leaves nothing behind.
        system.connect_with_pragmas().map(drop).or_else(|failure| system.file.drop_all().and(Err(failure)))?;
        Ok(Box::new(system))
    }

    /// Chooses how tables come back before each run.
    fn choose_reset(&self, system: &SystemPlan, _size_bytes: u64) -> Result<Option<Reset>, Failure> {
        embedded::chosen_reset(system)
    }

    /// Always `true`: étalon can empty the caches of a file.
    fn can_empty_caches(&self, _system: &SystemPlan) -> bool {
        true
    }

    /// Says what file étalon would make, from the plan alone.
    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        embedded::would_make(system)
    }

    /// Says what files étalon would remove, from the plan alone.
    fn explain_dropped(&self, system: &SystemPlan) -> String {
        embedded::would_drop(system, SHAPE)
    }

    /// The folder of the system's data, if the plan says it.
    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        embedded::data_directory(system)
    }

    /// The size of the database's file with its write-ahead log; `None` if there is no file yet.
    fn stored_bytes(&self, system: &SystemPlan) -> Option<u64> {
        embedded::stored_bytes(system)
    }

    /// How durable commits are by the plan's pragmas.
    fn durability_of_plan(&self, system: &SystemPlan) -> Option<DurabilityTier> {
        Some(facts::durability_of_pragmas(system))
    }
}

/// Settings that SQLite writes into the file.
const LASTING: [&str; 6] = ["application_id", "auto_vacuum", "encoding", "page_size", "schema_version", "user_version"];

/// Fails for a setting that would stay in a file that étalon did not make.
/// Of the journals only the write-ahead log does.
fn refuse_lasting(connection: &Connection, name: &str, value: &Value) -> Result<(), Failure> {
    let tried = format!("set `{name} = {value}`");
    let stays = if name.eq_ignore_ascii_case("journal_mode") {
        let now: String = connection
            .pragma_query_value(None, "journal_mode", |row| row.get(0))
            .map_err(|error| sql_failure(&tried, &error))?;
        let wanted = value.to_string();
        now.eq_ignore_ascii_case("wal") != wanted.trim_matches('"').eq_ignore_ascii_case("wal")
    } else {
        LASTING.iter().any(|lasting| lasting.eq_ignore_ascii_case(name))
    };
    if stays {
        let cause = "it would stay in the file, which étalon did not make";
        return Err(Failure::new(FailureKind::NotOurs, tried, cause)
            .with_hint("give it to the file yourself, by SQLite's own program, or to a copy of the file"));
    }
    Ok(())
}

/// Makes a failure from SQLite's error, its kind by the error's code.
fn sql_failure(tried: &str, error: &rusqlite::Error) -> Failure {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, OperationInterrupted, PermissionDenied, ReadOnly};
    let kind = match error.sqlite_error_code() {
        Some(DiskFull) => FailureKind::DiskFull,
        Some(ReadOnly | PermissionDenied | CannotOpen) => FailureKind::Permission,
        Some(OperationInterrupted) => FailureKind::Interrupted,
        _ if error.to_string().starts_with("no such function") => FailureKind::Unsupported,
        _ => FailureKind::Other,
    };
    Failure::new(kind, tried, error)
}

struct SqliteSystem {
    file: EmbeddedFile,
    cipher: Cipher,
    permits: Permits,
    pragmas: Vec<(String, Value)>,
    /// Commits are durable by the facts that were read last.
    is_durable: AtomicBool,
    /// A journal was next to the file before.
    had_journal: bool,
}

impl SqliteSystem {
    /// Opens the file, makes and marks it if it is new, and sets the plan's pragmas and reads each back.
    fn connect_with_pragmas(&self) -> Result<Connection, Failure> {
        self.file.make_folder()?;
        let path = self.file.path();
        let tried = format!("open {}", path.display());
        let create = match self.file.tables() {
            Tables::Own => OpenFlags::SQLITE_OPEN_CREATE,
            Tables::None => OpenFlags::empty(),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | create | OpenFlags::SQLITE_OPEN_NO_MUTEX | self.no_link_flags();
        // Counts I/O.
        let vfs = host::sqlite_vfs::register_vfs().map_err(|e| Failure::new(FailureKind::Other, &tried, e))?;
        let mut connection =
            Connection::open_with_flags_and_vfs(path, flags, vfs).map_err(|e| sql_failure(&tried, &e))?;
        self.cipher.unlock_database(&connection).map_err(|e| sql_failure(&tried, &e))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|e| sql_failure(&tried, &e))?;
        let id: i32 = connection
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .map_err(|e| sql_failure(&tried, &e))?;
        if id != APPLICATION_ID && self.file.tables() == Tables::Own {
            self.shape_file(&connection).and_then(|()| mark_file(&connection)).map_err(|e| sql_failure(&tried, &e))?;
        }
        if self.permits.are_bounded() {
            confine::confine(&mut connection).map_err(|e| sql_failure(&tried, &e))?;
        }
        for (name, value) in &self.pragmas {
            if self.file.tables() == Tables::None {
                refuse_lasting(&connection, name, value)?;
            }
            set_pragma(&connection, name, value)?;
        }
        Ok(connection)
    }

    /// Has SQLite remove a journal that a plan's `journal_mode` keeps next to the file, unless others use it.
    /// The file is one that étalon did not make.
    fn remove_kept_journal(&self) -> rusqlite::Result<()> {
        if !embedded::companion_path(self.file.path(), JOURNAL).exists() {
            return Ok(());
        }
        let connection =
            Connection::open_with_flags(self.file.path(), OpenFlags::SQLITE_OPEN_READ_WRITE | self.no_link_flags())?;
        self.cipher.unlock_database(&connection)?;
        // It is removed by leaving the mode that keeps it.
        for mode in ["PERSIST", "DELETE"] {
            connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Flags that refuse links where plans are bounded: links in the path were resolved, and no new ones may appear.
    fn no_link_flags(&self) -> OpenFlags {
        if self.permits.are_bounded() { OpenFlags::SQLITE_OPEN_NOFOLLOW } else { OpenFlags::empty() }
    }

    /// Sets the pragmas that must be set while the file is empty, such as its page size.
    fn shape_file(&self, connection: &Connection) -> rusqlite::Result<()> {
        let shaping = self.pragmas.iter().filter(|(name, _)| name == "page_size" || name == "auto_vacuum");
        for (name, value) in shaping {
            connection.pragma_update(None, name, PragmaValue(value))?;
        }
        Ok(())
    }

    /// Builds the tables of a data set in a new file, and verifies their rows.
    fn build_database(&self, data: &Dataset, path: &Path) -> Result<(), Failure> {
        let tried = format!("load {} into {}", data.name, path.display());
        let failed = |error| sql_failure(&tried, &error);
        let mut connection = self.begin_build(data, path).map_err(failed)?;
        let transaction = connection.transaction().map_err(failed)?;
        embedded::load_tables(
            data,
            &dialect::SqliteDialect,
            |sql| transaction.execute_batch(sql).map_err(failed),
            |table| {
                let sent = load_rows(&transaction, table, self.file.file_interrupt()).map_err(failed)?;
                let found =
                    Contents::read_table(table, &dialect::SqliteDialect, |sql| query_row_data(&transaction, sql));
                sent.verify_found(&table.name, &data.name, found.map_err(failed)?)
            },
        )?;
        transaction.commit().and_then(|()| connection.execute_batch("ANALYZE")).map_err(failed)
    }

    /// Opens a new, marked file for a load, which an interrupt breaks off.
    fn begin_build(&self, data: &Dataset, path: &Path) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | self.no_link_flags();
        let mut connection = Connection::open_with_flags(path, flags)?;
        // Breaks off an index or a scan, which are one statement each.
        let interrupt = Arc::clone(self.file.file_interrupt());
        connection.progress_handler(INTERRUPT_STEPS, Some(move || interrupt.load(Ordering::Relaxed)))?;
        self.cipher.unlock_database(&connection)?;
        self.shape_file(&connection)?;
        mark_file(&connection)?;
        strangers::note_names(&connection, &data.made_names(&dialect::SqliteDialect))?;
        // The statements after loading are a plan's own.
        if self.permits.are_bounded() {
            confine::confine(&mut connection)?;
        }
        Ok(connection)
    }
}

/// Marks a database as étalon's by its application id, as the first write to it.
/// It does so without a journal: companions of an unmarked database are never étalon's.
fn mark_file(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "OFF", |_| Ok(()))?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update_and_check(None, "journal_mode", "DELETE", |_| Ok(()))
}

/// Runs a query for one row of whole numbers.
fn query_row_data(connection: &Connection, sql: &str) -> rusqlite::Result<Vec<Datum>> {
    connection.query_row(sql, [], |row| {
        (0..row.as_ref().column_count())
            .map(|place| Ok(row.get::<_, Option<i64>>(place)?.map_or(Datum::Null, Datum::Int)))
            .collect()
    })
}

/// Inserts a table's rows, and returns the checksum of what was sent.
fn load_rows(connection: &Connection, table: &Table, interrupt: &AtomicBool) -> rusqlite::Result<TableChecksum> {
    let mut rows = Rows::new(table);
    if table.rows == 0 {
        return Ok(rows.checksum());
    }
    let mut row: Vec<Datum> = Vec::new();
    (table.row)(0, &mut row);
    let places = vec!["?"; row.len()].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name))?;
    while rows.next_into(&mut row) {
        insert.execute(params_from_iter(row.iter().map(value_of_datum)))?;
        if interrupt.load(Ordering::Relaxed) {
            return Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_INTERRUPT), None));
        }
    }
    Ok(rows.checksum())
}

struct PragmaValue<'a>(&'a Value);

impl rusqlite::ToSql for PragmaValue<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Bool(b) => i64::from(*b).into(),
            Value::Int(n) => (*n).into(),
            Value::Float(x) => (*x).into(),
            Value::Text(text) => text.as_str().into(),
        })
    }
}

/// Sets a pragma, and fails if SQLite does not know it or leaves it as it was.
/// SQLite ignores unknown names and values, so both are checked.
fn set_pragma(connection: &Connection, name: &str, value: &Value) -> Result<(), Failure> {
    let tried = format!("set the pragma `{name}` to `{value}`");
    let known: Vec<String> = connection
        .prepare("SELECT name FROM pragma_pragma_list ORDER BY name")
        .and_then(|mut list| list.query_map([], |row| row.get(0))?.collect())
        .map_err(|error| sql_failure(&tried, &error))?;
    if !known.iter().any(|pragma| pragma == name) {
        let failure = Failure::new(FailureKind::Plan, tried, "SQLite has no pragma of that name");
        return Err(match model::near::did_you_mean(name, known.iter().map(String::as_str)) {
            Some(near) => failure.with_hint(near),
            None => failure,
        });
    }
    let before = facts::read_pragma(connection, name);
    connection.pragma_update(None, name, PragmaValue(value)).map_err(|error| sql_failure(&tried, &error))?;
    let after = facts::read_pragma(connection, name);
    if before == after && !facts::is_same_setting(name, after.as_deref(), value) {
        let cause = format!("SQLite left it at `{}`", after.unwrap_or_default());
        return Err(Failure::new(FailureKind::Plan, tried, cause));
    }
    Ok(())
}

impl System for SqliteSystem {
    /// Reads the file's facts, and notes whether commits are durable.
    fn facts(&self) -> Result<Facts, Failure> {
        let facts = facts::read_facts(&self.connect_with_pragmas()?, &self.file, &self.cipher)?;
        let is_durable = facts.durability().is_some_and(|promised| promised.tier == DurabilityTier::Durable);
        self.is_durable.store(is_durable, Ordering::Relaxed);
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::SqliteDialect
    }

    /// Says that the engine works in the client's own threads.
    fn placement(&self) -> Placement {
        Placement::InProcess
    }

    /// Loads the data set's tables, or brings their file back as it was loaded.
    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.file.prepare_tables(data, |path| self.build_database(data, path))
    }

    /// Says how the data set's tables come back before each run.
    fn explain_reset(&self, data: &Dataset) -> Option<String> {
        self.file.explain_file_reset(data)
    }

    /// Bytes of the copies that bring tables back.
    fn kept_bytes(&self) -> u64 {
        self.file.kept_bytes()
    }

    /// Checkpoints the write-ahead log into the file.
    fn settle(&self) -> Result<(), Failure> {
        let connection = self.connect_with_pragmas()?;
        let checkpoint = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        checkpoint.map_err(|error| sql_failure("checkpoint the write-ahead log", &error))
    }

    /// Reads the file's size, syncs and writes; commits and checkpoints are unavailable.
    fn counters(&self) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        counters.set_unavailable(
            "commits",
            "",
            "SQLite does not count commits; what it ran is counted in `session_statements`",
        );
        counters.set_unavailable(
            "checkpoints",
            "",
            "SQLite does not count checkpoints: with a write-ahead log one follows every `wal_autocheckpoint` pages at least, \
             and without one there are none",
        );
        if let Ok(metadata) = fs::metadata(self.file.path()) {
            counters.set("database_growth", "bytes", metadata.len() as f64);
        }
        if let Ok(traffic) = self.own_file_traffic() {
            let files = [FileKind::Database, FileKind::Wal, FileKind::Journal].map(|kind| traffic.for_kind(kind));
            counters.set("log_syncs", "", files.iter().map(|file| file.syncs).sum::<u64>() as f64);
            counters.set("log_records", "records", files.iter().map(|file| file.writes).sum::<u64>() as f64);
        }
        counters.syncs_each_commit = self.is_durable.load(Ordering::Relaxed);
        Ok(counters)
    }

    /// Asks a query for its first value, as a whole number.
    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        let connection = self.connect_with_pragmas()?;
        let read = connection.query_row(sql, [], |row| match row.get_ref(0)? {
            ValueRef::Real(sum) if sum.fract() == 0.0 => Ok(Some(sum as i64)),
            _ => row.get::<_, Option<i64>>(0),
        });
        read.map(Option::unwrap_or_default).map_err(|error| sql_failure(&format!("run `{sql}`"), &error))
    }

    /// Runs a worker's share of a load in the calling thread, a connection per client.
    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        embedded::refuse_what_needs_a_server("SQLite", program, context.traffic)?;
        // SQLite's locks are by `fcntl` and belong to a table of files, and SQLite takes those of all its connections for the
        // process's: so only where no other thread of étalon's uses the file meanwhile.
        if context.is_alone() {
            let _ = host::file_table::own_table();
        }
        let connections: Vec<Connection> = context.connect_all(1, |_, _| self.connect_with_pragmas())?;
        let sql: Vec<String> = program.statements().iter().map(|s| s.sql_text(self.dialect())).collect();
        let lane = SqliteLane::new(&connections, sql, program.protocol())
            .map_err(|error| sql_failure("prepare the script's statements", &error))?;
        worker::run_worker(lane, program, &RealClock, context)
    }

    /// Three files per client: the database, its log and the log's index.
    fn files_per_client(&self) -> u64 {
        3
    }

    /// Opens a session of this kind with the plan's pragmas.
    fn connect_session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::SqliteSession::new(self.connect_with_pragmas()?, kind)?))
    }

    /// Reads the versions behind a spatial session.
    fn read_session_facts(&self, kind: SessionKind) -> Result<Facts, Failure> {
        session::spatial_facts(&self.connect_with_pragmas()?, kind)
    }

    /// The dialect for the pages workload, if there is one.
    fn pages_dialect(&self) -> Option<&'static dyn PagesDialect> {
        Some(&pages::Pages)
    }

    /// The dialect for the spatial workload.
    fn spatial_dialect(&self) -> Option<&'static dyn SpatialDialect> {
        Some(&spatial::Spatial)
    }

    fn backups(&self) -> Result<Box<dyn workloads::backup::backups::Backups + '_>, Failure> {
        Ok(Box::new(backup::SqliteBackups { system: self }))
    }

    /// Drops the file from the operating system's cache; SQLite's own cache ends with its connections.
    fn empty_caches(&self) -> Result<(), Failure> {
        self.file.empty_caches()
    }

    /// Reads the traffic that the counting VFS has seen on the file and its companions.
    fn own_file_traffic(&self) -> Result<Traffic, String> {
        host::sqlite_vfs::traffic_of(self.file.path()).map_err(|error| error.to_string())
    }

    /// Reads what the operating system has counted of the I/O on the file.
    fn os_io(&self) -> Result<OsIo, String> {
        self.file.os_io()
    }

    /// Removes the journal that a plan left, and everything that étalon made.
    fn drop_all(&self) -> Result<(), Failure> {
        if self.file.tables() == Tables::None && !self.had_journal {
            let tried = format!("remove the journal of {}", self.file.path().display());
            self.remove_kept_journal().map_err(|error| sql_failure(&tried, &error))?;
        }
        self.file.drop_all()
    }
}

#[cfg(test)]
mod tests;
