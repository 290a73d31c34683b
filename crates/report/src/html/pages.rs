//! Page inserts: I/O per commit, and the published tables.

use maud::{Markup, html};

use super::chart::series_class;
use crate::evidence::Evidence;
use crate::number::{RowUnit, Script, significant};
use crate::pages::{self, Conclusion, HEADS, OS_HEADS, PerCommit, Section, SystemTable, gain_words, mean_words};

/// Width of a bar's picture, in its own units.
const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 18.0;

/// `None` without page inserts.
pub fn pages(evidence: &Evidence) -> Option<Markup> {
    let sections = pages::sections(evidence);
    if sections.is_empty() {
        return None;
    }
    Some(html! {
        @for (title, all) in pages::per_commit(evidence) { (per_commit(&title, &all)) }
        @for section in &sections { (published(section)) }
    })
}

/// With bars of one scale for the bytes.
fn per_commit(title: &str, all: &[PerCommit]) -> Markup {
    let most = all.iter().filter_map(|one| one.bytes).fold(0.0, f64::max);
    let number =
        |value: Option<f64>| value.map_or("n/a".to_owned(), |value| significant(value, 3, Script::Typographic));
    let bytes = |value: f64| {
        let unit = RowUnit::new("bytes", [value]);
        format!("{} {}", unit.print(value, Script::Typographic), unit.name())
    };
    html! {
        h3 dir="auto" { (title) }
        div.scroll { table.results {
            caption { "I/O per commit, medians of the runs" }
            thead { tr {
                th scope="col" { "system" }
                th scope="col" { "files" }
                th.num scope="col" { "writes" }
                th.num scope="col" { "syncs" }
                th.num scope="col" { "waited, ms" }
                th.num scope="col" { "bytes" }
                th scope="col" { span.unit { "bytes, all bars of one scale" } }
            } }
            tbody { @for one in all { tr {
                th scope="row" data-l="system" { bdi { (one.system) } }
                th scope="row" data-l="files" { (one.class) }
                td.num data-l="writes" { (number(one.writes)) }
                td.num data-l="syncs" { (number(one.syncs)) }
                td.num data-l="waited, ms" { (number(one.wait_ms)) }
                td.num data-l="bytes" { (one.bytes.map_or("n/a".to_owned(), bytes)) }
                td { @if let Some(bytes) = one.bytes { (bar(one.index, bytes, most)) } }
            } } }
        } }
    }
}

fn bar(index: usize, value: f64, most: f64) -> Markup {
    let width = if most > 0.0 { value / most * WIDTH } else { 0.0 };
    html! {
        svg.bar viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH / 2.0) height=(HEIGHT) aria-hidden="true" {
            rect class={ "rg " (series_class(index)) } x="0" y="2" width={ (format!("{width:.1}")) } height=(HEIGHT - 4.0) {}
        }
    }
}

fn published(section: &Section) -> Markup {
    html! {
        @for ((a, b), all) in &section.conclusions { (conclusions(a, b, all)) }
        @for table in &section.systems {
            details.case {
                summary { "counters of " bdi { (table.system) } ", run by run" }
                div.scroll { table.results {
                    thead { tr { @for head in HEADS { th.num scope="col" { (head) } } } }
                    tbody { @for row in &table.rows { tr { @for (cell, head) in pages::cells(row).iter().zip(HEADS) {
                        td.num data-l=(head) { (cell) }
                    } } } }
                } }
                @for reason in &table.unknown { p.note { "n/a: " (reason) } }
            }
            (operating_system(table))
        }
    }
}

/// What the operating system counted beyond the engine's counters.
fn operating_system(table: &SystemTable) -> Markup {
    html! {
        @if !table.os.lines.is_empty() { div.scroll { table.results {
            caption { "What the operating system counted of " bdi { (table.system) } ", means" }
            thead { tr { th scope="col" { "account" } @for head in OS_HEADS { th.num scope="col" { (head) } } } }
            tbody { @for (name, figures) in &table.os.lines { tr {
                th scope="row" data-l="account" { (name) }
                @for (figure, head) in figures.iter().zip(OS_HEADS) { td.num data-l=(head) { (pages::shown(*figure, 0)) } }
            } } }
        } } }
        @if let Some(words) = table.os.missing_words() { p.note { bdi { (table.system) } ": " (words) } }
    }
}

fn conclusions(a: &str, b: &str, all: &[Conclusion]) -> Markup {
    html! {
        div.scroll { table.results {
            caption { "Mean latencies, and who gains" }
            thead { tr {
                th scope="col" { "files" }
                th scope="col" { "measure" }
                th.num scope="col" { "reads, " bdi { (a) } }
                th.num scope="col" { "reads, " bdi { (b) } }
                th.num scope="col" { "writes, " bdi { (a) } }
                th.num scope="col" { "writes, " bdi { (b) } }
                th scope="col" { "gain in reads" }
                th scope="col" { "gain in writes" }
            } }
            tbody { @for one in all { tr {
                th scope="row" data-l="files" { (one.class) }
                td data-l="measure" { (one.measure) }
                @for (kind, side, value) in
                    [("reads", a, one.a[0]), ("reads", b, one.b[0]), ("writes", a, one.a[1]), ("writes", b, one.b[1])]
                {
                    td.num data-l={ (kind) ", " (side) } { (mean_words(value)) }
                }
                td data-l="gain in reads" { bdi { (gain_words(one.gains[0].as_ref())) } }
                td data-l="gain in writes" { bdi { (gain_words(one.gains[1].as_ref())) } }
            } } }
        } }
        p.note { "A gain is a ratio of two means. Whether it is more than chance is said by the verdicts on the same metrics." }
    }
}
