//! Lines of sysbench that tell what was run: each becomes a key of the case.

use model::{Point, Value};

use crate::size;
use crate::text::leading_number;

/// How a condition's value is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Rate,
    Size,
    Text,
}

/// Lines with a name and a value: what sysbench prints, and the key of the case that it becomes. Where versions print one thing
/// differently, the key is the same.
pub const CONDITIONS: [(&str, &str, Kind); 14] = [
    ("Number of threads", "threads", Kind::Number),
    ("Target transaction rate", "rate", Kind::Rate),
    ("Prime numbers limit", "prime_limit", Kind::Number),
    ("Maximum prime number checked in CPU test", "prime_limit", Kind::Number),
    ("block size", "block_size", Kind::Size),
    ("Memory block size", "block_size", Kind::Size),
    ("total size", "total_size", Kind::Size),
    ("Memory transfer size", "total_size", Kind::Size),
    ("operation", "operation", Kind::Text),
    ("Memory operations type", "operation", Kind::Text),
    ("scope", "scope", Kind::Text),
    ("Memory scope type", "scope", Kind::Text),
    ("Extra file open flags", "open_flags", Kind::Text),
    ("Read/Write ratio for combined random IO test", "rw_ratio", Kind::Rate),
];

/// Sentences that begin and end with fixed words, and the key whose value stands between them.
const SENTENCES: [(&str, &str, &str); 12] = [
    ("Using ", " I/O mode", "io_mode"),
    ("Doing ", " test", "io_test"),
    ("Running ", " OLTP test", "oltp_mode"),
    ("Using ", " distribution", "distribution"),
    ("Using \"", "\" for starting transactions", "begin"),
    ("Using ", " on the id column", "id_column"),
    ("Periodic FSYNC enabled, calling fsync() each ", " requests.", "fsync_each"),
    ("Calling fsync() at the end of test, ", ".", "fsync_end"),
    ("Calling fsync() after each write operation", ".", "fsync_after_write"),
    ("Using fdatasync() instead of fsync()", "", "fdatasync"),
    ("Additional request validation enabled", ".", "validation"),
    ("Thread yields per test: ", "", "yields"),
];

/// Parses the keys and values of a line; none where it tells nothing that is known.
pub(super) fn parse_condition_line(line: &str) -> Point {
    if let Some((name, value)) = line.split_once(':') {
        let known = CONDITIONS.iter().find(|(printed, ..)| *printed == name.trim());
        let found = known.and_then(|(_, key, kind)| Some((*key, condition_value(*kind, value.trim())?)));
        if let Some((key, value)) = found {
            return Point::from([(key.to_owned(), value)]);
        }
    }
    if let Some(files) = file_conditions(line) {
        return files;
    }
    condition_sentence(line).into_iter().collect()
}

/// Parses the value of a condition of this kind.
fn condition_value(kind: Kind, value: &str) -> Option<Value> {
    match kind {
        Kind::Number => value.parse().ok().map(Value::Int),
        Kind::Rate => leading_number(value).map(|(rate, _)| Value::Float(rate)),
        Kind::Size => Some(size::size_value(value)),
        Kind::Text if value == "0" => Some(Value::Text("(none)".to_owned())),
        Kind::Text => Some(Value::Text(value.to_owned())),
    }
}

/// Parses the conditions on files: `128 files, 16MiB each`, `2GiB total file size`, `Block size 16KiB`.
fn file_conditions(line: &str) -> Option<Point> {
    if let Some((count, each)) = line.strip_suffix(" each").and_then(|line| line.split_once(" files, ")) {
        let count = count.parse().ok().map(Value::Int)?;
        return Some(Point::from([key_value("files", count), key_value("file_size", size::size_value(each))]));
    }
    if let Some(total) = line.strip_suffix(" total file size") {
        return Some(Point::from([key_value("total_size", size::size_value(total))]));
    }
    let block = line.strip_prefix("Block size ")?;
    Some(Point::from([key_value("block_size", size::size_value(block))]))
}

/// Makes an entry of a point.
fn key_value(name: &str, value: Value) -> (String, Value) {
    (name.to_owned(), value)
}

/// Parses a condition that sysbench says in a sentence.
fn condition_sentence(line: &str) -> Option<(String, Value)> {
    let (key, value) = SENTENCES.iter().find_map(|(begin, end, key)| {
        let value = line.strip_prefix(begin)?;
        let value = if end.is_empty() { value } else { &value[..value.find(end)?] };
        Some((*key, value.trim()))
    })?;
    let value = if value.is_empty() { "yes" } else { value };
    let value = value.parse().map_or_else(|_| Value::Text(value.to_owned()), Value::Int);
    Some((key.to_owned(), value))
}
