//! Tokens of answers.

use std::time::Duration;

#[derive(Clone, Debug)]
pub enum Reply {
    /// Tokens, and the end of the answer.
    Tokens(Vec<u8>),
    /// These bytes as they are.
    Raw(Vec<u8>),
    Close,
    Silence,
    /// Tokens, after a delay.
    Later(Duration, Vec<u8>),
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn sized(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u16).to_le_bytes(), body].concat()
}

pub fn message(tag: u8, number: i32, state: u8, class: u8, text: &str) -> Vec<u8> {
    let mut body = number.to_le_bytes().to_vec();
    body.extend([state, class]);
    body.extend((text.encode_utf16().count() as u16).to_le_bytes());
    body.extend(utf16(text));
    body.extend([4]);
    body.extend(utf16("mock"));
    body.extend([0, 1, 0, 0, 0]);
    sized(tag, &body)
}

pub fn done(tag: u8, status: u16, rows: u64) -> Vec<u8> {
    // `SELECT`; a call ends as `EXECUTE`, as a SQL Server has it.
    let command = if tag == 0xfe { 0xe0 } else { 0xc1 };
    [&[tag][..], &status.to_le_bytes(), &[command, 0], &rows.to_le_bytes()].concat()
}

pub fn error(number: i32, state: u8, class: u8, text: &str) -> Reply {
    Reply::Tokens([message(0xaa, number, state, class, text), done(0xfd, 2, 0)].concat())
}

pub fn info(number: i32, text: &str) -> Vec<u8> {
    message(0xab, number, 1, 0, text)
}

pub fn touched(rows: u64) -> Vec<u8> {
    // `UPDATE`, as of every statement that changes rows.
    [&[0xfd, 0x10, 0, 0xc5, 0][..], &rows.to_le_bytes()].concat()
}

/// A result of texts; columns whose names begin with `#` hold whole numbers.
pub fn result(columns: &[&str], rows: &[&[Option<&str>]]) -> Vec<u8> {
    let mut out = vec![0x81];
    out.extend((columns.len() as u16).to_le_bytes());
    for name in columns {
        out.extend([0, 0, 0, 0, 9, 0]);
        match name.strip_prefix('#') {
            Some(_) => out.extend([0x26, 8]),
            None => out.extend([0xe7, 0x40, 0x1f, 9, 4, 0xd0, 0, 0x34]),
        }
        let name = name.trim_start_matches('#');
        out.push(name.encode_utf16().count() as u8);
        out.extend(utf16(name));
    }
    for row in rows {
        out.push(0xd1);
        for (name, value) in columns.iter().zip(*row) {
            match (name.starts_with('#'), value) {
                (true, None) => out.push(0),
                (true, Some(value)) => {
                    out.push(8);
                    out.extend(value.parse::<i64>().unwrap().to_le_bytes());
                }
                (false, None) => out.extend([0xff, 0xff]),
                (false, Some(value)) => {
                    out.extend((2 * value.encode_utf16().count() as u16).to_le_bytes());
                    out.extend(utf16(value));
                }
            }
        }
    }
    out.extend(done(0xfd, 0x10, rows.len() as u64));
    out
}

/// What a call of a prepared statement returns: its handle first, if it is new.
pub fn returned(handle: Option<i32>, statement: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(statement);
    out.extend([0x79, 0, 0, 0, 0]);
    if let Some(handle) = handle {
        out.extend([0xac, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x26, 4, 4]);
        out.extend(handle.to_le_bytes());
    }
    out.extend(done(0xfe, 0, 0));
    out
}

/// Turns a statement's tokens into those inside a call.
pub fn inside(mut statement: Vec<u8>) -> Vec<u8> {
    // The last token is "DONE", of 13 bytes.
    let at = statement.len() - 13;
    statement[at] = 0xff;
    statement[at + 1] |= 1;
    statement
}

pub fn transaction(kind: u8) -> Vec<u8> {
    let descriptor = [1, 0, 0, 0, 0x2a, 0, 0, 0];
    match kind {
        8 => sized(0xe3, &[&[8, 8][..], &descriptor, &[0]].concat()),
        kind => sized(0xe3, &[&[kind, 0, 8][..], &descriptor].concat()),
    }
}

/// "LOGINACK", a packet's size, a collation.
pub fn welcome(packet_bytes: usize) -> Vec<u8> {
    let mut body = vec![1, 0x74, 0, 0, 4];
    let name = "Microsoft SQL Server";
    body.push(name.len() as u8);
    body.extend(utf16(name));
    body.extend([16, 0, 0x10, 0x3c]);
    let mut out = sized(0xad, &body);
    let size = packet_bytes.to_string();
    let change = [&[4, size.len() as u8][..], &utf16(&size), &[4], &utf16("4096")].concat();
    out.extend(sized(0xe3, &change));
    out.extend(sized(0xe3, &[7, 5, 9, 4, 0xd0, 0, 0x34, 0]));
    out.extend(message(0xab, 5701, 2, 0, "Changed database context to 'master'."));
    out.extend(done(0xfd, 0, 0));
    out
}
