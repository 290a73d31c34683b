//! Tidy CSV: one figure a row.
//!
//! Columns: `system`, `metric` and `value`; if there, `repetition`, `unit`, `direction` (`higher`, `lower`, `neither`),
//! `role` (`primary`, `secondary`, `diagnostic`), `kind` and `benchmark`; every other column is a key of the case. Fields are separated as in the heading by commas,
//! semicolons or tabs, and quoted as in RFC 4180; lines that begin with `#` are remarks. A value is a number with a
//! point; an empty one, `n/a` or `n/a: reason` is not available. Rows whose kind is neither empty nor `measured` (`printed` ones, which an
//! audit checks) are no measurements: their value may be any text, and their repetition may be empty.

use std::collections::{BTreeMap, BTreeSet};

use model::csv::{quote_field, quoted_raw, without_guard};
use model::{Direction, Point, Reading, Role, Value};

use crate::text::{parse_number, shorten};
use crate::{ExportedRules, FormatError};

mod absence;
mod import;
mod mark_code;
pub mod wide;

pub use import::{READER, import_table};
pub use mark_code::mark_code;

pub const BENCHMARK: &str = "imported";
pub const MEASURED: &str = "measured";

/// Kind of rows with a system's facts: metric is the fact's name, value its text.
pub const FACTOR: &str = "factor";
/// Kind of rows with a system's passing facts.
pub const CIRCUMSTANCE: &str = "circumstance";
/// Kind of rows about a run: metric [`ELAPSED`] with the measured seconds, [`BEGAN`] with Unix milliseconds, or the
/// state of a run without result with the reason, or [`REPEATED`], or [`RESTARTED`].
pub const RUN: &str = "run";
/// What [`RUN`] was called in tables of étalon before its words changed.
const EARLIER_RUN: &str = "trial";
pub const ELAPSED: &str = "elapsed";
pub const BEGAN: &str = "began";
/// An attempt at a run that failed and was repeated; its value is the reason.
pub const REPEATED: &str = "repeated";
/// An attempt at a run in which étalon itself ended, and that was repeated; its value is the reason.
pub const RESTARTED: &str = "restarted";
/// Kind of rows with étalon's marks: metric is the mark's kind, value its detail, unit its [`mark_code`].
pub const MARK: &str = "mark";
/// Precedes the reason.
pub const REASON: &str = "n/a: ";
/// The reason where the table has none.
const NO_REASON: &str = "the table says n/a";

const SYSTEM: &str = "system";
const METRIC: &str = "metric";
const VALUE: &str = "value";
const REPETITION: &str = "repetition";
const UNIT: &str = "unit";
const DIRECTION: &str = "direction";
const KIND: &str = "kind";
const ROLE: &str = "role";
const BENCHMARK_COLUMN: &str = "benchmark";
/// The column of étalon's own tables that says of which experiment a row is, so that rows of two that were put into one
/// file stay apart.
const EXPERIMENT: &str = "experiment";
/// What others call the column of the systems.
const SYSTEMS: [&str; 8] = ["platform", "server", "host", "engine", "database", "db", "side", "build"];
const KNOWN: [&str; 9] = [SYSTEM, METRIC, VALUE, REPETITION, UNIT, DIRECTION, ROLE, KIND, BENCHMARK_COLUMN];

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub keys: Vec<String>,
    pub rows: Vec<Row>,
    pub remarks: Vec<String>,
    /// Optional columns that are absent.
    pub missing: Vec<&'static str>,
    /// Columns of other names, and what they are taken for.
    pub renamed: Vec<(String, &'static str)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub line: u64,
    pub system: String,
    pub benchmark: Option<String>,
    /// An empty field is no value.
    pub point: Point,
    /// The experiment that the remark of étalon's own table names.
    pub experiment: Option<String>,
    /// From 1. Rows that are no measurement may have none.
    pub repetition: Option<u32>,
    pub metric: String,
    pub unit: String,
    /// Which way is better, if the table says it.
    pub direction: Option<Direction>,
    pub role: Option<Role>,
    /// Empty for a measurement.
    pub kind: String,
    pub value: Reading,
    /// The value as it stands there: its decimals tell how exact it is.
    pub written: String,
}

#[derive(Clone, Debug)]
struct Field {
    text: String,
    column: usize,
}

#[derive(Debug)]
struct Record {
    line: u64,
    fields: Vec<Field>,
}

