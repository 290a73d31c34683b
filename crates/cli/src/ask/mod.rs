//! One's own question: from systems and scripts on the command line to the text of a plan, as `etalon init` writes it.

mod benchmarks;
pub mod change;
mod counts;
pub mod fit;
mod names;
mod settings;
mod tables;
pub mod words;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use conductor::Registry;
use model::catalog::OwnSystem;
use model::plan::{Changes, NamedSystem, PrivateServer, without_password};
use model::{Catalog, Plan, SystemPlan, duration};

use self::benchmarks::Asked;
use self::fit::{Fitted, Fixed};
use self::words::{ScriptKind, SystemWord, Word};
use crate::args::guessed::{self, typed_line};
use crate::args::{Question, States};
use crate::error::CliError;
use crate::source::{DISK, plan_errors};

/// Whether passwords of URLs are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passwords {
    /// Passwords stay, in a plan in memory for this run.
    Kept,
    /// Passwords are left out, in a file.
    LeftOut,
}

/// A plan that was made of a question.
#[derive(Clone, Debug)]
pub struct Made {
    pub text: String,
    pub notes: Vec<String>,
}

/// Names the systems that arguments give; one that names a system of the plan has only its name, and no URL.
///
/// # Errors
/// An argument leads nowhere.
pub fn named_systems(arguments: &[String], registry: &Registry) -> Result<Vec<NamedSystem>, CliError> {
    let catalog = registry.catalog();
    let mut words: Vec<SystemWord> = Vec::new();
    let mut bare = Vec::new();
    for argument in arguments {
        bare.push(is_plain_name(argument));
        words.push(match words::parse_system(argument, &catalog) {
            _ if is_plain_name(argument) => SystemWord { label: Some(argument.clone()), place: String::new() },
            Ok(Some(word)) => word,
            // The plan's own checks report what is no URL at all.
            _ => match argument.split_once('=') {
                Some((name, place)) if is_plain_name(name) => {
                    SystemWord { label: Some(name.to_owned()), place: place.to_owned() }
                }
                _ => SystemWord { label: None, place: argument.clone() },
            },
        });
    }
    let names = assign_names(&words, registry);
    let named = names.into_iter().zip(words).zip(bare);
    Ok(named.map(|((name, word), bare)| NamedSystem { name, url: (!bare).then_some(word.place) }).collect())
}

/// Tests whether a text is neither a URL nor a path.
fn is_plain_name(text: &str) -> bool {
    !text.is_empty() && !text.contains([':', '/', '?', '@', '='])
}

/// Makes the text of the plan that runs a question's systems and scripts, with notes; `set` is applied to it later.
///
/// # Errors
/// No system is named, one is named twice, there is no such script, the systems have no benchmark in common, the time is
/// too short.
pub fn make_plan(
    question: &Question,
    set: &[String],
    registry: &Registry,
    passwords: Passwords,
) -> Result<Made, CliError> {
    let catalog = registry.catalog();
    let Sides { systems, scripts, queries, captures, notes } = split_question(question, &catalog)?;
    refuse_none(&systems, scripts.iter().chain(&queries).chain(&captures).next())?;
    refuse_twice(&systems, question.states.has_settings(), set, &catalog)?;
    let (systems, keys): (Vec<_>, Vec<_>) = split_into_states(&question.states, systems)?.into_iter().unzip();
    let names = assign_names(&systems, registry);
    let workload = workload_of(&systems, registry)?;
    let load = benchmarks::Load::from_question(question, set)?;
    let asked = match (captures.as_slice(), queries.as_slice(), question.pace.as_deref()) {
        ([], _, Some(pace)) => return Err(benchmarks::pace_without_capture(pace)),
        ([], [], None) => benchmarks::for_workload(workload, &scripts, &load, &catalog)?,
        ([], queries, None) => benchmarks::for_queries(workload, queries, &scripts, &load, &catalog)?,
        (captures, queries, pace) => {
            benchmarks::refuse_next_to_capture(workload, scripts.iter().chain(queries).next(), &load)?;
            benchmarks::for_captures(captures, pace)
        }
    };
    let time = question.time.as_deref().map(parse_time).transpose()?;
    let setup = benchmarks::setup_folder(&queries);
    let mut draft = Draft {
        name: question.label()?.map(str::to_owned).unwrap_or_else(|| shorten_name(&names.join("-vs-"))),
        systems: names.into_iter().zip(systems).collect(),
        keys,
        asked,
        catalog: &catalog,
    };
    let mut notes = notes;
    notes.extend(setup.and_then(|setup| draft.note_of_setup(&setup, set)));
    let bare = Fitted {
        rounds: stats::MIN_ROUNDS,
        most_rounds: None,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(1),
    };
    // A script compiles only with its variables.
    let defined = set.iter().filter_map(|pair| pair.split_once('=')).filter(|(key, _)| key.trim().ends_with("define"));
    let set_variables = defined.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect();
    let changes = Changes { set: set_variables, ..Changes::default() };
    let parsed = Plan::parse(&draft.to_toml(bare, Passwords::Kept), "command line", &changes, &catalog, 0);
    let (parsed, _) = parsed.map_err(|errors| plan_errors(&errors))?;
    let mut notes = [draft.asked.notes.clone(), notes].concat();
    let fitted = match time {
        None => fit::usual_fit(&parsed, registry)?,
        Some(time) => {
            let mut timed = parsed.clone();
            notes.push(fit::fit_into_time(&mut timed, time, Fixed::default(), registry)?);
            Fitted::from_plan(&timed)
        }
    };
    if !question.is_only_checked {
        notes.extend(tables::choose_tables(&mut draft.asked, &parsed, set, registry));
    }
    notes.extend(draft.note_of_empty_servers());
    Ok(Made { text: draft.to_toml(fitted, passwords), notes })
}

