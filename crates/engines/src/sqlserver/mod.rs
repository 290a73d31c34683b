//! SQL Server: an existing server, on Windows, Linux or Azure.
//!
//! Étalon works in its own database with a marker, recreated by each preparation: runs on different tables are not
//! comparable.

mod aside;
mod backup;
mod claim;
mod confine;
mod connect;
mod counters;
mod database_snapshots;
mod dialect;
mod durability;
mod facts;
mod governor;
mod keys;
pub mod lane;
mod order_entry;
pub mod pages;
mod room;
mod session;
pub mod spatial;
mod steps;
mod tables;
mod url;
mod watch;

use model::catalog::{Caution, Visibility};
use model::{EngineSpec, Facts, Reset, SystemPlan};

use crate::owner::TableOwner;
use crate::server::counted::CountsQuery;
use crate::server::no_recipe::NoRecipe;
use crate::server::system::{self, Purpose, Server, ServerSystem, Settings as _};
use crate::server::{self, dialogue};
use crate::sqlserver::lane::{Client, Mode, TdsProtocol, Typed};
use claim::SqlServerClaim;
use connect::Endpoint;
use database_snapshots::SnapshotCopies;
use load::counters::Counters;
use load::error::Failure;
use room::Reach;
use session::SessionSettings;
pub(crate) use url::Address;
use workloads::backup::backups::Backups;
use workloads::dataset::{Dataset, Dialect, Tables};
use workloads::pages::dialect::PagesDialect;
use workloads::session::SessionKind;
use workloads::spatial::dialect::SpatialDialect;
use workloads::system::{Consent, CpuHold, Engine, OpenRequest, System};
use workloads::transactions::Program;

/// Étalon's database.
const SCHEMA: &str = "etalon";

pub struct SqlServer;

impl Engine for SqlServer {
    /// Describes the engine: name, URL schemes, backups and cautions.
    fn spec(&self) -> EngineSpec {
        EngineSpec {
            name: "sqlserver",
            schemes: &["mssql", "sqlserver"],
            about: "SQL Server: `mssql://login@host:port/` is a server that is there, where settings are `SET` options of \
                    étalon's sessions and options of the database that étalon makes",
            private_servers: &[],
            own_url: None,
            other_address: None,
            workload: "transactions",
            backups: backup::METHODS,
            poolers: &[],
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

    fn open(&self, request: &OpenRequest) -> Result<Box<dyn System>, Failure> {
        system::open_system::<SqlServer>(request)
    }

    fn dialect(&self) -> Option<&'static dyn Dialect> {
        Some(<SqlServer as Server>::DIALECT)
    }

    /// The role that a login needs to make étalon's database and its snapshots.
    fn needed_privileges(&self, system: &SystemPlan) -> Option<String> {
        if server::reset::keeps_copies::<SqlServer>(system) {
            return Some(format!("to make the database `{SCHEMA}` and snapshots of it: the server role `dbcreator`"));
        }
        Some(format!("to make the database `{SCHEMA}`: the server role `dbcreator`, or an empty database of that name"))
    }

    /// Chooses how tables of that size come back before each run.
    fn choose_reset(&self, system: &SystemPlan, size_bytes: u64) -> Result<Option<Reset>, Failure> {
        server::reset::choose_reset_of_plan::<SqlServer>(system, size_bytes)
    }

    /// Whether étalon can empty the caches: only those of a private server.
    fn can_empty_caches(&self, system: &SystemPlan) -> bool {
        system.server.is_some()
    }

    /// Says what étalon would make in the system, from the plan alone.
    fn explain_made(&self, system: &SystemPlan) -> Option<String> {
        system::would_make::<SqlServer>(system)
    }

    /// Says what étalon would drop in the system, from the plan alone.
    fn explain_dropped(&self, system: &SystemPlan) -> String {
        system::would_drop::<SqlServer>(system)
    }

    /// Fails if the system's URL cannot be read; connects to nothing.
    fn check_url(&self, system: &SystemPlan) -> Result<(), Failure> {
        system::check_url::<SqlServer>(system)
    }
}

type SqlServerSystem = ServerSystem<SqlServer>;

/// What a load may drop: everything by the user's consent, else étalon's own things.
fn allowed_reach(system: &SqlServerSystem) -> Reach {
    if system.consent == Consent::DropForeign { Reach::Database } else { Reach::Names }
}

impl Server for SqlServer {
    type Protocol = TdsProtocol;
    type Endpoint = Endpoint;
    type Session = SessionSettings;
    type Claim = SqlServerClaim;
    type Recipe = NoRecipe<Endpoint>;
    type Copies = SnapshotCopies;

    const DIALECT: &'static dyn Dialect = &dialect::TSql;
    const PAGES: &'static dyn PagesDialect = &pages::Pages;
    const SPATIAL: &'static dyn SpatialDialect = &spatial::Spatial;
    const ROOM: &'static str = "the database `etalon`";
    const FOREIGN: &'static str = "the server's processes are not on this host, or are not étalon's own";

