//! Private folders for what étalon makes: servers, their data, probe files. Removed when dropped, and found again after
//! a crash.

mod abandoned;

use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub use abandoned::{Abandoned, Removed, find_abandoned, find_abandoned_in, remove_abandoned};

use crate::clock;
use crate::disk;
use crate::error::HostError;
use crate::process::{self, Group};
use crate::system::{os, text};
use crate::volume;

/// What all scratch folders' names begin with.
pub(crate) const PREFIX: &str = "etalon-";
/// The file in a scratch folder that says whose it is.
pub(crate) const OWNER: &str = "owner";

/// The file in a scratch folder that names files elsewhere which go with it.
pub(crate) const FILES: &str = "files";
/// The file in a scratch folder that names control groups which go with it: each with the group that its processes came
/// from, behind a tab.
pub(crate) const GROUPS: &str = "groups";

/// How long the removal of a folder is tried in which somebody still writes, and how often.
const REMOVE_PATIENCE: Duration = Duration::from_secs(2);
const REMOVE_POLL: Duration = Duration::from_millis(10);

/// A private folder. Dropping it removes it with all that is in it: end the servers in it first.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

/// Who made a scratch folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) kind: String,
    pub(crate) pid: u32,
    pub(crate) start_mark: u64,
    /// The host: others may share the folder that this one is in.
    pub(crate) host: String,
    pub(crate) boot: String,
    pub(crate) pid_namespace: String,
    pub(crate) made_unix_ms: i64,
}

impl Scratch {
    /// Makes a folder `etalon-<kind>-<pid>-<random>` that nobody else can enter.
    ///
    /// `base` is the folder to make it in, and is made if it is not there. Without one it is the first of
    /// [`Scratch::bases`] that can be written to and is not in memory: data in memory would measure no disk. If there
    /// is none it is one in memory, and whoever measures disks asks `disk::is_memory_backed`.
    pub fn new(kind: &str, base: Option<&Path>) -> Result<Scratch, HostError> {
        if let Some(base) = base {
            std::fs::create_dir_all(base).map_err(HostError::at("create the folder", base))?;
            return Scratch::make(kind, base);
        }
        let is_in_memory = |base: &PathBuf| disk::is_memory_backed(base).unwrap_or(false);
        let (memory, real): (Vec<PathBuf>, Vec<PathBuf>) = Scratch::bases().into_iter().partition(is_in_memory);
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

    /// The folders that private ones are made in, best first: `/var/tmp` on Unix, which by convention is on a disk and
    /// survives a restart (`/tmp` is in memory on many systems), then the system's folder for temporary files.
    pub fn bases() -> Vec<PathBuf> {
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

    /// Lets other users pass through the folder to what they own inside, but not list it: for a server that runs as
    /// another user. Mode 0711 on Unix, and nothing elsewhere.
    pub fn allow_passage(&self) -> Result<(), HostError> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::Permissions::from_mode(0o711);
            std::fs::set_permissions(&self.path, mode).map_err(HostError::at("open the way through", &self.path))?;
        }
        Ok(())
    }

    /// Notes a file elsewhere that [`crate::target::make`] is about to make, so that [`find_abandoned`] knows of it if
    /// this étalon is killed. Dropping the folder does not remove the file.
    pub fn claim_file(&self, path: &Path) -> Result<(), HostError> {
        let path = std::path::absolute(path).map_err(HostError::at("find", path))?;
        self.note(FILES, &path.display().to_string())
    }

    /// Notes a control group that is about to be made.
    pub(crate) fn claim_group(&self, group: &Group) -> Result<(), HostError> {
        self.note(GROUPS, &format!("{}\t{}", group.path.display(), group.home.display()))
    }

    /// Adds a line to one of the folder's own files.
    fn note(&self, file: &str, line: &str) -> Result<(), HostError> {
        let note = self.path.join(file);
        let mut noted = std::fs::read_to_string(&note).unwrap_or_default();
        noted.push_str(&format!("{line}\n"));
        std::fs::write(&note, noted).map_err(HostError::at("write", &note))
    }

    /// Removes the folder, and says if that fails; dropping it is silent. What is mounted in it keeps it from being
    /// removed.
    pub fn remove(self) -> Result<(), HostError> {
        remove_folder(&self.path)
    }

    fn make(kind: &str, base: &Path) -> Result<Scratch, HostError> {
        let base = std::path::absolute(base).map_err(HostError::at("find", base))?;
        // Without links, since a server's working folder will be compared with it.
        let base = std::fs::canonicalize(&base).map_err(HostError::at("find", &base))?;
        let kind: String =
            kind.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '_' }).collect();
        let owner = Owner::this(&kind)?;
        let path = base.join(format!("{PREFIX}{kind}-{}-{}", owner.pid, random_name()));
        create_private(&path).map_err(HostError::at("create the folder", &path))?;
        let scratch = Scratch { path };
        let file = scratch.path.join(OWNER);
        std::fs::write(&file, owner.to_text()).map_err(HostError::at("write", &file))?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays behind is found by `find_abandoned`.
        let _ = remove_folder(&self.path);
    }
}

impl Owner {
    fn this(kind: &str) -> Result<Owner, HostError> {
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

    fn to_text(&self) -> String {
        format!(
            "kind={}\npid={}\nstart_mark={}\nhost={}\nboot={}\npid_namespace={}\nmade_unix_ms={}\n",
            self.kind, self.pid, self.start_mark, self.host, self.boot, self.pid_namespace, self.made_unix_ms
        )
    }

    /// Reads what [`Owner::to_text`] writes.
    pub(crate) fn parse(owner: &str) -> Option<Owner> {
        let value = |key| text::value(owner, key, '=');
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

/// Removes a scratch folder in which nothing is mounted.
fn remove_folder(path: &Path) -> Result<(), HostError> {
    if let Some(mount) = volume::mounts_under(path)?.first() {
        let tried = format!("remove the folder {}", path.display());
        return Err(HostError::unavailable(tried, format!("a volume is still mounted on {}", mount.display())));
    }
    let started = Instant::now();
    loop {
        match remove_all_of(path) {
            // A server that was killed a moment ago may have children that still write.
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty && started.elapsed() < REMOVE_PATIENCE => {
                std::thread::sleep(REMOVE_POLL);
            }
            done => return done.map_err(HostError::at("remove the folder", path)),
        }
    }
}

/// The note on whose it is goes last: what is left when this étalon is killed meanwhile can still be told.
fn remove_all_of(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == OWNER {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => std::fs::remove_dir_all(entry.path())?,
            false => std::fs::remove_file(entry.path())?,
        }
    }
    match std::fs::remove_file(folder.join(OWNER)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => std::fs::remove_dir(folder),
    }
}

#[cfg(unix)]
fn create_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().mode(0o700).create(path)
}

/// Windows gives a new folder the rights of the one it is in, and the user's temporary folder is private.
#[cfg(not(unix))]
fn create_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir(path)
}

/// Eight random letters: enough, since the name holds the process number too and a folder that exists is an error.
pub(crate) fn random_name() -> String {
    format!("{:08x}", random_number() as u32)
}

/// A number that nobody foresees.
pub(crate) fn random_number() -> u64 {
    // Each `RandomState` hashes with keys of its own, seeded by the operating system.
    std::hash::RandomState::new().build_hasher().finish()
}
