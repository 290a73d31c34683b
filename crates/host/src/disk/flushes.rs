//! Whether a flush reaches the device, as far as this system can know.

use std::path::Path;

use super::{Backing, Filesystem, filesystem_of};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flushes {
    /// Flushes go to the device, with what it reports.
    PassedOn(String),
    /// Flushes are dropped, with the reason. A power cut may lose flushed data, in any order.
    Dropped(String),
    /// It is not known where flushes go, with the reason.
    Unknown(String),
}

/// Mount options that drop flushes. `volatile` is the overlay's: it syncs nothing at all.
/// <https://www.kernel.org/doc/html/latest/admin-guide/ext4.html>, and `btrfs`, `f2fs` and `overlayfs` there.
const DROPPING: [&str; 5] = ["nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier", "volatile"];

/// Also for a path that does not exist yet.
pub fn flushes_of(path: &Path) -> Flushes {
    let mut flushes = match filesystem_of(path) {
        Ok(filesystem) => for_filesystem(&filesystem),
        Err(error) => Flushes::Unknown(error.to_string()),
    };
    if let (Flushes::PassedOn(words), Some(machine)) = (&mut flushes, machine()) {
        words.push_str(&format!(
            "; it is a disk of a virtual machine ({machine}), and what its host does with a flush cannot be seen from inside"
        ));
    }
    flushes
}

/// Whether syncs reach the disk, by what is known of the filesystem.
fn for_filesystem(filesystem: &Filesystem) -> Flushes {
    let kind = &filesystem.kind;
    let cache = filesystem.device.as_ref().ok().map(|device| (&device.name, device.write_cache.as_deref()));
    // The kernel's word for a device without a volatile cache.
    let keeps_nothing = matches!(cache, Some((_, Ok("write through"))));
    let dropping = filesystem.mount_options.iter().find(|option| DROPPING.contains(&option.as_str()));
    if let Some(option) = dropping.filter(|option| *option == "volatile" || !keeps_nothing) {
        return Flushes::Dropped(format!(
            "its {kind} is mounted with `{option}`, so that flushes do not reach the disk"
        ));
    }
    match (filesystem.backing, cache) {
        (Backing::Memory, _) => Flushes::Dropped("it is in memory".to_owned()),
        (Backing::Device, Some((name, Ok("write back")))) => {
            Flushes::PassedOn(format!("{name} has a volatile cache, by its own account, and is flushed"))
        }
        (Backing::Device, Some((name, Ok("write through")))) => {
            Flushes::PassedOn(format!("{name} has no volatile cache, by its own account"))
        }
        (Backing::Device, Some((name, Ok(other)))) => Flushes::Unknown(format!("the cache of {name} is `{other}`")),
        (Backing::Device, Some((_, Err(reason)))) => Flushes::Unknown(reason.to_owned()),
        _ => Flushes::Unknown(format!("what {kind} does with a flush cannot be seen from here")),
    }
}

/// The hypervisor, if one is seen.
#[cfg(target_os = "linux")]
fn machine() -> Option<String> {
    let cpuinfo = crate::system::text::read("/proc/cpuinfo").unwrap_or_default();
    Some(crate::facts::virtualisation::virtualisation(&cpuinfo)).filter(|found| found != "none seen")
}

/// The hypervisor: not looked for here.
#[cfg(not(target_os = "linux"))]
fn machine() -> Option<String> {
    None
}

/// A library in a process that drops its flushes, such as `libeatmydata.so`. Linux only, and only if this user may
/// look at the process's memory.
pub fn flush_eater(pid: u32) -> Option<String> {
    let maps = crate::system::text::read(format!("/proc/{pid}/maps")).ok()?;
    let files = maps.lines().filter(|line| line.contains('/')).filter_map(|line| line.rsplit('/').next());
    files.map(str::trim).find(|file| EATERS.iter().any(|eater| file.contains(eater))).map(str::to_owned)
}

const EATERS: [&str; 3] = ["eatmydata", "nosync.so", "nofsync"];

#[cfg(test)]
mod tests {
    use super::super::Device;
    use super::*;

    fn filesystem(options: &[&str], write_cache: Result<&str, &str>) -> Filesystem {
        let unknown: Result<String, String> = Err(String::new());
        Filesystem {
            kind: "ext4".to_owned(),
            mount_point: "/".into(),
            mount_options: options.iter().map(|option| (*option).to_owned()).collect(),
            source: "/dev/sda".to_owned(),
            block_size_bytes: Ok(4096),
            backing: Backing::Device,
            device: Ok(Device {
                name: "sda".to_owned(),
                model: unknown.clone(),
                media: Err(String::new()),
                scheduler: unknown,
                write_cache: write_cache.map(str::to_owned).map_err(str::to_owned),
            }),
        }
    }

    #[test]
    fn flushes_are_followed_as_far_as_they_can_be_seen() {
        let passed_on =
            |flushes: &Flushes, words: &str| matches!(flushes, Flushes::PassedOn(said) if said.contains(words));
        assert!(passed_on(&for_filesystem(&filesystem(&["rw"], Ok("write back"))), "is flushed"));
        assert!(passed_on(&for_filesystem(&filesystem(&["rw"], Ok("write through"))), "no volatile cache"));
        let dropped = for_filesystem(&filesystem(&["rw", "nobarrier"], Ok("write back")));
        assert!(matches!(&dropped, Flushes::Dropped(why) if why.contains("nobarrier")), "{dropped:?}");
        assert!(matches!(for_filesystem(&filesystem(&["barrier=0"], Err("unknown"))), Flushes::Dropped(_)));
        // A write-through device has nothing to flush; an overlay that syncs nothing is another matter.
        assert!(passed_on(&for_filesystem(&filesystem(&["nobarrier"], Ok("write through"))), "no volatile cache"));
        assert!(matches!(for_filesystem(&filesystem(&["volatile"], Ok("write through"))), Flushes::Dropped(_)));
        assert_eq!(
            for_filesystem(&filesystem(&["rw"], Err("it says nothing"))),
            Flushes::Unknown("it says nothing".to_owned())
        );
        let share =
            Filesystem { kind: "nfs4".to_owned(), backing: Backing::Network, ..filesystem(&["rw"], Ok("write back")) };
        assert!(matches!(for_filesystem(&share), Flushes::Unknown(why) if why.contains("nfs4")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_library_that_eats_flushes_is_seen_in_a_process() {
        use std::process::{Command, Stdio};
        assert_eq!(flush_eater(std::process::id()), None);
        // The loader maps any library by that name in this way.
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut library = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
        let library = library.find(|path| path.contains("/libm.so") || path.contains("/libgcc_s.so")).unwrap();
        let scratch = crate::scratch::Scratch::new("flushes", None).unwrap();
        let eater = scratch.path().join("libeatmydata.so");
        std::fs::copy(library, &eater).unwrap();
        let mut child = Command::new("cat").env("LD_PRELOAD", &eater).stdin(Stdio::piped()).spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut found = None;
        while found.is_none() && std::time::Instant::now() < deadline {
            found = flush_eater(child.id());
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert_eq!(found.as_deref(), Some("libeatmydata.so"));
    }
}
