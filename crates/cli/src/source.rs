//! From a file, built-in plan or URL to a valid plan.

use std::path::Path;
use std::time::Duration;

use conductor::Registry;
use load::error::Failure;
use model::Plan;
use model::plan::{Changes, Form};

use crate::args::{PlanSource, Question, guessed};
use crate::ask::fit::{self, Fixed, fit_into_time};
use crate::ask::words::{self, ScriptKind, Word};
use crate::ask::{self, Passwords};
use crate::error::CliError;
use crate::{smack, sqlio};

/// Engine for folders, files and devices.
pub const DISK: &str = "disk";

#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    pub name: &'static str,
    pub text: &'static str,
}

pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "quickstart", text: include_str!("../../../plans/quickstart.toml") },
    BuiltIn { name: "mysql-super-smack", text: include_str!("../../../plans/mysql-super-smack.toml") },
    BuiltIn { name: "postgresql-select-update", text: include_str!("../../../plans/postgresql-select-update.toml") },
    BuiltIn { name: "postgres-paths", text: include_str!("../../../plans/postgres-paths.toml") },
    BuiltIn { name: "postgres-pooler", text: include_str!("../../../plans/postgres-pooler.toml") },
    BuiltIn { name: "postgres-settings", text: include_str!("../../../plans/postgres-settings.toml") },
    BuiltIn { name: "capacity", text: include_str!("../../../plans/capacity.toml") },
    BuiltIn { name: "capacity-postgres", text: include_str!("../../../plans/capacity-postgres.toml") },
    BuiltIn { name: "order-entry", text: include_str!("../../../plans/order-entry.toml") },
    BuiltIn { name: "order-entry-engines", text: include_str!("../../../plans/order-entry-engines.toml") },
    BuiltIn { name: "analytics", text: include_str!("../../../plans/analytics.toml") },
    BuiltIn { name: "analytics-engines", text: include_str!("../../../plans/analytics-engines.toml") },
    BuiltIn { name: "smack-select", text: include_str!("../../../plans/smack-select.toml") },
    BuiltIn { name: "smack-update", text: include_str!("../../../plans/smack-update.toml") },
    BuiltIn { name: "sqlserver-pages", text: include_str!("../../../plans/sqlserver-pages.toml") },
    BuiltIn {
        name: "sqlserver-pages-and-spatial",
        text: include_str!("../../../plans/sqlserver-pages-and-spatial.toml"),
    },
    BuiltIn { name: "pages-engines", text: include_str!("../../../plans/pages-engines.toml") },
    BuiltIn { name: "pages-versions", text: include_str!("../../../plans/pages-versions.toml") },
    BuiltIn { name: "backup-compression", text: include_str!("../../../plans/backup-compression.toml") },
    BuiltIn { name: "backup-engines", text: include_str!("../../../plans/backup-engines.toml") },
    BuiltIn { name: "backup-versions", text: include_str!("../../../plans/backup-versions.toml") },
    BuiltIn { name: "backup-encrypted", text: include_str!("../../../plans/backup-encrypted.toml") },
    BuiltIn { name: "backup-load", text: include_str!("../../../plans/backup-load.toml") },
    BuiltIn { name: "sqlserver-backup", text: include_str!("../../../plans/sqlserver-backup.toml") },
    BuiltIn { name: "sqlserver-backup-load", text: include_str!("../../../plans/sqlserver-backup-load.toml") },
    BuiltIn { name: "sqlserver-disk", text: include_str!("../../../plans/sqlserver-disk.toml") },
    BuiltIn { name: "cluster-size", text: include_str!("../../../plans/cluster-size.toml") },
    BuiltIn { name: "postgres-disk", text: include_str!("../../../plans/postgres-disk.toml") },
    BuiltIn { name: "innodb-disk", text: include_str!("../../../plans/innodb-disk.toml") },
    BuiltIn { name: "sqlite-disk", text: include_str!("../../../plans/sqlite-disk.toml") },
    BuiltIn { name: "spatial", text: include_str!("../../../plans/spatial.toml") },
    BuiltIn { name: "spatial-engines", text: include_str!("../../../plans/spatial-engines.toml") },
    BuiltIn { name: "spatial-versions", text: include_str!("../../../plans/spatial-versions.toml") },
];

