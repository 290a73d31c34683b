//! What server systems share.

mod claim;
pub(crate) mod connector;
pub(crate) mod control;
pub(crate) mod copies;
pub(crate) mod counted;
pub mod dialogue;
mod load_settings;
pub(crate) mod no_recipe;
pub(crate) mod parts;
pub(crate) mod private;
pub(crate) mod procedures;
pub(crate) mod refusal;
pub(crate) mod reset;
pub(crate) mod restored;
pub(crate) mod settings;
pub(crate) mod side_by_side;
pub(crate) mod steps;
pub(crate) mod system;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod tls;
mod trial;
pub(crate) mod url;

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::net::IpAddr;
use std::ops::Range;
use std::time::Duration;

use host::reactor::{Choice, Reactor, Vigilance};
use model::SystemPlan;

use dialogue::{AskError, Client, WireProtocol};
use load::datum::Datum;
use load::error::{Failure, FailureKind};
use load::generator::{ThreadLimit, share_clients};
use workloads::contents::{Contents, Rows};
use workloads::dataset::{Dataset, Dialect};

/// What helps where a server takes no more connections.
pub(crate) const TOO_MANY: &str = "raise `max_connections` on the server, ask for fewer clients, or let them share connections: \
                                   `pool.size`";
/// The end of a hint, where one account may have no more connections.
pub(crate) const FEWER: &str = "ask for fewer clients, or let them share connections: `pool.size`";

/// Large enough that system calls do not count.
const PIECE_BYTES: usize = 64 * 1024;

/// Shares clients among the threads of a reactor: one per core is best.
pub(crate) fn reactor_workers(clients: Range<u32>, threads: ThreadLimit) -> Vec<Range<u32>> {
    match threads {
        ThreadLimit::Best => share_clients(clients, host::cpu::available_cores() as u32),
        ThreadLimit::AtMost(count) => share_clients(clients, count),
    }
}

/// Names the reactor that a choice gives here; fails if it is not available.
pub(crate) fn reactor_kind(choice: Choice) -> Result<String, String> {
    Reactor::new(choice, 1).map(|one| one.kind().to_owned()).map_err(|error| error.to_string())
}

/// Appends a row to `text` as a line, tab-separated, as `COPY` and `LOAD DATA` read it.
/// PostgreSQL's `COPY` and MySQL's `LOAD DATA` read the same by default.
///
/// <https://www.postgresql.org/docs/current/sql-copy.html#id-1.9.3.55.9.2>,
/// <https://dev.mysql.com/doc/refman/8.4/en/load-data.html>
fn write_row(row: &[Datum], text: &mut String) {
    for (place, datum) in row.iter().enumerate() {
        if place > 0 {
            text.push('\t');
        }
        let _ = match datum {
            Datum::Null => text.write_str("\\N"),
            Datum::Int(n) => write!(text, "{n}"),
            Datum::Double(x) => write!(text, "{x}"),
            Datum::Text(value) => {
                escape_into(value, text);
                Ok(())
            }
        };
    }
    text.push('\n');
}

