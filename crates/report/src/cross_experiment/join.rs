//! Several stores as one evidence: cases matched by benchmark and point of the sweep, systems by name.

use std::collections::{BTreeMap, BTreeSet};

use model::facts::TEXTS;
use model::{Benchmark, Case, ComparisonRules, Facts, Nature, Order, Plan, Point, SystemPlan, Value};
use store::{Header, StoredMeasurement, StoredRun};

use super::differences::{Counterparts, find_differences};
use super::label::{first_and_last_ms, source_labels};
use super::{Alone, CrossExperiment, ExperimentDifference, JoinedExperiment, Source};
use crate::evidence::{Evidence, IMPORTED};
use crate::number::count_noun;

/// The reactor that made the load: it changes results, but a resume does not refuse to continue by this fact.
const REACTOR: &str = "client.reactor";
/// Cases that a message names of each store.
const NAMED: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JoinError {
    #[error("{file} is not at its end: {how_far}")]
    Unfinished { file: String, how_far: String, is_imported: bool },
    #[error("{a} and {b} hold one experiment, which cannot be compared with itself")]
    Same { a: String, b: String },
    #[error("no run of {file} was measured")]
    NothingMeasured { file: String },
    #[error("{file} has no system `{system}`: it has {}", known.join(", "))]
    NoSystem { file: String, system: String, known: Vec<String> },
    #[error("no system has the same name in {}", systems.join(" and in "))]
    NoCommonSystem { systems: Vec<String>, example: String },
    #[error("{} have no case in common: {}", files.join(" and "), systems.join("; "))]
    NothingInCommon { files: Vec<String>, systems: Vec<String> },
}

impl JoinError {
    /// Says what to type instead.
    pub fn hint(&self) -> String {
        match self {
            JoinError::Unfinished { is_imported: true, .. } => {
                "run the rest where the table was exported, and export it again".to_owned()
            }
            JoinError::Unfinished { file, .. } => {
                format!("`etalon resume {file}` runs the rest; `etalon compare {file}` shows what there is")
            }
            JoinError::Same { a, .. } => format!("`etalon compare {a}` compares its systems with each other"),
            JoinError::NothingMeasured { file } => format!("`etalon show {file}` says what became of its runs"),
            JoinError::NoSystem { file, known, .. } => {
                format!("name one of them: `{file}:{}`", known.first().map_or("SYSTEM", String::as_str))
            }
            JoinError::NoCommonSystem { example, .. } => format!("name one of each: `etalon compare {example}`"),
            JoinError::NothingInCommon { .. } => {
                "what is compared has the same benchmark and the same values of what is swept, such as clients"
                    .to_owned()
            }
        }
    }
}

/// A system across the sources, where they have it.
type Track = Vec<Option<String>>;

/// Joins stores into one evidence, of which the first is what the others are compared with.
///
/// # Errors
/// One is not at its end or without a measured run, two are one experiment, a system that was named is missing, or they have no
/// system or no case in common.
pub fn join_stores(sources: &[Source]) -> Result<Evidence, JoinError> {
    check_sources(sources)?;
    let tracks = pair_systems(sources)?;
    let labels = source_labels(sources);
    let mut matching = Matching::new(sources, &tracks);
    let mut differences_of_plans = matching.align_points();
    matching.confound_texts();
    let places = matching.shared_places();
    if places.is_empty() {
        return Err(matching.nothing_in_common_error());
    }
    let called = |place: usize, system: &str| format!("{system} ({})", labels[place]);
    let mut joined = Joined::new(sources, &matching, &places, &called);
    let counterparts: Vec<Counterparts> = places.iter().map(|place| matching.counterparts(place)).collect();
    let mut all = find_differences(sources, &tracks, &counterparts);
    all.append(&mut differences_of_plans);
    // Stable: étalon, plan, then the machines.
    all.sort_by_key(|one| ["étalon", "plan"].iter().position(|about| one.about.starts_with(about)).unwrap_or(2));
    let mut experiments = Vec::new();
    for (place, source) in sources.iter().enumerate() {
        let systems = tracks.iter().filter_map(|track| track[place].as_ref());
        experiments.push(JoinedExperiment {
            label: labels[place].clone(),
            file: source.file.clone(),
            header: source.evidence.header.clone(),
            ran_unix_ms: first_and_last_ms(source),
            systems: systems.map(|system| called(place, system)).collect(),
            run_offset: joined.run_offsets[place],
        });
    }
    let pairs = tracks.iter().flat_map(|track| {
        let others = (1..sources.len()).filter_map(|place| Some((place, track[place].as_ref()?)));
        let first = track[0].as_ref();
        others.filter_map(move |(place, other)| Some((called(0, first?), called(place, other))))
    });
    let pairs = pairs.collect();
    let (alone, confounded) = (matching.find_unmatched(&places), matching.confounded.clone());
    joined.evidence.apart = Some(Box::new(CrossExperiment { experiments, pairs, differences: all, alone, confounded }));
    Ok(joined.evidence)
}

