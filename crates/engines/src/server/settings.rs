//! A plan's settings, refused alike by every engine.

use load::error::{Failure, FailureKind};

/// Says for failures that a setting was being set.
pub(crate) fn tried_to_set(name: &str, value: &str) -> String {
    format!("set `{name}` to `{value}`")
}

/// Names that étalon needs, and why.
pub(crate) type Reserved = &'static [(&'static str, &'static str)];

/// Fails if étalon sets a setting itself, with the reason.
pub(crate) fn refuse_reserved(name: &str, value: &str, reserved: Reserved) -> Result<(), Failure> {
    match reserved.iter().find(|(reserved, _)| *reserved == name) {
        Some((_, why)) => {
            Err(Failure::new(FailureKind::Plan, tried_to_set(name, value), format!("étalon sets it itself: {why}")))
        }
        None => Ok(()),
    }
}

/// Fails if étalon sets a setting itself on a private server.
pub(crate) fn refuse_own(name: &str, value: &str, own: &[&str]) -> Result<(), Failure> {
    if !own.contains(&name) {
        return Ok(());
    }
    let cause = "on a private server étalon sets it itself";
    Err(Failure::new(FailureKind::Plan, tried_to_set(name, value), cause)
        .with_hint("`connect` chooses between socket and TCP"))
}

/// Makes the failure that a server has no such setting, with the nearest known name.
/// `server` says whose the settings are.
pub(crate) fn unknown_setting_failure<'a>(
    server: &str,
    name: &str,
    value: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Failure {
    let cause = format!("{server} has no setting of that name");
    let failure = Failure::new(FailureKind::Plan, tried_to_set(name, value), cause);
    match model::near::did_you_mean(name, known) {
        Some(near) => failure.with_hint(near),
        None => failure,
    }
}
