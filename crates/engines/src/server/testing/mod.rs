//! Tests of real servers, run for each engine whose servers étalon can start. Making one takes a second or two, so each
//! test covers many cases.

pub(crate) mod conductor;
pub(crate) mod fakes;
pub(crate) mod lane;
pub(crate) mod life;
pub(crate) mod parts;
pub(crate) mod silence;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use model::plan::{Connect, PrivateServer};
use model::{Facts, SystemPlan, Value};

use super::counted::Counted;
use super::counted::tests::Lying;
use super::dialogue::Waiting;
use super::private::{Private, Recipe};
use super::system::{self, Server, ServerSystem, StatementsOf};
use crate::suite::{counts_agree, delegate_to_system, lies_are_caught, new_connections_are_not_counted};
use load::clock::RealClock;
use load::counters::{Counters, Placement};
use load::error::{Failure, FailureKind};
use load::worker::{self, LoadCounts, WorkerContext};
use workloads::dataset::{Dataset, Dialect, EngineStatements, Tables};
use workloads::system::{Consent, OpenRequest, System};
use workloads::transactions::pgbench_tables;
use workloads::work::Load;

pub(crate) trait Tested: Server {
    /// A private server, by the programs that the developer selects.
    fn private_server(connect: Connect) -> PrivateServer;

    /// Prepares statements; without any they travel as text.
    fn prepared(sql: &[&str]) -> StatementsOf<Self>;
}

fn system(url: &str, server: Option<PrivateServer>, pairs: &[(&str, &str)]) -> SystemPlan {
    let settings = pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned())));
    SystemPlan {
        name: "s".to_owned(),
        engine: "s".to_owned(),
        url: url.to_owned(),
        settings: settings.collect::<BTreeMap<_, _>>(),
        server,
        volume: None,
        alias_of: None,
        price: None,
        reset: None,
        change: None,
    }
}

/// Tables, and order entry's procedures without their own.
pub(crate) fn order_entry_procedures() -> Dataset {
    let statements = |dialect: &dyn Dialect| Some(dialect.order_entry()?.create_procedures());
    let procedures = EngineStatements {
        made: "the procedures of order entry".to_owned(),
        are_of_user: false,
        texts: Arc::new(statements),
        without: ("stored procedures".to_owned(), ""),
    };
    Dataset { name: "procedures".to_owned(), engine_statements: Some(procedures), ..pgbench_tables(1) }
}

pub(crate) fn start<S: Tested>(connect: Connect, pairs: &[(&str, &str)]) -> ServerSystem<S> {
    let (private, endpoint) = match started::<S>(connect, pairs, None) {
        Ok(started) => started,
        Err(failure) if failure.kind == FailureKind::Missing => {
            panic!("{failure}; this test needs server programs: run `cargo xtask test`, which installs them")
        }
        Err(failure) => panic!("{failure}"),
    };
    made(endpoint, Some(private))
}

/// Starts a server in a given folder.
pub(crate) fn started<S: Tested>(
    connect: Connect,
    pairs: &[(&str, &str)],
    base: Option<&Path>,
) -> Result<(Private<S::Recipe>, S::Endpoint), Failure> {
    let server = S::private_server(connect);
    let system = system("", Some(server.clone()), pairs);
    let scratch_base = base.map(Path::to_owned);
    S::Recipe::start_server(&server, &OpenRequest { scratch_base, ..OpenRequest::new(&system, Consent::OwnOnly) })
}

pub(crate) fn made<S: Server>(endpoint: S::Endpoint, private: Option<Private<S::Recipe>>) -> ServerSystem<S> {
    made_for(endpoint, private, Tables::Own)
}

pub(crate) fn made_for<S: Server>(
    endpoint: S::Endpoint,
    private: Option<Private<S::Recipe>>,
    tables: Tables,
) -> ServerSystem<S> {
    let system = system("", None, &[]);
    let request = OpenRequest { tables, ..OpenRequest::new(&system, Consent::OwnOnly) };
    ServerSystem::new(endpoint, S::Session::default(), private, &request).unwrap()
}

/// Opens a system as a plan with this URL would.
pub(crate) fn open<S: Server>(url: &str, pairs: &[(&str, &str)], consent: Consent) -> Result<Box<dyn System>, Failure> {
    system::open_system::<S>(&OpenRequest::new(&system(url, None, pairs), consent))
}

pub(crate) fn refusal<S: Server>(url: &str, pairs: &[(&str, &str)]) -> Failure {
    open::<S>(url, pairs, Consent::OwnOnly).err().unwrap_or_else(|| panic!("{url} opened"))
}

/// The failure of starting a private server with these settings.
pub(crate) fn refused_start<S: Tested>(pairs: &[(&str, &str)]) -> Failure {
    let system = system("", Some(S::private_server(Connect::Socket)), pairs);
    let opened = system::open_system::<S>(&OpenRequest::new(&system, Consent::OwnOnly));
    opened.err().unwrap_or_else(|| panic!("{pairs:?} started"))
}

impl<S: Server> ServerSystem<S> {
    pub(crate) fn text(&self, sql: &str) -> String {
        self.open_client().unwrap().query_first_value(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    pub(crate) fn run(&self, sql: &str) {
        self.open_client().unwrap().execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// What étalon said when it was refused.
#[derive(Default)]
pub(crate) struct Refusals(Mutex<Vec<String>>);

impl Refusals {
    pub(crate) fn note(&self, failure: Failure, kind: FailureKind) -> Failure {
        assert_eq!(failure.kind, kind, "{failure:?}");
        assert!(failure.hint.is_some(), "without a hint: {failure}");
        self.0.lock().unwrap().push(format!("{failure:?} {failure}"));
        failure
    }

    pub(crate) fn are_without(self, count: usize, secrets: &[&str]) {
        let said = self.0.into_inner().unwrap();
        assert_eq!(said.len(), count);
        for text in &said {
            assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
        }
    }
}

struct Lies<'a, S: Server>(&'a ServerSystem<S>);

impl<S: Server> System for Lies<'_, S> {
    delegate_to_system!();

    fn drive(&self, load: Load<'_>, mut context: WorkerContext<'_>) -> Result<LoadCounts, Failure> {
        let program = load.statements()?;
        let (lane, question) = self.0.open_lane(program, &mut context)?;
        let lane = Counted::new(Lying::new(lane, 30), question.unwrap(), program, &context, Waiting::default())?;
        worker::run_worker(lane, program, &RealClock, context)
    }
}

/// The server's counts against the load's claims.
pub(crate) fn the_server_counts_what_the_client_claims<S: Tested>(protocols: &[&str]) {
    let server = start::<S>(Connect::Socket, &[]);
    counts_agree(&server, protocols);
    new_connections_are_not_counted(&server);
    lies_are_caught(&Lies(&server), &["prepared"]);
    server.drop_all().unwrap();
}
