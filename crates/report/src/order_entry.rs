//! Order entry: orders a minute, each transaction's response times against its limit, and what was checked.

use model::{Absence, NoValue};

use crate::comparison::{ComparisonSet, Index};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, views};
use crate::views::{Column, Entry, Family, Form, Table, View};

/// The workload whose cases are shown.
const WORKLOAD: &str = "order-entry";

/// What must be said wherever a result is.
const DERIVED: &str =
    "order entry is derived from the TPC-C specification and not comparable with published TPC results";

pub const FAMILY: Family = Family {
    name: WORKLOAD,
    judged: &["nopm", "response_p90_new-order"],
    part: [
        "Order entry",
        "Orders, responses and checks",
        "Derived from the TPC-C specification; not comparable with published TPC results. NOPM: new orders a minute, those that \
         are rolled back on purpose included.",
    ],
    footnote: "Derived from the TPC-C specification; not comparable with published TPC results. NOPM: new orders a minute. Means of \
               the runs.",
    views: order_views,
    compared: |_| Vec::new(),
};

/// Of the specification's mix, with the seconds within which 90 of 100 responses are to come (clause 5.2.5.3).
const TRANSACTIONS: [(&str, f64); 5] =
    [("new-order", 5.0), ("payment", 5.0), ("order-status", 5.0), ("delivery", 5.0), ("stock-level", 20.0)];

/// Metric, what it is, and what the specification lets it be (clauses 5.5.1.5 and 5.5.1.6).
const AUDITED: [(&str, &str, &str); 7] = [
    ("rolled_back", "New orders rolled back, %", "0.9 to 1.1"),
    ("lines_per_order", "Lines of an order", "9.5 to 10.5"),
    ("remote_lines", "Lines from another warehouse, %", "0.95 to 1.05"),
    ("remote_payments", "Payments at another warehouse, %", "14 to 16"),
    ("payments_by_name", "Payments by last name, %", "57 to 63"),
    ("order_status_by_name", "Order statuses by last name, %", "57 to 63"),
    ("skipped_deliveries", "Deliveries without an order, %", "at most 1"),
];

/// To be said of an experiment that has such cases.
pub fn origin(evidence: &Evidence) -> Option<&'static str> {
    evidence.cases.iter().any(|case| case.workload == WORKLOAD).then_some(DERIVED)
}

fn order_views(evidence: &Evidence, _set: Option<&ComparisonSet>) -> Vec<View> {
    let index = Index::new(evidence);
    let is_one = |view: &CaseView<'_>| {
        let first = view.systems.first().and_then(|system| evidence.case(system.case));
        first.is_some_and(|case| case.workload == WORKLOAD)
    };
    let of_points = views(evidence).into_iter().filter(is_one);
    of_points.flat_map(|view| [rates(&index, &view), responses(&index, &view), audit(&index, &view)]).collect()
}

/// The mean of the runs.
fn mean(index: &Index<'_>, system: &SystemCase<'_>, metric: &str) -> Result<f64, NoValue> {
    let points = index.of_all_runs(system.case, metric).map_err(|(why, _)| why)?;
    let sum: f64 = points.iter().map(|point| point.value).sum();
    match points.len() {
        0 => Err(Absence::Unavailable.because("no run was measured")),
        count => Ok(sum / count as f64),
    }
}

fn table(view: &CaseView<'_>, title: &str, columns: Vec<Column>, rows: Vec<Vec<Entry>>) -> View {
    View::Table(Table {
        family: WORKLOAD,
        case: view.title.clone(),
        title: format!("{title}, {}", view.title),
        columns,
        rows,
        ..Table::default()
    })
}

fn rates(index: &Index<'_>, view: &CaseView<'_>) -> View {
    let columns = vec![
        Column::words("system"),
        Column::new("NOPM", "NOPM"),
        Column::new("tx/s", "tx/s"),
        Column::new("tried again", "%"),
        Column::new("conditions", "").headed("conditions held"),
    ];
    let row = |system: &SystemCase<'_>| {
        let of = |metric: &str, form| Entry::of(mean(index, system, metric), form);
        vec![
            Entry::system(system.name, system.index),
            of("nopm", Form::Whole),
            of("throughput", Form::Significant),
            of("tried_again", Form::Significant),
            of("conditions_held", Form::Whole),
        ]
    };
    table(view, "New orders a minute", columns, view.systems.iter().map(row).collect())
}

fn responses(index: &Index<'_>, view: &CaseView<'_>) -> View {
    let columns = vec![
        Column::words("transaction"),
        Column::words("system"),
        Column::new("tx/s", "tx/s"),
        Column::new("p50", "us"),
        Column::new("p90", "us"),
        Column::new("p99", "us"),
        Column::new("p90 limit", "s"),
        Column::words("kept"),
    ];
    let rows = TRANSACTIONS.iter().flat_map(|(name, limit_s)| {
        view.systems.iter().map(move |system| {
            let of = |metric: &str, form| Entry::of(mean(index, system, &format!("{metric}_{name}")), form);
            let kept = match mean(index, system, &format!("limit_kept_{name}")) {
                Ok(share) if share >= 1.0 => Entry::text("yes"),
                Ok(_) => Entry::text("no"),
                Err(missing) => Entry { missing: Some(missing), ..Entry::default() },
            };
            vec![
                Entry::text(*name),
                Entry::system(system.name, system.index),
                of("throughput", Form::Significant),
                of("response_p50", Form::Scaled("us")),
                of("response_p90", Form::Scaled("us")),
                of("response_p99", Form::Scaled("us")),
                Entry::or(Some(*limit_s), Form::Fixed(0), ""),
                kept,
            ]
        })
    });
    table(view, "Response times by transaction", columns, rows.collect())
}

fn audit(index: &Index<'_>, view: &CaseView<'_>) -> View {
    let systems = view.systems.iter().map(|system| Column::new(system.name, ""));
    let columns =
        [Column::words("what was entered")].into_iter().chain(systems).chain([Column::words("specification")]);
    let rows = AUDITED.iter().map(|(metric, what, allowed)| {
        let values = view.systems.iter().map(|system| Entry::of(mean(index, system, metric), Form::Significant));
        [Entry::text(*what)].into_iter().chain(values).chain([Entry::text(*allowed)]).collect()
    });
    table(view, "What the terminals entered", columns.collect(), rows.collect())
}
