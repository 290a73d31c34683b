//! Windows: the volume under a path, and what its device reports.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::AsRawHandle;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_FLAG_BACKUP_SEMANTICS, FILE_STORAGE_INFO, FileStorageInfo, GetDiskFreeSpaceW, GetDriveTypeW,
    GetFileInformationByHandleEx, GetVolumeInformationW, GetVolumeNameForVolumeMountPointW, GetVolumePathNameW,
};
use windows_sys::Win32::System::IO::DeviceIoControl;
use windows_sys::Win32::System::Ioctl::{
    DEVICE_SEEK_PENALTY_DESCRIPTOR, IOCTL_STORAGE_QUERY_PROPERTY, PropertyStandardQuery, STORAGE_DEVICE_DESCRIPTOR,
    STORAGE_PROPERTY_ID, STORAGE_PROPERTY_QUERY, STORAGE_WRITE_CACHE_PROPERTY, StorageDeviceProperty,
    StorageDeviceSeekPenaltyProperty, StorageDeviceWriteCacheProperty, WriteCacheDisabled, WriteCacheEnabled,
};
use windows_sys::Win32::System::SystemServices::FILE_READ_ONLY_VOLUME;
use windows_sys::Win32::System::WindowsProgramming::{DRIVE_RAMDISK, DRIVE_REMOTE};

use super::{Backing, Device, Media, Sectors};
use crate::system::mounts::Mount;
use crate::system::windows::wide;

/// Longest name of a volume, and of a path that a drive is mounted on.
const MOST_UNITS: usize = 1024;
/// Room for a device's description of itself.
const ROOM_BYTES: usize = 1024;

/// The volume that holds an existing path, mounted on a letter or on a folder.
pub(super) fn mount_of(place: &Path) -> Result<Mount, String> {
    let mut root = [0_u16; MOST_UNITS];
    // SAFETY: a string that ends in zero, and a room with its size.
    done("GetVolumePathName", unsafe {
        GetVolumePathNameW(wide(place).as_ptr(), root.as_mut_ptr(), MOST_UNITS as u32)
    })?;
    let (mut kind, mut volume, mut flags) = ([0_u16; 64], [0_u16; 64], 0);
    // SAFETY: strings that end in zero, and rooms with their sizes; null is for what is not wanted.
    done("GetVolumeInformation", unsafe {
        let (name, serial, longest) = (null_mut(), null_mut(), null_mut());
        GetVolumeInformationW(root.as_ptr(), name, 0, serial, longest, &mut flags, kind.as_mut_ptr(), 64)
    })?;
    // SAFETY: as above. A network's share has no such name.
    let has_name = unsafe { GetVolumeNameForVolumeMountPointW(root.as_ptr(), volume.as_mut_ptr(), 64) } != 0;
    let mount_point = text(&root);
    let access = if flags & FILE_READ_ONLY_VOLUME != 0 { "ro" } else { "rw" };
    Ok(Mount {
        device_number: String::new(),
        root: "/".to_owned(),
        source: if has_name { text(&volume) } else { mount_point.clone() },
        mount_point: mount_point.into(),
        options: vec![access.to_owned()],
        kind: text(&kind),
    })
}

/// The kind of storage, by the kind of drive.
pub(super) fn backing(mount: &Mount) -> Option<Backing> {
    // SAFETY: a string that ends in zero and outlives the call.
    Some(match unsafe { GetDriveTypeW(wide(&plain(mount)).as_ptr()) } {
        DRIVE_REMOTE => Backing::Network,
        DRIVE_RAMDISK => Backing::Memory,
        _ => Backing::Device,
    })
}

/// NTFS gives out space in clusters.
pub(super) fn block_size_bytes(_place: &Path, mount: &Mount) -> Result<u64, String> {
    let (sectors, bytes) = cluster(mount)?;
    Ok(u64::from(sectors) * u64::from(bytes))
}

/// Sector sizes of the device under a path.
pub(super) fn sectors_under(place: &Path) -> Sectors {
    let logical = mount_of(place).and_then(|mount| Ok(cluster(&mount)?.1));
    Sectors { logical, physical: physical_sector_bytes(place) }
}

/// Sectors of a cluster, and their size.
fn cluster(mount: &Mount) -> Result<(u32, u32), String> {
    let (mut sectors, mut bytes, mut free, mut total) = (0, 0, 0, 0);
    // SAFETY: a string that ends in zero and pointers to local variables.
    done("GetDiskFreeSpace", unsafe {
        GetDiskFreeSpaceW(wide(&plain(mount)).as_ptr(), &mut sectors, &mut bytes, &mut free, &mut total)
    })?;
    Ok((sectors, bytes))
}

fn physical_sector_bytes(place: &Path) -> Result<u32, String> {
    // A folder is opened with this flag only.
    let file = OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(place);
    let file = file.map_err(|cause| format!("cannot open {}: {cause}", place.display()))?;
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut found: FILE_STORAGE_INFO = unsafe { std::mem::zeroed() };
    let (start, size) = ((&raw mut found).cast::<c_void>(), size_of::<FILE_STORAGE_INFO>() as u32);
    // SAFETY: an open handle, and a pointer to a local variable with its size.
    done("GetFileInformationByHandleEx", unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), FileStorageInfo, start, size)
    })?;
    Ok(found.PhysicalBytesPerSectorForPerformance)
}

