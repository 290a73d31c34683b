//! A folder of its own for each test.

use std::path::Path;

use tempfile::TempDir;

/// A test's folder.
pub struct Scene {
    folder: TempDir,
}

impl Scene {
    /// An empty folder on the disk that the build uses, which is no RAM disk.
    pub fn new() -> Scene {
        Scene { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file.
    pub fn write(&self, name: &str, text: &str) -> &Scene {
        std::fs::write(self.path().join(name), text).unwrap();
        self
    }
}
