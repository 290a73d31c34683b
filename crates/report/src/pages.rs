//! Page inserts in the published form: counters per file and run, mean latencies and gains; beside them latencies by
//! MiB, and verdicts.
//!
//! A row's averages are the published `stall / (1 + n)` to one decimal; all others are means over runs of `stall /
//! n`, rounded only in print.

use std::fmt::Write as _;

use model::{Case, Reading};

use crate::comparison::{Comparison, ComparisonSet, Index, Outcome, unfair};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, views};
use crate::number::{Script, median};
use crate::text::{Align, Grid, GridCell, GridLine, Style, clean, wrapped};
use crate::words::{change, families, unfinished_above, verdict_words};

/// The workload whose cases are shown.
const WORKLOAD: &str = "pages";

pub const JUDGED: [&str; 5] = ["avg_read", "avg_write", "mib_read", "mib_write", "wait_per_commit"];

/// Name in metrics, and in the published tables.
pub const CLASSES: [(&str, &str); 2] = [("data", "DATA"), ("log", "TRAN")];

/// In the published order.
const COUNTERS: [&str; 6] = ["reads", "read_bytes", "read_stall", "writes", "write_bytes", "write_stall"];

/// Basis of conclusions: words, and metrics of reads and writes.
const MEASURES: [(&str, &str, &str); 3] = [
    ("ms for each operation", "avg_read", "avg_write"),
    ("ms for each MiB", "mib_read", "mib_write"),
    ("ms that a commit waits, syncs included", "", "wait_per_commit"),
];

#[derive(Clone, Debug, PartialEq)]
pub struct FileRow {
    pub round: u32,
    /// `DATA` or `TRAN`.
    pub class: &'static str,
    /// At the run's end.
    pub size_mib: Option<f64>,
    /// Reads, bytes read, stall in ms; writes, bytes written, stall in ms.
    pub counters: [Option<f64>; 6],
    /// Counters since the files were opened, if kept.
    pub totals: [Option<f64>; 6],
}

/// Of reads, and of writes.
pub type Means = [Option<f64>; 2];

/// Means over the runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OsAccount {
    /// Name; reads, bytes read, writes, bytes written.
    pub lines: Vec<(&'static str, [Option<f64>; 4])>,
    /// Percent of bytes written that the engine did not count.
    pub unseen: Option<f64>,
    /// Percent left after known omissions are added.
    pub unexplained: Option<f64>,
    /// Why it is unknown.
    pub reason: Option<String>,
}

const ACCOUNTS: [(&str, [&str; 4]); 3] = [
    ("the processes, in calls", ["os_reads/processes", "", "os_writes/processes", "os_write_bytes/calls"]),
    ("the same, at the device", ["", "os_read_bytes/processes", "", "os_write_bytes/processes"]),
    (
        "the device, by whomever",
        ["os_reads/device", "os_read_bytes/device", "os_writes/device", "os_write_bytes/device"],
    ),
];

#[derive(Clone, Debug, PartialEq)]
pub struct SystemTable {
    pub system: String,
    pub rows: Vec<FileRow>,
    /// By measure, then class.
    pub means: [[Means; 2]; 3],
    /// The operating system's account.
    pub os: OsAccount,
    /// Unavailable values, with reasons.
    pub unknown: Vec<String>,
    case: u32,
}

/// Two systems on one class of files.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    pub measure: &'static str,
    pub class: &'static str,
    /// Reads and writes.
    pub a: Means,
    /// Reads and writes.
    pub b: Means,
    /// Factor and winner, of reads and writes.
    pub gains: [Option<(f64, String)>; 2],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub title: String,
    pub systems: Vec<SystemTable>,
    /// Per pair: baseline, other.
    pub conclusions: Vec<((String, String), Vec<Conclusion>)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct PerCommit {
    pub system: String,
    pub index: usize,
    pub class: &'static str,
    pub writes: Option<f64>,
    pub bytes: Option<f64>,
    pub syncs: Option<f64>,
    /// In writes and syncs.
    pub wait_ms: Option<f64>,
}

/// Measured ones in run order: id and block.
fn runs(evidence: &Evidence, case: u32) -> Vec<(i64, u32)> {
    let mut found: Vec<_> = evidence
        .last_attempts()
        .into_iter()
        .filter(|run| run.planned.case == case && run.state == model::RunState::Measured)
        .map(|run| (run.planned.position, run.id, run.planned.round))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id, round)| (id, round)).collect()
}

fn reading<'e>(evidence: &'e Evidence, run: i64, id: &str) -> Option<&'e Reading> {
    let of_run = evidence.measurements.iter().filter(|stored| stored.run_id == run);
    of_run.map(|stored| &stored.measurement).find(|m| m.metric.id == id).map(|m| &m.reading)
}

