//! The query barrel: queries as statements with words, and the round that clients run.

use super::error::SmackError;
use super::syntax::{SectionKind, SmackFile, SmackSection, SpottedText};
use super::token::Spot;
use crate::transactions::{LiteralPart, StatementPiece, Turn, WordyStatement};

const LONGEST_PAUSE_S: f64 = 86_400.0;
const MOST_TURNS: usize = 100_000;

#[derive(Clone, Debug, PartialEq)]
enum BarrelEntry {
    Query { times: usize, name: String },
    PauseUs(u64),
}

/// Reads a barrel as turns: which query is asked after which pause.
///
/// Statements are numbered by the order of queries in the file.
pub(super) fn read_turns(file: &SmackFile, barrel: &SpottedText) -> Result<Vec<Turn>, SmackError> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut pause_us = 0u64;
    for shot in barrel_entries(barrel)? {
        match shot {
            BarrelEntry::PauseUs(us) => pause_us = pause_us.saturating_add(us),
            BarrelEntry::Query { times, name } => {
                file.need_section(SectionKind::Query, &name, barrel.spot)?;
                let statement =
                    file.section_names(SectionKind::Query).position(|known| known == name).unwrap_or_default();
                if turns.len().saturating_add(times) > MOST_TURNS {
                    let message = format!("a round has more than {MOST_TURNS} queries");
                    return Err(SmackError::new(barrel.spot, message).with_hint("write fewer, and give more rounds"));
                }
                for _ in 0..times {
                    let pause = std::mem::take(&mut pause_us);
                    turns.push(Turn { statement, first_pause_us: pause, pause_us: pause });
                }
            }
        }
    }
    let Some(first) = turns.first_mut() else {
        return Err(
            SmackError::new(barrel.spot, "the query barrel has no query").with_hint("write `2 name_of_a_query`")
        );
    };
    // A pause at the end of a round comes before the next.
    first.pause_us = first.pause_us.saturating_add(pause_us);
    Ok(turns)
}

/// Splits a barrel's text into queries with their numbers of times, and pauses.
fn barrel_entries(barrel: &SpottedText) -> Result<Vec<BarrelEntry>, SmackError> {
    let mut entries = Vec::new();
    let mut words = barrel.text.split_whitespace();
    while let Some(word) = words.next() {
        if let Some(pause) = word.strip_prefix('-') {
            let seconds = pause.parse::<f64>().ok().filter(|s| (0.0..=LONGEST_PAUSE_S).contains(s));
            let seconds = seconds.ok_or_else(|| wrong_barrel(barrel, format!("`{word}` is no pause in seconds")))?;
            entries.push(BarrelEntry::PauseUs((seconds * 1e6).round() as u64));
            continue;
        }
        let times = word.parse::<usize>().ok().filter(|times| *times > 0);
        let times = times.ok_or_else(|| wrong_barrel(barrel, format!("`{word}` is not how often a query is run")))?;
        let name = words.next().ok_or_else(|| wrong_barrel(barrel, format!("no query follows `{word}`")))?;
        entries.push(BarrelEntry::Query { times, name: name.to_owned() });
    }
    Ok(entries)
}

/// Makes the error of a barrel's text.
fn wrong_barrel(barrel: &SpottedText, message: String) -> SmackError {
    SmackError::new(barrel.spot, message)
        .with_hint("a barrel is pairs of a number and a query, `2 select 1 update`, and pauses, `-0.5`")
}

/// Compiles a query section to a statement with dictionaries' words in it.
///
/// Dictionaries are numbered by their order in the file.
pub(super) fn compile_statement(
    file: &SmackFile,
    section: &SmackSection,
    notes: &mut Vec<String>,
) -> Result<WordyStatement, SmackError> {
    let query = section.need_key("query")?;
    let parsed = section.value_of_key("parsed").is_some_and(|parsed| parsed.text.starts_with(['y', 'Y']));
    let head = first_word(&query.text);
    if head.is_empty() {
        return Err(SmackError::new(query.spot, format!("the query \"{}\" has no statement", section.name.text)));
    }
    let name = &section.name.text;
    if !parsed {
        let words: Vec<&str> = file.section_names(SectionKind::Dictionary).collect();
        if let Some(word) = words.iter().find(|word| query.text.contains(&format!("${word}"))) {
            notes.push(format!("the query \"{name}\" is sent with `${word}` in it: it has no `parsed \"y\"`"));
        }
        return Ok(WordyStatement { pieces: vec![StatementPiece::Sql(query.text.clone())], head });
    }
    let mut pieces = Pieces { file, query, done: Vec::new(), sql: String::new(), literal: None };
    let mut chars = query.text.chars().enumerate().peekable();
    let mut backslash = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                backslash = true;
                if let Some((_, escaped)) = chars.next() {
                    pieces.push_char(escaped);
                }
            }
            '$' => {
                let mut word = String::new();
                while let Some((_, c)) = chars.next_if(|(_, c)| c.is_ascii_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                pieces.add_word(&word, at)?;
                if chars.peek().is_none() {
                    notes.push(format!(
                        "the query \"{name}\" ends with `${word}`: super-smack sends nothing in its place, étalon a word"
                    ));
                }
            }
            // A doubled quote inside a literal is one of its characters.
            '\'' | '"' if pieces.is_open(c) && chars.next_if(|(_, next)| *next == c).is_some() => {
                pieces.push_char(c);
                pieces.push_char(c);
            }
            '\'' | '"' => pieces.take_quote(c),
            c => pieces.push_char(c),
        }
    }
    if backslash {
        notes.push(format!(
            "the query \"{name}\" has a backslash: it takes the meaning from the one character behind it; in super-smack, \
             from all that follow"
        ));
    }
    Ok(WordyStatement { pieces: pieces.finish(), head })
}

