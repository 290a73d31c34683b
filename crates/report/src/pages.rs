//! Page inserts in the published form: counters per file and run, mean latencies and gains; and latencies by
//! MiB, and verdicts.
//!
//! A row's averages are the published `stall / (1 + n)` to one decimal; all others are means over runs of `stall /
//! n`, rounded only in print.

use std::collections::BTreeMap;

use model::{Absence, NoValue, Reading};
use store::StoredMeasurement;

use crate::comparison::{Comparison, ComparisonSet, Index, Outcome, why_choice_unfair};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, case_views};
use crate::labels::{explain_families, verdict_words};
use crate::lookup::{Lookup, measurements_by_run};
use crate::number::{count_noun, median};
use crate::views::{Bar, BarGroup, Bars, Column, Entry, Family, Form, Table, TablePlacement, View};

/// The workload whose cases are shown.
const WORKLOAD: &str = "pages";

/// Page inserts.
pub const FAMILY: Family = Family {
    name: WORKLOAD,
    judged: &["avg_read", "avg_write", "mib_read", "mib_write", "wait_per_commit"],
    part: [
        "I/O",
        "I/O of the page inserts",
        "By the engines' own counters, as differences of two snapshots. An engine that writes into the page cache waits in its \
         syncs, one that writes through waits in its writes: only the time waited compares.",
    ],
    footnote: "avg_read_stall_ms and avg_write_stall_ms are the published stall / (1 + n); all means are of stall / n, unrounded. \
               Every figure is a difference of two snapshots, unless it is said not to be.",
    views: page_views,
    compared: |_| Vec::new(),
};

/// Name in metrics, and in the published tables.
pub const CLASSES: [(&str, &str); 2] = [("data", "DATA"), ("log", "TRAN")];

/// The counters in the published order.
const COUNTERS: [&str; 6] = ["reads", "read_bytes", "read_stall", "writes", "write_bytes", "write_stall"];

/// Basis of conclusions: words, and metrics of reads and writes.
const MEASURES: [(&str, &str, &str); 3] = [
    ("ms for each operation", "avg_read", "avg_write"),
    ("ms for each MiB", "mib_read", "mib_write"),
    ("ms that a commit waits, syncs included", "", "wait_per_commit"),
];

/// A figure, or why there is none.
pub type Figure = Result<f64, NoValue>;

#[derive(Clone, Debug, PartialEq)]
pub struct FileRow {
    pub round: u32,
    /// `DATA` or `TRAN`.
    pub class: &'static str,
    /// Size at the run's end.
    pub size_mib: Figure,
    /// Reads, bytes read, stall in ms; writes, bytes written, stall in ms.
    pub counters: [Figure; 6],
    /// Counters since the files were opened, if kept.
    pub totals: [Figure; 6],
}

/// Means of reads, and of writes.
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
    pub reason: Option<NoValue>,
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
    /// Means by measure, then class.
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
    /// Wait in writes and syncs.
    pub wait_ms: Option<f64>,
}

/// Lists a case's measured runs in run order, each with its id and round.
fn measured_runs(lookup: &Lookup<'_>, case: u32) -> Vec<(i64, u32)> {
    let mut found: Vec<_> = lookup
        .last_attempts(&[case])
        .filter(|run| run.state == model::RunState::Measured)
        .map(|run| (run.planned.position, run.id, run.planned.round))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, id, round)| (id, round)).collect()
}

/// The measurements of each run.
type Measured<'e> = BTreeMap<i64, Vec<&'e StoredMeasurement>>;

/// Looks up a run's reading of a metric.
fn reading_of<'e>(measured: &Measured<'e>, run: i64, id: &str) -> Option<&'e Reading> {
    measured.get(&run)?.iter().map(|stored| &stored.measurement).find(|m| m.metric.id == id).map(|m| &m.reading)
}

