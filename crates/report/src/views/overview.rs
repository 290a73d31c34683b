//! Three systems and more: a column each, next to the pairs that are judged.

use std::collections::BTreeSet;

use unicode_width::UnicodeWidthStr;

use super::{Column, Entry, Form, Table, TablePlacement, View};
use crate::comparison::{Comparison, ComparisonSet, Side, Table as Pair};
use crate::labels::{direction_arrow, metric_name, table_title};
use crate::number::RowUnit;
use crate::text::{clip_to_width, clipped_apart};
use model::Direction;

/// Letters of a system's name over its column.
const LONGEST_NAME: usize = 14;
/// Letters of a row's name.
const LONGEST_ROW: usize = 40;

const STAR: &str = "*";
const BEST: &str = "* the best figure of its row; whether it differs from the others is said below, pair by pair.";

/// Makes a table, all systems side by side, for each title with several pairs; none if they were measured apart.
pub fn overview_tables(set: &ComparisonSet) -> Vec<View> {
    // None of those that were measured apart is the best.
    if set.apart.is_some() { Vec::new() } else { tables_of_pairs(&set.tables) }
}

/// Makes a table for each group of pairs that have title and baseline in common; none of a single pair.
pub fn tables_of_pairs(pairs: &[Pair]) -> Vec<View> {
    let mut groups: Vec<Vec<&Pair>> = Vec::new();
    for pair in pairs {
        match groups.iter_mut().find(|group| (&group[0].title, &group[0].a) == (&pair.title, &pair.a)) {
            Some(group) => group.push(pair),
            None => groups.push(vec![pair]),
        }
    }
    let mut tables: Vec<Table> =
        groups.iter().filter(|group| group.len() > 1).map(|group| overview_table(group)).collect();
    let has_best = tables.iter().flat_map(|table| &table.rows).flatten().any(|entry| entry.text == STAR);
    if let Some(last) = tables.last_mut()
        && has_best
    {
        last.notes.push(BEST.to_owned());
    }
    tables.into_iter().map(View::Table).collect()
}

/// Makes the table of pairs with the same title, a column for each system.
fn overview_table(pairs: &[&Pair]) -> Table {
    // What all rows share stands above them.
    let first = &pairs[0].rows[0];
    let is_one_metric = !first.label.is_empty() && pairs[0].rows.iter().all(|row| row.metric.id == first.metric.id);
    let of_metric = if is_one_metric { format!(", {}", metric_name(&first.metric.id)) } else { String::new() };
    // A pair has no row that only its systems have nothing of.
    let mut rows: Vec<&Comparison> = Vec::new();
    let mut known = BTreeSet::new();
    for row in pairs.iter().flat_map(|pair| &pair.rows) {
        if known.insert((&row.label, &row.metric.id)) {
            rows.push(row);
        }
    }
    let sides: Vec<&str> =
        std::iter::once(pairs[0].a.as_str()).chain(pairs.iter().map(|pair| pair.b.as_str())).collect();
    let heads = clipped_apart(&sides, LONGEST_NAME);
    Table {
        title: format!("{}{of_metric}: all side by side", table_title(pairs[0])),
        columns: std::iter::once(Column::of_words(""))
            .chain(sides.iter().zip(heads).map(|(name, head)| Column::new(*name, "").with_head(head)))
            .collect(),
        rows: rows.into_iter().map(|row| overview_line(row, pairs, is_one_metric)).collect(),
        placement: TablePlacement::Close,
        ..Table::default()
    }
}

/// Makes the entries of a row in all pairs, the best value marked.
fn overview_line(row: &Comparison, pairs: &[&Pair], is_one_metric: bool) -> Vec<Entry> {
    let sides: Vec<Option<Side>> = std::iter::once(Some(row.a.clone()))
        .chain(pairs.iter().map(|pair| {
            pair.rows
                .iter()
                .find(|other| other.label == row.label && other.metric.id == row.metric.id)
                .map(|found| found.b.clone())
        }))
        .collect();
    let values: Vec<f64> = sides.iter().flatten().filter_map(|side| side.estimate).collect();
    let unit = RowUnit::new(&row.metric.unit, values.iter().copied());
    let best = match row.metric.direction {
        _ if values.len() < 2 => None,
        Direction::Higher => values.iter().copied().reduce(f64::max),
        Direction::Lower => values.iter().copied().reduce(f64::min),
        Direction::Neither => None,
    };
    let of_unit = format!("{} {}", unit.unit_name(), direction_arrow(row.metric.direction));
    let metric = if is_one_metric { String::new() } else { metric_name(&row.metric.id) };
    let keys =
        row.label.iter().filter(|(_, value)| value != model::UNKNOWN).map(|(key, value)| format!("{key}={value}"));
    let parts = keys.chain([metric, of_unit.trim().to_owned()]).filter(|part| !part.is_empty()).collect();
    std::iter::once(Entry::of_text(fit_parts(parts, LONGEST_ROW)))
        .chain(sides.iter().map(|side| {
            let value = side.as_ref().and_then(|side| side.estimate);
            let said = if value.is_some() && value == best { STAR } else { "" };
            let form = if unit.counts_whole() { Form::Whole } else { Form::Significant };
            Entry {
                text: said.to_owned(),
                bound: side.as_ref().and_then(|side| side.bound),
                ..Entry::from_value(value.map(|value| unit.convert(value)), form, "no run has it")
            }
        }))
        .collect()
}

/// Letters that a part keeps.
const SHORTEST_PART: usize = 12;

/// Joins parts of a name, the last two its metric and unit, and shortens them until they fit.
/// Until it fits, the longest one loses the name of its
/// key, then letters; then all lose the names of their keys, and the first ones go: the metric distinguishes the rows of a case.
fn fit_parts(mut parts: Vec<String>, width: usize) -> String {
    loop {
        let whole = parts.join(", ");
        if whole.width() <= width {
            return whole;
        }
        let keys = parts.len().saturating_sub(2);
        let longest = parts.iter_mut().max_by_key(|part| part.width()).filter(|part| part.width() > SHORTEST_PART);
        if let Some(part) = longest {
            *part = value_after_sign(part).unwrap_or_else(|| clip_to_width(part, part.width() - 1));
        } else if let Some((part, value)) =
            parts[..keys].iter_mut().find_map(|part| value_after_sign(part).map(|value| (part, value)))
        {
            *part = value;
        } else if keys > 1 {
            parts.drain(..2);
            parts.insert(0, "…".to_owned());
        } else {
            return clip_to_width(&whole, width);
        }
    }
}

/// The value after `=`; `None` without one.
fn value_after_sign(part: &str) -> Option<String> {
    part.split_once('=').map(|(_, value)| value.to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_a_piece_of_each_of_its_parts() {
        let long = ["statements=14 read, 4 write, 2 other", "threads=128", "response p95", "ms ↓"];
        assert_eq!(fitted(&long, 52), "14 read, 4 write, …, threads=128, response p95, ms ↓");
        assert_eq!(fitted(&long, 40), "14 read, 4 …, 128, response p95, ms ↓");
        let many = ["bs=1m", "iodepth=32", "job=write-1m", "op=read", "response p99", "us ↓"];
        assert_eq!(fitted(&many, 42), "1m, 32, write-1m, read, response p99, us ↓");
        assert_eq!(fitted(&many, 40), "…, write-1m, read, response p99, us ↓");
        assert_eq!(fitted(&["threads=4", "ms ↓"], 40), "threads=4, ms ↓");
    }

    fn fitted(texts: &[&str], width: usize) -> String {
        fit_parts(texts.iter().map(|text| (*text).to_owned()).collect(), width)
    }
}
