//! What étalon's latencies are worth: the figures of the test against a server whose delays are known.

use std::path::Path;
use std::process::{Command, Stdio};

/// What the test puts before each figure.
pub const PREFIX: &str = "latency truth: ";

/// Runs the test on an optimised build, and gives the rows of a table: what, server's figure, étalon's, what two wake-ups
/// took, the difference, what is allowed.
///
/// # Errors
/// The test printed no figures: with its last words.
pub fn measure(root: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    command.args([
        "test",
        "--release",
        "--package",
        "engine",
        "--test",
        "truth",
        "latency::",
        "--",
        "--nocapture",
        "--test-threads=1",
    ]);
    let output = command.current_dir(root).env("ETALON_SLOW", "1").stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("starting cargo: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    // With `--nocapture` a test's name stands before what it prints first.
    let rows: Vec<String> =
        text.lines().filter_map(|line| line.split_once(PREFIX)).map(|(_, row)| row.to_owned()).collect();
    // Figures that are off fail the test, and are figures all the same.
    if !output.status.success() && rows.is_empty() {
        let last: Vec<&str> = text.lines().filter(|line| line.contains("panicked") || line.contains("error")).collect();
        return Err(format!("the test failed: {}", last.join("; ")));
    }
    if rows.is_empty() {
        return Err("the test printed no figures".to_owned());
    }
    Ok(rows)
}

/// Whether the difference of a row lies within what is allowed; `None` for a row that is none.
pub fn is_within(row: &str) -> Option<bool> {
    let mut from_last = row.rsplit("; ").map(|cell| cell.parse::<f64>().ok());
    let (allowed, off) = (from_last.next()??, from_last.next()??);
    Some(off <= allowed)
}
