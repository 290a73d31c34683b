use wire::mysql::{BinaryRow, ColumnType, TextRow, kind};
use wire::{Result, Value};

use load::datum::Datum;
use load::lane::KeptRow;
use workloads::transactions::Rows;

/// Turns bytes into a text datum; what is not UTF-8 is replaced.
fn text_datum(bytes: &[u8]) -> Datum {
    Datum::Text(String::from_utf8_lossy(bytes).into_owned().into())
}

/// Adds a row of the text protocol to a result's kept rows.
pub(super) fn keep_text(result: &mut KeptRow, row: TextRow<'_>, rows: Rows) {
    rows.begin_row(result);
    result.values.extend(row.iter().map(|value| value.map_or(Datum::Null, text_datum)));
}

/// Adds a row of the binary protocol to a result's kept rows; fails if the row is malformed.
pub(super) fn keep_binary(result: &mut KeptRow, row: BinaryRow<'_>, types: &[ColumnType], rows: Rows) -> Result<()> {
    rows.begin_row(result);
    for (value, column) in row.values(types).zip(types) {
        result.values.push(datum_of_value(value?, *column));
    }
    Ok(())
}

/// Turns a value of the binary protocol into a datum; dates and times become text.
fn datum_of_value(value: Value<'_>, column: ColumnType) -> Datum {
    match value {
        Value::Null => Datum::Null,
        Value::Bool(truth) => Datum::Int(i64::from(truth)),
        Value::Int(number) => Datum::Int(number),
        Value::Unsigned(number) => Datum::Text(number.to_string().into()),
        // The shortest text of its 32 bits, as the server prints it.
        Value::Float(number) if column.kind == kind::FLOAT => {
            Datum::Double((number as f32).to_string().parse().unwrap_or(number))
        }
        Value::Float(number) => Datum::Double(number),
        Value::Text(characters) => Datum::Text(characters.to_owned().into()),
        Value::Bytes(bytes) => match column.kind {
            kind::DATE => Datum::Text(date_text(bytes).into()),
            kind::DATETIME | kind::TIMESTAMP => Datum::Text(date_time_text(bytes).into()),
            kind::TIME => Datum::Text(time_text(bytes).into()),
            _ => text_datum(bytes),
        },
    }
}

/// The byte at an index, or 0 beyond the end, as the protocol omits trailing zeros.
fn byte_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at).copied().unwrap_or_default().into()
}

/// Reads a little-endian number of `count` bytes; missing bytes are 0.
fn number_at(bytes: &[u8], at: usize, count: usize) -> u32 {
    (0..count).map(|place| byte_at(bytes, at + place) << (8 * place)).sum()
}

/// Writes the microseconds at an index as `.000042`; empty if they are 0.
fn fraction_text(bytes: &[u8], at: usize) -> String {
    match number_at(bytes, at, 4) {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    }
}

/// Writes a date of the binary protocol as `2024-01-31`.
/// The protocol omits its trailing zeros: "Binary Protocol Value", `ProtocolBinary::MYSQL_TYPE_DATE`.
fn date_text(bytes: &[u8]) -> String {
    format!("{:04}-{:02}-{:02}", number_at(bytes, 0, 2), byte_at(bytes, 2), byte_at(bytes, 3))
}

/// Writes a date and time of the binary protocol as `2024-01-31 12:30:00.000042`.
fn date_time_text(bytes: &[u8]) -> String {
    let (hour, minute, second) = (byte_at(bytes, 4), byte_at(bytes, 5), byte_at(bytes, 6));
    format!("{} {hour:02}:{minute:02}:{second:02}{}", date_text(bytes), fraction_text(bytes, 7))
}

/// Writes a time of the binary protocol as `-36:05:00.000042`, its days as hours.
/// `ProtocolBinary::MYSQL_TYPE_TIME`: a sign, days, hours, minutes, seconds, microseconds.
fn time_text(bytes: &[u8]) -> String {
    let sign = if byte_at(bytes, 0) == 1 { "-" } else { "" };
    let hours = u64::from(number_at(bytes, 1, 4)) * 24 + u64::from(byte_at(bytes, 5));
    format!("{sign}{hours:02}:{:02}:{:02}{}", byte_at(bytes, 6), byte_at(bytes, 7), fraction_text(bytes, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_written_as_the_server_writes_them() {
        assert_eq!(date_text(&[0xd1, 0x07, 2, 3]), "2001-02-03");
        assert_eq!(date_text(&[]), "0000-00-00");
        assert_eq!(date_time_text(&[0xd1, 0x07, 2, 3]), "2001-02-03 00:00:00");
        assert_eq!(date_time_text(&[0xd1, 0x07, 2, 3, 4, 5, 6, 0x40, 0xe2, 1, 0]), "2001-02-03 04:05:06.123456");
        assert_eq!(time_text(&[1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
        assert_eq!(time_text(&[]), "00:00:00");
    }
}
