//! Notes on all rows of a set.

mod checkpoints;
mod lengths;
pub mod own_tables;
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use model::facts::{DATA_FILESYSTEM, INSTANCE, LAYER, PUBLICATION, UNTRIED};
use model::{Facts, Promise};

use super::disturbance::{Disturbance, why_load_unknown};
use super::families::is_of_queries;
use super::note::{Note, NoteKind};
use super::reset;
use super::row::NoVerdict;
use super::set::{AllowedBy, OneSided, Rules, Table, TimeOrder};
use crate::evidence::{BUILD, CLIENT_HOST, Evidence, HOST_BUILD, IMPORTED};
use crate::number::{Script, count_noun, percent_text};
use crate::{labels, order_entry, queries};

/// [`store::Header::build`] with comparable figures.
const RELEASE: &str = "release";

/// Collects the notes on all rows of a set: experiments, sources, promises, builds, order, durability and more.
pub fn all_notes(
    evidence: &Evidence,
    tables: &[Table],
    one_sided: &[OneSided],
    disturbances: &[Disturbance],
    rules: &Rules,
) -> Vec<Note> {
    let mut notes = Notes::default();
    notes.add_experiments(evidence);
    for text in sources::source_notes(evidence) {
        notes.add(NoteKind::Source, text);
    }
    for text in lengths::length_notes(evidence, tables) {
        notes.add(NoteKind::Lengths, text);
    }
    for (benchmark, promise) in list_promises(evidence) {
        let (load, clause) = (promise.sought_load(), promise.promise_clause());
        notes.add(NoteKind::Promise, format!("capacity of {benchmark}: {load} at which {clause}"));
    }
    if let Some(text) = different_builds_note(evidence) {
        notes.add(NoteKind::DifferentBuilds, text);
    }
    if let Some(text) = sequential_note(rules) {
        notes.add(NoteKind::SequentialOrder, text);
    }
    if let Some(text) = incomplete_note(evidence) {
        notes.add(NoteKind::Incomplete, text);
    }
    if let Some(found) = rules.unfinished {
        let is_judged = rules.unjudgeable_yet().is_none();
        notes.add(NoteKind::Unfinished, labels::unfinished_clause(&found, is_judged, evidence.is_import()));
    }
    for disturbance in disturbances {
        notes.add(NoteKind::Disturbed, format!("during the runs: {}", disturbance.note_text()));
    }
    if let Some(reason) = why_load_unknown(evidence) {
        notes.add(NoteKind::LoadUnknown, format!("what other programs did during the runs is not known: {reason}"));
    }
    for table in tables {
        if let Some(text) = same_server_note(table) {
            notes.add(NoteKind::SameServer, text);
        }
        if let Some(text) = two_addresses_note(evidence, table) {
            notes.add(NoteKind::SameServer, text);
        }
        if let Some(text) = same_device_note(evidence, table) {
            notes.add(NoteKind::SameDevice, text);
        }
        if let Some(text) = unequal_durability_note(evidence, table, rules) {
            notes.add(NoteKind::UnequalDurability, text);
        }
    }
    for text in own_tables::own_table_notes(evidence) {
        notes.add(NoteKind::OwnTables, text);
    }
    if let Some(text) = reset::reset_note(evidence) {
        notes.add(NoteKind::Reset, text);
    }
    for case in one_sided {
        notes.add(NoteKind::Missing, format!("{} is not compared: {}", case.name, case.sentence()));
    }
    for text in publication_notes(evidence) {
        notes.add(NoteKind::Publication, text);
    }
    for (kind, text) in cautions_of_systems(evidence) {
        notes.add(kind, text);
    }
    for (kind, text) in workload_notes(evidence, tables) {
        notes.add(kind, text);
    }
    if tables.iter().all(|table| table.rows.is_empty()) {
        notes.add(NoteKind::Missing, why_no_rows(evidence).to_owned());
    }
    notes.0.dedup();
    notes.0
}

