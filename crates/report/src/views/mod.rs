//! What a family shows, before it is laid out: tables, curves, bars and series of numbers with their units. Text,
//! Markdown, HTML and JSON render each kind once.

pub mod curves;
pub mod hosts;
pub mod markdown;
pub mod overview;
pub mod text;

pub use curves::{Curve, CurveDot, CurveLine};

use model::{Absence, NoValue};
use schemars::JsonSchema;
use serde::Serialize;

use crate::comparison::{Bound, Comparison, ComparisonSet, MetricFilter, Options, compare};
use crate::evidence::Evidence;
use crate::labels::{change_of, missing_text, unfinished_note};
use crate::number::{
    Change, RowUnit, Script, fixed_decimals, half_width_text, percent_text, significant_digits, whole_number,
};
use crate::text::{Align, wrap_to_width};
use crate::{backup, barrel, order_entry, pages, queries, spatial};

/// A workload whose cases have views next to the comparison.
pub struct Family {
    /// The workload.
    pub name: &'static str,
    /// The metrics that its verdicts are given on.
    pub judged: &'static [&'static str],
    /// Texts of its part of a page: the name in the navigation, the text above the part, and the text below that.
    pub part: [&'static str; 3],
    /// What its tables on a terminal end with.
    pub footnote: &'static str,
    /// Makes the views from a comparison of what is judged; empty without cases of the workload.
    pub views: fn(&Evidence, Option<&ComparisonSet>) -> Vec<View>,
    /// Further comparisons of its part of a page, with their titles.
    pub compared: fn(&Evidence) -> Vec<(&'static str, Options)>,
}

/// Every workload that has views.
pub const FAMILIES: [&Family; 7] = [
    &order_entry::FAMILY,
    &pages::FAMILY,
    &spatial::FAMILY,
    &backup::FAMILY,
    &queries::FAMILY,
    &queries::ANALYTICS_FAMILY,
    &queries::REPLAY_FAMILY,
];

/// Makes the views of every workload, each with verdicts on what it judges, by the rules of `set`.
pub fn all_views(evidence: &Evidence, set: &ComparisonSet) -> Vec<View> {
    let of_families =
        FAMILIES.into_iter().filter(|family| evidence.cases.iter().any(|case| case.workload == family.name));
    let of_families =
        of_families.flat_map(|family| (family.views)(evidence, judged_set(evidence, set, family).as_ref()));
    // A curve has all of its table for a terminal.
    let of_disk = curves::disk_views(set)
        .into_iter()
        .filter(|view| view.table().is_none_or(|table| table.placement != TablePlacement::Terminal));
    of_disk.chain(curves::client_views(set)).chain(barrel::table_views(evidence)).chain(of_families).collect()
}

/// Compares the metrics that a family judges, by the rules of `set`; `None` if they cannot be compared.
fn judged_set(evidence: &Evidence, set: &ComparisonSet, family: &Family) -> Option<ComparisonSet> {
    let metrics = MetricFilter::Named(family.judged.iter().map(|&metric| metric.to_owned()).collect());
    compare(evidence, &set.rules.options_with_rules(Options { metrics, ..Options::default() })).ok()
}

impl Family {
    /// Writes the views for a terminal of this width, where that can be; `None` without cases of the workload.
    pub fn render_for_terminal(
        &self,
        evidence: &Evidence,
        set: Option<&ComparisonSet>,
        width: usize,
    ) -> Option<String> {
        let views = (self.views)(evidence, set);
        let text = unfinished_note(evidence, width) + &text::render_tables(&views, width) + "\n";
        let footnote = self.footnote.lines().map(|line| wrap_to_width(line, width, 0));
        (!views.is_empty()).then(|| text + &footnote.collect::<String>())
    }
}

/// One of a family's views.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum View {
    /// Rows of entries.
    Table(Table),
    /// A rate over a key that is swept.
    Curve(Curve),
    /// One number for each system, in groups.
    Bars(Bars),
    /// Values over a number that is no key.
    Series(Series),
}

/// A table of entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// The workload that it is of, or what it is about.
    pub family: &'static str,
    /// The case that it is of; empty if of all.
    pub case: String,
    /// What it shows.
    pub title: String,
    /// The columns; each row has an entry for each.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<Vec<Entry>>,
    /// What is to be known before it, such as how many questions were asked.
    pub lead: Vec<String>,
    /// What follows from it, in words.
    pub conclusions: Vec<String>,
    /// What is to be known of it.
    pub notes: Vec<String>,
    /// Where and how the table is printed.
    #[serde(skip)]
    pub placement: TablePlacement,
}

impl Table {
    /// Whether a terminal, and Markdown, show the table.
    fn is_on_terminal(&self) -> bool {
        !matches!(self.placement, TablePlacement::Page | TablePlacement::GroupedPage)
    }
}

