//! Several hosts: agents on NATS JetStream, and the conductor's side of them.
//!
//! Discovery, authentication, persistence and delivery are NATS's. Étalon adds what is its own: segments of a load
//! ([`load::generator`]), a common start, results that are the journal's own records, and a lease, so that no agent goes on
//! loading a server after its conductor has gone. Nothing but [`bus`] knows NATS.

#![forbid(unsafe_code)]

pub mod agent;
pub mod bus;
mod clock;
mod fleet;
mod generator;
mod inbox;
mod link;
mod parts;
pub mod protocol;
mod remote;
mod texts;

pub use agent::{Agent, AgentOptions};
pub use bus::{BusError, Server};
pub use fleet::{Fleet, FleetOptions, Listed, list_agents};
pub use texts::{TextId, TextPiece};
