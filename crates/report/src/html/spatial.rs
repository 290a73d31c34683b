//! Spatial queries in the published form: CPU and elapsed time per query, gains, and totals.

use maud::{Markup, html};

use super::bars::{Bar, Bars};
use crate::evidence::Evidence;
use crate::number::{Script, significant};
use crate::spatial::{CPU, Column, PUBLISHED, SUITE, Section, Time, query_name, sections, shown};

pub fn view(evidence: &Evidence) -> Option<Markup> {
    let all = sections(evidence);
    let markup = html! { @for (number, section) in all.iter().enumerate() { (one(section, number)) } };
    (!all.is_empty()).then_some(markup)
}

fn one(section: &Section, number: usize) -> Markup {
    html! {
        h3 dir="auto" { (section.title) }
        (sentences(section))
        (table(section))
        div.grid {
            @if section.is_published() {
                (bars(section, (PUBLISHED, "Time of each query"), &format!("spatial-{number}")))
            }
            (bars(section, (CPU, "CPU time of each query"), &format!("spatial-cpu-{number}")))
        }
    }
}

/// Published conclusions: faster queries, those by more than half, and the total.
fn sentences(section: &Section) -> Markup {
    let conclusions = section.conclusions();
    let baseline = section.columns.first().map_or("", |column| column.system.as_str());
    html! {
        @if !conclusions.is_empty() {
            ul { @for one in &conclusions { li dir="auto" { (one.words(baseline, Script::Typographic)) } } }
        }
    }
}

fn cell(time: &Time) -> Markup {
    let text = shown(time, Script::Typographic);
    html! {
        @match time {
            Ok(_) => { (text) }
            Err(reason) => { span.na title=(reason) { (text) } }
        }
    }
}

fn table(section: &Section) -> Markup {
    let columns = &section.columns;
    let pair = columns.first().zip(columns.get(1)).filter(|_| columns.len() == 2);
    html! {
        div.scroll { table.disk {
            thead {
                tr {
                    th scope="col" rowspan="2" { "query" }
                    @for column in columns { th.num scope="colgroup" colspan="2" { bdi { (column.system) } } }
                    @if pair.is_some() { th.num scope="colgroup" colspan="2" { "gain" } }
                }
                tr {
                    @for _ in columns { th.num scope="col" { "CPU ms" } th.num scope="col" { "T ms" } }
                    @if pair.is_some() { th.num scope="col" { "CPU" } th.num scope="col" { "T" } }
                }
            }
            tbody { @for (at, query) in section.queries.iter().enumerate() { tr {
                th scope="row" { (query_name(query)) }
                @for column in columns {
                    td.num data-l={ (column.system) ", CPU ms" } { (cell(&column.times[at][CPU])) }
                    td.num data-l={ (column.system) ", T ms" } { (cell(&column.times[at][PUBLISHED])) }
                }
                @if let Some((a, b)) = pair {
                    td.num data-l="gain, CPU" { span { (gain_words(a, b, at, CPU)) } }
                    td.num data-l="gain, T" { span { (gain_words(a, b, at, PUBLISHED)) } }
                }
            } } }
        } }
        @for reason in section.reasons() { p.note { "n/a: " (reason) } }
    }
}

fn gain_words(a: &Column, b: &Column, at: usize, kind: usize) -> Markup {
    html! {
        @match b.gain(a, at, kind) {
            Some((times, of_b)) => {
                (significant(times, 3, Script::Typographic)) "× (" bdi { (if of_b { &b.system } else { &a.system }) } ")"
            }
            None => { "n/a" }
        }
    }
}

/// `kind` is an index of [`Column::times`].
fn bars(section: &Section, (kind, title): (usize, &str), id: &str) -> Markup {
    let bar = |column: &Column, at: usize| {
        let time = &column.times[at][kind];
        Bar {
            index: column.index,
            name: column.system.clone(),
            value: time.as_ref().ok().copied(),
            interval: None,
            said: shown(time, Script::Typographic),
        }
    };
    let single = section.queries.iter().enumerate().filter(|(_, query)| *query != SUITE);
    let groups =
        single.map(|(at, query)| (query.clone(), section.columns.iter().map(|column| bar(column, at)).collect()));
    let caption = ["ms: mean of the runs without the shortest and the longest", "ms of a run, of all processors"][kind];
    Bars { title, id, caption, groups: groups.collect() }.render()
}
