//! A server under test, whatever its engine.

mod indexes;
mod lanes;
mod locks;
mod purpose;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use host::reactor::{Choice, Reactor};
use model::{DurabilityTier, Facts, Nature, Reset, SystemPlan};

use self::indexes::OwnIndexes;
pub(crate) use self::lanes::settings_on;
pub(crate) use super::claim::DatabaseClaim;
use super::control::Control;
use super::copies::Copies;
use super::counted::CountsQuery;
use super::dialogue::{Client, NativeLane, OpenedConnection, WireProtocol};
use super::load_settings::LoadSettings;
use super::private::{self, Private, Recipe};
use super::refusal::{Explain, OpenError, ask_failure};
use super::reset::{self, Loaded, Ownership};
use super::side_by_side;
use super::steps::Steps;
use super::trial;
use super::url::{Address, process_environment};
use crate::kept::Idle;
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::generator::ThreadLimit;
use load::lock_watch::LockWaiters;
use load::worker::{LoadCounts, WorkerContext};
pub(crate) use purpose::Purpose;
use workloads::backup::backups::Backups;
use workloads::dataset::{Dataset, Dialect, Tables};
use workloads::pages::dialect::PagesDialect;
use workloads::permits::Permits;
use workloads::session::{Session, SessionKind};
use workloads::spatial::dialect::SpatialDialect;
use workloads::system::{Consent, CpuHold, LoadProgress, OpenRequest, OsIo, Part, Presence, System};
use workloads::transactions::Program;
use workloads::work::Load;

/// How soon a load ends whose claim was lost.
const CLAIM_POLL: Duration = Duration::from_millis(200);

pub(crate) type ErrorOf<S> = <<S as Server>::Protocol as WireProtocol>::Error;
pub(crate) type ClientOf<S> = Client<<S as Server>::Protocol>;
type OpenedOf<P> = OpenedConnection<<P as WireProtocol>::Connection>;
type OpenErrorOf<P> = OpenError<<P as WireProtocol>::Error>;
pub(crate) type AddressOf<S> = <<S as Server>::Endpoint as Explain>::Address;
pub(crate) type StatementsOf<S> = <<S as Server>::Protocol as WireProtocol>::Statements;
pub(crate) type LaneOf<S> = NativeLane<<<S as Server>::Protocol as WireProtocol>::Connection>;

/// A plan's settings for sessions.
pub(crate) trait Settings: fmt::Debug + Clone + Default + Send + Sync + 'static {
    type Protocol: WireProtocol;
    type Endpoint;

    /// Makes the settings of a session that uses others' tables, not étalon's own.
    #[must_use]
    fn on_tables_of_others(&self) -> Self;

    /// Opens a session with these settings, among étalon's own tables if they exist.
    fn try_open(
        &self,
        endpoint: &Self::Endpoint,
        purpose: Purpose,
    ) -> Result<Client<Self::Protocol>, OpenErrorOf<Self::Protocol>>;

    /// Opens a session with these settings; a failure has a hint.
    fn open_session(&self, endpoint: &Self::Endpoint, purpose: Purpose) -> Result<Client<Self::Protocol>, Failure>
    where
        Self::Endpoint: Explain<Error = <Self::Protocol as WireProtocol>::Error>,
    {
        self.try_open(endpoint, purpose).map_err(|error| error.to_failure(endpoint))
    }

    /// Opens a lane's session, and prepares its statements.
    fn open_lane(
        &self,
        endpoint: &Self::Endpoint,
        statements: &<Self::Protocol as WireProtocol>::Statements,
    ) -> Result<OpenedOf<Self::Protocol>, OpenErrorOf<Self::Protocol>> {
        prepare_statements_on(self.try_open(endpoint, Purpose::Load)?, statements)
    }
}

/// Prepares a lane's statements on a client's session.
fn prepare_statements_on<P: WireProtocol>(
    client: Client<P>,
    statements: &P::Statements,
) -> Result<OpenedOf<P>, OpenErrorOf<P>> {
    P::into_prepared(client, statements).map_err(|error| OpenError::Asked("prepare the script's statements", error))
}

