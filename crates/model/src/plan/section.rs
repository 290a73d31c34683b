//! Reads a table of the plan key by key: the right type, or a message that says what is.

use std::time::Duration;

use super::error::{Problems, quote};
use super::file::{list_choices, list_names};
use super::redact::redact_url;
use super::tree::{Data, Entry, Located, Node, Origin, find_entry};
use crate::duration;
use crate::near::{did_you_mean, nearest};
use crate::share::ShareRange;

pub(super) struct Section<'t> {
    /// Such as `benchmark \`tpcb\``, to stand after "in".
    pub(super) place: String,
    pub(super) entries: &'t [Entry],
}

pub(super) const DURATION_EXPECTED: &str = "a length of time such as \"10s\" or \"1h30m\"";

impl<'t> Section<'t> {
    /// Reports the keys that are not among `known`, with a near name or `elsewhere`'s hint.
    /// `elsewhere` says where a key belongs that is of another table.
    pub(super) fn refuse_unknown(
        &self,
        known: &[&str],
        elsewhere: impl Fn(&str) -> Option<String>,
        problems: &mut Problems<'_>,
    ) {
        for entry in self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let hint = match nearest(&entry.key, known.iter().copied()) {
                Some(key) => format!("did you mean `{key}`?"),
                None => elsewhere(&entry.key).unwrap_or_else(|| format!("the keys here are {}", list_names(known))),
            };
            problems.add(&entry.at, format!("unknown key `{}` in {}", quote(&entry.key), self.place), Some(hint));
        }
    }

    /// Gives the node of a key.
    pub(super) fn get(&self, key: &str) -> Option<&'t Node> {
        find_entry(self.entries, key).map(|entry| &entry.value)
    }

    /// Reads the text of a key, with its place; another type is reported.
    pub(super) fn text(&self, key: &str, problems: &mut Problems<'_>) -> Option<Located<String>> {
        let node = self.get(key)?;
        match text_of(node, problems) {
            Some(value) => Some(Located { value, at: node.at.clone() }),
            None => self.refuse(key, node, "a string", None, problems),
        }
    }

    /// Reads the boolean of a key; another type is reported.
    pub(super) fn flag(&self, key: &str, problems: &mut Problems<'_>) -> Option<bool> {
        let node = self.get(key)?;
        match node.data {
            Data::Bool(value) => Some(value),
            _ => self.refuse(key, node, "`true` or `false`", None, problems),
        }
    }

    /// Reads the whole number of a key within limits, both inclusive; another value is reported.
    pub(super) fn whole_number(&self, key: &str, min: u64, max: u64, problems: &mut Problems<'_>) -> Option<u64> {
        let node = self.get(key)?;
        let value = if let Data::Int(n) = node.data { u64::try_from(n).ok() } else { None };
        value
            .filter(|n| (min..=max).contains(n))
            .or_else(|| self.refuse(key, node, &whole_expected(i128::from(min), i128::from(max)), None, problems))
    }

    /// Reads the share of a key; another value is reported.
    pub(super) fn share(&self, key: &str, range: ShareRange, problems: &mut Problems<'_>) -> Option<f64> {
        let node = self.get(key)?;
        let written = match &node.data {
            Data::Float(x) => x.to_string(),
            Data::Int(n) => n.to_string(),
            Data::Text(text) => text.clone(),
            _ => String::new(),
        };
        let (min, max) = range.limits();
        range.parse(&written).map_or_else(
            |error| self.refuse(key, node, &format!("a share between {min} and {max}"), Some(error.hint()), problems),
            Some,
        )
    }

    /// Reads the length of time of a key; another value is reported.
    pub(super) fn duration(&self, key: &str, problems: &mut Problems<'_>) -> Option<Located<Duration>> {
        let node = self.get(key)?;
        let value = text_of(node, problems).as_deref().and_then(|text| duration::parse(text).ok());
        match value {
            Some(value) => Some(Located { value, at: node.at.clone() }),
            None => self.refuse(key, node, DURATION_EXPECTED, duration_hint(node), problems),
        }
    }

    /// Reads the word of a key as the value that `words` gives it; another word is reported.
    pub(super) fn choice<T: Copy>(&self, key: &str, words: &[(&str, T)], problems: &mut Problems<'_>) -> Option<T> {
        let node = self.get(key)?;
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let Some(text) = text_of(node, problems) else {
            return self.refuse(key, node, &format!("one of {}", list_choices(&names)), None, problems);
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let hint = did_you_mean(&text, names.iter().copied());
        self.refuse(key, node, &format!("one of {}", list_choices(&names)), hint, problems)
    }

    /// Reports a wrong value of a key. Always `None`, for the caller to return.
    pub(super) fn refuse<T>(
        &self,
        key: &str,
        node: &Node,
        expected: &str,
        hint: Option<String>,
        problems: &mut Problems<'_>,
    ) -> Option<T> {
        if !matches!(node.data, Data::Reported) {
            let message = format!("`{}` in {} must be {expected}, not {}", quote(key), self.place, describe_node(node));
            problems.add(&node.at, message, hint);
        }
        None
    }
}

/// Gives a node's string, or the scalar of a `--set` argument as written.
pub(super) fn text_of(node: &Node, problems: &Problems<'_>) -> Option<String> {
    match &node.data {
        Data::Text(text) => Some(text.clone()),
        Data::Bool(_) | Data::Int(_) | Data::Float(_) | Data::Date => problems.as_written(&node.at).map(str::to_owned),
        Data::List(_) | Data::Table(_) | Data::Reported => None,
    }
}

/// Writes a node for a message after "not": the value if short, else its type.
pub(super) fn describe_node(node: &Node) -> String {
    match &node.data {
        Data::Bool(b) => b.to_string(),
        Data::Int(n) => n.to_string(),
        Data::Float(x) => format!("{x:?}"),
        Data::Text(text) => format!("\"{}\"", quote(&redact_url(text))),
        Data::Date | Data::List(_) | Data::Table(_) | Data::Reported => node.type_name().to_owned(),
    }
}

/// Makes the hint how a length of time is written, for a value that is none.
pub(super) fn duration_hint(node: &Node) -> Option<String> {
    match &node.data {
        Data::Int(n) => Some(format!("write it with its unit: \"{n}s\" or \"{n}ms\"")),
        Data::Text(text) => duration::parse(text).err().map(|error| error.to_string()),
        _ => None,
    }
}

/// Says which whole numbers are expected; limits that are those of the type are left out.
pub(super) fn whole_expected(min: i128, max: i128) -> String {
    match (min == i128::from(i64::MIN), max == i128::from(i64::MAX)) {
        (true, true) => "a whole number".to_owned(),
        (true, false) => format!("a whole number of at most {max}"),
        (false, true) => format!("a whole number of at least {min}"),
        (false, false) => format!("a whole number from {min} to {max}"),
    }
}

/// Whether a name is not blank and has no control characters; reports it otherwise.
pub(super) fn name_is_fit(name: &str, noun: &str, at: &Origin, problems: &mut Problems<'_>) -> bool {
    let fault = if name.trim().is_empty() {
        "is empty"
    } else if name.chars().any(char::is_control) {
        "has control characters in it"
    } else {
        return true;
    };
    problems.add(at, format!("the name of {noun} {fault}"), None);
    false
}
