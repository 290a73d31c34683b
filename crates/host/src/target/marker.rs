//! Recognises files that étalon made: only those are overwritten or removed without asking.

use std::fs::Metadata;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::clock;
use crate::error::HostError;
use crate::files::{Replacing, put_file};
use crate::scratch::random_number;
use crate::system::text;

/// Appended to the file's name; stores end so, too.
const SUFFIX: &str = ".etalon";
/// How a marker begins.
const SIGN: &str = "# étalon made the file of this name without";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkerState {
    /// Started; abandoned if no one works on it.
    Making,
    /// Complete and synced.
    Made,
}

/// A small file next to one that étalon made. It holds the file's device, inode and a random number attached to the file
/// as an extended attribute (a stream on Windows), so that another file at its path, even with a reused inode, is not
/// mistaken for it. Without attributes its birth must do, and without births (NFS 3) device, inode and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    pub state: MarkerState,
    /// Current or intended.
    pub size_bytes: u64,
    /// When making began.
    pub made_unix_ms: i64,
    identity: String,
}

impl Marker {
    /// `None` if étalon did not make the file.
    pub fn read_marker(path: &Path) -> Option<Marker> {
        let data = std::fs::symlink_metadata(path).ok().filter(Metadata::is_file)?;
        let noted = text::read(Marker::marker_path(path)).ok()?;
        let value = |key| text::value_of_key(&noted, key, '=');
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
        let is_it = match marker.identity.split_once(BARE) {
            // Nothing but an inode that may be reused.
            Some((number, _)) => {
                let fits = match marker.state {
                    MarkerState::Making => data.len() <= marker.size_bytes,
                    MarkerState::Made => data.len() == marker.size_bytes,
                };
                fits && number == number_of(&data)
            }
            None => marker.identity == file_identity(path, &data),
        };
        is_it.then_some(marker)
    }

    /// Path of the marker file of a path.
    pub fn marker_path(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(SUFFIX);
        name.into()
    }

    /// Writes the marker of a file that was just made.
    pub(super) fn write_marker(path: &Path, state: MarkerState, size_bytes: u64) -> Result<(), HostError> {
        let data = std::fs::symlink_metadata(path).map_err(HostError::at("look at", path))?;
        // Without attributes there is its birth, or its size.
        let _ = attribute::attach(path, &format!("{:016x}", random_number()));
        let state = match state {
            MarkerState::Making => "making",
            MarkerState::Made => "made",
        };
        let noted = format!(
            "{SIGN} {SUFFIX}, and may write over it and remove it.\n\
             state={state}\nsize_bytes={size_bytes}\nmade_unix_ms={}\nfile={}\n",
            clock::unix_ms(),
            file_identity(path, &data)
        );
        let replacing: &dyn Fn(&[u8]) -> bool = &|there| there.starts_with(SIGN.as_bytes());
        Ok(put_file(&Marker::marker_path(path), noted.as_bytes(), Replacing::Own(replacing))?)
    }

    /// Whether something else lies where the file's marker would, such as a store of results.
    pub(super) fn is_someone_elses(path: &Path) -> bool {
        let marker = Marker::marker_path(path);
        let Ok(data) = std::fs::symlink_metadata(&marker) else { return false };
        let mut begins = vec![0; SIGN.len()];
        let read = std::fs::File::open(&marker).and_then(|mut file| file.read_exact(&mut begins));
        !data.is_file() || read.is_err() || begins != SIGN.as_bytes()
    }

    /// Removes the marker of a file that is no more.
    pub(super) fn remove_marker(path: &Path) -> Result<(), HostError> {
        if Marker::is_someone_elses(path) {
            return Ok(());
        }
        // NTFS has removed it with the file; Wine keeps it.
        #[cfg(windows)]
        let _ = std::fs::remove_file(attribute::stream(path));
        let marker = Marker::marker_path(path);
        match std::fs::remove_file(&marker) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Err(HostError::at("remove", &marker)(cause)),
            _ => Ok(()),
        }
    }
}

/// Marks an identity that is an inode alone.
const BARE: &str = " alone";

/// Identifies the file among all that were ever at its path.
fn file_identity(path: &Path, data: &Metadata) -> String {
    let born = data.created().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    identity_by(&number_of(data), attribute::read(path), born)
}

/// A birth counts only where there is no mark: Wine reports the last change for it.
fn identity_by(number: &str, mark: Option<String>, born: Option<Duration>) -> String {
    match (mark, born) {
        (Some(mark), _) => format!("{number} mark {mark}"),
        (None, Some(born)) => format!("{number} born {}", born.as_nanos()),
        (None, None) => format!("{number}{BARE}"),
    }
}

/// Device and inode of a file.
#[cfg(unix)]
fn number_of(data: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    format!("{}:{}", data.dev(), data.ino())
}

/// The standard library has no file number on Windows.
#[cfg(windows)]
fn number_of(_data: &Metadata) -> String {
    "file".to_owned()
}

/// A text attached to a file as an extended attribute.
#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod attribute {
    use std::path::Path;

    use rustix::fs::{XattrFlags, lgetxattr, lsetxattr};

    const NAME: &str = "user.etalon.mark";

    /// Attaches the mark to a file as an extended attribute.
    pub(super) fn attach(path: &Path, mark: &str) -> std::io::Result<()> {
        Ok(lsetxattr(path, NAME, mark.as_bytes(), XattrFlags::empty())?)
    }

    /// Reads the mark of a file.
    pub(super) fn read(path: &Path) -> Option<String> {
        let mut mark = [0; 64];
        let length = lgetxattr(path, NAME, &mut mark).ok()?;
        String::from_utf8(mark.get(..length)?.to_vec()).ok().filter(|mark| !mark.is_empty())
    }
}

#[cfg(windows)]
mod attribute {
    use std::path::{Path, PathBuf};

    /// Path of the stream that holds the mark.
    pub(super) fn stream(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(":etalon.mark");
        name.into()
    }

    /// Attaches the mark to a file as a stream.
    pub(super) fn attach(path: &Path, mark: &str) -> std::io::Result<()> {
        std::fs::write(stream(path), mark)
    }

    /// Reads the mark of a file.
    pub(super) fn read(path: &Path) -> Option<String> {
        std::fs::read_to_string(stream(path)).ok().filter(|mark| !mark.is_empty())
    }
}

/// Births must do.
#[cfg(not(any(windows, target_os = "linux", target_vendor = "apple")))]
mod attribute {
    use std::path::Path;

    /// Fails: files have no attributes here.
    pub(super) fn attach(_path: &Path, _mark: &str) -> std::io::Result<()> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    /// The mark of a file: none here.
    pub(super) fn read(_path: &Path) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_birth_counts_only_without_a_mark() {
        let (mark, born) = (Some("5e".to_owned()), Some(Duration::from_nanos(7)));
        assert_eq!(identity_by("1:2", mark, born), "1:2 mark 5e");
        assert_eq!(identity_by("1:2", None, born), "1:2 born 7");
        assert_eq!(identity_by("1:2", None, None), "1:2 alone");
    }
}
