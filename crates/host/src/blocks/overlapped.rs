//! Windows: one overlapped operation, whether its end is waited for or comes in at a port.

use std::cell::OnceCell;
use std::fs::File;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{ERROR_HANDLE_EOF, ERROR_IO_PENDING};
use windows_sys::Win32::Storage::FileSystem::{ReadFile, WriteFile};
use windows_sys::Win32::System::IO::{GetOverlappedResult, OVERLAPPED};
use windows_sys::Win32::System::Threading::CreateEventW;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Read,
    Write,
}

/// Waits for the end of one operation, or only asks how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    Ended,
    Now,
}

thread_local! {
    /// Signalled at the end of this thread's operation: the file's own handle would signal any operation's.
    static EVENT: OnceCell<OwnedHandle> = const { OnceCell::new() };
}

/// An operation that has not begun.
pub(super) fn none() -> OVERLAPPED {
    // SAFETY: the structure is plain numbers and pointers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

/// Starts an operation; `Err` is Windows's error number.
///
/// # Safety
/// The buffer holds `bytes`; no one touches or frees it or `overlapped` until the operation has ended.
pub(super) unsafe fn start(
    file: &File,
    direction: Direction,
    offset: u64,
    (buffer, bytes): (*mut u8, u32),
    overlapped: *mut OVERLAPPED,
) -> Result<(), i32> {
    let handle = file.as_raw_handle();
    // SAFETY: as the caller promises; the handle is open.
    let is_ended = unsafe {
        (*overlapped).Anonymous.Anonymous.Offset = offset as u32;
        (*overlapped).Anonymous.Anonymous.OffsetHigh = (offset >> 32) as u32;
        match direction {
            Direction::Read => ReadFile(handle, buffer, bytes, null_mut(), overlapped),
            Direction::Write => WriteFile(handle, buffer, bytes, null_mut(), overlapped),
        }
    };
    match io::Error::last_os_error().raw_os_error().unwrap_or_default() {
        _ if is_ended != 0 => Ok(()),
        pending if pending == ERROR_IO_PENDING as i32 => Ok(()),
        error => Err(error),
    }
}

/// Bytes read or written: 0 at the end of the file, which Windows calls an error.
pub(super) fn bytes_or_end(error: i32) -> Result<u32, i32> {
    if error == ERROR_HANDLE_EOF as i32 { Ok(0) } else { Err(error) }
}

/// How an operation of this file ended.
///
/// # Safety
/// `overlapped` is that of an operation that was started on the file.
pub(super) unsafe fn end(file: &File, overlapped: *const OVERLAPPED, until: Until) -> Result<u32, i32> {
    let mut bytes = 0;
    let waits = i32::from(until == Until::Ended);
    // SAFETY: as the caller promises, and a pointer to a local variable.
    match unsafe { GetOverlappedResult(file.as_raw_handle(), overlapped, &mut bytes, waits) } {
        0 => bytes_or_end(io::Error::last_os_error().raw_os_error().unwrap_or_default()),
        _ => Ok(bytes),
    }
}

/// Reads at an offset, and waits.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    wait(file, Direction::Read, offset, (buffer.as_mut_ptr(), buffer.len() as u32))
}

/// Writes at an offset, and waits.
pub(super) fn write_at(file: &File, buffer: &[u8], offset: u64) -> io::Result<usize> {
    wait(file, Direction::Write, offset, (buffer.as_ptr().cast_mut(), buffer.len() as u32))
}

/// Starts an operation, and waits until it has ended.
fn wait(file: &File, direction: Direction, offset: u64, memory: (*mut u8, u32)) -> io::Result<usize> {
    EVENT.with(|event| {
        if event.get().is_none() {
            // The cell was empty.
            let _ = event.set(new_event()?);
        }
        let mut overlapped = none();
        overlapped.hEvent = event.get().map_or(null_mut(), AsRawHandle::as_raw_handle);
        // SAFETY: the caller lends the memory, and the operation ends before this returns.
        let ended = unsafe {
            match start(file, direction, offset, memory, &mut overlapped) {
                Ok(()) => end(file, &overlapped, Until::Ended),
                Err(error) => bytes_or_end(error),
            }
        };
        ended.map(|bytes| bytes as usize).map_err(io::Error::from_raw_os_error)
    })
}

/// An event for waiting.
fn new_event() -> io::Result<OwnedHandle> {
    // SAFETY: default security, no name; reset by the next operation.
    let event = unsafe { CreateEventW(null(), 1, 0, null()) };
    if event.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an open handle that no one else owns.
    Ok(unsafe { OwnedHandle::from_raw_handle(event) })
}
