//! Queries out of a server's own statistics: a folder of files, as people write them by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::cache::without_rewording;
use super::source::{READING, WordAt, piece_length, split_words, writing_word};
use crate::dataset::Dialect;
use crate::session::Session;
use load::error::Failure;

/// A folder below that of the queries, for statements without values.
const FORMS: &str = "forms";
/// The kind of statements whose texts the login may not see.
const HIDDEN: &str = "of other roles, hidden from this login";
/// Letters of a table's name in a file's.
const SHORT_NAME: usize = 24;

/// A statement as a server's statistics have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// Its text with the values of one execution, or with the dialect's placeholders. `None`: the login may not see it.
    pub text: Option<String>,
    /// Number of statements that it stands for: several where their texts are hidden.
    pub statements: usize,
    /// The server kept only the beginning of the text.
    pub is_cut: bool,
    /// It asks the server's own catalogue.
    pub is_about_server: bool,
    pub calls: f64,
    pub total_s: f64,
}

/// An engine's statistics of the statements that it has executed.
pub trait StatementStatistics: Sync {
    /// What a person calls the statistics.
    fn display_name(&self) -> &'static str;

    /// Says where values for a statement's parameters come from, for those who miss some.
    fn where_values_come_from(&self) -> &'static str;

    /// Says what to do to see the statements of other roles; empty if nothing is to be done.
    fn how_to_see_all(&self) -> &'static str {
        ""
    }

    /// Reads the statements of the session's database since the statistics were reset, those that took most time first.
    ///
    /// # Errors
    /// They are not kept, or the login may not read them: with what to type.
    fn read_statements(&self, session: &mut dyn Session) -> Result<Vec<Remembered>, Failure>;
}

/// What becomes of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// It can be asked as it is.
    Query,
    /// Values of its parameters are missing.
    Form,
    /// Its end is missing.
    Cut,
}

impl LeftOut {
    /// Whether statements were left out because the login may not see them.
    pub fn is_hidden(&self) -> bool {
        self.kind == HIDDEN
    }
}

impl Use {
    /// Word for what becomes of a statement: `query`, `form` or `cut`.
    pub fn as_str(self) -> &'static str {
        match self {
            Use::Query => "query",
            Use::Form => "form",
            Use::Cut => "cut",
        }
    }
}

/// One of the statements that took most time.
#[derive(Clone, Debug, PartialEq)]
pub struct Picked {
    /// Path of its file below the folder, without the ending.
    pub path: String,
    pub becomes: Use,
    pub calls: f64,
    pub total_s: f64,
    /// Its share of the time of all statements.
    pub share: f64,
    /// The file's text.
    pub text: String,
    /// Names of the parameters whose values are missing.
    pub parameters: Vec<String>,
}

/// Statements of one kind that are not queries.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    pub kind: String,
    pub statements: usize,
    pub share: f64,
}

/// What is written, and what is not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picking {
    pub picked: Vec<Picked>,
    /// The kinds, the most time first.
    pub left_out: Vec<LeftOut>,
    /// Queries behind the last one that was picked.
    pub more: usize,
}

/// Picks the queries that took most time, at most `most`, and counts the statements that are left out, by kind.
pub fn pick_slowest(statements: &[Remembered], most: usize, dialect: &dyn Dialect) -> Picking {
    let all_s: f64 = statements.iter().map(|statement| statement.total_s).sum();
    let mut picking = Picking::default();
    let mut left_out: BTreeMap<String, LeftOut> = BTreeMap::new();
    for statement in statements {
        let share = if all_s > 0.0 { statement.total_s / all_s } else { 0.0 };
        let kind = match (&statement.text, statement.is_about_server) {
            (None, _) => Some(HIDDEN.to_owned()),
            (_, true) => Some("about the server itself".to_owned()),
            (Some(text), false) => non_query_kind(text),
        };
        match (kind, &statement.text) {
            (None, Some(text)) if picking.picked.len() < most => {
                let rank = (picking.picked.len() + 1, most.min(statements.len()));
                picking.picked.push(pick_statement(statement, text, (rank, share), dialect));
            }
            (None, _) => picking.more += 1,
            (Some(kind), _) => {
                let counted = left_out.entry(kind.clone()).or_insert(LeftOut { kind, statements: 0, share: 0.0 });
                counted.statements += statement.statements;
                counted.share += share;
            }
        }
    }
    picking.left_out = left_out.into_values().collect();
    picking.left_out.sort_by(|one, other| other.share.total_cmp(&one.share));
    picking
}