/// Fails if a store is not at its end or without measurements, or two are one experiment.
fn check_sources(sources: &[Source]) -> Result<(), JoinError> {
    for (place, source) in sources.iter().enumerate() {
        let (file, header) = (source.file.clone(), &source.evidence.header);
        if let Some(found) = source.evidence.progress_if_unfinished() {
            return Err(JoinError::Unfinished {
                file,
                how_far: found.sentence(),
                is_imported: header.build == IMPORTED,
            });
        }
        if source.evidence.measurements.is_empty() {
            return Err(JoinError::NothingMeasured { file });
        }
        if let Some(other) = sources[..place].iter().find(|other| {
            let other = &other.evidence.header;
            (&other.plan_hash, other.created_unix_ms) == (&header.plan_hash, header.created_unix_ms)
        }) {
            return Err(JoinError::Same { a: other.file.clone(), b: file });
        }
    }
    Ok(())
}

/// Names of a source's systems.
fn system_names(source: &Source) -> Vec<String> {
    source.evidence.header.plan.systems.iter().map(|system| system.name.clone()).collect()
}

/// Pairs the systems of all sources: the named ones, else those of one name, else the single one of each.
fn pair_systems(sources: &[Source]) -> Result<Vec<Track>, JoinError> {
    for source in sources {
        if let Some(system) = source.system.as_ref().filter(|system| !system_names(source).contains(system)) {
            let (file, known) = (source.file.clone(), system_names(source));
            return Err(JoinError::NoSystem { file, system: system.clone(), known });
        }
    }
    let named = sources.iter().find_map(|source| source.system.as_ref());
    let found = if named.is_some() { Vec::new() } else { tracks_by_name(sources) };
    if !found.is_empty() {
        return Ok(found);
    }
    if let Some(track) = sources.iter().map(|one| only_system(one, named)).collect::<Option<Vec<String>>>() {
        return Ok(vec![track.into_iter().map(Some).collect()]);
    }
    let systems = sources.iter().map(|source| format!("{} ({})", source.file, system_names(source).join(", ")));
    let example = sources.iter().map(|source| {
        let system = only_system(source, named).or_else(|| system_names(source).first().cloned()).unwrap_or_default();
        shell_word(&format!("{}:{system}", source.file))
    });
    Err(JoinError::NoCommonSystem { systems: systems.collect(), example: example.collect::<Vec<_>>().join(" ") })
}

/// Makes a track for each system of the first source that another source has by name.
fn tracks_by_name(sources: &[Source]) -> Vec<Track> {
    let first = system_names(&sources[0]);
    first
        .into_iter()
        .map(|name| {
            sources.iter().map(|source| Some(name.clone()).filter(|name| system_names(source).contains(name))).collect()
        })
        .filter(|track: &Track| track[1..].iter().any(Option::is_some))
        .collect::<Vec<Track>>()
}

