//! Finds and removes what a killed étalon left behind.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{ELSEWHERE, FILES, GROUPS, OWNER, Owner, PREFIX, Scratch, remove_folder};
use crate::claim::{ClaimError, FileClaim};
use crate::clock;
use crate::error::HostError;
use crate::process::{self, Group, SERVER_PIDS, StopSignal};
use crate::system::{os, text};
use crate::target;
use crate::volume;

/// Grace period of a server left behind.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Age after which a folder without an owner is abandoned.
const BIRTH: Duration = Duration::from_secs(60);

/// A scratch folder whose étalon no longer runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Abandoned {
    pub path: PathBuf,
    pub pid: u32,
    pub kind: String,
    pub age: Duration,
    /// Servers that still run in it.
    pub servers: Vec<u32>,
    /// Volumes that are still mounted in it.
    pub mounts: Vec<PathBuf>,
    /// Elsewhere: images of volumes, targets of disk benchmarks.
    pub files: Vec<PathBuf>,
    /// Made to limit processes.
    pub groups: Vec<PathBuf>,
}

/// Looks in the usual places, and where those that are there say.
pub fn find_abandoned() -> Vec<Abandoned> {
    let usual: Vec<Abandoned> = Scratch::base_folders().iter().flat_map(|base| find_abandoned_in(base)).collect();
    let mut places: Vec<PathBuf> = usual.iter().flat_map(places_of).collect();
    places.sort_unstable();
    places.dedup();
    // What says where they are goes last, and only if that place can be looked at: it may not be mounted yet.
    let elsewhere = places.iter().flat_map(|place| find_abandoned_in(place));
    let reachable = usual.iter().filter(|found| places_of(found).iter().all(|place| place.is_dir()));
    elsewhere.chain(reachable.cloned()).collect()
}

/// Other places in which its étalon has folders.
fn places_of(found: &Abandoned) -> Vec<PathBuf> {
    text::read(found.path.join(ELSEWHERE)).unwrap_or_default().lines().map(PathBuf::from).collect()
}

/// Leaves out other users' folders, those of other hosts that share the place, and those of containers whose processes
/// cannot be seen. An unreadable place holds none.
pub fn find_abandoned_in(base: &Path) -> Vec<Abandoned> {
    let Ok(base) = dunce::canonicalize(base) else { return Vec::new() };
    let Ok(entries) = std::fs::read_dir(base) else { return Vec::new() };
    let ours = entries.filter_map(Result::ok).filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let mut found: Vec<Abandoned> = ours.filter_map(|entry| judge_folder(&entry.path())).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Stops the servers in an abandoned folder, unmounts its mounts, removes its files elsewhere, its control groups, and
/// the folder. A volume's loop device detaches itself.
///
/// Checks again first that the folder is abandoned. A server is stopped only if pid and start mark are those noted
/// *and* it works in the folder or names it in its arguments. Returns what was removed.
pub fn remove_abandoned(abandoned: &Abandoned) -> Result<Abandoned, HostError> {
    let Some(now) = judge_folder(&abandoned.path) else {
        let tried = format!("remove {}", abandoned.path.display());
        return Err(HostError::unavailable(tried, "it is gone, or it is not an abandoned folder of this user"));
    };
    if let Some(place) = places_of(&now).iter().find(|place| !find_abandoned_in(place).is_empty()) {
        let tried = format!("remove {}", now.path.display());
        return Err(HostError::unavailable(tried, format!("it says what is left in {}", place.display())));
    }
    for server in servers_in(&now.path) {
        stop_server(server)?;
    }
    for mount in &now.mounts {
        volume::unmount(mount)?;
    }
    for file in &now.files {
        // Taking a dead étalon's lock removes it with the claim; a living one uses the file again.
        let claim = FileClaim::claim(file);
        if !matches!(claim, Err(ClaimError::Taken(_))) {
            target::remove_with_companions(file)?;
        }
    }
    for group in groups_of(&now.path) {
        group.remove()?;
    }
    remove_folder(&now.path)?;
    Ok(now)
}

/// Describes a folder that was left by an étalon that is gone; `None` for any other.
fn judge_folder(path: &Path) -> Option<Abandoned> {
    if !is_own_folder(path) {
        return None;
    }
    let Some(owner) = text::read(path.join(OWNER)).ok().and_then(|owner| Owner::parse(&owner)) else {
        return stillborn_folder(path);
    };
    if !is_gone(&owner) {
        return None;
    }
    Some(Abandoned {
        path: path.to_owned(),
        pid: owner.pid,
        kind: owner.kind,
        age: Duration::from_millis(u64::try_from(clock::unix_ms() - owner.made_unix_ms).unwrap_or(0)),
        servers: servers_in(path).iter().map(|server| server.pid).collect(),
        mounts: volume::mounts_under(path).unwrap_or_default(),
        files: files_of(path),
        groups: groups_of(path).into_iter().map(|group| group.path).collect(),
    })
}

/// A folder whose étalon was killed before noting its ownership: empty and untouched for a while.
fn stillborn_folder(path: &Path) -> Option<Abandoned> {
    let (kind, rest) = path.file_name()?.to_str()?.strip_prefix(PREFIX)?.split_once('-')?;
    let pid = rest.split_once('-')?.0.parse().ok()?;
    let age = std::fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()?;
    let mut entries = std::fs::read_dir(path).ok()?;
    let is_bare = entries.all(|entry| entry.is_ok_and(|entry| entry.file_name() == OWNER));
    let (kind, path) = (kind.to_owned(), path.to_owned());
    let (servers, mounts, files, groups) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    (is_bare && age > BIRTH).then_some(Abandoned { path, pid, kind, age, servers, mounts, files, groups })
}

/// Noted in the folder, existing, and with étalon's mark.
fn files_of(folder: &Path) -> Vec<PathBuf> {
    let noted = text::read(folder.join(FILES)).unwrap_or_default();
    noted.lines().map(PathBuf::from).filter(|path| target::has_leftovers(path)).collect()
}

/// Noted in the folder and existing; the last made first.
fn groups_of(folder: &Path) -> Vec<Group> {
    let noted = text::read(folder.join(GROUPS)).unwrap_or_default();
    let groups = noted.lines().rev().filter_map(|line| {
        let (path, home) = line.split_once('\t')?;
        Some(Group { path: path.into(), home: home.into() }).filter(Group::exists)
    });
    groups.collect()
}

/// Whether the étalon that made a folder is gone, as far as this process can know. Other hosts are unknown; the same
/// boot id is the same host, whatever its name.
fn is_gone(owner: &Owner) -> bool {
    let is_this_start = !owner.boot.is_empty() && owner.boot == os::boot_id();
    if !is_this_start && (owner.host.is_empty() || owner.host != os::host_id()) {
        return false;
    }
    if owner.boot != os::boot_id() {
        return true;
    }
    owner.pid_namespace == os::pid_namespace() && !process::is_alive(owner.pid, owner.start_mark)
}

/// `/var/tmp` is open to all: another user's folder, or a link, must not make étalon stop or remove anything.
#[cfg(unix)]
fn is_own_folder(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let user = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir() && data.uid() == user)
}

