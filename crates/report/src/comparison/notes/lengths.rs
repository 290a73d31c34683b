//! Imported sides whose runs lasted unlike long.

use std::collections::{BTreeMap, BTreeSet};

use model::RunState;

use crate::comparison::projection::KEY_SYSTEM;
use crate::comparison::set::Table;
use crate::evidence::Evidence;

/// Lengths that differ by no more than this factor count as one.
const ALIKE: f64 = 1.1;
/// Sides whose lengths overlap are unlike if the shortest or the longest differ by more than this factor.
const UNLIKE: f64 = 2.0;

/// The shortest and the longest, in seconds.
#[derive(Clone, Copy)]
struct Lengths {
    least: f64,
    most: f64,
}

impl Lengths {
    /// Makes the span of a single length, in seconds.
    fn new(seconds: f64) -> Lengths {
        Lengths { least: seconds, most: seconds }
    }

    /// The span from the smaller least to the larger most of both.
    fn span_with(self, other: Lengths) -> Lengths {
        Lengths { least: self.least.min(other.least), most: self.most.max(other.most) }
    }

    /// Whether no run of one side lasted as long as any of the other, or some lasted far longer or shorter.
    fn are_unlike(self, other: Lengths) -> bool {
        let is_apart = self.least > ALIKE * other.most || other.least > ALIKE * self.most;
        let differ_far = [(self.least, other.least), (self.most, other.most)]
            .into_iter()
            .any(|(a, b)| a > UNLIKE * b || b > UNLIKE * a);
        is_apart || differ_far
    }

    /// Writes the span: `60 s`, `2 to 60 s`.
    fn span_text(self) -> String {
        let (least, most) = (seconds_text(self.least), seconds_text(self.most));
        let [least, most] = [least, most].map(|text| text.strip_suffix(".0").map_or(text.clone(), str::to_owned));
        if least == most { format!("{least} s") } else { format!("{least} to {most} s") }
    }
}

/// Writes seconds, with a decimal below 10: `1.3`, `60`.
pub(super) fn seconds_text(seconds: f64) -> String {
    if seconds < 9.95 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
}

/// Says which benchmarks of imported systems ran longer on one side, a sentence for each pair and benchmark.
/// Only times that the sources report are known.
pub fn length_notes(evidence: &Evidence, tables: &[Table]) -> Vec<String> {
    let mut of_cases: BTreeMap<u32, Lengths> = BTreeMap::new();
    for run in evidence
        .runs
        .iter()
        .filter(|run| run.state == RunState::Measured && run.elapsed_s > 0.0 && evidence.is_imported(run.planned.case))
    {
        let own = Lengths::new(run.elapsed_s);
        of_cases.entry(run.planned.case).and_modify(|known| *known = known.span_with(own)).or_insert(own);
    }
    let mut systems: BTreeMap<&str, Cases<'_>> = BTreeMap::new();
    for (index, case) in (0..).zip(&evidence.cases) {
        if let Some(lengths) = of_cases.get(&index) {
            let name = (case.benchmark.as_str(), point_text(&case.point));
            systems.entry(&case.system).or_default().insert(name, *lengths);
        }
    }
    let of_systems = tables.iter().filter(|table| table.compared == KEY_SYSTEM);
    let pairs: BTreeSet<(&str, &str)> = of_systems.map(|table| (table.a.as_str(), table.b.as_str())).collect();
    let mut notes = Vec::new();
    for (a, b) in pairs {
        let (Some(of_a), Some(of_b)) = (systems.get(a), systems.get(b)) else { continue };
        for (benchmark, [on_a, on_b]) in unlike_lengths(of_a, of_b) {
            let (on_a, on_b) = (on_a.span_text(), on_b.span_text());
            notes.push(format!(
                "{benchmark} ran for {on_a} on {a} and for {on_b} on {b}: short runs hold more of the beginning"
            ));
        }
    }
    notes
}

/// Lengths of cases, whose keys are a benchmark and a point.
type Cases<'a> = BTreeMap<(&'a str, String), Lengths>;

/// Finds the spans of lengths on both sides for each benchmark with a case that ran longer on one.
fn unlike_lengths<'a>(of_a: &Cases<'a>, of_b: &Cases<'a>) -> BTreeMap<&'a str, [Lengths; 2]> {
    let mut found: BTreeMap<&str, [Lengths; 2]> = BTreeMap::new();
    for (case, a) in of_a {
        let Some(b) = of_b.get(case).filter(|b| a.are_unlike(**b)) else { continue };
        let both = found.entry(case.0).or_insert([*a, *b]);
        *both = [both[0].span_with(*a), both[1].span_with(*b)];
    }
    found
}

/// Writes a case's keys and values as a text that distinguishes it.
fn point_text(point: &model::Point) -> String {
    point.iter().map(|(key, value)| format!("{key:?}={value:?};")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_runs_of_a_side_may_be_short() {
        let lengths = |least, most| Lengths { least, most };
        assert!(lengths(60.0, 61.0).are_unlike(lengths(2.0, 2.1)));
        assert!(lengths(2.0, 60.0).are_unlike(lengths(59.0, 60.0)), "half of a side is short");
        assert!(!lengths(58.0, 70.0).are_unlike(lengths(60.0, 65.0)));
    }
}
