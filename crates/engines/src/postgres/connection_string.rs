//! Connection strings of libpq, as in `host=/tmp port=5433 dbname=shop`, as URLs.
//!
//! <https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-KEYWORD-VALUE>

use std::fmt::Write as _;
use std::iter::Peekable;
use std::str::Chars;

/// Keywords that say where a server is: without any of them a text is no connection string.
const PLACES: [&str; 6] = ["host", "hostaddr", "port", "dbname", "user", "service"];
/// Keywords that stand alone; `host=/tmp` alone may also be a folder with a name.
const ALONE: [&str; 2] = ["dbname", "service"];

/// Converts a libpq connection string to a URL with the same options; `None` if the text is none.
pub(super) fn connection_string_to_url(text: &str) -> Option<String> {
    let pairs = parse_pairs(text)?;
    let is_known = match pairs.as_slice() {
        [] => false,
        [(keyword, value)] => ALONE.contains(&keyword.as_str()) && !value.contains([':', '/', '\\']),
        many => many.iter().any(|(keyword, _)| PLACES.contains(&keyword.as_str())),
    };
    let options = pairs.iter().map(|(keyword, value)| format!("{keyword}={}", percent_encode(value)));
    is_known.then(|| format!("postgres:///?{}", options.collect::<Vec<_>>().join("&")))
}

/// Parses keywords with their values; leaves out empty ones, as libpq does. `None` if the text is malformed.
fn parse_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.chars().peekable();
    loop {
        skip_blanks(&mut rest);
        if rest.peek().is_none() {
            return Some(pairs);
        }
        let mut keyword = String::new();
        while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            keyword.push(c);
        }
        skip_blanks(&mut rest);
        if keyword.is_empty() {
            return None;
        }
        rest.next_if_eq(&'=')?;
        skip_blanks(&mut rest);
        let value = take_value(&mut rest)?;
        if !value.is_empty() {
            pairs.push((keyword, value));
        }
    }
}

/// Skips blanks at the front of the text.
fn skip_blanks(rest: &mut Peekable<Chars<'_>>) {
    while rest.next_if(|c| c.is_ascii_whitespace()).is_some() {}
}

/// Takes a value up to a blank, or between quotes; `\` takes the next character as it is.
/// `None` if a quote does not end.
fn take_value(rest: &mut Peekable<Chars<'_>>) -> Option<String> {
    let is_quoted = rest.next_if_eq(&'\'').is_some();
    let mut value = String::new();
    while let Some(c) = rest.next() {
        match c {
            '\'' if is_quoted => return Some(value),
            c if c.is_ascii_whitespace() && !is_quoted => return Some(value),
            '\\' => value.extend(rest.next()),
            c => value.push(c),
        }
    }
    (!is_quoted).then_some(value)
}

/// Encodes all but plain characters of a value as `%XX`.
fn percent_encode(value: &str) -> String {
    let mut text = String::new();
    for byte in value.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => text.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::Address;
    use crate::server::url::Address as _;
    use crate::server::url::tests::parse;

    fn address(text: &str) -> Address {
        let url = connection_string_to_url(text).unwrap_or_else(|| panic!("{text} is no connection string"));
        parse(&url).unwrap_or_else(|failure| panic!("{url}: {failure}"))
    }

    #[test]
    fn a_connection_string_is_read_as_libpq_does() {
        let found = address("host=/tmp port=5433 dbname=shop user=me");
        assert_eq!(found.shown_url(), "postgres://me@/shop?host=/tmp&port=5433");
        let found = address(r" host = 10.0.0.7  user='m e' dbname=a\ b password='it\'s 50% @&=' options='-c jit=off' ");
        assert_eq!((found.host.as_str(), found.user.as_str(), found.database.as_str()), ("10.0.0.7", "m e", "a b"));
        assert_eq!((found.password.as_deref(), found.options.as_str()), (Some("it's 50% @&="), "-c jit=off"));
        assert_eq!(address("dbname=shop user=me host=''").database, "shop");
        assert_eq!(connection_string_to_url("service=shop").as_deref(), Some("postgres:///?service=shop"));
        let failure =
            parse::<Address>(&connection_string_to_url("host=h user=u sslmod=require").unwrap()).err().unwrap();
        assert!(failure.to_string().contains("`sslmod`"), "{failure}");
    }

    #[test]
    fn other_texts_are_no_connection_strings() {
        for text in [
            "",
            "shop",
            "host=/tmp",
            "old=postgres:18",
            "service=postgres:18",
            "a=1 b=2",
            "host=h dbname",
            "host=h dbname='x",
            "postgres://u@h/d?x=1 y=2",
            "my script=1.sql",
        ] {
            assert_eq!(connection_string_to_url(text), None, "{text}");
        }
    }
}
