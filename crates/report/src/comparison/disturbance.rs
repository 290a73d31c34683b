//! What else ran during the runs, on the machines that they ran on: said of all of them at once, and of a row if one of its
//! sides had more of it.

use std::collections::{BTreeMap, BTreeSet};

use model::disturbance::Limits;
use model::{Mark, MarkKind, Reading, RunState};

use super::set::Table;
use super::warning::{Warning, mark_name};
use crate::answer::side_names;
use crate::evidence::Evidence;
use crate::lookup::Lookup;
use crate::number::{Script, count_noun, percent_text};

/// Each of these measurements is of the only machine, or of an agent's if `_on_` and its name follow.
const OTHER_LOAD: &str = "other_load";
const CORES: &str = "machine_cores";
const STEAL: &str = "machine_steal_share";
/// Separates a metric's family from the agent whose machine it is about.
const ON: &str = "_on_";

/// One kind of disturbance, over all measured runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Disturbance {
    pub kind: MarkKind,
    /// The detail of the mark of the run that was disturbed most.
    pub worst: String,
    pub amount: Amount,
    /// Runs that carry the mark.
    pub runs: usize,
    /// Measured runs.
    pub of: usize,
    /// Agents on whose machines it was; empty if étalon's own is the only one.
    pub hosts: Vec<String>,
    /// Pairs of sides of which one had more of it.
    pub unequal: Vec<Unequal>,
}

/// How much the worst run had of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Cores {
        used: f64,
        of: f64,
    },
    /// Share of all processors' time, from 0 to 1.
    Share(f64),
    /// It was there.
    Some,
}

/// One side of a comparison had more of it, which biases the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Unequal {
    /// A and B, as sentences name them.
    pub sides: [String; 2],
    pub means: Means,
}

/// Means of a kind of disturbance over each side's runs: shares of all processors' time, or of the runs that carry the
/// mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Means {
    pub a: f64,
    pub b: f64,
}

/// What other programs used in a run: the machine of which they used most.
#[derive(Clone, Copy, Debug)]
struct Load {
    used: f64,
    of: f64,
}

/// What was read of other programs, by run.
pub(super) struct Readings {
    loads: BTreeMap<i64, Load>,
    steal: BTreeMap<i64, f64>,
    hosts: Vec<String>,
}

impl Readings {
    /// Reads the load of other programs and the stolen time of each run from the evidence.
    fn from_evidence(evidence: &Evidence) -> Readings {
        let mut cores: BTreeMap<(i64, &str), f64> = BTreeMap::new();
        let mut used: Vec<(i64, &str, f64)> = Vec::new();
        let mut readings = Readings { loads: BTreeMap::new(), steal: BTreeMap::new(), hosts: Vec::new() };
        for row in &evidence.measurements {
            let (id, host) = row.measurement.metric.id.split_once(ON).unwrap_or((&row.measurement.metric.id, ""));
            if ![OTHER_LOAD, CORES, STEAL].contains(&id) {
                continue;
            }
            if !host.is_empty() && !readings.hosts.iter().any(|known| known == host) {
                readings.hosts.push(host.to_owned());
            }
            let Reading::Value(value) = row.measurement.reading else { continue };
            match id {
                OTHER_LOAD => used.push((row.run_id, host, value)),
                CORES => drop(cores.insert((row.run_id, host), value)),
                _ => {
                    let most = readings.steal.entry(row.run_id).or_insert(value);
                    *most = most.max(value);
                }
            }
        }
        for (run, host, used) in used {
            let Some(&of) = cores.get(&(run, host)) else { continue };
            let load = readings.loads.entry(run).or_insert(Load { used, of });
            if used / of > load.used / load.of {
                *load = Load { used, of };
            }
        }
        readings
    }

    /// Measures how much a run was disturbed: the busy share of processors, the stolen share, or 1 if it is marked.
    fn disturbance_level(&self, lookup: &Lookup<'_>, run: i64, kind: MarkKind) -> Option<f64> {
        match kind {
            MarkKind::MachineBusy => self.loads.get(&run).map(|load| load.used / load.of),
            MarkKind::MachineSteal => self.steal.get(&run).copied(),
            _ => Some(f64::from(u8::from(lookup.marks_of_run(run).any(|mark| mark.kind == kind)))),
        }
    }