    /// Makes the plan's settings, logs in with them, and refuses too strong a login; rejected settings fail first.
    fn connect_for_plan(address: Address, request: &OpenRequest<'_>) -> Result<(Endpoint, SessionSettings), Failure> {
        let session = SessionSettings::parse_settings(&request.system.settings)?;
        let endpoint = Endpoint::new(address)?.with_permits(&request.permits).with_request(request);
        let mut client = session.open_session(&endpoint, Purpose::Load)?;
        confine::refuse_strong(&mut client, &endpoint.address, &request.permits)?;
        Ok((endpoint, session))
    }

    /// Logs in to a server without settings, for a single visit.
    fn connect_once(address: Address) -> Result<(Endpoint, Client), Failure> {
        let endpoint = Endpoint::new(address)?;
        let client = SessionSettings::default().open_session(&endpoint, Purpose::Control)?;
        Ok((endpoint, client))
    }

    /// Fails if étalon `makes` tables where the login or the database does not allow it.
    fn inspect_server(
        client: &mut Client,
        endpoint: &Endpoint,
        consent: Consent,
        makes: bool,
    ) -> Result<Self, Failure> {
        if makes {
            let owner = tables::refuse_foreign(client, consent)?;
            tables::refuse_unfit(client, endpoint, owner)?;
        }
        Ok(SqlServer)
    }

    /// Whether the server still has étalon's database.
    fn has_remnant(client: &mut Client) -> Result<bool, Failure> {
        Ok(matches!(tables::table_owner(client)?, TableOwner::Etalon | TableOwner::Guest))
    }

    /// Fails for a script with pipelines, which the protocol does not have.
    fn refuse_program(_system: &SqlServerSystem, program: &Program) -> Result<(), Failure> {
        dialogue::refuse_pipeline("SQL Server", program)
    }

    /// Asks for the parameter types of a script's statements, and says how they travel.
    /// Sessions do not report their counts.
    fn statements(
        system: &SqlServerSystem,
        program: &Program,
    ) -> Result<((Vec<Typed>, Mode), Option<CountsQuery>), Failure> {
        let Some(mode) = session::mode_of_protocol(program.protocol()) else {
            return Ok(((Vec::new(), Mode::Unprepared), None));
        };
        let counts = program.statements().iter().map(|statement| statement.parameter_count());
        let statements = system.statement_texts(program).into_iter().zip(counts).collect();
        let mut client = system.session_settings_for(program.tables).open_session(&system.endpoint, Purpose::Load)?;
        Ok(((session::ask_types(&mut client, statements)?, mode), None))
    }

    /// Makes étalon's database if the plan has own tables, so that sessions can enter it.
    fn make_room(system: &SqlServerSystem) -> Result<(), Failure> {
        if system.tables == Tables::None {
            return Ok(());
        }
        system.ask(|client| tables::ensure_database(system, client))
    }

    /// Reads the server's facts, after a checkpoint that shows whether the login may.
    fn facts(system: &SqlServerSystem, client: &mut Client) -> Result<Facts, Failure> {
        let mut facts = facts::read_facts(client, &system.endpoint)?;
        facts::checkpoint_and_add_fact(&mut facts, client)?;
        Ok(facts)
    }

    /// Reads the instance that a load's session meets.
    fn read_load_settings(client: &mut Client) -> Result<Facts, Failure> {
        Ok(facts::read_instance_facts(client))
    }

    /// Makes and fills a data set's tables.
    fn load_tables(system: &SqlServerSystem, data: &Dataset) -> Result<(), Failure> {
        system.ask(|client| tables::load_tables(system, client, data))
    }

    /// Writes dirty pages, as far as the login may.
    fn settle(_system: &SqlServerSystem, client: &mut Client) -> Result<(), Failure> {
        counters::checkpoint_if_allowed(client).map(|_| ())
    }

    fn read_counters(&self, client: &mut Client) -> Result<Counters, Failure> {
        counters::read_counters(client)
    }

    /// Removes étalon's database.
    fn remove_tables(system: &SqlServerSystem, client: &mut Client) -> Result<(), Failure> {
        tables::remove_database(client, &system.endpoint, &system.session)
    }

    /// Opens a session for procedures; every one is spatial, since geometries are built in.
    fn step_session(
        system: &SqlServerSystem,
        kind: SessionKind,
    ) -> Result<Box<dyn workloads::session::Session>, Failure> {
        Ok(Box::new(steps::SqlServerSession::new(system.run_client(kind)?, kind)?))
    }

    fn backups(system: &SqlServerSystem) -> Box<dyn Backups + '_> {
        Box::new(backup::SqlServerBackups::new(system))
    }

    /// Limits the CPU of backups' sessions to this number of cores.
    fn limit_cpu(system: &SqlServerSystem, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        Ok(Box::new(governor::limit_backups(&system.endpoint, cores)?))
    }

    /// Reads the CPU seconds of the server's process, used by anyone.
    fn server_cpu_s(system: &SqlServerSystem) -> Result<f64, String> {
        let seconds = system
            .ask(|client| {
                Ok(client
                    .query_first_value(counters::CPU)
                    .map_err(|error| counters::why_unreadable(&error).unwrap_or_else(|| error.to_string())))
            })
            .map_err(|failure| failure.to_string())??;
        seconds.parse().map_err(|_| format!("the server gives `{seconds}` for its CPU time"))
    }
}
