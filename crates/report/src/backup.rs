//! Backups by codec: the published table, and a verdict line per codec.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{Case, MarkKind, Reading, RunState, Value};

use crate::comparison::Index;
use crate::evidence::Evidence;
use crate::number::{Script, fixed, median, significant};
use crate::text::{Align, Grid, GridCell, GridLine, Style, clean, wrapped};

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
    /// What tells its group from others: keys that vary and say nothing of the codec.
    pub group: String,
    /// The codec with its level: `zstd-3`, `none`.
    pub codec: String,
    /// Medians of the runs, by metric.
    pub figures: BTreeMap<String, f64>,
    /// Metrics without a figure in any run.
    pub missing: BTreeMap<String, String>,
    /// The runs' notes, such as a substituted method.
    pub notes: Vec<String>,
    /// Over the backup without a codec: median, lowest and highest of the rounds.
    pub time_ratio: Option<[f64; 3]>,
    /// Rounds that have such a ratio: those in which both were measured.
    pub time_ratios: usize,
    /// Of the restore, likewise.
    pub restore_ratio: Option<[f64; 3]>,
    /// Share of the time, and bytes of the backup's file: median of the runs.
    pub growth: Vec<(f64, f64)>,
}

/// A run's round and values.
pub(crate) struct Measured {
    pub(crate) run: i64,
    pub(crate) round: u32,
    pub(crate) values: BTreeMap<String, Reading>,
}

pub(crate) fn value(reading: &Reading) -> Option<f64> {
    match reading {
        Reading::Value(value) if value.is_finite() => Some(*value),
        _ => None,
    }
}

/// In the plan's order; empty without backups.
pub fn rows(evidence: &Evidence) -> Vec<BackupRow> {
    let backed_up =
        |case: &Case| case.workload == WORKLOAD && case.point.get("method").and_then(Value::as_text) != Some("none");
    let cases: Vec<(usize, &Case)> = evidence.cases.iter().enumerate().filter(|(_, case)| backed_up(case)).collect();
    let measured: Vec<Vec<Measured>> = cases.iter().map(|(index, _)| runs(evidence, *index)).collect();
    let readings = Index::new(evidence);
    let mut rows = Vec::new();
    for ((index, case), own) in cases.iter().zip(&measured) {
        if own.is_empty() {
            continue;
        }
        let baseline = cases.iter().zip(&measured).find(|((_, other), _)| is_baseline(case, other));
        let is_whole = |index: usize| evidence.failed(index as u32) == 0;
        let baseline = baseline.filter(|((other, _), _)| is_whole(*index) && is_whole(*other));
        let baseline = baseline.map(|(_, runs)| runs.as_slice()).filter(|_| codec_of(case) != "none");
        rows.push(row(evidence, &readings, (*index as u32, case), own, baseline));
    }
    rows
}

pub(crate) fn runs(evidence: &Evidence, case: usize) -> Vec<Measured> {
    let last = evidence.last_attempts();
    let own = last.iter().filter(|t| t.planned.case as usize == case && t.state == RunState::Measured);
    own.map(|run| Measured {
        run: run.id,
        round: run.planned.round,
        values: evidence
            .measurements
            .iter()
            .filter(|one| one.run_id == run.id)
            .map(|one| (one.measurement.metric.id.clone(), one.measurement.reading.clone()))
            .collect(),
    })
    .collect()
}

fn is_baseline(case: &Case, other: &Case) -> bool {
    let same = |key: &String| CODEC_KEYS.contains(&key.as_str()) || case.point.get(key) == other.point.get(key);
    other.system == case.system
        && other.benchmark == case.benchmark
        && codec_of(other) == "none"
        && case.point.keys().all(same)
}

fn codec_of(case: &Case) -> &str {
    case.point.get("codec").and_then(Value::as_text).unwrap_or("none")
}

/// `zstd-3, 2 workers, at the server`: what is not usual is said.
pub(crate) fn codec_label(case: &Case) -> String {
    let codec = codec_of(case);
    let int = |key: &str| case.point.get(key).and_then(Value::as_int).unwrap_or(0);
    let usual = USUAL_LEVELS.iter().find(|(name, _)| *name == codec).map_or(0, |(_, level)| *level);
    if codec == "none" {
        return codec.to_owned();
    }
    let mut label = match (int("level"), usual) {
        // SQL Server's own codecs have no levels.
        (0, 0) => codec.to_owned(),
        (0, level) | (level, _) => format!("{codec}-{level}"),
    };
    if int("workers") > 0 {
        let _ = write!(label, " ×{}", int("workers"));
    }
    match case.point.get("where").and_then(Value::as_text) {
        Some("server") => label.push_str(" at the server"),
        Some("client") => label.push_str(" at the client"),
        _ => {}
    }
    label
}

