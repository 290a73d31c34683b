use std::path::Path;

use host::disk::LayerKind;
use model::{Durability, DurabilityTier, Facts, Nature};

use super::lock_mutex;
use super::place::DiskPlace;
use crate::data_place::Keeping;

/// Reads the facts of the storage under a folder.
pub(super) fn read_facts(place: &DiskPlace, folder: &Path) -> Facts {
    let mut facts = Facts::default();
    facts.record_identity("server.product", "disk");
    let (kind, version) = match place {
        DiskPlace::Device(_) => ("device".to_owned(), Err("a device has no filesystem".to_owned())),
        _ => match host::disk::filesystem_of(folder) {
            Ok(filesystem) => {
                let unit =
                    filesystem.block_size_bytes.map(|bytes| format!("{}, blocks of {bytes} bytes", filesystem.kind));
                ("files".to_owned(), unit)
            }
            Err(error) => ("files".to_owned(), Err(error.to_string())),
        },
    };
    facts.record_identity("target.kind", kind);
    facts.insert("server.version", Ok(version.unwrap_or_else(|reason| reason)), Nature::Identity);
    // A made volume has another mount point and loop device each time.
    facts.record_passing("data_directory.path", folder.display().to_string());
    for (name, fact) in host::facts::path_facts(folder).entries {
        // A loop device's model is its image's name.
        let is_place = matches!(name.as_str(), "mount_point" | "source" | "device" | "device.model");
        let nature = match place {
            DiskPlace::Volume { .. } if is_place => Nature::Passing,
            _ => fact.nature,
        };
        facts.insert(format!("data_directory.{name}"), fact.reading, nature);
    }
    add_devices(&mut facts, place, folder);
    add_volume(&mut facts, place);
    let because = "what a write promises is each benchmark's `cache` and `fsync_every`".to_owned();
    let promised = Durability { tier: DurabilityTier::Durable, because, except: flush_exception(std::env::consts::OS) };
    let durability =
        Keeping::for_path(folder, &mut facts).limited_by_process(Some(std::process::id())).limit_durability(promised);
    facts.set_durability(&durability);
    facts
}

/// Says what a write does not promise on this operating system: on macOS, that it reaches the medium.
/// A flush of étalon's is `F_FULLFSYNC` on macOS. `O_DSYNC` is not: see fcntl(2) and fsync(2) there.
fn flush_exception(system: &str) -> Option<String> {
    let words = "a write that waits (`cache` = `fs`, `none`) ends in the drive's cache, which only a flush (`fsync_every`) empties";
    (system == "macos").then(|| words.to_owned())
}

/// Adds facts of the layers from the filesystem down to the disks, and of the sectors under it.
fn add_devices(facts: &mut Facts, place: &DiskPlace, folder: &Path) {
    let nature = if matches!(place, DiskPlace::Volume { .. }) { Nature::Passing } else { Nature::Identity };
    let layers = host::disk::layers_of(folder).map_err(|error| error.to_string());
    let shown = layers.map(|layers| {
        let each = layers.iter().map(|layer| {
            let kind = match layer.kind {
                LayerKind::Disk => "disk",
                LayerKind::Partition => "partition",
                LayerKind::Loop => "loop",
                LayerKind::Composed => "composed",
            };
            format!("{} ({kind})", layer.name)
        });
        each.collect::<Vec<_>>().join(" on ")
    });
    facts.insert("device.layers", shown, nature);
    let sectors = host::disk::sectors_under(folder);
    facts.insert("device.sector", sectors.logical.map(|bytes| bytes.to_string()), Nature::Identity);
    facts.insert("device.physical_sector", sectors.physical.map(|bytes| bytes.to_string()), Nature::Identity);
}

/// Adds facts of the volume, if étalon made one.
fn add_volume(facts: &mut Facts, place: &DiskPlace) {
    let DiskPlace::Volume { volume, .. } = place else { return };
    let volume = lock_mutex(volume);
    let Some((volume, _)) = volume.as_deref() else { return };
    let spec = volume.spec();
    facts.record_identity("volume.filesystem", spec.fs.as_str());
    facts.record_identity("volume.size", spec.size_bytes.to_string());
    facts.record_identity("volume.block", spec.block_bytes.to_string());
    facts.record_identity("volume.cluster", volume.cluster_bytes().to_string());
    facts.record_passing("volume.image", spec.image.display().to_string());
    let extents = volume.image_extents().as_ref().map(|extents| extents.count.to_string()).map_err(Clone::clone);
    facts.insert("volume.image_extents", extents, Nature::Passing);
}
