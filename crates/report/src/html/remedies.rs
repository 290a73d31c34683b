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
                        b { (rows_of_remedy(&line.rows, set)) ": " } (with_code(&line.text)) "."
                        @if let Some(command) = &line.command { br; code { (command) } }
                    }
                }
            }
        }
    }
}

/// Text with what is typed, which stands between backticks, as code.
pub(super) fn with_code(text: &str) -> Markup {
    let is_whole = text.matches('`').count().is_multiple_of(2);
    html! {
        @if is_whole {
            @for (at, part) in text.split('`').enumerate() {
                @if at % 2 == 1 { code { (part) } } @else { (part) }
            }
        } @else { (text) }
    }
}
