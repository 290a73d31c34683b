//! The system of every engine over a library in étalon's process: an engine says by [`Library`] what differs.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use load::clock::RealClock;
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::worker::{self, LoadCounts, WorkerContext};
use model::{Durability, Facts, Value};
use workloads::dataset::{Dataset, Dialect, Tables};
use workloads::pages::dialect::PagesDialect;
use workloads::session::{Session, SessionKind};
use workloads::system::{OpenRequest, OsIo, System};
use workloads::work::Load;

use super::{Connection, InProcessLane, InProcessSession, build_tables, query_first_datum};
use crate::embedded::{self, EmbeddedFile, FileShape};

/// What differs between engines over a library that works in its caller's thread, on a file.
pub trait Library: Send + Sync + 'static {
    type Connection: Connection;

    const PRODUCT: &'static str;

    /// What lies on the disk: the file, what the library puts next to it, and how étalon knows it again.
    const SHAPE: FileShape;

    /// The settings that a plan may name. Each is set on every connection and read back. An agent refuses all others.
    const SETTINGS: &'static [&'static str];

    /// Dialect in which statements for this library are written.
    fn dialect() -> &'static dyn Dialect;

    /// Version of the library.
    fn version() -> String;

    /// Opens a connection to the file at a path.
    /// What stays in the file, such as its mode, is for étalon's own tables only.
    fn open_connection(path: &Path, tables: Tables) -> Result<Self::Connection, Failure>;

    /// Sets a setting of a plan on a connection.
    fn set_setting(connection: &mut Self::Connection, name: &str, value: &Value) -> Result<(), Failure>;

    /// Reads from a connection the value of a setting that is in force.
    fn read_setting(connection: &mut Self::Connection, name: &str) -> Result<String, Failure>;

    /// Finds what a commit promises by the settings among the facts.
    fn durability(facts: &Facts) -> Durability;

    /// Does what the library needs after a data set was loaded, such as gathering statistics; nothing by default.
    fn after_load(_connection: &mut Self::Connection) -> Result<(), Failure> {
        Ok(())
    }

    /// Has the library write everything that was committed into the file.
    fn settle_writes(connection: &mut Self::Connection) -> Result<(), Failure>;

    /// The dialect for the pages workload, if the library has one.
    fn pages() -> Option<&'static dyn PagesDialect> {
        None
    }
}

/// A system of a plan.
pub struct LibrarySystem<L: Library> {
    pub file: EmbeddedFile,
    settings: Vec<(String, Value)>,
    /// What was committed may be in a companion alone as long as it is open.
    handle: Mutex<Option<L::Connection>>,
}

impl<L: Library> LibrarySystem<L> {
    /// Opens a system of the plan: takes its file, and connects with its settings.
    ///
    /// # Errors
    /// The file is not étalon's, or a setting is none of the engine's; then nothing is left behind.
    pub fn open_system(request: &OpenRequest) -> Result<LibrarySystem<L>, Failure> {
        request.permits.check_settings(&request.system.settings, L::SETTINGS)?;
        let settings = request.system.settings.clone().into_iter().collect();
        let file = EmbeddedFile::open(request, L::SHAPE)?;
        let system = LibrarySystem { file, settings, handle: Mutex::new(None) };
        system.with_handle(|_| Ok(())).or_else(|failure| system.drop_all().and(Err(failure)))?;
        Ok(system)
    }

    /// Opens a connection with the plan's settings, each read back.
    ///
    /// # Errors
    /// The file cannot be opened, or a setting does not hold.
    pub fn connect_with_settings(&self) -> Result<L::Connection, Failure> {
        self.file.make_folder()?;
        let mut connection = L::open_connection(self.file.path(), self.file.tables())?;
        for (name, value) in &self.settings {
            let tried = format!("set `{name}` to `{value}`");
            if !L::SETTINGS.contains(&name.as_str()) {
                let cause = format!("{} has no such setting here; it has {}", L::PRODUCT, L::SETTINGS.join(", "));
                return Err(Failure::new(FailureKind::Plan, tried, cause));
            }
            L::set_setting(&mut connection, name, value)?;
            let read = L::read_setting(&mut connection, name)?;
            if read != value.to_string() {
                return Err(Failure::new(FailureKind::Plan, tried, format!("it was left at `{read}`")));
            }
        }
        Ok(connection)
    }

