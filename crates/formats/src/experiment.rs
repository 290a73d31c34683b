//! Turns imported results into a plan with runs for a store.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
pub use model::UNKNOWN;
use model::facts::{IMPORT_NOTES, IMPORT_SOURCE, IMPORT_TOOL};
use model::plan::{MAX_CASES, MAX_ROUNDS};
use model::{
    Benchmark, ComparisonRules, Facts, Length, Mark, MarkKind, Measurement, OnError, Order, Plan, PlannedRun, Point,
    Reading, RunRecord, RunState, Schedule, Stop, SystemPlan, UntilSure, Value,
};

use crate::contradiction::{check_result, find_contradiction};
use crate::dimension::{Clash, Dimensions, Ratio};
use crate::exported::ExportedBenchmark;
use crate::loads::LOAD;
use crate::resolve::{ResolvedResult, resolve_results};
use crate::{ExportedRules, FormatError, Imported, ImportedResult, Repetitions, heads};

/// Name of the engine and the workload of imports.
pub const IMPORTED: &str = "imported";
/// Fact of an imported system whose runs' order is known: [`ROUNDS`]. A sequential order keeps rounds from pairing.
pub const PAIRING: &str = "imported.repetitions";
pub const ROUNDS: &str = "rounds";
/// Fact of a system whose runs all were of one experiment of étalon's: what its table calls it.
pub const OF_EXPERIMENT: &str = "imported.experiment";

const MARGIN: f64 = 0.03;
const LEVEL: f64 = 0.95;
/// Numbers of repetitions that a note lists.
const LISTED: usize = 10;

#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    pub plan: Plan,
    /// At each place the last attempt.
    pub runs: Vec<(PlannedRun, RunRecord)>,
    /// Attempts before it, in their order.
    pub repeated: Vec<(PlannedRun, RunRecord)>,
    /// For readers of the figures; those runs have them too that they are about.
    pub notes: Vec<String>,
    /// Per system: source and unknowns; and the exported facts of the load's machine.
    pub facts: BTreeMap<String, Facts>,
}

/// Makes an experiment of imported results: a case is a benchmark with its keys, its repetitions become rounds.
/// They are compared unpaired, unless étalon's own table says that all were in rounds of one experiment.
///
/// # Errors
/// No results, a repetition or metric that stands twice or is not finite, units that clash, or too many cases.
pub fn into_experiment(name: &str, imports: &[Imported]) -> Result<Experiment, FormatError> {
    let all = resolve_results(imports)?;
    let mut shape = Shape::default();
    for (_, result) in &all {
        check_result(result)?;
        shape.learn_result(result);
    }
    if shape.systems.is_empty() {
        return Err(FormatError::of_whole("there are no results to import"));
    }
    shape.number_points()?;
    let dimensions = learn_dimensions(&all)?;
    let mut taken: BTreeMap<u32, Taken> = BTreeMap::new();
    let mut placed = Vec::new();
    for (import, result) in &all {
        let case = shape.case_index(result);
        let rounds = taken.entry(case).or_default();
        let round = find_round(result, rounds)?;
        rounds.rounds.insert(round);
        placed.push((round, case, run_record(import, result, &dimensions), &result.repeated));
    }
    let gaps = shape.gaps_by_case(&taken);
    for (_, case, record, _) in &mut placed {
        record.marks.extend(gaps.get(case).map(|detail| Mark::new(MarkKind::Note, detail.clone())));
    }
    // Stable: a round's results keep their order.
    placed.sort_by_key(|(round, case, ..)| (*round, *case));
    let rules: Vec<&ExportedRules> = imports.iter().filter_map(|import| import.rules.as_ref()).collect();
    let rounds = placed.iter().map(|(round, ..)| round + 1).max().unwrap_or(0);
    let (mut runs, mut repeated) = (Vec::new(), Vec::new());
    for (position, (round, case, record, attempts)) in (0..).zip(placed) {
        let planned = PlannedRun { position, round, case };
        repeated.extend(
            attempts.iter().map(|(state, reason)| (planned, RunRecord::without_result(*state, reason.as_str()))),
        );
        runs.push((planned, record));
    }
    let order = known_order(imports, &all);
    let of_one = if order == Some(Order::Interleaved) { experiment_of(&all) } else { None };
    let (facts, plan) = (shape.collect_facts(imports, order, of_one), shape.make_plan(name, rounds, order, &rules));
    Ok(Experiment { plan, runs, repeated, notes: gaps.into_values().collect(), facts })
}

