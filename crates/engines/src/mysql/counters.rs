//! Counters, privileges, and settling background work.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use wire::mysql::Flavor;

use super::SCHEMA;
use super::connect::Endpoint;
use super::dialect::quote_name;
use super::programs::Product;
use super::session::{name_value_pairs, query_variables};
use crate::mysql::lane::{AskError, Client};
use crate::server::counted::{Counting, CountsQuery};
use crate::server::refusal::{ask_failure, failing_to};
use crate::server::url::Address as _;
use load::counters::Counters;
use load::error::{Failure, FailureKind};
use load::lock_watch::ROW_LOCK_WAIT_MS;

/// Our name and unit, and the server's names, of which the first existing one counts.
struct Source {
    name: &'static str,
    unit: &'static str,
    variables: &'static [&'static str],
}

/// Names a counter of ours, its unit, and where the server has it.
const fn counter_source(name: &'static str, unit: &'static str, variables: &'static [&'static str]) -> Source {
    Source { name, unit, variables }
}

const COUNTERS: &[Source] = &[
    counter_source("statements", "", &["questions"]),
    counter_source("commit_statements", "", &["com_commit"]),
    counter_source("rollback_statements", "", &["com_rollback"]),
    counter_source("deadlocks", "", &["innodb_deadlocks", "er_lock_deadlock"]),
    counter_source("lock_waits", "", &["innodb_row_lock_waits"]),
    counter_source(ROW_LOCK_WAIT_MS, "ms", &["innodb_row_lock_time"]),
    counter_source("rows_read", "rows", &["innodb_rows_read"]),
    counter_source("rows_inserted", "rows", &["innodb_rows_inserted"]),
    counter_source("rows_updated", "rows", &["innodb_rows_updated"]),
    counter_source("pages_read", "pages", &["innodb_pages_read", "innodb_buffer_pool_reads"]),
    counter_source("pages_requested", "pages", &["innodb_buffer_pool_read_requests"]),
    counter_source("pages_written", "pages", &["innodb_pages_written"]),
    counter_source("log_bytes", "bytes", &["innodb_os_log_written"]),
    counter_source("log_syncs", "", &["innodb_os_log_fsyncs"]),
    counter_source("log_records", "records", &["innodb_log_write_requests"]),
    counter_source("data_syncs", "", &["innodb_data_fsyncs"]),
    counter_source("temporary_tables_on_disk", "", &["created_tmp_disk_tables"]),
];

/// The query for a session's own counts of statements and commits, which both products show to every account.
/// MySQL's tables leave the `Com_…` out: its `COMMIT`s count among the statements.
///
/// <https://mariadb.com/docs/server/reference/system-tables/information-schema/information-schema-tables/information-schema-global_status-and-session_status-tables>,
/// <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-status-variable-tables.html>
pub(super) fn session_counts_query(product: Product) -> CountsQuery {
    match product {
        Product::MariaDb => CountsQuery {
            sql: "SELECT CONNECTION_ID(), CAST(SUM(IF(variable_name = 'Questions', variable_value, 0)) AS SIGNED), \
                  CAST(SUM(IF(variable_name = 'Com_commit', variable_value, 0)) AS SIGNED) FROM \
                  information_schema.SESSION_STATUS WHERE variable_name IN ('Questions', 'Com_commit')",
            columns: &[Counting::Statements, Counting::Commits],
        },
        Product::MySql => CountsQuery {
            sql: "SELECT CONNECTION_ID(), CAST(variable_value AS SIGNED) FROM performance_schema.session_status WHERE \
                  variable_name = 'Questions'",
            columns: &[Counting::Statements],
        },
    }
}

/// Transactions that wait for a row at this instant, of all sessions: `Innodb_row_lock_time` cuts each wait down to whole milliseconds,
/// which hides three quarters of the waits of a fast server.
///
/// <https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-status-variables>,
/// <https://dev.mysql.com/doc/refman/8.4/en/server-status-variables.html#statvar_Innodb_row_lock_current_waits>
macro_rules! wait_for_rows {
    ($schema:literal) => {
        concat!(
            "(SELECT CAST(variable_value AS SIGNED) FROM ",
            $schema,
            ".global_status WHERE variable_name = 'Innodb_row_lock_current_waits')"
        )
    };
}