    /// Passes the control connection to `ask`, and opens it first if it is closed.
    fn with_handle<T>(&self, ask: impl FnOnce(&mut L::Connection) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let open = handle.take().map_or_else(|| self.connect_with_settings(), Ok)?;
        ask(handle.insert(open))
    }

    /// Closes the control connection.
    fn close_handle(&self) {
        *self.handle.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl<L: Library> System for LibrarySystem<L> {
    /// Reads the product, the version, every setting in force, and the durability.
    fn facts(&self) -> Result<Facts, Failure> {
        let mut facts = Facts::default();
        facts.record_identity("server.product", L::PRODUCT);
        facts.record_identity("server.version", L::version());
        for name in L::SETTINGS {
            facts.record_identity(
                format!("setting.{name}"),
                self.with_handle(|connection| L::read_setting(connection, name))?,
            );
        }
        let promised = L::durability(&facts);
        self.file.add_facts(&mut facts, promised);
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        L::dialect()
    }

    fn placement(&self) -> Placement {
        Placement::InProcess
    }

    /// Gives the run the tables of a data set, while the control connection is closed.
    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.close_handle();
        self.file.prepare_tables(data, |path| {
            let mut connection = L::open_connection(path, Tables::Own)?;
            build_tables(&mut connection, data, L::dialect())?;
            L::after_load(&mut connection)
        })?;
        self.with_handle(|_| Ok(()))
    }

    /// Explains how the file is brought back before each run, if the data set has tables.
    fn explain_reset(&self, data: &Dataset) -> Option<String> {
        self.file.explain_file_reset(data)
    }

    /// Size in bytes of the pristine copy of the tables; 0 without one.
    fn kept_bytes(&self) -> u64 {
        self.file.kept_bytes()
    }

    /// Has the library write everything that was committed into the file.
    fn settle(&self) -> Result<(), Failure> {
        self.with_handle(L::settle_writes)
    }

    /// Reports that the library does not count commits.
    fn counters(&self) -> Result<Counters, Failure> {
        let mut counters = Counters::default();
        counters.set_unavailable("commits", "", format!("{} does not count commits", L::PRODUCT));
        Ok(counters)
    }

    /// Runs a query, and returns the whole number that it answers, or 0.
    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        self.with_handle(|connection| Ok(query_first_datum(connection, sql)?.as_int().unwrap_or_default()))
    }

    /// Runs a worker's statements over connections of its own.
    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        embedded::refuse_what_needs_a_server(L::PRODUCT, program, context.traffic)?;
        let connections = context.connect_all(1, |_, _| self.connect_with_settings())?;
        worker::run_worker(InProcessLane::new(connections, program, L::dialect())?, program, &RealClock, context)
    }

    /// Opens a connection for single statements; fails for spatial ones.
    fn connect_session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        if kind == SessionKind::Spatial {
            let cause = format!("{} has no geometries here", L::PRODUCT);
            return Err(Failure::new(FailureKind::Unsupported, "open a session", cause));
        }
        Ok(Box::new(InProcessSession(self.connect_with_settings()?)))
    }

    fn pages_dialect(&self) -> Option<&'static dyn PagesDialect> {
        L::pages()
    }

    /// Reads what the operating system has counted of étalon's own I/O.
    fn os_io(&self) -> Result<OsIo, String> {
        self.file.os_io()
    }

    /// Closes the control connection, and removes all that étalon made.
    fn drop_all(&self) -> Result<(), Failure> {
        self.close_handle();
        self.file.drop_all()
    }
}
