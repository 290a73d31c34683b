//! MySQL and MariaDB: an existing server, or a private one.
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
mod keys;
pub mod lane;
mod load;
mod option_file;
pub mod pages;
mod private;
mod programs;
mod session;
pub mod spatial;
mod steps;
mod tls;
mod url;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use host::reactor::Choice;
use model::catalog::Visibility;
use model::{EngineSpec, Facts, Nature, SystemPlan};

use crate::clock::RealClock;
use crate::dataset::{Dataset, Dialect, Tables};
use crate::error::{Failure, FailureKind};
use crate::permits::Permits;
use crate::session::SessionKind;
use crate::systems::mysql::lane::{Client, NativeLane};
use crate::systems::owner::Owner;
use crate::systems::server;
use crate::systems::server::counted::{Counted, Question};
use crate::systems::server::refusal::failure;
use crate::systems::server::url::{Address as _, process_environment};
use crate::target::{Consent, Counters, CpuHold, Engine, Load, OpenRequest, OsIo, Part, Placement, Target, Threads};
use crate::worker::{self, LOGINS_AT_ONCE, LoadCounts, WorkerContext};
use crate::workloads::pages::dialect::PagesDialect;
use crate::workloads::spatial::dialect::SpatialDialect;
use crate::workloads::transactions::{Program, Protocol};
use connect::{Endpoint, Purpose};
use control::Control;
use counters::Checkpoint;
use private::Private;
use programs::Product;
use session::Session;
pub(crate) use url::Address;

/// Étalon's database.
const SCHEMA: &str = "etalon";

pub struct MySql;

impl Engine for MySql {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "mysql",
            schemes: &["mysql", "mariadb"],
            about: "MySQL and MariaDB: `mysql://user@host:port/` is a server that is there, where settings are those of \
                    étalon's sessions; `server = { engine = \"mariadb\" }`, or `\"mysql\"`, is one that étalon makes and \
                    removes, where they are the server's",
            private_servers: Product::WORDS,
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        let system = request.system;
        let target = match &system.server {
            Some(server) => {
                let (private, endpoint) = Private::start(server, request)?;
                MySqlTarget::new(endpoint, Session::default(), Some(private), request)?
            }
            None => {
                let address = Address::permitted(&system.url, &process_environment, &request.permits)?;
                request.permits.settings(&system.settings, confine::SETTINGS)?;
                let endpoint = Endpoint::new(address)?;
                let mut client = endpoint.connect(Purpose::Control)?;
                confine::refuse_strong(&mut client, &endpoint.address, &request.permits)?;
                let session = Session::with_settings(&mut client, &system.settings)?;
                client.close();
                MySqlTarget::new(endpoint, session, None, request)?
            }
        };
        Ok(Box::new(target))
    }

    fn needs(&self, system: &SystemPlan) -> Option<String> {
        let url = Some(&system.url).filter(|_| system.server.is_none())?;
        let Address { user, .. } = Address::parse(url, &process_environment).ok()?;
        Some(format!(
            "to work in a database of its own, whatever the URL names: `GRANT ALL ON {SCHEMA}.* TO '{user}'@…`"
        ))
    }

    fn would_drop(&self, system: &SystemPlan) -> String {
        if system.server.is_some() {
            return "nothing: the server is étalon's own, made and removed by it".to_owned();
        }
        match Address::parse(&system.url, &process_environment) {
            Ok(address) => format!("the database `{SCHEMA}` at {}, if étalon made it", address.shown()),
            Err(failure) => failure.to_string(),
        }
    }

    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        server::private::data_directory(system)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Travel {
    /// `COM_STMT_EXECUTE` of statements prepared at connect.
    Prepared,
    /// `COM_QUERY`.
    Text,
}

/// The only place that maps a program's protocol.
fn travel(protocol: Protocol) -> Result<Travel, Failure> {
    match protocol {
        Protocol::Prepared => Ok(Travel::Prepared),
        Protocol::Simple => Ok(Travel::Text),
        Protocol::Extended => Err(Failure::new(
            FailureKind::Unsupported,
            "use `protocol = \"extended\"`",
            "MySQL's protocol takes parameters only with statements that were prepared before",
        )
        .hint("choose `prepared` or `simple`")),
    }
}

struct MySqlTarget {
    // Dropped before the server that it leads to.
    control: Control,
    endpoint: Endpoint,
    session: Session,
    private: Option<Mutex<Private>>,
    checkpoint: Checkpoint,
    consent: Consent,
    permits: Permits,
    reactor: Choice,
    tables: Tables,
}

impl MySqlTarget {
    fn new(
        endpoint: Endpoint,
        session: Session,
        private: Option<Private>,
        request: &OpenRequest,
    ) -> Result<MySqlTarget, Failure> {
        let OpenRequest { consent, reactor, tables, part, .. } = *request;
        // Étalon's questions are about the load's tables.
        let own = match tables {
            Tables::Own => session.clone(),
            Tables::None => session.on_tables_of_others(),
        };
        let control = Control::new(endpoint.clone(), own, part);
        let checkpoint = control.ask(|client| {
            if tables == Tables::Own && part == Part::Whole {
                let owner = load::refuse_foreign(client, consent)?;
                counters::refuse_unfit(client, &endpoint, owner != Owner::Nobody)?;
            }
            counters::checkpoint(client)
        })?;
        let private = private.map(Mutex::new);
        let permits = request.permits.clone();
        Ok(MySqlTarget { control, endpoint, session, private, checkpoint, consent, permits, reactor, tables })
    }

    fn ask<T>(&self, question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.control.ask(question).map_err(|failure| self.explain(failure))
    }

