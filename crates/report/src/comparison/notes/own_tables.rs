//! Scripts of the user's own that ran on tables which étalon made.

use model::{Case, Value};

use crate::evidence::{Evidence, IMPORTED};
use crate::text::clean_text;

/// Says for each script of the user's that it ran on étalon's own tables, and at what scale.
pub fn own_table_notes(evidence: &Evidence) -> Vec<String> {
    scales_by_benchmark(evidence)
        .into_iter()
        .map(|(benchmark, scales)| {
            format!(
                "{} ran on pgbench's tables as étalon made them, at scale {scales}, and on no others",
                clean_text(&benchmark)
            )
        })
        .collect()
}

/// Says in the answer's words that the tables were étalon's own; `None` if none were.
pub fn answer_clause(evidence: &Evidence) -> Option<String> {
    let all: std::collections::BTreeSet<&str> = evidence.cases.iter().map(|case| case.benchmark.as_str()).collect();
    let found = scales_by_benchmark(evidence);
    let [(_, scales), others @ ..] = found.as_slice() else { return None };
    let is_alike = found.len() == all.len() && others.iter().all(|(_, other)| other == scales);
    if is_alike {
        return Some(format!("The tables were étalon's own, at scale {scales}."));
    }
    let names: Vec<String> = found.iter().map(|(name, _)| clean_text(name)).collect();
    Some(format!("The tables of {} were étalon's own.", names.join(", ")))
}

/// Collects the benchmarks of own scripts on étalon's tables, each with its scales.
fn scales_by_benchmark(evidence: &Evidence) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    if evidence.header.build == IMPORTED {
        return Vec::new();
    }
    for case in evidence.cases.iter().filter(|case| is_own_script_on_made_tables(case)) {
        let Some(scale) = case.point.get("scale").map(ToString::to_string) else { continue };
        match found.iter_mut().find(|(benchmark, _)| *benchmark == case.benchmark) {
            Some((_, scales)) if scales.contains(&scale) => {}
            Some((_, scales)) => scales.push(scale),
            None => found.push((case.benchmark.clone(), vec![scale])),
        }
    }
    found.into_iter().map(|(benchmark, scales)| (benchmark, scales.join(", "))).collect()
}

/// Whether a case runs a script of the user's on tables that étalon made.
/// Paths of scripts have a `/`, a `\\` or a `.` in them, built-in names have none.
fn is_own_script_on_made_tables(case: &Case) -> bool {
    let text = |key: &str| case.point.get(key).and_then(Value::as_text);
    let is_own = text("script").is_some_and(|script| script.contains(['/', '\\', '.']));
    is_own && case.point.contains_key("scale") && text("tables") != Some("none")
}