/// What servers differ in. A value holds what was found out about one of them.
pub(crate) trait Server: Sized + Send + Sync + 'static {
    type Protocol: WireProtocol;
    type Endpoint: Explain<Error = ErrorOf<Self>> + Clone + Send + Sync + 'static;
    type Session: Settings<Protocol = Self::Protocol, Endpoint = Self::Endpoint>;
    type Claim: DatabaseClaim<Protocol = Self::Protocol, Endpoint = Self::Endpoint>;
    type Recipe: Recipe<Endpoint = Self::Endpoint>;
    type Copies: Copies<Endpoint = Self::Endpoint, Session = Self::Session>;

    const DIALECT: &'static dyn Dialect;
    const PAGES: &'static dyn PagesDialect;
    const SPATIAL: &'static dyn SpatialDialect;
    /// Étalon's own, which it drops.
    const ROOM: &'static str;
    /// The query for the indexes on étalon's tables, but for primary keys, each with its table. `None`: it does not list them.
    const INDEXES: Option<&'static str> = None;
    /// Why what its processes used is not known, where étalon did not start them.
    const FOREIGN: &'static str = "the server's processes are not étalon's own";

    /// Connects to an existing server, and makes its endpoint and the plan's session settings.
    fn connect_for_plan(
        address: AddressOf<Self>,
        request: &OpenRequest<'_>,
    ) -> Result<(Self::Endpoint, Self::Session), Failure>;

    /// Logs in once, without the plan's settings.
    fn connect_once(address: AddressOf<Self>) -> Result<(Self::Endpoint, ClientOf<Self>), Failure>;

    /// Finds out what the server is and may do, before anything is made. `makes`: étalon is to make its tables.
    fn inspect_server(
        client: &mut ClientOf<Self>,
        endpoint: &Self::Endpoint,
        consent: Consent,
        makes: bool,
    ) -> Result<Self, Failure>;

    /// Fails if the system cannot run a program, before anything is made for it.
    fn refuse_program(_system: &ServerSystem<Self>, _program: &Program) -> Result<(), Failure> {
        Ok(())
    }

    /// Tests whether there is something that another étalon has left or still uses.
    fn has_remnant(_client: &mut ClientOf<Self>) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Makes a program's statements, and the query for the counts of each session if the server keeps them.
    fn statements(
        system: &ServerSystem<Self>,
        program: &Program,
    ) -> Result<(StatementsOf<Self>, Option<CountsQuery>), Failure>;

    /// Says why no session can be asked for its counts, if that is so.
    fn why_uncounted(_system: &ServerSystem<Self>) -> Option<String> {
        None
    }

    /// Makes what the facts are about, such as a database of étalon's own.
    fn make_room(_system: &ServerSystem<Self>) -> Result<(), Failure> {
        Ok(())
    }

    /// Reads the facts in a session like a run's.
    fn facts(system: &ServerSystem<Self>, client: &mut ClientOf<Self>) -> Result<Facts, Failure>;

    /// Reads the settings of a run's session and of which instance it is, by the names of [`Server::facts`].
    fn read_load_settings(_client: &mut ClientOf<Self>) -> Result<Facts, Failure> {
        Ok(Facts::default())
    }

    /// Makes and loads the tables.
    fn load_tables(system: &ServerSystem<Self>, data: &Dataset) -> Result<(), Failure>;

    /// Tests whether the tables are known to be as [`Server::load_tables`] or [`Server::note_prepared`] has left them.
    fn is_untouched(_system: &ServerSystem<Self>, _data: &Dataset) -> Result<bool, Failure> {
        Ok(false)
    }

    /// Notes how the tables are now that they have come back as they were loaded.
    fn note_prepared(_system: &ServerSystem<Self>, _data: &Dataset) -> Result<(), Failure> {
        Ok(())
    }

    /// Waits for a checkpoint and up-to-date statistics, as far as the login may.
    fn settle(system: &ServerSystem<Self>, client: &mut ClientOf<Self>) -> Result<(), Failure>;

    /// Reads what the server has counted so far.
    fn read_counters(&self, client: &mut ClientOf<Self>) -> Result<Counters, Failure>;

    /// Lists queries for the load's sessions that wait for locks, the best one first; a login may not be allowed it.
    /// Each counts those that wait for rows, and those that wait for sessions that are not the load's.
    fn lock_waiter_queries(&self) -> &'static [&'static str] {
        &[]
    }

    /// Removes what étalon made on the server.
    fn remove_tables(system: &ServerSystem<Self>, client: &mut ClientOf<Self>) -> Result<(), Failure>;

    /// Opens a session for single statements, like a run's.
    fn step_session(system: &ServerSystem<Self>, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(Steps::new(system.run_client(kind)?, Self::DIALECT)))
    }

    /// Reads facts that sessions of a kind have besides; none by default.
    fn session_facts(_system: &ServerSystem<Self>, _kind: SessionKind) -> Result<Facts, Failure> {
        Ok(Facts::default())
    }

    /// Makes the ways to back up the server.
    fn backups(system: &ServerSystem<Self>) -> Box<dyn Backups + '_>;

    /// Limits the CPU of a server that étalon did not start.
    fn limit_cpu(_system: &ServerSystem<Self>, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        private::limit_cpu(None, cores)
    }

    /// Reads the CPU seconds of a server that étalon did not start.
    fn server_cpu_s(_system: &ServerSystem<Self>) -> Result<f64, String> {
        Err(Self::FOREIGN.to_owned())
    }

    /// Ends sessions whose clients went away in the midst of an operation.
    fn end_sessions(_client: &mut ClientOf<Self>, _sessions: &[u32]) -> Result<(), Failure> {
        Ok(())
    }

    /// Fails if nothing can be written to the server as long as it follows another.
    fn refuse_standby(_client: &mut ClientOf<Self>, _endpoint: &Self::Endpoint) -> Result<(), Failure> {
        Ok(())
    }

    /// Adds to a failure what the server reports of it.
    fn explain_failure(_system: &ServerSystem<Self>, failure: Failure) -> Failure {
        failure
    }

    /// Forgets what was found out about the tables' state, since the server may restart.
    fn begin_round(&self) {}

    /// Tests by the facts whether each commit waits for a sync that the server's counters show.
    fn syncs_each_commit(_facts: &Facts) -> bool {
        false
    }
}

