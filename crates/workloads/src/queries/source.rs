//! The files of queries: a query each, or a short script that reads.

use std::path::Path;
use std::time::Duration;

use indexmap::IndexMap;
use model::metric::{ALL_QUERIES, MEAN_OF_QUERIES};

use super::parameters::Parameters;
use crate::dataset::Dialect;
use crate::texts::Texts;
use crate::transactions::split_message;
use load::error::{Failure, FailureKind};

const ENDING: &str = ".sql";
/// First words of statements that read.
pub(super) const READING: [&str; 6] = ["select", "with", "values", "table", "show", "explain"];
/// More queries than this are no folder of queries.
const MOST: usize = 1_000;
/// Engines count milliseconds, in 32 bits.
pub(super) const SHORTEST_TIMEOUT: Duration = Duration::from_millis(1);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(7 * 86_400);

/// A query, with its texts for engines that need one of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    pub name: String,
    /// Texts by the engine that their file names: `q7.mysql.sql`; the empty name has the text for all others.
    texts: IndexMap<String, QueryFile>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct QueryFile {
    path: String,
    text: String,
    /// The line `-- expect-rows: 12`.
    pub expected_rows: Option<usize>,
    /// The hash of the answer that is known, where étalon brings the query.
    pub expected_digest: Option<u64>,
    /// The line `-- timeout: 30s`.
    pub timeout: Option<Duration>,
    /// The line `-- parameters: file.csv`.
    pub parameters: Option<Parameters>,
}

/// Whether a path is a folder with files of queries.
pub fn has_queries(folder: &Path) -> bool {
    folder.is_dir() && Texts::Files.list_query_files(&folder.to_string_lossy()).is_ok_and(|files| !files.is_empty())
}

/// Reads the queries of a folder, or of a list of files and folders.
///
/// # Errors
/// A file cannot be read, has no statement, or one that may change something; or there are none.
pub fn read_queries(files: &str, texts: &Texts) -> Result<Vec<Query>, Failure> {
    let mut queries: IndexMap<String, Query> = IndexMap::new();
    for listed in files.split(',').map(str::trim).filter(|listed| !listed.is_empty()) {
        let found = texts.list_query_files(listed).map_err(|error| refuse_queries(listed, &error))?;
        if found.is_empty() {
            return Err(refuse_queries(listed, &format!("it has no file `*{ENDING}`")));
        }
        for path in found {
            let text = texts.read_script(&path).map_err(|error| refuse_queries(&path, &error))?;
            let (name, engine) = query_and_engine(&path, &text);
            if [ALL_QUERIES, MEAN_OF_QUERIES].contains(&name.as_str()) {
                let cause = format!("`{name}` is the name of a row for all queries together");
                return Err(
                    refuse_queries(&path, &cause).with_hint("give it another name: `-- name: q7` in its first lines")
                );
            }
            let file = QueryFile::from_text(path, text, texts)?;
            let query = queries.entry(name.clone()).or_insert_with(|| Query { name, texts: IndexMap::new() });
            if let Some(other) = query.texts.get(&engine) {
                let cause = format!("it has the name of `{}`, `{}`", other.path, query.name);
                return Err(refuse_queries(&file.path, &cause)
                    .with_hint("give one another name: `-- name: q7` in its first lines"));
            }
            if let Some(other) = query.texts.values().find(|other| other.parameters != file.parameters) {
                let cause = format!("it has other parameters than `{}`: all systems are asked the same", other.path);
                return Err(
                    refuse_queries(&file.path, &cause).with_hint("give both the same line `-- parameters: file.csv`")
                );
            }
            query.texts.insert(engine, file);
        }
    }
    match queries.len() {
        0 => Err(refuse_queries(files, &"it names no file")),
        count if count > MOST => Err(refuse_queries(files, &format!("{count} queries are more than {MOST}"))),
        _ => Ok(queries.into_values().collect()),
    }
}

/// The answer to a query that an independent program gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownAnswer {
    pub rows: usize,
    /// As [`super::Answer::digest`] gives it.
    pub digest: u64,
}

impl Query {
    /// Makes a query of a text that étalon brings, for all engines.
    pub fn from_own_text(name: &str, text: String, known: Option<KnownAnswer>) -> Result<Query, Failure> {
        let mut file = QueryFile::from_text(format!("{name}{ENDING}"), text, &Texts::Files)?;
        file.expected_rows = known.map(|known| known.rows);
        file.expected_digest = known.map(|known| known.digest);
        Ok(Query { name: name.to_owned(), texts: [(String::new(), file)].into() })
    }
}

