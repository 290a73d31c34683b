//! The plan as written: known keys with the right types, not yet checked for meaning.
//!
//! Read by hand because serde's derive stops at the first error, and a user wants to see all of them.

use super::altered::{self, CHANGE, ChangeFile, UNDO};
use super::changes::QUICK;
use super::error::{Problems, quote};
use super::fleet::{self, CLIENTS_ON, COUPLES, ClientsFile, FleetFile};
use super::section::{Section, name_is_fit, text_of};
use super::setting::setting_fault;
use super::tree::{Data, Entry, Located, Node, Origin};
use super::{Connect, FEWEST_TO_JUDGE, MAX_ROUNDS, VolumePlan, volume};
use crate::catalog;
use crate::reset::Reset;
use crate::schedule::{Caches, OnError, Order, Stop};
use crate::share;
use crate::value::Value;

/// The keys at the top of a plan, in the order of the manual.
pub(super) const TOP_KEYS: [&str; 12] = [
    "name",
    "systems",
    "benchmarks",
    "schedule",
    "baseline",
    "margin",
    "level",
    "allow_unequal_durability",
    "allow_sequential_order",
    "allow_different_rows",
    QUICK,
    "fleet",
];
pub(super) const SYSTEM_KEYS: [&str; 9] =
    ["url", "server", "volume", "settings", "host", "price", "reset", CHANGE, UNDO];
pub(super) const SERVER_KEYS: [&str; 9] =
    ["engine", "version", "bin_dir", "folder", "connect", "pooler", "pool_mode", "pool_size", "optional"];
/// The most sessions that a private pooler may have.
pub(super) const MOST_POOLED: u32 = 10_000;
pub(super) const BENCHMARK_KEYS: [&str; 5] = ["name", "workload", "stands_for", CLIENTS_ON, COUPLES];
pub(super) const SCHEDULE_KEYS: [&str; 10] =
    ["rounds", "stop", "max_time", "warmup", "duration", "transactions", "order", "seed", "on_error", "caches"];
pub(super) const CONNECTS: [(&str, Connect); 2] = [("socket", Connect::Socket), ("tcp", Connect::Tcp)];
pub(super) const ORDERS: [(&str, Order); 2] = [("interleaved", Order::Interleaved), ("sequential", Order::Sequential)];
pub(super) const STOPS: [(&str, Stop); 3] = [("rows", Stop::Rows), ("all", Stop::All), ("never", Stop::Never)];
pub(super) const CACHES: [(&str, Caches); 2] = [("warmed", Caches::Warmed), ("cold", Caches::Cold)];
pub(super) const ON_ERRORS: [(&str, OnError); 2] = [("stop", OnError::Stop), ("continue", OnError::Continue)];

/// What is `None` was not written, or was reported.
pub(super) struct PlanFile {
    pub(super) name: Option<Located<String>>,
    pub(super) allow_unequal_durability: Option<bool>,
    pub(super) allow_sequential_order: Option<bool>,
    pub(super) allow_different_rows: Option<bool>,
    pub(super) baseline: Option<Located<String>>,
    pub(super) margin: Option<f64>,
    pub(super) level: Option<f64>,
    pub(super) systems: Vec<SystemFile>,
    pub(super) benchmarks: Vec<BenchmarkFile>,
    pub(super) schedule: ScheduleFile,
    pub(super) fleet: Option<FleetFile>,
}

pub(super) struct SystemFile {
    pub(super) name: String,
    pub(super) url: Option<Located<String>>,
    pub(super) server: Option<ServerFile>,
    pub(super) volume: Option<VolumePlan>,
    pub(super) settings: Vec<(String, Value)>,
    pub(super) host: Option<Located<String>>,
    pub(super) price: Option<Located<String>>,
    pub(super) reset: Option<Reset>,
    pub(super) change: Option<ChangeFile>,
}

pub(super) struct ServerFile {
    pub(super) engine: Option<Located<String>>,
    pub(super) version: Option<String>,
    pub(super) bin_dir: Option<String>,
    pub(super) folder: Option<String>,
    pub(super) connect: Option<Connect>,
    pub(super) pooler: Option<Located<String>>,
    pub(super) pool_mode: Option<Located<String>>,
    pub(super) pool_size: Option<u32>,
    pub(super) optional: Option<bool>,
}

