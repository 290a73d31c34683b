//! Running services, by the service control manager.

use std::ffi::c_void;
use std::ptr::null;

use windows_sys::Win32::Foundation::{ERROR_MORE_DATA, GetLastError};
use windows_sys::Win32::System::Services::{
    CloseServiceHandle, ENUM_SERVICE_STATUS_PROCESSW, EnumServicesStatusExW, OpenSCManagerW, SC_ENUM_PROCESS_INFO,
    SC_HANDLE, SC_MANAGER_ENUMERATE_SERVICE, SERVICE_ACTIVE, SERVICE_WIN32,
};

use super::last_error;

struct Manager(SC_HANDLE);

impl Drop for Manager {
    fn drop(&mut self) {
        // SAFETY: the handle is owned and not used again. Nothing can be done about a failure.
        unsafe { CloseServiceHandle(self.0) };
    }
}

/// Names of the services that run, in order.
pub(crate) fn running_services() -> Result<Vec<String>, String> {
    // SAFETY: null is for this machine and its services in use.
    let manager = unsafe { OpenSCManagerW(null(), null(), SC_MANAGER_ENUMERATE_SERVICE) };
    if manager.is_null() {
        return Err(last_error("OpenSCManager"));
    }
    let manager = Manager(manager);
    let (mut names, mut next) = (Vec::new(), 0_u32);
    // Aligned for the structures that Windows writes into it.
    let mut room = vec![0_u64; (64 << 10) / 8];
    loop {
        let (mut missing_bytes, mut count) = (0, 0);
        let size = size_of_val(room.as_slice()) as u32;
        // SAFETY: an open handle, a room with its size, and pointers to local variables; null is for every group.
        let done = unsafe {
            let start = room.as_mut_ptr().cast::<u8>();
            let (kind, level) = (SERVICE_WIN32, SC_ENUM_PROCESS_INFO);
            EnumServicesStatusExW(
                manager.0,
                level,
                kind,
                SERVICE_ACTIVE,
                start,
                size,
                &mut missing_bytes,
                &mut count,
                &mut next,
                null(),
            )
        };
        // SAFETY: no pointers.
        if done == 0 && unsafe { GetLastError() } != ERROR_MORE_DATA {
            return Err(last_error("EnumServicesStatusEx"));
        }
        // SAFETY: that many structures stand at the room's start, and their names lie in the same room.
        names.extend(unsafe {
            let found = room.as_ptr().cast::<c_void>().cast::<ENUM_SERVICE_STATUS_PROCESSW>();
            std::slice::from_raw_parts(found, count as usize).iter().map(|one| text_at(one.lpServiceName))
        });
        if done != 0 {
            break;
        }
        if count == 0 {
            return Err("EnumServicesStatusEx needs more room than 64 KiB for one service".to_owned());
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// # Safety
/// It points to text that ends in zero.
unsafe fn text_at(start: *const u16) -> String {
    // SAFETY: as the caller promises.
    let length = (0..).take_while(|&at| unsafe { *start.add(at) } != 0).count();
    // SAFETY: as above.
    String::from_utf16_lossy(unsafe { std::slice::from_raw_parts(start, length) })
}
