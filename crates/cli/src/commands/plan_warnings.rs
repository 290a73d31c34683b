//! What keeps a plan from its verdicts and can be known before it runs.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use conductor::{Registry, capacity_run};
use load::error::Failure;
use model::{Case, Length, Plan, Promise, Schedule, SystemPlan};
use serde_json::json;

use report::number::{Script, whole_number};

use super::plan::Work;
use crate::printer::Printer;

/// How long `etalon plan` waits for each server that it asks.
const LOOK_PATIENCE: Duration = Duration::from_secs(3);
/// Operations that a run needs for its p99: ten lie beyond it.
const OPERATIONS_OF_P99: f64 = 1_000.0;

/// The warning for a load whose rate is not known beforehand.
const OPERATIONS_NEEDED: &str = "operations-needed";

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlanWarning {
    pub kind: &'static str,
    /// A sentence without its full stop.
    pub text: String,
}

impl PlanWarning {
    /// Makes a warning of a kind, as JSON names it.
    fn new(kind: &'static str, text: String) -> PlanWarning {
        PlanWarning { kind, text }
    }

    /// Whether this is only a note, about something that may turn out well.
    fn is_note(&self) -> bool {
        self.kind == OPERATIONS_NEEDED
    }

    /// Writes the line `warning: …` or `note: …`.
    pub fn line(&self) -> String {
        let label = if self.is_note() { "note" } else { "warning" };
        format!("{label}: {}", self.text)
    }

    /// Prints the warning or note.
    pub fn print(&self, printer: Printer) {
        if self.is_note() { printer.print_remark(&self.text) } else { printer.print_warning(&self.text) }
    }

    /// Writes the warning's kind and text as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        json!({ "kind": self.kind, "text": self.text })
    }
}

/// Lists what will keep a plan from its verdicts: unequal durability, too few operations, missing programs, too little space.
pub(super) fn plan_warnings(plan: &Plan, registry: &Registry, work: &Work) -> Vec<PlanWarning> {
    let here: Vec<&SystemPlan> = plan.systems.iter().filter(|system| is_on_this_machine(plan, system)).collect();
    let mut found = warn_unequal_durability(plan, registry);
    found.extend(warn_too_few_operations(plan, &work.streams));
    found.extend(warn_missing_programs(plan, &here, registry));
    found.extend(space_warning(&here, registry, work.disk_bytes));
    found
}

/// Whether a system is on this machine: neither at an agent nor another name of a system.
fn is_on_this_machine(plan: &Plan, system: &SystemPlan) -> bool {
    let at_agent = plan.fleet.as_ref().is_some_and(|fleet| fleet.hosts.contains_key(&system.name));
    !at_agent && system.alias_of.is_none()
}

/// Warns of servers on this machine that take no writes since they follow another, as far as they answer at once.
pub(super) fn warn_read_only_servers(plan: &Plan, registry: &Registry) -> Vec<PlanWarning> {
    let here: Vec<&SystemPlan> = plan.systems.iter().filter(|system| is_on_this_machine(plan, system)).collect();
    let refused =
        registry.list_read_only_systems(&here, LOOK_PATIENCE).into_iter().map(|(name, Failure { cause, hint, .. })| {
            let hint = hint.map_or_else(String::new, |hint| format!(": {hint}"));
            PlanWarning::new("read-only", format!("`{name}`: {cause}{hint}"))
        });
    refused.collect()
}

/// Warns of systems whose durability differs from the baseline's, where the plan's settings alone decide it.
fn warn_unequal_durability(plan: &Plan, registry: &Registry) -> Vec<PlanWarning> {
    if plan.comparison.allow_unequal_durability {
        return Vec::new();
    }
    let baseline =
        plan.system(&plan.comparison.baseline).and_then(|system| Some((system, registry.durability_of_plan(system)?)));
    let Some((baseline, tier)) = baseline else { return Vec::new() };
    let others = plan.systems.iter().filter_map(|system| Some((system, registry.durability_of_plan(system)?)));
    let unequal = others.filter(|(_, other)| *other != tier).map(|(system, other)| {
        let text = format!(
            "by the plan's settings a commit of `{}` is {tier}, of `{}` {other}: results, and no verdict between them. \
             Set both alike, or allow it with `--allow-unequal-durability`",
            baseline.name, system.name
        );
        PlanWarning::new("unequal-durability", text)
    });
    unequal.collect()
}