/// Rank of a query by its time, from 1, and the number that there may be.
type Rank = (usize, usize);

/// Makes a query's file of a statement that was picked.
fn pick_statement(
    statement: &Remembered,
    text: &str,
    ((rank, of), share): (Rank, f64),
    dialect: &dyn Dialect,
) -> Picked {
    let text = &strip_remarks(text);
    let (named, count) = if statement.is_cut { (text.to_owned(), 0) } else { name_placeholders(text, dialect) };
    let becomes = match count {
        _ if statement.is_cut => Use::Cut,
        0 => Use::Query,
        _ => Use::Form,
    };
    let name = statement_name(text, rank, of);
    let parameters: Vec<String> = (1..=count).map(parameter_name).collect();
    Picked {
        path: if becomes == Use::Query { name.clone() } else { format!("{FORMS}/{name}") },
        text: file_text(statement, &named, (&name, becomes), share),
        becomes,
        calls: statement.calls,
        total_s: statement.total_s,
        share,
        parameters,
    }
}

/// Writes the text of a query's file, with remarks on its calls and times.
fn file_text(statement: &Remembered, sql: &str, (name, becomes): (&str, Use), share: f64) -> String {
    let mean_ms = statement.total_s * 1e3 / statement.calls.max(1.0);
    let mut text = format!(
        "-- calls {}, total {:.3} s, {:.1} % of the time of all statements, mean {mean_ms:.3} ms\n",
        statement.calls,
        statement.total_s,
        share * 100.0
    );
    match becomes {
        Use::Query => {}
        Use::Form => {
            let _ = writeln!(text, "-- parameters: {name}.csv");
        }
        Use::Cut => text.push_str("-- The server kept only the beginning of this text.\n"),
    }
    let _ = writeln!(text, "{}", sql.trim_end().trim_end_matches(';'));
    text
}

/// Name of a parameter by its number, such as `p1`.
fn parameter_name(number: usize) -> String {
    format!("p{number}")
}

/// Names a statement by its rank, from 1 to `of`, and the first table that it reads: `q03-orders`.
pub fn statement_name(sql: &str, rank: usize, of: usize) -> String {
    let width = of.max(10).to_string().len();
    let table = first_table(sql);
    if table.is_empty() { format!("q{rank:0width$}") } else { format!("q{rank:0width$}-{table}") }
}

/// Name of the table behind the first `FROM`, without schema, as letters, digits and `-`; empty if there is none.
fn first_table(sql: &str) -> String {
    let lower = sql.to_lowercase();
    let mut behind = lower.split_whitespace().skip_while(|word| *word != "from").skip(1);
    let mut name = behind.next().unwrap_or_default().to_owned();
    // A server may write `a` . `b`.
    if behind.next() == Some(".") {
        name = behind.next().unwrap_or_default().to_owned();
    }
    if name.starts_with('(') {
        return String::new();
    }
    let end = name.find([',', ';', '(', ')']).unwrap_or(name.len());
    let table = name[..end].rsplit('.').next().unwrap_or_default();
    let letters = table.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(SHORT_NAME);
    letters.collect::<String>().replace('_', "-")
}

/// Strips étalon's remark behind a statement, and the comment lines before it.
///
/// A program may put comments before its statement, which would be read as étalon's own.
fn strip_remarks(sql: &str) -> String {
    let sql = without_rewording(sql);
    let mut rest = sql.trim();
    while rest.starts_with("--") {
        rest = rest.split_once('\n').map_or("", |(_, behind)| behind).trim_start();
    }
    rest.to_owned()
}

