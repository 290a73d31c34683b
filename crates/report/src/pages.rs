//! Page inserts as they were published: a row of counters for each file of each trial, the mean latencies, and who gains
//! how much. Beside them what the published tables leave out: latencies by MiB, and verdicts.
//!
//! A row's averages are the published ones, `stall / (1 + n)` to one decimal. All others are means over the trials of
//! `stall / n`, rounded once, when they are printed.

use std::fmt::Write as _;

use model::{Cell, Reading};

use crate::comparison::{Comparison, ComparisonSet, Outcome};
use crate::evidence::Evidence;
use crate::html::cells::{CellView, SystemCell, views};
use crate::number::{Script, median};
use crate::text::{Align, Grid, GridCell, GridLine, Style, clean, wrapped};
use crate::words::{change, families, verdict_words};

/// The workload whose cells are shown.
const WORKLOAD: &str = "pages";

/// The metrics that verdicts are given on.
pub const JUDGED: [&str; 5] = ["avg_read", "avg_write", "mib_read", "mib_write", "wait_per_commit"];

/// A class of files: its name in metrics, and in the published tables.
pub const CLASSES: [(&str, &str); 2] = [("data", "DATA"), ("log", "TRAN")];

/// The counters of the published table, in its order.
const COUNTERS: [&str; 6] = ["reads", "read_bytes", "read_stall", "writes", "write_bytes", "write_stall"];

/// What the conclusions are drawn from: in words, and the metrics of reads and of writes.
const MEASURES: [(&str, &str, &str); 3] = [
    ("ms for each operation", "avg_read", "avg_write"),
    ("ms for each MiB", "mib_read", "mib_write"),
    ("ms that a commit waits, syncs included", "", "wait_per_commit"),
];

/// The files of a class in one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct FileRow {
    /// The trial's block.
    pub block: u32,
    /// `DATA` or `TRAN`.
    pub class: &'static str,
    /// How large they were at its end, in MiB.
    pub size_mib: Option<f64>,
    /// Reads, bytes read, their stall in ms; writes, bytes written, their stall in ms.
    pub counters: [Option<f64>; 6],
    /// The same since the files were opened, where that was kept.
    pub totals: [Option<f64>; 6],
}

/// A pair of means: of reads, and of writes.
pub type Means = [Option<f64>; 2];

/// What the operating system counted beside the engine: means over the trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OsAccount {
    /// Who, in words; reads, bytes read, writes, bytes written.
    pub lines: Vec<(&'static str, [Option<f64>; 4])>,
    /// The share of the bytes written that the engine's counters did not see, in percent.
    pub unseen: Option<f64>,
    /// The share that is left when what they are known to leave out is added.
    pub unexplained: Option<f64>,
    /// Why nothing is known.
    pub reason: Option<String>,
}

/// The operating system's accounts, in words, and the metrics of their reads, bytes read, writes and bytes written.
const ACCOUNTS: [(&str, [&str; 4]); 3] = [
    ("the processes, in calls", ["os_reads/processes", "", "os_writes/processes", "os_write_bytes/calls"]),
    ("the same, at the device", ["", "os_read_bytes/processes", "", "os_write_bytes/processes"]),
    (
        "the device, by whomever",
        ["os_reads/device", "os_read_bytes/device", "os_writes/device", "os_write_bytes/device"],
    ),
];

/// What one system did at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemTable {
    /// The system.
    pub system: String,
    /// Its rows, in run order.
    pub rows: Vec<FileRow>,
    /// The mean latencies, by measure and then by class.
    pub means: [[Means; 2]; 3],
    /// The operating system's account.
    pub os: OsAccount,
    /// What is not there, and why.
    pub unknown: Vec<String>,
}

/// One system against another, on the files of a class.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// What it is drawn from, in words.
    pub measure: &'static str,
    /// `DATA` or `TRAN`.
    pub class: &'static str,
    /// Reads and writes of the baseline.
    pub a: Means,
    /// Reads and writes of the other.
    pub b: Means,
    /// How many times one is faster, and which, in reads and in writes.
    pub gains: [Option<(f64, String)>; 2],
}

/// One point of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What tells it from the others.
    pub title: String,
    /// Every system's table.
    pub systems: Vec<SystemTable>,
    /// The conclusions of each pair: baseline, other.
    pub conclusions: Vec<((String, String), Vec<Conclusion>)>,
}

