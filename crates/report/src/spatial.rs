//! Spatial queries in the published form: CPU and elapsed time per query, gains, and totals, with the published
//! estimator beside the sound one.

use std::fmt::Write as _;

use crate::comparison::{Comparison, ComparisonSet, Index, unfair};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, views};
use crate::number::{Script, significant};
use crate::text::{Align, Grid, GridCell, GridLine, Style, clean, wrapped};
use crate::words::{absent, change, families, unfinished_above, verdict_words};

/// The workload whose cases are shown.
const WORKLOAD: &str = "spatial";
/// Metrics of [`Column::times`] in order: published estimator (mean without shortest and longest), CPU time, mean of
/// all runs.
const KINDS: [&str; 3] = ["published/", "cpu/", "elapsed/"];
/// The place of the published estimator's time.
pub const PUBLISHED: usize = 0;
/// The place of the processor time.
pub const CPU: usize = 1;
/// The place of the mean of all runs.
pub const MEAN: usize = 2;
/// The figure of all queries together.
pub const SUITE: &str = "suite";
/// The metrics that verdicts are given on.
pub const JUDGED: [&str; 1] = ["elapsed"];
/// Larger gains are counted separately, as in the published text.
const LARGE_GAIN: f64 = 1.5;
/// Columns of a terminal that are always there.
const WIDTH: usize = 80;

pub type Time = Result<f64, String>;

/// Queries by system.
type Places<'s> = Vec<(&'s str, Vec<&'s str>)>;

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub system: String,
    pub index: usize,
    /// By query, indexed by [`PUBLISHED`], [`CPU`] and [`MEAN`].
    pub times: Vec<[Time; 3]>,
    /// Why it has no gains over the first.
    pub unfair: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub title: String,
    /// In the suite's order, the sum last.
    pub queries: Vec<String>,
    /// The baseline first.
    pub columns: Vec<Column>,
    /// To find its rows in a comparison.
    case: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    pub system: String,
    /// In how many queries it is faster.
    pub faster: usize,
    /// In how many of them by more than half.
    pub large: usize,
    /// Queries with times on both sides.
    pub of: usize,
    /// Of the sum: what, factor and winner.
    pub all: Vec<(&'static str, f64, String)>,
}

/// Empty without spatial queries.
pub fn sections(evidence: &Evidence) -> Vec<Section> {
    let is_spatial = |view: &&CaseView<'_>| {
        view.systems.first().and_then(|s| evidence.case(s.case)).is_some_and(|case| case.workload == WORKLOAD)
    };
    let index = Index::new(evidence);
    views(evidence).iter().filter(is_spatial).filter_map(|view| section(evidence, &index, view)).collect()
}

fn section(evidence: &Evidence, index: &Index, view: &CaseView<'_>) -> Option<Section> {
    let case = view.systems.first()?.case;
    let queries = queries(evidence, view);
    let baseline = &evidence.header.plan.comparison.baseline;
    let first = view.systems.iter().find(|system| system.name == baseline).map_or(case, |system| system.case);
    let column = |system: &SystemCase<'_>| Column {
        unfair: unfair(evidence, index, &[first, system.case]),
        system: system.name.to_owned(),
        index: system.index,
        times: queries
            .iter()
            .map(|query| KINDS.map(|kind| mean(index, system.case, &format!("{kind}{query}"))))
            .collect(),
    };
    let mut columns: Vec<Column> = view.systems.iter().map(column).collect();
    columns.sort_by_key(|column| column.system != *baseline);
    Some(Section { title: view.title.clone(), queries, columns, case })
}

/// In the suite's order, the sum last.
fn queries(evidence: &Evidence, view: &CaseView<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for stored in evidence.measurements.iter().filter(|stored| view.systems.iter().any(|s| s.case == stored.case)) {
        if let Some(query) = stored.measurement.metric.id.strip_prefix(KINDS[PUBLISHED])
            && !found.iter().any(|known| known == query)
        {
            found.push(query.to_owned());
        }
    }
    found.sort_by_key(|query| query == SUITE);
    found
}

fn mean(index: &Index, case: u32, id: &str) -> Time {
    let points = index.of_all_runs(case, id).map_err(|(why, _)| why)?;
    Ok(points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64)
}

impl Column {
    /// Of a query and a kind of time: factor over the first column, and whether this one wins. `None` if one is unknown or 0.
    pub fn gain(&self, first: &Column, query: usize, kind: usize) -> Option<(f64, bool)> {
        let of = |column: &Column| column.times.get(query)?[kind].as_ref().ok().copied().filter(|ms| *ms > 0.0);
        let (a, b) = of(first).zip(of(self)).filter(|_| self.unfair.is_none())?;
        Some(if b < a { (a / b, true) } else { (b / a, false) })
    }
}

