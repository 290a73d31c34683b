//! Server facts, settings and durability.

use model::facts::{DATA_FILESYSTEM, INSTANCE};
use model::{Durability, Facts, Nature};
use wire::tds::Cell;

use super::connect::Endpoint;
use super::counters::{self, why_unreadable};
use super::durability;
use crate::durability::{first_matching_rule, list_settings};
use crate::isolation::{self, Levels};
use crate::server::dialogue::{first_columns, first_row};
use crate::server::refusal::ask_failure;
use crate::server::url::Address as _;
use crate::sqlserver::lane::{AskError, Client};
use load::error::Failure;

/// A view with one row, or one per setting, whose columns are facts.
struct View {
    /// Prefix of the facts' names.
    prefix: &'static str,
    sql: &'static str,
    identity: &'static [&'static str],
    passing: &'static [&'static str],
}

/// Edition of Azure SQL Database.
/// <https://learn.microsoft.com/en-us/sql/t-sql/functions/serverproperty-transact-sql>
pub(super) const AZURE: &str = "5";

/// Reads the number of the engine's edition.
pub(super) fn edition_number(client: &mut Client) -> Result<String, AskError> {
    client.query_first_value("SELECT CAST(SERVERPROPERTY('EngineEdition') AS int)")
}

/// One-row views without the host's. Missing columns are skipped.
const VIEWS: [&View; 4] = [&SERVER, &MACHINE, &DATABASE, &SESSION];
/// First release on Linux; from it on one view describes either host.
const FIRST_ON_LINUX: u8 = 14;

/// <https://learn.microsoft.com/en-us/sql/t-sql/functions/serverproperty-transact-sql>
const SERVER: View = View {
    prefix: "server",
    sql: "SELECT CAST(SERVERPROPERTY('Edition') AS nvarchar(128)) AS edition, CAST(SERVERPROPERTY('EngineEdition') AS int) \
          AS engine_edition, CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128)) AS product_version, \
          CAST(SERVERPROPERTY('ProductLevel') AS nvarchar(128)) AS product_level, \
          CAST(SERVERPROPERTY('ProductUpdateLevel') AS nvarchar(128)) AS update_level, \
          CAST(SERVERPROPERTY('Collation') AS nvarchar(128)) AS collation, CAST(SERVERPROPERTY('IsHadrEnabled') AS int) AS \
          availability_groups, CAST(SERVERPROPERTY('MachineName') AS nvarchar(128)) AS machine, \
          CAST(SERVERPROPERTY('InstanceDefaultDataPath') AS nvarchar(400)) AS data_path, \
          CAST(SERVERPROPERTY('InstanceDefaultLogPath') AS nvarchar(400)) AS log_path",
    identity: &["edition", "engine_edition", "product_level", "update_level", "collation", "availability_groups"],
    passing: &["machine", "data_path", "log_path"],
};

/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-dynamic-management-views/sys-dm-os-host-info-transact-sql>
const HOST: View = View {
    prefix: "host",
    sql: "SELECT * FROM sys.dm_os_host_info",
    identity: &["host_platform", "host_distribution", "host_release", "host_service_pack_level", "host_architecture"],
    passing: &[],
};

/// Facts of releases for Windows only.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-dynamic-management-views/sys-dm-os-windows-info-transact-sql>
const WINDOWS: View = View {
    prefix: "host",
    sql: "SELECT N'Windows' AS host_platform, windows_release AS host_release, windows_service_pack_level AS \
          host_service_pack_level FROM sys.dm_os_windows_info",
    identity: &["host_platform", "host_release", "host_service_pack_level"],
    passing: &[],
};

/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-dynamic-management-views/sys-dm-os-sys-info-transact-sql>
const MACHINE: View = View {
    prefix: "host",
    sql: "SELECT * FROM sys.dm_os_sys_info",
    identity: &[
        "cpu_count",
        "hyperthread_ratio",
        "physical_memory_kb",
        "max_workers_count",
        "scheduler_count",
        "virtual_machine_type_desc",
        "softnuma_configuration_desc",
        "sql_memory_model_desc",
        "socket_count",
        "cores_per_socket",
        "numa_node_count",
        "container_type_desc",
    ],
    passing: &["committed_kb", "committed_target_kb", "sqlserver_start_time"],
};