    /// The mean level of a disturbance over runs; `None` if no run has one.
    fn mean_level(&self, lookup: &Lookup<'_>, runs: &[i64], kind: MarkKind) -> Option<f64> {
        let levels: Vec<f64> = runs.iter().filter_map(|run| self.disturbance_level(lookup, *run, kind)).collect();
        (!levels.is_empty()).then(|| levels.iter().sum::<f64>() / levels.len() as f64)
    }

    /// The mean levels of both sides if one had more of a disturbance; `None` if both had about as much.
    fn unequal_means(&self, lookup: &Lookup<'_>, a: &[i64], b: &[i64], kind: MarkKind) -> Option<Means> {
        if !a.iter().chain(b).any(|run| lookup.marks_of_run(*run).any(|mark| mark.kind == kind)) {
            return None;
        }
        let means = Means { a: self.mean_level(lookup, a, kind)?, b: self.mean_level(lookup, b, kind)? };
        ((means.a - means.b).abs() >= Limits::unequal_limit(kind)).then_some(means)
    }

    /// Measures how much a run was disturbed, in cores or as a share, for a note.
    fn amount_in_run(&self, run: i64, kind: MarkKind) -> Amount {
        match kind {
            MarkKind::MachineBusy => {
                self.loads.get(&run).map_or(Amount::Some, |load| Amount::Cores { used: load.used, of: load.of })
            }
            MarkKind::MachineSteal => self.steal.get(&run).map_or(Amount::Some, |share| Amount::Share(*share)),
            _ => Amount::Some,
        }
    }
}

/// Lists what disturbed the measured runs, in the order of [`MarkKind::DISTURBANCES`].
pub(super) fn list_disturbances(lookup: &Lookup<'_>, tables: &[Table]) -> Vec<Disturbance> {
    let evidence = lookup.evidence();
    let readings = Readings::from_evidence(evidence);
    let measured = evidence.runs.iter().filter(|run| run.state == RunState::Measured).map(|run| run.id);
    let measured: BTreeSet<i64> = measured.collect();
    MarkKind::DISTURBANCES
        .into_iter()
        .filter_map(|kind| {
            let marks: Vec<&(i64, Mark)> =
                evidence.marks.iter().filter(|(run, mark)| mark.kind == kind && measured.contains(run)).collect();
            let level = |run: i64| readings.disturbance_level(lookup, run, kind).unwrap_or_default();
            // The first of those that are alike.
            let (worst, mark) = marks.iter().rev().max_by(|x, y| level(x.0).total_cmp(&level(y.0)))?;
            let mut runs: Vec<i64> = marks.iter().map(|(run, _)| *run).collect();
            runs.sort_unstable();
            runs.dedup();
            Some(Disturbance {
                kind,
                worst: mark.to_string(),
                amount: readings.amount_in_run(*worst, kind),
                runs: runs.len(),
                of: measured.len(),
                hosts: readings
                    .hosts
                    .iter()
                    .filter(|host| marks.iter().any(|(_, mark)| mark.host.as_ref() == Some(host)))
                    .cloned()
                    .collect(),
                unequal: unequal_pairs(lookup, &readings, tables, kind),
            })
        })
        .collect()
}

/// Lists the pairs of sides of which one had more of a disturbance, over all tables of the pair.
fn unequal_pairs(lookup: &Lookup<'_>, readings: &Readings, tables: &[Table], kind: MarkKind) -> Vec<Unequal> {
    let mut pairs: Vec<Unequal> = Vec::new();
    for table in tables {
        let sides = side_names(table);
        if pairs.iter().any(|known| known.sides == sides) {
            continue;
        }
        let of_pair = tables.iter().filter(|other| side_names(other) == sides);
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for row in of_pair.flat_map(|table| &table.rows) {
            a.extend(row.a.runs.iter().map(|run| run.run));
            b.extend(row.b.runs.iter().map(|run| run.run));
        }
        for runs in [&mut a, &mut b] {
            runs.sort_unstable();
            runs.dedup();
        }
        pairs.extend(readings.unequal_means(lookup, &a, &b, kind).map(|means| Unequal { sides, means }));
    }
    pairs
}

