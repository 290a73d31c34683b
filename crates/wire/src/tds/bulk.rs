//! Bulk copy: rows as the server itself would send them, in one message.

use crate::{Result, Value, WireError};

use super::Column;
use super::packet::{self, END_OF_MESSAGE, HEADER_BYTES, Kind};
use super::types::{Framing, IN_PARTS, kind};

/// A message of rows that is being written, a packet after the other.
#[derive(Debug)]
pub struct Bulk {
    columns: Vec<Column>,
    payload: Vec<u8>,
    number: u8,
    packet_bytes: usize,
}

impl Bulk {
    /// `columns` as the server described them. `INSERT BULK` must have been accepted before.
    pub fn new(columns: Vec<Column>, packet_bytes: usize) -> Result<Self> {
        let mut payload = vec![0x81];
        payload.extend((columns.len() as u16).to_le_bytes());
        for (place, column) in columns.iter().enumerate() {
            payload.extend(0_u32.to_le_bytes());
            payload.extend(column.flags.to_le_bytes());
            payload.push(column.info.id);
            let length = column.info.length_bytes;
            match column.info.id {
                kind::INT1 | kind::BIT | kind::INT2 | kind::INT4 | kind::INT8 | kind::FLT4 | kind::FLT8 => {}
                kind::INTN | kind::BITN | kind::FLTN => payload.push(length as u8),
                kind::BIGCHAR | kind::BIGVARCHAR | kind::NCHAR | kind::NVARCHAR if length < IN_PARTS => {
                    payload.extend((length as u16).to_le_bytes());
                    payload.extend(column.info.collation);
                }
                kind::DECIMALN | kind::NUMERICN => {
                    payload.extend([length as u8, column.info.digits, column.info.scale]);
                }
                kind::DATETIME2N => payload.push(column.info.scale),
                id => return Err(WireError::NoBinaryForm { column: place, type_id: id.into() }),
            }
            payload.push(column.name.encode_utf16().count() as u8);
            super::cursor::write_utf16(&column.name, &mut payload);
        }
        Ok(Self { columns, payload, number: 0, packet_bytes })
    }

    /// Adds a row. [`WireError::NoBinaryForm`] for a value that its column cannot take, such as text beyond ASCII in a
    /// column of another code page.
    pub fn push_row(&mut self, values: &[Value<'_>]) -> Result<()> {
        if values.len() != self.columns.len() {
            return Err(WireError::ParameterCount { expected: self.columns.len(), given: values.len() });
        }
        self.payload.push(0xd1);
        for (index, (column, value)) in self.columns.iter().zip(values).enumerate() {
            write_cell(column, *value, &mut self.payload)
                .ok_or_else(|| WireError::NoBinaryForm { column: index, type_id: column.info.id.into() })?;
        }
        Ok(())
    }

    /// Moves full packets to `out`; the last one stays, even if it is full.
    pub fn drain(&mut self, out: &mut Vec<u8>) {
        let room = self.packet_bytes - HEADER_BYTES;
        let full = self.payload.len().saturating_sub(1) / room;
        for piece in self.payload.chunks(room).take(full) {
            self.number = self.number.wrapping_add(1);
            out.extend(packet::header(Kind::Bulk, 0, self.packet_bytes, self.number));
            out.extend_from_slice(piece);
        }
        self.payload.drain(..full * room);
    }

    /// Ends the rows, and moves the last packets to `out`. The answer counts the rows.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.payload.extend([0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        self.drain(out);
        let number = self.number.wrapping_add(1);
        out.extend(packet::header(Kind::Bulk, END_OF_MESSAGE, HEADER_BYTES + self.payload.len(), number));
        out.extend_from_slice(&self.payload);
    }
}

