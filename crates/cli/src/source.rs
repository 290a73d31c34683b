//! From a file, built-in plan or URL to a valid plan.

use std::path::Path;

use engine::Registry;
use model::plan::{Changes, Form, NamedSystem};
use model::{Catalog, Plan};

use crate::args::PlanSource;
use crate::error::CliError;
use crate::{smack, sqlio};

/// Engine for folders, files and devices.
const DISK: &str = "disk";

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
    BuiltIn { name: "postgres-settings", text: include_str!("../../../plans/postgres-settings.toml") },
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
    pub name: String,
    pub path: Option<String>,
    pub called: Option<Called>,
    /// How the plan was made, as sentences.
    pub notes: Vec<String>,
}

/// Of the comment that a plan or a script begins with.
pub fn first_sentence(text: &str) -> String {
    let comment = text.lines().take_while(|line| line.starts_with('#') || line.starts_with("--"));
    let words = comment.map(|line| line.trim_start_matches(['#', '-', ' '])).collect::<Vec<_>>().join(" ");
    // Names and numbers have points in them.
    let end = words.match_indices(['.', '?']).map(|(at, _)| at + 1).find(|end| words[*end..].starts_with(' '));
    words[..end.unwrap_or(words.len())].trim().to_owned()
}

/// Parses, checks and completes a plan.
pub fn load(source: &PlanSource, registry: &Registry, default_seed: u64) -> Result<Loaded, CliError> {
    let text = read(source, &registry.catalog())?;
    complete(text, source, registry, default_seed)
}

/// From a command line of SQLIO's, or a batch file.
pub fn load_sqlio(
    wrapped: sqlio::Wrapped,
    source: &PlanSource,
    registry: &Registry,
    default_seed: u64,
) -> Result<Loaded, CliError> {
    complete(of_sqlio(wrapped), source, registry, default_seed)
}

fn complete(text: Text, source: &PlanSource, registry: &Registry, default_seed: u64) -> Result<Loaded, CliError> {
    let catalog = registry.catalog();
    let Text { text, name, path, called, mut notes } = text;
    let changes = Changes {
        form: if source.quick { Form::Quick } else { Form::Whole },
        systems: systems(&source.system, &catalog),
        set: source.set.iter().map(|pair| split_override(pair)).collect::<Result<_, _>>()?,
    };
    let (plan, told) =
        Plan::parse(&text, &name, &changes, &catalog, default_seed).map_err(|errors| plan_errors(&errors))?;
    notes.extend(told);
    let plan = match &source.target {
        None => plan,
        Some(target) => on_target(plan, target)?,
    };
    let plan = match &source.aa {
        None => plan,
        Some(system) => both_sides(&plan, system)?,
    };
    Ok(Loaded { plan, text, name, path, called, notes })
}

/// Moves the plan's disk systems, files and volume images, to `target`.
fn on_target(mut plan: Plan, target: &Path) -> Result<Plan, CliError> {
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
        0 => Err(CliError::user("`--target` says where disk systems work, and the plan has none")
            .hint("`--system NAME=URL` names any system")),
        _ => Ok(plan),
    }
}

/// Uses the named (or first) system as both sides.
fn both_sides(plan: &Plan, system: &str) -> Result<Plan, CliError> {
    let known: Vec<&str> = plan.systems.iter().map(|system| system.name.as_str()).collect();
    let system = if system.is_empty() { known.first().copied().unwrap_or_default() } else { system };
    plan.to_aa(system).ok_or_else(|| {
        let hints = model::near::hint(system, known).into_iter().collect();
        CliError { hints, ..CliError::user(format!("the plan has no system `{system}`")) }
    })
}

struct Text {
    text: String,
    name: String,
    path: Option<String>,
    called: Option<Called>,
    notes: Vec<String>,
}

fn of_sqlio(wrapped: sqlio::Wrapped) -> Text {
    let sqlio::Wrapped { text, path, called, notes } = wrapped;
    Text { text, name: "command line".to_owned(), path, called: Some(Called::Sqlio(called)), notes }
}