/// `[[benchmarks]]`: the other keys are the workload's.
pub(super) struct BenchmarkFile {
    pub(super) at: Origin,
    /// The name as written, else from the script or the workload.
    pub(super) name: String,
    pub(super) workload: Option<Located<String>>,
    pub(super) stands_for: Option<String>,
    pub(super) clients: ClientsFile,
    pub(super) keys: Vec<Entry>,
}

/// How many rounds, as written.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    /// The fewest, of a range.
    pub(super) first: Option<u32>,
    pub(super) most: u32,
}

#[derive(Default)]
pub(super) struct ScheduleFile {
    pub(super) rounds: Option<Rounds>,
    pub(super) stop: Option<Located<Stop>>,
    pub(super) max_time: Option<Located<std::time::Duration>>,
    pub(super) warmup: Option<Located<std::time::Duration>>,
    pub(super) duration: Option<Located<std::time::Duration>>,
    pub(super) transactions: Option<u64>,
    pub(super) order: Option<Order>,
    pub(super) seed: Option<u64>,
    pub(super) on_error: Option<OnError>,
    pub(super) caches: Option<Caches>,
}

impl PlanFile {
    /// Reads a plan's tree into its sections, and reports what is wrong.
    pub(super) fn read(root: &[Entry], problems: &mut Problems<'_>) -> PlanFile {
        let top = Section { place: "the plan".to_owned(), entries: root };
        top.refuse_unknown(&TOP_KEYS, schedules_key, problems);
        PlanFile {
            name: top.text("name", problems),
            allow_unequal_durability: top.flag("allow_unequal_durability", problems),
            allow_sequential_order: top.flag("allow_sequential_order", problems),
            allow_different_rows: top.flag("allow_different_rows", problems),
            baseline: top.text("baseline", problems),
            margin: top.share("margin", share::MARGIN, problems),
            level: top.share("level", share::LEVEL, problems),
            systems: read_systems(&top, problems),
            benchmarks: read_benchmarks(&top, problems),
            schedule: read_schedule(&top, problems),
            fleet: top.get("fleet").and_then(|node| fleet::read_fleet(&top, node, problems)),
        }
    }
}

/// Finds a benchmark's name: its own, else that of its scripts, else its workload's.
/// Those of scripts are without folder and extension.
pub(super) fn benchmark_name(entries: &[Entry]) -> Option<String> {
    text_at(entries, "name")
        .or_else(|| {
            text_at(entries, "script").map(|script| {
                let stems: Vec<&str> = script.split(',').map(|part| file_stem(part.trim())).collect();
                stems.join(", ")
            })
        })
        .or_else(|| text_at(entries, "workload"))
}

