//! Wide tables: a column a metric, or a column a system. Which is which a user says by `--map`, and the error proposes it.

use std::collections::BTreeMap;

use model::{Direction, Mark, MarkKind, Measurement, Point, Quantity, Reading, Role, Value};

use super::{column_separator, key_value, split_records};
use crate::between::parse_moment_s;
use crate::imported::{guess_direction, is_quantile};
use crate::reader::{Found, Input, Names, READERS, Reader, Reads};
use crate::secrets::is_secret_name;
use crate::text::{parse_number, shorten};
use crate::{FormatError, Imported, ImportedResult};

pub const READER: Reader = Reader {
    name: "wide",
    about: "CSV with a column for each metric or each system, named by `--map`",
    recognises: |text| {
        is_table(text) && !READERS.iter().copied().any(|reader| reader.name != "wide" && (reader.recognises)(text))
    },
    names: Names::File,
    reads: Reads::Text(read),
};

/// What a column is: `--map COLUMN=MEANING`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub column: String,
    pub meaning: Meaning,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    System,
    Benchmark,
    Key,
    Ignore,
    Metric {
        /// The system that the column is of, where it is of one.
        system: Option<String>,
        metric: String,
        unit: String,
        direction: Direction,
    },
}

impl Mapping {
    /// Parses the meaning of a column: `column=metric:unit:direction` or `column=system@metric:unit:direction`.
    /// Else `column=` with `system`, `benchmark`, `key` or `ignore`.
    ///
    /// # Errors
    /// It is none of them.
    pub fn parse(text: &str) -> Result<Mapping, FormatError> {
        let (column, meaning) = text.rsplit_once('=').ok_or_else(|| wrong_mapping(text))?;
        let meaning = match meaning.trim() {
            "system" => Meaning::System,
            "benchmark" => Meaning::Benchmark,
            "key" => Meaning::Key,
            "ignore" => Meaning::Ignore,
            metric => {
                let (system, metric) = match metric.split_once('@') {
                    Some((system, metric)) => (Some(system.to_owned()), metric),
                    None => (None, metric),
                };
                let mut parts = metric.split(':');
                let (Some(metric), Some(unit), Some(direction), None) =
                    (parts.next(), parts.next(), parts.next(), parts.next())
                else {
                    return Err(wrong_mapping(text));
                };
                let direction = match direction {
                    "higher" => Direction::Higher,
                    "lower" => Direction::Lower,
                    "neither" => Direction::Neither,
                    _ => return Err(wrong_mapping(text)),
                };
                Meaning::Metric { system, metric: metric.to_owned(), unit: unit.to_owned(), direction }
            }
        };
        Ok(Mapping { column: column.trim().to_owned(), meaning })
    }

    /// Writes the mapping as `--map` takes it.
    fn to_text(&self) -> String {
        let meaning = match &self.meaning {
            Meaning::System => "system".to_owned(),
            Meaning::Benchmark => "benchmark".to_owned(),
            Meaning::Key => "key".to_owned(),
            Meaning::Ignore => "ignore".to_owned(),
            Meaning::Metric { system, metric, unit, direction } => {
                let system = system.as_ref().map_or_else(String::new, |system| format!("{system}@"));
                let direction = match direction {
                    Direction::Higher => "higher",
                    Direction::Lower => "lower",
                    Direction::Neither => "neither",
                };
                format!("{system}{metric}:{unit}:{direction}")
            }
        };
        format!("--map '{}={meaning}'", self.column.replace('\'', "'\\''"))
    }
}

/// Makes the error of a mapping that cannot be read.
fn wrong_mapping(text: &str) -> FormatError {
    let error = FormatError::of_whole(format!("--map {}: this names no column and its meaning", shorten(text)));
    error.with_hint("write --map 'COLUMN=METRIC:UNIT:DIRECTION', with `higher`, `lower` or `neither`; or COLUMN=key, =system, =benchmark, =ignore")
}

struct Wide {
    heading: Vec<String>,
    /// Each row with its line.
    rows: Vec<(u64, Vec<String>)>,
    has_decimal_comma: bool,
    /// What is to be said of how the numbers were read.
    note: Option<String>,
}

