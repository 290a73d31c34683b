//! The template, broken in one way at a time.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use engines::embedded;
use engines::in_process::{Connection as _, InProcessLane, execute};
use load::clock::RealClock;
use load::counters::{Counters, Placement};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::generator::ThreadLimit;
use load::lane::{Completion, ErrorClass, KeptRow, Lane, OpError, OpOutcome, SessionCounts, Submitted};
use load::worker::{self, LoadCounts, WorkerContext};
use model::{EngineSpec, Facts, Reading, Reset, SystemPlan};
use workloads::dataset::{Dataset, Dialect, Tables};
use workloads::pages::account::{FileClass, IoAccount};
use workloads::pages::dialect::PagesDialect;
use workloads::session::{Session, SessionKind};
use workloads::system::{Engine, OpenRequest, OsIo, System};
use workloads::transactions::{Rows, StatementOp};
use workloads::work::Load;

use super::example::lane::ExampleConnection;
use super::example::{Example, ExampleDialect, ExampleSystem};

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Files of others are overwritten.
    ForeignFiles,
    /// The plan's settings are ignored.
    Settings,
    /// Settings that there are not are passed over.
    UnknownSettings,
    /// `settle` does nothing.
    Settle,
    /// The rows that a script asked for are dropped.
    KeptRows,
    /// Of the rows that a load in Rust asked for only the last is kept.
    AllRows,
    /// Nobody says that a transaction is open at the end of a script.
    OpenTransactions,
    /// A conflict is told as any other failure.
    Conflicts,
    /// A conflict is said to have succeeded.
    SwallowedConflicts,
    /// All clients share one connection, and a transaction that is open.
    OneConnection,
    /// A query is not executed where its rows are not kept.
    UnkeptQueries,
    /// It is executed to its first row there.
    FirstRows,
    /// A query that fails is said to have given no rows.
    KeptFailures,
    /// A write answers with a row.
    RowsOfWrites,
    /// A violated constraint is.
    Constraints,
    /// A pipeline is accepted, and statements are executed one by one.
    Pipeline,
    /// New connections are accepted, and the old ones go on.
    Reconnect,
    /// Every statement of a message gets the first one's parameters.
    JoinedParameters,
    /// A failed statement leaves its transaction open.
    Recovery,
    /// A failed statement is said to have succeeded.
    Failures,
    /// Every tenth operation is said to be done, and is not.
    LostWork,
    /// Every operation is done twice.
    DoubleWork,
    /// What is outside of a transaction is not committed.
    Autocommit,
    /// A rollback commits.
    Rollbacks,
    /// NULL becomes 0.
    Nulls,
    /// What the sessions counted is made up.
    SessionCounts,
    /// The engine's own count of commits stands still.
    Commits,
    /// Tables that are there are taken as they are.
    Prepare,
    /// Tables stay as runs leave them, whatever the plan asks for.
    Reset,
    /// The user's statements behind the tables are not run.
    Afterwards,
    /// A query gives 0, whatever it asks.
    Scalar,
    /// A client has no worker.
    Workers,
    /// A statement that is to be repeated is run once.
    Repeat,
    /// A session gives the first row of an answer alone.
    Query,
    /// It does not say what its commits promise.
    Durability,
    /// Its version changes while it runs.
    Facts,
    /// Its version is made up.
    Version,
    /// A setting that the plan does not name is.
    SettingFacts,
    /// A plain session is given where geometries are wanted.
    Spatial,
    /// The pristine copy is left behind.
    DropAll,
    /// The whole folder is removed.
    Neighbours,
    /// Tables of others are dropped.
    OthersTables,
    /// Tables that are to be there are made.
    MissingTables,
    /// `etalon plan` says that nothing would be dropped.
    WouldDrop,
    /// The data are said to be elsewhere.
    DataDirectory,
    /// It works within étalon, and says that it is a server.
    Placement,
    /// It works in the workers' threads, and says that it has threads of its own.
    ClaimedThreads,
    /// It works in threads of its own, and says so: nothing is broken.
    OwnThreads,
    /// A statement of the page test inserts a row less.
    PageRows,
    /// Pages are said to be larger than they are.
    PageSize,
}

