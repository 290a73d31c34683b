//! What is asked of systems unless something else is: the benchmarks of a question.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use formats::capture::logs;
use model::near::did_you_mean;
use model::{Catalog, duration};

use super::counts::parse_counts;
use super::quote_toml;
use super::words::{self, ScriptKind};
use crate::args::Question;
use crate::args::guessed::shell_quote;
use crate::error::CliError;
use crate::source::DISK;

const MOST_CLIENTS: u32 = 100_000;
const LARGEST_SCALE: u32 = 20_000;
const MOST_THREADS: u32 = 1_024;
/// A load that queues where one client has a turn at once, with two clients a core.
const FEWEST_BUSY: u32 = 4;
const MOST_BUSY: u32 = 64;
/// Operations under way on a disk whose load keeps a promise.
const CARRYING: u32 = 16;
/// The most clients that a promise is tried with: servers take a hundred connections unless they are set otherwise.
const MAX_CLIENTS: u32 = 64;
/// The largest scale without being asked for: 1.5 GB.
const USUAL_SCALE: u32 = 100;

/// A key with what is written for it and what it is.
struct Key {
    name: &'static str,
    value: String,
    about: &'static str,
}

/// One `[[benchmarks]]`.
pub struct Bench {
    keys: Vec<Key>,
}

#[derive(Default)]
pub struct Asked {
    pub benchmarks: Vec<Bench>,
    /// Names of benchmarks.
    pub on_tables_of_the_user: Vec<String>,
    /// Scripts of the user's own that name tables which étalon could make.
    pub on_tables_to_find: Vec<OwnScript>,
    pub notes: Vec<String>,
}

/// A script of the user's own that names some of pgbench's tables.
pub struct OwnScript {
    /// Its position in [`Asked::benchmarks`].
    pub index: usize,
    pub benchmark: String,
    /// The tables that it names.
    pub tables: Vec<String>,
    /// The scale that was asked for.
    pub scale: Option<String>,
    /// That of the tables that étalon makes.
    pub made_scale: String,
}

/// What a question says of the load.
pub struct Load {
    clients: Vec<u32>,
    scale: Vec<u32>,
    threads: Option<u32>,
    /// The response time that 99 of 100 are promised.
    p99: Option<Duration>,
    /// The most clients that it may be promised to.
    max_clients: Option<u32>,
    /// What `--set benchmarks.*.op` has all benchmarks of a disk do.
    disk_op: Option<String>,
}

impl Load {
    /// Reads a question's clients, scale, threads and `--p99`, each number once, and what `set` has disks do.
    ///
    /// # Errors
    /// One is none, or out of its range.
    pub fn from_question(question: &Question, set: &[String]) -> Result<Load, CliError> {
        let load = Load {
            clients: parse_counts("--clients", "a number of clients", &question.clients, 1..=MOST_CLIENTS)?,
            scale: parse_counts("--scale", "the size of the tables", &question.scale, 1..=LARGEST_SCALE)?,
            threads: parse_counts("--threads", "a number of threads", question.threads.as_slice(), 0..=MOST_THREADS)?
                .pop(),
            p99: question.p99.as_deref().map(parse_promise).transpose()?,
            max_clients: parse_counts(
                "--max-clients",
                "a number of clients",
                question.max_clients.as_slice(),
                1..=MOST_CLIENTS,
            )?
            .pop(),
            disk_op: set.iter().filter_map(|pair| op_of_all(pair)).next_back().map(str::to_owned),
        };
        match load.max_clients {
            Some(most) if load.p99.is_none() => Err(CliError::user_error(format!(
                "`--max-clients {most}` bounds a search, and nothing is sought"
            ))
            .with_hint(
                "`--p99 20ms` looks for the most clients that are answered in this time; `--clients` says how many",
            )),
            Some(most) if !load.clients.is_empty() => Err(CliError::user_error(format!(
                "`--max-clients {most}` bounds a search for clients, and `--clients` says how many"
            ))
            .with_hint("leave one of them out: with `--clients` the highest rate is sought")),
            _ => Ok(load),
        }
    }

