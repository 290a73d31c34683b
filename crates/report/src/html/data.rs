//! Data of the report, embedded and as downloads.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use model::Reading;
use model::csv::quote_field;
use serde::Serialize;

use crate::comparison::ComparisonSet;
use crate::evidence::Evidence;
use crate::json;

/// Writes a value as JSON that is safe inside `script`: `<` and JavaScript's two line separators are escaped.
pub fn script_safe_json(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let text = text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Writes the comparison as JSON for the page to embed.
pub fn embedded_document(evidence: &Evidence, set: &ComparisonSet) -> String {
    script_safe_json(&json::make_document(evidence, set))
}

/// Makes links that save the page's data as files.
pub fn download_links(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let document = serde_json::to_string(&json::make_document(evidence, set)).unwrap_or_default();
    let files = [
        ("comparison.json", "application/json", document, "every comparison, as étalon's --json prints it"),
        ("runs.csv", "text/csv", runs_csv(evidence), "every metric of every run"),
        ("plan.toml", "text/plain", evidence.header.plan_text.clone(), "the plan, as it was run"),
    ];
    html! {
        ul.files { @for (name, kind, content, what) in &files {
            li {
                a download=(name) href={ "data:" (kind) ";charset=utf-8;base64," (STANDARD.encode(content)) } { (name) }
                " " (what) " (" (content.len().div_ceil(1000)) " kB)"
            }
        } }
    }
}

/// Writes all measurements as CSV, a line for each run and metric.
pub fn runs_csv(evidence: &Evidence) -> String {
    let keys: std::collections::BTreeSet<&String> = evidence.cases.iter().flat_map(|case| case.point.keys()).collect();
    let mut out = String::from("position,round,benchmark,system");
    for key in &keys {
        let _ = write!(out, ",{}", quote_field(key));
    }
    out.push_str(",metric,unit,better,role,value,unavailable\n");
    for stored in &evidence.measurements {
        let Some(case) = evidence.case(stored.case) else { continue };
        let _ = write!(
            out,
            "{},{},{},{}",
            stored.position,
            stored.round,
            quote_field(&case.benchmark),
            quote_field(&case.system)
        );
        for key in &keys {
            let value = case.point.get(*key).map(ToString::to_string).unwrap_or_default();
            let _ = write!(out, ",{}", quote_field(&value));
        }
        let metric = &stored.measurement.metric;
        let (value, reason) = match &stored.measurement.reading {
            Reading::Value(value) => (value.to_string(), String::new()),
            Reading::Unavailable(reason) => (String::new(), quote_field(&reason.to_string())),
        };
        let (better, role) = (json::direction_word(metric.direction), json::role_word(metric.role));
        let _ = writeln!(
            out,
            ",{},{},{better},{role},{value},{reason}",
            quote_field(&metric.id),
            quote_field(&metric.unit)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_json_cannot_end_its_element() {
        let text = script_safe_json(&"</script><!--<script>&\u{2028}");
        assert!(!text.contains('<') && !text.contains('>') && !text.contains('\u{2028}'), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "</script><!--<script>&\u{2028}");
    }
}
