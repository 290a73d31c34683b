#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests; the lint spares test functions but not their helpers"
)]

use std::ops::ControlFlow;

use super::loops::{LoopDevice, Sectors};
use super::*;
use crate::blocks::{Access, BlockFile, Cache, OpenError};
use crate::disk::{LayerCounters, LayerKind, ReachedShare, RequestedBytes, layers_of};
use crate::target::{RawDevice, TargetVerdict, verify_target};

const MIB: u64 = 1 << 20;

fn go_on(_: u64) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A folder for images on a disk, if this process may make volumes at all.
fn images() -> Option<Scratch> {
    let scratch = Scratch::new("images", None).unwrap();
    if !crate::process::is_root() || !Path::new("/dev/loop-control").exists() {
        println!("skipped: volumes take root and loop devices");
        return None;
    }
    if crate::disk::is_memory_backed(scratch.path()).unwrap() {
        println!("skipped: there is no folder on a disk");
        return None;
    }
    Some(scratch)
}

fn spec(scratch: &Scratch, fs: VolumeFs, cluster_bytes: u32) -> VolumeSpec {
    let size_bytes = fs.least_bytes().max(64 * MIB);
    VolumeSpec { image: scratch.path().join("image"), size_bytes, fs, block_bytes: 4096, cluster_bytes }
}

/// `None`, with the reason printed, where the tool or kernel support is missing.
fn made(spec: &VolumeSpec) -> Option<MadeVolume> {
    match MadeVolume::make(spec, None, &mut go_on) {
        Ok(volume) => Some(volume),
        Err(error) => {
            let words = error.to_string();
            let missing = ["not installed", "the kernel has no", "may not", "no loop device"];
            assert!(missing.iter().any(|reason| words.contains(reason)), "{words}");
            println!("skipped: {words}");
            None
        }
    }
}

fn is_attached(device: &str) -> bool {
    Path::new("/sys/block").join(device).join("loop/backing_file").exists()
}

#[test]
fn volumes_have_the_cluster_that_was_asked_for_and_go_without_a_trace() {
    let Some(scratch) = images() else { return };
    for (fs, cluster_bytes) in [(VolumeFs::Ext4, 4096), (VolumeFs::Ext4, 65536), (VolumeFs::Xfs, 65536)] {
        let spec = spec(&scratch, fs, cluster_bytes);
        let Some(volume) = made(&spec) else { continue };
        assert_eq!(volume.cluster_bytes(), cluster_bytes);
        let filesystem = crate::disk::filesystem_of(volume.path()).unwrap();
        assert_eq!((filesystem.kind.as_str(), filesystem.mount_point.as_path()), (fs.as_str(), volume.path()));
        assert!(volume.image_extents().as_ref().unwrap().count >= 1);
        // A file of one byte takes a cluster.
        use std::os::unix::fs::MetadataExt;
        let small = volume.path().join("small");
        std::fs::write(&small, "x").unwrap();
        std::fs::File::open(&small).unwrap().sync_all().unwrap();
        let taken_bytes = std::fs::metadata(&small).unwrap().blocks() * 512;
        match fs {
            VolumeFs::Ext4 => assert_eq!(taken_bytes, u64::from(cluster_bytes)),
            // XFS takes back what lies behind the end on close.
            VolumeFs::Xfs => assert!((4096..=u64::from(cluster_bytes)).contains(&taken_bytes), "{taken_bytes}"),
        }
        let (mount_point, device) = (volume.path().to_owned(), volume.device().to_owned());
        assert!(is_attached(&device));
        volume.remove().unwrap();
        assert!(!mount_point.exists() && !spec.image.exists() && !is_attached(&device), "{device}");
    }
}

#[test]
fn dropping_removes_everything_also_from_half_way() {
    let Some(scratch) = images() else { return };
    let spec = spec(&scratch, VolumeFs::Ext4, 4096);
    if let Some(volume) = made(&spec) {
        let (mount_point, device) = (volume.path().to_owned(), volume.device().to_owned());
        drop(volume);
        assert!(!mount_point.exists() && !spec.image.exists());
        // The kernel detaches once no one looks at the device any more.
        let is_detached = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            !is_attached(&device)
        });
        assert!(is_detached, "{device}");
    }
    // Privileges belong to a thread.
    let unprivileged = spec.clone();
    let refused = std::thread::spawn(move || {
        use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::SYS_ADMIN);
        set_capabilities(None, sets).unwrap();
        MadeVolume::make(&unprivileged, None, &mut go_on).unwrap_err().to_string()
    });
    let refused = refused.join().unwrap();
    assert!(refused.contains("may not"), "{refused}");
    assert!(!spec.image.exists());
    let stopped = MadeVolume::make(&spec, None, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(stopped.to_string().contains("stopped"), "{stopped}");
    assert!(!spec.image.exists());
}