#[cfg(not(unix))]
fn is_own_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|data| data.is_dir())
}

#[derive(Clone, Copy)]
struct Server {
    pid: u32,
    start_mark: u64,
}

/// The servers that a folder notes and that still run in it.
fn servers_in(folder: &Path) -> Vec<Server> {
    let noted = text::read(folder.join(SERVER_PIDS)).unwrap_or_default();
    let servers = noted.lines().filter_map(|line| {
        let (pid, start_mark) = line.split_once(' ')?;
        Some(Server { pid: pid.parse().ok()?, start_mark: start_mark.parse().ok()? })
    });
    let runs_here =
        |server: &Server| process::is_alive(server.pid, server.start_mark) && points_into(server.pid, folder);
    servers.filter(runs_here).collect()
}

/// Whether a process works in the folder or names something in it in its arguments.
fn points_into(pid: u32, folder: &Path) -> bool {
    if os::working_folder(pid).is_some_and(|place| place.starts_with(folder)) {
        return true;
    }
    let Some(words) = os::command_line(pid) else { return false };
    words.iter().any(|argument| {
        // `/folder`, `/folder/data`, `--datadir=/folder/data`.
        let value = argument.split_once('=').map_or("", |(_, value)| value);
        Path::new(argument).starts_with(folder) || Path::new(value).starts_with(folder)
    })
}

/// Stops a server that was left running.
fn stop_server(server: Server) -> Result<(), HostError> {
    for (signal, timeout) in [(StopSignal::Immediate, TIMEOUT), (StopSignal::Kill, TIMEOUT)] {
        if let Err(error) = process::send_signal(server.pid, signal) {
            // It may have ended meanwhile.
            return if process::is_alive(server.pid, server.start_mark) { Err(error) } else { Ok(()) };
        }
        let deadline = Instant::now() + timeout;
        while process::is_alive(server.pid, server.start_mark) {
            if Instant::now() >= deadline {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if !process::is_alive(server.pid, server.start_mark) {
            return Ok(());
        }
    }
    let reason = "it did not end, even when it was killed".to_owned();
    Err(HostError::Process { tried: "end", pid: server.pid, reason })
}
