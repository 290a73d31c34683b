mod backup;
mod confine;
mod connect;
mod control;
mod counters;
mod dialect;
mod durability;
mod facts;
pub mod lane;
mod load;
pub mod pages;
mod pgpass;
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

use host::reactor::{Choice, Reactor};
use model::catalog::Visibility;
use model::{EngineSpec, Facts, Nature, SystemPlan};

use crate::clock::RealClock;
use crate::dataset::{Dataset, Dialect, Tables};
use crate::error::{Failure, FailureKind};
use crate::permits::Permits;
use crate::session::SessionKind;
use crate::systems::owner::Owner;
use crate::systems::postgres::lane::{AskError, Client, NativeLane, Statements};
use crate::systems::server;
use crate::systems::server::counted::Counted;
use crate::systems::server::refusal::failure;
use crate::systems::server::url::{Address as _, process_environment};
use crate::target::{Consent, Counters, CpuHold, Engine, Load, OpenRequest, OsIo, Part, Placement, Target, Threads};
use crate::worker::{self, LOGINS_AT_ONCE, LoadCounts, WorkerContext};
use crate::workloads::pages::dialect::PagesDialect;
use crate::workloads::spatial::dialect::SpatialDialect;
use crate::workloads::transactions::{Program, Protocol, Statement};
use connect::Endpoint;
use control::Control;
use counters::Abilities;
use load::Untouched;
use private::Private;
use session::Session;
pub(crate) use url::Address;

/// For private servers.
const WORDS: &[&str] = &["postgres"];
/// Étalon's schema.
const SCHEMA: &str = "etalon";

pub struct Postgres;

impl Engine for Postgres {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "postgres",
            schemes: &["postgres", "postgresql"],
            about: "PostgreSQL: `postgres://role@host:port/database` is a server that is there, where settings are those \
                    of étalon's sessions; `server = { engine = \"postgres\" }` is one that étalon makes and removes, \
                    where they are the server's",
            private_servers: WORDS,
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        let system = request.system;
        let target = match &system.server {
            Some(server) => {
                let (private, endpoint) = Private::start(server, request)?;
                PostgresTarget::new(endpoint, Session::plain(), Some(private), request)?
            }
            None => {
                let address = Address::permitted(&system.url, &process_environment, &request.permits)?;
                request.permits.settings(&system.settings, &confine::safe(&system.settings))?;
                let endpoint = Endpoint::new(address)?;
                let mut client = endpoint.connect("")?;
                confine::refuse_strong(&mut client, &endpoint.address, &request.permits)?;
                let session = Session::with_settings(&endpoint, &mut client, &system.settings)?;
                client.close();
                PostgresTarget::new(endpoint, session, None, request)?
            }
        };
        Ok(Box::new(target))
    }

    fn needs(&self, system: &SystemPlan) -> Option<String> {
        let url = Some(&system.url).filter(|_| system.server.is_none())?;
        let Address { user, database, .. } = Address::parse(url, &process_environment).ok()?;
        Some(format!("to make the schema `{SCHEMA}`: `GRANT CREATE ON DATABASE {database} TO {user}`"))
    }

    fn would_drop(&self, system: &SystemPlan) -> String {
        if system.server.is_some() {
            return "nothing: the server is étalon's own, made and removed by it".to_owned();
        }
        match Address::parse(&system.url, &process_environment) {
            Ok(address) => format!("the schema `{SCHEMA}` at {}, if étalon made it", address.shown()),
            Err(failure) => failure.to_string(),
        }
    }

    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        server::private::data_directory(system)
    }
}

struct PostgresTarget {
    // Dropped before the server that it leads to.
    control: Control,
    endpoint: Endpoint,
    session: Session,
    private: Option<Mutex<Private>>,
    abilities: Abilities,
    consent: Consent,
    permits: Permits,
    reactor: Choice,
    tables: Tables,
    /// Last preparation in this block, and the server's state then.
    prepared: Mutex<Option<(String, Untouched)>>,
}

