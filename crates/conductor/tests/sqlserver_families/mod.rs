//! Page inserts, spatial queries, backups, database snapshots, order entry, claims and things of others against the scripted server.

mod backup;
mod claims;
mod database_snapshots;
mod order_entry;
mod others;
mod pages;
mod plans;
mod spatial;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Reading, RunState};
use store::Store;

use super::experiment::Outcome;
use super::tds_server::{Asked, Encryption, Reply, Server, result};

/// A scripted part of the server.
pub trait Part: Send + 'static {
    /// `None` leaves the answer to the server.
    fn batch(&mut self, sql: &str) -> Option<Reply>;
}

/// Lets the test look into a part that the server uses.
pub struct Shared<P>(Arc<Mutex<P>>);

impl<P: Part> Shared<P> {
    pub fn serve(part: P) -> (Server, Shared<P>) {
        let shared = Arc::new(Mutex::new(part));
        let own = Arc::clone(&shared);
        let script = move |asked: &Asked| match asked {
            Asked::Batch(sql) => own.lock().unwrap_or_else(PoisonError::into_inner).batch(sql),
            _ => None,
        };
        (Server::start(Encryption::None, Arc::new(script)), Shared(shared))
    }

    pub fn look(&self) -> MutexGuard<'_, P> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn plan(server: &Server, settings: &str, benchmark: &str) -> String {
    format!(
        "[systems.there]\nurl = \"{}\"\nsettings = {{ {settings} }}\n[[benchmarks]]\n{benchmark}\n[schedule]\nrounds = 1\n\
         warmup = \"0s\"\nduration = \"1s\"\n",
        server.url()
    )
}

pub fn row(columns: &[&str], values: &[&str]) -> Reply {
    let values: Vec<Option<&str>> = values.iter().copied().map(Some).collect();
    Reply::Tokens(result(columns, &[&values]))
}

pub fn number(value: impl std::fmt::Display) -> Reply {
    row(&["#"], &[&value.to_string()])
}

pub fn word(word: &str) -> Reply {
    row(&[""], &[word])
}

pub fn reading(store: &Store, metric: &str) -> Reading {
    let all = store.measurements().unwrap();
    let found = all.iter().find(|row| row.measurement.metric.id == metric);
    found.map(|row| row.measurement.reading.clone()).unwrap_or_else(|| panic!("there is no {metric}"))
}

pub fn why_not(store: &Store, metric: &str) -> String {
    match reading(store, metric) {
        Reading::Unavailable(missing) => missing.to_string(),
        Reading::Value(value) => panic!("{metric} is {value}"),
    }
}

pub fn reason(outcome: &Outcome) -> String {
    let runs = outcome.store().runs().unwrap();
    let last = runs.last().unwrap();
    assert_eq!(last.state, RunState::Failed);
    last.reason.clone().unwrap_or_default()
}

/// Batches that hold one of these words, each once, in order.
pub fn batches_with(server: &Server, words: &[&str]) -> String {
    let mut told: Vec<String> = Vec::new();
    for sql in server.batches() {
        if words.iter().any(|word| sql.contains(word)) && !told.contains(&sql) {
            told.push(sql);
        }
    }
    told.join("\n")
}
