//! Real servers, started by the tests. Making one takes a second or two, so each test covers many cases.

mod counts;
mod fakes;
mod lane;
mod login;
mod server;
mod tls;
mod tls_table;

use std::collections::BTreeMap;

use model::plan::{Connect, PrivateServer};
use model::{SystemPlan, Value};

use super::*;
use crate::systems::mysql::lane::NativeLane;
use crate::systems::mysql::url::Place;

fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, Value> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), Value::Text((*value).to_owned()))).collect()
}

fn system(url: &str, server: Option<Connect>, pairs: &[(&str, &str)]) -> SystemPlan {
    SystemPlan {
        name: "s".to_owned(),
        engine: "mysql".to_owned(),
        url: url.to_owned(),
        settings: settings(pairs),
        server: server.map(private_server),
        volume: None,
        alias_of: None,
    }
}

/// `ETALON_TEST_MYSQL_BIN` selects other programs.
fn private_server(connect: Connect) -> PrivateServer {
    let bin_dir = std::env::var("ETALON_TEST_MYSQL_BIN").ok();
    let is_mysql = bin_dir.as_ref().is_some_and(|dir| !std::path::Path::new(dir).join("mariadbd").exists());
    PrivateServer { engine: if is_mysql { "mysql" } else { "mariadb" }.to_owned(), bin_dir, connect }
}

fn start(connect: Connect, pairs: &[(&str, &str)]) -> MySqlTarget {
    let (private, endpoint) = match started(private_server(connect), pairs, None) {
        Ok(started) => started,
        Err(failure) if failure.kind == FailureKind::Missing => {
            panic!("{failure}; this test needs MariaDB's server programs: run `cargo xtask test`, which installs them")
        }
        Err(failure) => panic!("{failure}"),
    };
    let system = system("", None, &[]);
    let request = OpenRequest::new(&system, Consent::OwnOnly);
    MySqlTarget::new(endpoint, Session::default(), Some(private), &request).unwrap()
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

/// As a plan with this URL.
fn open(url: &str, pairs: &[(&str, &str)], consent: Consent) -> Result<Box<dyn Target>, Failure> {
    MySql.open(&OpenRequest::new(&system(url, None, pairs), consent))
}

fn refusal(url: &str, pairs: &[(&str, &str)]) -> Failure {
    open(url, pairs, Consent::OwnOnly).err().unwrap_or_else(|| panic!("{url} opened"))
}

impl MySqlTarget {
    /// A session like a run's client.
    fn client(&self) -> Client {
        self.session.open(&self.endpoint, Purpose::Load).unwrap()
    }

    fn text(&self, sql: &str) -> String {
        self.client().one(sql).unwrap()
    }

    fn run(&self, sql: &str) {
        self.client().execute(sql).unwrap();
    }

    fn port(&self) -> u16 {
        let Place::Tcp { port, .. } = self.endpoint.address.place else { panic!("a socket has no port") };
        port
    }

    /// Of a private TCP server, for another account and database.
    fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("mysql://{user}:{password}@127.0.0.1:{}/{database}", self.port())
    }

    /// Étalon's own login.
    fn own_url(&self) -> String {
        self.url("etalon", self.endpoint.address.password.as_deref().unwrap(), "")
    }
}
