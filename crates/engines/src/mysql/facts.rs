//! Server facts, settings and durability.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use model::facts::{ADDED_BY_OTHERS, INDEXES_AND_TRIGGERS, TABLE_DEFINITIONS};
use model::{Durability, Facts, Nature};
use wire::mysql::Flavor;

use super::SCHEMA;
use super::connect::Endpoint;
use super::dialect::quote_text;
use super::order_entry::Procedures;
use super::room;
use super::session::query_variables;
use super::url::Place;
use super::{counters, durability};
use crate::data_place::{DataFolder, DataPlace, hide_value, server_process};
use crate::durability::{first_matching_rule, list_settings};
use crate::isolation::{self, Levels};
use crate::mysql::lane::{AskError, Client};
use crate::server::dialogue::first_columns;
use crate::server::procedures;
use crate::server::refusal::ask_failure;
use crate::server::url::Address as _;
use load::error::Failure;
use workloads::dataset::Tables;
use workloads::order_entry::OrderEntryDialect as _;

/// Settings that differ between equal servers, sessions or starts: places, names, session state. Logging counts, since
/// it costs time.
const PASSING: &[&str] = &[
    "bind_address",
    "collation_database",
    "character_set_database",
    "error_count",
    "external_user",
    "file_key_management_filename",
    "hostname",
    "identity",
    "in_predicate_conversion_threshold_used",
    "in_transaction",
    "init_file",
    "innodb_buffer_pool_filename",
    // Étalon starts its own servers cold without it; a start that others make is seen as one.
    "innodb_buffer_pool_load_at_startup",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "insert_id",
    "last_gtid",
    "last_insert_id",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "plugin_dir",
    "port",
    "proxy_user",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "relay_log_basename",
    "relay_log_index",
    "report_host",
    "report_port",
    "seconds_behind_master",
    "server_id",
    "server_uid",
    "server_uuid",
    "skip_networking",
    "skip_replication",
    "socket",
    "statement_id",
    "system_time_zone",
    "timestamp",
    "warning_count",
    "innodb_log_checkpoint_now",
    "init_connect",
    "wsrep_start_position",
];

const PASSING_BEGINNINGS: &[&str] = &["gtid_", "wsrep_node_", "admin_", "mysqlx_", "pseudo_"];
const PASSING_ENDS: &[&str] = &["_file", "_dir", "_directory", "_dir_path", "dir", "_path", "_logname"];

/// Reads the server's facts in a session like a run's: settings, instance, path, data folder and durability.
pub(super) fn read_facts(client: &mut Client, endpoint: &Endpoint, tables: Tables) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    let settings = counters::session_variables(client)?;
    let setting = |name: &str| settings.get(name).cloned().unwrap_or_default();
    facts.record_identity("server.product", product_name(client.protocol.session.flavor, &setting("version_comment")));
    facts.record_identity("server.version", format!("{} ({})", setting("version"), setting("version_comment")));
    facts.entries.extend(setting_facts(&settings).entries);
    facts.entries.extend(read_instance_facts(client).entries);
    facts.record_identity("database.engine", setting("default_storage_engine"));
    add_database(&mut facts, client)?;
    facts.record_passing("database.name", SCHEMA);
    facts.record_identity("path.kind", if endpoint.address.is_socket() { "socket" } else { "tcp" });
    facts.record_passing("path.address", endpoint.address.shown_url());
    facts.record_identity("path.tls", client.encryption().unwrap_or_else(|| "off".to_owned()));
    facts.record_identity("path.login", client.protocol.session.authentication.as_str());
    let caches = if client.protocol.session.caches_metadata() { "cached" } else { "sent with every result" };
    facts.record_identity("path.metadata", caches);
    add_isolation(&mut facts, &settings);
    let place = find_data_folder(&settings, endpoint);
    let (database, folders) = folders_of_tables(client, tables);
    let keeping = place.add_data_facts(&mut facts, |data| {
        // The database's folder may be a link.
        let tables =
            [database].into_iter().chain(folders).flat_map(|folder| data.folder_and_diverted_entries(folder, &[""]));
        list_log_paths(data, &settings).into_iter().chain(tables).collect()
    });
    place.add_cpu_share(&mut facts);
    let redo_log = read_redo_log_status(client)?;
    if let Some(enabled) = &redo_log {
        facts.record_identity("status.innodb_redo_log_enabled", enabled.clone());
    }
    let added = match tables {
        Tables::Own => list_added_by_others(client).map(|added| (ADDED_BY_OTHERS, added)),
        Tables::None => digest_schemas(client).map(|shape| (INDEXES_AND_TRIGGERS, shape)),
    };
    let (name, value) = added.map_err(|error| ask_failure("read the tables' indexes and triggers", &error))?;
    facts.record_instance(name, value);
    if tables == Tables::None {
        let schema = digest_definitions(client).map_err(|error| ask_failure("read the tables' definitions", &error))?;
        facts.record_passing(TABLE_DEFINITIONS, schema);
    }
    let engines = table_engines(client, &setting("default_storage_engine"), tables)?;
    let durability = place.limit_durability(weakest_durability(&settings, &engines, redo_log.as_deref()), &keeping);
    facts.set_durability(&durability);
    Ok(facts)
}