/// Fails if a private server's programs are not installed, before anything is made; says what to install.
///
/// # Errors
/// Says what to install.
pub fn refuse_missing(plan: &Plan, registry: &Registry) -> Result<(), CliError> {
    if plan.fleet.is_some() {
        return Ok(());
    }
    for system in &plan.systems {
        if let (Some(server), Ok(engine)) = (&system.server, registry.engine(&system.engine)) {
            engine.why_programs_missing(server).map_or(Ok(()), |failure| {
                Err(CliError::from(&failure).with_hint(format!(
                    "`--set systems.{}.server.bin_dir=/path/to/bin` names the folder, too",
                    quoted_key(&system.name)
                )))
            })?;
        }
    }
    Ok(())
}

/// What the arguments name.
struct Sides {
    systems: Vec<SystemWord>,
    scripts: Vec<String>,
    /// Folders and files of queries.
    queries: Vec<String>,
    /// Files of captures.
    captures: Vec<String>,
    /// What files and folders were taken for.
    notes: Vec<String>,
}

/// Sorts the words of a question into systems, scripts, queries and captures, with notes on them.
fn split_question(question: &Question, catalog: &Catalog) -> Result<Sides, CliError> {
    let (mut systems, mut scripts, mut queries) = (Vec::new(), question.script.clone(), question.queries.clone());
    let (mut captures, mut notes) = (Vec::new(), Vec::new());
    for argument in &question.what {
        match words::classify_word(argument, catalog)? {
            Word::System(system) => systems.push(system),
            Word::Script(kind) => {
                notes.extend(note_of_script(argument, kind));
                scripts.push(argument.clone());
            }
            Word::Queries => {
                notes.push(note_of_queries(argument));
                queries.push(argument.clone());
            }
            Word::Capture => captures.push(argument.clone()),
            Word::Plan | Word::Batch => {
                let message =
                    format!("`{argument}` is a plan, which says what is run, so nothing else can be named with it");
                return Err(CliError::user_error(message).with_hint(format!(
                    "`etalon run {argument} --system NAME=URL` runs it on a system of yours, each with a `--system` of its own"
                )));
            }
        }
    }
    for argument in &question.system {
        let system = words::parse_system(argument, catalog)?.ok_or_else(|| {
            let shown = words::masked_argument(argument);
            CliError::user_error(format!(
                "`--system {shown}` is neither a URL nor the name of a server that étalon can start"
            ))
            .with_hint(format!("write `NAME=URL`, or one of {}", catalog.own_names().join(", ")))
        })?;
        systems.push(system);
    }
    // `disk` before folders is what is measured, and no third system.
    let is_word = |system: &SystemWord| system.label.is_none() && system.place == DISK;
    if systems.iter().any(|system| !is_word(system)) && systems.iter().all(|system| system.place.starts_with(DISK)) {
        systems.retain(|system| !is_word(system));
    }
    Ok(Sides { systems, scripts, queries, captures, notes })
}

/// Says that a script's file could also be timed as a query; `None` for other scripts.
fn note_of_script(argument: &str, kind: ScriptKind) -> Option<String> {
    (kind == ScriptKind::Sql && Path::new(argument).is_file()).then(|| {
        format!(
            "`{argument}` is a script, a transaction that clients repeat; `--queries {argument}` times it as a query"
        )
    })
}