/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-catalog-views/sys-databases-transact-sql>
const DATABASE: View = View {
    prefix: "database",
    sql: "SELECT * FROM sys.databases WHERE database_id = DB_ID()",
    identity: &[
        "compatibility_level",
        "collation_name",
        "recovery_model_desc",
        "delayed_durability_desc",
        "page_verify_option_desc",
        "snapshot_isolation_state_desc",
        "is_read_committed_snapshot_on",
        "is_auto_create_stats_on",
        "is_auto_update_stats_on",
        "is_auto_update_stats_async_on",
        "is_parameterization_forced",
        "is_query_store_on",
        "is_encrypted",
        "is_accelerated_database_recovery_on",
        "is_mixed_page_allocation_on",
        "target_recovery_time_in_seconds",
        "containment_desc",
    ],
    passing: &["name", "log_reuse_wait_desc", "create_date"],
};

/// A session sees its own row without permission.
/// <https://learn.microsoft.com/en-us/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-sessions-transact-sql>
const SESSION: View = View {
    prefix: "session",
    sql: "SELECT * FROM sys.dm_exec_sessions WHERE session_id = @@SPID",
    identity: &[
        "quoted_identifier",
        "arithabort",
        "ansi_null_dflt_on",
        "ansi_defaults",
        "ansi_warnings",
        "ansi_padding",
        "ansi_nulls",
        "concat_null_yields_null",
        "transaction_isolation_level",
        "lock_timeout",
        "deadlock_priority",
        "text_size",
        "language",
        "date_format",
    ],
    passing: &["session_id", "login_name"],
};

/// Isolation levels by the numbers of the session's view; with `READ_COMMITTED_SNAPSHOT` read committed does not lock.
///
/// <https://learn.microsoft.com/en-us/sql/t-sql/statements/set-transaction-isolation-level-transact-sql>
const ISOLATION: Levels = &[
    ("read uncommitted", "that a statement sees what others have not committed"),
    (
        "read committed",
        "that each statement sees rows as they are committed when it comes to them, so that two of one transaction, and parts of one, \
         may see different moments",
    ),
    (
        "read committed by snapshots",
        "that each statement sees what was committed before it, so that two of one transaction may see different rows",
    ),
    ("repeatable read", "that rows which others add appear between two statements of a transaction"),
    ("serializable", isolation::NONE),
    (
        "snapshot",
        "that two transactions which change different rows each miss what the other changes; one that would change a row \
         changed meanwhile fails",
    ),
];

/// Adds the isolation level to the facts, with whether readers see snapshots.
fn add_isolation(facts: &mut Facts) {
    let by_snapshots = facts.get("database.is_read_committed_snapshot_on");
    let by_snapshots = by_snapshots.is_some_and(|on| on == "1" || on.eq_ignore_ascii_case("true"));
    let level = match facts.get("session.transaction_isolation_level") {
        Some("1") => "read uncommitted",
        Some("2") if by_snapshots => "read committed by snapshots",
        Some("2") => "read committed",
        Some("3") => "repeatable read",
        Some("4") => "serializable",
        Some("5") => "snapshot",
        _ => return,
    };
    isolation::add_isolation_facts(facts, level, ISOLATION);
}

/// <https://learn.microsoft.com/en-us/sql/database-engine/configure-windows/server-configuration-options-sql-server>
pub(super) const CONFIGURATIONS: &str =
    "SELECT name, CAST(value_in_use AS nvarchar(64)) FROM sys.configurations ORDER BY name";
/// Sizes in pages of 8 KiB.
pub(super) const FILES: &str = "SELECT name, type_desc, physical_name, size, growth, is_percent_growth, max_size FROM \
                                sys.database_files ORDER BY file_id";
/// Number of files, and total pages of 8 KiB.
pub(super) const TEMPDB: &str =
    "SELECT COUNT(*), SUM(CAST(size AS bigint)) FROM tempdb.sys.database_files WHERE type = 0";
