//! Whether étalon's figures are true: against a server whose delays are known, and against pgbench.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test's helpers may fail the test, and say what they saw"
)]

mod agreement;
#[path = "../shared/experiment.rs"]
mod experiment;
mod latency;
mod relay;
#[path = "../shared/server.rs"]
mod server;
#[path = "../shared/slow.rs"]
mod slow;
mod witness;

use std::path::{Path, PathBuf};

fn file(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}
