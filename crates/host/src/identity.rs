//! The user who runs étalon, and who else may read files or enter folders.

use std::path::Path;

use crate::HostError;
use crate::system::os;

/// A process among those of several machines and containers.
pub fn machine_and_process() -> (String, u32) {
    let parts = [os::host_id(), os::boot_id(), os::pid_namespace()];
    (parts.join(" "), std::process::id())
}

/// Name of the user this process runs as.
#[cfg(unix)]
pub fn user_name() -> Result<String, HostError> {
    let tried = "look up this process's user";
    let uid = nix::unistd::geteuid();
    match nix::unistd::User::from_uid(uid) {
        Ok(Some(user)) => Ok(user.name),
        Ok(None) => Err(HostError::unavailable(tried, format!("number {uid} has no name on this machine"))),
        Err(cause) => Err(HostError::unavailable(tried, cause.to_string())),
    }
}

/// Name of the user this process runs as.
#[cfg(not(unix))]
pub fn user_name() -> Result<String, HostError> {
    let tried = "look up this process's user";
    std::env::var("USERNAME").map_err(|cause| HostError::unavailable(tried, cause.to_string()))
}

/// A file that others may read or write keeps no secret.
#[cfg(unix)]
pub fn open_to_others(path: &Path) -> Result<bool, HostError> {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path).map_err(HostError::at("look at", path))?;
    Ok(metadata.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
pub fn open_to_others(_path: &Path) -> Result<bool, HostError> {
    Ok(false)
}

/// Whether everyone may write a file.
#[cfg(unix)]
pub fn is_writable_by_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o002 != 0)
}

/// Left to the folder.
#[cfg(not(unix))]
pub fn is_writable_by_all(_path: &Path) -> bool {
    false
}

/// Whether others may read or write a private key; if root owns it, its group may read it, so that a machine's keys
/// can be shared. As libpq requires of `sslkey`.
#[cfg(unix)]
pub fn key_open_to_others(path: &Path) -> Result<bool, HostError> {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let metadata = std::fs::metadata(path).map_err(HostError::at("look at", path))?;
    let others = if metadata.uid() == 0 { 0o037 } else { 0o077 };
    Ok(metadata.permissions().mode() & others != 0)
}

/// Left to the folder, as libpq does on Windows.
#[cfg(not(unix))]
pub fn key_open_to_others(path: &Path) -> Result<bool, HostError> {
    open_to_others(path)
}

/// Lets only the owner enter a folder.
#[cfg(unix)]
pub fn close_to_others(folder: &Path) -> Result<(), HostError> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(folder, mode).map_err(HostError::at("close to others", folder))
}

/// The folder is in the user's profile, which is private.
#[cfg(not(unix))]
pub fn close_to_others(_folder: &Path) -> Result<(), HostError> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_user_has_a_name_and_modes_are_read() {
        assert!(!user_name().unwrap().is_empty());
        let file = std::env::temp_dir().join(format!("etalon-identity-{}", std::process::id()));
        std::fs::write(&file, "x").unwrap();
        let open_with = |mode| {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            open_to_others(&file).unwrap()
        };
        assert!(open_with(0o640));
        assert!(!open_with(0o600));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        close_to_others(&file).unwrap();
        assert!(!open_to_others(&file).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert!(open_to_others(&file).is_err());
    }
}
