//! Backups by codec: the published table, and a verdict line per codec.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{Absence, Case, MarkKind, NoValue, Reading, RunState, Value};
use store::StoredRun;

use crate::comparison::{ComparisonSet, Index, MetricFilter, Options};
use crate::evidence::Evidence;
use crate::lookup::{Lookup, measurements_by_run};
use crate::number::{Script, geometric_centre};
use crate::views::{Bar, BarGroup, Bars, Column, Entry, Family, Form, Series, SeriesLine, Table, TablePlacement, View};

/// The workload whose cases these are.
const WORKLOAD: &str = "backup";
/// How it was compressed; cases that agree otherwise are compared with the one without a codec.
pub(crate) const CODEC_KEYS: [&str; 4] = ["codec", "level", "workers", "where"];
/// What level 0 means, as in the codecs' own programs.
const USUAL_LEVELS: [(&str, i64); 3] = [("gzip", 6), ("lz4", 1), ("zstd", 3)];
/// Stored steps of a file's growth, in percent of the time.
const GROWTH_STEP: usize = 5;

#[derive(Clone, Debug, PartialEq)]
pub struct BackupRow {
    pub system: String,
    /// What distinguishes its group from others: keys that vary and say nothing of the codec.
    pub group: String,
    /// The codec with its level: `zstd-3`, `none`.
    pub codec: String,
    /// Geometric means of the runs, by metric.
    pub figures: BTreeMap<String, f64>,
    /// Metrics without a figure in any run.
    pub missing: BTreeMap<String, NoValue>,
    /// The runs' notes, such as a substituted method.
    pub notes: Vec<String>,
    /// Over the backup without a codec: geometric mean, lowest and highest of the rounds.
    pub time_ratio: Option<[f64; 3]>,
    /// Rounds that have such a ratio: those in which both were measured.
    pub time_ratios: usize,
    /// Ratio of the restore times, as `time_ratio`.
    pub restore_ratio: Option<[f64; 3]>,
    /// Share of the time, and bytes of the backup's file: geometric mean of the runs.
    pub growth: Vec<(f64, f64)>,
}

/// A run's round and values.
pub(crate) struct Measured {
    pub(crate) run: i64,
    pub(crate) round: u32,
    pub(crate) values: BTreeMap<String, Reading>,
}

/// The value of a reading, if it is finite.
pub(crate) fn finite_value(reading: &Reading) -> Option<f64> {
    match reading {
        Reading::Value(value) if value.is_finite() => Some(*value),
        _ => None,
    }
}

/// Makes a row for each backup in the plan's order; empty without backups.
pub fn backup_rows(evidence: &Evidence) -> Vec<BackupRow> {
    let cases: Vec<(usize, &Case)> = evidence
        .cases
        .iter()
        .enumerate()
        .filter(|(_, case)| {
            case.workload == WORKLOAD && case.point.get("method").and_then(Value::as_text) != Some("none")
        })
        .collect();
    if cases.is_empty() {
        return Vec::new();
    }
    let readings = Index::new(evidence);
    let measured = runs_of_cases(&readings.lookup, cases.iter().map(|(index, _)| *index as u32));
    let mut rows = Vec::new();
    for ((index, case), own) in cases.iter().zip(&measured) {
        if own.is_empty() {
            continue;
        }
        let baseline = cases.iter().zip(&measured).find(|((_, other), _)| is_baseline(case, other));
        let baseline =
            baseline.filter(|((other, _), _)| has_no_failures(&readings, *index) && has_no_failures(&readings, *other));
        let baseline = if codec_of_case(case) != "none" { baseline.map(|(_, runs)| runs.as_slice()) } else { None };
        rows.push(make_row(evidence, &readings, (*index as u32, case), own, baseline));
    }
    rows
}

/// Whether no run of a case failed.
pub(crate) fn has_no_failures(readings: &Index<'_>, index: usize) -> bool {
    readings.lookup.failed_runs(index as u32) == 0
}

