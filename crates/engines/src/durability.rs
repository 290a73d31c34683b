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
    /// Tests whether the settings are as the rule requires.
    fn matches_settings(&self, setting: &impl Fn(&str) -> Option<String>) -> bool {
        self.when.iter().all(|(name, is)| {
            let value = setting(name);
            let (Is::OneOf(values) | Is::NoneOf(values)) = is;
            let is_among =
                values.iter().any(|known| value.as_deref().is_some_and(|value| value.eq_ignore_ascii_case(known)));
            is_among == matches!(is, Is::OneOf(_))
        })
    }

    /// Makes a durability of the rule's tier, whose reason names the settings `listed`.
    pub(crate) fn to_durability(&self, listed: &str) -> Durability {
        let because = if self.why.is_empty() { listed.to_owned() } else { format!("{listed}: {}", self.why) };
        let is_exception = self.tier == DurabilityTier::Durable && !self.why.is_empty();
        Durability { tier: self.tier, because, except: is_exception.then(|| self.why.to_owned()) }
    }
}

/// Finds the first durability rule that the settings match; a table's last one matches everything.
pub(crate) fn first_matching_rule(
    table: &[DurabilityRule],
    setting: impl Fn(&str) -> Option<String>,
) -> &DurabilityRule {
    /// Without a last row nothing is believed.
    const NOTHING: &DurabilityRule =
        &DurabilityRule { when: &[], tier: DurabilityTier::Unsafe, why: "étalon knows nothing of it" };
    table.iter().find(|rule| rule.matches_settings(&setting)).unwrap_or(NOTHING)
}

/// Finds the durability tier of a plan's settings; `defaults` holds those that it does not set.
pub(crate) fn durability_of_plan(
    table: &[DurabilityRule],
    defaults: &[(&str, &str)],
    system: &SystemPlan,
) -> DurabilityTier {
    let fit = first_matching_rule(table, |name| {
        match system.settings.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)) {
            Some((_, Value::Bool(is_on))) => Some(if *is_on { "on" } else { "off" }.to_owned()),
            Some((_, value)) => Some(value.to_string()),
            None => defaults.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()),
        }
    });
    fit.tier
}

/// Writes settings as `name=value`, separated by commas.
pub(crate) fn list_settings(names: &[&str], setting: impl Fn(&str) -> Option<String>) -> String {
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
            let mut longer = Vec::new();
            for value in values {
                for mut settings in all.clone() {
                    settings.insert(name, value);
                    longer.push(settings);
                }
            }
            all = longer;
        }
        all
    }

    fn shown(table: &[DurabilityRule]) -> String {
        let mut text = String::from("| settings | a commit is | because, or except that |\n|---|---|---|\n");
        for rule in table {
            let when = rule.when.iter().map(|(name, is)| {
                let (Is::OneOf(values) | Is::NoneOf(values)) = is;
                let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
                let relation = if matches!(is, Is::OneOf(_)) { "=" } else { "is not" };
                format!("`{name}` {relation} {}", values.join(", "))
            });
            let when: Vec<String> = when.collect();
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
                let found = first_matching_rule(table, |name| {
                    settings.get(name).or(best.get(name)).map(|value| (*value).to_owned())
                });
                assert!(std::ptr::eq(found, rule), "{settings:?} come to {found:?}, not to {rule:?}");
            }
        }
    }
}