/// Lists the names of the columns, in small letters; none where the heading is broken.
fn column_names(text: &str) -> Vec<String> {
    let text = text.trim_start_matches('\u{feff}');
    let line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let fields = split_records(line, column_separator(line), &mut Vec::new())
        .ok()
        .and_then(|records| records.into_iter().next());
    fields.into_iter().flat_map(|record| record.fields).map(|field| field.text.trim().to_lowercase()).collect()
}

/// Parses a tidy table from CSV.
pub fn parse_table(text: &str) -> Result<Table, FormatError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut table = Table::default();
    let heading_line = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#')).unwrap_or_default();
    let separator = column_separator(heading_line);
    check_heading(text, heading_line, separator)?;
    let records = split_records(text, separator, &mut table.remarks)?;
    let Some((heading, records)) = records.split_first() else {
        return Err(FormatError::of_whole("the table is empty").with_hint("its first line names the columns"));
    };
    let mut columns = Columns::from_heading(heading)?;
    table.renamed = std::mem::take(&mut columns.renamed);
    if ExportedRules::from_remarks(&table.remarks).is_some_and(|rules| rules.experiment.is_some()) {
        columns.take_experiment();
    }
    table.keys = columns.keys.iter().map(|(_, name)| name.clone()).collect();
    table.missing = columns.missing_columns();
    for record in records {
        if record.fields.len() != columns.count {
            let what = format!("{} fields, the heading has {}", record.fields.len(), columns.count);
            let error = FormatError::at_line(record.line, what);
            return Err(error.with_hint("a field with a separator in it is written in double quotes"));
        }
        table.rows.push(columns.read_row(record)?);
    }
    Ok(table)
}

/// Fails if the heading is wrong, which may explain later errors.
fn check_heading(text: &str, heading: &str, separator: char) -> Result<(), FormatError> {
    let line = text.lines().position(|line| line == heading).map_or(1, |at| at as u64 + 1);
    match split_records(heading, separator, &mut Vec::new()) {
        Ok(found) => match found.into_iter().next() {
            Some(first) => Columns::from_heading(&Record { line, ..first }).map(|_| ()),
            None => Ok(()),
        },
        // A quoted name may continue on the next line.
        Err(_) => Ok(()),
    }
}

/// Finds the character between columns: a semicolon or tab where the heading has more of it than commas.
fn column_separator(heading: &str) -> char {
    [';', '\t']
        .into_iter()
        .filter(|c| heading.matches(*c).count() > heading.matches(',').count())
        .max_by_key(|c| heading.matches(*c).count())
        .unwrap_or(',')
}

/// Splits a text into records (RFC 4180).
fn split_records(text: &str, separator: char, remarks: &mut Vec<String>) -> Result<Vec<Record>, FormatError> {
    let mut records = Vec::new();
    let mut scanner = Scanner { rest: text, line: 1, column: 1, separator };
    while !scanner.rest.is_empty() {
        if scanner.rest.starts_with('#') {
            remarks.push(scanner.take_line().trim_start_matches('#').trim().to_owned());
        } else if scanner.rest.lines().next().is_none_or(|line| line.trim().is_empty()) {
            scanner.take_line();
        } else {
            records.push(scanner.take_record()?);
        }
    }
    Ok(records)
}

struct Scanner<'a> {
    rest: &'a str,
    line: u64,
    column: usize,
    separator: char,
}

impl<'a> Scanner<'a> {
    /// Takes the rest of the line.
    fn take_line(&mut self) -> &'a str {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        self.line += 1;
        self.column = 1;
        line
    }

    /// Takes the next character, and counts lines.
    fn take_char(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    /// Takes a record up to the end of its line.
    fn take_record(&mut self) -> Result<Record, FormatError> {
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            fields.push(self.take_field()?);
            if self.rest.starts_with(self.separator) {
                self.take_char();
                continue;
            }
            if self.rest.starts_with('\r') {
                self.take_char();
            }
            self.take_char();
            return Ok(Record { line, fields });
        }
    }

    /// Takes a field; what follows it is a separator, the end of the line, or nothing.
    fn take_field(&mut self) -> Result<Field, FormatError> {
        let (line, column) = (self.line, self.column);
        if !self.rest.starts_with('"') {
            let end = self.rest.find([self.separator, '\n']).unwrap_or(self.rest.len());
            let text = self.rest[..end].trim_end_matches('\r');
            if let Some(at) = text.find('"') {
                let place = column + text[..at].chars().count();
                return Err(FormatError::at_column(line, place, "a double quote within a field")
                    .with_hint("quote the whole field, and write the quote in it twice"));
            }
            self.column += text.chars().count();
            self.rest = &self.rest[text.len()..];
            return Ok(Field { text: without_guard(text.trim()).to_owned(), column });
        }
        self.take_char();
        let mut text = String::new();
        loop {
            match self.take_char() {
                Some('"') if self.rest.starts_with('"') => {
                    self.take_char();
                    text.push('"');
                }
                Some('"') => break,
                Some(c) => text.push(c),
                None => return Err(FormatError::at_column(line, column, "this quote is not closed")),
            }
        }
        let ended = self.rest.is_empty() || self.rest.starts_with([self.separator, '\n', '\r']);
        if !ended {
            return Err(FormatError::at_column(self.line, self.column, "something follows the closing quote"));
        }
        Ok(Field { text: without_guard(&text).to_owned(), column })
    }
}

