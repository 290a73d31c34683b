//! What differs between experiments besides the facts of their systems.

use std::collections::{BTreeMap, BTreeSet};

use model::facts::TEXTS;
use model::plan::redact_url;
use model::{Facts, Length, Nature, Order, Reading, Schedule};

use super::{ExperimentDifference, SEED, Source};
use crate::evidence::{BUILD, CLIENT_HOST, IMPORTED};
use crate::number::{RowUnit, Script};

/// What its version and its build are about.
const ETALON: &str = "étalon";
/// What the load generator spends on an operation, by family.
const COSTS: [&str; 2] = ["client_cpu_per_tx", "cpu_per_io"];
/// The load generator's own cost differs if it does by this factor.
const COST_RATIO: f64 = 1.1;

/// Cases with their counterparts, by their place in each source's evidence, and what they are called.
pub struct Counterparts {
    pub name: String,
    pub cases: Vec<Option<u32>>,
}

/// One for each source; `None` if it is not known.
type Values = Vec<Option<String>>;

#[derive(Default)]
struct Found(Vec<ExperimentDifference>);

impl Found {
    /// Adds a difference, unless all values are the same.
    fn add_if_unequal(&mut self, about: &str, name: &str, values: Values) {
        if values.iter().any(|value| *value != values[0]) {
            self.0.push(ExperimentDifference { about: about.to_owned(), name: name.to_owned(), values });
        }
    }
}

/// Finds what differs between stores besides the systems' own facts.
pub fn find_differences(
    sources: &[Source],
    tracks: &[Vec<Option<String>>],
    counterparts: &[Counterparts],
) -> Vec<ExperimentDifference> {
    let mut found = Found::default();
    found.add_if_unequal(
        ETALON,
        "version",
        values_of_sources(sources, &|source| source.evidence.header.etalon_version.clone()),
    );
    found.add_if_unequal(ETALON, "build", values_of_sources(sources, &|source| source.evidence.header.build.clone()));
    // An import knows nothing of how it was run.
    found.add_if_unequal(
        "plan",
        "measured part",
        values_of_schedules(sources, &|schedule| length_text(schedule.length)),
    );
    found.add_if_unequal(
        "plan",
        "warm-up",
        values_of_schedules(sources, &|schedule| format!("{} s", schedule.warmup.as_secs_f64())),
    );
    found.add_if_unequal(
        "plan",
        "rounds",
        values_of_sources(sources, &|source| source.evidence.round_count().to_string()),
    );
    found.add_if_unequal(
        "plan",
        "order",
        values_of_schedules(sources, &|schedule| order_word(schedule.order).to_owned()),
    );
    for track in tracks {
        let name = track.iter().flatten().next().map_or("", String::as_str);
        let about = format!("plan of {name}");
        let here: Vec<usize> = (0..sources.len()).filter(|place| track[*place].is_some()).collect();
        if here.len() < sources.len() {
            continue;
        }
        found.add_if_unequal(
            &about,
            "engine",
            values_of_systems(sources, track, &here, &|system| Some(system.engine.clone())),
        );
        found.add_if_unequal(
            &about,
            "url",
            values_of_systems(sources, track, &here, &|system| {
                Some(redact_url(&system.url)).filter(|url| !url.is_empty())
            }),
        );
        let keys: BTreeSet<String> = here
            .iter()
            .filter_map(|place| system_plan_of(sources, track, *place))
            .flat_map(|s| s.settings.keys().cloned())
            .collect();
        for key in keys {
            found.add_if_unequal(
                &about,
                &key,
                values_of_systems(sources, track, &here, &|system| system.settings.get(&key).map(ToString::to_string)),
            );
        }
    }
    add_script_texts(sources, &mut found);
    add_load_generators(sources, counterparts, &mut found);
    // It is drawn for each experiment, so that it says the least.
    found.add_if_unequal("plan", SEED, values_of_schedules(sources, &|schedule| schedule.seed.to_string()));
    found.0
}

/// Collects a value of each of the compared systems.
fn values_of_systems(
    sources: &[Source],
    track: &[Option<String>],
    here: &[usize],
    value: &dyn Fn(&model::SystemPlan) -> Option<String>,
) -> Values {
    here.iter().map(|place| system_plan_of(sources, track, *place).and_then(value)).collect::<Vec<_>>()
}

/// Looks up the plan of the system that a track takes from a source.
fn system_plan_of<'a>(sources: &'a [Source], track: &[Option<String>], place: usize) -> Option<&'a model::SystemPlan> {
    let name = track[place].as_ref()?;
    sources[place].evidence.header.plan.system(name)
}

/// Collects a value of each source's schedule; `None` for an import.
fn values_of_schedules(sources: &[Source], value: &dyn Fn(&Schedule) -> String) -> Values {
    sources
        .iter()
        .map(|source| {
            let header = &source.evidence.header;
            (header.build != IMPORTED).then(|| value(&header.plan.schedule))
        })
        .collect::<Vec<_>>()
}

/// Collects a value of each source.
fn values_of_sources(sources: &[Source], value: &dyn Fn(&Source) -> String) -> Values {
    sources.iter().map(|source| Some(value(source))).collect::<Vec<_>>()
}

