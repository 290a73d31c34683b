mod aside;
mod backup;
mod bouncer;
mod claim;
mod confine;
mod connect;
mod connection_string;
mod counters;
mod databases;
mod dialect;
mod durability;
mod facts;
pub mod lane;
mod order_entry;
pub mod pages;
mod pgpass;
mod pooler;
mod postgis;
mod private;
mod programs;
mod read_back;
mod room;
mod service;
mod session;
pub mod spatial;
mod statement_log;
mod statements;
mod tables;
mod tls;
mod url;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use model::catalog::Visibility;
use model::plan::PrivateServer;
use model::{EngineSpec, Facts, Reset, SystemPlan};

use crate::owner::TableOwner;
use crate::postgres::lane::{Client, PostgresProtocol, Prepared, Statements};
use crate::server;
use crate::server::counted::CountsQuery;
use crate::server::parts;
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::steps::Steps;
use crate::server::system::{self, Server, ServerSystem};
use crate::server::url::Address as _;
use claim::PostgresClaim;
use connect::{Endpoint, STARTING_POLL, STARTING_TIMEOUT};
use counters::Abilities;
use databases::Databases;
use load::counters::Counters;
use load::error::{Failure, FailureKind};
use pooler::Pooler;
use private::PostgresRecipe;
use programs::Programs;
use room::Reach;
use session::SessionSettings;
use tables::Untouched;
pub(crate) use url::Address;
use workloads::backup::backups::Backups;
use workloads::dataset::{Dataset, Dialect};
use workloads::pages::dialect::PagesDialect;
use workloads::session::{Session, SessionKind};
use workloads::spatial::dialect::SpatialDialect;
use workloads::system::{Consent, Engine, OpenRequest, System};
use workloads::transactions::{Program, Protocol, ScriptStatement};

/// Engines of private servers, as plans name them.
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
            own_url: None,
            other_address: Some(connection_string::connection_string_to_url),
            workload: "transactions",
            backups: backup::METHODS,
            poolers: bouncer::POOLERS,
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    /// Opens the plan's server, or starts a private one.
    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        system::open_system::<PostgresServer>(request)
    }

    /// Says which privilege étalon's role needs to make its tables, and how to grant it.
    fn needed_privileges(&self, system: &SystemPlan) -> Option<String> {
        let Address { user, database, .. } = system::existing_address::<PostgresServer>(system)?;
        if server::reset::keeps_copies::<PostgresServer>(system) {
            return Some(format!("to make databases: `ALTER ROLE {user} CREATEDB`"));
        }
        Some(format!("to make the schema `{SCHEMA}`: `GRANT CREATE ON DATABASE {database} TO {user}`"))
    }

    /// Chooses how a plan's tables of this size are brought back before each run.
    fn choose_reset(&self, system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
        server::reset::choose_reset_of_plan::<PostgresServer>(system, size_bytes)
    }

    /// Tests whether the server can be restarted with cold caches: only a private one.
    fn can_empty_caches(&self, system: &SystemPlan) -> bool {
        system.server.is_some()
    }

    /// Says what étalon would make on the plan's server.
    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        system::would_make::<PostgresServer>(system)
    }

    /// Says what étalon would drop on the plan's server.
    fn explain_dropped(&self, system: &SystemPlan) -> String {
        system::would_drop::<PostgresServer>(system)
    }

    /// Fails if the system's URL cannot be read; connects to nothing.
    fn check_url(&self, system: &SystemPlan) -> Result<(), Failure> {
        system::check_url::<PostgresServer>(system)
    }

    /// Connects, and returns the failure if the server is a standby.
    fn why_read_only(&self, system: &SystemPlan) -> Option<Failure> {
        system::why_read_only::<PostgresServer>(system)
    }

    /// Logs in to look, and makes a session for single statements.
    fn open_visiting_session(&self, system: &SystemPlan) -> Result<Box<dyn Session>, Failure> {
        system::visit_session::<PostgresServer>(system)
    }

    /// Returns the release of the server programs on this machine.
    fn read_programs_version(&self, server: &PrivateServer) -> Result<String, Failure> {
        let programs = Programs::find(server.bin_dir.as_deref(), server.version.as_deref())?;
        Ok(programs.release().unwrap_or_default())
    }

    /// Makes the failure that the server's or the pooler's programs are missing, if so.
    fn why_programs_missing(&self, server: &PrivateServer) -> Option<Failure> {
        let lacks_server = Programs::find(server.bin_dir.as_deref(), server.version.as_deref()).err();
        lacks_server.or_else(|| server.pooler.as_ref().and_then(|_| bouncer::find_program().err()))
    }

    /// Returns the folder in which a private server would have its data.
    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        server::private::data_directory(system)
    }

    /// Finds the durability tier of a private server; `None` for one that must be asked itself.
    fn durability_of_plan(&self, system: &SystemPlan) -> Option<model::DurabilityTier> {
        // An existing server must be asked itself.
        system.server.as_ref().map(|_| durability::planned_tier(system))
    }

    fn dialect(&self) -> Option<&'static dyn Dialect> {
        Some(<PostgresServer as Server>::DIALECT)
    }

    /// Makes the failure that a backup method's program is missing, if so.
    fn why_backup_impossible(&self, system: &SystemPlan, method: &str) -> Option<Failure> {
        backup::missing_program_failure(system, method)
    }
}

