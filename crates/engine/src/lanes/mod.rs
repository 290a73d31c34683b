//! Data planes, one folder or file an engine.

pub mod blocks;
pub(crate) mod connector;
pub(crate) mod counted;
pub mod dialogue;
pub mod mysql;
pub mod postgres;
pub mod sim;
pub mod sqlite;
pub mod sqlserver;
mod tls;