/// Gives what is for the dialect's engine, else what is for all engines; `None` if there is neither.
pub(super) fn text_for_engine<'t, T>(texts: &'t IndexMap<String, T>, dialect: &dyn Dialect) -> Option<&'t T> {
    dialect.file_suffixes().iter().find_map(|name| texts.get(*name)).or_else(|| texts.get(""))
}

/// The failure of a file of queries.
pub(super) fn refuse_queries(path: &str, cause: &dyn std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Plan, format!("read the queries `{path}`"), cause)
}

/// Names the query and the engine that a file is for: of `q7.mysql.sql` they are `q7` and `mysql`.
pub(super) fn query_and_engine(path: &str, text: &str) -> (String, String) {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let stem = if is_query_file(file) { &file[..file.len() - ENDING.len()] } else { file };
    let (name, engine) = stem.split_once('.').unwrap_or((stem, ""));
    (find_remark(text, "name").map_or(name, |remark| remark.value).to_owned(), engine.to_lowercase())
}

/// Whether a file's name ends as that of a query does, with `.sql`.
pub fn is_query_file(file: &str) -> bool {
    file.len() > ENDING.len() && file.to_lowercase().ends_with(ENDING)
}

/// A comment in the lines before the first statement: `-- name: q7`.
#[derive(Clone, Copy)]
struct Remark<'a> {
    /// Number of its line, from 1.
    line: usize,
    key: &'a str,
    value: &'a str,
}

impl Remark<'_> {
    /// Makes the failure of a remark's value.
    fn refuse_remark(&self, path: &str, cause: &str) -> Failure {
        refuse_queries(path, &format!("line {}: `-- {}: {}` {cause}", self.line, self.key, self.value))
    }
}

/// Finds the remark `-- key: value` in the comments at the beginning of a query's file.
fn find_remark<'a>(text: &'a str, key: &str) -> Option<Remark<'a>> {
    let lines = text.lines().map(str::trim).enumerate();
    let comments = lines.take_while(|(_, line)| line.is_empty() || line.starts_with("--"));
    let mut remarks = comments.filter_map(|(index, line)| {
        let (key, value) = line.trim_start_matches('-').trim().split_once(':')?;
        Some(Remark { line: index + 1, key: key.trim(), value: value.trim() })
    });
    remarks.find(|remark| remark.key.eq_ignore_ascii_case(key) && !remark.value.is_empty())
}

/// Reads from the remark `expect-rows` how many rows the query must answer; `None` without it.
fn expected_rows(path: &str, text: &str) -> Result<Option<usize>, Failure> {
    let Some(remark) = find_remark(text, "expect-rows") else { return Ok(None) };
    remark.value.parse().map(Some).map_err(|_| remark.refuse_remark(path, "is no number of rows"))
}

/// Reads from the remark `timeout` after how long the query is ended; `None` without it.
fn query_timeout(path: &str, text: &str) -> Result<Option<Duration>, Failure> {
    let Some(remark) = find_remark(text, "timeout") else { return Ok(None) };
    match model::duration::parse(remark.value) {
        Ok(limit) if (SHORTEST_TIMEOUT..=LONGEST_TIMEOUT).contains(&limit) => Ok(Some(limit)),
        Ok(_) => Err(remark.refuse_remark(path, "is no timeout: `1ms` to `7d`")),
        Err(error) => Err(remark.refuse_remark(path, &format!("is no length of time, such as `30s`: {error}"))),
    }
}

/// Reads the file of parameters that the remark `parameters` names; fails if the text does not fit it.
fn query_parameters(path: &str, text: &str, texts: &Texts) -> Result<Option<Parameters>, Failure> {
    let Some(remark) = find_remark(text, "parameters") else { return Ok(None) };
    let found = Parameters::read(path, remark.value, texts).map_err(|failure| {
        let cause = format!("{} ({path}, line {})", failure.cause, remark.line);
        Failure { cause, ..failure }
    })?;
    found.check_names(text).map_err(|cause| refuse_queries(path, &cause))?;
    Ok(Some(found))
}

