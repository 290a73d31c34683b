//! The licences of Rust's standard library, which is linked in and which no list of crates names.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::run_for_output;

/// A toolchain's own page of them.
const PAGE: &str = "share/doc/rust/COPYRIGHT-library.html";
/// The path of the notices in the toolchain that Debian packages.
const DEBIANS: &str = "share/doc/rustc-web/copyright";
const ENTITIES: [(&str, &str); 9] = [
    ("&#34;", "\""),
    ("&quot;", "\""),
    ("&#39;", "'"),
    ("&#60;", "<"),
    ("&lt;", "<"),
    ("&#62;", ">"),
    ("&gt;", ">"),
    ("&#38;", "&"),
    ("&amp;", "&"),
];

/// What a toolchain says of its library: in its own words, and the licences, each with the crate that it is of.
#[derive(Debug, PartialEq, Eq)]
pub struct Notices {
    pub said: String,
    pub licences: Vec<(String, String)>,
}

/// Reads the licence notices of the standard library in the toolchain that is in `sysroot`.
///
/// # Errors
/// It has no file with notices.
pub fn read_notices(sysroot: &Path) -> Result<Notices> {
    if let Ok(page) = std::fs::read_to_string(sysroot.join(PAGE)) {
        return Ok(notices_of_page(&page));
    }
    let file = sysroot.join(DEBIANS);
    let said = std::fs::read_to_string(&file)
        .with_context(|| format!("reading {}, since {PAGE} is not in {}", file.display(), sysroot.display()))?;
    Ok(Notices { said, licences: Vec::new() })
}

/// Gives the folder where the compiler that is in use has its library.
///
/// # Errors
/// It does not start.
pub fn compiler_sysroot() -> Result<PathBuf> {
    let compiler = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    Ok(PathBuf::from(run_for_output(Command::new(compiler).args(["--print", "sysroot"]))?.trim()))
}

/// Reads the notices on the page of the toolchain's licences.
fn notices_of_page(page: &str) -> Notices {
    let mut parts = page.split("<h3>");
    let said = parts.next().unwrap_or_default().split("<body>").last().unwrap_or_default();
    let mut licences = Vec::new();
    for part in parts {
        let (title, rest) = part.split_once("</h3>").unwrap_or((part, ""));
        let name = title.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let texts = rest.split("<pre>").skip(1).filter_map(|text| text.split("</pre>").next());
        licences
            .extend(texts.map(|text| (format!("{name} of Rust's library"), decode_entities(text).trim().to_owned())));
    }
    let lines = without_tags(said);
    let lines: Vec<&str> = lines.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Notices { said: decode_entities(&lines.join("\n")), licences }
}

/// Strips a page of its tags.
fn without_tags(page: &str) -> String {
    page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

/// Replaces the entities in a text by their characters.
fn decode_entities(text: &str) -> String {
    ENTITIES.iter().fold(text.to_owned(), |text, (written, is)| text.replace(written, is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read() {
        let page = "<html><title>x</title><body>\n<h1>Notices</h1>\n\n <p>By <b>us</b> &#60;a@b&#62;</p>\n\
            <h3>📦 one-1.0.0</h3><p>MIT</p><pre>\n  Be &#34;good&#34;\n</pre><pre>Or\nelse</pre>\n<h3>📦 two-2.0.0</h3>\n";
        let licences = vec![licence("Be \"good\""), licence("Or\nelse")];
        assert_eq!(notices_of_page(page), Notices { said: "Notices\nBy us <a@b>".to_owned(), licences });
    }

    fn licence(text: &str) -> (String, String) {
        ("one-1.0.0 of Rust's library".to_owned(), text.to_owned())
    }

    #[test]
    fn the_toolchain_in_use_tells() {
        let Notices { said, licences } = read_notices(&compiler_sysroot().unwrap()).unwrap();
        assert!(said.contains("Rust") && said.contains("Apache"), "{said}");
        assert!(licences.is_empty() || licences.iter().any(|(_, text)| text.contains("Permission is hereby granted")));
    }
}
