//! Windows: the calls that `std` and `sysinfo` do not wrap, each behind a safe function.
//!
//! Every `unsafe` block passes pointers to local variables that outlive the call, or handles that this module owns.

use std::ffi::c_void;
use std::io;
use std::mem::size_of;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::AsRawHandle;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use windows_sys::Win32::Foundation::{CloseHandle, FILETIME, HANDLE};
use windows_sys::Win32::Storage::FileSystem::{GetDiskFreeSpaceExW, GetDiskFreeSpaceW, GetDriveTypeW};
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetSystemTimes, GetThreadTimes, SetThreadAffinityMask,
};
use windows_sys::Win32::System::WindowsProgramming::{DRIVE_RAMDISK, DRIVE_REMOTE};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Drive {
    Remote,
    /// A RAM disk.
    Memory,
    Other,
}

pub fn thread_cpu() -> Result<Duration, String> {
    // SAFETY: the pseudo handle of the current thread is always valid, and needs no closing.
    times("GetThreadTimes", |c, e, k, u| unsafe { GetThreadTimes(GetCurrentThread(), c, e, k, u) })
}

pub fn process_cpu() -> Result<Duration, String> {
    // SAFETY: the pseudo handle of the current process is always valid, and needs no closing.
    times("GetProcessTimes", |c, e, k, u| unsafe { GetProcessTimes(GetCurrentProcess(), c, e, k, u) })
}

/// Idle and busy time since boot.
pub(crate) fn machine_cpu() -> Result<(Duration, Duration), String> {
    let (mut idle, mut kernel, mut user) = (ZERO, ZERO, ZERO);
    // SAFETY: three pointers to local variables.
    if unsafe { GetSystemTimes(&mut idle, &mut kernel, &mut user) } == 0 {
        return Err(last_error("GetSystemTimes"));
    }
    // Windows counts idle time as kernel time.
    let busy = (duration(kernel) + duration(user)).saturating_sub(duration(idle));
    Ok((duration(idle), busy))
}

pub(crate) fn peak_working_set_bytes() -> Result<u64, String> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut counters: PROCESS_MEMORY_COUNTERS = unsafe { std::mem::zeroed() };
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    // SAFETY: a pointer to a local variable, with its size.
    if unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &mut counters, size) } == 0 {
        return Err(last_error("GetProcessMemoryInfo"));
    }
    Ok(counters.PeakWorkingSetSize as u64)
}

pub(crate) fn pin_thread(cores: &[usize]) -> Result<(), String> {
    if let Some(core) = cores.iter().find(|core| **core >= usize::BITS as usize) {
        return Err(format!("core {core} is beyond the {} of a processor group", usize::BITS));
    }
    let mask = cores.iter().fold(0, |mask: usize, core| mask | 1 << core);
    // SAFETY: no pointers; the pseudo handle is always valid.
    if unsafe { SetThreadAffinityMask(GetCurrentThread(), mask) } == 0 {
        return Err(last_error("SetThreadAffinityMask"));
    }
    Ok(())
}

pub(crate) fn drive(root: &Path) -> Drive {
    // SAFETY: a string that ends in zero and outlives the call.
    match unsafe { GetDriveTypeW(wide(root).as_ptr()) } {
        DRIVE_REMOTE => Drive::Remote,
        DRIVE_RAMDISK => Drive::Memory,
        _ => Drive::Other,
    }
}

pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let mut free = 0;
    // SAFETY: a string that ends in zero, a pointer to a local variable, and two that the call takes as "not wanted".
    let done =
        unsafe { GetDiskFreeSpaceExW(wide(folder).as_ptr(), &mut free, std::ptr::null_mut(), std::ptr::null_mut()) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(free) }
}

pub(crate) fn cluster_bytes(root: &Path) -> io::Result<u64> {
    let (mut sectors, mut bytes, mut free, mut total) = (0, 0, 0, 0);
    // SAFETY: a string that ends in zero and pointers to local variables.
    let done = unsafe { GetDiskFreeSpaceW(wide(root).as_ptr(), &mut sectors, &mut bytes, &mut free, &mut total) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(u64::from(sectors) * u64::from(bytes)) }
}

/// `None` if unknown.
pub(crate) fn on_battery() -> Option<bool> {
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut status: SYSTEM_POWER_STATUS = unsafe { std::mem::zeroed() };
    // SAFETY: a pointer to a local variable.
    let done = unsafe { GetSystemPowerStatus(&mut status) };
    match status.ACLineStatus {
        0 if done != 0 => Some(true),
        1 if done != 0 => Some(false),
        _ => None,
    }
}

/// Ctrl-Break to the leader of a console group.
pub(crate) fn send_break(pid: u32) -> io::Result<()> {
    // SAFETY: no pointers.
    if unsafe { GenerateConsoleCtrlEvent(CTRL_BREAK_EVENT, pid) } == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// A job whose processes end when it is dropped or étalon ends in any way.
#[derive(Debug)]
pub(crate) struct Job {
    handle: HANDLE,
}

// SAFETY: the handle is a number to the kernel, not memory, and any thread may use or close it.
unsafe impl Send for Job {}
// SAFETY: as above; no call here changes it.
unsafe impl Sync for Job {}

impl Job {
    pub(crate) fn around(child: &Child) -> io::Result<Job> {
        // SAFETY: both pointers may be null: default security, no name.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        let job = Job { handle };
        // SAFETY: the structure is plain numbers, for which zero is a value.
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let (pointer, size) = (&raw const limits, size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32);
        // SAFETY: a handle that is owned here, a pointer to a local variable, and its size.
        let set = unsafe {
            SetInformationJobObject(handle, JobObjectExtendedLimitInformation, pointer.cast::<c_void>(), size)
        };
        // SAFETY: two handles that are open, the second owned by `child`.
        if set == 0 || unsafe { AssignProcessToJobObject(handle, child.as_raw_handle()) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(job)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: the handle is owned and not used again. Nothing can be done about a failure.
        unsafe { CloseHandle(self.handle) };
    }
}

const ZERO: FILETIME = FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 };

/// Calls a function that returns creation, exit, kernel and user time.
fn times(
    name: &str,
    call: impl FnOnce(*mut FILETIME, *mut FILETIME, *mut FILETIME, *mut FILETIME) -> i32,
) -> Result<Duration, String> {
    let (mut created, mut ended, mut kernel, mut user) = (ZERO, ZERO, ZERO, ZERO);
    if call(&mut created, &mut ended, &mut kernel, &mut user) == 0 {
        return Err(last_error(name));
    }
    Ok(duration(user) + duration(kernel))
}

/// In steps of 100 ns.
fn duration(time: FILETIME) -> Duration {
    let steps = (u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime);
    Duration::from_nanos(steps.saturating_mul(100))
}

fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

fn last_error(call: &str) -> String {
    format!("{call} failed: {}", io::Error::last_os_error())
}