/// Opens the plan's server, or starts a private one; serves [`Engine::open`](workloads::system::Engine::open).
pub(crate) fn open_system<S: Server>(request: &OpenRequest<'_>) -> Result<Box<dyn System>, Failure> {
    let system = request.system;
    let opened: ServerSystem<S> = match &system.server {
        Some(server) => {
            let scratch_base = private::private_data_base(server, request)?;
            let (mut private, mut endpoint) =
                S::Recipe::start_server(server, &OpenRequest { scratch_base, ..request.clone() })?;
            endpoint.heed_request(request);
            private.interrupt = Arc::clone(&request.interrupt);
            ServerSystem::new(endpoint, S::Session::default(), Some(private), request)?
        }
        None => {
            let address = AddressOf::<S>::parse_permitted(&system.url, &process_environment, &request.permits)?;
            let (endpoint, session) = S::connect_for_plan(address, request)?;
            ServerSystem::new(endpoint, session, None, request)?
        }
    };
    Ok(Box::new(opened))
}

/// Says what étalon would make on the plan's server, for `Engine::would_make`.
pub(crate) fn would_make<S: Server>(system: &SystemPlan) -> Option<String> {
    if system.server.is_some() {
        return Some("a private server in a temporary folder".to_owned());
    }
    Some(match AddressOf::<S>::parse_url(&system.url, &process_environment) {
        Ok(address) => format!("{} at {}", room_words::<S>(system), address.shown_url()),
        Err(_) => room_words::<S>(system).to_owned(),
    })
}