    /// Makes the key that asks for the highest rate within the promised time; `None` without `--p99`.
    fn promised_rate(&self) -> Option<Key> {
        let within = duration::format(self.p99?);
        Some(Key {
            name: "promise",
            value: format!("{{ response_p99 = {}, errors = 0.001 }}", quote_toml(&within)),
            about: "The highest rate at which 99 of 100 are answered in this time, and one in a thousand fails at most.",
        })
    }

    /// The most clients that a search tries.
    fn most_tried(&self) -> u32 {
        self.max_clients.unwrap_or(MAX_CLIENTS)
    }

    /// Writes the size of pgbench's tables: the user's, else a branch for each client, up to a usual one.
    /// With fewer branches their rows are all that is measured.
    fn scale_for(&self, clients: &[u32]) -> String {
        if !self.scale.is_empty() {
            return toml_list(&self.scale);
        }
        let most = clients.iter().copied().max().unwrap_or_else(|| self.most_tried());
        most.min(USUAL_SCALE).to_string()
    }

    /// Makes the keys that ask for the highest load within the promised time: the rate if clients are given, else their number.
    fn promised_load(&self) -> Vec<Key> {
        let Some(within) = self.p99.map(duration::format) else { return Vec::new() };
        if self.clients.is_empty() {
            let most = self.most_tried();
            return vec![Key {
                name: "promise",
                value: format!("{{ response_p99 = {}, errors = 0.001, max_clients = {most} }}", quote_toml(&within)),
                about: "The most clients, up to `max_clients`, of whom 99 of 100 transactions are answered in this time, and one in \
                        a thousand fails at most.",
            }];
        }
        let about = "Transactions come by chance, as those of many users.";
        let arrivals = Key { name: "arrivals", value: quote_toml("poisson"), about };
        std::iter::once(arrivals).chain(self.promised_rate()).collect()
    }
}

impl Bench {
    /// Writes a benchmark as TOML, with a comment on each key that is not among `explained` yet.
    pub fn to_toml(&self, explained: &mut Vec<&'static str>) -> String {
        let mut text = String::from("[[benchmarks]]\n");
        for Key { name, value, about } in &self.keys {
            if !explained.contains(about) {
                explained.push(about);
                let _ = writeln!(text, "# {about}");
            }
            // Writing to a string does not fail.
            let _ = writeln!(text, "{name} = {value}");
        }
        text
    }
}

/// Makes the benchmarks of a workload, disks or transactions, for the scripts and the load asked for.
///
/// # Errors
/// There is no such script, it is empty, or the load is none of this workload's.
pub fn for_workload(workload: &str, scripts: &[String], load: &Load, catalog: &Catalog) -> Result<Asked, CliError> {
    match workload {
        DISK => {
            let refused = match (scripts.first(), load.scale.first()) {
                (Some(script), _) => Some((format!("`{script}` is a script of SQL"), "leave the script out: ")),
                (None, Some(scale)) => Some((format!("`--scale {scale}` is the size of tables"), "leave it out: ")),
                (None, None) => load
                    .max_clients
                    .map(|most| (format!("`--max-clients {most}` is of clients of a database"), "leave it out: ")),
            };
            match refused {
                None => Ok(disk_benchmarks(load)),
                Some((what, advice)) => Err(CliError::user_error(format!("{what}, and the systems are disks"))
                    .with_hint(format!(
                        "{advice}disks are read and written in blocks; `--clients 1,32` says how many at a time"
                    ))),
            }
        }
        _ => transaction_benchmarks(scripts, load, catalog),
    }
}