/// Looks up a run's value of a metric, or why there is none.
fn figure_of(measured: &Measured<'_>, run: i64, id: &str) -> Figure {
    match reading_of(measured, run, id) {
        Some(Reading::Value(value)) => Ok(*value),
        Some(Reading::Unavailable(reason)) => Err(reason.clone()),
        None => Err(Absence::Unavailable.with_reason("it was not measured")),
    }
}

/// The mean of a metric over all runs of a case; `None` if one has no value.
fn mean_of_runs(index: &Index<'_>, case: u32, id: &str) -> Option<f64> {
    let points = index.values_of_all_runs(case, id).ok()?;
    Some(points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64)
}

/// Makes the account of what the operating system counted, as means over the runs.
fn os_account(measured: &Measured<'_>, index: &Index<'_>, case: u32, runs: &[(i64, u32)]) -> OsAccount {
    let of = |id: &str| mean_of_runs(index, case, id);
    let lines = ACCOUNTS.map(|(name, metrics)| (name, metrics.map(of)));
    let reason = runs.iter().find_map(|(run, _)| match reading_of(measured, *run, "unseen/writes") {
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

/// Lists the values that are unavailable, grouped by reason.
fn unknown_values(measured: &Measured<'_>, runs: &[(i64, u32)]) -> Vec<String> {
    let mut reasons: Vec<(&NoValue, Vec<String>)> = Vec::new();
    for (class, published) in CLASSES {
        for (family, what) in [("file_size", "size"), ("avg_read", "reads"), ("avg_write", "writes")] {
            let id = format!("{family}/{class}");
            let Some(reason) = runs.iter().find_map(|(run, _)| match reading_of(measured, *run, &id) {
                Some(Reading::Unavailable(reason)) => Some(reason),
                _ => None,
            }) else {
                continue;
            };
            let what = format!("{published} {what}");
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, all)) => all.push(what),
                None => reasons.push((reason, vec![what])),
            }
        }
    }
    reasons.iter().map(|(reason, what)| format!("{}: {reason}", what.join(", "))).collect()
}

/// Makes the table of a system: its files run by run, means, and the operating system's account.
fn system_table(measured: &Measured<'_>, index: &Index<'_>, case: &SystemCase<'_>) -> SystemTable {
    let runs = measured_runs(&index.lookup, case.case);
    let means = MEASURES.map(|(_, reads, writes)| {
        CLASSES.map(|(class, _)| {
            [reads, writes].map(|family| mean_of_runs(index, case.case, &format!("{family}/{class}")))
        })
    });
    let unknown = unknown_values(measured, &runs);
    let rows = runs.iter().flat_map(|run| CLASSES.map(|class| file_row(measured, *run, class))).collect();
    let os = os_account(measured, index, case.case, &runs);
    SystemTable { system: case.name.to_owned(), rows, means, os, unknown, case: case.case }
}

/// Makes the row of one file in a run.
fn file_row(measured: &Measured<'_>, (run, round): (i64, u32), (class, published): (&str, &'static str)) -> FileRow {
    FileRow {
        round,
        class: published,
        size_mib: figure_of(measured, run, &format!("file_size/{class}")).map(|bytes| bytes / 1_048_576.0),
        counters: COUNTERS.map(|counter| figure_of(measured, run, &format!("{counter}/{class}"))),
        totals: COUNTERS.map(|counter| figure_of(measured, run, &format!("{counter}_total/{class}"))),
    }
}

/// Computes how many times the larger of two means is the smaller one, and whose is smaller; `None` if one is unknown or 0.
fn gain_and_winner(a: Option<f64>, b: Option<f64>, names: (&str, &str)) -> Option<(f64, String)> {
    let (a, b) = (a.filter(|a| *a > 0.0)?, b.filter(|b| *b > 0.0)?);
    Some(if a <= b { (b / a, names.0.to_owned()) } else { (a / b, names.1.to_owned()) })
}

