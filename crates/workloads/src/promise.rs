//! What the keys of a promise may be combined with, in every family that has them.

use std::time::Duration;

use load::error::{Failure, FailureKind};

/// Fails if the keys of a promise contradict one another, or promise no time.
///
/// # Errors
/// Keys that contradict one another.
pub(crate) fn check_keys(
    response_p99: Option<Duration>,
    errors: Option<f64>,
    max_clients: Option<u32>,
) -> Result<(), Failure> {
    match (response_p99, errors) {
        (None, None) if max_clients.is_some() => refuse_promise(
            "it says how many clients there may be, and not how fast they are answered",
            "write `promise = { response_p99 = \"20ms\", max_clients = 64 }`",
        ),
        (None, Some(_)) => refuse_promise(
            "it says how many may fail, and not how fast the others are",
            "write `promise = { response_p99 = \"20ms\", errors = 0.001 }`",
        ),
        (Some(within), _) if within.is_zero() => {
            refuse_promise("nothing responds within no time", "promise a longer time")
        }
        _ => Ok(()),
    }
}

/// Makes the plan failure of a promise that no load can be held to, as a result.
fn refuse_promise(cause: &str, hint: &str) -> Result<(), Failure> {
    Err(Failure::new(FailureKind::Plan, "keep the promise", cause).with_hint(hint))
}