impl Query {
    /// The file of the query that is for an engine, else the one for all engines.
    ///
    /// # Errors
    /// There is none, and the files that there are.
    pub fn for_engine(&self, dialect: &dyn Dialect) -> Result<&QueryFile, String> {
        text_for_engine(&self.texts, dialect).ok_or_else(|| {
            let paths: Vec<&str> = self.texts.values().map(|file| file.path.as_str()).collect();
            format!("no file of it is for this engine, only {}", paths.join(", "))
        })
    }
}

impl QueryFile {
    /// Makes a query's file of its text: reads its remarks, and checks that its statements only read.
    fn from_text(path: String, text: String, texts: &Texts) -> Result<QueryFile, Failure> {
        let file = QueryFile {
            expected_rows: expected_rows(&path, &text)?,
            expected_digest: None,
            timeout: query_timeout(&path, &text)?,
            parameters: query_parameters(&path, &text, texts)?,
            text,
            path,
        };
        file.statements(&AsWritten)?;
        Ok(file)
    }

    /// Splits the file into statements in the engine's words.
    ///
    /// # Errors
    /// There is none, or one may change something.
    pub fn statements(&self, dialect: &dyn Dialect) -> Result<Vec<Statement>, Failure> {
        let parts = split_message(&self.text, dialect);
        if parts.is_empty() {
            return Err(refuse_queries(&self.path, &"it has no statement"));
        }
        parts.into_iter().map(|part| self.make_statement(part.sql)).collect()
    }

    /// Makes a statement of SQL, and notes if its rows are ordered; fails if it may write.
    fn make_statement(&self, sql: String) -> Result<Statement, Failure> {
        let words = split_words(&sql);
        let first = words.iter().find(|word| word.text != "(").map(|word| word.text.as_str()).unwrap_or_default();
        if !READING.contains(&first) {
            let cause = format!("`{}` may change something, and queries only read", first.to_uppercase());
            return Err(
                refuse_queries(&self.path, &cause).with_hint("`--script FILE` runs what writes, as a transaction")
            );
        }
        if let Some(word) = writing_word(&sql, &words) {
            let cause = format!("`{}` writes, and queries only read", word.to_uppercase());
            return Err(
                refuse_queries(&self.path, &cause).with_hint("`--script FILE` runs what writes, as a transaction")
            );
        }
        let is_ordered = has_own_order(&words);
        Ok(Statement { sql, is_ordered })
    }
}

/// Whether a statement says in which order its rows come.
pub fn is_ordered(sql: &str) -> bool {
    has_own_order(&split_words(sql))
}

/// Whether `ORDER BY` stands among a statement's words outside its subqueries.
fn has_own_order(words: &[WordAt]) -> bool {
    let own = own_depth(words);
    words.windows(2).any(|pair| pair[0].depth == own && pair[0].text == "order" && pair[1].text == "by")
}

/// Number of parentheses around the whole statement.
fn own_depth(words: &[WordAt]) -> usize {
    let leading = words.iter().take_while(|word| word.text == "(").count();
    words[leading..].iter().map(|word| word.depth).min().unwrap_or_default()
}

/// Finds the word by which a statement that begins as if it read makes a table or a file, such as `into`.
///
/// The names of files' clauses are searched for within quotes, too: engines end a text in more ways than
/// [`piece_length`] knows. So is `into` where comments nest, which they do in some engines only.
pub(super) fn writing_word(sql: &str, words: &[WordAt]) -> Option<&'static str> {
    let lower = sql.to_lowercase();
    let writes_file = ["outfile", "dumpfile"].into_iter().find(|word| lower.contains(word));
    let may_be_hidden = || has_nested_comment(sql) && lower.split(|c| !is_of_word(c)).any(|word| word == "into");
    let makes_table = || words.iter().any(|word| word.text == "into") || may_be_hidden();
    writes_file.or_else(|| makes_table().then_some("into"))
}

/// Whether a comment begins within a comment.
pub(super) fn has_nested_comment(sql: &str) -> bool {
    let mut rest = sql;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(piece_length(rest));
        if piece.strip_prefix("/*").is_some_and(|comment| comment.contains("/*")) {
            return true;
        }
        rest = behind;
    }
    false
}

/// Statements as their file has them.
pub(super) struct AsWritten;