/// Says why there is no row.
fn why_no_rows(evidence: &Evidence) -> &'static str {
    if evidence.header.plan.systems.len() == 1 && !evidence.measurements.is_empty() {
        "a single system: figures, and nothing to compare them with"
    } else if evidence.measurements.is_empty() {
        "no run was measured, so there is nothing to compare"
    } else {
        "no metric that was asked for has values on both sides"
    }
}

#[derive(Default)]
struct Notes(Vec<Note>);

impl Notes {
    /// Adds a note of a kind.
    fn add(&mut self, kind: NoteKind, text: String) {
        self.0.push(Note { kind, text });
    }

    /// Adds notes that sides were measured apart, and that étalon was no release build.
    fn add_experiments(&mut self, evidence: &Evidence) {
        if let Some(apart) = &evidence.apart {
            self.add(NoteKind::Apart, apart.times_sentence());
            self.add(NoteKind::Differs, apart.differences_sentence());
            for text in apart.only_in_sentences() {
                self.add(NoteKind::OnlyIn, text);
            }
        }
        let builds = evidence.headers().into_iter().map(|header| header.build.as_str());
        if let Some(build) = builds.into_iter().find(|build| ![RELEASE, IMPORTED].contains(build)) {
            self.add(
                NoteKind::DebugBuild,
                format!("not comparable: measured by a {build} build of étalon, whose own cost is in every figure"),
            );
        }
    }
}

/// Queries that are named in the note on their plans.
const NAMED_QUERIES: usize = 3;

/// Names the queries whose plans differ between sides, in a note; `None` without any.
fn query_plans_note(evidence: &Evidence, tables: &[Table]) -> Option<String> {
    let rows = tables.iter().flat_map(|table| &table.rows).filter(|row| row.plan_differs == Some(true));
    let differing: BTreeSet<&str> = rows.filter_map(|row| Some(row.metric.id.split_once('/')?.1)).collect();
    let named: Vec<&str> = differing.iter().copied().take(NAMED_QUERIES).collect();
    let more = differing.len() - named.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let store = evidence.store.as_ref().map_or_else(|| "STORE".to_owned(), |path| path.display().to_string());
    let differ = if differing.len() == 1 { "the plan of" } else { "the plans of" };
    let verb = if differing.len() == 1 { "differs" } else { "differ" };
    let names = named.join(", ");
    (!named.is_empty()).then(|| format!("{differ} {names}{more} {verb}: `etalon report {store}` shows both"))
}

/// Lists the notes that only some workloads need: checks, isolation, checkpoints, query plans and virtual disks.
fn workload_notes(evidence: &Evidence, tables: &[Table]) -> impl Iterator<Item = (NoteKind, String)> {
    let isolation = order_entry::isolation_sentences(evidence).into_iter().map(|text| (NoteKind::Isolation, text));
    let checks = order_entry::check_sentences(evidence).into_iter().map(|text| (NoteKind::Checks, text));
    let checkpoints =
        order_entry::checkpoint_sentence(evidence).into_iter().chain(checkpoints::checkpoints_note(evidence));
    let checkpoints = checkpoints.map(|text| (NoteKind::Checkpoints, text));
    let plans = query_plans_note(evidence, tables).map(|text| (NoteKind::QueryPlans, text));
    checks
        .chain(isolation)
        .chain(checkpoints)
        .chain(plans)
        .chain(virtual_disk_note(evidence).map(|text| (NoteKind::VirtualDisk, text)))
}

/// Says what restricts publication, by a system's licence or the workload's origin.
fn publication_notes(evidence: &Evidence) -> Vec<String> {
    let origins = order_entry::workload_origin(evidence).into_iter().chain(queries::workload_origin(evidence));
    texts_of_fact(evidence, PUBLICATION)
        .into_iter()
        .map(|(system, restriction)| format!("before this is published: {restriction} ({system})"))
        .chain(origins.map(str::to_owned))
        .collect()
}