/// Makes a fact of each setting.
pub(super) fn setting_facts(settings: &BTreeMap<String, String>) -> Facts {
    let mut facts = Facts::default();
    for (name, value) in settings {
        facts.insert(format!("setting.{name}"), Ok(shown_value(name, value)), setting_nature(name));
    }
    facts
}

/// Reads what distinguishes this server from another one, and from itself before a restart.
/// What it does not answer is left out.
pub(super) fn read_instance_facts(client: &mut Client) -> Facts {
    let mut facts = Facts::default();
    for row in client.query_text_rows(WHICH_SERVER).unwrap_or_default() {
        let [name, value] = first_columns(row);
        facts.record_instance(&name, value);
    }
    let status = match client.protocol.session.flavor {
        Flavor::MariaDb => "information_schema.GLOBAL_STATUS",
        Flavor::MySql => "performance_schema.global_status",
    };
    // Both are of the moment at which the statement began, so that the difference is the same each time.
    let sql = format!(
        "SELECT CAST(UNIX_TIMESTAMP() - variable_value AS SIGNED) FROM {status} WHERE variable_name = 'Uptime'"
    );
    if let Ok(started) = client.query_first_value(&sql) {
        facts.record_instance("started", format!("{started} s after 1970"));
    }
    facts
}

const WHICH_SERVER: &str =
    "SHOW GLOBAL VARIABLES WHERE variable_name IN ('server_uuid', 'server_uid', 'server_id', 'hostname')";

/// Name of the product, by the protocol's flavor and the version's comment.
fn product_name(flavor: Flavor, comment: &str) -> &'static str {
    match flavor {
        Flavor::MariaDb => "MariaDB",
        Flavor::MySql if comment.contains("Percona") => "Percona Server",
        Flavor::MySql => "MySQL",
    }
}

/// Isolation levels of InnoDB.
///
/// <https://dev.mysql.com/doc/refman/8.4/en/innodb-transaction-isolation-levels.html>,
/// <https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables#innodb_snapshot_isolation>
const ISOLATION: Levels = &[
    ("read uncommitted", "that a statement sees what others have not committed"),
    (
        "read committed",
        "that each statement sees what was committed before it, so that two of one transaction may see different rows",
    ),
    (
        "repeatable read",
        "that what a transaction reads is of one moment and what it changes or locks is the newest, so that it may change a row \
         that it does not see",
    ),
    (
        "repeatable read with snapshot isolation",
        "that two transactions which change different rows each miss what the other changes; one that would change a row \
         changed meanwhile fails",
    ),
    ("serializable", isolation::NONE),
];