/// Makes the benchmark of folders and files of queries, and those of scripts that are named with them.
///
/// # Errors
/// The systems are disks, or the load is none of queries.
pub fn for_queries(
    workload: &str,
    queries: &[String],
    scripts: &[String],
    load: &Load,
    catalog: &Catalog,
) -> Result<Asked, CliError> {
    if workload == DISK {
        let message = format!("`{}` has queries, and the systems are disks", queries.join(","));
        return Err(CliError::user_error(message).with_hint("name servers or databases: `etalon run A_URL B_URL sql/`"));
    }
    if load.p99.is_some() && scripts.is_empty() {
        return Err(CliError::user_error("`--p99` needs a rate, and queries are asked one by one")
            .with_hint("leave it out, or name a script: `--script FILE`"));
    }
    let mut asked = if scripts.is_empty() { Asked::default() } else { for_workload(workload, scripts, load, catalog)? };
    let name = match queries {
        [folder] if Path::new(folder).is_dir() => stem_of(folder.trim_end_matches(['/', '\\'])),
        _ => "queries".to_owned(),
    };
    let files: Vec<&str> = queries.iter().map(|path| path.trim_end_matches(['/', '\\'])).collect();
    asked.benchmarks.push(Bench {
        keys: vec![
            Key { name: "name", value: quote_toml(&name), about: "As it is called in the results." },
            Key {
                name: "workload",
                value: quote_toml("queries"),
                about: "Queries, each timed by itself, whose answers are compared before.",
            },
            Key {
                name: "files",
                value: quote_toml(&files.join(", ")),
                about: "A folder whose `*.sql` are asked, or files. They may only read.",
            },
            Key {
                name: "clients",
                value: toml_list(&clients_or(&load.clients, &[1])),
                about: "Clients that ask the same query at the same time. Each value is a case.",
            },
        ],
    });
    Ok(asked)
}

/// Finds the folder `setup` of a folder of queries, whose statements make their tables; `None` if there is none.
pub fn setup_folder(queries: &[String]) -> Option<String> {
    let [folder] = queries else { return None };
    let setup = format!("{}/setup", folder.trim_end_matches(['/', '\\']));
    workloads::queries::has_queries(Path::new(&setup)).then_some(setup)
}

/// Makes a `replay` benchmark for each capture, at the given pace.
pub fn for_captures(captures: &[String], pace: Option<&str>) -> Asked {
    let benchmarks = captures.iter().map(|capture| Bench {
        keys: vec![
            Key { name: "name", value: quote_toml(&stem_of(capture)), about: "As it is called in the results." },
            Key {
                name: "workload",
                value: quote_toml("replay"),
                about: "What a server was asked, each class of statements timed by itself, whose answers are compared.",
            },
            Key { name: "capture", value: quote_toml(capture), about: "The file that `etalon capture` has written." },
            Key {
                name: "pace",
                value: quote_toml(pace.unwrap_or("original")),
                about: "`original`, at the captured times, `2x`, twice as fast, `think`, or `none`, as fast as it goes.",
            },
        ],
    });
    Asked { benchmarks: benchmarks.collect(), ..Asked::default() }
}

/// Fails if disks, other scripts or a load are named together with a capture.
///
/// # Errors
/// The systems are disks, or something else is named than a capture says itself.
pub fn refuse_next_to_capture(workload: &str, other: Option<&String>, load: &Load) -> Result<(), CliError> {
    if workload == DISK {
        return Err(CliError::user_error("a capture has statements, and the systems are disks")
            .with_hint("name servers or databases: `etalon run A_URL B_URL shop.capture`"));
    }
    let has_load = !load.clients.is_empty() || !load.scale.is_empty() || load.threads.is_some() || load.p99.is_some();
    match other {
        Some(other) => {
            Err(CliError::user_error(format!("a capture is replayed by itself, and `{other}` is named with it"))
                .with_hint("run them one after the other, or write both into a plan: `etalon init`"))
        }
        None if has_load => {
            Err(CliError::user_error("a capture says itself which sessions there are, and how much is asked")
                .with_hint(
                    "leave `--clients`, `--scale`, `--threads` and `--p99` out; `--pace 2x` replays it twice as fast",
                ))
        }
        None => Ok(()),
    }
}

/// The error of a pace where no capture is replayed.
pub fn pace_without_capture(pace: &str) -> CliError {
    CliError::user_error(format!("`--pace {pace}` is about a capture, and none is named"))
        .with_hint("name one: `etalon run A_URL B_URL shop.capture`; `etalon capture LOG` writes it")
}

