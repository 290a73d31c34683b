//! SQL Server: an existing server, on Windows, Linux or Azure.
//!
//! Étalon works in its own database with a marker, recreated by each preparation: runs on different tables are not
//! comparable.

mod backup;
mod confine;
mod connect;
mod control;
mod counters;
mod dialect;
mod durability;
mod facts;
mod governor;
mod keys;
pub mod lane;
mod load;
pub mod pages;
mod session;
pub mod spatial;
mod steps;
mod url;
mod watch;

use std::ops::Range;
use std::sync::Arc;

use host::reactor::Choice;
use model::catalog::{Caution, Visibility};
use model::{EngineSpec, Facts, Nature, SystemPlan};

use crate::backup::Backups;
use crate::clock::RealClock;
use crate::dataset::{Dataset, Dialect, Tables};
use crate::error::Failure;
use crate::session::SessionKind;
use crate::systems::server;
use crate::systems::server::refusal::failure;
use crate::systems::server::url::{Address as _, process_environment};
use crate::systems::sqlserver::lane::{AskError, Client, Mode, NativeLane, Typed};
use crate::target::{Consent, Counters, CpuHold, Engine, Load, OpenRequest, Part, Placement, Target, Threads};
use crate::worker::{self, LOGINS_AT_ONCE, LoadCounts, WorkerContext};
use crate::workloads::pages::dialect::PagesDialect;
use crate::workloads::spatial::dialect::SpatialDialect;
use crate::workloads::transactions::Program;
use connect::Endpoint;
use control::Control;
use session::Session;
pub(crate) use url::Address;

/// Étalon's database.
const SCHEMA: &str = "etalon";

pub struct SqlServer;

impl Engine for SqlServer {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "sqlserver",
            schemes: &["mssql", "sqlserver"],
            about: "SQL Server: `mssql://login@host:port/` is a server that is there, where settings are `SET` options of \
                    étalon's sessions and options of the database that étalon makes",
            private_servers: &[],
            visibility: Visibility::Public,
            cautions: &[
                Caution::Publication(
                    "the licence of SQL Server forbids giving results of benchmarks to others without Microsoft's \
                     written approval",
                ),
                Caution::Untried(
                    "no real SQL Server has been measured by étalon's authors yet, only servers that speak its protocol: \
                     check figures against another tool's",
                ),
            ],
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        let system = request.system;
        let session = Session::of_settings(&system.settings)?;
        let address = Address::permitted(&system.url, &process_environment, &request.permits)?;
        let endpoint = Endpoint::new(address)?.within(&request.permits);
        // Rejected settings fail first.
        let mut client = session.open(&endpoint)?;
        confine::refuse_strong(&mut client, &endpoint.address, &request.permits)?;
        drop(client);
        Ok(Box::new(SqlServerTarget::new(endpoint, session, request)?))
    }

    fn needs(&self, _system: &SystemPlan) -> Option<String> {
        Some(format!("to make the database `{SCHEMA}`: the server role `dbcreator`, or an empty database of that name"))
    }

    fn would_drop(&self, system: &SystemPlan) -> String {
        match Address::parse(&system.url, &process_environment) {
            Ok(address) => format!("the database `{SCHEMA}` at {}, if étalon made it", address.shown()),
            Err(failure) => failure.to_string(),
        }
    }
}

struct SqlServerTarget {
    control: Control,
    endpoint: Endpoint,
    session: Session,
    consent: Consent,
    reactor: Choice,
    tables: Tables,
}

impl SqlServerTarget {
    fn new(endpoint: Endpoint, session: Session, request: &OpenRequest) -> Result<SqlServerTarget, Failure> {
        let OpenRequest { consent, reactor, tables, part, .. } = *request;
        // Étalon's questions are about the load's tables.
        let own = match tables {
            Tables::Own => session.clone(),
            Tables::None => session.on_tables_of_others(),
        };
        let control = Control::new(endpoint.clone(), own, part);
        control.ask(|client| {
            if tables == Tables::Own && part == Part::Whole {
                let owner = load::refuse_foreign(client, consent)?;
                load::refuse_unfit(client, &endpoint, owner)?;
            }
            Ok(())
        })?;
        Ok(SqlServerTarget { control, endpoint, session, consent, reactor, tables })
    }

    fn ask<T>(&self, question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.control.ask(question)
    }

    fn session_on(&self, tables: Tables) -> Session {
        match tables {
            Tables::Own => self.session.clone(),
            Tables::None => self.session.on_tables_of_others(),
        }
    }

