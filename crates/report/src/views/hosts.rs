//! The client hosts of a load that several made.

use super::{Column, Entry, Form, Table, TablePlacement, View};
use crate::comparison::{ComparisonSet, HostRow, HostsGroup};
use crate::number::RowUnit;
use crate::text::clip_to_width;

/// Longest name of a host in the table.
const LONGEST_NAME: usize = 18;

/// Makes a table of client hosts for each benchmark and system; none without named hosts.
pub fn tables(set: &ComparisonSet) -> Vec<View> {
    set.hosts.iter().map(|group| View::Table(hosts_table(group))).collect()
}

/// Makes the table of a group's client hosts.
fn hosts_table(group: &HostsGroup) -> Table {
    // Common to all hosts.
    let columns = HostsGroup::column_names().enumerate().map(|(at, name)| {
        let unit = column_unit(group, at).unit_name();
        Column::new(name, unit).with_head(format!("{name}\n{unit}").trim_end())
    });
    Table {
        title: format!("{} @ {}", group.label, group.system),
        columns: [Column::of_words("host")].into_iter().chain(columns).chain([Column::new("of middle", "")]).collect(),
        rows: group.rows.iter().map(|one| host_row(group, one)).collect(),
        placement: TablePlacement::Close,
        ..Table::default()
    }
}

/// Makes the row of a client host, marked if it is slow.
fn host_row(group: &HostsGroup, row: &HostRow) -> Vec<Entry> {
    let slow = if row.is_slow() { "slow" } else { "" };
    let of_middle = match row.of_middle {
        Some(ratio) => Entry { text: slow.to_owned(), ..Entry::from_value(Some(ratio), Form::Factor, "") },
        None => Entry::dash("there is no middle host"),
    };
    let figures = (0..HostsGroup::column_names().count()).map(|at| figure_entry(group, row, at).unwrap_or_default());
    let host = Entry::of_text(clip_to_width(&row.host, LONGEST_NAME));
    [host].into_iter().chain(figures).chain([of_middle]).collect()
}

/// Makes the entry of a host's figure in a column.
fn figure_entry(group: &HostsGroup, row: &HostRow, at: usize) -> Option<Entry> {
    let (metric, side) = row.figures.get(at)?;
    // Of the client's cores.
    let form = if metric.id.starts_with("client_busy_share") { Form::Percent } else { Form::Significant };
    Some(Entry::from_value(side.estimate.map(|value| column_unit(group, at).convert(value)), form, "no run has it"))
}

/// Chooses the unit that all hosts have in a column.
fn column_unit(group: &HostsGroup, column: usize) -> RowUnit<'_> {
    let figures: Vec<&(model::Metric, crate::comparison::Side)> =
        group.rows.iter().filter_map(|row| row.figures.get(column)).collect();
    let stored = figures.first().map_or("", |(metric, _)| &metric.unit);
    RowUnit::new(stored, figures.iter().copied().filter_map(|(_, side)| side.estimate))
}