/// Collects the readings of each case's measured runs, a list per case.
pub(crate) fn runs_of_cases(lookup: &Lookup<'_>, cases: impl Iterator<Item = u32>) -> Vec<Vec<Measured>> {
    let measurements = measurements_by_run(lookup.evidence());
    cases
        .map(|case| {
            let own = lookup.last_attempts(&[case]).filter(|run| run.state == RunState::Measured);
            own.map(|run| Measured {
                run: run.id,
                round: run.planned.round,
                values: readings_of_run(&measurements, run),
            })
            .collect()
        })
        .collect()
}

/// Collects a run's readings, by metric.
fn readings_of_run(
    measurements: &BTreeMap<i64, Vec<&store::StoredMeasurement>>,
    run: &StoredRun,
) -> BTreeMap<String, Reading> {
    let own = measurements.get(&run.id).into_iter().flatten();
    own.map(|one| (one.measurement.metric.id.clone(), one.measurement.reading.clone())).collect()
}

/// Whether another case is the same backup without a codec.
fn is_baseline(case: &Case, other: &Case) -> bool {
    other.system == case.system
        && other.benchmark == case.benchmark
        && codec_of_case(other) == "none"
        && case
            .point
            .keys()
            .all(|key| CODEC_KEYS.contains(&key.as_str()) || case.point.get(key) == other.point.get(key))
}

/// The codec of a case; `none` without one.
fn codec_of_case(case: &Case) -> &str {
    case.point.get("codec").and_then(Value::as_text).unwrap_or("none")
}

/// Names a case's codec with level, workers and place where they are set: `zstd-3 ×2 at the server`.
pub(crate) fn codec_label(case: &Case) -> String {
    let codec = codec_of_case(case);
    let usual = USUAL_LEVELS.iter().find(|(name, _)| *name == codec).map_or(0, |(_, level)| *level);
    if codec == "none" {
        return codec.to_owned();
    }
    let mut label = match (integer_at(case, "level"), usual) {
        // SQL Server's own codecs have no levels.
        (0, 0) => codec.to_owned(),
        (0, level) | (level, _) => format!("{codec}-{level}"),
    };
    if integer_at(case, "workers") > 0 {
        let _ = write!(label, " ×{}", integer_at(case, "workers"));
    }
    match case.point.get("where").and_then(Value::as_text) {
        Some("server") => label.push_str(" at the server"),
        Some("client") => label.push_str(" at the client"),
        _ => {}
    }
    label
}

/// A key's value in a case as a whole number; 0 without one.
fn integer_at(case: &Case, key: &str) -> i64 {
    case.point.get(key).and_then(Value::as_int).unwrap_or(0)
}

/// Collects the notes on a case's runs, each once.
fn run_notes(lookup: &Lookup<'_>, own: &[Measured]) -> Vec<String> {
    let marks = own.iter().flat_map(|run| lookup.marks_of_run(run.run));
    let mut notes: Vec<String> = Vec::new();
    for mark in marks.filter(|mark| mark.kind == MarkKind::Note) {
        if !notes.contains(&mark.detail) {
            notes.push(mark.detail.clone());
        }
    }
    notes
}

