//! Real servers, started by the tests. Making one takes a second or two, so each test covers many cases.

mod counts;
mod fakes;
mod hostile;
mod lane;
mod login;
mod many;
mod modes;
mod server;
mod tls;
mod tls_table;
mod together;

use std::collections::BTreeMap;

use model::plan::{Connect, PrivateServer};
use model::{SystemPlan, Value};

use super::*;

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, Value> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned()))).collect()
}

fn system(url: &str, server: Option<Connect>, pairs: &[(&str, &str)]) -> SystemPlan {
    SystemPlan {
        name: "s".to_owned(),
        engine: "postgres".to_owned(),
        url: url.to_owned(),
        settings: settings(pairs),
        server: server.map(private_server),
        volume: None,
        alias_of: None,
    }
}

/// `ETALON_TEST_POSTGRES_BIN` selects other programs.
fn private_server(connect: Connect) -> PrivateServer {
    let bin_dir = std::env::var("ETALON_TEST_POSTGRES_BIN").ok();
    PrivateServer { engine: "postgres".to_owned(), bin_dir, connect }
}

fn start(connect: Connect, pairs: &[(&str, &str)]) -> PostgresTarget {
    let (private, endpoint) = match started(private_server(connect), pairs, None) {
        Ok(started) => started,
        Err(failure) if failure.kind == FailureKind::Missing => {
            panic!(
                "{failure}; this test needs PostgreSQL's server programs: run `cargo xtask test`, which installs them"
            )
        }
        Err(failure) => panic!("{failure}"),
    };
    made(endpoint, Some(private))
}

/// In a given folder.
fn started(
    server: PrivateServer,
    pairs: &[(&str, &str)],
    base: Option<&std::path::Path>,
) -> Result<(Private, Endpoint), Failure> {
    let system = SystemPlan { server: Some(server.clone()), ..system("", None, pairs) };
    let scratch_base = base.map(std::path::Path::to_owned);
    Private::start(&server, &OpenRequest { scratch_base, ..OpenRequest::new(&system, Consent::OwnOnly) })
}

/// Without settings.
fn made(endpoint: Endpoint, private: Option<Private>) -> PostgresTarget {
    let system = system("", None, &[]);
    PostgresTarget::new(endpoint, Session::plain(), private, &OpenRequest::new(&system, Consent::OwnOnly)).unwrap()
}

/// As a plan with this URL.
fn open(url: &str, pairs: &[(&str, &str)], consent: Consent) -> Result<Box<dyn Target>, Failure> {
    Postgres.open(&OpenRequest::new(&system(url, None, pairs), consent))
}

fn refusal(url: &str, pairs: &[(&str, &str)]) -> Failure {
    open(url, pairs, Consent::OwnOnly).err().unwrap_or_else(|| panic!("{url} opened"))
}

impl PostgresTarget {
    /// A session like a run's client.
    fn client(&self) -> Client {
        self.session.open(&self.endpoint).unwrap()
    }

    fn text(&self, sql: &str) -> String {
        self.client().one(sql).unwrap()
    }

    fn run(&self, sql: &str) {
        self.client().execute(sql).unwrap();
    }

    /// Of a private TCP server, for another role and database.
    fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.endpoint.address.port)
    }

    /// Étalon's own login.
    fn own_url(&self) -> String {
        self.url("etalon", self.endpoint.address.password.as_deref().unwrap(), "postgres")
    }
}
