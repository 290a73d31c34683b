//! The tidy table as Parquet: the same columns, and one more for text.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use formats::tidy::{self, REASON, Row, Table};
use model::csv::quoted;
use model::{Direction, Reading, Role};
use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::record::Field;
use parquet::schema::types::Type;

use crate::error::CliError;

/// The first bytes of every such file.
pub const MAGIC: &[u8] = b"PAR1";
/// Metadata key of the table's remarks, one per line.
const REMARKS: &str = "etalon.remarks";
/// Column of non-numeric values.
const TEXT: &str = "text";
const VALUE: &str = "value";
const KIND: &str = "kind";

/// Names of text columns, and their values.
type Texts<'a> = Vec<(String, Box<dyn Fn(&Row) -> Option<String> + 'a>)>;

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
    fields.push(field(VALUE, Physical::DOUBLE, ConvertedType::NONE)?);
    let schema = Type::group_type_builder("etalon").with_fields(fields).build()?;
    let remarks = KeyValue::new(REMARKS.to_owned(), table.remarks.join("\n"));
    let properties = WriterProperties::builder()
        .set_compression(Compression::UNCOMPRESSED)
        .set_key_value_metadata(Some(vec![remarks]))
        .build();
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

pub fn read(path: &Path) -> Result<String, CliError> {
    let wrong = |what: String| CliError::user(format!("{}: {what}", path.display()));
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    decode(file).map_err(|error| wrong(format!("this Parquet file cannot be read: {error}")))
}

fn decode(file: File) -> Result<String, ParquetError> {
    let reader = SerializedFileReader::new(file)?;
    let told = reader.metadata().file_metadata();
    let entries = told.key_value_metadata().into_iter().flatten();
    let remarks = entries.filter(|entry| entry.key == REMARKS).filter_map(|entry| entry.value.as_ref());
    let mut lines: Vec<String> =
        remarks.flat_map(|remarks| remarks.lines()).map(|remark| format!("# {remark}")).collect();
    let names: Vec<String> = told.schema().get_fields().iter().map(|field| field.name().to_owned()).collect();
    let has_text = names.iter().any(|name| name == TEXT) && names.iter().any(|name| name == KIND);
    let is_kept = |name: &str| !(has_text && name == TEXT);
    let heading = names.iter().filter(|name| is_kept(name)).map(|name| quoted(name));
    lines.push(heading.collect::<Vec<_>>().join(","));
    for row in reader.get_row_iter(None)? {
        let row = row?;
        let mut fields = Vec::new();
        for (name, field) in row.get_column_iter() {
            fields.push((name.as_str(), text_of(name, field)?));
        }
        let of = |wanted: &str| fields.iter().find(|(name, _)| *name == wanted).and_then(|(_, text)| text.clone());
        let reason = of(TEXT).filter(|_| has_text && of(VALUE).is_none());
        let instead = reason.map(|reason| match of(KIND).as_deref() {
            None | Some("" | tidy::MEASURED) => format!("{REASON}{reason}"),
            Some(_) => reason,
        });
        let written = fields.iter().filter(|(name, _)| is_kept(name)).map(|(name, text)| match (&instead, *name) {
            (Some(instead), VALUE) => quoted(instead),
            _ => quoted(text.as_deref().unwrap_or_default()),
        });
        lines.push(written.collect::<Vec<_>>().join(","));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

fn text_of(name: &str, field: &Field) -> Result<Option<String>, ParquetError> {
    Ok(Some(match field {
        Field::Null => return Ok(None),
        Field::Str(text) => text.clone(),
        Field::Bool(truth) => truth.to_string(),
        Field::Byte(number) => number.to_string(),
        Field::Short(number) => number.to_string(),
        Field::Int(number) => number.to_string(),
        Field::Long(number) => number.to_string(),
        Field::UByte(number) => number.to_string(),
        Field::UShort(number) => number.to_string(),
        Field::UInt(number) => number.to_string(),
        Field::ULong(number) => number.to_string(),
        Field::Float(number) => number.to_string(),
        Field::Double(number) => number.to_string(),
        _ => return Err(ParquetError::General(format!("column {name} holds neither text nor numbers"))),
    }))
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
    columns.push((KIND.to_owned(), Box::new(|row| Some(row.kind.clone()))));
    // Text of marks and facts, reason of unavailable values.
    columns.push((
        TEXT.to_owned(),
        Box::new(|row| match &row.value {
            Reading::Value(_) => None,
            Reading::Unavailable(reason) if row.written.is_empty() => Some(reason.clone()),
            Reading::Unavailable(_) => Some(row.written.clone()),
        }),
    ));
    columns
}
