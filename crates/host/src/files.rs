//! The one way in which étalon puts a file of its own where a user or a plan wants it.
//!
//! The bytes go to a draft in the same folder, are synced, and get the file's name only then: a reader sees the whole file
//! or none, and a failure leaves nothing. Where the system has files without a name (Linux), a kill leaves nothing either;
//! elsewhere the draft has a random name. What is there already stays, unless étalon wrote it or the user has
//! said that it may go; a database stays in any case, and so does what a link leads to.

use std::fmt;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::error::HostError;
use crate::scratch::random_number;

/// How a database of SQLite, its WAL in either byte order, and its journal begin: a store is such a database.
const DATABASES: [&[u8]; 4] =
    [b"SQLite format 3\0", &[0x37, 0x7f, 0x06, 0x82], &[0x37, 0x7f, 0x06, 0x83], &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1]];
/// A longer file is not read to find out whether étalon wrote it.
const LONGEST_OWN_BYTES: u64 = 256 << 20;

/// The files that are there already and may be replaced.
#[derive(Clone, Copy)]
pub enum Replacing<'a> {
    /// The file that étalon wrote, as the function says of all its bytes.
    Own(&'a dyn Fn(&[u8]) -> bool),
    /// Any file but a database: the user has said so.
    Any,
}

/// A file that is in the way of another, and stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A file that étalon did not write, or that was changed since.
    Foreign,
    /// A file that is write-protected.
    ReadOnly,
    /// A symbolic link.
    Link,
    /// A store, or another database of its kind.
    Database,
    Folder,
    /// A block device.
    Disk,
    /// A terminal, a pipe or another device that takes a stream of bytes: see [`write_to_stream`].
    Stream,
    /// A socket, or something that is not known.
    Other,
}

impl Occupant {
    /// Whether [`Replacing::Any`] would replace it.
    pub fn is_replaceable(self) -> bool {
        matches!(self, Occupant::Foreign | Occupant::ReadOnly | Occupant::Link)
    }
}

impl fmt::Display for Occupant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Occupant::Foreign => "it is there already, and étalon did not write it, or it was changed since",
            Occupant::ReadOnly => "it is there already, and it is write-protected",
            Occupant::Link => "it is a symbolic link",
            Occupant::Database => "it is a store or another database",
            Occupant::Folder => "it is a folder",
            Occupant::Disk => "it is a disk",
            Occupant::Stream => "it is a device or a pipe",
            Occupant::Other => "it is not a file",
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PutError {
    #[error("cannot write {}: {occupant}", path.display())]
    Occupied { path: PathBuf, occupant: Occupant },
    #[error(transparent)]
    Host(#[from] HostError),
}

impl PutError {
    /// The error that something else is at the path.
    fn occupied(path: &Path, occupant: Occupant) -> PutError {
        PutError::Occupied { path: path.to_owned(), occupant }
    }
}

/// Puts a file in its place, whole or not at all.
///
/// # Errors
/// What is there stays there, or the file cannot be written.
pub fn put_file(path: &Path, bytes: &[u8], replacing: Replacing<'_>) -> Result<(), PutError> {
    let replaced = match find_occupant(path, bytes, replacing).map_err(HostError::at("look at", path))? {
        Found::Nothing => None,
        Found::Same => return Ok(()),
        Found::Replaceable(metadata) => Some(metadata),
        Found::Staying(occupant) => return Err(PutError::occupied(path, occupant)),
    };
    let mut draft = Draft::write_draft(path, bytes)?;
    match replaced {
        Some(metadata) => {
            if metadata.is_file() {
                // A report that only its user may read stays one.
                draft.file.set_permissions(metadata.permissions()).map_err(HostError::at("write", path))?;
            }
            draft.rename_to(path).map_err(HostError::at("write", path))?;
        }
        None => draft.put_new(path)?,
    }
    drop(draft);
    sync_folder(folder_of_file(path));
    Ok(())
}

/// Reads device and inode of the file that a path leads to, by links too; `None` where the system has no such numbers.
pub fn read_inode(path: &Path) -> io::Result<Option<(u64, u64)>> {
    #[cfg(unix)]
    return fs::metadata(path).map(|file| {
        use std::os::unix::fs::MetadataExt as _;
        Some((file.dev(), file.ino()))
    });
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(None)
    }
}

