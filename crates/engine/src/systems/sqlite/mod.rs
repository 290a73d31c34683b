//! SQLite, embedded: a database file that étalon makes, fills, measures and removes.

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

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use host::claim::Claim;
use host::disk::ProcIo;
use host::sqlite_vfs::Traffic;
use model::catalog::Visibility;
use model::{EngineSpec, Facts, SystemPlan, Value};
use rusqlite::{Connection, OpenFlags, params_from_iter};

use self::cipher::Cipher;
use crate::clock::RealClock;
use crate::dataset::{Dataset, Datum, Dialect, Table, Tables};
use crate::error::{Failure, FailureKind};
use crate::permits::Permits;
use crate::session::{Session, SessionKind};
use crate::systems::kept::claim_file;
use crate::systems::sqlite::lane::{SqliteLane, to_sql};
use crate::target::{Counters, Engine, Load, OpenRequest, OsIo, Placement, Target};
use crate::worker::{self, Tally, WorkerContext};
use crate::workloads::pages::dialect::PagesDialect;
use crate::workloads::spatial::dialect::SpatialDialect;
use crate::workloads::transactions::Program;

/// Written into the header of every database that étalon makes: "étal" in Latin-1. A file without it is not ours.
const APPLICATION_ID: i32 = i32::from_be_bytes([0xe9, b't', b'a', b'l']);

/// How long a client waits for a lock, unless the plan sets `busy_timeout`.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// What SQLite puts beside a database file.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The registry's entries.
pub enum Sqlite {
    /// SQLite.
    Plain,
    /// SQLCipher: SQLite with encrypted pages.
    Encrypted,
}

impl Engine for Sqlite {
    fn spec(&self) -> EngineSpec {
        let (name, schemes, about): (_, &[&str], _) = match self {
            Sqlite::Plain => (
                "sqlite",
                &["sqlite"],
                "SQLite inside étalon itself: `sqlite:PATH` is a file that étalon makes and removes; settings are pragmas",
            ),
            Sqlite::Encrypted => (
                "sqlcipher",
                &["sqlcipher"],
                "SQLCipher inside an étalon that was built with the feature `sqlcipher`: as `sqlite:`, but encrypted by a \
                 key that étalon draws",
            ),
        };
        EngineSpec { name, schemes, about, private_servers: &[], visibility: Visibility::Public, cautions: &[] }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        let path = request.permits.path(&path_of(request.system)?)?;
        request.permits.settings(&request.system.settings, confine::PRAGMAS)?;
        let pristine = request.permits.path(&path.with_added_extension("pristine"))?;
        match request.tables {
            Tables::Own => refuse_foreign_file(&path).and_then(|()| refuse_foreign_file(&pristine))?,
            Tables::None => refuse_missing_file(&path)?,
        }
        let cipher = match self {
            Sqlite::Plain => Cipher::Plain,
            Sqlite::Encrypted => Cipher::drawn(request)?,
        };
        let target = SqliteTarget {
            tables: request.tables,
            folder_to_make: path.parent().filter(|folder| !folder.exists()).map(Path::to_owned),
            pristine,
            path,
            cipher,
            permits: request.permits.clone(),
            pragmas: request.system.settings.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            prepared: Mutex::new(None),
            claim: Mutex::new(None),
        };
        target.claim()?;
        if request.tables == Tables::Own {
            // Another étalon may have ended, and somebody else have come, before the claim was had.
            refuse_foreign_file(&target.path).and_then(|()| refuse_foreign_file(&target.pristine))?;
            // What an étalon that was killed has left may be half a file.
            target.remove(&target.path)?;
            target.remove(&target.pristine)?;
        }
        target.connect()?;
        Ok(Box::new(target))
    }

    fn would_drop(&self, system: &SystemPlan) -> String {
        match path_of(system).and_then(|path| refuse_foreign_file(&path).map(|()| path)) {
            Ok(path) if path.exists() => format!("the file {}, which étalon made", path.display()),
            Ok(path) => format!("nothing: {} does not exist yet", path.display()),
            Err(failure) => failure.to_string(),
        }
    }

    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        let path = path_of(system).ok()?;
        Some(path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned())
    }
}

