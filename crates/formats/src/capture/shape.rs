//! A statement without its values.

/// Stands in a shape for a literal or a comment. No server takes a statement with this character.
pub const MARK: char = '\0';
/// What is kept of a class's text: its beginning is enough to know it again.
const MAX_CLASS_CHARS: usize = 4_000;

/// How texts of a server are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// Quotation marks enclose names; strings may stand between `$tag$`; comments may be nested.
    Standard,
    /// Quotation marks enclose strings, in which a backslash escapes; `#` begins a comment.
    Backslash,
}

/// A statement taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shaped {
    /// The text with [`MARK`] in place of its literals and comments.
    pub shape: String,
    pub literals: Vec<String>,
    /// What statements have in common that differ in values, comments, white space, case and number of rows.
    pub class: String,
    /// The highest `$1`, `$2`, … outside quotes.
    pub parameters: usize,
}

impl Shaped {
    /// Gives the first word of the statement, in capitals.
    pub fn first_word(&self) -> String {
        let letters = self.class.trim_start_matches(['(', ' ']).chars().take_while(|c| c.is_alphabetic());
        letters.take(24).collect::<String>().to_uppercase()
    }
}

/// Takes a statement apart: its shape without literals and comments, these, and its class.
pub fn take_apart(text: &str, syntax: Syntax) -> Shaped {
    let mut shaped = Shaped::default();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let piece = next_piece(text, at, syntax);
        let part = &rest[..piece.length.clamp(1, rest.len())];
        match piece.kind {
            Kind::Value => {
                shaped.literals.push(part.to_owned());
                shaped.shape.push(MARK);
                push_value(&mut shaped.class);
            }
            Kind::Comment => {
                shaped.literals.push(part.to_owned());
                shaped.shape.push(MARK);
                push_space(&mut shaped.class);
            }
            Kind::Parameter(number) => {
                shaped.parameters = shaped.parameters.max(number);
                shaped.shape.push_str(part);
                push_value(&mut shaped.class);
            }
            Kind::Name => {
                shaped.shape.push_str(part);
                shaped.class.push_str(part);
            }
            Kind::Word => {
                shaped.shape.push_str(part);
                shaped.class.push_str(&part.to_lowercase());
            }
            Kind::Space => {
                shaped.shape.push_str(part);
                push_space(&mut shaped.class);
            }
            Kind::Sign => {
                shaped.shape.push_str(part);
                push_sign(&mut shaped.class, part);
            }
        }
        at += part.len();
    }
    let class = shaped.class.trim_end_matches([' ', ';']);
    shaped.class = class.to_owned();
    shaped
}

/// Cuts a class's text to the length that is stored and shown.
pub fn shorten_class(class: &str) -> String {
    match class.char_indices().nth(MAX_CLASS_CHARS) {
        Some((end, _)) => format!("{}…", &class[..end]),
        None => class.to_owned(),
    }
}

/// Restores the text that a shape was made from; fewer literals than marks leave marks.
pub fn fill_shape(shape: &str, literals: &[String]) -> String {
    let mut literals = literals.iter();
    let mut text = String::with_capacity(shape.len());
    for c in shape.chars() {
        match if c == MARK { literals.next() } else { None } {
            Some(literal) => text.push_str(literal),
            None => text.push(c),
        }
    }
    text
}

/// Restores a shape's text, with values in place of `$1`, `$2`, …; one that `value` does not have stays.
pub fn fill_in_values(shape: &str, literals: &[String], value: impl Fn(usize) -> Option<String>) -> String {
    let mut filled = String::with_capacity(shape.len());
    let mut at = 0;
    while at < shape.len() {
        let piece = next_piece(shape, at, Syntax::Standard);
        let part = &shape[at..at + piece.length.clamp(1, shape.len() - at)];
        match piece.kind {
            Kind::Parameter(number) => filled.push_str(value(number).as_deref().unwrap_or(part)),
            _ => filled.push_str(part),
        }
        at += part.len();
    }
    fill_shape(&filled, literals)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Value,
    Comment,
    Parameter(usize),
    /// A quoted name.
    Name,
    Word,
    Space,
    Sign,
}

struct Piece {
    kind: Kind,
    length: usize,
}