/// Says what étalon would drop on the plan's server, for `Engine::would_drop`.
pub(crate) fn would_drop<S: Server>(system: &SystemPlan) -> String {
    if system.server.is_some() {
        return "nothing: the server is étalon's own, made and removed by it".to_owned();
    }
    match AddressOf::<S>::parse_url(&system.url, &process_environment) {
        Ok(address) => format!("what étalon made in {} at {}", room_words::<S>(system), address.shown_url()),
        Err(failure) => failure.to_string(),
    }
}

/// Fails if the system's URL cannot be read; connects to nothing.
pub(crate) fn check_url<S: Server>(system: &SystemPlan) -> Result<(), Failure> {
    match system.server {
        Some(_) => Ok(()),
        None => AddressOf::<S>::parse_url(&system.url, &process_environment).map(|_| ()),
    }
}

/// Connects, and returns the failure if the server follows another and cannot be written to.
pub(crate) fn why_read_only<S: Server>(system: &SystemPlan) -> Option<Failure> {
    let (endpoint, mut client) = S::connect_once(existing_address::<S>(system)?).ok()?;
    let refused = S::refuse_standby(&mut client, &endpoint).err();
    client.close_and_wait();
    refused.filter(|failure| failure.kind == FailureKind::Unsupported)
}

/// Logs in to look, and makes a session for single statements; nothing is claimed, made or set.
pub(crate) fn visit_session<S: Server>(system: &SystemPlan) -> Result<Box<dyn Session>, Failure> {
    let (_, client) = S::connect_once(AddressOf::<S>::parse_url(&system.url, &process_environment)?)?;
    Ok(Box::new(Steps::new(client, S::DIALECT)))
}

/// Says in words what of the server a load takes for its tables.
fn room_words<S: Server>(system: &SystemPlan) -> &'static str {
    if reset::keeps_copies::<S>(system) { S::Copies::ROOM } else { S::ROOM }
}

/// Parses the address of an existing server, if the plan names one.
pub(crate) fn existing_address<S: Server>(system: &SystemPlan) -> Option<AddressOf<S>> {
    if system.server.is_some() {
        return None;
    }
    AddressOf::<S>::parse_url(&system.url, &process_environment).ok()
}

pub(crate) struct ServerSystem<S: Server> {
    // Dropped before the server that it leads to.
    pub(crate) control: Control<S>,
    pub(crate) endpoint: S::Endpoint,
    pub(crate) session: S::Session,
    private: Option<Mutex<Private<S::Recipe>>>,
    pub(crate) server: S,
    pub(crate) consent: Consent,
    pub(crate) permits: Permits,
    pub(crate) reactor: Choice,
    pub(crate) tables: Tables,
    /// Étalon makes tables there.
    makes: bool,
    /// How tables come back, as the plan asks.
    pub(super) reset: Option<Reset>,
    pub(super) ownership: Ownership,
    pub(super) loaded: Loaded,
    /// What [`Server::syncs_each_commit`] said of the facts that were read last.
    syncs_each_commit: AtomicBool,
    /// Which question of [`Server::lock_waiter_queries`] the login may ask.
    lock_question: AtomicUsize,
    load_settings: LoadSettings,
    own_indexes: Mutex<OwnIndexes>,
    /// Ends a long load.
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) progress: Arc<LoadProgress>,
    /// `None`: it keeps none, or étalon does so itself.
    pub(super) copies: Option<S::Copies>,
}

