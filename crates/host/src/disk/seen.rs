//! Paths as a server's process sees them, whose mounts and root may be others than étalon's.
//!
//! Such a path is written `/proc/PID/root/PATH`, and what this module's parent finds out about paths holds for it as well.

use std::path::{Path, PathBuf};

#[cfg(unix)]
pub(super) use os::mounts_of;
pub(super) use os::{resolved, split};

use super::{mounts_over, nearest_existing};

/// The path by which étalon reaches what a process calls `path`.
pub fn seen_by(process: u32, path: &Path) -> PathBuf {
    if os::has_own_view(process) { below_root(process, path) } else { path.to_owned() }
}

/// A process's working folder as the process calls it, where étalon may know it.
pub fn working_folder(process: u32) -> Option<PathBuf> {
    os::working_folder(process)
}

pub(super) fn below_root(process: u32, path: &Path) -> PathBuf {
    let root = Path::new("/proc").join(process.to_string()).join("root");
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Entries of a folder that may lie elsewhere than the folder: links, and what something is mounted on. Empty for a folder that
/// cannot be listed.
pub fn diverted_entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let place = nearest_existing(folder).unwrap_or_else(|_| folder.to_owned());
    let (mounts, within) = mounts_over(&place).unwrap_or_default();
    let diverted = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        let place = within.join(entry.file_name());
        let is_mounted = mounts.iter().any(|mount| mount.mount_point == place);
        (is_link || is_mounted).then(|| entry.path())
    });
    diverted.collect()
}

#[cfg(not(target_os = "linux"))]
mod os {
    use std::io;
    use std::path::{Path, PathBuf};

    #[cfg(unix)]
    use crate::system::mounts::Mount;

    pub(super) fn has_own_view(_: u32) -> bool {
        false
    }

    pub(super) fn working_folder(_: u32) -> Option<PathBuf> {
        None
    }

    #[cfg(unix)]
    pub(in super::super) fn mounts_of(_: u32) -> Result<Vec<Mount>, String> {
        Err("the mounts of another process are read on Linux only".to_owned())
    }

    /// Splits `/proc/PID/root/PATH`: there is no such path here.
    pub(in super::super) fn split(_: &Path) -> Option<(u32, PathBuf)> {
        None
    }

    /// Follows the links in a path: none are followed here.
    pub(in super::super) fn resolved(_: u32, path: &Path) -> io::Result<PathBuf> {
        Ok(path.to_owned())
    }
}

#[cfg(target_os = "linux")]
mod os {
    use std::collections::VecDeque;
    use std::ffi::OsString;
    use std::io;
    use std::path::{Component, Path, PathBuf};

    use crate::system::mounts::Mount;
    use crate::system::text;

    /// MAXSYMLINKS in the kernel's namei.h.
    const MOST_LINKS: u32 = 40;

    /// Tests whether a process has other mounts or another root. The kernel tells these to root and the process's own user; to
    /// others only the table of its mounts, whose numbers no two namespaces share.
    pub(super) fn has_own_view(process: u32) -> bool {
        let process = process.to_string();
        let its = namespace_links(&process);
        if its.iter().all(Option::is_some) {
            return its != namespace_links("self");
        }
        mount_table(&process).is_some_and(|its| mount_table("self").is_some_and(|own| own != its))
    }

    pub(super) fn working_folder(process: u32) -> Option<PathBuf> {
        std::fs::read_link(format!("/proc/{process}/cwd")).ok()
    }

    /// Where the kernel's links to a process's mounts and root lead.
    fn namespace_links(process: &str) -> [Option<PathBuf>; 2] {
        ["ns/mnt", "root"].map(|link| std::fs::read_link(format!("/proc/{process}/{link}")).ok())
    }

    /// The text of a process's table of mounts.
    fn mount_table(process: &str) -> Option<String> {
        text::read(format!("/proc/{process}/mountinfo")).ok()
    }

    /// Lists the mounts that a process sees.
    pub(in super::super) fn mounts_of(process: u32) -> Result<Vec<Mount>, String> {
        super::super::linux::mounts_of(&process.to_string())
    }

