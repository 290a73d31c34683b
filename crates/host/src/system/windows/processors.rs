//! The processors, by GetLogicalProcessorInformationEx, and the power plan that clocks them.

use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{ERROR_INSUFFICIENT_BUFFER, GetLastError, LocalFree};
use windows_sys::Win32::System::Power::{PowerGetActiveScheme, PowerReadFriendlyName};
use windows_sys::Win32::System::SystemInformation::{
    GetLogicalProcessorInformationEx, RelationAll, RelationNumaNode, RelationProcessorCore, RelationProcessorPackage,
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX,
};
use windows_sys::core::GUID;

use super::last_error;

/// Flag of a core that has several logical processors. See PROCESSOR_RELATIONSHIP.
const LTP_PC_SMT: u8 = 1;

/// How many there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Topology {
    pub(crate) sockets: u32,
    pub(crate) numa_nodes: u32,
    /// Cores with more than one logical processor.
    pub(crate) shared_cores: u32,
}

/// Counts packages, NUMA nodes and cores that have several threads.
pub(crate) fn topology() -> Result<Topology, String> {
    let mut bytes = 0;
    // SAFETY: without a buffer the call gives the size that it needs.
    let done = unsafe { GetLogicalProcessorInformationEx(RelationAll, null_mut(), &mut bytes) };
    // SAFETY: no pointers.
    if done == 0 && unsafe { GetLastError() } != ERROR_INSUFFICIENT_BUFFER {
        return Err(last_error("GetLogicalProcessorInformationEx"));
    }
    // Aligned for the structures that Windows writes into it.
    let mut room = vec![0_u64; (bytes as usize).div_ceil(8)];
    let start = room.as_mut_ptr().cast::<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX>();
    // SAFETY: a room with its size.
    if unsafe { GetLogicalProcessorInformationEx(RelationAll, start, &mut bytes) } == 0 {
        return Err(last_error("GetLogicalProcessorInformationEx"));
    }
    let (mut found, mut at) = (Topology::default(), 0);
    while at < bytes as usize {
        // SAFETY: a record begins here, inside the room, and says its own size.
        let (size, kind, flags) = unsafe {
            let record = start.byte_add(at);
            ((*record).Size, (*record).Relationship, (*record).Anonymous.Processor.Flags)
        };
        match kind {
            kind if kind == RelationProcessorPackage => found.sockets += 1,
            kind if kind == RelationNumaNode => found.numa_nodes += 1,
            kind if kind == RelationProcessorCore => found.shared_cores += u32::from(flags & LTP_PC_SMT != 0),
            _ => {}
        }
        at += (size as usize).max(8);
    }
    Ok(found)
}

/// `power plan Balanced`: what sets clock speeds on Windows.
pub(crate) fn power_plan() -> Result<String, String> {
    let mut plan: *mut GUID = null_mut();
    // SAFETY: a pointer to a local variable; null is for the current user.
    let error = unsafe { PowerGetActiveScheme(null_mut(), &mut plan) };
    if error != 0 || plan.is_null() {
        return Err(format!("Windows names no power plan in use (error {error})"));
    }
    let mut name = [0_u16; 128];
    let mut bytes = size_of_val(&name) as u32;
    // SAFETY: the identifier that was just given, and a room with its size.
    let error =
        unsafe { PowerReadFriendlyName(null_mut(), plan, null(), null(), name.as_mut_ptr().cast(), &mut bytes) };
    // SAFETY: the call above allocated it for its caller, and it is not used again.
    unsafe { LocalFree(plan.cast()) };
    let text = String::from_utf16_lossy(&name).split('\0').next().unwrap_or_default().to_owned();
    match error {
        0 if !text.is_empty() => Ok(format!("power plan {text}")),
        _ => Err(format!("the power plan in use tells no name (error {error})")),
    }
}
