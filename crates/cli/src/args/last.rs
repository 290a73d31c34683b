//! `last`, the newest store in the folder of results, and `last~1`, the one before it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::results::{RESULTS, finished_stores, is_system, latest_store};

/// The arguments of this process, without the program's name, with stores in place of `last` and `last~1`.
pub fn process_arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    // `--color` has a value.
    let verb =
        (0..arguments.len()).find(|at| !(is_option(&arguments[*at]) || (*at > 0 && arguments[at - 1] == "--color")));
    let Some(verb) = verb else { return arguments };
    let takes_any = match arguments[verb].to_str() {
        Some("compare" | "gate" | "report" | "show" | "export" | "extend" | "list" | "history" | "diff") => false,
        // What these are about may not have ended.
        Some("resume" | "watch") => true,
        _ => return arguments,
    };
    for at in verb + 1..arguments.len() {
        if let Some(store) = store_meant(&arguments, verb, at, takes_any) {
            arguments[at] = store;
        }
    }
    arguments
}

/// Whether an argument begins with a dash.
fn is_option(argument: &OsString) -> bool {
    argument.to_string_lossy().starts_with('-')
}

/// Finds the store that an argument means by `last`; `None` for any other, for an output, and for a system of the first store.
fn store_meant(arguments: &[OsString], verb: usize, at: usize, takes_any: bool) -> Option<OsString> {
    let text = arguments[at].to_str().filter(|text| !Path::new(text).exists())?;
    let is_output = ["-o", "--output"].iter().any(|option| arguments[at - 1] == *option);
    if is_output || (at > verb + 1 && is_system(&arguments[verb + 1].to_string_lossy(), text)) {
        return None;
    }
    let name = text.split(':').next().unwrap_or_default();
    let store = nth_newest(stores_back(name)?, takes_any)?;
    Some(OsString::from(format!("{}{}", store.display(), &text[name.len()..])))
}

/// Parses `last` or `last~N`: how many stores lie after the one that is meant.
fn stores_back(name: &str) -> Option<usize> {
    match name.split_once('~') {
        Some(("last" | "latest", back)) => back.parse().ok(),
        None if matches!(name, "last" | "latest") => Some(0),
        _ => None,
    }
}

/// Finds a store in the folder of results by how many newer ones there are: of those that have ended, or the newest of any.
fn nth_newest(back: usize, takes_any: bool) -> Option<PathBuf> {
    let folder = Path::new(RESULTS);
    if takes_any && back == 0 { latest_store(folder) } else { finished_stores(folder).into_iter().nth(back) }
}

#[cfg(test)]
mod tests {
    use super::stores_back;

    #[test]
    fn the_last_store_and_those_before_it_have_names() {
        let cases = [("last", Some(0)), ("latest", Some(0)), ("last~1", Some(1)), ("last~x", None), ("lasts", None)];
        for (name, back) in cases {
            assert_eq!(stores_back(name), back, "{name}");
        }
    }
}
