//! The table of what other tools call a verb, and what étalon has in its place.

use clap::Command;

use super::words::BACKUPS;

/// What a verb of other tools is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A verb of étalon's, with the same words.
    Verb(&'static str),
    /// `run` of a server that the words describe as a client of this scheme takes them: a database is a bare name.
    Client(&'static str),
    /// `run` of a folder, by the letters of diskspd.
    Diskspd,
    /// `run` with several numbers of clients, and `capacity`.
    Steps,
    /// `run` with the plan `backup-compression` on the systems.
    Backup,
    /// `run` with a built-in plan on the systems.
    Plan(&'static str),
    /// `run` of one system under two settings, or before and after a change.
    States,
    /// `run` of one server with a change and without it.
    Change,
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

/// Verbs of other tools with one meaning.
pub struct OtherVerb {
    pub names: &'static [&'static str],
    pub meaning: Meaning,
    /// What to know about it; may be empty.
    pub about: &'static str,
}

/// Makes a table row.
const fn verbs(names: &'static [&'static str], meaning: Meaning, about: &'static str) -> OtherVerb {
    OtherVerb { names, meaning, about }
}

const MEASURES: &str = "`etalon run` measures";
const DISKS: &str = "`etalon run` measures the disks that folders are on";

/// Parts of verbs that say no more than that something is measured or compared, then which have results, then none of this.
const GENERAL: [&[&str]; 3] = [
    &[
        "run",
        "bench",
        "benchmark",
        "test",
        "start",
        "measure",
        "perf",
        "load",
        "server",
        "db",
        "database",
        "compare",
        "diff",
    ],
    &["result", "results", "store", "stores"],
    &["show", "list", "find", "make"],
];

/// Verbs of other tools, with their meaning and what to know about it.
pub const VERBS: &[OtherVerb] = &[
    verbs(
        &["replay"],
        Meaning::Nothing,
        "`etalon capture LOG -o shop.capture` reads a server's log, and `etalon run A_URL B_URL shop.capture` replays it on both",
    ),
    verbs(
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
            "tuning",
            "script",
            "set",
            "time",
            "smack",
            "super-smack",
            "server",
            "db",
            "database",
            "oltp",
            "load",
            "find",
            "make",
        ],
        Meaning::Verb("run"),
        MEASURES,
    ),
    verbs(
        &["record", "save"],
        Meaning::Verb("run"),
        "`etalon run` measures and keeps the results; `etalon capture LOG -o shop.capture` keeps what a server was asked",
    ),
    verbs(&["pgbench", "psql"], Meaning::Client("postgres"), MEASURES),
    verbs(&["mysqlslap", "mysql", "mariadb", "mariadb-slap"], Meaning::Client("mysql"), MEASURES),
    verbs(&["sysbench"], Meaning::Client("mysql"), "`etalon run` measures, and makes and removes its tables by itself"),
    verbs(
        &[
            "sweep",
            "ramp",
            "scale",
            "scaling",
            "stress",
            "find-max",
            "max",
            "find-capacity",
            "max-clients",
            "limit",
            "saturate",
        ],
        Meaning::Steps,
        "`etalon run --clients` measures each number of clients, `etalon capacity` looks for the most",
    ),
    verbs(
        &[
            "disk",
            "fio",
            "io",
            "storage",
            "iops",
            "filesystem",
            "iozone",
            "bonnie++",
            "crystaldiskmark",
            "iometer",
            "dd",
        ],
        Meaning::Verb("run"),
        DISKS,
    ),
    verbs(&["diskspd"], Meaning::Diskspd, DISKS),
    verbs(
        &[
            "backup",
            "dump",
            "restore",
            "compress",
            "compression",
            "encrypt",
            "encryption",
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
    verbs(
        &["tpcc", "tpc-c", "tprocc", "tproc-c", "hammerdb", "hammerdbcli", "go-tpc", "benchmarksql"],
        Meaning::Plan("order-entry"),
        "the plan `order-entry` enters orders of warehouses, as TPC-C does: `--set 'benchmarks.*.warehouses=10'` says of how many",
    ),
    verbs(
        &["tpch", "tpc-h", "tproch", "tproc-h"],
        Meaning::Plan("analytics"),
        "the plan `analytics` times 22 queries on eight tables, as TPC-H does: `--set 'benchmarks.*.scale=1'` says how large",
    ),
    verbs(&["query"], Meaning::Verb("run"), "`etalon run` times each query of a folder"),
    verbs(
        &["before", "after", "baseline", "snapshot", "freeze"],
        Meaning::States,
        "`etalon run` measures both in one run, in turns: `--set-b NAME=VALUE` is a setting of the second side, \
         `--change SQL --undo SQL` a change that étalon makes and undoes",
    ),
    verbs(
        &["before-after", "index", "what-if", "whatif", "change", "try"],
        Meaning::Change,
        "`--change SQL --undo SQL` measures one server before and after a change, in turns: étalon makes and undoes it",
    ),
    verbs(
        &["ci", "check", "verify", "assert", "regression", "fail", "guard", "nightly"],
        Meaning::Ci,
        "`etalon run` measures, `etalon gate` passes or fails",
    ),
    verbs(
        &["convert", "parse", "load-results", "read", "ingest"],
        Meaning::Verb("import"),
        "`etalon import` reads what other tools wrote into a store",
    ),
    verbs(&["diff", "cmp", "vs", "versus"], Meaning::Compare, "`etalon compare` compares stores"),
    verbs(
        &["ls", "log", "logs", "result", "results", "store", "stores"],
        Meaning::List,
        "`etalon list FOLDER` lists the experiments in a folder",
    ),
    verbs(&["validate", "dry-run"], Meaning::Verb("plan"), "`etalon plan` checks a plan and touches nothing"),
    verbs(&["continue"], Meaning::Verb("resume"), "`etalon resume` goes on with an interrupted experiment"),
    verbs(&["html"], Meaning::Verb("report"), "`etalon report` writes the page of a store"),
    verbs(&["version"], Meaning::Version, ""),
];

/// Finds a verb of another tool by its name: whole, or by the part that says most, as `find-max-clients` or `compare-backups`.
pub fn other_verb(name: &str) -> Option<OtherVerb> {
    if let Some(known) = whole_verb(name).or_else(|| whole_verb(name.strip_suffix('s')?)) {
        return Some(known);
    }
    let parts: Vec<&str> = name.split(['-', '_']).filter(|part| !part.is_empty()).collect();
    if parts.len() < 2 {
        return None;
    }
    let mut found: Vec<(usize, OtherVerb)> = (0..parts.len())
        .flat_map(|from| (from + 1..=parts.len()).rev().map(move |to| from..to))
        .filter_map(|range| {
            let part = parts[range].join("-");
            let known =
                whole_verb(&part).or_else(|| whole_verb(part.strip_suffix('s')?)).or_else(|| own_verb(&part))?;
            let general = GENERAL.iter().position(|parts| parts.contains(&part.as_str()));
            Some((general.map_or(0, |at| at + 1), known))
        })
        .collect();
    found.sort_by_key(|(general, _)| *general);
    found.into_iter().next().map(|(_, known)| known)
}

/// Finds a verb of another tool by its whole name.
fn whole_verb(name: &str) -> Option<OtherVerb> {
    let known = VERBS.iter().find(|known| known.names.contains(&name))?;
    Some(OtherVerb { ..*known })
}

/// A verb of étalon's as a part of another name.
fn own_verb(part: &str) -> Option<OtherVerb> {
    let own = [
        "capacity", "compare", "gate", "import", "export", "audit", "report", "list", "show", "plan", "run", "queries",
    ];
    let meaning = match *own.iter().find(|own| **own == part)? {
        "capacity" => Meaning::Steps,
        "compare" => Meaning::Compare,
        "gate" => Meaning::Ci,
        "queries" => Meaning::Verb("run"),
        verb => Meaning::Verb(verb),
    };
    Some(OtherVerb { names: &[], meaning, about: "" })
}

/// Whether a word is a verb of étalon's, or one that other tools have.
pub fn is_verb(word: &str, etalon: &Command) -> bool {
    etalon.find_subcommand(word).is_some() || whole_verb(word).is_some()
}
