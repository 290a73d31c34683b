//! A plan's settings on foreign servers: only for étalon's own sessions.

use std::collections::BTreeMap;

use model::Value;

use super::SCHEMA;
use super::connect::{Endpoint, OpenError};
use super::dialect::{quote_name, quote_text};
use crate::mysql::lane::{AskError, Client, MySqlProtocol};
use crate::server::refusal::ask_failure;
use crate::server::settings::{Reserved, refuse_reserved, tried_to_set, unknown_setting_failure};
use crate::server::system::{Purpose, Settings};
use load::error::{Failure, FailureKind};
use workloads::dataset::Tables;

/// Needed by étalon.
pub(super) const RESERVED: Reserved = &[
    ("autocommit", "a script says itself where a transaction begins"),
    ("character_set_client", "étalon speaks UTF-8"),
    ("character_set_connection", "étalon speaks UTF-8"),
    ("character_set_results", "étalon speaks UTF-8"),
];

const NO_DATABASE: u16 = 1049;

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionSettings {
    /// `SET` statements.
    pub(super) settings: Vec<String>,
    pub(super) tables: Tables,
}

impl SessionSettings {
    /// Tries each of the plan's settings in a session, and makes the statements that set them in others.
    ///
    /// # Errors
    /// A setting that the server does not know, that no session may change, or that does not take the value.
    pub(super) fn with_settings(
        client: &mut Client,
        settings: &BTreeMap<String, Value>,
    ) -> Result<SessionSettings, Failure> {
        let mut session = SessionSettings::default();
        // A script says where a transaction begins, and what does not say so is one by itself: as clients have it that do not
        // ask. `init_connect` may have turned it off, too.
        let autocommit = client.query_first_value("SELECT @@SESSION.autocommit");
        if autocommit.map_err(|error| ask_failure("ask for the session's settings", &error))? == "0" {
            session.settings.push("SET SESSION autocommit = 1".to_owned());
        }
        if settings.is_empty() {
            return Ok(session);
        }
        let known = query_variables(client, "SHOW SESSION VARIABLES")?;
        for (name, value) in settings {
            let (name, text) = (plain_name(name), setting_text(value));
            let tried = tried_to_set(&name, &text);
            refuse_reserved(&name, &text, RESERVED)?;
            let Some(current) = known.get(&name) else {
                return Err(unknown_setting_failure("the server", &name, &text, known.keys().map(String::as_str)));
            };
            let value = setting_expression(&text, current);
            let statement = format!("SET SESSION {} = {value}", quote_name(&name));
            client.execute(&statement).map_err(|error| {
                explain_refused_setting(&tried, &error, &name, [&value, &setting_expression(current, current)])
            })?;
            session.settings.push(statement);
        }
        Ok(session)
    }
}

impl Settings for SessionSettings {
    type Protocol = MySqlProtocol;
    type Endpoint = Endpoint;

    /// The same settings for a session in the URL's database instead of étalon's.
    fn on_tables_of_others(&self) -> SessionSettings {
        SessionSettings { tables: Tables::None, ..self.clone() }
    }

    /// Opens a session with these settings, in étalon's database if it exists.
    fn try_open(&self, endpoint: &Endpoint, purpose: Purpose) -> Result<Client, OpenError> {
        let mut client = endpoint.try_connect(purpose).map_err(OpenError::Refused)?;
        for statement in &self.settings {
            client.execute(statement).map_err(|error| OpenError::Asked("give a session its settings", error))?;
        }
        if self.tables == Tables::None {
            return Ok(client);
        }
        match client.execute(&format!("USE {SCHEMA}")) {
            Ok(()) => {}
            // Made later; or invisible to the login, which fails when it tries to make it.
            Err(AskError::Server(error)) if matches!(error.code, NO_DATABASE | 1044) => {}
            Err(error) => return Err(OpenError::Asked("use étalon's own database", error)),
        }
        Ok(client)
    }
}

/// Runs a query for names and values, and maps the names in lower case to the values.
pub(super) fn query_variables(client: &mut Client, sql: &str) -> Result<BTreeMap<String, String>, Failure> {
    client.query_text_rows(sql).map(name_value_pairs).map_err(|error| ask_failure("read the server's settings", &error))
}

/// Maps the first column in lower case to the second, of rows with two columns.
pub(super) fn name_value_pairs(rows: Vec<Vec<Option<String>>>) -> BTreeMap<String, String> {
    rows.into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter();
            Some((row.next()??.to_ascii_lowercase(), row.next()?.unwrap_or_default()))
        })
        .collect()
}

