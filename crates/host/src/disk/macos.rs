//! macOS: mounts from `mount`, devices from `diskutil`. Compiled into the tests everywhere.

#![cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "elsewhere only the tests of its parsers use it"))]

use super::{Backing, Device, Media};
use crate::system::command::output_of;
use crate::system::mounts::{Mount, parse_mac_mount};
use crate::system::text;

pub(super) fn mounts() -> Result<Vec<Mount>, String> {
    Ok(parse_mac_mount(&output_of("/sbin/mount", &[])?))
}

/// macOS marks this machine's mounts as `local`.
pub(super) fn backing(mount: &Mount) -> Option<Backing> {
    let is_local = mount.options.iter().any(|option| option == "local");
    (!is_local).then_some(Backing::Network)
}

/// The device of a mount, as `diskutil` describes it.
pub(super) fn device(mount: &Mount) -> Result<Device, String> {
    if !mount.source.starts_with("/dev/") {
        return Err(format!("{} ({}) is on no block device", mount.source, mount.kind));
    }
    let info = output_of("/usr/sbin/diskutil", &["info", &mount.source])?;
    Ok(parse_diskutil(&info, mount.source.trim_start_matches("/dev/")))
}

fn parse_diskutil(info: &str, name: &str) -> Device {
    let missing = |key: &str| format!("diskutil does not give \"{key}\" for {name}");
    let value =
        |key: &str| text::value_of_key(info, key, ':').filter(|value| !value.is_empty()).ok_or_else(|| missing(key));
    let media = value("Solid State").and_then(|answer| match answer {
        "Yes" => Ok(Media::SolidState),
        "No" => Ok(Media::Rotating),
        other => Err(format!("diskutil gives \"{other}\" for \"Solid State\"")),
    });
    Device {
        name: value("Part of Whole").unwrap_or(name).to_owned(),
        model: value("Device / Media Name").map(str::to_owned),
        media,
        scheduler: Err("macOS does not name a scheduler for its devices".to_owned()),
        write_cache: Err(
            "macOS does not tell whether a device has a volatile cache: `F_FULLFSYNC` empties one, `fsync` does not"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diskutil_is_read() {
        let info = "   Device Identifier:         disk3s5\n   Part of Whole:             disk3\n   \
                    Device / Media Name:       APPLE SSD AP0512Q\n\n   Solid State:               Yes\n";
        let device = parse_diskutil(info, "disk3s5");
        assert_eq!((device.name.as_str(), device.model.as_deref()), ("disk3", Ok("APPLE SSD AP0512Q")));
        assert_eq!(device.media, Ok(Media::SolidState));
        assert!(parse_diskutil("", "disk9").media.unwrap_err().contains("Solid State"));
    }

    #[test]
    fn what_is_not_local_is_elsewhere() {
        let mounts = parse_mac_mount("/dev/disk3s5 on / (apfs, local)\n//me@x/y on /Volumes/y (smbfs, nodev)\n");
        assert_eq!(backing(&mounts[0]), None);
        assert_eq!(backing(&mounts[1]), Some(Backing::Network));
        assert!(device(&mounts[1]).unwrap_err().contains("no block device"));
    }

    #[cfg(unix)]
    #[test]
    fn without_diskutil_there_is_a_reason() {
        let mounts = parse_mac_mount("/dev/disk99s1 on / (apfs, local)\n");
        assert!(device(&mounts[0]).unwrap_err().contains("diskutil"));
        let _ = super::mounts();
    }
}
