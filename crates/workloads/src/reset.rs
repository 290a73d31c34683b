//! How tables come back to their first state: what a plan asks for, or what is best.

use std::path::Path;

use model::Reset;

use load::error::{Failure, FailureKind};

/// Tables from this size on come back from a copy where that is to be had: loading them again takes several times as long.
pub const COPIED_FROM_BYTES: u64 = 512 << 20;

/// Chooses the way to reset that a plan asks for, else the `usual` one.
///
/// # Errors
/// [`FailureKind::Unsupported`], with the reason `else_why`: it is none of those that the system `can`.
pub fn choose_reset(asked: Option<Reset>, can: &[Reset], usual: Reset, else_why: &str) -> Result<Reset, Failure> {
    match asked {
        None => Ok(usual),
        Some(reset) if can.contains(&reset) => Ok(reset),
        Some(reset) => Err(cannot_reset(reset, else_why, can)),
    }
}

/// Fails if the plan asks for a way to reset, for a system whose tables, if it has any, never change.
///
/// # Errors
/// [`FailureKind::Unsupported`]: the plan asks for a way.
pub fn refuse_reset(asked: Option<Reset>) -> Result<(), Failure> {
    asked.map_or(Ok(()), |reset| Err(cannot_reset(reset, "it has no tables that étalon would bring back", &[])))
}

/// Describes a reset of files; tries with a small file in `folder` whether clones share blocks.
pub fn describe_file_reset(reset: Reset, folder: &Path) -> String {
    match reset {
        Reset::Clone if host::copy::can_share(folder) => {
            format!("{reset}: a run pays for each block that it is the first to write")
        }
        Reset::Clone => format!("{reset}: copied whole, since the filesystem shares no blocks"),
        _ => reset.to_string(),
    }
}

/// Makes the failure of a way to reset that the system does not have.
fn cannot_reset(reset: Reset, why: &str, can: &[Reset]) -> Failure {
    let words: Vec<String> = can.iter().map(|reset| format!("`reset = \"{reset}\"`")).collect();
    let hint = match words.split_last() {
        None => "leave `reset` out of this system".to_owned(),
        Some((last, [])) => format!("write {last}"),
        Some((last, others)) => format!("write {} or {last}", others.join(", ")),
    };
    Failure::new(FailureKind::Unsupported, format!("use `reset = \"{reset}\"`"), why).with_hint(hint)
}