/// Every sabotage, and the case that catches it.
pub const TABLE: &[(Sabotage, &str)] = &[
    (Sabotage::ForeignFiles, "foreign_files_are_refused_and_stay"),
    (Sabotage::Settings, "settings_hold_in_every_session"),
    (Sabotage::UnknownSettings, "an_unknown_setting_is_refused"),
    (Sabotage::Settle, "what_has_settled_is_in_the_file"),
    (Sabotage::KeptRows, "rows_reach_the_script"),
    (Sabotage::AllRows, "all_rows_reach_a_load_in_rust"),
    (Sabotage::OpenTransactions, "an_open_transaction_is_told"),
    (Sabotage::Conflicts, "a_conflict_is_told_from_a_failure"),
    (Sabotage::SwallowedConflicts, "a_conflict_is_told_from_a_failure"),
    (Sabotage::SwallowedConflicts, "a_conflict_waits_or_fails"),
    (Sabotage::OneConnection, "clients_roll_back_only_their_own_work"),
    (Sabotage::UnkeptQueries, "a_query_that_fails_when_executed_fails"),
    (Sabotage::FirstRows, "a_query_that_fails_when_executed_fails"),
    (Sabotage::KeptFailures, "a_query_that_fails_when_executed_fails"),
    (Sabotage::RowsOfWrites, "a_write_gives_no_rows"),
    (Sabotage::Constraints, "a_failed_transaction_leaves_nothing"),
    (Sabotage::Pipeline, "a_pipeline_is_one_or_is_refused"),
    (Sabotage::Reconnect, "a_connection_is_made_anew_or_that_is_refused"),
    (Sabotage::JoinedParameters, "joined_statements_take_their_own_parameters"),
    (Sabotage::Recovery, "a_failed_transaction_leaves_nothing"),
    (Sabotage::Failures, "a_statement_that_fails_is_a_clear_failure"),
    (Sabotage::LostWork, "statements_are_executed_once_and_commit_themselves"),
    (Sabotage::DoubleWork, "statements_are_executed_once_and_commit_themselves"),
    (Sabotage::Autocommit, "statements_are_executed_once_and_commit_themselves"),
    (Sabotage::Rollbacks, "transactions_are_kept_whole_or_undone"),
    (Sabotage::Nulls, "parameters_arrive_as_they_are"),
    (Sabotage::SessionCounts, "every_script_runs_and_is_counted"),
    (Sabotage::Commits, "every_script_runs_and_is_counted"),
    (Sabotage::Prepare, "a_data_set_is_made_whole_and_anew"),
    (Sabotage::Reset, "tables_come_back_in_every_way_that_is_offered"),
    (Sabotage::Afterwards, "a_data_set_is_made_whole_and_anew"),
    (Sabotage::Scalar, "a_data_set_is_made_whole_and_anew"),
    (Sabotage::Workers, "every_client_has_one_worker"),
    (Sabotage::Repeat, "a_session_does_what_it_is_told"),
    (Sabotage::Query, "a_session_does_what_it_is_told"),
    (Sabotage::Durability, "facts_are_told_and_stay"),
    (Sabotage::Facts, "facts_are_told_and_stay"),
    (Sabotage::Version, "version_and_settings_match_what_sql_reports"),
    (Sabotage::SettingFacts, "version_and_settings_match_what_sql_reports"),
    (Sabotage::Spatial, "abilities_are_there_or_refused_with_a_reason"),
    (Sabotage::DropAll, "nothing_is_left_behind_and_nothing_else_is_taken"),
    (Sabotage::Neighbours, "nothing_is_left_behind_and_nothing_else_is_taken"),
    (Sabotage::OthersTables, "the_tables_of_others_stay"),
    (Sabotage::MissingTables, "the_tables_of_others_stay"),
    (Sabotage::WouldDrop, "what_would_be_dropped_is_told"),
    (Sabotage::DataDirectory, "what_would_be_dropped_is_told"),
    (Sabotage::Placement, "the_cost_of_client_and_engine_are_told_apart"),
    (Sabotage::ClaimedThreads, "the_cost_of_client_and_engine_are_told_apart"),
    (Sabotage::PageRows, "pages_are_filled_and_counted"),
    (Sabotage::PageSize, "pages_are_filled_and_counted"),
];