/// Concludes which of two systems is better, by measure and class of files; without gains if that is unfair.
fn make_conclusions(a: &SystemTable, b: &SystemTable, unfair: Option<&String>) -> Vec<Conclusion> {
    let mut all = Vec::new();
    for (place, (measure, ..)) in MEASURES.into_iter().enumerate() {
        for (index, (_, class)) in CLASSES.into_iter().enumerate() {
            let (of_a, of_b) = (a.means[place][index], b.means[place][index]);
            let gains = [0, 1].map(|kind| {
                gain_and_winner(of_a[kind], of_b[kind], (&a.system, &b.system)).filter(|_| unfair.is_none())
            });
            all.push(Conclusion { measure, class, a: of_a, b: of_b, gains });
        }
    }
    all
}

/// Filters the cases that are of page inserts.
fn page_views_of(evidence: &Evidence) -> Vec<CaseView<'_>> {
    case_views(evidence)
        .into_iter()
        .filter(|view| {
            view.systems
                .first()
                .and_then(|system| evidence.case(system.case))
                .is_some_and(|case| case.workload == WORKLOAD)
        })
        .collect()
}

/// Makes a section for each case of page inserts; empty without any.
pub fn page_sections(evidence: &Evidence) -> Vec<Section> {
    let views = page_views_of(evidence);
    if views.is_empty() {
        return Vec::new();
    }
    let baseline = &evidence.header.plan.comparison.baseline;
    let (index, measured) = (Index::new(evidence), measurements_by_run(evidence));
    views
        .iter()
        .map(|view| {
            let mut systems: Vec<SystemTable> =
                view.systems.iter().map(|system| system_table(&measured, &index, system)).collect();
            let first = systems.iter().position(|table| table.system == *baseline).unwrap_or(0);
            let mut all = Vec::new();
            for other in (0..systems.len()).filter(|place| *place != first) {
                let unfair = why_choice_unfair(evidence, &index, &[systems[first].case, systems[other].case]);
                let names = (systems[first].system.clone(), systems[other].system.clone());
                all.push((names, make_conclusions(&systems[first], &systems[other], unfair.as_ref())));
                systems[other].unknown.extend(unfair.map(|why| format!("gains: {why}")));
            }
            Section { title: view.title.clone(), conclusions: all, systems }
        })
        .collect()
}

/// Computes what a commit costs, for each case, system and class of files.
pub fn per_commit(evidence: &Evidence) -> Vec<(String, Vec<PerCommit>)> {
    let views = page_views_of(evidence);
    if views.is_empty() {
        return Vec::new();
    }
    let index = Index::new(evidence);
    views
        .iter()
        .map(|view| {
            let all = view.systems.iter().flat_map(|system| CLASSES.map(|class| per_commit_of(&index, system, class)));
            (view.title.clone(), all.collect())
        })
        .collect()
}

