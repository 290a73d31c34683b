//! Private folders for servers, data and probe files. Removed when dropped, and found again after a crash.

mod abandoned;

use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use abandoned::{Abandoned, find_abandoned, find_abandoned_in, remove_abandoned};

use crate::clock;
use crate::disk;
use crate::error::HostError;
use crate::process::{self, Group};
use crate::system::{os, text};
use crate::volume;

/// Prefix of scratch folders' names.
pub(crate) const PREFIX: &str = "etalon-";
/// File in a scratch folder that names its owner.
pub(crate) const OWNER: &str = "owner";

/// File in a scratch folder that names another place where its étalon has one.
const ELSEWHERE: &str = "elsewhere";
/// File in a scratch folder that lists files elsewhere that go with it.
pub(crate) const FILES: &str = "files";
/// File in a scratch folder that lists control groups that go with it, each with a tab and the group that its processes
/// came from.
pub(crate) const GROUPS: &str = "groups";

/// Time to retry removing a folder in which another process still writes.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(2);
const REMOVE_POLL: Duration = Duration::from_millis(10);

/// Dropping it removes all in it: end its servers first.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    /// The empty folder in the usual place by which [`find_abandoned`] finds one elsewhere.
    anchor: Option<Box<Scratch>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) kind: String,
    pub(crate) pid: u32,
    pub(crate) start_mark: u64,
    /// Others may share the folder that this one is in.
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) pid_namespace: String,
    pub(crate) made_unix_ms: i64,
}

impl Scratch {
    /// Makes a private folder `etalon-<kind>-<pid>-<random>` in `base`, which is made if missing; by default in the
    /// first writable of [`Scratch::base_folders`] that is not in memory, since data in memory would measure no disk. If all
    /// are in memory, so is this one; `disk::is_memory_backed` says.
    pub fn new(kind: &str, base: Option<&Path>) -> Result<Scratch, HostError> {
        if let Some(base) = base {
            std::fs::create_dir_all(base).map_err(HostError::at("create the folder", base))?;
            let place = dunce::canonicalize(base).map_err(HostError::at("find", base))?;
            let is_usual = Scratch::base_folders()
                .iter()
                .any(|usual| dunce::canonicalize(usual).is_ok_and(|usual| usual == place));
            // Before the folder, lest a kill leave one that no one finds.
            let anchor = if is_usual { None } else { Scratch::make_anchor(&place) };
            let mut scratch = Scratch::make(kind, base)?;
            scratch.anchor = anchor.map(Box::new);
            return Ok(scratch);
        }
        let (memory, real): (Vec<PathBuf>, Vec<PathBuf>) =
            Scratch::base_folders().into_iter().partition(|base| disk::is_memory_backed(base).unwrap_or(false));
        let mut failed = None;
        for base in real.iter().chain(&memory) {
            match Scratch::make(kind, base) {
                Ok(scratch) => return Ok(scratch),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| {
            HostError::unavailable("make a private folder", "there is no folder for temporary files")
        }))
    }

    /// Makes the anchor. None where the usual place is full or cannot be written: then only its user finds a killed
    /// étalon's folder.
    fn make_anchor(place: &Path) -> Option<Scratch> {
        let anchor = Scratch::new("elsewhere", None).ok()?;
        anchor.note_line(ELSEWHERE, &place.display().to_string()).ok()?;
        Some(anchor)
    }

