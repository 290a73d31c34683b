//! Every form of an evidence, with what would differ by chance or fill the files left out.

use std::collections::BTreeMap;

use report::gate::{GateRules, judge_gate};
use report::text::{Runs, TextOptions, render_set};
use report::views::FAMILIES;
use report::{Evidence, Options, compare};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::subjects::Subject;

/// Digits of a number that machines agree on: their logarithms differ in the last ones.
const DIGITS: usize = 9;
/// Charts of a kind differ by their data only, which the page holds as tables, too.
const CHARTS_OF_A_KIND: usize = 2;
/// JSON that fits is on one line.
const WIDTH: usize = 120;
const STYLE: &str = include_str!("../../../src/html/style.css");
const SCRIPT: &str = include_str!("../../../src/html/app.js");
const SHEET: &str = include_str!("../../../src/svg.css");

/// File names and contents.
pub fn all(name: &str, subject: Subject) -> Vec<(String, String)> {
    let Subject { made, options, more } = subject;
    let set = compare(&made.evidence, &options).unwrap();
    let text = |width: usize| {
        let text = render_set(&set, &TextOptions { width, ..TextOptions::default() });
        let long = text.lines().find(|line| line.width() > width);
        assert_eq!(long, None, "a line is wider than {width} columns");
        text
    };
    let listed = TextOptions { runs: Runs::Listed, ..TextOptions::default() };
    let document = serde_json::to_value(report::json::make_document(&made.evidence, &set)).unwrap();
    let html = report::html::render_page(&made.evidence, &set, &made.series).unwrap();
    let mut forms = vec![
        ("80.txt", text(80)),
        ("120.txt", text(120)),
        ("md", report::markdown::render_comparisons(&made.evidence, &set)),
        ("json", json(&document)),
        (
            "gate.txt",
            report::gate::render_outcome(&judge_gate(&set, &GateRules::default()), report::gate::Format::Text),
        ),
        ("svg", charts(name, &html)),
        ("htm", page(name, &html)),
    ];
    forms.extend(families(&made.evidence, &options));
    if made.evidence.runs.len() <= 12 {
        forms.push(("runs.80.txt", render_set(&set, &listed)));
    }
    forms.extend(more);
    forms.into_iter().map(|(form, output)| (format!("{name}.{form}"), output)).collect()
}

/// The published tables of a workload, as `--format` prints them.
fn families(evidence: &Evidence, options: &Options) -> Vec<(&'static str, String)> {
    let Some(family) =
        FAMILIES.into_iter().find(|family| evidence.cases.iter().any(|case| case.workload == family.name))
    else {
        return Vec::new();
    };
    let metrics = report::MetricFilter::Named(family.judged.iter().map(|&metric| metric.to_owned()).collect());
    let set = compare(evidence, &Options { metrics, ..options.clone() }).ok();
    let of = |width| family.render_for_terminal(evidence, set.as_ref(), width).unwrap();
    vec![("family.80.txt", of(80)), ("family.160.txt", of(160))]
}

fn json(document: &Value) -> String {
    let mut out = String::new();
    write_json(&rounded(document), 0, &mut out);
    out + "\n"
}

/// To the digits that every machine computes alike.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            let digits = format!("{:.*e}", DIGITS - 1, number.as_f64().unwrap());
            Value::from(digits.parse::<f64>().unwrap())
        }
        Value::Array(values) => values.iter().map(rounded).collect(),
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), rounded(field))).collect(),
        other => other.clone(),
    }
}

/// A field a line where an object does not fit on one.
fn write_json(value: &Value, indent: usize, out: &mut String) {
    let whole = value.to_string();
    let fits = whole.chars().count() + indent <= WIDTH;
    let inner = " ".repeat(indent + 1);
    let end = format!("\n{}", " ".repeat(indent));
    match value {
        Value::Object(fields) if !fits => {
            for (at, (name, field)) in fields.iter().enumerate() {
                out.push_str(if at == 0 { "{\n" } else { ",\n" });
                out.push_str(&format!("{inner}{}: ", Value::from(name.as_str())));
                write_json(field, indent + 1, out);
            }
            out.push_str(&(end + "}"));
        }
        Value::Array(values) if !fits => {
            for (at, one) in values.iter().enumerate() {
                out.push_str(if at == 0 { "[\n" } else { ",\n" });
                out.push_str(&inner);
                write_json(one, indent + 1, out);
            }
            out.push_str(&(end + "]"));
        }
        _ => out.push_str(&whole),
    }
}

/// The page with its style sheet and script as links, its data left out, and an element a line: a browser shows it from here.
fn page(name: &str, html: &str) -> String {
    let held = |from: &str, to: &str, instead: &str, html: &str| -> String {
        let mut parts = html.split(from);
        let mut out = parts.next().unwrap().to_owned();
        for part in parts {
            let (_, rest) = part.split_once(to).unwrap();
            out.push_str(&format!("{from}{instead}{to}{rest}"));
        }
        out
    };
    let linked = html
        .replace(&format!("<style>{STYLE}</style>"), "<link rel=\"stylesheet\" href=\"../../src/html/style.css\">")
        .replace(&format!("<script>{SCRIPT}</script>"), "<script src=\"../../src/html/app.js\"></script>");
    assert!(!linked.contains("<style>"), "a page has one style sheet");
    let without_hashes =
        held("Content-Security-Policy\" content=\"", "\"", "script-src file:; style-src file:", &linked);
    let without_data = held("id=\"etalon-data\">", "</script>", "{}", &without_hashes);
    let without_files = held(";base64,", "\"", "", &without_data);
    let with_charts_apart = held("<div class=\"plot\">", "</svg>", &format!("<svg>see {name}.svg"), &without_files);
    short(&with_charts_apart.replace("><", ">\n<")) + "\n"
}

/// Rounds long fractions as [`rounded`] does.
fn short(text: &str) -> String {
    let is_of_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(from) = rest.find(is_of_number) {
        let (before, number) = rest.split_at(from);
        let (number, after) = number.split_at(number.find(|letter| !is_of_number(letter)).unwrap_or(number.len()));
        out.push_str(before);
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') && number.len() > DIGITS + 1 => {
                let digits: f64 = format!("{value:.*e}", DIGITS - 1).parse().unwrap();
                out.push_str(&digits.to_string());
            }
            _ => out.push_str(number),
        }
        rest = after;
    }
    out + rest
}

/// The first charts of each kind below each other, with their style sheet as a link.
fn charts(name: &str, html: &str) -> String {
    let mut charts = report::svg::charts_in_page(html);
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    charts.retain(|chart| {
        let kind = chart.id.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let seen = kinds.entry(kind).or_default();
        *seen += 1;
        *seen <= CHARTS_OF_A_KIND
    });
    let mut out = format!(
        "<?xml version=\"1.0\"?>\n<?xml-stylesheet href=\"../../src/svg.css\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">\n\
         <title>{name}</title>\n"
    );
    let mut top = 0.0;
    for chart in charts {
        let svg = chart.svg.replace(&format!("<style>{SHEET}</style>"), "");
        let size = svg.split("viewBox=\"0 0 ").nth(1).and_then(|rest| rest.split_once('"')).unwrap().0;
        let height: f64 = size.split_once(' ').unwrap().1.parse().unwrap();
        let placed = svg.replacen("<svg ", &format!("<svg id=\"{}\" y=\"{top}\" ", chart.id), 1);
        out.push_str(&placed.replace("><", ">\n<"));
        top += height;
    }
    short(&out) + "</svg>\n"
}
