//! Unpacks a tar archive into a folder, and nowhere else.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path};

use host::process::User;

use super::archive::{self, ArchiveEntry, ArchiveEntryKind};
use super::backups::BackupLayout;

struct Unpacking<'a> {
    folder: &'a Path,
    user: Option<&'a User>,
    file: Option<File>,
}

/// Unpacks a tar archive into a folder, and gives its files to a user.
///
/// Unpacks PostgreSQL's files and folders for `user`. The server syncs them itself before it recovers.
///
/// # Errors
/// The archive is broken, leads out of the folder, holds a tablespace; the device is full.
pub fn unpack_tar(from: &mut dyn Read, folder: &Path, user: Option<&User>) -> io::Result<()> {
    let mut unpacking = Unpacking { folder, user, file: None };
    archive::read_entries(
        BackupLayout::Tar,
        from,
        &mut unpacking,
        &mut |it, entry| it.begin_entry(entry),
        &mut |it, bytes| it.file.as_mut().map_or(Ok(()), |file| file.write_all(bytes)),
    )?;
    Ok(())
}

impl Unpacking<'_> {
    /// Makes the folder or opens the file of an archive's entry; fails if it leads out of the folder.
    fn begin_entry(&mut self, entry: &ArchiveEntry) -> io::Result<()> {
        self.file = None;
        let inside = Path::new(&entry.path);
        if inside.components().any(|part| !matches!(part, Component::Normal(_) | Component::CurDir)) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a path leads out of the archive"));
        }
        let path = self.folder.join(inside);
        match entry.kind {
            ArchiveEntryKind::Folder => {
                fs::create_dir_all(&path)?;
                host::identity::close_to_others(&path).map_err(io::Error::other)?;
            }
            ArchiveEntryKind::File { .. } => {
                if let Some(parent) = path.parent() {
                    fs::create_dir_all(parent)?;
                }
                self.file = Some(File::create_new(&path)?);
            }
            ArchiveEntryKind::Link(_) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "it holds a link out of the data folder"));
            }
        }
        match self.user {
            Some(user) => host::process::chown(&path, user).map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

/// Changes the owner of a folder and all in it to a user.
pub fn chown_tree(folder: &Path, user: &User) -> io::Result<()> {
    host::process::chown(folder, user).map_err(io::Error::other)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            chown_tree(&entry.path(), user)?;
        } else {
            host::process::chown(&entry.path(), user).map_err(io::Error::other)?;
        }
    }
    Ok(())
}