/// Each note once.
fn notes(evidence: &Evidence, own: &[Measured]) -> Vec<String> {
    let marks = own.iter().flat_map(|run| evidence.marks_of(run.run));
    let mut notes: Vec<String> = Vec::new();
    for mark in marks.filter(|mark| mark.kind == MarkKind::Note) {
        if !notes.contains(&mark.detail) {
            notes.push(mark.detail.clone());
        }
    }
    notes
}

/// Each note once, with its backups unless it holds for all.
pub(crate) fn noted(rows: &[&BackupRow], name: impl Fn(&BackupRow) -> String) -> Vec<String> {
    let mut notes: Vec<&String> = Vec::new();
    for note in rows.iter().flat_map(|row| &row.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    let told = |note: &&String| {
        let of: Vec<&&BackupRow> = rows.iter().filter(|row| row.notes.contains(note)).collect();
        let names: Vec<String> = of.iter().map(|row| name(row)).collect();
        if of.len() == rows.len() { format!("note: {note}") } else { format!("note, {}: {note}", names.join(", ")) }
    };
    notes.iter().map(told).collect()
}

fn row(
    evidence: &Evidence,
    index: &Index,
    (case_index, case): (u32, &Case),
    own: &[Measured],
    baseline: Option<&[Measured]>,
) -> BackupRow {
    let varying = evidence.header.plan.varying_keys(&case.benchmark);
    // Beside `none`, which has no row here, `native` says nothing.
    let is_usual = |key: &str| key == "method" && case.point.get(key).and_then(Value::as_text) == Some("native");
    let keys = varying.iter().filter(|key| !CODEC_KEYS.contains(&key.as_str()) && !is_usual(key));
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
        match index.of_all_runs(case_index, id) {
            Ok(points) => figures.extend(median(points.iter().map(|p| p.value)).map(|middle| (id.clone(), middle))),
            Err((why, _)) => drop(missing.insert(id.clone(), why)),
        }
    }
    let growth = (0..=100)
        .step_by(GROWTH_STEP)
        .filter_map(|percent| Some((percent as f64 / 100.0, *figures.get(&format!("backup_file/{percent:03}"))?)));
    let against = |metric| baseline.map_or_else(Vec::new, |baseline| ratios(own, baseline, metric));
    BackupRow {
        system: case.system.clone(),
        group: group.join(", "),
        codec: codec_label(case),
        time_ratio: summary(&against("backup_time")),
        time_ratios: against("backup_time").len(),
        restore_ratio: summary(&against("restore_time")),
        growth: growth.collect(),
        notes: notes(evidence, own),
        figures,
        missing,
    }
}

/// One per round in which both were measured; none at all if a run of these lacks the metric, since the others would stand
/// for it.
pub(crate) fn ratios(own: &[Measured], baseline: &[Measured], metric: &str) -> Vec<f64> {
    let of = |run: &Measured| run.values.get(metric).and_then(value).filter(|value| *value > 0.0);
    let of_round = |run: &Measured| {
        let other = baseline.iter().find(|other| other.round == run.round)?;
        Some(of(run).zip(of(other)).map(|(own, other)| own / other))
    };
    own.iter().filter_map(of_round).collect::<Option<Vec<f64>>>().unwrap_or_default()
}

/// Median, lowest, highest.
pub(crate) fn summary(ratios: &[f64]) -> Option<[f64; 3]> {
    let lowest = ratios.iter().copied().min_by(f64::total_cmp)?;
    let highest = ratios.iter().copied().max_by(f64::total_cmp)?;
    Some([median(ratios.iter().copied())?, lowest, highest])
}

impl BackupRow {
    fn shown(&self, metric: &str, decimals: usize, divisor: f64) -> String {
        self.figures.get(metric).map_or_else(|| "n/a".to_owned(), |value| fixed(value / divisor, decimals))
    }