/// Parses a wide table from CSV.
fn read_table(text: &str) -> Result<Wide, FormatError> {
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let separator = column_separator(first);
    let mut records = split_records(text, separator, &mut Vec::new())?.into_iter();
    let heading = records.next().map(field_texts).unwrap_or_default();
    let rows = records.map(|record| (record.line, field_texts(record))).collect();
    let mut table = Wide { heading, rows, has_decimal_comma: separator == ';', note: None };
    table.find_decimal_mark(separator);
    Ok(table)
}

/// Gives the texts of a record's fields.
fn field_texts(record: super::Record) -> Vec<String> {
    record.fields.into_iter().map(|field| field.text).collect::<Vec<String>>()
}

/// Whether a whole number is written in groups of three: `1,234,567`.
/// The first group of none is 0.
fn are_groups(whole: &str, mark: char) -> bool {
    let mut groups = whole.trim_start_matches('-').split(mark);
    let first = groups.next().unwrap_or_default();
    let mut others = groups.peekable();
    (1..=3).contains(&first.len())
        && !first.starts_with('0')
        && others.peek().is_some()
        && others.all(|group| group.len() == 3)
}

/// Tells whether every line has as many fields as the heading, and a column holds numbers alone.
fn is_table(text: &str) -> bool {
    if text.trim_start().starts_with(['{', '[', '<']) {
        return false;
    }
    let Ok(table) = read_table(text) else { return false };
    let columns = table.heading.len();
    columns > 1
        && !table.rows.is_empty()
        && table.rows.iter().all(|(_, row)| row.len() == columns)
        && (0..columns).any(|column| table.is_numeric(column))
}

/// The marks of a number that is written with points or commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    /// This one stands before the decimals.
    Decimal(char),
    /// This one stands before three digits: they may be decimals or a group of thousands.
    Open(char),
}

impl Marks {
    /// Tells which marks of digits and decimals a cell has; `None` if it is no number or has none.
    fn read_marks(cell: &str) -> Option<Marks> {
        let bare = cell.trim().trim_end_matches('%').trim_end().trim_start_matches(['-', '+']);
        let is_number = bare.starts_with(|c: char| c.is_ascii_digit())
            && bare.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
        let mark = if is_number { bare.chars().rfind(|c| matches!(c, '.' | ',')) } else { None }?;
        let other = if mark == '.' { ',' } else { '.' };
        match bare.matches(mark).count() {
            1 if !bare.contains(other) && are_groups(bare, mark) => Some(Marks::Open(mark)),
            1 => Some(Marks::Decimal(mark)),
            _ => are_groups(bare, mark).then_some(Marks::Decimal(other)),
        }
    }
}

impl Wide {
    /// Finds the mark that stands before the decimals, for all columns alike, by any number that is sure.
    fn find_decimal_mark(&mut self, separator: char) {
        let columns = (0..self.heading.len()).filter(|column| !self.is_of_systems(*column));
        let marks: Vec<Marks> =
            columns.flat_map(|column| self.filled_cells(column)).filter_map(|cell| Marks::read_marks(cell)).collect();
        let (has_comma, has_point) = (marks.contains(&Marks::Decimal(',')), marks.contains(&Marks::Decimal('.')));
        if separator == '\t' {
            self.has_decimal_comma = has_comma && !has_point;
        }
        if separator != ';' || has_comma {
            return;
        }
        if has_point {
            self.has_decimal_comma = false;
        } else if marks.contains(&Marks::Open('.')) && !marks.contains(&Marks::Open(',')) {
            self.has_decimal_comma = (0..self.heading.len()).any(|column| self.has_small_numbers_below_groups(column));
            let (what, hint) = if self.has_decimal_comma {
                ("thousands", "write 1.0120 for decimals")
            } else {
                ("decimals", "write 1012 for thousands")
            };
            self.note = Some(format!("a point before three digits, as in 1.012, was read as one of {what}: {hint}"));
        }
    }

    /// Tells whether a column has whole numbers below 1000 next to some with three digits behind a point.
    /// Those are thousands.
    fn has_small_numbers_below_groups(&self, column: usize) -> bool {
        let mut cells = self.filled_cells(column);
        cells.clone().any(|cell| Marks::read_marks(cell) == Some(Marks::Open('.')))
            && cells.any(|cell| cell.trim().parse::<u32>().is_ok_and(|whole| (1..1000).contains(&whole)))
    }

