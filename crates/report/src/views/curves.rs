//! The views of what is swept: clients, and the depth of disks.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Bar, BarGroup, Bars, Column, Entry, Form, Table, TablePlacement, View};
use crate::comparison::{ComparisonSet, CurveGroup, CurvePoint, KNEE_SHARE, Knee, SystemCurve};
use crate::labels::{latency_of, metric_name, one_look_clause, rate_words};
use crate::number::{RowUnit, Script, percent_text, significant_digits};
use crate::text::{Align, clipped_apart};

/// A rate over a key that is swept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// The workload that it is of.
    pub family: &'static str,
    /// What it shows.
    pub title: String,
    /// The key: `clients` or `depth`.
    pub key: &'static str,
    /// The unit of the rate.
    pub unit: String,
    /// What is shown of the latency: `p99` or `mean latency`, with its unit; empty if nothing is.
    pub latency: String,
    /// One for each system.
    pub lines: Vec<CurveLine>,
    /// Unique in a page.
    #[serde(skip)]
    pub id: String,
}

/// A system's rates.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CurveLine {
    /// The system.
    pub system: String,
    /// The points from the smallest place to the largest.
    pub points: Vec<CurveDot>,
    /// The smallest place with 95 % of the highest mean; null of clients, where it is not reached, or not known.
    pub knee: Option<i64>,
    /// Whether the means are known well enough to show where the knee is.
    pub knee_is_sure: bool,
    #[serde(skip)]
    pub index: usize,
}

/// What the runs of one place gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CurveDot {
    /// The key's value.
    pub at: i64,
    /// The mean of the runs with its half width, or why there is none; the text says why it supports nothing.
    #[serde(flatten)]
    pub mean: Entry,
    /// The highest run.
    pub highest: Option<f64>,
    /// How many runs.
    pub runs: usize,
    /// The latency there.
    pub latency: Option<f64>,
    /// The latency with its unit, as it is printed.
    #[serde(skip)]
    pub latency_text: String,
}

/// Makes the entry of a point's mean with its interval; no rate is scaled, so that a group has one unit.
fn mean_entry(point: &CurvePoint) -> Entry {
    let mean = point.mean().ok_or_else(|| point.rate.missing_reason());
    let entry = Entry::from_reading(mean, Form::Significant).with_half_width(point.rate.half_width);
    let text = point.void.as_ref().map(|void| format!("({})", void.reason_text()));
    Entry {
        interval: point.interval().map(<[f64; 2]>::from),
        text: text.unwrap_or_default(),
        bound: point.rate.bound,
        ..entry
    }
}

/// The latency of a point, and its text.
fn latency_of_point(group: &CurveGroup, point: &CurvePoint) -> (Option<f64>, String) {
    let (pick, name) = latency_of(group);
    let Some((metric, value)) = pick(point) else { return (None, format!("n/a {name}")) };
    let unit = RowUnit::new(&metric.unit, [value]);
    (Some(value), format!("{} {} {name}", unit.print(value, Script::Plain), unit.unit_name()))
}

/// Makes the entry of a point's latency, or of why there is none.
fn latency_entry(group: &CurveGroup, point: &CurvePoint) -> Entry {
    let (value, text) = latency_of_point(group, point);
    if value.is_none() {
        return Entry::from_reading(Err(point.rate.missing_reason()), Form::Significant);
    }
    Entry { value, form: Form::Latency, text, ..Entry::default() }
}

/// Writes the latency's name and stored unit: `p99, us`; empty without any.
fn latency_words(group: &CurveGroup) -> String {
    let (pick, name) = latency_of(group);
    group.points().find_map(pick).map_or_else(String::new, |(metric, _)| format!("{name}, {}", metric.unit))
}

/// Makes the view of a group's curves.
fn curve_view(group: &CurveGroup, family: &'static str, title: String, id: String) -> View {
    let (unit, latency) = (rate_words(&group.metric).to_owned(), latency_words(group));
    View::Curve(Curve {
        family,
        title,
        key: group.key,
        unit,
        latency,
        lines: group
            .curves
            .iter()
            .map(|curve| CurveLine {
                system: curve.system.clone(),
                index: curve.index,
                points: curve
                    .points
                    .iter()
                    .map(|point| {
                        let (latency, latency_text) = latency_of_point(group, point);
                        let highest = point.rate.summary.map(|summary| summary.max);
                        CurveDot {
                            at: point.at,
                            mean: mean_entry(point),
                            highest,
                            runs: point.rate.runs.len(),
                            latency,
                            latency_text,
                        }
                    })
                    .collect(),
                knee: match curve.knee() {
                    Knee::At(point) if group.key == "depth" => Some(point.at),
                    _ => None,
                },
                knee_is_sure: group.key == "depth" && curve.knee_is_sure(),
            })
            .collect(),
        id,
    })
}

