//! What the commits of MySQL and MariaDB promise: <https://dev.mysql.com/doc/refman/8.4/en/innodb-parameters.html>,
//! <https://dev.mysql.com/doc/refman/8.4/en/innodb-redo-log.html#innodb-disable-redo-logging>,
//! <https://dev.mysql.com/doc/refman/8.4/en/replication-options-binary-log.html#sysvar_sync_binlog>,
//! <https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables>, and of the value `fast`
//! <https://github.com/MariaDB/server/pull/3091>. On macOS InnoDB syncs by `fsync`, and no longer by
//! `F_FULLFSYNC` as it once did: `os_file_fsync_posix` of MySQL 8.0 and `os_file_sync_posix` of MariaDB, in `os0file.cc`.

use model::DurabilityTier::{Delayed, Durable, Memory, Unsafe};
use model::{DurabilityTier, SystemPlan};

use crate::durability::DurabilityRule;
use crate::durability::Is::{NoneOf, OneOf};

/// Settings behind the durability.
pub(super) const LISTED: &[&str] = &[
    "engine",
    "innodb_flush_log_at_trx_commit",
    "innodb_doublewrite",
    "innodb_flush_method",
    "log_bin",
    "sync_binlog",
];

/// The first matching row counts. `system` is the server's operating system by its build; `engine` is the tables'; `innodb_redo_log_enabled` is a status variable.
pub(super) const TABLE: &[DurabilityRule] = &[
    DurabilityRule { when: &[("engine", OneOf(&["memory"]))], tier: Memory, why: "the tables are in memory" },
    DurabilityRule {
        when: &[("engine", OneOf(&["aria", "csv", "myisam"]))],
        tier: Unsafe,
        why: "it has no transactions: a crash of the server can leave a half of one",
    },
    DurabilityRule {
        when: &[("engine", NoneOf(&["innodb"]))],
        tier: Unsafe,
        why: "the engine's tables promise nothing that étalon knows of",
    },
    DurabilityRule {
        when: &[("innodb_redo_log_enabled", OneOf(&["off"]))],
        tier: Unsafe,
        why: "there is no redo log (`ALTER INSTANCE DISABLE INNODB REDO_LOG`): after a crash the server does not start",
    },
    DurabilityRule {
        when: &[("innodb_flush_method", OneOf(&["nosync", "littlesync"]))],
        tier: Unsafe,
        why: "files are not synced, or not always: a power cut can corrupt the database",
    },
    DurabilityRule {
        when: &[("system", OneOf(&["macos"]))],
        tier: Unsafe,
        why: "macOS ends a sync when the drive has the data in its cache, which a power cut empties in any order",
    },
    DurabilityRule {
        when: &[("innodb_doublewrite", OneOf(&["off", "0", "false", "detect_only"]))],
        tier: Unsafe,
        why: "a page that a power cut tears cannot be repaired from the log",
    },
    DurabilityRule {
        when: &[("innodb_flush_log_at_trx_commit", OneOf(&["0"]))],
        tier: Delayed,
        why: "the log is written and synced once a second: even a crash of the server loses commits",
    },
    DurabilityRule {
        when: &[("innodb_flush_log_at_trx_commit", OneOf(&["2"]))],
        tier: Delayed,
        why: "the log is written at each commit, and synced once a second",
    },
    DurabilityRule {
        when: &[
            ("log_bin", OneOf(&["on", "1"])),
            ("sql_log_bin", NoneOf(&["off", "0"])),
            ("sync_binlog", NoneOf(&["1"])),
        ],
        tier: Delayed,
        why: "a commit that the binary log lost is rolled back by the recovery",
    },
    DurabilityRule {
        when: &[("innodb_flush_method", OneOf(&["o_direct_no_fsync"]))],
        tier: Durable,
        why: "data files are not always synced, and a power cut loses what is in a volatile cache of a device other than the log's",
    },
    DurabilityRule {
        when: &[("innodb_doublewrite", OneOf(&["fast"]))],
        tier: Durable,
        why: "data files are not synced, and a power cut loses what is in a volatile cache of a device other than the log's",
    },
    DurabilityRule { when: &[], tier: Durable, why: "" },
];

/// Finds the durability of a private server by the plan's settings and the product's defaults.
/// `None` where products differ.
pub(super) fn tier_of_plan(system: &SystemPlan) -> Option<DurabilityTier> {
    const DEFAULTS: &[(&str, &str)] = &[
        ("engine", "innodb"),
        ("innodb_flush_log_at_trx_commit", "1"),
        ("innodb_doublewrite", "on"),
        ("innodb_flush_method", "o_direct"),
        ("sync_binlog", "1"),
        ("system", std::env::consts::OS),
    ];
    let differ = ["log_bin", "default_storage_engine"];
    if system.settings.keys().any(|key| differ.iter().any(|name| key.eq_ignore_ascii_case(name))) {
        return None;
    }
    Some(crate::durability::durability_of_plan(TABLE, DEFAULTS, system))
}

/// Reads the operating system from `version_compile_os`: `macos`, which has had several names, or `another`.
pub(super) fn os_from_build(compiled_for: &str) -> &'static str {
    let name = compiled_for.to_ascii_lowercase();
    if ["macos", "osx", "darwin"].iter().any(|apple| name.contains(apple)) { "macos" } else { "another" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_the_table_and_every_row_is_reached() {
        let best = [
            ("engine", "InnoDB"),
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_doublewrite", "ON"),
            ("innodb_flush_method", "O_DIRECT"),
            ("log_bin", "OFF"),
            ("sql_log_bin", "ON"),
            ("sync_binlog", "0"),
            ("system", "another"),
        ];
        crate::durability::tests::walk(TABLE, &best);
    }

    #[test]
    fn a_server_tells_its_system_by_what_it_was_compiled_for() {
        assert_eq!(["macos14", "osx10.20", "Darwin"].map(os_from_build), ["macos"; 3]);
        assert_eq!(["Linux", "debian-linux-gnu", "Win64", ""].map(os_from_build), ["another"; 4]);
    }
}