    /// Splits `/proc/PID/root/PATH` into the process and the path as it sees it.
    pub(in super::super) fn split(path: &Path) -> Option<(u32, PathBuf)> {
        let mut parts = path.strip_prefix("/proc").ok()?.components();
        let process = parts.next()?.as_os_str().to_str()?.parse().ok()?;
        let is_root = parts.next()?.as_os_str() == "root";
        is_root.then(|| (process, Path::new("/").join(parts.as_path())))
    }

    /// Follows the links in a path as a process sees it: an absolute one begins at that process's root. What étalon may not look at
    /// is taken for no link. Ends at the last folder that exists.
    pub(in super::super) fn resolved(process: u32, path: &Path) -> io::Result<PathBuf> {
        let root = PathBuf::from(format!("/proc/{process}/root"));
        let root = if std::fs::metadata(&root).is_ok() { root } else { PathBuf::from("/") };
        let mut left = VecDeque::new();
        push_front(&mut left, path);
        let (mut place, mut links) = (PathBuf::from("/"), 0);
        while let Some(name) = left.pop_front() {
            if name == ".." {
                place.pop();
                continue;
            }
            let next = place.join(&name);
            match std::fs::read_link(root.join(next.strip_prefix("/").unwrap_or(&next))) {
                Ok(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(io::Error::other("it has too many links"));
                    }
                    if target.is_absolute() {
                        place = PathBuf::from("/");
                    }
                    push_front(&mut left, &target);
                }
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => break,
                Err(_) => place = next,
            }
        }
        Ok(place)
    }

    fn push_front(left: &mut VecDeque<OsString>, path: &Path) {
        let names = path.components().rev().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        names.for_each(|part| left.push_front(part.as_os_str().to_owned()));
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    use super::super::{Backing, filesystem_of};
    use super::*;

    #[test]
    fn a_path_of_this_process_stays_as_it_is() {
        assert_eq!(seen_by(std::process::id(), Path::new("/var/x")), Path::new("/var/x"));
        assert_eq!(split(Path::new("/proc/12/root/var/x")), Some((12, "/var/x".into())));
        assert_eq!(split(Path::new("/proc/12/root")), Some((12, "/".into())));
        assert_eq!(split(Path::new("/proc/self/root/x")), None);
        assert_eq!(split(Path::new("/proc/12/cwd/x")), None);
    }

    #[test]
    fn links_lead_elsewhere() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        symlink("file", folder.path().join("link")).unwrap();
        assert_eq!(diverted_entries(folder.path()), [folder.path().join("link")]);
        assert!(diverted_entries(&folder.path().join("not there")).is_empty());
    }

    #[test]
    fn mounts_of_another_process_are_found() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["log", "plain"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        symlink(folder.path().join("log/inner"), folder.path().join("link")).unwrap();
        let script = "mount -t tmpfs none \"$0/log\" && mkdir \"$0/log/inner\" && echo ready && cat";
        let mut unshare = Command::new("unshare");
        unshare.args(["-m", "sh", "-c", script]).arg(folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = unshare.stderr(Stdio::null()).spawn() else {
            return println!("skipped: there is no unshare");
        };
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let backing = |name: &str| {
            filesystem_of(&seen_by(child.id(), &folder.path().join(name))).unwrap().backing == Backing::Memory
        };
        let found = ["log", "log/not/there", "link", "plain", "."].map(backing);
        let diverted = diverted_entries(&seen_by(child.id(), folder.path()));
        let seen = seen_by(child.id(), folder.path());
        drop(child.stdin.take());
        child.wait().unwrap();
        if line.is_empty() {
            return println!("skipped: nothing may be mounted");
        }
        let own = filesystem_of(folder.path()).unwrap().backing == Backing::Memory;
        assert_eq!(found, [true, true, true, own, own]);
        let mut names: Vec<_> = diverted.iter().map(|path| path.strip_prefix(&seen).unwrap()).collect();
        names.sort();
        assert_eq!(names, [Path::new("link"), Path::new("log")]);
    }
}
