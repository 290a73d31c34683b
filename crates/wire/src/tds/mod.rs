//! TDS, the protocol of SQL Server, as its version 7.4 has it.
//!
//! Written after "\[MS-TDS\]: Tabular Data Stream Protocol",
//! <https://learn.microsoft.com/en-us/openspecs/windows_protocols/ms-tds/>; names in quotes are that document's. What is
//! spoken: the login with SQL authentication, encrypted by TLS for the login alone or for all of the connection; batches
//! of text; remote procedures with binary parameters, which is how statements are prepared and executed; bulk copy;
//! attention. What is not: MARS, Kerberos, NTLM and federated authentication, TDS 8 ("strict"), column encryption.

mod bulk;
mod cell;
mod config;
mod cursor;
mod handshake;
mod login;
mod message;
mod packet;
mod prelogin;
mod request;
mod scanner;
mod session;
mod token;
mod types;

pub use bulk::Bulk;
pub use cell::Cell;
pub use config::{Config, Encryption, Medium};
pub use handshake::{Handshake, Progress, TlsScope};
pub use message::ServerMessage;
pub use packet::{HEADER_BYTES, Kind, unwrap_tls, wrap_tls};
pub use request::{Declared, Request, Session as RequestSession, write_attention, write_batch};
pub use scanner::{Done, Ignore, Row, Scan, Scanner, Sink};
pub use session::Session;
pub use types::{Column, TypeInfo, kind};