    /// Tests whether a column is of systems by its name; it may hold versions that look like numbers.
    fn is_of_systems(&self, column: usize) -> bool {
        let is_of_cpu = self.heading.iter().any(|other| other.trim() == "user") && self.is_numeric(column);
        SYSTEMS.contains(&self.heading[column].trim().to_lowercase().as_str()) && !is_of_cpu
    }

    /// Finds a column with points that are sure to stand before decimals, in a table with commas before decimals.
    fn column_of_both_marks(&self) -> Option<&str> {
        let column = (0..self.heading.len()).find(|column| {
            let marks = || self.filled_cells(*column).filter_map(|cell| Marks::read_marks(cell));
            self.has_decimal_comma
                && !self.is_of_systems(*column)
                && marks().any(|one| one == Marks::Decimal('.'))
                && marks().any(|one| one == Marks::Open('.'))
        });
        column.map(|column| self.heading[column].as_str())
    }

    /// Parses a number by the table's marks.
    fn parse_figure(&self, text: &str) -> Option<f64> {
        let text = text.trim().trim_end_matches('%').trim();
        let (mark, point) = if self.has_decimal_comma { ('.', ',') } else { (',', '.') };
        let (whole, decimals) = text.split_once(point).map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        if self.has_decimal_comma && !text.contains(',') && !are_groups(whole, mark) {
            return parse_number(text);
        }
        if whole.contains(mark) && !are_groups(whole, mark) {
            return None;
        }
        let whole = whole.replace(mark, "");
        parse_number(&decimals.map_or_else(|| whole.clone(), |decimals| format!("{whole}.{decimals}")))
    }

    /// Lists the cells of a column that are no gaps.
    fn filled_cells(&self, column: usize) -> impl Iterator<Item = &String> + Clone {
        self.rows.iter().filter_map(move |(_, row)| row.get(column)).filter(|cell| !is_gap(cell))
    }

    /// Tells whether a column has figures and nothing else but gaps.
    fn is_numeric(&self, column: usize) -> bool {
        self.filled_cells(column).next().is_some()
            && self.filled_cells(column).all(|cell| self.parse_figure(cell).is_some())
    }

    /// Guesses what a column without a mapping is, as far as its name and cells tell.
    fn guess_meaning(&self, column: usize, nameless: &BTreeMap<String, usize>) -> Meaning {
        let name = &self.heading[column];
        if self.is_of_systems(column) {
            return Meaning::System;
        }
        let bare = name.trim().to_lowercase();
        let is_moment =
            !self.is_numeric(column) && (TIMES.contains(&bare.as_str()) || ["date", "datetime"].contains(&&*bare));
        if COUNTS.contains(&bare.as_str()) || is_moment || is_secret_name(&bare) {
            return Meaning::Ignore;
        }
        if !self.is_numeric(column) {
            return Meaning::Key;
        }
        let (metric, unit) = metric_and_unit(name);
        let lower = metric.to_lowercase();
        if KEYS.iter().any(|key| lower == *key) {
            return Meaning::Key;
        }
        let direction = guess_direction(&metric, &unit).or(match Quantity::from_unit(&unit) {
            Quantity::Time => Some(Direction::Lower),
            Quantity::Rate => Some(Direction::Higher),
            _ => None,
        });
        // A name that says nothing of what is measured, next to others with the same unit, is that of a system.
        let is_of_system =
            guess_direction(&metric, "").is_none() && !is_quantile(&lower) && !STATISTICS.contains(&lower.as_str());
        let has_alike = nameless.get(&unit).is_some_and(|columns| *columns > 1);
        let system = (is_of_system && has_alike).then(|| metric.clone());
        if system.is_some() && unit.is_empty() {
            let (metric, unit) = (what_is_measured("tx/s").to_owned(), "tx/s".to_owned());
            return Meaning::Metric { system, metric, unit, direction: Direction::Higher };
        }
        let metric = if system.is_some() { what_is_measured(&unit).to_owned() } else { metric };
        Meaning::Metric { system, metric, unit, direction: direction.unwrap_or(Direction::Neither) }
    }