/// Parses the time of `--p99`.
fn parse_promise(text: &str) -> Result<Duration, CliError> {
    duration::parse(text).map_err(|error| {
        CliError::user_error(format!("`--p99 {text}` is not a length of time: {error}"))
            .with_hint("write it as `--p99 20ms`")
    })
}

/// Writes numbers as one value or a list of TOML.
fn toml_list(counts: &[u32]) -> String {
    match counts {
        [one] => one.to_string(),
        many => format!("[{}]", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Makes a benchmark for each script asked for, or for `tpcb-like` and `select-only`; a search takes long, so it has `tpcb-like` alone.
fn transaction_benchmarks(scripts: &[String], load: &Load, catalog: &Catalog) -> Result<Asked, CliError> {
    let busy = busy_clients();
    let clients = &load.clients;
    // What a commit takes, what many commits are worth together, and what reading takes: more cases take longer to be sure of.
    let several: &[u32] = if load.p99.is_some() { &[] } else { &[1, busy] };
    let one = &several[several.len().saturating_sub(1)..];
    let usual = [("tpcb-like", clients_or(clients, several)), ("select-only", clients_or(clients, one))];
    let single: Vec<&str> = scripts.iter().flat_map(|script| split_scripts(script)).collect();
    let scripts: Vec<(&str, Vec<u32>)> = match single.as_slice() {
        [] if load.p99.is_some() => usual.into_iter().take(1).collect(),
        [] => usual.into(),
        scripts => scripts.iter().map(|script| (*script, clients_or(clients, several))).collect(),
    };
    let mut asked = Asked::default();
    let mut names: Vec<String> = Vec::new();
    for (script, clients) in scripts {
        let script = classify_script(script, catalog)?;
        let stem = stem_of(&script.text);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !names.contains(name)).unwrap_or_default();
        match &script.tables {
            TablesOf::User => asked.on_tables_of_the_user.push(name.clone()),
            TablesOf::Own { named } if script.is_of_user && !named.is_empty() => {
                asked.on_tables_to_find.push(OwnScript {
                    index: asked.benchmarks.len(),
                    benchmark: name.clone(),
                    tables: named.clone(),
                    scale: (!load.scale.is_empty()).then(|| toml_list(&load.scale)),
                    made_scale: load.scale_for(&clients),
                });
            }
            TablesOf::Own { .. } | TablesOf::Script => {}
        }
        asked.benchmarks.push(Bench { keys: script.keys(&name, &clients, load)? });
        names.push(name);
    }
    Ok(asked)
}

/// Splits a list of scripts into those that are measured one by one; a list with weights is one mix and stays whole.
fn split_scripts(script: &str) -> Vec<&str> {
    let is_mix = script.split(',').any(|part| weight_of(part).is_some());
    if is_mix || Path::new(script).is_file() { vec![script] } else { script.split(',').map(str::trim).collect() }
}

/// Splits a part of a mix such as `a.sql@9` into name and weight; `None` without a weight.
fn weight_of(part: &str) -> Option<(&str, &str)> {
    let (name, weight) = part.trim().rsplit_once('@')?;
    (!weight.is_empty() && weight.bytes().all(|byte| byte.is_ascii_digit())).then_some((name, weight))
}

/// The given numbers of clients, or the usual ones where there are none.
fn clients_or(clients: &[u32], usual: &[u32]) -> Vec<u32> {
    if clients.is_empty() { usual.to_vec() } else { clients.to_vec() }
}

/// Number of clients that keep all cores busy: two for each core, within bounds.
fn busy_clients() -> u32 {
    let cores = u32::try_from(host::cpu::available_cores()).unwrap_or(1);
    (2 * cores).clamp(FEWEST_BUSY, MOST_BUSY)
}

impl ScriptKind {
    /// The sentence that says what such scripts are.
    fn about(self) -> &'static str {
        match self {
            ScriptKind::Sql => "Scripts in pgbench's language, by many clients.",
            ScriptKind::Smack => "Scripts in super-smack's language.",
        }
    }
}

/// Whose tables a script works on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TablesOf {
    /// pgbench's, which étalon makes.
    Own {
        /// Those that are named in scripts of the user's own.
        named: Vec<String>,
    },
    /// The user's.
    User,
    /// It makes them itself.
    Script,
}