impl<S: Server> ServerSystem<S> {
    /// Makes a system of a server that is there: inspects it, and claims étalon's tables.
    pub(crate) fn new(
        endpoint: S::Endpoint,
        mut session: S::Session,
        private: Option<Private<S::Recipe>>,
        request: &OpenRequest<'_>,
    ) -> Result<ServerSystem<S>, Failure> {
        let OpenRequest { consent, reactor, tables, part, .. } = *request;
        // Fails first if the requested reactor is not available.
        Reactor::new(reactor, 1).map_err(|error| {
            Failure::new(FailureKind::Unsupported, "set up the reactor", error)
                .with_hint("`--reactor auto` takes what there is")
        })?;
        let copies = match private {
            Some(_) => None,
            None => S::Copies::open(&endpoint, &mut session, request)?,
        };
        // Étalon's questions are about the load's tables.
        // Where there are copies, another session has the claim, and this one would be in their way.
        let is_left = private.is_some() || copies.is_some();
        let idle = if is_left { Idle::Left } else { Idle::KeptAlive };
        let control = Control::new(endpoint.clone(), settings_on::<S>(&session, tables), part, idle);
        let makes = tables == Tables::Own && part == Part::Whole;
        let looked = control.ask(|client| S::inspect_server(client, &endpoint, consent, makes)).and_then(|server| {
            if makes && private.is_none() && control.ask(S::has_remnant)? {
                control.wait_out_rival()?;
            }
            Ok(server)
        });
        if let (Err(_), Some(copies)) = (&looked, &copies) {
            control.close_session();
            // The failure is the first one's; what stays is removed when the next étalon opens it.
            let _ = copies.remove_all();
        }
        let server = looked?;
        let (private, permits) = (private.map(Mutex::new), request.permits.clone());
        let (reset, loaded) = (request.system.reset, Loaded::default());
        let (interrupt, progress) = (Arc::clone(&request.interrupt), Arc::clone(&request.progress));
        Ok(ServerSystem {
            control,
            endpoint,
            session,
            private,
            server,
            consent,
            permits,
            reactor,
            tables,
            makes,
            reset,
            ownership: reset::find_ownership::<S>(request.system),
            loaded,
            syncs_each_commit: AtomicBool::new(false),
            lock_question: AtomicUsize::new(0),
            load_settings: LoadSettings::default(),
            own_indexes: Mutex::default(),
            interrupt,
            progress,
            copies,
        })
    }

    /// Asks over the control session; explains a failure by what the server reports.
    pub(crate) fn ask<T>(&self, question: impl FnMut(&mut ClientOf<S>) -> Result<T, Failure>) -> Result<T, Failure> {
        self.control.ask(question).map_err(|failure| self.explain_failure(failure))
    }

    /// Adds to a failure what the server, or a private server's log, reports.
    pub(crate) fn explain_failure(&self, failure: Failure) -> Failure {
        let failure = S::explain_failure(self, failure);
        match self.lock_private() {
            Some(mut private) if failure.may_pass() => private.running.add_log_to_failure(failure),
            _ => failure,
        }
    }

    /// Locks the private server. `None`: étalon did not start it.
    pub(crate) fn lock_private(&self) -> Option<MutexGuard<'_, Private<S::Recipe>>> {
        self.private.as_ref().map(|private| private.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns how the claim was lost, since that was last forgotten.
    fn claim_loss(&self) -> Option<Failure> {
        self.control.claim_loss().or_else(|| self.copies.as_ref().and_then(S::Copies::claim_loss))
    }

    /// Takes the claim again if it was lost, before the tables are made, and returns whether it was.
    fn retake_lost_claim(&self) -> Result<bool, Failure> {
        if self.private.is_some() {
            return Ok(false);
        }
        let of_copies = self.copies.as_ref().map_or(Ok(None), S::Copies::retake_copies_claim)?;
        if self.copies.is_none() {
            self.control.keep_claim().map_err(|failure| self.explain_failure(failure))?;
        }
        Ok(self.control.forget_claim_loss().or(of_copies).is_some())
    }
}

/// Runs a query, and returns the whole number that it answers; 0 for `NULL` or no row.
pub(crate) fn query_scalar<S: Server>(client: &mut ClientOf<S>, sql: &str) -> Result<i64, Failure> {
    let tried = format!("run `{sql}`");
    let answer = client.query_first_value(sql).map_err(|error| ask_failure(&*tried, &error))?;
    super::parse_whole_number(&answer, &tried)
}

impl<S: Server> System for ServerSystem<S> {
    fn facts(&self) -> Result<Facts, Failure> {
        S::make_room(self)?;
        // The control connection has other settings.
        let opened = self.session_settings_for(self.tables).open_session(&self.endpoint, Purpose::Load);
        let mut client = opened.map_err(|failure| self.explain_failure(failure))?;
        let mut facts = S::facts(self, &mut client)?;
        self.add_strange_indexes(&mut client, &mut facts)?;
        client.close_and_wait();
        self.load_settings.put_load_settings(&mut facts);
        let is_durable = facts.durability().is_some_and(|promised| promised.tier == DurabilityTier::Durable);
        self.syncs_each_commit.store(is_durable && S::syncs_each_commit(&facts), Ordering::Relaxed);
        facts.insert("client.reactor", super::reactor_kind(self.reactor), Nature::Passing);
        if let Some(private) = self.lock_private() {
            private.recipe.add_facts(&mut facts);
            // Étalon itself starts it again, and makes it.
            facts.remove_instance();
        }
        Ok(facts)
    }