/// Names the kind of a statement that is no query on tables; `None` for a query.
pub fn non_query_kind(sql: &str) -> Option<String> {
    let words = split_words(&strip_remarks(sql));
    let first = words.iter().find(|word| word.text != "(").map(|word| word.text.to_uppercase()).unwrap_or_default();
    if !READING.iter().any(|known| first.eq_ignore_ascii_case(known)) || matches!(first.as_str(), "SHOW" | "EXPLAIN") {
        return Some(first);
    }
    if let Some(word) = writing_word(sql, &words) {
        return Some(format!("SELECT … {}", word.to_uppercase()));
    }
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).map_or("", |before| words[before].text.as_str());
        match word.text.as_str() {
            "update" | "share" if matches!(before, "for" | "key") => return Some("SELECT … FOR UPDATE".to_owned()),
            "share" if before == "in" => return Some("SELECT … LOCK IN SHARE MODE".to_owned()),
            "insert" | "update" | "delete" | "merge" if starts_statement(&words, at) => {
                return Some(format!("{first} … {}", word.text.to_uppercase()));
            }
            _ => {}
        }
    }
    None
}

/// Whether a word begins a statement within one that begins with `WITH`.
fn starts_statement(words: &[WordAt], at: usize) -> bool {
    let is_with = words.first().is_some_and(|word| word.text == "with");
    is_with && (words[at].depth == 0 || at.checked_sub(1).is_some_and(|before| words[before].text == "("))
}

