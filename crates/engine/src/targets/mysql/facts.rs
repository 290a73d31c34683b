//! What a server is, how it is set, and what its commits promise.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use model::{Durability, DurabilityTier, Facts, Nature};
use wire::mysql::Flavor;

use super::SCHEMA;
use super::connect::{Endpoint, failure};
use super::counters;
use super::url::Place;
use crate::error::Failure;
use crate::lanes::mysql::Client;
use crate::targets::data_place::{Backing, DataPlace, hidden};

/// Settings that differ between two servers that are alike, or between two sessions or starts of one: where things are
/// and what they are called, how a session stands. What is logged is not among them: it costs time.
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

/// And by the beginnings and the ends of their names.
const PASSING_BEGINNINGS: &[&str] = &["gtid_", "wsrep_node_", "admin_", "mysqlx_", "pseudo_"];
const PASSING_ENDS: &[&str] = &["_file", "_dir", "_directory", "_dir_path", "dir", "_path", "_logname"];

/// Reads the facts over a session that is set as those of a trial.
pub(super) fn read(client: &mut Client, endpoint: &Endpoint) -> Result<Facts, Failure> {
    let mut facts = Facts::default();
    let settings = counters::settings(client)?;
    let setting = |name: &str| settings.get(name).cloned().unwrap_or_default();
    facts.identity("server.product", product(client.session.flavor(), &setting("version_comment")));
    facts.identity("server.version", format!("{} ({})", setting("version"), setting("version_comment")));
    for (name, value) in &settings {
        facts.insert(format!("setting.{name}"), Ok(shown(name, value)), nature(name));
    }
    facts.identity("database.engine", setting("default_storage_engine"));
    add_database(&mut facts, client)?;
    facts.passing("database.name", SCHEMA);
    facts.identity("path.kind", if endpoint.address.is_socket() { "socket" } else { "tcp" });
    facts.passing("path.address", endpoint.address.shown());
    facts.identity("path.tls", client.encryption().unwrap_or_else(|| "off".to_owned()));
    facts.identity("path.login", client.session.authentication());
    let caches = if client.session.caches_metadata() { "cached" } else { "sent with every result" };
    facts.identity("path.metadata", caches);
    let place = data_place(&settings, endpoint);
    let log =
        |data: &Path| Some(settings.get("innodb_log_group_home_dir").map_or(data.to_owned(), |log| data.join(log)));
    let backing = place.add_to(&mut facts, log);
    facts.set_durability(&durability(&settings, &place, backing));
    Ok(facts)
}

fn product(flavor: Flavor, comment: &str) -> &'static str {
    match flavor {
        Flavor::MariaDb => "MariaDB",
        Flavor::MySql if comment.contains("Percona") => "Percona Server",
        Flavor::MySql => "MySQL",
    }
}

/// The character set of étalon's database: that of a database that is made now, until it is made.
fn add_database(facts: &mut Facts, client: &mut Client) -> Result<(), Failure> {
    let sql = format!(
        "SELECT default_character_set_name, default_collation_name FROM information_schema.schemata WHERE schema_name = \
         '{SCHEMA}' UNION ALL SELECT @@GLOBAL.character_set_server, @@GLOBAL.collation_server"
    );
    let rows = client.rows(&sql).map_err(|error| failure("read the server's facts", &error))?;
    let mut row = rows.into_iter().next().unwrap_or_default().into_iter().map(Option::unwrap_or_default);
    facts.identity("database.encoding", row.next().unwrap_or_default());
    facts.identity("database.collation", row.next().unwrap_or_default());
    Ok(())
}

fn nature(name: &str) -> Nature {
    let passing = PASSING.contains(&name)
        || PASSING_BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || PASSING_ENDS.iter().any(|end| name.ends_with(end));
    if passing { Nature::Passing } else { Nature::Identity }
}

fn shown(name: &str, value: &str) -> String {
    let may_be_secret = ["init_connect", "init_slave", "init_replica", "wsrep_sst_auth", "report_password"]
        .contains(&name)
        || name.ends_with("_secret")
        || name.ends_with("_filekey")
        || name.contains("token")
        || name.contains("provider_options");
    if may_be_secret { hidden(value) } else { value.to_owned() }
}

/// Where the data is, if it is on this machine and may be looked at.
fn data_place(settings: &BTreeMap<String, String>, endpoint: &Endpoint) -> DataPlace {
    let Some(folder) = settings.get("datadir").filter(|folder| !folder.is_empty()).map(PathBuf::from) else {
        return DataPlace::Elsewhere("the server does not say where its data is".to_owned());
    };
    // A server in a container has a port on this machine, but not its socket.
    let socket = settings.get("socket").map(PathBuf::from).unwrap_or_default();
    let here = match &endpoint.address.place {
        Place::Socket(_) => true,
        Place::Tcp { .. } => endpoint.is_local() && (socket.exists() || folder.join(socket).exists()),
    };
    if here { DataPlace::here(folder) } else { DataPlace::on_another_machine() }
}