/// The template, broken so.
pub fn engine(sabotage: Sabotage) -> &'static dyn Engine {
    Box::leak(Box::new(Saboteur(sabotage)))
}

struct Saboteur(Sabotage);

fn path_of(system: &SystemPlan) -> PathBuf {
    PathBuf::from(system.url.trim_start_matches("example:"))
}

impl Engine for Saboteur {
    fn spec(&self) -> EngineSpec {
        Example.spec()
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        let mut system = request.system.clone();
        let path = path_of(&system);
        match self.0 {
            Sabotage::ForeignFiles => {
                let _ = fs::remove_file(&path).and(fs::remove_file(path.with_added_extension("pristine")));
            }
            Sabotage::MissingTables if request.tables == Tables::None && !path.exists() => {
                let _ = fs::create_dir_all(path.parent().unwrap()).and(fs::write(&path, "\n"));
            }
            Sabotage::Settings => system.settings.clear(),
            Sabotage::Reset => system.reset = system.reset.map(|_| Reset::None),
            Sabotage::UnknownSettings => system.settings.retain(|name, _| name == "busy_timeout"),
            _ => {}
        }
        let opened = ExampleSystem::open_system(&OpenRequest { system: &system, ..request.clone() })?;
        Ok(Box::new(Sabotaged { sabotage: self.0, system: opened, is_prepared: false.into(), asked: 0.into() }))
    }

    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        Example.explain_made(system)
    }

    fn explain_dropped(&self, system: &SystemPlan) -> String {
        match self.0 {
            Sabotage::WouldDrop => format!("nothing: {}", path_of(system).display()),
            _ => Example.explain_dropped(system),
        }
    }

    fn choose_reset(&self, system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
        Example.choose_reset(system, size_bytes)
    }

    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        match self.0 {
            Sabotage::DataDirectory => Some(PathBuf::from("/nowhere")),
            _ => Example.data_directory(system),
        }
    }
}

struct Sabotaged {
    sabotage: Sabotage,
    system: ExampleSystem,
    is_prepared: std::sync::atomic::AtomicBool,
    asked: std::sync::atomic::AtomicU32,
}

impl System for Sabotaged {
    fn facts(&self) -> Result<Facts, Failure> {
        let mut facts = self.system.facts()?;
        let asked = self.asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut told = Facts::default();
        match self.sabotage {
            Sabotage::Durability => {
                for name in ["server.product", "server.version"] {
                    told.record_identity(name, facts.get(name).unwrap());
                }
                Ok(told)
            }
            Sabotage::Facts => {
                told.record_identity("server.product", "Example");
                told.record_identity("server.version", format!("{asked}"));
                told.set_durability(&facts.durability().unwrap());
                Ok(told)
            }
            Sabotage::Version => {
                facts.record_identity("server.version", "99.9.9");
                Ok(facts)
            }
            Sabotage::SettingFacts => {
                facts.record_identity("setting.cache_size", "12345");
                Ok(facts)
            }
            _ => Ok(facts),
        }
    }