impl Dialect for AsWritten {
    fn placeholder(&self, _number: usize) -> String {
        "?".to_owned()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub sql: String,
    /// True if it says in which order its rows come.
    pub is_ordered: bool,
}

/// A word of a statement, or `(`.
pub(super) struct WordAt {
    /// The word in lower case.
    pub(super) text: String,
    /// Number of parentheses that it stands in.
    pub(super) depth: usize,
}

/// Splits a statement into its words and `(`, each with its depth, outside quotes and comments.
pub(super) fn split_words(sql: &str) -> Vec<WordAt> {
    let mut words: Vec<WordAt> = Vec::new();
    let (mut rest, mut depth) = (sql, 0_usize);
    while let Some(next) = rest.chars().next() {
        let length = piece_length(rest);
        match next {
            '(' => {
                words.push(WordAt { text: "(".to_owned(), depth });
                depth += 1;
            }
            ')' => depth = depth.saturating_sub(1),
            c if is_of_word(c) => words.push(WordAt { text: rest[..length].to_lowercase(), depth }),
            _ => {}
        }
        rest = &rest[length..];
    }
    words
}

/// Whether a character is part of a word: a letter, a digit or `_`.
fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Length in bytes of the first piece of a text: a quoted text, a comment, a word, or a character.
pub(super) fn piece_length(text: &str) -> usize {
    let Some(next) = text.chars().next() else { return 0 };
    match next {
        '\'' | '"' | '`' => text[1..].find(next).map_or(text.len(), |end| end + 2),
        '-' if text.starts_with("--") => text.find('\n').unwrap_or(text.len()),
        // A comment that an engine executes, maybe from a release on.
        '/' if text.starts_with("/*!") => 3 + text[3..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - 3),
        '/' if text.starts_with("/*M!") => 4 + text[4..].find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len() - 4),
        '/' if text.starts_with("/*") => text[2..].find("*/").map_or(text.len(), |end| end + 4),
        c if is_of_word(c) => text.find(|c: char| !(is_of_word(c) || c == '$')).unwrap_or(text.len()),
        other => other.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Own;

    impl Dialect for Own {
        fn placeholder(&self, _number: usize) -> String {
            "?".to_owned()
        }

        fn file_suffixes(&self) -> &'static [&'static str] {
            &["own"]
        }
    }

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        folder
    }

    fn read_from(files: &[(&str, &str)]) -> Result<Vec<Query>, String> {
        let folder = folder(files);
        read_queries(&folder.path().display().to_string(), &Texts::noting()).map_err(|failure| failure.to_string())
    }

    #[test]
    fn a_folder_has_a_query_a_file_in_the_order_of_their_numbers() {
        let found = read_from(&[
            ("q10.sql", "SELECT 10"),
            ("q2.sql", "-- expect-rows: 3\n\nSELECT 2; SELECT 3;"),
            ("q1.SQL", "-- name: first\nTABLE t"),
            ("q2.own.sql", "SELECT 22"),
            ("notes.txt", "DROP TABLE t"),
        ]);
        let found = found.unwrap();
        let names: Vec<&str> = found.iter().map(|query| query.name.as_str()).collect();
        assert_eq!(names, ["first", "q2", "q10"]);
        let texts = |dialect: &dyn Dialect| -> Vec<String> {
            let file = found[1].for_engine(dialect).unwrap();
            file.statements(dialect).unwrap().into_iter().map(|statement| statement.sql).collect()
        };
        assert_eq!(texts(&AsWritten), ["SELECT 2", "SELECT 3"]);
        assert_eq!(texts(&Own), ["SELECT 22"]);
        assert_eq!(found[1].for_engine(&AsWritten).unwrap().expected_rows, Some(3));
    }

    #[test]
    fn what_is_no_query_is_refused_with_its_file() {
        for (text, cause) in [
            ("DELETE FROM t", "`DELETE` may change something"),
            ("SELECT 1; CREATE TABLE t (a int)", "`CREATE` may change something"),
            ("SELECT a FROM t INTO OUTFILE '/tmp/x'", "`OUTFILE` writes"),
            ("SELECT 1 /*!50000 INTO Outfile '/tmp/x' */", "`OUTFILE` writes"),
            ("SELECT 'a\\' ', 1 INTO DUMPFILE '/tmp/x", "`DUMPFILE` writes"),
            ("SELECT 1 /*M!100100 INTO @a */", "`INTO` writes"),
            ("SELECT a INTO u FROM t", "`INTO` writes"),
            ("SELECT 1 AS a /*/ ' */ INTO u -- '", "`INTO` writes"),
            ("SELECT 1 AS a /* /* ' */ ' */ INTO u -- '", "`INTO` writes"),
            ("-- nothing\n", "it has no statement"),
            ("-- expect-rows: many\nSELECT 1", "line 1: `-- expect-rows: many` is no number"),
            (
                "-- name: a\n--  timeout: soon\nSELECT 1",
                "line 2: `-- timeout: soon` is no length of time, such as `30s`",
            ),
            ("-- timeout: 0s\nSELECT 1", "line 1: `-- timeout: 0s` is no timeout"),
            ("-- parameters: p.csv\nSELECT 1", "it names no parameter of"),
            ("-- parameters: p.csv\nSELECT\n:b", "line 3: `:b` is no column of"),
            ("-- parameters: none.csv\nSELECT :a", "line 1)"),
        ] {
            let refused = read_from(&[("q1.sql", text), ("p.csv", "a\n1\n")]).unwrap_err();
            assert!(refused.contains("q1.sql") && refused.contains(cause), "{refused}");
        }
        let refused = read_from(&[("q1.sql", "SELECT 1"), ("q2.sql", "-- name: q1\nSELECT 2")]).unwrap_err();
        assert!(refused.contains("it has the name of") && refused.contains("q1.sql"), "{refused}");
        for name in ["all", "geomean"] {
            let refused = read_from(&[(&format!("{name}.sql"), "SELECT 1")]).unwrap_err();
            assert!(refused.contains("is the name of a row for all queries together"), "{refused}");
        }
        assert!(read_from(&[]).unwrap_err().contains("it has no file"));
        assert!(read_queries("nowhere.sql", &Texts::Files).is_err() && read_queries(" , ", &Texts::Files).is_err());
    }

    #[test]
    fn a_query_has_a_timeout_and_parameters() {
        let text = "-- timeout: 1.5s\n-- parameters: p.csv\nSELECT :a; SELECT :b";
        let other = "-- parameters: p.csv\nSELECT :b + :a";
        let files = [("q1.sql", text), ("q1.own.sql", other), ("p.csv", "a,b\n1,x\n2,y\n")];
        let query = read_from(&files).unwrap().remove(0);
        let file = query.for_engine(&AsWritten).unwrap();
        assert_eq!(file.timeout, Some(Duration::from_millis(1_500)));
        let parameters = file.parameters.as_ref().unwrap();
        let statements = file.statements(&AsWritten).unwrap();
        let filled: Vec<String> =
            statements.iter().map(|statement| parameters.fill_in(&statement.sql, 1, &AsWritten)).collect();
        assert_eq!(filled, ["SELECT 2", "SELECT 'y'"]);
        assert_eq!(query.for_engine(&Own).unwrap().timeout, None, "of its own file");
        let refused = read_from(&[files[0], ("q1.own.sql", "SELECT 1"), files[2]]).unwrap_err();
        assert!(refused.contains("it has other parameters than"), "{refused}");
    }

    #[test]
    fn a_query_is_ordered_by_its_own_last_words_alone() {
        let is_ordered = |sql: &str| {
            let file = QueryFile::from_text("q.sql".to_owned(), sql.to_owned(), &Texts::Files).unwrap();
            file.statements(&AsWritten).unwrap()[0].is_ordered
        };
        assert!(is_ordered("SELECT a FROM t ORDER BY a") && is_ordered("(SELECT a FROM t) order\n by 1"));
        assert!(
            is_ordered("(SELECT a FROM t ORDER BY a)") && !is_ordered("(SELECT a FROM (SELECT a FROM t ORDER BY a) t)")
        );
        assert!(!is_ordered("(SELECT a FROM t ORDER BY a) UNION (SELECT b FROM t ORDER BY b)"));
        assert!(!is_ordered("SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 3) t"));
        assert!(!is_ordered("SELECT 'ORDER BY' FROM t -- ORDER BY a") && !is_ordered("SELECT \"order by\" FROM t"));
        assert!(!is_ordered("SELECT rank() OVER (ORDER BY a) FROM t"));
    }

    #[test]
    fn files_that_were_sent_are_found_in_their_folder() {
        let folder = folder(&[("a.sql", "SELECT 1"), ("b.sql", "SELECT 2")]);
        let path = folder.path().display().to_string();
        let noting = Texts::noting();
        let here = read_queries(&path, &noting).unwrap();
        let sent = Texts::from_sent(noting.noted_texts());
        drop(folder);
        assert_eq!(read_queries(&path, &sent).unwrap(), here);
        assert_eq!(read_queries(&format!("{path}/b.sql"), &sent).unwrap().len(), 1);
    }
}