/// Makes a new file that no one else can read.
fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A new file that something else writes, such as a database: it gets its name when it is whole.
pub struct NewFile {
    path: PathBuf,
    draft: Draft,
}

impl NewFile {
    /// Begins an empty file in the folder of `path`, under a name of its own. Where the system has modes, its owner alone may read it.
    ///
    /// # Errors
    /// Something is at `path` already, or the folder cannot be written.
    pub fn begin(path: &Path) -> Result<NewFile, PutError> {
        match find_occupant(path, &[], Replacing::Any).map_err(HostError::at("look at", path))? {
            Found::Nothing => {}
            Found::Same | Found::Replaceable(_) => return Err(PutError::occupied(path, Occupant::Foreign)),
            Found::Staying(occupant) => return Err(PutError::occupied(path, occupant)),
        }
        let name = draft_name(path);
        let file = create_private_file(&name).map_err(HostError::at("write", path))?;
        Ok(NewFile { path: path.to_owned(), draft: Draft { file, name: Some(name) } })
    }

    /// Where it is written.
    pub fn draft_path(&self) -> &Path {
        self.draft.name.as_deref().unwrap_or(&self.path)
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// Something came there meanwhile, and stays, or the folder cannot be written.
    pub fn put_in_place(mut self) -> Result<(), PutError> {
        self.draft.sync().map_err(HostError::at("write", &self.path))?;
        self.draft.put_new(&self.path)?;
        sync_folder(folder_of_file(&self.path));
        Ok(())
    }
}

/// Whether it is a terminal, a pipe or another device that takes a stream of bytes, by a link or by its own name.
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| kind_of(&found) == Some(Occupant::Stream))
}

/// Writes to a device or a pipe, which stays what it is. A pipe that no one reads is waited for.
///
/// # Errors
/// It does not take all bytes.
pub fn write_to_stream(path: &Path, bytes: &[u8]) -> Result<(), HostError> {
    let opened = File::options().write(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(bytes).and_then(|()| file.flush()));
    match written {
        // Its reader has had enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(HostError::at("write", path)),
    }
}

/// The finding at a path before a file is put there.
enum Found {
    Nothing,
    /// A file of the very bytes.
    Same,
    Replaceable(Metadata),
    Staying(Occupant),
}

/// Says what is at a path: nothing, an equal file, a file that may be replaced, or something else.
fn find_occupant(path: &Path, bytes: &[u8], replacing: Replacing<'_>) -> io::Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(error) => return Err(error),
    };
    if metadata.is_symlink() {
        let aim = fs::metadata(path).ok();
        let is_database = aim.is_some_and(|aim| aim.is_file()) && is_database(path)?;
        return Ok(match replacing {
            _ if is_database => Found::Staying(Occupant::Database),
            Replacing::Any => Found::Replaceable(metadata),
            Replacing::Own(_) => Found::Staying(Occupant::Link),
        });
    }
    if let Some(kind) = kind_of(&metadata) {
        return Ok(Found::Staying(kind));
    }
    match replacing {
        _ if metadata.len() > 0 && is_database(path)? => Ok(Found::Staying(Occupant::Database)),
        Replacing::Any => Ok(Found::Replaceable(metadata)),
        Replacing::Own(_) if metadata.len() > LONGEST_OWN_BYTES => Ok(Found::Staying(Occupant::Foreign)),
        Replacing::Own(is_own) => {
            let there = fs::read(path)?;
            Ok(match (there == bytes, is_own(&there)) {
                (true, _) => Found::Same,
                (false, true) if metadata.permissions().readonly() => Found::Staying(Occupant::ReadOnly),
                (false, true) => Found::Replaceable(metadata),
                (false, false) => Found::Staying(Occupant::Foreign),
            })
        }
    }
}