    /// Gives the name of a column of times that rise by equal steps within each run: its rows are no runs.
    /// Where it is a key, each row is a case of its own, and where it is judged, it is no clock.
    fn find_time_column(&self, column: usize, meanings: &[Meaning]) -> Option<&str> {
        let name = self.heading.get(column)?;
        if matches!(
            &meanings[column],
            Meaning::Key | Meaning::Metric { direction: Direction::Higher | Direction::Lower, .. }
        ) {
            return None;
        }
        let cells = || self.rows.iter().map(|(_, row)| row.get(column).map(String::as_str));
        if let Some(moments) = cells().map(|cell| parse_moment_s(cell?)).collect::<Option<Vec<f64>>>() {
            return self.rise_steadily(&moments, meanings, 1.0).then_some(name);
        }
        let (bare, _) = metric_and_unit(name);
        if !TIMES.contains(&bare.to_lowercase().as_str()) {
            return None;
        }
        let times: Vec<f64> = cells().map(|cell| self.parse_figure(cell?)).collect::<Option<_>>()?;
        // Numbers that are seconds or milliseconds since 1970 are moments.
        let unit = match times.first().copied()? {
            first if first >= 1e12 => 1e3,
            first if first >= 1e9 => 1.0,
            _ => f64::INFINITY,
        };
        self.rise_steadily(&times, meanings, unit).then_some(name)
    }

    /// Tests whether the times of neighbouring rows of one system and case follow each other by one step. A sample may be missing, and
    /// whole numbers are rounded. Moments, of which `unit` are a second, may be those of runs if the steps are long.
    fn rise_steadily(&self, times: &[f64], meanings: &[Meaning], unit: f64) -> bool {
        let cases: Vec<Vec<&str>> = self.rows.iter().map(|(_, row)| case_of_row(row, meanings)).collect();
        let within = times.windows(2).zip(cases.windows(2)).filter(|(_, cases)| cases[0] == cases[1]);
        let mut steps: Vec<f64> = within.map(|(times, _)| times[1] - times[0]).filter(|step| *step > 0.0).collect();
        steps.sort_by(f64::total_cmp);
        let Some(step) = steps.get(steps.len() / 2).copied() else { return false };
        let longest = if steps.len() < MANY_STEPS { LONGEST_STEP_S } else { LONGEST_OF_MANY_S };
        let is_whole = times.iter().all(|time| time.fract() == 0.0);
        let slack = if is_whole && step >= 8.0 { (0.1 * step).max(1.0) } else { 0.1 * step };
        let single = steps.iter().filter(|one| (**one - step).abs() <= slack).count();
        let missing = [2.0, 3.0].map(|times| steps.iter().filter(|one| (**one - times * step).abs() <= slack).count());
        let few: usize = missing.iter().sum();
        let all = times.len() - 1;
        all > 2
            && (unit.is_infinite() || step <= longest * unit)
            && steps.len() * 4 >= all * 3
            && (single + few) * 10 >= steps.len() * 9
            && few * 8 <= steps.len()
    }

    /// Counts the columns of each unit that have a name that says nothing of what is measured.
    /// Without a unit they have to differ by a version: `pg15`, `pg16`.
    fn nameless_columns(&self) -> BTreeMap<String, usize> {
        let mut columns = BTreeMap::new();
        let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
        self.heading
            .iter()
            .filter_map(|heading| without_version(heading))
            .for_each(|name| *versions.entry(name).or_default() += 1);
        let named = self.heading.iter().map(|heading| metric_and_unit(heading));
        let named = named.filter(|(name, _)| !STATISTICS.contains(&name.to_lowercase().as_str()));
        for (name, unit) in named.filter(|(name, _)| guess_direction(name, "").is_none()) {
            let is_one_of_versions =
                without_version(&name).is_some_and(|bare| versions.get(bare).is_some_and(|all| *all > 1));
            if !unit.is_empty() || is_one_of_versions {
                *columns.entry(unit).or_default() += 1;
            }
        }
        columns
    }

    /// Writes the mapping of all columns as options to be typed, guessed where none was given.
    fn propose_mapping(&self, mapped: &[Mapping]) -> String {
        let columns = 0..self.heading.len();
        let open = columns.filter(|column| !mapped.iter().any(|known| known.column == self.heading[*column]));
        let nameless = self.nameless_columns();
        let words = open.map(|column| {
            Mapping { column: self.heading[column].clone(), meaning: self.guess_meaning(column, &nameless) }.to_text()
        });
        mapped.iter().map(Mapping::to_text).chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Lists the cells that say of which system and case a row is.
fn case_of_row<'r>(row: &'r [String], meanings: &[Meaning]) -> Vec<&'r str> {
    let of_case = row
        .iter()
        .zip(meanings)
        .filter(|(_, meaning)| matches!(meaning, Meaning::System | Meaning::Benchmark | Meaning::Key));
    of_case.map(|(cell, _)| cell.as_str()).collect()
}