/// `wrong`, `unsupported` or `n/a` without a time.
pub fn shown(time: &Time, script: Script) -> String {
    match time {
        Ok(ms) => significant(*ms, 3, script),
        Err(reason) => absent(reason).to_owned(),
    }
}

impl Section {
    /// Each system compared with the first; none without common times.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        let [a, others @ ..] = self.columns.as_slice() else { return Vec::new() };
        others.iter().map(|b| self.conclusion(a, b)).filter(|one| one.of > 0).collect()
    }

    fn conclusion(&self, a: &Column, b: &Column) -> Conclusion {
        let gain_at = |at: usize, kind: usize| b.gain(a, at, kind);
        let single = (0..self.queries.len()).filter(|at| self.queries[*at] != SUITE);
        let gains: Vec<(f64, bool)> = single.filter_map(|at| gain_at(at, PUBLISHED)).collect();
        let of_b = || gains.iter().filter(|(_, of_b)| *of_b);
        let total = self.queries.iter().position(|query| query == SUITE);
        let all = [(PUBLISHED, "time"), (CPU, "processor time")].into_iter().filter_map(|(kind, word)| {
            let (times, of_b) = gain_at(total?, kind)?;
            Some((word, times, if of_b { b.system.clone() } else { a.system.clone() }))
        });
        Conclusion {
            system: b.system.clone(),
            faster: of_b().count(),
            large: of_b().filter(|(gain, _)| *gain > LARGE_GAIN).count(),
            of: gains.len(),
            all: all.collect(),
        }
    }

    /// Whether any system has a time by the published estimator.
    pub fn is_published(&self) -> bool {
        self.columns.iter().any(|column| column.times.iter().any(|times| times[PUBLISHED].is_ok()))
    }

    /// Reasons for gaps, with systems and queries.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(&str, Places<'_>)> = Vec::new();
        for column in &self.columns {
            for (times, query) in column.times.iter().zip(&self.queries) {
                for reason in times.iter().filter_map(|time| time.as_ref().err()) {
                    let at = reasons.iter().position(|(known, _)| known == reason).unwrap_or_else(|| {
                        reasons.push((reason, Vec::new()));
                        reasons.len() - 1
                    });
                    let systems = &mut reasons[at].1;
                    match systems.last_mut().filter(|(system, _)| *system == column.system) {
                        Some((_, queries)) if queries.contains(&query.as_str()) => {}
                        Some((_, queries)) => queries.push(query),
                        None => systems.push((&column.system, vec![query])),
                    }
                }
            }
        }
        // A sum is missing because of its parts.
        reasons.retain(|(reason, _)| !reason.starts_with("no total without "));
        let single = self.queries.iter().filter(|query| *query != SUITE).count();
        let of = |(system, queries): &(&str, Vec<&str>)| {
            if queries.len() >= single { (*system).to_owned() } else { format!("{system}, {}", queries.join(", ")) }
        };
        let told = |(reason, systems): &(&str, Places<'_>)| {
            format!("{}: {reason}", systems.iter().map(of).collect::<Vec<_>>().join("; "))
        };
        let unfair = self.columns.iter().filter_map(|column| Some((&column.system, column.unfair.as_ref()?)));
        let unfair = unfair.skip_while(|(system, _)| **system == self.columns[0].system);
        reasons.iter().map(told).chain(unfair.map(|(system, why)| format!("gains of {system}: {why}"))).collect()
    }
}

impl Conclusion {
    /// In words, against the system of that name.
    pub fn words(&self, baseline: &str, script: Script) -> String {
        let Conclusion { system, faster, large, of, all } = self;
        let mut text = format!(
            "By the published times, chance left aside, {system} is faster than {baseline} in {faster} of {of} queries, in {large} of them by \
             more than 50 %."
        );
        for (word, times, winner) in all {
            let _ = write!(text, " All queries together, {word}: {}× ({winner}).", significant(*times, 3, script));
        }
        text
    }
}

pub fn query_name(query: &str) -> &str {
    if query == SUITE { "all" } else { query }
}

fn grid(lines: Vec<Vec<String>>, left: &[usize]) -> String {
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let align = |column| if left.contains(&column) { Align::Left } else { Align::Right };
    let mut grid = Grid::new((0..columns).map(align).collect());
    for line in lines {
        grid.push(GridLine::Cells(line.iter().map(|cell| GridCell::new(clean(cell))).collect()));
    }
    grid.render(Style::Plain)
}

fn published(section: &Section, a: &Column, b: &Column) -> String {
    let heads = [["", "CPU ms", "", "", "T ms", "", ""], ["query", "A", "B", "gain", "A", "B", "gain"]];
    let mut lines: Vec<Vec<String>> = heads.map(|line| line.map(str::to_owned).to_vec()).to_vec();
    for (at, query) in section.queries.iter().enumerate() {
        let mut line = vec![query_name(query).to_owned()];
        for kind in [CPU, PUBLISHED] {
            let (of_a, of_b) = (&a.times[at][kind], &b.times[at][kind]);
            line.extend([of_a, of_b].map(|time| shown(time, Script::Plain)));
            line.push(gain_letter(b.gain(a, at, kind)));
        }
        lines.push(line);
    }
    grid(lines, &[0])
}

