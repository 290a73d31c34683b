//! The top of the report: what was found, in sentences.

use maud::{Markup, html};
use model::Role;
use stats::Verdict;

use super::forest::{verdict_class, verdict_shape};
use crate::comparison::{Comparison, ComparisonSet, Estimate, NoVerdict, NoteKind, Table};
use crate::evidence::Evidence;
use crate::number::{Script, count, percent};
use crate::words::{change_of, created, metric_name, table_title, verdict_word};

/// Title, verdicts, what holds for all of them, and what the experiment was.
pub fn header(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    html! {
        header.top {
            p.brand { "étalon" span { " · database benchmark report" } }
            h1 dir="auto" { (evidence.header.plan.name) }
            @for note in set.notes.iter().filter(|note| note.kind == NoteKind::DebugBuild) {
                p.stamp role="note" { strong { "Not comparable:" } " " (note.text.trim_start_matches("not comparable: ")) "." }
            }
            @if super::single::is_single(set) { (super::single::cards(set)) }
            @match nothing_judged(set) {
                Some(why) => { p.notice role="note" { strong { "No verdict" } " on any of the " (set.rows().count()) " rows: " (why) "." } }
                None => @for (heading, sentences) in sentences(set) {
                    @if let Some(heading) = heading { p.pair { (heading) } }
                    div.verdicts { @for sentence in sentences { (sentence) } }
                }
            }
            @for note in set.notes.iter().filter(|n| !matches!(n.kind, NoteKind::DebugBuild | NoteKind::Incomplete)) {
                p.notice role="note" { (note.text) "." }
            }
            (identity(evidence, set))
        }
    }
}

/// More cards than this that all say the same are one sentence.
const FEW_CARDS: usize = 4;

/// Why none of many rows has a verdict: the reasons, of which there are few; cards would say it again and again.
fn nothing_judged(set: &ComparisonSet) -> Option<String> {
    let primary: Vec<&Comparison> = set.rows().filter(|row| row.metric.role == Role::Primary).collect();
    let reason = |row: &&Comparison| match row.no_verdict()? {
        NoVerdict::NotAvailable { .. } => Some("a side has no value".to_owned()),
        NoVerdict::Lacking { .. } => Some("some runs have no value".to_owned()),
        reason => Some(reason.short()),
    };
    let reasons: Option<Vec<String>> = primary.iter().map(reason).collect();
    let mut reasons = reasons.filter(|reasons| reasons.len() > FEW_CARDS)?;
    reasons.sort();
    reasons.dedup();
    Some(reasons.join(", or "))
}

fn identity(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let header = &evidence.header;
    let counts = set.counts;
    let share = counts.measured as f64 / counts.planned.max(1) as f64;
    html! {
        dl.identity {
            div { dt { "Run" } dd { (created(evidence)) " UTC" } }
            div { dt { "Runs valid" } dd { (counts.measured) " of " (counts.planned) " (" (percent(share, Script::Typographic)) ")" } }
            div { dt { "Design" } dd { (count(set.rounds as usize, "round")) ", " (count(evidence.cases.len(), "case")) } }
            div { dt { "étalon" } dd { (header.etalon_version) @if header.build != "release" { " (" (header.build) " build)" } } }
            div { dt { "Plan" } dd { code title=(header.plan_hash) { (header.plan_hash.chars().take(12).collect::<String>()) } } }
        }
    }
}

/// Links to the parts that are there: their places in the page, and what they are called here.
pub fn navigation<'a>(parts: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! { nav aria-label="Parts of the report" { @for (id, title) in parts { a href={ "#" (id) } { (title) } } } }
}

/// One sentence per table and primary metric; the tables have headings if there are several.
fn sentences(set: &ComparisonSet) -> Vec<(Option<Markup>, Vec<Markup>)> {
    let several = set.tables.len() > 1;
    let of_table = |table: &Table| {
        let mut metrics: Vec<(&str, Vec<&Comparison>)> = Vec::new();
        for row in table.rows.iter().filter(|row| row.metric.role == Role::Primary) {
            match metrics.iter_mut().find(|(metric, _)| *metric == row.metric.id) {
                Some((_, rows)) => rows.push(row),
                None => metrics.push((&row.metric.id, vec![row])),
            }
        }
        let heading = several.then(|| {
            html! { bdi { (table_title(table)) } ": " strong { bdi { (table.b) } } " against " bdi { (table.a) } }
        });
        (heading, metrics.iter().map(|(_, rows)| sentence(table, rows)).collect())
    };
    set.tables.iter().map(of_table).collect()
}

