//! Order entry: orders a minute, each transaction's response times against its limit, and what was checked.

use model::facts::{ISOLATION, ISOLATION_ALLOWS};
use model::{Absence, Case, NoValue, Reading, RunState};

use crate::comparison::{ComparisonSet, Index};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, case_views};
use crate::views::{Column, Entry, Family, Form, Table, View};

/// The workload whose cases are shown.
pub(crate) const WORKLOAD: &str = "order-entry";

pub(crate) const CHECKPOINTS: &str = "checkpoints";

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
         are rolled back on purpose included. A short run may leave the allowed range of a share by chance.",
    ],
    footnote: "Derived from the TPC-C specification; not comparable with published TPC results. NOPM: new orders a minute. Means of \
               the runs.",
    views: order_entry_views,
    compared: |_| Vec::new(),
};

/// The transactions of the specification's mix, with the seconds within which 90 of 100 responses are to come (clause
/// 5.2.5.3).
const TRANSACTIONS: [(&str, f64); 5] =
    [("new-order", 5.0), ("payment", 5.0), ("order-status", 5.0), ("delivery", 5.0), ("stock-level", 20.0)];

/// What was entered, and what the specification lets it be (clauses 5.5.1.5 and 5.5.1.6).
struct Audited {
    metric: &'static str,
    what: &'static str,
    least: f64,
    most: f64,
    allowed: &'static str,
}

/// Makes the row of a share that the specification bounds.
const fn audited_share(metric: &'static str, what: &'static str, range: (f64, f64), allowed: &'static str) -> Audited {
    Audited { metric, what, least: range.0, most: range.1, allowed }
}

const AUDITED: [Audited; 7] = [
    audited_share("rolled_back", "New orders rolled back, %", (0.9, 1.1), "0.9 to 1.1"),
    audited_share("lines_per_order", "Lines of an order", (9.5, 10.5), "9.5 to 10.5"),
    audited_share("remote_lines", "Lines from another warehouse, %", (0.95, 1.05), "0.95 to 1.05"),
    audited_share("remote_payments", "Payments at another warehouse, %", (14.0, 16.0), "14 to 16"),
    audited_share("payments_by_name", "Payments by last name, %", (57.0, 63.0), "57 to 63"),
    audited_share("order_status_by_name", "Order statuses by last name, %", (57.0, 63.0), "57 to 63"),
    audited_share("skipped_deliveries", "Deliveries without an order, %", (0.0, 1.0), "at most 1"),
];

/// Says where the workload comes from, for experiments that have such cases; `None` for others.
pub fn workload_origin(evidence: &Evidence) -> Option<&'static str> {
    evidence.cases.iter().any(|case| case.workload == WORKLOAD).then_some(DERIVED)
}

/// What order entry does where a level lets transactions disturb each other.
const LOCKED_BEFORE_USE: &str =
    "order entry changes or locks a row before it computes from it, so that no update is lost by that";

/// What the strictest level allows, as the systems say it.
const NOTHING: &str = "no anomaly";

/// Names the systems that order entry ran on, in the plan's order.
fn systems_of_workload(evidence: &Evidence) -> Vec<&str> {
    evidence
        .header
        .plan
        .systems
        .iter()
        .map(|system| system.name.as_str())
        .filter(|name| evidence.cases.iter().any(|case| case.workload == WORKLOAD && case.system == **name))
        .collect()
}