/// Writes a setting's name in lower case, with `_` for `-`.
pub(super) fn plain_name(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

/// Cuts an option's plain name to the variable that it sets, without prefixes such as `loose_` and `skip_`.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/option-modifiers.html>
pub(super) fn option_variable(option: &str) -> &str {
    // A key cache's name comes first: `hot.key_buffer_size`.
    let mut name = option.rsplit_once('.').map_or(option, |(_, name)| name);
    while let Some(rest) =
        ["loose_", "maximum_", "skip_", "enable_", "disable_"].iter().find_map(|prefix| name.strip_prefix(prefix))
    {
        name = rest;
    }
    name
}

/// Writes a plan's value as the server takes it: `ON` and `OFF` for truth values.
pub(super) fn setting_text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "ON".to_owned(),
        Value::Bool(false) => "OFF".to_owned(),
        other => other.to_string(),
    }
}

/// "is a GLOBAL variable"
const IS_GLOBAL: u16 = 1229;
/// "is a read only variable"
const READ_ONLY: u16 = 1238;

/// Makes the failure of a setting that the server refused, with a hint by the error's code.
/// `values`: what the variable should have, and what it has.
fn explain_refused_setting(tried: &str, error: &AskError, name: &str, values: [&str; 2]) -> Failure {
    let failure = ask_failure(tried, error);
    let AskError::Server(packet) = error else { return failure };
    match packet.code {
        IS_GLOBAL | READ_ONLY => {
            let cause = format!("{error}; étalon changes no server that it did not start");
            let own = "let étalon start one: `server = { engine = \"mariadb\" }` or `\"mysql\"` in place of `url`";
            let hint = match packet.code {
                IS_GLOBAL => {
                    let is_as_it_is = if values[0] == values[1] { "the server has this value; " } else { "" };
                    let values = if values[0] == values[1] { ["NEW", values[1]] } else { values };
                    let [new, old] = values.map(|value| format!("SET GLOBAL {name} = {value}"));
                    format!(
                        "{is_as_it_is}a change of the server that étalon makes and undoes, in place of `--set-a` and `--set-b`: \
                         `--change \"{new}\" --undo \"{old}\"`; or {own}"
                    )
                }
                _ => format!("{own}; on this one set it, restart it, run again, and `etalon compare` both stores"),
            };
            Failure::new(FailureKind::Plan, failure.tried, cause).with_hint(hint)
        }
        1227 => failure.with_hint("the account may not set it: `GRANT SESSION_VARIABLES_ADMIN`, `GRANT SUPER`"),
        _ => Failure { kind: FailureKind::Plan, ..failure },
    }
}

/// Whether a text is a finite number.
fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// Writes a value in SQL for `SET`: a number, a size such as `64M` in bytes for a numeric setting, else quoted text.
fn setting_expression(text: &str, current: &str) -> String {
    if is_number(text) {
        return text.to_owned();
    }
    if is_number(current)
        && let Some((digits, unit)) = text.split_at_checked(text.len().saturating_sub(1))
        && let Ok(number) = digits.parse::<u64>()
        && let Some(power) = "KMGTPE".find(&unit.to_ascii_uppercase())
        && let Some(bytes) = number.checked_mul(1 << (10 * (power + 1)))
    {
        return bytes.to_string();
    }
    quote_text(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_their_settings_take_them() {
        assert_eq!(setting_expression("64M", "262144"), "67108864");
        assert_eq!(setting_expression("2g", "1"), "2147483648");
        assert_eq!(setting_expression("64M", "ON"), "'64M'");
        assert_eq!(setting_expression("12", "OFF"), "12");
        assert_eq!(setting_expression("1.5", "0.5"), "1.5");
        assert_eq!(setting_expression("ON", "OFF"), "'ON'");
        assert_eq!(setting_expression("é", "1"), "'é'");
        assert_eq!(setting_expression("", "1"), "''");
        assert_eq!(setting_text(&Value::Bool(true)), "ON");
        assert_eq!(plain_name("Sort-Buffer_Size"), "sort_buffer_size");
        assert_eq!(option_variable("loose_skip_grant_tables"), option_variable("skip_grant_tables"));
        assert_eq!(option_variable("hot.key_buffer_size"), "key_buffer_size");
    }
}