fn sentence(table: &Table, rows: &[&Comparison]) -> Markup {
    let Some(first) = rows.first() else { return html! {} };
    // One word if all rows agree; else the card is neutral and the sentence counts.
    let all_alike = rows.iter().all(|row| verdict_class(row) == verdict_class(first));
    let class = if all_alike { verdict_class(first) } else { "mixed" };
    html! {
        article class={ "verdict v-" (class) } {
            h3 {
                @if all_alike { (icon(first)) }
                (metric_name(&first.metric.id))
            }
            p { @if all_alike { (agreed(table, rows, first)) } @else { (mixed(table, rows)) } (failed(rows)) }
        }
    }
}

/// What did not succeed, where the sides differ in it: the most of any case.
fn failed(rows: &[&Comparison]) -> Markup {
    let of = rows.iter().filter(|row| row.verdict().is_some()).filter_map(|row| row.failures);
    let Some(most) = of.max_by(|x, y| x.worst().total_cmp(&y.worst())) else { return html! {} };
    let [a, b] = most.words();
    html! { "; " strong { (a) " of A and " (b) " of B failed" } }
}

/// All cases say the same.
fn agreed(table: &Table, rows: &[&Comparison], first: &Comparison) -> Markup {
    let (a, b) = (&table.a, &table.b);
    let places = if rows.len() > 1 { format!(" in all {} cases", rows.len()) } else { String::new() };
    html! {
        @match first.verdict() {
            Some(verdict @ (Verdict::Faster | Verdict::Slower)) => {
                bdi { (b) } " is " strong { (verdict_word(verdict, &first.metric)) } " than " bdi { (a) } (places) ": " (span(rows))
            }
            Some(Verdict::Equivalent) => { bdi { (b) } " and " bdi { (a) } " are " strong { "equivalent" } (places) ": " (span(rows)) }
            Some(Verdict::Inconclusive) => { "It is " strong { "open" } " whether " bdi { (b) } " differs from " bdi { (a) } (places) ": " (span(rows)) }
            None => { strong { "No verdict" } (places) @if let Some(reason) = first.no_verdict() { ": " (reason.text()) } }
        }
    }
}

/// The cases differ in what they say.
fn mixed(table: &Table, rows: &[&Comparison]) -> Markup {
    let of = |class: &str| rows.iter().copied().filter(|row| verdict_class(row) == class).collect::<Vec<_>>();
    let word = |row: &Comparison| match row.verdict() {
        Some(Verdict::Inconclusive) => "open",
        Some(verdict) => verdict_word(verdict, &row.metric),
        None => "without a verdict",
    };
    let parts: Vec<Vec<&Comparison>> = ["faster", "slower", "equivalent", "inconclusive", "none"].map(of).into();
    html! {
        bdi { (table.b) } " against " bdi { (table.a) } ", of " (rows.len()) " cases: "
        @for (index, (part, first)) in parts.iter().filter_map(|part| Some((part, part.first()?))).enumerate() {
            @if index > 0 { ", " }
            (part.len()) " " strong { (word(first)) }
            @if matches!(first.verdict(), Some(Verdict::Faster | Verdict::Slower)) { " (" (span(part)) ")" }
        }
    }
}

/// The change, or its range over the cases.
fn span(rows: &[&Comparison]) -> Markup {
    let estimates: Vec<_> = rows.iter().filter_map(|row| row.estimate.as_ref()).collect();
    let point = |estimate: &Estimate| change_of(estimate).point(Script::Typographic);
    let least = estimates.iter().min_by(|x, y| x.ratio.total_cmp(&y.ratio));
    let most = estimates.iter().max_by(|x, y| x.ratio.total_cmp(&y.ratio));
    html! {
        @match (estimates.as_slice(), least, most) {
            ([only], ..) => {
                @let change = change_of(only);
                span.figure { (change.point(Script::Typographic)) } " " span.interval { (change.interval(Script::Typographic)) }
            }
            (_, Some(least), Some(most)) => {
                span.figure { (point(least)) } " to " span.figure { (point(most)) }
            }
            _ => { "no figures" }
        }
    }
}

/// The form of a verdict.
pub fn icon(row: &Comparison) -> Markup {
    html! {
        svg.icon viewBox="0 0 16 16" aria-hidden="true" {
            path class={ "pt v-" (verdict_class(row)) } d=(verdict_shape(row).path(8.0, 8.0, 5.5)) {}
        }
    }
}
