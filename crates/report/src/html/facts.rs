//! The facts of the systems side by side, and what is to be known of the runs.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use model::{Facts, Nature};

use crate::comparison::{ComparisonSet, DroppedRun, Table, Warning};
use crate::evidence::{CLIENT, Evidence};
use crate::labels::{metric_name, table_title};

/// Makes the tables of the systems' facts side by side: those that differ first, the others folded.
pub fn facts_section(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let systems: Vec<(&str, Option<&Facts>)> = evidence
        .header
        .plan
        .systems
        .iter()
        .map(|system| (system.name.as_str(), evidence.facts_of(&system.name)))
        .collect();
    let names: BTreeSet<&str> =
        systems.iter().filter_map(|(_, facts)| *facts).flat_map(|f| f.entries.keys()).map(String::as_str).collect();
    let (differing, same): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| identity_differs(&systems, name));
    let (differing, own): (Vec<&str>, Vec<&str>) =
        differing.into_iter().partition(|name| !is_setting_of_some(&systems, name));
    html! {
        @if differing.is_empty() && same.is_empty() { p.notice { "No facts of the systems were stored." } }
        @else if differing.is_empty() && systems.len() > 1 { p { "The systems differ in nothing that was read from them." } }
        @else if !differing.is_empty() { (facts_table(&systems, &differing)) }
        @if !own.is_empty() {
            details { summary { "Settings that only some of the systems have (" (own.len()) ")" } (facts_table(&systems, &own)) }
        }
        @if !same.is_empty() {
            details { summary { (if systems.len() > 1 { "What is the same, or only happened to be so" } else { "All facts" }) " (" (same.len()) ")" } (facts_table(&systems, &same)) }
        }
        (load_generators_table(evidence))
        @if set.tables.iter().any(|table| evidence.server_of(&table.a) == evidence.server_of(&table.b)) {
            p.note { "Systems that are one server have its facts in common." }
        }
    }
}

/// Makes the table of facts of the machines that made the load, folded; empty without any.
fn load_generators_table(evidence: &Evidence) -> Markup {
    let all: Vec<(&str, Option<&Facts>)> = evidence
        .load_generators()
        .into_iter()
        .map(|(subject, facts)| (if subject == CLIENT { "load generator" } else { subject }, Some(facts)))
        .collect();
    let names: BTreeSet<&str> =
        all.iter().filter_map(|(_, facts)| *facts).flat_map(|f| f.entries.keys()).map(String::as_str).collect();
    html! {
        @if !all.is_empty() {
            details { summary { (if all.len() > 1 { "The machines" } else { "The machine" }) " that made the load (" (names.len()) ")" }
                (facts_table(&all, &names.into_iter().collect::<Vec<_>>()))
            }
        }
    }
}

/// Whether systems differ in an identity fact.
/// One that could not be read is no difference; passing ones never are.
fn identity_differs(systems: &[(&str, Option<&Facts>)], name: &str) -> bool {
    let all: Vec<Option<model::Fact>> =
        systems.iter().map(|(_, facts)| facts.and_then(|facts| facts.entries.get(name)).cloned()).collect();
    let passing = all.iter().flatten().any(|fact| fact.nature == Nature::Passing);
    !passing && all.iter().any(|fact| known_value(fact) != known_value(&all[0]))
}

/// A fact's value, if it could be read.
fn known_value(fact: &Option<model::Fact>) -> Option<String> {
    fact.as_ref().and_then(|fact| fact.reading.clone().ok())
}

/// Whether a fact is a setting that only some of the systems have, as those of another product do not.
fn is_setting_of_some(systems: &[(&str, Option<&Facts>)], name: &str) -> bool {
    name.starts_with("setting.")
        && !systems.iter().all(|(_, facts)| facts.is_some_and(|facts| facts.entries.contains_key(name)))
}

/// Makes a table of facts with a column for each system, marking those that differ.
fn facts_table(systems: &[(&str, Option<&Facts>)], names: &[&str]) -> Markup {
    html! {
        div.scroll { table.facts {
            thead { tr { th scope="col" { "fact" } @for (system, _) in systems { th scope="col" { bdi { (system) } } } } }
            tbody { @for name in names {
                @let marked = systems.len() > 1 && identity_differs(systems, name);
                tr class=[marked.then_some("differs")] {
                    th scope="row" { @if marked { span.differ title="differs" { "≠" } " " } bdi { (name) } }
                    @for (_, facts) in systems { td dir="auto" { (fact_cell(*facts, name)) } }
                }
            } }
        } }
    }
}