/// What a commit took of I/O on average: medians over the trials.
#[derive(Clone, Debug, PartialEq)]
pub struct PerCommit {
    /// The system.
    pub system: String,
    /// Its place in the plan.
    pub index: usize,
    /// `DATA` or `TRAN`.
    pub class: &'static str,
    /// Writes.
    pub writes: Option<f64>,
    /// Bytes written.
    pub bytes: Option<f64>,
    /// Syncs.
    pub syncs: Option<f64>,
    /// Milliseconds waited in writes and syncs.
    pub wait_ms: Option<f64>,
}

/// The trials of a cell that were measured, in run order: identity and block.
fn trials(evidence: &Evidence, cell: u32) -> Vec<(i64, u32)> {
    let mut found: Vec<_> = evidence
        .last_attempts()
        .into_iter()
        .filter(|trial| trial.planned.cell == cell && trial.state == model::TrialState::Measured)
        .map(|trial| (trial.planned.position, trial.id, trial.planned.block))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id, block)| (id, block)).collect()
}

fn reading<'e>(evidence: &'e Evidence, trial: i64, id: &str) -> Option<&'e Reading> {
    let of_trial = evidence.measurements.iter().filter(|stored| stored.trial_id == trial);
    of_trial.map(|stored| &stored.measurement).find(|m| m.metric.id == id).map(|m| &m.reading)
}

fn value(evidence: &Evidence, trial: i64, id: &str) -> Option<f64> {
    match reading(evidence, trial, id)? {
        Reading::Value(value) => Some(*value),
        Reading::Unavailable(_) => None,
    }
}

/// The mean of a metric over trials; none if a trial has none, since the others would stand for it.
fn mean(evidence: &Evidence, trials: &[(i64, u32)], id: &str) -> Option<f64> {
    let values: Option<Vec<f64>> = trials.iter().map(|(trial, _)| value(evidence, *trial, id)).collect();
    let values = values.filter(|values| !values.is_empty())?;
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

fn os_account(evidence: &Evidence, trials: &[(i64, u32)]) -> OsAccount {
    let of = |id: &str| mean(evidence, trials, id);
    let lines = ACCOUNTS.map(|(name, metrics)| (name, metrics.map(of)));
    let reason = trials.iter().find_map(|(trial, _)| match reading(evidence, *trial, "unseen/writes") {
        Some(Reading::Unavailable(reason)) => Some(reason.clone()),
        _ => None,
    });
    OsAccount {
        lines: lines.into_iter().filter(|(_, figures)| figures.iter().any(Option::is_some)).collect(),
        unseen: of("unseen/writes"),
        unexplained: of("unexplained/writes"),
        reason,
    }
}

/// What is not there, and why; what is missing for the same reason stands together.
fn unknown(evidence: &Evidence, trials: &[(i64, u32)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (class, published) in CLASSES {
        for (family, what) in [("file_size", "size"), ("avg_read", "reads"), ("avg_write", "writes")] {
            let id = format!("{family}/{class}");
            let of_trial = |(trial, _): &(i64, u32)| match reading(evidence, *trial, &id) {
                Some(Reading::Unavailable(reason)) => Some(reason.as_str()),
                _ => None,
            };
            let Some(reason) = trials.iter().find_map(of_trial) else { continue };
            let what = format!("{published} {what}");
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, all)) => all.push(what),
                None => reasons.push((reason, vec![what])),
            }
        }
    }
    reasons.iter().map(|(reason, what)| format!("{}: {reason}", what.join(", "))).collect()
}

fn system_table(evidence: &Evidence, cell: &SystemCell<'_>) -> SystemTable {
    let trials = trials(evidence, cell.cell);
    let row = |(trial, block): &(i64, u32), (class, published): (&str, &'static str)| FileRow {
        block: *block,
        class: published,
        size_mib: value(evidence, *trial, &format!("file_size/{class}")).map(|bytes| bytes / 1_048_576.0),
        counters: COUNTERS.map(|counter| value(evidence, *trial, &format!("{counter}/{class}"))),
        totals: COUNTERS.map(|counter| value(evidence, *trial, &format!("{counter}_total/{class}"))),
    };
    let means = MEASURES.map(|(_, reads, writes)| {
        CLASSES.map(|(class, _)| [reads, writes].map(|family| mean(evidence, &trials, &format!("{family}/{class}"))))
    });
    let unknown = unknown(evidence, &trials);
    let rows = trials.iter().flat_map(|trial| CLASSES.map(|class| row(trial, class))).collect();
    let os = os_account(evidence, &trials);
    SystemTable { system: cell.name.to_owned(), rows, means, os, unknown }
}