/// Writes the notes of rows, each once, with the backups' names unless it is true of all.
fn notes_of_rows(rows: &[&BackupRow]) -> Vec<String> {
    let mut notes: Vec<&String> = Vec::new();
    for note in rows.iter().flat_map(|row| &row.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
        .iter()
        .map(|note| {
            let of: Vec<&&BackupRow> = rows.iter().filter(|row| row.notes.contains(note)).collect();
            let names: Vec<&str> = of.iter().map(|row| row.codec.as_str()).collect();
            if of.len() == rows.len() { format!("note: {note}") } else { format!("note, {}: {note}", names.join(", ")) }
        })
        .collect()
}

/// Makes the row of a case, compared with the runs of the same backup without a codec, if there are any.
fn make_row(
    evidence: &Evidence,
    index: &Index<'_>,
    (case_index, case): (u32, &Case),
    own: &[Measured],
    baseline: Option<&[Measured]>,
) -> BackupRow {
    let varying = index.lookup.varying_keys(&case.benchmark);
    // Next to `none`, which has no row here, `native` says nothing.
    let keys = varying.iter().filter(|key| {
        let is_usual = *key == "method" && case.point.get(*key).and_then(Value::as_text) == Some("native");
        !is_usual && !CODEC_KEYS.contains(&key.as_str())
    });
    let mut group: Vec<String> = keys.filter_map(|key| Some(format!("{key}={}", case.point.get(key)?))).collect();
    if evidence.header.plan.benchmarks.len() > 1 {
        group.insert(0, case.benchmark.clone());
    }
    let mut ids: Vec<&String> = own.iter().flat_map(|run| run.values.keys()).collect();
    ids.sort();
    ids.dedup();
    let mut figures = BTreeMap::new();
    let mut missing = BTreeMap::new();
    for id in ids {
        match index.values_of_all_runs(case_index, id) {
            Ok(points) => {
                figures.extend(geometric_centre(points.iter().map(|p| p.value)).map(|middle| (id.clone(), middle)))
            }
            Err((why, _)) => drop(missing.insert(id.clone(), why)),
        }
    }
    let growth = (0..=100)
        .step_by(GROWTH_STEP)
        .filter_map(|percent| Some((percent as f64 / 100.0, *figures.get(&format!("backup_file/{percent:03}"))?)));
    BackupRow {
        system: case.system.clone(),
        group: group.join(", "),
        codec: codec_label(case),
        time_ratio: mean_and_extremes(&baseline_ratios(own, baseline, "backup_time")),
        time_ratios: baseline_ratios(own, baseline, "backup_time").len(),
        restore_ratio: mean_and_extremes(&baseline_ratios(own, baseline, "restore_time")),
        growth: growth.collect(),
        notes: run_notes(&index.lookup, own),
        figures,
        missing,
    }
}

/// Ratios of runs to those without a codec, round by round; none without a baseline.
pub(crate) fn baseline_ratios(own: &[Measured], baseline: Option<&[Measured]>, metric: &str) -> Vec<f64> {
    baseline.map_or_else(Vec::new, |baseline| paired_ratios(own, baseline, metric))
}

/// Ratios of a metric between two cases, one for each round that both measured.
/// None at all if a run of these does not have the metric, since the others would stand for it.
pub(crate) fn paired_ratios(own: &[Measured], baseline: &[Measured], metric: &str) -> Vec<f64> {
    own.iter()
        .filter_map(|run| {
            let other = baseline.iter().find(|other| other.round == run.round)?;
            Some(positive_value(run, metric).zip(positive_value(other, metric)).map(|(own, other)| own / other))
        })
        .collect::<Option<Vec<f64>>>()
        .unwrap_or_default()
}

/// A run's value of a metric, if it is finite and above 0.
fn positive_value(run: &Measured, metric: &str) -> Option<f64> {
    run.values.get(metric).and_then(finite_value).filter(|value| *value > 0.0)
}

/// The geometric mean, the lowest and the highest of ratios; `None` without any.
pub(crate) fn mean_and_extremes(ratios: &[f64]) -> Option<[f64; 3]> {
    let lowest = ratios.iter().copied().min_by(f64::total_cmp)?;
    let highest = ratios.iter().copied().max_by(f64::total_cmp)?;
    Some([geometric_centre(ratios.iter().copied())?, lowest, highest])
}

/// A time that differs by less is called the same.
const SAME_TIME: f64 = 0.03;

impl BackupRow {
    /// Says what a codec saves and costs, in one line; `None` for the backup without a codec.
    pub fn verdict_line(&self) -> Option<String> {
        let [ratio, lowest, highest] = self.time_ratio?;
        let saving = self.figures.get("saving")?;
        let cpu = match self.figures.get("backup_cpu_per_gib") {
            Some(cpu) => format!("{cpu:.1} CPU-seconds per GiB"),
            None => "its CPU time is not known".to_owned(),
        };
        let time = if (ratio - 1.0).abs() < SAME_TIME {
            "about the same time".to_owned()
        } else {
            format!("{ratio:.2}× the time")
        };
        // Encrypted data, as a rule.
        let saved = if *saving < 0.5 { "nothing".to_owned() } else { format!("{saving:.0} %") };
        let of_rounds = match self.time_ratios {
            1 => "one run: no more than a hint".to_owned(),
            rounds => format!("{lowest:.2}× to {highest:.2}× in {rounds} rounds"),
        };
        Some(format!("{} saves {saved} and takes {time} ({of_rounds}); {cpu}", self.codec))
    }
}

/// Finds the row without a codec that a row is compared with, maybe itself.
fn uncompressed_row<'r>(rows: &[&'r BackupRow], row: &BackupRow) -> Option<&'r BackupRow> {
    rows.iter().copied().find(|other| other.system == row.system && other.group == row.group && other.codec == "none")
}