/// Learns each metric's unit and better way from the results; fails if two results clash.
fn learn_dimensions<'a>(all: &'a [ResolvedResult<'_>]) -> Result<Dimensions<'a, usize>, FormatError> {
    let mut dimensions = Dimensions::default();
    for (at, (_, result)) in all.iter().enumerate() {
        for Measurement { metric, reading } in &result.measurements {
            let unit = matches!(reading, Reading::Value(_)).then_some(metric.unit.as_str());
            let known = (result.benchmark.as_str(), metric.id.as_str());
            dimensions.learn_metric(known, unit, Some(metric.direction), at).map_err(|clash| {
                let Clash { here, there, place: earlier } = clash;
                let what = format!(
                    "{} of {} is {here} in {}, and {there} in {}",
                    metric.id,
                    result.benchmark,
                    place_of(all, at),
                    place_of(all, earlier)
                );
                FormatError::of_whole(what).with_hint(Clash::<usize>::HINT)
            })?;
        }
    }
    Ok(dimensions)
}

/// Writes the source, system and keys of the result at an index.
fn place_of(all: &[ResolvedResult<'_>], at: usize) -> String {
    all.get(at).map_or_else(String::new, |(import, result)| {
        let keys = keys_text(&result.keys);
        let repetition = result.repetition.map(|n| format!(", repetition {n}")).unwrap_or_default();
        format!("{} ({}, {keys}{repetition})", import.source, result.system)
    })
}

/// Finds the order of the runs, if étalon's own tables or the times of the runs show it.
fn known_order(imports: &[Imported], all: &[ResolvedResult<'_>]) -> Option<Order> {
    // A table that was imported itself before has an order in name only.
    match () {
        () if imports.iter().all(|import| exported_order(import) == Some(Order::Interleaved))
            && experiment_of(all).is_some() =>
        {
            Some(Order::Interleaved)
        }
        () if imports.iter().any(|import| exported_order(import) == Some(Order::Sequential))
            || one_side_was_first(all) =>
        {
            Some(Order::Sequential)
        }
        () => None,
    }
}

/// Gives the order that étalon's own table tells of its rounds.
fn exported_order(import: &Imported) -> Option<Order> {
    let rules = import.rules.as_ref().filter(|rules| rules.repetitions == Repetitions::Rounds);
    rules.map(|rules| rules.order)
}

/// Gives the one experiment of étalon's that all results are of. A table may hold rows of another one.
fn experiment_of<'a>(all: &'a [ResolvedResult<'_>]) -> Option<&'a str> {
    let first = all.first()?.1.experiment.as_deref()?;
    all.iter().all(|(_, result)| result.experiment.as_deref() == Some(first)).then_some(first)
}

/// When the runs of a system began, in milliseconds since 1970. Several results may be of one run.
type Begins<'a> = BTreeMap<&'a str, BTreeSet<i64>>;

/// Whether all runs of a system began before any of another, in a case or over all of them.
fn one_side_was_first(all: &[ResolvedResult<'_>]) -> bool {
    let mut cases: BTreeMap<(&str, String), Begins<'_>> = BTreeMap::new();
    let mut whole = Begins::new();
    for (_, result) in all {
        let Some(began) = result.began_unix_ms else { continue };
        let case = cases.entry((&result.benchmark, point_identity(&result.keys))).or_default();
        for begins in [case, &mut whole] {
            begins.entry(&result.system).or_default().insert(began);
        }
    }
    // Of single runs one is always the first.
    are_apart(&whole) || cases.values().any(are_apart)
}

/// Tests whether one system's first run began after another's last, among systems with several runs.
fn are_apart(begins: &Begins<'_>) -> bool {
    let repeated = || begins.values().filter(|begins| begins.len() > 1);
    let latest_first = repeated().filter_map(BTreeSet::first).max();
    let earliest_last = repeated().filter_map(BTreeSet::last).min();
    latest_first.zip(earliest_last).is_some_and(|(first, last)| first > last)
}

/// Names and points of an experiment, in the order of first mention.
#[derive(Debug, Default)]
struct Shape {
    systems: IndexSet<String>,
    benchmarks: IndexMap<String, Points>,
}

#[derive(Debug, Default)]
struct Points {
    /// The points, by a text that is the same for equal points only.
    points: IndexMap<String, Point>,
    keys: BTreeSet<String>,
    /// Points of earlier benchmarks.
    before: usize,
}

impl Shape {
    fn learn_result(&mut self, result: &ImportedResult) {
        self.systems.insert(result.system.clone());
        let benchmark = self.benchmarks.entry(result.benchmark.clone()).or_default();
        benchmark.keys.extend(result.keys.keys().cloned());
        benchmark.points.entry(point_identity(&result.keys)).or_insert_with(|| result.keys.clone());
    }

    /// Numbers the points of each benchmark, and fails if there are too many cases.
    fn number_points(&mut self) -> Result<(), FormatError> {
        let mut points = 0;
        for benchmark in self.benchmarks.values_mut() {
            benchmark.before = points;
            points += benchmark.points.len();
        }
        let cases = points as u64 * self.systems.len() as u64;
        if cases > MAX_CASES {
            let what = format!(
                "{points} points of {} systems are {cases} cases, and a plan may have {MAX_CASES}",
                self.systems.len()
            );
            return Err(
                FormatError::of_whole(what).with_hint("a column that numbers the rows is no key: name it `repetition`")
            );
        }
        Ok(())
    }

    /// Gives the index of a result's case in [`Plan::cases`].
    fn case_index(&self, result: &ImportedResult) -> u32 {
        let benchmark = self.benchmarks.get(&result.benchmark);
        let point = benchmark.and_then(|b| Some(b.before + b.points.get_index_of(&point_identity(&result.keys))?));
        let system = self.systems.get_index_of(&result.system).unwrap_or(0);
        // `check_size` has limited it.
        (point.unwrap_or(0) * self.systems.len() + system) as u32
    }

    /// Says of each case which repetitions it has none of among its own, where others have one.
    fn gaps_by_case(&self, taken: &BTreeMap<u32, Taken>) -> BTreeMap<u32, String> {
        let mut of_point: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        let systems = self.systems.len() as u32;
        for (case, rounds) in taken {
            of_point.entry(case / systems).or_default().extend(&rounds.rounds);
        }
        let gaps = taken.iter().filter_map(|(case, own)| {
            let last = *own.rounds.last()?;
            let all = of_point.get(&(case / systems))?;
            let missing: Vec<u32> = all.range(..last).filter(|round| !own.rounds.contains(round)).copied().collect();
            (!missing.is_empty()).then(|| (*case, self.gap_words(*case, &missing, all.len())))
        });
        gaps.collect()
    }

    /// Writes which repetitions of a case are missing.
    fn gap_words(&self, case: u32, missing: &[u32], of: usize) -> String {
        let (point, system) = (case as usize / self.systems.len(), case as usize % self.systems.len());
        let system = self.systems.get_index(system).map_or("", String::as_str);
        let benchmark = self.benchmarks.iter().rfind(|(_, points)| points.before <= point);
        let place = benchmark.and_then(|(name, points)| {
            let (_, keys) = points.points.get_index(point - points.before)?;
            Some(format!("{name} ({})", keys_text(keys)))
        });
        let listed: Vec<String> = missing.iter().take(LISTED).map(|round| (round + 1).to_string()).collect();
        let more = match missing.len() - listed.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{system} lacks {} of {of} repetitions of {}: {}{more}; if they failed, say so in the table",
            missing.len(),
            place.unwrap_or_default(),
            listed.join(", ")
        )
    }

    /// Makes a plan by the rules of the first import that has any; all may describe benchmarks.
    fn make_plan(&self, name: &str, rounds: u32, order: Option<Order>, all_rules: &[&ExportedRules]) -> Plan {
        let rules = all_rules.first();
        // What one table does not allow, all of them together do not.
        let allow = |allows: fn(&ExportedRules) -> bool| rules.is_some() && all_rules.iter().all(|rules| allows(rules));
        let comparison = ComparisonRules {
            baseline: rules
                .map(|rules| rules.baseline.clone())
                .filter(|name| self.systems.contains(name))
                .or_else(|| self.systems.first().cloned())
                .unwrap_or_default(),
            margin: rules.map_or(MARGIN, |rules| rules.margin),
            level: rules.map_or(LEVEL, |rules| rules.level),
            allow_unequal_durability: allow(|rules| rules.allow_unequal_durability),
            allow_sequential_order: allow(|rules| rules.allow_sequential_order),
            allow_different_rows: allow(|rules| rules.allow_different_rows),
        };
        let benchmarks = self.benchmarks.iter().map(|(name, Points { points, keys, .. })| Benchmark {
            points: points.values().map(|point| fill_unknown_keys(keys, point.clone())).collect(),
            name: name.clone(),
            workload: exported_benchmark(all_rules, name)
                .map_or_else(|| IMPORTED.to_owned(), |known| known.workload.clone()),
            stands_for: exported_benchmark(all_rules, name).and_then(|known| known.stands_for.clone()),
            by_default: BTreeSet::new(),
        });
        Plan {
            name: name.to_owned(),
            systems: self
                .systems
                .iter()
                .map(|name: &String| SystemPlan {
                    name: name.clone(),
                    engine: IMPORTED.to_owned(),
                    url: String::new(),
                    settings: BTreeMap::new(),
                    server: None,
                    volume: None,
                    alias_of: all_rules
                        .iter()
                        .find_map(|rules| rules.aliases.get(name))
                        .cloned()
                        .filter(|of| of != name && self.systems.contains(of)),
                    price: None,
                    reset: None,
                    change: None,
                })
                .collect(),
            benchmarks: benchmarks.collect(),
            schedule: Schedule {
                rounds,
                warmup: Duration::ZERO,
                length: Length::Duration(Duration::ZERO),
                order: order.unwrap_or(Order::Sequential),
                seed: rules.map_or(0, |rules| rules.seed),
                on_error: OnError::Continue,
                until_sure: if order == Some(Order::Interleaved) { look_interval(all_rules) } else { None },
                caches: model::Caches::Warmed,
            },
            fleet: None,
            comparison,
        }
    }

    /// Collects the facts of each system from the files that its results are from.
    fn collect_facts(
        &self,
        imports: &[Imported],
        order: Option<Order>,
        experiment: Option<&str>,
    ) -> BTreeMap<String, Facts> {
        let mut all = BTreeMap::new();
        let systems = imports.iter().map(|import| import.results.iter().map(|r| r.system.as_str()).collect());
        let systems: Vec<BTreeSet<&str>> = systems.collect();
        let above: Vec<Vec<String>> = imports.iter().map(heads::lines_above).collect();
        let everywhere = heads::lines_in_common(above.iter());
        for system in &self.systems {
            let of_system = imports.iter().zip(&above).zip(&systems);
            let of_system = of_system.filter(|(_, systems)| systems.contains(system.as_str())).map(|(file, _)| file);
            let mut facts = Facts::default();
            let (mut sources, mut tools, mut notes) = (Vec::new(), IndexSet::new(), IndexSet::new());
            if order.is_some() {
                facts.record_passing(PAIRING, ROUNDS);
            }
            if let Some(experiment) = experiment {
                facts.record_passing(OF_EXPERIMENT, experiment);
            }
            for (import, _) in of_system.clone() {
                if let Some((ended, of)) = import.rules.as_ref().and_then(|rules| rules.ended) {
                    facts.set_ended(ended, of);
                }
                tools.insert(tool_and_version(import));
                notes.extend(import.notes.iter().map(String::as_str));
                sources.push(import.source.as_str());
                let own = import.facts.get(system).into_iter().flat_map(|facts| &facts.entries);
                facts.entries.extend(own.map(|(name, fact)| (name.clone(), fact.clone())));
                for unknown in &import.unknown {
                    facts.record_unavailable(
                        format!("imported.{unknown}"),
                        format!("{} does not tell it", import.source),
                    );
                }
            }
            let lines = heads::lines_in_common(of_system.clone().map(|(_, above)| above));
            heads::facts_above(system, &lines, &everywhere)
                .into_iter()
                .for_each(|(name, value)| facts.record_identity(name, value));
            let loads: BTreeSet<&str> = of_system.flat_map(|(import, _)| &import.loads).map(String::as_str).collect();
            if !loads.is_empty() {
                facts.record_identity(format!("imported.{LOAD}"), loads.into_iter().collect::<Vec<_>>().join("; "));
            }
            facts.record_passing(IMPORT_TOOL, tools.into_iter().collect::<Vec<_>>().join(", "));
            facts.record_passing(IMPORT_SOURCE, sources.join(", "));
            if !notes.is_empty() {
                facts.record_passing(IMPORT_NOTES, first_texts(&notes));
            }
            all.insert(system.clone(), facts);
        }
        all.extend(self.facts_of_others(imports));
        all
    }

    /// Collects the facts of what is no system, such as the load's machine; none of several tables, which have several.
    fn facts_of_others(&self, imports: &[Imported]) -> BTreeMap<String, Facts> {
        match imports {
            [only] if only.rules.is_some() => {
                let others = only.facts.iter().filter(|(subject, _)| !self.systems.contains(subject.as_str()));
                others.map(|(subject, facts)| (subject.clone(), facts.clone())).collect()
            }
            _ => BTreeMap::new(),
        }
    }
}

fn exported_benchmark<'r>(all_rules: &[&'r ExportedRules], name: &str) -> Option<&'r ExportedBenchmark> {
    all_rules.iter().flat_map(|rules| &rules.benchmarks).find(|benchmark| benchmark.name == name)
}

/// Fills in the value `unknown` of each key that a point does not have.
fn fill_unknown_keys(keys: &BTreeSet<String>, mut point: Point) -> Point {
    for key in keys {
        point.entry(key.clone()).or_insert_with(|| Value::Text(UNKNOWN.to_owned()));
    }
    point
}

/// Gives the interval by which the rounds of étalon's own table were judged: one look may have ended it.
fn look_interval(all_rules: &[&ExportedRules]) -> Option<UntilSure> {
    let judged = all_rules.iter().find(|rules| rules.first_look.is_some())?;
    Some(UntilSure { first: judged.first_look?, stop: Stop::default(), max_time: None, begun: judged.begun })
}

/// Makes a text that is the same for equal points only.
pub(crate) fn point_identity(point: &Point) -> String {
    point.iter().map(|(key, value)| format!("{key:?}={value:?};")).collect()
}

/// Joins the first texts of many, and counts the rest.
fn first_texts(texts: &IndexSet<&str>) -> String {
    let first: Vec<&str> = texts.iter().take(LISTED).copied().collect();
    let more = texts.len() - first.len();
    if more > 0 { format!("{}; and {more} more notes", first.join("; ")) } else { first.join("; ") }
}

fn tool_and_version(import: &Imported) -> String {
    match &import.version {
        Some(version) => format!("{} {version}", import.tool),
        None => import.tool.to_owned(),
    }
}

/// The rounds of a case that have a result.
#[derive(Debug, Default)]
struct Taken {
    rounds: BTreeSet<u32>,
    /// All before it are taken.
    first_free: u32,
}

/// Finds a result's round: its repetition's number, else the first that is free; fails if it is taken.
fn find_round(result: &ImportedResult, taken: &mut Taken) -> Result<u32, FormatError> {
    let round = match result.repetition {
        Some(0) => return Err(FormatError::of_whole("repetitions count from 1")),
        Some(repetition) if taken.rounds.contains(&(repetition - 1)) => {
            let what = format!(
                "repetition {repetition} of {} on {} ({}) stands twice",
                result.benchmark,
                result.system,
                keys_text(&result.keys)
            );
            return Err(FormatError::of_whole(what));
        }
        Some(repetition) => repetition - 1,
        None => {
            taken.first_free = (taken.first_free..).find(|round| !taken.rounds.contains(round)).unwrap_or(u32::MAX);
            taken.first_free
        }
    };
    if u64::from(round) >= MAX_ROUNDS {
        return Err(FormatError::of_whole(format!("repetition {} is beyond {MAX_ROUNDS}", u64::from(round) + 1)));
    }
    Ok(round)
}

/// Writes keys as `block_kb=8, op=read`.
pub(crate) fn keys_text(point: &Point) -> String {
    let keys: Vec<String> = point.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if keys.is_empty() { "no keys".to_owned() } else { keys.join(", ") }
}

/// Makes the record of a result: its measurements in their metrics' units, with marks of its source and notes.
fn run_record(import: &Imported, result: &ImportedResult, dimensions: &Dimensions<'_, usize>) -> RunRecord {
    let mut measurements = result.measurements.clone();
    let converted: Vec<String> =
        measurements.iter_mut().filter_map(|one| convert_unit(one, &result.benchmark, dimensions)).collect();
    let source = Mark::new(MarkKind::Source, import.source.clone());
    let details = result.notes.iter().chain(&converted);
    let dropped = result.dropped.clone().or_else(|| Some((RunState::Failed, find_contradiction(&measurements)?)));
    let (state, reason) = dropped.map_or((RunState::Measured, None), |(state, reason)| (state, Some(reason)));
    RunRecord {
        state,
        reason,
        began_unix_ms: result.began_unix_ms,
        elapsed_s: result.elapsed_s.filter(|s| s.is_finite() && *s >= 0.0).unwrap_or(0.0),
        measurements,
        series: result.series.clone(),
        marks: std::iter::once(source)
            .chain(details.map(|detail| Mark::new(MarkKind::Note, detail.clone())))
            .chain(result.marks.iter().cloned())
            .collect(),
        points: Vec::new(),
        query_plans: Vec::new(),
    }
}

/// Gives a measurement the unit that its metric has in the first result; says so if that is another.
fn convert_unit(measurement: &mut Measurement, benchmark: &str, dimensions: &Dimensions<'_, usize>) -> Option<String> {
    let Measurement { metric, reading } = measurement;
    let unit = dimensions.unit(benchmark, &metric.id).filter(|unit| *unit != metric.unit)?;
    let from = std::mem::replace(&mut metric.unit, unit.to_owned());
    let Reading::Value(value) = reading else { return None };
    *value = Ratio::between(&from, unit)?.apply(*value);
    Some(format!("{}: {from} were made {unit}", metric.id))
}

#[cfg(test)]
mod tests {
    use model::{Direction, Role};

    use super::*;

    fn result(system: &str, kb: i64, repetition: Option<u32>) -> ImportedResult {
        let mut result = ImportedResult::new(system, "disk");
        result.keys.insert("block_kb".to_owned(), Value::Int(kb));
        result.repetition = repetition;
        result.measurements.push(Measurement::value("iops", "io/s", Direction::Higher, Role::Primary, 5.0));
        result
    }

    fn import(results: Vec<ImportedResult>) -> Imported {
        Imported {
            tool: "tidy",
            version: None,
            source: "a.csv".to_owned(),
            results,
            unknown: vec!["the order".to_owned()],
            notes: Vec::new(),
            loads: BTreeSet::new(),
            above: Vec::new(),
            rules: None,
            facts: BTreeMap::new(),
        }
    }

    #[test]
    fn each_result_finds_its_case_and_round() {
        let results = vec![result("A", 8, None), result("A", 8, None), result("B", 64, Some(2)), result("B", 8, None)];
        let experiment = into_experiment("t", &[import(results)]).unwrap();
        let cases = experiment.plan.cases();
        let found: Vec<_> = experiment
            .runs
            .iter()
            .map(|(planned, _)| {
                let case = &cases[planned.case as usize];
                (planned.position, planned.round, case.system.as_str(), case.point["block_kb"].as_int())
            })
            .collect();
        assert_eq!(found, [(0, 0, "A", Some(8)), (1, 0, "B", Some(8)), (2, 1, "A", Some(8)), (3, 1, "B", Some(64))]);
        assert_eq!(experiment.plan.schedule.rounds, 2);
        let mark = &experiment.runs[0].1.marks[0];
        assert_eq!((mark.kind, mark.detail.as_str()), (MarkKind::Source, "a.csv"));
        assert!(experiment.facts["A"].entries["imported.the order"].reading.is_err());
    }

    #[test]
    fn what_cannot_be_stored_is_refused() {
        assert_eq!(refusal_of(Vec::new()), "there are no results to import");
        let twice = refusal_of(vec![result("A", 8, Some(1)), result("A", 8, Some(1))]);
        assert_eq!(twice, "repetition 1 of disk on A (block_kb=8) stands twice");
        let mut double = result("A", 8, None);
        double.measurements.push(double.measurements[0].clone());
        assert_eq!(refusal_of(vec![double]), "metric \"iops\" stands twice in disk on A (block_kb=8)");
        let many = (0..10_001).map(|kb| result("A", kb, None)).collect();
        assert!(refusal_of(many).contains("cases"));
        assert!(refusal_of(vec![result("A", 8, Some(u32::MAX))]).contains("beyond"));
    }

    fn refusal_of(results: Vec<ImportedResult>) -> String {
        into_experiment("t", &[import(results)]).unwrap_err().to_string()
    }

    #[test]
    fn an_order_that_anything_tells_is_not_unknown() {
        let known = (true, Order::Sequential);
        let unknown = (false, Order::Sequential);
        assert_eq!(order_known([both(), Vec::new()], [sequential(), None]), known);
        assert_eq!(
            order_known([plain("A"), plain("B")], [sequential(), sequential()]),
            known,
            "cut in two it stays so"
        );
        assert_eq!(order_known([plain("A"), plain("B")], [None, sequential()]), known);
        assert_eq!(order_known([both(), Vec::new()], [interleaved(), None]), unknown, "the rows name no experiment");
        let (one, other) = ([named("A", "x"), named("B", "x")], [named("A", "x"), named("B", "y")]);
        let in_rounds = (true, Order::Interleaved);
        assert_eq!(order_known([one.concat(), Vec::new()], [interleaved(), None]), in_rounds);
        assert_eq!(order_known(one, [interleaved(), interleaved()]), in_rounds, "cut in two it is one experiment");
        assert_eq!(order_known([other.concat(), Vec::new()], [interleaved(), None]), unknown, "two, put into one file");
        assert_eq!(order_known(other, [interleaved(), interleaved()]), unknown);
        assert_eq!(order_known([named("A", "x"), plain("B")], [interleaved(), interleaved()]), unknown);
        assert_eq!(
            order_known([both(), Vec::new()], [Some(rules(Order::Sequential, Repetitions::Numbered)), None]),
            unknown
        );
        // Two exports of different days, and a table of others that tells when each run began.
        let (days, turns) = ([0, 1, 5, 6], [0, 5, 1, 6]);
        assert_eq!(order_known(results_at(days), [interleaved(), interleaved()]), known);
        assert_eq!(order_known([results_at(days).concat(), Vec::new()], [None, None]), known);
        assert_eq!(order_known(results_at(turns), [interleaved(), interleaved()]), unknown);
        // Case by case one after the other, as a sequential plan runs.
        let cases = [results_at([0, 1, 2, 3]), results_at([4, 5, 6, 7])].map(|one| one.concat());
        let [first, mut second] = cases;
        second.iter_mut().for_each(|one| drop(one.keys.insert("block_kb".to_owned(), Value::Int(64))));
        assert_eq!(order_known([first, second], [None, None]), known);
    }

    fn interleaved() -> Option<ExportedRules> {
        Some(rules(Order::Interleaved, Repetitions::Rounds))
    }

    fn sequential() -> Option<ExportedRules> {
        Some(rules(Order::Sequential, Repetitions::Rounds))
    }

    fn both() -> Vec<ImportedResult> {
        [plain("A"), plain("B")].concat()
    }

    fn order_known(results: [Vec<ImportedResult>; 2], rules: [Option<ExportedRules>; 2]) -> (bool, Order) {
        let imports = results.into_iter().zip(rules).filter(|(results, _)| !results.is_empty());
        let imports: Vec<Imported> = imports.map(|(results, rules)| Imported { rules, ..import(results) }).collect();
        let experiment = into_experiment("t", &imports).unwrap();
        (experiment.facts["A"].get(PAIRING).is_some(), experiment.plan.schedule.order)
    }

    fn results_at(times: [i64; 4]) -> [Vec<ImportedResult>; 2] {
        [
            vec![result_at("A", 1, times[0]), result_at("A", 2, times[1])],
            vec![result_at("B", 1, times[2]), result_at("B", 2, times[3])],
        ]
    }

    fn plain(system: &str) -> Vec<ImportedResult> {
        vec![result(system, 8, Some(1)), result(system, 8, Some(2))]
    }

    fn named(system: &str, experiment: &str) -> Vec<ImportedResult> {
        plain(system).into_iter().map(|one| ImportedResult { experiment: Some(experiment.to_owned()), ..one }).collect()
    }

    fn result_at(system: &str, repetition: u32, began: i64) -> ImportedResult {
        ImportedResult { began_unix_ms: Some(began), ..result(system, 8, Some(repetition)) }
    }

    fn rules(order: Order, repetitions: Repetitions) -> ExportedRules {
        ExportedRules {
            repetitions,
            order,
            baseline: "A".to_owned(),
            margin: 0.03,
            level: 0.95,
            seed: 1,
            allow_unequal_durability: false,
            allow_sequential_order: false,
            allow_different_rows: false,
            experiment: None,
            ended: None,
            first_look: None,
            begun: None,
            benchmarks: Vec::new(),
            aliases: BTreeMap::new(),
        }
    }

    #[test]
    fn a_key_that_one_result_lacks_is_unknown_there() {
        let mut bare = result("A", 8, None);
        bare.keys.clear();
        let experiment = into_experiment("t", &[import(vec![result("A", 8, None), bare])]).unwrap();
        let values: Vec<String> =
            experiment.plan.cases().iter().map(|case| case.point["block_kb"].to_string()).collect();
        assert_eq!(values, ["8", "unknown"]);
    }
}