/// The system of a source that is named, or its single one; `None` without either.
fn only_system(source: &Source, named: Option<&String>) -> Option<String> {
    let all = system_names(source);
    let of_that_name = named.filter(|name| all.contains(name)).cloned();
    source.system.clone().or(of_that_name).or_else(|| if all.len() == 1 { all.first().cloned() } else { None })
}

/// Quotes a text so that a shell takes it as one word.
fn shell_word(text: &str) -> String {
    if text.chars().all(|c| c.is_alphanumeric() || "/._-:+=,@".contains(c)) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// What a case is, whatever store it is of: benchmark, workload, the system's track, and the keys that are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    benchmark: String,
    workload: String,
    track: usize,
    /// The point's keys, each with a text that is equal for equal values only.
    point: Vec<(String, String)>,
}

/// The cases of those systems that take part, and their points without what is not the same in all stores.
struct Matching<'a> {
    sources: &'a [Source],
    tracks: &'a [Track],
    /// Each source's cases: index, track and point.
    cases: Vec<Vec<(u32, usize, Point)>>,
    /// Each source's index from a place to its positions in `cases`.
    index: Vec<BTreeMap<Place, usize>>,
    confounded: BTreeMap<String, Vec<String>>,
    /// Each source has a single benchmark, under a name of its own: they are taken for one.
    single: Option<Asked>,
}

/// A benchmark and its workload.
type Asked = (String, String);

/// Finds étalon's own single benchmark where each source has only one, and some are of other tools, which name theirs otherwise.
fn single_benchmark(sources: &[Source], cases: &[Vec<(u32, usize, Point)>]) -> Option<Asked> {
    let all: Vec<Asked> = sources
        .iter()
        .zip(cases)
        .map(|(source, own)| {
            let asked = own.iter().map(|(index, ..)| &source.evidence.cases[*index as usize]);
            let all: BTreeSet<Asked> = asked.map(|case| (case.benchmark.clone(), case.workload.clone())).collect();
            (all.len() == 1).then(|| all.into_iter().next()).flatten()
        })
        .collect::<Option<_>>()?;
    let own = sources.iter().position(is_own)?;
    let workloads: BTreeSet<&str> = all.iter().map(|(_, workload)| workload.as_str()).collect();
    // Of one workload two names are two questions.
    let are_apart = workloads.len() == all.len() && !sources.iter().all(is_own);
    are_apart.then(|| all.into_iter().nth(own)).flatten()
}

/// Whether étalon itself measured a source.
fn is_own(source: &Source) -> bool {
    source.evidence.header.build != IMPORTED
}

