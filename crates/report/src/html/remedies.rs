//! What would help rows without a verdict.

use maud::{Markup, html};

use crate::comparison::ComparisonSet;
use crate::text::rows_of_remedy;

/// Empty where every row has its verdict.
pub(super) fn list(set: &ComparisonSet) -> Markup {
    html! {
        @if !set.remedies.is_empty() {
            h3 { "What would help" }
            ul.remedies {
                @for line in &set.remedies {
                    li {
                        b { (rows_of_remedy(&line.rows, set)) ": " } (super::with_code(&line.text)) "."
                        @if let Some(command) = &line.command { br; code { (command) } }
                    }
                }
            }
        }
    }
}
