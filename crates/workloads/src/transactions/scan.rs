//! Splits a script into SQL statements and meta-commands, as psql's lexer does.

use super::tokens::{begins_name, continuation_length, name_length};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Sql(Sql),
    /// A meta-command: where its backslash is, and the text behind it to the end of its line.
    Meta {
        at: usize,
        start: usize,
        end: usize,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sql {
    pub(super) at: usize,
    /// The text before each reference, and after the last.
    pub(super) pieces: Vec<String>,
    /// The names of the variables between the pieces, each with its place.
    pub(super) references: Vec<(String, usize)>,
    /// The first word of each statement that `\;` joins, in lower case.
    pub(super) heads: Vec<String>,
    /// Where each of them but the first begins: the number of its piece, and the place in it.
    pub(super) joints: Vec<(usize, usize)>,
}

/// Where references to variables are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum References {
    OutsideQuotes,
    /// Also inside quotes and comments: they are replaced by text before the server reads any of it.
    Everywhere,
    /// Nowhere, nor are there meta-commands: it is the text that a server reads.
    Nowhere,
}

/// Splits a script into SQL statements and meta-commands, as psql's lexer does.
///
/// # Errors
/// A quote or a comment that is not closed: where it began, and what.
pub(super) fn split_script(text: &str, references: References) -> Result<Vec<Item>, (usize, String)> {
    let mut scanner = Scanner { text, at: 0, references, items: Vec::new(), sql: empty_sql(), words: Words::default() };
    scanner.scan_all()?;
    scanner.end_statement();
    Ok(scanner.items)
}

/// Makes a statement without text.
fn empty_sql() -> Sql {
    Sql { pieces: vec![String::new()], ..Sql::default() }
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    references: References,
    items: Vec<Item>,
    sql: Sql,
    words: Words,
}

/// What psql remembers of a statement to know which semicolon ends it.
#[derive(Debug, Default)]
struct Words {
    parentheses: u32,
    /// Depth of `BEGIN ATOMIC` and `CASE` inside the body of a routine.
    bodies: u32,
    /// First letters of the words that may begin `CREATE [OR REPLACE] FUNCTION`, by their place.
    letters: [u8; 4],
    count: usize,
}

impl Words {
    /// Notes a word of a statement, by which the body of a function or procedure is known.
    fn note_word(&mut self, word: &str) {
        if self.count < 4
            && ["create", "function", "procedure", "or", "replace"].iter().any(|known| word.eq_ignore_ascii_case(known))
        {
            self.letters[self.count] = word.as_bytes()[0].to_ascii_lowercase();
        }
        self.count += 1;
        let makes_routine = match self.letters {
            [b'c', b'f' | b'p', ..] => true,
            [b'c', b'o', b'r', fourth] => matches!(fourth, b'f' | b'p'),
            _ => false,
        };
        if !makes_routine || self.parentheses > 0 {
            return;
        }
        if word.eq_ignore_ascii_case("begin") || (word.eq_ignore_ascii_case("case") && self.bodies > 0) {
            self.bodies += 1;
        } else if word.eq_ignore_ascii_case("end") {
            self.bodies = self.bodies.saturating_sub(1);
        }
    }
}

