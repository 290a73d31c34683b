//! Filesystems with a chosen cluster size.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::ioctl::{Getter, ioctl, opcode};

use super::{VolumeFs, VolumeSpec};

/// Folders for root's tools, in addition to `PATH`.
const PLACES: [&str; 4] = ["/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin"];

pub(super) struct Tool {
    program: PathBuf,
}

impl Tool {
    /// Finds the program that makes this filesystem.
    pub(super) fn find(fs: VolumeFs) -> Result<Tool, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).chain(PLACES.map(PathBuf::from));
        Tool::find_in(fs, places)
    }

    /// Finds the program in these folders, or says which package has it.
    pub(super) fn find_in(fs: VolumeFs, places: impl Iterator<Item = PathBuf>) -> Result<Tool, String> {
        let (name, package) = match fs {
            VolumeFs::Ext4 => ("mkfs.ext4", "e2fsprogs"),
            VolumeFs::Xfs => ("mkfs.xfs", "xfsprogs"),
        };
        let found = places.map(|place| place.join(name)).find(|program| program.is_file());
        let program = found.ok_or_else(|| format!("{name} is not installed (package {package})"))?;
        Ok(Tool { program })
    }

    /// Makes the filesystem in the image, synced.
    pub(super) fn format_image(&self, spec: &VolumeSpec) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(format_arguments(spec)).arg(&spec.image).env("LC_ALL", "C");
        let output = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).output();
        let name = self.program.display();
        let output = output.map_err(|cause| format!("cannot run {name}: {cause}"))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            let words: Vec<&str> = words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            return Err(format!("{name} ended with {}: {}", output.status, words.join("; ")));
        }
        // The loop device bypasses the page cache, where all of this still is.
        let image = File::open(&spec.image).and_then(|image| image.sync_all());
        image.map_err(|cause| format!("cannot sync {}: {cause}", spec.image.display()))
    }
}

/// The arguments without discards, which would make the image sparse, and without background work left for later.
fn format_arguments(spec: &VolumeSpec) -> Vec<String> {
    let has_clusters = spec.cluster_bytes > spec.block_bytes;
    let mut arguments: Vec<String> = Vec::new();
    let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
    match spec.fs {
        VolumeFs::Ext4 => {
            add(&["-F", "-q", "-m", "0", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"]);
            add(&["-b", &spec.block_bytes.to_string()]);
            if has_clusters {
                add(&["-O", "bigalloc", "-C", &spec.cluster_bytes.to_string()]);
            }
        }
        VolumeFs::Xfs => {
            add(&["-f", "-q", "-K", "-b", &format!("size={}", spec.block_bytes)]);
            if has_clusters {
                add(&["-d", &format!("extszinherit={}", spec.cluster_bytes / spec.block_bytes)]);
            }
        }
    }
    arguments
}

/// The size that the mounted filesystem itself has recorded.
pub(super) fn cluster_bytes(spec: &VolumeSpec, mount_point: &Path) -> Result<u32, String> {
    match spec.fs {
        VolumeFs::Ext4 => ext4_cluster_bytes(&spec.image),
        VolumeFs::Xfs => xfs_cluster_bytes(mount_point, spec.block_bytes),
    }
}

/// ext4's superblock ("ext4 Data Structures and Algorithms"): `s_log_block_size`, `s_log_cluster_size` (powers of two
/// times 1024) and `s_feature_ro_compat`.
fn ext4_cluster_bytes(image: &Path) -> Result<u32, String> {
    const BIGALLOC: u32 = 0x200;
    let mut superblock = [0; 1024];
    let read = File::open(image).and_then(|image| image.read_exact_at(&mut superblock, 1024));
    read.map_err(|cause| format!("cannot read {}: {cause}", image.display()))?;
    if superblock[0x38..0x3A] != [0x53, 0xEF] {
        return Err(format!("{} holds no ext4", image.display()));
    }
    let [features, block_size, cluster_size] =
        [0x64, 0x18, 0x1C].map(|at| u32::from_le_bytes([0, 1, 2, 3].map(|byte| superblock[at + byte])));
    let size = if features & BIGALLOC != 0 { cluster_size } else { block_size };
    1024_u32.checked_shl(size).ok_or_else(|| "its superblock tells an absurd size".to_owned())
}

/// `struct fsxattr`; see ioctl_xfs_fsgetxattr(2).
#[repr(C)]
struct Attributes {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    copy_extent_size: u32,
    padding: [u8; 8],
}

const GET_ATTRIBUTES: rustix::ioctl::Opcode = opcode::read::<Attributes>(b'X', 31);
const INHERITED: u32 = 0x0000_1000;

/// The root's extent size hint, which files inherit; without one the block.
fn xfs_cluster_bytes(mount_point: &Path, block_bytes: u32) -> Result<u32, String> {
    let attributes = File::open(mount_point).and_then(|root| {
        // SAFETY: the structure is the request's, of plain numbers, and the kernel fills it.
        let attributes = unsafe { ioctl(&root, Getter::<GET_ATTRIBUTES, Attributes>::new()) };
        Ok(attributes?)
    });
    let attributes =
        attributes.map_err(|cause| format!("cannot ask {} for its extent size: {cause}", mount_point.display()))?;
    Ok(if attributes.flags & INHERITED != 0 { attributes.extent_size } else { block_bytes })
}