type PostgresSystem = ServerSystem<PostgresServer>;

pub(crate) struct PostgresServer {
    abilities: Abilities,
    /// Its sessions are a pooler's and outlive étalon's clients.
    is_pooled: bool,
    /// Last preparation in this round, and the server's state then.
    prepared: Mutex<Option<(String, Untouched)>>,
}

impl Server for PostgresServer {
    type Protocol = PostgresProtocol;
    type Endpoint = Endpoint;
    type Session = SessionSettings;
    type Claim = PostgresClaim;
    type Recipe = PostgresRecipe;
    type Copies = Databases;

    const DIALECT: &'static dyn Dialect = &dialect::PostgresDialect;
    const INDEXES: Option<&'static str> = Some(facts::INDEXES);
    const PAGES: &'static dyn PagesDialect = &pages::Pages;
    const SPATIAL: &'static dyn SpatialDialect = &spatial::Spatial;
    const ROOM: &'static str = "the schema `etalon`";

    /// Connects to an existing server, checks what the login may do, and makes the plan's session settings.
    fn connect_for_plan(address: Address, request: &OpenRequest<'_>) -> Result<(Endpoint, SessionSettings), Failure> {
        let settings = &request.system.settings;
        request.permits.check_settings(settings, &confine::safe_settings(settings))?;
        confine::refuse_options(&address, &request.permits)?;
        databases::refuse_own_name(&address, request)?;
        let mut endpoint = Endpoint::new(address)?.with_request(request);
        let mut client = endpoint.open_client("")?;
        endpoint.match_raw_encoding(&mut client)?;
        endpoint.pooler = pooler::find_pooler(&mut client, &endpoint)?;
        confine::refuse_strong(&mut client, &endpoint.address, &request.permits)?;
        let session = SessionSettings::from_plan_settings(&endpoint, &mut client, settings)?;
        client.close_and_wait();
        Ok((endpoint, session))
    }

    /// Logs in once, without the plan's settings.
    fn connect_once(address: Address) -> Result<(Endpoint, Client), Failure> {
        let endpoint = Endpoint::new(address)?;
        let client = endpoint.open_client("")?;
        Ok((endpoint, client))
    }

    /// Reads what the server counts and lets étalon do; fails if it cannot be written to or has a foreign schema.
    fn inspect_server(
        client: &mut Client,
        endpoint: &Endpoint,
        consent: Consent,
        makes: bool,
    ) -> Result<Self, Failure> {
        if makes {
            refuse_read_only(client, endpoint)?;
            tables::refuse_foreign_schema(client, consent)?;
        }
        let is_pooled = endpoint.pooler.is_some();
        Ok(PostgresServer { abilities: counters::read_abilities(client)?, is_pooled, prepared: Mutex::new(None) })
    }

