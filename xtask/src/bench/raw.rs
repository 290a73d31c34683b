//! Raw results: a file with a JSON object a line, written as they come, so that what was measured is kept whatever
//! happens next.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A file of raw results that is being written.
pub struct Raw {
    file: File,
    path: PathBuf,
}

impl Raw {
    /// Begins the file anew.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: PathBuf) -> Result<Raw> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        let file = File::create(&path).with_context(|| format!("writing {}", path.display()))?;
        Ok(Raw { file, path })
    }

    /// Adds a line.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, line: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(line).context("making a line of the raw results")?;
        writeln!(self.file, "{text}").with_context(|| format!("writing {}", self.path.display()))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The lines of a file.
///
/// # Errors
/// It cannot be read, or a line is not what it should be.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let line = |(number, line): (usize, &str)| {
        serde_json::from_str(line).with_context(|| format!("{}:{}", path.display(), number + 1))
    };
    text.lines().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let mut raw = Raw::create(folder.path().join("deep/raw.jsonl")).unwrap();
        raw.keep(&("a", 1)).unwrap();
        raw.keep(&("b", 2)).unwrap();
        let path = raw.path().to_owned();
        assert_eq!(read::<(String, u32)>(&path).unwrap(), [("a".to_owned(), 1), ("b".to_owned(), 2)]);
        fs::write(&path, "[\"a\",1]\nnonsense\n").unwrap();
        let error = format!("{:#}", read::<(String, u32)>(&path).unwrap_err());
        assert!(error.contains("raw.jsonl:2"), "{error}");
    }
}
