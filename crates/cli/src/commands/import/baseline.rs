//! Which system of an import the others are compared with.

use formats::Experiment;

use super::inputs::{Input, Kind, NamedBy};
use crate::error::CliError;

/// Words in the names that people give to what was there first.
const WORDS: [&str; 14] = [
    "base",
    "baseline",
    "before",
    "control",
    "default",
    "main",
    "master",
    "old",
    "orig",
    "original",
    "ref",
    "reference",
    "stock",
    "unpatched",
];

/// Sets the baseline of an import to the system that the user named, else to the one whose name says so; returns a note.
/// Names decide only where a folder or an archive alone gave the systems, in the order of their names.
///
/// # Errors
/// The import has no system of that name.
pub fn choose_baseline(
    named: Option<&str>,
    inputs: &[Input],
    experiment: &mut Experiment,
) -> Result<Option<String>, CliError> {
    let systems: Vec<String> = experiment.plan.systems.iter().map(|system| system.name.clone()).collect();
    if let Some(name) = named {
        if !systems.iter().any(|system| system == name) {
            let error = CliError::user_error(format!("no system of this import is named `{name}`"));
            return Err(error.with_hint(format!("its systems are: {}", systems.join(", "))));
        }
        name.clone_into(&mut experiment.plan.comparison.baseline);
        return Ok(None);
    }
    let are_sorted = match inputs {
        [input] => matches!(input.kind, Kind::Folder | Kind::Archive) && input.named_by != NamedBy::User,
        _ => false,
    };
    let baseline = &mut experiment.plan.comparison.baseline;
    // A table of étalon's own names its baseline.
    if !are_sorted || systems.len() < 2 || systems.first() != Some(&*baseline) {
        return Ok(None);
    }
    if let Some(first) = first_by_name(&systems) {
        first.clone_into(baseline);
    }
    Ok(Some(format!("the baseline is {baseline}; `--baseline SYSTEM` names another")))
}

/// Finds the only system whose name has one of the [`WORDS`].
fn first_by_name(systems: &[String]) -> Option<&str> {
    let mut found = systems.iter().map(String::as_str).filter(|name| has_baseline_word(name));
    let first = found.next()?;
    if found.next().is_none() { Some(first) } else { None }
}

/// Whether a name has one of the [`WORDS`], in upper or lower case.
fn has_baseline_word(name: &str) -> bool {
    let name = name.to_lowercase();
    name.split(|c: char| !c.is_alphabetic()).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_which_system_was_first() {
        assert_eq!(first(&["after", "before"]).as_deref(), Some("before"));
        assert_eq!(first(&["pg16-patched", "pg16-BASE"]).as_deref(), Some("pg16-BASE"));
        assert_eq!(first(&["box1", "box2"]), None);
        assert_eq!(first(&["old1", "old2", "new"]), None, "two say so");
        assert_eq!(first(&["gold", "domain"]), None, "no words of their own");
    }

    fn first(names: &[&str]) -> Option<String> {
        first_by_name(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).map(str::to_owned)
    }
}