impl PostgresTarget {
    fn new(
        endpoint: Endpoint,
        session: Session,
        private: Option<Private>,
        request: &OpenRequest,
    ) -> Result<PostgresTarget, Failure> {
        let OpenRequest { consent, reactor, tables, part, .. } = *request;
        // Fails first if the requested reactor is not available.
        Reactor::new(reactor, 1).map_err(|error| {
            Failure::new(FailureKind::Unsupported, "set up the reactor", error)
                .hint("`--reactor auto` takes what there is")
        })?;
        // Étalon's questions are about the load's tables.
        let own = match tables {
            Tables::Own => session.clone(),
            Tables::None => session.on_tables_of_others(),
        };
        let control = Control::new(endpoint.clone(), own, part);
        let abilities = control.ask(|client| {
            if tables == Tables::Own && part == Part::Whole {
                refuse_unfit(client, &endpoint)?;
                load::refuse_foreign_schema(client, consent)?;
            }
            counters::abilities(client)
        })?;
        let private = private.map(Mutex::new);
        Ok(PostgresTarget {
            control,
            endpoint,
            session,
            private,
            abilities,
            consent,
            permits: request.permits.clone(),
            reactor,
            tables,
            prepared: Mutex::new(None),
        })
    }

    fn ask<T>(&self, question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.control.ask(question).map_err(|failure| self.explain(failure))
    }

    fn session(&self) -> Result<Client, Failure> {
        self.session.open(&self.endpoint).map_err(|failure| self.explain(failure))
    }

    /// Adds what a private server's log tells.
    fn explain(&self, failure: Failure) -> Failure {
        let failure = if is_full(&failure) { self.explain_full(failure) } else { failure };
        match self.private() {
            Some(private) if failure.may_pass() => private.explain_loss(failure),
            _ => failure,
        }
    }

    /// Adds the server's connection limit, if a connection is left to ask.
    fn explain_full(&self, failure: Failure) -> Failure {
        let limits = "SELECT concat_ws(' ', current_setting('max_connections'), current_setting('superuser_reserved_connections'), \
                      (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'))";
        let answer = self.control.ask(|client| {
            client.one(limits).map_err(|error| server::refusal::failure("ask for the server's limits", &error))
        });
        let answer = answer.unwrap_or_default();
        let [most, reserved, used] = answer.split(' ').collect::<Vec<_>>()[..] else { return failure };
        failure.hint(format!(
            "max_connections is {most} on this server, of which {reserved} are reserved for superusers, and {used} were in \
             use a moment later; raise it (the server must be started anew) or ask for fewer clients"
        ))
    }

    /// Extensions that a private server's client role may not install itself.
    fn install_for(&self, kind: SessionKind) -> Result<(), Failure> {
        match self.private() {
            Some(private) => private.owner().map_or(Ok(()), |owner| steps::install(owner, kind)),
            None => Ok(()),
        }
    }