/// Adds the session's isolation level, and what it allows, to the facts.
/// The variable is `tx_isolation` until MariaDB 11.1.
fn add_isolation(facts: &mut Facts, settings: &BTreeMap<String, String>) {
    let level = ["transaction_isolation", "tx_isolation"].iter().find_map(|name| settings.get(*name));
    let Some(level) = level else { return };
    let is_snapshot = settings.get("innodb_snapshot_isolation").is_some_and(|on| on == "ON");
    match level.as_str() {
        "REPEATABLE-READ" if is_snapshot => {
            isolation::add_isolation_facts(facts, "repeatable read with snapshot isolation", ISOLATION);
        }
        level => isolation::add_isolation_facts(facts, level, ISOLATION),
    }
}

/// Adds character set and collation of étalon's database, or those that a new one gets.
fn add_database(facts: &mut Facts, client: &mut Client) -> Result<(), Failure> {
    let sql = format!(
        "SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = \
         '{SCHEMA}' UNION ALL SELECT @@GLOBAL.character_set_server, @@GLOBAL.collation_server"
    );
    let rows = client.query_text_rows(&sql).map_err(|error| ask_failure("read the server's facts", &error))?;
    let mut row = rows.into_iter().next().unwrap_or_default().into_iter().map(Option::unwrap_or_default);
    facts.record_identity("database.encoding", row.next().unwrap_or_default());
    facts.record_identity("database.collation", row.next().unwrap_or_default());
    Ok(())
}

/// Whether a setting belongs to the server's identity or is passing.
fn setting_nature(name: &str) -> Nature {
    let passing = PASSING.contains(&name)
        || PASSING_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || PASSING_ENDS.iter().any(|end| name.ends_with(end));
    if passing { Nature::Passing } else { Nature::Identity }
}

/// A setting's value, hidden where it may be a secret.
fn shown_value(name: &str, value: &str) -> String {
    let may_be_secret = ["init_connect", "init_slave", "init_replica", "wsrep_sst_auth", "report_password"]
        .contains(&name)
        || name.ends_with("_secret")
        || name.ends_with("_filekey")
        || name.contains("token")
        || name.contains("provider_options");
    if may_be_secret { hide_value(value) } else { value.to_owned() }
}

/// Finds where the server's data folder is, and whether it is on this machine.
fn find_data_folder(settings: &BTreeMap<String, String>, endpoint: &Endpoint) -> DataPlace {
    let Some(folder) = settings.get("datadir").filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
        return DataPlace::Elsewhere("the server does not say where its data is".to_owned());
    };
    // A container's server has a port on this machine, but no socket.
    let socket = settings.get("socket").map(PathBuf::from).unwrap_or_default();
    let here = match &endpoint.address.place {
        Place::Socket(_) => true,
        Place::Tcp { .. } => endpoint.address.is_local() && (socket.exists() || folder.join(socket).exists()),
    };
    if !here {
        return DataPlace::elsewhere_on_other_machine();
    }
    let pid_file = settings.get("pid_file").map(|file| folder.join(file));
    let named = pid_file.and_then(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
    DataPlace::of_local_folder(folder, server_process(&endpoint.address.listener(), named))
}

/// Settings that name a folder of data or log, absolute or within the data folder.
const PLACES: [&str; 3] = ["innodb_data_home_dir", "innodb_log_group_home_dir", "innodb_undo_directory"];

/// Beginnings of the names of InnoDB's files that are no table's: logs, system tablespaces, the doublewrite buffer.
const OWN_FILES: [&str; 6] = ["ib_logfile", "ibdata", "undo", "#innodb_redo", "#ib_", "mysql.ibd"];

