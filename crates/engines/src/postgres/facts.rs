//! Server facts, settings and durability.

use std::env::consts::OS;
use std::path::PathBuf;

use model::facts::{ADDED_BY_OTHERS, INDEXES_AND_TRIGGERS, LAYER, SETTINGS_READ, TABLE_DEFINITIONS};
use model::{Durability, Facts, Nature};

use super::SCHEMA;
use super::connect::Endpoint;
use super::durability;
use super::order_entry::Procedures;
use super::pooler::Pooler;
use super::url::Address;
use crate::data_place::{DataPlace, hide_value, server_process};
use crate::durability::{first_matching_rule, list_settings};
use crate::isolation::{self, Levels};
use crate::postgres::lane::{AskError, Client};
use crate::server::dialogue::first_columns;
use crate::server::procedures;
use crate::server::refusal::failing_to;
use crate::server::url::Address as _;
use load::error::Failure;
use workloads::dataset::Tables;
use workloads::order_entry::OrderEntryDialect as _;

/// Settings that differ between equal servers, sessions or starts: places, names, session state. Logging counts, since
/// it costs time.
const PASSING: &[&str] = &[
    "application_name",
    "cluster_name",
    "event_source",
    "in_hot_standby",
    "listen_addresses",
    "log_filename",
    "log_timezone",
    "port",
    "primary_slot_name",
    "search_path",
    "shared_memory_size",
    "shared_memory_size_in_huge_pages",
    "syslog_ident",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
];

/// Settings that differ between equal servers, by the ends of their names.
const PASSING_ENDS: &[&str] = &["_file", "_directory", "_directories"];

/// Commands or connection strings that may hold passwords: only whether they are set.
const SECRET: &[&str] = &[
    "archive_cleanup_command",
    "archive_command",
    "primary_conninfo",
    "recovery_end_command",
    "restore_command",
    "ssl_passphrase_command",
];

/// Reads the facts in a session like a run's.
pub(super) fn read_facts(client: &mut Client, endpoint: &Endpoint, tables: Tables) -> Result<Facts, Failure> {
    let address = &endpoint.address;
    let tried = "read the server's facts";
    let mut facts = Facts::default();
    facts.record_identity("server.product", "PostgreSQL");
    let version = client.query_first_value("SELECT pg_catalog.version()").map_err(failing_to(tried))?;
    facts.record_identity("server.version", version.clone());
    facts.entries.extend(read_session_settings(client)?.entries);
    facts.entries.extend(read_instance_facts(client).entries);
    facts.record_identity("server.extensions", client.query_first_value(EXTENSIONS).map_err(failing_to(tried))?);
    // With `jit` on, a server without the compiler silently interprets.
    if let Ok(compiles) = client.query_first_value("SELECT pg_catalog.pg_jit_available()::int") {
        facts.record_identity("server.jit", if compiles == "1" { "compiles" } else { "does not compile" });
    }
    add_database(&mut facts, client).map_err(failing_to(tried))?;
    if durability::os_of_build(&version) == "windows"
        && OS != "windows"
        && is_server_on_this_machine(client, address).map_err(failing_to(tried))?
    {
        let words = format!(
            "the server is built for Windows and runs on this machine, whose system is {OS}: by Wine or a virtual machine, so \
             that its figures are of neither"
        );
        facts.record_identity(LAYER, words);
    }
    facts.record_identity("path.kind", if address.is_socket() { "socket" } else { "tcp" });
    facts.record_passing("path.address", address.shown_url());
    let tls = match &endpoint.pooler {
        None => client.query_first_value(TLS).map_err(failing_to(tried))?,
        // The server reports the pooler's connection.
        Some(_) => client.encryption().unwrap_or_default(),
    };
    facts.record_identity("path.tls", if tls.is_empty() { "off".to_owned() } else { tls });
    if let Some(pooler) = &endpoint.pooler {
        facts.record_identity("path.pooler", pooler.to_string());
    }
    let place = match &endpoint.pooler {
        Some(Pooler { name, .. }) => DataPlace::Elsewhere(format!("{name} does not tell where its server runs")),
        None => find_data_place(client, address).map_err(failing_to(tried))?,
    };
    let schemas = match tables {
        Tables::Own => format!("nspname = '{SCHEMA}'"),
        Tables::None => OTHERS_SCHEMAS.to_owned(),
    };
    let tablespaces = used_tablespaces(client, &schemas).map_err(failing_to(tried))?;
    let database = client.query_first_value(DATABASE_FOLDER).map_err(failing_to(tried))?;
    // The log may be a link to another device, as may the databases, and any file of either.
    let keeping = place.add_data_facts(&mut facts, |data| {
        let folders =
            ["pg_wal", "global", "pg_xact", &*database].map(|folder| data.folder_and_diverted_entries(folder, &[""]));
        folders.into_iter().flatten().chain(tablespaces.iter().map(|path| data.path_from_here(path))).collect()
    });
    place.add_cpu_share(&mut facts);
    if !tablespaces.is_empty() {
        facts.record_passing("data_directory.tablespaces", tablespaces.join(", "));
    }
    let unlogged = client.query_first_value(&format!("{UNLOGGED} AND {schemas}")).map_err(failing_to(tried))?;
    if tables == Tables::None {
        facts.record_identity("database.unlogged_tables", unlogged.clone());
    }
    add_tables(&mut facts, client, tables).map_err(failing_to(tried))?;
    if let Some(level) = facts.get("setting.transaction_isolation").map(str::to_owned) {
        isolation::add_isolation_facts(&mut facts, &level, ISOLATION);
    }
    let durability = place.limit_durability(durability_from_facts(&facts, &version, &unlogged), &keeping);
    facts.set_durability(&durability);
    Ok(facts)
}

