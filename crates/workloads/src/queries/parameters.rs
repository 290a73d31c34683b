//! The values of a query's parameters: the rows of a CSV file, whose header names them.

use std::path::{Component, Path};

use crate::dataset::Dialect;
use crate::texts::{Texts, sibling_path};
use crate::transactions::find_variables;
use load::error::{Failure, FailureKind};

/// More rows than this are no file of parameters.
const MOST_ROWS: usize = 100_000;

/// The rows of a file of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters {
    /// Path of the file.
    path: String,
    names: Vec<String>,
    rows: Vec<Vec<Field>>,
}

#[derive(Clone, Debug, PartialEq)]
enum Field {
    Null,
    Number(String),
    Text(String),
}

impl Field {
    /// Makes a field of its text: unquoted, an empty one is NULL, and what looks like a number is one.
    fn new(text: &str, is_quoted: bool) -> Field {
        match text.trim() {
            _ if is_quoted => Field::Text(text.to_owned()),
            "" => Field::Null,
            number if is_number(number) => Field::Number(number.to_owned()),
            other => Field::Text(other.to_owned()),
        }
    }

    /// Writes the value as an SQL literal.
    fn to_sql(&self, dialect: &dyn Dialect) -> String {
        match self {
            Field::Null => "NULL".to_owned(),
            Field::Number(number) => number.clone(),
            Field::Text(text) => dialect.text_literal(text),
        }
    }
}

/// Whether all engines read a text as the same number; `007` is a text.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    is_digits(whole) && is_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}

/// Whether a text has nothing but digits.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

impl Parameters {
    /// Reads the file of parameters that a query's file names, next to itself.
    ///
    /// # Errors
    /// It cannot be read, or is no table with a header; with its line.
    pub fn read(query_path: &str, name: &str, texts: &Texts) -> Result<Parameters, Failure> {
        let path = sibling_path(query_path, name).to_string_lossy().into_owned();
        let is_beside =
            Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_beside {
            return Err(refuse_file(&path, &"a query's parameters lie in its folder, or below it"));
        }
        let bytes = texts.read_sibling(query_path, name).map_err(|error| refuse_file(&path, &error))?;
        let text = String::from_utf8(bytes).map_err(|_| refuse_file(&path, &"it is not UTF-8"))?;
        Parameters::parse(&path, text.strip_prefix('\u{feff}').unwrap_or(&text))
    }

    /// Parses parameters from the text of a CSV file, whose header names them.
    fn parse(path: &str, text: &str) -> Result<Parameters, Failure> {
        let refuse_at = |line: usize, cause: &str| refuse_file(path, &format!("line {line}: {cause}"));
        let mut records = split_records(text).map_err(|(line, cause)| refuse_at(line, cause))?.into_iter();
        let header =
            records.next().ok_or_else(|| refuse_file(path, &"it is empty: its first line names the parameters"))?;
        let names: Vec<String> = header.fields.iter().map(|(name, _)| name.trim().to_owned()).collect();
        for (index, name) in names.iter().enumerate() {
            if !is_name(name) {
                return Err(refuse_at(1, &format!("`{name}` is no name of a parameter, such as `customer_id`")));
            }
            if names[..index].contains(name) {
                return Err(refuse_at(1, &format!("the column `{name}` is there twice")));
            }
        }
        let mut rows = Vec::new();
        for Record { line, fields } in records {
            if fields.len() != names.len() {
                let cause = format!("{} fields, and the header names {}", fields.len(), names.len());
                return Err(refuse_at(line, &cause));
            }
            if rows.len() == MOST_ROWS {
                return Err(refuse_at(line, &format!("more than {MOST_ROWS} rows")));
            }
            rows.push(fields.iter().map(|(text, is_quoted)| Field::new(text, *is_quoted)).collect());
        }
        if rows.is_empty() {
            return Err(refuse_file(path, &"it has a header and no rows"));
        }
        Ok(Parameters { path: path.to_owned(), names, rows })
    }

