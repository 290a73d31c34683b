//! Rules about the language of the code: words that a newcomer would have to learn, comments that are no sentences, and closures that
//! stand where a function, or the place of their one call, would be read more easily. Texts in strings are not judged here.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::Finding;

/// First words of a comment that only goes on where the name ends.
const CONTINUATIONS: [&str; 8] = ["Of", "By", "And", "Or", "With", "In", "So", "As"];
/// The largest share of a crate's doc comments that may begin so, in percent.
const MOST_CONTINUATIONS_PERCENT: usize = 5;
/// The most closures that `let` may bind in 1,000 lines of a crate.
const MOST_CLOSURES: usize = 3;

/// What `xtask/tidy.toml` says of the language of the code.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct Plain {
    #[serde(default)]
    word: Vec<Word>,
}

/// A word, or several in a row, that must not come back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Word {
    word: String,
    /// What is written instead.
    write: String,
    /// Crates that still have it.
    #[serde(default)]
    left_in: Vec<String>,
}

/// Finds words, doc comments and closures in the sources of every crate that are not plain.
///
/// # Errors
///
/// When one cannot be read.
pub fn check_all(root: &Path, files: &[String], plain: &Plain) -> Result<Vec<Finding>> {
    let mut crates: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        if let Some(name) = crate_of(path) {
            let text = std::fs::read_to_string(root.join(path)).context(path.clone())?;
            crates.entry(name).or_default().push((path, text));
        }
    }
    Ok(crates.iter().flat_map(|(name, sources)| check_crate(name, sources, plain)).collect())
}

