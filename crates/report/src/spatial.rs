//! Spatial queries in the published form: CPU and elapsed time per query, gains, and totals, with the published
//! estimator beside the sound one.

use model::NoValue;
use std::fmt::Write as _;

use crate::comparison::{Comparison, ComparisonSet, Index, unfair};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, SystemCase, views};
use crate::labels::{families, verdict_words};
use crate::number::{Script, significant};
use crate::views::{Bar, BarGroup, Bars, Column as Heading, Entry, Family, Form, Look, Table, View};

/// The workload whose cases are shown.
const WORKLOAD: &str = "spatial";
/// Metrics of [`Column::times`] in order: published estimator (mean without shortest and longest), CPU time, mean of
/// all executions.
const KINDS: [&str; 3] = ["published/", "cpu/", "elapsed/"];
/// The place of the published estimator's time.
pub const PUBLISHED: usize = 0;
/// The place of the processor time.
pub const CPU: usize = 1;
/// The place of the mean of all executions.
pub const MEAN: usize = 2;
/// The figure of all queries together.
pub const SUITE: &str = "suite";
/// Spatial suites.
pub const FAMILY: Family = Family {
    name: WORKLOAD,
    judged: &["elapsed"],
    part: [
        "Spatial",
        "Spatial queries",
        "The published table: for each query the mean of its executions without the shortest and the longest, and its \
         processor time. Every answer was checked; one that is wrong has no figure.",
    ],
    footnote: "CPU is the processor time of an execution, of all processes. T is the published estimator, the mean of the \
               executions without the shortest and the longest; a gain is a ratio of two such means, and says nothing of chance. All executions: \
               the change, A → B, by the mean of all executions in the same round, with its interval and verdict. Every answer was checked \
               before it was timed.",
    views: suite_views,
    compared: |_| Vec::new(),
};
/// Larger gains are counted separately, as in the published text.
const LARGE_GAIN: f64 = 1.5;
pub type Time = Result<f64, NoValue>;

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
    let is_spatial = |view: &CaseView<'_>| {
        view.systems.first().and_then(|s| evidence.case(s.case)).is_some_and(|case| case.workload == WORKLOAD)
    };
    let views: Vec<CaseView<'_>> = views(evidence).into_iter().filter(is_spatial).collect();
    if views.is_empty() {
        return Vec::new();
    }
    let index = Index::new(evidence);
    views.iter().filter_map(|view| section(evidence, &index, view)).collect()
}