/// Replaces the dialect's placeholders in a statement by `:p1`, `:p2`, …; returns it and the number of parameters.
fn name_placeholders(sql: &str, dialect: &dyn Dialect) -> (String, usize) {
    let sign = dialect.placeholder(1);
    let prefix = sign.trim_end_matches('1');
    let is_numbered = prefix.len() < sign.len();
    let (mut named, mut rest, mut most) = (String::with_capacity(sql.len()), sql, 0_usize);
    while !rest.is_empty() {
        let digits = rest.strip_prefix(prefix).map(|behind| {
            let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            if is_numbered { &behind[..end] } else { "" }
        });
        let number = digits.and_then(|digits| {
            if is_numbered {
                digits.parse::<u16>().ok().filter(|number| *number > 0).map(usize::from)
            } else {
                Some(most + 1)
            }
        });
        let length = match (number, digits) {
            (Some(number), Some(digits)) => {
                most = most.max(number);
                // Two colons would be a change of type.
                named.push_str(if named.ends_with(':') { " :" } else { ":" });
                named.push_str(&parameter_name(number));
                prefix.len() + digits.len()
            }
            _ => {
                let length = piece_length(rest);
                named.push_str(&rest[..length]);
                length
            }
        };
        rest = &rest[length..];
    }
    (named, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Numbered;

    impl Dialect for Numbered {
        fn placeholder(&self, number: usize) -> String {
            format!("${number}")
        }
    }

    struct Bare;

    impl Dialect for Bare {
        fn placeholder(&self, _number: usize) -> String {
            "?".to_owned()
        }
    }

    fn statement(text: &str, total_s: f64) -> Remembered {
        Remembered { text: Some(text.to_owned()), statements: 1, calls: 4.0, total_s, ..Remembered::default() }
    }

    #[test]
    fn what_etalon_writes_behind_a_query_is_not_the_users() {
        let reworded = super::super::cache::make_wording_unique("-- theirs\nSELECT 1");
        assert_eq!(strip_remarks(&reworded), "SELECT 1");
        // A server that leaves out what stands behind a statement.
        assert_eq!(strip_remarks("seLEct a FrOm t WhEre b = $1"), "SELECT a FROM t WHERE b = $1");
        assert_eq!(strip_remarks("Select a from t"), "Select a from t");
    }

    #[test]
    fn queries_are_picked_by_time_and_the_rest_is_counted() {
        let statements = [
            statement("SELECT * FROM shop.orders WHERE day = $1", 5.0),
            statement("UPDATE orders SET a = $1", 3.0),
            Remembered { text: None, statements: 7, total_s: 0.5, ..Remembered::default() },
            Remembered { is_about_server: true, ..statement("SELECT 1 FROM catalogue", 0.5) },
            Remembered { is_cut: true, ..statement("SELECT a FROM \"Long_Names\" WHERE", 0.5) },
            statement("-- name: Get :one\nSELECT count(*) FROM t;", 0.25),
            statement("SELECT 3", 0.25),
        ];
        let picking = pick_slowest(&statements, 3, &Numbered);
        let paths: Vec<&str> = picking.picked.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(paths, ["forms/q01-orders", "forms/q02-long-names", "q03-t"]);
        let uses = [Use::Form, Use::Cut, Use::Query];
        assert!(picking.picked.iter().map(|one| one.becomes).eq(uses));
        assert_eq!(
            picking.picked[0].text,
            "-- calls 4, total 5.000 s, 50.0 % of the time of all statements, mean 1250.000 ms\n\
             -- parameters: q01-orders.csv\nSELECT * FROM shop.orders WHERE day = :p1\n"
        );
        assert_eq!(picking.picked[0].parameters, ["p1"]);
        assert!(picking.picked[2].text.ends_with("ms\nSELECT count(*) FROM t\n"), "no remark of a program's");
        assert_eq!(picking.more, 1);
        let left: Vec<(&str, usize, f64)> =
            picking.left_out.iter().map(|kind| (kind.kind.as_str(), kind.statements, kind.share)).collect();
        assert_eq!(left[0], ("UPDATE", 1, 0.3));
        assert!(left.contains(&(HIDDEN, 7, 0.05)), "{left:?}");
        assert!(left.contains(&("about the server itself", 1, 0.05)), "{left:?}");
    }

    #[test]
    fn what_writes_is_no_query() {
        for (sql, kind) in [
            ("insert into t values ($1)", Some("INSERT")),
            ("SET a = 1", Some("SET")),
            ("EXPLAIN SELECT 1", Some("EXPLAIN")),
            ("SELECT a INTO b FROM t", Some("SELECT … INTO")),
            ("SELECT a FROM t FOR NO KEY UPDATE", Some("SELECT … FOR UPDATE")),
            ("SELECT a FROM t LOCK IN SHARE MODE", Some("SELECT … LOCK IN SHARE MODE")),
            ("WITH a AS (DELETE FROM t RETURNING b) SELECT b FROM a", Some("WITH … DELETE")),
            ("WITH a AS (SELECT 1) UPDATE t SET b = 2", Some("WITH … UPDATE")),
            ("WITH a AS (SELECT 1) SELECT 'delete', \"update\" FROM a", None),
            ("SELECT insert(a, 1, 2, 'into') FROM t", None),
            ("/* job */ (SELECT a FROM t) UNION (SELECT 2)", None),
            ("VALUES (1)", None),
        ] {
            assert_eq!(non_query_kind(sql).as_deref(), kind, "{sql}");
        }
    }

    #[test]
    fn placeholders_get_names_outside_quotes() {
        let named = |sql: &str, dialect: &dyn Dialect| name_placeholders(sql, dialect);
        assert_eq!(named("a = $2 AND b = $1 OR $2", &Numbered), ("a = :p2 AND b = :p1 OR :p2".to_owned(), 2));
        assert_eq!(named("a$1 = '$1' \"$1\" -- $1\n/* $1 */ $x $0$99999", &Numbered).1, 0);
        assert_eq!(named("a[$1:$2]::int", &Numbered).0, "a[:p1: :p2]::int");
        assert_eq!(named("a = ? AND `?` = '?' LIMIT ?", &Bare), ("a = :p1 AND `?` = '?' LIMIT :p2".to_owned(), 2));
    }

    #[test]
    fn a_file_is_named_after_the_first_table() {
        for (sql, name) in [
            ("SELECT 1", "q03"),
            ("SELECT a FROM (SELECT b FROM c) d", "q03"),
            ("SELECT a FROM `shop` . `Order_Lines` WHERE", "q03-order-lines"),
            ("SELECT a\nFROM\n  generate_series(1, 2)", "q03-generate-series"),
            ("SELECT a FROM ../../etc/passwd", "q03-etcpasswd"),
        ] {
            assert_eq!(statement_name(sql, 3, 20), name, "{sql}");
        }
        assert_eq!(statement_name("SELECT 1", 3, 200), "q003");
    }
}
