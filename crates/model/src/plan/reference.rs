//! The Markdown reference of plans, made from their JSON Schema so that both say the same.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

use super::schema::{common_keys, json_schema};
use crate::catalog::Catalog;

/// Writes the reference of the plan's keys as Markdown.
pub fn plan_reference(catalog: &Catalog) -> String {
    let schema = json_schema(catalog);
    let mut text = String::from(
        "# Reference of the plan\n\nEvery key of a plan file, made of the schema that `etalon schema` prints. \
         [The plan](plan.md) says what they are for.\n",
    );
    write_section(&mut text, "The plan", schema["properties"].as_object());
    write_section(&mut text, "`[systems.NAME]`", schema["$defs"]["system"]["properties"].as_object());
    write_section(&mut text, "`[schedule]`", schema["properties"]["schedule"]["properties"].as_object());
    let common = common_keys();
    write_section(&mut text, "Every `[[benchmarks]]`", Some(&common));
    text.push_str("\nThe keys of a workload, below, take one value, a list of values, or of integers a range such as `\"1..8\"`.\n");
    for workload in schema["properties"]["benchmarks"]["items"]["oneOf"].as_array().into_iter().flatten() {
        let title = format!("`[[benchmarks]]` of `workload = {}`", workload["title"]);
        let mut keys = workload["properties"].as_object().cloned().unwrap_or_default();
        keys.retain(|key, _| key != "workload" && !common.contains_key(key));
        write_section(&mut text, &title, Some(&keys));
    }
    text
}

/// Writes a heading, and the table of these keys.
fn write_section(text: &mut String, title: &str, properties: Option<&Map<String, Json>>) {
    // Writing to a string does not fail.
    let _ = write!(text, "\n## {title}\n\n| key | takes | default | what it is |\n|---|---|---|---|\n");
    for (key, property) in properties.into_iter().flatten() {
        write_row(text, key, property);
    }
}

/// Writes the row of a key, and the rows of its inline table.
fn write_row(text: &mut String, key: &str, property: &Json) {
    let about = property["description"].as_str().unwrap_or("").replace('|', "\\|").replace('\n', "; ");
    let default = match property.get("default") {
        Some(Json::String(text)) if text.is_empty() => "\"\"".to_owned(),
        Some(Json::String(text)) => format!("`\"{text}\"`"),
        Some(other) => format!("`{other}`"),
        None => "–".to_owned(),
    };
    // A workload's table has no text of its own: its keys say what it is.
    if !about.is_empty() {
        let _ = writeln!(text, "| `{key}` | {} | {default} | {about} |", takes_text(property));
    }
    // The keys of an inline table stand below the table; those of a section have their own.
    if let Some(inner) = inline_table(property) {
        inner.iter().for_each(|(inner, property)| write_row(text, &format!("{key}.{inner}"), property));
    }
}

/// Gives the keys of a key that takes an inline table; `None` for the schedule's section.
fn inline_table(property: &Json) -> Option<&Map<String, Json>> {
    let is_section = property["properties"].get("rounds").is_some();
    if is_section { None } else { property["properties"].as_object() }
}

/// Writes what a key takes, by its schema: `integer, 1 to 8`, a list of words.
fn takes_text(property: &Json) -> String {
    if let Some(choices) = property["anyOf"].as_array() {
        // A workload's key takes one value, a list of such values, or a range: the first says what the value is.
        let is_sweep = choices.iter().any(|choice| choice["items"] == choices[0]);
        let takes_list = choices.iter().any(|choice| choice["type"] == "array");
        let first = takes_text(&choices[0]);
        return if takes_list && !is_sweep { format!("{first}, or a list") } else { first };
    }
    if let Some(words) = property["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return words.join(", ");
    }
    if let Some(word) = property.get("const") {
        return format!("`{word}`");
    }
    let noun = match property["type"].as_str() {
        Some("integer") => "integer",
        Some("number") => "number",
        Some("boolean") => "`true` or `false`",
        Some("array") => "list",
        Some("object") => "table",
        Some("string") if property.get("minLength").is_some() => "length of time",
        Some("string") => "text",
        // A reference to another part of the schema is a table.
        _ => "table",
    };
    match (limit_text(property, "minimum"), limit_text(property, "maximum")) {
        (Some(min), Some(max)) => format!("{noun}, {min} to {max}"),
        (Some(min), None) => format!("{noun} from {min}"),
        (None, Some(max)) => format!("{noun} to {max}"),
        (None, None) => noun.to_owned(),
    }
}

/// Writes a limit of a number, such as its `minimum`; `None` without one.
fn limit_text(property: &Json, name: &str) -> Option<String> {
    property.get(name).map(|limit| limit.to_string().trim_end_matches(".0").to_owned())
}
