//! A plan's settings: `SET` options of sessions, and options of étalon's database.

use std::collections::BTreeMap;

use model::Value;
use wire::tds::Cell;

use super::SCHEMA;
use super::connect::{Endpoint, OpenError};
use super::dialect::{quote_name, quote_unicode};
use crate::server::refusal::ask_failure;
use crate::server::settings::{Reserved, refuse_reserved, tried_to_set};
use crate::server::system::{Purpose, Settings};
use crate::sqlserver::lane::{AskError, Client, Mode, TdsProtocol, Typed};
use load::error::{Failure, FailureKind};
use workloads::dataset::Tables;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Session,
    /// `SET NAME VALUE`, with blanks in the name.
    SessionWords,
    /// `ALTER DATABASE … SET NAME VALUE`.
    Database,
    /// `ALTER DATABASE … SET NAME = VALUE`.
    DatabaseEquals,
    /// `ALTER DATABASE … SET NAME = VALUE SECONDS`.
    DatabaseSeconds,
    /// Encryption of étalon's database with its own keys.
    Encryption,
}

/// Settable by a plan. <https://learn.microsoft.com/en-us/sql/t-sql/statements/set-statements-transact-sql>,
/// <https://learn.microsoft.com/en-us/sql/t-sql/statements/alter-database-transact-sql-set-options>
const OPTIONS: &[(&str, Form)] = &[
    ("ansi_nulls", Form::Session),
    ("ansi_padding", Form::Session),
    ("ansi_warnings", Form::Session),
    ("arithabort", Form::Session),
    ("concat_null_yields_null", Form::Session),
    ("deadlock_priority", Form::Session),
    ("lock_timeout", Form::Session),
    ("nocount", Form::Session),
    ("numeric_roundabort", Form::Session),
    ("query_governor_cost_limit", Form::Session),
    ("quoted_identifier", Form::Session),
    ("xact_abort", Form::Session),
    ("transaction_isolation_level", Form::SessionWords),
    ("allow_snapshot_isolation", Form::Database),
    ("auto_create_statistics", Form::Database),
    ("auto_update_statistics", Form::Database),
    ("auto_update_statistics_async", Form::Database),
    ("page_verify", Form::Database),
    ("parameterization", Form::Database),
    ("read_committed_snapshot", Form::Database),
    ("recovery", Form::Database),
    ("accelerated_database_recovery", Form::DatabaseEquals),
    ("compatibility_level", Form::DatabaseEquals),
    ("delayed_durability", Form::DatabaseEquals),
    ("query_store", Form::DatabaseEquals),
    ("target_recovery_time", Form::DatabaseSeconds),
    ("encryption", Form::Encryption),
];

/// Needed by étalon.
const RESERVED: Reserved = &[
    ("implicit_transactions", "a script says itself where a transaction begins"),
    ("rowcount", "it would cut statements short"),
];

/// "Database … does not exist", "the login cannot access the database".
const NO_DATABASE: [i32; 2] = [911, 916];
/// Unknown parameter types: the procedure's refusals, and "could not find stored procedure".
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-stored-procedures/sp-describe-undeclared-parameters-transact-sql>
const NO_TYPES: std::ops::RangeInclusive<i32> = 11_501..=11_553;
const NO_PROCEDURE: i32 = 2812;

#[derive(Clone, Debug, Default)]
pub(crate) struct SessionSettings {
    /// `SET` statements.
    pub(super) settings: Vec<String>,
    /// Clauses that follow `ALTER DATABASE … `.
    pub(super) database: Vec<String>,
    /// TDE, by étalon's own certificate.
    pub(super) encrypted: bool,
    pub(super) tables: Tables,
}