/// Name of a plan that is no file.
pub const COMMAND_LINE: &str = "command line";

/// What the plan was made from.
#[derive(Clone, Debug)]
pub enum Called {
    /// A script in super-smack's language.
    Smack(smack::Called),
    /// Command lines of SQLIO.
    Sqlio(sqlio::Called),
}

#[derive(Clone, Debug)]
pub struct Loaded {
    pub plan: Plan,
    pub text: String,
    /// See [`changed_by`].
    pub changed: String,
    pub name: String,
    pub path: Option<String>,
    pub called: Option<Called>,
    /// How the plan was made, as sentences.
    pub notes: Vec<String>,
}

/// The first sentence of the comment that a plan or a script begins with.
pub fn first_sentence(text: &str) -> String {
    let comment = text.lines().take_while(|line| line.starts_with('#') || line.starts_with("--"));
    let words = comment.map(|line| line.trim_start_matches(['#', '-', ' '])).collect::<Vec<_>>().join(" ");
    // Names and numbers have points in them.
    let end = words.match_indices(['.', '?']).map(|(at, _)| at + 1).find(|end| words[*end..].starts_with(' '));
    words[..end.unwrap_or(words.len())].trim().to_owned()
}

/// Reads a plan, or makes one for a question, then checks it, applies the options and fits it into the time given.
pub fn load_plan(source: &PlanSource, registry: &Registry, default_seed: u64) -> Result<Loaded, CliError> {
    let text = read_plan_text(source, registry)?;
    complete_plan(text, source, registry, default_seed)
}

/// Makes and loads a plan for a SQLIO command line, or for a batch file of them.
pub fn load_sqlio(
    wrapped: sqlio::Wrapped,
    source: &PlanSource,
    registry: &Registry,
    default_seed: u64,
) -> Result<Loaded, CliError> {
    complete_plan(text_of_sqlio(wrapped, &source.question.system), source, registry, default_seed)
}

/// Parses a plan's text with the changes asked for, checks it, and fits it into the time given.
fn complete_plan(text: Text, source: &PlanSource, registry: &Registry, default_seed: u64) -> Result<Loaded, CliError> {
    let catalog = registry.catalog();
    let Text { text, name, path, called, mut notes, systems, origin } = text;
    let named = source.question.label()?.map(|name| ("name".to_owned(), serde_json::Value::from(name).to_string()));
    let rounds = source.rounds.iter().map(|rounds| Ok(("schedule.rounds".to_owned(), rounds.clone())));
    let set = source
        .set
        .iter()
        .map(|pair| split_override(pair))
        .chain(named.map(Ok))
        .chain(rounds)
        .chain(allowing_overrides(source));
    let changes = Changes {
        form: if source.quick { Form::Quick } else { Form::Whole },
        systems: ask::named_systems(&systems, registry)?,
        set: set.collect::<Result<_, _>>()?,
    };
    let (mut plan, plan_notes) =
        Plan::parse(&text, &name, &changes, &catalog, default_seed).map_err(|errors| plan_errors(&errors))?;
    notes.extend(plan_notes);
    if !source.question.is_only_checked {
        notes.extend(leave_out_missing_systems(&mut plan, registry)?);
    }
    if origin == PlanOrigin::Question && !source.question.is_only_checked {
        ask::refuse_missing(&plan, registry)?;
    }
    let plan = match &source.target {
        None => plan,
        Some(target) => move_to_target(plan, target)?,
    };
    let mut plan = match &source.aa {
        None => plan,
        Some(system) => as_both_sides(&plan, system)?,
    };
    if let Some(time) = &source.question.time {
        notes.push(fit_into_time(&mut plan, ask::parse_time(time)?, source.fixed_keys(), registry)?);
    }
    Ok(Loaded { plan, text, changed: changed_by(source, &changes), name, path, called, notes })
}

