//! Real servers, started by the tests.

mod fakes;
mod lane;
mod login;
mod server;
mod tls;
mod tls_table;

use std::path::Path;

use host::reactor::Choice;
use model::plan::{Connect, PrivateServer};

use super::*;
use crate::mysql::lane::NativeLane;
use crate::mysql::url::Place;
use crate::server::testing::{self, Tested};
use crate::server::url::Address as _;

impl Tested for MySqlServer {
    /// `ETALON_TEST_MYSQL_BIN` selects other programs.
    fn private_server(connect: Connect) -> PrivateServer {
        let bin_dir = std::env::var("ETALON_TEST_MYSQL_BIN").ok();
        let is_mysql = bin_dir.as_ref().is_some_and(|dir| !Path::new(dir).join("mariadbd").exists());
        PrivateServer { engine: if is_mysql { "mysql" } else { "mariadb" }.to_owned(), version: None, bin_dir, connect }
    }

    fn prepared(sql: &[&str]) -> Vec<String> {
        sql.iter().map(|text| (*text).to_owned()).collect()
    }
}

fn start(connect: Connect, pairs: &[(&str, &str)]) -> MySqlSystem {
    testing::start(connect, pairs)
}

fn open(url: &str, pairs: &[(&str, &str)], consent: Consent) -> Result<Box<dyn System>, Failure> {
    testing::open::<MySqlServer>(url, pairs, consent)
}

fn refusal(url: &str, pairs: &[(&str, &str)]) -> Failure {
    testing::refusal::<MySqlServer>(url, pairs)
}

impl MySqlSystem {
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