/// Lists the paths of the server's logs and of InnoDB's own files, with those that are elsewhere.
fn list_log_paths(data: &DataFolder, settings: &BTreeMap<String, String>) -> Vec<PathBuf> {
    let setting = |name: &str| Path::new(settings.get(name).map_or("", String::as_str));
    let [data_home, log_home, undo] = PLACES.map(setting);
    let mut found: Vec<PathBuf> = [Path::new(""), data_home, log_home, undo]
        .iter()
        .flat_map(|folder| data.folder_and_diverted_entries(folder, &OWN_FILES))
        .collect();
    found.extend(data.folder_and_diverted_entries(log_home.join("#innodb_redo"), &[""]));
    let system = setting("innodb_data_file_path").to_str().unwrap_or_default().split(';');
    let files = system.filter_map(|file| file.split(':').next().filter(|name| !name.is_empty()));
    found.extend(files.map(|file| data.path_from_here(data_home.join(file))));
    let binary_log = setting("log_bin_basename");
    if let (Some(folder), Some(name)) = (binary_log.parent(), binary_log.file_name()) {
        found.extend(data.folder_and_diverted_entries(folder, &[&name.to_string_lossy()]));
    }
    found
}

/// Views of InnoDB's files with their column, of MySQL, of MariaDB and of it before version 10.6.
const FILES: [(&str, &str); 3] =
    [("INNODB_DATAFILES", "path"), ("INNODB_SYS_TABLESPACES", "filename"), ("INNODB_SYS_DATAFILES", "path")];

/// Reads the folder of the load's database, and those of its tables' files, which may be elsewhere.
/// `DATA DIRECTORY` puts them there. There are none where the account may not see them.
fn folders_of_tables(client: &mut Client, tables: Tables) -> (PathBuf, Vec<PathBuf>) {
    let database = match tables {
        Tables::Own => SCHEMA.to_owned(),
        Tables::None => client.query_first_value("SELECT COALESCE(DATABASE(), '')").unwrap_or_default(),
    };
    let within = quote_text(&format!("%/{}/%", database.replace('_', "\\_")));
    let files = FILES
        .iter()
        .find_map(|(view, column)| {
            client
                .query_text_rows(&format!(
                    "SELECT {column} FROM information_schema.{view} WHERE {column} LIKE {within}"
                ))
                .ok()
        })
        .unwrap_or_default();
    let files = files.into_iter().filter_map(|row| row.into_iter().next().flatten());
    let folders: BTreeSet<PathBuf> = files.filter_map(|file| Path::new(&file).parent().map(Path::to_owned)).collect();
    (PathBuf::from(database), folders.into_iter().collect())
}

/// What acts on rows of étalon's tables and is not étalon's, which makes no triggers. Checks and computed columns can change no setting.
const ADDED: &str = "SELECT CONCAT('trigger ', trigger_name, ' on ', event_object_table) FROM information_schema.triggers WHERE \
                     event_object_schema = 'etalon' ORDER BY trigger_name";

/// Indexes on étalon's tables.
pub(super) const INDEXES: &str = "SELECT DISTINCT index_name, table_name FROM information_schema.statistics WHERE table_schema = 'etalon' \
                                  AND index_name <> 'PRIMARY' ORDER BY 2, 1";

/// The procedures' texts; empty for one that was altered.
const HELD: &str = "SELECT routine_name, CASE WHEN last_altered = created THEN routine_definition ELSE '' END FROM \
                    information_schema.routines WHERE routine_schema = 'etalon' AND routine_type = 'PROCEDURE'";

/// Lists what others have put on étalon's tables, and the procedures that are no longer its own.
fn list_added_by_others(client: &mut Client) -> Result<String, AskError> {
    let mut added: Vec<String> =
        client.query_text_rows(ADDED)?.into_iter().map(|row| first_columns::<1>(row).concat()).collect();
    let held = client.query_text_rows(&format!("{HELD} AND routine_name IN ({})", procedures::procedure_literals()))?;
    added.extend(procedures::altered_procedures(
        held.into_iter().map(first_columns),
        &Procedures.create_procedures(),
        procedure_body,
    ));
    Ok(if added.is_empty() { "nothing".to_owned() } else { added.join(", ") })
}