/// The time that a question needs for a verdict; `None` where its `--for` is enough, or not given.
///
/// # Errors
/// The plan is refused whatever its time is.
pub fn time_needed(source: &PlanSource, registry: &Registry) -> Result<Option<Duration>, CliError> {
    let Some(time) = &source.question.time else { return Ok(None) };
    let time = ask::parse_time(time)?;
    let untimed = PlanSource { question: Question { time: None, ..source.question.clone() }, ..source.clone() };
    let plan = load_plan(&untimed, registry, 0)?.plan;
    fit::time_needed(&plan, time, source.fixed_keys(), registry)
}

/// Writes as comments what the command line changed in a plan; empty if it changed nothing.
/// The text alone would make other runs.
fn changed_by(source: &PlanSource, changes: &Changes) -> String {
    let quick = source.quick.then(|| "--quick".to_owned());
    let systems = changes.systems.iter().map(|system| match &system.url {
        Some(url) => format!("--system {}={url}", system.name),
        None => format!("--system {}", system.name),
    });
    let target = source.target.iter().map(|target| format!("--target {}", target.display()));
    let aa = source.aa.iter().map(|system| format!("--aa {system}"));
    let time = source.question.time.iter().map(|time| format!("--for {time}"));
    let keys = changes.set.iter().map(|(key, value)| format!("--set {key}={value}"));
    let all = quick.into_iter().chain(systems).chain(target).chain(aa).chain(time).chain(keys);
    let lines: String =
        all.map(|one| format!("#   {}\n", model::plan::redact_words(&one.replace('\n', " ")))).collect();
    if lines.is_empty() { lines } else { format!("# It was run with what the command line changed:\n{lines}\n") }
}

impl PlanSource {
    /// Finds the keys of the schedule that are set, and so are not fitted into a time.
    pub fn fixed_keys(&self) -> Fixed {
        let keys = self.set.iter().map(|pair| pair.split('=').next().unwrap_or_default().trim());
        Fixed::from_keys(keys.chain(self.rounds.as_ref().map(|_| "schedule.rounds")))
    }
}

/// Takes optional systems whose programs are missing out of the plan; returns a note for each, fails if none is left.
fn leave_out_missing_systems(plan: &mut Plan, registry: &Registry) -> Result<Vec<String>, CliError> {
    let missing: Vec<(String, Failure)> = plan
        .systems
        .iter()
        .filter(|system| plan.fleet.as_ref().is_none_or(|fleet| !fleet.hosts.contains_key(&system.name)))
        .filter_map(|system| {
            let server = system.server.as_ref().filter(|server| server.optional)?;
            let failure = registry.engine(&system.engine).ok()?.why_programs_missing(server)?;
            Some((system.name.clone(), failure))
        })
        .collect();
    if let (Some((_, failure)), true) = (missing.first(), missing.len() == plan.systems.len()) {
        return Err(CliError::from(failure));
    }
    let left_out = missing.into_iter().map(|(name, failure)| {
        plan.remove_system(&name);
        let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("system `{name}` is optional and left out: {failure}{hint}")
    });
    Ok(left_out.collect())
}

/// Moves the plan's disk systems, files and volume images, to `target`; fails if it has none.
fn move_to_target(mut plan: Plan, target: &Path) -> Result<Plan, CliError> {
    let mut moved = 0;
    for system in plan.systems.iter_mut().filter(|system| system.engine == DISK) {
        match &mut system.volume {
            Some(volume) => {
                let image = Path::new(&volume.image).file_name().unwrap_or_default();
                volume.image = target.join(image).display().to_string();
            }
            None => system.url = format!("{DISK}:{}", target.display()),
        }
        moved += 1;
    }
    match moved {
        0 => Err(CliError::user_error("`--target` says where disk systems work, and the plan has none")
            .with_hint("`--system NAME=URL` names any system")),
        _ => Ok(plan),
    }
}

