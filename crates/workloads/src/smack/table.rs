//! Tables: what their sections say, as tables of a data set.

use std::fmt::Write as _;
use std::sync::Arc;

use super::error::SmackError;
use super::source::{Sources, Uneven, fnv1a_64, split_fields};
use super::syntax::{SectionKind, SmackSection, SpottedText};
use crate::dataset::{Dataset, Table};
use load::datum::Datum;

const DISK_BYTES_PER_FILE_BYTE: u64 = 2;

/// Makes the data set of a script's tables, with the statements that run once they are loaded.
pub(super) fn dataset_of_tables(sources: &Sources<'_>, afterwards: Vec<String>) -> Result<Dataset, SmackError> {
    let mut data = Dataset { afterwards, ..Dataset::default() };
    let mut identity = String::new();
    for section in sources.file.sections_of_kind(SectionKind::Table) {
        let client = section.need_key("client")?;
        sources.file.need_section(SectionKind::Client, &client.text, client.spot)?;
        let create = section.need_key("create")?;
        check_creates(create, &section.name)?;
        let lines = sources.lines_of_file(section.need_key("data_file")?)?;
        check_row_count(section, lines.line_count())?;
        if let Some(Uneven { line, fields, of_first }) = lines.first_uneven() {
            let message = format!("row {line} of the data has {fields} fields, the first row {of_first}");
            return Err(SmackError::new(section.need_key("data_file")?.spot, message));
        }
        data.size_bytes += lines.size_bytes() * DISK_BYTES_PER_FILE_BYTE;
        // Writing to a string does not fail.
        let _ = write!(identity, "{}\0{}\0{:x}\0", section.name.text, create.text, lines.hash);
        data.tables.push(Table {
            name: section.name.text.clone().into(),
            columns: Vec::new(),
            primary_key: &[],
            create: Some(create.text.trim().trim_end_matches(';').to_owned()),
            rows: lines.line_count() as u64,
            unit_rows: 1,
            row: Arc::new(move |index, into: &mut Vec<Datum>| split_fields(lines.line_at(index as usize), into)),
        });
    }
    data.afterwards.iter().for_each(|statement| identity.push_str(statement));
    let names: Vec<&str> = data.tables.iter().map(|table| &*table.name).collect();
    data.name = match names.as_slice() {
        [] => "no tables".to_owned(),
        names => format!("super-smack's tables {} ({:016x})", names.join(", "), fnv1a_64(identity.as_bytes())),
    };
    Ok(data)
}

/// Fails unless `create` is the one statement that makes this table: it goes to the server as it is.
fn check_creates(create: &SpottedText, table: &SpottedText) -> Result<(), SmackError> {
    let name = &table.text;
    let mut letters = name.chars();
    let first_is_fine = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    if !first_is_fine || !letters.all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let message = format!("\"{name}\" cannot be a table's name here: letters, digits and `_`");
        return Err(SmackError::new(table.spot, message));
    }
    let spaced = create.text.replace('(', " ( ");
    let mut words = spaced.split_whitespace().map(|word| word.trim_matches(['`', '"']));
    let mut expect = |word: &str| words.next().is_some_and(|found| found.eq_ignore_ascii_case(word));
    let named = expect("create") && expect("table") && expect(name);
    if named && !create.text.trim().trim_end_matches(';').contains(';') {
        return Ok(());
    }
    let message = format!("`create` must be the one statement `create table {name} (…)`");
    Err(SmackError::new(create.spot, message)
        .with_hint("étalon makes the table in a place of its own and touches no other"))
}

/// Fails if a source has fewer rows than the table's `min_rows`.
fn check_row_count(section: &SmackSection, rows: usize) -> Result<(), SmackError> {
    let Some(least) = section.value_of_key("min_rows") else { return Ok(()) };
    let wanted: usize =
        least.text.trim().parse().map_err(|_| {
            SmackError::new(least.spot, format!("`min_rows` is a whole number, not \"{}\"", least.text))
        })?;
    if rows >= wanted {
        return Ok(());
    }
    let message = format!("the table \"{}\" needs {wanted} rows, and its data has {rows}", section.name.text);
    Err(SmackError::new(least.spot, message)
        .with_hint("give `gen-data` a larger `-n`, or remove a data file that is too short"))
}