fn value(evidence: &Evidence, run: i64, id: &str) -> Option<f64> {
    match reading(evidence, run, id)? {
        Reading::Value(value) => Some(*value),
        Reading::Unavailable(_) => None,
    }
}

fn mean(index: &Index, case: u32, id: &str) -> Option<f64> {
    let points = index.of_all_runs(case, id).ok()?;
    Some(points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64)
}

fn os_account(evidence: &Evidence, index: &Index, case: u32, runs: &[(i64, u32)]) -> OsAccount {
    let of = |id: &str| mean(index, case, id);
    let lines = ACCOUNTS.map(|(name, metrics)| (name, metrics.map(of)));
    let reason = runs.iter().find_map(|(run, _)| match reading(evidence, *run, "unseen/writes") {
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

/// Unavailable values, grouped by reason.
fn unknown(evidence: &Evidence, runs: &[(i64, u32)]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for (class, published) in CLASSES {
        for (family, what) in [("file_size", "size"), ("avg_read", "reads"), ("avg_write", "writes")] {
            let id = format!("{family}/{class}");
            let of_run = |(run, _): &(i64, u32)| match reading(evidence, *run, &id) {
                Some(Reading::Unavailable(reason)) => Some(reason.as_str()),
                _ => None,
            };
            let Some(reason) = runs.iter().find_map(of_run) else { continue };
            let what = format!("{published} {what}");
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, all)) => all.push(what),
                None => reasons.push((reason, vec![what])),
            }
        }
    }
    reasons.iter().map(|(reason, what)| format!("{}: {reason}", what.join(", "))).collect()
}

fn system_table(evidence: &Evidence, index: &Index, case: &SystemCase<'_>) -> SystemTable {
    let runs = runs(evidence, case.case);
    let row = |(run, round): &(i64, u32), (class, published): (&str, &'static str)| FileRow {
        round: *round,
        class: published,
        size_mib: value(evidence, *run, &format!("file_size/{class}")).map(|bytes| bytes / 1_048_576.0),
        counters: COUNTERS.map(|counter| value(evidence, *run, &format!("{counter}/{class}"))),
        totals: COUNTERS.map(|counter| value(evidence, *run, &format!("{counter}_total/{class}"))),
    };
    let means = MEASURES.map(|(_, reads, writes)| {
        let mean = |family: &str, class: &str| mean(index, case.case, &format!("{family}/{class}"));
        CLASSES.map(|(class, _)| [reads, writes].map(|family| mean(family, class)))
    });
    let unknown = unknown(evidence, &runs);
    let rows = runs.iter().flat_map(|run| CLASSES.map(|class| row(run, class))).collect();
    let os = os_account(evidence, index, case.case, &runs);
    SystemTable { system: case.name.to_owned(), rows, means, os, unknown, case: case.case }
}

/// Factor and winner; `None` if one is unknown or 0.
fn gain(a: Option<f64>, b: Option<f64>, names: (&str, &str)) -> Option<(f64, String)> {
    let (a, b) = (a.filter(|a| *a > 0.0)?, b.filter(|b| *b > 0.0)?);
    Some(if a <= b { (b / a, names.0.to_owned()) } else { (a / b, names.1.to_owned()) })
}

fn conclusions(a: &SystemTable, b: &SystemTable, unfair: Option<&String>) -> Vec<Conclusion> {
    let mut all = Vec::new();
    for (place, (measure, ..)) in MEASURES.into_iter().enumerate() {
        for (index, (_, class)) in CLASSES.into_iter().enumerate() {
            let (of_a, of_b) = (a.means[place][index], b.means[place][index]);
            let gains =
                [0, 1].map(|kind| gain(of_a[kind], of_b[kind], (&a.system, &b.system)).filter(|_| unfair.is_none()));
            all.push(Conclusion { measure, class, a: of_a, b: of_b, gains });
        }
    }
    all
}

fn is_pages(evidence: &Evidence, view: &CaseView<'_>) -> bool {
    let of = |case: &Case| case.workload == WORKLOAD;
    view.systems.first().and_then(|system| evidence.case(system.case)).is_some_and(of)
}

/// One per point; empty without page inserts.
pub fn sections(evidence: &Evidence) -> Vec<Section> {
    let baseline = &evidence.header.plan.comparison.baseline;
    let index = Index::new(evidence);
    let section = |view: &CaseView<'_>| {
        let mut systems: Vec<SystemTable> =
            view.systems.iter().map(|system| system_table(evidence, &index, system)).collect();
        let first = systems.iter().position(|table| table.system == *baseline).unwrap_or(0);
        let mut all = Vec::new();
        for other in (0..systems.len()).filter(|place| *place != first) {
            let unfair = unfair(evidence, &index, &[systems[first].case, systems[other].case]);
            let names = (systems[first].system.clone(), systems[other].system.clone());
            all.push((names, conclusions(&systems[first], &systems[other], unfair.as_ref())));
            systems[other].unknown.extend(unfair.map(|why| format!("gains: {why}")));
        }
        Section { title: view.title.clone(), conclusions: all, systems }
    };
    views(evidence).iter().filter(|view| is_pages(evidence, view)).map(section).collect()
}