/// Computes what a commit costs a system in one class of files.
fn per_commit_of(index: &Index<'_>, system: &SystemCase<'_>, (class, published): (&str, &'static str)) -> PerCommit {
    let waits = index.values_of_all_runs(system.case, &format!("wait_per_commit/{class}")).ok();
    PerCommit {
        system: system.name.to_owned(),
        index: system.index,
        class: published,
        writes: share_per_statement(index, system.case, "writes", class),
        bytes: share_per_statement(index, system.case, "write_bytes", class),
        syncs: share_per_statement(index, system.case, "syncs", class),
        wait_ms: median(waits.into_iter().flatten().map(|point| point.value)),
    }
}

/// The median over the runs of a counter's share per statement; `None` if a run does not have it.
fn share_per_statement(index: &Index<'_>, case: u32, family: &str, class: &str) -> Option<f64> {
    let (own, statements) = (
        index.values_of_all_runs(case, &format!("{family}/{class}")).ok()?,
        index.values_of_all_runs(case, "statements").ok()?,
    );
    median(own.iter().zip(&statements).map(|(own, all)| own.value / all.value))
}

/// Computes the mean stall of an operation in ms, to one decimal, half up, as published.
fn average_stall_ms(stall_ms: &Figure, count: &Figure) -> Figure {
    let (stall, count) = (stall_ms.clone()?, count.clone()?);
    Ok((stall / (1.0 + count) * 10.0 + 0.5).floor() / 10.0)
}

/// Makes the entries of a file's row, with the mean stalls of its counters.
fn row_entries(of: &FileRow, counters: &[Figure; 6]) -> Vec<Entry> {
    let [reads, _, read_stall, writes, _, write_stall] = counters;
    let averages = [average_stall_ms(read_stall, reads), average_stall_ms(write_stall, writes)];
    let size = [Entry::of_text(of.class), Entry::from_reading(of.size_mib.clone(), Form::Fixed(2))];
    let counters = counters.iter().map(|counter| Entry::from_reading(counter.clone(), Form::Fixed(0)));
    let averages = averages.map(|average| Entry::from_reading(average, Form::Fixed(1)));
    let round = Entry::from_value(Some(f64::from(of.round) + 1.0), Form::Fixed(0), "");
    [round].into_iter().chain(size).chain(counters).chain(averages).collect()
}

/// Makes a table of a section with nothing but columns and rows.
fn make_table(section: &Section, title: String, columns: Vec<Column>, rows: Vec<Vec<Entry>>) -> Table {
    Table { family: WORKLOAD, case: section.title.clone(), title, columns, rows, ..Table::default() }
}

/// Makes the published table, of the runs or since the files were opened.
fn published_table(section: &Section, title: String, of: &SystemTable, counters: fn(&FileRow) -> &[Figure; 6]) -> View {
    let units = ["MiB", "", "bytes", "ms", "", "bytes", "ms", "ms", "ms"];
    let files = [Column::new("round", "").hidden(), Column::of_words(HEADS[0])];
    let columns = files.into_iter().chain(HEADS[1..].iter().zip(units).map(|(head, unit)| Column::new(*head, unit)));
    let rows = of.rows.iter().map(|one| row_entries(one, counters(one)));
    View::Table(Table {
        placement: TablePlacement::Folded,
        ..make_table(section, title, columns.collect(), rows.collect())
    })
}

const HEADS: [&str; 10] = [
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

/// Why a mean, and what is made of it, is not known.
const NO_MEAN: &str = "a run has no figure of it, or failed";

/// Makes the entry of a mean, or why there is none.
fn mean_entry(value: Option<f64>, form: Form) -> Entry {
    Entry::from_value(value, form, NO_MEAN)
}

/// Makes the tables of a system: its files, mean latencies, and the operating system's account.
fn system_views(section: &Section, of: &SystemTable) -> Vec<View> {
    let runs = count_noun(of.rows.len() / CLASSES.len(), "run");
    let mut views =
        vec![published_table(section, format!("results for {}: {runs}", of.system), of, |row| &row.counters)];
    if of.rows.iter().any(|row| row.totals.iter().any(Result::is_ok)) {
        let title =
            format!("results for {} since the files were opened, as published: their making is in it", of.system);
        views.push(published_table(section, title, of, |row| &row.totals));
    }
    let columns = vec![Column::of_words(""), Column::new("reads", "ms"), Column::new("writes", "ms")];
    let rows = CLASSES
        .into_iter()
        .enumerate()
        .map(|(index, (_, class))| {
            std::iter::once(Entry::of_text(class))
                .chain(of.means[0][index].map(|mean| mean_entry(mean, Form::Mean)))
                .collect()
        })
        .collect();
    let mut means = make_table(section, format!("mean latencies of {}, ms", of.system), columns, rows);
    means.notes = of.unknown.iter().map(|reason| format!("n/a: {reason}")).collect();
    let missing = of.os.missing_words().map(|words| format!("{}: {words}", of.system));
    if of.os.lines.is_empty() {
        means.notes.extend(missing);
        views.push(View::Table(means));
        return views;
    }
    let heads = [("Reads", ""), ("bytes_read", "bytes"), ("Writes", ""), ("bytes_written", "bytes")];
    let columns = [Column::of_words("")].into_iter().chain(heads.map(|(head, unit)| Column::new(head, unit))).collect();
    let title = format!("what the operating system counted of {}, means", of.system);
    let os = make_table(
        section,
        title,
        columns,
        of.os
            .lines
            .iter()
            .map(|(name, figures)| {
                std::iter::once(Entry::of_text(*name))
                    .chain(figures.map(|value| mean_entry(value, Form::Fixed(0))))
                    .collect()
            })
            .collect(),
    );
    views.extend([View::Table(means), View::Table(Table { notes: missing.into_iter().collect(), ..os })]);
    views
}

impl OsAccount {
    /// Says what the engine did not count, or why that is not known; `None` if there is nothing to say.
    fn missing_words(&self) -> Option<String> {
        let Some(unseen) = self.unseen else {
            return Some(format!("what the engine's counters left out: n/a: {}", self.reason.as_ref()?));
        };
        let left = self.unexplained.map(|left| format!("; {left:.1} % is not explained either")).unwrap_or_default();
        Some(format!("the engine's counters did not see {unseen:.1} % of the bytes written{left}"))
    }
}

/// Makes the tables of all conclusions of a section.
fn conclusion_views<'s>(section: &'s Section) -> impl Iterator<Item = View> + 's {
    section
        .conclusions
        .iter()
        .flat_map(move |pair| MEASURES.into_iter().filter_map(move |one| conclusion_view(section, pair, one)))
}

