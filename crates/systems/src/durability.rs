//! Durability by settings: a table per engine, printed in `docs/durability.md`.

use model::{Durability, DurabilityTier, SystemPlan, Value};

/// A row's condition on a setting. Case is ignored.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Is {
    /// Equal to one.
    OneOf(&'static [&'static str]),
    /// Equal to none, or missing.
    NoneOf(&'static [&'static str]),
}

#[derive(Debug)]
pub(crate) struct DurabilityRule {
    pub(crate) when: &'static [(&'static str, Is)],
    pub(crate) tier: DurabilityTier,
    /// The exception of a durable row, if there is one.
    pub(crate) why: &'static str,
}

impl DurabilityRule {
    fn fits(&self, setting: &impl Fn(&str) -> Option<String>) -> bool {
        self.when.iter().all(|(name, is)| {
            let value = setting(name);
            let among = |values: &[&str]| {
                values.iter().any(|known| value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case(known)))
            };
            match is {
                Is::OneOf(values) => among(values),
                Is::NoneOf(values) => !among(values),
            }
        })
    }

    /// `listed` are the row's settings.
    pub(crate) fn durability(&self, listed: &str) -> Durability {
        let because = if self.why.is_empty() { listed.to_owned() } else { format!("{listed}: {}", self.why) };
        let is_exception = self.tier == DurabilityTier::Durable && !self.why.is_empty();
        Durability { tier: self.tier, because, except: is_exception.then(|| self.why.to_owned()) }
    }
}

/// First matching row; a table's last row matches everything.
pub(crate) fn first_fit(table: &[DurabilityRule], setting: impl Fn(&str) -> Option<String>) -> &DurabilityRule {
    /// Without a last row nothing is believed.
    const NOTHING: &DurabilityRule =
        &DurabilityRule { when: &[], tier: DurabilityTier::Unsafe, why: "étalon knows nothing of it" };
    table.iter().find(|rule| rule.fits(&setting)).unwrap_or(NOTHING)
}

/// Finds a plan's tier by its settings; `defaults` holds those that it does not set.
pub(crate) fn planned(table: &[DurabilityRule], defaults: &[(&str, &str)], system: &SystemPlan) -> DurabilityTier {
    let written = |name: &str| {
        let (_, value) = system.settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(match value {
            Value::Bool(is_on) => if *is_on { "on" } else { "off" }.to_owned(),
            other => other.to_string(),
        })
    };
    let default = |name: &str| defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    first_fit(table, |name| written(name).or_else(|| default(name))).tier
}

pub(crate) fn listed(names: &[&str], setting: impl Fn(&str) -> Option<String>) -> String {
    let each = names.iter().map(|name| format!("{name}={}", setting(name).unwrap_or_else(|| "unknown".to_owned())));
    each.collect::<Vec<String>>().join(", ")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write as _;

    use super::*;

    pub(crate) type DurabilitySettings = BTreeMap<&'static str, &'static str>;

    /// Every combination of a row's values; another value stands for "none of".
    pub(crate) fn combinations(rule: &DurabilityRule) -> Vec<DurabilitySettings> {
        let mut all = vec![DurabilitySettings::new()];
        for (name, is) in rule.when {
            let values: &[&str] = match is {
                Is::OneOf(values) => values,
                Is::NoneOf(_) => &["something-else"],
            };
            let with = |value: &&'static str| {
                let add = move |mut settings: DurabilitySettings| {
                    settings.insert(name, value);
                    settings
                };
                all.clone().into_iter().map(add).collect::<Vec<DurabilitySettings>>()
            };
            all = values.iter().flat_map(with).collect();
        }
        all
    }

    fn shown(table: &[DurabilityRule]) -> String {
        let mut text = String::from("| settings | a commit is | because, or except that |\n|---|---|---|\n");
        for rule in table {
            let value = |values: &[&str]| values.iter().map(|v| format!("`{v}`")).collect::<Vec<_>>().join(", ");
            let one = |(name, is): &(&str, Is)| match is {
                Is::OneOf(values) => format!("`{name}` = {}", value(values)),
                Is::NoneOf(values) => format!("`{name}` is not {}", value(values)),
            };
            let when: Vec<String> = rule.when.iter().map(one).collect();
            let when = if when.is_empty() { "all others".to_owned() } else { when.join("; ") };
            writeln!(text, "| {when} | {} | {} |", rule.tier, if rule.why.is_empty() { "–" } else { rule.why })
                .unwrap();
        }
        text
    }

    /// The document shows the table, and every combination of a row's values leads to that row with all else at its
    /// best.
    pub(crate) fn walk(table: &[DurabilityRule], best: &[(&'static str, &'static str)]) {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/durability.md");
        let shown = shown(table);
        let document = std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n");
        assert!(document.contains(&shown), "docs/durability.md does not show this table:\n\n{shown}");
        for rule in table {
            for settings in combinations(rule) {
                let best = best.iter().copied().collect::<DurabilitySettings>();
                let setting = |name: &str| settings.get(name).or(best.get(name)).map(|value| (*value).to_owned());
                let found = first_fit(table, setting);
                assert!(std::ptr::eq(found, rule), "{settings:?} come to {found:?}, not to {rule:?}");
            }
        }
    }
}