/// Appends a value as its column has it; `None` if the column cannot take it.
fn write_cell(column: &Column, value: Value<'_>, out: &mut Vec<u8>) -> Option<()> {
    let info = &column.info;
    let framing = info.framing();
    match (value, framing) {
        (Value::Null, Framing::Byte) => out.push(0),
        (Value::Null, Framing::Short) => out.extend([0xff, 0xff]),
        (Value::Text(text), Framing::Short) if matches!(info.id, kind::BIGCHAR | kind::BIGVARCHAR) => {
            let fits = text.is_ascii() && text.len() <= info.length_bytes as usize;
            fits.then_some(())?;
            out.extend((text.len() as u16).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        (Value::Text(text), Framing::Short) => {
            let length = 2 * text.encode_utf16().count();
            (length <= info.length_bytes as usize).then_some(())?;
            out.extend((length as u16).to_le_bytes());
            super::cursor::write_utf16(text, out);
        }
        (Value::Int(number), Framing::Fixed(count)) if !is_float(info.id) => write_whole(number, count, out)?,
        (Value::Int(number), Framing::Byte) if is_decimal(info.id) => {
            write_decimal(i128::from(number).checked_mul(units_of_one(info.scale)?)?, info.length_bytes, out)?;
        }
        (Value::Float(number), Framing::Byte) if is_decimal(info.id) => {
            let units = (number * units_of_one(info.scale)? as f64).round();
            (units.abs() < EXACT).then_some(())?;
            write_decimal(units as i128, info.length_bytes, out)?;
        }
        (Value::Text(text), Framing::Byte) if info.id == kind::DATETIME2N => write_moment(text, info.scale, out)?,
        (Value::Int(number), Framing::Byte) if !is_float(info.id) => {
            out.push(info.length_bytes as u8);
            write_whole(number, info.length_bytes as usize, out)?;
        }
        (Value::Int(number), _) if is_float(info.id) => return write_cell(column, Value::Float(number as f64), out),
        (Value::Float(number), Framing::Fixed(count)) if is_float(info.id) => write_float(number, count, out)?,
        (Value::Float(number), Framing::Byte) if is_float(info.id) => {
            out.push(info.length_bytes as u8);
            write_float(number, info.length_bytes as usize, out)?;
        }
        _ => return None,
    }
    Some(())
}

/// The first whole number, of those whose successor is no float: larger ones may not be exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn is_decimal(id: u8) -> bool {
    matches!(id, kind::DECIMALN | kind::NUMERICN)
}

fn units_of_one(scale: u8) -> Option<i128> {
    10_i128.checked_pow(scale.into())
}

/// A sign, and as many bytes as the column has.
fn write_decimal(units: i128, length_bytes: u32, out: &mut Vec<u8>) -> Option<()> {
    let bytes = units.unsigned_abs().to_le_bytes();
    let (digits, rest) = bytes.split_at_checked((length_bytes as usize).checked_sub(1)?)?;
    rest.iter().all(|byte| *byte == 0).then_some(())?;
    out.extend([length_bytes as u8, u8::from(units >= 0)]);
    out.extend_from_slice(digits);
    Some(())
}

/// Writes a time of the form `2026-01-31 12:34:56`: units of a second since midnight, and days since 0001-01-01.
fn write_moment(text: &str, scale: u8, out: &mut Vec<u8>) -> Option<()> {
    let numbers: Vec<u64> = text.split(['-', ' ', ':']).map(str::parse).collect::<std::result::Result<_, _>>().ok()?;
    let &[year @ 1..=9999, month @ 1..=12, day @ 1..=31, hour @ 0..=23, minute @ 0..=59, second @ 0..=59] =
        &numbers[..]
    else {
        return None;
    };
    // As in `super::cell`, years begin in March, and the first of them 306 days before.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let days = days.checked_sub(306)?;
    let units = (hour * 3600 + minute * 60 + second) * u64::try_from(units_of_one(scale)?).ok()?;
    let time_bytes = match scale {
        0..=2 => 3,
        3 | 4 => 4,
        5..=7 => 5,
        _ => return None,
    };
    out.push(time_bytes as u8 + 3);
    out.extend_from_slice(&units.to_le_bytes()[..time_bytes]);
    out.extend_from_slice(&days.to_le_bytes()[..3]);
    Some(())
}

/// Tests whether a type is a floating-point number.
fn is_float(id: u8) -> bool {
    matches!(id, kind::FLT4 | kind::FLT8 | kind::FLTN)
}

fn write_whole(number: i64, count: usize, out: &mut Vec<u8>) -> Option<()> {
    let fits = match count {
        1 => u8::try_from(number).is_ok(),
        2 => i16::try_from(number).is_ok(),
        4 => i32::try_from(number).is_ok(),
        count => count == 8,
    };
    fits.then(|| out.extend_from_slice(&number.to_le_bytes()[..count]))
}

fn write_float(number: f64, count: usize, out: &mut Vec<u8>) -> Option<()> {
    match count {
        4 => out.extend((number as f32).to_le_bytes()),
        8 => out.extend(number.to_le_bytes()),
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tds::{Scan, Scanner, Sink, TypeInfo};

    fn column(name: &str, id: u8, length_bytes: u32) -> Column {
        let info = TypeInfo { length_bytes, collation: [9, 4, 0xd0, 0, 0x34], ..TypeInfo::new(id) };
        Column { name: name.to_owned(), info, flags: 9 }
    }

    #[derive(Default)]
    struct Rows(Vec<Vec<Option<String>>>);

    impl Sink for Rows {
        fn row(&mut self, row: crate::tds::Row<'_>) -> Result<()> {
            self.0.push(row.cells()?.into_iter().map(crate::tds::Cell::to_text).collect());
            Ok(())
        }
    }

    /// The rows' cells, after what was drained.
    fn read_back(bulk: Bulk, mut out: Vec<u8>) -> Vec<String> {
        bulk.finish(&mut out);
        // A server's packets are of another kind.
        let mut at = 0;
        while at < out.len() {
            assert_eq!(out[at], Kind::Bulk as u8);
            out[at] = Kind::Reply as u8;
            at += usize::from(u16::from_be_bytes([out[at + 2], out[at + 3]]));
        }
        let mut rows = Rows::default();
        let mut scanner = Scanner::new(crate::Limits::default(), 512, [0; 5]);
        assert_eq!(scanner.scan(&out, &mut rows).unwrap(), Scan::Ready { consumed: out.len() });
        let text = |cell: Option<String>| cell.unwrap_or_else(|| "NULL".to_owned());
        rows.0.into_iter().map(|row| row.into_iter().map(text).collect::<Vec<_>>().join(" ")).collect()
    }

    /// Our own scanner reads back what a client copies, since it has the form of what a server sends.
    #[test]
    fn rows_are_written_as_a_server_would_send_them() {
        let columns = vec![
            column("aid", kind::INT4, 0),
            column("bid", kind::INTN, 4),
            column("filler", kind::BIGCHAR, 84),
            column("x", kind::FLTN, 8),
        ];
        let mut bulk = Bulk::new(columns, 512).unwrap();
        let mut out = Vec::new();
        for number in 0..100 {
            let bid = if number % 2 == 0 { Value::Null } else { Value::Int(-number) };
            bulk.push_row(&[Value::Int(number), bid, Value::Text("it's"), Value::Float(0.5)]).unwrap();
            bulk.drain(&mut out);
        }
        let rows = read_back(bulk, out);
        assert_eq!(rows.len(), 100);
        assert_eq!((rows[99].as_str(), rows[98].as_str()), ("99 -99 it's 0.5", "98 NULL it's 0.5"));
    }

    #[test]
    fn decimals_and_moments_are_read_back_as_they_were_written() {
        fn column(id: u8, length_bytes: u32, digits: u8, scale: u8) -> Column {
            let info = TypeInfo { length_bytes, digits, scale, ..TypeInfo::new(id) };
            Column { name: "x".to_owned(), info, flags: 9 }
        }
        let columns = vec![
            column(kind::DECIMALN, 5, 5, 2),
            column(kind::NUMERICN, 9, 12, 2),
            column(kind::DECIMALN, 5, 4, 4),
            column(kind::DATETIME2N, 0, 0, 6),
            column(kind::DATETIME2N, 0, 0, 0),
        ];
        let mut bulk = Bulk::new(columns, 512).unwrap();
        let (first, last) = (Value::Text("0001-01-01 00:00:00"), Value::Text("9999-12-31 23:59:59"));
        let leap = Value::Text("2024-02-29 12:34:56");
        bulk.push_row(&[Value::Float(1.1), Value::Int(-300_000), Value::Float(0.2899), leap, leap]).unwrap();
        bulk.push_row(&[Value::Float(-999.99), Value::Float(9_999_999_999.99), Value::Int(0), first, last]).unwrap();
        bulk.push_row(&[Value::Null, Value::Null, Value::Null, Value::Null, Value::Text("2026-03-01 00:00:00")])
            .unwrap();
        let rows = read_back(bulk, Vec::new());
        assert_eq!(rows[0], "1.10 -300000.00 0.2899 2024-02-29 12:34:56.000000 2024-02-29 12:34:56");
        assert_eq!(rows[1], "-999.99 9999999999.99 0.0000 0001-01-01 00:00:00.000000 9999-12-31 23:59:59");
        assert_eq!(rows[2], "NULL NULL NULL NULL 2026-03-01 00:00:00");
        for wrong in ["2026-13-01 00:00:00", "2026-01-01", "noon"] {
            let mut bulk = Bulk::new(vec![column(kind::DATETIME2N, 0, 0, 6)], 512).unwrap();
            assert!(bulk.push_row(&[Value::Text(wrong)]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut bulk = Bulk::new(vec![column("c", kind::BIGCHAR, 3)], 512).unwrap();
        for text in ["é", "long"] {
            assert!(matches!(bulk.push_row(&[Value::Text(text)]), Err(WireError::NoBinaryForm { column: 0, .. })));
        }
        assert!(Bulk::new(vec![column("g", kind::UDT, 0)], 512).is_err());
        let mut narrow = Bulk::new(vec![column("c", kind::INTN, 4)], 512).unwrap();
        assert!(narrow.push_row(&[Value::Int(1 << 40)]).is_err());
    }
}
