//! The command line.

mod capturing;
mod comparing;
mod conduct;
mod gating;
pub mod guessed;
mod history;
pub mod last;
mod remembered;
mod results_folder;
mod states;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use formats::pgbench::SeventhColumn;

pub use capturing::{CaptureArgs, ShowArgs};
pub use comparing::{Allowing, Comparing};
pub use conduct::{Conduct, ExtendArgs, ResumeArgs, WatchArgs};
pub use gating::{GateArgs, GateFormat, OnInconclusive};
pub use history::{Better, HistoryAction, HistoryAddArgs, HistoryArgs, HistoryExportArgs, HistoryExportFormat};
pub use remembered::QueriesArgs;
pub use states::States;

use crate::commands::import::AUTO;

/// Headings of `--help`, in their order.
mod heading {
    pub const SYSTEMS: &str = "Systems";
    pub const LOAD: &str = "Load";
    pub const SCHEDULE: &str = "Schedule";
    pub const COMPARISON: &str = "Comparison";
    pub const OUTPUT: &str = "Output";
    pub const SAFETY: &str = "Safety";
    pub const GLOBAL: &str = "Global";
}

/// Measures database servers and the disks under them, platform A against platform B: which is faster, by how much,
/// and how sure that is.
#[derive(Debug, Parser)]
#[command(
    name = "etalon",
    version,
    long_version = fleet::protocol::VERSION,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(
    after_help = "Exit codes: 0 done · 1 finished, but runs or queries failed, or the gate found a regression · 2 error in arguments or \
                  plan · 3 could not run · 4 the gate is undecided · 130 interrupted, resumable"
)]
pub struct Cli {
    /// Print one JSON object on stdout instead of text
    #[arg(long, global = true, help_heading = heading::GLOBAL)]
    pub json: bool,
    /// When to use colours; `NO_COLOR` turns them off
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", help_heading = heading::GLOBAL, hide_short_help = true)]
    pub color: Color,
    /// Print only results, warnings and errors
    #[arg(long, short, global = true, help_heading = heading::GLOBAL)]
    pub quiet: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal that takes them
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare systems by their URLs or short names, with your script or a plan
    ///
    /// Two servers, in about a minute; one of yours and one that étalon starts:
    ///   etalon run postgres://me@db1/bench postgres://me@db2/bench
    ///   etalon run mysql://me@db1/ mariadb
    /// Your script, so many clients, so long, under names of yours:
    ///   etalon run old=env:OLD new=env:NEW --script my.sql --clients 1,8 --for 5m
    /// Releases that are installed here; one system against itself; two disks:
    ///   etalon run postgres:15 postgres:18
    ///   etalon run sqlite:a.db --aa
    ///   etalon run /mnt/nvme /mnt/hdd
    /// A built-in plan, a plan of yours:
    ///   etalon run quickstart
    ///   etalon run plan.toml
    ///
    /// `etalon plan` takes the same words and touches nothing; `etalon init` writes
    /// them as a plan. On a server étalon works in a schema or a database `etalon`,
    /// and removes at the end what it made there; things of others stay.
    #[command(verbatim_doc_comment)]
    Run(RunArgs),
    /// Find how many clients a system carries within a response time: `run` with `--p99`
    ///
    /// `etalon capacity postgres://me@db1/bench --p99 20ms --script my.sql`
    #[command(mut_arg("p99", |p99| p99.required(true)), mut_arg("pace", |pace| pace.hide(true)))]
    Capacity(RunArgs),
    /// Write a commented plan for systems: what `run` with the same words would do
    Init(InitArgs),
    /// Continue an experiment that was interrupted
    Resume(ResumeArgs),
    /// Add rounds to an experiment that has ended, until it is sure or as many as you say
    Extend(ExtendArgs),
    /// Follow an experiment while it runs, from another terminal
    Watch(WatchArgs),
    /// Check a plan; show its cases, their order, time, disk space, and what would be dropped
    Plan(PlanArgs),
    /// Write the queries that a server spent most time on as a folder that `run` takes
    Queries(QueriesArgs),
    /// Write what a server was asked, out of its logs, as one file
    Capture(CaptureArgs),
    /// Compare the systems of an experiment, or experiments of other days, hosts or versions
    Compare(CompareArgs),
    /// Run an SQLIO command line, or a batch file of them, unchanged
    Sqlio(SqlioArgs),
    /// Pass or fail, for continuous integration
    Gate(GateArgs),
    /// Follow experiments of many nights: what moved, since when, by how much
    History(HistoryArgs),
    /// Read results of other tools into a store, to compare and report them like étalon's own
    Import(ImportArgs),
    /// Write what an experiment holds in other forms: tables, text of other tools, charts
    Export(ExportArgs),
    /// Recompute the printed figures of a published table: which follow from its own rows, and how
    Audit(AuditArgs),
    /// Write the HTML report of an experiment
    Report(ReportArgs),
    /// List built-in plans, scripts, workloads and engines
    List(ListArgs),
    /// Show anything that `list` names, or what a store or a capture holds
    Show(ShowArgs),
    /// Say what will disturb a measurement on this machine, and how to fix it
    Doctor(DoctorArgs),
    /// Serve a conductor on another host: make its load, or run the systems that its plan puts here
    Agent(AgentArgs),
    /// List the agents at a NATS server
    Agents(AgentsArgs),
    /// Print the JSON Schema of plans or of `--json` output
    Schema(SchemaArgs),
    /// Print shell completions
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
}