struct Script {
    text: String,
    kind: ScriptKind,
    tables: TablesOf,
    /// False if all of it is built in.
    is_of_user: bool,
}

const SCALE: &str = "100,000 accounts and a branch for each step; clients beyond it wait for one another.";

impl Script {
    /// Makes the keys of the script's benchmark; refuses a scale or a `--p99` that it does not take.
    fn keys(&self, name: &str, clients: &[u32], load: &Load) -> Result<Vec<Key>, CliError> {
        let mut keys = vec![
            Key { name: "name", value: quote_toml(name), about: "As it is called in the results." },
            Key { name: "workload", value: quote_toml(self.kind.workload()), about: self.kind.about() },
            Key {
                name: "script",
                value: quote_toml(&self.text),
                about: "Built in, or the path of a file. `\"a.sql@9, b.sql\"` mixes two by weights.",
            },
        ];
        if !clients.is_empty() {
            let about = "At the same time, each on a connection of its own. Each value is a case.";
            keys.push(Key { name: "clients", value: toml_list(clients), about });
        }
        let scale = (!load.scale.is_empty()).then(|| toml_list(&load.scale));
        match (&self.tables, scale) {
            (TablesOf::Own { .. }, _) => {
                keys.push(Key { name: "scale", value: load.scale_for(clients), about: SCALE });
            }
            (TablesOf::User, scale) => {
                keys.push(tables_key());
                keys.extend(scale.map(scale_of_variable));
            }
            (TablesOf::Script, None) => {}
            (TablesOf::Script, Some(scale)) => {
                return Err(CliError::user_error(format!(
                    "`--scale {scale}` is the size of pgbench's tables, and `{name}` makes its own"
                ))
                .with_hint(
                    "leave it out: a script in super-smack's language says itself how many rows its tables have",
                ));
            }
        }
        let promised = load.promised_load();
        if !promised.is_empty() && self.kind == ScriptKind::Smack {
            return Err(CliError::user_error(format!(
                "`--p99` takes no script in super-smack's language, as `{name}` is"
            ))
            .with_hint("write it in pgbench's language"));
        }
        keys.extend(promised);
        if let (Some(threads), ScriptKind::Sql) = (load.threads, self.kind) {
            keys.push(Key { name: "threads", value: threads.to_string(), about: "Threads that make the load." });
        }
        Ok(keys)
    }
}

/// Makes the key `tables = "none"`, for a script that works on existing tables.
fn tables_key() -> Key {
    let about = "It works on tables that are there; `\"own\"` makes pgbench's.";
    Key { name: "tables", value: quote_toml("none"), about }
}

/// Makes the key `scale` that sets the script's variable `:scale`.
fn scale_of_variable(value: String) -> Key {
    Key { name: "scale", value, about: "What `:scale` is in the script." }
}

impl Asked {
    /// Changes a script's benchmark to work on the user's tables instead of pgbench's that étalon would make.
    pub fn work_on_tables_of_user(&mut self, script: &OwnScript, found_scale: Option<u64>) {
        let keys = &mut self.benchmarks[script.index].keys;
        keys.retain(|key| key.name != "scale");
        keys.push(tables_key());
        let scale = script.scale.clone().or_else(|| found_scale.map(|scale| scale.to_string()));
        keys.extend(scale.map(scale_of_variable));
        self.on_tables_of_the_user.push(script.benchmark.clone());
    }
}

