//! The table of what other tools call a verb, and what étalon has in its place.

use super::words::BACKUPS;

/// What a verb of other tools is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A verb of étalon's, with the same words.
    Verb(&'static str),
    /// `run` with several numbers of clients, and `capacity`.
    Steps,
    /// `run` with the plan `backup-compression` on the systems.
    Backup,
    /// `run` with a built-in plan on the systems.
    Plan(&'static str),
    /// `run` of one system under two settings, or before and after a change.
    States,
    /// `run`, then `gate`.
    Ci,
    /// `compare`, of other files after `import`.
    Compare,
    /// `list` of the folder.
    List,
    /// `--version`.
    Version,
    /// There is nothing of the kind.
    Nothing,
}

/// Verbs of other tools, with their meaning and what to know about it.
pub const VERBS: &[(&[&str], Meaning, &str)] = &[
    (
        &["replay", "record"],
        Meaning::Nothing,
        "`etalon capture LOG -o shop.capture` reads a server's log, and `etalon run A_URL B_URL shop.capture` replays it on both",
    ),
    (
        &[
            "bench",
            "benchmark",
            "test",
            "start",
            "prepare",
            "measure",
            "perf",
            "ab",
            "sql",
            "setting",
            "settings",
            "tune",
            "script",
        ],
        Meaning::Verb("run"),
        "`etalon run` measures",
    ),
    (
        &["sweep", "ramp", "scale", "stress", "find-max", "max", "find-capacity", "max-clients"],
        Meaning::Steps,
        "`etalon run --clients` measures each number of clients, `etalon capacity` looks for the most",
    ),
    (
        &["disk", "fio", "io", "storage", "iops"],
        Meaning::Verb("run"),
        "`etalon run` measures the disks that folders are on",
    ),
    (
        &[
            "backup",
            "dump",
            "restore",
            "compress",
            "compression",
            "pg_dump",
            "pg_dumpall",
            "pg_restore",
            "pg_basebackup",
            "mysqldump",
            "mariadb-dump",
            "mariadb-backup",
            "xtrabackup",
            "pgbackrest",
        ],
        Meaning::Backup,
        BACKUPS,
    ),
    (
        &["tpcc", "tpc-c", "tprocc", "tproc-c", "hammerdb"],
        Meaning::Plan("order-entry"),
        "the plan `order-entry` enters orders of warehouses, as TPC-C does: `--set 'benchmarks.*.warehouses=10'` says of how many",
    ),
    (
        &["tpch", "tpc-h", "tproch", "tproc-h"],
        Meaning::Plan("analytics"),
        "the plan `analytics` times 22 queries on eight tables, as TPC-H does: `--set 'benchmarks.*.scale=1'` says how large",
    ),
    (&["query"], Meaning::Verb("run"), "`etalon run` times each query of a folder"),
    (
        &["before", "after"],
        Meaning::States,
        "`etalon run` measures both in one run, in turns: `--set-b NAME=VALUE` is a setting of the second side, \
         `--change SQL --undo SQL` a change that étalon makes and undoes",
    ),
    (&["ci", "check", "verify"], Meaning::Ci, "`etalon run` measures, `etalon gate` passes or fails"),
    (&["convert", "parse"], Meaning::Verb("import"), "`etalon import` reads what other tools wrote into a store"),
    (&["diff", "cmp"], Meaning::Compare, "`etalon compare` compares stores"),
    (
        &["ls", "history", "log", "logs", "results", "stores"],
        Meaning::List,
        "`etalon list FOLDER` lists the experiments in a folder",
    ),
    (&["validate", "dry-run"], Meaning::Verb("plan"), "`etalon plan` checks a plan and touches nothing"),
    (&["continue"], Meaning::Verb("resume"), "`etalon resume` goes on with an interrupted experiment"),
    (&["version"], Meaning::Version, ""),
];