/// What a commit promises. <https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html>,
/// <https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html#sysvar_sync_binlog>,
/// <https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables>
fn durability(settings: &BTreeMap<String, String>, place: &DataPlace, backing: Backing) -> Durability {
    let setting = |name: &str| settings.get(name).map_or("unknown", String::as_str);
    let names = [
        "default_storage_engine",
        "innodb_flush_log_at_trx_commit",
        "innodb_doublewrite",
        "innodb_flush_method",
        "log_bin",
        "sync_binlog",
    ];
    let listed: Vec<String> = names.iter().map(|name| format!("{name}={}", setting(name))).collect();
    let mut because = listed.join(", ");
    let off = |name: &str| ["off", "0", "false"].contains(&setting(name).to_ascii_lowercase().as_str());
    let engine = setting("default_storage_engine").to_ascii_lowercase();
    let torn = off("innodb_doublewrite") || setting("innodb_doublewrite").eq_ignore_ascii_case("detect_only");
    let unsynced = ["nosync", "littlesync"].contains(&setting("innodb_flush_method").to_ascii_lowercase().as_str());
    let logs = setting("log_bin").eq_ignore_ascii_case("on") && !off("sql_log_bin");
    let tier = if backing == Backing::Memory || engine == "memory" {
        because.push_str(if engine == "memory" { ", tables in memory" } else { ", on a file system in memory" });
        DurabilityTier::Memory
    } else if engine != "innodb" {
        because.push_str(": the engine's tables promise nothing that étalon knows of");
        DurabilityTier::Unsafe
    } else if unsynced {
        DurabilityTier::Unsafe
    } else if torn {
        // A page that a power cut tears cannot be mended from the log.
        because.push_str(": a torn page cannot be mended");
        DurabilityTier::Unsafe
    } else if ["0", "2"].contains(&setting("innodb_flush_log_at_trx_commit")) {
        DurabilityTier::Delayed
    } else if logs && setting("sync_binlog") != "1" {
        // What is not in the binary log after a power cut is rolled back by the recovery.
        because.push_str(": a commit that the binary log lost is rolled back");
        DurabilityTier::Delayed
    } else {
        DurabilityTier::Durable
    };
    place.durability(tier, because)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tier(changes: &[(&str, &str)], backing: Backing) -> DurabilityTier {
        let mut settings = BTreeMap::new();
        let all = [
            ("default_storage_engine", "InnoDB"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("innodb_flush_method", "O_DIRECT"),
            ("log_bin", "OFF"),
            ("sync_binlog", "0"),
        ];
        for (name, value) in all.iter().chain(changes) {
            settings.insert((*name).to_owned(), (*value).to_owned());
        }
        durability(&settings, &DataPlace::Here(PathBuf::from("/")), backing).tier
    }

    #[test]
    fn tiers_follow_from_the_settings() {
        use DurabilityTier::{Delayed, Durable, Memory, Unsafe};
        assert_eq!(tier(&[], Backing::Disk), Durable);
        assert_eq!(tier(&[("innodb_flush_log_at_trx_commit", "3")], Backing::Unknown), Durable);
        for value in ["0", "2"] {
            assert_eq!(tier(&[("innodb_flush_log_at_trx_commit", value)], Backing::Disk), Delayed);
        }
        assert_eq!(tier(&[("log_bin", "ON")], Backing::Disk), Delayed);
        assert_eq!(tier(&[("log_bin", "ON"), ("sync_binlog", "1")], Backing::Disk), Durable);
        assert_eq!(tier(&[("log_bin", "ON"), ("sql_log_bin", "OFF")], Backing::Disk), Durable);
        assert_eq!(tier(&[("innodb_doublewrite", "OFF")], Backing::Disk), Unsafe);
        assert_eq!(tier(&[("innodb_doublewrite", "DETECT_ONLY")], Backing::Disk), Unsafe);
        assert_eq!(tier(&[("innodb_flush_method", "nosync")], Backing::Disk), Unsafe);
        assert_eq!(tier(&[("default_storage_engine", "MyISAM")], Backing::Disk), Unsafe);
        assert_eq!(tier(&[("default_storage_engine", "MEMORY")], Backing::Disk), Memory);
        assert_eq!(tier(&[("innodb_doublewrite", "OFF")], Backing::Memory), Memory);
    }

    #[test]
    fn secrets_are_not_shown_and_places_do_not_tell_servers_apart() {
        assert!(!shown("wsrep_sst_auth", "me:hunter2").contains("hunter2"));
        assert_eq!(shown("init_connect", ""), "(empty)");
        for name in ["port", "datadir", "socket", "pid_file", "gtid_binlog_pos", "tmpdir", "timestamp", "server_uuid"] {
            assert_eq!(nature(name), Nature::Passing, "{name}");
        }
        for name in ["innodb_flush_log_at_trx_commit", "innodb_buffer_pool_size", "sql_mode", "query_cache_type"] {
            assert_eq!(nature(name), Nature::Identity, "{name}");
        }
    }
}
