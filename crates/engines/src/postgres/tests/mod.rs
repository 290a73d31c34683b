//! Real servers, started by the tests.

mod databases;
mod fakes;
mod further_settings;
mod hostile;
mod lane;
mod login;
mod many;
mod modes;
mod others;
mod poolers;
mod server;
mod silence;
mod standby;
mod tls;
mod tls_table;
mod together;
mod waits;

use std::sync::Arc;

use host::reactor::Choice;
use model::Value;
use model::plan::{Connect, PrivateServer};

use super::*;
use crate::postgres::lane::NativeLane;
use crate::server::testing::{self, Tested, made, started};
use workloads::dataset::Tables;

impl Tested for PostgresServer {
    /// `ETALON_TEST_POSTGRES_BIN` selects other programs.
    fn private_server(connect: Connect) -> PrivateServer {
        let bin_dir = std::env::var("ETALON_TEST_POSTGRES_BIN").ok();
        PrivateServer { engine: "postgres".to_owned(), bin_dir, connect, ..PrivateServer::default() }
    }

    fn prepared(sql: &[&str]) -> Statements {
        if sql.is_empty() {
            Statements::Simple
        } else {
            Statements::Prepared(Prepared::new(sql.iter().map(|text| (*text).to_owned()).collect()))
        }
    }
}

fn start(connect: Connect, pairs: &[(&str, &str)]) -> PostgresSystem {
    testing::start(connect, pairs)
}

fn open(url: &str, pairs: &[(&str, &str)], consent: Consent) -> Result<Box<dyn System>, Failure> {
    testing::open::<PostgresServer>(url, pairs, consent)
}

fn refusal(url: &str, pairs: &[(&str, &str)]) -> Failure {
    testing::refusal::<PostgresServer>(url, pairs)
}

impl PostgresSystem {
    /// URL of a private TCP server, for another role and database.
    fn url(&self, user: &str, password: &str, database: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/{database}", self.endpoint.address.port)
    }

    /// Étalon's own login.
    fn own_url(&self) -> String {
        self.url("etalon", self.endpoint.address.password.as_deref().unwrap(), "postgres")
    }
}
