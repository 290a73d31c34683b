//! Several hosts: nats-server, network namespaces, and what `deploy/` holds, tried against the real programs.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and says why it is skipped"
)]

mod containers;
mod couples;
mod honest;
mod hostile;
mod logins;
mod namespaces;
mod nats;
mod permissions;
#[path = "../shared/scene.rs"]
mod scene;
#[path = "../../../conductor/tests/shared/server.rs"]
mod server;
mod tokens;
mod units;
