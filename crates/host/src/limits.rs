//! Limits that the operating system puts on this process.

/// How many files and sockets this process may hold open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFiles {
    /// `None` is no limit.
    pub soft: Option<u64>,
    /// How far the process may raise it; `None` is no limit.
    pub hard: Option<u64>,
}

/// Reads the limits on open files.
#[cfg(unix)]
pub fn open_files() -> Result<OpenFiles, String> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    Ok(OpenFiles { soft: limit.current, hard: limit.maximum })
}

/// Raises the soft limit to the hard one and returns the result. A client with thousands of connections needs it, and
/// its servers inherit it.
#[cfg(unix)]
pub fn raise_open_files() -> Result<OpenFiles, String> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    // macOS reports no hard limit but refuses more than OPEN_MAX.
    const OPEN_MAX: u64 = 10_240;
    let before = open_files()?;
    if before.soft == before.hard {
        return Ok(before);
    }
    let limit = |soft: Option<u64>| Rlimit { current: soft, maximum: before.hard };
    let raised = setrlimit(Resource::Nofile, limit(before.hard)).or_else(|cause| match before.soft {
        Some(soft) if soft < OPEN_MAX => setrlimit(Resource::Nofile, limit(Some(OPEN_MAX))),
        _ => Err(cause),
    });
    raised.map_err(|cause| format!("cannot raise the limit on open files: {cause}"))?;
    open_files()
}

/// Fails: this system has no limit on open files.
#[cfg(not(unix))]
pub fn open_files() -> Result<OpenFiles, String> {
    Err("this operating system has no such limit: handles end with memory".to_owned())
}

#[cfg(not(unix))]
pub fn raise_open_files() -> Result<OpenFiles, String> {
    open_files()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn raising_reaches_the_hard_limit() {
        let before = open_files().unwrap();
        let after = raise_open_files().unwrap();
        assert!(after.soft.is_none() || after.soft >= before.soft);
        assert_eq!(after, open_files().unwrap());
    }
}