/// Reads all settings of a session as facts; secrets are hidden.
pub(super) fn read_session_settings(client: &mut Client) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    for row in client.query_text_rows(SETTINGS).map_err(failing_to("read the server's settings"))? {
        let [Some(name), Some(value)] = &row[..] else { continue };
        facts.insert(format!("setting.{name}"), Ok(shown_value(name, value)), setting_nature(name));
    }
    Ok(facts)
}

/// Adds facts of what the load's tables have besides their columns.
fn add_tables(facts: &mut Facts, client: &mut Client, tables: Tables) -> Result<(), AskError> {
    match tables {
        Tables::Own => facts.record_instance(ADDED_BY_OTHERS, list_added_by_others(client)?),
        Tables::None => {
            facts.record_instance(INDEXES_AND_TRIGGERS, client.query_first_value(SHAPE)?);
            facts.record_passing(TABLE_DEFINITIONS, client.query_first_value(DEFINITIONS)?);
        }
    }
    Ok(())
}

/// Lists what others have put on étalon's tables, and the procedures that are no longer its own.
fn list_added_by_others(client: &mut Client) -> Result<String, AskError> {
    let mut added: Vec<String> = client
        .query_text_rows(&format!("{CALLS} {ADDED}"))?
        .into_iter()
        .map(|row| first_columns::<1>(row).concat())
        .collect();
    let held = client.query_text_rows(&format!("{HELD} AND p.proname IN ({})", procedures::procedure_literals()))?;
    added.extend(procedures::altered_procedures(
        held.into_iter().map(first_columns),
        &Procedures.create_procedures(),
        procedure_body,
    ));
    Ok(if added.is_empty() { "nothing".to_owned() } else { added.join(", ") })
}

/// Finds in a statement that makes a procedure what the server keeps of it.
fn procedure_body(text: &str) -> Option<&str> {
    text.split("$procedure$").nth(1)
}

/// Indexes on étalon's tables.
pub(super) const INDEXES: &str = "SELECT own.relname, c.relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class own ON own.oid = \
                                  i.indexrelid JOIN pg_catalog.pg_class c ON c.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = \
                                  c.relnamespace WHERE n.nspname = 'etalon' AND NOT i.indisprimary ORDER BY 2, 1";

/// The procedures' texts; empty for one that was altered since étalon's schema got its comment, in the transaction in which
/// étalon made them, or that has settings or rights of its own.
const HELD: &str = "SELECT p.proname, CASE WHEN p.proconfig IS NULL AND NOT p.prosecdef AND p.xmin::text = d.xmin::text THEN p.prosrc \
                    ELSE '' END FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace LEFT JOIN \
                    pg_catalog.pg_description d ON d.classoid = 'pg_catalog.pg_namespace'::regclass AND d.objoid = n.oid \
                    WHERE n.nspname = 'etalon'";