/// Reads what disturbed the runs; `None` if no run is marked as disturbed.
pub(super) fn read_disturbances(evidence: &Evidence) -> Option<Readings> {
    evidence.marks.iter().any(|(_, mark)| mark.kind.is_disturbance()).then(|| Readings::from_evidence(evidence))
}

/// Warns of disturbances that one side's runs of these cases had more of.
pub(super) fn disturbance_warnings(lookup: &Lookup<'_>, readings: &Readings, a: &[u32], b: &[u32]) -> Vec<Warning> {
    let (a, b) = (lookup.measured_runs(a), lookup.measured_runs(b));
    MarkKind::DISTURBANCES
        .into_iter()
        .filter_map(|kind| {
            Some(Warning::UnequallyDisturbed { kind, means: readings.unequal_means(lookup, &a, &b, kind)? })
        })
        .collect()
}

/// Says why the load of other programs is not known of any run; `None` if it is of some, or no run was watched.
pub(super) fn why_load_unknown(evidence: &Evidence) -> Option<String> {
    let of_load = evidence.measurements.iter().map(|row| &row.measurement);
    let of_load = of_load.filter(|one| one.metric.id.split(ON).next() == Some(OTHER_LOAD));
    let mut reasons = of_load.map(|one| match &one.reading {
        Reading::Unavailable(reason) => Some(reason.to_string()),
        Reading::Value(_) => None,
    });
    let first = reasons.next()??;
    reasons.all(|reason| reason.is_some()).then_some(first)
}

impl Means {
    /// Writes both means: `38 % of the processors' time with A, 12 % with B`.
    pub fn words(&self, kind: MarkKind, a: &str, b: &str) -> String {
        let (of_a, of_b) = (percent_text(self.a, Script::Plain), percent_text(self.b, Script::Plain));
        let of_what = match kind {
            MarkKind::MachineBusy | MarkKind::MachineSteal => "of the processors' time",
            _ => "of the runs",
        };
        format!("{of_a} {of_what} with {a}, {of_b} with {b}")
    }
}

impl Disturbance {
    /// Writes the disturbance for a list of notes, without a full stop.
    pub fn note_text(&self) -> String {
        let runs = format!("{} of {}", self.runs, count_noun(self.of, "run"));
        let unequal = self.unequal.iter().map(|pair| {
            let [a, b] = &pair.sides;
            format!("; unequal, which biases the comparison: {}", pair.means.words(self.kind, a, b))
        });
        format!("{} in {runs}; the most: {}{}", mark_name(self.kind), self.worst, unequal.collect::<String>())
    }

    /// Writes the disturbance as the beginning of a sentence, without a full stop.
    fn sentence_start(&self) -> String {
        let machine = match &self.hosts[..] {
            [] => "The machine".to_owned(),
            [host] => format!("The machine {host}"),
            hosts => format!("One of the machines {}", hosts.join(", ")),
        };
        match (self.kind, self.amount) {
            (MarkKind::OtherClients, _) => "Other clients asked a server".to_owned(),
            (MarkKind::MachineBusy, Amount::Cores { used, of }) => {
                format!("{machine} was busy: others used up to {used:.1} of its {of:.0} cores")
            }
            (MarkKind::MachineBusy, _) => format!("{machine} was busy"),
            (MarkKind::MachineSteal, Amount::Share(share)) => {
                format!("{machine}'s hypervisor kept {} of the processors' time", percent_text(share, Script::Plain))
            }
            (MarkKind::MachineSteal, _) => format!("{machine}'s hypervisor kept processor time"),
            (MarkKind::MachineThrottled, _) => format!("{machine}'s processors were throttled"),
            (MarkKind::MachinePower, _) => format!("{machine}'s power was not steady"),
            (MarkKind::MachineMemory, _) => format!("{machine} was short of memory"),
            _ => format!("{machine} ran a scanner, a backup or an update"),
        }
    }
}

/// Writes the first disturbance as a sentence after the answer's first; notes list the others. `None` if nothing disturbed.
pub fn worst_sentence(disturbances: &[Disturbance]) -> Option<String> {
    let first = disturbances.first()?;
    let more = first.unequal.first().map(|pair| {
        let [a, b] = &pair.sides;
        let side = if pair.means.a > pair.means.b { a } else { b };
        format!(", more in the runs of {side}")
    });
    Some(format!("{}{}.", first.sentence_start(), more.unwrap_or_default()))
}
