//! A plan's settings on foreign servers: only for étalon's own sessions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::Value;

use super::SCHEMA;
use super::connect::{Endpoint, OpenError};
use crate::postgres::lane::{AskError, Client, PostgresProtocol, quote_text};
use crate::server::refusal::ask_failure;
use crate::server::settings::{Reserved, refuse_reserved, tried_to_set, unknown_setting_failure};
use crate::server::system::{Purpose, Settings};
use load::error::{Failure, FailureKind};

pub(super) const PRODUCT: &str = "PostgreSQL";

/// Needed by étalon.
pub(super) const RESERVED: Reserved = &[
    ("search_path", "étalon's tables are in a schema of their own, which its sessions look into"),
    ("client_encoding", "étalon speaks UTF-8"),
];

#[derive(Clone, Debug)]
pub(crate) struct SessionSettings {
    /// Settings that only a new session can have, as `-c name=value`.
    pub(super) options: String,
    /// Names and values, in the order in which they are set.
    pub(super) settings: Vec<(String, String)>,
    /// Database of étalon's own tables, where that is not the one that the URL names.
    pub(super) database: Option<&'static str>,
}

impl Default for SessionSettings {
    /// Makes the settings of a session that looks into étalon's schema.
    fn default() -> SessionSettings {
        let settings = vec![("search_path".to_owned(), SCHEMA.to_owned())];
        SessionSettings { options: String::new(), settings, database: None }
    }
}

impl SessionSettings {
    /// Returns the endpoint of the session's database.
    pub(super) fn session_endpoint<'a>(&self, endpoint: &'a Endpoint) -> Cow<'a, Endpoint> {
        self.database.map_or(Cow::Borrowed(endpoint), |database| Cow::Owned(endpoint.on_database(database)))
    }

    /// Makes the session settings of a plan, each tried on the server, so that a wrong one is named.
    ///
    /// # Errors
    /// A setting that the server does not know, that no session may change, or that does not take the value.
    pub(super) fn from_plan_settings(
        endpoint: &Endpoint,
        client: &mut Client,
        settings: &BTreeMap<String, Value>,
    ) -> Result<SessionSettings, Failure> {
        let mut session = SessionSettings::default();
        if settings.is_empty() {
            return Ok(session);
        }
        let known = known_settings(client)?;
        let mut options = Vec::new();
        for (name, value) in settings {
            let text = value.to_string();
            match setting_scope(name, &text, &known)? {
                Scope::Session => {
                    client
                        .execute(&try_setting_sql(name, &text))
                        .map_err(|error| setting_failure_of(name, &text, &error))?;
                    session.settings.push((name.clone(), text));
                }
                Scope::Start => options.push(startup_option(name, &text)),
            }
        }
        session.options = options.join(" ");
        if !session.options.is_empty() {
            // Fails here because of settings rather than in a later step.
            session.open_session(endpoint, Purpose::Load)?.close_and_wait();
        }
        Ok(session)
    }
}

impl Settings for SessionSettings {
    type Protocol = PostgresProtocol;
    type Endpoint = Endpoint;

    /// Makes the settings of a session without étalon's schema: with the role's search path, in the URL's database.
    fn on_tables_of_others(&self) -> SessionSettings {
        let settings = self.settings.iter().filter(|(name, _)| name != "search_path").cloned().collect();
        SessionSettings { options: self.options.clone(), settings, database: None }
    }

    /// Opens a session with these settings, through a pooler ahead of each transaction.
    fn try_open(&self, endpoint: &Endpoint, _purpose: Purpose) -> Result<Client, OpenError> {
        let mut client = self.session_endpoint(endpoint).try_connect(&self.options).map_err(OpenError::Refused)?;
        if endpoint.pooler.is_some() {
            client.forget_number();
        }
        if endpoint.shares_sessions() {
            client.share_session();
        }
        let settings: Vec<(&str, &str)> = self.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        if !settings.is_empty() {
            client
                .set_for_session(&settings)
                .map_err(|error| OpenError::Asked("give a session its settings", error))?;
        }
        Ok(client)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Session,
    Start,
}

/// Reads the names of all settings, with the context in which each can be set.
fn known_settings(client: &mut Client) -> Result<BTreeMap<String, String>, Failure> {
    let rows = client.query_text_rows("SELECT name, context FROM pg_catalog.pg_settings");
    let rows = rows.map_err(|error| ask_failure("read the server's settings", &error))?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let mut row = row.into_iter();
            Some((row.next()??, row.next()??))
        })
        .collect())
}