/// Cuts a `CREATE PROCEDURE` to its body, which is what the server keeps.
fn procedure_body(text: &str) -> Option<&str> {
    text.find("\nBEGIN").map(|start| &text[start..])
}

/// Columns of `information_schema.statistics` that some releases have alone: whether an index is used, and what it computes.
const OF_SOME_RELEASES: &str = "SELECT GROUP_CONCAT(column_name ORDER BY column_name) FROM information_schema.columns WHERE \
                                table_schema = 'information_schema' AND table_name = 'STATISTICS' AND column_name IN \
                                ('IS_VISIBLE', 'IGNORED', 'EXPRESSION')";

/// A kind of things in a schema.
struct SchemaPart {
    /// Name of its query.
    name: &'static str,
    /// Its table in `information_schema`, and the column there that names the schema.
    table: &'static str,
    schema: &'static str,
    columns: String,
}

impl SchemaPart {
    /// Lists what is read of tables, their columns, indexes, constraints and triggers; then of routines and views.
    fn all(client: &mut Client) -> Result<[SchemaPart; 7], AskError> {
        let more = client.query_first_value(OF_SOME_RELEASES)?;
        let more = if more.is_empty() { String::new() } else { format!(", {more}") };
        let part = |name, table, schema, columns: &str| SchemaPart { name, table, schema, columns: columns.to_owned() };
        let indexes = format!(
            "table_name, index_name, seq_in_index, column_name, sub_part, collation, non_unique, index_type{more}"
        );
        Ok([
            part("b", "tables", "table_schema", "table_name, table_type, engine, create_options"),
            part(
                "c",
                "columns",
                "table_schema",
                "table_name, column_name, column_type, is_nullable, column_default, collation_name",
            ),
            part("i", "statistics", "table_schema", &indexes),
            part("k", "table_constraints", "table_schema", "table_name, constraint_name, constraint_type"),
            part(
                "t",
                "triggers",
                "trigger_schema",
                "trigger_name, event_object_table, event_manipulation, action_statement",
            ),
            part("r", "routines", "routine_schema", "routine_type, routine_name, routine_definition, last_altered"),
            part("v", "views", "table_schema", "table_name, view_definition"),
        ])
    }

    /// Writes the query for their number and a digest of these fields. Rows are put together by XOR, under which equal changes of two
    /// rows would cancel in a CRC.
    fn query(&self, fields: &str, condition: &str) -> String {
        let Self { name, table, columns, schema } = self;
        format!(
            "(SELECT COUNT(*) AS n, COALESCE(BIT_XOR(CAST(CONV(LEFT(SHA1(CONCAT_WS(' ', {fields}, {columns})), 16), 16, 10) AS \
             UNSIGNED)), 0) AS digest FROM information_schema.{table} WHERE {schema} {condition}) {name}"
        )
    }
}

/// Counts indexed columns, triggers, routines and views of all users' databases, with a digest of them and of columns.
fn digest_schemas(client: &mut Client) -> Result<String, AskError> {
    const OF_USERS: &str = "NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys', 'etalon')";
    let tables = SchemaPart::all(client)?.map(|part| part.query(part.schema, OF_USERS));
    client.query_first_value(&format!(
        "SELECT CONCAT(i.n, ' columns of indexes, ', t.n, ' triggers, ', r.n, ' routines, ', v.n, ' views, ', \
         LOWER(HEX(i.digest ^ k.digest ^ t.digest ^ r.digest ^ v.digest ^ b.digest ^ c.digest))) FROM {}",
        tables.join(", ")
    ))
}

/// Counts the tables and indexes of the session's database, with a digest that is equal for equal tables of two databases.
fn digest_definitions(client: &mut Client) -> Result<String, AskError> {
    let [tables, columns, indexes, constraints, triggers, ..] = SchemaPart::all(client)?;
    let parts = [tables, columns, indexes, constraints, triggers]
        .map(|part| part.query(&format!("'{}'", part.table), "= DATABASE()"));
    client.query_first_value(&format!(
        "SELECT CONCAT('tables ', b.n, ', indexes ', (SELECT COUNT(DISTINCT table_name, index_name) FROM \
         information_schema.statistics WHERE table_schema = DATABASE()), ', digest ', LOWER(HEX(b.digest ^ c.digest ^ \
         i.digest ^ k.digest ^ t.digest))) FROM {}",
        parts.join(", ")
    ))
}