const DISK: &str = "disk";
const TRANSACTIONS: &str = "transactions";

/// Makes the views of disks: the two published charts, tables of what they hide, and curves.
pub fn disk_views(set: &ComparisonSet) -> Vec<View> {
    if set.disk.is_empty() {
        return Vec::new();
    }
    let mut views: Vec<View> = ["iops", "bandwidth"].into_iter().filter_map(|metric| best_bars(set, metric)).collect();
    views.push(View::Table(hidden_table(set)));
    views.extend(set.disk.iter().map(|group| View::Table(depths_table(group))));
    let curves = set.disk.iter().enumerate();
    views.extend(curves.map(|(number, group)| curve_view(group, DISK, group.label.clone(), format!("depth-{number}"))));
    views
}

/// Makes the bars of each group's best value, the published chart; `None` without groups of this metric.
fn best_bars(set: &ComparisonSet, metric: &str) -> Option<View> {
    let groups: Vec<&CurveGroup> = set.disk.iter().filter(|group| group.metric.id == metric).collect();
    let first = groups.first()?;
    Some(View::Bars(Bars {
        family: DISK,
        title: format!("Best of each group, {}", rate_words(&first.metric)),
        unit: format!("{}: means at the best depth", rate_words(&first.metric)),
        groups: groups
            .iter()
            .map(|group| BarGroup {
                name: group.label.clone(),
                bars: group
                    .curves
                    .iter()
                    .map(|curve| {
                        let best = curve.peak();
                        let entry = Entry::from_reading(
                            best.map(|(_, value)| value).ok_or_else(|| curve.missing_reason()),
                            Form::Significant,
                        );
                        let interval = best.and_then(|(point, _)| point.interval()).map(<[f64; 2]>::from);
                        let highest_run = match best {
                            Some((point, _)) if point.rate.runs.len() > 1 => curve.best().map(|(_, value)| value),
                            _ => None,
                        };
                        let published = highest_run
                            .map(|value| format!("; highest run {}", significant_digits(value, 3, Script::Plain)))
                            .unwrap_or_default();
                        let text =
                            best.map(|(point, _)| format!("at depth {}{published}", point.at)).unwrap_or_default();
                        Bar {
                            name: curve.system.clone(),
                            index: curve.index,
                            entry: Entry { text, interval, ..entry },
                            highest_run,
                        }
                    })
                    .collect(),
            })
            .collect(),
        id: format!("disk-{metric}"),
    }))
}

/// Makes the table of what the best hides: the highest run, and mean, rate and latency at the knee.
fn hidden_table(set: &ComparisonSet) -> Table {
    let best = ["highest run", "mean there", "depth"].map(|head| Column::new(head, "").in_group("best"));
    let knee = ["depth", "mean there", "latency there"].map(|head| Column::new(head, "").in_group("knee"));
    let words = ["group", "system"].map(Column::of_words);
    Table {
        family: DISK,
        title: "What the best of a group hides".to_owned(),
        columns: words
            .into_iter()
            .chain(best)
            .chain(knee)
            .chain(["unit", "latency"].map(|one| Column::of_words(one).hidden()))
            .collect(),
        rows: set
            .disk
            .iter()
            .flat_map(|group| group.curves.iter().map(move |curve| hidden_row(group, curve)))
            .collect(),
        notes: vec![format!(
            "Latency there: the mean of the runs' 99th percentiles, or where no percentile is known their mean latency, of \
             imported results by Little's law (threads · depth / rate). ± half the interval of the mean{}; none of a single \
             run. ?: the means are not known well enough to tell where the knee is.",
            one_look_clause(&set.rules)
        )],
        placement: TablePlacement::GroupedPage,
        ..Table::default()
    }
}

/// Makes the row of a system's curve: its highest run and its knee.
fn hidden_row(group: &CurveGroup, curve: &SystemCurve) -> Vec<Entry> {
    let best = match curve.best() {
        Some((point, value)) => {
            [Entry::from_value(Some(value), Form::Significant, ""), mean_entry(point), depth_entry(point)]
        }
        None => [missing_entry(curve), Entry::dash(&why_no_best(curve)), Entry::dash(&why_no_best(curve))],
    };
    let knee = match curve.knee() {
        Knee::At(point) => {
            let sure = if curve.knee_is_sure() { "" } else { "?" };
            let place = Entry { text: sure.to_owned(), ..depth_entry(point) };
            [place, mean_entry(point), latency_entry(group, point)]
        }
        Knee::NotReached(point) => {
            let why = format!("none: still rising at depth {}", point.at);
            [Entry::of_text(&why), Entry::dash(&why), Entry::dash(&why)]
        }
        Knee::Unknown => [missing_entry(curve), Entry::dash(&why_no_best(curve)), Entry::dash(&why_no_best(curve))],
    };
    let unit = rate_words(&group.metric);
    let label = Entry::of_text(format!("{}, {unit}", group.label));
    let name = Entry::of_system(&curve.system, curve.index);
    [label, name].into_iter().chain(best).chain(knee).chain([unit, &latency_words(group)].map(Entry::of_text)).collect()
}

