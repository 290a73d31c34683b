//! Parts of `docs/performance.md` that are made by different benches, each between two marks.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use super::origin::Origin;

/// Where the document goes.
const DOCUMENT: &str = "docs/performance.md";

/// The parts, in the order of the document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Of `cargo xtask bench contention`.
    Contention,
    /// Of `cargo xtask bench disk`.
    Disk,
    /// Of `cargo xtask bench fleet`.
    Fleet,
}

const ALL: [Part; 3] = [Part::Contention, Part::Disk, Part::Fleet];

impl Part {
    fn name(self) -> &'static str {
        match self {
            Part::Contention => "contention",
            Part::Disk => "disk",
            Part::Fleet => "fleet",
        }
    }

    fn marks(self) -> (String, String) {
        let name = self.name();
        (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"))
    }

    /// Where it is in a document, marks included.
    fn found(self, document: &str) -> Option<(usize, usize)> {
        let (begin, end) = self.marks();
        let begin = document.find(&begin)?;
        let end = document[begin..].find(&end)? + begin + end.len();
        Some((begin, end))
    }

    /// The document with this text in place of the one that the part had, or at its end.
    fn put(self, document: &str, text: &str) -> String {
        let (begin, end) = self.marks();
        let marked = format!("{begin}\n{}\n{end}", text.trim());
        match self.found(document) {
            Some((begin, end)) => format!("{}{marked}{}", &document[..begin], &document[end..]),
            None if document.trim().is_empty() => format!("# Performance\n\n{marked}\n"),
            None => format!("{}\n\n{marked}\n", document.trim_end()),
        }
    }

    /// Writes the part into the document, or that of a partial run into one of its own.
    ///
    /// # Errors
    /// The document cannot be written.
    pub fn write(self, root: &Path, origin: &Origin, text: &str) -> Result<()> {
        write(root, origin, &format!("performance-{}.md", self.name()), |before| self.put(before, text))
    }
}

/// Writes the document that is made of the one before; that of a partial run by its own name into `target/bench`.
///
/// # Errors
/// It cannot be written.
pub fn write(root: &Path, origin: &Origin, partial: &str, made: impl FnOnce(&str) -> String) -> Result<()> {
    let path = match origin.is_whole {
        true => root.join(DOCUMENT),
        false => root.join("target/bench").join(partial),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    fs::write(&path, made(&before)).with_context(|| format!("writing {}", path.display()))?;
    eprintln!("document: {}", path.display());
    Ok(())
}

/// A new document with the parts of an old one.
pub fn kept(old: &str, new: &str) -> String {
    let parts = ALL.iter().filter_map(|part| part.found(old)).map(|(begin, end)| &old[begin..end]);
    parts.fold(new.to_owned(), |document, part| format!("{}\n\n{part}\n", document.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_put_replaced_and_kept() {
        let (begin, end) = Part::Disk.marks();
        let first = Part::Disk.put("# Performance\n\ntransactions\n", "## Disk\n\none\n");
        assert_eq!(first, format!("# Performance\n\ntransactions\n\n{begin}\n## Disk\n\none\n{end}\n"));
        let second = Part::Disk.put(&first, "## Disk\n\ntwo");
        assert!(second.contains("two") && !second.contains("one\n") && second.contains("transactions"), "{second}");
        assert_eq!(second.matches(&begin).count(), 1);
        let other = kept(&second, "# Performance\n\nnew\n");
        assert_eq!(other, format!("# Performance\n\nnew\n\n{begin}\n## Disk\n\ntwo\n{end}\n"));
        assert_eq!(kept("nothing", "new\n"), "new\n");
        assert!(Part::Disk.put("", "x").starts_with("# Performance"));
    }

    #[test]
    fn parts_do_not_touch_each_other() {
        let both = Part::Fleet.put(&Part::Disk.put("", "disks"), "hosts");
        let again = Part::Disk.put(&both, "other disks");
        assert!(again.contains("other disks") && again.contains("hosts"), "{again}");
        let new = kept(&again, "new\n");
        assert!(new.starts_with("new\n\n<!-- disk: begin -->\nother disks\n"), "{new}");
        assert!(new.ends_with("<!-- fleet: begin -->\nhosts\n<!-- fleet: end -->\n"), "{new}");
    }
}
