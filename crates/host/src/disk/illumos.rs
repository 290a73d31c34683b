//! illumos: mounts from `/etc/mnttab`. Compiled into the tests everywhere.

use super::{Backing, Device};
use crate::system::mounts::{Mount, parse_mnttab};
use crate::system::text;

pub(super) fn mounts() -> Result<Vec<Mount>, String> {
    Ok(parse_mnttab(&text::read("/etc/mnttab")?))
}

/// The kind of storage, which the filesystem's kind says.
pub(super) fn backing(_mount: &Mount) -> Option<Backing> {
    None
}

/// Fails: the device is not looked for here.
pub(super) fn device(mount: &Mount) -> Result<Device, String> {
    Err(format!("the device under {} ({}) is looked for on Linux, macOS and Windows only", mount.source, mount.kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk;

    #[test]
    fn a_filesystem_s_kind_decides_where_it_is() {
        let text = "rpool/ROOT/omnios\t/\tzfs\trw,devices,setuid\t1700000000\nswap\t/tmp\ttmpfs\trw\t1700000000\n\
                    /usr/lib/libc/libc_hwcap1.so.1\t/lib/libc.so.1\tlofs\tdev=1690002\t1700000000\n";
        let mounts = parse_mnttab(text);
        let backings: Vec<Backing> = mounts.iter().map(|mount| disk::backing_of_mount(mount, None)).collect();
        assert_eq!(backings, [Backing::Device, Backing::Memory, Backing::Layered]);
        assert!(mounts.iter().all(|mount| backing(mount).is_none()));
        assert!(device(&mounts[0]).unwrap_err().contains("rpool/ROOT/omnios (zfs)"));
        assert_eq!(super::mounts().is_ok(), std::path::Path::new("/etc/mnttab").exists());
    }
}