    /// Tests whether the server has a schema that étalon made.
    fn has_remnant(client: &mut Client) -> Result<bool, Failure> {
        Ok(tables::owner_of_schema(client)? == TableOwner::Etalon)
    }

    /// Fails if a program needs a session for longer than a pooler lends it.
    fn refuse_program(system: &PostgresSystem, program: &Program) -> Result<(), Failure> {
        let shared = system.endpoint.pooler.as_ref().filter(|pooler| pooler.shares_sessions());
        shared.map_or(Ok(()), |pooler| refuse_session_state(pooler, program))
    }

    /// Makes a program's statements, and the query for the counts of each session unless a pooler shares them.
    fn statements(system: &PostgresSystem, program: &Program) -> Result<(Statements, Option<CountsQuery>), Failure> {
        let mut texts = system.statement_texts(program);
        texts.push(counters::OF_SESSION.sql.to_owned());
        let statements = match program.protocol() {
            Protocol::Prepared => Statements::Prepared(Prepared::new(texts)),
            Protocol::Extended => {
                let counts = program.statements().iter().map(ScriptStatement::parameter_count).chain([0]);
                Statements::Extended(texts.into_iter().zip(counts).collect())
            }
            Protocol::Simple => Statements::Simple,
        };
        Ok((statements, (!system.endpoint.shares_sessions()).then_some(counters::OF_SESSION)))
    }

    /// Says that a pooler shares the sessions, if that is so.
    fn why_uncounted(system: &PostgresSystem) -> Option<String> {
        let pooler = system.endpoint.pooler.as_ref().filter(|pooler| pooler.shares_sessions())?;
        Some(format!("no session is a client's own: the connection goes through {pooler}"))
    }

    /// Reads the facts in a session like a run's, and whether the role may checkpoint.
    fn facts(system: &PostgresSystem, client: &mut Client) -> Result<Facts, Failure> {
        let mut facts = facts::read_facts(client, &system.endpoint, system.tables)?;
        match &system.server.abilities.checkpoint {
            Ok(()) => facts.record_identity("checkpoint_before_run", "yes"),
            Err(reason) => facts.record_unavailable("checkpoint_before_run", reason.clone()),
        }
        Ok(facts)
    }

    /// Reads the settings of a run's session and of which instance it is.
    fn read_load_settings(client: &mut Client) -> Result<Facts, Failure> {
        let mut settings = facts::read_session_settings(client)?;
        settings.entries.extend(facts::read_instance_facts(client).entries);
        Ok(settings)
    }

    /// Tests by the facts whether each commit waits for a sync that the server counts.
    /// Log that is written through is not synced again, and Amazon Aurora has none on a device of its own.
    fn syncs_each_commit(facts: &Facts) -> bool {
        let is_aurora =
            facts.entries.keys().any(|name| name.starts_with("setting.aurora") || name.starts_with("setting.apg_"));
        !is_aurora && facts.get("setting.wal_sync_method").is_some_and(|method| !method.starts_with("open"))
    }

    /// Makes and loads the tables, unless nothing was written since they were loaded last.
    fn load_tables(system: &PostgresSystem, data: &Dataset) -> Result<(), Failure> {
        let owner = system.ask(|client| tables::refuse_foreign_schema(client, system.consent))?;
        if owner == TableOwner::Etalon && Self::is_untouched(system, data)? {
            return Ok(());
        }
        *system.server.lock_prepared() = None;
        if data.is_large() {
            parts::load_in_parts(system, data)?;
        } else {
            system.ask(|client| {
                tables::load_tables(client, data, allowed_reach(system))?;
                system.server.abilities.publish_counts(client)?;
                tables::vacuum_tables(client, data)
            })?;
        }
        Self::note_prepared(system, data)
    }

    /// Tests whether nothing was written since these tables were loaded last in this round.
    fn is_untouched(system: &PostgresSystem, data: &Dataset) -> Result<bool, Failure> {
        let Some((name, before)) = system.server.lock_prepared().clone() else { return Ok(false) };
        Ok(name == data.name && system.ask(Untouched::read_now)? == Some(before))
    }

