//! What a private server says that it was started with.

use std::collections::BTreeSet;
use std::ffi::OsString;

use super::session::{option_variable, plain_name};
use crate::mysql::lane::{AskError, Client};
use crate::server::refusal::ask_failure;
use load::error::Failure;

const TRIED: &str = "read back the private server's settings";

/// Variables with the place that their values came from, in MariaDB and in MySQL.
///
/// <https://mariadb.com/docs/server/reference/system-tables/information-schema/information-schema-tables/information-schema-system_variables-table>,
/// <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-variables-info-table.html>
const ORIGINS: [&str; 2] = [
    "SELECT variable_name, global_value_origin FROM information_schema.system_variables WHERE global_value_origin IN \
     ('CONFIG', 'COMMAND-LINE')",
    "SELECT variable_name, variable_source FROM performance_schema.variables_info WHERE variable_source NOT IN \
     ('COMPILED', 'DYNAMIC')",
];
const LIBRARIES: &str = "SELECT plugin_name FROM information_schema.plugins WHERE plugin_library IS NOT NULL";
/// No such table, as in old servers; a bounded account gets the answer of the other product's that it is denied.
const NO_TABLE: [u16; 4] = [1049, 1109, 1142, 1146];
/// The server runs with an option that forbids it.
const BY_OPTION: u16 = 1290;

/// Says whether statements of the plan may have changed what a server loads at its start.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Account {
    Bounded,
    Strong,
}

/// Reads which settings, and for a bounded account which libraries, the server has from its start beyond `arguments`.
///
/// # Errors
/// The connection is lost.
pub(super) fn unplanned_settings(
    client: &mut Client,
    account: Account,
    arguments: &[OsString],
) -> Result<Vec<String>, Failure> {
    let given: Vec<String> = arguments.iter().filter_map(option_name).collect();
    let given: BTreeSet<&str> = given.iter().map(|name| option_variable(name)).collect();
    let mut strays = Vec::new();
    for sql in ORIGINS {
        for row in query_if_table_exists(client, sql)? {
            let mut cells = row.into_iter().flatten();
            let (name, origin) = (plain_name(&cells.next().unwrap_or_default()), cells.next().unwrap_or_default());
            let is_argument = matches!(origin.as_str(), "COMMAND-LINE" | "COMMAND_LINE");
            if !is_argument || !given.contains(option_variable(&name)) {
                strays.push(name);
            }
        }
    }
    if account == Account::Strong {
        return Ok(strays);
    }
    if !given.iter().any(|name| name.contains("plugin_load")) {
        strays.extend(query_if_table_exists(client, LIBRARIES)?.into_iter().flatten().flatten());
    }
    match client.query_text_rows("SHOW GRANTS") {
        Err(AskError::Server(error)) if error.code == BY_OPTION => strays.push("skip_grant_tables".to_owned()),
        Err(error) => return Err(ask_failure(TRIED, &error)),
        Ok(_) => {}
    }
    Ok(strays)
}

/// Reads a query's rows; none if the table does not exist.
fn query_if_table_exists(client: &mut Client, sql: &str) -> Result<Vec<Vec<Option<String>>>, Failure> {
    match client.query_text_rows(sql) {
        Err(AskError::Server(error)) if NO_TABLE.contains(&error.code) => Ok(Vec::new()),
        other => other.map_err(|error| ask_failure(TRIED, &error)),
    }
}

/// Reads the plain name of a setting from an argument `--name=value`.
fn option_name(argument: &OsString) -> Option<String> {
    let text = argument.to_string_lossy();
    let option = text.strip_prefix("--")?;
    Some(plain_name(option.split('=').next().unwrap_or(option)))
}