impl SessionSettings {
    /// Makes the `SET` statements and database options of the plan's settings, without asking a server.
    pub(super) fn parse_settings(settings: &BTreeMap<String, Value>) -> Result<SessionSettings, Failure> {
        let mut session = SessionSettings::default();
        for (name, value) in settings {
            let name = name.to_ascii_lowercase().replace(['-', ' '], "_");
            let text = setting_text_checked(value)?;
            refuse_reserved(&name, &text, RESERVED)?;
            let Some((_, form)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
                let cause = "étalon knows no such option of a session or a database";
                let failure = Failure::new(FailureKind::Plan, tried_to_set(&name, &text), cause);
                return Err(match model::near::did_you_mean(&name, OPTIONS.iter().map(|(known, _)| *known)) {
                    Some(near) => failure.with_hint(near),
                    None => failure.with_hint("what holds for the whole server is set there: étalon changes no server"),
                });
            };
            let refused = tried_to_set(&name, &text);
            let name = name.to_ascii_uppercase();
            match form {
                Form::Session => session.settings.push(format!("SET {name} {text}")),
                Form::SessionWords => session.settings.push(format!("SET {} {text}", name.replace('_', " "))),
                Form::Database => session.database.push(format!("SET {name} {text}")),
                Form::DatabaseEquals => session.database.push(format!("SET {name} = {text}")),
                Form::Encryption => match text.as_str() {
                    "ON" => session.encrypted = true,
                    "OFF" => {}
                    _ => return Err(Failure::new(FailureKind::Plan, refused, "it is on or off")),
                },
                Form::DatabaseSeconds => session.database.push(format!("SET {name} = {text} SECONDS")),
            }
        }
        Ok(session)
    }
}

impl Settings for SessionSettings {
    type Protocol = TdsProtocol;
    type Endpoint = Endpoint;

    /// The same settings for a session in the URL's database instead of étalon's.
    fn on_tables_of_others(&self) -> SessionSettings {
        SessionSettings { tables: Tables::None, ..self.clone() }
    }

    /// Opens a session, gives it the plan's settings for a load, and enters étalon's database if it exists.
    fn try_open(&self, endpoint: &Endpoint, purpose: Purpose) -> Result<Client, OpenError> {
        let mut client = endpoint.try_connect().map_err(OpenError::Refused)?;
        // The plan's options are the load's.
        if purpose == Purpose::Load {
            for statement in &self.settings {
                client.execute(statement).map_err(|error| OpenError::Asked("give a session its settings", error))?;
            }
        }
        if self.tables == Tables::None || names_own_database(endpoint) {
            return Ok(client);
        }
        match client.execute(&format!("USE {}", quote_name(SCHEMA))) {
            Ok(()) => {}
            // Made later; or invisible to the login, which fails when it tries to make it.
            Err(AskError::Server(error)) if NO_DATABASE.contains(&error.number) => {}
            Err(error) => return Err(OpenError::Asked("use étalon's own database", error)),
        }
        Ok(client)
    }
}

/// Whether the URL names étalon's database: it was given, and the login enters it.
pub(super) fn names_own_database(endpoint: &Endpoint) -> bool {
    endpoint.address.database.as_deref().is_some_and(|name| name.eq_ignore_ascii_case(SCHEMA))
}

/// Writes a plan's value for `SET`; fails unless it is words or a number, since anything else could be a statement.
fn setting_text_checked(value: &Value) -> Result<String, Failure> {
    let text = match value {
        Value::Bool(true) => "ON".to_owned(),
        Value::Bool(false) => "OFF".to_owned(),
        other => other.to_string().to_ascii_uppercase().replace('-', "_"),
    };
    let text = if text.starts_with('_') { text.replacen('_', "-", 1) } else { text };
    if text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | ' ' | '.' | '-')) && !text.is_empty() {
        return Ok(text);
    }
    Err(Failure::new(FailureKind::Plan, format!("use the value `{text}`"), "an option takes words or a number"))
}

/// Asks for the parameters' types of statements, so that the server need not convert columns.
pub(super) fn ask_types(client: &mut Client, statements: Vec<(String, usize)>) -> Result<Vec<Typed>, Failure> {
    statements
        .into_iter()
        .map(|(sql, parameters)| {
            let types = if is_transaction_word(&sql) { None } else { parameter_types(client, &sql, parameters)? };
            Ok(Typed { sql, parameters, types })
        })
        .collect()
}

