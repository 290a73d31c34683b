//! Reading small text files, and the shapes their contents take.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// Most of these files fit into a page, and the kernel's have no length.
const PAGE_BYTES: usize = 4096;

/// Reads a file of the kernel's, trimmed; the error names the file.
pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, String> {
    let path = path.as_ref();
    let mut bytes = Vec::with_capacity(PAGE_BYTES);
    match File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)) {
        Ok(_) => Ok(String::from_utf8_lossy(&bytes).trim_matches(['\0', ' ', '\n', '\t']).to_owned()),
        Err(cause) => Err(format!("cannot read {}: {cause}", path.display())),
    }
}

/// `always [madvise] never` gives `madvise`. Without brackets, the whole text.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn chosen(choices: &str) -> &str {
    let inside = choices.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or_else(|| choices.trim(), |(word, _)| word)
}

/// The value of a key in lines of `key: value` or `key=value`, without quotes.
pub(crate) fn value_of_key<'a>(lines: &'a str, key: &str, separator: char) -> Option<&'a str> {
    lines.lines().find_map(|line| {
        let (name, value) = line.split_once(separator)?;
        (name.trim() == key).then(|| value.trim().trim_matches('"'))
    })
}

/// `23.5 GiB`: one decimal, so that a few more reserved pages do not make another machine.
pub(crate) fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut amount = bytes as f64;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{amount:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_is_the_word_in_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("none"), "none");
        assert_eq!(chosen("none [mq-deadline] kyber bfq \n"), "mq-deadline");
    }

    #[test]
    fn values_lose_their_quotes() {
        let text = "NAME=\"Debian GNU/Linux\"\nVERSION_ID=\"12\"\nID=debian\n";
        assert_eq!(value_of_key(text, "NAME", '='), Some("Debian GNU/Linux"));
        assert_eq!(value_of_key(text, "ID", '='), Some("debian"));
        assert_eq!(value_of_key(text, "VERSION", '='), None);
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size_text(512), "512 B");
        assert_eq!(size_text(24_684_096 * 1024), "23.5 GiB");
        assert_eq!(size_text(4096), "4.0 KiB");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        assert!(read("/no/such/file").unwrap_err().contains("/no/such/file"));
    }
}