impl<'a> Matching<'a> {
    /// Collects the cases of those systems that take part.
    fn new(sources: &'a [Source], tracks: &'a [Track]) -> Matching<'a> {
        let cases: Vec<Vec<(u32, usize, Point)>> = sources
            .iter()
            .enumerate()
            .map(|(place, source)| {
                let all = (0_u32..).zip(&source.evidence.cases);
                all.filter_map(|(index, case)| {
                    Some((
                        index,
                        tracks.iter().position(|track| track[place].as_ref() == Some(&case.system))?,
                        case.point.clone(),
                    ))
                })
                .collect()
            })
            .collect();
        let single = single_benchmark(sources, &cases);
        Matching { sources, tracks, cases, index: Vec::new(), confounded: BTreeMap::new(), single }
    }

    /// The benchmark and the workload that a case is matched by.
    fn match_key(&self, case: &Case) -> Asked {
        self.single.clone().unwrap_or_else(|| (case.benchmark.clone(), case.workload.clone()))
    }

    /// Looks up a source's case by its index.
    fn case(&self, place: usize, index: u32) -> &Case {
        &self.sources[place].evidence.cases[index as usize]
    }

    /// Collects the values of a key in a benchmark of a source, each once.
    fn values_of_key(&self, place: usize, asked: &Asked, key: &str) -> Vec<Option<&Value>> {
        let mut values = Vec::new();
        for (index, _, point) in &self.cases[place] {
            let case = self.case(place, *index);
            if self.match_key(case) == *asked && !values.contains(&point.get(key)) {
                values.push(point.get(key));
            }
        }
        values
    }

    /// Removes keys from the points that have one value in each store but not the same; returns these differences.
    /// Such a key that a store of an older étalon does not know yet is no other case.
    fn align_points(&mut self) -> Vec<ExperimentDifference> {
        let keys: BTreeSet<(Asked, String)> = self
            .cases
            .iter()
            .enumerate()
            .flat_map(|(place, own)| own.iter().map(move |one| (place, one)))
            .flat_map(|(place, (index, _, point))| {
                let asked = self.match_key(self.case(place, *index));
                point.keys().map(move |key| (asked.clone(), key.clone()))
            })
            .collect();
        let mut found = Vec::new();
        for (asked, key) in keys {
            let values: Vec<Vec<Option<&Value>>> =
                (0..self.sources.len()).map(|place| self.values_of_key(place, &asked, &key)).collect();
            // A source without the benchmark does not know its keys.
            let known: Vec<&Vec<Option<&Value>>> = values.iter().filter(|own| !own.is_empty()).collect();
            if known.iter().any(|own| own.len() > 1) || known.iter().all(|own| *own == known[0]) {
                continue;
            }
            let values: Vec<Option<String>> =
                values.iter().map(|own| own.first().and_then(|value| value.map(ToString::to_string))).collect();
            found.push((asked, key, values));
        }
        for (asked, key, values) in &found {
            if values.iter().flatten().any(|value| values.iter().flatten().next() != Some(value)) {
                self.confounded.entry(asked.0.clone()).or_default().push(key.clone());
            }
            let is_single = self.single.is_some();
            for (source, own) in self.sources.iter().zip(&mut self.cases) {
                for (index, _, point) in own {
                    let case = &source.evidence.cases[*index as usize];
                    if is_single || (&case.benchmark, &case.workload) == (&asked.0, &asked.1) {
                        point.remove(key);
                    }
                }
            }
        }
        self.index = self
            .cases
            .iter()
            .enumerate()
            .map(|(place, own)| {
                own.iter()
                    .enumerate()
                    .map(|(at, case)| (self.case_identity(place, case), at))
                    .collect::<BTreeMap<Place, usize>>()
            })
            .collect();
        self.benchmark_name_difference()
            .into_iter()
            .chain(found.into_iter().map(|((benchmark, _), key, values)| ExperimentDifference {
                about: "plan".to_owned(),
                name: format!("{key} of {benchmark}"),
                values,
            }))
            .collect()
    }

    /// Makes a difference of what the sources call their single benchmarks; `None` if they agree.
    fn benchmark_name_difference(&self) -> Option<ExperimentDifference> {
        self.single.as_ref()?;
        let (about, values): (_, Vec<_>) = (
            "plan".to_owned(),
            self.sources.iter().map(|source| Some(source.evidence.cases.first()?.benchmark.clone())).collect(),
        );
        let differ = values.iter().any(|name| *name != values[0]);
        differ.then(|| ExperimentDifference { about, name: "benchmark".to_owned(), values })
    }

    /// Records the benchmarks whose script's text has changed under its name, which makes it another script.
    fn confound_texts(&mut self) {
        let facts: Vec<_> = self.sources.iter().filter_map(|source| source.evidence.facts.get(TEXTS)).collect();
        let names = facts.first().into_iter().flat_map(|facts| facts.entries.keys());
        for name in names.filter(|name| {
            let known: Vec<&str> = facts.iter().filter_map(|facts| facts.get(name)).collect();
            known.iter().any(|text| *text != known[0])
        }) {
            let file = name.split(" names ").next().unwrap_or(name);
            for (index, _, point) in &self.cases[0] {
                let benchmark = &self.sources[0].evidence.cases[*index as usize].benchmark;
                let keys = self.confounded.entry(benchmark.clone()).or_default();
                let key = format!("text of {name}");
                if point.values().any(|value| value.as_text().is_some_and(|text| text.contains(file)))
                    && !keys.contains(&key)
                {
                    keys.push(key);
                }
            }
        }
    }

    /// Makes the identity of a source's case in the joined experiment.
    fn case_identity(&self, source: usize, (index, track, point): &(u32, usize, Point)) -> Place {
        let (benchmark, workload) = self.match_key(self.case(source, *index));
        Place {
            benchmark,
            workload,
            track: *track,
            point: point.iter().map(|(key, value)| (key.clone(), format!("{value:?}"))).collect(),
        }
    }

    /// Finds the case of a source that has an identity.
    fn case_at(&self, source: usize, place: &Place) -> Option<&(u32, usize, Point)> {
        self.cases[source].get(*self.index[source].get(place)?)
    }

    /// Lists the identities of the first source's cases that another source has, too.
    fn shared_places(&self) -> Vec<Place> {
        let of_first = self.cases[0].iter().map(|case| self.case_identity(0, case));
        of_first.filter(|place| (1..self.sources.len()).any(|source| self.case_at(source, place).is_some())).collect()
    }

    /// Finds the cases of all sources that have an identity.
    fn counterparts(&self, place: &Place) -> Counterparts {
        let cases = (0..self.sources.len()).map(|source| self.case_at(source, place).map(|(index, ..)| *index));
        let cases: Vec<Option<u32>> = cases.collect();
        let name = cases[0].map_or_else(String::new, |index| self.case_label(0, index));
        Counterparts { name, cases }
    }

    /// Labels a source's case by its varying keys.
    fn case_label(&self, source: usize, index: u32) -> String {
        let case = self.case(source, index);
        case.label(&self.sources[source].evidence.header.plan.varying_keys(&case.benchmark))
    }

    /// Lists the systems, and the cases of systems that take part, that have no counterpart.
    fn find_unmatched(&self, places: &[Place]) -> Vec<Alone> {
        let (mut all, known) = (Vec::new(), places.iter().collect::<BTreeSet<&Place>>());
        for (experiment, source) in self.sources.iter().enumerate() {
            let systems = system_names(source).into_iter().filter(|name| {
                !self.tracks.iter().any(|track| track[experiment].as_ref() == Some(name)) && source.system.is_none()
            });
            all.extend(systems.map(|name| Alone { experiment, what: format!("system {name}") }));
            let others =
                self.cases[experiment].iter().filter(|case| !known.contains(&self.case_identity(experiment, case)));
            all.extend(others.map(|(index, ..)| Alone { experiment, what: self.case_label(experiment, *index) }));
        }
        all
    }

    /// Makes the error for stores without a case in common, which lists what each has.
    fn nothing_in_common_error(&self) -> JoinError {
        let systems = self.sources.iter().enumerate().map(|(place, source)| {
            let all = &self.cases[place];
            let named = all.iter().take(NAMED).map(|(index, ..)| self.case_label(place, *index)).collect::<Vec<_>>();
            let more = match all.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {}", count_noun(more, "more case")),
            };
            format!("{} has {}{more}", source.file, named.join("; "))
        });
        let files = self.sources.iter().map(|source| source.file.clone()).collect();
        JoinError::NothingInCommon { files, systems: systems.collect() }
    }
}