impl<'a> Scanner<'a> {
    /// The text that is not scanned yet.
    fn unread(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Whether nothing of a statement has been read yet: blanks and `--` comments before it are dropped.
    fn is_between_statements(&self) -> bool {
        self.sql.references.is_empty() && self.sql.pieces.iter().all(String::is_empty)
    }

    /// Appends text to the current statement.
    fn append_text(&mut self, text: &str) {
        if let Some(piece) = self.sql.pieces.last_mut() {
            piece.push_str(text);
        }
    }

    /// Takes over the next bytes into the current statement as they are.
    fn copy_bytes(&mut self, length: usize) {
        let text = &self.unread()[..length];
        self.append_text(text);
        self.at += length;
    }

    /// Scans the text to its end.
    fn scan_all(&mut self) -> Result<(), (usize, String)> {
        while let Some(next) = self.unread().chars().next() {
            let rest = self.unread();
            if self.is_between_statements() {
                self.sql.at = self.at;
            }
            match next {
                c if c.is_ascii_whitespace() || c == '\u{b}' => {
                    if self.is_between_statements() {
                        self.at += 1;
                    } else {
                        self.copy_bytes(1);
                    }
                }
                '-' if rest.starts_with("--") => self.take_line_comment(),
                '/' if rest.starts_with("/*") => self.take_block_comment()?,
                '\'' | '"' => self.take_quoted(next, Escapes::Doubled)?,
                '$' => self.take_dollar()?,
                '\\' => self.take_backslash(),
                ':' => self.take_colon(),
                ';' if self.words.parentheses == 0 && self.words.bodies == 0 => {
                    self.at += 1;
                    self.end_statement();
                }
                c if begins_name(c) => self.take_word()?,
                c => {
                    match c {
                        '(' => self.words.parentheses += 1,
                        ')' => self.words.parentheses = self.words.parentheses.saturating_sub(1),
                        _ => {}
                    }
                    self.copy_bytes(c.len_utf8());
                }
            }
        }
        Ok(())
    }

    /// Ends the current statement, and begins another.
    fn end_statement(&mut self) {
        let mut sql = std::mem::replace(&mut self.sql, empty_sql());
        self.words = Words::default();
        if let Some(last) = sql.pieces.last_mut() {
            last.truncate(last.trim_end().len());
        }
        // Without a word it is a comment, or nothing.
        if !sql.heads.is_empty() || !sql.references.is_empty() {
            self.items.push(Item::Sql(sql));
        }
    }

    /// Takes a comment up to the end of the line.
    fn take_line_comment(&mut self) {
        let length = self.unread().find('\n').unwrap_or(self.unread().len());
        if self.is_between_statements() {
            self.at += length;
        } else {
            self.take_literal(length);
        }
    }

    /// Takes a block comment to its end; comments nest, as in PostgreSQL.
    fn take_block_comment(&mut self) -> Result<(), (usize, String)> {
        let rest = self.unread();
        let mut depth = 0;
        let mut at = 0;
        while at < rest.len() {
            if rest[at..].starts_with("/*") {
                depth += 1;
                at += 2;
            } else if rest[at..].starts_with("*/") {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    self.take_literal(at);
                    return Ok(());
                }
            } else {
                at += rest[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        Err((self.at, "this comment is not closed".to_owned()))
    }

    /// Takes a quoted text up to its closing quote; fails if there is none.
    fn take_quoted(&mut self, quote: char, escapes: Escapes) -> Result<(), (usize, String)> {
        // A doubled quote ends one literal and begins the next, which comes to the same.
        let mut escaped = false;
        for (at, c) in self.unread().char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' && escapes == Escapes::Backslash {
                escaped = true;
            } else if c == quote {
                self.take_literal(at + 1);
                return Ok(());
            }
        }
        Err((self.at, format!("the quote that begins here is not closed with `{quote}`")))
    }

    /// Takes a dollar-quoted text, or a `$` that begins none; fails if it is not closed.
    fn take_dollar(&mut self) -> Result<(), (usize, String)> {
        let rest = self.unread();
        let inner = &rest[1..];
        let length = if inner.starts_with(begins_name) { name_length(inner) } else { 0 };
        if !inner[length..].starts_with('$') {
            self.copy_bytes(1);
            return Ok(());
        }
        let mark = &rest[..length + 2];
        match rest[mark.len()..].find(mark) {
            Some(body) => {
                self.take_literal(body + 2 * mark.len());
                Ok(())
            }
            None => Err((self.at, format!("the text that begins here is not closed with `{mark}`"))),
        }
    }

    /// Takes over a quoted text or a comment, with references to variables where they count in it.
    fn take_literal(&mut self, length: usize) {
        if self.references != References::Everywhere {
            self.copy_bytes(length);
            return;
        }
        let end = self.at + length;
        while self.at < end {
            if self.unread().starts_with(':') {
                self.take_colon();
            } else {
                let next = self.text[self.at..end].find(':').unwrap_or(end - self.at);
                self.copy_bytes(next);
            }
        }
    }

    /// Takes a variable's name after a colon, or a colon that is none.
    fn take_colon(&mut self) {
        let rest = self.unread();
        if !rest[1..].starts_with(begins_name) || self.references == References::Nowhere {
            // `::type` is no variable, however many colons there are.
            self.copy_bytes(rest.len() - rest.trim_start_matches(':').len());
            return;
        }
        let length = name_length(&rest[1..]);
        self.sql.references.push((rest[1..=length].to_owned(), self.at));
        self.sql.pieces.push(String::new());
        self.at += 1 + length;
    }

    /// Takes a word, which may begin or end a procedure's body.
    fn take_word(&mut self) -> Result<(), (usize, String)> {
        let rest = self.unread();
        let length = rest.find(|c| !(begins_name(c) || c.is_ascii_digit() || c == '$')).unwrap_or(rest.len());
        let word = &rest[..length];
        self.words.note_word(word);
        if self.sql.heads.is_empty() {
            self.sql.heads.push(word.to_ascii_lowercase());
        } else if let Some(last) = self.sql.heads.last_mut().filter(|head| head.is_empty()) {
            *last = word.to_ascii_lowercase();
        }
        self.copy_bytes(length);
        if word.eq_ignore_ascii_case("e") && rest[length..].starts_with('\'') {
            self.take_quoted('\'', Escapes::Backslash)?;
        }
        Ok(())
    }

    /// Takes a backslash: a command up to the end of the line where scripts have them.
    fn take_backslash(&mut self) {
        let rest = self.unread();
        if self.references == References::Nowhere {
            return self.copy_bytes(1);
        }
        if rest.starts_with("\\;") {
            self.at += 2;
            self.append_text(";");
            if !self.sql.heads.is_empty() {
                self.sql.heads.push(String::new());
                self.sql.joints.push((self.sql.pieces.len() - 1, self.sql.pieces.last().map_or(0, String::len)));
            }
            return;
        }
        if rest.starts_with("\\:") {
            self.at += 2;
            self.append_text(":");
            return;
        }
        self.end_statement();
        let start = self.at + 1;
        let mut end = start;
        while let Some(next) = self.text[end..].chars().next() {
            match continuation_length(&self.text[end..]) {
                Some(length) => end += length,
                None if next == '\n' => break,
                None => end += next.len_utf8(),
            }
        }
        self.items.push(Item::Meta { at: self.at, start, end });
        self.at = (end + 1).min(self.text.len());
    }
}

/// How a quote is written inside a quoted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escapes {
    Doubled,
    Backslash,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<String> {
        split_script(script, References::OutsideQuotes)
            .unwrap()
            .iter()
            .map(|item| match item {
                Item::Sql(sql) => {
                    let mut text = sql.pieces[0].clone();
                    for (piece, (name, _)) in sql.pieces[1..].iter().zip(&sql.references) {
                        text.push_str(&format!("<{name}>{piece}"));
                    }
                    text
                }
                Item::Meta { start, end, .. } => format!("\\{}", &script[*start..*end]),
            })
            .collect()
    }