/// The longest step of a series of moments, in seconds: runs take longer.
const LONGEST_STEP_S: f64 = 10.0;
/// The longest one of at least [`MANY_STEPS`] steps.
const LONGEST_OF_MANY_S: f64 = 60.0;
const MANY_STEPS: usize = 60;

/// Columns that say when a row was measured.
const TIMES: [&str; 10] = ["time", "t", "second", "seconds", "sec", "s", "elapsed", "timestamp", "ts", "epoch"];
/// Columns that count rows.
const COUNTS: [&str; 14] = [
    "run",
    "runs",
    "rep",
    "repeat",
    "repetition",
    "iteration",
    "iter",
    "round",
    "trial",
    "attempt",
    "#",
    "lauf",
    "durchlauf",
    "wiederholung",
];
/// Figures of many values.
const STATISTICS: [&str; 12] =
    ["avg", "average", "mean", "median", "min", "max", "minimum", "maximum", "stddev", "sd", "sum", "total"];
const SYSTEMS: [&str; 15] = [
    "system", "server", "database", "db", "dbms", "engine", "host", "machine", "disk", "version", "release", "build",
    "branch", "commit", "variant",
];
/// Columns of numbers that say what was run.
const KEYS: [&str; 33] = [
    "duration",
    "runtime",
    "length",
    "threads",
    "thread",
    "clients",
    "client",
    "connections",
    "concurrency",
    "scale",
    "warehouses",
    "depth",
    "iodepth",
    "qd",
    "bs",
    "size",
    "rows",
    "tables",
    "jobs",
    "numjobs",
    "vus",
    "nutzer",
    "benutzer",
    "verbindungen",
    "utilisateurs",
    "connexions",
    "usuarios",
    "conexiones",
    "并发",
    "并发数",
    "线程",
    "线程数",
    "客户端",
];

/// Strips a name of the version at its end, `pg` of `pg15`; `None` without one.
fn without_version(name: &str) -> Option<&str> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    Some(bare).filter(|bare| !bare.is_empty() && bare.len() < name.len())
}

/// Names what a metric of a unit measures: `time` or `throughput`.
fn what_is_measured(unit: &str) -> &'static str {
    if Quantity::from_unit(unit) == Quantity::Time { "time" } else { "throughput" }
}

/// Tests whether a cell has no value.
fn is_gap(cell: &str) -> bool {
    ["", "n/a", "na", "-", "null", "nan"].contains(&cell.trim().to_lowercase().as_str())
}

/// Splits a heading into metric and unit: `Latency (ms)`, `Latency [ms]`, `latency_ms`.
fn metric_and_unit(heading: &str) -> (String, String) {
    let heading = heading.trim();
    for (open, close) in [('(', ')'), ('[', ']'), ('（', '）')] {
        if let Some((name, unit)) = heading.strip_suffix(close).and_then(|rest| rest.rsplit_once(open)) {
            return (name.trim().to_owned(), unit.trim().to_owned());
        }
    }
    if let Some(unit) = unit_of_rate(heading) {
        return (heading.to_owned(), unit.to_owned());
    }
    let Some((name, word)) = heading.rsplit_once(['_', ' ']).filter(|(name, _)| !name.is_empty()) else {
        return (heading.to_owned(), String::new());
    };
    let is_of_time = ["ns", "us", "µs", "ms", "s", "sec", "min", "h"].contains(&word);
    let unit_of_rate = unit_of_rate(word).filter(|unit| guess_direction(name, unit).is_none());
    match unit_of_rate.or(is_of_time.then_some(word)) {
        Some(unit) => (name.to_owned(), unit.to_owned()),
        None => (heading.to_owned(), String::new()),
    }
}

/// Gives the unit of a rate that a word abbreviates: `tps`, `qps` or `iops`.
fn unit_of_rate(word: &str) -> Option<&'static str> {
    match word.to_lowercase().as_str() {
        "tps" => Some("tx/s"),
        "qps" => Some("queries/s"),
        "iops" => Some("io/s"),
        _ => None,
    }
}

