//! Backups: saving, CPU time and time, and the file's growth.

use maud::{Markup, html};

use super::chart::{Axis, Ink, Layer, Mark, Panel, Shape, series_class};
use super::figure::{Figure, swatch};
use crate::backup::{BackupRow, CLASS_HEADS, more, noted};
use crate::backup_load::{self, HEADS, LoadRow};
use crate::comparison::{ComparisonSet, MetricFilter, Options, compare};
use crate::evidence::Evidence;
use crate::number::{Script, fixed, significant};
use crate::views::{Bar, BarGroup, Bars};

const WIDTH: i32 = 480;
const HEIGHT: i32 = 280;
const MIB: f64 = (1u64 << 20) as f64;
/// Of a mark that takes as long as without a codec.
const RADIUS: f64 = 6.0;

type Of = fn(&BackupRow) -> Option<f64>;

/// Id, title, caption and figure of the published charts.
const CHARTS: [(&str, &str, &str, Of); 5] = [
    ("backup-sizes", "Size of the backup", "MiB", |row| Some(row.figures.get("backup_size")? / MIB)),
    ("backup-rates", "Speed of the backup", "MiB of source data a second", |row| figure(row, "backup_rate")),
    ("backup-cpu", "CPU time of the backup", "s, of server, client and compressor", |row| figure(row, "backup_cpu")),
    ("restore-rates", "Speed of the restore", "MiB of source data a second", |row| figure(row, "restore_rate")),
    ("restore-cpu", "CPU time of the restore", "s, of server, client and compressor", |row| figure(row, "restore_cpu")),
];

pub fn view(evidence: &Evidence, set: &ComparisonSet) -> Option<Markup> {
    let (rows, loads) = (crate::backup::rows(evidence), backup_load::rows(evidence));
    let (rows, loads) = (rows.as_slice(), loads.as_slice());
    if rows.is_empty() && loads.is_empty() {
        return None;
    }
    let verdicts: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("{}: {}", place(row), row.verdict()?))).collect();
    Some(html! {
        @if !verdicts.is_empty() { ul { @for verdict in &verdicts { li { bdi { (verdict) } } } } }
        @if !loads.is_empty() {
            (beside(loads))
            (by_backup(evidence, set))
        }
        @if !rows.is_empty() {
            (published(rows))
            div.grid { @for (id, title, caption, of) in CHARTS { (bars(rows, id, title, caption, of)) } }
            (by_codec(evidence, set))
            (split(rows))
            h3 { "What it is worth" }
            div.grid { (worth(rows)) (growth(rows)) }
        }
    })
}

/// Transactions during backups.
fn beside(loads: &[LoadRow]) -> Markup {
    let verdicts: Vec<String> =
        loads.iter().filter_map(|row| Some(format!("{}: {}", row.system, row.verdict()?))).collect();
    html! {
        ul { @for verdict in &verdicts { li { bdi { (verdict) } } } }
        div.scroll { table.small {
            thead { tr { th { "transactions" } th { "backup beside them" } @for head in HEADS { th.num { (head) } } } }
            tbody { @for row in loads { tr {
                th scope="row" { bdi { (row.system) ": " (row.load) } }
                td { bdi { (row.backup) } }
                @for figure in row.shown() { td.num { (figure) } }
            } } }
        } }
    }
}

/// Compared with the load alone, with intervals and verdicts.
fn by_backup(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let shown = ["throughput", "response_p99"].map(str::to_owned).to_vec();
    let options = Options {
        cols: Some(backup_load::compared_keys(evidence)),
        metrics: MetricFilter::Named(shown),
        ..set.rules.options()
    };
    let Ok(compared) = compare(evidence, &options) else { return html! {} };
    html! {
        h3 { "Each backup against the transactions alone" }
        (super::table::tables_after(set.tables.len(), &compared))
    }
}