fn read(source: &PlanSource, catalog: &Catalog) -> Result<Text, CliError> {
    let named = &source.plan;
    if smack::is_script(source) {
        let smack::Wrapped { text, path, called } = smack::wrap(source)?;
        let called = Some(Called::Smack(called));
        return Ok(Text { text, name: "command line".to_owned(), path, called, notes: Vec::new() });
    }
    if sqlio::is_batch(source) && source.values.is_empty() {
        return sqlio::wrap_batch(named).map(of_sqlio);
    }
    let plain =
        |text: String, name: &str, path| Text { text, name: name.to_owned(), path, called: None, notes: Vec::new() };
    if !source.values.is_empty() {
        let message = format!("`{named}` is no `.smack` file: only that takes values behind it");
        return Err(CliError::user(message).hint("a plan names its systems itself; `--set KEY=VALUE` changes its keys"));
    }
    if let Some(built_in) = BUILT_IN.iter().find(|plan| plan.name == *named) {
        return Ok(plain(built_in.text.to_owned(), built_in.name, None));
    }
    if catalog.engine_of_url(named).is_some() || named.starts_with("env:") {
        return Ok(plain(plan_of_url(named), "command line", None));
    }
    let text = std::fs::read_to_string(named).map_err(|error| {
        let known: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        let near = model::near::did_you_mean(named, known.iter().copied());
        CliError::user(format!("cannot read the plan `{named}`: {error}")).hint(near.unwrap_or_else(|| {
            "name a plan's file, a system's URL, or a built-in plan: `etalon list` has them".to_owned()
        }))
    })?;
    let path = std::path::absolute(Path::new(named)).map_or_else(|_| named.clone(), |path| path.display().to_string());
    Ok(plain(text, named, Some(path)))
}

/// A complete experiment on one system.
fn plan_of_url(url: &str) -> String {
    let url = serde_json::Value::from(url);
    format!(
        "name = \"url\"\n\n[systems.system]\nurl = {url}\n\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-update\"\nclients = [1, 4]\n\n[schedule]\nrounds = 6\nwarmup = \"1s\"\nduration = \"5s\"\n"
    )
}

/// Given names, else the engines'. An argument that is no URL names a system of the plan.
fn systems(arguments: &[String], catalog: &Catalog) -> Vec<NamedSystem> {
    let mut systems: Vec<NamedSystem> = Vec::new();
    for argument in arguments {
        let is_name = |name: &str| !name.is_empty() && !name.contains([':', '/', '?', '@']);
        systems.push(match argument.split_once('=') {
            Some((name, url)) if is_name(name) => NamedSystem { name: name.to_owned(), url: Some(url.to_owned()) },
            None if is_name(argument) => NamedSystem { name: argument.clone(), url: None },
            _ => {
                let engine = catalog.engine_of_url(argument).map_or("system", |engine| engine.name);
                let is_free = |name: &String| systems.iter().all(|system| system.name != *name);
                let numbered = (2..).map(|number| format!("{engine}-{number}"));
                let name = std::iter::once(engine.to_owned()).chain(numbered).find(is_free);
                NamedSystem { name: name.unwrap_or_default(), url: Some(argument.clone()) }
            }
        });
    }
    systems
}

fn split_override(pair: &str) -> Result<(String, String), CliError> {
    pair.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).ok_or_else(|| {
        CliError::user(format!("`--set {pair}` has no `=`")).hint("write it as `--set schedule.rounds=6`")
    })
}

/// The first in full, the others below it.
fn plan_errors(errors: &model::plan::PlanErrors) -> CliError {
    let rendered = errors.to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    CliError::user(text.trim_end())
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
    fn systems_are_named_by_the_user_or_after_their_engine() {
        let arguments = ["a=sqlite:x", "sqlite:y", "sqlite:z?m=1", "wal", "env:URL"].map(str::to_owned);
        let named = systems(&arguments, &Registry::built_in().catalog());
        let found: Vec<_> = named.iter().map(|s| (s.name.as_str(), s.url.as_deref())).collect();
        let expected = [
            ("a", Some("sqlite:x")),
            ("sqlite", Some("sqlite:y")),
            ("sqlite-2", Some("sqlite:z?m=1")),
            ("wal", None),
            ("system", Some("env:URL")),
        ];
        assert_eq!(found, expected);
    }
}
