//! The texts of the files that a task names, such as scripts.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where texts come from.
#[derive(Clone, Debug, Default)]
pub enum Texts {
    /// From this host's files.
    #[default]
    Files,
    /// From this host's files; each that was read is noted.
    Noting(Arc<Mutex<BTreeMap<String, String>>>),
    /// From another host, which has sent them by the paths that the task names. No file of this host is read.
    Sent(Arc<BTreeMap<String, String>>),
}

fn lock(noted: &Mutex<BTreeMap<String, String>>) -> MutexGuard<'_, BTreeMap<String, String>> {
    // A map is changed by single insertions.
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Texts {
    /// This host's files, with a note of each that is read.
    pub fn noting() -> Texts {
        Texts::Noting(Arc::default())
    }

    /// Those that another host has sent.
    pub fn sent(texts: BTreeMap<String, String>) -> Texts {
        Texts::Sent(Arc::new(texts))
    }

    /// What was noted so far.
    pub fn noted(&self) -> BTreeMap<String, String> {
        match self {
            Texts::Noting(noted) => lock(noted).clone(),
            Texts::Files | Texts::Sent(_) => BTreeMap::new(),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// It cannot be read, or was not sent.
    pub fn read(&self, path: &str) -> io::Result<String> {
        match self {
            Texts::Files => std::fs::read_to_string(path),
            Texts::Noting(noted) => {
                let text = std::fs::read_to_string(path)?;
                lock(noted).insert(path.to_owned(), text.clone());
                Ok(text)
            }
            Texts::Sent(texts) => texts.get(path).cloned().ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, "it was not sent, and no file of this host is read")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_can_be_sent_and_nothing_else_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sql").display().to_string();
        std::fs::write(&path, "SELECT 1;").unwrap();
        let noting = Texts::noting();
        assert_eq!(noting.read(&path).unwrap(), "SELECT 1;");
        let sent = Texts::sent(noting.noted());
        assert_eq!(sent.read(&path).unwrap(), "SELECT 1;");
        assert!(sent.read("/etc/passwd").is_err());
    }
}