/// Reads a wide table, one column for each metric or system.
pub(super) fn read(input: &Input<'_>) -> Result<Found, FormatError> {
    let table = read_table(input.text)?;
    if let Some(name) = table.column_of_both_marks() {
        let what = format!("the column `{}` has decimals behind points, and another one behind commas", shorten(name));
        return Err(FormatError::of_whole(what).with_hint("write all decimals of a table with one of both"));
    }
    let mapped = &input.options.mappings;
    if let Some(unknown) = mapped.iter().find(|known| !table.heading.contains(&known.column)) {
        let what = format!("--map: there is no column `{}`", shorten(&unknown.column));
        return Err(FormatError::of_whole(what).with_hint(format!("the columns are {}", table.heading.join(", "))));
    }
    let nameless = table.nameless_columns();
    let meanings: Vec<Option<Meaning>> = (0..table.heading.len())
        .map(|column| {
            let name = &table.heading[column];
            let known = mapped.iter().find(|known| known.column == *name).map(|known| known.meaning.clone());
            known.or_else(|| (!table.is_numeric(column)).then(|| table.guess_meaning(column, &nameless)))
        })
        .collect();
    if meanings.iter().any(Option::is_none) {
        let error = FormatError::of_whole("this is a wide table, and which column is which metric it does not say");
        return Err(error
            .with_hint(format!("say it, correcting what is guessed wrong here: {}", table.propose_mapping(mapped))));
    }
    let meanings: Vec<Meaning> = meanings.into_iter().flatten().collect();
    let mut imported = Imported::new(READER.name, input.source, ["the order of the measurements", "what failed"]);
    imported.notes.extend(table.note.clone());
    for (line, row) in &table.rows {
        if row.len() != table.heading.len() {
            let what = format!("{} fields, the heading has {}", row.len(), table.heading.len());
            return Err(FormatError::at_line(*line, what));
        }
        imported.results.extend(row_results(&table, (*line, row), &meanings, input)?);
    }
    if let Some(name) = (0..table.heading.len()).find_map(|column| table.find_time_column(column, &meanings)) {
        let why = format!("the rows are a time series: `{name}` rises by equal steps");
        imported
            .results
            .iter_mut()
            .for_each(|result| result.marks.push(Mark::new(MarkKind::NoRepetition, why.clone())));
        imported.notes.push(format!("{why}, so they are parts of a run, and there is no verdict"));
    }
    Ok(imported.into())
}