/// Says that a folder's files, each timed as a query, could also be run as scripts.
fn note_of_queries(argument: &str) -> String {
    format!(
        "`{argument}` is a folder of queries, and each file is timed by itself; `--script FILE` runs one as a transaction that \
         clients repeat"
    )
}

/// Fails if no system is named; `asked` is the first of what is to be run.
fn refuse_none(systems: &[SystemWord], asked: Option<&String>) -> Result<(), CliError> {
    if !systems.is_empty() {
        return Ok(());
    }
    let (message, own) = match asked {
        Some(script) => (format!("`{script}` is to be run, and no system is named"), script.as_str()),
        None => ("nothing is named to be run".to_owned(), ""),
    };
    let command = if own.is_empty() { "etalon run".to_owned() } else { format!("etalon run {own}") };
    let error = CliError::user_error(message).with_hint(format!(
        "name one or more systems: `{command} postgres://me@db1/bench postgres://me@db2/bench`, or servers that \
                       étalon starts: `{command} postgres mariadb`"
    ));
    if Path::new(own).is_dir() {
        return Err(error.with_hint(format!("`etalon run disk:{own}` measures the disk that the folder is on")));
    }
    Err(error)
}

/// Fails if two systems are the same and do not differ by name and settings, `--set-a`, `--set-b` (`is_set`) or `--set`.
fn refuse_twice(systems: &[SystemWord], is_set: bool, set: &[String], catalog: &Catalog) -> Result<(), CliError> {
    let has_settings = is_set || set.iter().any(|pair| pair.starts_with("systems."));
    for (at, system) in systems.iter().enumerate() {
        if systems[..at].iter().any(|other| {
            other.place == system.place && !(has_settings && other.label.is_some() && system.label.is_some())
        }) {
            let shown = model::plan::redact_url(&system.place);
            let error = CliError::user_error(format!("`{shown}` is named twice: both sides would be one system"));
            let line = suggest_aa_line(&system.place, catalog).unwrap_or_else(|| format!("etalon run '{shown}' --aa"));
            let aa = format!("`{line}` measures it against itself, to see how much its runs differ");
            return Err(error.with_hint(aa).with_hint(format!(
                "one system under two settings: `etalon run '{shown}' --set-a NAME=VALUE --set-b NAME=VALUE`"
            )));
        }
    }
    Ok(())
}

/// Rewrites this command line to name a system once, with `--aa`; `None` for `init`, which has no such option.
fn suggest_aa_line(place: &str, catalog: &Catalog) -> Option<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut times = 0;
    for word in guessed::process_arguments() {
        if words::parse_system(&word, catalog).ok().flatten().is_some_and(|system| system.place == place) {
            times += 1;
            if times > 1 {
                kept.pop_if(|option| matches!(option.as_str(), "--system" | "--url"));
                continue;
            }
        }
        kept.push(word);
    }
    let is_known = times > 1 && kept.first().is_some_and(|verb| verb != "init");
    kept.push("--aa".to_owned());
    is_known.then(|| typed_line(&kept))
}

/// Gives each system a name, by its label or by what is installed here.
fn assign_names(systems: &[SystemWord], registry: &Registry) -> Vec<String> {
    let catalog = registry.catalog();
    names::assign_names(systems, &catalog, |word, version| {
        let server =
            PrivateServer { engine: word.to_owned(), version: version.map(str::to_owned), ..PrivateServer::default() };
        let engine = registry.engine(catalog.engine_of_server(word)?.name).ok()?;
        engine.read_programs_version(&server).ok().filter(|version| !version.is_empty())
    })
}

/// Pairs each system with its further keys; the one system whose states are compared is there twice.
fn split_into_states(states: &States, systems: Vec<SystemWord>) -> Result<Vec<(SystemWord, String)>, CliError> {
    if states.has_settings() && states.has_change() {
        return Err(CliError::user_error("`--change` and `--set-a` or `--set-b` both say what A and B differ in")
            .with_hint(
                "compare one at a time, or write the setting into the change: `--change \"ALTER …; CREATE INDEX …\"`",
            ));
    }
    if states.has_settings() {
        return settings::both_sides(states, systems);
    }
    match change::read_change(states)? {
        None => Ok(systems.into_iter().map(|system| (system, String::new())).collect()),
        Some(change) => {
            let keys = [String::new(), change::change_keys(&change)];
            Ok(change::both_states(systems)?.into_iter().zip(keys).collect())
        }
    }
}