/// Sessions of this user in this database that wait for a whole table, which a load locks by statements that change tables alone.
macro_rules! wait_for_tables {
    () => {
        "(SELECT COUNT(*) FROM information_schema.processlist WHERE user = SUBSTRING_INDEX(USER(), '@', 1) AND db <=> DATABASE() \
         AND (state LIKE 'Waiting for % lock' OR state = 'Waiting for table flush'))"
    };
}

/// Sessions of other users or databases that are at work, but for replication's.
macro_rules! others_at_work {
    () => {
        "(SELECT COUNT(*) FROM information_schema.processlist WHERE NOT (user <=> SUBSTRING_INDEX(USER(), '@', 1) AND db <=> DATABASE()) \
         AND command IN ('Query', 'Execute'))"
    };
}

/// Queries for the numbers of waits for rows, of waits for others, and of others at work; the first permitted one counts.
/// Waits for rows of others are seen only where the login has `PROCESS`.
///
/// <https://mariadb.com/docs/server/reference/system-tables/information-schema/information-schema-tables/information-schema-innodb-tables/information-schema-innodb_lock_waits-table>,
/// <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-data-lock-waits-table.html>
pub(super) fn lock_waiters_queries(product: Product) -> &'static [&'static str] {
    match product {
        Product::MariaDb => &[
            concat!(
                "SELECT ",
                wait_for_rows!("information_schema"),
                ", (SELECT COUNT(*) FROM information_schema.INNODB_LOCK_WAITS w JOIN information_schema.INNODB_TRX t ON t.trx_id = \
                 w.blocking_trx_id LEFT JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id WHERE NOT (p.user <=> \
                 SUBSTRING_INDEX(USER(), '@', 1) AND p.db <=> DATABASE())) + ",
                wait_for_tables!(),
                ", ",
                others_at_work!()
            ),
            concat!("SELECT ", wait_for_rows!("information_schema"), ", ", wait_for_tables!(), ", ", others_at_work!()),
        ],
        Product::MySql => &[
            concat!(
                "SELECT ",
                wait_for_rows!("performance_schema"),
                ", (SELECT COUNT(*) FROM performance_schema.data_lock_waits w JOIN performance_schema.threads t ON t.thread_id = \
                 w.blocking_thread_id WHERE NOT (t.processlist_user <=> SUBSTRING_INDEX(USER(), '@', 1) AND t.processlist_db <=> \
                 DATABASE())) + ",
                wait_for_tables!(),
                ", ",
                others_at_work!()
            ),
            concat!("SELECT ", wait_for_rows!("performance_schema"), ", ", wait_for_tables!(), ", ", others_at_work!()),
        ],
    }
}

const NO_COMMITS: &str = "the server counts the statement COMMIT (`commit_statements`), and nothing for a statement that \
                          commits by itself; what its sessions executed is counted in `session_statements`";

/// Deadlocks of MySQL: `lock_deadlocks` of its `INNODB_METRICS` stays 0, as seen in 8.0.15.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/performance-schema-error-summary-tables.html>
const DEADLOCKS: &str = "SELECT error_name, sum_error_raised FROM performance_schema.events_errors_summary_global_by_error WHERE \
                         error_name = 'ER_LOCK_DEADLOCK'";
/// Row versions left unpurged, of MySQL.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/information-schema-innodb-metrics-table.html>
const HISTORY: &str = "SELECT name, count FROM information_schema.INNODB_METRICS WHERE name = 'trx_rseg_history_len' AND status = \
                       'enabled'";

/// InnoDB's own count of its checkpoints, the small ones of its page cleaner included; MariaDB reports them in another column than MySQL
/// whether it counts.
const CHECKPOINTS: [&str; 2] = [
    "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'log_checkpoints' AND status = 'enabled'",
    "SELECT count FROM information_schema.INNODB_METRICS WHERE name = 'log_checkpoints' AND enabled = 1",
];

const NO_CHECKPOINTS: &str =
    "InnoDB does not count its checkpoints unless `innodb_monitor_enable = \"log_checkpoints\"` is set";

/// Reads the number of InnoDB's checkpoints. The inner `Err` is why it is not known.
fn count_checkpoints(client: &mut Client) -> Result<Result<f64, String>, Failure> {
    let mut reason = NO_CHECKPOINTS.to_owned();
    for sql in CHECKPOINTS {
        match client.query_text_rows(sql) {
            Ok(rows) => {
                let count = rows.first().and_then(|row| row.first()?.as_ref()?.parse().ok());
                return Ok(count.ok_or(NO_CHECKPOINTS.to_owned()));
            }
            // An unknown column, or an account that may not look.
            Err(error @ AskError::Server(_)) => reason = error.to_string(),
            Err(error) => return Err(ask_failure("read the server's counters", &error)),
        }
    }
    Ok(Err(reason))
}

