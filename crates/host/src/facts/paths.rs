//! The facts of the filesystem under a path.

use std::path::Path;

use model::{Facts, Nature};

use crate::disk::{self, Backing, Device, Filesystem, Media};

/// The facts of the storage under a path.
pub(crate) fn facts_of(path: &Path) -> Facts {
    let mut facts = Facts::default();
    match disk::filesystem_of(path) {
        Ok(filesystem) => add_filesystem(&mut facts, &filesystem),
        Err(error) => facts.record_unavailable("filesystem", error.to_string()),
    }
    let free = disk::free_bytes(path).map(|bytes| bytes.to_string()).map_err(|error| error.to_string());
    facts.insert("free_bytes", free, Nature::Passing);
    facts
}

fn add_filesystem(facts: &mut Facts, filesystem: &Filesystem) {
    facts.record_identity("filesystem", filesystem.kind.clone());
    facts.insert("block_size", filesystem.block_size_bytes.clone().map(|bytes| bytes.to_string()), Nature::Identity);
    facts.record_identity("mount_point", filesystem.mount_point.to_string_lossy());
    facts.record_identity("mount_options", lasting_options(&filesystem.mount_options));
    facts.record_identity("source", filesystem.source.clone());
    facts.record_identity("backing", filesystem.backing.as_str());
    match filesystem.backing {
        // Saying "no" would be made up.
        Backing::Layered | Backing::Unknown => {
            let reason = format!("{} does not tell where its files are", filesystem.kind);
            facts.record_unavailable("is_memory", reason.clone());
            facts.record_unavailable("is_network", reason);
        }
        backing => {
            facts.record_identity("is_memory", yes_no(backing == Backing::Memory));
            facts.record_identity("is_network", yes_no(backing == Backing::Network));
        }
    }
    match &filesystem.device {
        Ok(device) => add_device(facts, device),
        Err(reason) => {
            for name in ["device", "device.model", "device.media", "device.scheduler", "device.write_cache"] {
                facts.record_unavailable(name, reason.clone());
            }
        }
    }
}

/// The options without those that bound a filesystem in memory: one that was full and is mounted again as a larger one
/// is the same.
fn lasting_options(options: &[String]) -> String {
    let lasting = options.iter().map(String::as_str);
    let lasting = lasting.filter(|option| !option.starts_with("size=") && !option.starts_with("nr_inodes="));
    lasting.collect::<Vec<_>>().join(",")
}

/// The word for an answer.
fn yes_no(answer: bool) -> &'static str {
    if answer { "yes" } else { "no" }
}

/// Adds the facts of a filesystem's device.
fn add_device(facts: &mut Facts, device: &Device) {
    let media = device.media.clone().map(|media| match media {
        Media::Rotating => "rotating".to_owned(),
        Media::SolidState => "solid state".to_owned(),
    });
    facts.record_identity("device", device.name.clone());
    facts.insert("device.model", device.model.clone(), Nature::Identity);
    facts.insert("device.media", media, Nature::Identity);
    facts.insert("device.scheduler", device.scheduler.clone(), Nature::Identity);
    facts.insert("device.write_cache", device.write_cache.clone(), Nature::Identity);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_its_facts() {
        let facts = facts_of(&std::env::temp_dir());
        for name in ["filesystem", "block_size", "mount_point", "mount_options", "device", "device.model", "free_bytes"]
        {
            assert!(facts.entries.contains_key(name), "{name}");
        }
        assert_eq!(facts.entries["free_bytes"].nature, Nature::Passing);
    }

    #[test]
    fn the_room_of_a_filesystem_in_memory_is_not_its_identity() {
        let options = ["rw", "size=327680k", "nr_inodes=81920", "huge=always"].map(str::to_owned);
        assert_eq!(lasting_options(&options), "rw,huge=always");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_is_no_device() {
        if Path::new("/dev/shm").exists() {
            let facts = facts_of(Path::new("/dev/shm"));
            assert_eq!((facts.get("is_memory"), facts.get("is_network")), (Some("yes"), Some("no")));
            assert!(facts.entries["device"].reading.is_err());
        }
    }
}
