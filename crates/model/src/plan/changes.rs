use std::time::Duration;

use super::error::{Problems, quote};
use super::set;
use super::tree::{Data, Entry, Node, Origin, find_entry};
use crate::catalog::{Catalog, EngineSpec, OwnSystem};
use crate::{Schedule, duration};

const SCHEDULE: &str = "schedule";
/// The table of a plan with the changes that `--quick` makes.
pub(super) const QUICK: &str = "quick";

#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub form: Form,
    /// They replace the plan's systems; empty: the plan's own.
    pub systems: Vec<NamedSystem>,
    /// Paths with values: `schedule.rounds`, `systems.NAME.settings.fsync`, `benchmarks.*.clients` (benchmarks by
    /// name, by number from 0, or all). A value is TOML, else a bare string. A later one wins.
    pub set: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub struct NamedSystem {
    /// A system of the plan with this name keeps the rest of what the plan says of it, except settings of another
    /// engine.
    pub name: String,
    /// A URL, or what [`Catalog::own_system`] knows. Without one it is the plan's system of that name, else what the name
    /// stands for by itself.
    pub url: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    #[default]
    Whole,
    /// Changed by its table `[quick]`: to see it work, not to publish it.
    Quick,
}

/// Applies the changes of the command line to a plan's tree.
pub(super) fn apply_changes(root: &mut Vec<Entry>, changes: &Changes, catalog: &Catalog, problems: &mut Problems<'_>) {
    let written = engines_of_systems(root, catalog);
    let quick = root.iter().position(|entry| entry.key == QUICK).map(|at| root.remove(at));
    match (changes.form, quick) {
        (Form::Whole, None) => {}
        (Form::Whole, Some(quick)) => {
            // A mistake in `[quick]` is reported whenever the plan is read.
            set::apply_table(&mut root.clone(), &quick, problems);
        }
        (Form::Quick, Some(quick)) => set::apply_table(root, &quick, problems),
        (Form::Quick, None) => shorten_plan(root, problems),
    }
    if !changes.systems.is_empty() {
        replace_systems(root, &changes.systems, catalog, problems);
    }
    set::apply_overrides(root, &changes.set, catalog, problems);
    forget_settings(root, &written, catalog);
}

/// Changes a plan without a quick form of its own to one round of short runs, and notes it.
fn shorten_plan(root: &mut Vec<Entry>, problems: &mut Problems<'_>) {
    const ROUNDS: i128 = 1;
    const WARMUP: Duration = Duration::from_millis(100);
    const LENGTH: Duration = Duration::from_secs(1);
    const TRANSACTIONS: i128 = 50;
    let schedule = match root.iter().position(|entry| entry.key == SCHEDULE) {
        Some(at) => at,
        None => {
            let value = Node { at: Origin::Whole, data: Data::Table(Vec::new()) };
            root.push(Entry { key: SCHEDULE.to_owned(), at: Origin::Whole, value });
            root.len() - 1
        }
    };
    shorten_benchmarks(root, LENGTH);
    // What is no table is reported later.
    let Data::Table(keys) = &mut root[schedule].value.data else { return };
    set::drop_keys_of_range(keys);
    let counts = find_entry(keys, "transactions").is_some();
    let mut set = |key: &str, is_short: &dyn Fn(&Data) -> bool, short: Data| {
        let at = Origin::Whole;
        match keys.iter_mut().find(|entry| entry.key == key) {
            Some(entry) if is_short(&entry.value.data) => {}
            Some(entry) => entry.value.data = short,
            None => keys.push(Entry { key: key.to_owned(), at: at.clone(), value: Node { at, data: short } }),
        }
    };
    set("rounds", &is_at_most(ROUNDS), Data::Int(ROUNDS));
    set("warmup", &is_within(WARMUP), Data::Text(duration::format(WARMUP)));
    let length = if counts {
        set("transactions", &is_at_most(TRANSACTIONS), Data::Int(TRANSACTIONS));
        format!("{TRANSACTIONS} transactions")
    } else {
        set("duration", &is_within(LENGTH), Data::Text(duration::format(LENGTH)));
        duration::format(LENGTH)
    };
    problems.note(format!(
        "the plan has no table `[quick]`: its quick form is {ROUNDS} round of runs of at most {length}, which shows that it runs \
         and gives no verdicts"
    ));
}