struct Pieces<'f> {
    file: &'f SmackFile,
    query: &'f SpottedText,
    done: Vec<StatementPiece>,
    sql: String,
    /// The open literal: its quote, its parts so far, the text since.
    literal: Option<(char, Vec<LiteralPart>, String)>,
}

impl Pieces<'_> {
    /// Appends a character to the open literal, or to the SQL.
    fn push_char(&mut self, c: char) {
        match &mut self.literal {
            Some((_, _, text)) => text.push(c),
            None => self.sql.push(c),
        }
    }

    /// Whether a literal that began with this quote is open.
    fn is_open(&self, quote: char) -> bool {
        self.literal.as_ref().is_some_and(|(open, ..)| *open == quote)
    }

    /// Opens a literal, closes it, or takes the quote as part of it.
    fn take_quote(&mut self, quote: char) {
        match self.literal.take() {
            None => self.literal = Some((quote, Vec::new(), String::new())),
            Some((open, parts, text)) if open == quote => self.close_literal(open, parts, text),
            Some((open, parts, mut text)) => {
                text.push(quote);
                self.literal = Some((open, parts, text));
            }
        }
    }

    /// Ends a literal; one without words stays SQL.
    fn close_literal(&mut self, quote: char, mut parts: Vec<LiteralPart>, text: String) {
        if parts.is_empty() {
            self.sql.extend([quote.to_string(), text, quote.to_string()]);
            return;
        }
        if !text.is_empty() {
            parts.push(LiteralPart::Text(text));
        }
        self.flush_sql();
        self.done.push(StatementPiece::Literal(quote, parts));
    }

    /// Appends a dictionary's word to the open literal, or to the statement.
    fn add_word(&mut self, name: &str, at: usize) -> Result<(), SmackError> {
        let spot = self.spot_of(at);
        if name.is_empty() {
            return Err(SmackError::new(spot, "no dictionary follows `$`")
                .with_hint("`\\\\$` is a `$` by itself; a query without `parsed \"y\"` is sent as it is"));
        }
        self.file.need_section(SectionKind::Dictionary, name, spot)?;
        let number =
            self.file.section_names(SectionKind::Dictionary).position(|known| known == name).unwrap_or_default();
        match &mut self.literal {
            Some((_, parts, text)) => {
                if !text.is_empty() {
                    parts.push(LiteralPart::Text(std::mem::take(text)));
                }
                parts.push(LiteralPart::Word(number));
            }
            None => {
                self.flush_sql();
                self.done.push(StatementPiece::Word(number));
            }
        }
        Ok(())
    }

    /// Position in the file of a character of the query, as if there were no escapes earlier on the line.
    fn spot_of(&self, at: usize) -> Spot {
        let before: Vec<char> = self.query.text.chars().take(at).collect();
        let lines = before.iter().filter(|c| **c == '\n').count();
        let start = self.query.spot;
        match before.iter().rposition(|c| *c == '\n') {
            Some(newline) => Spot { line: start.line + lines, column: at - newline },
            None => Spot { line: start.line, column: start.column + 1 + at },
        }
    }

    /// Ends the current piece of SQL.
    fn flush_sql(&mut self) {
        if !self.sql.is_empty() {
            self.done.push(StatementPiece::Sql(std::mem::take(&mut self.sql)));
        }
    }

    /// Ends the statement, and returns its pieces.
    fn finish(mut self) -> Vec<StatementPiece> {
        // What is wrong with an open literal is for the server to say.
        if let Some((quote, parts, text)) = self.literal.take() {
            self.sql.push(quote);
            for part in parts {
                match part {
                    LiteralPart::Text(text) => self.sql.push_str(&text),
                    LiteralPart::Word(word) => {
                        self.flush_sql();
                        self.done.push(StatementPiece::Word(word));
                    }
                }
            }
            self.sql.push_str(&text);
        }
        self.flush_sql();
        self.done
    }
}

/// First word of a statement in lower case, after comments and brackets.
fn first_word(sql: &str) -> String {
    let mut rest = sql.trim_start();
    loop {
        let after = if let Some(comment) = rest.strip_prefix("--").or_else(|| rest.strip_prefix('#')) {
            comment.split_once('\n').map(|(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.split_once("*/").map(|(_, after)| after)
        } else {
            rest.strip_prefix('(')
        };
        match after {
            Some(after) => rest = after.trim_start(),
            None => break,
        }
    }
    rest.chars().take_while(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase()
}
