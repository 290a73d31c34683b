//! The line that measures in one experiment what was measured apart.

use model::plan::redact_url;

use super::{CrossExperiment, JoinedExperiment};
use crate::comparison::run_command_with;

/// A URL that only the reader knows.
const OTHER_URL: &str = "URL";

impl CrossExperiment {
    /// Says what to type to measure the systems in one experiment, without a full stop.
    pub(super) fn one_experiment_hint(&self, purpose: &str) -> String {
        let [first, .., last] = self.experiments.as_slice() else { return String::new() };
        let url = own_url(first, last);
        let added = format!("{}={}", system_name_from(&last.label), url.as_deref().unwrap_or(OTHER_URL));
        match (run_command_with(&first.header.command, &["--system".to_owned(), added]), url) {
            (None, _) => format!("{purpose}, run the systems in one experiment"),
            (Some(line), Some(_)) => format!("{purpose}, run them in one experiment: `{line}`"),
            (Some(line), None) => format!(
                "{purpose}, run both as servers of their own in one experiment, with the second one's URL: `{line}`"
            ),
        }
    }
}

/// Finds the URL of a system of the last experiment that the first one does not have; passwords are masked.
fn own_url(first: &JoinedExperiment, last: &JoinedExperiment) -> Option<String> {
    let known = &first.header.plan.systems;
    let urls = last.header.plan.systems.iter().map(|system| &system.url);
    urls.filter(|url| !url.is_empty()).find(|url| known.iter().all(|own| own.url != **url)).map(|url| redact_url(url))
}

/// Makes a system's name of a label, with `-` for what a name may not have.
fn system_name_from(label: &str) -> String {
    let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    label.chars().map(|c| if is_allowed(c) { c } else { '-' }).collect()
}