/// What is asked of what.
#[derive(Args, Clone, Debug, Default)]
pub struct Question {
    /// Systems by their URLs or short names, a script, or a plan
    ///
    /// A system is a URL, `env:NAME`, a folder on a disk, or a server that étalon starts and removes itself (`postgres`,
    /// `postgres:18`, `mariadb`, `mysql`, `sqlite`), each also as `NAME=URL`. A plan is a file or the name of a built-in one.
    /// The values of `$1 $2 …` follow a `.smack` file
    #[arg(value_name = "WHAT")]
    pub what: Vec<String>,
    /// Run on this system instead of the plan's
    ///
    /// Several are compared. The name of one of the plan's systems picks that one
    #[arg(long, visible_alias = "url", value_name = "[NAME=]URL", help_heading = heading::SYSTEMS)]
    pub system: Vec<String>,
    /// What makes two systems of one
    #[command(flatten)]
    pub states: States,
    /// Script that the clients run
    ///
    /// Several, or one list as in `a.sql,b.sql`, are measured one by one; weights make a mix: `a.sql@9,b.sql@1`. A file in
    /// pgbench's or super-smack's language, or a built-in script. Without it `tpcb-like` and `select-only`, on tables that étalon
    /// makes
    #[arg(long, value_name = "FILE|NAME", help_heading = heading::LOAD)]
    pub script: Vec<String>,
    /// Folder of queries, or files: each query is timed by itself
    ///
    /// They run on the tables that are there and may only read. Their answers are compared between the systems before they are
    /// timed. A folder with files `*.sql` among the arguments is one, too
    #[arg(long, value_name = "DIR|FILE", value_delimiter = ',', help_heading = heading::LOAD)]
    pub queries: Vec<String>,
    /// When statements of a capture are sent: `original`, `2x`, `think` or `none`
    #[arg(long, value_name = "PACE", help_heading = heading::LOAD)]
    pub pace: Option<String>,
    /// Number of clients, or several: `1,8`
    ///
    /// For disks, the number of operations in flight
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', help_heading = heading::LOAD)]
    pub clients: Vec<String>,
    /// Size of pgbench's tables, 100,000 accounts a step, or several: `1,20`
    ///
    /// Étalon makes them so large; a script that works on tables of yours has it as `:scale`
    #[arg(long, short, value_name = "LIST", value_delimiter = ',', help_heading = heading::LOAD)]
    pub scale: Vec<String>,
    /// Threads that make the load, at most one a client
    #[arg(long, short = 'j', value_name = "N", help_heading = heading::LOAD, hide_short_help = true)]
    pub threads: Option<String>,
    /// Look for the most clients of whom 99 of 100 transactions are answered within this time, such as `20ms`
    ///
    /// Each client asks as soon as it is answered; the rate at which they ran is told as well. With `--clients` the highest rate is
    /// looked for instead that so many connections carry: transactions come by chance, and wait where all are busy. Of disks it is
    /// the rate
    #[arg(long, value_name = "TIME", help_heading = heading::LOAD)]
    pub p99: Option<String>,
    /// The most clients that `--p99` tries; 64 without it
    #[arg(long, value_name = "N", help_heading = heading::LOAD)]
    pub max_clients: Option<String>,
    /// Time of the whole experiment, such as `5m`
    ///
    /// Rounds and runs are fitted into it. Without it two systems take about a minute, and a capacity longer
    #[arg(long = "for", value_name = "TIME", help_heading = heading::SCHEDULE)]
    pub time: Option<String>,
    /// Name of the experiment
    ///
    /// It stands in the report and in the names of the files
    #[arg(long, value_name = "NAME", help_heading = heading::OUTPUT)]
    pub name: Option<String>,
    /// Set for a line that étalon suggests: its plan is made and checked, no system is asked, and no program looked for
    #[arg(skip)]
    pub is_only_checked: bool,
}

