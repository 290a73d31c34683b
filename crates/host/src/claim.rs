//! Allows one étalon at a time per path, by an operating system lock that dies with its process.
//!
//! The lock is on a separate file next to the path, `….etalon-lock`, since locks on a database's own file would meet
//! its engine's. A killed étalon leaves the file without the lock; the next one takes and removes it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use same_file::Handle;

use crate::clock;
use crate::error::HostError;
use crate::system::text;

/// Appended to the path.
const SUFFIX: &str = ".etalon-lock";
/// A lock's text begins with it.
const SIGN: &str = "pid=";
/// Retries when the file vanishes before it is locked, or its holder has not yet written who it is.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);

/// Keeps other étalons away from a path until dropped. A process may claim a path again, since several systems of a
/// plan may be one file with different settings.
#[derive(Clone, Debug)]
pub struct FileClaim {
    locked: Arc<LockedFile>,
}

#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// Describes the other étalon.
    #[error("another étalon is using it: {0}")]
    Taken(String),
    #[error("{} is not étalon's", .0.display())]
    NotOurs(PathBuf),
    #[error(transparent)]
    Host(#[from] HostError),
}

#[derive(Debug)]
struct LockedFile {
    /// Closing it releases the lock.
    file: File,
    lock: PathBuf,
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        // While still locked: who opens the file now finds it gone once he has the lock.
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// The locks of this process, by lock file.
static OWN: Mutex<BTreeMap<PathBuf, Weak<LockedFile>>> = Mutex::new(BTreeMap::new());

fn lock_own_locks() -> MutexGuard<'static, BTreeMap<PathBuf, Weak<LockedFile>>> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FileClaim {
    /// Claims a path, which need not exist; its folder must. On a filesystem without locks no one is kept away.
    pub fn claim(path: &Path) -> Result<FileClaim, ClaimError> {
        let lock = lock_of(path)?;
        let mut all = lock_own_locks();
        if let Some(locked) = all.get(&lock).and_then(Weak::upgrade) {
            return Ok(FileClaim { locked });
        }
        let file = take_lock(&lock)?;
        let locked = Arc::new(LockedFile { file, lock: lock.clone() });
        all.retain(|_, locked| locked.strong_count() > 0);
        all.insert(lock, Arc::downgrade(&locked));
        Ok(FileClaim { locked })
    }

    /// Makes a file, and notes next to the lock's holder when: while it is empty, nothing else distinguishes it from
    /// another's.
    ///
    /// # Errors
    /// It is there, or cannot be made or noted.
    pub fn make_empty(&self, file: &Path) -> Result<(), HostError> {
        File::create_new(file).map_err(HostError::at("make", file))?;
        let Some(note) = note_of_empty(file) else { return Ok(()) };
        let noted = (&self.locked.file).write_all(format!("{note}\n").as_bytes());
        noted.map_err(HostError::at("write", &self.locked.lock))
    }

    /// Whether the holder of a claim on `path`, who was killed, has made this file. To be asked before the claim is taken.
    pub fn has_made_empty(path: &Path, file: &Path) -> bool {
        let Some(note) = note_of_empty(file) else { return false };
        let noted = lock_of(path).ok().and_then(|lock| text::read(&lock).ok());
        noted.is_some_and(|noted| noted.lines().any(|line| line == note))
    }

    /// Path of the lock file of a claimed path.
    pub fn lock_path(path: &Path) -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(SUFFIX);
        name.into()
    }
}

/// Links resolved, so that two names of a file have one lock.
fn lock_of(path: &Path) -> Result<PathBuf, HostError> {
    let absolute = std::path::absolute(path).map_err(HostError::at("find", path))?;
    if let Ok(real) = std::fs::canonicalize(&absolute) {
        return Ok(FileClaim::lock_path(&real));
    }
    let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
        return Err(HostError::unavailable(format!("claim {}", path.display()), "it names no file"));
    };
    let folder = std::fs::canonicalize(folder).map_err(HostError::at("find", folder))?;
    Ok(FileClaim::lock_path(&folder.join(name)))
}

/// The note on an empty file. `None`: it is not there, or the filesystem does not report when files were made.
fn note_of_empty(file: &Path) -> Option<String> {
    let made = std::fs::symlink_metadata(file).and_then(|metadata| metadata.created()).ok()?;
    let since = made.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("made_unix_ns={} {}", since.as_nanos(), file.file_name()?.to_string_lossy()))
}

/// Makes and locks the lock file, unless another étalon has it.
fn take_lock(lock: &Path) -> Result<File, ClaimError> {
    let mut holder = None;
    for _ in 0..TRIES {
        let is_there = std::fs::symlink_metadata(lock);
        if is_there.is_ok_and(|found| !found.is_file()) {
            return Err(ClaimError::NotOurs(lock.to_owned()));
        }
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(lock);
        let mut file = opened.map_err(HostError::at("make the lock", lock))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                holder = holder_of(lock);
                match &holder {
                    // One that this process is giving back is free in a moment.
                    Some((pid, _)) if *pid != std::process::id() => break,
                    _ => std::thread::sleep(PAUSE),
                }
                continue;
            }
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(HostError::at("lock", lock)(error).into()),
        }
        if has_other_names(&file).map_err(HostError::at("look at", lock))? {
            return Err(ClaimError::NotOurs(lock.to_owned()));
        }
        // Its holder may have removed it after we opened it; others would then lock another.
        if is_still_there(&file, lock) {
            if !is_of_etalon(&mut file).map_err(HostError::at("read", lock))? {
                return Err(ClaimError::NotOurs(lock.to_owned()));
            }
            let noted = format!(
                "{SIGN}{}\ncommand={}\nsince_unix_ms={}\n",
                std::process::id(),
                command_text(),
                clock::unix_ms()
            );
            let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(noted.as_bytes()));
            written.map_err(HostError::at("write", lock))?;
            return Ok(file);
        }
    }
    Err(ClaimError::Taken(holder.map_or_else(|| "its lock does not tell which".to_owned(), |(_, words)| words)))
}

