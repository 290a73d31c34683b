//! Values of rows, decoded only on request.

use super::cursor::{Cursor, Parse, decode_utf16, wrong};
use super::types::{Raw, TypeInfo, kind, take_part};

#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Double(f64),
    /// Characters, and decimals, dates and times as the server prints them.
    Text(String),
    Bytes(Vec<u8>),
}

impl Cell {
    /// The value as text; `None` is `NULL`. Bytes are hexadecimal, as the server prints them.
    pub fn to_text(self) -> Option<String> {
        Some(match self {
            Cell::Null => return None,
            Cell::Int(number) => number.to_string(),
            Cell::Double(number) => number.to_string(),
            Cell::Text(text) => text,
            Cell::Bytes(bytes) => bytes.iter().fold("0x".to_owned(), |text, byte| text + &format!("{byte:02X}")),
        })
    }

    /// Reads a value of this type.
    pub(super) fn parse(info: &TypeInfo, cursor: &mut Cursor<'_>) -> Parse<Self> {
        match info.take_raw(cursor)? {
            Raw::Null => Ok(Cell::Null),
            Raw::Whole(bytes) if info.id == kind::VARIANT => parse_variant(bytes),
            Raw::Whole(bytes) => decode(info, bytes),
            Raw::Parts(parts) => {
                let (mut cursor, mut bytes) = (Cursor::new(parts), Vec::new());
                while let Some(part) = take_part(&mut cursor)? {
                    bytes.extend_from_slice(part);
                }
                decode(info, &bytes)
            }
        }
    }
}

/// "sql_variant": the type and its properties stand before the value.
fn parse_variant(bytes: &[u8]) -> Parse<Cell> {
    let mut cursor = Cursor::new(bytes);
    let mut info = TypeInfo::new(cursor.take_u8()?);
    let count = cursor.take_u8()?.into();
    let properties = cursor.take(count)?;
    match (info.id, properties) {
        (kind::DECIMALN | kind::NUMERICN, &[_, scale]) => info.scale = scale,
        (kind::TIMEN | kind::DATETIME2N | kind::DATETIMEOFFSETN, &[scale]) => info.scale = scale,
        _ => {}
    }
    let rest = bytes.len() - cursor.position();
    decode(&info, cursor.take(rest)?)
}

/// Decodes the bytes of a value by its type.
fn decode(info: &TypeInfo, bytes: &[u8]) -> Parse<Cell> {
    Ok(match info.id {
        kind::INT1 | kind::INT2 | kind::INT4 | kind::INT8 | kind::INTN | kind::BIT | kind::BITN => {
            decode_whole_number(bytes)?
        }
        kind::FLT4 | kind::FLT8 | kind::FLTN => decode_float(bytes)?,
        kind::MONEY | kind::MONEY4 | kind::MONEYN => decode_money(bytes)?,
        kind::DECIMAL | kind::NUMERIC | kind::DECIMALN | kind::NUMERICN => decode_decimal(bytes, info.scale)?,
        kind::DATETIME | kind::DATETIME4 | kind::DATETIMN => decode_datetime(bytes)?,
        kind::DATEN => Cell::Text(date_text(decode_number(bytes)?)),
        kind::TIMEN => Cell::Text(time_text(decode_number(bytes)?, info.scale)),
        kind::DATETIME2N => Cell::Text(datetime2_text(bytes, info.scale)?),
        kind::DATETIMEOFFSETN => decode_datetimeoffset(bytes, info.scale)?,
        kind::GUID => Cell::Text(guid_text(bytes)?),
        kind::NVARCHAR | kind::NCHAR | kind::NTEXT | kind::XML => Cell::Text(decode_utf16(bytes)),
        kind::VARCHAR | kind::CHAR | kind::BIGVARCHAR | kind::BIGCHAR | kind::TEXT | kind::JSON => {
            Cell::Text(decode_characters(bytes))
        }
        _ => Cell::Bytes(bytes.to_vec()),
    })
}

