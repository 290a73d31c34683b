//! The grammar: sections, then `main`.

use super::error::SmackError;
use super::token::{SmackToken, SmackTokenKind, Spot, split_tokens};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SpottedText {
    pub(super) text: String,
    pub(super) spot: Spot,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    Query,
    Dictionary,
    Client,
    Table,
}

impl SectionKind {
    const ALL: [SectionKind; 4] =
        [SectionKind::Query, SectionKind::Dictionary, SectionKind::Client, SectionKind::Table];

    /// Word that begins a section of this kind.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            SectionKind::Query => "query",
            SectionKind::Dictionary => "dictionary",
            SectionKind::Client => "client",
            SectionKind::Table => "table",
        }
    }

    /// Keys that a section of this kind may have.
    fn known_keys(self) -> &'static [&'static str] {
        match self {
            SectionKind::Query => &["query", "type", "has_result_set", "parsed"],
            SectionKind::Dictionary => &["type", "source_type", "source", "delim", "file_size_equiv"],
            SectionKind::Client => &["user", "pass", "host", "db", "port", "socket", "query_barrel"],
            SectionKind::Table => &["client", "create", "min_rows", "data_file", "gen_data_file"],
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SmackSection {
    pub(super) kind: SectionKind,
    pub(super) name: SpottedText,
    pub(super) values: Vec<(String, SpottedText)>,
}

impl SmackSection {
    /// The last value of a key; the last one wins if a key is repeated, as in the original.
    pub(super) fn value_of_key(&self, key: &str) -> Option<&SpottedText> {
        self.values.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The value of a key; fails if the section has none.
    pub(super) fn need_key(&self, key: &str) -> Result<&SpottedText, SmackError> {
        let what = self.kind.as_str();
        self.value_of_key(key)
            .ok_or_else(|| SmackError::new(self.name.spot, format!("the {what} \"{}\" has no `{key}`", self.name.text)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Simple {
    /// A number or text.
    Literal(String),
    /// `$1`: an argument of the command line.
    Argument(usize),
    Variable(String),
    Result {
        client: String,
        kind: Option<String>,
        field: String,
    },
}

/// Simple values that `.` puts one behind the other.
pub(super) type SmackExpression = Vec<(Simple, Spot)>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    Call { client: SpottedText, method: SpottedText, arguments: Vec<SmackExpression> },
    Assign { name: String, value: SmackExpression },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SmackFile {
    pub(super) sections: Vec<SmackSection>,
    pub(super) main: Vec<Line>,
    pub(super) main_spot: Spot,
}

impl SmackFile {
    /// The file's sections of a kind.
    pub(super) fn sections_of_kind(&self, kind: SectionKind) -> impl Iterator<Item = &SmackSection> {
        self.sections.iter().filter(move |section| section.kind == kind)
    }

    /// The section of this kind and name; `None` if there is none.
    pub(super) fn find_section(&self, kind: SectionKind, name: &str) -> Option<&SmackSection> {
        self.sections_of_kind(kind).find(|section| section.name.text == name)
    }

    /// Names of the sections of a kind, in the order of the file.
    pub(super) fn section_names(&self, kind: SectionKind) -> impl Iterator<Item = &str> {
        self.sections_of_kind(kind).map(|section| section.name.text.as_str())
    }

    /// The section of this kind and name; fails with suggestions if there is none.
    pub(super) fn need_section(&self, kind: SectionKind, name: &str, spot: Spot) -> Result<&SmackSection, SmackError> {
        self.find_section(kind, name).ok_or_else(|| {
            let message = format!("there is no {} \"{name}\"", kind.as_str());
            SmackError::new(spot, message).with_suggestion(name, self.section_names(kind))
        })
    }
}

struct Parser {
    tokens: std::vec::IntoIter<SmackToken>,
    next: SmackToken,
}

/// Parses the text of a script: its sections, then `main`.
pub(super) fn parse(text: &str) -> Result<SmackFile, SmackError> {
    let mut tokens = split_tokens(text)?.into_iter();
    let end = SmackToken { kind: SmackTokenKind::End, spot: Spot::default() };
    let next = tokens.next().unwrap_or(end);
    let mut parser = Parser { tokens, next };
    let mut sections: Vec<SmackSection> = Vec::new();
    loop {
        let (word, spot) = parser.take_word("a section (`query`, `dictionary`, `client`, `table`) or `main`")?;
        if word == "main" {
            let main = parser.parse_main()?;
            parser.expect_end()?;
            return Ok(SmackFile { sections, main, main_spot: spot });
        }
        let section = parser.parse_section(&word, spot)?;
        let name = &section.name;
        if sections.iter().any(|known| known.kind == section.kind && known.name.text == name.text) {
            let message = format!("there are two of the {} \"{}\"", section.kind.as_str(), name.text);
            return Err(SmackError::new(name.spot, message).with_hint("give one of them another name"));
        }
        sections.push(section);
    }
}

impl Parser {
    /// Takes the next token; after the end, the end again.
    fn take_token(&mut self) -> SmackToken {
        // After the end comes the end.
        let following = self.tokens.next().unwrap_or(SmackToken { kind: SmackTokenKind::End, spot: self.next.spot });
        std::mem::replace(&mut self.next, following)
    }

    /// Makes the error that something else is expected here.
    fn wrong_token(&self, wanted: &str) -> SmackError {
        SmackError::new(self.next.spot, format!("{wanted} is expected here, not {}", self.next.kind.describe()))
    }

    /// Takes a word, and returns it with its position; fails if something else is next.
    fn take_word(&mut self, wanted: &str) -> Result<(String, Spot), SmackError> {
        match &self.next.kind {
            SmackTokenKind::Word(word) => {
                let word = word.clone();
                Ok((word, self.take_token().spot))
            }
            SmackTokenKind::End => Err(self.wrong_token(wanted).with_hint("a file ends with `main { … }`")),
            _ => Err(self.wrong_token(wanted)),
        }
    }

    /// Takes a quoted text, and returns it with its position; fails if something else is next.
    fn take_text(&mut self, wanted: &str) -> Result<SpottedText, SmackError> {
        match &self.next.kind {
            SmackTokenKind::Text(text) => {
                let text = text.clone();
                Ok(SpottedText { text, spot: self.take_token().spot })
            }
            SmackTokenKind::Word(_) | SmackTokenKind::Number(_) => {
                Err(self.wrong_token(wanted).with_hint("put it in double quotes"))
            }
            _ => Err(self.wrong_token(wanted)),
        }
    }

    /// Whether the next token is this sign.
    fn is_sign(&self, sign: char) -> bool {
        self.next.kind == SmackTokenKind::Sign(sign)
    }

    /// Takes a sign, and returns its position; fails if something else is next.
    fn take_sign(&mut self, sign: char) -> Result<Spot, SmackError> {
        if self.is_sign(sign) { Ok(self.take_token().spot) } else { Err(self.wrong_token(&format!("`{sign}`"))) }
    }

    /// Fails unless the text ends here.
    fn expect_end(&mut self) -> Result<(), SmackError> {
        match self.next.kind {
            SmackTokenKind::End => Ok(()),
            _ => Err(self.wrong_token("the end of the file").with_hint("`main` is the last section")),
        }
    }

    /// Parses a section, whose first word was read.
    fn parse_section(&mut self, word: &str, spot: Spot) -> Result<SmackSection, SmackError> {
        let kind = SectionKind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
            let known = SectionKind::ALL.map(SectionKind::as_str).into_iter().chain(["main"]);
            SmackError::new(spot, format!("there is no section `{word}`")).with_suggestion(word, known)
        })?;
        let name = self.take_text(&format!("the name of the {word}, in quotes,"))?;
        self.take_sign('{')?;
        let mut values = Vec::new();
        while !self.is_sign('}') {
            let (key, spot) = self.take_word(&format!("a key of the {word}, or `}}`,"))?;
            if !kind.known_keys().contains(&key.as_str()) {
                let message = format!("a {word} has no key `{key}`");
                return Err(SmackError::new(spot, message).with_suggestion(&key, kind.known_keys().iter().copied()));
            }
            let value = self.take_text(&format!("the value of `{key}`, in quotes,"))?;
            self.take_sign(';')?;
            values.push((key, value));
        }
        self.take_sign('}')?;
        Ok(SmackSection { kind, name, values })
    }

    /// Parses the lines of `main`, in its braces.
    fn parse_main(&mut self) -> Result<Vec<Line>, SmackError> {
        self.take_sign('{')?;
        let mut lines = Vec::new();
        while !self.is_sign('}') {
            lines.push(if self.is_sign('$') { self.parse_assignment()? } else { self.parse_call()? });
        }
        self.take_sign('}')?;
        Ok(lines)
    }

    /// Parses `$name = value;`.
    fn parse_assignment(&mut self) -> Result<Line, SmackError> {
        self.take_sign('$')?;
        let (name, _) = self.take_word("the name of a variable")?;
        self.take_sign('=')?;
        let value = self.parse_expression()?;
        self.take_sign(';')?;
        Ok(Line::Assign { name, value })
    }

    /// Parses `client.method(arguments);`.
    fn parse_call(&mut self) -> Result<Line, SmackError> {
        let (text, spot) = self.take_word("a client's name, `$` or `}`")?;
        let client = SpottedText { text, spot };
        self.take_sign('.')?;
        let (text, spot) = self.take_word("a method")?;
        let method = SpottedText { text, spot };
        self.take_sign('(')?;
        let mut arguments = Vec::new();
        while !self.is_sign(')') {
            if !arguments.is_empty() {
                self.take_sign(',')?;
            }
            arguments.push(self.parse_expression()?);
        }
        self.take_sign(')')?;
        self.take_sign(';')?;
        Ok(Line::Call { client, method, arguments })
    }

    /// Parses values that are joined by `.`.
    fn parse_expression(&mut self) -> Result<SmackExpression, SmackError> {
        let mut parts = vec![self.parse_simple()?];
        while self.is_sign('.') {
            self.take_token();
            parts.push(self.parse_simple()?);
        }
        Ok(parts)
    }

    /// Parses a text, a number, a variable or a result.
    fn parse_simple(&mut self) -> Result<(Simple, Spot), SmackError> {
        let spot = self.next.spot;
        let simple = match self.next.kind.clone() {
            SmackTokenKind::Number(text) | SmackTokenKind::Text(text) => {
                self.take_token();
                Simple::Literal(text)
            }
            SmackTokenKind::Sign('$') => {
                self.take_token();
                match self.next.kind.clone() {
                    SmackTokenKind::Number(digits) => {
                        let number = digits.parse().map_err(|_| self.wrong_token("the number of an argument"))?;
                        self.take_token();
                        Simple::Argument(number)
                    }
                    _ => Simple::Variable(self.take_word("a number or a variable's name")?.0),
                }
            }
            SmackTokenKind::Word(_) => self.parse_result()?,
            _ => return Err(self.wrong_token("a number, a text, `$` or a result such as `client::type::q_per_s`")),
        };
        Ok((simple, spot))
    }

    /// Parses `client::kind::field` or `client::field`.
    fn parse_result(&mut self) -> Result<Simple, SmackError> {
        let (client, _) = self.take_word("a client's name")?;
        take_colons(self)?;
        let (first, _) = self.take_word("a result's name")?;
        if self.next.kind != SmackTokenKind::Colons {
            return Ok(Simple::Result { client, kind: None, field: first });
        }
        take_colons(self)?;
        let (field, _) = self.take_word("a result's name")?;
        Ok(Simple::Result { client, kind: Some(first), field })
    }
}

/// Takes `::`; fails if something else is next.
fn take_colons(parser: &mut Parser) -> Result<(), SmackError> {
    match parser.next.kind {
        SmackTokenKind::Colons => {
            parser.take_token();
            Ok(())
        }
        _ => Err(parser.wrong_token("`::`").with_hint("a text stands in double quotes")),
    }
}
