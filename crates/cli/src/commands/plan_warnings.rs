//! What keeps a plan from its verdicts and can be known before it runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use engine::{Registry, capacity_run};
use load::error::Failure;
use model::{Case, Length, Plan, Promise, Schedule, SystemPlan};
use serde_json::json;

use report::number::{Script, whole};

use super::plan::Work;
use crate::printer::Printer;

/// How long `etalon plan` waits for each server that it asks.
const LOOK_PATIENCE: Duration = Duration::from_secs(3);
/// Of a run, for its p99: ten lie beyond it.
const OPERATIONS_OF_P99: f64 = 1_000.0;

/// Of a load whose rate nobody knows beforehand.
const OPERATIONS_NEEDED: &str = "operations-needed";

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Foreseen {
    pub kind: &'static str,
    /// A sentence without its full stop.
    pub text: String,
}

impl Foreseen {
    fn new(kind: &'static str, text: String) -> Foreseen {
        Foreseen { kind, text }
    }

    /// Of what may turn out well.
    fn is_note(&self) -> bool {
        self.kind == OPERATIONS_NEEDED
    }

    /// `warning: …`, or `note: …`.
    pub fn line(&self) -> String {
        let label = if self.is_note() { "note" } else { "warning" };
        format!("{label}: {}", self.text)
    }

    pub fn tell(&self, printer: Printer) {
        match self.is_note() {
            true => printer.remark(&self.text),
            false => printer.warning(&self.text),
        }
    }

    pub fn as_json(&self) -> serde_json::Value {
        json!({ "kind": self.kind, "text": self.text })
    }
}

pub(super) fn foreseen(plan: &Plan, registry: &Registry, work: &Work) -> Vec<Foreseen> {
    let here: Vec<&SystemPlan> = plan.systems.iter().filter(|system| is_here(plan, system)).collect();
    let mut found = unequal_durability(plan, registry);
    found.extend(too_few_operations(plan, &work.streams));
    found.extend(missing_programs(plan, &here, registry));
    found.extend(space(&here, registry, work.disk_bytes));
    found
}

/// Neither at an agent nor another's name.
fn is_here(plan: &Plan, system: &SystemPlan) -> bool {
    let at_agent = plan.fleet.as_ref().is_some_and(|fleet| fleet.hosts.contains_key(&system.name));
    !at_agent && system.alias_of.is_none()
}

/// Servers that follow another, as far as they answer at once.
pub(super) fn read_only_servers(plan: &Plan, registry: &Registry) -> Vec<Foreseen> {
    let here: Vec<&SystemPlan> = plan.systems.iter().filter(|system| is_here(plan, system)).collect();
    let refused =
        registry.refuse_writes(&here, LOOK_PATIENCE).into_iter().map(|(name, Failure { cause, hint, .. })| {
            let hint = hint.map_or_else(String::new, |hint| format!(": {hint}"));
            Foreseen::new("read-only", format!("`{name}`: {cause}{hint}"))
        });
    refused.collect()
}

/// By the plan's settings alone, where they decide.
fn unequal_durability(plan: &Plan, registry: &Registry) -> Vec<Foreseen> {
    if plan.comparison.allow_unequal_durability {
        return Vec::new();
    }
    let promised = |system: &SystemPlan| registry.promised(system);
    let baseline = plan.system(&plan.comparison.baseline).and_then(|system| Some((system, promised(system)?)));
    let Some((baseline, tier)) = baseline else { return Vec::new() };
    let others = plan.systems.iter().filter_map(|system| Some((system, promised(system)?)));
    let unequal = others.filter(|(_, other)| *other != tier).map(|(system, other)| {
        let text = format!(
            "by the plan's settings a commit of `{}` is {tier}, of `{}` {other}: results, and no verdict between them. \
             Set both alike, or allow it with `--allow-unequal-durability`",
            baseline.name, system.name
        );
        Foreseen::new("unequal-durability", text)
    });
    unequal.collect()
}