/// The device of a mount, as its driver describes it.
pub(super) fn device(mount: &Mount) -> Result<Device, String> {
    let name = mount.source.trim_end_matches('\\').to_owned();
    // Without access to its bytes, which takes no administrator.
    let path = plain(mount).to_string_lossy().trim_end_matches('\\').to_owned();
    let opened = OpenOptions::new().access_mode(0).open(format!(r"\\.\{path}"));
    let volume = opened.map_err(|cause| format!("cannot ask the device under {path}: {cause}"));
    let ask =
        |property: STORAGE_PROPERTY_ID| volume.as_ref().map_err(Clone::clone).and_then(|file| ask(file, property));
    Ok(Device {
        model: ask(StorageDeviceProperty).and_then(|room| model(&room)),
        media: ask(StorageDeviceSeekPenaltyProperty).map(|room| {
            let has_penalty = room.read::<DEVICE_SEEK_PENALTY_DESCRIPTOR>().IncursSeekPenalty;
            if has_penalty { Media::Rotating } else { Media::SolidState }
        }),
        scheduler: Err("Windows names no scheduler of a device".to_owned()),
        write_cache: ask(StorageDeviceWriteCacheProperty).and_then(|room| {
            match room.read::<STORAGE_WRITE_CACHE_PROPERTY>().WriteCacheEnabled {
                state if state == WriteCacheEnabled => Ok("write back".to_owned()),
                state if state == WriteCacheDisabled => Ok("write through".to_owned()),
                _ => Err("the device does not tell whether its write cache is on".to_owned()),
            }
        }),
        name,
    })
}

/// A device's answer; zero where it says nothing.
#[repr(C, align(8))]
struct Room([u8; ROOM_BYTES]);

/// A type that Windows writes as plain numbers, for which any bytes are a value.
trait Plain: Copy {}
impl Plain for DEVICE_SEEK_PENALTY_DESCRIPTOR {}
impl Plain for STORAGE_DEVICE_DESCRIPTOR {}
impl Plain for STORAGE_WRITE_CACHE_PROPERTY {}

impl Room {
    /// Reads the structure at the beginning of the room.
    fn read<T: Plain>(&self) -> T {
        const { assert!(size_of::<T>() <= ROOM_BYTES && align_of::<T>() <= 8) };
        // SAFETY: the room is as large and aligned, and any bytes are such a value; a flag that Windows writes is 0 or 1.
        unsafe { *self.0.as_ptr().cast::<T>() }
    }
}

/// Asks a volume for a property.
fn ask(volume: &File, property: STORAGE_PROPERTY_ID) -> Result<Room, String> {
    let query =
        STORAGE_PROPERTY_QUERY { PropertyId: property, QueryType: PropertyStandardQuery, AdditionalParameters: [0] };
    let (mut room, mut used) = (Room([0; ROOM_BYTES]), 0);
    // SAFETY: an open handle, and pointers to local variables with their sizes; null is for a call that waits.
    done("the device's driver", unsafe {
        let (asked, size) = ((&raw const query).cast::<c_void>(), size_of::<STORAGE_PROPERTY_QUERY>() as u32);
        let answer = room.0.as_mut_ptr().cast::<c_void>();
        let code = IOCTL_STORAGE_QUERY_PROPERTY;
        DeviceIoControl(volume.as_raw_handle(), code, asked, size, answer, ROOM_BYTES as u32, &mut used, null_mut())
    })?;
    Ok(room)
}

/// Vendor and product, texts behind the structure that gives their places.
fn model(room: &Room) -> Result<String, String> {
    let found = room.read::<STORAGE_DEVICE_DESCRIPTOR>();
    let part = |offset: u32| {
        let bytes = room.0.get(offset as usize..).filter(|_| offset > 0)?;
        Some(String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next()?).trim().to_owned())
    };
    let parts: Vec<String> = [found.VendorIdOffset, found.ProductIdOffset].into_iter().filter_map(part).collect();
    let name = parts.join(" ").trim().to_owned();
    if name.is_empty() { Err("the device does not tell its model".to_owned()) } else { Ok(name) }
}

/// The form for older calls: `C:\` of `\\?\C:\`.
fn plain(mount: &Mount) -> PathBuf {
    let text = mount.mount_point.to_string_lossy();
    text.strip_prefix(r"\\?\").unwrap_or(&text).into()
}

/// A text in UTF-16 up to its zero.
fn text(wide: &[u16]) -> String {
    String::from_utf16_lossy(wide.split(|&unit| unit == 0).next().unwrap_or_default())
}

/// Checks the result of a call of Windows.
fn done(call: &str, result: i32) -> Result<(), String> {
    if result == 0 { Err(format!("{call} failed: {}", io::Error::last_os_error())) } else { Ok(()) }
}