/// How many times the faster of two is faster, and which it is. Nothing if one is not known, or did nothing.
fn gain(a: Option<f64>, b: Option<f64>, names: (&str, &str)) -> Option<(f64, String)> {
    let (a, b) = (a.filter(|a| *a > 0.0)?, b.filter(|b| *b > 0.0)?);
    Some(if a <= b { (b / a, names.0.to_owned()) } else { (a / b, names.1.to_owned()) })
}

fn conclusions(a: &SystemTable, b: &SystemTable) -> Vec<Conclusion> {
    let mut all = Vec::new();
    for (place, (measure, ..)) in MEASURES.into_iter().enumerate() {
        for (index, (_, class)) in CLASSES.into_iter().enumerate() {
            let (of_a, of_b) = (a.means[place][index], b.means[place][index]);
            let gains = [0, 1].map(|kind| gain(of_a[kind], of_b[kind], (&a.system, &b.system)));
            all.push(Conclusion { measure, class, a: of_a, b: of_b, gains });
        }
    }
    all
}

fn is_pages(evidence: &Evidence, view: &CellView<'_>) -> bool {
    let of = |cell: &Cell| cell.workload == WORKLOAD;
    view.systems.first().and_then(|system| evidence.cell(system.cell)).is_some_and(of)
}

/// The tables of an experiment, one section for each point; none if it has no page inserts.
pub fn sections(evidence: &Evidence) -> Vec<Section> {
    let baseline = &evidence.header.plan.comparison.baseline;
    let section = |view: &CellView<'_>| {
        let systems: Vec<SystemTable> = view.systems.iter().map(|system| system_table(evidence, system)).collect();
        let a = systems.iter().find(|table| table.system == *baseline).or_else(|| systems.first());
        let others = |a: &SystemTable| {
            let others = systems.iter().filter(|table| table.system != a.system);
            others.map(|b| ((a.system.clone(), b.system.clone()), conclusions(a, b))).collect()
        };
        let conclusions = a.map(others).unwrap_or_default();
        Section { title: view.title.clone(), conclusions, systems: systems.clone() }
    };
    views(evidence).iter().filter(|view| is_pages(evidence, view)).map(section).collect()
}

/// What a commit took of I/O, by point, system and class.
pub fn per_commit(evidence: &Evidence) -> Vec<(String, Vec<PerCommit>)> {
    let one = |system: &SystemCell<'_>, (class, published): (&str, &'static str)| {
        let trials = trials(evidence, system.cell);
        let share = |family: &str| {
            let id = format!("{family}/{class}");
            let of = |trial: i64| Some(value(evidence, trial, &id)? / value(evidence, trial, "statements")?);
            median(trials.iter().filter_map(|(trial, _)| of(*trial)))
        };
        let waits = format!("wait_per_commit/{class}");
        PerCommit {
            system: system.name.to_owned(),
            index: system.index,
            class: published,
            writes: share("writes"),
            bytes: share("write_bytes"),
            syncs: share("syncs"),
            wait_ms: median(trials.iter().filter_map(|(trial, _)| value(evidence, *trial, &waits))),
        }
    };
    let of_view = |view: &CellView<'_>| {
        let all = view.systems.iter().flat_map(|system| CLASSES.map(|class| one(system, class)));
        (view.title.clone(), all.collect())
    };
    views(evidence).iter().filter(|view| is_pages(evidence, view)).map(of_view).collect()
}

/// A value with its decimals, or `n/a`.
pub fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.decimals$}"))
}

/// The published average of a row: to one decimal, half up.
fn average(stall_ms: Option<f64>, count: Option<f64>) -> String {
    let rounded = stall_ms.zip(count).map(|(stall, count)| (stall / (1.0 + count) * 10.0 + 0.5).floor() / 10.0);
    shown(rounded, 1)
}

/// `2.8x (linux)`: with two decimals where one would show 1.0 or 1.1.
pub fn gain_words(gain: Option<&(f64, String)>) -> String {
    match gain {
        Some((times, winner)) if *times < 1.15 => format!("{times:.2}x ({winner})"),
        Some((times, winner)) => format!("{times:.1}x ({winner})"),
        None => "n/a".to_owned(),
    }
}

/// A mean: with two decimals as published, or with four where two would show none.
pub fn mean_words(value: Option<f64>) -> String {
    shown(value, if value.is_some_and(|value| value.abs() < 0.1) { 4 } else { 2 })
}