/// Where and how a table is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TablePlacement {
    #[default]
    Everywhere,
    /// Folded on a page, below its summary.
    Folded,
    /// Only on a page, with equal first entries as one.
    GroupedPage,
    /// Indented on a terminal, under what it belongs to.
    Under,
    /// No line before it on a terminal.
    Close,
    Terminal,
    Page,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    /// What stands over it and its neighbours; empty if nothing does.
    pub group: String,
    /// What it shows.
    pub name: String,
    /// The unit of its numbers; empty for plain numbers and for words.
    pub unit: String,
    /// The name as it is printed above a narrow column.
    #[serde(skip)]
    pub head: String,
    #[serde(skip)]
    pub align: Align,
    /// The column is for programs only: on a terminal and a page the heading has its value.
    #[serde(skip)]
    pub is_hidden: bool,
}

impl Column {
    /// Makes a column of numbers.
    pub fn new(name: impl Into<String>, unit: impl Into<String>) -> Column {
        let name = name.into();
        Column { head: name.clone(), name, unit: unit.into(), ..Column::default() }
    }

    /// Makes a column of words, aligned left.
    pub fn of_words(name: impl Into<String>) -> Column {
        Column { align: Align::Left, ..Column::new(name, "") }
    }

    /// Prints `head` above the column instead of its name.
    pub fn with_head(self, head: impl Into<String>) -> Column {
        Column { head: head.into(), ..self }
    }

    /// Puts the column under a group's heading.
    pub fn in_group(self, group: impl Into<String>) -> Column {
        Column { group: group.into(), ..self }
    }

    /// Hides the column from people, so that only programs read it.
    pub fn hidden(self) -> Column {
        Column { is_hidden: true, ..self }
    }
}

/// Serializes a reason as the text that a person reads.
fn in_words<S: serde::Serializer>(missing: &Option<NoValue>, serializer: S) -> Result<S::Ok, S::Error> {
    missing.as_ref().map(ToString::to_string).serialize(serializer)
}

/// A number, a word, or why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Entry {
    /// The number, in the unit of its column; left out where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<f64>,
    /// Words: a name, or what is said of the number.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What the number is if it is a bound of a capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<Bound>,
    /// Half the interval of the mean, as a share of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_width: Option<f64>,
    /// The interval, in the unit of the column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// The winner of a gain: who has the better number, by that factor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub winner: Option<String>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_words")]
    #[schemars(with = "Option<String>")]
    pub missing: Option<NoValue>,
    /// The index of a system, if the entry is its name: colour and shape.
    #[serde(skip)]
    pub index: Option<usize>,
    #[serde(skip)]
    pub form: Form,
}

/// How a number is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Form {
    /// Three digits.
    #[default]
    Significant,
    Fixed(usize),
    /// Thousands apart.
    Whole,
    /// Two decimals, four below a tenth.
    Mean,
    /// A size in its own unit: of `bytes` or `us`.
    Scaled(&'static str),
    /// A share, in percent.
    Percent,
    /// Hundredths: `99.98 %`.
    Hundredths,
    /// The text has it, in the unit of its size.
    Latency,
    /// `+24.8 %`
    More,
    /// `0.66×`
    Times,
    /// `×0.66`
    Factor,
    /// A dash, for what does not apply.
    Dash,
    /// `2.8x (linux)`.
    Gain,
    /// `2.41× B`, or with the winner's name where there is room.
    GainOf(char),
    /// The point of a change.
    Change(Change),
    /// Its interval.
    Interval(Change),
}

impl Entry {
    /// Makes an entry of text alone.
    pub fn of_text(text: impl Into<String>) -> Entry {
        Entry { text: text.into(), ..Entry::default() }
    }

    /// Makes the entry of a system's name with its colour.
    pub fn of_system(name: &str, index: usize) -> Entry {
        Entry { index: Some(index), ..Entry::of_text(name) }
    }

    /// Makes the entry of a number, or of why there is none.
    pub fn from_reading(reading: Result<f64, NoValue>, form: Form) -> Entry {
        match reading {
            Ok(value) => Entry { value: Some(value), form, ..Entry::default() },
            Err(missing) => Entry { missing: Some(missing), form, ..Entry::default() },
        }
    }

    /// Makes the entry of a number, or of a reason if it is missing.
    pub fn from_value(value: Option<f64>, form: Form, missing: &str) -> Entry {
        Entry::from_reading(value.ok_or_else(|| Absence::Unavailable.with_reason(missing)), form)
    }

    /// Adds the half width of the number's interval to the entry.
    pub fn with_half_width(self, half_width: Option<f64>) -> Entry {
        Entry { half_width, ..self }
    }

    /// Makes the entry of a factor and who has the better number.
    pub fn of_gain(gain: Option<(f64, &str)>, form: Form) -> Entry {
        let winner = gain.map(|(_, winner)| winner.to_owned());
        Entry {
            winner,
            ..Entry::from_value(
                gain.map(|(times, _)| times),
                form,
                "one of the two is not known or 0, or no gain may be told",
            )
        }
    }

    /// Makes the entry of what does not apply, a dash with the reason.
    pub fn dash(why: &str) -> Entry {
        Entry::from_value(None, Form::Dash, why)
    }