/// Reads what tells this server from its standby, or from itself before a restart.
/// What the server does not answer is left out.
pub(super) fn read_instance_facts(client: &mut Client) -> Facts {
    let mut facts = Facts::default();
    for (name, sql) in INSTANCE {
        if let Ok(value) = client.query_first_value(sql) {
            facts.record_instance(name, value);
        }
    }
    facts
}

/// The timeline is that of the log that is written: the control file's changes only with the next checkpoint.
const INSTANCE: [(&str, &str); 6] = [
    ("started", "SELECT pg_catalog.timezone('UTC', pg_catalog.pg_postmaster_start_time())::text"),
    (SETTINGS_READ, "SELECT pg_catalog.timezone('UTC', pg_catalog.pg_conf_load_time())::text"),
    ("system_identifier", "SELECT system_identifier FROM pg_catalog.pg_control_system()"),
    ("in_recovery", "SELECT pg_catalog.pg_is_in_recovery()"),
    // A standby whose replay is paused keeps the rows that it has, whatever its primary gets.
    (
        "replay",
        "SELECT CASE WHEN NOT pg_catalog.pg_is_in_recovery() THEN 'of no primary' WHEN pg_catalog.pg_is_wal_replay_paused() \
         THEN 'paused' ELSE 'running' END",
    ),
    (
        "timeline",
        "SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN 'of its primary' ELSE \
         left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8) END",
    ),
];

/// Read uncommitted is read committed here.
///
/// <https://www.postgresql.org/docs/current/transaction-iso.html>
const ISOLATION: Levels = &[
    ("read uncommitted", EACH_STATEMENT),
    ("read committed", EACH_STATEMENT),
    (
        "repeatable read",
        "that two transactions which change different rows each miss what the other changes; one that would change a row \
         changed meanwhile fails",
    ),
    ("serializable", isolation::NONE),
];

const EACH_STATEMENT: &str = "that each statement sees what was committed before it, so that two of one transaction may see \
                              different rows";

/// The settings as `SHOW` prints them, with units.
const SETTINGS: &str = "SELECT name, pg_catalog.current_setting(name, true) FROM pg_catalog.pg_settings ORDER BY name";

const EXTENSIONS: &str = "SELECT coalesce(pg_catalog.string_agg(extname || ' ' || extversion, ', ' ORDER BY extname), '') \
                          FROM pg_catalog.pg_extension";

/// Properties of the database as JSON, since columns differ between versions.
const DATABASE: &str = "SELECT pg_catalog.pg_encoding_to_char(encoding), \
                        coalesce(j->>'datcollate', ''), coalesce(j->>'datctype', ''), coalesce(j->>'datlocprovider', ''), \
                        datname, pg_catalog.pg_database_size(oid) \
                        FROM (SELECT d.oid, d.encoding, d.datname, pg_catalog.to_jsonb(d) AS j \
                        FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()) AS here";

const TLS: &str = "SELECT version || ' ' || cipher FROM pg_catalog.pg_stat_ssl \
                   WHERE pid = pg_catalog.pg_backend_pid() AND ssl";

/// Tells whether a setting belongs to the server's identity or is passing.
fn setting_nature(name: &str) -> Nature {
    let passing = PASSING.contains(&name)
        || PASSING_ENDS.iter().any(|end| name.ends_with(end))
        || name.starts_with("unix_socket_");
    if passing { Nature::Passing } else { Nature::Identity }
}

/// Returns a setting's value, hidden where it may be a secret.
fn shown_value(name: &str, value: &str) -> String {
    let speaks_of_secrets = ["passphrase", "secret", "token", "conninfo"].iter().any(|word| name.contains(word))
        || (name.contains("password") && name != "password_encryption");
    if !(SECRET.contains(&name) || speaks_of_secrets) {
        return value.to_owned();
    }
    hide_value(value)
}

