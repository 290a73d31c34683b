//! Volumes that étalon makes: an image file with a filesystem of a chosen cluster size, mounted through a loop device
//! with direct I/O, and removed again.
//!
//! What a cluster's size changes differs:
//! - **NTFS**: unit of allocation. A smaller read or write stays as it is.
//! - **ext4** with `bigalloc`: unit of allocation, while mapping and I/O go by blocks of 4 KiB.
//! - **XFS** has none. A larger *block* (`mkfs.xfs -b`) turns a smaller direct write into a read and a write. The
//!   nearest is the extent size hint that files inherit from the root (`mkfs.xfs -d extszinherit=`): allocation in
//!   aligned multiples, while I/O stays as it is. `cluster_bytes` means that. A nearly full volume allocates less, and
//!   what lies behind the end of a file is taken back when it is closed.
//!
//! So cluster size decides only in how many pieces a file lies: compare a fresh file with a fragmented one
//! ([`target::make_fragmented`]).
//!
//! The image is written in full before the filesystem is made, so that nothing in it is sparse or unwritten, and no
//! discards return space to the host's filesystem. [`MadeVolume::image_extents`] says in how many pieces the image
//! itself lies.

#[cfg(target_os = "linux")]
mod format;
#[cfg(target_os = "linux")]
mod loops;
mod mounted;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

pub(crate) use mounted::{mounts_under, unmount};

use crate::error::HostError;
use crate::scratch::Scratch;
use crate::target::{self, Extents, Progress};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VolumeFs {
    /// Larger clusters by `bigalloc`.
    Ext4,
    /// Larger clusters by the extent size hint.
    Xfs,
}

impl VolumeFs {
    pub fn as_str(self) -> &'static str {
        match self {
            VolumeFs::Ext4 => "ext4",
            VolumeFs::Xfs => "xfs",
        }
    }

    /// The filesystem of this word.
    pub fn from_name(name: &str) -> Option<VolumeFs> {
        [VolumeFs::Ext4, VolumeFs::Xfs].into_iter().find(|kind| kind.as_str() == name)
    }

    /// Minimum of its own tools, with room to spare.
    fn least_bytes(self) -> u64 {
        match self {
            VolumeFs::Ext4 => 16 << 20,
            VolumeFs::Xfs => 300 << 20,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// The image on the disk to be measured; made and removed by étalon.
    pub image: PathBuf,
    pub size_bytes: u64,
    pub fs: VolumeFs,
    /// Unit of the filesystem's maps and I/O.
    pub block_bytes: u32,
    /// Unit of allocation: the block, or a power of two more.
    pub cluster_bytes: u32,
}

impl VolumeSpec {
    /// Checks the figures before anything is made.
    pub fn check_spec(&self) -> Result<(), String> {
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
            let words = crate::system::text::size_text(self.size_bytes);
            let name = self.fs.as_str();
            return Err(format!("{words} are too little for {name}: it takes {} MiB at least", least >> 20));
        }
        Ok(())
    }
}

/// A mounted volume. Dropping it unmounts and removes it; after a crash, `scratch::find_abandoned` finds it.
#[derive(Debug)]
pub struct MadeVolume {
    spec: VolumeSpec,
    mount_point: PathBuf,
    device: String,
    cluster_bytes: u32,
    image_extents: Result<Extents, String>,
    /// Dropped in this order after unmounting: the loop device, then the mount folder.
    #[cfg(target_os = "linux")]
    loop_device: Option<loops::LoopDevice>,
    scratch: Option<Scratch>,
}

impl MadeVolume {
    /// Makes and mounts a volume in a private folder in `base`, by default where [`Scratch::new`] finds a place.
    /// `progress` learns how much of the image is written.
    ///
    /// # Errors
    /// Not Linux, not root, no permission to mount, no tool or kernel support for the filesystem, figures that do not
    /// fit, an image that étalon did not make, a full disk.
    pub fn make(spec: &VolumeSpec, base: Option<&Path>, progress: Progress<'_>) -> Result<MadeVolume, HostError> {
        let tried = format!("make the volume {} with {}", spec.image.display(), spec.fs.as_str());
        let refused = |reason: String| HostError::unavailable(&tried, reason);
        spec.check_spec().map_err(refused)?;
        if cfg!(target_os = "linux") && !crate::process::is_root() {
            return Err(HostError::refused(ErrorKind::PermissionDenied, tried, "only root may mount one"));
        }
        make(spec, base, progress, refused)
    }

    /// Where the volume is mounted.
    pub fn path(&self) -> &Path {
        &self.mount_point
    }

    /// What was asked for.
    pub fn spec(&self) -> &VolumeSpec {
        &self.spec
    }

    /// The name without `/dev/`.
    pub fn device(&self) -> &str {
        &self.device
    }

    /// The size read from the filesystem after it was made: `statfs` reports only the block.
    pub fn cluster_bytes(&self) -> u32 {
        self.cluster_bytes
    }

    /// Number of the image's extents, or why it is not known.
    pub fn image_extents(&self) -> &Result<Extents, String> {
        &self.image_extents
    }

    /// Like dropping, but reports errors.
    pub fn remove(mut self) -> Result<(), HostError> {
        self.take_down()
    }

    /// Unmounts the volume, detaches its device, and removes the image and the folder.
    fn take_down(&mut self) -> Result<(), HostError> {
        let Some(scratch) = &self.scratch else { return Ok(()) };
        for mount in mounts_under(scratch.path())? {
            unmount(&mount)?;
        }
        #[cfg(target_os = "linux")]
        drop(self.loop_device.take());
        target::remove_with_companions(&self.spec.image)?;
        match self.scratch.take() {
            Some(scratch) => scratch.remove(),
            None => Ok(()),
        }
    }
}

impl Drop for MadeVolume {
    fn drop(&mut self) {
        // The next start finds what stays.
        let _ = self.take_down();
    }
}

/// Fails: volumes are made on Linux only.
#[cfg(not(target_os = "linux"))]
fn make(
    _spec: &VolumeSpec,
    _base: Option<&Path>,
    _progress: Progress<'_>,
    refused: impl Fn(String) -> HostError,
) -> Result<MadeVolume, HostError> {
    Err(refused("volumes are made on Linux only".to_owned()))
}

/// Makes the image, formats it, attaches it and mounts it.
#[cfg(target_os = "linux")]
fn make(
    spec: &VolumeSpec,
    base: Option<&Path>,
    progress: Progress<'_>,
    refused: impl Fn(String) -> HostError,
) -> Result<MadeVolume, HostError> {
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
    target::make_file(&spec.image, spec.size_bytes, progress)?;
    // From here on, dropping removes everything.
    let mut volume = MadeVolume {
        cluster_bytes: spec.cluster_bytes,
        spec,
        mount_point,
        device: String::new(),
        image_extents: Err(String::new()),
        loop_device: None,
        scratch: Some(scratch),
    };
    tool.format_image(&volume.spec).map_err(&refused)?;
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
