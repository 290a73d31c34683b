//! A token without an administrator's rights, made as PostgreSQL's `pg_ctl` makes one.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::ptr::{null, null_mut};

use windows_sys::Win32::Foundation::{GENERIC_ALL, HANDLE};
#[cfg(test)]
use windows_sys::Win32::Security::CheckTokenMembership;
use windows_sys::Win32::Security::{
    ACL, ACL_REVISION, AddAccessAllowedAce, CreateRestrictedToken, CreateWellKnownSid, DISABLE_MAX_PRIVILEGE,
    GetTokenInformation, InitializeAcl, SECURITY_MAX_SID_SIZE, SID_AND_ATTRIBUTES, SetTokenInformation,
    TOKEN_ADJUST_DEFAULT, TOKEN_ASSIGN_PRIMARY, TOKEN_DEFAULT_DACL, TOKEN_DUPLICATE, TOKEN_QUERY, TOKEN_USER,
    TokenDefaultDacl, TokenUser, WELL_KNOWN_SID_TYPE, WinBuiltinAdministratorsSid, WinBuiltinPowerUsersSid,
    WinLocalSystemSid,
};
use windows_sys::Win32::System::Threading::{GetCurrentProcess, OpenProcessToken};

/// Room for a user's identifier with its structure, and for a list of two rights.
const ROOM_BYTES: usize = 256;

/// Aligned for the structures that Windows writes into it.
#[repr(C, align(8))]
struct Room([u8; ROOM_BYTES]);

impl Room {
    fn new() -> Room {
        Room([0; ROOM_BYTES])
    }

    /// Address of the room.
    fn start(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }
}

/// This process's token with the groups of administrators and power users switched off.
///
/// # Errors
/// Windows refuses, with its reason.
pub(crate) fn without_administrator() -> io::Result<OwnedHandle> {
    let wanted = TOKEN_ASSIGN_PRIMARY | TOKEN_DUPLICATE | TOKEN_QUERY | TOKEN_ADJUST_DEFAULT;
    let mut own: HANDLE = null_mut();
    // SAFETY: the pseudo handle of this process, and a pointer to a local variable.
    checked(unsafe { OpenProcessToken(GetCurrentProcess(), wanted, &mut own) })?;
    // SAFETY: an open handle that no one else owns.
    let own = unsafe { OwnedHandle::from_raw_handle(own) };
    let (mut administrators, mut power_users) =
        (well_known(WinBuiltinAdministratorsSid)?, well_known(WinBuiltinPowerUsersSid)?);
    let off =
        [&mut administrators, &mut power_users].map(|group| SID_AND_ATTRIBUTES { Sid: group.start(), Attributes: 0 });
    let mut token: HANDLE = null_mut();
    // SAFETY: an open handle, an array with its length, and a pointer to a local variable.
    checked(unsafe {
        let own = own.as_raw_handle();
        CreateRestrictedToken(own, DISABLE_MAX_PRIVILEGE, 2, off.as_ptr(), 0, null(), 0, null(), &mut token)
    })?;
    // SAFETY: an open handle that no one else owns.
    let token = unsafe { OwnedHandle::from_raw_handle(token) };
    give_to_user(&token)?;
    Ok(token)
}

/// Makes the user the owner of what the process makes. That of an administrator belongs to administrators: without this
/// it could not use its own pipes.
fn give_to_user(token: &OwnedHandle) -> io::Result<()> {
    let (mut user, mut rights, mut system) = (Room::new(), Room::new(), well_known(WinLocalSystemSid)?);
    let mut used = 0;
    let acl: *mut ACL = rights.start().cast();
    // SAFETY: an open handle, and rooms with their sizes, aligned for what is written into them; the user's identifier
    // lies in `user`, which outlives its use.
    unsafe {
        let token = token.as_raw_handle();
        checked(GetTokenInformation(token, TokenUser, user.start(), ROOM_BYTES as u32, &mut used))?;
        let sid = (*user.start().cast::<TOKEN_USER>()).User.Sid;
        checked(InitializeAcl(acl, ROOM_BYTES as u32, ACL_REVISION))?;
        checked(AddAccessAllowedAce(acl, ACL_REVISION, GENERIC_ALL, sid))?;
        checked(AddAccessAllowedAce(acl, ACL_REVISION, GENERIC_ALL, system.start()))?;
        let default = TOKEN_DEFAULT_DACL { DefaultDacl: acl };
        let size = size_of::<TOKEN_DEFAULT_DACL>() as u32;
        checked(SetTokenInformation(token, TokenDefaultDacl, (&raw const default).cast(), size))
    }
}

/// The identifier of a group that every Windows has.
fn well_known(group: WELL_KNOWN_SID_TYPE) -> io::Result<Room> {
    const { assert!(ROOM_BYTES >= SECURITY_MAX_SID_SIZE as usize) };
    let (mut room, mut size) = (Room::new(), ROOM_BYTES as u32);
    // SAFETY: a room with its size.
    checked(unsafe { CreateWellKnownSid(group, null_mut(), room.start(), &mut size) })?;
    Ok(room)
}

/// Whether this process has an administrator's rights.
#[cfg(test)]
pub(crate) fn is_administrator() -> io::Result<bool> {
    let (mut group, mut is_member) = (well_known(WinBuiltinAdministratorsSid)?, 0);
    // SAFETY: null is for this process, an identifier, and a pointer to a local variable.
    checked(unsafe { CheckTokenMembership(null_mut(), group.start(), &mut is_member) })?;
    Ok(is_member != 0)
}

/// Checks the result of a call of Windows.
fn checked(done: i32) -> io::Result<()> {
    if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
