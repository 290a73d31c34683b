//! Queries of a folder, and classes of statements of a capture: what each takes of the whole, and what it gains or loses.

use model::NoValue;

use crate::comparison::{ELAPSED, Index, is_all_queries};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, case_views};
use crate::spatial::mean_of_runs;
use crate::views::{Column, Entry, Family, Form, Table, View};

const QUERIES: &str = "queries";
const ANALYTICS: &str = "analytics";
const REPLAY: &str = "replay";

/// What must be said wherever a result of `analytics` is.
const DERIVED: &str = "analytics is derived from the TPC-H specification and not comparable with published TPC results";

/// The user's own queries.
pub const FAMILY: Family = Family {
    name: QUERIES,
    judged: &["elapsed"],
    part: [
        "Queries",
        "What each query takes",
        "The times of all queries add up to the whole; what each gains or loses is a part of that. The largest change comes first. Whether a \
         change is sure stands in the table above.",
    ],
    footnote: "Times are means of the runs.",
    views: |evidence, _| views_of(evidence, QUERIES),
    compared: |_| Vec::new(),
};

/// The queries that étalon brings.
pub const ANALYTICS_FAMILY: Family = Family {
    name: ANALYTICS,
    part: [
        "Analytics",
        "What each query takes",
        "Derived from the TPC-H specification; not comparable with published TPC results. The times of all queries add up to the whole; what \
         each gains or loses is a part of that. The largest change comes first. Whether a change is sure stands in the table above.",
    ],
    footnote: "Derived from the TPC-H specification; not comparable with published TPC results. Times are means of the runs.",
    views: |evidence, _| views_of(evidence, ANALYTICS),
    ..FAMILY
};

/// The origin of `analytics`, for experiments that have such cases.
pub fn workload_origin(evidence: &Evidence) -> Option<&'static str> {
    evidence.cases.iter().any(|case| case.workload == ANALYTICS).then_some(DERIVED)
}

/// The statements of a capture.
pub const REPLAY_FAMILY: Family = Family {
    name: REPLAY,
    part: [
        "Replay",
        "What each class of statements takes",
        "The times of all executions of a class are added up, and those of all classes add up to the whole; what each gains or loses is a \
         part of that. The largest change comes first. Whether a change is sure stands in the table above.",
    ],
    views: |evidence, _| views_of(evidence, REPLAY),
    ..FAMILY
};

/// Makes the tables of experiments with a workload's queries or classes of statements.
fn views_of(evidence: &Evidence, workload: &'static str) -> Vec<View> {
    let views: Vec<CaseView<'_>> =
        case_views(evidence).into_iter().filter(|view| is_of_workload(evidence, view, workload)).collect();
    if views.is_empty() {
        return Vec::new();
    }
    let index = Index::new(evidence);
    let mut tables: Vec<Table> = views.iter().flat_map(|view| system_tables(evidence, &index, view)).collect();
    tables.iter_mut().for_each(|table| table.family = workload);
    tables.into_iter().map(View::Table).collect()
}

/// Whether a case is of a workload.
fn is_of_workload(evidence: &Evidence, view: &CaseView<'_>, workload: &str) -> bool {
    let first = view.systems.first().and_then(|system| evidence.case(system.case));
    first.is_some_and(|case| case.workload == workload)
}

/// Makes a table for each system next to the baseline, or for the only one.
fn system_tables(evidence: &Evidence, index: &Index<'_>, view: &CaseView<'_>) -> Vec<Table> {
    let baseline = &evidence.header.plan.comparison.baseline;
    let Some(first) = view.systems.iter().find(|system| system.name == baseline).or(view.systems.first()) else {
        return Vec::new();
    };
    let metrics = index.metrics.get(view.benchmark).into_iter().flatten();
    let queries = metrics.filter_map(|metric| metric.id.strip_prefix(ELAPSED)).filter(|query| !is_all_queries(query));
    let queries: Vec<&str> = queries.collect();
    let others: Vec<&SystemCase<'_>> = view.systems.iter().filter(|system| system.case != first.case).collect();
    let mut tables: Vec<Table> =
        others.iter().map(|other| pair_table(evidence, index, &queries, [first, other])).collect();
    if others.is_empty() {
        tables.push(single_system_table(index, &queries, first));
    }
    tables.iter_mut().for_each(|table| table.case.clone_from(&view.title));
    tables
}

/// The mean time of a query over all runs, or why there is none.
fn query_time(index: &Index<'_>, system: &SystemCase<'_>, query: &str) -> Result<f64, NoValue> {
    mean_of_runs(index, system.case, &format!("{ELAPSED}{query}"))
}

