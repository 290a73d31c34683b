//! Limits plans at an agent: no programs, files or connections of its host.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use model::Value;

use super::connect::Endpoint;
use super::url::Address;
use crate::allowed;
use crate::postgres::lane::{AskError, Client, quote_text};
use crate::server::refusal::ask_failure;
use load::error::{Failure, FailureKind};
use workloads::permits::Permits;

/// Names of `settings.allowed`.
static SETTINGS: LazyLock<Vec<&str>> = LazyLock::new(|| allowed::listed_names(include_str!("settings.allowed")));

/// Lists the settings that a plan may use at an agent.
/// Logical WAL is not among them: a replication login could decode it with any library that the server can read.
pub(super) fn safe_settings(settings: &BTreeMap<String, Value>) -> Vec<&'static str> {
    // PostgreSQL ignores case, and accepts `-` for `_`.
    let is_decoded = settings.iter().any(|(name, level)| {
        name.to_ascii_lowercase().replace('-', "_") == "wal_level"
            && !["minimal", "replica"].contains(&level.to_string().as_str())
    });
    SETTINGS.iter().copied().filter(|name| !(is_decoded && *name == "wal_level")).collect()
}

/// Owns an agent's private server: only étalon logs in as it, and it runs no statement of a plan.
pub(super) const OWNER: &str = "etalon_owner";

/// Predefined roles for the host's programs, files and connections. <https://www.postgresql.org/docs/current/predefined-roles.html>
const STRONG: &str = "'pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', \
                      'pg_create_subscription'";

/// Why a login could run programs, reach files on the server's host or connect from it. The session's original role counts, since it
/// can return to that.
const POWER: &str = "SELECT CASE WHEN r.rolsuper THEN 'is a superuser' WHEN EXISTS (SELECT FROM pg_catalog.pg_roles s WHERE \
                     s.rolsuper AND pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER')) THEN 'belongs to a superuser''s role' \
                     WHEN EXISTS (SELECT FROM pg_catalog.pg_roles s WHERE s.rolcreaterole AND \
                     pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER')) THEN 'may make roles, and so give itself any' WHEN \
                     pg_catalog.current_setting('server_version_num')::int >= 110000 AND EXISTS (SELECT FROM \
                     pg_catalog.pg_proc p WHERE p.pronamespace = 'pg_catalog'::pg_catalog.regnamespace AND p.proname IN \
                     ('pg_read_file', 'pg_read_binary_file', 'pg_ls_dir', 'pg_stat_file', 'lo_import', 'lo_export') AND \
                     pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')) THEN 'may read or write files by a function' \
                     WHEN EXISTS (SELECT FROM pg_catalog.pg_roles s WHERE s.rolname IN (STRONG) \
                     AND pg_catalog.pg_has_role(r.oid, s.oid, 'MEMBER')) THEN 'belongs to a role that stands for \
                     the files, programs or connections of the host' WHEN r.rolreplication AND \
                     current_setting('wal_level') = 'logical' THEN 'may have changes decoded by any library' \
                     WHEN EXISTS (SELECT FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_depend d ON d.refobjid = e.oid \
                     AND d.deptype = 'e' JOIN pg_catalog.pg_proc p ON p.oid = d.objid WHERE e.extname = 'dblink' AND \
                     p.proname IN ('dblink', 'dblink_connect', 'dblink_connect_u', 'dblink_exec') AND \
                     pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')) THEN 'may connect to other servers by \
                     the extension dblink' WHEN EXISTS (SELECT FROM pg_catalog.pg_foreign_data_wrapper f WHERE \
                     pg_catalog.has_foreign_data_wrapper_privilege(r.oid, f.oid, 'USAGE')) OR EXISTS (SELECT FROM \
                     pg_catalog.pg_foreign_server f WHERE pg_catalog.has_server_privilege(r.oid, f.oid, 'USAGE')) THEN \
                     'may use foreign servers' ELSE '' END \
                     FROM pg_catalog.pg_roles r WHERE r.rolname = session_user";

