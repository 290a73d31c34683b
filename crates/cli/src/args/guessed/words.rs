//! The table of what other tools call an option, and what étalon has in its place.

use super::line::Part;

/// What is typed in the place of another tool's option.
#[derive(Clone, Copy, Debug)]
pub enum Instead {
    /// An option of étalon's, with the value. A bare number gets the unit.
    Option(&'static str, &'static str),
    /// A key of `--set`, with the value. A bare number gets the unit.
    Key(&'static str, &'static str),
    /// A key of `--set` in units of 1024 bytes to this power: `8k` is 8 of the power 1.
    Size(&'static str, u32),
    /// Words of étalon's. The value of the option is left out.
    Words(&'static [&'static str]),
    /// A part of a system's URL, and its scheme where the option says it.
    Url(Option<&'static str>, Part),
    /// The kind of server.
    Driver,
    /// A variable of a script.
    Define,
    /// Values of a setting whose name an option of its own says.
    Values,
    /// What fio does, such as `randread`.
    Access,
    /// What is measured: a folder.
    System,
    /// The name of a benchmark: a script of étalon's, else it is left out.
    Workload,
    /// A codec of backups.
    Codec,
    /// A setting, or its name alone.
    Parameter,
    /// What the first side is compared with: a setting or a system.
    Other,
    /// A query as text, or a file of it.
    Query,
    /// The file of a report.
    Page,
    /// A number of clients behind a time, as k6 ramps them.
    Stage,
    /// An encrypted database in backups.
    Encryption,
    /// A gate behind the run.
    Gate,
    /// The meaning of a column of a table that is imported.
    Column(&'static str),
    /// `etalon plan` with the same words.
    Plan,
    /// The time of the whole experiment, or of a run where that is short.
    Time,
    /// A limit of a gate: of the 99th percentile, or as an expression that has to hold.
    Limit,
    /// A limit of a gate: the fewest transactions a second.
    LeastRate,
    /// The store that a run is judged against.
    Baseline,
    /// An expression with which a gate fails.
    FailIf,
    /// The store that a gate judges.
    Candidate,
    /// A file of JUnit XML, which a gate writes.
    Junit,
    /// A statement that changes the server, or the system after a change.
    Change,
    /// The statement that undoes a change, or the system before it.
    Undo,
    /// The name of the system that all imported files are of.
    Label,
}

impl Instead {
    /// Whether this stands for an option with which a gate passes or fails.
    pub fn is_for_gate(self) -> bool {
        matches!(self, Instead::Limit | Instead::LeastRate | Instead::FailIf | Instead::Baseline)
    }
}

/// Verbs of étalon's that an option is known for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    Measuring,
    Compare,
    Gate,
    Import,
    Report,
}

impl For {
    /// The group of verbs that a verb belongs to; `None` for one that is not in the table.
    pub fn for_verb(verb: &str) -> Option<For> {
        match verb {
            "run" | "capacity" | "plan" | "init" => Some(Measuring),
            "compare" => Some(Compare),
            "gate" => Some(Gate),
            "import" => Some(Import),
            "report" => Some(Report),
            _ => None,
        }
    }
}

/// An option of another tool.
pub struct OtherOption {
    pub verbs: For,
    pub names: &'static [&'static str],
    pub has_value: bool,
    pub instead: Instead,
    /// What to know about it; may be empty.
    pub about: &'static str,
}

/// Makes a table row for options of another tool that take a value.
const fn taking(verbs: For, names: &'static [&'static str], instead: Instead, about: &'static str) -> OtherOption {
    OtherOption { verbs, names, has_value: true, instead, about }
}

/// Makes a table row for options of another tool without a value.
const fn flag(verbs: For, names: &'static [&'static str], instead: Instead, about: &'static str) -> OtherOption {
    OtherOption { verbs, names, has_value: false, instead, about }
}

const URL: &str = "the URL says it: `postgres://USER@HOST:PORT/DATABASE`, `mysql://USER@HOST:PORT/DATABASE`";
pub const BACKUPS: &str =
    "the plan `backup-compression` compares the codecs of a backup, which is restored and compared";
