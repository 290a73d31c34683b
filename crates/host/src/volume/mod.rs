//! Volumes that étalon makes: an image file with a filesystem of a chosen cluster size, mounted through a loop device
//! that passes the page cache by, and removed again.
//!
//! What a cluster is differs, and so does what its size changes:
//! - **NTFS**: the unit in which space is given out. A read or write of less is no more than itself.
//! - **ext4** with `bigalloc`: the same. Files take space by clusters, while mapping and I/O go on by blocks of 4 KiB.
//! - **XFS** has none. A larger *block* (`mkfs.xfs -b`) is something else: a direct write of less than a block then
//!   becomes a read and a write. What comes nearest is the extent size hint, which every new file inherits from the root
//!   (`mkfs.xfs -d extszinherit=`): space is given out in aligned multiples of it as long as there are any, and I/O stays
//!   as it is. That is what `cluster_bytes` means here. It is a hint: a nearly full volume gives
//!   out less, and what lies behind the end of a file is taken back when the file is closed.
//!
//! So in all three, cluster size matters as far as it decides in how many pieces a file lies: compare a fresh file with
//! a fragmented one ([`target::make_fragmented`]).
//!
//! The image is written in full before the filesystem is made in it, so that nothing in it is sparse or unwritten, and
//! nothing is given back to the host's filesystem by discards. It still lies on that filesystem, with whatever pieces
//! that gave it; [`MadeVolume::image_extents`] tells.

#[cfg(target_os = "linux")]
mod format;
#[cfg(target_os = "linux")]
mod loops;
mod mounted;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::path::{Path, PathBuf};

pub(crate) use mounted::{mounts_under, unmount};

use crate::error::HostError;
use crate::scratch::Scratch;
use crate::target::{self, Extents, Progress};

/// A kind of filesystem that volumes can be made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumeFs {
    /// ext4; clusters larger than a block by `bigalloc`.
    Ext4,
    /// XFS; clusters larger than a block by the extent size hint.
    Xfs,
}

impl VolumeFs {
    /// Its name in plans and to the kernel.
    pub fn as_str(self) -> &'static str {
        match self {
            VolumeFs::Ext4 => "ext4",
            VolumeFs::Xfs => "xfs",
        }
    }

    pub fn named(name: &str) -> Option<VolumeFs> {
        [VolumeFs::Ext4, VolumeFs::Xfs].into_iter().find(|kind| kind.as_str() == name)
    }

    /// What its own tools refuse to go below, with room to spare, in bytes.
    fn least_bytes(self) -> u64 {
        match self {
            VolumeFs::Ext4 => 16 << 20,
            VolumeFs::Xfs => 300 << 20,
        }
    }
}

/// A volume to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// The image file, on the disk that is to be measured. étalon makes and removes it.
    pub image: PathBuf,
    pub size_bytes: u64,
    pub fs: VolumeFs,
    /// The filesystem's block in bytes: the unit of its maps and of I/O.
    pub block_bytes: u32,
    /// The unit in which space is given out, in bytes: the block, or a power of two more.
    pub cluster_bytes: u32,
}

impl VolumeSpec {
    /// Says what is wrong with the figures, before anything is made.
    pub fn check(&self) -> Result<(), String> {
        let (block, cluster) = (self.block_bytes, self.cluster_bytes);
        let largest: u32 = 64 << 10;
        if !block.is_power_of_two() || !(1024..=largest).contains(&block) {
            return Err(format!("a block of {block} bytes: powers of two from 1024 to {largest} can be had"));
        }
        if !cluster.is_power_of_two() || cluster < block || cluster > 16 << 20 {
            return Err(format!("a cluster of {cluster} bytes: powers of two from the block's {block} on can be had"));
        }
        let least = self.fs.least_bytes();
        if self.size_bytes < least {
            let words = crate::system::text::size(self.size_bytes);
            let name = self.fs.as_str();
            return Err(format!("{words} are too little for {name}: it takes {} MiB at least", least >> 20));
        }
        Ok(())
    }
}

/// A volume that étalon made and mounted. Dropping it unmounts it and removes it with all that is on it; after a crash,
/// `scratch::find_abandoned` finds it.
#[derive(Debug)]
pub struct MadeVolume {
    spec: VolumeSpec,
    mount_point: PathBuf,
    device: String,
    cluster_bytes: u32,
    image_extents: Result<Extents, String>,
    /// Released in this order, once it is unmounted: the loop device, then the folder it was mounted in.
    #[cfg(target_os = "linux")]
    loop_device: Option<loops::LoopDevice>,
    scratch: Option<Scratch>,
}

