//! How the systems' tables came back before each run, where that is worth a word.

use std::collections::BTreeMap;

use model::facts::RESET;
use model::{Caches, Reset};
use store::StoredMeasurement;

use crate::evidence::Evidence;
use crate::number::{RowUnit, Script};

/// Says how the systems' tables came back before each run, if that differs, was asked for, or caches were emptied.
/// Else it is `None`.
pub fn reset_note(evidence: &Evidence) -> Option<String> {
    let systems = &evidence.header.plan.systems;
    let ways: Vec<(&str, &str)> = systems
        .iter()
        .filter_map(|system| Some((system.name.as_str(), evidence.facts_of(&system.name)?.get(RESET)?)))
        .collect();
    let mut different: Vec<&str> = ways.iter().map(|(_, way)| *way).collect();
    different.sort_unstable();
    different.dedup();
    let is_asked = systems.iter().any(|system| system.reset.is_some());
    let is_cold = evidence.header.plan.schedule.caches == Caches::Cold;
    if ways.is_empty() || different.len() == 1 && !is_asked && !is_cold {
        return None;
    }
    let texts: Vec<String> = ways.iter().map(|(system, way)| reset_text(evidence, system, way)).collect();
    let caches = if is_cold { "; then the caches were emptied" } else { "" };
    Some(format!("tables before each run: {}{caches}", texts.join("; ")))
}

/// Says how a system's tables came back: `kept: clone in 1.2 s, with copies of 85 MiB (copied whole, since …)`.
fn reset_text(evidence: &Evidence, system: &str, way: &str) -> String {
    let own: Vec<&StoredMeasurement> = evidence
        .measurements
        .iter()
        .filter(|one| evidence.case(one.case).is_some_and(|case| case.system == system))
        .collect();
    let mut first: BTreeMap<u32, u32> = BTreeMap::new();
    for one in &own {
        first.entry(one.case).and_modify(|least| *least = one.position.min(*least)).or_insert(one.position);
    }
    // What precedes a case's first run is a load, whatever the way; where nothing comes back there is no time of it.
    let comes_back = Reset::parse_fact(way) != Some(Reset::None);
    let usual = |id| median_of(&own, id, &|one| comes_back && first.get(&one.case) != Some(&one.position));
    let time = usual("prepare_time").map(|time| format!(" in {}", print_with_unit(time, "s"))).unwrap_or_default();
    let read = usual("read_through_time").map(|time| format!(" and read through in {}", print_with_unit(time, "s")));
    let copy = median_of(&own, "kept_copies", &|_| true)
        .map(|bytes| format!(", with copies of {}", print_with_unit(bytes, "B")))
        .unwrap_or_default();
    let (way, why) = way.split_once(": ").map_or((way, String::new()), |(way, why)| (way, format!(" ({why})")));
    let read = read.unwrap_or_default();
    format!("{system}: {way}{time}{read}{copy}{why}")
}

/// The median of a metric over the measurements asked for, the lower one of two.
fn median_of(own: &[&StoredMeasurement], id: &str, is_asked: &dyn Fn(&StoredMeasurement) -> bool) -> Option<f64> {
    let asked = own.iter().copied().filter(|one| one.measurement.metric.id == id && is_asked(one));
    let mut values: Vec<f64> = asked.filter_map(|one| one.measurement.reading.value()).collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied()
}

/// Writes a value with its unit.
fn print_with_unit(value: f64, unit: &str) -> String {
    let unit = RowUnit::new(unit, [value]);
    format!("{} {}", unit.print(value, Script::Plain), unit.unit_name())
}
