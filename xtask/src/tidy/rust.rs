//! Rules about Rust code that neither the compiler nor clippy knows, checked on its tokens, so that comments do not mislead and
//! no macro's body is a hiding place.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{Span, TokenStream, TokenTree};

use super::Finding;

/// The only room with `unsafe` and code for one platform.
const HOST: &str = "crates/host/";
/// Where the crate of a library in C is, in the folder of its engine.
const ENGINES: &str = "crates/engines/";
const FOREIGN: &str = "/ffi/";
/// Where a database may be named.
const DATABASE_ROOM: &str = "crates/engines/src/";
/// What code elsewhere must not name.
const DATABASES: [&str; 11] =
    ["sqlite", "sqlite3", "postgres", "postgresql", "pg", "mysql", "mariadb", "mssql", "sqlserver", "oracle", "duckdb"];
/// What in a `cfg` ties code to a platform.
const PLATFORM_WORDS: [&str; 6] = ["target_os", "target_family", "target_vendor", "target_env", "unix", "windows"];

/// Finds `unsafe`, `cfg` of platforms, dead code and databases' names where they must not be.
///
/// # Errors
///
/// When one cannot be read.
pub fn check_all(root: &Path, files: &[String]) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(path)).context(path.clone())?;
        let tokens: TokenStream = text.parse().map_err(|error| anyhow::anyhow!("{path} is no Rust: {error}"))?;
        let mut walker = Walker { path, findings };
        walker.walk_tokens(tokens);
        findings = walker.findings;
    }
    Ok(findings)
}

/// Lists every identifier in `tokens`, at any depth.
fn all_words(tokens: &TokenStream) -> BTreeSet<String> {
    tokens
        .clone()
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(ident) => BTreeSet::from([ident.to_string()]),
            TokenTree::Group(group) => all_words(&group.stream()),
            _ => BTreeSet::new(),
        })
        .collect()
}

/// Lists the words in the parentheses behind a word, or behind its `!`; `None` without any.
fn argument_words(after: &[TokenTree]) -> Option<BTreeSet<String>> {
    after.iter().take(2).find_map(|token| match token {
        TokenTree::Group(group) => Some(all_words(&group.stream())),
        _ => None,
    })
}

/// Walks one file.
struct Walker<'a> {
    path: &'a str,
    findings: Vec<Finding>,
}