/// Finds the piece of the statement that begins at `at`.
fn next_piece(text: &str, at: usize, syntax: Syntax) -> Piece {
    let rest = &text[at..];
    let bytes = rest.as_bytes();
    match bytes[0] {
        b'-' if is_dashes_comment(bytes, syntax) => make_piece(Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
        b'#' if syntax == Syntax::Backslash => make_piece(Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
        // What stands behind the mark is executed.
        b'/' if rest.starts_with("/*") && !rest.starts_with("/*!") && !rest.starts_with("/*M!") => {
            make_piece(Kind::Comment, comment_length(bytes, syntax))
        }
        b'\'' => {
            let before = &text.as_bytes()[..at];
            let is_escaped = syntax == Syntax::Backslash || ends_with_escape_prefix(before);
            make_piece(Kind::Value, quoted_length(bytes, b'\'', is_escaped))
        }
        b'"' if syntax == Syntax::Backslash => make_piece(Kind::Value, quoted_length(bytes, b'"', true)),
        quote @ (b'"' | b'`') => make_piece(Kind::Name, quoted_length(bytes, quote, false)),
        b'$' if syntax == Syntax::Standard => dollar_piece(rest),
        b'0'..=b'9' => make_piece(Kind::Value, number_length(bytes)),
        b'.' if bytes.get(1).is_some_and(u8::is_ascii_digit) && !ends_with_word(&text[..at]) => {
            make_piece(Kind::Value, number_length(bytes))
        }
        byte if byte.is_ascii_whitespace() => {
            make_piece(Kind::Space, bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count())
        }
        byte if is_word_byte(byte) => {
            make_piece(Kind::Word, bytes.iter().take_while(|byte| is_word_byte(**byte) || **byte == b'$').count())
        }
        _ => make_piece(Kind::Sign, 1),
    }
}

/// Tests whether a comment begins with two dashes here: `5--1` of MySQL has none.
fn is_dashes_comment(bytes: &[u8], syntax: Syntax) -> bool {
    let is_apart = bytes.get(2).is_none_or(|byte| byte.is_ascii_whitespace() || byte.is_ascii_control());
    bytes.starts_with(b"--") && (syntax == Syntax::Standard || is_apart)
}

/// Makes a piece of a kind and a length in bytes.
fn make_piece(kind: Kind, length: usize) -> Piece {
    Piece { kind, length }
}

/// Tests whether a byte can be part of a name.
fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Tests whether a text ends with a name or its closing quotation mark.
fn ends_with_word(text: &str) -> bool {
    text.as_bytes().last().is_some_and(|byte| is_word_byte(*byte) || matches!(byte, b'"' | b'`'))
}

/// Tests whether the bytes before a quotation mark end with the `E` of `E'…'`.
fn ends_with_escape_prefix(before: &[u8]) -> bool {
    match before {
        [.., byte, b'e' | b'E'] => !is_word_byte(*byte),
        [b'e' | b'E'] => true,
        _ => false,
    }
}

/// Gives the length of a quoted text, to its end or to that of the statement.
fn quoted_length(bytes: &[u8], quote: u8, is_escaped: bool) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if is_escaped => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Gives the length of a comment that begins with `/*`.
fn comment_length(bytes: &[u8], syntax: Syntax) -> usize {
    let (mut at, mut depth) = (2, 1);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            b"/*" if syntax == Syntax::Standard => {
                depth += 1;
                at += 2;
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Makes the piece that begins with `$`: `$1`, `$tag$…$tag$`, or a sign.
fn dollar_piece(rest: &str) -> Piece {
    let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let number = rest[1..=digits].parse::<u16>().map_or(0, usize::from);
        return Piece { kind: Kind::Parameter(number), length: 1 + digits };
    }
    let tag = rest[1..].bytes().take_while(|byte| is_word_byte(*byte)).count();
    if rest.as_bytes().get(1 + tag) != Some(&b'$') {
        return Piece { kind: Kind::Sign, length: 1 };
    }
    let fence = &rest[..tag + 2];
    let end = rest[fence.len()..].find(fence).map_or(rest.len(), |at| 2 * fence.len() + at);
    Piece { kind: Kind::Value, length: end }
}

/// Gives the length of a number: `12`, `1.5e-3`, `0xFF`, `1_000`.
fn number_length(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        let is_sign = matches!(bytes[at], b'+' | b'-');
        let is_exponent = at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !bytes.starts_with(b"0x");
        let is_dot = bytes[at] == b'.' && bytes.get(at + 1) != Some(&b'.');
        if !(is_word_byte(bytes[at]) && bytes[at] < 0x80 || is_dot || (is_sign && is_exponent)) {
            break;
        }
        at += 1;
    }
    at.max(1)
}

/// Appends a blank to a class, but for its beginning and behind another or a bracket.
fn push_space(class: &mut String) {
    if !class.is_empty() && !class.ends_with([' ', '(']) {
        class.push(' ');
    }
}

/// Appends a sign with the blanks that belong to it, and drops a row of values equal to the one before.
fn push_sign(class: &mut String, sign: &str) {
    if matches!(sign, "," | ")" | ";") && class.ends_with(' ') {
        class.pop();
    }
    class.push_str(sign);
    match sign {
        "," => class.push(' '),
        ")" => {
            for row in ["(?, …)", "(?)"] {
                let rows = format!("{row}, {row}");
                if class.ends_with(&rows) {
                    class.truncate(class.len() - row.len() - 2);
                }
            }
        }
        _ => {}
    }
}

/// Appends a value to a class; several behind each other become `?, …`.
fn push_value(class: &mut String) {
    if class.ends_with("?, …, ") {
        class.truncate(class.len() - 2);
    } else if class.ends_with("?, ") {
        class.push('…');
    } else {
        class.push('?');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_leave_the_shape_and_the_class() {
        for (sql, class) in [
            ("SELECT  a FROM t WHERE b = 'it''s' AND c=-1.5e-3;", "select a from t where b = ? and c=-?"),
            ("select a from t1 where b in (1,2 , 3)", "select a from t1 where b in (?, …)"),
            ("INSERT INTO t VALUES (1, 'a'), (2, 'b'),(3,'c')", "insert into t values (?, …)"),
            ("SELECT $1::int, $tag$ a'b $tag$ -- secret 5", "select ?::int, ?"),
            ("SELECT E'a\\'b', 'c\\' /* 1 /* 2 */ 3 */ FROM \"T 1\"", "select e?, … from \"T 1\""),
            ("SELECT $1, $2, $3", "select ?, …"),
            ("COMMIT", "commit"),
        ] {
            let shaped = take_apart(sql, Syntax::Standard);
            assert_eq!(shaped.class, class, "{sql}");
            assert_eq!(fill_shape(&shaped.shape, &shaped.literals), sql);
        }
        let shaped = take_apart("SELECT \"a\\\"b\", `c d`, 0xFF # x 5\n FROM t/*! 5 */", Syntax::Backslash);
        assert_eq!(shaped.class, "select ?, `c d`, ? from t/*! ? */");
        assert_eq!(shaped.literals, ["\"a\\\"b\"", "0xFF", "# x 5", "5"]);
        let shaped = take_apart("SELECT 5--1 -- x\n/*M!100100 INTO OUTFILE 'x' */", Syntax::Backslash);
        assert_eq!(shaped.class, "select ?--? /*m!? into outfile ? */");
    }

    #[test]
    fn parameters_get_their_values_outside_names_and_literals() {
        let shaped = take_apart("SELECT '$1', \"$1\", $1::int + $2, $3 -- $1", Syntax::Standard);
        let value = |number| (number < 3).then(|| format!("'v{number}'"));
        let filled = fill_in_values(&shaped.shape, &shaped.literals, value);
        assert_eq!(filled, "SELECT '$1', \"$1\", 'v1'::int + 'v2', $3 -- $1");
    }

    #[test]
    fn a_long_class_is_cut_where_a_letter_ends() {
        assert_eq!(shorten_class(&"é".repeat(5_000)).chars().count(), MAX_CLASS_CHARS + 1);
    }

    proptest! {
        #[test]
        fn any_text_comes_back_whole(sql in "[^\0]{0,60}") {
            for syntax in [Syntax::Standard, Syntax::Backslash] {
                let shaped = take_apart(&sql, syntax);
                prop_assert_eq!(fill_shape(&shaped.shape, &shaped.literals), sql.clone());
            }
        }

        #[test]
        fn quotes_and_dollars_come_back_whole(sql in "['\"`$a-b1 /*#\\\\\n.eE-]{0,40}") {
            for syntax in [Syntax::Standard, Syntax::Backslash] {
                let shaped = take_apart(&sql, syntax);
                prop_assert_eq!(fill_shape(&shaped.shape, &shaped.literals), sql.clone());
            }
        }
    }
}
