//! The tidy table as Parquet: the same columns with the same names, and one for what is text.

use std::sync::Arc;

use formats::tidy::{Row, Table};
use model::{Direction, Reading, Role};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::error::CliError;

/// Columns of text: a name, and what a row has there.
type Texts<'a> = Vec<(String, Box<dyn Fn(&Row) -> Option<String> + 'a>)>;

/// Writes a table.
///
/// # Errors
/// When two columns have one name.
pub fn write(table: &Table) -> Result<Vec<u8>, CliError> {
    encode(table).map_err(|error| CliError::could_not(format!("cannot write the table as Parquet: {error}")))
}

fn encode(table: &Table) -> Result<Vec<u8>, ParquetError> {
    let texts = texts(table);
    let mut fields = Vec::new();
    for (name, _) in &texts {
        fields.push(field(name, Physical::BYTE_ARRAY, ConvertedType::UTF8)?);
    }
    fields.push(field("repetition", Physical::INT32, ConvertedType::UINT_32)?);
    fields.push(field("value", Physical::DOUBLE, ConvertedType::NONE)?);
    let schema = Type::group_type_builder("etalon").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, of) in &texts {
        let values = table.rows.iter().map(|row| of(row).map(|text| ByteArray::from(text.into_bytes())));
        column::<ByteArrayType>(&mut group, values)?;
    }
    // Repetitions are far below 2^31.
    column::<Int32Type>(&mut group, table.rows.iter().map(|row| row.repetition.and_then(|n| i32::try_from(n).ok())))?;
    column::<DoubleType>(&mut group, table.rows.iter().map(value))?;
    group.close()?;
    writer.close()?;
    Ok(bytes)
}

fn field(name: &str, physical: Physical, converted: ConvertedType) -> Result<Arc<Type>, ParquetError> {
    let built = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_converted_type(converted)
        .build()?;
    Ok(Arc::new(built))
}

fn column<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let mut levels = Vec::new();
    let mut kept = Vec::new();
    for value in values {
        levels.push(i16::from(value.is_some()));
        kept.extend(value);
    }
    column.typed::<T>().write_batch(&kept, Some(&levels), None)?;
    column.close()
}

fn value(row: &Row) -> Option<f64> {
    match row.value {
        Reading::Value(value) => Some(value),
        Reading::Unavailable(_) => None,
    }
}

fn texts(table: &Table) -> Texts<'_> {
    let word = |word: Option<&str>| word.map(str::to_owned);
    let mut columns: Texts<'_> = vec![
        ("system".to_owned(), Box::new(|row| Some(row.system.clone()))),
        ("benchmark".to_owned(), Box::new(|row| row.benchmark.clone())),
    ];
    for key in &table.keys {
        columns.push((key.clone(), Box::new(move |row| row.point.get(key).map(ToString::to_string))));
    }
    columns.push(("metric".to_owned(), Box::new(|row| Some(row.metric.clone()))));
    columns.push(("unit".to_owned(), Box::new(|row| (!row.unit.is_empty()).then(|| row.unit.clone()))));
    columns.push((
        "direction".to_owned(),
        Box::new(move |row| {
            word(row.direction.map(|direction| match direction {
                Direction::Higher => "higher",
                Direction::Lower => "lower",
                Direction::Neither => "neither",
            }))
        }),
    ));
    columns.push((
        "role".to_owned(),
        Box::new(move |row| {
            word(row.role.map(|role| match role {
                Role::Primary => "primary",
                Role::Secondary => "secondary",
                Role::Diagnostic => "diagnostic",
            }))
        }),
    ));
    columns.push(("kind".to_owned(), Box::new(|row| Some(row.kind.clone()))));
    // Of marks and facts their text, of a value that is not there the reason.
    columns.push((
        "text".to_owned(),
        Box::new(|row| match &row.value {
            Reading::Value(_) => None,
            Reading::Unavailable(reason) if row.written.is_empty() => Some(reason.clone()),
            Reading::Unavailable(_) => Some(row.written.clone()),
        }),
    ));
    columns
}
