//! Whether étalon's figures are true: against a server whose delays are known, and against pgbench.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test's helpers may fail the test, and say what they saw"
)]

mod agreement;
mod latency;
mod private;
mod relay;
mod witness;