/// What plan to use.
#[derive(Args, Clone, Debug, Default)]
pub struct PlanSource {
    /// Its systems and benchmarks, or a plan
    #[command(flatten)]
    pub question: Question,
    /// Folder, file or device that disk systems work on
    ///
    /// The images of volumes are made there, too
    #[arg(long, value_name = "DIR", value_parser = results_folder::target_folder, help_heading = heading::SYSTEMS)]
    pub target: Option<PathBuf>,
    /// Run one round of short runs, for no verdict
    ///
    /// To see it work: the plan's quick form, if it has one
    #[arg(long, conflicts_with = "time", help_heading = heading::SCHEDULE)]
    pub quick: bool,
    /// Number of rounds, or a range: `6..60`
    ///
    /// A range stops when every row is decided
    #[arg(long, value_name = "N|FROM..TO", help_heading = heading::SCHEDULE)]
    pub rounds: Option<String>,
    /// Override a key of the plan
    ///
    /// As in `--set schedule.rounds=6`
    #[arg(long, value_name = "KEY=VALUE", help_heading = heading::SYSTEMS)]
    pub set: Vec<String>,
    /// What is compared although it differs
    #[command(flatten)]
    pub allowing: Allowing,
    /// Run one system as both sides
    ///
    /// The first of the plan, or the one named
    #[arg(long, value_name = "SYSTEM", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["set_a", "set_b"], help_heading = heading::SYSTEMS)]
    pub aa: Option<String>,
}

/// What the load may use and do.
#[derive(Args, Clone, Debug)]
pub struct Loading {
    /// What sends, receives, reads and writes for the clients
    #[arg(long, value_name = "WHICH", default_value = "auto", help_heading = heading::LOAD, hide_short_help = true)]
    pub reactor: Reactor,
    /// Let scripts run shell commands as you: only for scripts that you trust
    #[arg(long, help_heading = heading::SAFETY, hide_short_help = true)]
    pub allow_shell: bool,
    /// Overwrite a whole device that a disk system names, such as `disk:/dev/sdb`
    #[arg(long = "i-will-lose-the-data-on", value_name = "DEVICE", help_heading = heading::SAFETY, hide_short_help = true)]
    pub forfeit: Vec<PathBuf>,
}

/// What sends and receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Reactor {
    /// The ring where the kernel gives one, else the poller
    Auto,
    /// io_uring or nothing
    Ring,
    /// The poller
    Poller,
}

/// `etalon run`.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    #[command(flatten)]
    pub source: PlanSource,
    /// Folder for the store and the report
    #[arg(long, short, value_name = "DIR", default_value = "etalon-results", value_parser = results_folder::results_folder, help_heading = heading::OUTPUT)]
    pub output: PathBuf,
    #[command(flatten)]
    pub conduct: Conduct,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ResultFormat {
    /// The comparison, as tables
    #[default]
    Text,
    /// super-smack's Query Barrel Report of each case
    SuperSmack,
    /// Page inserts as they were published: counters by file, mean latencies, gains
    Pages,
    /// Spatial queries as they were published: processor time and time of each, gains; next to them the sound estimator
    Spatial,
    /// Backups by codec: sizes, rates, CPU time, and what each codec is worth in one line
    Backup,
    /// What SQLIO prints of each run of a disk
    Sqlio,
}