/// Makes a test of whether a value is a length of time of at most `most`.
fn is_within(most: Duration) -> impl Fn(&Data) -> bool {
    move |data: &Data| matches!(data, Data::Text(text) if duration::parse(text).is_ok_and(|length| length <= most))
}

/// Makes a test of whether a value is an integer of at most `most`.
fn is_at_most(most: i128) -> impl Fn(&Data) -> bool {
    move |data: &Data| matches!(data, Data::Int(n) if *n <= most)
}

/// Shortens the lengths that benchmarks have of their own to `most`.
fn shorten_benchmarks(root: &mut [Entry], most: Duration) {
    let benchmarks = root.iter_mut().find(|entry| entry.key == "benchmarks").map(|entry| &mut entry.value.data);
    let Some(Data::List(benchmarks)) = benchmarks else { return };
    for benchmark in benchmarks {
        let Data::Table(keys) = &mut benchmark.data else { continue };
        let own = keys.iter_mut().find(|entry| entry.key == Schedule::OWN_LENGTH).map(|entry| &mut entry.value.data);
        if let Some(Data::Text(text)) = own
            && duration::parse(text).is_ok_and(|length| length > most)
        {
            *text = duration::format(most);
        }
    }
}

/// Lists the systems with their engines, where their keys name one.
fn engines_of_systems(root: &[Entry], catalog: &Catalog) -> Vec<(String, &'static str)> {
    let Some(Data::Table(systems)) = find_entry(root, "systems").map(|entry| &entry.value.data) else {
        return Vec::new();
    };
    systems
        .iter()
        .filter_map(|system| match &system.value.data {
            Data::Table(keys) => engine_of(keys, catalog).map(|engine| (system.key.clone(), engine.name)),
            _ => None,
        })
        .collect()
}

/// Finds the engine of a system by its URL or its server.
fn engine_of<'c>(keys: &[Entry], catalog: &'c Catalog) -> Option<&'c EngineSpec> {
    match (text_of(keys, "url"), find_entry(keys, "server").map(|entry| &entry.value.data)) {
        (Some(url), _) => catalog.engine_of_url(url),
        (None, Some(Data::Table(server))) => text_of(server, "engine").and_then(|name| catalog.engine_of_server(name)),
        _ => None,
    }
}

/// The text of a key; `None` if it is absent or no text.
fn text_of<'e>(keys: &'e [Entry], key: &str) -> Option<&'e str> {
    match &find_entry(keys, key)?.value.data {
        Data::Text(text) => Some(text),
        _ => None,
    }
}

