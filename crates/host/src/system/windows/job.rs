//! A job that ends with étalon: <https://learn.microsoft.com/windows/win32/procthread/job-objects>.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};
use std::time::Duration;

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectBasicAccountingInformation,
    JobObjectExtendedLimitInformation, QueryInformationJobObject, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// A job whose processes end when its handle is closed. Never drop it: this process is one of them.
#[derive(Debug)]
pub(crate) struct Job {
    handle: OwnedHandle,
}

impl Job {
    /// A job with this process in it, and what it starts from then on. Since Windows 8 jobs may lie within others.
    pub(crate) fn around_this_process() -> io::Result<Job> {
        // SAFETY: both pointers may be null: default security, no name.
        let handle = unsafe { CreateJobObjectW(null(), null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: an open handle that no one else owns.
        let handle = unsafe { OwnedHandle::from_raw_handle(handle) };
        // SAFETY: the structure is plain numbers, for which zero is a value.
        let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = unsafe { std::mem::zeroed() };
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        let (pointer, size) = (&raw const limits, size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>() as u32);
        // SAFETY: an open handle, a pointer to a local variable, and its size; the pseudo handle of this process.
        let done = unsafe {
            let job = handle.as_raw_handle();
            SetInformationJobObject(job, JobObjectExtendedLimitInformation, pointer.cast::<c_void>(), size) != 0
                && AssignProcessToJobObject(job, GetCurrentProcess()) != 0
        };
        if done { Ok(Job { handle }) } else { Err(io::Error::last_os_error()) }
    }

    /// User and kernel time of all its processes, ended ones too.
    pub(crate) fn cpu(&self) -> io::Result<Duration> {
        // SAFETY: the structure is plain numbers, for which zero is a value.
        let mut used: JOBOBJECT_BASIC_ACCOUNTING_INFORMATION = unsafe { std::mem::zeroed() };
        let (start, size) =
            ((&raw mut used).cast::<c_void>(), size_of::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>() as u32);
        // SAFETY: an open handle, and a pointer to a local variable with its size.
        let done = unsafe {
            let job = self.handle.as_raw_handle();
            QueryInformationJobObject(job, JobObjectBasicAccountingInformation, start, size, null_mut())
        };
        if done == 0 {
            return Err(io::Error::last_os_error());
        }
        // In steps of 100 ns.
        Ok(Duration::from_nanos((used.TotalUserTime + used.TotalKernelTime).max(0) as u64 * 100))
    }
}