/// Finds the folder of the server's data and the server's process, or why it is not within reach.
pub(super) fn find_data_place(client: &mut Client, address: &Address) -> Result<DataPlace, AskError> {
    let folder = match client.query_first_value("SELECT pg_catalog.current_setting('data_directory', true)") {
        Ok(folder) => Some(folder),
        Err(error) if error.sql_state() == INSUFFICIENT_PRIVILEGE => None,
        // A stopping server refuses with another error.
        Err(error) => return Err(error),
    };
    if !is_server_on_this_machine(client, address)? {
        return Ok(DataPlace::elsewhere_on_other_machine());
    }
    let named = client.query_first_value("SELECT pg_catalog.pg_backend_pid()")?.parse().ok();
    let process = server_process(&address.listener(), named);
    let folder = folder.filter(|folder| !folder.is_empty()).map(PathBuf::from);
    Ok(match folder.or_else(|| working_data_folder(process?)) {
        Some(folder) => DataPlace::of_local_folder(folder, process),
        None => DataPlace::Elsewhere(MAY_NOT_READ.to_owned()),
    })
}

const MAY_NOT_READ: &str = "the role may not read `data_directory`; `GRANT pg_read_all_settings TO …` lets it";

/// Finds the working folder of a server's process, if it is a data folder.
fn working_data_folder(process: u32) -> Option<PathBuf> {
    let folder = host::disk::working_folder(process)?;
    host::disk::seen_by(process, &folder.join("PG_VERSION")).is_file().then_some(folder)
}

/// The folder of the session's database, where it is in no tablespace.
const DATABASE_FOLDER: &str =
    "SELECT 'base/' || oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()";

/// Tests whether the server is on this machine; a container's has another address from outside.
fn is_server_on_this_machine(client: &mut Client, address: &Address) -> Result<bool, AskError> {
    let same = "SELECT pg_catalog.inet_server_addr() IS NOT DISTINCT FROM pg_catalog.inet_client_addr()";
    Ok(address.is_socket() || client.query_first_value(same)? == "t")
}

const INSUFFICIENT_PRIVILEGE: &str = "42501";

/// Tables that are not logged.
const UNLOGGED: &str = "SELECT CASE count(*) FILTER (WHERE relpersistence = 'u') WHEN 0 THEN 'none' WHEN count(*) THEN 'all' \
                        ELSE 'some' END FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                        WHERE relkind IN ('r', 'm') AND relpersistence <> 't'";

/// Folders of the tablespaces in which the database is, new tables are made, and tables or indexes of certain schemas are.
const TABLESPACES: &str = "SELECT DISTINCT pg_catalog.pg_tablespace_location(t.oid) FROM pg_catalog.pg_tablespace t WHERE \
                           pg_catalog.pg_tablespace_location(t.oid) <> '' AND (t.spcname = \
                           pg_catalog.current_setting('default_tablespace') OR t.oid = (SELECT dattablespace FROM \
                           pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) OR EXISTS (SELECT FROM \
                           pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.reltablespace = \
                           t.oid AND c.relpersistence <> 't'";