    /// With the parameter types that the server wants; nothing for text statements.
    fn statements(&self, program: &Program, session: &Session) -> Result<(Vec<Typed>, Mode), Failure> {
        let Some(mode) = session::mode(program.protocol()) else { return Ok((Vec::new(), Mode::Unprepared)) };
        let statement = |statement: &crate::workloads::transactions::Statement| {
            (statement.sql(self.dialect()), statement.parameter_count())
        };
        let statements = program.statements().iter().map(statement).collect();
        let mut client = session.open(&self.endpoint)?;
        Ok((session::describe(&mut client, statements)?, mode))
    }
}

impl Target for SqlServerTarget {
    fn reach(&self, system: &SystemPlan) -> Result<SystemPlan, Failure> {
        server::reach_by_url(system)
    }

    fn facts(&self) -> Result<Facts, Failure> {
        if self.tables == Tables::Own {
            self.ask(|client| {
                let owner = load::refuse_foreign(client, self.consent)?;
                load::ensure(client, &self.endpoint, &self.session, owner)
            })?;
        }
        // The control connection has other settings.
        let mut client = self.session_on(self.tables).open(&self.endpoint)?;
        let mut facts = facts::read(&mut client, &self.endpoint)?;
        facts::add_checkpoint(&mut facts, &mut client)?;
        facts.insert("client.reactor", server::reactor_kind(self.reactor), Nature::Passing);
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::TSql
    }

    fn placement(&self) -> Placement {
        Placement::Server
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.ask(|client| {
            let owner = load::refuse_foreign(client, self.consent)?;
            load::load(client, &self.endpoint, &self.session, data, owner)
        })
    }

    fn settle(&self) -> Result<(), Failure> {
        self.ask(|client| counters::checkpoint(client).map(|_| ()))
    }

    fn counters(&self) -> Result<Counters, Failure> {
        self.ask(counters::read)
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        let tried = format!("run `{sql}`");
        let answer = self.ask(|client| client.one(sql).map_err(|error| failure(tried.clone(), &error)))?;
        server::whole_number(&answer, &tried)
    }

    fn workers(&self, clients: Range<u32>, threads: Threads) -> Vec<Range<u32>> {
        server::reactor_workers(clients, threads)
    }

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        server::dialogue::refuse_pipeline("SQL Server", program)?;
        let session = self.session_on(program.tables);
        let (statements, mode) = self.statements(program, &session)?;
        let endpoint = self.endpoint.clone();
        let first = |_| session.open_lane(&endpoint, &statements, mode).map_err(|error| error.failure(&endpoint));
        let opened = context.connect(LOGINS_AT_ONCE, first)?;
        let anew = move || session.open_lane(&endpoint, &statements, mode).map_err(|error| error.op_error(&endpoint));
        let lane = NativeLane::new(self.reactor, opened, Arc::new(anew))?;
        worker::run(lane, program, &RealClock, context)
    }

    /// Geometries are built in: every session is spatial.
    fn session(&self, kind: SessionKind) -> Result<Box<dyn crate::session::Session>, Failure> {
        Ok(Box::new(steps::SqlServerSession::new(self.session.open(&self.endpoint)?, kind)?))
    }

    fn pages(&self) -> Option<&'static dyn PagesDialect> {
        Some(&pages::Pages)
    }

    fn spatial(&self) -> Option<&'static dyn SpatialDialect> {
        Some(&spatial::Spatial)
    }

    fn backups(&self) -> Result<Box<dyn Backups + '_>, Failure> {
        Ok(Box::new(backup::SqlServerBackups::new(self)))
    }

    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        Ok(Box::new(governor::hold(&self.endpoint, cores)?))
    }

    /// Of the server's process, whoever used it.
    fn server_cpu_s(&self) -> Result<f64, String> {
        let why_not = |error: AskError| counters::reason(&error).unwrap_or_else(|| error.to_string());
        let ask = |client: &mut Client| Ok(client.one(counters::CPU).map_err(why_not));
        let seconds = self.ask(ask).map_err(|failure| failure.to_string())??;
        seconds.parse().map_err(|_| format!("the server gives `{seconds}` for its CPU time"))
    }

    fn drop_all(&self) -> Result<(), Failure> {
        let dropped = match self.tables {
            Tables::Own => self.ask(|client| {
                // The page inserts' first backup, which nobody else would remove.
                backup::forget_own(client);
                load::remove(client, &self.endpoint, &self.session)
            }),
            // Nothing was made.
            Tables::None => Ok(()),
        };
        self.control.close();
        dropped
    }
}
