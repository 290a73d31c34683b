//! Repairs of a suggested line that étalon would refuse.

use std::path::Path;

use super::check::{Checked, check_gate_options, check_line, time_needed};
use super::is_setting;
use super::line::{Line, mask_passwords};
use super::words::SETTINGS;
use crate::ask::words::parse_system;
use crate::results::{is_store, newest_store};

/// Repairs what étalon would refuse in a line, as far as it knows how: settings, times, stores; returns what becomes of the line.
pub fn repair_line(line: &mut Line) -> Checked {
    let mut checked = check_line(&line.arguments());
    for repair in [set_second_side, give_needed_time, take_newest_store] {
        if !matches!(checked, Checked::Refused(_)) {
            break;
        }
        if repair(line) {
            checked = check_line(&line.arguments());
        }
    }
    match check_gate_options(&line.judged) {
        Err(why) => Checked::Refused(Box::new(why)),
        Ok(()) => checked,
    }
}

/// Replaces `--set NAME=VALUE` of a server's setting by `--set-b`, or by `--set-a`, too, where both sides are named.
fn set_second_side(line: &mut Line) -> bool {
    let mut is_changed = false;
    let catalog = conductor::Registry::built_in().catalog();
    let systems = line.words.iter().filter(|word| matches!(parse_system(word, &catalog), Ok(Some(_))));
    let has_both = systems.count() > 1;
    for at in (0..line.options.len().saturating_sub(1)).rev() {
        if line.options[at] != "--set" || !is_setting(&line.options[at + 1]) || line.options[at + 1].contains('"') {
            continue;
        }
        is_changed = true;
        "--set-b".clone_into(&mut line.options[at]);
        if has_both {
            let setting = line.options[at + 1].clone();
            line.options.splice(at..at, ["--set-a".to_owned(), setting]);
        }
    }
    if is_changed {
        line.add_note("`--set` changes a key of the plan");
        line.add_note(SETTINGS);
    }
    is_changed
}

/// Raises `--for` to the time that the line needs for a verdict.
fn give_needed_time(line: &mut Line) -> bool {
    let Some(needed) = time_needed(&line.arguments()) else { return false };
    let needed = model::duration::format(needed);
    let Some(time) = line.value_mut("--for") else { return false };
    let short = std::mem::replace(time, needed.clone());
    line.add_note(&format!("`--for {short}` is too short for a verdict, `--for {needed}` is enough"));
    true
}

/// Names the newest store in place of words that are none.
fn take_newest_store(line: &mut Line) -> bool {
    let names_none = line.words.iter().all(|word| !is_store(word) && !Path::new(word).exists());
    if !names_none || !matches!(line.verb.as_str(), "compare" | "gate" | "report") {
        return false;
    }
    let Some(store) = newest_store() else { return false };
    let words = std::mem::replace(&mut line.words, vec![store.display().to_string()]);
    match words.first() {
        Some(word) => line.add_note(&format!("there is no store `{}`: this is the latest one", mask_passwords(word))),
        None => line.add_note("no store is named: this is the latest one"),
    }
    true
}