/// Reads names and values from a table of MySQL's; empty on MariaDB, or where the account may not read it.
/// MariaDB has these as status variables.
fn query_on_mysql_alone(client: &mut Client, sql: &str) -> Result<BTreeMap<String, String>, Failure> {
    if client.protocol.session.flavor != Flavor::MySql {
        return Ok(BTreeMap::new());
    }
    match client.query_text_rows(sql) {
        Ok(rows) => Ok(name_value_pairs(rows)),
        Err(AskError::Server(_)) => Ok(BTreeMap::new()),
        Err(error) => Err(ask_failure("read the server's counters", &error)),
    }
}

/// Reads the server's counters; one that it does not show is noted as unavailable.
pub(super) fn read_counters(client: &mut Client) -> Result<Counters, Failure> {
    let mut known = query_variables(client, "SHOW GLOBAL STATUS")?;
    known.extend(query_on_mysql_alone(client, DEADLOCKS)?);
    let mut counters = Counters::default();
    counters.set_unavailable("commits", "", NO_COMMITS);
    match count_checkpoints(client)? {
        Ok(count) => counters.set("checkpoints", "", count),
        Err(reason) => counters.set_unavailable("checkpoints", "", reason),
    }
    for source in COUNTERS {
        let value = source.variables.iter().find_map(|name| known.get(*name)?.parse().ok());
        match value {
            Some(value) => counters.set(source.name, source.unit, value),
            None => {
                let reason = format!("this server shows no counter {}", source.variables.join(" or "));
                counters.set_unavailable(source.name, source.unit, reason);
            }
        }
    }
    Ok(counters)
}

/// How dirty pages are written before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Checkpoint {
    /// All, by `innodb_log_checkpoint_now`, which waits.
    Sharp,
    /// Étalon's own tables, by `FLUSH TABLES … FOR EXPORT`.
    Tables,
    None(String),
}

impl Checkpoint {
    /// The fact that says whether and how the login can checkpoint.
    pub(super) fn to_fact(&self) -> Result<String, String> {
        match self {
            Checkpoint::Sharp => Ok("yes: innodb_log_checkpoint_now".to_owned()),
            Checkpoint::Tables => Ok("only étalon's own tables: FLUSH TABLES … FOR EXPORT".to_owned()),
            Checkpoint::None(reason) => Err(reason.clone()),
        }
    }
}

const SHARP: &str = "SET GLOBAL innodb_log_checkpoint_now = ON";

/// Finds out how the login may write dirty pages, by a checkpoint if it may make one.
pub(super) fn find_checkpoint_way(client: &mut Client) -> Result<Checkpoint, Failure> {
    match client.execute(SHARP) {
        Ok(()) => return Ok(Checkpoint::Sharp),
        Err(AskError::Server(_)) => {}
        Err(error) => return Err(ask_failure("ask whether étalon may checkpoint", &error)),
    }
    Ok(if has_privilege(client, &["RELOAD", "FLUSH_TABLES"])? {
        Checkpoint::Tables
    } else {
        Checkpoint::None(
            "the account has neither SUPER nor RELOAD, and may neither checkpoint nor flush tables; `GRANT RELOAD ON *.* TO \
             …` lets it"
                .to_owned(),
        )
    })
}

/// Writes the server's dirty pages to disk in the way that the login may; does nothing if it may not.
pub(super) fn write_dirty_pages(client: &mut Client, checkpoint: &Checkpoint) -> Result<(), Failure> {
    let tried = "write what the server still holds in memory";
    match checkpoint {
        Checkpoint::Sharp => client.execute(SHARP).map_err(failing_to(tried)),
        Checkpoint::Tables => {
            let tables = format!(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = '{SCHEMA}' AND engine = 'InnoDB' AND \
                 table_type = 'BASE TABLE'"
            );
            let rows = client.query_text_rows(&tables).map_err(failing_to(tried))?;
            let names: Vec<String> = rows
                .into_iter()
                .filter_map(|row| row.into_iter().next().flatten())
                .map(|name| format!("{SCHEMA}.{}", quote_name(&name)))
                .collect();
            if names.is_empty() {
                return Ok(());
            }
            let flush = format!("FLUSH TABLES {} FOR EXPORT", names.join(", "));
            client.execute(&flush).and_then(|()| client.execute("UNLOCK TABLES")).map_err(failing_to(tried))
        }
        Checkpoint::None(_) => Ok(()),
    }
}