/// UTF-8, else Latin, which covers nearly all code pages.
fn decode_characters(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// Reads an unsigned little-endian number.
fn decode_number(bytes: &[u8]) -> Parse<u64> {
    let mut wide = [0; 8];
    match wide.get_mut(..bytes.len()) {
        Some(room) => room.copy_from_slice(bytes),
        None => return wrong("a number is longer than its type"),
    }
    Ok(u64::from_le_bytes(wide))
}

/// Reads a whole number of any size.
fn decode_whole_number(bytes: &[u8]) -> Parse<Cell> {
    let value = decode_number(bytes)?;
    Ok(Cell::Int(match bytes.len() {
        // `tinyint` has no sign.
        1 => value as i64,
        2 => (value as i16).into(),
        4 => (value as i32).into(),
        8 => value.cast_signed(),
        _ => return wrong("a whole number has no such length"),
    }))
}

/// Reads a floating-point number of 4 or 8 bytes.
fn decode_float(bytes: &[u8]) -> Parse<Cell> {
    match bytes.len() {
        // The shortest text of its 32 bits, as the server prints it.
        4 => {
            let single = f32::from_bits(decode_number(bytes)? as u32);
            Ok(Cell::Double(single.to_string().parse().unwrap_or(single.into())))
        }
        8 => Ok(Cell::Double(f64::from_bits(decode_number(bytes)?))),
        _ => wrong("a floating point number has no such length"),
    }
}

/// Reads an amount of money: ten-thousandths, the upper half first.
fn decode_money(bytes: &[u8]) -> Parse<Cell> {
    let value: i64 = match bytes.len() {
        4 => (decode_number(bytes)? as i32).into(),
        8 => decode_number(bytes)?.rotate_left(32).cast_signed(),
        _ => return wrong("an amount of money has no such length"),
    };
    Ok(Cell::Text(scaled_text(value < 0, value.unsigned_abs().into(), 4)))
}

/// Reads a decimal number: a sign and a magnitude.
fn decode_decimal(bytes: &[u8], scale: u8) -> Parse<Cell> {
    let Some((&sign, digits)) = bytes.split_first() else { return wrong("a decimal number has no sign") };
    let mut wide = [0; 16];
    match wide.get_mut(..digits.len()) {
        Some(room) => room.copy_from_slice(digits),
        None => return wrong("a decimal number is longer than its type"),
    }
    let value = u128::from_le_bytes(wide);
    Ok(Cell::Text(scaled_text(sign == 0 && value != 0, value, scale)))
}

/// A magnitude with its point `scale` digits from the right.
fn scaled_text(negative: bool, magnitude: u128, scale: u8) -> String {
    let scale = usize::from(scale.min(38));
    let digits = format!("{magnitude:0width$}", width = scale + 1);
    let (front, behind) = digits.split_at(digits.len() - scale);
    let sign = if negative { "-" } else { "" };
    if behind.is_empty() { format!("{sign}{front}") } else { format!("{sign}{front}.{behind}") }
}

/// Days from 0001-01-01 to 1900-01-01.
const DAYS_TO_1900: i64 = 693_595;

/// A day as year, month and day, by days since 0001-01-01. Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// <https://howardhinnant.github.io/date_algorithms.html#civil_from_days>.
fn date_text(days: u64) -> String {
    // The algorithm counts from 0000-03-01; days beyond the type's range are cut to its last.
    let shifted = days.min(3_652_058) + 306;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year + next)
}

/// A time of the day in units of 10 to the power of minus `scale` seconds.
fn time_text(units: u64, scale: u8) -> String {
    let scale = u32::from(scale.min(7));
    let per_second = 10_u64.pow(scale);
    let (seconds, fraction) = (units / per_second, units % per_second);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if scale == 0 { clock } else { format!("{clock}.{fraction:0width$}", width = scale as usize) }
}

/// A date with a time, as the server prints it.
fn datetime2_text(bytes: &[u8], scale: u8) -> Parse<String> {
    let Some(clock) = bytes.len().checked_sub(3) else { return wrong("a date with a time is too short") };
    Ok(format!("{} {}", date_text(decode_number(&bytes[clock..])?), time_text(decode_number(&bytes[..clock])?, scale)))
}

/// Reads a date and time with its offset from UTC.
fn decode_datetimeoffset(bytes: &[u8], scale: u8) -> Parse<Cell> {
    let Some(at) = bytes.len().checked_sub(2) else { return wrong("a date with an offset is too short") };
    let offset_min = decode_number(&bytes[at..])? as i16;
    let sign = if offset_min < 0 { '-' } else { '+' };
    let offset = offset_min.unsigned_abs();
    // Printed in UTC with its offset.
    Ok(Cell::Text(format!("{} UTC{sign}{:02}:{:02}", datetime2_text(&bytes[..at], scale)?, offset / 60, offset % 60)))
}

/// Reads a `datetime` or `smalldatetime`.
fn decode_datetime(bytes: &[u8]) -> Parse<Cell> {
    let (days, milliseconds) = match bytes.len() {
        4 => (decode_number(&bytes[..2])? as i64, decode_number(&bytes[2..])? * 60_000),
        // Three hundredths of a second; the server rounds what it prints to milliseconds.
        8 => ((decode_number(&bytes[..4])? as i32).into(), (decode_number(&bytes[4..])? * 10 + 1) / 3),
        _ => return wrong("a date has no such length"),
    };
    let days = (days + DAYS_TO_1900).max(0).cast_unsigned();
    Ok(Cell::Text(format!("{} {}", date_text(days), time_text(milliseconds, 3))))
}