/// Reads what kind a script or a mix is and whose tables it works on; fails if a file is missing or empty.
fn classify_script(script: &str, catalog: &Catalog) -> Result<Script, CliError> {
    if is_statement(script) && !Path::new(script).exists() {
        let write = format!("echo {} > my.sql", shell_quote(script));
        return Err(CliError::user_error(format!("`--script {script}` is a statement, and `--script` takes a file"))
            .with_hint(format!("type `{write}`, then give `--script my.sql`")));
    }
    if kind_of_script(script, catalog) == ScriptKind::Smack {
        let is_of_user = words::built_in_script(script, catalog).is_none();
        if is_of_user {
            read_contents(script, catalog)?;
        }
        let text = as_path(script, catalog);
        return Ok(Script { text, kind: ScriptKind::Smack, tables: TablesOf::Script, is_of_user });
    }
    let own = workloads::transactions::pgbench_tables(1);
    let (mut parts, mut named, mut has_built_in, mut is_of_user) = (Vec::new(), Vec::new(), false, false);
    for part in script.split(',').map(str::trim) {
        let (name, weight) =
            weight_of(part).map_or((part, String::new()), |(name, weight)| (name, format!("@{weight}")));
        if words::built_in_script(name, catalog).is_some() {
            has_built_in = true;
        } else {
            is_of_user = true;
            let text = read_contents(name, catalog)?;
            named.extend(
                own.tables.iter().map(|table| table.name.to_string()).filter(|table| text.contains(table.as_str())),
            );
        }
        parts.push(format!("{}{weight}", as_path(name, catalog)));
    }
    named.sort_unstable();
    named.dedup();
    let tables = if has_built_in || !named.is_empty() { TablesOf::Own { named } } else { TablesOf::User };
    // A built-in script in a mix needs the tables that étalon makes.
    Ok(Script { text: parts.join(", "), kind: ScriptKind::Sql, tables, is_of_user: is_of_user && !has_built_in })
}

/// The kind of a script, by its built-in name or its file ending.
fn kind_of_script(name: &str, catalog: &Catalog) -> ScriptKind {
    match words::built_in_script(name, catalog) {
        Some(kind) => kind,
        None if words::file_ending(name) == "smack" => ScriptKind::Smack,
        None => ScriptKind::Sql,
    }
}

/// Reads a script's file; fails if it has no statement or is a server's log.
fn read_contents(name: &str, catalog: &Catalog) -> Result<String, CliError> {
    let bytes = words::read_text(name).map_err(|error| {
        let kinds = [ScriptKind::Sql, ScriptKind::Smack];
        let known: Vec<&str> =
            kinds.into_iter().flat_map(|kind| words::built_in_scripts(kind, catalog).iter().copied()).collect();
        let error = CliError::user_error(format!("cannot read the script `{name}`: {error}"));
        error.with_hint(did_you_mean(name, known.iter().copied()).unwrap_or_else(|| {
            format!("name a file in pgbench's or super-smack's language, or a built-in script: {}", known.join(", "))
        }))
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if is_log(&text) {
        return Err(CliError::user_error(format!("`{name}` looks like the log of a server, and no script"))
            .with_hint("write one transaction that the clients repeat, as for `pgbench -f`")
            .with_hint(format!("`etalon capture {name}` makes a capture of it, which `etalon run` replays")));
    }
    if !text.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--")) {
        return Err(CliError::user_error(format!("the script `{name}` is empty: it has no statement"))
            .with_hint("write one transaction, as for `pgbench -f`: `SELECT 1;`"));
    }
    Ok(text)
}

/// Tests whether a script's name is a statement of SQL.
fn is_statement(name: &str) -> bool {
    let mut words = name.split_whitespace();
    let verbs = ["select", "insert", "update", "delete", "with", "call", "values", "begin"];
    words.next().is_some_and(|first| verbs.contains(&first.to_lowercase().as_str())) && words.next().is_some()
}

/// Whether a text is a log that `etalon capture` reads, or most of its first lines begin with a date and time.
fn is_log(text: &str) -> bool {
    const SHAPE: &[u8] = b"0000-00-00 00:00";
    /// Tests whether a line begins with a date and time.
    fn begins_with_time(line: &str) -> bool {
        let line = line.trim_start_matches(['[', '"']).as_bytes();
        line.len() >= SHAPE.len()
            && line.iter().zip(SHAPE).all(|(byte, shape)| match shape {
                b'0' => byte.is_ascii_digit(),
                b' ' => matches!(byte, b' ' | b'T'),
                other => byte == other,
            })
    }
    let first: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).take(20).collect();
    let head = &text.as_bytes()[..text.len().min(logs::HEAD_BYTES as usize)];
    2 * first.iter().filter(|line| begins_with_time(line)).count() > first.len()
        || logs::recognise_log(head, None).is_some()
}