fn section(evidence: &Evidence, index: &Index<'_>, view: &CaseView<'_>) -> Option<Section> {
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

fn mean(index: &Index<'_>, case: u32, id: &str) -> Time {
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

    /// Reasons for gaps, with systems and queries.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(&NoValue, Places<'_>)> = Vec::new();
        for column in &self.columns {
            // A sum is missing because of its parts.
            for (times, query) in column.times.iter().zip(&self.queries).filter(|(_, query)| *query != SUITE) {
                for reason in times.iter().filter_map(|time| time.as_ref().err()) {
                    let at = reasons.iter().position(|(known, _)| *known == reason).unwrap_or_else(|| {
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
        let single = self.queries.iter().filter(|query| *query != SUITE).count();
        let of = |(system, queries): &(&str, Vec<&str>)| {
            if queries.len() >= single { (*system).to_owned() } else { format!("{system}, {}", queries.join(", ")) }
        };
        let told = |(reason, systems): &(&NoValue, Places<'_>)| {
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

fn query_name(query: &str) -> &str {
    if query == SUITE { "all" } else { query }
}

fn time(of: &Time) -> Entry {
    Entry::of(of.clone(), Form::Significant)
}

fn gain_entry(a: &Column, b: &Column, at: usize, kind: usize) -> Entry {
    let gain = b.gain(a, at, kind);
    let letter = if gain.is_some_and(|(_, of_b)| of_b) { 'B' } else { 'A' };
    let winner = |(times, of_b)| (times, if of_b { b.system.as_str() } else { a.system.as_str() });
    Entry::gain(gain.map(winner), Form::GainOf(letter))
}

impl Section {
    fn table(
        &self,
        title: String,
        columns: Vec<Heading>,
        row: impl Fn(usize, &str) -> Option<Vec<Entry>>,
    ) -> Option<Table> {
        let named =
            |(at, query): (usize, &String)| Some([vec![Entry::text(query_name(query))], row(at, query)?].concat());
        let columns = std::iter::once(Heading::words("query")).chain(columns).collect();
        let rows = self.queries.iter().enumerate().map(named).collect::<Option<Vec<_>>>()?;
        Some(Table { family: WORKLOAD, case: self.title.clone(), title, columns, rows, ..Table::default() })
    }

    /// Times of two systems, and who gains.
    fn published(&self, a: &Column, b: &Column) -> Option<Table> {
        let kinds = [(CPU, "CPU ms"), (PUBLISHED, "T ms")];
        let heads = kinds.iter().flat_map(|(_, group)| {
            let sides = [(&a.system, "A"), (&b.system, "B")];
            let sides = sides.map(|(system, letter)| Heading::new(system.as_str(), "ms").headed(letter));
            sides.into_iter().chain([Heading::new("gain", "")]).map(|column| column.under(*group))
        });
        self.table(format!("A = {}, B = {}", a.system, b.system), heads.collect(), |at, _| {
            let of_kind = |(kind, _): &(usize, &str)| {
                [time(&a.times[at][*kind]), time(&b.times[at][*kind]), gain_entry(a, b, at, *kind)]
            };
            Some(kinds.iter().flat_map(of_kind).collect())
        })
    }

    /// The published gain beside the sound ratio with interval and verdict.
    fn both(&self, evidence: &Evidence, set: &ComparisonSet, a: &Column, b: &Column) -> Option<Table> {
        let found = self.queries.iter().map(|query| row_of(evidence, set, self, (&b.system, query)));
        let found: Vec<&Comparison> = found.collect::<Option<_>>()?;
        let words = ["interval", "verdict"].map(Heading::words);
        let heads =
            ["published", "all executions"].map(|head| Heading::new(head, "")).into_iter().chain(words).collect();
        let title = "the published gain in T, and the change, A → B, by all executions".to_owned();
        let table = self.table(title, heads, |at, _| {
            let (word, more) = verdict_words(found[at], set);
            // What would settle it is in the plain comparison.
            let verdict = if found[at].no_verdict().is_some() { more } else { word };
            let [point, interval] = Entry::change(found[at]);
            Some(vec![gain_entry(a, b, at, PUBLISHED), point, interval, Entry::text(verdict)])
        })?;
        Some(Table { lead: families(set, found.iter().copied()), look: Look::Terminal, ..table })
    }

    /// One system's two estimators.
    fn alone(&self, column: &Column) -> Option<Table> {
        let heads = [("CPU ms", "ms"), ("T ms", "ms"), ("mean of all executions, ms", "ms")];
        self.table(column.system.clone(), heads.map(|(head, unit)| Heading::new(head, unit)).into(), |at, _| {
            Some([CPU, PUBLISHED, MEAN].map(|kind| time(&column.times[at][kind])).into())
        })
    }

    fn bars(&self, number: usize, kind: usize) -> Bars {
        let bar = |column: &Column, at: usize| {
            let entry = time(&column.times[at][kind]);
            Bar { index: column.index, name: column.system.clone(), entry, mean: None }
        };
        let single = self.queries.iter().enumerate().filter(|(_, query)| *query != SUITE);
        let group = |(at, query): (usize, &String)| BarGroup {
            name: query.clone(),
            bars: self.columns.iter().map(|column| bar(column, at)).collect(),
        };
        let title = ["Time of each query", "CPU time of each query"][kind].to_owned();
        let unit = [
            "ms: mean of the executions without the shortest and the longest",
            "ms of an execution, of all processors",
        ][kind];
        let id = format!("spatial-{}{number}", ["", "cpu-"][kind]);
        Bars { family: WORKLOAD, title, unit: unit.to_owned(), groups: single.map(group).collect(), id }
    }

    fn views(&self, evidence: &Evidence, set: Option<&ComparisonSet>, number: usize) -> Vec<View> {
        let Some((a, others)) = self.columns.split_first() else { return Vec::new() };
        let mut tables: Vec<Table> = others
            .iter()
            .flat_map(|b| [self.published(a, b), set.and_then(|set| self.both(evidence, set, a, b))])
            .flatten()
            .collect();
        if others.is_empty() {
            tables.extend(self.alone(a));
        }
        if let Some(last) = tables.last_mut() {
            last.notes = self.reasons().iter().map(|reason| format!("n/a: {reason}")).collect();
        }
        if let Some(first) = tables.first_mut() {
            first.conclusions = self.conclusions().iter().map(|one| one.words(&a.system, Script::Plain)).collect();
        }
        let is_known =
            |bars: &Bars| bars.groups.iter().flat_map(|group| &group.bars).any(|bar| bar.entry.value.is_some());
        let published = Some(self.bars(number, PUBLISHED)).filter(is_known);
        let bars = published.into_iter().chain([self.bars(number, CPU)]);
        tables.into_iter().map(View::Table).chain(bars.map(View::Bars)).collect()
    }
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

fn suite_views(evidence: &Evidence, set: Option<&ComparisonSet>) -> Vec<View> {
    let sections = sections(evidence);
    sections.iter().enumerate().flat_map(|(number, section)| section.views(evidence, set, number)).collect()
}