/// `2.41× B`; a dash where there is none.
fn gain_letter(gain: Option<(f64, bool)>) -> String {
    let word = |(times, of_b)| format!("{}× {}", significant(times, 3, Script::Plain), if of_b { 'B' } else { 'A' });
    gain.map_or_else(|| "-".to_owned(), word)
}

/// In a comparison of two systems.
fn row_of<'s>(
    evidence: &Evidence,
    set: &'s ComparisonSet,
    section: &Section,
    (b, query): (&str, &str),
) -> Option<&'s Comparison> {
    let case = evidence.case(section.case)?;
    let id = format!("{}{query}", KINDS[MEAN]);
    let rows = set.tables.iter().filter(|table| table.b == b).flat_map(|table| &table.rows);
    let of_case = |row: &&Comparison| row.case.iter().all(|(key, value)| case.point.get(key) == Some(value));
    rows.filter(|row| row.metric.id == id && row.benchmark == case.benchmark).find(of_case)
}

/// The published gain beside the sound ratio with interval and verdict.
fn both(evidence: &Evidence, set: &ComparisonSet, section: &Section, a: &Column, b: &Column) -> Option<String> {
    let head = ["query", "published", "all runs", "interval", "verdict"].map(str::to_owned).to_vec();
    let mut lines = vec![head];
    let mut rows = Vec::new();
    for (at, query) in section.queries.iter().enumerate() {
        let row = row_of(evidence, set, section, (&b.system, query))?;
        rows.push(row);
        let (ratio, interval) = change(row).map_or_else(
            || ("-".to_owned(), String::new()),
            |change| (change.point(Script::Plain), change.interval(Script::Plain)),
        );
        let (word, more) = verdict_words(row, set);
        // What would settle it is in the plain comparison.
        let verdict = if row.no_verdict().is_some() { more } else { word };
        let gained = gain_letter(b.gain(a, at, PUBLISHED));
        lines.push(vec![query_name(query).to_owned(), gained, ratio, interval, verdict]);
    }
    Some(families(set, rows, WIDTH) + &grid(lines, &[0, 4]))
}

/// One system's two estimators.
fn alone(section: &Section, column: &Column) -> String {
    let mut lines = vec![["query", "CPU ms", "T ms", "mean of all runs, ms"].map(str::to_owned).to_vec()];
    for (at, query) in section.queries.iter().enumerate() {
        let times = &column.times[at];
        let figures = [CPU, PUBLISHED, MEAN].map(|kind| shown(&times[kind], Script::Plain));
        lines.push(std::iter::once(query_name(query).to_owned()).chain(figures).collect());
    }
    grid(lines, &[0])
}

/// What every set of tables ends with.
const FOOTNOTE: &str = "CPU is the processor time of a run, of all processes. T is the published estimator, the mean of the \
                        runs without the shortest and the longest; a gain is a ratio of two such means, and says nothing \
                        of chance. All runs: B against A by the mean of all runs in the same round, with its interval and \
                        verdict. Every answer was checked before it was timed.";

/// With verdicts on [`JUDGED`]. Empty without spatial queries.
pub fn render(evidence: &Evidence, set: Option<&ComparisonSet>) -> Option<String> {
    let sections = sections(evidence);
    let mut text = String::new();
    for section in &sections {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}# {}", if text.is_empty() { "" } else { "\n" }, clean(&section.title));
        match section.columns.as_slice() {
            [] => {}
            [only] => {
                let _ = writeln!(text, "\n{}", clean(&only.system));
                text.push_str(&alone(section, only));
            }
            [a, others @ ..] => {
                for b in others {
                    let _ = writeln!(text, "\nA = {}, B = {}", clean(&a.system), clean(&b.system));
                    text.push_str(&published(section, a, b));
                    if let Some(both) = set.and_then(|set| both(evidence, set, section, a, b)) {
                        let _ = write!(text, "\nthe published gain in T, and B against A by all runs\n{both}");
                    }
                }
                text.push('\n');
                for conclusion in section.conclusions() {
                    text.push_str(&wrapped(&clean(&conclusion.words(&a.system, Script::Plain)), WIDTH, 2));
                }
            }
        }
        for reason in section.reasons() {
            text.push_str(&wrapped(&clean(&format!("n/a: {reason}")), WIDTH, 2));
        }
    }
    text.push('\n');
    text.push_str(&wrapped(FOOTNOTE, WIDTH, 0));
    (!sections.is_empty()).then(|| unfinished_above(evidence, WIDTH) + &text)
}
