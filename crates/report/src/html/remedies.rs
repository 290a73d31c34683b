//! What would help rows without a verdict.

use maud::{Markup, html};

use crate::comparison::ComparisonSet;
use crate::text::rows_of_remedy;

/// Lists what would give rows their verdicts; empty where every row has one.
pub(super) fn remedies_list(set: &ComparisonSet) -> Markup {
    html! {
        @if !set.remedies.is_empty() {
            h3 { "What would help" }
            ul.remedies {
                @for (index, line) in set.remedies.iter().enumerate() {
                    li {
                        b { (rows_of_remedy(&line.rows, set)) ": " } (super::with_code(&line.text)) "."
                        // Remedies that take one run have one command, behind the last of them.
                        @if !set.remedies[index + 1..].iter().any(|later| later.command == line.command) {
                            @if let Some(command) = &line.command { br; code { (command) } }
                        }
                    }
                }
            }
        }
    }
}