impl Walker<'_> {
    /// Tests whether the file is in one of these rooms.
    fn is_in_rooms(&self, rooms: &[&str]) -> bool {
        rooms.iter().any(|room| self.path.starts_with(room))
    }

    /// Adds a finding at a place.
    fn report(&mut self, span: Span, rule: &'static str, item: &str, advice: String) {
        let (path, line) = (self.path.to_owned(), span.start().line);
        self.findings.push(Finding { path, line, rule, item: item.to_owned(), advice });
    }

    /// Checks each word and text of tokens, at any depth; databases' names are allowed in tests.
    fn walk_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut is_test = false;
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Ident(word) => self.check_word(word, argument_words(&tokens[index + 1..])),
                TokenTree::Literal(literal) => self.check_database(literal),
                // What `#[cfg(test)]` stands on ends with its body, or with a semicolon.
                TokenTree::Punct(point) if point.as_char() == ';' => is_test = false,
                TokenTree::Group(group) => {
                    let names = self.findings.len();
                    self.walk_tokens(group.stream());
                    if is_test {
                        let inner = self.findings.split_off(names);
                        self.findings.extend(inner.into_iter().filter(|finding| finding.rule != "database-name"));
                    }
                    match group.delimiter() {
                        proc_macro2::Delimiter::Brace => is_test = false,
                        proc_macro2::Delimiter::Bracket => {
                            let said = all_words(&group.stream());
                            is_test |= said.contains("test")
                                && ["not", "any", "cfg_attr"].iter().all(|word| !said.contains(*word));
                        }
                        _ => {}
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    /// Adds a finding if a word is `unsafe`, or allows dead code or names a platform by its arguments.
    fn check_word(&mut self, word: &proc_macro2::Ident, arguments: Option<BTreeSet<String>>) {
        let (text, span) = (word.to_string(), word.span());
        let arguments = arguments.unwrap_or_default();
        let is_foreign = self.is_in_rooms(&[ENGINES]) && self.path.contains(FOREIGN);
        if text == "unsafe" && !self.is_in_rooms(&[HOST]) && !is_foreign {
            let advice = "only crates/host and the `ffi` of an engine are unsafe: put a safe function there";
            self.report(span, "unsafe", "", advice.to_owned());
        }
        if (text == "allow" || text == "expect") && arguments.contains("dead_code") {
            let advice = format!("{text}(dead_code): remove what nothing uses, or include only what is used");
            self.report(span, "dead-code", "", advice);
        }
        let platform = PLATFORM_WORDS.iter().find(|platform| arguments.contains(**platform));
        let may_tell_apart = self.is_in_rooms(&[HOST, "xtask/"]) || is_foreign;
        if let Some(platform) = platform
            && text.starts_with("cfg")
            && !may_tell_apart
        {
            let advice = format!("cfg({platform}): put it in crates/host behind a portable function");
            self.report(span, "platform-cfg", platform, advice);
        }
    }

    /// Adds a finding if a string is a database's name, or the scheme of its URLs.
    fn check_database(&mut self, literal: &proc_macro2::Literal) {
        let is_test = ["/tests/", "/benches/", "/examples/", "/tests.rs", "_tests.rs"];
        if !self.is_in_rooms(&["crates/"])
            || self.is_in_rooms(&[DATABASE_ROOM])
            || is_test.iter().any(|end| self.path.contains(end))
        {
            return;
        }
        let text = literal.to_string().to_ascii_lowercase();
        let Some((_, name)) = text.split_once('"') else { return };
        let name = name.trim_end_matches(['#', '"', '/', ':']);
        if DATABASES.contains(&name) {
            let advice = format!("{literal} is named here: ask the registry, or give a system's trait a method for it");
            self.report(literal.span(), "database-name", name, advice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a file, as `line rule`.
    fn found_in(path: &str, text: &str) -> Vec<String> {
        let mut walker = Walker { path, findings: Vec::new() };
        walker.walk_tokens(text.parse().unwrap());
        walker.findings.iter().map(|finding| format!("{} {}", finding.line, finding.rule)).collect()
    }

    fn found(text: &str) -> Vec<String> {
        found_in("crates/stats/src/sample.rs", text)
    }

    const NOTHING: Vec<String> = Vec::new();

    #[test]
    fn unsafe_code_is_found_outside_host_even_in_a_macro() {
        let bad = "fn f() { unsafe { g() } }\nm! { unsafe { g() } }\nunsafe impl Send for X {}\n";
        assert_eq!(found(bad), ["1 unsafe", "2 unsafe", "3 unsafe"]);
        assert_eq!(found_in("crates/host/src/ring.rs", bad), NOTHING);
        assert_eq!(found_in("crates/engines/src/abc/ffi/lib.rs", bad), NOTHING);
        assert_eq!(found_in("crates/engines/src/abc/lane.rs", bad).len(), 3);
        assert_eq!(found_in("crates/report/ffi/lib.rs", bad).len(), 3);
        assert_eq!(found("// unsafe\nconst A: &str = \"unsafe\";"), NOTHING);
    }

    #[test]
    fn code_for_one_platform_is_found_outside_host() {
        let bad = "#[cfg(target_os = \"linux\")]\nfn f() {}\n#[cfg_attr(not(windows), expect(x))]\n\
                   fn g() { if cfg!(unix) {} }\n";
        assert_eq!(found(bad), ["1 platform-cfg", "3 platform-cfg", "4 platform-cfg"]);
        assert_eq!(found_in("crates/host/src/clock.rs", bad), NOTHING);
        assert_eq!(found_in("xtask/src/shots.rs", bad), NOTHING);
        assert_eq!(found("#[cfg(target_pointer_width = \"64\")]\nfn f() {}"), NOTHING);
    }

    #[test]
    fn code_that_nothing_uses_may_not_stay() {
        // Put together, so that a search for such attributes finds none here.
        for word in ["allow", "expect"] {
            let bad =
                format!("#![{word}(dead_code, reason = \"x\")]\n#[cfg_attr(test, {word}(dead_code))]\nfn f() {{}}\n");
            assert_eq!(found(&bad), ["1 dead-code", "2 dead-code"]);
            assert_eq!(found_in("crates/stats/tests/all.rs", &bad).len(), 2);
        }
        assert_eq!(found("#![deny(dead_code)]\nfn f() { x.expect(dead); }\n"), NOTHING);
    }

    #[test]
    fn a_database_is_named_in_its_room_and_in_tests_alone() {
        let bad = "fn f() {\n match s { \"postgres\" => 1, _ => 2 };\n if url.starts_with(\"mysql://\") {}\n}\n\
                   const A: &str = r\"SQLite\";\nfn g() { matches!(s, \"mssql\") }\n";
        let names = ["2 database-name", "3 database-name", "5 database-name", "6 database-name"];
        assert_eq!(found(bad), names);
        assert_eq!(found_in("crates/engines/src/x.rs", bad), NOTHING);
        assert_eq!(found_in("crates/load/src/worker/tests.rs", bad), NOTHING);
        assert_eq!(found("const A: &str = \"postgres is a server\";"), NOTHING);
        assert_eq!(
            found(&format!("#[cfg(test)]\nmod t {{\nuse x;\n{bad}}}\nfn f() {{ a(\"pg\") }}")),
            ["11 database-name"]
        );
        assert_eq!(found(&format!("#[cfg(test)]\nuse x;\n{bad}")).len(), 4);
        assert_eq!(found(&format!("#[cfg(not(test))]\nmod m {{ {bad} }}")).len(), 4);
    }
}