/// By point, system and class.
pub fn per_commit(evidence: &Evidence) -> Vec<(String, Vec<PerCommit>)> {
    let index = Index::new(evidence);
    let one = |system: &SystemCase<'_>, (class, published): (&str, &'static str)| {
        let all = |id: &str| index.of_all_runs(system.case, id).ok();
        let share = |family: &str| {
            let (own, statements) = (all(&format!("{family}/{class}"))?, all("statements")?);
            median(own.iter().zip(&statements).map(|(own, all)| own.value / all.value))
        };
        PerCommit {
            system: system.name.to_owned(),
            index: system.index,
            class: published,
            writes: share("writes"),
            bytes: share("write_bytes"),
            syncs: share("syncs"),
            wait_ms: median(all(&format!("wait_per_commit/{class}")).into_iter().flatten().map(|point| point.value)),
        }
    };
    let of_view = |view: &CaseView<'_>| {
        let all = view.systems.iter().flat_map(|system| CLASSES.map(|class| one(system, class)));
        (view.title.clone(), all.collect())
    };
    views(evidence).iter().filter(|view| is_pages(evidence, view)).map(of_view).collect()
}

pub fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.decimals$}"))
}

/// One decimal, half up, as published.
fn average(stall_ms: Option<f64>, count: Option<f64>) -> String {
    let rounded = stall_ms.zip(count).map(|(stall, count)| (stall / (1.0 + count) * 10.0 + 0.5).floor() / 10.0);
    shown(rounded, 1)
}

/// `2.8x (linux)`: two decimals where one would show 1.0 or 1.1.
pub fn gain_words(gain: Option<&(f64, String)>) -> String {
    match gain {
        Some((times, winner)) if *times < 1.15 => format!("{times:.2}x ({winner})"),
        Some((times, winner)) => format!("{times:.1}x ({winner})"),
        None => "n/a".to_owned(),
    }
}

pub fn mean_words(value: Option<f64>) -> String {
    shown(value, if value.is_some_and(|value| value.abs() < 0.1) { 4 } else { 2 })
}

pub fn cells(row: &FileRow) -> Vec<String> {
    let [reads, read_bytes, read_stall, writes, write_bytes, write_stall] = row.counters;
    let mut cells = vec![row.class.to_owned(), shown(row.size_mib, 2)];
    cells.extend([reads, read_bytes, read_stall, writes, write_bytes, write_stall].map(|value| shown(value, 0)));
    cells.extend([average(read_stall, reads), average(write_stall, writes)]);
    cells
}

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
        grid.push(GridLine::Cells(line.iter().map(|case| GridCell::new(clean(case))).collect()));
    }
    grid.render(Style::Plain)
}

/// How the published table is split for narrow terminals: sizes and reads, writes, averages, like its heads.
const PARTS: [&[usize]; 3] = [&[0, 1, 2, 3, 4], &[0, 5, 6, 7], &[0, 8, 9]];

/// In one piece or in [`PARTS`].
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
    let runs = crate::number::count(table.rows.len() / CLASSES.len(), "run");
    let _ = writeln!(text, "\nresults for {}: {runs}", clean(&table.system));
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

pub const OS_HEADS: [&str; 4] = ["Reads", "bytes_read", "Writes", "bytes_written"];

impl OsAccount {
    /// What the engine did not count, or why that is unknown.
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
        // Some measures do not apply to reads.
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

/// By metric; none where a side lacks it.
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
            let case = several.then(|| row.case_label());
            case.into_iter().chain([row.metric.id.clone(), point, interval, verdict]).collect()
        };
        let heads = ["", "change", "interval", "verdict"].map(str::to_owned);
        let heads = several.then(String::new).into_iter().chain(heads).collect();
        text.push_str(&grid(std::iter::once(heads).chain(rows.iter().map(row))));
    }
}

/// Width of the undivided published table.
pub const WHOLE_WIDTH: usize = 160;

const FOOTNOTE: &str = "avg_read_stall_ms and avg_write_stall_ms are the published stall / (1 + n); all means are of stall / \
                        n, unrounded. Every figure is a difference of two snapshots, unless it is said not to be.";

/// With verdicts on [`JUDGED`]. Empty without page inserts.
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
    (!sections.is_empty()).then(|| unfinished_above(evidence, width) + &text)
}
