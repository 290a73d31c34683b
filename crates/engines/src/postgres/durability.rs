//! What PostgreSQL's commits promise: <https://www.postgresql.org/docs/current/wal-reliability.html>,
//! <https://www.postgresql.org/docs/current/runtime-config-wal.html> and, of tables that are not logged,
//! <https://www.postgresql.org/docs/current/sql-createtable.html#SQL-CREATETABLE-UNLOGGED>.

use model::DurabilityTier::{Delayed, Durable, Unsafe};
use model::{DurabilityTier, SystemPlan};

use crate::durability::DurabilityRule;
use crate::durability::Is::{NoneOf, OneOf};

/// Settings behind the durability.
pub(super) const LISTED: &[&str] = &["fsync", "full_page_writes", "synchronous_commit", "wal_sync_method"];

/// The first matching row counts. `system` is the server's operating system by its build; `unlogged tables` counts
/// foreign unlogged tables.
pub(super) const TABLE: &[DurabilityRule] = &[
    DurabilityRule {
        when: &[("fsync", OneOf(&["off"]))],
        tier: Unsafe,
        why: "nothing is synced: a power cut can corrupt the database",
    },
    DurabilityRule {
        when: &[("full_page_writes", OneOf(&["off"]))],
        tier: Unsafe,
        why: "a page that a power cut tears cannot be repaired from the log",
    },
    DurabilityRule {
        when: &[("system", OneOf(&["macos"])), ("wal_sync_method", NoneOf(&["fsync_writethrough"]))],
        tier: Unsafe,
        why: "macOS ends a sync when the drive has the data in its cache, which a power cut empties in any order",
    },
    DurabilityRule {
        when: &[("unlogged tables", OneOf(&["all"]))],
        tier: Unsafe,
        why: "the tables are not logged: a crash of the server empties them",
    },
    DurabilityRule {
        when: &[("synchronous_commit", OneOf(&["off"]))],
        tier: Delayed,
        why: "a commit does not wait for the log, which is synced a moment later",
    },
    DurabilityRule {
        when: &[("unlogged tables", OneOf(&["some"]))],
        tier: Durable,
        why: "some of the tables are not logged, and a crash of the server empties them",
    },
    DurabilityRule {
        when: &[("system", OneOf(&["windows"])), ("wal_sync_method", OneOf(&["open_datasync", "open_sync"]))],
        tier: Durable,
        why: "a drive may keep what is written through in its cache, where it is set to; `fsync` and `fdatasync` empty it",
    },
    DurabilityRule { when: &[], tier: Durable, why: "" },
];

/// Finds the durability tier of a private server, which has PostgreSQL's defaults but for the plan's settings.
pub(super) fn planned_tier(system: &SystemPlan) -> DurabilityTier {
    const DEFAULTS: &[(&str, &str)] = &[
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("unlogged tables", "none"),
        ("system", std::env::consts::OS),
    ];
    crate::durability::durability_of_plan(TABLE, DEFAULTS, system)
}

/// Tells the operating system that a server was built for from its `version()`.
pub(super) fn os_of_build(version: &str) -> &'static str {
    if version.contains("apple-darwin") {
        "macos"
    } else if ["Visual C++", "mingw", "msvc", "windows"].iter().any(|mark| version.contains(mark)) {
        "windows"
    } else {
        "another"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_shows_the_table_and_every_row_is_reached() {
        let best = [
            ("fsync", "on"),
            ("full_page_writes", "on"),
            ("synchronous_commit", "on"),
            ("wal_sync_method", "fdatasync"),
            ("unlogged tables", "none"),
            ("system", "another"),
        ];
        crate::durability::tests::walk(TABLE, &best);
    }

    #[test]
    fn a_server_tells_its_system_by_its_build() {
        for (build, system) in [
            ("on aarch64-apple-darwin23.6.0, compiled by Apple clang version 16.0.0", "macos"),
            ("on x86_64-windows, compiled by msvc-19.42.34435", "windows"),
            (", compiled by Visual C++ build 1914", "windows"),
            ("(Debian 17.2-1) on x86_64-pc-linux-gnu, compiled by gcc", "another"),
        ] {
            assert_eq!(os_of_build(&format!("PostgreSQL 17.2 {build}, 64-bit")), system, "{build}");
        }
    }
}