/// Makes an A/A plan with the named (or first) system as both sides.
fn as_both_sides(plan: &Plan, system: &str) -> Result<Plan, CliError> {
    let known: Vec<&str> = plan.systems.iter().map(|system| system.name.as_str()).collect();
    let system = if system.is_empty() { known.first().copied().unwrap_or_default() } else { system };
    plan.to_aa(system).ok_or_else(|| {
        let hints = model::near::did_you_mean_or_list(system, known).into_iter().collect();
        CliError { hints, ..CliError::user_error(format!("the plan has no system `{system}`")) }
    })
}

/// What wrote a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanOrigin {
    /// The user, another tool's user, or étalon's authors.
    Text,
    /// Étalon, for systems and scripts on the command line.
    Question,
}

struct Text {
    text: String,
    name: String,
    path: Option<String>,
    called: Option<Called>,
    notes: Vec<String>,
    /// Arguments that name systems in place of the text's.
    systems: Vec<String>,
    origin: PlanOrigin,
}

impl Text {
    /// Makes a plan's text without notes.
    fn plain(text: String, name: &str, path: Option<String>, systems: &[String]) -> Text {
        let (notes, systems) = (Vec::new(), systems.to_vec());
        Text { text, name: name.to_owned(), path, called: None, notes, systems, origin: PlanOrigin::Text }
    }
}

/// Makes a plan's text of a wrapped SQLIO command line.
fn text_of_sqlio(wrapped: sqlio::Wrapped, systems: &[String]) -> Text {
    let sqlio::Wrapped { text, path, called, notes } = wrapped;
    Text { called: Some(Called::Sqlio(called)), notes, ..Text::plain(text, COMMAND_LINE, path, systems) }
}

/// Reads the text of the plan that is named, or makes one for a question, a script or a batch file.
fn read_plan_text(source: &PlanSource, registry: &Registry) -> Result<Text, CliError> {
    let question = &source.question;
    let catalog = registry.catalog();
    let [named, others @ ..] = question.what.as_slice() else { return text_of_question(source, registry) };
    let shapes = question.shapes_the_load();
    match words::classify_word(named, &catalog)? {
        // As super-smack takes it: `FILE CLIENTS ROUNDS`.
        Word::Script(ScriptKind::Smack) if !shapes && question.time.is_none() => {
            let (systems, values): (Vec<&String>, Vec<&String>) =
                others.iter().partition(|argument| matches!(words::parse_system(argument, &catalog), Ok(Some(_))));
            let systems: Vec<String> = systems.into_iter().chain(&question.system).cloned().collect();
            let values: Vec<String> = values.into_iter().cloned().collect();
            match smack::wrap_script(named, &values, &systems) {
                // It asks for values and got none: étalon sets clients and length, as for other scripts.
                Err(_) if values.is_empty() && !systems.is_empty() => text_of_question(source, registry),
                Err(error) => Err(error),
                Ok(smack::Wrapped { text, path, called }) => {
                    Ok(Text { called: Some(Called::Smack(called)), ..Text::plain(text, COMMAND_LINE, path, &systems) })
                }
            }
        }
        Word::Script(_) | Word::Queries | Word::Capture | Word::System(_) => text_of_question(source, registry),
        Word::Plan | Word::Batch if !others.is_empty() || shapes => Err(not_with_a_plan(source)),
        Word::Batch => sqlio::wrap_batch(named).map(|wrapped| text_of_sqlio(wrapped, &question.system)),
        Word::Plan => text_of_plan(named, &question.system),
    }
}