    fn dialect(&self) -> &'static dyn Dialect {
        S::DIALECT
    }

    fn placement(&self) -> Placement {
        Placement::Server
    }

    /// Brings a data set's tables to their first state, after the claim was taken again if it was lost.
    fn prepare(&self, data: &Dataset) -> Result<(), Failure> {
        self.note_own_indexes(data);
        if self.retake_lost_claim()? {
            // Another étalon may have been there.
            self.forget_loaded();
            self.server.begin_round();
        }
        self.bring_first_state(data)
    }

    fn check_claim(&self) -> Result<(), Failure> {
        self.claim_loss().map_or(Ok(()), Err)
    }

    fn explain_reset(&self, data: &Dataset) -> Option<String> {
        data.has_tables().then(|| self.explain_tables_reset(data))
    }

    fn kept_bytes(&self) -> u64 {
        self.kept_bytes_of_all()
    }

    fn settle(&self) -> Result<(), Failure> {
        if self.tables == Tables::None {
            self.retake_lost_claim()?;
        }
        self.ask(|client| S::settle(self, client))
    }

    fn counters(&self) -> Result<Counters, Failure> {
        let counters = self.ask(|client| self.server.read_counters(client))?;
        // A server that keeps its log elsewhere may show a counter that it never moves.
        let syncs = counters.value_of("log_syncs").or_else(|| counters.value_of("data_syncs"));
        let syncs_each_commit =
            self.syncs_each_commit.load(Ordering::Relaxed) && syncs.is_some_and(|syncs| syncs > 0.0);
        Ok(Counters { syncs_each_commit, ..counters })
    }

    fn lock_waiters(&self) -> Result<Option<LockWaiters>, Failure> {
        self.sample_locks()
    }

    fn scalar(&self, sql: &str) -> Result<i64, Failure> {
        self.ask(|client| query_scalar::<S>(client, sql))
    }

    fn scalars(&self, questions: &[String]) -> Result<Vec<i64>, Failure> {
        side_by_side::scalars_in_parallel(self, questions)
    }

    fn presence(&self) -> Presence {
        match self.private {
            Some(_) => Presence::Own,
            None => Presence::Server(self.endpoint.address().listener()),
        }
    }

