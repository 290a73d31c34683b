//! Spatial queries in the published form: CPU and elapsed time per query, gains, and totals, with the published
//! estimator next to the sound one.

use model::NoValue;
use std::fmt::Write as _;

use crate::comparison::{Comparison, ComparisonSet, Index, why_choice_unfair};
use crate::evidence::Evidence;
use crate::html::cases::{CaseView, case_views};
use crate::labels::{explain_families, verdict_words};
use crate::number::{Script, significant_digits};
use crate::views::{Bar, BarGroup, Bars, Column as Heading, Entry, Family, Form, Table, TablePlacement, View};

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
    /// The times of each query, indexed by [`PUBLISHED`], [`CPU`] and [`MEAN`].
    pub times: Vec<[Time; 3]>,
    /// Why it has no gains over the first.
    pub unfair: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    pub title: String,
    /// The queries in the suite's order, the sum last.
    pub queries: Vec<String>,
    /// The baseline first.
    pub columns: Vec<Column>,
    /// The case, by which its rows are found in a comparison.
    case: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    pub system: String,
    /// Number of queries in which it is faster.
    pub faster: usize,
    /// Number of those in which it is faster by more than half.
    pub large: usize,
    /// Queries with times on both sides.
    pub of: usize,
    /// The sum of all queries: what, factor and winner.
    pub all: Vec<(&'static str, f64, String)>,
}

/// Makes a section for each case of spatial queries; empty without any.
pub fn spatial_sections(evidence: &Evidence) -> Vec<Section> {
    let views: Vec<CaseView<'_>> = case_views(evidence)
        .into_iter()
        .filter(|view| {
            view.systems.first().and_then(|s| evidence.case(s.case)).is_some_and(|case| case.workload == WORKLOAD)
        })
        .collect();
    if views.is_empty() {
        return Vec::new();
    }
    let index = Index::new(evidence);
    views.iter().filter_map(|view| make_section(evidence, &index, view)).collect()
}

/// Makes the section of a case, the baseline's column first.
fn make_section(evidence: &Evidence, index: &Index<'_>, view: &CaseView<'_>) -> Option<Section> {
    let case = view.systems.first()?.case;
    let queries = queries_of_view(evidence, view);
    let baseline = &evidence.header.plan.comparison.baseline;
    let first = view.systems.iter().find(|system| system.name == baseline).map_or(case, |system| system.case);
    let mut columns: Vec<Column> = view
        .systems
        .iter()
        .map(|system| Column {
            unfair: why_choice_unfair(evidence, index, &[first, system.case]),
            system: system.name.to_owned(),
            index: system.index,
            times: queries
                .iter()
                .map(|query| KINDS.map(|kind| mean_of_runs(index, system.case, &format!("{kind}{query}"))))
                .collect(),
        })
        .collect();
    columns.sort_by_key(|column| column.system != *baseline);
    Some(Section { title: view.title.clone(), queries, columns, case })
}