/// What all stores hold, under numbers of their own.
struct Joined {
    evidence: Evidence,
    run_offsets: Vec<i64>,
}

impl Joined {
    /// Joins the runs and facts of all sources, with new numbers for runs and cases.
    fn new(
        sources: &[Source],
        matching: &Matching<'_>,
        places: &[Place],
        called: &dyn Fn(usize, &str) -> String,
    ) -> Joined {
        // By source, the new index of a case.
        let mut indices: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); sources.len()];
        let mut cases = Vec::new();
        for place in places {
            for (source, own) in indices.iter_mut().enumerate() {
                let Some((index, _, point)) = matching.case_at(source, place) else { continue };
                own.insert(*index, cases.len() as u32);
                let case = matching.case(source, *index);
                let system = called(source, &case.system);
                let (benchmark, workload) = (place.benchmark.clone(), place.workload.clone());
                cases.push(Case { system, point: point.clone(), benchmark, workload });
            }
        }
        let header = joined_header(sources, &cases, matching.tracks, called);
        let evidence = Evidence {
            header,
            cases,
            runs: Vec::new(),
            measurements: Vec::new(),
            superseded: Vec::new(),
            marks: Vec::new(),
            points: Vec::new(),
            query_plans: Vec::new(),
            facts: BTreeMap::new(),
            store: None,
            apart: None,
        };
        let mut joined = Joined { evidence, run_offsets: Vec::new() };
        let mut positions = 0;
        for (place, source) in sources.iter().enumerate() {
            positions = joined.append_runs(&source.evidence, &indices[place], positions);
            joined.append_facts(place, source, matching.tracks, called);
        }
        joined
    }

    /// Appends a source's runs, measurements and marks under new numbers; returns the first free position after them.
    fn append_runs(&mut self, from: &Evidence, indices: &BTreeMap<u32, u32>, positions: u32) -> u32 {
        let into = &mut self.evidence;
        let offset = into.runs.iter().map(|run| run.id).max().unwrap_or(0);
        self.run_offsets.push(offset);
        let mut last = positions;
        for run in &from.runs {
            let Some(case) = indices.get(&run.planned.case) else { continue };
            let mut run: StoredRun = run.clone();
            run.id += offset;
            (run.planned.case, run.planned.position) = (*case, run.planned.position + positions);
            last = last.max(run.planned.position + 1);
            into.runs.push(run);
        }
        into.measurements
            .extend(from.measurements.iter().filter_map(|one| renumber_measurement(one, indices, offset, positions)));
        into.superseded
            .extend(from.superseded.iter().filter_map(|one| renumber_measurement(one, indices, offset, positions)));
        let known: BTreeSet<i64> = into.runs.iter().map(|run| run.id).collect();
        let marks = from.marks.iter().map(|(run, mark)| (run + offset, mark.clone()));
        into.marks.extend(marks.filter(|(run, _)| known.contains(run)));
        let points = from.points.iter().map(|(run, point)| (run + offset, point.clone()));
        into.points.extend(points.filter(|(run, _)| known.contains(run)));
        let plans = from.query_plans.iter().map(|(run, plan)| (run + offset, plan.clone()));
        into.query_plans.extend(plans.filter(|(run, _)| known.contains(run)));
        last
    }

    /// Adds the facts of a source's systems and other subjects under their new names.
    fn append_facts(
        &mut self,
        place: usize,
        source: &Source,
        tracks: &[Track],
        called: &dyn Fn(usize, &str) -> String,
    ) {
        let systems: BTreeSet<&String> = tracks.iter().filter_map(|track| track[place].as_ref()).collect();
        for system in &systems {
            let mut facts: Facts = source.evidence.facts_of(system).cloned().unwrap_or_default();
            if let Some(reactor) = facts.entries.get_mut(REACTOR) {
                reactor.nature = Nature::Identity;
            }
            self.evidence.facts.insert(called(place, system), facts);
        }
        for (subject, facts) in
            source.evidence.facts.iter().filter(|(subject, _)| source.evidence.header.plan.system(subject).is_none())
        {
            self.evidence.facts.insert(called(place, subject), facts.clone());
        }
    }
}