/// System and group of a row.
fn place(row: &BackupRow) -> String {
    let parts = [row.system.as_str(), row.group.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
}

fn name(row: &BackupRow) -> String {
    format!("{}, {}", place(row), row.codec)
}

/// Each codec compared with none, with intervals and verdicts, which the published tables lack.
fn by_codec(evidence: &Evidence, set: &ComparisonSet) -> Markup {
    let options = Options { a: Some("none".to_owned()), cols: Some(vec!["codec".to_owned()]), ..set.rules.options() };
    // No uncompressed backup to compare with.
    let Ok(compared) = compare(evidence, &options) else { return html! {} };
    html! {
        h3 { "Each codec against none" }
        (super::table::tables_after(set.tables.len(), &compared))
    }
}

fn figure(row: &BackupRow, metric: &str) -> Option<f64> {
    row.figures.get(metric).copied()
}

/// Metrics of the published tables, and labels for narrow pages.
const PUBLISHED: [(&str, &str, &str); 4] = [
    ("backup_rate", "backup, MiB/s", "gain"),
    ("backup_cpu", "CPU of the backup, s", "more"),
    ("restore_rate", "restore, MiB/s", "gain"),
    ("restore_cpu", "CPU of the restore, s", "more"),
];

/// The five published tables: sizes, speeds and CPU time, each compared with no codec.
fn published(rows: &[BackupRow]) -> Markup {
    let all: Vec<&BackupRow> = rows.iter().collect();
    let mib = |row: &BackupRow| {
        let size = figure(row, "backup_size").map(|size| significant(size / MIB, 3, Script::Typographic));
        size.unwrap_or_else(|| "n/a".to_owned())
    };
    html! {
        div.scroll { table.disk {
            thead {
                tr {
                    th scope="col" rowspan="2" { "backup" }
                    th.num scope="colgroup" colspan="2" { "size" }
                    th.num scope="colgroup" colspan="2" { "backup" }
                    th.num scope="colgroup" colspan="2" { "CPU of the backup" }
                    th.num scope="colgroup" colspan="2" { "restore" }
                    th.num scope="colgroup" colspan="2" { "CPU of the restore" }
                }
                tr {
                    th.num scope="col" { "MiB" } th.num scope="col" { "saved" }
                    th.num scope="col" { "MiB/s" } th.num scope="col" { "gain" }
                    th.num scope="col" { "s" } th.num scope="col" { "more" }
                    th.num scope="col" { "MiB/s" } th.num scope="col" { "gain" }
                    th.num scope="col" { "s" } th.num scope="col" { "more" }
                }
            }
            tbody { @for row in rows { tr {
                th scope="row" { bdi { (name(row)) } }
                td.num data-l="size, MiB" { (mib(row)) }
                td.num data-l="saved" { (figure(row, "saving").map_or_else(|| "n/a".to_owned(), |saved| format!("{} %", fixed(saved, 1)))) }
                @for (metric, what, beside) in PUBLISHED {
                    td.num data-l=(what) { (shown(row, metric)) }
                    td.num data-l=(beside) { (more(&all, row, metric, Script::Typographic)) }
                }
            } } }
        } }
        @for line in crate::backup::lacking(&all, name).into_iter().chain(noted(&all, name)) { p.note { bdi { (line) } } }
        p.note {
            "Medians of the runs. Saved is of the source's size; gain and more are against the backup without a codec of the \
             same system. CPU time is of server, client and compressor together: a figure of the server's session alone \
             misses the threads that compress."
        }
    }
}

/// Saving by class of files, never-used pages separately.
fn split(rows: &[BackupRow]) -> Markup {
    html! {
        @if rows.iter().any(|row| !row.classes().is_empty()) {
            h3 { "Where the saving is" }
            div.scroll { table.small {
                thead { tr { th { "backup" } th { "files" } @for head in CLASS_HEADS { th.num { (head) } } } }
                tbody { @for row in rows { @for share in row.classes() { tr {
                    th scope="row" { bdi { (name(row)) } }
                    td { (share.class) }
                    @for figure in share.shown() { td.num { (figure) } }
                } } } }
            } }
            p.note {
                "MiB of the source, and of its pages that were never used. A page of zeros saves whatever the rest is: without such pages is what pages with content save."
            }
        }
    }
}

fn bars(rows: &[BackupRow], id: &str, title: &str, caption: &str, of: Of) -> Markup {
    let group = |(index, row): (usize, &BackupRow)| {
        let value = of(row);
        let text = value.map_or_else(|| "n/a".to_owned(), |value| significant(value, 3, Script::Typographic));
        BarGroup { name: name(row), bars: vec![Bar { index, name: name(row), value, text, ..Bar::default() }] }
    };
    super::bars::render(&Bars {
        family: "backup",
        title: title.to_owned(),
        id: id.to_owned(),
        unit: caption.to_owned(),
        groups: rows.iter().enumerate().map(group).collect(),
    })
}

fn legend(rows: &[BackupRow]) -> Markup {
    html! { span.legend { @for (index, row) in rows.iter().enumerate() { span.key { (swatch(index)) bdi { (name(row)) } } } } }
}

fn shown(row: &BackupRow, metric: &str) -> String {
    row.figures.get(metric).map_or_else(|| "n/a".to_owned(), |value| significant(*value, 3, Script::Typographic))
}

/// Saving on x, CPU time on y, time as the mark's size.
fn worth(rows: &[BackupRow]) -> Markup {
    let places: Vec<(usize, &BackupRow, f64, f64)> = rows
        .iter()
        .enumerate()
        .filter_map(|(index, row)| {
            let figure = |id: &str| row.figures.get(id).copied();
            Some((index, row, figure("saving")?, figure("backup_cpu_per_gib")?))
        })
        .collect();
    if places.is_empty() {
        return super::figure::nothing("Saving, CPU time and time", "no CPU time is known");
    }
    let x = Axis::linear(places.iter().map(|place| place.2), 6);
    let mut panel = Panel::new(WIDTH, HEIGHT, x, Axis::from_zero(places.iter().map(|place| place.3), 5));
    panel.title = "What is saved, against CPU time and time".to_owned();
    panel.description = "One mark for each codec; its area is the backup's time.".to_owned();
    panel.x_caption = "saving, % of the source".to_owned();
    panel.y_caption = "CPU s/GiB; the larger the mark, the longer the backup".to_owned();
    panel.marks = places
        .iter()
        .map(|(index, row, saving, cpu)| {
            let ratio = row.time_ratio.map_or(1.0, |[middle, ..]| middle);
            Mark {
                x: *saving,
                y: *cpu,
                shape: Shape::of_series(*index),
                radius: (RADIUS * ratio.sqrt()).clamp(3.0, 24.0),
                class: format!("pt {}", series_class(*index)),
                title: format!(
                    "{}: saves {} %, {cpu:.2} CPU s/GiB, {ratio:.2}× the time",
                    name(row),
                    fixed(*saving, 1)
                ),
            }
        })
        .collect();
    let table = html! {
        table.small {
            thead { tr { th { "backup" } th.num { "saving, %" } th.num { "CPU s/GiB" } th.num { "time, s" } } }
            tbody { @for row in rows { tr {
                td { bdi { (name(row)) } }
                td.num { (shown(row, "saving")) }
                td.num { (shown(row, "backup_cpu_per_gib")) }
                td.num { (shown(row, "backup_time")) }
            } } }
        }
    };
    let figure = Figure {
        title: "Saving, CPU time and time",
        panel: &panel,
        id: "backup-worth",
        legend: legend(rows),
        live: None,
    };
    figure.render(table)
}

/// File size over time.
fn growth(rows: &[BackupRow]) -> Markup {
    let curve = |row: &BackupRow| -> Vec<(f64, f64)> {
        let seconds = row.figures.get("backup_time").copied().unwrap_or(0.0);
        row.growth.iter().map(|(share, bytes)| (share * seconds, bytes / MIB)).collect()
    };
    let curves: Vec<Vec<(f64, f64)>> = rows.iter().map(curve).collect();
    let end = curves.iter().flatten().map(|(at, _)| *at).fold(0.0, f64::max);
    if end <= 0.0 {
        return super::figure::nothing("Size of the backup's file", "its growth was not stored");
    }
    let y = Axis::from_zero(curves.iter().flatten().map(|(_, size)| *size), 5);
    let mut panel = Panel::new(WIDTH, HEIGHT, Axis::between(0.0, end * 1.02, 8), y);
    panel.left = 60;
    panel.title = "Size of the backup's file over the backup".to_owned();
    panel.description = "From the first moment on: an engine that reserves room at once begins high.".to_owned();
    panel.x_caption = "seconds since the backup began".to_owned();
    panel.y_caption = "MiB in the backup's folder".to_owned();
    panel.layers =
        curves.iter().enumerate().map(|(index, curve)| Layer::Line(curve.clone(), Ink::Line(index))).collect();
    let line = |curve: &[(f64, f64)]| {
        let sizes: Vec<String> = curve.iter().map(|(_, size)| significant(*size, 3, Script::Typographic)).collect();
        sizes.join(" · ")
    };
    let table = html! {
        dl.values { @for (row, curve) in rows.iter().zip(&curves) {
            dt { bdi { (name(row)) } ", MiB at every twentieth of the time" } dd { (line(curve)) }
        } }
    };
    let figure = Figure {
        title: "Size of the backup's file",
        panel: &panel,
        id: "backup-growth",
        legend: legend(rows),
        live: None,
    };
    figure.render(table)
}
