//! MySQL and MariaDB: a server that is there already, or a private one that étalon makes, starts and removes.
//!
//! Étalon works in a database of its own, which holds a marker. Each preparation makes it anew: a trial on other tables
//! than the one before would be worth nothing.

mod backup;
mod connect;
mod control;
mod counters;
mod dialect;
mod facts;
mod keys;
mod load;
mod option_file;
mod private;
mod programs;
mod session;
mod steps;
mod url;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use host::reactor::{Choice, Reactor};
use host::scratch::Scratch;
use model::catalog::{PrivateServerSupport, Publication, Visibility};
use model::{EngineSpec, Facts, Nature, SystemPlan};

use crate::clock::RealClock;
use crate::dataset::{Dataset, Dialect, Tables};
use crate::error::{Failure, FailureKind};
use crate::lane::OpError;
use crate::lanes::mysql::{Client, EncryptedLane, NativeLane, Opened};
use crate::session::SessionKind;
use crate::target::{
    Consent, Counters, CpuHold, Engine, Load, OpenRequest, OsIo, Part, Placement, Target, Threads, shares,
};
use crate::targets::shared;
use crate::worker::{self, LOGINS_AT_ONCE, Tally, WorkerContext};
use crate::workloads::transactions::{Program, Protocol};
use connect::{Endpoint, Purpose, failure};
use control::Control;
use counters::Checkpoint;
use private::Private;
use session::Session;
use url::{Address, process_environment};

/// The database that étalon works in.
const SCHEMA: &str = "etalon";

/// What the comment of the marker's table begins with.
const MARKER: &str = "made by the benchmark etalon, which drops it and makes it anew";

/// How long a private server may take from refusing connections to its end.
const ENDING_PATIENCE: Duration = Duration::from_secs(5);
const ENDING_POLL: Duration = Duration::from_millis(20);

/// The registry's entry.
pub struct MySql;

impl Engine for MySql {
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "mysql",
            schemes: &["mysql", "mariadb"],
            about: "MySQL and MariaDB: `mysql://user@host:port/` is a server that is there, where settings are those of \
                    étalon's sessions; `server = { engine = \"mysql\" }` is one that étalon makes and removes, where they \
                    are the server's",
            private_server: PrivateServerSupport::Yes,
            visibility: Visibility::Public,
            publication: Publication::Free,
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn Target>, Failure> {
        let system = request.system;
        let target = match &system.server {
            Some(server) => {
                let (private, endpoint) = Private::start(
                    server,
                    &system.settings,
                    request.scratch_base.as_deref(),
                    request.listen.as_deref(),
                )?;
                MySqlTarget::new(endpoint, Session::default(), Some(private), request)?
            }
            None => {
                let endpoint = Endpoint::new(Address::parse(&system.url, &process_environment)?)?;
                let mut client = endpoint.connect(Purpose::Control)?;
                let session = Session::with_settings(&mut client, &system.settings)?;
                client.close();
                MySqlTarget::new(endpoint, session, None, request)?
            }
        };
        Ok(Box::new(target))
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
        system.server.as_ref()?;
        Scratch::bases().into_iter().find(|base| !host::disk::is_memory_backed(base).unwrap_or(false))
    }
}

/// Which lane the clients of a trial go by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Over a reactor: a thread a core.
    Native,
    /// Where connections are encrypted: a thread a client.
    Encrypted,
}

/// How statements travel on this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Travel {
    /// `COM_STMT_EXECUTE` of what was prepared when the connection was made.
    Prepared,
    /// `COM_QUERY`.
    Text,
}