pub(super) const TRACE_FLAGS: &str = "DBCC TRACESTATUS(-1) WITH NO_INFOMSGS";
/// The session's `SET` options as bits.
pub(super) const SET_OPTIONS: &str = "SELECT CAST(@@OPTIONS AS int)";

/// Reads the server's facts in a session like a run's: views, settings, files, path and durability.
pub(super) fn read_facts(client: &mut Client, endpoint: &Endpoint) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    let (major, minor, build) = client.protocol.session.version;
    let banner = client
        .query_first_value("SELECT @@VERSION")
        .map_err(|error| ask_failure("read the server's version", &error))?;
    facts.record_identity("server.product", product_from_banner(&banner));
    facts.record_identity("server.banner", banner.lines().next().unwrap_or_default().trim());
    facts.record_identity("server.version", format!("{major}.{minor}.{build}"));
    let is_microsoft_s = product_from_banner(&banner) == MICROSOFT_S;
    let host = if is_microsoft_s && major < FIRST_ON_LINUX { &WINDOWS } else { &HOST };
    for view in VIEWS.into_iter().chain([host]) {
        add_view(&mut facts, client, view)?;
    }
    add_instance(&mut facts);
    facts.record_unavailable(DATA_FILESYSTEM, NO_DISK);
    add_isolation(&mut facts);
    if let Some(version) = facts.get("server.product_version").map(str::to_owned) {
        facts.record_identity("server.version", version);
    }
    add_configurations(&mut facts, client)?;
    add_files(&mut facts, client)?;
    add_trace_flags(&mut facts, client)?;
    let options =
        query_if_allowed(client, SET_OPTIONS)?.and_then(|rows| first_cell(&rows).ok_or_else(|| "no row".to_owned()));
    facts.insert("session.options", options, Nature::Identity);
    facts.record_identity("path.kind", "tcp");
    facts.record_passing("path.address", endpoint.address.shown_url());
    facts.record_identity("path.tls", client.encryption().unwrap_or_else(|| "login only".to_owned()));
    facts.record_identity("path.packet_bytes", client.protocol.session.packet_bytes.to_string());
    facts.record_identity("path.protocol", format!("TDS {:#010x}", client.protocol.session.tds_version));
    facts.record_unavailable("data_directory.filesystem", "SQL Server does not say what its files lie on");
    let durability = durability_from_facts(&facts);
    facts.set_durability(&durability);
    Ok(facts)
}

const MICROSOFT_S: &str = "Microsoft SQL Server";
const BABELFISH: &str = "Babelfish for PostgreSQL";

/// Names the other product with this protocol, if the server is one: Babelfish.
pub(super) fn name_other_product(client: &mut Client) -> Result<Option<&'static str>, Failure> {
    let banner = client
        .query_first_value("SELECT @@VERSION")
        .map_err(|error| ask_failure("read the server's version", &error))?;
    Ok(Some(product_from_banner(&banner)).filter(|product| *product == BABELFISH))
}

/// Name of the product by the server's banner, in which other servers with TDS say so.
fn product_from_banner(banner: &str) -> &'static str {
    if banner.starts_with("Babelfish") {
        BABELFISH
    } else if banner.contains("Azure") {
        "Azure SQL"
    } else {
        MICROSOFT_S
    }
}

type TextRows = Vec<Vec<Option<String>>>;

/// Reads a query's rows; the inner `Err` is why they are invisible or missing.
fn query_if_allowed(client: &mut Client, sql: &str) -> Result<Result<TextRows, String>, Failure> {
    match client.query_text_rows(sql) {
        Ok(rows) => Ok(Ok(rows)),
        Err(error) => reason_or_failure(&error).map(Err),
    }
}

/// Explains why something cannot be read; fails if the connection did.
fn reason_or_failure(error: &AskError) -> Result<String, Failure> {
    why_unreadable(error).ok_or_else(|| ask_failure("read the server's facts", error))
}

/// Text of the first column of the first row, if there is one.
fn first_cell(rows: &TextRows) -> Option<String> {
    rows.first()?.first()?.clone()
}

