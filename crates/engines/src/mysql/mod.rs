//! MySQL and MariaDB: an existing server, or a private one.
//!
//! Étalon works in its own database with a marker, recreated by each preparation: runs on different tables are not
//! comparable.

mod aside;
mod backup;
mod claim;
mod confine;
mod connect;
mod counters;
mod dialect;
mod durability;
mod facts;
mod keys;
pub mod lane;
mod option_file;
mod order_entry;
pub mod pages;
mod private;
mod programs;
mod read_back;
mod room;
mod session;
pub mod spatial;
mod statement_log;
mod statements;
mod tables;
mod tls;
mod url;

use std::path::PathBuf;

use model::catalog::Visibility;
use model::plan::PrivateServer;
use model::{EngineSpec, Facts, Nature, Reset, SystemPlan};

use crate::mysql::lane::{Client, MySqlProtocol};
use crate::owner::TableOwner;
use crate::server;
use crate::server::copies::NoCopies;
use crate::server::counted::CountsQuery;
use crate::server::parts;
use crate::server::refusal::ask_failure;
use crate::server::system::{self, Purpose, Server, ServerSystem};
use claim::MySqlClaim;
use connect::Endpoint;
use counters::Checkpoint;
use load::counters::Counters;
use load::error::{Failure, FailureKind};
use private::MySqlRecipe;
pub use programs::Product;
use programs::Programs;
use room::Reach;
use session::SessionSettings;
pub(crate) use url::Address;
use workloads::backup::backups::Backups;
use workloads::dataset::{Dataset, Dialect};
use workloads::pages::dialect::PagesDialect;
use workloads::session::Session;
use workloads::spatial::dialect::SpatialDialect;
use workloads::system::{Consent, Engine, OpenRequest, System};
use workloads::transactions::{Program, Protocol};

/// Étalon's database.
const SCHEMA: &str = "etalon";

/// Whether a setting among the facts has this value, in any case.
fn has_setting(facts: &Facts, name: &str, value: &str) -> bool {
    facts.get(&format!("setting.{name}")).is_some_and(|found| found.eq_ignore_ascii_case(value))
}

/// What a load may drop: everything on étalon's own server or by the user's consent, else étalon's own things.
fn allowed_reach(system: &MySqlSystem) -> Reach {
    let may_drop_all = system.lock_private().is_some() || system.consent == Consent::DropForeign;
    if may_drop_all { Reach::Database } else { Reach::Names }
}