/// Whether a statement begins, ends or saves a transaction.
fn is_transaction_word(sql: &str) -> bool {
    let first = sql.split_whitespace().next().unwrap_or_default();
    ["BEGIN", "COMMIT", "ROLLBACK", "SAVE"].iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// Writes the question for the types of a statement's parameters.
pub(super) fn describe_sql(sql: &str) -> String {
    format!("EXEC sys.sp_describe_undeclared_parameters @tsql = {}", quote_unicode(sql))
}

/// Asks the server for the types of a statement's parameters. `None`: it cannot say.
fn parameter_types(client: &mut Client, sql: &str, parameters: usize) -> Result<Option<Vec<String>>, Failure> {
    let answer = match client.ask(&describe_sql(sql)) {
        Ok(answer) => answer,
        Err(AskError::Server(error)) if NO_TYPES.contains(&error.number) || error.number == NO_PROCEDURE => {
            return Ok(None);
        }
        Err(error) => return Err(ask_failure(format!("prepare `{}`", sql.trim()), &error)),
    };
    let columns = (answer.column_index("parameter_ordinal"), answer.column_index("suggested_system_type_name"));
    let (Some(ordinal), Some(suggested)) = columns else { return Ok(None) };
    let mut types = vec![None; parameters];
    for row in &answer.rows {
        let [ordinal, suggested] = [ordinal, suggested].map(|index| row.get(index).cloned().and_then(Cell::to_text));
        let number = ordinal.and_then(|ordinal| ordinal.parse::<usize>().ok());
        if let Some(slot) = number.and_then(|number| types.get_mut(number.checked_sub(1)?)) {
            *slot = suggested;
        }
    }
    Ok(types.into_iter().collect())
}

/// Mode in which statements of a program's protocol travel; `None` as text.
pub(super) fn mode_of_protocol(protocol: workloads::transactions::Protocol) -> Option<Mode> {
    use workloads::transactions::Protocol;
    match protocol {
        Protocol::Prepared => Some(Mode::Prepared),
        Protocol::Extended => Some(Mode::Unprepared),
        Protocol::Simple => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(settings: &[(&str, Value)]) -> Result<SessionSettings, Failure> {
        SessionSettings::parse_settings(
            &settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        )
    }

    #[test]
    fn settings_are_statements_of_sessions_or_of_the_database() {
        let session = session(&[
            ("xact_abort", Value::Bool(true)),
            ("lock_timeout", Value::Int(-1)),
            ("transaction-isolation-level", Value::Text("repeatable read".to_owned())),
            ("recovery", Value::Text("simple".to_owned())),
            ("delayed_durability", Value::Text("forced".to_owned())),
            ("target_recovery_time", Value::Int(60)),
            ("compatibility_level", Value::Int(150)),
            ("encryption", Value::Bool(true)),
        ])
        .unwrap();
        assert!(session.encrypted);
        assert_eq!(
            session.settings,
            ["SET LOCK_TIMEOUT -1", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET XACT_ABORT ON"]
        );
        assert_eq!(
            session.database,
            [
                "SET COMPATIBILITY_LEVEL = 150",
                "SET DELAYED_DURABILITY = FORCED",
                "SET RECOVERY SIMPLE",
                "SET TARGET_RECOVERY_TIME = 60 SECONDS"
            ]
        );
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (name, value, words) in [
            ("xact_abrt", "on", "did you mean `xact_abort`"),
            ("max server memory", "4096", "étalon changes no server"),
            ("implicit_transactions", "on", "étalon sets it itself"),
            ("recovery", "simple; DROP DATABASE x", "words or a number"),
            ("encryption", "perhaps", "on or off"),
        ] {
            let failure = session(&[(name, Value::Text(value.to_owned()))]).unwrap_err();
            let said = format!("{failure} {}", failure.hint.clone().unwrap_or_default());
            assert!(said.contains(words), "{said}");
        }
    }
}