    fn dialect(&self) -> &'static dyn Dialect {
        self.system.dialect()
    }

    fn placement(&self) -> Placement {
        match self.sabotage {
            Sabotage::Placement => Placement::Server,
            Sabotage::ClaimedThreads | Sabotage::OwnThreads => Placement::OwnThreads,
            _ => self.system.placement(),
        }
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        let was_prepared = self.is_prepared.swap(true, std::sync::atomic::Ordering::Relaxed);
        match self.sabotage {
            Sabotage::Prepare if was_prepared => Ok(()),
            Sabotage::Afterwards => self.system.prepare(&Dataset { afterwards: Vec::new(), ..data.clone() }),
            _ => self.system.prepare(data),
        }
    }

    fn explain_reset(&self, data: &Dataset) -> Option<String> {
        self.system.explain_reset(data)
    }

    fn kept_bytes(&self) -> u64 {
        self.system.kept_bytes()
    }

    fn settle(&self) -> Result<(), Failure> {
        if self.sabotage == Sabotage::Settle { Ok(()) } else { self.system.settle() }
    }

    fn counters(&self) -> Result<Counters, Failure> {
        let mut counters = self.system.counters()?;
        if self.sabotage == Sabotage::Commits {
            counters.set("commits", "", 7.0);
        }
        Ok(counters)
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        if self.sabotage == Sabotage::Scalar { Ok(0) } else { self.system.scalar(sql) }
    }

    fn split_clients(&self, clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>> {
        let first = clients.start + u32::from(self.sabotage == Sabotage::Workers);
        self.system.split_clients(first..clients.end, threads)
    }

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        if !matches!(self.sabotage, Sabotage::Pipeline | Sabotage::Reconnect) {
            embedded::refuse_what_needs_a_server("Example", program, context.traffic)?;
        }
        let lane = InProcessLane::new(
            context.connect_all(1, |_, _| self.system.connect_with_settings())?,
            program,
            &ExampleDialect,
        )?;
        let texts = program.statements().iter().map(|message| message.sql_text(&ExampleDialect)).collect();
        let lane = SabotagedLane { sabotage: self.sabotage, lane, submitted: 0, texts, row: Vec::new() };
        worker::run_worker(lane, program, &RealClock, context)
    }

    fn connect_session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        let kind = if self.sabotage == Sabotage::Spatial { SessionKind::Plain } else { kind };
        let session = self.system.connect_session(kind)?;
        Ok(Box::new(SabotagedSession { sabotage: self.sabotage, session, repeated: None }))
    }

    fn pages_dialect(&self) -> Option<&'static dyn PagesDialect> {
        match self.sabotage {
            Sabotage::PageRows | Sabotage::PageSize => Some(Box::leak(Box::new(SabotagedPages {
                sabotage: self.sabotage,
                pages: self.system.pages_dialect()?,
            }))),
            _ => self.system.pages_dialect(),
        }
    }

    fn os_io(&self) -> Result<OsIo, String> {
        self.system.os_io()
    }

    fn drop_all(&self) -> Result<(), Failure> {
        let path = self.system.file.path();
        let pristine = path.with_added_extension("pristine");
        let kept = (self.sabotage == Sabotage::DropAll).then(|| fs::read(&pristine).unwrap_or_default());
        self.system.drop_all()?;
        match self.sabotage {
            Sabotage::Neighbours => {
                let _ = fs::remove_dir_all(path.parent().unwrap());
            }
            Sabotage::OthersTables => {
                let _ = fs::remove_file(path);
            }
            _ => {}
        }
        kept.map_or(Ok(()), |bytes| {
            let kept = fs::create_dir_all(path.parent().unwrap()).and_then(|()| fs::write(pristine, bytes));
            kept.map_err(|error| Failure::new(FailureKind::Other, "leave a file behind", error))
        })
    }
}

struct SabotagedLane {
    sabotage: Sabotage,
    lane: InProcessLane<ExampleConnection>,
    submitted: u64,
    /// The program's messages.
    texts: Vec<String>,
    /// What a write answers with.
    row: Vec<KeptRow>,
}

impl SabotagedLane {
    fn text<'a>(&'a self, op: &'a StatementOp) -> &'a str {
        if op.text.is_empty() { &self.texts[op.statement] } else { &op.text }
    }