/// Two products, which speak one protocol. The server itself says which it is: a URL of one may lead to the other.
impl Engine for Product {
    /// Describes the engine: name, URL schemes, backups and cautions.
    fn spec(&self) -> EngineSpec {
        let (name, schemes, private_servers, about, backups): (_, &[&str], &[&str], _, _) = match self {
            Product::MySql => (
                "mysql",
                &["mysql"],
                &["mysql"],
                "MySQL: `mysql://user@host:port/` is a server that is there, where settings are those of étalon's sessions; \
                 `server = { engine = \"mysql\" }` is one that étalon makes and removes, where they are the server's",
                backup::OF_MYSQL,
            ),
            Product::MariaDb => (
                "mariadb",
                &["mariadb"],
                &["mariadb"],
                "MariaDB: `mariadb://user@host:port/` is a server that is there, where settings are those of étalon's sessions; \
                 `server = { engine = \"mariadb\" }` is one that étalon makes and removes, where they are the server's",
                backup::OF_MARIADB,
            ),
        };
        EngineSpec {
            name,
            schemes,
            about,
            private_servers,
            own_url: None,
            other_address: None,
            workload: "transactions",
            backups,
            poolers: &[],
            visibility: Visibility::Public,
            cautions: &[],
        }
    }

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        system::open_system::<MySqlServer>(request)
    }

    /// The dialect in which statements for both products are written.
    fn dialect(&self) -> Option<&'static dyn Dialect> {
        Some(<MySqlServer as Server>::DIALECT)
    }

    /// The statement that grants a login what étalon needs, for the message.
    fn needed_privileges(&self, system: &SystemPlan) -> Option<String> {
        let Address { user, .. } = system::existing_address::<MySqlServer>(system)?;
        Some(format!(
            "to work in a database of its own, whatever the URL names: `GRANT ALL ON {SCHEMA}.* TO '{user}'@…`"
        ))
    }

    /// Chooses how tables of that size come back before each run.
    fn choose_reset(&self, system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
        server::reset::choose_reset_of_plan::<MySqlServer>(system, size_bytes)
    }

    /// Whether étalon can empty the caches: only those of a private server.
    fn can_empty_caches(&self, system: &SystemPlan) -> bool {
        system.server.is_some()
    }

    /// Says what étalon would make in the system, from the plan alone.
    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        system::would_make::<MySqlServer>(system)
    }

    /// Says what étalon would drop in the system, from the plan alone.
    fn explain_dropped(&self, system: &SystemPlan) -> String {
        system::would_drop::<MySqlServer>(system)
    }

    /// Fails if the system's URL cannot be read; connects to nothing.
    fn check_url(&self, system: &SystemPlan) -> Result<(), Failure> {
        system::check_url::<MySqlServer>(system)
    }

    /// Connects, and explains why nothing can be written to the server, if that is so.
    fn why_read_only(&self, system: &SystemPlan) -> Option<Failure> {
        system::why_read_only::<MySqlServer>(system)
    }

    /// Opens a session on the server of a plan, to look at what is there.
    fn open_visiting_session(&self, system: &SystemPlan) -> Result<Box<dyn Session>, Failure> {
        system::visit_session::<MySqlServer>(system)
    }

    /// Release of the programs of a private server.
    fn read_programs_version(&self, server: &PrivateServer) -> Result<String, Failure> {
        let product = Product::from_word(&server.engine);
        let programs = Programs::find_release(product, server.bin_dir.as_deref(), server.version.as_deref())?;
        Ok(programs.ask_release().unwrap_or_default())
    }

    /// Explains which programs of a private server this machine does not have; `None` if it has them.
    fn why_programs_missing(&self, server: &PrivateServer) -> Option<Failure> {
        let product = Product::from_word(&server.engine);
        Programs::find_release(product, server.bin_dir.as_deref(), server.version.as_deref()).err()
    }

    /// The folder of the system's data, if the plan says it.
    fn data_directory(&self, system: &SystemPlan) -> Option<PathBuf> {
        server::private::data_directory(system)
    }

    /// How durable a private server's commits are by its plan; an existing server must be asked itself.
    fn durability_of_plan(&self, system: &SystemPlan) -> Option<model::DurabilityTier> {
        // An existing server must be asked itself.
        system.server.as_ref().and_then(|_| durability::tier_of_plan(system))
    }

    /// Explains which program a backup method needs and this machine does not have; `None` if it has them.
    fn why_backup_impossible(&self, system: &SystemPlan, method: &str) -> Option<Failure> {
        backup::why_program_missing(*self, system, method)
    }
}

type MySqlSystem = ServerSystem<MySqlServer>;

pub(crate) struct MySqlServer {
    product: Product,
    /// The longest packet that the server takes: it ends a connection that sends more.
    packet_bytes: u64,
    checkpoint: Checkpoint,
}

impl Server for MySqlServer {
    type Protocol = MySqlProtocol;
    type Endpoint = Endpoint;
    type Session = SessionSettings;
    type Claim = MySqlClaim;
    type Recipe = MySqlRecipe;
    type Copies = NoCopies<Endpoint, SessionSettings>;

    const DIALECT: &'static dyn Dialect = &dialect::MySqlDialect;
    const INDEXES: Option<&'static str> = Some(facts::INDEXES);
    const PAGES: &'static dyn PagesDialect = &pages::Pages;
    const SPATIAL: &'static dyn SpatialDialect = &spatial::Spatial;
    const ROOM: &'static str = "the database `etalon`";

