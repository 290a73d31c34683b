//! Where imported sides came from, once for each side.

use std::collections::{BTreeMap, BTreeSet};

use model::MarkKind;
use model::facts::{IMPORT_NOTES, IMPORT_TOOL, OF_IMPORT};

use crate::evidence::Evidence;
use crate::number::count_noun;

/// Files of a side that are named.
const NAMED: usize = 3;

/// Says where each imported system came from, in the order of the plan: its files, the tool, and what they do not report.
pub fn source_notes(evidence: &Evidence) -> Vec<String> {
    if !evidence.marks.iter().any(|(_, mark)| mark.kind == MarkKind::Source) {
        return Vec::new();
    }
    let runs: BTreeMap<i64, u32> = evidence.runs.iter().map(|stored| (stored.id, stored.planned.case)).collect();
    let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (run, mark) in evidence.marks.iter().filter(|(_, mark)| mark.kind == MarkKind::Source) {
        let case = runs.get(run).and_then(|case| evidence.case(*case));
        if let Some(case) = case {
            files.entry(case.system.as_str()).or_default().insert(mark.detail.as_str());
        }
    }
    let systems = evidence.header.plan.systems.iter().filter_map(|system| files.get_key_value(system.name.as_str()));
    systems.map(|(system, files)| system_sources(evidence, system, files)).collect()
}

/// Says where a system's results come from: its files, the tool, what is not known, and notes.
fn system_sources(evidence: &Evidence, system: &str, files: &BTreeSet<&str>) -> String {
    let facts = evidence.facts_of(system);
    let named: Vec<&str> = files.iter().take(NAMED).copied().collect();
    let named = match files.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{}: {} and {more} more", count_noun(files.len(), "file"), named.join(", ")),
    };
    let mut text = format!("{system} was imported from {named}");
    if let Some(tool) = facts.and_then(|facts| facts.get(IMPORT_TOOL)) {
        text.push_str(&format!(" ({tool})"));
    }
    let entries = facts.into_iter().flat_map(|facts| &facts.entries);
    let unknown: Vec<&str> = entries
        .filter(|(_, fact)| fact.reading.is_err())
        .filter_map(|(name, _)| name.strip_prefix(OF_IMPORT))
        .collect();
    if !unknown.is_empty() {
        text.push_str(&format!("; not known: {}", unknown.join(", ")));
    }
    if let Some(notes) = facts.and_then(|facts| facts.get(IMPORT_NOTES)) {
        text.push_str(&format!("; {notes}"));
    }
    text
}
