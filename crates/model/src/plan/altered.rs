//! Systems that are one server, with and without a change that étalon makes and undoes.

use super::error::{Problems, quote};
use super::section::Section;
use super::tree::{Data, Node, Origin};
use super::{Change, FleetPlan, SystemPlan};

pub(super) const CHANGE: &str = "change";
pub(super) const UNDO: &str = "undo";

pub(super) struct ChangeFile {
    pub(super) at: Origin,
    pub(super) value: Change,
}

/// Reads a system's `change` and `undo`; one without the other, or one without effect, is reported.
pub(super) fn read_system_change(section: &Section<'_>, problems: &mut Problems<'_>) -> Option<ChangeFile> {
    let (make, undo) = (section.get(CHANGE), section.get(UNDO));
    let (node, missing, hint) = match (make, undo) {
        (None, None) => return None,
        (Some(make), Some(_)) => {
            let value = Change {
                make: read_change_statements(section, CHANGE, problems)?,
                undo: read_change_statements(section, UNDO, problems)?,
            };
            // What replaces may be replaced again.
            let is_replaced = value.undo.iter().any(|sql| find_condition_words(sql) == Some("OR REPLACE"));
            let words = value.make.iter().find_map(|sql| find_condition_words(sql));
            if let Some(words) = words.filter(|words| *words != "OR REPLACE" || !is_replaced) {
                let message = format!(
                    "`{CHANGE}` of {} has `{words}`, so that `{UNDO}` may not bring back what was there before",
                    section.place
                );
                let hint = format!("leave `{words}` out: what is there already is then an error, and stays");
                problems.add(&make.at, message, Some(hint));
                return None;
            }
            if value.undo.iter().all(|sql| only_reads(sql)) {
                let message = format!("`{UNDO}` of {} only reads, so it undoes nothing", section.place);
                problems.add(
                    &make.at,
                    message,
                    Some("write what brings back the state before: `DROP INDEX …`".to_owned()),
                );
                return None;
            }
            if value.make.iter().chain(&value.undo).any(|sql| has_password(sql)) {
                let message = format!(
                    "{} has a password in `{CHANGE}` or `{UNDO}`, which stores and reports show",
                    section.place
                );
                let hint = "change what needs none, or make two roles and compare their URLs".to_owned();
                problems.add(&make.at, message, Some(hint));
                return None;
            }
            if let Some((why, hint)) = why_without_effect(&value.make) {
                problems.add(&make.at, format!("`{CHANGE}` of {} {why}", section.place), Some(hint.to_owned()));
                return None;
            }
            return Some(ChangeFile { at: make.at.clone(), value });
        }
        (Some(make), None) => (make, UNDO, "étalon undoes what it changes: `undo = [\"DROP INDEX …\"]`"),
        (None, Some(undo)) => (undo, CHANGE, "write what it undoes: `change = [\"CREATE INDEX …\"]`"),
    };
    let written = if missing == UNDO { CHANGE } else { UNDO };
    problems.add(&node.at, format!("{} has `{written}`, and no `{missing}`", section.place), Some(hint.to_owned()));
    None
}

const CREATE_OR_REPLACE: &str = "CREATE OR REPLACE";

/// Finds the words by which a statement does nothing where what it makes is there or what it drops is not, or replaces it.
fn find_condition_words(sql: &str) -> Option<&'static str> {
    let words = sql.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
    let conditions = ["IF NOT EXISTS", "IF EXISTS"].into_iter().find(|condition| words.contains(condition));
    conditions.or(words.starts_with(CREATE_OR_REPLACE).then_some("OR REPLACE"))
}

/// Whether a statement about logins or other servers gives a password as a literal.
fn has_password(sql: &str) -> bool {
    const ABOUT: [&str; 7] = ["ROLE", "USER", "LOGIN", "PASSWORD", "SUBSCRIPTION", "SERVER", "CREDENTIAL"];
    let upper = sql.to_uppercase();
    let words = upper.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let is_about = words.filter(|word| !word.is_empty()).take(5).any(|word| ABOUT.contains(&word));
    let names_one = ["PASSWORD", "IDENTIFIED", "SECRET"].iter().any(|word| upper.contains(word));
    is_about && names_one && sql.contains(['\'', '"', '$'])
}

/// Whether a statement is a `SELECT` that calls nothing.
fn only_reads(sql: &str) -> bool {
    sql.trim_start().to_uppercase().starts_with("SELECT") && !sql.contains(['(', ';'])
}

/// Explains why nothing of a change reaches the runs, whose sessions are others, and what to write.
/// `None` if it does. Texts of several statements are not judged.
fn why_without_effect(make: &[String]) -> Option<(&'static str, &'static str)> {
    let plain = |sql: &String| {
        let words = sql.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase();
        words.trim_end_matches([';', ' ']).to_owned()
    };
    let make: Vec<String> = make.iter().map(plain).collect();
    if make.iter().any(|sql| sql.contains(';')) {
        return None;
    }
    let is_begun = make.iter().any(|sql| sql == "BEGIN" || sql.starts_with("START TRANSACTION"));
    if is_begun && !make.iter().any(|sql| sql.starts_with("COMMIT") || sql.starts_with("END")) {
        let why = "begins a transaction that it does not commit, so it changes nothing";
        return Some((why, "leave `BEGIN` out: each statement is committed by itself"));
    }
    const KEPT: [&str; 4] = ["GLOBAL", "PERSIST", "PASSWORD", "DEFAULT ROLE"];
    let is_of_session = |sql: &String| sql.starts_with("SET ") && !KEPT.iter().any(|word| sql.contains(word));
    make.iter().all(is_of_session).then_some((
        "sets only its own session, so it changes nothing for the runs",
        "write what stays: `ALTER SYSTEM SET …` with `SELECT pg_reload_conf()`, `SET GLOBAL …`, or two systems with `settings`",
    ))
}

