//! Loop devices: a file as a block device; see loop(4).

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::ioctl::{NoArg, Setter, ioctl};

use crate::system::text;
use crate::target::{Extents, allocation_of};

/// Requests from before requests had a structure.
const CONFIGURE: u32 = 0x4C0A;
const DETACH: u32 = 0x4C01;
const GET_FREE: u32 = 0x4C82;

/// Detaches the unused device, also when étalon was killed.
const AUTOCLEAR: u32 = 4;
/// Bypasses the page cache, which would hold everything twice.
const DIRECT_IO: u32 = 16;

/// Others look for free devices, too.
const TRIES: usize = 20;

#[repr(C)]
struct Info {
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt_type: u32,
    encrypt_key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    encrypt_key: [u8; 32],
    init: [u64; 2],
}

#[repr(C)]
struct Config {
    fd: u32,
    block_size: u32,
    info: Info,
    reserved: [u64; 8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sectors {
    /// Sectors as the file's own disk has them.
    AsBelow,
    /// Sectors of this many bytes.
    #[cfg(test)]
    Of(u32),
}

/// A file attached as a loop device, until dropped and unmounted.
#[derive(Debug)]
pub(crate) struct LoopDevice {
    device: File,
    image: File,
    path: PathBuf,
    name: String,
}

impl LoopDevice {
    pub(crate) fn attach(image: &Path) -> Result<LoopDevice, String> {
        LoopDevice::attach_with(image, Sectors::AsBelow)
    }

    /// Attaches an image as a loop device with these sectors.
    pub(crate) fn attach_with(image: &Path, sectors: Sectors) -> Result<LoopDevice, String> {
        let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
        let image = OpenOptions::new().read(true).write(true).custom_flags(direct).open(image);
        let image = image.map_err(|cause| format!("cannot open the image past the page cache: {cause}"))?;
        let mut refused = String::new();
        for _ in 0..TRIES {
            let number = free_number()?;
            let (name, path) = (format!("loop{number}"), PathBuf::from(format!("/dev/loop{number}")));
            let device = OpenOptions::new().read(true).write(true).open(&path);
            let device = device.map_err(|cause| format!("cannot open {}: {cause}", path.display()))?;
            match configure(&device, &image, sectors) {
                Ok(()) => {
                    let attached = LoopDevice { device, image, path, name };
                    attached.demand_direct()?;
                    return Ok(attached);
                }
                // Another process was faster.
                Err(Errno::BUSY) => refused = format!("{} is busy", path.display()),
                Err(Errno::INVAL | Errno::NOTTY) => {
                    return Err("the kernel is older than 5.8, or refuses the image as a loop device".to_owned());
                }
                Err(Errno::PERM | Errno::ACCESS) => return Err("this process may not attach loop devices".to_owned()),
                Err(cause) => return Err(format!("cannot attach the image to {}: {cause}", path.display())),
            }
        }
        Err(format!("no loop device could be had: {refused}"))
    }

    /// Refuses a loop without direct I/O: without it under the image the kernel silently drops the flag.
    fn demand_direct(&self) -> Result<(), String> {
        let flag = text::read(format!("/sys/block/{}/loop/dio", self.name))?;
        match flag.as_str() {
            "1" => Ok(()),
            _ => Err("the filesystem under the image takes no direct I/O, so that the page cache would hold all of \
                      the volume: name an image on a disk"
                .to_owned()),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The device's name without `/dev/`.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Number of the image's extents.
    pub(crate) fn image_extents(&self, size_bytes: u64) -> Result<Extents, String> {
        allocation_of(&self.image, size_bytes).extents
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // SAFETY: the request takes no argument. A device that is in use is detached when it no longer is.
        let _ = unsafe { ioctl(&self.device, NoArg::<DETACH>::new()) };
    }
}

/// Number of a loop device that is free.
fn free_number() -> Result<i32, String> {
    let path = "/dev/loop-control";
    let control = OpenOptions::new().read(true).write(true).open(path);
    let control = control.map_err(|cause| format!("no loop device can be had: cannot open {path}: {cause}"))?;
    // SAFETY: `FreeNumber` describes the request: no argument, and the number as what the call returns.
    unsafe { ioctl(&control, FreeNumber) }.map_err(|cause| format!("no loop device can be had: {cause}"))
}

/// `LOOP_CTL_GET_FREE`, which returns the number.
struct FreeNumber;

// SAFETY: the request has no argument, changes no memory and returns the number.
unsafe impl rustix::ioctl::Ioctl for FreeNumber {
    type Output = i32;

    const IS_MUTATING: bool = false;

    fn opcode(&self) -> rustix::ioctl::Opcode {
        GET_FREE
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        output: rustix::ioctl::IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<Self::Output> {
        Ok(output)
    }
}

/// Binds an image to a loop device.
fn configure(device: &File, image: &File, sectors: Sectors) -> Result<(), Errno> {
    let block_size = match sectors {
        Sectors::AsBelow => 0,
        #[cfg(test)]
        Sectors::Of(bytes) => bytes,
    };
    let info = Info {
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number: 0,
        encrypt_type: 0,
        encrypt_key_size: 0,
        flags: AUTOCLEAR | DIRECT_IO,
        file_name: [0; 64],
        crypt_name: [0; 64],
        encrypt_key: [0; 32],
        init: [0; 2],
    };
    let config = Config { fd: image.as_raw_fd() as u32, block_size, info, reserved: [0; 8] };
    // SAFETY: the structure is the request's, of plain numbers, and the kernel only reads it.
    unsafe { ioctl(device, Setter::<CONFIGURE, Config>::new(config)) }
}
