//! The texts of the files that a task names, such as scripts and the words that they draw.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::Facts;
use sha2::{Digest as _, Sha256};

/// Of a hash, so many bytes tell two versions of a script apart.
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

fn lock(noted: &Mutex<NamedTexts>) -> MutexGuard<'_, NamedTexts> {
    // A map is changed by single insertions.
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where a file beside another one is.
pub(crate) fn place_beside(file: &str, name: &str) -> PathBuf {
    Path::new(file).parent().map(Path::to_owned).unwrap_or_default().join(name)
}

impl Texts {
    pub fn noting() -> Texts {
        Texts::Noting(Arc::default())
    }

    pub fn sent(texts: NamedTexts) -> Texts {
        Texts::Sent(Arc::new(texts))
    }

    pub fn noted(&self) -> NamedTexts {
        match self {
            Texts::Noting(noted) => lock(noted).clone(),
            Texts::Files | Texts::Sent(_) => NamedTexts::new(),
        }
    }

    /// What tells each text that was noted from another of its name.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        for (name, text) in self.noted() {
            let hash = Sha256::digest(text.as_bytes());
            let short: String = hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
            facts.identity(name.replace('\n', " names "), format!("sha256 {short}"));
        }
        facts
    }

    pub fn read(&self, path: &str) -> io::Result<String> {
        let bytes = self.bytes(path, Path::new(path))?;
        String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
    }

    /// For texts where bytes that are not UTF-8 do no harm, as in a comment.
    pub fn read_lossily(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&self.bytes(path, Path::new(path))?).into_owned())
    }

    /// What is in a file beside another one.
    pub fn beside(&self, file: &str, name: &str) -> io::Result<Vec<u8>> {
        self.bytes(&name_beside(file, name), &place_beside(file, name))
    }

    pub fn is_beside(&self, file: &str, name: &str) -> bool {
        match self {
            Texts::Files | Texts::Noting(_) => place_beside(file, name).exists(),
            Texts::Sent(texts) => texts.contains_key(&name_beside(file, name)),
        }
    }

    fn bytes(&self, name: &str, path: &Path) -> io::Result<Vec<u8>> {
        match self {
            Texts::Files => std::fs::read(path),
            Texts::Noting(noted) => {
                let bytes = std::fs::read(path)?;
                lock(noted).insert(name.to_owned(), String::from_utf8_lossy(&bytes).into());
                Ok(bytes)
            }
            Texts::Sent(texts) => texts.get(name).map(|text| text.as_bytes().to_vec()).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, "it was not sent, and no file of this host is read")
            }),
        }
    }
}

/// A line feed separates the names, since no path that a plan's key can name holds one.
fn name_beside(file: &str, name: &str) -> String {
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
        assert_eq!(noting.read(&path).unwrap(), "SELECT 1;");
        assert!(noting.is_beside(&path, "words.dat") && !noting.is_beside(&path, "none.dat"));
        assert_eq!(noting.beside(&path, "words.dat").unwrap(), b"a\nb\n");
        let sent = Texts::sent(noting.noted());
        drop(folder);
        assert_eq!(sent.read(&path).unwrap(), "SELECT 1;");
        assert_eq!(sent.beside(&path, "words.dat").unwrap(), b"a\nb\n");
        assert!(!sent.is_beside(&path, "others.dat"), "nobody read it");
        assert!(sent.read("/etc/passwd").is_err() && sent.beside("/etc/passwd", "passwd").is_err());
        assert!(!sent.is_beside("/etc/passwd", "passwd"));
    }

    #[test]
    fn a_script_may_have_comments_in_any_encoding() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.smack").display().to_string();
        std::fs::write(&path, b"// M\xfcller\n").unwrap();
        let noting = Texts::noting();
        assert!(noting.read(&path).is_err());
        assert_eq!(noting.read_lossily(&path).unwrap(), Texts::sent(noting.noted()).read_lossily(&path).unwrap());
    }
}