/// A `uniqueidentifier`, as the server prints it.
fn guid_text(bytes: &[u8]) -> Parse<String> {
    let Ok(b) = <[u8; 16]>::try_from(bytes) else { return wrong("a uniqueidentifier has no such length") };
    let first = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let (second, third) = (u16::from_le_bytes([b[4], b[5]]), u16::from_le_bytes([b[6], b[7]]));
    let rest = b[10..].iter().fold(String::new(), |text, byte| text + &format!("{byte:02X}"));
    Ok(format!("{first:08X}-{second:04X}-{third:04X}-{:02X}{:02X}-{rest}", b[8], b[9]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(id: u8, scale: u8, bytes: &[u8]) -> Cell {
        decode(&TypeInfo { scale, ..TypeInfo::new(id) }, bytes).unwrap()
    }

    fn text(id: u8, scale: u8, bytes: &[u8]) -> String {
        cell(id, scale, bytes).to_text().unwrap()
    }

    #[test]
    fn numbers_are_what_they_are() {
        assert_eq!(cell(kind::INTN, 0, &[0xff]), Cell::Int(255));
        assert_eq!(cell(kind::INTN, 0, &[0xfe, 0xff]), Cell::Int(-2));
        assert_eq!(cell(kind::INT4, 0, &[7, 0, 0, 0x80]), Cell::Int(7 - (1 << 31)));
        assert_eq!(cell(kind::INT8, 0, &[0xff; 8]), Cell::Int(-1));
        assert_eq!(cell(kind::FLTN, 0, &0.1_f32.to_le_bytes()), Cell::Double(0.1));
        assert_eq!(text(kind::DECIMALN, 2, &[1, 0x39, 0x30, 0, 0]), "123.45");
        assert_eq!(text(kind::NUMERICN, 3, &[0, 5, 0, 0, 0]), "-0.005");
        assert_eq!(text(kind::NUMERICN, 0, &[1, 0, 0, 0, 0]), "0");
        assert_eq!(text(kind::MONEYN, 0, &[0xff, 0xff, 0xff, 0xff, 0xf0, 0xd8, 0xff, 0xff]), "-1.0000");
    }

    #[test]
    fn dates_and_times_are_written_as_the_server_writes_them() {
        assert_eq!(text(kind::DATEN, 0, &[0, 0, 0]), "0001-01-01");
        assert_eq!(text(kind::DATEN, 0, &3_652_058_u32.to_le_bytes()[..3]), "9999-12-31");
        assert_eq!(date_text(693_595), "1900-01-01");
        // 2008-02-29 12:34:56.7 is day 733,100 since 0001-01-01.
        let mut bytes = 452_967_u32.to_le_bytes()[..3].to_vec();
        bytes.extend(&733_100_u32.to_le_bytes()[..3]);
        assert_eq!(text(kind::DATETIME2N, 1, &bytes), "2008-02-29 12:34:56.7");
        let day = (733_100 - 693_595_i32).to_le_bytes();
        let ticks = (45_296_u32 * 300 + 1).to_le_bytes();
        assert_eq!(text(kind::DATETIME, 0, &[day, ticks].concat()), "2008-02-29 12:34:56.003");
        assert_eq!(text(kind::DATETIMN, 0, &[1, 0, 61, 0]), "1900-01-02 01:01:00.000");
    }

    #[test]
    fn texts_and_bytes_are_distinguished() {
        assert_eq!(text(kind::NVARCHAR, 0, b"\xe9\x00t\x00"), "ét");
        assert_eq!(text(kind::BIGCHAR, 0, b"\xe9t"), "ét");
        assert_eq!(text(kind::BIGVARBINARY, 0, &[1, 0xab]), "0x01AB");
        let guid = [0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff];
        assert_eq!(text(kind::GUID, 0, &guid), "00112233-4455-6677-8899-AABBCCDDEEFF");
        assert!(decode(&TypeInfo::new(kind::INTN), &[1, 2, 3]).is_err());
    }

    #[test]
    fn a_variant_says_what_it_is() {
        assert_eq!(parse_variant(&[kind::INT4, 0, 7, 0, 0, 0]).unwrap(), Cell::Int(7));
        assert_eq!(
            parse_variant(&[kind::NVARCHAR, 7, 0, 0, 0, 0, 0, 0, 0, b'a', 0]).unwrap(),
            Cell::Text("a".to_owned())
        );
        assert!(parse_variant(&[kind::NVARCHAR, 200]).is_err());
    }
}