/// Makes the entry of a time, or of why there is none.
fn time_entry(time: &Result<f64, NoValue>) -> Entry {
    Entry::from_reading(time.clone(), Form::Significant)
}

/// Makes the entry of a query's share of the time of all.
fn share_entry(time: &Result<f64, NoValue>, all: f64) -> Entry {
    Entry::from_reading(time.clone().map(|time| time / all), Form::Percent)
}

/// Makes the table of a single system's queries, the longest first.
fn single_system_table(index: &Index<'_>, queries: &[&str], system: &SystemCase<'_>) -> Table {
    let mut times: Vec<(&str, Result<f64, NoValue>)> =
        queries.iter().map(|query| (*query, query_time(index, system, query))).collect();
    let all: f64 = times.iter().filter_map(|(_, time)| time.as_ref().ok()).sum();
    times.sort_by(|(_, one), (_, other)| known_or_infinite(other).total_cmp(&known_or_infinite(one)));
    let rows = times.iter().map(|(query, time)| vec![Entry::of_text(*query), time_entry(time), share_entry(time, all)]);
    Table {
        title: system.name.to_owned(),
        columns: vec![Column::of_words("query"), Column::new("time, ms", "ms"), Column::new("share of all", "")],
        rows: rows.collect(),
        ..Table::default()
    }
}

/// A time to sort by, infinite if there is none.
fn known_or_infinite(time: &Result<f64, NoValue>) -> f64 {
    *time.as_ref().unwrap_or(&f64::INFINITY)
}

/// A query's times on both sides, and what is known of its plans.
struct Row<'a> {
    query: &'a str,
    times: [Result<f64, NoValue>; 2],
    plan_differs: Option<bool>,
}

impl Row<'_> {
    /// The times of both sides, if known.
    fn both_times(&self) -> Option<[f64; 2]> {
        let [a, b] = &self.times;
        Some([*a.as_ref().ok()?, *b.as_ref().ok()?])
    }

    /// The time that B takes longer than A; infinite where a side has no time.
    fn lost_time(&self) -> f64 {
        self.both_times().map_or(f64::INFINITY, |[a, b]| b - a)
    }

    /// Makes the entries of the query for the table's columns.
    fn entries(&self, sums: [f64; 2]) -> Vec<Entry> {
        let [a, b] = &self.times;
        let lost = self.both_times().map(|[a, b]| b - a);
        let plan = match self.plan_differs {
            Some(true) => "differs",
            Some(false) => "the same",
            None => "",
        };
        vec![
            Entry::of_text(self.query),
            time_entry(a),
            time_entry(b),
            Entry::from_value(lost, Form::Significant, "a side has no time"),
            share_entry(a, sums[0]),
            share_entry(b, sums[1]),
            Entry::of_text(plan),
        ]
    }
}

/// Makes the table of a system next to the baseline, the largest differences first.
fn pair_table(evidence: &Evidence, index: &Index<'_>, queries: &[&str], sides: [&SystemCase<'_>; 2]) -> Table {
    let mut rows: Vec<Row<'_>> = queries
        .iter()
        .map(|query| Row {
            query,
            times: sides.map(|side| query_time(index, side, query)),
            plan_differs: index.plans.plans_differ(evidence, ([sides[0].case].as_slice(), &[sides[1].case]), query),
        })
        .collect();
    rows.sort_by(|one, other| other.lost_time().abs().total_cmp(&one.lost_time().abs()));
    // Shares are of what both sides have.
    let sums = [0, 1].map(|side| rows.iter().filter_map(Row::both_times).map(|times| times[side]).sum::<f64>());
    let all = Row { query: "all", times: sums.map(Ok), plan_differs: None };
    let is_whole = rows.iter().all(|row| row.both_times().is_some());
    let entries = rows.iter().chain(is_whole.then_some(&all)).map(|row| row.entries(sums));
    let columns = [
        ("A", "time, ms", "ms"),
        ("B", "time, ms", "ms"),
        ("B − A", "time, ms", "ms"),
        ("A", "share of all", ""),
        ("B", "share of all", ""),
    ];
    let columns = columns.map(|(name, group, unit)| Column::new(name, unit).in_group(group));
    let mut table = Table {
        title: format!("A = {}, B = {}", sides[0].name, sides[1].name),
        columns: [Column::of_words("query")].into_iter().chain(columns).chain([Column::of_words("plan")]).collect(),
        rows: entries.collect(),
        ..Table::default()
    };
    // A replay reads no plans.
    if rows.iter().all(|row| row.plan_differs.is_none()) {
        table.columns.pop();
        table.rows.iter_mut().for_each(|row| _ = row.pop());
    }
    table
}
