//! Words, strings and signs of a `.smack` file.

use super::error::SmackError;

/// A place in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot {
    pub line: usize,
    pub column: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SmackTokenKind {
    /// A letter, then letters, digits and underscores.
    Word(String),
    Number(String),
    /// A text in double quotes, without them.
    Text(String),
    Sign(char),
    Colons,
    /// The end of the file.
    End,
}

impl SmackTokenKind {
    /// Words for the token, for a message.
    pub(super) fn describe(&self) -> String {
        match self {
            SmackTokenKind::Word(word) | SmackTokenKind::Number(word) => format!("`{word}`"),
            SmackTokenKind::Text(_) => "a text in quotes".to_owned(),
            SmackTokenKind::Sign(sign) => format!("`{sign}`"),
            SmackTokenKind::Colons => "`::`".to_owned(),
            SmackTokenKind::End => "the end of the file".to_owned(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SmackToken {
    pub(super) kind: SmackTokenKind,
    pub(super) spot: Spot,
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    spot: Spot,
}

impl Reader<'_> {
    /// The next character, which is not taken.
    fn peek_char(&mut self) -> Option<char> {
        self.rest.peek().copied()
    }

    /// Takes the next character, and moves the position.
    fn take_char(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        if c == '\n' {
            self.spot = Spot { line: self.spot.line + 1, column: 1 };
        } else {
            self.spot.column += 1;
        }
        Some(c)
    }

    /// Takes characters as long as they are wanted, and returns them.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while self.peek_char().is_some_and(&wanted) {
            taken.extend(self.take_char());
        }
        taken
    }

    /// Takes a quoted text up to its closing quote; `opened` is the position of the first.
    fn take_text(&mut self, opened: Spot) -> Result<String, SmackError> {
        let mut text = String::new();
        loop {
            let spot = self.spot;
            match self.take_char() {
                None => {
                    return Err(SmackError::new(opened, "this text has no closing quote")
                        .with_hint("a text may run over several lines; `\\\"` is a quote inside it"));
                }
                Some('"') => return Ok(text),
                Some('\\') => match self.take_char() {
                    Some(c @ ('"' | '\\' | '\n')) => text.push(c),
                    // The original loses everything up to the next quote, backslash or line end.
                    other => {
                        let after = other.map(String::from).unwrap_or_default();
                        return Err(SmackError::new(spot, format!("`\\{after}` means nothing in a text"))
                            .with_hint("there are `\\\"`, `\\\\` and a backslash before the end of a line"));
                    }
                },
                // A file from Windows means the same as one from elsewhere.
                Some('\r') if self.peek_char() == Some('\n') => {}
                Some(c) => text.push(c),
            }
        }
    }
}

/// Splits a script into tokens; the last one is [`SmackTokenKind::End`].
pub(super) fn split_tokens(file: &str) -> Result<Vec<SmackToken>, SmackError> {
    let file = file.strip_prefix('\u{feff}').unwrap_or(file);
    let mut reader = Reader { rest: file.chars().peekable(), spot: Spot { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        reader.take_while(char::is_whitespace);
        let spot = reader.spot;
        let Some(first) = reader.take_char() else {
            tokens.push(SmackToken { kind: SmackTokenKind::End, spot });
            return Ok(tokens);
        };
        let kind = match (first, reader.peek_char()) {
            ('#', _) | ('/', Some('/')) => {
                reader.take_while(|c| c != '\n');
                continue;
            }
            (':', Some(':')) => {
                reader.take_char();
                SmackTokenKind::Colons
            }
            ('"', _) => SmackTokenKind::Text(reader.take_text(spot)?),
            ('{' | '}' | '(' | ')' | ';' | '.' | ',' | '$' | '=', _) => SmackTokenKind::Sign(first),
            (c, _) if c.is_ascii_alphabetic() => {
                let rest = reader.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
                SmackTokenKind::Word(format!("{c}{rest}"))
            }
            (c, _) if c.is_ascii_digit() => {
                let rest = reader.take_while(|c| c.is_ascii_digit());
                SmackTokenKind::Number(format!("{c}{rest}"))
            }
            (c, _) => {
                return Err(SmackError::new(spot, format!("`{}` means nothing here", c.escape_default()))
                    .with_hint("values are texts in double quotes; comments begin with `//` or `#`"));
            }
        };
        tokens.push(SmackToken { kind, spot });
    }
}