/// Lists folders of the tablespaces that the database, its default or the tables of these schemas use.
fn used_tablespaces(client: &mut Client, schemas: &str) -> Result<Vec<String>, AskError> {
    let rows = client.query_text_rows(&format!("{TABLESPACES} AND {schemas}))"))?;
    Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

const OTHERS_SCHEMAS: &str = "nspname <> 'information_schema' AND nspname NOT LIKE 'pg\\_%'";

/// What acts on rows of étalon's tables and is not étalon's: triggers, rules, policies, and checks, defaults, indexes and types of
/// columns that call a function. The tables of a user's own script may have checks, defaults and types, which call none that can
/// change a setting.
const ADDED: &str = "SELECT DISTINCT what || ' on ' || relname FROM \
                     (SELECT tgrelid AS of, 'trigger ' || tgname AS what FROM pg_catalog.pg_trigger WHERE NOT tgisinternal UNION ALL \
                     SELECT ev_class, 'rule ' || rulename FROM pg_catalog.pg_rewrite WHERE rulename <> '_RETURN' UNION ALL \
                     SELECT polrelid, 'policy ' || polname FROM pg_catalog.pg_policy UNION ALL \
                     SELECT oid, 'row security' FROM pg_catalog.pg_class WHERE relrowsecurity UNION ALL \
                     SELECT conrelid, 'check ' || conname FROM pg_catalog.pg_constraint c WHERE contype = 'c' AND \
                     (pg_catalog.pg_get_constraintdef(oid) LIKE '%set_config%' OR EXISTS (SELECT FROM calls \
                     WHERE classid = 'pg_catalog.pg_constraint'::regclass AND objid = c.oid)) UNION ALL \
                     SELECT adrelid, 'default ' || adnum FROM pg_catalog.pg_attrdef d WHERE \
                     pg_catalog.pg_get_expr(adbin, adrelid) LIKE '%set_config%' OR EXISTS (SELECT FROM calls \
                     WHERE classid = 'pg_catalog.pg_attrdef'::regclass AND objid = d.oid) UNION ALL \
                     SELECT indrelid, 'index ' || relname FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class own ON own.oid = indexrelid \
                     WHERE EXISTS (SELECT FROM calls WHERE classid = 'pg_catalog.pg_class'::regclass AND objid = indexrelid) UNION ALL \
                     SELECT types.of, 'domain ' || typname FROM types JOIN pg_catalog.pg_type t ON t.oid = types.type WHERE \
                     t.typdefault LIKE '%set_config%' OR EXISTS (SELECT FROM calls WHERE classid = 'pg_catalog.pg_type'::regclass AND \
                     objid = t.oid AND typtype = 'd') UNION ALL \
                     SELECT types.of, 'check ' || conname FROM types JOIN pg_catalog.pg_constraint c ON c.contypid = types.type WHERE \
                     pg_catalog.pg_get_constraintdef(c.oid) LIKE '%set_config%' OR EXISTS (SELECT FROM calls \
                     WHERE classid = 'pg_catalog.pg_constraint'::regclass AND objid = c.oid) UNION ALL \
                     SELECT types.of, 'cast from ' || castsource::regtype FROM types JOIN pg_catalog.pg_cast c ON c.casttarget = types.type \
                     WHERE EXISTS (SELECT FROM calls WHERE classid = 'pg_catalog.pg_cast'::regclass AND objid = c.oid) AND NOT EXISTS \
                     (SELECT FROM pg_catalog.pg_depend m WHERE m.classid = 'pg_catalog.pg_cast'::regclass AND m.objid = c.oid AND \
                     m.deptype = 'e')) AS found \
                     JOIN pg_catalog.pg_class c ON c.oid = found.of JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                     WHERE nspname = 'etalon' ORDER BY 1";

/// Things that depend on functions or operators that users made, for the server does not record those of its own; and the types of
/// the columns of étalon's tables, with those that they are made of.
const CALLS: &str = "WITH RECURSIVE calls AS (SELECT classid, objid FROM pg_catalog.pg_depend WHERE refclassid IN \
                     ('pg_catalog.pg_proc'::regclass, 'pg_catalog.pg_operator'::regclass)), types AS (SELECT c.oid AS of, \
                     a.atttypid AS type FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN \
                     pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'etalon' AND c.relkind IN ('r', 'p') AND \
                     a.attnum > 0 AND NOT a.attisdropped UNION SELECT types.of, part.type FROM types JOIN pg_catalog.pg_type t ON \
                     t.oid = types.type, LATERAL (SELECT t.typbasetype AS type UNION ALL SELECT t.typelem UNION ALL \
                     SELECT atttypid FROM pg_catalog.pg_attribute WHERE attrelid = t.typrelid AND t.typrelid <> 0 AND attnum > 0) part \
                     WHERE part.type <> 0)";

/// How many indexes and triggers users' tables have, and how many functions and views users have made, and a digest of what they, the
/// tables' columns, options, places, statistics, rules, policies, defaults and constraints, foreign servers and publications are.
const SHAPE: &str = "SELECT count(*) FILTER (WHERE kind = 'index') || ' indexes, ' || count(*) FILTER (WHERE kind = 'trigger') || \
                     ' triggers, ' || count(*) FILTER (WHERE kind = 'function') || ' functions, ' || \
                     count(*) FILTER (WHERE kind = 'view') || ' views, ' || left(pg_catalog.md5(coalesce(pg_catalog.string_agg(what, ',' ORDER BY what), '')), 8) FROM \
                     (SELECT 'index' AS kind, pg_catalog.concat_ws(' ', indrelid, c.relname, indkey, indclass, indisunique, indisvalid) AS what \
                     FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indrelid WHERE i.indexrelid >= 16384 AND \
                     c.relpersistence <> 't' AND c.relkind <> 't' UNION ALL SELECT 'trigger', pg_catalog.concat_ws(' ', tgrelid, tgname, \
                     tgfoid, tgenabled) FROM pg_catalog.pg_trigger WHERE NOT tgisinternal UNION ALL \
                     SELECT 'rule', pg_catalog.concat_ws(' ', ev_class, rulename, ev_enabled, ev_action) FROM pg_catalog.pg_rewrite \
                     WHERE oid >= 16384 AND rulename <> '_RETURN' UNION ALL \
                     SELECT 'function', pg_catalog.concat_ws(' ', oid, prosrc, probin, provolatile, proconfig) FROM pg_catalog.pg_proc \
                     WHERE oid >= 16384 UNION ALL \
                     SELECT 'view', pg_catalog.concat_ws(' ', ev_class, ev_action) FROM pg_catalog.pg_rewrite WHERE oid >= 16384 AND \
                     rulename = '_RETURN' UNION ALL \
                     SELECT 'table', pg_catalog.concat_ws(' ', nspname, relname, relpersistence, reltablespace, reloptions) FROM \
                     pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid >= 16384 AND \
                     relkind IN ('r', 'p', 'm') AND relpersistence <> 't' UNION ALL \
                     SELECT 'column', pg_catalog.concat_ws(' ', relname, attname, atttypid, atttypmod, attnotnull, attcollation, \
                     attstorage) FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = attrelid WHERE c.oid >= 16384 \
                     AND relkind IN ('r', 'p', 'm') AND relpersistence <> 't' AND attnum > 0 AND NOT attisdropped UNION ALL \
                     SELECT 'policy', pg_catalog.concat_ws(' ', polrelid, polname, polcmd, polqual, polwithcheck) FROM \
                     pg_catalog.pg_policy UNION ALL \
                     SELECT 'row security', oid::text FROM pg_catalog.pg_class WHERE relrowsecurity UNION ALL \
                     SELECT 'default', pg_catalog.concat_ws(' ', adrelid, adnum, adbin) FROM pg_catalog.pg_attrdef WHERE oid >= 16384 \
                     UNION ALL \
                     SELECT 'constraint', pg_catalog.concat_ws(' ', conrelid, conname, conbin, confrelid, confupdtype, confdeltype) FROM \
                     pg_catalog.pg_constraint WHERE contype IN ('c', 'f') AND oid >= 16384 UNION ALL \
                     SELECT 'server', pg_catalog.concat_ws(' ', srvname, srvtype, srvversion, srvoptions) FROM \
                     pg_catalog.pg_foreign_server UNION ALL \
                     SELECT 'foreign table', pg_catalog.concat_ws(' ', ftrelid, ftserver, ftoptions) FROM pg_catalog.pg_foreign_table \
                     UNION ALL \
                     SELECT 'place', pg_catalog.concat_ws(' ', nspname, relname, reltablespace, relreplident, reloptions) FROM \
                     pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid >= 16384 AND \
                     relkind IN ('r', 'i', 'I', 'p', 'm') AND relpersistence <> 't' UNION ALL \
                     SELECT 'statistics', pg_catalog.concat_ws(' ', stxrelid, stxname, stxkeys, stxkind) FROM pg_catalog.pg_statistic_ext UNION ALL \
                     SELECT 'target', pg_catalog.concat_ws(' ', attrelid, attnum, attstattarget) FROM pg_catalog.pg_attribute JOIN \
                     pg_catalog.pg_class c ON c.oid = attrelid WHERE attrelid >= 16384 AND relpersistence <> 't' AND attnum > 0 AND attstattarget >= 0 UNION ALL \
                     SELECT 'publication', pg_catalog.concat_ws(' ', pubname, puballtables) FROM pg_catalog.pg_publication) AS found";

/// Counts users' tables and indexes, with a digest of most of what defines them, equal for equal tables of two servers.
const DEFINITIONS: &str = "SELECT 'tables ' || count(*) FILTER (WHERE kind = 'table') || ', indexes ' || \
                           count(*) FILTER (WHERE kind = 'index') || ', digest ' || \
                           left(pg_catalog.md5(coalesce(pg_catalog.string_agg(what, ',' ORDER BY what COLLATE \"C\"), '')), 8) FROM \
                           (WITH tables AS (SELECT c.oid, nspname || '.' || relname AS name, relkind, relpersistence, reloptions FROM \
                           pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid >= 16384 AND \
                           relkind IN ('r', 'p', 'm', 'v') AND relpersistence <> 't' AND nspname <> 'etalon' AND NOT EXISTS (SELECT FROM \
                           pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_class'::regclass AND d.objid = c.oid AND \
                           d.deptype = 'e')) \
                           SELECT CASE relkind WHEN 'v' THEN 'view' ELSE 'table' END AS kind, pg_catalog.concat_ws(' ', name, relkind, \
                           relpersistence, reloptions, CASE WHEN relkind IN ('v', 'm') THEN pg_catalog.pg_get_viewdef(oid) END) AS what \
                           FROM tables UNION ALL \
                           SELECT 'column', pg_catalog.concat_ws(' ', name, attname, pg_catalog.format_type(atttypid, atttypmod), \
                           attnotnull, attcollation) FROM pg_catalog.pg_attribute JOIN tables ON tables.oid = attrelid WHERE attnum > 0 AND \
                           NOT attisdropped UNION ALL \
                           SELECT 'constraint', pg_catalog.concat_ws(' ', name, conname, pg_catalog.pg_get_constraintdef(k.oid)) FROM \
                           pg_catalog.pg_constraint k JOIN tables ON tables.oid = conrelid WHERE contype IN ('c', 'f') UNION ALL \
                           SELECT 'index', pg_catalog.concat_ws(' ', pg_catalog.pg_get_indexdef(indexrelid), indisvalid) FROM \
                           pg_catalog.pg_index JOIN tables ON tables.oid = indrelid UNION ALL \
                           SELECT 'trigger', pg_catalog.concat_ws(' ', pg_catalog.pg_get_triggerdef(t.oid), tgenabled) FROM \
                           pg_catalog.pg_trigger t JOIN tables ON tables.oid = tgrelid WHERE NOT tgisinternal) AS found";

/// Adds facts of the session's database.
fn add_database(facts: &mut Facts, client: &mut Client) -> Result<(), AskError> {
    for row in client.query_text_rows(DATABASE)? {
        let [encoding, collation, character_type, locale_provider, name, size_bytes] = first_columns(row);
        facts.record_identity("database.encoding", encoding);
        facts.record_identity("database.collation", collation);
        facts.record_identity("database.character_type", character_type);
        facts.record_identity("database.locale_provider", locale_provider);
        facts.record_passing("database.name", name);
        facts.record_passing("database.size_bytes", size_bytes);
    }
    // They may change whatever étalon makes.
    facts.record_identity("database.event_triggers", client.query_first_value(EVENT_TRIGGERS)?);
    Ok(())
}

/// <https://www.postgresql.org/docs/current/catalog-pg-event-trigger.html>
const EVENT_TRIGGERS: &str = "SELECT coalesce(pg_catalog.string_agg(evtname, ', ' ORDER BY evtname), 'none') FROM \
                              pg_catalog.pg_event_trigger WHERE evtenabled <> 'D'";

/// Finds the durability that a commit has by these facts.
fn durability_from_facts(facts: &Facts, version: &str, unlogged: &str) -> Durability {
    let setting = |name: &str| match name {
        "system" => Some(durability::os_of_build(version).to_owned()),
        "unlogged tables" => Some(unlogged.to_owned()),
        name => facts.get(&format!("setting.{name}")).map(str::to_owned),
    };
    first_matching_rule(durability::TABLE, setting).to_durability(&list_settings(durability::LISTED, setting))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_not_shown_and_places_do_not_tell_servers_apart() {
        assert!(!shown_value("primary_conninfo", "host=x password=hunter2").contains("hunter2"));
        assert!(!shown_value("some_ext.api_token", "hunter2").contains("hunter2"));
        assert_eq!(shown_value("password_encryption", "scram-sha-256"), "scram-sha-256");
        for name in ["port", "data_directory", "unix_socket_directories", "log_directory", "transaction_read_only"] {
            assert_eq!(setting_nature(name), Nature::Passing, "{name}");
        }
        for name in ["fsync", "shared_buffers", "wal_level", "log_statement", "transaction_timeout"] {
            assert_eq!(setting_nature(name), Nature::Identity, "{name}");
        }
    }
}