struct Columns {
    count: usize,
    known: BTreeMap<&'static str, usize>,
    keys: Vec<(usize, String)>,
    renamed: Vec<(String, &'static str)>,
}

/// Counts the names that are wanted.
fn count_names(names: &[String], wanted: &[&str]) -> usize {
    names.iter().filter(|name| wanted.contains(&name.as_str())).count()
}

/// Whether the names of columns are those of a table with one figure a row, and one of them is of the systems.
fn is_long_table(names: &[String]) -> bool {
    let systems = count_names(names, &SYSTEMS);
    let has_figures = count_names(names, &[METRIC]) > 0 && count_names(names, &[VALUE]) > 0;
    has_figures && (count_names(names, &[SYSTEM]) > 0 || systems == 1)
}

impl Columns {
    /// Finds the known columns and the keys in the heading; fails if one is missing or stands twice.
    fn from_heading(heading: &Record) -> Result<Columns, FormatError> {
        let mut columns =
            Columns { count: heading.fields.len(), known: BTreeMap::new(), keys: Vec::new(), renamed: Vec::new() };
        let mut seen = BTreeSet::new();
        for (index, field) in heading.fields.iter().enumerate() {
            if field.text.is_empty() {
                return heading_error(heading, field, "this column has no name".to_owned());
            }
            if !seen.insert(field.text.to_lowercase()) {
                return heading_error(heading, field, format!("column {} stands twice", shorten(&field.text)));
            }
            match KNOWN.iter().find(|known| field.text.eq_ignore_ascii_case(known)) {
                Some(known) => {
                    columns.known.insert(known, index);
                }
                None => columns.keys.push((index, field.text.clone())),
            }
        }
        columns.take_synonym();
        for needed in [SYSTEM, METRIC, VALUE] {
            if !columns.known.contains_key(needed) {
                let names = columns.keys.iter().map(|(_, name)| name.as_str());
                let error = FormatError::at_line(heading.line, format!("there is no column `{needed}`"));
                return Err(match model::nearest(needed, names) {
                    Some(name) => error.with_hint(format!("is it the one called `{name}`?")),
                    None => error
                        .with_hint("a tidy table has one figure a row: system, keys, repetition, metric, unit, value"),
                });
            }
        }
        Ok(columns)
    }

    /// Takes the one column of another name for that of the systems, where there is none.
    fn take_synonym(&mut self) {
        if self.known.contains_key(SYSTEM) {
            return;
        }
        let named = self.keys.iter().filter(|(_, name)| SYSTEMS.contains(&name.to_lowercase().as_str()));
        let found: Vec<(usize, String)> = named.cloned().collect();
        if let [(index, name)] = found.as_slice() {
            self.keys.retain(|(other, _)| other != index);
            self.known.insert(SYSTEM, *index);
            self.renamed.push((name.clone(), SYSTEM));
        }
    }

    /// Takes the column for the experiment: in a table of étalon's it is no key.
    fn take_experiment(&mut self) {
        if let Some(at) = self.keys.iter().position(|(_, name)| name == EXPERIMENT) {
            self.known.insert(EXPERIMENT, self.keys.remove(at).0);
        }
    }

    /// Lists which of the columns `repetition` and `unit` the table does not have.
    fn missing_columns(&self) -> Vec<&'static str> {
        [REPETITION, UNIT].into_iter().filter(|name| !self.known.contains_key(name)).collect()
    }

