//! Windows: the calls that `std` and `sysinfo` do not wrap, each behind a safe function.
//!
//! Every `unsafe` block passes pointers to local variables that outlive the call, or handles that this module owns.

mod job;
mod processors;
mod services;
pub(crate) mod token;

use std::ffi::{CStr, c_char};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr::null;
use std::time::Duration;

pub(crate) use job::Job;
pub(crate) use processors::{Topology, power_plan, topology};
pub(crate) use services::running_services;

use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::Storage::FileSystem::GetDiskFreeSpaceExW;
use windows_sys::Win32::System::Console::{CTRL_BREAK_EVENT, GenerateConsoleCtrlEvent};
use windows_sys::Win32::System::LibraryLoader::{GetModuleHandleW, GetProcAddress};
use windows_sys::Win32::System::Power::{GetSystemPowerStatus, SYSTEM_POWER_STATUS};
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, CreateWaitableTimerExW, GetCurrentProcess, GetCurrentThread,
    GetProcessIoCounters, GetProcessTimes, GetSystemTimes, GetThreadTimes, IO_COUNTERS, OpenProcess,
    PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_TERMINATE, SetThreadAffinityMask, TIMER_ALL_ACCESS, TerminateProcess,
};
use windows_sys::{s, w};

/// CPU time of the calling thread.
pub fn thread_cpu() -> Result<Duration, String> {
    // SAFETY: the pseudo handle of the current thread is always valid, and needs no closing.
    times("GetThreadTimes", |c, e, k, u| unsafe { GetThreadTimes(GetCurrentThread(), c, e, k, u) })
}

/// CPU time of this process.
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

/// Binds the calling thread to these cores.
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

/// Free bytes of the volume of a folder.
pub(crate) fn free_bytes(folder: &Path) -> io::Result<u64> {
    let mut free = 0;
    // SAFETY: a string that ends in zero, a pointer to a local variable, and two that the call takes as "not wanted".
    let done =
        unsafe { GetDiskFreeSpaceExW(wide(folder).as_ptr(), &mut free, std::ptr::null_mut(), std::ptr::null_mut()) };
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(free) }
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

/// Ends a process at once.
pub(crate) fn end_process(pid: u32) -> io::Result<()> {
    let process = open_process(pid, PROCESS_TERMINATE)?;
    // SAFETY: an open handle.
    if unsafe { TerminateProcess(process.as_raw_handle(), 1) } == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Counters of what a process has read, written and otherwise asked of files, devices and sockets.
pub(crate) fn io_of(pid: u32) -> Result<IO_COUNTERS, String> {
    let process = open_process(pid, PROCESS_QUERY_LIMITED_INFORMATION).map_err(|cause| cause.to_string())?;
    // SAFETY: the structure is plain numbers, for which zero is a value.
    let mut counters: IO_COUNTERS = unsafe { std::mem::zeroed() };
    // SAFETY: an open handle and a pointer to a local variable.
    if unsafe { GetProcessIoCounters(process.as_raw_handle(), &mut counters) } == 0 {
        return Err(last_error("GetProcessIoCounters"));
    }
    Ok(counters)
}

fn open_process(pid: u32, access: u32) -> io::Result<OwnedHandle> {
    // SAFETY: no pointers.
    let process = unsafe { OpenProcess(access, 0, pid) };
    if process.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an open handle that no one else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(process) })
}

/// The timer that `std` sleeps with: since Windows 10 of 2018 one that is not bound to the system's tick.
pub(crate) fn timer() -> &'static str {
    // SAFETY: null is for default security and no name.
    let timer =
        unsafe { CreateWaitableTimerExW(null(), null(), CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS) };
    if timer.is_null() {
        return "tick";
    }
    // SAFETY: an open handle that no one else owns.
    drop(unsafe { OwnedHandle::from_raw_handle(timer) });
    "high resolution"
}

/// The version of Wine, if this is Wine and no Windows.
pub(crate) fn wine() -> Option<String> {
    // SAFETY: strings that end in zero; ntdll is part of every process and is never unloaded.
    let found = unsafe { GetProcAddress(GetModuleHandleW(w!("ntdll.dll")), s!("wine_get_version")) }?;
    // SAFETY: Wine's function of this name takes nothing and gives a text of its own that ends in zero.
    let version = unsafe {
        let ask: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(found);
        CStr::from_ptr(ask())
    };
    Some(version.to_string_lossy().into_owned())
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

/// Converts a time in steps of 100 ns.
fn duration(time: FILETIME) -> Duration {
    let steps = (u64::from(time.dwHighDateTime) << 32) | u64::from(time.dwLowDateTime);
    Duration::from_nanos(steps.saturating_mul(100))
}

/// The path in UTF-16, with a zero at its end.
pub(crate) fn wide(path: &Path) -> Vec<u16> {
    path.as_os_str().encode_wide().chain([0]).collect()
}

/// The last error of Windows in a call.
fn last_error(call: &str) -> String {
    format!("{call} failed: {}", io::Error::last_os_error())
}
