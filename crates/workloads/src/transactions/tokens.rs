//! The words of expressions.

use super::value::double_of_text;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScriptToken {
    Int(i64),
    /// 2^63, a number only behind a unary minus.
    IntMinimum,
    Double(f64),
    Variable(String),
    Name(String),
    Keyword(Keyword),
    Sign(&'static str),
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    And,
    Or,
    Not,
    Is,
    IsNull,
    NotNull,
    Case,
    When,
    Then,
    Else,
    End,
    Null,
    True,
    False,
}

const KEYWORDS: [(&str, Keyword); 14] = [
    ("and", Keyword::And),
    ("or", Keyword::Or),
    ("not", Keyword::Not),
    ("is", Keyword::Is),
    ("isnull", Keyword::IsNull),
    ("notnull", Keyword::NotNull),
    ("case", Keyword::Case),
    ("when", Keyword::When),
    ("then", Keyword::Then),
    ("else", Keyword::Else),
    ("end", Keyword::End),
    ("null", Keyword::Null),
    ("true", Keyword::True),
    ("false", Keyword::False),
];

/// Longer signs come before those that they begin with.
const SIGNS: [&str; 21] =
    ["<<", ">>", "<=", ">=", "<>", "!=", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~", "(", ")", ","];

/// Where something is wrong, in bytes, and what.
pub(super) type Wrong = (usize, String);

/// Whether a variable's name can begin with a character.
pub(super) fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

/// Whether a variable's name can have a character after its first.
pub(super) fn continues_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit()
}

/// Length in bytes of the name at the beginning of a text; 0 if there is none.
pub(super) fn name_length(text: &str) -> usize {
    text.find(|c| !continues_name(c)).unwrap_or(text.len())
}

/// Whether a text is a variable's name.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(begins_name) && name_length(text) == text.len()
}

/// Length of the continuation mark at the beginning of a text: a backslash before the end of the line.
pub(super) fn continuation_length(text: &str) -> Option<usize> {
    ["\\\n", "\\\r\n"].iter().find(|mark| text.starts_with(*mark)).map(|mark| mark.len())
}

/// Splits an expression into tokens with their positions; the last one is [`ScriptToken::End`].
pub(super) fn split_tokens(text: &str) -> Result<Vec<(usize, ScriptToken)>, Wrong> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else {
            tokens.push((at, ScriptToken::End));
            return Ok(tokens);
        };
        if matches!(first, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}') {
            at += 1;
            continue;
        }
        if let Some(length) = continuation_length(rest) {
            at += length;
            continue;
        }
        let (length, token) = read_token(rest, first).map_err(|message| (at, message))?;
        tokens.push((at, token));
        at += length;
    }
}

/// Reads the token at the beginning of `rest`, and returns its length too.
fn read_token(rest: &str, first: char) -> Result<(usize, ScriptToken), String> {
    if first.is_ascii_digit() || (first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) {
        return read_number(rest);
    }
    if first == ':' {
        let length = name_length(&rest[1..]);
        if length == 0 {
            return Err("the name of a variable is expected after `:`".to_owned());
        }
        return Ok((1 + length, ScriptToken::Variable(rest[1..=length].to_owned())));
    }
    if begins_name(first) {
        let name = &rest[..name_length(rest)];
        let keyword = KEYWORDS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
        let token =
            keyword.map_or_else(|| ScriptToken::Name(name.to_owned()), |(_, keyword)| ScriptToken::Keyword(*keyword));
        return Ok((name.len(), token));
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((sign.len(), ScriptToken::Sign(sign))),
        None => Err(format!("`{first}` is not expected in an expression")),
    }
}

/// Reads the number at the beginning of `rest`, and returns its length too; fails if it is out of range.
fn read_number(rest: &str) -> Result<(usize, ScriptToken), String> {
    let whole = count_digits(rest);
    let mut length = whole;
    if rest[length..].starts_with('.') {
        length += 1 + count_digits(&rest[length + 1..]);
    }
    if rest[length..].starts_with(['e', 'E']) {
        let signed = usize::from(rest[length + 1..].starts_with(['+', '-']));
        let exponent = count_digits(&rest[length + 1 + signed..]);
        if exponent > 0 {
            length += 1 + signed + exponent;
        }
    }
    let text = &rest[..length];
    if length > whole {
        let double = double_of_text(text).map(ScriptToken::Double);
        return double.map(|token| (length, token)).ok_or_else(|| format!("`{text}` is out of a double's range"));
    }
    if text == "9223372036854775808" {
        return Ok((length, ScriptToken::IntMinimum));
    }
    text.parse().map(|n| (length, ScriptToken::Int(n))).map_err(|_| format!("`{text}` is out of a bigint's range"))
}

/// Number of digits at the beginning of a text.
fn count_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinguished() {
        assert_eq!(
            words("12 1.5 .5 1e3 1.e-2"),
            [
                ScriptToken::Int(12),
                ScriptToken::Double(1.5),
                ScriptToken::Double(0.5),
                ScriptToken::Double(1000.0),
                ScriptToken::Double(0.01),
                ScriptToken::End
            ]
        );
        assert_eq!(
            words(":aé1<<=andy AND"),
            [
                ScriptToken::Variable("aé1".to_owned()),
                ScriptToken::Sign("<<"),
                ScriptToken::Sign("="),
                ScriptToken::Name("andy".to_owned()),
                ScriptToken::Keyword(Keyword::And),
                ScriptToken::End
            ]
        );
        assert_eq!(words("1 \\\n + \\\r\n 2").len(), 4);
        assert_eq!(words("1e").len(), 3);
        assert_eq!(words("9223372036854775808")[0], ScriptToken::IntMinimum);
        assert!(split_tokens("9223372036854775809").is_err());
        assert!(split_tokens("1e400").is_err());
        assert_eq!(split_tokens("1 + ?").unwrap_err().0, 4);
    }

    fn words(text: &str) -> Vec<ScriptToken> {
        split_tokens(text).unwrap().into_iter().map(|(_, token)| token).collect::<Vec<_>>()
    }
}