    /// Number of rows of parameters.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Fails unless a query's text names parameters, and none that the file does not have.
    ///
    /// # Errors
    /// The line of the text, if one is to blame, and the cause.
    pub fn check_names(&self, text: &str) -> Result<(), String> {
        let statements = find_variables(text).map_err(|(at, cause)| format!("line {}: {cause}", line_of(text, at)))?;
        let mut named = statements.iter().flat_map(|statement| &statement.names).peekable();
        if named.peek().is_none() {
            let columns = self.list_names();
            return Err(format!("it names no parameter of `{}`, which has {columns}", self.path));
        }
        match named.find(|(name, _)| !self.names.contains(name)) {
            Some((name, at)) => Err(format!(
                "line {}: `:{name}` is no column of `{}`, which has {}",
                line_of(text, *at),
                self.path,
                self.list_names()
            )),
            None => Ok(()),
        }
    }

    /// Lists the parameters' names for a message, such as `:id, :name`.
    fn list_names(&self) -> String {
        self.names.iter().map(|name| format!("`:{name}`")).collect::<Vec<_>>().join(", ")
    }

    /// Puts the values of a row into a statement, in place of the parameters' names.
    pub fn fill_in(&self, sql: &str, row: usize, dialect: &dyn Dialect) -> String {
        let Ok(statements) = find_variables(sql) else { return sql.to_owned() };
        let Some(statement) = statements.into_iter().next() else { return sql.to_owned() };
        let mut filled = String::with_capacity(sql.len());
        let mut names = statement.names.iter();
        for piece in &statement.pieces {
            filled.push_str(piece);
            if let Some((name, _)) = names.next() {
                filled.push_str(
                    &self.value_at(name, row).map_or_else(|| format!(":{name}"), |field| field.to_sql(dialect)),
                );
            }
        }
        filled
    }

    /// Value of a parameter in a row; `None` if there is no such one.
    fn value_at(&self, name: &str, row: usize) -> Option<&Field> {
        let column = self.names.iter().position(|known| known == name)?;
        self.rows.get(row)?.get(column)
    }

    /// Describes the values of a row for a reader, such as `id = 7, name = 'x'`.
    pub fn describe_row(&self, row: usize, dialect: &dyn Dialect) -> String {
        let of_row = self.names.iter().zip(self.rows.get(row).into_iter().flatten());
        of_row.map(|(name, field)| format!("{name} = {}", field.to_sql(dialect))).collect::<Vec<_>>().join(", ")
    }
}

/// Number of the line, from 1, that has the byte at a position.
fn line_of(text: &str, at: usize) -> usize {
    text[..at.min(text.len())].matches('\n').count() + 1
}

/// Makes the failure of a file of parameters.
fn refuse_file(path: &str, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Plan, format!("read the parameters `{path}`"), cause)
}

/// Whether a text can be a parameter's name.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_alphabetic() || c == '_') && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// A field, and whether it was in quotes.
type RawField = (String, bool);

/// A record of a CSV file, with the number of its first line.
struct Record {
    line: usize,
    fields: Vec<RawField>,
}

/// Splits the text of a CSV file into records; blank lines are none.
///
/// <https://www.rfc-editor.org/rfc/rfc4180>
///
/// # Errors
/// The number of a line, and the cause.
fn split_records(text: &str) -> Result<Vec<Record>, (usize, &'static str)> {
    let mut records = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while !rest.is_empty() {
        let (first_line, mut fields) = (line, Vec::new());
        loop {
            let (field, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted_field(quoted).ok_or((line, "a quote is opened and not closed"))?,
                None => {
                    let end = rest.find([',', '\n']).unwrap_or(rest.len());
                    ((rest[..end].trim_end_matches('\r').to_owned(), false), &rest[end..])
                }
            };
            line += field.0.matches('\n').count();
            fields.push(field);
            match after.strip_prefix(',') {
                Some(next) => rest = next,
                None => {
                    rest = after.strip_prefix('\r').unwrap_or(after);
                    break;
                }
            }
        }
        rest = match rest.strip_prefix('\n') {
            Some(next) => next,
            None if rest.is_empty() => rest,
            None => return Err((line, "something follows a closing quote")),
        };
        line += 1;
        let is_blank = matches!(&fields[..], [(only, false)] if only.trim().is_empty());
        if !is_blank {
            records.push(Record { line: first_line, fields });
        }
    }
    Ok(records)
}