/// Nobody knows the rate of a closed loop beforehand, so that is said which would do.
fn too_few_operations(plan: &Plan, streams: &[Case]) -> Vec<Foreseen> {
    let mut found = BTreeSet::new();
    for case in streams {
        let Length::Duration(length) = plan.schedule.length_at(&case.point) else { continue };
        let seconds = length.as_secs_f64();
        let has_own = case.point.contains_key(Schedule::OWN_LENGTH);
        let key =
            if has_own { format!("benchmarks.{}.duration", case.benchmark) } else { "schedule.duration".to_owned() };
        let number = |key: &str| case.point.get(key).and_then(model::Value::as_float).filter(|value| *value > 0.0);
        let name = &case.benchmark;
        let (kind, text) = match (number("tasks"), number("rate")) {
            (Some(tasks), _) if tasks < OPERATIONS_OF_P99 => {
                let set = format!("`--set 'benchmarks.{name}.tasks=1000'`");
                ("operations", format!("{name}: {tasks} tasks a run have no p99, which needs 1 000: {set}"))
            }
            (None, Some(rate)) if rate * seconds < OPERATIONS_OF_P99 => {
                let set = format!("`--set {key}={}s`", (OPERATIONS_OF_P99 / rate * 1.1).ceil());
                let length = shown(seconds);
                let text = format!("{name}: {rate} a second in runs of {length} have no p99, which needs 1 000: {set}");
                ("operations", text)
            }
            (None, None) if number("queries").is_none() => {
                let text = match Promise::from_point(&case.point) {
                    Some(_) => of_short_runs(seconds),
                    None => format!(
                        "p99 needs {} operations a run: {} a second in runs of {}. Slower cases need longer runs \
                         (`--set {key}=TIME`)",
                        whole(OPERATIONS_OF_P99 as u64, Script::Plain),
                        (OPERATIONS_OF_P99 / seconds).ceil(),
                        shown(seconds)
                    ),
                };
                (OPERATIONS_NEEDED, text)
            }
            _ => continue,
        };
        found.insert(Foreseen::new(kind, text));
    }
    found.into_iter().collect()
}

fn of_short_runs(seconds: f64) -> String {
    let longest = seconds * f64::from(capacity_run::LONGEST);
    format!(
        "a capacity needs {} operations a short run: below {} a second short runs last longer than {}, up to {}; below {} a second \
         that is too short, and there is no verdict (`--set schedule.duration=TIME`)",
        whole(Promise::ENOUGH as u64, Script::Plain),
        (Promise::ENOUGH / seconds).ceil(),
        shown(seconds),
        shown(longest),
        (Promise::ENOUGH / longest).ceil()
    )
}

fn shown(seconds: f64) -> String {
    if seconds < 1.0 { format!("{} ms", (seconds * 1e3).round()) } else { format!("{seconds} s") }
}

/// Of private servers and of backups.
fn missing_programs(plan: &Plan, here: &[&SystemPlan], registry: &Registry) -> Vec<Foreseen> {
    let told = |system: &str, failure: &Failure| {
        let hint = failure.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
        Foreseen::new("missing-program", format!("`{system}`: {failure}{hint}"))
    };
    let mut found = BTreeSet::new();
    for system in here {
        let Ok((engine, _)) = registry.resolve(system) else { continue };
        let server = system.server.as_ref().and_then(|server| engine.lacks_programs(server));
        found.extend(server.map(|failure| told(&system.name, &failure)));
        let methods = plan.cases().into_iter().filter(|case| case.system == system.name);
        let methods = methods.filter_map(|case| Some(case.point.get("method")?.as_text()?.to_owned()));
        for method in methods.collect::<BTreeSet<String>>() {
            found.extend(engine.lacks_for_backup(system, &method).map(|failure| told(&system.name, &failure)));
        }
    }
    found.into_iter().collect()
}

/// Where the data of some system would lie.
fn space(here: &[&SystemPlan], registry: &Registry, disk_bytes: u64) -> Option<Foreseen> {
    let folders: BTreeSet<PathBuf> = here.iter().filter_map(|system| registry.data_directory(system)).collect();
    let free = |folder: &PathBuf| {
        let existing = folder.ancestors().find(|above| above.exists())?;
        let free = host::disk::free_bytes(existing).ok().filter(|free| *free < disk_bytes)?;
        Some((existing.to_owned(), free))
    };
    let (folder, free) = folders.iter().filter_map(free).min_by_key(|(_, free)| *free)?;
    let text = format!(
        "the data take about {} MB, and {} has {} MB free",
        disk_bytes / 1_000_000,
        folder.display(),
        free / 1_000_000
    );
    Some(Foreseen::new("space", text))
}
