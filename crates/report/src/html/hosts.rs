//! The client hosts of a load that several made.

use maud::{Markup, html};

use crate::comparison::{ComparisonSet, HostsGroup};
use crate::number::Script;
use crate::words::{host_cell, host_unit};

/// The lead of the section.
pub const LEAD: &str = "What each client host did of a load that several made, as the median of its runs. The figures above \
                        are of all hosts together, their histograms merged; one slow host would hide in them. \"Of middle\" is a \
                        host's 99th percentile over that of the middle host.";

const OF_MIDDLE: &str = "p99 of middle";

/// The content of the section.
pub fn view(set: &ComparisonSet) -> Markup {
    html! {
        @for group in &set.hosts { div.scroll { table.disk {
            (head(group))
            tbody { @for row in &group.rows { tr {
                td.who data-l="host" { bdi { (row.host) } }
                @for (column, name) in HostsGroup::columns().enumerate() {
                    td.num data-l={ (name) " " (host_unit(group, column)) } { (host_cell(group, row, column, Script::Typographic)) }
                }
                td.num data-l=(OF_MIDDLE) {
                    @match row.of_middle {
                        Some(ratio) if row.is_slow() => { strong { "×" (format!("{ratio:.2}")) " slow" } }
                        Some(ratio) => { "×" (format!("{ratio:.2}")) }
                        None => { "–" }
                    }
                }
            } } }
        } } }
    }
}

fn head(group: &HostsGroup) -> Markup {
    html! {
        thead { tr {
            th scope="col" { bdi { (group.label) } " @ " bdi { (group.system) } }
            @for (column, name) in HostsGroup::columns().enumerate() {
                @let unit = host_unit(group, column);
                th.num scope="col" { (name) @if !unit.is_empty() { ", " span.unit { (unit) } } }
            }
            th.num scope="col" { (OF_MIDDLE) }
        } }
    }
}