    fn split_clients(&self, clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>> {
        super::reactor_workers(clients, threads)
    }

    fn refuse_program(&self, program: &Program) -> Result<(), Failure> {
        S::refuse_program(self, program)
    }

    /// Runs a worker's part of a run, and stops the load if the claim is lost.
    fn drive(&self, load: Load<'_>, context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        if self.private.is_some() {
            return self.run_worker(load, context);
        }
        let (gate, is_over) = (context.gate, AtomicBool::new(false));
        let counts = thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    if self.claim_loss().is_some() {
                        return gate.stop();
                    }
                    thread::park_timeout(CLAIM_POLL);
                }
            });
            let counts = self.run_worker(load, context);
            is_over.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            counts
        });
        self.check_claim()?;
        counts
    }

    fn try_connections(&self, count: u64) -> Result<(), Failure> {
        trial::try_connections(self, count)
    }

    fn connect_session(&self, kind: SessionKind) -> Result<Box<dyn Session>, Failure> {
        S::step_session(self, kind)
    }

    fn patient_session(&self) -> Result<Box<dyn Session>, Failure> {
        let opened = self.session.open_session(&self.endpoint, Purpose::Control);
        let mut client = opened.map_err(|failure| self.explain_failure(failure))?;
        S::Claim::set_limits(&mut client).map_err(|error| ask_failure("set up étalon's own session", &error))?;
        Ok(Box::new(Steps::new(client, S::DIALECT)))
    }

    fn read_session_facts(&self, kind: SessionKind) -> Result<Facts, Failure> {
        S::session_facts(self, kind)
    }

    fn pages_dialect(&self) -> Option<&'static dyn PagesDialect> {
        Some(S::PAGES)
    }

    fn spatial_dialect(&self) -> Option<&'static dyn SpatialDialect> {
        Some(S::SPATIAL)
    }

    fn backups(&self) -> Result<Box<dyn Backups + '_>, Failure> {
        Ok(S::backups(self))
    }

    /// Restarts a private server with cold caches; fails for another server.
    fn empty_caches(&self) -> Result<(), Failure> {
        let mut private = self.lock_private().ok_or_else(private::not_restartable_failure)?;
        self.control.close_session();
        private.restart_cold(&self.endpoint)
    }

    fn limit_cpu(&self, cores: f64) -> Result<Box<dyn CpuHold>, Failure> {
        match self.lock_private() {
            Some(private) => private::limit_cpu(private.running.pid(), cores),
            None => S::limit_cpu(self, cores),
        }
    }

    fn os_io(&self) -> Result<OsIo, String> {
        self.lock_private().ok_or_else(|| S::FOREIGN.to_owned())?.running.os_io()
    }

    fn server_cpu_s(&self) -> Result<f64, String> {
        match self.lock_private() {
            Some(private) => private.running.cpu_s(),
            None => S::server_cpu_s(self),
        }
    }

    fn plan_for_other_hosts(&self, system: &SystemPlan) -> Result<SystemPlan, Failure> {
        match self.private {
            Some(_) => super::plan_for_private(system, self.endpoint.address().url_of_private()),
            None => super::plan_by_url(system),
        }
    }

    fn begin_round(&self) -> Result<(), Failure> {
        self.server.begin_round();
        let Some(mut private) = self.lock_private() else { return Ok(()) };
        self.control.close_session();
        private.restart_server(&self.endpoint)
    }

    /// Asks the server whether it answers, and starts a private one that has ended; fails if it does not.
    fn wait_until_available(&self) -> Result<(), Failure> {
        if self.private.is_none() {
            if let Some(copies) = &self.copies {
                return copies.ask_for_life();
            }
            self.counters()?;
            // One that was promoted answers before it can be written to.
            return if self.makes { self.ask(|client| S::refuse_standby(client, &self.endpoint)) } else { Ok(()) };
        }
        private::ask_or_restart(
            || {
                // A session may outlive its server for a moment, and would answer for it.
                self.control.close_session();
                self.lock_private().map_or(Ok(()), |mut private| private.start_if_ended(&self.endpoint))
            },
            || self.counters(),
        )
    }

    fn begin_clean_up(&self) {
        self.endpoint.waiting().begin_clean_up();
    }

    /// Removes all that étalon made on the server, or the private server itself.
    fn drop_all(&self) -> Result<(), Failure> {
        let waiting = self.endpoint.waiting();
        waiting.begin_clean_up();
        let left = waiting.take_left_sessions();
        if !left.is_empty() && self.private.is_none() {
            // Where they cannot be ended, the removal waits for their locks.
            let _ = self.ask(|client| S::end_sessions(client, &left));
        }
        let dropped = match self.lock_private() {
            Some(mut private) => {
                self.control.close_session();
                private.remove_server()
            }
            // Nothing was made.
            None if self.tables == Tables::None => Ok(()),
            None => match &self.copies {
                Some(copies) => self.remove_copies(copies),
                None => self.ask(|client| S::remove_tables(self, client)),
            },
        };
        self.control.close_session();
        dropped
    }
}