/// Gives the text of a key; `None` if it is absent or no text.
fn text_at(entries: &[Entry], key: &str) -> Option<String> {
    match &super::tree::find_entry(entries, key)?.value.data {
        Data::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Gives a file's name without folder and extension.
pub(super) fn file_stem(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Lists names for a message, quoted: `a`, `b` and `c`.
pub(super) fn list_names(names: &[&str]) -> String {
    list_quoted(names, "and")
}

/// Lists names for a message, quoted: `a`, `b` or `c`.
pub(super) fn list_choices(names: &[&str]) -> String {
    list_quoted(names, "or")
}

/// Quotes the first 20 names in backticks, with a word before the last.
fn list_quoted(names: &[&str], before_last: &str) -> String {
    // A longer list would not be read.
    const SHOWN: usize = 20;
    let mut quoted: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{}`", quote(name))).collect();
    let last = match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => Some(format!("{more} more")),
        _ => quoted.pop(),
    };
    match (quoted.is_empty(), last) {
        (_, None) => "nothing".to_owned(),
        (true, Some(last)) => last,
        (false, Some(last)) => format!("{} {before_last} {last}", quoted.join(", ")),
    }
}

/// Makes the hint that a key belongs in `[schedule]`; `None` if it does not.
pub(super) fn schedules_key(key: &str) -> Option<String> {
    SCHEDULE_KEYS.contains(&key).then(|| format!("`{key}` belongs in `[schedule]`"))
}

/// Reads the systems; a plan without any is reported.
fn read_systems(top: &Section<'_>, problems: &mut Problems<'_>) -> Vec<SystemFile> {
    let tables = match top.get("systems") {
        None => {
            problems.add(&Origin::Whole, "the plan has no systems", system_example());
            return Vec::new();
        }
        Some(Node { data: Data::Table(tables), at }) => {
            if tables.is_empty() {
                problems.add(at, "the plan has no systems", system_example());
            }
            tables
        }
        Some(node) => {
            top.refuse::<()>("systems", node, "a table", Some("write `[systems.NAME]`".to_owned()), problems);
            return Vec::new();
        }
    };
    tables.iter().filter_map(|entry| read_system(entry, problems)).collect()
}

/// Makes the hint for a plan without systems.
fn system_example() -> Option<String> {
    Some("name at least one: `[systems.NAME]` with a `url`".to_owned())
}

/// Reads one system; `None` if it is no table.
fn read_system(entry: &Entry, problems: &mut Problems<'_>) -> Option<SystemFile> {
    let place = format!("system `{}`", quote(&entry.key));
    name_is_fit(&entry.key, "a system", &entry.at, problems);
    let Data::Table(entries) = &entry.value.data else {
        let top = Section { place: "`[systems]`".to_owned(), entries: &[] };
        let hint = format!("write `[systems.{}]`", quote(&entry.key));
        return top.refuse(&entry.key, &entry.value, "a table", Some(hint), problems);
    };
    let section = Section { place: place.clone(), entries };
    section.refuse_unknown(&SYSTEM_KEYS, |_| None, problems);
    match (section.get("url"), section.get("server")) {
        (url, server) if section.get("volume").is_some() => {
            if let Some(other) = url.or(server) {
                let hint = "a volume of étalon's is a system by itself: its files are made on it".to_owned();
                problems.add(
                    &other.at,
                    format!("{place} has a `volume`, and a `url` or `server` beside it"),
                    Some(hint),
                );
            }
        }
        (None, None) => {
            let hint = "give it a `url`, or a `server = { engine = \"…\" }` for étalon to start".to_owned();
            problems.add(&entry.at, format!("{place} has neither `url` nor `server`"), Some(hint));
        }
        (Some(_), Some(server)) => {
            let hint = "`url` is a database that runs already, `server` one that étalon starts".to_owned();
            problems.add(&server.at, format!("{place} has both `url` and `server`"), Some(hint));
        }
        _ => {}
    }
    Some(SystemFile {
        name: entry.key.clone(),
        url: section.text("url", problems),
        server: section.get("server").and_then(|node| read_server(&section, node, problems)),
        volume: section.get("volume").and_then(|node| volume::read_volume(&section, node, problems)),
        settings: read_settings(&section, problems),
        host: section.text("host", problems),
        price: section.text("price", problems),
        reset: section.choice("reset", &Reset::WORDS, problems),
        change: altered::read_system_change(&section, problems),
    })
}

/// Reads a system's private server; `None` if it is no table.
fn read_server(system: &Section<'_>, node: &Node, problems: &mut Problems<'_>) -> Option<ServerFile> {
    let Data::Table(entries) = &node.data else {
        let hint = Some("write `server = { engine = \"…\" }`".to_owned());
        return system.refuse("server", node, "a table", hint, problems);
    };
    let section = Section { place: format!("`server` of {}", system.place), entries };
    section.refuse_unknown(&SERVER_KEYS, |_| None, problems);
    if section.get("engine").is_none() {
        let hint = "write `server = { engine = \"…\" }`".to_owned();
        problems.add(&node.at, format!("{} has no `engine`", section.place), Some(hint));
    }
    Some(ServerFile {
        engine: section.text("engine", problems),
        version: read_version(&section, problems),
        bin_dir: section.text("bin_dir", problems).map(|text| text.value),
        folder: section.text("folder", problems).map(|text| text.value),
        connect: section.choice("connect", &CONNECTS, problems),
        pooler: section.text("pooler", problems),
        pool_mode: section.text("pool_mode", problems),
        pool_size: section
            .whole_number("pool_size", 1, MOST_POOLED.into(), problems)
            .and_then(|size| size.try_into().ok()),
        optional: section.flag("optional", problems),
    })
}

/// Reads the version of a release, numbers with dots between them; another value is reported.
fn read_version(section: &Section<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let node = section.get("version")?;
    match text_of(node, problems) {
        Some(text) if catalog::is_release(&text) => Some(text),
        _ => {
            let hint = "write it as a string: `version = \"18\"`, or `\"10.11\"`".to_owned();
            section.refuse("version", node, "the number of a release", Some(hint), problems)
        }
    }
}

/// Reads a system's settings into a flat list.
fn read_settings(system: &Section<'_>, problems: &mut Problems<'_>) -> Vec<(String, Value)> {
    let mut list = Vec::new();
    let section = Section { place: format!("`settings` of {}", system.place), entries: &[] };
    match system.get("settings") {
        None => {}
        Some(Node { data: Data::Table(entries), .. }) => flatten_settings("", entries, &section, &mut list, problems),
        Some(node) => {
            system.refuse::<()>("settings", node, "a table", None, problems);
        }
    }
    list
}

/// Collects settings into a flat list, the names of nested tables joined by dots; unfit ones are reported.
/// PostgreSQL has settings with a dot in the name, and TOML reads `pg_hint_plan.debug_print = "on"` as a table.
fn flatten_settings(
    prefix: &str,
    entries: &[Entry],
    section: &Section<'_>,
    list: &mut Vec<(String, Value)>,
    problems: &mut Problems<'_>,
) {
    for entry in entries {
        let name = format!("{prefix}{}", entry.key);
        if !name_is_fit(&entry.key, "a setting", &entry.at, problems) {
            continue;
        }
        let node = &entry.value;
        let value = match &node.data {
            Data::Bool(b) => Some(Value::Bool(*b)),
            Data::Int(n) => i64::try_from(*n).ok().map(Value::Int),
            Data::Float(x) => Some(Value::Float(*x)),
            Data::Text(text) => Some(Value::Text(text.clone())),
            Data::Date => text_of(node, problems).map(Value::Text),
            Data::Table(inner) => {
                flatten_settings(&format!("{name}."), inner, section, list, problems);
                continue;
            }
            Data::List(_) | Data::Reported => None,
        };
        match value {
            Some(value) => match setting_fault(&name, &value) {
                Some(fault) => problems.add(&node.at, format!("the setting `{}`: {fault}", name.escape_debug()), None),
                None => list.push((name, value)),
            },
            None => {
                section.refuse::<()>(&name, node, "a string, a number or a boolean", None, problems);
            }
        }
    }
}

/// Reads the benchmarks; a plan without any is reported.
fn read_benchmarks(top: &Section<'_>, problems: &mut Problems<'_>) -> Vec<BenchmarkFile> {
    let items = match top.get("benchmarks") {
        None => {
            let hint = "name at least one: `[[benchmarks]]` with a `workload`".to_owned();
            problems.add(&Origin::Whole, "the plan has no benchmarks", Some(hint));
            return Vec::new();
        }
        Some(Node { data: Data::List(items), at }) => {
            if items.is_empty() {
                problems.add(at, "the plan has no benchmarks", None);
            }
            items
        }
        Some(node) => {
            let hint = Some("write `[[benchmarks]]`, with two brackets".to_owned());
            top.refuse::<()>("benchmarks", node, "a list of tables", hint, problems);
            return Vec::new();
        }
    };
    items.iter().enumerate().filter_map(|(index, node)| read_benchmark(index, node, problems)).collect()
}

/// Reads one benchmark; `None` if it is no table.
fn read_benchmark(index: usize, node: &Node, problems: &mut Problems<'_>) -> Option<BenchmarkFile> {
    let Data::Table(entries) = &node.data else {
        let section = Section { place: "the list of benchmarks".to_owned(), entries: &[] };
        return section.refuse(&index.to_string(), node, "a table", None, problems);
    };
    let named = benchmark_name(entries);
    let name = named.clone().unwrap_or_default();
    // Counted from 0, as in `--set benchmarks.0.clients=…`.
    let place = named.as_ref().map_or(format!("benchmark {index}"), |name| format!("benchmark `{}`", quote(name)));
    let section = Section { place, entries };
    if section.get("workload").is_none() {
        let hint = "add `workload = \"…\"`; `etalon list` shows them".to_owned();
        problems.add(&node.at, format!("{} has no `workload`", section.place), Some(hint));
    }
    // A name that is no string is reported here; its benchmark goes on under its workload's name.
    let written = section.text("name", problems).map(|text| text.value);
    let name_at = section.get("name").map_or(&node.at, |name| &name.at);
    if named.is_some() {
        name_is_fit(&name, "a benchmark", name_at, problems);
    }
    Some(BenchmarkFile {
        at: name_at.clone(),
        name: written.unwrap_or(name),
        workload: section.text("workload", problems),
        stands_for: section.text("stands_for", problems).map(|text| text.value),
        clients: fleet::read_clients(&section, problems),
        keys: entries.iter().filter(|entry| !BENCHMARK_KEYS.contains(&entry.key.as_str())).cloned().collect(),
    })
}

/// Reads the schedule; empty if it is absent.
fn read_schedule(top: &Section<'_>, problems: &mut Problems<'_>) -> ScheduleFile {
    let entries = match top.get("schedule") {
        None => return ScheduleFile::default(),
        Some(Node { data: Data::Table(entries), .. }) => entries,
        Some(node) => {
            top.refuse::<()>("schedule", node, "a table", Some("write `[schedule]`".to_owned()), problems);
            return ScheduleFile::default();
        }
    };
    let section = Section { place: "`[schedule]`".to_owned(), entries };
    section.refuse_unknown(&SCHEDULE_KEYS, |_| None, problems);
    if let (Some(duration), Some(transactions)) = (section.get("duration"), section.get("transactions")) {
        let later = if comes_after(&duration.at, &transactions.at) { duration } else { transactions };
        let hint = "a run ends after a time or after a number of transactions: keep one of them".to_owned();
        problems.add(&later.at, "`[schedule]` has both `duration` and `transactions`", Some(hint));
    }
    ScheduleFile {
        rounds: read_rounds(&section, problems),
        stop: section
            .get("stop")
            .and_then(|node| Some(Located { value: section.choice("stop", &STOPS, problems)?, at: node.at.clone() })),
        max_time: section.duration("max_time", problems),
        warmup: section.duration("warmup", problems),
        duration: section.duration("duration", problems),
        transactions: section.whole_number("transactions", 1, i64::MAX.unsigned_abs(), problems),
        order: section.choice("order", &ORDERS, problems),
        seed: section.whole_number("seed", 0, u64::MAX, problems),
        on_error: section.choice("on_error", &ON_ERRORS, problems),
        caches: section.choice("caches", &CACHES, problems),
    }
}

/// Reads the number or range of rounds: `10`, or `"6..60"` for as many as it takes to be sure.
fn read_rounds(section: &Section<'_>, problems: &mut Problems<'_>) -> Option<Rounds> {
    let node = section.get("rounds")?;
    let Data::Text(text) = &node.data else {
        let most = section.whole_number("rounds", 1, MAX_ROUNDS, problems)?;
        return Some(Rounds { first: None, most: u32::try_from(most).ok()? });
    };
    let written = text.split_once("..").map(|(first, most)| (first.trim().parse(), most.trim().parse()));
    let Some((Ok(first), Ok(most))) = written else {
        let expected = format!("a whole number from 1 to {MAX_ROUNDS}, or a range such as `\"{FEWEST_TO_JUDGE}..60\"`");
        return section.refuse("rounds", node, &expected, None, problems);
    };
    let refusal = if first > most {
        Some(format!("`rounds` in `[schedule]` is `{}`: the fewest are more than the most", quote(text)))
    } else if first < FEWEST_TO_JUDGE {
        Some(format!(
            "`rounds` in `[schedule]` is `{}`: a verdict takes {FEWEST_TO_JUDGE} rounds at least",
            quote(text)
        ))
    } else if u64::from(most) > MAX_ROUNDS {
        Some(format!("`rounds` in `[schedule]` is `{}`: at most {MAX_ROUNDS}", quote(text)))
    } else {
        None
    };
    match refusal {
        Some(message) => {
            problems.add(
                &node.at,
                message,
                Some(format!("write a number, or a range such as `\"{FEWEST_TO_JUDGE}..60\"`")),
            );
            None
        }
        None => Some(Rounds { first: Some(first), most }),
    }
}

/// Whether one place stands after another; the command line is after the file.
fn comes_after(a: &Origin, b: &Origin) -> bool {
    match (a, b) {
        (Origin::File(a), Origin::File(b)) => a > b,
        (Origin::Set(_) | Origin::System(_), Origin::File(_)) => true,
        _ => false,
    }
}
