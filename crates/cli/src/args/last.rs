//! `last`, the newest store in the folder of results, and `last~1`, the one before it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::results::{RESULTS, finished_stores, is_system, latest_store};

/// The arguments of this process, without the program's name, with stores in place of `last` and `last~1`.
pub fn process_arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let is_verb = |word: &OsString| word.to_str().is_some_and(|word| !word.starts_with('-'));
    let Some(at) = arguments.iter().position(is_verb) else { return arguments };
    let takes_any = match arguments[at].to_str() {
        Some("compare" | "gate" | "report" | "show" | "export" | "extend" | "list" | "diff") => false,
        // What these are about may not have ended.
        Some("resume" | "watch") => true,
        _ => return arguments,
    };
    let first = arguments.get(at + 1).map(|first| first.to_string_lossy().into_owned()).unwrap_or_default();
    for word in &mut arguments[at + 1..] {
        let Some(text) = word.to_str().filter(|text| !Path::new(text).exists() && !is_system(&first, text)) else {
            continue;
        };
        let (name, system) = text.split_once(':').map_or((text, ""), |(name, _)| (name, &text[name.len()..]));
        if let Some(store) = stores_back(name).and_then(|back| nth_newest(back, takes_any)) {
            *word = OsString::from(format!("{}{system}", store.display()));
        }
    }
    arguments
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
