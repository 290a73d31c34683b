//! The texts of the files that a task names, such as scripts and the words that they draw.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Facts;
use sha2::{Digest as _, Sha256};

use crate::queries::is_query_file;

/// Nothing more is read of a longer file.
const LONGEST_SCRIPT_BYTES: u64 = 16 << 20;
/// The number of bytes of a hash that tell two versions of a script apart.
const HASH_BYTES: usize = 8;

/// Keyed by the names a task uses, which are the same on every host.
pub type NamedTexts = BTreeMap<String, Arc<str>>;

/// Where texts come from.
#[derive(Clone, Debug, Default)]
pub enum Texts {
    /// From this host's files.
    #[default]
    Files,
    /// This host's files; each read is noted.
    Noting(Arc<Mutex<NamedTexts>>),
    /// Sent by another host; no file of this host is read.
    Sent(Arc<NamedTexts>),
}

/// Locks the texts that were noted.
fn lock_texts(noted: &Mutex<NamedTexts>) -> MutexGuard<'_, NamedTexts> {
    // A map is changed by single insertions.
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Path of a file next to another one.
pub(crate) fn sibling_path(file: &str, name: &str) -> PathBuf {
    Path::new(file).parent().map(Path::to_owned).unwrap_or_default().join(name)
}

impl Texts {
    /// Makes texts that note each file they read, to be sent to other hosts.
    pub fn noting() -> Texts {
        Texts::Noting(Arc::default())
    }

    /// Makes texts of those that another host has sent.
    pub fn from_sent(texts: NamedTexts) -> Texts {
        Texts::Sent(Arc::new(texts))
    }

    /// Copies the texts that were noted, by name; none if these note nothing.
    pub fn noted_texts(&self) -> NamedTexts {
        match self {
            Texts::Noting(noted) => lock_texts(noted).clone(),
            Texts::Files | Texts::Sent(_) => NamedTexts::new(),
        }
    }

    /// Facts of the texts that were noted: a hash of each, by its name.
    pub fn text_facts(&self) -> Facts {
        let mut facts = Facts::default();
        for (name, text) in self.noted_texts() {
            let hash = Sha256::digest(text.as_bytes());
            let short: String = hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
            facts.record_identity(name.replace('\n', " names "), format!("sha256 {short}"));
        }
        facts
    }

    /// Reads a script, without the mark that some editors put before UTF-8.
    ///
    /// # Errors
    /// It cannot be read, is not UTF-8, or is too long for a script.
    pub fn read_script(&self, path: &str) -> io::Result<String> {
        let text = String::from_utf8(self.read_bytes(path, Path::new(path), LONGEST_SCRIPT_BYTES)?);
        let text = text.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))?;
        Ok(strip_byte_order_mark(&text).to_owned())
    }

    /// Lists a folder's files of queries, by name, without those of folders in it; of a file its own path.
    ///
    /// # Errors
    /// The folder cannot be read, or there is none of this name.
    pub fn list_query_files(&self, path: &str) -> io::Result<Vec<String>> {
        let folder = path.trim_end_matches(['/', '\\']);
        let mut files = Vec::new();
        match self {
            Texts::Sent(texts) if texts.contains_key(path) => return Ok(vec![path.to_owned()]),
            Texts::Sent(texts) => {
                let below = texts.keys().filter(|name| name.strip_prefix(folder).is_some_and(is_in_folder));
                files.extend(below.cloned());
            }
            Texts::Files | Texts::Noting(_) if !Path::new(path).is_dir() => return Ok(vec![path.to_owned()]),
            Texts::Files | Texts::Noting(_) => {
                for entry in std::fs::read_dir(path)? {
                    let name = entry?.file_name().to_string_lossy().into_owned();
                    files.extend(is_query_file(&name).then(|| format!("{folder}/{name}")));
                }
            }
        }
        files.sort_by_cached_key(|name| numeric_sort_key(name));
        Ok(files)
    }

    /// Reads a text where bytes that are not UTF-8 do no harm, as in a comment; they are replaced.
    pub fn read_lossily(&self, path: &str) -> io::Result<String> {
        Ok(strip_byte_order_mark(&String::from_utf8_lossy(&self.read_bytes(
            path,
            Path::new(path),
            LONGEST_SCRIPT_BYTES,
        )?))
        .to_owned())
    }

    /// Reads the bytes of a file next to another one.
    pub fn read_sibling(&self, file: &str, name: &str) -> io::Result<Vec<u8>> {
        self.read_bytes(&sibling_name(file, name), &sibling_path(file, name), u64::MAX)
    }

    /// Notes the fingerprint of a file that is no text, which distinguishes it from another of its name.
    ///
    /// # Errors
    /// The task runs on another host than the plan, which has no such file.
    pub fn note_fingerprint(&self, name: &str, fingerprint: &str) -> io::Result<()> {
        match self {
            Texts::Files => Ok(()),
            Texts::Noting(noted) => {
                lock_texts(noted).insert(name.to_owned(), fingerprint.into());
                Ok(())
            }
            Texts::Sent(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "captures are not sent to other hosts: leave out `clients_on`",
            )),
        }
    }

    /// Whether there is a file of this name next to another one.
    pub fn has_sibling(&self, file: &str, name: &str) -> bool {
        match self {
            Texts::Files | Texts::Noting(_) => sibling_path(file, name).exists(),
            Texts::Sent(texts) => texts.contains_key(&sibling_name(file, name)),
        }
    }

    /// Reads a file from disk or from what was sent; notes it if it is to be sent.
    fn read_bytes(&self, name: &str, path: &Path, longest_bytes: u64) -> io::Result<Vec<u8>> {
        match self {
            Texts::Files => read_at_most(path, longest_bytes),
            Texts::Noting(noted) => {
                let bytes = read_at_most(path, longest_bytes)?;
                lock_texts(noted).insert(name.to_owned(), String::from_utf8_lossy(&bytes).into());
                Ok(bytes)
            }
            Texts::Sent(texts) => texts.get(name).map(|text| text.as_bytes().to_vec()).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, "it was not sent, and no file of this host is read")
            }),
        }
    }
}