impl MadeVolume {
    /// Makes a volume and mounts it, in a private folder that is made in `base` or, without one, where
    /// [`Scratch::new`] finds a place. `progress` is told how much of the image is written.
    ///
    /// # Errors
    /// One clear reason each: not Linux, not root, no permission to mount, no tool to make the filesystem, no such
    /// filesystem in the kernel, figures that do not fit, an image that étalon did not make, a full disk.
    pub fn make(spec: &VolumeSpec, base: Option<&Path>, progress: Progress<'_>) -> Result<MadeVolume, HostError> {
        let refused = |reason: String| {
            let name = spec.fs.as_str();
            HostError::unavailable(format!("make the volume {} with {name}", spec.image.display()), reason)
        };
        spec.check().map_err(refused)?;
        make(spec, base, progress, refused)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }

    pub fn spec(&self) -> &VolumeSpec {
        &self.spec
    }

    /// The loop device under it, without `/dev/`.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The unit in which it gives out space in bytes, as it was read from the filesystem after it was made: `statfs`
    /// tells the block only.
    pub fn cluster_bytes(&self) -> u32 {
        self.cluster_bytes
    }

    /// In how many pieces the image lies on its disk; the reason where nothing tells.
    pub fn image_extents(&self) -> &Result<Extents, String> {
        &self.image_extents
    }

    /// Unmounts and removes it, and says if that fails; dropping it is silent.
    pub fn remove(mut self) -> Result<(), HostError> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<(), HostError> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        for mount in mounts_under(scratch.path())? {
            unmount(&mount)?;
        }
        #[cfg(target_os = "linux")]
        drop(self.loop_device.take());
        target::remove(&self.spec.image)?;
        match self.scratch.take() {
            Some(scratch) => scratch.remove(),
            None => Ok(()),
        }
    }
}

impl Drop for MadeVolume {
    fn drop(&mut self) {
        // What cannot be removed now is found by the next start.
        let _ = self.take_down();
    }
}

#[cfg(not(target_os = "linux"))]
fn make(
    _spec: &VolumeSpec,
    _base: Option<&Path>,
    _progress: Progress<'_>,
    refused: impl Fn(String) -> HostError,
) -> Result<MadeVolume, HostError> {
    Err(refused("volumes are made on Linux only".to_owned()))
}

#[cfg(target_os = "linux")]
fn make(
    spec: &VolumeSpec,
    base: Option<&Path>,
    progress: Progress<'_>,
    refused: impl Fn(String) -> HostError,
) -> Result<MadeVolume, HostError> {
    if !crate::process::is_root() {
        return Err(refused("only root may mount one".to_owned()));
    }
    if crate::disk::is_memory_backed(&spec.image)? {
        return Err(refused("the image would be in memory: name one on the disk that is to be measured".to_owned()));
    }
    let tool = format::Tool::find(spec.fs).map_err(&refused)?;
    let image = std::path::absolute(&spec.image).map_err(HostError::at("find", &spec.image))?;
    let spec = VolumeSpec { image, ..spec.clone() };
    let scratch = Scratch::new("volume", base)?;
    scratch.claim_file(&spec.image)?;
    let mount_point = scratch.path().join("mount");
    std::fs::create_dir(&mount_point).map_err(HostError::at("create the folder", &mount_point))?;
    target::make(&spec.image, spec.size_bytes, progress)?;
    // From here on, dropping it removes everything.
    let mut volume = MadeVolume {
        cluster_bytes: spec.cluster_bytes,
        spec,
        mount_point,
        device: String::new(),
        image_extents: Err(String::new()),
        loop_device: None,
        scratch: Some(scratch),
    };
    tool.format(&volume.spec).map_err(&refused)?;
    let attached = loops::LoopDevice::attach(&volume.spec.image).map_err(&refused)?;
    volume.device = attached.name().to_owned();
    volume.image_extents = attached.image_extents(volume.spec.size_bytes);
    let mounted = mounted::mount(attached.path(), &volume.mount_point, volume.spec.fs);
    volume.loop_device = Some(attached);
    mounted.map_err(&refused)?;
    volume.cluster_bytes = format::cluster_bytes(&volume.spec, &volume.mount_point).map_err(&refused)?;
    if volume.cluster_bytes != volume.spec.cluster_bytes {
        let (got, asked) = (volume.cluster_bytes, volume.spec.cluster_bytes);
        return Err(refused(format!("it was made with clusters of {got} bytes, and {asked} were asked for")));
    }
    Ok(volume)
}
