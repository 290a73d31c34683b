//! Control planes, one folder or file an engine.

mod data_place;
pub mod disk;
mod durability;
mod kept;
pub mod mysql;
mod owner;
pub mod postgres;
mod refusal;
mod server;
mod shared;
pub mod sim;
pub mod sqlite;
pub mod sqlserver;
mod tls;
mod url;