/// Lists the engines of the load's tables: the one that étalon's own are made with, and those that they have.
fn table_engines(client: &mut Client, default: &str, tables: Tables) -> Result<Vec<String>, Failure> {
    let of_load = match tables {
        Tables::Own => room::engines_in_use(client),
        Tables::None => client
            .query_text_rows("SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND engine IS NOT NULL")
            .map(|rows| rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect()),
    };
    let mut engines: Vec<String> = of_load.map_err(|error| ask_failure("read the tables' engines", &error))?;
    if engines.is_empty() || tables == Tables::Own {
        engines.push(default.to_owned());
    }
    Ok(engines)
}

/// Reads whether the redo log is on; `None` on a server that always has one.
fn read_redo_log_status(client: &mut Client) -> Result<Option<String>, Failure> {
    let known = query_variables(client, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'")?;
    Ok(known.into_values().next())
}

/// Durability that the weakest of the tables' engines promises.
fn weakest_durability(settings: &BTreeMap<String, String>, engines: &[String], redo_log: Option<&str>) -> Durability {
    let all = engines.iter().map(|engine| engine_durability(engine, settings, redo_log));
    all.min_by_key(|durability| durability.tier).unwrap_or_else(|| engine_durability("unknown", settings, redo_log))
}

/// Durability that an engine promises with these settings.
fn engine_durability(engine: &str, settings: &BTreeMap<String, String>, redo_log: Option<&str>) -> Durability {
    let setting = |name: &str| match name {
        "engine" => Some(engine.to_owned()),
        "innodb_redo_log_enabled" => redo_log.map(str::to_owned),
        "system" => settings.get("version_compile_os").map(|name| durability::os_from_build(name).to_owned()),
        name => settings.get(name).cloned(),
    };
    first_matching_rule(durability::TABLE, setting).to_durability(&list_settings(durability::LISTED, setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_engines_the_weakest_counts_and_a_redo_log_that_is_off_is_seen() {
        use model::DurabilityTier::{Durable, Unsafe};
        let settings: BTreeMap<String, String> = [("innodb_flush_log_at_trx_commit", "1"), ("log_bin", "OFF")]
            .map(|(k, v)| (k.to_owned(), v.to_owned()))
            .into();
        let of = |engines: &[&str], redo_log| {
            let engines: Vec<String> = engines.iter().map(|engine| (*engine).to_owned()).collect();
            weakest_durability(&settings, &engines, redo_log)
        };
        assert_eq!(of(&["InnoDB"], None).tier, Durable);
        assert_eq!(of(&["InnoDB"], Some("ON")).tier, Durable);
        let mixed = of(&["InnoDB", "Aria"], None);
        assert!(mixed.tier == Unsafe && mixed.because.contains("engine=Aria"), "{mixed:?}");
        let without = of(&["InnoDB"], Some("OFF"));
        assert!(without.tier == Unsafe && without.because.contains("REDO_LOG"), "{without:?}");
    }

    #[test]
    fn secrets_are_not_shown_and_places_do_not_tell_servers_apart() {
        assert!(!shown_value("wsrep_sst_auth", "me:hunter2").contains("hunter2"));
        assert_eq!(shown_value("init_connect", ""), "(empty)");
        for name in ["port", "datadir", "socket", "pid_file", "gtid_binlog_pos", "tmpdir", "timestamp", "server_uuid"] {
            assert_eq!(setting_nature(name), Nature::Passing, "{name}");
        }
        for name in ["innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "sql_mode", "query_cache_type"] {
            assert_eq!(setting_nature(name), Nature::Identity, "{name}");
        }
    }
}