/// Reads the text of a built-in plan, or of a plan's file.
fn text_of_plan(named: &str, systems: &[String]) -> Result<Text, CliError> {
    if let Some(built_in) = BUILT_IN.iter().find(|plan| plan.name == named) {
        return Ok(Text::plain(built_in.text.to_owned(), built_in.name, None, systems));
    }
    let text = read_plan(named).map_err(|error| {
        let known: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        let near = model::near::did_you_mean(named, known.iter().copied());
        CliError::user_error(format!("cannot read the plan `{named}`: {error}")).with_hint(near.unwrap_or_else(|| {
            "name a plan's file, a system's URL, or a built-in plan: `etalon list` has them".to_owned()
        }))
    })?;
    let path =
        std::path::absolute(Path::new(named)).map_or_else(|_| named.to_owned(), |path| path.display().to_string());
    Ok(Text::plain(text, named, Some(path), systems))
}

/// Reads a plan's file as UTF-8, without the mark that some editors put in front.
fn read_plan(path: &str) -> std::io::Result<String> {
    let text = String::from_utf8(words::read_text(path)?)
        .map_err(|_| std::io::Error::new(std::io::ErrorKind::InvalidData, "it is not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Makes the text of a plan for a question.
fn text_of_question(source: &PlanSource, registry: &Registry) -> Result<Text, CliError> {
    // A time is spread over rounds and runs once `--set` has changed the plan.
    let question = Question { time: None, ..source.question.clone() };
    let ask::Made { text, notes } = ask::make_plan(&question, &source.set, registry, Passwords::Kept)?;
    Ok(Text { notes, origin: PlanOrigin::Question, ..Text::plain(text, COMMAND_LINE, None, &[]) })
}

/// Rewrites this command line with each word after the plan as a `--system`; `None` if one of them is no system.
fn suggest_system_options(plan: &str, others: &[String]) -> Option<String> {
    let catalog = Registry::built_in().catalog();
    if !others.iter().all(|word| words::parse_system(word, &catalog).is_ok_and(|system| system.is_some())) {
        return None;
    }
    let mut line = Vec::new();
    for word in guessed::process_arguments() {
        line.extend((others.contains(&word) && word != plan).then(|| "--system".to_owned()));
        line.push(word);
    }
    Some(guessed::typed_line(&line))
}

/// Makes the error for what cannot be given together with a plan, with what does the same.
fn not_with_a_plan(source: &PlanSource) -> CliError {
    let question = &source.question;
    let plan = question.what.first().map(String::as_str).unwrap_or_default();
    let refuse = |what: String, hint: String| {
        CliError::user_error(format!("`{plan}` is a plan, which says what is run, so {what} cannot be given with it"))
            .with_hint(hint)
    };
    if let Some(other) = question.what.get(1) {
        let hint = match suggest_system_options(plan, &question.what[1..]) {
            Some(line) => format!("type `{line}`"),
            None => "`--system NAME=URL` runs it on a system of yours; only a `.smack` file takes values behind it"
                .to_owned(),
        };
        return refuse(format!("`{}`", words::masked_argument(other)), hint);
    }
    if question.states.has_settings() {
        let hint = "`--set systems.NAME.settings.KEY=VALUE` sets those of one of its systems".to_owned();
        return refuse("`--set-a` or `--set-b`".to_owned(), hint);
    }
    if question.states.has_change() {
        let hint = "write `change = [\"…\"]` and `undo = [\"…\"]` under a second system with the same `url`".to_owned();
        return refuse("a change".to_owned(), hint);
    }
    if let Some(script) = question.script.first() {
        return refuse(
            format!("`--script {script}`"),
            format!("`--set 'benchmarks.*.script={script}'` changes the plan's"),
        );
    }
    if !question.clients.is_empty() {
        let clients = question.clients.join(",");
        return refuse(
            format!("`--clients {clients}`"),
            format!("`--set 'benchmarks.*.clients=[{clients}]'` changes the plan's"),
        );
    }
    if !question.scale.is_empty() {
        let scale = question.scale.join(",");
        return refuse(
            format!("`--scale {scale}`"),
            format!("`--set 'benchmarks.*.scale=[{scale}]'` changes the plan's"),
        );
    }
    if let Some(threads) = &question.threads {
        return refuse(
            format!("`--threads {threads}`"),
            format!("`--set 'benchmarks.*.threads={threads}'` changes the plan's"),
        );
    }
    if let Some(p99) = &question.p99 {
        return refuse(
            format!("`--p99 {p99}`"),
            format!("`--set 'benchmarks.*.promise.response_p99={p99}'` changes the plan's"),
        );
    }
    if let Some(pace) = &question.pace {
        return refuse(format!("`--pace {pace}`"), format!("`--set 'benchmarks.*.pace={pace}'` changes the plan's"));
    }
    let most = question.max_clients.as_deref().unwrap_or_default();
    refuse(
        format!("`--max-clients {most}`"),
        format!("`--set 'benchmarks.*.promise.max_clients={most}'` changes the plan's"),
    )
}

/// Lists the keys that the `--allow-…` options set, with their values.
fn allowing_overrides(source: &PlanSource) -> impl Iterator<Item = Result<(String, String), CliError>> {
    let allowing = &source.allowing;
    let keys = [
        (allowing.allow_unequal_durability, "allow_unequal_durability"),
        (allowing.allow_sequential_order, "allow_sequential_order"),
        (allowing.allow_different_rows, "allow_different_rows"),
    ];
    keys.into_iter().filter(|(is_allowed, _)| *is_allowed).map(|(_, key)| Ok((key.to_owned(), "true".to_owned())))
}

/// Splits `KEY=VALUE` of `--set`; a quoted name may have a `=`.
fn split_override(pair: &str) -> Result<(String, String), CliError> {
    let mut is_quoted = false;
    // A quoted name may have one in it.
    let end = pair.find(|c| {
        is_quoted ^= c == '"';
        c == '=' && !is_quoted
    });
    let (key, value) = end.map(|at| (&pair[..at], &pair[at + 1..])).ok_or_else(|| {
        CliError::user_error(format!("`--set {pair}` has no `=`")).with_hint("write it as `--set schedule.rounds=6`")
    })?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// Makes one error of a plan's errors: the first in full, the others below it.
pub fn plan_errors(errors: &model::plan::PlanErrors) -> CliError {
    let rendered = errors.to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    CliError::user_error(text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_plan_is_valid_in_both_forms_and_tells_in_a_sentence_what_it_asks() {
        let catalog = Registry::built_in().catalog();
        for plan in BUILT_IN {
            for form in [Form::Whole, Form::Quick] {
                let changes = Changes { form, ..Changes::default() };
                let parsed = Plan::parse(plan.text, plan.name, &changes, &catalog, 1);
                assert_eq!(parsed.unwrap_or_else(|errors| panic!("{errors}")).0.name, plan.name);
            }
            assert!(first_sentence(plan.text).len() > 30, "{}", first_sentence(plan.text));
        }
    }

    #[test]
    fn systems_are_named_by_the_user_or_after_what_they_are() {
        let arguments = ["a=sqlite:x", "sqlite:y", "sqlite:z?m=1", "wal", "env:URL"].map(str::to_owned);
        let named = ask::named_systems(&arguments, &Registry::built_in()).unwrap();
        let found: Vec<_> = named.iter().map(|s| (s.name.as_str(), s.url.as_deref())).collect();
        let expected = [
            ("a", Some("sqlite:x")),
            ("y", Some("sqlite:y")),
            ("z", Some("sqlite:z?m=1")),
            ("wal", None),
            ("url", Some("env:URL")),
        ];
        assert_eq!(found, expected);
    }
}