/// Says what each isolation level allows, as the systems reported it, and whether the sides have the same one.
pub fn isolation_sentences(evidence: &Evidence) -> Vec<String> {
    let levels: Vec<(&str, &str, Option<&str>)> = systems_of_workload(evidence)
        .into_iter()
        .filter_map(|name| {
            let facts = evidence.facts_of(name)?;
            Some((name, facts.get(ISOLATION)?, facts.get(ISOLATION_ALLOWS)))
        })
        .collect();
    let mut groups: Vec<(Vec<&str>, &str, Option<&str>)> = Vec::new();
    for (name, level, allows) in levels {
        match groups.iter_mut().find(|(_, other, also)| (*other, *also) == (level, allows)) {
            Some((names, _, _)) => names.push(name),
            None => groups.push((vec![name], level, allows)),
        }
    }
    if groups.is_empty() {
        return Vec::new();
    }
    let said: Vec<String> = groups
        .iter()
        .map(|(names, level, allows)| {
            let allows = allows.unwrap_or("what étalon does not know");
            format!("{level} on {}, which allows {allows}", names.join(", "))
        })
        .collect();
    let known: Vec<&str> = groups
        .iter()
        .filter(|(.., allows)| allows.is_some_and(|allows| allows != NOTHING))
        .map(|(_, level, _)| *level)
        .collect();
    let held = match known.len() {
        0 => String::new(),
        some if some == groups.len() => format!("; {LOCKED_BEFORE_USE}"),
        _ => format!("; at {} {LOCKED_BEFORE_USE}", known.join(", ")),
    };
    let mut notes = vec![format!("isolation: {}{held}", said.join("; "))];
    let mut levels: Vec<&str> = groups.iter().map(|(_, level, _)| *level).collect();
    levels.dedup();
    if levels.len() > 1 {
        let sides: Vec<String> =
            groups.iter().map(|(names, level, _)| format!("{} {level}", names.join(", "))).collect();
        notes.push(format!(
            "the sides isolate transactions at different levels ({}): what one pays for, the other need not promise",
            sides.join("; ")
        ));
    }
    notes
}

/// Says in how many runs each system made checkpoints while it was loaded, and how many; `None` if none was asked.
/// What several systems have in common is stated once.
pub fn checkpoint_sentence(evidence: &Evidence) -> Option<String> {
    let mut said: Vec<(Vec<&str>, String)> = Vec::new();
    for name in systems_of_workload(evidence) {
        let Some(text) = checkpoints_of_system(evidence, name) else { continue };
        match said.iter_mut().find(|(_, other)| *other == text) {
            Some((names, _)) => names.push(name),
            None => said.push((vec![name], text)),
        }
    }
    let said: Vec<String> = said.iter().map(|(names, text)| format!("{} {text}", names.join(", "))).collect();
    (!said.is_empty()).then(|| format!("checkpoints while loaded, warm-up included: {}", said.join("; ")))
}

/// A bound of the specification on a kind's share of the mix, in percent (clause 5.2.3).
#[derive(Clone, Copy)]
enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    /// Writes the bound to stand next to a share, and whether it is missed.
    /// Each run's own check keeps its mix to the bounds but for chance, and fails the run otherwise.
    fn bound_text(self, share: f64) -> String {
        let (text, is_kept) = match self {
            Bound::AtMost(most) => (format!("at most {most}"), share <= most),
            Bound::AtLeast(least) => (format!("at least {least}"), share >= least),
        };
        let chance = if is_kept { "" } else { ", missed no further than chance explains" };
        format!(" ({text}{chance})")
    }
}

/// Bounds on the shares of the transactions that committed.
const MIX: [(&str, Bound); 5] = [
    ("new-order", Bound::AtMost(45.0)),
    ("payment", Bound::AtLeast(43.0)),
    ("order-status", Bound::AtLeast(4.0)),
    ("delivery", Bound::AtLeast(4.0)),
    ("stock-level", Bound::AtLeast(4.0)),
];

/// Says in how many runs of each system the tables kept every condition and claim, with the mix next to its bounds.
/// Systems with the same text share a sentence.
pub fn check_sentences(evidence: &Evidence) -> Vec<String> {
    let mut texts: Vec<(Vec<&str>, String)> = Vec::new();
    for name in systems_of_workload(evidence) {
        let Some(text) = checks_of_system(evidence, name) else { continue };
        match texts.iter_mut().find(|(_, other)| *other == text) {
            Some((names, _)) => names.push(name),
            None => texts.push((vec![name], text)),
        }
    }
    texts.into_iter().map(|(names, text)| format!("order entry on {}: {text}", names.join(", "))).collect()
}

