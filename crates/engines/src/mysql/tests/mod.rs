//! Real servers, started by the tests.

mod fakes;
mod hostile;
mod lane;
mod login;
mod others;
mod server;
mod silence;
mod tls;
mod tls_table;
mod waits;

#[path = "../../../../conductor/tests/shared/releases.rs"]
mod releases;

use std::cell::RefCell;
use std::path::Path;

use host::reactor::Choice;
use model::plan::{Connect, PrivateServer};

use super::*;
use crate::mysql::lane::NativeLane;
use crate::mysql::url::Place;
use crate::server::testing::{self, Tested};
use crate::server::url::Address as _;

thread_local! {
    /// Product and programs of the servers that this thread's test starts.
    static SERVERS: RefCell<(&'static str, Option<String>)> = const { RefCell::new(("mariadb", None)) };
}

/// Runs a test on each MySQL at hand.
fn of_mysql(test: fn()) {
    for folder in releases::folders_of("mysql") {
        SERVERS.set(("mysql", Some(folder)));
        test();
    }
}

/// Product of this thread's test.
fn product() -> Product {
    SERVERS.with_borrow(|(engine, _)| Product::from_word(engine))
}

/// Makes two tests of each function: on the installed MariaDB, and on MySQL.
macro_rules! of_both_products {
    ($($test:ident),* $(,)?) => {
        mod mariadb {
            $(#[test] fn $test() { super::$test(); })*
        }
        mod mysql {
            $(#[test] fn $test() { crate::mysql::tests::of_mysql(super::$test); })*
        }
    };
}
use of_both_products;

impl Tested for MySqlServer {
    fn private_server(connect: Connect) -> PrivateServer {
        let (engine, bin_dir) = SERVERS.with_borrow(|(engine, folder)| ((*engine).to_owned(), folder.clone()));
        PrivateServer { engine, bin_dir, connect, ..PrivateServer::default() }
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

    /// URL of a private TCP server, for another account and database.
    fn url(&self, user: &str, password: &str, database: &str) -> String {
        // Where passwords are not sent in the clear, nor by a hash.
        let key = if self.server.product == Product::MySql { "?get-server-public-key=1" } else { "" };
        format!("mysql://{user}:{password}@127.0.0.1:{}/{database}{key}", self.port())
    }

    /// Étalon's own login.
    fn own_url(&self) -> String {
        self.own_url_of("")
    }

    fn own_url_of(&self, database: &str) -> String {
        self.url("etalon", self.endpoint.address.password.as_deref().unwrap(), database)
    }
}