/// What is at a path instead of a file; `None` for a file.
#[cfg(unix)]
fn kind_of(found: &Metadata) -> Option<Occupant> {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = found.file_type();
    if kind.is_file() {
        return None;
    }
    Some(if kind.is_dir() {
        Occupant::Folder
    } else if kind.is_fifo() || kind.is_char_device() {
        Occupant::Stream
    } else if kind.is_block_device() {
        Occupant::Disk
    } else {
        Occupant::Other
    })
}

/// What is at a path instead of a file; `None` for a file.
#[cfg(not(unix))]
fn kind_of(found: &Metadata) -> Option<Occupant> {
    if found.is_file() {
        return None;
    }
    Some(if found.is_dir() { Occupant::Folder } else { Occupant::Other })
}

fn is_database(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(16).read_to_end(&mut begin)?;
    Ok(DATABASES.iter().any(|sign| begin.starts_with(sign)))
}

/// The folder that a file is in.
fn folder_of_file(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file that has not got its own name yet. What name it has meanwhile is removed on drop.
struct Draft {
    file: File,
    name: Option<PathBuf>,
}

impl Draft {
    /// Writes a draft next to its path, without a name where the system can do that.
    fn write_draft(path: &Path, bytes: &[u8]) -> Result<Draft, HostError> {
        let draft = nameless(folder_of_file(path)).map(|file| Draft { file, name: None }).or_else(|_| {
            let name = draft_name(path);
            File::create_new(&name).map(|file| Draft { file, name: Some(name) })
        });
        let mut draft = draft.map_err(HostError::at("write", path))?;
        let written = draft.file.write_all(bytes).and_then(|()| draft.sync());
        written.map_err(HostError::at("write", path))?;
        Ok(draft)
    }

    /// Syncs the draft to the device, as far as its filesystem can.
    fn sync(&self) -> io::Result<()> {
        match self.file.sync_all() {
            // Some file systems of other programs sync nothing.
            Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => Ok(()),
            synced => synced,
        }
    }

    /// Gives it its name where nothing else has it: unlike a rename, a link never replaces a file that came meanwhile.
    fn put_new(&mut self, path: &Path) -> Result<(), PutError> {
        match self.link_as(path) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(PutError::occupied(path, Occupant::Foreign))
            }
            // A file system without links, such as FAT.
            Err(_) if fs::symlink_metadata(path).is_err() => {
                Ok(self.rename_to(path).map_err(HostError::at("write", path))?)
            }
            Err(_) => Err(PutError::occupied(path, Occupant::Foreign)),
        }
    }

    /// Gives it a name more; never that of another file.
    fn link_as(&self, path: &Path) -> io::Result<()> {
        match &self.name {
            Some(name) => fs::hard_link(name, path),
            None => name_file(&self.file, path),
        }
    }

    /// Gives it a name in place of whatever has it.
    fn rename_to(&mut self, path: &Path) -> io::Result<()> {
        let name = match &self.name {
            Some(name) => name,
            None => {
                let name = draft_name(path);
                self.link_as(&name)?;
                self.name.insert(name)
            }
        };
        fs::rename(name, path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // After a rename it is not there.
            let _ = fs::remove_file(name);
        }
    }
}

/// A path that no other file has, in the folder of `path`.
fn draft_name(path: &Path) -> PathBuf {
    folder_of_file(path).join(format!(".etalon-{:016x}.new", random_number()))
}

/// Opens a file without a name, which is gone with the process that has it open.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> io::Result<File> {
    use rustix::fs::{Mode, OFlags, open};
    // Without it, it could not be given a name.
    fs::metadata("/proc/self/fd")?;
    let read_and_write_for_all = Mode::from_raw_mode(0o666);
    Ok(File::from(open(folder, OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, read_and_write_for_all)?))
}

