//! What statements have cost: the digests of the Performance Schema.
//!
//! <https://dev.mysql.com/doc/refman/8.0/en/performance-schema-statement-summary-tables.html>

use load::error::{Failure, FailureKind};
use workloads::queries::{Remembered, StatementStatistics};
use workloads::session::{Session, datum_number, datum_text};

/// Statements that are read.
const MOST: usize = 1_000;
/// Bytes of a text and of a digest that are kept where the server does not say how many.
const USUAL_LIMIT: f64 = 1_024.0;
/// A name of 64 letters. A digest ends before the token that it has no room for.
const LONGEST_TOKEN_BYTES: f64 = 68.0;

pub(super) struct Digests;

impl StatementStatistics for Digests {
    fn display_name(&self) -> &'static str {
        "performance_schema"
    }

    /// Says whose values the statements have, for the user.
    fn where_values_come_from(&self) -> &'static str {
        "MySQL 8 keeps the values of one execution, unless the statement was prepared; MariaDB those of the last 10,000 after \
         `UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_statements_%'`"
    }

    /// Reads the statements that the server has run most, with their calls and times.
    fn read_statements(&self, session: &mut dyn Session) -> Result<Vec<Remembered>, Failure> {
        check_statistics(session)?;
        let limits = session.query(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('performance_schema_max_sql_text_length', \
             'performance_schema_max_digest_length', 'max_digest_length')",
        )?;
        let limit = |ending: &str| {
            let of_kind = limits.iter().filter(|row| datum_text(row.first()).ends_with(ending));
            of_kind.filter_map(|row| datum_number(row.get(1))).fold(USUAL_LIMIT, f64::min)
        };
        let (longest_text, longest_digest) = (limit("sql_text_length"), limit("digest_length"));
        let samples = session
            .query("SHOW COLUMNS FROM performance_schema.events_statements_summary_by_digest LIKE 'QUERY_SAMPLE_TEXT'");
        let rows =
            session.query(&statements_sql(!samples.map_err(explain_denial)?.is_empty())).map_err(explain_denial)?;
        let read = rows.iter().map(|row| {
            let [digest, calls, total_ps, sample, bytes, is_about_server] =
                std::array::from_fn(|column| datum_text(row.get(column)));
            let is_whole = !sample.is_empty() && bytes.parse::<f64>().is_ok_and(|bytes| bytes < longest_text);
            Remembered {
                is_cut: !is_whole && digest_bytes(&digest) + LONGEST_TOKEN_BYTES > longest_digest,
                text: Some(if is_whole { sample } else { statement_from_digest(&digest) }),
                statements: 1,
                is_about_server: is_about_server == "1",
                calls: calls.parse().unwrap_or_default(),
                total_s: total_ps.parse::<f64>().unwrap_or_default() / 1e12,
            }
        });
        Ok(read.collect())
    }
}

/// Fails, and says what to type, if something keeps digests from being read.
///
/// # Errors
/// It is named, with what to type.
fn check_statistics(session: &mut dyn Session) -> Result<(), Failure> {
    let refuse = |cause: &str, hint: &str| {
        Err(Failure::new(FailureKind::Missing, "read the statements of `performance_schema`", cause).with_hint(hint))
    };
    let rows = session.query("SELECT @@performance_schema, DATABASE()")?;
    let row = rows.first().map(Vec::as_slice).unwrap_or_default();
    if datum_number(row.first()) != Some(1.0) {
        return refuse(
            "it is off, so the server keeps no statistics of statements",
            "write `performance_schema = ON` into the option file of the server, restart it, and wait until its usual \
             statements have been run",
        );
    }
    if datum_text(row.get(1)).is_empty() {
        return refuse("the URL names no database", "write it behind the address: `mysql://USER@HOST/DATABASE`");
    }
    let kept = session
        .query("SELECT ENABLED FROM performance_schema.setup_consumers WHERE NAME = 'statements_digest'")
        .map_err(explain_denial)?;
    if kept.first().is_some_and(|row| datum_text(row.first()) == "NO") {
        return refuse(
            "the server does not sum them up",
            "run `UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'statements_digest'`, and wait \
             until the usual statements have been run",
        );
    }
    Ok(())
}

/// Adds to a failure what lets the account read the statistics.
fn explain_denial(failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::Permission => {
            failure.with_hint("let the account read them: `GRANT SELECT ON performance_schema.* TO …`")
        }
        _ => failure,
    }
}

/// Makes the query for the digests of most time, with a text for each.
/// Where the server keeps no samples, a text that a session has run lately stands for one: MariaDB has these if its consumer
/// `events_statements_history_long` is on.
fn statements_sql(has_samples: bool) -> String {
    let (sample, join) = if has_samples {
        ("d.QUERY_SAMPLE_TEXT", "")
    } else {
        (
            "h.sample",
            "LEFT JOIN (SELECT DIGEST, CURRENT_SCHEMA, max(SQL_TEXT) sample \
             FROM performance_schema.events_statements_history_long GROUP BY DIGEST, CURRENT_SCHEMA) h \
             ON h.DIGEST = d.DIGEST AND h.CURRENT_SCHEMA = d.SCHEMA_NAME",
        )
    };
    format!(
        "SELECT d.DIGEST_TEXT, d.COUNT_STAR, d.SUM_TIMER_WAIT, {sample}, octet_length({sample}), \
         concat_ws(' ', d.DIGEST_TEXT, {sample}) REGEXP \
         '@@|(FROM|JOIN) +`?(performance_schema|information_schema|mysql|sys)`? *[.]|SELECT `?(GET|RELEASE)_LOCK' \
         FROM performance_schema.events_statements_summary_by_digest d {join} \
         WHERE d.SCHEMA_NAME = DATABASE() AND d.DIGEST_TEXT IS NOT NULL ORDER BY d.SUM_TIMER_WAIT DESC LIMIT {MOST}"
    )
}

/// Room in bytes that a digest takes: two for each token, and for a name two more and its letters.
fn digest_bytes(digest: &str) -> f64 {
    let tokens = digest.split_whitespace();
    tokens.map(|token| if token.starts_with('`') { token.len() + 2 } else { 2 }).sum::<usize>() as f64
}

/// Writes a digest as a statement.
/// It has one `?` for the values of a list, and no blank before a parenthesis, which calls of functions do not take.
fn statement_from_digest(digest: &str) -> String {
    digest.replace("(...) /* , ... */", "(?)").replace("(...)", "(?)").replace(" (", "(")
}