/// Drops the plan's settings of systems whose engine changed from `written`. What the command line sets stays.
fn forget_settings(root: &mut [Entry], written: &[(String, &'static str)], catalog: &Catalog) {
    let changed: Vec<String> = engines_of_systems(root, catalog)
        .into_iter()
        .filter(|(name, engine)| written.iter().any(|(before, was)| before == name && was != engine))
        .map(|(name, _)| name)
        .collect();
    let Some(Data::Table(systems)) = root.iter_mut().find(|entry| entry.key == "systems").map(|e| &mut e.value.data)
    else {
        return;
    };
    for system in systems.iter_mut().filter(|system| changed.contains(&system.key)) {
        if let Data::Table(keys) = &mut system.value.data
            && let Some(settings) = keys.iter_mut().find(|entry| entry.key == "settings")
            && let Data::Table(settings) = &mut settings.value.data
        {
            settings.retain(|setting| !matches!(setting.value.at, Origin::File(_) | Origin::Whole));
        }
    }
}

/// Replaces the plan's systems by those named on the command line.
fn replace_systems(root: &mut Vec<Entry>, named: &[NamedSystem], catalog: &Catalog, problems: &mut Problems<'_>) {
    let written = root.iter().position(|entry| entry.key == "systems").map(|at| root.remove(at));
    let written = match written.map(|entry| entry.value.data) {
        Some(Data::Table(systems)) => systems,
        _ => Vec::new(),
    };
    let mut systems: Vec<Entry> = Vec::new();
    for (index, NamedSystem { name, url }) in named.iter().enumerate() {
        let at = Origin::System(index);
        let known = find_entry(&written, name);
        if find_entry(&systems, name).is_some() {
            problems.add(&at, format!("the system `{}` is named twice", quote(name)), None);
        } else if url.is_none() && known.is_none() && catalog.own_system(name).is_none() {
            let names: Vec<&str> = written.iter().map(|entry| entry.key.as_str()).collect();
            let refusal = set::unknown_name_refusal("system", name, &names);
            let hint = refusal.hint.map(|hint| format!("{hint}; one of your own is written `NAME=URL`"));
            problems.add(&at, refusal.message, hint);
        } else {
            let mut entry = known.cloned().unwrap_or_else(|| new_system(name, &at));
            let place = url.as_deref().or(known.is_none().then_some(name));
            if let (Some(place), Data::Table(keys)) = (place, &mut entry.value.data) {
                // What the plan says of a private server or a volume is not about this one.
                keys.retain(|key| !["url", "server", "volume"].contains(&key.key.as_str()));
                keys.push(place_entry(place, &at, catalog));
            }
            systems.push(entry);
        }
    }
    note_lost_settings(&written, &systems, problems);
    // A baseline that does not take part is none.
    root.retain(|entry| match &entry.value.data {
        Data::Text(name) if entry.key == "baseline" => {
            find_entry(&systems, name).is_some() || find_entry(&written, name).is_none()
        }
        _ => true,
    });
    let value = Node { at: Origin::Whole, data: Data::Table(systems) };
    root.push(Entry { key: "systems".to_owned(), at: Origin::Whole, value });
}

/// Notes the settings of the plan's systems that take no part: they may be what the plan is about.
fn note_lost_settings(written: &[Entry], systems: &[Entry], problems: &mut Problems<'_>) {
    for Entry { key: name, value, .. } in written.iter().filter(|entry| find_entry(systems, &entry.key).is_none()) {
        let Data::Table(keys) = &value.data else { continue };
        let Some(Data::Table(settings)) = find_entry(keys, "settings").map(|entry| &entry.value.data) else { continue };
        let settings: Vec<&str> = settings.iter().map(|setting| setting.key.as_str()).collect();
        if !settings.is_empty() {
            problems.note(format!(
                "the plan's system `{}` takes no part, so that its settings are not measured ({}): `--system {}=URL` gives \
                 a system of yours its name and its settings",
                quote(name),
                settings.join(", "),
                quote(name)
            ));
        }
    }
}

/// Makes the `url` or the `server` entry of a system from what the command line names.
fn place_entry(place: &str, at: &Origin, catalog: &Catalog) -> Entry {
    match catalog.own_system(place) {
        Some(OwnSystem::Server { engine, version }) => {
            let version = version.map(|version| make_entry("version", Data::Text(version), at));
            let keys = [make_entry("engine", Data::Text(engine.to_owned()), at)].into_iter().chain(version).collect();
            make_entry("server", Data::Table(keys), at)
        }
        Some(OwnSystem::Url(url)) => make_entry("url", Data::Text(url.to_owned()), at),
        Some(OwnSystem::Nothing(_)) | None => make_entry("url", Data::Text(place.to_owned()), at),
    }
}

/// Makes an entry that came from this place.
fn make_entry(key: &str, data: Data, at: &Origin) -> Entry {
    Entry { key: key.to_owned(), at: at.clone(), value: Node { at: at.clone(), data } }
}

/// Makes a system without keys.
fn new_system(name: &str, at: &Origin) -> Entry {
    Entry { key: name.to_owned(), at: at.clone(), value: Node { at: at.clone(), data: Data::Table(Vec::new()) } }
}