    /// Logs in to an existing server, refuses too strong an account, and tries the plan's settings.
    fn connect_for_plan(address: Address, request: &OpenRequest<'_>) -> Result<(Endpoint, SessionSettings), Failure> {
        let settings = &request.system.settings;
        request.permits.check_settings(settings, &confine::SETTINGS)?;
        let endpoint = Endpoint::new(address)?.with_request(request);
        let mut client = endpoint.open_client(Purpose::Control)?;
        confine::refuse_strong(&mut client, &endpoint.address, &request.permits)?;
        let session = SessionSettings::with_settings(&mut client, settings)?;
        client.close_and_wait();
        Ok((endpoint, session))
    }

    /// Logs in to a server without settings, for a single visit.
    fn connect_once(address: Address) -> Result<(Endpoint, Client), Failure> {
        let endpoint = Endpoint::new(address)?;
        let client = endpoint.open_client(Purpose::Control)?;
        Ok((endpoint, client))
    }

    /// Asks for the server's product, limits and checkpoints; fails if étalon `makes` tables where it may not.
    fn inspect_server(
        client: &mut Client,
        endpoint: &Endpoint,
        consent: Consent,
        makes: bool,
    ) -> Result<Self, Failure> {
        if makes {
            let owner = tables::refuse_foreign(client, consent)?;
            counters::refuse_unfit(client, endpoint, owner != TableOwner::Absent)?;
        }
        let product = Product::from_flavor(client.protocol.session.flavor);
        let packet_bytes = client.query_first_value("SELECT @@SESSION.max_allowed_packet");
        let packet_bytes = packet_bytes.map_err(|error| ask_failure("ask for the server's limits", &error))?;
        let packet_bytes = packet_bytes.parse().unwrap_or(u64::MAX);
        Ok(MySqlServer { product, packet_bytes, checkpoint: counters::find_checkpoint_way(client)? })
    }

    /// Fails if the server cannot run a script's statements, by its protocol or by their length.
    fn refuse_program(system: &MySqlSystem, program: &Program) -> Result<(), Failure> {
        server::dialogue::refuse_pipeline("MySQL", program)?;
        if program.protocol() == Protocol::Extended {
            let cause = "MySQL's protocol takes parameters only with statements that were prepared before";
            return Err(Failure::new(FailureKind::Unsupported, "use `protocol = \"extended\"`", cause)
                .with_hint("choose `prepared` or `simple`"));
        }
        system.server.refuse_long(&system.statement_texts(program))
    }

    /// Whether the server still has étalon's database.
    fn has_remnant(client: &mut Client) -> Result<bool, Failure> {
        Ok(matches!(tables::table_owner(client)?, TableOwner::Etalon | TableOwner::Guest))
    }

    /// Kills sessions that an earlier étalon left.
    fn end_sessions(client: &mut Client, sessions: &[u32]) -> Result<(), Failure> {
        aside::end_sessions(client, sessions).map_err(|error| ask_failure("end sessions that were left", &error))
    }

    /// Lists the texts that a lane prepares, and the query for its session's counts.
    fn statements(system: &MySqlSystem, program: &Program) -> Result<(Vec<String>, Option<CountsQuery>), Failure> {
        let question = counters::session_counts_query(system.server.product);
        let mut statements = Vec::new();
        if program.protocol() == Protocol::Prepared {
            statements = system.statement_texts(program);
            statements.push(question.sql.to_owned());
        }
        Ok((statements, Some(question)))
    }

    /// Reads the server's facts, with how it is checkpointed before runs.
    fn facts(system: &MySqlSystem, client: &mut Client) -> Result<Facts, Failure> {
        let mut facts = facts::read_facts(client, &system.endpoint, system.tables)?;
        facts.insert("checkpoint_before_run", system.server.checkpoint.to_fact(), Nature::Identity);
        Ok(facts)
    }

    /// Reads the settings and the instance that a load's session meets.
    fn read_load_settings(client: &mut Client) -> Result<Facts, Failure> {
        let mut settings = counters::session_variables(client).map(|settings| facts::setting_facts(&settings))?;
        settings.entries.extend(facts::read_instance_facts(client).entries);
        Ok(settings)
    }

