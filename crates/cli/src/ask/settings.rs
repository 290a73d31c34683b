//! One system under two settings: `--set-a` and `--set-b`.

use std::fmt::Write as _;

use super::words::SystemWord;
use super::{quote_toml, quoted_key};
use crate::args::States;
use crate::error::CliError;

/// The name of a side without settings.
const AS_IT_IS: &str = "as-it-is";

/// A longer name says less than `a` or `b`.
const LONGEST_NAME: usize = 40;

/// Names and values of one side.
type Settings<'q> = Vec<(&'q str, &'q str)>;

/// Makes the two sides of one system, or takes the two that are named, each with its settings as keys of a plan.
///
/// # Errors
/// A setting has no value, both sides have the same ones, or there are more systems.
pub fn both_sides(states: &States, systems: Vec<SystemWord>) -> Result<Vec<(SystemWord, String)>, CliError> {
    let sides = [parse_pairs("--set-a", &states.set_a)?, parse_pairs("--set-b", &states.set_b)?];
    let both: [SystemWord; 2] = match systems.as_slice() {
        [system] => sides_of_one(system, &sides)?,
        [a, b] => [a.clone(), b.clone()],
        _ => {
            let message = format!("`--set-a` and `--set-b` are of two sides, and {} systems are named", systems.len());
            return Err(CliError::user_error(message)
                .with_hint("`--set systems.NAME.settings.KEY=VALUE` gives any system a setting"));
        }
    };
    Ok(both.into_iter().zip(sides.iter().map(settings_keys)).collect())
}

/// Parses all `NAME=VALUE` of an option.
fn parse_pairs<'q>(option: &str, pairs: &'q [String]) -> Result<Settings<'q>, CliError> {
    let mut settings: Settings<'q> = Vec::new();
    for text in pairs {
        let (name, value) = parse_pair(option, text)?;
        if let Some((_, first)) = settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            return Err(CliError::user_error(format!("`{option}` gives `{name}` twice, {first} and {value}"))
                .with_hint(format!("write the one that holds: `{option} {name}={value}`")));
        }
        settings.push((name, value));
    }
    Ok(settings)
}

/// Parses `NAME=VALUE` of an option; fails without a name or a `=`.
fn parse_pair<'q>(option: &str, text: &'q str) -> Result<(&'q str, &'q str), CliError> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim(), value.trim())),
        _ => Err(CliError::user_error(format!("`{option} {text}` is no setting with its value"))
            .with_hint(format!("write it as `{option} {}=VALUE`", if text.is_empty() { "NAME" } else { text }))),
    }
}

/// Makes two systems of one, named by their settings; fails if the settings are equal.
fn sides_of_one(system: &SystemWord, sides: &[Settings<'_>; 2]) -> Result<[SystemWord; 2], CliError> {
    if sides[0] == sides[1] {
        return Err(CliError::user_error("`--set-a` and `--set-b` are the same: both sides would be one system")
            .with_hint("`--aa` measures a system against itself, to see how much its runs differ"));
    }
    let [a, b] = sides;
    let names =
        [settings_name(a).unwrap_or_else(|| "a".to_owned()), settings_name(b).unwrap_or_else(|| "b".to_owned())];
    Ok(names.map(|name| {
        let label = system.label.as_ref().map_or_else(|| name.clone(), |label| format!("{label}-{name}"));
        SystemWord { label: Some(label), ..system.clone() }
    }))
}

/// Names a side by its settings, `as-it-is` without any; `None` if that is too long.
fn settings_name(settings: &Settings<'_>) -> Option<String> {
    if settings.is_empty() {
        return Some(AS_IT_IS.to_owned());
    }
    let name = settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(",");
    (name.chars().count() <= LONGEST_NAME).then_some(name)
}

/// Writes the settings of a side as keys of a plan.
fn settings_keys(settings: &Settings<'_>) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        let is_bare = matches!(*value, "true" | "false") || value.parse::<i64>().is_ok_and(|n| n.to_string() == *value);
        let value = if is_bare { (*value).to_owned() } else { quote_toml(value) };
        // Writing to a string does not fail.
        let _ = writeln!(text, "settings.{} = {value}", quoted_key(name));
    }
    text
}
