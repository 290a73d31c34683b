//! The plans of queries, those of the systems side by side.

use maud::{Markup, html};

use super::cases::{CaseView, SystemCase, case_views};
use super::figure::swatch;
use crate::comparison::{Index, PlanOfQuery, differing_lines};

pub const LEAD: &str = "How the systems said, in the last run, that they would answer each query with its first row of parameters: without \
                        costs, numbers of rows and times. Lines that the other side does not have are marked with ≠.";

/// A system's plan of a query.
type SystemPlan<'a> = (&'a SystemCase<'a>, PlanOfQuery<'a>);

/// Shows the plans of all queries, those that differ unfolded; `None` if no run has one.
pub fn plans_section(index: &Index<'_>) -> Option<Markup> {
    let evidence = index.lookup.evidence();
    if evidence.query_plans.is_empty() {
        return None;
    }
    let views = case_views(evidence);
    let cases = views.iter().map(|view| (view, plans_of_view(index, view))).filter(|(_, queries)| !queries.is_empty());
    Some(html! {
        @for (view, queries) in cases {
            h3 dir="auto" { (view.title) }
            @for (query, systems) in &queries { (plans_of_query(index, query, systems)) }
        }
    })
}

/// Collects the plans of each query of a case, in the order of the systems.
fn plans_of_view<'a>(index: &Index<'a>, view: &'a CaseView<'a>) -> Vec<(&'a str, Vec<SystemPlan<'a>>)> {
    let mut found: Vec<(&str, Vec<SystemPlan<'_>>)> = Vec::new();
    for system in &view.systems {
        for (query, plan) in index.plans.queries_of_case(system.case) {
            match found.iter_mut().find(|(known, _)| *known == query) {
                Some((_, systems)) => systems.push((system, plan)),
                None => found.push((query, vec![(system, plan)])),
            }
        }
    }
    found
}

/// Shows the plans of one query, system by system, with the lines that differ marked.
fn plans_of_query(index: &Index<'_>, query: &str, systems: &[SystemPlan<'_>]) -> Markup {
    let evidence = index.lookup.evidence();
    let [(first, first_plan), others @ ..] = systems else { return html! {} };
    let differs: Vec<Option<bool>> = others
        .iter()
        .map(|(system, _)| index.plans.plans_differ(evidence, (&[first.case], &[system.case]), query))
        .collect();
    let is_same = !others.is_empty() && differs.iter().all(|differs| *differs == Some(false));
    let is_other = differs.contains(&Some(true));
    let said = if is_other {
        ": the plans differ"
    } else if is_same {
        ": the same plan"
    } else {
        ""
    };
    // The baseline is marked against the first that differs, each other against the baseline.
    let other = differs.iter().position(|differs| *differs == Some(true)).map(|at| &others[at].1);
    let shown = if is_same { &systems[..1] } else { systems };
    html! {
        details.case open[is_other] {
            summary { bdi { (query) } (said) }
            div.plans { @for (at, (system, plan)) in shown.iter().enumerate() {
                @let against = if at == 0 { other } else if differs[at - 1] == Some(true) { Some(first_plan) } else { None };
                div {
                    @if !is_same { p { (swatch(system.index)) " " bdi { (system.name) } (changed_text(plan)) } }
                    @match plan.text {
                        Ok(text) => pre dir="ltr" { @for (line, differs) in compared_lines(text, against) { span.differs[differs] { (line) } } },
                        Err(reason) => p.note dir="auto" { "n/a: " (reason) },
                    }
                }
            } }
        }
    }
}

/// Says before which round the query had another plan; empty if it had none.
fn changed_text(plan: &PlanOfQuery<'_>) -> String {
    plan.changed_in.map_or_else(String::new, |round| format!(", another plan before round {}", round + 1))
}

/// Lists the plan's lines, with whether each differs from the other plan's.
fn compared_lines<'p>(text: &'p str, against: Option<&PlanOfQuery<'_>>) -> Vec<(&'p str, bool)> {
    differing_lines(text, against.and_then(|plan| plan.text.ok()).unwrap_or(text))
}