    /// One line; `None` without a codec.
    pub fn verdict(&self) -> Option<String> {
        let [ratio, lowest, highest] = self.time_ratio?;
        let saving = self.figures.get("saving")?;
        let cpu = match self.figures.get("backup_cpu_per_gib") {
            Some(cpu) => format!("{cpu:.1} CPU-seconds per GiB"),
            None => "CPU time that is not known".to_owned(),
        };
        // Encrypted data, as a rule.
        let saved = if *saving < 0.5 { "nothing".to_owned() } else { format!("{saving:.0} %") };
        let of_rounds = match self.time_ratios {
            1 => "one run: no more than a hint".to_owned(),
            rounds => format!("{lowest:.2}× to {highest:.2}× in {rounds} rounds"),
        };
        Some(format!("{} saves {saved} and takes {ratio:.2}× the time for {cpu} ({of_rounds})", self.codec))
    }
}

/// The row without a codec that this one is compared with, maybe itself.
fn plain<'r>(rows: &[&'r BackupRow], row: &BackupRow) -> Option<&'r BackupRow> {
    rows.iter().copied().find(|other| other.system == row.system && other.group == row.group && other.codec == "none")
}

/// `+24.8 %` over the backup without a codec, as was published; a dash for that one itself.
pub(crate) fn more(rows: &[&BackupRow], row: &BackupRow, metric: &str, script: Script) -> String {
    if row.codec == "none" {
        return if script == Script::Plain { "-" } else { "–" }.to_owned();
    }
    let figure = |row: &BackupRow| row.figures.get(metric).copied();
    match figure(row).zip(plain(rows, row).and_then(figure)) {
        Some((own, without)) if without > 0.0 => {
            let share = (own / without - 1.0) * 100.0;
            let sign = match (share < 0.0, script) {
                (false, _) => "+",
                (true, Script::Plain) => "-",
                (true, Script::Typographic) => "\u{2212}",
            };
            format!("{sign}{} %", significant(share.abs(), 3, script))
        }
        _ => "n/a".to_owned(),
    }
}

/// The last columns of the published tables: speed and CPU time in percent of the backup without a codec. Empty
/// without one.
fn published(rows: &[&BackupRow]) -> String {
    let coded: Vec<&&BackupRow> = rows.iter().filter(|row| row.codec != "none" && plain(rows, row).is_some()).collect();
    if coded.is_empty() {
        return String::new();
    }
    let mut grid = Grid::new(vec![Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    let heads = ["codec", "backup rate", "CPU time", "restore rate", "CPU time"];
    grid.push(GridLine::Cells(heads.map(GridCell::new).to_vec()));
    for row in coded {
        let figures = ["backup_rate", "backup_cpu", "restore_rate", "restore_cpu"];
        let figures = figures.map(|metric| more(rows, row, metric, Script::Plain));
        let cases = std::iter::once(row.codec.clone()).chain(figures);
        grid.push(GridLine::Cells(cases.map(GridCell::new).collect()));
    }
    format!("  against none, in percent as published\n{}", indented(&grid.render(Style::Plain)))
}

/// Reasons for missing CPU time.
fn without_cpu(rows: &[&BackupRow]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (metric, of) in [("backup_cpu_per_gib", "backup"), ("restore_cpu_per_gib", "restore")] {
        for reason in rows.iter().filter_map(|row| row.missing.get(metric)).filter(|reason| !reason.is_empty()) {
            let line = format!("s/GiB of the {of}: n/a: {reason}");
            // Rows without any figures are reported separately.
            if !lines.contains(&line) && rows.iter().all(|row| row.missing.get("backup_rate") != Some(reason)) {
                lines.push(line);
            }
        }
    }
    lines
}

/// Backups without figures, grouped by reason: `gzip-6, lz4-1: n/a: …`.
pub(crate) fn lacking(rows: &[&BackupRow], name: impl Fn(&BackupRow) -> String) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for row in rows {
        let Some(reason) = row.missing.get("backup_rate") else { continue };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(name(row)),
            None => reasons.push((reason, vec![name(row)])),
        }
    }
    reasons.iter().map(|(reason, names)| format!("{}: n/a: {reason}", names.join(", "))).collect()
}

/// Smallest terminal width.
const WIDTH: usize = 80;

/// A backup's files of one class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassShare {
    /// `data`, `log`, `undo` or `other`.
    pub class: &'static str,
    /// Before compression.
    pub source_bytes: f64,
    /// In never-used pages.
    pub zero_bytes: Option<f64>,
    /// Percent saved.
    pub saving: Option<f64>,
    /// Without never-used pages.
    pub saving_without_zero_pages: Option<f64>,
}

