//! PostgreSQL's log at `log_min_duration_statement = 0`.
//!
//! <https://www.postgresql.org/docs/current/runtime-config-logging.html>

use load::error::Failure;
use workloads::session::{Session, datum_number, datum_text};
use workloads::statement_log::{LogSwitch, StatementLog};

/// Settings, their values, and where these come from.
const SETTINGS: &str = "SELECT name, current_setting(name), CASE WHEN source = 'command line' THEN 'start' \
                        WHEN sourcefile LIKE '%postgresql.auto.conf' THEN 'alter system' \
                        WHEN sourcefile IS NULL AND source = 'configuration file' THEN 'hidden' ELSE 'elsewhere' END \
                        FROM pg_settings WHERE name IN ('log_min_duration_statement', 'log_parameter_max_length', \
                        'log_line_prefix', 'log_destination', 'logging_collector', 'lc_messages') ORDER BY name";
/// Databases and roles with a value of their own.
const OWN: &str = "SELECT count(*) FROM pg_db_role_setting \
                   WHERE array_to_string(setconfig, ' ') LIKE '%log_min_duration_statement=%'";
const FILE: &str = "SELECT CASE WHEN f LIKE '/%' THEN f ELSE current_setting('data_directory') || '/' || f END \
                    FROM coalesce(pg_current_logfile('csvlog'), pg_current_logfile()) f";
/// Tells time, process, user and database.
const PREFIX: &str = "%m [%p] %q%u@%d ";

pub(super) struct StatementsOfLog;

impl StatementLog for StatementsOfLog {
    /// Reads how to switch the statement log on and off again, and where the log is.
    fn read_switch(&self, session: &mut dyn Session) -> Result<LogSwitch, Failure> {
        let rows = session.query(SETTINGS)?;
        let settings: Vec<[String; 3]> =
            rows.iter().map(|row| std::array::from_fn(|column| datum_text(row.get(column)))).collect();
        let value = |name: &str| settings.iter().find(|[one, ..]| one == name).map(|[_, value, _]| value.as_str());
        let is_text = value("log_destination").is_some_and(logs_text);
        let mut switch = LogSwitch::default();
        for [name, now, source] in &settings {
            if let Some(wanted) = wanted_value(name, now, is_text) {
                add_switch(name, now, source, wanted, &mut switch);
            }
        }
        if !switch.on.is_empty() {
            for lines in [&mut switch.on, &mut switch.off] {
                lines.push("SELECT pg_reload_conf();".to_owned());
            }
        }
        let own = session.query(OWN).unwrap_or_default();
        if datum_number(own.first().and_then(|row| row.first())).is_some_and(|own| own > 0.0) {
            switch.remarks.push(
                "a database or a role has a `log_min_duration_statement` of its own, which goes before this: see \
                 `pg_db_role_setting`"
                    .to_owned(),
            );
        }
        if value("logging_collector") == Some("on") {
            let file = session.query(FILE).unwrap_or_default();
            switch.file = file.first().map(|row| datum_text(row.first())).filter(|file| !file.is_empty());
        } else {
            switch.remarks.push(
                "the server collects no log (`logging_collector`): it is where the standard error of its service goes"
                    .to_owned(),
            );
        }
        Ok(switch)
    }
}

/// Returns the value with which a log can be captured, if the setting has another.
fn wanted_value(name: &str, now: &str, is_text: bool) -> Option<&'static str> {
    match name {
        "log_min_duration_statement" if now != "0" => Some("0"),
        "log_parameter_max_length" if now != "-1" => Some("-1"),
        "lc_messages" if !is_english(now) => Some("C"),
        "log_line_prefix" if is_text && !has_time_and_session(now) => Some(PREFIX),
        _ => None,
    }
}

/// Adds the lines that set one setting and set it back, or says that a restart is needed.
fn add_switch(name: &str, now: &str, source: &str, wanted: &str, switch: &mut LogSwitch) {
    if source == "start" {
        switch.needs_restart = true;
        switch.remarks.push(format!(
            "`{name}` stands in the command that starts the server, and nothing else changes it: start it with \
             `{name}={wanted}`"
        ));
        return;
    }
    if name == "log_line_prefix" {
        // Records from before begin otherwise.
        switch.log_line_prefix = Some(PREFIX.to_owned());
    }
    switch.on.push(format!("ALTER SYSTEM SET {name} = '{wanted}';"));
    let back = match source {
        "elsewhere" => format!("RESET {name}"),
        _ => format!("SET {name} = '{}'", now.replace('\'', "''")),
    };
    switch.off.push(format!("ALTER SYSTEM {back};"));
    if source == "hidden" {
        switch.remarks.push(format!(
            "whether `{name}` was set by `ALTER SYSTEM` is not shown to this role; if it was not, `RESET` it instead"
        ));
    }
}

/// Tests whether the log that is read is text, not CSV.
/// `csvlog` has every field, whatever the prefix, and goes before.
fn logs_text(destination: &str) -> bool {
    destination.contains("stderr") && !destination.contains("csvlog")
}

/// Tests whether messages of a locale are in English.
fn is_english(locale: &str) -> bool {
    // `C.UTF-8`, `en_GB.utf8`; `English_United States.1252` on Windows.
    let language = locale.split(['.', '_', '@']).next().unwrap_or_default();
    ["", "C", "POSIX", "en", "English"].contains(&language)
}

/// Tests whether a log prefix has time and session.
fn has_time_and_session(prefix: &str) -> bool {
    let has = |any: [&str; 2]| any.iter().any(|escape| prefix.contains(escape));
    has(["%m", "%n"]) && has(["%p", "%c"])
}
