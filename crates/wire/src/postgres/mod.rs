//! PostgreSQL's frontend/backend protocol, version 3.0, from the client's side.
//!
//! Section numbers in this module are those of the PostgreSQL manual's chapter "Frontend/Backend Protocol" (55 in the
//! manual of release 15): 55.2 message flow, 55.3 SASL authentication, 55.7 message formats, 55.8 error fields.
//!
//! A connection's life: [`Handshake`] until [`Progress::Ready`], then requests from [`frontend`] and [`Template`], replies
//! through a [`Scanner`], [`frontend::terminate`] at the end.

mod auth;
pub mod base_backup;
mod command_tag;
mod config;
mod end_point;
mod error_fields;
mod event;
mod framer;
pub mod frontend;
mod handshake;
pub mod oid;
mod param;
mod row;
mod scanner;
mod scram;
mod session;
mod template;

pub use command_tag::CommandTag;
pub use config::{ChannelBinding, Config, Encryption};
pub use end_point::tls_server_end_point;
pub use error_fields::ErrorFields;
pub use event::{Event, TransactionStatus};
pub use handshake::{Handshake, Progress};
pub use row::{Fields, ParameterTypes, Row};
pub use scanner::{Reply, Rows, ScanOutcome, Scanner};
pub use scram::ScramCache;
pub use session::{Authentication, Session};
pub use template::{DescribePortal, Ending, Statement, Template, TemplateOptions};

/// How a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

impl Format {
    /// The format's code on the wire.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}