    /// Gives the field of a known column.
    fn field_of<'a>(&self, record: &'a Record, name: &str) -> Option<&'a Field> {
        record.fields.get(*self.known.get(name)?)
    }

    /// Gives the text of a known column; empty if there is none.
    fn text_of(&self, record: &Record, name: &str) -> String {
        self.field_of(record, name).map(|field| field.text.clone()).unwrap_or_default()
    }

    /// Reads a record as a row of the table.
    fn read_row(&self, record: &Record) -> Result<Row, FormatError> {
        for name in [SYSTEM, METRIC] {
            if let Some(field) = self.field_of(record, name).filter(|field| field.text.is_empty()) {
                return Err(FormatError::at_column(record.line, field.column, format!("the {name} is empty")));
            }
        }
        let repetition = match self.field_of(record, REPETITION) {
            None => None,
            Some(field) if field.text.is_empty() && !self.is_measurement(record) => None,
            Some(field) => {
                let parsed: Option<u32> = field.text.parse().ok().filter(|n| *n > 0);
                Some(parsed.ok_or_else(|| field_error(record, field, "a repetition is a number from 1"))?)
            }
        };
        let direction = match self.field_of(record, DIRECTION) {
            None => None,
            Some(field) => match field.text.to_lowercase().as_str() {
                "" => None,
                "higher" => Some(Direction::Higher),
                "lower" => Some(Direction::Lower),
                "neither" => Some(Direction::Neither),
                _ => return Err(field_error(record, field, "a direction is higher, lower or neither")),
            },
        };
        let role = match self.field_of(record, ROLE) {
            None => None,
            Some(field) => match field.text.to_lowercase().as_str() {
                "" => None,
                "primary" => Some(Role::Primary),
                "secondary" => Some(Role::Secondary),
                "diagnostic" => Some(Role::Diagnostic),
                _ => return Err(field_error(record, field, "a role is primary, secondary or diagnostic")),
            },
        };
        let point = self.keys.iter().filter_map(|(index, name)| {
            let text = &record.fields.get(*index)?.text;
            (!text.is_empty()).then(|| (name.clone(), key_value(text)))
        });
        Ok(Row {
            line: record.line,
            system: self.text_of(record, SYSTEM),
            benchmark: self.field_of(record, BENCHMARK_COLUMN).map(|f| f.text.clone()).filter(|text| !text.is_empty()),
            point: point.collect(),
            experiment: self.field_of(record, EXPERIMENT).map(|f| f.text.clone()).filter(|text| !text.is_empty()),
            repetition,
            metric: self.text_of(record, METRIC),
            unit: self.text_of(record, UNIT),
            direction,
            role,
            kind: Some(self.text_of(record, KIND)).filter(|kind| kind != EARLIER_RUN).unwrap_or_else(|| RUN.to_owned()),
            value: self.read_value(record)?,
            written: self.text_of(record, VALUE),
        })
    }

    /// Tests whether a record holds a measurement.
    fn is_measurement(&self, record: &Record) -> bool {
        is_measurement(&self.text_of(record, KIND))
    }

    /// Reads the value of a record, or why there is none.
    fn read_value(&self, record: &Record) -> Result<Reading, FormatError> {
        let Some(field) = self.field_of(record, VALUE) else {
            return Err(FormatError::at_line(record.line, "no value"));
        };
        let text = field.text.as_str();
        if text.is_empty() {
            return Ok(Reading::unavailable("the field is empty"));
        }
        if text.eq_ignore_ascii_case("n/a") {
            return Ok(Reading::unavailable(NO_REASON));
        }
        if let Some(reason) = text.strip_prefix(REASON).filter(|reason| !reason.is_empty()) {
            return Ok(Reading::Unavailable(absence::parse_absence(reason)));
        }
        if let Some(value) = parse_number(text) {
            return Ok(Reading::Value(value));
        }
        if !self.is_measurement(record) {
            return Ok(Reading::unavailable("this is text"));
        }
        let what = format!("{}: this is no number", shorten(text));
        let error = FormatError::at_column(record.line, field.column, what);
        Err(if text.contains(',') {
            error.with_hint("write a point before the decimals and nothing between thousands")
        } else if text.starts_with(|c: char| c.is_ascii_digit()) {
            error.with_hint("the unit belongs in the column `unit`; n/a for what is not available")
        } else {
            error.with_hint("n/a for what is not available")
        })
    }
}

/// Makes the error at a field of the heading.
fn heading_error<T>(heading: &Record, field: &Field, what: String) -> Result<T, FormatError> {
    Err(FormatError::at_column(heading.line, field.column, what))
}

/// Makes the error at a field of a record.
fn field_error(record: &Record, field: &Field, what: &str) -> FormatError {
    FormatError::at_column(record.line, field.column, format!("{}: {what}", shorten(&field.text)))
}