/// `etalon plan`.
#[derive(Args, Clone, Debug)]
pub struct PlanArgs {
    #[command(flatten)]
    pub source: PlanSource,
    /// Forecast the number of rounds from an earlier experiment
    ///
    /// Its store, of the same systems and benchmarks, with three rounds or more
    #[arg(long, value_name = "STORE", help_heading = heading::SCHEDULE)]
    pub pilot: Option<PathBuf>,
    /// Smallest difference that those rounds must show [default: the plan's margin]
    #[arg(long, value_name = "SHARE", requires = "pilot", help_heading = heading::SCHEDULE)]
    pub detect: Option<String>,
}

/// `etalon init`.
#[derive(Args, Clone, Debug)]
pub struct InitArgs {
    /// What the plan asks
    #[command(flatten)]
    pub question: Question,
    /// The file to write; `-` is stdout
    #[arg(long, short, value_name = "FILE", default_value = "plan.toml")]
    pub output: String,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

/// `etalon compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// The experiment's store, as STORE or STORE:SYSTEM where others follow; `last` is the newest in `etalon-results`
    ///
    /// `last~1` is the one before it; so for every verb that takes a store
    #[arg(value_name = "STORE")]
    pub store: String,
    /// Baseline and candidate, or stores of other days, hosts or versions
    ///
    /// The stores, each as STORE or STORE:SYSTEM, are compared with the oldest
    #[arg(value_name = "A B | STORE")]
    pub others: Vec<String>,
    /// The store that the others are compared with [default: the oldest]
    #[arg(long, value_name = "STORE", help_heading = heading::COMPARISON)]
    pub baseline: Option<String>,
    /// How
    #[command(flatten)]
    pub comparing: Comparing,
    /// Show every run's value
    #[arg(long, alias = "trials", help_heading = heading::OUTPUT)]
    pub runs: bool,
    /// Show every row, also of an import that takes more than 60 lines
    #[arg(long, help_heading = heading::OUTPUT)]
    pub all: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "json", help_heading = heading::OUTPUT)]
    pub markdown: bool,
    /// How to print the results; with `--runs`, a report for each run
    #[arg(
        long, value_name = "FORMAT", default_value = "text", conflicts_with_all = ["json", "markdown"], help_heading = heading::OUTPUT,
        hide_short_help = true
    )]
    pub format: ResultFormat,
}

/// `etalon sqlio`.
#[derive(Args, Clone, Debug)]
pub struct SqlioArgs {
    /// SQLIO's own options and files, as in `-kR -s300 -frandom -o8 -b8 -LS -BH -Fparam.txt`
    #[arg(value_name = "OPTION", allow_hyphen_values = true)]
    pub words: Vec<String>,
    /// Run a batch file of such command lines
    #[arg(long, value_name = "FILE", conflicts_with = "words")]
    pub batch: Option<String>,
    /// Print what SQLIO prints, to the letter, instead of étalon's tables
    #[arg(long)]
    pub sqlio_exact: bool,
    /// Write `1 threads` there, as SQLIO Analyzer wants it
    #[arg(long, requires = "sqlio_exact")]
    pub analyzer: bool,
    /// Where the files are, as `[NAME=]disk:FOLDER`; this folder without it. Several are compared
    #[arg(long, value_name = "[NAME=]URL")]
    pub system: Vec<String>,
    /// The folder that the files are in, for a single system
    #[arg(long, value_name = "DIR")]
    pub target: Option<PathBuf>,
    /// Two seconds a run: to see it work, not to publish it
    #[arg(long)]
    pub quick: bool,
    /// Override any key of the plan that is made, as in `--set schedule.rounds=6`
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Folder for the store and the report
    #[arg(long, value_name = "DIR", default_value = "etalon-results")]
    pub output: PathBuf,
    /// Let étalon write to files that it did not make
    #[arg(long)]
    pub yes: bool,
    /// How the load is made
    #[command(flatten)]
    pub loading: Loading,
}