    /// What a client with a connection of its own does before its operation, and whether that was all.
    fn is_done_otherwise(&mut self, client: &mut usize, op: &StatementOp) -> bool {
        let text = self.text(op).trim().to_ascii_uppercase();
        let is_unkept_query = text.starts_with("SELECT") && !op.rows.are_kept();
        match self.sabotage {
            Sabotage::OneConnection => {
                *client = 0;
                let is_open = self.lane.clients[0].connection.is_in_transaction() == Some(true);
                (text.starts_with("BEGIN") && is_open) || (["COMMIT", "ROLLBACK"].contains(&&*text) && !is_open)
            }
            Sabotage::UnkeptQueries => is_unkept_query,
            Sabotage::FirstRows if is_unkept_query && op.parameters.is_empty() => {
                let connection = &mut self.lane.clients[*client].connection;
                connection.prepare(&text).unwrap().step().is_ok()
            }
            Sabotage::RowsOfWrites => {
                let writes = ["INSERT", "UPDATE", "DELETE"].iter().any(|word| text.starts_with(word));
                let row = KeptRow { rows: 1, columns: vec!["Count".to_owned()], values: vec![Datum::Int(1)] };
                self.row = if writes { vec![row] } else { Vec::new() };
                false
            }
            _ => false,
        }
    }
}

impl Lane for SabotagedLane {
    type Op = StatementOp;

    fn submit(&mut self, mut client: usize, op: &StatementOp) -> Submitted {
        self.submitted += 1;
        if self.is_done_otherwise(&mut client, op) {
            return Submitted::Done(OpOutcome::Ok);
        }
        let mut op = op.clone();
        match self.sabotage {
            Sabotage::LostWork if self.submitted.is_multiple_of(10) => return Submitted::Done(OpOutcome::Ok),
            Sabotage::DoubleWork => drop(self.lane.submit(client, &op)),
            Sabotage::AllRows if op.rows == Rows::KeepAll => op.rows = Rows::Keep,
            Sabotage::Autocommit => {
                let connection = &mut self.lane.clients[client].connection;
                if connection.is_in_transaction() == Some(false) {
                    execute(connection, "BEGIN").unwrap();
                }
            }
            Sabotage::Rollbacks => {
                let connection = &mut self.lane.clients[client].connection;
                // The script's last statement.
                if self.submitted.is_multiple_of(6) {
                    execute(connection, "COMMIT").unwrap();
                    return Submitted::Done(OpOutcome::Ok);
                }
            }
            Sabotage::Nulls => {
                let nulls = op.parameters.iter_mut().filter(|value| **value == Datum::Null);
                nulls.for_each(|value| *value = Datum::Int(0));
            }
            Sabotage::JoinedParameters => {
                let first = op.parameters.first().cloned().unwrap_or_default();
                op.parameters.fill(first);
            }
            _ => {}
        }
        let submitted = match self.sabotage {
            Sabotage::OwnThreads => {
                std::thread::scope(|scope| scope.spawn(|| self.lane.submit(client, &op)).join().unwrap())
            }
            _ => self.lane.submit(client, &op),
        };
        match (submitted, self.sabotage) {
            (Submitted::Done(OpOutcome::Failed(_)), Sabotage::Failures) => Submitted::Done(OpOutcome::Ok),
            (Submitted::Done(OpOutcome::Failed(error)), Sabotage::Conflicts) if error.class.is_contention() => {
                Submitted::Done(OpOutcome::Failed(OpError { class: ErrorClass::Statement, ..error }))
            }
            (Submitted::Done(OpOutcome::Failed(error)), Sabotage::SwallowedConflicts)
                if error.class.is_contention() =>
            {
                Submitted::Done(OpOutcome::Ok)
            }
            (Submitted::Done(OpOutcome::Failed(_)), Sabotage::KeptFailures) if op.rows.are_kept() => {
                Submitted::Done(OpOutcome::Ok)
            }
            (Submitted::Done(OpOutcome::Failed(error)), Sabotage::Constraints) => {
                Submitted::Done(OpOutcome::Failed(OpError { class: ErrorClass::Statement, ..error }))
            }
            (submitted, _) => submitted,
        }
    }