/// Makes the table of a pair's conclusions on a measure; `None` without any value.
fn conclusion_view(
    section: &Section,
    ((a, b), all): &((String, String), Vec<Conclusion>),
    (measure, reads, _): (&str, &str, &str),
) -> Option<View> {
    let rows: Vec<&Conclusion> = all.iter().filter(|one| one.measure == measure).collect();
    if rows.iter().all(|one| [one.a, one.b].iter().flatten().all(Option::is_none)) {
        return None;
    }
    // Some measures do not apply to reads.
    let kinds: &[(usize, &str)] = if reads.is_empty() { &[(1, "writes")] } else { &[(0, "reads"), (1, "writes")] };
    let sides = kinds.iter().flat_map(|(_, kind)| [a, b].map(|side| Column::new(side, "ms").in_group(*kind)));
    let gains = kinds.iter().map(|(_, kind)| Column::new(*kind, "").in_group("gains"));
    let columns = [Column::of_words("")].into_iter().chain(sides).chain(gains).collect();
    let title = format!("conclusions, {measure}");
    Some(View::Table(make_table(
        section,
        title,
        columns,
        rows.iter()
            .map(|one| {
                let means = kinds
                    .iter()
                    .flat_map(|(kind, _)| [one.a[*kind], one.b[*kind]].map(|mean| mean_entry(mean, Form::Mean)));
                [Entry::of_text(one.class)]
                    .into_iter()
                    .chain(means)
                    .chain(kinds.iter().map(|(kind, _)| {
                        Entry::of_gain(
                            one.gains[*kind].as_ref().map(|(times, winner)| (*times, winner.as_str())),
                            Form::Gain,
                        )
                    }))
                    .collect()
            })
            .collect(),
    )))
}

