use std::path::{Path, PathBuf};

use crate::error::HostError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub home: PathBuf,
}

/// PostgreSQL and MySQL refuse to start as root. On Windows always false.
pub fn is_root() -> bool {
    #[cfg(unix)]
    return rustix::process::geteuid().is_root();
    #[cfg(not(unix))]
    return false;
}

/// Finds a user by name, in whatever directory the machine keeps its users.
#[cfg(unix)]
pub fn user_by_name(name: &str) -> Result<User, HostError> {
    let reason = match nix::unistd::User::from_name(name) {
        Ok(Some(user)) => {
            return Ok(User { name: user.name, uid: user.uid.as_raw(), gid: user.gid.as_raw(), home: user.dir });
        }
        Ok(None) => "this machine has no such user".to_owned(),
        Err(cause) => cause.to_string(),
    };
    Err(HostError::unavailable(format!("look up the user {name}"), reason))
}

/// Gives a file to the user and his group. A symbolic link itself is given.
#[cfg(unix)]
pub fn chown(path: &Path, user: &User) -> Result<(), HostError> {
    std::os::unix::fs::lchown(path, Some(user.uid), Some(user.gid)).map_err(HostError::at("change the owner of", path))
}

#[cfg(not(unix))]
pub fn user_by_name(name: &str) -> Result<User, HostError> {
    let reason = "étalon runs servers as another user on Unix only";
    Err(HostError::unavailable(format!("look up the user {name}"), reason))
}

/// Fails: servers run as other users on Unix only.
#[cfg(not(unix))]
pub fn chown(path: &Path, user: &User) -> Result<(), HostError> {
    let reason = "étalon runs servers as another user on Unix only";
    Err(HostError::unavailable(format!("give {} to the user {}", path.display(), user.name), reason))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_and_no_user_invented() {
        let root = user_by_name("root").unwrap();
        assert_eq!((root.uid, root.gid), (0, 0));
        let error = user_by_name("no-such-user-here").unwrap_err().to_string();
        assert!(error.contains("no-such-user-here"), "{error}");
    }

    #[test]
    fn a_file_is_given_away() {
        use std::os::unix::fs::MetadataExt;
        if !is_root() {
            return;
        }
        let folder = crate::scratch::Scratch::new("chown-test", None).unwrap();
        let file = folder.path().join("x");
        std::fs::write(&file, "").unwrap();
        let nobody = user_by_name("nobody").unwrap();
        chown(&file, &nobody).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().uid(), nobody.uid);
    }
}