    fn kept_rows(&self, client: usize) -> &[KeptRow] {
        match self.sabotage {
            Sabotage::KeptRows => &[],
            Sabotage::RowsOfWrites if !self.row.is_empty() => &self.row,
            _ => self.lane.kept_rows(client),
        }
    }

    fn reap(&mut self, deadline_ns: u64, into: &mut Vec<Completion>) {
        self.lane.reap(deadline_ns, into);
    }

    fn recover(&mut self, client: usize) -> Option<OpOutcome> {
        if self.sabotage == Sabotage::Recovery { Some(OpOutcome::Ok) } else { self.lane.recover(client) }
    }

    fn end_transaction(&mut self, client: usize) -> Result<(), OpError> {
        match self.sabotage {
            Sabotage::OpenTransactions | Sabotage::Autocommit | Sabotage::OneConnection => Ok(()),
            _ => self.lane.end_transaction(client),
        }
    }

    fn reconnect(&mut self, client: usize) -> Option<OpOutcome> {
        if self.sabotage == Sabotage::Reconnect { Some(OpOutcome::Ok) } else { self.lane.reconnect(client) }
    }

    fn session_counts(&mut self) -> Result<SessionCounts, String> {
        match self.sabotage {
            Sabotage::SessionCounts => Ok(SessionCounts { statements: Some(3), ..SessionCounts::default() }),
            _ => self.lane.session_counts(),
        }
    }

    fn close(self) {
        self.lane.close();
    }
}

struct SabotagedSession {
    sabotage: Sabotage,
    session: Box<dyn Session>,
    repeated: Option<String>,
}

impl Session for SabotagedSession {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.session.execute(sql)
    }

    fn execute_repeated(&mut self, sql: &str) -> Result<(), Failure> {
        let known = self.repeated.replace(sql.to_owned());
        match self.sabotage {
            Sabotage::Repeat if known.as_deref() == Some(sql) => Ok(()),
            _ => self.session.execute_repeated(sql),
        }
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Vec<Datum>>, Failure> {
        let mut rows = self.session.query(sql)?;
        if self.sabotage == Sabotage::Query {
            rows.truncate(1);
        }
        Ok(rows)
    }
}

struct SabotagedPages {
    sabotage: Sabotage,
    pages: &'static dyn PagesDialect,
}

impl PagesDialect for SabotagedPages {
    fn page_bytes(&self, session: &mut dyn Session) -> Result<u64, Failure> {
        let bytes = self.pages.page_bytes(session)?;
        Ok(if self.sabotage == Sabotage::PageSize { 3 * bytes } else { bytes })
    }

    fn create_page_table_sql(&self, page_bytes: u64) -> Vec<String> {
        self.pages.create_page_table_sql(page_bytes)
    }

    fn insert_sql(&self, page_bytes: u64, rows: u64) -> String {
        self.pages.insert_sql(page_bytes, rows - u64::from(self.sabotage == Sabotage::PageRows))
    }

    fn row_count_sql(&self) -> &'static str {
        self.pages.row_count_sql()
    }

    fn size_bytes(&self, session: &mut dyn Session) -> Result<f64, Failure> {
        self.pages.size_bytes(session)
    }

    fn flush_writes(&self, session: &mut dyn Session) -> Result<Result<(), String>, Failure> {
        self.pages.flush_writes(session)
    }

    fn io_account(&self, system: &dyn System, session: &mut dyn Session) -> Result<IoAccount, Failure> {
        self.pages.io_account(system, session)
    }

    fn file_bytes(&self, class: FileClass, session: &mut dyn Session) -> Result<Reading, Failure> {
        self.pages.file_bytes(class, session)
    }
}
