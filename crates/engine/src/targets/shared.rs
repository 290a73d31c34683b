//! What the control planes of several servers need alike.

use std::fmt::Write as _;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::TcpListener;
use std::path::Path;

use model::SystemPlan;

use crate::dataset::Datum;
use crate::error::{Failure, FailureKind};

/// Undoes a URL's percent-encoding.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn decode_percent(text: &str) -> Result<String, &'static str> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        rest = tail;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or("after `%` two hexadecimal digits are expected; `%` itself is `%25`")?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| "its decoded text is not UTF-8")
}

/// A row as text between tabs: `COPY` of PostgreSQL and `LOAD DATA` of MySQL read the same by default.
///
/// <https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2>,
/// <https://dev.mysql.com/doc/refman/8.4/en/load-data.html>
pub(crate) fn write_row(row: &[Datum], text: &mut String) {
    for (place, datum) in row.iter().enumerate() {
        if place > 0 {
            text.push('\t');
        }
        // Writing to a `String` cannot fail.
        let _ = match datum {
            Datum::Null => text.write_str("\\N"),
            Datum::Int(n) => write!(text, "{n}"),
            Datum::Double(x) => write!(text, "{x}"),
            Datum::Text(value) => {
                escape(value, text);
                Ok(())
            }
        };
    }
    text.push('\n');
}

fn escape(value: &str, text: &mut String) {
    if !value.contains(['\\', '\t', '\n', '\r']) {
        return text.push_str(value);
    }
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '\t' => text.push_str("\\t"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
}

/// A row as `INSERT` takes it, with the comma behind it. `literal` quotes a text.
pub(crate) fn write_values(row: &[Datum], literal: impl Fn(&str) -> String, sql: &mut String) {
    sql.push('(');
    for (place, datum) in row.iter().enumerate() {
        if place > 0 {
            sql.push(',');
        }
        // Writing to a `String` cannot fail.
        let _ = match datum {
            Datum::Null => sql.write_str("NULL"),
            Datum::Int(n) => write!(sql, "{n}"),
            Datum::Double(x) => write!(sql, "{x:e}"),
            Datum::Text(value) => sql.write_str(&literal(value)),
        };
    }
    sql.push_str("),");
}

/// A password that nobody guesses.
pub(crate) fn random_password() -> String {
    // Each `RandomState` hashes with keys of its own, seeded by the operating system.
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// The address of this host alone.
pub(crate) const LOOPBACK: &str = "127.0.0.1";

/// A TCP port on an address of this host that is free now.
pub(crate) fn free_port_at(host: &str) -> Result<u16, Failure> {
    let bound = TcpListener::bind((host, 0)).and_then(|listener| listener.local_addr());
    bound.map(|address| address.port()).map_err(|error| Failure::new(FailureKind::Other, "find a free port", error))
}

/// A server with a URL, as other hosts reach it: each takes a password from its own environment.
pub(crate) fn reach_by_url(system: &SystemPlan) -> Result<SystemPlan, Failure> {
    Ok(SystemPlan { url: model::plan::without_password(&system.url), ..system.clone() })
}

/// A private server that other hosts cannot reach.
pub(crate) fn listens_to_its_own_host(system: &SystemPlan) -> Failure {
    let cause = "étalon's private server listens to its own host alone";
    Failure::new(FailureKind::Unsupported, format!("load `{}` from other hosts", system.name), cause).hint(
        "write `connect = \"tcp\"`, and start the agent on its host with `--listen ADDRESS`, by which the others reach it",
    )
}

/// The whole number that a query gave as text; 0 for `NULL` or no row.
pub(crate) fn whole_number(answer: &str, tried: &str) -> Result<i64, Failure> {
    if answer.is_empty() {
        return Ok(0);
    }
    let wrong = |_| Failure::new(FailureKind::Verification, tried, format!("`{answer}` is not a whole number"));
    answer.parse().map_err(wrong)
}

/// How long a log is, in bytes; 0 if there is none.
pub(crate) fn log_length(log: &Path) -> u64 {
    fs::metadata(log).map(|metadata| metadata.len()).unwrap_or_default()
}

/// What has been written to the log since it was so long.
pub(crate) fn log_since(log: &Path, length_bytes: u64) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(bytes.get(length_bytes as usize..).unwrap_or_default()).into_owned()
}

/// What to do about a full device under a private server.
pub(crate) const FULL_HINT: &str =
    "free space on the device that holds étalon's private servers, or put them on another";

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    #[test]
    fn rows_are_written_as_servers_read_them() {
        let mut text = String::new();
        let value = Datum::Text(Cow::Borrowed("a\tb\\c\nd\re"));
        write_row(&[Datum::Int(-1), Datum::Null, Datum::Double(0.5), value], &mut text);
        assert_eq!(text, "-1\t\\N\t0.5\ta\\tb\\\\c\\nd\\re\n");
    }
}
