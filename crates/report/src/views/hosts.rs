//! The client hosts of a load that several made.

use super::{Column, Entry, Form, Look, Table, View};
use crate::comparison::{ComparisonSet, HostRow, HostsGroup};
use crate::number::RowUnit;
use crate::text::clipped;

/// Longest name of a host in the table.
const LONGEST_NAME: usize = 18;

/// A table for each benchmark and system; none without named hosts.
pub fn tables(set: &ComparisonSet) -> Vec<View> {
    set.hosts.iter().map(|group| View::Table(table(group))).collect()
}

fn table(group: &HostsGroup) -> Table {
    // Common to all hosts.
    let unit = |column: usize| {
        let figures = || group.rows.iter().filter_map(move |row| row.figures.get(column));
        let stored = figures().next().map_or("", |(metric, _)| &metric.unit);
        RowUnit::new(stored, figures().filter_map(|(_, side)| side.estimate))
    };
    let column = |(at, name): (usize, &'static str)| {
        let unit = unit(at).name();
        Column::new(name, unit).headed(format!("{name}\n{unit}").trim_end())
    };
    let entry = |row: &HostRow, at: usize| {
        let (metric, side) = row.figures.get(at)?;
        // Of the client's cores.
        let form = if metric.id.starts_with("client_busy_share") { Form::Percent } else { Form::Significant };
        Some(Entry::or(side.estimate.map(|value| unit(at).of(value)), form, "no run has it"))
    };
    let row = |row: &HostRow| {
        let slow = if row.is_slow() { "slow" } else { "" };
        let of_middle = match row.of_middle {
            Some(ratio) => Entry { text: slow.to_owned(), ..Entry::or(Some(ratio), Form::Factor, "") },
            None => Entry::dash("there is no middle host"),
        };
        let figures = (0..HostsGroup::columns().count()).map(|at| entry(row, at).unwrap_or_default());
        let host = Entry::text(clipped(&row.host, LONGEST_NAME));
        [host].into_iter().chain(figures).chain([of_middle]).collect()
    };
    let columns = HostsGroup::columns().enumerate().map(column);
    Table {
        title: format!("{} @ {}", group.label, group.system),
        columns: [Column::words("host")].into_iter().chain(columns).chain([Column::new("of middle", "")]).collect(),
        rows: group.rows.iter().map(row).collect(),
        look: Look::Close,
        ..Table::default()
    }
}