/// Fails if a bounded plan's login could reach its host's programs, files or connections, unless allowed.
pub(super) fn refuse_strong(client: &mut Client, address: &Address, permits: &Permits) -> Result<(), Failure> {
    if !permits.are_bounded() {
        return Ok(());
    }
    let power = ask_power(client).map_err(|error| ask_failure("ask what the role may do", &error))?;
    if power.is_empty() {
        return Ok(());
    }
    let how = "name a role that can do no more than a benchmark needs: `CREATE ROLE bench LOGIN`, `GRANT CREATE ON DATABASE \
               … TO bench`";
    permits.refuse_strong_login(&address.user, &power, how)
}

/// Asks what the login may do beyond a benchmark. The text is empty if it may do nothing more.
/// A role's own `search_path`, which may put its functions in front of the server's, does not hold within this transaction.
/// After an error the caller drops the session, and with it the transaction.
fn ask_power(client: &mut Client) -> Result<String, AskError> {
    client.execute("BEGIN; SET LOCAL search_path = pg_catalog, pg_temp")?;
    let mut power = client.query_first_value(&POWER.replace("STRONG", STRONG))?;
    if power.is_empty() && has_granted_parameters(client)? {
        power = "may set parameters that are not every role's, such as the libraries of a session".to_owned();
    }
    client.execute("COMMIT")?;
    Ok(power)
}

/// Tests whether the login was granted `SET` or `ALTER SYSTEM` for some parameter, which PostgreSQL has since version 15.
fn has_granted_parameters(client: &mut Client) -> Result<bool, AskError> {
    const CATALOG: &str =
        "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass('pg_catalog.pg_parameter_acl')";
    const GRANTED: &str = "SELECT count(*) FROM pg_catalog.pg_parameter_acl a, pg_catalog.aclexplode(a.paracl) x WHERE \
                           x.grantee = 0 OR pg_catalog.pg_has_role(session_user, x.grantee, 'MEMBER')";
    for sql in [CATALOG, GRANTED] {
        if client.query_first_value(sql)? == "0" {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Fails at an agent if a URL sets options of the session: they hold before the login is checked, and may name libraries.
pub(super) fn refuse_options(address: &Address, permits: &Permits) -> Result<(), Failure> {
    if !permits.are_bounded() || address.options.is_empty() {
        return Ok(());
    }
    let cause = "they hold before étalon can check what the login may do, and may name a library of the server's host";
    Err(Failure::new(FailureKind::Permission, "connect with the URL's `options`, or with `PGOPTIONS`", cause)
        .with_hint(
            "leave them out (`PGOPTIONS` where the agent was started), and set what the agent permits by the system's `settings`",
        ))
}

/// Makes a private server's role for a plan's statements, which may use no files or programs.
/// It may have own tables, counters, checkpoints and backups.
pub(super) fn make_role(owner: &Endpoint, role: &str, password: Option<&str>) -> Result<(), Failure> {
    let tried = "make the role of a private server";
    let mut client = owner.open_client("")?;
    let password = password.map(|password| format!(" PASSWORD {}", quote_text(password))).unwrap_or_default();
    // A restored server has it already.
    let database = &owner.address.database;
    let mut statements = vec![
        format!("CREATE ROLE {role} LOGIN REPLICATION{password}"),
        format!("GRANT CREATE, CONNECT, TEMPORARY ON DATABASE {database} TO {role}"),
        format!("GRANT pg_monitor TO {role}"),
    ];
    let checkpoint =
        client.query_first_value("SELECT count(*) FROM pg_catalog.pg_roles WHERE rolname = 'pg_checkpoint'");
    if checkpoint.map_err(|error| ask_failure(tried, &error))? != "0" {
        statements.push(format!("GRANT pg_checkpoint TO {role}"));
    }
    for statement in statements {
        client.execute(&statement).map_err(|error| ask_failure(tried, &error))?;
    }
    client.close_and_wait();
    Ok(())
}
