//! From what the user named to a valid plan: a file, a built-in plan, or a system's URL.

use std::path::Path;

use engine::Registry;
use model::Plan;

use crate::args::PlanSource;
use crate::error::CliError;
use crate::smack::{self, Called};

/// A plan that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// The plans that are built in.
pub const BUILT_IN: &[BuiltIn] = &[
    BuiltIn { name: "quickstart", text: include_str!("../../../plans/quickstart.toml") },
    BuiltIn { name: "postgresql-tasks", text: include_str!("../../../plans/postgresql-tasks.toml") },
    BuiltIn { name: "postgres-paths", text: include_str!("../../../plans/postgres-paths.toml") },
    BuiltIn { name: "postgres-settings", text: include_str!("../../../plans/postgres-settings.toml") },
    BuiltIn { name: "smack-select", text: include_str!("../../../plans/smack-select.toml") },
    BuiltIn { name: "smack-update", text: include_str!("../../../plans/smack-update.toml") },
    BuiltIn { name: "spatial", text: include_str!("../../../plans/spatial.toml") },
    BuiltIn { name: "spatial-engines", text: include_str!("../../../plans/spatial-engines.toml") },
];

/// A plan with the text that it comes from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The valid plan, secrets included.
    pub plan: Plan,
    /// The text, with secrets.
    pub text: String,
    /// How messages name it.
    pub name: String,
    /// The file, if it comes from one.
    pub path: Option<String>,
    /// The script that it was made around, if it was.
    pub called: Option<Called>,
}

impl BuiltIn {
    /// The first sentence of its leading comment.
    pub fn about(&self) -> String {
        let comment: Vec<&str> = self
            .text
            .lines()
            .take_while(|line| line.starts_with('#'))
            .map(|line| line.trim_start_matches(['#', ' ']))
            .collect();
        let text = comment.join(" ");
        text.split_inclusive(['.', '?']).next().unwrap_or(&text).trim().to_owned()
    }
}

/// Loads, checks and completes a plan.
///
/// # Errors
/// It cannot be read, or something in it is wrong.
pub fn load(source: &PlanSource, registry: &Registry, default_seed: u64) -> Result<Loaded, CliError> {
    let catalog = registry.catalog();
    let Text { text, name, path, called } = read(source, &catalog)?;
    let overrides = source.set.iter().map(|pair| split_override(pair)).collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::parse(&text, &name, &overrides, &catalog, default_seed).map_err(|errors| plan_errors(&errors))?;
    let plan = match &source.aa {
        None => plan,
        Some(system) => both_sides(&plan, system)?,
    };
    Ok(Loaded { plan, text, name, path, called })
}

/// The plan with one system as both sides: the one named, or the first.
fn both_sides(plan: &Plan, system: &str) -> Result<Plan, CliError> {
    let known: Vec<&str> = plan.systems.iter().map(|system| system.name.as_str()).collect();
    let system = if system.is_empty() { known.first().copied().unwrap_or_default() } else { system };
    plan.to_aa(system).ok_or_else(|| {
        CliError::user(format!("the plan has no system `{system}`"))
            .hint(format!("its systems are {}", known.join(", ")))
    })
}

/// A plan's text, its name in messages, its file, and the script that it was made around.
struct Text {
    text: String,
    name: String,
    path: Option<String>,
    called: Option<Called>,
}

fn read(source: &PlanSource, catalog: &model::Catalog) -> Result<Text, CliError> {
    let named = &source.plan;
    if smack::is_script(source) {
        let smack::Wrapped { text, path, called } = smack::wrap(source, catalog)?;
        return Ok(Text { text, name: "command line".to_owned(), path, called: Some(called) });
    }
    let plain = |text: String, name: &str, path| Text { text, name: name.to_owned(), path, called: None };
    if !source.values.is_empty() || !source.url.is_empty() {
        let message = format!("`{named}` is no `.smack` file: only that takes values and `--url` behind it");
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
        CliError::user(format!("cannot read the plan `{named}`: {error}"))
            .hint(format!("name a plan's file, a system's URL, or a built-in plan: {}", known.join(", ")))
    })?;
    let path = std::path::absolute(Path::new(named)).map_or_else(|_| named.clone(), |path| path.display().to_string());
    Ok(plain(text, named, Some(path)))
}

/// A complete, honest experiment on one system.
fn plan_of_url(url: &str) -> String {
    let url = serde_json::Value::from(url);
    format!(
        "name = \"url\"\n\n[systems.system]\nurl = {url}\n\n[[benchmarks]]\nworkload = \"transactions\"\n\
         script = \"select-update\"\nclients = [1, 4]\n\n[schedule]\nblocks = 6\nwarmup = \"1s\"\nduration = \"5s\"\n"
    )
}

fn split_override(pair: &str) -> Result<(String, String), CliError> {
    pair.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).ok_or_else(|| {
        CliError::user(format!("`--set {pair}` has no `=`")).hint("write it as `--set schedule.blocks=6`")
    })
}

/// All errors of a plan as one: the first in full, the others below it.
fn plan_errors(errors: &model::plan::PlanErrors) -> CliError {
    let rendered = errors.to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    CliError::user(text.trim_end())
}
