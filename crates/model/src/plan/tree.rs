//! The plan's text as a tree in which every value knows where it came from, so that a message can point at it.

use toml::de::{DeTable, DeValue};

use super::error::Problems;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Whole,
    /// Byte offset.
    File(usize),
    /// Index of the `--set` argument.
    Set(usize),
    /// Index of the `--system` argument.
    System(usize),
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) at: Origin,
    pub(super) data: Data,
}

/// Integers are wide so that a seed may use all of 64 bits.
#[derive(Clone, Debug)]
pub(super) enum Data {
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    /// No key of a plan takes one.
    Date,
    List(Vec<Node>),
    Table(Vec<Entry>),
    /// Already reported; say nothing more.
    Reported,
}

#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Origin,
    pub(super) value: Node,
}

/// A value of the right type with its place.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) at: Origin,
}

impl Node {
    /// Names a node's type for a message after "not".
    pub(super) fn type_name(&self) -> &'static str {
        match &self.data {
            Data::Bool(_) => "a boolean",
            Data::Int(_) => "a whole number",
            Data::Float(_) => "a number with a fraction",
            Data::Text(_) => "a string",
            Data::Date => "a date",
            Data::List(_) => "a list",
            Data::Table(_) => "a table",
            Data::Reported => "an unreadable value",
        }
    }
}

/// Finds the entry of a key.
pub(super) fn find_entry<'t>(entries: &'t [Entry], key: &str) -> Option<&'t Entry> {
    entries.iter().find(|entry| entry.key == key)
}

/// Parses TOML into entries; syntax errors are reported.
pub(super) fn parse(text: &str, problems: &mut Problems<'_>) -> Option<Vec<Entry>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let at = error.span().map_or(Origin::Whole, |span| Origin::File(span.start));
        problems.add(&at, format!("this is not TOML: {}", error.message()), None);
    }
    errors.is_empty().then(|| read_entries(document.get_ref(), &Origin::File, problems))
}

/// Parses a `--set` value: TOML, else a bare string.
/// What starts like a list, a table or a quoted string must parse.
pub(super) fn parse_value(text: &str, at: &Origin, problems: &mut Problems<'_>) -> Result<Node, String> {
    let text = text.trim();
    match DeValue::parse(text) {
        // `inf` and `nan` are words here: no key takes such a number.
        Ok(value) if value.get_ref().as_float().is_some_and(|x| !x.as_str().contains(|c: char| c.is_ascii_digit())) => {
            Ok(bare_text(text, at))
        }
        Ok(value) => Ok(read_node(value.get_ref(), at.clone(), &|_| at.clone(), problems)),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => Err(error.message().to_owned()),
        Err(_) => Ok(bare_text(text, at)),
    }
}

/// Makes a node of a text.
fn bare_text(text: &str, at: &Origin) -> Node {
    Node { at: at.clone(), data: Data::Text(text.to_owned()) }
}

/// Reads the entries of a table.
fn read_entries(table: &DeTable<'_>, origin: &dyn Fn(usize) -> Origin, problems: &mut Problems<'_>) -> Vec<Entry> {
    let mut list = Vec::with_capacity(table.len());
    for (key, value) in table {
        let value_at = origin(value.span().start);
        let value = read_node(value.get_ref(), value_at, origin, problems);
        list.push(Entry { key: key.get_ref().to_string(), at: origin(key.span().start), value });
    }
    list
}

/// Reads a value with its place.
fn read_node(value: &DeValue<'_>, at: Origin, origin: &dyn Fn(usize) -> Origin, problems: &mut Problems<'_>) -> Node {
    let data = match value {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Boolean(b) => Data::Bool(*b),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Table(table) => Data::Table(read_entries(table, origin, problems)),
        DeValue::Array(array) => {
            let mut items = Vec::with_capacity(array.len());
            for item in array {
                items.push(read_node(item.get_ref(), origin(item.span().start), origin, problems));
            }
            Data::List(items)
        }
        DeValue::Integer(n) => match i128::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Data::Int(n),
            Err(_) => report_value(&at, "this number is too large", problems),
        },
        DeValue::Float(x) => match x.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Data::Float(x),
            // JSON, in which the plan is stored, has neither infinity nor "not a number".
            Ok(_) | Err(_) => report_value(&at, "a number must be finite", problems),
        },
    };
    Node { at, data }
}

/// Reports a problem, and gives the data that stands in place of the value.
fn report_value(at: &Origin, message: &str, problems: &mut Problems<'_>) -> Data {
    problems.add(at, message, None);
    Data::Reported
}