/// Fails: files without a name cannot be opened here.
#[cfg(not(target_os = "linux"))]
fn nameless(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Gives a file without a name its first one.
#[cfg(target_os = "linux")]
fn name_file(file: &File, path: &Path) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    let opened = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(rustix::fs::linkat(rustix::fs::CWD, opened, rustix::fs::CWD, path, rustix::fs::AtFlags::SYMLINK_FOLLOW)?)
}

/// Fails: a file without a name cannot be given one here.
#[cfg(not(target_os = "linux"))]
fn name_file(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Makes the new name survive a power cut, where the system can.
fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own(bytes: &[u8]) -> bool {
        bytes.starts_with(b"own")
    }

    fn occupant_of(put: Result<(), PutError>) -> Occupant {
        match put {
            Err(PutError::Occupied { occupant, .. }) => occupant,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn put_replaces_only_what_is_its_own_or_may_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let replacing = Replacing::Own(&is_own);
        put_file(&path, b"own 1", replacing).unwrap();
        put_file(&path, b"own 2", replacing).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"own 2");
        fs::write(&path, "precious").unwrap();
        assert_eq!(occupant_of(put_file(&path, b"own 3", replacing)), Occupant::Foreign);
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        put_file(&path, b"own 3", Replacing::Any).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"own 3");
        let mut rights = fs::metadata(&path).unwrap().permissions();
        rights.set_readonly(true);
        fs::set_permissions(&path, rights).unwrap();
        assert_eq!(occupant_of(put_file(&path, b"own 4", replacing)), Occupant::ReadOnly);
        for sign in DATABASES {
            let path = folder.path().join("database");
            fs::write(&path, sign).unwrap();
            for replacing in [replacing, Replacing::Any] {
                assert_eq!(occupant_of(put_file(&path, b"own", replacing)), Occupant::Database);
            }
            assert_eq!(fs::read(&path).unwrap(), sign);
        }
        assert_eq!(occupant_of(put_file(folder.path(), b"own", Replacing::Any)), Occupant::Folder);
        assert!(matches!(put_file(&folder.path().join("no/x"), b"own", replacing), Err(PutError::Host(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }

    #[cfg(unix)]
    #[test]
    fn put_never_writes_through_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, aim) = (folder.path().join("link"), folder.path().join("aim"));
        fs::write(&aim, "own").unwrap();
        std::os::unix::fs::symlink(&aim, &path).unwrap();
        assert_eq!(occupant_of(put_file(&path, b"own 1", Replacing::Own(&is_own))), Occupant::Link);
        put_file(&path, b"own 1", Replacing::Any).unwrap();
        assert_eq!(fs::read(&aim).unwrap(), b"own");
        assert!(!path.is_symlink());
        // A second name of a file keeps what it had.
        let other = folder.path().join("other");
        fs::hard_link(&path, &other).unwrap();
        put_file(&path, b"own 2", Replacing::Own(&is_own)).unwrap();
        assert_eq!((fs::read(&path).unwrap(), fs::read(&other).unwrap()), (b"own 2".to_vec(), b"own 1".to_vec()));
    }

    #[test]
    fn a_new_file_gets_its_name_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let begun = NewFile::begin(&path).unwrap();
        fs::write(begun.draft_path(), "whole").unwrap();
        assert!(!path.exists());
        begun.put_in_place().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions()) & 0o777, 0o600);
        assert!(matches!(NewFile::begin(&path), Err(PutError::Occupied { .. })));
        drop(NewFile::begin(&folder.path().join("y")).unwrap());
        let late = NewFile::begin(&folder.path().join("z")).unwrap();
        fs::write(folder.path().join("z"), "theirs").unwrap();
        assert_eq!(occupant_of(late.put_in_place()), Occupant::Foreign);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn streams_are_written_to_and_stay() {
        assert!(is_stream(Path::new("/dev/null")) && !is_stream(Path::new("/etc")));
        write_to_stream(Path::new("/dev/null"), b"x").unwrap();
        let full = write_to_stream(Path::new("/dev/full"), b"x").unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        assert_eq!(occupant_of(put_file(Path::new("/dev/null"), b"x", Replacing::Any)), Occupant::Stream);
    }
}