/// Finds the workload that all systems have in common, disks or transactions; fails if they have none.
fn workload_of(systems: &[SystemWord], registry: &Registry) -> Result<&'static str, CliError> {
    let catalog = registry.catalog();
    let mut workloads: Vec<(&str, &'static str)> = Vec::new();
    for system in systems {
        let spec = match catalog.own_system(&system.place) {
            Some(OwnSystem::Server { engine, .. }) => catalog.engine_of_server(engine).copied(),
            Some(OwnSystem::Url(url)) => catalog.engine_of_url(url).copied(),
            Some(OwnSystem::Nothing(_)) | None => {
                let url = system.place.clone();
                let name = system.label.clone().unwrap_or_else(|| words::masked_argument(&url));
                let engine = catalog.engine_of_url(&url).map(|engine| engine.name.to_owned()).unwrap_or_default();
                let plan = SystemPlan { name, url, engine, ..SystemPlan::default() };
                let resolved = registry.resolve_system(&plan).map_err(|failure| {
                    let variable = plan.url_variable().unwrap_or("NAME");
                    CliError::from(&failure)
                        .with_hint(format!("`export {variable}=…` with the URL, or write the URL itself"))
                })?;
                Some(resolved.0.spec())
            }
        };
        workloads.extend(spec.map(|spec| (spec.name, spec.workload)));
    }
    let Some((first, workload)) = workloads.first().copied() else { return Ok("transactions") };
    match workloads.iter().find(|(_, other)| *other != workload) {
        None => Ok(workload),
        Some((name, other)) => {
            let message = format!(
                "`{first}` is measured by `{workload}`, and `{name}` by `{other}`: they have no benchmark in common"
            );
            Err(CliError::user_error(message)
                .with_hint("compare systems of one kind: servers and databases, or folders and disks"))
        }
    }
}

impl Question {
    /// Whether the question says more than which systems and how long, which a plan says itself.
    pub fn shapes_the_load(&self) -> bool {
        let lists = [&self.clients, &self.script, &self.queries, &self.scale];
        let has_lists = self.pace.is_some() || lists.iter().any(|list| !list.is_empty());
        let has_states = self.states.has_change() || self.states.has_settings();
        has_lists || has_states || self.threads.is_some() || self.p99.is_some() || self.max_clients.is_some()
    }

    /// The value of `--name`; fails if it is empty or has control characters.
    ///
    /// # Errors
    /// It cannot be a name.
    pub fn label(&self) -> Result<Option<&str>, CliError> {
        match self.name.as_deref() {
            Some(name) if !(!name.trim().is_empty() && !name.chars().any(char::is_control)) => {
                Err(CliError::user_error("`--name` is empty, or has control characters in it")
                    .with_hint("write it as `--name old-vs-new`"))
            }
            name => Ok(name),
        }
    }
}

/// Parses the value of `--for`.
///
/// # Errors
/// It is no length of time.
pub fn parse_time(text: &str) -> Result<Duration, CliError> {
    duration::parse(text).map_err(|error| not_a_time(text, &error.to_string()))
}

/// The error of a `--for` that is no length of time.
fn not_a_time(text: &str, why: &str) -> CliError {
    CliError::user_error(format!("`--for {text}` is not a length of time: {why}"))
        .with_hint("write it with its unit: `--for 90s`, `--for 5m`, `--for 1h30m`")
}

/// Writes a length of time in one unit, as people do: `500ms`, `2.1s`.
fn short_length(length: Duration) -> String {
    match length.as_millis() {
        ms @ 0..1_000 => format!("{ms}ms"),
        ms if ms % 1_000 == 0 => duration::format(length),
        ms => format!("{}.{}s", ms / 1_000, ms % 1_000 / 100),
    }
}