    #[test]
    fn statements_end_where_psql_ends_them() {
        assert_eq!(
            texts("SELECT ';' ; SELECT :a::int, ':b';\n-- c\nSELECT\n  1"),
            ["SELECT ';'", "SELECT <a>::int, ':b'", "SELECT\n  1"]
        );
        assert_eq!(
            texts("SELECT $$;$$, $x$ ; $$ $x$, $1; SELECT \";\""),
            ["SELECT $$;$$, $x$ ; $$ $x$, $1", "SELECT \";\""]
        );
        assert_eq!(texts("SELECT E'\\';', 'it''s;'; x"), ["SELECT E'\\';', 'it''s;'", "x"]);
        assert_eq!(texts("SELECT 1 /* ; /* \\ */ ; */ + 2; -- ;\n/* only */; ;"), ["SELECT 1 /* ; /* \\ */ ; */ + 2"]);
        assert_eq!(
            texts("CREATE RULE r AS DO (SELECT 1; SELECT 2); SELECT 3"),
            ["CREATE RULE r AS DO (SELECT 1; SELECT 2)", "SELECT 3"]
        );
        assert_eq!(texts("CREATE OR REPLACE FUNCTION f() BEGIN ATOMIC SELECT 1; END; SELECT 2").len(), 2);
        assert_eq!(texts("BEGIN; END;"), ["BEGIN", "END"]);
    }

    #[test]
    fn a_joined_message_knows_its_statements() {
        let items = split_script("SELECT 1 \\; update t SET a = :x \\;\n commit;", References::OutsideQuotes).unwrap();
        let [Item::Sql(sql)] = items.as_slice() else { panic!("{items:?}") };
        assert_eq!(sql.heads, ["select", "update", "commit"]);
        assert_eq!(sql.pieces.join("?"), "SELECT 1 ; update t SET a = ? ;\n commit");
    }

    #[test]
    fn meta_commands_run_to_the_end_of_their_line() {
        assert_eq!(
            texts("SELECT 1 \\gset p_\n\\set x \\\n 1 + \\\r\n 2\r\nSELECT :x; \\sleep 1 ms"),
            ["SELECT 1", "\\gset p_", "\\set x \\\n 1 + \\\r\n 2\r", "SELECT <x>", "\\sleep 1 ms"]
        );
    }

    #[test]
    fn what_is_left_open_is_found() {
        for (script, at) in [("SELECT 'a", 7), ("SELECT $a$ $b$", 7), ("SELECT \"a", 7), ("/* /* */", 0)] {
            assert_eq!(split_script(script, References::OutsideQuotes).unwrap_err().0, at, "{script}");
        }
    }

    #[test]
    fn text_is_replaced_everywhere_where_asked() {
        let items = split_script("SELECT ':a :: b', :c::d -- :e", References::Everywhere).unwrap();
        let [Item::Sql(sql)] = items.as_slice() else { panic!("{items:?}") };
        let names: Vec<&str> = sql.references.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "c", "e"]);
    }
}