/// Reads a file's bytes; fails if it is longer than the limit.
fn read_at_most(path: &Path, longest_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(longest_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > longest_bytes {
        let why = format!("it is longer than {} MiB", longest_bytes >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

/// Makes a sort key of a name, by which `q2` comes before `q10`.
fn numeric_sort_key(name: &str) -> String {
    let parts = name.split_inclusive(|c: char| !c.is_ascii_digit());
    parts.map(|part| format!("{part:0>20}")).collect()
}

/// Whether what follows a folder's name in a path is a file of queries in it.
fn is_in_folder(rest: &str) -> bool {
    rest.strip_prefix('/').is_some_and(|file| !file.contains(['/', '\n']) && is_query_file(file))
}

/// Strips the mark that some editors put before UTF-8.
fn strip_byte_order_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Name under which a file next to another one is noted: both names, separated by a line feed.
///
/// No path that a plan's key can name holds a line feed.
fn sibling_name(file: &str, name: &str) -> String {
    format!("{file}\n{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_can_be_sent_and_nothing_else_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sql").display().to_string();
        std::fs::write(&path, "SELECT 1;").unwrap();
        std::fs::write(folder.path().join("words.dat"), "a\nb\n").unwrap();
        std::fs::write(folder.path().join("others.dat"), "c\n").unwrap();
        let noting = Texts::noting();
        assert_eq!(noting.read_script(&path).unwrap(), "SELECT 1;");
        assert!(noting.has_sibling(&path, "words.dat") && !noting.has_sibling(&path, "none.dat"));
        assert_eq!(noting.read_sibling(&path, "words.dat").unwrap(), b"a\nb\n");
        let sent = Texts::from_sent(noting.noted_texts());
        drop(folder);
        assert_eq!(sent.read_script(&path).unwrap(), "SELECT 1;");
        assert_eq!(sent.read_sibling(&path, "words.dat").unwrap(), b"a\nb\n");
        assert!(!sent.has_sibling(&path, "others.dat"), "it was not read");
        assert!(sent.read_script("/etc/passwd").is_err() && sent.read_sibling("/etc/passwd", "passwd").is_err());
        assert!(!sent.has_sibling("/etc/passwd", "passwd"));
    }

    #[test]
    fn a_script_may_begin_with_a_mark_and_is_no_huge_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sql").display().to_string();
        std::fs::write(&path, "\u{feff}SELECT 1;").unwrap();
        let noting = Texts::noting();
        assert_eq!(noting.read_script(&path).unwrap(), "SELECT 1;");
        assert_eq!(noting.read_lossily(&path).unwrap(), "SELECT 1;");
        assert_eq!(Texts::from_sent(noting.noted_texts()).read_script(&path).unwrap(), "SELECT 1;");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let refused = noting.read_script(&path).unwrap_err().to_string();
        assert_eq!(refused, "it is longer than 16 MiB");
    }

    #[test]
    fn a_script_may_have_comments_in_any_encoding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.smack").display().to_string();
        std::fs::write(&path, b"// M\xfcller\n").unwrap();
        let noting = Texts::noting();
        assert!(noting.read_script(&path).is_err());
        assert_eq!(
            noting.read_lossily(&path).unwrap(),
            Texts::from_sent(noting.noted_texts()).read_lossily(&path).unwrap()
        );
    }
}