/// Reads a quoted field behind its opening quote; returns it and the text that follows, `None` without a closing quote.
fn quoted_field(text: &str) -> Option<(RawField, &str)> {
    let mut field = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        field.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(next) => {
                field.push('"');
                rest = next;
            }
            None => return Some(((field, true), rest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Standard;

    impl Dialect for Standard {
        fn placeholder(&self, _number: usize) -> String {
            "?".to_owned()
        }
    }

    fn parse(text: &str) -> Result<Parameters, String> {
        Parameters::parse("p.csv", text).map_err(|failure| failure.cause)
    }

    #[test]
    fn parameters_lie_next_to_their_query() {
        for name in ["/etc/passwd", "../p.csv", "a/../../p.csv"] {
            let refused = Parameters::read("sql/q.sql", name, &Texts::Files).unwrap_err();
            assert!(refused.cause.contains("lie in its folder"), "{refused}");
        }
    }

    #[test]
    fn values_stand_in_place_of_their_names() {
        let csv = "id,name,day,note\r\n7,O'Neil,2026-02-01,\r\n-1.5,\"a, \"\"b\"\"\nc\",007,\"8\"\n\n";
        let parameters = parse(csv).unwrap();
        assert_eq!(parameters.row_count(), 2);
        let sql = "SELECT ':id', :id::int, /* :id */ :name FROM t WHERE d = :day AND n IS :note";
        assert_eq!(
            parameters.fill_in(sql, 0, &Standard),
            "SELECT ':id', 7::int, /* :id */ 'O''Neil' FROM t WHERE d = '2026-02-01' AND n IS NULL"
        );
        assert_eq!(
            parameters.fill_in("SELECT :id, :name, :day, :note", 1, &Standard),
            "SELECT -1.5, 'a, \"b\"\nc', '007', '8'"
        );
        assert_eq!(parameters.describe_row(0, &Standard), "id = 7, name = 'O''Neil', day = '2026-02-01', note = NULL");
    }

    #[test]
    fn what_is_no_table_is_refused_with_its_line() {
        for (csv, cause) in [
            ("", "it is empty: its first line names the parameters"),
            ("a,b\n", "it has a header and no rows"),
            ("a,b c\n1,2\n", "line 1: `b c` is no name of a parameter"),
            ("a,a\n1,2\n", "line 1: the column `a` is there twice"),
            ("a,b\n1,2\n\n\"x\ny\",2\n3\n", "line 6: 1 fields, and the header names 2"),
            ("a\n1\n\"x\n", "line 3: a quote is opened and not closed"),
            ("a\n\"1\"2\n", "line 2: something follows a closing quote"),
        ] {
            let refused = parse(csv).unwrap_err();
            assert!(refused.contains(cause), "{csv:?}: {refused}");
        }
    }

    #[test]
    fn names_are_held_against_the_header_with_their_line() {
        let parameters = parse("id\n1\n").unwrap();
        assert_eq!(parameters.check_names("SELECT 1\nWHERE a = :id"), Ok(()));
        let refused = parameters.check_names("SELECT 1\nWHERE a = :id AND b = :nr").unwrap_err();
        assert_eq!(refused, "line 2: `:nr` is no column of `p.csv`, which has `:id`");
        assert!(parameters.check_names("SELECT ':id'").unwrap_err().contains("it names no parameter of `p.csv`"));
    }
}