/// Copies a measurement with its new run, case and position; `None` if its case takes no part.
fn renumber_measurement(
    one: &StoredMeasurement,
    indices: &BTreeMap<u32, u32>,
    offset: i64,
    positions: u32,
) -> Option<StoredMeasurement> {
    let case = *indices.get(&one.case)?;
    Some(StoredMeasurement { run_id: one.run_id + offset, case, position: one.position + positions, ..one.clone() })
}

/// Joins texts by a separator, each once.
fn distinct_texts(texts: impl Iterator<Item = String>, separator: &str) -> String {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found.join(separator)
}

/// Makes one header of all sources' headers.
fn joined_header(
    sources: &[Source],
    cases: &[Case],
    tracks: &[Track],
    called: &dyn Fn(usize, &str) -> String,
) -> Header {
    Header {
        etalon_version: distinct_in_headers(sources, |header| &header.etalon_version, " and "),
        build: distinct_in_headers(sources, |header| &header.build, " and "),
        created_unix_ms: headers(sources).map(|header| header.created_unix_ms).max().unwrap_or(0),
        plan: joined_plan(sources, cases, tracks, called),
        plan_text: headers(sources)
            .enumerate()
            .map(|(place, header)| {
                let (file, name) = (&sources[place].file, &header.plan.name);
                format!("# {file}: {name}\n{}\n", header.plan_text)
            })
            .collect(),
        plan_path: None,
        plan_hash: distinct_in_headers(sources, |header| &header.plan_hash, " and "),
        command: distinct_in_headers(sources, |header| &header.command, "\n"),
    }
}

