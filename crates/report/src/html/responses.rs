//! Response times in the published form: executions, errors, extremes, mean, median, and executions within limits of
//! attention (Nielsen, *Usability Engineering*, 1993: 0.1 s is instant, 1 s keeps the thought, 10 s the attention; the
//! published test gave the database 5 of those 10).

use std::cell::OnceCell;

use maud::{Markup, html};

use super::cases::{CaseView, SystemCase, case_views};
use super::{ReportError, load};
use crate::comparison::{Index, why_choice_unfair};
use crate::evidence::{Evidence, SeriesSource};
use crate::latency::Latency;
use crate::lookup::{positions_by_key, positions_of_keys};
use crate::number::{RowUnit, Script, significant_digits, whole_number};
use crate::views::{Bar, BarGroup, Bars, Entry, Form};

/// Prefixes of counts beyond and below a limit.
const LIMITS: [&str; 2] = ["over_", "below_"];

struct Column {
    system: String,
    index: usize,
    runs: usize,
    /// Runs that failed: what the others did is not all of it.
    failed: usize,
    executions: u64,
    errors: u64,
    /// Shortest, longest, mean and median.
    times_us: [Option<f64>; 4],
    /// The times are of single executions, not of a histogram.
    is_exact: bool,
    /// Executions within each limit.
    within: Vec<Option<u64>>,
}

/// Which number is the better one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Better {
    Lower,
    Higher,
    Neither,
}

/// Makes the tables of all cases that count their responses by limits; `None` if there are none.
pub fn responses_section(index: &Index<'_>, source: &dyn SeriesSource) -> Result<Option<Markup>, ReportError> {
    let evidence = index.lookup.evidence();
    let of_cases = OnceCell::new();
    let mut parts = Vec::new();
    for (number, view) in case_views(evidence).iter().enumerate() {
        let cases: Vec<u32> = view.systems.iter().map(|system| system.case).collect();
        if !has_tasks(index, &cases) {
            continue;
        }
        let limits = find_limits(
            evidence,
            &positions_of_keys(
                of_cases.get_or_init(|| positions_by_key(evidence.measurements.iter().map(|stored| stored.case))),
                &cases,
            ),
        );
        if limits.is_empty() {
            continue;
        }
        let columns = view
            .systems
            .iter()
            .map(|system| system_column(index, source, system, &limits))
            .collect::<Result<Vec<_>, ReportError>>()?;
        let columns: Vec<Column> = columns.into_iter().filter(|column| column.runs > 0).collect();
        if !columns.is_empty() {
            let unfair = why_choice_unfair(evidence, index, &cases);
            parts.push(html! {
                h3 dir="auto" { (view.title) }
                div.grid { div { (responses_table(&limits, &columns, unfair.as_deref())) } (share_bars(view, &limits, &columns, number)) }
            });
        }
    }
    Ok((!parts.is_empty()).then(|| html! { @for part in &parts { (part) } }))
}

/// Whether a case has tasks that people wait for, as the published ones: a number of tasks, or a task log.
/// Limits say nothing of closed
/// loops.
fn has_tasks(index: &Index<'_>, cases: &[u32]) -> bool {
    let Some(case) = cases.first().and_then(|case| index.lookup.evidence().case(*case)) else { return false };
    case.point.get("tasks").and_then(model::Value::as_int).is_some_and(|tasks| tasks > 0)
        || cases.iter().any(|case| index.metrics_of(*case).any(|metric| metric.starts_with(LIMITS[1])))
}

/// Finds the limits that metrics count by, in ms with the metric's name, the shortest first.
fn find_limits(evidence: &Evidence, measurements: &[usize]) -> Vec<(u64, String)> {
    let mut found: Vec<(u64, String)> = Vec::new();
    for stored in measurements.iter().map(|place| &evidence.measurements[*place]) {
        let id = &stored.measurement.metric.id;
        let limit = LIMITS.iter().find_map(|prefix| id.strip_prefix(prefix)).and_then(parse_ms);
        if let Some(limit) = limit
            && !found.iter().any(|(known, _)| *known == limit)
        {
            found.push((limit, id.clone()));
        }
    }
    found.sort_unstable();
    found
}

/// Parses a length of time such as `100ms`, `5s` or `1m` to milliseconds.
fn parse_ms(text: &str) -> Option<u64> {
    let duration = model::duration::parse(text).ok()?;
    u64::try_from(duration.as_millis()).ok()
}