/// Makes the entry that says why a curve gives no best.
fn missing_entry(curve: &SystemCurve) -> Entry {
    Entry { text: why_no_best(curve), ..Entry::from_value(None, Form::Significant, &why_no_best(curve)) }
}

/// Says why a curve gives no best and no knee.
fn why_no_best(curve: &SystemCurve) -> String {
    match curve.first_gap() {
        Some(point) => format!("no figure at depth {}", point.at),
        None => "fewer than two depths have a figure".to_owned(),
    }
}

/// Makes the entry of a point's depth.
fn depth_entry(point: &CurvePoint) -> Entry {
    Entry::from_value(Some(point.at as f64), Form::Whole, "")
}

/// The table next to a curve on a terminal.
const LONGEST_NAME: usize = 20;

/// Makes the table of a group's curves by depth, for a terminal.
fn depths_table(group: &CurveGroup) -> Table {
    let depth = Column { align: Align::Right, ..Column::of_words("depth") };
    let systems: Vec<&str> = group.curves.iter().map(|curve| curve.system.as_str()).collect();
    let names = clipped_apart(&systems, LONGEST_NAME);
    Table {
        family: DISK,
        title: format!("{}, {}", group.label, rate_words(&group.metric)),
        columns: std::iter::once(depth)
            .chain(names.iter().flat_map(|name| {
                let (_, latency) = latency_of(group);
                let said = Column::of_words("").with_head("");
                [Column::new("mean", group.metric.unit.as_str()), Column::new(latency, ""), said]
                    .map(|one| one.in_group(name))
            }))
            .collect(),
        rows: group
            .places()
            .iter()
            .map(|at| {
                let depth = Entry::from_value(Some(*at as f64), Form::Fixed(0), "");
                std::iter::once(depth)
                    .chain(group.curves.iter().flat_map(|curve| depth_cells(group, curve, *at)))
                    .collect()
            })
            .collect(),
        notes: curve_notes(group),
        placement: TablePlacement::Terminal,
        ..Table::default()
    }
}

/// Makes the entries of a curve at a depth: mean, latency, and words such as `knee` and `best`.
fn depth_cells(group: &CurveGroup, curve: &SystemCurve, at: i64) -> [Entry; 3] {
    let Some(point) = curve.point_at(at) else {
        return [Entry::from_value(None, Form::Significant, "not run"), Entry::default(), Entry::default()];
    };
    let is_knee = matches!(curve.knee(), Knee::At(knee) if knee.at == at);
    let knee = if curve.knee_is_sure() { "knee" } else { "knee?" };
    let is_best = curve.best().is_some_and(|(best, _)| best.at == at);
    let said = [(is_knee, knee), (is_best, "best"), (point.void.is_some(), "!")];
    let said: Vec<&str> = said.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    let latency = latency_of_point(group, point).1;
    let latency = latency.trim_end_matches(latency_of(group).1).trim_end();
    [Entry { text: String::new(), ..mean_entry(point) }, Entry::of_text(latency), Entry::of_text(said.join(", "))]
}

/// Says which curves have no knee or no best, and why points have no verdict.
fn curve_notes(group: &CurveGroup) -> Vec<String> {
    let mut said = Vec::new();
    let rising = group.curves.iter().filter_map(|curve| match curve.knee() {
        // Every curve without a gap has the group's depths.
        Knee::NotReached(point) => Some((curve.system.as_str(), point.at)),
        _ => None,
    });
    let (names, depths): (Vec<&str>, Vec<i64>) = rising.unzip();
    if let Some(depth) = depths.first() {
        said.push(format!("no knee: still rising at depth {depth}: {}", names.join(", ")));
    }
    for (curve, gap) in group.curves.iter().filter_map(|curve| Some((curve, curve.first_gap()?))) {
        let why = gap.rate.missing_reason();
        said.push(format!("no best and no knee: {} has no figure at depth {} ({why})", curve.system, gap.at));
    }
    if group.curves.iter().any(|curve| matches!(curve.knee(), Knee::At(_)) && !curve.knee_is_sure()) {
        said.push(format!("knee?: the means are not known to {}", percent_text(1.0 - KNEE_SHARE, Script::Plain)));
    }
    for curve in &group.curves {
        for (depth, void) in curve.points.iter().filter_map(|point| Some((point.at, point.void.as_ref()?))) {
            said.push(format!("! {}, depth {depth}: {}", curve.system, void.reason_text()));
        }
    }
    said
}

