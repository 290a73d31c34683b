//! Names of what a data set makes: étalon notes them before it makes anything, and drops nothing else.

use std::collections::BTreeSet;

use crate::dataset::{Dataset, Dialect};

/// Words between `CREATE` and the kind of thing that is made.
const MODIFIERS: [&str; 15] = [
    "OR",
    "REPLACE",
    "ALTER",
    "GLOBAL",
    "LOCAL",
    "UNLOGGED",
    "UNIQUE",
    "FULLTEXT",
    "MATERIALIZED",
    "RECURSIVE",
    "CONSTRAINT",
    "FOREIGN",
    "AGGREGATE",
    "CLUSTERED",
    "NONCLUSTERED",
];
/// Kinds whose names étalon notes. An index goes with its table.
const KINDS: [&str; 10] =
    ["TABLE", "VIEW", "SEQUENCE", "FUNCTION", "PROCEDURE", "TRIGGER", "TYPE", "DOMAIN", "EVENT", "RULE"];

impl Dataset {
    /// Names of all tables, views, routines and triggers that étalon makes for the data set, without schema or database.
    pub fn made_names(&self, dialect: &dyn Dialect) -> BTreeSet<String> {
        let tables = self.tables.iter().map(|table| table.name.clone().into_owned());
        let last = self.last_statements(dialect);
        tables.chain(last.iter().flat_map(|sql| created_names(sql))).chain(self.later.iter().cloned()).collect()
    }

    /// Names of the data set's tables that only étalon makes: no statement of the user's makes one by that name.
    pub fn lasting_tables(&self, dialect: &dyn Dialect) -> BTreeSet<String> {
        let made = self.last_statements(dialect).iter().flat_map(|sql| created_names(sql)).collect::<Vec<_>>();
        self.tables
            .iter()
            .map(|table| table.name.clone().into_owned())
            .filter(|name| !made.iter().chain(&self.later).any(|other| other.eq_ignore_ascii_case(name)))
            .collect()
    }
}

/// Lists the names that statements make: after each `CREATE`, and by `SELECT … INTO`.
pub fn created_names(sql: &str) -> Vec<String> {
    let words = words_of(sql);
    let mut names = Vec::new();
    for place in
        words.iter().enumerate().filter(|(_, word)| word.eq_ignore_ascii_case("CREATE")).map(|(place, _)| place)
    {
        let mut rest = words.get(place + 1..).unwrap_or_default().iter().skip_while(|word| {
            MODIFIERS.iter().any(|known| word.eq_ignore_ascii_case(known))
                // MySQL's `DEFINER = user`, `ALGORITHM = MERGE`, `SQL SECURITY INVOKER`.
                || word.contains('=')
                || ["SQL", "SECURITY", "INVOKER", "DEFINER", "DEFINER="].iter().any(|known| word.eq_ignore_ascii_case(known))
        });
        let Some(kind) = rest.next() else { continue };
        if !KINDS.iter().any(|known| kind.eq_ignore_ascii_case(known)) {
            continue;
        }
        let is_condition =
            |word: &&String| ["IF", "NOT", "EXISTS"].iter().any(|known| word.eq_ignore_ascii_case(known));
        names.extend(rest.find(|word| !is_condition(word)).map(|name| plain_name(name)));
    }
    names.extend(selected_names(&words));
    names
}

/// Lists the tables that `SELECT … INTO name` makes.
///
/// Variables, files and temporary tables are none, and in a routine it fills variables.
fn selected_names(words: &[String]) -> Vec<String> {
    if words.iter().any(|word| is_any_of(word, &["DECLARE", "FUNCTION", "PROCEDURE", "TRIGGER"])) {
        return Vec::new();
    }
    let mut names = Vec::new();
    for place in words.iter().enumerate().filter(|(_, word)| is_any_of(word, &["INTO"])).map(|(place, _)| place) {
        let before = &words[..place];
        let verb = before
            .iter()
            .rev()
            .find(|word| is_any_of(word, &["SELECT", "INSERT", "MERGE", "DELETE", "UPDATE", "FETCH"]));
        let is_replace = before.iter().rev().take(2).any(|word| is_any_of(word, &["REPLACE"]));
        if is_replace || verb.is_none_or(|verb| !is_any_of(verb, &["SELECT"])) {
            continue;
        }
        let name = words[place + 1..].iter().find(|word| !is_any_of(word, &["UNLOGGED", "TABLE"]));
        names.extend(
            name.filter(|name| {
                !name.starts_with(['@', ':', '#', '$', '\''])
                    && !is_any_of(name, &["OUTFILE", "DUMPFILE", "TEMP", "TEMPORARY", "STRICT"])
            })
            .map(|name| plain_name(name)),
        );
    }
    names
}

/// Tests whether a word is one of these, in any case.
fn is_any_of(word: &str, known: &[&str]) -> bool {
    known.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Splits a statement into words, of which a name is one; brackets and commas end a word.
fn words_of(sql: &str) -> Vec<String> {
    sql.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ';'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Strips a name's schema and quotes.
fn plain_name(name: &str) -> String {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.trim_matches(['"', '`', '[', ']']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn created_names_are_those_after_each_create() {
        assert_eq!(names("CREATE TABLE t(x int)"), "t");
        assert_eq!(
            names("create unlogged table if not exists \"etalon\".\"T\" (x int); CREATE VIEW v AS SELECT 1"),
            "T v"
        );
        assert_eq!(names("CREATE OR REPLACE FUNCTION etalon.f() RETURNS int"), "f");
        assert_eq!(names("CREATE OR ALTER VIEW [dbo].[rich] AS SELECT 1 AS one"), "rich", "as SQL Server has it");
        assert_eq!(names("CREATE DEFINER=me SQL SECURITY INVOKER PROCEDURE `p`()"), "p");
        assert_eq!(names("CREATE INDEX i ON t (x)"), "", "an index goes with its table");
        assert_eq!(names("CREATE TEMPORARY TABLE t (x int)"), "", "it ends with its session");
        assert_eq!(names("SELECT 'CREATE'"), "");
        assert_eq!(names("SELECT aid INTO dbo.[kept] FROM pgbench_accounts"), "kept");
        assert_eq!(names("with a as (select 1 as one) select one into unlogged table etalon.b from a"), "b");
        assert_eq!(names("INSERT INTO t SELECT 1; REPLACE INTO t SELECT 1; INSERT IGNORE INTO t VALUES (1)"), "");
        assert_eq!(names("SELECT 1; INSERT INTO t VALUES (1); DELETE FROM t OUTPUT deleted.a INTO u"), "");
        assert_eq!(
            names("SELECT 1 INTO @a; SELECT 1 INTO OUTFILE '/x'; SELECT 1 AS one INTO #t; SELECT 1 INTO TEMP t"),
            ""
        );
        assert_eq!(names("CREATE FUNCTION f() RETURNS int AS $$ SELECT 1 INTO x $$"), "f");
        assert_eq!(names("CREATE TABLE"), "");
    }

    fn names(sql: &str) -> String {
        created_names(sql).join(" ")
    }
}