    /// Adds what a private server's log tells.
    fn explain(&self, failure: Failure) -> Failure {
        match self.private() {
            Some(private) if failure.may_pass() => private.explain_loss(failure),
            _ => failure,
        }
    }

    fn private(&self) -> Option<MutexGuard<'_, Private>> {
        self.private.as_ref().map(|private| private.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Prepared on each connection, with the question for session counts last.
    fn asking(&self, program: &Program) -> Result<(Vec<String>, Question), Failure> {
        let question = self.ask(|client| Ok(counters::of_session(client.session.flavor())))?;
        let mut statements = self.statements(program)?;
        if travel(program.protocol())? == Travel::Prepared {
            statements.push(question.sql.to_owned());
        }
        Ok((statements, question))
    }

    /// To be prepared; empty for text statements.
    fn statements(&self, program: &Program) -> Result<Vec<String>, Failure> {
        let sql = || program.statements().iter().map(|statement| statement.sql(self.dialect())).collect();
        Ok(match travel(program.protocol())? {
            Travel::Text => Vec::new(),
            Travel::Prepared => sql(),
        })
    }

    fn session_on(&self, tables: Tables) -> Session {
        match tables {
            Tables::Own => self.session.clone(),
            Tables::None => self.session.on_tables_of_others(),
        }
    }

    fn drive_program(&self, program: &Program, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        server::dialogue::refuse_pipeline("MySQL", program)?;
        let (statements, question) = self.asking(program)?;
        let session = self.session_on(program.tables);
        let endpoint = self.endpoint.clone();
        let first = |_| {
            let opened = session.open_lane(&endpoint, &statements);
            opened.map_err(|error| self.explain(error.failure(&endpoint)))
        };
        let opened = context.connect(LOGINS_AT_ONCE, first)?;
        let anew = move || session.open_lane(&endpoint, &statements).map_err(|error| error.op_error(&endpoint));
        let lane = NativeLane::new(self.reactor, opened, Arc::new(anew))?;
        worker::run(Counted::new(lane, question, program, &context)?, program, &RealClock, context)
    }
}

impl Target for MySqlTarget {
    fn reach(&self, system: &SystemPlan) -> Result<SystemPlan, Failure> {
        if self.private.is_none() {
            return server::reach_by_url(system);
        }
        server::reach_private(system, self.endpoint.address.url_of_private())
    }

    fn facts(&self) -> Result<Facts, Failure> {
        // The control connection has other settings.
        let mut client = self
            .session_on(self.tables)
            .open(&self.endpoint, Purpose::Load)
            .map_err(|failure| self.explain(failure))?;
        let mut facts = facts::read(&mut client, &self.endpoint, self.tables)?;
        client.close();
        facts.insert("checkpoint_before_run", self.checkpoint.fact(), Nature::Identity);
        facts.insert("client.reactor", server::reactor_kind(self.reactor), Nature::Passing);
        if let Some(private) = self.private() {
            private.add_facts(&mut facts);
        }
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::MySqlDialect
    }

    fn placement(&self) -> Placement {
        Placement::Server
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.ask(|client| {
            let owner = load::refuse_foreign(client, self.consent)?;
            load::load(client, data, owner)
        })
    }

    fn settle(&self) -> Result<(), Failure> {
        self.ask(|client| {
            if self.private.is_some() {
                counters::await_purge(client)?;
            }
            counters::flush(client, &self.checkpoint)
        })
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

    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        self.drive_program(program, context)
    }

    /// Geometries are built in: every session is spatial.
    fn session(&self, _kind: SessionKind) -> Result<Box<dyn crate::session::Session>, Failure> {
        let client = self.session.open(&self.endpoint, Purpose::Load).map_err(|failure| self.explain(failure))?;
        Ok(Box::new(steps::MySqlSession::new(client)))
    }

    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        server::private::limit_cpu(self.private().and_then(|private| private.running.pid()), cores)
    }

    fn pages(&self) -> Option<&'static dyn PagesDialect> {
        Some(&pages::Pages)
    }

    fn spatial(&self) -> Option<&'static dyn SpatialDialect> {
        Some(&spatial::Spatial)
    }

    fn backups(&self) -> Result<Box<dyn crate::backup::Backups + '_>, Failure> {
        Ok(Box::new(backup::MySqlBackups { target: self }))
    }

    fn empty_caches(&self) -> Result<(), Failure> {
        let Some(mut private) = self.private() else {
            return Err(server::private::not_restarted());
        };
        self.control.close();
        private.restart_cold(&self.endpoint)
    }

    fn os_io(&self) -> Result<OsIo, String> {
        match self.private() {
            Some(private) => private.running.os_io(),
            None => Err("the server's processes are not étalon's own".to_owned()),
        }
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        match self.private() {
            Some(private) => private.cpu_s(),
            None => Err("the server's process is not étalon's own".to_owned()),
        }
    }

    fn begin_round(&self) -> Result<(), Failure> {
        match self.private() {
            Some(mut private) => {
                self.control.close();
                private.restart(&self.endpoint)
            }
            None => Ok(()),
        }
    }

    fn revive(&self) -> Result<(), Failure> {
        if self.private.is_none() {
            return self.counters().map(|_| ());
        }
        let start = || self.private().map_or(Ok(()), |mut private| private.revive(&self.endpoint));
        server::private::revive(start, || self.counters())
    }

    fn drop_all(&self) -> Result<(), Failure> {
        let dropped = match self.private() {
            Some(mut private) => {
                self.control.close();
                private.remove()
            }
            // Nothing was made.
            None if self.tables == Tables::None => Ok(()),
            None => self.ask(load::remove),
        };
        self.control.close();
        dropped
    }
}

#[cfg(test)]
mod tests;