/// Collects the keys that the plan leaves at their defaults, by benchmark.
pub(super) fn default_keys(evidence: &Evidence) -> BTreeMap<String, BTreeSet<String>> {
    let benchmarks = evidence.header.plan.benchmarks.iter();
    benchmarks.map(|benchmark| (benchmark.name.clone(), benchmark.by_default.clone())).collect()
}

/// Lists what the loads had to keep, each promise of a benchmark once.
pub(super) fn list_promises(evidence: &Evidence) -> Vec<(String, Promise)> {
    let mut found: Vec<(String, Promise)> = Vec::new();
    for case in &evidence.cases {
        if let Some(promise) = Promise::from_point(&case.point).map(|promise| (case.benchmark.clone(), promise))
            && !found.contains(&promise)
        {
            found.push(promise);
        }
    }
    found
}

/// Says which builds of étalon differ between the systems' hosts, or between those that made load; `None` if none do.
/// That of the conductor may be another: it makes no load there.
fn different_builds_note(evidence: &Evidence) -> Option<String> {
    if evidence.apart.is_some() {
        // Said among all that differs.
        return None;
    }
    let of_systems = evidence
        .header
        .plan
        .systems
        .iter()
        .filter_map(|system| Some((system.name.as_str(), evidence.facts_of(&system.name)?)));
    let agents = evidence.load_generators().into_iter();
    let agents = agents.filter_map(|(subject, facts)| Some((subject.strip_prefix(CLIENT_HOST)?, facts)));
    let differences = [differing_facts(HOST_BUILD, of_systems.collect()), differing_facts(BUILD, agents.collect())];
    let differences: Vec<String> = differences.into_iter().flatten().collect();
    (!differences.is_empty()).then(|| {
        format!("not one build of étalon on all hosts, which may cost more on one: {}", differences.join("; "))
    })
}

/// Lists the facts with a prefix that differ between machines: `profile release (alpha), debug (beta)`; `None` without any.
fn differing_facts(prefix: &str, machines: Vec<(&str, &Facts)>) -> Option<String> {
    let names: BTreeSet<&str> = machines
        .iter()
        .flat_map(|(_, facts)| facts.entries.keys())
        .filter_map(|name| name.strip_prefix(prefix))
        .collect();
    let differences: Vec<String> = names
        .into_iter()
        .filter_map(|name| {
            let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (machine, facts) in &machines {
                if let Some(value) = facts.get(&format!("{prefix}{name}")) {
                    values.entry(value).or_default().push(machine);
                }
            }
            let differences = values.iter().map(|(value, machines)| format!("{value} ({})", machines.join(", ")));
            (values.len() > 1).then(|| format!("{name} {}", differences.collect::<Vec<_>>().join(", ")))
        })
        .collect();
    (!differences.is_empty()).then(|| differences.join("; "))
}

/// Says what an order does that does not interleave the sides; `None` if it interleaves them.
fn sequential_note(rules: &Rules) -> Option<String> {
    match rules.order {
        // What was measured apart has notes of its own.
        TimeOrder::Interleaved | TimeOrder::Apart => None,
        TimeOrder::Unknown => Some(
            "imported: the order in which the cases ran is unknown, so what changed on the machine in the meantime may look \
             like a difference between them"
                .to_owned(),
        ),
        TimeOrder::Sequential => Some(
            "the cases ran one after the other, not interleaved, so that order and time are confounded: what changed on the \
             machine in the meantime looks like a difference between them. Figures without a verdict, unless the plan says \
             `allow_sequential_order = true`, or the command line `--allow-sequential-order`"
                .to_owned(),
        ),
        TimeOrder::SequentialAllowed => Some(format!(
            "the cases ran one after the other, not interleaved: what changed on the machine in the meantime looks like a \
             difference between them. Compared without pairing, because {}",
            rules.sequential_order.because_clause()
        )),
    }
}