/// Lists the queries of a case in the suite's order, the sum last.
fn queries_of_view(evidence: &Evidence, view: &CaseView<'_>) -> Vec<String> {
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

/// The mean of a metric over all runs of a case, or why there is none.
pub(crate) fn mean_of_runs(index: &Index<'_>, case: u32, id: &str) -> Time {
    let points = index.values_of_all_runs(case, id).map_err(|(why, _)| why)?;
    Ok(points.iter().map(|point| point.value).sum::<f64>() / points.len() as f64)
}

impl Column {
    /// Computes the gain over the first column for a query and a kind of time, and whether this column wins.
    /// `None` if a time is unknown or 0, or if comparing the columns is unfair.
    pub fn gain_over(&self, first: &Column, query: usize, kind: usize) -> Option<(f64, bool)> {
        if self.unfair.is_some() {
            return None;
        }
        let (a, b) = positive_time(first, query, kind).zip(positive_time(self, query, kind))?;
        Some(if b < a { (a / b, true) } else { (b / a, false) })
    }
}

/// A column's time for a query, if it is above 0.
fn positive_time(column: &Column, query: usize, kind: usize) -> Option<f64> {
    column.times.get(query)?[kind].as_ref().ok().copied().filter(|ms| *ms > 0.0)
}

impl Section {
    /// Compares each system with the first; none without common times.
    pub fn conclusions(&self) -> Vec<Conclusion> {
        let [a, others @ ..] = self.columns.as_slice() else { return Vec::new() };
        others.iter().map(|b| self.conclude_pair(a, b)).filter(|one| one.of > 0).collect()
    }

    /// Counts the queries that one column answers faster than another, and computes the gain in all together.
    fn conclude_pair(&self, a: &Column, b: &Column) -> Conclusion {
        let single = (0..self.queries.len()).filter(|at| self.queries[*at] != SUITE);
        let gains: Vec<(f64, bool)> = single.filter_map(|at| b.gain_over(a, at, PUBLISHED)).collect();
        let for_b: Vec<&(f64, bool)> = gains.iter().filter(|(_, of_b)| *of_b).collect();
        let total = self.queries.iter().position(|query| query == SUITE);
        let all = [(PUBLISHED, "time"), (CPU, "processor time")].into_iter().filter_map(|(kind, word)| {
            let (times, of_b) = b.gain_over(a, total?, kind)?;
            Some((word, times, if of_b { b.system.clone() } else { a.system.clone() }))
        });
        Conclusion {
            system: b.system.clone(),
            faster: for_b.iter().copied().count(),
            large: for_b.iter().copied().filter(|(gain, _)| *gain > LARGE_GAIN).count(),
            of: gains.len(),
            all: all.collect(),
        }
    }

    /// Lists the reasons for missing times and gains, with systems and queries.
    pub fn gap_reasons(&self) -> Vec<String> {
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
        let unfair = self.columns.iter().filter_map(|column| Some((&column.system, column.unfair.as_ref()?)));
        let unfair = unfair.skip_while(|(system, _)| **system == self.columns[0].system);
        reasons
            .iter()
            .map(|(reason, systems)| {
                format!(
                    "{}: {reason}",
                    systems
                        .iter()
                        .map(|(system, queries)| {
                            if queries.len() >= single {
                                (*system).to_owned()
                            } else {
                                format!("{system}, {}", queries.join(", "))
                            }
                        })
                        .collect::<Vec<_>>()
                        .join("; ")
                )
            })
            .chain(unfair.map(|(system, why)| format!("gains of {system}: {why}")))
            .collect()
    }
}

impl Conclusion {
    /// Writes the conclusion in words, against the system of that name.
    pub fn in_words(&self, baseline: &str, script: Script) -> String {
        let Conclusion { system, faster, large, of, all } = self;
        let mut text = format!(
            "By the published times, chance left aside, {system} is faster than {baseline} in {faster} of {of} queries, in {large} of them by \
             more than 50 %."
        );
        for (word, times, winner) in all {
            let _ =
                write!(text, " All queries together, {word}: {}× ({winner}).", significant_digits(*times, 3, script));
        }
        text
    }
}

/// A query's name; `all` for the sum.
fn query_label(query: &str) -> &str {
    if query == SUITE { "all" } else { query }
}

/// Makes the entry of a time, or of why there is none.
fn time_entry(of: &Time) -> Entry {
    Entry::from_reading(of.clone(), Form::Significant)
}

/// Makes the entry of a gain, with the letter of the faster side.
fn gain_entry(a: &Column, b: &Column, at: usize, kind: usize) -> Entry {
    let gain = b.gain_over(a, at, kind);
    let letter = if gain.is_some_and(|(_, of_b)| of_b) { 'B' } else { 'A' };
    Entry::of_gain(
        gain.map(|(times, of_b)| (times, if of_b { b.system.as_str() } else { a.system.as_str() })),
        Form::GainOf(letter),
    )
}

impl Section {
    /// A table with a row for each query; `None` if `row` gives no entries for one of them.
    fn query_table(
        &self,
        title: String,
        columns: Vec<Heading>,
        row: impl Fn(usize, &str) -> Option<Vec<Entry>>,
    ) -> Option<Table> {
        let columns = std::iter::once(Heading::of_words("query")).chain(columns).collect();
        let rows = self
            .queries
            .iter()
            .enumerate()
            .map(|(at, query)| Some([vec![Entry::of_text(query_label(query))], row(at, query)?].concat()))
            .collect::<Option<Vec<_>>>()?;
        Some(Table { family: WORKLOAD, case: self.title.clone(), title, columns, rows, ..Table::default() })
    }

    /// Makes the table of two systems' times, with gains.
    fn published_table(&self, a: &Column, b: &Column) -> Option<Table> {
        let kinds = [(CPU, "CPU ms"), (PUBLISHED, "T ms")];
        let heads = kinds.iter().flat_map(|(_, group)| {
            let sides = [(&a.system, "A"), (&b.system, "B")];
            let sides = sides.map(|(system, letter)| Heading::new(system.as_str(), "ms").with_head(letter));
            sides.into_iter().chain([Heading::new("gain", "")]).map(|column| column.in_group(*group))
        });
        self.query_table(format!("A = {}, B = {}", a.system, b.system), heads.collect(), |at, _| {
            Some(
                kinds
                    .iter()
                    .flat_map(|(kind, _)| {
                        [time_entry(&a.times[at][*kind]), time_entry(&b.times[at][*kind]), gain_entry(a, b, at, *kind)]
                    })
                    .collect(),
            )
        })
    }

    /// Makes the table of the published gain next to the change with interval and verdict; `None` if a query has no row.
    fn gain_and_ratio_table(&self, evidence: &Evidence, set: &ComparisonSet, a: &Column, b: &Column) -> Option<Table> {
        let found = self.queries.iter().map(|query| row_of(evidence, set, self, (&b.system, query)));
        let found: Vec<&Comparison> = found.collect::<Option<_>>()?;
        let words = ["interval", "verdict"].map(Heading::of_words);
        let heads =
            ["published", "all executions"].map(|head| Heading::new(head, "")).into_iter().chain(words).collect();
        let title = "the published gain in T, and the change, A → B, by all executions".to_owned();
        let table = self.query_table(title, heads, |at, _| {
            let (word, more) = verdict_words(found[at], set);
            // What would settle it is in the plain comparison.
            let verdict = if found[at].why_no_verdict().is_some() { more } else { word };
            let [point, interval] = Entry::change_and_interval(found[at]);
            Some(vec![gain_entry(a, b, at, PUBLISHED), point, interval, Entry::of_text(verdict)])
        })?;
        Some(Table { lead: explain_families(set, found.iter().copied()), placement: TablePlacement::Terminal, ..table })
    }

    /// Makes the table of one system's times by both estimators.
    fn single_system_table(&self, column: &Column) -> Option<Table> {
        let heads = [("CPU ms", "ms"), ("T ms", "ms"), ("mean of all executions, ms", "ms")];
        self.query_table(column.system.clone(), heads.map(|(head, unit)| Heading::new(head, unit)).into(), |at, _| {
            Some([CPU, PUBLISHED, MEAN].map(|kind| time_entry(&column.times[at][kind])).into())
        })
    }

    /// Makes the bars of a kind of time.
    fn time_bars(&self, number: usize, kind: usize) -> Bars {
        let bar = |column: &Column, at: usize| {
            let entry = time_entry(&column.times[at][kind]);
            Bar { index: column.index, name: column.system.clone(), entry, highest_run: None }
        };
        let single = self.queries.iter().enumerate().filter(|(_, query)| *query != SUITE);
        let title = ["Time of each query", "CPU time of each query"][kind].to_owned();
        let unit = [
            "ms: mean of the executions without the shortest and the longest",
            "ms of an execution, of all processors",
        ][kind];
        let id = format!("spatial-{}{number}", ["", "cpu-"][kind]);
        Bars {
            family: WORKLOAD,
            title,
            unit: unit.to_owned(),
            groups: single
                .map(|(at, query)| BarGroup {
                    name: query.clone(),
                    bars: self.columns.iter().map(|column| bar(column, at)).collect(),
                })
                .collect(),
            id,
        }
    }

    /// Makes the tables and charts of the section.
    fn section_views(&self, evidence: &Evidence, set: Option<&ComparisonSet>, number: usize) -> Vec<View> {
        let Some((a, others)) = self.columns.split_first() else { return Vec::new() };
        let mut tables: Vec<Table> = others
            .iter()
            .flat_map(|b| {
                [self.published_table(a, b), set.and_then(|set| self.gain_and_ratio_table(evidence, set, a, b))]
            })
            .flatten()
            .collect();
        if others.is_empty() {
            tables.extend(self.single_system_table(a));
        }
        if let Some(last) = tables.last_mut() {
            last.notes = self.gap_reasons().iter().map(|reason| format!("n/a: {reason}")).collect();
        }
        if let Some(first) = tables.first_mut() {
            first.conclusions = self.conclusions().iter().map(|one| one.in_words(&a.system, Script::Plain)).collect();
        }
        let published = Some(self.time_bars(number, PUBLISHED))
            .filter(|bars| bars.groups.iter().flat_map(|group| &group.bars).any(|bar| bar.entry.value.is_some()));
        let bars = published.into_iter().chain([self.time_bars(number, CPU)]);
        tables.into_iter().map(View::Table).chain(bars.map(View::Bars)).collect()
    }
}

/// Finds the row of a query in a comparison of two systems.
fn row_of<'s>(
    evidence: &Evidence,
    set: &'s ComparisonSet,
    section: &Section,
    (b, query): (&str, &str),
) -> Option<&'s Comparison> {
    let case = evidence.case(section.case)?;
    let id = format!("{}{query}", KINDS[MEAN]);
    let rows = set.tables.iter().filter(|table| table.b == b).flat_map(|table| &table.rows);
    rows.filter(|row| row.metric.id == id && row.benchmark == case.benchmark)
        .find(|row| row.case.iter().all(|(key, value)| case.point.get(key) == Some(value)))
}

/// Makes the tables and charts of experiments with the spatial suite.
fn suite_views(evidence: &Evidence, set: Option<&ComparisonSet>) -> Vec<View> {
    let sections = spatial_sections(evidence);
    sections.iter().enumerate().flat_map(|(number, section)| section.section_views(evidence, set, number)).collect()
}