/// `etalon import`.
#[derive(Args, Clone, Debug)]
pub struct ImportArgs {
    /// Files, folders, archives, patterns such as `run-*.json`, or `-`, each as FILE or SYSTEM=FILE; without a system's name that of
    /// the file counts
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<String>,
    /// The store to write
    #[arg(long, short, value_name = "STORE")]
    pub output: PathBuf,
    /// The system that the others are compared with; the first one when not given, of a folder or an archive that with a name
    /// such as `old`, `before` or `base`
    #[arg(long, value_name = "SYSTEM")]
    pub baseline: Option<String>,
    /// What the files are; each is recognised by itself unless this says it
    #[arg(long, value_name = "FORMAT", default_value = AUTO, value_parser = format_names())]
    pub format: String,
    /// What a column of a wide table is: METRIC:UNIT:DIRECTION, SYSTEM@METRIC:UNIT:DIRECTION, key, system, benchmark or ignore
    #[arg(long, value_name = "COLUMN=MEANING")]
    pub map: Vec<String>,
    /// Take one name for another: of a benchmark, a key or a value of one
    #[arg(long, value_name = "OLD=NEW")]
    pub alias: Vec<String>,
    /// What the seventh column of pgbench's logs is, which they do not tell
    #[arg(long, value_name = "WHAT")]
    pub seventh: Option<Seventh>,
}

/// Makes the parser of `--from`'s format names: `auto` and each format that has a reader, with what it is.
fn format_names() -> PossibleValuesParser {
    let auto = PossibleValue::new(AUTO).help("Recognise each file");
    let known = formats::reader::READERS.iter().map(|reader| PossibleValue::new(reader.name).help(reader.about));
    PossibleValuesParser::new(std::iter::once(auto).chain(known))
}

/// The seventh column of a log of pgbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Seventh {
    /// The lag behind the schedule: it ran with `-R`
    Lag,
    /// Retries: it ran with `--max-tries`
    Retries,
}

impl From<Seventh> for SeventhColumn {
    fn from(seventh: Seventh) -> SeventhColumn {
        match seventh {
            Seventh::Lag => SeventhColumn::Lag,
            Seventh::Retries => SeventhColumn::Retries,
        }
    }
}

/// `etalon export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArgs {
    /// The experiment's store; `last` is the newest in `etalon-results`
    pub store: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub format: ExportFormat,
    /// The file to write, the folder for charts; text goes to stdout when not given, and with `-`
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Replace files that étalon did not write, or that were changed since
    #[arg(long)]
    pub force: bool,
    /// Write cells of CSV as they are, also those that a spreadsheet computes: by default an apostrophe stands before text that
    /// begins with `=`, `+`, `-`, `@` or a tab, and `etalon import` takes it away again
    #[arg(long)]
    pub raw: bool,
    /// Export results whose publication a licence restricts without being asked
    #[arg(long)]
    pub yes: bool,
    /// How results are compared, where they are
    #[command(flatten)]
    pub comparing: Comparing,
}

/// What an export writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// A tidy table of every run; `etalon import FILE.csv -o STORE` reads it back
    Csv,
    /// The comparison as `--json` prints it, with every metric and run
    Json,
    /// The tables of the comparison as Markdown
    Markdown,
    /// For each run what pgbench prints at its end
    Pgbench,
    /// super-smack's Query Barrel Report of each case
    SuperSmack,
    /// The report's charts, a file each
    Svg,
    /// The same as pictures
    Png,
}

/// `etalon audit`.
#[derive(Args, Clone, Debug)]
pub struct AuditArgs {
    /// A tidy table: rows that were measured, and rows of kind `printed` with the figures as they were published
    pub file: PathBuf,
    /// More rows, of a task log of the published C# client, in seconds; several files of a system are one run
    #[arg(long, value_name = "SYSTEM=FILE")]
    pub task_log: Vec<String>,
    /// How to print it
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub format: AuditFormat,
}

/// How an audit is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AuditFormat {
    /// A table
    Text,
    /// Markdown, for a comment under an article
    Markdown,
}

/// `etalon report`.
#[derive(Args, Clone, Debug)]
pub struct ReportArgs {
    /// The experiment's store, or `last`; several, each as STORE or STORE:SYSTEM, are compared with the first
    #[arg(value_name = "STORE", required = true)]
    pub stores: Vec<String>,
    /// The file to write, `-` for stdout; next to the last store when not given
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that étalon did not write, or that was changed since
    #[arg(long)]
    pub force: bool,
    /// How
    #[command(flatten)]
    pub comparing: Comparing,
}

/// `etalon list`.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// A folder whose stores are listed instead, with those of the folders in it: day, sides and answer of each
    #[arg(value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// With what each of them is, and the keys of each workload
    #[arg(long)]
    pub all: bool,
}