/// Tells whether a setting can be set within a session or only at its start; fails if étalon cannot set it.
fn setting_scope(name: &str, value: &str, known: &BTreeMap<String, String>) -> Result<Scope, Failure> {
    refuse_reserved(name, value, RESERVED)?;
    match known.get(name).map(String::as_str) {
        Some("user" | "superuser") => Ok(Scope::Session),
        Some("backend" | "superuser-backend") => Ok(Scope::Start),
        Some("internal") => {
            let cause = "it cannot be set: it says how the server was built or initialised";
            Err(Failure::new(FailureKind::Plan, tried_to_set(name, value), cause))
        }
        Some("postmaster") => {
            let cause =
                "it can be set only at the server's start, and étalon does not change a server that it did not start";
            let hint = format!(
                "étalon starts servers of its own with it: `etalon run postgres --set-b {name}={value}`, in a plan `server = {{ engine = \
                 \"postgres\" }}` in place of `url`; on this one set it, restart it, run again, and `etalon compare` both stores"
            );
            Err(Failure::new(FailureKind::Plan, tried_to_set(name, value), cause).with_hint(hint))
        }
        Some(_) => {
            let cause = "it can be set only in the server's configuration, and étalon does not change a server that it did not start";
            let hint = format!(
                "a change of the server that étalon makes and undoes: `--change \"ALTER SYSTEM SET {name} = '{}'; SELECT pg_reload_conf()\" \
                 --undo 'ALTER SYSTEM RESET {name}; SELECT pg_reload_conf()'`, with `SET {name} = 'OLD'` for `RESET` if `ALTER SYSTEM` \
                 had set it before; or let étalon start one: `server = {{ engine = \"postgres\" }}` in place of `url`",
                value.replace('\'', "''")
            );
            Err(Failure::new(FailureKind::Plan, tried_to_set(name, value), cause).with_hint(hint))
        }
        // Extensions loaded on first use have settings with a dot.
        None if name.contains('.') => Ok(Scope::Session),
        None => Err(unknown_setting_failure(PRODUCT, name, value, known.keys().map(String::as_str))),
    }
}

/// Makes the failure of a setting that the server refused, with its hint.
fn setting_failure_of(name: &str, value: &str, error: &AskError) -> Failure {
    let failure = ask_failure(tried_to_set(name, value), error);
    match error {
        _ if failure.kind == FailureKind::Permission => {
            failure.with_hint("the role may not set it; ask for `GRANT SET ON PARAMETER`, or use a superuser")
        }
        AskError::Server(error) => {
            let hint = error.hint.clone().or(failure.hint);
            Failure { kind: FailureKind::Plan, hint, ..failure }
        }
        _ => failure,
    }
}

/// Writes a query that sets a value for itself only.
/// `set_config` parses values like the configuration file, so a list stays a list.
fn try_setting_sql(name: &str, value: &str) -> String {
    format!("SELECT pg_catalog.set_config({}, {}, true)", quote_text(name), quote_text(value))
}

/// Writes a setting for the startup message's `options`.
fn startup_option(name: &str, value: &str) -> String {
    format!("-c {}={}", escape_option(name), escape_option(value))
}

/// Escapes blanks and backslashes in a startup option.
fn escape_option(text: &str) -> String {
    text.replace('\\', "\\\\").replace(' ', "\\ ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeMap<String, String> {
        let settings = [
            ("synchronous_commit", "user"),
            ("jit_debugging_support", "superuser-backend"),
            ("shared_buffers", "postmaster"),
            ("fsync", "sighup"),
            ("block_size", "internal"),
        ];
        settings.iter().map(|(name, context)| ((*name).to_owned(), (*context).to_owned())).collect()
    }

    #[test]
    fn a_setting_is_given_where_it_can_be() {
        assert_eq!(setting_scope("synchronous_commit", "off", &known()), Ok(Scope::Session));
        assert_eq!(setting_scope("jit_debugging_support", "on", &known()), Ok(Scope::Start));
        assert_eq!(setting_scope("pg_hint_plan.enable_hint", "on", &known()), Ok(Scope::Session));
        let typed = [
            ("shared_buffers", "start", "etalon run postgres --set-b shared_buffers=x"),
            ("fsync", "configuration", "--change \"ALTER SYSTEM SET fsync = 'x'; SELECT pg_reload_conf()\" --undo"),
        ];
        for (name, said, typed) in typed {
            let failure = setting_scope(name, "x", &known()).unwrap_err();
            assert_eq!(failure.kind, FailureKind::Plan);
            let hint = failure.hint.unwrap();
            assert!(failure.cause.contains(said) && hint.contains("server = {") && hint.contains(typed), "{hint}");
        }
        assert!(setting_scope("block_size", "1", &known()).is_err());
        assert!(setting_scope("search_path", "public", &known()).is_err());
        let failure = setting_scope("synchronus_commit", "off", &known()).unwrap_err();
        assert_eq!(failure.hint.as_deref(), Some("did you mean `synchronous_commit`?"));
    }

    #[test]
    fn values_are_quoted() {
        assert_eq!(quote_text(r"a'b\c"), r"E'a''b\\c'");
        assert_eq!(startup_option("x", r"a b\c"), r"-c x=a\ b\\c");
    }
}