impl BackupRow {
    /// Empty without a codec.
    pub fn classes(&self) -> Vec<ClassShare> {
        let share = |class: &'static str| {
            let figure = |family: &str| self.figures.get(&format!("{family}/{class}")).copied();
            let source_bytes = figure("source_size").filter(|bytes| *bytes > 0.0)?;
            let zero_bytes = figure("zero_pages");
            let of_all = || figure("saving").filter(|_| zero_bytes == Some(0.0));
            let saving_without_zero_pages = figure("saving_without_zero_pages").or_else(of_all);
            Some(ClassShare { class, source_bytes, zero_bytes, saving: figure("saving"), saving_without_zero_pages })
        };
        if self.codec == "none" { Vec::new() } else { CLASSES.iter().filter_map(|class| share(class)).collect() }
    }
}

impl ClassShare {
    /// MiB, MiB of zero pages, percent saved, percent saved of the rest.
    pub fn shown(&self) -> [String; 4] {
        let text = |value: Option<f64>| value.map_or_else(|| "n/a".to_owned(), |value| fixed(value, 1));
        let mib = |bytes: Option<f64>| text(bytes.map(|bytes| bytes / MIB));
        [mib(Some(self.source_bytes)), mib(self.zero_bytes), text(self.saving), text(self.saving_without_zero_pages)]
    }
}

pub const CLASS_HEADS: [&str; 4] = ["MiB", "zero pages", "saved %", "without them %"];
const CLASSES: [&str; 4] = ["data", "log", "undo", "other"];
const MIB: f64 = (1u64 << 20) as f64;