#[test]
fn figures_that_do_not_fit_are_refused() {
    let scratch = Scratch::new("images", None).unwrap();
    let good = spec(&scratch, VolumeFs::Ext4, 4096);
    assert_eq!(good.check_spec(), Ok(()));
    assert!(VolumeSpec { block_bytes: 3000, ..good.clone() }.check_spec().unwrap_err().contains("3000"));
    assert!(VolumeSpec { cluster_bytes: 2048, ..good.clone() }.check_spec().unwrap_err().contains("2048"));
    let small = VolumeSpec { fs: VolumeFs::Xfs, ..good };
    assert!(small.check_spec().unwrap_err().contains("300 MiB"));
    assert!(MadeVolume::make(&small, None, &mut go_on).unwrap_err().to_string().contains("xfs"));
    let missing = format::Tool::find_in(VolumeFs::Xfs, std::iter::empty());
    assert!(missing.is_err_and(|reason| reason.contains("xfsprogs")));
    assert_eq!(VolumeFs::from_name("xfs"), Some(VolumeFs::Xfs));
}

#[test]
fn a_foreign_image_is_left_alone() {
    let Some(scratch) = images() else { return };
    let spec = spec(&scratch, VolumeFs::Ext4, 4096);
    std::fs::write(&spec.image, "precious").unwrap();
    let refused = MadeVolume::make(&spec, None, &mut go_on).unwrap_err().to_string();
    assert!(refused.contains("étalon did not make it"), "{refused}");
    assert_eq!(std::fs::read_to_string(&spec.image).unwrap(), "precious");
}

#[test]
fn an_image_in_memory_is_refused() {
    let Some(_) = images() else { return };
    let shared = Path::new("/dev/shm");
    if !shared.exists() || !crate::disk::is_memory_backed(shared).unwrap() {
        println!("skipped: /dev/shm is not in memory");
        return;
    }
    let scratch = Scratch::new("images", Some(shared)).unwrap();
    let refused = MadeVolume::make(&spec(&scratch, VolumeFs::Ext4, 4096), None, &mut go_on).unwrap_err().to_string();
    assert!(refused.contains("memory"), "{refused}");
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1, "only the owner's note is left");
}