/// Reads a key that is a statement or a list of them; another value is reported.
fn read_change_statements(section: &Section<'_>, key: &str, problems: &mut Problems<'_>) -> Option<Vec<String>> {
    let node = section.get(key)?;
    let items: &[Node] = match &node.data {
        Data::List(items) => items,
        _ => std::slice::from_ref(node),
    };
    let texts: Option<Vec<String>> = items.iter().map(filled_text).collect();
    match texts {
        Some(texts) if !texts.is_empty() => Some(texts),
        _ => {
            let hint = format!("write `{key} = [\"…\", \"…\"]`");
            section.refuse(key, node, "a statement, or a list of statements", Some(hint), problems)
        }
    }
}

/// Gives a node's text; `None` if it is blank or no text.
fn filled_text(node: &Node) -> Option<String> {
    match &node.data {
        Data::Text(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    }
}

/// Makes each system with a change an alias of the same server without it; a system without such a one is reported.
/// `at` has the places of the changes.
pub(super) fn link_changed_systems(
    systems: &mut [SystemPlan],
    at: Vec<Origin>,
    fleet: Option<&FleetPlan>,
    problems: &mut Problems<'_>,
) {
    let unchanged: Vec<SystemPlan> = systems.iter().filter(|system| system.change.is_none()).cloned().collect();
    for (system, at) in systems.iter_mut().filter(|system| system.change.is_some()).zip(at) {
        let name = quote(&system.name);
        let Some(server) = unchanged.iter().find(|other| are_same_server(other, system)) else {
            let message = format!("`{CHANGE}` of system `{name}`, and no system is the same server without it");
            let hint = "add one with the same `url`, such as `[systems.before]`: the change is undone for its runs";
            problems.add(&at, message, Some(hint.to_owned()));
            continue;
        };
        let (message, hint) = if system.volume.is_some() {
            (format!("`{CHANGE}` of system `{name}`, which takes no statements"), "a database takes them")
        } else if (&server.settings, server.reset) != (&system.settings, system.reset) {
            let message =
                format!("`settings` or `reset` of system `{name}` are not those of `{}`", quote(&server.name));
            (message, "both are one server: only the change is what differs")
        } else if fleet.is_some_and(|fleet| fleet.hosts.contains_key(&server.name)) {
            let message = format!("`{CHANGE}` of system `{name}`, which an agent has");
            (message, "étalon changes only servers that this host reaches: leave `host` out")
        } else {
            system.alias_of = Some(server.name.clone());
            continue;
        };
        problems.add(&at, message, Some(hint.to_owned()));
    }
}

/// Whether two systems have the same URL, private server and volume.
fn are_same_server(one: &SystemPlan, other: &SystemPlan) -> bool {
    (&one.url, &one.server, &one.volume) == (&other.url, &other.server, &other.volume)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_statements_are_found() {
        for (sql, has) in [
            ("ALTER ROLE me PASSWORD 'secret'", true),
            ("alter user me identified  by 'secret'", true),
            ("SET PASSWORD FOR me = PASSWORD ('secret')", true),
            ("ALTER USER me IDENTIFIED WITH mysql_native_password BY \"secret\"", true),
            ("ALTER ROLE me PASSWORD $$secret$$", true),
            ("CREATE SUBSCRIPTION s CONNECTION 'host=h password=secret' PUBLICATION p", true),
            ("ALTER ROLE me PASSWORD NULL", false),
            ("ALTER ROLE me SET search_path = 'x'", false),
            ("ALTER TABLE users ADD COLUMN password text", false),
        ] {
            assert_eq!(has_password(sql), has, "{sql}");
        }
    }

    #[test]
    fn what_ends_with_its_session_is_no_change() {
        let is_lost =
            |make: &[&str]| why_without_effect(&make.iter().map(|sql| (*sql).to_owned()).collect::<Vec<_>>()).is_some();
        for lost in [
            &["SET enable_indexscan = off"][..],
            &["SET a = 1;", "set  @@session.b = DEFAULT"],
            &["BEGIN", "CREATE INDEX i ON t (x)"],
            &["start transaction read write;", "UPDATE t SET x = 1"],
        ] {
            assert!(is_lost(lost), "{lost:?}");
        }
        for kept in [
            &["SET GLOBAL a = 1"][..],
            &["SET a = 1, @@global.b = 2"],
            &["SET maintenance_work_mem = '1GB'", "CREATE INDEX i ON t (x)"],
            &["SET a = 1; CREATE INDEX i ON t (x)"],
            &["BEGIN", "CREATE INDEX i ON t (x)", "COMMIT"],
            &["BEGIN; CREATE INDEX i ON t (x); COMMIT;"],
            &["BEGIN NOT ATOMIC CALL p(); END"],
            &["START REPLICA"],
        ] {
            assert!(!is_lost(kept), "{kept:?}");
        }
    }
}