    /// Makes the entries of a row's change and its interval.
    pub fn change_and_interval(row: &Comparison) -> [Entry; 2] {
        let Some(change) = change_of(row) else { return [Entry::dash("the two cannot be compared"), Entry::default()] };
        let ratio = row.change.map(|point| point.ratio);
        let point = Entry::from_value(ratio, Form::Change(change), "the two cannot be compared");
        let interval = row.estimate.map(|estimate| [estimate.lo, estimate.hi]);
        [point, Entry { interval, form: Form::Interval(change), ..Entry::default() }]
    }

    /// Writes the number without its half width and without a remark, or the text in place of a missing one.
    pub fn number_text(&self, script: Script) -> String {
        if let Form::Interval(change) = self.form {
            return change.print_interval(script);
        }
        let Some(value) = self.value else {
            return match (&self.missing, self.form) {
                (None, _) => String::new(),
                (Some(_), Form::Dash) => dash_text(script),
                (Some(_), Form::GainOf(_)) if script == Script::Plain => dash_text(script),
                (Some(missing), _) => missing_text(missing.kind).to_owned(),
            };
        };
        let figure = match self.form {
            Form::Significant | Form::Dash => significant_digits(value, 3, script),
            Form::Fixed(decimals) => fixed_decimals(value, decimals),
            Form::Whole => whole_number(value.max(0.0).round() as u64, script),
            Form::Mean => format!("{value:.*}", if value.abs() < 0.1 { 4 } else { 2 }),
            Form::Scaled(unit) => {
                let unit = RowUnit::new(unit, [value]);
                format!("{} {}", unit.print(value, script), unit.unit_name())
            }
            Form::Percent => percent_text(value, script),
            Form::Hundredths => format!("{value:.2} %"),
            Form::Latency => String::new(),
            Form::More => {
                let sign = match (value < 0.0, script) {
                    (false, _) => "+",
                    (true, Script::Plain) => "-",
                    (true, Script::Typographic) => "\u{2212}",
                };
                format!("{sign}{} %", significant_digits(value.abs(), 3, script))
            }
            Form::Times => format!("{value:.2}×"),
            Form::Factor => format!("×{value:.2}"),
            // Two decimals where one would show 1.0 or 1.1.
            Form::Gain => format!("{value:.*}x", if value < 1.15 { 2 } else { 1 }),
            Form::GainOf(_) => format!("{}×", significant_digits(value, 3, script)),
            Form::Change(change) | Form::Interval(change) => change.print_change(script),
        };
        format!("{}{figure}", self.bound.map_or("", Bound::sign))
    }

    /// Writes the entry in one line.
    pub fn print(&self, script: Script) -> String {
        let half = self.half_width.map(|share| half_width_text(share, script)).unwrap_or_default();
        let winner = match (&self.winner, self.form) {
            (Some(_), Form::GainOf(letter)) if script == Script::Plain => letter.to_string(),
            (Some(winner), _) => format!("({winner})"),
            (None, _) => String::new(),
        };
        let text = if self.missing.is_some() { "" } else { self.text.as_str() };
        [&self.number_text(script), half.as_str(), &winner, text]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// The dash for what does not apply.
fn dash_text(script: Script) -> String {
    if script == Script::Plain { "-" } else { "–" }.to_owned()
}

/// Bars with their numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Bars {
    /// The workload that they are of.
    pub family: &'static str,
    /// What they show.
    pub title: String,
    /// The unit in words.
    pub unit: String,
    /// Bars that stand together.
    pub groups: Vec<BarGroup>,
    /// Unique in a page.
    #[serde(skip)]
    pub id: String,
}

/// Bars that stand together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct BarGroup {
    /// Their name.
    pub name: String,
    /// The bars.
    pub bars: Vec<Bar>,
}

/// One number of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Bar {
    /// The system, or the codec.
    pub name: String,
    /// Its number with the interval of the mean, or why there is none.
    #[serde(flatten)]
    pub entry: Entry,
    /// The highest of all runs, which such tests are published by, where the bar is a mean.
    pub highest_run: Option<f64>,
    #[serde(skip)]
    pub index: usize,
}

/// Lines through values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Series {
    /// The workload that it is of.
    pub family: &'static str,
    /// What it shows.
    pub title: String,
    /// What the first number of each point is, with its unit.
    pub x: String,
    /// The unit of the second.
    pub unit: String,
    /// The lines.
    pub lines: Vec<SeriesLine>,
    /// Unique in a page.
    #[serde(skip)]
    pub id: String,
}

/// One line of a series.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct SeriesLine {
    /// The system, or the codec.
    pub name: String,
    /// The points from left to right.
    pub points: Vec<(f64, f64)>,
    #[serde(skip)]
    pub index: usize,
}

impl View {
    /// The view's table, if it is one.
    pub fn table(&self) -> Option<&Table> {
        match self {
            View::Table(table) => Some(table),
            _ => None,
        }
    }
}