const P99: &str = "`--p99 20ms` looks for the most clients of whom 99 of 100 transactions are answered in this time";
const CHANGES: &str = "`--change SQL --undo SQL` compares one server before and after a change";
const HOLDS: &str = "`--limit` says what has to hold";
const JUDGES: &str = "`etalon gate` judges the store of a run, and passes or fails";
/// Also of a setting that stands among the words.
pub const SETTINGS: &str =
    "`--set-a` and `--set-b` are settings of the one system that is named: the sides of a comparison";
const NOT_MEASURED: &str = "`etalon compare` measures nothing, so it takes no time: `etalon run` does";
const ENCRYPTS: &str = "étalon encrypts no backup by itself: the plan `backup-encrypted` compares an encrypted database with a plain one, on servers of étalon's own";
const COLUMNS: &str =
    "`--map COLUMN=MEANING` says what a column is: `system`, `key`, METRIC:UNIT:DIRECTION or `ignore`";
const IN_DISKS: &str = "a key of the workload `disk`: `etalon show workload:disk` lists them";

use For::{Compare, Gate, Import, Measuring, Report};

/// Options of pgbench, sysbench, fio and others that mean something else here or have no option.
pub const OPTIONS: &[OtherOption] = &[
    taking(
        Measuring,
        &["--concurrency", "--connections", "--users", "--vus", "--client", "--num-clients"],
        Instead::Option("--clients", ""),
        "`--clients` is the number of clients at the same time",
    ),
    taking(
        Measuring,
        &["--jobs"],
        Instead::Option("--clients", ""),
        "`--clients` is the number of clients at the same time, `--threads` that of étalon's threads",
    ),
    taking(
        Measuring,
        &["-T", "--time", "--duration", "--run-time", "--runtime"],
        Instead::Time,
        "`--for 5m` is the time of the whole experiment, `--set schedule.duration=60s` that of each run",
    ),
    taking(
        Measuring,
        &["-t", "--transactions", "--events", "--max-requests"],
        Instead::Key("schedule.transactions", ""),
        "each client ends its run after this number of transactions",
    ),
    taking(
        Measuring,
        &["-f", "--file", "--sql", "--sql-file", "--query-file"],
        Instead::Option("--script", ""),
        "`--script FILE` runs a script of your own",
    ),
    taking(
        Measuring,
        &["-b", "--builtin"],
        Instead::Option("--script", ""),
        "`--script NAME` runs a built-in script: `etalon list` has the names",
    ),
    taking(
        Measuring,
        &["--from"],
        Instead::Words(&["sql"]),
        "`etalon queries URL -o sql` writes the queries in a server's statistics as the folder `sql`",
    ),
    flag(Measuring, &["-S", "--select-only"], Instead::Words(&["--script", "select-only"]), ""),
    flag(Measuring, &["-N", "--skip-some-updates"], Instead::Words(&["--script", "simple-update"]), ""),
    flag(
        Measuring,
        &["-i", "--initialize"],
        Instead::Words(&[]),
        "étalon makes the tables of its scripts by itself: `--scale 20` says how large",
    ),
    taking(
        Measuring,
        &["-M", "--protocol"],
        Instead::Key("benchmarks.*.protocol", ""),
        "it is `simple`, `extended` or `prepared`",
    ),
    taking(Measuring, &["-R", "--rate"], Instead::Key("benchmarks.*.rate", ""), "a rate in transactions a second"),
    taking(Measuring, &["-L", "--latency-limit"], Instead::Key("benchmarks.*.latency_limit", "ms"), ""),
    taking(Measuring, &["-D", "--define"], Instead::Define, "`define` sets variables of a script: `a=1, b=2`"),
    flag(
        Measuring,
        &["-C", "--connect"],
        Instead::Words(&["--set", "benchmarks.*.reconnect=1"]),
        "each transaction has a connection of its own",
    ),
    taking(
        Measuring,
        &["-P", "--progress", "--report-interval"],
        Instead::Words(&[]),
        "étalon shows how far it is by itself, and stores each second",
    ),
    flag(Measuring, &["-n", "--no-vacuum"], Instead::Words(&[]), "leave it out: étalon makes its tables by itself"),
    flag(
        Measuring,
        &["--no-init", "--skip-init"],
        Instead::Words(&["--set", "benchmarks.*.tables=none"]),
        "a benchmark works on tables as they are",
    ),
    taking(Measuring, &["-h", "--host", "--hostname"], Instead::Url(None, Part::Host), URL),
    taking(Measuring, &["-p", "--port"], Instead::Url(None, Part::Port), URL),
    taking(Measuring, &["-U", "-u", "--username", "--user"], Instead::Url(None, Part::User), URL),
    taking(Measuring, &["-d", "--dbname", "--db", "--database"], Instead::Url(None, Part::Database), URL),
    taking(
        Measuring,
        &["--password", "--mysql-password", "--pgsql-password"],
        Instead::Words(&[]),
        "the URL has the password, `postgres://USER:PASSWORD@HOST/`, or an `env:NAME` that holds the URL",
    ),
    taking(Measuring, &["--mysql-host"], Instead::Url(Some("mysql"), Part::Host), URL),
    taking(Measuring, &["--mysql-port"], Instead::Url(Some("mysql"), Part::Port), URL),
    taking(Measuring, &["--mysql-user"], Instead::Url(Some("mysql"), Part::User), URL),
    taking(Measuring, &["--mysql-db", "--create-schema"], Instead::Url(Some("mysql"), Part::Database), URL),
    taking(Measuring, &["--pgsql-host"], Instead::Url(Some("postgres"), Part::Host), URL),
    taking(Measuring, &["--pgsql-port"], Instead::Url(Some("postgres"), Part::Port), URL),
    taking(Measuring, &["--pgsql-user"], Instead::Url(Some("postgres"), Part::User), URL),
    taking(Measuring, &["--pgsql-db"], Instead::Url(Some("postgres"), Part::Database), URL),
    taking(Measuring, &["--db-driver", "--engine", "--driver"], Instead::Driver, URL),
    taking(
        Measuring,
        &["--iterations", "--repeat", "--runs", "--count"],
        Instead::Option("--rounds", ""),
        "`--rounds 10` runs every case so often",
    ),
    taking(
        Measuring,
        &["--warmup", "--warm-up"],
        Instead::Key("schedule.warmup", "s"),
        "it is the warm-up of each run",
    ),
    taking(
        Measuring,
        &[
            "--promise",
            "--max-latency",
            "--slo",
            "--p95",
            "--latency",
            "--sla",
            "--response-time",
            "--max-p99",
            "--target-p99",
            "--target-latency",
        ],
        Instead::Option("--p99", "ms"),
        P99,
    ),
    taking(
        Measuring,
        &["--tables", "--table-size", "--table_size"],
        Instead::Words(&[]),
        "`--scale 20` is the size of pgbench's tables, 100,000 rows a step",
    ),
    taking(
        Measuring,
        &["--set"],
        Instead::Words(&[]),
        "the plan has each key with a comment: change it there, or give `--set KEY=VALUE` to `etalon run plan.toml`",
    ),
    flag(
        Measuring,
        &["--report-per-command", "--report-latencies", "--vacuum-all", "--log", "--histogram"],
        Instead::Words(&[]),
        "étalon stores the time of each statement by itself",
    ),
    taking(Measuring, &["--rand-type"], Instead::Words(&[]), ""),
    taking(Measuring, &["--encrypt", "--encryption"], Instead::Encryption, ENCRYPTS),
    flag(Measuring, &["--fail-on-regression"], Instead::Gate, JUDGES),
    flag(
        Gate,
        &["--fail-on-regression"],
        Instead::Words(&[]),
        "a gate fails on a regression by itself; `--max-regression 5%` allows some",
    ),
    taking(
        Gate,
        &["--against", "--vs", "--reference", "--base", "--compare-to", "--compare-with"],
        Instead::Baseline,
        "`--baseline` is the store that the candidate is judged against",
    ),
    taking(
        Import,
        &["--platform-column", "--system-column", "--group-by", "--by", "--group-column"],
        Instead::Column("system"),
        COLUMNS,
    ),
    taking(
        Import,
        &["--a", "--b", "-a", "-b", "-A", "-B", "--old", "--new", "--before", "--after", "--candidate"],
        Instead::System,
        "files are named without an option, the first one is the baseline",
    ),
    taking(Import, &["--group"], Instead::Column("system"), COLUMNS),
    taking(Import, &["--value", "--metric"], Instead::Words(&[]), COLUMNS),
    taking(Import, &["--key-column", "--case-column"], Instead::Column("key"), COLUMNS),
    taking(Measuring, &["--seed"], Instead::Key("schedule.seed", ""), ""),
    flag(
        Measuring,
        &["--dry-run", "--check", "--plan"],
        Instead::Plan,
        "`etalon plan` checks a plan and touches nothing",
    ),
    taking(
        Measuring,
        &["--save", "--out", "--results"],
        Instead::Option("--output", ""),
        "`--output DIR` is the folder of the store and the report",
    ),
    taking(Measuring, &["--size", "--filesize"], Instead::Size("benchmarks.*.size_mb", 2), IN_DISKS),
    taking(
        Measuring,
        &["--bs", "--block", "--blocksize", "--block-size"],
        Instead::Size("benchmarks.*.block_kb", 1),
        IN_DISKS,
    ),
    taking(Measuring, &["--iodepth", "--depth"], Instead::Key("benchmarks.*.depth", ""), IN_DISKS),
    taking(Measuring, &["--numjobs"], Instead::Key("benchmarks.*.threads", ""), IN_DISKS),
    taking(Measuring, &["--rwmixread"], Instead::Key("benchmarks.*.read_percent", ""), IN_DISKS),
    taking(Measuring, &["--rw", "--readwrite"], Instead::Access, IN_DISKS),
    taking(Measuring, &["--filename", "--directory", "--dir"], Instead::System, "a folder is named without an option"),
    taking(
        Measuring,
        &["--direct", "--ioengine", "--end_fsync"],
        Instead::Words(&[]),
        "étalon goes past the caches by itself: `--set 'benchmarks.*.cache=all'` uses them",
    ),
    flag(Measuring, &["--group_reporting", "--time_based"], Instead::Words(&[]), "étalon does so by itself"),
    taking(Measuring, &["--codec", "--codecs", "--compression", "--compress", "-Z"], Instead::Codec, BACKUPS),
    taking(
        Measuring,
        &["--level", "--compression-level", "--compress-level"],
        Instead::Key("benchmarks.*.level", ""),
        BACKUPS,
    ),
    taking(Measuring, &["--junit"], Instead::Junit, "`etalon gate` judges a store, and writes JUnit XML"),
    taking(
        Measuring,
        &["--workload", "--test", "--profile", "--mix"],
        Instead::Workload,
        "`--script` names what is asked, one of étalon's or a file of yours: `etalon list` has the names",
    ),
    taking(Gate, &["--sla", "--slo", "--max-p99", "--p99", "--latency", "--max-latency"], Instead::Limit, HOLDS),
    taking(Gate, &["--min-tps", "--tps", "--min-throughput"], Instead::LeastRate, HOLDS),
    taking(Gate, &["--fail-if", "--fail-on", "--fail-if-slower"], Instead::FailIf, HOLDS),
    taking(Measuring, &["--fail-if", "--fail-on", "--fail-if-slower", "--max-regression"], Instead::FailIf, JUDGES),
    taking(Measuring, &["--min-tps", "--min-throughput"], Instead::LeastRate, JUDGES),
    taking(Measuring, &["--limit", "--threshold", "--assert", "--expect", "--require"], Instead::Limit, JUDGES),
    taking(Gate, &["--assert", "--expect", "--require"], Instead::Limit, HOLDS),
    taking(Measuring, &["--param", "--parameter", "--guc", "--variable"], Instead::Parameter, SETTINGS),
    taking(Measuring, &["--values", "--value"], Instead::Values, SETTINGS),
    taking(Measuring, &["--vs"], Instead::Other, SETTINGS),
    taking(
        Measuring,
        &["--to", "--destination"],
        Instead::Words(&[]),
        "étalon keeps a backup in a folder of its own, and removes it",
    ),
    taking(Measuring, &["--percentile"], Instead::Words(&[]), P99),
    taking(
        Measuring,
        &["--query", "--statement", "-e", "--execute", "--command"],
        Instead::Query,
        "`--queries` times each query of a file or a folder",
    ),
    taking(Measuring, &["--baseline"], Instead::Baseline, JUDGES),
    taking(Measuring, &["--a-set", "--a-setting"], Instead::Option("--set-a", ""), SETTINGS),
    taking(Measuring, &["--b-set", "--b-setting"], Instead::Option("--set-b", ""), SETTINGS),
    taking(Measuring, &["--setting"], Instead::Parameter, SETTINGS),
    taking(
        Measuring,
        &[
            "-a",
            "--a",
            "--b",
            "-A",
            "-B",
            "--A",
            "--B",
            "--left",
            "--right",
            "--server",
            "--url",
            "--dsn",
            "--old",
            "--new",
            "--candidate",
            "--on",
            "--against",
        ],
        Instead::System,
        "systems are named without an option: `old=URL new=URL`",
    ),
    taking(Measuring, &["--after"], Instead::Change, CHANGES),
    taking(Measuring, &["--before"], Instead::Undo, CHANGES),
    taking(
        Gate,
        &["--threshold", "--tolerance", "--max-change"],
        Instead::FailIf,
        "`--max-regression` fails on a regression beyond it, `--limit` where a metric is beyond it",
    ),
    taking(
        Gate,
        &["--candidate", "--current", "--new", "--today"],
        Instead::Candidate,
        "the candidate's store is named without an option",
    ),
    taking(Gate, &["--junit"], Instead::Junit, "`--format junit` prints JUnit XML"),
    taking(
        Compare,
        &["--threshold", "--tolerance", "--max-regression"],
        Instead::Option("--margin", "%"),
        "`--margin` is the half width of the zone of equivalence; `etalon gate STORE --max-regression 5%` fails beyond it",
    ),
    taking(Compare, &["-T", "--time", "--duration", "--runtime", "--for"], Instead::Words(&[]), NOT_MEASURED),
    taking(Compare, &["--candidate"], Instead::Candidate, "the candidate's store is named without an option"),
    taking(
        Compare,
        &["--before", "--old", "-A", "--a", "--after", "--new", "-B", "--b"],
        Instead::System,
        "stores are named without an option: `before.etalon after.etalon`",
    ),
    taking(Compare, &["--html", "--report"], Instead::Page, "`etalon report` writes the page"),
    taking(
        Compare,
        &["--group", "--group-by"],
        Instead::Words(&[]),
        "`--by KEY` and `--rows KEY` say what is compared by which key",
    ),
    taking(Report, &["--html"], Instead::Page, "a report is a page of HTML, `-o FILE` names it"),
    taking(
        Report,
        &["--before", "--after", "--old", "--new", "--a", "--b", "-A", "-B", "--candidate"],
        Instead::System,
        "stores are named without an option: `before.etalon after.etalon`",
    ),
    taking(Compare, &["--value"], Instead::Words(&[]), ""),
    taking(
        Measuring,
        &["--stage", "--stages"],
        Instead::Stage,
        "`--clients` measures each number of clients by itself",
    ),
    taking(
        Measuring,
        &["--history"],
        Instead::Words(&[]),
        "every run is kept in `etalon-results`, and `etalon history` follows many nights",
    ),
    flag(Measuring, &["--exit-code"], Instead::Words(&[]), JUDGES),
    flag(Gate, &["--exit-code"], Instead::Words(&[]), "a gate's exit code says what it found"),
    taking(Report, &["--out", "--file", "--save"], Instead::Option("--output", ""), "`--output` is the file to write"),
    taking(
        Import,
        &["--name", "--label", "--system"],
        Instead::Label,
        "`NAME=FILE` names the system that a file is of, `NAME=FILES*` that of several runs",
    ),
    taking(
        Import,
        &["--save", "--out", "--store"],
        Instead::Option("--output", ""),
        "`--output` is the store to write",
    ),
];