/// Shortens a name to 60 characters, for a plan of many systems.
fn shorten_name(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Quotes a text for TOML, as a JSON string, which is a TOML string and key, too.
fn quote_toml(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes a key of TOML, in quotes where it needs them.
pub fn quoted_key(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_bare { key.to_owned() } else { quote_toml(key) }
}

/// All of a plan but its schedule.
struct Draft<'c> {
    name: String,
    systems: Vec<(String, SystemWord)>,
    /// Further keys of each system, a line each.
    keys: Vec<String>,
    asked: Asked,
    catalog: &'c Catalog,
}

impl Draft<'_> {
    /// Writes the plan as TOML, each key with a comment.
    fn to_toml(&self, schedule: Fitted, passwords: Passwords) -> String {
        let mut text = String::from(
            "# `etalon plan FILE` shows what this does and touches nothing, `etalon run FILE` does it.\n\
             # Any key can be changed for one run: `--set schedule.rounds=10`. docs/plan-reference.md has all of them.\n\n",
        );
        // Writing to a string does not fail.
        let _ = writeln!(text, "# Of the store, the report and its title.\nname = {}\n", quote_toml(&self.name));
        let _ = writeln!(text, "# What is compared: each with the first.");
        for ((name, system), keys) in self.systems.iter().zip(&self.keys) {
            let _ = writeln!(text, "[systems.{}]\n{}{keys}", quoted_key(name), self.place_key(system, passwords));
        }
        let mut explained = Vec::new();
        for benchmark in &self.asked.benchmarks {
            let _ = writeln!(text, "{}", benchmark.to_toml(&mut explained));
        }
        let Fitted { rounds, most_rounds, warmup, duration: length } = schedule;
        let rounds = most_rounds.map_or_else(|| rounds.to_string(), |most| quote_toml(&format!("{rounds}..{most}")));
        let _ = write!(
            text,
            "[schedule]\n\
             # Each round runs every case once, in random order; fewer than {} give no verdict.\n\
             rounds = {rounds}\n\
             # Load before each run that is not measured.\n\
             warmup = \"{}\"\n\
             # The measured part of each run.\n\
             duration = \"{}\"\n",
            stats::MIN_ROUNDS,
            short_length(warmup),
            short_length(length),
        );
        text
    }

    /// Notes that the statements in a folder of queries' `setup` are not run unasked; where they are asked for, which is on servers of
    /// étalon's own alone, the tables are made once, since queries change nothing.
    fn note_of_setup(&mut self, setup: &str, set: &[String]) -> Option<String> {
        let is_setup = |pair: &String| pair.split('=').next().is_some_and(|key| key.trim().ends_with("setup"));
        let is_set = set.iter().any(is_setup);
        if is_set && self.asked.benchmarks.len() == 1 {
            self.keys.iter_mut().for_each(|keys| keys.push_str("reset = \"none\"\n"));
        }
        if is_set {
            return None;
        }
        let is_own = |(_, system): &(String, SystemWord)| {
            matches!(self.catalog.own_system(&system.place), Some(OwnSystem::Server { .. }))
        };
        let how = if self.systems.iter().all(is_own) {
            format!("`--set setup={setup}` has étalon make the tables by it")
        } else {
            "étalon does so only on servers that it starts itself, such as `postgres:15`".to_owned()
        };
        Some(format!("`{setup}` is not run: {how}"))
    }

    /// Notes that servers which étalon makes have no tables of the user's, if a script works on such tables.
    fn note_of_empty_servers(&self) -> Option<String> {
        let made: Vec<&str> = self
            .systems
            .iter()
            .filter(|(_, system)| self.catalog.own_system(&system.place).is_some())
            .map(|(name, _)| name.as_str())
            .collect();
        if made.is_empty() {
            return None;
        }
        let script = self.asked.on_tables_of_the_user.first()?;
        Some(format!(
            "{script} works on tables that are there, and {} has none: étalon makes it empty; name a server that has them by its \
             URL",
            made.join(", ")
        ))
    }

    /// Writes the `server` or `url` key of a system as TOML, below a comment.
    fn place_key(&self, system: &SystemWord, passwords: Passwords) -> String {
        let url = match self.catalog.own_system(&system.place) {
            Some(OwnSystem::Server { engine, version }) => {
                let version =
                    version.map(|version| format!(", version = {}", quote_toml(&version))).unwrap_or_default();
                return format!(
                    "# A private server: étalon makes it in a temporary folder, and removes it. `settings = {{ … }}` below are its \
                     own.\nserver = {{ engine = {}{version} }}\n",
                    quote_toml(engine)
                );
            }
            Some(OwnSystem::Url(url)) => url,
            Some(OwnSystem::Nothing(_)) | None => &system.place,
        };
        let open = without_password(url);
        let (url, remark) = match passwords {
            Passwords::LeftOut if open != url => (
                open.as_str(),
                " No password stands here: it comes from the\n# environment or a password file, or write `url = \"env:NAME\"` and keep the whole URL in a variable.",
            ),
            _ => (url, ""),
        };
        format!("# Where it is.{remark}\nurl = {}\n", quote_toml(url))
    }
}