/// Warns of cases whose runs may have too few operations for a p99 or a capacity.
/// The rate of a closed loop is not known beforehand, so the rate that suffices is printed.
fn warn_too_few_operations(plan: &Plan, streams: &[Case]) -> Vec<PlanWarning> {
    let mut found = BTreeSet::new();
    for case in streams {
        let Length::Duration(length) = plan.schedule.length_at(&case.point) else { continue };
        let seconds = length.as_secs_f64();
        let has_own = case.point.contains_key(Schedule::OWN_LENGTH);
        let key =
            if has_own { format!("benchmarks.{}.duration", case.benchmark) } else { "schedule.duration".to_owned() };
        let name = &case.benchmark;
        let (kind, text) = match (positive_at(case, "tasks"), positive_at(case, "rate")) {
            (Some(tasks), _) if tasks < OPERATIONS_OF_P99 => {
                let set = format!("`--set 'benchmarks.{name}.tasks=1000'`");
                ("operations", format!("{name}: {tasks} tasks a run have no p99, which needs 1 000: {set}"))
            }
            (None, Some(rate)) if rate * seconds < OPERATIONS_OF_P99 => {
                let set = format!("`--set {key}={}s`", (OPERATIONS_OF_P99 / rate * 1.1).ceil());
                let length = seconds_text(seconds);
                let text = format!("{name}: {rate} a second in runs of {length} have no p99, which needs 1 000: {set}");
                ("operations", text)
            }
            (None, None) if positive_at(case, "queries").is_none() => {
                let text = match Promise::from_point(&case.point) {
                    Some(_) => capacity_warning_text(seconds),
                    None => format!(
                        "p99 needs {} operations a run: {} a second in runs of {}. Slower cases need longer runs \
                         (`--set {key}=TIME`)",
                        whole_number(OPERATIONS_OF_P99 as u64, Script::Plain),
                        (OPERATIONS_OF_P99 / seconds).ceil(),
                        seconds_text(seconds)
                    ),
                };
                (OPERATIONS_NEEDED, text)
            }
            _ => continue,
        };
        found.insert(PlanWarning::new(kind, text));
    }
    found.into_iter().collect()
}

/// A key's value in a case, if it is above 0.
fn positive_at(case: &Case, key: &str) -> Option<f64> {
    case.point.get(key).and_then(model::Value::as_float).filter(|value| *value > 0.0)
}

/// Says how many operations a capacity needs a run, and below which rates short runs of this length are too short.
fn capacity_warning_text(seconds: f64) -> String {
    let longest = seconds * f64::from(capacity_run::LONGEST);
    format!(
        "a capacity needs {} operations a short run: below {} a second short runs last longer than {}, up to {}; below {} a second \
         that is too short, and there is no verdict (`--set schedule.duration=TIME`)",
        whole_number(Promise::ENOUGH as u64, Script::Plain),
        whole_number((Promise::ENOUGH / seconds).ceil() as u64, Script::Plain),
        seconds_text(seconds),
        seconds_text(longest),
        whole_number((Promise::ENOUGH / longest).ceil() as u64, Script::Plain)
    )
}

/// Writes seconds, in milliseconds below one second.
fn seconds_text(seconds: f64) -> String {
    if seconds < 1.0 { format!("{} ms", (seconds * 1e3).round()) } else { format!("{seconds} s") }
}

/// Warns of programs that private servers and backups need and this machine does not have.
fn warn_missing_programs(plan: &Plan, here: &[&SystemPlan], registry: &Registry) -> Vec<PlanWarning> {
    let mut found = BTreeSet::new();
    for system in here {
        let Ok((engine, _)) = registry.resolve_system(system) else { continue };
        let server = system.server.as_ref().and_then(|server| engine.why_programs_missing(server));
        found.extend(server.map(|failure| missing_program(&system.name, &failure)));
        let methods = plan.cases().into_iter().filter(|case| case.system == system.name);
        let methods = methods.filter_map(|case| Some(case.point.get("method")?.as_text()?.to_owned()));
        for method in methods.collect::<BTreeSet<String>>() {
            found.extend(
                engine.why_backup_impossible(system, &method).map(|failure| missing_program(&system.name, &failure)),
            );
        }
    }
    found.into_iter().collect()
}

/// Makes the warning for a program that a private server or a backup needs.
fn missing_program(system: &str, failure: &Failure) -> PlanWarning {
    let hint = failure.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
    PlanWarning::new("missing-program", format!("`{system}`: {failure}{hint}"))
}

/// Warns that the disk of some system's data has less free space than the plan takes; `None` if all have enough.
fn space_warning(here: &[&SystemPlan], registry: &Registry, disk_bytes: u64) -> Option<PlanWarning> {
    let folders: BTreeSet<PathBuf> = here.iter().filter_map(|system| registry.data_directory(system)).collect();
    let (folder, free) = folders
        .iter()
        .filter_map(|folder| {
            let existing = folder.ancestors().find(|above| above.exists())?;
            let free = host::disk::free_bytes(existing).ok().filter(|free| *free < disk_bytes)?;
            Some((existing.to_owned(), free))
        })
        .min_by_key(|(_, free)| *free)?;
    let text = format!(
        "the data take about {} MB, and {} has {} MB free",
        disk_bytes / 1_000_000,
        folder.display(),
        free / 1_000_000
    );
    Some(PlanWarning::new("space", text))
}