    /// Whether each commit ends with a sync that the server counts.
    /// Not so on another default engine than InnoDB, with a log written through or mapped into memory,
    /// and on Amazon Aurora, which keeps its log elsewhere.
    fn syncs_each_commit(facts: &Facts) -> bool {
        let is_through = has_setting(facts, "innodb_flush_method", "o_dsync")
            || has_setting(facts, "innodb_log_file_write_through", "on");
        let is_innodb = has_setting(facts, "default_storage_engine", "innodb");
        let is_aurora = facts.entries.keys().any(|name| name.starts_with("setting.aurora"));
        is_innodb && !is_through && !is_aurora && !has_setting(facts, "innodb_log_file_mmap", "on")
    }

    /// Makes and fills a data set's tables, large ones in parts by several sessions.
    fn load_tables(system: &MySqlSystem, data: &Dataset) -> Result<(), Failure> {
        if data.is_large() {
            system.ask(|client| tables::refuse_foreign(client, system.consent))?;
            return parts::load_in_parts(system, data);
        }
        system.ask(|client| {
            let owner = tables::refuse_foreign(client, system.consent)?;
            tables::load_tables(client, data, owner, allowed_reach(system))
        })
    }

    /// Waits on a private server for purging, and writes dirty pages.
    fn settle(system: &MySqlSystem, client: &mut Client) -> Result<(), Failure> {
        if system.lock_private().is_some() {
            counters::await_purge(client)?;
        }
        counters::write_dirty_pages(client, &system.server.checkpoint)
    }

    fn read_counters(&self, client: &mut Client) -> Result<Counters, Failure> {
        counters::read_counters(client)
    }

    /// Queries for the numbers of sessions that wait for locks.
    fn lock_waiter_queries(&self) -> &'static [&'static str] {
        counters::lock_waiters_queries(self.product)
    }

    /// Removes étalon's database.
    fn remove_tables(_system: &MySqlSystem, client: &mut Client) -> Result<(), Failure> {
        tables::remove_database(client)
    }

    fn backups(system: &MySqlSystem) -> Box<dyn Backups + '_> {
        Box::new(backup::MySqlBackups { system })
    }

    /// Fails if the server is read-only.
    fn refuse_standby(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
        counters::refuse_read_only(client, endpoint)
    }

    /// Adds to a failure that the server has become a replica, or takes only short packets, where that is its cause.
    fn explain_failure(system: &MySqlSystem, failure: Failure) -> Failure {
        if READ_ONLY.iter().any(|code| failure.cause.contains(&format!("[{code}, SQLSTATE "))) {
            let replica = system.control.ask(|client| counters::refuse_read_only(client, &system.endpoint)).err();
            return match replica.filter(|failure| failure.kind == FailureKind::Unsupported) {
                // Its promotion may be under way.
                Some(Failure { hint, .. }) => Failure { kind: FailureKind::Unreachable, hint, ..failure },
                None => failure,
            };
        }
        let packet_bytes = system.server.packet_bytes;
        if failure.kind != FailureKind::ConnectionLost || packet_bytes >= tables::INSERT_BYTES as u64 {
            return failure;
        }
        failure.with_hint(format!(
            "the server ends a connection that sends a packet of more than {packet_bytes} bytes: {RAISE}"
        ))
    }
}

impl MySqlServer {
    /// Fails for a statement that is longer than the server's packets, for which it would end the connection.
    fn refuse_long(&self, statements: &[String]) -> Result<(), Failure> {
        let longest = statements.iter().map(String::len).max().unwrap_or_default() as u64;
        // The command's own byte comes first.
        if longest < self.packet_bytes {
            return Ok(());
        }
        let cause = format!("the server takes packets of up to {} bytes (`max_allowed_packet`)", self.packet_bytes);
        Err(Failure::new(FailureKind::Unsupported, format!("send a statement of {longest} bytes"), cause)
            .with_hint(RAISE))
    }
}

/// ER_OPTION_PREVENTS_STATEMENT, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE
const READ_ONLY: [u16; 3] = [1290, 1792, 1836];
const RAISE: &str = "raise `max_allowed_packet` on the server: `SET GLOBAL max_allowed_packet = 67108864`";

#[cfg(test)]
mod tests;