/// The cells of a row of the published table.
pub fn cells(row: &FileRow) -> Vec<String> {
    let [reads, read_bytes, read_stall, writes, write_bytes, write_stall] = row.counters;
    let mut cells = vec![row.class.to_owned(), shown(row.size_mib, 2)];
    cells.extend([reads, read_bytes, read_stall, writes, write_bytes, write_stall].map(|value| shown(value, 0)));
    cells.extend([average(read_stall, reads), average(write_stall, writes)]);
    cells
}

/// The heads of the columns of the published table.
pub const HEADS: [&str; 10] = [
    "Type",
    "File_Size_MB",
    "Reads",
    "bytes_read",
    "stall_read_ms",
    "Writes",
    "bytes_written",
    "stall_write_ms",
    "avg_read_stall_ms",
    "avg_write_stall_ms",
];

fn grid(lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let lines: Vec<Vec<String>> = lines.into_iter().collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let mut aligns = vec![Align::Right; columns];
    if let Some(first) = aligns.first_mut() {
        *first = Align::Left;
    }
    let mut grid = Grid::new(aligns);
    for line in lines {
        grid.push(GridLine::Cells(line.iter().map(|cell| GridCell::new(clean(cell))).collect()));
    }
    grid.render(Style::Plain)
}

/// The columns of the published table, and where it is parted for a terminal that it is too wide for: sizes and reads,
/// writes, and averages, as its heads were grouped.
const PARTS: [&[usize]; 3] = [&[0, 1, 2, 3, 4], &[0, 5, 6, 7], &[0, 8, 9]];

