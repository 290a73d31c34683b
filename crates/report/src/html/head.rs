//! The top of the report: the answer, what was compared, and what holds for all of it.

use maud::{Markup, html};

use super::forest::{verdict_class, verdict_shape};
use crate::comparison::{Comparison, ComparisonSet, NoteKind};
use crate::evidence::Evidence;
use crate::number::{Script, count_noun, percent_text};

/// Makes the top of the page: title, answer, what was compared, notes on all rows, and the experiment's identity.
pub fn page_header(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    html! {
        header.top {
            p.brand { "étalon" span { " · database benchmark report" } }
            h1 dir="auto" { (evidence.header.plan.name) }
            @for note in set.notes.iter().filter(|note| note.kind == NoteKind::DebugBuild) {
                p.stamp role="note" { strong { "Not comparable:" } " " (note.text.trim_start_matches("not comparable: ")) "." }
            }
            @if !set.answer.is_empty() { p.answer dir="auto" { (set.answer) } }
            @if super::single::is_single(set) { (super::single::figure_cards(set)) }
            ul.compared { @for line in &set.compared { li dir="auto" { (line) } } }
            @for note in set.notes.iter().filter(|n| !matches!(n.kind, NoteKind::DebugBuild | NoteKind::Incomplete)) {
                p.notice role="note" { (super::with_code(&note.text)) "." }
            }
            (experiment_identity(evidence, set))
        }
    }
}

/// Lists the valid runs, étalon's version and the plan's hash, or a line for each joined experiment.
fn experiment_identity(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let header = &evidence.header;
    let counts = set.counts;
    let share = counts.measured as f64 / counts.planned.max(1) as f64;
    if let Some(apart) = &set.apart {
        return html! {
            dl.identity { @for one in &apart.experiments {
                div {
                    dt { bdi { (one.label) } }
                    dd {
                        bdi { (one.header.plan.name) } ", " (one.when_ran()) ", " (count_noun(one.header.plan.schedule.rounds as usize, "round"))
                        ", étalon " (one.header.etalon_version) @if one.header.build != "release" { " (" (one.header.build) ")" }
                    }
                }
            } }
        };
    }
    html! {
        dl.identity {
            div { dt { "Runs valid" } dd { (counts.measured) " of " (counts.planned) " (" (percent_text(share, Script::Typographic)) ")" } }
            div { dt { "étalon" } dd { (header.etalon_version) @if header.build != "release" { " (" (header.build) " build)" } } }
            div { dt { "Plan" } dd { code title=(header.plan_hash) { (header.plan_hash.chars().take(12).collect::<String>()) } } }
        }
    }
}

/// Makes links to the parts of the page, each an id and a title.
pub fn navigation_links<'a>(parts: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! { nav aria-label="Parts of the report" { @for (id, title) in parts { a href={ "#" (id) } { (title) } } } }
}

/// Draws the shape of a row's verdict.
pub fn verdict_icon(row: &Comparison) -> Markup {
    html! {
        svg.icon viewBox="0 0 16 16" aria-hidden="true" {
            path class={ "pt v-" (verdict_class(row)) } d=(verdict_shape(row).path_data(8.0, 8.0, 5.5)) {}
        }
    }
}
