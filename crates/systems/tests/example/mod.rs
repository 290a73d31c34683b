//! The template of an engine inside étalon's own process, for `transactions` and `pages`: a whole one, which the conformance
//! suite runs and breaks. To begin with a database of your own, copy this folder to `crates/systems/src/NAME/`, write
//! `pub mod NAME;` and its line of `ENGINES` into `crates/systems/src/lib.rs`, and put your library in the place of rusqlite.

pub mod lane;
mod pages;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use families::dataset::{Dataset, Dialect, Table, Tables};
use families::pages::dialect::PagesDialect;
use families::session::{Session, SessionKind};
use families::system::{Engine, OpenRequest, OsIo, System};
use families::work::Load;
use lane::{ExampleLane, from_sql, to_sql};
use load::clock::RealClock;
use load::counters::{Counters, Placement};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::worker::{self, LoadCounts, WorkerContext};
use model::catalog::Visibility;
use model::{Durability, DurabilityTier, EngineSpec, Facts, Reset, SystemPlan, Value};
use rusqlite::{Connection, params_from_iter};
use systems::embedded::{self, EmbeddedFile, FileShape, OwnershipMark};

/// What lies on the disk: the file, what the library puts beside it, and how étalon knows it again.
const SHAPE: FileShape =
    FileShape { companions: &["-wal", "-shm"], marker: OwnershipMark::Beside, strangers: |_| Vec::new() };

/// The settings that a plan may name. Each is set on every connection and read back.
const SETTINGS: &[&str] = &["busy_timeout", "cache_size", "synchronous"];

/// The registry's entry.
pub struct Example;

impl Engine for Example {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "example",
            schemes: &["example"],
            about: "The template of an engine inside étalon: `example:PATH` is a file that étalon makes and removes",
            private_servers: &[],
            own_url: None,
            workload: "transactions",
            backups: &[],
            poolers: &[],
            visibility: Visibility::Hidden,
            cautions: &[],
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        Ok(Box::new(ExampleSystem::open(request)?))
    }

    fn would_make(&self, system: &SystemPlan) -> String {
        embedded::would_make(system)
    }

    fn would_drop(&self, system: &SystemPlan) -> String {
        embedded::would_drop(system, SHAPE)
    }

    fn reset(&self, system: &SystemPlan, _size_bytes: u64) -> Result<Option<Reset>, Failure> {
        embedded::reset(system)
    }

    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        embedded::data_directory(system)
    }
}

/// A system of a plan.
pub struct ExampleSystem {
    pub file: EmbeddedFile,
    settings: Vec<(String, Value)>,
    /// The library's own handle: as long as it is open, what was committed may be in the log alone.
    handle: Mutex<Option<Connection>>,
}

impl ExampleSystem {
    pub fn open(request: &OpenRequest) -> Result<ExampleSystem, Failure> {
        // An agent refuses settings that are not on this list.
        request.permits.settings(&request.system.settings, SETTINGS)?;
        let settings = request.system.settings.clone().into_iter().collect();
        let file = EmbeddedFile::open(request, SHAPE)?;
        let system = ExampleSystem { file, settings, handle: Mutex::new(None) };
        system.with_handle(|_| Ok(())).or_else(|failure| system.drop_all().and(Err(failure)))?;
        Ok(system)
    }

    /// A connection with the plan's settings.
    pub fn connect(&self) -> Result<Connection, Failure> {
        self.file.make_folder()?;
        let tried = format!("open {}", self.file.path().display());
        let connection = Connection::open(self.file.path()).map_err(|error| failure(&tried, &error))?;
        if self.file.tables() == Tables::Own {
            // It stays in the file: somebody else's keeps the mode that it has.
            connection.pragma_update(None, "journal_mode", "WAL").map_err(|error| failure(&tried, &error))?;
        }
        for (name, value) in &self.settings {
            let tried = format!("set `{name}` to `{value}`");
            if !SETTINGS.contains(&name.as_str()) {
                let cause = format!("this engine has no such setting; it has {}", SETTINGS.join(", "));
                return Err(Failure::new(FailureKind::Plan, tried, cause));
            }
            connection.pragma_update(None, name, value.to_string()).map_err(|error| failure(&tried, &error))?;
            let read = setting(&connection, name)?;
            if read != value.to_string() {
                return Err(Failure::new(FailureKind::Plan, tried, format!("it was left at `{read}`")));
            }
        }
        Ok(connection)
    }