/// Saving by class of files; empty if no backup is split.
fn split(rows: &[&BackupRow]) -> String {
    let line = |row: &BackupRow, share: ClassShare| {
        let names = [row.codec.clone(), share.class.to_owned()];
        GridLine::Cells(names.into_iter().chain(share.shown()).map(GridCell::new).collect())
    };
    let lines: Vec<GridLine> =
        rows.iter().flat_map(|row| row.classes().into_iter().map(|share| line(row, share))).collect();
    if lines.is_empty() {
        return String::new();
    }
    let left = [Align::Left; 2].into_iter();
    let mut grid = Grid::new(left.chain(CLASS_HEADS.map(|_| Align::Right)).collect());
    let heads = ["codec", "files"].into_iter().chain(CLASS_HEADS);
    grid.push(GridLine::Cells(heads.map(|head| GridCell::new(head.to_owned())).collect()));
    lines.into_iter().for_each(|line| grid.push(line));
    format!("  where the saving is, MiB and percent\n{}", indented(&grid.render(Style::Plain)))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

const HEAD: [&str; 9] = ["codec", "MiB", "saved %", "MiB/s", "time", "s/GiB", "MiB/s", "time", "s/GiB"];
/// Second head line: title, and its last column.
const OVER: [(&str, usize); 2] = [("backup", 5), ("restore", 8)];

/// Of loads beside backups, and for each system and group.
pub fn tables(evidence: &Evidence) -> String {
    let loads = crate::backup_load::rows(evidence);
    let tables =
        crate::backup_load::render(&loads) + &crate::backup_load::footnote(evidence, &loads) + &render(&rows(evidence));
    crate::words::unfinished_above(evidence, WIDTH) + &tables
}

pub fn render(rows: &[BackupRow]) -> String {
    let mut text = String::new();
    let mut groups: Vec<(&str, &str)> = Vec::new();
    for row in rows {
        if !groups.contains(&(&row.system, &row.group)) {
            groups.push((&row.system, &row.group));
        }
    }
    for (system, group) in groups {
        let own: Vec<&BackupRow> = rows.iter().filter(|row| row.system == system && row.group == group).collect();
        let Some(first) = own.first() else { continue };
        let comma = if group.is_empty() { "" } else { ", " };
        // A missing codec leaves no sizes.
        let sized = own.iter().find(|row| row.figures.contains_key("source_size")).unwrap_or(first);
        let source = sized.shown("source_size", 1, MIB);
        let _ = writeln!(text, "{}{comma}{}: {source} MiB", clean(system), clean(group));
        let times =
            |ratio: Option<[f64; 3]>| ratio.map_or_else(|| "-".to_owned(), |[middle, ..]| format!("{middle:.2}×"));
        let mut lines = vec![HEAD.map(str::to_owned)];
        lines.extend(own.iter().map(|row| {
            [
                row.codec.clone(),
                row.shown("backup_size", 1, MIB),
                row.shown("saving", 1, 1.0),
                row.shown("backup_rate", 1, 1.0),
                times(row.time_ratio),
                row.shown("backup_cpu_per_gib", 2, 1.0),
                row.shown("restore_rate", 1, 1.0),
                times(row.restore_ratio),
                row.shown("restore_cpu_per_gib", 2, 1.0),
            ]
        }));
        text.push_str(&columns(&lines));
        own.iter().filter_map(|row| row.verdict()).for_each(|verdict| text.push_str(&said(&verdict)));
        text.push_str(&published(&own));
        for line in lacking(&own, |row| row.codec.clone())
            .into_iter()
            .chain(without_cpu(&own))
            .chain(noted(&own, |row| row.codec.clone()))
        {
            let _ = write!(text, "  {}", wrapped(&clean(&line), WIDTH - 2, 4));
        }
        text.push_str(&split(&own));
        text.push('\n');
    }
    text.push_str(FOOTNOTE);
    text
}

/// In two lines: the second has the cost, or the uncertainty.
pub(crate) fn said(verdict: &str) -> String {
    match verdict.find(" for ").or_else(|| verdict.rfind(" (")) {
        Some(place) => format!("  {}\n   {}\n", &verdict[..place], &verdict[place..]),
        None => format!("  {verdict}\n"),
    }
}

/// What the figures are.
const FOOTNOTE: &str = "Medians of the runs; every restore was verified. Rates are of source data,\n\
                        s/GiB are CPU seconds of server, client and compressor together for a GiB of it.\n\
                        `time` is against the backup without a codec in the same round. Intervals and\n\
                        verdicts: `etalon compare STORE --cols codec`.";

/// First column left-aligned, the others right-aligned.
fn columns(lines: &[[String; 9]]) -> String {
    let width = |place: usize| lines.iter().map(|line| line[place].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut text = String::from("  ");
    let mut at = 0;
    for (name, last) in OVER {
        // Two blanks between columns.
        let end = widths.iter().take(last + 1).sum::<usize>() + 2 * last;
        let _ = write!(text, "{}", " ".repeat((end - at).saturating_sub(name.len())));
        text.push_str(name);
        at = end;
    }
    text.push('\n');
    for line in lines {
        let mut row = String::from("  ");
        for (place, (word, width)) in line.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - word.chars().count());
            let _ = if place == 0 { write!(row, "{word}{pad}") } else { write!(row, "  {pad}{word}") };
        }
        let _ = writeln!(text, "{}", row.trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(codec: &str, runs: usize) -> BackupRow {
        let figures = [("saving", 78.2), ("backup_cpu_per_gib", 14.04), ("backup_size", 1048576.0)];
        BackupRow {
            system: "here".to_owned(),
            group: String::new(),
            codec: codec.to_owned(),
            figures: figures.iter().map(|(id, value)| ((*id).to_owned(), *value)).collect(),
            missing: BTreeMap::new(),
            time_ratio: (codec != "none").then_some([0.9, 0.85, 0.97]),
            time_ratios: runs,
            restore_ratio: None,
            growth: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_verdict_is_one_line() {
        let expected =
            "zstd-3 saves 78 % and takes 0.90× the time for 14.0 CPU-seconds per GiB (0.85× to 0.97× in 6 rounds)";
        assert_eq!(row("zstd-3", 6).verdict().unwrap(), expected);
        assert!(row("zstd-3", 1).verdict().unwrap().contains("one run"));
        assert_eq!(row("none", 6).verdict(), None);
        let mut encrypted = row("zstd-3", 6);
        encrypted.figures.insert("saving".to_owned(), -0.02);
        assert!(encrypted.verdict().unwrap().starts_with("zstd-3 saves nothing and takes 0.90× the time"));
    }

    #[test]
    fn the_rounds_of_a_verdict_are_those_that_have_a_baseline() {
        let measured = |round, ms| {
            let values = [("backup_time".to_owned(), Reading::Value(ms))].into();
            Measured { run: 0, round, values }
        };
        let own: Vec<Measured> = (0..6).map(|round| measured(round, 9.0)).collect();
        let found = ratios(&own, &[measured(2, 10.0), measured(7, 1.0)], "backup_time");
        assert_eq!((found.as_slice(), summary(&found)), (&[0.9][..], Some([0.9; 3])));
        let one = BackupRow { time_ratio: summary(&found), time_ratios: found.len(), ..row("zstd-3", 6) };
        assert!(one.verdict().unwrap().ends_with("(one run: no more than a hint)"), "{one:?}");
    }

    #[test]
    fn what_is_not_known_is_no_number() {
        let text = render(&[row("none", 6), row("zstd-3", 6)]);
        let line = text.lines().find(|line| line.trim_start().starts_with("none")).unwrap();
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>(),
            ["none", "1.0", "78.2", "n/a", "-", "14.04", "n/a", "-", "n/a"]
        );
    }

    #[test]
    fn a_codec_that_an_engine_lacks_is_named_with_the_reason() {
        let reason = "SQL Server compresses with MS_XPRESS, QAT_DEFLATE or ZSTD".to_owned();
        let none = |codec: &str| BackupRow {
            figures: BTreeMap::new(),
            missing: BTreeMap::from([("backup_rate".to_owned(), reason.clone())]),
            time_ratio: None,
            ..row(codec, 6)
        };
        let text = render(&[none("gzip-6"), none("lz4-1"), row("zstd-3", 6)]);
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("gzip-6, lz4-1: n/a: {reason}")), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_terminal_of_80_columns_is_enough() {
        let mut rows = [row("none", 6), row("zstd-3 at the server", 6)];
        let figures = [("backup_rate", 1234.5), ("restore_rate", 1234.5), ("restore_cpu_per_gib", 2.5)];
        let figures = figures.map(|(id, value)| (id.to_owned(), value));
        rows.iter_mut().for_each(|row| row.figures.extend(figures.clone()));
        rows[1].restore_ratio = Some([2.34; 3]);
        let text = render(&rows);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["backup", "restore"]);
        assert_eq!(lines[1].chars().count(), lines[2].chars().count(), "{text}");
    }

    #[test]
    fn speed_and_cpu_time_are_told_in_percent_as_published_and_why_they_are_not_known() {
        let with = |codec: &str, rate: f64, cpu: Option<f64>| {
            let mut row = row(codec, 6);
            row.figures.insert("backup_rate".to_owned(), rate);
            match cpu {
                Some(cpu) => drop(row.figures.insert("backup_cpu".to_owned(), cpu)),
                None => {
                    row.figures.remove("backup_cpu_per_gib");
                    let why = "the server's processes are not étalon's own".to_owned();
                    row.missing.insert("backup_cpu_per_gib".to_owned(), why);
                }
            }
            row
        };
        // The article's plain database.
        let text = render(&[with("none", 105.18, Some(1594.0)), with("zstd-3", 131.26, Some(2067.0))]);
        let line = text.lines().skip_while(|line| !line.contains("as published")).nth(2).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words, ["zstd-3", "+24.8", "%", "+29.7", "%", "n/a", "n/a"]);
        let text = render(&[with("none", 105.18, None), with("zstd-3", 90.0, None)]);
        let note = "second choice: cannot back up by `mariadb-backup`".to_owned();
        let noted = |codec: &str| BackupRow { notes: vec![note.clone()], ..with(codec, 90.0, None) };
        let text_of_all = render(&[noted("none"), noted("zstd-3")]);
        assert_eq!(text_of_all.matches(&format!("note: {note}")).count(), 1, "{text_of_all}");
        assert!(render(&[with("none", 90.0, None), noted("zstd-3")]).contains(&format!("note, zstd-3: {note}")));
        assert_eq!(text.matches("s/GiB of the backup: n/a: the server's processes").count(), 1, "{text}");
        assert!(text.contains("-14.4 %"), "{text}");
    }

    #[test]
    fn ratios_are_taken_within_rounds() {
        let run = |round, time| Measured {
            run: 0,
            round,
            values: BTreeMap::from([("backup_time".to_owned(), Reading::Value(time))]),
        };
        let own = [run(0, 2.0), run(1, 30.0), run(2, 5.0)];
        let none = [run(0, 1.0), run(1, 10.0), run(3, 9.0)];
        assert_eq!(summary(&ratios(&own, &none, "backup_time")), Some([2.5, 2.0, 3.0]));
        assert_eq!(summary(&ratios(&own, &none, "restore_time")), None);
    }
}