/// Adds the scripts whose texts differ; plans have only their names.
/// A store of an older étalon does not have the texts.
fn add_script_texts(sources: &[Source], found: &mut Found) {
    let all: Vec<Facts> =
        sources.iter().map(|source| source.evidence.facts.get(TEXTS).cloned().unwrap_or_default()).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(|facts| facts.entries.keys()).collect();
    for name in names {
        found.add_if_unequal(
            "plan",
            &format!("text of {name}"),
            all.iter().map(|facts| facts.get(name).map(str::to_owned)).collect(),
        );
    }
}

/// Adds what differs between the load generators, and in what they cost.
fn add_load_generators(sources: &[Source], counterparts: &[Counterparts], found: &mut Found) {
    const ABOUT: &str = "load generator";
    if let Some((name, values)) = largest_cost_difference(sources, counterparts) {
        found.add_if_unequal(ABOUT, &name, values);
    }
    let subjects: BTreeSet<String> = sources
        .iter()
        .flat_map(|source| source.evidence.load_generators().into_iter().map(|(subject, _)| subject.to_owned()))
        .collect();
    for subject in &subjects {
        match subject.strip_prefix(CLIENT_HOST) {
            None => add_machines(sources, subject, [ABOUT, ETALON], found),
            Some(agent) => {
                let about = [format!("{ABOUT} {agent}"), format!("{ETALON} at {agent}")];
                add_machines(sources, subject, [&about[0], &about[1]], found);
            }
        }
    }
}

/// Adds what differs between the machines of a subject, and between the étalons on them.
fn add_machines(sources: &[Source], subject: &str, [about, about_etalon]: [&str; 2], found: &mut Found) {
    // Who imported a table of other tools knows nothing of its machine.
    let hosts: Option<Vec<_>> = sources.iter().map(|source| source.evidence.facts.get(subject)).collect();
    let Some(hosts) = hosts else {
        return found.add_if_unequal(
            about,
            "machine",
            sources
                .iter()
                .map(|source| {
                    let is_told = source.evidence.facts.contains_key(subject);
                    is_told.then(|| "told".to_owned())
                })
                .collect(),
        );
    };
    let names: BTreeSet<&String> = hosts.iter().flat_map(|facts| facts.entries.keys()).collect();
    for name in names {
        let is_identity =
            hosts.iter().all(|facts| facts.entries.get(name).is_none_or(|f| f.nature == Nature::Identity));
        if is_identity {
            let values = hosts.iter().map(|facts| facts.get(name).map(str::to_owned)).collect();
            match name.strip_prefix(BUILD) {
                Some(name) => found.add_if_unequal(about_etalon, name, values),
                None => found.add_if_unequal(about, name, values),
            }
        }
    }
}

/// Finds the case with the largest difference in processor time of the load generator; a dearer one may be the difference.
fn largest_cost_difference(sources: &[Source], counterparts: &[Counterparts]) -> Option<(String, Values)> {
    let known: Vec<_> = sources.iter().map(costs_of_operations).collect();
    let cost = |source: usize, case: u32, metric: &str| {
        let of_case = known[source].get(&(case, metric))?;
        Some(of_case[of_case.len() / 2])
    };
    let mut worst: Option<(f64, String, Values)> = None;
    for Counterparts { name, cases } in counterparts {
        for metric in COSTS {
            let costs: Vec<Option<(f64, &str)>> =
                cases.iter().enumerate().map(|(source, case)| cost(source, (*case)?, metric)).collect();
            let known: Vec<f64> =
                costs.iter().flatten().map(|(value, _)| *value).filter(|value| *value > 0.0).collect();
            let (least, most) =
                (known.iter().copied().fold(f64::INFINITY, f64::min), known.iter().copied().fold(0.0, f64::max));
            if least.is_finite() && most / least > worst.as_ref().map_or(COST_RATIO, |(ratio, ..)| *ratio) {
                let name = format!("CPU time of an operation of {name}");
                worst = Some((
                    most / least,
                    name,
                    costs
                        .iter()
                        .map(|cost| {
                            let (value, unit) = (*cost)?;
                            let unit = RowUnit::new(unit, [value]);
                            Some(format!("{} {}", unit.print(value, Script::Plain), unit.unit_name()))
                        })
                        .collect(),
                ));
            }
        }
    }
    worst.map(|(_, name, values)| (name, values))
}

/// Collects the load generator's cost of an operation by case and metric, sorted, with units.
fn costs_of_operations(source: &Source) -> BTreeMap<(u32, &str), Vec<(f64, &str)>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for stored in &source.evidence.measurements {
        let metric = &stored.measurement.metric;
        if let Reading::Value(value) = stored.measurement.reading
            && COSTS.contains(&metric.id.as_str())
        {
            found.entry((stored.case, metric.id.as_str())).or_default().push((value, metric.unit.as_str()));
        }
    }
    for of_case in found.values_mut() {
        of_case.sort_by(|x, y| x.0.total_cmp(&y.0));
    }
    found
}

/// Writes the length of runs: `10 s`, `500 transactions of each client`.
fn length_text(length: Length) -> String {
    match length {
        Length::Duration(duration) => format!("{} s", duration.as_secs_f64()),
        Length::Transactions(n) => format!("{n} transactions of each client"),
    }
}

/// The word for an order of runs.
fn order_word(order: Order) -> &'static str {
    match order {
        Order::Interleaved => "interleaved",
        Order::Sequential => "sequential",
    }
}