/// The published table, in one piece or in its [`PARTS`].
fn published(rows: &[FileRow], width: usize) -> String {
    let heads = HEADS.map(str::to_owned).to_vec();
    let lines: Vec<Vec<String>> = std::iter::once(heads).chain(rows.iter().map(cells)).collect();
    let whole = grid(lines.clone());
    if whole.lines().all(|line| line.chars().count() <= width) {
        return whole;
    }
    let part = |columns: &&[usize]| {
        let some = |line: &Vec<String>| columns.iter().map(|column| line[*column].clone()).collect();
        grid(lines.iter().map(some).collect::<Vec<_>>())
    };
    PARTS.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn write_system(table: &SystemTable, width: usize, text: &mut String) {
    let trials = crate::number::count(table.rows.len() / CLASSES.len(), "trial");
    let _ = writeln!(text, "\nresults for {}: {trials}", clean(&table.system));
    text.push_str(&published(&table.rows, width));
    if table.rows.iter().any(|row| row.totals.iter().any(Option::is_some)) {
        let _ = writeln!(text, "\nthe same since the files were opened, as published: their making is in it");
        let of_totals = |row: &FileRow| FileRow { counters: row.totals, ..row.clone() };
        text.push_str(&published(&table.rows.iter().map(of_totals).collect::<Vec<_>>(), width));
    }
    let _ = writeln!(text, "\nmean latencies of {}, ms", clean(&table.system));
    let heads = ["", "reads", "writes"].map(str::to_owned).to_vec();
    let mean = |(index, (_, class)): (usize, (&str, &str))| {
        let [reads, writes] = table.means[0][index];
        vec![class.to_owned(), mean_words(reads), mean_words(writes)]
    };
    text.push_str(&grid(std::iter::once(heads).chain(CLASSES.into_iter().enumerate().map(mean))));
    for reason in &table.unknown {
        text.push_str(&wrapped(&format!("n/a: {}", clean(reason)), width, 2));
    }
    write_os(table, width, text);
}

/// The heads of the columns of [`OsAccount::lines`].
pub const OS_HEADS: [&str; 4] = ["Reads", "bytes_read", "Writes", "bytes_written"];

impl OsAccount {
    /// What the engine's counters left out, in words; or why that is not known.
    pub fn missing_words(&self) -> Option<String> {
        let Some(unseen) = self.unseen else {
            return Some(format!("what the engine's counters left out: n/a: {}", self.reason.as_ref()?));
        };
        let left = self.unexplained.map(|left| format!("; {left:.1} % is not explained either")).unwrap_or_default();
        Some(format!("the engine's counters did not see {unseen:.1} % of the bytes written{left}"))
    }
}

fn write_os(table: &SystemTable, width: usize, text: &mut String) {
    if !table.os.lines.is_empty() {
        let _ = writeln!(text, "\nwhat the operating system counted of {}, means", clean(&table.system));
        let heads = std::iter::once("").chain(OS_HEADS).map(str::to_owned).collect();
        let line = |(name, figures): &(&str, [Option<f64>; 4])| {
            std::iter::once((*name).to_owned()).chain(figures.map(|value| shown(value, 0))).collect()
        };
        text.push_str(&grid(std::iter::once(heads).chain(table.os.lines.iter().map(line))));
    }
    if let Some(words) = table.os.missing_words() {
        text.push_str(&wrapped(&clean(&words), width, 2));
    }
}

fn write_conclusions(names: &(String, String), all: &[Conclusion], text: &mut String) {
    let (a, b) = (names.0.as_str(), names.1.as_str());
    for (measure, reads, _) in MEASURES {
        let rows = all.iter().filter(|one| one.measure == measure);
        if rows.clone().all(|one| [one.a, one.b].iter().flatten().all(Option::is_none)) {
            continue;
        }
        let row = |one: &Conclusion| {
            let mut cells = vec![one.class.to_owned()];
            cells.extend([one.a[0], one.b[0], one.a[1], one.b[1]].map(mean_words));
            cells.extend(one.gains.iter().map(|gain| gain_words(gain.as_ref())));
            cells
        };
        // Not every measure is asked of reads.
        let (heads, sides, columns): ([&str; 7], [&str; 7], &[usize]) = if reads.is_empty() {
            (["", "", "", "writes", "", "", "gain"], ["", "", "", a, b, "", ""], &[0, 3, 4, 6])
        } else {
            let sides = ["", a, b, a, b, "reads", "writes"];
            (["", "reads", "", "writes", "", "gains", ""], sides, &[0, 1, 2, 3, 4, 5, 6])
        };
        let some = |line: Vec<String>| columns.iter().map(|column| line[*column].clone()).collect();
        let _ = writeln!(text, "\nconclusions, {measure}");
        let heads = [heads, sides].map(|line| line.map(str::to_owned).to_vec());
        text.push_str(&grid(heads.into_iter().chain(rows.map(row)).map(some)));
    }
}

/// What may be said of the latencies, metric by metric; of those that one of the two does not have nothing is said.
fn write_verdicts(set: &ComparisonSet, width: usize, text: &mut String) {
    for table in &set.tables {
        let known = |row: &&Comparison| [&row.a, &row.b].iter().all(|side| side.summary.is_some());
        let rows: Vec<&Comparison> = table.rows.iter().filter(known).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\nverdicts: {} against {}", clean(&table.b), clean(&table.a));
        text.push_str(&families(set, rows.iter().copied(), width));
        let several = rows.iter().any(|row| !row.label.is_empty());
        let row = |row: &&Comparison| {
            let verdict = match &row.outcome {
                Outcome::None(reason) => reason.short(),
                Outcome::Verdict(_) => {
                    let (word, more) = verdict_words(row, set);
                    format!("{word} {more}").trim_end().to_owned()
                }
            };
            let change = change(row);
            let point = change.as_ref().map_or("-".to_owned(), |change| change.point(Script::Plain));
            let interval = change.map_or_else(String::new, |change| change.interval(Script::Plain));
            let cell = several.then(|| row.cell_label());
            cell.into_iter().chain([row.metric.id.clone(), point, interval, verdict]).collect()
        };
        let heads = ["", "change", "interval", "verdict"].map(str::to_owned);
        let heads = several.then(String::new).into_iter().chain(heads).collect();
        text.push_str(&grid(std::iter::once(heads).chain(rows.iter().map(row))));
    }
}

/// Columns that take the published table in one piece.
pub const WHOLE_WIDTH: usize = 160;

/// What every set of tables ends with.
const FOOTNOTE: &str = "avg_read_stall_ms and avg_write_stall_ms are the published stall / (1 + n); all means are of stall / \
                        n, unrounded. Every figure is a difference of two snapshots, unless it is said not to be.";

/// The tables as text for a terminal of so many columns, with verdicts where there is a comparison of [`JUDGED`]. Nothing if
/// the experiment has no page inserts.
pub fn render(evidence: &Evidence, set: Option<&ComparisonSet>, width: usize) -> Option<String> {
    let sections = sections(evidence);
    let mut text = String::new();
    for section in &sections {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}# {}", if text.is_empty() { "" } else { "\n" }, clean(&section.title));
        section.systems.iter().for_each(|table| write_system(table, width, &mut text));
        section.conclusions.iter().for_each(|(names, all)| write_conclusions(names, all, &mut text));
    }
    if let Some(set) = set {
        write_verdicts(set, width, &mut text);
    }
    text.push('\n');
    text.push_str(&wrapped(FOOTNOTE, width, 0));
    (!sections.is_empty()).then_some(text)
}