/// Makes the views of throughput by clients: curves, bars, and the table of peaks.
pub fn client_views(set: &ComparisonSet) -> Vec<View> {
    if set.clients.is_empty() {
        return Vec::new();
    }
    let charts = set.clients.iter().enumerate().flat_map(|(number, group)| {
        let title = format!("{}: {} by clients", group.label, metric_name(&group.metric.id));
        [curve_view(group, TRANSACTIONS, title, format!("clients-{number}")), client_bars(group, number)]
    });
    charts.chain([View::Table(peaks_table(set))]).collect()
}

/// Whether a curve's point at a number of clients has an interval.
fn has_interval(curve: &SystemCurve, place: i64) -> bool {
    curve.point_at(place).is_some_and(|point| point.interval().is_some())
}

/// Makes the bars of a group's systems at some numbers of clients.
fn client_bars(group: &CurveGroup, number: usize) -> View {
    let at = group.bars_at();
    let has_intervals = at.iter().any(|place| group.curves.iter().any(|curve| has_interval(curve, *place)));
    let interval = if has_intervals { ", and its interval" } else { "" };
    let listed: Vec<String> = at.iter().map(ToString::to_string).collect();
    View::Bars(Bars {
        family: TRANSACTIONS,
        title: format!("{}: {} at {} clients", group.label, metric_name(&group.metric.id), listed.join(", ")),
        unit: format!("{}: mean of the runs{interval}", group.metric.unit),
        groups: at.iter().map(|one| client_group(group, *one)).collect(),
        id: format!("clients-bars-{number}"),
    })
}

/// Makes the bars of all systems at a number of clients.
fn client_group(group: &CurveGroup, clients: i64) -> BarGroup {
    BarGroup {
        name: if clients == 1 { "1 client".to_owned() } else { format!("{clients} clients") },
        bars: group.curves.iter().filter_map(|curve| client_bar(curve, clients)).collect(),
    }
}

/// Makes the bar of a system at a number of clients; `None` if it was not run with them.
fn client_bar(curve: &SystemCurve, clients: i64) -> Option<Bar> {
    let point = curve.point_at(clients)?;
    let entry = mean_entry(point);
    // What is not drawn is not printed behind the bar either.
    let half_width = if point.interval().is_some() { entry.half_width } else { None };
    let entry = Entry { half_width, ..entry };
    Some(Bar { index: curve.index, name: curve.system.clone(), entry, highest_run: None })
}

/// Makes the table of the peaks of all curves over clients.
fn peaks_table(set: &ComparisonSet) -> Table {
    let heads = ["peak", "at clients", "with the most clients", "of the peak"].map(|head| Column::new(head, ""));
    Table {
        family: TRANSACTIONS,
        title: "Peaks".to_owned(),
        columns: ["benchmark", "system"]
            .map(Column::of_words)
            .into_iter()
            .chain(heads)
            .chain([Column::of_words("unit").hidden()])
            .collect(),
        rows: set
            .clients
            .iter()
            .flat_map(|group| group.curves.iter().map(move |curve| peak_row(group, curve)))
            .collect(),
        placement: TablePlacement::GroupedPage,
        ..Table::default()
    }
}

/// Makes the row of a system's curve: its peak, and its mean with the most clients.
fn peak_row(group: &CurveGroup, curve: &SystemCurve) -> Vec<Entry> {
    let peak = curve.peak();
    let (value, at) = match peak {
        Some((point, _)) => (entry_without_interval(point), Entry::from_value(Some(point.at as f64), Form::Whole, "")),
        None => (Entry::from_reading(Err(curve.missing_reason()), Form::Significant), missing_dash(curve)),
    };
    let last = curve.points.last();
    let at_last = last.map_or_else(Entry::default, |last| {
        let entry = entry_without_interval(last);
        if entry.missing.is_some() {
            entry
        } else {
            Entry { text: format!("at {} {}", last.at, entry.text).trim_end().to_owned(), ..entry }
        }
    });
    let share = peak.zip(last.and_then(CurvePoint::mean)).map(|((_, peak), mean)| mean / peak);
    let share = share.map_or_else(|| missing_dash(curve), |share| Entry::from_value(Some(share), Form::Percent, ""));
    let name = Entry::of_text(format!("{}, {}", group.label, group.metric.unit));
    let unit = Entry::of_text(&group.metric.unit);
    vec![name, Entry::of_system(&curve.system, curve.index), value, at, at_last, share, unit]
}

/// Makes the entry of a point's mean without its interval.
fn entry_without_interval(point: &CurvePoint) -> Entry {
    Entry { half_width: None, interval: None, ..mean_entry(point) }
}

/// Makes a dash that says why the curve has no peak.
fn missing_dash(curve: &SystemCurve) -> Entry {
    Entry::from_reading(Err(curve.missing_reason()), Form::Dash)
}