/// Names the crate whose `src` a file is in.
fn crate_of(path: &str) -> Option<&str> {
    if path.starts_with("xtask/src/") {
        return Some("xtask");
    }
    let (name, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    rest.starts_with("src/").then_some(name)
}

/// Finds forbidden words, doc comments that only go on, and too many closures in a crate's sources.
fn check_crate(name: &str, sources: &[(&str, String)], plain: &Plain) -> Vec<Finding> {
    let folder = if name == "xtask" { "xtask/src".to_owned() } else { format!("crates/{name}/src") };
    let mut findings = Vec::new();
    let mut left: Vec<&Word> =
        plain.word.iter().filter(|word| word.left_in.iter().any(|other| other == name)).collect();
    let (mut lines, mut closures, mut docs, mut continuations) = (0, 0, 0, 0);
    for (path, text) in sources {
        let parts = Parts::of_file(text);
        lines += text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count();
        closures += parts.code.lines().filter(|line| binds_closure(line)).count();
        for first in first_lines_of_docs(text) {
            docs += 1;
            continuations += usize::from(CONTINUATIONS.contains(&first_word(first)));
        }
        for word in &plain.word {
            let found = parts.lines_with(&word.word);
            if !found.is_empty() {
                left.retain(|other| other.word != word.word);
            }
            if !word.left_in.iter().any(|other| other == name) {
                let advice = format!("\"{}\": write {}", word.word, word.write);
                findings.extend(
                    found.into_iter().map(|line| plain_finding(path, line, "word", &word.word, advice.clone())),
                );
            }
        }
    }
    findings.extend(left.into_iter().map(|word| {
        let advice = format!("no \"{}\" is left: take {name} out of its `left_in` in xtask/tidy.toml", word.word);
        plain_finding(&folder, 1, "word", &word.word, advice)
    }));
    if continuations * 100 > docs * MOST_CONTINUATIONS_PERCENT {
        let advice = format!(
            "{continuations} of {docs} doc comments begin with {}: begin with a subject, so that they can be read without the name",
            CONTINUATIONS.join(", ")
        );
        findings.push(plain_finding(&folder, 1, "doc-start", name, advice));
    }
    let limit = (MOST_CLOSURES * lines).div_ceil(1000);
    if closures > limit {
        let advice = format!(
            "{closures} closures are bound by `let` in {lines} lines, and {limit} are read easily: write functions, or write them where \
             they are called"
        );
        findings.push(plain_finding(&folder, 1, "closures", name, advice));
    }
    findings
}

/// Makes a finding about a source's language.
fn plain_finding(path: &str, line: usize, rule: &'static str, item: &str, advice: String) -> Finding {
    Finding { path: path.to_owned(), line, rule, item: item.to_owned(), advice }
}

/// Tests whether a line binds a closure by `let`.
fn binds_closure(line: &str) -> bool {
    line.match_indices("let ").any(|(at, found)| {
        let rest = &line[at + found.len()..];
        let rest = rest.strip_prefix("mut ").unwrap_or(rest);
        let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        let Some(value) = rest.strip_prefix(" = ") else { return false };
        value.strip_prefix("move ").unwrap_or(value).starts_with('|')
    })
}

/// Lists the first line of each doc comment.
fn first_lines_of_docs(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.lines().filter_map(move |line| {
        let doc = line.trim_start().strip_prefix("///").filter(|rest| rest.is_empty() || rest.starts_with(' '));
        let is_first = doc.is_some() && !is_inside;
        is_inside = doc.is_some();
        doc.map(str::trim).filter(|doc| is_first && !doc.is_empty())
    })
}

/// Gives the first word of a text; empty if it begins with another character.
fn first_word(text: &str) -> &str {
    text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default()
}

/// What a reader reads of a file, without the texts in strings, which are blanks in the code.
struct Parts {
    code: String,
    /// The words of the code's names and those of the comments, with their lines.
    words: [Vec<(usize, String)>; 2],
}

impl Parts {
    /// Splits a file into code and comments.
    fn of_file(text: &str) -> Parts {
        let (mut code, mut comments) = (String::new(), String::new());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let (kind, length) = next_piece(rest);
            let length = length.max(c.len_utf8());
            for c in rest[..length].chars() {
                let blank = if c == '\n' { c } else { ' ' };
                code.push(if kind == Piece::Code { c } else { blank });
                comments.push(if kind == Piece::Comment { c } else { blank });
            }
            rest = &rest[length..];
        }
        let words = [&code, &without_quotes(&comments)].map(|text| numbered_words(text).collect());
        Parts { code, words }
    }

    /// Lists the lines, from 1, on which a word or a row of words begins, in a name or in a comment.
    fn lines_with(&self, phrase: &str) -> Vec<usize> {
        let wanted: Vec<&str> = phrase.split(' ').collect();
        let mut lines = Vec::new();
        for words in &self.words {
            let found = words
                .windows(wanted.len())
                .filter(|window| window.iter().map(|(_, word)| word.as_str()).eq(wanted.iter().copied()));
            lines.extend(found.map(|window| window[0].0));
        }
        lines.sort_unstable();
        lines.dedup();
        lines
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Code,
    Comment,
    Text,
}

/// Tells what a rest of a file begins with, code, comment or text, and its length in bytes.
fn next_piece(rest: &str) -> (Piece, usize) {
    let until = |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    if rest.starts_with("//") {
        return (Piece::Comment, rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Piece::Comment, until("*/", 2));
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'));
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let from = rest.len() - raw.len() + hashes + 1;
            return (Piece::Text, until(&format!("\"{}", "#".repeat(hashes)), from));
        }
    }
    if let Some(text) = rest.strip_prefix('"') {
        let mut is_escaped = false;
        let end = text.find(|c: char| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        return (Piece::Text, end.map_or(rest.len(), |at| at + 2));
    }
    if let Some(quoted) = rest.strip_prefix('\'') {
        // A lifetime has no quote behind it.
        let mut chars = quoted.char_indices();
        let first = chars.next().map(|(_, c)| c);
        let second = chars.next();
        match (first, second) {
            (Some('\\'), Some((_, escaped))) => {
                let from = 2 + escaped.len_utf8();
                return (Piece::Text, until("'", from));
            }
            (Some(_), Some((at, '\''))) => return (Piece::Text, at + 2),
            _ => {}
        }
    }
    // A whole word, so that no `r` at its end begins a raw string.
    let word = rest.len() - rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_').len();
    (Piece::Code, word)
}

/// Blanks what comments quote in backticks: that is a name, or what is printed.
fn without_quotes(comments: &str) -> String {
    let blank = |part: &str| part.chars().map(|c| if c == '\n' { c } else { ' ' }).collect::<String>();
    let mut is_quoted = false;
    let parts = comments.split_inclusive(['`', '\n']).map(|part| {
        let text = if is_quoted { blank(part) } else { part.to_owned() };
        // A quote ends with its line at the latest.
        is_quoted = part.ends_with('`') && !is_quoted;
        text
    });
    parts.collect()
}

/// Lists the words in lower case with their lines; a name gives each word that it is put together of.
fn numbered_words(text: &str) -> impl Iterator<Item = (usize, String)> {
    text.lines().zip(1..).flat_map(|(line, number)| {
        let names = line.split(|c: char| !c.is_alphanumeric());
        names.flat_map(words_of_name).map(move |word| (number, word))
    })
}

/// Splits a name in camel case into words, in lower case.
fn words_of_name(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in name.chars() {
        if words.is_empty() || (c.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "[[word]]\nword = \"anew\"\nwrite = \"again\"\n[[word]]\nword = \"so many\"\nwrite = \"N\"\nleft_in = [\"load\"]\n";

    /// What is found in a file of a crate, as `line rule`.
    fn found_in(name: &str, text: &str, rules: &str) -> Vec<String> {
        let path = format!("crates/{name}/src/lib.rs");
        let plain: Plain = toml::from_str(rules).unwrap();
        let findings = check_crate(name, &[(&path, text.to_owned())], &plain);
        findings.iter().map(|finding| format!("{} {}", finding.line, finding.rule)).collect()
    }

    const NOTHING: Vec<String> = Vec::new();

    #[test]
    fn a_word_is_found_in_names_and_comments() {
        for planted in [
            "/// Made anew.\n",
            "fn made_anew() {}\n",
            "struct MadeAnew;\n",
            "// ANEW\n",
            "/* anew */\n",
            "static ANEW: u8;\n",
        ] {
            assert_eq!(found_in("stats", &format!("\n{planted}"), RULES), ["2 word"], "{planted}");
        }
        for free in [
            "const A: &str = \"anew\";\n",
            "const A: &str = r#\"x\"anew\"#;\n",
            "/// `anew` is a key.\n",
            "fn renewal() {}\n",
        ] {
            assert_eq!(found_in("stats", free, RULES), NOTHING, "{free}");
        }
        assert_eq!(found_in("stats", "fn f(c: char) { c == '\"' }\n// anew\n", RULES), ["2 word"], "a quote in a char");
        assert_eq!(found_in("stats", "fn f<'a>(a: &'a str) -> &'a str { \"anew\" }\n", RULES), NOTHING, "lifetimes");
        assert_eq!(
            found_in("stats", "const A: &str = \"\\\\\";\n// anew\n", RULES),
            ["2 word"],
            "an escaped backslash"
        );
    }

    #[test]
    fn a_row_of_words_is_found_across_lines_and_where_it_is_left() {
        assert_eq!(found_in("stats", "// of so\n// many\n", RULES), ["1 word"]);
        assert_eq!(found_in("stats", "// so, and many\n", RULES), NOTHING);
        assert_eq!(found_in("load", "// so many\n", RULES), NOTHING);
        assert_eq!(found_in("load", "// many\n", RULES), ["1 word"], "it is no longer left");
    }

    #[test]
    fn a_comment_that_goes_on_from_a_name_is_found() {
        let good = "/// Sum of all.\nconst A: u8 = 1;\n\n".repeat(20);
        let bad = "/// Of all.\nconst B: u8 = 1;\n";
        assert_eq!(found_in("stats", &format!("{good}{bad}"), ""), NOTHING, "one of 21");
        assert_eq!(found_in("stats", &format!("{good}{bad}{bad}"), ""), ["1 doc-start"]);
        assert_eq!(found_in("stats", "/// Sum of\n/// Of\n/// all.\n", ""), NOTHING, "a line that is not the first");
        assert_eq!(found_in("stats", "/// Office.\n", ""), NOTHING);
    }

    #[test]
    fn closures_bound_by_let_are_limited() {
        let bound = "let a = |x| x;\nlet mut b = move || 1;\n";
        let many = format!("{bound}{bound}");
        assert_eq!(found_in("stats", bound, ""), ["1 closures"]);
        assert_eq!(found_in("stats", &format!("{many}{}", "f();\n".repeat(1_200)), ""), NOTHING);
        assert_eq!(found_in("stats", "let a = b | c;\nlet c = f(|x| x);\n// let a = |x| x;\n", ""), NOTHING);
    }

    #[test]
    fn sources_are_of_the_crate_whose_src_they_are_in() {
        assert_eq!(crate_of("crates/load/src/a/b.rs"), Some("load"));
        assert_eq!(crate_of("xtask/src/main.rs"), Some("xtask"));
        assert_eq!((crate_of("crates/load/tests/a.rs"), crate_of("fuzz/src/a.rs")), (None, None));
    }
}