/// Says that a virtual machine hides its real disk; `None` if none was measured in one.
fn virtual_disk_note(evidence: &Evidence) -> Option<String> {
    let machines = evidence.load_generators();
    let machine =
        machines.iter().find_map(|(_, facts)| facts.get("virtualisation").filter(|found| *found != "none seen"))?;
    let has_disks = evidence.cases.iter().any(|case| super::disk::is_disk(&case.point));
    has_disks.then(|| {
        format!(
            "the disk is one of a virtual machine ({machine}): caches and limits of the host under it are in the figures, \
             and the counters of its devices do not show them"
        )
    })
}

/// Lists what a reader has to know of some of the systems: unknown disks, untried products, layers.
fn cautions_of_systems(evidence: &Evidence) -> Vec<(NoteKind, String)> {
    let unknown = unknown_disks(evidence).into_iter().map(|(systems, why)| {
        (NoteKind::DiskUnknown, format!("whether the commits of {systems} reach a disk is not known: {why}"))
    });
    let others = [(NoteKind::Untried, UNTRIED), (NoteKind::Layer, LAYER)].into_iter().flat_map(|(kind, fact)| {
        texts_of_fact(evidence, fact).into_iter().map(move |(systems, why)| (kind, format!("{why} ({systems})")))
    });
    unknown.chain(others).collect()
}

/// Collects the texts that a fact has, each with its systems.
fn texts_of_fact(evidence: &Evidence, fact: &str) -> Vec<(String, String)> {
    systems_by_text(evidence, |facts| facts.get(fact))
}

/// Lists the systems on whose disk étalon cannot look, and why; none where all that ran only reads.
fn unknown_disks(evidence: &Evidence) -> Vec<(String, String)> {
    if evidence.cases.iter().all(is_of_queries) {
        return Vec::new();
    }
    systems_by_text(evidence, |facts| facts.entries.get(DATA_FILESYSTEM)?.reading.as_ref().err().map(String::as_str))
}

/// Groups the systems by a text of their facts, for those that have it.
fn systems_by_text(evidence: &Evidence, text: impl Fn(&Facts) -> Option<&str>) -> Vec<(String, String)> {
    let mut systems: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (system, facts) in &evidence.facts {
        if let Some(text) = text(facts) {
            systems.entry(text).or_default().push(system);
        }
    }
    systems.into_iter().map(|(text, systems)| (systems.join(", "), text.to_owned())).collect()
}

/// Says how many runs were measured, dropped or are still to run; `None` if all were measured.
fn incomplete_note(evidence: &Evidence) -> Option<String> {
    let counts = evidence.run_counts();
    let open = counts.planned - counts.measured - counts.failed - counts.aborted;
    let dropped = counts.failed + counts.aborted;
    if open + dropped == 0 {
        return None;
    }
    let mut text = format!("{} of {} measured", counts.measured, count_noun(counts.planned, "run"));
    if dropped > 0 {
        text.push_str(&format!(", {dropped} dropped"));
    }
    if open > 0 {
        text.push_str(&format!(", {open} still to run"));
    }
    Some(text)
}

/// Says that two systems' folders are on one device; `None` if they are not.
/// Volumes that étalon makes are compared by what they are made as.
fn same_device_note(evidence: &Evidence, table: &Table) -> Option<String> {
    let (a, b) = (device_of(evidence, &table.a)?, device_of(evidence, &table.b)?);
    let (mount_point, source) = a;
    (a == b).then(|| {
        format!(
            "{} and {} lie on one device, {source} at {mount_point}: any difference between them is of their places on it, or \
             noise",
            table.a, table.b
        )
    })
}

