//! Fields of CSV files that a spreadsheet may open.

/// Quotes a CSV field as RFC 4180 does, with an apostrophe before what a spreadsheet would compute.
/// [`without_guard`] takes the apostrophe away again.
pub fn quote_field(text: &str) -> String {
    if is_formula(text) { quoted_raw(&format!("'{text}")) } else { quoted_raw(text) }
}

/// Quotes a CSV field as RFC 4180 does, and leaves it a formula if it is one.
pub fn quoted_raw(text: &str) -> String {
    let plain = !text.contains([',', ';', '\t', '"', '\n', '\r']) && text.trim() == text && !text.starts_with('#');
    if plain { text.to_owned() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

/// Takes off the apostrophe that [`quote_field`] puts before a formula; the quotes are gone already.
pub fn without_guard(text: &str) -> &str {
    text.strip_prefix('\'').filter(|rest| is_formula(rest)).unwrap_or(text)
}

/// Whether a spreadsheet would compute the text, with or without its apostrophes. A plain number is no formula.
fn is_formula(text: &str) -> bool {
    text.trim_start_matches('\'').starts_with(['=', '+', '-', '@', '\t', '\r'])
        && !text.parse().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_neither_torn_nor_run() {
        for (text, field) in [
            ("plain", "plain"),
            ("a,\"b\"\n", "\"a,\"\"b\"\"\n\""),
            ("=cmd()", "'=cmd()"),
            ("-5.2e3", "-5.2e3"),
            ("-inf", "'-inf"),
            ("'=a", "''=a"),
            ("#1", "\"#1\""),
        ] {
            assert_eq!(quote_field(text), field);
        }
        assert_eq!((without_guard("'=cmd()"), without_guard("'tis"), without_guard("''=a")), ("=cmd()", "'tis", "'=a"));
    }
}