fn path_of(system: &SystemPlan) -> Result<PathBuf, Failure> {
    let path = system.url.split_once(':').map_or(system.url.as_str(), |(_, path)| path);
    let path = path.strip_prefix("//").unwrap_or(path);
    if path.is_empty() || path.starts_with(":memory:") || path.contains('?') {
        return Err(Failure::new(
            FailureKind::Plan,
            format!("open the database `{}`", system.url),
            "étalon needs the path of a file: each client has a connection of its own, and what is in memory is not \
             shared between them",
        )
        .hint("write `sqlite:some/folder/name.db`"));
    }
    Ok(PathBuf::from(path))
}

/// Refuses a file that étalon did not make, and what SQLite left beside one: it may be all that is left of a transaction.
fn refuse_foreign_file(path: &Path) -> Result<(), Failure> {
    let tried = || format!("use the database file {}", path.display());
    let bytes = match read_header(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(io_failure(&tried(), &error)),
    };
    // https://www.sqlite.org/fileformat.html#the_database_header: the application id is at offset 68.
    if bytes.get(68..72).is_some_and(|id| id == APPLICATION_ID.to_be_bytes()) {
        return Ok(());
    }
    let refused = |cause: String| {
        Err(Failure::new(FailureKind::NotOurs, tried(), cause)
            .hint("name a file that does not exist yet; étalon makes it, and removes it at the end"))
    };
    if !bytes.is_empty() {
        return refused("it exists already, and étalon did not make it".to_owned());
    }
    // Étalon marks a database before SQLite puts anything beside it.
    match COMPANIONS.iter().map(|suffix| companion(path, suffix)).find(|file| fs::symlink_metadata(file).is_ok()) {
        Some(file) => refused(format!("{} is there already, and belongs to no database of étalon's", file.display())),
        None => Ok(()),
    }
}

/// Refuses a file that is not there, where the tables are to be.
fn refuse_missing_file(path: &Path) -> Result<(), Failure> {
    let tried = format!("use the tables in {}", path.display());
    match fs::metadata(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(io_failure(&tried, &error)
            .hint("with `tables = \"none\"` the database must be there; with `\"own\"` étalon makes it")),
    }
}

/// The file that SQLite puts beside a database under its name and a suffix.
fn companion(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn read_header(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::new();
    fs::File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(header)
}

fn io_failure(tried: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => FailureKind::Missing,
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => FailureKind::Permission,
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => FailureKind::DiskFull,
        _ => FailureKind::Other,
    };
    Failure::new(kind, tried, error)
}

fn sql_failure(tried: &str, error: &rusqlite::Error) -> Failure {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly};
    let kind = match error.sqlite_error_code() {
        Some(DiskFull) => FailureKind::DiskFull,
        Some(ReadOnly | PermissionDenied | CannotOpen) => FailureKind::Permission,
        _ if error.to_string().starts_with("no such function") => FailureKind::Unsupported,
        _ => FailureKind::Other,
    };
    Failure::new(kind, tried, error)
}

struct SqliteTarget {
    /// Whether étalon makes the tables, and the file with them.
    tables: Tables,
    path: PathBuf,
    /// The database's folder, if it did not exist: made with the database, and removed with it.
    folder_to_make: Option<PathBuf>,
    /// A copy of the tables as they were loaded; copied back before each trial.
    pristine: PathBuf,
    /// How both files are locked.
    cipher: Cipher,
    /// Whether statements may reach other files.
    permits: Permits,
    pragmas: Vec<(String, Value)>,
    /// The data set that the pristine copy holds.
    prepared: Mutex<Option<String>>,
    /// Keeps other étalons away from the database, until it is removed.
    claim: Mutex<Option<Claim>>,
}

