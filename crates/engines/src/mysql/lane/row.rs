use wire::mysql::{BinaryRow, ColumnType, TextRow, kind};
use wire::{Result, Value};

use load::datum::Datum;
use load::lane::KeptRow;
use workloads::transactions::Rows;

fn text(bytes: &[u8]) -> Datum {
    Datum::Text(String::from_utf8_lossy(bytes).into_owned().into())
}

pub(super) fn keep_text(result: &mut KeptRow, row: TextRow<'_>, rows: Rows) {
    rows.begin_row(result);
    result.values.extend(row.iter().map(|value| value.map_or(Datum::Null, text)));
}

pub(super) fn keep_binary(result: &mut KeptRow, row: BinaryRow<'_>, types: &[ColumnType], rows: Rows) -> Result<()> {
    rows.begin_row(result);
    for (value, column) in row.values(types).zip(types) {
        result.values.push(datum(value?, *column));
    }
    Ok(())
}

fn datum(value: Value<'_>, column: ColumnType) -> Datum {
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
            kind::DATE => Datum::Text(date(bytes).into()),
            kind::DATETIME | kind::TIMESTAMP => Datum::Text(date_time(bytes).into()),
            kind::TIME => Datum::Text(time(bytes).into()),
            _ => text(bytes),
        },
    }
}

fn byte(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at).copied().unwrap_or_default().into()
}

fn number(bytes: &[u8], at: usize, count: usize) -> u32 {
    (0..count).map(|place| byte(bytes, at + place) << (8 * place)).sum()
}

/// Writes the fraction of a second.
fn fraction(bytes: &[u8], at: usize) -> String {
    match number(bytes, at, 4) {
        0 => String::new(),
        micros => format!(".{micros:06}"),
    }
}

/// "Binary Protocol Value", `ProtocolBinary::MYSQL_TYPE_DATE`: trailing zeros are omitted.
fn date(bytes: &[u8]) -> String {
    format!("{:04}-{:02}-{:02}", number(bytes, 0, 2), byte(bytes, 2), byte(bytes, 3))
}

fn date_time(bytes: &[u8]) -> String {
    let (hour, minute, second) = (byte(bytes, 4), byte(bytes, 5), byte(bytes, 6));
    format!("{} {hour:02}:{minute:02}:{second:02}{}", date(bytes), fraction(bytes, 7))
}

/// `ProtocolBinary::MYSQL_TYPE_TIME`: a sign, days, hours, minutes, seconds, microseconds.
fn time(bytes: &[u8]) -> String {
    let sign = if byte(bytes, 0) == 1 { "-" } else { "" };
    let hours = u64::from(number(bytes, 1, 4)) * 24 + u64::from(byte(bytes, 5));
    format!("{sign}{hours:02}:{:02}:{:02}{}", byte(bytes, 6), byte(bytes, 7), fraction(bytes, 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_written_as_the_server_writes_them() {
        assert_eq!(date(&[0xd1, 0x07, 2, 3]), "2001-02-03");
        assert_eq!(date(&[]), "0000-00-00");
        assert_eq!(date_time(&[0xd1, 0x07, 2, 3]), "2001-02-03 00:00:00");
        assert_eq!(date_time(&[0xd1, 0x07, 2, 3, 4, 5, 6, 0x40, 0xe2, 1, 0]), "2001-02-03 04:05:06.123456");
        assert_eq!(time(&[1, 2, 0, 0, 0, 3, 4, 5]), "-51:04:05");
        assert_eq!(time(&[]), "00:00:00");
    }
}