/// Writes a script's name as plans take it: `./NAME` for a file that nothing else marks as a path.
/// Plans recognise a path by its `/`, `\` or `.`.
fn as_path(name: &str, catalog: &Catalog) -> String {
    let is_told = words::built_in_script(name, catalog).is_some() || name.contains(['/', '\\', '.']);
    if is_told { name.to_owned() } else { format!("./{name}") }
}

/// The scripts' names without folders, endings and weights, joined by `-`, as plans name benchmarks.
fn stem_of(script: &str) -> String {
    script
        .split(',')
        .map(|part| {
            let name = part.trim().rsplit_once('@').map_or(part.trim(), |(name, _)| name);
            Path::new(name).file_stem().map_or_else(|| name.to_owned(), |stem| stem.to_string_lossy().into_owned())
        })
        .collect::<Vec<_>>()
        .join("-")
}

/// The value of a `--set` pair that has all benchmarks do one thing, such as `read`; `None` for any other pair.
fn op_of_all(pair: &str) -> Option<&str> {
    let (key, value) = pair.split_once('=')?;
    (key.trim() == "benchmarks.*.op").then_some(value.trim().trim_matches('"'))
}

/// Makes the benchmarks of disks: reads and writes of pages, and the log of commits; one alone where all would do the same.
fn disk_benchmarks(load: &Load) -> Asked {
    let usual: &[u32] = if load.p99.is_some() { &[CARRYING] } else { &[1, 32] };
    let depths = toml_list(&clients_or(&load.clients, usual));
    let paged = || std::iter::once(depth_key(&depths)).chain(load.promised_rate()).collect();
    if let Some(op) = &load.disk_op {
        let is_word = !op.is_empty() && op.chars().all(char::is_alphanumeric);
        let name = if is_word { op.as_str() } else { "blocks" };
        // The key is set like any other, with what else it needs.
        let benchmarks = vec![disk_bench(name, "read", "What `--set benchmarks.*.op` says.", paged())];
        return Asked { benchmarks, ..Asked::default() };
    }
    let mut benchmarks = vec![
        disk_bench("read-pages", "read", "Pages at random places: what a cache misses.", paged()),
        disk_bench("write-pages", "write", "Pages at random places: what a checkpoint writes.", paged()),
    ];
    if load.p99.is_none() {
        let log = vec![
            Key { name: "pattern", value: quote_toml("sequential"), about: "One block behind the other." },
            Key { name: "cache", value: quote_toml("none"), about: "Each write ends when it is durable." },
            depth_key("1"),
        ];
        benchmarks.push(disk_bench("write-log", "write", "What a commit waits for.", log));
    }
    Asked { benchmarks, ..Asked::default() }
}

/// Makes the key `depth`, the operations under way at a time.
fn depth_key(value: &str) -> Key {
    Key {
        name: "depth",
        value: value.to_owned(),
        about: "Operations under way at a time; each value is a case of its own.",
    }
}

/// Makes a benchmark of one kind of disk operation.
fn disk_bench(name: &str, op: &str, about: &'static str, more: Vec<Key>) -> Bench {
    let mut keys = vec![
        Key { name: "name", value: quote_toml(name), about },
        Key { name: "workload", value: quote_toml(DISK), about: "Blocks of files, without SQL." },
        Key { name: "op", value: quote_toml(op), about: "`read`, `write` or `mixed`." },
    ];
    keys.extend(more);
    keys.push(Key { name: "block_kb", value: "8".to_owned(), about: "The size of a page of most databases." });
    keys.push(Key { name: "size_mb", value: "256".to_owned(), about: "Of the file that étalon makes." });
    Bench { keys }
}
