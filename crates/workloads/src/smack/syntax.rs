//! The grammar: sections, then `main`.

use super::error::SmackError;
use super::token::{SmackToken, SmackTokenKind, Spot, tokens};

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

    pub(super) fn as_str(self) -> &'static str {
        match self {
            SectionKind::Query => "query",
            SectionKind::Dictionary => "dictionary",
            SectionKind::Client => "client",
            SectionKind::Table => "table",
        }
    }

    fn keys(self) -> &'static [&'static str] {
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
    /// The last value wins if a key is repeated, as in the original.
    pub(super) fn get(&self, key: &str) -> Option<&SpottedText> {
        self.values.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// Error if the key is missing.
    pub(super) fn need(&self, key: &str) -> Result<&SpottedText, SmackError> {
        let what = self.kind.as_str();
        self.get(key)
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
    pub(super) fn of_kind(&self, kind: SectionKind) -> impl Iterator<Item = &SmackSection> {
        self.sections.iter().filter(move |section| section.kind == kind)
    }

    pub(super) fn find(&self, kind: SectionKind, name: &str) -> Option<&SmackSection> {
        self.of_kind(kind).find(|section| section.name.text == name)
    }

    pub(super) fn names(&self, kind: SectionKind) -> impl Iterator<Item = &str> {
        self.of_kind(kind).map(|section| section.name.text.as_str())
    }

    /// Error with suggestions if there is no such section.
    pub(super) fn need(&self, kind: SectionKind, name: &str, spot: Spot) -> Result<&SmackSection, SmackError> {
        self.find(kind, name).ok_or_else(|| {
            let message = format!("there is no {} \"{name}\"", kind.as_str());
            SmackError::new(spot, message).suggest(name, self.names(kind))
        })
    }
}

struct Parser {
    tokens: std::vec::IntoIter<SmackToken>,
    next: SmackToken,
}

pub(super) fn parse(text: &str) -> Result<SmackFile, SmackError> {
    let mut tokens = tokens(text)?.into_iter();
    let end = SmackToken { kind: SmackTokenKind::End, spot: Spot::default() };
    let next = tokens.next().unwrap_or(end);
    let mut parser = Parser { tokens, next };
    let mut sections: Vec<SmackSection> = Vec::new();
    loop {
        let (word, spot) = parser.word("a section (`query`, `dictionary`, `client`, `table`) or `main`")?;
        if word == "main" {
            let main = parser.main()?;
            parser.end()?;
            return Ok(SmackFile { sections, main, main_spot: spot });
        }
        let section = parser.section(&word, spot)?;
        let name = &section.name;
        if sections.iter().any(|known| known.kind == section.kind && known.name.text == name.text) {
            let message = format!("there are two of the {} \"{}\"", section.kind.as_str(), name.text);
            return Err(SmackError::new(name.spot, message).hint("give one of them another name"));
        }
        sections.push(section);
    }
}

impl Parser {
    fn take(&mut self) -> SmackToken {
        // After the end comes the end.
        let following = self.tokens.next().unwrap_or(SmackToken { kind: SmackTokenKind::End, spot: self.next.spot });
        std::mem::replace(&mut self.next, following)
    }

    fn wrong(&self, wanted: &str) -> SmackError {
        SmackError::new(self.next.spot, format!("{wanted} is expected here, not {}", self.next.kind.shown()))
    }

    fn word(&mut self, wanted: &str) -> Result<(String, Spot), SmackError> {
        match &self.next.kind {
            SmackTokenKind::Word(word) => {
                let word = word.clone();
                Ok((word, self.take().spot))
            }
            SmackTokenKind::End => Err(self.wrong(wanted).hint("a file ends with `main { … }`")),
            _ => Err(self.wrong(wanted)),
        }
    }

    fn text(&mut self, wanted: &str) -> Result<SpottedText, SmackError> {
        match &self.next.kind {
            SmackTokenKind::Text(text) => {
                let text = text.clone();
                Ok(SpottedText { text, spot: self.take().spot })
            }
            SmackTokenKind::Word(_) | SmackTokenKind::Number(_) => {
                Err(self.wrong(wanted).hint("put it in double quotes"))
            }
            _ => Err(self.wrong(wanted)),
        }
    }

    fn is_sign(&self, sign: char) -> bool {
        self.next.kind == SmackTokenKind::Sign(sign)
    }

    fn sign(&mut self, sign: char) -> Result<Spot, SmackError> {
        if self.is_sign(sign) { Ok(self.take().spot) } else { Err(self.wrong(&format!("`{sign}`"))) }
    }

    fn end(&mut self) -> Result<(), SmackError> {
        match self.next.kind {
            SmackTokenKind::End => Ok(()),
            _ => Err(self.wrong("the end of the file").hint("`main` is the last section")),
        }
    }

    fn section(&mut self, word: &str, spot: Spot) -> Result<SmackSection, SmackError> {
        let kind = SectionKind::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| {
            let known = SectionKind::ALL.map(SectionKind::as_str).into_iter().chain(["main"]);
            SmackError::new(spot, format!("there is no section `{word}`")).suggest(word, known)
        })?;
        let name = self.text(&format!("the name of the {word}, in quotes,"))?;
        self.sign('{')?;
        let mut values = Vec::new();
        while !self.is_sign('}') {
            let (key, spot) = self.word(&format!("a key of the {word}, or `}}`,"))?;
            if !kind.keys().contains(&key.as_str()) {
                let message = format!("a {word} has no key `{key}`");
                return Err(SmackError::new(spot, message).suggest(&key, kind.keys().iter().copied()));
            }
            let value = self.text(&format!("the value of `{key}`, in quotes,"))?;
            self.sign(';')?;
            values.push((key, value));
        }
        self.sign('}')?;
        Ok(SmackSection { kind, name, values })
    }

    fn main(&mut self) -> Result<Vec<Line>, SmackError> {
        self.sign('{')?;
        let mut lines = Vec::new();
        while !self.is_sign('}') {
            lines.push(if self.is_sign('$') { self.assignment()? } else { self.call()? });
        }
        self.sign('}')?;
        Ok(lines)
    }

    fn assignment(&mut self) -> Result<Line, SmackError> {
        self.sign('$')?;
        let (name, _) = self.word("the name of a variable")?;
        self.sign('=')?;
        let value = self.expression()?;
        self.sign(';')?;
        Ok(Line::Assign { name, value })
    }

    fn call(&mut self) -> Result<Line, SmackError> {
        let (text, spot) = self.word("a client's name, `$` or `}`")?;
        let client = SpottedText { text, spot };
        self.sign('.')?;
        let (text, spot) = self.word("a method")?;
        let method = SpottedText { text, spot };
        self.sign('(')?;
        let mut arguments = Vec::new();
        while !self.is_sign(')') {
            if !arguments.is_empty() {
                self.sign(',')?;
            }
            arguments.push(self.expression()?);
        }
        self.sign(')')?;
        self.sign(';')?;
        Ok(Line::Call { client, method, arguments })
    }

    fn expression(&mut self) -> Result<SmackExpression, SmackError> {
        let mut parts = vec![self.simple()?];
        while self.is_sign('.') {
            self.take();
            parts.push(self.simple()?);
        }
        Ok(parts)
    }

    fn simple(&mut self) -> Result<(Simple, Spot), SmackError> {
        let spot = self.next.spot;
        let simple = match self.next.kind.clone() {
            SmackTokenKind::Number(text) | SmackTokenKind::Text(text) => {
                self.take();
                Simple::Literal(text)
            }
            SmackTokenKind::Sign('$') => {
                self.take();
                match self.next.kind.clone() {
                    SmackTokenKind::Number(digits) => {
                        let number = digits.parse().map_err(|_| self.wrong("the number of an argument"))?;
                        self.take();
                        Simple::Argument(number)
                    }
                    _ => Simple::Variable(self.word("a number or a variable's name")?.0),
                }
            }
            SmackTokenKind::Word(_) => self.result()?,
            _ => return Err(self.wrong("a number, a text, `$` or a result such as `client::type::q_per_s`")),
        };
        Ok((simple, spot))
    }

    fn result(&mut self) -> Result<Simple, SmackError> {
        let (client, _) = self.word("a client's name")?;
        colons(self)?;
        let (first, _) = self.word("a result's name")?;
        if self.next.kind != SmackTokenKind::Colons {
            return Ok(Simple::Result { client, kind: None, field: first });
        }
        colons(self)?;
        let (field, _) = self.word("a result's name")?;
        Ok(Simple::Result { client, kind: Some(first), field })
    }
}

fn colons(parser: &mut Parser) -> Result<(), SmackError> {
    match parser.next.kind {
        SmackTokenKind::Colons => {
            parser.take();
            Ok(())
        }
        _ => Err(parser.wrong("`::`").hint("a text stands in double quotes")),
    }
}