/// Says how many conditions and claims were kept in each of a system's runs at least, and its mix; `None` if unknown.
fn checks_of_system(evidence: &Evidence, system: &str) -> Option<String> {
    let rows: Vec<_> =
        evidence.measurements.iter().filter(|row| belongs_to_system(evidence, row.case, system)).collect();
    let values = |metric: &str| -> Vec<f64> {
        let of_metric = rows.iter().filter(|row| row.measurement.metric.id == metric);
        of_metric.filter_map(|row| row.measurement.reading.value()).collect()
    };
    let (conditions, claims) = (values("conditions_held"), values("claims_held"));
    let (fewest_conditions, fewest_claims) = (smallest(&conditions)?, smallest(&claims)?);
    let runs = evidence.last_attempts().into_iter().filter(|run| belongs_to_system(evidence, run.planned.case, system));
    let ended = runs.filter(|run| run.state == RunState::Measured || evidence.has_failed(run)).count();
    let rates: Vec<f64> = MIX.iter().map(|(kind, _)| values(&format!("throughput_{kind}")).iter().sum()).collect();
    let all: f64 = rates.iter().sum();
    let mut text = format!(
        "{fewest_conditions} conditions and {fewest_claims} claims held in {} of {ended} runs",
        conditions.len().min(ended)
    );
    if all > 0.0 {
        let is_own = cases_of_system(evidence, system).any(|case| case.point.keys().any(|key| key.starts_with("mix.")));
        let shares = MIX.iter().zip(rates).map(|((kind, bound), rate)| {
            let share = 100.0 * rate / all;
            let bound = if is_own { String::new() } else { bound.bound_text(share) };
            format!("{share:.1} % {kind}{bound}")
        });
        text.push_str(&format!("; mix: {}", shares.collect::<Vec<_>>().join(", ")));
    }
    Some(text)
}

/// The smallest of some counts.
fn smallest(counts: &[f64]) -> Option<f64> {
    counts.iter().copied().reduce(f64::min)
}

/// Whether a case is of order entry on a system.
fn belongs_to_system(evidence: &Evidence, case: u32, system: &str) -> bool {
    evidence.case(case).is_some_and(|case| case.workload == WORKLOAD && case.system == system)
}

/// Lists the cases of order entry on a system.
fn cases_of_system<'e>(evidence: &'e Evidence, system: &str) -> impl Iterator<Item = &'e Case> {
    evidence.cases.iter().filter(move |case| case.workload == WORKLOAD && case.system == system)
}

/// Says in how many of a system's runs there were checkpoints, and the most in one; `None` if none was asked.
fn checkpoints_of_system(evidence: &Evidence, system: &str) -> Option<String> {
    let rows = evidence.measurements.iter().filter(|row| belongs_to_system(evidence, row.case, system));
    let rows = rows.filter(|row| row.measurement.metric.id == CHECKPOINTS);
    let readings: Vec<&Reading> = rows.map(|row| &row.measurement.reading).collect();
    let counts: Vec<f64> = readings.iter().filter_map(|reading| reading.value()).collect();
    let most = counts.iter().copied().fold(0.0, f64::max);
    match readings.first()? {
        Reading::Unavailable(reason) if counts.is_empty() => Some(format!("not known: {reason}")),
        _ => {
            let with = counts.iter().filter(|count| **count > 0.0).count();
            let many = if with > 0 { format!(", {most} at most") } else { String::new() };
            Some(format!("in {with} of {} runs{many}", counts.len()))
        }
    }
}

/// Makes the tables of each order entry case: rates, response times, and what was entered.
fn order_entry_views(evidence: &Evidence, _set: Option<&ComparisonSet>) -> Vec<View> {
    let index = Index::new(evidence);
    let of_points = case_views(evidence).into_iter().filter(|view| {
        let first = view.systems.first().and_then(|system| evidence.case(system.case));
        first.is_some_and(|case| case.workload == WORKLOAD)
    });
    of_points
        .flat_map(|view| [rates_table(&index, &view), responses_table(&index, &view), audit_table(&index, &view)])
        .collect()
}

/// The mean of a metric over all runs of a case, geometric where that exists, as in the results, or why there is none.
fn mean_of_runs(index: &Index<'_>, system: &SystemCase<'_>, metric: &str) -> Result<f64, NoValue> {
    let points = index.values_of_all_runs(system.case, metric).map_err(|(why, _)| why)?;
    let values: Vec<f64> = points.iter().map(|point| point.value).collect();
    let count = points.len() as f64;
    match points.is_empty() {
        true => Err(Absence::Unavailable.with_reason("no run was measured")),
        false if values.iter().copied().all(|value| value > 0.0) => {
            Ok((values.iter().copied().map(f64::ln).sum::<f64>() / count).exp())
        }
        false => Ok(values.iter().copied().sum::<f64>() / count),
    }
}