/// Reads what distinguishes this server from another one, and from itself before a restart.
/// What it does not answer is left out.
pub(super) fn read_instance_facts(client: &mut Client) -> Facts {
    let mut facts = Facts::default();
    for view in [&SERVER, &MACHINE] {
        _ = add_view(&mut facts, client, view);
    }
    add_instance(&mut facts);
    facts.entries.retain(|name, _| name.starts_with(INSTANCE));
    facts
}

/// Adds start time and machine as facts of the instance.
fn add_instance(facts: &mut Facts) {
    for (name, fact) in [("started", "host.sqlserver_start_time"), ("machine", "server.machine")] {
        if let Some(value) = facts.get(fact).map(str::to_owned) {
            facts.record_instance(name, value);
        }
    }
}

/// Adds the columns of a view's row as facts; unavailable ones if the login may not read it.
fn add_view(facts: &mut Facts, client: &mut Client, view: &View) -> Result<(), Failure> {
    let answer = match client.ask(view.sql) {
        Ok(answer) => answer,
        Err(error) => {
            let reason = reason_or_failure(&error)?;
            for name in view.identity {
                facts.record_unavailable(format!("{}.{name}", view.prefix), reason.clone());
            }
            return Ok(());
        }
    };
    let Some(row) = answer.rows.into_iter().next() else { return Ok(()) };
    for (column, cell) in answer.columns.iter().zip(row) {
        let name = column.name.to_ascii_lowercase();
        let Some(text) = cell_text(cell) else { continue };
        if view.identity.contains(&name.as_str()) || name == "product_version" {
            facts.record_identity(format!("{}.{name}", view.prefix), text);
        } else if view.passing.contains(&name.as_str()) {
            facts.record_passing(format!("{}.{name}", view.prefix), text);
        }
    }
    Ok(())
}