/// The entry of a metric in percent more than without a codec, as was published; a dash for that backup itself.
fn percent_of_uncompressed(rows: &[&BackupRow], row: &BackupRow, metric: &str) -> Entry {
    if row.codec == "none" {
        return Entry::dash("it is the backup without a codec");
    }
    let both = figure_of(row, metric)
        .zip(uncompressed_row(rows, row).and_then(|one| figure_of(one, metric)))
        .filter(|(_, without)| *without > 0.0);
    let missing = "it, or that of the backup without a codec, is not known";
    Entry::from_value(both.map(|(own, without)| (own / without - 1.0) * 100.0), Form::More, missing)
}

/// A row's figure of a metric.
fn figure_of(row: &BackupRow, metric: &str) -> Option<f64> {
    row.figures.get(metric).copied()
}

/// Makes the table of speed and CPU time in percent of the backup without a codec; `None` without one.
fn published_table(rows: &[&BackupRow]) -> Option<Table> {
    let coded: Vec<&&BackupRow> =
        rows.iter().filter(|row| row.codec != "none" && uncompressed_row(rows, row).is_some()).collect();
    let metrics = ["backup_rate", "backup_cpu", "restore_rate", "restore_cpu"];
    let heads = ["backup rate", "CPU time", "restore rate", "CPU time"];
    let names = ["backup rate", "backup CPU time", "restore rate", "restore CPU time"];
    let heads = names.into_iter().zip(heads).map(|(name, head)| Column::new(name, "%").with_head(head));
    (!coded.is_empty()).then(|| Table {
        title: "against none, in percent as published".to_owned(),
        columns: [Column::of_words("codec")].into_iter().chain(heads).collect(),
        rows: coded
            .iter()
            .map(|row| {
                let figures = metrics.map(|metric| percent_of_uncompressed(rows, row, metric));
                [Entry::of_text(&row.codec)].into_iter().chain(figures).collect()
            })
            .collect(),
        ..Table::default()
    })
}