/// Makes a table of a case as a view.
fn make_table(view: &CaseView<'_>, title: &str, columns: Vec<Column>, rows: Vec<Vec<Entry>>) -> View {
    View::Table(Table {
        family: WORKLOAD,
        case: view.title.clone(),
        title: format!("{title}, {}", view.title),
        columns,
        rows,
        ..Table::default()
    })
}

/// Makes the table of new orders a minute, other rates, retries and conditions.
fn rates_table(index: &Index<'_>, view: &CaseView<'_>) -> View {
    let is_paced = view.systems.iter().any(|system| mean_of_runs(index, system, "efficiency").is_ok());
    let mut columns = vec![
        Column::of_words("system"),
        Column::new("NOPM", "NOPM"),
        Column::new("tx/s", "tx/s"),
        Column::new("tried again", "%"),
        Column::new("conditions", "").with_head("conditions held after a run"),
    ];
    if is_paced {
        columns.insert(2, Column::new("efficiency", "%"));
    }
    make_table(
        view,
        "New orders a minute",
        columns,
        view.systems
            .iter()
            .map(|system| {
                let of = |metric: &str, form| Entry::from_reading(mean_of_runs(index, system, metric), form);
                let mut entries = vec![
                    Entry::of_system(system.name, system.index),
                    of("nopm", Form::Whole),
                    of("throughput", Form::Significant),
                    of("tried_again", Form::Significant),
                    of("conditions_held", Form::Whole),
                ];
                if is_paced {
                    entries.insert(2, of("efficiency", Form::Significant));
                }
                entries
            })
            .collect(),
    )
}

/// Makes the table of response times by transaction, each next to its limit.
fn responses_table(index: &Index<'_>, view: &CaseView<'_>) -> View {
    let columns = vec![
        Column::of_words("transaction"),
        Column::of_words("system"),
        Column::new("tx/s", "tx/s"),
        Column::new("p50", "us"),
        Column::new("p90", "us"),
        Column::new("p99", "us"),
        Column::new("p90 limit", ""),
        Column::of_words("kept"),
    ];
    let rows = TRANSACTIONS.iter().flat_map(|(name, limit_s)| {
        view.systems.iter().map(move |system| {
            let of = |metric: &str, form| {
                Entry::from_reading(mean_of_runs(index, system, &format!("{metric}_{name}")), form)
            };
            let kept = match mean_of_runs(index, system, &format!("limit_kept_{name}")) {
                Ok(share) if share >= 1.0 => Entry::of_text("yes"),
                Ok(_) => Entry::of_text("no"),
                Err(missing) => Entry { missing: Some(missing), ..Entry::default() },
            };
            vec![
                Entry::of_text(*name),
                Entry::of_system(system.name, system.index),
                of("throughput", Form::Significant),
                of("response_p50", Form::Scaled("us")),
                of("response_p90", Form::Scaled("us")),
                of("response_p99", Form::Scaled("us")),
                Entry::of_text(format!("{limit_s} s")),
                kept,
            ]
        })
    });
    make_table(view, "Response times by transaction", columns, rows.collect())
}

/// Makes the table of shares entered, each next to what the specification allows.
fn audit_table(index: &Index<'_>, view: &CaseView<'_>) -> View {
    let systems = view.systems.iter().flat_map(|system| {
        [Column::new("entered", "").in_group(system.name), Column::of_words("within").in_group(system.name)]
    });
    let columns = [Column::of_words("what was entered")]
        .into_iter()
        .chain(systems)
        .chain([Column::of_words("specification").with_head("allowed")]);
    let rows = AUDITED.iter().map(|Audited { metric, what, least, most, allowed }| {
        let values = view.systems.iter().flat_map(|system| {
            let entered = mean_of_runs(index, system, metric);
            let within = match &entered {
                Ok(share) if (*least..=*most).contains(share) => Entry::of_text("yes"),
                Ok(_) => Entry::of_text("no"),
                // The value next to it says why.
                Err(_) => Entry::of_text("–"),
            };
            [Entry::from_reading(entered, Form::Significant), within]
        });
        [Entry::of_text(*what)].into_iter().chain(values).chain([Entry::of_text(*allowed)]).collect()
    });
    make_table(view, "What the terminals entered", columns.collect(), rows.collect())
}