/// Makes the column of a system: its executions, response times and shares within limits.
fn system_column(
    index: &Index<'_>,
    source: &dyn SeriesSource,
    system: &SystemCase<'_>,
    limits: &[(u64, String)],
) -> Result<Column, ReportError> {
    let merged = load::case_latency(&index.lookup, source, system.case)?.whole;
    let errors = sum_of_runs(index, system, "errors").unwrap_or(0);
    let stated = sum_of_runs(index, system, "executions");
    let succeeded =
        stated.map(|all| all.saturating_sub(errors)).or_else(|| merged.as_ref().map(|all| all.succeeded().len()));
    let succeeded = succeeded.unwrap_or(0);
    let within = limits.iter().map(|(_, id)| {
        let counted = sum_of_runs(index, system, id)?;
        // Failures are beyond every limit.
        Some(if id.starts_with(LIMITS[0]) { (succeeded + errors).saturating_sub(counted) } else { counted })
    });
    let us = |ns: fn(&Latency) -> Option<f64>| merged.as_ref().and_then(|all| Some(ns(all)? / 1e3));
    let times_us = [
        only_value(index, system, "response_min")
            .or_else(|| us(|all| has_succeeded(all).then(|| all.succeeded().min() as f64))),
        only_value(index, system, "response_max").or_else(|| us(Latency::longest_ns)),
        only_value(index, system, "response_mean")
            .or_else(|| us(|all| has_succeeded(all).then(|| all.succeeded().mean()))),
        only_value(index, system, "response_p50").or_else(|| us(|all| all.quantile_ns_or_none(0.5))),
    ];
    Ok(Column {
        system: system.name.to_owned(),
        index: system.index,
        runs: index.lookup.measured_runs(&[system.case]).len(),
        failed: index.lookup.failed_runs(system.case),
        executions: succeeded + errors,
        errors,
        times_us,
        is_exact: stated.is_some() && only_value(index, system, "response_p50").is_some(),
        within: within.collect(),
    })
}

/// A metric's value, if exactly one run has one.
fn only_value(index: &Index<'_>, system: &SystemCase<'_>, id: &str) -> Option<f64> {
    match values_of(index, system, id).as_slice() {
        [value] => Some(*value),
        _ => None,
    }
}

/// A metric's sum over the runs; `None` without values.
fn sum_of_runs(index: &Index<'_>, system: &SystemCase<'_>, id: &str) -> Option<u64> {
    let all = values_of(index, system, id);
    (!all.is_empty()).then(|| all.iter().sum::<f64>() as u64)
}

/// A metric's values, run by run.
fn values_of(index: &Index<'_>, system: &SystemCase<'_>, id: &str) -> Vec<f64> {
    index.points_of_cases(&[system.case], id).iter().map(|point| point.value).collect()
}

/// Whether any operation succeeded.
fn has_succeeded(all: &Latency) -> bool {
    !all.succeeded().is_empty()
}

/// Writes a time of a column with its unit, or `n/a`.
fn time_text(column: &Column, at: usize) -> String {
    let Some(us) = column.times_us[at] else { return "n/a".to_owned() };
    // Exact, for comparison with published values.
    if column.is_exact {
        return format!("{:.7} s", us / 1e6);
    }
    let unit = RowUnit::new("us", [us]);
    format!("{} {}", unit.print(us, Script::Typographic), unit.unit_name())
}

/// Writes a limit in seconds.
fn limit_text(limit_ms: u64) -> String {
    format!("{} s", significant_digits(limit_ms as f64 / 1e3, 1, Script::Typographic))
}

/// The share of executions within a limit; `None` if they were not counted.
fn share_within(column: &Column, at: usize) -> Option<f64> {
    let within = column.within.get(at).copied().flatten()?;
    (column.executions > 0).then(|| within as f64 / column.executions as f64)
}

/// Makes the table of executions, errors, times and shares within limits, with winners unless that is unfair.
fn responses_table(limits: &[(u64, String)], columns: &[Column], unfair: Option<&str>) -> Markup {
    let several = columns.len() > 1;
    html! {
        @let row = |name: &str, better, value: &dyn Fn(&Column) -> Option<f64>, said: &dyn Fn(&Column) -> String| {
            table_row(name, columns, if unfair.is_some() { None } else { Some(better) }, value, said)
        };
        div.scroll { table.disk {
            thead { tr {
                th scope="col" { "" }
                @for column in columns { th.num scope="col" { bdi { (column.system) } } }
                @if several { th scope="col" { "winner" } }
            } }
            tbody {
                (row("executions", Better::Neither, &|c| Some(c.executions as f64), &|c| count_text(c.executions)))
                (row("errors", Better::Lower, &|c| Some(c.errors as f64), &|c| count_text(c.errors)))
                @for (at, name) in ["shortest", "longest", "mean", "median"].into_iter().enumerate() {
                    (row(name, Better::Lower, &|c| c.times_us[at], &|c| time_text(c, at)))
                }
                @for (at, (limit_ms, _)) in limits.iter().enumerate() {
                    (row(
                        &format!("within {}", limit_text(*limit_ms)),
                        Better::Higher,
                        &|c| share_within(c, at),
                        &|c| within_text(c, at),
                    ))
                }
            }
        } }
        @if let Some(why) = unfair { p.note { "No winners: " bdi { (why) } "." } }
        (runs_note(columns))
    }
}

