//! Three systems and more: a column each, beside the pairs that are judged.

use super::{Column, Entry, Form, Look, Table, View};
use crate::comparison::{Comparison, ComparisonSet, Side, Table as Pair};
use crate::number::RowUnit;
use crate::text::clipped;
use crate::words::{arrow, metric_name, table_title};
use model::Direction;

/// Letters of a system's name over its column.
const LONGEST_NAME: usize = 14;
/// Letters of a row's name.
const LONGEST_ROW: usize = 40;

const STAR: &str = "*";
const BEST: &str = "* the best figure of its row; whether it differs from the others is said below, pair by pair.";

/// A table for each group of pairs with the same title; none of a single pair.
pub fn tables(set: &ComparisonSet) -> Vec<View> {
    if set.apart.is_some() {
        // None of them is the best.
        return Vec::new();
    }
    let mut groups: Vec<Vec<&Pair>> = Vec::new();
    for pair in &set.tables {
        match groups.iter_mut().find(|group| (&group[0].title, &group[0].a) == (&pair.title, &pair.a)) {
            Some(group) => group.push(pair),
            None => groups.push(vec![pair]),
        }
    }
    let mut tables: Vec<Table> = groups.iter().filter(|group| group.len() > 1).map(|group| table(group)).collect();
    let has_best = tables.iter().flat_map(|table| &table.rows).flatten().any(|entry| entry.text == STAR);
    if let Some(last) = tables.last_mut()
        && has_best
    {
        last.notes.push(BEST.to_owned());
    }
    tables.into_iter().map(View::Table).collect()
}

fn table(pairs: &[&Pair]) -> Table {
    let name = |name: &str| Column::new(name, "").headed(clipped(name, LONGEST_NAME));
    // What all rows share stands above them.
    let first = &pairs[0].rows[0];
    let is_one_metric = !first.label.is_empty() && pairs[0].rows.iter().all(|row| row.metric.id == first.metric.id);
    let of_metric = if is_one_metric { format!(", {}", metric_name(&first.metric.id)) } else { String::new() };
    let sides = std::iter::once(pairs[0].a.as_str()).chain(pairs.iter().map(|pair| pair.b.as_str()));
    Table {
        title: format!("{}{of_metric}: all side by side", table_title(pairs[0])),
        columns: std::iter::once(Column::words("")).chain(sides.map(name)).collect(),
        rows: pairs[0].rows.iter().map(|row| line(row, pairs, is_one_metric)).collect(),
        look: Look::Close,
        ..Table::default()
    }
}

fn line(row: &Comparison, pairs: &[&Pair], is_one_metric: bool) -> Vec<Entry> {
    let is_same = |other: &&Comparison| other.label == row.label && other.metric.id == row.metric.id;
    let of_b = |pair: &&Pair| pair.rows.iter().find(is_same).map(|found| found.b.clone());
    let sides: Vec<Option<Side>> = std::iter::once(Some(row.a.clone())).chain(pairs.iter().map(of_b)).collect();
    let values: Vec<f64> = sides.iter().flatten().filter_map(|side| side.estimate).collect();
    let unit = RowUnit::new(&row.metric.unit, values.iter().copied());
    let best = match row.metric.direction {
        _ if values.len() < 2 => None,
        Direction::Higher => values.iter().copied().reduce(f64::max),
        Direction::Lower => values.iter().copied().reduce(f64::min),
        Direction::Neither => None,
    };
    let entry = |side: &Option<Side>| {
        let value = side.as_ref().and_then(|side| side.estimate);
        let said = if value.is_some() && value == best { STAR } else { "" };
        Entry {
            text: said.to_owned(),
            ..Entry::or(value.map(|value| unit.of(value)), Form::Significant, "no run has it")
        }
    };
    let of_unit = format!("{} {}", unit.name(), arrow(row.metric.direction));
    let metric = if is_one_metric { String::new() } else { metric_name(&row.metric.id) };
    let parts = [row.case_label(), metric, of_unit.trim().to_owned()];
    let named: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    std::iter::once(Entry::text(clipped(&named.join(", "), LONGEST_ROW))).chain(sides.iter().map(entry)).collect()
}