#[test]
fn fresh_and_fragmented_files_differ_in_their_pieces() {
    let Some(scratch) = images() else { return };
    for (fs, cluster_bytes) in [(VolumeFs::Ext4, 4096), (VolumeFs::Ext4, 65536), (VolumeFs::Xfs, 65536)] {
        let spec = VolumeSpec { size_bytes: fs.least_bytes().max(160 * MIB), ..spec(&scratch, fs, cluster_bytes) };
        let Some(volume) = made(&spec) else { continue };
        let fresh = volume.path().join("fresh");
        target::make_file(&fresh, 16 * MIB, &mut go_on).unwrap();
        let TargetVerdict::Sound(sound) = verify_target(&fresh, 16 * MIB).unwrap() else { panic!("{fs:?}") };
        assert!(sound.extents.as_ref().unwrap().count <= 4, "{fs:?}: {sound:?}");
        let pieces = volume.path().join("pieces");
        let extents = target::make_fragmented(&pieces, 16 * MIB, 65536, &mut go_on).unwrap();
        // 16 MiB in pieces of 64 KiB are 256, a few of which were merged.
        assert!((200..=256).contains(&extents.count), "{fs:?} {cluster_bytes}: {extents:?}");
        assert!(matches!(verify_target(&pieces, 16 * MIB).unwrap(), TargetVerdict::Sound(_)));
        let left = std::fs::read_dir(volume.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert!(left.into_iter().all(|name| !name.to_string_lossy().contains("filler")));
        assert!(target::make_fragmented(&pieces, MIB, 1000, &mut go_on).is_err());
        let large = target::make_fragmented(&pieces, spec.size_bytes, 65536, &mut go_on).unwrap_err();
        assert!(large.to_string().contains("free"), "{large}");
        clusters_hold_files_together(&volume);
        volume.remove().unwrap();
    }
}

/// Two files that grow in turn by 4 KiB: by clusters of 64 KiB, they lie in a sixteenth of the pieces.
fn clusters_hold_files_together(volume: &MadeVolume) {
    use std::os::unix::fs::FileExt;
    const BLOCK: u64 = 4096;
    let files = ["one", "two"].map(|name| {
        BlockFile::open(
            &{
                let path = volume.path().join(name);
                std::fs::write(&path, "").unwrap();
                path
            },
            Access::ReadWrite,
            Cache::Filesystem,
        )
        .unwrap()
        .file
    });
    for place in 0..256 {
        for file in &files {
            file.write_all_at(&[place as u8; BLOCK as usize], place * BLOCK).unwrap();
        }
    }
    let count = target::allocation_of(&files[0], 256 * BLOCK).extents.unwrap().count;
    if volume.cluster_bytes() == 65536 {
        assert!(count <= 16, "{:?}: {count}", volume.spec());
    }
}

#[test]
fn a_full_volume_is_reported_and_removed() {
    let Some(scratch) = images() else { return };
    let Some(volume) = made(&spec(&scratch, VolumeFs::Ext4, 4096)) else { return };
    let path = volume.path().join("target");
    let refused = target::make_file(&path, 100 * MIB, &mut go_on).unwrap_err().to_string();
    assert!(refused.contains("free"), "{refused}");
    // Another process was faster: it shows while space is reserved or written.
    for reserve in [target::reserve, |_: &std::fs::File, _: u64| Ok(())] {
        let refused = target::make_with(&path, 100 * MIB, &reserve, &mut go_on).unwrap_err().to_string();
        assert!(refused.contains("No space left"), "{refused}");
        assert!(!path.exists() && !target::Marker::marker_path(&path).exists());
    }
}

#[test]
fn the_devices_under_a_volume_are_followed_and_counted() {
    let Some(scratch) = images() else { return };
    let Some(volume) = made(&spec(&scratch, VolumeFs::Ext4, 4096)) else { return };
    let path = volume.path().join("target");
    target::make_with(&path, 16 * MIB, &target::reserve, &mut go_on).unwrap();
    let layers = layers_of(&path).unwrap();
    assert_eq!((layers[0].name.as_str(), layers[0].kind, layers[0].depth), (volume.device(), LayerKind::Loop, 0));
    let below = layers_of(scratch.path()).unwrap();
    assert_eq!(layers[1].name, below[0].name);
    let upper = &layers[..1];
    let read = |cache| {
        let opened = BlockFile::open(&path, Access::Read, cache).unwrap();
        let before = LayerCounters::read_layers(upper).unwrap();
        let mut ring =
            crate::blocks::BlockRing::new(&crate::blocks::RingOptions::new(1, MIB as u32), vec![opened.file]);
        let ring = ring.as_mut().unwrap();
        let mut done = Vec::new();
        for chunk in 0..16 {
            let op = crate::blocks::BlockOp::Read { offset: chunk * MIB, bytes: MIB as u32 };
            ring.submit(0, 0, op).unwrap();
            ring.reap(u64::MAX, &mut done).unwrap();
        }
        assert!(done.len() == 16 && done.iter().all(|done| done.result == Ok(MIB as u32)));
        let requested = RequestedBytes { read_bytes: 16 * MIB, written_bytes: 0 };
        LayerCounters::read_layers(upper).unwrap().reached_since(&before, requested)
    };
    let direct = read(Cache::Hardware);
    assert!(matches!(direct.read, ReachedShare::Reached(share) if share < 1.2), "{direct:?}");
    assert_eq!(direct.written, ReachedShare::NothingAsked);
    read(Cache::All);
    let cached = read(Cache::All);
    assert!(matches!(cached.read, ReachedShare::Cached(share) if share < 0.1), "{cached:?}");
}

#[test]
fn a_disk_of_large_sectors_takes_no_small_blocks() {
    let Some(scratch) = images() else { return };
    let image = scratch.path().join("disk");
    target::make_file(&image, 8 * MIB, &mut go_on).unwrap();
    let device = match LoopDevice::attach_with(&image, Sectors::Of(4096)) {
        Ok(device) => device,
        Err(reason) => {
            println!("skipped: {reason}");
            return;
        }
    };
    let opened = BlockFile::open(device.path(), Access::Read, Cache::None).unwrap();
    assert_eq!(opened.size_bytes, 8 * MIB);
    assert_eq!(opened.alignment.as_ref().unwrap().block_bytes, 4096);
    let refused = opened.demand_alignment(1024, 0).unwrap_err();
    assert!(matches!(&refused, OpenError::Unsupported(words) if words.contains("1024")), "{refused}");
    opened.demand_alignment(8192, 0).unwrap();
    // The kernel agrees, so nothing was rounded.
    let options = crate::blocks::RingOptions::new(1, 8192);
    let mut ring = crate::blocks::BlockRing::new(&options, vec![opened.file]).unwrap();
    let mut done = Vec::new();
    ring.submit(0, 0, crate::blocks::BlockOp::Read { offset: 0, bytes: 1024 }).unwrap();
    ring.reap(u64::MAX, &mut done).unwrap();
    assert_eq!(done[0].result, Err(rustix::io::Errno::INVAL.raw_os_error()));
    assert!(matches!(verify_target(device.path(), 8 * MIB).unwrap(), TargetVerdict::Sound(_)));
    drop(ring);
    raw_devices_are_taken_once(&device);
}

/// Takes raw devices with consent, and only if no one else has them.
fn raw_devices_are_taken_once(device: &LoopDevice) {
    let path = device.path();
    assert!(RawDevice::claim(path, None).unwrap_err().to_string().contains("would be lost"));
    let other = RawDevice::claim(path, Some(Path::new("/dev/null"))).unwrap_err().to_string();
    assert!(other.contains("another device"), "{other}");
    let claimed = RawDevice::claim(path, Some(path)).unwrap();
    assert_eq!((claimed.name.as_str(), claimed.size_bytes), (device.name(), 8 * MIB));
    let twice = RawDevice::claim(path, Some(path)).unwrap_err().to_string();
    assert!(twice.contains("busy"), "{twice}");
    BlockFile::open(path, Access::ReadWrite, Cache::Hardware).unwrap();
}