/// Appends a value to `text`, with tab, line end and backslash escaped.
fn escape_into(value: &str, text: &mut String) {
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

/// Makes a function that appends the next piece of a table's rows to a text; `false` at the end.
/// The rows have [`write_row`]'s format.
pub(crate) fn piece_writer(rows: &mut Rows<'_>) -> impl FnMut(&mut String) -> bool {
    let mut row: Vec<Datum> = Vec::new();
    move |piece| {
        while piece.len() < PIECE_BYTES && rows.next_into(&mut row) {
            write_row(&row, piece);
        }
        !rows.are_over()
    }
}

/// Reads the tables back, and fails if they are not what was sent. `asked` makes a failure of one in answering.
pub(crate) fn check_tables_as_sent<P: WireProtocol>(
    client: &mut Client<P>,
    data: &Dataset,
    dialect: &dyn Dialect,
    sent: &Contents,
    asked: impl Fn(AskError<P::Error>) -> Failure,
) -> Result<(), Failure> {
    let found = Contents::read_by(data, dialect, |sql| {
        let rows = client.query_text_rows(sql)?;
        Ok(rows.into_iter().next().unwrap_or_default().into_iter().map(text_datum).collect())
    });
    sent.verify_found(data, &found.map_err(asked)?)
}

/// Converts a text to a datum; `None` is `NULL`.
pub(crate) fn text_datum(value: Option<String>) -> Datum {
    value.map_or(Datum::Null, |text| Datum::Text(Cow::Owned(text)))
}

/// Appends a row to an `INSERT`, with a trailing comma. `literal` quotes a text.
pub(crate) fn write_values(row: &[Datum], literal: impl Fn(&str) -> String, sql: &mut String) {
    sql.push('(');
    for (place, datum) in row.iter().enumerate() {
        if place > 0 {
            sql.push(',');
        }
        let _ = match datum {
            Datum::Null => sql.write_str("NULL"),
            Datum::Int(n) => write!(sql, "{n}"),
            Datum::Double(x) => write!(sql, "{x:e}"),
            Datum::Text(value) => sql.write_str(&literal(value)),
        };
    }
    sql.push_str("),");
}

/// Hashes a text by FNV-1a, 64 bits: <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>.
pub(crate) fn fnv1a_64(text: &str) -> u64 {
    text.as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// Draws a password of 128 random bits.
pub(crate) fn random_password() -> String {
    // Each `RandomState` has its own keys, seeded by the operating system.
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

/// Timeouts of TCP connections to a server that has vanished.
pub(crate) const VIGILANCE: Vigilance = Vigilance {
    user_timeout: Some(Duration::from_secs(30)),
    keepalive_idle: Some(Duration::from_secs(10)),
    keepalive_interval: Some(Duration::from_secs(5)),
    keepalive_retries: Some(4),
};

pub(crate) const LOOPBACK: &str = "127.0.0.1";

/// Tests whether a name or an address can mean this host only.
pub(crate) fn is_this_host(host: &str) -> bool {
    host == "localhost" || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Makes the plan's system for other hosts: the same URL without its password, which they have themselves.
pub(crate) fn plan_by_url(system: &SystemPlan) -> Result<SystemPlan, Failure> {
    Ok(SystemPlan { url: model::plan::without_password(&system.url), ..system.clone() })
}

/// Makes the plan's system by which other hosts load a private server; fails if it has no URL for them.
pub(crate) fn plan_for_private(system: &SystemPlan, url: Option<String>) -> Result<SystemPlan, Failure> {
    let Some(url) = url else {
        let cause = "étalon's private server listens to its own host alone";
        return Err(Failure::new(FailureKind::Unsupported, format!("load `{}` from other hosts", system.name), cause)
            .with_hint(
                "write `connect = \"tcp\"`, and start the agent on its host with `--listen ADDRESS`, by which the others \
                 reach it",
            ));
    };
    // How its tables come back is the matter of the host that has started it.
    Ok(SystemPlan { url, server: None, settings: Default::default(), reset: None, ..system.clone() })
}

/// Reads a whole number from an answer: 0 for `NULL` or no row.
pub(crate) fn parse_whole_number(answer: &str, tried: &str) -> Result<i64, Failure> {
    if answer.is_empty() {
        return Ok(0);
    }
    // Sums of decimals have their digits after the point, too.
    let (whole, fraction) = answer.split_once('.').unwrap_or((answer, ""));
    let is_whole = fraction.bytes().all(|digit| digit == b'0');
    let number = if is_whole { whole.parse().ok() } else { None };
    number.ok_or_else(|| Failure::new(FailureKind::Verification, tried, format!("`{answer}` is not a whole number")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_servers_read_them() {
        let mut text = String::new();
        let value = Datum::Text(Cow::Borrowed("a\tb\\c\nd\re"));
        write_row(&[Datum::Int(-1), Datum::Null, Datum::Double(0.5), value], &mut text);
        assert_eq!(text, "-1\t\\N\t0.5\ta\\tb\\\\c\\nd\\re\n");
    }
}