    fn private(&self) -> Option<MutexGuard<'_, Private>> {
        self.private.as_ref().map(|private| private.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl PostgresTarget {
    /// In the server's own words.
    fn texts(&self, program: &Program) -> Vec<String> {
        program.statements().iter().map(|statement| statement.sql(self.dialect())).collect()
    }

    /// The statements with the question for session counts.
    fn statements(&self, program: &Program) -> Statements {
        let mut texts = self.texts(program);
        texts.push(counters::OF_SESSION.sql.to_owned());
        match program.protocol() {
            Protocol::Prepared => Statements::Prepared(texts),
            Protocol::Extended => {
                let counts = program.statements().iter().map(Statement::parameter_count).chain([0]);
                Statements::Extended(texts.into_iter().zip(counts).collect())
            }
            Protocol::Simple => Statements::Simple,
        }
    }

    fn lane(&self, program: &Program, context: &mut WorkerContext<'_>) -> Result<NativeLane, Failure> {
        let statements = self.statements(program);
        let session = match program.tables {
            Tables::Own => self.session.clone(),
            Tables::None => self.session.on_tables_of_others(),
        };
        let endpoint = self.endpoint.clone();
        let first = |_| {
            let opened = session.open_lane(&endpoint, &statements);
            opened.map_err(|error| self.explain(error.failure(&endpoint)))
        };
        let opened = context.connect(LOGINS_AT_ONCE, first)?;
        let anew = move || session.open_lane(&endpoint, &statements).map_err(|error| error.op_error(&endpoint));
        NativeLane::new(self.reactor, opened, Arc::new(anew))
    }
}

/// No connection left.
fn is_full(failure: &Failure) -> bool {
    failure.cause.contains("[SQLSTATE 53300]")
}

/// Refuses a read-only server or database.
fn refuse_unfit(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let asked = |error: AskError| failure("ask what the server lets étalon do", &error);
    let Address { user, database, .. } = &endpoint.address;
    let refuse = |kind, cause: &str, hint: String| {
        Err(Failure::new(kind, format!("use {}", endpoint.address.shown()), cause).hint(hint))
    };
    if client.one("SELECT pg_catalog.pg_is_in_recovery()").map_err(asked)? == "t" {
        let hint = "name the primary server in the URL".to_owned();
        return refuse(FailureKind::Unsupported, "the server is a standby, and nothing can be written to it", hint);
    }
    let may = "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')";
    let there = format!("SELECT pg_catalog.to_regnamespace('{SCHEMA}') IS NOT NULL");
    if client.one(may).map_err(asked)? != "t" && client.one(&there).map_err(asked)? != "t" {
        let cause = format!("the role `{user}` may not make the schema `{SCHEMA}` in the database `{database}`");
        return refuse(FailureKind::Permission, &cause, format!("`GRANT CREATE ON DATABASE {database} TO {user}`"));
    }
    Ok(())
}

impl Target for PostgresTarget {
    fn facts(&self) -> Result<Facts, Failure> {
        // The control connection has other settings.
        let mut client = self.session()?;
        let mut facts = facts::read(&mut client, &self.endpoint.address, self.tables)?;
        client.close();
        match &self.abilities.checkpoint {
            Ok(()) => facts.identity("checkpoint_before_run", "yes"),
            Err(reason) => facts.unavailable("checkpoint_before_run", reason.clone()),
        }
        facts.insert("client.reactor", server::reactor_kind(self.reactor), Nature::Passing);
        if let Some(private) = self.private() {
            private.add_facts(&mut facts);
        }
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        &dialect::PostgresDialect
    }

    fn placement(&self) -> Placement {
        Placement::Server
    }

    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        let mut prepared = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let before = prepared.take();
        *prepared = self.ask(|client| {
            let owner = load::refuse_foreign_schema(client, self.consent)?;
            let now = Untouched::now(client)?.map(|now| (data.name.clone(), now));
            if owner == Owner::Etalon && now.is_some() && now == before {
                return Ok(now);
            }
            load::load(client, data)?;
            self.abilities.flush(client)?;
            load::vacuum(client, data)?;
            Ok(Untouched::now(client)?.map(|now| (data.name.clone(), now)))
        })?;
        Ok(())
    }

    fn settle(&self) -> Result<(), Failure> {
        self.ask(|client| {
            self.abilities.flush(client)?;
            match &self.abilities.checkpoint {
                Ok(()) => client.execute("CHECKPOINT").map_err(|error| failure("checkpoint the server", &error)),
                Err(_) => Ok(()),
            }
        })
    }

    fn counters(&self) -> Result<Counters, Failure> {
        self.ask(|client| self.abilities.read(client))
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
        let lane = self.lane(program, &mut context)?;
        let lane = Counted::new(lane, counters::OF_SESSION, program, &context)?;
        worker::run(lane, program, &RealClock, context)
    }

    fn session(&self, kind: SessionKind) -> Result<Box<dyn crate::session::Session>, Failure> {
        self.install_for(kind)?;
        Ok(Box::new(steps::PostgresSession::new(PostgresTarget::session(self)?, kind)?))
    }

    fn session_facts(&self, kind: SessionKind) -> Result<Facts, Failure> {
        self.install_for(kind)?;
        let mut client = PostgresTarget::session(self)?;
        let facts = steps::facts(&mut client, kind);
        client.close();
        facts
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
        Ok(Box::new(backup::PostgresBackups { target: self }))
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
            None => Err("the server's processes are not étalon's own".to_owned()),
        }
    }

    fn reach(&self, system: &SystemPlan) -> Result<SystemPlan, Failure> {
        if self.private.is_none() {
            return server::reach_by_url(system);
        }
        server::reach_private(system, self.endpoint.address.url_of_private())
    }

    fn begin_round(&self) -> Result<(), Failure> {
        *self.prepared.lock().unwrap_or_else(PoisonError::into_inner) = None;
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
            None => self.ask(load::drop_schema),
        };
        self.control.close();
        dropped
    }
}

#[cfg(test)]
mod tests;
