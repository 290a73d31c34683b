//! PostgreSQL: a server that is there already, or a private one that étalon makes, starts and removes.
//!
//! Étalon works in a schema of its own, which holds a marker, and its sessions look into no other. Each preparation
//! makes the schema anew: whether nothing has been written since the last one cannot be known exactly and cheaply, as
//! statistics may be late or lost, and a trial on other tables than the one before would be worth nothing.

mod connect;
mod control;
mod counters;
mod dialect;
mod facts;
mod load;
mod native;
mod pgpass;
mod private;
mod programs;
mod session;
mod tls;
mod url;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::reactor::{Choice, Reactor};
use host::scratch::Scratch;
use model::catalog::{PrivateServerSupport, Visibility};
use model::{EngineSpec, Facts, Nature, SystemPlan};
use postgres::Client;

use crate::clock::RealClock;
use crate::dataset::{Dataset, Dialect};
use crate::error::{Failure, FailureKind};
use crate::lanes::postgres::{NativeLane, StockLane};
use crate::target::{Consent, Counters, Engine, Load, OpenRequest, Placement, Target};
use crate::targets::shared::shares;
use crate::worker::{self, Tally, WorkerContext};
use crate::workloads::transactions::{Program, Protocol};
use connect::{Endpoint, failure};
use control::Control;
use counters::Abilities;
use private::Private;
use session::Session;
use url::{Address, process_environment};

/// The schema that étalon works in.
const SCHEMA: &str = "etalon";

/// What the comment of a schema that étalon made begins with.
const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";

/// How long a private server may take from refusing connections to its end.
const ENDING_PATIENCE: Duration = Duration::from_secs(5);
const ENDING_POLL: Duration = Duration::from_millis(20);

/// The registry's entry.
pub struct Postgres;

impl Engine for Postgres {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "postgres",
            schemes: &["postgres", "postgresql"],
            about: "PostgreSQL: `postgres://role@host:port/database` is a server that is there, where settings are those \
                    of étalon's sessions; `server = { engine = \"postgres\" }` is one that étalon makes and removes, \
                    where they are the server's",
            private_server: PrivateServerSupport::Yes,
            visibility: Visibility::Public,
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        let system = request.system;
        let target = match &system.server {
            Some(server) => {
                let (private, endpoint) = Private::start(server, &system.settings, request.scratch_base.as_deref())?;
                PostgresTarget::new(endpoint, Session::plain(), Some(private), request.consent)?
            }
            None => {
                let endpoint = Endpoint::new(Address::parse(&system.url, &process_environment)?)?;
                let mut client = endpoint.connect("")?;
                let session = Session::with_settings(&endpoint, &mut client, &system.settings)?;
                session::close(client);
                PostgresTarget::new(endpoint, session, None, request.consent)?
            }
        };
        Ok(Box::new(target))
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
        system.server.as_ref()?;
        Scratch::bases().into_iter().find(|base| !host::disk::is_memory_backed(base).unwrap_or(false))
    }
}

/// Which lane the clients of a trial go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Étalon's own, over a reactor: a thread a core.
    Native,
    /// The stock driver's, where connections are encrypted: a thread a client.
    Stock,
}

struct PostgresTarget {
    // Dropped in this order: the connection before the server that it leads to.
    control: Control,
    endpoint: Endpoint,
    session: Session,
    private: Option<Mutex<Private>>,
    abilities: Abilities,
    consent: Consent,
    path: Path,
    reactor: Choice,
}

impl PostgresTarget {
    fn new(
        endpoint: Endpoint,
        session: Session,
        private: Option<Private>,
        consent: Consent,
    ) -> Result<PostgresTarget, Failure> {
        let control = Control::new(endpoint.clone(), session.clone());
        let (abilities, path) = control.ask(|client| {
            refuse_unfit(client, &endpoint)?;
            load::refuse_foreign_schema(client, consent)?;
            Ok((counters::abilities(client)?, path(client)?))
        })?;
        let (private, reactor) = (private.map(Mutex::new), Choice::Auto);
        Ok(PostgresTarget { control, endpoint, session, private, abilities, consent, path, reactor })
    }

    /// Asks over the control connection.
    fn ask<T>(&self, question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.control.ask(question).map_err(|failure| self.explain(failure))
    }

    /// A session as those of a trial.
    fn session(&self) -> Result<Client, Failure> {
        self.session.open(&self.endpoint).map_err(|failure| self.explain(failure))
    }

    /// The same failure, with what a private server's log knows of it.
    fn explain(&self, failure: Failure) -> Failure {
        match self.private() {
            Some(private) if failure.may_pass() => private.explain_loss(failure),
            _ => failure,
        }
    }