    /// Notes how far the server has written, now that the tables are loaded.
    fn note_prepared(system: &PostgresSystem, data: &Dataset) -> Result<(), Failure> {
        *system.server.lock_prepared() = system.ask(Untouched::read_now)?.map(|now| (data.name.clone(), now));
        Ok(())
    }

    /// Publishes the session's counts, and checkpoints if the role may.
    fn settle(system: &PostgresSystem, client: &mut Client) -> Result<(), Failure> {
        let abilities = &system.server.abilities;
        abilities.publish_counts(client)?;
        match &abilities.checkpoint {
            Ok(()) => client.execute_alone("CHECKPOINT").map_err(|error| ask_failure("checkpoint the server", &error)),
            Err(_) => Ok(()),
        }
    }

    /// Reads what the server has counted, and how late that is through a pooler.
    fn read_counters(&self, client: &mut Client) -> Result<Counters, Failure> {
        let late_by = self.is_pooled.then(|| self.abilities.report_delay());
        Ok(Counters { late_by, ..self.abilities.read_counters(client)? })
    }

    /// Returns the query for sessions that wait for locks; none through a pooler.
    fn lock_waiter_queries(&self) -> &'static [&'static str] {
        // A pooler's sessions are not the load's alone, and its connections may all be in use.
        if self.is_pooled { &[] } else { &[counters::LOCK_WAITERS] }
    }

    /// Drops étalon's schema.
    fn remove_tables(_system: &PostgresSystem, client: &mut Client) -> Result<(), Failure> {
        tables::remove_schema(client)
    }

    /// Opens a session for single statements, with the extension that its kind needs.
    fn step_session(system: &PostgresSystem, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        if let Some(pooler) = system.endpoint.pooler.as_ref().filter(|pooler| pooler.shares_sessions()) {
            return Err(pooler.refusal_failure("keep a session for more than a transaction", OWN_ADDRESS));
        }
        install_extension_for(system, kind)?;
        let mut client = system.run_client(kind)?;
        postgis::use_extension(&mut client, kind)?;
        Ok(Box::new(Steps::new(client, <Self as Server>::DIALECT)))
    }

    /// Reads facts of the extension that sessions of a kind need.
    fn session_facts(system: &PostgresSystem, kind: SessionKind) -> Result<Facts, Failure> {
        install_extension_for(system, kind)?;
        let mut client = system.open_client_for(kind)?;
        let facts = postgis::extension_facts(&mut client, kind);
        client.close_and_wait();
        facts
    }

    /// Makes the ways to back up the server.
    fn backups(system: &PostgresSystem) -> Box<dyn Backups + '_> {
        Box::new(backup::PostgresBackups { system })
    }

    /// Ends sessions whose clients went away in the midst of an operation.
    fn end_sessions(client: &mut Client, sessions: &[u32]) -> Result<(), Failure> {
        aside::end_sessions(client, sessions).map_err(|error| ask_failure("end sessions that were left", &error))
    }

    /// Fails if the server is in recovery.
    fn refuse_standby(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
        refuse_standby(client, endpoint)
    }

    /// Adds the server's connection limit, if a connection is left to ask; or that the server has become a standby.
    fn explain_failure(system: &PostgresSystem, failure: Failure) -> Failure {
        if failure.cause.contains("[SQLSTATE 25006]") {
            let standby = system.control.ask(|client| refuse_standby(client, &system.endpoint)).err();
            return match standby.filter(|failure| failure.kind == FailureKind::Unsupported) {
                // Its promotion may be under way.
                Some(Failure { hint, .. }) => Failure { kind: FailureKind::Unreachable, hint, ..failure },
                None => failure,
            };
        }
        if failure.hint.as_deref() != Some(server::TOO_MANY) {
            return failure;
        }
        let limits = "SELECT concat_ws(' ', current_setting('max_connections'), current_setting('superuser_reserved_connections'), \
                      (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'))";
        let answer = system.control.ask(|client| {
            client.query_first_value(limits).map_err(|error| ask_failure("ask for the server's limits", &error))
        });
        let answer = answer.unwrap_or_default();
        let [most, reserved, used] = answer.split(' ').collect::<Vec<_>>()[..] else { return failure };
        failure.with_hint(format!(
            "max_connections is {most} on this server, of which {reserved} are reserved for superusers, and {used} were in \
             use a moment later; raise it (the server must be started anew) or ask for fewer clients"
        ))
    }

    /// Forgets which tables were loaded last.
    fn begin_round(&self) {
        *self.lock_prepared() = None;
    }
}

