//! Limits plans at an agent: no programs, files or connections of its host.

use std::sync::LazyLock;

use super::SCHEMA;
use super::counters;
use super::url::Address;
use crate::allowed;
use crate::mysql::lane::Client;
use crate::server::refusal::ask_failure;
use load::error::Failure;
use wire::mysql::Flavor;
use workloads::permits::Permits;

/// Names of `settings.allowed`.
pub(super) static SETTINGS: LazyLock<Vec<&str>> =
    LazyLock::new(|| allowed::listed_names(include_str!("settings.allowed")));

/// Makes the statements that give a private server's account at an agent its rights.
/// These are its own database, counters, table checkpoints and backups; no `FILE`, `SUPER` or system tables, which load libraries.
pub(super) fn grants_sql(account: &str) -> String {
    format!(
        "GRANT RELOAD, PROCESS, REPLICATION CLIENT, LOCK TABLES ON *.* TO {account};\nGRANT ALL ON `{SCHEMA}`.* TO \
         {account};\n"
    )
}

/// Fails if an account could run programs, reach files on the server's host or connect from it, unless that is allowed.
pub(super) fn refuse_strong(client: &mut Client, address: &Address, permits: &Permits) -> Result<(), Failure> {
    if !permits.are_bounded() {
        return Ok(());
    }
    let power = match () {
        () if counters::has_privilege(client, &["FILE"])? => "has the privilege FILE",
        () if counters::has_privilege(client, &["SUPER", "SYSTEM_VARIABLES_ADMIN"])? => "may set any setting",
        () if counters::has_privilege(client, &["CREATE USER"])? => "may make and rename accounts, and so become any",
        () if may_write_catalog(client)? => "may write the tables by which the server loads libraries",
        () if may_leave_data_folder(client)? => {
            "may make tables in any folder that the server may write (`DATA DIRECTORY`), until the server is started with \
             `--skip-symbolic-links`"
        }
        () if can_copy_from_servers(client)? => "may have the server connect to others",
        () if has_roles(client) => "has roles, whose privileges cannot be looked at",
        () => return Ok(()),
    };
    let how = format!("name an account that can do no more than a benchmark needs: `GRANT ALL ON {SCHEMA}.* TO …`");
    permits.refuse_strong_login(&address.user, power, &how)
}

/// Whether the login can write the catalog of the database `mysql`.
/// It may by a write privilege on everything, on the database `mysql` or a table of it, or through another account.
fn may_write_catalog(client: &mut Client) -> Result<bool, Failure> {
    const EVERYWHERE: &[&str] = &[
        "INSERT",
        "UPDATE",
        "SET USER",
        "SET_USER_ID",
        "SET_ANY_DEFINER",
        // Events of the binary log change any table.
        "BINLOG REPLAY",
        "BINLOG_ADMIN",
        "REPLICATION_APPLIER",
    ];
    if counters::has_privilege(client, EVERYWHERE)? {
        return Ok(true);
    }
    let sql = format!("SELECT {} + {}", count_grants_sql("schema_privileges"), count_grants_sql("table_privileges"));
    let count = client.query_first_value(&sql).map_err(|error| ask_failure("ask what the account may do", &error))?;
    Ok(count != "0")
}

/// Makes the SQL for the number of privileges in this view that let the account write to the schema `mysql`.
fn count_grants_sql(view: &str) -> String {
    format!(
        "(SELECT COUNT(*) FROM information_schema.{view} WHERE grantee = {} AND privilege_type IN ('INSERT', 'UPDATE') AND \
         'mysql' LIKE table_schema)",
        counters::GRANTEE
    )
}

/// Whether the account may make tables outside of the server's data folder without a privilege for it.
///
/// MariaDB asks no privilege for a table's `DATA DIRECTORY`; MySQL asks `FILE`.
/// <https://mariadb.com/kb/en/create-table/#data-directoryindex-directory>
fn may_leave_data_folder(client: &mut Client) -> Result<bool, Failure> {
    if client.protocol.session.flavor != Flavor::MariaDb {
        return Ok(false);
    }
    let has = client
        .query_first_value("SELECT @@have_symlink")
        .map_err(|error| ask_failure("ask where tables may lie", &error))?;
    Ok(has == "YES")
}

/// Whether the account may copy from other servers, or the server has an engine for their tables, which needs no privilege.
fn can_copy_from_servers(client: &mut Client) -> Result<bool, Failure> {
    const COPIES: &[&str] =
        &["REPLICATION SLAVE ADMIN", "REPLICATION_SLAVE_ADMIN", "GROUP_REPLICATION_ADMIN", "CLONE_ADMIN"];
    const ENGINES: &str = "SELECT COUNT(*) FROM information_schema.engines WHERE support IN ('YES', 'DEFAULT') AND engine IN \
                           ('FEDERATED', 'CONNECT', 'SPIDER', 'S3')";
    if counters::has_privilege(client, COPIES)? {
        return Ok(true);
    }
    let count =
        client.query_first_value(ENGINES).map_err(|error| ask_failure("ask which engines the server has", &error))?;
    Ok(count != "0")
}

/// Whether the account has roles that it may take.
fn has_roles(client: &mut Client) -> bool {
    // Old servers have no roles.
    client.query_first_value("SELECT COUNT(*) FROM information_schema.applicable_roles").is_ok_and(|count| count != "0")
}