/// Whether it is a file of another name, too: what is written here would be written there.
#[cfg(unix)]
fn has_other_names(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Ok(file.metadata()?.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_names(_file: &File) -> io::Result<bool> {
    Ok(false)
}

/// Whether a holder of the lock wrote it, or was killed before it could.
fn is_of_etalon(file: &mut File) -> io::Result<bool> {
    let mut begin = Vec::new();
    file.take(SIGN.len() as u64).read_to_end(&mut begin)?;
    Ok(begin.is_empty() || begin == SIGN.as_bytes())
}

/// The holder of a lock, for a message. On Windows no one can read a locked file.
fn holder_of(lock: &Path) -> Option<(u32, String)> {
    let noted = text::read(lock).ok()?;
    let value = |key| text::value_of_key(&noted, key, '=');
    let pid: u32 = value("pid")?.parse().ok()?;
    let since: i64 = value("since_unix_ms")?.parse().ok()?;
    let seconds = u64::try_from(clock::unix_ms() - since).unwrap_or(0) / 1000;
    let words = format!(
        "process {pid} (`{}`), which has had it for {}",
        value("command").unwrap_or_default(),
        model::duration::spaced_text(Duration::from_secs(seconds))
    );
    Some((pid, words))
}

/// This process's command without possible secrets: program, verb and files.
fn command_text() -> String {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let shown = words.enumerate().map(|(place, word)| {
        let is_verb = place == 0 && word.bytes().all(|byte| byte.is_ascii_lowercase());
        if is_verb || Path::new(&word).is_file() { word } else { "…".to_owned() }
    });
    let mut shown: Vec<String> = std::iter::once(program).chain(shown).collect();
    shown.dedup();
    shown.join(" ").replace('\n', " ")
}

/// Whether the open file is still the one at its path.
fn is_still_there(file: &File, lock: &Path) -> bool {
    let opened = file.try_clone().and_then(Handle::from_file);
    matches!((opened, Handle::from_path(lock)), (Ok(opened), Ok(found)) if opened == found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    fn a_process_shares_its_claims_and_the_last_removes_the_lock() {
        let scratch = Scratch::new("claim", None).unwrap();
        let path = scratch.path().join("x.db");
        let first = FileClaim::claim(&path).unwrap();
        let second = FileClaim::claim(&scratch.path().join("./x.db")).unwrap();
        drop(first);
        assert!(FileClaim::lock_path(&path).exists());
        drop(second);
        assert!(!FileClaim::lock_path(&path).exists());
    }

    #[test]
    fn a_foreign_file_at_the_locks_path_stays() {
        let scratch = Scratch::new("claim", None).unwrap();
        let refused = |name: &str| {
            let refused = FileClaim::claim(&scratch.path().join(name)).unwrap_err();
            assert!(
                matches!(&refused, ClaimError::NotOurs(lock) if lock.ends_with(FileClaim::lock_path(name.as_ref()))),
                "{refused}"
            );
        };
        let text = FileClaim::lock_path(&scratch.path().join("text.db"));
        std::fs::write(&text, "my own notes").unwrap();
        refused("text.db");
        assert_eq!(std::fs::read(&text).unwrap(), b"my own notes");
        std::fs::create_dir(FileClaim::lock_path(&scratch.path().join("folder.db"))).unwrap();
        refused("folder.db");
        #[cfg(unix)]
        {
            let link = FileClaim::lock_path(&scratch.path().join("link.db"));
            let aim = scratch.path().join("aim");
            std::os::unix::fs::symlink(&aim, &link).unwrap();
            refused("link.db");
            assert!(!aim.exists() && link.is_symlink());
            let other = scratch.path().join("other");
            std::fs::write(&other, "").unwrap();
            std::fs::hard_link(&other, FileClaim::lock_path(&scratch.path().join("hard.db"))).unwrap();
            refused("hard.db");
            assert_eq!(std::fs::read(&other).unwrap(), b"");
        }
    }

    #[cfg(unix)]
    #[test]
    fn another_holder_is_named_and_one_that_is_gone_is_none() {
        let scratch = Scratch::new("claim", None).unwrap();
        let path = scratch.path().join("x.db");
        // A lock is per open file, so this acts like another process's.
        let theirs = File::create(FileClaim::lock_path(&path)).unwrap();
        theirs.try_lock().unwrap();
        (&theirs).write_all(b"pid=7\ncommand=etalon run two.toml\nsince_unix_ms=1\n").unwrap();
        let refused = FileClaim::claim(&path).unwrap_err();
        let message = refused.to_string();
        assert!(message.contains("process 7 (`etalon run two.toml`)"), "{message}");
        // A killed process leaves the file without the lock.
        drop(theirs);
        assert!(FileClaim::claim(&path).is_ok());
        assert!(!FileClaim::lock_path(&path).exists());
    }
}