/// Parses the value of a key: a number, `true` or `false` as étalon writes them, else text.
fn key_value(text: &str) -> Value {
    if let Ok(truth) = text.parse() {
        return Value::Bool(truth);
    }
    if let Some(whole) = text.parse::<i64>().ok().filter(|whole| whole.to_string() == text) {
        return Value::Int(whole);
    }
    match parse_number(text).filter(|number| number.to_string() == text) {
        Some(number) => Value::Float(number),
        None => Value::Text(text.to_owned()),
    }
}

/// Writes a table with commas, of which no cell is a formula to a spreadsheet; [`parse_table`] reads it back.
pub fn write_table(table: &Table) -> String {
    write_with(table, quote_field)
}

/// Writes a table with commas, its cells as they are.
pub fn write_raw(table: &Table) -> String {
    write_with(table, quoted_raw)
}

/// Writes a table with commas, its cells quoted by `quoted`.
fn write_with(table: &Table, quoted: fn(&str) -> String) -> String {
    let mut lines: Vec<String> =
        table.remarks.iter().map(|remark| format!("# {}", remark.replace(['\n', '\r'], " "))).collect();
    let mut heading: Vec<String> = vec![quoted(SYSTEM)];
    let has = |name: &str| !table.missing.contains(&name);
    let with_benchmark = table.rows.iter().any(|row| row.benchmark.is_some());
    let with_experiment = table.rows.iter().any(|row| row.experiment.is_some());
    let with_direction = table.rows.iter().any(|row| row.direction.is_some());
    let with_role = table.rows.iter().any(|row| row.role.is_some());
    let with_kind = table.rows.iter().any(|row| !row.kind.is_empty());
    let optional = |wanted: bool, name: &str| wanted.then(|| quoted(name));
    heading.extend(optional(with_benchmark, BENCHMARK_COLUMN));
    heading.extend(optional(with_experiment, EXPERIMENT));
    heading.extend(table.keys.iter().map(|key| quoted(key)));
    heading.extend(optional(has(REPETITION), REPETITION));
    heading.push(quoted(METRIC));
    heading.extend(optional(has(UNIT), UNIT));
    heading.extend(optional(with_direction, DIRECTION));
    heading.extend(optional(with_role, ROLE));
    heading.extend(optional(with_kind, KIND));
    heading.push(quoted(VALUE));
    lines.push(heading.join(","));
    for row in &table.rows {
        let mut fields = vec![quoted(&row.system)];
        fields.extend(optional(with_benchmark, row.benchmark.as_deref().unwrap_or_default()));
        fields.extend(optional(with_experiment, row.experiment.as_deref().unwrap_or_default()));
        let value = |key: &String| row.point.get(key).map_or_else(String::new, |value| quoted(&value.to_string()));
        fields.extend(table.keys.iter().map(value));
        let repetition =
            row.repetition.map_or_else(|| if is_measured(row) { "1" } else { "" }.to_owned(), |n| n.to_string());
        fields.extend(has(REPETITION).then_some(repetition));
        fields.push(quoted(&row.metric));
        fields.extend(optional(has(UNIT), &row.unit));
        fields.extend(optional(with_direction, direction_word(row.direction)));
        fields.extend(optional(with_role, role_word(row.role)));
        fields.extend(optional(with_kind, &row.kind));
        fields.push(match &row.value {
            _ if !is_measured(row) => quoted(&row.written),
            Reading::Value(value) => value.to_string(),
            Reading::Unavailable(missing) if missing.reason == NO_REASON => "n/a".to_owned(),
            Reading::Unavailable(missing) => quoted(&format!("{REASON}{}", absence::absence_text(missing).trim())),
        });
        lines.push(fields.join(","));
    }
    lines.push(String::new());
    lines.join("\n")
}

/// The word for the better direction; empty if there is none.
fn direction_word(direction: Option<Direction>) -> &'static str {
    match direction {
        None => "",
        Some(Direction::Higher) => "higher",
        Some(Direction::Lower) => "lower",
        Some(Direction::Neither) => "neither",
    }
}

/// The word for a metric's role; empty if there is none.
fn role_word(role: Option<Role>) -> &'static str {
    match role {
        None => "",
        Some(Role::Primary) => "primary",
        Some(Role::Secondary) => "secondary",
        Some(Role::Diagnostic) => "diagnostic",
    }
}

/// Whether a row is a measurement, and no other kind.
pub fn is_measured(row: &Row) -> bool {
    is_measurement(&row.kind)
}

/// Whether a kind is that of a measurement.
fn is_measurement(kind: &str) -> bool {
    kind.is_empty() || kind.eq_ignore_ascii_case(MEASURED)
}