/// Makes a table of verdicts for each pair, without rows of which a side has no value.
fn verdict_views(set: &ComparisonSet) -> impl Iterator<Item = View> + '_ {
    set.tables.iter().filter_map(move |compared| {
        let rows: Vec<&Comparison> =
            compared.rows.iter().filter(|row| [&row.a, &row.b].iter().all(|side| side.summary.is_some())).collect();
        let mut case = Column::of_words("case").with_head("");
        case.is_hidden = rows.iter().all(|row| row.label.is_empty());
        let words = ["interval", "verdict"].map(Column::of_words);
        let columns =
            [case, Column::of_words("metric").with_head(""), Column::new("change", "")].into_iter().chain(words);
        let view = Table {
            family: WORKLOAD,
            title: format!("verdicts: {} against {}", compared.b, compared.a),
            columns: columns.collect(),
            lead: explain_families(set, rows.iter().copied()),
            rows: rows
                .iter()
                .map(|row| {
                    let (word, more) = verdict_words(row, set);
                    let verdict = match &row.outcome {
                        Outcome::None(reason) => reason.short_reason(),
                        Outcome::Verdict(_) => format!("{word} {more}").trim_end().to_owned(),
                    };
                    let names = [row.case_label(), row.metric.id.clone()].map(Entry::of_text);
                    names.into_iter().chain(Entry::change_and_interval(row)).chain([Entry::of_text(verdict)]).collect()
                })
                .collect(),
            placement: TablePlacement::Terminal,
            ..Table::default()
        };
        (!rows.is_empty()).then_some(View::Table(view))
    })
}

/// Makes a table of what commits cost, and a chart of their bytes.
fn commit_views(number: usize, title: &str, all: &[PerCommit]) -> [View; 2] {
    let columns = [("writes", ""), ("syncs", ""), ("waited", "ms"), ("bytes", "bytes")];
    let columns = columns.map(|(name, unit)| {
        let column = Column::new(name, unit);
        if name == "waited" { column.with_head("waited, ms") } else { column }
    });
    let table = Table {
        family: WORKLOAD,
        case: title.to_owned(),
        title: "I/O per commit, medians of the runs".to_owned(),
        columns: ["system", "files"].map(Column::of_words).into_iter().chain(columns).collect(),
        rows: all
            .iter()
            .map(|one| {
                let names = [Entry::of_system(&one.system, one.index), Entry::of_text(one.class)];
                let bytes = mean_entry(one.bytes, Form::Scaled("bytes"));
                names
                    .into_iter()
                    .chain([one.writes, one.syncs, one.wait_ms].map(|value| mean_entry(value, Form::Significant)))
                    .chain([bytes])
                    .collect()
            })
            .collect(),
        placement: TablePlacement::Page,
        ..Table::default()
    };
    let bars = Bars {
        family: WORKLOAD,
        title: "Bytes written per commit".to_owned(),
        unit: "bytes, median of the runs".to_owned(),
        groups: CLASSES.map(|(_, class)| commit_bars(class, all)).into(),
        id: format!("pages-{number}"),
    };
    [View::Table(table), View::Bars(bars)]
}

/// Makes the bars of a commit's bytes in a class of files.
fn commit_bars(class: &str, all: &[PerCommit]) -> BarGroup {
    BarGroup {
        name: class.to_owned(),
        bars: all
            .iter()
            .filter(|one| one.class == class)
            .map(|one| {
                let entry = mean_entry(one.bytes, Form::Scaled("bytes"));
                Bar { name: one.system.clone(), index: one.index, entry, highest_run: None }
            })
            .collect(),
    }
}

/// Makes the tables and charts of experiments with page inserts.
fn page_views(evidence: &Evidence, set: Option<&ComparisonSet>) -> Vec<View> {
    let sections = page_sections(evidence);
    let mut all: Vec<View> = per_commit(evidence)
        .iter()
        .enumerate()
        .flat_map(|(number, (title, all))| commit_views(number, title, all))
        .collect();
    for section in &sections {
        all.extend(section.systems.iter().flat_map(|table| system_views(section, table)));
        all.extend(conclusion_views(section));
    }
    if !sections.is_empty() {
        all.extend(set.into_iter().flat_map(verdict_views));
    }
    all
}