    fn private(&self) -> Option<MutexGuard<'_, Private>> {
        self.private.as_ref().map(|private| private.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The way that connections like this one go.
fn path(client: &mut Client) -> Result<Path, Failure> {
    let encrypted =
        "SELECT coalesce(bool_or(ssl), false) FROM pg_catalog.pg_stat_ssl WHERE pid = pg_catalog.pg_backend_pid()";
    let encrypted = counters::one(client, encrypted).map_err(|error| failure("ask whether TLS is used", &error))?;
    Ok(if encrypted == "t" { Path::Stock } else { Path::Native })
}

impl PostgresTarget {
    fn drive_stock(&self, program: &Program, mut context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let clients: Vec<Client> = context.connect(|_| self.session())?;
        let lane = StockLane::prepare(clients, &self.statements(program))
            .map_err(|error| failure("prepare the script's statements", &error))?;
        worker::run(lane, program, &RealClock, context)
    }

    fn drive_native(&self, program: &Program, mut context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let statements = self.statements(program);
        let open = |_| self.session.open_native(&self.endpoint, &statements).map_err(|failure| self.explain(failure));
        let opened = context.connect(open)?;
        worker::run(NativeLane::new(self.reactor, opened)?, program, &RealClock, context)
    }

    /// What is prepared; nothing where statements travel as text.
    fn statements(&self, program: &Program) -> Vec<String> {
        if program.protocol() == Protocol::Text {
            return Vec::new();
        }
        program.statements().iter().map(|statement| statement.sql(self.dialect())).collect()
    }

    /// What sends and receives for the clients.
    fn reactor_kind(&self) -> Result<String, String> {
        match self.path {
            Path::Native => {
                Reactor::new(self.reactor, 1).map(|one| one.kind().to_owned()).map_err(|error| error.to_string())
            }
            Path::Stock => Ok("none: encrypted connections go by the stock driver, a thread a client".to_owned()),
        }
    }
}

/// Refuses a server or database that nothing can be written to.
fn refuse_unfit(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let asked = |error: postgres::Error| failure("ask what the server lets étalon do", &error);
    let Address { user, database, .. } = &endpoint.address;
    let refuse = |kind, cause: &str, hint: String| {
        Err(Failure::new(kind, format!("use {}", endpoint.address.shown()), cause).hint(hint))
    };
    if counters::one(client, "SELECT pg_catalog.pg_is_in_recovery()").map_err(asked)? == "t" {
        let hint = "name the primary server in the URL".to_owned();
        return refuse(FailureKind::Unsupported, "the server is a standby, and nothing can be written to it", hint);
    }
    let may = "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')";
    let there = format!("SELECT pg_catalog.to_regnamespace('{SCHEMA}') IS NOT NULL");
    if counters::one(client, may).map_err(asked)? != "t" && counters::one(client, &there).map_err(asked)? != "t" {
        let cause = format!("the role `{user}` may not make the schema `{SCHEMA}` in the database `{database}`");
        return refuse(FailureKind::Permission, &cause, format!("`GRANT CREATE ON DATABASE {database} TO {user}`"));
    }
    Ok(())
}

impl Target for PostgresTarget {
    fn facts(&self) -> Result<Facts, Failure> {
        // The control connection has settings of its own.
        let mut client = self.session()?;
        let mut facts = facts::read(&mut client, &self.endpoint.address)?;
        session::close(client);
        match &self.abilities.checkpoint {
            Ok(()) => facts.identity("checkpoint_before_trial", "yes"),
            Err(reason) => facts.unavailable("checkpoint_before_trial", reason.clone()),
        }
        facts.insert("client.reactor", self.reactor_kind(), Nature::Passing);
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
        self.ask(|client| {
            load::refuse_foreign_schema(client, self.consent)?;
            load::load(client, data)?;
            self.abilities.flush(client)?;
            load::vacuum(client, data)
        })
    }

    fn settle(&self) -> Result<(), Failure> {
        self.ask(|client| {
            self.abilities.flush(client)?;
            match &self.abilities.checkpoint {
                Ok(()) => client.batch_execute("CHECKPOINT").map_err(|error| failure("checkpoint the server", &error)),
                Err(_) => Ok(()),
            }
        })
    }

    fn counters(&self) -> Result<Counters, Failure> {
        self.ask(|client| self.abilities.read(client))
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        let tried = format!("run `{sql}`");
        let answer = self.ask(|client| counters::one(client, sql).map_err(|error| failure(tried.clone(), &error)))?;
        if answer.is_empty() {
            return Ok(0);
        }
        answer
            .parse()
            .map_err(|_| Failure::new(FailureKind::Verification, tried, format!("`{answer}` is not a whole number")))
    }

    fn workers(&self, clients: Range<u32>) -> Vec<Range<u32>> {
        match self.path {
            Path::Native => shares(clients, host::cpu::available_cores() as u32),
            Path::Stock => clients.map(|client| client..client + 1).collect(),
        }
    }

    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let Load::Statements(program) = load;
        match self.path {
            Path::Native => self.drive_native(program, context),
            Path::Stock => self.drive_stock(program, context),
        }
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        match self.private() {
            Some(private) => private.cpu_s(),
            None => Err("the server's processes are not étalon's own".to_owned()),
        }
    }

    fn revive(&self) -> Result<(), Failure> {
        let started = Instant::now();
        loop {
            if let Some(mut private) = self.private() {
                private.revive(&self.endpoint)?;
            }
            match self.counters() {
                // A server that is being killed refuses connections a moment before its process has ended.
                Err(failure) if failure.may_pass() && self.private.is_some() && started.elapsed() < ENDING_PATIENCE => {
                    thread::sleep(ENDING_POLL);
                }
                other => return other.map(|_| ()),
            }
        }
    }

    fn drop_all(&self) -> Result<(), Failure> {
        let dropped = match self.private() {
            Some(mut private) => {
                self.control.close();
                private.remove()
            }
            None => self.ask(load::drop_schema),
        };
        self.control.close();
        dropped
    }
}

#[cfg(test)]
mod tests;