/// Lists the reasons why CPU times are missing, each once.
fn missing_cpu_reasons(rows: &[&BackupRow]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (metric, of) in [("backup_cpu_per_gib", "backup"), ("restore_cpu_per_gib", "restore")] {
        for reason in rows.iter().filter_map(|row| row.missing.get(metric)).filter(|missing| !missing.reason.is_empty())
        {
            let line = format!("s/GiB of the {of}: n/a: {reason}");
            // Rows without any figures are reported separately.
            if !lines.contains(&line) && rows.iter().all(|row| row.missing.get("backup_rate") != Some(reason)) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Lists backups without figures by reason: `gzip-6, lz4-1: n/a: …`.
fn missing_backup_notes(rows: &[&BackupRow]) -> Vec<String> {
    let mut reasons: Vec<(&NoValue, Vec<&str>)> = Vec::new();
    for row in rows {
        let Some(reason) = row.missing.get("backup_rate") else { continue };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(&row.codec),
            None => reasons.push((reason, vec![&row.codec])),
        }
    }
    reasons.iter().map(|(reason, names)| format!("{}: n/a: {reason}", names.join(", "))).collect()
}

const CLASSES: [&str; 4] = ["data", "log", "undo", "other"];
const MIB: f64 = (1u64 << 20) as f64;

/// Makes the table of what is saved in each class of files; `None` if no backup is split.
fn split_table(rows: &[&BackupRow]) -> Option<Table> {
    let rows: Vec<Vec<Entry>> =
        rows.iter().flat_map(|row| CLASSES.iter().filter_map(move |class| split_line(row, class))).collect();
    let heads = [("MiB", "MiB"), ("zero pages", "MiB"), ("saved %", "%"), ("saved % of the rest", "%")];
    let heads = heads.map(|(head, unit)| Column::new(head, unit));
    (!rows.is_empty()).then(|| Table {
        title: "where the saving is, MiB and percent".to_owned(),
        columns: ["codec", "files"].map(Column::of_words).into_iter().chain(heads).collect(),
        rows,
        ..Table::default()
    })
}

/// Makes the row of one class of files; `None` without a source size or a codec.
fn split_line(row: &BackupRow, class: &str) -> Option<Vec<Entry>> {
    let source = figure_of_class(row, "source_size", class).filter(|bytes| *bytes > 0.0 && row.codec != "none")?;
    let (zero, saving) = (figure_of_class(row, "zero_pages", class), figure_of_class(row, "saving", class));
    let without = figure_of_class(row, "saving_without_zero_pages", class).or(saving.filter(|_| zero == Some(0.0)));
    let figures = [Some(source / MIB), zero.map(|bytes| bytes / MIB), saving, without];
    let figures = figures.map(|figure| Entry::from_value(figure, Form::Fixed(1), "it was not measured"));
    Some([&row.codec, class].map(Entry::of_text).into_iter().chain(figures).collect())
}

/// A row's figure of a metric for one class of files.
fn figure_of_class(row: &BackupRow, family: &str, class: &str) -> Option<f64> {
    row.figures.get(&format!("{family}/{class}")).copied()
}

/// Name and unit of a column, what stands above it, and its metric with its form; a time's is the ratio to that without
/// a codec.
const COLUMNS: [(&str, &str, &str, &str, Form); 8] = [
    ("backup", "size", "MiB", "backup_size", Form::Fixed(1)),
    ("backup", "saved", "%", "saving", Form::Fixed(1)),
    ("backup", "rate", "MiB/s", "backup_rate", Form::Fixed(1)),
    ("backup", "time ratio", "", "", Form::Times),
    ("backup", "CPU time", "s/GiB", "backup_cpu_per_gib", Form::Fixed(2)),
    ("restore", "rate", "MiB/s", "restore_rate", Form::Fixed(1)),
    ("restore", "time ratio", "", "", Form::Times),
    ("restore", "CPU time", "s/GiB", "restore_cpu_per_gib", Form::Fixed(2)),
];

/// Columns for programs: the table's heading already has the first.
const TOTALS: [(&str, &str, &str); 5] = [
    ("source", "MiB", "source_size"),
    ("backup time", "s", "backup_time"),
    ("backup CPU time", "s", "backup_cpu"),
    ("restore time", "s", "restore_time"),
    ("restore CPU time", "s", "restore_cpu"),
];

impl BackupRow {
    /// Makes the entry of a metric, in MiB if it is a size, or the reason why it is missing.
    fn metric_entry(&self, metric: &str, form: Form) -> Entry {
        let divisor = if metric.ends_with("_size") { MIB } else { 1.0 };
        let figure = self.figures.get(metric).map(|value| value / divisor);
        Entry::from_reading(
            figure.ok_or_else(|| {
                self.missing
                    .get(metric)
                    .filter(|missing| !missing.reason.is_empty())
                    .cloned()
                    .unwrap_or_else(|| Absence::Unavailable.with_reason("it was not measured"))
            }),
            form,
        )
    }

    /// Makes the entries of the row for the table's columns.
    fn entries(&self) -> Vec<Entry> {
        let shown = COLUMNS.map(|(group, _, _, metric, form)| match (form, group) {
            (Form::Times, "backup") => ratio_entry(self.time_ratio),
            (Form::Times, _) => ratio_entry(self.restore_ratio),
            _ => self.metric_entry(metric, form),
        });
        let totals = TOTALS.map(|(_, _, metric)| self.metric_entry(metric, Form::Significant));
        [Entry::of_text(&self.codec)].into_iter().chain(shown).chain(totals).collect()
    }

    /// Names the row by its system, group and codec.
    pub fn row_name(&self) -> String {
        let parts = [self.system.as_str(), self.group.as_str(), self.codec.as_str()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

/// Makes the entry of a mean ratio; a dash without one.
fn ratio_entry(ratio: Option<[f64; 3]>) -> Entry {
    match ratio {
        Some([middle, ..]) => Entry::from_value(Some(middle), Form::Times, ""),
        None => Entry::dash("there is no other backup without a codec in the same rounds"),
    }
}

/// Makes the tables of one system and group.
fn group_views(own: &[&BackupRow]) -> Vec<View> {
    let Some(first) = own.first() else { return Vec::new() };
    let comma = if first.group.is_empty() { "" } else { ", " };
    // A missing codec leaves no sizes.
    let sized = own.iter().find(|row| row.figures.contains_key("source_size")).unwrap_or(first);
    let source = sized.metric_entry("source_size", Form::Fixed(1)).print(Script::Plain);
    let case = format!("{}{comma}{}: {source} MiB", first.system, first.group);
    let shown = COLUMNS.map(|(group, name, unit, ..)| {
        let head = if unit.is_empty() || unit == "%" { format!("{name} {unit}") } else { unit.to_owned() };
        Column::new(format!("{group} {name}"), unit)
            .with_head(head.trim_end().trim_end_matches(" ratio"))
            .in_group(group)
    });
    let totals = TOTALS.map(|(name, unit, _)| Column::new(name, unit).hidden());
    let table = Table {
        columns: [Column::of_words("codec")].into_iter().chain(shown).chain(totals).collect(),
        rows: own.iter().map(|row| row.entries()).collect(),
        conclusions: own.iter().filter_map(|row| row.verdict_line()).collect(),
        ..Table::default()
    };
    let mut tables: Vec<Table> = [Some(table), published_table(own)].into_iter().flatten().collect();
    if let Some(last) = tables.last_mut() {
        last.notes = [missing_backup_notes(own), missing_cpu_reasons(own), notes_of_rows(own)].concat();
    }
    let tables = tables.into_iter().chain(split_table(own));
    tables
        .map(|table| {
            View::Table(Table { family: WORKLOAD, case: case.clone(), placement: TablePlacement::Under, ..table })
        })
        .collect()
}

/// Groups rows by a key, in the order in which keys appear.
pub(crate) fn group_by<'r, R, K: PartialEq>(rows: &'r [R], key: impl Fn(&'r R) -> K) -> Vec<Vec<&'r R>> {
    let mut groups: Vec<(K, Vec<&R>)> = Vec::new();
    for row in rows {
        let own = key(row);
        match groups.iter_mut().find(|(known, _)| *known == own) {
            Some((_, group)) => group.push(row),
            None => groups.push((own, vec![row])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Makes the tables of all systems and groups.
fn table_views(rows: &[BackupRow]) -> Vec<View> {
    group_by(rows, |row| (&row.system, &row.group)).iter().flat_map(|own| group_views(own)).collect()
}

/// Id, title, unit and metric of the published charts.
const CHARTS: [(&str, &str, &str, &str); 5] = [
    ("backup-sizes", "Size of the backup", "MiB", "backup_size"),
    ("backup-rates", "Speed of the backup", "MiB of source data a second", "backup_rate"),
    ("backup-cpu", "CPU time of the backup", "s, of server, client and compressor", "backup_cpu"),
    ("restore-rates", "Speed of the restore", "MiB of source data a second", "restore_rate"),
    ("restore-cpu", "CPU time of the restore", "s, of server, client and compressor", "restore_cpu"),
];

/// Makes the bar charts of sizes, speeds and CPU times, and the growth of each backup's file.
fn chart_views(rows: &[BackupRow]) -> Vec<View> {
    let growth = Series {
        family: WORKLOAD,
        title: "Size of the backup's file".to_owned(),
        x: "seconds since the backup began".to_owned(),
        unit: "MiB in the backup's folder".to_owned(),
        lines: rows
            .iter()
            .enumerate()
            .map(|(index, row)| {
                let seconds = row.figures.get("backup_time").copied().unwrap_or(0.0);
                let points = row.growth.iter().map(|(share, bytes)| (share * seconds, bytes / MIB)).collect();
                SeriesLine { name: row.row_name(), points, index }
            })
            .collect(),
        id: "backup-growth".to_owned(),
    };
    CHARTS
        .into_iter()
        .map(|(id, title, unit, metric)| {
            let groups = rows
                .iter()
                .enumerate()
                .map(|(index, row)| {
                    let entry = row.metric_entry(metric, Form::Significant);
                    BarGroup {
                        name: row.row_name(),
                        bars: vec![Bar { index, name: row.row_name(), entry, highest_run: None }],
                    }
                })
                .collect();
            View::Bars(Bars {
                family: WORKLOAD,
                title: title.to_owned(),
                unit: unit.to_owned(),
                groups,
                id: id.to_owned(),
            })
        })
        .chain([View::Series(growth)])
        .collect()
}

/// Makes the views of an experiment's backups: tables of the load while they run, tables and charts of the backups.
fn backup_views(evidence: &Evidence, _: Option<&ComparisonSet>) -> Vec<View> {
    let rows = backup_rows(evidence);
    let mut views = crate::backup_load::table_views(evidence);
    views.extend(table_views(&rows));
    if !rows.is_empty() {
        views.extend(chart_views(&rows));
    }
    views
}

/// Says that every backup was restored and compared; `None` if one was not.
pub(crate) fn restored_sentence(evidence: &Evidence) -> Option<String> {
    let backups = evidence.cases.iter().enumerate().filter(|(_, case)| {
        let is = |key: &str, word: &str| case.point.get(key).and_then(Value::as_text) == Some(word);
        case.workload == WORKLOAD && !is("method", "none") && !is("destination", "nul")
    });
    let backups: Vec<u32> = backups.map(|(number, _)| number as u32).collect();
    let measured = evidence.runs.iter().filter(|run| run.state == RunState::Measured);
    let runs = measured.filter(|run| backups.contains(&run.planned.case)).count();
    let times = evidence.measurements.iter().filter(|row| backups.contains(&row.case));
    let restores = times.filter(|row| row.measurement.metric.id == "restore_time");
    let restored = restores.filter(|row| row.measurement.reading.value().is_some()).count();
    (runs > 0 && restored == runs).then(|| "Every backup was restored and compared.".to_owned())
}

/// Lists the comparisons of backups: each with the transactions alone, and each codec with none.
fn comparisons_of_backups(evidence: &Evidence) -> Vec<(&'static str, Options)> {
    let named = ["throughput", "response_p99"].map(str::to_owned).to_vec();
    let alone = Options {
        cols: Some(crate::backup_load::compared_keys(evidence)),
        metrics: MetricFilter::Named(named),
        ..Options::default()
    };
    let none = Options { a: Some("none".to_owned()), cols: Some(vec!["codec".to_owned()]), ..Options::default() };
    let is_loaded = !crate::backup_load::load_rows(evidence).is_empty();
    let alone = is_loaded.then_some(("Each backup against the transactions alone", alone));
    let none = (!backup_rows(evidence).is_empty()).then_some(("Each codec against none", none));
    alone.into_iter().chain(none).collect()
}

/// Backups, and transactions that ran meanwhile.
pub const FAMILY: Family = Family {
    name: WORKLOAD,
    judged: &[],
    part: [
        "Backups",
        "Backups",
        "What each codec saves and costs, and how the backup's file grew. Every restore was verified. A page of zeros saves \
         whatever the rest is: without such pages is what pages with content save.",
    ],
    // CPU time of the server's session alone would miss the threads that compress.
    footnote: "Geometric means of the runs; every restore was verified. Rates are of source data, s/GiB are CPU seconds of \
               server, client and compressor together for a GiB of it. `time` is against the backup without a codec in the same \
               round.\nIntervals and verdicts: `etalon compare STORE --cols codec`.",
    views: backup_views,
    compared: comparisons_of_backups,
};

#[cfg(test)]
mod tests;