impl PostgresServer {
    /// Locks what is known of the tables that were loaded last, poisoned too.
    fn lock_prepared(&self) -> MutexGuard<'_, Option<(String, Untouched)>> {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a load may drop étalon's whole schema or only its tables' names.
fn allowed_reach(system: &PostgresSystem) -> Reach {
    let may_drop_all = system.lock_private().is_some() || system.consent == Consent::DropForeign;
    if may_drop_all { Reach::Schema } else { Reach::Names }
}

const OWN_ADDRESS: &str = "name the server's own address in the URL, or a pool with `pool_mode = session`";

/// Fails if a program needs a session to keep something from one transaction to the next.
fn refuse_session_state(pooler: &Pooler, program: &Program) -> Result<(), Failure> {
    if program.protocol() == Protocol::Prepared && !pooler.keeps_prepared() {
        return Err(pooler.refusal_failure(
            "use `protocol = \"prepared\"`",
            "write `protocol = \"simple\"` or `\"extended\"` for this benchmark (PgBouncer keeps prepared statements from \
             release 1.21 on, with `max_prepared_statements`)",
        ));
    }
    if program.pipeline_depth() > 1 {
        let tried = format!("use `pipeline = {}`", program.pipeline_depth());
        return Err(pooler.refusal_failure(tried, "leave `pipeline` at 1 through this pooler"));
    }
    Ok(())
}

/// Installs the extension that a kind of session needs on a private server, whose role may not do so.
fn install_extension_for(system: &PostgresSystem, kind: SessionKind) -> Result<(), Failure> {
    match system.lock_private() {
        Some(private) => private.recipe.owner.as_ref().map_or(Ok(()), |owner| postgis::install_extension(owner, kind)),
        None => Ok(()),
    }
}

/// Fails if the server is a standby, or the role may not make étalon's schema.
fn refuse_read_only(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let tried = "ask what the server lets étalon do";
    let Address { user, database, .. } = &endpoint.address;
    wait_for_promotion(client, endpoint)?;
    let may = "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE')";
    let there = format!("SELECT pg_catalog.to_regnamespace('{SCHEMA}') IS NOT NULL");
    if client.query_first_value(may).map_err(failing_to(tried))? != "t"
        && client.query_first_value(&there).map_err(failing_to(tried))? != "t"
    {
        let cause = format!("the role `{user}` may not make the schema `{SCHEMA}` in the database `{database}`");
        return Err(Failure::new(FailureKind::Permission, format!("use {}", endpoint.address.shown_url()), cause)
            .with_hint(format!("`GRANT CREATE ON DATABASE {database} TO {user}`")));
    }
    Ok(())
}

/// Fails for a standby, after a while where the server's promotion may be under way.
/// It then receives no WAL any more, and has not ended its recovery.
fn wait_for_promotion(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let Err(failure) = refuse_standby(client, endpoint) else { return Ok(()) };
        let receivers = client.query_first_value("SELECT count(*) FROM pg_catalog.pg_stat_wal_receiver");
        let is_fed = receivers.map_or(true, |receivers| receivers != "0");
        if is_fed || failure.kind != FailureKind::Unsupported || started.elapsed() > STARTING_TIMEOUT {
            return Err(failure);
        }
        thread::sleep(STARTING_POLL);
    }
}

/// Fails if the server is in recovery.
fn refuse_standby(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let answer = client.query_first_value("SELECT pg_catalog.pg_is_in_recovery()");
    if answer.map_err(|error| ask_failure("ask what the server lets étalon do", &error))? != "t" {
        return Ok(());
    }
    let cause = "the server is a standby, and nothing can be written to it";
    Err(Failure::new(FailureKind::Unsupported, format!("use {}", endpoint.address.shown_url()), cause)
        .with_hint("name the primary server in the URL"))
}

#[cfg(test)]
mod tests;
