//! How étalon knows a file that it made: only such a file is written over or removed without being asked.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::clock;
use crate::error::HostError;
use crate::system::text;

/// What the marker's name adds to the file's.
const SUFFIX: &str = ".etalon";

/// How far the making of a file has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerState {
    /// It was begun. If nobody is at it, it was never ended.
    Making,
    /// It is complete and synced.
    Made,
}

/// A small file beside one that étalon made, which says so. It names the file by its number and device (its time of
/// creation on Windows), so that a file which took its place is not mistaken for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// How far the making has come.
    pub state: MarkerState,
    /// The size that the file has, or is to have, in bytes.
    pub size_bytes: u64,
    /// When it was begun, in Unix milliseconds.
    pub made_unix_ms: i64,
    identity: String,
}

impl Marker {
    /// The marker of a file that is there; `None` if étalon did not make the file.
    pub fn of(path: &Path) -> Option<Marker> {
        let data = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        let noted = text::read(Marker::path(path)).ok()?;
        let value = |key| text::value(&noted, key, '=');
        let marker = Marker {
            state: match value("state")? {
                "making" => MarkerState::Making,
                "made" => MarkerState::Made,
                _ => return None,
            },
            size_bytes: value("size_bytes")?.parse().ok()?,
            made_unix_ms: value("made_unix_ms")?.parse().ok()?,
            identity: value("file")?.to_owned(),
        };
        (marker.identity == identity(&data)).then_some(marker)
    }

    /// Where the marker of a file is: beside it.
    pub fn path(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(SUFFIX);
        name.into()
    }

    /// Marks a file that was just made.
    pub(super) fn write(path: &Path, state: MarkerState, size_bytes: u64) -> Result<(), HostError> {
        let data = std::fs::symlink_metadata(path).map_err(HostError::at("look at", path))?;
        let state = match state {
            MarkerState::Making => "making",
            MarkerState::Made => "made",
        };
        let noted = format!(
            "# étalon made the file of this name without {SUFFIX}, and may write over it and remove it.\n\
             state={state}\nsize_bytes={size_bytes}\nmade_unix_ms={}\nfile={}\n",
            clock::unix_ms(),
            identity(&data)
        );
        let marker = Marker::path(path);
        std::fs::write(&marker, noted).map_err(HostError::at("write", &marker))
    }

    /// Removes the marker of a file.
    pub(super) fn remove(path: &Path) -> Result<(), HostError> {
        let marker = Marker::path(path);
        match std::fs::remove_file(&marker) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(HostError::at("remove", &marker)(cause)),
            _ => Ok(()),
        }
    }
}

#[cfg(unix)]
fn identity(data: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{}:{}", data.dev(), data.ino())
}

#[cfg(windows)]
fn identity(data: &Metadata) -> String {
    use std::os::windows::fs::MetadataExt;
    format!("created {}", data.creation_time())
}