/// Shows a fact's value, or why it could not be read.
fn fact_cell(facts: Option<&Facts>, name: &str) -> Markup {
    html! {
        @match facts.and_then(|facts| facts.entries.get(name)).map(|fact| &fact.reading) {
            Some(Ok(value)) => (fold_long(&value.to_string())),
            Some(Err(reason)) => { span.na title=(reason) { "n/a" } " " span.note { (reason) } }
            None => { span.na { "–" } }
        }
    }
}

/// A value of so many characters or more stands folded, since it would push all others off the page.
const LONG: usize = 200;

/// Shows a value; of a long one its beginning, with the whole of it folded.
fn fold_long(value: &str) -> Markup {
    html! {
        @if value.chars().count() < LONG { (value) }
        @else { details { summary { (value.chars().take(LONG / 4).collect::<String>().trim_end()) "…" } (value) } }
    }
}

/// Lists the warnings with the rows that they are about, and the attempts without a result.
pub fn warnings_section(set: &ComparisonSet) -> Markup {
    let found = collect_warnings(&set.tables);
    html! {
        @if found.is_empty() && set.dropped.is_empty() { p { "Nothing was found to warn of, and no run was dropped." } }
        @if !found.is_empty() {
            ul.warnings { @for (text, places) in &found {
                li {
                    span dir="auto" { (super::with_code(text)) }
                    @for (place, metrics) in cases_in_order(places) { span.where { bdi { (place) } ": " (metrics.join(", ")) } }
                }
            } }
        }
        @if !set.dropped.is_empty() {
            h3 { (set.dropped_heading()) }
            div.scroll { table.small.dropped {
                thead { tr { th { "round" } th { "case" } th { "state" } th { "reason" } th { "repeated" } } }
                tbody { @for (run, more) in set.dropped_by_reason() { tr {
                    td.num { (run.round + 1) }
                    td { bdi { (run.case) } @if more > 0 { ", and " (more) " more" } }
                    td { (run.state) }
                    td dir="auto" { (run.reason) }
                    td { (how_repeated(run)) }
                } } }
            } }
        }
    }
}

/// Says whether an attempt without a result was run again, or was itself a repetition.
fn how_repeated(run: &DroppedRun) -> &'static str {
    match (run.repeated, run.was_measured) {
        (_, true) => "measured before",
        (true, false) => "yes, measured then",
        (false, false) => "no",
    }
}

/// A warning's text, and by name the cases that it is about, each with its place among them and its metrics.
type Found = (String, BTreeMap<String, (usize, Vec<String>)>);

/// Lists the cases with their metrics, in the order of the tables.
fn cases_in_order(places: &BTreeMap<String, (usize, Vec<String>)>) -> Vec<(&String, &Vec<String>)> {
    let mut all: Vec<_> = places.iter().map(|(name, (place, metrics))| (place, (name, metrics))).collect();
    all.sort_by_key(|(place, _)| **place);
    all.into_iter().map(|(_, case)| case).collect()
}

/// Collects each warning once, with the cases and metrics that it is about.
fn collect_warnings(tables: &[Table]) -> Vec<Found> {
    let several = tables.len() > 1;
    let (mut found, mut texts) = (Vec::<Found>::new(), BTreeMap::<String, usize>::new());
    for table in tables {
        let title = table_title(table);
        // "A" and "B" mean something else in each table.
        let sides = several.then(|| format!("{} against {}", table.b, table.a));
        for row in &table.rows {
            let label = Some(row.case_label()).filter(|label| !label.is_empty());
            let place =
                [Some(title.clone()), sides.clone(), label].into_iter().flatten().collect::<Vec<_>>().join(", ");
            for text in row.warnings.iter().map(Warning::text) {
                let index = *texts.entry(text).or_insert_with_key(|text| {
                    found.push((text.clone(), BTreeMap::new()));
                    found.len() - 1
                });
                let places = &mut found[index].1;
                let next = places.len();
                places.entry(place.clone()).or_insert((next, Vec::new())).1.push(metric_name(&row.metric.id));
            }
        }
    }
    found
}
