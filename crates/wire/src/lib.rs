//! Client protocols of database servers **without I/O**: bytes in, events out.
//!
//! Nothing here opens a socket, starts a thread, reads a clock or knows TLS. A caller moves bytes; this crate says which
//! bytes to send and what the received ones mean. That lets one codec serve an `io_uring` loop, a poller, a blocking test
//! and a fuzzer. Three protocols share four ideas:
//!
//! - a **handshake** ([`postgres::Handshake`], [`mysql::Handshake`], [`tds::Handshake`]) takes received bytes and appends
//!   what is to be sent, says when to start TLS, and ends in a session;
//! - a **template** ([`postgres::Template`], [`mysql::Template`], [`tds::Request`]) is a request that was encoded once, for
//!   one statement; its parameters are encoded behind it or patched in place, in binary where the type allows it;
//! - a **scanner** ([`postgres::Scanner`], [`mysql::Scanner`], [`tds::Scanner`]) consumes every byte it is given, in chunks
//!   of any size, and copies only messages that are torn by a chunk's end. Its fast path reads headers up to the end of the
//!   reply and decodes nothing else; where a protocol has rows without lengths, as TDS has, it goes past their values;
//! - every length that a server sends is checked against [`Limits`] before a byte is stored for it. A hostile server
//!   gets a [`WireError`], never a panic, an endless loop or unbounded memory.
//!
//! The receive buffer belongs to the caller and may be shared by all connections of a thread: no scanner refers to it
//! after the call. Once warm, neither templates nor scanners allocate.

#![forbid(unsafe_code)]

mod error;
mod limits;
pub mod mysql;
pub mod postgres;
mod reader;
mod secret;
mod security;
mod sqlstate;
pub mod tds;
mod value;

pub use error::{Unbound, WireError};
pub use limits::Limits;
pub use secret::Secret;
pub use security::Security;
pub use sqlstate::SqlState;
pub use value::Value;

pub type Result<T, E = WireError> = std::result::Result<T, E>;
