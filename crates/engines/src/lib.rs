//! One folder for each database, and for disks and the simulator, and what they share.

#![forbid(unsafe_code)]

// The template of an engine (`tests/example`) names this crate as it is named from outside, and works in here as it is.
extern crate self as engines;

mod allowed;
mod data_place;
pub mod disk;
mod durability;
pub mod embedded;
pub mod in_process;
mod isolation;
mod kept;
pub mod mysql;
mod ogc;
mod owner;
pub mod postgres;
mod server;
pub mod sim;
pub mod sqlite;
pub mod sqlserver;

use workloads::system::Engine;

/// The engines of this build: a new one adds its line here, and its folder above.
pub const ENGINES: &[&dyn Engine] = &[
    &postgres::Postgres,
    &mysql::Product::MySql,
    &mysql::Product::MariaDb,
    &sqlserver::SqlServer,
    &sqlite::Sqlite::Plain,
    &sqlite::Sqlite::Encrypted,
    &disk::Disk,
    &sim::Sim,
];

/// The template of an engine, compiled where a copy of it would stand.
#[cfg(test)]
#[path = "../tests/example/mod.rs"]
pub mod example;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;
