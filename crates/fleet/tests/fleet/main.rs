//! Agents and a conductor at a real `nats-server`, each test with one of its own.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

mod faults;
mod plans;
mod refusals;
mod scene;
#[path = "../../../conductor/tests/shared/stored.rs"]
mod stored;
mod sums;
mod texts;
