//! The line that measures in one experiment what was measured apart.

use model::plan::redact_url;

use super::{CrossExperiment, JoinedExperiment};
use crate::comparison::run_command_with;

/// A URL that only the reader knows.
const OTHER_URL: &str = "URL";

impl CrossExperiment {
    /// Says what to type to measure the systems in one experiment, without a full stop.
    pub(super) fn one_experiment_hint(&self, purpose: &str) -> String {
        let [first, others @ ..] = self.experiments.as_slice() else { return String::new() };
        let urls: Vec<Option<String>> = others.iter().map(|other| own_url(first, other)).collect();
        let added = others.iter().zip(&urls).flat_map(|(other, url)| {
            let system = format!("{}={}", system_name_from(&other.label), url.as_deref().unwrap_or(OTHER_URL));
            ["--system".to_owned(), system]
        });
        let Some(line) = run_command_with(&first.header.command, &added.collect::<Vec<_>>()) else {
            return format!("{purpose}, run the systems in one experiment");
        };
        match (urls.iter().all(Option::is_some), others.len()) {
            (true, _) => format!("{purpose}, run them in one experiment: `{line}`"),
            (false, 1) => format!(
                "{purpose}, run both as servers of their own in one experiment, with the second one's URL: `{line}`"
            ),
            (false, _) => {
                format!("{purpose}, run all as servers of their own in one experiment, with their URLs: `{line}`")
            }
        }
    }
}

/// Finds the URL of a system of another experiment that the first one does not have; passwords are masked.
fn own_url(first: &JoinedExperiment, other: &JoinedExperiment) -> Option<String> {
    let known = &first.header.plan.systems;
    let urls = other.header.plan.systems.iter().map(|system| &system.url);
    urls.filter(|url| !url.is_empty()).find(|url| known.iter().all(|own| own.url != **url)).map(|url| redact_url(url))
}

/// Makes a system's name of a label, with `-` for what a name may not have.
fn system_name_from(label: &str) -> String {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    label.chars().map(|c| if is_allowed(c) { c } else { '-' }).collect()
}