    fn with_handle<T>(&self, ask: impl FnOnce(&Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let open = handle.take().map_or_else(|| self.connect(), Ok)?;
        // The library opens its files when it first reads.
        setting(&open, "schema_version")?;
        ask(handle.insert(open))
    }

    fn close(&self) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn failure(tried: &str, error: &rusqlite::Error) -> Failure {
    let is_full = error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    let kind = if is_full { FailureKind::DiskFull } else { FailureKind::Other };
    Failure::new(kind, tried, error)
}

fn setting(connection: &Connection, name: &str) -> Result<String, Failure> {
    let read = connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    read.map(|value| value.to_string()).map_err(|error| failure(&format!("read the setting `{name}`"), &error))
}

/// Makes the tables of a data set in a new file, and closes it.
fn build(data: &Dataset, path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    let transaction = connection.transaction()?;
    let insert = |table: &Table| {
        let mut row: Vec<Datum> = Vec::new();
        for index in 0..table.rows {
            row.clear();
            (table.row)(index, &mut row);
            let insert = format!("INSERT INTO {} VALUES ({})", table.name, vec!["?"; row.len()].join(", "));
            transaction.prepare_cached(&insert)?.execute(params_from_iter(row.iter().map(to_sql)))?;
        }
        if table.primary_key.is_empty() {
            return Ok(());
        }
        let key = table.primary_key.join(", ");
        transaction.execute_batch(&format!("CREATE UNIQUE INDEX {0}_key ON {0} ({key})", table.name))
    };
    embedded::load(data, &ExampleDialect, |sql| transaction.execute_batch(sql), insert)?;
    transaction.commit()?;
    connection.execute_batch("ANALYZE")
}

/// How the engine writes what every SQL engine has.
pub struct ExampleDialect;

impl Dialect for ExampleDialect {
    fn placeholder(&self, number: usize) -> String {
        format!("?{number}")
    }

    /// A transaction takes its lock at the start, since one that takes it later may be refused however long it waits.
    fn statement<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        if sql.eq_ignore_ascii_case("begin") { "BEGIN IMMEDIATE".into() } else { sql.into() }
    }
}

impl System for ExampleSystem {
    fn facts(&self) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        facts.identity("server.product", "Example");
        facts.identity("server.version", rusqlite::version());
        for name in SETTINGS {
            facts.identity(format!("setting.{name}"), self.with_handle(|connection| setting(connection, name))?);
        }
        let (tier, because) = match facts.get("setting.synchronous") {
            Some("0") => (DurabilityTier::Unsafe, "synchronous=0: nothing is synced".to_owned()),
            Some("1") => (DurabilityTier::Delayed, "synchronous=1: a commit is not synced".to_owned()),
            _ => (DurabilityTier::Durable, "each commit syncs the log".to_owned()),
        };
        self.file.add_facts(&mut facts, Durability { tier, because, except: None });
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &ExampleDialect
    }

    fn placement(&self) -> Placement {
        Placement::InProcess
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.close();
        let tried = |path: &Path| format!("load {} into {}", data.name, path.display());
        self.file.prepare(data, |path| build(data, path).map_err(|error| failure(&tried(path), &error)))?;
        self.with_handle(|_| Ok(()))
    }

    fn reset(&self, data: &Dataset) -> Option<String> {
        self.file.reset_words(data)
    }

    fn kept_bytes(&self) -> u64 {
        self.file.kept_bytes()
    }

    fn settle(&self) -> Result<(), Failure> {
        self.with_handle(|connection| {
            let checkpoint = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            checkpoint.map_err(|error| failure("write what is in the log alone", &error))
        })
    }

    fn counters(&self) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        counters.unavailable("commits", "", "this engine does not count commits");
        Ok(counters)
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        self.with_handle(|connection| {
            let read = connection.query_row(sql, [], |row| row.get::<_, Option<i64>>(0));
            read.map(Option::unwrap_or_default).map_err(|error| failure(&format!("run `{sql}`"), &error))
        })
    }

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        embedded::refuse_what_needs_a_server("this engine", program, context.traffic)?;
        let connections = context.connect(1, |_| self.connect())?;
        worker::run(ExampleLane::new(connections, program)?, program, &RealClock, context)
    }

    fn session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        if kind == SessionKind::Spatial {
            return Err(Failure::new(FailureKind::Unsupported, "open a session", "this engine has no geometries"));
        }
        Ok(Box::new(ExampleSession(self.connect()?)))
    }

    fn pages(&self) -> Option<&'static dyn PagesDialect> {
        Some(&pages::ExamplePages)
    }

    fn os_io(&self) -> Result<OsIo, String> {
        self.file.os_io()
    }

    fn drop_all(&self) -> Result<(), Failure> {
        self.close();
        self.file.drop_all()
    }
}

/// Statements asked one by one.
struct ExampleSession(Connection);

impl Session for ExampleSession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.0.execute_batch(sql).map_err(|error| failure(&families::session::running(sql), &error))
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let read = || -> rusqlite::Result<Vec<Vec<Datum>>> {
            let mut statement = self.0.prepare(sql)?;
            let columns = statement.column_count();
            let mut rows = statement.query([])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(
                    (0..columns).map(|place| Ok(from_sql(row.get_ref(place)?))).collect::<rusqlite::Result<_>>()?,
                );
            }
            Ok(found)
        };
        read().map_err(|error| failure(&families::session::running(sql), &error))
    }
}
