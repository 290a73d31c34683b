//! The client/server protocol of MySQL and MariaDB, from the client's side.
//!
//! Names in quotes are those of the MySQL internals manual ("Client/Server Protocol", such as "Protocol::HandshakeV10");
//! what only MariaDB has is in its knowledge base ("Clients & Utilities, Client/Server Protocol").
//!
//! A connection's life: [`Handshake`] until [`Progress::Ready`], then commands from [`command`] and [`Template`], each
//! announced to the [`Scanner`] by [`Scanner::expect_token`] since replies do not say what they answer, [`command::quit`] at the
//! end.

mod auth;
pub mod capability;
mod column;
pub mod command;
mod config;
mod error_packet;
mod framer;
mod greeting;
mod handshake;
mod ok_packet;
mod packet;
mod param;
mod reply;
mod row;
mod scanner;
mod session;
mod template;

pub use column::{Column, ColumnType, kind};
pub use config::{Config, Encryption, Feature, Identity, Medium, PublicKey};
pub use error_packet::ErrorPacket;
pub use handshake::{Handshake, Progress};
pub use ok_packet::{OkPacket, ServerStatus};
pub use row::{BinaryRow, TextRow};
pub use scanner::{Command, Event, Prepared, Reply, Rows, ScanOutcome, Scanner};
pub use session::{Flavor, Session};
pub use template::Template;