/// Makes a row's results, one for each system that it has figures of.
fn row_results(
    table: &Wide,
    (line, row): (u64, &[String]),
    meanings: &[Meaning],
    input: &Input<'_>,
) -> Result<Vec<ImportedResult>, FormatError> {
    let (mut keys, mut system, mut benchmark) = (Point::new(), input.system.to_owned(), "imported".to_owned());
    for ((name, cell), meaning) in table.heading.iter().zip(row).zip(meanings) {
        match meaning {
            Meaning::System => cell.clone_into(&mut system),
            Meaning::Benchmark => cell.clone_into(&mut benchmark),
            Meaning::Key if is_secret_name(&name.to_lowercase()) => {}
            Meaning::Key => {
                let value = if cell.is_empty() { Value::Text("(none)".to_owned()) } else { key_value(cell) };
                keys.insert(name.clone(), value);
            }
            Meaning::Ignore | Meaning::Metric { .. } => {}
        }
    }
    let mut results: Vec<ImportedResult> = Vec::new();
    for ((name, cell), meaning) in table.heading.iter().zip(row).zip(meanings) {
        let Meaning::Metric { system: own, metric, unit, direction } = meaning else { continue };
        let reading = match table.parse_figure(cell) {
            Some(value) => Reading::Value(value),
            None if is_gap(cell) => Reading::unavailable("the table says n/a"),
            None => {
                let what = format!("{}: this is no number, in the column `{}`", shorten(cell), shorten(name));
                return Err(FormatError::at_line(line, what));
            }
        };
        let measurement = Measurement::new(metric, unit, *direction, Role::Primary, reading);
        let system = own.as_ref().unwrap_or(&system);
        match results.iter_mut().find(|known| known.system == *system) {
            Some(known) => known.measurements.push(measurement),
            None => results.push(ImportedResult {
                keys: keys.clone(),
                measurements: vec![measurement],
                ..ImportedResult::new(system, &benchmark)
            }),
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_with_names_of_servers_are_proposed_as_systems() {
        let proposal = read_table("Clients,pg15,pg16\n8,1000,1100\n").unwrap().propose_mapping(&[]);
        let of = |name: &str| format!("--map '{name}={name}@throughput:tx/s:higher'");
        assert_eq!(proposal, format!("--map 'Clients=key' {} {}", of("pg15"), of("pg16")));
        let own = read_table("db,threads,run,tps,avg_ms\npg,8,1,1000,7.9\n").unwrap().propose_mapping(&[]);
        assert_eq!(
            own,
            "--map 'db=system' --map 'threads=key' --map 'run=ignore' --map 'tps=tps:tx/s:higher' --map 'avg_ms=avg:ms:lower'"
        );
        let others = read_table("vers;nutzer;durchsatz\n15;8;1000,5\n").unwrap().propose_mapping(&[]);
        assert_eq!(others, "--map 'vers=vers::neither' --map 'nutzer=key' --map 'durchsatz=durchsatz::neither'");
    }

    #[test]
    fn a_proposal_for_thousands_of_columns_takes_no_minutes() {
        let heading: Vec<String> = (0..4_000).map(|column| format!("box{column} (ms)")).collect();
        let table =
            Wide { rows: vec![(2, vec!["1.5".to_owned(); 4_000])], heading, has_decimal_comma: false, note: None };
        let began = std::time::Instant::now();
        assert!(table.propose_mapping(&[]).contains("box3999@time:ms:lower"));
        assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    }

    #[test]
    fn a_mark_of_thousands_is_no_point() {
        let figures = [
            ("1,205.5", Some(1205.5), None),
            ("1,205,000", Some(1_205_000.0), None),
            ("0,512", None, Some(0.512)),
            ("1.012", Some(1.012), Some(1012.0)),
            ("1.234,5", None, Some(1234.5)),
            ("3.5", Some(3.5), Some(3.5)),
            ("12 %", Some(12.0), Some(12.0)),
            ("1e6", Some(1e6), Some(1e6)),
            ("-3,1", None, Some(-3.1)),
        ];
        for (text, with_point, with_comma) in figures {
            for (has_decimal_comma, figure) in [(false, with_point), (true, with_comma)] {
                let table = Wide { heading: Vec::new(), rows: Vec::new(), has_decimal_comma, note: None };
                assert_eq!(table.parse_figure(text), figure, "{text}");
            }
        }
    }

    fn figures_of(text: &str) -> (Vec<Option<f64>>, bool) {
        let table = read_table(text).unwrap();
        let last = table.heading.len() - 1;
        (table.filled_cells(last).map(|cell| table.parse_figure(cell)).collect(), table.note.is_some())
    }

    #[test]
    fn one_mark_of_decimals_holds_for_a_whole_table() {
        for (text, figures, has_note) in [
            ("side;latency_ms\na;0.981\nb;1.083\n", [0.981, 1.083], false),
            ("tps;side;latency_ms\n242.54;a;4.123\n242;b;5.234\n", [4.123, 5.234], false),
            ("side;latency_ms\na;4.123\nb;4.125\n", [4.123, 4.125], true),
            ("side;tps\na;998\nb;1.012\n", [998.0, 1012.0], true),
            ("side;latency_ms;tps\na;0,5;1.012\nb;0,6;1.013\n", [1012.0, 1013.0], false),
            ("server;latency_ms;tps\n15.4;1,512;1.012\n16.1;1,612;1.013\n", [1012.0, 1013.0], false),
            ("side;tps\na;1.205.000\nb;1.012\n", [1_205_000.0, 1012.0], false),
            ("side\tlatency_ms\na\t0,981\nb\t1,083\n", [0.981, 1.083], false),
            ("side\ttps\na\t1,081\nb\t1,083\n", [1081.0, 1083.0], false),
        ] {
            assert_eq!(figures_of(text), (figures.map(Some).to_vec(), has_note), "{text}");
        }
        let mixed = read_table("latency_ms;load\n0.981;0,5\n1.083;0,6\n").unwrap();
        assert_eq!(mixed.column_of_both_marks(), Some("latency_ms"));
    }
}