impl Drop for SqliteTarget {
    /// A folder that another system had its database in when this one's was removed is empty by now.
    fn drop(&mut self) {
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(folder) = &self.folder_to_make {
            let _ = fs::remove_dir(folder);
        }
    }
}

impl SqliteTarget {
    fn make_folder(&self) -> Result<(), Failure> {
        let Some(folder) = &self.folder_to_make else { return Ok(()) };
        let tried = format!("make the folder {}", folder.display());
        fs::create_dir_all(folder).map_err(|error| io_failure(&tried, &error))
    }

    /// Keeps other étalons away.
    fn claim(&self) -> Result<(), Failure> {
        self.make_folder()?;
        let mut claim = self.claim.lock().unwrap_or_else(PoisonError::into_inner);
        if claim.is_none() {
            *claim = match claim_file(&self.path) {
                // Who may write nothing beside somebody's tables can do them no harm either.
                Err(failure) if self.tables == Tables::None && failure.kind == FailureKind::Permission => None,
                claimed => Some(claimed?),
            };
        }
        Ok(())
    }

    /// A connection with the plan's pragmas, each read back.
    fn connect(&self) -> Result<Connection, Failure> {
        self.make_folder()?;
        let tried = format!("open {}", self.path.display());
        let create = match self.tables {
            Tables::Own => OpenFlags::SQLITE_OPEN_CREATE,
            Tables::None => OpenFlags::empty(),
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | create | OpenFlags::SQLITE_OPEN_NO_MUTEX | self.links();
        // What passes between SQLite and its files is counted on the way.
        let vfs = host::sqlite_vfs::register().map_err(|e| Failure::new(FailureKind::Other, &tried, e))?;
        let mut connection =
            Connection::open_with_flags_and_vfs(&self.path, flags, vfs).map_err(|e| sql_failure(&tried, &e))?;
        self.cipher.unlock(&connection).map_err(|e| sql_failure(&tried, &e))?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(|e| sql_failure(&tried, &e))?;
        let id: i32 = connection
            .pragma_query_value(None, "application_id", |row| row.get(0))
            .map_err(|e| sql_failure(&tried, &e))?;
        if id != APPLICATION_ID && self.tables == Tables::Own {
            self.shape(&connection).and_then(|()| mark(&connection)).map_err(|e| sql_failure(&tried, &e))?;
        }
        if self.permits.are_bounded() {
            confine::confine(&mut connection).map_err(|e| sql_failure(&tried, &e))?;
        }
        for (name, value) in &self.pragmas {
            set_pragma(&connection, name, value)?;
        }
        Ok(connection)
    }

    /// Where there are bounds the path has been freed of links, and none may have come since.
    fn links(&self) -> OpenFlags {
        if self.permits.are_bounded() { OpenFlags::SQLITE_OPEN_NOFOLLOW } else { OpenFlags::empty() }
    }

    /// Gives a new file what can be given only before anything is written to it.
    fn shape(&self, connection: &Connection) -> rusqlite::Result<()> {
        let shaping = self.pragmas.iter().filter(|(name, _)| name == "page_size" || name == "auto_vacuum");
        for (name, value) in shaping {
            connection.pragma_update(None, name, PragmaValue(value))?;
        }
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), Failure> {
        let companions = COMPANIONS.iter().map(|suffix| companion(path, suffix));
        for file in companions.chain([path.to_owned()]) {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(io_failure(&format!("remove {}", file.display()), &error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Loads the tables into a new file.
    fn build(&self, data: &Dataset) -> Result<(), Failure> {
        let tried = format!("load {} into {}", data.name, self.pristine.display());
        self.remove(&self.pristine)?;
        let load = || -> rusqlite::Result<()> {
            let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | self.links();
            let mut connection = Connection::open_with_flags(&self.pristine, flags)?;
            self.cipher.unlock(&connection)?;
            self.shape(&connection)?;
            mark(&connection)?;
            // The statements behind the tables are a plan's own.
            if self.permits.are_bounded() {
                confine::confine(&mut connection)?;
            }
            let transaction = connection.transaction()?;
            for table in &data.tables {
                transaction.execute_batch(&dialect::SqliteDialect.create_table(table))?;
                load_rows(&transaction, table)?;
            }
            for index in &data.indexes {
                transaction.execute_batch(&dialect::SqliteDialect.create_index(index))?;
            }
            for statement in &data.afterwards {
                transaction.execute_batch(statement)?;
            }
            transaction.commit()?;
            connection.execute_batch("ANALYZE")
        };
        load().map_err(|error| sql_failure(&tried, &error))
    }
}

/// Marks a new database as étalon's. That is its first write, and without a journal: whenever étalon is killed, what lies
/// beside an unmarked database is not its own.
fn mark(connection: &Connection) -> rusqlite::Result<()> {
    let journal = |mode| connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(()));
    journal("OFF")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    journal("DELETE")
}

/// Copies a file byte by byte and brings it to the device. A system's own copy may share the blocks of both files (XFS,
/// btrfs, ZFS and APFS do), and whoever writes to one of them then pays for parting them: a trial would, and one journal
/// more than the other.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut from = fs::File::open(from)?;
    let mut to = fs::File::create(to)?;
    let mut piece = vec![0; 1 << 20];
    loop {
        match from.read(&mut piece)? {
            0 => break,
            bytes => to.write_all(piece.get(..bytes).unwrap_or_default())?,
        }
    }
    to.sync_all()
}

fn load_rows(connection: &Connection, table: &Table) -> rusqlite::Result<()> {
    if table.rows == 0 {
        return Ok(());
    }
    let mut row: Vec<Datum> = Vec::new();
    (table.row)(0, &mut row);
    let places = vec!["?"; row.len()].join(", ");
    let mut insert = connection.prepare(&format!("INSERT INTO {} VALUES ({places})", table.name))?;
    for index in 0..table.rows {
        row.clear();
        (table.row)(index, &mut row);
        insert.execute(params_from_iter(row.iter().map(to_sql)))?;
    }
    Ok(())
}

/// A plan's value as a pragma takes it.
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

/// Sets a pragma. SQLite ignores names and values that it does not know, so both are checked.
fn set_pragma(connection: &Connection, name: &str, value: &Value) -> Result<(), Failure> {
    let tried = format!("set the pragma `{name}` to `{value}`");
    let known: Vec<String> = connection
        .prepare("SELECT name FROM pragma_pragma_list ORDER BY name")
        .and_then(|mut list| list.query_map([], |row| row.get(0))?.collect())
        .map_err(|error| sql_failure(&tried, &error))?;
    if !known.iter().any(|pragma| pragma == name) {
        let failure = Failure::new(FailureKind::Plan, tried, "SQLite has no pragma of that name");
        return Err(match model::nearest(name, known.iter().map(String::as_str)) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure,
        });
    }
    let read = || facts::pragma(connection, name);
    let before = read();
    connection.pragma_update(None, name, PragmaValue(value)).map_err(|error| sql_failure(&tried, &error))?;
    let after = read();
    if before == after && !facts::same_setting(name, after.as_deref(), value) {
        let cause = format!("SQLite left it at `{}`", after.unwrap_or_default());
        return Err(Failure::new(FailureKind::Plan, tried, cause));
    }
    Ok(())
}

/// Refuses what there is nothing for in an engine that works within the call.
fn refuse_what_needs_a_server(program: &Program, traffic: &crate::traffic::Traffic) -> Result<(), Failure> {
    let (key, value, cause, hint) = match (program.depth(), traffic.reconnect_every) {
        (2.., _) => {
            let cause = "SQLite answers within the call: there is nothing to be sent ahead";
            ("pipeline", program.depth(), cause, "leave `pipeline` at 1 on SQLite")
        }
        (_, 1..) => {
            let cause = "SQLite has no server that would let a client in anew: its connections stay open";
            ("reconnect", traffic.reconnect_every, cause, "leave `reconnect` out on SQLite, or at 0")
        }
        _ => return Ok(()),
    };
    Err(Failure::new(FailureKind::Unsupported, format!("use `{key} = {value}`"), cause).hint(hint))
}

impl Target for SqliteTarget {
    fn facts(&self) -> Result<Facts, Failure> {
        facts::read(&self.connect()?, &self.path, &self.cipher)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::SqliteDialect
    }

    fn placement(&self) -> Placement {
        Placement::InProcess
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.claim()?;
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        if prepared.as_deref() != Some(&data.name) {
            *prepared = None;
            self.build(data)?;
            *prepared = Some(data.name.clone());
        }
        self.remove(&self.path)?;
        let tried = format!("copy {} to {}", self.pristine.display(), self.path.display());
        // It must be on the device before the trial, or its write-back would be part of what is measured.
        copy(&self.pristine, &self.path).map_err(|error| io_failure(&tried, &error))
    }

    fn settle(&self) -> Result<(), Failure> {
        let connection = self.connect()?;
        let checkpoint = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        checkpoint.map_err(|error| sql_failure("checkpoint the write-ahead log", &error))
    }

    fn counters(&self) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        counters.unavailable(
            "commits",
            "",
            "SQLite does not count commits; what it ran is counted in `session_statements`",
        );
        if let Ok(metadata) = fs::metadata(&self.path) {
            counters.set("database_growth", "bytes", metadata.len() as f64);
        }
        Ok(counters)
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        let connection = self.connect()?;
        let read = connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
        read.map(Option::unwrap_or_default).map_err(|error| sql_failure(&format!("run `{sql}`"), &error))
    }

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let program = load.statements()?;
        refuse_what_needs_a_server(program, context.traffic)?;
        let connections: Vec<Connection> = context.connect(1, |_| self.connect())?;
        let sql: Vec<String> = program.statements().iter().map(|s| s.sql(self.dialect())).collect();
        let lane = SqliteLane::new(&connections, sql, program.protocol())
            .map_err(|error| sql_failure("prepare the script's statements", &error))?;
        worker::run(lane, program, &RealClock, context)
    }