/// Row versions left unpurged; housekeeping makes a few all the time.
const HISTORY_AT_REST: u64 = 32;
/// Timeout of purging.
const PURGE_TIMEOUT: Duration = Duration::from_secs(10);
const PURGE_POLL: Duration = Duration::from_millis(50);

/// Waits until invisible row versions are purged, where the server reports their number.
pub(super) fn await_purge(client: &mut Client) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let mut known = query_variables(client, "SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'")?;
        known.extend(query_on_mysql_alone(client, HISTORY)?);
        let left = ["innodb_history_list_length", "trx_rseg_history_len"].iter().find_map(|name| known.get(*name));
        let left = left.and_then(|text| text.parse::<u64>().ok());
        if left.is_none_or(|left| left <= HISTORY_AT_REST) || started.elapsed() > PURGE_TIMEOUT {
            return Ok(());
        }
        thread::sleep(PURGE_POLL);
    }
}

/// `'user'@'host'`, as in `information_schema`.
pub(super) const GRANTEE: &str = "CONCAT('''', LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - \
                       CHAR_LENGTH(SUBSTRING_INDEX(CURRENT_USER(), '@', -1)) - 1), '''@''', \
                       SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')";

/// Whether the login has one of these global privileges, apart from its roles.
pub(super) fn has_privilege(client: &mut Client, privileges: &[&str]) -> Result<bool, Failure> {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.user_privileges WHERE grantee = {GRANTEE} AND privilege_type IN ('{}')",
        privileges.join("', '")
    );
    let count = client.query_first_value(&sql).map_err(|error| ask_failure("ask what the account may do", &error))?;
    Ok(count != "0")
}

/// Fails on a read-only server, and for an account that may not make étalon's database unless it is `there`.
pub(super) fn refuse_unfit(client: &mut Client, endpoint: &Endpoint, there: bool) -> Result<(), Failure> {
    let tried = "ask what the server lets étalon do";
    refuse_read_only(client, endpoint)?;
    if there || has_privilege(client, &["CREATE"])? || has_role(client) {
        return Ok(());
    }
    let on_database = format!(
        "SELECT COUNT(*) FROM information_schema.schema_privileges WHERE grantee = {GRANTEE} AND privilege_type = 'CREATE' \
         AND '{SCHEMA}' LIKE table_schema"
    );
    if client.query_first_value(&on_database).map_err(failing_to(tried))? != "0" {
        return Ok(());
    }
    let account = client.query_first_value(&format!("SELECT {GRANTEE}")).map_err(failing_to(tried))?;
    let cause = format!(
        "the account {account} may not make the database `{SCHEMA}`, the only one that étalon works in, whatever the URL names"
    );
    Err(Failure::new(FailureKind::Permission, format!("use {}", endpoint.address.shown_url()), cause)
        .with_hint(format!("`GRANT ALL ON {SCHEMA}.* TO {account}`")))
}

/// Fails if the server is read-only for this account.
pub(super) fn refuse_read_only(client: &mut Client, endpoint: &Endpoint) -> Result<(), Failure> {
    let read_only = client.query_first_value("SELECT @@GLOBAL.read_only");
    let read_only = read_only.map_err(|error| ask_failure("ask what the server lets étalon do", &error))?;
    if read_only == "0" || has_privilege(client, &["SUPER", "READ_ONLY ADMIN", "CONNECTION_ADMIN"])? {
        return Ok(());
    }
    let cause = "the server is read-only: it is a replica, or was made so";
    Err(Failure::new(FailureKind::Unsupported, format!("use {}", endpoint.address.shown_url()), cause)
        .with_hint("name the primary server in the URL"))
}

/// Whether the login has a current role.
/// `information_schema` does not list roles' privileges as the login's.
fn has_role(client: &mut Client) -> bool {
    // Old servers have no roles.
    client
        .query_first_value("SELECT CURRENT_ROLE()")
        .is_ok_and(|role| !role.is_empty() && !role.eq_ignore_ascii_case("none"))
}

/// Reads the session's variables by name.
pub(super) fn session_variables(client: &mut Client) -> Result<BTreeMap<String, String>, Failure> {
    query_variables(client, "SHOW SESSION VARIABLES")
}