    /// Best first: `/var/tmp` on Unix, which is on disk and survives a reboot (`/tmp` is often in memory), then the
    /// system's temporary folder.
    pub fn base_folders() -> Vec<PathBuf> {
        let mut bases = Vec::new();
        if cfg!(unix) {
            bases.push(PathBuf::from("/var/tmp"));
        }
        let temporary = std::env::temp_dir();
        if !bases.contains(&temporary) {
            bases.push(temporary);
        }
        bases
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Lets other users traverse but not list the folder (mode 0711 on Unix), for a server that runs as another user.
    pub fn allow_passage(&self) -> Result<(), HostError> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o711);
            std::fs::set_permissions(&self.path, mode).map_err(HostError::at("open the way through", &self.path))?;
        }
        Ok(())
    }

    /// Notes a file that [`crate::target::make`] is about to make elsewhere, for [`find_abandoned`] if this étalon is
    /// killed. Dropping the folder does not remove it.
    pub fn claim_file(&self, path: &Path) -> Result<(), HostError> {
        let path = std::path::absolute(path).map_err(HostError::at("find", path))?;
        self.note_line(FILES, &path.display().to_string())
    }

    /// Notes a control group, to be removed if this étalon is killed.
    pub(crate) fn claim_group(&self, group: &Group) -> Result<(), HostError> {
        self.note_line(GROUPS, &format!("{}\t{}", group.path.display(), group.home.display()))
    }

    /// Adds a line to one of the folder's own files.
    fn note_line(&self, file: &str, line: &str) -> Result<(), HostError> {
        let note = self.path.join(file);
        let mut noted = std::fs::read_to_string(&note).unwrap_or_default();
        noted.push_str(&format!("{line}\n"));
        std::fs::write(&note, noted).map_err(HostError::at("write", &note))
    }

    /// Like dropping, but reports errors. A mount inside prevents it.
    pub fn remove(self) -> Result<(), HostError> {
        remove_folder(&self.path)
    }

    /// Makes a private folder in a base.
    fn make(kind: &str, base: &Path) -> Result<Scratch, HostError> {
        let base = std::path::absolute(base).map_err(HostError::at("find", base))?;
        // Links resolved, for comparing with servers' working folders; in Windows's usual form, which all programs take.
        let base = dunce::canonicalize(&base).map_err(HostError::at("find", &base))?;
        let kind: String =
            kind.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        let owner = Owner::of_this_process(&kind)?;
        let path = base.join(format!("{PREFIX}{kind}-{}-{}", owner.pid, random_name()));
        create_private(&path).map_err(HostError::at("create the folder", &path))?;
        let scratch = Scratch { path, anchor: None };
        let file = scratch.path.join(OWNER);
        std::fs::write(&file, owner.to_text()).map_err(HostError::at("write", &file))?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // `find_abandoned` finds what stays.
        if remove_folder(&self.path).is_err() && self.path.exists() {
            std::mem::forget(self.anchor.take());
        }
    }
}

impl Owner {
    /// The owner's note of this process.
    fn of_this_process(kind: &str) -> Result<Owner, HostError> {
        let pid = std::process::id();
        let start_mark = process::start_mark(pid);
        let start_mark =
            start_mark.map_err(|reason| HostError::unavailable("read when this process started", reason))?;
        Ok(Owner {
            kind: kind.to_owned(),
            pid,
            start_mark,
            host: os::host_id(),
            boot: os::boot_id(),
            pid_namespace: os::pid_namespace(),
            made_unix_ms: clock::unix_ms(),
        })
    }

    /// Writes the owner as lines `key=value`.
    fn to_text(&self) -> String {
        format!(
            "kind={}\npid={}\nstart_mark={}\nhost={}\nboot={}\npid_namespace={}\nmade_unix_ms={}\n",
            self.kind, self.pid, self.start_mark, self.host, self.boot, self.pid_namespace, self.made_unix_ms
        )
    }

    /// Reads an owner's note.
    pub(crate) fn parse(owner: &str) -> Option<Owner> {
        let value = |key| text::value_of_key(owner, key, '=');
        Some(Owner {
            kind: value("kind")?.to_owned(),
            pid: value("pid")?.parse().ok()?,
            start_mark: value("start_mark")?.parse().ok()?,
            host: value("host")?.to_owned(),
            boot: value("boot")?.to_owned(),
            pid_namespace: value("pid_namespace")?.to_owned(),
            made_unix_ms: value("made_unix_ms")?.parse().ok()?,
        })
    }
}

/// Removes a folder unless something is mounted in it.
fn remove_folder(path: &Path) -> Result<(), HostError> {
    if let Some(mount) = volume::mounts_under(path)?.first() {
        let tried = format!("remove the folder {}", path.display());
        return Err(HostError::unavailable(tried, format!("a volume is still mounted on {}", mount.display())));
    }
    let started = Instant::now();
    loop {
        match remove_all_of(path) {
            // Children of a killed server may still write.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && started.elapsed() < REMOVE_TIMEOUT => {
                std::thread::sleep(REMOVE_POLL);
            }
            done => return done.map_err(HostError::at("remove the folder", path)),
        }
    }
}

/// The owner note goes last: if étalon is killed meanwhile, the rest can be attributed.
fn remove_all_of(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == OWNER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    match std::fs::remove_file(folder.join(OWNER)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::remove_dir(folder),
    }
}

/// Makes a folder that no one else can enter.
#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

/// Windows: the user's temporary folder is private, and new folders inherit that.
#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

/// Enough: the name also holds the pid, and an existing folder is an error.
pub(crate) fn random_name() -> String {
    format!("{:08x}", random_number() as u32)
}

/// A number that no one can predict.
pub(crate) fn random_number() -> u64 {
    // Each `RandomState` has its own keys, seeded by the operating system.
    std::hash::RandomState::new().build_hasher().finish()
}