    /// The database, its log and the log's index.
    fn files_per_client(&self) -> u64 {
        3
    }

    fn session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::SqliteSession::new(self.connect()?, kind)?))
    }

    fn session_facts(&self, kind: SessionKind) -> Result<Facts, Failure> {
        session::facts(&self.connect()?, kind)
    }

    fn pages(&self) -> Option<&'static dyn PagesDialect> {
        Some(&pages::Pages)
    }

    fn spatial(&self) -> Option<&'static dyn SpatialDialect> {
        Some(&spatial::Spatial)
    }

    fn backups(&self) -> Result<Box<dyn crate::backup::Backups + '_>, Failure> {
        Ok(Box::new(backup::SqliteBackups { target: self }))
    }

    /// SQLite's own cache goes with its connections.
    fn empty_caches(&self) -> Result<(), Failure> {
        for path in [self.path.clone(), companion(&self.path, COMPANIONS[0])] {
            match host::disk::evict(&path) {
                Err(host::HostError::Path { cause, .. }) if cause.kind() == std::io::ErrorKind::NotFound => {}
                other => other.map_err(|e| Failure::new(FailureKind::Unsupported, "empty the caches", e))?,
            }
        }
        Ok(())
    }

    fn own_files(&self) -> Result<Traffic, String> {
        host::sqlite_vfs::traffic(&self.path).map_err(|error| error.to_string())
    }

    fn os_io(&self) -> Result<OsIo, String> {
        Ok(OsIo::of(ProcIo::of(std::process::id())?, &self.path))
    }

    fn drop_all(&self) -> Result<(), Failure> {
        if self.tables == Tables::None {
            return Ok(());
        }
        self.remove(&self.path)?;
        self.remove(&self.pristine)?;
        *self.claim.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(folder) = &self.folder_to_make {
            // Another system may still have its database there, or the user a file.
            let _ = fs::remove_dir(folder);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