/// Joins a field of all headers, each value once.
fn distinct_in_headers(sources: &[Source], of: fn(&Header) -> &String, separator: &str) -> String {
    distinct_texts(headers(sources).map(|header| of(header).clone()), separator)
}

/// Lists the headers of all sources.
fn headers(sources: &[Source]) -> impl Iterator<Item = &Header> {
    sources.iter().map(|source| &source.evidence.header)
}

/// Makes a plan with these systems and cases, for reports to read; it cannot be run.
fn joined_plan(sources: &[Source], cases: &[Case], tracks: &[Track], called: &dyn Fn(usize, &str) -> String) -> Plan {
    let first = &sources[0].evidence.header.plan;
    let mut systems = Vec::new();
    for track in tracks {
        for (place, name) in track.iter().enumerate() {
            let Some(system) = name.as_ref().and_then(|name| sources[place].evidence.header.plan.system(name)) else {
                continue;
            };
            let alias_of = system
                .alias_of
                .as_ref()
                .filter(|of| tracks.iter().any(|track| track[place].as_ref() == Some(*of)))
                .map(|of| called(place, of));
            systems.push(SystemPlan { name: called(place, &system.name), alias_of, ..system.clone() });
        }
    }
    let mut benchmarks: Vec<Benchmark> = Vec::new();
    for case in cases {
        match benchmarks.iter_mut().find(|known| known.name == case.benchmark) {
            Some(known) if known.points.contains(&case.point) => {}
            Some(known) => known.points.push(case.point.clone()),
            None => {
                let mut own = plans(sources).flat_map(|plan| &plan.benchmarks).filter(|own| own.name == case.benchmark);
                let first = own.next();
                benchmarks.push(Benchmark {
                    name: case.benchmark.clone(),
                    workload: case.workload.clone(),
                    stands_for: first.and_then(|first| first.stands_for.clone()),
                    points: vec![case.point.clone()],
                    by_default: own
                        .fold(first.map_or_else(BTreeSet::new, |first| first.by_default.clone()), |all, own| {
                            &all & &own.by_default
                        }),
                });
            }
        }
    }
    let mut schedule = first.schedule.clone();
    schedule.order = Order::Sequential;
    schedule.rounds = plans(sources).map(|plan| plan.schedule.rounds).max().unwrap_or(schedule.rounds);
    Plan {
        name: distinct_texts(plans(sources).map(|plan| plan.name.clone()), " and "),
        comparison: ComparisonRules {
            baseline: systems.first().map(|system| system.name.clone()).unwrap_or_default(),
            allow_unequal_durability: plans(sources).all(|plan| plan.comparison.allow_unequal_durability),
            allow_different_rows: plans(sources).all(|plan| plan.comparison.allow_different_rows),
            allow_sequential_order: false,
            ..first.comparison.clone()
        },
        systems,
        benchmarks,
        schedule,
        fleet: None,
    }
}

/// Lists the plans of all sources.
fn plans(sources: &[Source]) -> impl Iterator<Item = &Plan> {
    sources.iter().map(|source| &source.evidence.header.plan)
}