/// The mount point and source of a disk system's folder; `None` for a volume that étalon makes.
fn device_of<'a>(evidence: &'a Evidence, system: &str) -> Option<(&'a str, &'a str)> {
    let facts = evidence.facts_of(system).filter(|facts| facts.get("server.product") == Some("disk"))?;
    if facts.get("volume.filesystem").is_some() {
        return None;
    }
    facts.get("data_directory.mount_point").zip(facts.get("data_directory.source"))
}

/// Says that both sides' URLs lead to one server; `None` if they do not, or the plan has one URL for both.
fn two_addresses_note(evidence: &Evidence, table: &Table) -> Option<String> {
    let plan = &evidence.header.plan;
    let [a, b] = [&table.a, &table.b].map(|side| plan.system(side).map(|system| system.url.as_str()));
    let values_of = |fact: &str| {
        [&table.a, &table.b]
            .map(|side| evidence.facts.get(side).and_then(|facts| facts.get(&format!("{INSTANCE}{fact}"))))
    };
    let is_one = model::facts::IDENTIFIERS.iter().any(|fact| {
        let [a, b] = values_of(fact);
        a.is_some() && a == b
    });
    // A physical copy has the identifier of its origin.
    let [a_started, b_started] = values_of("started");
    let is_one = is_one && a_started == b_started;
    (is_one && a? != b?).then(|| {
        format!("{} and {} are one server: they differ in what their URLs name, such as the database", table.a, table.b)
    })
}

/// Says that both sides ran on one server, and what difference would be found; `None` if they did not.
fn same_server_note(table: &Table) -> Option<String> {
    let detectable = table
        .rows
        .iter()
        .filter(|row| row.is_one_server())
        .map(|row| (&row.metric.id, row.estimate.as_ref().and_then(|e| e.detectable)))
        .collect::<Vec<_>>();
    if detectable.is_empty() {
        return None;
    }
    let largest = detectable.into_iter().filter_map(|(metric, share)| Some((metric, share?)));
    let found = largest.max_by(|x, y| x.1.total_cmp(&y.1)).map(|(metric, share)| {
        format!(
            ". A real difference of {} would be found in every metric shown with a chance of 80 % (the noisiest is {metric})",
            percent_text(share, Script::Plain)
        )
    });
    let text = format!(
        "{} and {} are one server (A/A): any difference is noise{}",
        table.a,
        table.b,
        found.unwrap_or_default()
    );
    Some(text)
}

/// Says that the sides' commits promise different things; `None` if they promise the same.
fn unequal_durability_note(evidence: &Evidence, table: &Table, rules: &Rules) -> Option<String> {
    let refused = table.rows.iter().find_map(|row| match row.why_no_verdict() {
        Some(reason @ NoVerdict::UnequalDurability { .. }) => Some(reason.reason_text()),
        _ => None,
    });
    if let Some(reason) = refused {
        return Some(format!(
            "{} and {} promise different things at commit ({reason}): figures without a verdict, unless the plan says \
             `allow_unequal_durability = true`, or the command line `--allow-unequal-durability`",
            table.a, table.b
        ));
    }
    let (a, b) = (evidence.durability_of(&table.a)?, evidence.durability_of(&table.b)?);
    if a.tier != b.tier {
        let allowed = match rules.unequal_durability {
            AllowedBy::Nothing => "no verdict is allowed between them".to_owned(),
            allowed => format!("compared all the same, because {}", allowed.because_clause()),
        };
        let (a_because, b_because) = (&a.because, &b.because);
        return Some(format!(
            "{} is {} ({a_because}), {} is {} ({b_because}): {allowed}",
            table.a, a.tier, table.b, b.tier
        ));
    }
    // Equal tiers with different exceptions.
    let sides = [(&table.a, &a), (&table.b, &b)];
    let excepted =
        sides.iter().filter_map(|(system, side)| Some(format!("{system} except that {}", side.except.as_ref()?)));
    let excepted: Vec<String> = excepted.collect();
    (a.except != b.except).then(|| format!("both are {}, {}", a.tier, excepted.join("; ")))
}
