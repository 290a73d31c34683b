//! One folder per engine, and what they share.

mod data_place;
pub mod disk;
mod durability;
pub mod embedded;
mod kept;
pub mod mysql;
mod ogc;
mod owner;
pub mod postgres;
mod server;
pub mod sim;
pub mod sqlite;
pub mod sqlserver;

/// The template of an engine, compiled where a copy of it would stand.
#[cfg(test)]
#[path = "../../tests/example/mod.rs"]
pub mod example;
#[cfg(test)]
mod suite;
#[cfg(test)]
mod tests;
