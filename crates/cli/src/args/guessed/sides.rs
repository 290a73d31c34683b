//! A setting with two values is a comparison: the one value on side A, the other on side B.

use super::is_setting;
use super::line::Line;
use super::words::SETTINGS;
use crate::ask::words::parse_system;

/// Keys of plans that may be typed without their section.
const PLAN_KEYS: [&str; 9] =
    ["scale", "clients", "threads", "rounds", "warmup", "duration", "rate", "seed", "warehouses"];

impl Line {
    /// Makes the two sides of each setting that has two values, as in `work_mem=4MB,64MB` or `--set jit=on --set jit=off`.
    pub(super) fn split_sides(&mut self) {
        self.take_words_as_settings();
        for (name, first, second, left) in self.settings_of_two_values() {
            if left > 0 {
                self.add_note("two values are compared at a time: type the line again with the next ones");
            }
            let is_of_name = |pair: &str| pair.split_once('=').is_some_and(|(other, _)| other == name);
            let mut at = 0;
            while at + 1 < self.options.len() {
                if ["--set", "--set-b"].contains(&self.options[at].as_str()) && is_of_name(&self.options[at + 1]) {
                    self.options.drain(at..at + 2);
                } else {
                    at += 1;
                }
            }
            let sides = [("--set-a", first), ("--set-b", second)];
            self.options
                .extend(sides.into_iter().flat_map(|(side, value)| [side.to_owned(), format!("{name}={value}")]));
            self.add_note(SETTINGS);
        }
    }

    /// Takes words such as `jit=on` for settings, unless they are systems under names.
    fn take_words_as_settings(&mut self) {
        let catalog = conductor::Registry::built_in().catalog();
        // `synchronous_commit on off` is a name and its values.
        if let Some(at) = self.words.windows(3).position(|three| {
            is_setting(&format!("{}=x", three[0]))
                && !three[0].contains('.')
                && three[1..].iter().all(|value| is_plain_value(value))
        }) {
            let values = self.words.drain(at..at + 3).collect::<Vec<_>>();
            self.options.extend(["--set".to_owned(), format!("{}={},{}", values[0], values[1], values[2])]);
        }
        // So is `synchronous_commit on,off`.
        if let Some(at) = self.words.windows(2).position(|two| {
            is_setting(&format!("{}=x", two[0])) && two[1].contains(',') && two[1].split(',').all(is_plain_value)
        }) {
            let values = self.words.drain(at..at + 2).collect::<Vec<_>>();
            self.options.extend(["--set".to_owned(), format!("{}={}", values[0], values[1])]);
        }
        let settings: Vec<String> = self
            .words
            .extract_if(.., |word| is_setting(word) && !matches!(parse_system(word, &catalog), Ok(Some(_))))
            .collect();
        for setting in settings {
            self.options.extend(["--set-b".to_owned(), setting]);
        }
    }

    /// Lists the settings of servers that the line has with two values or more: name, two of them, and how many are left.
    fn settings_of_two_values(&self) -> Vec<(String, String, String, usize)> {
        let mut seen: Vec<(&str, Vec<&str>)> = Vec::new();
        for pair in self.options.windows(2).filter(|pair| ["--set", "--set-b"].contains(&pair[0].as_str())) {
            let Some((name, value)) = pair[1]
                .split_once('=')
                .filter(|(name, _)| is_setting(&pair[1]) && !name.contains('.') && !PLAN_KEYS.contains(name))
            else {
                continue;
            };
            let values: Vec<&str> =
                if value.split(',').all(is_plain_value) { value.split(',').collect() } else { vec![value] };
            match seen.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => known.extend(values),
                None => seen.push((name, values)),
            }
        }
        let of_two = seen.iter().filter_map(|(name, values)| match values.as_slice() {
            [first, second, ..] if first != second => {
                Some(((*name).to_owned(), (*first).to_owned(), (*second).to_owned(), values.len() - 2))
            }
            _ => None,
        });
        of_two.collect()
    }
}

/// Whether a value is a number, with or without a unit, or a switch: no part of a list such as that of `search_path`.
fn is_plain_value(value: &str) -> bool {
    let is_number = value.starts_with(|letter: char| letter.is_ascii_digit())
        && value.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.');
    is_number || ["on", "off", "true", "false", "yes", "no"].contains(&value.to_ascii_lowercase().as_str())
}
