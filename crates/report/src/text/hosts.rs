//! Client hosts of a shared load, for the terminal.

use super::TextOptions;
use super::grid::{Align, Grid, GridCell, GridLine, clean, clipped, wrapped};
use crate::comparison::{ComparisonSet, HostsGroup};
use crate::number::Script;
use crate::words::{host_cell, host_unit};

/// Longest name of a host in the table.
const LONGEST_NAME: usize = 18;

/// Empty without named hosts.
pub fn render(set: &ComparisonSet, options: &TextOptions) -> String {
    if set.hosts.is_empty() {
        return String::new();
    }
    let head = "\nEach client host, medians of its runs; of middle: its 99th percentile over the middle host's.";
    let mut out = wrapped(head, options.width, 2);
    for group in &set.hosts {
        out.push_str(&wrapped(&clean(&format!("{} @ {}", group.label, group.system)), options.width, 2));
        out.push_str(&grid(group).render(options.style));
    }
    out
}

fn grid(group: &HostsGroup) -> Grid {
    let names: Vec<&str> = HostsGroup::columns().collect();
    let mut columns = vec![Align::Left];
    columns.extend(names.iter().map(|_| Align::Right));
    columns.push(Align::Right);
    let mut grid = Grid::new(columns);
    let mut head = vec![GridCell::new("host")];
    for (column, name) in names.iter().enumerate() {
        let unit = host_unit(group, column);
        head.push(GridCell::new(if unit.is_empty() { (*name).to_owned() } else { format!("{name}\n{unit}") }));
    }
    head.push(GridCell::new("of middle"));
    grid.push(GridLine::Cells(head));
    for row in &group.rows {
        let mut cells = vec![GridCell::new(clipped(&clean(&row.host), LONGEST_NAME))];
        cells.extend((0..names.len()).map(|column| GridCell::new(host_cell(group, row, column, Script::Plain))));
        let of_middle = row.of_middle.map_or_else(|| "–".to_owned(), |ratio| format!("×{ratio:.2}"));
        let slow = if row.is_slow() { " slow" } else { "" };
        cells.push(GridCell::new(format!("{of_middle}{slow}")));
        grid.push(GridLine::Cells(cells));
    }
    grid
}
