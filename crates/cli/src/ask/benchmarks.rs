//! What is asked of systems unless something else is: the benchmarks of a question.

use std::fmt::Write as _;
use std::path::Path;

use model::Catalog;
use model::near::did_you_mean;

use super::quoted;
use super::words::{self, ScriptKind};
use crate::error::CliError;
use crate::source::DISK;

const MOST_CLIENTS: u32 = 100_000;
/// A load that queues where one client has a turn at once, with two clients a core.
const FEWEST_BUSY: u32 = 4;
const MOST_BUSY: u32 = 64;

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

pub struct Asked {
    pub benchmarks: Vec<Bench>,
    /// Names of benchmarks.
    pub on_tables_of_the_user: Vec<String>,
    pub notes: Vec<String>,
}

impl Bench {
    /// The keys as TOML; keys that are not among `explained` yet have a comment.
    pub fn text(&self, explained: &mut Vec<&'static str>) -> String {
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

/// The benchmarks of a workload.
///
/// # Errors
/// There is no such script, it is empty, a number of clients is none.
pub fn for_workload(
    workload: &str,
    scripts: &[String],
    clients: &[String],
    catalog: &Catalog,
) -> Result<Asked, CliError> {
    let clients = counts(clients)?;
    match workload {
        DISK if scripts.is_empty() => Ok(blocks(clients)),
        DISK => Err(CliError::user(format!("`{}` is a script of SQL, and the systems are disks", scripts[0])).hint(
            "leave the script out: disks are read and written in blocks; `--clients 1,32` says how many at a time",
        )),
        _ => transactions(scripts, clients, catalog),
    }
}

/// Each once.
fn counts(written: &[String]) -> Result<Vec<u32>, CliError> {
    let mut counts = Vec::new();
    for text in written {
        let count = text.trim().parse().ok().filter(|count| (1..=MOST_CLIENTS).contains(count)).ok_or_else(|| {
            CliError::user(format!("`--clients {text}`: a number of clients is from 1 to {MOST_CLIENTS}"))
                .hint("give one or several, as in `--clients 1,8`")
        })?;
        if !counts.contains(&count) {
            counts.push(count);
        }
    }
    Ok(counts)
}

fn list(counts: &[u32]) -> String {
    match counts {
        [one] => one.to_string(),
        many => format!("[{}]", many.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn transactions(scripts: &[String], clients: Vec<u32>, catalog: &Catalog) -> Result<Asked, CliError> {
    let busy = busy_clients();
    // What a commit takes, what many commits are worth together, and what reading takes: more cases take longer to be sure of.
    let usual = [("tpcb-like", clients_or(&clients, &[1, busy])), ("select-only", clients_or(&clients, &[busy]))];
    let scripts: Vec<(&str, Vec<u32>)> = match scripts {
        [] => usual.into(),
        scripts => scripts.iter().map(|script| (script.as_str(), clients_or(&clients, &[1, busy]))).collect(),
    };
    let mut asked = Asked { benchmarks: Vec::new(), on_tables_of_the_user: Vec::new(), notes: Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for (script, clients) in scripts {
        let script = checked(script, catalog)?;
        let stem = stem_of(&script.text);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let name = std::iter::once(stem.clone()).chain(numbered).find(|name| !names.contains(name)).unwrap_or_default();
        asked.notes.extend(script.note(&name));
        if script.tables == TablesOf::User {
            asked.on_tables_of_the_user.push(name.clone());
        }
        asked.benchmarks.push(Bench { keys: script.keys(&name, &clients) });
        names.push(name);
    }
    Ok(asked)
}

fn clients_or(clients: &[u32], usual: &[u32]) -> Vec<u32> {
    if clients.is_empty() { usual.to_vec() } else { clients.to_vec() }
}

/// More than there are cores.
fn busy_clients() -> u32 {
    let cores = u32::try_from(host::cpu::available_cores()).unwrap_or(1);
    (2 * cores).clamp(FEWEST_BUSY, MOST_BUSY)
}

impl ScriptKind {
    fn about(self) -> &'static str {
        match self {
            ScriptKind::Sql => "Scripts in pgbench's language, by many clients.",
            ScriptKind::Smack => "Scripts in super-smack's language.",
        }
    }
}

/// Whose tables a script works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TablesOf {
    /// pgbench's, which étalon makes.
    Own,
    /// The user's.
    User,
    /// It makes them itself.
    Script,
}

struct Script {
    text: String,
    kind: ScriptKind,
    tables: TablesOf,
}

impl Script {
    fn keys(&self, name: &str, clients: &[u32]) -> Vec<Key> {
        let mut keys = vec![
            Key { name: "name", value: quoted(name), about: "As it is called in the results." },
            Key { name: "workload", value: quoted(self.kind.workload()), about: self.kind.about() },
            Key {
                name: "script",
                value: quoted(&self.text),
                about: "Built in, or the path of a file. `\"a.sql@9, b.sql\"` mixes two by weights.",
            },
            Key {
                name: "clients",
                value: list(clients),
                about: "At the same time, each on a connection of its own. Each value is a case.",
            },
        ];
        let tables = |value: &str, about| Key { name: "tables", value: quoted(value), about };
        match self.tables {
            TablesOf::Own => keys.push(Key {
                name: "scale",
                value: "1".to_owned(),
                about: "100,000 accounts and a branch for each step; clients beyond it wait for one another.",
            }),
            TablesOf::User => {
                keys.push(tables("none", "It works on tables that are there; `\"own\"` makes pgbench's."))
            }
            TablesOf::Script => {}
        }
        keys
    }

    /// Whose tables it works on, where that was found out.
    fn note(&self, name: &str) -> Option<String> {
        let is_file = self.text.contains(['/', '\\', '.']);
        (is_file && self.tables == TablesOf::Own).then(|| {
            format!(
                "{name} names pgbench's tables: étalon makes its own, at scale 1; `--set benchmarks.{}.tables=none` works on \
                 yours",
                super::quoted_key(name)
            )
        })
    }
}

/// A script that is there and not empty.
fn checked(script: &str, catalog: &Catalog) -> Result<Script, CliError> {
    if kind_of(script, catalog) == ScriptKind::Smack {
        if words::built_in_script(script, catalog).is_none() {
            contents(script, catalog)?;
        }
        return Ok(Script { text: as_path(script, catalog), kind: ScriptKind::Smack, tables: TablesOf::Script });
    }
    let own = workloads::transactions::pgbench_tables(1);
    let (mut parts, mut tables) = (Vec::new(), TablesOf::User);
    for part in script.split(',').map(str::trim) {
        let (name, weight) = match part.rsplit_once('@') {
            Some((name, weight)) if weight.bytes().all(|byte| byte.is_ascii_digit()) => (name, format!("@{weight}")),
            _ => (part, String::new()),
        };
        let is_built_in = words::built_in_script(name, catalog).is_some();
        if is_built_in
            || own
                .tables
                .iter()
                .any(|table| contents(name, catalog).is_ok_and(|text| text.contains(table.name.as_ref())))
        {
            tables = TablesOf::Own;
        } else {
            contents(name, catalog)?;
        }
        parts.push(format!("{}{weight}", as_path(name, catalog)));
    }
    Ok(Script { text: parts.join(", "), kind: ScriptKind::Sql, tables })
}

fn kind_of(name: &str, catalog: &Catalog) -> ScriptKind {
    match words::built_in_script(name, catalog) {
        Some(kind) => kind,
        None if words::ending(name) == "smack" => ScriptKind::Smack,
        None => ScriptKind::Sql,
    }
}

/// What is in a script's file.
fn contents(name: &str, catalog: &Catalog) -> Result<String, CliError> {
    let bytes = words::read_text(name).map_err(|error| {
        let kinds = [ScriptKind::Sql, ScriptKind::Smack];
        let known: Vec<&str> =
            kinds.into_iter().flat_map(|kind| words::built_in_scripts(kind, catalog).iter().copied()).collect();
        let error = CliError::user(format!("cannot read the script `{name}`: {error}"));
        error.hint(did_you_mean(name, known.iter().copied()).unwrap_or_else(|| {
            format!("name a file in pgbench's or super-smack's language, or a built-in script: {}", known.join(", "))
        }))
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if !text.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--")) {
        return Err(CliError::user(format!("the script `{name}` is empty: it has no statement"))
            .hint("write one transaction, as for `pgbench -f`: `SELECT 1;`"));
    }
    Ok(text)
}

/// Plans recognise a path by its `/`, `\` or `.`.
fn as_path(name: &str, catalog: &Catalog) -> String {
    let is_told = words::built_in_script(name, catalog).is_some() || name.contains(['/', '\\', '.']);
    if is_told { name.to_owned() } else { format!("./{name}") }
}

/// The script's name without folders and endings, as plans name benchmarks.
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

/// What databases ask of a disk: reads and writes of pages, and the log of commits.
fn blocks(depths: Vec<u32>) -> Asked {
    let depths = list(if depths.is_empty() { &[1, 32] } else { &depths });
    let log = vec![
        Key { name: "pattern", value: quoted("sequential"), about: "One block behind the other." },
        Key { name: "cache", value: quoted("none"), about: "Each write ends when it is durable." },
        depth_key("1"),
    ];
    let benchmarks = vec![
        bench("read-pages", "read", "Pages at random places: what a cache misses.", vec![depth_key(&depths)]),
        bench("write-pages", "write", "Pages at random places: what a checkpoint writes.", vec![depth_key(&depths)]),
        bench("write-log", "write", "What a commit waits for.", log),
    ];
    Asked { benchmarks, on_tables_of_the_user: Vec::new(), notes: Vec::new() }
}

fn depth_key(value: &str) -> Key {
    Key {
        name: "depth",
        value: value.to_owned(),
        about: "Operations under way at a time; each value is a case of its own.",
    }
}

fn bench(name: &str, op: &str, about: &'static str, more: Vec<Key>) -> Bench {
    let mut keys = vec![
        Key { name: "name", value: quoted(name), about },
        Key { name: "workload", value: quoted(DISK), about: "Blocks of files, without SQL." },
        Key { name: "op", value: quoted(op), about: "`read`, `write` or `mixed`." },
    ];
    keys.extend(more);
    keys.push(Key { name: "block_kb", value: "8".to_owned(), about: "The size of a page of most databases." });
    keys.push(Key { name: "size_mb", value: "256".to_owned(), about: "Of the file that étalon makes." });
    Bench { keys }
}