/// Writes a number with its digits in groups.
fn count_text(n: u64) -> String {
    whole_number(n, Script::Typographic)
}

/// Writes number and share of executions within a limit, or `n/a`.
fn within_text(column: &Column, at: usize) -> String {
    let Some(within) = column.within.get(at).copied().flatten() else { return "n/a".to_owned() };
    share_within(column, at)
        .map_or_else(|| count_text(within), |share| format!("{} ({:.2} %)", count_text(within), share * 100.0))
}

/// Makes a row with the value of each column, and the winner.
fn table_row(
    name: &str,
    columns: &[Column],
    better: Option<Better>,
    value: impl Fn(&Column) -> Option<f64>,
    said: impl Fn(&Column) -> String,
) -> Markup {
    html! {
        tr {
            th scope="row" { (name) }
            @for column in columns { td.num data-l=(column.system) { (said(column)) } }
            @if columns.len() > 1 { td data-l="winner" { bdi { (better.map_or_else(|| "n/a".to_owned(), |better| winners(columns, better, value))) } } }
        }
    }
}

/// Names the columns with the best value, several if they tie; `n/a` if a value is missing or a run failed.
fn winners(columns: &[Column], better: Better, value: impl Fn(&Column) -> Option<f64>) -> String {
    if columns.iter().any(|column| column.failed > 0) {
        return "n/a".to_owned();
    }
    let Some(values) = columns.iter().map(value).collect::<Option<Vec<f64>>>() else {
        return "n/a".to_owned();
    };
    let best = match better {
        Better::Higher => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        Better::Lower | Better::Neither => values.iter().copied().fold(f64::INFINITY, f64::min),
    };
    if values.iter().all(|value| *value == best) {
        return if columns.len() == 2 { "both".to_owned() } else { "all".to_owned() };
    }
    if better == Better::Neither {
        return "–".to_owned();
    }
    let names = columns.iter().zip(&values).filter(|(_, value)| **value == best).map(|(column, _)| &*column.system);
    names.collect::<Vec<_>>().join(", ")
}

/// Explains how runs were added up, and what the times, shares and winners are.
fn runs_note(columns: &[Column]) -> Markup {
    let of = columns.iter().map(|column| column.runs).max().unwrap_or(0);
    html! {
        p.note {
            @if of > 1 { "All executions of " (of) " runs together: counts are sums, times are of the merged histograms, which have three digits. " }
            @else if columns.iter().any(|column| !column.is_exact) { "Times are of a histogram with three digits. " }
            "Shares are of all executions, so that one that failed was not in time. The median is of all executions, too; shortest \
             and mean are of those that succeeded, and nobody knows the longest where one failed. "
            @if columns.len() > 1 {
                "A winner has the better number, by however little and of however few runs: whether that is more than chance \
                 is said by the verdicts above."
            }
        }
    }
}

/// Draws the bars of the shares within limits.
fn share_bars(view: &CaseView<'_>, limits: &[(u64, String)], columns: &[Column], number: usize) -> Markup {
    let groups = limits.iter().enumerate().map(|(at, (limit_ms, _))| {
        let bars = columns.iter().map(|column| share_bar(column, at)).collect();
        BarGroup { name: format!("within {}", limit_text(*limit_ms)), bars }
    });
    super::bars::render_bars(&Bars {
        family: "transactions",
        title: format!("{}: executions within the limits", view.title),
        id: format!("limits-{number}"),
        unit: "% of all executions".to_owned(),
        groups: groups.collect(),
    })
}

/// Makes the bar of a column's share within a limit.
fn share_bar(column: &Column, at: usize) -> Bar {
    let share = share_within(column, at).map(|share| share * 100.0);
    let entry = Entry::from_value(share, Form::Hundredths, "executions were not counted");
    Bar { index: column.index, name: column.system.clone(), entry, highest_run: None }
}