/// A cell's text without blanks around it; `None` if it is empty.
fn cell_text(cell: Cell) -> Option<String> {
    cell.to_text().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Adds the server's configuration options as facts.
fn add_configurations(facts: &mut Facts, client: &mut Client) -> Result<(), Failure> {
    match query_if_allowed(client, CONFIGURATIONS)? {
        Err(reason) => facts.record_unavailable("setting", reason),
        Ok(rows) => {
            for row in rows {
                if let [Some(name), Some(value)] = row.as_slice() {
                    facts.record_identity(format!("setting.{}", name.replace(' ', "_")), value.clone());
                }
            }
        }
    }
    Ok(())
}

/// Writes a number of pages of 8 KiB as mebibytes.
fn pages_as_mib(pages: &str) -> String {
    pages.parse::<u64>().map_or_else(|_| pages.to_owned(), |pages| format!("{} MiB", pages / 128))
}

/// Adds number, growth, size and path of the database's and tempdb's files to the facts.
/// Sizes change as a database grows, growth settings do not.
fn add_files(facts: &mut Facts, client: &mut Client) -> Result<(), Failure> {
    match query_if_allowed(client, FILES)? {
        Err(reason) => facts.record_unavailable("database.files", reason),
        Ok(rows) => {
            facts.record_identity("database.files", rows.len().to_string());
            for row in rows {
                let [file, kind, path, size, growth, is_in_percent] = first_columns(row);
                let growth = if is_in_percent == "1" { format!("{growth} %") } else { pages_as_mib(&growth) };
                let name = format!("database.file.{file}");
                facts.record_identity(format!("{name}.growth"), format!("{kind}, by {growth}"));
                facts.record_passing(format!("{name}.size"), pages_as_mib(&size));
                facts.record_passing(format!("{name}.path"), path);
            }
        }
    }
    match query_if_allowed(client, TEMPDB)? {
        Err(reason) => facts.record_unavailable("tempdb.data_files", reason),
        Ok(rows) => {
            let [files, size] = first_columns(first_row(rows));
            facts.record_identity("tempdb.data_files", files);
            facts.record_passing("tempdb.size", pages_as_mib(&size));
        }
    }
    Ok(())
}

/// Adds the server's trace flags as a fact.
fn add_trace_flags(facts: &mut Facts, client: &mut Client) -> Result<(), Failure> {
    let flags = query_if_allowed(client, TRACE_FLAGS)?.map(|rows| {
        let flags: Vec<String> = rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
        if flags.is_empty() { "none".to_owned() } else { flags.join(", ") }
    });
    facts.insert("server.trace_flags", flags, Nature::Identity);
    Ok(())
}

/// Tells from the facts what a commit survives.
fn durability_from_facts(facts: &Facts) -> Durability {
    let flags = facts.get("server.trace_flags").unwrap_or_default();
    let forced_flush =
        if flags.split(", ").any(|flag| flag == "3979") || is_before_forced_flush(facts) { "off" } else { "on" };
    let setting = |name: &str| match name {
        "database" => facts.get("database.name").map(str::to_owned),
        "system" => facts.get("host.host_platform").map(str::to_owned),
        "forced flush" => Some(forced_flush.to_owned()),
        name => facts
            .get(&format!("database.{name}_desc"))
            .or(facts.get(&format!("database.{name}_option_desc")))
            .map(str::to_owned),
    };
    let mut promised =
        first_matching_rule(durability::TABLE, setting).to_durability(&list_settings(durability::LISTED, setting));
    promised.because.push_str(&format!("; its disk is not known: {NO_DISK}"));
    promised
}

const NO_DISK: &str = "SQL Server does not say what its files lie on";

/// Whether the server is a 2017 before CU 6, build 14.0.3025, which flushes no files by force.
fn is_before_forced_flush(facts: &Facts) -> bool {
    let version = facts.get("server.version").unwrap_or_default();
    let parts: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    matches!(parts.as_slice(), [14, 0, build, ..] if *build < 3025)
}

/// Runs `CHECKPOINT`, and adds as a fact whether the login may.
pub(super) fn checkpoint_and_add_fact(facts: &mut Facts, client: &mut Client) -> Result<(), Failure> {
    let checkpoint = counters::checkpoint_if_allowed(client)?;
    facts.insert("checkpoint_before_run", checkpoint, Nature::Identity);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::DurabilityTier;

    #[test]
    fn the_tier_follows_from_the_database_s_options() {
        fn with(more: &[(&str, &str)]) -> Durability {
            let mut facts = Facts::default();
            for (name, value) in more {
                facts.record_identity(*name, *value);
            }
            durability_from_facts(&facts)
        }
        fn delayed(delayed: &str) -> Durability {
            with(&[("database.delayed_durability_desc", delayed)])
        }
        fn unforced(version: &str, flags: &str, platform: &str) -> Option<String> {
            let facts = [("server.version", version), ("server.trace_flags", flags), ("host.host_platform", platform)];
            with(&facts).except
        }
        assert_eq!(delayed("DISABLED").tier, DurabilityTier::Durable);
        assert_eq!(delayed("ALLOWED").tier, DurabilityTier::Durable);
        assert!(delayed("ALLOWED").except.unwrap().contains("where it asks"));
        assert_eq!(delayed("FORCED").tier, DurabilityTier::Delayed);
        assert_eq!(with(&[("database.name", "tempdb")]).tier, DurabilityTier::Memory);
        assert!(unforced("16.0.4156.1", "834, 3979", "Linux").unwrap().contains("by force"));
        assert!(unforced("14.0.3023.8", "none", "Linux").is_some());
        assert_eq!(unforced("14.0.3025.34", "none", "Linux"), None);
        assert_eq!(unforced("14.0.1000.169", "3979", "Windows"), None);
        assert_eq!(pages_as_mib("1024"), "8 MiB");
    }

    #[test]
    fn a_server_that_only_speaks_tds_is_called_what_it_is() {
        assert_eq!(product_from_banner("Babelfish for PostgreSQL with SQL Server Compatibility"), BABELFISH);
        assert_eq!(product_from_banner("Microsoft SQL Azure (RTM) - 12.0"), "Azure SQL");
        assert_eq!(product_from_banner("Microsoft SQL Server 2022 (RTM) - 16.0"), "Microsoft SQL Server");
    }
}