/// The one place that knows how a program's protocol is spoken here.
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
    // Dropped in this order: the connection before the server that it leads to.
    control: Control,
    endpoint: Endpoint,
    session: Session,
    private: Option<Mutex<Private>>,
    checkpoint: Checkpoint,
    consent: Consent,
    path: Path,
    reactor: Choice,
    /// Whether étalon's own tables are made here at all.
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
        // What étalon asks about, such as a count, is about the tables that the load works on.
        let own = match tables {
            Tables::Own => session.clone(),
            Tables::None => session.on_tables_of_others(),
        };
        let control = Control::new(endpoint.clone(), own, part);
        let (checkpoint, path) = control.ask(|client| {
            if tables == Tables::Own && part == Part::Whole {
                let owner = load::refuse_foreign(client, consent)?;
                counters::refuse_unfit(client, &endpoint, owner != load::Owner::Nobody)?;
            }
            let path = if client.encryption().is_some() { Path::Encrypted } else { Path::Native };
            Ok((counters::checkpoint(client)?, path))
        })?;
        let private = private.map(Mutex::new);
        Ok(MySqlTarget { control, endpoint, session, private, checkpoint, consent, path, reactor, tables })
    }

    /// Asks over the control connection.
    fn ask<T>(&self, question: impl FnMut(&mut Client) -> Result<T, Failure>) -> Result<T, Failure> {
        self.control.ask(question).map_err(|failure| self.explain(failure))
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

    /// What is prepared; nothing where statements travel as text.
    fn statements(&self, program: &Program) -> Result<Vec<String>, Failure> {
        let sql = || program.statements().iter().map(|statement| statement.sql(self.dialect())).collect();
        Ok(match travel(program.protocol())? {
            Travel::Text => Vec::new(),
            Travel::Prepared => sql(),
        })
    }

    /// What sends and receives for the clients.
    fn reactor_kind(&self) -> Result<String, String> {
        match self.path {
            Path::Native => {
                Reactor::new(self.reactor, 1).map(|one| one.kind().to_owned()).map_err(|error| error.to_string())
            }
            Path::Encrypted => Ok("none: encrypted connections block, a thread a client".to_owned()),
        }
    }

    fn drive_program(&self, program: &Program, mut context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let statements = self.statements(program)?;
        let session = match program.tables {
            Tables::Own => self.session.clone(),
            Tables::None => self.session.on_tables_of_others(),
        };
        let open = || session.open_lane(&self.endpoint, &statements);
        let first = |_| open().map_err(|error| self.explain(error.failure(&self.endpoint)));
        let opened = context.connect(LOGINS_AT_ONCE, first)?;
        let anew = || -> Result<Opened, OpError> { open().map_err(|error| error.op_error(&self.endpoint)) };
        match self.path {
            Path::Native => worker::run(NativeLane::new(self.reactor, opened, &anew)?, program, &RealClock, context),
            Path::Encrypted => worker::run(EncryptedLane::new(opened, &anew), program, &RealClock, context),
        }
    }
}

impl Target for MySqlTarget {
    fn reach(&self, system: &SystemPlan) -> Result<SystemPlan, Failure> {
        if self.private.is_none() {
            return shared::reach_by_url(system);
        }
        let url = self.endpoint.address.url_of_private().ok_or_else(|| shared::listens_to_its_own_host(system))?;
        Ok(SystemPlan { url, server: None, settings: Default::default(), ..system.clone() })
    }

    fn facts(&self) -> Result<Facts, Failure> {
        // The control connection has settings of its own.
        let mut client = self.session.open(&self.endpoint, Purpose::Load).map_err(|failure| self.explain(failure))?;
        let mut facts = facts::read(&mut client, &self.endpoint)?;
        client.close();
        facts.insert("checkpoint_before_trial", self.checkpoint.fact(), Nature::Identity);
        facts.insert("client.reactor", self.reactor_kind(), Nature::Passing);
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
        if answer.is_empty() {
            return Ok(0);
        }
        answer
            .parse()
            .map_err(|_| Failure::new(FailureKind::Verification, tried, format!("`{answer}` is not a whole number")))
    }

    fn workers(&self, clients: Range<u32>, threads: Threads) -> Vec<Range<u32>> {
        match (threads, self.path) {
            (Threads::AtMost(count), _) => shares(clients, count),
            (Threads::Best, Path::Native) => shares(clients, host::cpu::available_cores() as u32),
            (Threads::Best, Path::Encrypted) => clients.map(|client| client..client + 1).collect(),
        }
    }

    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<Tally, Failure> {
        let program = load.statements()?;
        self.drive_program(program, context)
    }

    /// Geometries are among the engine's own types: every session is a spatial one.
    fn session(&self, _kind: SessionKind) -> Result<Box<dyn crate::session::Session>, Failure> {
        let client = self.session.open(&self.endpoint, Purpose::Load).map_err(|failure| self.explain(failure))?;
        Ok(Box::new(steps::MySqlSession::new(client)))
    }

    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        let tried = format!("hold the server to {cores} cores");
        let refused = |cause: String| Failure::new(FailureKind::Unsupported, &tried, cause);
        let not_own = || refused("étalon can limit only a server that it has started itself".to_owned());
        let private = self.private().ok_or_else(not_own)?;
        let pid = private.process.as_ref().map(host::process::ServerProcess::pid).ok_or_else(not_own)?;
        let held = host::process::Held::Tree(pid);
        let limit = host::process::Limit::hold(held, &host::process::Bounds::of_cores(cores));
        Ok(Box::new(limit.map_err(|error| refused(error.to_string()))?))
    }

    fn backups(&self) -> Result<Box<dyn crate::backup::Backups + '_>, Failure> {
        Ok(Box::new(backup::MySqlBackups { target: self }))
    }

    fn empty_caches(&self) -> Result<(), Failure> {
        let Some(mut private) = self.private() else {
            let cause = "étalon can restart only a server that it has started itself";
            return Err(Failure::new(FailureKind::Unsupported, "empty the caches", cause));
        };
        self.control.close();
        private.restart_cold(&self.endpoint)
    }

    fn os_io(&self) -> Result<OsIo, String> {
        match self.private() {
            Some(private) => private.os_io(),
            None => Err("the server's processes are not étalon's own".to_owned()),
        }
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        match self.private() {
            Some(private) => private.cpu_s(),
            None => Err("the server's process is not étalon's own".to_owned()),
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
