//! Whose tables a script of the user's own works on: those that it finds, or else those that étalon makes.

use conductor::Registry;
use model::{Plan, SystemPlan};
use workloads::dataset::Tables;
use workloads::system::{Consent, OpenRequest, Part};

use super::benchmarks::{Asked, OwnScript};
use super::quoted_key;

/// What a system has of the tables that a script names.
enum Found {
    All {
        /// The number of branches, which is the scale of pgbench's tables.
        scale: Option<u64>,
    },
    NotAll,
    /// It could not be asked; the run will say why.
    Unknown,
}

/// Decides for all scripts whether they work on the user's tables, by a look into the systems; notes where étalon makes them.
/// It is decided for all at once: while étalon's tables are there, a script finds them before those of the user.
pub fn choose_tables(asked: &mut Asked, plan: &Plan, set: &[String], registry: &Registry) -> Vec<String> {
    let scripts: Vec<OwnScript> = std::mem::take(&mut asked.on_tables_to_find)
        .into_iter()
        .filter(|script| !sets_tables(set, &script.benchmark))
        .collect();
    if scripts.is_empty() {
        return Vec::new();
    }
    let built_in = asked.benchmarks.len() - scripts.len() - asked.on_tables_of_the_user.len();
    if built_in > 0 {
        return scripts.iter().map(|script| tables_note(script, "others here need étalon's own")).collect();
    }
    let mut scales = Vec::new();
    for script in &scripts {
        match look_everywhere(plan, script, registry) {
            Ok(scale) => scales.push(scale),
            Err(why) => return scripts.iter().map(|script| tables_note(script, &why)).collect(),
        }
    }
    for (script, scale) in scripts.iter().zip(scales) {
        asked.work_on_tables_of_user(script, scale);
    }
    Vec::new()
}

/// Whether `--set` says whose tables a benchmark works on.
fn sets_tables(set: &[String], benchmark: &str) -> bool {
    let name = quoted_key(benchmark);
    set.iter().any(|pair| [&*name, "*"].iter().any(|which| pair.starts_with(&format!("benchmarks.{which}.tables="))))
}

/// Looks into all systems for a script's tables; returns their scale, `None` if it differs; fails with why not all have them.
fn look_everywhere(plan: &Plan, script: &OwnScript, registry: &Registry) -> Result<Option<u64>, String> {
    let found: Vec<(&str, Found)> =
        plan.systems.iter().map(|system| (system.name.as_str(), look_for_tables(system, script, registry))).collect();
    let missing: Vec<&str> =
        found.iter().filter(|(_, found)| matches!(found, Found::NotAll)).map(|(name, _)| *name).collect();
    match missing.as_slice() {
        [] if found.iter().all(|(_, found)| matches!(found, Found::All { .. })) => Ok(common_scale(&found)),
        [] => Err("it is not known whether they are there".to_owned()),
        [one] => Err(format!("{one} has none")),
        several => Err(format!("{} have none", several.join(", "))),
    }
}

/// The scale that all systems have; `None` if they differ or one is unknown.
fn common_scale(found: &[(&str, Found)]) -> Option<u64> {
    let mut scales = found.iter().map(|(_, found)| if let Found::All { scale } = found { *scale } else { None });
    let first = scales.next()??;
    scales.all(|scale| scale == Some(first)).then_some(first)
}

/// Says that étalon makes tables for a script, and why.
fn tables_note(script: &OwnScript, why: &str) -> String {
    let larger = if script.scale.is_none() { "; `--scale 50` makes them larger" } else { "" };
    format!(
        "{} names {}, and {why}: étalon makes pgbench's tables, at scale {}{larger}",
        script.benchmark,
        script.tables.join(", "),
        script.made_scale
    )
}

/// Asks a running system whether it has a script's tables, and at what scale; makes and claims nothing.
fn look_for_tables(system: &SystemPlan, script: &OwnScript, registry: &Registry) -> Found {
    if system.server.is_some() {
        return Found::NotAll;
    }
    let request = OpenRequest { tables: Tables::None, part: Part::Load, ..OpenRequest::new(system, Consent::OwnOnly) };
    let Ok(opened) = registry.open_system(&request) else { return Found::Unknown };
    let has_table = |table: &String| opened.scalar(&format!("SELECT COUNT(*) FROM {table} WHERE 1 = 0")).is_ok();
    if !script.tables.iter().all(has_table) {
        return Found::NotAll;
    }
    let branches = opened.scalar("SELECT COUNT(*) FROM pgbench_branches").ok();
    Found::All { scale: branches.and_then(|count| u64::try_from(count).ok()).filter(|count| *count > 0) }
}