/// `etalon doctor`.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// A system to look at as well
    pub url: Option<String>,
    /// First remove what étalons that were killed have left behind: servers, mounted volumes, images, files
    #[arg(long)]
    pub clean: bool,
}

/// The NATS server.
#[derive(Args, Clone, Debug)]
pub struct Nats {
    /// The URL of the NATS server, such as `nats://HOST:4222` or `tls://HOST:4222`
    #[arg(long, value_name = "URL")]
    pub nats: String,
    /// A file of credentials: a JWT with its key, or an NKey's seed
    #[arg(long, value_name = "FILE")]
    pub creds: Option<PathBuf>,
    /// The certificate of the authority that signed the server's, beside those of the operating system
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
}

/// `etalon agent`.
#[derive(Args, Clone, Debug)]
pub struct AgentArgs {
    /// The NATS server
    #[command(flatten)]
    pub server: Nats,
    /// The agent's name, by which plans know it: letters, digits, `-` and `_`
    #[arg(long, value_name = "NAME")]
    pub name: String,
    /// An address that plans may connect to, a host with any of its ports, or a Unix socket; none without it
    #[arg(long, value_name = "HOST[:PORT] | SOCKET")]
    pub allow: Vec<String>,
    /// An engine whose private servers plans may have started here, by the programs in a folder if one is named; none
    /// without it
    #[arg(long, value_name = "ENGINE[=BIN_DIR]")]
    pub allow_server: Vec<String>,
    /// A folder in which plans may have databases, files and backups made, measured and removed; none without it
    #[arg(long, value_name = "DIR")]
    pub allow_dir: Vec<PathBuf>,
    /// Let plans log in as those who can run programs or reach files on a server's host, such as its superuser
    #[arg(long)]
    pub allow_any_login: bool,
    /// The address by which other hosts reach the private servers that it starts; without it they listen to this host alone
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
    /// What sends and receives for the clients of a server
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    pub reactor: Reactor,
}

/// `etalon agents`.
#[derive(Args, Clone, Debug)]
pub struct AgentsArgs {
    /// The NATS server
    #[command(flatten)]
    pub server: Nats,
}

/// `etalon schema`.
#[derive(Args, Clone, Debug)]
pub struct SchemaArgs {
    /// Which one
    #[arg(default_value = "plan")]
    pub which: WhichSchema,
}

/// The schema to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum WhichSchema {
    /// Of plans
    Plan,
    /// Of what `--json` prints
    Comparison,
    /// That of plans as a document in Markdown
    Reference,
}

/// `etalon completions`.
#[derive(Args, Clone, Debug)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: clap_complete::Shell,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    /// Options of `run` that say how a plan is carried out. Whatever else it takes shapes the plan.
    const CARRIES_OUT: [&str; 7] = ["output", "yes", "task_log", "reactor", "allow_shell", "forfeit", "format"];

    /// Those of `plan` that ask of it and shape nothing.
    const ASKS: [&str; 2] = ["pilot", "detect"];

    fn arguments(verb: &str) -> BTreeSet<String> {
        let command = Cli::command();
        let verb = command.find_subcommand(verb).unwrap();
        verb.get_arguments().map(|argument| argument.get_id().to_string()).collect()
    }

    #[test]
    fn plan_takes_whatever_shapes_the_plan_of_run() {
        let run = arguments("run");
        assert!(CARRIES_OUT.iter().all(|known| run.contains(*known)), "{run:?}");
        let shaping: BTreeSet<String> = run.into_iter().filter(|name| !CARRIES_OUT.contains(&name.as_str())).collect();
        assert!(
            ["what", "system", "script", "clients", "time", "name", "quick", "set", "aa"]
                .iter()
                .all(|name| shaping.contains(*name))
        );
        let plan = arguments("plan");
        assert!(ASKS.iter().all(|known| plan.contains(*known)), "{plan:?}");
        let of_plan: BTreeSet<String> = plan.into_iter().filter(|name| !ASKS.contains(&name.as_str())).collect();
        assert_eq!(of_plan, shaping);
    }

    #[test]
    fn the_definitions_hold_together() {
        Cli::command().debug_assert();
    }
}
