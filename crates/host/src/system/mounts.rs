//! Tables of mounted filesystems, as Linux, macOS and illumos write them.

#[cfg(any(not(windows), test))]
use std::path::Path;
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// `major:minor` on Linux, else empty.
    pub(crate) device_number: String,
    /// The mounted folder of the filesystem, mostly `/`.
    pub(crate) root: String,
    pub(crate) mount_point: PathBuf,
    /// Options of mount and superblock, in order, without repeats.
    pub(crate) options: Vec<String>,
    /// `ext4`, `apfs`.
    pub(crate) kind: String,
    /// `/dev/vda`, `server:/share`.
    pub(crate) source: String,
}

/// See proc_pid_mountinfo(5). Malformed lines are skipped.
pub(crate) fn parse_mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_mountinfo_line).collect()
}

fn parse_mountinfo_line(line: &str) -> Option<Mount> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let (device_number, root, mount_point, own) = (mount.next()?, mount.next()?, mount.next()?, mount.next()?);
    let mut filesystem = filesystem.split(' ');
    let (kind, source) = (filesystem.next()?, filesystem.next()?);
    let mut options: Vec<String> = Vec::new();
    for option in own.split(',').chain(filesystem.next().unwrap_or_default().split(',')) {
        // The superblock repeats `rw`.
        if !option.is_empty() && !options.iter().any(|known| known == option) {
            options.push(unescape_octal(option));
        }
    }
    Some(Mount {
        device_number: device_number.to_owned(),
        root: unescape_octal(root),
        mount_point: unescape_octal(mount_point).into(),
        options,
        kind: kind.to_owned(),
        source: unescape_octal(source),
    })
}

/// Undoes the kernel's `\040` for a space, and its like.
fn unescape_octal(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `/dev/disk3s5 on /System/Volumes/Data (apfs, local, journaled)`.
#[cfg(any(target_os = "macos", test))]
pub(crate) fn parse_mac_mount(text: &str) -> Vec<Mount> {
    let mounts = text.lines().filter_map(|line| {
        let (place, options) = line.rsplit_once(" (")?;
        let (source, mount_point) = place.split_once(" on ")?;
        let mut options = options.trim_end_matches(')').split(", ").map(str::to_owned);
        Some(Mount {
            device_number: String::new(),
            root: "/".to_owned(),
            mount_point: mount_point.into(),
            kind: options.next()?,
            options: options.collect(),
            source: source.to_owned(),
        })
    });
    mounts.collect()
}

/// See mnttab(5) of illumos: source, mount point, kind, options and time, with tabs between them.
#[cfg(any(target_os = "illumos", test))]
pub(crate) fn parse_mnttab(text: &str) -> Vec<Mount> {
    let mounts = text.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        let (source, mount_point) = (fields.next()?, fields.next()?);
        Some(Mount {
            device_number: String::new(),
            root: "/".to_owned(),
            mount_point: mount_point.into(),
            kind: fields.next()?.to_owned(),
            options: fields.next()?.split(',').map(str::to_owned).collect(),
            source: source.to_owned(),
        })
    });
    mounts.collect()
}

/// The mount of an absolute path without links: the longest mount point above it, and of several at one place the
/// last, which hides the others.
#[cfg(any(not(windows), test))]
pub(crate) fn find<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.as_os_str().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTINFO: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 25 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24684096k
40 27 0:30 /@home /home rw,noatime shared:4 master:1 - btrfs /dev/nvme0n1p2 rw,compress=zstd:3,subvol=/@home
41 27 8:17 / /mnt/two\\040words rw - xfs /dev/sdb1 rw,attr2
42 27 0:50 / /data rw - nfs4 server:/share rw,vers=4.2
43 27 8:18 / /data rw - ext4 /dev/sdb2 rw
broken line
";

    #[test]
    fn mountinfo_is_read_by_the_manual() {
        let mounts = parse_mountinfo(MOUNTINFO);
        assert_eq!(mounts.len(), 7);
        assert_eq!(mounts[1].device_number, "254:0");
        assert_eq!(mounts[1].options, ["rw", "relatime", "discard"]);
        assert_eq!(mounts[3].root, "/@home");
        assert_eq!(mounts[3].source, "/dev/nvme0n1p2");
        assert_eq!(mounts[4].mount_point, Path::new("/mnt/two words"));
    }

    #[test]
    fn the_nearest_and_latest_mount_holds_a_path() {
        let mounts = parse_mountinfo(MOUNTINFO);
        for (path, kind) in [
            ("/var/tmp/x", "ext4"),
            ("/dev/shm", "tmpfs"),
            ("/homestead", "ext4"),
            // The later mount hides the share.
            ("/data/x", "ext4"),
        ] {
            let found = find(&mounts, Path::new(path)).map(|mount| mount.kind.as_str());
            assert_eq!(found, Some(kind), "{path}");
        }
    }

    #[test]
    fn mount_of_macos_is_read() {
        let text = "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n\
                    //me@server/share on /Volumes/My Share (smbfs, nodev, nosuid, mounted by me)\n";
        let mounts = parse_mac_mount(text);
        assert_eq!(mounts[0].kind, "apfs");
        assert_eq!(mounts[0].options, ["sealed", "local", "read-only", "journaled"]);
        assert_eq!(mounts[1].mount_point, Path::new("/Volumes/My Share"));
        assert_eq!(mounts[1].source, "//me@server/share");
    }

    #[test]
    fn mnttab_of_illumos_is_read() {
        let mounts = parse_mnttab("swap\t/tmp\ttmpfs\txattr,dev=8a00002\t1700000000\nbroken line\n");
        assert_eq!(mounts.len(), 1);
        assert_eq!((mounts[0].source.as_str(), mounts[0].kind.as_str()), ("swap", "tmpfs"));
        assert_eq!(
            (mounts[0].mount_point.as_path(), &mounts[0].options[1]),
            (Path::new("/tmp"), &"dev=8a00002".to_owned())
        );
    }
}
