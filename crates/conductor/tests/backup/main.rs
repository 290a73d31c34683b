//! Backups and restores on real engines, and the bars of étalon's own client.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and says why it is skipped"
)]

mod bars;
mod loads;
#[path = "../shared/releases.rs"]
mod releases;
mod runs;
#[path = "../shared/server.rs"]
mod server;
#[path = "../shared/slow.rs"]
mod slow;
